"""Tournaments: agents play against each other at the same tables, in the same seats, on the same seeds.

``tournament`` plays and returns tidy tables; ``megaland tournament`` shows them, and keeps them in a folder.
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megaland_env import MegalandConfig
from megaland_env.agent import Agent, make_agent
from megaland_experiments.matches.arena import Plan, Store, check_workers, is_finished, line_up_matches, play_all
from megaland_experiments.matches.line_ups import KINDS, make_line_ups
from megaland_experiments.matches.playing import DEFAULT_BATCH, AgentError, Progress, agent_name
from megaland_experiments.options import (
    Several,
    add_config_arguments,
    add_games,
    add_seed,
    add_several_players,
    add_workers,
    config_from,
    config_words,
    path_name,
)
from megaland_experiments.shared.agent_files import policies_of
from megaland_experiments.shared.output import going_on, need, say, screen
from megaland_experiments.shared.progress import progress_bar
from megaland_experiments.shared.result_files import print_written
from megaland_experiments.shared.run_folder import (
    RunFolder,
    Work,
    claim,
)
from megaland_experiments.strength.folder import TOURNAMENT, ArenaFolder
from megaland_experiments.strength.ratings import ANCHOR_RATING
from megaland_experiments.strength.result import TABLES, Tournament
from megaland_experiments.strength.results import Played, Row, Summary, line_up_rows
from megaland_experiments.strength.saving import RESULTS_FILE, results_in, write_tournament

DEFAULT_GAMES = 2000
DEFAULT_PLAYERS = 4
DEFAULT_FOLDER = "runs/tournament"


def tournament(
    agents: Sequence[str | Agent] | Mapping[str, str | Agent],
    *,
    num_players: int | Sequence[int] = DEFAULT_PLAYERS,
    games: int = DEFAULT_GAMES,
    lineups: Sequence[str] = KINDS,
    anchor: str | None = None,
    seed: int = 0,
    config: MegalandConfig | None = None,
    workers: int = 1,
    batch: int = DEFAULT_BATCH,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Tournament:
    """Let agents play each other.

    All line-ups are played on the same seeds, and each seed P times, so that all agents have every seat equally often.

    Args:
        agents: at least two, as objects or by name (``make_agent``); the keys of a mapping are their names.
        num_players: P, or several numbers of players.
        games: number of games of each line-up; rounded up to a multiple of P.
        lineups: ``pairs``, ``mixed`` or both (``line_ups.make_line_ups``).
        anchor: the agent that is rated 1000; the first by default.
        seed: the base seed.
        config: of the games, except for the number of players; the default is the full game.
        workers: number of processes that play; with more than one, agents must be given by name. The result is the
            same, unless an agent's answers depend on the number of decisions in a call.
        batch: number of games that run at once in each process.
        out: a folder for the games and the results. Games of the same tournament in it are not played again. Agents
            must be given by name, since a folder cannot tell which object it was; ``save_tournament`` writes the
            results of any agents.
        progress: called with the number of games played, and the total.

    Raises:
        AgentError: an agent failed, or chose an illegal action.
        ChildProcessError: a worker process died.
        FolderError: ``out`` holds another tournament or something else, is in use, or has a damaged file.
        ValueError: there is no such agent, or an argument is invalid.
    """
    entry = Entry.of(agents, num_players, games, lineups, anchor, seed, config)
    check_workers(entry.plan, workers)
    if out is None:
        return entry.play(workers=workers, batch=batch, store=None, progress=progress)
    need(*_NEEDED)
    with claim(entry.work, out) as folder:
        if folder.has(RESULTS_FILE):
            return results_in(folder.stored)
        store = ArenaFolder(folder, entry.plan)
        result = entry.play(workers=workers, batch=batch, store=store, progress=progress)
        write_tournament(result, folder)
        return result


_NEEDED = ("openskill", "matplotlib.figure")


@dataclass(frozen=True)
class Entry:
    """A tournament before it is played."""

    plan: Plan
    settings: Row

    @classmethod
    def of(
        cls,
        agents: Sequence[str | Agent] | Mapping[str, str | Agent],
        num_players: int | Sequence[int],
        games: int,
        lineups: Sequence[str],
        anchor: str | None,
        seed: int,
        config: MegalandConfig | None,
    ) -> Entry:
        """Check the arguments of ``tournament``, and make an entry of them.

        Raises:
            ValueError: an argument is invalid.
        """
        entrants = agents.items() if isinstance(agents, Mapping) else [(agent_name(agent), agent) for agent in agents]
        names = [name for name, _ in entrants]
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} takes part twice; every agent needs a name of its own")
        if len(names) < 2:
            raise ValueError(f"a tournament needs at least 2 agents, not {len(names)}")
        listed = num_players if isinstance(num_players, Iterable) else [num_players]
        kinds = [kind for kind in KINDS if kind in lineups]
        strange = [kind for kind in lineups if kind not in KINDS]
        if strange or not kinds:
            raise ValueError(f"lineups is {list(lineups)}; it must name some of {', '.join(KINDS)}")
        if anchor is not None and anchor not in names:
            raise ValueError(f"the anchor {anchor!r} does not take part; there are {', '.join(names)}")
        config = MegalandConfig() if config is None else config
        # A configuration checks each number, and converts it to Python's int.
        players = list(dict.fromkeys(replace(config, num_players=number).num_players for number in listed))
        if not players:
            raise ValueError("num_players names no number of players")
        policies = policies_of(agent for _, agent in entrants if isinstance(agent, str))
        for _, agent in entrants:
            make_agent(agent)
        plan = Plan(
            agents=tuple(agent for _, agent in entrants),
            names=tuple(names),
            config=config,
            line_ups=tuple(table for number in players for table in make_line_ups(len(names), number, kinds)),
            games=games,
            seed=seed,
            policies=policies.get("policies", {}),
        )
        rules = config.to_dict()
        rules.pop("num_players")
        settings = {
            "agents": names,
            "players": players,
            "games": int(games),
            "lineups": kinds,
            "anchor": names[0] if anchor is None else anchor,
            "seed": int(seed),
            "config": rules,
            **policies,
        }
        renamed = [name for name, agent in entrants if agent != name]
        if renamed:  # so that nobody takes these results for those of the agents with these names
            settings["objects"] = renamed
        return cls(plan, settings)

    @property
    def work(self) -> Work:
        """The work of the folder that keeps the tournament.

        Raises:
            ValueError: an agent was given as an object.
        """
        for name in self.settings.get("objects", ()):
            raise ValueError(f"a folder cannot say who {name!r} was: name the agents, or use save_tournament")
        return Work(TOURNAMENT, self.settings)

    def play(self, *, workers: int, batch: int, store: Store | None, progress: Progress | None) -> Tournament:
        """Play the games that are not in the store yet."""
        games = play_all(self.plan, workers=workers, batch=batch, store=store, progress=progress)
        played = [Played.of(self.plan, k, matches) for k, matches in enumerate(games)]
        found: dict[str, list[Row]] = {name: [] for name in TABLES}
        for players in self.settings["players"]:
            here = [table for table in played if table.players == players]
            summary = Summary(self.plan.names, here, self.settings)
            for name in TABLES:
                found[name] += getattr(summary, name)()
        return Tournament(self.settings, **found)

    def finished_line_ups(self, store: Store) -> list[Row]:
        """The rows of the line-ups that are finished."""
        return [
            row
            for k in range(len(self.plan.line_ups))
            if is_finished(self.plan, store, k)
            for row in line_up_rows(Played.of(self.plan, k, line_up_matches(self.plan, store, k)), self.plan.names)
        ]


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``megaland tournament``."""
    parser.add_argument(
        "agents",
        metavar="AGENT",
        nargs="+",
        help="at least two, such as threshold:risk=0.3 (megaland agents lists them)",
    )
    add_several_players(parser, [DEFAULT_PLAYERS])
    add_games(parser, DEFAULT_GAMES, "of each line-up, rounded up to a multiple of P")
    parser.add_argument(
        "--lineups",
        action=Several,
        const=KINDS,
        default=KINDS,
        metavar="KIND,...",
        help="pairs: one of each agent against P - 1 of each other; mixed: all choices of P agents (pairs,mixed)",
    )
    parser.add_argument("--anchor", metavar="AGENT", help=f"agent that is rated {ANCHOR_RATING:.0f} (the first)")
    add_seed(parser)
    add_workers(parser)
    parser.add_argument(
        "--out",
        type=path_name,
        metavar="DIR",
        help="folder for the results and the games; the same command goes on with the games that are in it "
        f"({DEFAULT_FOLDER}, or the next free name)",
    )
    add_config_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play, show the tables, and write them; when stopped, show the line-ups that are finished."""
    need(*_NEEDED)
    entry = Entry.of(
        arguments.agents,
        arguments.players,
        arguments.games,
        arguments.lineups,
        arguments.anchor,
        arguments.seed,
        config_from(arguments, DEFAULT_PLAYERS),
    )
    check_workers(entry.plan, arguments.workers)
    with claim(entry.work, arguments.out, DEFAULT_FOLDER) as folder:
        if folder.note:
            say(folder.note, error=True)
        with going_on(f"what was played is kept; to go on: {_command(arguments, folder.path)}"):
            return _run(arguments, entry, folder)


def _run(arguments: argparse.Namespace, entry: Entry, folder: RunFolder) -> int:
    from megaland_experiments.strength.tables import finished_table, show

    console = screen()
    began = time.perf_counter()
    if folder.has(RESULTS_FILE):
        result = results_in(folder.stored)
        summary = "finished before: nothing was played"
    else:
        store = ArenaFolder(folder, entry.plan)
        try:
            with progress_bar("games") as progress:
                result = entry.play(workers=arguments.workers, batch=DEFAULT_BATCH, store=store, progress=progress)
        except (AgentError, ChildProcessError, KeyboardInterrupt):
            rows = entry.finished_line_ups(store)
            if rows:
                console.print(finished_table(rows))
            say(f"what was played is kept in {folder.path}; to go on: {_command(arguments, folder.path)}", error=True)
            raise
        seconds = time.perf_counter() - began
        summary = f"{entry.plan.total_games:,} games, {len(entry.plan.line_ups)} different tables, {seconds:.1f} s"
    try:
        files = write_tournament(result, folder)
    finally:  # the disk may be full
        show(result, console)
    print_written(console, summary, folder, files)
    return 0


def _command(arguments: argparse.Namespace, folder: Path) -> str:
    """The command that goes on in a folder."""
    words = ["megaland", "tournament", *arguments.agents, "--players", *arguments.players]
    words += ["--games", arguments.games, "--lineups", *arguments.lineups]
    if arguments.anchor is not None:
        words += ["--anchor", arguments.anchor]
    words += ["--seed", arguments.seed, "--workers", arguments.workers, *config_words(arguments), "--out", folder]
    return shlex.join(map(str, words))
