"""The view of a decision: every array of the table in its docstring is checked against a snapshot."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_env import Decisions, MegalandConfig, MegalandGames, View
from megaland_env.agent import random_legal
from tests.support import tables

Snapshot = dict[str, Any]

# C2, C3 and C6 in their order.
TREASURES = list(tables.TREASURES)
LEVEL_CARDS = list(tables.LEVEL_CARDS)
SKULLS = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]
CAN_BE_JUMPED = [5, 6, 8, 9]
BUILDINGS = list(tables.COSTS)
KINDS = [None, "jump", "herb_hut", "rabbit", "run", "reptile", "buy", "pay", "store"]

_ROW = re.compile(r"^ *(\w+) +\((M[^)]*)\) +(\w+)", flags=re.MULTILINE)
TABLE = {name: (shape, dtype) for name, shape, dtype in map(re.Match.groups, _ROW.finditer(View.__doc__ or ""))}
"""Name -> shape in words, dtype: the table in the documentation of ``View``."""


def played(config: MegalandConfig, num_games: int, seed: int, steps: int) -> MegalandGames:
    """Games after ``steps`` steps of random play, or at their end."""
    games = MegalandGames(config, num_games)
    games.reset(seed)
    while games.active.any() and steps:
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions)))
        steps -= 1
    return games


def all_rows(games: MegalandGames) -> Decisions:
    """A row for each seat of each game, deciding or not."""
    game, seat = np.divmod(np.arange(games.num_games * games.num_players), games.num_players)
    return games.rows(game, seat)


def pile(counts: dict[str, int]) -> list[int]:
    return [counts.get(treasure, 0) for treasure in TREASURES]


def fall_chance(snapshot: Snapshot, player: Snapshot, jumping: bool) -> float:
    unseen = [card for card, name in enumerate(LEVEL_CARDS) if name not in snapshot["level_seen"]]
    if not player["in_level"] or not unseen:
        return 0.0
    deadly = 0
    for card in unseen:
        harmless = (jumping and card in CAN_BE_JUMPED) or (
            LEVEL_CARDS[card] == "Sludge Creature" and "Soap Makers" in player["buildings"]
        )
        deadly += not harmless and SKULLS[card] > 0 and SKULLS[card] >= player["hearts"]
    return deadly / len(unseen)


def expected(snapshot: Snapshot, seat: int) -> dict[str, Any]:
    """One row of every array, computed from a snapshot."""
    players = len(snapshot["players"])
    seats = [(seat + k) % players for k in range(players)]
    turned = [snapshot["players"][at] for at in seats]
    supply = snapshot["supply"]
    pay = snapshot["pay"] or {"buying": None, "treasure": None, "cost": 0, "paid": {}}
    bought = [name for player in turned for name in player["bought"]]
    purchases = {None: -1, "heart": 23, **{name: building for building, name in enumerate(BUILDINGS)}}
    return {
        **{
            name: [player[name] for player in turned]
            for name in ("coins", "hearts", "max_hearts", "jumps", "jumping", "in_level", "falling", "picks_left")
        },
        "active": [at in snapshot["active"] for at in seats],
        **{name: [pile(player[name]) for player in turned] for name in ("carried", "home", "picked")},
        "buildings": [[player["buildings"].get(name, 0) for name in BUILDINGS] for player in turned],
        "fish_used": [player["wild_used"]["fish"] for player in turned],
        "carrots_used": [player["wild_used"]["carrot"] for player in turned],
        "first_player": [at == snapshot["first_player"] for at in seats],
        "buyer": [at == snapshot["buyer"] for at in seats],
        "kind": KINDS.index(snapshot["decision"]),
        "round": snapshot["round"],
        "deck": pile(snapshot["treasure_deck"]),
        "discard": pile(snapshot["discard"]),
        "unseen": [name not in snapshot["level_seen"] for name in LEVEL_CARDS],
        "level_card": LEVEL_CARDS.index(snapshot["level_card"]) if snapshot["level_card"] else -1,
        "heart_supply": supply["hearts"],
        "jump_supply": supply["jumps"],
        "on_offer": [name in supply["buildings"] for name in BUILDINGS],
        "supply": [supply["buildings"].get(name, 0) for name in BUILDINGS],
        "bought": [name in bought for name in BUILDINGS],
        "buying": purchases[pay["buying"]],
        "heart_treasure": TREASURES.index(pay["treasure"]) if pay["treasure"] else -1,
        "cost": pay["cost"],
        "paid": pile(pay["paid"]),
        "fall_chance": [np.float32(fall_chance(snapshot, player, jumping=False)) for player in turned],
        "jump_fall_chance": [np.float32(fall_chance(snapshot, player, jumping=True)) for player in turned],
    }


def assert_as_expected(rows: Decisions, games: MegalandGames) -> None:
    snapshots = {int(game): games.snapshot(int(game)) for game in set(rows.game.tolist())}
    slow = [expected(snapshots[int(game)], int(seat)) for game, seat in zip(rows.game, rows.seat, strict=True)]
    for name in TABLE:
        array: npt.NDArray[Any] = getattr(rows.view, name)
        np.testing.assert_array_equal(array, np.array([row[name] for row in slow]), err_msg=name)


def test_the_table_names_all_there_is() -> None:
    assert set(TABLE) == {name for name in vars(View) if not name.startswith("_")}
    assert set(TABLE) == set(expected(played(MegalandConfig(), 1, 0, 0).snapshot(0), 0))


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_shapes_and_types_are_those_of_the_table(players: int) -> None:
    games = played(MegalandConfig(num_players=players), 10, seed=1, steps=20)
    for rows in (games.decisions(), games.decisions()[:1], games.rows([], [])):
        sizes = {"M": len(rows), "P": players}
        for name, (shape, dtype) in TABLE.items():
            array = getattr(rows.view, name)
            wanted = tuple(sizes.get(size) or int(sizes.get(size, size)) for size in shape.strip(",").split(", "))
            assert array.shape == wanted, name
            assert array.dtype == np.dtype(dtype), name


@settings(max_examples=40, deadline=None)
@given(
    players=st.integers(2, 5),
    market=st.sampled_from(["spread", "random"])
    | st.lists(st.sampled_from(BUILDINGS[6:]), min_size=7, max_size=7, unique=True).map(tuple),
    skip_forced=st.booleans(),
    max_rounds=st.sampled_from([2, 50]),
    seed=st.integers(0, 2**63),
    steps=st.integers(0, 250),
)
def test_every_array_is_what_the_words_say(
    players: int, market: Any, skip_forced: bool, max_rounds: int, seed: int, steps: int
) -> None:
    config = MegalandConfig(num_players=players, market=market, skip_forced=skip_forced, max_rounds=max_rounds)
    games = played(config, 4, seed, steps)
    assert_as_expected(all_rows(games), games)


def test_rows_that_decide_in_every_kind_of_decision() -> None:
    """Play until every kind of decision, hearts and jumps have been met."""
    market = ("Herb Hut", "Reptile Stable", "Gym", "Ostrich Ranch", "Fish Vendor", "Root Market", "Soap Makers")
    games = MegalandGames(MegalandConfig(num_players=4, market=market), 40)
    games.reset(2)
    compared = dict.fromkeys(range(1, 9), 0)
    hearts = jumps = 0
    while games.active.any():
        decisions = games.decisions()
        for kind in np.flatnonzero(np.bincount(decisions.kind)):
            if compared[int(kind)] < 20:
                rows = decisions[np.flatnonzero(decisions.kind == kind)[:4]]
                assert_as_expected(rows, games)
                compared[int(kind)] += len(rows)
        for name, wanted in (("heart_treasure", 0), ("jumping", 1)):
            values = getattr(decisions.view, name).reshape(len(decisions), -1).max(axis=1)
            here = np.flatnonzero(values >= wanted)[:2]
            if here.size and (hearts if name == "heart_treasure" else jumps) < 6:
                assert_as_expected(decisions[here], games)
                hearts += name == "heart_treasure"
                jumps += name == "jumping"
        games.step(games.scatter(decisions, random_legal(decisions)))
    assert min(compared.values()) > 0
    assert hearts
    assert jumps


def test_a_view_is_of_its_moment() -> None:
    games = played(MegalandConfig(), 5, seed=4, steps=30)
    view = games.decisions().view
    coins = view.coins.copy()
    games.step(games.scatter(games.decisions(), random_legal(games.decisions())))
    np.testing.assert_array_equal(view.coins, coins)  # what has been read stays
    for name in TABLE.keys() - {"coins"}:
        with pytest.raises(RuntimeError, match="out of date"):
            getattr(view, name)


def test_an_array_is_made_once() -> None:
    view = played(MegalandConfig(), 5, seed=4, steps=30).decisions().view
    for name in TABLE:
        assert getattr(view, name) is getattr(view, name)
