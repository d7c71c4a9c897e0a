"""Phase 1: run the level (rules L), in the order of the rules."""

from __future__ import annotations

import numpy as np

from megaland_env.actions import JUMP, LEAVE, PASS, STAY, TRADE, TREASURE_FIRST, Kind
from megaland_env.cards import (
    BAZAAR_COINS,
    BAZAAR_TREASURES,
    HOSPITAL_COINS,
    JUMP_SYMBOLS,
    MAX_PLAYERS,
    NUM_LEVEL_CARDS,
    RABBIT_CARROTS,
    SKULLS,
    TEMPLE_COINS,
    Building,
    LevelCard,
    Treasure,
)
from megaland_env.engine import rng as addresses
from megaland_env.engine.compiled import events, piles, rng
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.events import NOTHING, Event, Phase
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules.flow import WAIT, ask, choice, gain, seat_after
from megaland_env.engine.compiled.rules.picks import ask_picks, discard, keep_picked, take_picks
from megaland_env.engine.compiled.rules.treasure import draw
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.flow import Stage

_JUMP_OR_NOT = np.uint64(1 << PASS | 1 << JUMP)
_TRADE_OR_NOT = np.uint64(1 << PASS | 1 << TRADE)
_STAY_OR_LEAVE = np.uint64(1 << STAY | 1 << LEAVE)
_PASS_BIT = np.uint64(1 << PASS)
_TO_ACTIONS = np.uint64(TREASURE_FIRST)
_ALL_SEATS = (1 << MAX_PLAYERS) - 1
_ENTER, _STAY, _BOX, _SOAP, _RABBIT, _LABORATORY, _STABLE, _REVEAL = (
    np.uint64(addresses.offset(purpose))
    for purpose in (
        Purpose.ENTER,
        Purpose.STAY,
        Purpose.BOX,
        Purpose.SOAP,
        Purpose.RABBIT,
        Purpose.LABORATORY,
        Purpose.STABLE,
        Purpose.REVEAL,
    )
)


@compiled
def enter(memory: Memory, game: int) -> int:
    """L1: every player enters the level and draws a treasure into the carried hand."""
    if memory.log_size:
        events.add(memory, game, Event.ROUND, NOTHING, NOTHING, memory.round[game])
        events.add(memory, game, Event.PHASE, NOTHING, Phase.LEVEL, NOTHING)
    for seat in range(memory.num_players):
        memory.in_level[seat, game] = True
    return Stage.DRAW


@compiled
def draw_inside(memory: Memory, game: int) -> int:
    """L1 and L9: every player in the level, having entered or stayed, draws a treasure; then comes L2.

    L12: phase 1 ends when nobody is in the level.
    """
    seen = memory.num_seen[game]
    first = memory.first_player[game]
    anyone = False
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        if memory.in_level[seat, game]:
            anyone = True
            if seen == 0:
                card = draw(memory, game, seat, _ENTER, 0)
            else:
                card = draw(memory, game, seat, _STAY, seen - 1)
            memory.carried[seat, game] += card
    return Stage.BEFORE_CARD if anyone else Stage.BEGIN_BUYING


@compiled
def before_card(memory: Memory, game: int) -> int:
    """L2: a player in the level who owns a jump token may jump over the coming card."""
    asked = False
    for seat in range(memory.num_players):
        if memory.in_level[seat, game] and memory.jumps[seat, game] > 0:
            ask(memory, game, seat, Kind.JUMP, _JUMP_OR_NOT)
            asked = True
    return WAIT if asked else Stage.REVEAL


@compiled
def jump(memory: Memory, game: int, chosen: np.uint64) -> int:
    """L2: the token returns to the supply, all at the same time."""
    for seat in range(memory.num_players):
        if choice(chosen, seat) == JUMP:
            memory.jumping[seat, game] = True
            memory.jumps[seat, game] -= 1
            memory.jump_supply[game] += 1
            if memory.log_size:
                events.add(memory, game, Event.JUMP, seat, NOTHING, NOTHING)
    return Stage.REVEAL


@compiled
def reveal(memory: Memory, game: int) -> int:
    """L3: one of the cards not yet seen this round; L4: its effects, step by step."""
    number = memory.num_seen[game]
    nth = rng.choose(rng.word(memory, game, _REVEAL, 0, number), NUM_LEVEL_CARDS - number)
    card = _nth_unseen(memory.unseen[game], nth)
    memory.unseen[game] ^= 1 << card
    memory.seen[number, game] = card
    memory.num_seen[game] = number + 1
    memory.level_card[game] = card
    if memory.log_size:
        events.add(memory, game, Event.REVEAL, NOTHING, card, NOTHING)
    if card == LevelCard.RED_SERPENT:
        _meet_temple(memory, game)
    elif card == LevelCard.TREASURE_BOX:
        _open_box(memory, game)
    elif card == LevelCard.SLUDGE_CREATURE:
        _make_soap(memory, game)
    return _take_damage(memory, game, card)


@compiled
def _nth_unseen(unseen: int, nth: int) -> int:
    """The n-th (from 0) of a set of level cards."""
    card = 0
    while True:
        if unseen >> card & 1:
            if nth == 0:
                return card
            nth -= 1
        card += 1


@compiled
def _meet_temple(memory: Memory, game: int) -> None:
    """L4, C6: 2 coins per Temple of Zoz for meeting the Red Serpent, even when falling or jumping."""
    for seat in range(memory.num_players):
        if memory.in_level[seat, game]:
            temples = memory.buildings[Building.TEMPLE_OF_ZOZ, seat, game]
            gain(memory, game, seat, temples * TEMPLE_COINS, Building.TEMPLE_OF_ZOZ)


@compiled
def _open_box(memory: Memory, game: int) -> None:
    """L6: every player in the level draws."""
    first = memory.first_player[game]
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        if memory.in_level[seat, game]:
            memory.carried[seat, game] += draw(memory, game, seat, _BOX, 0)


@compiled
def _make_soap(memory: Memory, game: int) -> None:
    """L5: an owner of Soap Makers draws, whether jumping or not; C8: a second copy has no further effect."""
    first = memory.first_player[game]
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        if memory.in_level[seat, game] and memory.buildings[Building.SOAP_MAKERS, seat, game] > 0:
            memory.carried[seat, game] += draw(memory, game, seat, _SOAP, 0)


@compiled
def _take_damage(memory: Memory, game: int, card: int) -> int:
    """L5: hearts stop at 0; L7: a player whose hearts reach 0 falls."""
    anyone_fell = False
    for seat in range(memory.num_players):
        hurt = _hurt(memory, game, seat, card)
        hearts = memory.hearts[seat, game]
        if hurt and hearts:
            lost = min(hearts, hurt)
            memory.hearts[seat, game] = hearts - lost
            if lost == hearts:
                memory.falling[seat, game] = True
                anyone_fell = True
            if memory.log_size:
                events.add(memory, game, Event.DAMAGE, seat, NOTHING, lost)
    return _fall(memory, game) if anyone_fell else after_card(memory, game)


@compiled
def _hurt(memory: Memory, game: int, seat: int, card: int) -> int:
    """L5: the skulls that hit a player: none for an owner of Soap Makers at the Sludge Creature, or a good jump."""
    if not memory.in_level[seat, game]:
        return 0
    if JUMP_SYMBOLS[card] and memory.jumping[seat, game]:
        return 0
    if card == LevelCard.SLUDGE_CREATURE and memory.buildings[Building.SOAP_MAKERS, seat, game] > 0:
        return 0
    return as_int(SKULLS[card])


@compiled
def _fall(memory: Memory, game: int) -> int:
    """L7: the consequences of a fall that need no decision."""
    for seat in range(memory.num_players):
        if memory.falling[seat, game]:
            memory.in_level[seat, game] = False
            if memory.log_size:
                events.add(memory, game, Event.FALL, seat, NOTHING, NOTHING)
    for seat in range(memory.num_players):
        hospitals = memory.buildings[Building.HOSPITAL, seat, game]
        if hospitals:
            amount = hospitals * _neighbours_fallen(memory, game, seat) * HOSPITAL_COINS
            gain(memory, game, seat, amount, Building.HOSPITAL)
    choosing = False
    for seat in range(memory.num_players):
        if memory.falling[seat, game]:
            huts = memory.buildings[Building.HERB_HUT, seat, game]
            carried = memory.carried[seat, game]
            if huts == 0:
                memory.carried[seat, game] = piles.EMPTY
                discard(memory, game, seat, piles.EMPTY, carried)
            elif piles.size(carried) <= huts:  # all kept, unasked
                memory.carried[seat, game] = piles.EMPTY
                memory.home[seat, game] += carried
                discard(memory, game, seat, carried, piles.EMPTY)
            else:
                memory.picks_left[seat, game] = huts
                choosing = True
    return Stage.HUTS if choosing else Stage.LABORATORIES


@compiled
def _neighbours_fallen(memory: Memory, game: int, seat: int) -> int:
    """L7: the number of neighbours of a seat who fell; with two players the one neighbour counts once."""
    players = memory.num_players
    fallen = as_int(memory.falling[seat_after(memory, seat, 1), game])
    if players > 2:
        fallen += as_int(memory.falling[seat_after(memory, seat, players - 1), game])
    return fallen


@compiled
def huts(memory: Memory, game: int) -> int:
    """L7: owners of Herb Huts who carry more cards than they have huts choose which to keep."""
    if ask_picks(memory, game, Kind.HERB_HUT, False):
        return WAIT
    keep_picked(memory, game, False)
    return Stage.LABORATORIES


@compiled
def keep_one(memory: Memory, game: int, chosen: np.uint64) -> int:
    """L7: one treasure for each hut, one at a time (D3)."""
    take_picks(memory, game, chosen, False)
    return Stage.HUTS


@compiled
def laboratories(memory: Memory, game: int) -> int:
    """L7: after all have discarded (D2), each Laboratory of a player who fell draws a treasure into the home hand."""
    first = memory.first_player[game]
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        if memory.falling[seat, game]:
            for laboratory in range(memory.buildings[Building.LABORATORY, seat, game]):
                memory.home[seat, game] += draw(memory, game, seat, _LABORATORY, laboratory)
            memory.falling[seat, game] = False
    return after_card(memory, game)


@compiled
def after_card(memory: Memory, game: int) -> int:
    """L4: the rest of the card: the rabbit, or L9."""
    return Stage.RABBIT if memory.level_card[game] == LevelCard.RABBIT else Stage.STAY_OR_LEAVE


@compiled
def meet_rabbit(memory: Memory, game: int) -> int:
    """L8: a player still in the level who carries 3 carrots may trade them."""
    asked = False
    for seat in range(memory.num_players):
        carrots = piles.count(memory.carried[seat, game], Treasure.CARROT)
        if memory.in_level[seat, game] and carrots >= RABBIT_CARROTS:
            ask(memory, game, seat, Kind.RABBIT, _TRADE_OR_NOT)
            asked = True
    return WAIT if asked else Stage.STAY_OR_LEAVE


@compiled
def trade(memory: Memory, game: int, chosen: np.uint64) -> int:
    """L8: exactly 3 carrots for 3 new treasures; all discard before anyone draws (D2)."""
    fed = piles.cards(Treasure.CARROT, RABBIT_CARROTS)
    for seat in range(memory.num_players):
        if choice(chosen, seat) == TRADE:
            memory.carried[seat, game] -= fed
            memory.discard[game] += fed
            if memory.log_size:
                events.add(memory, game, Event.TRADE, seat, NOTHING, NOTHING)
    first = memory.first_player[game]
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        if choice(chosen, seat) == TRADE:
            for count in range(RABBIT_CARROTS):
                memory.carried[seat, game] += draw(memory, game, seat, _RABBIT, count)
    return Stage.STAY_OR_LEAVE


@compiled
def stay_or_leave(memory: Memory, game: int) -> int:
    """L9: every player still in the level chooses; L11: unless all ten cards are seen; L12: or nobody is left."""
    for seat in range(memory.num_players):
        memory.jumping[seat, game] = False  # the card is resolved
    if memory.num_seen[game] == NUM_LEVEL_CARDS:
        return _go_home(memory, game, _ALL_SEATS)
    asked = False
    for seat in range(memory.num_players):
        if memory.in_level[seat, game]:
            ask(memory, game, seat, Kind.RUN, _STAY_OR_LEAVE)
            asked = True
    return WAIT if asked else Stage.BEGIN_BUYING


@compiled
def run(memory: Memory, game: int, chosen: np.uint64) -> int:
    """L9: players who leave go home first; then those who stay draw."""
    leaving = 0
    for seat in range(memory.num_players):
        if choice(chosen, seat) == LEAVE:
            leaving |= 1 << seat
    return _go_home(memory, game, leaving)


@compiled
def _go_home(memory: Memory, game: int, leaving: int) -> int:
    """L9: the carried treasures move home, and a Bazaar pays for 5 or more; L10: then come the Reptile Stables.

    Args:
        memory: the batch.
        game: the game.
        leaving: bit s is set if seat s leaves; seats that are not in the level count as staying at home.
    """
    if memory.log_size:
        _log_stay_or_home(memory, game, leaving)
    any_stables = False
    for seat in range(memory.num_players):
        if memory.in_level[seat, game] and leaving >> seat & 1:
            brought = memory.carried[seat, game]
            memory.carried[seat, game] = piles.EMPTY
            memory.home[seat, game] += brought
            memory.in_level[seat, game] = False
            if piles.size(brought) >= BAZAAR_TREASURES:
                bazaars = memory.buildings[Building.BAZAAR_OF_ODDITIES, seat, game]
                gain(memory, game, seat, bazaars * BAZAAR_COINS, Building.BAZAAR_OF_ODDITIES)
            stables_owned = memory.buildings[Building.REPTILE_STABLE, seat, game]
            if stables_owned:
                memory.picks_left[seat, game] = stables_owned
                any_stables = True
    return Stage.STABLES if any_stables else Stage.DRAW


@compiled
def _log_stay_or_home(memory: Memory, game: int, leaving: int) -> None:
    for seat in range(memory.num_players):
        if memory.in_level[seat, game]:
            if leaving >> seat & 1:
                events.add(memory, game, Event.HOME, seat, NOTHING, piles.size(memory.carried[seat, game]))
            else:
                events.add(memory, game, Event.STAY, seat, NOTHING, NOTHING)


@compiled
def stables(memory: Memory, game: int) -> int:
    """L10: each Reptile Stable in turn may swap a treasure at home; a player with an empty home hand is not asked."""
    asked = False
    for seat in range(memory.num_players):
        if memory.picks_left[seat, game] > 0:
            home = memory.home[seat, game]
            if home:
                ask(memory, game, seat, Kind.REPTILE, piles.types(home) << _TO_ACTIONS | _PASS_BIT)
                asked = True
            else:
                memory.picks_left[seat, game] = 0
    return WAIT if asked else Stage.DRAW


@compiled
def swap(memory: Memory, game: int, chosen: np.uint64) -> int:
    """L10: discard one and draw one, all discards first (D2); a pass ends the stables of this return."""
    for seat in range(memory.num_players):
        if choice(chosen, seat) == PASS:
            memory.picks_left[seat, game] = 0
        else:
            treasure = choice(chosen, seat) - TREASURE_FIRST
            card = piles.cards(treasure, 1)
            memory.home[seat, game] -= card
            memory.discard[game] += card
            if memory.log_size:
                events.add(memory, game, Event.SWAP, seat, treasure, NOTHING)
    first = memory.first_player[game]
    for place in range(memory.num_players):
        seat = seat_after(memory, first, place)
        if choice(chosen, seat) != PASS:
            left = memory.picks_left[seat, game]
            used = memory.buildings[Building.REPTILE_STABLE, seat, game] - left
            memory.picks_left[seat, game] = left - 1
            memory.home[seat, game] += draw(memory, game, seat, _STABLE, used)
    return Stage.STABLES
