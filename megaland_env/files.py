"""Files that are written whole or not at all, survive a power loss, and are read with care.

*Writing.* Content goes to a temporary file or folder next to its place, reaches the disk (``fsync``), and is then
renamed; the folder that holds the new name is synced too, where the system can do that. Whoever finds a file under its
name can therefore trust that it is complete. An ``OSError`` of writing always names the file.

*Reading.* A file from elsewhere may be a pipe that never answers, a device that never ends, or far too large. The
readers here refuse these before they read anything. Nothing that is read is ever executed or unpickled.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEMPORARY, REPLACED = ".part", ".old"
"""The endings of what is being written and of what is about to be removed; both names begin with a dot."""


class FileError(ValueError):
    """A file that cannot be read as what it should be; the message names the file and says why."""


# ------------------------------------------------------------------------------------------------------ writing


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file, or leave the old one as it was.

    Raises:
        OSError: the file cannot be written; ``filename`` is ``path``.
    """
    target = Path(path)
    with _names(target):
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())  # temporary files are private
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(target.parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a whole UTF-8 file in the same way."""
    write_bytes(path, text.encode())


def write_json(path: str | Path, content: Any) -> None:
    """Write ``content`` as JSON in the same way; what JSON does not know (a NaN too) is an error."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def append_text(path: str | Path, text: str) -> None:
    """Append to a UTF-8 file, which is made if need be, and wait until the disk has it.

    Raises:
        OSError: it cannot be written; ``filename`` is ``path``.
    """
    target = Path(path)
    with _names(target):
        is_new = not target.exists()
        with target.open("a", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(target.parent)


@contextmanager
def new_folder(path: str | Path, names: Collection[str]) -> Iterator[Path]:
    """Fill a temporary folder, which then takes the name ``path``, or leave everything as it was.

    The files in it are synced before the rename. Missing parent folders are created. A folder that has the name already
    is replaced if it holds nothing but files with the names of the new ones; anything else may be somebody's work.

    Args:
        path: the folder.
        names: the files that it may hold.

    Raises:
        FileError: something else has the name ``path``; nothing has changed.
        OSError: something cannot be written; ``filename`` is the file, or ``path``.
    """
    target = Path(path)
    _check_replaceable(target, names)
    with _names(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY))
        try:
            yield temporary
            _sync_tree(temporary)
            _replace_folder(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_folder(target.parent)


def _check_replaceable(target: Path, names: Collection[str]) -> None:
    if target.name in ("", ".."):  # "." and "/" too: a folder that is in use cannot be renamed
        raise FileError(f"{str(target)!r} cannot be written as a folder; give it a name")
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise FileError(f"{target} exists and is not a folder; choose another name")
    for entry in target.iterdir():
        if entry.name not in names or entry.is_symlink() or not entry.is_file():
            raise FileError(
                f"{target} holds {entry.name}, and would be replaced as a whole. Only a folder with nothing but "
                f"{', '.join(sorted(names))} is replaced; choose another name"
            )


def make_folder(path: str | Path) -> list[Path]:
    """Make a folder, and those above it, if they are missing; their names are synced.

    Returns:
        The folders that were made, the innermost first.
    """
    target = Path(path)
    missing = []
    for place in (target, *target.parents):
        if place.exists():
            break
        missing.append(place)
    target.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync_folder(place.parent)
    return missing


def remove_folder(path: Path) -> None:
    """Remove a folder under another name first, so that what a kill leaves behind is not taken for a whole one."""
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=REPLACED))
    os.rename(path, aside / path.name)
    shutil.rmtree(aside, ignore_errors=True)


def sync_folder(path: Path) -> None:
    """Make names in a folder durable. Systems that cannot open or sync a folder, such as Windows, do nothing."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _replace_folder(new: Path, target: Path) -> None:
    """Rename a folder, after moving aside what may have the name; both are in the same place."""
    old = None
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=REPLACED))
        os.rename(target, old / target.name)
    os.rename(new, target)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _sync_tree(folder: Path) -> None:
    """Sync all files below a folder, and give it and them the modes that new ones would have."""
    mask = _umask()
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            handle = os.open(file, os.O_RDWR)  # Windows syncs only what may be written to
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            file.chmod(0o666 & ~mask)
        Path(place).chmod(0o777 & ~mask)
        sync_folder(Path(place))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def _names(path: Path) -> Iterator[None]:
    """Give an ``OSError`` the file that it is about; one of a full disk has none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        temporary = str(error.filename or "").endswith(TEMPORARY)
        if error.filename is None or temporary:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


# ------------------------------------------------------------------------------------------------------ reading


def read_bytes(path: str | Path, most_bytes: int) -> bytes:
    """Read a whole file, if it is a regular one and not too large.

    Args:
        path: the file.
        most_bytes: a larger file is not read.

    Raises:
        FileError: it is no regular file, or has more than ``most_bytes``.
        OSError: there is no such file, or it cannot be read.
    """
    with _regular_file(Path(path), most_bytes) as opened:
        content = opened.read(most_bytes + 1)
    if len(content) > most_bytes:  # it has grown
        raise FileError(f"{path} has more than {most_bytes:,} bytes")
    return content


@contextmanager
def _regular_file(file: Path, most_bytes: int) -> Iterator[io.BufferedReader]:
    """Open a regular file that is not too large; see ``read_bytes``."""
    # Merely opening a device may do something, such as rewind a tape; a name with a zero byte is no name.
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise FileError(f"{file} is not a regular file")
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{str(file)!r}: {error}") from None
    # Opened without waiting and looked at again, since something may have taken the file's place in between. A pipe
    # would keep an ordinary `open` waiting until somebody writes to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(file, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise FileError(f"{file} is not a regular file") from None
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{file} is not a regular file")
        if status.st_size > most_bytes:
            raise FileError(f"{file} has {status.st_size:,} bytes; it may have at most {most_bytes:,}")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            yield opened
    finally:
        os.close(handle)


def read_text(path: str | Path, most_bytes: int) -> str:
    """Read a whole UTF-8 file in the same way; other bytes are a ``FileError``."""
    try:
        return read_bytes(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text: {error}") from None


def read_json(path: str | Path, most_bytes: int) -> Any:
    """Read a JSON file in the same way; anything else, and JSON that is nested too deeply, is a ``FileError``."""
    return parse_json(read_text(path, most_bytes), path)


def parse_json(text: str, path: str | Path) -> Any:
    """Parse the text of a JSON file; ``path`` is for the message of the ``FileError``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON, or was cut short: {error}") from None


def file_digest(path: str | Path, most_bytes: int) -> str:
    """``digest`` of what a file holds, which is not kept in memory; files and errors are those of ``read_bytes``."""
    with _regular_file(Path(path), most_bytes) as opened:
        return "sha256:" + hashlib.file_digest(opened, "sha256").hexdigest()


def digest(content: bytes) -> str:
    """``"sha256:..."`` of some bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
