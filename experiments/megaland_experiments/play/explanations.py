"""Texts of ``megaland play``: the help, the odds, and the standings at the end."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np

from megaland_env import LevelCard, MegalandGames
from megaland_env.cards import HEART_COSTS, WINNING_COINS
from megaland_env.engine.odds import fall_chance
from megaland_env.render import words
from megaland_env.render.text import one_line
from megaland_env.snapshot import Snapshot

KEYS = """\
  1, 2, ...  choose what stands next to the number
  u          while you pay: take the purchase back and choose again
  o          the chance to fall on the next level card, with and without a jump
  b          the full board: what everyone owns, what is on offer, the piles
  h          everything that has happened since you were asked last
  ?          this help; ? NAME explains one level card or building: ? lodge
  Enter      show the question again
  q          leave the game; you are asked whether to save it"""

_ROUND = (
    "In a round everyone runs through the level and collects treasures. A player who loses the last heart falls and "
    "loses the treasures carried. Then all players buy with the treasures they have at home: a building of cost 4 "
    "takes 4 different treasures, a heart takes treasures of one type. At night each building stores one treasure, "
    f"and the rest are discarded. Once a player has {WINNING_COINS} coins at the end of a night, the player with the "
    "most coins wins.",
    "A jump token lets you jump over the next level card; it helps against cards with an arrow "
    f"({words.JUMPABLE}) only, and is lost in any case.",
    "Hearts: " + ", ".join(f"the {number}th costs {cost}" for number, cost in HEART_COSTS.items()) + " treasures of "
    "one type; nobody has more than 8.",
    "Each copy of a building works on its own, except Soap Makers.",
)
_NAME_WIDTH = 34


def help_sections(snapshot: Snapshot) -> list[tuple[str, list[str]]]:
    """The titles and paragraphs of the help: a round, every level card, and every building."""
    on_offer = [*snapshot["supply"]["buildings"]]
    others = [name for name in words.named_things() if name not in on_offer and not _is_level_card(name)]
    return [
        ("A ROUND", [*_ROUND]),
        ("LEVEL CARDS", [words.explain(card.label) for card in LevelCard]),
        ("BUILDINGS IN THIS GAME", [words.explain(name) for name in on_offer]),
        ("BUILDINGS OF OTHER GAMES", [words.explain(name) for name in others]),
    ]


def _is_level_card(name: str) -> bool:
    return name in [card.label for card in LevelCard]


def explain_named(name: str) -> str:
    """An explanation of the level card or building whose name begins like this, or a hint what names there are."""
    known = words.named_things()
    wanted = " ".join(name.lower().split())
    exact = [thing for thing in known if thing.lower() == wanted]
    found = exact or [thing for thing in known if thing.lower().startswith(wanted)]
    found = found or [thing for thing in known if wanted in thing.lower()]
    if len(found) == 1:
        return words.explain(found[0])
    shown = repr(one_line(name.strip()[:30]))
    if found:
        return f"{shown} may be {words.listed(found).replace(' and ', ' or ')}."
    near = difflib.get_close_matches(wanted, [thing.lower() for thing in known], n=1)
    hint = next((f"; did you mean {thing}?" for thing in known if near and thing.lower() == near[0]), ".")
    return f"There is no level card or building {shown}{hint}"


def odds_words(games: MegalandGames, viewer: int) -> list[str]:
    """The chance of each seat in the level to fall on the next card, and the cards on which it would fall."""
    snapshot = games.snapshot(0)
    unseen = words.unseen_cards(snapshot)
    inside = [seat for seat, player in enumerate(snapshot["players"]) if player["in_level"]]
    if not inside:
        return ["Nobody is in the level."]
    if not unseen:
        return ["No card is left to come: everyone in the level goes home."]
    lines = [f"The next card is one of {words.counted(len(unseen), 'card')}. To fall on it:"]
    for seat in sorted(inside, key=lambda seat: seat != viewer):
        jumps = snapshot["players"][seat]["jumps"]
        without, jumping = (_deadly(snapshot, seat, unseen, jumping=jumping) for jumping in (False, True))
        tokens = "" if jumps else f" ({'you have' if seat == viewer else 'has'} no token)"
        lines.append(
            f"{words.who(seat, viewer)}: {_chance(without, unseen)}; with a jump {_chance(jumping, unseen)}{tokens}"
        )
    return lines


def _deadly(snapshot: Snapshot, seat: int, unseen: Sequence[str], *, jumping: bool) -> list[str]:
    player = snapshot["players"][seat]
    hearts, soap = np.array(player["hearts"]), np.array(player["buildings"].get("Soap Makers", 0))
    cards = [card for card in LevelCard if card.label in unseen]
    return [card.label for card in cards if fall_chance(np.array(1 << card), hearts, soap, jumping) > 0]


def _chance(deadly: Sequence[str], unseen: Sequence[str]) -> str:
    named = f" ({', '.join(deadly)})" if deadly else ""
    return f"{100 * len(deadly) / len(unseen):.0f} %{named}"


def standings(snapshot: Snapshot, names: Sequence[str], viewer: int) -> list[str]:
    """The final places as a table. Equal players share the better place, as in sports."""
    players = snapshot["players"]
    coins = [player["coins"] for player in players]
    lines = [f" place  {'':{_NAME_WIDTH}}  coins  buildings  hearts"]
    for seat in sorted(range(len(players)), key=lambda seat: (-coins[seat], seat != viewer, seat)):
        player = players[seat]
        place = 1 + sum(other > coins[seat] for other in coins)
        name = one_line(names[seat])
        who = f"you, seat {seat}" if seat == viewer else f"seat {seat} {name}"
        who = who if len(who) <= _NAME_WIDTH else f"{who[: _NAME_WIDTH - 3]}..."
        owned = sum(player["buildings"].values())
        mark = "  won" if seat in snapshot["winners"] else ""
        lines.append(f" {place:>5}  {who:{_NAME_WIDTH}}  {coins[seat]:>5}  {owned:>9}  {player['max_hearts']:>6}{mark}")
    return lines
