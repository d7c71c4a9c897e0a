"""Phase 2, buying: rules B."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tables import Player, Table, buy, coins, coins_from, event, log, pass_all, pick, player, state

# The next buyer, who keeps the phase from ending with the buyer's turn.
NEXT: Player = {"home": {"stone": 1}}


def shop(
    table: type[Table],
    home: dict[str, int],
    buildings: dict[str, int] | None = None,
    *,
    others: tuple[Player, ...] = (NEXT,),
    market: tuple[str, ...] = (),
    buyer: Player | None = None,
    **changes: Any,
) -> Table:
    """A table at which seat 0 is the buyer and owns these treasures and buildings."""
    seat = {"home": home, "buildings": buildings or {}} | dict(buyer or {})
    return table.restore(state([seat, *others], "buy", market=market, **changes))


def wild_used(game: Table) -> tuple[int, int]:
    """The numbers of fish and carrots that seat 0 has used as wild treasures this round."""
    used = player(game, 0)["wild_used"]
    return used["fish"], used["carrot"]


# B1: turns


@pytest.mark.parametrize(("first_player", "order"), [(0, [0, 1, 2]), (1, [1, 2, 0]), (2, [2, 0, 1])])
def test_turns_go_round_from_the_first_player(table: type[Table], first_player: int, order: list[int]) -> None:
    """B1: each player takes one turn, clockwise from the first player."""
    game = table.restore(state([{"home": {"gear": 1}}] * 3, "buy", first_player=first_player))
    asked = []
    while game.decision == "buy":
        asked += game.active
        assert game.snapshot()["buyer"] == game.active[0]
        game.step({game.active[0]: "PASS"})
    assert asked == order
    assert log(game, "pass") == [event("pass", seat=seat) for seat in order]


def test_any_number_of_purchases_in_any_order(table: type[Table]) -> None:
    """B1: a building, a heart, another building, all in one turn."""
    game = shop(table, {"gear": 1, "stone": 2, "egg": 2, "fish": 2})
    game.step({0: "BUY_SANDWICH_STAND"})
    game.step({0: "TREASURE_GEAR"})
    game.step({0: "HEART_EGG"})
    game.step({0: "BUY_CAFE"})
    game.step({0: "BUY_HERB_HUT"})
    game.step({0: "TREASURE_STONE"})
    buyer = player(game, 0)
    assert buyer["buildings"] == {"Sandwich Stand": 1, "Cafe": 1, "Herb Hut": 1}
    assert buyer["max_hearts"] == 5
    assert buyer["home"] == {"fish": 1}
    assert buyer["coins"] == 3
    # Nothing that one fish buys is left to this turn but the Stable.
    assert buyer["bought"] == ["Sandwich Stand", "Cafe", "Herb Hut"]
    assert game.legal(0) == ["PASS", "BUY_REPTILE_STABLE"]


def test_one_building_of_each_type_per_turn(table: type[Table]) -> None:
    """B1: a second Sandwich Stand can be bought only in a later turn."""
    game = shop(table, {"gear": 3})
    game.step({0: "BUY_SANDWICH_STAND"})
    assert "BUY_SANDWICH_STAND" not in game.legal(0)
    assert "BUY_HERB_HUT" in game.legal(0)
    game.step({0: "PASS"})
    # The next buyer is free to buy one.
    assert game.active == [1]
    assert "BUY_SANDWICH_STAND" in game.legal(1)
    assert player(game, 0)["bought"] == []
    # And so is the same player in a later turn.
    assert "BUY_SANDWICH_STAND" in shop(table, {"gear": 3}, {"Sandwich Stand": 1}).legal(0)


def test_many_hearts_per_turn(table: type[Table]) -> None:
    """B1, C4: the number of hearts is not limited: the fifth costs two eggs, the sixth three more."""
    game = shop(table, {"egg": 5, "gear": 1})
    game.step({0: "HEART_EGG"})
    assert player(game, 0)["home"] == {"gear": 1, "egg": 3}
    game.step({0: "HEART_EGG"})
    assert player(game, 0)["max_hearts"] == 6
    assert player(game, 0)["home"] == {"gear": 1}
    assert player(game, 0)["bought"] == []


def test_passing_ends_the_turn(table: type[Table]) -> None:
    """B1: a buyer may pass with treasures left."""
    game = shop(table, {"gear": 3, "egg": 3})
    game.step({0: "PASS"})
    assert game.active == [1]
    assert player(game, 0)["home"] == {"gear": 3, "egg": 3}


def test_a_buyer_who_can_only_pass(table: type[Table]) -> None:
    """B1: a buyer who can only pass is asked only if forced choices are asked."""
    others: tuple[Player, ...] = ({}, {"home": {"gear": 1}})
    game = shop(table, {"gear": 1}, others=others)
    game.step({0: "PASS"})
    assert game.active == [2]
    assert log(game, "pass") == [event("pass", seat=0), event("pass", seat=1)]
    game = shop(table, {"gear": 1}, others=others, skip_forced=False)
    game.step({0: "PASS"})
    assert game.decision == "buy"
    assert game.active == [1]
    assert game.legal(1) == ["PASS"]


# B2: paying for a building


def test_what_can_be_bought(table: type[Table]) -> None:
    """B2, B4: three types, two of one of them, buy any building of cost three or less, or a heart for the pair."""
    market = ("Herb Hut", "Gym", "Bowling Alley", "Fish Vendor", "Smithy", "Lodge", "Arena")
    game = shop(table, {"gear": 1, "stone": 1, "egg": 2}, market=market)
    names = ["Sandwich Stand", "Cafe", "Arcade", "Herb Hut", "Gym", "Bowling Alley", "Fish Vendor", "Smithy"]
    assert game.legal(0) == ["PASS", *map(buy, names), "HEART_EGG"]


def test_what_is_not_on_offer(table: type[Table]) -> None:
    """B2, S1: only the seven normal types of this game and the star buildings can be bought."""
    market = ("Herb Hut", "Reptile Stable", "Gym", "Hospital", "Ostrich Ranch", "Smithy", "Lodge")
    game = shop(table, dict.fromkeys(("gear", "stone", "egg", "carrot", "crystal", "fish"), 1), market=market)
    stars = ["Sandwich Stand", "Cafe", "Arcade", "Bazaar of Oddities", "Hotel", "Temple of Zoz"]
    assert game.legal(0) == ["PASS", *map(buy, [*stars, *market])]


def test_the_player_chooses_the_types(table: type[Table]) -> None:
    """B2: the player pays card by card, each of another type; afterwards the cards are in the discard pile."""
    game = shop(table, {"gear": 2, "egg": 1, "fish": 1}, discard={})
    game.step({0: "BUY_CAFE"})
    assert game.decision == "pay"
    assert game.active == [0]
    assert game.legal(0) == pick("gear", "egg", "fish")
    game.step({0: "TREASURE_GEAR"})
    assert game.legal(0) == pick("egg", "fish")
    # A paid card has left the hand, but not yet the table.
    snapshot = game.snapshot()
    assert snapshot["pay"] == {"buying": "Cafe", "treasure": None, "cost": 2, "paid": {"gear": 1}}
    assert snapshot["players"][0]["home"] == {"gear": 1, "egg": 1, "fish": 1}
    assert snapshot["discard"] == {}
    game.step({0: "TREASURE_FISH"})
    snapshot = game.snapshot()
    assert snapshot["pay"] is None
    assert snapshot["players"][0]["home"] == {"gear": 1, "egg": 1}
    assert snapshot["discard"] == {"gear": 1, "fish": 1}
    assert game.decision == "buy"


def test_two_of_a_type_are_one_type(table: type[Table]) -> None:
    """B2: a pair of eggs does not pay for a Cafe."""
    assert "BUY_CAFE" not in shop(table, {"egg": 2}).legal(0)


def test_a_payment_with_one_way_is_not_asked(table: type[Table]) -> None:
    """B2: a payment with one way is not asked, unless forced choices are; then it is asked card by card."""
    game = shop(table, {"gear": 2, "egg": 1})
    game.step({0: "BUY_CAFE"})
    assert game.decision == "buy"
    assert log(game) == [
        event("pay", seat=0, treasure="gear"),
        event("pay", seat=0, treasure="egg"),
        event("buy", seat=0, building="Cafe"),
        coins_from("Cafe", 0, 2),
    ]
    game = shop(table, {"gear": 2, "egg": 1}, skip_forced=False)
    game.step({0: "BUY_CAFE"})
    assert game.legal(0) == pick("gear", "egg")
    game.step({0: "TREASURE_EGG"})
    assert game.legal(0) == pick("gear")
    game.step({0: "TREASURE_GEAR"})
    assert game.decision == "buy"
    assert player(game, 0)["buildings"] == {"Cafe": 1}


def test_the_rest_of_a_payment_with_one_way_left(table: type[Table]) -> None:
    """B2: with three of four types to pay, nothing more is asked after the card that leaves no choice."""
    game = shop(table, {"gear": 1, "egg": 1, "carrot": 1, "fish": 1})
    game.step({0: "BUY_ARCADE"})
    game.step({0: "TREASURE_FISH"})
    assert game.legal(0) == pick("gear", "egg", "carrot")
    game.step({0: "TREASURE_CARROT"})
    assert game.legal(0) == pick("gear", "egg")
    game.step({0: "TREASURE_EGG"})
    assert player(game, 0)["home"] == {"gear": 1}
    assert game.decision == "buy"


def test_a_heart_is_paid_without_a_question(table: type[Table]) -> None:
    """B4: without wild treasures there is one way to pay, so nothing is asked unless forced choices are."""
    game = shop(table, {"egg": 3})
    game.step({0: "HEART_EGG"})
    assert game.decision == "buy"
    game = shop(table, {"egg": 3}, skip_forced=False)
    game.step({0: "HEART_EGG"})
    assert game.decision == "pay"
    assert game.legal(0) == pick("egg")
    assert game.snapshot()["pay"] == {"buying": "heart", "treasure": "egg", "cost": 2, "paid": {}}


@pytest.mark.parametrize("skip_forced", [True, False])
def test_automatic_payment(table: type[Table], skip_forced: bool) -> None:
    """B2: ``payment="auto"`` pays the type held most; of equals, the one with the most cards in the game."""
    # Three stones go first; then two eggs (16 in the deck) against two carrots (30).
    hand = {"gear": 1, "stone": 3, "egg": 2, "carrot": 2}
    game = shop(table, hand, payment="auto", skip_forced=skip_forced)
    game.step({0: "BUY_CAFE"})
    assert log(game, "pay") == [event("pay", seat=0, treasure="stone"), event("pay", seat=0, treasure="carrot")]
    assert game.decision == "buy"


def test_automatic_payment_counts_anew_for_each_card(table: type[Table]) -> None:
    """B2, B3: with the Ranch, four eggs and a gear: both cards of a Cafe are eggs, the second a wild one."""
    game = shop(table, {"egg": 4, "gear": 1}, {"Ostrich Ranch": 1}, payment="auto")
    game.step({0: "BUY_CAFE"})
    assert player(game, 0)["home"] == {"gear": 1, "egg": 2}
    # Two and two: of eggs and stones, both held twice, stones are the more common (20 to 16).
    game = shop(table, {"egg": 3, "stone": 2}, {"Ostrich Ranch": 1}, payment="auto")
    game.step({0: "BUY_CAFE"})
    assert log(game, "pay") == [event("pay", seat=0, treasure="egg"), event("pay", seat=0, treasure="stone")]


def test_automatic_payment_of_a_heart(table: type[Table]) -> None:
    """B4, B3: of two eggs and two fish, with a Vendor, first an egg (16 in the game, fish 14), then a fish."""
    game = shop(table, {"egg": 2, "fish": 2}, {"Fish Vendor": 1}, payment="auto")
    game.step({0: "HEART_EGG"})
    assert log(game, "pay") == [event("pay", seat=0, treasure="egg"), event("pay", seat=0, treasure="fish")]
    assert wild_used(game) == (1, 0)


# B3: wild treasures


@pytest.mark.parametrize(
    ("building", "cost"),
    [("Cafe", 2), ("Arcade", 3), ("Bazaar of Oddities", 4), ("Hotel", 5), ("Temple of Zoz", 6), ("Gym", 2)],
)
def test_ostrich_ranch(table: type[Table], building: str, cost: int) -> None:
    """B3, C6: any number of eggs may be wild, so eggs alone buy any building that costs as many treasures."""
    assert buy(building) not in shop(table, {"egg": cost}).legal(0)
    assert buy(building) not in shop(table, {"egg": cost - 1}, {"Ostrich Ranch": 1}).legal(0)
    game = shop(table, {"egg": cost + 1}, {"Ostrich Ranch": 1})
    game.step({0: buy(building)})
    assert player(game, 0)["home"] == {"egg": 1}
    assert player(game, 0)["buildings"] == {"Ostrich Ranch": 1, building: 1}


def test_a_temple_paid_with_wild_eggs(table: type[Table]) -> None:
    """B3: a gear, a stone and an egg, and three more eggs for the missing types."""
    game = shop(table, {"gear": 1, "stone": 1, "egg": 5}, {"Ostrich Ranch": 1})
    game.step({0: "BUY_TEMPLE_OF_ZOZ"})
    assert game.legal(0) == pick("gear", "stone", "egg")
    game.step({0: "TREASURE_GEAR"})
    game.step({0: "TREASURE_STONE"})
    assert player(game, 0)["home"] == {"egg": 1}
    assert player(game, 0)["coins"] == 7


def test_wild_or_not_is_the_buyers_choice(table: type[Table]) -> None:
    """B3, B2: an Arcade for two eggs and a gear, or for three eggs; there is no other way."""
    game = shop(table, {"gear": 2, "egg": 3}, {"Ostrich Ranch": 1})
    game.step({0: "BUY_ARCADE"})
    assert game.legal(0) == pick("gear", "egg")
    game.step({0: "TREASURE_EGG"})
    assert game.legal(0) == pick("gear", "egg")
    game.step({0: "TREASURE_EGG"})
    assert game.legal(0) == pick("gear", "egg")
    game.step({0: "TREASURE_EGG"})
    assert player(game, 0)["home"] == {"gear": 2}
    # The second gear is not wild: after one gear the rest must be eggs, and is not asked.
    game = shop(table, {"gear": 2, "egg": 3}, {"Ostrich Ranch": 1})
    game.step({0: "BUY_ARCADE"})
    game.step({0: "TREASURE_GEAR"})
    assert game.decision == "buy"
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}


def test_fish_vendor(table: type[Table]) -> None:
    """B3, C6: two fish pay for a Cafe, but only once per round: two more fish do not buy a Gym."""
    assert "BUY_CAFE" not in shop(table, {"fish": 5}).legal(0)
    game = shop(table, {"fish": 5}, {"Fish Vendor": 1})
    assert "BUY_ARCADE" not in game.legal(0)
    game.step({0: "BUY_CAFE"})
    assert player(game, 0)["home"] == {"fish": 3}
    assert wild_used(game) == (1, 0)
    assert "BUY_GYM" not in game.legal(0)
    assert "BUY_SANDWICH_STAND" in game.legal(0)


def test_root_market(table: type[Table]) -> None:
    """B3, C6: the same for carrots."""
    assert "BUY_CAFE" not in shop(table, {"carrot": 5}).legal(0)
    game = shop(table, {"carrot": 5}, {"Root Market": 1})
    assert "BUY_ARCADE" not in game.legal(0)
    game.step({0: "BUY_CAFE"})
    assert player(game, 0)["home"] == {"carrot": 3}
    assert wild_used(game) == (0, 1)
    assert "BUY_GYM" not in game.legal(0)


def test_other_treasures_are_never_wild(table: type[Table]) -> None:
    """B3: no building makes gears, stones or crystals wild, and each right is for its own treasure only."""
    everything = {"Fish Vendor": 1, "Root Market": 1, "Ostrich Ranch": 1}
    for treasure in ("gear", "stone", "crystal"):
        assert "BUY_CAFE" not in shop(table, {treasure: 4}, everything).legal(0)
    assert "BUY_CAFE" not in shop(table, {"fish": 4}, {"Root Market": 1, "Ostrich Ranch": 1}).legal(0)
    assert "BUY_CAFE" not in shop(table, {"carrot": 4}, {"Fish Vendor": 1, "Ostrich Ranch": 1}).legal(0)
    assert "BUY_CAFE" not in shop(table, {"egg": 4}, {"Fish Vendor": 1, "Root Market": 1}).legal(0)


def test_a_fish_paid_as_itself_uses_no_right(table: type[Table]) -> None:
    """B3: an egg and a fish are two types, so the right is left for the next purchase."""
    game = shop(table, {"egg": 1, "fish": 1}, {"Fish Vendor": 1}, others=(NEXT,))
    game.step({0: "BUY_CAFE"})
    assert wild_used(game) == (0, 0)
    game = shop(table, {"carrot": 1, "fish": 1}, {"Fish Vendor": 1, "Root Market": 1})
    game.step({0: "BUY_CAFE"})
    assert wild_used(game) == (0, 0)


def test_the_second_fish_is_the_wild_one(table: type[Table]) -> None:
    """B3: of two fish in a payment one is a fish and one is wild; the buyer may choose to use the right."""
    game = shop(table, {"gear": 1, "egg": 1, "fish": 2}, {"Fish Vendor": 1})
    game.step({0: "BUY_CAFE"})
    game.step({0: "TREASURE_FISH"})
    assert game.legal(0) == pick("gear", "egg", "fish")
    assert wild_used(game) == (0, 0)
    game.step({0: "TREASURE_FISH"})
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}
    assert wild_used(game) == (1, 0)


def test_a_right_serves_once_in_a_payment(table: type[Table]) -> None:
    """B3: with one Vendor a payment contains at most one fish as itself and one wild fish."""
    game = shop(table, {"gear": 1, "egg": 1, "fish": 3}, {"Fish Vendor": 1})
    game.step({0: "BUY_ARCADE"})
    game.step({0: "TREASURE_FISH"})
    assert game.legal(0) == pick("gear", "egg", "fish")
    game.step({0: "TREASURE_FISH"})
    assert game.legal(0) == pick("gear", "egg")


def test_a_right_used_up(table: type[Table]) -> None:
    """B3, B4: after that, fish are no longer wild, neither for buildings nor for hearts."""
    game = shop(table, {"egg": 1, "fish": 2}, {"Fish Vendor": 1}, buyer={"wild_used": {"fish": 1}})
    assert "BUY_CAFE" in game.legal(0)
    assert "BUY_ARCADE" not in game.legal(0)
    assert [name for name in game.legal(0) if name.startswith("HEART")] == ["HEART_FISH"]
    game.step({0: "BUY_CAFE"})
    assert player(game, 0)["home"] == {"fish": 1}
    assert wild_used(game) == (1, 0)


def test_two_vendors(table: type[Table]) -> None:
    """B3, C8: two wild fish a round, in one purchase or in two."""
    game = shop(table, {"fish": 4}, {"Fish Vendor": 2})
    assert "BUY_BAZAAR_OF_ODDITIES" not in game.legal(0)
    game.step({0: "BUY_ARCADE"})
    assert wild_used(game) == (2, 0)
    game = shop(table, {"fish": 5}, {"Fish Vendor": 2})
    game.step({0: "BUY_CAFE"})
    assert wild_used(game) == (1, 0)
    assert "BUY_ARCADE" not in game.legal(0)
    game.step({0: "BUY_GYM"})
    assert wild_used(game) == (2, 0)
    assert player(game, 0)["home"] == {"fish": 1}


def test_two_root_markets(table: type[Table]) -> None:
    """B3, C8: two wild carrots a round."""
    game = shop(table, {"carrot": 5}, {"Root Market": 2})
    assert "BUY_BAZAAR_OF_ODDITIES" not in game.legal(0)
    game.step({0: "BUY_ARCADE"})
    assert wild_used(game) == (0, 2)
    assert "BUY_CAFE" not in game.legal(0)


def test_three_kinds_of_wild_treasures_in_one_payment(table: type[Table]) -> None:
    """B3: a Temple for two fish, two carrots and two eggs, one of each wild."""
    hand = {"egg": 2, "carrot": 2, "fish": 2}
    rights = {"Fish Vendor": 1, "Root Market": 1, "Ostrich Ranch": 1}
    for missing in rights:
        fewer = {name: 1 for name in rights if name != missing}
        assert "BUY_TEMPLE_OF_ZOZ" not in shop(table, hand, fewer).legal(0)
    game = shop(table, hand, rights)
    game.step({0: "BUY_TEMPLE_OF_ZOZ"})
    assert player(game, 0)["home"] == {}
    assert wild_used(game) == (1, 1)


def test_a_vendor_bought_this_turn(table: type[Table]) -> None:
    """B3: its right serves the next purchase: the two fish left pay for a Cafe."""
    game = shop(table, {"gear": 1, "stone": 1, "egg": 1, "fish": 3}, market=("Fish Vendor",))
    game.step({0: "BUY_FISH_VENDOR"})
    for action in pick("gear", "stone", "egg"):
        game.step({0: action})
    assert player(game, 0)["home"] == {"fish": 3}
    game.step({0: "BUY_CAFE"})
    assert player(game, 0)["home"] == {"fish": 1}
    assert wild_used(game) == (1, 0)


def test_a_second_vendor_bought_after_the_first_was_used(table: type[Table]) -> None:
    """B3, C8: it brings one more wild fish."""
    hand = {"gear": 1, "stone": 1, "egg": 1, "fish": 3}
    game = shop(table, hand, {"Fish Vendor": 1}, buyer={"wild_used": {"fish": 1}})
    game.step({0: "BUY_FISH_VENDOR"})
    for action in pick("gear", "stone", "egg"):
        game.step({0: action})
    game.step({0: "BUY_CAFE"})
    assert wild_used(game) == (2, 0)


@pytest.mark.parametrize(
    ("building", "hand"),
    [
        ("Fish Vendor", {"gear": 1, "fish": 2}),
        ("Root Market", {"gear": 1, "stone": 1, "carrot": 2}),
        ("Ostrich Ranch", {"egg": 2}),
    ],
)
def test_no_right_helps_to_pay_for_itself(table: type[Table], building: str, hand: dict[str, int]) -> None:
    """B3: a building does not help to pay for itself, even if its right would make the payment possible."""
    assert buy(building) not in shop(table, hand, market=(building,)).legal(0)
    assert buy(building) in shop(table, hand, {building: 1}).legal(0)


# B4: hearts


@pytest.mark.parametrize(("heart", "cost"), [(5, 2), (6, 3), (7, 4), (8, 5)])
@pytest.mark.parametrize("treasure", ["gear", "stone", "egg", "carrot", "crystal", "fish"])
def test_heart_costs(table: type[Table], heart: int, cost: int, treasure: str) -> None:
    """B4, C4: the fifth to the eighth heart cost two to five treasures of one type."""
    other = "fish" if treasure == "gear" else "gear"
    action = f"HEART_{treasure.upper()}"
    buyer = {"max_hearts": heart - 1}
    assert action not in shop(table, {treasure: cost - 1, other: 1}, buyer=buyer).legal(0)
    game = shop(table, {treasure: cost, other: 1}, buyer=buyer)
    game.step({0: action})
    assert player(game, 0)["max_hearts"] == heart
    assert player(game, 0)["home"] == {other: 1}
    assert log(game, "heart") == [event("heart", seat=0, treasure=treasure, value=cost)]
    assert game.snapshot()["supply"]["hearts"] == 32 - heart - 4


def test_a_bought_heart_is_for_the_next_level(table: type[Table]) -> None:
    """B4, N4: a heart raises only the maximum; at night it is restored together with the hearts lost in the level."""
    hurt = {"hearts": 1, "max_hearts": 4, "jumps": 1}
    game = shop(table, {"egg": 2, "gear": 1}, buyer=hurt)
    game.step({0: "HEART_EGG"})
    assert (player(game, 0)["hearts"], player(game, 0)["max_hearts"]) == (1, 5)
    pass_all(game)
    assert game.snapshot()["phase"] == "level"
    assert player(game, 0)["hearts"] == 5


def test_the_player_names_the_type(table: type[Table]) -> None:
    """B4: a player with two pairs chooses which one pays."""
    game = shop(table, {"egg": 2, "fish": 2})
    assert [name for name in game.legal(0) if name.startswith("HEART")] == ["HEART_EGG", "HEART_FISH"]
    game.step({0: "HEART_FISH"})
    assert player(game, 0)["home"] == {"egg": 2}


def test_a_heart_paid_with_a_wild_fish(table: type[Table]) -> None:
    """B4, B3: an egg and a wild fish pay for a heart."""
    assert "HEART_EGG" not in shop(table, {"egg": 1, "fish": 1}).legal(0)
    game = shop(table, {"egg": 1, "fish": 1}, {"Fish Vendor": 1})
    assert "HEART_FISH" not in game.legal(0)
    game.step({0: "HEART_EGG"})
    assert player(game, 0)["max_hearts"] == 5
    assert player(game, 0)["home"] == {}
    assert wild_used(game) == (1, 0)


def test_a_heart_paid_with_a_wild_carrot(table: type[Table]) -> None:
    """B4, B3: with a Root Market, a fish and a wild carrot pay for a heart."""
    game = shop(table, {"carrot": 1, "fish": 1}, {"Root Market": 1})
    assert "HEART_CARROT" not in game.legal(0)
    game.step({0: "HEART_FISH"})
    assert player(game, 0)["max_hearts"] == 5
    assert wild_used(game) == (0, 1)


def test_no_heart_paid_with_a_wild_egg(table: type[Table]) -> None:
    """B4, B3: an Ostrich Ranch makes eggs wild for buildings only."""
    game = shop(table, {"gear": 1, "egg": 3}, {"Ostrich Ranch": 1}, buyer={"max_hearts": 6})
    assert not [name for name in game.legal(0) if name.startswith("HEART")]
    # A pair of eggs buys a heart as eggs.
    assert "HEART_EGG" in shop(table, {"egg": 2}, {"Ostrich Ranch": 1}).legal(0)


def test_at_least_one_real_treasure(table: type[Table]) -> None:
    """B4: two wild fish alone do not count as eggs; they are a pair of fish, and use no right."""
    game = shop(table, {"gear": 1, "fish": 2}, {"Fish Vendor": 2})
    assert [name for name in game.legal(0) if name.startswith("HEART")] == ["HEART_GEAR", "HEART_FISH"]
    game.step({0: "HEART_FISH"})
    assert wild_used(game) == (0, 0)
    assert player(game, 0)["home"] == {"gear": 1}


def test_two_wild_fish_and_an_egg(table: type[Table]) -> None:
    """B4, B3, C8: with two Vendors, an egg and two wild fish pay for the sixth heart."""
    hand = {"egg": 1, "fish": 2}
    assert "HEART_EGG" not in shop(table, hand, {"Fish Vendor": 1}, buyer={"max_hearts": 5}).legal(0)
    game = shop(table, hand, {"Fish Vendor": 2}, buyer={"max_hearts": 5})
    game.step({0: "HEART_EGG"})
    assert player(game, 0)["max_hearts"] == 6
    assert wild_used(game) == (2, 0)


def test_a_fish_and_a_carrot_beside_an_egg(table: type[Table]) -> None:
    """B4, B3: one payment may use the rights of a Vendor and of a Root Market."""
    game = shop(
        table,
        {"egg": 1, "carrot": 1, "fish": 1},
        {"Fish Vendor": 1, "Root Market": 1},
        buyer={"max_hearts": 5},
    )
    # A fish and a wild carrot, or a carrot and a wild fish, would be one too few.
    assert [name for name in game.legal(0) if name.startswith("HEART")] == ["HEART_EGG"]
    game.step({0: "HEART_EGG"})
    assert wild_used(game) == (1, 1)


def test_the_buyer_chooses_whether_to_use_the_right(table: type[Table]) -> None:
    """B4, B3: the buyer pays two eggs, or an egg and a wild fish."""
    game = shop(table, {"egg": 2, "fish": 2}, {"Fish Vendor": 1})
    game.step({0: "HEART_EGG"})
    assert game.decision == "pay"
    assert game.legal(0) == pick("egg", "fish")
    game.step({0: "TREASURE_FISH"})
    # The second card must be an egg: one real treasure, and one right.
    assert game.decision == "buy"
    assert player(game, 0)["home"] == {"egg": 1, "fish": 1}
    assert wild_used(game) == (1, 0)
    game = shop(table, {"egg": 2, "fish": 2}, {"Fish Vendor": 1})
    game.step({0: "HEART_EGG"})
    game.step({0: "TREASURE_EGG"})
    assert game.legal(0) == pick("egg", "fish")
    game.step({0: "TREASURE_EGG"})
    assert wild_used(game) == (0, 0)


def test_the_real_treasure_may_come_last(table: type[Table]) -> None:
    """B4, B3: the first of two cards may be a wild fish, but then the second must be real, even with a second right."""
    game = shop(table, {"egg": 2, "fish": 3}, {"Fish Vendor": 2}, skip_forced=False)
    game.step({0: "HEART_EGG"})
    assert game.legal(0) == pick("egg", "fish")
    game.step({0: "TREASURE_FISH"})
    assert game.legal(0) == pick("egg")
    game.step({0: "TREASURE_EGG"})
    assert player(game, 0)["max_hearts"] == 5
    assert player(game, 0)["home"] == {"egg": 1, "fish": 2}
    assert wild_used(game) == (1, 0)


# B5: supplies


def test_a_type_sold_out(table: type[Table]) -> None:
    """B5: when all four huts and all five Stands are owned, they stay on offer with 0 copies left."""
    owners = ({"buildings": {"Herb Hut": 4}, "home": {"gear": 1}}, {"buildings": {"Sandwich Stand": 5}})
    game = shop(table, {"gear": 1, "egg": 1}, others=owners)
    supply = game.snapshot()["supply"]["buildings"]
    assert supply["Herb Hut"] == supply["Sandwich Stand"] == 0
    assert "BUY_HERB_HUT" not in game.legal(0)
    assert "BUY_SANDWICH_STAND" not in game.legal(0)
    assert "BUY_REPTILE_STABLE" in game.legal(0)


def test_the_last_copy(table: type[Table]) -> None:
    """B5, C7: the fourth Hotel is the last; the next buyer finds none."""
    hand = dict.fromkeys(("gear", "stone", "egg", "carrot", "crystal"), 1)
    others = ({"home": hand, "buildings": {"Hotel": 2}}, {"buildings": {"Hotel": 1}})
    game = shop(table, hand, others=others)
    game.step({0: "BUY_HOTEL"})
    assert game.snapshot()["supply"]["buildings"]["Hotel"] == 0
    assert game.active == [1]
    assert "BUY_HOTEL" not in game.legal(1)


def test_no_ninth_heart(table: type[Table]) -> None:
    """B5, C4: nobody has more than eight."""
    game = shop(table, {"carrot": 9}, buyer={"max_hearts": 8})
    assert game.snapshot()["supply"]["hearts"] == 20
    assert not [name for name in game.legal(0) if name.startswith("HEART")]


def test_no_thirty_third_heart(table: type[Table]) -> None:
    """B5, C4: with five players the 32 hearts can run out: 8 + 8 + 7 + 4 leave four, and one more."""
    hand = {"home": {"egg": 2, "gear": 1}}
    others = (hand, {"max_hearts": 7}, {"max_hearts": 8}, {"max_hearts": 8})
    game = shop(table, {"stone": 2, "gear": 1}, others=others)
    assert game.snapshot()["supply"]["hearts"] == 1
    game.step({0: "HEART_STONE"})
    assert game.snapshot()["supply"]["hearts"] == 0
    game.step({0: "PASS"})
    assert game.active == [1]
    assert not [name for name in game.legal(1) if name.startswith("HEART")]


@pytest.mark.parametrize(
    ("building", "cost", "coins", "left", "gained"),
    [("Gym", 2, 1, 1, 1), ("Gym", 2, 1, 0, 0), ("Arena", 5, 6, 0, 0), ("Arena", 5, 6, 1, 1), ("Arena", 5, 6, 2, 2)],
)
def test_the_last_jump_tokens(table: type[Table], building: str, cost: int, coins: int, left: int, gained: int) -> None:
    """B5, C5: tokens are handed out as far as they last; the coins are paid in full."""
    hand = dict.fromkeys(("egg", "stone", "carrot", "crystal", "fish")[:cost], 1)
    game = shop(table, hand, others=(NEXT | {"jumps": 14 - left},))
    game.step({0: buy(building)})
    assert player(game, 0)["jumps"] == gained
    assert player(game, 0)["coins"] == coins
    assert game.snapshot()["supply"]["jumps"] == left - gained
    assert log(game, "jumps") == ([event("jumps", seat=0, value=gained)] if gained else [])


# B6: coins for a purchase


def bought(table: type[Table], building: str, buildings: dict[str, int]) -> list[dict[str, Any]]:
    """The coins that one purchase brings, as events."""
    hand = dict.fromkeys(("gear", "stone", "egg", "carrot", "crystal", "fish"), 1)
    game = shop(table, hand, buildings, market=(building,))
    game.step({0: buy(building)})
    while game.decision == "pay":
        game.step({0: game.legal(0)[0]})
    return log(game, "coins")


def test_hall_of_elders(table: type[Table]) -> None:
    """B6, C6, C8: each Hall pays 1 coin for a normal building, and nothing for a star building."""
    assert bought(table, "Herb Hut", {"Hall of Elders": 1}) == [coins_from("Hall of Elders", 0, 1)]
    assert bought(table, "Herb Hut", {"Hall of Elders": 3}) == [coins_from("Hall of Elders", 0, 3)]
    assert bought(table, "Cafe", {"Hall of Elders": 1}) == [coins_from("Cafe", 0, 2)]


def test_the_second_hall_of_elders(table: type[Table]) -> None:
    """B6: it pays nothing for itself, but the Hall that the buyer owned before pays 1 coin."""
    market = ("Hall of Elders",)
    game = shop(table, {"gear": 1, "stone": 1, "egg": 1}, market=market)
    game.step({0: "BUY_HALL_OF_ELDERS"})
    assert coins(game) == [0, 0]
    assert bought(table, "Hall of Elders", {"Hall of Elders": 1}) == [coins_from("Hall of Elders", 0, 1)]


def test_toll_booth(table: type[Table]) -> None:
    """B6, C6, C8: each Booth pays 1 coin for a star building, and nothing for a normal one such as itself."""
    assert bought(table, "Cafe", {"Toll Booth": 1}) == [coins_from("Cafe", 0, 2), coins_from("Toll Booth", 0, 1)]
    assert bought(table, "Cafe", {"Toll Booth": 2}) == [coins_from("Cafe", 0, 2), coins_from("Toll Booth", 0, 2)]
    assert bought(table, "Herb Hut", {"Toll Booth": 1}) == []
    assert bought(table, "Toll Booth", {"Toll Booth": 1}) == []


@pytest.mark.parametrize(
    ("building", "own", "pays"),
    [
        ("Arcade", 3, False),
        ("Bowling Alley", 3, False),
        ("Bazaar of Oddities", 4, True),
        ("Lodge", 4, True),
        ("Hotel", 5, True),
        ("Arena", 6, True),
        ("Temple of Zoz", 7, False),
        ("Sandwich Stand", 1, False),
    ],
)
@pytest.mark.parametrize("smithies", [1, 2])
def test_smithy(table: type[Table], building: str, own: int, pays: bool, smithies: int) -> None:
    """B6, C6, C8: each Smithy pays 3 coins for cost 4 or 5, star or normal, but not for cost 3 or the Temple of Zoz."""
    own_coins = {"Bowling Alley": [], "Lodge": []}.get(building, [coins_from(building, 0, own)])
    smithy_coins = [coins_from("Smithy", 0, 3 * smithies)] if pays else []
    assert bought(table, building, {"Smithy": smithies}) == own_coins + smithy_coins


def test_a_smithy_bought_this_turn(table: type[Table]) -> None:
    """B6: a Smithy pays for purchases after it in the same turn."""
    hand = {"gear": 2, "stone": 2, "egg": 2, "carrot": 1}
    game = shop(table, hand, market=("Smithy", "Lodge"))
    game.step({0: "BUY_SMITHY"})
    for action in pick("gear", "stone", "egg"):
        game.step({0: action})
    game.step({0: "BUY_LODGE"})
    assert log(game, "coins") == [coins_from("Smithy", 0, 3)]


@pytest.mark.parametrize("hotels", [1, 2])
def test_hotel(table: type[Table], hotels: int) -> None:
    """B6, C6, C8: each Hotel pays 2 coins for each heart that is bought."""
    game = shop(table, {"egg": 5, "gear": 1}, {"Hotel": hotels})
    game.step({0: "HEART_EGG"})
    game.step({0: "HEART_EGG"})
    assert log(game, "coins") == [coins_from("Hotel", 0, 2 * hotels)] * 2
    assert coins(game) == [4 * hotels, 0]


def test_hotel_bought_this_turn(table: type[Table]) -> None:
    """B6: the Hotel brings 5 coins, then 2 for the buyer's next heart, and none for another player's heart."""
    hand = {"gear": 1, "stone": 1, "egg": 1, "crystal": 1, "carrot": 3}
    game = shop(table, hand, others=({"home": {"fish": 2}},))
    game.step({0: "BUY_HOTEL"})
    game.step({0: "HEART_CARROT"})
    game.step({1: "HEART_FISH"})
    assert log(game, "coins") == [coins_from("Hotel", 0, 5), coins_from("Hotel", 0, 2)]


def test_others_buildings_pay_nothing(table: type[Table]) -> None:
    """B6: only buildings of the buyer pay."""
    owner = NEXT | {"buildings": {"Smithy": 1, "Hall of Elders": 1, "Toll Booth": 1}}
    game = shop(table, {"gear": 1, "stone": 1, "egg": 1, "carrot": 1}, others=(owner,), market=("Lodge",))
    game.step({0: "BUY_LODGE"})
    assert log(game, "coins") == []


def test_events_of_a_purchase(table: type[Table]) -> None:
    """B6, B2: buying an Arena, event by event: cards, building, its coins, those of others in table order, tokens."""
    buildings = {"Toll Booth": 1, "Hall of Elders": 2, "Smithy": 1}
    hand = {"stone": 1, "egg": 1, "carrot": 1, "crystal": 1, "fish": 1}
    game = shop(table, hand, buildings, market=("Arena",))
    game.step({0: "BUY_ARENA"})
    assert game.events == [
        {"step": 1, "event": "pay", "seat": 0, "treasure": "stone"},
        {"step": 1, "event": "pay", "seat": 0, "treasure": "egg"},
        {"step": 1, "event": "pay", "seat": 0, "treasure": "carrot"},
        {"step": 1, "event": "pay", "seat": 0, "treasure": "crystal"},
        {"step": 1, "event": "pay", "seat": 0, "treasure": "fish"},
        {"step": 1, "event": "buy", "seat": 0, "building": "Arena"},
        {"step": 1, "event": "coins", "seat": 0, "building": "Arena", "value": 6},
        {"step": 1, "event": "coins", "seat": 0, "building": "Smithy", "value": 3},
        {"step": 1, "event": "coins", "seat": 0, "building": "Hall of Elders", "value": 2},
        {"step": 1, "event": "jumps", "seat": 0, "value": 2},
        # Nothing is left to pay with, so the turn is over.
        {"step": 1, "event": "pass", "seat": 0},
    ]


# B7: Arcades


def after_the_turns(table: type[Table], arcades: list[int], before: list[int]) -> list[int]:
    """The coins after a buy phase without purchases, from the Arcades and the coins that the players had before."""
    seats: list[Player] = [
        {"coins": purse, "buildings": {"Arcade": number}, "home": {"gear": 1}, "jumps": 1}
        for number, purse in zip(arcades, before, strict=True)
    ]
    return coins(pass_all(table.restore(state(seats, "buy"))))


@pytest.mark.parametrize(
    ("arcades", "before", "after"),
    [
        ([1, 0, 0], [1, 2, 3], [3, 2, 3]),
        ([0, 0, 1], [3, 2, 1], [3, 2, 3]),
        ([1, 0, 0], [1, 1, 3], [1, 1, 3]),  # tied for fewest
        ([1, 0, 0], [2, 1, 3], [2, 1, 3]),  # not fewest
        ([2, 0, 0], [1, 2, 3], [5, 2, 3]),  # two Arcades of one owner
        ([1, 1, 0], [1, 1, 3], [1, 1, 3]),  # two owners tied
        ([1, 1, 0], [1, 2, 5], [3, 2, 5]),  # all counted first: when seat 0 is paid, seat 1 does not become fewest
        ([1, 1, 0], [2, 1, 5], [2, 3, 5]),  # the same the other way round
        ([1, 0], [0, 1], [2, 1]),
        ([1, 0], [0, 0], [0, 0]),
    ],
)
def test_arcade(table: type[Table], arcades: list[int], before: list[int], after: list[int]) -> None:
    """B7, C6, C8: each Arcade pays 2 coins to an owner with strictly fewer coins than every other player."""
    assert after_the_turns(table, arcades, before) == after


def test_arcades_pay_after_the_last_turn(table: type[Table]) -> None:
    """B7: coins that the last buyer gains count."""
    seats: list[Player] = [
        {"coins": 1, "buildings": {"Arcade": 1}, "home": {"gear": 1}, "jumps": 1},
        {"coins": 1, "home": {"gear": 1}},
    ]
    game = table.restore(state(seats, "buy"))
    game.step({0: "PASS"})
    assert coins(game) == [1, 1]
    game.step({1: "BUY_SANDWICH_STAND"})
    assert coins(game) == [3, 2]
    assert log(game, "pass", "coins", "first_player") == [
        event("pass", seat=0),
        coins_from("Sandwich Stand", 1, 1),
        event("pass", seat=1),
        coins_from("Arcade", 0, 2),
        event("first_player", seat=1),
    ]
