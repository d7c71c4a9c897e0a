"""The table of state fields: every array is made, copied, saved, forked and pickled as it says."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from megaland_env import MegalandConfig
from megaland_env.engine.events import Event, EventLog, SilentLog
from megaland_env.engine.state import FIELDS, GameState, places
from megaland_env.game import MegalandGames
from tests.support.play import some_legal

PLAYERS = range(2, 6)


def played(players: int, num_games: int = 7, record: bool = False) -> MegalandGames:
    games = MegalandGames(MegalandConfig(players), num_games, record=record)
    games.reset(4)
    generator = np.random.default_rng(players)
    for _ in range(25):
        games.step(some_legal(games, generator))
    return games


def differing(one: GameState, other: GameState, games: list[int]) -> set[str]:
    """The fields in which ``one`` differs from the games of ``other``."""
    return {name for name in FIELDS if not np.array_equal(getattr(one, name), getattr(other, name)[..., games])}


@pytest.mark.parametrize("players", PLAYERS)
def test_every_field_has_an_array_of_its_dtype_and_shape(players: int) -> None:
    state = GameState(MegalandConfig(players), 3)
    arrays = {name: array for name, array in vars(state).items() if isinstance(array, np.ndarray)}
    assert arrays.keys() - {"bytes", "_seats"} == FIELDS.keys()
    for name, field in FIELDS.items():
        assert arrays[name].dtype == field.dtype
        assert arrays[name].shape == (*field.shape(players), 3)
        assert field.meaning


@pytest.mark.parametrize("players", PLAYERS)
def test_arrays_lie_where_places_says_and_nowhere_overlap(players: int) -> None:
    state = GameState(MegalandConfig(players), 3)
    for number, (name, field) in enumerate(FIELDS.items(), start=1):
        getattr(state, name)[...] = 0
        state.bytes[:] = 0
        getattr(state, name)[...] = 1 if field.dtype is np.bool_ else number
        first = places(players)[name].start * 3
        length = field.rows(players) * field.size * 3
        assert state.bytes[first : first + length].any()
        assert not state.bytes[:first].any()
        assert not state.bytes[first + length :].any()
    assert sum(field.rows(players) * field.size for field in FIELDS.values()) * 3 == state.bytes.size


@pytest.mark.parametrize("players", PLAYERS)
def test_a_copy_has_every_entry(players: int) -> None:
    state = played(players)._state
    index = [6, 2, 2, 0]
    copied = state.copy(np.array(index))
    assert differing(copied, state, index) == set()
    assert not np.shares_memory(copied.bytes, state.bytes)


@pytest.mark.parametrize("index", [[5, 1], list(range(7))], ids=str)
def test_what_was_saved_is_put_back(index: list[int]) -> None:
    games = played(3)
    state = games._state
    before = state.copy(np.arange(7))
    saved = state.save(np.array(index))
    games.step(some_legal(games, np.random.default_rng(0))[index], index)
    assert differing(state, before, list(range(7))) != set()
    state.put_back(np.array(index), saved)
    assert differing(state, before, list(range(7))) == set()


def test_a_fork_differs_in_its_randomness_alone() -> None:
    games = played(4)
    decisions = games.decisions()
    forked = decisions.fork(2, seed=1)._state
    index = np.repeat(decisions.game, 2).tolist()
    assert differing(forked, games._state, index) == {"seeds", "keys", "round_keys"}


def test_a_pickled_state_is_the_same_and_its_arrays_are_views_again() -> None:
    state = played(5)._state
    loaded = pickle.loads(pickle.dumps(state))
    assert differing(loaded, state, list(range(7))) == set()
    assert np.shares_memory(loaded.coins, loaded.bytes)


def test_the_log_of_a_pickled_batch_goes_on() -> None:
    """With the seats of the buyers, the steps and the episodes of the new arrays."""
    games = played(3, record=True)
    loaded = pickle.loads(pickle.dumps(games))
    generator = np.random.default_rng(1)
    while games.active.any():
        chosen = some_legal(games, generator)
        games.step(chosen)
        loaded.step(chosen)
    assert (games.event_columns().event == Event.BUY).any()
    for mine, theirs in zip(loaded.event_columns(), games.event_columns(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_games_that_nobody_records_have_a_log_that_keeps_nothing() -> None:
    recorded, silent = played(2, record=True), played(2)
    copied = recorded.copy()
    assert recorded._state.log.on
    assert not silent._state.log.on
    assert not copied._state.log.on
    before = len(recorded.event_columns().game)
    copied.step(some_legal(copied, np.random.default_rng(2)))
    assert len(recorded.event_columns().game) == before
    for method in vars(SilentLog):
        assert getattr(EventLog, method) is not getattr(SilentLog, method) or method.startswith("__"), method


def test_clearing_keeps_the_count_of_episodes_alone() -> None:
    state = played(2)._state
    state.clear(np.arange(7))
    fresh = GameState(state.config, 7)
    assert differing(state, fresh, list(range(7))) == {"episode"}
    assert (state.episode == 0).all()
