"""Gymnasium's registry: ``gymnasium.make("Megaland-v0")`` works once ``megaland_env`` has been imported.

Gymnasium has no plugins any more (since 1.0): a package registers its environments when it is imported. This one must
not import Gymnasium for that, because the game needs NumPy alone. So if Gymnasium is not there yet, its registry is
filled when it comes, in whatever order the two are imported. ``gymnasium.make("megaland_env:Megaland-v0")`` works
without an import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

_REGISTRY = "gymnasium.envs.registration"
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
    """Register the environments, now or when Gymnasium is imported; never imports it."""
    if _REGISTRY in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Watch())


def _register() -> None:
    registration = sys.modules[_REGISTRY]
    for name, (entry_point, vector_entry_point) in _ENVIRONMENTS.items():
        if name not in registration.registry:
            registration.register(name, entry_point, vector_entry_point=vector_entry_point)
    for name, vector_entry_point in _VECTOR_ONLY.items():
        if name not in registration.registry:
            registration.register(name, vector_entry_point=vector_entry_point)


class _Watch(MetaPathFinder):
    """Finds nothing itself, but registers the environments as soon as Gymnasium's registry has been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find; the registry is loaded with something added."""
        if fullname != _REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                _register()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec
