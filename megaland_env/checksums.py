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
"""Size of the largest file that is read; this package writes none that is larger."""

MOST_LINES = 2**19
"""Largest number of checksums in a list that is read; one takes 0.5 kilobytes of memory."""

AGAIN = "delete it and give the command again: what it held is then made again"

_MOST_BYTES_OF_LIST = 2**26
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n\\]+)")


class FolderError(ValueError):
    """Raised for a folder with the wrong content or a damaged file; the message says which and why."""


class Checksums:
    """The checksums of a folder. Reading needs no lock; only the owner of the folder (run_folder.py) records.

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
        self._rest = ""
        try:
            text = read_text(self.file, _MOST_BYTES_OF_LIST)
        except FileNotFoundError:
            return
        except FileError as error:
            raise FolderError(f"{error}; it is the list of checksums") from None
        # A last line without a newline was cut off while it was being written: its file is not finished.
        # Git and other programs may have copied the list with the line ends of Windows.
        *lines, rest = text.replace("\r\n", "\n").split("\n")
        self._rest = rest
        if len(lines) > MOST_LINES:
            raise FolderError(f"{self.file} has {len(lines):,} lines; it may have {MOST_LINES:,}")
        for number, line in enumerate(lines, start=1):
            match = _LINE.fullmatch(line)
            if match is None or not _is_inside(match[2]):
                raise FolderError(f"{self.file} is damaged in line {number}: it is no checksum and name of a file")
            self._of.setdefault(match[2], set()).add(match[1])

    def __iter__(self) -> Iterator[str]:
        """Names of the files, relative to the folder, with slashes."""
        return iter(self._of)

    def __contains__(self, name: object) -> bool:
        return name in self._of

    @classmethod
    def empty(cls, folder: Path) -> Checksums:
        """The list of a folder, as if there were none yet."""
        checksums = cls.__new__(cls)
        checksums.folder, checksums.file, checksums._of, checksums._rest = folder, folder / CHECKSUMS_FILE, {}, ""
        return checksums

    @property
    def is_whole(self) -> bool:
        """Whether the list is one, but for a last line that was cut off; an empty file may become one."""
        return not self._rest or re.fullmatch(r"[0-9a-f]{1,63}|[0-9a-f]{64}( ?|  [^\n\\]*)", self._rest) is not None

    def has(self, name: str) -> bool:
        """Whether a file is there as it was written."""
        try:
            self.verify(name)
        except (FolderError, OSError):
            return False
        return True

    def path(self, name: str) -> Path:
        """Path of a file."""
        return self.folder / name

    def write(self, name: str, content: bytes) -> Path:
        """Write a whole file of the folder (``files.write_bytes``), and record its checksum.

        Returns:
            The path of the file.
        """
        self.record(name, digest(content))
        write_bytes(self.path(name), content)
        return self.path(name)

    def record(self, name: str, checksum: str) -> None:
        """Record the checksum ``"sha256:..."`` (see ``digest``) of a file that is finished or written next."""
        checksum = checksum.removeprefix("sha256:")
        if self._rest:
            self._rewrite()
        append_text(self.file, f"{checksum}  {name}\n")
        self._of.setdefault(name, set()).add(checksum)

    def forget_old(self) -> None:
        """Keep only the current checksum of each file, and none of files that do not exist."""
        for name, known in list(self._of.items()):
            if not self.path(name).exists():
                del self._of[name]
            elif len(known) > 1:
                self._of[name] = {file_digest(self.path(name), MOST_BYTES).removeprefix("sha256:")}
        self._rewrite()

    def _rewrite(self) -> None:
        write_text(self.file, "".join(f"{one}  {name}\n" for name, known in self._of.items() for one in sorted(known)))
        self._rest = ""

    def read(self, name: str, most_bytes: int) -> bytes:
        """Read a whole file, and compare it with its checksum.

        Raises:
            FolderError: the file has no checksum or another one, or is no regular file of sane size.
            OSError: the file is missing, or cannot be read.
        """
        try:
            content = read_bytes(self.path(name), most_bytes)
        except FileError as error:
            raise FolderError(f"{error}; {AGAIN}") from None
        self.compare(name, digest(content))
        return content

    def verify(self, name: str) -> None:
        """Compare a file with its checksum, as ``read`` does, without returning its content."""
        try:
            checksum = file_digest(self.path(name), MOST_BYTES)
        except FileError as error:
            raise FolderError(f"{error}; {AGAIN}") from None
        self.compare(name, checksum)

    def verify_all(self) -> None:
        """Compare all existing files of the list with their checksums."""
        for name in self:
            if self.path(name).exists():
                self.verify(name)

    def agrees(self, name: str, checksum: str) -> bool:
        """Whether the digest of a file (``files.digest``) is in the list."""
        return checksum.removeprefix("sha256:") in self._of.get(name, ())

    def compare(self, name: str, checksum: str, advice: str = AGAIN) -> None:
        """Compare the digest of a file (``files.digest``) with the list.

        Raises:
            FolderError: there is no list, or the file has no checksum or another one; the message ends with ``advice``
                unless the whole list is missing: then the files may be as good as they were.
        """
        if not self.file.exists():
            raise FolderError(
                f"{self.folder} lacks {CHECKSUMS_FILE}, the list of its checksums; copy that file, too, from where the "
                "folder comes from"
            )
        if name not in self:
            raise FolderError(f"{self.path(name)} has no checksum in {self.file}: it was not finished; {advice}")
        if not self.agrees(name, checksum):
            raise FolderError(f"{self.path(name)} is damaged: it has not the checksum in {self.file}; {advice}")


def seal(folder: str | Path) -> None:
    """Write the checksums of all files in a folder, before it gets its final name (``files.new_folder``)."""
    root = Path(folder)
    names = sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file())
    lines = (f"{file_digest(root / name, MOST_BYTES).removeprefix('sha256:')}  {name}\n" for name in names)
    write_text(root / CHECKSUMS_FILE, "".join(lines))


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and name == path.as_posix()
