"""``LookaheadAgent``: it finds obvious moves, and knows no more than a player does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_agents.planning import lookahead
from megaland_agents.planning.lookahead import LookaheadAgent
from megaland_env import Action, Decisions, Kind, MegalandConfig, MegalandGames
from megaland_env.agent import Agent, make_agent, random_legal
from megaland_experiments.strength.evaluate import evaluate
from tests.support.tables import LEVEL_CARDS, state

ALL_IN = ThresholdAgent(risk=1.0)  # always stays


def decide(agent: Agent, snapshot: dict[str, Any]) -> str:
    """The action of the agent in a state, for the first seat that is asked."""
    return Action(int(agent.act(MegalandGames.restore([snapshot]).decisions())[0])).name


def some_decisions(players: int = 3, number: int = 12, **config: Any) -> Decisions:
    """Decisions of several kinds, from the middle of games."""
    games = MegalandGames(MegalandConfig(num_players=players, **config), number)
    games.reset(7)
    for step in range(40):
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions, seed=step)))
    return games.decisions()


# ------------------------------------------------------------------------------------------------- what it finds


def test_it_goes_home_before_a_certain_fall() -> None:
    harmless = ["Clouds", "Spires", "Green Mesa", "Treasure Box"]
    runner = {"hearts": 1, "max_hearts": 4, "carried": {"egg": 1, "fish": 1, "gear": 1, "stone": 2}}
    snapshot = state([runner, {}], "run", seen=harmless)
    assert decide(ALL_IN, snapshot) == "STAY"
    assert decide(LookaheadAgent(ALL_IN, rollouts=8), snapshot) == "LEAVE"


def test_it_stays_while_nothing_can_happen() -> None:
    careful = ThresholdAgent(risk=0.0)
    fall_certain_for_others = [{"carried": {"egg": 4}}, {"hearts": 1, "max_hearts": 4}]
    snapshot = state(fall_certain_for_others, "run")
    assert decide(LookaheadAgent(careful, rollouts=1), snapshot) == "STAY"


def test_it_jumps_what_would_make_it_fall() -> None:
    but_the_serpent = [card for card in LEVEL_CARDS if card != "Red Serpent"]
    runner = {"hearts": 2, "max_hearts": 4, "jumps": 1, "carried": {"egg": 1, "fish": 1, "gear": 1, "stone": 2}}
    never = ThresholdAgent(jump_risk=1.0)
    snapshot = state([runner, {"in_level": False}], "jump", seen=but_the_serpent)
    assert decide(never, snapshot) == "PASS"
    assert decide(LookaheadAgent(never, rollouts=8), snapshot) == "JUMP"


def test_it_wins_when_it_can_be_done_tonight() -> None:
    # The other will have 20 coins tonight. A Mine would bring 3, and that is too late; other purchases bring 5 or 6.
    buyer = {"coins": 16, "home": {"egg": 1, "fish": 1, "gear": 1, "stone": 1, "carrot": 1}}
    other = {"coins": 18, "buildings": {"Lodge": 1}}
    snapshot = state([buyer, other], "buy", market=["Endless Mine", "Arena"], round_number=4)
    for agent, wins in ((ThresholdAgent(), False), (LookaheadAgent("threshold", rollouts=8), True)):
        games = MegalandGames.restore([snapshot])
        while games.kind[0] != Kind.NONE:
            decisions = games.decisions()
            games.step(games.scatter(decisions, agent.act(decisions)))
        assert games.rounds[0] == 4
        assert games.winners[0].tolist() == [wins, not wins]


def test_it_beats_its_own_policy() -> None:
    result = evaluate(LookaheadAgent("threshold", rollouts=6), "threshold", num_players=2, games=40, seed=1)
    assert result.win_share > result.par


def test_in_doubt_it_does_as_its_policy() -> None:
    """If every action loses, it takes the action of its policy."""
    home = {"egg": 2, "fish": 1, "gear": 1}
    lost = state([{"home": home}, {"coins": 60}], "buy")
    for policy in ("threshold", "builder", "planner"):
        usual = decide(make_agent(policy), lost)
        assert usual != "PASS"
        assert decide(LookaheadAgent(policy, rollouts=16), lost) == usual


# ------------------------------------------------------------------------------------- what it may and may not know


def test_the_cards_to_come_are_not_known_to_it() -> None:
    many = {"egg": 2, "fish": 2, "gear": 1, "stone": 2}
    in_danger = {"hearts": 1, "max_hearts": 4, "carried": many}  # 6 of 9 cards make it fall, but not the next one
    assert decide(LookaheadAgent(ALL_IN), state([in_danger, {}], "run", reveals=["Spires"])) == "LEAVE"
    at_ease = {"hearts": 3, "max_hearts": 4, "carried": {"egg": 1}}  # 1 of 9 cards makes it fall, and it is the next
    assert decide(LookaheadAgent("threshold"), state([at_ease, {}], "run", reveals=["Red Serpent"])) == "STAY"


class Spy:
    """Plays as the threshold agent does, and notes which games it is asked about."""

    def __init__(self) -> None:
        self.games: list[MegalandGames] = []
        self.seats: list[set[int]] = []

    def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        self.games.append(decisions._games)
        self.seats.append(set(decisions.seat.tolist()))
        return ThresholdAgent().act(decisions)


def test_it_plans_on_games_of_fresh_luck_and_touches_no_other() -> None:
    decisions = some_decisions()
    real = decisions._games
    before = [real.snapshot(game) for game in range(real.num_games)]
    spy = Spy()
    LookaheadAgent(spy, rollouts=4).act(decisions)
    seeds = {seed for games in spy.games if games is not real for seed in games.seeds.tolist()}
    assert seeds
    assert not seeds & set(real.seeds.tolist())
    assert [real.snapshot(game) for game in range(real.num_games)] == before


def test_who_decides_at_the_same_moment_is_played_by_the_policy() -> None:
    games = MegalandGames.restore([state([{"hearts": 1, "max_hearts": 4, "carried": {"egg": 3}}, {}, {}], "run")])
    spy = Spy()
    LookaheadAgent(spy, rollouts=4).act(games.decisions()[:1])
    assert spy.seats[0] == {0}  # the one row that it was asked about
    assert spy.seats[1] == {0, 1, 2}  # the first moment of the roll-outs


# ------------------------------------------------------------------------------------------------- in any game


@pytest.mark.parametrize("players", [2, 5])
def test_it_is_legal_in_every_kind_of_decision(players: int) -> None:
    agent = LookaheadAgent("threshold", rollouts=2)
    kinds: set[int] = set()
    for skip_forced in (True, False):
        games = MegalandGames(MegalandConfig(num_players=players, skip_forced=skip_forced, market="random"), 25)
        games.reset(players)
        for step in range(60):
            decisions = games.decisions()
            if step % 20 == 19 or set(decisions.kind.tolist()) - kinds:
                actions = agent.act(decisions)
                assert actions.shape == (len(decisions),)
                assert decisions.legal[np.arange(len(decisions)), actions].all()
                kinds |= set(decisions.kind.tolist())
            games.step(games.scatter(decisions, random_legal(decisions, seed=step)))
    assert kinds == set(Kind) - {Kind.NONE}


def test_it_answers_the_same_in_any_batch_and_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    decisions = some_decisions()
    together = LookaheadAgent("threshold", rollouts=16).act(decisions)
    alone = [LookaheadAgent("threshold", rollouts=16).act(decisions[[row]])[0] for row in range(len(decisions))]
    assert together.tolist() == alone
    backwards = LookaheadAgent("threshold", rollouts=16).act(decisions[::-1])
    assert backwards[::-1].tolist() == alone
    monkeypatch.setattr(lookahead, "MOST_GAMES", 100)
    assert LookaheadAgent("threshold", rollouts=16).act(decisions).tolist() == alone


def test_a_long_horizon_plays_to_the_end() -> None:
    ahead = {"coins": 17, "buildings": {"Lodge": 1}}  # wins tonight, whatever it does: all that it can do is worth 1
    games = MegalandGames.restore([state([ahead, {"in_level": False}], "run")])
    values = []
    agent = LookaheadAgent("threshold", horizon=50)
    for action in ("STAY", "LEAVE"):
        forked = games.decisions()[:1].fork(3)
        values.append(agent._play(forked, np.zeros(3, np.int64), np.full(3, Action[action])).tolist())
    assert values == [[1, 1, 1]] * 2


def test_another_seed_is_other_luck() -> None:
    decisions = some_decisions(number=40)
    answers = [LookaheadAgent("threshold", rollouts=6, seed=seed).act(decisions).tolist() for seed in (0, 0, 1)]
    assert answers[0] == answers[1] != answers[2]


def test_it_passes_where_nobody_asks() -> None:
    games = MegalandGames(num_games=2)
    games.reset(0)
    games.step(np.array([[Action["LEAVE"]] * 4] * 2))
    idle = games.rows(np.repeat([0, 1], 4), np.tile(np.arange(4), 2))
    actions = LookaheadAgent("threshold", rollouts=2).act(idle)
    assert (actions[idle.kind == Kind.NONE] == Action["PASS"]).all()
    assert LookaheadAgent("threshold").act(idle[:0]).shape == (0,)


def test_the_policy_may_be_any_agent() -> None:
    agent = make_agent("lookahead:rollouts=2,policy=builder:late=12")
    assert isinstance(agent, LookaheadAgent)
    decisions = some_decisions(number=4)
    assert decisions.legal[np.arange(len(decisions)), agent.act(decisions)].all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lookahead:rollouts=0", "rollouts is 0; it must be a number of games, 1 or more"),
        ("lookahead:rollouts=2.5", r"rollouts is 2\.5"),
        ("lookahead:horizon=0", "horizon is 0; it must be a number of rounds, 1 or more"),
        ("lookahead:seed=0.5", r"seed is 0\.5; it must be an integer"),
        ("lookahead:policy=nobody", "there is no agent 'nobody'"),
    ],
)
def test_parameters_are_checked(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(spec)
