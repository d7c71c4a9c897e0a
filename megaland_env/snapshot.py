"""Snapshots: the state of a game as a plain dict in the words of the rules, and back, with checks of every entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from megaland_env.actions import BUY_FIRST, HEART_FIRST, Kind
from megaland_env.cards import (
    BUILDING_COSTS,
    HEART_COSTS,
    HEART_SUPPLY,
    JUMP_SUPPLY,
    MAX_HEARTS,
    START_HEARTS,
    TREASURE_COPIES,
    WINNING_COINS,
    Building,
    LevelCard,
    Treasure,
)
from megaland_env.checks import is_integer
from megaland_env.config import ConfigError, MegalandConfig
from megaland_env.engine import backend, piles, rng
from megaland_env.engine.bounds import most_coins
from megaland_env.engine.rules.buy import can_complete
from megaland_env.engine.rules.night import ALL_LEVEL_CARDS
from megaland_env.engine.rules.setup import copies_of, markets
from megaland_env.engine.state import NO_CARD, NOBODY, NOT_PAYING, GameState

Snapshot = dict[str, Any]

PHASES = {
    Kind.NONE: "over",
    Kind.JUMP: "level",
    Kind.HERB_HUT: "level",
    Kind.RABBIT: "level",
    Kind.RUN: "level",
    Kind.REPTILE: "level",
    Kind.BUY: "buy",
    Kind.PAY: "buy",
    Kind.STORE: "night",
}
"""The phase in which each kind of decision is made."""

# Far more than a game can have, and far less than the arrays and the addresses of rng.py can hold.
_MOST_STEPS = 2**23

_TREASURES = {treasure.label: treasure for treasure in Treasure}
_LEVEL_CARDS = {card.label: card for card in LevelCard}
_BUILDINGS = {building.label: building for building in Building}
_KINDS = {kind.label: kind for kind in Kind if kind != Kind.NONE}

_KEYS = (
    "config seed steps decisions round phase decision active first_player buyer treasure_deck discard level_seen "
    "level_card supply players pay winners truncated"
).split()
_PLAYER_KEYS = (
    "coins hearts max_hearts jumps jumping in_level falling carried home buildings wild_used bought picks_left picked"
).split()


class SnapshotError(ValueError):
    """Raised for a snapshot that is malformed, or whose state no game can be in; the message says what is wrong."""


# ---- from a state to a snapshot


def describe(state: GameState, game: int) -> Snapshot:
    """The snapshot of one game of a batch."""
    kind = Kind(int(state.kind[game]))
    card = int(state.level_card[game])
    buyer = int(state.buyer[game])
    on_offer = int(state.on_offer[game])
    left = state.building_supply[:, game].tolist()
    return {
        "config": state.config.to_dict(),
        "seed": int(state.seeds[game]),
        "steps": int(state.steps[game]),
        "decisions": state.asked[:, game].tolist(),
        "round": int(state.round[game]),
        "phase": PHASES[kind],
        "decision": None if kind == Kind.NONE else kind.label,
        "active": np.flatnonzero(state.active[:, game]).tolist(),
        "first_player": int(state.first_player[game]),
        "buyer": None if buyer == NOBODY else buyer,
        "treasure_deck": _hand(state.deck[game]),
        "discard": _hand(state.discard[game]),
        "level_seen": [LevelCard(c).label for c in state.seen[: state.num_seen[game], game]],
        "level_card": None if card == NO_CARD else LevelCard(card).label,
        "supply": {
            "hearts": int(state.heart_supply[game]),
            "jumps": int(state.jump_supply[game]),
            "buildings": {name: left[b] for name, b in _BUILDINGS.items() if on_offer >> (BUY_FIRST + b) & 1},
        },
        "players": [_player(state, seat, game) for seat in range(state.num_players)],
        "pay": _payment(state, game),
        "winners": np.flatnonzero(state.winners[:, game]).tolist(),
        "truncated": bool(state.truncated[game]),
    }


def _hand(pile: np.uint64) -> dict[str, int]:
    counts = int(pile).to_bytes(8, "little")  # one byte for each treasure; for a single pile this is the fastest way
    return {name: counts[treasure] for name, treasure in _TREASURES.items() if counts[treasure]}


def _player(state: GameState, seat: int, game: int) -> dict[str, Any]:
    owned = state.buildings[:, seat, game].tolist()
    bought = int(state.bought[game]) if state.buyer[game] == seat else 0
    return {
        "coins": int(state.coins[seat, game]),
        "hearts": int(state.hearts[seat, game]),
        "max_hearts": int(state.max_hearts[seat, game]),
        "jumps": int(state.jumps[seat, game]),
        "jumping": bool(state.jumping[seat, game]),
        "in_level": bool(state.in_level[seat, game]),
        "falling": bool(state.falling[seat, game]),
        "carried": _hand(state.carried[seat, game]),
        "home": _hand(state.home[seat, game]),
        "buildings": {name: owned[b] for name, b in _BUILDINGS.items() if owned[b]},
        "wild_used": {"fish": int(state.fish_used[seat, game]), "carrot": int(state.carrots_used[seat, game])},
        "bought": [name for name, b in _BUILDINGS.items() if bought >> (BUY_FIRST + b) & 1],
        "picks_left": int(state.picks_left[seat, game]),
        "picked": _hand(state.picked[seat, game]),
    }


def _payment(state: GameState, game: int) -> dict[str, Any] | None:
    paying = int(state.paying[game])
    if paying == NOT_PAYING:
        return None
    is_heart = paying >= HEART_FIRST
    return {
        "buying": "heart" if is_heart else Building(paying - BUY_FIRST).label,
        "treasure": Treasure(paying - HEART_FIRST).label if is_heart else None,
        "cost": int(state.cost[game]),
        "paid": _hand(state.paid[game]),
    }


# ---- from a snapshot to a state


def load(snapshots: Sequence[Mapping[str, Any]]) -> GameState:
    """A state with one game for each of ``snapshots``, which must all have the same configuration.

    Raises:
        SnapshotError: a snapshot is malformed, or no game can be in such a state.
    """
    if isinstance(snapshots, Mapping) or not isinstance(snapshots, Sequence) or not snapshots:
        raise SnapshotError("restore takes a list of at least one snapshot")
    configs = [_config(snapshot, f"snapshot {i}") for i, snapshot in enumerate(snapshots)]
    for i, config in enumerate(configs):
        if config != configs[0]:
            raise SnapshotError(
                f"snapshot {i} has another configuration than snapshot 0; a batch has one for all its games"
            )
    state = GameState(configs[0], len(snapshots))
    for game, snapshot in enumerate(snapshots):
        try:
            _Loader(state, game, snapshot).load()
        except SnapshotError as error:
            raise SnapshotError(f"snapshot {game}: {error}") from None
    _ask_again(state, snapshots)
    state.episode[:] = 0
    return state


def _config(snapshot: Any, where: str) -> MegalandConfig:
    if not isinstance(snapshot, Mapping):
        raise SnapshotError(f"{where} is {type(snapshot).__name__}; a snapshot is a dict")
    _check_keys(snapshot, _KEYS, where)
    try:
        return MegalandConfig.from_dict(_mapping(snapshot["config"], f"{where}: config"))
    except ConfigError as error:
        raise SnapshotError(f"{where}: {error}") from None


def _ask_again(state: GameState, snapshots: Sequence[Mapping[str, Any]]) -> None:
    """Let the rules ask for the decisions again, and check that they ask for what the snapshots say."""
    claimed = state.kind.copy()
    for kind in _KINDS.values():
        games = np.flatnonzero(claimed == kind)
        if games.size:
            state.kind[games] = Kind.NONE
            backend.ask(state, games, kind)
    for game, snapshot in enumerate(snapshots):
        active = np.flatnonzero(state.active[:, game]).tolist()
        if state.kind[game] != claimed[game] or active != list(snapshot["active"]):
            decision = Kind(int(claimed[game])).label
            raise SnapshotError(
                f"snapshot {game}: decision is {decision!r} of the seats {snapshot['active']}, "
                f"but by the rules {f'the seats {active}' if active else 'nobody'} would be asked for it"
            )


class _Loader:
    """Reads one snapshot into one game of a state."""

    def __init__(self, state: GameState, game: int, snapshot: Mapping[str, Any]) -> None:
        self.state = state
        self.game = game
        self.snapshot = snapshot
        self.players = state.num_players

    def load(self) -> None:
        self._load_place_in_game()
        self._load_level()
        self._load_table()
        players = self.snapshot["players"]
        _require(
            isinstance(players, Sequence) and len(players) == self.players, f"players must be {self.players} dicts"
        )
        for seat, player in enumerate(players):
            self._load_player(seat, _mapping(player, f"player {seat}"))
        self._load_payment()
        self._check_conservation()
        self._check_seats()
        self._check_end()

    def _load_place_in_game(self) -> None:
        state, game, snapshot = self.state, self.game, self.snapshot
        decision = snapshot["decision"]
        if decision is not None and not (isinstance(decision, str) and decision in _KINDS):
            raise SnapshotError(f"decision is {decision!r}; it must be null or one of {', '.join(_KINDS)}")
        self.kind = kind = Kind.NONE if decision is None else _KINDS[decision]
        state.kind[game] = kind
        _require(
            snapshot["phase"] == PHASES[kind],
            f"phase is {snapshot['phase']!r}, but decision {decision!r} is made in {PHASES[kind]!r}",
        )
        state.seeds[game] = _integer(snapshot["seed"], "seed", 0, 2**64 - 1)
        state.keys[game] = rng.key(state.seeds[game : game + 1])[0]
        state.start_round(np.array([game]), _integer(snapshot["round"], "round", 1, state.config.max_rounds))
        state.steps[game] = _integer(snapshot["steps"], "steps", 0, _MOST_STEPS)
        decisions = _integers(snapshot["decisions"], "decisions", self.players, _MOST_STEPS)
        state.asked[:, game] = decisions
        steps = int(state.steps[game])
        _require(  # a step asks at least one seat, and each seat at most once
            max(decisions) <= steps <= sum(decisions),
            f"decisions are {decisions} in {steps} steps; a step has at least one, and at most one of each seat",
        )
        _integers(snapshot["active"], "active", None, self.players - 1)
        state.first_player[game] = _integer(snapshot["first_player"], "first_player", 0, self.players - 1)
        if PHASES[kind] == "buy":
            state.buyer[game] = _integer(snapshot["buyer"], "buyer", 0, self.players - 1)
        else:
            _require(snapshot["buyer"] is None, f"buyer is {snapshot['buyer']!r}; outside phase 'buy' it must be null")

    def _load_level(self) -> None:
        state, game, snapshot = self.state, self.game, self.snapshot
        seen = snapshot["level_seen"]
        _require(isinstance(seen, Sequence) and not isinstance(seen, str), "level_seen must be a list of level cards")
        cards = [_named(name, _LEVEL_CARDS, "level_seen") for name in seen]
        _require(len(set(cards)) == len(cards), "level_seen names a card twice")
        state.num_seen[game] = len(cards)
        state.seen[: len(cards), game] = cards
        state.unseen[game] = ALL_LEVEL_CARDS - sum(1 << card for card in cards)
        in_level = PHASES[self.kind] == "level"
        last = seen[-1] if in_level and cards else None
        _require(
            snapshot["level_card"] == last,
            f"level_card is {snapshot['level_card']!r}; by level_seen and phase it is {last!r}",
        )
        state.level_card[game] = cards[-1] if last is not None else NO_CARD
        low, high = {Kind.JUMP: (0, 9), Kind.RUN: (1, 9), Kind.NONE: (0, 0)}.get(self.kind, (1, 10))
        _require(
            low <= len(cards) <= high,
            f"level_seen has {len(cards)} cards; at decision {snapshot['decision']!r} it has {low} to {high}",
        )
        if self.kind == Kind.RABBIT:
            _require(last == LevelCard.RABBIT.label, f"decision is 'rabbit', but level_card is {last!r}")

    def _load_table(self) -> None:
        state, game, snapshot = self.state, self.game, self.snapshot
        state.deck[game] = _pile(snapshot["treasure_deck"], "treasure_deck")
        state.discard[game] = _pile(snapshot["discard"], "discard")
        supply = _mapping(snapshot["supply"], "supply")
        _check_keys(supply, ["hearts", "jumps", "buildings"], "supply")
        state.heart_supply[game] = _integer(supply["hearts"], "supply of hearts", 0, HEART_SUPPLY)
        state.jump_supply[game] = _integer(supply["jumps"], "supply of jumps", 0, JUMP_SUPPLY)
        copies = copies_of(state.config)
        for name, left in _mapping(supply["buildings"], "supply of buildings").items():
            building = _named(name, _BUILDINGS, "supply of buildings")
            bit = np.uint64(1 << (BUY_FIRST + building))
            state.building_supply[building, game] = _integer(left, f"supply of {name}", 0, copies[building])
            state.on_offer[game] |= bit
        state.for_sale[game] = sum(1 << (BUY_FIRST + b) for b in Building if state.building_supply[b, game])
        _require(
            state.on_offer[game] in markets(state.config),
            "supply of buildings: the configuration allows no such market",
        )
        on_offer = int(state.on_offer[game])
        in_game = [copies[b] if on_offer >> (BUY_FIRST + b) & 1 else 0 for b in Building]
        self._most_coins = most_coins(in_game, self.players)

    def _load_player(self, seat: int, player: Mapping[str, Any]) -> None:
        state, game, who = self.state, self.game, f"player {seat}"
        _check_keys(player, _PLAYER_KEYS, who)
        state.coins[seat, game] = _integer(player["coins"], f"{who}: coins", 0, self._most_coins)
        state.max_hearts[seat, game] = most = _integer(
            player["max_hearts"], f"{who}: max_hearts", START_HEARTS, MAX_HEARTS
        )
        state.hearts[seat, game] = _integer(player["hearts"], f"{who}: hearts", 0, most)
        state.jumps[seat, game] = _integer(player["jumps"], f"{who}: jumps", 0, JUMP_SUPPLY)
        state.jumping[seat, game] = _bool(player["jumping"], f"{who}: jumping")
        state.in_level[seat, game] = _bool(player["in_level"], f"{who}: in_level")
        state.falling[seat, game] = _bool(player["falling"], f"{who}: falling")
        state.carried[seat, game] = _pile(player["carried"], f"{who}: carried")
        state.home[seat, game] = _pile(player["home"], f"{who}: home")
        for name, number in _mapping(player["buildings"], f"{who}: buildings").items():
            building = _named(name, _BUILDINGS, f"{who}: buildings")
            most = copies_of(state.config)[building]
            state.buildings[building, seat, game] = _integer(number, f"{who}: {name}", 0, most)
        wild = _mapping(player["wild_used"], f"{who}: wild_used")
        _check_keys(wild, ["fish", "carrot"], f"{who}: wild_used")
        for used, owner, key in (
            (state.fish_used, Building.FISH_VENDOR, "fish"),
            (state.carrots_used, Building.ROOT_MARKET, "carrot"),
        ):
            most = int(state.buildings[owner, seat, game])
            used[seat, game] = _integer(wild[key], f"{who}: wild {key} used (of {most} {owner.label})", 0, most)
        self._load_bought(seat, player["bought"], who)
        state.picked[seat, game] = _pile(player["picked"], f"{who}: picked")
        state.num_buildings[seat, game] = most = int(state.buildings[:, seat, game].sum())
        state.picks_left[seat, game] = _integer(
            player["picks_left"], f"{who}: picks_left (of {most} buildings)", 0, most
        )

    def _load_bought(self, seat: int, bought: Any, who: str) -> None:
        state, game = self.state, self.game
        _require(
            isinstance(bought, Sequence) and not isinstance(bought, str), f"{who}: bought must be a list of buildings"
        )
        buildings = [_named(name, _BUILDINGS, f"{who}: bought") for name in bought]
        if state.buyer[game] != seat:
            _require(not buildings, f"{who} has bought {bought}, but is not the buyer")
            return
        _require(len(set(buildings)) == len(buildings), f"{who} has bought a building twice this turn")
        for building in buildings:
            _require(
                state.buildings[building, seat, game] > 0, f"{who} has bought {building.label}, but does not own it"
            )
        state.bought[game] = sum(1 << (BUY_FIRST + building) for building in buildings)

    def _load_payment(self) -> None:
        state, game, pay = self.state, self.game, self.snapshot["pay"]
        if self.kind != Kind.PAY:
            _require(pay is None, "pay must be null unless the decision is 'pay'")
            return
        pay = _mapping(pay, "pay")
        _check_keys(pay, ["buying", "treasure", "cost", "paid"], "pay")
        seat = int(state.buyer[game])
        if pay["buying"] == "heart":
            treasure = _named(pay["treasure"], _TREASURES, "pay: treasure")
            state.paying[game] = HEART_FIRST + treasure
            heart = int(state.max_hearts[seat, game]) + 1
            _require(heart in HEART_COSTS and state.heart_supply[game] > 0, "pay: there is no heart to buy")
            cost = HEART_COSTS[heart]
        else:
            building = _named(pay["buying"], _BUILDINGS, "pay: buying")
            _require(pay["treasure"] is None, "pay: treasure must be null when a building is bought")
            state.paying[game] = BUY_FIRST + building
            bit = 1 << (BUY_FIRST + building)
            for_sale = int(state.for_sale[game]) & ~int(state.bought[game])
            _require(bool(for_sale & bit), f"pay: {building.label} is not for sale")
            cost = int(BUILDING_COSTS[building])
        _require(pay["cost"] == cost, f"pay: cost is {pay['cost']!r}; by the rules it is {cost}")
        state.cost[game] = cost
        state.paid[game] = _pile(pay["paid"], "pay: paid")
        self._check_payment(seat, cost)

    def _check_payment(self, seat: int, cost: int) -> None:
        """Check that what has been paid is allowed, and can be completed."""
        games = np.array([self.game])
        number = int(piles.size(self.state.paid[games])[0])
        _require(number < cost, f"pay: {number} treasures are paid already for a cost of {cost}")
        _require(
            can_complete(self.state, games)[0],
            "pay: what is paid is no part of an allowed payment that can be completed",
        )

    def _check_conservation(self) -> None:
        state, game = self.state, self.game
        everywhere = [
            state.deck[game],
            state.discard[game],
            state.paid[game],
            *state.carried[:, game],
            *state.home[:, game],
        ]
        totals = piles.open_(np.array(everywhere, dtype=np.uint64)).sum(axis=1, dtype=np.int64)
        for treasure in Treasure:
            copies = TREASURE_COPIES[treasure]
            _require(
                totals[treasure] == copies,
                f"there are {totals[treasure]} {treasure.label} treasures; the game has {copies}",
            )
        hearts = int(state.heart_supply[game]) + int(state.max_hearts[:, game].sum())
        _require(hearts == HEART_SUPPLY, f"there are {hearts} heart tokens; the game has {HEART_SUPPLY}")
        jumps = int(state.jump_supply[game]) + int(state.jumps[:, game].sum())
        _require(jumps == JUMP_SUPPLY, f"there are {jumps} jump tokens; the game has {JUMP_SUPPLY}")
        for building, copies in zip(Building, copies_of(state.config), strict=True):
            on_offer = int(state.on_offer[game]) >> (BUY_FIRST + building) & 1
            number = int(state.building_supply[building, game]) + int(state.buildings[building, :, game].sum())
            wanted = copies if on_offer else 0
            _require(number == wanted, f"there are {number} cards of {building.label}; this game has {wanted}")

    def _check_seats(self) -> None:
        state, game, kind = self.state, self.game, self.kind
        for seat in range(self.players):
            who = f"player {seat}"
            in_level, falling = bool(state.in_level[seat, game]), bool(state.falling[seat, game])
            picks, picked = int(state.picks_left[seat, game]), state.picked[seat, game]
            if kind == Kind.NONE:  # N4 comes before N5
                _require(
                    state.hearts[seat, game] == state.max_hearts[seat, game],
                    f"{who} lacks hearts when the game is over",
                )
            if in_level:
                _require(PHASES[kind] == "level", f"{who} is in the level outside phase 'level'")
                _require(state.hearts[seat, game] > 0, f"{who} is in the level without hearts")
            if falling:
                _require(kind == Kind.HERB_HUT, f"{who} is falling, but the decision is {kind.label!r}")
                _require(
                    not in_level and state.hearts[seat, game] == 0, f"{who} is falling, but in the level or with hearts"
                )
            if state.jumping[seat, game]:
                _require(kind in (Kind.HERB_HUT, Kind.RABBIT), f"{who} is jumping, but the decision is {kind.label!r}")
            if state.carried[seat, game]:
                choosing = falling and (picks > 0 or picked > 0)
                _require(in_level or choosing, f"{who} carries treasures, but is not in the level")
            if picks or picked:
                _require(
                    kind in (Kind.HERB_HUT, Kind.STORE, Kind.REPTILE),
                    f"{who} has picks to make at decision {kind.label!r}",
                )
            if kind == Kind.HERB_HUT and (picks or picked):
                _require(falling, f"{who} picks treasures to keep, but is not falling")
                self._check_picks(
                    seat, state.carried[seat, game], int(state.buildings[Building.HERB_HUT, seat, game]), "huts"
                )
            if kind == Kind.STORE:
                owned, held = (
                    int(state.num_buildings[seat, game]),
                    int(piles.size(state.home[seat : seat + 1, game])[0]),
                )
                if picks or picked:
                    self._check_picks(seat, state.home[seat, game], owned, "buildings")
                else:
                    _require(held <= owned, f"{who} has {held} treasures and {owned} buildings, but nothing to pick")
            if kind == Kind.REPTILE and (picks or picked):
                _require(state.home[seat, game] > 0, f"{who} has stables to use, but no treasure at home")
                most = int(state.buildings[Building.REPTILE_STABLE, seat, game])
                _require(
                    not in_level and picks <= most and not picked, f"{who} cannot have {picks} of {most} stables to use"
                )

    def _check_picks(self, seat: int, hand: np.uint64, number: int, what: str) -> None:
        state, game, who = self.state, self.game, f"player {seat}"
        held, picked = piles.open_(np.array([hand, state.picked[seat, game]]))[:, :].T.astype(int)
        picks = int(state.picks_left[seat, game])
        _require(bool((picked <= held).all()), f"{who} has picked what is not in the hand")
        _require(
            picks + int(picked.sum()) == number,
            f"{who} has {picks} picks left and {picked.sum()} picked, but {number} {what}",
        )
        _require(
            int(held.sum()) > number,
            f"{who} picks among {held.sum()} treasures with {number} {what}; there is nothing to choose",
        )

    def _check_end(self) -> None:
        state, game, snapshot = self.state, self.game, self.snapshot
        truncated = _bool(snapshot["truncated"], "truncated")
        winners = _integers(snapshot["winners"], "winners", None, self.players - 1)
        coins = state.coins[:, game]
        if self.kind != Kind.NONE:
            _require(not winners and not truncated, "winners and truncated belong to a game that is over")
            return
        most = int(coins.max())
        wanted = np.flatnonzero(coins == most).tolist() if most >= WINNING_COINS else []
        _require(winners == wanted, f"winners are {winners}; by the coins they are {wanted}")
        _require(truncated == (most < WINNING_COINS), "a game is truncated exactly if nobody has 20 coins")
        _require(
            not truncated or state.round[game] == state.config.max_rounds, "a game is truncated only after max_rounds"
        )
        state.truncated[game] = truncated
        state.terminated[game] = not truncated
        state.winners[winners, game] = True


# ---- small checks


def _require(holds: bool | np.bool_, message: str) -> None:
    if not holds:
        raise SnapshotError(message)


def _check_keys(mapping: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    missing = [key for key in keys if key not in mapping]
    unknown = [key for key in mapping if key not in keys]
    _require(not missing, f"{where}: {', '.join(map(repr, missing))} missing")
    _require(not unknown, f"{where}: {', '.join(map(repr, unknown))} unknown; the keys are {', '.join(keys)}")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    _require(isinstance(value, Mapping), f"{where} is {value!r}; it must be a dict")
    return value  # type: ignore[no-any-return]


def _integer(value: Any, where: str, low: int, high: int) -> int:
    good = is_integer(value) and low <= value <= high
    _require(good, f"{where} is {value!r}; it must be an integer from {low} to {high}")
    return int(value)


def _integers(values: Any, where: str, number: int | None, high: int) -> list[int]:
    _require(isinstance(values, Sequence) and not isinstance(values, str), f"{where} must be a list of integers")
    _require(number is None or len(values) == number, f"{where} must have {number} entries")
    return [_integer(value, where, 0, high) for value in values]


def _bool(value: Any, where: str) -> bool:
    _require(isinstance(value, bool), f"{where} is {value!r}; it must be true or false")
    return bool(value)


def _named(name: Any, names: Mapping[str, Any], where: str) -> Any:
    _require(isinstance(name, str) and name in names, f"{where}: there is no {name!r}; there are {', '.join(names)}")
    return names[name]


def _pile(hand: Any, where: str) -> int:
    pile = 0
    for name, number in _mapping(hand, where).items():
        treasure = _named(name, _TREASURES, where)
        pile += _integer(number, f"{where}: {name}", 0, TREASURE_COPIES[treasure]) << (8 * treasure)
    return pile
