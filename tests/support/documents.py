"""What the reader of the README and the site is told to type: blocks of Python and console commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from tests.support.places import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "api").glob("*.md")),
]

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"\A# (?P<name>\w+\.py)\n")
"""The first line of a block that is a file to write; the other blocks of its page import it."""


class Example(NamedTuple):
    """A block of Python on a page.

    Attributes:
        where: the page and the number of the block on it.
        text: the code.
        files: what the page says to write beforehand: file names and their text.
    """

    where: str
    text: str
    files: dict[str, str]


def blocks(page: str, language: str) -> list[str]:
    """The text of each block of a language on a page."""
    return [found["text"] for found in _BLOCK.finditer(page) if found["language"] == language]


def examples() -> list[Example]:
    """All blocks of Python on all pages, without repetitions."""
    found: dict[str, Example] = {}
    for path in PAGES:
        codes = blocks(path.read_text(encoding="utf-8"), "python")
        files = {match["name"]: code for code in codes if (match := _FILE.match(code))}
        for number, code in enumerate(codes):
            found.setdefault(code, Example(f"{path.stem}-{number}", code, files))
    return list(found.values())


def console_lines(page: str) -> list[str]:
    """Every command in the console blocks of a page, with continued lines joined."""
    joined = "".join(blocks(page, "console")).replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def megaland_commands() -> list[tuple[str, list[str]]]:
    """All ``megaland`` commands on all pages: where each is, and its words as a shell splits them."""
    commands = []
    for path in PAGES:
        for line in console_lines(path.read_text(encoding="utf-8")):
            for part in re.split(r"&&|;|\|", line.partition(" #")[0]):
                words = shlex.split(part)
                if words and Path(words[0]).name == "megaland":
                    commands.append((f"{path.stem}: {part.strip()}", words[1:]))
    return commands
