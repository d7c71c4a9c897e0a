"""The analysis finds planted effects and no others, and its tables agree with the records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from megaland_agents.planning.run_solver import RunModel, solve
from megaland_env import Building
from megaland_env.cards import BUILDING_COINS, NORMAL_BUILDINGS, START_HEARTS
from megaland_experiments import analysis
from megaland_experiments.analysis.buildings import bought
from megaland_experiments.probe.measures import token_worth
from megaland_experiments.records import simulate
from megaland_experiments.records.folder import Records
from megaland_experiments.records.schema import building_column

EXPLORER = "explorer:policy=threshold"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return simulate(["threshold", EXPLORER], tmp_path_factory.mktemp("small"), games=240)


# ------------------------------------------------------------------------------------------------------ the fit


def test_a_fit_finds_exact_coefficients() -> None:
    """Without noise, a fit finds the exact effects, controls and means of the groups."""
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"game": np.arange(200) // 4, "group": np.arange(200) % 3, "x": rng.random(200)})
    rows = rows.with_columns(pl.Series("flag", rng.random(200) < 0.4))
    rows = rows.with_columns((0.3 * pl.col("flag") - 2 * pl.col("x") + 7 * pl.col("group")).alias("y"))
    found = analysis.fit(rows, "y", ["flag"], ["x"], ["group"])
    assert [*found.value, *found.low, *found.high] == pytest.approx([0.3] * 3)
    both = analysis.fit(rows, "y", ["flag", "x"], [], ["group"])
    assert both.value == pytest.approx([0.3, -2])


def test_a_fit_is_the_regression_with_all_columns_in_it() -> None:
    """Removing the controls first gives the same coefficients and intervals as one regression with all columns."""
    from statsmodels.regression.linear_model import OLS

    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1))
    games = np.repeat(np.arange(60), 5)
    rows = pl.DataFrame(numbers, schema=["y", "effect", "one", "two"]).with_columns(
        pl.Series("game", games), (pl.col("one") - 2 * pl.col("two")).alias("both"), pl.lit(3.0).alias("constant")
    )
    found = analysis.fit(rows, "y", ["effect"], ["one", "two", "both", "constant"])
    design = np.column_stack([numbers[:, 1:], np.ones(300)])
    whole = OLS(numbers[:, 0], design).fit(cov_type="cluster", cov_kwds={"groups": games})
    assert found.value[0] == pytest.approx(whole.params[0])
    assert found.high[0] - found.value[0] == pytest.approx(1.96 * whole.bse[0], rel=0.02)


def test_a_fit_gives_no_answer_where_there_is_none() -> None:
    rows = pl.DataFrame(
        {"game": [0, 0, 1, 1], "x": [0, 1, 0, 1], "same": [0, 1, 0, 1], "never": [0, 0, 0, 0], "y": [0, 1, 1, 0]}
    )
    assert np.isnan(analysis.fit(rows, "y", ["x"], ["same"]).value).all()
    assert np.isnan(analysis.fit(rows, "y", ["never"]).value).all()
    assert np.isnan(analysis.fit(rows.filter(pl.col("game") == 0), "y", ["x"]).value).all()


def test_intervals_cover_the_truth() -> None:
    """Intervals cover the truth for rows that share the randomness of their game."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(200):
        of_game = rng.normal(size=(2, 100)).repeat(4, axis=1)
        x = of_game[0] + 0.3 * rng.normal(size=400)
        rows = pl.DataFrame({"game": np.arange(400) // 4, "x": x, "y": 0.5 * x + of_game[1] + rng.normal(size=400)})
        found = analysis.fit(rows, "y", ["x"])
        covered += bool(found.low[0] <= 0.5 <= found.high[0])
    assert 0.9 <= covered / 200 <= 0.985


# ------------------------------------------------------------------------------------------------------ what is planted


def made_turns(effect: float, number: int = 6000) -> pl.DataFrame:
    """Turns in which rich players buy more and win more; a Cafe changes the chance to win only by ``effect``."""
    rng = np.random.default_rng(4)
    wealth = rng.integers(0, 6, number)
    buys = rng.random(number) < 0.1 + 0.15 * wealth
    wins = rng.random(number) < 0.05 + 0.1 * wealth + effect * buys
    zero = pl.lit(0, pl.UInt8)
    return pl.DataFrame(
        {
            "game": np.arange(number),
            "round": 1 + np.arange(number) % 3,
            "home_egg": wealth,
            "bought_cafe": buys.astype(int),
            "win_share": wins.astype(float),
        }
    ).with_columns(
        *(zero.alias(f"home_{treasure}") for treasure in ("gear", "stone", "carrot", "crystal", "fish")),
        *(zero.alias(column) for column in (*(c for c in bought() if c != "bought_cafe"), *bought("had"))),
        *(zero.alias(column) for column in ("seat", "turn", "coins", "best_other_coins", "jumps")),
        *(pl.lit(column == "can_cafe").alias(column) for column in bought("can")),
        pl.lit("somebody").alias("agent"),
        pl.lit(4).alias("num_players"),
        pl.lit(4).alias("max_hearts"),
    )


@pytest.mark.parametrize("effect", [0.0, 0.1, -0.1])
def test_that_the_rich_buy_is_no_effect(effect: float) -> None:
    """Buyers win far more often, but only what was planted is found."""
    (row,) = analysis.building_lift(made_turns(effect), [Building.CAFE]).to_dicts()
    turns = made_turns(effect)
    means = dict(turns.group_by(pl.col("bought_cafe") > 0).agg(pl.col("win_share").mean()).iter_rows())
    assert means[True] - means[False] > effect + 0.1
    assert row["low"] <= effect <= row["high"]
    assert row["high"] - row["low"] < 0.06
    assert (row["turns"], row["bought"]) == (6000, made_turns(effect)["bought_cafe"].sum())


def test_a_curse_on_a_building_is_found(tmp_path: Path) -> None:
    """Owners of a Cafe bring home little, so it loses games, and any other cheap building is better."""
    played = simulate(["tests.support.planted:CursedCafe"], tmp_path / "r", games=200)
    turns = analysis.buy_turns(played.decisions, played.events, played.seats)
    kinds = [Building.CAFE, Building.SANDWICH_STAND, Building.ARCADE]
    cafe, *others = analysis.building_lift(turns, kinds).to_dicts()
    assert cafe["high"] < -0.05
    for row in others:
        assert row["low"] > cafe["high"] + 0.05


def test_who_ignores_a_building_loses_where_it_is_on_offer(tmp_path: Path) -> None:
    played = simulate(["threshold", "tests.support.planted:NoLodge"], tmp_path / "r", games=1200, decisions=0)
    lifts = analysis.market_lift(played.games, played.seats)
    of = {(row["building"], row["agent"]): row for row in lifts.to_dicts()}
    assert of["Lodge", "tests.support.planted:NoLodge"]["high"] < -0.03
    assert of["Lodge", "threshold"]["low"] > 0.03
    others = [row for row in of.values() if row["building"] != "Lodge"]
    assert np.mean([row["low"] <= 0 <= row["high"] for row in others]) > 0.85
    bought_by = played.seats.group_by("agent").agg(pl.col("owns_lodge").sum()).collect()
    assert bought_by.filter(pl.col("agent") == "tests.support.planted:NoLodge")["owns_lodge"].item() == 0


def test_equals_show_no_lift(tmp_path: Path) -> None:
    """For one agent under two names, no market suits either, no seat is better, and both win equally often."""
    played = simulate(["threshold", "threshold:risk=0.35"], tmp_path / "r", games=1200, decisions=0)
    rows = analysis.market_lift(played.games, played.seats).to_dicts()
    assert len(rows) == 2 * len(NORMAL_BUILDINGS)
    margins = np.array([(row["high"] - row["low"]) / 2 for row in rows])
    values = np.array([row["value"] for row in rows])
    assert (np.abs(values) <= margins).mean() >= 0.85
    assert np.all(np.abs(values) < 2 * margins)
    for row in analysis.styles(played.seats).to_dicts():
        assert abs(row["win_share"] - 0.25) < row["high"] - row["low"] < 0.05


# ------------------------------------------------------------------------------------------------------ the tables


def test_turns_agree_with_the_log(small: Records) -> None:
    """Purchases, earlier property and options agree with those counted from other tables."""
    turns = analysis.buy_turns(small.decisions, small.events, small.seats)
    assert turns.n_unique(["game", "seat", "round"]) == len(turns)
    log = small.events.filter(pl.col("event") == "buy").select("game", "seat", "round", "item").collect()
    assert sum(turns[column].sum() for column in bought()) == len(log)
    for building in (Building.CAFE, Building.LODGE, Building.GYM):
        name = building_column("bought", building)
        of_turn = {row[:3]: row[3] for row in turns.select("game", "seat", "round", name).iter_rows()}
        had = {
            row[:3]: row[3]
            for row in turns.select("game", "seat", "round", building_column("had", building)).iter_rows()
        }
        copies: dict[tuple[int, int, int], int] = {}
        for game, seat, number in (
            log.filter(pl.col("item") == building.label).select("game", "seat", "round").iter_rows()
        ):
            copies[game, seat, number] = copies.get((game, seat, number), 0) + 1
        assert {turn: times for turn, times in of_turn.items() if times} == copies
        for (game, seat, number), before in had.items():
            assert before == sum(times for (g, s, n), times in copies.items() if (g, s) == (game, seat) and n < number)
    hearts = small.rounds.select(pl.col("hearts_bought").sum()).collect().item()
    assert turns["hearts_bought"].sum() == hearts


def test_turns_of_sampled_decisions_are_some_of_them(small: Records) -> None:
    whole = analysis.buy_turns(small.decisions, small.events, small.seats)
    sampled = small.decisions.collect().sample(fraction=0.3, seed=1)
    some = analysis.buy_turns(sampled, small.events, small.seats)
    assert 0.25 < len(some) / len(whole) < 0.35
    assert len(some.join(whole, on=some.columns, how="semi", nulls_equal=True)) == len(some)


def test_purchases_by_round_add_up(small: Records) -> None:
    rates = analysis.buy_rates(small.games, small.rounds, small.events)
    everything = small.seats.select(pl.sum_horizontal(pl.col("^owns_.*$").cast(pl.Int64)).sum()).collect().item()
    assert rates.filter(pl.col("item") != "heart")["bought"].sum() == everything
    first = rates.filter(pl.col("round") == 1)
    offers = small.games.collect()
    for building in NORMAL_BUILDINGS:
        (turns,) = first.filter(pl.col("item") == building.label)["turns"]
        assert turns == 4 * offers[building_column("offers", building)].sum()
    assert first.filter(pl.col("item") == "heart")["turns"].item() == 4 * 240


def test_use_of_buildings_by_hand(small: Records) -> None:
    use = {row["building"]: row for row in analysis.building_use(small.games, small.seats, small.events).to_dicts()}
    seats, games = small.seats.collect(), small.games.collect()
    coins = small.events.filter(pl.col("event") == "coins").collect()
    for building in (Building.CAFE, Building.LODGE):
        row = use[building.label]
        copies = seats[building_column("owns", building)].sum()
        on_offer = games[building_column("offers", building)].sum() if building in NORMAL_BUILDINGS else len(games)
        paid = coins.filter(pl.col("item") == building.label)["value"].sum()
        assert row["games"] == on_offer
        assert row["copies"] == pytest.approx(copies / on_offer)
        assert (row["coins"] + BUILDING_COINS[building]) * copies == pytest.approx(paid)
    assert use["Cafe"]["coins"] == 0


def test_owners_by_hand(small: Records) -> None:
    ahead = dict(analysis.owners_ahead(small.games, small.seats).iter_rows())
    seats = small.seats.join(small.games, on="game").collect()
    for building in (Building.ARCADE, Building.LODGE):
        there = seats.filter("offers_lodge") if building == Building.LODGE else seats
        owns = there[building_column("owns", building)] > 0
        shares = there["win_share"]
        assert ahead[building.label] == pytest.approx(shares.filter(owns).mean() - shares.filter(~owns).mean())
    assert ahead["Endless Mine"] > 0.1  # winners own what is dear


def test_leaders_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two games of two rounds: in one the leader wins, in the other nobody leads; the last round does not count."""
    monkeypatch.setattr("megaland_experiments.analysis.race_to_20.FEWEST", 1)
    rounds = pl.DataFrame(
        {
            "game": [0] * 4 + [1] * 4,
            "seat": [0, 1] * 4,
            "num_players": [2] * 8,
            "round": [1, 1, 2, 2] * 2,
            "coins": [3, 1, 20, 4, 2, 2, 4, 21],
        }
    )
    seats = pl.DataFrame(
        {"game": [0, 0, 1, 1], "seat": [0, 1, 0, 1], "won": [True, False, False, True], "win_share": [1.0, 0, 0, 1]}
    )
    (row,) = analysis.leaders(rounds, seats).to_dicts()
    assert (row["round"], row["games"], row["value"], row["par"]) == (1, 1, 1.0, 0.5)
    found = {(row["round"], row["won"]): row["mean"] for row in analysis.race(rounds, seats).to_dicts()}
    assert found == {(1, False): 1.5, (1, True): 2.5, (2, False): 4.0, (2, True): 20.5}


def test_what_a_coin_is_worth_is_found(small: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up win share that is a twentieth for each coin ahead of the others, and a tenth for each heart."""
    mine = {name: pl.col(name).cast(pl.Float64) for name in ("coins", "max_hearts")}
    ahead = {name: own - (own.sum().over("game") - own) / 3 for name, own in mine.items()}
    first = small.rounds.filter(pl.col("round") == 2).collect()
    made = first.select("game", "seat", (0.25 + ahead["coins"] / 20 + ahead["max_hearts"] / 10).alias("win_share"))
    monkeypatch.setattr("megaland_experiments.analysis.resources.FEWEST", 1)
    found = analysis.worth(small.rounds.filter(pl.col("round").is_in([2, 3])), made, last_round=2)
    planted = {"coin": 0.05, "heart": 0.1, "jump token": 0, "stored treasure": 0, "building": 0}
    assert dict(found.select("thing", "value").iter_rows()) == pytest.approx(planted, abs=1e-9)


def test_runs_beside_the_solver(small: Records) -> None:
    """In the first round nobody owns buildings, so the values are those of the simplest model of the run."""
    runs = analysis.run_decisions(small.decisions.filter(pl.col("round") == 1))
    solution = solve(RunModel(token=token_worth(), most_tokens=0))
    assert len(runs) > 1000
    for row in runs.sample(200, seed=1).to_dicts():
        where = row["unseen"], row["hearts"], 0, row["carried"]
        gain = solution.stay[where] - solution.leave[where[2:]]
        assert row["gain"] == pytest.approx(gain)
        assert row["loss"] == pytest.approx(max(gain, 0) if row["action"] == "LEAVE" else max(-gain, 0))
        assert row["solver_leaves"] == (gain <= 1e-9)
    shares = analysis.stay_or_leave(runs)
    assert shares["decisions"].sum() == len(runs)
    safe = shares.filter(pl.col("danger") == 0)
    assert safe["leave"].to_list() == [0, 0]  # both play as the threshold agent in the level


def test_more_hearts_bring_more_home() -> None:
    exact = analysis.exact_runs(1)
    assert exact.filter(hearts=START_HEARTS, tokens=0)["treasures"].item() == pytest.approx(solve(RunModel()).run())
    for tokens in (0, 1):
        assert (exact.filter(tokens=tokens).sort("hearts")["treasures"].diff().drop_nulls() > 0).all()


def test_rules_that_come_into_play_by_hand(small: Records) -> None:
    found = {row["what"]: row for row in analysis.rules_in_play(small.games, small.seats, small.events).to_dicts()}
    seats = small.seats.collect()
    assert found["a fall"]["times"] == pytest.approx(seats["falls"].sum() / 240)
    assert found["a jump"]["times"] == pytest.approx(seats["jumped"].sum() / 240)
    jumpers = seats.filter(pl.col("jumped") > 0)["game"].n_unique()
    assert found["a jump"]["share"] == pytest.approx(jumpers / 240)
    assert found["a game is cut off"]["share"] == 0


FIGURES: dict[str, Callable[[Records], Figure]] = {
    "lift": lambda r: analysis.lift_figure(
        analysis.building_lift(analysis.buy_turns(r.decisions, r.events, r.seats)),
        analysis.owners_ahead(r.games, r.seats),
    ),
    "stage": lambda r: analysis.stage_figure(
        analysis.lift_by_stage(analysis.buy_turns(r.decisions, r.events, r.seats), [5])
    ),
    "market": lambda r: analysis.market_figure(analysis.market_lift(r.games, r.seats)),
    "buy": lambda r: analysis.buy_figure(analysis.buy_rates(r.games, r.rounds, r.events)),
    "race": lambda r: analysis.race_figure(r.rounds, r.seats, r.games),
    "seat": lambda r: analysis.seat_figure(analysis.seat_effects(r.seats)),
    "worth": lambda r: analysis.worth_figure(analysis.worth(r.rounds, r.seats)),
    "runs": lambda r: analysis.runs_figure(analysis.runs_by_hearts(r.rounds), analysis.exact_runs()),
    "leave": lambda r: analysis.leave_figure(analysis.stay_or_leave(analysis.run_decisions(r.decisions))),
    "card": lambda r: analysis.card_figure(analysis.run_decisions(r.decisions)),
    "rules": lambda r: analysis.rules_figure(analysis.rules_in_play(r.games, r.seats, r.events)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_axis_says_what_it_shows(small: Records, name: str) -> None:
    drawn = FIGURES[name](small)
    shown = [axes for axes in drawn.axes if axes.get_visible()]
    assert shown
    for axes in shown:
        assert axes.get_ylabel() or name == "rules"
        assert axes.get_xlabel()
        assert axes.has_data()
