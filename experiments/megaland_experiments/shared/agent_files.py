"""Checksums of the trained policies that agents read, since the same path with other weights is other work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from megaland_env.checksums import FolderError
from megaland_env.files import FileError, file_digest

_VALUE = re.compile(r"=\s*([^,=]+)")
_WEIGHTS = "*.safetensors"
_MOST_BYTES = 2**32


def check_policies(recorded: Mapping[str, str], agents: Iterable[object]) -> None:
    """Check that policies are still those that were recorded. Call it after the agents were made, in each process.

    Args:
        recorded: the checksum of each path, as ``policies_of`` returned them before.
        agents: the agents; those that are not given by name are passed over.

    Raises:
        FolderError: a policy was replaced since.
        OSError: a policy cannot be read.
    """
    if not recorded:
        return
    now = policies_of(agent for agent in agents if isinstance(agent, str)).get("policies", {})
    for path, checksum in recorded.items():
        if now.get(path) != checksum:
            raise FolderError(f"the policy {path} was replaced after the command had begun; give the command again")


def policies_of(agents: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return entries for the settings of some work: ``{"policies": {path: checksum}}``, or ``{}`` without policies.

    Nothing else that an agent depends on is covered, such as the code of ``package.module:Class``.

    Args:
        agents: names of agents, such as ``"ppo:path=runs/ppo-1/policy"``.

    Raises:
        FolderError: a file of a policy is no regular file of sane size.
        OSError: it cannot be read.
    """
    found = {}
    for agent in agents:
        for value in _VALUE.findall(agent):
            path = value.strip().strip("'\"")
            weights = sorted(Path(path).glob(_WEIGHTS)) if path and Path(path).is_dir() else []
            try:
                checksums = [file_digest(file, _MOST_BYTES) for file in weights]
            except FileError as error:
                raise FolderError(str(error)) from None
            if checksums:
                found[path] = " ".join(checksums)
    return {"policies": found} if found else {}
