"""Phase 3: night (rules N), and the cut-off (D4)."""

from __future__ import annotations

import numpy as np

from megaland_env.actions import Kind
from megaland_env.arrays import Bytes, Ints, constant
from megaland_env.cards import MOON_COINS, NUM_LEVEL_CARDS, WINNING_COINS, Building
from megaland_env.engine import piles, rng
from megaland_env.engine.events import Event, Phase
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.flow import Moves, Stage, any_seat, gain, left_of, part
from megaland_env.engine.rules.picks import ask_picks, discard_hands, keep_picked, take_picks
from megaland_env.engine.rules.treasure import draw
from megaland_env.engine.state import ZERO, GameState, put_at, some

_WINNING_COINS = constant(WINNING_COINS, np.int16)
ALL_LEVEL_CARDS = np.uint16((1 << NUM_LEVEL_CARDS) - 1)


def night(state: GameState, games: Ints) -> Moves:
    """N1: the first-player token passes left; N2: a player stores one treasure for each building."""
    state.log.phase(games, Phase.NIGHT)
    first = left_of(state, state.first_player.take(games))
    state.first_player[games] = first
    state.log.add(Event.FIRST_PLAYER, games, first)

    at = state.at(games)
    owned = state.num_buildings.take(at)
    home = state.home.take(at)
    choosing = (owned > ZERO) & (piles.size(home) > owned)
    lost = home * (owned == ZERO)
    put_at(state.home, at, home - lost)
    discard_hands(state, games, np.zeros_like(lost), lost)
    put_at(state.picks_left, at, owned * choosing)
    return [(Stage.STORING, games)]


def storing(state: GameState, games: Ints) -> Moves:
    """N2: a player with more treasures than buildings chooses which to keep; all store before anything is drawn."""
    done = ask_picks(state, games, Kind.STORE, state.home)
    if done.size:
        keep_picked(state, done, state.home)
    return [(Stage.MOON, done)]


def store_one(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """N2: one treasure for each building, one at a time (D3)."""
    take_picks(state, games, chosen, state.home)
    return [(Stage.STORING, games)]


def moon(state: GameState, games: Ints) -> Moves:
    """N3: moon buildings pay; N4: hearts and the level deck are restored; N5: the end, or the next round."""
    at = state.at(games)
    for building, coins in MOON_COINS.items():
        owned = state.buildings[building].take(at)
        if some(owned):
            owners, their_seats, amounts = part(any_seat(owned), games, at, owned * np.uint8(coins))
            gain(state, owners, their_seats, amounts, building)
    ponds = state.buildings[Building.FISHING_POND].take(at)
    if some(ponds):
        at_ponds, draws = part(any_seat(ponds), games, ponds)
        draw(state, at_ponds, draws, rng.offset(Purpose.POND), state.home)

    put_at(state.hearts, at, state.max_hearts.take(at))
    state.unseen[games] = ALL_LEVEL_CARDS
    state.num_seen[games] = 0
    for used in (state.fish_used, state.carrots_used):
        if some(used.take(at)):
            put_at(used, at, 0)
    return _end(state, games, at)


def _end(state: GameState, games: Ints, at: Ints) -> Moves:
    """N5: at 20 coins the game is over, and the player with the most coins wins, or all that tie; D4: the cut-off."""
    coins = state.coins.take(at)
    most = np.maximum.reduce(coins, axis=0)
    won = most >= _WINNING_COINS
    cut_off = ~won & (state.round.take(games) >= state.config.max_rounds)
    over = won | cut_off
    if some(over):
        winners = (coins == most) & won
        put_at(state.winners, at, winners)
        state.terminated[games] = won
        state.truncated[games] = cut_off
        state.kind[part(over, games)[0]] = Kind.NONE
        state.log.seats(Event.END, games, winners)
    going_on = part(~over, games)[0]
    state.start_round(going_on, state.round.take(going_on) + np.int32(1))
    return [(Stage.ENTER, going_on)]
