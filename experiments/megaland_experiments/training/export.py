"""``megaland export``: write a trained policy as an ONNX model, for programs without Python or this package.

The model takes decisions as this package encodes them, and answers as the agent ``ppo`` does. Inputs:

- ``observation`` (batch, D) float32: the features, in the order of the metadata;
- ``action_mask`` (batch, 40) bool: the legal actions, at least one in each row.

Outputs, of which a runtime computes only those that are requested:

- ``logits`` (batch, 40) float32: the network's logits, minus infinity for illegal actions;
- ``probabilities`` (batch, 40) float32: their softmax, to draw from as the agent does with ``greedy=False``;
- ``action`` (batch,) int64: the most likely legal action, which the agent takes by default.

Metadata: ``features_version``, and as JSON the lists of names ``features`` and ``actions``, and ``provenance``.
"""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from megaland_agents.policy_file import ACTIONS, load_policy
from megaland_env import NUM_ACTIONS
from megaland_env.files import write_bytes
from megaland_env.observation import FEATURES, FEATURES_VERSION, NUM_FEATURES
from megaland_experiments.shared.output import check_writable, going_on, say, versions

OPSET = 13
"""The operator set of 2020: it has all that is needed, and nearly every runtime knows it and the file format below."""
FILE_FORMAT = 7
NODES = {nn.Tanh: "Tanh", nn.ReLU: "Relu"}


def export_onnx(policy: str | Path, path: str | Path) -> Path:
    """Write the policy in the folder ``policy`` as an ONNX model to the file ``path``, whole or not at all.

    Returns:
        The file.

    Raises:
        PolicyError: as for ``PPOAgent``.
        OSError: the file cannot be written there.
    """
    target = Path(path)
    check_writable(target)
    model = onnx_model(*load_policy(policy))
    write_bytes(target, model.SerializeToString())
    return target


def onnx_model(network: nn.Sequential, provenance: dict[str, Any]) -> onnx.ModelProto:
    """Convert what ``load_policy`` returns to a model with the inputs and outputs above."""
    nodes, weights = [], [numpy_helper.from_array(np.array(-np.inf, np.float32), "not_legal")]
    last = "observation"
    for number, module in enumerate(network):
        value = f"layer_{number}"
        if isinstance(module, nn.Linear):
            names = [f"layers.{number // 2}.weight", f"layers.{number // 2}.bias"]  # as in the policy's own file
            for name, parameter in zip(names, (module.weight, module.bias), strict=True):
                weights.append(numpy_helper.from_array(parameter.detach().numpy(), name))
            nodes.append(helper.make_node("Gemm", [last, *names], [value], transB=1))
        else:
            nodes.append(helper.make_node(NODES[type(module)], [last], [value]))
        last = value
    nodes += [
        helper.make_node("Where", ["action_mask", last, "not_legal"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
        helper.make_node("ArgMax", ["logits"], ["action"], axis=1, keepdims=0),
    ]

    def tensor(name: str, kind: int, *sizes: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, ["batch", *sizes])

    graph = helper.make_graph(
        nodes,
        "policy",
        [
            tensor("observation", TensorProto.FLOAT, NUM_FEATURES),
            tensor("action_mask", TensorProto.BOOL, NUM_ACTIONS),
        ],
        [
            tensor("logits", TensorProto.FLOAT, NUM_ACTIONS),
            tensor("probabilities", TensorProto.FLOAT, NUM_ACTIONS),
            tensor("action", TensorProto.INT64),
        ],
        weights,
    )
    model = helper.make_model(
        graph,
        producer_name="megaland",
        producer_version=versions()["megaland"],
        doc_string="A policy for the board game Megaland. What is illegal by action_mask has probability 0.",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=FILE_FORMAT,
    )
    texts = {"features": list(FEATURES), "actions": list(ACTIONS), "provenance": provenance}
    metadata = {"features_version": str(FEATURES_VERSION), **{name: json.dumps(text) for name, text in texts.items()}}
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    return model


# ------------------------------------------------------------------------------------------------------ the command


def run(arguments: argparse.Namespace) -> int:
    """Write the model, and print its inputs and outputs."""
    command = shlex.join(["megaland", "export", arguments.policy, "--onnx", arguments.out])
    with going_on(f"to write it again: {command}"):
        written = export_onnx(arguments.policy, arguments.out)
    say(f"{written}: observation ({NUM_FEATURES} features, version {FEATURES_VERSION}) and action_mask in;")
    say(f"logits, probabilities and the most likely action out, for {NUM_ACTIONS} actions; names are in its metadata")
    return 0
