"""The tables of a tournament for the screen, with what its number of games can and cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from megaland_experiments.matches.line_ups import MIXED, PAIRS
from megaland_experiments.shared.intervals import CONFIDENCE, difference_found
from megaland_experiments.shared.output import in_table, percent
from megaland_experiments.strength.results import TELLING, Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from megaland_experiments.strength.result import Tournament

_PLURAL = {PAIRS: "pairs", MIXED: "mixed tables"}
PARTIAL_LIMIT = 60
"""Most rows of finished line-ups that are shown when a tournament is stopped."""


def show(result: Tournament, console: Console) -> None:
    """Print all tables of a tournament, for one number of players after the other."""
    for players in result.settings["players"]:
        console.print(standings_table(result, players))
        if PAIRS in result.settings["lineups"]:
            console.print(matrix_table(result, players))
        console.print(differences_table(result, players))
        console.print(seats_table(result, players))
        for sentence in what_it_tells(result, players):
            console.print(sentence, highlight=False)
        console.print()


def standings_table(result: Tournament, players: int) -> Any:
    """A table of the agents, best first."""
    table = _table(f"{players} players")
    kinds = _kinds(result, players)
    alone = "wins against one other" if players == 2 else f"wins, alone against {players - 1} of another"
    titles = {PAIRS: alone, MIXED: "wins at mixed tables"}
    for title in ("", "agent", "rating", *(titles[kind] for kind in kinds), "coins", "place"):
        table.add_column(title, justify="left" if title == "agent" else "right")
    standings = {(row["kind"], row["agent"]): row for row in _of(result.standings, players)}
    for number, row in enumerate(_of(result.ratings, players), start=1):
        cells = [standings[kind, row["agent"]] for kind in kinds]
        table.add_row(
            str(number),
            in_table(row["agent"]),
            _rating(row),
            *(_share(cell) for cell in cells),
            f"{cells[-1]['coins']:.1f}",
            f"{cells[-1]['place']:.2f}",
        )
    table.caption = f"Equals would win {percent(1 / players)}. All intervals are of {percent(CONFIDENCE, 0)}."
    return table


def matrix_table(result: Tournament, players: int) -> Any:
    """A matrix of win shares: one agent alone against each other."""
    order = [row["agent"] for row in _of(result.ratings, players)]
    shares = {(row["agent"], row["opponent"]): row["win_share"] for row in _of(result.head_to_head, players)}
    whom = "another" if players == 2 else f"{players - 1} of another"
    table = _table(f"{players} players: wins of one (row) against {whom} (column), in %")
    table.add_column("", justify="right")
    table.add_column("agent")
    for number in range(1, len(order) + 1):
        table.add_column(str(number), justify="right")
    for number, agent in enumerate(order, start=1):
        cells = ("" if agent == other else f"{100 * shares[agent, other]:.1f}" for other in order)
        table.add_row(str(number), in_table(agent), *cells)
    return table


def differences_table(result: Tournament, players: int) -> Any:
    """A table of differences between neighbours in the rating, on the same seeds."""
    order = [row["agent"] for row in _of(result.ratings, players)]
    table = _table(f"{players} players: lead in win share over the next, same tables and seeds, in points")
    for title in (
        "agent",
        "the next",
        "line-ups",
        "more",
        f"{percent(CONFIDENCE, 0)} interval",
        "clear",
        "games to tell 3",
    ):
        table.add_column(title, justify="left" if title in ("agent", "the next", "line-ups") else "right")
    ranked = [
        (sorted((order.index(row["agent"]), order.index(row["other"]))), row)
        for row in _of(result.differences, players)
    ]
    for (better, worse), row in sorted(ranked, key=lambda item: item[0]):
        if worse - better != 1 or row["kind"] not in _kinds(result, players):
            continue
        sign = 1 if row["agent"] == order[better] else -1
        low, high = sorted((sign * row["low"], sign * row["high"]))
        table.add_row(
            in_table(order[better]),
            in_table(order[worse]),
            row["kind"],
            f"{100 * sign * row['difference']:+.2f}",
            f"{100 * low:+.2f} to {100 * high:+.2f}",
            "yes" if low > 0 or high < 0 else "no",
            "" if row["games_needed"] is None else f"{row['games_needed']:,}",
        )
    return table


def seats_table(result: Tournament, players: int) -> Any:
    """A table of the win share of each seat, whoever sits there."""
    table = _table(f"{players} players: wins of each seat, whoever sits there")
    for title in ("place", "by seat", "by turn in the first round"):
        table.add_column(title, justify="right")
    shares = {(row["by"], row["position"]): row for row in _of(result.seats, players)}
    for position in range(players):
        table.add_row(str(position), _share(shares["seat", position]), _share(shares["turn", position]))
    return table


def what_it_tells(result: Tournament, players: int) -> list[str]:
    """Sentences on what the number of games can and cannot tell."""
    games = result.settings["games"]
    seeds = -(-games // players)
    sentences = []
    for kind in _kinds(result, players):
        rows = [row for row in _of(result.differences, players) if row["kind"] == kind]
        if any(row["deviation"] is None for row in rows):
            return ["Games on a single seed cannot tell how sure the results are; play more games."]
        widest = max(row["deviation"] for row in rows)
        needed = max(row["games_needed"] for row in rows)
        sentences.append(
            f"With {seeds * players:,} games a line-up, {_PLURAL[kind]} tell apart any two agents whose win shares "
            f"differ by {100 * difference_found(widest, seeds):.1f} points, four times out of five; "
            f"to tell {100 * TELLING:.0f} points apart you need about {needed:,} games a line-up."
        )
    return sentences


def _kinds(result: Tournament, players: int) -> list[str]:
    """The kinds of line-ups to show; at a table of two the mixed ones are the pairs."""
    kinds: list[str] = result.settings["lineups"]
    return [PAIRS] if players == 2 and PAIRS in kinds else kinds


def finished_table(rows: Sequence[Row]) -> Any:
    """A table of the finished line-ups of a tournament that was stopped."""
    more = len(rows) - PARTIAL_LIMIT
    table = _table("Finished line-ups" + (f" (and {more} rows more)" if more > 0 else ""))
    for title in ("players", "line-up", "agent", "games", "wins of a seat", "coins", "place"):
        table.add_column(title, justify="left" if title in ("line-up", "agent") else "right")
    for row in rows[:PARTIAL_LIMIT]:
        table.add_row(
            str(row["num_players"]),
            in_table(row["line_up"]),
            in_table(row["agent"]),
            f"{row['games']:,}",
            _share(row),
            f"{row['coins']:.1f}",
            f"{row['place']:.2f}",
        )
    return table


def _table(title: str) -> Any:
    from rich.table import Table

    return Table(title=title, title_justify="left", caption_justify="left")


def _of(rows: Sequence[Row], players: int) -> list[Row]:
    return [row for row in rows if row["num_players"] == players]


def _rating(row: Row) -> Text:
    from rich.text import Text

    interval = "" if row["low"] == row["high"] else f" {row['low']:.0f} to {row['high']:.0f}"
    return Text.assemble(f"{row['rating']:.0f}", (interval, "dim"))


def _share(row: Row) -> Text:
    from rich.text import Text

    return Text.assemble(
        f"{percent(row['win_share'])}  ", (f"{100 * row['low']:.1f} to {100 * row['high']:.1f}", "dim")
    )
