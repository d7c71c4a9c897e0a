"""``megaland play``: play the game in a terminal, against any agents."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence

from megaland_env.agent import Agent, make_agent
from megaland_env.outside_text import printable
from megaland_experiments.matches.playing import AgentError
from megaland_experiments.options import (
    add_config_arguments,
    add_opponents,
    add_players,
    config_from,
    opponents_from,
    path_name,
    whole_number,
)
from megaland_experiments.play.match import Match, Quit, shortened
from megaland_experiments.play.saving import ReplaySaver
from megaland_experiments.play.terminal import COLOURS, Terminal

DEFAULT_OPPONENT = "threshold"
HUMAN = "human"
"""The name of the person among the agents of a replay."""

INTERRUPTED = 130  # as a shell has it: 128 + SIGINT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland play``."""
    add_opponents(parser, DEFAULT_OPPONENT, "one for each seat, in the order to your left")
    add_players(parser, 4)
    parser.add_argument("--seat", type=whole_number, default=0, metavar="S", help="your seat, from 0 (%(default)s)")
    parser.add_argument(
        "--seed", type=whole_number, metavar="S", help="seed of the game; a new one each time by default"
    )
    parser.add_argument(
        "--replay",
        type=path_name,
        metavar="FILE",
        help="save the replay to this file, wherever the game ends; without it you are asked at the end",
    )
    add_config_arguments(parser)
    add_colour_argument(parser)


def add_colour_argument(parser: argparse.ArgumentParser) -> None:
    """The argument ``--colour``."""
    parser.add_argument(
        "--colour", choices=COLOURS, default="auto", help="whether to use colours; auto: in a terminal (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Play a game, and rematches as long as the person wants."""
    config = config_from(arguments)
    players, seat = config.num_players, arguments.seat
    if not 0 <= seat < players:
        raise ValueError(f"seat is {seat}; it must be from 0 to {players - 1}")
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; it must be from 0 to 2**64 - 1")
    terminal = Terminal(arguments.colour)
    terminal.check_size()
    saver = ReplaySaver(arguments.replay, terminal)
    specs = opponents_from(arguments) or [DEFAULT_OPPONENT]
    names, agents = _table(specs, players, seat)
    while True:
        match = Match(config, seed, agents, names, terminal)
        try:
            match.play()
            wants_rematch = _after_the_game(match, saver)
        except Quit:
            _leave(match, saver)
            return saver.status(match)
        except KeyboardInterrupt:
            print()
            terminal.say(f"Interrupted in round {match.games.rounds[0]}.")
            if saver.always:
                saver.try_to_save(match)
            saver.say_if_lost(match)
            return INTERRUPTED
        except BrokenPipeError:  # the reader of the output is gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if saver.always:
                saver.save(match)
            return 0
        except Exception as error:  # the replay helps to find the fault
            saver.try_to_save(match, "An agent failed" if isinstance(error, AgentError) else "The game broke off")
            raise
        if not wants_rematch:
            return saver.status(match)
        seed = secrets.randbits(32)


def _after_the_game(match: Match, saver: ReplaySaver) -> bool:
    """Show the result, save the game if the person wants it, and ask for a rematch."""
    terminal = match.terminal
    match.show_end()
    if saver.always:
        saver.try_to_save(match)
    while True:
        keys = "r rematch, b board, h history, Enter or q to end"
        try:
            answer = terminal.ask(f"({'' if saver.has(match) else 's save the replay, '}{keys}): ").lower()
        except EOFError:
            answer = "q"
        if answer in ("", "q", "r"):
            saver.say_if_lost(match)
            return answer == "r"
        if answer in ("s", "save"):
            saver.try_to_save(match)
        elif answer in ("b", "h"):
            terminal.page(match.full_board() if answer == "b" else match.history())
            if terminal.can_page:
                match.show_end()
        else:
            terminal.say(f"{shortened(answer)!r} is no choice here: type s, r, b, h or q.")


def _leave(match: Match, saver: ReplaySaver) -> None:
    """End a game that the person leaves, and offer to save it."""
    terminal = match.terminal
    terminal.say(f"You leave the game in round {match.games.rounds[0]}.")
    if saver.always:
        saver.try_to_save(match)
    while not saver.has(match):
        try:
            answer = terminal.ask(f"s saves it as {printable(saver.path_for(match))}, Enter leaves without: ").lower()
        except EOFError:
            answer = ""
        if answer not in ("s", "save"):
            break
        saver.try_to_save(match)
    saver.say_if_lost(match)


def _table(specs: Sequence[str], players: int, seat: int) -> tuple[list[str], list[Agent | None]]:
    """The names and the agents of all seats; the person is called ``HUMAN``, and is ``None`` among the agents."""
    if len(specs) not in (1, players - 1):
        raise ValueError(f"there are {len(specs)} opponents; a table of {players} needs one for all, or {players - 1}")
    others = list(specs) * (players - 1) if len(specs) == 1 else list(specs)
    made: dict[str, Agent] = {spec: make_agent(spec) for spec in dict.fromkeys(others)}
    names: list[str] = [HUMAN] * players
    agents: list[Agent | None] = [None] * players
    for place, spec in enumerate(others, 1):
        left = (seat + place) % players
        names[left], agents[left] = spec, made[spec]
    return names, agents
