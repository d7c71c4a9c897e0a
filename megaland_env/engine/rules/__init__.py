"""The rules of Megaland, one module per chapter: setup.py (S), treasure.py (D), level.py (L), buy.py (B), night.py (N).

``RULES`` has the function of each stage, ``ANSWERS`` the function that carries out each kind of decision. ``play_on``
runs stages until each game of a batch waits for its next decision.
"""

from __future__ import annotations

import numpy as np

from megaland_env.actions import Kind
from megaland_env.arrays import Ints
from megaland_env.engine.rules import buy, level, night
from megaland_env.engine.rules.flow import Answer, Moves, Rule, Stage
from megaland_env.engine.state import GameState

RULES: dict[Stage, Rule] = {
    Stage.ENTER: level.enter,
    Stage.STABLES: level.stables,
    Stage.DRAW: level.draw_inside,
    Stage.BEFORE_CARD: level.before_card,
    Stage.REVEAL: level.reveal,
    Stage.HUTS: level.huts,
    Stage.LABORATORIES: level.laboratories,
    Stage.RABBIT: level.meet_rabbit,
    Stage.STAY_OR_LEAVE: level.stay_or_leave,
    Stage.BEGIN_BUYING: buy.begin,
    Stage.END_TURN: buy.end_turn,
    Stage.TURN: buy.turn,
    Stage.PAYMENT: buy.payment,
    Stage.PURCHASE: buy.purchase,
    Stage.ARCADES: buy.arcades,
    Stage.NIGHT: night.night,
    Stage.STORING: night.storing,
    Stage.MOON: night.moon,
}

ANSWERS: dict[Kind, Answer] = {
    Kind.JUMP: level.jump,
    Kind.HERB_HUT: level.keep_one,
    Kind.RABBIT: level.trade,
    Kind.RUN: level.run,
    Kind.REPTILE: level.swap,
    Kind.BUY: buy.buy,
    Kind.PAY: buy.pay,
    Kind.STORE: night.store_one,
}

ASKING: dict[Kind, Stage] = {
    Kind.JUMP: Stage.BEFORE_CARD,
    Kind.HERB_HUT: Stage.HUTS,
    Kind.RABBIT: Stage.RABBIT,
    Kind.RUN: Stage.STAY_OR_LEAVE,
    Kind.REPTILE: Stage.STABLES,
    Kind.BUY: Stage.TURN,
    Kind.PAY: Stage.PAYMENT,
    Kind.STORE: Stage.STORING,
}
"""The stage that asks for each kind of decision."""


def play_on(state: GameState, moves: Moves) -> None:
    """Run stages until each of the games waits for a decision or is over."""
    waiting: dict[Stage, list[Ints]] = {}
    while True:
        for stage, games in moves:
            if games.size:
                waiting.setdefault(stage, []).append(games)
        if not waiting:
            return
        earliest = min(waiting)
        parts = waiting.pop(earliest)
        moves = RULES[earliest](state, parts[0] if len(parts) == 1 else np.concatenate(parts))
