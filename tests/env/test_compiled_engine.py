"""The compiled engine plays the same games as the NumPy engine, bit for bit, and raises the same errors."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("numba")

from megaland_env import IllegalActionError, MegalandConfig, MegalandGames
from megaland_env.engine.compiled import threads
from megaland_env.engine.events import Event
from megaland_env.engine.state import FIELDS
from megaland_env.rewards import Shaped
from tests.support.lockstep import configurations

ENGINES = ("numpy", "compiled")
Games = tuple[MegalandGames, MegalandGames]


def both(*args: Any, **kwargs: Any) -> Games:
    numpy, compiled = (MegalandGames(*args, engine=engine, **kwargs) for engine in ENGINES)
    assert (numpy.engine, compiled.engine) == ENGINES
    return numpy, compiled


def check_equal(games: Games) -> None:
    """Every byte of the state, the rewards and the margins seen."""
    numpy, compiled = games
    if not np.array_equal(numpy._state.bytes, compiled._state.bytes):
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(numpy._state, name), getattr(compiled._state, name), err_msg=name)
    np.testing.assert_array_equal(numpy.rewards, compiled.rewards)
    np.testing.assert_array_equal(numpy.margins_seen, compiled.margins_seen)
    np.testing.assert_array_equal(numpy.legal, compiled.legal)


def check_equal_events(games: Games) -> Counter[Event]:
    """The events of each game in their order, and the numbers of each kind."""
    sorted_columns = []
    for each in games:
        columns = each.drain_events()
        order = np.argsort(columns.game, kind="stable")
        sorted_columns.append([column[order] for column in columns])
    for numpy, compiled in zip(*sorted_columns, strict=True):
        assert numpy.dtype == compiled.dtype
        np.testing.assert_array_equal(numpy, compiled)
    return Counter(Event(event) for event in sorted_columns[0][3])


def random_actions(games: MegalandGames, random: np.random.Generator) -> npt.NDArray[np.int64]:
    legal = games.legal
    return (random.random(legal.shape) * legal).argmax(axis=-1)


def lockstep(config: MegalandConfig, number: int, seed: int, reward: Any = "win") -> Counter[Event]:
    """Play games with both engines: by whole steps and by steps and resets of some games, and through snapshots."""
    random = np.random.default_rng(seed)
    games = both(config, number, reward=reward, record=True)
    for each in games:
        each.reset(seed)
    check_equal(games)
    met: Counter[Event] = Counter()
    for step in range(2000):
        actions = random_actions(games[0], random)
        if step % 3 == 2:
            index = random.permutation(number)[: random.integers(1, number + 1)]
            for each in games:
                each.step(actions[index].astype(random.choice(["int8", "uint8", "int32", "int64"])), index)
        else:
            for each in games:
                each.step(actions)
        check_equal(games)
        if step % 40 == 39:
            met += check_equal_events(games)
            snapshots = [games[1].snapshot(game) for game in range(number)]
            seen = games[1].margins_seen
            games = tuple(  # type: ignore[assignment]
                MegalandGames.restore(snapshots, reward=reward, record=True, margins_seen=seen, engine=engine)
                for engine in ENGINES
            )
        over = np.flatnonzero(games[0].kind == 0)
        if over.size == number:
            break
        if over.size and step < 60:
            for each in games:
                each.reset(seed + 1000 * step + np.arange(over.size), index=over)
            check_equal(games)
    assert not games[0].kind.any()
    return met + check_equal_events(games)


def lockstep_many(games: int, batch: int, first: int = 0) -> Counter[Event]:
    """Play ``games`` games, ``batch`` with each configuration, and with each reward in turn."""
    rewards = ("win", "coins", "shaped", Shaped(0.97))
    met: Counter[Event] = Counter()
    for number, fields in enumerate(islice(configurations(), first, first + games // batch), first):
        met += lockstep(MegalandConfig(**fields), batch, number, rewards[number % 4])
    return met


def test_engines_play_the_same_games() -> None:
    """2,000 games with 20 configurations; every kind of event is met."""
    met = lockstep_many(2000, 100)
    assert set(met) == set(Event)


@pytest.mark.soak
def test_engines_play_the_same_games_in_many_configurations() -> None:
    assert set(lockstep_many(4000, 20, first=100)) == set(Event)


@pytest.mark.parametrize("number", [1, 2, 7, 300])
def test_batches_of_every_size(number: int) -> None:
    lockstep(MegalandConfig(num_players=3), number, number)


def errors(games: Games, call: Any) -> None:
    """Both raise the same error, and nothing changes."""
    before = [each._state.bytes.copy() for each in games]
    told = []
    for each in games:
        with pytest.raises((ValueError, IllegalActionError)) as raised:
            call(each)
        told.append((type(raised.value), str(raised.value), vars(raised.value)))
    assert told[0] == told[1]
    for each, bytes_ in zip(games, before, strict=True):
        np.testing.assert_array_equal(each._state.bytes, bytes_)


def test_invalid_arguments_raise_the_same_errors() -> None:
    games = both(num_games=3)
    errors(games, lambda each: each.step(np.zeros((3, 4), np.int64)))  # never started
    for each in games:
        each.reset([5, 6], index=[0, 2])
    errors(games, lambda each: each.step(np.zeros((3, 4), np.int64)))  # one was never started
    for each in games:
        each.reset(1)
    for action in (40, 63, 64, 255, 256, -1, 2**62, -(2**63)):
        errors(games, lambda each, action=action: each.step(np.full((3, 4), action)))
    errors(games, lambda each: each.step(np.full((3, 4), 2**64 - 1, np.uint64)))
    right = random_actions(games[0], np.random.default_rng(0))
    wrong = np.where(np.arange(3)[:, None] == 1, 39, right)
    errors(games, lambda each: each.step(wrong))
    ragged: Any = [[1, 2], [3]]
    errors(games, lambda each: each.step(ragged))
    errors(games, lambda each: each.step(right[:2], ragged))
    for actions in (right[:2], right.T, right.astype(float), right.ravel(), right[None]):
        errors(games, lambda each, actions=actions: each.step(actions))
    indices: Sequence[Any] = ([0, 3], [-1], [1, 1], [0.0], [[0]], np.array([True]))
    for index in indices:
        rows = right[: np.size(index)]
        errors(games, lambda each, index=index, rows=rows: each.step(rows, index))
    errors(games, lambda each: each.reset([1, 2], index=[0, 0]))
    check_equal(games)
    for each in games:
        each.step(right)
    check_equal(games)


def test_an_empty_index_moves_nothing() -> None:
    games = both(num_games=2)
    for each in games:
        each.reset(0)
        before = each._state.bytes.copy()
        each.step(np.zeros((0, 4), np.int64), [])
        np.testing.assert_array_equal(each._state.bytes, before)


@pytest.mark.parametrize("layout", ["rows", "columns", "every other", "read only", "list"])
def test_actions_of_any_layout(layout: str) -> None:
    games = both(num_games=5)
    for each in games:
        each.reset(3)
    actions = random_actions(games[0], np.random.default_rng(1))
    given: Any = actions
    if layout == "columns":
        given = np.asfortranarray(actions)
    elif layout == "every other":
        given = np.repeat(actions, 2, axis=1)[:, ::2]
    elif layout == "read only":
        given = actions.copy()
        given.flags.writeable = False
    elif layout == "list":
        given = actions.tolist()
    games[0].step(actions)
    games[1].step(given)
    check_equal(games)


def test_rewards_of_a_user() -> None:
    """They are called with the same outcomes, and a failing one leaves the games as they were."""
    outcomes: list[Any] = []

    def reward(outcome: Any) -> Any:
        outcomes.append(outcome)
        if len(outcomes) > 60:
            raise KeyError("a fault of the user")
        return outcome.margin

    random = np.random.default_rng(2)
    games = both(num_games=4, reward=reward, record=True)
    for each in games:
        each.reset(9)
    for _ in range(30):
        actions = random_actions(games[0], random)
        for each in games:
            each.step(actions)
        check_equal(games)
        for numpy, compiled in zip(*outcomes[-2:], strict=True):
            np.testing.assert_array_equal(numpy, compiled)
    before = games[1]._state.bytes.copy()
    with pytest.raises(KeyError):
        games[1].step(random_actions(games[1], random))
    np.testing.assert_array_equal(games[1]._state.bytes, before)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda games: pickle.loads(pickle.dumps(games)), lambda g: g.copy()]
)
def test_copies_play_on_by_themselves(duplicate: Any) -> None:
    random = np.random.default_rng(4)
    games = MegalandGames(num_games=3, engine="compiled")
    games.reset(8)
    for _ in range(10):
        games.step(random_actions(games, random))
    copied = duplicate(games)
    assert copied.engine == "compiled"
    before = copied._state.bytes.copy()
    actions = random_actions(games, random)
    games.step(actions)
    np.testing.assert_array_equal(copied._state.bytes, before)
    copied.step(actions)
    np.testing.assert_array_equal(copied._state.bytes, games._state.bytes)


def test_a_long_log_is_kept_whole() -> None:
    """The log of compiled code is moved on whenever it is full."""
    games = both(num_games=3000, num_players=2, record=True)
    random = np.random.default_rng(6)
    for each in games:
        each.reset(0)
    for _ in range(12):
        actions = random_actions(games[0], random)
        for each in games:
            each.step(actions)
    assert check_equal_events(games).total() > 60_000


@pytest.mark.parametrize("number_of_threads", [1, 2, 3])
def test_threads_change_nothing(number_of_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEWEST", 10)
    monkeypatch.setattr(threads, "number_of_threads", lambda: number_of_threads)
    monkeypatch.setattr(threads, "_others", cache(lambda: ThreadPoolExecutor(2)))
    games = both(num_games=101)
    random = np.random.default_rng(7)
    for each in games:
        each.reset(0)
    for step in range(60):
        actions = random_actions(games[0], random)
        index = None if step % 2 else random.permutation(101)[:40]
        for each in games:
            each.step(actions if index is None else actions[index], index)
        check_equal(games)
    errors(games, lambda each: each.step(np.full((101, 4), 39)))


def test_an_error_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """After all slices have ended."""
    monkeypatch.setattr(threads, "number_of_threads", lambda: 3)
    monkeypatch.setattr(threads, "_others", cache(lambda: ThreadPoolExecutor(2)))
    played = []

    def work(start: int, stop: int) -> None:
        played.append((start, stop))
        if start:
            raise KeyError(start)

    with pytest.raises(KeyError):
        threads.in_slices(3 * threads.FEWEST, work)
    assert sorted(played) == [(k * threads.FEWEST, (k + 1) * threads.FEWEST) for k in range(3)]
