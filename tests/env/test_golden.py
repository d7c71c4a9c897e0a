"""Recorded games stay as they are: the same cards, the same rules, the same words."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from megaland_env import Kind, action_name
from megaland_env.engine.events import in_words
from megaland_env.replay import Replay, load_replay, play
from tests.support.make_golden import GAMES, GOLDEN, story
from tests.support.reference_game import ReferenceGame

REPLAYS = [GOLDEN / f"{name}.json" for name, _, _ in GAMES]
STORIES = [path.with_suffix(".txt") for path in REPLAYS if path.name.startswith("story")]


@cache
def recorded(path: Path) -> Replay:
    """A golden replay; loading plays it, and compares the last snapshot."""
    return load_replay(path)


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_a_recorded_game_plays_as_it_did(path: Path) -> None:
    """The engine reaches the recorded end, and the twin has the same snapshots and events."""
    replay = recorded(path)
    twin = ReferenceGame(replay.config.to_dict(), replay.seed)
    events: list[dict[str, Any]] = []
    for number, games in enumerate(play(replay, record=True)):
        if number:
            twin.step({seat: action_name(action) for seat, action in replay.moments[number - 1]})
        assert games.snapshot(0) == twin.snapshot()
        columns = games.drain_events()
        events += [in_words(columns, row) for row in range(len(columns.game))]
    assert events == twin.events
    assert twin.decision is None
    assert twin.snapshot() == replay.final


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_recorded_game_reads_as_it_did(path: Path) -> None:
    """The story is the same line by line: questions, legal actions, choices and events."""
    assert story(recorded(path.with_suffix(".json"))).splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_the_recorded_games_are_the_listed_ones() -> None:
    """The files have the listed seeds and configurations, and there are no other files."""
    for path, (_, seed, config) in zip(REPLAYS, GAMES, strict=True):
        replay = recorded(path)
        assert (replay.seed, replay.config) == (seed, config)
    assert sorted(GOLDEN.iterdir()) == sorted([*REPLAYS, *STORIES])


def test_the_recorded_games_ask_everything() -> None:
    """All eight kinds of decision, from two to five players."""
    wanted = set(Kind)
    for path in reversed(REPLAYS):
        wanted -= {Kind(int(games.kind[0])) for games in play(recorded(path))} if wanted else set()
    assert not wanted
    assert {config.num_players for _, _, config in GAMES} == {2, 3, 4, 5}
