"""Write the result of a tournament to a folder, and read it again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from megaland_experiments.shared.result_files import save_results, write_results
from megaland_experiments.shared.run_folder import (
    AGAIN,
    FIRST_VERSION,
    Checksums,
    FolderError,
    RunFolder,
    Stored,
    Work,
    parse_object,
    read_object,
    read_stored,
    warn_if_old,
)
from megaland_experiments.strength.folder import TOURNAMENT
from megaland_experiments.strength.result import TABLES, Tournament
from megaland_experiments.strength.results import check_results

RESULTS_FILE = "results.json"

_MOST_BYTES_OF_RESULTS = 2**28


def save_tournament(result: Tournament, folder: str | Path) -> list[Path]:
    """Write ``results.json``, a CSV file for each table, and a picture for each number of players.

    A folder that holds something else, or other results, is refused (run_folder.py).

    Returns:
        The paths of the files.

    Raises:
        FolderError: the folder holds something else, or is in use.
        OSError: a file cannot be written.
    """

    def same(stored: Stored) -> bool:
        return results_in(stored).tables() == result.tables()

    return save_results(
        Work(TOURNAMENT, result.settings), folder, RESULTS_FILE, same, partial(write_tournament, result)
    )


def write_tournament(result: Tournament, folder: RunFolder) -> list[Path]:
    """Write the files that are missing in a folder that this process owns; return the paths of all files."""
    from megaland_experiments.strength.figures import tournament_figure

    pictures = {
        f"players-{players}.png": partial(tournament_figure, result, players) for players in result.settings["players"]
    }
    return write_results(folder, RESULTS_FILE, result.to_dict(), result.tables(), pictures)


def load_tournament(folder: str | Path) -> Tournament:
    """Read the results of a finished tournament.

    Folders that version 0.1 wrote are read with a warning: they have no checksums.

    Raises:
        FolderError: the folder holds no finished tournament, or a damaged one.
        OSError: it cannot be read.
    """
    path = Path(folder)
    if (path / RESULTS_FILE).exists() and not (path / TOURNAMENT.file).exists():  # saved from Python by version 0.1
        stored = Stored({}, FIRST_VERSION, True, Checksums(path))
    else:
        stored = read_stored(path, TOURNAMENT)
    result = results_in(stored)
    warn_if_old(path, stored)
    return result


def results_in(stored: Stored) -> Tournament:
    """Read the results in a folder whose settings were read.

    Raises:
        FolderError: there are none, they are damaged, or they are of another tournament.
        OSError: they cannot be read.
    """
    file = stored.checksums.path(RESULTS_FILE)
    try:
        if stored.is_old:
            content = read_object(file)
        else:
            content = parse_object(stored.checksums.read(RESULTS_FILE, _MOST_BYTES_OF_RESULTS), file)
    except FileNotFoundError:
        raise FolderError(
            f"{stored.checksums.folder} holds a tournament that is not finished: there is no {RESULTS_FILE}; "
            f"give the command again"
        ) from None
    check_results(file, content)
    if not stored.is_old and content["settings"] != stored.settings:
        raise FolderError(f"{file} is of another tournament; {AGAIN}")
    return Tournament(content["settings"], **{name: content[name] for name in TABLES})
