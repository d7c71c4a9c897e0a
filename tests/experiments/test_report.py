"""The page of a report is self-contained, complete, and agrees with the tables."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from megaland_experiments import analysis, cli
from megaland_experiments.records import simulate
from megaland_experiments.records.folder import Records
from megaland_experiments.report import page as report
from megaland_experiments.strength.saving import save_tournament
from megaland_experiments.strength.tournament import tournament

ALONE = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects their contents."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data.strip())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def check_stands_alone(page: Page, text: str) -> None:
    assert not re.search(r"https?://|<script|<link|@import|url\(", text)
    for picture in page.all("img"):
        kind, _, content = (picture["src"] or "").partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content, validate=True).startswith(b"\x89PNG")
        assert picture["alt"]
    targets = {section["id"] for section in page.all("section")}
    assert {(link["href"] or "")[1:] for link in page.all("a")} == targets
    (viewport,) = (meta for meta in page.all("meta") if meta.get("name") == "viewport")
    assert "width=device-width" in (viewport["content"] or "")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Records:
    return simulate(["threshold", "random"], tmp_path_factory.mktemp("records"), games=120)


@pytest.fixture(scope="module")
def of_records(records: Records) -> str:
    return report.report(records.path)


def test_the_page_of_records_stands_alone(of_records: str) -> None:
    page = Page(of_records)
    check_stands_alone(page, of_records)
    assert len(page.all("img")) >= 10
    assert len(of_records) < 5e6
    for heading in ("Which buildings win", "Stay or leave", "The race to 20 coins", "Which market suits whom"):
        assert heading in page.text


def test_it_says_what_the_tables_say(records: Records, of_records: str) -> None:
    page = Page(of_records)
    for row in analysis.styles(records.seats).to_dicts():
        at = page.text.index(row["agent"], page.text.index("coins at the end"))
        said = [word for word in page.text[at : at + 12] if word][:5]
        assert said == [row["agent"], "240", *(f"{100 * row[name]:.1f} %" for name in ("win_share", "low", "high"))]


def test_without_decisions_it_tells_the_rest(tmp_path: Path) -> None:
    simulate(["hearts"], tmp_path / "r", games=40, decisions=0)
    text = report.report(tmp_path / "r")
    page = Page(text)
    check_stands_alone(page, text)
    assert "The race to 20 coins" in page.text
    assert "Stay or leave" not in page.text
    assert "Which market suits whom" not in page.text  # one agent alone has nobody to gain from


def test_two_games_are_enough_for_a_page(tmp_path: Path) -> None:
    text = report.report(simulate(["random"], tmp_path / "set", games=1, num_players=2).path)
    check_stands_alone(Page(text), text)


def test_the_page_of_a_tournament(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agents = {"<b>bold</b> & Co": "threshold", "random": "random"}
    result = tournament(agents, num_players=[2, 3], games=60)
    save_tournament(result, tmp_path)
    assert cli.main(["report", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 0
    assert str(tmp_path / "page.html") in capsys.readouterr().out
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    check_stands_alone(page, text)
    assert not page.all("b")
    assert "<b>bold</b> & Co" in page.text
    assert len(page.all("img")) == 2
    for row in result.ratings:
        assert f"{row['rating']:,.0f}" in page.text


def test_other_folders_are_refused_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "neither records" in capsys.readouterr().err
    (tmp_path / "settings.json").write_text('{"format": "megaland-probe"}', encoding="utf-8")
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "does not hold a tournament, but a settings.json of something else" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / "settings.json"]


@pytest.mark.filterwarnings("default:.*without checksums")
def test_the_page_of_a_tournament_of_0_1_comes_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = tournament(["random", "threshold"], num_players=2, games=8)
    (tmp_path / "settings.json").write_text(json.dumps({"format": "megaland-tournament/1", **result.settings}))
    (tmp_path / "results.json").write_text(json.dumps(result.to_dict()))
    assert cli.main(["report", str(tmp_path)]) == 0
    message = (
        f"megaland: warning: {tmp_path} was written by version 0.1.0, without checksums: damage may remain unnoticed\n"
    )
    assert capsys.readouterr().err == message
    (tmp_path / "results.json").write_text('{"settings": {}}')
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "results.json is damaged" in capsys.readouterr().err


def test_a_finished_file_of_a_folder_is_not_replaced_by_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_tournament(tournament(["random", "threshold"], num_players=2, games=8), tmp_path / "t")
    before = (tmp_path / "t" / "results.json").read_bytes()
    words = ["report", str(tmp_path / "t"), "--out", str(tmp_path / "t" / "results.json")]
    assert cli.main(words) == 2
    assert "results.json is a file of the folder" in capsys.readouterr().err
    assert (tmp_path / "t" / "results.json").read_bytes() == before
    assert cli.main(words[:2]) == 0
    assert cli.main(words[:2]) == 0  # a page may be made again


def test_a_full_disk_is_one_line(tmp_path: Path, full_disk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    save_tournament(tournament(["random", "threshold"], num_players=2, games=8), tmp_path / "t")
    with full_disk(0):
        assert cli.main(["report", str(tmp_path / "t")]) == 2
    page = tmp_path / "t" / "report.html"
    again = f"to make it again: megaland report {tmp_path / 't'}"
    assert capsys.readouterr().err == f"megaland: error: {page}: No space left on device; {again}\n"


def test_numbers_are_said_plainly() -> None:
    frame = pl.DataFrame(
        {"agent": ["x<y"], "value": [0.0314], "games": [12345], "coins": [None]}, schema_overrides={"coins": pl.Float64}
    )
    page = Page(report.page("t", [report.Section("s", [], table=report._table(frame, {}, points=True))]))
    assert [word for word in page.text if word][-7:] == ["agent", "value", "games", "coins", "x<y", "+3.1", "12,345"]
