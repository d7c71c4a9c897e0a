"""Megaland by PettingZoo's convention: ``env``, ``raw_env`` and ``parallel_env``, also in PettingZoo's registry.

An example::

    from megaland_env import megaland_v0

    env = megaland_v0.env(render_mode="human")  # or pettingzoo.make("aec", "megaland_v0")
    env.reset(seed=42)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        over = termination or truncation
        env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
"""

from __future__ import annotations

from typing import Unpack

from megaland_env.extras import needs

with needs("the PettingZoo environment", "envs"):
    import pettingzoo  # type: ignore[import-untyped]
    from pettingzoo.utils import wrappers  # type: ignore[import-untyped]

from megaland_env.config import ConfigFields, MegalandConfig
from megaland_env.envs.pettingzoo_aec import MegalandAECEnv as raw_env
from megaland_env.envs.pettingzoo_parallel import MegalandParallelEnv as parallel_env
from megaland_env.rewards import Reward

__all__ = ["env", "parallel_env", "raw_env"]


def env(
    config: MegalandConfig | None = None,
    *,
    reward: str | Reward = "win",
    engine: str = "auto",
    illegal: str = "raise",
    render_mode: str | None = None,
    **config_fields: Unpack[ConfigFields],
) -> pettingzoo.AECEnv:
    """Make the AEC environment with PettingZoo's check of the order of calls. The arguments are those of ``raw_env``.

    There are no other wrappers: an illegal action raises an ``IllegalActionError`` that names the legal ones.
    PettingZoo's wrapper for illegal actions would end the game for all seats instead, and the one that asserts the
    bounds of the action space would say less.
    """
    return wrappers.OrderEnforcingWrapper(
        raw_env(config, reward=reward, engine=engine, illegal=illegal, render_mode=render_mode, **config_fields)
    )


def _register() -> None:
    """Register both environments with PettingZoo, which has a registry since version 1.27."""
    for env_type, name in (("aec", "env"), ("parallel", "parallel_env")):
        registry = getattr(pettingzoo, f"{env_type}_registry", None)
        if registry is not None and "megaland-v0" not in registry:  # the form in which it stores megaland_v0
            pettingzoo.register(env_type, "megaland_v0", entry_point=f"{__name__}:{name}")


_register()
