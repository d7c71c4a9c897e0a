"""Phase 2: buy (rules B), in the order of the rules."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_env.actions import BUY_FIRST, HEART_FIRST, PASS, TREASURE_FIRST, Kind
from megaland_env.arrays import Bools, Bytes, Ints, Words, constant
from megaland_env.cards import (
    ARCADE_COINS,
    BUILDING_COINS,
    BUILDING_COSTS,
    BUILDING_JUMPS,
    HALL_COINS,
    HEART_COSTS,
    HOTEL_COINS,
    MAX_HEARTS,
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
from megaland_env.engine import bits, piles
from megaland_env.engine.events import BUYER, Event, Phase
from megaland_env.engine.piles import EMPTY
from megaland_env.engine.rules.flow import Moves, Stage, gain, left_of, part, split
from megaland_env.engine.state import (
    KINDS,
    NO_CARD,
    NOBODY,
    NOT_PAYING,
    ONE,
    PASS_ONLY,
    YES,
    ZERO,
    GameState,
    add_at,
    buy_bit,
    indices_where,
    put_at,
    some,
)

_NOT_FOR_SALE = 255
NEXT_HEART_COSTS = np.array([HEART_COSTS.get(held + 1, _NOT_FOR_SALE) for held in range(MAX_HEARTS + 1)], np.uint8)
MOST_CARDS = constant(max(BUILDING_COSTS), np.uint8)
# (7,): by a number of treasures, bit BUY_b is set if b costs no more.
AFFORDABLE = np.array(
    [sum(1 << (BUY_FIRST + b) for b in Building if BUILDING_COSTS[b] <= cards) for cards in range(int(MOST_CARDS) + 1)],
    np.uint64,
)
_IS_STAR = np.array([building in STAR_BUILDINGS for building in Building])
# (3, 1), and (3, 23): the coins that a copy of each pays for the purchase of each building (B6).
_PAYING_BUILDINGS = np.array([Building.SMITHY, Building.HALL_OF_ELDERS, Building.TOLL_BOOTH])[:, None]
_COINS_FOR = np.array(
    [SMITHY_COINS * np.isin(BUILDING_COSTS, SMITHY_COSTS), HALL_COINS * ~_IS_STAR, TOLL_COINS * _IS_STAR], np.uint8
)
# (6, 1): breaks ties between types held equally often: more copies first, and by the order of C2 among equals.
_COPIES_RANK = np.argsort(np.argsort(TREASURE_COPIES, kind="stable"), kind="stable").astype(np.uint16)[:, None]
_WILD_BUILDINGS = np.array([Building.OSTRICH_RANCH, Building.FISH_VENDOR, Building.ROOT_MARKET])[:, None]
_PASS, _BUY_FIRST = constant(PASS, np.uint8), constant(BUY_FIRST, np.uint8)
_HEART_FIRST, _TREASURE_FIRST = constant(HEART_FIRST, np.uint8), constant(TREASURE_FIRST, np.uint8)
_EVERY_EGG = constant(TREASURES_IN_ALL, np.uint8)
_HOTEL_COINS, _ARCADE_COINS = constant(HOTEL_COINS, np.uint8), constant(ARCADE_COINS, np.uint8)
_TO_HEARTS, _TO_TREASURES = constant(HEART_FIRST, np.uint64), constant(TREASURE_FIRST, np.uint64)
_TYPES = np.arange(NUM_TREASURES, dtype=np.uint8)[:, None]


class WildRights(NamedTuple):
    """B3: the numbers (n,) of cards that may still stand for any type."""

    eggs: Bytes  # 96 for an owner of an Ostrich Ranch, when buying buildings
    fish: Bytes
    carrots: Bytes


def begin(state: GameState, games: Ints) -> Moves:
    """B1: every player takes one turn, starting with the first player."""
    state.log.phase(games, Phase.BUY)
    state.level_card[games] = NO_CARD
    state.buyer[games] = state.first_player.take(games)
    return [(Stage.TURN, games)]


def turn(state: GameState, games: Ints) -> Moves:
    """B1: the buyer may buy what can be paid, or pass."""
    at = state.at_seat(state.buyer.take(games), games)
    hand = state.home.take(at)
    passing = games[:0]
    if state.config.skip_forced and np.count_nonzero(hand) < games.size:
        holds = hand != EMPTY  # a buyer without treasures can only pass
        passing = part(~holds, games)[0]
        games, at, hand = part(holds, games, at, hand)
        if not games.size:
            return [(Stage.END_TURN, passing)]
    home = piles.open_(hand)
    rights = wild_rights(state, at)
    usable = np.add.reduce(_usable_for_building(home, rights), axis=0, dtype=np.uint8)
    most = np.minimum(usable, MOST_CARDS)
    legal = state.for_sale.take(games)  # B5
    legal &= ~state.bought.take(games)  # one of each type per turn
    legal &= AFFORDABLE.take(most)
    legal |= _hearts_for_sale(state, games, at, home, rights)
    legal |= PASS_ONLY
    if not state.config.skip_forced:
        _ask_buyer(state, games, at, Kind.BUY, legal)
        return []
    can_buy = legal != PASS_ONLY
    buyers, at, legal = part(can_buy, games, at, legal)
    if buyers.size:
        _ask_buyer(state, buyers, at, Kind.BUY, legal)
    if buyers.size < games.size:
        return [(Stage.END_TURN, passing), (Stage.END_TURN, part(~can_buy, games)[0])]
    return [(Stage.END_TURN, passing)]


def _ask_buyer(state: GameState, games: Ints, at: Ints, kind: Kind, legal: Words) -> None:
    state.kind[games] = KINDS[kind]
    put_at(state.active, at, YES)
    put_at(state.legal, at, legal)


def wild_rights(state: GameState, at: Ints) -> WildRights | None:
    """B3, C8: each Fish Vendor and each Root Market makes one card wild per round, the Ostrich Ranch every egg.

    Returns:
        The rights, or ``None`` if no buyer owns any of these buildings.
    """
    owned = state.buildings.reshape(-1).take(_WILD_BUILDINGS * state.coins.size + at)
    if not some(owned):
        return None
    ranches, vendors, markets = owned
    return WildRights(
        eggs=np.minimum(ranches, ONE) * _EVERY_EGG,
        fish=vendors - state.fish_used.take(at),
        carrots=markets - state.carrots_used.take(at),
    )


def _usable_for_building(home: Bytes, rights: WildRights | None, paid: Bytes | None = None) -> Bytes:
    """B2, B3: the number of cards of each type (6, n) that can still be added to the payment for a building.

    A payment is any set of cards in which all cards of a type except one are wild. So each type has a limit of its own:
    one card, plus the number of rights for that type.
    """
    if rights is None:
        usable: Bytes = np.minimum(home, ONE if paid is None else ONE - paid)
        return usable
    limit = np.ones_like(home)
    limit[Treasure.EGG] += rights.eggs
    limit[Treasure.FISH] += rights.fish
    limit[Treasure.CARROT] += rights.carrots
    if paid is not None:
        limit -= paid
    return np.minimum(home, limit)


def _hearts_for_sale(state: GameState, games: Ints, at: Ints, home: Bytes, rights: WildRights | None) -> Words:
    """B4, B5: the bits of the HEART actions that can be paid, with cards of one type, at least one of them real."""
    cost = NEXT_HEART_COSTS.take(state.max_hearts.take(at))
    if rights is None:
        can_pay = home >= cost
    else:
        fish = np.minimum(home[Treasure.FISH], rights.fish)
        carrots = np.minimum(home[Treasure.CARROT], rights.carrots)
        reach = home + fish + carrots
        reach[Treasure.FISH] -= fish
        reach[Treasure.CARROT] -= carrots
        can_pay = (home > ZERO) & (reach >= cost)
    can_pay &= state.heart_supply.take(games) > ZERO
    return bits.from_members(can_pay) << _TO_HEARTS


def buy(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """B1: begin to pay for a building or a heart, or pass."""
    action = np.maximum.reduce(chosen, axis=0)  # all other seats pass, and PASS is 0
    passing = action == _PASS
    shop, act = part(~passing, games, action)
    if not shop.size:
        return [(Stage.END_TURN, games)]
    state.paying[shop] = act
    at = state.at_seat(state.buyer.take(shop), shop)
    heart_cost = NEXT_HEART_COSTS.take(state.max_hearts.take(at))
    is_heart = act >= _HEART_FIRST
    state.cost[shop] = np.where(is_heart, heart_cost, BUILDING_COSTS.take(act - _BUY_FIRST, mode="clip"))
    return [(Stage.END_TURN, part(passing, games)[0]), (Stage.PAYMENT, shop)]


def payment(state: GameState, games: Ints) -> Moves:
    """B2 to B4: the player chooses what to pay with, one treasure at a time, while there is a choice."""
    at = state.at_seat(state.buyer.take(games), games)
    home = piles.open_(state.home.take(at))
    paid = state.paid.take(games)
    need = state.cost.take(games) - piles.size(paid).astype(np.uint8)
    usable = _usable(state, games, at, home, piles.open_(paid), need)
    legal = usable > ZERO
    if state.config.payment == "auto":
        return _pay_automatically(state, games, at, home * legal)
    if not state.config.skip_forced:
        forced = np.zeros(games.size, np.bool_)
    else:  # there is one way only: every usable card is needed, or one type only is usable
        all_needed = np.add.reduce(usable, axis=0, dtype=np.uint8) == need
        forced = all_needed | (np.add.reduce(legal, axis=0, dtype=np.uint8) == ONE)
    asked, their_seats, types = part(~forced, games, at, legal)
    if asked.size:  # PASS is not legal here
        _ask_buyer(state, asked, their_seats, Kind.PAY, bits.from_members(types) << _TO_TREASURES)
        if asked.size == games.size:
            return []
    games, at, usable, need = part(forced, games, at, usable, need)
    return _pay(state, games, at, np.minimum(usable, need))


def _usable(state: GameState, games: Ints, at: Ints, home: Bytes, paid: Bytes, need: Bytes) -> Bytes:
    """The number of cards of each type (6, n) that can still be added to the current payment."""
    paying = state.paying.take(games)
    rights = wild_rights(state, at)
    is_heart = paying >= _HEART_FIRST
    usable = _usable_for_building(home, rights, paid * ~is_heart)
    if some(is_heart):
        here = indices_where(is_heart)
        treasure, need = (paying - _HEART_FIRST).take(here), need.take(here)
        home, paid = home.take(here, axis=1), paid.take(here, axis=1)
        rights = None if rights is None else WildRights(*(right.take(here) for right in rights))
        usable[:, here] = _usable_for_heart(home, rights, paid, need, treasure)
    return usable


def _usable_for_heart(home: Bytes, rights: WildRights | None, paid: Bytes, need: Bytes, treasure: Bytes) -> Bytes:
    """B4: cards of the named type, and wild ones; but at least one card of the payment must be of the type itself."""
    real = treasure == _TYPES
    if rights is None:
        own: Bytes = home * real
        return own
    wild = np.zeros_like(home)
    wild[Treasure.FISH] = rights.fish
    wild[Treasure.CARROT] = rights.carrots
    wild = np.minimum(home, wild - paid * ~real)
    real_paid = (paid * real).any(axis=0)
    wild = np.minimum(wild, need - ~real_paid)
    return np.where(real, home, wild)


def can_complete(state: GameState, games: Ints) -> Bools:
    """B2 to B4: whether the home hand can complete the payment, together with the cards that were already paid."""
    at = state.at_seat(state.buyer.take(games), games)
    home = piles.open_(state.home.take(at))
    paid = piles.open_(state.paid.take(games))
    need = state.cost.take(games) - np.add.reduce(paid, axis=0, dtype=np.uint8)
    paying = state.paying.take(games)
    rights = wild_rights(state, at)
    is_heart = paying >= _HEART_FIRST
    most = np.where(is_heart, 0, np.ones_like(paid))
    if rights is not None:
        most[Treasure.EGG] += rights.eggs * ~is_heart
        most[Treasure.FISH] += rights.fish
        most[Treasure.CARROT] += rights.carrots
    real = paying - _HEART_FIRST == _TYPES
    allowed = ((paid <= most) | (real & is_heart)).all(axis=0)
    real_left = ~is_heart | ((home + paid) * real).any(axis=0)
    usable = np.add.reduce(_usable(state, games, at, home, paid, need), axis=0, dtype=np.uint8)
    can: Bools = allowed & real_left & (usable >= need)
    return can


def _pay_automatically(state: GameState, games: Ints, at: Ints, held: Bytes) -> Moves:
    """``payment="auto"``: pay with the legal type that is held most; of equals, the one with the most copies."""
    order = held.astype(np.uint16) * NUM_TREASURES + _COPIES_RANK * (held > 0)
    return _pay(state, games, at, (order.argmax(axis=0) == _TYPES).astype(np.uint8))


def pay(state: GameState, games: Ints, chosen: Bytes) -> Moves:
    """B2: pay one treasure."""
    treasure = np.maximum.reduce(chosen, axis=0) - _TREASURE_FIRST
    at = state.at_seat(state.buyer.take(games), games)
    return _pay(state, games, at, (treasure == _TYPES).astype(np.uint8))


def _pay(state: GameState, games: Ints, at: Ints, cards: Bytes) -> Moves:
    """Move ``cards`` (6, n) from the home hand to the payment."""
    pile = piles.close(cards)
    put_at(state.home, at, state.home.take(at) - pile)
    paid = state.paid.take(games) + pile
    state.paid[games] = paid
    state.log.payments(games, cards)
    complete, going_on = split(games, piles.size(paid) == state.cost.take(games))
    return [(Stage.PAYMENT, going_on), (Stage.PURCHASE, complete)]


def purchase(state: GameState, games: Ints) -> Moves:
    """Complete a purchase: use up wild rights (B3), discard the payment (B2), and hand over what was bought."""
    paying = state.paying.take(games)
    at = state.at_seat(state.buyer.take(games), games)
    paid = state.paid.take(games)
    is_heart = paying >= _HEART_FIRST
    for used, treasure in ((state.fish_used, Treasure.FISH), (state.carrots_used, Treasure.CARROT)):
        cards = piles.count(paid, treasure).astype(np.uint8)
        if not some(cards):
            continue
        # For a building the first card of a type is itself; for a heart of its own type each is, and of another none.
        own = np.where(is_heart, (paying == HEART_FIRST + treasure) * cards, np.minimum(cards, ONE))
        add_at(used, at, cards - own)
    state.discard[games] = state.discard.take(games) + paid
    state.paid[games] = 0
    state.paying[games] = NOT_PAYING
    state.cost[games] = 0
    for_hearts = part(is_heart, games, at, paying - _HEART_FIRST, paid)
    if for_hearts[0].size:
        _hand_over_heart(state, *for_hearts)
    for_buildings = part(~is_heart, games, at, paying - _BUY_FIRST)
    if for_buildings[0].size:
        _hand_over_building(state, *for_buildings)
    return [(Stage.TURN, games)]


def _hand_over_heart(state: GameState, games: Ints, at: Ints, treasure: Bytes, paid: Words) -> None:
    """B4: the maximum of hearts rises at once; B6: each Hotel pays."""
    add_at(state.max_hearts, at, ONE)
    state.heart_supply[games] = state.heart_supply.take(games) - ONE
    if state.log.on:
        state.log.add(Event.HEART, games, BUYER, treasure, piles.size(paid))
    hotels = state.buildings[Building.HOTEL].take(at)
    if some(hotels):
        _gain_buyer(state, games, at, hotels * _HOTEL_COINS, Building.HOTEL)


def _hand_over_building(state: GameState, games: Ints, at: Ints, building: Bytes) -> None:
    """B5 and B6: coins depend on what the buyer owned before; jump tokens are given while the supply lasts."""
    state.log.add(Event.BUY, games, BUYER, building)
    _gain_buyer(state, games, at, BUILDING_COINS.take(building), building)
    coins = state.buildings.reshape(-1).take(_PAYING_BUILDINGS * state.coins.size + at)
    coins *= _COINS_FOR.take(building, axis=1)
    if some(coins):
        for payer, amounts in zip(_PAYING_BUILDINGS[:, 0].tolist(), coins, strict=True):
            if some(amounts):
                _gain_buyer(state, games, at, amounts, Building(payer))
    jumps = BUILDING_JUMPS.take(building)
    if some(jumps):
        supply = state.jump_supply.take(games)
        jumps = np.minimum(jumps, supply)
        add_at(state.jumps, at, jumps)
        state.jump_supply[games] = supply - jumps
        state.log.where(Event.JUMPS, games, jumps, BUYER, value=jumps)

    add_at(state.buildings, building.astype(np.int64) * state.coins.size + at, ONE)
    add_at(state.num_buildings, at, ONE)
    shelf = state.at_seat(building, games)  # (23, N) has a building where other arrays have a seat
    left = state.building_supply.take(shelf) - ONE
    put_at(state.building_supply, shelf, left)
    bit = buy_bit(building)
    state.bought[games] = state.bought.take(games) | bit
    sold_out = bit * (left == ZERO)
    if some(sold_out):
        state.for_sale[games] = state.for_sale.take(games) & ~sold_out


def _gain_buyer(
    state: GameState, games: Ints, at: Ints, amounts: npt.NDArray[np.integer], building: Bytes | Building
) -> None:
    """Pay ``amounts`` (n,) of coins to the buyers, and log the building that they come from."""
    add_at(state.coins, at, amounts.astype(np.int16))
    state.log.where(Event.COINS, games, amounts, BUYER, building, amounts)


def end_turn(state: GameState, games: Ints) -> Moves:
    """B1: the buyer passes; the next player clockwise has a turn, or the phase ends."""
    buyer = state.buyer.take(games)
    state.log.add(Event.PASS, games, buyer)
    state.bought[games] = 0
    buyer = left_of(state, buyer)
    state.buyer[games] = buyer
    last, others = split(games, buyer == state.first_player.take(games))
    return [(Stage.ARCADES, last), (Stage.TURN, others)]


def arcades(state: GameState, games: Ints) -> Moves:
    """B7: an Arcade pays an owner with strictly fewer coins than every other; all are counted before any is paid."""
    state.buyer[games] = NOBODY
    at = state.at(games)
    owned = state.buildings[Building.ARCADE].take(at)
    if some(owned):
        coins = state.coins.take(at)
        fewest = coins == np.minimum.reduce(coins, axis=0)
        alone = np.add.reduce(fewest, axis=0, dtype=np.uint8) == ONE
        gain(state, games, at, owned * (fewest & alone) * _ARCADE_COINS, Building.ARCADE)
    return [(Stage.NIGHT, games)]
