"""Show the result of a probe on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from megaland_experiments.probe.figures import FEWEST, SHARE_OF_ROUNDS
from megaland_experiments.probe.measures import ITEMS, Row
from megaland_experiments.probe.result import Probe
from megaland_experiments.shared.intervals import CONFIDENCE
from megaland_experiments.shared.output import in_table, percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

ROUNDS_SHOWN = 12

CAVEAT = (
    "The solver is optimal if every treasure and every coin is worth 1, and a jump token what it adds to a later run. "
    "For a good player treasures differ in value, and it may be better to depart from the solver: "
    "this is a measure of its play, not a verdict on it."
)


def show(result: Probe, console: Console) -> None:
    """Show the most important tables."""
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
        ("solver_leave_share", "  the solver in the same states", percent),
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
    table = _table(
        "Leaves, %: the agent, then the solver in the same states", "hearts; cards unseen:", *map(str, unseen)
    )
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
    """Purchases per 100 turns, by round."""
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
    table = _table("How often each treasure is chosen where it can be", "", "decisions", *names)
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
