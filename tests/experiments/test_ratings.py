"""Ratings: ties, order, the anchor, and the coverage of the intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from megaland_experiments.strength.ratings import ANCHOR_RATING, SCALE, RatedGames, _update_pairs, rate


def rated(agents: npt.ArrayLike, places: npt.ArrayLike, seeds: npt.ArrayLike | None = None) -> RatedGames:
    who = np.array(agents)
    return RatedGames(who, np.array(places), np.arange(len(who)) if seeds is None else np.array(seeds))


def drawn(strengths: npt.NDArray[np.float64], games: int, players: int, luck: np.random.Generator) -> RatedGames:
    """Games in which each pair ends in an order drawn from the model; four games for each seed."""
    agents = np.array([luck.permutation(strengths.size)[:players] for _ in range(games)])
    played = strengths[agents] / SCALE + luck.gumbel(size=agents.shape)
    places = 1 + (played[:, None, :] > played[:, :, None]).sum(axis=2)
    return RatedGames(agents, places, np.arange(games) // 4)


def test_agents_that_always_tie_have_equal_ratings() -> None:
    ratings = rate(rated([[0, 1], [1, 0]] * 50, [[1, 1]] * 100), 2)
    assert ratings[0].rating == ratings[1].rating == ANCHOR_RATING


def test_a_tie_is_half_a_win() -> None:
    ties = rate(rated([[0, 1]] * 400, [[1, 1]] * 400), 2)
    halves = rate(rated([[0, 1]] * 400, [[1, 2], [2, 1]] * 200), 2)
    assert halves[1].rating == pytest.approx(ties[1].rating, abs=2)


@pytest.mark.parametrize("table", [[0, 1, 2, 2], [1, 0, 2, 3]])
def test_equals_at_one_table_are_rated_alike(table: list[int]) -> None:
    """Agents 0 and 1 share each place that they have, above or below the others by turns."""
    places = [[1, 1, 3, 4], [3, 3, 1, 2]] * 40
    ratings = rate(rated([table] * 80, places), 4)
    assert ratings[0].rating == pytest.approx(ratings[1].rating, abs=1e-9)


def test_copies_of_one_agent_say_nothing_about_each_other() -> None:
    """Whether the first or the last of three copies is the best of them makes no difference."""
    one = rate(rated([[0, 1, 1, 1]] * 60, [[2, 1, 3, 4]] * 60), 2)
    other = rate(rated([[0, 1, 1, 1]] * 60, [[2, 4, 3, 1]] * 60), 2)
    assert one[1].rating == pytest.approx(other[1].rating, abs=1e-9)
    assert one[1].rating < ANCHOR_RATING


def test_the_stronger_is_rated_higher_and_the_anchor_stays() -> None:
    strengths = np.array([1000.0, 1100.0, 1250.0, 900.0])
    games = drawn(strengths, 3000, 3, np.random.default_rng(0))
    ratings = [rating.rating for rating in rate(games, 4)]
    assert np.argsort(ratings).tolist() == [3, 0, 1, 2]
    assert np.array(ratings) == pytest.approx(strengths, abs=40)  # on the scale of chess
    anchored = rate(games, 4, anchor=2)
    assert anchored[2].rating == anchored[2].low == anchored[2].high == ANCHOR_RATING
    assert anchored[0].rating - anchored[2].rating == pytest.approx(ratings[0] - ratings[2])


def test_pairs_add_up_to_the_table() -> None:
    """A table with copies is rated by pairs; for different agents the result is openskill's for the whole table."""
    from openskill.models import BradleyTerryFull

    model = BradleyTerryFull(tau=0.0, gamma=lambda *_, **__: 1.0)
    start = [model.rating(mu=mu, sigma=sigma) for mu, sigma in ((25, 8), (28, 3), (21, 5), (25, 6))]
    whole = [rating for (rating,) in model.rate([[rating] for rating in start], ranks=[2, 1, 2, 4])]
    pairs = list(start)
    _update_pairs(model, pairs, range(4), [2, 1, 2, 4])
    assert [rating.mu for rating in pairs] == pytest.approx([rating.mu for rating in whole])
    assert [rating.sigma for rating in pairs] == pytest.approx([rating.sigma for rating in whole])


def test_who_always_wins_has_a_rating_all_the_same() -> None:
    ratings = rate(rated([[0, 1]] * 100, [[2, 1]] * 100), 2)
    assert ANCHOR_RATING + 300 < ratings[1].low < ratings[1].rating < ratings[1].high < ANCHOR_RATING + 2000


@pytest.mark.parametrize("players", [2, 4])
def test_the_intervals_hold_the_truth(players: int) -> None:
    strengths = np.array([1000.0, 1000.0, 1080.0, 850.0])
    luck = np.random.default_rng(1)
    hits = []
    for _ in range(12):
        ratings = rate(drawn(strengths, 500, players, luck), 4)
        hits += [rating.low <= truth <= rating.high for rating, truth in zip(ratings[1:], strengths[1:], strict=True)]
    assert np.mean(hits) > 0.8


def test_games_on_one_seed_that_repeat_each_other_make_nothing_more_certain() -> None:
    games = drawn(np.array([1000.0, 1050.0]), 200, 2, np.random.default_rng(2))
    seeds = np.arange(200)
    one = rate(RatedGames(games.agents, games.places, seeds), 2)[1]
    five = rate(RatedGames(*(np.repeat(array, 5, axis=0) for array in (games.agents, games.places, seeds))), 2)[1]
    assert five.high - five.low == pytest.approx(one.high - one.low, rel=0.2)
