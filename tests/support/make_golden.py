"""Makes the golden files: recorded games, and some of them told in words.

``python -m tests.support.make_golden`` writes them all anew. They are there to stay the same: a change of the rules, of
chance or of a name shows in them, and should be one that was meant.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from megaland_env import Action, Kind, MegalandConfig, MegalandGames, action_name
from megaland_env.engine.events import Event, in_words
from megaland_env.replay import Recorder, Replay, load_replay, play, save_replay
from tests.support.lockstep import builder, hoarder, jumper, rusher, uniform
from tests.support.places import TESTS

GOLDEN = TESTS / "golden"

LIVELY = ("Herb Hut", "Reptile Stable", "Gym", "Ostrich Ranch", "Fish Vendor", "Root Market", "Arena")
DRAWING = ("Herb Hut", "Hospital", "Soap Makers", "Laboratory", "Fishing Pond", "Lodge", "Endless Mine")
TRADING = ("Reptile Stable", "Gym", "Smithy", "Hall of Elders", "Toll Booth", "Bowling Alley", "Lodge")

# Name, seed and configuration of each game; those called `story` are told in words too.
GAMES: list[tuple[str, int, MegalandConfig]] = [
    ("story-2", 2, MegalandConfig(2, LIVELY, max_rounds=6)),
    ("story-3", 3, MegalandConfig(3, DRAWING, max_rounds=6)),
    ("story-4", 4, MegalandConfig(4, TRADING, first_player=2, max_rounds=5)),
    ("story-5", 5, MegalandConfig(5, "spread", max_rounds=4)),
    ("default", 2018, MegalandConfig()),
    ("two-spread", 2**64 - 1, MegalandConfig(2)),
    ("three-random", 31, MegalandConfig(3, "random", first_player=0)),
    ("four-lively", 41, MegalandConfig(4, LIVELY)),
    ("five-drawing", 51, MegalandConfig(5, DRAWING)),
    ("every-question", 42, MegalandConfig(4, "random", skip_forced=False)),
    ("payment-auto", 43, MegalandConfig(4, TRADING, payment="auto")),
    ("few-stars", 32, MegalandConfig(3, LIVELY, star_copies=(1, 2, 0, 1, 1, 1), payment="auto", skip_forced=False)),
    ("cut-off", 33, MegalandConfig(3, "random", max_rounds=3)),
]


def record(seed: int, config: MegalandConfig) -> Replay:
    """Record a game in which each player has a style of its own."""
    luck = random.Random(f"golden {seed}")
    styles = luck.choices([uniform, builder, jumper, rusher, hoarder], weights=[1, 3, 3, 2, 1], k=config.num_players)
    games = MegalandGames(config)
    recorder = Recorder(games)
    recorder.reset(seed)
    while games.active.any():
        actions = np.zeros((1, config.num_players), np.int64)
        for seat in np.flatnonzero(games.active[0]):
            legal = [action_name(action) for action in np.flatnonzero(games.legal[0, seat])]
            actions[0, seat] = Action[styles[seat](luck, legal)].value
        recorder.step(actions)
    return recorder.replay(0, agents=[style.__name__ for style in styles])


def story(replay: Replay) -> str:
    """A replay in words: the questions, the legal actions, the choices, and what happened."""
    return "\n".join(_lines(replay)) + "\n"


def _lines(replay: Replay) -> Iterator[str]:
    yield f"configuration {json.dumps(replay.config.to_dict())}"
    yield f"seed {replay.seed}, agents {', '.join(replay.metadata['agents'])}"
    question: list[str] = []
    for number, games in enumerate(play(replay, record=True)):
        if number:
            yield from question
        columns = games.drain_events()
        told = np.flatnonzero(columns.event != Event.PHASE)
        yield from (f"    {_sentence(in_words(columns, row))}" for row in told)
        question = [f"moment {number + 1}: {Kind(int(games.kind[0])).label}"]
        for seat, action in replay.moments[number] if number < len(replay) else ():
            legal = [action_name(a) for a in np.flatnonzero(games.legal[0, seat])]
            question.append(f"  seat {seat} chooses {action_name(action)} of {', '.join(legal)}")
    result = replay.result()
    winners = ", ".join(map(str, result.winners)) or "nobody"
    yield f"{'cut off' if result.truncated else 'over'}: coins {result.coins}, won by {winners}"


def _sentence(event: dict[str, Any]) -> str:
    match event:
        case {"event": "market", "building": building}:
            return f"{building} is on offer"
        case {"event": "first_player", "seat": seat}:
            return f"seat {seat} is first player"
        case {"event": "round", "value": number}:
            return f"round {number} begins"
        case {"event": "draw", "seat": seat, "treasure": treasure}:
            return f"seat {seat} draws {treasure or 'nothing'}"
        case {"event": "reshuffle"}:
            return "the discard pile becomes the deck"
        case {"event": "jump", "seat": seat}:
            return f"seat {seat} jumps"
        case {"event": "reveal", "card": card}:
            return f"{card} comes"
        case {"event": "damage", "seat": seat, "value": hearts}:
            return f"seat {seat} loses {_some(hearts, 'heart')}"
        case {"event": "fall", "seat": seat}:
            return f"seat {seat} falls"
        case {"event": "keep" | "discard" as what, "seat": seat, "treasure": treasure, "value": number}:
            return f"seat {seat} {what}s {number} {treasure}"
        case {"event": "trade", "seat": seat}:
            return f"seat {seat} trades three carrots"
        case {"event": "stay", "seat": seat}:
            return f"seat {seat} stays"
        case {"event": "home", "seat": seat, "value": number}:
            return f"seat {seat} goes home with {_some(number, 'treasure')}"
        case {"event": "swap", "seat": seat, "treasure": treasure}:
            return f"seat {seat} swaps {treasure}"
        case {"event": "pay", "seat": seat, "treasure": treasure}:
            return f"seat {seat} pays {treasure}"
        case {"event": "buy", "seat": seat, "building": building}:
            return f"seat {seat} buys {building}"
        case {"event": "heart", "seat": seat, "treasure": treasure, "value": cost}:
            return f"seat {seat} buys a heart for {cost} {treasure}"
        case {"event": "jumps", "seat": seat, "value": number}:
            return f"seat {seat} gains {_some(number, 'jump token')}"
        case {"event": "coins", "seat": seat, "building": building, "value": coins}:
            return f"seat {seat} is paid {_some(coins, 'coin')} by {building}"
        case {"event": "pass", "seat": seat}:
            return f"seat {seat} passes"
        case {"event": "end", "seat": seat}:
            return f"seat {seat} wins"
    raise AssertionError(f"no words for {event}")


def _some(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def main() -> None:
    """Write all golden files."""
    GOLDEN.mkdir(exist_ok=True)
    for name, seed, config in GAMES:
        path = GOLDEN / f"{name}.json"
        save_replay(path, record(seed, config))
        if name.startswith("story"):
            path.with_suffix(".txt").write_text(story(load_replay(path)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
