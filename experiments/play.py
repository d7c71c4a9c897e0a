"""Play the game in a terminal, against any agents; the game is kept as a replay."""

from __future__ import annotations

import argparse
import secrets
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.evaluate import add_config_arguments, config_from, split_specs
from experiments.matches import AgentError
from experiments.output import check_writable
from megaland_env import LevelCard, MegalandGames
from megaland_env.agent import Agent, make_agent
from megaland_env.errors import IllegalActionError
from megaland_env.events import in_words
from megaland_env.odds import fall_chance
from megaland_env.outside_text import printable
from megaland_env.render import words
from megaland_env.render.text import WIDTH, clear_screen, render_text, show, styled, wants_colour
from megaland_env.replay import Recorder, save_replay
from megaland_env.snapshot import Snapshot

DEFAULT_OPPONENT = "threshold"
HUMAN = "human"
"""What the person is called among the agents of a replay."""

COLOURS = ("auto", "always", "never")
INTERRUPTED = 130  # as a shell has it: 128 + SIGINT

_PROMPT = "Your choice (a number; o odds, b board, ? help, q quit): "
_HELP = """\
  1, 2, ...  choose what stands beside the number
  o          the chance to fall on the next level card, with a jump and without
  b          the board once more
  ?          this help, and what the buildings on offer do
  q          leave the game; what has been played is kept as a replay

A round: everybody runs through the level and gathers treasures. Who loses the last heart falls, and
loses what they carry. Then all buy with the treasures they have at home: a building of cost 4 takes 4
different ones, a heart takes some of one kind. At night each building stores one treasure, and the
rest are discarded. Once anybody has 20 coins at night, whoever has most of them wins."""


class Quit(Exception):
    """The person has left the game."""


class Terminal:
    """Where the person reads and types; any terminal, or a pipe.

    Args:
        colour: one of ``COLOURS``.
    """

    def __init__(self, colour: str = "auto") -> None:
        self.colour = wants_colour() if colour == "auto" else colour == "always"
        if hasattr(sys.stdin, "reconfigure"):  # what is no text is a wrong answer like any other
            sys.stdin.reconfigure(errors="replace")

    def board(self, snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None, *, clear: bool = True) -> None:
        """The board; in the place of what was there, or below it."""
        if clear:
            clear_screen()
        self.say(render_text(snapshot, colour=self.colour, viewer=viewer, names=names))

    def say(self, text: str, style: str = "") -> None:
        """A line, or some lines that are already broken."""
        show(styled(text, style, self.colour))

    def tell(self, sentences: Iterable[str]) -> None:
        """Sentences, broken to the width of the board."""
        for sentence in sentences:
            self.say(textwrap.fill(sentence, WIDTH, initial_indent="  ", subsequent_indent="    "))

    def ask(self, prompt: str) -> str:
        """What the person types.

        Raises:
            EOFError: nothing more is typed.
        """
        try:
            return input(prompt).strip()
        except EOFError:
            print()
            raise


# ------------------------------------------------------------------------------------------------------ the game


class Match:
    """One game of a person against agents.

    Args:
        recorder: of a batch of one game that has begun and keeps an event log.
        agents: (P,) who plays; ``None`` in the seat of the person.
        names: (P,) what they are called.
        terminal: where the person is.
    """

    def __init__(
        self, recorder: Recorder, agents: Sequence[Agent | None], names: Sequence[str], terminal: Terminal
    ) -> None:
        self.recorder = recorder
        self.games: MegalandGames = recorder.games
        self.agents = agents
        self.names = names
        self.seat = agents.index(None)
        self.terminal = terminal
        self._news: list[str] = []

    def play(self) -> None:
        """To the end of the game.

        Raises:
            AgentError: an agent failed, or chose what it may not.
            Quit: the person has left.
        """
        while self.games.active[0].any():
            actions = np.zeros((1, self.games.num_players), np.int64)
            if self.games.active[0, self.seat]:
                actions[0, self.seat] = self._ask_person()
            self._ask_agents(actions)
            try:
                self.recorder.step(actions)
            except IllegalActionError as error:
                raise AgentError(f"agent {self.names[error.seat]!r} chose what it may not: {error}") from error
        self._show_state()

    def _ask_agents(self, actions: np.ndarray) -> None:
        decisions = self.games.decisions()
        for row, seat in enumerate(decisions.seat.tolist()):
            agent = self.agents[seat]
            if agent is None:
                continue
            named = f"agent {self.names[seat]!r} in seat {seat}"
            try:
                answer = np.asarray(agent.act(decisions[[row]]))
            except Exception as error:
                raise AgentError(f"{named} raised {type(error).__name__}: {error}") from error
            if answer.shape != (1,) or answer.dtype.kind not in "iu":
                raise AgentError(f"{named} answered with {answer.dtype} {answer.shape}, not with one integer")
            actions[0, seat] = answer[0]

    def _ask_person(self) -> int:
        self._show_state()
        snapshot = self.games.snapshot(0)
        choices = np.flatnonzero(self.games.legal[0, self.seat]).tolist()
        choices.sort(key=lambda action: action == 0)  # to pass comes last
        numbered = {str(number): action for number, action in enumerate(choices, 1)}
        said = [
            f"{number:>3}  {words.choice_words(snapshot, self.seat, action)}" for number, action in numbered.items()
        ]
        self._say_choices(snapshot, said)
        while True:
            try:
                answer = self.terminal.ask(_PROMPT)
            except EOFError:
                raise Quit from None
            if answer in numbered:
                return int(numbered[answer])
            match answer.lower():
                case "q":
                    raise Quit
                case "o":
                    self.terminal.tell(odds_words(self.games, self.seat))
                case "?":
                    self.terminal.say(_HELP)
                    self.terminal.tell(buildings_words(snapshot))
                case "b":
                    self._show_board()
                    self._say_choices(snapshot, said)
                case "":
                    self._say_numbered(said)
                case _:
                    several = f"a number from 1 to {len(said)}" if len(said) > 1 else "1"
                    self.terminal.say(f"{_shortened(answer)!r} is no choice here: type {several}, o, b, ? or q.")

    def _say_choices(self, snapshot: Snapshot, said: Sequence[str]) -> None:
        self.terminal.say(f"\n{words.situation(snapshot, self.seat)}", "strong")
        self._say_numbered(said)

    def _say_numbered(self, said: Sequence[str]) -> None:
        self.terminal.say("\n".join(textwrap.fill(line, WIDTH, subsequent_indent=" " * 5) for line in said))

    def _show_state(self) -> None:
        """The board, and what has happened since the person was asked last."""
        columns = self.games.drain_events()
        events = [in_words(columns, row) for row in range(len(columns.event))]
        self._news = words.tell(events, self.seat)
        self._show_board()

    def _show_board(self) -> None:
        self.terminal.board(self.games.snapshot(0), self.seat, self.names)
        self.terminal.tell(self._news)


def odds_words(games: MegalandGames, viewer: int) -> list[str]:
    """The chance of each seat in the level to fall on the next card, and which cards would do it."""
    snapshot = games.snapshot(0)
    unseen = words.unseen_cards(snapshot)
    inside = [seat for seat, player in enumerate(snapshot["players"]) if player["in_level"]]
    if not inside:
        return ["Nobody is in the level."]
    if not unseen:
        return ["No card is left to come: whoever is in the level goes home."]
    lines = [f"The next card is one of {words.counted(len(unseen), 'card')}. To fall on it:"]
    for seat in sorted(inside, key=lambda seat: seat != viewer):
        jumps = snapshot["players"][seat]["jumps"]
        without, jumping = (_deadly(snapshot, seat, unseen, jumping=jumping) for jumping in (False, True))
        tokens = "" if jumps else f" ({'you have' if seat == viewer else 'has'} no token)"
        lines.append(
            f"{words.who(seat, viewer)}: {_chance(without, unseen)}; with a jump {_chance(jumping, unseen)}{tokens}"
        )
    return lines


def _deadly(snapshot: Snapshot, seat: int, unseen: Sequence[str], *, jumping: bool) -> list[str]:
    player = snapshot["players"][seat]
    hearts, soap = np.array(player["hearts"]), np.array(player["buildings"].get("Soap Makers", 0))
    cards = [card for card in LevelCard if card.label in unseen]
    return [card.label for card in cards if fall_chance(np.array(1 << card), hearts, soap, jumping) > 0]


def _chance(deadly: Sequence[str], unseen: Sequence[str]) -> str:
    named = f" ({', '.join(deadly)})" if deadly else ""
    return f"{100 * len(deadly) / len(unseen):.0f} %{named}"


def buildings_words(snapshot: Snapshot) -> Iterator[str]:
    """What the buildings on offer cost and do, a line each."""
    yield "The buildings on offer:"
    for name in snapshot["supply"]["buildings"]:
        yield f"{words.cost_of(name)} {name}: {words.building_words(name)}"


def _shortened(answer: str) -> str:
    return answer if len(answer) <= 20 else f"{answer[:17]}..."


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland play``."""
    parser.add_argument(
        "--opponents",
        metavar="AGENTS",
        action="append",
        help="one agent for all other seats, or one for each in the order in which they sit to your left, separated by "
        f"commas or the option repeated ({DEFAULT_OPPONENT})",
    )
    parser.add_argument("--players", type=int, default=4, help="at the table, 2 to 5 (%(default)s)")
    parser.add_argument("--seat", type=int, default=0, help="where you sit, from 0 (%(default)s)")
    parser.add_argument("--seed", type=int, help="the luck of the game; another one each time by default")
    parser.add_argument(
        "--replay", metavar="FILE", help="where the game is kept (megaland-SEED.json, with a number if that is there)"
    )
    add_config_arguments(parser)
    add_colour_argument(parser)


def add_colour_argument(parser: argparse.ArgumentParser) -> None:
    """``--colour``."""
    parser.add_argument("--colour", choices=COLOURS, default="auto", help="auto: in a terminal (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Play, and keep the game, wherever it ends."""
    config = config_from(arguments)
    players, seat = config.num_players, arguments.seat
    if not 0 <= seat < players:
        raise ValueError(f"seat is {seat}; it must be from 0 to {players - 1}")
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; it must be from 0 to 2**64 - 1")
    path = _free_path(seed) if arguments.replay is None else Path(arguments.replay)
    check_writable(path)
    specs = [spec.strip() for text in arguments.opponents or [DEFAULT_OPPONENT] for spec in split_specs(text)]
    names, agents = _table(specs, players, seat)

    games = MegalandGames(config, 1, record=True)
    recorder = Recorder(games)
    recorder.reset([seed])
    terminal = Terminal(arguments.colour)
    status = 0
    try:
        Match(recorder, agents, names, terminal).play()
        terminal.say("")
        terminal.say(words.situation(games.snapshot(0), seat), "strong")
    except Quit:
        terminal.say(f"You leave the game in round {games.rounds[0]}.")
    except KeyboardInterrupt:
        print()
        terminal.say(f"Interrupted in round {games.rounds[0]}.")
        status = INTERRUPTED
    finally:  # when an agent has failed, too
        save_replay(path, recorder.replay(0, agents=names))
        terminal.say(f"The game is kept in {printable(path)}; see it again with: megaland watch {printable(path)}")
    return status


def _table(specs: Sequence[str], players: int, seat: int) -> tuple[list[str], list[Agent | None]]:
    """Who sits where: names and agents; the person is called ``HUMAN`` and is ``None``."""
    if len(specs) not in (1, players - 1):
        raise ValueError(f"there are {len(specs)} opponents; a table of {players} needs one for all, or {players - 1}")
    others = list(specs) * (players - 1) if len(specs) == 1 else list(specs)
    made = {spec: make_agent(spec) for spec in dict.fromkeys(others)}
    names: list[str] = [HUMAN] * players
    agents: list[Agent | None] = [None] * players
    for place, spec in enumerate(others, 1):
        left = (seat + place) % players
        names[left], agents[left] = spec, made[spec]
    return names, agents


def _free_path(seed: int) -> Path:
    path, number = Path(f"megaland-{seed}.json"), 1
    while path.exists():
        number += 1
        path = Path(f"megaland-{seed}-{number}.json")
    return path
