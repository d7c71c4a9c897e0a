"""Learning curves: how often a policy wins against fixed agents while it learns, over steps and over minutes.

``python -m experiments.learning_curves LABEL=RUN... --out curve.png`` draws those of several training runs.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter
from stable_baselines3.common.logger import KVWriter

from experiments.output import write_text
from experiments.plot_style import ANCHOR_COLOUR, INK, SERIES, grid, new_figure, short, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANCHOR_COLUMNS = ("steps", "seconds", "cpu_seconds", "players", "anchor", "win_share", "low", "high")
"""Of ``anchors.csv``: decisions learned from, the seconds and the processor's seconds spent on it (without measuring),
and the win share of one learner among so many players, all others of them the anchor, with its 95 % interval."""

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
"""Of ``progress.csv``, with the names that the learner logs them by."""


LINES = {"planner": "-", "threshold": "--"}
"""How each anchor's curve is drawn."""


class CurveFile:
    """A CSV file that grows, a row at a time; a run that is resumed goes on with it.

    Args:
        path: of the file.
        columns: the first has the steps.
        steps: rows after so many steps are dropped, and one that was not finished; they belong to what was lost when
            the run was stopped.
    """

    def __init__(self, path: Path, columns: Sequence[str], steps: int) -> None:
        lines = path.read_text(encoding="utf-8").split("\n")[1:-1] if path.exists() else []
        kept = [line for line in lines if int(line.partition(",")[0]) <= steps]
        write_text(path, "\n".join([",".join(columns), *kept]) + "\n")
        self._file = path.open("a", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")

    def write(self, values: Sequence[Any]) -> None:
        """Write a row, at once."""
        # Of NumPy's float32 too all digits, so that a run that was resumed has the same.
        self._rows.writerow([float(value) if isinstance(value, np.floating) else value for value in values])
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class UpdateRows(KVWriter):
    """What the learner logs, as a ``CurveFile`` with a row for each update."""

    def __init__(self, path: Path, steps: int) -> None:
        self._curve = CurveFile(path, list(UPDATE_COLUMNS), steps)

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write a row."""
        self._curve.write([key_values.get(name, "") for name in UPDATE_COLUMNS.values()])

    def close(self) -> None:
        """Close the file."""
        self._curve.close()


def read_curve(run: str | Path) -> list[dict[str, Any]]:
    """The rows of a run's ``anchors.csv``, numbers as numbers.

    Raises:
        ValueError: there is none.
    """
    path = Path(run) / "anchors.csv"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [
                {name: value if name == "anchor" else float(value) for name, value in row.items()}
                for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise ValueError(f"{run} has no learning curve: {path.name} cannot be read: {error.strerror}") from error


def write_curve(path: str | Path, runs: Sequence[tuple[str, str | Path]]) -> None:
    """Write ``curve_figure`` of the runs, each with its label, as a PNG file."""
    write_picture(path, curve_figure([(label, read_curve(run)) for label, run in runs]))


def curve_figure(curves: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> Figure:
    """Win shares over decisions learned from and over minutes of a core, a column for each number of players.

    Args:
        curves: for each run its label, which is its colour in the picture, and the rows of ``read_curve``.
    """
    sizes = sorted({int(row["players"]) for _, rows in curves for row in rows})
    labels = list(dict.fromkeys(label for label, _ in curves))
    figure = new_figure(2.6 + 2.7 * len(sizes), 6.2, "One learner against others: its share of the wins")
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
                    axes.plot(x, y, line, color=colour, linewidth=1.4)
            axes.set_xscale("log")  # most is learned at the beginning
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(0, 1)
            axes.set_xlabel(unit)
            grid(axes, "both")
        panels[0, column].set_title(f"{players} players (par {1 / players:.2f})")
    panels[0, 0].set_ylabel("win share")
    panels[1, 0].set_ylabel("win share")
    ways = [Line2D([], [], color=INK, linestyle=line, label=f"against {anchor}") for anchor, line in LINES.items()]
    runs = [Line2D([], [], color=SERIES[number][0], label=short(label)) for number, label in enumerate(labels)]
    figure.legend(handles=[*ways, *runs], loc="outside lower center", ncols=len(ways) + len(runs), frameon=False)
    return figure


def main() -> None:
    """Draw the curves of several runs."""
    parser = argparse.ArgumentParser(description="Draw the learning curves of training runs.")
    parser.add_argument("runs", nargs="+", metavar="LABEL=RUN", help="folders; runs of one label have one colour")
    parser.add_argument("--out", required=True, metavar="FILE", help="where the picture goes, a PNG file")
    arguments = parser.parse_args()
    write_curve(arguments.out, [tuple(word.split("=", 1)) for word in arguments.runs])


if __name__ == "__main__":
    main()
