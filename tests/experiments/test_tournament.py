"""The arena is fair and loses nothing: line-ups, seats, randomness, counts, and continuing after a stop."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console

from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_env import Action, Decisions, Kind, MegalandConfig
from megaland_env.agent import RandomAgent
from megaland_experiments import cli
from megaland_experiments.matches import arena
from megaland_experiments.matches.arena import Chunk, Plan, _Schedule, play_all
from megaland_experiments.matches.line_ups import MIXED, PAIRS, make_line_ups
from megaland_experiments.matches.playing import AgentError, play
from megaland_experiments.shared.intervals import difference_found, difference_interval, seeds_needed
from megaland_experiments.shared.run_folder import Work, claim
from megaland_experiments.strength import figures as arena_figure
from megaland_experiments.strength.folder import TOURNAMENT, ArenaFolder, FolderError, _name
from megaland_experiments.strength.result import Tournament
from megaland_experiments.strength.saving import load_tournament, save_tournament
from megaland_experiments.strength.tables import show
from megaland_experiments.strength.tournament import tournament
from tests.support.places import ROOT

SHORT = MegalandConfig(max_rounds=3)
WORDS = ["--players", "2", "3", "--games", "30", "--max-rounds", "3"]


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures empty where they are not checked, because each takes a second."""
    monkeypatch.setattr(arena_figure, "tournament_figure", lambda result, players: None)
    monkeypatch.setattr("megaland_experiments.shared.result_files.png", lambda figure: b"")


# ------------------------------------------------------------------------------------------------------ line-ups


@pytest.mark.parametrize(
    ("agents", "players", "expected"),
    [
        (2, 2, ["AB"]),
        (3, 2, ["AB", "AC", "BC"]),
        (2, 3, ["ABB", "AAB"]),
        (2, 4, ["ABBB", "AAAB", "AABB"]),
        (3, 4, ["ABBB", "AAAB", "ACCC", "AAAC", "BCCC", "BBBC", "AABC", "ABBC", "ABCC"]),
        (3, 3, ["ABB", "AAB", "ACC", "AAC", "BCC", "BBC", "ABC"]),
        (4, 3, "ABB AAB ACC AAC ADD AAD BCC BBC BDD BBD CDD CCD ABC ABD ACD BCD".split()),
    ],
)  # fmt: skip
def test_the_line_ups(agents: int, players: int, expected: list[str]) -> None:
    line_ups = make_line_ups(agents, players)
    assert ["".join("ABCD"[agent] for agent in line_up.agents) for line_up in line_ups] == expected
    for line_up in line_ups:
        counts = sorted(line_up.counts().values())
        assert (PAIRS in line_up.kinds) == (len(counts) == 2 and counts[0] == 1)
        assert (MIXED in line_up.kinds) == (len(counts) == min(agents, players) and counts[-1] - counts[0] <= 1)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_everyone_has_every_seat_equally_often_in_all_orders(players: int) -> None:
    for line_up in make_line_ups(players, players):
        seats = line_up.seats(7, 24)  # 24 orders of five
        for seat in range(players):
            counts = Counter(seats[:, seat].tolist())
            assert {agent: count / 24 for agent, count in counts.items()} == line_up.counts()
        games = seats.reshape(24, players, players)
        for game in games:  # the same table, turned
            assert all(np.array_equal(game[0], np.roll(game[k], -k)) for k in range(players))
        orders = {tuple(np.roll(game[0], -int(game[0].argmin()))) for game in games}
        if len(set(line_up.agents)) == players:
            assert len(orders) == [0, 0, 1, 2, 6, 24][players]
        assert np.array_equal(seats[players:], line_up.seats(8, 23))


def test_the_name_of_a_line_up() -> None:
    line_up = make_line_ups(2, 4)[1]
    assert line_up.name(["wise", "bold"]) == "bold + 3 wise"


# ------------------------------------------------------------------------------------------------------ what is counted


def rows(table: list[dict[str, Any]], **where: Any) -> list[dict[str, Any]]:
    return [row for row in table if all(row[key] == value for key, value in where.items())]


@pytest.fixture(scope="module")
def result() -> Tournament:
    agents = ["threshold", "random", "threshold:risk=0.3"]
    return tournament(agents, num_players=[2, 3], games=48, config=MegalandConfig(max_rounds=12))


def test_the_numbers_are_those_of_the_games(result: Tournament) -> None:
    """One figure of each table agrees with the games, which are played again."""
    agents = ["threshold", "random", "threshold:risk=0.3"]
    config = MegalandConfig(num_players=3, max_rounds=12)
    line_ups = make_line_ups(3, 3)
    plan = Plan(tuple(agents), tuple(agents), config, tuple(line_ups), 48, 0)

    @cache
    def games(*who: int) -> Any:
        chunk = Chunk([line_up.agents for line_up in line_ups].index(who), 0, 16)
        return play(config, agents, plan.seats(chunk), plan.seeds(chunk))

    def mine(matches: Any, values: Any, who: int) -> Any:
        return values[matches.line_ups == who]

    alone = [games(0, 1, 1), games(0, 2, 2)]
    shares = [mine(matches, matches.shares, 0).mean() for matches in alone]
    (row,) = rows(result.standings, num_players=3, kind=PAIRS, agent="threshold")
    assert row["win_share"] == pytest.approx(np.mean(shares))
    assert row["games"] == 96
    assert row["coins"] == pytest.approx(np.mean([mine(matches, matches.coins, 0).mean() for matches in alone]))
    assert row["place"] == pytest.approx(np.mean([mine(matches, matches.places, 0).mean() for matches in alone]))
    (row,) = rows(result.head_to_head, num_players=3, agent="threshold", opponent="random")
    assert row["win_share"] == pytest.approx(shares[0])
    together = [games(0, 1, 1), games(0, 0, 1), games(0, 1, 2)]
    ahead = []
    for matches in together:
        for seats, coins in zip(matches.line_ups, matches.coins, strict=True):
            leads = [(coins[a] > coins[b]) + (coins[a] == coins[b]) / 2
                     for a in range(3) for b in range(3) if (seats[a], seats[b]) == (0, 1)]  # fmt: skip
            ahead += leads
    assert row["ahead"] == pytest.approx(np.mean(ahead))
    assert row["games_together"] == 144
    (row,) = rows(result.differences, num_players=3, kind=PAIRS, agent="threshold", other="threshold:risk=0.3")
    other = games(1, 1, 2)
    assert row["difference"] == pytest.approx(shares[0] - mine(other, other.shares, 2).mean())
    (row,) = rows(result.differences, num_players=3, kind=MIXED, agent="threshold", other="random")
    mixed = games(0, 1, 2)
    assert row["difference"] == pytest.approx(mine(mixed, mixed.shares, 0).mean() - mine(mixed, mixed.shares, 1).mean())
    (row,) = rows(result.line_ups, num_players=3, line_up="threshold + 2 random", agent="random")
    assert row["win_share"] == pytest.approx(mine(alone[0], alone[0].shares, 1).mean())
    assert row["seats"] == 2
    everything = [games(*line_up.agents) for line_up in line_ups]
    (row,) = rows(result.seats, num_players=3, by="seat", position=1)
    assert row["win_share"] == pytest.approx(np.mean([matches.shares[:, 1].mean() for matches in everything]))


def test_shares_add_up(result: Tournament) -> None:
    for players in (2, 3):
        for by in ("seat", "turn"):
            assert sum(row["win_share"] for row in rows(result.seats, num_players=players, by=by)) <= 1 + 1e-9
    for line_up in {row["line_up"] for row in result.line_ups}:
        parts = rows(result.line_ups, line_up=line_up)
        total = sum(row["win_share"] * row["seats"] for row in parts)
        assert total == pytest.approx(1 - parts[0]["truncated"])
    for row in (*result.standings, *result.line_ups, *result.seats):
        assert row["low"] < row["high"]
    assert all(row["low"] < row["difference"] < row["high"] for row in result.differences if row["difference"])


def test_who_is_better_is_seen(result: Tournament) -> None:
    for players in (2, 3):
        ratings = rows(result.ratings, num_players=players)
        assert ratings[-1]["agent"] == "random"
        assert [row["rating"] for row in ratings] == sorted((row["rating"] for row in ratings), reverse=True)
        (anchor,) = rows(ratings, agent="threshold")
        assert anchor["rating"] == 1000
        (clear,) = rows(result.differences, num_players=players, kind=PAIRS, agent="threshold", other="random")
        assert clear["low"] > 0.05


def test_the_first_player_of_a_turn_order_is_that_of_the_games() -> None:
    """The first player that the tables compute from the seed is that of the engine."""
    firsts: list[tuple[int, int]] = []

    class Witness(RandomAgent):
        def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
            at = decisions.seat == 0
            if (decisions.view.round == 1).all():
                first = decisions.view.first_player[at].argmax(axis=1)
                firsts.extend(zip(decisions.game[at].tolist(), first.tolist(), strict=True))
            return super().act(decisions)

    from megaland_experiments.strength.results import Played

    (line_up,) = make_line_ups(3, 3, [MIXED])
    agents = (Witness(0), Witness(1), Witness(2))
    plan = Plan(agents, ("a", "b", "c"), MegalandConfig(num_players=3, max_rounds=1), (line_up,), 45, 0)
    (matches,) = play_all(plan)
    played = Played.of(plan, 0, matches)
    assert {game: int(played.turns[game].argmin()) for game, _ in firsts} == dict(firsts)
    assert len(set(dict(firsts).values())) == 3


# ------------------------------------------------------------------------------------------------------ fairness


def equals(players: int) -> dict[str, Any]:
    return {f"equal-{number}": ThresholdAgent(risk=0.3) for number in range(players)}


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_equals_win_their_part(players: int) -> None:
    """One agent under several names wins exactly 1 / P with each, because all names have every seat equally often."""
    result = tournament(equals(3), num_players=players, games=16 * players)
    for row in (*result.standings, *result.line_ups):
        if row.get("kind") == PAIRS:
            assert row["win_share"] == pytest.approx((1 - row["truncated"]) / players)
        assert row["low"] < 1 / players < row["high"]
    for row in result.differences:
        assert row["low"] <= 0 <= row["high"]
    for row in result.ratings:
        assert row["low"] <= 1000 <= row["high"]
    for by in ("seat", "turn"):
        assert len(rows(result.seats, by=by)) == players


@pytest.mark.soak
@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_equals_win_their_part_soak(players: int) -> None:
    """Random agents with different seeds win alike within 99 % intervals, and so do the seats."""
    agents = [f"random:seed={number}" for number in range(players)]
    result = tournament(agents, num_players=players, games=2000, seed=3)
    shares = [row for row in result.standings if row["agent"] in agents]
    for row in (*shares, *rows(result.seats, by="seat")):
        half = (row["high"] - row["low"]) / 2 * 3 / 1.96  # three standard errors
        assert row["win_share"] == pytest.approx(row["par"] * (1 - shares[0]["truncated"]), abs=half)


def test_shared_luck_makes_differences_smaller() -> None:
    result = tournament(["threshold:risk=0.3", "threshold:risk=0.35", "threshold:horizon=5"], num_players=3, games=300)
    (row,) = rows(result.differences, kind=PAIRS, agent="threshold:risk=0.3", other="threshold:risk=0.35")
    assert row["deviation"] < 0.9 * row["unpaired_deviation"]


@pytest.mark.parametrize("difference", [0.03, 0.06])
def test_the_games_needed_find_the_difference_as_often_as_they_say(difference: float) -> None:
    luck = np.random.default_rng(0)
    deviation = 0.2
    seeds = seeds_needed(deviation, difference)
    assert difference_found(deviation, seeds) == pytest.approx(difference, rel=0.02)
    found = [difference_interval(luck.normal(difference, deviation, seeds))[0] > 0 for _ in range(1000)]
    assert 0.72 < np.mean(found) < 0.84


def test_the_interval_of_a_difference_covers_it() -> None:
    luck = np.random.default_rng(1)
    hits = 0
    for _ in range(500):
        low, high = difference_interval(luck.choice([-0.25, 0, 0.25, 0.5], p=[0.2, 0.5, 0.2, 0.1], size=100))
        hits += low <= 0.05 <= high
    assert 0.93 < hits / 500 < 0.98
    assert difference_interval(np.ones(5))[1] == 1.0


# ------------------------------------------------------------------------------------------------------ chunks


def test_portions_cover_everything_once_in_their_order() -> None:
    line_ups = tuple(table for players in (2, 4) for table in make_line_ups(3, players))
    plan = Plan(("random",) * 3, ("a", "b", "c"), MegalandConfig(), line_ups, 5000, 0)
    done = [Chunk(0, 100, 300), Chunk(0, 900, 100), Chunk(3, 0, 1250), Chunk(5, 7, 5)]
    schedule = _Schedule(plan, done, workers=2)
    assert schedule.finished == 2 * 400 + 4 * 1255
    given = list(done)
    seconds = [1e-4, 1e-1, 1e-5, 1.0]  # a game takes; the sizes follow it
    sizes = []
    while not schedule.is_over():
        portion = schedule.next()
        games = sum(map(plan.games_of, portion))
        assert len({line_ups[chunk.line_up].num_players for chunk in portion}) == 1
        assert 0 < games <= max(arena.DEFAULT_BATCH, 4 * arena.FIRST_CHUNK)
        given += portion
        sizes.append(games)
        schedule.done(portion, games * seconds[len(sizes) % 4])
    assert schedule.finished == plan.total_games
    covered = Counter((chunk.line_up, chunk.first + k) for chunk in given for k in range(chunk.number))
    wanted = {(k, seed) for k in range(len(line_ups)) for seed in range(plan.num_seeds(k))}
    assert covered == Counter(wanted)
    assert sizes[0] == 2 * arena.FIRST_CHUNK
    new = given[len(done) :]
    assert [(c.line_up, c.first) for c in new] == sorted((c.line_up, c.first) for c in new)


def test_slow_agents_are_given_few_games_at_once() -> None:
    plan = Plan(("random",) * 2, ("a", "b"), MegalandConfig(), tuple(make_line_ups(2, 4)), 100_000, 0)
    schedule = _Schedule(plan, [], workers=1)
    first = schedule.next()
    schedule.done(first, 1.0 * sum(map(plan.games_of, first)))  # a second a game
    assert sum(map(plan.games_of, schedule.next())) == 4 * arena.FIRST_CHUNK


# ------------------------------------------------------------------------------------------------------ folders


def run(*words: str) -> int:
    return cli.main(["tournament", "random", "threshold", *words])


def contents(folder: Path) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert {files.pop(".lock"), *files.pop("SHA256SUMS").splitlines()}  # how games are cut into files goes by the clock
    return files


def without_pictures(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in files.items() if not name.endswith(".png")}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("arena") / "run"
    assert run(*WORDS, "--out", str(out)) == 0
    return contents(out)


def test_the_files(expected: dict[str, bytes]) -> None:
    tables = {"ratings", "standings", "head_to_head", "differences", "line_ups", "seats"}
    pictures = {"players-2.png", "players-3.png"}
    assert set(expected) == {f"{name}.csv" for name in tables} | pictures | {"results.json", "settings.json"}
    written = json.loads(expected["results.json"])
    config = MegalandConfig(max_rounds=3)
    again = tournament(["random", "threshold"], num_players=(2, 3), games=30, config=config)
    assert written == json.loads(json.dumps(again.to_dict()))
    for name in tables:
        lines = list(csv.DictReader(expected[f"{name}.csv"].decode().splitlines()))
        assert len(lines) == len(written[name])
        assert [line["num_players"] for line in lines] == [str(row["num_players"]) for row in written[name]]
    assert all(expected[name].startswith(b"\x89PNG") for name in pictures)


def test_two_workers_make_the_same_files(expected: dict[str, bytes], tmp_path: Path) -> None:
    assert run(*WORDS, "--out", str(tmp_path / "run"), "--workers", "2") == 0
    assert contents(tmp_path / "run") == expected


@pytest.mark.usefixtures("no_pictures")
def test_the_same_command_again_plays_nothing_and_makes_the_same_files(
    expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*WORDS, "--out", str(tmp_path / "run")]
    assert run(*words) == 0
    monkeypatch.setattr(arena, "play", None)
    assert run(*words) == 0
    assert without_pictures(contents(tmp_path / "run")) == without_pictures(expected)


SLOWLY = """
import sys, time
from megaland_experiments.matches import arena
from megaland_experiments import cli

def play(*arguments, **named):
    time.sleep(0.5)
    return _play(*arguments, **named)

_play, arena.play = arena.play, play
sys.exit(cli.main(sys.argv[1:]))
"""


def started(out: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOWLY, "tournament", "random", "threshold", *WORDS, "--out", str(out), *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_chunks(out: Path, number: int = 1) -> None:
    for _ in range(600):
        if len(list(out.glob("games/*.npz"))) >= number:
            return
        time.sleep(0.05)
    raise TimeoutError


@pytest.mark.usefixtures("no_pictures")
def test_killed_in_the_middle_it_goes_on(expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started(out)
    wait_for_chunks(out)
    process.kill()
    process.communicate()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("games/*.npz")}
    assert not (out / "results.json").exists()
    (out / "games" / ".line-up-000-seeds-0000000-00001.npz.abc_1234.part").write_bytes(b"half")
    assert run(*WORDS, "--out", str(out)) == 0
    assert without_pictures(contents(out)) == without_pictures(expected)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


INTERRUPTED = """
import signal, sys
from megaland_experiments.matches import arena
from megaland_experiments import cli

def play(*arguments, **named):
    if portions:
        signal.raise_signal(signal.SIGINT)
    portions.append(_play(*arguments, **named))
    return portions[-1]

signal.signal(signal.SIGINT, signal.default_int_handler)
portions = []
_play, arena.play = arena.play, play
sys.exit(cli.main(sys.argv[1:]))
"""  # when the first portion, which is a whole line-up here, has been played and kept


@pytest.mark.usefixtures("no_pictures")
def test_interrupted_it_keeps_what_it_has_and_says_how_to_go_on(expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", INTERRUPTED, "tournament", "random", "threshold", *WORDS, "--out", str(out)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    shown, said = process.stdout, process.stderr
    assert process.returncode == cli.INTERRUPTED
    assert f"what was played is kept in {out}; to go on: megaland tournament random threshold --players 2 3" in said
    assert f"--max-rounds 3 --out {out}\n" in said
    assert "Finished line-ups" in shown
    assert run(*WORDS, "--out", str(out)) == 0
    assert without_pictures(contents(out)) == without_pictures(expected)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs the /proc of Linux")
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    process = started(tmp_path / "run", "--workers", "2")
    wait_for_chunks(tmp_path / "run", 1)
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.communicate()
    for _ in range(200):
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            return
        time.sleep(0.05)
    raise AssertionError(f"still there: {workers}")


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--games", "60"], "games is 30 there and 60 here"),
        (["--seed", "1"], "seed is 0 there and 1 here"),
        (["--lineups", "mixed"], 'lineups is ["pairs", "mixed"] there and ["mixed"] here'),
        (["--anchor", "threshold"], 'anchor is "random" there and "threshold" here'),
        (["--payment", "auto"], "config is "),
    ],
)
def test_another_tournament_in_the_folder_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "run")]
    assert run("--players", "2", "--games", "30", "--max-rounds", "3", *out) == 0
    before = contents(tmp_path / "run")
    capsys.readouterr()
    assert run("--players", "2", "--games", "30", "--max-rounds", "3", *out, *words) == cli.USAGE_ERROR
    said = capsys.readouterr().err
    assert "holds a tournament with other settings: " in said
    assert message in said
    assert contents(tmp_path / "run") == before


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(FolderError, match=r"does not hold a tournament, but thesis\.txt"):
        tournament(["random", "threshold"], out=tmp_path)
    with pytest.raises(FolderError, match="is not a folder"):
        tournament(["random", "threshold"], out=tmp_path / "thesis.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


ONCE: dict[str, Any] = {"num_players": 2, "games": 8, "config": SHORT}
SMALL_PLAN = Plan(
    ("random", "threshold"), ("random", "threshold"), MegalandConfig(num_players=2, max_rounds=2),
    tuple(make_line_ups(2, 2)), 8, 0,
)  # fmt: skip


def stopped(out: Path) -> Path:
    """A tournament that has played all games but has no results yet; returns the file of its games."""
    tournament(["random", "threshold"], out=out, **ONCE)
    for file in [*out.glob("*.csv"), *out.glob("*.png"), out / "results.json"]:
        file.unlink()
    (file,) = (out / "games").iterdir()
    return file


@contextlib.contextmanager
def small_folder(path: Path) -> Iterator[ArenaFolder]:
    with claim(Work(TOURNAMENT, {}), path) as folder:
        yield ArenaFolder(folder, SMALL_PLAN)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("finished", [False, True])
def test_any_damage_to_games_is_named(finished: bool, tmp_path: Path) -> None:
    out = tmp_path / "run"
    file = stopped(out)
    if finished:
        tournament(["random", "threshold"], out=out, **ONCE)
    good = file.read_bytes()
    flips = [good[:k] + bytes([good[k] ^ 16]) + good[k + 1 :] for k in range(0, len(good), 23)]
    for damage in (b"", good[:-1], good + b"x", b"PK\x03\x04 half of it", *flips):
        file.write_bytes(damage)
        with pytest.raises(FolderError, match=rf"{file.name} is damaged.*; delete it and give the command again"):
            tournament(["random", "threshold"], out=out, **ONCE)
    file.unlink()
    tournament(["random", "threshold"], out=out, **ONCE)
    if not finished:
        assert np.load(file)["coins"].tolist() == np.load(io.BytesIO(good))["coins"].tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.usefixtures("no_pictures")
def test_games_that_are_no_file_are_named(tmp_path: Path) -> None:
    file = stopped(tmp_path / "run")
    for make in (os.mkfifo, lambda path: (Path(path).touch(), os.truncate(path, 2**40))):
        file.unlink()
        make(str(file))
        with pytest.raises(FolderError, match=file.name):
            tournament(["random", "threshold"], out=tmp_path / "run", **ONCE)


def test_games_under_the_name_of_others_are_named(tmp_path: Path) -> None:
    (matches,) = play_all(SMALL_PLAN)
    with small_folder(tmp_path / "run") as folder:
        folder.add(Chunk(0, 0, 2), matches[:4])
        folder.add(Chunk(0, 2, 2), matches[4:])
    one, other = sorted((tmp_path / "run" / "games").iterdir())
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    with pytest.raises(FolderError, match=f"{one.name} is damaged"), small_folder(tmp_path / "run"):
        pass
    sums = tmp_path / "run" / "SHA256SUMS"  # and so they are when the checksums were swapped, too
    lines = [line.partition("  ") for line in sums.read_text().splitlines()]
    named = {name: checksum for checksum, _, name in lines}
    names = f"games/{one.name}", f"games/{other.name}"
    named[names[0]], named[names[1]] = named[names[1]], named[names[0]]
    sums.write_text("".join(f"{checksum}  {name}\n" for name, checksum in named.items()))
    with small_folder(tmp_path / "run") as folder:
        assert len(folder.chunks()) == 2
        for chunk in folder.chunks():
            with pytest.raises(FolderError, match=r"line-up-000-seeds-000000.*holds other games than its name says"):
                folder.get(chunk)


def test_games_of_another_tournament_are_named(tmp_path: Path) -> None:
    (matches,) = play_all(SMALL_PLAN)
    with claim(Work(TOURNAMENT, {"seed": 1}), tmp_path / "other") as owned:
        ArenaFolder(owned, SMALL_PLAN).add(Chunk(0, 0, 4), matches)
    (file,) = (tmp_path / "other" / "games").iterdir()
    with small_folder(tmp_path / "run") as folder:
        folder._folder.checksums.write(f"games/{file.name}", file.read_bytes())
        with pytest.raises(FolderError, match="holds other games than its name says"):
            folder.get(Chunk(0, 0, 4))


def test_games_of_the_wrong_number_are_named(tmp_path: Path) -> None:
    (matches,) = play_all(SMALL_PLAN)
    with small_folder(tmp_path / "run") as folder:
        folder.add(Chunk(0, 0, 3), matches)
        with pytest.raises(FolderError, match="does not have the 6 games that it should"):
            folder.get(Chunk(0, 0, 3))


@pytest.mark.parametrize("name", ["coins", "rounds"])
def test_games_of_the_wrong_kind_are_named(name: str, tmp_path: Path) -> None:
    (matches,) = play_all(SMALL_PLAN)
    array = getattr(matches, name)
    with small_folder(tmp_path / "run") as folder:
        for wrong in (array.astype(str), array[:, None]):
            folder.add(Chunk(0, 0, 4), replace(matches, **{name: wrong}))
            with pytest.raises(FolderError, match="does not have the 8 games that it should"):
                folder.get(Chunk(0, 0, 4))


def test_games_that_would_fill_the_memory_are_named(tmp_path: Path) -> None:
    (matches,) = play_all(SMALL_PLAN)
    with small_folder(tmp_path / "run") as folder:
        folder.add(Chunk(0, 0, 4), replace(matches, coins=np.zeros(2**22, np.int16)))  # which is small on the disk
        with pytest.raises(FolderError, match="an array in it is far too large"):
            folder.get(Chunk(0, 0, 4))


def test_games_of_other_tables_are_refused(tmp_path: Path) -> None:
    (matches,) = play_all(SMALL_PLAN)
    for number, chunk in enumerate((Chunk(0, 2, 3), Chunk(1, 0, 2), Chunk(0, 1, 2))):
        with small_folder(tmp_path / str(number)) as folder:
            folder.add(Chunk(0, 0, 2), matches[:4])
            folder._folder.checksums.write(_name(chunk), b"")
        with small_folder(tmp_path / str(number)) as again, pytest.raises(FolderError, match="is of another tourn"):
            again.chunks()


def test_a_file_without_a_checksum_was_not_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (matches,) = play_all(SMALL_PLAN)
    with small_folder(tmp_path) as folder:
        folder.add(Chunk(0, 0, 2), matches[:4])
        lost = tmp_path / "games" / "line-up-000-seeds-0000002-00002.npz"
        lost.write_bytes(b"half")
        (tmp_path / "games" / "mine.npz").write_bytes(b"of a user")
    assert capsys.readouterr().err == ""
    with small_folder(tmp_path) as folder:
        assert folder.chunks() == [Chunk(0, 0, 2)]
        assert not lost.exists()
        assert len(list((tmp_path / "games").iterdir())) == 2
    assert capsys.readouterr().err == (
        f"megaland: warning: {lost} had no checksum in SHA256SUMS, so these games are played again\n"
    )


# ------------------------------------------------------------------------------------------------------ finished


@pytest.mark.usefixtures("no_pictures")
def test_a_finished_tournament_is_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = [*WORDS, "--out", str(out)]
    assert run(*words) == 0
    before, shown = contents(out), capsys.readouterr().out
    monkeypatch.setattr(arena, "play", None)
    (out / "standings.csv").unlink()
    assert run(*words) == 0
    again = capsys.readouterr().out
    assert "finished before: nothing was played" in again
    assert again.splitlines()[:20] == shown.splitlines()[:20]
    assert contents(out) == before


@pytest.mark.usefixtures("no_pictures")
def test_the_default_folder_takes_the_next_free_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--players", "2", "--games", "8", "--max-rounds", "2"]
    assert run(*small) == 0
    assert capsys.readouterr().err == ""
    assert run(*small, "--seed", "1") == 0
    out, err = capsys.readouterr()
    assert err == (
        "runs/tournament holds a tournament with other settings: seed is 0 there and 1 here; "
        "so this goes to runs/tournament-2\n"
    )
    assert "written to runs/tournament-2: results.json" in out
    assert run(*small, "--seed", "1") == 0
    assert "finished before" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["tournament", "tournament-2"]


@pytest.mark.parametrize("module", ["openskill", "matplotlib.figure"])
def test_a_missing_extra_leaves_no_folder(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert run(*WORDS, "--out", str(tmp_path / "run")) == cli.USAGE_ERROR
    with pytest.raises(ModuleNotFoundError):
        tournament(["random", "threshold"], out=tmp_path / "run", **ONCE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_pictures")
def test_an_agent_that_fails_at_once_leaves_a_folder_that_refuses_nothing(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    assert cli.main(["tournament", "random", "tests.experiments.test_cli:Clumsy", *WORDS, "--out", out]) == cli.FAILURE
    assert run(*WORDS, "--out", out) == 0


def test_a_picture_that_cannot_be_drawn_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(result: Tournament, players: int) -> None:
        raise ValueError("no such font")

    monkeypatch.setattr(arena_figure, "tournament_figure", fail)
    out = tmp_path / "run"
    assert run(*WORDS, "--out", str(out)) == 0
    said = capsys.readouterr().err
    assert "megaland: warning: there is no players-2.png: no such font" in said
    assert {"results.json", "seats.csv"} <= set(contents(out))


@pytest.mark.parametrize("left", [0, 1, 3])
@pytest.mark.usefixtures("no_pictures")
def test_a_full_disk_is_one_line_with_the_command_to_go_on(
    left: int, expected: dict[str, bytes], tmp_path: Path, full_disk: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with full_disk(left + 2):  # after the settings file and its checksum
        assert run(*WORDS, "--out", str(out)) == cli.USAGE_ERROR
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"megaland: error: {out}/")
    assert ": No space left on device; what was played is kept; to go on: megaland tournament random thre" in said
    words = shlex.split(said.partition("to go on: megaland ")[2])
    assert cli.main(words) == 0
    assert without_pictures(contents(out)) == without_pictures(expected)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": None}, {"settings": {}}, {"ratings": 3}, {"ratings": []}, {"ratings": [{}]}, {"standings": None},
        {"settings": {"agents": ["random"], "players": [2]}},
    ],
)  # fmt: skip
def test_results_of_0_1_are_read_with_a_warning_and_checked(change: dict[str, Any], tmp_path: Path) -> None:
    result = tournament(["random", "threshold"], **ONCE)
    content = result.to_dict()
    old = {"format": "megaland-tournament/1", **result.settings}
    (tmp_path / "settings.json").write_text(json.dumps(old))
    (tmp_path / "results.json").write_text(json.dumps(content))
    with pytest.warns(UserWarning, match=r"written by version 0\.1\.0, without checksums"):
        assert load_tournament(tmp_path) == result
    (tmp_path / "results.json").write_text(json.dumps(content | change))
    with pytest.raises(FolderError, match=r"results\.json is damaged or of another version"):
        load_tournament(tmp_path)
    (tmp_path / "settings.json").unlink()  # as 0.1 saved results from Python
    (tmp_path / "results.json").write_text(json.dumps(content))
    with pytest.warns(UserWarning, match=r"written by version 0\.1\.0"):
        assert load_tournament(tmp_path) == result


def test_every_value_of_results_is_checked(tmp_path: Path) -> None:
    result = tournament(["random", "threshold"], **ONCE)
    (tmp_path / "settings.json").write_text(json.dumps({"format": "megaland-tournament/1", **result.settings}))
    for table in result.tables():
        for name in getattr(result, table)[0]:
            for wrong in ([], {}, "x" if name not in ("agent", "kind", "line_up", "kinds", "other", "by") else 3, True):
                content = json.loads(json.dumps(result.to_dict()))
                content[table][0][name] = wrong
                (tmp_path / "results.json").write_text(json.dumps(content))
                with pytest.raises(FolderError, match=r"results\.json is damaged"):
                    load_tournament(tmp_path)


@pytest.mark.usefixtures("no_pictures")
def test_any_damage_to_results_is_named(tmp_path: Path) -> None:
    out = tmp_path / "run"
    tournament(["random", "threshold"], out=out, **ONCE)
    for name in ("results.json", "settings.json", "standings.csv"):
        good = (out / name).read_bytes()
        flips = [good[:k] + bytes([good[k] ^ 1]) + good[k + 1 :] for k in range(0, len(good), 97)]
        for damage in (b"", good[:-9], b"[" * 100_000, b"3", b"{}", *flips):
            (out / name).write_bytes(damage)
            with pytest.raises(FolderError, match=name):
                tournament(["random", "threshold"], out=out, **ONCE)
            if name != "standings.csv":
                with pytest.raises(FolderError, match=name):
                    load_tournament(out)
        (out / name).write_bytes(good)


@pytest.mark.usefixtures("no_pictures")
def test_results_are_not_saved_over_others(tmp_path: Path) -> None:
    one, other = (tournament({"mine": RandomAgent(k), "yours": "random"}, **ONCE) for k in (1, 2))
    save_tournament(one, tmp_path)
    save_tournament(one, tmp_path)
    with pytest.raises(FolderError, match="holds other results of the same settings"):
        save_tournament(other, tmp_path)
    assert load_tournament(tmp_path) == one
    with pytest.raises(FolderError, match="holds a tournament with other settings"):
        tournament(["random", "threshold"], out=tmp_path, **ONCE)


@pytest.mark.usefixtures("no_pictures")
def test_a_folder_without_its_games_plays_them_anew(tmp_path: Path) -> None:
    once = {"num_players": 2, "games": 8, "config": SHORT, "out": tmp_path / "run"}
    before = tournament(["random", "threshold"], **once)
    for file in (tmp_path / "run" / "games").iterdir():
        file.unlink()
    (tmp_path / "run" / "games").rmdir()
    (tmp_path / "run" / "results.json").unlink()
    assert tournament(["random", "threshold"], **once) == before


# ------------------------------------------------------------------------------------------------------ broken agents


class Illegal:
    """Plays at random until a buyer is asked, and then stays in the level."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        actions = RandomAgent().act(decisions).astype(np.int64)
        return np.where(decisions.kind == Kind.BUY, Action["STAY"], actions)


class Leaver:
    """Ends the whole program."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        sys.exit("I have had enough")


class Murderer:
    """Ends its process."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return decisions.seat


@pytest.mark.parametrize(
    ("agent", "message", "workers"),
    [
        (
            "tests.experiments.test_tournament:Illegal",
            "chose action 1 (STAY), which is not legal in the decision 'buy' of seat",
            "1",
        ),
        (
            "tests.experiments.test_tournament:Illegal",
            "chose action 1 (STAY), which is not legal in the decision 'buy' of seat",
            "2",
        ),
        (
            "tests.experiments.test_tournament:Leaver",
            "raised SystemExit: I have had enough; it was asked the decision 'run'",
            "1",
        ),
    ],
)
def test_a_broken_agent_is_named_and_the_rest_is_kept(
    agent: str, message: str, workers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    status = run(agent, "--players", "2", "--games", "8", "--out", str(out), "--workers", workers)
    assert status == cli.FAILURE
    shown, said = capsys.readouterr()
    assert f"megaland: error: agent '{agent}' {message}" in said
    assert f"what was played is kept in {out}" in said
    assert "random + threshold" in shown
    assert f"+ {agent}"[:20] not in shown
    assert [path.name for path in (out / "games").iterdir()] == ["line-up-000-seeds-0000000-00004.npz"]


def test_a_worker_that_dies_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--players", "2", "--games", "8", "--out", str(tmp_path / "run"), "--workers", "2"]
    assert run("tests.experiments.test_tournament:Murderer", *words) == cli.USAGE_ERROR
    assert "a worker process died" in capsys.readouterr().err


@pytest.mark.usefixtures("no_pictures")
def test_objects_play_in_this_process_alone(tmp_path: Path) -> None:
    agents = {"mine": RandomAgent(5), "yours": "threshold"}
    games = {"num_players": 2, "games": 4, "config": SHORT}
    result = tournament(agents, **games)
    assert {row["agent"] for row in result.ratings} == {"mine", "yours"}
    with pytest.raises(ValueError, match="'mine' is an object"):
        tournament(agents, workers=2, **games)
    with pytest.raises(ValueError, match="a folder cannot say who 'mine' was"):
        tournament(agents, out=tmp_path / "run", **games)
    assert not (tmp_path / "run").exists()
    saved = {path.name for path in save_tournament(result, tmp_path / "saved")}
    assert {path.name for path in (tmp_path / "saved").iterdir()} == saved | {"settings.json", "SHA256SUMS", ".lock"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": ["random"]}, "a tournament needs at least 2 agents, not 1"),
        ({"agents": ["random", "threshold", "random"]}, "'random' takes part twice"),
        ({"agents": ["random", "nobody"]}, "no agent 'nobody'"),
        ({"num_players": []}, "num_players names no number"),
        ({"num_players": [4, 6]}, "num_players is 6"),
        ({"num_players": 2.5}, "num_players is 2.5"),
        ({"games": 0}, "games is 0"),
        ({"games": 4.5}, "games is 4.5; it must be a whole number"),
        ({"games": True}, "games is True"),
        ({"seed": 0.5}, "0.5 is not an integer"),
        ({"lineups": ["triples"]}, "lineups is .*it must name some of pairs, mixed"),
        ({"lineups": []}, "lineups is"),
        ({"anchor": "nobody"}, "the anchor 'nobody' does not take part"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": 10**9}, "workers is 1000000000"),
    ],
)
def test_tournaments_without_meaning(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tournament(**({"agents": ["random", "threshold"], "games": 4} | changes))


@pytest.mark.usefixtures("no_pictures")
def test_numbers_of_numpy_will_do(tmp_path: Path) -> None:
    few = np.int64(2)
    for players in (few, np.array([2])):
        once = {"num_players": players, "games": few, "seed": few, "config": SHORT, "out": tmp_path / "run"}
        tournament(["random", "threshold"], **once)


@pytest.mark.usefixtures("no_pictures")
def test_one_seed_alone_tells_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("--players", "2", "--games", "1", "--max-rounds", "2", "--out", str(tmp_path / "run")) == 0
    assert "Games on a single seed cannot tell how sure the results are" in capsys.readouterr().out


@pytest.mark.usefixtures("no_pictures")
def test_what_the_screen_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--players", "3", "--games", "30", "--max-rounds", "9", "--out", str(tmp_path / "run")]
    assert cli.main(["tournament", "random", "threshold", "threshold:risk=0.3", *words]) == 0
    shown = capsys.readouterr().out
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    for row in results["standings"]:
        assert f"{100 * row['win_share']:.1f} %" in shown
    for row in results["head_to_head"]:
        assert f"{100 * row['win_share']:.1f}" in shown
    for row in results["ratings"]:
        assert f"{row['rating']:.0f}" in shown
    needed = max(row["games_needed"] for row in results["differences"] if row["kind"] == "pairs")
    assert f"to tell 3 points apart you need about {needed:,} games a line-up" in " ".join(shown.split())
    assert "With 30 games a line-up" in shown


@pytest.mark.usefixtures("no_pictures")
def test_only_mixed_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--players", "3", "--games", "30", "--lineups", "mixed", "--out", str(tmp_path / "run")) == 0
    assert "alone" not in capsys.readouterr().out
    rows_of = json.loads((tmp_path / "run" / "results.json").read_text())["head_to_head"]
    assert [row["win_share"] for row in rows_of] == [None, None]
    assert sum(row["ahead"] for row in rows_of) == pytest.approx(1)


class Vandal:
    """Plays at random, and then writes into all arrays that it was given."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        actions = RandomAgent().act(decisions)
        decisions.legal_bits[:] = 0
        decisions.seat[:] = 0
        decisions.game[:] = 0
        return actions


def test_an_agent_cannot_change_what_it_was_asked() -> None:
    line_ups, seeds, config = np.zeros((6, 2), int), np.arange(6), MegalandConfig(num_players=2, max_rounds=4)
    honest, vandal = (play(config, [agent], line_ups, seeds) for agent in (RandomAgent(), Vandal()))
    assert np.array_equal(honest.coins, vandal.coins)


def test_an_agent_error_reaches_the_caller() -> None:
    with pytest.raises(AgentError, match="agent 'illegal' chose"):
        tournament({"illegal": Illegal(), "random": "random"}, num_players=2, games=40)


def test_at_tables_of_two_the_pairs_are_shown_once() -> None:
    """At tables of two the mixed line-ups are the same games, so the pairs are shown once."""
    config = MegalandConfig(max_rounds=6)
    found = tournament(["random", "hearts", "threshold"], num_players=[2, 3], games=12, config=config)
    shown = io.StringIO()
    show(found, Console(file=shown, width=200))
    two, three = " ".join(shown.getvalue().split()).split(" 3 players ", 1)  # titles are broken to the width of a table
    assert "wins against one other" in two
    assert "wins of one (row) against another (column), in %" in two
    assert "mixed" not in two
    assert "wins, alone against 2 of another" in three
    assert "wins at mixed tables" in three
    assert "pairs tell apart any two agents" in two
    assert "mixed tables tell apart any two agents" in three
    assert {row["kind"] for row in found.differences if row["num_players"] == 2} == {"pairs", "mixed"}
