"""Record games while they are played, and make the tables of records/schema.py from what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from megaland_env import Building, Decisions, MegalandGames
from megaland_env.cards import (
    NORMAL_BUILDINGS,
    NUM_BUILDINGS,
    NUM_LEVEL_CARDS,
    NUM_TREASURES,
    RABBIT_CARROTS,
    START_HEARTS,
)
from megaland_env.engine.events import NOTHING, Event, EventColumns, Phase
from megaland_env.engine.odds import fall_chance
from megaland_experiments.matches.playing import Matches
from megaland_experiments.records.schema import (
    BUILDINGS,
    IN_THE_RUN_MODEL,
    LEVEL_CARDS,
    PHASES,
    TABLES,
    TREASURES,
    building_column,
    schema,
)

Ints = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]

SAMPLING_SEED = 0x7EC0
"""Seed that chooses the decisions to keep. Agents with other seeds get independent random numbers."""

MISSING = -1
"""Stands for null in arrays."""

_CARD_BITS = np.int16(1) << np.arange(NUM_LEVEL_CARDS, dtype=np.int16)
_SETUP, _LEVEL, _BUY, _NIGHT = range(len(PHASES))
# (3,): the phases of the table by the phases of a round.
_OF_PHASE = np.zeros(len(Phase), np.uint8)
_OF_PHASE[Phase.LEVEL], _OF_PHASE[Phase.BUY], _OF_PHASE[Phase.NIGHT] = _LEVEL, _BUY, _NIGHT
_HANDS = [f"{hand}_{treasure}" for hand in ("carried", "home") for treasure in TREASURES]

# (23,): for each event, the index of the name of its first possible item in the list of all items.
_ITEMS = (*TREASURES, *LEVEL_CARDS, *BUILDINGS)
_ITEM_FIRST = np.zeros(len(Event), np.int16)
_ITEM_FIRST[Event.REVEAL] = NUM_TREASURES
_ITEM_FIRST[[Event.MARKET, Event.BUY, Event.COINS]] = NUM_TREASURES + NUM_LEVEL_CARDS


class GameRecorder:
    """A ``Watcher`` (matches/playing.py) that keeps the events, decisions and final states of games.

    Args:
        num_games: number of games (N).
        num_players: number of players in each (P).
        share: the share of the decisions to keep, from 0 to 1.
    """

    def __init__(self, num_games: int, num_players: int, share: float) -> None:
        self._share = share
        self._decided: list[Arrays] = []
        self._happened: list[EventColumns] = []
        seats = (num_games, num_players)
        self.max_hearts = np.zeros(seats, np.uint8)
        self.jumps = np.zeros(seats, np.uint8)
        self.home = np.zeros(seats, np.uint8)
        self.owned = np.zeros((*seats, NUM_BUILDINGS), np.uint8)
        self.on_offer = np.zeros((num_games, NUM_BUILDINGS), np.bool_)

    def before(self, games: MegalandGames, playing: Ints, decisions: Decisions, answers: npt.NDArray[np.uint8]) -> None:
        """Record the decisions, or a random share of them."""
        if self._share < 1:
            kept = np.flatnonzero(decisions.random(1, seed=SAMPLING_SEED)[:, 0] < self._share)
            decisions, answers = decisions[kept], answers[kept]
        if len(decisions):
            self._decided.append(_seen(games, playing, decisions, answers))

    def after(self, games: MegalandGames, playing: Ints, over: Ints) -> None:
        """Record the final states of the games that are over, and the new events of all games."""
        players = games.num_players
        view = games.rows(np.repeat(over, players), np.tile(np.arange(players), over.size)).view
        done = playing[over]
        for kept, of_seats in (
            (self.max_hearts, view.max_hearts[:, 0]),
            (self.jumps, view.jumps[:, 0]),
            (self.home, view.home[:, 0].sum(axis=1)),
            (self.owned, view.buildings[:, 0]),
        ):
            kept[done] = of_seats.reshape(over.size, players, *kept.shape[2:])
        self.on_offer[done] = view.on_offer[::players]
        events = games.drain_events()
        self._happened.append(events._replace(game=playing[events.game].astype(np.int32)))

    def decided(self) -> Arrays:
        """The columns of all decisions, in order of game and moment. The recorder keeps none of them."""
        parts, self._decided = self._decided, []
        columns = _concatenated(parts)
        order = _by_game(columns["game"]) if columns else None
        return {name: column[order] for name, column in columns.items()}

    def happened(self) -> EventColumns:
        """All events, in order of game and time. The recorder keeps none of them."""
        parts, self._happened = self._happened, []
        game = np.concatenate([part.game for part in parts])
        order = _by_game(game)
        return EventColumns(
            game=game[order],
            episode=np.concatenate([part.episode for part in parts])[order],
            step=np.concatenate([part.step for part in parts])[order],
            event=np.concatenate([part.event for part in parts])[order],
            seat=np.concatenate([part.seat for part in parts])[order],
            item=np.concatenate([part.item for part in parts])[order],
            value=np.concatenate([part.value for part in parts])[order],
        )


def _concatenated(parts: list[Arrays]) -> Arrays:
    """One array for each column. The parts are freed column by column, so that they are not in memory twice."""
    return {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])} if parts else {}


def _by_game(game: npt.NDArray[np.integer[Any]]) -> Ints:
    """The permutation that sorts rows by game and keeps the order within each game."""
    if game.size and game.max() < 1 << 16:  # NumPy sorts 16 bits several times as fast
        game = game.astype(np.uint16)
    return game.argsort(kind="stable")


def _seen(games: MegalandGames, playing: Ints, decisions: Decisions, answers: npt.NDArray[np.uint8]) -> Arrays:
    """The columns of some decisions: the choices, and what the seats could see."""
    view = decisions.view
    place_of_first = view.first_player.argmax(axis=1)
    columns: Arrays = {
        "game": playing[decisions.game].astype(np.int32),
        "seat": decisions.seat.astype(np.uint8),
        "round": view.round.astype(np.uint16),
        "step": games.steps[decisions.game] + 1,
        "kind": decisions.kind,
        "action": answers,
        "legal": decisions.legal_bits,
        "turn": (-place_of_first % decisions.num_players).astype(np.uint8),
        "coins": view.coins[:, 0].copy(),
        "best_other_coins": view.coins[:, 1:].max(axis=1),
        "unseen": np.where(view.in_level[:, 0], view.unseen @ _CARD_BITS, np.int16(MISSING)),
        "level_card": view.level_card,
        "others_in_level": view.in_level[:, 1:].sum(axis=1, dtype=np.uint8),
        "buying": view.buying,
    }
    for name in ("hearts", "max_hearts", "jumps"):
        columns[name] = getattr(view, name)[:, 0].copy()
    hands = np.concatenate([view.carried[:, 0], view.home[:, 0]], axis=1)
    columns |= zip(_HANDS, np.ascontiguousarray(hands.T), strict=True)
    owned = view.buildings[:, 0]
    columns["buildings"] = owned.sum(axis=1, dtype=np.uint8)
    for building in IN_THE_RUN_MODEL:
        columns[building_column("owns", building)] = owned[:, building].copy()
    return columns


# ------------------------------------------------------------------------------------------------------ the tables


@dataclass(frozen=True)
class Names:
    """The names of the agents and of the line-ups in a set of records."""

    agents: tuple[str, ...]
    line_ups: tuple[str, ...]


def tables(
    matches: Matches, recorder: GameRecorder, names: Names, first_game: int, of_line_up: Ints
) -> Iterator[tuple[str, pl.DataFrame]]:
    """The names and tables of some games, one table at a time, since the largest need much memory.

    Args:
        matches: N games; ``matches.line_ups`` holds positions in ``names.agents``.
        recorder: the recorder that watched them. It is empty afterwards.
        names: names in the whole set of records.
        first_game: number of the first game.
        of_line_up: (N,) line-up of each game, as a position in ``names.line_ups``.
    """
    make = _Tables(matches, recorder, names, first_game)
    yield "decisions", make.decisions(recorder.decided())
    log = _Log.of(recorder.happened())
    rounds = _Rounds.of(log, matches)
    first_player = log.seat[(log.event == Event.FIRST_PLAYER) & (log.round == 0)].astype(np.int64)
    yield "games", make.games(of_line_up, first_player)
    yield "seats", make.seats(rounds, first_player)
    yield "rounds", make.rounds(rounds, first_player)
    del rounds
    yield "events", make.events(log)


@dataclass(frozen=True, eq=False)
class _Log:
    """Events in the order of the games, with the round and the phase of each, except the beginnings of phases.

    ``firsts`` (N,) is where the events of each game begin.
    """

    firsts: Ints
    game: npt.NDArray[np.int32]
    round: npt.NDArray[np.uint16]
    phase: npt.NDArray[np.uint8]
    step: npt.NDArray[np.int32]
    event: npt.NDArray[np.uint8]
    seat: npt.NDArray[np.int8]
    item: npt.NDArray[np.int8]
    value: npt.NDArray[np.int16]

    @classmethod
    def of(cls, columns: EventColumns) -> _Log:
        """Find the round and phase of the events of whole games, which are in the order of the games.

        Rounds and phases begin with events of their own. The event of a round comes just before that of its level, and
        counts to it. What is before the first round is the setup.
        """
        begins_round, begins_phase = columns.event == Event.ROUND, columns.event == Event.PHASE
        begins_game = np.diff(columns.game, prepend=np.int32(MISSING)) != 0
        phases = np.where(begins_phase, _OF_PHASE.take(columns.item, mode="clip"), _SETUP)
        phases[begins_round] = _LEVEL
        begins = begins_game | begins_round | begins_phase
        phase = phases[np.maximum.accumulate(np.where(begins, np.arange(begins.size, dtype=np.int32), 0))]
        counted = np.cumsum(begins_round, dtype=np.int32)
        rounds = (counted - counted[begins_game][columns.game]).astype(np.uint16)

        kept = ~begins_phase
        game, _, step, event, seat, item, value = (column[kept] for column in columns)
        firsts = np.flatnonzero(np.diff(game, prepend=np.int32(MISSING)))
        return cls(firsts, game, rounds[kept], phase[kept], step, event, seat, item, value)


@dataclass(frozen=True, eq=False)
class _Rounds:
    """What happened in each round of each seat: C rows, in order of game, seat and round.

    ``seats`` (C,) holds positions among all N * P seats, ``numbers`` (C,) the rounds from 1, and ``begins`` (N * P,)
    where the rows of each seat begin. ``columns`` has an array (C,) for each name.
    """

    seats: Ints
    numbers: Ints
    begins: Ints
    columns: dict[str, Ints]

    @classmethod
    def of(cls, log: _Log, matches: Matches) -> _Rounds:
        """Count the events."""
        players = matches.line_ups.shape[1]
        lengths = np.repeat(matches.rounds.astype(np.int64), players)
        ends = lengths.cumsum()
        begins = ends - lengths
        seats = np.repeat(np.arange(lengths.size), lengths)

        def counted(event: Event, valued: bool = False, phase: int | None = None) -> Ints:
            of_event = log.event == event
            if phase is not None:
                of_event &= log.phase == phase
            if event == Event.DRAW:
                of_event &= log.item != NOTHING
            events = np.flatnonzero(of_event)
            rows = begins[log.game[events].astype(np.int64) * players + log.seat[events]] + log.round[events] - 1
            counts = np.bincount(rows, weights=log.value[events] if valued else None, minlength=int(ends[-1]))
            return counts.astype(np.int64)

        def so_far(column: Ints) -> Ints:
            totals = column.cumsum()
            return totals - (totals - column)[begins][seats]

        columns = {
            "coins_gained": counted(Event.COINS, valued=True),
            "falls": counted(Event.FALL),
            "stays": counted(Event.STAY),
            "damage": counted(Event.DAMAGE, valued=True),
            "jumped": counted(Event.JUMP),
            "draws": counted(Event.DRAW),
            "treasures_home": counted(Event.HOME, valued=True),
            "treasures_lost": counted(Event.DISCARD, valued=True, phase=_LEVEL),
            "treasures_unstored": counted(Event.DISCARD, valued=True, phase=_NIGHT),
            "treasures_paid": counted(Event.PAY),
            "trades": counted(Event.TRADE),
            "swaps": counted(Event.SWAP),
            "bought": counted(Event.BUY),
            "hearts_bought": counted(Event.HEART),
        }
        kept = columns["draws"] - RABBIT_CARROTS * columns["trades"] - columns["swaps"]
        for spent in ("lost", "unstored", "paid"):
            kept -= columns[f"treasures_{spent}"]
        columns |= {
            "coins": so_far(columns["coins_gained"]),
            "max_hearts": START_HEARTS + so_far(columns["hearts_bought"]),
            "jumps": so_far(counted(Event.JUMPS, valued=True) - columns["jumped"]),
            "home": so_far(kept),  # at the end of a round nobody carries anything
            "buildings": so_far(columns["bought"]),
        }
        return cls(seats, np.arange(seats.size) - begins[seats] + 1, begins, columns)

    def total(self, name: str) -> Ints:
        """The total of a column for each seat (N * P,), over all its rounds."""
        total: Ints = np.add.reduceat(self.columns[name], self.begins)
        return total


class _Tables:
    """Makes the tables of some games."""

    def __init__(self, matches: Matches, recorder: GameRecorder, names: Names, first_game: int) -> None:
        self._matches = matches
        self._recorder = recorder
        self._names = names
        self._first_game = first_game
        self._players = matches.line_ups.shape[1]

    def games(self, of_line_up: Ints, first_player: Ints) -> pl.DataFrame:
        matches = self._matches
        columns = {
            "game": np.arange(len(matches)),
            "seed": matches.seeds,
            "line_up": of_line_up,
            "first_player": first_player,
            "rounds": matches.rounds,
            "steps": matches.steps,
            "truncated": matches.truncated,
            "num_winners": matches.winners.sum(axis=1),
            "most_coins": matches.coins.max(axis=1),
        }
        for building in NORMAL_BUILDINGS:
            columns[building_column("offers", building)] = self._recorder.on_offer[:, building]
        return self._frame("games", columns)

    def seats(self, rounds: _Rounds, first_player: Ints) -> pl.DataFrame:
        matches, recorder = self._matches, self._recorder
        ranked = np.sort(matches.coins, axis=1)
        best_other = np.where(matches.coins == ranked[:, -1:], ranked[:, -2:-1], ranked[:, -1:])
        owned = recorder.owned
        columns: Arrays = {
            **self._seats(),
            "turn": (np.arange(self._players) - first_player[:, None]) % self._players,
            "won": matches.winners,
            "win_share": matches.shares,
            "place": matches.places,
            "coins": matches.coins,
            "margin": matches.coins - best_other,
            "max_hearts": recorder.max_hearts,
            "jumps": recorder.jumps,
            "home": recorder.home,
            "buildings": owned.sum(axis=2),
            "decisions": matches.decisions,
        }
        totals = "falls stays treasures_home treasures_lost treasures_unstored treasures_paid jumped trades swaps"
        for name in totals.split():
            columns[name] = rounds.total(name)
        columns["runs_home"] = matches.rounds.repeat(self._players) - columns["falls"]
        for building in Building:
            columns[building_column("owns", building)] = owned[:, :, building]
        return self._frame("seats", columns)

    def rounds(self, rounds: _Rounds, first_player: Ints) -> pl.DataFrame:
        columns: Arrays = {**rounds.columns}
        columns |= {name: column.reshape(-1)[rounds.seats] for name, column in self._seats().items()}
        first = first_player[columns["game"]] + rounds.numbers - 1  # N1: the first-player token passes left each night
        columns |= {
            "round": rounds.numbers,
            "turn": (columns["seat"] - first) % self._players,
            "fell": columns["falls"] > 0,
        }
        return self._frame("rounds", columns)

    def _seats(self) -> Arrays:
        shape = self._matches.line_ups.shape
        return {
            "game": np.broadcast_to(np.arange(shape[0])[:, None], shape),
            "seat": np.broadcast_to(np.arange(shape[1]), shape),
            "agent": self._matches.line_ups,
        }

    def decisions(self, columns: Arrays) -> pl.DataFrame:
        if not columns:
            return pl.DataFrame(schema=self._schema("decisions"))
        unseen, in_level = columns["unseen"], columns["unseen"] != MISSING
        soap = columns[building_column("owns", Building.SOAP_MAKERS)]
        seen, hearts = np.maximum(unseen, 0), np.where(in_level, columns["hearts"], START_HEARTS)
        columns |= {
            "agent": self._matches.line_ups[columns["game"], columns["seat"]],
            "num_legal": np.bitwise_count(columns["legal"]),
            "carried": _sum(columns, _HANDS[:NUM_TREASURES]),
            "home": _sum(columns, _HANDS[NUM_TREASURES:]),
            "num_unseen": np.where(in_level, np.bitwise_count(seen).astype(np.int8), MISSING),
            "fall_chance": np.where(in_level, fall_chance(seen, hearts, soap, False), MISSING),
            "jump_fall_chance": np.where(in_level, fall_chance(seen, hearts, soap, True), MISSING),
        }
        return self._frame("decisions", columns)

    def events(self, log: _Log) -> pl.DataFrame:
        item = np.where(log.item == NOTHING, MISSING, log.item + _ITEM_FIRST[log.event])
        columns: Arrays = {**vars(log), "number": np.arange(item.size) - log.firsts[log.game], "item": item}
        return self._frame("events", columns)

    def _schema(self, table: str) -> dict[str, pl.DataType]:
        return schema(table, self._names.agents, self._names.line_ups)

    def _frame(self, table: str, columns: Arrays) -> pl.DataFrame:
        """A frame with the columns of the schema, from arrays of any shape; ``MISSING`` becomes null.

        The number of players is the same in all rows, and games are numbered from the first of the part.
        """
        types = self._schema(table)
        series = []
        for name, _, _, _, nullable in TABLES[table]:
            if name == "num_players":
                players = pl.repeat(self._players, columns["game"].size, dtype=types[name])
                series.append(pl.select(players.alias(name)).to_series())
                continue
            column = np.ascontiguousarray(columns[name]).reshape(-1)
            if name == "game":
                column = column + self._first_game
            series.append(_series(name, column, types[name], nullable))
        return pl.DataFrame(series)


def _sum(columns: Arrays, names: Sequence[str]) -> npt.NDArray[np.uint8]:
    total: npt.NDArray[np.uint8] = np.sum([columns[name] for name in names], axis=0, dtype=np.uint8)
    return total


def _series(name: str, column: npt.NDArray[Any], dtype: pl.DataType, nullable: bool) -> pl.Series:
    missing = column == MISSING if nullable else np.zeros(0, np.bool_)
    if isinstance(dtype, pl.Enum):
        names = pl.Series(name, [*dtype.categories, None], dtype=dtype)  # the last is null
        return names.gather(np.where(missing, len(names) - 1, column) if nullable else column)
    if missing.any():
        values = pl.Series(np.where(missing, 0, column)).cast(dtype)
        return pl.select(pl.when(pl.Series(~missing)).then(values).alias(name)).to_series()
    return pl.Series(name, column).cast(dtype)
