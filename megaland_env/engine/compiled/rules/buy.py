"""Phase 2: buy (rules B), in the order of the rules."""

from __future__ import annotations

import numpy as np

from megaland_env.actions import BUY_FIRST, HEART_FIRST, PASS, TREASURE_FIRST, Kind
from megaland_env.cards import (
    ARCADE_COINS,
    BUILDING_COINS,
    BUILDING_COSTS,
    BUILDING_JUMPS,
    HALL_COINS,
    HOTEL_COINS,
    NUM_TREASURES,
    SMITHY_COINS,
    SMITHY_COSTS,
    STAR_BUILDINGS,
    TOLL_COINS,
    TREASURE_COPIES,
    TREASURES_IN_ALL,
    Building,
    Treasure,
)
from megaland_env.engine.compiled import events, piles
from megaland_env.engine.compiled.compiling import as_int, compiled
from megaland_env.engine.compiled.events import NOTHING, Event, Phase
from megaland_env.engine.compiled.memory import Memory
from megaland_env.engine.compiled.rules.flow import WAIT, ask, choice, gain, left_of
from megaland_env.engine.rules.buy import AFFORDABLE, MOST_CARDS, NEXT_HEART_COSTS
from megaland_env.engine.rules.flow import Stage
from megaland_env.engine.state import NO_CARD, NOBODY, NOT_PAYING

_1 = np.uint64(1)
_PASS_BIT = np.uint64(1 << PASS)
_NO_ACTIONS = np.uint64(0)
_MOST_CARDS = int(MOST_CARDS)
_NUM_STARS = len(STAR_BUILDINGS)
_LEAST_SMITHY_COST, _MOST_SMITHY_COST = min(SMITHY_COSTS), max(SMITHY_COSTS)


@compiled
def begin(memory: Memory, game: int) -> int:
    """B1: every player takes one turn, starting with the first player."""
    if memory.log_size:
        events.add(memory, game, Event.PHASE, NOTHING, Phase.BUY, NOTHING)
    memory.level_card[game] = NO_CARD
    memory.buyer[game] = memory.first_player[game]
    return Stage.TURN


@compiled
def turn(memory: Memory, game: int) -> int:
    """B1: the buyer may buy what can be paid, or pass."""
    seat = memory.buyer[game]
    if memory.skip_forced and not memory.home[seat, game]:  # a buyer without treasures can only pass
        return Stage.END_TURN
    most = 0
    for treasure in range(NUM_TREASURES):
        most += _usable_for_building(memory, game, seat, treasure)
    legal = memory.for_sale[game]  # B5
    legal &= ~memory.bought[game]  # one of each type per turn
    legal &= AFFORDABLE[min(most, _MOST_CARDS)]
    legal |= _hearts_for_sale(memory, game, seat)
    legal |= _PASS_BIT
    if memory.skip_forced and legal == _PASS_BIT:
        return Stage.END_TURN
    ask(memory, game, seat, Kind.BUY, legal)
    return WAIT


@compiled
def wild_rights(memory: Memory, game: int, seat: int, treasure: int) -> int:
    """B3, C8: the number of cards of a type that may still stand for any type.

    Each Fish Vendor and each Root Market makes one card wild per round, the Ostrich Ranch every egg (for buildings).
    """
    if treasure == Treasure.FISH:
        return memory.buildings[Building.FISH_VENDOR, seat, game] - memory.fish_used[seat, game]
    if treasure == Treasure.CARROT:
        return memory.buildings[Building.ROOT_MARKET, seat, game] - memory.carrots_used[seat, game]
    if treasure == Treasure.EGG and memory.buildings[Building.OSTRICH_RANCH, seat, game] > 0:
        return TREASURES_IN_ALL
    return 0


@compiled
def _usable_for_building(memory: Memory, game: int, seat: int, treasure: int) -> int:
    """B2, B3: the number of cards of a type that can still be added to the payment for a building.

    A payment is any set of cards in which all cards of a type except one are wild. So each type has a limit of its own:
    one card, plus the number of rights for that type.
    """
    held = piles.count(memory.home[seat, game], treasure)
    if held == 0:
        return 0
    limit = 1 + wild_rights(memory, game, seat, treasure) - piles.count(memory.paid[game], treasure)
    return min(held, limit)


@compiled
def _hearts_for_sale(memory: Memory, game: int, seat: int) -> np.uint64:
    """B4, B5: the bits of the HEART actions that can be paid, with cards of one type, at least one of them real."""
    legal = _NO_ACTIONS
    if memory.heart_supply[game] == 0:
        return legal
    cost = as_int(NEXT_HEART_COSTS[memory.max_hearts[seat, game]])
    home = memory.home[seat, game]
    wild_fish = min(piles.count(home, Treasure.FISH), wild_rights(memory, game, seat, Treasure.FISH))
    wild_carrots = min(piles.count(home, Treasure.CARROT), wild_rights(memory, game, seat, Treasure.CARROT))
    for treasure in range(NUM_TREASURES):
        reach = held = piles.count(home, treasure)
        if treasure != Treasure.FISH:
            reach += wild_fish
        if treasure != Treasure.CARROT:
            reach += wild_carrots
        if held > 0 and reach >= cost:
            legal |= _1 << np.uint64(HEART_FIRST + treasure)
    return legal


@compiled
def buy(memory: Memory, game: int, chosen: np.uint64) -> int:
    """B1: begin to pay for a building or a heart, or pass."""
    seat = memory.buyer[game]
    action = choice(chosen, seat)
    if action == PASS:
        return Stage.END_TURN
    memory.paying[game] = action
    if action >= HEART_FIRST:
        memory.cost[game] = NEXT_HEART_COSTS[memory.max_hearts[seat, game]]
    else:
        memory.cost[game] = BUILDING_COSTS[action - BUY_FIRST]
    return Stage.PAYMENT


@compiled
def payment(memory: Memory, game: int) -> int:
    """B2 to B4: the player chooses what to pay with, one treasure at a time, while there is a choice."""
    seat = memory.buyer[game]
    need = memory.cost[game] - piles.size(memory.paid[game])
    usable = piles.EMPTY
    for treasure in range(NUM_TREASURES):
        number = _usable(memory, game, seat, treasure, need)
        if number > 0:
            usable |= piles.cards(treasure, number)
    if memory.pays_automatically:
        return _pay(memory, game, seat, piles.cards(_held_most(memory, game, seat, usable), 1))
    # There is one way only if every usable card is needed, or one type only is usable.
    if memory.skip_forced and piles.num_types(usable) == 1:
        return _pay(memory, game, seat, piles.cards(piles.lowest_type(usable), need))
    if memory.skip_forced and piles.size(usable) == need:
        return _pay(memory, game, seat, usable)
    ask(memory, game, seat, Kind.PAY, piles.types(usable) << np.uint64(TREASURE_FIRST))  # PASS is not legal here
    return WAIT


@compiled
def _usable(memory: Memory, game: int, seat: int, treasure: int, need: int) -> int:
    """The number of cards of a type that can still be added to the current payment."""
    if memory.paying[game] < HEART_FIRST:
        return _usable_for_building(memory, game, seat, treasure)
    return _usable_for_heart(memory, game, seat, treasure, need)


@compiled
def _usable_for_heart(memory: Memory, game: int, seat: int, treasure: int, need: int) -> int:
    """B4: cards of the named type, and wild ones, except that the last card must be real if none paid so far is."""
    held = piles.count(memory.home[seat, game], treasure)
    real = memory.paying[game] - HEART_FIRST
    if treasure == real or held == 0:
        return held
    if treasure != Treasure.FISH and treasure != Treasure.CARROT:
        return 0
    paid = memory.paid[game]
    wild = wild_rights(memory, game, seat, treasure) - piles.count(paid, treasure)
    kept_for_real = 0 if piles.count(paid, real) else 1
    return min(held, wild, need - kept_for_real)


@compiled
def _held_most(memory: Memory, game: int, seat: int, usable: np.uint64) -> int:
    """``payment="auto"``: the usable type that is held most; if several are, that of the most copies."""
    best = -1
    best_held = 0
    for treasure in range(NUM_TREASURES):
        if piles.count(usable, treasure):
            held = piles.count(memory.home[seat, game], treasure)
            if held > best_held or (held == best_held and TREASURE_COPIES[treasure] > TREASURE_COPIES[best]):
                best = treasure
                best_held = held
    return best


@compiled
def pay(memory: Memory, game: int, chosen: np.uint64) -> int:
    """B2: pay one treasure."""
    seat = memory.buyer[game]
    return _pay(memory, game, seat, piles.cards(choice(chosen, seat) - TREASURE_FIRST, 1))


@compiled
def _pay(memory: Memory, game: int, seat: int, pile: np.uint64) -> int:
    """Move cards from the home hand to the payment."""
    memory.home[seat, game] -= pile
    memory.paid[game] += pile
    if memory.log_size:
        for treasure in range(NUM_TREASURES):
            for _ in range(piles.count(pile, treasure)):
                events.add(memory, game, Event.PAY, seat, treasure, NOTHING)
    return Stage.PURCHASE if piles.size(memory.paid[game]) == memory.cost[game] else Stage.PAYMENT


@compiled
def purchase(memory: Memory, game: int) -> int:
    """Complete a purchase: use up wild rights (B3), discard the payment (B2), and hand over what was bought."""
    seat = memory.buyer[game]
    paying = memory.paying[game]
    paid = memory.paid[game]
    memory.fish_used[seat, game] += _wild_paid(paying, paid, Treasure.FISH)
    memory.carrots_used[seat, game] += _wild_paid(paying, paid, Treasure.CARROT)
    memory.discard[game] += paid
    memory.paid[game] = piles.EMPTY
    memory.paying[game] = NOT_PAYING
    memory.cost[game] = 0
    if paying >= HEART_FIRST:
        _hand_over_heart(memory, game, seat, paying - HEART_FIRST, paid)
    else:
        _hand_over_building(memory, game, seat, paying - BUY_FIRST)
    return Stage.TURN


@compiled
def _wild_paid(paying: int, paid: np.uint64, treasure: int) -> int:
    """B3: the number of cards of a type in a payment that stood for another type.

    For a building the first card of a type is itself; for a heart of its own type each is, and of another none.
    """
    cards = piles.count(paid, treasure)
    if paying < HEART_FIRST:
        return max(cards - 1, 0)
    return 0 if paying == HEART_FIRST + treasure else cards


@compiled
def _hand_over_heart(memory: Memory, game: int, seat: int, treasure: int, paid: np.uint64) -> None:
    """B4: the maximum of hearts rises at once; B6: each Hotel pays."""
    memory.max_hearts[seat, game] += 1
    memory.heart_supply[game] -= 1
    if memory.log_size:
        events.add(memory, game, Event.HEART, seat, treasure, piles.size(paid))
    hotels = memory.buildings[Building.HOTEL, seat, game]
    gain(memory, game, seat, hotels * HOTEL_COINS, Building.HOTEL)


@compiled
def _hand_over_building(memory: Memory, game: int, seat: int, building: int) -> None:
    """B5 and B6: coins depend on what the buyer owned before; jump tokens are given while the supply lasts."""
    if memory.log_size:
        events.add(memory, game, Event.BUY, seat, building, NOTHING)
    gain(memory, game, seat, as_int(BUILDING_COINS[building]), building)
    if _LEAST_SMITHY_COST <= BUILDING_COSTS[building] <= _MOST_SMITHY_COST:
        smithies = memory.buildings[Building.SMITHY, seat, game]
        gain(memory, game, seat, smithies * SMITHY_COINS, Building.SMITHY)
    if building >= _NUM_STARS:
        halls = memory.buildings[Building.HALL_OF_ELDERS, seat, game]
        gain(memory, game, seat, halls * HALL_COINS, Building.HALL_OF_ELDERS)
    else:
        booths = memory.buildings[Building.TOLL_BOOTH, seat, game]
        gain(memory, game, seat, booths * TOLL_COINS, Building.TOLL_BOOTH)
    jumps = min(as_int(BUILDING_JUMPS[building]), memory.jump_supply[game])
    if jumps:
        memory.jumps[seat, game] += jumps
        memory.jump_supply[game] -= jumps
        if memory.log_size:
            events.add(memory, game, Event.JUMPS, seat, NOTHING, jumps)
    memory.buildings[building, seat, game] += 1
    memory.num_buildings[seat, game] += 1
    memory.building_supply[building, game] -= 1
    bit = _1 << np.uint64(BUY_FIRST + building)
    memory.bought[game] |= bit
    if memory.building_supply[building, game] == 0:
        memory.for_sale[game] &= ~bit


@compiled
def end_turn(memory: Memory, game: int) -> int:
    """B1: the buyer passes; the next player clockwise has a turn, or the phase ends."""
    seat = memory.buyer[game]
    if memory.log_size:
        events.add(memory, game, Event.PASS, seat, NOTHING, NOTHING)
    memory.bought[game] = _NO_ACTIONS
    buyer = left_of(memory, seat)
    memory.buyer[game] = buyer
    return Stage.ARCADES if buyer == memory.first_player[game] else Stage.TURN


@compiled
def arcades(memory: Memory, game: int) -> int:
    """B7: an Arcade pays an owner with strictly fewer coins than every other; all are counted before any is paid."""
    memory.buyer[game] = NOBODY
    fewest = memory.coins[0, game]
    poorest = 0
    alone = True
    for seat in range(1, memory.num_players):
        coins = memory.coins[seat, game]
        if coins < fewest:
            fewest = coins
            poorest = seat
            alone = True
        elif coins == fewest:
            alone = False
    if alone:
        owned = memory.buildings[Building.ARCADE, poorest, game]
        gain(memory, game, poorest, owned * ARCADE_COINS, Building.ARCADE)
    return Stage.NIGHT
