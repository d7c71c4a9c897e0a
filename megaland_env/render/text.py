"""The board as text for a terminal: a full one with everything public, 80 to 100 columns wide, and a compact one.

It is drawn from a snapshot alone, as lines of spans with one style each, which become plain text, text with ANSI
colours, or HTML. Nothing is shown by colour alone. All symbols are one column wide.
"""

from __future__ import annotations

import html
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TextIO

from megaland_env.cards import Building, Treasure
from megaland_env.outside_text import MOST_SHOWN, printable
from megaland_env.render import words
from megaland_env.snapshot import Snapshot

WIDTH = 100
"""Default width of the full board, in columns."""

NARROW = 80
"""Default width of the compact board, and the smallest width of the full board."""

SYMBOLS = {"gear": "✲", "stone": "■", "egg": "●", "carrot": "▼", "crystal": "◆", "fish": "►"}
"""Symbols of the treasures."""

Span = tuple[str, str]
"""A text and the name of its style."""

Line = list[Span]

# Style: (ANSI codes, CSS). The colours suit colour-blind readers, and dark and light backgrounds.
_STYLES = {
    "": ("", ""),
    "strong": ("1", "font-weight:bold"),
    "faint": ("2", "opacity:0.6"),
    "title": ("1;38;5;32", "font-weight:bold;color:#0072b2"),
    "asked": ("1;7", "font-weight:bold;background:#0072b2;color:#ffffff"),
    "heart": ("38;5;161", "color:#c2185b"),
    "coin": ("1;38;5;136", "font-weight:bold;color:#9a6700"),
    "danger": ("38;5;166", "color:#c04f00"),
    "now": ("1;4;38;5;166", "font-weight:bold;text-decoration:underline;color:#c04f00"),
    "gear": ("38;5;66", "color:#4d7078"),
    "stone": ("38;5;244", "color:#7a7a7a"),
    "egg": ("38;5;136", "color:#9a6700"),
    "carrot": ("38;5;166", "color:#c04f00"),
    "crystal": ("38;5;133", "color:#a0459a"),
    "fish": ("38;5;32", "color:#0072b2"),
}
_TIMES = "\N{MULTIPLICATION SIGN}"
_INDENT = "    "
_LABEL = 12  # columns of "carried 12" and what follows it
_LONGEST_BUILDING = max(len(building.label) for building in Building)
_LONGEST_TITLE = 32
_SEAT_FACTS = 59  # columns of a seat's header other than its title
_COMPACT_LABEL = " {:9}  "
_MARKS = 2  # columns of the marks for a seat that is asked, and for the first player
_ENOUGH_TITLE = 16  # columns in which most names can be told apart


def render_text(
    snapshot: Snapshot,
    *,
    colour: bool = True,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
    width: int = WIDTH,
) -> str:
    """The board as text.

    Args:
        snapshot: from ``games.snapshot``.
        colour: use ANSI escape codes; no information is lost without them.
        viewer: the seat that is called "you" and listed first; the others follow clockwise.
        names: (P,) names of the players, shown next to the numbers of their seats; long names are shortened.
        width: width in columns, at least 80.

    Raises:
        ValueError: there is no such seat, the number of names is not P, or the width is too small.
    """
    return _joined(_Board(snapshot, viewer, names, width).lines(), colour)


def render_compact(
    snapshot: Snapshot,
    *,
    colour: bool = True,
    viewer: int | None = None,
    names: Sequence[str] | None = None,
    width: int = NARROW,
    brief: bool = False,
) -> str:
    """The most important parts of the board as text, with one line for each seat.

    The buildings of the other players, the buildings on offer and the piles are left out. The arguments are those of
    ``render_text``, except ``brief``, and so are the errors.

    Args:
        snapshot: from ``games.snapshot``.
        colour: use ANSI escape codes.
        viewer: the seat that is called "you" and listed first.
        names: (P,) names of the players.
        width: width in columns, at least 80.
        brief: also leave out what the viewer owns and what was bought this turn.
    """
    return _joined(_Board(snapshot, viewer, names, width).compact_lines(brief), colour)


def render_html(snapshot: Snapshot, *, viewer: int | None = None, names: Sequence[str] | None = None) -> str:
    """The full board as a ``<pre>`` element, for notebooks."""
    board = "\n".join("".join(map(_span_html, line)) for line in _Board(snapshot, viewer, names, WIDTH).lines())
    return f'<pre style="line-height:1.3;white-space:pre">{board}</pre>'


def check_table(snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None) -> None:
    """Check the viewer of a game and the names of its players.

    Raises:
        ValueError: there is no seat ``viewer``, or the number of names is not the number of seats.
    """
    players = len(snapshot["players"])
    if viewer is not None and not 0 <= viewer < players:
        raise ValueError(f"viewer is {viewer}; the seats are 0 to {players - 1}")
    if names is not None and len(names) != players:
        raise ValueError(f"there are {len(names)} names for {players} seats")


def one_line(name: str) -> str:
    """Make a name safe to show anywhere: one short line of characters that are one column wide each."""
    return "".join("?" if _is_wide(character) else character for character in printable(name, MOST_SHOWN))


def _is_wide(character: str) -> bool:
    """Whether a character is two columns wide, or has no width."""
    return unicodedata.east_asian_width(character) in "WF" or unicodedata.category(character) in ("Mn", "Me")


def styled(text: str, style: str, colour: bool) -> str:
    """Apply one of the styles of the board to a text."""
    codes = _STYLES[style][0]
    return f"\x1b[{codes}m{text}\x1b[0m" if colour and codes else text


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether a stream, by default standard output, is a terminal with colours, and ``NO_COLOR`` is not set."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def clear_screen(stream: TextIO | None = None) -> None:
    """Clear the screen if the stream, by default standard output, is a terminal."""
    stream = sys.stdout if stream is None else stream
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        stream.write("\x1b[H\x1b[2J")


def show(text: str, stream: TextIO | None = None) -> None:
    """Print to a stream, by default standard output, with ``?`` for characters that it cannot encode."""
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


# ----------------------------------------------------------------------------------------------------- spans


def _line_text(line: Line, colour: bool) -> str:
    text = "".join(styled(text, style, colour) for text, style in line)
    return text if colour else text.rstrip()


def _span_html(span: Span) -> str:
    text, style = span
    css = _STYLES[style][1]
    escaped = html.escape(text)
    return f'<span style="{css}">{escaped}</span>' if css else escaped


def _joined(lines: Iterable[Line], colour: bool) -> str:
    return "\n".join(_line_text(line, colour) for line in lines)


def _length(spans: Iterable[Span]) -> int:
    return sum(len(text) for text, _ in spans)


def _pad(spans: Line, width: int) -> Line:
    return [*spans, (" " * max(0, width - _length(spans)), "")]


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(0, room - 3)].rstrip()}..."[:room]


# ----------------------------------------------------------------------------------------------------- the board


class _Board:
    """The lines of the board.

    Args:
        snapshot: the game.
        viewer: the seat of the viewer, or ``None``.
        names: names of the players, or ``None``.
        width: width in columns.
    """

    def __init__(self, snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None, width: int) -> None:
        check_table(snapshot, viewer, names)
        if width < NARROW:
            raise ValueError(f"width is {width}; the board needs at least {NARROW} columns")
        self.snapshot = snapshot
        self.viewer = viewer
        self.width = width
        self.names = None if names is None else [one_line(name) for name in names]
        first, players = viewer or 0, len(snapshot["players"])
        self.seats = [(first + place) % players for place in range(players)]

    def lines(self) -> list[Line]:
        """The full board."""
        lines = [self._header(f" of at most {self.snapshot['config']['max_rounds']}"), *self._level()]
        lines.append(self._rule("SEATS", "♥ heart   ♡ heart lost   ★ first player"))
        titles = self._titles(min(self.width - _SEAT_FACTS, _LONGEST_TITLE))
        for seat in self.seats:
            lines += self._seat(seat, titles[seat])
        lines += [*self._market(), *self._supplies(), self._rule("NOW")]
        return [*lines, *self._wrapped([(" ", "")], self._situation(), " ")]

    def compact_lines(self, brief: bool) -> list[Line]:
        """The compact board."""
        lines = [self._header("")]
        if self.snapshot["phase"] == "level":
            lines += self._next_cards()
        lines += self._table()
        for seat in self.seats:
            if seat in (self.viewer, self.snapshot["buyer"]) or self.viewer is None:
                label = None if seat == self.viewer else f"seat {seat}"
                lines += self._extras(seat, _COMPACT_LABEL, label, brief)
        if self.viewer is not None and not brief:
            lines += self._owned(self.viewer, " you own")
        return lines

    # ------------------------------------------------------------------------------------------------- small pieces

    def _wrapped(self, label: Line, items: Sequence[Line], separator: str = " · ") -> list[Line]:
        """Write items one after the other, on as many lines as needed, all to the right of the label."""
        indent = _length(label)
        lines: list[Line] = [list(label)]
        for number, item in enumerate(items):
            if number:
                if _length(lines[-1]) + len(separator) + _length(item) > self.width:
                    lines.append([(" " * indent, "")])
                else:
                    lines[-1].append((separator, "faint"))
            lines[-1] += item
        return lines

    def _rule(self, title: str, note: str = "") -> Line:
        note = f" {note} ─" if note else ""
        line = "─" * (self.width - len(title) - len(note) - 3)
        return [("─ ", "faint"), (title, "title"), (f" {line}{note}", "faint")]

    def _titles(self, room: int) -> dict[int, str]:
        """Titles of the seats, padded to the same length, which is at most ``room``."""
        titles = {}
        for seat in self.seats:
            title = f"you, seat {seat}" if seat == self.viewer else f"seat {seat}"
            if self.names is not None and seat != self.viewer and self.names[seat]:
                title = _cut(f"{title} {self.names[seat]}", room)
            titles[seat] = title
        longest = max(map(len, titles.values()))
        return {seat: title.ljust(longest) for seat, title in titles.items()}

    def _situation(self) -> list[Line]:
        return [[(word, "strong")] for word in words.situation(self.snapshot, self.viewer).split()]

    # ------------------------------------------------------------------------------------------------- the full board

    def _header(self, note: str) -> Line:
        phase = words.PHASES[self.snapshot["phase"]]
        left: Line = [(" MEGALAND", "title"), (f"   round {self.snapshot['round']}", "strong"), (note, "faint")]
        left.append((f"   {phase}", "strong"))
        right = f"step {self.snapshot['steps']}"
        return [*_pad(left, self.width - len(right) - 1), (f" {right}", "faint")]

    def _level(self) -> list[Line]:
        seen, unseen = self.snapshot["level_seen"], words.unseen_cards(self.snapshot)
        shown = [_card(name, "now" if name == self.snapshot["level_card"] else "") for name in seen]
        hidden = [_card(name, "") for name in unseen]
        nothing: list[Line] = [[("nothing", "faint")]]
        notes: list[Line] = [[(f"{card.label}: {note}", "faint")] for card, note in words.CARD_NOTES.items()]
        return [
            self._rule("LEVEL", f"{words.SKULL} takes a heart   {words.JUMPABLE} can be jumped over"),
            *self._wrapped([(f" {len(seen):2} seen     ", "strong")], shown or nothing),
            *self._wrapped([(f" {len(unseen):2} to come  ", "strong")], hidden or nothing),
            *self._wrapped([("    special  ", "faint")], notes),
        ]

    def _seat(self, seat: int, title: str) -> list[Line]:
        player = self.snapshot["players"][seat]
        asked = seat in self.snapshot["active"]
        hearts, most = player["hearts"], player["max_hearts"]
        header: Line = [(" ▶ " if asked else "   ", "strong"), (title, "asked" if asked else "strong")]
        header.append((" ★ " if seat == self.snapshot["first_player"] else "   ", "coin"))
        header += _pad([("♥" * hearts, "heart"), ("♡" * (most - hearts), "faint"), (f" {hearts}/{most}", "")], 13)
        header += [(f"{words.counted(player['coins'], 'coin'):>8}", "coin"), ("   ", "")]
        jumps = player["jumps"]
        header += _pad([(words.counted(jumps, "jump token"), "" if jumps else "faint")], 16)
        header += self._place(seat)
        lines = [header]
        here, home = player["carried"], player["home"]
        if here or player["in_level"]:
            lines.append(self._hand("carried", here))
        if home or not (here or player["in_level"]):
            lines.append(self._hand("at home", home))
        return [
            *lines,
            *self._extras(seat, f"{_INDENT}{{:{_LABEL}}}"),
            *self._owned(seat, f"{_INDENT}{'owns':{_LABEL}}"),
        ]

    def _place(self, seat: int) -> list[Span]:
        player = self.snapshot["players"][seat]
        if self.snapshot["phase"] == "over":
            return [("WINNER", "coin")] if seat in self.snapshot["winners"] else []
        if seat == self.snapshot["buyer"]:
            return [("buying", "strong")]
        where = words.place(player)
        return [(where, {"home": "", "fallen": "faint", "falling": "danger"}.get(where, "strong"))]

    def _hand(self, label: str, hand: Mapping[str, int]) -> Line:
        line: Line = [(f"{_INDENT}{f'{label} {sum(hand.values())}':{_LABEL}}", "faint")]
        return [*line, *self._slots(hand, blank=True)]

    def _slots(self, hand: Mapping[str, int], *, blank: bool) -> Line:
        """The six treasures, each at a fixed position, so that hands can be compared down a column."""
        line: Line = []
        gap = "   " if self.width == WIDTH else " "
        for treasure in Treasure:
            name, number = treasure.label, hand.get(treasure.label, 0)
            slot: Line = [(SYMBOLS[name], name), (f"{number:3} ", "strong"), (name, name)]
            if not number:
                text = "".join(part for part, _ in slot)
                slot = [(" " * len(text) if blank else text, "faint")]
            line += [*([(gap, "")] if line else []), *slot]
        return line

    def _extras(self, seat: int, form: str, who: str | None = None, brief: bool = False) -> list[Line]:
        """Lines needed only sometimes: treasures picked, purchases of this turn, wild treasures of this round."""
        player, pay = self.snapshot["players"][seat], self.snapshot["pay"]
        said: list[tuple[str, list[str]]] = []
        if player["picks_left"] or player["picked"]:
            said.append(("picks", [*_in_symbols("picked", player["picked"]), f"{player['picks_left']} to pick"]))
        if player["bought"] and not brief:
            said.append(("bought", player["bought"]))
        if pay is not None and seat == self.snapshot["buyer"]:
            what = f"{words.purchase(pay)}, cost {pay['cost']}"
            said.append(("pays", [what, *_in_symbols("paid", pay["paid"])]))
        used = player["wild_used"]
        owned, buys = player["buildings"], seat == self.snapshot["buyer"]
        wild = [
            f"{used[name]} of {owned.get(building.label, 0)} {what} used"
            for name, what, building in (
                ("fish", "fish", Building.FISH_VENDOR),
                ("carrot", "carrots", Building.ROOT_MARKET),
            )
            if used[name] or (buys and building.label in owned)
        ]
        if wild:
            said.append(("wild", wild))
        lines: list[Line] = []
        for label, parts in said:
            label = label if who is None else f"{who} {label}"
            lines += self._wrapped([(form.format(label), "faint")], [[(part, "")] for part in parts])
        return lines

    def _owned(self, seat: int, label: str) -> list[Line]:
        owned: list[Line] = [
            [(name, ""), (f" {_TIMES}{number}" if number > 1 else "", "strong")]
            for name, number in self.snapshot["players"][seat]["buildings"].items()
        ]
        return self._wrapped([(label, "faint"), ("" if label.endswith(" ") else "  ", "")], owned) if owned else []

    def _market(self) -> list[Line]:
        """The buildings on offer, with the effects of those that somebody owns or can buy."""
        players = self.snapshot["players"]
        bought = {name for player in players for name in player["bought"]}
        owned = {name for player in players for name in player["buildings"]}
        lines = [self._rule("ON OFFER", f"★ star   cost, name, {_TIMES}copies left")]
        for name, left in self.snapshot["supply"]["buildings"].items():
            mark = "★" if words.is_star(name) else " "
            text = f" {mark}{words.cost_of(name)} {name:{_LONGEST_BUILDING}}{f'{_TIMES}{left}':>4}  "
            style = "" if left and name not in bought else "faint"
            effects = [[(word, style)] for word in words.building_words(name).split()] if left or name in owned else []
            lines += self._wrapped([(text, style)], effects, " ")
        return lines

    def _supplies(self) -> list[Line]:
        supply = self.snapshot["supply"]
        lines = [self._rule("SUPPLIES")]
        for label, key in (("deck", "treasure_deck"), ("discard", "discard")):
            pile = self.snapshot[key]
            lines.append([(f" {label:8}{sum(pile.values()):3}    ", "strong"), *self._slots(pile, blank=False)])
        left = f" hearts  {supply['hearts']:3}    jump tokens {supply['jumps']}"
        lines.append([(left, "strong")])
        return lines

    # ------------------------------------------------------------------------------------------------- the compact one

    def _next_cards(self) -> list[Line]:
        unseen = [_card(name, "") for name in words.unseen_cards(self.snapshot)]
        last = self.snapshot["level_card"]
        lines: list[Line] = []
        if last is not None:
            lines.append([(_COMPACT_LABEL.format("last card"), "faint"), *_card(last, "now")])
        nothing: list[Line] = [[("nothing", "faint")]]
        return [*lines, *self._wrapped([(_COMPACT_LABEL.format("to come"), "faint")], unseen or nothing)]

    def _table(self) -> list[Line]:
        """One line for each seat, below a legend and the headings of the columns.

        The columns are as wide as their contents, and the names get the rest of the line. If that is too little, the
        hands are written without blanks.
        """
        legend = "  ".join(f"{symbol} {name}" for name, symbol in SYMBOLS.items())
        for blank in (" ", ""):
            columns = [[[(head, "faint")], *(cell(seat) for seat in self.seats)] for head, cell in self._columns(blank)]
            widths = [max(map(_length, column)) for column in columns]
            room = self.width - sum(widths) - 2 * len(widths) - _MARKS
            titles = self._titles(min(room, _LONGEST_TITLE))
            if room >= _ENOUGH_TITLE:
                break
        longest = len(titles[self.seats[0]])
        lines: list[Line] = [self._rule(legend, "★ first player")]
        for row, seat in enumerate([None, *self.seats]):
            asked, first = seat in self.snapshot["active"], seat == self.snapshot["first_player"]
            title = "" if seat is None else titles[seat]
            line: Line = [("▶" if asked else " ", "strong"), ("★" if first else " ", "coin")]
            line += _pad([(title, "asked" if asked else "strong")], longest)
            for column, width in zip(columns, widths, strict=True):
                line += [("  ", ""), *_pad(column[row], width)]
            lines.append(line)
        return lines

    def _columns(self, blank: str) -> list[tuple[str, Callable[[int], Line]]]:
        """The heading of each column, and a function that returns its content for a seat."""
        players = self.snapshot["players"]

        def hearts(seat: int) -> Line:
            held, most = players[seat]["hearts"], players[seat]["max_hearts"]
            return [("♥" * held, "heart"), ("♡" * (most - held), "faint")]

        def number(key: str, style: str, what: str) -> Callable[[int], Line]:
            return lambda seat: [(f"{players[seat][key]:>{len(what)}}", style if players[seat][key] else "faint")]

        def level(seat: int) -> Line:
            player = players[seat]
            carried = _hand_in_symbols(player["carried"], blank)
            if not player["in_level"] and not carried:
                return [*self._place(seat)]
            mark = "falls: " if player["falling"] else words.JUMPABLE if player["jumping"] else ""
            return [(mark, "danger"), *(carried or [("nothing", "faint")])]

        def home(seat: int) -> Line:
            return _hand_in_symbols(players[seat]["home"], blank) or [("nothing", "faint")]

        def owned(seat: int) -> Line:
            copies = sum(players[seat]["buildings"].values())
            return [(f"{copies:>4}", "" if copies else "faint")]

        return [
            ("hearts", hearts),
            ("coins", number("coins", "coin", "coins")),
            ("jumps", number("jumps", "", "jumps")),
            ("in the level", level),
            ("at home", home),
            ("owns", owned),
        ]


def _card(name: str, style: str) -> Line:
    title, marks = name, words.card_words(name)[len(name) :]
    if style:  # brackets mark the last card for readers without colours
        return [(f"[{title}", style), (marks, style), ("]", style)]
    return [(title, ""), (marks, "danger")]


def _in_symbols(label: str, hand: Mapping[str, int]) -> list[str]:
    """The treasures of a hand one by one, with a label before the first: ``["paid ■ 2 stone", "● 1 egg"]``."""
    parts = [f"{SYMBOLS[name]} {number} {name}" for name, number in hand.items()]
    return [f"{label} {parts[0]}", *parts[1:]] if parts else []


def _hand_in_symbols(hand: Mapping[str, int], blank: str) -> Line:
    """A hand in short form: ``"■2 ▼1"``."""
    line: Line = []
    for name, number in hand.items():
        line += [(blank if line else "", ""), (SYMBOLS[name], name), (str(number), "strong")]
    return line
