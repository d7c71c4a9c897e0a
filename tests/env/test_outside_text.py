"""Text from elsewhere does nothing but be shown: in a terminal, a picture, a page and a spreadsheet."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.table import Table

from megaland_agents.policy_file import load_policy
from megaland_agents.ppo import CHAMPION
from megaland_env import MegalandConfig, MegalandGames
from megaland_env.agent import RandomAgent
from megaland_env.outside_text import printable, printable_lines
from megaland_env.render import render_image, render_text
from megaland_env.render.text import render_html
from megaland_experiments import cli
from megaland_experiments.shared.output import csv_cell, csv_text, in_html, in_table, say, screen
from megaland_experiments.shared.plots import in_picture, new_figure, png
from megaland_experiments.strength.saving import save_tournament
from megaland_experiments.strength.tournament import tournament
from megaland_experiments.training.config import TrainConfig
from megaland_experiments.training.train import settings_text

ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m"
DIRECTIONS = "\u202eabc\u2066\u200f"
MARKUP = "[/b][red][link=x]:bomb:"
PAGE = "<script>alert('1')</script>\"&"
FORMULA = "$_$ $\\frac{$"
HOSTILE = f"{ESCAPES}{DIRECTIONS}{MARKUP}{PAGE}{FORMULA}\n\r\x00\x85\u2028漢字\U0001f4a3\ud800"


def is_safe(text: str) -> bool:
    """Whether a terminal shows it as it is."""
    return all(character.isprintable() or character == "\n" for character in text)


# ------------------------------------------------------------------------------------------------------- printable


@given(st.text() | st.text(st.characters(categories=["C", "Z"])), st.none() | st.integers(3, 50))
@example(HOSTILE, None)
def test_printable(text: str, most: int | None) -> None:
    """One line that can be seen and encoded; nothing that can be seen is changed."""
    shown = printable(text, most)
    assert shown.isprintable()
    assert shown.encode().decode() == shown
    assert most is None or len(shown) <= most
    if text.isprintable() and most is None:
        assert shown == text
    assert is_safe(printable_lines(text))
    assert printable_lines(text).count("\n") == text.count("\n")


def test_printable_escapes() -> None:
    """As Python writes them; a long text ends with dots."""
    assert printable("a\x1b[0m\u202eb\n") == r"a\x1b[0m\u202eb\n"
    assert printable("x" * 10_000, 10) == "xxxxxxx..."
    assert printable("x" * 10, 10) == "x" * 10
    assert printable(Path("a\x07")) == r"a\x07"


# -------------------------------------------------------------------------------------------------- the other forms


@given(st.text())
@example(HOSTILE)
@example("[bold]")
@example("[/b]")
@example(":bomb:")
def test_a_table_shows_brackets(text: str) -> None:
    """Neither a string nor a cell is read as markup, by our console."""
    console = screen()
    table = Table("x", title=in_table(text, "table.title"))
    table.add_row(text)
    table.add_row(in_table(text))
    with console.capture() as captured:
        console.print(text, soft_wrap=True, highlight=False)
        console.print(table)
    assert is_safe(captured.get())
    assert captured.get().startswith(printable_lines(text))


def test_a_cell_is_safe_in_any_console() -> None:
    """Also in one that reads markup, as in a notebook."""
    from rich.console import Console

    table = Table("x", title=in_table("[/b]"))
    table.add_row(in_table("[red]:bomb:\x1b"))
    console = Console(width=60)
    with console.capture() as captured:
        console.print(table)
    assert "[/b]" in captured.get()
    assert r"[red]:bomb:\x1b" in captured.get()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_say(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal can show."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    say(HOSTILE)
    assert is_safe(raw.getvalue().decode(encoding))


@given(st.text())
@example(HOSTILE)
def test_in_html(text: str) -> None:
    """No tag begins in it, and no attribute ends."""
    shown = in_html(text)
    assert not set(shown) & set("<>\"'")
    assert is_safe(shown)


@settings(deadline=None, max_examples=10)
@given(st.text())
@example(HOSTILE)
@example("$a$")
def test_a_picture_has_no_formulas(text: str) -> None:
    """Every text can be drawn; a warning about the font would be an error here."""
    figure = new_figure(6, 3, in_picture(text, 40))
    axes = figure.subplots()
    axes.set_yticks([0, 1], [in_picture(text, 40), "$_$"])
    axes.plot([0, 1], [0, 1], label="$_$")
    axes.legend()
    assert png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+1", "'+1+1"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =1", "  '=1"),
        ("\t=1", r"\t=1"),
        ("\uff1d1", "'\uff1d1"),
        ("a;=1", "a;'=1"),
        ("-0.5", "-0.5"),
        ("+3", "+3"),
        ("-1e-05", "-1e-05"),
        (-0.5, -0.5),
        (None, None),
        ("threshold:risk=0.3", "threshold:risk=0.3"),
        ("", ""),
    ],
)
def test_csv_cells(value: object, cell: object) -> None:
    """What a spreadsheet would run is text; numbers stay numbers."""
    assert csv_cell(value) == cell


@given(st.text())
@example(HOSTILE)
def test_csv_files(text: str) -> None:
    """A spreadsheet finds as many cells as there are, and no formula."""
    assert str(csv_cell(text)).isprintable()
    assert str(csv_cell(text)).lstrip()[:1] not in [*"=@"]


# ------------------------------------------------------------------------------------------------------ the commands

MODULE = """
from megaland_env.agent import RandomAgent

class Named(RandomAgent):
    def __init__(self, **given):
        super().__init__()
"""


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Agents that take any parameter, with hostile ones."""
    (tmp_path / "hostile_agents.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield [f"hostile_agents:Named:x={text}" for text in (HOSTILE.replace("\ud800", "").replace("=", ""), "=cmd")]
    sys.modules.pop("hostile_agents", None)


def run(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command shows, which is safe; it need not end well."""
    with contextlib.suppress(SystemExit):
        cli.main(list(words))
    shown = capfd.readouterr()
    for text in shown:
        assert is_safe(text), ascii(text)
    return shown.out + shown.err


def test_a_tournament_of_hostile_names(agents: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """On the screen, in its pictures and in its tables; and in the page of ``report``."""
    out = tmp_path / f"o[b]{MARKUP.replace('/', '')}\x1b"
    shown = run(capfd, "tournament", *agents, "--games", "4", "--players", "2", "--out", str(out))
    assert r"[/b][red]" in shown
    assert "written to" in shown
    for file in out.glob("*.csv"):
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
            for cell in row.values():
                assert cell.isprintable()
                assert cell[:1] not in [*"=+@"]
    run(capfd, "report", str(out))
    page = next(out.glob("*.html")).read_text(encoding="utf-8")
    assert "<script>" not in page
    assert is_safe(page)


def test_a_tournament_of_objects_with_hostile_names(tmp_path: Path) -> None:
    """A name may then be anything."""
    result = tournament({"=cmd|x": RandomAgent(), HOSTILE: RandomAgent(1)}, num_players=2, games=4)
    save_tournament(result, tmp_path)
    text = (tmp_path / "ratings.csv").read_text(encoding="utf-8")
    assert "'=cmd|x" in text
    assert is_safe(text)


def test_records_of_hostile_names(agents: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And the page of all analyses of them."""
    out = tmp_path / "records[/b]"
    out.parent.mkdir(exist_ok=True)
    assert "written to" in run(capfd, "simulate", *agents, "--games", "60", "--players", "2", "--out", str(out))
    assert "megabytes" in run(capfd, "report", str(out))
    page = next(out.glob("*.html")).read_text(encoding="utf-8")
    assert "<script>" not in page
    assert is_safe(page)


def test_measuring_hostile_names(agents: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """``evaluate`` and ``probe``."""
    few = ["--games", "8", "--players", "2"]
    assert "[red]" in run(capfd, "evaluate", agents[0], *few)
    assert "[red]" in run(capfd, "probe", agents[0], *few, "--out", str(tmp_path / "probe[/b]"))


def test_watching_hostile_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, agents: list[str]
) -> None:
    """A game that was played against them, and one whose file names them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    file = "replay[b]\x1b.json"
    run(capfd, "play", "--opponents", agents[0], "--players", "2", "--colour", "never", "--replay", file)
    content = json.loads(Path(file).read_text())
    content["metadata"]["agents"] = [HOSTILE, HOSTILE * 100]
    Path(file).write_text(json.dumps(content))
    run(capfd, "watch", file, "--all", "--colour", "never")  # its checksum is wrong now; the message quotes the path


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", HOSTILE],
        ["evaluate", f"random:{HOSTILE}=1"],
        ["evaluate", "random", "--opponents", HOSTILE],
        ["evaluate", "random", f"--{HOSTILE}"],
        ["evaluate", "random", "--market", HOSTILE],
        ["evaluate", "random", "--json", f"{HOSTILE.replace(chr(0), '')}/x"],
        ["evaluate", "x" * 10_000],
        ["evaluate", f"{HOSTILE}:Class"],
        ["evaluate", f"ppo:path={HOSTILE}"],
        ["watch", HOSTILE],
        ["report", HOSTILE],
        ["export", HOSTILE, "--onnx", "x"],
        ["train", "--resume", HOSTILE],
        ["train", "--opponents", f"{HOSTILE}=1"],
        ["tournament", "random", HOSTILE],
        ["simulate", HOSTILE, "--out", HOSTILE],
        [HOSTILE],
    ],
    ids=lambda words: ascii(" ".join(words))[:40],
)
def test_errors_quote_what_was_wrong(
    words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a form that can be seen."""
    monkeypatch.chdir(tmp_path)
    shown = run(capfd, *words)
    assert "error:" in shown
    assert "Traceback" not in shown


def test_a_policy_with_hostile_names(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The error quotes the first features that are unknown."""
    description = json.loads((CHAMPION / "policy.json").read_text())
    description["features"]["names"][0] = HOSTILE
    (tmp_path / "policy.json").write_text(json.dumps(description))
    (tmp_path / "policy.safetensors").write_bytes((CHAMPION / "policy.safetensors").read_bytes())
    assert r"\x1b[2J" in run(capfd, "evaluate", f"ppo:path={tmp_path}")
    with pytest.raises(ValueError, match="cannot be used") as error:
        load_policy(tmp_path)
    assert is_safe(str(error.value))


def test_warnings_quote_safely() -> None:
    """A table without rows is no table, but a table with a hostile header is one."""
    assert csv_text([{"a": HOSTILE, "b": -0.5}]).endswith(",-0.5\n")


def test_the_board_shows_hostile_names() -> None:
    """As text, as HTML and as a picture."""
    games = MegalandGames(MegalandConfig(2), 1)
    games.reset(0)
    names = [HOSTILE, "x" * 10_000]
    assert is_safe(render_text(games.snapshot(0), colour=False, names=names))
    assert "<script>" not in render_html(games.snapshot(0), names=names)
    assert render_image(games.snapshot(0), names=names).ndim == 3


def test_the_tables_of_training_show_hostile_names(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Who the opponents are, in the settings and while it learns."""
    spec = "random:seed=3,[/b]\x1b[2J=1"
    run(capfd, "train", "--opponents", f"{spec}=1", "--out", str(tmp_path / "r[/b]\x1b"), "--total-steps", "10")
    config = TrainConfig(folder=f"[/b]{HOSTILE}", opponents={"itself": 0.5, f"random:{MARKUP}": 0.5})
    console = screen()
    with console.capture() as captured:
        console.print(settings_text(config))
    assert is_safe(captured.get())
    assert "[/b][red]" in captured.get().replace("\n", "")
