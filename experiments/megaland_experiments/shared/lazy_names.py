"""Names that a package offers without importing the modules that define them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """A module-level ``__getattr__`` (PEP 562) that imports a module of a package when one of its names is first read.

    Args:
        package: the ``__name__`` of the package.
        modules: for each name that the package offers, the module of the package that defines it.
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return get
