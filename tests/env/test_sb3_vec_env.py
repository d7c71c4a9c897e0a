"""``MegalandVecEnv`` and the games under it: the contract of Stable-Baselines3, and the game that all adapters play."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

from megaland_env import NUM_ACTIONS, Decisions, IllegalActionError, Kind, MegalandConfig
from megaland_env.agent import RandomAgent, random_legal
from megaland_env.engine import rng
from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.rewards import Shaped
from megaland_env.seats.opponents import LEARNER, Opponents
from megaland_env.seats.single_learner import SingleLearnerGames
from tests.support.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)

SHORT = MegalandConfig(num_players=3, max_rounds=3)


class Recorder:
    """A random agent that notes what it is asked."""

    def __init__(self, seed: int = 0) -> None:
        self._agent = RandomAgent(seed)
        self.calls: list[list[tuple[int, int]]] = []  # the (game, seat) of each call's rows

    def act(self, decisions: Decisions) -> Any:
        self.calls.append(list(zip(decisions.game.tolist(), decisions.seat.tolist(), strict=True)))
        return self._agent.act(decisions)


def learner_actions(env: MegalandVecEnv, seed: int = 7) -> Any:
    """Random legal actions that depend on each game alone, not on its place in the batch."""
    return np.concatenate([random_legal(block.decisions(), seed) for block in env.blocks]).astype(np.int64)


def play(env: MegalandVecEnv, steps: int) -> list[tuple[Any, ...]]:
    """Observations, rewards and dones of some steps, copied."""
    return [tuple(np.array(part) for part in env.step(learner_actions(env))[:3]) for _ in range(steps)]


# --------------------------------------------------------------------------------------------------- the contract


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_shapes_types_and_masks(players: int) -> None:
    env = MegalandVecEnv(MegalandConfig(num_players=players), 16, seed=1)
    observations = env.reset()
    assert env.action_space.n == NUM_ACTIONS  # type: ignore[attr-defined]
    for _ in range(60):
        assert observations.shape == (16, NUM_FEATURES)
        assert observations.dtype == np.float32
        assert all(env.observation_space.contains(np.ascontiguousarray(row)) for row in observations[:2])
        masks = env.action_masks()
        assert masks.shape == (16, NUM_ACTIONS)
        assert masks.dtype == np.bool_
        assert masks.any(axis=1).all()
        block = env.blocks[0]
        assert np.array_equal(masks, block.games.legal[np.arange(16), block.seats])
        assert block.games.active[np.arange(16), block.seats].all()  # every game waits for its learner
        actions = learner_actions(env)
        assert masks[np.arange(16), actions].all()
        observations, rewards, dones, infos = env.step(actions)
        assert rewards.shape == dones.shape == (16,)
        assert rewards.dtype == np.float32
        assert dones.dtype == np.bool_
        assert len(infos) == 16
        assert len({id(info) for info, done in zip(infos, dones, strict=True) if not done}) <= 1  # one dict for all
        for info, done in zip(infos, dones, strict=True):
            assert bool(info) == bool(done)


def test_observations_are_not_written_over() -> None:
    env = MegalandVecEnv(num_envs=8, seed=0)
    first = env.reset()
    kept = first.copy()
    second, rewards, *_ = env.step(learner_actions(env))
    kept_rewards = rewards.copy()
    env.step(learner_actions(env))
    assert np.array_equal(first, kept)
    assert np.array_equal(rewards, kept_rewards)
    assert not np.shares_memory(first, second)


def test_masks_reach_sb3_contrib() -> None:
    env = MegalandVecEnv(num_envs=5, seed=0)
    env.reset()
    assert is_masking_supported(env)
    rows = env.env_method("action_masks")
    assert len(rows) == 5
    assert all(np.shares_memory(row, env.action_masks()) for row in rows)  # no copies
    assert np.array_equal(get_action_masks(env), env.action_masks())


def test_attributes_and_methods_with_indices() -> None:
    env = MegalandVecEnv([MegalandConfig(num_players=2), MegalandConfig(num_players=5)], 4, seed=3)
    env.reset()
    assert env.get_attr("num_players") == [2, 2, 5, 5]
    assert env.get_attr("num_players", [3, 0]) == [5, 2]
    assert env.get_attr("game_seeds", 2) == [5]
    assert env.get_attr("render_mode") == [None] * 4
    assert [row.tolist() for row in env.env_method("action_masks", indices=[2])] == [env.action_masks()[2].tolist()]
    assert not env.has_attr("no_such_thing")
    env.set_attr("note", "hello")
    assert env.get_attr("note", [0, 1]) == ["hello", "hello"]
    with pytest.raises(ValueError, match="share the attribute"):
        env.set_attr("note", "bye", indices=[0])
    assert env.env_is_wrapped(Monitor) == [False] * 4
    assert env.env_is_wrapped(Monitor, [1, 2]) == [False] * 2
    env.close()


def test_vec_monitor_adds_up_rewards_and_lengths() -> None:
    env = VecMonitor(MegalandVecEnv(SHORT, 8, seed=0, reward="coins"), info_keywords=("win_share", "coins"))
    inner = env.venv
    assert isinstance(inner, MegalandVecEnv)
    env.reset()
    returns, lengths, finished = np.zeros(8), np.zeros(8, int), 0
    while finished < 12:
        _, rewards, dones, infos = env.step(learner_actions(inner))
        returns += rewards
        lengths += 1
        for game in np.flatnonzero(dones):
            episode = infos[game]["episode"]
            assert episode["r"] == pytest.approx(returns[game], abs=1e-5)
            assert episode["l"] == lengths[game]
            assert episode["coins"] == infos[game]["coins"]
            returns[game] = lengths[game] = 0
            finished += 1


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="shared out"):
        MegalandVecEnv([SHORT, SHORT], 1)
    with pytest.raises(ValueError, match="seat is 3"):
        MegalandVecEnv(SHORT, 1, seat=3)
    with pytest.raises(ValueError, match="illegal is 'ignore'"):
        MegalandVecEnv(SHORT, 1, illegal="ignore")
    with pytest.raises(ValueError, match="no agent 'nobody'"):
        MegalandVecEnv(SHORT, 1, opponents="nobody")
    with pytest.raises(ValueError, match="a table of 3 needs 2"):
        MegalandVecEnv(SHORT, 1, opponents=["random"])
    with pytest.raises(ValueError, match="names nobody"):
        MegalandVecEnv(SHORT, 1, opponents=[])
    with pytest.raises(ValueError, match="weights of opponents"):
        MegalandVecEnv(SHORT, 1, opponents={"random": 0.0})
    env = MegalandVecEnv(SHORT, 2)
    env.reset()
    with pytest.raises(ValueError, match="actions must be"):
        env.step(np.zeros(3, int))
    with pytest.raises(ValueError, match="integers"):
        env.step(np.zeros(2))
    with pytest.raises(ValueError, match="seeds must be"):
        env.blocks[0].reset([1, 2, 3])


# --------------------------------------------------------------------------------------------------- ends and rewards


def test_an_end_by_the_rules_is_not_called_truncated() -> None:
    env = MegalandVecEnv(MegalandConfig(num_players=2), 32, opponents="threshold", seed=0)
    env.reset()
    finished = 0
    while finished < 20:
        before = env.seats.copy()
        _, rewards, dones, infos = env.step(learner_actions(env))
        for game in np.flatnonzero(dones):
            info = infos[game]
            assert "TimeLimit.truncated" not in info
            assert info["terminal_observation"].shape == (NUM_FEATURES,)
            assert info["seat"] == before[game]
            assert rewards[game] == pytest.approx(info["win_share"] - 1 / 2)
            finished += 1


def test_only_a_cut_off_is_called_truncated() -> None:
    env = MegalandVecEnv(SHORT, 16, opponents="random", seed=0)
    env.reset()
    truncated = 0
    while truncated < 20:
        _, rewards, dones, infos = env.step(learner_actions(env))
        for game in np.flatnonzero(dones):
            assert infos[game]["TimeLimit.truncated"] is True  # nobody gets 20 coins in three rounds of random play
            assert infos[game]["rounds"] == 3
            assert rewards[game] == 0
            truncated += 1


def test_the_terminal_observation_is_that_of_the_finished_game() -> None:
    """A twin that nobody restarts is left in the state in which the game ended."""
    env = MegalandVecEnv(SHORT, 6, seed=5)
    env.reset()
    twin = SingleLearnerGames(SHORT, 6)
    twin.reset(np.arange(5, 11))
    ended: set[int] = set()
    while len(ended) < 6:
        actions = learner_actions(env)
        twin.step(actions)
        observations, _, dones, infos = env.step(actions)
        for game in set(np.flatnonzero(dones).tolist()) - ended:
            assert twin.over[game]
            last = encode(twin.decisions([game]))[0]
            assert np.array_equal(infos[game]["terminal_observation"], last)
            assert not np.array_equal(observations[game], last)
            ended.add(game)


@pytest.mark.parametrize("reward", ["win", "coins", Shaped(gamma=1.0)])
def test_the_rewards_of_a_game_add_up_to_what_the_engine_paid(reward: Any) -> None:
    """All that the engine pays a seat in a game reaches the learner, also what others' moves brought it."""
    config = MegalandConfig(num_players=3)
    games = SingleLearnerGames(config, 24, opponents="threshold", reward=reward)
    games.reset(np.arange(24))
    paid = np.zeros(24)
    step = games.games.step

    def watched(actions: Any, index: Any) -> None:
        step(actions, index)
        np.add.at(paid, index, games.games.rewards[index, games.seats[index]])

    games.games.step = watched  # type: ignore[method-assign]
    total = np.zeros(24)
    while not games.over.all():
        games.step(random_legal(games.decisions(), 1).astype(np.int64))
        total += games.rewards
    assert total == pytest.approx(paid, abs=1e-4)
    coins = games.games.coins.astype(float)
    own = coins[np.arange(24), games.seats]
    coins[np.arange(24), games.seats] = -1
    expected = (own - coins.max(axis=1)) / 20 if reward == "coins" else games.win_shares - 1 / 3
    assert total == pytest.approx(expected, abs=1e-4)  # shaped with gamma 1: the potentials cancel out, 0 at both ends
    assert (games.win_shares < 1).any()


def test_a_loss_on_anothers_move_is_paid() -> None:
    """In some games the learner is not asked in the last moments; the loss reaches it all the same."""
    env = MegalandVecEnv(MegalandConfig(num_players=2), 64, opponents="threshold", seed=0)
    env.reset()
    losses_unasked = 0
    while losses_unasked < 3:
        kinds = env.blocks[0].decisions().kind.copy()
        _, rewards, dones, infos = env.step(learner_actions(env))
        for game in np.flatnonzero(dones):
            if kinds[game] == Kind.RUN and infos[game]["win_share"] == 0:  # fell or went home, and was not asked again
                assert rewards[game] == -0.5
                losses_unasked += 1


# --------------------------------------------------------------------------------------------------- seeds


def test_the_seeds_of_the_games() -> None:
    env = MegalandVecEnv(SHORT, 4, seed=0)
    env.seed(100)
    env.reset()
    episodes = np.zeros(4, int)
    for _ in range(60):
        assert env.game_seeds.tolist() == rng.episode_seeds(np.arange(100, 104), episodes).tolist()
        *_, dones, _ = env.step(learner_actions(env))
        episodes += dones
    assert episodes.min() > 1
    env.reset()  # without a seed: on to the next games
    assert env.game_seeds.tolist() == rng.episode_seeds(np.arange(100, 104), episodes + 1).tolist()
    env.seed(2**64 - 1)
    env.reset()
    assert env.game_seeds.tolist() == [2**64 - 1, 0, 1, 2]


def test_the_same_seed_is_the_same_run() -> None:
    runs = []
    for _ in range(2):
        env = MegalandVecEnv(num_envs=8, opponents={"random": 1.0, "threshold": 1.0}, seed=9)
        runs.append([np.array(env.reset()), *play(env, 40)])
    for one, other in zip(*runs, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert MegalandVecEnv(num_envs=2)._seeds != MegalandVecEnv(num_envs=2)._seeds  # without a seed: from the system


def test_a_game_is_the_same_at_any_place_in_any_batch() -> None:
    """Seats and opponents are drawn from the game's own seed, so the whole episode is."""

    def episodes(num_envs: int, seed: int) -> dict[int, list[Any]]:
        env = MegalandVecEnv(
            MegalandConfig(num_players=4), num_envs, opponents=[("random", 1.0), ("threshold", 2.0)], seed=seed
        )
        observations = env.reset()
        told: dict[int, list[Any]] = {seed: [] for seed in env.game_seeds.tolist()}
        wanted = set(told)
        while wanted:
            seeds, seats = env.game_seeds.tolist(), env.seats.tolist()
            actions = learner_actions(env)
            following, rewards, dones, infos = env.step(actions)
            for game, game_seed in enumerate(seeds):
                if game_seed in wanted:
                    entry = (seats[game], observations[game].tolist(), int(actions[game]), float(rewards[game]))
                    told[game_seed].append(entry)
                    if dones[game]:
                        told[game_seed].append(infos[game]["terminal_observation"].tolist())
                        wanted.remove(game_seed)
            observations = following
        return told

    many, few = episodes(7, 40), episodes(2, 44)
    for seed in few:
        assert few[seed] == many[seed]
    assert len({told[0][0] for told in many.values()}) > 1  # not all in the same seat


def test_a_fixed_seat_stays() -> None:
    env = MegalandVecEnv(SHORT, 4, seat=2, seed=0)
    env.reset()
    for _ in range(30):
        assert env.seats.tolist() == [2] * 4
        env.step(learner_actions(env))


def test_seats_are_drawn_evenly() -> None:
    games = SingleLearnerGames(MegalandConfig(num_players=5), 5000)
    games.reset(np.arange(5000))
    assert np.bincount(games.seats) == pytest.approx(np.full(5, 1000), abs=150)


# --------------------------------------------------------------------------------------------------- illegal actions


def test_an_illegal_action_raises_and_changes_nothing() -> None:
    env = MegalandVecEnv(num_envs=3, seed=0, seat=1)
    env.reset()
    before = json.dumps(env.snapshot())
    actions = learner_actions(env)
    for wrong in (39, 40, -1, 2**40):
        with pytest.raises(IllegalActionError, match="game 1, seat 1"):
            env.step(np.array([actions[0], wrong, actions[2]]))
    assert json.dumps(env.snapshot()) == before
    env.step(actions)


def test_an_illegal_action_can_become_a_random_one() -> None:
    env = MegalandVecEnv(num_envs=16, seed=0, illegal="random")
    env.reset()
    for step in range(20):
        masks = env.action_masks().copy()
        actions = learner_actions(env)
        actions[::2] = (39, 40, -1, 10**12)[step % 4]
        wrong = [not (0 <= a < NUM_ACTIONS and masks[game, a]) for game, a in enumerate(actions.tolist())]
        counted = env.illegal_actions
        env.step(actions)
        assert env.illegal_actions == counted + sum(wrong)
        assert masks[np.arange(16), env.played].all()
        assert np.array_equal(env.played[~np.array(wrong)], actions[~np.array(wrong)])


def test_a_bad_opponent_is_named() -> None:
    class Wrong:
        def act(self, decisions: Decisions) -> Any:
            return np.full(len(decisions), -1)

    class Short:
        def act(self, decisions: Decisions) -> Any:
            return np.zeros(len(decisions) + 1)

    for opponent, message in ((Wrong(), "not legal|does not exist"), (Short(), "Short answered")):
        env = MegalandVecEnv(SHORT, 2, opponents=opponent, seed=0)
        env.reset()
        with pytest.raises(ValueError, match=message):
            env.step(learner_actions(env))


# --------------------------------------------------------------------------------------------------- opponents


def test_an_agent_is_asked_once_a_moment_for_all_its_seats() -> None:
    recorder = Recorder()
    env = MegalandVecEnv(num_envs=8, opponents=recorder, seed=0)
    env.reset()
    moments = []
    step = env.blocks[0].games.step

    def counted(actions: Any, index: Any) -> None:
        moments.append(len(index))
        step(actions, index)

    env.blocks[0].games.step = counted  # type: ignore[method-assign]
    for _ in range(30):
        seats = env.seats.copy()
        recorder.calls.clear()
        moments.clear()
        env.step(learner_actions(env))
        assert len(recorder.calls) <= len(moments)  # a moment in which no opponent is asked makes no call
        assert all(seat != seats[game] for call in recorder.calls for game, seat in call)
        assert moments[0] == 8
        assert all(len(call) == len(set(call)) for call in recorder.calls)


def test_opponents_in_seat_order_sit_clockwise_from_the_learner() -> None:
    recorders = [Recorder(), Recorder(), Recorder()]
    env = MegalandVecEnv(num_envs=6, opponents=recorders, seed=0)
    env.reset()
    seats = env.seats.copy()
    env.step(learner_actions(env))
    for left, recorder in enumerate(recorders, start=1):
        assert recorder.calls
        assert all(seat == (seats[game] + left) % 4 for call in recorder.calls for game, seat in call)


def test_a_pool_is_drawn_by_its_weights() -> None:
    opponents = Opponents.of({"random": 1.0, "threshold": 3.0, "random:seed=4": 0.0})
    learner = np.zeros(4000, np.int64)
    drawn = opponents.draw(np.arange(4000, dtype=np.uint64), learner, 4)
    assert (drawn[0] == LEARNER).all()
    for seat in (1, 2, 3):
        assert np.bincount(drawn[seat], minlength=3) / 4000 == pytest.approx([0.25, 0.75, 0], abs=0.03)
    assert np.corrcoef(drawn[1:])[0, 1] == pytest.approx(0, abs=0.06)  # each seat for itself
    assert (drawn[1:, 7] == opponents.draw(np.array([7], np.uint64), learner[:1], 4)[1:, 0]).all()
    assert Opponents.of([("random", 1), ("threshold", 3)]).weights == (1.0, 3.0)


def test_alike_one_agent_has_all_seats_of_a_share_of_the_games() -> None:
    opponents = replace(Opponents.of({"random": 1.0, "threshold": 3.0}), same_opponent_share=0.4)
    seeds = np.arange(4000, dtype=np.uint64)
    drawn = opponents.draw(seeds, np.full(4000, 2), 5)[[0, 1, 3, 4]]
    for seat in range(4):  # at each seat alone they are drawn as ever
        assert np.bincount(drawn[seat]) / 4000 == pytest.approx([0.25, 0.75], abs=0.03)
    of_one_kind = (drawn == drawn[0]).all(axis=0).mean()
    assert of_one_kind == pytest.approx(0.4 + 0.6 * (0.25**4 + 0.75**4), abs=0.03)
    always = replace(opponents, same_opponent_share=1.0).draw(seeds, np.full(4000, 0), 5)[1:]
    assert (always == always[0]).all()


def test_a_name_that_stands_twice_is_one_agent() -> None:
    one, other, third = Opponents.of(["random", "threshold", "random"]).agents
    assert one is third
    assert one is not other


def test_new_opponents_come_with_the_next_game() -> None:
    old, new = Recorder(), Recorder()
    env = MegalandVecEnv(SHORT, 8, opponents=old, seed=0)
    env.reset()
    play(env, 3)
    env.set_opponents(new)
    assert env.agents == (old, new)
    running = np.ones(8, np.bool_)  # the games that began before the change
    for _ in range(60):
        old.calls.clear()
        new.calls.clear()
        before = running.copy()
        *_, dones, _ = env.step(learner_actions(env))
        running &= ~dones
        assert {game for call in old.calls for game, _ in call} <= set(np.flatnonzero(before).tolist())
        assert {game for call in new.calls for game, _ in call} <= set(np.flatnonzero(~before).tolist())
    assert not running.any()
    assert not old.calls
    env.set_opponents(new)
    assert env.agents == (new,)  # nobody plays against the old one any more
    with pytest.raises(ValueError, match="a table of 3"):
        env.set_opponents(["random", "random", "random"])


# --------------------------------------------------------------------------------------------------- several tables


def test_several_configurations_share_out_the_rows() -> None:
    configs = [MegalandConfig(num_players=players) for players in (2, 3, 4, 5)]
    env = MegalandVecEnv(configs, 10, opponents={"random": 1.0, "threshold": 1.0}, seed=20)
    observations = env.reset()
    assert observations.shape == (10, NUM_FEATURES)
    assert env.num_players.tolist() == [2, 2, 3, 3, 3, 4, 4, 5, 5, 5]
    assert env.game_seeds.tolist() == list(range(20, 30))
    alone = MegalandVecEnv(configs[2], 2, opponents={"random": 1.0, "threshold": 1.0}, seed=25)
    assert np.array_equal(alone.reset(), observations[5:7])
    finished = np.zeros(10, int)
    while finished.sum() < 4:
        actions = learner_actions(env)
        assert env.action_masks()[np.arange(10), actions].all()
        assert np.array_equal(alone.action_masks(), env.action_masks()[5:7])
        observations, rewards, dones, infos = env.step(actions)
        own = alone.step(actions[5:7])
        assert np.array_equal(own[0], observations[5:7])
        assert np.array_equal(own[1], rewards[5:7])
        assert np.array_equal(own[2], dones[5:7])
        assert [bool(info) for info in infos] == dones.tolist()
        finished += dones


# --------------------------------------------------------------------------------------------------- saving


def test_a_restored_environment_goes_on_exactly() -> None:
    configs: Sequence[MegalandConfig] = [SHORT, MegalandConfig(num_players=4)]
    env = MegalandVecEnv(configs, 6, opponents={"random": 1.0, "threshold": 1.0}, reward=Shaped(0.9), seed=2)
    env.reset()
    play(env, 25)
    env.set_opponents("random:seed=3")  # some games still go on against the others
    play(env, 5)
    saved = json.loads(json.dumps(env.snapshot()))
    agents = env.agents
    assert len(agents) == 3
    other = MegalandVecEnv(configs, 6, opponents=agents[-1], reward=Shaped(0.9), seed=77)
    observations = other.restore(saved, agents)
    assert np.array_equal(observations, env._observe())
    for one, two in zip(play(env, 40), play(other, 40), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    with pytest.raises(ValueError, match="another"):
        MegalandVecEnv([SHORT, SHORT], 6).restore(saved, agents)


# --------------------------------------------------------------------------------------------------- learning


def test_a_game_moves_alone_with_an_index() -> None:
    games = SingleLearnerGames(SHORT, 4)
    games.reset(np.arange(4))
    before = [games.games.snapshot(game) for game in range(4)]
    games.rewards[:] = 5
    choices = random_legal(games.decisions([2]), 0).astype(np.int64)
    games.step(choices, [2])
    assert [games.games.snapshot(game) == before[game] for game in range(4)] == [True, True, False, True]
    assert games.rewards.tolist() == [5, 5, 0, 5]
    assert set(games.seconds) == {"engine", "opponents"}


def test_every_new_game_asks_the_learner_first() -> None:
    for players in (2, 3, 4, 5):
        for skip_forced in (True, False):
            games = SingleLearnerGames(MegalandConfig(num_players=players, skip_forced=skip_forced), 50)
            games.reset(np.arange(50))
            assert games.games.active.all()


def test_games_that_are_over_wait_for_their_restart() -> None:
    games = SingleLearnerGames(SHORT, 3)
    games.reset(np.arange(3))
    while not games.over.all():
        games.step(random_legal(games.decisions()).astype(np.int64))
    last = [games.games.snapshot(game) for game in range(3)]
    games.step(np.zeros(3, np.int64))  # whatever is chosen there
    assert [games.games.snapshot(game) for game in range(3)] == last
    assert games.rewards.tolist() == [0, 0, 0]
    games.restart([1])
    assert games.over.tolist() == [True, False, True]
    assert games.games.seeds.tolist() == [0, int(rng.episode_seeds([1], [1])[0]), 2]


def test_maskable_ppo_learns_without_illegal_actions() -> None:
    env = MegalandVecEnv(SHORT, 32, opponents="random", reward="shaped", seed=0)  # many cut-offs, to bootstrap at
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=128, n_epochs=2, seed=0, device="cpu")
    _, callback = model._setup_learn(2048)
    assert model.collect_rollouts(env, callback, model.rollout_buffer, 16)
    sample = next(model.rollout_buffer.get(512))
    actions = sample.actions.long().flatten()
    values, log_probs, _ = model.policy.evaluate_actions(sample.observations, actions, action_masks=sample.action_masks)
    assert log_probs.detach().numpy() == pytest.approx(sample.old_log_prob.numpy(), abs=1e-5)
    assert values.flatten().detach().numpy() == pytest.approx(sample.old_values.numpy(), abs=1e-5)
    assert (sample.action_masks.numpy()[np.arange(512), actions.numpy()] == 1).all()
    model.learn(2048)
    assert env.illegal_actions == 0
    assert model.num_timesteps >= 2048


def test_evaluate_policy_with_masks() -> None:
    env = VecMonitor(MegalandVecEnv(MegalandConfig(num_players=2), 8, opponents="random", seed=0))
    model = MaskablePPO("MlpPolicy", env, n_steps=4, batch_size=32, seed=0, device="cpu")
    mean, deviation = evaluate_policy(model, env, n_eval_episodes=8, deterministic=False)
    assert -0.5 <= float(np.mean(mean)) <= 0.5
    assert float(np.mean(deviation)) > 0


def test_the_threshold_agent_in_the_learners_place() -> None:
    """The adapter plays the real game: who is strong in tournaments is strong here."""
    from megaland_agents.heuristics.threshold import ThresholdAgent

    env = MegalandVecEnv(num_envs=100, opponents="random", seed=0)
    env.reset()
    agent = ThresholdAgent()
    shares: list[float] = []
    while len(shares) < 100:
        *_, infos = env.step(agent.act(env.blocks[0].decisions()).astype(np.int64))
        shares += [info["win_share"] for info in infos if info]
    assert np.mean(shares) > 0.9


@pytest.mark.parametrize("indices", [0, [0], [1, 0], []])
def test_a_method_that_would_change_other_games_too_is_refused(indices: Any) -> None:
    env = MegalandVecEnv(SHORT, 3, opponents="random", seed=0)
    before = env.agents
    with pytest.raises(ValueError, match=r"share set_opponents\(\); call it for all of them"):
        env.env_method("set_opponents", "threshold", indices=indices)
    assert env.agents == before
    assert env.env_method("set_opponents", "threshold", indices=[2, 0, 1]) == [None] * 3
    assert [type(agent).__name__ for agent in env.agents] == ["ThresholdAgent"]
