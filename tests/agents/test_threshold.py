"""``ThresholdAgent``: its rules, one by one, and that they win."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_env import Action, Decisions, Kind, MegalandGames
from megaland_env.agent import make_agent
from megaland_experiments.strength.evaluate import evaluate
from tests.support.play import check_agent_in_random_games
from tests.support.tables import state


def decide(snapshot: dict[str, Any], **parameters: Any) -> list[str]:
    """The names of the agent's actions in a state, one for each seat that is asked."""
    games = MegalandGames.restore([snapshot])
    return [Action(int(action)).name for action in ThresholdAgent(**parameters).act(games.decisions())]


def in_level(**player: Any) -> list[dict[str, Any]]:
    return [player, {}]


# --------------------------------------------------------------------------------------------------- its rules


def test_it_leaves_when_the_risk_is_more_than_it_takes() -> None:
    # One heart left, and of the nine cards to come the six with skulls make it fall.
    snapshot = state(in_level(hearts=1, max_hearts=4, carried={"egg": 1}), "run")
    assert decide(snapshot, risk=0.6)[0] == "LEAVE"
    assert decide(snapshot, risk=0.67)[0] == "STAY"  # 6/9 is not more than 0.67
    assert decide(snapshot, risk=1.0)[0] == "STAY"


def test_it_jumps_when_that_makes_a_fall_less_likely() -> None:
    snapshot = state(in_level(hearts=3, max_hearts=4, jumps=1), "jump")  # only the Red Serpent, 1 in 10
    assert decide(snapshot, jump_risk=0.05) == ["JUMP"]
    assert decide(snapshot, jump_risk=0.1) == ["PASS"]
    flying = [
        "Clouds",
        "Rabbit",
        "Sludge Creature",
        "Biting Plant",
        "Red Serpent",
    ]  # what is left to fear cannot be jumped
    snapshot = state(in_level(hearts=1, max_hearts=4, jumps=1), "jump", seen=flying)
    assert decide(snapshot, jump_risk=0.05) == ["PASS"]


def test_it_buys_what_is_worth_most() -> None:
    home = {"egg": 1, "fish": 1, "gear": 1, "stone": 1, "carrot": 1}
    rich = [{"home": home}, {}]
    assert decide(state(rich, "buy", market=["Endless Mine", "Lodge"]), heart_rounds=0) == ["BUY_ENDLESS_MINE"]
    late = state(rich, "buy", market=["Endless Mine", "Lodge"], round_number=9)
    assert decide(late, heart_rounds=0) == ["BUY_HOTEL"]  # after the horizon only the coins at once count


def test_hearts_come_first_in_the_first_rounds_and_last_thereafter() -> None:
    both = [{"home": {"egg": 2, "fish": 1}}, {}]
    assert decide(state(both, "buy"), heart_rounds=1) == ["HEART_EGG"]
    assert decide(state(both, "buy", round_number=2), heart_rounds=1)[0].startswith("BUY")
    only_hearts = state([{"home": {"egg": 2}}, {}], "buy", star_copies=(0, 5, 5, 5, 4, 4), market=EXPENSIVE)
    assert decide(only_hearts, heart_rounds=0) == ["HEART_EGG"]
    two_ways = [{"home": {"stone": 3, "carrot": 3, "egg": 2}}, {}]
    assert decide(state(two_ways, "buy"), heart_rounds=1) == ["HEART_CARROT"]  # held most, and commoner than stones


EXPENSIVE = ("Bowling Alley", "Smithy", "Fishing Pond", "Soap Makers", "Lodge", "Arena", "Endless Mine")


def test_it_pays_with_what_it_has_plenty_of() -> None:
    games = MegalandGames.restore([state([{"home": {"gear": 1, "stone": 3, "carrot": 3}}, {}], "buy")])
    games.step(np.array([[Action["BUY_SANDWICH_STAND"], 0]]))
    assert games.kind[0] == Kind.PAY
    assert Action(int(ThresholdAgent().act(games.decisions())[0])) == Action["TREASURE_CARROT"]


def test_it_always_trades_with_the_rabbit() -> None:
    games = MegalandGames.restore([state(in_level(carried={"carrot": 3}), "run", reveals=["Rabbit"])])
    games.step(np.array([[Action["STAY"], Action["LEAVE"]]]))
    assert games.kind[0] == Kind.RABBIT
    assert Action(int(ThresholdAgent().act(games.decisions())[0])) == Action["TRADE"]


def test_a_stable_swaps_only_what_is_held_twice() -> None:
    for home, action in (({"egg": 2, "stone": 2}, "TREASURE_STONE"), ({"egg": 1, "stone": 1}, "PASS")):
        owner = {"home": home, "buildings": {"Reptile Stable": 1}}
        games = MegalandGames.restore([state([owner, {}], "run")])
        games.step(np.array([[Action["LEAVE"], Action["STAY"]]]))
        assert games.kind[0] == Kind.REPTILE
        assert Action(int(ThresholdAgent().act(games.decisions())[0])) == Action[action]


def test_it_keeps_new_types_first_and_rare_ones_before_common_ones() -> None:
    falling = {"hearts": 1, "carried": {"carrot": 2, "stone": 1, "gear": 1}, "buildings": {"Herb Hut": 2}}
    drawn = {"carrot": 5}  # what it draws for staying
    games = MegalandGames.restore([state([falling, {}], "run", reveals=["Bats"], deck=drawn)])
    games.step(np.array([[Action["STAY"], Action["LEAVE"]]]))
    kept = []
    while games.kind[0] == Kind.HERB_HUT:
        decisions = games.decisions()
        chosen = ThresholdAgent().act(decisions)
        kept.append(Action(int(chosen[0])).name)
        games.step(games.scatter(decisions, chosen))
    assert kept == ["TREASURE_GEAR", "TREASURE_STONE"]


# --------------------------------------------------------------------------------------------------- in any game


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_it_is_legal_and_the_same_in_any_batch(players: int) -> None:
    check_agent_in_random_games(ThresholdAgent, players, number=100)


def test_onlookers_pass() -> None:
    games = MegalandGames(num_games=2)
    games.reset(0)
    games.step(np.array([[Action["LEAVE"]] * 4] * 2))
    idle = games.rows(np.repeat([0, 1], 4), np.tile(np.arange(4), 2))
    actions = ThresholdAgent().act(idle)
    assert (actions[idle.kind == Kind.NONE] == Action["PASS"]).all()


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_it_beats_the_random_agent(players: int) -> None:
    result = evaluate(ThresholdAgent(), "random", num_players=players, games=400, seed=1)
    assert result.win_share > 0.9
    assert result.truncated_share == 0


def test_by_name_with_parameters() -> None:
    agent = make_agent("threshold:risk=0.1,heart_rounds=5")
    assert isinstance(agent, ThresholdAgent)
    assert (agent.risk, agent.heart_rounds) == (0.1, 5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"risk": 1.5}, "risk is 1.5"),
        ({"risk": float("nan")}, "risk is nan"),
        ({"jump_risk": -0.1}, "jump_risk is -0.1"),
        ({"heart_rounds": -1}, "heart_rounds is -1"),
        ({"horizon": 2.5}, "horizon is 2.5"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ThresholdAgent(**parameters)


def test_a_subclass_may_change_one_rule() -> None:
    class Coward(ThresholdAgent):
        def _run(self, decisions: Decisions) -> Any:
            return np.full(len(decisions), Action["LEAVE"], np.uint8)

    games = MegalandGames(num_games=3)
    games.reset(0)
    assert (Coward().act(games.decisions()) == Action["LEAVE"]).all()
