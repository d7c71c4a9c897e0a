"""``megaland play`` and ``megaland watch``: typed input and the output for it."""

from __future__ import annotations

import builtins
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Decisions, Kind, MegalandConfig, MegalandGames
from megaland_env.actions import action_name
from megaland_env.agent import make_agent
from megaland_env.cards import Building
from megaland_env.render import words
from megaland_env.render.text import SYMBOLS, WIDTH, render_text
from megaland_env.replay import Recorder, Replay, load_replay, save_replay
from megaland_env.replay import play as play_again
from megaland_experiments import cli
from megaland_experiments.play.command import HUMAN
from megaland_experiments.play.explanations import explain_named, help_sections, odds_words, standings
from megaland_experiments.play.match import Match
from megaland_experiments.play.terminal import Terminal
from megaland_experiments.play.watch import Viewer, frames
from tests.support.make_golden import TRADING
from tests.support.places import ROOT
from tests.support.play import LIVELY, dealt_games, moments, some_legal, view_of

MEGALAND = [sys.executable, "-m", "megaland_experiments.cli"]
PROMPT = "Your choice (a number; o odds, b board, h history, ? help, q quit): "
PAYING_PROMPT = PROMPT.replace("number; ", "number; u undo, ")
END_PROMPT = "(s save the replay, r rematch, b board, h history, Enter or q to end): "


class Clumsy:
    """Fails when it has to buy."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        if decisions.legal[0, 0]:
            raise ZeroDivisionError("no coins")
        return decisions.legal.argmax(axis=1)


class Leaver:
    """Ends the program instead of answering."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        sys.exit("I have had enough")


class Rude:
    """Gives an invalid answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def act(self, decisions: Decisions) -> Any:
        return {"illegal": np.array([39]), "float": np.array([0.5]), "two": np.array([1, 1])}[self.answer]


@pytest.fixture
def megaland(monkeypatch, capsys, tmp_path) -> Callable[..., tuple[int, str, str]]:
    """Run the command in an empty folder with typed lines; return its status and its output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, typed: Iterable[str] = ()) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        status = cli.main(arguments)
        return (status, *capsys.readouterr())

    return run


def a_replay(players: int = 3, seed: int = 1, **metadata: Any) -> Replay:
    """A game of random play."""
    games = MegalandGames(MegalandConfig(players, max_rounds=4), 1)
    recorder = Recorder(games)
    recorder.reset([seed])
    luck = np.random.default_rng(seed)
    while games.active.any():
        recorder.step(some_legal(games, luck))
    return recorder.replay(0, **metadata)


# ------------------------------------------------------------------------------------------------------ a whole game


def test_a_whole_game_through_a_pipe_and_watched_again(tmp_path):
    path = tmp_path / "game.json"
    played = subprocess.run(
        [*MEGALAND, "play", "--players", "3", "--seat", "1", "--seed", "5", "--replay", str(path)],
        input="1\n" * 500,
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=ROOT,
    )
    assert played.stderr == ""
    assert "\x1b" not in played.stdout
    text = played.stdout.replace(PROMPT, "").replace(PAYING_PROMPT, "")
    assert all(len(line) <= WIDTH for line in text[: text.index("The game is saved in")].splitlines())
    replay = load_replay(path)
    assert replay.seed == 5
    assert replay.metadata == {"agents": ["threshold", "human", "threshold"]}
    result = replay.result()
    assert result.terminated or result.truncated
    assert replay.final is not None
    board = render_text(replay.final, colour=False, viewer=1, names=replay.metadata["agents"])
    assert board in played.stdout
    assert played.stdout.count(f"The game is saved in {path}.\nSee it again with: megaland watch {path}\n") == 1
    assert words.situation(replay.final, 1) in played.stdout
    assert "\n".join(standings(replay.final, replay.metadata["agents"], 1)) in played.stdout
    assert played.stdout.count("is no choice here: type s, r, b, h or q.") == played.stdout.count("to end): ") - 1

    watched = subprocess.run(
        [*MEGALAND, "watch", str(path), "--all", "--seat", "1"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=ROOT,
    )
    assert watched.stderr == ""
    assert re.findall(r" step (\d+)\n", watched.stdout) == [str(step) for step in range(len(replay) + 1)]
    for part in played.stdout.split(" MEGALAND ")[1:]:  # each board of the game is one of the replay's
        assert f" MEGALAND {part[: part.index('─ NOW')]}" in watched.stdout


@pytest.mark.parametrize(("players", "seat"), [(2, 0), (4, 3), (5, 2)])
def test_what_the_person_chooses_is_what_is_played(megaland, monkeypatch, capsys, players, seat):
    luck = random.Random(players)
    chosen: list[str] = []
    shown = ""

    def typed(prompt: str) -> str:
        nonlocal shown
        if "to end" in prompt:
            return ""
        assert prompt in (PROMPT, PAYING_PROMPT)
        shown = capsys.readouterr().out
        block = shown[shown.rindex("\n\n") :]
        block = re.sub(r"\n {5}(?=\S)", " ", block)  # broken lines
        choices = re.findall(r"^ +(\d+)  (\S.*)$", block, re.M)
        assert [number for number, _ in choices] == [str(i) for i in range(1, len(choices) + 1)]
        number, sentence = luck.choice(choices)
        chosen.append(sentence)
        return f" {number} "

    monkeypatch.setattr(builtins, "input", typed)
    market = ["--market", ",".join(LIVELY)]
    table = ["--players", str(players), "--seat", str(seat), "--opponents", "random", "--max-rounds", "6"]
    status, _, err = megaland("play", *table, *market, "--seed", "3", "--replay", "g.json")
    assert (status, err) == (0, "")
    replay = load_replay("g.json")
    asked = []
    for games, moment in zip(play_again(replay), replay.moments, strict=False):
        asked += [words.choice_words(games.snapshot(0), seat, action) for who, action in moment if who == seat]
    assert asked == chosen
    assert len(chosen) > 10


def test_the_opponents_sit_to_the_left_in_their_order(megaland):
    opponents = ["--opponents", "random,random:seed=2", "--opponents", "threshold"]
    status, out, _ = megaland("play", *opponents, "--seat", "2", "--replay", "g.json", typed=["q"])
    assert status == 0
    assert load_replay("g.json").metadata["agents"] == ["random:seed=2", "threshold", "human", "random"]
    order = re.findall(r"^ [▶ ] ((?:you, )?seat \d(?: \S+)?)", out, re.M)
    assert order == ["you, seat 2", "seat 3 random", "seat 0 random:seed=2", "seat 1 threshold"]


# ------------------------------------------------------------------------------------------------------ keys


def test_wrong_input_is_answered(megaland):
    wrong = ["0", "3", "-1", "1.0", "stay", "\N{FULLWIDTH DIGIT ONE}", "\x1b[A", "9" * 5000, "1 2", "\0", "q!", "''"]
    status, out, err = megaland("play", "--seed", "5", "--players", "3", "--replay", "g.json", typed=[*wrong, "", "q"])
    assert (status, err) == (0, "")
    assert out.count("is no choice here: type a number from 1 to 2, or ? for help.") == len(wrong)
    assert "'99999999999999999...' is no choice" in out
    assert out.count("  1  Stay in the level and draw a treasure\n") == 2
    assert len(load_replay("g.json")) == 0


def test_bytes_that_are_no_text(tmp_path):
    done = subprocess.run(
        [*MEGALAND, "play", "--seed", "5", "--replay", str(tmp_path / "g.json")],
        input=b"\xff\xfe\n1\n",
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    assert b"is no choice here" in done.stdout
    assert len(load_replay(tmp_path / "g.json")) >= 1


def test_help_and_the_board_once_more(megaland):
    status, out, _ = megaland("play", "--seed", "5", "--players", "3", "--replay", "g.json", typed=["?", "b", "q"])
    assert status == 0
    assert out.count(" MEGALAND ") == 2
    told = " ".join(out.split())
    for name in words.named_things():
        assert " ".join(words.explain(name).split()) in told


@pytest.mark.parametrize("typed", [["1", "1", "q"], ["1", "1", "Q"], ["1", "1"]])
def test_leaving_keeps_what_has_been_played(megaland, typed):
    status, out, err = megaland("play", "--seed", "5", "--players", "3", "--replay", "g.json", typed=typed)
    assert (status, err) == (0, "")
    assert "You leave the game in round 1.\nThe game is saved in g.json" in out
    replay = load_replay("g.json")
    assert len(replay) == 2
    assert [action_name(dict(moment)[0]) for moment in replay.moments] == ["STAY", "STAY"]


def type_and_interrupt(monkeypatch: pytest.MonkeyPatch, answers: list[str]) -> None:
    """A person who types some answers, and then Ctrl-C."""
    rest = iter(answers)

    def typed(prompt: str) -> str:
        try:
            return next(rest)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(builtins, "input", typed)


def test_an_interrupt_keeps_it_too(megaland, monkeypatch):
    type_and_interrupt(monkeypatch, ["1"])
    status, out, err = megaland("play", "--seed", "5", "--players", "3", "--replay", "g.json")
    assert (status, err) == (130, "")
    assert "Interrupted in round 1.\nThe game is saved in g.json" in out
    assert len(load_replay("g.json")) == 1


def test_a_real_interrupt(tmp_path):
    path = tmp_path / "g.json"
    process = subprocess.Popen(
        [*MEGALAND, "play", "--seed", "5", "--replay", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"1\n")
    process.stdin.flush()
    seen = b""
    while seen.count(b"q quit):") < 2:
        seen += process.stdout.read1()  # type: ignore[attr-defined]
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"The game is saved in" in rest
    assert len(load_replay(path)) == 1


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("tests.experiments.test_play:Clumsy", "raised ZeroDivisionError: no coins"),
        ("tests.experiments.test_play:Leaver", "raised SystemExit: I have had enough"),
        ("tests.experiments.test_play:Rude:answer=illegal", "chose an illegal action: "),
        ("tests.experiments.test_play:Rude:answer=float", "answered with float64 (1,), not with one integer"),
        ("tests.experiments.test_play:Rude:answer=two", "answered with int64 (2,), not with one integer"),
    ],
)
def test_an_agent_that_fails(megaland, agent, message):
    status, out, err = megaland("play", "--opponents", agent, "--seed", "5", typed=["1"] * 99)
    assert status == 1
    assert f"megaland: error: agent {agent!r}" in err
    assert message in err
    assert "An agent failed in round 1.\nThe game is saved in megaland-5.json" in out
    assert load_replay("megaland-5.json").metadata["agents"] == [HUMAN, *[agent] * 3]


# ------------------------------------------------------------------------------------------------------ taking back


class Hearing(Terminal):
    """A terminal at which a function of the match types; nothing is shown."""

    def __init__(self, types: Callable[[str], str]) -> None:
        self.types = types
        self.said: list[str] = []
        super().__init__("never")

    def say(self, text: str, style: str = "") -> None:
        self.said.append(text)

    def ask(self, prompt: str) -> str:
        return self.types(prompt).strip()


class Chancy:
    """A random agent that keeps its decisions and its random numbers."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        numbers = decisions.random(3)
        self.asked.append((decisions.seat.tolist(), decisions.kind.tolist(), numbers.tolist(), view_of(decisions)))
        choice = np.flatnonzero(decisions.legal[0])
        return choice[[int(numbers[0, 0] * choice.size)]]


def played_with(config: MegalandConfig, seed: int, changes_of_mind: bool) -> tuple[Match, Chancy, int, list[Any]]:
    """A game of a person who buys what they can, with or without taking some purchases back first.

    Gives the match, the opponents, the number of purchases taken back, and the snapshots at all decisions that counted.
    """
    luck = random.Random(seed)  # one for what is chosen, another for what is taken back
    whims = random.Random(seed + 1)
    agent = Chancy()
    agents = [agent] * config.num_players
    agents[1] = None  # type: ignore[call-overload]
    taken_back = 0
    seen: list[Any] = []
    to_take_back: int | None = None  # purchases, at the decision to buy that stands

    def types(prompt: str) -> str:
        nonlocal taken_back, to_take_back
        snapshot = match.games.snapshot(0)
        legal = np.flatnonzero(match.games.legal[0, 1]).size
        if snapshot["decision"] == "buy" and changes_of_mind:
            if to_take_back is None:
                to_take_back = whims.randrange(3) if legal > 1 else 0
            if to_take_back:
                return str(whims.randint(1, legal - 1))  # the last choice is to buy no more
            to_take_back = None
        elif snapshot["decision"] == "pay" and to_take_back:
            if left(snapshot) > 1 and whims.random() < 0.5:
                return str(whims.randint(1, legal))
            to_take_back -= 1
            taken_back += 1
            return " U "
        seen.append(snapshot)
        return str(luck.randint(1, legal))

    def left(snapshot: Any) -> int:
        return int(snapshot["pay"]["cost"]) - sum(snapshot["pay"]["paid"].values())

    names = ["chancy"] * config.num_players
    names[1] = HUMAN
    match = Match(config, seed, agents, names, Hearing(types))
    match.play()
    return match, agent, taken_back, seen


def test_a_purchase_taken_back_never_was():
    taken_back = 0
    for seed in range(6):
        config = MegalandConfig(3, LIVELY, skip_forced=False, max_rounds=4)
        match, agent, _, seen = played_with(config, seed, changes_of_mind=False)
        other, its_agent, number, seen_there = played_with(config, seed, changes_of_mind=True)
        taken_back += number
        assert other.replay() == match.replay()
        assert other.games.snapshot(0) == match.games.snapshot(0)
        assert its_agent.asked == agent.asked
        assert seen_there == seen
        match.replay().result()
    assert taken_back > 20


@pytest.mark.parametrize("skip_forced", [True, False])
def test_every_payment_can_be_taken_back_wherever_it_stands(skip_forced):
    """Buildings and hearts, after each treasure paid: the decision to buy is there again as it was."""
    paid: set[tuple[str, int]] = set()
    for seed in range(30):
        games = dealt_games(MegalandConfig(2, LIVELY, skip_forced=skip_forced), 1, seed=seed)
        luck = np.random.default_rng(seed)
        for _ in range(60):
            if games.kind[0] == Kind.BUY and games.active[0, 0]:
                break
            games.step(some_legal(games, luck))
        else:
            continue
        for action in np.flatnonzero(games.legal[0, 0])[1:].tolist():
            copy = games.copy()
            before = copy.snapshot(0)
            copy.step(np.array([[action, 0]]))
            while copy.kind[0] == Kind.PAY:
                # Nothing that is hidden or belongs to others has moved, so going back tells nobody anything.
                after = copy.snapshot(0)
                assert (copy.active == [[True, False]]).all()
                for key in ("treasure_deck", "discard", "level_seen", "supply", "round", "first_player", "buyer"):
                    assert after[key] == before[key]
                assert after["players"][1] == before["players"][1]
                assert after["decisions"][1] == before["decisions"][1]
                paid.add(("heart" if after["pay"]["treasure"] else "building", sum(after["pay"]["paid"].values())))
                copy.step(np.array([[int(np.flatnonzero(copy.legal[0, 0])[0]), 0]]))
    assert {what for what, _ in paid} == {"heart", "building"}
    assert {number for _, number in paid} >= {0, 1, 2, 3}


def test_news_is_told_once(megaland):
    """After a choice that nothing follows, nothing is told again, and a purchase taken back is told once, too."""
    _, out, _ = megaland("play", "--seed", "9", "--players", "5", typed=["1", "2", "1", "h", "u", "1", "h", "q"])
    assert out.count("You go home with") == 1
    assert out.count("You take the purchase back.") == 1
    assert out.count("Nothing has happened since you were asked last.") == 2


def test_what_is_paid_stays_paid(megaland, monkeypatch):
    """With payment made for the player a purchase is complete at once; only a payment in progress can be taken back."""
    for payment in ("auto", "choose"):
        answers: dict[str, list[str]] = {}
        turns = iter(["u", "u", "1", "u", "q", ""])

        def typed(prompt: str, turns=turns) -> str:
            return next(turns)

        monkeypatch.setattr(builtins, "input", typed)
        _, out, _ = megaland("play", "--seed", "5", "--players", "2", "--payment", payment, "--replay", "g.json")
        answers[payment] = out.split("\n")
        assert out.count("Only a purchase that is not paid in full yet can be taken back.") == 3
        assert len(load_replay("g.json")) == 1


@pytest.mark.parametrize("payment", ["auto", "choose"])
def test_undo_at_every_decision_of_a_game(payment):
    """Wherever ``u`` is typed, the purchase in progress is taken back, or a note says that there is none."""
    config = MegalandConfig(2, LIVELY, payment=payment, skip_forced=False, max_rounds=6)
    luck = random.Random(1)
    undone = refused = 0
    tried: set[int] = set()

    def types(prompt: str) -> str:
        nonlocal undone, refused
        steps = int(match.games.steps[0])
        if steps not in tried:
            tried.add(steps)
            paying = match.games.kind[0] == Kind.PAY
            assert ("u undo" in prompt) == bool(paying)
            undone += bool(paying)
            refused += not paying
            return "u"
        return str(luck.randint(1, np.flatnonzero(match.games.legal[0, 0]).size))

    terminal = Hearing(types)
    match = Match(config, 4, [None, make_agent("random")], [HUMAN, "random"], terminal)
    match.play()
    assert sum("can be taken back" in text for text in terminal.said) == refused > 5
    assert (undone > 0) == (payment == "choose")
    replay = match.replay()
    assert replay.final == match.games.snapshot(0)
    replay.result()


# ------------------------------------------------------------------------------------------------------ the screen


class Screen(io.StringIO):
    """A terminal of 80 columns and 24 lines."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def frames(self) -> list[list[str]]:
        """The text after each clearing of the screen, without colours."""
        text = re.sub(r"\x1b\[[0-9;]*m", "", self.getvalue())
        return [frame.split("\n") for frame in text.split("\x1b[H\x1b[2J")[1:]]


@pytest.fixture
def screen(monkeypatch) -> Screen:
    shown = Screen()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    return shown


def check_fits(frame: list[str], prompt: str = PAYING_PROMPT) -> None:
    """24 lines of 80 columns, the last of which is for the prompt."""
    lines = frame[:-1] if not frame[-1] else frame
    assert len(lines) <= 23, "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert len(prompt) < 80
    assert lines[0].startswith(" MEGALAND ")


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_every_question_fits_80_columns_and_24_lines(screen, monkeypatch, players):
    """With many buildings and treasures, 20 choices and long names; words are never broken."""
    monkeypatch.setattr(sys, "stdout", screen)
    number = most_choices = 0
    for market, seed in ((LIVELY, players), (TRADING, players + 10), ("random", players + 20)):
        games = dealt_games(MegalandConfig(players, market), 1, seed=seed, record=True)
        agents: list[Any] = [make_agent("random")] * players
        agents[0] = None
        names = [HUMAN, *["lookahead:games=64,and=more,parameters=2"] * (players - 1)]
        match = Match(games.config, 1, agents, names, Terminal("auto"))
        match.games = games
        luck = np.random.default_rng(seed)
        told = ""
        while games.active.any():
            match._hear_news()
            if games.active[0, 0]:
                legal = np.flatnonzero(games.legal[0, 0]).tolist()
                screen.seek(0)
                screen.truncate()
                snapshot = games.snapshot(0)
                for note in (
                    "",
                    "'abcdefghijklmnopq...' is no choice here: type a number from 1 to 20, or ? for help.",
                ):
                    match._show_question(snapshot, legal, note)
                for frame in screen.frames():
                    check_fits(frame)
                    told = " ".join(" ".join(frame).split())
                    for action in legal:
                        assert words.choice_words(snapshot, 0, action, short=True) in told
                    assert words.situation(snapshot, 0) in told
                number += 1
                most_choices = max(most_choices, len(legal))
            games.step(some_legal(games, luck, boldness=3))
        match._hear_news()
        screen.seek(0)
        screen.truncate()
        match.show_end()
        check_fits(screen.frames()[0], END_PROMPT)
        screen_text = "\n".join(screen.frames()[0])
        assert "\n".join(standings(games.snapshot(0), names, 0)) in screen_text
    assert number > 25
    assert most_choices >= 16


def test_a_turn_with_more_than_20_choices_fits(screen, monkeypatch):
    """All thirteen types and a heart of each treasure are for sale, and five players own every type of building."""
    monkeypatch.setattr(sys, "stdout", screen)
    games = dealt_games(MegalandConfig(5, LIVELY), 1, seed=3)
    luck = np.random.default_rng(3)
    while games.kind[0] != Kind.BUY:
        games.step(some_legal(games, luck))
    snapshot = games.snapshot(0)
    seat = snapshot["buyer"]
    for player in snapshot["players"]:
        player |= {"coins": 19, "max_hearts": 7, "hearts": 3}
        player["buildings"] = dict.fromkeys(snapshot["supply"]["buildings"], 2)
        player["home"] = {"gear": 6, "stone": 14, "egg": 13, "carrot": 10, "crystal": 8, "fish": 12}
    snapshot["players"][seat]["bought"] = ["Gym"]
    agents: list[Any] = [make_agent("random")] * 5
    agents[seat] = None
    match = Match(games.config, 1, agents, ["somebody"] * 5, Terminal("auto"))
    match._news = [f"Seat {number} buys no more, and this is told in many words." for number in range(30)]
    on_offer = [5 + Building[name.upper().replace(" ", "_")] for name in snapshot["supply"]["buildings"]]
    legal = [*on_offer, *range(28, 34), 0]
    match._show_question(snapshot, legal, "note")
    (frame,) = screen.frames()
    check_fits(frame)
    told = "\n".join(frame)
    assert len(re.findall(r" +\d+  Buy ", told)) == 13 + 6
    assert all(f"{words.choice_words(snapshot, seat, action, short=True)}" in told for action in legal)

    snapshot["pay"] = {"buying": "Temple of Zoz", "treasure": None, "cost": 6, "paid": dict.fromkeys(SYMBOLS, 1)}
    snapshot |= {"decision": "pay"}
    snapshot["players"][seat]["bought"] = [*snapshot["supply"]["buildings"]]
    match._show_question(snapshot, [*range(34, 40)], "note")
    check_fits(screen.frames()[-1])
    assert "Pay a gear (of 6), counting as another treasure" in "\n".join(screen.frames()[-1])


def test_a_larger_terminal_shows_the_full_board(screen, monkeypatch):
    monkeypatch.setattr(sys, "stdout", screen)
    games = dealt_games(MegalandConfig(3, LIVELY), 1, seed=3)
    snapshot = games.snapshot(0)
    terminal = Terminal("never")
    full = render_text(snapshot, colour=False, viewer=0).split("\n")
    for columns, lines, is_full in ((100, 60, True), (140, 60, True), (99, 60, False), (100, len(full) + 4, False)):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        shown = terminal.board(snapshot, 0, None, 5)
        assert (shown == full) == is_full
        assert len(shown) + 5 <= lines


@pytest.mark.parametrize(
    ("columns", "lines", "fits"), [(80, 24, True), (200, 80, True), (79, 24, False), (80, 23, False)]
)
def test_a_terminal_that_is_too_small_is_told_once(screen, monkeypatch, columns, lines, fits):
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", Screen())
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    asked: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt: asked.append(prompt) or "")
    Terminal("never").check_size()
    assert asked == ([] if fits else ["Enter to go on: "])
    told = f"This terminal has {columns} columns and {lines} rows. The game needs 80 and 24: lines will wrap"
    assert (told in screen.getvalue()) != fits


def test_watch_says_that_it_opens_a_replay(screen, monkeypatch, tmp_path, capsys):
    path = tmp_path / "game.json"
    recorder = Recorder(MegalandGames(num_players=2, max_rounds=1))
    recorder.reset([1])
    save_replay(path, recorder.replay(0))
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    monkeypatch.setattr("megaland_experiments.play.watch.load_replay", _fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["watch", str(path)])
    assert screen.getvalue() == f"Opening {path} ...\n"


def _fail(path: str) -> None:
    raise ZeroDivisionError


def test_answers_from_a_pipe_end_their_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n2\n"))
    terminal = Terminal("never")
    assert [terminal.ask("Your choice: "), terminal.ask("Your choice: ")] == ["1", "2"]
    assert capsys.readouterr().out == "Your choice: \nYour choice: \n"


def test_pages_turn(screen, monkeypatch):
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", Screen())
    prompts: list[str] = []

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        return answers.pop(0)

    monkeypatch.setattr(builtins, "input", typed)
    lines = [f"line {number}" for number in range(50)]
    answers = ["", "", ""]
    Terminal("never").page(lines)
    assert [line for frame in screen.frames() for line in frame if line] == lines
    assert all(len(frame) <= 24 for frame in screen.frames())
    assert prompts == ["Enter for more, q to go back: "] * 2 + ["Enter to go back: "]
    answers, prompts[:] = ["Q"], []
    Terminal("never").page(lines)
    assert len(prompts) == 1

    snapshot = dealt_games(MegalandConfig(5, LIVELY), 1, seed=3).snapshot(0)
    match = Match(MegalandConfig(5), 1, [None, *[make_agent("random")] * 4], ["x"] * 5, Terminal("never"))
    help_lines = match._help(snapshot)
    assert max(map(len, help_lines)) <= 80
    told = " ".join(" ".join(help_lines).split())
    assert all(words.explain(name) in told for name in words.named_things())
    full = match.terminal.full_board(snapshot, 0, match.names)
    assert max(map(len, full)) <= 80


def test_a_dumb_terminal_is_never_emptied(screen, monkeypatch):
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal("auto")
    terminal.clear()
    terminal.say("hello", "strong")
    assert screen.getvalue() == "hello\n"


def test_help_for_one_name(megaland):
    typed = ["? lodge", "?LODGE", "?  temple", "? serpent", "? h", "? ldge", "? zzzzzz", "? \x1b[2J", "q"]
    _, out, _ = megaland("play", "--seed", "5", typed=typed)
    told = " ".join(out.split())
    assert told.count(words.explain("Lodge")) == 2
    assert words.explain("Temple of Zoz") in told
    assert words.explain("Red Serpent") in told
    assert "'h' may be Hotel, Herb Hut, Hospital or Hall of Elders." in told
    assert "There is no level card or building 'ldge'; did you mean Lodge?" in told
    assert "There is no level card or building 'zzzzzz'." in told
    assert "\x1b" not in out
    for name in words.named_things():
        assert explain_named(name.upper()) == words.explain(name)


def test_the_help_names_everything_once():
    for seed in range(3):
        games = MegalandGames(MegalandConfig(2, "random"))
        games.reset(seed)
        sections = dict(help_sections(games.snapshot(0)))
        explained = [
            *sections["LEVEL CARDS"],
            *sections["BUILDINGS IN THIS GAME"],
            *sections["BUILDINGS OF OTHER GAMES"],
        ]
        assert sorted(explained) == sorted(map(words.explain, words.named_things()))
        assert len(sections["BUILDINGS IN THIS GAME"]) == 13


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_real_terminal(tmp_path):
    """At 80 x 24: the screen is redrawn, pages turn, a wrong key scrolls nothing away, and q leaves."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [*MEGALAND, "play", "--seed", "5", "--players", "5", "--opponents", "random"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=environment | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    os.close(theirs)
    text = ""

    def until(prompt: str) -> str:
        nonlocal text
        begun = time.monotonic()
        while prompt not in text:
            assert time.monotonic() - begun < 30, text
            text += os.read(ours, 4096).decode("utf-8", "ignore")
        shown, _, text = text.partition(prompt)
        return re.sub(r"\x1b\[[0-9;]*m", "", shown.replace("\r\n", "\n"))

    for key in ("", "1", "what", "o", "", "q"):
        os.write(ours, f"{key}\n".encode())
        prompt = "Enter to go back: " if key == "o" else "without: " if key == "q" else "q quit): "
        frame = until(prompt).split("\x1b[H\x1b[2J")[-1].split("\n")
        assert len(frame) <= 24
        assert max(map(len, frame)) <= 80
        assert key in ("o", "q") or frame[0].startswith(" MEGALAND ")
    os.write(ours, b"\n")
    assert "The game is not saved." in until("wherever it ends.")
    assert process.wait(timeout=20) == 0
    os.close(ours)
    assert not [*tmp_path.iterdir()]


# ------------------------------------------------------------------------------------------------------ odds


def test_odds_on_request(megaland):
    market = ",".join(LIVELY)
    _, out, _ = megaland("play", "--seed", "5", "--players", "3", "--market", market, typed=["1", "o", "q"])
    assert "The next card is one of 8 cards. To fall on it:" in out
    assert "  you: 25 % (Biting Plant, Red Serpent); with a jump 0 % (you have no token)\n" in out
    assert "  seat 2: 25 % (Biting Plant, Red Serpent); with a jump 0 % (has no token)\n" in out


def test_the_odds_are_those_of_the_view():
    told = 0
    market = (*LIVELY[:6], "Soap Makers")
    for seed in range(4):
        games = dealt_games(MegalandConfig(4, market), 1, seed=seed)
        luck = np.random.default_rng(seed)
        while games.active.any():
            lines = odds_words(games, 2)
            view = games.rows(np.zeros(4, np.int64), np.arange(4)).view
            for line in lines[1:]:
                who, without, jumping = re.match(r"(.*?): (\d+) %.*; with a jump (\d+) %", line).groups()  # type: ignore[union-attr]
                seat = 2 if who == "you" else int(who.removeprefix("seat "))
                assert int(without) == round(100 * float(view.fall_chance[seat, 0]))
                assert int(jumping) == round(100 * float(view.jump_fall_chance[seat, 0]))
                told += 1
            if view.in_level[0].any() and len(games.snapshot(0)["level_seen"]) < 10:
                assert len(lines) == 1 + view.in_level[0].sum()
            else:
                assert len(lines) == 1
            games.step(some_legal(games, luck, boldness=3))
    assert told > 100


# ------------------------------------------------------------------------------------------------------ arguments


def test_a_replay_is_written_when_it_is_asked_for(megaland):
    for name in ("megaland-7.json", "megaland-7-2.json", "megaland-7-3.json"):
        status, out, _ = megaland("play", "--seed", "7", typed=["1", "q", "s"])
        assert status == 0
        assert f"s saves it as {name}, Enter leaves without: \nThe game is saved in {name}.\n" in out
        assert "not saved" not in out
        assert len(load_replay(name)) == 1
    names = {path.name for path in Path().iterdir()}
    for typed in (["1", "q", ""], ["1", "q", "n"], ["1", "q"], ["1"], []):
        status, out, _ = megaland("play", "--seed", "7", typed=typed)
        assert status == 0
        assert out.endswith("The game is not saved. With --replay FILE it is, wherever it ends.\n")
    assert {path.name for path in Path().iterdir()} == names


def test_a_replay_that_cannot_be_written_is_no_end(megaland, monkeypatch):
    def fail(path: Path, replay: Replay) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("megaland_experiments.play.saving.save_replay", fail)
    status, out, err = megaland("play", "--seed", "7", typed=["q", "s", "s", ""])
    assert (status, err) == (0, "")
    assert out.count("The game cannot be saved: megaland-7.json: No space left on device") == 2
    assert out.endswith("The game is not saved. With --replay FILE it is, wherever it ends.\n")
    status, out, err = megaland(
        "play", "--seed", "5", "--opponents", "tests.experiments.test_play:Clumsy", typed=["1"] * 99
    )
    assert status == 1
    assert "cannot be saved" in out
    assert "raised ZeroDivisionError" in err


def test_a_replay_that_was_wanted_from_the_start_and_cannot_be_written(megaland, monkeypatch):
    def fail(path: Path, replay: Replay) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("megaland_experiments.play.saving.save_replay", fail)
    for typed in (["q", ""], ["2"] * 40):
        status, out, _ = megaland(*short_game("--seed", "3", "--replay", "g.json"), typed=typed)
        assert status == 2
        assert "The game cannot be saved: g.json: No space left on device" in out
        assert out.endswith("The game is not saved.\n")


def test_a_game_that_breaks_off_is_saved(megaland, monkeypatch):
    def fail(*_: Any) -> list[str]:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("megaland_experiments.play.match.odds_words", fail)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        megaland("play", "--seed", "7", typed=["1", "o"])
    assert len(load_replay("megaland-7.json")) == 1


def short_game(*more: str) -> list[str]:
    """Arguments for a game that is soon over."""
    return ["play", "--players", "2", "--max-rounds", "1", "--opponents", "random", *more]


def test_the_end_of_a_game_and_what_may_follow(megaland):
    replies = ["2"] * 40  # home at once, and no more bought than can be helped
    status, out, err = megaland(*short_game("--seed", "3"), typed=["2", "9", "9", *replies])
    assert (status, err) == (0, "")
    assert "Cut off after round 1: nobody has won. The game took 1 round; its seed is 3." in out
    end = out[out.index(" place ") :]
    assert "seat 1 random" in end
    assert "you, seat 0" in end
    assert not [*Path().iterdir()]


def seeds_played(out: str) -> list[int]:
    return [int(seed) for seed in re.findall(r"its seed is (\d+)\.", out)]


def to_the_end(*after: str) -> Callable[[str], str]:
    """Types the last choice (go home, buy no more) until the game is over, and then the next given answer."""
    rest = iter(after)

    def typed(prompt: str) -> str:
        return next(rest, "") if "to end" in prompt or "leaves" in prompt else "1"

    return typed


def test_a_rematch_is_another_game_at_the_same_table(megaland, monkeypatch):
    monkeypatch.setattr(builtins, "input", to_the_end("s", "r", "x", "save", "R", ""))
    table = ["play", "--players", "3", "--seat", "1", "--opponents", "threshold,random", "--max-rounds", "1"]
    status, out, err = megaland(*table, "--seed", "3")
    assert (status, err) == (0, "")
    seeds = seeds_played(out)
    assert len(set(seeds)) == 3
    assert seeds[0] == 3
    assert sorted(path.name for path in Path().iterdir()) == sorted(f"megaland-{seed}.json" for seed in seeds[:2])
    for seed in seeds[:2]:
        replay = load_replay(f"megaland-{seed}.json")
        assert replay.seed == seed
        assert replay.metadata["agents"] == ["random", "human", "threshold"]
        assert replay.result().truncated
    assert out.count("'x' is no choice here: type s, r, b, h or q.") == 1
    assert out.count("The game is not saved.") == 1


def test_every_game_of_an_evening_has_a_file_of_its_own(megaland, monkeypatch):
    monkeypatch.setattr(builtins, "input", to_the_end("r", "r", "q"))
    status, out, _ = megaland(*short_game("--seed", "3", "--replay", "evening.json"))
    assert status == 0
    assert "not saved" not in out
    assert "s save the replay" not in out
    files = ["evening.json", "evening-2.json", "evening-3.json"]
    assert [load_replay(name).seed for name in files] == seeds_played(out)
    assert len([*Path().iterdir()]) == 3


def test_the_board_and_the_history_at_the_end(megaland, monkeypatch):
    monkeypatch.setattr(builtins, "input", to_the_end("b", "h", ""))
    _, out, _ = megaland(*short_game("--seed", "3"))
    final = out[out.index("its seed is 3.") :]
    assert final.count(" MEGALAND ") == 1
    assert "Round 1 begins" not in final
    assert "first player." in final


def test_places_are_shared_by_equals():
    snapshot = dealt_games(MegalandConfig(4), 1, seed=1).snapshot(0)
    for player, coins, hearts in zip(snapshot["players"], (7, 22, 22, 3), (4, 5, 8, 6), strict=True):
        player |= {"coins": coins, "max_hearts": hearts, "buildings": {"Cafe": hearts, "Lodge": 1}}
    snapshot |= {"phase": "over", "decision": None, "active": [], "winners": [1, 2]}
    rows = standings(snapshot, ["a" * 90, "\x1b[2J", "human", "last"], 2)
    assert rows[0].split() == ["place", "coins", "buildings", "hearts"]
    assert [row.split()[0] for row in rows[1:]] == ["1", "1", "3", "4"]
    assert re.fullmatch(r" +1  you, seat 2 +22 +9 +8  won", rows[1])
    assert re.fullmatch(r" +1  seat 1 \\x1b\[2J +22 +6 +5  won", rows[2])
    assert re.fullmatch(r" +3  seat 0 a+\.\.\. +7 +5 +4", rows[3])
    assert max(map(len, rows)) <= 80
    assert len({len(row.removesuffix("  won")) for row in rows}) == 1


@pytest.mark.parametrize("answers", [[], ["1"]])
def test_an_interrupt_says_how_the_game_could_have_been_saved(megaland, monkeypatch, answers):
    type_and_interrupt(monkeypatch, answers)
    status, out, err = megaland("play", "--seed", "5")
    assert (status, err) == (130, "")
    assert out.endswith("Interrupted in round 1.\nThe game is not saved. With --replay FILE it is, wherever it ends.\n")
    assert not [*Path().iterdir()]


def test_another_game_each_time(megaland):
    megaland("play", "--replay", "a.json", typed=["q"])
    megaland("play", "--replay", "b.json", typed=["q"])
    assert load_replay("a.json").seed != load_replay("b.json").seed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seat", "4"], "seat is 4; it must be from 0 to 3"),
        (["--seat", "-1"], "seat is -1; it must be from 0 to 3"),
        (["--players", "7"], "num_players is 7"),
        (["--seed", "-1"], "seed is -1"),
        (["--opponents", "nobody"], "there is no agent 'nobody'"),
        (["--opponents", "random,random"], "there are 2 opponents; a table of 4 needs one for all, or 3"),
        (["--replay", "no/such/folder/x.json"], "there is no folder"),
        (["--market", "flea"], "market is 'flea'"),
    ],
)
def test_mistakes_of_the_user_are_one_line(megaland, arguments, message):
    status, out, err = megaland("play", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("megaland: error: ")
    assert err.count("\n") == 1
    assert not [*Path().iterdir()]


@pytest.mark.parametrize("command", ["play", "watch"])
def test_help_of_the_commands(command, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main([command, "--help"])
    assert left.value.code == 0
    assert "--colour" in capsys.readouterr().out


def test_colour_when_it_is_asked_for(megaland):
    _, out, _ = megaland("play", "--seed", "5", "--colour", "always", "--replay", "g.json", typed=["q"])
    assert "\x1b[1m" in out
    _, out, _ = megaland("watch", "g.json", "--colour", "always")
    assert "\x1b[1m" in out


# ------------------------------------------------------------------------------------------------------ watching


@pytest.fixture
def replay(tmp_path) -> Replay:
    replay = a_replay(agents=["random", "threshold", "human"])
    save_replay(tmp_path / "game.json", replay)
    return replay


def steps_shown(out: str) -> list[int]:
    return [int(step) for step in re.findall(r" step (\d+)\n", out)]


def test_stepping_through(megaland, replay):
    last = len(replay)
    rounds = [games.snapshot(0)["round"] for games in play_again(replay)]
    second, third = rounds.index(2), rounds.index(3)
    keys = ["", "n", "N", "b", "5", "r", "r", "r 2", "r3", "e", "b", "0"]
    status, out, err = megaland("watch", "game.json", typed=[*keys, "q", "9"])
    assert (status, err) == (0, "")
    assert steps_shown(out) == [0, 1, 2, 3, 2, 5, second, third, second, third, last, last - 1, 0]
    assert "seat 0 random" in out
    assert "seat 2 human" in out
    assert f"Step 5 of {last} (" in out


def test_keys_that_lead_nowhere(megaland, replay):
    keys = [
        "b",
        "e",
        "",
        "r",
        str(len(replay) + 1),
        "r 99",
        "r x",
        "-1",
        "é",
        "next",
        "\N{FULLWIDTH DIGIT NINE}",
        "9" * 5000,
        "?",
    ]
    status, out, err = megaland("watch", "game.json", typed=keys)
    assert (status, err) == (0, "")
    assert steps_shown(out) == [0, len(replay)]
    for answer in (
        "This is the beginning.",
        "This is the last step;",
        f"The last step is {len(replay)}.",
        "The rounds are 1 to",
    ):
        assert answer in out
    assert out.count("is no key here: ") == 6


def test_a_frame_for_each_moment(replay):
    shown = frames(replay, viewer=1)
    assert len(shown) == len(replay) + 1
    assert shown[-1].snapshot == replay.final
    assert shown[0].told[0].startswith("On offer")
    for frame, moment in zip(shown[1:], replay.moments, strict=True):
        chosen = [f"{'you' if s == 1 else f'seat {s}'} {action_name(a).replace('_', ' ').lower()}" for s, a in moment]
        assert frame.told[0] == f"Chosen: {', '.join(chosen)}."
    games = replay.games(record=True)
    everything = " ".join(sentence for frame in shown for sentence in frame.told)
    assert everything.count("The level shows") == sum(event["event"] == "reveal" for event in games.events(0))
    assert any("You " in sentence for frame in shown for sentence in frame.told)


def walk(viewer: Viewer, monkeypatch: pytest.MonkeyPatch, keys: Iterable[str]) -> list[str]:
    """Step through a replay with some keys; return the prompts."""
    prompts: list[str] = []
    rest = iter(keys)

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        return next(rest, "q")

    monkeypatch.setattr(builtins, "input", typed)
    viewer.step_through()
    return prompts


@pytest.mark.parametrize("seat", [None, 2])
@pytest.mark.parametrize("path", ["story-2", "story-5", "five-drawing", "every-question"])
def test_every_step_fits_80_columns_and_24_lines(screen, monkeypatch, path, seat):
    replay = load_replay(ROOT / "tests" / "golden" / f"{path}.json")
    if seat is not None and seat >= replay.config.num_players:
        seat = 1
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", Screen())
    viewer = Viewer(replay, seat, Terminal("auto"))
    keys = ["?", "x" * 99, *["", "b", ""] * len(replay)]
    prompts = walk(viewer, monkeypatch, keys)
    frames_shown = screen.frames()
    assert len(frames_shown) == len(prompts) > len(replay)
    for frame, prompt in zip(frames_shown, prompts, strict=True):
        check_fits(frame, prompt)
    last = " ".join(" ".join(frames_shown[-1]).split())
    assert words.situation(replay.games().snapshot(0), seat) in last
    agents = replay.metadata["agents"]
    assert all(f"seat {number} {name}" in last for number, name in enumerate(agents) if number != seat)


def test_the_full_board_and_the_history_of_a_step(screen, monkeypatch):
    replay = load_replay(ROOT / "tests" / "golden" / "story-5.json")
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", Screen())
    viewer = Viewer(replay, None, Terminal("never"))
    step = max(range(viewer.last + 1), key=lambda step: len(viewer.frames[step].told))
    walk(viewer, monkeypatch, [str(step), "f", "", "", "", "h", "", ""])
    told = " ".join(" ".join(line for frame in screen.frames() for line in frame).split())
    full = render_text(viewer.frames[step].snapshot, colour=False, names=viewer.names, width=80)
    assert " ".join(full.split()) in told
    assert " ".join(viewer.frames[step].told) in told


def test_old_news_make_room():
    lines = ["a", "b", "c", "d"]
    newest = Terminal("never").newest
    assert newest(lines, None) == newest(lines, 4) == newest(lines, 9) == lines
    assert newest(lines, 3) == ["  (2 earlier lines: type h)", "c", "d"]
    assert newest(lines, 1) == ["  (4 earlier lines: type h)"]
    assert newest(lines, 0) == newest(lines, -2) == []
    assert newest([], 0) == []


def test_from_a_seat(megaland, replay):
    status, out, _ = megaland("watch", "game.json", "--seat", "2")
    assert status == 0
    assert re.findall(r"^ [▶ ] ((?:you, )?seat \d)", out, re.M) == ["you, seat 2", "seat 0", "seat 1"]
    status, _, err = megaland("watch", "game.json", "--seat", "3")
    assert status == 2
    assert err == "megaland: error: seat is 3; the game was played by the seats 0 to 2\n"


def test_all_at_once(megaland, replay):
    status, out, _ = megaland("watch", "game.json", "--all")
    assert status == 0
    assert steps_shown(out) == [*range(len(replay) + 1)]
    assert "Step " not in out


def test_all_into_a_pipe_that_closes(tmp_path, replay):
    process = subprocess.Popen(
        [*MEGALAND, "watch", "--all", str(tmp_path / "game.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        bufsize=0,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(100)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_playing_into_a_pipe_that_closes(tmp_path):
    process = subprocess.Popen(
        [*MEGALAND, "play", "--seed", "5", "--replay", str(tmp_path / "g.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(100)
    process.stdout.close()
    process.stdin.write(b"1\n" * 50)
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0
    load_replay(tmp_path / "g.json")


@pytest.mark.parametrize("metadata", [{}, {"agents": "random"}, {"agents": ["random"]}, {"agents": [1, 2, 3]}])
def test_a_replay_that_names_nobody(megaland, metadata):
    save_replay("game.json", a_replay(**metadata))
    status, out, _ = megaland("watch", "game.json")
    assert status == 0
    assert re.findall(r"^ [▶ ] (seat \d.*?) [ ★] ", out, re.M) == ["seat 0", "seat 1", "seat 2"]


def test_a_game_of_any_state_can_be_watched(megaland):
    for games in moments(MegalandConfig(2, LIVELY, skip_forced=False, max_rounds=2), 1, seed=1):
        last = games
    assert last.terminated.all() or last.truncated.all()
    replay = Replay(MegalandConfig(5), 9, ())
    save_replay("empty.json", replay)
    status, out, _ = megaland("watch", "empty.json", typed=["", "b", "e", "r"])
    assert status == 0
    assert steps_shown(out) == [0, 0]


def test_files_that_are_no_replays(megaland, replay):
    content = json.loads(Path("game.json").read_text())
    content["seed"] += 1
    for name, written in (
        ("text.json", "hello"),
        ("other.json", '{"format": "chess"}'),
        ("altered.json", json.dumps(content)),
        ("short.json", Path("game.json").read_text()[:300]),
    ):
        Path(name).write_text(written)
        status, out, err = megaland("watch", name)
        assert (status, out) == (2, "")
        assert err.startswith(f"megaland: error: {name}")
        assert err.count("\n") == 1
    status, _, err = megaland("watch", "missing.json")
    assert status == 2
    assert err == "megaland: error: missing.json: No such file or directory\n"
    status, _, err = megaland("watch", ".")
    assert status == 2
    assert err.count("\n") == 1
