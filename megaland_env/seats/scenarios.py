"""Two small tasks with known optima, for learning and for checking learners. Independent of any environment API.

A task is a piece of the game and goes by its rules. It is a table for two at which the other player sits at home with a
single treasure: so when the learner's part is over it is the other's turn to buy, and as nobody answers for the other,
the game waits there, with nothing yet paid or discarded that would come later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.agent import Agent
from megaland_env.arrays import Words
from megaland_env.cards import (
    JUMP_SUPPLY,
    MARKET_SIZE,
    MAX_HEARTS,
    NORMAL_BUILDINGS,
    NUM_TREASURES,
    START_HEARTS,
    LevelCard,
)
from megaland_env.checks import is_integer
from megaland_env.config import MegalandConfig
from megaland_env.decisions import View
from megaland_env.engine import rng
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.flow import Moves, Stage
from megaland_env.engine.rules.setup import new_games
from megaland_env.engine.rules.treasure import draw
from megaland_env.engine.state import GameState, buy_bit
from megaland_env.game import MegalandGames
from megaland_env.seats.opponents import LEARNER_NAME
from megaland_env.seats.single_learner import Bools, Ints, SingleLearnerGames

LEARNER_SEAT, OTHER_SEAT = 0, 1
NOBODY_ELSE = "random"  # who has the other seat, and is never asked

Floats = npt.NDArray[np.float64]


class Task(Protocol):
    """A piece of the game; it is over as soon as the seat ``LEARNER_SEAT`` is not asked."""

    @property
    def config(self) -> MegalandConfig:
        """Configuration of the games."""
        ...

    def begin(self, state: GameState, games: Ints, seeds: Words) -> Moves:
        """Set games up, one for each seed, and say how they go on."""
        ...

    def gained(self, view: View) -> Floats:
        """(M,) what the learner has gained since the beginning, seen from its seat."""
        ...


@dataclass(frozen=True)
class RunTask:
    """One level run alone: the learner enters the level, and brings home what it can.

    With four hearts and without jump tokens the best play brings home 29/12 treasures on average, with two 14/15, with
    eight 3839/630. Leaving whenever three level cards have been seen brings home 2.175 with four hearts.

    Attributes:
        hearts: at the entrance, from 1 to 8.
        jumps: jump tokens, from 0 to 14.
        value: of each treasure brought home; one number for all, or six in the order of the rules (C2).

    Raises:
        ValueError: an attribute is none of these.
    """

    hearts: int = START_HEARTS
    jumps: int = 0
    value: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        for name, number, low, high in (
            ("hearts", self.hearts, 1, MAX_HEARTS),
            ("jumps", self.jumps, 0, JUMP_SUPPLY),
        ):
            if not is_integer(number) or not low <= number <= high:
                raise ValueError(f"{name} is {number!r}; it must be an integer from {low} to {high}")
        values = np.asarray(self.value)
        if (
            values.dtype.kind not in "iuf"
            or values.shape not in ((), (NUM_TREASURES,))
            or not np.isfinite(values).all()
        ):
            raise ValueError(f"value is {self.value!r}; it must be a number, or one for each of the six treasures")

    @property
    def config(self) -> MegalandConfig:
        """The other buys first; what is on offer does not matter, so it is always the same."""
        market = tuple(building.label for building in NORMAL_BUILDINGS[:MARKET_SIZE])
        return MegalandConfig(2, market, first_player=OTHER_SEAT)

    def begin(self, state: GameState, games: Ints, seeds: Words) -> Moves:
        """The learner alone enters the level."""
        new_games(state, games, seeds)
        most = max(self.hearts, START_HEARTS)
        state.hearts[LEARNER_SEAT, games] = self.hearts
        state.max_hearts[LEARNER_SEAT, games] = most
        state.heart_supply[games] -= np.uint8(most - START_HEARTS)
        state.jumps[LEARNER_SEAT, games] = self.jumps
        state.jump_supply[games] -= np.uint8(self.jumps)
        state.in_level[LEARNER_SEAT, games] = True
        _deal(state, games, np.zeros_like(seeds))
        return [(Stage.DRAW, games)]

    def gained(self, view: View) -> Floats:
        """(M,) the value of the treasures at home."""
        values = np.broadcast_to(np.array(self.value, np.float64), NUM_TREASURES)
        gained: Floats = view.home[:, 0] @ values
        return gained


@dataclass(frozen=True)
class BuyTask:
    """One turn of the buy phase: the learner has treasures and a few buildings, and gains what coins it can.

    It holds 1 to 12 treasures, dealt from the full deck, and owns 0 to 4 buildings, drawn from the cards on offer; both
    numbers are uniform. The market is drawn too (``"spread"``). The turn itself has no randomness, so the most that a
    hand can bring is found by trying all ways to play it.
    """

    most_treasures = 12
    most_buildings = 4
    config = MegalandConfig(2, first_player=LEARNER_SEAT)

    def begin(self, state: GameState, games: Ints, seeds: Words) -> Moves:
        """Everybody is back from the level, in which the Clouds were seen, and the learner buys first."""
        new_games(state, games, seeds)
        state.seen[0, games] = LevelCard.CLOUDS
        state.num_seen[games] = 1
        state.unseen[games] ^= np.int16(1 << LevelCard.CLOUDS)
        _hand_out(state, games, 2, rng.choose(_luck(seeds, 0), self.most_buildings + 1))
        _deal(state, games, 1 + rng.choose(_luck(seeds, 1), self.most_treasures))
        return [(Stage.BEGIN_BUYING, games)]

    def gained(self, view: View) -> Floats:
        """(M,) the coins."""
        gained: Floats = view.coins[:, 0].astype(np.float64)
        return gained


def _luck(seeds: Words, number: int) -> Words:
    return rng.mix(seeds, Purpose.DEAL, count=number)


def _hand_out(state: GameState, games: Ints, luck: int, numbers: Words) -> None:
    """Give the learner building cards from the table, as many as ``numbers`` (n,) says, all cards alike."""
    for k in range(int(numbers.max(initial=0))):
        given = np.flatnonzero(numbers > k)
        to = games[given]
        totals = np.cumsum(state.building_supply[:, to], axis=0)
        card = rng.choose(_luck(state.seeds[to], luck + k), totals[-1])
        building = np.add.reduce(totals <= card, axis=0)
        left = state.building_supply[building, to] - np.uint8(1)
        state.building_supply[building, to] = left
        state.for_sale[to] &= ~(buy_bit(building) * (left == 0))
        state.buildings[building, LEARNER_SEAT, to] += np.uint8(1)
    state.num_buildings[LEARNER_SEAT, games] = numbers


def _deal(state: GameState, games: Ints, numbers: Words) -> None:
    """Deal treasures into the home hands: to the learner as many as ``numbers`` (n,) says, and one to the other."""
    times = np.stack([numbers, np.ones_like(numbers)])
    draw(state, games, times, rng.offset(Purpose.DEAL), state.home)


class _TaskGames(MegalandGames):
    """Games that begin as a task says."""

    def __init__(self, task: Task, num_games: int) -> None:
        super().__init__(task.config, num_games)
        self._task = task

    def _begin(self, games: Ints, seeds: Words) -> None:
        self._go_on(self._task.begin(self._state, games, seeds))


class TaskGames(SingleLearnerGames):
    """N slots, in each of which the learner plays a task again and again, with other seeds.

    It is used as any ``SingleLearnerGames``; the rewards are what the learner has gained by the step, and those of a
    whole task add up to what it has gained in all. Every task takes at least one step: a learner who falls on the first
    level card, and so is never asked, just passes.

    Args:
        task: what is played.
        num_games: number of games (N).
        illegal: as in ``SingleLearnerGames``.
    """

    def __init__(self, task: Task, num_games: int = 1, *, illegal: str = "raise") -> None:
        super().__init__(task.config, num_games, opponents=NOBODY_ELSE, seat=LEARNER_SEAT, illegal=illegal)
        self.games = _TaskGames(task, num_games)
        self._task = task
        self._over = np.zeros(num_games, np.bool_)
        self._gained = np.zeros(num_games)

    @property
    def over(self) -> Bools:
        """(N,) the tasks that are over and wait for ``restart``."""
        self.games._check_started(self._everyone)
        return self._over.copy()

    def _results(self, games: Ints) -> dict[str, npt.NDArray[Any]]:
        return {}  # the rewards say it all

    def names(self, game: int) -> list[str]:
        """(2,) the learner, and nobody in the other seat."""
        return [LEARNER_NAME, "nobody"]

    def _start(self, games: Ints, seeds: npt.NDArray[np.uint64]) -> None:
        super()._start(games, seeds)
        self._over[games] = False
        self._gained[games] = 0

    def step(self, actions: npt.ArrayLike, index: npt.ArrayLike | None = None) -> None:
        """Carry out the learner's choices."""
        super().step(actions, index)
        games = np.arange(self.num_games) if index is None else np.asarray(index)
        decisions = self.decisions(games)
        self._over[games] = decisions.kind == Kind.NONE
        gained = self._task.gained(decisions.view)
        self.rewards[games] = gained - self._gained[games]
        self._gained[games] = gained

    def _without_learner(self, games: Ints, own: Ints) -> Ints:
        return games[:0]  # nobody plays on alone

    def restore(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> None:
        """Not possible: a snapshot of games does not know of tasks."""
        raise NotImplementedError("a task cannot be resumed from a snapshot")
