"""Results of a command as files in the folder that it owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from megaland_experiments.shared.output import csv_text, decoration, json_bytes
from megaland_experiments.shared.plots import png
from megaland_experiments.shared.run_folder import FolderError, RunFolder, Stored, Work, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


def write_results(
    folder: RunFolder,
    results_file: str,
    content: Mapping[str, Any],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    pictures: Mapping[str, Callable[[], Figure]],
) -> list[Path]:
    """Write the files of a result that a folder does not have yet: the results first, then what shows them.

    Args:
        folder: the folder, which this process owns.
        results_file: name of the JSON file with all results.
        content: the content of that file.
        tables: the rows of each table, written to a CSV file with its name.
        pictures: for the name of each PNG file a function that draws it. A picture that fails is a warning.

    Returns:
        The paths of all files that are there.

    Raises:
        OSError: a file other than a picture cannot be written.
    """
    contents = {results_file: partial(json_bytes, content)}
    contents |= {f"{name}.csv": partial(_csv_bytes, rows) for name, rows in tables.items()}
    files = []
    for name, encoded in contents.items():
        if not folder.has(name):
            folder.checksums.write(name, encoded())
        files.append(folder.path / name)
    for name, draw in pictures.items():
        with decoration(name):
            if not folder.has(name):
                folder.checksums.write(name, png(draw()))
            files.append(folder.path / name)
    folder.checksums.forget_old()
    return files


def save_results(
    work: Work,
    folder: str | Path,
    results_file: str,
    same: Callable[[Stored], bool],
    write: Callable[[RunFolder], list[Path]],
) -> list[Path]:
    """Write results that were made without a folder.

    Args:
        work: what was done.
        folder: the folder.
        results_file: name of the JSON file with all results.
        same: whether the results in a folder of this work are the same.
        write: writes the files that are missing.

    Returns:
        The paths of the files.

    Raises:
        FolderError: the folder holds something else or other results, or is in use.
        OSError: a file cannot be written.
    """
    with claim(work, folder) as owned:
        if owned.has(results_file) and not same(owned.stored):
            raise FolderError(f"{folder} holds other results of the same settings; name another folder")
        return write(owned)


def print_written(console: Console, summary: str, folder: RunFolder, files: Sequence[Path]) -> None:
    """Print a summary of the work, and the names of the files that were written."""
    names = ", ".join(file.name for file in files)
    console.print(f"{summary}\nwritten to {folder.path}: {names}", style="dim", highlight=False, soft_wrap=True)


def _csv_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return csv_text(rows).encode()
