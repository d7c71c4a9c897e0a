"""``ExplorerAgent``: plays as another agent, except for a share of its purchases, which are random."""

from __future__ import annotations

import numpy as np
import pytest

from megaland_agents.heuristics.explorer import ExplorerAgent
from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_env import Kind, MegalandConfig, MegalandGames
from megaland_env.agent import make_agent
from tests.support.play import check_agent_in_random_games, chi_square, moments
from tests.support.tables import state


def test_it_plays_legally_and_the_same_in_any_batch() -> None:
    for players in (2, 5):
        check_agent_in_random_games(lambda: ExplorerAgent("threshold", explore=0.5), players, 40)


def test_only_purchases_are_explored_and_as_often_as_it_says() -> None:
    policy = ThresholdAgent()
    explorers = {explore: ExplorerAgent("threshold", explore) for explore in (0.0, 0.3, 1.0)}
    buys, same = 0, dict.fromkeys(explorers, 0)
    for games in moments(MegalandConfig(num_players=3, max_rounds=8), 60, seed=4):
        decisions = games.decisions()
        usual = policy.act(decisions)
        buy = decisions.kind == Kind.BUY
        buys += int(buy.sum())
        for explore, agent in explorers.items():
            actions = agent.act(decisions)
            assert np.array_equal(actions[~buy], usual[~buy])
            same[explore] += int((actions == usual)[buy].sum())
    assert buys > 1000
    assert same[0.0] == buys
    differs = {explore: (buys - number) / buys for explore, number in same.items()}
    assert 0.25 < differs[0.3] / differs[1.0] < 0.35


def test_what_is_explored_is_any_legal_action() -> None:
    """With 4,000 seeds in one state, everything that can be bought, and passing, are chosen equally often."""
    snapshot = state(
        [{"home": {"egg": 2, "fish": 1}}, {}],
        "buy",
        market=["Herb Hut", "Hospital", "Gym", "Smithy", "Lodge", "Arena", "Endless Mine"],
    )
    games = MegalandGames.restore([{**snapshot, "seed": seed} for seed in range(4000)])
    decisions = games.decisions()
    legal = np.flatnonzero(decisions.legal[0])
    actions = ExplorerAgent("threshold", explore=1.0).act(decisions)
    counts = np.bincount(actions, minlength=40)
    assert set(np.flatnonzero(counts)) == set(legal)
    assert chi_square(counts[legal], np.full(legal.size, 4000 / legal.size)) < 4


def test_another_seed_is_another_player() -> None:
    for games in moments(MegalandConfig(max_rounds=3), 200, seed=5):
        decisions = games.decisions()
        if (decisions.kind == Kind.BUY).sum() > 50:
            one, two = (ExplorerAgent("threshold", 0.5, seed=seed).act(decisions) for seed in (0, 1))
            assert not np.array_equal(one, two)
            return
    raise AssertionError("nobody had anything to buy")


def test_by_name_and_with_a_word_about_mistakes() -> None:
    agent = make_agent("explorer:policy=builder,explore=0.1")
    assert isinstance(agent, ExplorerAgent)
    assert agent.explore == 0.1
    with pytest.raises(ValueError, match=r"explore is 1\.5"):
        ExplorerAgent(explore=1.5)
    with pytest.raises(ValueError, match="no agent 'nobody'"):
        ExplorerAgent("nobody")
    with pytest.raises(ValueError, match="seed is 'x'"):
        make_agent("explorer:seed=x")
