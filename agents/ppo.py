"""``PPOAgent``: a trained policy, by default the one that comes with this package.

A policy is data: a folder with ``policy.safetensors`` and ``policy.json``. Nothing in the folder is ever executed, and
neither Stable-Baselines3 nor the training code is needed: the JSON says how the network is built, what its inputs and
outputs are called, and where it comes from. ::

    {
      "format": "megaland-policy/1",
      "architecture": {"activation": "tanh", "sizes": [D, 256, 256, 40]},
      "features": {"version": 1, "names": ["self.present", ...]},
      "actions": ["PASS", "STAY", ...],
      "provenance": {...}
    }

The weights of layer i are ``layers.i.weight`` (outputs, inputs) and ``layers.i.bias`` (outputs,), float32.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import nn

from megaland_env import NUM_ACTIONS, Decisions, action_name
from megaland_env.observation import FEATURES, FEATURES_VERSION, encode

FORMAT = "megaland-policy/1"
WEIGHTS_FILE = "policy.safetensors"
DESCRIPTION_FILE = "policy.json"
CHAMPION = Path(__file__).parent / "checkpoints" / "champion"
"""The policy that comes with this package."""
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU}
ACTIONS = tuple(action_name(action) for action in range(NUM_ACTIONS))

Layer = tuple[torch.Tensor, torch.Tensor]
"""The weights (outputs, inputs) and the biases (outputs,) of a linear layer."""


class PolicyError(ValueError):
    """A folder that holds no policy, or one for other features or actions; the message says what is wrong."""


class PPOAgent:
    """A policy trained with PPO, read from a folder; by default the champion that comes with this package.

    It always chooses its most likely action, or draws its actions with the probabilities
    that it has learned, from the luck of the deciding seat. In either way it decides the same in any batch, up to the
    rounding of the matrix products, which may depend on how many rows there are.

    Args:
        path: the folder.
        greedy: whether always the most likely action is chosen.
        seed: of the luck when actions are drawn; another seed is another player.

    Attributes:
        provenance: where the policy comes from, as the training noted it.

    Raises:
        PolicyError: there is no such policy, it is damaged, or it is for other features or actions.
    """

    def __init__(self, path: str | Path = CHAMPION, greedy: bool = True, seed: int = 0) -> None:
        self.path = Path(path)
        self.greedy = greedy
        self.seed = seed
        self._network, self.provenance = load_policy(path)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """(M,) actions."""
        logits = np.where(decisions.legal, self.logits(decisions), -np.inf)
        actions: npt.NDArray[np.int64]
        if self.greedy:
            actions = logits.argmax(axis=1)
            return actions
        # The first action at which the running total passes a uniform part of the whole. What is illegal adds nothing
        # to the total, so it is never that one; and a number below 1 times the whole is always less than the whole.
        running = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64).cumsum(axis=1)
        luck = decisions.random(1, seed=self.seed)
        actions = (running > luck * running[:, -1:]).argmax(axis=1)
        return actions

    def logits(self, decisions: Decisions) -> npt.NDArray[np.float32]:
        """(M, 40) what the network says to each action, legal or not."""
        with torch.no_grad():
            logits: npt.NDArray[np.float32] = self._network(torch.from_numpy(encode(decisions))).numpy()
        return logits


# ------------------------------------------------------------------------------------------------- writing


def save_policy(path: str | Path, layers: Sequence[Layer], *, activation: str, provenance: Mapping[str, Any]) -> Path:
    """Write a policy to the folder ``path``, beside it first; a policy that is there already is replaced.

    Args:
        path: the folder; those above it are made if need be.
        layers: the linear layers, from the features to the 40 actions.
        activation: what stands between them, ``"tanh"`` or ``"relu"``.
        provenance: where the policy comes from, as ``json.dumps`` takes it.

    Raises:
        PolicyError: it could not be loaded again.
    """
    target = Path(path)
    sizes = [int(layers[0][0].shape[1]), *(int(weight.shape[0]) for weight, _ in layers)]
    description = {
        "format": FORMAT,
        "architecture": {"activation": activation, "sizes": sizes},
        "features": {"version": FEATURES_VERSION, "names": list(FEATURES)},
        "actions": list(ACTIONS),
        "provenance": dict(provenance),
    }
    tensors = {}
    for number, (weight, bias) in enumerate(layers):
        tensors[f"layers.{number}.weight"] = weight.detach().to("cpu", torch.float32).contiguous()
        tensors[f"layers.{number}.bias"] = bias.detach().to("cpu", torch.float32).contiguous()
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part"))
    try:
        safetensors.torch.save_file(tensors, beside / WEIGHTS_FILE)
        text = json.dumps(description, indent=1, allow_nan=False) + "\n"
        (beside / DESCRIPTION_FILE).write_text(text, encoding="utf-8")
        load_policy(beside)
        beside.chmod(0o755)  # temporary folders are private
        replace_folder(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return target


def replace_folder(new: Path, target: Path) -> None:
    """Rename a folder, after moving aside what may have the name; both are in the same place."""
    if not target.exists():
        os.rename(new, target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".old"))
    os.rename(target, aside / target.name)
    os.rename(new, target)
    shutil.rmtree(aside)


# ------------------------------------------------------------------------------------------------- reading


def load_policy(path: str | Path) -> tuple[nn.Sequential, dict[str, Any]]:
    """The network from the features to the actions, and the policy's provenance.

    Raises:
        PolicyError: as for ``PPOAgent``.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise PolicyError(f"there is no policy at {folder}; it is a folder with {DESCRIPTION_FILE} and {WEIGHTS_FILE}")
    try:
        description = json.loads(_read(folder / DESCRIPTION_FILE).decode("utf-8"))
        tensors = safetensors.torch.load(_read(folder / WEIGHTS_FILE))
        return _build(description, tensors), description["provenance"]
    except json.JSONDecodeError as error:
        raise PolicyError(f"the policy at {folder} is damaged: {DESCRIPTION_FILE} is not JSON: {error}") from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"the policy at {folder} is damaged: {DESCRIPTION_FILE} is not text: {error}") from error
    except SafetensorError as error:
        raise PolicyError(f"the policy at {folder} is damaged: {WEIGHTS_FILE} cannot be read: {error}") from error
    except PolicyError as error:
        raise PolicyError(f"the policy at {folder} cannot be used: {error}") from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise PolicyError(f"{file.name} cannot be read: {error.strerror}") from None


def _build(description: Any, tensors: Mapping[str, torch.Tensor]) -> nn.Sequential:
    """The network that the description describes, with the weights in it."""
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        found = description.get("format") if isinstance(description, dict) else description
        raise PolicyError(f"its format is {found!r}, and not {FORMAT!r}")
    keys = ("format", "architecture", "features", "actions", "provenance")
    missing = [key for key in keys if key not in description]
    if missing or not isinstance(description["provenance"], dict):
        raise PolicyError(f"{DESCRIPTION_FILE} lacks {', '.join(missing) or 'a provenance'}")
    _check_features(description["features"])
    _check_same("actions", description["actions"], ACTIONS)
    architecture = description["architecture"]
    activation = architecture.get("activation") if isinstance(architecture, dict) else None
    sizes = architecture.get("sizes") if isinstance(architecture, dict) else None
    if activation not in ACTIVATIONS:
        raise PolicyError(f"its activation is {activation!r}; it must be one of {', '.join(ACTIVATIONS)}")
    if not isinstance(sizes, list) or len(sizes) < 2 or not all(type(size) is int and size > 0 for size in sizes):
        raise PolicyError(f"the sizes of its layers are {sizes!r}; they must be at least two positive integers")
    if (sizes[0], sizes[-1]) != (len(FEATURES), NUM_ACTIONS):
        raise PolicyError(
            f"its layers lead from {sizes[0]} numbers to {sizes[-1]}; there are {len(FEATURES)} features and "
            f"{NUM_ACTIONS} actions"
        )
    expected: dict[str, tuple[int, ...]] = {}
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        expected[f"layers.{number}.weight"] = (outputs, inputs)
        expected[f"layers.{number}.bias"] = (outputs,)
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != expected:
        wrong = next(name for name in sorted({*found, *expected}) if found.get(name) != expected.get(name))
        raise PolicyError(
            f"{WEIGHTS_FILE}: {wrong} has the shape {found.get(wrong)}; by the description it is {expected.get(wrong)}"
        )
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32 or not bool(torch.isfinite(tensor).all()):
            raise PolicyError(f"{WEIGHTS_FILE}: {name} is not made of finite float32 numbers")
    modules: list[nn.Module] = []
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        linear = nn.Linear(
            inputs, outputs, device="meta"
        )  # without numbers of its own, which would take from torch's luck
        linear.weight = nn.Parameter(tensors[f"layers.{number}.weight"])
        linear.bias = nn.Parameter(tensors[f"layers.{number}.bias"])
        modules += [linear, ACTIVATIONS[activation]()]
    return nn.Sequential(*modules[:-1]).requires_grad_(False)


def _check_features(features: Any) -> None:
    if not isinstance(features, dict):
        raise PolicyError(f"its features are {features!r}")
    _check_same("features", features.get("names"), FEATURES)
    if features.get("version") != FEATURES_VERSION:
        raise PolicyError(
            f"it was trained on version {features.get('version')!r} of the features, and this is version "
            f"{FEATURES_VERSION}: the names are the same, but what they mean is not"
        )


def _check_same(what: str, trained: Any, here: Sequence[str]) -> None:
    """Whether the names a policy was trained with are those of this installation, in the same order."""
    if trained == list(here):
        return
    if not isinstance(trained, list):
        raise PolicyError(f"its {what} are {trained!r}; they must be a list of names")
    differences = []
    for missing, where in (
        ([name for name in here if name not in trained], "it does not know"),
        ([name for name in trained if name not in here], "here there is no"),
    ):
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            differences.append(f"{where} {', '.join(map(str, missing[:3]))}{more}")
    raise PolicyError(f"it was trained with other {what}: {'; '.join(differences) or 'they are in another order'}")
