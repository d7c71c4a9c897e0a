"""What the files around the code say agrees with the code: extras, versions, paths, linters."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec

import pytest

from megaland_env import __version__
from tests.support.documents import PAGES
from tests.support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_citation_is_of_this_version_and_licence() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_every_extra_is_explained(page: str) -> None:
    table = (ROOT / page).read_text(encoding="utf-8").split("| extra |")[1].split("\n\n")[0]
    first_cells = " ".join(row.split("|")[1] for row in table.splitlines()[2:])
    assert set(re.findall(r"`(\w+)`", first_cells)) == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_paths_that_are_named_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = {path for path in re.findall(r"`([\w./-]+)`", text) if "/" in path and path != ".venv"}
    assert len(named) >= 5
    places = (ROOT, ROOT / "agents" / "megaland_agents", ROOT / "megaland_env", ROOT / "megaland_env" / "observation")
    missing = [path for path in named if not any((at / path).exists() or (at / f"{path}.py").exists() for at in places)]
    assert missing == []


def test_modules_that_are_run_exist() -> None:
    """Each ``python -m MODULE`` of ours on any page."""
    modules = {m for path in PAGES for m in re.findall(r"python -m ([\w.]+)", path.read_text(encoding="utf-8"))}
    ours = {module for module in modules if module.startswith(("megaland_", "tests"))}
    assert len(ours) >= 3
    for module in ours:
        path = module.replace(".", "/") + ".py"
        assert any((ROOT / folder / path).exists() for folder in ("", "agents", "experiments")), module


def test_workflows_run_what_is_there() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert "run: .ci/run\n" in text
    assert (ROOT / ".ci" / "run").exists()
    tested = re.findall(r"tests/[\w/.]+", text)
    assert tested
    assert [path for path in tested if not (ROOT / path).exists()] == []
    installed = {extra for extras in re.findall(r"[.)]\[([\w,]+)\]\"", text) for extra in extras.split(",")}
    assert installed <= set(PROJECT["optional-dependencies"])
    assert {"test", "docs"} <= installed


def test_hooks_before_a_commit_are_the_linters_of_the_checks() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    checks = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^  - repo: (.*)$", hooks, flags=re.MULTILINE) == ["local"]
    for words in ("ruff check", "ruff format --check", "mypy"):
        assert f"entry: {words}" in hooks
        assert f'"$bin/{words.split()[0]}"{words.removeprefix(words.split()[0])}' in checks, words


def test_the_table_of_imports_leads_from_old_names_to_new_ones() -> None:
    """No old module can be imported any more, and every new one is there."""
    rows = re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \|$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert len(rows) >= 60
    for old, new in rows:
        assert find_spec(new) is not None, new
        package = old.partition(".")[0]
        gone = find_spec(package) is None or find_spec(package).origin is None or find_spec(old) is None
        assert gone, old
