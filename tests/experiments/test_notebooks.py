"""The notebooks run from a clean kernel, and are stored with their output and without local paths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.places import ROOT

FOLDER = ROOT / "experiments" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
GAMES = "10000"
"""Where a notebook is stored with the outputs of more games."""

SECONDS = 600
LARGEST = 1_500_000  # bytes

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_there_are_four() -> None:
    assert [path.name[0] for path in NOTEBOOKS] == ["1", "2", "3", "4"]


@every_notebook
def test_it_is_stored_as_it_was_run_once_from_the_top(path: Path) -> None:
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in outputs(notebook))
    pictures = [output for output in outputs(notebook) if "image/png" in output.get("data", {})]
    assert len(pictures) >= 2
    assert path.stat().st_size < LARGEST


@every_notebook
def test_it_tells_nothing_of_the_machine(path: Path) -> None:
    notebook = read(path)
    words = [output.get("text", "") for output in outputs(notebook)]
    words += [
        str(text) for output in outputs(notebook) for kind, text in output.get("data", {}).items() if "png" not in kind
    ]
    told = "\n".join([*words, *(cell.source for cell in notebook.cells)])
    assert not re.search(r"(^|[\s'\"(=])/(tmp|home|root|usr|work|Users|var)/|[A-Z]:\\\\|0x[0-9a-f]{8}", told)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(not cell.metadata for cell in notebook.cells)


@pytest.mark.soak
@every_notebook
def test_it_runs_from_a_clean_kernel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook runs in any folder, without errors and warnings."""
    from nbclient import NotebookClient

    monkeypatch.setenv("MEGALAND_NOTEBOOK_GAMES", GAMES)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    stored = read(path)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    said = [output for output in outputs(notebook) if output.get("name") == "stderr"]
    assert not said, said
    assert len(outputs(notebook)) == len(outputs(stored))
