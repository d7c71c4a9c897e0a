"""What a command gives out: tables on the screen, and the text of files; megaland_env/files.py writes them.

Names and messages in it may come from elsewhere. ``screen`` and ``say`` make them safe for a terminal, ``in_table`` for
any ``rich`` console, ``in_html`` for a page, ``csv_cell`` for a CSV file, and ``plot_style.in_picture`` for a picture.
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

from megaland_env.files import TEMPORARY
from megaland_env.outside_text import printable, printable_lines
from megaland_env.render.text import show
from megaland_experiments.shared.checksums import Checksums, FolderError

if TYPE_CHECKING:
    from rich.text import Text

    from megaland_experiments.shared.safe_console import SafeConsole

WIDTH_OF_FILES = 120  # columns of a table that does not go to a screen


def screen() -> SafeConsole:
    """The standard output, wide enough for tables when it is a file or a pipe; strings are shown as they are."""
    from megaland_experiments.shared.safe_console import SafeConsole

    console = SafeConsole()
    return console if console.is_terminal else SafeConsole(width=WIDTH_OF_FILES)


def say(text: str, *, error: bool = False) -> None:
    """Print lines that may quote outside text, to the standard output or to the standard error."""
    show(printable_lines(text), sys.stderr if error else sys.stdout)


def percent(share: float, digits: int = 1) -> str:
    """A share as people read it: ``"49.6 %"``. Files have the share itself."""
    return f"{100 * share:,.{digits}f} %"


def percents(low: float, high: float, digits: int = 1) -> str:
    """An interval of shares: ``"48.1 to 51.2 %"``."""
    return f"{100 * low:,.{digits}f} to {percent(high, digits)}"


def in_table(text: object, style: str = "") -> Text:
    """Outside text as a cell or the title (style ``"table.title"``) of a ``rich`` table: brackets are no markup."""
    from rich.text import Text

    return Text(printable(text), style=style)


def in_html(text: object) -> str:
    """Outside text as part of an HTML page, in an element or in a quoted attribute."""
    return html.escape(printable(text), quote=True)


_FORMULA = re.compile(r"(^|;)(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet may see a formula: at the beginning, and after a semicolon where that separates cells."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_cell(value: Any) -> Any:
    """A value as it goes into a CSV file: text that a spreadsheet would run as a formula begins with ``'`` instead.

    Numbers, and text that is a number such as ``"-0.5"``, stay as they are. Characters that cannot be seen are escaped.
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return _FORMULA.sub(r"\1\2'", printable(value))


def warn(message: str) -> None:
    """Say on the standard error what went wrong without ending the command."""
    with suppress(OSError):  # nobody may be listening any more
        say(f"megaland: warning: {message}", error=True)


@contextmanager
def decoration(what: str) -> Iterator[None]:
    """Make something that the result is complete without: whatever goes wrong in the block is a warning.

    Save what is worth keeping first; pictures, tables and reports come after it, in such a block.

    Args:
        what: is made, for the warning: "curve.png".
    """
    try:
        yield
    except SystemExit:  # rich's answer to a closed pipe, where nobody misses the rest
        pass
    except Exception as error:
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
        warn(f"there is no {what}: {reason or type(error).__name__}")


def check_writable(path: str | Path) -> None:
    """Tell before the work, not after it, that its result could not be written: a file is made there, and removed.

    Raises:
        FolderError: it is a finished file of a folder that a command owns.
        OSError: no file can be written there; ``filename`` is ``path``.
    """
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
    if target.name in Checksums(target.parent):
        raise FolderError(f"{path} is a finished file of the folder {target.parent}; name another file")


@contextmanager
def going_on(how: str) -> Iterator[None]:
    """Add to the error of a full or failing disk how to go on when that is mended.

    Args:
        how: such as ``"to go on: megaland simulate random --out runs/records"``.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_THE_DISK or error.filename is None:
            raise
        raise OSError(error.errno, f"{error.strerror}; {how}", error.filename) from error


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings as one line each on the standard error, as a command does."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest: warn(str(message))
        yield


_OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a table (at least one) as CSV, with the names of the columns first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def json_bytes(content: Any) -> bytes:
    """``content`` as a JSON file; what JSON does not know (a NaN too) is a ``ValueError``."""
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()


def need(*modules: str) -> None:
    """Import at the beginning what is needed at the end.

    Raises:
        ModuleNotFoundError: an extra is not installed.
    """
    for module in modules:
        import_module(module)


def versions() -> dict[str, str]:
    """What a result was made with: Python, NumPy, this package, and PyTorch if it was used."""
    packages = ["numpy", "megaland", *(["torch"] if "torch" in sys.modules else [])]
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that is not installed
            found[package] = "unknown"
    return found
