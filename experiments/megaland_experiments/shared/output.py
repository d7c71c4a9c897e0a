"""Output of commands: text and tables on the screen, and the content of files; megaland_env/files.py writes them.

Names and messages may come from elsewhere. ``screen`` and ``say`` make them safe for a terminal, ``in_table`` for any
``rich`` console, ``in_html`` for a page, ``csv_cell`` for a CSV file, and ``plots.in_picture`` for a picture.
"""

from __future__ import annotations

import csv
import errno
import html
import io
import json
import os
import platform
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from megaland_env.checksums import CHECKSUMS_FILE, Checksums, FolderError
from megaland_env.files import TEMPORARY
from megaland_env.outside_text import printable, printable_lines
from megaland_env.render.text import show

if TYPE_CHECKING:
    from rich.text import Text

    from megaland_experiments.shared.safe_console import SafeConsole

WIDTH_OF_FILES = 120  # columns of a table that does not go to a screen


def screen() -> SafeConsole:
    """A console on the standard output, wide enough for tables when it is a file or a pipe; strings are no markup."""
    from megaland_experiments.shared.safe_console import SafeConsole

    console = SafeConsole()
    return console if console.is_terminal else SafeConsole(width=WIDTH_OF_FILES)


def say(text: str, *, error: bool = False) -> None:
    """Print lines that may quote outside text, to the standard output or to the standard error."""
    show(printable_lines(text), sys.stderr if error else sys.stdout)


def percent(share: float, digits: int = 1) -> str:
    """Format a share in per cent: ``"49.6 %"``."""
    return f"{100 * share:,.{digits}f} %"


def percents(low: float, high: float, digits: int = 1) -> str:
    """Format an interval of shares: ``"48.1 to 51.2 %"``."""
    return f"{100 * low:,.{digits}f} to {percent(high, digits)}"


def in_table(text: object, style: str = "") -> Text:
    """Make outside text a cell or the title (style ``"table.title"``) of a ``rich`` table, without markup."""
    from rich.text import Text

    return Text(printable(text), style=style)


def in_html(text: object) -> str:
    """Escape outside text for an element or a quoted attribute of an HTML page."""
    return html.escape(printable(text), quote=True)


_FORMULA = re.compile(r"(^|;)(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet may see a formula: at the beginning, and after a semicolon, which may separate cells."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_cell(value: Any) -> Any:
    """Make a value safe for a CSV file: text that a spreadsheet would run as a formula gets a ``'`` in front.

    Numbers, and text that is a number such as ``"-0.5"``, stay as they are. Invisible characters are escaped.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return _FORMULA.sub(r"\1\2'", printable(value))


def warn(message: str) -> None:
    """Print a warning on the standard error."""
    with suppress(OSError):  # the standard error may be closed
        say(f"megaland: warning: {message}", error=True)


@contextmanager
def decoration(what: str) -> Iterator[None]:
    """Turn errors in the block into warnings: it makes something without which the result is complete.

    Results are saved first; pictures, tables and reports follow in such a block.

    Args:
        what: name of what the block makes, for the warning, such as ``"curve.png"``.
    """
    try:
        yield
    except SystemExit:  # rich exits when a pipe is closed
        pass
    except Exception as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        warn(f"there is no {what}: {reason or type(error).__name__}")


def check_writable(path: str | Path) -> None:
    """Check before the work that its result can be written: a file is made next to ``path``, and removed.

    Raises:
        FolderError: ``path`` is empty, or a file of a folder that a command owns (run_folder.py).
        OSError: no file can be written there; ``filename`` is ``path``.
    """
    if not os.fspath(path):
        raise FolderError("the name of the file is empty")
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, and must be a file", str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if not target.parent.is_dir():
        where = f"there is no folder {target.parent}"
        raise FileNotFoundError(errno.ENOENT, where, str(path))
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=TEMPORARY)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    os.close(handle)
    os.unlink(temporary)
    owner = _owner_of(target)
    if owner is not None:
        raise FolderError(f"{path} is a file of the folder {owner}, which a command owns; name another file")


_SETTINGS_FILES = ("settings.json", "manifest.json", "config.json")
_WITHOUT_CHECKSUM = {CHECKSUMS_FILE, ".lock", "progress.csv", "anchors.csv", "evaluations.json", "curve.png"}
"""Files of such folders that have no checksum, most of them since they grow."""


def _owner_of(target: Path) -> Path | None:
    """The folder of a command that has written ``target``, or would; a user's own files may stand in it too."""
    target = target.absolute()
    for folder in target.parents:
        if not any((folder / name).is_file() for name in _SETTINGS_FILES) or not (folder / CHECKSUMS_FILE).is_file():
            continue
        name = target.relative_to(folder).as_posix()
        if "/" in name or name in _WITHOUT_CHECKSUM or name in Checksums(folder):
            return folder
    return None


@contextmanager
def going_on(how: str) -> Iterator[None]:
    """Add to the error of a full or failing disk how to go on afterwards.

    Args:
        how: the advice, such as ``"to go on: megaland simulate random --out runs/records"``.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_THE_DISK or error.filename is None:
            raise
        raise OSError(error.errno, f"{error.strerror}; {how}", error.filename) from error


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings in the block as one line each on the standard error."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest: warn(str(message))
        yield


_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format the rows of a table (at least one) as CSV, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def json_bytes(content: Any) -> bytes:
    """Encode ``content`` as a JSON file.

    Raises:
        ValueError: JSON cannot express it, such as NaN.
    """
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()


def need(*modules: str) -> None:
    """Import modules now that are needed only at the end of the work.

    Raises:
        ModuleNotFoundError: an extra is not installed.
    """
    for module in modules:
        import_module(module)


def versions(*others: str) -> dict[str, str]:
    """Versions of Python, NumPy, this package, PyTorch if it was imported, and other distributions."""
    packages = ["numpy", "megaland", *(["torch"] if "torch" in sys.modules else []), *others]
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that is not installed
            found[package] = "unknown"
    return found
