"""Whole games between agents, thousands at once: what evaluations and tournaments are made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
import numpy.typing as npt

from megaland_env import Decisions, Kind, MegalandConfig, MegalandGames, action_name
from megaland_env.actions import NUM_ACTIONS
from megaland_env.agent import Agent, make_agent
from megaland_env.cards import WINNING_COINS
from megaland_env.engine import rng
from megaland_env.rewards import win_shares
from megaland_env.seats.asking import ask_owners, one_integer_each
from megaland_env.seats.moments import play_on

DEFAULT_BATCH = 32_768
"""Games played at once: enough for the engine to be fast; they take some tens of megabytes."""

Progress = Callable[[float, float], None]
"""Told now and then the number of games played, and the total; a game that is under way counts in part."""

SECONDS_BETWEEN_REPORTS = 0.5


class AgentError(RuntimeError):
    """An agent that failed, or answered what it may not; the message names it and the decision."""


@dataclass(frozen=True, eq=False)
class Matches:
    """N games of P seats, played to their end.

    Attributes:
        seeds: (N,) uint64, the seed of each game.
        line_ups: (N, P) int64, which agent sat in which seat.
        winners: (N, P) bool, who has won; several in a shared win, nobody in a truncated game.
        coins: (N, P) int16, at the end.
        decisions: (N, P) int32, how often each seat was asked.
        rounds: (N,) int32, rounds played.
        steps: (N,) int32, decision moments passed.
        truncated: (N,) bool, cut off after ``max_rounds``.
    """

    seeds: npt.NDArray[np.uint64]
    line_ups: npt.NDArray[np.int64]
    winners: npt.NDArray[np.bool_]
    coins: npt.NDArray[np.int16]
    decisions: npt.NDArray[np.int32]
    rounds: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int32]
    truncated: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.seeds.size)

    def __getitem__(self, games: slice) -> Matches:
        """Some of the games."""
        return Matches(*(getattr(self, field.name)[games] for field in fields(self)))

    @classmethod
    def empty(cls, seeds: npt.NDArray[np.uint64], line_ups: npt.NDArray[np.int64]) -> Matches:
        """Games that are not played yet, for ``enter``; the arguments are the attributes of these names."""
        number, seats = line_ups.shape
        return cls(
            seeds=seeds,
            line_ups=line_ups,
            winners=np.zeros((number, seats), np.bool_),
            coins=np.zeros((number, seats), np.int16),
            decisions=np.zeros((number, seats), np.int32),
            rounds=np.zeros(number, np.int32),
            steps=np.zeros(number, np.int32),
            truncated=np.zeros(number, np.bool_),
        )

    def enter(
        self,
        played: npt.NDArray[np.int64],
        games: MegalandGames,
        over: npt.NDArray[np.int64],
        decisions: npt.NDArray[np.int32],
    ) -> None:
        """Enter how some games ended: ``played`` (n,) of these, which are ``over`` (n,) of the batch ``games``.

        ``decisions`` (n, P) is how often each seat was asked.
        """
        self.winners[played] = games.winners[over]
        self.coins[played] = games.coins[over]
        self.decisions[played] = decisions
        self.rounds[played] = games.rounds[over]
        self.steps[played] = games.steps[over]
        self.truncated[played] = games.truncated[over]

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """(N, P) the share of the win: 1 / number of winners for each of them, 0 for the others."""
        return win_shares(self.winners)

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """(N, P) the place by coins, from 1; equals share the better place, as in sports."""
        places: npt.NDArray[np.int64] = 1 + (self.coins[:, None, :] > self.coins[:, :, None]).sum(axis=2)
        return places


class Watcher(Protocol):
    """Sees games while they are played. ``playing`` (slots,) says which of the N games runs in each slot."""

    def before(
        self,
        games: MegalandGames,
        playing: npt.NDArray[np.int64],
        decisions: Decisions,
        answers: npt.NDArray[np.uint8],
    ) -> None:
        """The games are about to move on: all pending decisions, and what was answered to each."""
        ...

    def after(self, games: MegalandGames, playing: npt.NDArray[np.int64], over: npt.NDArray[np.int64]) -> None:
        """The games in the slots ``over`` have just ended. Next, other games may begin there."""
        ...


def concatenate(parts: Sequence[Matches]) -> Matches:
    """The games of all parts (at least one), one after the other."""
    return Matches(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Matches)))


def play(
    config: MegalandConfig,
    agents: Sequence[str | Agent],
    line_ups: npt.ArrayLike,
    seeds: npt.ArrayLike,
    *,
    batch: int = DEFAULT_BATCH,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
    watcher: Watcher | None = None,
) -> Matches:
    """Play games between agents, each to its end.

    The games run side by side; an agent is called once a step, with all the decisions that are its own in any of them.
    A game that is over makes room for the next, so memory goes with ``batch`` and not with the number of games.
    The results do not depend on ``batch``, unless an agent's answers do.

    Args:
        config: of all the games.
        agents: the agents, made or by name (``make_agent``).
        line_ups: (N, P) integers; ``line_ups[g, s]`` is the position in ``agents`` of who has seat s in game g.
        seeds: (N,) integers, the seed of each game.
        batch: number of games that run at once.
        progress: called about twice a second and at the end.
        names: what the agents are called in errors; by default ``agent_name``.
        watcher: sees the games. They keep an event log then, which the watcher drains.

    Raises:
        AgentError: an agent raised, or did not answer with one legal action for each decision.
        ValueError: an argument is invalid.
    """
    made = [make_agent(agent) for agent in agents]
    called = [agent_name(agent) for agent in agents] if names is None else list(names)
    seeds, line_ups = _checked(config, len(made), line_ups, seeds)
    if batch < 1:
        raise ValueError(f"batch is {batch}; it must be at least 1")
    results = Matches.empty(seeds, line_ups)
    number, seats = line_ups.shape
    slots = min(batch, number)
    games = MegalandGames(config, slots, record=watcher is not None)
    games.reset(seeds[:slots])
    playing = np.arange(slots)  # (slots,) which of the N games runs in each slot
    busy = np.ones(slots, np.bool_)  # (slots,) the slots that have not run out of games
    asked = np.zeros((slots, seats), np.int32)
    started, finished, next_report, reported = slots, 0, 0.0, 0.0

    def ask(agent: int, own: Decisions) -> npt.NDArray[np.int64]:
        return _answers(made[agent], called[agent], own, games.seeds)

    def answer(decisions: Decisions) -> npt.NDArray[np.uint8]:
        np.add(asked, games.active, out=asked)
        owners = line_ups[playing[decisions.game], decisions.seat]
        answers = ask_owners(decisions, owners, ask).astype(np.uint8)
        if watcher is not None:
            watcher.before(games, playing, decisions, answers)
        return answers

    for over in play_on(games, answer):
        if progress is not None and time.monotonic() >= next_report:
            next_report = time.monotonic() + SECONDS_BETWEEN_REPORTS
            reported = max(reported, finished + float(_played_part(games)[busy].sum()))
            progress(reported, number)
        if not over.size:
            continue
        if watcher is not None:
            watcher.after(games, playing, over)
        results.enter(playing[over], games, over, asked[over])
        finished += over.size
        again = over[: number - started]  # these slots go on with the next games
        playing[again] = np.arange(started, started + again.size)
        busy[over[again.size :]] = False
        asked[over] = 0
        if again.size:
            games.reset(seeds[playing[again]], index=again)
        started += again.size
    if progress is not None:
        progress(number, number)
    return results


def _played_part(games: MegalandGames) -> npt.NDArray[np.float64]:
    """(N,) which part of each game is played, about.

    The richest player's coins grow with the square of the decision moments, measured with random agents, threshold and
    planner, until they end the game (rule N5).
    """
    part: npt.NDArray[np.float64] = np.sqrt(np.minimum(games.coins.max(axis=1) / WINNING_COINS, 1.0))
    return part


def agent_name(agent: str | Agent) -> str:
    """What an agent is called in tables: its description, or the name of its class."""
    return agent if isinstance(agent, str) else type(agent).__name__


def _checked(
    config: MegalandConfig, number_of_agents: int, line_ups: npt.ArrayLike, seeds: npt.ArrayLike
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    lines, words = np.asarray(line_ups), np.atleast_1d(rng.as_words(seeds))
    if lines.ndim != 2 or lines.shape[1] != config.num_players or not lines.size or lines.dtype.kind not in "iu":
        raise ValueError(f"line_ups must be integers (games, {config.num_players}), not {lines.dtype} {lines.shape}")
    if words.shape != lines.shape[:1]:
        raise ValueError(f"seeds must be ({len(lines)},), one for each game, not of shape {words.shape}")
    if not (lines.min() >= 0 and lines.max() < number_of_agents):
        raise ValueError(f"line_ups must name agents by their positions 0 to {number_of_agents - 1}")
    return words, lines.astype(np.int64)


def _answers(agent: Agent, name: str, decisions: Decisions, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """(M,) the agent's answers, known to be legal."""
    own = decisions[np.arange(len(decisions))]  # what it writes there changes nothing here
    try:
        given = np.asarray(agent.act(own))
    except (Exception, SystemExit) as error:
        where = _describe(_failing(agent, decisions), seeds)
        raise AgentError(f"agent {name!r} raised {type(error).__name__}: {error}; it was asked {where}") from error
    try:
        answers = one_integer_each(given, len(decisions), f"agent {name!r}")
    except ValueError as error:
        raise AgentError(f"{error}; the first is {_describe(decisions[:1], seeds)}") from None
    exists = (answers >= 0) & (answers < NUM_ACTIONS)
    legal = exists & (decisions.legal_bits >> np.where(exists, answers, 0).astype(np.uint64) & np.uint64(1) == 1)
    if not legal.all():
        row = int(np.flatnonzero(~legal)[0])
        action = int(answers[row])
        said = action_name(action) if exists[row] else "which does not exist"
        raise AgentError(
            f"agent {name!r} chose action {action} ({said}), which is not legal in {_describe(decisions[[row]], seeds)}"
        )
    return answers


def _failing(agent: Agent, decisions: Decisions) -> Decisions:
    """One of the rows that an agent fails on even when asked that alone; all of them if none is found."""
    suspects = np.arange(len(decisions))
    while suspects.size > 1:
        for half in np.array_split(suspects, 2):
            try:
                agent.act(decisions[half])
            except (Exception, SystemExit):
                suspects = half
                break
        else:
            return decisions
    return decisions[suspects]


def _describe(decisions: Decisions, seeds: npt.NDArray[np.uint64]) -> str:
    """The first of the decisions in words."""
    game, seat = int(decisions.game[0]), int(decisions.seat[0])
    legal = ", ".join(action_name(int(action)) for action in np.flatnonzero(decisions.legal[0]))
    more = f" and {len(decisions) - 1} more" if len(decisions) > 1 else ""
    kind = Kind(int(decisions.kind[0])).label
    return f"the decision {kind!r} of seat {seat} in the game of seed {seeds[game]} (legal: {legal}){more}"
