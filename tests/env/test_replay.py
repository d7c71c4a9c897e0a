"""Replays: seed, configuration and actions determine the game; recorders and files keep them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from megaland_env import Action, IllegalActionError, MegalandConfig, MegalandGames
from megaland_env import replay as replay_module
from megaland_env.replay import Recorder, Replay, ReplayError, Result, load_replay, play, save_replay
from tests.support.play import SEEDS, TABLES, configurations, some_legal, table_id
from tests.support.play import play as play_randomly

at_every_table = pytest.mark.parametrize("config", TABLES, ids=table_id)


def record(config: MegalandConfig, num_games: int, seed: int, steps: int | None = None) -> Recorder:
    """Record random play for a number of steps, or to the end."""
    recorder = Recorder(MegalandGames(config, num_games, record=True))
    recorder.reset(seed)
    luck = np.random.default_rng(seed % 1000)
    while recorder.games.active.any() and steps != 0:
        recorder.step(some_legal(recorder.games, luck))
        steps = None if steps is None else steps - 1
    return recorder


def a_replay(seed: int = 3) -> Replay:
    """One short game."""
    return record(MegalandConfig(2, max_rounds=2), 1, seed).replay(0, agents=["random", "random"])


# ------------------------------------------------------------------------------------------------ record and play again


@at_every_table
def test_seed_configuration_and_actions_are_the_game(config: MegalandConfig) -> None:
    """When it is played again, every game of a batch is the same, card by card, to its end."""
    recorder = record(config, 5, 41)
    games = recorder.games
    replays = recorder.replays(agents="random")
    assert len(replays) == 5
    for game, replay in enumerate(replays):
        assert (replay.config, replay.seed, replay.metadata) == (config, 41 + game, {"agents": "random"})
        assert len(replay) == games.steps[game]
        played = replay.games(record=True)
        assert played.snapshot(0) == games.snapshot(game)
        assert played.events(0) == games.events(game)
        assert replay.result() == Result(
            int(games.steps[game]),
            int(games.rounds[game]),
            tuple(games.coins[game].tolist()),
            tuple(np.flatnonzero(games.winners[game]).tolist()),
            bool(games.terminated[game]),
            bool(games.truncated[game]),
        )
    assert recorder.replay(2, agents="random") == replays[2]


@settings(deadline=None, derandomize=True, max_examples=8)
@given(configurations(max_rounds=3), SEEDS)
def test_any_game_can_be_replayed(config: MegalandConfig, seed: int) -> None:
    """Games of any configuration and any seed can be replayed."""
    recorder = record(config, 1, seed)
    assert recorder.replay(0).games().snapshot(0) == recorder.games.snapshot(0)


def test_playing_gives_every_moment() -> None:
    """From the beginning on, the same batch each time, with a log if wanted, and rewards."""
    replay = a_replay()
    seen = [
        (int(games.steps[0]), games.snapshot(0), games.rewards[0].tolist()) for games in play(replay, reward="coins")
    ]
    assert [steps for steps, _, _ in seen] == list(range(len(replay) + 1))
    assert seen[-1][1] == replay.final
    for steps in (0, 1, len(replay) // 2, len(replay)):
        assert replay.games(steps).snapshot(0) == seen[steps][1]
    for games in play(replay, record=True):
        assert games.events(0)[-1]["step"] <= games.steps[0]
    beginning = MegalandGames(replay.config)
    beginning.reset(replay.seed)
    assert seen[0][1] == beginning.snapshot(0)
    for steps in (-1, len(replay) + 1):
        with pytest.raises(ValueError, match=f"steps is {steps}; the replay has {len(replay)}"):
            replay.games(steps)


def test_the_beginning_of_a_game_is_a_replay_too() -> None:
    """A replay may stop before the end of the game; then nobody has won."""
    recorder = record(MegalandConfig(), 2, 42, steps=7)
    replay = recorder.replay(1)
    assert len(replay) == 7
    assert replay.games().snapshot(0) == recorder.games.snapshot(1)
    assert replay.result().winners == ()
    assert not replay.result().terminated


def test_games_that_move_apart_are_recorded_apart() -> None:
    """Games are recorded separately with ``step(index=...)`` in any order, next to finished games."""
    recorder = Recorder(MegalandGames(MegalandConfig(3, max_rounds=3), 6))
    recorder.reset(43)
    luck = np.random.default_rng(43)
    while recorder.games.active.any():
        index = np.sort(luck.permutation(6)[: luck.integers(0, 6)])
        recorder.step(some_legal(recorder.games, luck)[index], index)
    for game in range(6):
        assert recorder.replay(game).games().snapshot(0) == recorder.games.snapshot(game)


def test_what_seats_that_are_not_asked_answer_is_not_recorded() -> None:
    """A replay has only the choices of seats that were asked, as numbers, in ascending order of seats."""
    recorder = Recorder(MegalandGames(MegalandConfig(3)))
    recorder.reset(44)
    luck = np.random.default_rng(44)
    asked = []
    for _ in range(30):
        choices = some_legal(recorder.games, luck)
        asked.append([(s, int(choices[0, s])) for s in range(3) if recorder.games.active[0, s]])
        recorder.step(np.where(recorder.games.active, choices, 1000))
    assert [list(moment) for moment in recorder.replay(0).moments] == asked


def test_a_slot_that_is_started_anew_is_recorded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that starts another game records that game, whether or not rows of its earlier games were dropped."""
    for spare_rows in (0, 10_000):
        monkeypatch.setattr(replay_module, "_SPARE_ROWS", spare_rows)
        recorder = Recorder(MegalandGames(MegalandConfig(2, max_rounds=2), 3), [0, 2])
        recorder.reset(45)
        luck = np.random.default_rng(45)
        for number in range(60):
            recorder.step(some_legal(recorder.games, luck))
            over = np.flatnonzero(~recorder.games.active.any(axis=1))
            recorder.reset(46 + number, index=over)
            for game in (0, 2):
                replay = recorder.replay(game)
                assert len(replay) == recorder.games.steps[game]
                if number % 7 == 0:
                    assert replay.games().snapshot(0) == recorder.games.snapshot(game)


def test_a_refused_step_is_not_recorded() -> None:
    """A step that raises is not recorded."""
    recorder = Recorder(MegalandGames(num_games=2))
    recorder.reset(47)
    good = some_legal(recorder.games, np.random.default_rng(47))
    with pytest.raises(IllegalActionError):
        recorder.step(np.full((2, 4), Action["TRADE"].value))
    with pytest.raises(ValueError, match="shape"):
        recorder.step(good[:1])
    with pytest.raises(ValueError, match="out of range"):
        recorder.step(good, [0, 2])
    with pytest.raises(ValueError, match="twice"):
        recorder.step(good, [0, 0])
    assert len(recorder.replay(0)) == 0
    recorder.step(good)
    assert len(recorder.replay(0)) == 1


def test_what_was_not_recorded_cannot_be_replayed() -> None:
    """The error says whether a game was not recorded at all, or not from its beginning."""
    games = MegalandGames(num_games=3)
    games.reset(48)
    luck = np.random.default_rng(48)
    games.step(some_legal(games, luck)[[0]], [0])
    recorder = Recorder(games, [0, 1])
    recorder.step(some_legal(games, luck))
    with pytest.raises(ValueError, match="game 0 was not recorded from its beginning"):
        recorder.replay(0)
    assert len(recorder.replay(1)) == 1
    with pytest.raises(ValueError, match="game 2 is not recorded"):
        recorder.replay(2)
    with pytest.raises(ValueError, match="out of range"):
        recorder.replay(3)
    with pytest.raises(ValueError, match="out of range"):
        Recorder(games, [3])
    with pytest.raises(ValueError, match="list of positions"):
        Recorder(games, [True, False, True])
    games.step(some_legal(games, luck))  # behind the recorder's back
    with pytest.raises(ValueError, match="game 1 was not recorded"):
        recorder.replay(1)
    with pytest.raises(RuntimeError, match="without its recorder"):
        recorder.step(some_legal(games, luck))
    recorder.reset(49)
    play_randomly(games, luck, 2)
    recorder.reset(50, index=[0])
    assert len(recorder.replay(0)) == 0


# ----------------------------------------------------------------------------------------------------- what a replay is


def test_replays_are_values() -> None:
    """Replays are equal if their fields are, hashable, and independent of the objects they were made from."""
    metadata = {"agents": ["a", "b"]}
    one = Replay(MegalandConfig(2), np.int64(5), [[[0, 1], (1, np.uint8(2))]], metadata)  # type: ignore[arg-type]
    other = Replay(MegalandConfig(2), 5, (((0, 1), (1, 2)),), {"agents": ["a", "b"]})
    assert one == other
    assert hash(one) == hash(other)
    metadata["agents"].append("c")
    assert one == other
    assert one != Replay(MegalandConfig(2), 6, other.moments, other.metadata)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"num_players": 2}}, "config is .* must be a MegalandConfig"),
        ({"seed": -1}, r"seed is -1; it must be an integer from 0 to 2\*\*64 - 1"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"seed": True}, "seed is True"),
        ({"seed": "5"}, "seed is '5'"),
        ({"moments": 3}, "moments is 3; it must be a list"),
        ({"moments": "abc"}, "moments is 'abc'"),
        ({"moments": [[0, 1]]}, r"moment 1 is \[0, 1\]; it must be a list of pairs"),
        ({"moments": [[(0, 1)], None]}, "moment 2 is None"),
        ({"moments": [[(0, 1, 2)]]}, "moment 1 is"),
        ({"moments": [[]]}, "moment 1: the seats must be one or more and ascending"),
        ({"moments": [[(1, 1), (0, 1)]]}, r"moment 1: the seats .* not \[1, 0\]"),
        ({"moments": [[(1, 1), (1, 1)]]}, r"moment 1: the seats .* not \[1, 1\]"),
        ({"moments": [[(2, 1)]]}, r"moment 1: seat 2 is not one of 0..1"),
        ({"moments": [[(0, 40)]]}, r"moment 1: action 40 is not one of 0..39"),
        ({"moments": [[(0, True)]]}, "moment 1: action True"),
        ({"moments": [[(0.0, 1)]]}, r"moment 1: seat 0\.0"),
        ({"metadata": []}, r"metadata is \[\]; it must be a dict"),
        ({"metadata": {"agents": {1, 2}}}, "metadata cannot be written as JSON"),
        ({"metadata": {"x": float("nan")}}, "metadata cannot be written as JSON"),
        ({"metadata": json.loads('{"a":' * 100 + "1" + "}" * 100)}, "nested more than 99 deep"),
        ({"final": "over"}, "final is 'over'; it must be a snapshot or None"),
    ],
    ids=str,
)
def test_a_replay_must_make_sense(changes: dict[str, Any], message: str) -> None:
    """What is wrong is named."""
    fields: dict[str, Any] = {"config": MegalandConfig(2), "seed": 5, "moments": ()}
    with pytest.raises(ReplayError, match=message):
        Replay(**fields | changes)


def test_a_replay_must_be_played_by_the_rules() -> None:
    """An illegal choice, a seat that is not asked, a choice after the end, another end than recorded."""
    replay = a_replay()

    def of(moments: Any, final: Any = None) -> Replay:
        return Replay(replay.config, replay.seed, tuple(moments), {}, final)

    first, *others = replay.moments
    illegal = of([[(seat, Action["TRADE"].value) for seat, _ in first], *others])
    with pytest.raises(ReplayError, match="moment 1: seat 0 chose TRADE; legal were STAY, LEAVE"):
        illegal.result()
    with pytest.raises(
        ReplayError, match="moment 1: seat 0 decide, but by the rules seats 0, 1 would be asked for 'run'"
    ):
        of([first[:1], *others]).result()
    with pytest.raises(
        ReplayError, match=f"moment {len(replay) + 1}: seats 0, 1 decide, but by the rules the game is over"
    ):
        of([*replay.moments, first]).result()
    assert replay.final is not None
    coins = replay.final["players"][1]["coins"]
    altered = json.loads(json.dumps(replay.final))
    altered["players"][1]["coins"] += 1
    message = rf"does not end as it is recorded: players\[1\]\.coins is recorded as {coins + 1}, but it becomes {coins}"
    with pytest.raises(ReplayError, match=message):
        of(replay.moments, altered).result()


# --------------------------------------------------------------------------------------------------------------- files


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Config, seed, actions, metadata and final state; unfinished games too, and twice the same bytes."""
    replays = [a_replay(), record(MegalandConfig(3), 1, 2**64 - 1, steps=5).replay(0, note='é\n"')]
    replays += [Replay(MegalandConfig(5, max_rounds=1), 7, ())]
    for number, replay in enumerate(replays):
        path = tmp_path / f"{number}.json"
        save_replay(path, replay)
        loaded = load_replay(str(path))
        assert loaded.moments == replay.moments
        assert (loaded.config, loaded.seed, loaded.metadata) == (replay.config, replay.seed, replay.metadata)
        assert loaded.final == replay.games().snapshot(0)
        save_replay(tmp_path / "again.json", loaded)
        assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_a_file_can_be_read_by_people(tmp_path: Path) -> None:
    """JSON with a line for each moment, and actions by name."""
    path = tmp_path / "game.json"
    replay = a_replay()
    save_replay(path, replay)
    lines = path.read_text().splitlines()
    seat, action = replay.moments[0][0]
    assert lines[1] == '"format": "megaland-replay",'
    moments = lines.index('"moments": [') + 1
    assert lines[moments].startswith(f'[[{seat}, "{Action(action).name}"]')
    assert len(json.loads(path.read_text())["moments"]) == len(replay) == lines.index("],") - moments


def test_nothing_is_written_that_is_no_game(tmp_path: Path) -> None:
    """Nothing is written for an invalid game, and an existing file stays as it was."""
    path = tmp_path / "game.json"
    save_replay(path, a_replay())
    before = path.read_bytes()
    wrong = Replay(MegalandConfig(2), 5, (((0, Action["TRADE"].value), (1, Action["STAY"].value)),))
    with pytest.raises(ReplayError, match="moment 1"):
        save_replay(path, wrong)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["game.json"]


def test_a_write_that_fails_leaves_no_part_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is written under a temporary name and then renamed, so a failure leaves no part of it."""
    path = tmp_path / "game.json"
    save_replay(path, a_replay(3))
    before = path.read_bytes()

    def full_disk(source: Any, target: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        save_replay(path, a_replay(4))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["game.json"]
