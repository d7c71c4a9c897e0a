"""``megaland play`` and ``megaland watch``, by what is typed and what is shown."""

from __future__ import annotations

import builtins
import io
import json
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

from experiments import cli
from experiments.play import odds_words
from experiments.watch import frames
from megaland_env import Decisions, MegalandConfig, MegalandGames
from megaland_env.actions import action_name
from megaland_env.render import words
from megaland_env.render.text import WIDTH, render_text
from megaland_env.replay import Recorder, Replay, load_replay, save_replay
from megaland_env.replay import play as play_again
from tests.play import LIVELY, dealt_games, moments, some_legal

MEGALAND = [sys.executable, "-m", "experiments.cli"]
ROOT = Path(__file__).parents[1]
PROMPT = "Your choice (a number; o odds, b board, ? help, q quit): "


class Clumsy:
    """Fails when it has to buy."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        if decisions.legal[0, 0]:
            raise ZeroDivisionError("no coins")
        return decisions.legal.argmax(axis=1)


class Rude:
    """Says what is no answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def act(self, decisions: Decisions) -> Any:
        return {"illegal": np.array([39]), "float": np.array([0.5]), "two": np.array([1, 1])}[self.answer]


@pytest.fixture
def megaland(monkeypatch, capsys, tmp_path) -> Callable[..., tuple[int, str, str]]:
    """Run the command in an empty folder, with some lines typed; gives its status and what it printed."""
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
        input="1\n" * 2000,
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=ROOT,
    )
    assert played.stderr == ""
    assert "\x1b" not in played.stdout
    assert all(len(line) <= WIDTH for line in played.stdout.replace(PROMPT, "").splitlines()[:-1])
    replay = load_replay(path)
    assert replay.seed == 5
    assert replay.metadata == {"agents": ["threshold", "human", "threshold"]}
    result = replay.result()
    assert result.terminated or result.truncated
    assert replay.final is not None
    board = render_text(replay.final, colour=False, viewer=1, names=replay.metadata["agents"])
    assert board in played.stdout
    assert played.stdout.rstrip().endswith(f"The game is kept in {path}; see it again with: megaland watch {path}")
    assert words.situation(replay.final, 1) in played.stdout

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
        assert prompt == PROMPT
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
    assert out.count("is no choice here: type a number from 1 to 2, o, b, ? or q.") == len(wrong)
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
    assert out.count(" MEGALAND ") == out.count("Round 1 begins.") == 2
    snapshot = next(play_again(load_replay("g.json"))).snapshot(0)
    for name in snapshot["supply"]["buildings"]:
        assert f"  {words.cost_of(name)} {name}: {words.building_words(name)}\n" in out


@pytest.mark.parametrize("typed", [["1", "1", "q"], ["1", "1", "Q"], ["1", "1"]])
def test_leaving_keeps_what_has_been_played(megaland, typed):
    status, out, err = megaland("play", "--seed", "5", "--players", "3", "--replay", "g.json", typed=typed)
    assert (status, err) == (0, "")
    assert "You leave the game in round 1.\nThe game is kept in g.json" in out
    replay = load_replay("g.json")
    assert len(replay) == 2
    assert [action_name(dict(moment)[0]) for moment in replay.moments] == ["STAY", "STAY"]


def test_an_interrupt_keeps_it_too(megaland, monkeypatch):
    answers = iter(["1"])

    def typed(prompt: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(builtins, "input", typed)
    status, out, err = megaland("play", "--seed", "5", "--players", "3", "--replay", "g.json")
    assert (status, err) == (130, "")
    assert "Interrupted in round 1.\nThe game is kept in g.json" in out
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
    assert b"The game is kept in" in rest
    assert len(load_replay(path)) == 1


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("tests.test_play:Clumsy", "raised ZeroDivisionError: no coins"),
        ("tests.test_play:Rude:answer=illegal", "chose what it may not: "),
        ("tests.test_play:Rude:answer=float", "answered with float64 (1,), not with one integer"),
        ("tests.test_play:Rude:answer=two", "answered with int64 (2,), not with one integer"),
    ],
)
def test_an_agent_that_fails(megaland, agent, message):
    status, out, err = megaland("play", "--opponents", agent, "--seed", "5", "--replay", "g.json", typed=["1"] * 99)
    assert status == 1
    assert f"megaland: error: agent {agent!r}" in err
    assert message in err
    assert "The game is kept in g.json" in out
    load_replay("g.json")


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


def test_a_name_for_the_replay(megaland):
    for name in ("megaland-7.json", "megaland-7-2.json", "megaland-7-3.json"):
        status, out, _ = megaland("play", "--seed", "7", typed=["q"])
        assert status == 0
        assert f"The game is kept in {name}; " in out
    assert sorted(path.name for path in Path().iterdir()) == [
        "megaland-7-2.json",
        "megaland-7-3.json",
        "megaland-7.json",
    ]


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
        assert err.startswith(f"megaland: error: {name}: ")
        assert err.count("\n") == 1
    status, _, err = megaland("watch", "missing.json")
    assert status == 2
    assert err == "megaland: error: missing.json: No such file or directory\n"
    status, _, err = megaland("watch", ".")
    assert status == 2
    assert err.count("\n") == 1
