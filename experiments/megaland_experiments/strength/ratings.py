"""Ratings of agents on one scale, from games of several players with ties.

The scale is that of chess: 400 points more mean odds of ten to one to finish ahead, 100 points 64 %. Each pair of
players in a game counts as a game of two, won by the player with more coins; equal coins are a tie. That is the model
of Bradley and Terry, updated game by game by ``openskill``'s ``BradleyTerryFull`` (Weng and Lin, "A Bayesian
Approximation Method for Online Ranking", Journal of Machine Learning Research 12, 2011) without the terms that make it
forget, since the agents do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_experiments.shared.intervals import CONFIDENCE

ANCHOR_RATING = 1000.0
SCALE = 400 / log(10)
"""The number of points that multiplies the odds to finish ahead by e."""

PRIOR_DEVIATION = 2 * SCALE / 2**0.5  # as openskill has it: twice beta, where sqrt(2) * beta is the scale

_LEAST_FACTOR = 1e-4
"""The least factor on a variance in one game: openskill's kappa."""


@dataclass(frozen=True, eq=False)
class RatedGames:
    """G games of P seats, in the order in which they are rated.

    Attributes:
        agents: (G, P) the agent in each seat.
        places: (G, P) from 1; equals share a place.
        seeds: (G,) the number of the seed; games on one seed are not independent.
    """

    agents: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rating:
    """The rating of an agent, and a 95 % interval of its distance to the anchor, put at the anchor's rating."""

    rating: float
    low: float
    high: float


def rate(games: RatedGames, num_agents: int, anchor: int = 0) -> list[Rating]:
    """Rate agents, the anchor at 1000.

    The updates depend on the order of the games, so the order is part of the result; simulated, they end within a half
    of a standard error of where the likelihood of all games is greatest.

    The intervals are not openskill's own, which take the pairs of a game, and the games on a seed, to be independent:
    they are those of the same model's likelihood with whole seeds as units (the "sandwich" estimate; Varin, Reid and
    Firth, "An overview of composite likelihood methods", Statistica Sinica 21, 2011), and what the order has moved.
    """
    means = _updated(games, num_agents)
    deviations, moved = _uncertainty(games, means, anchor)
    means += ANCHOR_RATING - means[anchor]
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    margins = z * deviations + moved
    return [Rating(*map(float, (m, m - d, m + d))) for m, d in zip(means, margins, strict=True)]


def _updated(games: RatedGames, num_agents: int) -> npt.NDArray[np.float64]:
    """Ratings (num_agents,), up to a common shift."""
    from openskill.models import BradleyTerryFull

    model = BradleyTerryFull(mu=ANCHOR_RATING, sigma=PRIOR_DEVIATION, beta=SCALE / 2**0.5, tau=0.0, gamma=_never_forget)
    ratings = [model.rating() for _ in range(num_agents)]
    for agents, places in zip(games.agents.tolist(), games.places.tolist(), strict=True):
        if len(set(agents)) == len(agents):
            rated = model.rate([[ratings[agent]] for agent in agents], ranks=places)
            for agent, (rating,) in zip(agents, rated, strict=True):
                ratings[agent] = rating
        else:
            _update_pairs(model, ratings, agents, places)
    return np.array([rating.mu for rating in ratings])


def _update_pairs(model: Any, ratings: list[Any], agents: Sequence[int], places: Sequence[int]) -> None:
    """Update the ratings by a game in which agents sit more than once: by each pair of different agents."""
    gained = dict.fromkeys(agents, 0.0)
    learned = dict.fromkeys(agents, 0.0)
    for seats in combinations(range(len(agents)), 2):
        pair = [agents[seat] for seat in seats]
        if pair[0] == pair[1]:
            continue
        rated = model.rate([[ratings[agent]] for agent in pair], ranks=[places[seat] for seat in seats])
        for agent, (rating,) in zip(pair, rated, strict=True):
            gained[agent] += rating.mu - ratings[agent].mu
            learned[agent] += 1 - (rating.sigma / ratings[agent].sigma) ** 2
    for agent in gained:
        deviation = ratings[agent].sigma * max(1 - learned[agent], _LEAST_FACTOR) ** 0.5
        ratings[agent] = model.rating(mu=ratings[agent].mu + gained[agent], sigma=deviation)


def _never_forget(*_: Any, **__: Any) -> float:
    """Return 1 for openskill's gamma, so that the uncertainty falls as the information grows."""
    return 1.0


def _uncertainty(
    games: RatedGames, means: npt.NDArray[np.float64], anchor: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Standard errors of the distances to the anchor, and what the order of the games has moved, each (num_agents,)."""
    number = means.size
    seeds = np.unique(games.seeds, return_inverse=True)[1]
    scores = np.zeros((int(seeds.max()) + 1, number))
    information = np.zeros((number, number))
    for one, other in combinations(range(games.agents.shape[1]), 2):
        a, b = games.agents[:, one], games.agents[:, other]
        apart = np.flatnonzero(a != b)
        a, b = a[apart], b[apart]
        lead = games.places[apart, other] - games.places[apart, one]
        expected = 1 / (1 + np.exp((means[b] - means[a]) / SCALE))
        residual = (np.sign(lead) + 1) / 2 - expected
        np.add.at(scores, (seeds[apart], a), residual / SCALE)
        np.add.at(scores, (seeds[apart], b), -residual / SCALE)
        weight = expected * (1 - expected) / SCALE**2
        for row, column, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            np.add.at(information, (row, column), sign * weight)
    free = np.delete(np.arange(number), anchor)
    bread = np.linalg.inv(information[np.ix_(free, free)] + np.eye(free.size) / PRIOR_DEVIATION**2)
    filling = scores[:, free].T @ scores[:, free]
    deviations, moved = np.zeros(number), np.zeros(number)
    deviations[free] = np.sqrt(np.diag(bread @ filling @ bread))
    moved[free] = np.abs(bread @ scores[:, free].sum(axis=0))  # one step of Newton's
    return deviations, moved
