"""Phase 3, the night, and the end of the game: rules N and D4."""

from __future__ import annotations

import pytest

from tests.support.tables import (
    Player,
    Table,
    coins,
    coins_from,
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
)

# A buyer has something to buy with, so that there is a question before the night.
BUYER: Player = {"home": {"gear": 1}}


# N1: the first player


@pytest.mark.parametrize(("first_player", "new"), [(0, 1), (1, 2), (2, 0)])
def test_the_token_passes_left(table: type[Table], first_player: int, new: int) -> None:
    """N1, L1, D2: the next seat becomes first player: it draws first on entering, and buys first."""
    game = night(table, [BUYER] * 3, first_player=first_player)
    assert game.snapshot()["first_player"] == new
    assert log(game, "first_player") == [event("first_player", seat=new)]
    assert log(game, "draw")[0]["seat"] == new


def test_from_here_on(table: type[Table]) -> None:
    """N1, N3, D2: the Fishing Ponds of the same night already draw in order from the new first player."""
    pond = {"home": {"egg": 1}, "buildings": {"Fishing Pond": 1}}
    game = night(table, [pond] * 3, first_player=0)
    assert [each["seat"] for each in log(game, "draw")[:3]] == [1, 2, 0]


# N2: storing


def test_without_buildings_nothing_is_kept(table: type[Table]) -> None:
    """N2: without buildings all treasures at home are discarded, and nothing is asked."""
    game = night(table, [{"home": {"egg": 2, "fish": 1}}, {}], discard={})
    assert game.decision == "jump"
    assert player(game, 0)["home"] == {}
    assert game.snapshot()["discard"] == {"egg": 2, "fish": 1}


@pytest.mark.parametrize("home", [{"egg": 2, "fish": 1}, {"egg": 3}, {"fish": 1}])
@pytest.mark.parametrize("skip_forced", [True, False])
def test_with_buildings_enough_all_is_kept(table: type[Table], home: dict[str, int], skip_forced: bool) -> None:
    """N2: three buildings store three treasures, two of them alike; nothing is asked."""
    seat = {"home": home, "buildings": {"Lodge": 2, "Cafe": 1}}
    game = night(table, [seat, {}], skip_forced=skip_forced)
    assert game.decision == "jump"
    assert player(game, 0)["home"] == home


def test_the_player_chooses_what_to_keep(table: type[Table]) -> None:
    """N2, D3: one treasure for each building, chosen one after the other."""
    home = {"gear": 1, "egg": 2, "fish": 1}
    game = night(table, [{"home": home, "buildings": {"Lodge": 2}}, {}], discard={})
    assert game.decision == "store"
    assert game.active == [0]
    assert game.legal(0) == pick("gear", "egg", "fish")
    assert player(game, 0)["picks_left"] == 2
    game.step({0: "TREASURE_EGG"})
    assert game.legal(0) == pick("gear", "egg", "fish")
    assert player(game, 0)["home"] == home
    game.step({0: "TREASURE_GEAR"})
    assert game.decision == "jump"
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}
    assert game.snapshot()["discard"] == {"egg": 1, "fish": 1}


def test_two_of_a_type_may_be_kept(table: type[Table]) -> None:
    """N2: a player may store two treasures of a type, but not more than are in the hand."""
    game = night(table, [{"home": {"gear": 1, "egg": 2}, "buildings": {"Lodge": 2}}, {}], discard={})
    game.step({0: "TREASURE_GEAR"})
    # One gear, and it is picked; what is left are eggs, and no question.
    assert game.decision == "jump"
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}


@pytest.mark.parametrize(("home", "buildings"), [({"egg": 3}, 2), ({"egg": 2}, 1)])
def test_one_type_is_no_choice(table: type[Table], home: dict[str, int], buildings: int) -> None:
    """N2: a hand of one type leaves no choice; it is asked, pick by pick, only if forced choices are."""
    seat = {"home": home, "buildings": {"Lodge": buildings}}
    game = night(table, [seat, {}])
    assert game.decision == "jump"
    assert player(game, 0)["home"] == {"egg": buildings}
    game = night(table, [seat, {}], skip_forced=False)
    for _ in range(buildings):
        assert game.decision == "store"
        assert game.legal(0) == pick("egg")
        game.step({0: "TREASURE_EGG"})
    assert game.decision == "jump"
    assert player(game, 0)["home"] == {"egg": buildings}


def test_all_store_at_once(table: type[Table]) -> None:
    """N2, D3: players choose pick by pick at the same time; seats without a choice have already discarded."""
    seats: list[Player] = [
        {"home": {"gear": 1, "egg": 1}, "buildings": {"Lodge": 1}},
        {"home": {"crystal": 3}},
        {"home": {"gear": 1, "egg": 1, "fish": 1}, "buildings": {"Lodge": 2}},
    ]
    game = night(table, seats, discard={})
    assert game.active == [0, 2]
    assert game.snapshot()["discard"] == {"crystal": 3}
    game.step({0: "TREASURE_EGG", 2: "TREASURE_FISH"})
    assert game.active == [2]
    assert player(game, 0)["home"] == {"gear": 1, "egg": 1}
    assert coins(game) == [0, 0, 0]
    game.step({2: "TREASURE_EGG"})
    assert player(game, 0)["home"] == {"egg": 1}
    assert player(game, 2)["home"] == {"egg": 1, "fish": 1}
    assert game.snapshot()["discard"] == {"gear": 2, "crystal": 3}
    assert coins(game) == [2, 0, 4]


def test_who_keeps_all_is_not_asked_with_the_others(table: type[Table]) -> None:
    """N2: one player chooses; a player who keeps everything and one who has nothing are not asked."""
    seats: list[Player] = [
        {"home": {"gear": 1, "egg": 1}, "buildings": {"Lodge": 1}},
        {"home": {"gear": 1, "egg": 1}, "buildings": {"Lodge": 2}},
        {"buildings": {"Lodge": 1}},
    ]
    game = night(table, seats, discard={})
    assert game.active == [0]
    game.step({0: "TREASURE_EGG"})
    assert [player(game, seat)["home"] for seat in (0, 1, 2)] == [{"egg": 1}, {"gear": 1, "egg": 1}, {}]
    assert log(game, "keep", "discard") == [
        event("keep", seat=0, treasure="egg", value=1),
        event("discard", seat=0, treasure="gear", value=1),
    ]


def test_all_store_before_the_ponds_draw(table: type[Table]) -> None:
    """N2, N3, D1: the deck is empty, and the pond draws from what was discarded on the same night."""
    seats: list[Player] = [
        {"home": {"gear": 1, "egg": 1}, "buildings": {"Fishing Pond": 1}},
        {"home": {"fish": 2}},
        {},  # has all the other treasures, and keeps none
    ]
    game = night(table, seats, deck={}, discard={})
    game.step({0: "TREASURE_EGG"})
    kinds = [each["event"] for each in log(game, "keep", "discard", "reshuffle", "draw")]
    assert kinds[kinds.index("reshuffle") :] == ["reshuffle", "draw", "draw", "draw", "draw"]
    assert kinds.count("reshuffle") == 1
    # 96 cards but the egg that is kept, the pond's, and the three of entering.
    assert sum(game.snapshot()["treasure_deck"].values()) == 96 - 1 - 1 - 3


def test_events_of_a_night(table: type[Table]) -> None:
    """N1, N2, N3: the order of events: the token, discards without a choice, choices, coins by building, ponds."""
    seats: list[Player] = [
        {"home": {"gear": 1, "egg": 2}, "buildings": {"Lodge": 1, "Fishing Pond": 1}},
        {"home": {"fish": 1, "crystal": 2}},
        {"home": {"egg": 1}, "buildings": {"Bowling Alley": 1, "Lodge": 1}},
    ]
    game = night(table, seats, deck={"stone": 9})
    game.step({0: "TREASURE_EGG"})
    game.step({0: "TREASURE_GEAR"})
    after_the_buyers = log(game)[3:]
    assert after_the_buyers == [
        event("phase", phase="night"),
        event("first_player", seat=1),
        event("discard", seat=1, treasure="crystal", value=2),
        event("discard", seat=1, treasure="fish", value=1),
        event("keep", seat=0, treasure="gear", value=1),
        event("keep", seat=0, treasure="egg", value=1),
        event("discard", seat=0, treasure="egg", value=1),
        coins_from("Bowling Alley", 2, 1),
        coins_from("Lodge", 0, 2),
        coins_from("Lodge", 2, 2),
        draw(0, "stone"),
        event("round", value=2),
        event("phase", phase="level"),
        draw(1, "stone"),
        draw(2, "stone"),
        draw(0, "stone"),
    ]


# N3: the moon


@pytest.mark.parametrize(
    ("buildings", "value"),
    [
        ({"Bowling Alley": 1}, 1),
        ({"Lodge": 1}, 2),
        ({"Endless Mine": 1}, 3),
        ({"Bowling Alley": 2}, 2),
        ({"Lodge": 3}, 6),
        ({"Bowling Alley": 2, "Lodge": 2, "Endless Mine": 1}, 9),
        ({"Cafe": 1, "Smithy": 1}, 0),
    ],
)
def test_moon_coins(table: type[Table], buildings: dict[str, int], value: int) -> None:
    """N3, C6, C8: each copy of Bowling Alley pays 1 coin, of Lodge 2, of Endless Mine 3."""
    assert coins(night(table, [BUYER | {"buildings": buildings}, {}])) == [value, 0]


@pytest.mark.parametrize("ponds", [1, 2])
def test_fishing_pond(table: type[Table], ponds: int) -> None:
    """N3, C6, C8: each pond draws a treasure, in addition to those that the buildings store."""
    home = {"egg": ponds}
    game = night(table, [{"home": home, "buildings": {"Fishing Pond": ponds}}, {}], deck={"fish": 6})
    assert game.decision == "jump"
    assert player(game, 0)["home"] == {"egg": ponds, "fish": ponds}


def test_the_ponds_treasure_in_the_next_night(table: type[Table]) -> None:
    """N3, N2: a pond's treasure is not discarded on its own night; on the next it needs a building like any other."""
    pond = {"home": {"egg": 1}, "buildings": {"Fishing Pond": 1}, "jumps": 1}
    game = night(table, [pond, {"jumps": 0}], deck={"fish": 9}, reveals=["Clouds"])
    assert player(game, 0)["home"] == {"egg": 1, "fish": 1}
    # The next round: home with one more fish, buying nothing.
    game.step({0: "PASS"})
    everyone(game, "LEAVE")
    pass_all(game)
    assert game.decision == "store"
    assert player(game, 0)["home"] == {"egg": 1, "fish": 2}
    assert player(game, 0)["picks_left"] == 1
    game.step({0: "TREASURE_FISH"})
    assert player(game, 0)["home"] == {"fish": 2}


def test_the_deck_runs_out_between_two_ponds(table: type[Table]) -> None:
    """N3, D1, D2: the new first player draws the last egg; before the next draw the discard pile is shuffled."""
    pond = {"home": {"stone": 1}, "buildings": {"Fishing Pond": 1}}
    game = night(table, [pond, pond, pond], deck={"egg": 1})
    draws = log(game, "reshuffle", "draw")
    assert draws[:2] == [draw(1, "egg"), event("reshuffle")]
    assert [each["seat"] for each in draws[2:]] == [2, 0, 1, 2, 0]


# N4: the new day


def test_hearts_level_deck_and_rights_are_renewed(table: type[Table]) -> None:
    """N4: at night all hearts, the ten level cards and the wild rights are back."""
    seats: list[Player] = [
        {
            "hearts": 1,
            "max_hearts": 6,
            "home": {"gear": 1},
            "buildings": {"Fish Vendor": 1, "Root Market": 1},
            "wild_used": {"fish": 1, "carrot": 1},
        },
        {"hearts": 0, "max_hearts": 4},
    ]
    game = night(table, seats, seen=["Bats", "Rabbit", "Red Serpent"])
    assert [player(game, seat)["hearts"] for seat in (0, 1)] == [6, 4]
    assert player(game, 0)["wild_used"] == {"fish": 0, "carrot": 0}
    assert game.snapshot()["level_seen"] == []


def test_hearts_are_not_restored_before(table: type[Table]) -> None:
    """N4, L12: hearts lost in the level are not restored before the night."""
    game = meet(table, "Bats", [{"home": {"gear": 1}}, {}])
    everyone(game, "LEAVE")
    assert game.snapshot()["phase"] == "buy"
    assert [player(game, seat)["hearts"] for seat in (0, 1)] == [2, 2]
    assert game.snapshot()["level_seen"] == ["Bats"]


def test_a_right_used_up_is_there_again(table: type[Table]) -> None:
    """N4, B3: two fish that paid for a Cafe in one round do not keep two others from paying in the next."""
    seats: list[Player] = [
        {"home": {"fish": 4}, "buildings": {"Fish Vendor": 1, "Lodge": 1}, "wild_used": {"fish": 1}, "jumps": 1},
        {"jumps": 0},
    ]
    game = night(table, seats, deck={"stone": 9}, reveals=["Clouds"])
    assert player(game, 0)["home"] == {"fish": 2}
    game.step({0: "PASS"})
    everyone(game, "LEAVE")
    # The new first player is seat 1, with the stone of entering.
    game.step({1: "PASS"})
    assert game.active == [0]
    assert player(game, 0)["home"] == {"stone": 1, "fish": 2}
    # An Arcade: stone, fish, and the wild fish.
    assert "BUY_ARCADE" in game.legal(0)


# N5: the end


def test_twenty_coins_end_the_game_at_night(table: type[Table]) -> None:
    """N5: when a player reaches 20 coins by buying, the others still take their turns."""
    game = table.restore(state([{"coins": 19, "home": {"gear": 1}}, BUYER], "buy"))
    game.step({0: "BUY_SANDWICH_STAND"})
    assert coins(game) == [20, 0]
    assert game.decision == "buy"
    assert game.active == [1]
    assert not game.terminated
    game.step({1: "PASS"})
    assert game.terminated
    assert not game.truncated
    assert game.decision is None
    assert game.active == []
    snapshot = game.snapshot()
    assert snapshot["phase"] == "over"
    assert snapshot["winners"] == [0]
    assert snapshot["round"] == 1
    assert log(game, "end", "round") == [event("end", seat=0)]


def test_twenty_coins_in_the_level(table: type[Table]) -> None:
    """N5: a Hospital that brings 21 coins does not end the run."""
    game = meet(table, "Bats", [{"coins": 19, "buildings": {"Hospital": 1}}, {"hearts": 1}, {}])
    assert coins(game) == [21, 0, 0]
    assert game.decision == "run"
    assert not game.terminated


def test_nineteen_coins_are_too_few(table: type[Table]) -> None:
    """N5: the next round starts."""
    game = night(table, [BUYER | {"coins": 19}, {"coins": 19}])
    assert not game.terminated
    assert game.snapshot()["round"] == 2
    assert game.snapshot()["winners"] == []


@pytest.mark.parametrize(
    ("buildings", "before"), [({"Lodge": 1}, 18), ({"Endless Mine": 1}, 17), ({"Bowling Alley": 1}, 19)]
)
def test_moon_coins_count(table: type[Table], buildings: dict[str, int], before: int) -> None:
    """N5, N3: the coins of this night are counted."""
    game = night(table, [BUYER | {"coins": before, "buildings": buildings}, {}])
    assert game.terminated
    assert game.snapshot()["winners"] == [0]


def test_arcade_coins_count(table: type[Table]) -> None:
    """N5, B7: the coins of an Arcade are counted, even if its owner still has the fewest."""
    game = night(table, [BUYER | {"coins": 18, "buildings": {"Arcade": 1}}, {"coins": 19}])
    assert game.terminated
    assert game.snapshot()["winners"] == [0]


@pytest.mark.parametrize(
    ("purses", "winners"),
    [
        ([20, 23, 3], [1]),
        ([20, 3, 23], [2]),
        ([20, 19, 19], [0]),
        ([21, 21, 3], [0, 1]),
        ([25, 20, 25], [0, 2]),
        ([20, 20, 20], [0, 1, 2]),
    ],
)
def test_most_coins_win(table: type[Table], purses: list[int], winners: list[int]) -> None:
    """N5: the player with the most coins wins, not the first to have 20; tied players share the win."""
    game = night(table, [BUYER | {"coins": purse} for purse in purses])
    assert game.terminated
    assert game.snapshot()["winners"] == winners
    assert log(game, "end") == [event("end", seat=seat) for seat in winners]


def test_the_last_night_is_a_whole_night(table: type[Table]) -> None:
    """N5, N1, N4: when the game ends, the token has passed, hearts are restored and the level deck is complete."""
    game = night(table, [BUYER | {"coins": 20, "hearts": 1, "max_hearts": 4}, {}], seen=["Bats"])
    snapshot = game.snapshot()
    assert game.terminated
    assert snapshot["first_player"] == 1
    assert snapshot["level_seen"] == []
    assert player(game, 0)["hearts"] == 4
    assert player(game, 0)["home"] == {}


# D4: the cut-off


def test_cut_off(table: type[Table]) -> None:
    """D4: after the last of max_rounds rounds nobody has won."""
    game = night(table, [BUYER | {"coins": 19}, {"coins": 3}], max_rounds=3, round_number=3)
    snapshot = game.snapshot()
    assert game.truncated
    assert not game.terminated
    assert game.decision is None
    assert game.active == []
    assert snapshot["phase"] == "over"
    assert snapshot["truncated"]
    assert snapshot["winners"] == []
    assert snapshot["round"] == 3
    assert log(game, "end", "round") == []


def test_the_end_comes_before_the_cut_off(table: type[Table]) -> None:
    """D4, N5: a player with 20 coins in the last round wins; the game is not cut off."""
    game = night(table, [BUYER | {"coins": 20}, {"coins": 3}], max_rounds=3, round_number=3)
    assert game.terminated
    assert not game.truncated
    assert game.snapshot()["winners"] == [0]
    assert not game.snapshot()["truncated"]


def test_no_cut_off_before_the_last_round(table: type[Table]) -> None:
    """D4: after the second to last round, the last one is played."""
    game = night(table, [BUYER, {}], max_rounds=3, round_number=2)
    assert not game.truncated
    assert game.snapshot()["round"] == 3


def test_fifty_rounds_by_default(table: type[Table]) -> None:
    """D4: without ``max_rounds`` in the configuration, a game is cut off after 50 rounds."""
    assert table.new({}, 0).snapshot()["config"]["max_rounds"] == 50
