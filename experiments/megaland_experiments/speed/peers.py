"""Measure random play in environments of other libraries, and in those of this project, in one run.

``python -m megaland_experiments.speed.peers`` is run by hand. The other libraries are no dependencies; one that is not
installed is left out, with a line that says how to install it. ``contestants`` has what is measured.

**What is counted.** An action that a player chooses is a decision; chance events are not. Forced moves count in the
other libraries, where a player must make them; this project's games make them themselves, and they do not count. For
this project's Gymnasium environment the learner's decisions count, and the opponents (random agents) are part of the
cost.

**What is timed**: everything from one decision to the next, with the choice of a random legal action and with the
beginning of new games. The time is that of the processor, over all threads. The process keeps to one core where the
system allows it, so that no library gains or loses by threads that wait for each other.

**Alternation.** Every environment is set up and warmed up first. Then ``WINDOWS`` times all of them are timed, one
after the other, so that a time at which the machine is slow meets all. Each figure is the median over the windows.

The games differ: a decision of pig is less work than one of backgammon. The figures say what a user of each gets, and
not which library is programmed best.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

from megaland_env import MegalandConfig, MegalandGames
from megaland_env.engine.choice import ENGINES
from megaland_env.files import write_json, write_text
from megaland_experiments.options import Parser, Several, path_name
from megaland_experiments.shared.output import check_writable, csv_text, going_on, screen, versions
from megaland_experiments.shared.plots import dots, in_picture, new_figure, write_picture
from megaland_experiments.shared.progress import progress_bar
from megaland_experiments.speed.benchmark import DEFAULT_SECONDS, WINDOWS, describe_machine
from megaland_experiments.speed.contestants import Contestant, Play, contestants

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

CALLS_BETWEEN_LOOKS = 0.02
"""Share of a window after which the clock is read: reading it takes as long as a move of a small game."""


@dataclass(frozen=True)
class PeerRow:
    """Speed of one environment. Rates are decisions per second of processor time.

    Attributes:
        library: name of the library.
        version: its version.
        name: name of the game, or of one of this project's environments.
        engine: the engine that plays, for this project's environments.
        batch: number of games at once.
        reads: what the player reads before each decision.
        decisions: decisions made in all windows.
        rate: median over the windows.
        lowest: rate of the slowest window.
        highest: rate of the fastest window.
        best: whether no other number of games at once has a higher rate.
    """

    library: str
    version: str
    name: str
    engine: str
    batch: int
    reads: str
    decisions: int
    rate: float
    lowest: float
    highest: float
    best: bool

    @property
    def label(self) -> str:
        """Name of the environment with its library and engine."""
        return f"{self.library} {self.name}" + (f", {self.engine}" if self.engine else "")


class Timed:
    """An environment that plays in windows of processor time.

    It warms up for the length of one window.

    Args:
        play: plays for a short while, and returns the number of decisions made.
        seconds: length of a window.
    """

    def __init__(self, play: Play, seconds: float) -> None:
        self._play, self._seconds = play, seconds
        play()  # may compile
        began, calls = process_time(), 0
        while process_time() - began < seconds:
            play()
            calls += 1
        self._calls = max(1, int(calls * CALLS_BETWEEN_LOOKS))
        self._decisions: list[int] = []
        self._rates: list[float] = []

    def window(self) -> None:
        """Play for one window, or a little longer until the present call ends."""
        play, decisions, began = self._play, 0, process_time()
        while True:
            for _ in range(self._calls):
                decisions += play()
            spent = process_time() - began
            if spent >= self._seconds:
                break
        self._decisions.append(decisions)
        self._rates.append(decisions / spent)

    def figures(self) -> tuple[int, float, float, float]:
        """Decisions in all windows, and the median, the lowest and the highest rate."""
        return sum(self._decisions), median(self._rates), min(self._rates), max(self._rates)


def measure(candidates: Sequence[Contestant], seconds: float) -> tuple[list[PeerRow], dict[str, list[str]]]:
    """Time environments, as the docstring of the module explains.

    Args:
        candidates: what to measure.
        seconds: processor time for each environment, in all windows together.

    Returns:
        A row for each environment that could be measured, and the names of the others by the command that installs
        them.
    """
    running: list[tuple[Contestant, Timed]] = []
    missing: dict[str, list[str]] = {}
    steps = (1 + WINDOWS) * len(candidates)
    with progress_bar("measurements") as progress, one_core():
        for done, candidate in enumerate(candidates):
            progress(done, steps)
            try:
                running.append((candidate, Timed(candidate.start(), seconds / WINDOWS)))
            except ModuleNotFoundError:
                names = missing.setdefault(candidate.install, [])
                name = f"{candidate.library} {candidate.name}"
                names += [name] if name not in names else []
        for done in range(WINDOWS * len(running)):
            progress(steps - WINDOWS * len(running) + done, steps)
            running[done % len(running)][1].window()
    return _rows(running), missing


def _rows(running: Sequence[tuple[Contestant, Timed]]) -> list[PeerRow]:
    """The rows, with the best numbers of games marked."""
    figures = [timed.figures() for _, timed in running]
    kinds = [(one.library, one.name, one.engine, one.reads) for one, _ in running]
    best: dict[tuple[str, ...], float] = {}
    for kind, (_, rate, _, _) in zip(kinds, figures, strict=True):
        best[kind] = max(rate, best.get(kind, 0.0))
    return [
        PeerRow(
            one.library,
            versions(one.packages[0])[one.packages[0]],
            one.name,
            one.engine,
            one.batch,
            one.reads,
            decisions,
            rate,
            lowest,
            highest,
            best=rate == best[kind],
        )
        for (one, _), kind, (decisions, rate, lowest, highest) in zip(running, kinds, figures, strict=True)
    ]


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and all that start in the block, to one core where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):  # not Linux
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# ------------------------------------------------------------------------------------------------------ the command


def table_of(rows: Sequence[PeerRow]) -> Table:
    """The rows as a ``rich.table.Table``."""
    from rich.table import Table

    table = Table(title="Random legal play: decisions per second of processor time", title_justify="left")
    for column in ("environment", "reads"):
        table.add_column(column)
    for column in ("games", "decisions/s", "lowest to highest"):
        table.add_column(column, justify="right")
    table.add_column("best")
    for row in rows:
        table.add_row(
            row.label,
            row.reads,
            f"{row.batch:,}",
            f"{row.rate:,.0f}",
            f"{row.lowest:,.0f} to {row.highest:,.0f}",
            "yes" if row.best else "",
        )
    return table


def picture_of(rows: Sequence[PeerRow]) -> Figure:
    """Draw the rate of each environment at its best number of games, from high to low."""
    best = sorted((row for row in rows if row.best), key=lambda row: -row.rate)
    figure = new_figure(10, 1.6 + 0.27 * len(best), "Random legal play: decisions per second of processor time")
    axes = figure.add_subplot()
    labels = [in_picture(f"{row.label} ({row.batch:,} at once): {row.reads}") for row in best]
    for number, ours in enumerate((False, True)):
        shown = [row if (row.library == "Megaland") == ours else None for row in best]
        rates, low, high = (
            [float("nan") if row is None else getattr(row, name) for row in shown]
            for name in ("rate", "lowest", "highest")
        )
        dots(axes, labels, rates, low, high, middle=None, series=number, name="Megaland" if ours else "other libraries")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")
    axes.set_xlabel("median, lowest and highest of the windows")
    axes.legend(loc="lower right")
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show, and save."""
    parser = Parser(
        description="Measure random play in environments of other libraries, next to those of this project."
    )
    parser.add_argument(
        "--seconds", type=float, default=DEFAULT_SECONDS, help="seconds to measure for each row (%(default)s)"
    )
    parser.add_argument(
        "--engine",
        action=Several,
        const=ENGINES,
        default=("auto",),
        metavar="NAME,...",
        help=f"engines that play this project's games: {', '.join(ENGINES)} (auto)",
    )
    parser.add_argument("--json", type=path_name, metavar="FILE", help="write the rows to a JSON file")
    parser.add_argument("--csv", type=path_name, metavar="FILE", help="write the rows to a CSV file")
    parser.add_argument("--picture", type=path_name, metavar="FILE", help="draw the best rows in a PNG file")
    arguments = parser.parse_args(argv)
    if not arguments.seconds > 0:
        parser.error(f"--seconds is {arguments.seconds}; it must be positive")
    try:
        for path in filter(None, (arguments.json, arguments.csv, arguments.picture)):
            check_writable(path)
        for engine in arguments.engine:
            MegalandGames(MegalandConfig(), 1, engine=engine)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        parser.error(str(error))
    machine, candidates = describe_machine(), contestants(arguments.engine)
    console = screen()
    console.print(machine, style="dim", highlight=False, soft_wrap=True)
    rows, missing = measure(candidates, arguments.seconds)
    measured = {(row.library, row.name) for row in rows}
    packages = [package for one in candidates if (one.library, one.name) in measured for package in one.packages]
    used = versions(*dict.fromkeys(packages))
    shown = ", ".join(f"{name} {number}" for name, number in used.items())
    console.print(shown, style="dim", highlight=False, soft_wrap=True)
    console.print(table_of(rows))
    for install, names in missing.items():
        console.print(f"{', '.join(names)}: not installed: {install}", highlight=False, soft_wrap=True)
    with going_on("the rows are shown above; to measure them again, give the same command"):
        if arguments.csv:
            write_text(arguments.csv, csv_text([asdict(row) for row in rows]))
        if arguments.json:
            write_json(
                arguments.json,
                {
                    "machine": machine,
                    "versions": used,
                    "settings": {"seconds": arguments.seconds, "windows": WINDOWS},
                    "rows": [asdict(row) for row in rows],
                    "missing": missing,
                },
            )
        if arguments.picture:
            write_picture(arguments.picture, picture_of(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
