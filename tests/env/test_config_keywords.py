"""Everything that makes games takes a configuration or its fields as keywords, but not both."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import gymnasium as gym
import pettingzoo  # type: ignore[import-untyped]
import pytest
from gymnasium.envs.registration import EnvSpec

import megaland_env
from megaland_env import Building, ConfigError, MegalandConfig, MegalandGames, megaland_v0
from megaland_env.config import ConfigFields
from megaland_env.envs.gymnasium_env import MegalandEnv
from megaland_env.envs.gymnasium_vector import MegalandVectorEnv
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.envs.sb3_vec_env import MegalandVecEnv

Make = Callable[..., Any]


def make(**options: Any) -> Any:
    return gym.make("Megaland-v0", **options).unwrapped


def make_vec(**options: Any) -> Any:
    return gym.make_vec("Megaland-v0", num_envs=2, vectorization_mode="vector_entry_point", **options)


def make_sync(**options: Any) -> Any:
    return gym.make_vec("Megaland-v0", num_envs=1, vectorization_mode="sync", **options).envs[0].unwrapped


def made_by_pettingzoo(**options: Any) -> Any:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    return pettingzoo.make("aec", "megaland_v0", **options)


MAKERS: dict[str, Make] = {
    "MegalandGames": MegalandGames,
    "MegalandEnv": MegalandEnv,
    "gymnasium.make": make,
    "MegalandVectorEnv": MegalandVectorEnv,
    "gymnasium.make_vec": make_vec,
    "gymnasium.make_vec sync": make_sync,
    "MegalandMultiAgentVectorEnv": MegalandMultiAgentVectorEnv,
    "megaland_v0.env": megaland_v0.env,
    "megaland_v0.raw_env": megaland_v0.raw_env,
    "megaland_v0.parallel_env": megaland_v0.parallel_env,
    "pettingzoo.make": made_by_pettingzoo,
    "MegalandVecEnv": MegalandVecEnv,
}
MARKET = ["Lodge", "hospital", Building.GYM, "ARENA", "Smithy", "Root Market", "herb hut"]
FIELDS: dict[str, Any] = {
    "num_players": 2,
    "market": MARKET,
    "first_player": 1,
    "payment": "auto",
    "skip_forced": False,
    "max_rounds": 7,
    "star_copies": [6, 5, 5, 5, 4, 3],
}
everywhere = pytest.mark.parametrize("maker", MAKERS.values(), ids=list(MAKERS))


def config_in(made: Any) -> MegalandConfig:
    if isinstance(made, MegalandVecEnv):
        return made.blocks[0].config
    games = made.unwrapped.games if hasattr(made, "unwrapped") else made
    config: MegalandConfig = games.config
    return config


def test_the_keywords_are_the_fields() -> None:
    """The definition that type checkers read agrees with the one that checks the values."""
    assert set(get_type_hints(ConfigFields)) == {field.name for field in fields(MegalandConfig)} == set(FIELDS)


@everywhere
def test_fields_as_keywords(maker: Make) -> None:
    assert config_in(maker(**FIELDS)) == MegalandConfig(**FIELDS)
    assert config_in(maker(num_players=5)) == MegalandConfig(5)
    assert config_in(maker(config=MegalandConfig(3))) == MegalandConfig(3)
    assert config_in(maker()) == MegalandConfig()


@everywhere
@pytest.mark.parametrize("config", [MegalandConfig(2), MegalandConfig(3)])
def test_both_are_an_error(maker: Make, config: MegalandConfig) -> None:
    """A configuration and keywords together are an error, even if they agree."""
    with pytest.raises(TypeError, match="takes config or its fields, not both: config and num_players were given"):
        maker(config=config, num_players=2)


@everywhere
@pytest.mark.parametrize(
    ("wrong", "near"),
    [("num_player", "'num_players'"), ("rewards", "'reward'"), ("markets", "'market'"), ("max_round", "'max_rounds'")],
)
def test_unknown_keywords_and_the_nearest(maker: Make, wrong: str, near: str) -> None:
    with pytest.raises(TypeError, match=rf"\(\) got an unexpected keyword argument '{wrong}'; did you mean .*{near}"):
        maker(**{wrong: 2})


@everywhere
def test_a_field_that_is_invalid(maker: Make) -> None:
    with pytest.raises(ConfigError, match="num_players is 6; it must be from 2 to 5"):
        maker(num_players=6)


def test_a_keyword_that_is_like_nothing() -> None:
    with pytest.raises(TypeError, match="'xyzzy'; the game has num_players, market, first_player"):
        MegalandGames(xyzzy=1)  # type: ignore[call-arg]


def test_several_configurations_take_no_fields() -> None:
    env = MegalandVecEnv([MegalandConfig(2), MegalandConfig(5)], 4)
    assert env.num_players.tolist() == [2, 2, 5, 5]
    with pytest.raises(TypeError, match="not both"):
        MegalandVecEnv([MegalandConfig(2), MegalandConfig(5)], 4, num_players=2)
    with pytest.raises(ValueError, match="config is 3; it must be a MegalandConfig"):
        MegalandVecEnv([MegalandConfig(2), 3], 4)  # type: ignore[list-item]


def test_a_spec_makes_the_same_environment_again() -> None:
    """A spec makes the same environment after a round trip through JSON, which has no tuples."""
    options = {
        **FIELDS,
        "market": [Building(building).label for building in MegalandConfig(**FIELDS).market_buildings or ()],
    }
    env = gym.make("Megaland-v0", **options)
    assert env.spec is not None
    assert {name: env.spec.kwargs[name] for name in FIELDS} == options
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert config_in(again) == config_in(env) == MegalandConfig(**FIELDS)
    envs = gym.make_vec("Megaland-v0", num_envs=3, vectorization_mode="vector_entry_point", num_players=2)
    assert envs.spec is not None
    assert envs.spec.kwargs["num_players"] == 2
    more = gym.make_vec(envs.spec)
    assert (config_in(more), more.num_envs) == (MegalandConfig(2), 3)


def test_type_checkers_know_the_keywords(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "from megaland_env import MegalandGames, megaland_v0\n"
        "MegalandGames(num_games=2, num_players=3, market='random')\n"
        "MegalandGames(num_player=3)\n"
        "megaland_v0.parallel_env(max_rounds='7')\n"
    )
    root = Path(megaland_env.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--config-file=", str(program)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "program.py:2" not in done.stdout
    assert 'program.py:3: error: Unexpected keyword argument "num_player"' in done.stdout
    assert 'program.py:4: error: Argument "max_rounds"' in done.stdout
