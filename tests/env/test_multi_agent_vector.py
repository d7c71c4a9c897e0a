"""``MegalandMultiAgentVectorEnv`` against Gymnasium's documentation of vector environments; it has no checker."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, VectorRewardWrapper
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from megaland_env import NUM_ACTIONS, Action, IllegalActionError, Kind, MegalandConfig, MegalandGames
from megaland_env.agent import random_legal
from megaland_env.engine import rng
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.rewards import Shaped
from tests.support.play import TABLES, all_rows, everything, table_id

SHORT = MegalandConfig(num_players=3, max_rounds=2)
MODES = list(AutoresetMode)
STAY, LEAVE = Action["STAY"], Action["LEAVE"]

Actions = npt.NDArray[np.int64]


INFOS = {"action_mask", "active", "win_share", "coins", "rounds", "episode_return", "episode_length"}


def legal_actions(env: MegalandMultiAgentVectorEnv) -> Actions:
    """(N, P) random legal actions that depend on each game alone, not on its place in the batch nor on the mode."""
    decisions = env.games.decisions()
    return env.games.scatter(decisions, random_legal(decisions, seed=7)).astype(np.int64)


def renew(env: MegalandMultiAgentVectorEnv, over: npt.NDArray[np.bool_]) -> None:
    """Reset the games that are over, if the environment leaves that to its user."""
    if env.metadata["autoreset_mode"] == AutoresetMode.DISABLED and over.any():
        env.reset(options={"reset_mask": over})


@dataclass
class Episode:
    """One game as the caller observed it."""

    seed: int
    returns: list[float]
    length: int
    truncated: bool
    coins: list[int]
    last_observation: list[list[float]]


def episodes(mode: AutoresetMode, number: int, reward: Any = "shaped", config: MegalandConfig = SHORT) -> Any:
    """The first ``number`` episodes of each of 3 slots, from the results of ``step`` and from the infos."""
    env = MegalandMultiAgentVectorEnv(3, config, reward=reward, autoreset_mode=mode)
    env.reset(seed=5)
    seen: list[list[Episode]] = [[] for _ in range(3)]
    stated: list[list[tuple[list[float], int]]] = [[] for _ in range(3)]
    returns, lengths = np.zeros((3, config.num_players)), np.zeros(3, int)
    begins = np.zeros(3, bool)  # this step only starts the game anew
    while min(map(len, seen)) < number:
        seeds = env.game_seeds.copy()
        actions = legal_actions(env)
        actions[begins] = -7  # whatever it is, it is ignored
        observations, rewards, terminations, truncations, infos = env.step(actions)
        assert not rewards[begins].any()
        assert not (terminations | truncations)[begins].any()
        returns += rewards
        lengths += ~begins
        over = terminations | truncations
        for game in np.flatnonzero(over):
            same = mode == AutoresetMode.SAME_STEP
            ends = infos["final_info"] if same else infos
            last = infos["final_obs"][game] if same else observations[game]
            seen[game].append(
                Episode(
                    int(seeds[game]),
                    returns[game].tolist(),
                    int(lengths[game]),
                    bool(truncations[game]),
                    ends["coins"][game].tolist(),
                    last.tolist(),
                )
            )
            stated[game].append((ends["episode_return"][game].tolist(), int(ends["episode_length"][game])))
            returns[game] = lengths[game] = 0
        begins = over if mode == AutoresetMode.NEXT_STEP else np.zeros(3, bool)
        renew(env, over)
    return [each[:number] for each in seen], [each[:number] for each in stated]


# --------------------------------------------------------------------------------------------------- the contract


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("config", TABLES, ids=table_id)
def test_shapes_types_spaces_and_infos(config: MegalandConfig, mode: AutoresetMode) -> None:
    env = MegalandMultiAgentVectorEnv(6, MegalandConfig(config.num_players, max_rounds=2), autoreset_mode=mode)
    players = config.num_players
    assert env.metadata["autoreset_mode"] is mode
    assert (env.num_envs, env.num_players) == (6, players)
    assert env.single_observation_space.shape == (players, NUM_FEATURES)
    assert env.observation_space.shape == (6, players, NUM_FEATURES)
    assert env.observation_space is env.observation_space
    assert env.single_action_space == gymnasium.spaces.MultiDiscrete([NUM_ACTIONS] * players)
    assert env.action_space.shape == (6, players)
    observations, infos = env.reset(seed=1)
    ended = 0
    for _ in range(60):
        games = env.games
        assert observations.shape == (6, players, NUM_FEATURES)
        assert observations.dtype == np.float32
        assert env.observation_space.contains(observations)
        assert env.single_observation_space.contains(observations[0])
        seen = encode(all_rows(games)).reshape(players, 6, NUM_FEATURES).transpose(1, 0, 2)
        assert np.array_equal(observations, seen)  # of all seats, also of those that wait
        masks = env.action_masks()
        assert masks.shape == (6, players, NUM_ACTIONS)
        assert masks.dtype == np.bool_
        assert np.array_equal(masks, games.legal)
        assert (masks[~env.active].argmax(axis=1) == Action["PASS"]).all()
        assert (masks[~env.active].sum(axis=1) == 1).all()
        assert infos["action_mask"].dtype == np.int8
        assert np.array_equal(infos["action_mask"], masks)
        assert np.array_equal(infos["active"], env.active)
        for key in INFOS:
            assert infos[f"_{key}"].all()
        check_infos(infos, 6)
        action = env.single_action_space.sample(tuple(infos["action_mask"][0]))
        assert masks[0, np.arange(players), action].all()
        actions = legal_actions(env)
        assert env.action_space.contains(actions)
        step = env.step(actions)
        observations, rewards, terminations, truncations, infos = step
        assert rewards.shape == (6, players)
        assert rewards.dtype == np.float32
        assert terminations.shape == truncations.shape == (6,)
        assert terminations.dtype == truncations.dtype == np.bool_
        over = terminations | truncations
        ended += int(over.sum())
        if over.any():
            ends = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
            for key in ("win_share", "coins", "rounds", "episode_return", "episode_length"):
                assert np.array_equal(ends[f"_{key}"], over if mode == AutoresetMode.SAME_STEP else np.ones(6, bool))
                assert not ends[key][~over].any()
            assert ends["rounds"][over].tolist() == [2] * int(over.sum())
            if mode == AutoresetMode.SAME_STEP:
                assert np.array_equal(infos["_final_info"], over)
                assert np.array_equal(infos["_final_obs"], over)
                assert [each is not None for each in infos["final_obs"]] == over.tolist()
                assert all(env.single_observation_space.contains(each) for each in infos["final_obs"][over])
        if mode == AutoresetMode.DISABLED and over.any():
            observations, infos = env.reset(options={"reset_mask": over})
    assert ended


def check_infos(infos: dict[str, Any], num_envs: int) -> None:
    """Check that every entry has its mask and one value per game."""
    for key, value in infos.items():
        if key.startswith("_"):
            assert value.dtype == np.bool_
            assert value.shape == (num_envs,)
            assert key[1:] in infos
        else:
            assert f"_{key}" in infos
            if isinstance(value, dict):
                arrays = [each for name, each in value.items() if not name.startswith("_")]
                assert all(array.shape[0] == num_envs for array in arrays)
            else:
                assert value.shape[0] == num_envs


def test_what_is_given_out_is_not_written_over() -> None:
    env = MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="SameStep")
    given = [env.reset(seed=0)]
    kept = copy.deepcopy(given)
    for _ in range(30):
        given.append(env.step(legal_actions(env)))  # type: ignore[arg-type]
        kept.append(copy.deepcopy(given[-1]))
    assert data_equivalence(given, kept)


def test_what_a_caller_does_with_what_is_given_out_changes_no_game() -> None:
    env, other = (MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="SameStep") for _ in range(2))
    env.reset(seed=0)
    other.reset(seed=0)
    for _ in range(40):
        observations, rewards, terminations, truncations, infos = env.step(legal_actions(env))
        for array in (observations, rewards, terminations, truncations, infos["action_mask"], infos["active"]):
            array[...] = 1
        other.step(legal_actions(other))
        assert everything(env.games) == everything(other.games)


def test_observations_are_one_batch_without_a_copy() -> None:
    env = MegalandMultiAgentVectorEnv(5)
    observations, _ = env.reset(seed=0)
    assert np.shares_memory(observations, observations.reshape(-1, NUM_FEATURES))


# -------------------------------------------------------------------------------------------------------- autoreset


@pytest.mark.parametrize("reward", ["win", "coins", "shaped"])
def test_the_same_episodes_in_all_modes(reward: str) -> None:
    wanted, stated = episodes(AutoresetMode.SAME_STEP, 3, reward)
    for slot, (seen, own) in enumerate(zip(wanted, stated, strict=True)):
        for number, (episode, (returns, length)) in enumerate(zip(seen, own, strict=True)):
            assert episode.seed == rng.episode_seeds([5 + slot], number)
            assert (episode.returns, episode.length) == (pytest.approx(returns, abs=1e-6), length)
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED):
        assert episodes(mode, 3, reward) == (wanted, stated)


@pytest.mark.parametrize("mode", MODES)
def test_the_same_games_as_the_engine_plays(mode: AutoresetMode) -> None:
    """The last observation of a game, in ``final_obs`` with SAME_STEP, is that of the finished game."""
    for slot in episodes(mode, 2)[0]:
        for episode in slot:
            games = MegalandGames(SHORT, reward="shaped")
            games.reset([episode.seed])
            returns = np.zeros(3)
            while games.active.any():
                decisions = games.decisions()
                games.step(games.scatter(decisions, random_legal(decisions, seed=7)))
                returns += games.rewards[0]
            assert returns.tolist() == episode.returns
            assert games.steps[0] == episode.length
            assert games.coins[0].tolist() == episode.coins
            assert bool(games.truncated[0]) is episode.truncated
            assert encode(all_rows(games)).tolist() == episode.last_observation


def test_final_infos_are_those_of_the_last_step() -> None:
    same = MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="SameStep")
    disabled = MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="Disabled")
    same.reset(seed=3)
    disabled.reset(seed=3)
    compared = 0
    while compared < 12:
        *_, infos = same.step(legal_actions(disabled))
        observations, *_, terminations, truncations, wanted = disabled.step(legal_actions(disabled))
        over = terminations | truncations
        for game in np.flatnonzero(over):
            final = infos["final_info"]
            assert final.keys() == wanted.keys()
            for key in filter(lambda key: key[0] != "_", wanted):
                assert final[f"_{key}"][game]
                assert np.array_equal(final[key][game], wanted[key][game])
            assert np.array_equal(infos["final_obs"][game], observations[game])
            compared += 1
        renew(disabled, over)


class OfOneSeat(VectorRewardWrapper):  # type: ignore[misc, type-arg]
    """The rewards of one seat, which Gymnasium's wrappers can count."""

    def rewards(self, rewards: Any) -> Any:
        return rewards[:, 1]

    def step(self, actions: Any) -> Any:
        observations, rewards, *rest = self.env.step(actions)
        return observations, self.rewards(rewards), *rest


RELEASE = tuple(int(part) for part in gymnasium.__version__.split(".")[:2])


@pytest.mark.parametrize("mode", MODES)
def test_episode_statistics_of_gymnasium(mode: AutoresetMode) -> None:
    """They agree with ours, but in older releases they miss a step of each ``SAME_STEP`` episode; ours never do."""
    env = MegalandMultiAgentVectorEnv(3, SHORT, reward="shaped", autoreset_mode=mode)
    statistics = RecordEpisodeStatistics(OfOneSeat(env))
    statistics.reset(seed=5)
    compared = 0
    while compared < 8:
        *_, terminations, truncations, infos = statistics.step(legal_actions(env))
        over = terminations | truncations
        if over.any():
            right = mode != AutoresetMode.SAME_STEP or RELEASE >= (1, 4)
            if right:
                ends = infos.get("final_info", infos)
                assert np.array_equal(infos["episode"]["l"], ends["episode_length"])
                assert infos["episode"]["r"] == pytest.approx(ends["episode_return"][:, 1], abs=1e-6)
            compared += int(over.sum())
        if mode == AutoresetMode.DISABLED and over.any():
            statistics.reset(options={"reset_mask": over})
    assert episodes(AutoresetMode.SAME_STEP, 2)[1][0] == episodes(AutoresetMode.NEXT_STEP, 2)[1][0]


@pytest.mark.parametrize("mode", MODES)
def test_infos_as_lists_of_dicts(mode: AutoresetMode) -> None:
    env = MegalandMultiAgentVectorEnv(3, SHORT, autoreset_mode=mode)
    listed = DictInfoToList(env)
    _, infos = listed.reset(seed=5)
    assert [set(info) for info in infos] == [INFOS] * 3
    while True:
        *_, terminations, truncations, infos = listed.step(legal_actions(env))
        over = terminations | truncations
        if over.any():
            break
    game = int(over.argmax())
    ends = infos[game]["final_info"] if mode == AutoresetMode.SAME_STEP else infos[game]
    assert set(ends) == INFOS
    assert ends["episode_length"] > 0
    assert all(set(info) == INFOS and info["episode_length"] == 0 for info in np.array(infos)[~over])


def test_without_autoreset_games_are_renewed_by_a_mask() -> None:
    env = MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="Disabled")
    env.reset(seed=5)
    over = np.zeros(4, bool)
    while not over.any():
        *_, terminations, truncations, _ = env.step(legal_actions(env))
        over = terminations | truncations
    before = everything(env.games)
    with pytest.raises(ResetNeeded, match=f"these games are over: {over.argmax()}"):
        env.step(legal_actions(env))
    assert everything(env.games) == before
    options = {"reset_mask": over}
    observations, infos = env.reset(options=options)
    assert options["reset_mask"] is over  # for the wrappers outside
    after = everything(env.games)
    assert (env.games.steps[over] == 0).all()
    assert infos["active"].any(axis=1).all()
    assert observations.shape == (4, 3, NUM_FEATURES)
    for game in np.flatnonzero(~over):
        assert all(after[name][game] == before[name][game] for name in after)
    assert (
        env.game_seeds[over].tolist() == rng.episode_seeds(5 + np.flatnonzero(over), np.ones(over.sum(), int)).tolist()
    )
    env.reset(seed=[50, 51, 52, 53], options={"reset_mask": np.array([False, True, False, True])})
    assert env.game_seeds[[1, 3]].tolist() == [51, 53]
    assert env.games.steps[[1, 3]].tolist() == [0, 0]


def test_a_step_that_is_refused_counts_no_illegal_actions() -> None:
    env = MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="Disabled", illegal="random")
    env.reset(seed=5)
    over = np.zeros(4, bool)
    while not over.any():
        *_, terminations, truncations, _ = env.step(legal_actions(env))
        over = terminations | truncations
    with pytest.raises(ResetNeeded):
        env.step(np.full((4, 3), 39))
    assert env.illegal_actions == 0


@pytest.mark.parametrize(
    "mask", [[True, False], np.array([1, 0]), np.zeros(2, bool), np.ones(3, bool), np.ones((2, 1), bool)]
)
def test_masks_that_are_none(mask: Any) -> None:
    env = MegalandMultiAgentVectorEnv(2, SHORT, autoreset_mode="Disabled")
    env.reset(seed=0)
    before = everything(env.games)
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": mask})
    assert everything(env.games) == before


def test_a_mask_before_there_are_games() -> None:
    env = MegalandMultiAgentVectorEnv(2, SHORT)
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=4, options={"reset_mask": np.array([True, True])})
    assert env.game_seeds.tolist() == [4, 5]


# ----------------------------------------------------------------------------------------------------------- seeds


def seeds_after(env: MegalandMultiAgentVectorEnv, seed: Any) -> list[int]:
    env.reset(seed=seed)
    return [int(each) for each in env.game_seeds]


def test_seeds() -> None:
    config = MegalandConfig(2, "random", first_player=1)
    env = MegalandMultiAgentVectorEnv(3, config)
    assert seeds_after(env, 8) == [8, 9, 10]
    assert env.np_random_seed == 8
    assert seeds_after(env, None) == [int(rng.episode_seeds([8 + slot], 1)[0]) for slot in range(3)]
    assert seeds_after(env, None) == [int(rng.episode_seeds([8 + slot], 2)[0]) for slot in range(3)]
    assert env.config == env.games.config == config
    assert seeds_after(env, np.int64(8)) == [8, 9, 10]
    assert seeds_after(env, [3, 2**64 - 1, 0]) == [3, 2**64 - 1, 0]
    assert seeds_after(env, np.array([1, 1, 4])) == [1, 1, 4]
    assert seeds_after(env, [7, None, 9]) == [7, int(rng.episode_seeds([1], 1)[0]), 9]
    assert seeds_after(env, 2**64 - 1) == [2**64 - 1, 0, 1]
    with pytest.raises(ValueError, match="seed names 2 seeds; there are 3 games"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match=r"seed\[0\] is 1\.5"):
        env.reset(seed=[1.5, 2, 3])  # type: ignore[list-item]


def test_without_a_seed_games_differ() -> None:
    drawn = [seeds_after(MegalandMultiAgentVectorEnv(3, SHORT), seed) for seed in (None, None, [None] * 3)]
    assert len({seed for seeds in drawn for seed in seeds}) == 9
    env = MegalandMultiAgentVectorEnv(2, SHORT)
    first = seeds_after(env, [None, 6])
    assert first[1] == 6
    assert seeds_after(env, None) == [int(rng.episode_seeds([seed], 1)[0]) for seed in first]


def test_a_game_is_the_same_in_any_batch() -> None:
    alone = [MegalandMultiAgentVectorEnv(1, SHORT, autoreset_mode="SameStep") for _ in range(3)]
    together = MegalandMultiAgentVectorEnv(3, SHORT, autoreset_mode="SameStep")
    together.reset(seed=11)
    for slot, env in enumerate(alone):
        env.reset(seed=11 + slot)
    for _ in range(80):
        observations, rewards, *_ = together.step(legal_actions(together))
        for slot, env in enumerate(alone):
            own, paid, *_ = env.step(legal_actions(env))
            assert np.array_equal(own[0], observations[slot])
            assert np.array_equal(paid[0], rewards[slot])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(duplicate: Any) -> None:
    env = MegalandMultiAgentVectorEnv(4, SHORT, autoreset_mode="SameStep")
    env.reset(seed=2)
    for _ in range(9):
        env.step(legal_actions(env))
    other = duplicate(env)
    for _ in range(40):
        assert data_equivalence(env.step(legal_actions(env)), other.step(legal_actions(other)))


# ---------------------------------------------------------------------------------------------------------- actions


def test_entries_of_seats_that_are_not_active_are_ignored() -> None:
    env, other = (MegalandMultiAgentVectorEnv(8, SHORT, autoreset_mode="SameStep") for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=1)
    waiting = 0
    for number in range(60):
        actions = legal_actions(env)
        noisy = np.where(env.active, actions, [-1, 99, STAY][number % 3])
        waiting += int((~env.active).sum())
        env.step(actions)
        other.step(noisy)
        assert np.array_equal(env.played, other.played)
        assert everything(env.games) == everything(other.games)
    assert waiting


@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_changes_nothing(mode: AutoresetMode) -> None:
    env = MegalandMultiAgentVectorEnv(6, SHORT, autoreset_mode=mode)
    env.reset(seed=1)
    refused = 0
    for _ in range(50):
        before, played, seeds = everything(env.games), env.played.copy(), env.game_seeds.copy()
        for wrong in (Action["TREASURE_EGG"], -1, NUM_ACTIONS):
            actions = legal_actions(env)
            asked = np.argwhere(
                env.active & ~(env.action_masks()[..., wrong] if 0 <= wrong < NUM_ACTIONS else np.False_)
            )
            if asked.size:
                game, seat = asked[len(asked) // 2].tolist()
                actions[game, seat] = wrong
                with pytest.raises(IllegalActionError, match=f"game {game}, seat {seat}"):
                    env.step(actions)
                refused += 1
        assert everything(env.games) == before
        assert np.array_equal(env.played, played)
        assert np.array_equal(env.game_seeds, seeds)
        *_, terminations, truncations, _ = env.step(legal_actions(env))
        renew(env, terminations | truncations)
    assert refused > 100


def test_illegal_actions_replaced_at_random() -> None:
    config = MegalandConfig(4, max_rounds=3)
    env = MegalandMultiAgentVectorEnv(16, config, illegal="random", autoreset_mode="NextStep")
    env.reset(seed=1)
    env.action_space.seed(0)
    luck = np.random.default_rng(0)
    illegal = 0
    for _ in range(80):
        actions = np.where(luck.random((16, 4)) < 0.5, env.action_space.sample(), legal_actions(env))
        actions[0, 0] = -5
        active, masks = env.active.copy(), env.action_masks().copy()
        exists = (actions >= 0) & (actions < NUM_ACTIONS)
        legal = exists & np.take_along_axis(masks, np.where(exists, actions, 0)[..., None], axis=2)[..., 0]
        kept = actions.copy()
        env.step(actions)
        assert np.array_equal(actions, kept)  # the caller's array is left alone
        assert np.take_along_axis(masks, env.played[..., None], axis=2).all()
        assert np.array_equal(env.played[active & legal], actions[active & legal])
        assert (env.played[~active] == Action["PASS"]).all()
        illegal += int((active & ~legal).sum())
        assert env.illegal_actions == illegal
    assert illegal > 100


@pytest.mark.parametrize(
    "actions", [np.zeros((2, 4), int), np.zeros((3, 3), int), np.zeros((2, 3)), np.zeros(6, int), None, "STAY"]
)
def test_what_is_no_array_of_actions(actions: Any) -> None:
    env = MegalandMultiAgentVectorEnv(2, SHORT)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must be integers of shape \(2, 3\)"):
        env.step(actions)


def test_lists_are_actions_too() -> None:
    env = MegalandMultiAgentVectorEnv(2, SHORT)
    env.reset(seed=0)
    env.step([[STAY, STAY, LEAVE], [LEAVE, LEAVE, LEAVE]])
    assert env.played.tolist() == [[STAY, STAY, LEAVE], [LEAVE, LEAVE, LEAVE]]
    assert env.games.steps.tolist() == [1, 1]


def test_nothing_without_a_reset() -> None:
    env = MegalandMultiAgentVectorEnv(2, SHORT)
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(np.zeros((2, 3), int))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"illegal": "pass"}, "illegal"),
        ({"reward": "fun"}, "reward"),
        ({"autoreset_mode": "Later"}, "Later"),
        ({"render_mode": "human"}, "render_mode"),
        ({"config": ["num_players", 3]}, "config"),
    ],
)
def test_arguments_without_meaning(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MegalandMultiAgentVectorEnv(**({"num_envs": 2} | arguments))


# --------------------------------------------------------------------------------------------------- rewards and ends


@pytest.mark.parametrize("config", TABLES, ids=table_id)
def test_what_a_seat_is_paid_in_all(config: MegalandConfig) -> None:
    """Each seat's rewards add up to its final reward, whoever moved when they were paid."""
    config = replace(config, max_rounds=min(config.max_rounds, 15))
    rewards: Sequence[Any] = ("win", "coins", Shaped(1.0))
    envs = [MegalandMultiAgentVectorEnv(4, config, reward=reward, autoreset_mode="SameStep") for reward in rewards]
    for env in envs:
        env.reset(seed=40)
    ended: set[int] = set()
    while len(ended) < 4:
        actions = legal_actions(envs[0])
        paid, shaped = [], None
        for env in envs:
            *_, terminations, truncations, infos = env.step(actions)
            over = terminations | truncations
            paid.append(infos["final_info"]["episode_return"] if over.any() else None)
            shaped = terminations
        for game in set(np.flatnonzero(over).tolist()) - ended:
            ended.add(game)
            coins = infos["final_info"]["coins"][game].astype(int)
            share = infos["final_info"]["win_share"][game]
            margin = np.array([own - np.delete(coins, seat).max() for seat, own in enumerate(coins)])
            assert shaped is not None
            win = share - share.sum() / config.num_players
            assert share.sum() == pytest.approx(float(shaped[game]))
            assert paid[0][game] == pytest.approx(win, abs=1e-6)
            assert paid[1][game] == pytest.approx(margin / 20, abs=1e-6)
            assert paid[2][game] == pytest.approx(win + (0 if shaped[game] else margin / 20), abs=1e-5)


def test_the_cut_off_truncates_and_nothing_else() -> None:
    cut = MegalandMultiAgentVectorEnv(4, MegalandConfig(2, max_rounds=1), autoreset_mode="SameStep")
    long = MegalandMultiAgentVectorEnv(4, MegalandConfig(2), autoreset_mode="SameStep")
    for env, terminates in ((cut, False), (long, True)):
        env.reset(seed=0)
        over = np.zeros(4, bool)
        while not over.all():
            *_, terminations, truncations, infos = env.step(legal_actions(env))
            assert not (terminations & truncations).any()
            assert not (truncations if terminates else terminations).any()
            if not terminates and truncations.any():
                assert not infos["final_info"]["win_share"].any()
            over |= terminations | truncations


def test_frames() -> None:
    env = MegalandMultiAgentVectorEnv(2, SHORT, render_mode="ansi")
    env.reset(seed=0)
    boards = env.render()
    assert boards is not None
    assert len(boards) == 2
    assert all("MEGALAND" in board for board in boards)
    silent = MegalandMultiAgentVectorEnv(2, SHORT)
    silent.reset(seed=0)
    assert silent.render() is None


def test_the_rest() -> None:
    env = MegalandMultiAgentVectorEnv(num_envs=2)
    assert env.config == MegalandConfig()
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert repr(env) == "MegalandMultiAgentVectorEnv(num_envs=2)"
    assert env.unwrapped is env
    env.reset()
    assert (env.games.kind == Kind.RUN).all()
    env.close()
    assert env.closed
