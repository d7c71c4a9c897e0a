"""Phase 3: night (rules N), and the cut-off (D4)."""

from __future__ import annotations

import numpy as np

from megaland_env.actions import Kind
from megaland_env.cards import MOON_COINS, WINNING_COINS, Building
from megaland_env.engine import rng as addresses
from megaland_env.engine.compiled import events, piles, rng
from megaland_env.engine.compiled.compiling import compiled
from megaland_env.engine.compiled.events import NOTHING, Event, Phase
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules.flow import WAIT, gain, left_of, seat_after
from megaland_env.engine.compiled.rules.picks import ask_picks, discard, keep_picked, take_picks
from megaland_env.engine.compiled.rules.treasure import draw
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules import night as batched
from megaland_env.engine.rules.flow import Stage

_POND = np.uint64(addresses.offset(Purpose.POND))
ALL_LEVEL_CARDS = int(batched.ALL_LEVEL_CARDS)
_MOON_BUILDINGS, _MOON_COINS = np.array(list(MOON_COINS)), np.array(list(MOON_COINS.values()))


@compiled
def night(memory: Memory, game: int) -> int:
    """N1: the first-player token passes left; N2: a player stores one treasure for each building."""
    if memory.log_size:
        events.add(memory, game, Event.PHASE, NOTHING, Phase.NIGHT, NOTHING)
    first = left_of(memory, memory.first_player[game])
    memory.first_player[game] = first
    if memory.log_size:
        events.add(memory, game, Event.FIRST_PLAYER, first, NOTHING, NOTHING)
    for seat in range(memory.num_players):
        owned = memory.num_buildings[seat, game]
        home = memory.home[seat, game]
        if owned == 0:
            memory.home[seat, game] = piles.EMPTY
            discard(memory, game, seat, piles.EMPTY, home)
        elif piles.size(home) > owned:
            memory.picks_left[seat, game] = owned
    return Stage.STORING


@compiled
def storing(memory: Memory, game: int) -> int:
    """N2: a player with more treasures than buildings chooses which to keep; all store before anything is drawn."""
    if ask_picks(memory, game, Kind.STORE, True):
        return WAIT
    keep_picked(memory, game, True)
    return Stage.MOON


@compiled
def store_one(memory: Memory, game: int, chosen: np.uint64) -> int:
    """N2: one treasure for each building, one at a time (D3)."""
    take_picks(memory, game, chosen, True)
    return Stage.STORING


@compiled
def moon(memory: Memory, game: int) -> int:
    """N3: moon buildings pay; N4: hearts and the level deck are restored; N5: the end, or the next round."""
    for moon_building in range(len(_MOON_BUILDINGS)):
        building = _MOON_BUILDINGS[moon_building]
        for seat in range(memory.num_players):
            owned = memory.buildings[building, seat, game]
            gain(memory, game, seat, owned * _MOON_COINS[moon_building], building)
    first = memory.first_player[game]
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        for pond in range(memory.buildings[Building.FISHING_POND, seat, game]):
            memory.home[seat, game] += draw(memory, game, seat, _POND, pond)
    for seat in range(memory.num_players):
        memory.hearts[seat, game] = memory.max_hearts[seat, game]
        memory.fish_used[seat, game] = 0
        memory.carrots_used[seat, game] = 0
    memory.unseen[game] = ALL_LEVEL_CARDS
    memory.num_seen[game] = 0
    return _end(memory, game)


@compiled
def _end(memory: Memory, game: int) -> int:
    """N5: at 20 coins the game is over, and the player with the most coins wins, or all that tie; D4: the cut-off."""
    most = 0
    for seat in range(memory.num_players):
        most = max(most, memory.coins[seat, game])
    if most >= WINNING_COINS:
        memory.terminated[game] = True
        memory.kind[game] = Kind.NONE
        for seat in range(memory.num_players):
            if memory.coins[seat, game] == most:
                memory.winners[seat, game] = True
                if memory.log_size:
                    events.add(memory, game, Event.END, seat, NOTHING, NOTHING)
        return WAIT
    if memory.round[game] >= memory.max_rounds:
        memory.truncated[game] = True
        memory.kind[game] = Kind.NONE
        return WAIT
    start_round(memory, game, memory.round[game] + 1)
    return Stage.ENTER


@compiled
def start_round(memory: Memory, game: int, round_: int) -> None:
    """Set the round, and the key of its random outcomes."""
    memory.round[game] = round_
    memory.round_keys[game] = rng.round_key(memory.keys[game], round_)
