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
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the agent ppo", "train"):
    import safetensors.torch
    import torch
    from torch import nn

from megaland_agents.heuristics.base import check_seed
from megaland_agents.policy_format import ACTIVATION_NAMES, FORMAT
from megaland_env import NUM_ACTIONS, Decisions, action_name
from megaland_env.files import FileError, new_folder, parse_json, read_bytes
from megaland_env.observation import FEATURES, FEATURES_VERSION, encode
from megaland_env.outside_text import printable, quoted

WEIGHTS_FILE = "policy.safetensors"
DESCRIPTION_FILE = "policy.json"
CHAMPION = Path(__file__).parent / "checkpoints" / "champion"
"""The policy that comes with this package."""
ACTIVATIONS: dict[str, type[nn.Module]] = dict(zip(ACTIVATION_NAMES, (nn.Tanh, nn.ReLU), strict=True))
MOST_BYTES = {DESCRIPTION_FILE: 1 << 22, WEIGHTS_FILE: 1 << 28}
"""A larger file is not even read: no policy for a board game needs it, and it could fill the memory."""
MOST_SIZES = 100
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
        ValueError: ``greedy`` or ``seed`` has no meaning.
    """

    def __init__(self, path: str | Path = CHAMPION, greedy: bool = True, seed: int = 0) -> None:
        if not isinstance(greedy, bool):
            raise ValueError(f"greedy is {greedy!r}; it must be True or False")
        check_seed(seed)
        if not isinstance(path, (str, os.PathLike)):
            raise PolicyError(f"path is {path!r}; it must be the folder of a policy")
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
    """Write a policy to the folder ``path``, durably and as a whole; a policy that is there already is replaced.

    Args:
        path: the folder; those above it are made if need be.
        layers: the linear layers, from the features to the 40 actions.
        activation: what stands between them, ``"tanh"`` or ``"relu"``.
        provenance: where the policy comes from, as ``json.dumps`` takes it.

    Raises:
        PolicyError: it could not be loaded again.
        OSError: it cannot be written; ``filename`` says where.
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
    text = json.dumps(description, indent=1, allow_nan=False) + "\n"
    with new_folder(target) as temporary:
        # As bytes: the library's own writer says in its own way that the disk is full, and without the file's name.
        (temporary / WEIGHTS_FILE).write_bytes(safetensors.torch.save(tensors))
        (temporary / DESCRIPTION_FILE).write_text(text, encoding="utf-8")
        load_policy(temporary)
    return target


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
        description = _read_description(folder / DESCRIPTION_FILE)
        activation, sizes = _check_description(description)
        tensors = _read_weights(folder / WEIGHTS_FILE, sizes)
    except PolicyError as error:
        inside = folder / "policy"
        hint = f"; the policy of that run is at {inside}" if (inside / DESCRIPTION_FILE).exists() else ""
        raise PolicyError(f"the policy at {folder} cannot be used: {error}{hint}") from error.__cause__
    modules: list[nn.Module] = []
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        # Without numbers of its own, which would take from torch's luck.
        linear = nn.Linear(inputs, outputs, device="meta")
        linear.weight = nn.Parameter(tensors[f"layers.{number}.weight"])
        linear.bias = nn.Parameter(tensors[f"layers.{number}.bias"])
        modules += [linear, activation()]
    return nn.Sequential(*modules[:-1]).requires_grad_(False), description["provenance"]


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file, MOST_BYTES[file.name])
    except FileError as error:
        raise PolicyError(f"{file.name} cannot be read: {error}") from None
    except OSError as error:
        raise PolicyError(f"{file.name} cannot be read: {error.strerror}") from None


def _read_description(file: Path) -> dict[str, Any]:
    content = _read(file)
    try:
        description = parse_json(content.decode("utf-8"), file)
    except UnicodeDecodeError as error:
        raise PolicyError(f"{file.name} is damaged: it is not text: {error}") from None
    except FileError as error:
        raise PolicyError(f"{file.name} is damaged: {error}") from None
    if not isinstance(description, dict):
        raise PolicyError(f"{file.name} is damaged: it holds {quoted(description)}, and not an object")
    return description


def _read_weights(file: Path, sizes: Sequence[int]) -> dict[str, torch.Tensor]:
    """The weights and biases of layers of these sizes, and no others."""
    content = _read(file)
    try:
        tensors = safetensors.torch.load(content)
    except Exception as error:  # of a damaged header each version finds something else wrong, in its own way
        raise PolicyError(f"{file.name} is damaged: {printable(error, 200)}") from error
    expected: dict[str, tuple[int, ...]] = {}
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        expected[f"layers.{number}.weight"] = (outputs, inputs)
        expected[f"layers.{number}.bias"] = (outputs,)
    for name in sorted({*tensors, *expected}):
        if name not in tensors:
            raise PolicyError(f"{file.name} lacks {name}, which there is by {DESCRIPTION_FILE}")
        if name not in expected:
            raise PolicyError(f"{file.name} has {quoted(name)}, which there is not by {DESCRIPTION_FILE}")
        tensor = tensors[name]
        if tuple(tensor.shape) != expected[name]:
            raise PolicyError(
                f"{file.name}: {name} has the shape {tuple(tensor.shape)}; by {DESCRIPTION_FILE} it is {expected[name]}"
            )
        if tensor.dtype != torch.float32:
            raise PolicyError(f"{file.name}: {name} is made of {tensor.dtype}, and not of torch.float32")
        if not bool(torch.isfinite(tensor).all()):
            raise PolicyError(f"{file.name}: {name} is not made of finite numbers")
    return tensors


def _check_description(description: Mapping[str, Any]) -> tuple[type[nn.Module], list[int]]:
    """What stands between the layers, and their sizes, from the features to the actions."""
    if description.get("format") != FORMAT:
        raise PolicyError(f"its format is {quoted(description.get('format'))}, and not {FORMAT!r}")
    for key in ("architecture", "features", "actions", "provenance"):
        if key not in description:
            raise PolicyError(f"{DESCRIPTION_FILE} lacks {key}")
    for key in ("architecture", "features", "provenance"):
        if not isinstance(description[key], dict):
            raise PolicyError(f"its {key} is {quoted(description[key])}; it must be an object")
    features, architecture = description["features"], description["architecture"]
    _check_names("features", features.get("names"), FEATURES)
    if features.get("version") != FEATURES_VERSION:
        raise PolicyError(
            f"it was trained on version {quoted(features.get('version'))} of the features, and this is version "
            f"{FEATURES_VERSION}: the names are the same, but what they mean is not"
        )
    _check_names("actions", description["actions"], ACTIONS)
    activation, sizes = architecture.get("activation"), architecture.get("sizes")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise PolicyError(f"its activation is {quoted(activation)}; it must be one of {', '.join(ACTIVATIONS)}")
    if (
        not isinstance(sizes, list)
        or not 2 <= len(sizes) <= MOST_SIZES
        or not all(type(size) is int and size > 0 for size in sizes)
    ):
        raise PolicyError(f"the sizes of its layers are {quoted(sizes)}; they must be 2 to {MOST_SIZES} whole numbers")
    if (sizes[0], sizes[-1]) != (len(FEATURES), NUM_ACTIONS):
        raise PolicyError(
            f"its layers lead from {quoted(sizes[0])} numbers to {quoted(sizes[-1])}; there are {len(FEATURES)} "
            f"features and {NUM_ACTIONS} actions"
        )
    return ACTIVATIONS[activation], sizes


def _check_names(what: str, trained: Any, here: Sequence[str]) -> None:
    """Whether the names a policy was trained with are those of this installation, in the same order."""
    if trained == list(here):
        return
    if not isinstance(trained, list) or not all(isinstance(name, str) for name in trained):
        raise PolicyError(f"the names of its {what} are {quoted(trained)}; they must be a list of names")
    lost, new = set(here).difference(trained), set(trained).difference(here)
    differences = []
    for names, where in (
        ([name for name in here if name in lost], "it does not know"),
        ([name for name in trained if name in new], "here there is no"),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            differences.append(f"{where} {', '.join(printable(name, 80) for name in names[:3])}{more}")
    if not differences:
        differences = ["they are in another order" if len(trained) == len(here) else "some are there twice"]
    raise PolicyError(f"it was trained with other {what}: {'; '.join(differences)}")
