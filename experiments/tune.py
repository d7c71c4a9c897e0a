"""Tunes the numbers of a heuristic agent by simulation: ``python -m experiments.tune planner --out planner.json``.

The search is CMA-ES (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016), which suits some thirty numbers whose
worth is only known with noise. A generation is a handful of variants that all play on the same luck, one of them
against P - 1 of each opponent at every table size; what is ranked is the mean win share times P. What is kept at the
end is the middle of the search, which the noise of single variants does not reach.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agents.planner import PlannerAgent
from agents.threshold import ThresholdAgent
from agents.valuation import Prices
from experiments.evaluate import evaluate
from experiments.output import check_writable, screen, write_json
from megaland_env import Building
from megaland_env.agent import Agent
from megaland_env.cards import MAX_PLAYERS, MIN_PLAYERS

Numbers = npt.NDArray[np.float64]

# These are worth their coins at once and nothing later.
_PLAIN = (Building.SANDWICH_STAND, Building.CAFE)


@dataclass(frozen=True)
class Tunable:
    """A number that is tuned.

    Attributes:
        name: of it.
        start: where the search begins.
        step: how far it is tried to either side at first.
        low: the least that makes sense.
        high: the most.
    """

    name: str
    start: float
    step: float
    low: float = 0.0
    high: float = 10.0


def planner_numbers() -> list[Tunable]:
    """The numbers of the planner, as they are now."""
    prices = Prices()
    agent = PlannerAgent()
    return [
        *(
            Tunable(f"income.{building.label}", prices.income[building], 0.1 + 0.2 * prices.income[building])
            for building in Building
            if building not in _PLAIN
        ),
        *(
            Tunable(f"heart.{heart}", income, 0.1 + 0.2 * income)
            for heart, income in enumerate(prices.heart_income, start=5)
        ),
        Tunable("pace", prices.pace, 0.15, 0.3, 2.0),
        Tunable("token", prices.token, 0.3, 0.0, 4.0),
        Tunable("discount", prices.discount, 0.15, 0.0, 1.0),
        Tunable("store", prices.store, 0.2, 0.0, 3.0),
        Tunable("boldness", agent.boldness, 0.15, 0.2, 3.0),
        Tunable("smooth", agent.smooth, 0.2, 0.0, 1.0),
        Tunable("spite", agent.spite, 0.2, 0.0, 2.0),
    ]


def planner_of(numbers: dict[str, float]) -> PlannerAgent:
    """The planner that has these numbers."""
    income = [numbers.get(f"income.{building.label}", 0.0) for building in Building]
    prices = Prices(
        income=tuple(income),
        heart_income=tuple(numbers[f"heart.{heart}"] for heart in range(5, 9)),
        **{name: numbers[name] for name in ("pace", "token", "discount", "store")},
    )
    return PlannerAgent(prices=prices, **{name: numbers[name] for name in ("boldness", "smooth", "spite")})


def threshold_numbers() -> list[Tunable]:
    """The numbers of the threshold agent, as they are now."""
    agent = ThresholdAgent()
    return [
        Tunable("risk", agent.risk, 0.08, 0.0, 1.0),
        Tunable("jump_risk", agent.jump_risk, 0.08, 0.0, 1.0),
        Tunable("heart_rounds", agent.heart_rounds, 1.0, 0.0, 8.0),
        Tunable("horizon", agent.horizon, 1.5, 1.0, 15.0),
    ]


def threshold_of(numbers: dict[str, float]) -> ThresholdAgent:
    """The threshold agent that has these numbers, rounds as whole ones."""
    return ThresholdAgent(
        numbers["risk"], numbers["jump_risk"], round(numbers["heart_rounds"]), round(numbers["horizon"])
    )


AGENTS: dict[str, tuple[Callable[[], list[Tunable]], Callable[[dict[str, float]], Agent]]] = {
    "planner": (planner_numbers, planner_of),
    "threshold": (threshold_numbers, threshold_of),
}


def worth(agent: Agent, opponents: Sequence[str], games: int, seed: int) -> float:
    """The mean win share times P over all table sizes and opponents; 1 among equals."""
    tables = [(players, opponent) for players in range(MIN_PLAYERS, MAX_PLAYERS + 1) for opponent in opponents]
    shares = [
        players * evaluate(agent, opponent, num_players=players, games=games, seed=seed).win_share
        for players, opponent in tables
    ]
    return float(np.mean(shares))


def main(argv: Sequence[str] | None = None) -> int:
    """Search for as long as was said, and write where the search stands after every generation."""
    from cmaes import CMA

    parser = argparse.ArgumentParser(prog="python -m experiments.tune", description="Tune an agent by simulation.")
    parser.add_argument("agent", choices=AGENTS)
    parser.add_argument("--opponents", nargs="+", default=["threshold"], help="agents by name (threshold)")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (%(default)s)")
    parser.add_argument("--games", type=int, default=400, help="of a variant, a table size, an opponent (%(default)s)")
    parser.add_argument("--variants", type=int, default=16, help="in a generation (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--start", metavar="FILE", help="begin where an earlier search has ended")
    parser.add_argument("--out", metavar="FILE", required=True, help="write the numbers here")
    arguments = parser.parse_args(argv)
    check_writable(arguments.out)

    numbers_of, agent_of = AGENTS[arguments.agent]
    tunables = numbers_of()
    known = json.loads(Path(arguments.start).read_text(encoding="utf-8"))["numbers"] if arguments.start else {}
    scale = np.array([tunable.step for tunable in tunables])
    start = np.array([known.get(tunable.name, tunable.start) for tunable in tunables])
    bounds = np.array([(tunable.low, tunable.high) for tunable in tunables])

    def named(scaled: Numbers) -> dict[str, float]:
        values = np.clip(scaled * scale, bounds[:, 0], bounds[:, 1])
        return {tunable.name: round(float(value), 4) for tunable, value in zip(tunables, values, strict=True)}

    search = CMA(
        mean=start / scale,
        sigma=1.0,
        bounds=bounds / scale[:, None],
        population_size=arguments.variants,
        seed=arguments.seed,
    )
    console, end = screen(), time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < end:
        luck = arguments.seed * 1_000_000 + search.generation
        variants = [search.ask() for _ in range(arguments.variants)]
        worths = [worth(agent_of(named(one)), arguments.opponents, arguments.games, luck) for one in variants]
        search.tell([(one, -value) for one, value in zip(variants, worths, strict=True)])
        middle = named(search.mean)
        console.print(
            f"generation {search.generation}: mean {np.mean(worths):.4f}, best {max(worths):.4f}", highlight=False
        )
        settings = {"agent": arguments.agent, "opponents": arguments.opponents, "seed": arguments.seed}
        write_json(arguments.out, {**settings, "generation": search.generation, "numbers": middle})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
