"""What has an agent learned? It plays, and the decisions that it really met are measured.

``probe`` plays and returns tidy tables; ``megaland probe`` shows them, and writes them with pictures to a folder. How
push-your-luck is measured, and what that can and cannot say, stands in probe_measures.py.
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from megaland_env import MegalandConfig
from megaland_env.agent import Agent, make_agent
from megaland_experiments.matches.arena import Chunk, Plan
from megaland_experiments.matches.line_ups import LineUp
from megaland_experiments.matches.playing import DEFAULT_BATCH, Progress, agent_name, play
from megaland_experiments.options import (
    add_config_arguments,
    add_games,
    add_opponents,
    add_players,
    add_seed,
    config_from,
    config_words,
    opponents_from,
)
from megaland_experiments.probe.figure import FEWEST, SHARE_OF_ROUNDS, figures
from megaland_experiments.probe.measures import ITEMS, Row, Tally, tables, tally
from megaland_experiments.probe.record import Recorder
from megaland_experiments.shared.agent_files import policies_of
from megaland_experiments.shared.intervals import CONFIDENCE
from megaland_experiments.shared.output import (
    csv_text,
    decoration,
    going_on,
    in_table,
    json_bytes,
    need,
    percent,
    say,
    screen,
    versions,
)
from megaland_experiments.shared.plots import png
from megaland_experiments.shared.progress import progress_bar
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
from megaland_experiments.strength.evaluate import config_for, opponents_for

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

DEFAULT_GAMES = 2000
DEFAULT_PLAYERS = 4
DEFAULT_FOLDER = "runs/probe"
RESULTS_FILE = "probe.json"
PROBE = Kind("a probe", "settings.json", "megaland-probe")
MOST_AT_ONCE = 2048
"""Games played and measured at once: their decisions take some tens of megabytes, more in very long games."""

_MOST_BYTES_OF_RESULTS = 2**26

AT_ALL_SEATS = "itself"
ROUNDS_SHOWN = 12  # on the screen


@dataclass(frozen=True)
class Probe:
    """What came out: tables, each a list of rows as ``pandas.DataFrame`` takes it. They follow from the settings alone.

    ``solver_...``, ``optimal_share`` and ``loss`` (the mean for a decision, in treasures) are by the model of
    probe_measures.py, in which all treasures are worth the same. A value is None where there was no such decision.
    Forced moves are not asked, and so not counted.

    Attributes:
        settings: what was played.
        summary: ``measure, value``, and where it is a mean over games ``low, high``, its 95 % interval with a seed as
            the unit.
        leaving: the decisions to stay or leave by ``hearts`` left and number of ``unseen`` level cards.
        leaving_by_danger: the same by the chance to fall on the next card, in tenths.
        leaving_by_carried: the same by treasures carried.
        purchases: by ``round`` and ``item``: ``turns`` in games that have it on offer, ``bought``, ``per_turn``.
        turns: by ``round``: ``turns`` in the buy phase, those ``able`` to buy anything, those in which something was
            ``bought``, ``passes`` with something affordable, of which ``passes_at_once`` bought nothing before, and
            ``held_at_pass``, the treasures in hand then.
        treasures: by ``choice`` (pay, store, herb_hut, reptile) and ``treasure``: how many were ``held``, how often
            it was ``offered`` and ``chosen``, and the ``share`` of the two.
        jumps: the decisions to jump, by what the solver does.
        tokens: the same by what a jump would have done with the card that came, for those who jumped and who walked.
        trades: at the Rabbit, by carrots carried; the last row has all with so many or more.
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
        """The settings, the tables and the versions, as ``json.dumps`` takes them."""
        return {"settings": self.settings, **self.tables(), "versions": versions()}

    def value(self, measure: str) -> float | None:
        """One value of the summary."""
        found: dict[str, float | None] = {row["measure"]: row["value"] for row in self.summary}
        return found[measure]

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``probe.json``, a CSV file for each table, and three pictures.

        The rule of run_folder.py holds: a folder that holds something else, or other results, is refused.

        Returns:
            The files.

        Raises:
            FolderError: the folder holds something else, or is in use.
            OSError: a file cannot be written.
        """
        with claim(Work(PROBE, self.settings), folder) as owned:
            if owned.has(RESULTS_FILE) and _results_in(owned.stored).tables() != self.tables():
                raise FolderError(f"{folder} holds other results of the same settings; name another folder")
            return self._write(owned)

    def _write(self, folder: RunFolder) -> list[Path]:
        """Write what is missing in a folder that this process owns: results first, then what shows them."""
        contents = {RESULTS_FILE: partial(json_bytes, self.to_dict())}
        contents |= {f"{name}.csv": partial(_csv_bytes, rows) for name, rows in self.tables().items()}
        files = []
        for name, content in contents.items():
            if not folder.has(name):
                folder.checksums.write(name, content())
            files.append(folder.path / name)
        for picture, draw in figures(self).items():
            name = f"{picture}.png"
            with decoration(name):
                if not folder.has(name):
                    folder.checksums.write(name, png(draw()))
                files.append(folder.path / name)
        folder.checksums.forget_old()
        return files


def load_probe(folder: str | Path) -> Probe:
    """Read what ``Probe.save`` or ``megaland probe`` wrote.

    Raises:
        FolderError: the folder holds no probe, or a damaged one.
        OSError: it cannot be read.
    """
    return _results_in(read_stored(folder, PROBE))


def _results_in(stored: Stored) -> Probe:
    file = stored.checksums.path(RESULTS_FILE)
    content = parse_object(stored.checksums.read(RESULTS_FILE, _MOST_BYTES_OF_RESULTS), file)
    names = [field.name for field in fields(Probe) if field.name != "settings"]
    if content.get("settings") != stored.settings or not all(_is_table(content.get(name)) for name in names):
        raise FolderError(f"{file} is of another probe; {AGAIN}")
    return Probe(stored.settings, **{name: content[name] for name in names})


def _is_table(rows: object) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _csv_bytes(rows: Sequence[Row]) -> bytes:
    return csv_text(rows).encode()


def probe(
    agent: str | Agent,
    opponents: str | Agent | Sequence[str | Agent] | None = None,
    *,
    num_players: int | None = None,
    games: int = DEFAULT_GAMES,
    seed: int = 0,
    config: MegalandConfig | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Measure the decisions that an agent meets in play.

    Args:
        agent: the agent, or its name (``make_agent``).
        opponents: one for all other seats, or P - 1 of them, in the order in which they sit to the left of the agent,
            which then has every seat equally often; by default it has all seats at once.
        num_players: P; by default that of ``config``, or 4.
        games: how many games; with opponents rounded up to a multiple of P.
        seed: another seed is other luck (``arena.Plan``).
        config: of the games; the default is the full game.
        progress: told the number of games played, and the total.

    Raises:
        AgentError: an agent failed, or chose what it may not.
        ValueError: there is no such agent, or an argument has no meaning.
    """
    task = _Task.of(agent, opponents, config_for(num_players, config), games, seed)
    return task.do(progress)


@dataclass(frozen=True)
class _Task:
    """A probe before it is played.

    Attributes:
        recorder: the agent, with what it has decided.
        plan: the games.
        num_seeds: that are played.
        games_per_seed: P, or 1 where the agent has all seats: each seed's game is then the same however the table
            turns.
        settings: those of the ``Probe``.
    """

    recorder: Recorder
    plan: Plan
    num_seeds: int
    games_per_seed: int
    settings: Row

    @classmethod
    def of(
        cls,
        agent: str | Agent,
        opponents: str | Agent | Sequence[str | Agent] | None,
        config: MegalandConfig,
        games: int,
        seed: int,
    ) -> _Task:
        """The arguments are those of ``probe``; they are checked here."""
        players = config.num_players
        others = [] if opponents is None else opponents_for(opponents, players)
        distinct = list({other if isinstance(other, str) else id(other): other for other in others}.values())
        cast = (0, *(1 + distinct.index(other) for other in others)) if others else (0,) * players
        recorder = Recorder(make_agent(agent))
        plan = Plan(
            agents=(recorder, *map(make_agent, distinct)),
            names=tuple(map(agent_name, [agent, *distinct])),
            config=config,
            line_ups=(LineUp(tuple(sorted(cast)), (), orders=(cast,)),),
            games=games,
            seed=seed,
        )
        games_per_seed = players if others else 1
        num_seeds = plan.num_seeds(0) if others else int(games)
        settings = {
            "agent": agent_name(agent),
            "opponents": list(map(agent_name, others)) or [AT_ALL_SEATS],
            "players": players,
            "games": num_seeds * games_per_seed,
            "seed": int(seed),
            "config": config.to_dict(),
            **policies_of(name for name in (agent, *others) if isinstance(name, str)),
        }
        return cls(recorder, plan, num_seeds, games_per_seed, settings)

    def do(self, progress: Progress | None) -> Probe:
        """Play and measure."""
        plan, games_per_seed, num_seeds = self.plan, self.games_per_seed, self.num_seeds
        counted: Tally | None = None
        at_once = max(1, MOST_AT_ONCE // games_per_seed)
        for first in range(0, num_seeds, at_once):
            chunk = Chunk(0, first, min(at_once, num_seeds - first))
            played = slice(None, None, plan.config.num_players // games_per_seed)
            matches = play(
                plan.config,
                plan.agents,
                plan.seats(chunk)[played],
                plan.seeds(chunk)[played],
                batch=DEFAULT_BATCH,  # all at once, so that a game's place in the batch is its place here
                progress=_part_of(progress, first * games_per_seed, num_seeds * games_per_seed),
                names=plan.names,
            )
            part = tally(self.recorder.decided(), matches, 0, plan.config, games_per_seed)
            counted = part if counted is None else counted + part
        assert counted is not None
        return Probe(self.settings, **tables(counted))


def _part_of(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda finished, _: progress(before + finished, total)


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland probe``."""
    parser.add_argument(
        "agent", metavar="AGENT", help="who is probed, such as ppo:path=runs/ppo-1/policy (megaland agents)"
    )
    add_opponents(parser, "the agent itself has all seats")
    add_players(parser, DEFAULT_PLAYERS)
    add_games(parser, DEFAULT_GAMES)
    add_seed(parser)
    parser.add_argument(
        "--out", metavar="DIR", help=f"for tables and pictures ({DEFAULT_FOLDER}, or the next that is free)"
    )
    add_config_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play and measure, show the tables, and write them."""
    need("matplotlib.figure")
    opponents = opponents_from(arguments)
    task = _Task.of(arguments.agent, opponents or None, config_from(arguments), arguments.games, arguments.seed)
    console = screen()
    began = time.perf_counter()
    with claim(Work(PROBE, task.settings), arguments.out, DEFAULT_FOLDER) as folder:
        if folder.note:
            say(folder.note, error=True)
        if folder.has(RESULTS_FILE):
            result, how = _results_in(folder.stored), "finished before: nothing was played"
        else:
            with progress_bar("games") as progress:
                result = task.do(progress)
            how = f"{result.settings['games']:,} games, {time.perf_counter() - began:.1f} s"
        try:
            with going_on(f"to go on: {_command(arguments, folder.path)}"):
                files = result._write(folder)
        finally:  # the disk may be full
            show(result, console)
    names = ", ".join(file.name for file in files)
    console.print(f"{how}\nwritten to {folder.path}: {names}", style="dim", highlight=False, soft_wrap=True)
    return 0


def _command(arguments: argparse.Namespace, folder: Path) -> str:
    """The command that goes on in a folder."""
    words = ["megaland", "probe", arguments.agent]
    for text in arguments.opponents or []:
        words += ["--opponents", text]
    words += ["--players", arguments.players, "--games", arguments.games, "--seed", arguments.seed]
    return shlex.join(map(str, [*words, *config_words(arguments), "--out", folder]))


# ------------------------------------------------------------------------------------------------------ the screen

CAVEAT = (
    "The solver plays best where every treasure is worth 1, a coin too, and a jump token what it adds to a later run. "
    "To a good player treasures are not all worth the same, and it may do better by departing from the solver: "
    "this is a measure beside its play, not a verdict on it."
)


def show(result: Probe, console: Console) -> None:
    """The most important of the tables."""
    settings = result.settings
    title = (
        f"{settings['agent']}, {settings['players']} players, against {', '.join(dict.fromkeys(settings['opponents']))}"
    )
    for table in (
        _push_your_luck(result, title),
        _map(result),
        _by_danger(result),
        _jumps(result),
        _purchases(result),
        _treasures(result),
    ):
        console.print(table)
        console.print()
    console.print(CAVEAT, highlight=False)


def _push_your_luck(result: Probe, title: str) -> Table:
    table = _table(title, "stay or leave", "value")
    table.add_column(f"{percent(CONFIDENCE, 0)} interval", justify="right")
    rows = {row["measure"]: row for row in result.summary}
    for measure, what, form in (
        ("runs", "level runs", "{:,.0f}"),
        ("stay_or_leave_decisions", "decisions", "{:,.0f}"),
        ("optimal_share", "as good as the solver's", percent),
        ("loss_per_decision", "loss per decision, in treasures", "{:.3f}"),
        ("loss_per_run", "loss per run, in treasures", "{:.3f}"),
        ("leave_share", "leaves", percent),
        ("solver_leave_share", "  the solver in its place", percent),
        ("carried_when_leaving", "treasures carried when leaving", "{:.2f}"),
        ("falls_per_run", "runs that end in a fall", percent),
    ):
        row = rows[measure]
        interval = (
            "" if row["low"] is None else f"{_said(row['low'], form).removesuffix(' %')} to {_said(row['high'], form)}"
        )
        table.add_row(what, _said(row["value"], form), interval)
    return table


def _map(result: Probe) -> Table:
    unseen = range(9, 0, -1)  # as a run goes on
    table = _table("Leaves, in %: the agent, then the solver there", "hearts; cards unseen:", *map(str, unseen))
    cells = {(row["hearts"], row["unseen"]): row for row in result.leaving if row["decisions"] >= FEWEST}
    for hearts in sorted({hearts for hearts, _ in cells}, reverse=True):
        rows = (cells.get((hearts, number)) for number in unseen)
        table.add_row(str(hearts), *("" if row is None else _both(row) for row in rows))
    return table


def _both(row: Row) -> Text:
    from rich.text import Text

    return Text.assemble(f"{100 * row['leave_share']:.0f} ", (f"{100 * row['solver_leave_share']:.0f}", "dim"))


def _by_danger(result: Probe) -> Table:
    table = _table(
        "By the chance to fall on the next card", "up to", "decisions", "leaves", "the solver", "as good", "loss"
    )
    for row in result.leaving_by_danger:
        shares = (percent(row[name]) for name in ("leave_share", "solver_leave_share", "optimal_share"))
        table.add_row(f"{row['fall_chance_to']:.1f}", f"{row['decisions']:,}", *shares, f"{row['loss']:.3f}")
    return table


def _jumps(result: Probe) -> Table:
    table = _table("Jump tokens and the Rabbit", "what", "value")
    for row in result.jumps:
        what = "jumps" if row["solver"] == "jump" else "saves the token"
        shown = "" if row["jump_share"] is None else f"{percent(row['jump_share'])} of {row['decisions']:,}"
        table.add_row(f"jumps where the solver {what}", shown)
    table.add_row("loss of these decisions per run, in treasures", _said(result.value("jump_loss_per_run"), "{:.3f}"))
    for row in result.tokens:
        table.add_row(f"{row['a_jump']}: jumped, walked", f"{row['jumped']:,}, {row['walked']:,}")
    table.add_row("tokens wasted", _said(result.value("tokens_wasted_share"), percent))
    for row in result.trades:
        more = " or more" if row is result.trades[-1] else ""
        shown = "" if row["share"] is None else f"{percent(row['share'])} of {row['decisions']:,}"
        table.add_row(f"trades with {row['carrots']}{more} carrots", shown)
    return table


def _purchases(result: Probe) -> Table:
    """Per hundred turns, round by round."""
    most = result.turns[0]["turns"]
    rounds = [row["round"] for row in result.turns if row["turns"] >= SHARE_OF_ROUNDS * most][:ROUNDS_SHOWN]
    table = _table("Bought per 100 turns in games that have it on offer, by round", "", *map(str, rounds), "all")
    for item in ITEMS:
        rows = {row["round"]: row for row in result.purchases if row["item"] == item}
        if rows:
            everything = sum(row["bought"] for row in rows.values()) / sum(row["turns"] for row in rows.values())
            cells = (f"{100 * rows[number]['per_turn']:.0f}" if number in rows else "" for number in rounds)
            table.add_row(item, *cells, f"{100 * everything:.1f}")
    turns = {row["round"]: row for row in result.turns}
    for what, name in (("passes, with something affordable", "passes"), ("  nothing bought before", "passes_at_once")):
        everything = sum(row[name] for row in turns.values()) / sum(row["turns"] for row in turns.values())
        cells = (f"{100 * turns[number][name] / turns[number]['turns']:.0f}" for number in rounds)
        table.add_row(what, *cells, f"{100 * everything:.1f}")
    return table


def _treasures(result: Probe) -> Table:
    names = list(dict.fromkeys(row["treasure"] for row in result.treasures))
    table = _table("How often each treasure is chosen, of the times it could be", "", "decisions", *names)
    for choice, what in (
        ("pay", "to pay"),
        ("store", "to store"),
        ("herb_hut", "to keep by a Herb Hut"),
        ("reptile", "to swap at a Reptile Stable"),
    ):
        rows = [row for row in result.treasures if row["choice"] == choice]
        table.add_row(what, f"{rows[0]['decisions']:,}", *(_said(row["share"], _whole_percent) for row in rows))
    return table


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=in_table(title, "table.title"), title_justify="left", caption_justify="left")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def _said(value: float | None, form: str | Callable[[float], str]) -> str:
    if value is None:
        return ""
    return form.format(value) if isinstance(form, str) else form(value)


def _whole_percent(share: float) -> str:
    return percent(share, 0)
