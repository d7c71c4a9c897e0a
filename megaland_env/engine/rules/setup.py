"""Setup (rules S, with the components of C4 to C7)."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from megaland_env.actions import BUY_FIRST
from megaland_env.arrays import Bytes, Ints, Words
from megaland_env.cards import (
    BUILDING_COSTS,
    HEART_SUPPLY,
    JUMP_SUPPLY,
    MARKET_SIZE,
    NORMAL_BUILDINGS,
    NORMAL_COPIES,
    STAR_BUILDINGS,
    START_HEARTS,
    Building,
)
from megaland_env.config import MegalandConfig
from megaland_env.engine import bits, piles, rng
from megaland_env.engine.events import Event
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.flow import Moves, Stage
from megaland_env.engine.rules.night import ALL_LEVEL_CARDS
from megaland_env.engine.state import GameState

_SPREAD_COSTS = {1, 2, 3, 4, 5}


def new_games(state: GameState, games: Ints, seeds: Words) -> Moves:
    """Set up games, one for each seed."""
    state.clear(games)
    state.seeds[games] = seeds
    state.keys[games] = rng.key(seeds)
    state.start_round(games, 1)
    state.episode[games] += 1

    state.deck[games] = piles.WHOLE_DECK
    state.unseen[games] = ALL_LEVEL_CARDS
    state.hearts[:, games] = START_HEARTS
    state.max_hearts[:, games] = START_HEARTS
    state.heart_supply[games] = HEART_SUPPLY - START_HEARTS * state.num_players  # C4
    state.jump_supply[games] = JUMP_SUPPLY
    _set_out_market(state, games, seeds)
    _draw_first_player(state, games, seeds)
    return [(Stage.ENTER, games)]


def _set_out_market(state: GameState, games: Ints, seeds: Words) -> None:
    """S1: six star buildings, and seven normal ones, which the configuration names or which are drawn."""
    sets = markets(state.config)
    drawn = rng.choose(rng.mix(seeds, Purpose.MARKET), len(sets)).astype(np.int64)
    offered = sets.take(drawn)
    state.on_offer[games] = offered
    copies = copies_of(state.config)
    state.building_supply[:, games] = _supplies(state.config).take(drawn, axis=1)
    none = sum(1 << (BUY_FIRST + building) for building in Building if copies[building] == 0)
    state.for_sale[games] = offered & ~np.uint64(none)
    state.log.markets(games, offered)


def copies_of(config: MegalandConfig) -> tuple[int, ...]:
    """The number of copies of each of the 23 buildings, if it is on offer (C6, C7)."""
    return (*config.star_copies, *(NORMAL_COPIES for _ in NORMAL_BUILDINGS))


def markets(config: MegalandConfig) -> Words:
    """All markets that a configuration allows, as sets of BUY bits including the stars, in lexicographic order."""
    named = config.market_buildings
    return _markets(config.market if isinstance(config.market, str) else "named", named)


@lru_cache(maxsize=32)
def _markets(market: str, named: tuple[Building, ...] | None) -> Words:
    sets = [named] if named is not None else list(combinations(NORMAL_BUILDINGS, MARKET_SIZE))
    if market == "spread":
        sets = [chosen for chosen in sets if {int(BUILDING_COSTS[b]) for b in chosen} >= _SPREAD_COSTS]
    return np.array([sum(1 << (BUY_FIRST + b) for b in (*STAR_BUILDINGS, *chosen)) for chosen in sets], np.uint64)


@lru_cache(maxsize=32)
def _supplies(config: MegalandConfig) -> Bytes:
    """(23, number of markets): the copies of each building on the table in each market."""
    on_offer = bits.members(markets(config) >> np.uint64(BUY_FIRST), len(Building)).T
    return on_offer * np.array(copies_of(config), np.uint8)[:, None]


def _draw_first_player(state: GameState, games: Ints, seeds: Words) -> None:
    """S2: the first player is drawn at random, or set by the configuration."""
    if state.config.first_player is None:
        first = rng.choose(rng.mix(seeds, Purpose.FIRST_PLAYER), state.num_players).astype(np.int8)
    else:
        first = np.full(games.size, state.config.first_player, np.int8)
    state.first_player[games] = first
    state.log.add(Event.FIRST_PLAYER, games, first)
