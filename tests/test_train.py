"""``megaland train``: a tiny run from the beginning to the report, stopped and resumed."""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import experiments.train
from agents.ppo import PPOAgent
from experiments.checkpoints import CheckpointError, checkpoints
from experiments.league import League
from experiments.train import PRESETS, LearningCurve, TrainConfig, Training, add_arguments, resume, train
from megaland_env import MegalandGames
from megaland_env.agent import make_agent
from megaland_env.rewards import Coins, Shaped
from tests.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)


def tiny(folder: Path, **changes: Any) -> TrainConfig:
    config = TrainConfig(
        folder=str(folder),
        total_steps=640,
        players=(2, 3),
        threads=1,
        num_envs=16,
        n_steps=8,
        batch_size=64,
        n_epochs=2,
        hidden=(16,),
        snapshot_every=128,
        snapshots_kept=2,
        checkpoint_every=256,
        eval_games=6,
    )
    return replace(config, **changes)


def weights(policy: Path) -> list[Any]:
    return [parameter.numpy() for parameter in PPOAgent(policy)._network.parameters()]


def same(one: Path, other: Path) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


def curve(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return list(csv.DictReader(file))


# --------------------------------------------------------------------------------------------------- whole runs


def test_a_run_from_the_beginning_to_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "runs" / "one"
    policy = train(tiny(folder))
    assert policy == folder / "policy"

    agent = make_agent(f"ppo:path={policy}")
    assert isinstance(agent, PPOAgent)
    assert agent.provenance["steps"] == 640
    assert agent.provenance["config"]["players"] == [2, 3]
    assert len(agent.provenance["evaluations"]) == 6
    games = MegalandGames(num_games=4)
    games.reset(0)
    games.step(games.scatter(games.decisions(), agent.act(games.decisions())))

    report = json.loads((folder / "report.json").read_text())
    assert report["steps"] == 640
    assert report["illegal_actions"] == 0
    assert set(report["seconds_by_part"]) == {"engine", "opponents", "encoding", "roll-out", "update", "saving"}
    assert min(report["seconds_by_part"].values()) > 0
    assert report["seconds"] == pytest.approx(sum(report["seconds_by_part"].values()))
    assert report["steps_per_second"] == pytest.approx(640 / report["seconds"])
    played = [(e["settings"]["config"]["num_players"], e["settings"]["opponents"][0]) for e in report["evaluations"]]
    assert played == [(players, name) for name in ("random", "threshold", "planner") for players in (2, 3)]
    assert TrainConfig.from_dict(report["config"]) == tiny(folder)

    rows = curve(folder)
    assert [int(row["steps"]) for row in rows] == [128, 256, 384, 512, 640]
    assert float(rows[-1]["policy_loss"]) != 0
    assert [path.name for path in checkpoints(folder / "checkpoints")] == ["000000000512", "000000000640"]
    assert len(list((folder / "league").iterdir())) == 4  # 128, 256, 384, 512; the first two have left the league
    assert list((folder / "tensorboard").iterdir())

    shown = capsys.readouterr().out
    assert "win share against 2 threshold" in shown
    assert f"ppo:path={policy}" in shown.replace("\n", "")
    assert "256 steps" in shown  # a line at the checkpoint, since nobody is at a terminal


def test_stopped_and_resumed_it_ends_with_the_same_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = train(tiny(tmp_path / "whole", eval_games=0))
    assert same(whole, train(tiny(tmp_path / "again", eval_games=0)))  # a seed is a run
    assert not same(whole, train(tiny(tmp_path / "other", eval_games=0, seed=1)))

    begin = Training._on_rollout_end

    def stop(self: Training) -> None:  # after the checkpoint at 512 steps, before the update that follows
        begin(self)
        if self.num_timesteps == 640:
            raise KeyboardInterrupt

    monkeypatch.setattr(Training, "_on_rollout_end", stop)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path / "stopped", eval_games=0))
    monkeypatch.undo()
    assert not (tmp_path / "stopped" / "policy").exists()
    torch.manual_seed(99)  # a new process has other luck
    np.random.seed(99)  # noqa: NPY002
    stopped = resume(tmp_path / "stopped")
    assert same(whole, stopped)
    assert curve(tmp_path / "stopped") == curve(tmp_path / "whole")
    report = json.loads((tmp_path / "stopped" / "report.json").read_text())
    assert report["steps"] == 640
    assert report["games"] == json.loads((tmp_path / "whole" / "report.json").read_text())["games"]

    assert same(whole, resume(tmp_path / "stopped"))  # a run that is over only reports again


def test_a_run_needs_a_new_folder(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="--resume"):
        train(tiny(tmp_path))


def test_what_cannot_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no training run"):
        resume(tmp_path / "nowhere")
    (tmp_path / "config.json").write_text('{"folder": "x", "colour": 3}')
    with pytest.raises(ValueError, match="no field 'colour'"):
        resume(tmp_path)

    folder = tmp_path / "run"
    train(tiny(folder, total_steps=256, players=(2,), eval_games=0))
    last = checkpoints(folder / "checkpoints")[-1]
    (last / "model.pt").write_bytes((last / "model.pt").read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="000000000256 cannot be used"):
        resume(folder)


# --------------------------------------------------------------------------------------------------- its parts


def test_options_are_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[TrainConfig] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments.train, "train", asked.append)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert experiments.train.run(parser.parse_args([])) == 0
    assert asked.pop() == TrainConfig(folder="runs/ppo-1")
    (tmp_path / "runs" / "ppo-1").mkdir(parents=True)
    words = "--players 2,3 --learning-rate 0.1 --hidden 8 --reward coins --eval-sampled --seed 4"
    experiments.train.run(parser.parse_args(words.split()))
    assert asked.pop() == TrainConfig(
        folder="runs/ppo-2",
        players=(2, 3),
        learning_rate=0.1,
        hidden=(8,),
        reward="coins",
        eval_sampled=True,
        seed=4,
    )
    experiments.train.run(parser.parse_args(["--preset", "standard", "--total-steps", "100"]))
    chosen = asked.pop()
    assert (chosen.players, chosen.total_steps) == ((2, 3, 4, 5), 100)  # what is said goes before the preset
    for name in PRESETS:
        TrainConfig(folder="x", **PRESETS[name])
    with pytest.raises(ValueError, match="--preset cannot be changed"):
        experiments.train.run(parser.parse_args(["--resume", "runs/ppo-1", "--preset", "long"]))
    with pytest.raises(ValueError, match="--seed cannot be changed"):
        experiments.train.run(parser.parse_args(["--resume", "runs/ppo-1", "--seed", "3"]))
    assert not asked
    assert "%" not in parser.format_help().replace("100%", "")


def test_the_configuration_is_checked() -> None:
    for changes, message in (
        ({"total_steps": 0}, "total_steps is 0"),
        ({"activation": "sin"}, "activation is 'sin'"),
        ({"players": (6,)}, "num_players is 6"),
        ({"reward": "fame"}, "no reward 'fame'"),
    ):
        with pytest.raises(ValueError, match=message):
            TrainConfig(folder="x", **changes)  # type: ignore[arg-type]
    assert TrainConfig(folder="x", reward="shaped", gamma=0.9).reward_function() == Shaped(0.9)
    assert TrainConfig(folder="x", reward="coins").reward_function() == Coins()


def test_a_league_keeps_its_newest_snapshots(tmp_path: Path) -> None:
    policy = train(tiny(tmp_path / "run", total_steps=128, players=(2,), eval_games=0))
    league = League({"random": 1.0, "threshold": 0.0}, 3.0, 2, tmp_path)
    assert [weight for _, weight in league.pool()] == [1.0]
    assert league.describe() == "random"
    for name in ("a", "b", "c"):
        league.path(name).symlink_to(policy)
        league.add(name)
    assert league.snapshots == ["b", "c"]
    assert [weight for _, weight in league.pool()] == [1.0, 1.5, 1.5]
    assert [league.name(agent) for agent, _ in league.pool()] == ["random", "b", "c"]
    assert league.describe() == "random, 2 snapshots"
    gone = league.agent("a")  # who still plays its last games
    assert league.agent("a") is gone
    league.forget_all_but(["b"])
    assert league.agent("a") is not gone
    without = League({"random": 1.0}, 0.0, 5, tmp_path)
    without.add("a")
    assert without.snapshots == []


def test_a_learning_curve_drops_what_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    first = LearningCurve(path, 0)
    for steps in (10, 20, 30):
        first.write({"time/total_timesteps": steps, "rollout/win_share": steps / 100, "train/loss": 1.0}, {})
    first.close()
    again = LearningCurve(path, 20)
    again.write({"time/total_timesteps": 31}, {})
    again.close()
    assert [(row["steps"], row["win_share"]) for row in curve(tmp_path)] == [("10", "0.1"), ("20", "0.2"), ("31", "")]
