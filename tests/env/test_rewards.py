"""Rewards: which reward each seat gets and when, and that their sums are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Kind, MegalandConfig, MegalandGames
from megaland_env.rewards import Coins, Outcome, Shaped, Win, make_reward
from tests.support.play import TABLES, moments, play, some_legal, table_id

at_every_table = pytest.mark.parametrize("config", TABLES, ids=table_id)
SHORT = MegalandConfig(3, max_rounds=4)


def margins(coins: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(N, P) own coins minus the most coins of any other seat."""
    rows = [[own - max(row[:seat] + row[seat + 1 :]) for seat, own in enumerate(row)] for row in coins.tolist()]
    return np.array(rows, float)


def totals(config: MegalandConfig, num_games: int, seed: int, reward: Any) -> tuple[MegalandGames, npt.NDArray[Any]]:
    """Finished games, and the sum of the rewards of each seat."""
    earned = np.zeros((num_games, config.num_players))
    for games in moments(config, num_games, seed, reward=reward):
        earned += games.rewards
        assert games.rewards.dtype == np.float32
    return games, earned


def ending(seed: int, num_games: int, **changes: Any) -> MegalandGames:
    """Games that are over after one more round, won, shared or cut off, since all begin with many coins."""
    games = MegalandGames(MegalandConfig(max_rounds=1, **changes), num_games)
    games.reset(seed)
    generator = np.random.default_rng(seed)
    told = [games.snapshot(game) for game in range(num_games)]
    for snapshot in told:
        for player in snapshot["players"]:
            player["coins"] = int(generator.choice([3, 18, 21, 22]))
    return MegalandGames.restore(told, reward="win")


@at_every_table
def test_win_pays_winners_and_sums_to_nothing(config: MegalandConfig) -> None:
    """N5: 1/k - 1/P for each of k winners, -1/P for the others, and only at the end."""
    games, earned = totals(config, 24, 31, "win")
    number = games.winners.sum(axis=1, keepdims=True)
    wanted = np.where(number > 0, games.winners / np.maximum(number, 1) - 1 / config.num_players, 0)
    np.testing.assert_allclose(earned, wanted, atol=1e-6)
    np.testing.assert_allclose(earned.sum(axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_a_shared_win_is_paid_in_shares(players: int) -> None:
    """N5: tied players share the win; D4: a game that is cut off pays nobody."""
    games = ending(32, 60, num_players=players)
    generator = np.random.default_rng(32)
    earned = np.zeros((60, players))
    while games.active.any():
        games.step(some_legal(games, generator))
        earned += games.rewards
    number = games.winners.sum(axis=1)
    assert set(number.tolist()) >= {0, 1, 2}
    for game in range(60):
        rewards, winners = earned[game], games.winners[game]
        if games.truncated[game]:
            assert not rewards.any()
        else:
            np.testing.assert_allclose(rewards[winners], 1 / number[game] - 1 / players, atol=1e-6)
            np.testing.assert_allclose(rewards[~winners], -1 / players, atol=1e-6)


@at_every_table
def test_coins_pays_the_margin_once(config: MegalandConfig) -> None:
    """``coins`` is the margin over 20, paid once at the end, also in a game that is cut off."""
    games, earned = totals(config, 12, 33, "coins")
    np.testing.assert_allclose(earned, margins(games.coins) / 20, atol=1e-6)


@at_every_table
def test_shaping_adds_up_to_the_win(config: MegalandConfig) -> None:
    """With gamma = 1: the win, plus the last potential where the game is cut off, since all begin at potential 0."""
    games, earned = totals(config, 12, 34, "shaped")
    _, won = totals(config, 12, 34, "win")
    kept = np.where(games.truncated[:, None], margins(games.coins) / 20, 0)
    np.testing.assert_allclose(earned, won + kept, atol=1e-4)


def test_shaping_of_games_that_are_cut_off() -> None:
    """D4: the potential stays, as a learner bootstraps there."""
    games, earned = totals(SHORT, 24, 35, "shaped")
    assert games.truncated.sum() > 12
    cut_off = games.truncated
    np.testing.assert_allclose(earned[cut_off], margins(games.coins)[cut_off] / 20, atol=1e-5)


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
def test_shaping_is_taken_at_a_seats_own_observations(gamma: float) -> None:
    """gamma Phi(s') - Phi(s) from one observation of the seat to its next, and nothing in between."""
    seen = np.zeros((10, 3))
    for games in moments(SHORT, 10, 36, reward=Shaped(gamma)):
        now = margins(games.coins) / 20
        over = (games.kind == Kind.NONE)[:, None]
        observes = games.active | over
        potential = np.where(games.terminated[:, None], 0, now)
        if games.steps.any():
            moved = games.steps == games.steps.max()  # the others were over before
            wanted = np.where(observes, gamma * potential - seen, 0)
            shaping = games.rewards - Win()(outcome_of(games)) * over
            np.testing.assert_allclose(shaping[moved], wanted[moved], atol=1e-5)
            assert not games.rewards[~moved].any()
        seen = np.where(observes, now, seen)


def outcome_of(games: MegalandGames) -> Outcome:
    """An ``Outcome`` with the fields that ``Win`` uses."""
    nothing = np.zeros_like(games.coins)
    every = np.arange(games.num_games)
    flags = (games.terminated, games.truncated, games.winners)
    return Outcome(every, *flags, games.coins, nothing, nothing, games.active)


def test_any_callable_is_a_reward() -> None:
    """A callable gets the outcome of the games that moved, and its values become the rewards."""
    told: list[Outcome] = []

    def reward(outcome: Outcome) -> npt.NDArray[Any]:
        told.append(outcome)
        return outcome.coins + outcome.game[:, None] * 100.0

    games = MegalandGames(SHORT, 6, reward=reward)
    games.reset(37)
    play(games, np.random.default_rng(37), steps=6)
    generator = np.random.default_rng(38)
    index = np.array([4, 1])
    before = games.rewards.copy()
    games.step(some_legal(games, generator)[index], index)
    outcome = told[-1]
    order = np.argsort(outcome.game)
    assert outcome.game[order].tolist() == [1, 4]
    assert outcome.coins[order].tolist() == games.coins[[1, 4]].tolist()
    assert outcome.margin[order].tolist() == margins(games.coins[[1, 4]]).tolist()
    assert outcome.observes[order].tolist() == games.active[[1, 4]].tolist()
    assert not outcome.terminated.any()
    assert not outcome.truncated.any()
    assert outcome.winners.shape == (2, 3)
    for game in (1, 4):
        assert games.rewards[game].tolist() == [coins + 100 * game for coins in games.coins[game]]
    others = [0, 2, 3, 5]
    assert games.rewards[others].tolist() == before[others].tolist()


def test_a_reward_that_pays_at_the_end_is_asked_only_then() -> None:
    """``at_end_only``: called for the games that are over, each of them once."""

    class AtEnd:
        at_end_only = True

        def __init__(self) -> None:
            self.games: list[int] = []

        def __call__(self, outcome: Outcome) -> npt.NDArray[Any]:
            assert (outcome.terminated | outcome.truncated).all()
            self.games += outcome.game.tolist()
            return np.ones_like(outcome.coins)

    reward = AtEnd()
    _, earned = totals(SHORT, 8, 39, reward)
    assert sorted(reward.games) == list(range(8))
    assert (earned == 1).all()


def test_rewards_of_games_that_are_not_named_stay() -> None:
    """``rewards`` is what the last step or reset that named the game paid; 0 after a reset."""
    games = MegalandGames(SHORT, 4, reward=lambda outcome: np.full(outcome.coins.shape, 7.0))
    games.reset(40)
    assert not games.rewards.any()
    generator = np.random.default_rng(40)
    games.step(some_legal(games, generator)[[2]], [2])
    assert games.rewards.tolist() == [[0] * 3, [0] * 3, [7] * 3, [0] * 3]
    games.step(some_legal(games, generator)[[0]], [0])
    assert games.rewards.tolist() == [[7] * 3, [0] * 3, [7] * 3, [0] * 3]
    games.reset(41, index=[2])
    assert games.rewards.tolist() == [[7] * 3, [0] * 3, [0] * 3, [0] * 3]


def test_a_reward_of_the_wrong_shape_is_refused() -> None:
    """A reward of the wrong shape is an error; it is not broadcast over the seats."""
    games = MegalandGames(SHORT, 2, reward=lambda outcome: np.ones(3))
    games.reset(0)
    with pytest.raises(ValueError, match="shape"):
        games.step(some_legal(games, np.random.default_rng(0)))


def test_rewards_by_name() -> None:
    """The three built-in rewards have names; the error for another name lists them."""
    assert (make_reward("win"), make_reward("coins"), make_reward("shaped")) == (Win(), Coins(), Shaped(1.0))
    assert make_reward(Shaped(0.5)) == Shaped(0.5)
    with pytest.raises(ValueError, match="no reward 'gold'; there are win, coins, shaped"):
        MegalandGames(reward="gold")
    with pytest.raises(ValueError, match="a reward is a name or a callable, not 3"):
        make_reward(3)  # type: ignore[arg-type]
    for gamma in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"gamma is .* from 0 to 1"):
            Shaped(gamma)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_win_shares_of_sole_shared_and_no_wins(players: int) -> None:
    """N5: tied players share the win equally; D4: nobody has won a game that was cut off."""
    games = ending(35, 60, num_players=players)
    assert games.win_shares.shape == (60, players)
    assert games.win_shares.dtype == np.float64
    assert not games.win_shares.any()  # nobody has won yet
    play(games, np.random.default_rng(35))
    for share, won, cut_off in zip(games.win_shares, games.winners, games.truncated, strict=True):
        winners = np.flatnonzero(won).tolist()
        assert share.tolist() == [1 / len(winners) if seat in winners else 0 for seat in range(players)]
        assert share.sum() == pytest.approx(0 if cut_off else 1)
    assert {0, 1, 2} <= set(games.winners.sum(axis=1).tolist())
