"""Gymnasium's registry: ``gymnasium.make("Megaland-v0")`` works once ``megaland_env`` has been imported.

Gymnasium has no plugins any more (since 1.0): a package registers its environments when it is imported. Where Gymnasium
is not installed nothing is registered, because the game needs NumPy alone. An import is not necessary for
``gymnasium.make("megaland_env:Megaland-v0")``.
"""

from __future__ import annotations

_SINGLE = "megaland_env.envs.gymnasium_env"
_VECTOR = "megaland_env.envs.gymnasium_vector"

_ENVIRONMENTS = {
    "Megaland-v0": (f"{_SINGLE}:MegalandEnv", f"{_VECTOR}:MegalandVectorEnv"),
    "Megaland-Run-v0": (f"{_SINGLE}:MegalandRunEnv", f"{_VECTOR}:MegalandRunVectorEnv"),
    "Megaland-Buy-v0": (f"{_SINGLE}:MegalandBuyEnv", f"{_VECTOR}:MegalandBuyVectorEnv"),
}
# Every seat is the caller's, so there is no form of it with a single learner: only gymnasium.make_vec makes it.
_VECTOR_ONLY = {"Megaland-MultiAgent-v0": "megaland_env.envs.multi_agent_vector:MegalandMultiAgentVectorEnv"}


def register_with_gymnasium() -> None:
    """Register the environments, if Gymnasium is installed."""
    try:
        from gymnasium.envs.registration import register, registry
    except ImportError:  # where it is there but broken, its own import says so to whoever uses it
        return
    for name, (entry_point, vector_entry_point) in _ENVIRONMENTS.items():
        if name not in registry:
            register(name, entry_point, vector_entry_point=vector_entry_point)
    for name, vector_entry_point in _VECTOR_ONLY.items():
        if name not in registry:
            register(name, vector_entry_point=vector_entry_point)
