"""``megaland report``: a page about a set of records or a tournament, with its main tables and pictures.

The page is a single HTML file. The pictures are part of it, and it loads nothing and runs no script.
"""

from __future__ import annotations

import argparse
import base64
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import polars as pl

from megaland_env.checks import is_number
from megaland_env.files import write_text
from megaland_experiments import analysis
from megaland_experiments.records.folder import MANIFEST_FILE, Records, load
from megaland_experiments.report.options import DEFAULT_NAME
from megaland_experiments.shared.output import check_writable, going_on, in_html, percent, plain_warnings, say
from megaland_experiments.shared.plots import POINTS, png
from megaland_experiments.shared.progress import Told, progress_bar
from megaland_experiments.strength.figures import tournament_figure
from megaland_experiments.strength.folder import TOURNAMENT
from megaland_experiments.strength.result import Tournament
from megaland_experiments.strength.saving import RESULTS_FILE, load_tournament

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 1 << 28
"""A larger results.json is not read."""

GAMES_JUDGED = 5000
"""The number of games whose decisions to stay or leave are judged, which takes seconds."""


@dataclass(frozen=True, eq=False)
class Section:
    """A section of the page: a heading, paragraphs, pictures with their alternative texts, and a table as HTML."""

    title: str
    text: Sequence[str]
    pictures: Sequence[tuple[Figure, str]] = ()
    table: str = ""


def report(folder: str | Path, progress: Told | None = None) -> str:
    """The page about a folder of ``megaland simulate`` or ``megaland tournament``, as HTML.

    Args:
        folder: the folder.
        progress: called with the number of steps done and their total; each section takes two steps.

    Raises:
        FileNotFoundError: the folder holds neither records nor a tournament.
        FolderError: a file in the folder is damaged, or missing because the work was not finished.
        OSError: a file in the folder cannot be read.
    """
    path = Path(folder)
    if (path / MANIFEST_FILE).exists():
        return page("Games on record", records_sections(load(path), progress), progress)
    if (path / TOURNAMENT.file).exists() or (path / RESULTS_FILE).exists():
        return page("Tournament", tournament_sections(load_tournament(path)), progress)
    if (path / "config.json").exists() and (path / "checkpoints").is_dir():
        command = shlex.join(["megaland", "train", "--resume", str(path)])
        raise FileNotFoundError(
            f"{path} holds a training run, of which there is no page: its report.json and curve.png say how it went, "
            f"and {command} shows the report"
        )
    raise FileNotFoundError(
        f"{path} holds neither records ({MANIFEST_FILE}, of megaland simulate) nor a tournament ({TOURNAMENT.file}, of "
        "megaland tournament)"
    )


# ------------------------------------------------------------------------------------------------------ records


def records_sections(records: Records, progress: Told | None = None) -> list[Section]:
    """The sections about a set of records."""
    games, seats, rounds, events = records.games, records.seats, records.rounds, records.events
    settings = records.manifest["settings"]
    several = len(settings["agents"]) > 1
    decided = records.decisions if settings["decisions"] > 0 else None
    makers: list[Callable[[], Section]] = [
        lambda: _what_was_played(records),
        lambda: _agents(seats),
        lambda: _race(rounds, seats, games),
    ]
    if decided is not None:
        turns, ahead = partial(analysis.buy_turns, decided, events, seats), partial(analysis.owners_ahead, games, seats)
        makers.append(lambda: _buildings(turns(), ahead()))
    if several:
        makers.append(lambda: _markets(games, seats))
    makers.append(lambda: _purchases(games, rounds, seats, events))
    if decided is not None:
        judged = decided.filter(pl.col("game") < GAMES_JUDGED)
        makers.append(lambda: _leaving(analysis.run_decisions(judged)))
    makers += [lambda: _worth(rounds, seats), lambda: _seats(seats), lambda: _rules(games, seats, events)]
    sections = []
    for number, make in enumerate(makers):
        if progress is not None:
            progress(number, 2 * len(makers))
        sections.append(make())
    return sections


def _what_was_played(records: Records) -> Section:
    settings, rows = records.manifest["settings"], records.manifest["rows"]
    players = " and ".join(map(str, settings["players"]))
    text = [
        f"{rows['games']:,} games of {players} players between {_listed(settings['agents'])}, "
        f"with {rows['decisions']:,} recorded decisions."
    ]
    return Section(
        "What was played",
        text,
        table=_facts({"command": records.manifest["command"], **settings["config"], **records.manifest["versions"]}),
    )


def _agents(seats: pl.LazyFrame) -> Section:
    table = analysis.styles(seats)
    shown = table.sort("win_share", descending=True).select("agent", "games", "win_share", "low", "high", "coins")
    text = [
        "The share of the games that a seat of each agent wins, with its 95 % interval, and how the agents differ in "
        "what they do. A win that two players share counts one half for each."
    ]
    return Section(
        "The agents",
        text,
        [(analysis.style_figure(table), "What each agent does, measure by measure")],
        _table(shown, {"games": "seats", "win_share": "wins", "coins": "coins at the end"}, shares=_WINS),
    )


def _race(rounds: pl.LazyFrame, seats: pl.LazyFrame, games: pl.LazyFrame) -> Section:
    lengths = analysis.game_lengths(games)
    mean = (lengths["rounds"] * lengths["share"]).sum()
    text = [f"A game lasts {mean:.1f} rounds on average."]
    return Section(
        "The race to 20 coins",
        text,
        [
            (
                analysis.race_figure(rounds, seats, games),
                "Coins by round, lengths of games, and how often the leader wins",
            )
        ],
    )


def _buildings(turns: pl.DataFrame, ahead: pl.DataFrame) -> Section:
    lifts = analysis.building_lift(turns)
    text = [
        "The change of the chance to win if a building is bought now, compared with what the same agent does with the "
        "same treasures otherwise. Turns in which the building could be bought and was are compared with turns in "
        "which it could be bought and was not, of the same agent and round, and with the same coins, treasures, hearts "
        "and choice of other buildings. The bars are 95 % intervals, with a game as the unit. The orange marks show "
        "how much more often the players win who own the building at the end. This is not an effect: a player who does "
        "well buys more of everything.",
        "The comparison does not adjust for anything else that the agents looked at, unless some of the purchases were "
        "made at random (by the agent explorer). Below 0 does not mean worthless: something better could be bought.",
    ]
    names = {"cost": "cost", "value": "change", "turns": "turns that could buy it", "bought": "turns that did"}
    table = _table(lifts.sort("value", descending=True, nulls_last=True), names, points=True)
    return Section(
        "Which buildings win",
        text,
        [(analysis.lift_figure(lifts, ahead), "The change of the chance to win, building by building")],
        table,
    )


def _markets(games: pl.LazyFrame, seats: pl.LazyFrame) -> Section:
    lifts = analysis.market_lift(games, seats)
    text = [
        "The market is drawn at random, so games with a building on offer and games without it differ in nothing else. "
        "A building that suits one agent harms the others at its table; among equal agents there is no difference."
    ]
    return Section(
        "Which market suits whom",
        text,
        [(analysis.market_figure(lifts), "The change of each agent's win share when a building is on offer")],
    )


def _purchases(games: pl.LazyFrame, rounds: pl.LazyFrame, seats: pl.LazyFrame, events: pl.LazyFrame) -> Section:
    use = analysis.building_use(games, seats, events)
    names = {
        "games": "games with it",
        "bought_share": "bought in",
        "copies": "copies per game",
        "coins_at_once": "coins at once",
        "coins": "coins later, per copy",
    }
    picture = analysis.buy_figure(analysis.buy_rates(games, rounds, events))
    return Section(
        "What is bought, and when",
        [],
        [(picture, "Purchases by item and round")],
        _table(use, names, shares=["bought_share"]),
    )


def _leaving(runs: pl.DataFrame) -> Section:
    shares = analysis.stay_or_leave(runs)
    loss = runs.group_by("agent").agg(pl.len().alias("decisions"), pl.col("optimal").mean(), pl.col("loss").mean())
    text = [
        "The exact solution of a level run takes into account the unseen cards, hearts, jump tokens and the treasures "
        "carried, and values all treasures equally. A good player may have reasons to depart from it."
    ]
    names = {"optimal": "as good as the optimum", "loss": "loss per decision, treasures"}
    pictures = [
        (analysis.leave_figure(shares), "How often each agent and the exact optimum leave, by danger"),
        (analysis.card_figure(runs), "What one more card is worth, by hearts and cards unseen"),
    ]
    return Section("Stay or leave", text, pictures, _table(loss.sort("loss"), names, shares=["optimal"]))


def _worth(rounds: pl.LazyFrame, seats: pl.LazyFrame) -> Section:
    text = [
        "How the chance to win changes with one more coin, heart, jump token or stored treasure than the others have, "
        "where all other things are equal; and what hearts bring home from the level."
    ]
    runs = analysis.runs_figure(analysis.runs_by_hearts(rounds), analysis.exact_runs())
    pictures = [
        (analysis.worth_figure(analysis.worth(rounds, seats)), "What one more of each is worth, by round"),
        (runs, "Treasures brought home and falls, by hearts"),
    ]
    return Section("What things are worth", text, pictures)


def _seats(seats: pl.LazyFrame) -> Section:
    picture = analysis.seat_figure(analysis.seat_effects(seats))
    return Section("Seats and turn order", [], [(picture, "Win share by seat and by place in the first turn order")])


def _rules(games: pl.LazyFrame, seats: pl.LazyFrame, events: pl.LazyFrame) -> Section:
    picture = analysis.rules_figure(analysis.rules_in_play(games, seats, events))
    return Section("Which rules come into play", [], [(picture, "In how many games each rule comes into play")])


# ------------------------------------------------------------------------------------------------------ tournaments


def tournament_sections(result: Tournament) -> list[Section]:
    """The sections about a tournament."""
    settings = result.settings
    players = " and ".join(map(str, settings["players"]))
    text = [f"{_listed(settings['agents'])}, {players} players, at least {settings['games']:,} games for each line-up."]
    sections = [Section("What was played", text, table=_facts({**settings["config"], "seed": settings["seed"]}))]
    for number in settings["players"]:
        ratings, standings, differences = (
            pl.DataFrame([row for row in rows if row["num_players"] == number], infer_schema_length=None).drop(
                "num_players"
            )
            for rows in (result.ratings, result.standings, result.differences)
        )
        sections.append(
            Section(
                f"{number} players",
                ["Who beats whom, and the ratings; a difference of 400 points means odds of 10 to 1."],
                [(tournament_figure(result, number), f"Win shares and ratings at {number} players")],
                _table(ratings, {"games_rated": "games rated"}, digits=0),
            )
        )
        names = {"win_share": "wins", "place": "mean place"}
        sections.append(Section(f"Standings at {number} players", [], table=_table(standings, names, shares=_WINS)))
        shown = differences.select("kind", "agent", "other", "difference", "low", "high", "games_needed")
        text = [
            "Differences of win shares on the same seeds, in percentage points, and the number of games needed to "
            "detect a difference of three points."
        ]
        sections.append(
            Section(
                f"Differences at {number} players",
                text,
                table=_table(shown, {"games_needed": "games needed"}, points=True),
            )
        )
    return sections


# ------------------------------------------------------------------------------------------------------ the page


def page(title: str, sections: Sequence[Section], progress: Told | None = None) -> str:
    """The whole page as HTML."""
    links = "".join(f'<a href="#part-{k}">{in_html(section.title)}</a>' for k, section in enumerate(sections))
    parts = ""
    for k, section in enumerate(sections):
        if progress is not None:
            progress(len(sections) + k, 2 * len(sections))
        parts += _part(k, section)
    return _PAGE.substitute(title=in_html(f"Megaland: {title}"), links=links, parts=parts)


def _part(number: int, section: Section) -> str:
    text = "".join(f"<p>{in_html(paragraph)}</p>" for paragraph in section.text)
    pictures = "".join(_picture(figure, what) for figure, what in section.pictures)
    return f'<section id="part-{number}"><h2>{in_html(section.title)}</h2>{text}{pictures}{section.table}</section>\n'


def _picture(figure: Figure, what: str) -> str:
    content = base64.b64encode(png(figure)).decode("ascii")
    width = round(figure.get_figwidth() * _PIXELS_PER_INCH)
    alt = in_html(what)
    return f'<img src="data:image/png;base64,{content}" alt="{alt}" style="width:{width}px">'


def _table(
    frame: pl.DataFrame,
    names: dict[str, str],
    *,
    points: bool = False,
    shares: Sequence[str] = (),
    digits: int = 3,
) -> str:
    """A frame as HTML.

    Args:
        frame: the table.
        names: headings of columns that differ from their names.
        points: whether to show effects in percentage points.
        shares: columns that are shown in percent.
        digits: number of decimals of other numbers.
    """
    heads = "".join(
        f"<th{'' if kind.is_numeric() else _TEXT}>{in_html(names.get(name, _HEADS.get(name, name)))}</th>"
        for name, kind in frame.schema.items()
    )
    scaled = ("value", "difference", "low", "high") if points else ()
    lines = []
    for row in frame.iter_rows(named=True):
        cells = []
        for name, value in row.items():
            number = is_number(value)
            if number and name in shares:
                shown = percent(value)
            else:
                in_points = name in scaled
                shown = _said(value * POINTS if number and in_points else value, 1 if in_points else digits, in_points)
            cells.append(f"<td{'' if frame.schema[name].is_numeric() else _TEXT}>{in_html(shown)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _said(value: object, digits: int, signed: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:+.{digits}f}" if signed else f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _facts(facts: Mapping[str, object]) -> str:
    rows = "".join(
        f"<tr><th>{in_html(name.replace('_', ' '))}</th><td>{in_html(value)}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    return f'<div class="wide"><table class="facts">{rows}</table></div>'


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


_WINS = ("win_share", "low", "high")
_PIXELS_PER_INCH = 88
_TEXT = ' class="text"'
_HEADS = {"low": "from", "high": "to"}
_PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; font: 16px/1.5 system-ui, sans-serif;
  color: #222; background: #fff; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 1px solid #e5e5e5; }
p { max-width: 46rem; margin: .5rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
a { color: #33608c; }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
thead th { border-bottom: 1px solid #bbb; font-weight: 600; }
.text, .facts th, .facts td { text-align: left; }
.facts td { white-space: normal; overflow-wrap: anywhere; }
.facts th { font-weight: 400; color: #555; vertical-align: top; }
</style>
</head>
<body>
<h1>$title</h1>
<nav>$links</nav>
$parts</body>
</html>
"""
)


# ------------------------------------------------------------------------------------------------------ the command


def run(arguments: argparse.Namespace) -> int:
    """Make the report and write it to a file."""
    target = Path(arguments.out or Path(arguments.folder, DEFAULT_NAME))
    check_writable(target)
    with plain_warnings(), progress_bar("steps") as progress:
        content = report(arguments.folder, progress)
    out = ["--out", arguments.out] if arguments.out else []
    command = shlex.join(["megaland", "report", arguments.folder, *out])
    with going_on(f"to make it again: {command}"):
        write_text(target, content)
    say(f"{len(content) / 1e6:.1f} megabytes written to {target}")
    return 0
