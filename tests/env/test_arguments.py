"""Arguments of environments: forms that are accepted, and errors that name the argument and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from megaland_env import ConfigError, IllegalActionError, MegalandConfig, MegalandGames, megaland_v0
from megaland_env.agent import RandomAgent
from megaland_env.envs.gymnasium_env import MegalandEnv
from megaland_env.envs.gymnasium_vector import MegalandBuyVectorEnv, MegalandRunVectorEnv, MegalandVectorEnv
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from megaland_env.rewards import Coins, Shaped, Win, make_reward
from megaland_env.seats.self_play import SelfPlay

MANY: list[Callable[..., Any]] = [
    MegalandVecEnv, MegalandVectorEnv, MegalandRunVectorEnv, MegalandBuyVectorEnv, MegalandMultiAgentVectorEnv,
]  # fmt: skip
RAGGED = [[1], [1, 2]]


@pytest.mark.parametrize("make", MANY)
@pytest.mark.parametrize("number", ["2", True, 0, -1, 1.5, None, 2**70], ids=str)
def test_a_number_of_environments(make: Callable[..., Any], number: Any) -> None:
    with pytest.raises(ValueError, match=rf"num_envs is {number!r}; it must be a whole number from 1 to "):
        make(num_envs=number)
    assert make(num_envs=np.int64(2)).num_envs == 2


@pytest.mark.parametrize("action", [[1, 2], [], RAGGED, "1", 1.0, None, True, 2**70], ids=str)
def test_what_is_no_action(action: Any) -> None:
    env = MegalandEnv(num_players=2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"actions must be one integer, not |actions must be \(1,\) integers"):
        env.step(action)
    env.step([1])  # type: ignore[arg-type]  # an array of one number, as some learners give it


@pytest.mark.parametrize("actions", [[1, 1], 3, None, "x"], ids=str)
def test_what_are_no_actions_of_a_parallel_environment(actions: Any) -> None:
    env = megaland_v0.parallel_env(num_players=2)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="actions must be a dict with the action of each agent, not "):
        env.step(actions)
    env.step(dict.fromkeys(env.agents, 1))


def test_actions_that_are_no_array() -> None:
    games = MegalandGames(num_games=2, num_players=2)
    games.reset([1, 2])
    with pytest.raises(ValueError, match="actions must be one array, not sequences of different lengths"):
        games.step(RAGGED)  # type: ignore[arg-type]
    for make in (MegalandVecEnv, MegalandVectorEnv, MegalandMultiAgentVectorEnv):
        env = make(num_envs=2)
        env.reset()
        with pytest.raises(ValueError, match="actions must be one array, not sequences of different lengths"):
            env.step(RAGGED)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [[], "x", 3, [1]], ids=str)
def test_options_are_a_dict(options: Any) -> None:
    for make in (MegalandVectorEnv, MegalandMultiAgentVectorEnv):
        env = make(num_envs=2)
        with pytest.raises(ValueError, match=r"options is .*; it must be a dict or None"):
            env.reset(options=options)


# ------------------------------------------------------------------------------------------------------ rewards


def test_rewards_of_different_lengths() -> None:
    games = MegalandGames(num_players=2, reward=lambda outcome: RAGGED)
    games.reset([1])
    with pytest.raises(ValueError, match="what the reward returns must be one array, not sequences of different"):
        games.step([[1, 1]])


@pytest.mark.parametrize("reward", [Win, Coins, Shaped])
def test_a_reward_is_an_object(reward: Any) -> None:
    with pytest.raises(ValueError, match=rf"reward is the class {reward.__name__}; it must be an object, such as "):
        make_reward(reward)
    make_reward(reward())


@pytest.mark.parametrize("gamma", ["1", None, True, [1]], ids=str)
def test_a_discount_is_a_number(gamma: Any) -> None:
    with pytest.raises(ValueError, match=r"gamma is .*; it must be a number from 0 to 1"):
        Shaped(gamma)
    assert Shaped(np.float32(0.5)).gamma == 0.5  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ opponents


class Fixed:
    """An agent with the same answer to everything."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, decisions: Any) -> Any:
        return self.answer


class Illegal:
    """An agent that pays with a fish whatever it is asked."""

    def act(self, decisions: Any) -> Any:
        return np.full(len(decisions), 39)


def test_answers_of_different_lengths() -> None:
    env = MegalandEnv(num_players=2, opponents=Fixed(RAGGED))
    env.reset(seed=1)
    with pytest.raises(ValueError, match="answers of agent Fixed to 1 decisions must be one array, not sequences"):
        env.step(1)


@pytest.mark.parametrize("opponents", [Illegal(), [RandomAgent(), Illegal()]])
def test_an_opponent_that_plays_what_is_illegal_is_named(opponents: Any) -> None:
    env = MegalandEnv(num_players=3, opponents=opponents, seat=1)
    env.reset(seed=1)
    seat = 0 if isinstance(opponents, Sequence) else "[02]"
    message = rf"^opponent 'Illegal': game 0, seat {seat}, decision 'run': action 39 \(TREASURE_FISH\) is not legal"
    with pytest.raises(IllegalActionError, match=message) as caught:
        env.step(1)
    assert (caught.value.game, caught.value.action, caught.value.legal) == (0, 39, ["STAY", "LEAVE"])
    with pytest.raises(IllegalActionError, match=r"^game 0, seat 1, decision 'run': action 38"):
        MegalandEnv.step(_with_good_opponents(), 38)


def _with_good_opponents() -> MegalandEnv:
    env = MegalandEnv(num_players=3, opponents="random", seat=1)
    env.reset(seed=1)
    return env


def test_an_opponent_in_self_play_is_named() -> None:
    games = SelfPlay([MegalandConfig(2)], 4, opponents=[(Illegal(), 1.0)], reward="win", seed=0)
    asked = games.asked()
    with pytest.raises(IllegalActionError, match=r"^opponent 'Illegal': game \d, seat \d"):
        games.play(asked.masks.argmax(axis=1))


# ------------------------------------------------------------------------------------------------------ Gymnasium


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_autoreset_mode_in_any_form(mode: AutoresetMode) -> None:
    for form in (mode, mode.name, mode.value):
        env = gym.make_vec("megaland_env:Megaland-v0", num_envs=2, autoreset_mode=form)
        assert env.unwrapped.autoreset_mode is mode  # type: ignore[attr-defined]
        assert env.metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("mode", ["same_step", "x", 3, None], ids=str)
def test_what_is_no_autoreset_mode(mode: Any) -> None:
    with pytest.raises(ValueError, match="no valid AutoresetMode; there are 'NextStep', 'SameStep', 'Disabled'"):
        MegalandVectorEnv(autoreset_mode=mode)


def test_a_limit_of_steps_is_explained() -> None:
    with pytest.raises(TypeError, match=r"has no max_episode_steps: max_rounds .* vectorization_mode='sync'"):
        gym.make_vec("megaland_env:Megaland-v0", num_envs=2, max_episode_steps=10)
    gym.make_vec("megaland_env:Megaland-v0", num_envs=2, max_episode_steps=10, vectorization_mode="sync").close()


def test_a_specification_goes_through_json() -> None:
    config = MegalandConfig(2, market="random", star_copies=(1, 2, 3, 4, 5, 6))
    env = gym.make("megaland_env:Megaland-v0", config=config)
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.games.config == config  # type: ignore[attr-defined]


def test_a_configuration_as_a_dict() -> None:
    config = MegalandConfig(3, payment="auto")
    assert MegalandGames(config.to_dict()).config == config  # type: ignore[arg-type]
    assert MegalandEnv(config.to_dict()).games.config == config  # type: ignore[arg-type]
    assert MegalandVecEnv(config.to_dict(), 2).blocks[0].config == config  # type: ignore[arg-type]
    assert megaland_v0.env(config.to_dict()).unwrapped.config == config
    with pytest.raises(ConfigError, match="unknown configuration field 'colour'"):
        MegalandGames({"colour": "red"})  # type: ignore[arg-type]


def test_copies_of_star_buildings_as_an_array() -> None:
    assert MegalandConfig(star_copies=np.arange(1, 7)).star_copies == (1, 2, 3, 4, 5, 6)  # type: ignore[arg-type]
    for wrong in (np.ones(6), np.ones(6, bool), np.ones((6, 1), int), np.ones(5, int), np.array(3)):
        with pytest.raises(ConfigError, match="star_copies"):
            MegalandConfig(star_copies=wrong)  # type: ignore[arg-type]
