"""A training run that is killed at any moment and resumed ends as if nothing had happened."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

import megaland_env.checksums
import megaland_experiments.training.train
from megaland_experiments.strength.evaluate import evaluate
from megaland_experiments.training.checkpoints import checkpoints
from megaland_experiments.training.learning_curves import CurveFile
from megaland_experiments.training.train import Training, resume, train
from tests.experiments.test_train import same, tiny
from tests.support.places import ROOT
from tests.support.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)


class Killed(BaseException):
    """Stands for a kill; no cleanup may follow where it is raised."""


def files(folder: Path) -> set[str]:
    """Everything in the folder of a run, except the names of TensorBoard's files."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return {name for name in found if not name.startswith("tensorboard/")}


# --------------------------------------------------------------------------------------------------- at chosen moments


def test_killed_before_it_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was killed before its folder existed can be started again."""
    config = tiny(tmp_path / "run", total_steps=128, players=(2,), eval_games=0, opponents={"itself": 1.0})
    monkeypatch.setattr(megaland_env.checksums, "write_bytes", kill)
    with pytest.raises(Killed):
        train(config)
    monkeypatch.undo()
    assert not (tmp_path / "run").exists()
    train(config)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_killed_before_the_first_checkpoint_and_after_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also, a finished run that is resumed measures and writes nothing again."""

    def config(name: str) -> Any:
        changes = {"total_steps": 400, "players": (2,), "opponents": {"itself": 0.6, "snapshots": 0.4}}
        return tiny(tmp_path / name, anchor_every=128, anchor_games=2, eval_games=4, **changes)

    some_result = evaluate("random", "random", num_players=2, games=2)

    def killed_at_the_end(*_: Any, games: int, **__: Any) -> Any:
        return kill() if games == 4 else some_result

    monkeypatch.setattr(megaland_experiments.training.train, "evaluate", lambda *_, **__: some_result)
    monkeypatch.setattr(megaland_experiments.training.train, "write_curve", lambda *_: None)
    whole = train(config("whole"))
    curve = steps_and_shares(tmp_path / "whole")
    assert len({steps for steps, *_ in curve}) >= 3

    with monkeypatch.context() as patched:
        patched.setattr(Training, "save", kill)
        with pytest.raises(Killed):
            train(config("early"))
    assert steps_and_shares(tmp_path / "early")  # it had measured
    assert same(whole, resume(tmp_path / "early"))

    with monkeypatch.context() as patched:
        patched.setattr(megaland_experiments.training.train, "evaluate", killed_at_the_end)
        with pytest.raises(Killed):
            train(config("late"))
    assert (tmp_path / "late" / "policy").exists()

    for name in ("early", "late", "whole"):
        assert same(whole, resume(tmp_path / name))
        assert steps_and_shares(tmp_path / name) == curve
        assert files(tmp_path / name) == files(tmp_path / "whole")


def test_killed_while_old_checkpoints_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has the name of a checkpoint is complete."""
    config = tiny(tmp_path / "run", checkpoint_every=128, eval_games=0, players=(2,), opponents={"itself": 1.0})

    def half(path: Path, **_: Any) -> None:
        if path.parent.name == "checkpoints":
            next(file for file in path.rglob("*") if file.is_file()).unlink()
            raise Killed

    monkeypatch.setattr(shutil, "rmtree", half)
    with pytest.raises(Killed):
        train(config)
    monkeypatch.undo()
    saved = checkpoints(tmp_path / "run" / "checkpoints")
    assert len(saved) == 2
    for checkpoint in saved:
        assert sorted(path.name for path in checkpoint.iterdir()) == [
            "SHA256SUMS",
            "games.json",
            "model.pt",
            "state.json",
        ]
    assert list((tmp_path / "run" / "checkpoints").glob(".*.old"))
    resume(tmp_path / "run")
    assert not list((tmp_path / "run" / "checkpoints").glob(".*"))


def test_what_was_not_finished_is_removed(tmp_path: Path) -> None:
    run = train(tiny(tmp_path / "run", total_steps=128, players=(2,), eval_games=0)).parent
    kept = files(run)
    for name in (
        ".progress.csv.x1234561.part",
        ".policy.x1234562.part/policy.json",
        ".policy.x1234563.old/policy/policy.json",
        "league/.000000000256.x1234564.part/policy.safetensors",
        "checkpoints/.000000000256.x1234567.part/model.pt",
        "checkpoints/.000000000001.x1234567.old/state.json",
    ):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("x")
    resume(run)
    assert files(run) - {"league"} == kept - {"league"}


def test_a_row_that_was_not_finished_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("steps,share\n10,0.5\n20,0.25\n3")  # the rest of it was to be 0,0.75
    CurveFile(path, ("steps", "share"), 20).close()
    assert path.read_text() == "steps,share\n10,0.5\n20,0.25\n"
    for cut_off in ("steps,share\n10,0.5\n20,0.2", "steps,share\n10,0.5\n"):
        path.write_text(cut_off)
        CurveFile(path, ("steps", "share"), 20).close()
        assert path.read_text() == "steps,share\n10,0.5\n"
    for nothing in ("", "ste", "steps,share\n"):
        path.write_text(nothing)
        CurveFile(path, ("steps", "share"), 20).close()
        assert path.read_text() == "steps,share\n"


def kill(*_: Any, **__: Any) -> None:
    raise Killed


def steps_and_shares(run: Path) -> list[list[str]]:
    """The rows of the learning curve, without the two columns of seconds."""
    with (run / "anchors.csv").open(newline="") as file:
        return [[cell for name, cell in row.items() if "seconds" not in name] for row in csv.DictReader(file)]


# --------------------------------------------------------------------------------------------------- at random moments

STEPS = 24_000
KILLS = 5
WORDS = f"""--total-steps {STEPS} --players 2,4 --threads 1 --num-envs 64 --rollout 1024 --batch-size 256 --n-epochs 3
    --hidden 32,32 --snapshot-every 2500 --snapshots-kept 2 --opponents itself=0.5 snapshots=0.3 planner=0.2
    --checkpoint-every 2000 --anchor-every 5000 --anchor-games 20 --eval-games 10""".split()


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    with (folder / "output").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "megaland_experiments.cli", "train", *words],
            cwd=folder,  # so that both runs are called the same
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=output,
        )


def steps_of(run: Path) -> int:
    """The number of steps of a run, by the last row of its progress; 0 if there is none."""
    try:
        return int((run / "progress.csv").read_text().splitlines()[-1].partition(",")[0])
    except (OSError, ValueError, IndexError):  # it has not begun
        return 0


def being_written(folder: Path) -> bool:
    try:
        return any(name.endswith((".part", ".old")) for name in os.listdir(folder))
    except FileNotFoundError:
        return False


def wait_until(process: subprocess.Popen[bytes], moment: Callable[[], bool]) -> None:
    while not moment():
        assert process.poll() is None, f"it ended by itself, with {process.returncode}"
        time.sleep(0.002)


def numbers(tensors: Any) -> Any:
    """Tensors in lists and dicts, as bytes for comparison."""
    if isinstance(tensors, torch.Tensor):
        return str(tensors.dtype), tuple(tensors.shape), tensors.numpy().tobytes()
    if isinstance(tensors, dict):
        return {name: numbers(value) for name, value in tensors.items()}
    return [numbers(value) for value in tensors] if isinstance(tensors, (list, tuple)) else tensors


def without_seconds(content: Any) -> Any:
    """JSON without the entries that are durations."""
    if isinstance(content, dict):
        timed = ("second", "speed/")
        return {key: without_seconds(value) for key, value in content.items() if not any(word in key for word in timed)}
    return [without_seconds(value) for value in content] if isinstance(content, list) else content


def as_written(path: Path) -> Any:
    if path.name == "anchors.csv":
        return steps_and_shares(path.parent)
    if path.suffix == ".pt":
        return numbers(torch.load(path, weights_only=True))
    if path.suffix == ".json":
        return without_seconds(json.loads(path.read_text()))
    return path.read_bytes()


@pytest.mark.soak
def test_killed_five_times_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """To the bit: parameters, optimiser, games, curves, league and policies."""
    seed = int(os.environ.get("KILL_SEED", "") or random.randrange(10**6))
    print(f"to repeat it: KILL_SEED={seed}")
    luck = random.Random(seed)
    words = ["--folder", "run", "--seed", str(seed), *WORDS]

    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    began = time.perf_counter()
    assert started(undisturbed, *words).wait() == 0, (undisturbed / "output").read_text()
    whole = undisturbed / "run"
    took = time.perf_counter() - began
    update = took / len((whole / "progress.csv").read_text().splitlines())
    print(f"undisturbed: {took:.0f} s")

    run = disturbed / "run"
    process = started(disturbed, *words)
    try:
        for number in range(KILLS):
            steps = int(STEPS * 0.85 * (number + luck.random()) / KILLS)
            aim = luck.choice(["checkpoints", "checkpoints", "league", "anything"])
            wait_until(process, lambda steps=steps: steps_of(run) >= steps)  # type: ignore[misc]
            if aim == "anything":
                time.sleep(luck.random() * update)
            else:  # all of these are written long before a tenth of the run has gone by
                last = steps + STEPS // 10
                wait_until(process, lambda aim=aim, last=last: being_written(run / aim) or steps_of(run) > last)  # type: ignore[misc]
                time.sleep(luck.random() ** 2 * 0.05)
            process.kill()
            process.wait()
            hit = [folder for folder in ("checkpoints", "league", ".") if being_written(run / folder)]
            print(f"killed after {steps_of(run)} steps, aimed at {aim}, left unfinished in: {', '.join(hit) or '-'}")
            process = started(disturbed, "--resume", "run")
        assert process.wait() == 0, (disturbed / "output").read_text()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()

    assert files(run) == files(whole)
    for name in sorted(files(whole)):
        # The picture shows seconds, and they are in some of the files that the checksums are of.
        if (whole / name).is_file() and Path(name).name not in ("curve.png", "SHA256SUMS"):
            assert as_written(run / name) == as_written(whole / name), name
