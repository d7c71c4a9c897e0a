"""The simple agents ``saver``, ``hearts`` and ``builder``: what each is known for, and that they win."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from megaland_agents.heuristics.base import HeuristicAgent
from megaland_agents.heuristics.builder import BuilderAgent
from megaland_agents.heuristics.hearts import HeartsAgent
from megaland_agents.heuristics.saver import SaverAgent
from megaland_env import Action, Kind, MegalandGames
from megaland_env.agent import Agent, make_agent
from megaland_experiments.strength.evaluate import evaluate
from tests.support.play import check_agent_in_random_games
from tests.support.tables import state

AGENTS = [SaverAgent, HeartsAgent, BuilderAgent]
CHEAP_AND_DEAR = ["Herb Hut", "Hospital", "Bowling Alley", "Lodge", "Arena", "Endless Mine", "Hall of Elders"]


def decide(agent: Agent, snapshot: dict[str, Any]) -> str:
    """The action of the agent in a state, for the first seat that is asked."""
    return Action(int(agent.act(MegalandGames.restore([snapshot]).decisions())[0])).name


def shop(home: dict[str, int], **settings: Any) -> dict[str, Any]:
    """The first player is about to buy."""
    player = {"home": home} | settings.pop("player", {})
    return state([player, settings.pop("other", {})], "buy", market=CHEAP_AND_DEAR, **settings)


# ---------------------------------------------------------------------------------------------------------- saver


def test_a_saver_leaves_with_little_risk_or_with_enough() -> None:
    # Three hearts: of the nine cards to come only the Red Serpent makes it fall, 1 in 9. With four, none does.
    wounded = {"hearts": 3, "max_hearts": 4, "carried": {"egg": 2}}
    assert decide(SaverAgent(risk=0.12), state([wounded, {}], "run")) == "STAY"
    assert decide(SaverAgent(risk=0.11), state([wounded, {}], "run")) == "LEAVE"
    assert decide(SaverAgent(risk=0.12, enough=2), state([wounded, {}], "run")) == "LEAVE"
    assert decide(SaverAgent(risk=0.12, enough=2), state([wounded | {"hearts": 4}, {}], "run")) == "STAY"


def test_a_saver_keeps_what_it_can_store_for_something_dear() -> None:
    two_stalls = {"buildings": {"Sandwich Stand": 2}}
    assert decide(SaverAgent(), shop({"egg": 1, "fish": 1}, player=two_stalls)) == "PASS"
    # The night would take one of three, so one is spent, and of four two.
    one_to_spare = decide(SaverAgent(), shop({"egg": 1, "fish": 1, "gear": 1}, player=two_stalls))
    assert one_to_spare in ("BUY_HERB_HUT", "BUY_SANDWICH_STAND")
    assert decide(SaverAgent(), shop({"egg": 2, "fish": 1, "gear": 1}, player=two_stalls)) == "BUY_HOSPITAL"
    # Four different ones buy the first dear building.
    assert decide(SaverAgent(), shop({"egg": 1, "fish": 1, "gear": 1, "stone": 1}, player=two_stalls)) == "BUY_LODGE"
    saves_for_the_mine = decide(
        SaverAgent(dear=5), shop({"egg": 1, "fish": 1, "gear": 1, "stone": 1}, player={"buildings": {"Cafe": 4}})
    )
    assert saves_for_the_mine == "PASS"


# --------------------------------------------------------------------------------------------------------- hearts


def test_hearts_come_before_all_else_in_the_first_rounds() -> None:
    rich = {"egg": 3, "fish": 1, "gear": 1, "stone": 1, "carrot": 1}
    assert decide(HeartsAgent(heart_rounds=2), shop(rich, round_number=2)) == "HEART_EGG"
    assert decide(HeartsAgent(heart_rounds=2), shop(rich, round_number=3)) == "BUY_ENDLESS_MINE"


@pytest.mark.parametrize(("round_number", "paid"), [(1, "TREASURE_GEAR"), (5, "TREASURE_CARROT")])
def test_hearts_pays_with_single_treasures_as_long_as_pairs_make_hearts(round_number: int, paid: str) -> None:
    games = MegalandGames.restore([shop({"gear": 1, "stone": 2, "carrot": 3}, round_number=round_number)])
    games.step(np.array([[Action["BUY_CAFE"], 0]]))
    assert games.kind[0] == Kind.PAY
    assert Action(int(HeartsAgent(heart_rounds=4).act(games.decisions())[0])).name == paid


@pytest.mark.parametrize(("round_number", "kept"), [(1, "TREASURE_STONE"), (5, "TREASURE_GEAR")])
def test_hearts_stores_what_matches_as_long_as_pairs_make_hearts(round_number: int, kept: str) -> None:
    player = {"buildings": {"Cafe": 2}}
    games = MegalandGames.restore([shop({"gear": 1, "egg": 1, "stone": 2}, player=player, round_number=round_number)])
    while games.kind[0] == Kind.BUY:
        games.step(np.array([[Action["PASS"], Action["PASS"]]]))
    assert games.kind[0] == Kind.STORE
    assert Action(int(HeartsAgent(heart_rounds=4).act(games.decisions())[0])).name == kept


def test_hearts_dives_deeper_than_the_others() -> None:
    # Two hearts left of four, and four of the ten cards seen: of the six to come two make it fall.
    seen = ["Clouds", "Floating Eye", "Rabbit", "Bats"]
    snapshot = state([{"hearts": 2, "max_hearts": 4, "carried": {"egg": 3}}, {}], "run", seen=seen)
    assert decide(HeartsAgent(), snapshot) == "STAY"
    assert decide(BuilderAgent(), snapshot) == "LEAVE"
    assert decide(SaverAgent(), snapshot) == "LEAVE"


# -------------------------------------------------------------------------------------------------------- builder


def test_a_builder_buys_income_early_and_coins_late() -> None:
    rich = {"egg": 1, "fish": 1, "gear": 1, "stone": 1, "carrot": 1}
    assert decide(BuilderAgent(late=8), shop(rich)) == "BUY_ENDLESS_MINE"  # 3 coins a night
    assert decide(BuilderAgent(late=8), shop(rich, other={"coins": 7})) == "BUY_ENDLESS_MINE"
    assert decide(BuilderAgent(late=8), shop(rich, other={"coins": 8})) == "BUY_ARENA"  # 6 coins at once
    assert decide(BuilderAgent(late=8), shop(rich, player={"coins": 8})) == "BUY_ARENA"


def test_a_builder_buys_hearts_with_what_is_left() -> None:
    sold_out = (0, 5, 5, 5, 4, 4)
    dear = ["Bowling Alley", "Smithy", "Fishing Pond", "Lodge", "Root Market", "Arena", "Endless Mine"]
    home = {"home": {"egg": 2}}
    assert decide(BuilderAgent(), state([home, {}], "buy", star_copies=sold_out, market=dear)) == "HEART_EGG"


# ------------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("players", [2, 5])
def test_they_are_legal_and_the_same_in_any_batch(kind: type[HeuristicAgent], players: int) -> None:
    check_agent_in_random_games(kind, players, number=60, steps=100)


@pytest.mark.parametrize("name", ["saver", "hearts", "builder"])
@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_they_beat_the_random_agent(name: str, players: int) -> None:
    result = evaluate(name, "random", num_players=players, games=200, seed=1)
    assert result.win_share > 0.85
    assert result.truncated_share == 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("saver:risk=1.5", "risk is 1.5; it must be a probability"),
        ("saver:enough=-1", "enough is -1; it must be a number of treasures, 0 or more"),
        ("saver:dear=2.5", "dear is 2.5"),
        ("hearts:heart_rounds=-1", "heart_rounds is -1"),
        ("hearts:risk=-0.1", "risk is -0.1"),
        ("builder:late='soon'", "late is 'soon'"),
        ("builder:risk=2", "risk is 2"),
        ("builder:risk=low", "risk is 'low'; it must be a probability"),
        ("builder:risk=True", "risk is True"),
        ("builder:late=True", "late is True; it must be a number of coins"),
    ],
)
def test_parameters_are_checked(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(spec)


def test_the_former_name_of_builder_is_an_error_that_says_the_present_one() -> None:
    with pytest.raises(ValueError, match=r"^there is no agent 'engine' \(engine is now called builder\); there are"):
        make_agent("engine:late=6")
