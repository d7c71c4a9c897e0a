"""``megaland train`` loses nothing: stopped, with a full disk, damaged files, or a policy that diverges."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import megaland_experiments.training.train
from megaland_agents.policy_file import load_policy
from megaland_agents.ppo import PPOAgent
from megaland_experiments import cli
from megaland_experiments.shared.output import versions
from megaland_experiments.shared.run_folder import FolderError
from megaland_experiments.strength.evaluate import evaluate
from megaland_experiments.training import learning_curves
from megaland_experiments.training.all_seats import AllSeatsPPO, DivergedError
from megaland_experiments.training.checkpoints import CheckpointError, checkpoints, last_networks
from megaland_experiments.training.config import TrainConfig
from megaland_experiments.training.event_file import TensorBoardFile
from megaland_experiments.training.learning_curves import curve_figure, read_curve
from megaland_experiments.training.stopping import Stopped, StopRequest
from megaland_experiments.training.train import Training, resume, start, train
from tests.experiments.test_resume_kill import Killed, steps_and_shares
from tests.experiments.test_train import same, tiny, write_run
from tests.support.places import ROOT
from tests.support.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)

WORDS = """--players 2 --num-envs 8 --rollout 64 --batch-size 32 --hidden 8 --anchor-games 0 --eval-games 0
    --checkpoint-every 128""".split()
MEASURED = ["--anchor-games", "2", "--eval-games", "2"]


def small(folder: Path, **changes: Any) -> TrainConfig:
    given = {"players": (2,), "opponents": {"itself": 0.6, "snapshots": 0.4}, "anchor_games": 2, "eval_games": 2}
    return tiny(folder, **given | changes)


def rows(run: Path) -> bytes:
    return (run / "progress.csv").read_bytes()


def as_if_never_stopped(run: Path, whole: Path) -> None:
    assert rows(run) == rows(whole)
    assert steps_and_shares(run) == steps_and_shares(whole)
    assert same(run / "policy", whole / "policy")
    here, there = (json.loads((folder / "report.json").read_text()) for folder in (run, whole))
    for name in ("steps", "seats_played", "illegal_actions"):
        assert here[name] == there[name]
    results = [[evaluation["results"] for evaluation in report["evaluations"]] for report in (here, there)]
    assert results[0] == results[1]


# ------------------------------------------------------------------------------------------ results before decoration


def test_a_run_shorter_than_an_interval_has_a_policy_and_a_curve(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert cli.main(["train", "--total-steps", "200", *WORDS, *MEASURED, "--out", str(run)]) == 0
    load_policy(run / "policy")
    assert {row["steps"] for row in read_curve(run)} == {json.loads((run / "report.json").read_text())["steps"]}
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_of_one_point_shows_it() -> None:
    row = {"steps": 1e6, "cpu_seconds": 60.0, "players": 2, "win_share": 0.5}
    figure = curve_figure([("one", [{**row, "anchor": anchor} for anchor in ("planner", "threshold")])])
    points = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 1]
    assert sorted(str(line.get_marker()) for line in points) == ["o", "s"]
    with pytest.raises(ValueError, match="no measurement"):
        curve_figure([("one", [])])


def test_pictures_and_tables_that_fail_are_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("no such colour")

    monkeypatch.setattr(megaland_experiments.training.train, "write_curve", fail)
    monkeypatch.setattr(megaland_experiments.training.train, "report_table", fail)
    monkeypatch.setattr(TensorBoardFile, "_put", lambda self, event: self._give_up(OSError(28, "No space left")))
    run = tmp_path / "run"
    assert cli.main(["train", "--total-steps", "200", *WORDS, *MEASURED, "--out", str(run)]) == 0
    warned = capsys.readouterr().err
    assert "warning: there is no curve.png: no such colour" in warned
    assert "warning: there is no table of the report: no such colour" in warned
    assert "nothing more is written for TensorBoard" in warned
    load_policy(run / "policy")
    assert json.loads((run / "report.json").read_text())["evaluations"]
    monkeypatch.undo()
    assert cli.main(["train", "--resume", str(run)]) == 0  # it is finished, and only the picture is drawn
    assert (run / "curve.png").exists()
    assert "is finished" in capsys.readouterr().out


def test_a_curve_that_was_not_measured_is_not_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(small(tmp_path / "run", total_steps=100, anchor_games=0))
    assert not (tmp_path / "run" / "curve.png").exists()
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------------------ stopping


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@contextmanager
def signal_in(monkeypatch: pytest.MonkeyPatch, where: str, number: int, after: int) -> Iterator[None]:
    """A signal in a roll-out, an update, a measurement or an evaluation, after some of them."""
    counted = iter(range(10**6))

    def sending(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if next(counted) == after:
                send(number)
            return original(*args, **kwargs)

        return call

    with monkeypatch.context() as patched:
        if where == "roll-out":
            patched.setattr(Training, "_on_step", sending(Training._on_step))
        elif where == "update":
            patched.setattr(AllSeatsPPO, "train", sending(AllSeatsPPO.train))
        else:
            patched.setattr(megaland_experiments.training.train, "evaluate", sending(evaluate))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run, measured twice (two evaluations each) and at the end; then eight evaluations."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    train(small(folder))
    return folder


@pytest.mark.parametrize(
    ("where", "number", "after"),
    [
        ("roll-out", signal.SIGINT, 3),
        ("roll-out", signal.SIGTERM, 18),
        ("update", signal.SIGINT, 2),
        ("update", signal.SIGTERM, 4),  # the last
        ("measuring", signal.SIGINT, 0),
        ("measuring", signal.SIGTERM, 1),
        ("measuring", signal.SIGINT, 5),  # at the end
        ("evaluating", signal.SIGINT, 6),
        ("evaluating", signal.SIGTERM, 8),
    ],
)
def test_stopped_it_goes_on_exactly(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    whole: Path,
    where: str,
    number: int,
    after: int,
) -> None:
    run = tmp_path / "run"
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with signal_in(monkeypatch, where, number, after), pytest.raises(Stopped) as stopped:
        train(small(run))
    assert stopped.value.signal_number == number
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers
    steps = int(rows(run).splitlines()[-1].partition(b",")[0])
    assert [path.name for path in checkpoints(run / "checkpoints")][-1] == f"{steps:012d}"  # nothing learned is lost
    assert f"to go on from the checkpoint at {steps:,} steps: megaland train --resume {run}" in capsys.readouterr().err
    torch.manual_seed(99)  # a new process has another state
    resume(run)
    as_if_never_stopped(run, whole)


def test_finished_evaluations_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path) -> None:
    run = tmp_path / "run"
    with signal_in(monkeypatch, "evaluating", signal.SIGINT, 9), pytest.raises(Stopped):
        train(small(run))
    kept = json.loads((run / "evaluations.json").read_text())["evaluations"]
    made: list[str] = []
    monkeypatch.setattr(
        megaland_experiments.training.train,
        "evaluate",
        lambda *args, **kwargs: (made.append(args[1]), evaluate(*args, **kwargs))[1],
    )
    resume(run)
    assert kept
    assert len(kept) + len(made) == 4
    assert not (run / "evaluations.json").exists()
    as_if_never_stopped(run, whole)


def test_the_second_signal_ends_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    step = Training._on_step

    def twice(self: Training) -> bool:
        send(signal.SIGINT)
        send(signal.SIGINT)
        raise AssertionError("it went on")

    monkeypatch.setattr(Training, "_on_step", twice)
    status = cli.main(["train", "--total-steps", "200", *WORDS, "--out", str(tmp_path / "run")])
    assert status == cli.INTERRUPTED
    said = capfd.readouterr().err
    assert "Ctrl-C again stops at once" in said
    assert "to go on from the beginning: megaland train --resume" in said
    monkeypatch.setattr(Training, "_on_step", step)
    assert cli.main(["train", "--resume", str(tmp_path / "run")]) == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_exit_status_is_that_of_the_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    with signal_in(monkeypatch, "roll-out", number, 5):
        assert cli.main(["train", "--total-steps", "200", *WORDS, "--out", str(tmp_path / "run")]) == status


def test_who_listens_to_signals() -> None:
    stop = StopRequest("stopping")
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as nohup does
    try:
        with stop.listening():
            send(signal.SIGTERM)
            stop.check()
    finally:
        signal.signal(signal.SIGTERM, before)
    failures: list[BaseException] = []

    def in_a_thread() -> None:
        try:
            with stop.listening():
                stop.check()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert not failures


# ------------------------------------------------------------------------------------------ intervals


def cheap(agent: PPOAgent, opponent: str, *, num_players: int, games: int, progress: Any) -> Any:
    """An evaluation that depends only on the policy and takes no time."""
    number = float(sum(float(parameter.abs().sum()) for parameter in agent._network.parameters()))
    progress(games, games)
    result = _some_evaluation()
    return replace(result, win_share=number, opponents=(opponent,), games=games)


def _some_evaluation() -> Any:
    if not _kept:
        _kept.append(evaluate("random", "random", num_players=2, games=2))
    return _kept[0]


_kept: list[Any] = []


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rollout=st.integers(1, 150),
    every=st.tuples(*[st.integers(1, 300)] * 3),
    stops=st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=3),
    total=st.integers(1, 500),
)
def test_whatever_the_intervals_it_goes_on_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    rollout: int,
    every: tuple[int, int, int],
    stops: list[tuple[int, bool]],
    total: int,
) -> None:
    """A run that is stopped or killed after some updates measures and learns as if it had not been."""
    folder = tmp_path_factory.mktemp("intervals")
    snapshot, checkpoint, anchor = every
    config = small(
        folder / "whole",
        total_steps=total,
        rollout=rollout,
        snapshot_every=snapshot,
        checkpoint_every=checkpoint,
        anchor_every=anchor,
        eval_games=0,
    )
    update = AllSeatsPPO.train
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(megaland_experiments.training.train, "evaluate", cheap)
        patched.setattr(megaland_experiments.training.train, "write_curve", lambda *_: None)
        train(config)
        disturbed = replace(config, folder=str(folder / "disturbed"))
        for after, gently in stops:
            counted = iter(range(10**6))

            def disturb(self: AllSeatsPPO, after: int = after, gently: bool = gently, counted: Any = counted) -> None:
                update(self)
                if next(counted) == after:
                    if not gently:
                        raise Killed
                    send(signal.SIGINT)

            with patched.context() as also:
                also.setattr(AllSeatsPPO, "train", disturb)
                try:
                    train(disturbed)
                except (Stopped, Killed):
                    continue
                break
        train(disturbed)
    assert rows(folder / "disturbed") == rows(folder / "whole")
    measured = steps_and_shares(folder / "disturbed")
    assert measured == steps_and_shares(folder / "whole")
    assert len({tuple(row[:3]) for row in measured}) == len(measured)
    assert same(folder / "disturbed" / "policy", folder / "whole" / "policy")


def test_intervals_shorter_than_a_roll_out_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(megaland_experiments.training.train, "evaluate", cheap)
    run = tmp_path / "run"
    train(small(run, rollout=64, anchor_every=40, snapshot_every=40, total_steps=600, eval_games=0))
    measured = [row[0] for row in steps_and_shares(run)]
    assert len(measured) == len(set(measured)) * 2  # two anchors
    steps = [int(row.partition(b",")[0]) for row in rows(run).splitlines()[1:]]
    due = {str(after) for before, after in pairwise([0, *steps]) if before // 40 < after // 40}
    assert set(measured) == due | {str(steps[-1])}
    (run / "report.json").unlink()
    resume(run)
    assert [row[0] for row in steps_and_shares(run)] == measured


# ------------------------------------------------------------------------------------------ damage


def stopped_run(run: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Path:
    with signal_in(monkeypatch, "update", signal.SIGINT, 3), pytest.raises(Stopped):
        train(small(run, opponents={"itself": 0.2, "snapshots": 0.8}, **changes))
    return run


def empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(b"")


def flip(folder: Path) -> None:
    """Change the last bit of a weight, which stays a finite number."""
    file = folder / "policy.safetensors"
    content = bytearray(file.read_bytes())
    content[-4] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [empty, shutil.rmtree, flip])
@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_damaged_league_snapshot_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], None],
    all_of_them: bool,
) -> None:
    run = stopped_run(tmp_path / "run", monkeypatch)
    state = json.loads((checkpoints(run / "checkpoints")[-1] / "state.json").read_text())
    newest = max(state["snapshots"])
    assert newest in state["seated"]
    lost = sorted({*state["snapshots"], *state["seated"]} - {"itself"}) if all_of_them else [newest]
    for name in lost:
        damage(run / "league" / name)
    resume(run)
    warned = capsys.readouterr().err
    rest = sorted(set(state["snapshots"]) - set(lost))
    whom = f"the snapshot {rest[-1]}" if rest else "the learner"
    for name in lost:
        assert f"the league snapshot {run / 'league' / name} is left out: the" in warned.replace("there is no", "the")
    assert f"its seats in the games that run go to {whom}" in warned
    assert json.loads((run / "report.json").read_text())["steps"] >= 640
    load_policy(run / "policy")


def damage_by(kind: str) -> Callable[[Path], None]:
    def do(checkpoint: Path) -> None:
        if kind == "emptied":
            empty(checkpoint)
        elif kind == "cut short":
            content = (checkpoint / "model.pt").read_bytes()
            (checkpoint / "model.pt").write_bytes(content[:1000])
        elif kind == "missing":
            (checkpoint / "games.json").unlink()
        else:  # one bit, which no parser would notice
            content = bytearray((checkpoint / kind).read_bytes())
            content[len(content) // 2] ^= 1
            (checkpoint / kind).write_bytes(content)

    return do


@pytest.mark.parametrize("kind", ["emptied", "cut short", "missing", "model.pt", "games.json", "state.json"])
def test_a_damaged_checkpoint_is_set_aside_for_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    config = small(tmp_path / "whole", opponents={"itself": 0.2, "snapshots": 0.8}, eval_games=0, anchor_games=0)
    train(config)
    run = stopped_run(tmp_path / "run", monkeypatch, eval_games=0, anchor_games=0)
    before, newest = checkpoints(run / "checkpoints")
    damage_by(kind)(newest)
    capsys.readouterr()
    resume(run)
    warned = capsys.readouterr().err
    assert f"the checkpoint {newest} cannot be used" in warned
    assert f"{newest} is kept as {newest.name}.damaged" in warned
    assert (newest.parent / f"{newest.name}.damaged").is_dir()
    assert before.name in warned or "goes on from the one before" in warned
    assert rows(run) == rows(tmp_path / "whole")
    assert same(run / "policy", tmp_path / "whole" / "policy")


def test_when_no_checkpoint_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped_run(tmp_path / "run", monkeypatch)
    first = last_networks(run)
    _, newest = checkpoints(run / "checkpoints")
    empty(newest)
    other = last_networks(run)
    assert any(not torch.equal(first[name], other[name]) for name in first)  # those of the one before
    for checkpoint in checkpoints(run / "checkpoints"):
        empty(checkpoint)
    with pytest.raises(CheckpointError, match=r"none of the checkpoints .* to begin again: megaland train"):
        resume(run)
    with pytest.raises(CheckpointError, match="cannot be used"):
        last_networks(run)
    assert len(checkpoints(run / "checkpoints")) == 2  # nothing was taken away


def test_a_run_that_had_checkpoints_is_not_begun_again(
    tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that had checkpoints is not started again, because its rows would be lost; its report is still shown."""
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    shutil.rmtree(run / "checkpoints")
    shutil.rmtree(run / "policy")
    capsys.readouterr()
    resume(run)
    shown = capsys.readouterr()
    assert "there is no policy" in shown.err
    assert "is finished; this is its report" in shown.out
    assert "the policy is at" not in shown.out
    (run / "report.json").unlink()
    before = rows(run)
    with pytest.raises(CheckpointError, match="none of the checkpoints"):
        resume(run)
    assert rows(run) == before


def test_rows_that_are_no_rows_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], whole: Path
) -> None:
    """Invalid rows are ignored: after a power loss the end of a growing file may be anything."""
    with signal_in(monkeypatch, "roll-out", signal.SIGINT, 18), pytest.raises(Stopped):
        train(small(tmp_path / "run"))
    for name in ("progress.csv", "anchors.csv"):
        with (tmp_path / "run" / name).open("ab") as file:
            file.write(b"\0\0\xff\n12,half a row\n\0\0\0")
    resume(tmp_path / "run")
    assert "progress.csv: 2 damaged rows are left out" in capsys.readouterr().err
    as_if_never_stopped(tmp_path / "run", whole)


# ------------------------------------------------------------------------------------------ the disk


def test_everything_is_synced_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[tuple[int, int]] = set()
    named: list[tuple[str, bool]] = []
    fsync, rename, replace_ = os.fsync, os.rename, os.replace

    def sync(handle: int) -> None:
        fsync(handle)
        status = os.fstat(handle)
        synced.add((status.st_dev, status.st_ino))

    def is_synced(path: Path) -> bool:
        inside = [path, *path.rglob("*")] if path.is_dir() else [path]
        return all((each.stat().st_dev, each.stat().st_ino) in synced for each in inside)

    def noting(original: Callable[..., None]) -> Callable[..., None]:
        def call(source: Any, target: Any, **kwargs: Any) -> None:
            name = Path(target)
            if not any(part.startswith(".") for part in name.relative_to(tmp_path).parts):
                named.append((str(name.relative_to(tmp_path)), is_synced(Path(source))))
                parents.append(name.parent)
                parent = name.parent.stat()
                synced.discard((parent.st_dev, parent.st_ino))  # it has a new entry
            original(source, target, **kwargs)

        return call

    parents: list[Path] = []
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", noting(rename))
    monkeypatch.setattr(os, "replace", noting(replace_))
    train(small(tmp_path / "run", total_steps=300))
    kinds = {Path(name).parts[1] for name, _ in named}
    assert {"config.json", "policy", "league", "checkpoints", "report.json", "progress.csv", "anchors.csv"} <= kinds
    assert [name for name, was_synced in named if not was_synced] == []
    for parent in parents:
        assert (parent.stat().st_dev, parent.stat().st_ino) in synced, parent


class Full:
    """A disk that is full when a file with some name is synced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
        fsync = os.fsync

        def full(handle: int) -> None:
            if part in os.readlink(f"/proc/self/fd/{handle}"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", full)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the names of open files")
@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("model.pt", "checkpoints/"),
        ("policy.safetensors", "policy"),
        ("progress.csv", "progress.csv"),
        ("anchors.csv", "anchors.csv"),
        ("report.json", "report.json"),
    ],
)
def test_a_full_disk_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    part: str,
    named: str,
) -> None:
    words = ["--total-steps", "300", *WORDS, "--seed", "3"]
    assert cli.main(["train", *words, "--out", str(tmp_path / "whole")]) == 0
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        Full(patched, part)
        assert cli.main(["train", *words, "--out", str(run)]) == cli.USAGE_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"megaland: error: {run}/{named}")
    assert line.endswith(f"No space left on device; to go on: megaland train --resume {run}")
    assert not [path for path in run.rglob(".*") if path.name != ".lock"]
    assert cli.main(["train", "--resume", str(run)]) == 0
    assert rows(run) == rows(tmp_path / "whole")
    assert same(run / "policy", tmp_path / "whole" / "policy")


def train_command(steps: int, out: str) -> list[str]:
    """The command in a separate process."""
    words = ["train", "--total-steps", str(steps), *WORDS, "--out", out]
    return [sys.executable, "-m", "megaland_experiments.cli", *words]


def test_a_row_that_does_not_fit_is_an_error_that_names_the_file(tmp_path: Path, capsys: Any) -> None:
    """In a separate process whose files may not be larger than a checkpoint."""
    run = tmp_path / "run"
    command = train_command(300, str(run))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert line.startswith(f"megaland: error: {run}/")
    assert f"File too large; to go on: megaland train --resume {run}" in line
    assert cli.main(["train", "--resume", str(run)]) == 0


def test_a_reader_who_leaves_ends_nothing(tmp_path: Path) -> None:
    """A reader that closes the pipe, as in ``megaland train | head``, does not end the run."""
    command = train_command(100, "run")
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert (tmp_path / "run" / "report.json").exists()


# ------------------------------------------------------------------------------------------ divergence


def test_a_learning_rate_of_ten_diverges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "train",
        "--total-steps",
        "2e3",
        *WORDS,
        "--hidden",
        "128,128",
        "--learning-rate",
        "10",
        "--out",
        str(tmp_path / "run"),
    ]
    assert cli.main(words) == cli.USAGE_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    assert "the policy has diverged at " in line
    assert "decisions" in line
    assert "Lower --learning-rate (10), --max-grad-norm (0.5) or --clip-range (0.2)" in line
    assert "--learning-rate 1.0" in line
    assert "not legal" not in line


@pytest.mark.parametrize("what", ["parameters", "loss", "answers", "values"])
def test_what_diverged_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    run = tmp_path / "run"
    update = AllSeatsPPO.train

    def ruin(self: AllSeatsPPO) -> None:
        update(self)
        if self.num_timesteps > 500:
            network = self.policy.value_net if what == "values" else self.policy.action_net
            with torch.no_grad():
                if what == "loss":
                    self.logger.record("train/value_loss", float("nan"))
                elif what == "parameters":
                    network.weight[0, 0] = float("nan")
                else:
                    network.weight *= 1e30

    with monkeypatch.context() as patched:
        patched.setattr(AllSeatsPPO, "train", ruin)
        with pytest.raises(DivergedError, match="the policy has diverged at 5") as error:
            train(small(run, checkpoint_every=128, eval_games=0))
    last = checkpoints(run / "checkpoints")[-1]
    assert int(last.name) < 500
    assert all(bool(torch.isfinite(tensor).all()) for tensor in last_networks(run).values())
    load_policy(run / "policy")
    command = str(error.value).partition("for example: ")[2]
    assert f"--warm-start {run} --learning-rate 0.0002" in command.replace("'", "") or "--warm-start" in command
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    assert cli.main(command.split()[1:]) == 0
    assert (tmp_path / "runs" / "ppo-1" / "policy").is_dir()


def test_no_action_is_drawn_from_what_is_not_finite(tmp_path: Path) -> None:
    model, training = megaland_experiments.training.train.start(small(tmp_path / "run"), tmp_path)
    asked = model.games.asked()
    with torch.no_grad():
        model.policy.action_net.bias[:] = float("nan")
    with pytest.raises(DivergedError, match="at 0 decisions"):
        model._choose(asked)
    with torch.no_grad():
        model.policy.action_net.bias[:] = torch.where(torch.from_numpy(asked.masks.any(axis=0)), -1e12, 1e12)
    with pytest.raises(DivergedError, match="illegal actions are not masked out"):
        model._choose(asked)
    assert training.league


# ------------------------------------------------------------------------------------------ who may be named


EVIL = """open('executed', 'w')

class Evil:
    def act(self, decisions):
        return decisions.legal.argmax(axis=1)
"""


@pytest.mark.parametrize("name", ["evil:Evil", "explorer:policy=evil:Evil", "evil:Evil:seed=1"])
def test_a_file_can_name_announced_agents_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil.py").write_text(EVIL)
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run", opponents={"itself": 0.5, name: 0.5})
    assert cli.main(["train", "--resume", "run"]) == cli.USAGE_ERROR
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--resume run --opponents itself=0.5 {name}=0.5" in line
    assert not (tmp_path / "executed").exists()
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_run_with_an_agent_of_ones_own_goes_on_when_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(EVIL.replace("Evil", "Mine").partition("\n")[2])
    typed = ["--opponents", "itself=0.5", "mine:Mine=0.5"]
    with signal_in(monkeypatch, "roll-out", signal.SIGINT, 12):
        assert cli.main(["train", "--total-steps", "300", *WORDS, *typed, "--out", "run"]) == 130
    command = capsys.readouterr().err.rpartition(": megaland ")[2].strip()
    assert command == "train --resume run --opponents itself=0.5 mine:Mine=0.5"
    assert cli.main(["train", "--resume", "run"]) == cli.USAGE_ERROR
    assert command in capsys.readouterr().err
    assert cli.main(["train", "--resume", "run", "--opponents", "mine:Mine=1"]) == cli.USAGE_ERROR
    assert "cannot be changed" in capsys.readouterr().err
    assert cli.main(command.split()) == 0
    load_policy(tmp_path / "run" / "policy")


def test_a_state_cannot_name_files_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped_run(tmp_path / "run", monkeypatch)
    for checkpoint in checkpoints(run / "checkpoints"):
        state = json.loads((checkpoint / "state.json").read_text())
        state["snapshots"] = {"../../policy": 1.0}
        (checkpoint / "state.json").write_text(json.dumps(state))
        (checkpoint / "SHA256SUMS").unlink()
        megaland_experiments.training.checkpoints.seal(checkpoint)
    with pytest.raises(CheckpointError, match="none of the checkpoints"):
        resume(run)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("next_snapshot", "abc"),
        ("next_checkpoint", 1.5),
        pytest.param("next_anchor", 10**400, id="next_anchor-huge"),
        ("illegal_actions", None),
        ("recent", "abc"),
        ("recent", [[1.0, 2.0]]),
        ("recent", [[1.0, 2.0, float("nan")]]),
        ("recent", 3),
        ("played", "3"),
        ("played", -1),
        ("played", True),
        ("seconds", []),
        ("seconds", {"engine": 1.0}),
        ("seconds", dict.fromkeys(megaland_experiments.training.train.PARTS, "abc")),
        ("cpu_seconds", None),
        ("cpu_seconds", float("inf")),
        ("logged", ["a"]),
        ("logged", {"a": []}),
    ],
)
def test_a_state_of_other_types_is_damaged(tmp_path: Path, whole: Path, key: str, value: Any) -> None:
    extra = json.loads((checkpoints(whole / "checkpoints")[-1] / "state.json").read_text())["extra"]
    model, training = start(small(tmp_path), tmp_path)
    training.resume(extra, model)
    kept = ("_next_snapshot", "_next_checkpoint", "_next_anchor", "_recent", "_played", "seconds", "_logged")
    before = {name: copy(vars(training)[name]) for name in kept}
    with pytest.raises(CheckpointError, match="damaged"):
        training.resume(extra | {key: value}, model)
    assert {name: vars(training)[name] for name in before} == before


@pytest.mark.parametrize(("key", "value"), [("steps", "12"), ("steps", -1), ("updates", 1.5), ("updates", True)])
def test_counters_of_other_types_are_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: Any
) -> None:
    run = stopped_run(tmp_path / "run", monkeypatch)
    for checkpoint in checkpoints(run / "checkpoints"):
        state = json.loads((checkpoint / "state.json").read_text())
        (checkpoint / "state.json").write_text(json.dumps(state | {key: value}))
        (checkpoint / "SHA256SUMS").unlink()
        megaland_experiments.training.checkpoints.seal(checkpoint)
    with pytest.raises(CheckpointError, match="none of the checkpoints"):
        resume(run)


# ------------------------------------------------------------------------------------------ which folder


def test_the_same_run_is_shown_and_another_gets_the_next_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["train", "--total-steps", "100", *WORDS]
    assert cli.main(words) == 0
    first = (tmp_path / "runs" / "ppo-1" / "report.json").stat().st_mtime_ns
    capsys.readouterr()
    assert cli.main(words) == 0
    assert "runs/ppo-1 is finished; this is its report" in capsys.readouterr().out
    assert (tmp_path / "runs" / "ppo-1" / "report.json").stat().st_mtime_ns == first
    assert cli.main([*words, "--seed", "1"]) == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["ppo-1", "ppo-2"]
    capsys.readouterr()
    assert cli.main([*words, "--seed", "2", "--folder", "runs/ppo-1"]) == cli.USAGE_ERROR
    refused = capsys.readouterr().err
    assert "seed is 0 there and 2 here" in refused
    assert "to go on with the run that is there: megaland train --resume runs/ppo-1" in refused


def test_a_run_that_was_stopped_goes_on_with_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Path
) -> None:
    with signal_in(monkeypatch, "roll-out", signal.SIGINT, 12), pytest.raises(Stopped):
        train(small(tmp_path / "run"))
    train(small(tmp_path / "run"))
    as_if_never_stopped(tmp_path / "run", whole)


def test_a_run_of_another_version_is_not_continued(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    settings = small(old).to_dict()
    settings["alike"] = settings.pop("same_opponent_share")
    (old / "config.json").write_text(json.dumps(settings))
    with pytest.raises(FolderError, match=f"which this version, {versions()['megaland']}, can read but not continue"):
        resume(old)
    assert TrainConfig.from_dict({**settings, "alike": 0.25}).same_opponent_share == 0.25


def test_the_policy_of_a_finished_run_is_made_again(tmp_path: Path, whole: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    shutil.rmtree(run / "policy")
    resume(run)
    as_if_never_stopped(run, whole)
    assert np.isfinite(json.loads((run / "report.json").read_text())["seconds"])


def test_the_command_that_draws_curves(tmp_path: Path, whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert learning_curves.main([f"one={whole}", "--out", str(tmp_path / "curve.png")]) == 0
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    shutil.copytree(whole, tmp_path / "empty")
    header, *_ = (whole / "anchors.csv").read_text().splitlines()
    (tmp_path / "empty" / "anchors.csv").write_text(f"{header}\n")
    for words, message in (
        ([f"one={tmp_path / 'nowhere'}"], "has no learning curve"),
        ([f"one={tmp_path / 'empty'}"], "nothing was measured in"),
        ([str(whole)], "must be of the form LABEL=RUN"),
        ([f"{label}={whole}" for label in "abcdefghi"], "there are 9 labels; a picture has colours for 8"),
    ):
        with pytest.raises(SystemExit):
            learning_curves.main([*words, "--out", str(tmp_path / "other.png")])
        assert message in capsys.readouterr().err
        assert not (tmp_path / "other.png").exists()
