"""Rendering: the board as text, as a picture and in a notebook, and the game in sentences."""

from __future__ import annotations

import copy
import io
import itertools
import json
import random
import re
import runpy
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from megaland_env import Action, Kind, LevelCard, MegalandConfig, MegalandGames, Treasure, render
from megaland_env.cards import BUILDINGS, LEVEL_CARDS, TREASURE_COPIES, Building
from megaland_env.engine.events import Event
from megaland_env.render import Board, image, text, words
from megaland_env.render.text import NARROW, SYMBOLS, WIDTH, render_compact, render_html, render_text
from tests.support.make_golden import TRADING
from tests.support.places import ROOT
from tests.support.play import LIVELY, TABLES, dealt_games, each_kind, moments, play, some_legal

Snapshot = dict[str, Any]


def states(each: int = 12) -> Iterator[Snapshot]:
    """States of games of 2 to 5 players, ordinary ones and ones with much on the table, up to the end."""
    luck = random.Random(1)
    for config in (*TABLES, MegalandConfig(5, LIVELY), MegalandConfig(2, max_rounds=1)):
        found = [games.snapshot(0) for games in moments(config, 1, seed=4)]
        games = dealt_games(config, 1, seed=5)
        while games.active.any():
            found.append(games.snapshot(0))
            games.step(some_legal(games, np.random.default_rng(len(found)), boldness=3))
        yield found[0]
        yield games.snapshot(0)
        yield from luck.sample(found, min(each, len(found)))


@lru_cache
def of_each_kind() -> list[Snapshot]:
    """Moments of each kind of decision."""
    return [games.snapshot(0) for games in each_kind()]


STATES = [*states(), *of_each_kind()]


# ------------------------------------------------------------------------------------------------- reading the board

TIMES = "\N{MULTIPLICATION SIGN}"
HEADER = re.compile(
    r" (?P<asked>[▶ ]) (?P<you>you, )?seat (?P<seat>\d)\s+(?P<first>★)?\s*"
    r"(?P<left>♥*)(?P<lost>♡*) (?P<hearts>\d)/(?P<most>\d)\s+"
    r"(?P<coins>\d+) coins?\s+(?P<jumps>\d+) jump tokens?\s*(?P<place>.*)"
)


def sections(board: str) -> dict[str, list[str]]:
    """The lines below each title; those above the first one below ``""``."""
    found: dict[str, list[str]] = {"": []}
    for line in board.splitlines():
        title = re.match("─ ([A-Z ]+) ─", line)
        if title:
            found[title[1]] = []
        else:
            found[[*found][-1]].append(line)
    return found


def treasures_in(line: str) -> dict[str, int]:
    """The treasures of a line, by their symbols, with the zeros."""
    found = re.findall(f"([{''.join(SYMBOLS.values())}]) *([0-9]+) ([a-z]+)", line)
    assert all(SYMBOLS[name] == symbol for symbol, _, name in found)
    return {name: int(number) for _, number, name in found if int(number)}


def named(line: str) -> dict[str, int]:
    """The buildings that are named, with their numbers."""
    parts = [part.rpartition(f" {TIMES}") if TIMES in part else (part, "", "1") for part in line.split(" · ")]
    return {name: int(number) for name, _, number in parts}


def joined(lines: list[str], label: str) -> str | None:
    """The text to the right of a label, on its line and on those that continue it."""
    for number, line in enumerate(lines):
        if re.match(rf" {{4}}{label}( \d+)? ", f"{line} "):
            more = [line[16:].rstrip()]
            for after in lines[number + 1 :]:
                if after[:16].strip():
                    break
                more.append(after[16:].rstrip())
            return " · ".join(filter(None, more))
    return None


def read_seat(block: list[str]) -> dict[str, Any]:
    """A seat as the board shows it."""
    match = HEADER.fullmatch(block[0])
    assert match, block[0]
    found = match.groupdict()
    assert (len(found["left"]), len(found["left"] + found["lost"])) == (int(found["hearts"]), int(found["most"]))
    carried, home, owns = (joined(block[1:], label) for label in ("carried", "at home", "owns"))
    bought, wild, picks = (joined(block[1:], label) for label in ("bought", "wild", "picks"))
    used = {name: int(number) for number, name in re.findall(r"(\d+) of \d+ (fish|carrot)s? used", wild or "")}
    return {
        "seat": int(found["seat"]),
        "asked": found["asked"] == "▶",
        "first": found["first"] is not None,
        "place": found["place"],
        "coins": int(found["coins"]),
        "hearts": int(found["hearts"]),
        "max_hearts": int(found["most"]),
        "jumps": int(found["jumps"]),
        "carried": treasures_in(carried or ""),
        "home": treasures_in(home or ""),
        "buildings": named(owns) if owns else {},
        "bought": bought.split(" · ") if bought else [],
        "wild_used": {"fish": used.get("fish", 0), "carrot": used.get("carrot", 0)},
        "picks_left": int(re.search(r"(\d+) to pick", picks)[1]) if picks else 0,  # type: ignore[index]
        "picked": treasures_in(picks or ""),
        "pays": joined(block[1:], "pays"),
    }


def read_cards(lines: list[str]) -> tuple[list[str], list[str], str | None]:
    """The level cards seen, those to come, and the one that is marked."""
    found: list[list[str]] = []
    marked = None
    special = next(number for number, line in enumerate(lines) if line.startswith("    special  "))
    assert "Rabbit: 3 carrots for 3 new" in " ".join(lines[special:])
    assert "Treasure Box: draw a treasure" in " ".join(lines[special:])
    for line in lines[:special]:
        head = re.match(r" +(\d+) (seen|to come)", line)
        if head:
            found.append([])
        for part in line[13:].split(" · "):
            name = re.sub(r"[^A-Za-z ]", "", part).strip()
            if name and name != "nothing":
                found[-1].append(name)
                marks = part.replace("[", "").replace("]", "").removeprefix(name).strip()
                facts = LEVEL_CARDS[LevelCard[name.upper().replace(" ", "_")]]
                assert marks == "☠" * facts.skulls + "↑" * facts.jump_symbol
            if part.startswith("["):
                marked = name
    numbers = [int(number) for number in re.findall(r"^ +(\d+) (?:seen|to come)", "\n".join(lines), re.M)]
    assert numbers == [len(cards) for cards in found]
    return found[0], found[1], marked


def blocks(lines: list[str]) -> list[list[str]]:
    """The lines of the seats."""
    found: list[list[str]] = []
    for line in lines:
        if re.match(r" [▶ ] \S", line):
            found.append([])
        found[-1].append(line)
    return found


@pytest.mark.parametrize("snapshot", STATES)
def test_everything_public_can_be_read_from_the_text(snapshot):
    found = sections(render_text(snapshot, colour=False))
    head = re.fullmatch(r" MEGALAND   round (\d+) of at most (\d+)   (.*\S) +step (\d+)", found[""][0])
    assert head
    assert [int(head[i]) for i in (1, 2, 4)] == [
        snapshot["round"],
        snapshot["config"]["max_rounds"],
        snapshot["steps"],
    ]
    assert head[3] == words.PHASES[snapshot["phase"]]

    seen, to_come, marked = read_cards(found["LEVEL"])
    assert seen == snapshot["level_seen"]
    assert sorted(seen + to_come) == sorted(card.label for card in LevelCard)
    assert marked == snapshot["level_card"]

    for seat, (block, player) in enumerate(zip(blocks(found["SEATS"]), snapshot["players"], strict=True)):
        read = read_seat(block)
        assert read["seat"] == seat
        assert read["asked"] == (seat in snapshot["active"])
        assert read["first"] == (seat == snapshot["first_player"])
        for name in ("coins", "hearts", "max_hearts", "jumps", "carried", "home", "buildings", "bought"):
            assert read[name] == player[name], name
        for name in ("wild_used", "picks_left", "picked"):
            assert read[name] == player[name], name
        pay = snapshot["pay"] if seat == snapshot["buyer"] else None
        assert (read["pays"] is not None) == (pay is not None)
        if pay is not None:
            assert f"{words.purchase(pay)}, cost {pay['cost']}" in read["pays"]
            assert treasures_in(read["pays"]) == pay["paid"]
        if snapshot["phase"] == "over":
            assert read["place"] == ("WINNER" if seat in snapshot["winners"] else "")
        elif seat == snapshot["buyer"]:
            assert read["place"] == "buying"
        elif player["in_level"]:
            assert read["place"] == ("jumping" if player["jumping"] else "in the level")
        else:
            assert read["place"] == ("falling" if player["falling"] else "home" if player["hearts"] else "fallen")

    offered = re.findall(rf"([★ ])(\d) ([A-Z][A-Za-z ]+?) *{TIMES}(\d+)", "\n".join(found["ON OFFER"]))
    assert {name: int(left) for _, _, name, left in offered} == snapshot["supply"]["buildings"]
    for star, cost, name, _ in offered:
        building = Building[name.upper().replace(" ", "_")]
        assert (star == "★", int(cost)) == (building <= Building.TEMPLE_OF_ZOZ, BUILDINGS[building].cost)

    deck, discard, left = found["SUPPLIES"]
    assert treasures_in(deck) == snapshot["treasure_deck"]
    assert treasures_in(discard) == snapshot["discard"]
    assert [int(number) for number in re.findall(r"\d+", left)] == [
        snapshot["supply"]["hearts"],
        snapshot["supply"]["jumps"],
    ]
    assert found["NOW"] == [f" {words.situation(snapshot)}"]

    rows = " ".join(line.strip() for line in found["ON OFFER"])
    for name, left in snapshot["supply"]["buildings"].items():
        owned = any(name in player["buildings"] for player in snapshot["players"])
        after = rows[rows.index(f"{words.cost_of(name)} {name}") :].partition(TIMES)[2]
        after = re.sub(r"^\d+ +", "", after)
        assert after.startswith(words.building_words(name)) == bool(left or owned)


HOSTILE = [
    "package.module:AnAgent:risk=0.3,and=more",
    "two\nlines \x1b[31m\x9b\u202e",
    "wide 漢字",
    "",
    "e\u0301 zero\u200bwidth",
]


@pytest.mark.parametrize("snapshot", STATES[::3])
@pytest.mark.parametrize("width", [NARROW, 91, WIDTH])
def test_the_text_fits_a_terminal(snapshot, width):
    names = HOSTILE[: len(snapshot["players"])]
    boards = [
        draw(snapshot, colour=colour, width=width, **table)
        for draw in (render_text, render_compact)
        for table in ({}, {"viewer": 1, "names": names}, {"names": names[::-1]})
        for colour in (False, True)
    ]
    for board in boards:
        board = re.sub(r"\x1b\[[0-9;]*m", "", board)  # colours are spans of the board itself
        assert max(map(len, board.splitlines())) <= width
        assert all(unicodedata.east_asian_width(c) not in "WF" and not unicodedata.combining(c) for c in board)
        assert all(c.isprintable() or c == "\n" for c in board)


def test_a_terminal_that_is_too_narrow():
    for draw in (render_text, render_compact):
        with pytest.raises(ValueError, match="width is 79; the board needs at least 80 columns"):
            draw(STATES[0], width=79)


@pytest.mark.parametrize("snapshot", STATES)
@pytest.mark.parametrize("viewer", [None, 1])
def test_the_compact_board_says_what_matters_in_few_lines(snapshot, viewer):
    names = [f"agent{seat}" for seat in range(len(snapshot["players"]))]
    lines = render_compact(snapshot, colour=False, viewer=viewer, names=names).splitlines()
    if viewer is not None:  # and the line of who buys, and what the viewer owns on three lines at most
        assert len(lines) <= len(names) + 13
    rows = {int(seat): line for line in lines for seat in re.findall(r"^[▶ ][★ ](?:you, )?seat (\d)", line)}
    assert [*rows] == [((viewer or 0) + place) % len(names) for place in range(len(names))]
    for seat, line in rows.items():
        player = snapshot["players"][seat]
        assert line.startswith("▶") == (seat in snapshot["active"])
        assert (line[1] == "★") == (seat == snapshot["first_player"])
        assert (line.count("♥"), line.count("♡")) == (player["hearts"], player["max_hearts"] - player["hearts"])
        coins, jumps = re.search(r"[♥♡] +(\d+) +(\d+) ", line).groups()  # type: ignore[union-attr]
        assert (int(coins), int(jumps)) == (player["coins"], player["jumps"])
        assert re.search(r"(\d+)$", line)[1] == str(sum(player["buildings"].values()))  # type: ignore[index]
        hands = [player["carried"], player["home"]]
        shown = "".join(re.findall(f"([{''.join(SYMBOLS.values())}]\\d+)", line))
        assert shown == "".join(f"{SYMBOLS[name]}{number}" for hand in hands for name, number in hand.items())
        assert seat == viewer or f"seat {seat} agent" in line
    text = "\n".join(lines)
    if snapshot["phase"] == "level":
        told = re.sub(r"\s+", " ", text)
        assert all(words.card_words(name) in told for name in words.unseen_cards(snapshot))
        assert snapshot["level_card"] is None or f"[{words.card_words(snapshot['level_card'])}]" in told
    if snapshot["pay"] is not None:
        assert words.purchase(snapshot["pay"]) in text
        assert treasures_in(text[text.index("pays") :]) == snapshot["pay"]["paid"]
    if viewer is not None:
        for name in snapshot["players"][viewer]["buildings"]:
            assert name in text


def test_names_keep_their_beginning_when_they_are_shortened():
    snapshot = STATES[0] | {"active": []}
    names = ["lookahead:games=64,and=a,very=long,list=of,parameters=5"] * len(snapshot["players"])
    for draw in (render_text, render_compact):
        board = draw(snapshot, colour=False, names=names, width=NARROW)
        assert board.count("lookahead") == len(names)
        assert "..." in board
        assert "parameters" not in board


def test_colour_adds_codes_and_nothing_else():
    for snapshot in STATES[::7]:
        coloured = render_text(snapshot)
        assert "\x1b[" in coloured
        plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
        assert [line.rstrip() for line in plain.splitlines()] == render_text(snapshot, colour=False).splitlines()
        for line in coloured.splitlines():  # no colour runs on into the next line
            assert line.count("\x1b[0m") * 2 == line.count("\x1b[")


def test_html_says_the_same():
    snapshot = STATES[5]
    page = render_html(snapshot, viewer=1)
    assert page.startswith("<pre")
    bare = re.sub("<[^>]*>", "", page).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    plain = render_text(snapshot, colour=False, viewer=1)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()
    named_so = render_html(snapshot, names=["<b>"] * len(snapshot["players"]))
    assert "&lt;b&gt;" in named_so
    assert "<b>" not in named_so


def test_from_the_viewers_seat():
    snapshot = next(state for state in STATES if len(state["players"]) == 4 and state["active"])
    board = render_text(snapshot, colour=False, viewer=2, names=["ada", "bob", "cleo", "dan"])
    order = re.findall(r"^ [▶ ] ((?:you, )?seat \d(?: \w+)?)", board, re.M)
    assert order == ["you, seat 2", "seat 3 dan", "seat 0 ada", "seat 1 bob"]
    with pytest.raises(ValueError, match="viewer is 4; the seats are 0 to 3"):
        render_text(snapshot, viewer=4)
    with pytest.raises(ValueError, match="2 names for 4 seats"):
        render_text(snapshot, names=["ada", "bob"])


def test_a_snapshot_from_a_file_is_drawn_too():
    for snapshot in STATES[::9]:
        assert render_text(json.loads(json.dumps(snapshot))) == render_text(snapshot)


# ------------------------------------------------------------------------------------------------- what is public


def changed(snapshot: Snapshot) -> Iterator[tuple[str, Snapshot]]:
    """The snapshot with each public number changed by one, one at a time."""
    private = ("config", "seed", "decisions")
    for path, value in leaves({key: value for key, value in snapshot.items() if key not in private}):
        if path[-1] in ("jumping", "in_level", "falling") and snapshot["phase"] != "level":
            continue
        if path[-1] == "jumping" and not snapshot["players"][path[1]]["in_level"]:
            continue
        if path[-1] == "in_level" and snapshot["players"][path[1]]["falling"]:
            continue
        if path[-1] == "truncated" and snapshot["phase"] != "over":
            continue
        other = copy.deepcopy(snapshot)
        inner: Any = other
        for key in path[:-1]:
            inner = inner[key]
        if isinstance(value, bool):
            inner[path[-1]] = not value
        elif path[0] in ("active", "winners", "first_player", "buyer"):
            inner[path[-1]] = (value + 1) % len(snapshot["players"])
        else:  # one less, but what is not there has no entry
            inner[path[-1]] = value - 1 if value and path[-2:-1] != ("buildings",) else value + 1
        yield ".".join(map(str, path)), other


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Where the numbers are."""
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))


def varied() -> list[Snapshot]:
    """States which together contain everything that a board can show."""
    wanted = {kind.label for kind in Kind} - {"none"}
    found = []
    for snapshot in of_each_kind()[::-1]:
        if snapshot["decision"] in wanted:
            wanted.remove(snapshot["decision"])
            found.append(snapshot)
    return found


@pytest.mark.parametrize("snapshot", [*varied(), STATES[1]], ids=lambda snapshot: str(snapshot["decision"]))
def test_every_public_number_changes_the_text(snapshot):
    board = render_text(snapshot, colour=False)
    others = dict(changed(snapshot))
    assert len(others) > 50
    for path, other in others.items():
        assert render_text(other, colour=False) != board, path


# ------------------------------------------------------------------------------------------------- the picture


def test_every_public_number_changes_the_picture():
    luck = random.Random(2)
    for snapshot in [*varied(), STATES[1]]:
        before = image.render_image(snapshot, size=(640, 400))
        others = [*changed(snapshot)]
        for path, other in luck.sample(others, 6):
            assert not np.array_equal(image.render_image(other, size=(640, 400)), before), path


def touching(boxes: list[image.Box]) -> list[tuple[image.Box, image.Box]]:
    """Pairs of boxes that overlap."""
    return [
        (a, b)
        for a, b in itertools.combinations(boxes, 2)
        if a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom
    ]


def drawn(snapshot: Snapshot, viewer: int | None, names: list[str] | None) -> image._Sheet:
    """The sheet with the whole board on it."""
    sheet = image._Sheet(2)
    image._draw_board(sheet, snapshot, viewer, names)
    return sheet


NAMES = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=60), min_size=5, max_size=5)


@given(
    players=st.integers(2, 5),
    market=st.sampled_from([LIVELY, TRADING, "random"]),
    seed=st.integers(0, 999),
    dealt=st.booleans(),
    boldness=st.sampled_from([1, 3]),
    viewer=st.none() | st.just(1),
    names=st.none() | NAMES,
)
@settings(max_examples=40, deadline=None)
def test_nothing_in_the_picture_touches_anything_else(players, market, seed, dealt, boldness, viewer, names):
    config = MegalandConfig(players, market)
    if dealt:
        games = dealt_games(config, 1, seed=seed)
    else:
        games = MegalandGames(config)
        games.reset(seed)
    luck = np.random.default_rng(seed)
    wanted = {*luck.integers(150, size=3).tolist()}
    while True:
        over = not games.active.any()
        if over or int(games.steps[0]) in wanted:
            sheet = drawn(games.snapshot(0), viewer, None if names is None else names[:players])
            boxes = sheet.texts + sheet.icons
            assert len(sheet.texts) > 50
            assert len(sheet.icons) > 40
            assert touching(boxes) == []
            assert all(b.left >= 0 and b.top >= 0 and b.right <= 1280 and b.bottom <= 800 for b in boxes)
        if over:
            return
        games.step(some_legal(games, luck, boldness=boldness))


def test_a_full_table_fits_the_picture():
    """Five players with eight hearts, every building that there is, all treasures and 14 jump tokens."""
    snapshot = copy.deepcopy(
        next(state for state in STATES if len(state["players"]) == 5 and state["phase"] == "level")
    )
    for player in snapshot["players"]:
        player |= {"coins": 48, "hearts": 3, "max_hearts": 8, "jumps": 14, "in_level": True, "falling": False}
        player |= {"carried": {t.label: 12 for t in Treasure}, "home": {t.label: 23 for t in Treasure}}
        player |= {"buildings": dict.fromkeys(snapshot["supply"]["buildings"], 4), "picks_left": 4, "jumping": False}
        player |= {"picked": {t.label: 3 for t in Treasure}, "wild_used": {"fish": 4, "carrot": 4}}
    for viewer in (None, 3):
        sheet = drawn(snapshot, viewer, ["a very long name of an agent: parameters"] * 5)
        assert touching(sheet.texts + sheet.icons) == []
    for player in snapshot["players"]:  # in text all 96 treasures are in two hands
        player |= {"carried": {}, "home": {}}
    copies = dict(zip((treasure.label for treasure in Treasure), TREASURE_COPIES, strict=True))
    snapshot["players"][0]["home"] = {name: number // 2 + 1 for name, number in copies.items()}
    snapshot["players"][1]["carried"] = {name: number - number // 2 - 1 for name, number in copies.items()}
    for viewer in (None, 3):
        board = render_compact(snapshot, colour=False, viewer=viewer, names=["a very long name"] * 5)
        assert max(map(len, board.splitlines())) <= NARROW


def picture_says(sheet: image._Sheet) -> str:
    """All the text on a sheet, line by line."""
    return " ".join(box.what for box in sheet.texts)


def test_the_picture_says_who_plays():
    snapshot = next(state for state in STATES if len(state["players"]) == 3)
    said = picture_says(drawn(snapshot, 1, ["threshold", "me", "lookahead"]))
    assert "threshold" in said
    assert "lookahead" in said
    assert "you (seat 1)" in said
    long = "package.module:MyOwnAgent:with=very,many=parameters,that=do,not=fit,into=any,seat=at,the=table"
    titles = [box.what for box in drawn(snapshot, None, [long] * 3).texts if box.what.startswith("package")]
    assert len(titles) == 3
    assert all(title.endswith("...") and long.startswith(title[:-3]) and len(title) > 20 for title in titles)
    assert not np.array_equal(
        image.render_image(snapshot, names=["a", "b", "c"]), image.render_image(snapshot, names=["a", "b", "d"])
    )
    with pytest.raises(ValueError, match="2 names for 3 seats"):
        image.render_image(snapshot, names=["a", "b"])


def test_the_picture_says_what_the_rabbit_does():
    assert all("3 carrots for 3 new" in picture_says(drawn(state, None, None)) for state in STATES[::20])


def test_the_picture_says_what_a_building_does_as_long_as_anyone_owns_it():
    snapshot = copy.deepcopy(next(state for state in STATES if "Gym" in state["supply"]["buildings"]))
    effect = words.building_words("Gym").split()
    snapshot["supply"]["buildings"]["Gym"] = 0
    for owned in (True, False):
        for player in snapshot["players"]:
            player["buildings"].pop("Gym", None)
        snapshot["players"][0]["buildings"] |= {"Gym": 4} if owned else {}
        said = picture_says(drawn(snapshot, None, None))
        assert "sold out" in said
        assert (" ".join(effect) in said) == owned


def test_the_picture_says_what_has_been_paid_so_far():
    paying = [state for state in STATES if state["pay"] and state["pay"]["paid"]]
    assert paying
    for snapshot in paying:
        pay = snapshot["pay"]
        sheet = drawn(snapshot, None, None)
        assert f"pays for {words.purchase(pay)}: {sum(pay['paid'].values())} of {pay['cost']}" in picture_says(sheet)
        without = copy.deepcopy(snapshot)
        without["pay"]["paid"] = {}
        more = Counter(icon.what for icon in sheet.icons) - Counter(
            icon.what for icon in drawn(without, None, None).icons
        )
        assert more == dict.fromkeys(pay["paid"], 1)


def test_every_player_count_has_a_picture():
    for players in range(2, 6):
        snapshot = next(state for state in STATES if len(state["players"]) == players)
        picture = image.render_image(snapshot, viewer=1)
        assert picture.shape == (800, 1280, 3)
        assert picture.dtype == np.uint8
        assert picture.flags.writeable
        assert len(np.unique(picture @ np.array([1, 256, 65536]))) > 100  # colours
        assert np.array_equal(picture, image.render_image(copy.deepcopy(snapshot), viewer=1))
        assert not np.array_equal(picture, image.render_image(snapshot))


@pytest.mark.parametrize("size", [(1, 1), (64, 40), (500, 900), (900, 100)])
def test_sizes(size):
    assert image.render_image(STATES[0], size=size).shape == (size[1], size[0], 3)


@pytest.mark.parametrize("size", [(0, 10), (10, -1), (10,), (10, 10, 10), 10, "ab", (10.5, 10), (10, 10**9)])
def test_sizes_without_meaning(size):
    with pytest.raises(ValueError, match=r"it must be a width and a height from 1 to"):
        image.render_image(STATES[0], size=size)


def test_a_picture_from_a_seat_that_is_not_there():
    with pytest.raises(ValueError, match="viewer is 9"):
        image.render_image(STATES[0], viewer=9)


def test_long_words_stay_in_their_places():
    sheet = image._Sheet(2)
    for name in [building.label for building in Building] + [card.label for card in LevelCard]:
        assert 10 < sheet.width(name, 6) < 100
    height = sheet.paragraph(10, 10, "a very long sentence that has to be broken several times " * 3, 12, 80, 4)
    assert height <= 4 * 12 * 1.2


def test_the_pictures_of_the_documentation_can_be_made_again(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    folder = ROOT / "docs"
    script = runpy.run_path(str(folder / "make_boards.py"))
    monkeypatch.setitem(script["main"].__globals__, "DOCS", tmp_path)
    script["main"]()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in folder.glob("board*.png"))
    for path in tmp_path.iterdir():
        with Image.open(path) as made, Image.open(folder / path.name) as kept:
            assert made.size == kept.size


# ------------------------------------------------------------------------------------------------- for environments


@pytest.fixture
def games() -> MegalandGames:
    played = MegalandGames(MegalandConfig(3), 2)
    played.reset(7)
    return play(played, np.random.default_rng(0), steps=9)


def test_the_modes(games, capsys):
    snapshot = games.snapshot(1)
    assert render.render(games, 1, "ansi") == render_text(snapshot)
    assert np.array_equal(render.render(games, 1, "rgb_array", viewer=2), image.render_image(snapshot, viewer=2))
    names = ["ada", "bob", "cleo"]
    assert render.render(games, 1, "ansi", names=names) == render_text(snapshot, names=names)
    named_picture = image.render_image(snapshot, names=names)
    assert np.array_equal(render.render(games, 1, "rgb_array", names=names), named_picture)
    assert capsys.readouterr().out == ""
    assert render.render(games, 1, "human") is None
    assert capsys.readouterr().out == render_text(snapshot, colour=False) + "\n"
    assert set(render.RENDER_MODES) == {"ansi", "rgb_array", "human"}
    with pytest.raises(ValueError, match="render mode is 'depth'; it must be one of"):
        render.render(games, 1, "depth")
    with pytest.raises(ValueError, match="game 2 is out of range"):
        render.render(games, 2, "ansi")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_human_in_a_terminal(games, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    names = ["ada", "you", "bob"]
    for columns, rows, width in ((60, 99, 80), (93, 99, 93), (200, 99, 100), (80, 24, 80), (200, 24, 100)):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(rows))
        monkeypatch.setattr(sys, "stdout", Screen())
        snapshot = games.snapshot(0)
        render.render_human(snapshot, viewer=1, names=names)
        board = render_text(snapshot, viewer=1, names=names, width=width)
        if rows == 24:
            assert board.count("\n") > rows
            compact = render_compact(snapshot, viewer=1, names=names, width=width)
            board = f"{compact}\n {words.situation(snapshot, 1)}"
            assert board.count("\n") + 2 <= rows
        assert sys.stdout.getvalue() == f"\x1b[H\x1b[2J{board}\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "value", "clears"), [("NO_COLOR", "1", True), ("TERM", "dumb", False)])
def test_human_without_colours(games, monkeypatch, name, value, clears):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "99")
    monkeypatch.setattr(sys, "stdout", Screen())
    render.render_human(games.snapshot(0))
    clear = "\x1b[H\x1b[2J" if clears else ""
    assert sys.stdout.getvalue() == clear + render_text(games.snapshot(0), colour=False) + "\n"  # type: ignore[attr-defined]


def test_a_terminal_that_knows_no_such_symbols():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    text.show(render_text(STATES[0], colour=False), stream)
    shown = raw.getvalue().decode()
    assert "? ? seat 0" not in shown
    assert "MEGALAND" in shown
    assert "seat 0" in shown


# ------------------------------------------------------------------------------------------------- for notebooks


def test_the_board_in_a_notebook(games):
    board = Board(games.snapshot(0), viewer=1)
    assert str(board) == repr(board) == render_text(games.snapshot(0), colour=False, viewer=1)
    png = board._repr_png_()
    assert png is not None
    assert png.startswith(b"\x89PNG")
    assert board._repr_html_() is None
    assert np.array_equal(board.image(), image.render_image(games.snapshot(0), viewer=1))
    assert board.image(size=(320, 200)).shape == (200, 320, 3)
    names = ["ada", "bob", "cleo"]
    assert str(Board(games.snapshot(0), names=names)) == render_text(games.snapshot(0), colour=False, names=names)
    assert np.array_equal(
        Board(games.snapshot(0), names=names).image(), image.render_image(games.snapshot(0), names=names)
    )


def test_without_pillow(games, monkeypatch):
    monkeypatch.delitem(sys.modules, "megaland_env.render.image")
    monkeypatch.delattr(render, "image")
    monkeypatch.setitem(sys.modules, "PIL", None)
    board = Board(games.snapshot(0))
    assert board._repr_png_() is None
    assert board._repr_html_() == render_html(games.snapshot(0))
    assert isinstance(render.render(games, 0, "ansi"), str)
    with pytest.raises(ModuleNotFoundError, match=r"needs PIL, which is not installed: pip install .*\[render\]"):
        render.render(games, 0, "rgb_array")


def test_pillow_is_imported_for_pictures_only():
    code = (
        "import sys, megaland_env.render as r; from megaland_env import MegalandGames\n"
        "games = MegalandGames(); games.reset(0); r.render(games, 0, 'ansi'); r.render(games, 0, 'human')\n"
        "assert 'PIL' not in sys.modules; r.render(games, 0, 'rgb_array'); assert 'PIL' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


# ------------------------------------------------------------------------------------------------- sentences


def test_what_buildings_do():
    assert words.building_words("Lodge") == "night: 2 coins"
    assert words.building_words("Cafe") == "2 coins at once"
    assert words.building_words("Arena") == "6 coins and 2 jump tokens at once"
    assert words.building_words("Laboratory") == "3 coins at once; falling: draw 1 treasure"
    assert all(words.building_words(building.label) for building in Building)


# A rule and what it says of each building (C6) and level card (C3): patterns that the explanation must match.
EXPLAINED = {
    "Sandwich Stand": ("C6", "for 1 treasure", "1 coin when you buy it"),
    "Cafe": ("C6", "for 2 different", "2 coins when you buy it"),
    "Arcade": ("B7", "3 coins when", "end of each buy phase .* 2 coins if every other player has more"),
    "Bazaar of Oddities": ("L9", "4 coins when", "return home with 5 or more carried .* 1 coin"),
    "Hotel": ("B6", "5 coins when", "heart that you buy later gives you 2 coins"),
    "Temple of Zoz": ("L4", "7 coins when", "Red Serpent .* in the level .* 2 coins, even if you jump or fall"),
    "Herb Hut": ("L7", "When you fall, you keep 1 of the treasures you carry"),
    "Reptile Stable": ("L10", "return home, you may discard 1 treasure from home and draw"),
    "Gym": ("C6", "1 coin and 2 jump tokens when"),
    "Hospital": ("L7", "left or right neighbour falls .* 2 coins"),
    "Ostrich Ranch": ("B3", "eggs count as any treasure when you buy buildings, but not for hearts"),
    "Bowling Alley": ("N3", "night .* 1 coin"),
    "Fish Vendor": ("B3", "2 coins when", "Once a round, one fish counts as any treasure, for buildings and hearts"),
    "Smithy": ("B6", "cost 4 or 5 that you buy later gives you 3 coins"),
    "Fishing Pond": ("N3", "night you draw 1 treasure, after storing, so it is not discarded"),
    "Soap Makers": ("L5", "Sludge Creature does you no damage, and you draw 1", "second one adds nothing"),
    "Hall of Elders": ("B6", "normal building that you buy later gives you 1 coin"),
    "Toll Booth": ("B6", "star building that you buy later gives you 1 coin"),
    "Laboratory": ("L7", "3 coins when", "fall, you draw 1 treasure after discarding"),
    "Lodge": ("N3", "night .* 2 coins"),
    "Root Market": ("B3", "4 coins when", "Once a round, one carrot counts as any treasure, for buildings and hearts"),
    "Arena": ("C6", "6 coins and 2 jump tokens when"),
    "Endless Mine": ("N3", "night .* 3 coins"),
    "Clouds": ("C3", "No damage.$"),
    "Spires": ("C3", "No damage.$"),
    "Green Mesa": ("C3", "No damage.$"),
    "Treasure Box": ("L6", "No damage. Everyone in the level draws 1 treasure"),
    "Floating Eye": ("L5", "1 heart of damage .* jumping does not help"),
    "Rabbit": ("L8", "1 heart .* none to a player who jumps", "left in the level who carries 3 .* discard 3 .* draw 3"),
    "Sludge Creature": ("L5", "1 heart .* none to .* jumps", "owner of Soap Makers .* no damage .* draws 1 .* or not"),
    "Bats": ("L5", "2 hearts of damage .* jumping does not help"),
    "Biting Plant": ("L5", "2 hearts of damage .* none to a player who jumps"),
    "Red Serpent": ("L4", "3 hearts .* none to a player who jumps", "Temple of Zoz pays an owner in the level 2 coins"),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_every_card_is_explained_as_the_rules_have_it(name):
    """C3, C6: each level card and each building, with the effect that the named rule gives it."""
    rule, *patterns = EXPLAINED[name]
    said = words.explain(name)
    assert said.startswith(name)
    for pattern in patterns:
        assert re.search(pattern, said), (rule, pattern, said)
    building = {building.label: building for building in Building}.get(name)
    if building is None:
        facts = LEVEL_CARDS[{card.label: card for card in LevelCard}[name]]
        assert ("No damage." in said) == (not facts.skulls)
        assert ("to a player who jumps" in said) == (facts.jump_symbol and facts.skulls > 0)
        return
    facts = BUILDINGS[building]
    assert re.search(rf"for {facts.cost} (different )?treasures?\.", said)
    assert ("star building for" in said) == words.is_star(name)
    gained = re.search(r"You get (?:(\d) coins? ?)?(?:and (\d) jump tokens )?when you buy it\.", said)
    assert [int(number or 0) for number in (gained.groups() if gained else (0, 0))] == [facts.coins, facts.jumps]


def test_everything_can_be_explained():
    assert sorted(words.named_things()) == sorted(EXPLAINED)
    assert len(words.named_things()) == 10 + 23
    effects = [words.explain(name).partition(": ")[2] for name in words.named_things()]
    assert all(len(effect) >= 10 for effect in effects)


@pytest.mark.parametrize("snapshot", of_each_kind(), ids=lambda snapshot: snapshot["decision"])
def test_each_choice_has_words_of_its_own(snapshot):
    games = MegalandGames.restore([snapshot])
    for seat in snapshot["active"]:
        legal = np.flatnonzero(games.legal[0, seat]).tolist()
        said = [words.choice_words(snapshot, seat, action) for action in legal]
        assert len(set(said)) == len(said)
        assert all(10 <= len(sentence) < 110 for sentence in said)
        short = [words.choice_words(snapshot, seat, action, short=True) for action in legal]
        assert len(set(short)) == len(short)
        if snapshot["decision"] == "buy":
            assert all(len(sentence) <= 34 for sentence in short)
    with pytest.raises(ValueError, match="action 40"):
        words.choice_words(snapshot, 0, 40)


def test_choices_in_words():
    snapshot = copy.deepcopy(next(state for state in of_each_kind() if state["decision"] == "pay"))
    seat = snapshot["buyer"]
    player = snapshot["players"][seat]
    player |= {
        "max_hearts": 5,
        "home": {"egg": 3, "fish": 1},
        "picked": {},
        "jumps": 1,
        "carried": {"stone": 1, "egg": 2},
    }
    snapshot["pay"] = {"buying": "Lodge", "treasure": None, "cost": 4, "paid": {"egg": 1}}

    def say(name: str) -> str:
        return words.choice_words(snapshot, seat, int(Action[name]))

    assert say("BUY_LODGE") == "Buy Lodge for 4 (night: 2 coins)"
    assert say("HEART_STONE") == "Buy your 6th heart with 3 stones"
    assert say("HEART_FISH") == "Buy your 6th heart with 3 fish"
    assert say("LEAVE") == "Go home with a stone and 2 eggs"
    assert say("JUMP") == "Jump over the next card (you have 1 jump token)"
    assert say("TREASURE_EGG") == "Pay an egg (of 3), counting as another treasure"
    assert say("TREASURE_FISH") == "Pay a fish"
    snapshot["pay"] = {"buying": "heart", "treasure": "egg", "cost": 3, "paid": {"egg": 1}}
    assert say("TREASURE_EGG") == "Pay an egg (of 3)"
    assert say("TREASURE_FISH") == "Pay a fish, counting as another treasure"


def test_how_a_game_ends():
    snapshot = copy.deepcopy(next(state for state in STATES if state["winners"]))
    for seat, player in enumerate(snapshot["players"]):
        player["coins"] = 20 + seat
    snapshot["winners"] = [1]
    assert words.situation(snapshot) == "Seat 1 wins with 21 coins."
    assert words.situation(snapshot, 1) == "You win with 21 coins."
    snapshot["winners"] = [0, 1]
    assert words.situation(snapshot, 1) == "You and seat 0 share the win with 20 coins each."
    cut_off = next(state for state in STATES if state["truncated"])
    assert words.situation(cut_off) == f"Cut off after round {cut_off['round']}: nobody has won."


@pytest.mark.parametrize(
    ("events", "sentences"),
    [
        ([], []),
        ([("draw", 1, {"treasure": "egg"}), ("draw", 0, {"treasure": "fish"})], ["Seat 1 draws an egg, you a fish."]),
        ([("draw", 0, {"treasure": "egg"})] * 2, ["You draw 2 eggs."]),
        ([("draw", 2, {"treasure": None})], ["Seat 2 draws nothing."]),
        ([("reveal", None, {"card": "Red Serpent"})], ["The level shows Red Serpent ☠☠☠↑."]),
        (
            [("damage", 1, {"value": 2}), ("damage", 0, {"value": 2}), ("damage", 2, {"value": 1})],
            ["You and seat 1 lose 2 hearts.", "Seat 2 loses 1 heart."],
        ),
        ([("fall", 1, {}), ("fall", 2, {}), ("fall", 3, {})], ["Seats 1, 2 and 3 fall."]),
        (
            [("keep", 1, {"treasure": "egg", "value": 1}), ("discard", 1, {"treasure": "fish", "value": 2})],
            ["Seat 1 keeps an egg and discards 2 fish."],
        ),
        (
            [("pay", 1, {"treasure": "egg"}), ("pay", 1, {"treasure": "gear"}), ("buy", 1, {"building": "Cafe"})],
            ["Seat 1 pays an egg and a gear and buys the Cafe."],
        ),
        ([("pay", 0, {"treasure": "egg"})], ["You pay an egg."]),
        (
            [("pay", 0, {"treasure": "egg"})] * 2 + [("heart", 0, {"treasure": "egg", "value": 2})],
            ["You pay 2 eggs and buy a heart."],
        ),
        ([("buy", 2, {"building": "Lodge"})], ["Seat 2 buys the Lodge."]),
        ([("coins", 2, {"building": "Lodge", "value": 1})], ["Seat 2 gets 1 coin from the Lodge."]),
        ([("home", 2, {"value": 1})], ["Seat 2 goes home with 1 treasure."]),
        ([("first_player", 0, {})], ["You are first player."]),
        ([("end", 3, {})], ["Seat 3 wins."]),
    ],
)
def test_events_in_sentences(events, sentences):
    told = [
        {"step": 1, "event": event} | ({} if seat is None else {"seat": seat}) | more for event, seat, more in events
    ]
    assert words.tell(told, 0) == sentences


def test_everything_that_happens_is_told():
    games = dealt_games(MegalandConfig(3, LIVELY), 30, seed=3, record=True)
    play(games, np.random.default_rng(1))
    events = [event for game in range(30) for event in games.events(game)]
    events += [{"step": 0, "event": "market", "building": "Lodge"}, {"step": 0, "event": "first_player", "seat": 2}]
    assert {event["event"] for event in events} == {event.label for event in Event}
    phases = [event for event in events if event["event"] == "phase"]
    assert {event["phase"] for event in phases} == {"level", "buy", "night"}
    assert words.tell(phases) == []
    for event in (event for event in events if event["event"] != "phase"):
        (sentence,) = words.tell([event])
        assert sentence.endswith(".")
        if "seat" in event:
            assert f"Seat {event['seat']} " in sentence
            assert words.tell([event], event["seat"])[0].startswith("You ")
        for key in ("building", "card"):
            assert event.get(key, "") in sentence
        if event.get("treasure") and event["event"] != "heart":
            assert event["treasure"] in sentence
    assert all(treasure.label in " ".join(words.tell(events)) for treasure in Treasure)
