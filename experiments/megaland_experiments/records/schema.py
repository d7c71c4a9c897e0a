"""The tables of recorded games: every column with its type, its unit and what it means.

Parquet files of these columns are written by ``megaland simulate`` and read by
``megaland_experiments.records.load``, or by whatever else reads Parquet. ``docs/records.md`` is made from what
stands here.

Names of decisions, actions, events, treasures, level cards and buildings are text in the words of the rules; the
columns of a building or a treasure end with its name (``offers_lodge``, ``home_egg``). A number that may be missing is
null where the table says so, never -1.
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
"""Another number whenever a column is added, dropped, renamed, or means something else."""

ACTIONS = tuple(map(action_name, range(NUM_ACTIONS)))
KINDS = tuple(kind.label for kind in Kind)
EVENTS = tuple(event.label for event in Event)
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
"""The buildings that change what a level run is worth to their owner (``run_solver.py``)."""


def building_column(prefix: str, building: Building) -> str:
    """Such as ``"offers_lodge"``."""
    return f"{prefix}_{building.name.lower()}"


class Column(NamedTuple):
    """One column.

    Attributes:
        name: in the table.
        type: of Polars; ``AGENT`` or ``LINE_UP`` where the names are those of a set of records.
        unit: or nothing.
        meaning: in words.
        nullable: whether it may be null; ``meaning`` says when.
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

_GAME = Column("game", _U32, "", "number of the game in the set, from 0; the key of all tables")
_PLAYERS = Column("num_players", _U8, "players", "at the table, 2 to 5")
_SEAT = Column("seat", _U8, "", "from 0, clockwise")
_AGENT = Column("agent", AGENT, "", "who sits there, as it was named")
_ROUND = Column("round", _U16, "", "from 1")

GAMES = (
    _GAME,
    _PLAYERS,
    Column("seed", _U64, "", "of the game; no two games share one"),
    Column("line_up", LINE_UP, "", "who sits at the table, in whatever order"),
    Column("first_player", _U8, "seat", "who begins in the first round"),
    Column("rounds", _U16, "rounds", "that were played"),
    Column("steps", _U32, "moments", "of decision; all who decide at the same time share one"),
    Column("truncated", _BOOL, "", "cut off after the most rounds allowed; nobody has won"),
    Column("num_winners", _U8, "players", "more than 1 for a shared win, 0 if cut off"),
    Column("most_coins", _I16, "coins", "of the richest at the end"),
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
    Column("won", _BOOL, "", "has won, alone or with others"),
    Column("win_share", _F64, "wins", "1 / number of winners for each of them, 0 for the others"),
    Column("place", _U8, "", "by coins, from 1; equals share the better place"),
    Column("coins", _I16, "coins", "at the end"),
    Column("margin", _I16, "coins", "at the end, own less those of the best other"),
    Column("max_hearts", _U8, "hearts", "at the end; everybody begins with 4"),
    Column("jumps", _U8, "jump tokens", "left at the end"),
    Column("home", _U8, "treasures", "stored at the end"),
    Column("buildings", _U8, "buildings", "owned at the end"),
    Column("decisions", _U32, "decisions", "that the seat was asked for; forced moves are not asked"),
    Column("runs_home", _U16, "runs", "of the level from which the seat returned home"),
    Column("falls", _U16, "runs", "that ended in a fall"),
    Column("stays", _U16, "times", "the seat stayed in the level"),
    Column("treasures_home", _U32, "treasures", "carried home"),
    Column("treasures_lost", _U32, "treasures", "discarded in falls"),
    Column("treasures_unstored", _U32, "treasures", "discarded at night for want of buildings"),
    Column("treasures_paid", _U32, "treasures", "paid for buildings and hearts"),
    Column("jumped", _U16, "jump tokens", "used"),
    Column("trades", _U16, "times", "the seat traded with the Rabbit"),
    Column("swaps", _U16, "treasures", "swapped by Reptile Stables"),
    *(
        Column(building_column("owns", building), _U8, "copies", f"of {building.label} at the end")
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
    Column("coins", _I16, "coins", "at the end of the round"),
    Column("max_hearts", _U8, "hearts", "at the end of the round"),
    Column("jumps", _U8, "jump tokens", "at the end of the round"),
    Column("home", _U8, "treasures", "stored at the end of the round"),
    Column("buildings", _U8, "buildings", "owned at the end of the round"),
    Column("coins_gained", _I16, "coins", "in this round"),
    Column("fell", _BOOL, "", "in this round's level; who did not has returned home"),
    Column("stays", _U8, "times", "the seat stayed in the level"),
    Column("damage", _U8, "hearts", "lost in the level"),
    Column("jumped", _U8, "jump tokens", "used"),
    Column("draws", _U8, "treasures", "drawn, wherever"),
    Column("treasures_home", _U8, "treasures", "carried home"),
    Column("treasures_lost", _U8, "treasures", "discarded in a fall"),
    Column("treasures_unstored", _U8, "treasures", "discarded at night for want of buildings"),
    Column("treasures_paid", _U8, "treasures", "paid for buildings and hearts"),
    Column("trades", _U8, "times", "the seat traded with the Rabbit"),
    Column("swaps", _U8, "treasures", "swapped by Reptile Stables"),
    Column("bought", _U8, "buildings", "bought"),
    Column("hearts_bought", _U8, "hearts", "bought"),
)

DECISIONS = (
    _GAME,
    _PLAYERS,
    _SEAT,
    _AGENT,
    _ROUND,
    Column("step", _U32, "", "number of the moment in its game, from 1; the events that follow from it have the same"),
    Column("kind", _KIND, "", f"of decision: {', '.join(KINDS[1:])}"),
    Column("action", _ACTION, "", "that was chosen, such as STAY or BUY_LODGE"),
    Column("legal", _U64, "", "set of actions to choose from: bit a for action number a (records.can)"),
    Column("num_legal", _U8, "actions", "to choose from"),
    Column("turn", _U8, "", "places after the holder of the first-player token"),
    Column("coins", _I16, "coins", "own"),
    Column("best_other_coins", _I16, "coins", "of the richest other"),
    Column("hearts", _U8, "hearts", "not yet lost in this level"),
    Column("max_hearts", _U8, "hearts", "owned"),
    Column("jumps", _U8, "jump tokens", "owned"),
    Column("carried", _U8, "treasures", "in the level"),
    Column("home", _U8, "treasures", "at home, those already paid for a purchase not among them"),
    *(
        Column(f"{hand}_{treasure.label}", _U8, "treasures", f"of these: {treasure.label}")
        for hand in ("carried", "home")
        for treasure in Treasure
    ),
    Column("buildings", _U8, "buildings", "owned"),
    *(
        Column(building_column("owns", building), _U8, "copies", f"of {building.label}")
        for building in IN_THE_RUN_MODEL
    ),
    Column(
        "level_card",
        _CARD,
        "",
        "last card revealed in this level; null before the first and outside of it",
        nullable=True,
    ),
    Column(
        "unseen",
        _U16,
        "",
        "set of level cards to come: bit c for card number c; null if not in the level",
        nullable=True,
    ),
    Column("num_unseen", _U8, "cards", "to come in the level; null if not in the level", nullable=True),
    Column(
        "fall_chance",
        _F32,
        "chance",
        "to fall on the next card without a jump; null if not in the level",
        nullable=True,
    ),
    Column(
        "jump_fall_chance",
        _F32,
        "chance",
        "to fall on the next card with a jump; null if not in the level",
        nullable=True,
    ),
    Column("others_in_level", _U8, "players", "besides the seat"),
    Column(
        "buying",
        _BUYING,
        "",
        f"what is being paid for: a building or {HEART}; null for other kinds than pay",
        nullable=True,
    ),
)

EVENTS_TABLE = (
    _GAME,
    Column("number", _U32, "", "of the event in its game, from 0"),
    Column("round", _U16, "", "from 1; 0 for the setup"),
    Column("phase", _PHASE, "", f"{', '.join(PHASES)}; the night begins when the first-player token passes"),
    Column("step", _U32, "", "number of the moment of decision from which it follows; 0 before the first"),
    Column("event", _EVENT, "", "what happened (megaland_env.engine.events.Event)"),
    Column("seat", _U8, "", "who is concerned; null if nobody in particular", nullable=True),
    Column("item", _ITEM, "", "the treasure, level card or building; null if there is none", nullable=True),
    Column(
        "value",
        _I16,
        "by event",
        "round number, hearts lost, treasures, coins, jump tokens; null if none",
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
        "One row for each decision, or for a share of them drawn at random: what was chosen, from what, and in short "
        "what the seat could see. Forced moves are not asked."
    ),
    "events": "One row for each thing that happened, card by card; those of a game stand in their order.",
}


def schema(table: str, agents: Sequence[str], line_ups: Sequence[str]) -> dict[str, pl.DataType]:
    """The columns of a table, with the names of agents and line-ups that are those of a set of records."""
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
