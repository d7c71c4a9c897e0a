"""Faults in the built site that Sphinx does not report: ``python -m tests.support.site build/site``.

They are links inside the site that lead nowhere, and letters of the text that were taken for the numbers of a list
("N." in a docstring).
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page has and what it points to.

    Attributes:
        targets: the ids on it.
        links: what its links, pictures, styles and scripts point to.
        lettered: the number of lists that are numbered by letters; no page has one on purpose.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.links: list[str] = []
        self.lettered = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag has."""
        for name, value in attributes:
            if name == "id" and value:
                self.targets.add(value)
            elif name in ("href", "src") and value and tag != "base":
                self.links.append(value)
            elif tag == "ol" and name == "class" and value and "alpha" in value:
                self.lettered += 1


def faults(site: Path) -> list[str]:
    """The faults of all pages below a folder, one line each.

    Raises:
        ValueError: there is no page.
    """
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        raise ValueError(f"{site} has no pages; build them first: sphinx-build -W --keep-going -b html docs {site}")
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name}: {link} leads to no file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].targets:
                found.append(f"{name}: {link} leads to no place on its page")
        if page.lettered:
            found.append(f"{name}: {page.lettered} lists numbered by letters")
    return found


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print("\n".join(lines) or "no faults")
    sys.exit(bool(lines))
