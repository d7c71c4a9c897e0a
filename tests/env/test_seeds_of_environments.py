"""Every environment takes the same seeds: integers from 0 to 2**64 - 1, and nothing that only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from megaland_env import MegalandConfig, megaland_v0
from megaland_env.envs.gymnasium_env import MegalandEnv
from megaland_env.envs.gymnasium_vector import MegalandRunVectorEnv, MegalandVectorEnv
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.envs.sb3_vec_env import MegalandVecEnv

TWO = MegalandConfig(2)


def started(seed: Any) -> MegalandVecEnv:
    env = MegalandVecEnv(TWO, 3, seed=seed)
    env.reset()
    return env


ONE: dict[str, Callable[[Any], Any]] = {
    "single": lambda seed: MegalandEnv(TWO).reset(seed=seed),
    "task": lambda seed: gym.make("megaland_env:Megaland-Buy-v0").unwrapped.reset(seed=seed),
    "aec": lambda seed: megaland_v0.env(TWO).reset(seed=seed),
    "parallel": lambda seed: megaland_v0.parallel_env(TWO).reset(seed=seed),
    "sb3": lambda seed: MegalandVecEnv(TWO, 3).seed(seed),
    "sb3, made": started,
}
SEVERAL: dict[str, Callable[[], Any]] = {
    "vector": lambda: MegalandVectorEnv(3, TWO),
    "vector task": lambda: MegalandRunVectorEnv(3),
    "every seat": lambda: MegalandMultiAgentVectorEnv(3, TWO),
}
WRONG = [1.5, 1.0, "7", b"7", True, np.True_, -1, 2**64, np.float32(2), [1.5], {}, np.array(1.5), ...]


@pytest.mark.parametrize("seed", WRONG, ids=repr)
@pytest.mark.parametrize("give", ONE.values(), ids=ONE)
def test_one_seed_is_an_integer_of_64_bits(give: Callable[[Any], Any], seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed is .*; it must be an integer from 0 to 18446744073709551615"):
        give(seed)


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        *(
            (seed, "seed is .*; it must be an integer from 0 to .*, a sequence of 3 of them, or None")
            for seed in WRONG[:9]
        ),
        ({1, 2, 3}, "seed is .*a sequence of 3 of them"),
        ("123", "seed is '123'.*a sequence of 3 of them"),
        (np.ones((3, 2), int), "seed is .*a sequence of 3 of them"),
        ([1.9, 2.9, "7"], r"seed\[0\] is 1\.9; it must be an integer from 0 to .* or None"),
        ([1, 2, "7"], r"seed\[2\] is '7'"),
        (np.array([0.5, 1.5, 2.5]), r"seed\[0\] is .*0\.5"),
        ([1, True, 3], r"seed\[1\] is True"),
        ([-1, 2, 3], r"seed\[0\] is -1"),
        (np.array([1, 2, -3]), r"seed\[2\] is .*-3"),
        ([1, 2, 2**64], r"seed\[2\] is 18446744073709551616"),
        ([1, 2], "seed names 2 seeds; there are 3 games"),
        ([], "seed names 0 seeds; there are 3 games"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("make", SEVERAL.values(), ids=SEVERAL)
def test_seeds_of_several_games(make: Callable[[], Any], seed: Any, message: str) -> None:
    """Nothing has changed after the error: the games go on with the seeds that they had."""
    env, twin = make(), make()
    env.reset(seed=5)
    twin.reset(seed=5)
    with pytest.raises(ValueError, match=f"(?s)^{message}"):
        env.reset(seed=seed)
    np.testing.assert_array_equal(env.action_masks(), twin.action_masks())
    np.testing.assert_array_equal(env.reset()[0], twin.reset()[0])
    assert env.np_random.integers(2**32) == twin.np_random.integers(2**32)


@pytest.mark.parametrize(
    "seed", [0, 7, 2**64 - 1, np.int64(7), np.uint64(2**64 - 1), np.uint8(3), np.array(4)], ids=repr
)
def test_integers_of_any_type_are_seeds(seed: Any) -> None:
    """Also those that Gymnasium's own random generator does not take."""
    for give in ONE.values():
        give(seed)
    env = MegalandEnv(TWO)
    env.reset(seed=seed)
    assert env.games.games.seeds.tolist() == [int(seed)]
    for make in SEVERAL.values():
        make().reset(seed=seed)
        make().reset(seed=[seed, None, seed])


def test_seeds_counted_past_the_largest_begin_again_at_0() -> None:
    env = MegalandMultiAgentVectorEnv(3, TWO)
    env.reset(seed=2**64 - 1)
    for seeds in (env.game_seeds, started(2**64 - 1).game_seeds):
        assert seeds.tolist() == [2**64 - 1, 0, 1]
