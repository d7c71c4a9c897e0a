"""Measure the strength of an agent: it plays against others on the same seeds, in every seat equally often."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import MegalandConfig
from megaland_env.agent import Agent
from megaland_env.config import ConfigError
from megaland_env.files import write_json
from megaland_experiments.matches.arena import Plan, play_all
from megaland_experiments.matches.line_ups import LineUp, rotations
from megaland_experiments.matches.playing import DEFAULT_BATCH, Progress, agent_name
from megaland_experiments.options import (
    add_config_arguments,
    add_games,
    add_opponents,
    add_players,
    add_seed,
    add_workers,
    config_from,
    config_words,
    opponents_from,
    path_name,
    whole_number,
)
from megaland_experiments.shared.agent_files import policies_of
from megaland_experiments.shared.intervals import CONFIDENCE, share_interval
from megaland_experiments.shared.output import check_writable, going_on, in_table, percent, percents, screen, versions
from megaland_experiments.shared.progress import progress_bar

DEFAULT_GAMES = 4000
DEFAULT_PLAYERS = 4
DEFAULT_OPPONENT = "random"


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation. Every number in it follows from the settings alone.

    Attributes:
        agent: name of the agent that was evaluated.
        opponents: names of the P - 1 others, in the order in which they sit to the left of the agent.
        config: the configuration of the games.
        seed: the base seed, from which the seeds of the games were made.
        num_seeds: number of different seeds, each of which was played in P games.
        games: number of games, ``num_seeds`` times P.
        win_share: the agent's mean share of the win; a shared win counts 1 / number of winners, a truncated game 0.
        interval: a 95 % confidence interval of the win share (``share_interval``).
        par: 1 / P, the win share among equals.
        seat_win_shares: (P,) the win share when sitting in each seat.
        opponent_win_shares: (P - 1,) the mean win share of each opponent.
        places: (P,) the shares of games in which the agent came first, second, ... by coins; equals share the better
            place.
        mean_coins: the agent's mean number of coins at the end.
        mean_opponent_coins: the opponents' mean number of coins at the end.
        mean_rounds: mean number of rounds in a game.
        mean_decisions: mean number of decisions of the agent in a game; forced moves are not asked and not counted.
        truncated_share: the share of games that were cut off.
    """

    agent: str
    opponents: tuple[str, ...]
    config: MegalandConfig
    seed: int
    num_seeds: int
    games: int
    win_share: float
    interval: tuple[float, float]
    par: float
    seat_win_shares: tuple[float, ...]
    opponent_win_shares: tuple[float, ...]
    places: tuple[float, ...]
    mean_coins: float
    mean_opponent_coins: float
    mean_rounds: float
    mean_decisions: float
    truncated_share: float

    def to_dict(self) -> dict[str, Any]:
        """``settings``, ``results`` and ``versions``, as ``json.dumps`` takes them."""
        values = asdict(self)
        values["config"] = self.config.to_dict()
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        given = ("agent", "opponents", "config", "seed", "num_seeds", "games")
        settings = {name: values.pop(name) for name in given}
        return {"settings": settings, "results": values, "versions": versions()}


def evaluate(
    agent: str | Agent,
    opponents: str | Agent | Sequence[str | Agent],
    *,
    num_players: int | None = None,
    games: int = DEFAULT_GAMES,
    seed: int = 0,
    config: MegalandConfig | None = None,
    batch: int = DEFAULT_BATCH,
    workers: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Let one agent play against P - 1 others.

    Each seed is played P times, and each time everybody moves on by one seat. So all sit in every seat equally often,
    with the same market and the same level cards, and an advantage that a seed gives to a seat goes to all in turn.

    Args:
        agent: the agent, or its name (``make_agent``).
        opponents: one for all other seats, or P - 1 of them, in the order in which they sit to the left of the agent.
        num_players: P; by default that of ``config``, or 4.
        games: number of games; rounded up to a multiple of P.
        seed: the base seed (``arena.Plan``).
        config: of the games; the default is the full game.
        batch: number of games that run at once.
        workers: number of processes that play; with more than one, agents must be given by name. The result is the
            same, unless an agent's answers depend on the number of decisions in a call.
        progress: called with the number of games played, and the total.

    Raises:
        AgentError: an agent failed, or chose an illegal action.
        ChildProcessError: a worker process died.
        ValueError: there is no such agent, or an argument is invalid.
    """
    config = config_for(num_players, config)
    players = config.num_players
    table = [agent, *opponents_for(opponents, players)]

    plan = _plan_of(table, config, games, seed)
    (matches,) = play_all(plan, workers=workers, batch=batch, progress=progress)
    num_seeds = plan.num_seeds(0)
    seat_of = rotations(players).argsort(axis=1)  # (rotation, participant)

    def by_participant(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Fold (N, P seats) to (num_seeds, P rotations, P participants)."""
        folded = array.reshape(num_seeds, players, players)
        return np.take_along_axis(folded, np.broadcast_to(seat_of, folded.shape), axis=2)

    shares, coins = by_participant(matches.shares), by_participant(matches.coins)
    places = by_participant(matches.places)[:, :, 0]
    of_seed = shares[:, :, 0].mean(axis=1)
    return Evaluation(
        agent=agent_name(agent),
        opponents=tuple(agent_name(opponent) for opponent in table[1:]),
        config=config,
        seed=seed,
        num_seeds=num_seeds,
        games=len(matches),
        win_share=float(of_seed.mean()),
        interval=share_interval(of_seed),
        par=1 / players,
        seat_win_shares=tuple(shares[:, :, 0].mean(axis=0).tolist()),
        opponent_win_shares=tuple(shares[:, :, 1:].mean(axis=(0, 1)).tolist()),
        places=tuple(float((places == place).mean()) for place in range(1, players + 1)),
        mean_coins=float(coins[:, :, 0].mean()),
        mean_opponent_coins=float(coins[:, :, 1:].mean()),
        mean_rounds=float(matches.rounds.mean()),
        mean_decisions=float(by_participant(matches.decisions)[:, :, 0].mean()),
        truncated_share=float(matches.truncated.mean()),
    )


def _plan_of(table: Sequence[str | Agent], config: MegalandConfig, games: int, seed: int) -> Plan:
    """The games of one table, with one object for each different agent, so that it is asked once for all its seats."""
    keys = [participant if isinstance(participant, str) else id(participant) for participant in table]
    distinct = list(dict.fromkeys(keys))
    roster = tuple(table[keys.index(key)] for key in distinct)
    cast = tuple(distinct.index(key) for key in keys)
    return Plan(
        agents=roster,
        names=tuple(map(agent_name, roster)),
        config=config,
        line_ups=(LineUp(tuple(sorted(cast)), (), orders=(cast,)),),
        games=games,
        seed=seed,
        policies=policies_of(each for each in roster if isinstance(each, str)).get("policies", {}),
    )


def config_for(num_players: int | None, config: MegalandConfig | None) -> MegalandConfig:
    """The configuration for ``num_players``; without arguments that of the full game for 4.

    Raises:
        ConfigError: the two contradict each other, or ``num_players`` is invalid.
    """
    if config is None:
        return MegalandConfig(num_players=DEFAULT_PLAYERS if num_players is None else num_players)
    if num_players not in (None, config.num_players):
        raise ConfigError(f"num_players is {num_players}, but the configuration is for {config.num_players}")
    return config


def opponents_for(opponents: str | Agent | Sequence[str | Agent], players: int) -> list[str | Agent]:
    """The P - 1 opponents of a table.

    Raises:
        ValueError: there are neither P - 1 opponents nor one.
    """
    listed = [opponents] if isinstance(opponents, (str, Agent)) else list(opponents)
    if len(listed) == 1:
        return listed * (players - 1)
    if len(listed) != players - 1:
        raise ValueError(f"there are {len(listed)} opponents; a table of {players} needs one for all, or {players - 1}")
    return listed


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``megaland evaluate``."""
    parser.add_argument(
        "agent", metavar="AGENT", help="agent to evaluate, such as threshold:risk=0.3 (megaland agents lists them)"
    )
    add_opponents(parser, DEFAULT_OPPONENT)
    add_players(parser, DEFAULT_PLAYERS)
    add_games(parser, DEFAULT_GAMES, "(rounded up to a multiple of P)")
    add_seed(parser)
    parser.add_argument(
        "--batch",
        type=whole_number,
        default=DEFAULT_BATCH,
        metavar="N",
        help="number of games that run at once (%(default)s)",
    )
    add_workers(parser)
    parser.add_argument("--json", type=path_name, metavar="FILE", help="also write the result to this file")
    add_config_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, show the result as a table, and write it to a file if one was named."""
    if arguments.json is not None:
        check_writable(arguments.json)
    opponents = opponents_from(arguments) or [DEFAULT_OPPONENT]
    began = time.perf_counter()
    with progress_bar("games") as progress:
        result = evaluate(
            arguments.agent,
            opponents,
            games=arguments.games,
            seed=arguments.seed,
            config=config_from(arguments),
            batch=arguments.batch,
            workers=arguments.workers,
            progress=progress,
        )
    seconds = time.perf_counter() - began
    console = screen()
    console.print(as_table(result))
    console.print(f"{result.games:,} games in {seconds:.1f} s", style="dim", highlight=False)
    if arguments.json is not None:
        with going_on(f"the result is shown above; to measure it again: {_command(arguments)}"):
            write_json(arguments.json, result.to_dict())
        console.print(f"written to {arguments.json}", style="dim", highlight=False)
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """The command that was given."""
    words = ["megaland", "evaluate", arguments.agent]
    for text in arguments.opponents or []:
        words += ["--opponents", text]
    for name in ("players", "games", "seed", "batch", "workers"):
        words += [f"--{name}", str(getattr(arguments, name))]
    return shlex.join([*words, *config_words(arguments), "--json", arguments.json])


def as_table(result: Evaluation) -> Any:
    """The result as a ``rich.table.Table``."""
    from rich.table import Table

    title = f"{result.agent} against {', '.join(dict.fromkeys(result.opponents))}"
    shares = zip(result.opponents, result.opponent_win_shares, strict=True)
    table = Table(title=in_table(title, "table.title"), title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right")
    for what, value in (
        ("win share", percent(result.win_share)),
        (f"  {percent(CONFIDENCE, 0)} interval", percents(*result.interval)),
        ("  among equals", percent(result.par)),
        *((f"  in seat {seat}", percent(share)) for seat, share in enumerate(result.seat_win_shares)),
        *((f"  of {name}, {left} to the left", percent(share)) for left, (name, share) in enumerate(shares, start=1)),
        *((f"place {place}", percent(share)) for place, share in enumerate(result.places, start=1)),
        ("coins", f"{result.mean_coins:.2f}"),
        ("  of the opponents", f"{result.mean_opponent_coins:.2f}"),
        ("rounds", f"{result.mean_rounds:.2f}"),
        ("decisions", f"{result.mean_decisions:.2f}"),
        ("games", f"{result.games}"),
        ("  cut off", percent(result.truncated_share)),
    ):
        table.add_row(in_table(what), value)
    return table
