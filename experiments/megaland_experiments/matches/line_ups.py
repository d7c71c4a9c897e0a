"""The line-ups of a tournament, and who sits in which seat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

PAIRS = "pairs"
MIXED = "mixed"
KINDS = (PAIRS, MIXED)


@dataclass(frozen=True)
class LineUp:
    """P agents at a table, in every seat equally often.

    Each seed is played P times, and each time everybody moves on by one seat. So all sit in every seat equally often,
    with the same market and the same level cards, and an advantage that a seed gives to a seat goes to all in turn.

    Attributes:
        agents: (P,) their positions in the list of agents, in increasing order.
        kinds: the kinds of line-up that it counts for.
        orders: the orders around the table, each to the left of the one before; the seeds take them in turn.
    """

    agents: tuple[int, ...]
    kinds: tuple[str, ...]
    orders: tuple[tuple[int, ...], ...]

    @property
    def num_players(self) -> int:
        """Number of players (P)."""
        return len(self.agents)

    def counts(self) -> Counter[int]:
        """Number of seats of each agent."""
        return Counter(self.agents)

    def lone(self) -> list[tuple[int, int]]:
        """Pairs (agent, opponent) of an agent alone against P - 1 of another; at a table of two there are two pairs."""
        counts = self.counts()
        if len(counts) != 2:
            return []
        one, other = counts
        return [pair for pair in ((one, other), (other, one)) if counts[pair[0]] == 1]

    def name(self, names: Sequence[str]) -> str:
        """Name of the line-up, such as ``"threshold + 3 random"``, fewest seats first."""
        ordered = sorted(self.counts().items(), key=lambda item: (item[1], item[0]))
        return " + ".join(names[agent] if count == 1 else f"{count} {names[agent]}" for agent, count in ordered)

    def seats(self, first: int, number: int) -> npt.NDArray[np.int64]:
        """Agents (number * P, P) in the seats, for ``number`` seeds from position ``first`` on, P games each."""
        orders = np.array(self.orders)[(first + np.arange(number)) % len(self.orders)]
        seated = orders[:, rotations(self.num_players)]  # (seed, rotation, seat)
        return seated.reshape(-1, self.num_players)


def rotations(players: int) -> npt.NDArray[np.int64]:
    """Participants (P, P) by rotation and seat: in rotation k, participant j has the seat j + k (mod P)."""
    return (np.arange(players) - np.arange(players)[:, None]) % players


def make_line_ups(num_agents: int, players: int, kinds: Sequence[str] = KINDS) -> list[LineUp]:
    """Make the line-ups of some kinds at a table of P. One that is of two kinds is played once, and counts for both.

    - ``pairs``: for every two agents, one of the first against P - 1 of the second, and the reverse.
    - ``mixed``: every choice of P different agents. If there are fewer agents than seats, all of them sit at every
      table, once or once more as evenly as possible, and there is a line-up for each choice of those who sit there once
      more: three agents at a table of four make AABC, ABBC and ABCC.
    """
    found: dict[tuple[int, ...], list[str]] = {}
    if PAIRS in kinds:
        for one, other in combinations(range(num_agents), 2):
            for line_up in ((one, *[other] * (players - 1)), (*[one] * (players - 1), other)):
                found.setdefault(line_up, [PAIRS])
    if MIXED in kinds:
        everyone, more = divmod(players, num_agents)
        for once_more in combinations(range(num_agents), more):
            line_up = tuple(sorted([*range(num_agents)] * everyone + [*once_more]))
            found.setdefault(line_up, []).append(MIXED)
    return [LineUp(agents, tuple(kinds_of), circles(agents)) for agents, kinds_of in found.items()]


def circles(agents: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """All orders of different agents around a table, each once; the first agent begins each of them."""
    first, *others = agents
    return tuple((first, *order) for order in sorted(set(permutations(others))))
