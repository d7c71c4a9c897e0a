"""A board to read in a terminal: everything that is public in a game, at most 100 columns wide.

It is drawn from a snapshot alone, as lines of spans with a style each; these become plain text, text with ANSI colours,
or HTML. Nothing is said by colour only. All symbols are one column wide.
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from megaland_env.cards import Building, Treasure
from megaland_env.render import words
from megaland_env.snapshot import Snapshot

WIDTH = 100
"""The longest line, in columns."""

SYMBOLS = {"gear": "✲", "stone": "■", "egg": "●", "carrot": "▼", "crystal": "◆", "fish": "►"}
"""A shape for each treasure."""

Span = tuple[str, str]
"""A text and the name of its style."""

Line = list[Span]

# Style: (ANSI codes, CSS). The colours can be told apart by the colour-blind, and read on dark and on light.
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
_MARKET_COLUMNS = 4
_LONGEST_BUILDING = max(len(building.label) for building in Building)
_LONGEST_NAME = 24


def render_text(
    snapshot: Snapshot, *, colour: bool = True, viewer: int | None = None, names: Sequence[str] | None = None
) -> str:
    """The board as text.

    Args:
        snapshot: of ``games.snapshot``.
        colour: with ANSI escape codes; without, nothing is lost.
        viewer: a seat that is called "you" and stands first, the others following clockwise.
        names: (P,) who sits in each seat, to stand beside its number.

    Raises:
        ValueError: there is no such seat, or not one name for each.
    """
    return "\n".join(_line_text(line, colour) for line in _board(snapshot, viewer, names))


def render_html(snapshot: Snapshot, *, viewer: int | None = None, names: Sequence[str] | None = None) -> str:
    """The same as a ``<pre>`` element, for notebooks."""
    board = "\n".join("".join(map(_span_html, line)) for line in _board(snapshot, viewer, names))
    return f'<pre style="line-height:1.3;white-space:pre">{board}</pre>'


def styled(text: str, style: str, colour: bool) -> str:
    """A text in one of the styles of the board."""
    codes = _STYLES[style][0]
    return f"\x1b[{codes}m{text}\x1b[0m" if colour and codes else text


def wants_colour(stream: TextIO | None = None) -> bool:
    """Whether a stream (the standard output) is a terminal that shows colours, and nobody has said no to them."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def clear_screen(stream: TextIO | None = None) -> None:
    """Empty the screen, if the stream (the standard output) is one."""
    stream = sys.stdout if stream is None else stream
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        stream.write("\x1b[H\x1b[2J")


def show(text: str, stream: TextIO | None = None) -> None:
    """Print, with question marks for what the stream (the standard output) cannot encode."""
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


def _length(spans: Iterable[Span]) -> int:
    return sum(len(text) for text, _ in spans)


def _pad(spans: Line, width: int) -> Line:
    return [*spans, (" " * max(0, width - _length(spans)), "")]


def _wrapped(label: Line, items: Sequence[Line], separator: str = " · ") -> list[Line]:
    """Items one after the other, on as many lines as it takes, all to the right of the label."""
    indent = _length(label)
    lines: list[Line] = [list(label)]
    for number, item in enumerate(items):
        if number:
            if _length(lines[-1]) + len(separator) + _length(item) > WIDTH:
                lines.append([(" " * indent, "")])
            else:
                lines[-1].append((separator, "faint"))
        lines[-1] += item
    return lines


def _rule(title: str, note: str = "") -> Line:
    note = f" {note} ─" if note else ""
    line = "─" * (WIDTH - len(title) - len(note) - 3)
    return [("─ ", "faint"), (title, "title"), (f" {line}{note}", "faint")]


# ----------------------------------------------------------------------------------------------------- the board


def _board(snapshot: Snapshot, viewer: int | None, names: Sequence[str] | None) -> list[Line]:
    players = len(snapshot["players"])
    if viewer is not None and not 0 <= viewer < players:
        raise ValueError(f"viewer is {viewer}; the seats are 0 to {players - 1}")
    if names is not None and len(names) != players:
        raise ValueError(f"there are {len(names)} names for {players} seats")
    first = viewer or 0
    seats = [(first + place) % players for place in range(players)]
    titles = {seat: _seat_title(seat, viewer, names) for seat in seats}
    width = max(map(len, titles.values()))
    lines = [_header(snapshot), *_level(snapshot), _rule("SEATS", "♥ heart   ♡ heart lost   ★ first player")]
    for seat in seats:
        lines += _seat(snapshot, seat, titles[seat].ljust(width))
    lines += [*_market(snapshot), *_supplies(snapshot), _rule("NOW"), _now(snapshot, viewer)]
    return lines


def _header(snapshot: Snapshot) -> Line:
    phase = words.PHASES[snapshot["phase"]]
    longest = snapshot["config"]["max_rounds"]
    left: Line = [
        (" MEGALAND", "title"),
        (f"   round {snapshot['round']}", "strong"),
        (f" of at most {longest}", "faint"),
    ]
    left.append((f"   {phase}", "strong"))
    right = f"step {snapshot['steps']} "
    return [*_pad(left, WIDTH - len(right)), (right, "faint")]


def _level(snapshot: Snapshot) -> list[Line]:
    seen, unseen = snapshot["level_seen"], words.unseen_cards(snapshot)
    shown = [_card(name, "now" if name == snapshot["level_card"] else "") for name in seen]
    hidden = [_card(name, "") for name in unseen]
    nothing: list[Line] = [[("nothing", "faint")]]
    return [
        _rule("LEVEL", f"{words.SKULL} takes a heart   {words.JUMPABLE} can be jumped over"),
        *_wrapped([(f" {len(seen):2} seen     ", "strong")], shown or nothing),
        *_wrapped([(f" {len(unseen):2} to come  ", "strong")], hidden or nothing),
    ]


def _card(name: str, style: str) -> Line:
    title, marks = name, words.card_words(name)[len(name) :]
    if style:  # the last card is marked for those who see no colour, too
        return [(f"[{title}", style), (marks, style), ("]", style)]
    return [(title, ""), (marks, "danger")]


def _seat_title(seat: int, viewer: int | None, names: Sequence[str] | None) -> str:
    title = f"you, seat {seat}" if seat == viewer else f"seat {seat}"
    if names is None or seat == viewer:
        return title
    name = "".join(c if c.isascii() and c.isprintable() else "?" for c in names[seat])
    return f"{title} {name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + '...'}"


def _seat(snapshot: Snapshot, seat: int, title: str) -> list[Line]:
    player = snapshot["players"][seat]
    asked = seat in snapshot["active"]
    hearts, most = player["hearts"], player["max_hearts"]
    header: Line = [(" ▶ " if asked else "   ", "strong"), (title, "asked" if asked else "strong")]
    header.append((" ★ " if seat == snapshot["first_player"] else "   ", "coin"))
    header += _pad([("♥" * hearts, "heart"), ("♡" * (most - hearts), "faint"), (f" {hearts}/{most}", "")], 14)
    header += [(f"{words.counted(player['coins'], 'coin'):>8}", "coin"), ("   ", "")]
    jumps = player["jumps"]
    header += _pad([(words.counted(jumps, "jump token"), "" if jumps else "faint")], 17)
    header += [(part, style) for part, style in _place(snapshot, seat)]
    lines = [header]
    here, home = player["carried"], player["home"]
    if here or player["in_level"]:
        lines.append(_hand("carried", here))
    if home or not (here or player["in_level"]):
        lines.append(_hand("at home", home))
    lines += _extras(snapshot, seat)
    if player["buildings"]:
        owned: list[Line] = [
            [(name, ""), (f" {_TIMES}{n}" if n > 1 else "", "strong")] for name, n in player["buildings"].items()
        ]
        lines += _wrapped([(f"{_INDENT}{'owns':{_LABEL}}", "faint")], owned)
    return lines


def _place(snapshot: Snapshot, seat: int) -> list[Span]:
    player = snapshot["players"][seat]
    if snapshot["phase"] == "over":
        return [("WINNER", "coin")] if seat in snapshot["winners"] else []
    if seat == snapshot["buyer"]:
        return [("buying", "strong")]
    where = words.place(player)
    return [(where, {"home": "", "fallen": "faint", "falling": "danger"}.get(where, "strong"))]


def _hand(label: str, hand: Mapping[str, int]) -> Line:
    line: Line = [(f"{_INDENT}{f'{label} {sum(hand.values())}':{_LABEL}}", "faint")]
    return [*line, *_slots(hand, blank=True)]


def _slots(hand: Mapping[str, int], *, blank: bool) -> Line:
    """The six treasures, each in a place of its own, so that hands can be compared by looking down a column."""
    line: Line = []
    for treasure in Treasure:
        name, number = treasure.label, hand.get(treasure.label, 0)
        slot: Line = [(SYMBOLS[name], name), (f"{number:3} ", "strong"), (name, name)]
        if not number:
            text = "".join(part for part, _ in slot)
            slot = [(" " * len(text) if blank else text, "faint")]
        line += [*slot, ("   ", "")]
    return line


def _extras(snapshot: Snapshot, seat: int) -> list[Line]:
    """What is there only now and then: treasures picked, bought and paid this turn, wild treasures used this round."""
    player, pay = snapshot["players"][seat], snapshot["pay"]
    said: list[tuple[str, list[str]]] = []
    if player["picks_left"] or player["picked"]:
        picks = [f"picked {_in_symbols(player['picked'])}"] if player["picked"] else []
        said.append(("picks", [*picks, f"{player['picks_left']} to pick"]))
    if player["bought"]:
        said.append(("bought", player["bought"]))
    if pay is not None and seat == snapshot["buyer"]:
        paid = [f"paid {_in_symbols(pay['paid'])}"] if pay["paid"] else []
        said.append(("pays", [f"{words.purchase(pay)}, cost {pay['cost']}", *paid]))
    used = player["wild_used"]
    owned, buys = player["buildings"], seat == snapshot["buyer"]
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
        lines += _wrapped([(f"{_INDENT}{label:{_LABEL}}", "faint")], [[(part, "")] for part in parts])
    return lines


def _in_symbols(hand: Mapping[str, int]) -> str:
    return "  ".join(f"{SYMBOLS[name]} {number} {name}" for name, number in hand.items())


def _market(snapshot: Snapshot) -> list[Line]:
    """The buildings on offer, down the columns: stars first, as they stand in the rules."""
    on_offer = [*snapshot["supply"]["buildings"].items()]
    bought = {name for player in snapshot["players"] for name in player["bought"]}
    cells: list[Line] = []
    for name, left in on_offer:
        mark = "★" if words.is_star(name) else " "
        text = f"{mark}{words.cost_of(name)} {name:{_LONGEST_BUILDING}}{f'{_TIMES}{left}':>3}"
        cells.append([(text, "" if left and name not in bought else "faint")])
    rows = -(-len(cells) // _MARKET_COLUMNS)
    lines = [_rule("ON OFFER", f"★ star   cost, name, {_TIMES}copies left")]
    for row in range(rows):
        line: Line = []
        for cell in cells[row::rows]:
            line += [(" ", ""), *cell]
        lines.append(line)
    return lines


def _supplies(snapshot: Snapshot) -> list[Line]:
    supply = snapshot["supply"]
    lines = [_rule("SUPPLIES")]
    for label, key in (("deck", "treasure_deck"), ("discard", "discard")):
        pile = snapshot[key]
        lines.append([(f" {label:8}{sum(pile.values()):3}    ", "strong"), *_slots(pile, blank=False)])
    left = f" hearts  {supply['hearts']:3}    jump tokens {supply['jumps']}"
    lines.append([(left, "strong")])
    return lines


def _now(snapshot: Snapshot, viewer: int | None) -> Line:
    return [(f" {words.situation(snapshot, viewer)}", "strong")]
