"""Replays: a game as its seed, its configuration and its actions.

Nothing else is needed to play a game again card by card, since all randomness is a function of the seed (rng.py). A
``Recorder`` records games as they are played, ``play`` plays a ``Replay`` again, and ``save_replay`` and
``load_replay`` store it in a file that a person can read::

    recorder = Recorder(games)
    recorder.reset(seeds=7)
    while games.active.any():
        recorder.step(choose(games))
    save_replay("game.json", recorder.replay(0, agents=["random", "threshold"]))

    for games in play(load_replay("game.json")):
        print(games.snapshot(0)["phase"])

The file is JSON with one line for each decision moment, the final state and a checksum. Loading plays the game by the
rules, and refuses a file that was cut short, altered, or is not a replay.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from megaland_env.actions import NUM_ACTIONS, Kind, action_name
from megaland_env.checks import is_integer
from megaland_env.config import ConfigError, MegalandConfig
from megaland_env.errors import IllegalActionError
from megaland_env.files import MOST_NESTED, FileError, is_deeper, read_json, write_text
from megaland_env.game import MegalandGames
from megaland_env.outside_text import printable, quoted
from megaland_env.rewards import Reward
from megaland_env.snapshot import Snapshot

FORMAT = "megaland-replay"
VERSION = 1
MOST_BYTES = 1 << 26
"""Maximum size of a file in bytes. A line of a replay has about fifty, and the longest games a few thousand lines."""

Choice = tuple[int, int]
"""A seat and the number of the action that it chose."""

Moment = tuple[Choice, ...]
"""The choices of all seats that were asked at one decision moment, in the order of the seats."""

_KEYS = ("format", "version", "config", "seed", "metadata", "moments", "final", "checksum")
_ACTIONS = {action_name(action): action for action in range(NUM_ACTIONS)}
_NOT_ASKED = 255  # in the recorder's columns, where a seat was not asked; no action has this number
_ABSENT = "(absent)"  # shown as the value of a key that a snapshot lacks
_SPARE_ROWS = 10_000  # rows of earlier games at the same positions, above which the recorder drops them


class ReplayError(ValueError):
    """Raised for a replay that breaks the rules, or a file that is not a replay; the message says what is wrong."""


class Result(NamedTuple):
    """Length and result of a replay.

    Attributes:
        steps: number of decision moments.
        rounds: number of the last round that was played.
        coins: coins of each seat at the end.
        winners: winning seats in ascending order; empty if the game was cut off or is not over.
        terminated: whether the game is over by the rules (N5).
        truncated: whether the game was cut off (D4).
    """

    steps: int
    rounds: int
    coins: tuple[int, ...]
    winners: tuple[int, ...]
    terminated: bool
    truncated: bool


@dataclass(frozen=True)
class Replay:
    """One game, or the beginning of one.

    Attributes:
        config: configuration of the game.
        seed: seed of the game.
        moments: the choices of the seats that were asked, for each decision moment.
        metadata: anything that JSON can hold, such as ``{"agents": ["random", "threshold"]}``; it has no effect.
        final: the snapshot after the last moment, or ``None`` if it is not known; ``play`` compares the game with it.

    Raises:
        ReplayError: a field is invalid. Whether the rules allow the choices is checked when they are played.
    """

    config: MegalandConfig
    seed: int
    moments: tuple[Moment, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    final: Snapshot | None = field(default=None, hash=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.config, MegalandConfig):
            raise ReplayError(f"config is {quoted(self.config)}; it must be a MegalandConfig")
        if not is_integer(self.seed) or not 0 <= self.seed < 2**64:
            raise ReplayError(f"seed is {quoted(self.seed)}; it must be an integer from 0 to 2**64 - 1")
        object.__setattr__(self, "seed", int(self.seed))
        moments = tuple(_moment(m, number, self.config.num_players) for number, m in enumerate(_list(self.moments), 1))
        object.__setattr__(self, "moments", moments)
        if not isinstance(self.metadata, Mapping):
            raise ReplayError(f"metadata is {quoted(self.metadata)}; it must be a dict")
        try:  # the same as after loading, and independent of the caller's dict
            metadata = json.loads(json.dumps(dict(self.metadata), allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise ReplayError(f"metadata cannot be written as JSON: {error}") from None
        if is_deeper(metadata, MOST_NESTED - 1):  # in the file they are inside another object
            raise ReplayError(f"metadata has lists or objects nested more than {MOST_NESTED - 1} deep")
        object.__setattr__(self, "metadata", metadata)
        if self.final is not None and not isinstance(self.final, dict):
            raise ReplayError(f"final is {quoted(self.final)}; it must be a snapshot or None")

    def __len__(self) -> int:
        return len(self.moments)

    def games(self, steps: int | None = None, *, reward: str | Reward = "win", record: bool = False) -> MegalandGames:
        """Play the first ``steps`` moments, or all of them, and return the batch of this one game.

        Raises:
            ReplayError: the rules do not allow the choices.
            ValueError: the replay has fewer moments.
        """
        steps = len(self) if steps is None else steps
        if not 0 <= steps <= len(self):
            raise ValueError(f"steps is {steps}; the replay has {len(self)}")
        *_, games = play(replace(self, moments=self.moments[:steps], final=None), reward=reward, record=record)
        return games

    def result(self) -> Result:
        """Play the replay and return how it ends.

        Raises:
            ReplayError: the rules do not allow the choices.
        """
        *_, games = play(self)
        return Result(
            steps=int(games.steps[0]),
            rounds=int(games.rounds[0]),
            coins=tuple(games.coins[0].tolist()),
            winners=tuple(np.flatnonzero(games.winners[0]).tolist()),
            terminated=bool(games.terminated[0]),
            truncated=bool(games.truncated[0]),
        )


def play(replay: Replay, *, reward: str | Reward = "win", record: bool = False) -> Iterator[MegalandGames]:
    """Play a replay. Yields a batch of one game at the beginning, and again after each decision moment.

    It is the same batch each time. Read what you need before you continue the loop, and do not call its ``step``.

    Raises:
        ReplayError: the rules do not allow the choices, or they do not lead to ``replay.final``.
    """
    games = MegalandGames(replay.config, 1, reward=reward, record=record)
    games.reset(replay.seed)
    yield games
    actions = np.zeros((1, games.num_players), np.uint8)
    for number, moment in enumerate(replay.moments, 1):
        asked = np.flatnonzero(games.active[0]).tolist()
        answering = [seat for seat, _ in moment]
        if asked != answering:
            kind = Kind(int(games.kind[0])).label
            really = f"{_seats(asked)} would be asked for {kind!r}" if asked else "the game is over"
            raise ReplayError(f"moment {number}: {_seats(answering)} decide, but by the rules {really}")
        for seat, action in moment:
            actions[0, seat] = action
        try:
            games.step(actions)
        except IllegalActionError as error:
            chose = f"seat {error.seat} chose {action_name(error.action)}"
            raise ReplayError(f"moment {number}: {chose}; legal were {', '.join(error.legal)}") from None
        yield games
    if replay.final is not None:
        difference = _difference(replay.final, games.snapshot(0))
        if difference:
            raise ReplayError(f"the game does not end as it is recorded: {difference}")


class Recorder:
    """Records the games of a batch as they are played.

    Call ``reset`` and ``step`` of the recorder instead of those of the games, to which it passes the calls on. Read
    everything else from the games. If a game is started again, its recording starts again too.

    Args:
        games: the batch.
        index: (n,) positions of the games to record; by default all.

    Raises:
        ValueError: a position is out of range.
    """

    def __init__(self, games: MegalandGames, index: npt.ArrayLike | None = None) -> None:
        self.games = games
        self._recorded = np.zeros(games.num_games, np.bool_)
        self._recorded[_positions(index, games.num_games)] = True
        # A row for each move of a game: the position of the game, and the choice of each seat.
        self._rows: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]] = []
        self._num_rows = 0
        self._noted = games.steps.copy()  # (N,) moments of each game so far
        self._noted_from = games.steps.copy()  # (N,) moments of each game before recording began

    def reset(self, seeds: int | npt.ArrayLike, *, index: npt.ArrayLike | None = None) -> None:
        """Call ``games.reset``; these games are then recorded from the beginning."""
        self.games.reset(seeds, index=index)
        started = _positions(index, self.games.num_games)
        self._noted[started] = 0
        self._noted_from[started] = 0
        if self._num_rows > 2 * int(self._noted[self._recorded].sum()) + _SPARE_ROWS:
            self._drop_earlier_games()

    def step(self, actions: npt.ArrayLike, index: npt.ArrayLike | None = None) -> None:
        """Call ``games.step``, and record the choices of the active seats unless it raises.

        Raises:
            RuntimeError: a game has moved without the recorder.
        """
        games = self.games
        # games.step checks the index and the actions; until then, they may be invalid but must not raise here.
        named = np.arange(games.num_games) if index is None else np.asarray(index, np.int64)
        before = games.steps.take(named, mode="clip")
        if not np.array_equal(before, self._noted.take(named, mode="clip")):
            raise RuntimeError("a game has moved without its recorder; use reset and step of the recorder alone")
        asked = games.active.take(named, axis=0, mode="clip")
        games.step(actions, index)
        after = games.steps.take(named)
        self._noted[named] = after
        rows = np.flatnonzero((after != before) & self._recorded.take(named))
        if rows.size:
            chosen = np.where(asked.take(rows, axis=0), np.asarray(actions).take(rows, axis=0), _NOT_ASKED)
            self._rows.append((named.take(rows).astype(np.int32), chosen.astype(np.uint8)))
            self._num_rows += rows.size

    def replay(self, game: int, **metadata: Any) -> Replay:
        """Return the game at a position, as far as it has been played.

        Raises:
            ValueError: the game is not recorded, or was not recorded from its beginning.
        """
        return self.replays([game], **metadata)[0]

    def replays(self, index: npt.ArrayLike | None = None, **metadata: Any) -> list[Replay]:
        """Return the games at some positions, or all recorded ones, each with the same metadata.

        Raises:
            ValueError: a game is not recorded, or was not recorded from its beginning.
        """
        wanted = np.flatnonzero(self._recorded) if index is None else _positions(index, self.games.num_games)
        for game in wanted:
            if not self._recorded[game]:
                raise ValueError(f"game {game} is not recorded")
            if self._noted_from[game] or self._noted[game] != self.games.steps[game]:
                raise ValueError(f"game {game} was not recorded from its beginning")
        positions, chosen = self._columns()
        order = np.argsort(positions, kind="stable")
        ends = np.searchsorted(positions[order], wanted, side="right")
        replays = []
        for game, end in zip(wanted.tolist(), ends.tolist(), strict=True):
            rows = order[end - int(self._noted[game]) : end]  # rows of earlier games at this position come before
            moments = [[(s, a) for s, a in enumerate(row) if a != _NOT_ASKED] for row in chosen[rows].tolist()]
            replays.append(
                Replay(
                    self.games.config,
                    int(self.games.seeds[game]),
                    tuple(tuple(moment) for moment in moments),
                    metadata,
                    self.games.snapshot(game),
                )
            )
        return replays

    def _columns(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        if not self._rows:
            return np.empty(0, np.int32), np.empty((0, self.games.num_players), np.uint8)
        if len(self._rows) > 1:
            positions, chosen = zip(*self._rows, strict=True)
            self._rows = [(np.concatenate(positions), np.concatenate(chosen))]
        return self._rows[0]

    def _drop_earlier_games(self) -> None:
        """Drop the rows of earlier games: keep as many of the last rows at each position as its game has moments."""
        positions, chosen = self._columns()
        order = np.argsort(positions, kind="stable")
        ends = np.cumsum(np.bincount(positions, minlength=self.games.num_games))
        before_end = ends[positions[order]] - np.arange(order.size)
        kept = np.sort(order[before_end <= (self._noted - self._noted_from)[positions[order]]])
        self._rows = [(positions[kept], chosen[kept])]
        self._num_rows = kept.size


# ------------------------------------------------------------------------------------------------------------- files


def save_replay(path: str | os.PathLike[str], replay: Replay) -> None:
    """Play a replay, which checks it against the rules, and write it as JSON.

    The file is either complete or not there, even after a power loss (files.py).

    Raises:
        ReplayError: the rules do not allow the choices, or they do not lead to ``replay.final``.
        OSError: the file cannot be written; ``filename`` is ``path``.
    """
    *_, games = play(replay)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "config": replay.config.to_dict(),
        "seed": replay.seed,
        "metadata": replay.metadata,
        "moments": [[[seat, action_name(action)] for seat, action in moment] for moment in replay.moments],
        "final": games.snapshot(0),
    }
    content["checksum"] = _checksum(content)
    write_text(Path(path), _text(content))


def load_replay(path: str | os.PathLike[str]) -> Replay:
    """Read a replay, and play it, which checks every choice against the rules.

    Raises:
        ReplayError: the file is not a replay, was cut short or altered, or breaks the rules.
        OSError: there is no such file, or it cannot be read.
    """
    try:
        content = read_json(Path(path), MOST_BYTES)
    except FileError as error:
        raise ReplayError(f"{error}, so it is no replay") from None
    try:
        return _checked(content)
    except ReplayError as error:
        raise ReplayError(f"{os.fspath(path)}: {error}") from None


def _checked(content: Any) -> Replay:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ReplayError(f'this is no replay: it does not say "format": "{FORMAT}"')
    if content.get("version") != VERSION or isinstance(content["version"], bool):
        raise ReplayError(f"version is {quoted(content.get('version'))}; only version {VERSION} can be read")
    missing = [key for key in _KEYS if key not in content]
    unknown = [key for key in content if key not in _KEYS]
    if missing or unknown:
        wrong = ", ".join(map(quoted, (missing or unknown)[:3])) + (" missing" if missing else " unknown")
        raise ReplayError(f"{wrong}; the keys are {', '.join(_KEYS)}")
    if not isinstance(content["config"], dict):
        raise ReplayError(f"config is {quoted(content['config'])}; it must be a dict")
    if content["final"] is None:
        raise ReplayError("final is null; it must be the last snapshot")
    try:
        config = MegalandConfig.from_dict(content["config"])
    except ConfigError as error:
        raise ReplayError(f"config: {printable(error, 500)}") from None
    moments = tuple(_named_moment(moment, number) for number, moment in enumerate(_list(content["moments"]), 1))
    replay = Replay(config, content["seed"], moments, content["metadata"], content["final"])
    for _ in play(replay):
        pass
    if content["checksum"] != _checksum(content):
        raise ReplayError("the checksum does not match: the file was altered")
    return replay


def _text(content: Mapping[str, Any]) -> str:
    """Format as JSON with a line for each field and each moment, for people and ``diff``."""
    fields = []
    for key, value in content.items():
        text = json.dumps(value)
        if key == "moments" and value:
            text = "[\n" + ",\n".join(json.dumps(moment) for moment in value) + "\n]"
        fields.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _checksum(content: Mapping[str, Any]) -> str:
    others = {key: value for key, value in content.items() if key != "checksum"}
    canonical = json.dumps(others, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


# ------------------------------------------------------------------------------------------------- small checks


def _positions(index: npt.ArrayLike | None, num_games: int) -> npt.NDArray[np.int64]:
    if index is None:
        return np.arange(num_games)
    positions = np.asarray(index)
    if positions.ndim != 1 or (positions.dtype.kind not in "iu" and positions.size):
        raise ValueError(f"index must be a list of positions, not {positions.dtype} of shape {positions.shape}")
    if positions.size and not (positions.min() >= 0 and positions.max() < num_games):
        raise ValueError(f"index {positions.tolist()} is out of range; the games are 0 to {num_games - 1}")
    return positions.astype(np.int64)


def _list(value: Any) -> Sequence[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise ReplayError(f"moments is {quoted(value)}; it must be a list with an entry for each decision moment")
    return value


def _moment(moment: Any, number: int, players: int) -> Moment:
    """Check a moment: pairs of a seat and an action, in the order of the seats."""
    choices = []
    for choice in _pairs(moment, number):
        seat, action = choice
        if not is_integer(seat) or not 0 <= seat < players:
            raise ReplayError(f"moment {number}: seat {quoted(seat)} is not one of 0..{players - 1}")
        if not is_integer(action) or not 0 <= action < NUM_ACTIONS:
            raise ReplayError(f"moment {number}: action {quoted(action)} is not one of 0..{NUM_ACTIONS - 1}")
        choices.append((int(seat), int(action)))
    seats = [seat for seat, _ in choices]
    if not seats or sorted(set(seats)) != seats:
        raise ReplayError(f"moment {number}: the seats must be one or more and ascending, not {seats}")
    return tuple(choices)


def _named_moment(moment: Any, number: int) -> Moment:
    """Read a moment of a file, in which actions have names."""
    choices = []
    for seat, name in _pairs(moment, number):
        if not isinstance(name, str) or name not in _ACTIONS:
            raise ReplayError(f"moment {number}: there is no action {quoted(name)}; there are {', '.join(_ACTIONS)}")
        choices.append((seat, _ACTIONS[name]))
    return tuple(choices)


def _pairs(moment: Any, number: int) -> Sequence[Any]:
    good = isinstance(moment, Sequence) and not isinstance(moment, (str, bytes))
    for choice in moment if good else ():
        good = good and isinstance(choice, Sequence) and not isinstance(choice, (str, bytes)) and len(choice) == 2
    if not good:
        raise ReplayError(f"moment {number} is {quoted(moment)}; it must be a list of pairs of a seat and an action")
    pairs: Sequence[Any] = moment
    return pairs


def _seats(seats: Sequence[int]) -> str:
    return f"{'seat' if len(seats) == 1 else 'seats'} {', '.join(map(str, seats)) or 'none'}"


def _difference(recorded: Any, played: Any, where: str = "") -> str:
    """Describe the first difference between two snapshots; empty if there is none."""
    if isinstance(recorded, dict) and isinstance(played, dict):
        for key in (*played, *(key for key in recorded if key not in played)):
            inner = f"{where}.{printable(key, 40)}" if where else printable(key, 40)
            difference = _difference(recorded.get(key, _ABSENT), played.get(key, _ABSENT), inner)
            if difference:
                return difference
        return ""
    if isinstance(recorded, list) and isinstance(played, list) and len(recorded) == len(played):
        parts = (_difference(*pair, f"{where}[{i}]") for i, pair in enumerate(zip(recorded, played, strict=True)))
        return next(filter(None, parts), "")
    # `type` too, since true equals 1
    if recorded == played and type(recorded) is type(played):
        return ""
    return f"{where} is recorded as {quoted(recorded)}, but it becomes {quoted(played)}"
