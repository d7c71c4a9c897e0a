"""Exceptions of the engine.

Exceptions cross process boundaries: Gymnasium's ``AsyncVectorEnv``, ``multiprocessing.Pool`` and Ray pickle them, and
some rebuild them from the message alone. Every exception of this project can therefore be made from one string, and
keeps its attributes in ``__dict__``, which pickle and ``copy`` preserve.
"""

from __future__ import annotations

from collections.abc import Sequence

from megaland_env.actions import NUM_ACTIONS, action_name


class IllegalActionError(ValueError):
    """An illegal action was chosen; no game has changed.

    Attributes:
        game: position of the game in the batch.
        seat: the seat that chose the action.
        action: number of the action.
        legal: names of the actions that are legal for the seat.

    In an error made from the message alone (``type(error)(str(error))``) the numbers are -1 and ``legal`` is empty.
    """

    def __init__(
        self,
        message: str,
        game: int = -1,
        seat: int = -1,
        action: int = -1,
        legal: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.game = game
        self.seat = seat
        self.action = action
        self.legal = list(legal)


def illegal_action(situation: str, game: int, seat: int, action: int, legal: Sequence[int]) -> IllegalActionError:
    """The error for an action that is not legal; its message names the action and the legal ones.

    Args:
        situation: who was asked for what, the beginning of the message.
        game: position in the batch.
        seat: the seat that chose the action.
        action: its number, whether there is such an action or not.
        legal: the numbers of the legal actions.
    """
    exists = 0 <= action < NUM_ACTIONS
    name = f"{action} ({action_name(action)})" if exists else f"{action}, which is not one of 0..{NUM_ACTIONS - 1},"
    names = [action_name(number) for number in legal]
    message = f"{situation}: action {name} is not legal; legal are {', '.join(names)}"
    return IllegalActionError(message, game, seat, action, names)
