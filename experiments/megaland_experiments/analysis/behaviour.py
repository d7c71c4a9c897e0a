"""How agents play: their decisions to stay or leave, their styles, and which rules come into play."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from megaland_env import Action, Building, Kind
from megaland_env.cards import BUILDING_COSTS, NORMAL_COPIES, NUM_BUILDINGS, NUM_LEVEL_CARDS, START_HEARTS
from megaland_experiments.analysis.regression import Frame
from megaland_experiments.probe.decisions import Decided
from megaland_experiments.probe.measures import worths
from megaland_experiments.records.schema import IN_THE_RUN_MODEL, TREASURES, building_column
from megaland_experiments.shared.intervals import share_interval
from megaland_experiments.shared.plots import DIVERGING, INK, POINTS, SERIES, grid, new_figure, no_frame, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 100
"""The smallest number of decisions of which pictures show a share."""

_DANGERS = 10
_CHUNK = 250_000


# ------------------------------------------------------------------------------------------------------ stay or leave


def run_decisions(decisions: Frame) -> pl.DataFrame:
    """The decisions to stay or leave, compared with the exact solution of the level run.

    The measure is explained in probe/measures.py: all treasures are worth 1 in it, and a good player may have reasons
    to depart from it. Each row takes some hundred bytes, so pass a few thousand games rather than a million.

    Returns:
        The rows of the records, with ``leaves``, ``solver_leaves`` (also where both choices are equal), ``gain``, the
        value of staying minus that of leaving in treasures, ``loss`` of the choice made, and ``optimal``, whether the
        loss is 0.
    """
    owned = [building_column("owns", building) for building in IN_THE_RUN_MODEL]
    columns = [
        "game",
        "seat",
        "num_players",
        "agent",
        "round",
        "action",
        "legal",
        "unseen",
        "num_unseen",
        "hearts",
        "jumps",
    ]
    columns += ["max_hearts", "fall_chance", "coins", "best_other_coins", "carried", *owned]
    rows = (
        decisions.lazy()
        .filter(pl.col("kind") == "run")
        .select(*columns, *(f"carried_{treasure}" for treasure in TREASURES))
        .collect()
    )
    parts = [_judged(rows[first : first + _CHUNK]) for first in range(0, max(len(rows), 1), _CHUNK)]
    return pl.concat(parts)


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    number = len(rows)
    buildings = np.zeros((number, NUM_BUILDINGS), np.uint8)
    for building in IN_THE_RUN_MODEL:
        buildings[:, building] = rows[building_column("owns", building)]
    leaves = (rows["action"] == "LEAVE").to_numpy()
    nothing = np.zeros((number, len(TREASURES)), np.uint8)
    decided = Decided(
        game=rows["game"].to_numpy().astype(np.int64),
        seat=rows["seat"].to_numpy().astype(np.int64),
        kind=np.full(number, Kind.RUN, np.uint8),
        round=rows["round"].to_numpy().astype(np.int32),
        action=np.where(leaves, Action["LEAVE"], Action["STAY"]),
        legal=rows["legal"].to_numpy(),
        unseen=rows["unseen"].to_numpy().astype(np.int16),
        hearts=rows["hearts"].to_numpy(),
        jumps=rows["jumps"].to_numpy(),
        carried=rows.select(f"carried_{treasure}" for treasure in TREASURES).to_numpy(),
        home=nothing,
        picked=nothing,
        buildings=buildings,
    )
    found = worths(decided)
    return rows.with_columns(
        pl.Series("leaves", leaves),
        pl.Series("solver_leaves", found.cares),
        pl.Series("gain", found.dare - found.care),
        pl.Series("loss", found.loss),
        pl.Series("optimal", found.optimal),
    )


def stay_or_leave(runs: pl.DataFrame) -> pl.DataFrame:
    """The decisions of ``run_decisions`` by the chance to fall on the next card.

    Returns:
        One row for each agent and tenth of that chance (``danger`` is the middle of the tenth; 0 is no danger at all):
        the number of ``decisions``, the shares in which the agent leaves (``leave``), in which the solver leaves
        (``solver_leave``) and that are ``optimal``, the mean ``loss``, and the mean ``gain`` of one more card, in
        treasures.
    """
    tenth = (pl.col("fall_chance") * _DANGERS - 1e-4).ceil()
    danger = pl.when(pl.col("fall_chance") > 0).then((tenth - 0.5) / _DANGERS).otherwise(0.0)
    return (
        runs.group_by("agent", danger.cast(pl.Float64).round(3).alias("danger"))
        .agg(
            pl.len().alias("decisions"),
            pl.col("leaves").mean().alias("leave"),
            pl.col("solver_leaves").mean().alias("solver_leave"),
            pl.col("optimal").mean(),
            pl.col("loss").mean(),
            pl.col("gain").mean(),
        )
        .sort("agent", "danger")
    )


def leave_figure(shares: pl.DataFrame, title: str = "") -> Figure:
    """Draw the table of ``stay_or_leave``: a panel for each agent, with the solver in the same states."""
    agents = shares["agent"].unique(maintain_order=True).to_list()
    across = 2 if len(agents) == 4 else min(3, len(agents))
    down = -(-len(agents) // across)
    figure = new_figure(1 + 3.6 * across, 0.8 + 3.2 * down, title)
    grid_of = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for axes in grid_of.flat[len(agents) :]:
        axes.set_visible(False)
    for axes, agent in zip(grid_of.flat, agents, strict=False):
        rows = shares.filter(pl.col("agent") == agent, pl.col("decisions") >= FEWEST)
        for (colour, marker), column, name in zip(
            SERIES, ("leave", "solver_leave"), ("agent", "exact optimum"), strict=False
        ):
            style = "-" if column == "leave" else "--"
            axes.plot(
                POINTS * rows["danger"],
                POINTS * rows[column],
                style,
                color=colour,
                marker=marker,
                markersize=4,
                label=name,
            )
        axes.set_title(short(str(agent)))
        axes.set_xlabel("chance to fall on the next card, %")
        axes.set_ylabel("leaves, %")
        axes.set_ylim(-3, 103)
        grid(axes, "both")
    grid_of.flat[0].legend(frameon=False, loc="lower right")
    return figure


def card_figure(runs: pl.DataFrame, title: str = "") -> Figure:
    """Draw the value of one more card in the exact solution: the mean ``gain`` of ``run_decisions``."""
    cells = (
        runs.group_by("hearts", "num_unseen")
        .agg(pl.len().alias("decisions"), pl.col("gain").mean())
        .filter(pl.col("decisions") >= FEWEST)
    )
    hearts = range(1, int(cells.select(pl.col("hearts").max()).item() or 1) + 1)
    gains = np.full((len(hearts), NUM_LEVEL_CARDS - 1), np.nan)
    for heart, unseen, gain in cells.select("hearts", "num_unseen", "gain").iter_rows():
        gains[heart - 1, NUM_LEVEL_CARDS - 1 - unseen] = gain
    figure = new_figure(7, 1.6 + 0.42 * len(hearts), title)
    axes = figure.subplots()
    axes.imshow(gains, cmap=DIVERGING, vmin=-2.5, vmax=2.5, aspect="auto", origin="lower")
    for (line, column), gain in np.ndenumerate(gains):
        if not np.isnan(gain):
            colour = "white" if abs(gain) > 1.6 else INK
            axes.text(column, line, f"{gain:+.1f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(gains.shape[1]), [str(NUM_LEVEL_CARDS - 1 - place) for place in range(gains.shape[1])])
    axes.set_yticks(range(len(hearts)), [str(heart) for heart in hearts])
    axes.set_xlabel("level cards unseen")
    axes.set_ylabel("hearts left")
    axes.set_title(
        "Value of staying minus value of leaving, in treasures\n(exact solution, mean over the states that were met)"
    )
    no_frame(axes)
    return figure


# ------------------------------------------------------------------------------------------------------ styles


MEASURES = {
    "wins, %": "win_share",
    "coins at the end": "coins",
    "stays per level": "stays",
    "falls, % of levels": "falls",
    "treasures home per level": "treasures",
    "treasures wasted per game": "wasted",
    "hearts bought per game": "hearts",
    "buildings bought per game": "buildings",
    "their mean cost": "cost",
    "jumps per game": "jumped",
    "trades with the Rabbit per game": "trades",
}
"""What ``styles`` measures: the names in pictures, and the columns."""


def styles(seats: Frame) -> pl.DataFrame:
    """How the play of the agents differs.

    Returns:
        One row for each agent: ``agent``, ``games`` (seats), the columns of ``MEASURES``, and ``low`` and ``high``, the
        95 % interval of its win share with a game as the unit.
    """
    runs = (pl.col("runs_home") + pl.col("falls")).sum()
    copies = pl.sum_horizontal(pl.col(building_column("owns", building)).cast(pl.Float64) for building in Building)
    costs = pl.sum_horizontal(
        pl.col(building_column("owns", building)).cast(pl.Float64) * int(BUILDING_COSTS[building])
        for building in Building
    )
    lazy = seats.lazy()
    table = (
        lazy.group_by("agent")
        .agg(
            pl.len().alias("games"),
            pl.col("win_share").mean(),
            pl.col("coins").mean(),
            (pl.col("stays").sum() / runs).alias("stays"),
            (pl.col("falls").sum() / runs).alias("falls"),
            (pl.col("treasures_home").sum() / runs).alias("treasures"),
            (pl.col("treasures_unstored") + pl.col("treasures_lost")).mean().alias("wasted"),
            (pl.col("max_hearts").cast(pl.Int16) - START_HEARTS).mean().alias("hearts"),
            copies.mean().alias("buildings"),
            (costs.sum() / copies.sum()).alias("cost"),
            pl.col("jumped").mean(),
            pl.col("trades").mean(),
        )
        .sort("agent")
        .collect()
    )
    per_game = lazy.group_by("agent", "game").agg(pl.col("win_share").mean()).sort("agent", "game").collect()
    ends = [
        (agent, *share_interval(rows["win_share"].to_numpy()))
        for (agent,), rows in per_game.partition_by("agent", as_dict=True).items()
    ]
    intervals = pl.DataFrame(
        ends, schema={"agent": table.schema["agent"], "low": pl.Float64, "high": pl.Float64}, orient="row"
    )
    return table.join(intervals, on="agent", maintain_order="left")


def style_figure(table: pl.DataFrame, title: str = "") -> Figure:
    """Draw ``styles`` as a map: a row for each measure and a column for each agent, coloured by the differences."""
    agents = [short(str(agent)) for agent in table["agent"]]
    numbers = np.array([table[column].to_numpy() for column in MEASURES.values()], np.float64)
    deviation = numbers.std(axis=1, keepdims=True)
    scores = (numbers - numbers.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1)
    figure = new_figure(3.2 + 1.5 * len(agents), 1.2 + 0.36 * len(MEASURES), title)
    axes = figure.subplots()
    axes.imshow(scores, cmap=DIVERGING, vmin=-3, vmax=3, aspect="auto")
    for (line, column), number in np.ndenumerate(numbers):
        share = "%" in list(MEASURES)[line]
        axes.text(
            column, line, f"{POINTS * number:.1f}" if share else f"{number:.2f}", ha="center", va="center", color=INK
        )
    axes.set_yticks(range(len(MEASURES)), list(MEASURES))
    axes.set_xticks(range(len(agents)), [agent.replace(":", ":\n") for agent in agents], fontsize=9)
    axes.set_title("Blue: more than the others; red: less")
    no_frame(axes)
    return figure


# ------------------------------------------------------------------------------------------------------ the rules


def rules_in_play(games: Frame, seats: Frame, events: Frame) -> pl.DataFrame:
    """How often the rules come into play.

    Returns:
        One row for each kind of event: the ``rule``, ``what`` happens, the ``share`` of games in which it happens, and
        the number of ``times`` per game. Rules of buildings count all games, with or without the building on offer.
    """
    counted = pl.concat([_of_events(events), _of_seats(seats), _of_games(games)])
    total = games.lazy().select(pl.len()).collect().item()
    return (
        counted.group_by("rule", "what")
        .agg((pl.col("times") > 0).sum().alias("share"), pl.col("times").sum())
        .with_columns(pl.col("share") / total, pl.col("times") / total)
        .sort("rule", "what")
    )


def _of_events(events: Frame) -> pl.DataFrame:
    event, item, phase = pl.col("event"), pl.col("item"), pl.col("phase")
    happens = [
        ("D1", "the treasure deck is shuffled again", event == "reshuffle"),
        ("D1", "nothing is left to draw", (event == "draw") & item.is_null()),
        ("L2", "a jump", event == "jump"),
        ("L5", "hearts are lost", event == "damage"),
        ("L7", "a fall", event == "fall"),
        ("L7", "a Herb Hut keeps a treasure", (event == "keep") & (phase == "level")),
        ("L7", "a Hospital pays", (event == "coins") & (item == "Hospital")),
        ("L4", "a Temple of Zoz pays", (event == "coins") & (item == "Temple of Zoz") & (phase == "level")),
        ("L9", "a Bazaar pays", (event == "coins") & (item == "Bazaar of Oddities") & (phase == "level")),
        ("L8", "a trade with the Rabbit", event == "trade"),
        ("L10", "a Reptile Stable swaps", event == "swap"),
        ("B4", "a heart is bought", event == "heart"),
    ]
    counts = (
        events.lazy().group_by("game").agg(condition.sum().alias(str(k)) for k, (_, _, condition) in enumerate(happens))
    )
    deepest = (
        events.lazy()
        .filter(event == "reveal")
        .group_by("game", "round")
        .len()
        .group_by("game")
        .agg((pl.col("len") == NUM_LEVEL_CARDS).sum().alias("all"))
        .collect()
    )
    wide = counts.collect()
    parts = [_times(wide[str(k)], rule, what) for k, (rule, what, _) in enumerate(happens)]
    return pl.concat([*parts, _times(deepest["all"], "L11", "somebody meets all ten level cards")])


def _of_seats(seats: Frame) -> pl.DataFrame:
    normal = [building for building in Building if building >= Building.HERB_HUT]
    sold_out = pl.sum_horizontal(
        pl.col(building_column("owns", building)).cast(pl.UInt16).sum() == NORMAL_COPIES for building in normal
    )
    wide = (
        seats.lazy()
        .group_by("game")
        .agg(
            sold_out.alias("sold out"),
            (pl.col("treasures_unstored") > 0).sum().alias("unstored"),
        )
        .collect()
    )
    return pl.concat(
        [
            _times(wide["sold out"], "B5", "a normal building is sold out"),
            _times(wide["unstored"], "N2", "a player loses treasures at night"),
        ]
    )


def _of_games(games: Frame) -> pl.DataFrame:
    wide = games.lazy().select(pl.col("num_winners") > 1, "truncated").collect()
    return pl.concat(
        [
            _times(wide["num_winners"], "N5", "a shared win"),
            _times(wide["truncated"], "D4", "a game is cut off"),
        ]
    )


def _times(times: pl.Series, rule: str, what: str) -> pl.DataFrame:
    return pl.DataFrame({"times": times.cast(pl.Int64)}).with_columns(
        pl.lit(rule).alias("rule"), pl.lit(what).alias("what")
    )


def rules_figure(table: pl.DataFrame, title: str = "") -> Figure:
    """Draw ``rules_in_play``: the share of the games in which each event happens, and how often per game."""
    shown = table.sort("share", descending=True)
    figure = new_figure(8, 1.2 + 0.28 * len(shown), title)
    axes = figure.subplots()
    shares = POINTS * shown["share"].to_numpy()
    axes.barh(range(len(shown)), shares, 0.65, color=SERIES[0][0])
    for line, (share, times) in enumerate(zip(shares, shown["times"], strict=True)):
        axes.text(
            share + 1,
            line,
            f"{times:.2g} per game",
            va="center",
            color=INK,
            fontsize=8.5,
        )
    labels = [f"{what}  {rule}" for rule, what in shown.select("rule", "what").iter_rows()]
    axes.set_yticks(range(len(shown)), labels)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 118)
    axes.set_xlabel("games in which it happens, %")
    grid(axes, "x")
    return figure
