"""A folder that one run fills, and that the same command fills on after a stop; another run is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class FolderError(ValueError):
    """A folder that cannot hold what is to be written; the message says why."""


def check_free(path: Path, is_ours: Callable[[Path], bool], what: str) -> None:
    """Refuse a folder that holds something else.

    Args:
        path: the folder, which need not exist.
        is_ours: what a run that was stopped at its very beginning may have left.
        what: is to be there, such as ``"tournament"``.

    Raises:
        FolderError: it is a file, or holds something else.
    """
    if path.exists() and not path.is_dir():
        raise FolderError(f"{path} is not a folder")
    strangers = [entry.name for entry in path.glob("*") if not is_ours(entry)]
    if strangers:
        raise FolderError(f"{path} holds no {what}, but {min(strangers)}; name another folder")


def read_object(file: Path) -> dict[str, Any]:
    """What a JSON file of a run says; empty if it is no object.

    Raises:
        FolderError: it is damaged.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FolderError(f"{file} is damaged: {error}; delete the folder, or name another") from None
    return found if isinstance(found, dict) else {}


def check_same(path: Path, found: Mapping[str, Any], settings: Mapping[str, Any], what: str) -> None:
    """Refuse a folder of another run.

    Raises:
        FolderError: the settings found there differ; the message says which.
    """
    differences = [
        f"{key} is {json.dumps(found.get(key))} there and {json.dumps(settings.get(key))} here"
        for key in sorted({*found, *settings})
        if found.get(key) != settings.get(key)
    ]
    if differences:
        raise FolderError(f"{path} holds {what}: {'; '.join(differences)}; name another folder, or delete this one")
