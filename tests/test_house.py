"""The layout: which packages there are, and that imports go one way."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests
from tests.support.places import ROOT

PACKAGES = {
    "megaland_env": ROOT / "megaland_env",
    "megaland_agents": ROOT / "agents" / "megaland_agents",
    "megaland_experiments": ROOT / "experiments" / "megaland_experiments",
}

LAYERS = (
    (
        "the vocabulary",
        r"megaland_env\.(actions|arrays|cards|checks|checksums|config|errors|scales|files|outside_text|extras)",
    ),
    ("the engine", r"megaland_env\.engine(\..*)?"),
    ("games", r"megaland_env\.(game|decisions|snapshot|replay|agent|rewards|observation(\..*)?)"),
    ("seats", r"megaland_env\.seats(\..*)?"),
    (
        "environments and rendering",
        r"megaland_env|megaland_env\.(envs|render)(\..*)?|megaland_env\.megaland_v0",
    ),
    ("agents", r"megaland_agents(\..*)?"),
    ("experiments", r"megaland_experiments(\..*)?"),
)
"""From the bottom to the top: a module imports from its own layer and from those below it."""


def modules() -> dict[str, Path]:
    found = {}
    for package, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            name = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
            found[name.removesuffix(".__init__")] = path
    return found


def layer(module: str) -> int:
    for number, (_, pattern) in enumerate(LAYERS):
        if re.fullmatch(pattern, module):
            return number
    raise AssertionError(f"{module} is in no layer")


def nodes(tree: ast.AST, types: bool) -> Iterator[ast.AST]:
    """Everything in a tree, in no particular order; without ``types``, except what only a type checker reads."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            left += node.orelse
        else:
            left += ast.iter_child_nodes(node)


def imports(path: Path, known: set[str], *, types: bool = True) -> set[str]:
    """The modules of ours that a module imports anywhere, by default for type checking too."""
    found: set[str] = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                found.add(inner if inner in known else module)
    return found & known


def test_every_module_has_a_layer() -> None:
    assert len(modules()) > 100
    for module in modules():
        layer(module)


def test_imports_go_one_way() -> None:
    known = modules()
    wrong = [
        f"{module} ({LAYERS[layer(module)][0]}) imports {other} ({LAYERS[layer(other)][0]})"
        for module, path in known.items()
        for other in imports(path, set(known))
        if layer(other) > layer(module)
    ]
    assert wrong == []


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next, and the last the first; an empty list if there are none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_through_others() -> None:
    """For types there is one pair that does: a batch of games makes ``Decisions``, which read from the batch."""
    known = modules()
    assert cycle({module: imports(path, set(known), types=False) - {module} for module, path in known.items()}) == []
    types = {module: imports(path, set(known)) - {module} for module, path in known.items()}
    assert "megaland_env.game" in types["megaland_env.decisions"]
    types["megaland_env.decisions"].remove("megaland_env.game")
    assert cycle(types) == []


def test_a_cycle_is_found() -> None:
    """The test above can fail."""
    assert set(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_games_reach_the_rules_through_the_backend_alone() -> None:
    """Besides it, the compiled rules use their tables, snapshots read facts of the rules to check a state, and
    scenarios set up games of their own."""
    known = modules()
    importing = {
        module
        for module, path in known.items()
        if not module.startswith(("megaland_env.engine.rules", "megaland_env.engine.compiled"))
        and any(other.startswith("megaland_env.engine.rules") for other in imports(path, set(known)))
    }
    assert importing == {"megaland_env.engine.backend", "megaland_env.snapshot", "megaland_env.seats.scenarios"}


def test_no_file_of_python_stands_beside_the_packages() -> None:
    """``agents`` and ``experiments`` are folders: packages of these names would collide with other people's."""
    for folder in ("agents", "experiments"):
        assert not (ROOT / folder / "__init__.py").exists()
        assert list((ROOT / folder).glob("*.py")) == []


def test_the_old_names_are_gone() -> None:
    code = (
        "import importlib.util as u, sys; sys.exit(any(u.find_spec(n) and u.find_spec(n).origin for n in sys.argv[1:]))"
    )
    names = ["agents", "experiments", "megaland_env.rng", "megaland_env.rules", "megaland_env.state"]
    assert subprocess.run([sys.executable, "-c", code, *names], cwd="/", check=False).returncode == 0


def test_no_module_is_loaded_twice() -> None:
    """The editable install makes the folders of the packages importable too; nothing may come in by a second name."""
    by_file: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or not Path(file).is_relative_to(ROOT) or name.startswith("__"):
            continue
        if "site-packages" not in Path(file).parts:  # the README puts .venv into the clone
            assert by_file.setdefault(file, name) == name
    assert tests.__file__ is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_types(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").exists()
