"""Tune the numbers of a heuristic agent by simulation: ``python -m megaland_experiments.tuning.tune planner --out
planner.json``.

The search is CMA-ES (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016), which suits an objective of some thirty
numbers that is measured with noise. The variants of a generation all play on the same seeds, each against P - 1
opponents with every number of players, and are ranked by the mean win share times P. The result is the mean of the
search, which the noise of single variants hardly affects.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_agents.planning.planner import PlannerAgent
from megaland_agents.planning.valuation import Numbers
from megaland_env import Building, Decisions, MegalandConfig, MegalandGames
from megaland_env.agent import Agent, make_agent
from megaland_env.cards import MAX_PLAYERS, MIN_PLAYERS
from megaland_env.engine import rng
from megaland_env.files import read_json, write_json
from megaland_env.outside_text import printable
from megaland_env.seats.asking import ask_agents
from megaland_env.seats.moments import play_on
from megaland_experiments.options import Parser, opponents_from, path_name, whole_number
from megaland_experiments.shared.output import check_writable, decoration, going_on, say, screen
from megaland_experiments.shared.progress import duration

DEFAULT_OPPONENT = "threshold"
MOST_BYTES = 1 << 20
"""Size of the largest file that is read; a search writes some thirty numbers."""

Values = npt.NDArray[np.float64]

# Buildings that pay coins at once and nothing later.
_PLAIN = (Building.SANDWICH_STAND, Building.CAFE)


@dataclass(frozen=True)
class Tunable:
    """A number that is tuned.

    Attributes:
        name: its name.
        start: its value at the beginning of the search.
        step: its standard deviation in the first generation.
        low: the least value.
        high: the largest value.
    """

    name: str
    start: float
    step: float
    low: float = 0.0
    high: float = 10.0


def planner_numbers() -> list[Tunable]:
    """The numbers of the planner, with their current values."""
    now = Numbers()
    return [
        *(
            Tunable(f"income.{building.label}", now.income[building], 0.1 + 0.2 * now.income[building])
            for building in Building
            if building not in _PLAIN
        ),
        *(
            Tunable(f"heart.{heart}", income, 0.1 + 0.2 * income)
            for heart, income in enumerate(now.heart_income, start=5)
        ),
        Tunable("pace", float(now.pace), 0.15, 0.3, 2.0),
        Tunable("token", float(now.token), 0.3, 0.0, 4.0),
        Tunable("discount", float(now.discount), 0.15, 0.0, 1.0),
        Tunable("store", float(now.store), 0.2, 0.0, 3.0),
        Tunable("boldness", float(now.boldness), 0.15, 0.2, 3.0),
        Tunable("smooth", float(now.smooth), 0.2, 0.0, 1.0),
        Tunable("spite", float(now.spite), 0.2, 0.0, 2.0),
    ]


def planner_of(values: Mapping[str, Any]) -> Numbers:
    """Make the planner's numbers from values by name, each a float or an array."""
    nothing = np.zeros_like(values["pace"])
    names = ("pace", "token", "discount", "store", "boldness", "smooth", "spite")
    return Numbers(
        income=np.array([values.get(f"income.{building.label}", nothing) for building in Building]),
        heart_income=np.array([values[f"heart.{heart}"] for heart in range(5, 9)]),
        **{name: values[name] for name in names},
    )


class PlannerVariants(PlannerAgent):
    """Planners with different numbers, each for ``games`` consecutive games of a batch."""

    def __init__(self, variants: Sequence[Mapping[str, float]], games: int) -> None:
        super().__init__()
        self._values = {name: np.array([one[name] for one in variants], np.float32) for name in variants[0]}
        self._games = games

    def numbers(self, decisions: Decisions) -> Numbers:
        """The numbers for each row of the decisions."""
        variant = decisions.game // self._games
        return planner_of({name: values[variant] for name, values in self._values.items()})


def threshold_numbers() -> list[Tunable]:
    """The numbers of the threshold agent, with their current values."""
    agent = ThresholdAgent()
    return [
        Tunable("risk", agent.risk, 0.08, 0.0, 1.0),
        Tunable("jump_risk", agent.jump_risk, 0.08, 0.0, 1.0),
        Tunable("heart_rounds", agent.heart_rounds, 1.0, 0.0, 8.0),
        Tunable("horizon", agent.horizon, 1.5, 1.0, 15.0),
    ]


class ThresholdVariants:
    """Threshold agents with different numbers, each for ``games`` consecutive games of a batch."""

    def __init__(self, variants: Sequence[Mapping[str, float]], games: int) -> None:
        self._agents = [
            ThresholdAgent(one["risk"], one["jump_risk"], round(one["heart_rounds"]), round(one["horizon"]))
            for one in variants
        ]
        self._games = games

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """Choose actions (M,)."""
        return ask_agents(self._agents, decisions, decisions.game // self._games)


AGENTS: dict[str, tuple[Callable[[], list[Tunable]], Callable[[Sequence[Mapping[str, float]], int], Agent]]] = {
    "planner": (planner_numbers, PlannerVariants),
    "threshold": (threshold_numbers, ThresholdVariants),
}


def strengths(
    make: Callable[[Sequence[Mapping[str, float]], int], Agent],
    variants: Sequence[Mapping[str, float]],
    opponents: Sequence[Agent],
    games: int,
    seed: int,
) -> Values:
    """Strengths (variants,): the win share times P, averaged over all numbers of players; 1 among equals."""
    total = np.zeros(len(variants))
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        games_each = games - games % players
        batch = MegalandGames(MegalandConfig(num_players=players), games_each * len(variants))
        number = np.arange(games_each)
        seeds = rng.run_seeds(seed, number // players, rng.Run.TUNING)
        batch.reset(np.tile(seeds, len(variants)))
        sits = np.tile(number % players, len(variants))  # seat of the variant: each seat once per seed
        for _ in play_on(batch, partial(_answers, make(variants, games_each), opponents, sits, players)):
            pass
        own = batch.win_shares[np.arange(sits.size), sits]
        total += players * own.reshape(len(variants), games_each).mean(axis=1)
    return total / (MAX_PLAYERS - MIN_PLAYERS + 1)


def _answers(
    candidate: Agent, opponents: Sequence[Agent], sits: npt.NDArray[np.int64], players: int, decisions: Decisions
) -> npt.NDArray[np.int64]:
    """(M,) answers where the candidate has the seats ``sits`` (N,) and the opponents follow it round the table."""
    place = (decisions.seat - sits[decisions.game]) % players
    owners = np.where(place == 0, 0, 1 + (place - 1) % len(opponents))
    return ask_agents([candidate, *opponents], decisions, owners)


def main(argv: Sequence[str] | None = None) -> int:
    """Search for the given time, and write the state of the search after every generation."""
    try:
        return _search(argv)
    except OSError as error:
        say(f"python -m megaland_experiments.tuning.tune: error: {error.filename}: {error.strerror}", error=True)
        return 2


def _search(argv: Sequence[str] | None) -> int:
    from cmaes import CMA

    arguments, opponents, known = _parsed(argv)
    numbers_of, make = AGENTS[arguments.agent]
    tunables = numbers_of()
    scale = np.array([tunable.step for tunable in tunables])
    start = np.array([known.get(tunable.name, tunable.start) for tunable in tunables])
    bounds = np.array([(tunable.low, tunable.high) for tunable in tunables])

    def named(scaled: Values) -> dict[str, float]:
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
    while search.generation == 0 or time.monotonic() < end:
        seed = arguments.seed * 1_000_000 + search.generation
        variants = [search.ask() for _ in range(arguments.variants)]
        found = strengths(make, [named(one) for one in variants], opponents, arguments.games, seed)
        search.tell([(one, -value) for one, value in zip(variants, found.tolist(), strict=True)])
        middle = named(search.mean)
        settings = {
            "agent": arguments.agent,
            "opponents": opponents_from(arguments) or [DEFAULT_OPPONENT],
            "seed": arguments.seed,
        }
        content = {**settings, "generation": search.generation, "numbers": middle}
        with going_on(f"to go on from the last numbers that were written: {_command(argv, arguments.out)}"):
            write_json(arguments.out, content)
        with decoration("line of this generation"):
            console.print(
                f"generation {search.generation}: mean {found.mean():.4f}, best {found.max():.4f}, "
                f"{duration(max(0.0, end - time.monotonic()))}",
                highlight=False,
            )
    return 0


def _command(argv: Sequence[str] | None, out: str) -> str:
    """The command that continues a search."""
    start = ["--start", out] if Path(out).exists() else []
    return shlex.join(
        ["python", "-m", "megaland_experiments.tuning.tune", *(sys.argv[1:] if argv is None else argv), *start]
    )


def _parsed(argv: Sequence[str] | None) -> tuple[argparse.Namespace, list[Agent], dict[str, float]]:
    """Parse the arguments; return them with the opponents and the numbers to start from. Invalid arguments end here."""
    parser = Parser(prog="python -m megaland_experiments.tuning.tune", description="Tune an agent by simulation.")
    parser.add_argument("agent", choices=AGENTS, help="agent to tune")
    parser.add_argument(
        "--opponents",
        metavar="AGENT,...",
        action="append",
        help="agents that have the other seats in turn, separated by commas or by repeating the option "
        f"({DEFAULT_OPPONENT})",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes to search (%(default)s)")
    parser.add_argument(
        "--games", type=whole_number, default=400, help="games per variant and number of players (%(default)s)"
    )
    parser.add_argument("--variants", type=whole_number, default=16, help="variants per generation (%(default)s)")
    parser.add_argument(
        "--seed", type=whole_number, default=0, help="seed of games and search, at least 0 (%(default)s)"
    )
    parser.add_argument(
        "--start", type=path_name, metavar="FILE", help="begin with the numbers in this file of an earlier search"
    )
    parser.add_argument("--out", type=path_name, metavar="FILE", required=True, help="file to write the numbers to")
    arguments = parser.parse_args(argv)
    for name, least in (("games", MAX_PLAYERS), ("variants", 2), ("seed", 0)):
        if getattr(arguments, name) < least:
            parser.error(f"--{name} is {getattr(arguments, name)}; it must be at least {least}")
    try:
        check_writable(arguments.out)
        opponents = [make_agent(spec) for spec in opponents_from(arguments) or [DEFAULT_OPPONENT]]
        known = _numbers_in(arguments.start, arguments.agent) if arguments.start else {}
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return arguments, opponents, known


def _numbers_in(file: str, agent: str) -> dict[str, float]:
    """Read the numbers that a search has written.

    Raises:
        OSError: the file cannot be read.
        ValueError: it was not written by a search for this agent.
    """
    try:
        written = read_json(file, MOST_BYTES)
        of_agent, numbers = written["agent"], {name: float(number) for name, number in written["numbers"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} has not been written by a search: {printable(error, 200)}") from error
    if of_agent != agent:
        raise ValueError(f"{file} has the numbers of {printable(of_agent, 40)}, not of {agent}")
    return numbers


if __name__ == "__main__":
    raise SystemExit(main())
