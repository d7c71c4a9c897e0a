"""Plays the engine and its slow twin side by side, and compares them at every step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

import numpy as np

from megaland_env import Action, Building, Kind, MegalandConfig, MegalandGames
from megaland_env.cards import NORMAL_BUILDINGS
from tests.reference_game import ReferenceGame

Style = Callable[[random.Random, list[str]], str]
"""How a seat plays: picks one of the legal actions, given by name."""


def uniform(luck: random.Random, legal: list[str]) -> str:
    """Any legal action, all alike."""
    return luck.choice(legal)


def hoarder(luck: random.Random, legal: list[str]) -> str:
    """Stays long, buys seldom: big hands, empty decks."""
    if "STAY" in legal:
        return "STAY" if luck.random() < 0.75 else "LEAVE"
    if "PASS" in legal and luck.random() < 0.9:
        return "PASS"
    return luck.choice(legal)


def rusher(luck: random.Random, legal: list[str]) -> str:
    """Leaves soon and buys whatever it can, the dearest first."""
    if "LEAVE" in legal:
        return "LEAVE" if luck.random() < 0.6 else "STAY"
    buildings = [name for name in legal if name.startswith("BUY_")]
    return buildings[-1] if buildings else luck.choice(legal)


def builder(luck: random.Random, legal: list[str]) -> str:
    """Buys buildings, never hearts, and runs far: many copies, many falls."""
    buildings = [name for name in legal if name.startswith("BUY_")]
    if buildings:
        return luck.choice(buildings)
    if "STAY" in legal:
        return "STAY" if luck.random() < 0.8 else "LEAVE"
    return luck.choice([name for name in legal if not name.startswith("HEART_")])


def jumper(luck: random.Random, legal: list[str]) -> str:
    """Jumps, trades and swaps whenever it can, and buys what gives jump tokens and hearts."""
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


STYLES: tuple[Style, ...] = (uniform, hoarder, rusher, builder, jumper)


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


def compare(config: dict[str, Any], seeds: list[int], luck_seed: int) -> int:
    """Play one game for each seed on both, compare every snapshot and event, and return the number of steps compared.

    Raises:
        AssertionError: they differ; the message says where.
    """
    games = MegalandGames(MegalandConfig.from_dict(config), len(seeds), record=True)
    games.reset(np.array(seeds, dtype=np.uint64))
    twins = [ReferenceGame(config, seed) for seed in seeds]
    luck = random.Random(luck_seed)
    styles = [[luck.choice(STYLES) for _ in range(config["num_players"])] for _ in seeds]
    steps = 0
    while True:
        legal = games.legal
        actions = np.zeros((len(seeds), games.num_players), np.int64)
        for game, twin in enumerate(twins):
            where = f"config {config}, seed {seeds[game]}, step {twin.steps}"
            assert games.snapshot(game) == twin.snapshot(), where
            answers = {}
            for seat in range(games.num_players):
                names = [Action(a).name for a in np.flatnonzero(legal[game, seat])]
                assert names == twin.legal(seat), where
                if seat in twin.active:
                    answers[seat] = styles[game][seat](luck, names)
                    actions[game, seat] = Action[answers[seat]].value
            if twin.active:
                twin.step(answers)
                steps += 1
        if not games.active.any():
            break
        games.step(actions)
    for game, twin in enumerate(twins):
        assert games.kind[game] == Kind.NONE
        assert bool(games.terminated[game]) == twin.terminated and bool(games.truncated[game]) == twin.truncated
        ours, theirs = games.events(game), twin.events
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
            assert mine == other, f"event {number} of seed {seeds[game]}, config {config}"
        assert len(ours) == len(theirs), f"seed {seeds[game]}, config {config}"
    return steps


def compare_many(games: int, batch: int = 8, first_seed: int = 0) -> tuple[int, int]:
    """Compare about ``games`` games over all configurations; returns the games and steps compared."""
    played = steps = 0
    for number, config in enumerate(islice(configurations(), -(-games // batch))):
        seeds = [first_seed + number * batch + k for k in range(batch)]
        steps += compare(config, seeds, luck_seed=number)
        played += batch
    return played, steps
