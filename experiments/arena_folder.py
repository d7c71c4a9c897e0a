"""Where a tournament keeps what it has played, so that it can go on after a stop.

``settings.json`` says what is played, and ``games/`` has a file for each chunk of finished games: plain arrays, no
pickles. A file is there whole or not at all.
"""

from __future__ import annotations

import io
import re
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.arena import Chunk, Plan
from experiments.matches import Matches
from experiments.output import write_bytes, write_json
from experiments.run_folder import FolderError, check_free, check_same, read_object

SETTINGS_FILE = "settings.json"
GAMES_FOLDER = "games"
FORMAT = "megaland-tournament/1"

_NAME = re.compile(r"line-up-(\d+)-seeds-(\d+)-(\d+)\.npz")
_STORED = [field.name for field in fields(Matches) if field.name not in ("seeds", "line_ups")]  # these the plan knows
_OF_SEATS = ("winners", "coins", "decisions")  # (N, P); the others are (N,)


class ArenaFolder:
    """The folder of one tournament.

    Args:
        path: the folder; it is made if need be.
        plan: what is played.
        settings: the same in words, as JSON knows them; a folder with other settings is refused.

    Raises:
        FolderError: the folder holds another tournament, or something else.
    """

    def __init__(self, path: str | Path, plan: Plan, settings: dict[str, Any]) -> None:
        self.path = Path(path)
        self._plan = plan
        self._claim({"format": FORMAT, **settings})

    def _claim(self, settings: dict[str, Any]) -> None:
        file = self.path / SETTINGS_FILE
        if file.exists():
            check_same(self.path, read_object(file), settings, "another tournament")
        else:
            check_free(self.path, _is_ours, "tournament")
        self._games.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            write_json(file, settings)

    @property
    def _games(self) -> Path:
        return self.path / GAMES_FOLDER

    @cached_property
    def _known(self) -> set[Chunk]:
        names = (_NAME.fullmatch(entry.name) for entry in self._games.iterdir())
        found = sorted(Chunk(*map(int, match.groups())) for match in names if match)
        known: set[Chunk] = set()
        reached = [0] * len(self._plan.line_ups)
        for chunk in found:
            line_up, first, number = chunk
            if line_up >= len(reached) or first + number > self._plan.num_seeds(line_up):
                raise FolderError(f"{self._file(chunk)} is of another tournament; delete it and run again")
            if first >= reached[line_up]:  # else two runs at once have played the same games, which are alike
                known.add(chunk)
                reached[line_up] = first + number
        return known

    def chunks(self) -> list[Chunk]:
        """Those that are there already."""
        return sorted(self._known)

    def add(self, chunk: Chunk, matches: Matches) -> None:
        """Keep one more."""
        content = io.BytesIO()
        np.savez_compressed(content, **{name: getattr(matches, name) for name in _STORED})
        write_bytes(self._file(chunk), content.getvalue())
        self._known.add(chunk)

    def get(self, chunk: Chunk) -> Matches:
        """One that was kept.

        Raises:
            FolderError: its file is damaged.
        """
        file = self._file(chunk)
        seats = self._plan.seats(chunk)
        content = io.BytesIO(file.read_bytes())
        try:
            with np.load(content, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _STORED}
        except Exception as error:  # a damaged archive fails in a dozen ways
            raise FolderError(f"{file} is damaged ({error}); delete it and run again: it is then played anew") from None
        matches = Matches(seeds=self._plan.seeds(chunk), line_ups=seats, **arrays)
        shapes = {name: seats.shape if name in _OF_SEATS else seats.shape[:1] for name in _STORED}
        if any(arrays[name].shape != shapes[name] or arrays[name].dtype.kind not in "biu" for name in _STORED):
            raise FolderError(f"{file} has not the {len(seats)} games that it should; delete it and run again")
        return matches

    def _file(self, chunk: Chunk) -> Path:
        return self._games / f"line-up-{chunk.line_up:03}-seeds-{chunk.first:07}-{chunk.number:05}.npz"


def _is_ours(entry: Path) -> bool:
    """What a run that was stopped at its very beginning may have left."""
    return entry.name == GAMES_FOLDER or entry.name.endswith(".part")
