"""The check of the built site finds what it looks for; CI applies it to the site itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import PAGES
from tests.support.places import ROOT
from tests.support.site import faults

GOOD = '<h1 id="top">x</h1><a href="#top">x</a><a href="b/c.html#rule%2Dl7">x</a><a href="https://a.b/c#d">x</a>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b" / "c.html").write_text('<p id="rule-l7"><a href="../a.html?x=1#top">x</a></p>', encoding="utf-8")
    return tmp_path


def test_a_site_without_faults(site: Path) -> None:
    assert faults(site) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="d.html">x</a>', "a.html: d.html leads to no file"),
        ('<img src="b/board.png">', "a.html: b/board.png leads to no file"),
        ('<a href="#rule-l7">x</a>', "a.html: #rule-l7 leads to no place on its page"),
        ('<a href="b/c.html#top">x</a>', "a.html: b/c.html#top leads to no place on its page"),
        ('<ol class="upperalpha simple" start="14"><li></li></ol>', "a.html: 1 lists numbered by letters"),
    ],
)
def test_a_fault_is_named(site: Path, text: str, fault: str) -> None:
    (site / "a.html").write_text(GOOD + text, encoding="utf-8")
    assert faults(site) == [fault]


def test_a_site_that_is_not_built_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no pages"):
        faults(tmp_path)


def test_ci_checks_the_site() -> None:
    """The step that builds it is followed by the check."""
    assert re.search(
        r"sphinx-build.*\"\$venv/site\"\n.*tests\.support\.site \"\$venv/site\"", (ROOT / ".ci/run").read_text()
    )


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda path: path.stem)
def test_no_line_is_taken_for_a_comment(path: Path) -> None:
    """MyST leaves out a line that begins with a percent sign, also inside of a paragraph."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\s*%.*", text, flags=re.MULTILINE) == []
