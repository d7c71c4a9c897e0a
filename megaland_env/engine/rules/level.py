"""Phase 1: run the level (rules L), in the order of the rules."""

from __future__ import annotations

import numpy as np

from megaland_env.actions import JUMP, LEAVE, PASS, STAY, TRADE, TREASURE_FIRST, Kind
from megaland_env.arrays import Bools, Bytes, Ints, constant
from megaland_env.cards import (
    BAZAAR_COINS,
    BAZAAR_TREASURES,
    HOSPITAL_COINS,
    JUMP_SYMBOLS,
    NUM_LEVEL_CARDS,
    RABBIT_CARROTS,
    SKULLS,
    TEMPLE_COINS,
    Building,
    LevelCard,
    Treasure,
)
from megaland_env.engine import bits, piles, rng
from megaland_env.engine.events import Event, Phase
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.flow import Moves, Stage, any_seat, ask, gain, part, split
from megaland_env.engine.rules.picks import ask_picks, discard_hands, keep_picked, take_picks
from megaland_env.engine.rules.treasure import draw
from megaland_env.engine.state import NO, ONE, PASS_ONLY, YES, ZERO, GameState, add_at, indices_where, put_at, some

_JUMP_OR_NOT = constant(1 << PASS | 1 << JUMP, np.uint64)
_TRADE_OR_NOT = constant(1 << PASS | 1 << TRADE, np.uint64)
_STAY_OR_LEAVE = constant(1 << STAY | 1 << LEAVE, np.uint64)
# (10,): the address of the next draw, by the number of level cards seen this round.
_ENTER_OR_STAY = np.array(
    [rng.offset(Purpose.ENTER), *(rng.offset(Purpose.STAY, count=seen - 1) for seen in range(1, NUM_LEVEL_CARDS))]
)
# (10,): the address of the draw that a level card causes; 0 for cards that cause none.
_EXTRA_DRAW = np.zeros(NUM_LEVEL_CARDS, np.uint64)
_EXTRA_DRAW[LevelCard.TREASURE_BOX] = rng.offset(Purpose.BOX)
_EXTRA_DRAW[LevelCard.SLUDGE_CREATURE] = rng.offset(Purpose.SOAP)
# (11,): the address of the next reveal, by the number of level cards seen this round.
_REVEAL = np.array([rng.offset(Purpose.REVEAL, count=seen) for seen in range(NUM_LEVEL_CARDS + 1)])
_NTH_UNSEEN = bits.NTH_BIT_OF_TEN.reshape(-1)
_PASS, _LEAVE, _JUMP = constant(PASS, np.uint8), constant(LEAVE, np.uint8), constant(JUMP, np.uint8)
_TRADE, _TREASURE_FIRST = constant(TRADE, np.uint8), constant(TREASURE_FIRST, np.uint8)
_TREASURE_BOX, _RED_SERPENT = constant(LevelCard.TREASURE_BOX, np.uint8), constant(LevelCard.RED_SERPENT, np.uint8)
_RABBIT = constant(LevelCard.RABBIT, np.int8)
_CARD_BITS = np.int16(1) << np.arange(NUM_LEVEL_CARDS, dtype=np.int16)
_NUM_CARDS, _NO_TREASURE = constant(NUM_LEVEL_CARDS, np.uint8), constant(piles.NO_TREASURE, np.uint8)
_TEMPLE_COINS, _BAZAAR_COINS = constant(TEMPLE_COINS, np.uint8), constant(BAZAAR_COINS, np.uint8)
_HOSPITAL_COINS = constant(HOSPITAL_COINS, np.uint8)
_RABBIT_CARROTS, _RABBIT_CARROTS_WORD = constant(RABBIT_CARROTS, np.uint8), constant(RABBIT_CARROTS, np.uint64)
_BAZAAR_TREASURES, _NO_TYPE = constant(BAZAAR_TREASURES, np.uint64), constant(0, np.uint64)
_TO_ACTIONS = constant(TREASURE_FIRST, np.uint64)
_FED_CARROTS = constant(RABBIT_CARROTS * int(piles.ONE_CARD[Treasure.CARROT]), np.uint64)


def enter(state: GameState, games: Ints) -> Moves:
    """L1: every player enters the level and draws a treasure into the carried hand."""
    state.log.rounds(games, state.round)
    state.log.phase(games, Phase.LEVEL)
    put_at(state.in_level, state.at(games), YES)
    return [(Stage.DRAW, games)]


def draw_inside(state: GameState, games: Ints) -> Moves:
    """L1 and L9: every player in the level, having entered or stayed, draws a treasure; then comes L2.

    L12: phase 1 ends when nobody is in the level.
    """
    inside = state.in_level.take(state.at(games))
    anyone = any_seat(inside)
    ended = part(~anyone, games)[0]
    if ended.size:
        games, inside = part(anyone, games, inside)
    if games.size:
        draw(state, games, inside, _ENTER_OR_STAY.take(state.num_seen.take(games)), state.carried)
    return [(Stage.BEFORE_CARD, games), (Stage.BEGIN_BUYING, ended)]


def before_card(state: GameState, games: Ints) -> Moves:
    """L2: a player in the level who owns a jump token may jump over the coming card."""
    at = state.at(games)
    can_jump = state.in_level.take(at) & (state.jumps.take(at) > ZERO)
    return [(Stage.REVEAL, ask(state, games, at, Kind.JUMP, can_jump, _JUMP_OR_NOT))]


def jump(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """L2: the token returns to the supply, all at the same time."""
    at = state.at(games)
    jumping = chosen == _JUMP
    put_at(state.jumping, at, jumping)
    put_at(state.jumps, at, state.jumps.take(at) - jumping)
    state.jump_supply[games] = state.jump_supply.take(games) + np.add.reduce(jumping, axis=0, dtype=np.uint8)
    state.log.seats(Event.JUMP, games, jumping)
    return [(Stage.REVEAL, games)]


def reveal(state: GameState, games: Ints) -> Moves:
    """L3: one of the cards not yet seen this round; L4: its effects, step by step."""
    number = state.num_seen.take(games)
    unseen = state.unseen.take(games)
    words = rng.scramble(state.round_keys.take(games) + _REVEAL.take(number))
    nth = rng.choose(words, _NUM_CARDS - number)
    card = _NTH_UNSEEN.take(unseen * _NUM_CARDS + nth.view(np.int64))
    state.unseen[games] = unseen ^ _CARD_BITS.take(card)
    put_at(state.seen, state.at_seat(number, games), card)
    state.num_seen[games] = number + ONE
    state.level_card[games] = card
    state.log.add(Event.REVEAL, games, item=card)

    at = state.at(games)
    inside = state.in_level.take(at)
    hurt = inside * SKULLS.take(card)
    serpents = indices_where(card == _RED_SERPENT)
    if serpents.size:
        _meet_temple(state, games.take(serpents), inside.take(serpents, axis=1))
    extra = indices_where(_EXTRA_DRAW.take(card))
    if extra.size:
        draws = _extra_draws(state, at.take(extra, axis=1), card.take(extra), inside.take(extra, axis=1))
        hurt[:, extra] *= ~draws  # L5: Soap Makers; the Treasure Box does not hurt anyway
        if some(draws):
            draw(state, games.take(extra), draws, _EXTRA_DRAW.take(card.take(extra)), state.carried)
    jumping = state.jumping.take(at)
    if some(jumping):  # L5
        hurt *= ~(jumping & JUMP_SYMBOLS.take(card))
    return _take_damage(state, games, at, inside, hurt)


def _meet_temple(state: GameState, games: Ints, inside: Bools) -> None:
    """L4, C6: 2 coins per Temple of Zoz for meeting the Red Serpent, even when falling or jumping."""
    at = state.at(games)
    temples = state.buildings[Building.TEMPLE_OF_ZOZ].take(at) * inside
    if some(temples):
        gain(state, games, at, temples * _TEMPLE_COINS, Building.TEMPLE_OF_ZOZ)


def _extra_draws(state: GameState, at: Ints, card: Bytes, inside: Bools) -> Bools:
    """The players (P, n) who draw a treasure because of the card.

    L6: for the Treasure Box, every player in the level; L5: for the Sludge Creature, an owner of Soap Makers, whether
    jumping or not; C8: a second copy has no further effect.
    """
    draws: Bools = state.buildings[Building.SOAP_MAKERS].take(at) > ZERO
    draws |= card == _TREASURE_BOX
    draws &= inside
    return draws


def _take_damage(state: GameState, games: Ints, at: Ints, inside: Bools, hurt: Bytes) -> Moves:
    """L5: hearts stop at 0; L7: a player whose hearts reach 0 falls."""
    if not some(hurt):
        return after_card(state, games)
    hearts = state.hearts.take(at)
    lost = np.minimum(hearts, hurt)
    hearts -= lost
    put_at(state.hearts, at, hearts)
    state.log.seats(Event.DAMAGE, games, lost, value=lost)
    fell = inside & (hearts == ZERO)
    if not some(fell):
        return after_card(state, games)
    any_fell = any_seat(fell)
    return after_card(state, part(~any_fell, games)[0]) + _fall(state, *part(any_fell, games, fell))


def _fall(state: GameState, games: Ints, fell: Bools) -> Moves:
    """L7: what a fall brings without a decision: Hospitals pay, and hands that leave no choice are kept or lost."""
    at = state.at(games)
    put_at(state.in_level, at, state.in_level.take(at) & ~fell)
    put_at(state.falling, at, fell)
    state.log.seats(Event.FALL, games, fell)
    hospitals = state.buildings[Building.HOSPITAL].take(at)
    if some(hospitals):
        gain(state, games, at, hospitals * _neighbours_fallen(fell) * _HOSPITAL_COINS, Building.HOSPITAL)

    huts = state.buildings[Building.HERB_HUT].take(at) * fell
    carried = state.carried.take(at)
    choosing = (huts > ZERO) & (piles.size(carried) > huts)
    lost = carried * (fell & (huts == ZERO))
    kept = carried * ((huts > ZERO) & ~choosing)  # no more cards than huts: all kept, unasked
    put_at(state.carried, at, carried - lost - kept)
    add_at(state.home, at, kept)
    put_at(state.picks_left, at, huts * choosing)
    discard_hands(state, games, kept, lost)
    choosers, others = split(games, any_seat(choosing))
    return [(Stage.HUTS, choosers), (Stage.LABORATORIES, others)]


def _neighbours_fallen(fell: Bools) -> Bytes:
    """L7: the number of neighbours of each seat who fell; with two players the one neighbour counts once."""
    left = np.roll(fell, -1, axis=0).astype(np.uint8)
    return left if len(fell) == 2 else left + np.roll(fell, 1, axis=0)


def huts(state: GameState, games: Ints) -> Moves:
    """L7: owners of Herb Huts who carry more cards than they have huts choose which to keep."""
    done = ask_picks(state, games, Kind.HERB_HUT, state.carried)
    if done.size:
        keep_picked(state, done, state.carried)
    return [(Stage.LABORATORIES, done)]


def keep_one(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """L7: one treasure for each hut, one at a time (D3)."""
    take_picks(state, games, chosen, state.carried)
    return [(Stage.HUTS, games)]


def laboratories(state: GameState, games: Ints) -> Moves:
    """L7: after all have discarded (D2), each Laboratory of a player who fell draws a treasure into the home hand."""
    at = state.at(games)
    draws = state.buildings[Building.LABORATORY].take(at) * state.falling.take(at)
    if some(draws):
        at_laboratories, times = part(any_seat(draws), games, draws)
        draw(state, at_laboratories, times, rng.offset(Purpose.LABORATORY), state.home)
    put_at(state.falling, at, NO)
    return after_card(state, games)


def after_card(state: GameState, games: Ints) -> Moves:
    """L4: the rest of the card: the rabbit, or L9."""
    met_rabbit = state.level_card.take(games) == _RABBIT
    if not some(met_rabbit):
        return [(Stage.STAY_OR_LEAVE, games)]
    rabbits, others = split(games, met_rabbit)
    return [(Stage.RABBIT, rabbits), (Stage.STAY_OR_LEAVE, others)]


def meet_rabbit(state: GameState, games: Ints) -> Moves:
    """L8: a player still in the level who carries 3 carrots may trade them."""
    at = state.at(games)
    can_trade = state.in_level.take(at) & (piles.count(state.carried.take(at), Treasure.CARROT) >= _RABBIT_CARROTS_WORD)
    return [(Stage.STAY_OR_LEAVE, ask(state, games, at, Kind.RABBIT, can_trade, _TRADE_OR_NOT))]


def trade(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """L8: exactly 3 carrots for 3 new treasures; all discard before anyone draws (D2)."""
    at = state.at(games)
    trading = chosen == _TRADE
    fed = trading * _FED_CARROTS
    put_at(state.carried, at, state.carried.take(at) - fed)
    state.discard[games] = state.discard.take(games) + np.add.reduce(fed, axis=0)
    state.log.seats(Event.TRADE, games, trading)
    traders, times = part(any_seat(trading), games, trading * _RABBIT_CARROTS)
    draw(state, traders, times, rng.offset(Purpose.RABBIT), state.carried)
    return [(Stage.STAY_OR_LEAVE, games)]


def stay_or_leave(state: GameState, games: Ints) -> Moves:
    """L9: every player still in the level chooses; L11: unless all ten cards are seen; L12: or nobody is left."""
    at = state.at(games)
    if some(state.jumping.take(at)):
        put_at(state.jumping, at, NO)  # the card is resolved
    inside = state.in_level.take(at)
    all_seen = state.num_seen.take(games) == _NUM_CARDS
    if some(all_seen):
        exhausted, at_home = part(all_seen, games, at)
        moves = _go_home(state, exhausted, at_home, state.in_level.take(at_home))
        games, at, inside = part(~all_seen, games, at, inside)
    else:
        moves = []
    return [*moves, (Stage.BEGIN_BUYING, ask(state, games, at, Kind.RUN, inside, _STAY_OR_LEAVE))]


def run(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """L9: players who leave go home first; then those who stay draw."""
    leaving = chosen == _LEAVE
    return _go_home(state, games, state.at(games), leaving)


def _go_home(state: GameState, games: Ints, at: Ints, leaving: Bools) -> Moves:
    """L9: the carried treasures move home, and a Bazaar pays for 5 or more; L10: then come the Reptile Stables."""
    carried = state.carried.take(at)
    brought = carried * leaving
    inside = state.in_level.take(at)
    put_at(state.carried, at, carried ^ brought)
    add_at(state.home, at, brought)
    put_at(state.in_level, at, inside ^ leaving)
    state.log.staying(games, inside, leaving, brought)
    bazaars = state.buildings[Building.BAZAAR_OF_ODDITIES].take(at)
    if some(bazaars):
        gain(
            state,
            games,
            at,
            bazaars * (piles.size(brought) >= _BAZAAR_TREASURES) * _BAZAAR_COINS,
            Building.BAZAAR_OF_ODDITIES,
        )
    stables = state.buildings[Building.REPTILE_STABLE].take(at) * leaving
    if not some(stables):
        return [(Stage.DRAW, games)]
    put_at(state.picks_left, at, stables)
    owners, others = split(games, any_seat(stables))
    return [(Stage.STABLES, owners), (Stage.DRAW, others)]


def stables(state: GameState, games: Ints) -> Moves:
    """L10: each Reptile Stable in turn may swap a treasure at home; a player with an empty home hand is not asked."""
    at = state.at(games)
    home = piles.types(state.home.take(at))
    left = state.picks_left.take(at) * (home != _NO_TYPE)
    put_at(state.picks_left, at, left)
    asked = left > ZERO
    legal = (home << _TO_ACTIONS) | PASS_ONLY
    return [(Stage.DRAW, ask(state, games, at, Kind.REPTILE, asked, legal))]


def swap(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """L10: discard one and draw one, all discards first (D2); a pass ends the stables of this return."""
    at = state.at(games)
    swapping = chosen != _PASS
    treasure = np.where(swapping, chosen - _TREASURE_FIRST, _NO_TREASURE)
    card = piles.ONE_CARD.take(treasure)
    put_at(state.home, at, state.home.take(at) - card)
    state.discard[games] = state.discard.take(games) + np.add.reduce(card, axis=0)
    state.log.seats(Event.SWAP, games, swapping, item=treasure)
    left = state.picks_left.take(at)
    used = state.buildings[Building.REPTILE_STABLE].take(at) - left
    put_at(state.picks_left, at, (left - swapping) * swapping)
    swap_games, swaps, used = part(any_seat(swapping), games, swapping, used)
    draw(state, swap_games, swaps, rng.offset(Purpose.STABLE) + rng.count_offset(used), state.home)
    return [(Stage.STABLES, games)]
