"""One game of a person against agents, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from megaland_env import Kind, MegalandConfig, MegalandGames
from megaland_env.actions import PASS
from megaland_env.agent import Agent
from megaland_env.engine.events import in_words
from megaland_env.errors import IllegalActionError
from megaland_env.render import words
from megaland_env.replay import Recorder, Replay
from megaland_env.snapshot import Snapshot
from megaland_experiments.matches.playing import AgentError
from megaland_experiments.play.explanations import KEYS, explain_named, help_sections, odds_words, standings
from megaland_experiments.play.terminal import Terminal

_MOST_NEWS = 3  # lines of news for which the board or the choices are made shorter


class Quit(Exception):
    """The person has left the game."""


class Match:
    """One game of a person against agents.

    Args:
        config: configuration of the game.
        seed: seed of the game.
        agents: (P,) agents; ``None`` in the seat of the person.
        names: (P,) names of the agents and of the person.
        terminal: terminal of the person.
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
        """The replay of the game up to now."""
        return self.recorder.replay(0, agents=list(self.names))

    def play(self) -> None:
        """Play to the end of the game.

        Raises:
            AgentError: an agent failed, or chose an illegal action.
            Quit: the person has left the game.
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
        the level, on returning home and at night), and only the buyer decides, so nobody else has decided since. It
        changes nothing either: the engine has no undo, so the game is played again from its seed with the choices made
        before the purchase. The cards to come, the number of decisions of each seat (on which the randomness of agents
        depends) and the recorded replay are those of a game without the purchase.
        """
        moments = self.replay().moments[: self._purchase_began]
        self._begin()
        for moment in moments:
            actions = np.zeros((1, self.games.num_players), np.int64)
            for seat, action in moment:
                actions[0, seat] = action
            self.recorder.step(actions)
        self.games.drain_events()  # the person has already read them
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
        """Show what a key stands for; returns what is wrong with the answer if it is not a key."""
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
                return f"{shortened(answer)!r} is no choice here: type {several}, or ? for help."
        return ""

    def _help(self, snapshot: Snapshot) -> list[str]:
        lines = KEYS.split("\n")
        for title, paragraphs in help_sections(snapshot):
            lines += ["", title, *self.terminal.broken(paragraphs)]
        return lines

    def _show_question(self, snapshot: Snapshot, choices: Sequence[int], note: str = "") -> None:
        """Show the board, the news, the question and the choices, so that everything fits on the screen.

        If it does not fit, first the board becomes compact, then the choices become shorter, then the oldest news are
        left out, and last the board becomes brief.
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
        """The numbered choices, one on each line, or in two columns if they are short."""
        said = [words.choice_words(snapshot, self.seat, action, short=short) for action in choices]
        entries = [f"{number:>3}  {sentence}" for number, sentence in enumerate(said, 1)]
        wide = self.terminal.columns // 2
        if not short or max(map(len, entries)) >= wide:
            return self.terminal.broken(entries, "", " " * 5)
        rows = -(-len(entries) // 2)
        pairs = zip(entries[:rows], [*entries[rows:], ""], strict=False)
        return [f"{left:{wide}}{right}".rstrip() for left, right in pairs]

    def _hear_news(self) -> None:
        """Collect what has happened since the last question."""
        columns = self.games.drain_events()
        events = [in_words(columns, row) for row in range(len(columns.event))]
        self._news += words.tell(events, self.seat)

    def show_end(self) -> None:
        """Show the final board, the last news, the standings and the winners."""
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
        """Everything that has happened since the last question."""
        return self.terminal.broken(self._news or ["Nothing has happened since you were asked last."])

    def full_board(self) -> list[str]:
        """The lines of the full board."""
        return self.terminal.full_board(self.games.snapshot(0), self.seat, self.names)

    def _length(self, snapshot: Snapshot) -> str:
        rounds = words.counted(snapshot["round"], "round")
        return f"The game took {rounds}; its seed is {self.seed}."


def shortened(answer: str) -> str:
    """An answer of at most 20 characters, to quote in a message."""
    return answer if len(answer) <= 20 else f"{answer[:17]}..."
