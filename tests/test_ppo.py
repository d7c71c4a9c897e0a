"""``PPOAgent``: a policy is data, and a folder that does not fit is refused with a reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from agents.ppo import DESCRIPTION_FILE, WEIGHTS_FILE, Layer, PolicyError, PPOAgent, save_policy
from megaland_env import NUM_ACTIONS, MegalandConfig, MegalandGames
from megaland_env.agent import make_agent, random_legal
from megaland_env.observation import FEATURES, FEATURES_VERSION, NUM_FEATURES, encode
from tests.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)


def layers(*hidden: int, seed: int = 0, scale: float = 0.5) -> list[Layer]:
    generator = torch.Generator().manual_seed(seed)
    sizes = [NUM_FEATURES, *hidden, NUM_ACTIONS]
    return [
        (torch.randn(out, into, generator=generator) * scale, torch.randn(out, generator=generator) * scale)
        for into, out in pairwise(sizes)
    ]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return save_policy(tmp_path / "policy", layers(32, 16), activation="tanh", provenance={"steps": 5})


def some_games(players: int = 4, number: int = 60, steps: int = 40) -> MegalandGames:
    games = MegalandGames(MegalandConfig(num_players=players), number)
    games.reset(players)
    for _ in range(steps):
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions)))
    return games


# --------------------------------------------------------------------------------------------------- what it decides


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_it_is_the_network_that_was_saved(tmp_path: Path, activation: str) -> None:
    weights = layers(24, seed=3)
    path = save_policy(tmp_path / "deep" / "policy", weights, activation=activation, provenance={})
    decisions = some_games().decisions()
    x = torch.from_numpy(np.ascontiguousarray(encode(decisions)))
    hidden = getattr(torch, activation)(x @ weights[0][0].T + weights[0][1])
    expected = (hidden @ weights[1][0].T + weights[1][1]).numpy()
    agent = PPOAgent(path)
    assert agent.logits(decisions) == pytest.approx(expected, abs=1e-4)
    assert agent.provenance == {}


def test_saved_and_loaded_again_it_decides_the_same(policy: Path, tmp_path: Path) -> None:
    again = save_policy(tmp_path / "again", layers(32, 16), activation="tanh", provenance={"steps": 5})
    for greedy in (False, True):
        for players in (2, 5):
            decisions = some_games(players).decisions()
            one, other = PPOAgent(policy, greedy=greedy), PPOAgent(again, greedy=greedy)
            assert np.array_equal(one.act(decisions), other.act(decisions))


def test_it_is_legal_and_its_luck_is_that_of_the_seat(policy: Path) -> None:
    games = MegalandGames(MegalandConfig(num_players=3), 50)
    games.reset(0)
    agents = [PPOAgent(policy, greedy=False), PPOAgent(policy, greedy=False, seed=1), PPOAgent(policy)]
    differ = 0
    for _ in range(30):
        decisions = games.decisions()
        actions = [agent.act(decisions) for agent in agents]
        for answer in actions:
            assert answer.shape == (len(decisions),)
            assert decisions.legal[np.arange(len(decisions)), answer].all()
        some = np.arange(0, len(decisions), 3)
        assert np.array_equal(agents[0].act(decisions[some]), actions[0][some])
        differ += int((actions[0] != actions[1]).sum())
        games.step(games.scatter(decisions, actions[0]))
    assert differ > 100


def test_it_draws_by_its_probabilities(tmp_path: Path) -> None:
    bias = torch.zeros(NUM_ACTIONS)
    bias[1], bias[2] = np.log(0.25), np.log(0.75)  # STAY and LEAVE
    bias[3:] = 50.0  # whatever is not legal does not count
    path = save_policy(
        tmp_path / "policy", [(torch.zeros(NUM_ACTIONS, NUM_FEATURES), bias)], activation="relu", provenance={}
    )
    games = MegalandGames(num_games=2000)
    games.reset(0)
    actions = PPOAgent(path, greedy=False).act(games.decisions())
    assert np.bincount(actions, minlength=3)[1:] / actions.size == pytest.approx([0.25, 0.75], abs=0.02)
    assert (PPOAgent(path).act(games.decisions()) == 2).all()


def test_by_name(policy: Path) -> None:
    agent = make_agent(f"ppo:path={policy},greedy=False,seed=3")
    assert isinstance(agent, PPOAgent)
    assert (agent.path, agent.greedy, agent.seed) == (policy, False, 3)
    assert agent.provenance == {"steps": 5}


def test_it_needs_no_training_library_and_takes_no_luck_from_torch(policy: Path) -> None:
    script = f"""
import sys, torch
before = torch.get_rng_state()
from agents.ppo import PPOAgent
from megaland_env import MegalandGames
games = MegalandGames(num_games=2)
games.reset(0)
PPOAgent({str(policy)!r}).act(games.decisions())
assert torch.equal(before, torch.get_rng_state())
assert not any(name.split(".")[0] in ("stable_baselines3", "sb3_contrib", "gymnasium") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# --------------------------------------------------------------------------------------------------- writing


def test_a_policy_is_replaced_as_a_whole(policy: Path) -> None:
    save_policy(policy, layers(8), activation="relu", provenance={"steps": 6})
    assert PPOAgent(policy).provenance == {"steps": 6}
    assert [path.name for path in policy.parent.iterdir()] == ["policy"]  # nothing is left beside it
    assert sorted(path.name for path in policy.iterdir()) == [DESCRIPTION_FILE, WEIGHTS_FILE]


def test_what_could_not_be_loaded_is_not_written(tmp_path: Path) -> None:
    bad: list[tuple[list[Layer], str, dict[str, Any], type[Exception], str]] = [
        (layers(8)[:1], "tanh", {}, PolicyError, "layers lead from"),
        (layers(8), "sigmoid", {}, PolicyError, "activation is 'sigmoid'"),
        (layers(8, scale=float("nan")), "tanh", {}, PolicyError, "finite"),
        (layers(8), "tanh", {"loss": float("nan")}, ValueError, "JSON"),
    ]
    for weights, activation, provenance, error, message in bad:
        with pytest.raises(error, match=message):
            save_policy(tmp_path / "policy", weights, activation=activation, provenance=provenance)
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------------------------------- what does not fit


def edit(policy: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    file = policy / DESCRIPTION_FILE
    description = json.loads(file.read_text())
    change(description)
    file.write_text(json.dumps(description))


def refused(policy: Path, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        PPOAgent(policy)


def test_no_policy_there(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "there is no policy at .*nowhere")
    refused(tmp_path, "policy.json cannot be read")


def test_a_missing_file(policy: Path) -> None:
    (policy / WEIGHTS_FILE).unlink()
    refused(policy, "policy.safetensors cannot be read: No such file")


@pytest.mark.parametrize("left", [0, 7, 100, 5000])
def test_cut_off_weights(policy: Path, left: int) -> None:
    file = policy / WEIGHTS_FILE
    file.write_bytes(file.read_bytes()[:left])
    refused(policy, "damaged: policy.safetensors cannot be read")


def test_a_cut_off_description(policy: Path) -> None:
    file = policy / DESCRIPTION_FILE
    file.write_text(file.read_text()[:300])
    refused(policy, "damaged: policy.json is not JSON")
    file.write_bytes(b"\xff\xfe{}")
    refused(policy, "damaged: policy.json is not text")


def test_weights_of_another_shape(policy: Path) -> None:
    tensors = safetensors.torch.load_file(policy / WEIGHTS_FILE)
    tensors["layers.1.weight"] = tensors["layers.1.weight"][:, :5].contiguous()
    safetensors.torch.save_file(tensors, policy / WEIGHTS_FILE)
    refused(policy, r"layers.1.weight has the shape \(16, 5\); by the description it is \(16, 32\)")


def test_weights_that_are_not_numbers(policy: Path) -> None:
    tensors = safetensors.torch.load_file(policy / WEIGHTS_FILE)
    tensors["layers.0.bias"][3] = float("inf")
    safetensors.torch.save_file(tensors, policy / WEIGHTS_FILE)
    refused(policy, "layers.0.bias is not made of finite")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.clear(), "its format is None"),
        (lambda d: d.update(format="megaland-policy/2"), "its format is 'megaland-policy/2', and not"),
        (lambda d: d.pop("actions"), "lacks actions"),
        (lambda d: d["actions"].reverse(), "other actions: they are in another order"),
        (lambda d: d["actions"].remove("JUMP"), "other actions: it does not know JUMP"),
        (lambda d: d["actions"].append("FLY"), "other actions: here there is no FLY"),
        (lambda d: d["features"]["names"].pop(0), f"other features: it does not know {FEATURES[0]}"),
        (lambda d: d["features"]["names"].extend("abcd"), "here there is no a, b, c and 1 more"),
        (lambda d: d["features"].update(names=7), "its features are 7"),
        (
            lambda d: d["features"].update(version=0),
            f"version 0 of the features, and this is version {FEATURES_VERSION}",
        ),
        (lambda d: d.update(features=[]), r"its features are \[\]"),
        (lambda d: d["architecture"].update(activation="eval"), "its activation is 'eval'"),
        (lambda d: d["architecture"].update(sizes=[NUM_FEATURES]), "the sizes of its layers"),
        (lambda d: d["architecture"].update(sizes=[NUM_FEATURES, True, 16, 40]), "the sizes of its layers"),
        (lambda d: d["architecture"].update(sizes=[3, 32, 16, 40]), "layers lead from 3 numbers to 40"),
        (lambda d: d["architecture"]["sizes"].insert(1, 9), "layers.0.bias has the shape"),
        (lambda d: d.update(architecture=None), "its activation is None"),
        (lambda d: d.update(provenance=3), "lacks a provenance"),
    ],
)
def test_descriptions_that_do_not_fit(policy: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    edit(policy, change)
    refused(policy, message)


def test_a_pickle_is_not_executed(policy: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    torch.save({"layers.0.weight": Trap()}, policy / WEIGHTS_FILE)
    refused(policy, "policy.safetensors cannot be read")
    assert not (tmp_path / "sprung").exists()
