"""Write the result of a probe to a folder, and read it again."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path

from megaland_experiments.probe.figures import figures
from megaland_experiments.probe.result import Probe
from megaland_experiments.shared.result_files import save_results, write_results
from megaland_experiments.shared.run_folder import (
    AGAIN,
    FolderError,
    Kind,
    RunFolder,
    Stored,
    Work,
    parse_object,
    read_stored,
)

RESULTS_FILE = "probe.json"
PROBE = Kind("a probe", "settings.json", "megaland-probe")

_MOST_BYTES_OF_RESULTS = 2**26


def save_probe(probe: Probe, folder: str | Path) -> list[Path]:
    """Write ``probe.json``, a CSV file for each table, and three pictures.

    The rule of shared/run_folder.py holds: a folder that holds something else, or other results, is refused.

    Returns:
        The paths of the files.

    Raises:
        FolderError: the folder holds something else, or is in use.
        OSError: a file cannot be written.
    """

    def same(stored: Stored) -> bool:
        return results_in(stored).tables() == probe.tables()

    work = Work(PROBE, probe.settings)
    return save_results(work, folder, RESULTS_FILE, same, partial(write_probe, probe))


def write_probe(probe: Probe, folder: RunFolder) -> list[Path]:
    """Write the missing files to a folder that this process owns: the results first, then the pictures of them."""
    pictures = {f"{name}.png": draw for name, draw in figures(probe).items()}
    return write_results(folder, RESULTS_FILE, probe.to_dict(), probe.tables(), pictures)


def load_probe(folder: str | Path) -> Probe:
    """Read a probe that ``save_probe`` or ``megaland probe`` wrote.

    Raises:
        FolderError: the folder holds no probe, or a damaged one.
        OSError: a file cannot be read.
    """
    return results_in(read_stored(folder, PROBE))


def results_in(stored: Stored) -> Probe:
    """Read the results in a folder whose settings were read.

    Raises:
        FolderError: the results are damaged, or belong to another probe.
        OSError: they cannot be read.
    """
    file = stored.checksums.path(RESULTS_FILE)
    content = parse_object(stored.checksums.read(RESULTS_FILE, _MOST_BYTES_OF_RESULTS), file)
    names = [field.name for field in fields(Probe) if field.name != "settings"]
    if content.get("settings") != stored.settings or not all(_is_table(content.get(name)) for name in names):
        raise FolderError(f"{file} is of another probe; {AGAIN}")
    return Probe(stored.settings, **{name: content[name] for name in names})


def _is_table(rows: object) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
