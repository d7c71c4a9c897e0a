"""Checksums of the trained policies that agents read, since the same path with other weights is other work."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from megaland_env.checksums import FolderError
from megaland_env.files import FileError, file_digest

_VALUE = re.compile(r"=\s*([^,=]+)")
_WEIGHTS = "*.safetensors"
_MOST_BYTES = 2**32


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
