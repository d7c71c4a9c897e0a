"""Text from elsewhere, made safe to show: names in files, names of files, messages of other libraries.

Such a text may hold whatever somebody has put into it. Escape codes move the cursor of a terminal, change its title or
paste into it; direction marks of Unicode make a text read differently from what it says; a line break makes one line
look like two of ours; a lone surrogate, which stands for a byte of a file's name that is not text, cannot be printed.
"""

from __future__ import annotations

import reprlib

MOST_SHOWN = 200
"""Characters of an outside text in an error message, if nothing else is said."""


def printable(text: object, most: int | None = None) -> str:
    r"""Return a text that any terminal shows as it is, in one line.

    Characters that cannot be seen (control characters, C1 included, direction marks, line breaks, surrogates, what
    Unicode does not know) become escapes as in Python: ``\x1b``, ``\u202e``, ``\n``. All others stay as they are.

    Args:
        text: the text, or what ``str`` makes one of.
        most: the most characters of the result; the end of a longer one becomes ``...``. All by default.
    """
    shown = str(text)
    if most is not None and len(shown) > most:
        shown = shown[: most + 1]  # enough to see that there is more
    if not shown.isprintable():
        shown = "".join(character if character.isprintable() else _escape(character) for character in shown)
    if most is not None and len(shown) > most:
        shown = shown[: max(0, most - 3)] + "..."
    return shown


def printable_lines(text: object) -> str:
    """Return the same of a text that may have several lines, such as a message of our own that quotes other text."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def quoted(value: object, most: int = MOST_SHOWN) -> str:
    """Return a value from a file for an error message, as ``repr`` has it, cut short if it is long or deep."""
    return printable(_brief.repr(value), most)


_brief = reprlib.Repr()
_brief.maxlevel = 3
_brief.maxstring = _brief.maxother = MOST_SHOWN


def _escape(character: str) -> str:
    return repr(character)[1:-1]
