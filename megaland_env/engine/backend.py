"""The one way from the games to the rules: ``begin`` starts games, ``answer`` carries out decisions.

Both play on until each game waits for a decision or is over. Another implementation of the rules has to provide the
functions of this module, and nothing else.
"""

from __future__ import annotations

import numpy as np

from megaland_env.actions import Kind
from megaland_env.arrays import Bytes, Ints, Words
from megaland_env.engine.rules import ANSWERS, ASKING, RULES, play_on
from megaland_env.engine.rules.flow import Answer, Moves
from megaland_env.engine.rules.setup import new_games
from megaland_env.engine.state import GameState

__all__ = ["Moves", "answer", "ask", "begin", "play_on"]

_ANSWERS: list[Answer] = [ANSWERS[max(kind, Kind.JUMP)] for kind in Kind]  # by number; a finished game gives no answer


def begin(state: GameState, games: Ints, seeds: Words) -> None:
    """Start games and play them to their first decision.

    Args:
        state: the batch; all entries of ``games`` are overwritten.
        games: (n,) positions of the games to start.
        seeds: (n,) uint64.
    """
    play_on(state, new_games(state, games, seeds))


def answer(state: GameState, games: Ints, kinds: Bytes, chosen: Bytes) -> None:
    """Carry out the decisions of games that wait for one, and play on to the next.

    Args:
        state: the batch; nobody is marked as active in ``games`` any more.
        games: (n,) positions of the games, none of which is over.
        kinds: (n,) the ``Kind`` of decision each of them waited for.
        chosen: (P, n) the action of each seat, all legal; PASS for a seat that was not asked.
    """
    if games.size == 1:
        play_on(state, _ANSWERS[int(kinds[0])](state, games, chosen))
        return
    order = kinds.argsort(kind="stable")
    games, chosen = games.take(order), chosen.take(order, axis=1)
    moves: Moves = []
    end = 0
    for kind, number in enumerate(np.bincount(kinds)):
        if number:
            start, end = end, end + number
            moves += _ANSWERS[kind](state, games[start:end], chosen[:, start:end])
    play_on(state, moves)


def ask(state: GameState, games: Ints, kind: Kind) -> None:
    """Ask for a decision again in games whose state stands just before it, without playing on.

    Where the rules ask nobody for this kind of decision, ``state.kind`` stays as it is.

    Args:
        state: the batch.
        games: (n,) positions of the games.
        kind: the kind of decision; not ``NONE``.
    """
    RULES[ASKING[kind]](state, games)
