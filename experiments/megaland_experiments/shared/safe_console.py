"""A ``rich`` console for output that quotes outside text: no markup, no emoji names, no control characters."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from megaland_env.outside_text import printable_lines


class SafeConsole(Console):
    """A console that shows every string as it is.

    Brackets are no markup, ``:bomb:`` is no emoji, and invisible characters are escaped. For a style, pass ``style=``
    or a ``rich.text.Text``.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text with its style."""
        return super().render_str(printable_lines(text), **options | {"markup": False, "emoji": False})
