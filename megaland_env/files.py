"""Atomic, durable writing of files, and careful reading of files from elsewhere.

*Writing.* Content goes to a temporary file or folder next to the target, is synced to the disk (``fsync``), and is then
renamed; the parent folder is synced too, where the system allows it. A file that has its final name is therefore
complete. An ``OSError`` from writing always names the file.

*Reading.* A file from elsewhere may be a pipe that blocks, a device without an end, or far too large. The functions
here refuse such files before reading anything. Nothing that is read is ever executed or unpickled.
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

from megaland_env.outside_text import quoted

TEMPORARY, REPLACED = ".part", ".old"
"""Suffixes of files and folders being written, and of those being removed; their names also begin with a dot."""

MOST_NESTED = 100
"""Largest depth of lists and objects in a JSON file."""


class FileError(ValueError):
    """An unreadable or invalid file; the message names the file and says why."""


# ------------------------------------------------------------------------------------------------------ writing


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file atomically: if writing fails, an existing file is unchanged.

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
            os.chmod(temporary, 0o666 & ~_umask())  # temporary files are readable by their owner only
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(target.parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 file in the same way as ``write_bytes``."""
    write_bytes(path, text.encode())


def write_json(path: str | Path, content: Any) -> None:
    """Write a JSON file in the same way as ``write_bytes``.

    Raises:
        ValueError: ``content`` has a NaN or an infinity.
        TypeError: ``content`` has a type that JSON does not have.
    """
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def append_text(path: str | Path, text: str) -> None:
    """Append to a UTF-8 file and sync it; the file is created if it is missing.

    Raises:
        OSError: the file cannot be written; ``filename`` is ``path``.
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
    """Create a folder atomically: the block fills a temporary folder, which is then renamed to ``path``.

    Its files are synced before it is renamed; missing parent folders are created. An existing folder is replaced only
    if it has no other files than ``names``, since anything else may be the user's work. If the block or the writing
    fails, the existing folder is unchanged.

    Args:
        path: the folder.
        names: names of the files that it may hold.

    Raises:
        FileError: ``path`` exists and may not be replaced; nothing has changed.
        OSError: writing failed; ``filename`` is the file, or ``path``.
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
    """Create a folder and its missing parents, and sync their names.

    Returns:
        The folders that were created, the innermost first.
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
    """Remove a folder; it is renamed first, so that an interruption cannot leave half of it under its name."""
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=REPLACED))
    os.rename(path, aside / path.name)
    shutil.rmtree(aside, ignore_errors=True)


def sync_folder(path: Path) -> None:
    """Sync the names in a folder; nothing happens on systems that cannot do it, such as Windows."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _replace_folder(new: Path, target: Path) -> None:
    """Rename a folder to ``target`` in the same parent folder, after moving an existing one aside."""
    old = None
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=REPLACED))
        os.rename(target, old / target.name)
    os.rename(new, target)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _sync_tree(folder: Path) -> None:
    """Sync all files below a folder, and set the default modes of new files and folders."""
    mask = _umask()
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            handle = os.open(file, os.O_RDWR)  # Windows syncs only files that are open for writing
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
    """Add the file name to an ``OSError`` that has none, such as that of a full disk, or a temporary one."""
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
    """Read a regular file of limited size.

    Args:
        path: the file.
        most_bytes: largest size that is read.

    Raises:
        FileError: it is not a regular file, or has more than ``most_bytes``.
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
    # Checked before opening: opening a device can have effects, such as rewinding a tape. A name with a zero byte
    # raises a ValueError.
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise FileError(f"{file} is not a regular file")
    except ValueError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{str(file)!r}: {error}") from None
    # Opened without blocking and checked again, since the file may have been replaced in between. An ordinary `open` of
    # a pipe blocks until another process writes to it.
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
    """Read a UTF-8 file in the same way as ``read_bytes``; a ``FileError`` if it is not UTF-8."""
    return _decoded(read_bytes(path, most_bytes), path)


def _decoded(content: bytes, path: str | Path) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text: {error}") from None


def read_json(path: str | Path, most_bytes: int) -> Any:
    """Read a JSON file in the same way as ``read_bytes``; a ``FileError`` if it is not JSON, or nested too deeply."""
    return parse_json(read_text(path, most_bytes), path)


def parse_json(text: str, path: str | Path) -> Any:
    """Parse the text of a JSON file; a ``FileError`` that names ``path`` if it is not JSON, or nested too deeply."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise FileError(f"{path} is not JSON, or was cut short: {error}") from None
    except RecursionError:
        raise _too_deep(path) from None
    # What the parser can just read would end those who work on it, such as `json.dumps` and `copy.deepcopy`.
    if is_deeper(content, MOST_NESTED):
        raise _too_deep(path)
    return content


def json_object(content: bytes, path: str | Path) -> dict[str, Any]:
    """Parse the content of a JSON file that holds an object; a ``FileError`` that names ``path`` if it does not."""
    found = parse_json(_decoded(content, path), path)
    if not isinstance(found, dict):
        raise FileError(f"{path} holds {quoted(found)}; it must hold an object")
    return found


def is_deeper(content: Any, most: int) -> bool:
    """Whether the lists and objects of a JSON value are inside each other more than ``most`` deep."""
    inside = [content]
    for _ in range(most):
        inside = [each for each in inside if isinstance(each, (dict, list))]
        inside = [value for each in inside for value in (each.values() if isinstance(each, dict) else each)]
    return any(isinstance(each, (dict, list)) for each in inside)


def _too_deep(path: str | Path) -> FileError:
    return FileError(f"{path} is not JSON that can be used: lists or objects are nested more than {MOST_NESTED} deep")


def file_digest(path: str | Path, most_bytes: int) -> str:
    """Return the ``digest`` of a file without loading it into memory; errors are those of ``read_bytes``."""
    with _regular_file(Path(path), most_bytes) as opened:
        return "sha256:" + hashlib.file_digest(opened, "sha256").hexdigest()


def digest(content: bytes) -> str:
    """Return the SHA-256 digest of some bytes, as ``"sha256:..."``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
