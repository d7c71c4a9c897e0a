"""Play games between agents and record them, for analyses.

``simulate`` plays and writes the records; ``megaland simulate`` does so from the command line. Unlike in a tournament,
every game has a seed of its own, so the games are independent of each other. The agents at a table move on by one seat
from game to game, so that each has every seat equally often.
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import MegalandConfig
from megaland_env.agent import Agent, make_agent
from megaland_env.checks import check_whole, is_number
from megaland_env.checksums import CHECKSUMS_FILE
from megaland_env.engine import rng
from megaland_env.files import make_folder
from megaland_experiments.matches.arena import MOST_SEEDS, seeds_from
from megaland_experiments.matches.executors import MOST_WORKERS, Tell, make_agents, run_jobs
from megaland_experiments.matches.line_ups import MIXED, LineUp, make_line_ups
from megaland_experiments.matches.playing import AgentError, Progress, play
from megaland_experiments.options import config_from, config_words
from megaland_experiments.records.folder import (
    Part,
    Records,
    finish,
    is_whole,
    name_of,
    parts_of,
    records_in,
    work_of,
    write,
)
from megaland_experiments.records.schema import TABLES
from megaland_experiments.records.simulation_options import DEFAULT_FOLDER, DEFAULT_GAMES, DEFAULT_PART, DEFAULT_PLAYERS
from megaland_experiments.records.tables import GameRecorder, Names, tables
from megaland_experiments.shared.agent_files import check_policies, policies_of
from megaland_experiments.shared.output import going_on, say, screen, warn
from megaland_experiments.shared.progress import progress_bar
from megaland_experiments.shared.run_folder import RunFolder, Stored, Work, claim

LARGEST_PART = 65_536


def simulate(
    agents: Sequence[str],
    out: str | Path,
    *,
    games: int = DEFAULT_GAMES,
    num_players: int | Sequence[int] = DEFAULT_PLAYERS,
    seed: int = 0,
    decisions: float = 1.0,
    config: MegalandConfig | None = None,
    workers: int = 1,
    part: int = DEFAULT_PART,
    progress: Progress | None = None,
    command: str | None = None,
) -> Records:
    """Play games between agents, and write the tables of records/schema.py.

    With as many agents as seats, all agents sit at every table, in all orders. With more agents, all selections of them
    take turns; with fewer, all agents sit at every table, and some of them have more than one seat
    (``line_ups.make_line_ups``, ``mixed``).

    Args:
        agents: names of agents (``make_agent``), each named once.
        out: folder for the records. Finished parts of the same records in it are not played again.
        games: number of games for each number of players; rounded up to a multiple of that number.
        num_players: number of players (P), or several such numbers.
        seed: base seed. Game number g has the g-th seed of its sequence (``arena.seeds_from``).
        decisions: share of the decisions that is kept, from 0 to 1, each decision drawn at random.
        config: configuration of the games, apart from the number of players; by default the full game.
        workers: number of processes. The records do not depend on it.
        part: largest number of games that are played at once and written together. More games take more memory, and
            more of them are lost when the simulation is stopped.
        progress: called with the number of games played and the total.
        command: the command that makes the same records, for the manifest.

    Returns:
        The records, as ``records.load`` reads them.

    Raises:
        AgentError: an agent failed, or chose an illegal action.
        ChildProcessError: a worker process died.
        FolderError: ``out`` holds other records or something else, is in use, or has a damaged file.
        ValueError: an agent is unknown, or an argument is invalid.
    """
    plan = SimulationPlan.of(agents, games, num_players, seed, decisions, config, part)
    check_whole("workers", workers, 1, MOST_WORKERS)
    with claim(plan.work(command), out) as folder:
        return _simulate(plan, folder, workers, progress)


def _simulate(plan: SimulationPlan, folder: RunFolder, workers: int, progress: Progress | None) -> Records:
    """Play the parts that a folder does not have yet."""
    stored = folder.stored
    parts_of(stored)  # an error if another version has written them
    if stored.content["rows"] is not None and all(is_whole(stored, part, verified=True) for part in plan.parts):
        return records_in(stored, verified=True)
    for table in TABLES:
        make_folder(folder.path / table)
    left = [a_part for a_part in plan.parts if not is_whole(stored, a_part, verified=True)]
    lost = [a_part for a_part in left if any(folder.path.joinpath(name_of(table, a_part)).exists() for table in TABLES)]
    if lost:
        more = f" and {len(lost) - 1} more parts" if len(lost) > 1 else ""
        warn(
            f"not all files of {lost[0].name}{more} in {folder.path} have a checksum in {CHECKSUMS_FILE}, so these "
            "games are played again"
        )
    total = sum(a_part.games for a_part in plan.parts)
    finished = total - sum(a_part.games for a_part in left)
    tell_progress: Progress = progress or (lambda finished, total: None)
    tell_progress(finished, total)

    def under_way(games: float) -> None:
        tell_progress(finished + games, total)

    def done(a_part: Part, written: Sequence[tuple[str, str]]) -> None:
        nonlocal finished
        for name, checksum in written:
            folder.checksums.record(name, checksum)
        finished += a_part.games

    if workers == 1 or len(left) < 2:
        made = [make_agent(agent) for agent in plan.names.agents]
        check_policies(stored.settings.get("policies", {}), plan.agents)
        for a_part in left:
            done(a_part, _record(plan, stored, made, a_part, under_way))
    else:
        run_jobs(_begin_worker, (plan, stored), left, done, min(workers, len(left)), under_way)
    tell_progress(total, total)
    finish(folder)
    return records_in(stored, verified=True)


@dataclass(frozen=True)
class SimulationPlan:
    """Everything that determines a set of records: the arguments of ``simulate``, after they were checked."""

    agents: tuple[str, ...]
    games: int
    players: tuple[int, ...]
    seed: int
    share: float
    config: MegalandConfig
    part: int

    @classmethod
    def of(
        cls,
        agents: Sequence[str],
        games: int,
        num_players: int | Sequence[int],
        seed: int,
        share: float,
        config: MegalandConfig | None,
        part: int,
    ) -> SimulationPlan:
        """Make a plan from the arguments of ``simulate``.

        Raises:
            ValueError: an argument is invalid.
        """
        if isinstance(agents, str) or not agents or not all(isinstance(agent, str) for agent in agents):
            raise ValueError(f"agents is {agents!r}; it must be a list of at least one name of an agent")
        twice = [name for name, times in Counter(agents).items() if times > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} is named twice; an agent may have several seats, but is named once")
        for agent in agents:
            make_agent(agent)
        config = MegalandConfig() if config is None else config
        listed = num_players if isinstance(num_players, Iterable) else [num_players]
        players = tuple(dict.fromkeys(replace(config, num_players=number).num_players for number in listed))
        if not players:
            raise ValueError("num_players names no number of players")
        check_whole("games", games, 1, MOST_SEEDS // len(players) - max(players))
        check_whole("part", part, 1, LARGEST_PART)
        rng.as_words([seed])
        if not is_number(share) or not 0 <= share <= 1:
            raise ValueError(f"decisions is {share!r}; it must be a share from 0 to 1")
        return cls(tuple(agents), int(games), players, int(seed), float(share), config, int(part))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings in a form that JSON can hold."""
        rules = self.config.to_dict()
        rules.pop("num_players")
        return {
            "agents": list(self.agents),
            "players": list(self.players),
            "games": self.games,
            "seed": self.seed,
            "decisions": self.share,
            "config": rules,
            "part": self.part,
            **policies_of(self.agents),
        }

    def work(self, command: str | None) -> Work:
        """The work in the folder of the records; ``command`` makes the same records."""
        return work_of(self.settings, self.names.line_ups, self.parts, command)

    @cached_property
    def names(self) -> Names:
        """The names of the agents and of all line-ups."""
        line_ups = tuple(line_up.name(self.agents) for number in self.players for line_up in self._line_ups(number))
        return Names(self.agents, line_ups)

    @cached_property
    def parts(self) -> list[Part]:
        """All parts; those of one number of players have about the same size."""
        parts: list[Part] = []
        first = 0
        for players in self.players:
            tables = -(-self.games // players)  # each is played P times, and moves on by a seat each time
            number = -(-tables // max(1, self.part // players))
            for k in range(number):
                games = (tables * (k + 1) // number - tables * k // number) * players
                parts.append(Part(f"part-{len(parts):05}", players, first, games))
                first += games
        return parts

    def _line_ups(self, players: int) -> list[LineUp]:
        return make_line_ups(len(self.agents), players, [MIXED])

    def line_ups(self, part: Part) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The agent in each seat (games, P), and the line-up of each game (games,), as positions in ``names``.

        The line-ups take turns, each for P games, and move on by one seat from game to game. When all line-ups have had
        their turn, they sit down in the next order.
        """
        players = part.num_players
        begin = next(other.first_game for other in self.parts if other.num_players == players)
        tables, turned = np.divmod(np.arange(part.games) + part.first_game - begin, players)
        choices = self._line_ups(players)
        again, which = np.divmod(tables, len(choices))
        seats = np.empty((part.games, players), np.int64)
        for number in np.unique(which).tolist():
            line_up = choices[number]
            orders = len(line_up.orders)
            here = np.flatnonzero(which == number)
            seats[here] = line_up.seats(0, orders)[again[here] % orders * players + turned[here]]
        before = sum(len(self._line_ups(number)) for number in self.players[: self.players.index(players)])
        return seats, before + which

    def seeds(self, part: Part) -> npt.NDArray[np.uint64]:
        """The seed of each game (games,)."""
        return seeds_from(self.seed, np.arange(part.first_game, part.first_game + part.games))


def _record(
    plan: SimulationPlan, stored: Stored, agents: Sequence[Agent], part: Part, under_way: Callable[[float], None]
) -> list[tuple[str, str]]:
    """Play and write a part; returns the names of the files and their digests."""
    seats, of_line_up = plan.line_ups(part)
    recorder = GameRecorder(part.games, part.num_players, plan.share)
    matches = play(
        replace(plan.config, num_players=part.num_players),
        agents,
        seats,
        plan.seeds(part),
        batch=part.games,
        progress=lambda games, _: under_way(games),
        names=plan.agents,
        watcher=recorder,
    )
    written = []
    for table, frame in tables(matches, recorder, plan.names, part.first_game, of_line_up):
        written.append(write(stored, table, part, frame))
        del frame  # before the next is made
    return written


def _begin_worker(plan: SimulationPlan, stored: Stored) -> Callable[[Part, Tell], list[tuple[str, str]]]:
    agents: list[Agent] = []

    def record_mine(part: Part, under_way: Tell) -> list[tuple[str, str]]:
        if not agents:
            agents.extend(make_agents(plan.agents, stored.settings.get("policies", {})))
        return _record(plan, stored, agents, part, under_way)

    return record_mine


# ------------------------------------------------------------------------------------------------------ the command


def run(arguments: argparse.Namespace) -> int:
    """Play and write, and show how many rows were written."""
    config = config_from(arguments, DEFAULT_PLAYERS)
    plan = SimulationPlan.of(
        arguments.agents,
        arguments.games,
        arguments.players,
        arguments.seed,
        arguments.decisions,
        config,
        arguments.part,
    )
    check_whole("workers", arguments.workers, 1, MOST_WORKERS)
    began = time.perf_counter()
    with claim(plan.work(_command(arguments, arguments.out)), arguments.out, DEFAULT_FOLDER) as folder:
        if folder.note:
            say(folder.note, error=True)
        finished = folder.stored.content["rows"] is not None
        again = f"to go on: {_command(arguments, folder.path)} --workers {arguments.workers}"
        try:
            with going_on(f"what was played is kept; {again}"), progress_bar("games") as progress:
                records = _simulate(plan, folder, arguments.workers, progress)
        except (AgentError, ChildProcessError, KeyboardInterrupt):
            say(f"what was played is kept in {folder.path}; {again}", error=True)
            raise
    _show(records, "finished before" if finished else f"{time.perf_counter() - began:.1f} s")
    return 0


def _command(arguments: argparse.Namespace, out: str | Path | None) -> str:
    """The command that makes the same records."""
    words = ["megaland", "simulate", *arguments.agents, "--games", arguments.games, "--players", *arguments.players]
    words += ["--seed", arguments.seed, "--decisions", arguments.decisions, "--part", arguments.part]
    words += config_words(arguments)
    words += [] if out is None else ["--out", out]
    return shlex.join(map(str, words))


def _show(records: Records, how: str) -> None:
    from rich.table import Table

    rows = records.manifest["rows"]
    parts = [Part(**part) for part in records.manifest["parts"]]
    table = Table("table", box=None, pad_edge=False)
    for title in ("rows", "megabytes"):
        table.add_column(title, justify="right")
    for name in TABLES:
        size = sum((records.path / name_of(name, part)).stat().st_size for part in parts)
        table.add_row(name, f"{rows[name]:,}", f"{size / 1e6:,.1f}")
    console = screen()
    console.print(table)
    text = f"{rows['games']:,} games in {len(parts)} parts, {how}\nwritten to {records.path}"
    console.print(text, style="dim", highlight=False, soft_wrap=True)
