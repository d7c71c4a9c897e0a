"""Compiled decisions and roll-outs: they are those of NumPy, and are used where that is right."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_agents.compiled import program
from megaland_agents.compiled.program import AGENTS, Code, as_limit
from megaland_agents.heuristics.base import HeuristicAgent
from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_agents.planning import run_limits
from megaland_agents.planning.lookahead import LookaheadAgent
from megaland_agents.planning.planner import PlannerAgent
from megaland_agents.planning.run_limits import RunLimits
from megaland_agents.planning.valuation import Numbers
from megaland_env import Decisions, Kind, MegalandGames
from megaland_env.actions import BUY_FIRST, HEART_FIRST
from megaland_env.agent import make_agent, random_legal
from megaland_env.cards import MAX_HEARTS, NUM_BUILDINGS, NUM_TREASURES, START_HEARTS
from megaland_env.engine import piles
from megaland_env.engine.compiled.cache import Program, suggest_warm_up
from megaland_env.extras import is_installed
from megaland_experiments.speed import warm_up

pytestmark = pytest.mark.skipif(not is_installed("numba"), reason="Numba is not installed")

SPECS = (
    "planner",
    "planner:boldness=0.7,token=1.3,smooth=0.2,spite=0.9",
    "planner:pace=0.5,store=0.3,discount=0.4,token=0,smooth=0",
    "threshold",
    "threshold:risk=0.5,jump_risk=0.3,heart_rounds=1,horizon=2",
    "saver",
    "saver:enough=2,dear=3,risk=0.5",
    "hearts",
    "builder",
)


def agents() -> list[HeuristicAgent]:
    return [agent for spec in SPECS if isinstance(agent := make_agent(spec), HeuristicAgent)]


def code_of(agent: HeuristicAgent) -> Code:
    code = agent.compiled()
    assert code is not None
    return code


def compare(agent: HeuristicAgent, decisions: Decisions) -> npt.NDArray[np.uint8]:
    """The actions, after a check that compiled code and NumPy choose the same."""
    compiled = program.decide(code_of(agent), decisions)
    assert compiled is not None
    chosen = agent._act(decisions)
    wrong = np.flatnonzero(chosen != compiled)
    if wrong.size:
        row = decisions[wrong[:1]]
        raise AssertionError(
            f"{type(agent).__name__}, {Kind(int(row.kind[0])).label}: {compiled[wrong[0]]} instead of "
            f"{chosen[wrong[0]]} in {row._games.snapshot(int(row.game[0]))}"
        )
    assert compiled.dtype == chosen.dtype
    return compiled


def check_games(seed: int, steps: int, **config: Any) -> set[int]:
    """Compare all agents in games that all of them and the random agent play; the kinds of decision that were met."""
    games = MegalandGames(engine="compiled", **config)
    games.reset(seed)
    random = np.random.default_rng(seed)
    kinds: set[int] = set()
    for step in range(steps):
        decisions = games.decisions()
        if not len(decisions):
            break
        kinds |= set(decisions.kind.tolist())
        chosen = np.array([*(compare(agent, decisions) for agent in agents()), random_legal(decisions, seed=step)])
        who = random.integers(len(chosen), size=len(decisions))
        games.step(games.scatter(decisions, chosen[who, np.arange(len(decisions))]))
    return kinds


# ------------------------------------------------------------------------------------------------- the same actions


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_decisions_are_those_of_numpy(players: int) -> None:
    kinds: set[int] = set()
    for payment, skip_forced in (("choose", True), ("auto", False)):
        kinds |= check_games(players, 48, num_games=24, num_players=players, payment=payment, skip_forced=skip_forced)
    assert kinds == set(Kind) - {Kind.NONE}


@pytest.mark.soak
@pytest.mark.parametrize("market", ["spread", "random"])
def test_many_decisions_are_those_of_numpy(market: str) -> None:
    for players, payment, skip_forced in product((2, 3, 4, 5), ("choose", "auto"), (True, False)):
        check_games(
            players + 7, 100, num_games=40, num_players=players, payment=payment, skip_forced=skip_forced, market=market
        )


def far_fetched(kind: Kind, number: int, players: int, seed: int) -> Decisions:
    """Decisions of one kind with hands, buildings and coins that are rare in games, or cannot be reached."""
    games = MegalandGames(num_games=number, num_players=players, engine="compiled")
    games.reset(seed)
    state, random = games._state, np.random.default_rng(seed)

    def any_of(low: int, high: int, *shape: int) -> npt.NDArray[Any]:
        return random.integers(low, high, (*shape, number))

    def few(high: int, *shape: int) -> npt.NDArray[Any]:
        return any_of(0, high, *shape) * (random.random((*shape, number)) < 0.3)

    state.kind[:] = kind
    state.active[:] = True
    state.coins[:] = any_of(0, 25, players)
    state.max_hearts[:] = any_of(START_HEARTS, MAX_HEARTS + 1, players)
    state.hearts[:] = np.minimum(any_of(1, MAX_HEARTS + 1, players), state.max_hearts)
    state.jumps[:] = few(4, players)
    state.unseen[:] = any_of(1, 1 << 10)
    state.heart_supply[:] = any_of(0, 3)
    state.round[:] = any_of(1, 12)
    state.buildings[:] = few(5, NUM_BUILDINGS, players)
    state.num_buildings[:] = state.buildings.sum(axis=0)
    state.building_supply[:] = few(5, NUM_BUILDINGS)
    state.bought[:] = few(1 << 23) << BUY_FIRST
    for hands in (state.home, state.carried):
        for seat in range(players):
            hands[seat] = piles.close(few(7, NUM_TREASURES))
    state.deck[:] = piles.close(any_of(0, 5, NUM_TREASURES)) * few(2).astype(np.uint64)
    state.discard[:] = piles.close(few(5, NUM_TREASURES))
    on_sale = (state.building_supply > 0).T @ (1 << np.arange(BUY_FIRST, BUY_FIRST + NUM_BUILDINGS))
    buildings = on_sale.astype(np.uint64) & ~state.bought & few(1 << 28, players).astype(np.uint64)
    hearts = np.zeros_like(state.legal)
    for treasure in range(NUM_TREASURES):
        may = (piles.count(state.home, treasure) > 0) & (state.max_hearts < MAX_HEARTS) & (state.heart_supply > 0)
        hearts |= (may * any_of(0, 2, players)).astype(np.uint64) << np.uint64(HEART_FIRST + treasure)
    state.legal[:] = buildings | hearts | np.uint64(1)
    return games.decisions()


@pytest.mark.parametrize("kind", [Kind.RUN, Kind.JUMP, Kind.BUY])
def test_decisions_in_far_fetched_states_are_those_of_numpy(kind: Kind) -> None:
    for players in (2, 5):
        decisions = far_fetched(kind, 400, players, seed=players)
        for agent in agents():
            assert len(np.unique(compare(agent, decisions))) > 1


def test_risks_are_compared_as_numpy_does() -> None:
    """A float is rounded to float32, a NumPy number is not: 1/10 is above the latter."""
    falls = np.array([0.1], np.float32)
    for risk in (0.1, np.float64(0.1), np.float32(0.1), 0, 1, True, np.int64(0)):
        assert (float(falls[0]) > as_limit(risk)) == bool((falls > risk)[0])
    assert as_limit(0.1) != as_limit(np.float64(0.1))


@pytest.mark.parametrize(
    "spec",
    [
        "lookahead:rollouts=16",
        "lookahead:rollouts=6,policy=threshold,horizon=3",
        "lookahead:rollouts=3,policy=saver,horizon=50",
        "lookahead:rollouts=16,policy=hearts",
        "lookahead:rollouts=5,policy=builder",
    ],
)
def test_lookahead_chooses_the_same_with_either_engine(spec: str) -> None:
    agent = make_agent(spec)
    assert isinstance(agent, LookaheadAgent)
    rows = differs = 0
    for players in (2, 5):
        config: dict[str, Any] = {"num_games": 4, "num_players": players, "payment": ("auto", "choose")[players % 2]}
        both = [MegalandGames(engine=engine, **config) for engine in ("numpy", "compiled")]
        for games in both:
            games.reset(17)
        for step in range(50):
            waiting = [games.decisions() for games in both]
            if step % 8 == 7:
                chosen = [agent.act(decisions).tolist() for decisions in waiting]
                assert chosen[0] == chosen[1]
                rows += len(chosen[0])
                usual = agent.policy.act(waiting[0]).tolist()
                differs += sum(a != b for a, b in zip(chosen[0], usual, strict=True))
            for games, decisions in zip(both, waiting, strict=True):
                games.step(games.scatter(decisions, random_legal(decisions, seed=step)))
    assert rows > 40
    assert differs > 0


def test_the_real_games_are_not_touched() -> None:
    games = MegalandGames(num_games=3, engine="compiled")
    games.reset(5)
    decisions = games.decisions()
    before = games._state.bytes.copy()
    make_agent("lookahead:rollouts=3").act(decisions)
    make_agent("planner").act(decisions)
    assert (games._state.bytes == before).all()
    assert len(decisions.kind) == len(decisions)  # they are still of this moment


# ------------------------------------------------------------------------------------------------- solutions of runs


def test_missing_solutions_are_added_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than there is room for at first, in the midst of decisions and of roll-outs."""
    agent = PlannerAgent()
    decisions = far_fetched(Kind.RUN, 60, 4, seed=0)
    expected = agent._act(decisions)
    looks_ahead = make_agent("lookahead:rollouts=2,horizon=2")
    forked = decisions[:5]
    also = looks_ahead.act(forked).tolist()
    fresh = RunLimits()
    monkeypatch.setattr(program, "LIMITS", fresh)
    assert compare(agent, decisions).tolist() == expected.tolist()
    slots = fresh.tables.slots[fresh.tables.slots >= 0]
    assert sorted(slots) == list(range(slots.size))
    assert slots.size > 4
    monkeypatch.setattr(program, "LIMITS", RunLimits())
    assert looks_ahead.act(forked).tolist() == also


def test_a_solution_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = RunLimits()
    first = limits.table(3, run_limits.LEAVING)
    monkeypatch.setattr(run_limits, "_limits", lambda key: pytest.fail("again"))
    assert limits.table(3, run_limits.LEAVING) is not None
    assert (limits.table(3, run_limits.LEAVING) == first).all()
    limits.add(3)


# ------------------------------------------------------------------------------------------------- where it is used


class Own(PlannerAgent):
    """An agent of a user, which leaves at once."""

    def _run(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        return np.full(len(decisions), 2, np.uint8)


class OwnRisk(ThresholdAgent):
    def _rabbit(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
        return np.zeros(len(decisions), np.uint8)


ONE_FOR_EACH_ROW = Numbers(pace=np.ones(4, np.float32)), Numbers(income=np.ones((NUM_BUILDINGS, 4), np.float32))


@pytest.mark.parametrize("agent", [Own(), OwnRisk(), *map(PlannerAgent, ONE_FOR_EACH_ROW)])
def test_what_compiled_code_does_not_know_is_left_to_numpy(agent: HeuristicAgent) -> None:
    assert agent.compiled() is None
    games = MegalandGames(engine="compiled")
    games.reset(0)
    decisions = games.decisions()
    assert decisions.legal[np.arange(len(decisions)), agent.act(decisions)].all()


@pytest.mark.parametrize(("engine", "used"), [("numpy", False), ("compiled", True)])
def test_it_is_used_with_the_compiled_engine(engine: str, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    games = MegalandGames(engine=engine)
    games.reset(0)
    decisions = games.decisions()
    with monkeypatch.context() as patched:
        if used:
            patched.setattr(PlannerAgent, "_act", lambda self, decisions: pytest.fail("NumPy"))
        assert len(PlannerAgent().act(decisions)) == 4
    assert (program.decide(code_of(PlannerAgent()), decisions) is not None) == used


def test_nobody_waits_for_it_who_did_not_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``auto`` the rules may be in the cache and this program not: it is not compiled then."""
    suggest_warm_up.cache_clear()
    monkeypatch.setenv("MEGALAND_ENGINE", "auto")
    monkeypatch.setattr(Program, "is_cached", lambda program: program is not AGENTS)
    games = MegalandGames()
    assert games.engine == "compiled"
    games.reset(0)
    assert games.engine_for(AGENTS) is None
    assert games.copy().engine_for(AGENTS) is None
    assert MegalandGames.restore([games.snapshot(0)]).engine_for(AGENTS) is None
    assert capsys.readouterr().err.count("megaland warm-up") == 1
    asked = MegalandGames.restore([games.snapshot(0)], engine="compiled")
    assert asked.engine_for(AGENTS) is not None
    assert asked.copy().engine_for(AGENTS) is not None


def test_warm_up_compiles_it() -> None:
    assert AGENTS in warm_up.PROGRAMS
    assert len({program.name for program in warm_up.PROGRAMS}) == len(warm_up.PROGRAMS)


def test_roll_outs_make_decisions_out_of_date() -> None:
    games = MegalandGames(engine="compiled")
    games.reset(0)
    decisions = games.decisions()
    code = code_of(ThresholdAgent())
    assert program.roll_out(code, games, np.zeros(1, np.int64), np.array([2]), games.rounds + 1)
    assert games.rounds[0] == 2
    with pytest.raises(RuntimeError, match="out of date"):
        program.decide(code, decisions)


def test_rows_of_other_games_are_refused() -> None:
    games = MegalandGames(engine="compiled")
    games.reset(0)
    decisions = games.decisions()
    decisions.game[1] = 7
    with pytest.raises(IndexError, match="names a game or a seat that there is not"):
        PlannerAgent().act(decisions)


def test_seats_that_are_not_asked_pass() -> None:
    games = MegalandGames(engine="compiled")
    games.reset(0)
    games.step(games.scatter(games.decisions(), np.full(4, 2)))
    idle = games.rows(np.zeros(4, np.int64), np.arange(4))
    for agent in agents():
        assert (compare(agent, idle)[idle.kind == Kind.NONE] == 0).all()
