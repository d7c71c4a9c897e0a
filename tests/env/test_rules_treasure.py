"""Drawing treasures, and what is public: rules D (D4 is with the end of the game, in test_rules_night.py)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.tables import (
    BOX,
    ENTER,
    LABORATORY,
    POND,
    RABBIT,
    SOAP,
    STABLE,
    STAY,
    TREASURES,
    Event,
    Player,
    Snapshot,
    Table,
    draw,
    event,
    everyone,
    log,
    meet,
    night,
    pass_all,
    pick,
    player,
    state,
    weighted,
    word,
)

AT_HOME: Player = {"in_level": False}


# D1: the deck


def test_draws_are_weighted_by_what_is_left(table: type[Table]) -> None:
    """D1, D2, L1: each of the first draws of a game is uniform over the cards that the earlier ones left."""
    for seed in range(12):
        game = table.new({"num_players": 3, "first_player": 1}, seed)
        deck = Counter(TREASURES)
        expected = []
        for seat in (1, 2, 0):
            treasure = weighted(word(seed, ENTER, 1, seat), deck)
            deck[treasure] -= 1
            expected.append(draw(seat, treasure))
        assert log(game, "draw")[:3] == expected


def test_a_draw_takes_the_card_from_the_deck(table: type[Table]) -> None:
    """D1, C2: what is drawn is no longer in the deck."""
    game = meet(table, "Treasure Box", [{}, {}], deck={"egg": 2, "fish": 1})
    drawn = Counter(each["treasure"] for each in log(game, "draw"))
    assert drawn + Counter(game.snapshot()["treasure_deck"]) == {"egg": 2, "fish": 1}
    assert drawn.total() == 2


def test_no_reshuffle_before_it_is_needed(table: type[Table]) -> None:
    """D1: drawing the last card leaves the deck empty; only the next draw shuffles the discard pile."""
    game = meet(table, "Treasure Box", [{}, {}, AT_HOME], deck={"egg": 2}, discard={"stone": 3})
    assert log(game, "reshuffle") == []
    assert game.snapshot()["treasure_deck"] == {}
    assert game.snapshot()["discard"] == {"stone": 3}
    everyone(game, "STAY")
    assert log(game, "stay", "reshuffle", "draw")[2:] == [
        event("stay", seat=0),
        event("stay", seat=1),
        event("reshuffle"),
        draw(0, "stone"),
        draw(1, "stone"),
    ]
    assert game.snapshot()["treasure_deck"] == {"stone": 1}
    assert game.snapshot()["discard"] == {}


def test_discards_do_not_mix_with_a_deck_that_is_left(table: type[Table]) -> None:
    """D1: as long as the deck has a card, the discard pile stays as it is."""
    game = meet(table, "Treasure Box", [{}, {}, AT_HOME], deck={"egg": 3}, discard={"stone": 3})
    assert [player(game, seat)["carried"] for seat in (0, 1)] == [{"egg": 1}] * 2
    assert game.snapshot()["treasure_deck"] == {"egg": 1}
    assert game.snapshot()["discard"] == {"stone": 3}


def test_both_piles_empty(table: type[Table]) -> None:
    """D1: nothing is drawn, and the game goes on."""
    game = meet(table, "Treasure Box", [{}, {}, AT_HOME], deck={}, discard={})
    assert log(game, "draw") == [draw(0, None), draw(1, None)]
    assert log(game, "reshuffle") == []
    assert [player(game, seat)["carried"] for seat in (0, 1)] == [{}, {}]
    assert game.decision == "run"


def test_one_card_for_two(table: type[Table]) -> None:
    """D1, D2: the first player draws the last card, and the other draws nothing."""
    game = meet(table, "Treasure Box", [{}, {}, AT_HOME], deck={"egg": 1}, discard={}, first_player=1)
    assert log(game, "draw") == [draw(1, "egg"), draw(0, None)]


# D1: each draw has its own luck


@pytest.fixture(params=[1, 2, 7, 50])
def round_number(request: pytest.FixtureRequest) -> int:
    """The number of a round; draws of different rounds differ."""
    number: int = request.param
    return number


def lucky(start: Snapshot, *addresses: tuple[int, int, int]) -> list[Event]:
    """The treasures drawn from the deck of ``start`` at these addresses (purpose, seat, number)."""
    deck: Counter[str] = Counter(start["treasure_deck"])
    draws = []
    for purpose, seat, number in addresses:
        treasure = weighted(word(start["seed"], purpose, start["round"], seat, number), deck)
        deck[treasure] -= 1
        draws.append(draw(seat, treasure))
    return draws


def test_draws_of_staying(table: type[Table], round_number: int) -> None:
    """D1, L9: draws for staying are numbered by the level cards seen; this is the second, number 1."""
    start = state([{"jumps": 1}, {}, {}], seen=["Bats", "Spires"], first_player=1, round_number=round_number)
    game = table.restore(start)
    everyone(game, "STAY")
    assert log(game, "draw") == lucky(start, (STAY, 1, 1), (STAY, 2, 1), (STAY, 0, 1))


def test_draws_of_the_box(table: type[Table], round_number: int) -> None:
    """D1, L6: one draw for each seat in the level."""
    start = state([{"jumps": 1}, {}], "jump", reveals=["Treasure Box"], round_number=round_number)
    game = table.restore(start)
    game.step({0: "PASS"})
    assert log(game, "draw") == lucky(start, (BOX, 0, 0), (BOX, 1, 0))


def test_draws_of_soap_makers(table: type[Table], round_number: int) -> None:
    """D1, L5: one draw for each owner of Soap Makers."""
    soap: Player = {"buildings": {"Soap Makers": 1}, "jumps": 1}
    start = state([soap, {}, soap], "jump", reveals=["Sludge Creature"], first_player=2, round_number=round_number)
    game = table.restore(start)
    everyone(game, "JUMP")
    assert log(game, "draw") == lucky(start, (SOAP, 2, 0), (SOAP, 0, 0))


def test_draws_of_the_rabbit(table: type[Table], round_number: int) -> None:
    """D1, L8: three draws for each player who trades."""
    trader: Player = {"carried": {"carrot": 4}, "jumps": 1}
    start = state([trader, trader], "jump", reveals=["Rabbit"], first_player=1, round_number=round_number)
    game = table.restore(start)
    everyone(game, "PASS")
    everyone(game, "TRADE")
    assert log(game, "draw") == lucky(start, *[(RABBIT, seat, number) for seat in (1, 0) for number in (0, 1, 2)])


def test_draws_of_laboratories(table: type[Table], round_number: int) -> None:
    """D1, L7: one draw for each Laboratory."""
    seats: list[Player] = [
        {"hearts": 1, "buildings": {"Laboratory": 1}, "jumps": 1},
        {"hearts": 1, "buildings": {"Laboratory": 2}},
        {},
    ]
    start = state(seats, "jump", reveals=["Bats"], first_player=1, round_number=round_number)
    game = table.restore(start)
    game.step({0: "PASS"})
    assert log(game, "draw") == lucky(start, (LABORATORY, 1, 0), (LABORATORY, 1, 1), (LABORATORY, 0, 0))


def test_draws_of_stables(table: type[Table], round_number: int) -> None:
    """D1, L10: one draw for each stable, in the order in which they are asked."""
    seats: list[Player] = [
        {"carried": {"gear": 3}, "buildings": {"Reptile Stable": 3}},
        {"carried": {"gear": 2}, "buildings": {"Reptile Stable": 1}},
    ]
    start = state(seats, round_number=round_number)
    game = table.restore(start)
    everyone(game, "LEAVE")
    everyone(game, "TREASURE_GEAR")
    everyone(game, "TREASURE_GEAR")
    everyone(game, "TREASURE_GEAR")
    assert log(game, "draw") == lucky(start, (STABLE, 0, 0), (STABLE, 1, 0), (STABLE, 0, 1), (STABLE, 0, 2))


def test_draws_of_ponds(table: type[Table], round_number: int) -> None:
    """D1, N3: one draw for each pond, with the randomness of the round that ends."""
    ponds: Player = {"buildings": {"Fishing Pond": 2}, "home": {"gear": 1}}
    start = state([ponds, ponds], "buy", round_number=round_number)
    game = pass_all(table.restore(start))
    expected = lucky(start, (POND, 1, 0), (POND, 1, 1), (POND, 0, 0), (POND, 0, 1))
    assert log(game, "draw")[:4] == expected


# D2: the order


def test_box_draws_from_the_first_player(table: type[Table]) -> None:
    """D2, D1: seats 2, 0 and 1 draw in this order, and the deck runs out between 0 and 1."""
    game = meet(table, "Treasure Box", [{}, {}, {}, AT_HOME], deck={"egg": 2}, discard={"fish": 1}, first_player=2)
    assert log(game)[1:] == [draw(2, "egg"), draw(0, "egg"), event("reshuffle"), draw(1, "fish")]


@pytest.mark.parametrize(("first_player", "order"), [(0, [0, 1, 2]), (1, [1, 2, 0]), (2, [2, 0, 1])])
def test_stayers_draw_from_the_first_player(table: type[Table], first_player: int, order: list[int]) -> None:
    """D2, L9: draws for staying are in order from the first player too."""
    game = table.restore(state([{"jumps": 1}, {}, {}], "run", first_player=first_player))
    everyone(game, "STAY")
    assert [each["seat"] for each in log(game, "draw")] == order


def test_the_deck_runs_out_in_the_middle_of_a_trade(table: type[Table]) -> None:
    """D1, D2, L8: both traders discard before either draws; seat 1 takes three eggs, seat 0 an egg and two carrots."""
    seats: list[Player] = [{"carried": {"carrot": 3}}, {"carried": {"carrot": 3}}, AT_HOME]
    game = meet(table, "Rabbit", seats, deck={"egg": 4}, discard={}, first_player=1)
    everyone(game, "TRADE")
    assert log(game, "trade", "draw", "reshuffle") == [
        event("trade", seat=0),
        event("trade", seat=1),
        *[draw(1, "egg")] * 3,
        draw(0, "egg"),
        event("reshuffle"),
        *[draw(0, "carrot")] * 2,
    ]
    assert player(game, 0)["carried"] == {"egg": 1, "carrot": 2}
    assert player(game, 1)["carried"] == {"egg": 3}
    assert game.snapshot()["treasure_deck"] == {"carrot": 4}
    assert game.snapshot()["discard"] == {}


def test_a_trade_can_bring_back_its_own_carrots(table: type[Table]) -> None:
    """D1, L8: with both piles empty the three carrots are discarded, shuffled and drawn again."""
    game = meet(table, "Rabbit", [{"carried": {"carrot": 3}}, {}, AT_HOME], deck={}, discard={})
    everyone(game, "TRADE")
    assert player(game, 0)["carried"] == {"carrot": 3}
    assert len(log(game, "reshuffle")) == 1


def test_one_seat_draws_all_its_cards_before_the_next(table: type[Table]) -> None:
    """D2, L7: with two Laboratories each, first both draws of seat 1, then both of seat 0, after all the discards."""
    laboratories = {"hearts": 1, "buildings": {"Laboratory": 2}}
    seats: list[Player] = [
        laboratories | {"carried": {"fish": 1}},
        laboratories | {"carried": {"fish": 1}},
        {},
        AT_HOME,
    ]
    game = meet(table, "Bats", seats, deck={"egg": 3}, discard={}, first_player=1)
    assert log(game, "discard", "draw", "reshuffle") == [
        event("discard", seat=0, treasure="fish", value=1),
        event("discard", seat=1, treasure="fish", value=1),
        draw(1, "egg"),
        draw(1, "egg"),
        draw(0, "egg"),
        event("reshuffle"),
        draw(0, "fish"),
    ]
    assert game.snapshot()["treasure_deck"] == {"fish": 1}


def test_soap_before_the_laboratory(table: type[Table]) -> None:
    """D2, L4: the draws of two events of one card come one after the other, each in order from the first player."""
    seats: list[Player] = [{"hearts": 1, "buildings": {"Laboratory": 1}}, {"buildings": {"Soap Makers": 1}}, {}]
    game = meet(table, "Sludge Creature", seats, deck={"egg": 5})
    assert log(game, "draw") == [draw(1, "egg"), draw(0, "egg")]


# D3: what is public, and who decides together


def test_everything_lies_open(table: type[Table]) -> None:
    """D3: a snapshot shows all hands, and each pick once all players at that step have chosen."""
    store = {"buildings": {"Lodge": 2}, "home": {"gear": 1, "egg": 1, "fish": 1}}
    game = night(table, [store, store])
    assert game.decision == "store"
    assert game.active == [0, 1]
    game.step({0: "TREASURE_EGG", 1: "TREASURE_FISH"})
    assert [player(game, seat)["picked"] for seat in (0, 1)] == [{"egg": 1}, {"fish": 1}]
    assert [player(game, seat)["home"] for seat in (0, 1)] == [{"gear": 1, "egg": 1, "fish": 1}] * 2


def test_a_choice_of_the_same_moment_changes_nothing_for_the_others(table: type[Table]) -> None:
    """D3: the legal actions of a seat do not depend on the choices of others at the same step."""
    store = {"buildings": {"Lodge": 1}, "home": {"gear": 1, "egg": 1, "fish": 1}}
    game = night(table, [store, store])
    assert game.legal(0) == game.legal(1) == pick("gear", "egg", "fish")
    game.step({0: "TREASURE_EGG", 1: "TREASURE_EGG"})
    assert [player(game, seat)["home"] for seat in (0, 1)] == [{"egg": 1}] * 2
