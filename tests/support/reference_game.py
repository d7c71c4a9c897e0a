"""The reference game: a second implementation of the rules of Megaland, slow and simple.

The engine is built for speed; this twin is built to be read. It plays one game in plain Python with names in words, one
small method per step of the rulebook, each naming the rule it carries out. It shares no code and no tables with the
engine, so where the two agree, step by step, on snapshots and events, a mistake would have to have been made twice; and
where they differ, this file is short enough to settle who is right against the rules page.

How it runs. ``decision`` names what is being decided and ``active`` lists the seats that are asked; ``step`` takes one
action name from each of them, carries it out together with all that follows without a question, and stops at the next
question. Nothing is remembered between two steps that a snapshot does not show, so ``restore`` can go on from any of
them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple

Hand = dict[str, int]  # the number of each treasure; all six are listed, in the order of C2
Payment = dict[str, int]  # the cards of a payment; only the treasures that are in it

# --------------------------------------------------------------------------------------------------- components (C)

TREASURE_COPIES: Hand = {"gear": 6, "stone": 20, "egg": 16, "carrot": 30, "crystal": 10, "fish": 14}  # C2
TREASURES = tuple(TREASURE_COPIES)


class LevelCard(NamedTuple):
    """One of the ten level cards (C3)."""

    skulls: int
    jump_symbol: bool


LEVEL_CARDS: dict[str, LevelCard] = {  # C3
    "Clouds": LevelCard(0, False),
    "Spires": LevelCard(0, False),
    "Green Mesa": LevelCard(0, False),
    "Treasure Box": LevelCard(0, False),
    "Floating Eye": LevelCard(1, False),
    "Rabbit": LevelCard(1, True),
    "Sludge Creature": LevelCard(1, True),
    "Bats": LevelCard(2, False),
    "Biting Plant": LevelCard(2, True),
    "Red Serpent": LevelCard(3, True),
}


class Building(NamedTuple):
    """A type of building (C6): its cost and what is gained once, when it is bought."""

    star: bool
    cost: int
    coins: int = 0
    jumps: int = 0


BUILDINGS: dict[str, Building] = {  # C6; what each one does later stands at the step where it does it
    "Sandwich Stand": Building(star=True, cost=1, coins=1),
    "Cafe": Building(star=True, cost=2, coins=2),
    "Arcade": Building(star=True, cost=3, coins=3),
    "Bazaar of Oddities": Building(star=True, cost=4, coins=4),
    "Hotel": Building(star=True, cost=5, coins=5),
    "Temple of Zoz": Building(star=True, cost=6, coins=7),
    "Herb Hut": Building(star=False, cost=1),
    "Reptile Stable": Building(star=False, cost=1),
    "Gym": Building(star=False, cost=2, coins=1, jumps=2),
    "Hospital": Building(star=False, cost=2),
    "Ostrich Ranch": Building(star=False, cost=2),
    "Bowling Alley": Building(star=False, cost=3),
    "Fish Vendor": Building(star=False, cost=3, coins=2),
    "Smithy": Building(star=False, cost=3),
    "Fishing Pond": Building(star=False, cost=3),
    "Soap Makers": Building(star=False, cost=3),
    "Hall of Elders": Building(star=False, cost=3),
    "Toll Booth": Building(star=False, cost=3),
    "Laboratory": Building(star=False, cost=3, coins=3),
    "Lodge": Building(star=False, cost=4),
    "Root Market": Building(star=False, cost=4, coins=4),
    "Arena": Building(star=False, cost=5, coins=6, jumps=2),
    "Endless Mine": Building(star=False, cost=5),
}
STAR_BUILDINGS = tuple(name for name, building in BUILDINGS.items() if building.star)
NORMAL_BUILDINGS = tuple(name for name, building in BUILDINGS.items() if not building.star)
NORMAL_COPIES = 4  # C6
MARKET_SIZE = 7  # S1

STARTING_HEARTS = 4  # C4
MOST_HEARTS = 8  # C4
HEART_TOKENS = 32  # C4
JUMP_TOKENS = 14  # C5
COINS_TO_WIN = 20  # N5

DEFAULT_CONFIG: dict[str, Any] = {
    "num_players": 4,
    "market": "spread",
    "first_player": None,
    "payment": "choose",
    "skip_forced": True,
    "max_rounds": 50,
    "star_copies": [5, 5, 5, 5, 4, 4],  # C7
}

# ---------------------------------------------------------------------------------------------------------- actions

TREASURE_ACTION = {treasure: f"TREASURE_{treasure.upper()}" for treasure in TREASURES}
HEART_ACTION = {treasure: f"HEART_{treasure.upper()}" for treasure in TREASURES}
BUY_ACTION = {building: f"BUY_{building.upper().replace(' ', '_')}" for building in BUILDINGS}

# What an action is about: the treasure picked, the treasure a heart is paid with, the building bought.
TREASURE_PICKED = {action: treasure for treasure, action in TREASURE_ACTION.items()}
HEART_PAID_WITH = {action: treasure for treasure, action in HEART_ACTION.items()}
BUILDING_BOUGHT = {action: building for building, action in BUY_ACTION.items()}

# ----------------------------------------------------------------------------------------------------------- chance

GOLDEN = 0x9E3779B97F4A7C15
WORD = 2**64

# What a random outcome is for, the first part of its address: numbered from 1 in the order of the list of addresses.
PURPOSE: dict[str, int] = {
    "MARKET": 1,
    "FIRST_PLAYER": 2,
    "REVEAL": 3,
    "ENTER": 4,
    "STAY": 5,
    "BOX": 6,
    "SOAP": 7,
    "RABBIT": 8,
    "LABORATORY": 9,
    "STABLE": 10,
    "POND": 11,
}


def scramble(z: int) -> int:
    """The mixer: the finaliser of SplitMix64, modulo 2**64."""
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 % WORD
    z ^= z >> 27
    z = z * 0x94D049BB133111EB % WORD
    z ^= z >> 31
    return z


def word_at(seed: int, purpose: str, round_number: int, seat: int, count: int) -> int:
    """The random word of a game at an address. No state: the same address always gives the same word."""
    key = scramble((seed + GOLDEN) % WORD)
    address = PURPOSE[purpose] * 2**56 + round_number * 2**32 + seat * 2**24 + count
    return scramble((key + GOLDEN * address) % WORD)


def choose(word: int, n: int) -> int:
    """A choice among ``n``: a number from 0 to n - 1."""
    return ((word >> 32) * n) >> 32


def choose_treasure(word: int, pile: Hand) -> str:
    """A weighted draw: the first treasure whose running total exceeds the choice among all cards of the pile."""
    chosen = choose(word, sum(pile.values()))
    running_total = 0
    for treasure in TREASURES:
        running_total += pile[treasure]
        if running_total > chosen:
            return treasure
    raise AssertionError("a draw from an empty pile")


# ----------------------------------------------------------------------------------------------------- market (S1)


@cache
def allowed_markets(market: str) -> list[tuple[str, ...]]:
    """All sets of seven normal buildings that can be a random market (S1), in lexicographic order."""
    every_set = list(combinations(NORMAL_BUILDINGS, MARKET_SIZE))
    if market == "random":
        return every_set
    return [names for names in every_set if {BUILDINGS[name].cost for name in names} >= {1, 2, 3, 4, 5}]


# ------------------------------------------------------------------------------------------- payments (B2, B3, B4)


@cache
def card_sets(size: int) -> list[Payment]:
    """Every multiset of ``size`` treasures."""
    return [dict(Counter(cards)) for cards in combinations_with_replacement(TREASURES, size)]


class WildRights(NamedTuple):
    """What may be wild in the next purchase of a player (B3)."""

    eggs: bool  # any number of them, when buying buildings
    fish: int  # number of cards left this round
    carrots: int  # number of cards left this round


@cache
def building_payments(cost: int, rights: WildRights) -> list[Payment]:
    """All payments for a building (B2, B3): the cards beyond the first of each type are wild ones."""
    most = dict.fromkeys(TREASURES, 1) | {"fish": 1 + rights.fish, "carrot": 1 + rights.carrots}
    if rights.eggs:
        most["egg"] = cost
    return [cards for cards in card_sets(cost) if all(count <= most[t] for t, count in cards.items())]


@cache
def heart_payments(treasure: str, cost: int, rights: WildRights) -> list[Payment]:
    """All payments for a heart with one type (B4): at least one real card of it, the others of it or wild (no eggs)."""
    most = dict.fromkeys(TREASURES, 0) | {"fish": rights.fish, "carrot": rights.carrots} | {treasure: cost}
    return [
        cards
        for cards in card_sets(cost)
        if cards.get(treasure, 0) >= 1 and all(count <= most[t] for t, count in cards.items())
    ]


def payments(treasure: str | None, cost: int, rights: WildRights) -> list[Payment]:
    """All card sets that pay for a building or, with ``treasure``, for a heart, whatever the hand (B2, B3, B4)."""
    return building_payments(cost, rights) if treasure is None else heart_payments(treasure, cost, rights)


@lru_cache(maxsize=100_000)  # asked again and again of the same hand while its owner makes up their mind
def can_pay(cards: tuple[int, ...], treasure: str | None, cost: int, rights: WildRights) -> bool:
    """Whether a hand, given as its six counts, can pay for a building or (with ``treasure``) for a heart."""
    hand = dict(zip(TREASURES, cards, strict=True))
    return any(all(hand[t] >= count for t, count in payment.items()) for payment in payments(treasure, cost, rights))


@lru_cache(maxsize=100_000)
def ways_to_pay(
    cards: tuple[int, ...], paid: tuple[int, ...], treasure: str | None, cost: int, rights: WildRights
) -> list[Hand]:
    """All sets of cards of a hand that complete a payment, with the cards already paid (B2, B3, B4)."""
    rests = []
    for payment in payments(treasure, cost, rights):
        rest = [payment.get(t, 0) - already for t, already in zip(TREASURES, paid, strict=True)]
        if all(0 <= needed <= held for needed, held in zip(rest, cards, strict=True)):
            rests.append(dict(zip(TREASURES, rest, strict=True)))
    return rests


# ---------------------------------------------------------------------------------------------------- the game state


def empty_hand() -> Hand:
    """A hand without cards."""
    return dict.fromkeys(TREASURES, 0)


def size_of(hand: Hand) -> int:
    """The number of cards."""
    return sum(hand.values())


def listed(counts: dict[str, int]) -> dict[str, int]:
    """The treasures of a hand without zeros, as in snapshots."""
    return {name: count for name, count in counts.items() if count > 0}


def move_all(source: Hand, target: Hand) -> None:
    """Move every card from one place to another."""
    for treasure in TREASURES:
        target[treasure] += source[treasure]
        source[treasure] = 0


@dataclass
class Player:
    """Everything that lies in front of one player; all of it is public (D3)."""

    coins: int = 0
    hearts: int = STARTING_HEARTS
    max_hearts: int = STARTING_HEARTS
    jumps: int = 0  # jump tokens
    jumping: bool = False  # a token was returned for the coming (or current) level card
    in_level: bool = False
    falling: bool = False  # fell on the current level card, and L7 is not finished yet
    carried: Hand = field(default_factory=empty_hand)
    home: Hand = field(default_factory=empty_hand)
    buildings: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BUILDINGS, 0))
    wild_used: dict[str, int] = field(default_factory=lambda: {"fish": 0, "carrot": 0})
    bought: set[str] = field(default_factory=set)  # building types bought this turn (B1)
    picks_left: int = 0  # treasures still to be chosen (huts, storing) or stables still to be used
    picked: Hand = field(default_factory=empty_hand)  # treasures chosen so far (huts, storing)

    def wild_rights(self) -> WildRights:
        """What may be wild in the next purchase: each Fish Vendor and Root Market gives one right per round (B3)."""
        return WildRights(
            eggs=self.buildings["Ostrich Ranch"] > 0,
            fish=self.buildings["Fish Vendor"] - self.wild_used["fish"],
            carrots=self.buildings["Root Market"] - self.wild_used["carrot"],
        )

    def heart_cost(self) -> int:
        """The cost of the next heart: the 5th 2, the 6th 3, the 7th 4, the 8th 5 (C4)."""
        return self.max_hearts - 2


@dataclass
class Purchase:
    """A purchase that is being paid: of a building, or of a heart with one type of treasure."""

    buying: str  # the name of the building, or "heart"
    treasure: str | None  # the type a heart is paid with (B4)
    cost: int
    paid: Hand = field(default_factory=empty_hand)  # no longer in the home hand, not yet in the discard pile


def checked_config(config: dict[str, Any] | None) -> dict[str, Any]:
    """The configuration with the defaults filled in; ValueError if it is invalid."""
    unknown = set(config or {}) - set(DEFAULT_CONFIG)
    if unknown:
        raise ValueError(f"unknown configuration: {sorted(unknown)}")
    full = DEFAULT_CONFIG | (config or {})
    full["star_copies"] = list(full["star_copies"])
    if not isinstance(full["market"], str):
        full["market"] = list(full["market"])
        if len(full["market"]) != MARKET_SIZE or len(set(full["market"]) & set(NORMAL_BUILDINGS)) != MARKET_SIZE:
            raise ValueError(f"market must name seven different normal buildings, not {full['market']}")
    elif full["market"] not in ("spread", "random"):
        raise ValueError(f"market must be 'spread', 'random' or seven names, not {full['market']!r}")
    if full["num_players"] not in range(2, 6):  # C1
        raise ValueError(f"num_players must be 2 to 5, not {full['num_players']}")
    if full["first_player"] is not None and full["first_player"] not in range(full["num_players"]):
        raise ValueError(f"first_player must be a seat or None, not {full['first_player']}")
    if full["payment"] not in ("choose", "auto"):
        raise ValueError(f"payment must be 'choose' or 'auto', not {full['payment']!r}")
    if full["max_rounds"] < 1:
        raise ValueError(f"max_rounds must be at least 1, not {full['max_rounds']}")
    if len(full["star_copies"]) != len(STAR_BUILDINGS) or min(full["star_copies"]) < 0:
        raise ValueError(f"star_copies must be six numbers, not {full['star_copies']}")
    return full


class ReferenceGame:
    """One game of Megaland, from the first question to the end."""

    def __init__(self, config: dict[str, Any] | None = None, seed: int = 0) -> None:
        """Set up the game (S) and continue to its first question."""
        self._prepare(config, seed)
        self.set_up()

    def _prepare(self, config: dict[str, Any] | None, seed: int) -> None:
        """Put everything in its place before the setup; nothing is on offer yet."""
        self.config = checked_config(config)
        self.seed = seed
        self.num_players: int = self.config["num_players"]
        self.seats = range(self.num_players)
        self.skip_forced: bool = self.config["skip_forced"]
        self.events: list[dict[str, Any]] = []
        self.steps = 0
        self.decisions = [0] * self.num_players
        self.round = 0
        self.phase = "level"
        self.decision: str | None = None
        self.active: list[int] = []
        self.first_player = 0
        self.buyer: int | None = None
        self.treasure_deck: Hand = dict(TREASURE_COPIES)
        self.discard_pile: Hand = empty_hand()
        self.level_seen: list[str] = []
        self.level_card: str | None = None
        self.hearts_left = HEART_TOKENS - STARTING_HEARTS * self.num_players  # C4
        self.jumps_left = JUMP_TOKENS  # C5
        self.buildings_left: dict[str, int] = {}  # exactly the types on offer
        self.players = [Player() for _ in self.seats]
        self.purchase: Purchase | None = None
        self.winners: list[int] = []
        self.truncated = False

    @property
    def terminated(self) -> bool:
        """Whether the game has ended by N5; a game that was cut off (D4) has not."""
        return self.phase == "over" and not self.truncated

    # ------------------------------------------------------------------------------------------------ setup (S)

    def set_up(self) -> None:
        """S1 and S2, then the first round."""
        offered = self.draw_market()
        star_copies = dict(zip(STAR_BUILDINGS, self.config["star_copies"], strict=True))
        for name in BUILDINGS:
            if name in star_copies:
                self.buildings_left[name] = star_copies[name]
            elif name in offered:
                self.buildings_left[name] = NORMAL_COPIES
                self.log("market", building=name)
        self.first_player = self.draw_first_player()
        self.log("first_player", seat=self.first_player)
        self.start_round()

    def draw_market(self) -> list[str]:
        """S1: the seven normal types on offer."""
        market = self.config["market"]
        if not isinstance(market, str):
            return list(market)
        sets = allowed_markets(market)
        return list(sets[choose(word_at(self.seed, "MARKET", 0, 0, 0), len(sets))])

    def draw_first_player(self) -> int:
        """S2: set by the configuration, or at random."""
        if self.config["first_player"] is not None:
            return int(self.config["first_player"])
        return choose(word_at(self.seed, "FIRST_PLAYER", 0, 0, 0), self.num_players)

    # ----------------------------------------------------------------------------------- asking and answering

    def deciders(self) -> list[int]:
        """The seats that choose at the current decision, whether they are asked or have only one thing to do."""
        match self.decision:
            case "jump":  # L2
                return [seat for seat in self.in_level() if self.players[seat].jumps > 0]
            case "rabbit":  # L8
                return [seat for seat in self.in_level() if self.players[seat].carried["carrot"] >= 3]
            case "run":  # L9
                return self.in_level()
            case "herb_hut" | "reptile" | "store":  # L7, L10, N2
                return [seat for seat in self.seats if self.players[seat].picks_left > 0]
            case "buy" | "pay":  # B1, B2
                return [self.buying_seat()]
        return []

    def options(self, seat: int) -> list[str]:
        """What a decider may do at the current decision, in the order of the list of actions."""
        player = self.players[seat]
        match self.decision:
            case "jump":  # L2
                return ["PASS", "JUMP"]
            case "rabbit":  # L8
                return ["PASS", "TRADE"]
            case "run":  # L9
                return ["STAY", "LEAVE"]
            case "herb_hut":  # L7
                return [TREASURE_ACTION[t] for t in TREASURES if player.carried[t] > player.picked[t]]
            case "store":  # N2
                return [TREASURE_ACTION[t] for t in TREASURES if player.home[t] > player.picked[t]]
            case "reptile":  # L10
                return ["PASS"] + [TREASURE_ACTION[t] for t in TREASURES if player.home[t] > 0]
            case "buy":  # B1
                return ["PASS", *self.affordable_buildings(seat), *self.affordable_hearts(seat)]
            case "pay":  # B2: what some complete payment still needs
                rests = self.ways_to_pay_the_rest()
                return [TREASURE_ACTION[t] for t in TREASURES if any(rest[t] > 0 for rest in rests)]
        raise AssertionError("nothing is being decided")

    def legal(self, seat: int) -> list[str]:
        """The legal actions of a seat; a seat that is not asked can only pass."""
        return self.options(seat) if seat in self.active else ["PASS"]

    def ask(self, decision: str) -> None:
        """Ask all players who decide at this step; if nobody is asked, continue at once.

        With ``skip_forced`` a seat with only one thing to do is not asked: it does it in the same moment as the others.
        """
        self.decision = decision
        self.active = [seat for seat in self.deciders() if not self.skip_forced or len(self.options(seat)) > 1]
        if not self.active:
            self.carry_out({})

    def step(self, actions: dict[int, str]) -> None:
        """Answer the current decision: exactly one action for each active seat. ValueError before anything changes."""
        self.check(actions)
        self.steps += 1
        for seat in self.active:
            self.decisions[seat] += 1
        self.carry_out(actions)

    def check(self, actions: dict[int, str]) -> None:
        """Raise ValueError for answers that the current decision does not allow."""
        if self.decision is None:
            raise ValueError(f"the game is over: no action is possible, got {actions}")
        for seat, action in actions.items():
            if seat not in self.active:
                asked = ", ".join(f"{active} ({', '.join(self.legal(active))})" for active in self.active)
                raise ValueError(f"seat {seat} cannot {action!r}: at {self.decision} are asked {asked}")
        for seat in self.active:
            legal = self.legal(seat)
            if seat not in actions:
                raise ValueError(f"seat {seat} is asked to {self.decision} but has no action: legal are {legal}")
            if actions[seat] not in legal:
                raise ValueError(f"seat {seat} cannot {actions[seat]!r} at {self.decision}: legal are {legal}")

    def carry_out(self, asked: dict[int, str]) -> None:
        """Carry out the answers and the forced choices of seats that were not asked; then everything that follows."""
        answers = {seat: asked[seat] if seat in asked else self.options(seat)[0] for seat in self.deciders()}
        decision = self.decision
        self.decision = None
        self.active = []
        match decision:
            case "jump":
                self.jump(answers)
            case "herb_hut":
                self.pick(answers, "herb_hut")
            case "rabbit":
                self.trade_with_rabbit(answers)
            case "run":
                self.stay_or_leave(answers)
            case "reptile":
                self.swap_at_stables(answers)
            case "buy":
                self.buy_or_pass(answers[self.buying_seat()])
            case "pay":
                self.pay_card(TREASURE_PICKED[answers[self.buying_seat()]])
                self.go_on_paying()
            case "store":
                self.pick(answers, "store")

    def pick(self, answers: dict[int, str], decision: str) -> None:
        """All players with picks left pick one treasure; then the next pick, until all have finished (D3)."""
        for seat, action in answers.items():
            self.players[seat].picked[TREASURE_PICKED[action]] += 1
            self.players[seat].picks_left -= 1
        if any(player.picks_left > 0 for player in self.players):
            self.ask(decision)
        elif decision == "herb_hut":
            self.finish_herb_huts()
        else:
            self.finish_storing()

    # ------------------------------------------------------------------------------------------- small helpers

    def log(self, event: str, **what: Any) -> None:
        """Add an event to the log."""
        self.events.append({"step": self.steps, "event": event, **what})

    def begin_phase(self, phase: str) -> None:
        """Log that a phase of the round begins."""
        self.phase = phase
        self.log("phase", phase=phase)

    def in_level(self) -> list[int]:
        """The seats in the level, ascending."""
        return [seat for seat in self.seats if self.players[seat].in_level]

    def from_first_player(self) -> list[int]:
        """All seats clockwise from the first player: the order in which players draw (D2) and buy (B1)."""
        return [(self.first_player + i) % self.num_players for i in self.seats]

    def buying_seat(self) -> int:
        """The seat whose turn it is in the buy phase."""
        assert self.buyer is not None
        return self.buyer

    def gain_coins(self, seat: int, building: str, value: int) -> None:
        """Pay coins of a building to its owner."""
        if value > 0:
            self.players[seat].coins += value
            self.log("coins", seat=seat, building=building, value=value)

    def draw(self, seat: int, hand: Hand, purpose: str, count: int) -> None:
        """D1: draw one treasure into a hand. The discard pile is shuffled only when a draw finds the deck empty."""
        if size_of(self.treasure_deck) == 0 and size_of(self.discard_pile) > 0:
            move_all(self.discard_pile, self.treasure_deck)
            self.log("reshuffle")
        treasure = None
        if size_of(self.treasure_deck) > 0:
            treasure = choose_treasure(word_at(self.seed, purpose, self.round, seat, count), self.treasure_deck)
            self.treasure_deck[treasure] -= 1
            hand[treasure] += 1
        self.log("draw", seat=seat, treasure=treasure)

    def keep_some(self, seat: int, source: Hand, kept: Hand) -> None:
        """Move the ``kept`` cards of ``source`` to the home hand and discard the others (L7, N2)."""
        kept = dict(kept)
        discarded = {treasure: source[treasure] - kept[treasure] for treasure in TREASURES}
        for treasure in TREASURES:
            source[treasure] = 0  # `source` may be the home hand itself: empty it before the kept cards come in
        for treasure, count in listed(kept).items():
            self.players[seat].home[treasure] += count
            self.log("keep", seat=seat, treasure=treasure, value=count)
        for treasure, count in listed(discarded).items():
            self.discard_pile[treasure] += count
            self.log("discard", seat=seat, treasure=treasure, value=count)

    # ------------------------------------------------------------------------- phase 1: run the level (L)

    def start_round(self) -> None:
        """L1: all players enter the level and draw one treasure."""
        self.round += 1
        self.log("round", value=self.round)
        self.begin_phase("level")
        self.enter_level()
        self.ask("jump")

    def enter_level(self) -> None:
        """L1: nobody may sit out."""
        for player in self.players:
            player.in_level = True
        for seat in self.from_first_player():
            self.draw(seat, self.players[seat].carried, "ENTER", 0)

    def jump(self, answers: dict[int, str]) -> None:
        """L2: a player who jumps returns a token to the supply."""
        for seat, action in answers.items():
            if action == "JUMP":
                self.players[seat].jumps -= 1
                self.jumps_left += 1
                self.players[seat].jumping = True
                self.log("jump", seat=seat)
        self.reveal()

    def reveal(self) -> None:
        """L3: one of the level cards not yet seen this round; then its effects, in the order of L4."""
        unseen = [card for card in LEVEL_CARDS if card not in self.level_seen]
        card = unseen[choose(word_at(self.seed, "REVEAL", self.round, 0, len(self.level_seen)), len(unseen))]
        self.level_seen.append(card)
        self.level_card = card
        self.log("reveal", card=card)
        self.coins_for_meeting(card)
        self.extra_draws(card)
        self.damage(card)
        self.resolve_falls()

    def coins_for_meeting(self, card: str) -> None:
        """L4, C6: each Temple of Zoz pays 2 coins for meeting the Red Serpent, even when falling or jumping."""
        if card == "Red Serpent":
            for seat in self.in_level():
                self.gain_coins(seat, "Temple of Zoz", 2 * self.players[seat].buildings["Temple of Zoz"])

    def extra_draws(self, card: str) -> None:
        """L4: the Treasure Box for everyone in the level (L6), Soap Makers on the Sludge Creature (L5)."""
        for seat in self.from_first_player():
            player = self.players[seat]
            if not player.in_level:
                continue
            if card == "Treasure Box":
                self.draw(seat, player.carried, "BOX", 0)
            if card == "Sludge Creature" and player.buildings["Soap Makers"] > 0:  # copies do not add up (C8)
                self.draw(seat, player.carried, "SOAP", 0)

    def damage(self, card: str) -> None:
        """L5: hearts stop at 0; a jump helps where the card has the symbol, Soap Makers on the Sludge Creature."""
        for seat in self.in_level():
            player = self.players[seat]
            if player.jumping and LEVEL_CARDS[card].jump_symbol:
                continue
            if card == "Sludge Creature" and player.buildings["Soap Makers"] > 0:
                continue
            lost = min(LEVEL_CARDS[card].skulls, player.hearts)
            player.hearts -= lost
            if lost > 0:
                self.log("damage", seat=seat, value=lost)

    def resolve_falls(self) -> None:
        """L7: players without hearts fall. Hospitals pay; carried treasures are lost, except those in Herb Huts."""
        fallen = [seat for seat in self.in_level() if self.players[seat].hearts == 0]
        for seat in fallen:
            self.players[seat].in_level = False
            self.players[seat].falling = True
            self.log("fall", seat=seat)
        self.hospitals_pay(fallen)
        for seat in fallen:
            player = self.players[seat]
            huts = player.buildings["Herb Hut"]
            if huts == 0:
                self.keep_some(seat, player.carried, empty_hand())
            elif size_of(player.carried) <= huts:
                self.keep_some(seat, player.carried, player.carried)
            else:
                player.picks_left = huts
        if any(player.picks_left > 0 for player in self.players):
            self.ask("herb_hut")
        else:
            self.finish_herb_huts()

    def hospitals_pay(self, fallen: list[int]) -> None:
        """L7: 2 coins per Hospital for each neighbour who falls, wherever its owner is."""
        for seat in self.seats:
            neighbours = {(seat - 1) % self.num_players, (seat + 1) % self.num_players}  # one only with two players
            falls = len(neighbours & set(fallen))
            self.gain_coins(seat, "Hospital", 2 * self.players[seat].buildings["Hospital"] * falls)

    def finish_herb_huts(self) -> None:
        """L7: players who had a choice keep what they picked; then each Laboratory of a player who fell draws."""
        for seat in self.seats:
            player = self.players[seat]
            if player.falling and size_of(player.picked) > 0:
                self.keep_some(seat, player.carried, player.picked)
                player.picked = empty_hand()
        for seat in self.from_first_player():
            player = self.players[seat]
            if player.falling:
                for k in range(player.buildings["Laboratory"]):
                    self.draw(seat, player.home, "LABORATORY", k)
        for player in self.players:
            player.falling = False
        self.meet_rabbit()

    def meet_rabbit(self) -> None:
        """L8: on the Rabbit, players still in the level who carry three carrots may trade them."""
        if self.level_card == "Rabbit":
            self.ask("rabbit")
        else:
            self.finish_card()

    def trade_with_rabbit(self, answers: dict[int, str]) -> None:
        """L8: three carrots for three new treasures. All discard before anyone draws (D2)."""
        traders = [seat for seat, action in answers.items() if action == "TRADE"]
        for seat in traders:
            self.players[seat].carried["carrot"] -= 3
            self.discard_pile["carrot"] += 3
            self.log("trade", seat=seat)
        for seat in self.from_first_player():
            if seat in traders:
                for count in range(3):
                    self.draw(seat, self.players[seat].carried, "RABBIT", count)
        self.finish_card()

    def finish_card(self) -> None:
        """The card is resolved. L9: stay or leave. L11: after the tenth card all go home. L12: or nobody is left."""
        for player in self.players:
            player.jumping = False
        if not self.in_level():
            self.finish_level()
        elif len(self.level_seen) == len(LEVEL_CARDS):
            self.return_home(self.in_level())
        else:
            self.ask("run")

    def stay_or_leave(self, answers: dict[int, str]) -> None:
        """L9: carry out the choices of all players in the level."""
        leavers = [seat for seat, action in answers.items() if action == "LEAVE"]
        self.return_home(leavers)

    def return_home(self, leavers: list[int]) -> None:
        """L9, L11: the carried treasures go to the home hand; Bazaars pay; then the Reptile Stables (L10)."""
        brought: dict[int, int] = {}
        for seat in self.in_level():
            player = self.players[seat]
            if seat in leavers:
                brought[seat] = size_of(player.carried)
                move_all(player.carried, player.home)
                player.in_level = False
                self.log("home", seat=seat, value=brought[seat])
            else:
                self.log("stay", seat=seat)
        for seat in leavers:
            if brought[seat] >= 5:
                self.gain_coins(seat, "Bazaar of Oddities", self.players[seat].buildings["Bazaar of Oddities"])
        for seat in leavers:
            self.players[seat].picks_left = self.players[seat].buildings["Reptile Stable"]
        self.next_stable()

    def next_stable(self) -> None:
        """L10: one stable after the other. An empty home hand is not asked."""
        for player in self.players:
            if size_of(player.home) == 0:
                player.picks_left = 0
        if any(player.picks_left > 0 for player in self.players):
            self.ask("reptile")
        else:
            self.draw_for_staying()

    def swap_at_stables(self, answers: dict[int, str]) -> None:
        """L10: discard one treasure from the home hand, then draw one into it. Passing ends it for this return."""
        swappers = [seat for seat, action in answers.items() if action != "PASS"]
        for seat, action in answers.items():
            player = self.players[seat]
            if action == "PASS":
                player.picks_left = 0
                continue
            treasure = TREASURE_PICKED[action]
            player.home[treasure] -= 1
            self.discard_pile[treasure] += 1
            self.log("swap", seat=seat, treasure=treasure)
        for seat in self.from_first_player():
            if seat in swappers:
                player = self.players[seat]
                stables_used = player.buildings["Reptile Stable"] - player.picks_left
                self.draw(seat, player.home, "STABLE", stables_used)
                player.picks_left -= 1
        self.next_stable()

    def draw_for_staying(self) -> None:
        """L9: players who stay draw one treasure when the others are home. L12: if nobody stays, the level ends."""
        if not self.in_level():
            self.finish_level()
            return
        for seat in self.from_first_player():
            if self.players[seat].in_level:
                self.draw(seat, self.players[seat].carried, "STAY", len(self.level_seen) - 1)
        self.ask("jump")

    def finish_level(self) -> None:
        """L12: nobody is in the level any more, so the first player begins to buy."""
        self.level_card = None
        self.begin_phase("buy")
        self.buyer = self.first_player
        self.ask("buy")

    # ----------------------------------------------------------------------------------- phase 2: buy (B)

    def affordable_buildings(self, seat: int) -> list[str]:
        """The buildings a player can buy: on offer, not sold out (B5), not yet bought this turn (B1), payable (B2)."""
        player = self.players[seat]
        cards, rights = tuple(player.home.values()), player.wild_rights()
        return [
            BUY_ACTION[name]
            for name, left in self.buildings_left.items()
            if left > 0 and name not in player.bought and can_pay(cards, None, BUILDINGS[name].cost, rights)
        ]

    def affordable_hearts(self, seat: int) -> list[str]:
        """The types with which a player can pay for a heart (B4), if there are hearts left (B5)."""
        player = self.players[seat]
        if self.hearts_left == 0 or player.max_hearts == MOST_HEARTS:
            return []
        cards, rights = tuple(player.home.values()), player.wild_rights()
        return [HEART_ACTION[t] for t in TREASURES if can_pay(cards, t, player.heart_cost(), rights)]

    def buy_or_pass(self, action: str) -> None:
        """B1: a purchase, or the end of the turn."""
        player = self.players[self.buying_seat()]
        if action == "PASS":
            self.end_turn()
        elif action in BUILDING_BOUGHT:
            building = BUILDING_BOUGHT[action]
            self.purchase = Purchase(building, None, BUILDINGS[building].cost)
            self.go_on_paying()
        else:
            self.purchase = Purchase("heart", HEART_PAID_WITH[action], player.heart_cost())
            self.go_on_paying()

    def ways_to_pay_the_rest(self) -> list[Hand]:
        """B2 to B4: all ways to complete the payment after the cards already paid."""
        assert self.purchase is not None
        player = self.players[self.buying_seat()]
        cards, paid = tuple(player.home.values()), tuple(self.purchase.paid.values())
        return ways_to_pay(cards, paid, self.purchase.treasure, self.purchase.cost, player.wild_rights())

    def go_on_paying(self) -> None:
        """Pay until the payment is complete or the player has to choose a card."""
        assert self.purchase is not None
        if self.config["payment"] == "auto":
            while size_of(self.purchase.paid) < self.purchase.cost:
                self.pay_card(self.most_held_payable())
        elif self.skip_forced:
            rests = self.ways_to_pay_the_rest()
            if len(rests) == 1:  # nothing to choose: the rest is paid in the order of C2
                for treasure in TREASURES:
                    for _ in range(rests[0][treasure]):
                        self.pay_card(treasure)
        if size_of(self.purchase.paid) < self.purchase.cost:
            self.ask("pay")
        else:
            self.complete_purchase()

    def most_held_payable(self) -> str:
        """The treasure that ``payment="auto"`` pays next: the type held most; of equals, the most common in C2."""
        home = self.players[self.buying_seat()].home
        rests = self.ways_to_pay_the_rest()
        payable = [treasure for treasure in TREASURES if any(rest[treasure] > 0 for rest in rests)]
        return max(payable, key=lambda treasure: (home[treasure], TREASURE_COPIES[treasure]))

    def pay_card(self, treasure: str) -> None:
        """Move one card from the home hand to the payment."""
        assert self.purchase is not None
        self.players[self.buying_seat()].home[treasure] -= 1
        self.purchase.paid[treasure] += 1
        self.log("pay", seat=self.buying_seat(), treasure=treasure)

    def complete_purchase(self) -> None:
        """Discard the payment (B2), use up the wild rights in it (B3), and hand over what was bought."""
        assert self.purchase is not None
        purchase = self.purchase
        seat = self.buying_seat()
        self.use_wild_rights(purchase)
        move_all(purchase.paid, self.discard_pile)
        self.purchase = None
        if purchase.treasure is None:
            self.receive_building(seat, purchase.buying)
        else:
            self.receive_heart(seat, purchase.treasure, purchase.cost)
        self.ask("buy")

    def use_wild_rights(self, purchase: Purchase) -> None:
        """B3: a treasure paid as its own type uses up no right: for a building that is the first of each type."""
        wild_used = self.players[self.buying_seat()].wild_used
        for treasure in ("fish", "carrot"):
            paid = purchase.paid[treasure]
            if purchase.treasure is None:
                wild_used[treasure] += max(paid - 1, 0)
            elif purchase.treasure != treasure:
                wild_used[treasure] += paid

    def receive_building(self, seat: int, name: str) -> None:
        """C6 and B6: what is gained on purchase, and what the buildings owned before it pay for it."""
        player = self.players[seat]
        building = BUILDINGS[name]
        owned_before = dict(player.buildings)
        self.buildings_left[name] -= 1
        player.buildings[name] += 1
        player.bought.add(name)
        self.log("buy", seat=seat, building=name)
        self.gain_coins(seat, name, building.coins)
        if building.cost in (4, 5):
            self.gain_coins(seat, "Smithy", 3 * owned_before["Smithy"])
        if building.star:
            self.gain_coins(seat, "Toll Booth", owned_before["Toll Booth"])
        else:
            self.gain_coins(seat, "Hall of Elders", owned_before["Hall of Elders"])
        jumps = min(building.jumps, self.jumps_left)  # B5: as far as they last
        if jumps > 0:
            self.jumps_left -= jumps
            player.jumps += jumps
            self.log("jumps", seat=seat, value=jumps)

    def receive_heart(self, seat: int, treasure: str, cost: int) -> None:
        """B4: the maximum rises at once; the heart can be lost from the next level on. Hotels pay (B6)."""
        self.hearts_left -= 1
        self.players[seat].max_hearts += 1
        self.log("heart", seat=seat, treasure=treasure, value=cost)
        self.gain_coins(seat, "Hotel", 2 * self.players[seat].buildings["Hotel"])

    def end_turn(self) -> None:
        """B1: the next player clockwise; after the last one the Arcades."""
        seat = self.buying_seat()
        self.players[seat].bought = set()
        self.log("pass", seat=seat)
        next_seat = (seat + 1) % self.num_players
        if next_seat != self.first_player:
            self.buyer = next_seat
            self.ask("buy")
            return
        self.buyer = None
        self.arcades_pay()
        self.night()

    def arcades_pay(self) -> None:
        """B7: 2 coins per Arcade for a player with strictly fewer coins than any other, counted before any is paid."""
        coins = [player.coins for player in self.players]
        for seat in self.seats:
            if all(coins[seat] < coins[other] for other in self.seats if other != seat):
                self.gain_coins(seat, "Arcade", 2 * self.players[seat].buildings["Arcade"])

    # --------------------------------------------------------------------------------- phase 3: night (N)

    def night(self) -> None:
        """N1: the first-player token passes left; then storing (N2)."""
        self.begin_phase("night")
        self.first_player = (self.first_player + 1) % self.num_players
        self.log("first_player", seat=self.first_player)
        self.store()

    def store(self) -> None:
        """N2: one treasure per building is kept; there is a choice only with more treasures than buildings."""
        for seat in self.seats:
            player = self.players[seat]
            buildings = sum(player.buildings.values())
            if buildings == 0:
                self.keep_some(seat, player.home, empty_hand())
            elif size_of(player.home) > buildings:
                player.picks_left = buildings
        if any(player.picks_left > 0 for player in self.players):
            self.ask("store")
        else:
            self.finish_storing()

    def finish_storing(self) -> None:
        """N2: the picked treasures are kept, the others discarded; all this before N3 draws."""
        for seat in self.seats:
            player = self.players[seat]
            if size_of(player.picked) > 0:
                self.keep_some(seat, player.home, player.picked)
                player.picked = empty_hand()
        self.moon()

    def moon(self) -> None:
        """N3: moon buildings pay coins, then Fishing Ponds draw."""
        for name, coins in (("Bowling Alley", 1), ("Lodge", 2), ("Endless Mine", 3)):
            for seat in self.seats:
                self.gain_coins(seat, name, coins * self.players[seat].buildings[name])
        for seat in self.from_first_player():
            player = self.players[seat]
            for k in range(player.buildings["Fishing Pond"]):
                self.draw(seat, player.home, "POND", k)
        self.renew()
        self.end_or_next_round()

    def renew(self) -> None:
        """N4: hearts, the level deck, wild rights."""
        self.level_seen = []
        for player in self.players:
            player.hearts = player.max_hearts
            player.wild_used = {"fish": 0, "carrot": 0}

    def end_or_next_round(self) -> None:
        """N5: at 20 coins the game ends, and the most coins win, shared by all who tie. Then comes the cut-off (D4)."""
        most = max(player.coins for player in self.players)
        if most >= COINS_TO_WIN:
            self.phase = "over"
            self.winners = [seat for seat in self.seats if self.players[seat].coins == most]
            for seat in self.winners:
                self.log("end", seat=seat)
        elif self.round == self.config["max_rounds"]:
            self.phase = "over"
            self.truncated = True
        else:
            self.start_round()

    # -------------------------------------------------------------------------------- snapshot and restore

    def snapshot(self) -> dict[str, Any]:
        """The whole state of the game as plain data that shares nothing with it."""
        market = self.config["market"]
        purchase = self.purchase
        return {
            "config": self.config
            | {
                "market": market if isinstance(market, str) else list(market),
                "star_copies": list(self.config["star_copies"]),
            },
            "seed": self.seed,
            "steps": self.steps,
            "decisions": list(self.decisions),
            "round": self.round,
            "phase": self.phase,
            "decision": self.decision,
            "active": list(self.active),
            "first_player": self.first_player,
            "buyer": self.buyer,
            "treasure_deck": listed(self.treasure_deck),
            "discard": listed(self.discard_pile),
            "level_seen": list(self.level_seen),
            "level_card": self.level_card,
            "supply": {"hearts": self.hearts_left, "jumps": self.jumps_left, "buildings": dict(self.buildings_left)},
            "players": [
                {
                    "coins": player.coins,
                    "hearts": player.hearts,
                    "max_hearts": player.max_hearts,
                    "jumps": player.jumps,
                    "jumping": player.jumping,
                    "in_level": player.in_level,
                    "falling": player.falling,
                    "carried": listed(player.carried),
                    "home": listed(player.home),
                    "buildings": listed(player.buildings),
                    "wild_used": dict(player.wild_used),
                    "bought": [name for name in BUILDINGS if name in player.bought],
                    "picks_left": player.picks_left,
                    "picked": listed(player.picked),
                }
                for player in self.players
            ],
            "pay": None
            if purchase is None
            else {
                "buying": purchase.buying,
                "treasure": purchase.treasure,
                "cost": purchase.cost,
                "paid": listed(purchase.paid),
            },
            "winners": list(self.winners),
            "truncated": self.truncated,
        }

    @classmethod
    def restore(cls, snapshot: dict[str, Any]) -> ReferenceGame:
        """A game that continues from a snapshot exactly as the original would; its list of events starts empty."""
        game = cls.__new__(cls)
        game._prepare(snapshot["config"], snapshot["seed"])
        for name in ("steps", "round", "phase", "decision", "first_player", "buyer", "level_card", "truncated"):
            setattr(game, name, snapshot[name])
        for name in ("decisions", "active", "level_seen", "winners"):
            setattr(game, name, list(snapshot[name]))
        game.treasure_deck = empty_hand() | snapshot["treasure_deck"]
        game.discard_pile = empty_hand() | snapshot["discard"]
        supply = snapshot["supply"]
        game.hearts_left = supply["hearts"]
        game.jumps_left = supply["jumps"]
        game.buildings_left = {name: supply["buildings"][name] for name in BUILDINGS if name in supply["buildings"]}
        game.players = [
            Player(
                coins=player["coins"],
                hearts=player["hearts"],
                max_hearts=player["max_hearts"],
                jumps=player["jumps"],
                jumping=player["jumping"],
                in_level=player["in_level"],
                falling=player["falling"],
                carried=empty_hand() | player["carried"],
                home=empty_hand() | player["home"],
                buildings=dict.fromkeys(BUILDINGS, 0) | player["buildings"],
                wild_used=dict(player["wild_used"]),
                bought=set(player["bought"]),
                picks_left=player["picks_left"],
                picked=empty_hand() | player["picked"],
            )
            for player in snapshot["players"]
        ]
        pay = snapshot["pay"]
        if pay is not None:
            game.purchase = Purchase(pay["buying"], pay["treasure"], pay["cost"], empty_hand() | pay["paid"])
        return game
