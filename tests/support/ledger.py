"""A ledger that follows the events of one game and knows from them alone where every card is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from megaland_env import Building, LevelCard, Treasure
from megaland_env.cards import NORMAL_COPIES, STAR_BUILDINGS, TREASURE_COPIES

Row = dict[str, Any]

COPIES = {treasure.label: copies for treasure, copies in zip(Treasure, TREASURE_COPIES, strict=True)}
OPENING = {"round": "level", "pay": "buy", "pass": "buy", "first_player": "night"}
"""The events that open a phase, or are in the phase that they would have opened."""
CARDS = {card.label for card in LevelCard}
COUNTED = (
    "coins_gained stays damage jumped draws treasures_home treasures_lost treasures_unstored treasures_paid trades "
    "swaps bought hearts_bought"
).split()


class Ledger:
    """The ledger of a game with these numbers of players and of copies of the star buildings."""

    def __init__(self, players: int, star_copies: Iterable[int]) -> None:
        self.players = players
        self.deck, self.discard, self.paid = Counter(COPIES), Counter(), Counter()
        self.supply = {star.label: copies for star, copies in zip(STAR_BUILDINGS, star_copies, strict=True)}
        self.hearts_left, self.jumps_left = 32 - 4 * players, 14
        self.first_player = -1
        self.round, self.phase = 0, "setup"
        self.unseen: set[str] = set()
        self.coins, self.jumps = [0] * players, [0] * players
        self.max_hearts, self.hearts = [4] * players, [4] * players
        self.in_level = [False] * players
        self.carried = [Counter[str]() for _ in range(players)]
        self.home = [Counter[str]() for _ in range(players)]
        self.buildings = [Counter[str]() for _ in range(players)]
        self.winners: list[int] = []
        self.rounds: list[Row] = []  # what the table ``rounds`` says, but for the game and the agent

    def follow(self, events: Iterable[Row]) -> Ledger:
        """Enter all events, which are those of the whole game in their order."""
        for number, row in enumerate(events):
            assert row["number"] == number
            if row["event"] == "round":
                self._end_round()
                self._begin_round(row)
            assert row["round"] == self.round
            self._check_phase(row["phase"], row["event"])
            self.phase = row["phase"]
            self._enter(row["event"], row["seat"], row["item"], row["value"])
        self._end_round()
        return self

    def _check_phase(self, phase: str, event: str) -> None:
        """Check the phase of an event: a phase begins with an event that opens it, and with no other."""
        if event in OPENING:
            assert phase == (OPENING[event] if self.round else "setup"), event
        else:
            assert phase == self.phase, event

    def _begin_round(self, row: Row) -> None:
        assert row["value"] == self.round + 1
        self.round += 1
        self.hearts = list(self.max_hearts)
        self.in_level = [True] * self.players
        self.unseen = set(CARDS)
        self.turns = [(seat - self.first_player) % self.players for seat in range(self.players)]
        self.fell = [False] * self.players
        self.counts = [Counter[str]() for _ in range(self.players)]

    def _end_round(self) -> None:
        if not self.round:
            return
        assert not any(self.in_level)
        assert not any(map(Counter.total, [*self.carried, self.paid]))
        for seat in range(self.players):
            self.rounds.append(
                {
                    "seat": seat,
                    "round": self.round,
                    "turn": self.turns[seat],
                    "coins": self.coins[seat],
                    "max_hearts": self.max_hearts[seat],
                    "jumps": self.jumps[seat],
                    "home": self.home[seat].total(),
                    "buildings": self.buildings[seat].total(),
                    "fell": self.fell[seat],
                    **{name: self.counts[seat][name] for name in COUNTED},
                }
            )

    def _enter(self, event: str, seat: int, item: str | None, value: int | None) -> None:
        """Enter one event. No number may become negative."""
        if event == "market":
            self.supply[item] = NORMAL_COPIES
        elif event == "first_player":
            self.first_player = seat
        elif event == "draw" and item is None:
            assert not self.deck.total()
            assert not self.discard.total()
        elif event == "draw":
            self._move(item, 1, self.deck, self.carried[seat] if self.in_level[seat] else self.home[seat])
            self.counts[seat]["draws"] += 1
        elif event == "reshuffle":
            assert not self.deck.total()
            self.deck, self.discard = self.discard, Counter()
        elif event == "jump":
            self.jumps[seat] -= 1
            self.jumps_left += 1
            self.counts[seat]["jumped"] += 1
        elif event == "reveal":
            self.unseen.remove(item)
        elif event == "damage":
            self.hearts[seat] -= value
            self.counts[seat]["damage"] += value
        elif event == "fall":
            assert self.in_level[seat]
            assert self.hearts[seat] == 0
            self.in_level[seat], self.fell[seat] = False, True
        elif event == "keep" and self.phase == "level":
            self._move(item, value, self.carried[seat], self.home[seat])
        elif event == "keep":
            assert self.home[seat][item] >= value
        elif event == "discard":
            falling = self.phase == "level"
            self._move(item, value, self.carried[seat] if falling else self.home[seat], self.discard)
            self.counts[seat]["treasures_lost" if falling else "treasures_unstored"] += value
        elif event == "trade":
            self._move("carrot", 3, self.carried[seat], self.discard)
            self.counts[seat]["trades"] += 1
        elif event == "stay":
            assert self.in_level[seat]
            self.counts[seat]["stays"] += 1
        elif event == "home":
            assert self.in_level[seat]
            assert self.carried[seat].total() == value
            self.in_level[seat] = False
            self.home[seat] += self.carried[seat]
            self.carried[seat] = Counter()
            self.counts[seat]["treasures_home"] += value
        elif event == "swap":
            self._move(item, 1, self.home[seat], self.discard)
            self.counts[seat]["swaps"] += 1
        elif event == "pay":
            self._move(item, 1, self.home[seat], self.paid)
            self.counts[seat]["treasures_paid"] += 1
        elif event == "buy":
            self.supply[item] -= 1
            assert self.supply[item] >= 0
            self.buildings[seat][item] += 1
            self.counts[seat]["bought"] += 1
            self._discard_paid()
        elif event == "heart":
            assert self.paid.total() == value
            self.max_hearts[seat] += 1
            self.hearts_left -= 1
            self.counts[seat]["hearts_bought"] += 1
            self._discard_paid()
        elif event == "jumps":
            self.jumps[seat] += value
            self.jumps_left -= value
        elif event == "coins":
            self.coins[seat] += value
            self.counts[seat]["coins_gained"] += value
        elif event == "end":
            self.winners.append(seat)
        else:
            assert event in ("round", "pass"), event

    def _move(self, item: str, number: int, source: Counter[str], target: Counter[str]) -> None:
        source[item] -= number
        assert source[item] >= 0
        target[item] += number

    def _discard_paid(self) -> None:
        self.discard += self.paid
        self.paid = Counter()

    def snapshot(self) -> Row:
        """The parts of a snapshot of the finished game that follow from the events."""
        return {
            "round": self.round,
            "first_player": self.first_player,
            "treasure_deck": _some(self.deck),
            "discard": _some(self.discard),
            "supply": {
                "hearts": self.hearts_left,
                "jumps": self.jumps_left,
                "buildings": {b.label: self.supply[b.label] for b in Building if b.label in self.supply},
            },
            "players": [
                {
                    "coins": self.coins[seat],
                    "max_hearts": self.max_hearts[seat],
                    "jumps": self.jumps[seat],
                    "carried": _some(self.carried[seat]),
                    "home": _some(self.home[seat]),
                    "buildings": _some(self.buildings[seat]),
                }
                for seat in range(self.players)
            ],
            "winners": self.winners,
        }


def _some(counts: Counter[str]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}
