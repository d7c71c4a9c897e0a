"""Helpers for playing the engine: configurations, random play, and everything that can be compared."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from megaland_env import NUM_ACTIONS, Action, Decisions, Kind, MegalandConfig, MegalandGames, View
from megaland_env.agent import Agent, random_legal
from megaland_env.cards import NORMAL_BUILDINGS, TREASURE_COPIES
from tests.support.lockstep import dealt_out

Luck = np.random.Generator

# Seven types with as many different questions and as much wild money as possible.
LIVELY = ("Herb Hut", "Reptile Stable", "Gym", "Ostrich Ranch", "Fish Vendor", "Root Market", "Arena")
DRAWING = ("Herb Hut", "Hospital", "Soap Makers", "Laboratory", "Fishing Pond", "Lodge", "Endless Mine")

KINDS = [kind for kind in Kind if kind != Kind.NONE]

TABLES = [
    MegalandConfig(2, LIVELY, skip_forced=False),
    MegalandConfig(3, LIVELY, max_rounds=8),
    MegalandConfig(4, DRAWING, first_player=3),
    MegalandConfig(5, "random", payment="auto", star_copies=(1, 2, 0, 1, 1, 1)),
]
"""A table of each size, of which each differs from the default in its own way."""


def table_id(config: MegalandConfig) -> str:
    """A short name for the table of a parametrised test."""
    return f"{config.num_players}-players"


@st.composite
def configurations(draw: st.DrawFn, max_rounds: int = 6) -> MegalandConfig:
    """Any configuration without long games."""
    players = draw(st.integers(2, 5))
    seven = st.lists(st.sampled_from(NORMAL_BUILDINGS), min_size=7, max_size=7, unique=True)
    return MegalandConfig(
        num_players=players,
        market=draw(st.sampled_from(["spread", "random"]) | seven.map(tuple) | st.just(LIVELY)),
        first_player=draw(st.none() | st.integers(0, players - 1)),
        payment=draw(st.sampled_from(["choose", "auto"])),
        skip_forced=draw(st.booleans()),
        max_rounds=draw(st.integers(1, max_rounds)),
        star_copies=draw(st.tuples(*[st.integers(0, 6)] * 6)),
    )


SEEDS = st.integers(0, 2**64 - 1)


def some_legal(games: MegalandGames, luck: Luck, boldness: float = 1.0) -> npt.NDArray[np.int64]:
    """(N, P) random legal actions, PASS for seats that are not asked; a higher ``boldness`` makes STAY more likely."""
    weights = np.ones(NUM_ACTIONS)
    weights[Action["STAY"]] = boldness
    legal = games.legal
    return np.asarray((luck.random(legal.shape) * weights * legal).argmax(axis=2))


def play(games: MegalandGames, luck: Luck, steps: int | None = None) -> MegalandGames:
    """Play at random for a number of steps, or to the end of all games."""
    while games.active.any() and steps != 0:
        games.step(some_legal(games, luck))
        steps = None if steps is None else steps - 1
    return games


def moments(config: MegalandConfig, num_games: int, seed: int, **options: Any) -> Iterator[MegalandGames]:
    """A batch at its start and after each step of random play, up to the end of all games."""
    luck = np.random.default_rng(seed)
    games = MegalandGames(config, num_games, **options)
    games.reset(seed * 1000)
    while True:
        yield games
        if not games.active.any():
            return
        games.step(some_legal(games, luck))


def dealt_games(config: MegalandConfig, num_games: int, seed: int, **options: Any) -> MegalandGames:
    """Games that begin with random buildings, treasures, hearts and tokens, so that rare decisions come soon."""
    games = MegalandGames(config, num_games)
    games.reset(seed * 1000)
    dealt = [dealt_out(games.snapshot(game), random.Random(seed * 1000 + game)) for game in range(num_games)]
    return MegalandGames.restore(dealt, **options)


def each_kind(times: int = 1, **options: Any) -> Iterator[MegalandGames]:
    """Single games at a number of moments of each of the eight kinds of decision, with and without forced choices."""
    for skip_forced in (True, False):
        wanted = dict.fromkeys(KINDS, times)
        luck = np.random.default_rng(3)
        games = dealt_games(MegalandConfig(3, LIVELY, skip_forced=skip_forced), 60 + 10 * times, seed=3, **options)
        while games.active.any() and any(wanted.values()):
            for game, number in enumerate(games.kind.tolist()):
                kind = Kind(number)
                # What is common is taken now and then, or its moments would be much alike.
                if wanted.get(kind) and (kind in (Kind.HERB_HUT, Kind.RABBIT) or luck.random() < 0.2):
                    wanted[kind] -= 1
                    yield games.copy([game])
            games.step(some_legal(games, luck, boldness=3))
        assert not any(wanted.values()), f"not reached: {wanted}"


def snapshots(games: MegalandGames) -> list[dict[str, Any]]:
    """All games in words."""
    return [games.snapshot(game) for game in range(games.num_games)]


def everything(games: MegalandGames) -> dict[str, Any]:
    """Everything that a user can read of a batch, for comparison."""
    arrays = (
        "active",
        "kind",
        "legal",
        "rewards",
        "terminated",
        "truncated",
        "winners",
        "coins",
        "steps",
        "rounds",
        "seeds",
    )
    return {"snapshots": snapshots(games)} | {name: getattr(games, name).tolist() for name in arrays}


VIEW = [name for name in vars(View) if not name.startswith("_")]
"""The names of the arrays of a view."""


def view_of(decisions: Decisions) -> dict[str, Any]:
    """Everything that an agent can read in the view."""
    return {name: getattr(decisions.view, name).tolist() for name in VIEW}


def all_rows(games: MegalandGames) -> Decisions:
    """A row for each seat of each game, whether it decides or not."""
    seats, positions = np.divmod(np.arange(games.num_players * games.num_games), games.num_games)
    return games.rows(positions, seats)


def check_conservation(games: MegalandGames) -> None:
    """C2 to C7: every treasure, heart, token and building of every game is in exactly one place."""
    view = games.rows(np.arange(games.num_games), np.zeros(games.num_games, np.int64)).view
    hands = view.carried.astype(int).sum(axis=1) + view.home.astype(int).sum(axis=1)
    assert (hands + view.deck + view.discard + view.paid == TREASURE_COPIES).all()
    assert (view.heart_supply + view.max_hearts.astype(int).sum(axis=1) == 32).all()
    assert (view.jump_supply + view.jumps.astype(int).sum(axis=1) == 14).all()
    copies = np.array([*games.config.star_copies, *[4] * 17]) * view.on_offer
    assert (view.supply + view.buildings.astype(int).sum(axis=1) == copies).all()
    assert (view.on_offer.sum(axis=1) == 6 + 7).all()
    assert (view.hearts <= view.max_hearts).all()
    assert (view.picked <= np.where(view.falling[..., None], view.carried, view.home)).all()


def chi_square(observed: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """The chi-square statistic of counts, in (approximate) standard deviations above its expectation.

    By the approximation of Wilson and Hilferty. With fixed seeds a test is passed or failed for good; a value of 4
    would come about once in 30,000 samples.
    """
    counts, wanted = np.asarray(observed, float), np.asarray(expected, float)
    freedom = counts.size - 1
    statistic = float(((counts - wanted) ** 2 / wanted).sum())
    spread = 2 / (9 * freedom)
    return ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


def check_agent_in_random_games(make: Callable[[], Agent], players: int, number: int, steps: int = 120) -> None:
    """Check that an agent is legal, does not depend on the batch or on earlier calls, and meets all kinds of decisions.

    The games are random, so it is asked in states that it would never come into by itself.
    """
    agent = make()
    kinds: set[int] = set()
    for skip_forced in (True, False):
        games = MegalandGames(MegalandConfig(num_players=players, skip_forced=skip_forced, market="random"), number)
        games.reset(players)
        for step in range(steps):
            decisions = games.decisions()
            if not len(decisions):
                break
            actions = agent.act(decisions)
            assert actions.shape == (len(decisions),)
            assert decisions.legal[np.arange(len(decisions)), actions].all()
            kinds |= set(decisions.kind.tolist())
            if step % 20 == 0:
                some = np.arange(0, len(decisions), 7)
                assert np.array_equal(agent.act(decisions[some]), actions[some])
                assert np.array_equal(make().act(decisions), actions)
            games.step(games.scatter(decisions, random_legal(decisions, seed=step)))
    assert kinds == set(KINDS)
