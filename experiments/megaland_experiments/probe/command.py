"""``megaland probe``: let an agent play, and measure the decisions that it meets.

``probe`` plays and returns the tables; ``megaland probe`` shows them, and writes them with pictures to a folder. How
decisions to stay or leave are judged, and what that can and cannot say, is explained in probe/measures.py.
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from megaland_env import MegalandConfig
from megaland_env.agent import Agent, make_agent
from megaland_experiments.matches.arena import Chunk, Plan
from megaland_experiments.matches.line_ups import LineUp
from megaland_experiments.matches.playing import DEFAULT_BATCH, Progress, agent_name, play
from megaland_experiments.options import (
    add_config_arguments,
    add_games,
    add_opponents,
    add_players,
    add_seed,
    config_from,
    config_words,
    opponents_from,
    path_name,
)
from megaland_experiments.probe.decisions import DecisionRecorder
from megaland_experiments.probe.measures import Row, Tally, tables, tally
from megaland_experiments.probe.result import Probe
from megaland_experiments.probe.saving import PROBE, RESULTS_FILE, results_in, write_probe
from megaland_experiments.probe.screen import show
from megaland_experiments.shared.agent_files import check_policies, policies_of
from megaland_experiments.shared.output import going_on, need, say, screen
from megaland_experiments.shared.progress import progress_bar
from megaland_experiments.shared.result_files import print_written
from megaland_experiments.shared.run_folder import Work, claim
from megaland_experiments.strength.evaluate import config_for, opponents_for

DEFAULT_GAMES = 2000
DEFAULT_PLAYERS = 4
DEFAULT_FOLDER = "runs/probe"
AT_ALL_SEATS = "itself"
MOST_AT_ONCE = 2048
"""Games played and measured at once: their decisions take some tens of megabytes, more in very long games."""


def probe(
    agent: str | Agent,
    opponents: str | Agent | Sequence[str | Agent] | None = None,
    *,
    num_players: int | None = None,
    games: int = DEFAULT_GAMES,
    seed: int = 0,
    config: MegalandConfig | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Measure the decisions that an agent meets in play.

    Args:
        agent: the agent, or its name (``make_agent``).
        opponents: one opponent for all other seats, or P - 1 of them in the order in which they sit to the left of the
            agent. The agent then has every seat equally often. Without opponents it has all seats at once.
        num_players: number of players (P); by default that of ``config``, or 4.
        games: number of games; with opponents it is rounded up to a multiple of P.
        seed: base seed of the games (``arena.Plan``).
        config: of the games; the default is the full game.
        progress: told the number of games played, and the total.

    Raises:
        AgentError: an agent failed, or chose an illegal action.
        ValueError: there is no such agent, or an argument is invalid.
    """
    task = _Task.of(agent, opponents, config_for(num_players, config), games, seed)
    return task.do(progress)


@dataclass(frozen=True)
class _Task:
    """A probe before it is played.

    Attributes:
        recorder: the agent, with what it has decided.
        plan: the games.
        num_seeds: that are played.
        games_per_seed: P, or 1 where the agent has all seats: each seed's game is then the same however the table
            turns.
        settings: those of the ``Probe``.
    """

    recorder: DecisionRecorder
    plan: Plan
    num_seeds: int
    games_per_seed: int
    settings: Row

    @classmethod
    def of(
        cls,
        agent: str | Agent,
        opponents: str | Agent | Sequence[str | Agent] | None,
        config: MegalandConfig,
        games: int,
        seed: int,
    ) -> _Task:
        """The arguments are those of ``probe``; they are checked here."""
        players = config.num_players
        others = [] if opponents is None else opponents_for(opponents, players)
        distinct = list({other if isinstance(other, str) else id(other): other for other in others}.values())
        cast = (0, *(1 + distinct.index(other) for other in others)) if others else (0,) * players
        policies = policies_of(name for name in (agent, *others) if isinstance(name, str))
        recorder = DecisionRecorder(make_agent(agent))
        plan = Plan(
            agents=(recorder, *map(make_agent, distinct)),
            names=tuple(map(agent_name, [agent, *distinct])),
            config=config,
            line_ups=(LineUp(tuple(sorted(cast)), (), orders=(cast,)),),
            games=games,
            seed=seed,
        )
        check_policies(policies.get("policies", {}), (agent, *others))
        games_per_seed = players if others else 1
        num_seeds = plan.num_seeds(0) if others else int(games)
        settings = {
            "agent": agent_name(agent),
            "opponents": list(map(agent_name, others)) or [AT_ALL_SEATS],
            "players": players,
            "games": num_seeds * games_per_seed,
            "seed": int(seed),
            "config": config.to_dict(),
            **policies,
        }
        return cls(recorder, plan, num_seeds, games_per_seed, settings)

    def do(self, progress: Progress | None) -> Probe:
        """Play and measure."""
        plan, games_per_seed, num_seeds = self.plan, self.games_per_seed, self.num_seeds
        counted: Tally | None = None
        at_once = max(1, MOST_AT_ONCE // games_per_seed)
        for first in range(0, num_seeds, at_once):
            chunk = Chunk(0, first, min(at_once, num_seeds - first))
            played = slice(None, None, plan.config.num_players // games_per_seed)
            matches = play(
                plan.config,
                plan.agents,
                plan.seats(chunk)[played],
                plan.seeds(chunk)[played],
                batch=DEFAULT_BATCH,  # all at once, so that a game's place in the batch is its place here
                progress=_part_of(progress, first * games_per_seed, num_seeds * games_per_seed),
                names=plan.names,
            )
            part = tally(self.recorder.decided(), matches, 0, plan.config, games_per_seed)
            counted = part if counted is None else counted + part
        assert counted is not None
        return Probe(self.settings, **tables(counted))


def _part_of(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda finished, _: progress(before + finished, total)


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland probe``."""
    parser.add_argument(
        "agent", metavar="AGENT", help="the agent to probe, such as ppo:path=runs/ppo-1/policy (megaland agents)"
    )
    add_opponents(parser, "the agent itself has all seats")
    add_players(parser, DEFAULT_PLAYERS)
    add_games(parser, DEFAULT_GAMES)
    add_seed(parser)
    parser.add_argument(
        "--out",
        type=path_name,
        metavar="DIR",
        help=f"folder for tables and pictures ({DEFAULT_FOLDER}, or the next free name)",
    )
    add_config_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play and measure, show the tables, and write them."""
    need("matplotlib.figure")
    opponents = opponents_from(arguments)
    task = _Task.of(arguments.agent, opponents or None, config_from(arguments), arguments.games, arguments.seed)
    console = screen()
    began = time.perf_counter()
    with claim(Work(PROBE, task.settings), arguments.out, DEFAULT_FOLDER) as folder:
        if folder.note:
            say(folder.note, error=True)
        if folder.has(RESULTS_FILE):
            result, how = results_in(folder.stored), "finished before: nothing was played"
        else:
            with progress_bar("games") as progress:
                result = task.do(progress)
            how = f"{result.settings['games']:,} games, {time.perf_counter() - began:.1f} s"
        try:
            with going_on(f"to go on: {_command(arguments, folder.path)}"):
                files = write_probe(result, folder)
        finally:  # the disk may be full
            show(result, console)
    print_written(console, how, folder, files)
    return 0


def _command(arguments: argparse.Namespace, folder: Path) -> str:
    """The command that continues in a folder."""
    words = ["megaland", "probe", arguments.agent]
    for text in arguments.opponents or []:
        words += ["--opponents", text]
    words += ["--players", arguments.players, "--games", arguments.games, "--seed", arguments.seed]
    return shlex.join(map(str, [*words, *config_words(arguments), "--out", folder]))
