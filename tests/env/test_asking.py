"""Asking agents: each once per decision moment, with all of its decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Decisions, MegalandGames
from megaland_env.agent import random_legal
from megaland_env.seats.asking import ask_agents, ask_owners


@pytest.fixture
def decisions() -> Decisions:
    games = MegalandGames(num_games=5, num_players=3)
    games.reset(0)
    return games.decisions()


class Noted:
    """Adds its name and its rows to a list, and answers as ``random_legal`` does."""

    def __init__(self, name: str, asked: list[Any]) -> None:
        self.name, self.asked = name, asked

    def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        self.asked.append((self.name, decisions.game.tolist(), decisions.seat.tolist()))
        return random_legal(decisions)


def test_each_agent_is_asked_once_in_order_with_all_its_rows(decisions: Decisions) -> None:
    asked: list[Any] = []
    agents = [Noted(name, asked) for name in ("first", "idle", "last")]
    owners = np.where(decisions.game == 2, 0, 2)
    answers = ask_agents(agents, decisions, owners)
    assert answers.dtype == np.int64
    assert (answers == random_legal(decisions)).all()
    rows = {name: np.flatnonzero(owners == number) for name, number in (("first", 0), ("last", 2))}
    assert asked == [(name, decisions.game[at].tolist(), decisions.seat[at].tolist()) for name, at in rows.items()]


def test_answers_go_to_the_rows_of_their_owner(decisions: Decisions) -> None:
    owners = np.arange(len(decisions)) % 3
    answers = ask_owners(decisions, owners, lambda owner, own: 100 * owner + own.game)
    assert (answers == 100 * owners + decisions.game).all()


def test_nobody_is_asked_when_there_is_nothing_to_decide(decisions: Decisions) -> None:
    asked: list[Any] = []
    assert ask_agents([Noted("only", asked)], decisions[:0], np.zeros(0, np.int64)).shape == (0,)
    assert asked == []


@pytest.mark.parametrize("answers", [[1.0], 3, [[1]], None, [True]])
def test_an_agent_must_give_one_integer_for_each_decision(decisions: Decisions, answers: Any) -> None:
    class Wrong:
        def act(self, decisions: Decisions) -> Any:
            return np.asarray(answers)

    with pytest.raises(ValueError, match=r"agent Wrong answered 1 decisions with .* of shape"):
        ask_agents([Wrong()], decisions[:1], np.zeros(1, np.int64))
