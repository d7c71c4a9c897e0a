"""Plays the engine and its slow twin side by side, and compares them at every step.

``python -m tests.support.lockstep --games 20000 --workers 2`` makes the comparison as large as one likes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache, partial
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np

from megaland_env import NUM_ACTIONS, Action, Building, Kind, MegalandConfig, MegalandGames, action_name
from megaland_env.cards import NORMAL_BUILDINGS
from tests.support.reference_game import BUILDINGS, ReferenceGame

Style = Callable[[random.Random, list[str]], str]
"""How a seat plays: picks one of the legal actions, given by name."""


def uniform(luck: random.Random, legal: list[str]) -> str:
    """Any legal action, each with the same probability."""
    return luck.choice(legal)


def hoarder(luck: random.Random, legal: list[str]) -> str:
    """Stays long and buys rarely, so that hands are large and decks run out."""
    if "STAY" in legal:
        return "STAY" if luck.random() < 0.75 else "LEAVE"
    if "PASS" in legal and luck.random() < 0.9:
        return "PASS"
    return luck.choice(legal)


def rusher(luck: random.Random, legal: list[str]) -> str:
    """Leaves early and buys everything that it can, the most expensive first."""
    if "LEAVE" in legal:
        return "LEAVE" if luck.random() < 0.6 else "STAY"
    buildings = [name for name in legal if name.startswith("BUY_")]
    return buildings[-1] if buildings else luck.choice(legal)


def builder(luck: random.Random, legal: list[str]) -> str:
    """Buys buildings, never hearts, and stays long, so that there are many copies and falls."""
    buildings = [name for name in legal if name.startswith("BUY_")]
    if buildings:
        return luck.choice(buildings)
    if "STAY" in legal:
        return "STAY" if luck.random() < 0.8 else "LEAVE"
    return luck.choice([name for name in legal if not name.startswith("HEART_")])


def jumper(luck: random.Random, legal: list[str]) -> str:
    """Jumps, trades and swaps whenever it can, and buys hearts and buildings that give jump tokens."""
    for wanted in ("JUMP", "TRADE", "BUY_ARENA", "BUY_GYM"):
        if wanted in legal:
            return wanted
    hearts = [name for name in legal if name.startswith("HEART_")]
    if hearts and luck.random() < 0.7:
        return luck.choice(hearts)
    picks = [name for name in legal if name.startswith("TREASURE_")]
    if picks:
        return luck.choice(picks)
    if "STAY" in legal:
        return "STAY" if luck.random() < 0.7 else "LEAVE"
    return luck.choice(legal)


def miser(luck: random.Random, legal: list[str]) -> str:
    """Buys hearts and buildings that pay no coins at once, and never leaves early, so that games are long."""
    if "STAY" in legal:
        return "STAY" if luck.random() < 0.9 else "LEAVE"
    wanted = [name for name in legal if name.startswith("HEART_") or name in _WITHOUT_COINS]
    if wanted:
        return luck.choice(wanted)
    return "PASS" if "PASS" in legal else luck.choice(legal)


_WITHOUT_COINS = ("BUY_HERB_HUT", "BUY_REPTILE_STABLE", "BUY_OSTRICH_RANCH", "BUY_SOAP_MAKERS", "BUY_FISHING_POND")

STYLES: tuple[Style, ...] = (uniform, hoarder, rusher, builder, jumper, miser)


def configurations() -> Iterator[dict[str, Any]]:
    """Without end: 2 to 5 players, every kind of market, each building forced onto it in turn, both payments, both
    ``skip_forced``, with and without a set first player, small and odd limits."""
    luck = random.Random(2018)
    forced = cycle(NORMAL_BUILDINGS)
    numbers = 0
    while True:
        players = 2 + numbers % 4
        kind = numbers // 4 % 4
        market: Any = ("spread", "random", None, None)[kind]
        if market is None:
            wanted = next(forced)
            others = luck.sample([b for b in NORMAL_BUILDINGS if b != wanted], 6)
            market = [Building(b).label for b in sorted([wanted, *others])]
        yield {
            "num_players": players,
            "market": market,
            "first_player": luck.choice([None, luck.randrange(players)]),
            "payment": luck.choice(["choose", "choose", "auto"]),
            "skip_forced": luck.random() < 0.65,
            "max_rounds": luck.choice([3, 20, 50]),
            "star_copies": luck.choice([(5, 5, 5, 5, 4, 4), (5, 5, 5, 5, 4, 4), (1, 2, 0, 1, 1, 1)]),
        }
        numbers += 1


class _Table:
    """One game of the twin and its players, whose play depends only on ``luck_seed`` and the seed of the game."""

    def __init__(self, config: dict[str, Any], seed: int, luck_seed: int, dealt: bool = False) -> None:
        self.luck = random.Random(f"{luck_seed} {seed}")
        self.twin = ReferenceGame(config, seed)
        if dealt:
            self.twin = ReferenceGame.restore(dealt_out(self.twin.snapshot(), self.luck))
        self.where = f"compare({config}, [{seed}], luck_seed={luck_seed}, dealt={dealt})"
        styles = STYLES if self.luck.random() < 0.8 else (self.luck.choice(STYLES),)  # now and then five of a kind
        self.styles = [self.luck.choice(styles) for _ in range(config["num_players"])]

    def check(self, games: MegalandGames, slot: int, legal: Sequence[bytes]) -> None:
        """Compare the state, and what every seat may do."""
        ours, theirs = games.snapshot(slot), self.twin.snapshot()
        assert ours == theirs, self._found(_differences(ours, theirs))
        for seat, allowed in enumerate(legal):
            mine, wanted = _names(allowed), self.twin.legal(seat)
            assert mine == wanted, self._found(f"seat {seat} may {mine} in the engine and {wanted} in the twin")

    def answers(self) -> list[int]:
        """Choose for every seat that is asked, step the twin, and return the actions; PASS for the others."""
        chosen = {seat: self.styles[seat](self.luck, self.twin.legal(seat)) for seat in self.twin.active}
        self.twin.step(chosen)
        return [_NUMBERS[chosen[seat]] if seat in chosen else Action["PASS"] for seat in self.twin.seats]

    def check_end(self, games: MegalandGames, slot: int) -> None:
        """Compare the last state, the flags and the whole log of events of a finished game."""
        self.check(games, slot, [b"\x80\0\0\0\0"] * games.num_players)  # PASS alone
        twin = self.twin
        same_order = json.dumps(games.snapshot(slot)) == json.dumps(twin.snapshot())
        assert same_order, self._found("the keys of the snapshots are not in the same order")
        flags = (games.kind[slot], bool(games.terminated[slot]), bool(games.truncated[slot]))
        assert flags == (Kind.NONE, twin.terminated, twin.truncated), self._found(f"the engine ends with {flags}")
        ours, theirs = games.events(slot), twin.events
        for number, (mine, wanted) in enumerate(zip(ours, theirs, strict=False)):
            assert mine == wanted, self._found(f"event {number} is {mine} in the engine and {wanted} in the twin")
        assert len(ours) == len(theirs), self._found(f"{len(ours)} events in the engine, {len(theirs)} in the twin")

    def _found(self, what: str) -> str:
        return f"after {self.twin.steps} steps of {self.where}: {what}"


_NUMBERS = {action_name(number): number for number in range(NUM_ACTIONS)}


@lru_cache(maxsize=10_000)
def _names(packed: bytes) -> list[str]:
    """The names of the actions in a set that is packed in five bytes."""
    return [action_name(a) for a in np.flatnonzero(np.unpackbits(np.frombuffer(packed, np.uint8)))]


def _differences(ours: Any, theirs: Any, where: str = "") -> str:
    """The places in which two snapshots differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = dict.fromkeys([*theirs, *ours])
        parts = [_differences(ours.get(key), theirs.get(key), f"{where}.{key}" if where else key) for key in keys]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        parts = [_differences(*pair, f"{where}[{i}]") for i, pair in enumerate(zip(ours, theirs, strict=True))]
    else:
        return "" if ours == theirs else f"{where} is {ours!r} in the engine and {theirs!r} in the twin"
    return "; ".join(filter(None, parts))


def dealt_out(snapshot: dict[str, Any], luck: random.Random) -> dict[str, Any]:
    """The first decision of a game that begins with random buildings, treasures, hearts, tokens and coins.

    So a comparison comes to what play seldom comes to: piles that run out, many copies, full hands to store.
    """
    players, supply = snapshot["players"], snapshot["supply"]
    generous = luck.random()
    for name in supply["buildings"]:
        for _ in range(sum(luck.random() < generous for _ in range(supply["buildings"][name]))):
            owned = luck.choice(players)["buildings"]
            owned[name] = owned.get(name, 0) + 1
            supply["buildings"][name] -= 1
    for player in players:
        player["coins"] = luck.randrange(20)
        player["buildings"] = {name: player["buildings"][name] for name in BUILDINGS if name in player["buildings"]}
        hearts = luck.randint(0, min(4, supply["hearts"]))
        player["max_hearts"] += hearts
        player["hearts"] += hearts
        supply["hearts"] -= hearts
        player["jumps"] = luck.randint(0, supply["jumps"])
        supply["jumps"] -= player["jumps"]
    homes = [player["home"] for player in players]
    left, thrown = luck.choice([0.02, luck.random()]), luck.choice([0, luck.random()])
    for treasure, number in list(snapshot["treasure_deck"].items()):
        for _ in range(number):
            if luck.random() > left:
                pile = snapshot["discard"] if luck.random() < thrown else luck.choice(homes)
                snapshot["treasure_deck"][treasure] -= 1
                pile[treasure] = pile.get(treasure, 0) + 1
    return snapshot


def compare(
    config: dict[str, Any], seeds: Sequence[int], luck_seed: int, slots: int = 16, dealt: bool = False
) -> Counter[str]:
    """Play one game for each seed on both, and compare every snapshot, every legal action and every event.

    A slot whose game is over starts the next seed, so the games of a batch stand at different places, and those that
    have run out of seeds are left out of the step.

    Args:
        config: of all the games, as a dict.
        seeds: of the games.
        luck_seed: together with a game's seed it decides how that game is played.
        slots: games at a time.
        dealt: the first game in each slot begins in a state ``dealt_out`` at random.

    Returns:
        How many ``games`` and ``steps`` were compared, and what happened in them (``happened``).

    Raises:
        AssertionError: they differ; the message says where.
    """
    seen: Counter[str] = Counter()
    waiting = iter(seeds)
    tables = [_Table(config, seed, luck_seed, dealt) for seed in islice(waiting, slots)]
    if dealt:
        games = MegalandGames.restore([table.twin.snapshot() for table in tables], record=True)
    else:
        games = MegalandGames(MegalandConfig.from_dict(config), len(tables), record=True)
        games.reset([table.twin.seed for table in tables])
    playing = list(range(len(tables)))
    while playing:
        legal = np.packbits(games.legal, axis=-1)  # five bytes a seat
        actions = np.zeros((len(playing), games.num_players), np.int64)
        for row, slot in enumerate(playing):
            tables[slot].check(games, slot, [legal[slot, seat].tobytes() for seat in range(games.num_players)])
            actions[row] = tables[slot].answers()
        games.step(actions, None if len(playing) == len(tables) else playing)
        seen["steps"] += len(playing)
        for slot in playing:
            if tables[slot].twin.decision is not None:
                continue
            tables[slot].check_end(games, slot)
            seen["games"] += 1
            seen.update(happened(tables[slot].twin))
            for seed in islice(waiting, 1):
                tables[slot] = _Table(config, seed, luck_seed)
                games.reset([seed], index=[slot])
        playing = [slot for slot in playing if tables[slot].twin.decision is not None]
    return seen


def happened(game: ReferenceGame) -> set[str]:
    """What happened in a finished game: kinds of events, buildings that were bought or paid, and rare things."""
    found = {"truncated"} if game.truncated else set()
    reveals: Counter[int] = Counter()
    round_number = 0
    for event in game.events:
        match event["event"]:
            case "round":
                round_number = event["value"]
            case "reveal":
                reveals[round_number] += 1
            case "draw" if event["treasure"] is None:
                found.add("draw of nothing")
            case "buy" | "coins":
                found.add(f"{event['event']} {event['building']}")
        found.add(event["event"])
    rare = {
        "ten level cards": max(reveals.values(), default=0) == 10,  # L11
        "shared win": len(game.winners) > 1,  # N5
        "eight hearts": any(player.max_hearts == 8 for player in game.players),  # C4
        "no hearts left": game.hearts_left == 0,  # B5
        "no jump tokens left": game.jumps_left == 0,  # B5
        "building sold out": any(left == 0 for left in game.buildings_left.values()),  # B5
        "several of a building": any(max(player.buildings.values()) > 1 for player in game.players),  # C8
    }
    return found | {name for name, holds in rare.items() if holds}


EVERYTHING = {
    *("market", "first_player", "round", "draw", "reshuffle", "jump", "reveal", "damage", "fall", "keep", "discard"),
    *("trade", "stay", "home", "swap", "buy", "heart", "pay", "jumps", "coins", "pass", "end", "phase"),
    "truncated",
    *(f"buy {building.label}" for building in Building),
    *("draw of nothing", "ten level cards", "shared win", "eight hearts", "no hearts left", "no jump tokens left"),
    *("building sold out", "several of a building"),
}
"""What a large comparison must have met (``happened``), or it would prove less than it seems to."""


class Job(NamedTuple):
    """The arguments of ``compare``."""

    config: dict[str, Any]
    seeds: list[int]
    luck_seed: int
    dealt: bool


def job(number: int, batch: int) -> Job:
    """``batch`` games with configuration ``number`` of ``configurations``, with seeds of their own."""
    config = next(islice(configurations(), number, None))
    seeds = range(number * batch, (number + 1) * batch)
    # Seeds from both ends of their range; a seed is 64 bits wide.
    return Job(config, [seed if number % 3 else 2**64 - 1 - seed for seed in seeds], number, number % 5 == 4)


def compare_numbered(number: int, batch: int = 8) -> Counter[str]:
    """Compare the games of ``job``."""
    config, seeds, luck_seed, dealt = job(number, batch)
    return compare(config, seeds, luck_seed, slots=min(batch, 16), dealt=dealt)


def twin_alone(number: int, batch: int = 8) -> set[str]:
    """What happens in the games of ``job`` when only the twin plays them, which is much faster."""
    config, seeds, luck_seed, dealt = job(number, batch)
    found: set[str] = set()
    for seed in seeds:
        table = _Table(config, seed, luck_seed, dealt)
        while table.twin.decision is not None:
            table.answers()
        found |= happened(table.twin)
    return found


def compare_many(games: int, batch: int = 8, first: int = 0) -> Counter[str]:
    """Compare about ``games`` games, ``batch`` with each configuration, from configuration number ``first`` on."""
    seen: Counter[str] = Counter()
    for number in range(first, first - (-games // batch)):
        seen.update(compare_numbered(number, batch))
    return seen


def main() -> int:
    """Run the command line; return 1 if the engine and the twin differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.lockstep", description=main.__doc__)
    parser.add_argument("--games", type=int, default=2000, help="how many games to compare")
    parser.add_argument("--batch", type=int, default=32, help="games with each configuration")
    parser.add_argument("--first", type=int, default=0, help="the number of the first configuration")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    numbers = range(options.first, options.first - (-options.games // options.batch))
    seen: Counter[str] = Counter()
    began = time.monotonic()
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {pool.submit(partial(compare_numbered, batch=options.batch), number): number for number in numbers}
        for done, job in enumerate(as_completed(jobs), 1):
            error = job.exception()
            if error is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                print(f"configuration number {jobs[job]}: {type(error).__name__}: {error}", file=sys.stderr)
                return 1
            seen.update(job.result())
            if done % 10 == 0 or done == len(jobs):
                rate = seen["games"] / (time.monotonic() - began)
                print(f"{seen['games']} games and {seen['steps']} steps are equal ({rate:.1f} games/s)", flush=True)
    missed = sorted(EVERYTHING - set(seen))
    print(f"not met: {', '.join(missed)}" if missed else "every kind of event and every rare one was met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
