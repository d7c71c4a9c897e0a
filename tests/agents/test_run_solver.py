"""The solver of level runs agrees with plain recursion in fractions, brute force, known values, and play."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_agents.planning.run_solver import WHOLE_DECK, RunModel, RunSolution, solve
from megaland_env import Action, Decisions, Kind, LevelCard
from megaland_env.cards import TREASURE_COPIES
from megaland_env.seats.scenarios import RunTask
from tests.experiments.test_tasks import BEST, CARDS, begun, check_mean, play
from tests.support.tables import LEVEL_CARDS

BOX, RABBIT, SLUDGE, SERPENT = (
    LEVEL_CARDS.index(name) for name in ("Treasure Box", "Rabbit", "Sludge Creature", "Red Serpent")
)


def fraction(number: float) -> Fraction:
    return Fraction(number).limit_denominator(1000)


class PlainRun:
    """The value of a run by recursion over everything that can happen, one card and one draw at a time (L1 to L11)."""

    def __init__(self, model: RunModel) -> None:
        self.model = model
        self.rest = cache(self._rest)

    def home(self, carried: int, tokens: int) -> Fraction:
        model = self.model
        paid = model.bazaar if carried >= model.bazaar_at else 0
        return carried + fraction(paid) + fraction(model.token) * tokens

    def fallen(self, carried: int, tokens: int) -> Fraction:
        model = self.model
        return min(model.kept, carried) + fraction(model.consolation) + fraction(model.token) * tokens

    def draws(self, carried: int) -> list[tuple[Fraction, int]]:
        return [(fraction(chance), carried + worth) for worth, chance in enumerate(self.model.draw)]

    def stay(self, cards: frozenset[int], hearts: int, tokens: int, carried: int) -> Fraction:
        return sum(
            (chance * self.before(cards, hearts, tokens, more) for chance, more in self.draws(carried)), Fraction(0)
        )

    def _rest(self, cards: frozenset[int], hearts: int, tokens: int, carried: int) -> Fraction:
        home = self.home(carried, tokens)
        return max(home, self.stay(cards, hearts, tokens, carried)) if cards else home

    def before(self, cards: frozenset[int], hearts: int, tokens: int, carried: int) -> Fraction:
        walk = self.reveal(cards, hearts, tokens, carried, False)
        return max(walk, self.reveal(cards, hearts, tokens - 1, carried, True)) if tokens else walk

    def reveal(self, cards: frozenset[int], hearts: int, tokens: int, carried: int, jumping: bool) -> Fraction:
        return sum((self.met(card, cards, hearts, tokens, carried, jumping) for card in cards), Fraction(0)) / len(
            cards
        )

    def met(self, card: int, cards: frozenset[int], hearts: int, tokens: int, carried: int, jumping: bool) -> Fraction:
        soap = card == SLUDGE and self.model.soap_makers
        skulls, symbol = CARDS[card]
        damage = 0 if soap or (jumping and symbol) else skulls
        drawn = self.draws(carried) if soap or card == BOX else [(Fraction(1), carried)]
        total = Fraction(0)
        for chance, more in drawn:
            if damage >= hearts:
                total += chance * self.fallen(more, tokens)
                continue
            left = cards - {card}
            worth = self.rest(left, hearts - damage, tokens, more)
            if card == RABBIT and self.model.trade:
                traded = Fraction(0)
                for after, likely in enumerate(self.model.trade, start=more - len(self.model.trade) // 2):
                    traded += fraction(likely) * self.rest(left, hearts - damage, tokens, max(after, 0))
                worth = max(worth, traded)
            total += chance * worth
        return total + (fraction(self.model.serpent) if card == SERPENT else 0)


eighths = st.integers(0, 16).map(lambda number: number / 8)
chances = st.sampled_from([(0.0, 1.0), (0.5, 0.5), (0.0, 0.5, 0.25, 0.25), (0.25, 0.25, 0.5)])
models = st.builds(
    RunModel,
    draw=chances,
    trade=st.sampled_from([(), (0.0, 0.0, 1.0), (0.25, 0.0, 0.25, 0.25, 0.25), (1.0, 0.0, 0.0)]),
    soap_makers=st.booleans(),
    serpent=eighths,
    bazaar=eighths,
    bazaar_at=st.integers(0, 6),
    kept=st.integers(0, 3),
    consolation=eighths.map(lambda number: number - 1),
    token=eighths,
    most_tokens=st.just(2),
    most_carried=st.just(40),
)


@settings(max_examples=30, deadline=None)
@given(model=models, deck=st.sets(st.integers(0, 9), min_size=1, max_size=4), hearts=st.integers(1, 8), data=st.data())
def test_small_decks_against_plain_recursion(model: RunModel, deck: set[int], hearts: int, data: Any) -> None:
    """L2 to L11 with everything that the model knows, exactly."""
    tokens, carried = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 8))
    solution, plain = solve(model), PlainRun(model)
    unseen, cards = sum(1 << card for card in deck), frozenset(deck)
    where = unseen, hearts, tokens, carried
    assert solution.rest[where] == pytest.approx(float(plain.rest(cards, hearts, tokens, carried)), abs=1e-9)
    assert solution.stay[where] == pytest.approx(float(plain.stay(cards, hearts, tokens, carried)), abs=1e-9)
    walk = plain.reveal(cards, hearts, tokens, carried, False)
    assert solution.walk[where] == pytest.approx(float(walk), abs=1e-9)
    assert solution.stays(*where) == (plain.stay(cards, hearts, tokens, carried) > plain.home(carried, tokens))
    if tokens:
        jump = plain.reveal(cards, hearts, tokens - 1, carried, True)
        assert solution.jump[where] == pytest.approx(float(jump), abs=1e-9)
        assert solution.jumps(*where) == (jump > walk)
    else:
        assert not solution.jumps(*where)


@pytest.mark.parametrize(
    "deck",
    ["Clouds, Bats, Red Serpent", "Treasure Box, Floating Eye, Bats", "Clouds, Spires, Biting Plant, Red Serpent"],
)
@pytest.mark.parametrize("hearts", [1, 2, 3, 4])
def test_brute_force_over_all_policies(deck: str, hearts: int) -> None:
    """The highest value of all policies, each played against every order of the deck."""
    cards = [LEVEL_CARDS.index(name) for name in deck.split(", ")]
    met = {order[:seen] for order in permutations(cards) for seen in range(1, len(cards))}
    situations = sorted({tuple(sorted(seen)) for seen in met})  # hearts and treasures follow from the cards seen

    def brings_home(order: tuple[int, ...], stays: dict[tuple[int, ...], bool]) -> int:
        left, carried = hearts, 1
        for seen, card in enumerate(order, start=1):
            carried += card == BOX
            left -= CARDS[card][0]
            if left <= 0:
                return 0
            if seen < len(order):
                if not stays[tuple(sorted(order[:seen]))]:
                    return carried
                carried += 1
        return carried

    orders = list(permutations(cards))
    best = max(
        Fraction(sum(brings_home(order, dict(zip(situations, answers, strict=True))) for order in orders), len(orders))
        for answers in product((False, True), repeat=len(situations))
    )
    unseen = sum(1 << card for card in cards)
    assert solve(RunModel()).walk[unseen, hearts, 0, 1] == pytest.approx(float(best), abs=1e-12)


@pytest.mark.parametrize(
    ("hearts", "tokens", "value"),
    [(1, 0, "1/2"), (2, 0, "14/15"), (4, 0, "29/12"), (8, 0, "3839/630"), (4, 1, "77977/25200")],
)
def test_known_values_of_a_whole_run(hearts: int, tokens: int, value: str) -> None:
    assert solve(RunModel(most_tokens=2)).run(hearts, tokens) == pytest.approx(float(Fraction(value)), abs=1e-12)
    assert BEST.value(hearts, tokens) == Fraction(value)


def policy(solution: RunSolution, values: tuple[int, ...]) -> Any:
    """The solution as a policy."""

    def act(decisions: Decisions) -> npt.NDArray[np.int64]:
        view = decisions.view
        unseen = (view.unseen << np.arange(10)).sum(axis=1)
        carried = view.carried[:, 0] @ np.array(values)
        where = unseen, view.hearts[:, 0], view.jumps[:, 0], carried
        stays = solution.stay[where] > solution.leave[where[2:]] + 1e-9
        jumps = solution.jump[where] > solution.walk[where] + 1e-9
        answers = {Kind.RUN: np.where(stays, Action["STAY"], Action["LEAVE"]), Kind.JUMP: jumps * Action["JUMP"]}
        actions = np.full(len(decisions), Action["PASS"])
        for kind, answer in answers.items():
            actions[decisions.kind == kind] = answer[decisions.kind == kind]
        return actions

    return act


@pytest.mark.parametrize("values", [(1, 1, 1, 1, 1, 1), (4, 1, 2, 1, 3, 2)])
@pytest.mark.parametrize(("hearts", "tokens"), [(4, 0), (8, 0), (2, 0), (4, 2)])
def test_the_engine_agrees(hearts: int, tokens: int, values: tuple[int, ...]) -> None:
    """The solution, played with the engine, gains its value within three standard errors."""
    draw = np.bincount(values, weights=TREASURE_COPIES) / sum(TREASURE_COPIES)
    solution = solve(RunModel(draw=tuple(draw), most_tokens=2, most_carried=13 * max(values)))
    gained = play(begun(RunTask(hearts, tokens, values), 20_000), policy(solution, values))
    check_mean(gained, solution.run(hearts, tokens))


def test_more_is_never_worse() -> None:
    """More hearts, tokens, Soap Makers and huts can only help; what is left in the deck is a set of ten."""
    plain = solve(RunModel(most_tokens=2))
    rest = plain.rest[:, 1:]
    assert WHOLE_DECK == len(plain.rest) - 1 == (1 << len(LevelCard)) - 1
    assert (np.diff(rest, axis=1) >= -1e-12).all()
    assert (np.diff(rest, axis=2) >= -1e-12).all()
    for better in (RunModel(soap_makers=True, most_tokens=2), RunModel(kept=1, most_tokens=2)):
        assert (solve(better).rest[:, 1:] >= rest - 1e-12).all()


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"draw": (0.5, 0.4)}, "draw"),
        ({"draw": ()}, "draw"),
        ({"draw": (-0.5, 1.5)}, "draw"),
        ({"trade": (0.5, 0.5)}, "odd number"),
        ({"trade": (0.5, 0.1, 0.1)}, "trade"),
        ({"most_tokens": 15}, "most_tokens"),
        ({"most_carried": -1}, "most_carried"),
        ({"kept": -1}, "kept"),
    ],
)
def test_models_without_meaning(arguments: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        RunModel(**arguments)
