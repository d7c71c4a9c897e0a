"""``megaland_v0``: PettingZoo's own tests, and what they leave out."""

from __future__ import annotations

import copy
import itertools
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    performance_benchmark,
    render_test,
    seed_test,
)
from pettingzoo.test.state_test import state_test

from megaland_env import NUM_ACTIONS, Action, IllegalActionError, Kind, MegalandConfig, MegalandGames, megaland_v0
from megaland_env.agent import random_legal
from megaland_env.engine import rng
from megaland_env.observation import NUM_FEATURES, encode
from megaland_env.rewards import Shaped
from tests.support.play import LIVELY, TABLES, all_rows, dealt_games, everything, some_legal, table_id

SHORT = MegalandConfig(num_players=3, max_rounds=2)
PASS, STAY, LEAVE = Action["PASS"], Action["STAY"], Action["LEAVE"]
PLAYERS = [2, 3, 4, 5]

dict_observations = [
    pytest.mark.filterwarnings("ignore:^Observation is not a NumPy array$:UserWarning"),
    pytest.mark.filterwarnings(
        "ignore:^Observation space for each agent probably should be gymnasium.spaces.box or "
        "gymnasium.spaces.discrete$:UserWarning"
    ),
]
"""What ``api_test`` says of every environment with Dict observations that is not in its own list."""


def seat_of(agent: str) -> int:
    return int(agent.removeprefix("player_"))


def legal_action(env: Any, agent: str) -> int:
    """A random legal action that depends on the game alone."""
    decisions = env.unwrapped.games.rows([0], [seat_of(agent)])
    return int(random_legal(decisions, seed=7)[0])


def legal_actions(env: Any) -> dict[str, int]:
    return {agent: legal_action(env, agent) for agent in env.agents}


def played_to_the_end(env: Any, seed: int | None = None) -> list[Any]:
    """Everything that an AEC environment tells the agents in their turns."""
    env.reset(seed=seed)
    told = []
    for agent in env.agent_iter():
        told.append((agent, *env.last()))
        env.step(None if env.terminations[agent] or env.truncations[agent] else legal_action(env, agent))
    return told


# ------------------------------------------------------------------------------------------------ PettingZoo's tests


@pytest.mark.parametrize(
    ("make", "players"), [(megaland_v0.env, players) for players in PLAYERS] + [(megaland_v0.raw_env, 4)]
)
class TestAEC:
    pytestmark = dict_observations

    def test_api(self, make: Any, players: int) -> None:
        api_test(make(config=MegalandConfig(players)), num_cycles=60)
        api_test(make(config=MegalandConfig(players, max_rounds=1)), num_cycles=1000)

    def test_seed(self, make: Any, players: int) -> None:
        seed_test(lambda: make(config=MegalandConfig(players)), num_cycles=60)


@pytest.mark.parametrize("players", PLAYERS)
def test_parallel_api(players: int) -> None:
    parallel_api_test(megaland_v0.parallel_env(MegalandConfig(players)), num_cycles=100)
    parallel_api_test(megaland_v0.parallel_env(MegalandConfig(players, max_rounds=1)), num_cycles=1000)


@pytest.mark.parametrize("players", PLAYERS)
def test_parallel_seed(players: int) -> None:
    """PettingZoo's test samples without the mask."""
    parallel_seed_test(lambda: megaland_v0.parallel_env(MegalandConfig(players), illegal="random"), num_cycles=50)


def test_state() -> None:
    """PettingZoo's test samples without the mask."""
    arguments: dict[str, Any] = {"config": MegalandConfig(3), "illegal": "random"}
    state_test(megaland_v0.env(**arguments), megaland_v0.parallel_env(**arguments), num_cycles=60)


@pytest.mark.usefixtures("capsys")
def test_render() -> None:
    pytest.importorskip("PIL")
    render_test(megaland_v0.env)
    render_test(megaland_v0.raw_env)


def test_performance_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The benchmark runs, with a clock that ends it after some turns."""
    ticks = itertools.count()
    monkeypatch.setattr(
        sys.modules["pettingzoo.test.performance_benchmark"], "time", SimpleNamespace(time=lambda: next(ticks))
    )
    performance_benchmark(megaland_v0.env(config=SHORT))
    assert "turns per second" in capsys.readouterr().out


def test_the_registry_knows_both_forms() -> None:
    if not hasattr(pettingzoo, "aec_registry"):
        pytest.skip("this release has no registry")
    assert pettingzoo.spec("aec", "megaland_v0").id == pettingzoo.spec("parallel", "megaland_v0").id == "megaland-v0"
    env = pettingzoo.make("aec", "megaland_v0", config=SHORT)
    assert isinstance(env.unwrapped, megaland_v0.raw_env)
    assert env.unwrapped.config == SHORT
    assert isinstance(pettingzoo.make("parallel", "megaland-v0"), megaland_v0.parallel_env)


# ---------------------------------------------------------------------------------------------- what both have


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("make", [megaland_v0.env, megaland_v0.parallel_env])
def test_agents_and_spaces(make: Any, players: int) -> None:
    env = make(config=MegalandConfig(players))
    assert env.possible_agents == [f"player_{seat}" for seat in range(players)]
    assert str(env) == "megaland_v0"
    spaces = [env.observation_space(agent) for agent in env.possible_agents]
    assert len(set(map(id, spaces))) == players  # each its own, since each is seeded
    for agent, space in zip(env.possible_agents, spaces, strict=True):
        assert env.observation_space(agent) is space
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent).n == NUM_ACTIONS
        assert space["observation"].shape == env.state_space.shape == (NUM_FEATURES,)
        assert space["action_mask"].shape == (NUM_ACTIONS,)
    env.reset(seed=0)
    assert env.agents == env.possible_agents
    assert env.agents is not env.possible_agents


def test_observations_masks_and_infos_of_everyone_at_any_time() -> None:
    aec, parallel = megaland_v0.raw_env(config=SHORT), megaland_v0.parallel_env(config=SHORT)
    aec.reset(seed=4)
    observations, infos = parallel.reset(seed=4)
    steps = 0
    while parallel.agents:
        seen = encode(all_rows(parallel.games))
        for seat, agent in enumerate(parallel.possible_agents):
            observation = observations[agent]
            assert parallel.observation_space(agent).contains(observation)
            assert np.array_equal(observation["observation"], seen[seat])
            assert observation["action_mask"].dtype == np.int8
            assert np.array_equal(observation["action_mask"], parallel.games.legal[0, seat])
            assert np.array_equal(observation["action_mask"], infos[agent]["action_mask"])
            assert list(infos[agent].items())[1:] == [("win_share", 0.0), ("coins", 0), ("rounds", 0)]
            assert data_equivalence(aec.observe(agent), observation)
        assert np.array_equal(parallel.state(), seen[0])
        assert np.array_equal(aec.state(), seen[0])
        assert data_equivalence(aec.infos, infos)
        actions = legal_actions(parallel)
        while aec.games.steps[0] == steps:
            aec.step(actions[aec.agent_selection])
        observations, rewards, terminations, truncations, infos = parallel.step(actions)
        assert data_equivalence(aec.infos, infos)
        assert (aec.rewards, aec.terminations, aec.truncations) == (rewards, terminations, truncations)
        assert aec.played == parallel.played == actions
        steps += 1
    assert steps > 10


def test_what_is_given_out_may_be_changed() -> None:
    for make in (megaland_v0.raw_env, megaland_v0.parallel_env):
        env = make(config=SHORT)
        env.reset(seed=1)
        told = env.observe("player_0") if make is megaland_v0.raw_env else env.reset(seed=1)[0]["player_0"]
        infos = env.infos if make is megaland_v0.raw_env else env.reset(seed=1)[1]
        for array in (told["observation"], told["action_mask"], infos["player_0"]["action_mask"], env.state()):
            array[...] = 0
        assert env._masks[0].any()
        assert env._row(0).any()
        assert env.state().any()


@pytest.mark.parametrize("make", [megaland_v0.env, megaland_v0.parallel_env])
def test_seeds_and_what_a_reset_keeps(make: Any) -> None:
    config = MegalandConfig(2, "random", first_player=1)
    env = make(config=config)
    for seed in (6, 2**64 - 1, np.int64(6)):
        env.reset(seed=seed)
        assert env.game_seed == seed
    for episode in (1, 2):
        env.reset()
        assert env.game_seed == rng.episode_seeds([6], episode)[0]
        assert env.config == config
    drawn = []
    for _ in range(3):
        fresh = make(config=config)
        fresh.reset()
        drawn.append(fresh.game_seed)
        fresh.reset()
        assert fresh.game_seed == rng.episode_seeds([drawn[-1]], 1)[0]
    assert len(set(drawn)) == 3
    with pytest.raises(ValueError, match=r"seed is 1\.5"):
        env.reset(seed=1.5)


def test_the_same_seed_is_the_same_game_and_another_is_another() -> None:
    env = megaland_v0.env(config=SHORT)
    first = played_to_the_end(env, 1)
    assert data_equivalence(first, played_to_the_end(megaland_v0.env(config=SHORT), 1))
    other = played_to_the_end(env, 2)
    assert not data_equivalence(first, other)
    assert data_equivalence(first, played_to_the_end(env, 1))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(duplicate: Any) -> None:
    env = megaland_v0.parallel_env(config=SHORT)
    env.reset(seed=2)
    for _ in range(7):
        env.step(legal_actions(env))
    other = duplicate(env)
    while env.agents:
        assert data_equivalence(env.step(legal_actions(env)), other.step(legal_actions(other)))
    assert data_equivalence(env.reset(), other.reset())
    assert data_equivalence(env.step(legal_actions(env)), other.step(legal_actions(other)))


# --------------------------------------------------------------------------------------------------- taking turns


@pytest.mark.parametrize("config", TABLES, ids=table_id)
def test_turns_go_from_the_first_player_through_those_who_are_asked(config: MegalandConfig) -> None:
    env = megaland_v0.raw_env(config=replace(config, max_rounds=6))
    env.reset(seed=3)
    together = 0
    while not any(env.terminations.values()) and not any(env.truncations.values()):
        first = env.games.snapshot(0)["first_player"]
        clockwise = [(first + place) % config.num_players for place in range(config.num_players)]
        asked = [seat for seat in clockwise if env.games.active[0, seat]]
        for seat in asked:
            assert env.agent_selection == f"player_{seat}"
            assert env.games.active[0].sum() == len(asked)
            env.step(legal_action(env, env.agent_selection))
        together += len(asked) > 1
    assert together > 5


def what_all_can_see(env: Any) -> dict[str, Any]:
    """Everything that the environment tells about a game, as bytes and numbers for comparison."""
    return {
        "observations": {agent: env.observe(agent)["observation"].tobytes() for agent in env.possible_agents},
        "masks": {agent: env.observe(agent)["action_mask"].tobytes() for agent in env.possible_agents},
        "infos": {
            agent: {key: np.array(each).tobytes() for key, each in info.items()} for agent, info in env.infos.items()
        },
        "state": env.state().tobytes(),
        "rewards": dict(env.rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "picture": env.render(),
    }


def at_moment(games: MegalandGames) -> Any:
    """An AEC environment whose game is at a given moment."""
    env = megaland_v0.raw_env(config=games.config, render_mode="ansi")
    env.reset(seed=0)
    env.games = games
    env._look()
    env._new_moment()
    return env


def moments_of_several(times: int) -> Iterator[MegalandGames]:
    """Single games at a number of moments of each kind at which several seats decide."""
    games = dealt_games(MegalandConfig(4, LIVELY), 400, seed=3, reward="shaped")
    wanted = dict.fromkeys(Kind, times) | dict.fromkeys((Kind.NONE, Kind.BUY, Kind.PAY), 0)
    luck = np.random.default_rng(3)
    while games.active.any() and any(wanted.values()):
        for game in np.flatnonzero(games.active.sum(axis=1) > 1):
            kind = Kind(int(games.kind[game]))
            if wanted[kind]:
                wanted[kind] -= 1
                yield games.copy([game])
        games.step(some_legal(games, luck, boldness=3))
    assert not any(wanted.values()), f"not reached: {wanted}"


def test_nobody_sees_a_pending_choice() -> None:
    """No observation changes until all asked seats have chosen, whatever they choose."""
    for games in moments_of_several(times=3):
        asked = np.flatnonzero(games.active[0]).tolist()
        before, order = what_all_can_see(at_moment(games)), at_moment(games)._to_ask
        options = [np.flatnonzero(games.legal[0, seat])[:2].tolist() for seat in asked]
        for choices in itertools.product(*options):
            env, of = at_moment(games.copy()), dict(zip(asked, choices, strict=True))
            for agent in order:
                env.step(of[seat_of(env.agent_selection)])
                assert what_all_can_see(env) == before
                assert env.agent_selection == agent
                assert env.agents == env.possible_agents
                assert env.games.steps[0] == games.steps[0]
            env.step(of[seat_of(env.agent_selection)])
            assert env.games.steps[0] == games.steps[0] + 1
            assert [env.played[f"player_{seat}"] for seat in asked] == list(choices)


def test_the_wrapper_knows_the_order_of_calls() -> None:
    env = megaland_v0.env(config=SHORT)
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        _ = env.agent_selection
    with pytest.raises(AssertionError, match="reset"):
        env.step(STAY)
    raw = megaland_v0.raw_env(config=SHORT)
    with pytest.raises(ResetNeeded):
        raw.step(STAY)
    played_to_the_end(raw, 0)
    assert raw.agents == []
    with pytest.raises(ResetNeeded):
        raw.step(None)


# ------------------------------------------------------------------------------------------------ rewards and ends


def from_the_engine(config: MegalandConfig, seed: int, reward: Any) -> tuple[list[float], MegalandGames]:
    """The return of each seat in the engine."""
    games = MegalandGames(config, reward=reward)
    games.reset([seed])
    returns = np.zeros(config.num_players)
    while games.active.any():
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions, seed=7)))
        returns += games.rewards[0]
    return returns.tolist(), games


@pytest.mark.parametrize(
    ("config", "reward"), [*((table, Shaped(1.0)) for table in TABLES), (TABLES[1], "win"), (TABLES[2], "coins")]
)
def test_a_seat_collects_its_final_reward(config: MegalandConfig, reward: Any) -> None:
    """A seat gets its final reward, even if another's move decided it or the game was cut off."""
    for seed, rounds in ((1, 15), (2, 2)):
        config = replace(config, max_rounds=rounds)
        wanted, games = from_the_engine(config, seed, reward)
        aec, parallel = megaland_v0.env(config=config, reward=reward), megaland_v0.parallel_env(config, reward=reward)
        collected = dict.fromkeys(aec.possible_agents, 0.0)
        last_turns = []
        for agent, _, paid, termination, truncation, info in played_to_the_end(aec, seed):
            collected[agent] += paid
            assert (termination or truncation) == (info["rounds"] > 0)
            if termination or truncation:
                assert (termination, truncation) == (games.terminated[0], games.truncated[0])
                assert info["coins"] == games.coins[0, seat_of(agent)]
                assert info["rounds"] == games.rounds[0]
                assert info["win_share"] == games.winners[0, seat_of(agent)] / max(1, games.winners[0].sum())
                last_turns.append(agent)
        assert last_turns == aec.possible_agents  # each has one, and sees the end
        assert list(collected.values()) == pytest.approx(wanted, abs=1e-5)
        parallel.reset(seed=seed)
        paid_in_all = np.zeros(config.num_players)
        while parallel.agents:
            _, rewards, terminations, truncations, infos = parallel.step(legal_actions(parallel))
            paid_in_all += list(rewards.values())
        assert paid_in_all.tolist() == pytest.approx(wanted, abs=1e-6)
        assert set(terminations.values()) == {bool(games.terminated[0])}
        assert set(truncations.values()) == {bool(games.truncated[0])}
        assert [info["coins"] for info in infos.values()] == games.coins[0].tolist()


def test_the_loser_sees_its_loss() -> None:
    told = played_to_the_end(megaland_v0.env(config=MegalandConfig(2)), 0)
    last = {agent: paid for agent, _, paid, termination, *_ in told if termination}
    assert sorted(last.values()) == [-0.5, 0.5]


def test_the_cut_off_truncates() -> None:
    told = played_to_the_end(megaland_v0.env(config=MegalandConfig(4, max_rounds=1)), 0)
    assert [(paid, *flags) for _, _, paid, *flags, _ in told[-4:]] == [(0.0, False, True)] * 4


# --------------------------------------------------------------------------------------------------------- actions


@pytest.mark.parametrize("action", [Action["BUY_LODGE"], PASS, -1, NUM_ACTIONS, np.int8(-3)])
def test_an_illegal_action_changes_nothing(action: Any) -> None:
    aec, parallel = megaland_v0.env(config=SHORT), megaland_v0.parallel_env(config=SHORT)
    aec.reset(seed=0)
    aec.step(STAY)  # another's choice is pending
    parallel.reset(seed=0)
    agent = aec.agent_selection
    with pytest.raises(IllegalActionError, match=f"{agent} is asked for 'run'.*legal are STAY, LEAVE") as caught:
        aec.step(action)
    assert (caught.value.seat, caught.value.action) == (seat_of(agent), action)
    assert caught.value.legal == ["STAY", "LEAVE"]
    assert aec.agent_selection == agent
    before = everything(parallel.games)
    with pytest.raises(IllegalActionError, match="player_1 is asked for 'run'"):
        parallel.step({"player_0": STAY, "player_1": action, "player_2": STAY})
    assert everything(parallel.games) == everything(aec.games) == before
    for _ in range(2):
        aec.step(STAY)
    parallel.step(dict.fromkeys(parallel.agents, STAY))
    assert everything(parallel.games) == everything(aec.games)


@pytest.mark.parametrize("action", [None, "STAY", 1.0, True, [1, 2]])
def test_what_is_no_action(action: Any) -> None:
    aec, parallel = megaland_v0.env(config=SHORT), megaland_v0.parallel_env(config=SHORT)
    aec.reset(seed=0)
    with pytest.raises(ValueError, match=f"{aec.agent_selection} must give an action from 0 to 39, not"):
        aec.step(action)
    parallel.reset(seed=0)
    with pytest.raises(ValueError, match="player_2 must give an action from 0 to 39, not"):
        parallel.step({"player_0": STAY, "player_1": STAY, "player_2": action})


def test_who_is_not_asked_must_pass() -> None:
    env = megaland_v0.parallel_env(config=SHORT)
    env.reset(seed=0)
    env.step({"player_0": LEAVE, "player_1": STAY, "player_2": STAY})
    assert env.games.active.tolist() == [[False, True, True]]
    before = everything(env.games)
    with pytest.raises(IllegalActionError, match=r"player_0 is not asked: action 1 \(STAY\).*legal are PASS"):
        env.step(dict.fromkeys(env.agents, STAY))
    assert everything(env.games) == before
    env.step({"player_0": PASS, "player_1": STAY, "player_2": np.array(LEAVE)})
    assert env.games.steps[0] == 2
    lenient = megaland_v0.parallel_env(config=SHORT, illegal="random")
    lenient.reset(seed=0)
    lenient.step({"player_0": LEAVE, "player_1": STAY, "player_2": STAY})
    lenient.step(dict.fromkeys(lenient.agents, STAY))
    assert lenient.played == {"player_0": PASS, "player_1": STAY, "player_2": STAY}
    assert lenient.illegal_actions == 1


def test_actions_of_all_agents_and_of_nobody_else() -> None:
    env = megaland_v0.parallel_env(config=SHORT)
    with pytest.raises(ResetNeeded):
        env.step({})
    env.reset(seed=0)
    for actions in ({}, {"player_0": STAY}, dict.fromkeys([*env.agents, "player_3"], STAY)):
        with pytest.raises(ValueError, match="actions must be of player_0, player_1, player_2, not of"):
            env.step(actions)
    while env.agents:
        env.step(legal_actions(env))
    assert env.step({}) == ({}, {}, {}, {}, {})
    with pytest.raises(ResetNeeded):
        env.step({"player_0": PASS})


def test_illegal_actions_replaced_at_random() -> None:
    env = megaland_v0.env(config=SHORT, illegal="random")
    env.reset(seed=0)
    illegal = 0
    for number, agent in enumerate(env.agent_iter()):
        observation, _, termination, truncation, _ = env.last()
        if termination or truncation:
            env.step(None)
            continue
        mask = observation["action_mask"]
        action = number * 7 % NUM_ACTIONS if number % 3 else -1
        legal = action >= 0 and bool(mask[action])
        illegal += not legal
        pending = env.unwrapped._pending
        env.step(action)
        chosen = pending[agent]
        assert mask[chosen]
        assert chosen == action or not legal
        assert env.illegal_actions == illegal
    assert illegal > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"illegal": "pass"}, "illegal"), ({"reward": "fun"}, "reward"), ({"render_mode": "gif"}, "render_mode")],
)
def test_arguments_without_meaning(arguments: dict[str, Any], message: str) -> None:
    for make in (megaland_v0.env, megaland_v0.parallel_env):
        with pytest.raises(ValueError, match=message):
            make(**arguments)


# -------------------------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("make", [megaland_v0.env, megaland_v0.parallel_env])
def test_rendering(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    env = make(config=SHORT, render_mode="ansi")
    env.reset(seed=0)
    board = env.render()
    assert isinstance(board, str)
    assert "MEGALAND" in board
    assert not capsys.readouterr().out
    env.close()
    env = make(config=SHORT)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None


def test_people_are_shown_each_moment(capsys: pytest.CaptureFixture[str]) -> None:
    env = megaland_v0.parallel_env(config=SHORT, render_mode="human")
    env.reset(seed=0)
    first = capsys.readouterr().out
    env.step(dict.fromkeys(env.agents, STAY))
    second = capsys.readouterr().out
    assert first
    assert second
    assert first != second
    assert env.render() is None
    assert capsys.readouterr().out == second
    aec = megaland_v0.env(config=SHORT, render_mode="human")
    aec.reset(seed=0)
    assert capsys.readouterr().out == first
    for _ in range(2):
        aec.step(STAY)
        assert not capsys.readouterr().out  # the game has not moved yet
    aec.step(STAY)
    assert capsys.readouterr().out == second


def test_a_picture() -> None:
    pytest.importorskip("PIL")
    env = megaland_v0.env(config=SHORT, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
