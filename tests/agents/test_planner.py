"""``PlannerAgent``: obvious decisions, its values, and independence of the batch."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_agents.planning.planner import PlannerAgent
from megaland_agents.planning.valuation import LAYERS, NIGHTS_LEFT, Numbers, Valuation
from megaland_env import Action, Building, Kind, MegalandGames
from megaland_env.agent import make_agent
from megaland_env.cards import BUILDING_COSTS, MOON_COINS
from megaland_experiments.strength.evaluate import evaluate
from megaland_experiments.tuning.tune import PlannerVariants, planner_numbers
from tests.support.play import check_agent_in_random_games
from tests.support.tables import LEVEL_CARDS, state


def decide(snapshot: dict[str, Any], agent: PlannerAgent | None = None) -> str:
    """The action of the first seat that is asked."""
    agent = PlannerAgent() if agent is None else agent
    return Action(int(agent.act(MegalandGames.restore([snapshot]).decisions())[0])).name


MUCH = {"egg": 2, "fish": 2, "gear": 1, "stone": 2, "carrot": 1}
HARMLESS = ["Clouds", "Spires", "Green Mesa", "Treasure Box"]
JUMPABLE = ["Rabbit", "Sludge Creature", "Biting Plant", "Red Serpent"]


# ------------------------------------------------------------------------------------------------------- the level


def test_it_leaves_with_much_and_stays_with_nothing() -> None:
    """L9: one heart left, and six of the nine cards to come have skulls."""
    assert decide(state([{"hearts": 1, "max_hearts": 4, "carried": MUCH}, {}], "run")) == "LEAVE"
    assert decide(state([{"hearts": 1, "max_hearts": 4}, {}], "run")) == "STAY"


def test_it_stays_while_nothing_can_happen() -> None:
    assert decide(state([{"hearts": 4, "carried": {"egg": 1, "fish": 1}}, {}], "run")) == "STAY"  # no card has four


def test_soap_makers_make_it_stay() -> None:
    """C8, L5: the only dangerous card left does not hurt an owner of Soap Makers."""
    seen = [card for card in LEVEL_CARDS if card not in ("Sludge Creature", "Clouds")]
    wounded = {"hearts": 1, "max_hearts": 4, "carried": {"egg": 2, "fish": 1, "gear": 1}}
    assert decide(state([wounded, {}], "run", seen=seen)) == "LEAVE"
    assert decide(state([wounded | {"buildings": {"Soap Makers": 1}}, {}], "run", seen=seen)) == "STAY"


def test_it_jumps_over_a_certain_fall_only_if_that_helps() -> None:
    """L2, L5: it jumps over a certain fall if the card has the jump symbol, and keeps the token otherwise."""
    rich = {"hearts": 1, "max_hearts": 4, "jumps": 1, "carried": MUCH}
    seen = [card for card in LEVEL_CARDS if card not in JUMPABLE]
    assert decide(state([rich, {}], "jump", seen=seen)) == "JUMP"
    assert decide(state([rich, {}], "jump", seen=[card for card in LEVEL_CARDS if card not in HARMLESS])) == "PASS"
    flying = [card for card in LEVEL_CARDS if card not in ("Floating Eye", "Bats")]
    assert decide(state([rich, {}], "jump", seen=flying)) == "PASS"


def test_what_is_kept_on_falling_makes_it_bolder() -> None:
    """L7: with a Herb Hut or Laboratory less is lost. Somewhere between the best and the worst odds that shows."""

    def hearts_to_stay(player: dict[str, Any]) -> list[str]:
        carried = {"egg": 1, "fish": 1, "gear": 1, "stone": 1}
        return [
            decide(state([player | {"hearts": hearts, "max_hearts": 8, "carried": carried}, {}], "run"))
            for hearts in range(1, 9)
        ]

    plain = hearts_to_stay({})
    assert plain == sorted(plain)  # leaves with few hearts, stays with many
    assert {"LEAVE", "STAY"} <= set(plain)
    for owned in ({"Herb Hut": 4}, {"Laboratory": 4}):
        assert hearts_to_stay({"buildings": owned}).count("STAY") >= plain.count("STAY")


# ------------------------------------------------------------------------------------------------------- purchases

# What the moon pays as it is printed (N3), so that what is best does not hang on tuned numbers.
PRINTED = Numbers(income=[MOON_COINS.get(building, 0) for building in Building], pace=1.0)
FIVE = {"egg": 1, "fish": 1, "gear": 1, "stone": 1, "carrot": 1}
EIGHT_HEARTS = {"hearts": 8, "max_hearts": 8}  # nothing to buy but buildings


def test_lasting_income_first_and_coins_at_the_end() -> None:
    market = ["Endless Mine", "Lodge"]
    early = state([{"home": FIVE} | EIGHT_HEARTS, {}], "buy", market=market)
    assert decide(early) == "BUY_ENDLESS_MINE"
    late = state([{"home": FIVE} | EIGHT_HEARTS, {"coins": 20}], "buy", market=market)
    assert decide(late, PlannerAgent(PRINTED)) not in ("BUY_ENDLESS_MINE", "BUY_LODGE")


def test_owned_multipliers_count() -> None:
    """B6: a Smithy pays 3 coins for the Hotel, and nothing for the Temple."""
    six = FIVE | {"crystal": 1}
    last = {"coins": 20}
    market = ["Herb Hut", "Hospital", "Ostrich Ranch", "Bowling Alley", "Smithy", "Lodge", "Endless Mine"]
    shop: dict[str, Any] = {"market": market, "star_copies": (0, 0, 0, 0, 4, 4)}
    assert (
        decide(state([{"home": six} | EIGHT_HEARTS, last], "buy", **shop), PlannerAgent(PRINTED)) == "BUY_TEMPLE_OF_ZOZ"
    )
    smith = {"home": six, "buildings": {"Smithy": 2}} | EIGHT_HEARTS
    assert decide(state([smith, last], "buy", **shop), PlannerAgent(PRINTED)) == "BUY_HOTEL"


def test_hearts_early_and_not_at_the_end() -> None:
    pair = [{"home": {"egg": 2}}, {}]
    assert decide(state(pair, "buy")) == "HEART_EGG"
    ending = state([{"home": {"egg": 2}}, {"coins": 20}], "buy")
    assert not decide(ending).startswith("HEART")


def test_it_pays_with_what_it_has_plenty_of() -> None:
    snapshot = state([{"home": {"gear": 1, "stone": 3, "carrot": 3}} | EIGHT_HEARTS, {"coins": 20}], "buy")
    games = MegalandGames.restore([snapshot])
    games.step(np.array([[Action["BUY_SANDWICH_STAND"], 0]]))
    assert games.kind[0] == Kind.PAY
    assert Action(int(PlannerAgent().act(games.decisions())[0])) == Action["TREASURE_CARROT"]


# ------------------------------------------------------------------------------------------------------- values


def valuation(snapshot: dict[str, Any], numbers: Numbers) -> Valuation:
    return Valuation(MegalandGames.restore([snapshot]).decisions()[:1], numbers)


@settings(max_examples=40, deadline=None)
@given(market=st.sets(st.sampled_from(list(Building)[6:]), min_size=1, max_size=6), coins=st.integers(0, 19))
def test_what_different_treasures_buy(market: set[Building], coins: int) -> None:
    """``spend`` is the highest value of any list of costs, each worth the best building of that cost."""
    snapshot = state([{"coins": coins, "home": {"egg": 1}}, {}], "buy", market=[building.label for building in market])
    values = valuation(snapshot, Numbers(store=0.0))
    best = [values.building[cost == BUILDING_COSTS, 0].max() for cost in range(1, 7)]

    def most(treasures: int) -> float:
        return max([0.0, *(best[cost - 1] + most(treasures - cost) for cost in range(1, treasures + 1))])

    assert values.spend[:, 0].tolist() == pytest.approx([most(treasures) for treasures in range(7)], rel=1e-5)


def test_the_worth_of_buildings() -> None:
    """C6, B6: the value has coins at once, income of the nights left, and what owned buildings pay for the purchase."""
    income = np.zeros(23)
    income[[Building.LODGE, Building.HOSPITAL]] = 2.0, 1.5
    numbers = Numbers(income=income, heart_income=(1.0, 0.5, 0.25, 0.125), token=1.0, pace=1.0)
    owner = {"home": {"egg": 1}, "buildings": {"Hall of Elders": 1, "Toll Booth": 2, "Smithy": 1, "Hotel": 1}}
    market = ["Lodge", "Hospital", "Gym"]
    values = valuation(state([owner, {"coins": 10}], "buy", market=market), numbers)
    nights = NIGHTS_LEFT[10]
    assert values.nights[0] == pytest.approx(nights)
    expected = {
        Building.LODGE: 2 * nights + 1 + 3,
        Building.HOSPITAL: 1.5 * (nights - 1) + 1,
        Building.GYM: 1 + 2 + 1,
        Building.CAFE: 2 + 2,
        Building.HOTEL: 5 + 2 + 3,
        Building.TEMPLE_OF_ZOZ: 7 + 2,
    }
    for building, worth in expected.items():
        assert values.building[building, 0] == pytest.approx(worth, rel=1e-5), building.label
    assert values.heart[0] == pytest.approx((nights - 1) + 2, rel=1e-5)
    assert values.heart_cost[0] == 2
    on_sale = set(np.flatnonzero(values.building[:, 0] > -1e5).tolist())
    assert set(expected) <= on_sale
    assert len(on_sale) == 13  # six stars and seven normal ones (S1)


def test_the_worth_of_hands() -> None:
    """A hand is layers of different treasures; a heart takes one from each of several."""
    numbers = Numbers(income=(0.0,) * 23, discount=0.5, store=0.0, heart_income=(3.0, 3.0, 3.0, 3.0))
    values = valuation(state([{"home": {"egg": 1}}, {"coins": 18}], "buy"), numbers)
    spend = values.spend[:, 0]

    def worth(*held: int) -> float:
        hand = np.array(held, np.int8)[:, None]
        return float(values.hand(hand, heart=False)[0])

    assert worth(0, 0, 0, 0, 0, 0) == 0
    assert worth(1, 1, 0, 0, 0, 0) == pytest.approx(spend[2])
    assert worth(2, 1, 3, 0, 0, 0) == pytest.approx(spend[3] + 0.5 * spend[2] + 0.25 * spend[1])
    pair = np.array([2, 0, 0, 0, 0, 0], np.int8)[:, None]
    assert float(values.hand(pair)[0]) == pytest.approx(max(spend[1] * 1.5, float(values.heart[0])))


@pytest.mark.parametrize(
    ("owned", "hand", "different"),
    [
        ({"Ostrich Ranch": 1}, {"egg": 4}, 4),
        ({"Fish Vendor": 1}, {"fish": 4}, 2),
        ({"Root Market": 2}, {"carrot": 4, "egg": 1}, 4),
        ({}, {"egg": 4}, 1),
    ],
)
def test_wild_treasures(owned: dict[str, int], hand: dict[str, int], different: int) -> None:
    """B3: an Ostrich Ranch makes any eggs wild, a Fish Vendor one fish, a Root Market one carrot."""
    games = MegalandGames.restore([state([{"home": hand, "buildings": owned} | EIGHT_HEARTS, {}], "buy")])
    decisions = games.decisions()
    values = Valuation(decisions, Numbers(discount=0.0))
    held = decisions.view.home.T[:, 0].astype(np.int8)
    assert float(values.hand(held)[0]) == pytest.approx(float(values.spend[different, 0]))
    assert LAYERS >= 4


# ------------------------------------------------------------------------------------------------------- in any game


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_it_is_legal_and_the_same_in_any_batch(players: int) -> None:
    check_agent_in_random_games(PlannerAgent, players, number=24)


@pytest.mark.parametrize("players", [2, 5])
def test_it_beats_the_threshold_agent(players: int) -> None:
    result = evaluate(PlannerAgent(), "threshold", num_players=players, games=600, seed=1)
    assert result.interval[0] > result.par


def test_by_name_with_parameters() -> None:
    agent = make_agent("planner:boldness=0.5,smooth=1")
    assert isinstance(agent, PlannerAgent)
    assert (agent._numbers.boldness, agent._numbers.smooth) == (0.5, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"boldness": -1}, "boldness is -1"),
        ({"smooth": 1.5}, "smooth is 1.5"),
        ({"token": 5}, "token is 5"),
        ({"pace": float("nan")}, "pace is nan"),
        ({"boldness": float("inf")}, "boldness is inf; it must be from 0 to 100"),
        ({"store": "much"}, "store is 'much'"),
        ({"numbers": Numbers(), "discount": 2}, "discount is 2"),
        ({"numbers": 3}, "numbers is 3; it must be Numbers"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PlannerAgent(**parameters)


def test_lists_of_numbers_are_checked() -> None:
    with pytest.raises(ValueError, match="income has 3 numbers; it must have 23"):
        Numbers(income=(1.0, 2.0, 3.0))


def test_variants_play_as_planners_of_their_numbers() -> None:
    """Tuning measures the same play as that of an agent with the numbers."""
    variants = [{tunable.name: tunable.start for tunable in planner_numbers()} for _ in range(3)]
    variants[1]["boldness"] = 0.3
    variants[2]["pace"] = 0.5
    games = MegalandGames(num_games=9)
    games.reset(0)
    singles = [PlannerAgent(), PlannerAgent(boldness=0.3), PlannerAgent(pace=0.5)]
    together = PlannerVariants(variants, games=3)
    differ = 0
    while len(decisions := games.decisions()):
        actions = together.act(decisions)
        for number, single in enumerate(singles):
            mine = np.flatnonzero(decisions.game // 3 == number)
            assert np.array_equal(single.act(decisions[mine]), actions[mine])
        differ += sum((one.act(decisions) != actions).any() for one in singles)
        games.step(games.scatter(decisions, actions))
    assert differ


def test_no_pair_of_different_treasures_is_worth_less_than_one() -> None:
    """A hand is never worth less with another treasure in it."""
    values = valuation(state([{"home": {"egg": 1}}, {}], "buy"), Numbers())
    for held in combinations(range(6), 3):
        hand = np.zeros((6, 1), np.int8)
        before = 0.0
        for treasure in held:
            hand[treasure] += 1
            now = float(values.hand(hand)[0])
            assert now >= before
            before = now
