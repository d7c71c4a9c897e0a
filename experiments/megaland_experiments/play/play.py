"""Play the game in a terminal, against any agents."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from megaland_env import Kind, MegalandConfig, MegalandGames
from megaland_env.actions import PASS
from megaland_env.agent import Agent, make_agent
from megaland_env.engine.events import in_words
from megaland_env.errors import IllegalActionError
from megaland_env.outside_text import printable
from megaland_env.render import words
from megaland_env.replay import Recorder, Replay, save_replay
from megaland_env.snapshot import Snapshot
from megaland_experiments.matches.playing import AgentError
from megaland_experiments.options import (
    add_config_arguments,
    add_opponents,
    add_players,
    config_from,
    opponents_from,
    whole_number,
)
from megaland_experiments.play.terminal import COLOURS, Terminal
from megaland_experiments.play.words import KEYS, explain_named, help_sections, odds_words, standings
from megaland_experiments.shared.output import check_writable

DEFAULT_OPPONENT = "threshold"
HUMAN = "human"
"""What the person is called among the agents of a replay."""

INTERRUPTED = 130  # as a shell has it: 128 + SIGINT
NOT_WRITTEN = 2  # as for any file that cannot be written
_MOST_NEWS = 3  # lines of what has happened that are worth a smaller board or shorter choices


class Quit(Exception):
    """The person has left the game."""


# ------------------------------------------------------------------------------------------------------ the game


class Match:
    """One game of a person against agents.

    Args:
        config: of the game.
        seed: of the game.
        agents: (P,) who plays; ``None`` in the seat of the person.
        names: (P,) what they are called.
        terminal: where the person is.
    """

    def __init__(
        self,
        config: MegalandConfig,
        seed: int,
        agents: Sequence[Agent | None],
        names: Sequence[str],
        terminal: Terminal,
    ) -> None:
        self.config = config
        self.seed = seed
        self.agents = agents
        self.names = names
        self.seat = agents.index(None)
        self.terminal = terminal
        self._news: list[str] = []
        self._purchase_began = 0  # moments of the game before the person's last purchase
        self._begin()

    def _begin(self) -> None:
        self.games = MegalandGames(self.config, 1, record=True)
        self.recorder = Recorder(self.games)
        self.recorder.reset([self.seed])

    def replay(self) -> Replay:
        """The game as far as it has been played."""
        return self.recorder.replay(0, agents=list(self.names))

    def play(self) -> None:
        """Play to the end of the game.

        Raises:
            AgentError: an agent failed, or chose an illegal action.
            Quit: the person has left.
        """
        while self.games.active[0].any():
            actions = np.zeros((1, self.games.num_players), np.int64)
            if self.games.active[0, self.seat]:
                chosen = self._ask_person()
                if chosen is None:
                    self._take_purchase_back()
                    continue
                if self.games.kind[0] == Kind.BUY and chosen != PASS:
                    self._purchase_began = int(self.games.steps[0])
                actions[0, self.seat] = chosen
                self._news = []
            self._ask_agents(actions)
            try:
                self.recorder.step(actions)
            except IllegalActionError as error:
                raise AgentError(f"agent {self.names[error.seat]!r} chose an illegal action: {error}") from error
        self._hear_news()

    def _ask_agents(self, actions: npt.NDArray[np.int64]) -> None:
        decisions = self.games.decisions()
        for row, seat in enumerate(decisions.seat.tolist()):
            agent = self.agents[seat]
            if agent is None:
                continue
            named = f"agent {self.names[seat]!r} in seat {seat}"
            try:
                answer = np.asarray(agent.act(decisions[[row]]))
            except (Exception, SystemExit) as error:
                raise AgentError(f"{named} raised {type(error).__name__}: {error}") from error
            if answer.shape != (1,) or answer.dtype.kind not in "iu":
                raise AgentError(f"{named} answered with {answer.dtype} {answer.shape}, not with one integer")
            actions[0, seat] = answer[0]

    def _take_purchase_back(self) -> None:
        """Go back to the decision to buy, while what was chosen there is not paid in full.

        This shows the person nothing hidden. Buying and paying draw no card (B1 to B6: all randomness of a game is in
        the level, on returning home and at night), and they ask nobody but the buyer, so nobody has answered since. It
        changes nothing either: the engine has no undo, so the game begins again from its seed and is played with the
        choices made before the purchase. The cards to come, the number of decisions of each seat, on which the
        randomness of agents depends, and the recorded replay are those of a game without it.
        """
        moments = self.replay().moments[: self._purchase_began]
        self._begin()
        for moment in moments:
            actions = np.zeros((1, self.games.num_players), np.int64)
            for seat, action in moment:
                actions[0, seat] = action
            self.recorder.step(actions)
        self.games.drain_events()  # the person has read them before
        self._news = ["You take the purchase back."]

    # -------------------------------------------------------------------------------------------------- the person

    def _ask_person(self) -> int | None:
        """The action that the person chooses, or ``None`` to take the purchase back."""
        self._hear_news()
        snapshot = self.games.snapshot(0)
        choices = np.flatnonzero(self.games.legal[0, self.seat]).tolist()
        choices.sort(key=lambda action: action == PASS)  # to pass comes last
        numbered = {str(number): action for number, action in enumerate(choices, 1)}
        paying = snapshot["pay"] is not None
        keys = f"a number; {'u undo, ' if paying else ''}o odds, b board, h history, ? help, q quit"
        self._show_question(snapshot, choices)
        while True:
            try:
                answer = self.terminal.ask(f"Your choice ({keys}): ")
            except EOFError:
                raise Quit from None
            if answer in numbered:
                return int(numbered[answer])
            if answer.lower() == "q":
                raise Quit
            if answer.lower() == "u" and paying:
                return None
            note = self._answer_key(answer, snapshot, len(choices))
            if self.terminal.rows is not None or not answer:
                self._show_question(snapshot, choices, note)
            elif note:
                self.terminal.say(note)

    def _answer_key(self, answer: str, snapshot: Snapshot, number: int) -> str:
        """Show what the person wants to see; what is wrong with the answer, if it is none of the keys."""
        terminal = self.terminal
        match answer.lower():
            case "":
                return ""
            case "o":
                terminal.page(terminal.broken(odds_words(self.games, self.seat)))
            case "b":
                terminal.page(self.full_board())
            case "h":
                terminal.page(self.history())
            case "u":
                return "Only a purchase that is not paid in full yet can be taken back."
            case "?":
                terminal.page(self._help(snapshot))
            case named if named.startswith("?"):
                terminal.page(terminal.broken([explain_named(named[1:])]))
            case _:
                several = f"a number from 1 to {number}" if number > 1 else "1"
                return f"{_shortened(answer)!r} is no choice here: type {several}, or ? for help."
        return ""

    def _help(self, snapshot: Snapshot) -> list[str]:
        lines = KEYS.split("\n")
        for title, paragraphs in help_sections(snapshot):
            lines += ["", title, *self.terminal.broken(paragraphs)]
        return lines

    def _show_question(self, snapshot: Snapshot, choices: Sequence[int], note: str = "") -> None:
        """The board, what has happened, the question and the choices, so that all of it fits the screen.

        If it does not, first the board is the compact one, then the choices are said in fewer words, then the oldest
        news are left out, and last the board is brief.
        """
        terminal = self.terminal
        news = terminal.broken(self._news)
        question = terminal.broken([words.situation(snapshot, self.seat)], "", "")
        notes = terminal.broken([note], "", "") if note else []
        for short, brief, wanted in ((False, False, _MOST_NEWS), (True, False, 0), (True, True, 0)):
            listed = self._listed(snapshot, choices, short=short)
            below = len(question) + len(listed) + len(notes) + 1  # the prompt
            board = terminal.board(snapshot, self.seat, self.names, below + len(news), brief=brief)
            room = None if terminal.rows is None else terminal.rows - len(board) - below
            if room is None or room >= min(len(news), wanted):
                break
        terminal.clear()
        terminal.say("\n".join([*board, *terminal.newest(news, room)]))
        if room is None:
            terminal.say("")
        terminal.say("\n".join(question), "strong")
        terminal.say("\n".join([*listed, *notes]))

    def _listed(self, snapshot: Snapshot, choices: Sequence[int], *, short: bool) -> list[str]:
        """The choices with their numbers, a line each or, if they are short, in two columns."""
        said = [words.choice_words(snapshot, self.seat, action, short=short) for action in choices]
        entries = [f"{number:>3}  {sentence}" for number, sentence in enumerate(said, 1)]
        wide = self.terminal.columns // 2
        if not short or max(map(len, entries)) >= wide:
            return self.terminal.broken(entries, "", " " * 5)
        rows = -(-len(entries) // 2)
        pairs = zip(entries[:rows], [*entries[rows:], ""], strict=False)
        return [f"{left:{wide}}{right}".rstrip() for left, right in pairs]

    def _hear_news(self) -> None:
        """Take in what has happened since the person was asked last."""
        columns = self.games.drain_events()
        events = [in_words(columns, row) for row in range(len(columns.event))]
        self._news += words.tell(events, self.seat)

    def show_end(self) -> None:
        """The final board, the last news, the standings and who has won."""
        terminal, snapshot = self.terminal, self.games.snapshot(0)
        places = standings(snapshot, self.names, self.seat)
        result = terminal.broken([f"{words.situation(snapshot, self.seat)} {self._length(snapshot)}"], "", "")
        news = terminal.broken(self._news)
        below = len(places) + len(result) + 3
        board = terminal.board(snapshot, self.seat, self.names, below + len(news))
        room = None if terminal.rows is None else terminal.rows - len(board) - below
        terminal.clear()
        terminal.say("\n".join([*board, *terminal.newest(news, room), ""]))
        terminal.say("\n".join(places))
        terminal.say("\n".join(result), "strong")

    def history(self) -> list[str]:
        """Everything that has happened since the person was asked last."""
        return self.terminal.broken(self._news or ["Nothing has happened since you were asked last."])

    def full_board(self) -> list[str]:
        """The lines of the full board."""
        return self.terminal.full_board(self.games.snapshot(0), self.seat, self.names)

    def _length(self, snapshot: Snapshot) -> str:
        rounds = words.counted(snapshot["round"], "round")
        return f"The game took {rounds}; its seed is {self.seed}."


def _shortened(answer: str) -> str:
    return answer if len(answer) <= 20 else f"{answer[:17]}..."


# ------------------------------------------------------------------------------------------------------ replays


class Keeper:
    """Writes the replay of a game when it is asked to, to the file that the person named or to a free default name.

    Args:
        path: what the person named with ``--replay``: then every game is written, at whatever point it ends.
        terminal: where the person is told.
    """

    def __init__(self, path: str | None, terminal: Terminal) -> None:
        if path is not None:
            check_writable(path)
        self._named = None if path is None else Path(path)
        self._written: list[Path] = []
        self._saved: Match | None = None
        self._steps_saved = -1
        self._terminal = terminal

    @property
    def always(self) -> bool:
        """Whether every game is written without a question."""
        return self._named is not None

    def has(self, match: Match) -> bool:
        """Whether the game is written as far as it has been played."""
        return self._saved is match and self._steps_saved == int(match.games.steps[0])

    def path_for(self, match: Match) -> Path:
        """Where the game would be written."""
        if self._named is None:
            return _free(Path(f"megaland-{match.seed}.json"))
        return _free(self._named) if self._named in self._written else self._named  # a rematch has a file of its own

    def save(self, match: Match) -> None:
        """Write the game, unless that has been done.

        Raises:
            OSError: the file cannot be written.
        """
        if self.has(match):
            return
        path = self.path_for(match)
        save_replay(path, match.replay())
        self._written.append(path)
        self._saved, self._steps_saved = match, int(match.games.steps[0])
        shown = printable(path)
        self._terminal.say(f"The game is saved in {shown}.\nSee it again with: megaland watch {shown}")

    def try_to_save(self, match: Match, why: str = "") -> None:
        """Write the game, and say so if that fails; before it why the game has ended early, if it has."""
        try:
            if why:
                self._terminal.say(f"{why} in round {match.games.rounds[0]}.")
            self.save(match)
        except OSError as error:
            reason = f"{error.filename or self.path_for(match)}: {error.strerror or error}"
            self._terminal.say(f"The game cannot be saved: {printable(reason)}")

    def say_if_lost(self, match: Match) -> None:
        """Tell the person that the game is not written, and how it would have been."""
        if not self.has(match):
            how = "" if self.always else " With --replay FILE it is, wherever it ends."
            self._terminal.say(f"The game is not saved.{how}")

    def status(self, match: Match) -> int:
        """The exit status: 2 if the person wanted a file from the start, and it could not be written."""
        return NOT_WRITTEN if self.always and not self.has(match) else 0


def _free(path: Path) -> Path:
    """The path, or the first with a number after its name that is not taken."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland play``."""
    add_opponents(parser, DEFAULT_OPPONENT, "one for each in the order in which they sit to your left")
    add_players(parser, 4)
    parser.add_argument("--seat", type=whole_number, default=0, metavar="S", help="where you sit, from 0 (%(default)s)")
    parser.add_argument("--seed", type=whole_number, metavar="S", help="of the game; a new one each time by default")
    parser.add_argument(
        "--replay",
        metavar="FILE",
        help="write the replay there, wherever the game ends; without it you are asked at the end",
    )
    add_config_arguments(parser)
    add_colour_argument(parser)


def add_colour_argument(parser: argparse.ArgumentParser) -> None:
    """``--colour``."""
    parser.add_argument("--colour", choices=COLOURS, default="auto", help="auto: in a terminal (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Play one game, and as many more at the same table as the person wants."""
    config = config_from(arguments)
    players, seat = config.num_players, arguments.seat
    if not 0 <= seat < players:
        raise ValueError(f"seat is {seat}; it must be from 0 to {players - 1}")
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; it must be from 0 to 2**64 - 1")
    terminal = Terminal(arguments.colour)
    keeper = Keeper(arguments.replay, terminal)
    specs = opponents_from(arguments) or [DEFAULT_OPPONENT]
    names, agents = _table(specs, players, seat)
    while True:
        match = Match(config, seed, agents, names, terminal)
        try:
            match.play()
            wants_rematch = _after_the_game(match, keeper)
        except Quit:
            _leave(match, keeper)
            return keeper.status(match)
        except KeyboardInterrupt:
            print()
            terminal.say(f"Interrupted in round {match.games.rounds[0]}.")
            if keeper.always:
                keeper.try_to_save(match)
            keeper.say_if_lost(match)
            return INTERRUPTED
        except BrokenPipeError:  # nobody reads on
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if keeper.always:
                keeper.save(match)
            return 0
        except Exception as error:  # whoever mends what failed needs the game
            keeper.try_to_save(match, "An agent failed" if isinstance(error, AgentError) else "The game broke off")
            raise
        if not wants_rematch:
            return keeper.status(match)
        seed = secrets.randbits(32)


def _after_the_game(match: Match, keeper: Keeper) -> bool:
    """Show how the game has ended, save it if the person wants it, and ask for a rematch."""
    terminal = match.terminal
    match.show_end()
    if keeper.always:
        keeper.try_to_save(match)
    while True:
        keys = "r rematch, b board, h history, Enter or q to end"
        try:
            answer = terminal.ask(f"({'' if keeper.has(match) else 's save the replay, '}{keys}): ").lower()
        except EOFError:
            answer = "q"
        if answer in ("", "q", "r"):
            keeper.say_if_lost(match)
            return answer == "r"
        if answer in ("s", "save"):
            keeper.try_to_save(match)
        elif answer in ("b", "h"):
            terminal.page(match.full_board() if answer == "b" else match.history())
            if terminal.can_page:
                match.show_end()
        else:
            terminal.say(f"{_shortened(answer)!r} is no choice here: type s, r, b, h or q.")


def _leave(match: Match, keeper: Keeper) -> None:
    """The person leaves before the end, and may save the game."""
    terminal = match.terminal
    terminal.say(f"You leave the game in round {match.games.rounds[0]}.")
    if keeper.always:
        keeper.try_to_save(match)
    while not keeper.has(match):
        try:
            answer = terminal.ask(f"s saves it as {printable(keeper.path_for(match))}, Enter leaves without: ").lower()
        except EOFError:
            answer = ""
        if answer not in ("s", "save"):
            break
        keeper.try_to_save(match)
    keeper.say_if_lost(match)


def _table(specs: Sequence[str], players: int, seat: int) -> tuple[list[str], list[Agent | None]]:
    """Who sits where: names and agents; the person is called ``HUMAN`` and is ``None``."""
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
