"""The page about the environments is true: the ids and keys it names exist; tests/documents runs its examples."""

from __future__ import annotations

import re

import gymnasium as gym
import numpy as np
import pytest

from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")


def test_the_ids_exist() -> None:
    ids = set(re.findall(r'"(megaland_env:[\w-]+)"|`(megaland_env:[\w-]+)`', PAGE))
    names = {one or two for one, two in ids}
    assert len(names) == 4
    for name in names:
        assert gym.spec(name.partition(":")[2]).id in name


def test_the_keys_of_infos_exist() -> None:
    table = PAGE[PAGE.index("| key |") : PAGE.index("In vector environments each key")]
    keys = set(re.findall(r"`(\w+)`", table))
    _, info = gym.make("megaland_env:Megaland-v0", opponents="random").reset(seed=0)
    assert keys | {"action_mask"} == set(info)


def test_neighbouring_base_seeds_play_the_same_games() -> None:
    """Which is why they must lie ``num_envs`` apart."""
    seeds = []
    for base in (0, 1, 8):
        env = MegalandVecEnv(num_envs=8, num_players=2, opponents="random", seed=base)
        env.reset()
        seeds.append(set(env.game_seeds.tolist()))
    assert len(seeds[0] & seeds[1]) == 7
    assert not seeds[0] & seeds[2]


@pytest.mark.parametrize("players", [2, 3])
def test_the_mean_return_is_the_share_of_the_wins_less_par(players: int) -> None:
    env = MegalandVecEnv(num_envs=64, num_players=players, opponents="random", seed=0)
    env.reset()
    luck = np.random.default_rng(0)
    ended = 0
    while ended < 64:
        masks = env.action_masks()
        for info in env.step((luck.random(masks.shape) * masks).argmax(axis=1))[-1]:
            if info and "TimeLimit.truncated" not in info:
                assert info["episode"]["r"] == pytest.approx(info["win_share"] - 1 / players, abs=1e-5)
                ended += 1
