"""The files of a trained policy: their format, writing and reading.

A policy is a folder with ``policy.json``, which describes the network, and ``policy.safetensors``, which holds its
weights. Both are data: nothing in them is executed, and reading them needs neither Stable-Baselines3 nor the training
code. The description says how the network is built, what its inputs and outputs are called, and where it comes from::

    {
      "format": "megaland-policy/1",
      "architecture": {"activation": "tanh", "sizes": [D, 256, 256, 40]},
      "features": {"version": 1, "names": ["self.present", ...]},
      "actions": ["PASS", "STAY", ...],
      "provenance": {...}
    }

The weights of layer i are ``layers.i.weight`` (outputs, inputs) and ``layers.i.bias`` (outputs,), float32. The folder
also has ``SHA256SUMS``, the checksums of the two files in the format of the command ``sha256sum``. Policies that
version 0.1 wrote have none, and are read without.

PyTorch and safetensors are imported only when a policy is written or read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from megaland_env import NUM_ACTIONS, action_name
from megaland_env.checksums import CHECKSUMS_FILE, Checksums, FolderError, seal
from megaland_env.extras import needs
from megaland_env.files import FileError, digest, json_object, new_folder, read_bytes
from megaland_env.observation import FEATURES, FEATURES_VERSION
from megaland_env.outside_text import printable, quoted

if TYPE_CHECKING:
    import torch
    from torch import nn

FORMAT = "megaland-policy/1"
WEIGHTS_FILE = "policy.safetensors"
DESCRIPTION_FILE = "policy.json"
ACTIVATION_NAMES = ("tanh", "relu")
"""Activation functions that a policy may have between its layers."""
ACTIONS = tuple(action_name(action) for action in range(NUM_ACTIONS))
"""(40,) names of the actions, in the order of the network's outputs."""
MOST_BYTES = {DESCRIPTION_FILE: 1 << 22, WEIGHTS_FILE: 1 << 28}
"""Maximum size of each file in bytes. A larger file is not read: no policy needs it, and it could fill the memory."""
MOST_SIZES = 100
"""Maximum number of entries of ``sizes``."""

Layer: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"
"""The weights (outputs, inputs) and the biases (outputs,) of a linear layer."""


class PolicyError(ValueError):
    """Raised if a folder has no policy, or one that does not fit this version; the message says what is wrong."""


def activation_type(name: str) -> type[nn.Module]:
    """Return the PyTorch module of an activation function.

    Args:
        name: one of ``ACTIVATION_NAMES``.
    """
    from torch import nn

    return {"tanh": nn.Tanh, "relu": nn.ReLU}[name]


# ------------------------------------------------------------------------------------------------- writing


def save_policy(
    path: str | Path,
    layers: Sequence[Layer],
    *,
    activation: str,
    provenance: Mapping[str, Any],
) -> Path:
    """Write a policy to the folder ``path``, durably and as a whole; an existing policy is replaced.

    Args:
        path: the folder; missing parent folders are created.
        layers: the linear layers, from the features to the 40 actions.
        activation: the activation function between them, ``"tanh"`` or ``"relu"``.
        provenance: where the policy comes from; anything that ``json.dumps`` accepts.

    Returns:
        The folder.

    Raises:
        PolicyError: the policy could not be loaded again, or something that is not a policy has the name ``path``;
            nothing has changed.
        OSError: the folder cannot be written; ``filename`` says where.
    """
    import safetensors.torch
    import torch

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
    with _policy_folder(target) as temporary:
        # Not with the library's own writer: when the disk is full, its error is no OSError and names no file.
        (temporary / WEIGHTS_FILE).write_bytes(safetensors.torch.save(tensors))
        (temporary / DESCRIPTION_FILE).write_text(text, encoding="utf-8")
        seal(temporary)
        load_policy(temporary)
    return target


@contextmanager
def _policy_folder(target: Path) -> Iterator[Path]:
    """Fill a new folder; what has its name is replaced only if it is a policy, or empty."""
    try:
        with new_folder(target, (DESCRIPTION_FILE, WEIGHTS_FILE, CHECKSUMS_FILE)) as temporary:
            yield temporary
    except FileError as error:
        raise PolicyError(f"the policy cannot be saved: {error}") from None


# ------------------------------------------------------------------------------------------------- reading


def load_policy(path: str | Path) -> tuple[nn.Sequential, dict[str, Any]]:
    """Read a policy from a folder.

    Args:
        path: the folder.

    Returns:
        The network, from the features (M, D) to the logits of the actions (M, 40), both float32, and the provenance.

    Raises:
        PolicyError: there is no policy in the folder, it is damaged, or it has other features or actions.
    """
    with needs("a policy", "train"):
        from torch import nn

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
        # On the meta device no initial weights are drawn, so PyTorch's global random state does not change.
        linear = nn.Linear(inputs, outputs, device="meta")
        linear.weight = nn.Parameter(tensors[f"layers.{number}.weight"])
        linear.bias = nn.Parameter(tensors[f"layers.{number}.bias"])
        modules += [linear, activation_type(activation)()]
    return nn.Sequential(*modules[:-1]).requires_grad_(False), description["provenance"]


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file, MOST_BYTES[file.name])
    except FileError as error:
        raise PolicyError(f"{file.name} cannot be read: {error}") from None
    except OSError as error:
        raise PolicyError(f"{file.name} cannot be read: {error.strerror}") from None


def _read_checked(file: Path) -> bytes:
    """Read a file, and compare it with its checksum if the folder has checksums."""
    content = _read(file)
    try:
        checksums = Checksums(file.parent)
    except (FolderError, OSError) as error:
        raise PolicyError(f"{CHECKSUMS_FILE} cannot be read: {error}") from None
    if checksums.file.exists() and not checksums.agrees(file.name, digest(content)):
        raise PolicyError(f"{file.name} is damaged: it does not have the checksum in {CHECKSUMS_FILE}")
    return content


def _read_description(file: Path) -> dict[str, Any]:
    content = _read_checked(file)
    try:
        return json_object(content, file)
    except FileError as error:
        raise PolicyError(f"{file.name} is damaged: {error}") from None


def _read_weights(file: Path, sizes: Sequence[int]) -> dict[str, torch.Tensor]:
    """Read the weights and biases of layers of these sizes, and accept no others."""
    with needs("a policy", "train"):
        import safetensors.torch
        import torch

    content = _read_checked(file)
    try:
        tensors = safetensors.torch.load(content)
    except Exception as error:  # each version of the library reports a damaged header in its own way
        raise PolicyError(f"{file.name} is damaged: {printable(error, 200)}") from error
    expected: dict[str, tuple[int, ...]] = {}
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        expected[f"layers.{number}.weight"] = (outputs, inputs)
        expected[f"layers.{number}.bias"] = (outputs,)
    for name in sorted({*tensors, *expected}):
        if name not in tensors:
            raise PolicyError(f"{file.name} lacks {name}, which is part of the network in {DESCRIPTION_FILE}")
        if name not in expected:
            raise PolicyError(f"{file.name} has {quoted(name)}, which is not part of the network in {DESCRIPTION_FILE}")
        tensor = tensors[name]
        if tuple(tensor.shape) != expected[name]:
            raise PolicyError(
                f"{file.name}: {name} has the shape {tuple(tensor.shape)}; by {DESCRIPTION_FILE} it must be "
                f"{expected[name]}"
            )
        if tensor.dtype != torch.float32:
            raise PolicyError(f"{file.name}: {name} has the dtype {tensor.dtype}; it must be torch.float32")
        if not bool(torch.isfinite(tensor).all()):
            raise PolicyError(f"{file.name}: {name} has infinite or NaN values")
    return tensors


def _check_description(description: Mapping[str, Any]) -> tuple[str, list[int]]:
    """Return the name of the activation and the sizes of the layers, from the features to the actions."""
    if description.get("format") != FORMAT:
        raise PolicyError(f"its format is {quoted(description.get('format'))}; it must be {FORMAT!r}")
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
            f"{FEATURES_VERSION}: the features have the same names, but some have another meaning"
        )
    _check_names("actions", description["actions"], ACTIONS)
    activation, sizes = architecture.get("activation"), architecture.get("sizes")
    if not isinstance(activation, str) or activation not in ACTIVATION_NAMES:
        raise PolicyError(f"its activation is {quoted(activation)}; it must be one of {', '.join(ACTIVATION_NAMES)}")
    if (
        not isinstance(sizes, list)
        or not 2 <= len(sizes) <= MOST_SIZES
        or not all(type(size) is int and size > 0 for size in sizes)
    ):
        raise PolicyError(
            f"the sizes of its layers are {quoted(sizes)}; they must be 2 to {MOST_SIZES} positive integers"
        )
    if (sizes[0], sizes[-1]) != (len(FEATURES), NUM_ACTIONS):
        raise PolicyError(
            f"its network has {quoted(sizes[0])} inputs and {quoted(sizes[-1])} outputs; there are {len(FEATURES)} "
            f"features and {NUM_ACTIONS} actions"
        )
    return activation, sizes


def _check_names(what: str, trained: Any, here: Sequence[str]) -> None:
    """Check that a policy was trained with the names of this installation, in the same order."""
    if trained == list(here):
        return
    if not isinstance(trained, list) or not all(isinstance(name, str) for name in trained):
        raise PolicyError(f"the names of its {what} are {quoted(trained)}; they must be a list of names")
    lost, new = set(here).difference(trained), set(trained).difference(here)
    differences = []
    for names, where in (
        ([name for name in here if name in lost], "it lacks"),
        ([name for name in trained if name in new], "this version lacks"),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            differences.append(f"{where} {', '.join(printable(name, 80) for name in names[:3])}{more}")
    if not differences:
        differences = ["they are in another order" if len(trained) == len(here) else "some are there twice"]
    raise PolicyError(f"it was trained with other {what}: {'; '.join(differences)}")
