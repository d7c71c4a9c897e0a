"""The game in sentences: the effects of buildings, the actions to choose from, the current decision, past events.

The sentences are made from snapshots and events alone (``games.snapshot``, ``games.events(i)``), so they work for any
game: one in progress, a restored one, or one that was read from a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from megaland_env import cards
from megaland_env.actions import (
    BUY_FIRST,
    HEART_FIRST,
    JUMP,
    LEAVE,
    NUM_ACTIONS,
    STAY,
    TRADE,
    TREASURE_FIRST,
    Kind,
)
from megaland_env.cards import BUILDINGS, HEART_COSTS, SMITHY_COINS, SMITHY_COSTS, Building, LevelCard, Treasure
from megaland_env.snapshot import Snapshot

SKULL = "☠"
JUMPABLE = "↑"

KIND_OF = {kind.label: kind for kind in Kind}
"""The kind of a snapshot's ``decision``."""

PHASES = {"level": "the level", "buy": "buying", "night": "the night", "over": "the game is over"}

LASTING = {
    Building.ARCADE: f"after buying: {cards.ARCADE_COINS} coins if you alone have fewest",
    Building.BAZAAR_OF_ODDITIES: f"going home with {cards.BAZAAR_TREASURES}+ treasures: {cards.BAZAAR_COINS} coin",
    Building.HOTEL: f"each heart you buy: {cards.HOTEL_COINS} coins",
    Building.TEMPLE_OF_ZOZ: f"meeting the Red Serpent: {cards.TEMPLE_COINS} coins",
    Building.HERB_HUT: "falling: keep 1 treasure",
    Building.REPTILE_STABLE: "going home: swap 1 treasure",
    Building.HOSPITAL: f"a neighbour falls: {cards.HOSPITAL_COINS} coins",
    Building.OSTRICH_RANCH: "eggs count as any treasure for buildings",
    Building.BOWLING_ALLEY: "night: 1 coin",
    Building.FISH_VENDOR: "once a round, 1 fish counts as any treasure",
    Building.SMITHY: f"each building you buy for {' or '.join(map(str, SMITHY_COSTS))}: {SMITHY_COINS} coins",
    Building.FISHING_POND: "night: draw 1 treasure",
    Building.SOAP_MAKERS: "Sludge Creature: no damage, draw 1 treasure",
    Building.HALL_OF_ELDERS: f"each normal building you buy: {cards.HALL_COINS} coin",
    Building.TOLL_BOOTH: f"each star building you buy: {cards.TOLL_COINS} coin",
    Building.LABORATORY: "falling: draw 1 treasure",
    Building.LODGE: f"night: {cards.MOON_COINS[Building.LODGE]} coins",
    Building.ROOT_MARKET: "once a round, 1 carrot counts as any treasure",
    Building.ENDLESS_MINE: f"night: {cards.MOON_COINS[Building.ENDLESS_MINE]} coins",
}
"""Lasting effects of the buildings, in a few words (C6). Buildings without an entry have none."""

CARD_NOTES = {
    LevelCard.TREASURE_BOX: "draw a treasure",
    LevelCard.RABBIT: f"{cards.RABBIT_CARROTS} carrots for {cards.RABBIT_CARROTS} new",
}
"""Effects of level cards other than damage, in a few words (C3)."""

_CARD_EFFECTS = {
    LevelCard.TREASURE_BOX: "Everyone in the level draws 1 treasure.",
    LevelCard.RABBIT: f"Anyone left in the level who carries {cards.RABBIT_CARROTS} carrots may discard "
    f"{cards.RABBIT_CARROTS} of them and draw {cards.RABBIT_CARROTS} treasures, once.",
    LevelCard.SLUDGE_CREATURE: "An owner of Soap Makers takes no damage and draws 1 treasure, jumping or not.",
    LevelCard.RED_SERPENT: f"Each Temple of Zoz pays an owner in the level {cards.TEMPLE_COINS} coins.",
}
"""Effects of level cards other than damage, in whole sentences (C3, L4 to L8)."""

_AT_ONCE = "when you buy it"
_EFFECTS = {
    Building.ARCADE: f"At the end of each buy phase you get {cards.ARCADE_COINS} coins if every other player has more "
    "coins than you.",
    Building.BAZAAR_OF_ODDITIES: f"Each time you return home with {cards.BAZAAR_TREASURES} or more carried treasures "
    f"you get {cards.BAZAAR_COINS} coin.",
    Building.HOTEL: f"Each heart that you buy later gives you {cards.HOTEL_COINS} coins.",
    Building.TEMPLE_OF_ZOZ: f"Each time the Red Serpent comes while you are in the level you get {cards.TEMPLE_COINS} "
    "coins, even if you jump or fall.",
    Building.HERB_HUT: "When you fall, you keep 1 of the treasures you carry.",
    Building.REPTILE_STABLE: "When you return home, you may discard 1 treasure from home and draw a new one.",
    Building.HOSPITAL: f"Each time your left or right neighbour falls you get {cards.HOSPITAL_COINS} coins.",
    Building.OSTRICH_RANCH: "Your eggs count as any treasure when you buy buildings, but not for hearts.",
    Building.BOWLING_ALLEY: f"Each night you get {cards.MOON_COINS[Building.BOWLING_ALLEY]} coin.",
    Building.FISH_VENDOR: "Once a round, one fish counts as any treasure, for buildings and hearts.",
    Building.SMITHY: f"Each building of cost {' or '.join(map(str, SMITHY_COSTS))} that you buy later gives you "
    f"{SMITHY_COINS} coins.",
    Building.FISHING_POND: "Each night you draw 1 treasure, after storing, so it is not discarded.",
    Building.SOAP_MAKERS: "The Sludge Creature does you no damage, and you draw 1 treasure when it comes. A second "
    "one adds nothing.",
    Building.HALL_OF_ELDERS: f"Each normal building that you buy later gives you {cards.HALL_COINS} coin.",
    Building.TOLL_BOOTH: f"Each star building that you buy later gives you {cards.TOLL_COINS} coin.",
    Building.LABORATORY: "When you fall, you draw 1 treasure after discarding.",
    Building.LODGE: f"Each night you get {cards.MOON_COINS[Building.LODGE]} coins.",
    Building.ROOT_MARKET: "Once a round, one carrot counts as any treasure, for buildings and hearts.",
    Building.ENDLESS_MINE: f"Each night you get {cards.MOON_COINS[Building.ENDLESS_MINE]} coins.",
}
"""``LASTING`` in whole sentences (C6)."""

_BUILDING_OF = {building.label: building for building in Building}
_CARD_OF = {card.label: card for card in LevelCard}
_QUESTIONS = {
    Kind.JUMP: "jump over the next card?",
    Kind.HERB_HUT: "which treasure to keep (Herb Hut)?",
    Kind.RABBIT: f"trade {cards.RABBIT_CARROTS} carrots for {cards.RABBIT_CARROTS} new treasures?",
    Kind.RUN: "stay in the level, or go home?",
    Kind.REPTILE: "swap a treasure (Reptile Stable)?",
    Kind.BUY: "what to buy?",
    Kind.STORE: "which treasure to store for the next round?",
}
_PASSES = {
    Kind.JUMP: "Do not jump",
    Kind.RABBIT: "Keep the carrots",
    Kind.REPTILE: "Swap nothing",
    Kind.BUY: "End your turn",
}


# ----------------------------------------------------------------------------------------------------- small words


def listed(words: Iterable[str]) -> str:
    """Join words to a list: ``"a, b and c"``."""
    *first, last = [*words] or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def counted(number: int, what: str, plural: str | None = None) -> str:
    """A number with its noun: ``"1 coin"``, ``"2 coins"``."""
    return f"{number} {what if number == 1 else plural or what + 's'}"


def treasures(hand: Mapping[str, int]) -> str:
    """A hand in words: ``"a gear, 2 stones and an egg"``."""
    return listed(_treasure(name, number) for name, number in hand.items() if number)


def _treasure(name: str, number: int) -> str:
    if number == 1:
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return f"{number} {_plural(name)}"


def _plural(name: str) -> str:
    return name if name == Treasure.FISH.label else f"{name}s"


def who(seat: int, viewer: int | None = None) -> str:
    """A seat in words: ``"you"`` for the viewer, ``"seat 2"`` for others."""
    return "you" if seat == viewer else f"seat {seat}"


def all_of(seats: Sequence[int], viewer: int | None = None) -> str:
    """Several seats: ``"you and seats 0, 2 and 3"``."""
    others = [seat for seat in seats if seat != viewer]
    named = [] if not others else [f"seat{'s' if len(others) > 1 else ''} {listed(map(str, others))}"]
    return " and ".join(["you"] * (len(others) < len(seats)) + named)


def card_words(name: str) -> str:
    """A level card with its skulls and its jump symbol: ``"Biting Plant ☠☠↑"``."""
    facts = cards.LEVEL_CARDS[_CARD_OF[name]]
    marks = SKULL * facts.skulls + JUMPABLE * facts.jump_symbol
    return f"{name} {marks}" if marks else name


def unseen_cards(snapshot: Snapshot) -> list[str]:
    """Level cards still to come in this round, in the order of the rules (C3)."""
    return [card.label for card in LevelCard if card.label not in snapshot["level_seen"]]


def building_words(name: str) -> str:
    """Effects of a building in short form: ``"4 coins at once; falling: keep 1 treasure"``."""
    building = _BUILDING_OF[name]
    gains = _gains(building)
    parts = [f"{gains} at once"] if gains else []
    return "; ".join([*parts, LASTING[building]] if building in LASTING else parts)


def _gains(building: Building) -> str:
    """Immediate gains of the buyer of a building: ``"6 coins and 2 jump tokens"``."""
    facts = BUILDINGS[building]
    coins = [counted(facts.coins, "coin")] if facts.coins else []
    jumps = [counted(facts.jumps, "jump token")] if facts.jumps else []
    return " and ".join([*coins, *jumps])


def explain_building(name: str) -> str:
    """Explain a building in whole sentences: its cost, its immediate gains and its lasting effect (C6)."""
    building = _BUILDING_OF[name]
    facts = BUILDINGS[building]
    kind = "star building" if is_star(name) else "building"
    treasures_ = "1 treasure" if facts.cost == 1 else f"{facts.cost} different treasures"
    parts = [f"{name}: a {kind} for {treasures_}."]
    gains = _gains(building)
    if gains:
        parts.append(f"You get {gains} {_AT_ONCE}.")
    return " ".join([*parts, _EFFECTS[building]] if building in _EFFECTS else parts)


def explain_card(name: str) -> str:
    """Explain a level card in whole sentences: its damage and its other effects (C3)."""
    card = _CARD_OF[name]
    facts = cards.LEVEL_CARDS[card]
    if not facts.skulls:
        damage = "No damage."
    else:
        jump = "and none to a player who jumps" if facts.jump_symbol else "and jumping does not help"
        damage = f"{counted(facts.skulls, 'heart')} of damage to everyone in the level, {jump}."
    return f"{card_words(name)}: {' '.join(filter(None, [damage, _CARD_EFFECTS.get(card)]))}"


def named_things() -> list[str]:
    """Names of everything that ``explain`` explains: the level cards and the buildings."""
    return [*_CARD_OF, *_BUILDING_OF]


def explain(name: str) -> str:
    """Explain the level card or the building of that name in whole sentences."""
    return explain_card(name) if name in _CARD_OF else explain_building(name)


def cost_of(name: str) -> int:
    """Cost of a building in treasures."""
    return BUILDINGS[_BUILDING_OF[name]].cost


def is_star(name: str) -> bool:
    """Whether a building is one of the six that are always on offer."""
    return _BUILDING_OF[name] in cards.STAR_BUILDINGS


def place(player: Mapping[str, Any]) -> str:
    """Where a player of a snapshot is: ``"in the level"``, ``"home"``, ``"fallen"`` and so on."""
    if player["falling"]:
        return "falling"
    if player["in_level"]:
        return "jumping" if player["jumping"] else "in the level"
    return "home" if player["hearts"] else "fallen"


# ----------------------------------------------------------------------------------------------------- decisions


def situation(snapshot: Snapshot, viewer: int | None = None) -> str:
    """The current decision and who makes it, or how the game has ended."""
    if snapshot["decision"] is None:
        return _ending(snapshot, viewer)
    return _capital(f"{all_of(snapshot['active'], viewer)}: {_question(snapshot)}")


def _question(snapshot: Snapshot) -> str:
    kind = KIND_OF[snapshot["decision"]]
    if kind != Kind.PAY:
        return _QUESTIONS[kind]
    pay = snapshot["pay"]
    left = pay["cost"] - sum(pay["paid"].values())
    return f"with what to pay for {purchase(pay)}? {left} of {pay['cost']} to pay"


def purchase(pay: Mapping[str, Any]) -> str:
    """The purchase that is being paid for, from ``snapshot["pay"]``: ``"the Lodge"``."""
    if pay["buying"] == "heart":
        return f"the heart (with {_plural(pay['treasure'])})"
    return f"the {pay['buying']}"


def _ending(snapshot: Snapshot, viewer: int | None) -> str:
    if snapshot["truncated"]:
        return f"Cut off after round {snapshot['round']}: nobody has won."
    winners = snapshot["winners"]
    coins = snapshot["players"][winners[0]]["coins"]
    names = _capital(all_of(winners, viewer))
    if len(winners) > 1:
        return f"{names} share the win with {counted(coins, 'coin')} each."
    return f"{names} {_verb('win', winners[0], viewer)} with {counted(coins, 'coin')}."


def choice_words(snapshot: Snapshot, seat: int, action: int, *, short: bool = False) -> str:
    """Describe an action at the current decision of a snapshot.

    Args:
        snapshot: from ``games.snapshot``.
        seat: the seat that decides.
        action: the number of the action.
        short: leave out the effects of a building.

    Raises:
        ValueError: there is no such action.
    """
    kind = KIND_OF[snapshot["decision"] or Kind.NONE.label]
    player = snapshot["players"][seat]
    if action == JUMP:
        return f"Jump over the next card (you have {counted(player['jumps'], 'jump token')})"
    if action == TRADE:
        return f"Trade {cards.RABBIT_CARROTS} carrots for {cards.RABBIT_CARROTS} new treasures"
    if action == STAY:
        return "Stay in the level and draw a treasure"
    if action == LEAVE:
        return f"Go home with {treasures(player['carried'])}"
    if BUY_FIRST <= action < HEART_FIRST:
        name = Building(action - BUY_FIRST).label
        bought = f"Buy {name} for {cost_of(name)}"
        return bought if short else f"{bought} ({building_words(name)})"
    if HEART_FIRST <= action < TREASURE_FIRST:
        number = player["max_hearts"] + 1
        return f"Buy your {number}th heart with {_treasure(Treasure(action - HEART_FIRST).label, HEART_COSTS[number])}"
    if TREASURE_FIRST <= action < NUM_ACTIONS:
        return _pick_words(snapshot, player, kind, Treasure(action - TREASURE_FIRST).label)
    if action != 0:
        raise ValueError(f"action {action!r} is not one of 0..{NUM_ACTIONS - 1}")
    return _PASSES.get(kind, "Pass")


def _pick_words(snapshot: Snapshot, player: Mapping[str, Any], kind: Kind, treasure: str) -> str:
    hand = player["carried" if kind == Kind.HERB_HUT else "home"]
    there = hand.get(treasure, 0) - player["picked"].get(treasure, 0)
    of = f" (of {there})" if there > 1 else ""
    one = _treasure(treasure, 1)
    if kind == Kind.PAY:
        pay = snapshot["pay"]
        is_wild = treasure in pay["paid"] if pay["treasure"] is None else treasure != pay["treasure"]  # B3, B4
        return f"Pay {one}{of}{', counting as another treasure' if is_wild else ''}"
    if kind == Kind.REPTILE:
        return f"Discard {one}{of} and draw a new treasure"
    return f"{'Store' if kind == Kind.STORE else 'Keep'} {one}{of}"


# ----------------------------------------------------------------------------------------------------- events


_TOPICS = {"keep": "hand", "discard": "hand", "pay": "purchase", "buy": "purchase", "heart": "purchase"}
"""Topics of events that share sentences with others. Every other event is a topic of its own."""


def tell(events: Sequence[Mapping[str, Any]], viewer: int | None = None) -> list[str]:
    """Describe events (``games.events(i)``) in sentences. One sentence covers all players whom the same event concerns.

    The beginnings of phases are left out, since they show in the events that follow.
    """
    sentences = []
    for topic, group in groupby((event for event in events if event["event"] != "phase"), _topic):
        told = [*group]
        sentences += _TELLERS[topic](told, viewer)
    return sentences


def _topic(event: Mapping[str, Any]) -> str:
    name: str = event["event"]
    return _TOPICS.get(name, name)


Told = Sequence[Mapping[str, Any]]


def _tell_market(events: Told, viewer: int | None) -> list[str]:
    return [f"On offer besides the stars: {listed(event['building'] for event in events)}."]


def _tell_first_player(events: Told, viewer: int | None) -> list[str]:
    return [_sentence(event["seat"], viewer, "be", "first player") for event in events]


def _tell_round(events: Told, viewer: int | None) -> list[str]:
    return [f"Round {event['value']} begins." for event in events]


def _tell_draw(events: Told, viewer: int | None) -> list[str]:
    drawn: dict[int, dict[str, int]] = {}
    for event in events:
        hand = drawn.setdefault(event["seat"], {})
        if event["treasure"] is not None:
            hand[event["treasure"]] = hand.get(event["treasure"], 0) + 1
    first, *others = drawn
    more = [f"{who(seat, viewer)} {treasures(drawn[seat])}" for seat in others]
    return [f"{_subject(first, viewer, 'draw')} {', '.join([treasures(drawn[first]), *more])}."]


def _tell_reshuffle(events: Told, viewer: int | None) -> list[str]:
    return ["The discard pile is shuffled and becomes the treasure deck."]


def _tell_reveal(events: Told, viewer: int | None) -> list[str]:
    return [f"The level shows {card_words(event['card'])}." for event in events]


def _tell_damage(events: Told, viewer: int | None) -> list[str]:
    by_value: dict[int, list[int]] = {}
    for event in events:
        by_value.setdefault(event["value"], []).append(event["seat"])
    return [_together(seats, viewer, "lose", counted(value, "heart")) for value, seats in by_value.items()]


def _tell_hand(events: Told, viewer: int | None) -> list[str]:
    hands: dict[int, dict[str, dict[str, int]]] = {}
    for event in events:
        hand = hands.setdefault(event["seat"], {}).setdefault(event["event"], {})
        hand[event["treasure"]] = hand.get(event["treasure"], 0) + event["value"]
    sentences = []
    for seat, done in hands.items():
        parts = [f"{_verb(verb, seat, viewer)} {treasures(hand)}" for verb, hand in done.items()]
        sentences.append(f"{_capital(who(seat, viewer))} {' and '.join(parts)}.")
    return sentences


def _tell_home(events: Told, viewer: int | None) -> list[str]:
    return [
        _sentence(event["seat"], viewer, "go", f"home with {counted(event['value'], 'treasure')}") for event in events
    ]


def _tell_swap(events: Told, viewer: int | None) -> list[str]:
    return [
        _sentence(event["seat"], viewer, "discard", f"{_treasure(event['treasure'], 1)} for a new one")
        for event in events
    ]


def _tell_purchase(events: Told, viewer: int | None) -> list[str]:
    """Describe payments with their purchase, or alone if the log begins or ends between them."""
    sentences = []
    paid: dict[str, int] = {}
    for event in events:
        seat = event["seat"]
        if event["event"] == "pay":
            paid[event["treasure"]] = paid.get(event["treasure"], 0) + 1
            continue
        what = "a heart" if event["event"] == "heart" else f"the {event['building']}"
        if paid:
            bought = f"{treasures(paid)} and {_verb('buy', seat, viewer)} {what}"
            sentences.append(_sentence(seat, viewer, "pay", bought))
        else:
            sentences.append(_sentence(seat, viewer, "buy", what))
        paid = {}
    if paid:
        sentences.append(_sentence(events[-1]["seat"], viewer, "pay", treasures(paid)))
    return sentences


def _tell_jumps(events: Told, viewer: int | None) -> list[str]:
    return [_sentence(event["seat"], viewer, "get", counted(event["value"], "jump token")) for event in events]


def _tell_coins(events: Told, viewer: int | None) -> list[str]:
    return [
        _sentence(event["seat"], viewer, "get", f"{counted(event['value'], 'coin')} from the {event['building']}")
        for event in events
    ]


def _all_do(verb: str, what: str = "") -> Any:
    def tell_all(events: Told, viewer: int | None) -> list[str]:
        return [_together([event["seat"] for event in events], viewer, verb, what)]

    return tell_all


_TELLERS = {
    "market": _tell_market,
    "first_player": _tell_first_player,
    "round": _tell_round,
    "draw": _tell_draw,
    "reshuffle": _tell_reshuffle,
    "jump": _all_do("jump"),
    "reveal": _tell_reveal,
    "damage": _tell_damage,
    "fall": _all_do("fall"),
    "hand": _tell_hand,
    "trade": _all_do("trade", f"{cards.RABBIT_CARROTS} carrots with the rabbit"),
    "stay": _all_do("stay"),
    "home": _tell_home,
    "swap": _tell_swap,
    "purchase": _tell_purchase,
    "jumps": _tell_jumps,
    "coins": _tell_coins,
    "pass": _all_do("buy", "no more"),
    "end": _all_do("win"),
}


def _verb(verb: str, seat: int, viewer: int | None) -> str:
    if verb == "be":
        return "are" if seat == viewer else "is"
    if seat == viewer:
        return verb
    return f"{verb}es" if verb.endswith("o") else f"{verb}s"


def _subject(seat: int, viewer: int | None, verb: str) -> str:
    return f"{_capital(who(seat, viewer))} {_verb(verb, seat, viewer)}"


def _sentence(seat: int, viewer: int | None, verb: str, what: str) -> str:
    return f"{_subject(seat, viewer, verb)} {what}."


def _together(seats: Sequence[int], viewer: int | None, verb: str, what: str) -> str:
    if len(seats) == 1:
        return f"{' '.join(filter(None, [_subject(seats[0], viewer, verb), what]))}."
    names = _capital(all_of(seats, viewer))
    return f"{' '.join(filter(None, [names, verb, what]))}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
