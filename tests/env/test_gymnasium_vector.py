"""The Gymnasium vector environments of one learner: the contract of Gymnasium, for which there is no public check.

The strongest part of it: they do, value for value, what Gymnasium's own ``SyncVectorEnv`` does with single
environments.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from megaland_env import NUM_ACTIONS, IllegalActionError, MegalandConfig
from megaland_env.agent import random_legal
from megaland_env.engine import rng
from megaland_env.envs.gymnasium_vector import MegalandRunVectorEnv, MegalandVectorEnv, OneLearnerVectorEnv
from megaland_env.observation import NUM_FEATURES

NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
MODES = [NEXT, SAME]
TASKS: list[tuple[str, dict[str, Any]]] = [
    ("Megaland-v0", {"config": MegalandConfig(num_players=3, max_rounds=4), "opponents": "random", "reward": "coins"}),
    ("Megaland-v0", {"config": MegalandConfig(num_players=2), "reward": "shaped"}),
    ("Megaland-Run-v0", {"hearts": 2, "value": (5, 1, 2, 1, 3, 2)}),
    ("Megaland-Buy-v0", {}),
]


def make(name: str = "Megaland-v0", num_envs: int = 6, **options: Any) -> OneLearnerVectorEnv:
    env = gym.make_vec(name, num_envs=num_envs, vectorization_mode="vector_entry_point", **options)
    assert isinstance(env, OneLearnerVectorEnv)
    return env


def any_legal(env: OneLearnerVectorEnv) -> npt.NDArray[np.int64]:
    """Random legal actions that depend on each game alone."""
    return random_legal(env.games.decisions(), 7).astype(np.int64)


def check_equal(ours: Any, theirs: Any, where: str = "") -> None:
    """Check that nested values are equal and of the same types."""
    assert type(ours) is type(theirs), where
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), where
        for name in ours:
            check_equal(ours[name], theirs[name], f"{where}/{name}")
    elif isinstance(ours, (tuple, list)) or (isinstance(ours, np.ndarray) and ours.dtype == object):
        for number, (own, other) in enumerate(zip(ours, theirs, strict=True)):
            check_equal(own, other, f"{where}/{number}")
    elif isinstance(ours, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        assert np.array_equal(ours, theirs), where
    else:
        assert ours == theirs, where


# ------------------------------------------------------------------------------------------------ the contract


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "options"), TASKS)
def test_it_does_what_a_sync_vector_env_does(name: str, options: dict[str, Any], mode: AutoresetMode) -> None:
    ours = make(name, 4, autoreset_mode=mode, **options)
    theirs = gym.make_vec(
        name, num_envs=4, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    check_equal(ours.reset(seed=3), theirs.reset(seed=3))
    ended = 0
    for number in range(90):
        actions = any_legal(ours)
        mine, due = ours.step(actions), theirs.step(actions)
        check_equal(mine, due, f"step {number}")
        ended += int((mine[2] | mine[3]).sum())
        assert ours.observation_space.contains(np.ascontiguousarray(mine[0]))
    assert ended >= 4
    check_equal(ours.reset(), theirs.reset())
    seeds = [7, None, 2**40, None]
    check_equal(ours.reset(seed=seeds), theirs.reset(seed=seeds))


@pytest.mark.parametrize("name", ["Megaland-v0", "Megaland-Run-v0", "Megaland-Buy-v0"])
@pytest.mark.parametrize("mode", [NEXT, SAME, DISABLED])
def test_spaces_and_metadata(name: str, mode: AutoresetMode) -> None:
    env = make(name, autoreset_mode=mode)  # a warning of make_vec would be an error
    assert env.metadata["autoreset_mode"] is mode
    assert make(name, autoreset_mode=mode.value).metadata["autoreset_mode"] is mode
    assert OneLearnerVectorEnv.metadata == {}  # nothing is written to the class
    assert env.single_observation_space.shape == (NUM_FEATURES,)
    assert env.single_action_space == gym.spaces.Discrete(NUM_ACTIONS)
    assert env.observation_space.shape == (6, NUM_FEATURES)
    assert env.action_space == gym.spaces.MultiDiscrete([NUM_ACTIONS] * 6)
    assert env.spec is not None
    assert env.spec.id == name
    assert env.num_envs == 6
    observations, infos = env.reset(seed=0)
    assert (observations.shape, observations.dtype) == ((6, NUM_FEATURES), np.float32)
    assert np.array_equal(infos["action_mask"], env.action_masks())
    env.close()


def test_next_step_is_the_default() -> None:
    assert make().metadata["autoreset_mode"] is NEXT
    assert gym.make_vec("Megaland-v0", num_envs=2).unwrapped.num_envs == 2  # the vector entry point is the default too


def test_what_is_given_out_is_not_written_over() -> None:
    env = make("Megaland-Run-v0", autoreset_mode=SAME)
    given = [env.reset(seed=0), *(env.step(any_legal(env)) for _ in range(30))]
    again = make("Megaland-Run-v0", autoreset_mode=SAME)
    check_equal(given, [again.reset(seed=0), *(again.step(any_legal(again)) for _ in range(30))])
    arrays = [each for parts in given for each in parts if isinstance(each, np.ndarray)]
    arrays += [each for parts in given for each in parts[-1].values() if isinstance(each, np.ndarray)]
    assert not any(
        np.may_share_memory(one, other) for i, one in enumerate(arrays) for other in arrays[:i] if one.dtype != object
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_masks_fit_the_observations(mode: AutoresetMode) -> None:
    env = make(num_envs=8, config=MegalandConfig(num_players=2), autoreset_mode=mode)
    _, infos = env.reset(seed=1)
    for _ in range(120):
        masks = infos["action_mask"]
        assert (masks.dtype, masks.shape) == (np.int8, (8, NUM_ACTIONS))
        assert infos["_action_mask"].all()
        assert masks.any(axis=1).all()
        assert np.array_equal(masks, env.action_masks())
        _, _, terminations, truncations, infos = env.step(any_legal(env))
        for game in np.flatnonzero(terminations | truncations):
            last = infos["final_info"] if mode is SAME else infos
            assert np.flatnonzero(last["action_mask"][game]).tolist() == [0]


def test_illegal_actions() -> None:
    env = make(seat=2)
    env.reset(seed=0)
    before = env.games.games.snapshot(3)
    actions = any_legal(env)
    actions[3] = 39
    with pytest.raises(IllegalActionError, match="game 3, seat 2"):
        env.step(actions)
    assert env.games.games.snapshot(3) == before
    lenient = make(seat=2, illegal="random")
    lenient.reset(seed=0)
    lenient.step(actions)
    assert lenient.games.illegal_actions == 1


# ------------------------------------------------------------------------------------------------ the end of games


def episodes(env: OneLearnerVectorEnv, wanted: int, seed: int = 0) -> list[list[tuple[float, int]]]:
    """The returns and lengths of the first episodes of each slot, added up by hand."""
    mode = env.metadata["autoreset_mode"]
    env.reset(seed=seed)
    told: list[list[tuple[float, int]]] = [[] for _ in range(env.num_envs)]
    returns, lengths = np.zeros(env.num_envs), np.zeros(env.num_envs, int)
    done = np.zeros(env.num_envs, np.bool_)
    while min(map(len, told)) < wanted:
        _, rewards, terminations, truncations, infos = env.step(any_legal(env))
        starting = done if mode is NEXT else np.zeros_like(done)
        assert (rewards[starting] == 0).all()
        returns += rewards
        lengths += ~starting
        done = terminations | truncations
        last = infos.get("final_info", infos)
        assert np.array_equal(last["episode_length"] > 0, done)
        assert last["_episode_return"].all() or mode is not NEXT
        for game in np.flatnonzero(done):
            own = (float(last["episode_return"][game]), int(last["episode_length"][game]))
            assert own == (pytest.approx(returns[game]), lengths[game])
            told[game].append(own)
            returns[game] = lengths[game] = 0
    return [each[:wanted] for each in told]


@pytest.mark.parametrize(("name", "options"), TASKS)
def test_all_modes_give_the_same_episodes(name: str, options: dict[str, Any]) -> None:
    next_step, same_step = (episodes(make(name, autoreset_mode=mode, **options), 3) for mode in MODES)
    assert next_step == same_step


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "options"), TASKS)
def test_the_statistics_of_gymnasium(name: str, options: dict[str, Any], mode: AutoresetMode) -> None:
    """Gymnasium's statistics equal ours. Before 1.4, with SAME_STEP, theirs omit a step of later episodes."""
    env = make(name, autoreset_mode=mode, **options)
    wrapped = RecordEpisodeStatistics(env, buffer_length=10_000)
    wrapped.reset(seed=0)
    theirs, ours = [], []
    for _ in range(150):
        *_, terminations, truncations, infos = wrapped.step(any_legal(env))
        last = infos.get("final_info", infos)
        for game in np.flatnonzero(terminations | truncations):
            theirs.append((infos["episode"]["r"][game], infos["episode"]["l"][game]))
            ours.append((last["episode_return"][game], last["episode_length"][game]))
    assert len(ours) >= 6
    version = tuple(int(part) for part in gym.__version__.split(".")[:2])
    if mode is SAME and version < (1, 4):
        assert len(theirs) == len(ours)
        assert sum(length for _, length in theirs) < sum(length for _, length in ours)
    else:
        assert [length for _, length in theirs] == [length for _, length in ours]
        assert np.allclose([value for value, _ in theirs], [value for value, _ in ours], atol=1e-6)


def test_same_step_gives_the_last_observation_and_info() -> None:
    config = MegalandConfig(num_players=2)
    env, waiting = (make(config=config, autoreset_mode=mode) for mode in (SAME, DISABLED))
    env.reset(seed=2)
    waiting.reset(seed=2)
    ended = np.zeros(6, np.bool_)
    while not ended.any():
        actions = any_legal(env)
        _, _, terminations, truncations, infos = env.step(actions)
        observations, *_, last = waiting.step(actions)
        ended = terminations | truncations
    assert (infos["_final_obs"] == ended).all()
    assert (infos["_final_info"] == ended).all()
    for game in range(6):
        if ended[game]:
            assert np.array_equal(infos["final_obs"][game], observations[game])
        else:
            assert infos["final_obs"][game] is None
    for name in ("win_share", "coins", "rounds", "seat", "episode_return", "episode_length"):
        assert np.array_equal(infos["final_info"][name], last[name])
        assert np.array_equal(infos["final_info"][f"_{name}"], ended)
    assert (
        env.games.games.seeds[ended].tolist()
        == rng.episode_seeds(2 + np.flatnonzero(ended), [1] * ended.sum()).tolist()
    )


def test_truncated_is_the_cut_off_alone() -> None:
    env = make(config=MegalandConfig(num_players=3, max_rounds=3), opponents="random")
    env.reset(seed=0)
    truncated = np.zeros(6, np.bool_)
    for _ in range(60):
        _, rewards, terminations, truncations, infos = env.step(any_legal(env))
        assert not terminations.any()
        assert (rewards == 0).all()
        truncated |= truncations
        assert (infos.get("rounds", np.zeros(6))[truncations] == 3).all()
    assert truncated.all()


# ------------------------------------------------------------------------------------------------ without autoreset


def test_disabled_waits_for_a_reset_by_mask() -> None:
    env = MegalandRunVectorEnv(5, autoreset_mode=DISABLED)
    env.reset(seed=0)
    over = np.zeros(5, np.bool_)
    while not over.any():
        *_, over, _, _ = env.step(any_legal(env))
    seeds, left = env.games.games.seeds.copy(), [env.games.games.snapshot(game) for game in np.flatnonzero(~over)]
    with pytest.raises(ResetNeeded, match="reset_mask"):
        env.step(any_legal(env))
    options = {"reset_mask": over}
    observations, _ = env.reset(options=options)
    assert options == {"reset_mask": over}  # wrappers read it afterwards
    assert observations.shape == (5, NUM_FEATURES)
    assert [env.games.games.snapshot(game) for game in np.flatnonzero(~over)] == left
    assert (env.games.games.seeds != seeds).tolist() == over.tolist()
    env.reset(seed=[0, 1, 2, 3, 4], options={"reset_mask": over})
    assert env.games.games.seeds.tolist() == seeds.tolist()
    env.step(any_legal(env))


@pytest.mark.parametrize("mask", [[True] * 5, np.ones(5), np.ones(4, np.bool_), np.zeros(5, np.bool_)])
def test_a_reset_mask_must_be_one(mask: Any) -> None:
    env = MegalandRunVectorEnv(5, autoreset_mode=DISABLED)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": mask})


def test_a_seed_must_be_an_integer() -> None:
    env = MegalandRunVectorEnv(2)
    with pytest.raises(ValueError, match=r"seed\[0\] is 1\.5; it must be an integer"):
        env.reset(seed=[1.5, 2])  # type: ignore[list-item]


def test_there_must_be_games_to_play() -> None:
    env = MegalandRunVectorEnv(2)
    with pytest.raises(ResetNeeded):
        env.step(np.ones(2, int))
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})


# ------------------------------------------------------------------------------------------------ seeds and arguments


def test_seeds() -> None:
    env = make()
    env.reset(seed=2**64 - 2)
    assert env.games.games.seeds.tolist() == [2**64 - 2, 2**64 - 1, 0, 1, 2, 3]
    env.reset()
    assert (
        env.games.games.seeds.tolist()
        == rng.episode_seeds(rng.as_words([2**64 - 2, 2**64 - 1, 0, 1, 2, 3]), [1] * 6).tolist()
    )
    env.reset(seed=np.arange(6))
    assert env.games.games.seeds.tolist() == list(range(6))
    with pytest.raises(ValueError, match="5 seeds"):
        env.reset(seed=[1, 2, 3, 4, 5])
    drawn = []
    for _ in range(2):
        fresh = make()
        fresh.np_random = np.random.default_rng(1)
        fresh.reset(seed=[None, 5, None, None, None, None])
        drawn.append(fresh.games.games.seeds.tolist())
    assert drawn[0] == drawn[1]
    assert drawn[0][1] == 5
    assert len(set(drawn[0])) == 6


def test_opponents_can_be_changed() -> None:
    env = make()
    assert isinstance(env, MegalandVectorEnv)
    env.reset(seed=0)
    env.set_opponents({"random": 1.0, "threshold": 2.0})
    env.reset()
    assert {type(agent).__name__ for agent in env.games.agents} == {"RandomAgent", "ThresholdAgent"}


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="valid AutoresetMode"):
        make(autoreset_mode="sometimes")
    with pytest.raises(ValueError, match="render_mode is 'human'"):
        MegalandVectorEnv(2, render_mode="human")
    env = make()
    env.reset(seed=0)
    for actions in (np.zeros(5, int), np.zeros((6, 1), int), np.zeros(6)):
        with pytest.raises(ValueError, match="actions must be"):
            env.step(actions)


def test_frames() -> None:
    env = make("Megaland-Run-v0", 3, render_mode="ansi")
    env.reset(seed=0)
    frames = env.render()
    assert frames is not None
    assert len(set(frames)) == 3
    silent = make(num_envs=2)
    silent.reset(seed=0)
    assert silent.render() is None


def test_the_opponents_of_each_game_are_named_where_it_is_shown() -> None:
    env = MegalandVectorEnv(4, opponents={"random": 1.0, "threshold": 1.0}, render_mode="ansi")
    env.reset(seed=5)
    boards = env.render()
    assert boards is not None
    for game, board in enumerate(boards):
        names = env.games.names(game)
        assert names.index("learner") == env.games.seats[game]
        assert all(f"seat {seat} {name}" in board for seat, name in enumerate(names) if name != "learner")
