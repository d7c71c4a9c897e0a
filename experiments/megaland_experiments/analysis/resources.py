"""What a coin, a heart, a jump token, a stored treasure is worth, and what one more card in the level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from megaland_agents.planning.run_solver import RunModel, solve
from megaland_env.cards import MAX_HEARTS, START_HEARTS
from megaland_experiments.analysis.regression import Frame, fit
from megaland_experiments.shared.plots import ANCHOR_COLOUR, INK, POINTS, SERIES, grid, new_figure, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEWEST = 400
"""Rows from which something is told; fewer are left out."""

THINGS = {
    "coin": "coins",
    "heart": "max_hearts",
    "jump token": "jumps",
    "stored treasure": "home",
    "building": "buildings",
}
"""What a player has at the end of a round, and the column of ``rounds`` that counts it."""


def worth(rounds: Frame, seats: Frame, last_round: int = 8) -> pl.DataFrame:
    """What one more of each thing at the end of a round goes with, in win share, where the other things are equal.

    For each round the win share is regressed on what a seat has more of than the others at its table have on average,
    within the same agent. All that a player has is in it, but for *which* buildings; hands are spent and luck is drawn
    anew each round, so what one has is for a good part luck. Yet part of it is choice: who buys a heart has not bought
    something else, and the worth of a heart is what it is worth to who has one all the same.

    Returns:
        A row for each round that is followed by another, and ``thing``: ``value, low, high``, and the ``seats`` that
        played it.
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
    """The table of ``worth``: lines by round, in points of win share."""
    figure = new_figure(6.5, 4.2, title)
    axes = figure.subplots()
    axes.axhline(0, color=ANCHOR_COLOUR, zorder=0)
    for number, thing in enumerate(things):
        rows = worths.filter(pl.col("thing") == thing).drop_nulls("value")
        colour, marker = SERIES[number]
        errors = POINTS * np.stack([rows["value"] - rows["low"], rows["high"] - rows["value"]])
        axes.errorbar(
            rows["round"],
            POINTS * rows["value"],
            yerr=errors,
            color=colour,
            marker=marker,
            markersize=4,
            capsize=2,
            label=thing,
        )
    axes.set_xlabel("end of round")
    axes.set_ylabel("chance to win with one more, percentage points")
    axes.legend(frameon=False)
    grid(axes, "both")
    return figure


# ------------------------------------------------------------------------------------------------------ the level


def runs_by_hearts(rounds: Frame) -> pl.DataFrame:
    """What players bring home from the level, by the hearts that they entered it with.

    Returns:
        For each agent and number of ``hearts``: ``runs``, the mean of ``treasures`` carried home (none on a fall) with
        a 95 % interval, and the share of ``falls``.
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

    Every treasure counts the same, tokens are worth nothing afterwards, and no building helps
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
    """``runs_by_hearts`` and ``exact_runs``: what hearts and tokens bring home, and how often one falls."""
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
        errors = np.stack([rows["treasures"] - rows["low"], rows["high"] - rows["treasures"]])
        home.errorbar(
            rows["hearts"],
            rows["treasures"],
            yerr=errors,
            color=colour,
            marker=marker,
            markersize=4,
            capsize=2,
            label=name,
        )
        falls.plot(rows["hearts"], POINTS * rows["falls"], color=colour, marker=marker, markersize=4, label=name)
    _hearts(home, "treasures brought home from a level, mean")
    _hearts(falls, "levels that end in a fall, %")
    falls.set_ylim(bottom=0)
    home.legend(frameon=False, fontsize=8.5)
    return figure


def _hearts(axes: Axes, what: str) -> None:
    axes.set_xlabel("hearts on entering the level")
    axes.set_ylabel(what)
    axes.set_xticks(range(START_HEARTS, MAX_HEARTS + 1))
    grid(axes, "both")
