"""The race to 20 coins: its course, its length, when it is decided, and whether seats matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from megaland_env.cards import WINNING_COINS
from megaland_experiments.analysis.regression import Frame, fit
from megaland_experiments.shared.intervals import share_interval
from megaland_experiments.shared.plots import ANCHOR_COLOUR, POINTS, SERIES, dots, grid, line_with_intervals, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 100
"""The smallest number of games or seats from which a round is shown."""


def race(rounds: Frame, seats: Frame) -> pl.DataFrame:
    """How the coins of winners and of the other players grow.

    Returns:
        One row for each round and for winners and others (``won``): the number of ``seats`` that played the round, and
        the ``mean`` and the ``tenth`` and ``ninetieth`` percentile of their coins at its end. Games that are over do
        not count in later rounds.
    """
    coins = pl.col("coins")
    return (
        rounds.lazy()
        .select("game", "seat", "round", "coins")
        .join(seats.lazy().select("game", "seat", "won"), on=["game", "seat"])
        .group_by("round", "won")
        .agg(
            pl.len().alias("seats"),
            coins.mean().alias("mean"),
            coins.quantile(0.1).alias("tenth"),
            coins.quantile(0.9).alias("ninetieth"),
        )
        .sort("won", "round")
        .collect()
    )


def game_lengths(games: Frame) -> pl.DataFrame:
    """The number of ``games`` for each number of ``rounds``, and their ``share``."""
    return (
        games.lazy()
        .group_by("rounds")
        .agg(pl.len().alias("games"))
        .sort("rounds")
        .with_columns((pl.col("games") / pl.col("games").sum()).alias("share"))
        .collect()
    )


def leaders(rounds: Frame, seats: Frame) -> pl.DataFrame:
    """How early a game is decided.

    Returns:
        One row for each ``round``: the number of ``games`` that go on after it and have a single richest player at that
        time, the mean win share of that player (``value``) with its 95 % interval, and ``par``, the share of equal
        players.
    """
    lasts = pl.col("round") < pl.col("round").max().over("game")
    ahead = (
        rounds.lazy()
        .select("game", "seat", "num_players", "round", "coins")
        .filter(lasts)
        .filter(pl.col("coins") == pl.col("coins").max().over("game", "round"))
        .filter(pl.len().over("game", "round") == 1)
        .join(seats.lazy().select("game", "seat", "win_share"), on=["game", "seat"])
        .collect()
    )
    rows = []
    for (number,), part in sorted(ahead.partition_by("round", as_dict=True).items()):
        if len(part) >= FEWEST:
            low, high = share_interval(part["win_share"].to_numpy())
            par = float(part.select((1 / pl.col("num_players")).mean()).item())
            value = float(part.select(pl.col("win_share").mean()).item())
            rows.append({"round": number, "games": len(part), "value": value, "low": low, "high": high, "par": par})
    columns = {"round": pl.Int64, "games": pl.Int64, **dict.fromkeys(("value", "low", "high", "par"), pl.Float64)}
    return pl.DataFrame(rows, schema=columns)


def race_figure(rounds: Frame, seats: Frame, games: Frame, title: str = "") -> Figure:
    """Draw ``race``, ``game_lengths`` and ``leaders`` side by side."""
    shown = race(rounds, seats).filter(pl.col("seats") >= FEWEST)
    lengths = game_lengths(games)
    figure = new_figure(13, 4.2, title)
    coins, length, lead = figure.subplots(1, 3)
    for number, (won, name) in enumerate(((True, "winners"), (False, "the others"))):
        rows = shown.filter(pl.col("won") == won)
        colour, marker = SERIES[number]
        coins.fill_between(rows["round"], rows["tenth"], rows["ninetieth"], color=colour, alpha=0.15, linewidth=0)
        coins.plot(rows["round"], rows["mean"], color=colour, marker=marker, markersize=4, label=name)
    coins.axhline(WINNING_COINS, color=ANCHOR_COLOUR, zorder=0)
    coins.set_title("Coins after each round: mean and\nmiddle 80 % of the games still running")
    coins.set_xlabel("round")
    coins.set_ylabel("coins")
    coins.legend(frameon=False, loc="lower right")
    length.bar(lengths["rounds"], POINTS * lengths["share"], 0.8, color=SERIES[0][0])
    length.set_title("How long games last")
    length.set_xlabel("rounds")
    length.set_ylabel("games, %")
    rows = leaders(rounds, seats)
    line_with_intervals(lead, rows["round"], rows["value"], rows["low"], rows["high"], scale=POINTS)
    lead.plot(rows["round"], POINTS * rows["par"], color=ANCHOR_COLOUR, linewidth=1)
    lead.set_ylim(0, 100)
    lead.set_title("How often the leader after\na round wins (grey: any player)")
    lead.set_xlabel("round")
    lead.set_ylabel("wins, %")
    for axes, along in ((coins, "both"), (length, "y"), (lead, "both")):
        grid(axes, along)
    return figure


# ------------------------------------------------------------------------------------------------------ seats


def seat_effects(seats: Frame) -> pl.DataFrame:
    """Whether the seat matters, and who begins.

    Returns:
        For each number of players, ``by`` seat and by turn order in the first round, one row for each ``place``: its
        win share minus that of equal players (``value``) with a 95 % interval, for the same agents.
    """
    table = seats.lazy().select("game", "num_players", "agent", "seat", "turn", "win_share").collect()
    parts = []
    for (players,), rows in sorted(table.partition_by("num_players", as_dict=True).items()):
        for by in ("seat", "turn"):
            flags = rows.with_columns((pl.col(by) == place).alias(f"at {place}") for place in range(players))
            for place in range(players):
                # The fit compares a seat with the others; par is the mean of all seats.
                found = fit(flags, "win_share", [f"at {place}"], groups=["agent"])
                scale = (players - 1) / players
                values = (float(part[0]) * scale for part in found[1:])
                parts.append((int(players), by, place, *values))
    columns = ["num_players", "by", "place", "value", "low", "high"]
    return pl.DataFrame(parts, schema=columns, orient="row").with_columns(pl.col("value", "low", "high").fill_nan(None))


def seat_figure(effects: pl.DataFrame, title: str = "") -> Figure:
    """Draw the effects of ``seat_effects`` in percentage points, with a panel for each number of players."""
    tables = effects["num_players"].unique().sort().to_list()
    figure = new_figure(2 + 4.5 * len(tables), 3.2, title)
    for axes, players in zip(figure.subplots(1, len(tables), squeeze=False)[0], tables, strict=True):
        for number, (by, name) in enumerate((("turn", "place in the first turn order"), ("seat", "seat"))):
            rows = effects.filter(pl.col("num_players") == players, pl.col("by") == by)
            labels = [str(place + 1) for place in rows["place"]]
            values = (POINTS * rows[column].to_numpy() for column in ("value", "low", "high"))
            dots(axes, labels, *values, series=number, offset=0.3 * number - 0.15, name=name)
        axes.set_title(f"{players} players (par: {POINTS / players:.0f} %)")
        axes.set_xlabel("win share above par, percentage points")
        axes.set_ylabel("first, second, ...")
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, loc="outside lower center", ncols=2)
    return figure
