"""One table of the game in words, played by the engine or by the slow twin, and hand-made states for it.

The tests of the rules are a specification: they know treasures, cards, buildings and actions by name, never an array.
Whatever they say must hold for both implementations, so each is wrapped in a class with the words of :class:`Table`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import count
from typing import Any, Protocol

Snapshot = dict[str, Any]
Event = dict[str, Any]
Player = dict[str, Any]

# C2 to C7, once more by hand: a specification does not read the tables that it checks.
TREASURES = {"gear": 6, "stone": 20, "egg": 16, "carrot": 30, "crystal": 10, "fish": 14}
LEVEL_CARDS = (
    "Clouds",
    "Spires",
    "Green Mesa",
    "Treasure Box",
    "Floating Eye",
    "Rabbit",
    "Sludge Creature",
    "Bats",
    "Biting Plant",
    "Red Serpent",
)
STARS = ("Sandwich Stand", "Cafe", "Arcade", "Bazaar of Oddities", "Hotel", "Temple of Zoz")
STAR_COPIES = (5, 5, 5, 5, 4, 4)
NORMAL_COPIES = 4
COSTS = {
    "Sandwich Stand": 1,
    "Cafe": 2,
    "Arcade": 3,
    "Bazaar of Oddities": 4,
    "Hotel": 5,
    "Temple of Zoz": 6,
    "Herb Hut": 1,
    "Reptile Stable": 1,
    "Gym": 2,
    "Hospital": 2,
    "Ostrich Ranch": 2,
    "Bowling Alley": 3,
    "Fish Vendor": 3,
    "Smithy": 3,
    "Fishing Pond": 3,
    "Soap Makers": 3,
    "Hall of Elders": 3,
    "Toll Booth": 3,
    "Laboratory": 3,
    "Lodge": 4,
    "Root Market": 4,
    "Arena": 5,
    "Endless Mine": 5,
}
NORMALS = tuple(name for name in COSTS if name not in STARS)
USUAL_MARKET = ("Herb Hut", "Reptile Stable", "Gym", "Fish Vendor", "Bowling Alley", "Lodge", "Arena")
HEART_TOKENS = 32
JUMP_TOKENS = 14


class Table(Protocol):
    """The interface of an implementation that the rule tests use."""

    @classmethod
    def new(cls, config: Mapping[str, Any], seed: int) -> Table:
        """Start a new game."""

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Table:
        """Continue a game from ``snapshot``."""

    @property
    def decision(self) -> str | None:
        """The kind of decision (``"run"``), or None when the game is over."""

    @property
    def active(self) -> list[int]:
        """The seats that are asked now."""

    @property
    def terminated(self) -> bool:
        """Whether the game has ended by N5."""

    @property
    def truncated(self) -> bool:
        """Whether the game was cut off by D4."""

    @property
    def events(self) -> list[Event]:
        """The events since ``new`` or ``restore``."""

    def legal(self, seat: int) -> list[str]:
        """The names of the legal actions of a seat."""

    def step(self, actions: Mapping[int, str]) -> None:
        """Carry out the answers of all active seats, by name."""

    def snapshot(self) -> Snapshot:
        """The whole state in words."""


class TwinTable:
    """The slow, simple twin (``tests/support/reference_game.py``)."""

    def __init__(self, game: Any) -> None:
        self._game = game

    @classmethod
    def new(cls, config: Mapping[str, Any], seed: int) -> TwinTable:
        from tests.support.reference_game import ReferenceGame

        return cls(ReferenceGame(dict(config), seed))

    @classmethod
    def restore(cls, snapshot: Snapshot) -> TwinTable:
        from tests.support.reference_game import ReferenceGame

        return cls(ReferenceGame.restore(deepcopy(snapshot)))

    @property
    def decision(self) -> str | None:
        decision: str | None = self._game.decision
        return decision

    @property
    def active(self) -> list[int]:
        return list(self._game.active)

    @property
    def terminated(self) -> bool:
        return bool(self._game.terminated)

    @property
    def truncated(self) -> bool:
        return bool(self._game.truncated)

    @property
    def events(self) -> list[Event]:
        return list(self._game.events)

    def legal(self, seat: int) -> list[str]:
        return list(self._game.legal(seat))

    def step(self, actions: Mapping[int, str]) -> None:
        self._game.step(dict(actions))

    def snapshot(self) -> Snapshot:
        snapshot: Snapshot = self._game.snapshot()
        return snapshot


class EngineTable:
    """The vectorised engine, with a batch of one game."""

    def __init__(self, games: Any) -> None:
        self._games = games

    # Imported where used, so that the twin's half runs without the engine.
    @classmethod
    def new(cls, config: Mapping[str, Any], seed: int) -> EngineTable:
        from megaland_env import MegalandConfig, MegalandGames

        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in config.items()
        }
        games = MegalandGames(MegalandConfig(**fields), num_games=1, record=True)
        games.reset(seed)
        return cls(games)

    @classmethod
    def restore(cls, snapshot: Snapshot) -> EngineTable:
        from megaland_env import MegalandGames

        return cls(MegalandGames.restore([deepcopy(snapshot)], record=True))

    @property
    def decision(self) -> str | None:
        from megaland_env import Kind

        kind = Kind(int(self._games.kind[0]))
        return None if kind == Kind.NONE else kind.label

    @property
    def active(self) -> list[int]:
        return [seat for seat, asked in enumerate(self._games.active[0]) if asked]

    @property
    def terminated(self) -> bool:
        return bool(self._games.terminated[0])

    @property
    def truncated(self) -> bool:
        return bool(self._games.truncated[0])

    @property
    def events(self) -> list[Event]:
        return list(self._games.events(0))

    def legal(self, seat: int) -> list[str]:
        from megaland_env import Action

        return [Action(action).name for action, allowed in enumerate(self._games.legal[0, seat]) if allowed]

    def step(self, actions: Mapping[int, str]) -> None:
        import numpy as np

        from megaland_env import Action

        if sorted(actions) != self.active:
            raise ValueError(f"seats {sorted(actions)} answer, but seats {self.active} are asked")
        numbers = np.zeros(self._games.active.shape, dtype=np.int64)
        for seat, name in actions.items():
            numbers[0, seat] = Action[name].value
        self._games.step(numbers)

    def snapshot(self) -> Snapshot:
        snapshot: Snapshot = self._games.snapshot(0)
        return snapshot


# ---------------------------------------------------------------------------------------------------------------------
# Chance, by the formulas of the docstring of megaland_env/engine/rng.py


_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
# The purposes.
MARKET, FIRST_PLAYER, REVEAL, ENTER, STAY, BOX, SOAP, RABBIT, LABORATORY, STABLE, POND = range(1, 12)


def word(seed: int, purpose: int, round_number: int = 0, seat: int = 0, number: int = 0) -> int:
    """The random word at an address."""
    address = (purpose << 56) + (round_number << 32) + (seat << 24) + number
    return _scramble((_scramble((seed + _GOLDEN) & _MASK) + _GOLDEN * address) & _MASK)


def _scramble(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def choose(chance: int, among: int) -> int:
    """A choice from 0 to ``among`` - 1."""
    return ((chance >> 32) * among) >> 32


def weighted(chance: int, pile: Mapping[str, int]) -> str:
    """The treasure drawn from ``pile``."""
    cards = [name for name in TREASURES for _ in range(pile.get(name, 0))]
    return cards[choose(chance, len(cards))]


def next_card(seed: int, round_number: int, seen: Sequence[str]) -> str:
    """The level card that comes after those ``seen`` in this round (L3)."""
    unseen = [card for card in LEVEL_CARDS if card not in seen]
    return unseen[choose(word(seed, REVEAL, round_number, 0, len(seen)), len(unseen))]


def seed_for(reveals: Sequence[str], seen: Sequence[str] = (), round_number: int = 1) -> int:
    """The first seed with which the cards ``reveals`` come next, in this order."""
    if set(reveals) & set(seen):
        raise ValueError(f"{reveals} cannot all come after {seen}")
    for seed in count():
        gone = list(seen)
        for card in reveals:
            if next_card(seed, round_number, gone) != card:
                break
            gone.append(card)
        else:
            return seed
    raise AssertionError("unreachable")


# ---------------------------------------------------------------------------------------------------------------------
# States by hand


def state(
    players: Sequence[Player],
    decision: str = "run",
    *,
    deck: Mapping[str, int] | None = None,
    discard: Mapping[str, int] | None = None,
    seen: Sequence[str] | None = None,
    reveals: Sequence[str] = (),
    seed: int | None = None,
    round_number: int = 1,
    first_player: int = 0,
    buyer: int | None = None,
    market: Iterable[str] = (),
    **config: Any,
) -> Snapshot:
    """A snapshot in which ``decision`` (``"jump"``, ``"run"`` or ``"buy"``) is about to be made.

    Args:
        players: For each seat what differs from a player who owns nothing, has four hearts, and is in the level
            (at home in the buy phase): ``{"hearts": 1, "carried": {"egg": 2}, "buildings": {"Herb Hut": 1}}``.
            More than four ``hearts`` raise ``max_hearts`` too; ``max_hearts`` alone gives as many hearts.
        decision: What is asked.
        deck: The treasure deck holds just these, and the discard pile all else that nobody has.
        discard: The discard pile holds just these, and the deck all else that nobody has. With both given, the rest
            is in the home hand of the last seat; with neither, it is all in the deck.
        seen: The level cards seen this round, in order; by default none before a jump and the Clouds otherwise.
        reveals: The level cards that are to come next, in order (it sets the seed); from the buy phase, those of the
            next round.
        seed: The seed, where no ``reveals`` set it.
        round_number: The round.
        first_player: Who has the first-player token.
        buyer: The seat whose turn it is; by default the first player.
        market: Normal buildings that must be on offer, in addition to those that a player owns. Others fill the
            market up to seven.
        config: Fields of the configuration that differ from the default.
    """
    buying = decision == "buy"
    table = [_player(player, in_level=not buying) for player in players]
    settings: dict[str, Any] = {
        "num_players": len(table),
        "market": _market([*market, *(name for player in table for name in player["buildings"])]),
        "first_player": None,
        "payment": "choose",
        "skip_forced": True,
        "max_rounds": 50,
        "star_copies": list(STAR_COPIES),
    } | config
    if seen is None:
        seen = [] if decision == "jump" else ["Clouds"]
    if seed is None:
        seed = seed_for(reveals, (), round_number + 1) if buying else seed_for(reveals, seen, round_number)
    if buyer is None:
        buyer = first_player
    piles = _piles(table, deck, discard)
    active = {
        "jump": [seat for seat, player in enumerate(table) if player["in_level"] and player["jumps"]],
        "run": [seat for seat, player in enumerate(table) if player["in_level"]],
        "buy": [buyer],
    }[decision]
    if not active or (buying and settings["skip_forced"] and not table[buyer]["home"]):
        raise ValueError(f"nobody would be asked to {decision} here")
    return {
        "config": settings,
        "seed": seed,
        "steps": 0,
        "decisions": [0] * len(table),
        "round": round_number,
        "phase": "buy" if buying else "level",
        "decision": decision,
        "active": active,
        "first_player": first_player,
        "buyer": buyer if buying else None,
        "treasure_deck": piles[0],
        "discard": piles[1],
        "level_seen": list(seen),
        "level_card": seen[-1] if seen and not buying else None,
        "supply": {
            "hearts": HEART_TOKENS - sum(player["max_hearts"] for player in table),
            "jumps": JUMP_TOKENS - sum(player["jumps"] for player in table),
            "buildings": _supply(table, settings),
        },
        "players": table,
        "pay": None,
        "winners": [],
        "truncated": False,
    }


def _player(changes: Player, in_level: bool) -> dict[str, Any]:
    most = changes.get("max_hearts", max(4, changes.get("hearts", 4)))
    player: dict[str, Any] = {
        "coins": 0,
        "hearts": most,
        "max_hearts": most,
        "jumps": 0,
        "jumping": False,
        "in_level": in_level,
        "falling": False,
        "carried": {},
        "home": {},
        "buildings": {},
        "wild_used": {"fish": 0, "carrot": 0},
        "bought": [],
        "picks_left": 0,
        "picked": {},
    }
    if unknown := changes.keys() - player.keys():
        raise ValueError(f"a player has no {unknown}")
    player |= deepcopy(changes)
    player["wild_used"] = {"fish": 0, "carrot": 0} | player["wild_used"]
    for hand in ("carried", "home"):
        player[hand] = _ordered(player[hand], TREASURES)
    player["buildings"] = _ordered(player["buildings"], COSTS)
    return player


def _ordered(amounts: Mapping[str, int], order: Iterable[str]) -> dict[str, int]:
    """The same amounts in table order, without those that are zero."""
    names = list(order)
    if unknown := set(amounts) - set(names):
        raise ValueError(f"no such thing: {unknown}")
    if min(amounts.values(), default=0) < 0:
        raise ValueError(f"more than there are: {amounts}")
    return {name: amounts[name] for name in names if amounts.get(name)}


def _market(wanted: Iterable[str]) -> list[str]:
    chosen = [name for name in dict.fromkeys(wanted) if name not in STARS]
    chosen += [name for name in USUAL_MARKET if name not in chosen][: 7 - len(chosen)]
    if len(chosen) != 7:
        raise ValueError(f"not seven normal buildings: {chosen}")
    return [name for name in NORMALS if name in chosen]


def _supply(table: Sequence[Player], settings: Mapping[str, Any]) -> dict[str, int]:
    copies = dict(zip(STARS, settings["star_copies"], strict=True)) | dict.fromkeys(settings["market"], NORMAL_COPIES)
    left = {name: number - sum(player["buildings"].get(name, 0) for player in table) for name, number in copies.items()}
    if min(left.values()) < 0:
        raise ValueError(f"more buildings than there are: {left}")
    return left


def _piles(
    table: list[dict[str, Any]], deck: Mapping[str, int] | None, discard: Mapping[str, int] | None
) -> tuple[dict[str, int], dict[str, int]]:
    """The deck and the discard pile; if both are given, the last seat gets the remaining cards."""
    rest = Counter(TREASURES)
    for player in table:
        rest.subtract(player["carried"])
        rest.subtract(player["home"])
    rest.subtract(deck or {})
    rest.subtract(discard or {})
    left = _ordered(rest, TREASURES)
    if deck is not None and discard is not None:
        table[-1]["home"] = _ordered(Counter(table[-1]["home"]) + Counter(left), TREASURES)
        return _ordered(deck, TREASURES), _ordered(discard, TREASURES)
    if deck is not None:
        return _ordered(deck, TREASURES), left
    return left, _ordered(discard or {}, TREASURES)


# ---------------------------------------------------------------------------------------------------------------------
# Short words for tests


def meet(table: type[Table], card: str, players: Sequence[Player], jump: Sequence[int] = (), **changes: Any) -> Table:
    """A table where ``card`` has just been met, at the first question that it brings.

    Players without an entry for jump tokens own one, so that there is a decision to start from; the seats in
    ``jump`` use theirs.
    """
    game = table.restore(state([{"jumps": 1, **player} for player in players], "jump", reveals=[card], **changes))
    game.step({seat: "JUMP" if seat in jump else "PASS" for seat in game.active})
    return game


def night(table: type[Table], players: Sequence[Player], **changes: Any) -> Table:
    """A table after a buy phase in which nobody bought, at the first question of the night or of the next round.

    Players without an entry for jump tokens own one, so that the next round stops before its first level card.
    """
    return pass_all(table.restore(state([{"jumps": 1, **player} for player in players], "buy", **changes)))


def pass_all(game: Table) -> Table:
    """The same table after all remaining buyers have passed."""
    while game.decision == "buy":
        game.step({game.active[0]: "PASS"})
    return game


def everyone(game: Table, action: str) -> None:
    """Answer with ``action`` for every active seat."""
    game.step(dict.fromkeys(game.active, action))


def player(game: Table, seat: int) -> dict[str, Any]:
    """The entry of one seat in the snapshot."""
    found: dict[str, Any] = game.snapshot()["players"][seat]
    return found


def coins(game: Table) -> list[int]:
    """The coins of all seats."""
    return [each["coins"] for each in game.snapshot()["players"]]


def log(game: Table, *kinds: str) -> list[Event]:
    """The events, or those of some kinds, without their step numbers."""
    return [
        {key: value for key, value in event.items() if key != "step"}
        for event in game.events
        if not kinds or event["event"] in kinds
    ]


def event(kind: str, **details: Any) -> Event:
    """An event in the form that ``log`` returns."""
    return {"event": kind, **details}


def draw(seat: int, treasure: str | None) -> Event:
    """A draw in the form that ``log`` returns."""
    return event("draw", seat=seat, treasure=treasure)


def coins_from(building: str, seat: int, value: int) -> Event:
    """A payment of coins in the form that ``log`` returns."""
    return event("coins", seat=seat, building=building, value=value)


def buy(building: str) -> str:
    """The action that buys a building: ``BUY_HERB_HUT``."""
    return f"BUY_{building.upper().replace(' ', '_')}"


def pick(*treasures: str) -> list[str]:
    """The actions that pay, keep or swap these treasures: ``TREASURE_EGG``."""
    return [f"TREASURE_{treasure.upper()}" for treasure in treasures]
