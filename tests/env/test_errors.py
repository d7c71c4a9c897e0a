"""Every error of the project survives what other code does with errors: pickle, copy, and its message alone."""

from __future__ import annotations

import copy
import functools
import importlib
import multiprocessing
import pickle
import pkgutil
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import megaland_agents
import megaland_env
import megaland_experiments
from megaland_env import IllegalActionError, MegalandGames

PACKAGES = (megaland_env, megaland_agents, megaland_experiments)


def error_classes() -> list[type[BaseException]]:
    """All that the three packages define, in any module."""
    found = {}
    for package in PACKAGES:
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.endswith("__main__"):
                for value in vars(importlib.import_module(info.name)).values():
                    if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == info.name:
                        found[f"{value.__module__}.{value.__qualname__}"] = value
    return [found[name] for name in sorted(found)]


@functools.cache
def an_illegal_action() -> IllegalActionError:
    """As the engine raises it."""
    games = MegalandGames(num_games=2)
    games.reset(0)
    try:
        games.step(np.full((2, 4), 39))
    except IllegalActionError as error:
        return error
    raise AssertionError


def test_the_error_classes_are_found() -> None:
    names = {cls.__name__ for cls in error_classes()}
    assert names >= {"IllegalActionError", "ConfigError", "SnapshotError", "ReplayError", "PolicyError", "FolderError"}


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    "again",
    [
        lambda error: pickle.loads(pickle.dumps(error)),
        copy.copy,
        copy.deepcopy,
        lambda error: type(error)(str(error)),
        lambda error: type(error)(error),  # AsyncVectorEnv
    ],
    ids=["pickle", "copy", "deepcopy", "message", "error"],
)
def test_an_error_survives(cls: type[BaseException], again: Any) -> None:
    error = cls("what was wrong")
    other = again(error)
    assert type(other) is cls
    assert str(other) == "what was wrong"


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_attributes_survive(again: Any) -> None:
    error = an_illegal_action()
    assert vars(error) == {"game": 0, "seat": 0, "action": 39, "legal": ["STAY", "LEAVE"]}
    assert vars(again(error)) == vars(error)


def step_illegally(number: int) -> None:
    games = MegalandGames()
    games.reset(number)
    games.step([[39] * 4])


def test_an_error_comes_back_from_a_pool() -> None:
    with (
        multiprocessing.get_context("spawn").Pool(1) as pool,
        pytest.raises(IllegalActionError, match=r"seat 0, .* \(TREASURE_FISH\) is not legal") as caught,
    ):
        pool.map_async(step_illegally, [1]).get(timeout=120)
    assert (caught.value.seat, caught.value.action, caught.value.legal) == (0, 39, ["STAY", "LEAVE"])


@pytest.mark.filterwarnings("ignore::UserWarning")  # Gymnasium logs what it raises
def test_an_error_comes_back_from_an_async_vector_env() -> None:
    env = gym.make_vec(
        "megaland_env:Megaland-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
        opponents="random",
    )
    try:
        env.reset(seed=0)
        with pytest.raises(IllegalActionError, match="is not legal; legal are STAY, LEAVE"):
            env.step(np.array([39, 39]))
    finally:
        env.close(terminate=True)
