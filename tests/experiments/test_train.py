"""``megaland train``: a tiny run from the beginning to the report, stopped and resumed."""

from __future__ import annotations

import csv
import json
import shutil
import signal
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from filelock import FileLock

import megaland_experiments.training.train
from megaland_agents.ppo import PPOAgent
from megaland_env import MegalandGames
from megaland_env.agent import make_agent
from megaland_env.checksums import Checksums
from megaland_env.rewards import Coins, Shaped
from megaland_env.seats.self_play import SelfPlay
from megaland_experiments.options import Parser
from megaland_experiments.shared.output import versions
from megaland_experiments.shared.run_folder import FolderError
from megaland_experiments.training.all_seats import AllSeatsPPO
from megaland_experiments.training.checkpoints import CheckpointError, checkpoints
from megaland_experiments.training.config import PRESETS, TrainConfig
from megaland_experiments.training.league import League
from megaland_experiments.training.learning_curves import UpdateRows, curve_figure, read_curve
from megaland_experiments.training.stopping import Stopped
from megaland_experiments.training.train import ANCHORS, PARTS, YARDSTICKS, Training, add_arguments, resume, train
from tests.support.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)


def tiny(folder: Path, **changes: Any) -> TrainConfig:
    config = TrainConfig(
        folder=str(folder),
        total_steps=640,
        players=(2, 3),
        threads=1,
        num_envs=16,
        rollout=128,
        batch_size=64,
        n_epochs=2,
        hidden=(16,),
        snapshot_every=128,
        snapshots_kept=2,
        opponents={"itself": 0.5, "snapshots": 0.3, "planner": 0.1, "random": 0.1},
        checkpoint_every=256,
        anchor_every=256,
        anchor_games=0,
        eval_games=6,
    )
    return replace(config, **changes)


def write_run(folder: Path, **changes: Any) -> None:
    """Write a folder that claims to hold a run, as someone else might."""
    settings = {**tiny(folder).to_dict(), **changes}
    del settings["folder"]
    content = {"format": "megaland-training", "version": versions()["megaland"], "settings": settings}
    Checksums(folder).write("config.json", json.dumps(content).encode())


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
    policy = train(tiny(folder, anchor_games=2))
    assert policy == folder / "policy"

    agent = make_agent(f"ppo:path={policy}")
    assert isinstance(agent, PPOAgent)
    assert agent.provenance["steps"] >= 640
    assert agent.provenance["config"]["players"] == [2, 3]
    assert len(agent.provenance["evaluations"]) == 8
    games = MegalandGames(num_games=4)
    games.reset(0)
    games.step(games.scatter(games.decisions(), agent.act(games.decisions())))

    report = json.loads((folder / "report.json").read_text())
    assert report["steps"] >= 640
    assert report["illegal_actions"] == 0
    assert tuple(report["seconds_by_part"]) == PARTS
    assert min(report["seconds_by_part"].values()) > 0
    learning = sum(seconds for part, seconds in report["seconds_by_part"].items() if part != "measuring")
    assert report["seconds"] == pytest.approx(learning)
    assert report["steps_per_second"] == pytest.approx(report["steps"] / learning)
    played = [(e["settings"]["config"]["num_players"], e["settings"]["opponents"][0]) for e in report["evaluations"]]
    assert played == [(players, name) for name in (*YARDSTICKS, "ppo") for players in (2, 3)]
    assert TrainConfig.from_dict(report["config"]) == tiny(folder, anchor_games=2)

    rows = curve(folder)
    steps = [int(row["steps"]) for row in rows]
    # Of the first roll-out the last decision of each seat (40 of them) waits for the next update.
    assert 80 <= steps[0] < 128
    assert all(128 <= later - earlier < 128 + 40 for earlier, later in pairwise(steps))
    assert steps[-2] < 640 <= steps[-1] == report["steps"]
    assert float(rows[-1]["policy_loss"]) != 0
    assert [path.name for path in checkpoints(folder / "checkpoints")][-1] == f"{steps[-1]:012d}"
    assert len(list((folder / "league").iterdir())) >= 2
    assert list((folder / "tensorboard").iterdir())

    strength = read_curve(folder)
    due = {after for before, after in pairwise([0, *steps]) if before // 256 < after // 256}
    assert sorted({row["steps"] for row in strength}) == sorted(due | {steps[-1]})
    assert {(row["players"], row["anchor"]) for row in strength} == set(product((2, 3), ANCHORS))
    assert all(row["low"] <= row["win_share"] <= row["high"] for row in strength)
    assert 0 < strength[-1]["cpu_seconds"] < 10 * strength[-1]["seconds"]
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")

    shown = capsys.readouterr().out
    assert f"{folder} begins" in shown.replace("\n", "")
    assert "total_steps 640, players 2,3, markets spread, seed 0" in shown
    assert "opponents itself=0.5 snapshots=0.3 planner=0.1 random=0.1" in shown.replace("\n", " ")
    assert "against 2 threshold" in shown
    assert f"ppo:path={policy}" in shown.replace("\n", "")
    assert "learned; 8 evaluations of 6 games follow" in shown


def test_stopped_and_resumed_it_ends_with_the_same_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = train(tiny(tmp_path / "whole", eval_games=0))
    assert same(whole, train(tiny(tmp_path / "again", eval_games=0)))  # a seed is a run
    assert not same(whole, train(tiny(tmp_path / "other", eval_games=0, seed=1)))

    begin = Training._on_rollout_end

    def stop(self: Training) -> None:  # after a checkpoint, before the update that follows
        begin(self)
        if self.model.num_timesteps > 512:
            raise KeyboardInterrupt

    monkeypatch.setattr(Training, "_on_rollout_end", stop)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(tmp_path / "stopped", eval_games=0))
    monkeypatch.undo()
    torch.manual_seed(99)  # a new process has other luck
    np.random.seed(99)  # noqa: NPY002
    stopped = resume(tmp_path / "stopped")
    assert same(whole, stopped)
    assert curve(tmp_path / "stopped") == curve(tmp_path / "whole")
    report = json.loads((tmp_path / "stopped" / "report.json").read_text())
    undisturbed = json.loads((tmp_path / "whole" / "report.json").read_text())
    assert report["steps"] == undisturbed["steps"]
    assert report["seats_played"] == undisturbed["seats_played"]

    assert same(whole, resume(tmp_path / "stopped"))  # a run that is over only reports again


def test_the_learning_rate_never_falls_below_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last update may learn from more decisions than requested, and so may the only one of a short run."""
    rates: list[float] = []
    update = AllSeatsPPO.train

    def noted(self: AllSeatsPPO) -> None:
        update(self)
        rates.append(self.policy.optimizer.param_groups[0]["lr"] / 2e-3)

    monkeypatch.setattr(AllSeatsPPO, "train", noted)
    train(tiny(tmp_path / "long", players=(2,), eval_games=0))
    assert rates[0] == 1
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 0.3
    rates.clear()
    train(tiny(tmp_path / "short", total_steps=10, players=(2,), eval_games=0))
    assert rates == [1]


def test_what_cannot_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FolderError, match=r"does not hold a training run: there is no config\.json"):
        resume(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"no agent 'chess'.* besides agents there are itself and snapshots"):
        train(tiny(tmp_path / "chess", opponents={"chess": 1.0}))
    assert not list(tmp_path.iterdir())
    write_run(tmp_path, colour=3)
    with pytest.raises(ValueError, match="no field 'colour'"):
        resume(tmp_path)


def test_only_one_process_trains_in_a_folder(tmp_path: Path) -> None:
    policy = train(tiny(tmp_path / "run", total_steps=128, players=(2,), eval_games=0))
    with FileLock(tmp_path / "run" / ".lock"), pytest.raises(FolderError, match="another process works in it"):
        resume(tmp_path / "run")
    assert same(policy, resume(tmp_path / "run"))


def test_a_run_begins_with_the_networks_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = tiny(tmp_path / "first", total_steps=256, eval_games=0)
    first_policy = train(first)
    still = replace(first, folder=str(tmp_path / "still"), warm_start=first.folder, learning_rate=0.0, seed=5)
    assert same(first_policy, train(still))

    then = replace(still, folder=str(tmp_path / "then"), learning_rate=1e-3)
    policy = train(then)
    assert not same(first_policy, policy)
    assert not same(policy, train(replace(then, folder=str(tmp_path / "anew"), warm_start="")))

    def stop(self: Training, model: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "save", stop)  # before the first checkpoint
    with pytest.raises(KeyboardInterrupt):
        train(replace(then, folder=str(tmp_path / "stopped")))
    monkeypatch.undo()
    assert "to go on from the beginning: megaland train --resume" in capsys.readouterr().err
    shutil.rmtree(first.folder)  # the run needs it no more
    assert same(policy, resume(tmp_path / "stopped"))


def test_which_run_another_cannot_begin_with(tmp_path: Path) -> None:
    first = train(tiny(tmp_path / "first", total_steps=128, players=(2,), eval_games=0)).parent
    folder = tmp_path / "run"
    for changes, message in (
        ({"warm_start": str(tmp_path)}, "does not hold a training run"),
        ({"warm_start": str(first), "hidden": (16, 16)}, r"hidden layers \(16,\) and relu.* not \(16, 16\)"),
        ({"warm_start": str(first), "activation": "tanh"}, "and not .* and tanh"),
    ):
        with pytest.raises(ValueError, match=message):
            train(tiny(folder, **changes))
    for saved in checkpoints(first / "checkpoints"):
        (saved / "model.pt").write_bytes(b"some other file")
    with pytest.raises(CheckpointError, match="cannot be used"):
        train(tiny(folder, warm_start=str(first)))
    shutil.rmtree(first / "checkpoints")
    with pytest.raises(CheckpointError, match="has no checkpoint"):
        train(tiny(folder, warm_start=str(first)))
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


# --------------------------------------------------------------------------------------------------- its parts


def test_options_are_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[TrainConfig] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(megaland_experiments.training.train, "train", asked.append)
    parser = Parser()
    add_arguments(parser)
    assert megaland_experiments.training.train.run(parser.parse_args([])) == 0
    assert asked.pop() == TrainConfig()
    words = "--folder runs/a --players 2,3 --learning-rate 0.1 --hidden 8 --reward coins --eval-sampled --seed 4"
    words += " --opponents itself=0.5 ppo:path=x,greedy=True=0.5"
    megaland_experiments.training.train.run(parser.parse_args(words.split()))
    assert asked.pop() == TrainConfig(
        folder="runs/a",
        players=(2, 3),
        learning_rate=0.1,
        hidden=(8,),
        reward="coins",
        eval_sampled=True,
        seed=4,
        opponents={"itself": 0.5, "ppo:path=x,greedy=True": 0.5},
    )
    for wrong in ("planner", "planner=much", "=0.5", "itself=1,planner=1"):
        with pytest.raises(ValueError, match="a name and a share"):
            megaland_experiments.training.train.run(parser.parse_args(["--opponents", wrong]))
    megaland_experiments.training.train.run(parser.parse_args(["--preset", "standard", "--total-steps", "100"]))
    chosen = asked.pop()
    assert (chosen.players, chosen.total_steps) == ((2, 3, 4, 5), 100)  # what is said goes before the preset
    for name in PRESETS:
        TrainConfig(folder="x", **PRESETS[name])
    with pytest.raises(ValueError, match="--preset cannot be changed"):
        megaland_experiments.training.train.run(parser.parse_args(["--resume", "runs/ppo-1", "--preset", "long"]))
    with pytest.raises(ValueError, match="--seed cannot be changed"):
        megaland_experiments.training.train.run(parser.parse_args(["--resume", "runs/ppo-1", "--seed", "3"]))
    assert not asked

    def stop(*_: Any) -> None:
        raise Stopped(signal.SIGTERM)

    for doing, command in (("train", []), ("resume", ["--resume", "runs/x"])):
        monkeypatch.setattr(megaland_experiments.training.train, doing, stop)
        assert megaland_experiments.training.train.run(parser.parse_args(command)) == 143
    assert "%" not in parser.format_help().replace("100%", "")


def test_the_configuration_is_checked() -> None:
    for changes, message in (
        ({"total_steps": 0}, "total_steps is 0"),
        ({"activation": "sin"}, "activation is 'sin'"),
        ({"players": (6,)}, "num_players is 6"),
        ({"reward": "fame"}, "no reward 'fame'"),
        ({"markets": ("fish",)}, "market"),
        ({"num_envs": 3}, "num_envs is 3; there are 4 kinds of table"),
        ({"opponents": {}}, "one must be above"),
        ({"opponents": {"itself": 0.0}}, "one must be above"),
        ({"opponents": {"itself": 1.0, "random": -1.0}}, "no share may be below 0"),
        ({"opponents": {"itself": float("inf")}}, "opponents are"),
        ({"gamma": 1.01}, "gamma is 1.01"),
        ({"gae_lambda": -0.1}, "gae_lambda is -0.1"),
        ({"clip_range": -0.2}, "clip_range is -0.2"),
        ({"seed": -1}, "seed is -1"),
        ({"eval_games": -1}, "eval_games is -1"),
        ({"hidden": (0,)}, "hidden is"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
    ):
        with pytest.raises(ValueError, match=message):
            TrainConfig(folder="x", **changes)  # type: ignore[arg-type]
    assert TrainConfig(folder="x", reward="shaped", gamma=0.9).reward_function() == Shaped(0.9)
    assert TrainConfig(folder="x", reward="coins").reward_function() == Coins()


def test_a_league_prefers_the_hard_and_drops_the_easy(tmp_path: Path) -> None:
    policy = train(tiny(tmp_path / "run", total_steps=128, players=(2,), anchor_games=0, eval_games=0))
    league = League({"itself": 1.0, "random": 1.0, "threshold": 0.0, "snapshots": 3.0}, 2, tmp_path)
    assert [weight for _, weight in league.pool()] == [1.0, 1.0]
    assert league.pool()[0][0] is SelfPlay.itself
    assert league.describe() == "itself, random"
    for name in ("a", "b", "c"):
        league.path(name).symlink_to(policy)
    league.add("a")
    league.add("b")
    assert [weight for _, weight in league.pool()] == [1.0, 1.0, 1.5, 1.5]
    assert [league.name(agent) for agent, _ in league.pool()] == ["itself", "random", "a", "b"]
    assert league.describe() == "itself, random, 2 snapshots"
    league.note(league.agent("random"), 50, 1.0)  # is no snapshot
    league.note(league.agent("a"), 10**6, 2 * 10**6)  # wins twice as often as the others at its tables
    assert league.strengths == {"a": 2.0, "b": 1.0}
    assert [weight for _, weight in league.pool()][2:] == pytest.approx([3 * 4 / 5, 3 * 1 / 5])
    gone = league.agent("b")  # who still plays its last games
    league.add("c")
    assert list(league.strengths) == ["a", "c"]
    assert league.agent("b") is gone
    league.note(gone, 10, 1.0)
    league.forget_all_but(["a"])
    assert league.agent("b") is not gone
    assert League({"snapshots": 1.0}, 5, tmp_path).pool() == [(SelfPlay.itself, 1.0)]  # as long as there are none
    without = League({"random": 1.0}, 5, tmp_path)
    without.add("a")
    assert without.strengths == {}


def test_strength_is_a_running_mean(tmp_path: Path) -> None:
    league = League({"snapshots": 1.0}, 2, tmp_path)
    league.add("a")
    league._agents["a"] = one = make_agent("random")
    league.note(one, 1000, 0.0)
    league.note(one, 1000, 0.0)
    assert league.strengths["a"] == pytest.approx(np.exp(-1))  # as after 2,000 at once


def test_files_that_grow_drop_what_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    first = UpdateRows(path, 0)
    for steps in (10, 20, 30):
        first.write({"time/total_timesteps": steps, "rollout/win_share": steps / 100, "train/loss": 1.0}, {})
    first.close()
    again = UpdateRows(path, 20)
    again.write({"time/total_timesteps": 31}, {})
    again.close()
    assert [(row["steps"], row["win_share"]) for row in curve(tmp_path)] == [("10", "0.1"), ("20", "0.2"), ("31", "")]


def test_a_picture_of_learning_curves() -> None:
    rows = [
        {"steps": steps, "cpu_seconds": steps / 100, "players": players, "anchor": anchor, "win_share": steps / 4e6}
        for steps in (0, 1e6, 2e6, 3e6)
        for players in (2, 4)
        for anchor in ANCHORS
    ]
    figure = curve_figure([("one", rows), ("two", rows), ("one", rows)])
    above, below = figure.axes[:2], figure.axes[2:]
    assert [axes.get_title() for axes in above] == ["2 players (par 50 %)", "4 players (par 25 %)"]
    lines = [line for line in above[1].lines if len(line.get_xdata()) == 3]
    assert len(lines) == 6
    assert len({line.get_color() for line in lines}) == 2
    assert list(lines[0].get_xdata()) == [1, 2, 3]  # the axis has logarithms, and no place for 0
    minutes = next(line for line in below[0].lines if len(line.get_xdata()) == 3)
    assert list(minutes.get_xdata()) == pytest.approx([1e4 / 60, 2e4 / 60, 3e4 / 60])
    assert list(minutes.get_ydata()) == [0.25, 0.5, 0.75]
    assert [text.get_text() for text in figure.legends[0].get_texts()][-2:] == ["one", "two"]


def test_runs_without_a_curve_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no learning curve"):
        read_curve(tmp_path)
