"""Before ``reset``, and after ``close``, there is no game: whatever needs one says so, in every environment API."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from megaland_env import megaland_v0
from megaland_env.envs.gymnasium_env import MegalandBuyEnv, MegalandEnv, MegalandRunEnv
from megaland_env.envs.gymnasium_vector import MegalandBuyVectorEnv, MegalandRunVectorEnv, MegalandVectorEnv
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from megaland_env.seats.scenarios import RunTask, TaskGames
from megaland_env.seats.single_learner import SingleLearnerGames

Use = Callable[[Any], Any]


class Api(NamedTuple):
    make: Callable[[], Any]
    uses: dict[str, Use]
    error: type[Exception] | tuple[type[Exception], ...] = ResetNeeded
    errors: dict[str, type[Exception]] = {}  # noqa: RUF012 - where a use has an error of its own


SINGLE: dict[str, Use] = {
    "step": lambda env: env.step(1),
    "action_masks": lambda env: env.action_masks(),
    "render": lambda env: env.render(),
}
VECTOR: dict[str, Use] = SINGLE | {
    "step": lambda env: env.step(np.ones(env.num_envs, int)),
    "some": lambda env: env.reset(options={"reset_mask": np.arange(env.num_envs) == 0}),
}
BUY = SINGLE | {"step": lambda env: env.step(0)}
BUY_VECTOR = VECTOR | {"step": lambda env: env.step(np.zeros(env.num_envs, int))}
EVERY_SEAT: dict[str, Use] = VECTOR | {
    "step": lambda env: env.step(np.ones((env.num_envs, 4), int)),
    "active": lambda env: env.active,
    "game_seeds": lambda env: env.game_seeds,
}
VEC_ENV: dict[str, Use] = {
    "step": lambda env: env.step(np.ones(env.num_envs, int)),
    "step_async": lambda env: env.step_async(np.ones(env.num_envs, int)),
    "step_wait": lambda env: env.step_wait(),
    "action_masks": lambda env: env.action_masks(),
    "env_method": lambda env: env.env_method("action_masks"),
    "seats": lambda env: env.get_attr("seats"),
    "game_seeds": lambda env: env.game_seeds,
    "snapshot": lambda env: env.snapshot(),
}
TABLE: dict[str, Use] = {
    "observe": lambda env: env.observe("player_0"),
    "state": lambda env: env.state(),
    "render": lambda env: env.render(),
}
AEC: dict[str, Use] = TABLE | {
    "step": lambda env: env.step(1),
    "last": lambda env: env.last(),
    "agent_iter": lambda env: next(iter(env.agent_iter())),
    **{
        name: (lambda env, name=name: getattr(env, name))
        for name in ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "num_agents")
    },
}
AEC_ATTRIBUTES: dict[str, type[Exception]] = dict.fromkeys(set(AEC) - set(TABLE) - {"step"}, AttributeError)
PARALLEL: dict[str, Use] = {
    "step": lambda env: env.step(dict.fromkeys(env.possible_agents, 1)),
    "state": lambda env: env.state(),
    "render": lambda env: env.render(),
    "agents": lambda env: env.agents,
    "num_agents": lambda env: env.num_agents,
}
GAMES: dict[str, Use] = {
    "step": lambda games: games.step(np.ones(3, int)),
    "step some": lambda games: games.step(np.ones(1, int), [1]),
    "restart": lambda games: games.restart([1]),
    "decisions": lambda games: games.decisions(),
    "over": lambda games: games.over,
    "win_shares": lambda games: games.win_shares,
    "snapshot": lambda games: games.snapshot(),
}
APIS = {
    "single": Api(lambda: MegalandEnv(opponents="random", render_mode="ansi"), SINGLE),
    "run": Api(lambda: MegalandRunEnv(render_mode="ansi"), SINGLE),
    "buy": Api(lambda: MegalandBuyEnv(render_mode="ansi"), BUY),
    "vector": Api(lambda: MegalandVectorEnv(3, opponents="random", render_mode="ansi"), VECTOR),
    "run_vector": Api(lambda: MegalandRunVectorEnv(3, render_mode="ansi"), VECTOR),
    "buy_vector": Api(lambda: MegalandBuyVectorEnv(3, render_mode="ansi"), BUY_VECTOR),
    "multi_agent": Api(lambda: MegalandMultiAgentVectorEnv(3, render_mode="ansi"), EVERY_SEAT),
    "vec_env": Api(lambda: MegalandVecEnv(num_envs=3, opponents="random", seed=0), VEC_ENV),
    "raw_env": Api(lambda: megaland_v0.raw_env(render_mode="ansi"), AEC, errors=AEC_ATTRIBUTES),
    # What PettingZoo's wrapper raises; after close it lets everything through to the environment.
    "env": Api(lambda: megaland_v0.env(render_mode="ansi"), AEC, (AssertionError, ResetNeeded, AttributeError)),
    "parallel_env": Api(
        lambda: megaland_v0.parallel_env(render_mode="ansi"),
        PARALLEL,
        errors={"agents": AttributeError, "num_agents": AttributeError},
    ),
    "games": Api(lambda: SingleLearnerGames(num_games=3, opponents="random"), GAMES, ValueError),
    "task_games": Api(
        lambda: TaskGames(RunTask(), 3), {name: use for name, use in GAMES.items() if name != "win_shares"}, ValueError
    ),
}
CASES = [pytest.param(api, use, id=f"{name}-{what}") for name, api in APIS.items() for what, use in api.uses.items()]


def reset(env: Any) -> None:
    if isinstance(env, SingleLearnerGames):
        env.reset(range(3))
    elif isinstance(env, MegalandVecEnv):
        env.reset()
    else:
        env.reset(seed=5)


def expected(api: Api, use: Use) -> Any:
    what = next(name for name, each in api.uses.items() if each is use)
    return api.errors.get(what, api.error)


@pytest.mark.parametrize(("api", "use"), CASES)
def test_there_is_no_game_before_reset(api: Api, use: Use) -> None:
    env = api.make()
    with pytest.raises(expected(api, use), match=r"reset|ever started"):
        use(env)
    reset(env)
    if not isinstance(env, MegalandVecEnv) or use is not VEC_ENV["step_wait"]:
        use(env)  # and then it works


@pytest.mark.parametrize(("api", "use"), [case for case in CASES if hasattr(case.values[0].make(), "close")])  # type: ignore[attr-defined]
def test_there_is_no_game_after_close(api: Api, use: Use) -> None:
    env = api.make()
    reset(env)
    env.close()
    env.close()  # as often as one likes
    with pytest.raises(expected(api, use), match="reset"):
        use(env)
    reset(env)
    if use is not VEC_ENV.get("step_wait"):
        use(env)


def test_no_actions_without_a_game() -> None:
    """Not even when all agents are missing, which is right after the end."""
    with pytest.raises(ResetNeeded, match=r"no game has been started; call reset\(\) first"):
        megaland_v0.parallel_env().step({})


def test_slots_never_play_one_identical_game() -> None:
    """What stepping without a reset led to: every slot went on to the next game of the seed 0."""
    env = MegalandVecEnv(num_envs=4, opponents="random", seed=3)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        env.step(np.ones(4, int))
    env.reset()
    assert env.game_seeds.tolist() == [3, 4, 5, 6]


def test_actions_are_carried_out_once() -> None:
    """A ``step_wait`` belongs to a ``step_async``; ``reset`` drops what was asked for before it."""
    env = MegalandVecEnv(num_envs=2, opponents="random", seed=3)
    env.reset()
    env.step(np.ones(2, int))
    with pytest.raises(RuntimeError, match=r"call step_async\(actions\) first"):
        env.step_wait()
    env.step_async(np.ones(2, int))
    env.reset()
    with pytest.raises(RuntimeError, match="step_async"):
        env.step_wait()


def test_defaults_are_the_same_in_every_environment() -> None:
    """What a parameter of one name means when it is left out does not depend on the API."""
    defaults: dict[str, dict[str, Any]] = {}
    for make in (MegalandEnv, MegalandVectorEnv, MegalandVecEnv, SingleLearnerGames, MegalandMultiAgentVectorEnv,
                 megaland_v0.raw_env, megaland_v0.parallel_env, MegalandRunEnv, MegalandRunVectorEnv, MegalandBuyEnv,
                 MegalandBuyVectorEnv):  # fmt: skip
        for name, parameter in inspect.signature(make).parameters.items():
            if parameter.default is not parameter.empty:
                defaults.setdefault(name, {})[make.__name__] = parameter.default
    different = {name: found for name, found in defaults.items() if len(set(map(repr, found.values()))) > 1}
    assert set(different) == {"num_envs"}  # SB3's has 64, Gymnasium's 1
    assert set(defaults["opponents"].values()) == {"threshold"}
