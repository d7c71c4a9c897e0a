"""Who plays the seats that the learner does not: one agent for all, one for each seat, or a weighted pool.

``Opponents`` says who may sit where, ``Seating`` who sits where in the games that run.
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
"""What an environment takes as ``opponents``; ``Opponents.of`` says what it means."""

LEARNER = -1
"""In the place of an agent's number: the seat is the learner's."""

LEARNER_NAME = "learner"
"""What the learner is called where a game is shown."""


@dataclass(frozen=True)
class Opponents:
    """The agents, and how they come to their seats.

    Attributes:
        agents: who may play.
        weights: how likely each is at each seat; ``None`` if agent k sits k + 1 places to the left of the learner.
        same_opponent_share: share of the games in which one agent, drawn once, has all the other seats.
        names: what the agents are called where a game is shown; by default the names of their classes.
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
        """From one of these descriptions, in which an agent is an object or a name for ``make_agent``.

        - an agent: it plays all the other seats;
        - a sequence of P - 1 agents: one for each other seat, clockwise from the learner;
        - a mapping of agents to weights, or a sequence of pairs (agent, weight): for each seat of each game one of them
          is drawn, in proportion to the weights.

        A name that stands there twice is one agent, asked once for all its seats.

        Raises:
            ValueError: there is no such agent, nobody is named, or the weights are not such numbers.
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
        """Whether they can fill a table.

        Raises:
            ValueError: they are named seat by seat, and there are not P - 1 of them.
        """
        if self.weights is None and len(self.agents) != num_players - 1:
            number = len(self.agents)
            raise ValueError(f"opponents names {number} agents; a table of {num_players} needs {num_players - 1}")

    def draw(
        self, seeds: npt.NDArray[np.uint64], learner: npt.NDArray[np.int64], num_players: int
    ) -> npt.NDArray[np.int64]:
        """Who plays which seat in the games of ``seeds`` (n,), where the learner has the seat ``learner`` (n,).

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
    """Who sits where in N games of P seats; each game keeps whom it began with.

    Args:
        num_players: P.
        num_games: N.
        opponents: of the games to come.

    Attributes:
        agents: who has a seat or may get one.
        names: what each of ``agents`` is called.
        player: (P, N) int16, which of ``agents`` has the seat, or ``LEARNER``.

    Raises:
        ValueError: the opponents cannot fill such a table.
    """

    def __init__(self, num_players: int, num_games: int, opponents: Opponents) -> None:
        self.agents: tuple[Agent, ...] = ()
        self.names: tuple[str, ...] = ()
        self.player = np.full((num_players, num_games), LEARNER, np.int16)
        self.set_opponents(opponents)

    def set_opponents(self, opponents: Opponents) -> None:
        """Change who plays in the games to come.

        Raises:
            ValueError: they cannot fill such a table; nothing has changed.
        """
        opponents.check_table(len(self.player))
        # Of the agents so far those are kept who still sit somewhere; an agent's number is its position, so it changes.
        seated = np.unique(self.player[self.player != LEARNER])
        agents = [self.agents[number] for number in seated]
        names = [self.names[number] for number in seated]
        for agent, name in zip(opponents.agents, opponents.names, strict=True):
            if not any(agent is other for other in agents):
                agents.append(agent)
                names.append(name)
        numbers = np.full(len(self.agents) + 1, LEARNER, np.int16)
        numbers[seated] = np.arange(seated.size)
        self.player = numbers[self.player]  # LEARNER is -1, and so finds the last entry
        self.agents = tuple(agents)
        self.names = tuple(names)
        self._opponents = opponents
        self._numbers = np.array([*(_position(agent, agents) for agent in opponents.agents), LEARNER])

    def seat(self, games: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64], learner: npt.NDArray[np.int64]) -> None:
        """Fill the tables of ``games`` (n,), whose seeds and learner's seats are given, for new games."""
        self.player[:, games] = self._numbers[self._opponents.draw(seeds, learner, len(self.player))]

    def names_at(self, game: int) -> list[str]:
        """(P,) who plays each seat of one game; the learner is called ``LEARNER_NAME``."""
        return [LEARNER_NAME if number == LEARNER else self.names[number] for number in self.player[:, game].tolist()]

    def naming(self, error: IllegalActionError) -> IllegalActionError:
        """The error for an illegal action, with the name of the opponent that chose it; the learner has none."""
        number = int(self.player[error.seat, error.game])
        if number == LEARNER:
            return error
        message = f"opponent {self.names[number]!r}: {error}"
        return IllegalActionError(message, error.game, error.seat, error.action, error.legal)

    def answers(self, decisions: Decisions, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """(M,) what the agents choose; each is asked once, with all its decisions.

        Whether the choices are legal is for the engine to say.

        Args:
            decisions: M of them, none of the learner.
            at: (M,) where their seats lie in a flattened (P, N) array.

        Raises:
            ValueError: an agent answered with something else than an integer for each decision.
        """
        if len(self.agents) == 1:
            return answers_of(self.agents[0], decisions)
        return ask_agents(self.agents, decisions, self.player.reshape(-1).take(at))

    def restore(self, player: npt.ArrayLike, agents: Sequence[Agent]) -> None:
        """Go back to where ``player`` and ``agents`` were; who plays in games to come is as it is here."""
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
    """Whether an entry is an agent with its weight rather than an agent."""
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Real)
