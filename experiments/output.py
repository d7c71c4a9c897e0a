"""What a run gives out: tables on the screen, and files that are written beside and then renamed, never half of one.

Names and messages in it may come from elsewhere. ``screen`` and ``say`` make them safe for a terminal, ``in_table`` for
any ``rich`` console, ``in_html`` for a page, ``csv_cell`` for a CSV file, and ``plot_style.in_picture`` for a picture.
"""

from __future__ import annotations

import csv
import html
import io
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from megaland_env.outside_text import printable, printable_lines
from megaland_env.render.text import show

if TYPE_CHECKING:
    from rich.text import Text

    from experiments.safe_console import SafeConsole

WIDTH_OF_FILES = 120  # columns of a table that does not go to a screen


def screen() -> SafeConsole:
    """The standard output, wide enough for tables when it is a file or a pipe; strings are shown as they are."""
    from experiments.safe_console import SafeConsole

    console = SafeConsole()
    return console if console.is_terminal else SafeConsole(width=WIDTH_OF_FILES)


def say(text: str, *, error: bool = False) -> None:
    """Print lines that may quote outside text, to the standard output or to the standard error."""
    show(printable_lines(text), sys.stderr if error else sys.stdout)


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


@contextmanager
def games_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar on the screen, if there is one, that is told how many games are finished, and of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from experiments.safe_console import SafeConsole

    columns = (TextColumn("games"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    errors = SafeConsole(stderr=True)
    shown = errors.is_terminal
    with Progress(*columns, console=errors, transient=True, disable=not shown, speed_estimate_period=600) as bar:
        task = bar.add_task("games", total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)


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
    """Tell before the work, not after it, that its result could not be written.

    Raises:
        FileNotFoundError: the folder does not exist.
        IsADirectoryError: the path is a folder.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {target.parent}")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file, or leave the old one as it was."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file, or leave the old one as it was."""
    target = Path(path)
    check_writable(target)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        _give_usual_mode(beside)
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def write_json(path: str | Path, content: Any) -> None:
    """Write ``content`` as JSON in the same way; what JSON does not know (a NaN too) is an error."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def write_csv(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of a table (at least one) as CSV in the same way, with the names of the columns first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    write_text(path, text.getvalue())


def write_tables(path: str | Path, content: Any, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Path]:
    """Write ``content`` as JSON to ``path``, and each table as a CSV file of its name beside it; makes the folder.

    Returns:
        The files.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_json(target, content)
    files = [target]
    for name, rows in tables.items():
        files.append(target.with_name(f"{name}.csv"))
        write_csv(files[-1], rows)
    return files


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


def _give_usual_mode(path: str) -> None:
    """Temporary files are private; results get the mode that any new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)
