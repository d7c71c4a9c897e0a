"""Decision moments: all decisions of a moment are answered, and each game that ends is reported once."""

from __future__ import annotations

import numpy as np
import pytest

from megaland_env import Decisions, Kind, MegalandGames
from megaland_env.actions import Action
from megaland_env.agent import random_legal
from megaland_env.errors import IllegalActionError
from megaland_env.seats.moments import carry_out, play_on


def some_games(number: int = 6) -> MegalandGames:
    games = MegalandGames(num_games=number, num_players=3, max_rounds=4)
    games.reset(1)
    return games


def test_every_game_ends_once_and_is_as_when_stepped_by_hand() -> None:
    games, by_hand = some_games(), some_games()
    ended = []
    for over in play_on(games, random_legal):
        decisions = by_hand.decisions()
        by_hand.step(by_hand.scatter(decisions, random_legal(decisions)))
        assert (games.coins == by_hand.coins).all()
        assert (games.kind[over] == Kind.NONE).all()
        ended += over.tolist()
    assert sorted(ended) == list(range(6))
    assert (by_hand.kind == Kind.NONE).all()


def test_games_may_be_started_in_the_place_of_those_that_ended() -> None:
    games, seeds, ended = some_games(2), iter(range(100, 104)), []
    for over in play_on(games, random_legal):
        ended += games.seeds[over].tolist()
        for game in over.tolist():
            if (seed := next(seeds, None)) is not None:
                games.reset([seed], index=[game])
    assert ended[-1] in (102, 103)
    assert len(ended) == 6
    assert set(ended) >= {100, 101, 102, 103}


def test_a_game_that_was_over_before_is_not_told_again() -> None:
    games = some_games(4)
    ended = [over.tolist() for over in play_on(games, random_legal)]
    first, last = (next(n for n, over in enumerate(each) if over) for each in (ended, ended[::-1]))
    assert first < len(ended) - 1 - last  # some went on while others were over
    assert sum(map(len, ended)) == 4


def test_nothing_changes_when_an_action_is_not_legal() -> None:
    games = some_games()
    before = games.snapshot(0)
    decisions = games.decisions()
    with pytest.raises(IllegalActionError):
        carry_out(games, decisions, np.full(len(decisions), Action["TRADE"]))
    assert games.snapshot(0) == before


def test_no_decision_is_asked_for_when_all_games_are_over() -> None:
    def never(decisions: Decisions) -> np.ndarray:
        raise AssertionError("nobody has to decide")

    games = some_games()
    for _ in play_on(games, random_legal):
        pass
    assert list(play_on(games, never)) == []
