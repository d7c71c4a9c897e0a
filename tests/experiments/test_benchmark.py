"""The benchmark runs, and counts decisions and games correctly."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

from megaland_env import Kind, MegalandConfig, MegalandGames
from megaland_env.engine import rng
from megaland_env.observation import encode
from megaland_experiments import cli
from megaland_experiments.speed import benchmark

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs Numba")
needs_sb3 = pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="needs stable-baselines3")


@pytest.fixture(autouse=True)
def small_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer games, played for a shorter time, before the benchmark begins."""
    monkeypatch.setattr(benchmark, "POOL", 16)
    monkeypatch.setattr(benchmark, "POOL_STEPS", 150)
    monkeypatch.setattr(benchmark, "ADAPTER_WARM_UP", 3)
    benchmark._pool.cache_clear()
    yield
    benchmark._pool.cache_clear()


def asked(games: MegalandGames) -> int:
    """Decisions made so far in all of the games."""
    return sum(sum(games.snapshot(game)["decisions"]) for game in range(games.num_games))


def test_decisions_are_those_that_the_seats_were_asked():
    runner = benchmark.Runner(MegalandConfig(num_players=3), 8)
    before, counted, games_over = asked(runner.games), 0, 0
    for _ in range(100):
        decided, over, times = runner.step()
        if over:  # a game begins to count anew
            games_over += over
            before, counted = asked(runner.games), 0
        else:
            counted += decided
        assert asked(runner.games) - before == counted
        assert len(times) == len(benchmark.PARTS)
        assert all(time >= 0 for time in times)
    assert games_over


def test_play_without_clocks_counts_the_same_decisions():
    timed, plain = (benchmark.Runner(MegalandConfig(num_players=3), 8) for _ in range(2))
    assert [timed.step()[0] for _ in range(300)] == [plain.play() for _ in range(300)]
    assert (timed.games.seeds == plain.games.seeds).all()
    assert (timed.games.coins == plain.games.coins).all()


@pytest.mark.parametrize("engine", ["numpy", pytest.param("compiled", marks=needs_numba)])
def test_observations_are_written_in_the_layout_of_the_engine(engine):
    runner = benchmark.Runner(MegalandConfig(), 32, engine=engine)
    rows = runner.games.decisions()
    assert runner._observations(len(rows)).strides == encode(rows).strides


def test_games_that_are_over_begin_anew_with_the_seeds_of_episodes():
    runner = benchmark.Runner(MegalandConfig(num_players=2), 6, reset_share=0.5)
    first = runner.games.seeds.copy()
    restarted = 0
    for _ in range(400):
        over = runner.step()[1]
        restarted += over
        assert over == 0 or over >= 3
        assert (runner.games.kind == Kind.NONE).sum() < 3
    assert restarted
    for slot, seed in enumerate(runner.games.seeds):
        assert seed in rng.episode_seeds(np.full(restarted + 1, first[slot]), np.arange(restarted + 1))


@pytest.mark.parametrize("batch", [1, 16, 40])
def test_the_batch_holds_different_games_at_different_stages(batch):
    games = benchmark.mixed_games(MegalandConfig(), batch)
    assert games.num_games == batch
    assert len(set(games.seeds.tolist())) == batch
    assert games.kind.all()
    if batch > 1:
        assert len(set(games.kind.tolist())) > 1
        assert len(set(games.steps.tolist())) > 1


def test_a_row():
    row = benchmark.measure(2, 4, 0.05)
    assert (row.players, row.batch) == (2, 4)
    assert row.decisions > 0
    assert min(row.engine_ns, row.choosing_ns, row.mask_ns) > 0
    assert row.observation_ns is not None
    assert row.play > row.full > 0
    assert row.play == pytest.approx(1e9 / (row.engine_ns + row.choosing_ns), rel=0.5)
    assert benchmark.measure(2, 4, 0.05, observe=False).observation_ns is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"reset_share": 2.0}, "reset_share"),
        ({"players": 7}, "num_players"),
    ],
)
def test_arguments_without_meaning(arguments, message):
    with pytest.raises(ValueError, match=message):
        benchmark.measure(**({"players": 2, "batch": 1, "seconds": 0.01} | arguments))


def test_the_command_shows_and_writes_the_rows(tmp_path, capsys):
    as_json, as_csv = tmp_path / "rows.json", tmp_path / "rows.csv"
    words = ["--players", "2", "5", "--batch", "1", "8", "--seconds", "0.02", "--adapters", "no"]
    assert benchmark.main([*words, "--json", str(as_json), "--csv", str(as_csv)]) == 0
    out = capsys.readouterr().out
    written = json.loads(as_json.read_text())
    rows = list(csv.DictReader(as_csv.read_text().splitlines()))
    assert [(row["players"], row["batch"]) for row in rows] == [("2", "1"), ("2", "8"), ("5", "1"), ("5", "8")]
    assert [float(row["play"]) for row in rows] == [row["play"] for row in written["engine"]]
    assert all(f"{row['play']:,.0f}" in out for row in written["engine"])
    assert written["adapters"] == []
    machine = written["machine"]
    assert machine in out
    assert f"NumPy {np.__version__}" in machine
    assert "cores" in machine


@needs_sb3
def test_the_adapters(tmp_path, capsys):
    path = tmp_path / "rows.json"
    words = [
        "benchmark",
        "--players",
        "3",
        "--batch",
        "1",
        "4",
        "--seconds",
        "0.05",
        "--adapters",
        "only",
        "--json",
        str(path),
    ]
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    rows = {(row["adapter"], row["batch"]): row for row in json.loads(path.read_text())["adapters"]}
    alone = {(name, 1) for name in benchmark.ADAPTERS}
    assert rows.keys() == alone | {(name, 4) for name in benchmark.ADAPTERS if name not in benchmark.ONE_GAME}
    assert rows["SB3 VecEnv", 4]["decisions"] % 4 == 0
    assert all(row["players"] == 3 and row["rate"] > 0 for row in rows.values())
    assert all(name in shown for name in benchmark.ADAPTERS)


def test_an_adapter_without_its_library_is_left_out(monkeypatch):
    def missing(players: int, batch: int, engine: str) -> benchmark.AdapterRun:
        raise ModuleNotFoundError("No module named 'stable_baselines3'")

    monkeypatch.setitem(benchmark.ADAPTERS, "SB3 VecEnv", missing)
    assert benchmark.measure_adapter("SB3 VecEnv", 2, 1, 0.01) is None


def test_the_profile(capsys):
    assert benchmark.main(["--players", "2", "--batch", "4", "--seconds", "0.05", "--profile"]) == 0
    out = capsys.readouterr().out
    assert "2 players, batch 4" in out
    assert "tottime" in out
    assert "game.py" in out
