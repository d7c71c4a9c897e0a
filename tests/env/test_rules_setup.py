"""Components and setup: rules C and S."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from tests.support.tables import (
    COSTS,
    FIRST_PLAYER,
    LEVEL_CARDS,
    MARKET,
    NORMALS,
    STARS,
    TREASURES,
    Snapshot,
    Table,
    buy,
    choose,
    event,
    log,
    meet,
    player,
    state,
    word,
)

SEEDS = [*range(12), 2**64 - 1]

# Building, cost, coins and jump tokens on purchase.
ON_PURCHASE = [
    ("Sandwich Stand", 1, 1, 0),
    ("Cafe", 2, 2, 0),
    ("Arcade", 3, 3, 0),
    ("Bazaar of Oddities", 4, 4, 0),
    ("Hotel", 5, 5, 0),
    ("Temple of Zoz", 6, 7, 0),
    ("Herb Hut", 1, 0, 0),
    ("Reptile Stable", 1, 0, 0),
    ("Gym", 2, 1, 2),
    ("Hospital", 2, 0, 0),
    ("Ostrich Ranch", 2, 0, 0),
    ("Bowling Alley", 3, 0, 0),
    ("Fish Vendor", 3, 2, 0),
    ("Smithy", 3, 0, 0),
    ("Fishing Pond", 3, 0, 0),
    ("Soap Makers", 3, 0, 0),
    ("Hall of Elders", 3, 0, 0),
    ("Toll Booth", 3, 0, 0),
    ("Laboratory", 3, 3, 0),
    ("Lodge", 4, 0, 0),
    ("Root Market", 4, 4, 0),
    ("Arena", 5, 6, 2),
    ("Endless Mine", 5, 0, 0),
]


def treasures_in_all(snapshot: Snapshot) -> Counter[str]:
    """The number of treasure cards in all places together."""
    cards: Counter[str] = Counter(snapshot["treasure_deck"]) + Counter(snapshot["discard"])
    for each in snapshot["players"]:
        cards += Counter(each["carried"]) + Counter(each["home"])
    return cards


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_players(table: type[Table], players: int) -> None:
    """C1: a game has two to five players, and all of them enter the level."""
    game = table.new({"num_players": players}, 3)
    assert len(game.snapshot()["players"]) == players
    assert game.decision == "run"
    assert game.active == list(range(players))


def test_left_is_the_next_seat(table: type[Table]) -> None:
    """C1, N1: the token passes from the last seat to seat 0."""
    game = table.restore(state([{}, {}, {"home": {"gear": 1}}], "buy", first_player=2))
    game.step({2: "PASS"})
    assert event("first_player", seat=0) in log(game)


def test_treasures(table: type[Table]) -> None:
    """C2: of the 96 treasures, all that were not drawn are in the deck."""
    snapshot = table.new({"num_players": 5}, 0).snapshot()
    assert treasures_in_all(snapshot) == TREASURES
    assert sum(TREASURES.values()) == 96
    assert snapshot["discard"] == {}


@pytest.mark.parametrize(
    ("card", "skulls"),
    [
        ("Clouds", 0),
        ("Spires", 0),
        ("Green Mesa", 0),
        ("Treasure Box", 0),
        ("Floating Eye", 1),
        ("Rabbit", 1),
        ("Sludge Creature", 1),
        ("Bats", 2),
        ("Biting Plant", 2),
        ("Red Serpent", 3),
    ],
)
def test_skulls(table: type[Table], card: str, skulls: int) -> None:
    """C3, L5: each skull costs every player in the level one heart."""
    game = meet(table, card, [{"hearts": 8}, {"hearts": 4}])
    assert [player(game, seat)["hearts"] for seat in (0, 1)] == [8 - skulls, 4 - skulls]


@pytest.mark.parametrize("card", LEVEL_CARDS)
def test_ten_level_cards(table: type[Table], card: str) -> None:
    """C3, L3: the deck has these ten cards; whichever nine are seen, the tenth is next."""
    nine = [other for other in LEVEL_CARDS if other != card]
    game = table.restore(state([{"hearts": 8, "jumps": 1}, {"in_level": False}], "jump", seen=nine))
    game.step({0: "PASS"})
    assert log(game, "reveal") == [event("reveal", card=card)]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_hearts_at_the_start(table: type[Table], players: int) -> None:
    """C4: each player begins with four of the 32 hearts."""
    snapshot = table.new({"num_players": players}, 1).snapshot()
    assert [each["max_hearts"] for each in snapshot["players"]] == [4] * players
    assert snapshot["supply"]["hearts"] == 32 - 4 * players


def test_jump_tokens_and_coins_at_the_start(table: type[Table]) -> None:
    """C5: a game begins with fourteen jump tokens in the supply; players have no tokens and no coins."""
    snapshot = table.new({}, 1).snapshot()
    assert snapshot["supply"]["jumps"] == 14
    assert [(each["jumps"], each["coins"]) for each in snapshot["players"]] == [(0, 0)] * 4


def test_coins_never_run_out(table: type[Table]) -> None:
    """C5: a box has 39 coins, but coins are unlimited."""
    game = table.restore(state([{"coins": 39, "home": {"gear": 1}}, {"coins": 39, "home": {"gear": 1}}], "buy"))
    game.step({0: "BUY_SANDWICH_STAND"})
    assert player(game, 0)["coins"] == 40


@pytest.mark.parametrize(("building", "cost", "coins", "jumps"), ON_PURCHASE)
def test_on_purchase(table: type[Table], building: str, cost: int, coins: int, jumps: int) -> None:
    """C6, B2: what a building costs, and what it gives at once."""
    # The second gear cannot be part of the payment; it keeps the turn going, since a Stand or a hut can be bought.
    home = dict.fromkeys(list(TREASURES)[:cost], 1) | {"gear": 2}
    game = table.restore(state([{"home": home}, {}], "buy", market=[building]))
    game.step({0: buy(building)})
    buyer = player(game, 0)
    assert (buyer["coins"], buyer["jumps"]) == (coins, jumps)
    assert buyer["home"] == {"gear": 1}
    assert buyer["buildings"] == {building: 1}
    assert buyer["bought"] == [building]
    assert game.snapshot()["supply"]["jumps"] == 14 - jumps


@pytest.mark.parametrize(("building", "cost"), [(name, cost) for name, cost, _, _ in ON_PURCHASE if cost > 1])
def test_one_type_too_few(table: type[Table], building: str, cost: int) -> None:
    """C6, B2: one type too few does not pay for a building, even with many cards."""
    home = dict.fromkeys(list(TREASURES)[: cost - 1], 4)
    game = table.restore(state([{"home": home}, {}], "buy", market=[building]))
    assert buy(building) not in game.legal(0)


def test_copies(table: type[Table]) -> None:
    """C6, C7: 28 star cards, split 5, 5, 5, 5, 4, 4; four copies of each normal type on offer."""
    supply = table.new({}, 7).snapshot()["supply"]["buildings"]
    assert [supply[name] for name in STARS] == [5, 5, 5, 5, 4, 4]
    normals = {name: left for name, left in supply.items() if name not in STARS}
    assert list(normals.values()) == [4] * 7
    assert set(normals) <= set(NORMALS)


def test_star_copies_can_be_set(table: type[Table]) -> None:
    """C7: the configuration can set other numbers of copies of the star buildings."""
    supply = table.new({"star_copies": [6, 6, 4, 4, 4, 4]}, 7).snapshot()["supply"]["buildings"]
    assert [supply[name] for name in STARS] == [6, 6, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("building", "coins"), [("Bowling Alley", 2), ("Lodge", 4), ("Endless Mine", 6), ("Hospital", 4)]
)
def test_copies_add_up(table: type[Table], building: str, coins: int) -> None:
    """C8, N3, L7: two copies pay twice."""
    owner = {"buildings": {building: 2}, "home": {"gear": 1}}
    if building == "Hospital":
        game = meet(table, "Bats", [owner, {"hearts": 1}, {}])
    else:
        game = table.restore(state([owner | {"jumps": 1}, {}], "buy"))
        game.step({0: "PASS"})
    assert player(game, 0)["coins"] == coins


def test_two_fish_vendors_let_two_fish_be_wild(table: type[Table]) -> None:
    """C8, B3: three fish pay for an Arcade: one as a fish and two as wild treasures."""
    for vendors, allowed in ((1, False), (2, True)):
        buyer = {"home": {"fish": 3}, "buildings": {"Fish Vendor": vendors}}
        game = table.restore(state([buyer, {}], "buy"))
        assert ("BUY_ARCADE" in game.legal(0)) == allowed


# S1


def allowed_markets(market: str) -> list[tuple[str, ...]]:
    """All sets that the configuration allows, in lexicographic order."""
    sets = combinations(NORMALS, 7)
    return [names for names in sets if market == "random" or {COSTS[name] for name in names} == {1, 2, 3, 4, 5}]


@pytest.mark.parametrize(("market", "sets"), [("spread", 3520), ("random", 19448)])
def test_market_is_drawn(table: type[Table], market: str, sets: int) -> None:
    """S1: a uniform choice among the sets with every cost from 1 to 5, or among all."""
    allowed = allowed_markets(market)
    assert len(allowed) == sets
    for seed in SEEDS:
        game = table.new({"market": market}, seed)
        expected = allowed[choose(word(seed, MARKET), sets)]
        assert log(game, "market") == [event("market", building=name) for name in expected]
        assert list(game.snapshot()["supply"]["buildings"]) == [*STARS, *expected]


def test_spread_is_the_default(table: type[Table]) -> None:
    """S1: by default the market has a building of every cost."""
    assert table.new({}, 4).snapshot()["config"]["market"] == "spread"


def test_named_market(table: type[Table]) -> None:
    """S1: a configuration may name its seven types."""
    names = ["Herb Hut", "Reptile Stable", "Gym", "Hospital", "Ostrich Ranch", "Lodge", "Root Market"]
    game = table.new({"market": names}, 4)
    assert list(game.snapshot()["supply"]["buildings"]) == [*STARS, *names]


# S2


@pytest.mark.parametrize("players", [2, 3, 5])
def test_first_player_is_drawn(table: type[Table], players: int) -> None:
    """S2: a uniform choice among the seats."""
    for seed in SEEDS:
        game = table.new({"num_players": players}, seed)
        expected = choose(word(seed, FIRST_PLAYER), players)
        assert game.snapshot()["first_player"] == expected
        assert log(game, "first_player") == [event("first_player", seat=expected)]


@pytest.mark.parametrize("seat", [0, 1, 2, 3])
def test_first_player_is_set(table: type[Table], seat: int) -> None:
    """S2: the configuration may set the first player, for any seed."""
    assert {table.new({"first_player": seat}, seed).snapshot()["first_player"] for seed in range(6)} == {seat}


# The hand-made states themselves


@pytest.mark.parametrize("decision", ["jump", "run", "buy"])
def test_a_state_by_hand_is_taken_as_it_is(table: type[Table], decision: str) -> None:
    """A restored snapshot is unchanged, and the seats that it names are asked for its decision."""
    snapshot = state(
        [
            {"coins": 3, "jumps": 2, "hearts": 5, "home": {"egg": 2, "gear": 1}, "buildings": {"Lodge": 1, "Cafe": 2}},
            {"coins": 1, "home": {"fish": 1}, "wild_used": {"fish": 1}, "buildings": {"Fish Vendor": 1}},
            {"jumps": 1, "in_level": False},
        ],
        decision,
        deck={"carrot": 7},
        seen=["Bats", "Clouds"],
        round_number=4,
    )
    game = table.restore(snapshot)
    assert game.snapshot() == snapshot
    assert game.decision == decision
    assert game.active == snapshot["active"]
    assert not game.terminated
    assert not game.truncated
    assert game.events == []


def test_steps_and_decisions_are_counted(table: type[Table]) -> None:
    """``steps`` counts moments with a question, ``decisions`` those at which the seat was asked."""
    hut = {"hearts": 1, "carried": {"egg": 1, "fish": 2}, "buildings": {"Herb Hut": 2}, "home": {"gear": 1}}
    game = meet(table, "Bats", [hut, {"jumps": 0}])
    assert (game.snapshot()["steps"], game.snapshot()["decisions"]) == (1, [1, 0])
    game.step({0: "TREASURE_EGG"})
    # The second hut keeps a fish unasked; seat 1 is asked whether to stay.
    assert (game.snapshot()["steps"], game.snapshot()["decisions"]) == (2, [2, 0])
    game.step({1: "LEAVE"})
    assert (game.snapshot()["steps"], game.snapshot()["decisions"]) == (3, [2, 1])
    assert game.decision == "buy"


@pytest.mark.parametrize("actions", [{0: "STAY", 2: "TRADE"}, {0: "STAY", 2: "PASS"}, {0: "BUY_CAFE", 2: "LEAVE"}])
def test_an_illegal_action_changes_nothing(table: type[Table], actions: dict[int, str]) -> None:
    """L9: an action other than STAY or LEAVE is refused, and the legal actions of others are not carried out either."""
    snapshot = state([{}, {"in_level": False}, {}], "run")
    game = table.restore(snapshot)
    with pytest.raises(ValueError, match="STAY"):
        game.step(actions)
    assert game.snapshot() == snapshot
    assert game.events == []


def test_a_seat_that_is_not_asked_can_only_pass(table: type[Table]) -> None:
    """L9: a player at home is not asked."""
    game = table.restore(state([{}, {"in_level": False}, {}], "run"))
    assert game.legal(0) == ["STAY", "LEAVE"]
    assert game.legal(1) == ["PASS"]
