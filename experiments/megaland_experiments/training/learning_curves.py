"""Learning curves: a policy's win share against fixed agents while it learns, over decisions and over time.

``python -m megaland_experiments.training.learning_curves LABEL=RUN... --out curve.png`` draws the curves of several
training runs.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter
from stable_baselines3.common.logger import KVWriter

from megaland_env.files import read_bytes, read_text, write_text
from megaland_experiments.options import Parser, path_name
from megaland_experiments.shared.output import check_writable, warn
from megaland_experiments.shared.plots import ANCHOR_COLOUR, INK, SERIES, grid, new_figure, short, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANCHOR_COLUMNS = ("steps", "seconds", "cpu_seconds", "players", "anchor", "win_share", "low", "high")
"""Columns of ``anchors.csv``: the number of decisions learned from, the seconds and the processor seconds spent on them
(without measuring), the number of players, the anchor that has all seats but one, and the win share of the learner in
that seat with its 95 % interval."""

UPDATE_COLUMNS = {
    "steps": "time/total_timesteps",
    "played": "rollout/played",
    "win_share": "rollout/win_share",
    "coins": "rollout/coins",
    "rounds": "rollout/rounds",
    "snapshots": "league/snapshots",
    "hardest_snapshot": "league/hardest",
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "entropy_loss": "train/entropy_loss",
    "approx_kl": "train/approx_kl",
    "clip_fraction": "train/clip_fraction",
    "explained_variance": "train/explained_variance",
}
"""Columns of ``progress.csv``, with their names in the learner's log."""


MOST_BYTES = 1 << 28
"""Size of the largest file that is read as a curve."""

LINES: dict[str, Literal["-", "--"]] = {"planner": "-", "threshold": "--"}
MARKERS = {"planner": "o", "threshold": "s"}
"""The line of each anchor's curve, and the marker of a curve that has a single point."""


LONGEST_ROW = 10_000
"""Characters; a longer row is damaged, and the parser of CSV would refuse it in its own way."""


class CurveFile:
    """A CSV file that grows row by row; a resumed run goes on with it.

    Args:
        path: the file.
        columns: names of the columns; the first is the number of steps.
        steps: number of steps at which the run goes on; later rows and incomplete ones are dropped.
        together: number of rows that are written at a time. Of the rows of one number of steps only the first
            ``together`` are kept, and none if there are fewer.

    Attributes:
        kept: the numbers of steps of the kept rows.

    Raises:
        OSError: the file cannot be written; ``filename`` is ``path``.
    """

    def __init__(self, path: Path, columns: Sequence[str], steps: int, together: int = 1) -> None:
        rows = _whole_rows(path, len(columns)) if path.exists() else []
        by_steps: dict[int, list[str]] = {}
        for row in rows:
            by_steps.setdefault(int(row.partition(",")[0]), []).append(row)
        groups = {at: lines[:together] for at, lines in by_steps.items() if at <= steps and len(lines) >= together}
        self.kept = set(groups)
        self._path = path
        lines = [",".join(columns), *(row for group in groups.values() for row in group)]
        write_text(path, "\n".join(lines) + "\n")
        # Without a buffer: a failed write would otherwise fail again when the file is closed.
        self._file = path.open("ab", buffering=0)

    def write(self, *rows: Sequence[Any]) -> None:
        """Write rows without delay.

        Raises:
            OSError: they cannot be written; ``filename`` is ``path``.
        """
        text = io.StringIO()
        # All digits, also of NumPy's float32, so that a resumed run writes the same ones.
        csv.writer(text, lineterminator="\n").writerows(
            [float(value) if isinstance(value, np.floating) else value for value in row] for row in rows
        )
        left = memoryview(text.getvalue().encode())
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def sync(self) -> None:
        """Make the rows durable, before a checkpoint counts on them.

        Raises:
            OSError: they do not reach the disk; ``filename`` is ``path``.
        """
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def steps_of_rows(path: Path) -> list[int]:
    """Read the numbers of steps, the first cells, of the rows of ``progress.csv``; without the file there are none."""
    rows = _whole_rows(path, len(UPDATE_COLUMNS)) if path.exists() else []
    return [int(row.partition(",")[0]) for row in rows]


def _whole_rows(path: Path, cells: int) -> list[str]:
    """The rows of a CSV file without its header; an incomplete last row and damaged rows are dropped."""
    lines = read_bytes(path, MOST_BYTES).decode("utf-8", errors="replace").split("\n")[1:-1]
    whole = [
        line
        for line in lines
        if len(line) <= LONGEST_ROW and re.match(r"[0-9]{1,18},", line) and len(next(csv.reader([line]))) == cells
    ]
    if len(whole) < len(lines):
        warn(f"{path}: {len(lines) - len(whole)} damaged rows are left out")
    return whole


class UpdateRows(KVWriter):
    """A writer of the learner's log to a ``CurveFile``, a row for each update."""

    def __init__(self, path: Path, steps: int) -> None:
        self._curve = CurveFile(path, list(UPDATE_COLUMNS), steps)
        self.sync = self._curve.sync

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write a row."""
        self._curve.write([key_values.get(name, "") for name in UPDATE_COLUMNS.values()])

    def close(self) -> None:
        """Close the file."""
        self._curve.close()


def read_curve(run: str | Path) -> list[dict[str, Any]]:
    """Read the rows of a run's ``anchors.csv``, with numbers as floats.

    Raises:
        ValueError: the file is missing or damaged.
    """
    path = Path(run) / "anchors.csv"
    try:
        text = read_text(path, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{run} has no learning curve: {path.name} cannot be read: {error.strerror}") from error
    try:
        rows = list(csv.DictReader(io.StringIO(text)))
        return [{name: row[name] if name == "anchor" else float(row[name]) for name in ANCHOR_COLUMNS} for row in rows]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def write_curve(path: str | Path, runs: Sequence[tuple[str, str | Path]]) -> None:
    """Write ``curve_figure`` of the runs, each with its label, as a PNG file.

    Raises:
        ValueError: a run has no curve or no measurements, or there are too many labels.
        OSError: the file cannot be written.
    """
    curves = [(label, read_curve(run)) for label, run in runs]
    for (_, run), (_, rows) in zip(runs, curves, strict=True):
        if not rows:
            raise ValueError(f"nothing was measured in {run}: its learning curve has no point yet")
    write_picture(path, curve_figure(curves))


def curve_figure(curves: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> Figure:
    """Draw win shares over decisions and over core minutes, with a column for each number of players.

    Args:
        curves: for each run its label, which has a colour in the picture, and the rows of ``read_curve``.

    Raises:
        ValueError: there are no rows, or more labels than colours.
    """
    sizes = sorted({int(row["players"]) for _, rows in curves for row in rows})
    labels = list(dict.fromkeys(label for label, _ in curves))
    if not sizes:
        raise ValueError("there is no measurement to draw")
    if len(labels) > len(SERIES):
        raise ValueError(f"there are {len(labels)} labels; a picture has colours for {len(SERIES)}")
    figure = new_figure(2.6 + 2.7 * len(sizes), 6.2, "One learner against others: its share of the wins")
    has_points = False
    panels = figure.subplots(2, len(sizes), sharey="col", sharex="row", squeeze=False)
    for column, players in enumerate(sizes):
        for level, (name, unit, per) in enumerate(
            (("steps", "million decisions", 1e6), ("cpu_seconds", "minutes of a core", 60))
        ):
            axes = panels[level, column]
            axes.axhline(1 / players, color=ANCHOR_COLOUR, zorder=0)
            for label, rows in curves:
                for anchor, line in LINES.items():
                    own = [
                        row for row in rows if row["players"] == players and row["anchor"] == anchor and row["steps"]
                    ]
                    colour = SERIES[labels.index(label)][0]
                    x, y = [each[name] / per for each in own], [each["win_share"] for each in own]
                    if len(own) == 1:
                        has_points = True
                        axes.plot(x, y, MARKERS[anchor], color=colour, markersize=4)
                    else:
                        axes.plot(x, y, line, color=colour, linewidth=1.4)
            axes.set_xscale("log")  # most is learned at the beginning
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(0, 1)
            axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
            axes.set_xlabel(unit)
            grid(axes, "both")
        panels[0, column].set_title(f"{players} players (par {100 / players:.3g} %)")
    panels[0, 0].set_ylabel("win share")
    panels[1, 0].set_ylabel("win share")
    ways = [
        Line2D(
            [],
            [],
            color=INK,
            linestyle=line,
            marker=MARKERS[anchor] if has_points else "",
            markersize=4,
            label=f"against {anchor}",
        )
        for anchor, line in LINES.items()
    ]
    runs = [Line2D([], [], color=SERIES[number][0], label=short(label)) for number, label in enumerate(labels)]
    figure.legend(handles=[*ways, *runs], loc="outside lower center", ncols=len(ways) + len(runs), frameon=False)
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the curves of several runs from the command line."""
    parser = Parser(
        prog="python -m megaland_experiments.training.learning_curves",
        description="Draw the learning curves of training runs.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="LABEL=RUN",
        help="label and folder of a run; runs with the same label have the same colour",
    )
    parser.add_argument("--out", required=True, type=path_name, metavar="FILE", help="PNG file to write")
    arguments = parser.parse_args(argv)
    runs = [word.partition("=")[::2] for word in arguments.runs]
    if not all(label and run for label, run in runs):
        parser.error("each run must be of the form LABEL=RUN, such as quick=runs/ppo-1")
    try:
        check_writable(arguments.out)
        write_curve(arguments.out, runs)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
