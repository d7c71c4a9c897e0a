"""Which buildings win: the effect of buying one, the effect of the market, and what is bought when.

**Buying a building** (``building_lift``). Winners own more of nearly everything, since a player with many treasures
buys much and wins often; so owners and other players cannot be compared. Instead, *turns in which the building could be
bought* are compared: those in which it was bought with those in which it was not, of the same agent in the same round,
after adjusting for what the seat saw when its turn began: its coins and those of the richest other player, its
treasures of each type, hearts, jump tokens, the buildings it owned, its place in the turn order, and which other
buildings it could buy. This is regression adjustment for what the choice depends on (Angrist and Pischke,
Mostly Harmless Econometrics, 2009, chapter 3).

What a lift means: the mean change of the win share if the building is bought *now*, compared with what the same agent
does with the same treasures instead, most often buying something else. So a good building can have a lift below 0,
because there were better ones to buy.

What it does not mean: a deterministic agent buys a building only where it values it, and its games say nothing about
other states; whatever the agent looked at and the regression did not is mistaken for an effect. So let some of the
choices be made at random, by agents such as ``explorer:policy=planner``. And lifts depend on the players: they say what
a building is worth to these agents, not to the best ones.

How accurate it is: the engine allows a test. 63,000 turns of explorers (``policy=threshold``) were played on twice from
the same state with the same seed, once with the purchase and once without. The lifts measured in 8,000 other games of
these agents agree with the differences, building by building, with a correlation of 0.97; they are 3 points higher on
average, since what an explorer does instead is often chosen at random. In games of the threshold agent itself, which
chooses nothing at random, the correlation is 0.85.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from megaland_env import Building
from megaland_env.cards import BUILDING_COINS, BUILDING_COSTS, NORMAL_BUILDINGS
from megaland_experiments.analysis.regression import Frame, fit
from megaland_experiments.records.folder import can
from megaland_experiments.records.schema import BUILDINGS, TREASURES, building_column
from megaland_experiments.shared.plots import EMPTY, INK, POINTS, RISING, SERIES, dots, new_figure, no_frame, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 50
"""The smallest number of turns with a purchase, and without, from which a lift is estimated."""

LAST_ROUND = 15
"""Later rounds count as this one."""

TURN = ("game", "seat", "round")
_HOME = tuple(f"home_{treasure}" for treasure in TREASURES)
_SEEN = (
    *("lead", "best_other_coins", "lead_squared", "lead_late", *_HOME, "types", "most"),
    *("max_hearts", "jumps", "turn", "owned"),
)


def bought(prefix: str = "bought") -> list[str]:
    """The names of the columns of all buildings, such as ``bought_lodge``."""
    return [building_column(prefix, building) for building in Building]


# ------------------------------------------------------------------------------------------------------ the turns


def purchases(events: Frame) -> pl.DataFrame:
    """The purchases in order: ``game, seat, round, step, item``, where an item is a building or ``heart``."""
    is_heart = pl.col("event") == "heart"
    return (
        events.lazy()
        .filter(pl.col("event").is_in(["buy", "heart"]))
        .select(
            *TURN,
            "step",
            pl.when(is_heart).then(pl.lit("heart")).otherwise(pl.col("item").cast(pl.String)).alias("item"),
        )
        .collect()
    )


def buy_turns(decisions: Frame, events: Frame, seats: Frame) -> pl.DataFrame:
    """Turns of the buy phase in which something could be bought: the state when they began, and what was bought.

    If the records do not have all decisions, these are the turns whose first decision was kept.

    Returns:
        One row for each turn: ``game, seat, agent, round``, what the seat saw at its first decision, for each building
        ``can_...`` (it could be bought), ``bought_...`` (copies bought in this turn) and ``had_...`` (copies owned
        before), ``hearts_bought``, and ``win_share``, the outcome of the game.
    """
    items = purchases(events)
    per_turn = items.group_by(TURN).agg(
        pl.col("step").min().alias("first_step"),
        (pl.col("item") == "heart").sum().cast(pl.UInt8).alias("hearts_bought"),
        *(
            (pl.col("item") == building.label).sum().cast(pl.UInt8).alias(building_column("bought", building))
            for building in Building
        ),
    )
    columns = (
        *("num_players", "agent", "step", "turn", "coins", "best_other_coins", "max_hearts", "jumps", "home", *_HOME),
        "legal",
    )
    asked = (
        decisions.lazy()
        .filter(pl.col("kind") == "buy")
        .select(*TURN, *columns)
        .collect()
        .sort("step", maintain_order=True)
        .unique(TURN, keep="first", maintain_order=True)
    )
    turns = asked.join(per_turn, on=TURN, how="left").filter(
        pl.col("first_step").is_null() | (pl.col("step") <= pl.col("first_step"))
    )
    before = (
        per_turn.sort("round")
        .with_columns(
            pl.col(column).cast(pl.UInt8).cum_sum().over("game", "seat").alias(before)
            for column, before in zip(bought(), bought("had"), strict=True)
        )
        .select(*TURN, *bought("had"))
    )
    # What was owned when the turn began: after the last earlier turn in which anything was bought.
    turns = turns.sort("round").join_asof(
        before.sort("round"), on="round", by=["game", "seat"], allow_exact_matches=False, check_sortedness=False
    )
    shares = seats.lazy().select("game", "seat", "win_share").collect()
    return (
        turns.join(shares, on=["game", "seat"])
        .with_columns(
            *(pl.col(column).fill_null(0) for column in (*bought(), *bought("had"), "hearts_bought")),
            *(can(f"BUY_{building.name}").alias(building_column("can", building)) for building in Building),
        )
        .drop("legal", "first_step")
        .sort(*TURN)
    )


# ------------------------------------------------------------------------------------------------------ buying


def building_lift(turns: pl.DataFrame, buildings: Sequence[Building] = tuple(Building)) -> pl.DataFrame:
    """The effect of buying each building on the win share. The docstring of the module explains the method.

    Args:
        turns: the table of ``buy_turns``, or some of its rows.
        buildings: the buildings to estimate.

    Returns:
        One row for each building: ``building, cost, value, low, high`` (the change of the win share, null where there
        are too few turns), ``turns`` in which it could be bought, and ``bought``, the turns in which it was.
    """
    seen = _with_controls(turns)
    others = bought("can")
    rows = []
    for building in buildings:
        could = seen.filter(building_column("can", building)).with_columns(
            (pl.col(building_column("bought", building)) > 0).alias("buys")
        )
        buyers = int(could["buys"].sum())
        row = {"building": building.label, "cost": int(BUILDING_COSTS[building])}
        found = dict.fromkeys(("value", "low", "high"))
        if min(buyers, len(could) - buyers) >= FEWEST:
            controls = (
                *_SEEN,
                *bought("had"),
                *(column for column in others if column != building_column("can", building)),
            )
            effect = fit(could, "win_share", ["buys"], controls, ["agent", "num_players", "when"])
            found = dict(zip(("value", "low", "high"), (float(part[0]) for part in effect[1:]), strict=True))
        rows.append({**row, **found, "turns": len(could), "bought": buyers})
    schema = dict.fromkeys(("value", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)


def lift_by_stage(turns: pl.DataFrame, bounds: Sequence[int] = (4, 7)) -> pl.DataFrame:
    """``building_lift`` by stage of the game; stages begin with round 1 and with the rounds in ``bounds``."""
    parts = []
    for first, after in zip((1, *bounds), (*bounds, None), strict=True):
        stage = f"rounds {first} to {after - 1}" if after else f"from round {first}"
        here = pl.col("round") >= first if after is None else pl.col("round").is_between(first, after - 1)
        parts.append(building_lift(turns.filter(here)).insert_column(0, pl.lit(stage).alias("stage")))
    return pl.concat(parts)


def _with_controls(turns: pl.DataFrame) -> pl.DataFrame:
    lead = pl.col("coins").cast(pl.Float64) - pl.col("best_other_coins")
    had = pl.sum_horizontal(pl.col(column).cast(pl.Float64) for column in bought("had"))
    return turns.with_columns(
        lead.alias("lead"),
        (lead**2).alias("lead_squared"),
        (lead * pl.max_horizontal("coins", "best_other_coins")).alias("lead_late"),
        pl.sum_horizontal(pl.col(column) > 0 for column in _HOME).alias("types"),
        pl.max_horizontal(*_HOME).alias("most"),
        had.alias("owned"),
        pl.col("round").clip(upper_bound=LAST_ROUND).alias("when"),
    )


def owners_ahead(games: Frame, seats: Frame) -> pl.DataFrame:
    """How much more often the players win who own a building at the end: a correlation, *not* an effect.

    Returns:
        One row for each building: ``building``, and ``ahead``, the difference of the win shares of owners and other
        players in the games that have it on offer; null if nobody or everybody owns it.
    """
    table = (
        seats.lazy()
        .select("game", "win_share", *bought("owns"))
        .join(games.lazy().select("game", *bought("offers")[len(Building) - len(NORMAL_BUILDINGS) :]), on="game")
    )
    differences = []
    for building in Building:
        owns = pl.col(building_column("owns", building)) > 0
        offers = pl.col(building_column("offers", building)) if building in NORMAL_BUILDINGS else pl.lit(True)
        share = pl.col("win_share")
        ahead = share.filter(offers & owns).mean() - share.filter(offers & ~owns).mean()
        differences.append(ahead.alias(building.label))
    found = table.select(differences).collect()
    return pl.DataFrame({"building": found.columns, "ahead": pl.Series(found.row(0), dtype=pl.Float64)})


def lift_figure(lifts: pl.DataFrame, ahead: pl.DataFrame | None = None, title: str = "") -> Figure:
    """Draw the lifts of ``building_lift``, the best on top, and the differences of ``owners_ahead`` if given."""
    shown = lifts.drop_nulls("value").sort("value", descending=True)
    figure = new_figure(7.5, 1.6 + 0.27 * max(3, len(shown)), title)
    axes = figure.subplots()
    labels = [f"{building}  {cost}" for building, cost in shown.select("building", "cost").iter_rows()]
    values = (POINTS * shown[column].to_numpy() for column in ("value", "low", "high"))
    dots(axes, labels, *values, name="change by buying it, all else equal")
    if ahead is not None:
        plain = shown.join(ahead, on="building", how="left", maintain_order="left")["ahead"].to_numpy()
        colour = SERIES[1][0]
        axes.plot(
            POINTS * plain,
            range(len(shown)),
            "D",
            color=colour,
            markersize=4,
            fillstyle="none",
            label="owners win more often by",
        )
        figure.legend(frameon=False, loc="outside lower center", ncols=2)
    axes.set_xlabel("chance to win, percentage points")
    axes.set_ylabel("building and its cost in treasures")
    return figure


def stage_figure(lifts: pl.DataFrame, title: str = "") -> Figure:
    """Draw the lifts of ``lift_by_stage``, each stage in a colour; the buildings that are best on average on top."""
    order = (
        lifts.group_by("building").agg(pl.col("value").mean()).drop_nulls().sort("value", descending=True)["building"]
    )
    return _several(lifts, "stage", order, "change of the chance to win by buying it now", "building", title)


def _several(frame: pl.DataFrame, by: str, order: pl.Series, what: str, of: str, title: str) -> Figure:
    """A line for each building, with a value and its interval for each value of the column ``by``."""
    things = frame[by].unique(maintain_order=True).to_list()
    figure = new_figure(7.5, 1.4 + 0.14 * max(2, len(things)) * len(order), title)
    axes = figure.subplots()
    for number, thing in enumerate(things):
        rows = pl.DataFrame({"building": order}).join(
            frame.filter(pl.col(by) == thing), on="building", how="left", maintain_order="left"
        )
        values = (POINTS * rows[column].to_numpy() for column in ("value", "low", "high"))
        offset = 0.7 * ((number + 0.5) / len(things) - 0.5)
        dots(axes, order.to_list(), *values, series=number % len(SERIES), offset=offset, name=short(str(thing)))
    figure.legend(frameon=False, loc="outside lower center", ncols=min(3, len(things)))
    axes.set_xlabel(f"{what}, percentage points")
    axes.set_ylabel(of)
    return figure


# ------------------------------------------------------------------------------------------------------ the market


def market_lift(games: Frame, seats: Frame) -> pl.DataFrame:
    """The effect on each agent of a building being on offer, rather than another building.

    The market is drawn at random, so games with and without a building differ in nothing else, and the difference of
    means is the effect, as in an experiment. Among equal agents no win share can change, so the effect is that on each
    agent against the agents that it met.

    Returns:
        One row for each normal building and agent: ``building, agent, value, low, high`` (the change of the win share),
        and ``games``, the number of games with the building.
    """
    offers = bought("offers")[len(Building) - len(NORMAL_BUILDINGS) :]
    table = (
        seats.lazy()
        .select("game", "num_players", "agent", "win_share")
        .join(games.lazy().select("game", *offers), on="game")
        .collect()
    )
    parts = []
    for (agent,), rows in sorted(table.partition_by("agent", as_dict=True).items(), key=lambda item: str(item[0])):
        for building, column in zip(NORMAL_BUILDINGS, offers, strict=True):
            effect = fit(rows, "win_share", [column], groups=["num_players"])
            number = rows.filter(column)["game"].n_unique()
            parts.append((building.label, agent, *(float(part[0]) for part in effect[1:]), number))
    return pl.DataFrame(
        parts, schema=["building", "agent", "value", "low", "high", "games"], orient="row"
    ).with_columns(pl.col("value", "low", "high").fill_nan(None))


def market_figure(lifts: pl.DataFrame, title: str = "") -> Figure:
    """Draw the lifts of ``market_lift``, each agent in a colour; the buildings that make the most difference on top."""
    order = (
        lifts.group_by("building")
        .agg((pl.col("value").max() - pl.col("value").min()).alias("spread"))
        .sort("spread", "building", descending=[True, False])["building"]
    )
    return _several(lifts, "agent", order, "change of the win share when it is on offer", "building on offer", title)


# ------------------------------------------------------------------------------------------------------ what, and when


def buy_rates(games: Frame, rounds: Frame, events: Frame) -> pl.DataFrame:
    """How often each item is bought, by round.

    Returns:
        One row for each item (a building or ``heart``) and round: ``turns`` in games that have it on offer, ``bought``
        (copies), and ``per_turn``.
    """
    turns = rounds.lazy().group_by("game", "round").agg(pl.len().alias("turns"))
    offers = games.lazy().select("game", *bought("offers")[len(Building) - len(NORMAL_BUILDINGS) :])
    table = (
        turns.join(offers, on="game")
        .group_by("round")
        .agg(
            pl.col("turns").sum().alias("all"),
            *(
                (pl.col("turns") * pl.col(building_column("offers", building))).sum().alias(building.label)
                for building in NORMAL_BUILDINGS
            ),
        )
        .collect()
    )
    always = [building.label for building in Building if building not in NORMAL_BUILDINGS]
    long = (
        table.with_columns(pl.col("all").alias(item) for item in (*always, "heart"))
        .drop("all")
        .unpivot(index="round", variable_name="item", value_name="turns")
    )
    number = purchases(events).group_by("item", "round").agg(pl.len().alias("bought"))
    return (
        long.join(number, on=["item", "round"], how="left")
        .with_columns(pl.col("bought").fill_null(0))
        .with_columns((pl.col("bought") / pl.col("turns")).alias("per_turn"))
        .sort("item", "round")
    )


def buy_figure(rates: pl.DataFrame, title: str = "", last_round: int = 12) -> Figure:
    """Draw ``buy_rates`` as a map of items and rounds, sorted by cost."""
    import numpy as np

    items = [
        "heart",
        *sorted(BUILDINGS, key=lambda name: (BUILDING_COSTS[BUILDINGS.index(name)], BUILDINGS.index(name))),
    ]
    wide = (
        rates.filter(pl.col("round") <= last_round, pl.col("turns") >= FEWEST)
        .with_columns(pl.col("per_turn") * POINTS)
        .pivot("round", index="item", values="per_turn")
    )
    columns = sorted((name for name in wide.columns if name != "item"), key=int)
    found = {item: numbers for item, *numbers in wide.select("item", *columns).iter_rows()}
    items = [item for item in items if item in found]
    shares = np.array([found[item] for item in items], np.float64).reshape(len(items), len(columns))
    figure = new_figure(2.6 + 0.45 * len(columns), 1.6 + 0.27 * len(items), title)
    axes = figure.subplots()
    axes.set_facecolor(EMPTY)
    top = max(25.0, float(np.nanmax(shares, initial=0)))
    if shares.size:  # empty if there are too few games for any number
        axes.imshow(shares, cmap=RISING, vmin=0, vmax=top, aspect="auto")
    for (line, column), share in np.ndenumerate(shares):
        if share >= 0.5:
            colour = "white" if share > 0.6 * top else INK
            axes.text(column, line, f"{share:.0f}", ha="center", va="center", color=colour, fontsize=8.5)
    costs = {name: f"{name}  {BUILDING_COSTS[place]}" for place, name in enumerate(BUILDINGS)}
    axes.set_yticks(range(len(items)), [costs.get(item, item) for item in items])
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlabel("round")
    axes.set_ylabel("item and its cost in treasures")
    axes.set_title("Bought per 100 turns in games that have it on offer")
    no_frame(axes)
    return figure


def building_use(games: Frame, seats: Frame, events: Frame) -> pl.DataFrame:
    """How often each building is bought, and what it brings.

    Returns:
        One row for each building: its ``cost``, the ``games`` that have it on offer, the share of them in which
        somebody buys it (``bought_share``), ``copies`` owned at the end by all players together, ``coins_at_once``, and
        the ``coins`` that one copy then brings by its lasting effect (null if none was bought).
    """
    owned = (
        seats.lazy()
        .group_by("game")
        .agg(pl.col(column).cast(pl.UInt32).sum() for column in bought("owns"))
        .join(games.lazy().select("game", *bought("offers")[len(Building) - len(NORMAL_BUILDINGS) :]), on="game")
        .collect()
    )
    paid = dict(
        events.lazy()
        .filter(pl.col("event") == "coins")
        .group_by(pl.col("item").cast(pl.String))
        .agg(pl.col("value").cast(pl.Int64).sum())
        .collect()
        .iter_rows()
    )
    rows = []
    for building in Building:
        on_offer = owned.filter(building_column("offers", building)) if building in NORMAL_BUILDINGS else owned
        copies = on_offer[building_column("owns", building)]
        total, at_once = int(copies.sum()), int(BUILDING_COINS[building])
        number = max(1, len(copies))
        rows.append(
            {
                "building": building.label,
                "cost": int(BUILDING_COSTS[building]),
                "games": len(copies),
                "bought_share": int((copies > 0).sum()) / number,
                "copies": total / number,
                "coins_at_once": at_once,
                "coins": (paid.get(building.label, 0) - total * at_once) / total if total else None,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)
