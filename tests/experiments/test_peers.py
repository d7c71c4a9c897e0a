"""Random play next to other libraries is counted and reported as it says; those libraries need not be installed."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from megaland_experiments.shared.output import versions
from megaland_experiments.speed import benchmark, contestants, peers
from megaland_experiments.speed.contestants import ACTIONS, ALL, Contestant

pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

PEERS = {
    "pip install open_spiel": ["OpenSpiel pig", "OpenSpiel leduc_poker", "OpenSpiel gin_rummy"],
    'pip install "pettingzoo[classic]"': ["PettingZoo connect_four_v3", "PettingZoo leduc_holdem_v4"],
    "pip install pgx jax": ["Pgx connect_four", "Pgx leduc_holdem", "Pgx 2048", "Pgx backgammon"],
}
OURS = ("PettingZoo AEC", "PettingZoo Parallel", "Gymnasium")


@pytest.fixture(autouse=True)
def small_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer games, played for a shorter time, before the engine is measured; and small batches."""
    monkeypatch.setattr(benchmark, "POOL", 16)
    monkeypatch.setattr(benchmark, "POOL_STEPS", 150)
    monkeypatch.setattr(contestants, "BATCHES", (1, 8))
    benchmark._pool.cache_clear()
    yield
    benchmark._pool.cache_clear()


@pytest.fixture
def no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the other libraries, if they are installed."""
    for module in ("pyspiel", "pgx", "jax", *(f"pettingzoo.classic.{game}" for game in contestants.PETTINGZOO_GAMES)):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.usefixtures("no_peers")
def test_the_command_measures_ours_and_says_how_to_install_the_others(tmp_path, capsys):
    files = {ending: tmp_path / f"rows.{ending}" for ending in ("json", "csv", "png")}
    words = [f"--{name}={files[ending]}" for name, ending in (("json", "json"), ("csv", "csv"), ("picture", "png"))]
    assert peers.main(["--seconds", "0.02", "--engine", "numpy", *words]) == 0
    written = json.loads(files["json"].read_text())
    assert written["missing"] == PEERS
    assert written["versions"] == versions()
    rows = written["rows"]
    assert [(row["name"], row["batch"], row["reads"]) for row in rows] == [
        *((name, 1, ALL) for name in OURS),
        *(("MegalandGames", batch, reads) for reads in (ACTIONS, ALL) for batch in (1, 8)),
    ]
    assert {row["engine"] for row in rows} == {"numpy"}
    shown = capsys.readouterr().out
    for row in rows:
        assert row["decisions"] > 0
        assert 0 < row["lowest"] <= row["rate"] <= row["highest"]
        assert f"{row['rate']:,.0f}" in shown
    assert [(row["batch"], row["best"]) for row in rows[-4:]] == [(1, False), (8, True)] * 2
    for install, names in PEERS.items():
        assert f"{', '.join(names)}: not installed: {install}\n" in shown
    assert [float(row["rate"]) for row in csv.DictReader(files["csv"].read_text().splitlines())] == [
        row["rate"] for row in rows
    ]
    assert files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", OURS)
def test_the_decisions_of_an_environment_are_those_with_a_choice(name, monkeypatch):
    choices = []
    choose = benchmark.random_action

    def noted(mask, randomness):
        action = choose(mask, randomness)
        assert mask[action]
        choices.append(mask.sum() > 1)
        return action

    monkeypatch.setattr(benchmark, "random_action", noted)
    play = next(one for one in contestants.contestants(["numpy"]) if one.name == name).start()
    for _ in range(400):
        choices.clear()
        assert play() == sum(choices) > 0


def burn(rate: float) -> Callable[[], int]:
    """Something to measure that makes ``rate`` decisions a second of processor time, ten at once."""

    def play() -> int:
        until = time.process_time() + 10 / rate
        while time.process_time() < until:
            pass
        return 10

    return play


def test_rates_are_those_of_the_processor_and_alternate():
    order = []

    def one(name: str, batch: int, rate: float) -> Contestant:
        play = burn(rate)
        return Contestant(
            "made", ("numpy",), "", name, batch, ALL, lambda: lambda: order.append((name, batch)) or play()
        )

    rows, missing = peers.measure([one("fast", 1, 20_000), one("fast", 2, 30_000), one("slow", 1, 10_000)], 0.1)
    assert missing == {}
    assert [row.best for row in rows] == [False, True, True]
    assert [row.rate for row in rows] == pytest.approx([20_000, 30_000, 10_000], rel=0.2)
    turns = [name for name, before in zip(order, [None, *order], strict=False) if name != before]
    each = [("fast", 1), ("fast", 2), ("slow", 1)]
    assert turns == each * (1 + benchmark.WINDOWS)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot keep a process to a core")
def test_the_process_has_all_of_its_cores_again_afterwards():
    before = os.sched_getaffinity(0)
    within = []
    candidate = contestants.contestants(["numpy"])[-1]
    play = burn(1e5)
    peers.measure([replace(candidate, start=lambda: lambda: within.append(os.sched_getaffinity(0)) or play())], 0.01)
    assert {len(cores) for cores in within} == {1}
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seconds", "0"], "--seconds is 0.0; it must be positive"),
        (["--seconds", "nan"], "--seconds is nan"),
        (["--engine", "steam"], "'steam' is none of auto, numpy, compiled"),
        (["--json", "/no/such/folder/rows.json"], "there is no folder /no/such/folder"),
    ],
)
def test_bad_arguments_are_refused_before_the_work(words, message, capsys):
    with pytest.raises(SystemExit):
        peers.main(words)
    assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("default")  # theirs are not ours to mend
@pytest.mark.parametrize(
    ("module", "game"),
    [
        *(("pyspiel", game) for game in contestants.OPENSPIEL_GAMES),
        *(("rlcard", game) for game in contestants.PETTINGZOO_GAMES),
        ("pgx", "2048"),
    ],
)
def test_the_others_play_where_they_are_installed(module, game):
    pytest.importorskip(module)
    candidate = next(one for one in contestants.contestants(["numpy"]) if one.name == game)
    play = candidate.start()
    assert sum(play() for _ in range(3)) > 0
