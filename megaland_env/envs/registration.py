"""Registration with Gymnasium: after ``import megaland_env``, ``gymnasium.make("Megaland-v0")`` works.

Since Gymnasium 1.0 there are no plugins, so a package registers its environments when it is imported. Nothing is
registered if Gymnasium is not installed, because the game needs only NumPy. In the form
``gymnasium.make("megaland_env:Megaland-v0")`` Gymnasium imports the package itself.
"""

from __future__ import annotations

_SINGLE = "megaland_env.envs.gymnasium_env"
_VECTOR = "megaland_env.envs.gymnasium_vector"

_ENVIRONMENTS = {
    "Megaland-v0": (f"{_SINGLE}:MegalandEnv", f"{_VECTOR}:MegalandVectorEnv"),
    "Megaland-Run-v0": (f"{_SINGLE}:MegalandRunEnv", f"{_VECTOR}:MegalandRunVectorEnv"),
    "Megaland-Buy-v0": (f"{_SINGLE}:MegalandBuyEnv", f"{_VECTOR}:MegalandBuyVectorEnv"),
}
# In this one the caller plays every seat, which needs a vector environment: only gymnasium.make_vec makes it.
_VECTOR_ONLY = {"Megaland-MultiAgent-v0": "megaland_env.envs.multi_agent_vector:MegalandMultiAgentVectorEnv"}


def register_with_gymnasium() -> None:
    """Register the environments, if Gymnasium is installed."""
    try:
        from gymnasium.envs.registration import register, registry
    except ImportError:  # if it is installed but broken, users get the error from their own import
        return
    for name, (entry_point, vector_entry_point) in _ENVIRONMENTS.items():
        if name not in registry:
            register(name, entry_point, vector_entry_point=vector_entry_point)
    for name, vector_entry_point in _VECTOR_ONLY.items():
        if name not in registry:
            register(name, vector_entry_point=vector_entry_point)
