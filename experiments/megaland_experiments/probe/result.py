"""The result of a probe, and the folder that it is saved in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from megaland_experiments.probe.figures import figures
from megaland_experiments.probe.measures import Row
from megaland_experiments.shared.output import versions
from megaland_experiments.shared.result_files import write_results
from megaland_experiments.shared.run_folder import (
    AGAIN,
    FolderError,
    Kind,
    RunFolder,
    Stored,
    Work,
    claim,
    parse_object,
    read_stored,
)

RESULTS_FILE = "probe.json"
PROBE = Kind("a probe", "settings.json", "megaland-probe")

_MOST_BYTES_OF_RESULTS = 2**26


@dataclass(frozen=True)
class Probe:
    """The result of a probe: tables, each a list of rows that ``pandas.DataFrame`` or ``polars.DataFrame`` accepts.

    The tables follow from the settings alone. ``solver_...``, ``optimal_share`` and ``loss`` (the mean per decision, in
    treasures) refer to the model of probe/measures.py, in which all treasures have the same value. A value is None
    where there was no such decision. Forced moves are not decisions.

    Attributes:
        settings: what was played.
        summary: ``measure``, ``value``, and for means over games ``low`` and ``high``, the 95 % interval with the seed
            as the unit.
        leaving: decisions to stay or leave, by ``hearts`` left and number of ``unseen`` level cards.
        leaving_by_danger: the same decisions by the chance to fall on the next card, in tenths.
        leaving_by_carried: the same decisions by treasures carried.
        purchases: by ``round`` and ``item``: ``turns`` in games that have the item on offer, ``bought``, ``per_turn``.
        turns: by ``round``: ``turns`` in the buy phase, turns ``able`` to buy anything, turns in which something was
            ``bought``, ``passes`` with something affordable, ``passes_at_once`` of turns without a purchase, and
            ``held_at_pass``, the mean number of treasures at home at such a pass.
        treasures: by ``choice`` (pay, store, herb_hut, reptile) and ``treasure``: the mean number ``held``, how often
            it was ``offered`` and ``chosen``, and ``share``, the ratio of the two.
        jumps: decisions to jump, by what the solver does.
        tokens: the same decisions by what a jump would have done with the next card: how often the player ``jumped``
            and ``walked``.
        trades: decisions at the Rabbit, by carrots carried; the last row has this number or more.
    """

    settings: Row
    summary: list[Row]
    leaving: list[Row]
    leaving_by_danger: list[Row]
    leaving_by_carried: list[Row]
    purchases: list[Row]
    turns: list[Row]
    treasures: list[Row]
    jumps: list[Row]
    tokens: list[Row]
    trades: list[Row]

    def tables(self) -> dict[str, list[Row]]:
        """The tables by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "settings"}

    def to_dict(self) -> Row:
        """The settings, the tables and the versions, in a form that JSON can hold."""
        return {"settings": self.settings, **self.tables(), "versions": versions()}

    def value(self, measure: str) -> float | None:
        """The value of one measure of the summary."""
        found: dict[str, float | None] = {row["measure"]: row["value"] for row in self.summary}
        return found[measure]

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``probe.json``, a CSV file for each table, and three pictures.

        The rule of shared/run_folder.py holds: a folder that holds something else, or other results, is refused.

        Returns:
            The paths of the files.

        Raises:
            FolderError: the folder holds something else, or is in use.
            OSError: a file cannot be written.
        """
        with claim(Work(PROBE, self.settings), folder) as owned:
            if owned.has(RESULTS_FILE) and results_in(owned.stored).tables() != self.tables():
                raise FolderError(f"{folder} holds other results of the same settings; name another folder")
            return self.write(owned)

    def write(self, folder: RunFolder) -> list[Path]:
        """Write the missing files to a folder that this process owns: the results first, then the pictures of them."""
        pictures = {f"{name}.png": draw for name, draw in figures(self).items()}
        return write_results(folder, RESULTS_FILE, self.to_dict(), self.tables(), pictures)


def load_probe(folder: str | Path) -> Probe:
    """Read a probe that ``Probe.save`` or ``megaland probe`` wrote.

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
