"""The picture of a tournament: who beats whom, and the ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from megaland_experiments.matches.line_ups import PAIRS
from megaland_experiments.shared.plots import (
    ANCHOR_COLOUR,
    BAR_COLOUR,
    DIVERGING,
    EMPTY,
    INK,
    grid,
    new_figure,
    no_frame,
    short,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from megaland_experiments.strength.result import Tournament

ROW_HEIGHT = 0.42  # inches


def tournament_figure(result: Tournament, players: int) -> Figure:
    """The picture of one number of players: the matrix of win shares, and next to it the ratings.

    Rows are agents, best first, in both. If no pairs were played, the matrix says how often one had more coins than the
    other at the same table.
    """
    from matplotlib.colors import TwoSlopeNorm

    ratings = [row for row in result.ratings if row["num_players"] == players]
    order = [row["agent"] for row in ratings]
    size = len(order)
    in_pairs = PAIRS in result.settings["lineups"]
    equals = 1 / players if in_pairs else 0.5
    shares = np.full((size, size), np.nan)
    for row in result.head_to_head:
        if row["num_players"] == players:
            share = row["win_share" if in_pairs else "ahead"]
            shares[order.index(row["agent"]), order.index(row["opponent"])] = np.nan if share is None else share

    side = max(2.6, ROW_HEIGHT * 1.5 * size)
    figure = new_figure(3.4 + side + 4.2, 1.9 + max(1.6, ROW_HEIGHT * size))
    matrix, bars = figure.subplots(1, 2, sharey=True, width_ratios=(side, 4.2))
    matrix.set_facecolor(EMPTY)  # of the diagonal
    norm = TwoSlopeNorm(equals, vmin=0, vmax=1)
    matrix.imshow(shares, cmap=DIVERGING, norm=norm, aspect="auto")
    for (line, column), share in np.ndenumerate(shares):
        if not np.isnan(share):
            extreme = abs(float(norm(share)) - 0.5) > 0.3
            colour = "white" if extreme else INK
            matrix.text(column, line, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=10)
    matrix.set_yticks(range(size), [f"{short(agent)}  {k}" for k, agent in enumerate(order, start=1)])
    matrix.set_xticks(range(size), [str(k) for k in range(1, size + 1)])
    matrix.set_xlabel("opponent")
    if in_pairs:
        others = f"{players - 1} of the other (column)"
        matrix.set_title(f"Wins of one (row) against {others}, %\nequals would win {100 * equals:.0f} %")
    else:
        matrix.set_title("How often the row ends with more coins\nthan the column at the same table, %")
    no_frame(matrix)

    anchor = result.settings["anchor"]
    values = np.array([row["rating"] for row in ratings])
    errors = np.abs(np.array([[row["low"], row["high"]] for row in ratings]).T - values)
    anchored = values[order.index(anchor)]
    bars.barh(range(size), values - anchored, left=anchored, height=0.6, color=BAR_COLOUR)
    bars.errorbar(values, range(size), xerr=errors, fmt="none", ecolor=INK, elinewidth=1.5, capsize=3)
    bars.axvline(anchored, color=ANCHOR_COLOUR, zorder=0)
    reach = max(60.0, float(np.abs(values - anchored).max() + errors.max()))
    for line, (value, (low, high)) in enumerate(zip(values, errors.T, strict=True)):
        right = value >= anchored
        end = value + high if right else value - low
        text, ha = f"{value:.0f}", "left" if right else "right"
        bars.text(end + (0.03 if right else -0.03) * reach, line, text, va="center", ha=ha, color=INK, fontsize=10)
    smallest, largest = float((values - errors[0]).min()), float((values + errors[1]).max())
    room = 0.2 * max(120.0, largest - smallest)  # for the numbers next to the bars
    bars.set_xlim(smallest - room if smallest < anchored else anchored, largest + room)
    bars.set_title(f"Rating, {short(anchor)} at {anchored:.0f}\n400 points are odds of 10 to 1")
    bars.tick_params(axis="y", left=False, labelleft=False)
    grid(bars, "x")
    games = result.settings["games"]
    figure.suptitle(f"{players} players, {-(-games // players) * players:,} games a line-up", fontsize=13)
    return figure
