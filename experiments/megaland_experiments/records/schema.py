"""The tables of recorded games: every column with its type, unit and meaning.

``megaland simulate`` writes Parquet files with these columns; ``megaland_experiments.records.load`` reads them, and so
does any other reader of Parquet. ``docs/records.md`` is generated from this module.

Decisions, actions, events, treasures, level cards and buildings are text, named as in the rules. The columns of a
building or a treasure end with its name (``offers_lodge``, ``home_egg``). A missing value is null, never -1, and occurs
only in columns whose meaning says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from megaland_env import Building, Kind, LevelCard, Treasure, action_name
from megaland_env.actions import NUM_ACTIONS
from megaland_env.cards import NORMAL_BUILDINGS
from megaland_env.engine.events import Event

SCHEMA_VERSION = 1
"""Changes whenever a column is added, dropped, renamed, or changes its meaning."""

ACTIONS = tuple(map(action_name, range(NUM_ACTIONS)))
KINDS = tuple(kind.label for kind in Kind)
EVENTS = tuple(event.label for event in Event if event != Event.PHASE)
"""The events of the table. The beginning of a phase is not one of them: the table has a column for it."""
PHASES = ("setup", "level", "buy", "night")
TREASURES = tuple(treasure.label for treasure in Treasure)
LEVEL_CARDS = tuple(card.label for card in LevelCard)
BUILDINGS = tuple(building.label for building in Building)
HEART = "heart"

IN_THE_RUN_MODEL = (
    Building.SOAP_MAKERS,
    Building.HERB_HUT,
    Building.LABORATORY,
    Building.BAZAAR_OF_ODDITIES,
    Building.TEMPLE_OF_ZOZ,
)
"""The buildings that change the value of a level run to their owner (``run_solver.py``)."""


def building_column(prefix: str, building: Building) -> str:
    """The name of the column of a building, such as ``"offers_lodge"``."""
    return f"{prefix}_{building.name.lower()}"


class Column(NamedTuple):
    """One column.

    Attributes:
        name: name in the table.
        type: Polars type; ``AGENT`` or ``LINE_UP`` for an enumeration whose names belong to a set of records.
        unit: unit of the values, or an empty string.
        meaning: meaning in words.
        nullable: whether values may be null; ``meaning`` says when.
    """

    name: str
    type: pl.DataType | str
    unit: str
    meaning: str
    nullable: bool = False


AGENT, LINE_UP = "agent", "line-up"

_U8, _U16, _U32, _U64 = pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()
_I16, _F32, _F64, _BOOL = pl.Int16(), pl.Float32(), pl.Float64(), pl.Boolean()
_KIND, _ACTION = pl.Enum(KINDS), pl.Enum(ACTIONS)
_EVENT, _PHASE, _ITEM = pl.Enum(EVENTS), pl.Enum(PHASES), pl.Enum((*TREASURES, *LEVEL_CARDS, *BUILDINGS))
_CARD, _BUYING = pl.Enum(LEVEL_CARDS), pl.Enum((*BUILDINGS, HEART))

_GAME = Column("game", _U32, "", "number of the game in the set, from 0; the key that joins all tables")
_PLAYERS = Column("num_players", _U8, "players", "players in the game, 2 to 5")
_SEAT = Column("seat", _U8, "", "seat, from 0, clockwise")
_AGENT = Column("agent", AGENT, "", "agent in the seat, under the name that was given")
_ROUND = Column("round", _U16, "", "round, from 1")

GAMES = (
    _GAME,
    _PLAYERS,
    Column("seed", _U64, "", "seed of the game; no two games share one"),
    Column("line_up", LINE_UP, "", "agents at the table, whatever their order"),
    Column("first_player", _U8, "seat", "seat that begins in the first round"),
    Column("rounds", _U16, "rounds", "rounds played"),
    Column("steps", _U32, "moments", "decision moments; players who decide at the same time share one"),
    Column("truncated", _BOOL, "", "the game was cut off after the maximum number of rounds; nobody won"),
    Column("num_winners", _U8, "players", "winners: more than 1 for a shared win, 0 if truncated"),
    Column("most_coins", _I16, "coins", "coins of the richest player at the end"),
    *(
        Column(building_column("offers", building), _BOOL, "", f"{building.label} is on offer")
        for building in NORMAL_BUILDINGS
    ),
)

SEATS = (
    _GAME,
    _PLAYERS,
    _SEAT,
    _AGENT,
    Column("turn", _U8, "", "place in the turn order of the first round, from 0"),
    Column("won", _BOOL, "", "the seat won, alone or with others"),
    Column("win_share", _F64, "wins", "1 / number of winners for each winner, 0 for the others"),
    Column("place", _U8, "", "place by coins, from 1; equal players share the better place"),
    Column("coins", _I16, "coins", "coins at the end"),
    Column("margin", _I16, "coins", "own coins at the end minus those of the richest other player"),
    Column("max_hearts", _U8, "hearts", "hearts owned at the end; every player begins with 4"),
    Column("jumps", _U8, "jump tokens", "jump tokens left at the end"),
    Column("home", _U8, "treasures", "treasures stored at the end"),
    Column("buildings", _U8, "buildings", "buildings owned at the end"),
    Column("decisions", _U32, "decisions", "decisions made by the seat; forced moves do not count"),
    Column("runs_home", _U16, "runs", "level runs from which the seat returned home"),
    Column("falls", _U16, "runs", "level runs that ended in a fall"),
    Column("stays", _U16, "times", "the seat stayed in the level"),
    Column("treasures_home", _U32, "treasures", "treasures carried home"),
    Column("treasures_lost", _U32, "treasures", "treasures discarded in falls"),
    Column(
        "treasures_unstored", _U32, "treasures", "treasures discarded at night because no building could store them"
    ),
    Column("treasures_paid", _U32, "treasures", "treasures paid for buildings and hearts"),
    Column("jumped", _U16, "jump tokens", "jump tokens used"),
    Column("trades", _U16, "times", "the seat traded with the Rabbit"),
    Column("swaps", _U16, "treasures", "treasures swapped by Reptile Stables"),
    *(
        Column(building_column("owns", building), _U8, "copies", f"copies of {building.label} at the end")
        for building in Building
    ),
)

ROUNDS = (
    _GAME,
    _PLAYERS,
    _SEAT,
    _AGENT,
    _ROUND,
    Column("turn", _U8, "", "place in the turn order of this round, from 0"),
    Column("coins", _I16, "coins", "coins at the end of the round"),
    Column("max_hearts", _U8, "hearts", "hearts owned at the end of the round"),
    Column("jumps", _U8, "jump tokens", "jump tokens at the end of the round"),
    Column("home", _U8, "treasures", "treasures stored at the end of the round"),
    Column("buildings", _U8, "buildings", "buildings owned at the end of the round"),
    Column("coins_gained", _I16, "coins", "coins gained in this round"),
    Column("fell", _BOOL, "", "the seat fell in this level; otherwise it returned home"),
    Column("stays", _U8, "times", "the seat stayed in the level"),
    Column("damage", _U8, "hearts", "hearts lost in the level"),
    Column("jumped", _U8, "jump tokens", "jump tokens used"),
    Column("draws", _U8, "treasures", "treasures drawn, in the level or elsewhere"),
    Column("treasures_home", _U8, "treasures", "treasures carried home"),
    Column("treasures_lost", _U8, "treasures", "treasures discarded in a fall"),
    Column("treasures_unstored", _U8, "treasures", "treasures discarded at night because no building could store them"),
    Column("treasures_paid", _U8, "treasures", "treasures paid for buildings and hearts"),
    Column("trades", _U8, "times", "the seat traded with the Rabbit"),
    Column("swaps", _U8, "treasures", "treasures swapped by Reptile Stables"),
    Column("bought", _U8, "buildings", "buildings bought"),
    Column("hearts_bought", _U8, "hearts", "hearts bought"),
)

DECISIONS = (
    _GAME,
    _PLAYERS,
    _SEAT,
    _AGENT,
    _ROUND,
    Column("step", _U32, "", "number of the decision moment in its game, from 1; its events have the same number"),
    Column("kind", _KIND, "", f"kind of decision: {', '.join(KINDS[1:])}"),
    Column("action", _ACTION, "", "action chosen, such as STAY or BUY_LODGE"),
    Column("legal", _U64, "", "legal actions: bit a is set for action number a (records.can)"),
    Column("num_legal", _U8, "actions", "number of legal actions"),
    Column("turn", _U8, "", "number of seats after the holder of the first-player token"),
    Column("coins", _I16, "coins", "own coins"),
    Column("best_other_coins", _I16, "coins", "coins of the richest other player"),
    Column("hearts", _U8, "hearts", "hearts not yet lost in this level"),
    Column("max_hearts", _U8, "hearts", "hearts owned"),
    Column("jumps", _U8, "jump tokens", "jump tokens owned"),
    Column("carried", _U8, "treasures", "treasures carried in the level"),
    Column("home", _U8, "treasures", "treasures at home, without those already paid for a purchase"),
    *(
        Column(f"{hand}_{treasure.label}", _U8, "treasures", f"number of these that are {treasure.label}")
        for hand in ("carried", "home")
        for treasure in Treasure
    ),
    Column("buildings", _U8, "buildings", "buildings owned"),
    *(
        Column(building_column("owns", building), _U8, "copies", f"copies of {building.label}")
        for building in IN_THE_RUN_MODEL
    ),
    Column(
        "level_card",
        _CARD,
        "",
        "last card revealed in this level; null before the first and outside the level",
        nullable=True,
    ),
    Column(
        "unseen",
        _U16,
        "",
        "level cards to come: bit c is set for card number c; null if not in the level",
        nullable=True,
    ),
    Column("num_unseen", _U8, "cards", "number of level cards to come; null if not in the level", nullable=True),
    Column(
        "fall_chance",
        _F32,
        "chance",
        "chance to fall on the next card without a jump; null if not in the level",
        nullable=True,
    ),
    Column(
        "jump_fall_chance",
        _F32,
        "chance",
        "chance to fall on the next card with a jump; null if not in the level",
        nullable=True,
    ),
    Column("others_in_level", _U8, "players", "other players in the level"),
    Column(
        "buying",
        _BUYING,
        "",
        f"what is being paid for: a building or {HEART}; null for decisions of other kinds than pay",
        nullable=True,
    ),
)

EVENTS_TABLE = (
    _GAME,
    Column("number", _U32, "", "number of the event in its game, from 0"),
    Column("round", _U16, "", "round, from 1; 0 for the setup"),
    Column("phase", _PHASE, "", f"phase: {', '.join(PHASES)}; the night begins when the first-player token passes"),
    Column("step", _U32, "", "number of the decision moment from which the event follows; 0 before the first"),
    Column("event", _EVENT, "", "what happened (megaland_env.engine.events.Event)"),
    Column("seat", _U8, "", "seat concerned; null if none in particular", nullable=True),
    Column("item", _ITEM, "", "treasure, level card or building; null if there is none", nullable=True),
    Column(
        "value",
        _I16,
        "by event",
        "round number, hearts lost, treasures, coins or jump tokens; null if there is none",
        nullable=True,
    ),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "games": GAMES,
    "seats": SEATS,
    "rounds": ROUNDS,
    "decisions": DECISIONS,
    "events": EVENTS_TABLE,
}
"""The tables by name."""

MEANINGS = {
    "games": "One row for each game.",
    "seats": "One row for each game and seat: how it ended, and totals over the whole game.",
    "rounds": "One row for each game, seat and round: the race to 20 coins.",
    "decisions": (
        "One row for each decision, or for a random share of them: the choice, the legal actions, and a summary of "
        "what the seat could see. Forced moves are not decisions."
    ),
    "events": "One row for each event, card by card; the events of a game are in order.",
}


def schema(table: str, agents: Sequence[str], line_ups: Sequence[str]) -> dict[str, pl.DataType]:
    """The columns of a table and their types, for the agents and line-ups of a set of records."""
    names = {AGENT: pl.Enum(agents), LINE_UP: pl.Enum(line_ups)}
    return {
        column.name: names[column.type] if isinstance(column.type, str) else column.type for column in TABLES[table]
    }


def columns_table(table: str) -> str:
    """The columns of a table in Markdown: name, type, unit, meaning."""
    lines = ["| column | type | unit | meaning |", "|---|---|---|---|"]
    for column in TABLES[table]:
        text = isinstance(column.type, (str, pl.Enum))
        name = "text" if text else str(column.type)
        lines.append(f"| `{column.name}` | {name} | {column.unit} | {column.meaning} |")
    return "\n".join(lines) + "\n"
