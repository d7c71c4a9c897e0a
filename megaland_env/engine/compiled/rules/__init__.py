"""The rules for one game, one module per chapter as in ``engine/rules/``.

``play_on`` runs stages until the game waits for its next decision, or is over; ``answer`` carries out a decision.
"""

from __future__ import annotations

import numpy as np

from megaland_env.actions import Kind
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules import buy, level, night
from megaland_env.engine.compiled.rules.flow import WAIT
from megaland_env.engine.rules.flow import Stage


@compiled
def answer(memory: Memory, game: int, kind: int, chosen: np.uint64) -> int:
    """Carry out a decision.

    Args:
        memory: the batch.
        game: the game.
        kind: the kind of decision that it waited for.
        chosen: the actions (flow.py).

    Returns:
        The stage with which the game goes on.
    """
    if kind == Kind.RUN:
        return level.run(memory, game, chosen)
    if kind == Kind.BUY:
        return buy.buy(memory, game, chosen)
    if kind == Kind.PAY:
        return buy.pay(memory, game, chosen)
    if kind == Kind.STORE:
        return night.store_one(memory, game, chosen)
    if kind == Kind.JUMP:
        return level.jump(memory, game, chosen)
    if kind == Kind.HERB_HUT:
        return level.keep_one(memory, game, chosen)
    if kind == Kind.RABBIT:
        return level.trade(memory, game, chosen)
    return level.swap(memory, game, chosen)


@compiled
def play_on(memory: Memory, game: int, stage: int) -> None:
    """Run stages until the game waits for a decision or is over."""
    while stage != WAIT:
        if stage == Stage.DRAW:
            stage = level.draw_inside(memory, game)
        elif stage == Stage.BEFORE_CARD:
            stage = level.before_card(memory, game)
        elif stage == Stage.REVEAL:
            stage = level.reveal(memory, game)
        elif stage == Stage.STAY_OR_LEAVE:
            stage = level.stay_or_leave(memory, game)
        elif stage == Stage.HUTS:
            stage = level.huts(memory, game)
        elif stage == Stage.LABORATORIES:
            stage = level.laboratories(memory, game)
        elif stage == Stage.RABBIT:
            stage = level.meet_rabbit(memory, game)
        elif stage == Stage.STABLES:
            stage = level.stables(memory, game)
        elif stage == Stage.BEGIN_BUYING:
            stage = buy.begin(memory, game)
        elif stage == Stage.TURN:
            stage = buy.turn(memory, game)
        elif stage == Stage.PAYMENT:
            stage = buy.payment(memory, game)
        elif stage == Stage.PURCHASE:
            stage = buy.purchase(memory, game)
        elif stage == Stage.END_TURN:
            stage = buy.end_turn(memory, game)
        elif stage == Stage.ARCADES:
            stage = buy.arcades(memory, game)
        elif stage == Stage.NIGHT:
            stage = night.night(memory, game)
        elif stage == Stage.STORING:
            stage = night.storing(memory, game)
        elif stage == Stage.MOON:
            stage = night.moon(memory, game)
        else:
            stage = level.enter(memory, game)
