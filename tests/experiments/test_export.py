"""``megaland export``: ONNX runtime, without this package, makes the decisions of ``PPOAgent``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from megaland_agents.policy_file import ACTIONS, save_policy
from megaland_agents.ppo import PPOAgent
from megaland_env import NUM_ACTIONS, Decisions, MegalandConfig, MegalandGames
from megaland_env.agent import random_legal
from megaland_env.observation import FEATURES, FEATURES_VERSION, NUM_FEATURES, encode
from megaland_experiments import cli
from megaland_experiments.training.export import export_onnx
from tests.support.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)

PROVENANCE = {"steps": 7, "made by": "ein Test, geprüft"}


def a_policy(folder: Path, activation: str = "tanh", hidden: tuple[int, ...] = (48, 32)) -> Path:
    torch.manual_seed(4)
    linear = [torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise((NUM_FEATURES, *hidden, NUM_ACTIONS))]
    layers = [(layer.weight * 3, layer.bias) for layer in linear]  # with opinions
    return save_policy(folder / "policy", layers, activation=activation, provenance=PROVENANCE)


def session(model: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def decisions_of_random_games(players: int, games: int = 20, moments: int = 60) -> Iterator[Decisions]:
    batch = MegalandGames(MegalandConfig(players, market="random"), games)
    batch.reset(players)
    for _ in range(moments):
        decisions = batch.decisions()
        yield decisions
        batch.step(batch.scatter(decisions, random_legal(decisions)))


@pytest.mark.parametrize(("activation", "hidden"), [("tanh", (48, 32)), ("relu", (40,)), ("relu", ())])
def test_it_decides_as_the_agent_does(tmp_path: Path, activation: str, hidden: tuple[int, ...]) -> None:
    policy = a_policy(tmp_path, activation, hidden)
    model = session(export_onnx(policy, tmp_path / "policy.onnx"))
    greedy, kinds, rows, close = PPOAgent(policy, greedy=True), set(), 0, 0
    for players in (2, 3, 4, 5):
        for decisions in decisions_of_random_games(players):
            inputs = {"observation": encode(decisions), "action_mask": decisions.legal}
            logits, probabilities, actions = model.run(["logits", "probabilities", "action"], inputs)
            expected = greedy.logits(decisions)
            assert (logits.dtype, probabilities.dtype, actions.dtype) == (np.float32, np.float32, np.int64)
            masked = np.where(decisions.legal, expected, -np.inf)
            np.testing.assert_allclose(logits, masked, rtol=1e-5, atol=1e-5)
            first, second = np.sort(masked, axis=1)[:, :-3:-1].T
            clear = first - second > 1e-4  # elsewhere it is up to rounding
            assert np.array_equal(actions[clear], greedy.act(decisions)[clear])
            assert decisions.legal[np.arange(len(decisions)), actions].all()

            chances = np.where(decisions.legal, np.exp(expected, dtype=np.float64), 0)
            chances /= chances.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(probabilities, chances, atol=1e-5)
            assert (probabilities[~decisions.legal] == 0).all()
            kinds |= set(decisions.kind.tolist())
            rows += len(decisions)
            close += np.count_nonzero(~clear)
    assert rows > 2500
    assert close < rows / 500
    assert len(kinds) >= 5


def test_batches_of_any_size(tmp_path: Path) -> None:
    model = session(export_onnx(a_policy(tmp_path), tmp_path / "policy.onnx"))
    decisions = next(decisions_of_random_games(3))
    whole = model.run(["logits"], {"observation": encode(decisions), "action_mask": decisions.legal})[0]
    for row in range(5):
        one = decisions[np.array([row])]
        alone = model.run(["logits"], {"observation": encode(one), "action_mask": one.legal})[0]
        np.testing.assert_allclose(alone[0], whole[row], rtol=1e-5, atol=1e-5)


def test_what_it_says_of_itself(tmp_path: Path) -> None:
    path = export_onnx(a_policy(tmp_path), tmp_path / "policy.onnx")
    model = session(path)
    ports = [(port.name, port.shape, port.type) for port in (*model.get_inputs(), *model.get_outputs())]
    assert ports == [
        ("observation", ["batch", NUM_FEATURES], "tensor(float)"),
        ("action_mask", ["batch", NUM_ACTIONS], "tensor(bool)"),
        ("logits", ["batch", NUM_ACTIONS], "tensor(float)"),
        ("probabilities", ["batch", NUM_ACTIONS], "tensor(float)"),
        ("action", ["batch"], "tensor(int64)"),
    ]
    metadata = model.get_modelmeta().custom_metadata_map
    assert metadata["features_version"] == str(FEATURES_VERSION)
    assert json.loads(metadata["features"]) == list(FEATURES)
    assert json.loads(metadata["actions"]) == list(ACTIONS)
    assert json.loads(metadata["provenance"]) == PROVENANCE
    read = onnx.load(path)
    assert read.producer_name == "megaland"
    assert (read.ir_version, read.opset_import[0].version) == (7, 13)  # old, so that old runtimes take it


# --------------------------------------------------------------------------------------------------- the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, file = a_policy(tmp_path), tmp_path / "here.onnx"
    file.write_bytes(b"what was there")
    assert cli.main(["export", str(policy), "--out", str(file)]) == 0
    assert str(file) in capsys.readouterr().out
    assert len(session(file).get_outputs()) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.onnx", "policy"]


def test_what_cannot_be_exported_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, file = a_policy(tmp_path), tmp_path / "here.onnx"
    for words, message in (
        ([str(tmp_path / "nowhere"), "--onnx", str(file)], "there is no policy at"),
        ([str(tmp_path), "--onnx", str(file)], "policy.json cannot be read"),
        ([str(policy), "--onnx", str(tmp_path / "no" / "x.onnx")], "there is no folder"),
        ([str(policy), "--onnx", str(tmp_path)], "it is a folder"),
    ):
        assert cli.main(["export", *words]) == 2
        assert message in capsys.readouterr().err
    assert not file.exists()


def test_without_onnx_it_says_what_to_install(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["onnx"] = None  # as if it were not installed
from megaland_experiments import cli
sys.exit(cli.main(["export", "policy", "--onnx", {str(tmp_path / "x.onnx")!r}]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        'megaland: error: megaland export needs onnx, which is not installed: pip install -e ".[onnx]"\n'
    )
