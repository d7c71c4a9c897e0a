"""Pictures of a probe: when the agent leaves, what it buys, and how it uses treasures and jump tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from megaland_env import Treasure
from megaland_experiments.probe.measures import ITEMS, Row
from megaland_experiments.shared.plots import (
    ANCHOR_COLOUR,
    BAR_COLOUR,
    DIVERGING,
    EMPTY,
    INK,
    OTHER_COLOUR,
    RISING,
    grid,
    new_figure,
    no_frame,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from megaland_experiments.probe.result import Probe

AGENT, SOLVER = "agent", "solver"
SHARE_OF_ROUNDS = 0.1
"""Rounds are shown that at least this share of the games reach."""

MOST_ROUNDS = 20
"""The largest number of rounds shown."""

FEWEST = 10
"""The smallest number of decisions of which a share is shown."""


def figures(result: Probe) -> dict[str, Callable[[], Figure]]:
    """Functions that draw the pictures, by the names of the pictures."""
    ways = {"leaving": _leaving, "purchases": _purchases, "choices": _choices}
    return {name: partial(draw, result) for name, draw in ways.items()}


# ------------------------------------------------------------------------------------------------------ stay or leave


def _leaving(result: Probe) -> Figure:
    figure = _figure(result, (12, 8.2), "when it leaves the level")
    (left, right), (danger, carried) = figure.subplots(2, 2)
    _map(left, result.leaving, "leave_share", "The agent leaves, %")
    _map(right, result.leaving, "solver_leave_share", "The solver in the same states, %")
    rows = [row for row in result.leaving_by_danger if row["decisions"] >= FEWEST]
    chances = [50 * (row["fall_chance_above"] + row["fall_chance_to"]) for row in rows]
    danger.set_title("Leaves, by danger, %")
    _curves(danger, chances, rows)
    danger.set_xlabel("chance to fall on the next card, %")
    danger.set_xticks(range(0, 101, 20))
    danger.legend(frameon=False)
    carried.set_title("Leaves, by treasures at stake, %")
    rows = [row for row in result.leaving_by_carried if row["decisions"] >= FEWEST]
    _curves(carried, [row["carried"] for row in rows], rows)
    carried.set_xlabel("treasures carried")
    return figure


def _map(axes: Axes, rows: Sequence[Row], value: str, title: str) -> None:
    """A map by hearts and unseen cards, white where both choices are equally likely."""
    cells = [row for row in rows if row["decisions"] >= FEWEST] or list(rows)
    hearts = range(1, max(row["hearts"] for row in cells) + 1)
    unseen = range(9, 0, -1)  # as a run goes on
    shares = np.full((len(hearts), len(unseen)), np.nan)
    for row in cells:
        shares[row["hearts"] - 1, 9 - row["unseen"]] = row[value]
    axes.set_facecolor(EMPTY)
    axes.imshow(shares, cmap=f"{DIVERGING}_r", vmin=0, vmax=1, aspect="auto", origin="lower")
    for (line, column), share in np.ndenumerate(shares):
        if not np.isnan(share):
            colour = "white" if abs(share - 0.5) > 0.3 else INK
            axes.text(column, line, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(unseen)), [str(number) for number in unseen])
    axes.set_yticks(range(len(hearts)), [str(number) for number in hearts])
    axes.set_xlabel("level cards unseen")
    axes.set_ylabel("hearts left")
    axes.set_title(title)
    no_frame(axes)


def _curves(axes: Axes, at: Sequence[float], rows: Sequence[Row]) -> None:
    for name, what, colour, style in (
        ("leave_share", AGENT, BAR_COLOUR, "-o"),
        ("solver_leave_share", SOLVER, OTHER_COLOUR, "--s"),
    ):
        axes.plot(at, [100 * row[name] for row in rows], style, color=colour, label=what, linewidth=2, markersize=5)
    _percent(axes)


# ------------------------------------------------------------------------------------------------------ purchases


def _purchases(result: Probe) -> Figure:
    most = result.turns[0]["turns"]
    turns = [row for row in result.turns if row["turns"] >= SHARE_OF_ROUNDS * most][:MOST_ROUNDS]
    rounds = [row["round"] for row in turns]
    bought = {(row["item"], row["round"]): row["per_turn"] for row in result.purchases}
    items = [item for item in ITEMS if any((item, number) in bought for number in rounds)]
    shares = np.array([[bought.get((item, number), np.nan) for number in rounds] for item in items])
    figure = _figure(result, (5.6 + 0.42 * len(rounds) + 4, 1.8 + 0.27 * len(items)), "what it buys")
    left, right = figure.subplots(1, 2, width_ratios=(2 + 0.42 * len(rounds), 4))
    left.set_facecolor(EMPTY)
    top = max(0.25, float(np.nanmax(shares)))
    left.imshow(shares, cmap=RISING, vmin=0, vmax=top, aspect="auto")
    for (line, column), share in np.ndenumerate(shares):
        if share >= 0.005:
            colour = "white" if share > 0.6 * top else INK
            left.text(column, line, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=8.5)
    left.set_yticks(range(len(items)), items)
    left.set_xticks(range(len(rounds)), [str(number) for number in rounds])
    left.set_xlabel("round")
    left.set_title("Bought per 100 turns in games that have it on offer")
    no_frame(left)
    for name, what, colour, style, width in (
        ("able", "could buy something", ANCHOR_COLOUR, "-", 7),
        ("bought", "bought something", BAR_COLOUR, "-o", 2),
        ("passes", "passed, with something affordable", OTHER_COLOUR, "--s", 2),
        ("passes_at_once", "  and nothing bought before", INK, ":^", 2),
    ):
        shares_of = [100 * row[name] / row["turns"] for row in turns]
        right.plot(rounds, shares_of, style, color=colour, label=what, linewidth=width)
    right.set_title("Turns in which it ..., %")
    _percent(right)
    right.set_xticks(rounds[:: 1 + len(rounds) // 13])
    right.set_xlabel("round")
    right.set_ylim(-2, 132)  # with room for the legend
    right.legend(frameon=False, loc="upper left")
    return figure


# ------------------------------------------------------------------------------------------------------ other choices


def _choices(result: Probe) -> Figure:
    figure = _figure(result, (13, 4.6), "how it uses treasures, jump tokens and carrots")
    treasures, jumps, tokens, trades = figure.subplots(1, 4, width_ratios=(4, 2.2, 3.4, 2.2))
    names = [treasure.label for treasure in Treasure]
    for place, (choice, what, colour) in enumerate(
        (("pay", "to pay", BAR_COLOUR), ("store", "to store", OTHER_COLOUR))
    ):
        shares = [row["share"] for row in result.treasures if row["choice"] == choice]
        at = np.arange(len(names)) + 0.4 * place - 0.2
        label = what if any(share is not None for share in shares) else f"{what} (never asked)"
        treasures.bar(at, _hundred(shares), 0.38, color=colour, label=label)
    treasures.set_xticks(range(len(names)), names)
    treasures.set_title("Chosen where it could be, %")
    treasures.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)

    shares = [row["jump_share"] for row in reversed(result.jumps)]
    _bars(jumps, ["jumps", "saves\nthe token"], shares, [row["decisions"] for row in reversed(result.jumps)])
    jumps.set_title("Jumps where\nthe solver ..., %")

    labels = [row["a_jump"].replace(" ", "\n", 1) for row in result.tokens]
    for place, (what, colour) in enumerate((("jumped", BAR_COLOUR), ("walked", OTHER_COLOUR))):
        total = max(1, sum(row[what] for row in result.tokens))
        at = np.arange(len(labels)) + 0.4 * place - 0.2
        tokens.bar(at, [100 * row[what] / total for row in result.tokens], 0.38, color=colour, label=what)
    tokens.set_xticks(range(len(labels)), labels, fontsize=8.5)
    tokens.set_title("What a jump would have done\nwith the card that came, %")
    tokens.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)

    last = len(result.trades) - 1
    labels = [f"{row['carrots']}{' or more' if place == last else ''}" for place, row in enumerate(result.trades)]
    _bars(trades, labels, [row["share"] for row in result.trades], [row["decisions"] for row in result.trades])
    trades.set_xlabel("carrots")
    trades.set_title("Trades with\nthe Rabbit, %")
    for axes in (treasures, jumps, tokens, trades):
        _percent(axes)
    return figure


def _bars(axes: Axes, labels: Sequence[str], shares: Sequence[float | None], numbers: Sequence[int]) -> None:
    heights = _hundred(shares)
    axes.bar(range(len(labels)), heights, 0.6, color=BAR_COLOUR)
    for place, (height, number) in enumerate(zip(heights, numbers, strict=True)):
        text = f"of {number:,}" if number else "never\nmet"
        axes.text(place, height + 1.5, text, ha="center", va="bottom", color=INK, fontsize=8)
    axes.set_xticks(range(len(labels)), labels, fontsize=9)


def _hundred(shares: Sequence[float | None]) -> list[float]:
    return [100 * (share or 0.0) for share in shares]


# ------------------------------------------------------------------------------------------------------ all of them


def _figure(result: Probe, size: tuple[float, float], what: str) -> Figure:
    settings = result.settings
    others = ", ".join(dict.fromkeys(map(short, settings["opponents"])))
    games = f"{settings['players']} players, {settings['games']:,} games against {others}"
    return new_figure(*size, f"{short(settings['agent'])}: {what}\n{games}")


def _percent(axes: Axes) -> None:
    axes.set_ylim(-2, 108)
    axes.set_yticks(range(0, 101, 20))
    grid(axes, "y")
