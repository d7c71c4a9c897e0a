"""Play the games of evaluations and tournaments: line-ups on shared seeds, chunk by chunk, in one process or several.

Randomness is addressed (rng.py), so the results depend neither on how the games are divided into chunks nor on which
process plays them. Chunks are played in portions of some seconds: the size of a portion follows from how long the last
ones took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from megaland_env import MegalandConfig
from megaland_env.agent import Agent, make_agent
from megaland_env.checks import check_whole
from megaland_env.engine import rng
from megaland_experiments.matches.executors import MOST_WORKERS, Tell, make_agents, run_jobs
from megaland_experiments.matches.line_ups import LineUp
from megaland_experiments.matches.playing import DEFAULT_BATCH, Matches, Progress, concatenate, play
from megaland_experiments.shared.agent_files import check_policies

PORTION_SECONDS = 30.0
"""Time that a portion should take, which is what may be lost when a run is stopped."""

WORTH_SENDING = 1024
"""The least number of games that are divided among processes."""

FIRST_CHUNK = 16
"""Number of seeds in the first chunk of an agent whose speed is unknown, and the least in any portion but the last."""

MOST_SEEDS = 2**24  # a count in an address (rng.py)


class Chunk(NamedTuple):
    """The games of one line-up on some seeds: ``number`` of them from position ``first``, P games each."""

    line_up: int
    first: int
    number: int


Portion = tuple[Chunk, ...]
"""Chunks that are played together; their line-ups have the same number of players."""


@dataclass(frozen=True)
class Plan:
    """The games that are to be played; the results follow from it alone.

    Attributes:
        agents: the agents, as objects or by name.
        names: their names in the results.
        config: of the games; each line-up is played with its own number of players.
        line_ups: the line-ups.
        games: number of games of each line-up, before it is rounded up to whole rotations.
        seed: the base seed. The i-th seed of a game is that of ``rng.run_seeds``, the same for all line-ups.
        policies: the checksums of the policies that the agents read (``policies_of``); all processes play with these.

    Raises:
        ValueError: ``games`` is out of range, or ``seed`` is not an integer.
    """

    agents: tuple[str | Agent, ...]
    names: tuple[str, ...]
    config: MegalandConfig
    line_ups: tuple[LineUp, ...]
    games: int
    seed: int
    policies: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        most = MOST_SEEDS * min(line_up.num_players for line_up in self.line_ups)
        check_whole("games", self.games, 1, most)
        rng.as_words([self.seed])

    def num_seeds(self, line_up: int) -> int:
        """Number of different seeds of a line-up."""
        return -(-self.games // self.line_ups[line_up].num_players)

    @cached_property
    def total_games(self) -> int:
        """Number of games of all line-ups."""
        return sum(self.num_seeds(k) * line_up.num_players for k, line_up in enumerate(self.line_ups))

    def games_of(self, chunk: Chunk) -> int:
        """Number of games of a chunk."""
        return chunk.number * self.line_ups[chunk.line_up].num_players

    def seeds(self, chunk: Chunk) -> npt.NDArray[np.uint64]:
        """Seeds (number * P,) of the games of a chunk: each seed P times."""
        seeds = seeds_from(self.seed, np.arange(chunk.first, chunk.first + chunk.number))
        return np.repeat(seeds, self.line_ups[chunk.line_up].num_players)

    def seats(self, chunk: Chunk) -> npt.NDArray[np.int64]:
        """Agents (number * P, P) in the seats of each game of a chunk."""
        return self.line_ups[chunk.line_up].seats(chunk.first, chunk.number)


def seeds_from(seed: int, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Seeds (n,) at some positions, below ``MOST_SEEDS``, of the sequence of a base seed; no two are equal."""
    return rng.run_seeds(seed, positions, rng.Run.ARENA)


class Store(Protocol):
    """A place that keeps finished chunks."""

    def chunks(self) -> list[Chunk]:
        """The chunks that are there."""
        ...

    def add(self, chunk: Chunk, matches: Matches) -> None:
        """Keep the games of a chunk."""
        ...

    def get(self, chunk: Chunk) -> Matches:
        """The games of a chunk."""
        ...


class Memory:
    """A store that keeps chunks in memory."""

    def __init__(self) -> None:
        self._kept: dict[Chunk, Matches] = {}

    def chunks(self) -> list[Chunk]:
        """The chunks that are there."""
        return list(self._kept)

    def add(self, chunk: Chunk, matches: Matches) -> None:
        """Keep the games of a chunk."""
        self._kept[chunk] = matches

    def get(self, chunk: Chunk) -> Matches:
        """The games of a chunk."""
        return self._kept[chunk]


def play_all(
    plan: Plan,
    *,
    workers: int = 1,
    batch: int = DEFAULT_BATCH,
    store: Store | None = None,
    progress: Progress | None = None,
) -> list[Matches]:
    """Play the games that are not in the store yet, line-up by line-up.

    Args:
        plan: the games to be played.
        workers: number of processes that play; with more than one, agents must be given by name.
        batch: number of games that run at once in each process.
        store: keeps the finished chunks; by default they are kept in memory.
        progress: called with the number of games played, and the total.

    Returns:
        The games of each line-up, in the order of seeds and rotations.

    Raises:
        AgentError: an agent failed, or chose an illegal action.
        ChildProcessError: a worker process died.
        FolderError: a policy was replaced since the plan was made.
        ValueError: there is no such agent, or an argument is invalid.
    """
    check_workers(plan, workers)
    agents = [make_agent(agent) for agent in plan.agents]  # before anything is played, also where worker processes play
    check_policies(plan.policies, plan.agents)
    store = Memory() if store is None else store
    schedule = _Schedule(plan, store.chunks(), workers)
    tell: Progress = progress or (lambda finished, total: None)
    tell(schedule.finished, plan.total_games)
    if workers == 1 or schedule.is_over():
        _play_here(plan, agents, schedule, store, batch, tell)
    else:
        _play_there(plan, schedule, store, batch, tell, workers)
    return [line_up_matches(plan, store, line_up) for line_up in range(len(plan.line_ups))]


def check_workers(plan: Plan, workers: int) -> None:
    """Check the number of processes that will play.

    Raises:
        ValueError: it is below 1, or above 1 although an agent is an object.
    """
    check_whole("workers", workers, 1, MOST_WORKERS)
    objects = [name for name, agent in zip(plan.names, plan.agents, strict=True) if not isinstance(agent, str)]
    if workers > 1 and objects:
        raise ValueError(
            f"workers is {workers}, but {objects[0]!r} is an object; only agents by name can be sent there"
        )


def line_up_matches(plan: Plan, store: Store, line_up: int) -> Matches:
    """The games of a line-up that are in the store, in the order of seeds and rotations."""
    chunks = sorted(chunk for chunk in store.chunks() if chunk.line_up == line_up)
    return concatenate([store.get(chunk) for chunk in chunks])


def is_finished(plan: Plan, store: Store, line_up: int) -> bool:
    """Whether all games of a line-up are in the store."""
    return sum(chunk.number for chunk in store.chunks() if chunk.line_up == line_up) == plan.num_seeds(line_up)


class _Schedule:
    """The remaining games in portions: chunks of one number of players that take ``PORTION_SECONDS`` together."""

    def __init__(self, plan: Plan, done: list[Chunk], workers: int) -> None:
        self._plan = plan
        self._workers = workers
        self._costs: dict[int, float] = {}  # for each agent the least seconds a game of a portion with it
        self._gaps = _gaps(plan, done)
        self._games_left = sum(map(plan.games_of, self._gaps))
        self.finished = sum(map(plan.games_of, done))

    def is_over(self) -> bool:
        """Whether all games have been given out."""
        return not self._gaps

    def next(self) -> Portion:
        """Give out a portion. Several line-ups may share one, since games are played faster in large batches."""
        players = self._plan.line_ups[self._gaps[0].line_up].num_players
        a_part = -(-self._games_left // self._workers)  # so that all have something to do to the end
        most = min(DEFAULT_BATCH, max(a_part, WORTH_SENDING))
        portion: list[Chunk] = []
        games, seconds = 0, 0.0
        while self._gaps:
            gap = self._gaps[0]
            cost = self._cost(gap.line_up)
            if portion and (cost is None or self._plan.line_ups[gap.line_up].num_players != players):
                break
            if cost is None:
                number = FIRST_CHUNK
            else:
                in_time = int((PORTION_SECONDS - seconds) / (cost * players))
                number = max(min((most - games) // players, in_time), 0 if portion else FIRST_CHUNK)
            number = min(number, gap.number)
            if number == 0:
                break
            portion.append(Chunk(gap.line_up, gap.first, number))
            left = Chunk(gap.line_up, gap.first + number, gap.number - number)
            self._gaps[:1] = [left] if left.number else []
            games += number * players
            if cost is None:
                break
            seconds += number * players * cost
        self._games_left -= games
        return tuple(portion)

    def _cost(self, line_up: int) -> float | None:
        """Seconds per game, by the slowest agent of the line-up; None while the speed of one is unknown."""
        costs = [self._costs.get(agent, 0.0) for agent in self._plan.line_ups[line_up].counts()]
        return max(costs) if all(costs) else None

    def done(self, portion: Portion, seconds: float) -> None:
        """Record that a portion has been played."""
        games = sum(map(self._plan.games_of, portion))
        for chunk in portion:
            for agent in self._plan.line_ups[chunk.line_up].counts():
                self._costs[agent] = min(seconds / games, self._costs.get(agent, seconds / games))
        self.finished += games


def _gaps(plan: Plan, done: list[Chunk]) -> list[Chunk]:
    """The games that are left to play."""
    gaps = []
    for line_up in range(len(plan.line_ups)):
        reached = 0
        end = Chunk(line_up, plan.num_seeds(line_up), 0)
        for chunk in [*sorted(chunk for chunk in done if chunk.line_up == line_up), end]:
            if chunk.first > reached:
                gaps.append(Chunk(line_up, reached, chunk.first - reached))
            reached = chunk.first + chunk.number
    return gaps


def _play_portion(
    plan: Plan, agents: Sequence[Agent], portion: Portion, batch: int, progress: Progress | None = None
) -> tuple[list[Matches], float]:
    """Play a portion; return the games of each chunk, and the seconds they took."""
    began = time.perf_counter()
    matches = play(
        replace(plan.config, num_players=plan.line_ups[portion[0].line_up].num_players),
        agents,
        np.concatenate([plan.seats(chunk) for chunk in portion]),
        np.concatenate([plan.seeds(chunk) for chunk in portion]),
        batch=batch,
        progress=progress,
        names=plan.names,
    )
    ends = np.cumsum([plan.games_of(chunk) for chunk in portion])
    parts = [matches[end - plan.games_of(chunk) : end] for chunk, end in zip(portion, ends, strict=True)]
    return parts, time.perf_counter() - began


def _play_here(
    plan: Plan, agents: Sequence[Agent], schedule: _Schedule, store: Store, batch: int, tell: Progress
) -> None:
    def tell_in_portion(finished: float, _: float) -> None:
        tell(schedule.finished + finished, plan.total_games)

    while not schedule.is_over():
        portion = schedule.next()
        parts, seconds = _play_portion(plan, agents, portion, batch, tell_in_portion)
        for chunk, matches in zip(portion, parts, strict=True):
            store.add(chunk, matches)
        schedule.done(portion, seconds)


# ------------------------------------------------------------------------------------------------------ processes


def _play_there(plan: Plan, schedule: _Schedule, store: Store, batch: int, tell: Progress, workers: int) -> None:
    def portions() -> Iterator[Portion]:
        while not schedule.is_over():
            yield schedule.next()

    def done(portion: Portion, result: tuple[list[Matches], float]) -> None:
        parts, seconds = result
        for chunk, matches in zip(portion, parts, strict=True):
            store.add(chunk, matches)
        schedule.done(portion, seconds)

    def under_way(games: float) -> None:
        tell(schedule.finished + games, plan.total_games)

    run_jobs(_begin_worker, (plan, batch), portions(), done, workers, under_way)
    tell(schedule.finished, plan.total_games)


def _begin_worker(plan: Plan, batch: int) -> Callable[[Portion, Tell], tuple[list[Matches], float]]:
    agents: list[Agent] = []

    def play_mine(portion: Portion, tell: Tell) -> tuple[list[Matches], float]:
        if not agents:
            agents.extend(make_agents(plan.agents, plan.policies))
        return _play_portion(plan, agents, portion, batch, lambda games, _: tell(games))

    return play_mine
