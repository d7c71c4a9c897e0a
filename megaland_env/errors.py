"""The errors of the engine that have a name of their own."""

from __future__ import annotations


class IllegalActionError(ValueError):
    """An action that the rules do not allow; nothing has changed.

    Attributes:
        game: position in the batch.
        seat: the seat that chose it.
        action: its number.
        legal: the names of the actions that are legal for the seat.
    """

    def __init__(self, message: str, game: int, seat: int, action: int, legal: list[str]) -> None:
        super().__init__(message)
        self.game = game
        self.seat = seat
        self.action = action
        self.legal = legal
