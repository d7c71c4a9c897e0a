"""The folder of a tournament, which keeps finished games so that it can go on after a stop.

``settings.json`` says what is played, and ``games/`` has a file for each chunk of finished games: plain arrays, no
pickles. Each file says which games it holds, and has a checksum (checksums.py).
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from megaland_env.checksums import AGAIN, CHECKSUMS_FILE
from megaland_env.files import digest, make_folder
from megaland_experiments.matches.arena import Chunk, Plan
from megaland_experiments.matches.playing import Matches
from megaland_experiments.shared.output import warn
from megaland_experiments.shared.run_folder import FolderError, Kind, RunFolder

GAMES_FOLDER = "games"
_NAME = re.compile(r"games/line-up-(\d+)-seeds-(\d+)-(\d+)\.npz")
TOURNAMENT = Kind(
    "a tournament",
    "settings.json",
    "megaland-tournament",
    beginnings=(GAMES_FOLDER,),
    written=(_NAME.pattern,),
    old_key="lineups",
)

_STORED = [field.name for field in fields(Matches) if field.name not in ("seeds", "line_ups")]  # these the plan knows
_OF_SEATS = ("winners", "coins", "decisions")  # (N, P); the others are (N,)
_IDENTITY = "identity"
_MOST_BYTES_A_SEAT = 64  # of one array and game; they take 4 at most
_MOST_BYTES_MORE = 2**16  # for headers, and the identity


class ArenaFolder:
    """The games in the folder of one tournament.

    Args:
        folder: the folder, which this process owns.
        plan: the games to be played.
    """

    def __init__(self, folder: RunFolder, plan: Plan) -> None:
        self._folder = folder
        self._plan = plan
        self._work = digest(json.dumps(folder.stored.settings, sort_keys=True).encode())
        self._games = folder.path / GAMES_FOLDER
        make_folder(self._games)
        names = sorted(f"{GAMES_FOLDER}/{file.name}" for file in self._games.glob("*.npz"))
        lost = [name for name in names if name not in folder.checksums and _NAME.fullmatch(name)]
        for name in lost:
            (folder.path / name).unlink()
        if lost:
            more = f" and {len(lost) - 1} more files" if len(lost) > 1 else ""
            warn(f"{folder.path / lost[0]}{more} had no checksum in {CHECKSUMS_FILE}, so these games are played again")

    @cached_property
    def _known(self) -> set[Chunk]:
        names = (_NAME.fullmatch(name) for name in self._folder.checksums if self._folder.has(name))
        known: set[Chunk] = set()
        reached = [0] * len(self._plan.line_ups)
        for chunk in sorted(Chunk(*map(int, match.groups())) for match in names if match):
            line_up, first, number = chunk
            if line_up >= len(reached) or first + number > self._plan.num_seeds(line_up) or first < reached[line_up]:
                raise FolderError(f"{self._path(chunk)} is of another tournament; {AGAIN}")
            known.add(chunk)
            reached[line_up] = first + number
        return known

    def chunks(self) -> list[Chunk]:
        """The chunks that are there."""
        return sorted(self._known)

    def add(self, chunk: Chunk, matches: Matches) -> None:
        """Keep the games of a chunk."""
        content = io.BytesIO()
        arrays: dict[str, Any] = {name: getattr(matches, name) for name in _STORED}
        np.savez_compressed(content, allow_pickle=False, **arrays, **{_IDENTITY: np.array(self._identity(chunk))})
        self._folder.checksums.write(_name(chunk), content.getvalue())
        self._known.add(chunk)

    def get(self, chunk: Chunk) -> Matches:
        """Read the games of a chunk.

        Raises:
            FolderError: the file is damaged, or holds other games.
        """
        seats = self._plan.seats(chunk)
        most = _MOST_BYTES_MORE + _MOST_BYTES_A_SEAT * seats.size
        raw = self._folder.checksums.read(_name(chunk), most * len(_STORED))
        try:
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                if any(member.file_size > most for member in archive.infolist()):
                    raise ValueError("an array in it is far too large")
            with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _STORED}
                identity = str(stored[_IDENTITY])
        except Exception as error:  # a damaged archive can raise nearly anything
            raise FolderError(f"{self._path(chunk)} is damaged ({error}); {AGAIN}") from None
        if identity != self._identity(chunk):
            raise FolderError(f"{self._path(chunk)} holds other games than its name says; {AGAIN}")
        matches = Matches(seeds=self._plan.seeds(chunk), line_ups=seats, **arrays)
        shapes = {name: seats.shape if name in _OF_SEATS else seats.shape[:1] for name in _STORED}
        if any(arrays[name].shape != shapes[name] or arrays[name].dtype.kind not in "biu" for name in _STORED):
            raise FolderError(f"{self._path(chunk)} does not have the {len(seats)} games that it should; {AGAIN}")
        return matches

    def _identity(self, chunk: Chunk) -> str:
        """A text that says which games a file holds, and of which tournament."""
        line_up = self._plan.line_ups[chunk.line_up]
        seed = int(self._plan.seeds(chunk)[0])
        return json.dumps(
            {
                "work": self._work,
                "line_up": line_up.name(self._plan.names),
                "line_up_number": int(chunk.line_up),
                "first": int(chunk.first),
                "number": int(chunk.number),
                "first_seed": seed,
            }
        )

    def _path(self, chunk: Chunk) -> str:
        return str(self._folder.path / _name(chunk))


def _name(chunk: Chunk) -> str:
    return f"{GAMES_FOLDER}/line-up-{chunk.line_up:03}-seeds-{chunk.first:07}-{chunk.number:05}.npz"
