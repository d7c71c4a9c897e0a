"""``megaland benchmark``: measure how fast the engine and the environments are.

**What is counted.** Each seat that must decide counts as one decision; forced moves do not count. Each deciding seat
plays a uniformly random legal action (``random_legal``). A game counts when it is over.

**What is timed**, each part of each step separately:

==============  ========================================================================================================
engine          ``games.decisions()``, ``games.scatter``, ``games.step``, and ``games.reset`` of the games that are over
choosing        ``random_legal(decisions)``
mask            ``decisions.legal``: the legal actions as booleans (M, 40)
observation     ``observation.encode(decisions, out=...)``: float32 (M, D) of every deciding seat, into one buffer
==============  ========================================================================================================

**Two headline figures** per row: "play" is engine and choosing together; "with mask and observation" is all four.

**Steady state.** Games that are over are reset after each step, with the seeds of ``rng.episode_seeds`` as in
environments that reset themselves. The reset counts as time of the engine. This is what a learner meets, and the batch
stays full. With ``--reset-share x`` the games wait until that share of the batch is over, which saves calls but leaves
slots idle.

**Warm-up.** About 1,000 games are played, untimed, until long after the first of them have ended. The batch is made
from these by ``decisions.fork``, so that it holds games at all stages, as after a long time of play. Then ``WINDOWS``
windows are timed, and each figure is the median over the windows.

**Adapters** are driven as their libraries drive them, with random legal actions chosen outside the timed part. Their
figure is the number of decisions of the caller per second: those of all seats, or those of one learner. In the second
case the decisions of the opponents (random agents) are part of the cost.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import io
import os
import platform
import pstats
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from megaland_env import Kind, MegalandConfig, MegalandGames
from megaland_env.agent import random_legal
from megaland_env.engine import rng
from megaland_env.engine.choice import ENGINES, plays_compiled
from megaland_env.extras import is_installed
from megaland_env.files import write_json, write_text
from megaland_env.observation import NUM_FEATURES, encode
from megaland_experiments.options import Several, add_several_players, path_name
from megaland_experiments.shared.output import check_writable, going_on, say, screen, versions
from megaland_experiments.shared.progress import progress_bar

if TYPE_CHECKING:
    from pettingzoo import AECEnv  # type: ignore[import-untyped]
    from rich.table import Table

PARTS = ("engine", "choosing", "mask", "observation")
WINDOWS = 5
DEFAULT_PLAYERS = (2, 3, 4, 5)
DEFAULT_BATCHES = (1, 64, 1024, 8192, 65536)
DEFAULT_SECONDS = 2.5

POOL = 1024
POOL_STEPS = 300  # two to three games of random players


@dataclass(frozen=True)
class Row:
    """Speed of an engine for one number of players and one size of batch. Times are nanoseconds per decision.

    Attributes:
        engine: the engine that plays, ``"numpy"`` or ``"compiled"``.
        players: number of players (P).
        batch: number of games (N).
        decisions: decisions made in all windows.
        games: games finished in all windows.
        engine_ns: time of the engine.
        choosing_ns: time of choosing actions.
        mask_ns: time of making the mask.
        observation_ns: time of writing the observations; ``None`` if they were left out.
        play: decisions per second, engine and choosing.
        play_games: games per second, engine and choosing.
        full: decisions per second with mask and observation.
    """

    engine: str
    players: int
    batch: int
    decisions: int
    games: int
    engine_ns: float
    choosing_ns: float
    mask_ns: float
    observation_ns: float | None
    play: float
    play_games: float
    full: float


@dataclass(frozen=True)
class AdapterRow:
    """Speed of an adapter for one number of players and one number of environments.

    Attributes:
        engine: the engine that plays, ``"numpy"`` or ``"compiled"``.
        adapter: name of the adapter.
        players: number of players (P).
        batch: number of environments.
        decisions: decisions of the learner in all windows.
        rate: decisions of the learner per second.
    """

    engine: str
    adapter: str
    players: int
    batch: int
    decisions: int
    rate: float


# ------------------------------------------------------------------------------------------------------ the engine


class Runner:
    """A batch of games that never ends, and whose steps are timed.

    Args:
        config: configuration of the games.
        batch: number of games (N).
        observe: whether the observations are written.
        reset_share: games that are over are reset once they are at least this share of the batch.
        seed: base seed of the games.
        engine: the engine that plays, as in ``MegalandGames``.
    """

    def __init__(
        self,
        config: MegalandConfig,
        batch: int,
        *,
        engine: str = "auto",
        observe: bool = True,
        reset_share: float = 0.0,
        seed: int = 0,
    ) -> None:
        if batch < 1:
            raise ValueError(f"batch is {batch}; it must be at least 1")
        if not 0 <= reset_share <= 1:
            raise ValueError(f"reset_share is {reset_share}; it must be from 0 to 1")
        self.games = mixed_games(config, batch, seed, engine)
        self._observe = observe
        self._at_least = max(1, int(reset_share * batch))
        self._seeds = self.games.seeds.copy()
        self._episodes = np.zeros(batch, np.int64)
        self._numbers = np.empty(0, np.float32)

    def _observations(self, rows: int) -> npt.NDArray[np.float32]:
        """A buffer (rows, D) for the observations, kept from step to step, in the layout that the engine writes."""
        if self._numbers.size < rows * NUM_FEATURES:
            self._numbers = np.empty(2 * rows * NUM_FEATURES, np.float32)
        used = self._numbers[: rows * NUM_FEATURES]
        if self.games.engine == "compiled":
            return used.reshape(rows, NUM_FEATURES)
        return used.reshape(NUM_FEATURES, rows).T

    def step(self) -> tuple[int, int, tuple[float, float, float, float]]:
        """Make one step in all games.

        Returns:
            The number of decisions made, the number of games reset, and the seconds of each of ``PARTS``.
        """
        games = self.games
        start = perf_counter()
        decisions = games.decisions()
        asked = perf_counter()
        actions = random_legal(decisions)
        chosen = perf_counter()
        _ = decisions.legal
        opened = perf_counter()
        if self._observe:
            encode(decisions, out=self._observations(len(decisions)))
        encoded = perf_counter()
        games.step(games.scatter(decisions, actions))
        restarted = restart_finished(games, self._seeds, self._episodes, self._at_least)
        end = perf_counter()
        engine = asked - start + end - encoded
        return len(decisions), restarted, (engine, chosen - asked, opened - chosen, encoded - opened)

    def play(self) -> int:
        """Make one step in all games, without clocks, masks and observations; returns the number of decisions."""
        games = self.games
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions)))
        restart_finished(games, self._seeds, self._episodes, self._at_least)
        return len(decisions)


def mixed_games(config: MegalandConfig, batch: int, seed: int = 0, engine: str = "auto") -> MegalandGames:
    """A batch of games at all stages, as after a long time of play, each with a seed of its own."""
    decisions = _pool(config, engine).decisions()
    _, one_row_each = np.unique(decisions.game, return_index=True)
    rows = one_row_each[:batch]
    games = decisions[rows].fork(-(-batch // rows.size), seed)
    return games if games.num_games == batch else games.copy(np.arange(batch))


@lru_cache(maxsize=8)
def _pool(config: MegalandConfig, engine: str) -> MegalandGames:
    """Games played for so long that they are at different stages. They may only be forked."""
    games = MegalandGames(config, POOL, engine=engine)
    games.reset(0)
    seeds, episodes = games.seeds.copy(), np.zeros(POOL, np.int64)
    for _ in range(POOL_STEPS):
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions)))
        restart_finished(games, seeds, episodes)
    return games


def restart_finished(
    games: MegalandGames, seeds: npt.NDArray[np.uint64], episodes: npt.NDArray[np.int64], at_least: int = 1
) -> int:
    """Reset the games that are over, if there are at least ``at_least`` of them.

    Args:
        games: N games.
        seeds: (N,) seed that each slot was first reset with.
        episodes: (N,) number of games that each slot has finished since; updated in place.
        at_least: smallest number of games to reset.

    Returns:
        The number of games that were reset.
    """
    over = np.flatnonzero(games.kind == Kind.NONE)
    if over.size < at_least:
        return 0
    episodes[over] += 1
    games.reset(rng.episode_seeds(seeds[over], episodes[over]), index=over)
    return int(over.size)


def measure(
    players: int,
    batch: int,
    seconds: float = DEFAULT_SECONDS,
    *,
    engine: str = "auto",
    observe: bool = True,
    reset_share: float = 0.0,
) -> Row:
    """Time an engine, as the docstring of the module explains.

    Args:
        players: number of players (P).
        batch: number of games (N).
        seconds: time to spend in all timed windows together.
        engine: the engine that plays, as in ``MegalandGames``.
        observe: whether the observations are written.
        reset_share: share of the games that must be over before they are reset.

    Raises:
        ValueError: an argument is invalid.
    """
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds}; it must be positive")
    config = MegalandConfig(num_players=players)
    runner = Runner(config, batch, engine=engine, observe=observe, reset_share=reset_share)
    runner.step()
    windows = np.zeros((WINDOWS, 2 + len(PARTS)))  # decisions, games, and the seconds of each part
    for window in windows:
        while window[2:].sum() < seconds / WINDOWS:
            decided, over, times = runner.step()
            window += (decided, over, *times)
    decisions, games = windows[:, 0], windows[:, 1]
    parts = np.median(windows[:, 2:] / decisions[:, None], axis=0) * 1e9
    play = windows[:, 2:4].sum(axis=1)
    full = windows[:, 2:].sum(axis=1)
    return Row(
        engine=runner.games.engine,
        players=players,
        batch=batch,
        decisions=int(decisions.sum()),
        games=int(games.sum()),
        engine_ns=float(parts[0]),
        choosing_ns=float(parts[1]),
        mask_ns=float(parts[2]),
        observation_ns=float(parts[3]) if observe else None,
        play=float(np.median(decisions / play)),
        play_games=float(np.median(games / play)),
        full=float(np.median(decisions / full)),
    )


def named(engine: str) -> str:
    """The engine that plays if it is asked for as ``engine``."""
    return "compiled" if plays_compiled(engine) else "numpy"


def profile(players: int, batch: int, seconds: float, engine: str = "auto", top: int = 25) -> str:
    """Where the engine spends its time: functions by their own time, measured by cProfile, which slows each call."""
    runner = Runner(MegalandConfig(num_players=players), batch, engine=engine)
    runner.step()
    profiler = cProfile.Profile()
    steps, decided, began = 0, 0, perf_counter()
    profiler.enable()
    while perf_counter() - began < seconds:
        decided += runner.step()[0]
        steps += 1
    profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(top)
    return f"{players} players, batch {batch}: {steps} steps, {decided} decisions\n{text.getvalue().strip()}\n"


# ------------------------------------------------------------------------------------------------------ the adapters


class AdapterRun(Protocol):
    """An adapter that is being timed."""

    def choose(self) -> None:
        """Choose legal actions for the pending decisions; not timed."""

    def step(self) -> int:
        """Step, and read everything that a learner would read; returns the number of decisions of the learner."""


def random_action(mask: npt.NDArray[Any], randomness: np.random.Generator) -> int:
    """A random legal action of one mask; ``Generator.choice`` would take ten times as long."""
    legal = mask.nonzero()[0]
    return int(legal[int(randomness.random() * legal.size)])


class SB3Run:
    """``MegalandVecEnv``: an observation and a mask for each environment after each step, as MaskablePPO reads them."""

    def __init__(self, players: int, batch: int, engine: str) -> None:
        from megaland_env.envs.sb3_vec_env import MegalandVecEnv

        self._env = MegalandVecEnv(MegalandConfig(num_players=players), batch, opponents="random", engine=engine)
        self._luck = np.random.default_rng(0)
        self._env.seed(0)
        self._env.reset()
        self._masks = self._env.action_masks()

    def choose(self) -> None:
        """(N,) random legal actions."""
        tickets = self._luck.random(self._masks.shape, dtype=np.float32)
        self._actions = (tickets * self._masks).argmax(axis=1)

    def step(self) -> int:
        """One step of the vectorised environment."""
        self._env.step(self._actions)
        self._masks = self._env.action_masks()
        return len(self._actions)


class GymnasiumRun:
    """``MegalandEnv``, one game: the observation and the mask of the learner after each step."""

    def __init__(self, players: int, batch: int, engine: str) -> None:
        from megaland_env.envs.gymnasium_env import MegalandEnv

        self._env = MegalandEnv(MegalandConfig(num_players=players), opponents="random", engine=engine)
        self._luck = np.random.default_rng(0)
        _, info = self._env.reset(seed=0)
        self._mask = info["action_mask"]

    def choose(self) -> None:
        """A random legal action."""
        self._action = random_action(self._mask, self._luck)

    def step(self) -> int:
        """One step of the learner."""
        _, _, terminated, truncated, info = self._env.step(self._action)
        if terminated or truncated:
            _, info = self._env.reset()
        self._mask = info["action_mask"]
        return 1


class MultiAgentRun:
    """``MegalandMultiAgentVectorEnv``: observations and masks of all seats after each step."""

    def __init__(self, players: int, batch: int, engine: str) -> None:
        from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv

        self._env = MegalandMultiAgentVectorEnv(
            batch, MegalandConfig(num_players=players), engine=engine, autoreset_mode="SameStep"
        )
        self._luck = np.random.default_rng(0)
        _, self._infos = self._env.reset(seed=0)

    def choose(self) -> None:
        """(N, P) random legal actions."""
        masks = self._infos["action_mask"]
        self._actions = (self._luck.random(masks.shape, dtype=np.float32) * masks).argmax(axis=2)

    def step(self) -> int:
        """One step of all games."""
        decisions = np.count_nonzero(self._infos["active"])
        *_, self._infos = self._env.step(self._actions)
        return int(decisions)


class AECRun:
    """An AEC environment of PettingZoo, one game: the result of ``last`` in each turn.

    Args:
        env: an environment, not yet reset, whose observations have an ``"action_mask"``.
    """

    def __init__(self, env: AECEnv[str, Any, Any]) -> None:
        self._env = env
        self._luck = np.random.default_rng(0)
        self._env.reset(seed=0)
        self._mask = self._env.last()[0]["action_mask"]

    def choose(self) -> None:
        """A random legal action."""
        self._action = random_action(self._mask, self._luck)

    def step(self) -> int:
        """One turn."""
        self._env.step(self._action)
        observation, _, termination, truncation, _ = self._env.last()
        if termination or truncation:
            self._env.reset()
            observation = self._env.last()[0]
        self._mask = observation["action_mask"]
        return 1


class ParallelRun:
    """``megaland_v0.parallel_env``, one game: the observations of all agents after each step."""

    def __init__(self, players: int, batch: int, engine: str) -> None:
        from megaland_env import megaland_v0

        self._env = megaland_v0.parallel_env(config=MegalandConfig(num_players=players), engine=engine)
        self._luck = np.random.default_rng(0)
        self._observations, _ = self._env.reset(seed=0)

    def choose(self) -> None:
        """A random legal action for each agent."""
        self._actions = {
            agent: random_action(observation["action_mask"], self._luck)
            for agent, observation in self._observations.items()
        }

    def step(self) -> int:
        """One step of the game."""
        decisions = np.count_nonzero(self._env.games.active)
        self._observations, *_ = self._env.step(self._actions)
        if not self._env.agents:
            self._observations, _ = self._env.reset()
        return int(decisions)


def megaland_aec(players: int, batch: int, engine: str) -> AECRun:
    """``megaland_v0.env``, being timed."""
    from megaland_env import megaland_v0

    return AECRun(megaland_v0.env(config=MegalandConfig(num_players=players), engine=engine))


ADAPTERS: dict[str, Callable[[int, int, str], AdapterRun]] = {
    "Gymnasium": GymnasiumRun,
    "SB3 VecEnv": SB3Run,
    "multi-agent vector": MultiAgentRun,
    "PettingZoo AEC": megaland_aec,
    "PettingZoo Parallel": ParallelRun,
}
"""The adapters by name. An adapter whose library is not installed is left out."""

ONE_GAME = ("Gymnasium", "PettingZoo AEC", "PettingZoo Parallel")
"""The adapters that play a single game."""

ADAPTER_WARM_UP = 150  # steps: the learner makes a third of the decisions or fewer, so about three games


def measure_adapter(
    name: str, players: int, batch: int, seconds: float = DEFAULT_SECONDS, engine: str = "auto"
) -> AdapterRow | None:
    """Time an adapter; ``None`` if its library is not installed, or if it cannot play this number of games."""
    if name in ONE_GAME and batch > 1:
        return None
    try:
        run = ADAPTERS[name](players, batch, engine)
    except ModuleNotFoundError:
        return None
    began = perf_counter()
    for _ in range(ADAPTER_WARM_UP):
        run.choose()
        run.step()
        if perf_counter() - began > 2 * seconds:
            break
    total, rates = 0, []
    for _ in range(WINDOWS):
        spent, decisions = 0.0, 0
        while spent < seconds / WINDOWS:
            run.choose()
            start = perf_counter()
            decisions += run.step()
            spent += perf_counter() - start
        total += decisions
        rates.append(decisions / spent)
    return AdapterRow(named(engine), name, players, batch, total, median(rates))


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland benchmark``."""
    add_several_players(parser, DEFAULT_PLAYERS)
    batches = ",".join(map(str, DEFAULT_BATCHES))
    parser.add_argument(
        "--batch",
        action=Several,
        const=int,
        default=DEFAULT_BATCHES,
        metavar="N,...",
        help=f"numbers of games at once ({batches})",
    )
    parser.add_argument(
        "--seconds", type=float, default=DEFAULT_SECONDS, help="seconds to measure for each row (%(default)s)"
    )
    parser.add_argument(
        "--engine",
        action=Several,
        const=ENGINES,
        default=("auto",),
        metavar="NAME,...",
        help=f"engines to measure: {', '.join(ENGINES)} (auto)",
    )
    parser.add_argument(
        "--reset-share",
        type=float,
        default=0.0,
        metavar="X",
        help="reset games once this share of them is over (at once)",
    )
    parser.add_argument(
        "--adapters", choices=("yes", "no", "only"), default="yes", help="whether to time the adapters too (yes)"
    )
    parser.add_argument("--json", type=path_name, metavar="FILE", help="write the rows to a JSON file")
    parser.add_argument("--csv", type=path_name, metavar="FILE", help="write the rows of the engine to a CSV file")
    parser.add_argument("--profile", action="store_true", help="show where the engine spends its time instead")


def run(arguments: argparse.Namespace) -> int:
    """Measure, show tables, and write the files asked for."""
    for players in arguments.players:
        MegalandConfig(num_players=players)  # an error now rather than after the first rows
    for path in filter(None, (arguments.json, arguments.csv)):
        check_writable(path)
    console = screen()
    console.print(describe_machine(), style="dim", highlight=False, soft_wrap=True)
    sizes = list(product(arguments.players, arguments.batch, arguments.engine))
    if arguments.profile:
        for players, batch, name in sizes:
            say(profile(players, batch, arguments.seconds, name))
        return 0
    rows: list[Row] = []
    adapter_rows: list[AdapterRow] = []
    adapters = [] if arguments.adapters == "no" else list(product(ADAPTERS, sizes))
    engine = [] if arguments.adapters == "only" else sizes
    with progress_bar("rows") as progress:
        for done, (players, batch, name) in enumerate(engine):
            progress(done, len(engine) + len(adapters))
            rows.append(measure(players, batch, arguments.seconds, engine=name, reset_share=arguments.reset_share))
        for done, (adapter, (players, batch, name)) in enumerate(adapters, start=len(engine)):
            progress(done, len(engine) + len(adapters))
            row = measure_adapter(adapter, players, batch, arguments.seconds, name)
            adapter_rows += [row] if row is not None else []
    if rows:
        console.print(engine_table(rows))
    if adapter_rows:
        console.print(adapter_table(adapter_rows))
    with going_on("the rows are shown above; to measure them again, give the same command"):
        if arguments.csv is not None:
            write_text(arguments.csv, as_csv(rows))
        if arguments.json is not None:
            write_json(
                arguments.json,
                {
                    "machine": describe_machine(),
                    "versions": versions(),
                    "settings": {
                        "seconds": arguments.seconds,
                        "reset_share": arguments.reset_share,
                        "windows": WINDOWS,
                    },
                    "engine": [asdict(row) for row in rows],
                    "adapters": [asdict(row) for row in adapter_rows],
                },
            )
    return 0


def as_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV, with the names of ``Row`` as the header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def engine_table(rows: Sequence[Row]) -> Table:
    """The rows as a ``rich.table.Table``."""
    from rich.table import Table

    table = Table(title="Engines: parts in ns per decision, then decisions and games per second", title_justify="left")
    table.add_column("engine")
    for column in ("players", "batch", "step", *PARTS[1:], "play", "games", "with mask and observation"):
        table.add_column(column, justify="right", min_width=7)
    for row in rows:
        parts = (row.engine_ns, row.choosing_ns, row.mask_ns, row.observation_ns)
        table.add_row(
            row.engine,
            f"{row.players}",
            f"{row.batch:,}",
            *("-" if part is None else f"{part:,.0f}" for part in parts),
            f"{row.play:,.0f}",
            f"{row.play_games:,.0f}",
            "-" if row.observation_ns is None else f"{row.full:,.0f}",
        )
    return table


def adapter_table(rows: Sequence[AdapterRow]) -> Table:
    """The rows as a ``rich.table.Table``."""
    from rich.table import Table

    table = Table(title="Adapters: decisions of the caller per second, against random agents", title_justify="left")
    for column in ("adapter", "engine", "players", "environments", "decisions"):
        table.add_column(column, justify="left" if column in ("adapter", "engine") else "right")
    for row in rows:
        table.add_row(row.adapter, row.engine, f"{row.players}", f"{row.batch:,}", f"{row.rate:,.0f}")
    return table


def describe_machine() -> str:
    """The processor, the NumPy version and the threads, in one line."""
    numba = f"Numba {version('numba')}" if is_installed("numba") else "without Numba"
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_processor()}, {platform.system()} {platform.machine()}, {usable} cores to use, "
        f"Python {platform.python_version()}, NumPy {np.__version__}, {numba}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or "unknown processor"


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m megaland_experiments.speed.benchmark`` is ``megaland benchmark``."""
    from megaland_experiments import cli

    return cli.main(["benchmark", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    sys.exit(main())
