"""Self-checks of the slow twin: what must hold in any game.

The twin is what the engine is compared with, so it is checked here on its own: nothing is created or lost, every
legal action is accepted and every other one refused, and a game restored in the middle of any decision goes on as the
original.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, permutations, product
from random import Random
from typing import Any

import pytest

from tests.support.reference_game import (
    BUILDINGS,
    BUY_ACTION,
    HEART_ACTION,
    LEVEL_CARDS,
    NORMAL_BUILDINGS,
    STAR_BUILDINGS,
    TREASURE_ACTION,
    TREASURE_COPIES,
    TREASURES,
    ReferenceGame,
    WildRights,
    allowed_markets,
    building_payments,
    heart_payments,
    scramble,
    word_at,
)

Config = dict[str, Any]
Snapshot = dict[str, Any]
Character = Callable[[Random, ReferenceGame, int], str]

# Seven types with as many different questions and as much wild money as possible.
LIVELY_MARKET = ["Herb Hut", "Reptile Stable", "Gym", "Ostrich Ranch", "Fish Vendor", "Root Market", "Arena"]
DRAWING_MARKET = ["Herb Hut", "Hospital", "Soap Makers", "Laboratory", "Fishing Pond", "Lodge", "Endless Mine"]
ALL_ACTIONS = [
    *("PASS", "STAY", "LEAVE", "JUMP", "TRADE"),
    *BUY_ACTION.values(),
    *HEART_ACTION.values(),
    *TREASURE_ACTION.values(),
]
ALL_KINDS = {"jump", "herb_hut", "rabbit", "run", "reptile", "buy", "pay", "store"}


# ------------------------------------------------------------------------------------------------------ characters


def anyhow(luck: Random, game: ReferenceGame, seat: int) -> str:
    """Choose any legal action."""
    return luck.choice(game.legal(seat))


def preferring(*wanted: str) -> Character:
    """A player who chooses the first of these actions that is legal, or else any legal action."""

    def choose(luck: Random, game: ReferenceGame, seat: int) -> str:
        legal = game.legal(seat)
        return next((action for action in wanted if action in legal), luck.choice(legal))

    return choose


def hoarder(luck: Random, game: ReferenceGame, seat: int) -> str:
    """Never buys anything."""
    return "PASS" if game.decision == "buy" else anyhow(luck, game, seat)


def saver(luck: Random, game: ReferenceGame, seat: int) -> str:
    """Buys two buildings and then nothing more, so that there is something to choose when storing."""
    enough = sum(game.players[seat].buildings.values()) >= 2
    return "PASS" if game.decision == "buy" and enough else anyhow(luck, game, seat)


def rusher(luck: Random, game: ReferenceGame, seat: int) -> str:
    """Leaves at once and buys the most expensive building."""
    if game.decision == "buy":
        return max(game.legal(seat), key=lambda action: COST_OF.get(action, 0))
    return preferring("LEAVE")(luck, game, seat)


COST_OF = {BUY_ACTION[name]: building.cost for name, building in BUILDINGS.items()}
STAYER = preferring("STAY", "TRADE", *HEART_ACTION.values())
JUMPER = preferring("JUMP", "BUY_ARENA", "BUY_GYM")
SHOPPER = preferring(*reversed(BUY_ACTION.values()))
CHARACTERS: list[Character] = [anyhow, hoarder, saver, rusher, STAYER, JUMPER, SHOPPER]


def answers(luck: Random, game: ReferenceGame, characters: list[Character]) -> dict[int, str]:
    """The answers of the characters at the table."""
    return {seat: characters[seat](luck, game, seat) for seat in game.active}


# ------------------------------------------------------------------------------------------------------ conservation


def check_conservation(snapshot: Snapshot) -> None:
    """C2 to C6: every card, heart, token and building is in exactly one place."""
    players = snapshot["players"]
    piles = [snapshot["treasure_deck"], snapshot["discard"], *(player["carried"] for player in players)]
    piles += [player["home"] for player in players]
    if snapshot["pay"]:
        piles.append(snapshot["pay"]["paid"])
    assert {t: sum(pile.get(t, 0) for pile in piles) for t in TREASURES} == TREASURE_COPIES
    supply = snapshot["supply"]
    assert supply["hearts"] + sum(player["max_hearts"] for player in players) == 32
    assert supply["jumps"] + sum(player["jumps"] for player in players) == 14
    star_copies = dict(zip(STAR_BUILDINGS, snapshot["config"]["star_copies"], strict=True))
    for name, left in supply["buildings"].items():
        built = sum(player["buildings"].get(name, 0) for player in players)
        assert left >= 0
        assert left + built == star_copies.get(name, 4)
    assert all(name in supply["buildings"] for player in players for name in player["buildings"])


def check_sense(snapshot: Snapshot) -> None:
    """Check that a snapshot is plausible."""
    assert snapshot["active"] == sorted(snapshot["active"])
    assert bool(snapshot["active"]) == (snapshot["decision"] is not None) == (snapshot["phase"] != "over")
    assert (snapshot["buyer"] is not None) == (snapshot["phase"] == "buy")
    assert (snapshot["pay"] is not None) == (snapshot["decision"] == "pay")
    assert snapshot["phase"] == "level" or snapshot["level_card"] is None
    assert len(set(snapshot["level_seen"])) == len(snapshot["level_seen"])
    for seat, player in enumerate(snapshot["players"]):
        assert 0 <= player["hearts"] <= player["max_hearts"] <= 8
        for counts in (player["carried"], player["home"], player["buildings"], player["picked"]):
            assert all(count > 0 for count in counts.values())
        assert list(player["buildings"]) == [name for name in BUILDINGS if name in player["buildings"]]
        for treasure, building in (("fish", "Fish Vendor"), ("carrot", "Root Market")):
            assert 0 <= player["wild_used"][treasure] <= player["buildings"].get(building, 0)
        assert not player["bought"] or seat == snapshot["buyer"]
        assert not player["jumping"] or snapshot["decision"] in ("herb_hut", "rabbit")
        assert not player["falling"] or snapshot["decision"] == "herb_hut"
        assert not player["picks_left"] or snapshot["decision"] in ("herb_hut", "reptile", "store")
        assert not player["picked"] or snapshot["decision"] in ("herb_hut", "store")
        assert not player["carried"] or player["in_level"] or player["falling"]


def check_events(game: ReferenceGame) -> None:
    """Coins, hearts and tokens are what the events say; the steps of the events never go back."""
    steps = [event["step"] for event in game.events]
    assert steps == sorted(steps)
    assert all(0 <= step <= game.steps for step in steps)
    for seat, player in enumerate(game.players):
        mine = [event for event in game.events if event.get("seat") == seat]
        assert player.coins == sum(event["value"] for event in mine if event["event"] == "coins")
        assert player.max_hearts == 4 + sum(event["event"] == "heart" for event in mine)
        gained = sum(event["value"] for event in mine if event["event"] == "jumps")
        assert player.jumps == gained - sum(event["event"] == "jump" for event in mine)
        assert sum(player.buildings.values()) == sum(event["event"] == "buy" for event in mine)
        passes = sum(event["event"] == "pass" for event in mine)
        assert passes == (game.round if game.phase == "over" else passes)


def play(config: Config, seed: int, characters: list[Character], kinds: set[str] | None = None) -> ReferenceGame:
    """A whole game, checked at every step."""
    luck = Random(seed)
    game = ReferenceGame(config, seed)
    asked = [0] * len(characters)
    while game.decision is not None:
        snapshot = game.snapshot()
        check_conservation(snapshot)
        check_sense(snapshot)
        assert snapshot["decisions"] == asked
        if game.skip_forced:
            assert all(len(game.legal(seat)) > 1 for seat in game.active)
        assert all(game.legal(seat) == ["PASS"] for seat in game.seats if seat not in game.active)
        if kinds is not None:
            kinds.add(game.decision)
        for seat in game.active:
            asked[seat] += 1
        game.step(answers(luck, game, characters))
        assert game.steps == snapshot["steps"] + 1
    check_conservation(game.snapshot())
    check_sense(game.snapshot())
    check_events(game)
    assert game.terminated != game.truncated
    assert game.active == []
    assert bool(game.winners) == game.terminated
    most = max(player.coins for player in game.players)
    assert (most >= 20) == game.terminated
    if game.terminated:
        assert game.winners == [seat for seat in game.seats if game.players[seat].coins == most]
    else:
        assert game.round == game.config["max_rounds"]
    return game


@pytest.mark.parametrize("num_players", [2, 3, 4, 5])
@pytest.mark.parametrize("market", ["spread", "random", LIVELY_MARKET], ids=["spread", "random", "named"])
@pytest.mark.parametrize("payment", ["choose", "auto"])
def test_nothing_is_created_or_lost(num_players: int, market: str | list[str], payment: str) -> None:
    """Random play in every configuration (C, D1)."""
    for seed, (skip_forced, first_player, max_rounds) in enumerate(
        product((True, False), (None, num_players - 1), (20, 4))
    ):
        kinds: set[str] = set()
        config = {
            "num_players": num_players,
            "market": market,
            "payment": payment,
            "skip_forced": skip_forced,
            "first_player": first_player,
            "max_rounds": max_rounds,
        }
        game = play(config, seed, [anyhow] * num_players, kinds)
        assert game.round <= max_rounds
        assert "pay" not in kinds or payment == "choose"


@pytest.mark.parametrize("market", [LIVELY_MARKET, DRAWING_MARKET], ids=["lively", "drawing"])
def test_characters_at_one_table(market: list[str]) -> None:
    """Players who each overdo one thing, so that different supplies run low."""
    for seed in range(12):
        num_players = 2 + seed % 4
        table = [CHARACTERS[(seed + seat) % len(CHARACTERS)] for seat in range(num_players)]
        play({"num_players": num_players, "market": market, "skip_forced": seed % 2 == 0}, seed, table)


@pytest.mark.parametrize(
    "character", CHARACTERS, ids=["anyhow", "hoarder", "saver", "rusher", "stayer", "jumper", "shopper"]
)
def test_one_character_alone(character: Character) -> None:
    """Five of a kind."""
    game = play({"num_players": 5, "market": LIVELY_MARKET, "max_rounds": 20}, 7, [character] * 5)
    if character is hoarder:
        assert game.truncated  # D4
        assert game.round == 20
        assert not any(event["event"] in ("pay", "buy", "heart", "coins") for event in game.events)


# ---------------------------------------------------------------------------------------------------------- restore


@pytest.mark.parametrize("skip_forced", [True, False])
@pytest.mark.parametrize("market", [LIVELY_MARKET, DRAWING_MARKET], ids=["lively", "drawing"])
def test_a_restored_game_goes_on_as_the_original(skip_forced: bool, market: list[str]) -> None:
    """From every moment of a game, one step of the restored game equals one step of the original."""
    kinds: set[str] = set()
    for seed in range(10):
        luck = Random(seed)
        num_players = 2 + seed % 4
        table = [CHARACTERS[(seed * 2 + seat) % len(CHARACTERS)] for seat in range(num_players)]
        game = ReferenceGame({"num_players": num_players, "market": market, "skip_forced": skip_forced}, seed)
        while game.decision is not None:
            kinds.add(game.decision)
            snapshot = game.snapshot()
            through_json = json.loads(json.dumps(snapshot))
            assert through_json == snapshot
            restored = ReferenceGame.restore(through_json)
            assert restored.snapshot() == snapshot
            assert restored.events == []
            assert [restored.legal(seat) for seat in game.seats] == [game.legal(seat) for seat in game.seats]
            events_before = len(game.events)
            actions = answers(luck, game, table)
            restored.step(actions)
            game.step(actions)
            assert restored.snapshot() == game.snapshot()
            assert restored.events == game.events[events_before:]
        assert ReferenceGame.restore(game.snapshot()).snapshot() == game.snapshot()
    if market == LIVELY_MARKET:
        assert kinds == ALL_KINDS


def test_a_restored_game_plays_to_the_same_end() -> None:
    """The whole continuation from some moments of a game, and the snapshot left as it was."""
    luck = Random(3)
    game = ReferenceGame({"market": LIVELY_MARKET}, 3)
    begun: list[tuple[Snapshot, int, int]] = []
    answered: list[dict[int, str]] = []
    while game.decision is not None:
        if len(answered) % 25 == 0:
            begun.append((game.snapshot(), len(answered), len(game.events)))
        answered.append(answers(luck, game, [anyhow] * 4))
        game.step(answered[-1])
    for snapshot, moment, events_before in begun:
        untouched = json.dumps(snapshot)
        restored = ReferenceGame.restore(snapshot)
        for actions in answered[moment:]:
            restored.step(actions)
        assert restored.snapshot() == game.snapshot()
        assert restored.events == game.events[events_before:]
        assert json.dumps(snapshot) == untouched


# ----------------------------------------------------------------------------------------------------- legal actions


@pytest.mark.parametrize("skip_forced", [True, False])
def test_every_legal_action_is_accepted_and_no_other(skip_forced: bool) -> None:
    """At some moments of each kind every seat tries all forty actions."""
    tried: Counter[str] = Counter()
    for seed in range(8):
        luck = Random(seed)
        game = ReferenceGame({"num_players": 3, "market": LIVELY_MARKET, "skip_forced": skip_forced}, seed)
        while game.decision is not None:
            actions = answers(luck, game, [saver, STAYER, SHOPPER])
            if tried[game.decision] < 25:
                tried[game.decision] += 1
                try_all_actions(game, actions)
            game.step(actions)
    assert set(tried) == ALL_KINDS


def try_all_actions(game: ReferenceGame, actions: dict[int, str]) -> None:
    """Each seat's legal actions on a copy of the game, the others on the game itself, which they must not change."""
    snapshot = game.snapshot()
    for seat in game.active:
        legal = game.legal(seat)
        assert legal == [action for action in ALL_ACTIONS if action in legal]
        for action in ALL_ACTIONS:
            if action in legal:
                copy = ReferenceGame.restore(snapshot)
                copy.step(actions | {seat: action})
                check_conservation(copy.snapshot())
            else:
                with pytest.raises(ValueError, match=f"seat {seat} cannot '{action}'"):
                    game.step(actions | {seat: action})
    assert game.snapshot() == snapshot


def test_wrong_answers_change_nothing() -> None:
    """Missing, additional or empty answers are a ValueError, and the game does not change."""
    game = ReferenceGame({"num_players": 3}, 5)
    assert game.active == [0, 1, 2]
    before, events = game.snapshot(), list(game.events)
    good = {0: "STAY", 1: "STAY", 2: "LEAVE"}
    for wrong in ({}, {0: "STAY", 1: "STAY"}, good | {3: "STAY"}, good | {2: "JUMP"}, good | {1: "NONSENSE"}):
        with pytest.raises(ValueError, match="seat"):
            game.step(wrong)
        assert game.snapshot() == before
        assert game.events == events
    game.step(good)
    with pytest.raises(ValueError, match="seat 2 cannot 'STAY'"):
        game.step(good | {2: "STAY"})


def test_a_finished_game_takes_no_answers() -> None:
    """A finished game takes no answers, not even an empty one."""
    game = play({"num_players": 2, "max_rounds": 1}, 0, [hoarder] * 2)
    with pytest.raises(ValueError, match="over"):
        game.step({})


@pytest.mark.parametrize(
    "config",
    [
        {"num_players": 1},
        {"num_players": 6},
        {"market": "plenty"},
        {"market": LIVELY_MARKET[:6]},
        {"market": [*LIVELY_MARKET[:6], "Cafe"]},
        {"market": [*LIVELY_MARKET[:6], "Herb Hut"]},
        {"first_player": 4},
        {"payment": "never"},
        {"max_rounds": 0},
        {"star_copies": [5, 5]},
        {"players": 4},
    ],
    ids=str,
)
def test_a_senseless_configuration_is_refused(config: Config) -> None:
    """An invalid configuration is refused."""
    with pytest.raises(ValueError, match=r"."):
        ReferenceGame(config)


# ------------------------------------------------------------------------------------------ tables, chance, payments


def test_components() -> None:
    """C2 to C7 by their printed totals."""
    assert sum(TREASURE_COPIES.values()) == 96
    assert sorted(card.skulls for card in LEVEL_CARDS.values()) == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]
    assert len(STAR_BUILDINGS) == 6
    assert len(NORMAL_BUILDINGS) == 17
    assert len(ALL_ACTIONS) == 40
    game = ReferenceGame({"num_players": 5}, 0)
    assert game.hearts_left == 12  # C4
    assert sum(game.buildings_left[name] for name in STAR_BUILDINGS) == 28


def test_markets() -> None:
    """S1: 3,520 sets with every cost among all 19,448."""
    assert len(allowed_markets("random")) == 19448
    assert len(allowed_markets("spread")) == 3520
    assert allowed_markets("random")[0] == NORMAL_BUILDINGS[:7]


def test_chance_depends_on_the_address_alone() -> None:
    """SplitMix64 as published; and what one player does changes neither the level cards nor the others' luck."""
    assert word_at(0, "MARKET", 0, 0, 0) != word_at(1, "MARKET", 0, 0, 0)
    assert scramble(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # the first output of the generator seeded with 0
    for seed in range(10):
        reveals = []
        for character in (STAYER, preferring("LEAVE")):
            table: list[Character] = [character, STAYER]
            game = play({"num_players": 2, "max_rounds": 1}, seed, table)
            reveals.append([event["card"] for event in game.events if event["event"] == "reveal"])
        assert reveals[0][: len(reveals[1])] == reveals[1][: len(reveals[0])]


def names_of(payments: list[dict[str, int]]) -> set[str]:
    """Payments as names, for comparison."""
    return {" ".join(t for t in TREASURES for _ in range(cards.get(t, 0))) for cards in payments}


def test_payments() -> None:
    """B2 to B4: examples of payments."""
    poor = WildRights(eggs=False, fish=0, carrots=0)
    assert len(building_payments(1, poor)) == 6
    assert len(building_payments(3, poor)) == 20
    assert names_of(building_payments(6, poor)) == {"gear stone egg carrot crystal fish"}
    with_eggs = names_of(building_payments(3, WildRights(eggs=True, fish=0, carrots=0)))
    assert {"egg egg egg", "gear egg egg", "gear stone egg"} <= with_eggs
    assert "gear gear egg" not in with_eggs
    with_fish = names_of(building_payments(3, WildRights(eggs=False, fish=1, carrots=0)))
    assert {"gear fish fish", "gear stone fish"} <= with_fish
    assert not {"fish fish fish", "gear gear fish"} & with_fish
    assert names_of(heart_payments("gear", 2, poor)) == {"gear gear"}
    assert names_of(heart_payments("gear", 2, WildRights(eggs=True, fish=1, carrots=0))) == {"gear gear", "gear fish"}
    two = names_of(heart_payments("fish", 3, WildRights(eggs=True, fish=2, carrots=1)))
    assert two == {"fish fish fish", "carrot fish fish"}
    assert names_of(heart_payments("egg", 3, WildRights(eggs=False, fish=1, carrots=1))) == {
        "egg egg egg",
        "egg egg carrot",
        "egg egg fish",
        "egg carrot fish",
    }


def wild_cards_needed(cards: Sequence[str], rights: WildRights) -> set[tuple[int, int]]:
    """B2 and B3 taken literally: let the cards stand for different types in every way that the wild rights allow.

    How many fish and carrots are wild in each of these ways; nothing where the cards are no payment.
    """
    ways = set()
    for types in permutations(TREASURES, len(cards)):
        wild = Counter(card for card, stands_for in zip(cards, types, strict=True) if card != stands_for)
        allowed = {"fish": rights.fish, "carrot": rights.carrots, "egg": len(cards) if rights.eggs else 0}
        if all(count <= allowed.get(card, 0) for card, count in wild.items()):
            ways.add((wild["fish"], wild["carrot"]))
    return ways


@pytest.mark.parametrize("cost", [1, 2, 3, 4])
@pytest.mark.parametrize("rights", [WildRights(False, 0, 0), WildRights(True, 1, 2), WildRights(False, 3, 1)], ids=str)
def test_a_payment_stands_for_different_types(cost: int, rights: WildRights) -> None:
    """B2 and B3: the payments are those that can be read as different types; the first of each type is never wild."""
    payments = {tuple(sorted(Counter(cards).elements())): cards for cards in building_payments(cost, rights)}
    for cards in combinations_with_replacement(sorted(TREASURES), cost):
        ways = wild_cards_needed(cards, rights)
        assert (cards in payments) == bool(ways)
        if ways:
            fewest = (max(cards.count("fish") - 1, 0), max(cards.count("carrot") - 1, 0))
            assert fewest in ways
            assert all(fish >= fewest[0] and carrots >= fewest[1] for fish, carrots in ways)


def test_the_last_card_of_the_level_sends_everyone_home() -> None:
    """L11: players with plenty of tokens see all ten cards and are not asked after the last."""
    snapshot = ReferenceGame({"num_players": 2, "market": LIVELY_MARKET}, 11).snapshot()
    for player in snapshot["players"]:
        player["jumps"] = 7
    snapshot["supply"]["jumps"] = 0
    snapshot["decision"], snapshot["phase"] = "jump", "level"
    snapshot["level_card"], snapshot["level_seen"] = None, []
    for player in snapshot["players"]:
        player["hearts"] = 8
        player["max_hearts"] = 8
    snapshot["supply"]["hearts"] = 16
    game = ReferenceGame.restore(snapshot)
    while game.phase == "level":
        game.step({seat: "JUMP" if game.decision == "jump" else game.legal(seat)[0] for seat in game.active})
    reveals = [event["card"] for event in game.events if event["event"] == "reveal"]
    assert sorted(reveals) == sorted(LEVEL_CARDS)
    last_reveal = max(i for i, event in enumerate(game.events) if event["event"] == "reveal")
    assert [event["seat"] for event in game.events[last_reveal:] if event["event"] == "home"] == [0, 1]
    assert sum(event["event"] == "stay" for event in game.events) == 18
