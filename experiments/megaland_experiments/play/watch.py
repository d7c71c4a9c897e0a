"""``megaland watch``: step through a recorded game."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import NamedTuple

from megaland_env.actions import action_name
from megaland_env.engine.events import in_words
from megaland_env.outside_text import printable
from megaland_env.render import words
from megaland_env.replay import Replay, load_replay, play
from megaland_env.snapshot import Snapshot
from megaland_experiments.options import whole_number
from megaland_experiments.play.command import add_colour_argument
from megaland_experiments.play.terminal import Terminal

_KEYS = "Enter or n next, b back, 12 step 12, r next round, r 3 round 3, e end, f full board, h history, q quit"


class Frame(NamedTuple):
    """The game after a decision moment (or at the beginning), with the choices and events of that moment in words."""

    snapshot: Snapshot
    told: list[str]


def frames(replay: Replay, viewer: int | None = None) -> list[Frame]:
    """All frames of a game: its beginning, and one for each decision moment.

    Raises:
        ReplayError: the rules do not allow the choices.
    """
    found = []
    for games, moment in zip(play(replay, record=True), ((), *replay.moments), strict=True):
        columns = games.drain_events()
        events = [in_words(columns, row) for row in range(len(columns.event))]
        chosen = [f"{words.who(seat, viewer)} {_action_words(action)}" for seat, action in moment]
        told = [f"Chosen: {', '.join(chosen)}."] * bool(chosen) + words.tell(events, viewer)
        found.append(Frame(games.snapshot(0), told))
    return found


def _action_words(action: int) -> str:
    """``"BUY_LODGE"`` as ``"buy lodge"``."""
    return action_name(action).replace("_", " ").lower()


def names_of(replay: Replay) -> list[str] | None:
    """The names of the agents, if the replay has them."""
    agents = replay.metadata.get("agents")
    players = replay.config.num_players
    if isinstance(agents, list) and len(agents) == players and all(isinstance(name, str) for name in agents):
        return agents
    return None


class Viewer:
    """Shows a replay to a person.

    Args:
        replay: the replay.
        seat: seat from which the game is seen, or ``None``.
        terminal: terminal of the person.
    """

    def __init__(self, replay: Replay, seat: int | None, terminal: Terminal) -> None:
        self.frames = frames(replay, seat)
        self.names = names_of(replay)
        self.seat = seat
        self.terminal = terminal
        self.last = len(self.frames) - 1

    def show(self, step: int, note: str = "") -> None:
        """Show one frame so that it fits the screen, with a note below it."""
        terminal, frame = self.terminal, self.frames[step]
        told = terminal.broken(frame.told)
        situation = terminal.broken([words.situation(frame.snapshot, self.seat)], "", "")
        notes = terminal.broken([note], "", "") if note else []
        below = len(situation) + len(notes) + 1  # the prompt
        board = terminal.board(frame.snapshot, self.seat, self.names, below + len(told))
        room = None if terminal.rows is None else terminal.rows - len(board) - below
        is_full = room is None or board == terminal.full_board(frame.snapshot, self.seat, self.names)
        terminal.clear()
        terminal.say("\n".join([*board, *terminal.newest(told, None if room is None else max(room, 1))]))
        if not is_full:  # the full board says it
            terminal.say("\n".join(situation), "strong")
        if notes:
            terminal.say("\n".join(notes))

    def show_all(self) -> None:
        """Show all frames, one below the other."""
        for frame in self.frames:
            board = self.terminal.full_board(frame.snapshot, self.seat, self.names)
            self.terminal.say("\n".join([*board, *self.terminal.broken(frame.told), ""]))

    def step_through(self) -> None:
        """Show the frames that the person asks for."""
        step = 0
        self.show(step)
        while True:
            try:
                answer = self.terminal.ask(
                    f"Step {step} of {self.last} (Enter, b, a number, r, e, f, h, q; ? help): "
                ).lower()
            except EOFError:
                return
            if answer == "q":
                return
            note: int | str = ""
            if answer == "f":
                self.terminal.page(self.terminal.full_board(self.frames[step].snapshot, self.seat, self.names))
            elif answer == "h":
                self.terminal.page(self.terminal.broken(self.frames[step].told))
            else:
                note = _KEYS if answer == "?" else self._step_for(answer, step)
            if isinstance(note, int):
                step, note = note, ""
            elif self.terminal.rows is None:  # nothing was overwritten
                if note:
                    self.terminal.say(note)
                continue
            self.show(step, note)

    def _step_for(self, answer: str, step: int) -> int | str:
        """The step that an answer leads to, or a message if there is none."""
        if answer in ("", "n"):
            return step + 1 if step < self.last else "This is the last step; b goes back, q quits."
        if answer == "b":
            return step - 1 if step else "This is the beginning."
        if answer == "e":
            return self.last
        to_round = re.fullmatch(r"r ?([0-9]{0,9})", answer)
        if to_round:
            return self._round(int(to_round[1]) if to_round[1] else self.frames[step].snapshot["round"] + 1)
        if re.fullmatch("[0-9]{1,9}", answer):
            return int(answer) if int(answer) <= self.last else f"The last step is {self.last}."
        return f"{answer[:20]!r} is no key here: {_KEYS}."

    def _round(self, number: int) -> int | str:
        rounds = [frame.snapshot["round"] for frame in self.frames]
        if number in rounds:
            return rounds.index(number)
        return f"The rounds are 1 to {rounds[-1]}."


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland watch``."""
    parser.add_argument("replay", metavar="REPLAY", help="file written by megaland play or save_replay")
    parser.add_argument(
        "--seat", type=whole_number, metavar="S", help="seat from which the game is seen; by default from outside"
    )
    parser.add_argument("--all", action="store_true", help="print all steps without asking for keys")
    add_colour_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Load the replay, which checks it, and show it."""
    terminal = Terminal(arguments.colour)
    if terminal.rows is not None:  # a long game takes seconds, since its choices are played and checked
        terminal.say(f"Opening {printable(arguments.replay)} ...")
    replay = load_replay(arguments.replay)
    players = replay.config.num_players
    if arguments.seat is not None and not 0 <= arguments.seat < players:
        raise ValueError(f"seat is {arguments.seat}; the game was played by the seats 0 to {players - 1}")
    terminal.check_size()
    viewer = Viewer(replay, arguments.seat, terminal)
    try:
        if arguments.all:
            viewer.show_all()
        else:
            viewer.step_through()
    except BrokenPipeError:  # the reader has seen enough, as in `megaland watch --all game.json | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
