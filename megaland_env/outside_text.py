"""Safe display of untrusted text: names in files, names of files, messages of other libraries.

Such text may contain anything. Escape codes move the cursor of a terminal, change its title or paste into it; Unicode
direction marks change the order in which text is shown; a line break can imitate a line of this program; a lone
surrogate, which stands for an undecodable byte of a file name, cannot be printed.
"""

from __future__ import annotations

import reprlib

MOST_SHOWN = 200
"""Default length limit of untrusted text in an error message, in characters."""


def printable(text: object, most: int | None = None) -> str:
    r"""Return text that is safe to print in a terminal, on one line.

    Unprintable characters (control characters, C1 included, direction marks, line breaks, surrogates, unassigned code
    points) become Python escapes: ``\x1b``, ``\u202e``, ``\n``. All others stay as they are.

    Args:
        text: the text, or an object that ``str`` converts.
        most: largest length of the result; a longer one is cut and ends in ``...``. No limit by default.
    """
    shown = str(text)
    if most is not None and len(shown) > most:
        shown = shown[: most + 1]  # one more shows that it is too long
    if not shown.isprintable():
        shown = "".join(character if character.isprintable() else _escape(character) for character in shown)
    if most is not None and len(shown) > most:
        shown = shown[: max(0, most - 3)] + "..."
    return shown


def printable_lines(text: object) -> str:
    """Return text made printable line by line, such as a message of several lines that quotes untrusted text."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def quoted(value: object, most: int = MOST_SHOWN) -> str:
    """Return the ``repr`` of a value from a file for an error message, shortened if it is long or deeply nested."""
    return printable(_brief.repr(value), most)


_brief = reprlib.Repr()
_brief.maxlevel = 3
_brief.maxstring = _brief.maxother = MOST_SHOWN


def _escape(character: str) -> str:
    return repr(character)[1:-1]
