"""The estimate of who will win, and the fit that its weights come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_agents.planning import win_chance
from megaland_agents.planning.win_chance import win_chances
from megaland_env import Building, MegalandConfig, MegalandGames, View
from megaland_env.agent import random_legal
from megaland_experiments.tuning.fit_win_chance import WEIGHTS, fit, measures, play
from tests.support.tables import state


def chances(players: list[dict[str, Any]]) -> npt.NDArray[np.float64]:
    """The estimated chances, seen from the first seat."""
    view = MegalandGames.restore([state(players, "run")]).decisions().view
    first: npt.NDArray[np.float64] = win_chances(view)[0]
    return first


def views(players: int) -> View:
    """Views from the middle of random games."""
    games = MegalandGames(MegalandConfig(num_players=players), 50)
    games.reset(7)
    for step in range(80):
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions, seed=step)))
    return games.rows(np.arange(50), np.arange(50) % players).view


def softmax(strength: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    odds = np.exp(strength)
    share: npt.NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
    return share


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_chances_are_equal_among_equals_and_sum_to_1(players: int) -> None:
    assert np.allclose(chances([{"coins": 7}] * players), 1 / players)
    assert np.allclose(win_chances(views(players)).sum(axis=1), 1)


@pytest.mark.parametrize(
    "better", [{"coins": 9}, {"hearts": 5}, {"home": {"egg": 1}}, {"buildings": {"Lodge": 1}}, {"jumps": 1}]
)
def test_who_has_more_is_more_likely_to_win(better: dict[str, Any]) -> None:
    mine, others = chances([{"coins": 7}, {"coins": 7} | better])
    assert others > 0.5 > mine


def test_coins_count_for_more_near_the_end() -> None:
    early, late = (chances([{"coins": low}, {"coins": low + 3}])[1] for low in (2, 16))
    assert late > early > 0.5


@pytest.mark.parametrize("players", [2, 4])
def test_the_fit_weighs_what_the_estimate_weighs(players: int) -> None:
    weights = [getattr(win_chance, name) for name in WEIGHTS[: -len(Building)]]
    weights += [win_chance.BUILDINGS[building] for building in Building]
    view = views(players)
    strength = measures(view) @ np.array(weights) / 100
    assert np.allclose(win_chances(view), softmax(strength * (win_chance.TWO_PLAYERS if players == 2 else 1)))


def test_the_fit_finds_the_weights_that_shares_were_made_with() -> None:
    x, shares = play(3, 300, seed=1)
    assert np.allclose(shares.sum(axis=1), 1)
    weights = np.linspace(-0.3, 0.5, len(WEIGHTS))
    made = softmax(x @ weights)
    assert np.abs(softmax(x @ fit([(x, made)])) - made).max() < 0.02
