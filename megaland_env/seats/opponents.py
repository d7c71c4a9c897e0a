"""The players of all seats but the learner's: one agent for all, one for each seat, or a weighted pool.

``Opponents`` describes who may get which seat, and ``Seating`` holds who has which seat in the current games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.agent import Agent, make_agent
from megaland_env.decisions import Decisions
from megaland_env.engine import rng
from megaland_env.errors import IllegalActionError
from megaland_env.seats.asking import answers_of, ask_agents

OpponentSpec = (
    str
    | Agent
    | Sequence[str | Agent]
    | Sequence[tuple[str | Agent, float]]
    | Mapping[str, float]
    | Mapping[Agent, float]
)
"""Type of the argument ``opponents`` of the environments; ``Opponents.of`` explains the forms."""

LEARNER = -1
"""Stands for the learner where a seat has the number of an agent."""

LEARNER_NAME = "learner"
"""Name of the learner when a game is shown."""


@dataclass(frozen=True)
class Opponents:
    """The agents that may play, and how they get their seats.

    Attributes:
        agents: the agents.
        weights: weight of each agent in the draw for a seat; ``None`` if agent k sits k + 1 places to the left of the
            learner.
        same_opponent_share: share of the games in which one agent, drawn once, has all the other seats.
        names: names of the agents when a game is shown; by default those of their classes.
    """

    agents: tuple[Agent, ...]
    weights: tuple[float, ...] | None
    same_opponent_share: float = 0.0
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", tuple(map(_name_of, self.agents)))

    @classmethod
    def of(cls, spec: OpponentSpec | Opponents) -> Opponents:
        """Make it from one of these descriptions, in which an agent is an object or a name for ``make_agent``.

        - an agent: it plays all the other seats;
        - a sequence of P - 1 agents: one for each other seat, clockwise from the learner;
        - a mapping of agents to weights, or a sequence of pairs (agent, weight): one of them is drawn for each seat of
          each game, in proportion to the weights.

        A name that occurs twice stands for one agent, which is asked once for all its seats.

        Raises:
            ValueError: there is no such agent, no agent is named, or the weights are negative, infinite or all 0.
        """
        if isinstance(spec, Opponents):
            return spec
        if isinstance(spec, str) or not isinstance(spec, (Mapping, Sequence)):
            return cls((make_agent(spec),), (1.0,), names=(_name_of(spec),))
        entries: list[Any] = list(spec.items()) if isinstance(spec, Mapping) else list(spec)
        if not entries:
            raise ValueError("opponents names nobody")
        if not all(_is_weighted(entry) for entry in entries):
            return cls(_make_each(entries), None, names=tuple(map(_name_of, entries)))
        weights = tuple(float(weight) for _, weight in entries)
        if not (all(0 <= weight < np.inf for weight in weights) and sum(weights) > 0):
            raise ValueError(f"the weights of opponents are {weights}; none may be below 0, and one must be above")
        agents = [agent for agent, _ in entries]
        return cls(_make_each(agents), weights, names=tuple(map(_name_of, agents)))

    def check_table(self, num_players: int) -> None:
        """Check that the opponents can fill a table.

        Raises:
            ValueError: there is one for each seat, and their number is not P - 1.
        """
        if self.weights is None and len(self.agents) != num_players - 1:
            number = len(self.agents)
            raise ValueError(f"opponents names {number} agents; a table of {num_players} needs {num_players - 1}")

    def draw(
        self, seeds: npt.NDArray[np.uint64], learner: npt.NDArray[np.int64], num_players: int
    ) -> npt.NDArray[np.int64]:
        """Draw the players of games with the seeds ``seeds`` (n,) and the learner in the seats ``learner`` (n,).

        Returns:
            (P, n) numbers of ``agents``, and ``LEARNER`` at the learner's seat.
        """
        seats = np.arange(num_players)[:, None]
        places = (seats - learner) % num_players  # 0 is the learner
        if self.weights is None:
            return places - 1
        if len(self.agents) == 1:
            return np.where(places > 0, 0, LEARNER)
        bounds = np.cumsum(self.weights)
        shares = np.stack([_share(seeds, seat) for seat in range(num_players)])
        if self.same_opponent_share:
            shares = np.where(_share(seeds, num_players) < self.same_opponent_share, shares[0], shares)
        drawn = np.searchsorted(bounds, shares * bounds[-1], side="right")
        return np.where(places > 0, drawn, LEARNER)


class Seating:
    """The players of the seats of N games. The players of a game stay the same until it is over.

    Args:
        num_players: number of players (P).
        num_games: number of games (N).
        opponents: the opponents in games that start later.

    Attributes:
        agents: the agents that have a seat or may get one.
        names: names of ``agents``.
        player: (P, N) int16, the number of the agent in each seat, or ``LEARNER``.

    Raises:
        ValueError: the opponents cannot fill a table of this size.
    """

    def __init__(self, num_players: int, num_games: int, opponents: Opponents) -> None:
        self.agents: tuple[Agent, ...] = ()
        self.names: tuple[str, ...] = ()
        self.player = np.full((num_players, num_games), LEARNER, np.int16)
        self.set_opponents(opponents)

    def set_opponents(self, opponents: Opponents) -> None:
        """Change the opponents in games that start later.

        Raises:
            ValueError: they cannot fill a table of this size; nothing has changed.
        """
        opponents.check_table(len(self.player))
        # Earlier agents are kept if they still have a seat. The number of an agent is its position, so it changes.
        seated = np.unique(self.player[self.player != LEARNER])
        agents = [self.agents[number] for number in seated]
        names = [self.names[number] for number in seated]
        for agent, name in zip(opponents.agents, opponents.names, strict=True):
            if not any(agent is other for other in agents):
                agents.append(agent)
                names.append(name)
        numbers = np.full(len(self.agents) + 1, LEARNER, np.int16)
        numbers[seated] = np.arange(seated.size)
        self.player = numbers[self.player]  # LEARNER is -1, the index of the last entry
        self.agents = tuple(agents)
        self.names = tuple(names)
        self._opponents = opponents
        self._numbers = np.array([*(_position(agent, agents) for agent in opponents.agents), LEARNER])

    def seat(self, games: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64], learner: npt.NDArray[np.int64]) -> None:
        """Draw the players of new games at ``games`` (n,), with these seeds (n,) and seats of the learner (n,)."""
        self.player[:, games] = self._numbers[self._opponents.draw(seeds, learner, len(self.player))]

    def names_at(self, game: int) -> list[str]:
        """(P,) names of the players of one game; the learner is called ``LEARNER_NAME``."""
        return [LEARNER_NAME if number == LEARNER else self.names[number] for number in self.player[:, game].tolist()]

    def naming(self, error: IllegalActionError) -> IllegalActionError:
        """Add the name of the opponent to its error for an illegal action; an error of the learner stays as it is."""
        number = int(self.player[error.seat, error.game])
        if number == LEARNER:
            return error
        message = f"opponent {self.names[number]!r}: {error}"
        return IllegalActionError(message, error.game, error.seat, error.action, error.legal)

    def answers(self, decisions: Decisions, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Ask the agents for their actions (M,), each once with all its decisions. Only the engine checks legality.

        Args:
            decisions: M decisions, none of the learner.
            at: (M,) positions of the seats in a flattened (P, N) array.

        Raises:
            ValueError: an agent did not return one integer for each decision.
        """
        if len(self.agents) == 1:
            return answers_of(self.agents[0], decisions)
        return ask_agents(self.agents, decisions, self.player.reshape(-1).take(at))

    def restore(self, player: npt.ArrayLike, agents: Sequence[Agent]) -> None:
        """Restore ``player`` and ``agents`` of current games. The opponents in games that start later stay the same."""
        known = dict(zip(map(id, self.agents), self.names, strict=True))
        self.player[:] = player
        self.agents = tuple(agents)
        self.names = tuple(known.get(id(agent), _name_of(agent)) for agent in agents)
        self.set_opponents(self._opponents)


def _share(seeds: npt.NDArray[np.uint64], seat: int) -> npt.NDArray[np.float64]:
    """(n,) numbers from 0 to 1, one for each game."""
    words = rng.mix(seeds, rng.Purpose.OPPONENT, seat=seat) >> np.uint64(11)
    return words.astype(np.float64) * 2.0**-53


def _name_of(agent: str | Agent) -> str:
    return agent if isinstance(agent, str) else type(agent).__name__


def _position(agent: Agent, agents: Sequence[Agent]) -> int:
    return next(position for position, other in enumerate(agents) if other is agent)


def _make_each(entries: Sequence[str | Agent]) -> tuple[Agent, ...]:
    named = {entry: make_agent(entry) for entry in entries if isinstance(entry, str)}
    return tuple(named[entry] if isinstance(entry, str) else make_agent(entry) for entry in entries)


def _is_weighted(entry: Any) -> bool:
    """Whether an entry is a pair of an agent and its weight."""
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Real)
