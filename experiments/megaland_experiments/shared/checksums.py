"""Checksums of the finished files in a folder, in a list that ``sha256sum --check SHA256SUMS`` reads too.

A file is finished once its checksum is in the list. A file that is written again may have several checksums for a
while, so that a power loss between the list and the file leaves nothing that looks damaged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from megaland_env.files import (
    FileError,
    append_text,
    digest,
    file_digest,
    read_bytes,
    read_text,
    write_bytes,
    write_text,
)

CHECKSUMS_FILE = "SHA256SUMS"
MOST_BYTES = 2**32
"""No file of a folder is larger; one that is has not been written by this package, and is not read."""

AGAIN = "delete it and give the command again: what it held is then made again"

_MOST_BYTES_OF_LIST = 2**26
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n\\]+)")


class FolderError(ValueError):
    """A folder that is not what it should be, or a file in it that is damaged; the message says which and why."""


class Checksums:
    """The list of a folder. Reading it needs no lock; only the owner of the folder (run_folder.py) records.

    Args:
        folder: the folder; it need not have a list yet.

    Raises:
        FolderError: the list is damaged.
        OSError: it cannot be read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.file = self.folder / CHECKSUMS_FILE
        self._of: dict[str, set[str]] = {}
        self._torn = False
        try:
            text = read_text(self.file, _MOST_BYTES_OF_LIST)
        except FileNotFoundError:
            return
        except FileError as error:
            raise FolderError(f"{error}; it is the list of checksums") from None
        # What follows the last newline was cut off while it was being written: the file that it is of is not finished.
        *lines, rest = text.split("\n")
        self._torn = bool(rest)
        for number, line in enumerate(lines, start=1):
            match = _LINE.fullmatch(line)
            if match is None or not _is_inside(match[2]):
                raise FolderError(f"{self.file} is damaged in line {number}: it is no checksum and name of a file")
            self._of.setdefault(match[2], set()).add(match[1])

    def __iter__(self) -> Iterator[str]:
        """The names of the files, relative to the folder, with slashes."""
        return iter(self._of)

    def __contains__(self, name: object) -> bool:
        return name in self._of

    def path(self, name: str) -> Path:
        """The path of a file."""
        return self.folder / name

    def write(self, name: str, content: bytes) -> Path:
        """Write a whole file of the folder (``files.write_bytes``), and record it.

        Returns:
            Its path.
        """
        self.record(name, digest(content))
        write_bytes(self.path(name), content)
        return self.path(name)

    def record(self, name: str, checksum: str) -> None:
        """Record the checksum of a file that is finished, or about to be: ``"sha256:..."``, as ``digest`` gives it."""
        checksum = checksum.removeprefix("sha256:")
        if self._torn:
            self._rewrite()
        append_text(self.file, f"{checksum}  {name}\n")
        self._of.setdefault(name, set()).add(checksum)

    def forget_old(self) -> None:
        """Keep of each file only the checksum that it has now, and none of files that are not there."""
        for name, known in list(self._of.items()):
            if not self.path(name).exists():
                del self._of[name]
            elif len(known) > 1:
                self._of[name] = {file_digest(self.path(name), MOST_BYTES).removeprefix("sha256:")}
        self._rewrite()

    def _rewrite(self) -> None:
        write_text(self.file, "".join(f"{one}  {name}\n" for name, known in self._of.items() for one in sorted(known)))
        self._torn = False

    def read(self, name: str, most_bytes: int) -> bytes:
        """Read a whole file, and check that it is as it was written.

        Raises:
            FolderError: it has no checksum, or another one, or is no regular file of sane size.
            OSError: it is not there, or cannot be read.
        """
        try:
            content = read_bytes(self.path(name), most_bytes)
        except FileError as error:
            raise FolderError(f"{error}; {AGAIN}") from None
        self.compare(name, digest(content))
        return content

    def verify(self, name: str) -> None:
        """Check in the same way a file that is read otherwise."""
        try:
            checksum = file_digest(self.path(name), MOST_BYTES)
        except FileError as error:
            raise FolderError(f"{error}; {AGAIN}") from None
        self.compare(name, checksum)

    def verify_all(self) -> None:
        """Check in the same way all files of the list that are there."""
        for name in self:
            if self.path(name).exists():
                self.verify(name)

    def compare(self, name: str, checksum: str, advice: str = AGAIN) -> None:
        """Compare with the list what ``files.digest`` gives for a file; a difference is a ``FolderError``."""
        if name not in self:
            raise FolderError(f"{self.path(name)} has no checksum in {self.file}: it was not finished; {advice}")
        if checksum.removeprefix("sha256:") not in self._of[name]:
            raise FolderError(f"{self.path(name)} is damaged: it has not the checksum in {self.file}; {advice}")


def seal(folder: str | Path) -> None:
    """Write the list of all files in a folder, before it takes its final name (``files.new_folder``)."""
    root = Path(folder)
    names = sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file())
    lines = (f"{file_digest(root / name, MOST_BYTES).removeprefix('sha256:')}  {name}\n" for name in names)
    write_text(root / CHECKSUMS_FILE, "".join(lines))


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and name == path.as_posix()
