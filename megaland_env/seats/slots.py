"""``Slots``: places where one game follows the other, with the seeds of the games and the players of their seats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.agent import Agent
from megaland_env.checks import is_integer
from megaland_env.engine import rng
from megaland_env.seats.opponents import LEARNER, Opponents, Seating

Ints = npt.NDArray[np.int64]


def blocks_of(num_slots: int, num_configs: int) -> list[slice]:
    """The slots of each configuration, one block after the other, as even as they can be.

    Raises:
        ValueError: there are more configurations than slots, or none.
    """
    if not 1 <= num_configs <= num_slots:
        raise ValueError(f"{num_slots} games cannot be shared out among {num_configs} configurations")
    bounds = [num_slots * block // num_configs for block in range(num_configs + 1)]
    return [slice(begin, end) for begin, end in pairwise(bounds)]


class EpisodeSeeds:
    """The seeds of the games that follow each other in N slots (rng.py).

    Attributes:
        seeds: (N,) uint64, the seed that each slot was last reset with.
        episodes: (N,) int64, the number of games that each slot has finished since.
    """

    def __init__(self, num_slots: int) -> None:
        self.seeds = np.zeros(num_slots, np.uint64)
        self.episodes = np.zeros(num_slots, np.int64)

    def reset(self, slots: Ints, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Give ``slots`` (n,) new seeds (n,); returns the seeds (n,) of their first games."""
        self.seeds[slots] = seeds
        self.episodes[slots] = 0
        return self._of_games(slots)

    def next(self, slots: Ints) -> npt.NDArray[np.uint64]:
        """Go on to the next games of ``slots`` (n,); returns the seeds (n,) of these games."""
        self.episodes[slots] += 1
        return self._of_games(slots)

    def _of_games(self, slots: Ints) -> npt.NDArray[np.uint64]:
        return rng.episode_seeds(self.seeds[slots], self.episodes[slots])


class Slots:
    """N slots, in each of whose games one seat is the learner's; knows no rules, and plays nothing.

    Which game begins, whose seat is whose: all of it follows from the seed that a slot was reset with, and from how
    many games it has finished since (rng.py).

    Args:
        num_players: P, the seats of each game.
        num_slots: number of slots (N).
        opponents: of the games to come.
        seat: the learner's in every game; ``None`` draws it for each game.

    Attributes:
        seats: (N,) int64, the learner's seat in each game.
        seating: who has the others.

    Raises:
        ValueError: the opponents cannot fill such a table.
    """

    def __init__(self, num_players: int, num_slots: int, opponents: Opponents, seat: int | None = None) -> None:
        self._num_players = num_players
        self._fixed_seat = seat
        self._episodes = EpisodeSeeds(num_slots)
        self.seats = np.zeros(num_slots, np.int64)
        self.seating = Seating(num_players, num_slots, opponents)

    def reset(self, slots: Ints, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Give ``slots`` (n,) new seeds (n,), and seat the players; returns the seeds (n,) of their first games."""
        return self._seat(slots, self._episodes.reset(slots, seeds))

    def restart(self, slots: Ints) -> npt.NDArray[np.uint64]:
        """Go on to the next games of ``slots`` (n,), and seat the players; returns the seeds (n,) of these games."""
        return self._seat(slots, self._episodes.next(slots))

    def _seat(self, slots: Ints, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        if self._fixed_seat is None:
            self.seats[slots] = rng.choose(rng.mix(seeds, rng.Purpose.LEARNER), self._num_players)
        else:
            self.seats[slots] = self._fixed_seat
        self.seating.seat(slots, seeds, self.seats[slots])
        return seeds

    def snapshot(self) -> dict[str, Any]:
        """Everything but the agents, as a dict that ``json.dumps`` takes."""
        return {
            "slot_seeds": self._episodes.seeds.tolist(),
            "episodes": self._episodes.episodes.tolist(),
            "seats": self.seats.tolist(),
            "players": self.seating.player.tolist(),
        }

    def restore(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> None:
        """Go back to where ``snapshot`` was made.

        Args:
            snapshot: of as many slots at tables of the same size; what else is in it is left alone.
            agents: the ``seating.agents`` of that moment.

        Raises:
            ValueError: the snapshot is not of such slots; nothing has changed.
        """
        self.prepared(snapshot, agents)()

    def prepared(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> Callable[[], None]:
        """Check everything that ``restore`` takes, and return what is then left to do, which cannot fail."""
        number = self.seats.shape
        seeds = _checked(snapshot, "slot_seeds", number, 0, 2**64 - 1).astype(np.uint64)
        episodes = _checked(snapshot, "episodes", number, 0, 2**62).astype(np.int64)
        seats = _checked(snapshot, "seats", number, 0, self._num_players - 1).astype(np.int64)
        player = _checked(snapshot, "players", self.seating.player.shape, LEARNER, len(agents) - 1).astype(np.int16)
        at_learner = np.arange(self._num_players)[:, None] == seats
        if ((player == LEARNER) != at_learner).any():
            raise ValueError("players: the learner's seat, and no other, must be the learner's")

        def restore() -> None:
            self._episodes.seeds[:] = seeds
            self._episodes.episodes[:] = episodes
            self.seats[:] = seats
            self.seating.restore(player, agents)

        return restore


def _checked(snapshot: Mapping[str, Any], name: str, shape: tuple[int, ...], low: int, high: int) -> npt.NDArray[Any]:
    """An array of integers of a snapshot, if it is one of the right shape and range."""
    array = np.array(snapshot[name], np.uint64 if _are_words(snapshot[name]) else None)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers of shape {shape}, not {array.dtype} of shape {array.shape}")
    if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
        raise ValueError(f"{name} must be from {low} to {high}, not from {array.min()} to {array.max()}")
    return array


def _are_words(values: Any) -> bool:
    """Whether these are seeds, which NumPy would take for floats when some of them do not fit in 63 bits."""
    return isinstance(values, list) and all(is_integer(value) and 0 <= value < 2**64 for value in values)
