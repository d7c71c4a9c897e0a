"""``PPOAgent``: a policy is data, and a folder that does not fit is refused with a reason."""

from __future__ import annotations

import json
import math
import os
import pickle
import random
import shutil
import struct
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

from megaland_agents.policy_file import DESCRIPTION_FILE, WEIGHTS_FILE, Layer, PolicyError, save_policy
from megaland_agents.ppo import CHAMPION, PPOAgent
from megaland_env import NUM_ACTIONS, MegalandConfig, MegalandGames
from megaland_env.agent import make_agent, random_legal
from megaland_env.checksums import CHECKSUMS_FILE, Checksums
from megaland_env.observation import FEATURES, FEATURES_VERSION, NUM_FEATURES, encode
from tests.support.threads import one_thread

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


@pytest.fixture
def unsealed(policy: Path) -> Path:
    """Remove the checksums, as in version 0.1, so that a change is found only by its effect."""
    (policy / CHECKSUMS_FILE).unlink()
    return policy


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


def in_a_new_process(script: str, **folders: Path) -> None:
    code = "\n".join([*(f"{name} = {str(path)!r}" for name, path in folders.items()), script])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_it_needs_no_training_library_and_takes_no_luck_from_torch(policy: Path) -> None:
    script = """
import sys, torch

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("stable_baselines3", "sb3_contrib", "gymnasium", "pettingzoo", "experiments"):
            raise ModuleNotFoundError(f"{name} is not installed here", name=name)

sys.meta_path.insert(0, Blocker())
try:
    import stable_baselines3
except ModuleNotFoundError:
    pass
else:
    raise AssertionError("it was not kept away")
before = torch.get_rng_state()
from megaland_env import MegalandGames
from megaland_env.agent import make_agent
games = MegalandGames(num_games=2)
games.reset(0)
for spec in (f"ppo:path={policy}", f"ppo:path={policy},greedy=False"):
    decisions = games.decisions()
    games.step(games.scatter(decisions, make_agent(spec).act(decisions)))
assert torch.equal(before, torch.get_rng_state())
"""
    in_a_new_process(script, policy=policy)


# --------------------------------------------------------------------------------------------------- writing


def test_a_policy_is_replaced_as_a_whole(policy: Path) -> None:
    save_policy(policy, layers(8), activation="relu", provenance={"steps": 6})
    assert PPOAgent(policy).provenance == {"steps": 6}
    assert [path.name for path in policy.parent.iterdir()] == ["policy"]  # nothing is left beside it
    assert sorted(path.name for path in policy.iterdir()) == [CHECKSUMS_FILE, DESCRIPTION_FILE, WEIGHTS_FILE]


@pytest.mark.parametrize("name", [DESCRIPTION_FILE, WEIGHTS_FILE])
def test_damage_that_leaves_a_policy_shows_in_its_checksums(policy: Path, tmp_path: Path, name: str) -> None:
    """Every saved policy has checksums; one of version 0.1 has none, and is read."""
    assert sorted(path.name for path in policy.iterdir()) == [CHECKSUMS_FILE, DESCRIPTION_FILE, WEIGHTS_FILE]
    assert PPOAgent(policy).provenance == {"steps": 5}
    Checksums(policy).verify_all()  # the format is that of all other folders
    old = shutil.copytree(policy, tmp_path / "old", ignore=shutil.ignore_patterns(CHECKSUMS_FILE))
    for folder, refuses in ((policy, True), (old, False)):
        content = (folder / name).read_bytes()
        if name == WEIGHTS_FILE:
            content = content[:-4] + bytes([content[-4] ^ 1]) + content[-3:]  # a weight, in its last bit
        (folder / name).write_bytes(content + b"\n" if name == DESCRIPTION_FILE else content)
        if refuses:
            refused(folder, f"{name} is damaged: it does not have the checksum in SHA256SUMS")
        else:
            PPOAgent(folder)


def test_checksums_that_lack_a_file_or_cannot_be_read(policy: Path) -> None:
    file = policy / CHECKSUMS_FILE
    file.write_bytes(b"\xff\n")
    refused(policy, "SHA256SUMS cannot be read: .*SHA256SUMS")
    for content in ("", f"{'0' * 64}  {WEIGHTS_FILE}\n"):
        file.write_text(content)
        refused(policy, f"{DESCRIPTION_FILE} is damaged: it does not have the checksum in SHA256SUMS")
    file.unlink()
    file.mkdir()
    refused(policy, "SHA256SUMS cannot be read: .*is not a regular file")


def test_the_champion_has_checksums() -> None:
    """The policy that comes with the package has right checksums of both of its files."""
    assert sorted(Checksums(CHAMPION)) == [DESCRIPTION_FILE, WEIGHTS_FILE]
    Checksums(CHAMPION).verify_all()


def test_a_policy_replaces_no_file(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(PolicyError, match="notes"):
        save_policy(file, layers(8), activation="relu", provenance={})
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]
    assert file.read_text() == "mine"


def test_what_could_not_be_loaded_is_not_written(tmp_path: Path) -> None:
    bad: list[tuple[list[Layer], str, dict[str, Any], type[Exception], str]] = [
        (layers(8)[:1], "tanh", {}, PolicyError, f"its network has {NUM_FEATURES} inputs and 8 outputs"),
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


def edit_weights(policy: Path, change: Callable[[dict[str, torch.Tensor]], Any]) -> None:
    tensors = safetensors.torch.load_file(policy / WEIGHTS_FILE)
    change(tensors)
    safetensors.torch.save_file(tensors, policy / WEIGHTS_FILE)


def edit_header(policy: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the header of the file of weights, and not the weights."""
    file = policy / WEIGHTS_FILE
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def refused(policy: Path, message: str) -> None:
    with pytest.raises(PolicyError, match=message) as refusal:
        PPOAgent(policy)
    assert str(policy) in str(refusal.value)
    assert len(str(refusal.value)) < 1000 + len(str(policy))


def test_parameters_without_meaning() -> None:
    for words, message in (("greedy=false", "greedy is 'false'"), ("seed=x", "seed is 'x'"), ("path=3", "path is 3")):
        with pytest.raises(ValueError, match=message):
            make_agent(f"ppo:{words}")


def test_no_policy_there(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere", "there is no policy at .*nowhere")
    refused(tmp_path, "policy.json cannot be read: No such file")
    file = tmp_path / "policy.json"
    file.write_text("{}")
    refused(file, "there is no policy at .*; it is a folder with")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    (tmp_path / DESCRIPTION_FILE).write_text('{"model_type": "other", "actions": ["LEFT", "RIGHT"]}')
    refused(tmp_path, "its format is None; it must be 'megaland-policy/1'")


@pytest.mark.usefixtures("unsealed")
def test_a_missing_file(policy: Path) -> None:
    (policy / WEIGHTS_FILE).unlink()
    refused(policy, "policy.safetensors cannot be read: No such file")


@pytest.mark.usefixtures("unsealed")
def test_links_to_nowhere(policy: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "gone")
    refused(link, "there is no policy at")
    ring = tmp_path / "ring"
    ring.symlink_to(ring)
    refused(ring, "there is no policy at")
    for name in (WEIGHTS_FILE, DESCRIPTION_FILE):  # the description is read first
        (policy / name).unlink()
        (policy / name).symlink_to(tmp_path / "gone")
        refused(policy, f"{name} cannot be read: No such file")
        (policy / name).unlink()
        (policy / name).mkdir()
        refused(policy, f"{name} cannot be read: .*{name} is not a regular file")


@pytest.mark.usefixtures("unsealed")
def test_who_names_the_run_is_told_where_its_policy_is(policy: Path, tmp_path: Path) -> None:
    shutil.copytree(policy, tmp_path / "run" / "policy")
    with pytest.raises(PolicyError, match=r"policy\.json cannot be read.*; the policy of that run is at .*run/policy"):
        PPOAgent(tmp_path / "run")


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize("left", [0, 7, 100, 5000, -1])
def test_cut_off_weights(policy: Path, left: int) -> None:
    file = policy / WEIGHTS_FILE
    file.write_bytes(file.read_bytes()[:left])
    refused(policy, "policy.safetensors is damaged")


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize("length", [0, 1, 50, 10**8 + 1, 2**63 - 1, 2**64 - 1])
def test_a_header_of_another_length(policy: Path, length: int) -> None:
    file = policy / WEIGHTS_FILE
    file.write_bytes(struct.pack("<Q", length) + file.read_bytes()[8:])
    refused(policy, "policy.safetensors is damaged")


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["layers.1.bias"].update(data_offsets=h["layers.0.bias"]["data_offsets"]),
        lambda h: h["layers.0.bias"].update(data_offsets=[-128, 0]),
        lambda h: h["layers.0.bias"].update(data_offsets=[128, 0]),
        lambda h: h["layers.0.bias"].update(data_offsets=[0, 2**62]),
        lambda h: h["layers.0.bias"].update(shape=[31]),
        lambda h: h["layers.0.bias"].update(shape=[2**40]),
        lambda h: h["layers.0.bias"].update(shape=[2**32, 2**32, 32]),  # 32 in 64 bits
        lambda h: h["layers.0.bias"].update(shape=[-32]),
        lambda h: h["layers.0.bias"].update(dtype="F64"),
        lambda h: h["layers.0.bias"].update(dtype="OBJECT"),
        lambda h: h["layers.0.bias"].pop("dtype"),
        lambda h: h.pop("layers.0.bias"),  # a gap in what follows
        lambda h: h.update(more={"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}),
    ],
)
def test_a_header_that_was_altered(policy: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    edit_header(policy, change)
    refused(policy, "policy.safetensors is damaged")


@pytest.mark.usefixtures("unsealed")
def test_more_behind_the_weights(policy: Path) -> None:
    with (policy / WEIGHTS_FILE).open("ab") as file:
        file.write(b"import os")
    refused(policy, "policy.safetensors is damaged")


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b'{"format": "megaland-policy/1", ', "is not JSON"),
        (b"\xff\xfe{}", "is not UTF-8 text"),
        (b"[" * 100_000, "is not JSON"),  # deeper than the reader can go
        (b'{"format": ' + b"9" * 5000 + b"}", "is not JSON"),  # more digits than Python reads
        (b"[1, 2]", r"policy\.json holds \[1, 2\]; it must hold an object"),
        (b'"megaland-policy/1"', "policy.json holds 'megaland-policy/1'; it must hold an object"),
        (b"null", "policy.json holds None; it must hold an object"),
        (b"NaN", "policy.json holds nan; it must hold an object"),
        (b"[" * 100 + b"]" * 100, "; it must hold an object"),
        (b"[" * 900 + b"]" * 900, "is not JSON .* nested more than 100 deep"),
        (b'["' + b"x" * 10**6 + b'"]', "; it must hold an object"),
    ],
)
def test_a_description_that_is_none(policy: Path, content: bytes, message: str) -> None:
    (policy / DESCRIPTION_FILE).write_bytes(content)
    refused(policy, f"policy.json is damaged: .*{message}")


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.update({"layers.1.weight": t["layers.1.weight"][:, :5].contiguous()}),
            r"layers.1.weight has the shape \(16, 5\); by policy.json it must be \(16, 32\)",
        ),
        (
            lambda t: t.update({"layers.0.weight": t["layers.0.weight"].T.contiguous()}),
            rf"layers.0.weight has the shape \({NUM_FEATURES}, 32\)",
        ),
        (
            lambda t: t.update({"layers.0.bias": t["layers.0.bias"].double()}),
            "dtype torch.float64; it must be",
        ),
        (
            lambda t: t.update({"layers.0.bias": t["layers.0.bias"].half()}),
            "dtype torch.float16; it must be",
        ),
        (
            lambda t: t.update({"layers.0.bias": t["layers.0.bias"].to(torch.int32)}),
            "dtype torch.int32; it must be",
        ),
        (lambda t: t["layers.0.bias"].fill_(float("inf")), "layers.0.bias has infinite or NaN values"),
        (lambda t: t["layers.2.weight"][3].fill_(float("nan")), "layers.2.weight has infinite or NaN values"),
        (lambda t: t.pop("layers.2.bias"), "policy.safetensors lacks layers.2.bias"),
        (lambda t: t.update(value=torch.zeros(3)), "policy.safetensors has 'value', which is not part of the network"),
        (lambda t: t.clear(), "policy.safetensors lacks layers.0.bias"),
    ],
)
def test_weights_that_do_not_fit(policy: Path, change: Callable[[dict[str, torch.Tensor]], Any], message: str) -> None:
    edit_weights(policy, change)
    refused(policy, message)


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.clear(), "its format is None"),
        (lambda d: d.update(format="megaland-policy/2"), "its format is 'megaland-policy/2'; it must be"),
        (lambda d: d.update(format=["megaland-policy/1"]), r"its format is \['megaland-policy/1'\]; it must be"),
        (lambda d: d.pop("actions"), "policy.json lacks actions"),
        (lambda d: d["actions"].reverse(), "other actions: they are in another order"),
        (lambda d: d["actions"].remove("JUMP"), "other actions: it lacks JUMP"),
        (lambda d: d["actions"].append("FLY"), "other actions: this version lacks FLY"),
        (lambda d: d["actions"].append("JUMP"), "other actions: some are there twice"),
        (lambda d: d.update(actions=40), "the names of its actions are 40"),
        (lambda d: d.update(actions=[["PASS"], {}]), "the names of its actions are"),
        (
            lambda d: d.update(actions=["x" * 10**6]),
            "it lacks PASS, STAY, LEAVE and 37 more; this version lacks xxx",
        ),
        (lambda d: d.pop("features"), "policy.json lacks features"),
        (lambda d: d["features"]["names"].pop(0), f"other features: it lacks {FEATURES[0]}"),
        (lambda d: d["features"]["names"].extend("abcd"), "this version lacks a, b, c and 1 more"),
        (lambda d: d["features"]["names"].sort(), "other features: they are in another order"),
        (lambda d: d["features"].update(names=7), "the names of its features are 7"),
        (
            lambda d: d["features"].update(version=0),
            f"version 0 of the features, and this is version {FEATURES_VERSION}",
        ),
        (lambda d: d["features"].pop("version"), "version None of the features"),
        (lambda d: d.update(features=[]), r"its features is \[\]; it must be an object"),
        (lambda d: d["architecture"].update(activation="eval"), "its activation is 'eval'"),
        (lambda d: d["architecture"].update(activation=["tanh"]), r"its activation is \['tanh'\]"),
        (lambda d: d["architecture"].update(sizes=[NUM_FEATURES]), "the sizes of its layers"),
        (lambda d: d["architecture"].update(sizes=[NUM_FEATURES, True, 16, 40]), "the sizes of its layers"),
        (lambda d: d["architecture"].update(sizes=[NUM_FEATURES, -32, 16, 40]), "the sizes of its layers"),
        (lambda d: d["architecture"].update(sizes=[NUM_FEATURES, *[1] * 10**6, 40]), "the sizes of its layers"),
        (lambda d: d["architecture"].update(sizes=[3, 32, 16, 40]), "its network has 3 inputs and 40 outputs"),
        (lambda d: d["architecture"]["sizes"].insert(1, 9), "layers.0.bias has the shape"),
        (lambda d: d.update(architecture=None), "its architecture is None; it must be an object"),
        (lambda d: d.update(provenance=3), "its provenance is 3; it must be an object"),
        (lambda d: d.pop("provenance"), "policy.json lacks provenance"),
    ],
)
def test_descriptions_that_do_not_fit(policy: Path, change: Callable[[dict[str, Any]], Any], message: str) -> None:
    edit(policy, change)
    refused(policy, message)


# --------------------------------------------------------------------------------------------------- what could do harm


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return (Path.touch, (self.file,))


@pytest.mark.usefixtures("unsealed")
def test_a_pickle_is_not_executed(policy: Path, tmp_path: Path) -> None:
    sprung, weights, description = tmp_path / "sprung", policy / WEIGHTS_FILE, policy / DESCRIPTION_FILE
    for protocol in (0, pickle.HIGHEST_PROTOCOL):  # the first is text
        pickle.loads(pickle.dumps(Trap(sprung), protocol))
        assert sprung.exists()  # it is a real trap
        sprung.unlink()

    for disguise in (
        lambda: torch.save({"layers.0.weight": Trap(sprung)}, weights),
        lambda: torch.save(Trap(sprung), weights, _use_new_zipfile_serialization=False),
        lambda: weights.write_bytes(pickle.dumps({"layers.0.weight": Trap(sprung)})),
    ):
        disguise()
        refused(policy, "policy.safetensors is damaged")
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        description.write_bytes(pickle.dumps(Trap(sprung), protocol))
        refused(policy, "policy.json is damaged")
    (policy / "policy.py").write_text(f"open({str(sprung)!r}, 'w')")
    (policy / "policy.pkl").write_bytes(pickle.dumps(Trap(sprung)))
    refused(policy, "policy.json is damaged")
    assert not sprung.exists()


@pytest.mark.usefixtures("unsealed")
def test_nothing_is_executed_and_no_memory_is_taken(policy: Path, tmp_path: Path) -> None:
    """A valid policy, pickles, files that claim to be huge or are, that never end, or never begin."""
    for name in ("pickle", "declared", "long", "endless", "pipe", "text"):
        shutil.copytree(policy, tmp_path / name)
    torch.save({"layers.0.weight": Trap(tmp_path / "sprung")}, tmp_path / "pickle" / WEIGHTS_FILE)

    sizes = [NUM_FEATURES, 2**33, 16, NUM_ACTIONS]  # 13 TB
    edit(tmp_path / "declared", lambda d: d["architecture"].update(sizes=sizes))
    header = {}
    begin = 0
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        for kind, shape in (("weight", [outputs, inputs]), ("bias", [outputs])):
            end = begin + 4 * math.prod(shape)
            header[f"layers.{number}.{kind}"] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
            begin = end
    text = json.dumps(header).encode()
    for name in ("declared", "long"):
        (tmp_path / name / WEIGHTS_FILE).write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(tmp_path / "long" / WEIGHTS_FILE, 2**36)  # a hole, which takes no room on the disk
    os.truncate(tmp_path / "text" / DESCRIPTION_FILE, 2**36)

    for name in ("endless", "pipe"):
        (tmp_path / name / WEIGHTS_FILE).unlink()
    (tmp_path / "endless" / WEIGHTS_FILE).symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe" / WEIGHTS_FILE)

    script = """
import resource, sys
from megaland_agents.policy_file import PolicyError
from megaland_agents.ppo import PPOAgent
from megaland_env import MegalandGames

games = MegalandGames(num_games=2)
games.reset(0)
PPOAgent(policy).act(games.decisions())  # whatever is imported or made only once
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
heard = []
sys.addaudithook(lambda event, arguments: heard.append(event))
PPOAgent(policy).act(games.decisions())
messages = {}
for name in ("pickle", "declared", "long", "endless", "pipe", "text"):
    try:
        PPOAgent(f"{folder}/{name}")
    except PolicyError as error:
        messages[name] = str(error)
events = set(heard)
assert "open" in events
harmful = {"exec", "compile", "import", "marshal.loads", "pickle.find_class", "os.system", "subprocess.Popen"}
assert not harmful & events, events
assert "policy.safetensors is damaged" in messages["pickle"]
assert "policy.safetensors is damaged" in messages["declared"]
assert "policy.safetensors has 68,719,476,736 bytes; it may have" in messages["long"]
assert "policy.safetensors is not a regular file" in messages["endless"]
assert "policy.safetensors is not a regular file" in messages["pipe"]
assert "policy.json has 68,719,476,736 bytes; it may have" in messages["text"]
taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert taken < 32 * 1024, f"{taken} KiB"
"""
    in_a_new_process(script, policy=policy, folder=tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.usefixtures("unsealed")
def test_bytes_that_were_changed_are_refused_or_harmless(policy: Path) -> None:
    """Changed bytes lead to a ``PolicyError``, or to an agent with finite weights."""
    numbers = random.Random(5)
    good = {name: (policy / name).read_bytes() for name in (DESCRIPTION_FILE, WEIGHTS_FILE)}
    outcomes = {True: 0, False: 0}
    for _ in range(300):
        for name, content in good.items():
            changed = bytearray(content)
            for _ in range(numbers.randrange(3)):
                changed[numbers.randrange(600)] = numbers.randrange(256)
            (policy / name).write_bytes(changed)
        try:
            weights = list(PPOAgent(policy)._network.parameters())
            assert all(bool(torch.isfinite(each).all()) for each in weights)
            outcomes[True] += 1
        except PolicyError:
            outcomes[False] += 1
    assert min(outcomes.values()) > 10


# ------------------------------------------------------------------------------------------- what may be replaced


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    assert PPOAgent(save_policy(tmp_path, layers(8), activation="relu", provenance={"steps": 6})).provenance


def made_of_somebody(kind: str, place: Path) -> Path:
    """Something with the name of the new policy, whose content must survive."""
    target = place / "mine"
    match kind:
        case "file":
            target.write_text("precious")
        case "folder":
            (target / "important").mkdir(parents=True)
            (target / "thesis.txt").write_text("precious")
        case "folder in a policy":
            save_policy(target, layers(8), activation="relu", provenance={})
            (target / "notes").mkdir()
        case "folder of a policy's name":
            (target / DESCRIPTION_FILE).mkdir(parents=True)
        case "link":
            (place / "real").mkdir()
            target.symlink_to(place / "real")
        case "link to nothing":
            target.symlink_to(place / "nowhere")
        case "pipe":
            os.mkfifo(target)
    return target


KINDS = ("file", "folder", "folder in a policy", "folder of a policy's name", "link", "link to nothing", "pipe")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_is_replaced(tmp_path: Path, kind: str) -> None:
    target = made_of_somebody(kind, tmp_path)
    before = sorted(map(str, tmp_path.rglob("*")))
    with pytest.raises(PolicyError, match=r"mine .*choose another name"):
        save_policy(target, layers(8), activation="relu", provenance={})
    assert sorted(map(str, tmp_path.rglob("*"))) == before


@pytest.mark.parametrize("path", ["", ".", "..", "sub/.."])
def test_a_folder_in_use_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError, match="give it a name"):
        save_policy(path, layers(8), activation="relu", provenance={})
    assert [entry.name for entry in tmp_path.iterdir()] == ["sub"]
