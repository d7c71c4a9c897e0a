"""Phase 1, running the level: rules L."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tables import (
    LEVEL_CARDS,
    REVEAL,
    Player,
    Table,
    choose,
    coins,
    coins_from,
    draw,
    event,
    everyone,
    log,
    meet,
    night,
    pick,
    player,
    state,
    word,
)

JUMP_SYMBOL = {"Rabbit": 1, "Sludge Creature": 1, "Biting Plant": 2, "Red Serpent": 3}
FLYING = {"Floating Eye": 1, "Bats": 2}
HARMLESS = ("Clouds", "Spires", "Green Mesa", "Treasure Box")
AT_HOME: Player = {"in_level": False}


def all_but(card: str) -> list[str]:
    """The nine other level cards."""
    return [other for other in LEVEL_CARDS if other != card]


def leave(table: type[Table], players: list[Player], stay: tuple[int, ...] = (), **changes: Any) -> Table:
    """A table at which all players in the level have just gone home, except the seats in ``stay``."""
    game = table.restore(state(players, "run", **changes))
    game.step({seat: "STAY" if seat in stay else "LEAVE" for seat in game.active})
    return game


# L1: entering


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_everyone_enters_and_draws(table: type[Table], players: int) -> None:
    """L1, D2: all players draw one treasure, in seat order from the first player, before the first level card."""
    game = table.new({"num_players": players, "first_player": players - 1}, 5)
    events = log(game, "round", "draw", "reveal")
    assert events[0] == event("round", value=1)
    assert [each.get("seat") for each in events[1 : players + 2]] == [players - 1, *range(players - 1), None]
    assert events[players + 1]["event"] == "reveal"
    assert all(player(game, seat)["in_level"] for seat in range(players))


def test_nobody_sits_out(table: type[Table]) -> None:
    """L1: every later round begins with all players in the level, carrying one treasure, even those who fell."""
    game = night(table, [{"home": {"gear": 1}, "hearts": 0}, {}, {}], deck={"fish": 3})
    assert game.decision == "jump"
    assert game.snapshot()["round"] == 2
    for seat in range(3):
        assert player(game, seat)["in_level"]
        assert player(game, seat)["carried"] == {"fish": 1}


# L2: jumping


def test_who_is_asked_to_jump(table: type[Table]) -> None:
    """L2: all players in the level who own a token are asked at the same time, after the draws for staying."""
    seats: list[Player] = [{"jumps": 1}, {}, {"jumps": 2}, {"jumps": 1, "in_level": False}]
    game = table.restore(state(seats, "run", deck={"stone": 9}))
    everyone(game, "STAY")
    assert game.decision == "jump"
    assert game.active == [0, 2]
    assert game.legal(0) == game.legal(2) == ["PASS", "JUMP"]
    assert game.snapshot()["level_seen"] == ["Clouds"]
    assert [player(game, seat)["carried"] for seat in (0, 1, 2)] == [{"stone": 1}] * 3


def test_jump_before_the_first_level_card(table: type[Table]) -> None:
    """L2: players are asked before the first card too, after all have drawn."""
    game = night(table, [{"home": {"gear": 1}}, {"jumps": 0}], deck={"fish": 3})
    assert game.decision == "jump"
    assert game.active == [0]
    assert game.snapshot()["level_seen"] == []
    assert [player(game, seat)["carried"] for seat in (0, 1)] == [{"fish": 1}] * 2


def test_nobody_has_a_token(table: type[Table]) -> None:
    """L2, L3: without tokens the next card is revealed at once."""
    game = table.restore(state([{}, {}], "run", reveals=["Spires"]))
    everyone(game, "STAY")
    assert game.decision == "run"
    assert game.snapshot()["level_seen"] == ["Clouds", "Spires"]


def test_a_jump_costs_a_token(table: type[Table]) -> None:
    """L2, C5: the token returns to the supply; a player who passes keeps it."""
    game = meet(table, "Rabbit", [{"jumps": 2}, {"jumps": 2}], jump=[0])
    assert [player(game, seat)["jumps"] for seat in (0, 1)] == [1, 2]
    assert game.snapshot()["supply"]["jumps"] == 11
    assert log(game, "jump") == [event("jump", seat=0)]
    assert not player(game, 0)["jumping"]


# L3: revealing


def test_reveal_is_uniform_over_the_unseen(table: type[Table]) -> None:
    """L3: the next card is chosen by the seed among those not yet seen."""
    unseen = [card for card in LEVEL_CARDS if card not in ("Rabbit", "Clouds")]
    for seed in range(12):
        game = table.restore(state([{"hearts": 8}, {}], "run", seen=["Rabbit", "Clouds"], seed=seed, round_number=3))
        everyone(game, "STAY")
        expected = unseen[choose(word(seed, REVEAL, 3, 0, 2), 8)]
        assert log(game, "reveal") == [event("reveal", card=expected)]


def test_no_card_twice_in_a_round(table: type[Table]) -> None:
    """L3: a player who stays to the end meets each of the ten cards once."""
    answers = {"jump": "JUMP", "rabbit": "PASS", "run": "STAY"}
    game = table.restore(state([{"jumps": 10}, AT_HOME], "jump"))
    while game.decision in answers:
        everyone(game, answers[game.decision])
    assert sorted(each["card"] for each in log(game, "reveal")) == sorted(LEVEL_CARDS)


# L4: the order of a card's effects


def test_effects_of_the_serpent_in_order(table: type[Table]) -> None:
    """L4: coins of Temples, then damage, falls and Hospital coins; each step for all players before the next."""
    temple = {"buildings": {"Temple of Zoz": 1}}
    seats: list[Player] = [
        temple | {"hearts": 4},
        {"hearts": 3, "buildings": {"Hospital": 1, "Temple of Zoz": 1}},
        {"hearts": 2},
    ]
    game = meet(table, "Red Serpent", seats, deck={"egg": 1})
    # Falls: seat 1 (a neighbour of 0 and 2, who have no Hospital) and seat 2, for which seat 1's Hospital pays.
    assert log(game) == [
        event("reveal", card="Red Serpent"),
        coins_from("Temple of Zoz", 0, 2),
        coins_from("Temple of Zoz", 1, 2),
        event("damage", seat=0, value=3),
        event("damage", seat=1, value=3),
        event("damage", seat=2, value=2),
        event("fall", seat=1),
        event("fall", seat=2),
        coins_from("Hospital", 1, 2),
    ]
    assert game.decision == "run"
    assert game.active == [0]


def test_soap_draws_before_others_are_damaged(table: type[Table]) -> None:
    """L4, L5: the extra draw comes before the damage of the same card."""
    seats: list[Player] = [{}, {"hearts": 1, "carried": {"egg": 1}}, {"buildings": {"Soap Makers": 1}}]
    game = meet(table, "Sludge Creature", seats, deck={"fish": 1})
    assert log(game) == [
        event("reveal", card="Sludge Creature"),
        draw(2, "fish"),
        event("damage", seat=0, value=1),
        event("damage", seat=1, value=1),
        event("fall", seat=1),
        event("discard", seat=1, treasure="egg", value=1),
    ]


def test_the_rabbit_trades_after_the_falls(table: type[Table]) -> None:
    """L4, L8: before anyone is asked to trade, players whom the Rabbit made fall are out, and Hospitals have paid."""
    seats: list[Player] = [{"carried": {"carrot": 3}, "buildings": {"Hospital": 1}}, {"hearts": 1}, {}]
    game = meet(table, "Rabbit", seats)
    assert game.decision == "rabbit"
    assert not player(game, 1)["in_level"]
    assert coins(game) == [2, 0, 0]


# L5: damage


def test_hearts_stop_at_zero(table: type[Table]) -> None:
    """L5, L7: three skulls take the last heart of a player and no more."""
    game = meet(table, "Red Serpent", [{"hearts": 1}, {}])
    assert player(game, 0)["hearts"] == 0
    assert event("damage", seat=0, value=1) in log(game)
    assert event("fall", seat=0) in log(game)


@pytest.mark.parametrize(("card", "skulls"), JUMP_SYMBOL.items())
def test_jump_over_a_card_with_the_symbol(table: type[Table], card: str, skulls: int) -> None:
    """L5, C3: a player who jumps takes no damage; the others take it."""
    game = meet(table, card, [{}, {}], jump=[1])
    assert [player(game, seat)["hearts"] for seat in (0, 1)] == [4 - skulls, 4]
    assert player(game, 1)["jumps"] == 0


@pytest.mark.parametrize(("card", "skulls"), FLYING.items())
def test_nobody_jumps_over_a_flying_monster(table: type[Table], card: str, skulls: int) -> None:
    """L5, C3: against cards without the jump symbol, the damage is taken and the token lost."""
    game = meet(table, card, [{}, {}], jump=[1])
    assert [player(game, seat)["hearts"] for seat in (0, 1)] == [4 - skulls, 4 - skulls]
    assert [player(game, seat)["jumps"] for seat in (0, 1)] == [1, 0]


@pytest.mark.parametrize("card", HARMLESS)
def test_a_jump_over_nothing_loses_the_token(table: type[Table], card: str) -> None:
    """L5: a jump over a card without a monster has no effect, and the token is lost."""
    game = meet(table, card, [{}, {}], jump=[1])
    assert player(game, 1)["jumps"] == 0
    assert player(game, 1)["hearts"] == 4
    assert game.snapshot()["supply"]["jumps"] == 13


@pytest.mark.parametrize("jump", [[], [0]])
@pytest.mark.parametrize("copies", [1, 2])
def test_soap_makers(table: type[Table], jump: list[int], copies: int) -> None:
    """L5, C6, C8: no damage from the Sludge Creature and one treasure, jumping or not, for any number of copies."""
    seats: list[Player] = [{"hearts": 1, "buildings": {"Soap Makers": copies}}, {}]
    game = meet(table, "Sludge Creature", seats, jump=jump, deck={"fish": 3})
    assert player(game, 0)["hearts"] == 1
    assert player(game, 0)["carried"] == {"fish": 1}
    assert player(game, 1)["hearts"] == 3
    assert player(game, 1)["carried"] == {}


def test_soap_makers_at_home(table: type[Table]) -> None:
    """L5: a player at home does not meet the card."""
    game = meet(table, "Sludge Creature", [AT_HOME | {"buildings": {"Soap Makers": 1}}, {}], deck={"fish": 3})
    assert player(game, 0)["carried"] == player(game, 0)["home"] == {}


def test_soap_makers_do_not_help_elsewhere(table: type[Table]) -> None:
    """L5, C6: Soap Makers do not help against other monsters."""
    game = meet(table, "Biting Plant", [{"buildings": {"Soap Makers": 1}}, {}], deck={"fish": 3})
    assert player(game, 0)["hearts"] == 2
    assert player(game, 0)["carried"] == {}


@pytest.mark.parametrize(
    ("copies", "hearts", "jump", "value"), [(1, 4, [], 2), (1, 3, [], 2), (1, 1, [0], 2), (2, 4, [], 4), (2, 1, [], 4)]
)
def test_temple_of_zoz(table: type[Table], copies: int, hearts: int, jump: list[int], value: int) -> None:
    """C6, L4, C8: each Temple pays 2 coins for meeting the Red Serpent, even when the owner falls or jumps."""
    game = meet(table, "Red Serpent", [{"hearts": hearts, "buildings": {"Temple of Zoz": copies}}, {}], jump=jump)
    assert log(game, "coins") == [coins_from("Temple of Zoz", 0, value)]


def test_temple_of_zoz_at_home_or_elsewhere(table: type[Table]) -> None:
    """C6, L4: it pays nothing to an owner at home, or for another monster."""
    temple = {"buildings": {"Temple of Zoz": 1}}
    assert coins(meet(table, "Red Serpent", [temple | AT_HOME, {}])) == [0, 0]
    assert coins(meet(table, "Biting Plant", [temple, {}])) == [0, 0]


# L6: the Treasure Box


def test_treasure_box(table: type[Table]) -> None:
    """L6: one treasure for each player in the level, none for those at home."""
    game = meet(table, "Treasure Box", [{}, AT_HOME, {}], deck={"stone": 9})
    assert [player(game, seat)["carried"] for seat in (0, 1, 2)] == [{"stone": 1}, {}, {"stone": 1}]
    assert player(game, 1)["home"] == {}
    assert game.snapshot()["treasure_deck"] == {"stone": 7}


# L7: falling


def test_a_fall_loses_what_is_carried(table: type[Table]) -> None:
    """L7: the carried treasures are discarded, those at home are safe, and the player is out of the level."""
    seats: list[Player] = [{"hearts": 2, "carried": {"egg": 2, "fish": 1}, "home": {"gear": 1}}, {}]
    game = meet(table, "Bats", seats, discard={"stone": 3})
    faller = player(game, 0)
    assert not faller["in_level"]
    assert faller["carried"] == {}
    assert faller["home"] == {"gear": 1}
    assert game.snapshot()["discard"] == {"stone": 3, "egg": 2, "fish": 1}
    assert game.active == [1]


def test_herb_hut_keeps_one(table: type[Table]) -> None:
    """L7, C6: the owner chooses one carried treasure, which goes to the home hand."""
    seats: list[Player] = [
        {"hearts": 2, "carried": {"egg": 2, "fish": 1}, "home": {"fish": 1}, "buildings": {"Herb Hut": 1}},
        {},
    ]
    game = meet(table, "Bats", seats, discard={})
    assert game.decision == "herb_hut"
    assert game.active == [0]
    assert game.legal(0) == pick("egg", "fish")
    game.step({0: "TREASURE_FISH"})
    assert player(game, 0)["carried"] == {}
    assert player(game, 0)["home"] == {"fish": 2}
    assert game.snapshot()["discard"] == {"egg": 2}
    assert game.decision == "run"


def test_two_huts_with_three_types(table: type[Table]) -> None:
    """L7, C8, D3: two huts keep two, chosen one after the other."""
    carried = {"gear": 1, "egg": 1, "fish": 1}
    game = meet(table, "Bats", [{"hearts": 1, "carried": carried, "buildings": {"Herb Hut": 2}}, {}], discard={})
    assert player(game, 0)["picks_left"] == 2
    assert game.legal(0) == pick("gear", "egg", "fish")
    game.step({0: "TREASURE_EGG"})
    assert player(game, 0)["picks_left"] == 1
    assert player(game, 0)["picked"] == {"egg": 1}
    # Nothing moves before the last choice.
    assert player(game, 0)["carried"] == carried
    assert game.legal(0) == pick("gear", "fish")
    game.step({0: "TREASURE_GEAR"})
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}
    assert player(game, 0)["picked"] == {}
    assert game.snapshot()["discard"] == {"fish": 1}


def test_two_huts_may_keep_two_of_a_type(table: type[Table]) -> None:
    """L7: the second of two eggs can be kept too, but not a third."""
    seats: list[Player] = [{"hearts": 1, "carried": {"egg": 2, "fish": 2}, "buildings": {"Herb Hut": 3}}, {}]
    game = meet(table, "Bats", seats, discard={})
    game.step({0: "TREASURE_EGG"})
    assert game.legal(0) == pick("egg", "fish")
    game.step({0: "TREASURE_EGG"})
    # Only fish are left: the third hut needs no question.
    assert game.decision == "run"
    assert player(game, 0)["home"] == {"egg": 2, "fish": 1}
    assert game.snapshot()["discard"] == {"fish": 1}


@pytest.mark.parametrize(("carried", "huts"), [({"egg": 1, "fish": 1}, 2), ({"egg": 1}, 2), ({"egg": 2}, 2)])
@pytest.mark.parametrize("skip_forced", [True, False])
def test_no_more_treasures_than_huts(table: type[Table], carried: dict[str, int], huts: int, skip_forced: bool) -> None:
    """L7: all treasures are kept and nothing is asked, even if forced choices are asked."""
    seats: list[Player] = [{"hearts": 1, "carried": carried, "buildings": {"Herb Hut": huts}}, {}]
    game = meet(table, "Bats", seats, skip_forced=skip_forced)
    assert game.decision == "run"
    assert player(game, 0)["home"] == carried


def test_one_type_is_no_choice(table: type[Table]) -> None:
    """L7: with treasures of one type there is no choice; it is asked only if forced choices are."""
    seats: list[Player] = [{"hearts": 1, "carried": {"egg": 3}, "buildings": {"Herb Hut": 1}}, {}]
    game = meet(table, "Bats", seats)
    assert game.decision == "run"
    assert player(game, 0)["home"] == {"egg": 1}
    game = meet(table, "Bats", seats, skip_forced=False)
    assert game.decision == "herb_hut"
    assert game.legal(0) == pick("egg")


def test_two_fallers_choose_at_once(table: type[Table]) -> None:
    """L7, D3: two owners of huts choose at the same time, pick by pick; players without huts have discarded before."""
    seats: list[Player] = [
        {"hearts": 1, "carried": {"gear": 1, "egg": 1}, "buildings": {"Herb Hut": 1}},
        {"hearts": 1, "carried": {"gear": 1, "egg": 1, "fish": 1}, "buildings": {"Herb Hut": 2}},
        {"hearts": 1, "carried": {"crystal": 2}},
        {},
    ]
    game = meet(table, "Bats", seats, discard={})
    assert game.decision == "herb_hut"
    assert game.active == [0, 1]
    assert game.snapshot()["discard"] == {"crystal": 2}
    game.step({0: "TREASURE_EGG", 1: "TREASURE_FISH"})
    assert game.active == [1]
    assert player(game, 0)["carried"] == {"gear": 1, "egg": 1}
    game.step({1: "TREASURE_EGG"})
    assert player(game, 0)["home"] == {"egg": 1}
    assert player(game, 1)["home"] == {"egg": 1, "fish": 1}
    assert game.snapshot()["discard"] == {"gear": 2, "crystal": 2}


def test_fallers_with_and_without_a_choice(table: type[Table]) -> None:
    """L7, D2: hands without a choice are discarded first; the Laboratories draw when all owners of huts have chosen."""
    seats: list[Player] = [
        {"hearts": 1, "carried": {"gear": 1, "egg": 1}, "buildings": {"Herb Hut": 1, "Laboratory": 1}},
        {"hearts": 1, "carried": {"crystal": 1}, "buildings": {"Laboratory": 1}},
        {"hearts": 1, "carried": {"fish": 1}, "buildings": {"Herb Hut": 2}},
        {"hearts": 4, "carried": {"stone": 2}, "buildings": {"Herb Hut": 1, "Laboratory": 1}},
        {"in_level": False, "home": {"stone": 2}, "buildings": {"Laboratory": 1}},
    ]
    game = meet(table, "Bats", seats, deck={"carrot": 5}, first_player=1)
    assert game.decision == "herb_hut"
    assert game.active == [0]
    assert [player(game, seat)["home"] for seat in range(5)] == [{}, {}, {"fish": 1}, {}, {"stone": 2}]
    game.step({0: "TREASURE_EGG"})
    assert log(game, "keep", "discard", "draw") == [
        event("discard", seat=1, treasure="crystal", value=1),
        event("keep", seat=2, treasure="fish", value=1),
        event("keep", seat=0, treasure="egg", value=1),
        event("discard", seat=0, treasure="gear", value=1),
        draw(1, "carrot"),
        draw(0, "carrot"),
    ]
    homes = [player(game, seat)["home"] for seat in range(5)]
    assert homes == [{"egg": 1, "carrot": 1}, {"carrot": 1}, {"fish": 1}, {}, {"stone": 2}]
    assert [player(game, seat)["carried"] for seat in range(5)] == [{}, {}, {}, {"stone": 2}, {}]


@pytest.mark.parametrize("copies", [1, 2])
def test_laboratory_draws_after_a_fall(table: type[Table], copies: int) -> None:
    """L7, C6, C8: each Laboratory draws one treasure into the home hand."""
    seats: list[Player] = [{"hearts": 1, "carried": {"egg": 2}, "buildings": {"Laboratory": copies}}, {}]
    game = meet(table, "Bats", seats, deck={"gear": 3})
    assert player(game, 0)["carried"] == {}
    assert player(game, 0)["home"] == {"gear": copies}


def test_herb_hut_with_laboratory(table: type[Table]) -> None:
    """L7: the hut keeps a treasure, the rest is discarded, and then the Laboratory draws."""
    seats: list[Player] = [
        {"hearts": 1, "carried": {"egg": 1, "fish": 1}, "buildings": {"Herb Hut": 1, "Laboratory": 1}},
        {},
        AT_HOME,
    ]
    # Both piles are empty, so what the Laboratory finds is what was just discarded.
    game = meet(table, "Bats", seats, deck={}, discard={})
    assert game.decision == "herb_hut"
    game.step({0: "TREASURE_FISH"})
    assert player(game, 0)["home"] == {"egg": 1, "fish": 1}
    assert game.snapshot()["discard"] == {}


def test_who_is_falling_and_who_is_jumping(table: type[Table]) -> None:
    """L7, L2: while an owner of a hut chooses, the snapshot still shows who jumped over the card and who fell."""
    hut = {"hearts": 1, "carried": {"gear": 1, "egg": 1}, "buildings": {"Herb Hut": 1}}
    game = meet(table, "Bats", [hut, {"hearts": 2}, {}], jump=[2])
    assert game.decision == "herb_hut"
    assert game.snapshot()["level_card"] == "Bats"
    assert [player(game, seat)["falling"] for seat in (0, 1, 2)] == [True, True, False]
    assert [player(game, seat)["in_level"] for seat in (0, 1, 2)] == [False, False, True]
    assert [player(game, seat)["jumping"] for seat in (0, 1, 2)] == [False, False, True]
    game.step({0: "TREASURE_EGG"})
    assert game.decision == "run"
    assert game.snapshot()["level_card"] == "Bats"
    assert not any(player(game, seat)["falling"] or player(game, seat)["jumping"] for seat in (0, 1, 2))


def test_laboratory_does_not_draw_for_going_home(table: type[Table]) -> None:
    """L7, L9: a Laboratory draws nothing for a player who leaves."""
    game = leave(table, [{"carried": {"egg": 1}, "buildings": {"Laboratory": 1}}, {}], stay=(1,), deck={"gear": 3})
    assert player(game, 0)["home"] == {"egg": 1}


def test_two_hospitals(table: type[Table]) -> None:
    """L7, C6, C8: each Hospital pays 2 coins; a neighbour without one gets nothing."""
    game = meet(table, "Bats", [{"hearts": 1}, {"buildings": {"Hospital": 2}}, {}])
    assert coins(game) == [0, 4, 0]


def test_hospital_pays_for_neighbours_only(table: type[Table]) -> None:
    """L7: with four players the seat opposite is not a neighbour, and players are not neighbours of themselves."""
    hospital = {"buildings": {"Hospital": 1}}
    game = meet(table, "Bats", [hospital | {"hearts": 1}, hospital, hospital, hospital])
    assert coins(game) == [0, 2, 0, 2]


def test_the_one_neighbour_counts_once(table: type[Table]) -> None:
    """L7: with two players, left and right are the same neighbour, whose fall counts once."""
    game = meet(table, "Bats", [{"hearts": 1, "home": {"gear": 1}}, {"buildings": {"Hospital": 1}}])
    assert coins(game) == [0, 2]


def test_hospital_of_one_who_falls_too(table: type[Table]) -> None:
    """L7: a Hospital pays though its owner falls on the same card."""
    game = meet(table, "Bats", [{"hearts": 1, "buildings": {"Hospital": 1}}, {"hearts": 2}, {}])
    assert coins(game) == [2, 0, 0]


def test_hospital_of_one_at_home(table: type[Table]) -> None:
    """L7: a Hospital pays though its owner is home."""
    game = meet(table, "Bats", [AT_HOME | {"buildings": {"Hospital": 1}}, {"hearts": 2}, {}])
    assert coins(game) == [2, 0, 0]


def test_both_neighbours_fall(table: type[Table]) -> None:
    """L7: a Hospital pays 2 coins for each neighbour who falls."""
    game = meet(table, "Bats", [{"buildings": {"Hospital": 1}}, {"hearts": 1}, {}, {"hearts": 2}])
    assert coins(game) == [4, 0, 0, 0]
    assert log(game, "coins") == [coins_from("Hospital", 0, 4)]


def test_falling_is_not_returning_home(table: type[Table]) -> None:
    """L7: no Bazaar pays and no Reptile Stable is used for a player who falls, even if huts keep several treasures."""
    buildings = {"Bazaar of Oddities": 1, "Reptile Stable": 1, "Herb Hut": 4}
    game = meet(table, "Bats", [{"hearts": 1, "carried": {"egg": 6}, "buildings": buildings}, {}])
    assert game.decision == "run"
    assert player(game, 0)["home"] == {"egg": 4}
    assert coins(game) == [0, 0]


def test_events_of_a_fall(table: type[Table]) -> None:
    """L7, L4: the events of one fall with a Hospital, a hut and a Laboratory."""
    seats: list[Player] = [
        {"hearts": 2, "carried": {"egg": 2, "fish": 1}, "buildings": {"Herb Hut": 1, "Laboratory": 1}},
        {"buildings": {"Hospital": 1}},
        {},
    ]
    game = meet(table, "Bats", seats, jump=[2], deck={"gear": 1})
    game.step({0: "TREASURE_FISH"})
    assert game.events == [
        {"step": 1, "event": "jump", "seat": 2},
        {"step": 1, "event": "reveal", "card": "Bats"},
        {"step": 1, "event": "damage", "seat": 0, "value": 2},
        {"step": 1, "event": "damage", "seat": 1, "value": 2},
        {"step": 1, "event": "damage", "seat": 2, "value": 2},
        {"step": 1, "event": "fall", "seat": 0},
        {"step": 1, "event": "coins", "seat": 1, "building": "Hospital", "value": 2},
        {"step": 2, "event": "keep", "seat": 0, "treasure": "fish", "value": 1},
        {"step": 2, "event": "discard", "seat": 0, "treasure": "egg", "value": 2},
        {"step": 2, "event": "draw", "seat": 0, "treasure": "gear"},
    ]


# L8: the rabbit


def test_trade_of_exactly_three(table: type[Table]) -> None:
    """L8: a player with five carrots trades three of them for three new treasures."""
    game = meet(table, "Rabbit", [{"carried": {"carrot": 5}}, {}], deck={"gear": 3}, seen=["Spires"])
    assert game.decision == "rabbit"
    assert game.active == [0]
    assert game.legal(0) == ["PASS", "TRADE"]
    before = game.snapshot()["discard"]["carrot"]
    game.step({0: "TRADE"})
    assert player(game, 0)["carried"] == {"gear": 3, "carrot": 2}
    assert game.snapshot()["discard"]["carrot"] == before + 3


def test_one_trade_for_each_meeting(table: type[Table]) -> None:
    """L8: a player with nine carrots trades once per meeting, even if three carrots are drawn."""
    game = meet(table, "Rabbit", [{"carried": {"carrot": 9}}, {}], deck={"carrot": 5})
    game.step({0: "TRADE"})
    assert player(game, 0)["carried"] == {"carrot": 9}
    assert game.decision == "run"


def test_trade_is_not_a_must(table: type[Table]) -> None:
    """L8: a player who passes keeps the carrots."""
    game = meet(table, "Rabbit", [{"carried": {"carrot": 3}}, {}], deck={"gear": 3})
    game.step({0: "PASS"})
    assert player(game, 0)["carried"] == {"carrot": 3}
    assert game.decision == "run"


def test_two_carrots_are_too_few(table: type[Table]) -> None:
    """L8: carrots at home and wild treasures do not count."""
    buildings = {"Fish Vendor": 1, "Ostrich Ranch": 1}
    seats: list[Player] = [
        {"carried": {"carrot": 2, "fish": 2, "egg": 2}, "home": {"carrot": 5}, "buildings": buildings},
        {},
    ]
    assert meet(table, "Rabbit", seats).decision == "run"


def test_the_rabbit_bites_before_the_trade(table: type[Table]) -> None:
    """L8, L7: a player who falls because of the Rabbit cannot trade."""
    game = meet(table, "Rabbit", [{"hearts": 1, "carried": {"carrot": 3}}, {}], discard={})
    assert game.decision == "run"
    assert game.active == [1]
    assert game.snapshot()["discard"] == {"carrot": 3}


def test_trade_after_jumping_the_rabbit(table: type[Table]) -> None:
    """L8, L5: a player who jumped over the Rabbit takes no damage and may trade."""
    game = meet(table, "Rabbit", [{"hearts": 1, "carried": {"carrot": 3}}, {}], jump=[0], deck={"gear": 3})
    assert game.decision == "rabbit"
    game.step({0: "TRADE"})
    assert player(game, 0)["hearts"] == 1
    assert player(game, 0)["carried"] == {"gear": 3}


def test_no_trade_at_home(table: type[Table]) -> None:
    """L8: only players in the level meet the Rabbit."""
    assert meet(table, "Rabbit", [AT_HOME | {"carried": {}, "home": {"carrot": 9}}, {}]).decision == "run"


def test_traders_decide_at_once(table: type[Table]) -> None:
    """L8, D3: all players with three carrots decide at the same time; one trades, one does not."""
    carrots = {"carried": {"carrot": 3}}
    game = meet(table, "Rabbit", [carrots, {}, carrots], deck={"egg": 6})
    assert game.active == [0, 2]
    game.step({0: "PASS", 2: "TRADE"})
    assert [player(game, seat)["carried"] for seat in (0, 1, 2)] == [{"carrot": 3}, {}, {"egg": 3}]
    assert log(game)[-4:] == [event("trade", seat=2), *[draw(2, "egg")] * 3]


# L9: staying or leaving


def test_everyone_in_the_level_chooses_at_once(table: type[Table]) -> None:
    """L9, D3: after the card, all players in the level decide at the same time."""
    game = meet(table, "Clouds", [{}, AT_HOME, {}])
    assert game.decision == "run"
    assert game.active == [0, 2]
    assert game.legal(0) == game.legal(2) == ["STAY", "LEAVE"]


def test_leaving_and_staying(table: type[Table]) -> None:
    """L9: a player who leaves takes the treasures home and draws nothing; a player who stays draws one."""
    seats: list[Player] = [{"carried": {"egg": 2}, "home": {"egg": 1}}, {"carried": {"egg": 1}, "jumps": 1}]
    game = leave(table, seats, stay=(1,), deck={"gear": 5})
    assert not player(game, 0)["in_level"]
    assert player(game, 0)["carried"] == {}
    assert player(game, 0)["home"] == {"egg": 3}
    assert player(game, 1)["in_level"]
    assert player(game, 1)["carried"] == {"gear": 1, "egg": 1}
    assert game.decision == "jump"


def test_leavers_are_home_before_stayers_draw(table: type[Table]) -> None:
    """L9: players who leave are home and their Bazaars have paid before the others draw."""
    seats: list[Player] = [
        {"jumps": 1},
        {"carried": {"egg": 5}, "buildings": {"Bazaar of Oddities": 1}},
        {"carried": {"egg": 1}},
    ]
    game = leave(table, seats, stay=(0,), deck={"gear": 5})
    assert log(game) == [
        event("stay", seat=0),
        event("home", seat=1, value=5),
        event("home", seat=2, value=1),
        coins_from("Bazaar of Oddities", 1, 1),
        draw(0, "gear"),
    ]


def test_stayers_draw_after_the_stables(table: type[Table]) -> None:
    """L9, L10: with both piles empty, a swap draws the card it discarded, and the player who stays draws nothing."""
    seats: list[Player] = [{"jumps": 1}, {"carried": {"gear": 1}, "buildings": {"Reptile Stable": 1}}, AT_HOME]
    game = leave(table, seats, stay=(0,), deck={}, discard={})
    assert game.decision == "reptile"
    assert player(game, 0)["carried"] == {}
    game.step({1: "TREASURE_GEAR"})
    assert log(game) == [
        event("stay", seat=0),
        event("home", seat=1, value=1),
        event("swap", seat=1, treasure="gear"),
        event("reshuffle"),
        draw(1, "gear"),
        draw(0, None),
    ]


@pytest.mark.parametrize(
    ("carried", "bazaars", "value"),
    [(4, 1, 0), (5, 1, 1), (6, 1, 1), (10, 1, 1), (5, 2, 2), (4, 2, 0)],
)
def test_bazaar_of_oddities(table: type[Table], carried: int, bazaars: int, value: int) -> None:
    """L9, C6, C8: each Bazaar pays 1 coin for five or more carried treasures; those at home do not count."""
    seat = {"carried": {"egg": carried}, "home": {"egg": 3}, "buildings": {"Bazaar of Oddities": bazaars}}
    game = leave(table, [seat, {}], stay=(1,))
    assert coins(game) == [value, 0]


# L10: the Reptile Stable


def test_reptile_stable(table: type[Table]) -> None:
    """L10, C6: a treasure at home, even one stored earlier, is swapped for one from the deck."""
    seat = {"carried": {"gear": 1}, "home": {"egg": 2}, "buildings": {"Reptile Stable": 1}}
    game = leave(table, [seat, {"jumps": 1}], stay=(1,), deck={"fish": 2})
    assert game.decision == "reptile"
    assert game.active == [0]
    assert game.legal(0) == ["PASS", *pick("gear", "egg")]
    before = game.snapshot()["discard"]["egg"]
    game.step({0: "TREASURE_EGG"})
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1, "fish": 1}
    assert game.snapshot()["discard"]["egg"] == before + 1
    assert game.decision == "jump"


def test_two_stables_one_after_the_other(table: type[Table]) -> None:
    """L10, C8: the choice for the second stable is made knowing what the first drew, and may swap it."""
    seat = {"carried": {"gear": 1, "egg": 1}, "buildings": {"Reptile Stable": 2}}
    game = leave(table, [seat, {"jumps": 1}], stay=(1,), deck={"fish": 3})
    assert player(game, 0)["picks_left"] == 2
    game.step({0: "TREASURE_EGG"})
    assert game.decision == "reptile"
    assert player(game, 0)["picks_left"] == 1
    assert game.legal(0) == ["PASS", *pick("gear", "fish")]
    game.step({0: "TREASURE_FISH"})
    assert player(game, 0)["home"] == {"gear": 1, "fish": 1}
    assert game.decision == "jump"
    assert log(game, "swap") == [event("swap", seat=0, treasure="egg"), event("swap", seat=0, treasure="fish")]


def test_a_pass_ends_the_stables(table: type[Table]) -> None:
    """L10: a player who passes at the first of two stables is not asked for the second."""
    seat = {"carried": {"gear": 1, "egg": 1}, "buildings": {"Reptile Stable": 2}}
    game = leave(table, [seat, {"jumps": 1}], stay=(1,), deck={"fish": 3})
    game.step({0: "PASS"})
    assert game.decision == "jump"
    assert player(game, 0)["picks_left"] == 0
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}


def test_an_empty_hand_has_nothing_to_swap(table: type[Table]) -> None:
    """L10: an owner without treasures at home is not asked."""
    game = leave(table, [{"buildings": {"Reptile Stable": 2}}, {"jumps": 1}], stay=(1,))
    assert game.decision == "jump"
    assert player(game, 0)["picks_left"] == 0


def test_two_swap_at_once(table: type[Table]) -> None:
    """L10, D2: both discard before either draws, and the first player draws first."""
    stable = {"buildings": {"Reptile Stable": 1}}
    seats: list[Player] = [stable | {"carried": {"gear": 1}}, stable | {"carried": {"fish": 1}}, {"jumps": 1}, AT_HOME]
    game = leave(table, seats, stay=(2,), deck={"egg": 1}, discard={}, first_player=1)
    assert game.decision == "reptile"
    assert game.active == [0, 1]
    game.step({0: "TREASURE_GEAR", 1: "TREASURE_FISH"})
    events = log(game)[3:]
    assert events[:4] == [
        event("swap", seat=0, treasure="gear"),
        event("swap", seat=1, treasure="fish"),
        draw(1, "egg"),
        event("reshuffle"),
    ]
    # Of the two discards seat 0 draws one, and seat 2, who stays, the other.
    assert [each["seat"] for each in events[4:6]] == [0, 2]
    assert {each["treasure"] for each in events[4:6]} == {"gear", "fish"}
    assert player(game, 1)["home"] == {"egg": 1}


def test_one_swaps_and_one_passes(table: type[Table]) -> None:
    """L10, D3: two players who leave decide at the same time, stable by stable."""
    seats: list[Player] = [
        {"carried": {"gear": 1}, "buildings": {"Reptile Stable": 1}},
        {"carried": {"gear": 2}, "buildings": {"Reptile Stable": 2}},
        {"jumps": 1},
    ]
    game = leave(table, seats, stay=(2,), deck={"fish": 5})
    assert game.active == [0, 1]
    game.step({0: "PASS", 1: "TREASURE_GEAR"})
    assert game.decision == "reptile"
    assert game.active == [1]
    game.step({1: "TREASURE_GEAR"})
    assert player(game, 0)["home"] == {"gear": 1}
    assert player(game, 1)["home"] == {"fish": 2}
    assert player(game, 2)["carried"] == {"fish": 1}


# L11: all ten cards seen


def test_all_ten_cards_seen(table: type[Table]) -> None:
    """L11: after the tenth card all players in the level go home without being asked; Bazaars and stables work."""
    seats: list[Player] = [
        {"carried": {"egg": 5}, "buildings": {"Bazaar of Oddities": 1}},
        {"carried": {"gear": 1, "fish": 1}, "buildings": {"Reptile Stable": 1}},
        AT_HOME,
    ]
    game = meet(table, "Green Mesa", seats, seen=all_but("Green Mesa"), deck={"stone": 1})
    assert log(game) == [
        event("reveal", card="Green Mesa"),
        event("home", seat=0, value=5),
        event("home", seat=1, value=2),
        coins_from("Bazaar of Oddities", 0, 1),
    ]
    assert game.decision == "reptile"
    assert game.legal(1) == ["PASS", *pick("gear", "fish")]
    game.step({1: "TREASURE_GEAR"})
    assert player(game, 1)["home"] == {"stone": 1, "fish": 1}
    assert game.snapshot()["phase"] == "buy"


def test_the_tenth_card_works_like_any_other(table: type[Table]) -> None:
    """L11, L7, L8: falls and the Rabbit's trades come before the others go home."""
    seats: list[Player] = [{"hearts": 1, "carried": {"egg": 2}}, {"carried": {"carrot": 3}}]
    game = meet(table, "Rabbit", seats, seen=all_but("Rabbit"), deck={"gear": 3})
    assert game.decision == "rabbit"
    game.step({1: "TRADE"})
    assert player(game, 0)["home"] == {}
    assert player(game, 1)["home"] == {"gear": 3}
    assert game.decision == "buy"


def test_nine_cards_seen(table: type[Table]) -> None:
    """L11, L9: after nine cards players still choose, and the tenth card is still to come."""
    seen = all_but("Bats")
    game = table.restore(state([{}, {}], "run", seen=seen))
    everyone(game, "STAY")
    assert log(game, "reveal") == [event("reveal", card="Bats")]
    assert game.snapshot()["phase"] == "buy"
    assert len(log(game, "home")) == 2


# L12: the end of phase 1


def test_the_last_one_leaves(table: type[Table]) -> None:
    """L12, B1: when nobody is in the level, the buy phase begins with the first player."""
    seats: list[Player] = [{"carried": {"egg": 1}}, {"carried": {"egg": 1}}, AT_HOME]
    game = leave(table, seats, first_player=1)
    snapshot = game.snapshot()
    assert snapshot["phase"] == "buy"
    assert snapshot["buyer"] == 1
    assert snapshot["level_card"] is None
    assert game.active == [1]
    assert log(game, "home", "phase")[-1] == event("phase", phase="buy")


def test_the_last_one_falls(table: type[Table]) -> None:
    """L12, L7: the level also ends when the last player falls."""
    game = meet(table, "Bats", [{"hearts": 1, "home": {"egg": 1}}, {"hearts": 2}])
    assert game.snapshot()["phase"] == "buy"
    assert game.active == [0]


def test_one_is_enough_to_go_on(table: type[Table]) -> None:
    """L12: the level goes on as long as one player is in it."""
    game = leave(table, [{}, {}, {}], stay=(2,), reveals=["Spires"])
    assert game.decision == "run"
    assert game.active == [2]
