"""The rule for folders that commands write, and the lock that keeps two processes apart.

The settings file of a folder says what the work is and which version of this package does it. The same work by the same
version continues with the files that are there. Otherwise a folder that the user named is refused, and a default folder
gets the next free name. Finished files are never overwritten. docs/folders.md explains this to users.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from megaland_env.checksums import AGAIN, CHECKSUMS_FILE, Checksums
from megaland_env.checksums import FolderError as FolderError
from megaland_env.files import REPLACED, TEMPORARY, FileError, digest, json_object, make_folder, read_bytes
from megaland_experiments.shared.output import json_bytes, versions

LOCK_FILE = ".lock"
MOST_BYTES_OF_SETTINGS = 2**26
FIRST_VERSION = "0.1.0"
"""The version of folders that do not name one. They have no checksums, and are only read."""


class FolderInUseError(FolderError):
    """Raised for a folder in which another process works."""


@dataclass(frozen=True)
class Kind:
    """A kind of folder.

    Attributes:
        name: the content of such a folder, such as ``"a tournament"``.
        file: name of its settings file.
        format: value of ``"format"`` in the settings file.
        beginnings: files and empty folders made before any result; the checksums of the files are in the list.
        written: patterns of the names, relative to the folder, of all other files that get a temporary name first.
        old_key: a key of the settings file in folders of ``FIRST_VERSION``, which may lack ``"format"``.
    """

    name: str
    file: str
    format: str
    beginnings: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    old_key: str | None = None


@dataclass(frozen=True)
class Work:
    """The work that is to be done in a folder.

    Attributes:
        kind: kind of the folder.
        settings: everything the results depend on, as JSON. Equal settings give equal results.
        facts: further entries of the settings file.
    """

    kind: Kind
    settings: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stored:
    """The settings file of a folder.

    Attributes:
        content: content of the file.
        version: version of the package that wrote it.
        is_old: whether ``FIRST_VERSION`` wrote it, without checksums and in the format of that version.
        checksums: checksums of the folder.
    """

    content: dict[str, Any]
    version: str
    is_old: bool
    checksums: Checksums

    @property
    def settings(self) -> dict[str, Any]:
        """Everything the results depend on."""
        settings: dict[str, Any] = self.content["settings"]
        return settings


@dataclass(frozen=True)
class RunFolder:
    """A folder that this process owns until the end of the ``with`` statement.

    Attributes:
        path: path of the folder.
        stored: its settings file.
        is_new: whether nothing of the work was there before.
        note: why it is not the default folder; empty otherwise.
    """

    path: Path
    stored: Stored
    is_new: bool
    note: str = ""

    @property
    def checksums(self) -> Checksums:
        """The checksums of its finished files, which also write such files."""
        return self.stored.checksums

    def has(self, name: str) -> bool:
        """Whether a file exists and is finished."""
        return name in self.checksums and (self.path / name).exists()


@contextmanager
def claim(
    work: Work,
    out: str | Path | None,
    default: str | Path | None = None,
    *,
    prepare: Callable[[Path, Checksums], None] | None = None,
) -> Iterator[RunFolder]:
    """Own a folder for some work. Callers check all arguments of the work first.

    Args:
        work: the work to be done there.
        out: the folder that the user named; None if none was named.
        default: the default folder; if it holds other work, the next name (``numbered``) that is free or has this work.
        prepare: called with the folder and its checksums; writes files that must exist before the settings file does.
            A folder in which it has not finished counts as empty.

    Raises:
        FolderInUseError: another process works in the folder.
        FolderError: the named folder holds something else, or a file in it is damaged.
        OSError: the folder cannot be made or written to.
    """
    in_use: list[Path] = []
    with ExitStack() as stack:
        while True:
            path, note = _choose(work, out, default, in_use)
            made = make_folder(path)
            try:
                stack.enter_context(_locked(path))
            except FolderInUseError:
                if out is not None or _has(path, work):
                    raise
                in_use.append(path)  # other work has begun there just now
                continue
            except BaseException:
                _remove_empty(made)
                raise
            try:
                same = _has(path, work)  # again: another process may have been faster
                break
            except FolderError:
                stack.close()
                if out is not None:
                    raise
        _remove_temporary(path, work.kind)
        if not same:
            _begin(path, work, prepare, made)
        stored = read_stored(path, work.kind)
        if same:
            stored.checksums.verify_all()
        yield RunFolder(path, stored, not same, note)


@contextmanager
def reopen(kind: Kind, path: str | Path) -> Iterator[RunFolder]:
    """Own a folder to continue the work that it holds.

    Raises:
        FolderInUseError: another process works in the folder.
        FolderError: the folder holds no such work, or work of another version, or a file in it is damaged.
        OSError: the folder cannot be written to.
    """
    folder = Path(path)
    _same_version(folder, kind)  # before a lock file is made in a folder of something else
    with _locked(folder):
        stored = _same_version(folder, kind)
        _remove_temporary(folder, kind)
        stored.checksums.verify_all()
        yield RunFolder(folder, stored, False)


def read_stored(path: str | Path, kind: Kind) -> Stored:
    """Read the settings file of a folder. No lock is needed.

    Raises:
        FolderError: the file is missing, damaged, or of something else.
        OSError: the file cannot be read.
    """
    folder = Path(path)
    file = folder / kind.file
    try:
        raw = _read(file)
    except FileNotFoundError:
        raise FolderError(f"{folder} does not hold {kind.name}: there is no {kind.file} in it") from None
    except NotADirectoryError:
        raise FolderError(f"{folder} is not a folder") from None
    content = parse_object(raw, file)
    version, said = content.get("version"), content.get("format")
    if version is None and (said is None or str(said).partition("/")[0] == kind.format) and kind.old_key in content:
        return Stored(content, FIRST_VERSION, True, Checksums(folder))
    if said != kind.format:
        raise FolderError(f"{folder} does not hold {kind.name}, but a {kind.file} of something else")
    checksums = Checksums(folder)
    checksums.compare(kind.file, digest(raw), "delete the folder, or name another")
    if not isinstance(version, str) or not isinstance(content.get("settings"), dict):
        raise FolderError(f"{file} is damaged: it does not have the version and the settings")
    return Stored(content, version, False, checksums)


def read_object(file: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        FolderError: the file is damaged, or does not hold an object.
        OSError: the file cannot be read.
    """
    return parse_object(_read(file), file)


def parse_object(content: bytes, file: Path) -> dict[str, Any]:
    """Parse the JSON object that a file holds.

    Raises:
        FolderError: the file is damaged, or does not hold an object.
    """
    try:
        return json_object(content, file)
    except FileError as error:
        raise FolderError(f"{file} is damaged: {error}") from None


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file, MOST_BYTES_OF_SETTINGS)
    except FileError as error:
        raise FolderError(f"{file} is damaged: {error}") from None


def warn_if_old(path: Path, stored: Stored) -> None:
    """Warn of a folder whose files have no checksums."""
    if stored.is_old:
        message = f"{path} was written by version {FIRST_VERSION}, without checksums: damage may remain unnoticed"
        warnings.warn(message, stacklevel=3)


def numbered(default: str | Path, number: int) -> Path:
    """Number a default folder: ``runs/tournament``, ``runs/tournament-2``, ...; ``runs/ppo-2`` follows ``ppo-1``."""
    path = Path(default)
    return path if number == 1 else path.with_name(f"{path.name.removesuffix('-1')}-{number}")


# ------------------------------------------------------------------------------------------------------ the rule

_OTHERWISE = "name another folder, or delete this one"


def _choose(work: Work, out: str | Path | None, default: str | Path | None, in_use: Sequence[Path]) -> tuple[Path, str]:
    """Choose the folder for some work; return it, and why it is not the default one."""
    if out is not None:
        if not os.fspath(out):
            raise FolderError("the name of the folder is empty")
        _has(Path(out), work)
        return Path(out), ""
    if default is None:
        raise TypeError("neither a folder nor a default is given")
    blocked = _blocked(Path(default).parent)
    if blocked:  # another number would not help
        raise FolderError(f"{blocked}; {default} cannot be made")
    taken: list[str] = []
    free: Path | None = None
    for number in count(1):
        path = numbered(default, number)
        if path in in_use:
            taken.append(f"{path} is in use")
            continue
        try:
            if _has(path, work):
                free = path
                break
        except FolderError as error:
            taken.append(str(error).removesuffix(f"; {_OTHERWISE}"))
            continue
        free = free or path
        if not os.path.lexists(path):  # numbers are taken in turn
            break
    assert free is not None
    return free, f"{taken[0]}; so this goes to {free}" if taken and free != Path(default) else ""


def _has(path: Path, work: Work) -> bool:
    """Whether a folder holds the same work; False if nothing in it is finished.

    Raises:
        FolderError: the folder holds something else.
    """
    kind = work.kind
    blocked = _blocked(path)
    if blocked:
        raise FolderError(blocked if blocked.startswith(f"{path} ") else f"{blocked}; {path} cannot be made")
    strangers = _strangers(path, kind)
    if not os.path.lexists(path / kind.file):
        if not strangers:
            return False
        stranger = min(strangers, key=lambda name: (name == CHECKSUMS_FILE, name))
        raise FolderError(f"{path} does not hold {kind.name}, but {stranger}; name another folder")
    stored = read_stored(path, kind)
    difference = _other_version(stored) or _other_settings(stored, work.settings)
    if not difference:
        return True
    if not strangers and not stored.is_old:
        return False  # other work was begun, but nothing of it is finished that could be lost
    raise FolderError(f"{path} holds {kind.name} {difference}; {_OTHERWISE}")


def _same_version(path: Path, kind: Kind) -> Stored:
    stored = read_stored(path, kind)
    difference = _other_version(stored)
    if difference:
        raise FolderError(f"{path} holds {kind.name} {difference}; {_OTHERWISE}")
    return stored


def _other_version(stored: Stored) -> str:
    here = versions()["megaland"]
    if stored.is_old:
        return f"of version {FIRST_VERSION}, which this version, {here}, can read but not continue"
    return "" if stored.version == here else f"of version {stored.version}, and this is version {here}"


def _other_settings(stored: Stored, settings: Mapping[str, Any]) -> str:
    found, wanted = stored.settings, json.loads(json.dumps(settings))
    differences = [
        f"{key} is {json.dumps(found.get(key))} there and {json.dumps(wanted.get(key))} here"
        for key in sorted({*found, *wanted})
        if found.get(key) != wanted.get(key)
    ]
    return f"with other settings: {'; '.join(differences)}" if differences else ""


def _blocked(path: Path) -> str:
    """Why there cannot be a folder: a file or a link to nothing has its name, or that of one above; empty otherwise."""
    place = next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))
    if place.is_dir():
        return ""
    return f"{place} is a link to what does not exist" if place.is_symlink() else f"{place} is not a folder"


def _strangers(path: Path, kind: Kind) -> list[str]:
    """The names in a folder that are not there before anything is finished: whatever else it holds is kept.

    A name alone does not show that a file is ours: it may be the file of a user.
    """
    if not path.exists():
        return []
    try:
        checksums = Checksums(path)
    except (FolderError, OSError):
        return [CHECKSUMS_FILE]
    return [entry.name for entry in path.iterdir() if not _is_from_beginning(entry, kind, checksums)]


def _is_from_beginning(entry: Path, kind: Kind, checksums: Checksums) -> bool:
    if entry.is_symlink():
        return False
    if entry.name == LOCK_FILE:
        return entry.is_file() and entry.stat().st_size == 0
    if entry.name == CHECKSUMS_FILE:
        own = {kind.file, *kind.beginnings}
        # Without the settings file only the list itself can show that it is ours.
        return entry.is_file() and checksums.is_whole and (checksums.has(kind.file) or own.issuperset(checksums))
    if _is_temporary(entry, entry.parent, kind, checksums):
        return True
    if entry.name == kind.file:
        return checksums.has(entry.name)
    if entry.name not in kind.beginnings:
        return False
    if entry.is_dir():
        return all(_is_temporary(inner, entry.parent, kind, checksums) for inner in entry.iterdir())
    return checksums.has(entry.name)


_TEMPORARY_NAME = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}({re.escape(TEMPORARY)}|{re.escape(REPLACED)})")
"""The names that megaland_env/files.py makes."""


def _is_temporary(entry: Path, folder: Path, kind: Kind, checksums: Checksums) -> bool:
    """Whether something in a folder is what one of its own files or folders was being written or removed as."""
    match = _TEMPORARY_NAME.fullmatch(entry.name)
    if match is None or entry.is_symlink():
        return False
    name = (entry.relative_to(folder).parent / match[1]).as_posix()
    if name in (kind.file, CHECKSUMS_FILE, *kind.beginnings) or name in checksums:
        return True
    return any(re.fullmatch(pattern, name) for pattern in kind.written)


# ------------------------------------------------------------------------------------------------------ the folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    _check_links(path)
    file = path / LOCK_FILE
    if file.exists() and not file.is_file():
        raise FolderError(f"{file} is not a regular file, and so no lock; remove it, or name another folder")
    lock = FileLock(path / LOCK_FILE, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        message = f"{path} is in use: another process works in it; wait until it has ended, or name another folder"
        raise FolderInUseError(message) from None
    except NotImplementedError as error:
        raise FolderError(f"{path} is where no file can be locked ({error}); name a folder elsewhere") from None
    try:
        yield
    finally:
        lock.release()


def _check_links(path: Path) -> None:
    """Refuse a folder with links in it, through which files elsewhere would be written or removed.

    The folder may come from somebody else. It may itself be behind a link, which is its owner's choice.
    """
    for place, folders, files in os.walk(path):
        for name in (*folders, *files):
            if Path(place, name).is_symlink():
                raise FolderError(f"{Path(place, name)} is a link; a folder to work in must not have any")


def _begin(path: Path, work: Work, prepare: Callable[[Path, Checksums], None] | None, made: Sequence[Path]) -> None:
    """Write the first files of a folder, the settings file last."""
    kind = work.kind
    try:
        for left in (kind.file, CHECKSUMS_FILE, *kind.beginnings):  # of other work that was only begun
            _remove(path / left)
        checksums = Checksums(path)
        if prepare is not None:
            prepare(path, checksums)
        content = {
            "format": kind.format,
            "version": versions()["megaland"],
            **work.facts,
            "settings": work.settings,
        }
        checksums.write(kind.file, json_bytes(content))
    except BaseException:
        with suppress(OSError):
            for left in (kind.file, CHECKSUMS_FILE, *kind.beginnings):
                _remove(path / left)
        _remove_empty(made)
        raise


def _remove(path: Path) -> None:
    """Remove a file or an empty folder."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _remove_empty(made: Sequence[Path]) -> None:
    """Remove folders that were made in vain; a lock file alone in the first is ours."""
    with suppress(OSError):
        if made and [entry.name for entry in made[0].iterdir()] == [LOCK_FILE]:
            (made[0] / LOCK_FILE).unlink()
        for place in made:
            place.rmdir()


def _remove_temporary(path: Path, kind: Kind) -> None:
    """Remove temporary files of a process that was killed."""
    checksums = Checksums(path) if (path / kind.file).exists() else Checksums.empty(path)
    for left in list(path.rglob(".*")):
        if _is_temporary(left, path, kind, checksums):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)


__all__ = [
    "AGAIN",
    "FIRST_VERSION",
    "Checksums",
    "FolderError",
    "FolderInUseError",
    "Kind",
    "RunFolder",
    "Stored",
    "Work",
    "claim",
    "numbered",
    "parse_object",
    "read_object",
    "read_stored",
    "reopen",
    "warn_if_old",
]
