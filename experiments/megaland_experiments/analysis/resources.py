"""The value of a coin, a heart, a jump token and a stored treasure, and what hearts bring home from the level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from megaland_agents.planning.run_solver import RunModel, solve
from megaland_env.cards import MAX_HEARTS, START_HEARTS
from megaland_experiments.analysis.regression import Frame, fit
from megaland_experiments.shared.plots import (
    ANCHOR_COLOUR,
    INK,
    POINTS,
    SERIES,
    grid,
    line_with_intervals,
    new_figure,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEWEST = 400
"""The smallest number of rows from which a value is estimated or shown."""

THINGS = {
    "coin": "coins",
    "heart": "max_hearts",
    "jump token": "jumps",
    "stored treasure": "home",
    "building": "buildings",
}
"""What a player owns at the end of a round, and the column of ``rounds`` that counts it."""


def worth(rounds: Frame, seats: Frame, last_round: int = 8) -> pl.DataFrame:
    """How the win share changes with one more of each thing at the end of a round, where the other things are equal.

    For each round the win share is regressed on how much more of each thing a seat has than the others at its table
    have on average, within the same agent. The regression knows everything that a player owns, except *which* buildings
    these are. Much of what a player owns depends on the cards drawn, but part of it is choice: a player who buys a
    heart has not bought something else, so the value of a heart is its value to the players who chose to own one.

    Returns:
        One row for each round that is followed by another, and each ``thing``: ``value, low, high`` (the change of the
        win share), and the number of ``seats`` that played the round.
    """
    table = (
        rounds.lazy()
        .filter(pl.col("round") < pl.col("round").max().over("game"), pl.col("round") <= last_round)
        .select("game", "seat", "num_players", "agent", "round", *THINGS.values())
        .join(seats.lazy().select("game", "seat", "win_share"), on=["game", "seat"])
        .with_columns(_more_than_others(column) for column in THINGS.values())
        .collect()
    )
    columns = {
        "round": pl.Int64,
        "thing": pl.String,
        **dict.fromkeys(("value", "low", "high"), pl.Float64),
        "seats": pl.Int64,
    }
    parts = []
    for (number,), rows in sorted(table.partition_by("round", as_dict=True).items()):
        if len(rows) >= FEWEST:
            found = fit(rows, "win_share", list(THINGS.values()), groups=["agent", "num_players"])
            parts += list(zip([number] * len(THINGS), THINGS, *found[1:], [len(rows)] * len(THINGS), strict=True))
    return pl.DataFrame(parts, schema=columns, orient="row").with_columns(pl.col("value", "low", "high").fill_nan(None))


def _more_than_others(column: str) -> pl.Expr:
    own = pl.col(column).cast(pl.Float64)
    others = (own.sum().over("game", "round") - own) / (pl.col("num_players") - 1)
    return (own - others).alias(column)


def worth_figure(worths: pl.DataFrame, things: Sequence[str] = tuple(THINGS)[:4], title: str = "") -> Figure:
    """Draw the table of ``worth`` by round, in percentage points of the win share."""
    figure = new_figure(6.5, 4.2, title)
    axes = figure.subplots()
    axes.axhline(0, color=ANCHOR_COLOUR, zorder=0)
    for number, thing in enumerate(things):
        rows = worths.filter(pl.col("thing") == thing).drop_nulls("value")
        line_with_intervals(
            axes, rows["round"], rows["value"], rows["low"], rows["high"], series=number, scale=POINTS, name=thing
        )
    axes.set_xlabel("end of round")
    axes.set_ylabel("chance to win with one more, percentage points")
    axes.legend(frameon=False)
    grid(axes, "both")
    return figure


# ------------------------------------------------------------------------------------------------------ the level


def runs_by_hearts(rounds: Frame) -> pl.DataFrame:
    """What players bring home from the level, by the number of hearts at its beginning.

    Returns:
        One row for each agent and number of ``hearts``: the number of ``runs``, the mean number of ``treasures``
        carried home (0 after a fall) with its 95 % interval, and the share of ``falls``.
    """
    entered = pl.col("max_hearts") - pl.col("hearts_bought")
    table = (
        rounds.lazy()
        .select("game", "agent", entered.alias("hearts"), "treasures_home", "fell")
        .group_by("agent", "hearts")
        .agg(
            pl.len().alias("runs"),
            pl.col("treasures_home").mean().alias("treasures"),
            (1.96 * pl.col("treasures_home").std() / pl.len().sqrt()).alias("margin"),
            pl.col("fell").mean().alias("falls"),
        )
        .collect()
        .sort("agent", "hearts")
    )
    middle = pl.col("treasures")
    return table.with_columns((middle - pl.col("margin")).alias("low"), (middle + pl.col("margin")).alias("high")).drop(
        "margin"
    )


def exact_runs(most_tokens: int = 2) -> pl.DataFrame:
    """What the exact optimum of a level run brings home: ``treasures`` by ``hearts`` and jump ``tokens``.

    All treasures have the same value, tokens are worth nothing after the run, and no building helps
    (agents/megaland_agents/planning/run_solver.py).
    """
    solution = solve(RunModel(most_tokens=most_tokens))
    return pl.DataFrame(
        [
            {"hearts": hearts, "tokens": tokens, "treasures": solution.run(hearts, tokens)}
            for hearts in range(START_HEARTS, MAX_HEARTS + 1)
            for tokens in range(most_tokens + 1)
        ]
    )


def runs_figure(runs: pl.DataFrame, exact: pl.DataFrame, title: str = "") -> Figure:
    """Draw ``runs_by_hearts`` and ``exact_runs``: treasures brought home, and falls, by hearts."""
    figure = new_figure(10, 4.2, title)
    home, falls = figure.subplots(1, 2)
    for tokens, style in zip(sorted(exact["tokens"].unique()), ("-", "--", ":"), strict=False):
        rows = exact.filter(pl.col("tokens") == tokens)
        name = {0: "exact optimum", 1: "  with a jump token"}.get(tokens, f"  with {tokens} tokens")
        home.plot(rows["hearts"], rows["treasures"], style, color=INK, label=name)
    for number, agent in enumerate(runs["agent"].unique(maintain_order=True)):
        rows = runs.filter(pl.col("agent") == agent, pl.col("runs") >= FEWEST)
        colour, marker = SERIES[number % len(SERIES)]
        name = short(str(agent))
        line_with_intervals(
            home, rows["hearts"], rows["treasures"], rows["low"], rows["high"], series=number, name=name
        )
        falls.plot(rows["hearts"], POINTS * rows["falls"], color=colour, marker=marker, markersize=4, label=name)
    _hearts(home, "treasures brought home from a level, mean")
    _hearts(falls, "levels that end in a fall, %")
    falls.set_ylim(bottom=0)
    home.legend(frameon=False, fontsize=8.5)
    return figure


def _hearts(axes: Axes, what: str) -> None:
    axes.set_xlabel("hearts at the beginning of the level")
    axes.set_ylabel(what)
    axes.set_xticks(range(START_HEARTS, MAX_HEARTS + 1))
    grid(axes, "both")
