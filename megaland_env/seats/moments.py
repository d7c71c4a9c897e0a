"""Play batches of games on, one decision moment after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.actions import Kind
from megaland_env.decisions import Decisions
from megaland_env.engine.state import indices_where
from megaland_env.game import MegalandGames

Ints = npt.NDArray[np.int64]

Answer = Callable[[Decisions], npt.NDArray[Any]]
"""Called with all decisions of a moment (M rows); returns the actions (M,)."""


def carry_out(games: MegalandGames, decisions: Decisions, actions: npt.NDArray[Any]) -> Ints:
    """Carry out the actions (M,) for all decisions of a moment, and return the games (n,) that end with it.

    Args:
        games: the batch. Games that were over before stay as they are.
        decisions: ``games.decisions()``, M rows.
        actions: (M,) integers.

    Raises:
        IllegalActionError: an action is not legal; nothing has changed.
    """
    ran = games.kind != Kind.NONE
    games.step(games.scatter(decisions, actions))
    return indices_where(ran & (games.kind == Kind.NONE))


def play_on(games: MegalandGames, answer: Answer) -> Iterator[Ints]:
    """Play until all games are over; after each moment the games (n,) that have just ended are yielded.

    Before the iteration goes on, other games may be started in their place with ``games.reset``.
    """
    while len(decisions := games.decisions()):
        yield carry_out(games, decisions, answer(decisions))
