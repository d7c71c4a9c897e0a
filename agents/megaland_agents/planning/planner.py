"""``PlannerAgent``: exact optimal stopping in the level, and purchases by their value until the end of the game.

The values of buildings, hearts and hands come from valuation.py. When to leave and when to jump follows from these
values and the exact solution of the level run (run_solver.py). The agent uses no randomness.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from megaland_agents.compiled.program import PLANNER, Code
from megaland_agents.heuristics.base import Actions, HeuristicAgent, most_held
from megaland_agents.planning.run_limits import JUMPING, LEAVING, LIMITS, MOST_COPIES, MOST_TOKENS, pack, token_steps
from megaland_agents.planning.valuation import Counts, Floats, Numbers, Valuation
from megaland_env import Building, Decisions, View
from megaland_env.actions import BUY_FIRST, HEART_FIRST, JUMP, LEAVE, PASS, STAY
from megaland_env.cards import (
    BAZAAR_COINS,
    BAZAAR_TREASURES,
    BUILDING_COSTS,
    HOSPITAL_COINS,
    MAX_HEARTS,
    NUM_LEVEL_CARDS,
    NUM_TREASURES,
    RABBIT_CARROTS,
    Treasure,
)

_CARD_BITS = 1 << np.arange(NUM_LEVEL_CARDS)


class PlannerAgent(HeuristicAgent):
    """Runs levels by exact optimal stopping, and buys what is worth most until the end of the game.

    - *Stay or leave*: the loss from a fall and the gain from the next draw are both measured by the purchases that the
      hands allow. Their ratio is used as the number of treasures carried in the exact solution of the run, which takes
      account of the unseen cards, hearts, jump tokens, Soap Makers, Temples, Bazaars and the Rabbit.
    - *Jump*: by the same solution, which includes the value of a token.
    - *Buy*: the first purchase of the best plan for the hand; passes when storing is worth more.
    - *Pay*, *keep*, *Reptile Stable*, *rabbit*: as described in ``HeuristicAgent``.

    Args:
        numbers: the parameters of its values and plans; each of the following arguments replaces one of them.
        boldness, smooth, spite, pace, token, discount, store: as in ``Numbers`` (valuation.py).

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        numbers: Numbers | None = None,
        *,
        boldness: float | None = None,
        smooth: float | None = None,
        spite: float | None = None,
        pace: float | None = None,
        token: float | None = None,
        discount: float | None = None,
        store: float | None = None,
    ) -> None:
        super().__init__()
        if not (numbers is None or isinstance(numbers, Numbers)):
            raise ValueError(f"numbers is {numbers!r}; it must be Numbers (valuation.py)")
        changes = {
            "boldness": boldness,
            "smooth": smooth,
            "spite": spite,
            "pace": pace,
            "token": token,
            "discount": discount,
            "store": store,
        }
        given = {name: number for name, number in changes.items() if number is not None}
        self._numbers = replace(Numbers() if numbers is None else numbers, **given)  # type: ignore[arg-type]
        flat = self._numbers.flat()
        self._code = None if flat is None else Code(PLANNER, np.array([token_steps(self._numbers.token)]), flat)

    def compiled(self) -> Code | None:
        """What compiled code needs to play like this agent."""
        return self._code if type(self) is PlannerAgent else None

    def numbers(self, decisions: Decisions) -> Numbers:
        """Return the parameters for these decisions. Tuning overrides this, to play many variants in one batch."""
        return self._numbers

    # ------------------------------------------------------------------------------------------------- the level

    def _run(self, decisions: Decisions) -> Actions:
        numbers = self.numbers(decisions)
        situation = _Situation(decisions, numbers)
        limit = situation.look_up(LEAVING) * np.asarray(numbers.boldness, np.float32)
        return np.where(situation.carried < limit, STAY, LEAVE).astype(np.uint8)

    def _jump(self, decisions: Decisions) -> Actions:
        situation = _Situation(decisions, self.numbers(decisions))
        return np.where(situation.carried > situation.look_up(JUMPING), JUMP, PASS).astype(np.uint8)

    # ------------------------------------------------------------------------------------------------- the purchases

    def _buy(self, decisions: Decisions) -> Actions:
        values = Valuation(decisions, self.numbers(decisions))
        hand = decisions.view.home.T[:, 0].astype(np.int8)
        legal = decisions.legal.T
        rows = np.arange(len(decisions))
        falling = -np.sort(-hand, axis=0)  # (6, M) in descending order, the order of paying
        best, choice = values.hand_unspent(hand), np.full(len(decisions), PASS, np.uint8)
        for cost in range(NUM_TREASURES, 0, -1):  # ties go to the more expensive purchase
            candidates = np.flatnonzero(cost == BUILDING_COSTS)
            allowed = legal[BUY_FIRST + candidates]
            worth = np.where(allowed, values.building[candidates], -np.inf)
            first = worth.argmax(axis=0)
            paid = falling.copy()
            paid[:cost] -= 1
            np.maximum(paid, 0, out=paid)
            plan = worth[first, rows] + values.hand(paid, values.spend_without(cost))
            better = plan > best
            best = np.where(better, plan, best)
            choice[better] = (BUY_FIRST + candidates[first])[better]
        hearts = legal[HEART_FIRST : HEART_FIRST + NUM_TREASURES]
        treasure = most_held(hand.T, hearts.T)
        paid = hand.copy()
        paid[treasure, rows] -= values.heart_cost
        np.maximum(paid, 0, out=paid)
        plan = np.where(hearts.any(axis=0), values.heart + values.hand(paid, heart=False), -np.inf)
        return np.where(plan > best, HEART_FIRST + treasure, choice).astype(np.uint8)


class _Situation:
    """State of a run in the terms of the solver, for M rows.

    Attributes:
        carried: (M,) value lost by a fall, in draws of average value.
    """

    def __init__(self, decisions: Decisions, numbers: Numbers) -> None:
        view = decisions.view
        values = Valuation(decisions, numbers)
        own = view.buildings.T[:, 0]
        home, brought = (hand.T[:, 0].astype(np.int8) for hand in (view.home, view.carried))
        carried = brought.sum(axis=0).astype(np.float32)
        bazaars = own[Building.BAZAAR_OF_ODDITIES]
        pays_bazaar = carried >= BAZAAR_TREASURES

        # The value of a hand jumps when a purchase becomes possible. It is blended with a value proportional to the
        # number of treasures.
        usual = values.spend[4] / 4
        smooth = np.asarray(numbers.smooth, np.float32)
        gain = (1 - smooth) * (values.hand(home + brought) - values.hand(home)) + smooth * usual * carried
        gain += BAZAAR_COINS * bazaars * pays_bazaar
        draw = (1 - smooth) * _worth_of_a_draw(view, values, home + brought) + smooth * usual
        draw = np.maximum(draw, np.float32(1e-3))

        spared = np.minimum(own[Building.HERB_HUT], carried) * gain / np.maximum(carried, 1)  # L7
        spared += own[Building.LABORATORY] * draw
        hospitals = np.asarray(numbers.spite, np.float32) * HOSPITAL_COINS * _neighbours_hospitals(view)
        self.carried = (gain - spared + hospitals) / draw

        self._at = ((view.unseen.T * _CARD_BITS[:, None]).sum(axis=0) * (MAX_HEARTS + 1) + view.hearts.T[0]) * (
            MOST_TOKENS + 1
        ) + np.minimum(view.jumps.T[0], MOST_TOKENS)
        self._key = pack(
            own[Building.SOAP_MAKERS] > 0,
            np.minimum(own[Building.TEMPLE_OF_ZOZ], MOST_COPIES),
            np.minimum(bazaars, MOST_COPIES) * ~pays_bazaar,
            brought[Treasure.CARROT] >= RABBIT_CARROTS,
            # A token has no value in the last round.
            np.where(values.nights < 1.5, 0, token_steps(numbers.token)),
        )

    def look_up(self, what: int) -> Floats:
        """(M,) value carried, in draws, from which it is better to leave (``LEAVING``), or to jump (``JUMPING``)."""
        found = np.empty(self._at.size, np.float32)
        for key in np.flatnonzero(np.bincount(self._key)):
            rows = np.flatnonzero(self._key == key)
            found[rows] = LIMITS.table(int(key), what).take(self._at[rows])
        return found


def _worth_of_a_draw(view: View, values: Valuation, hand: Counts) -> Floats:
    """(M,) mean value that one more treasure adds to a hand (D1)."""
    deck = view.deck.T.astype(np.float32)
    deck = np.where(deck.sum(axis=0) > 0, deck, view.discard.T)
    now = values.hand(hand)
    total = np.zeros_like(now)
    for treasure in Treasure:
        more = hand.copy()
        more[treasure] += 1
        total += deck[treasure] * (values.hand(more) - now)
    mean: Floats = total / np.maximum(deck.sum(axis=0), 1)
    return mean


def _neighbours_hospitals(view: View) -> npt.NDArray[np.uint8]:
    """(M,) number of Hospitals that pay when the deciding seat falls (L7); with two players there is one neighbour."""
    others = view.buildings.T[Building.HOSPITAL, 1:]
    neighbours: npt.NDArray[np.uint8] = others[0] + others[-1] if len(others) > 1 else others[0]
    return neighbours
