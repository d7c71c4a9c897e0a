"""Records of games: a folder of Parquet tables and a manifest, written part by part, and read as frames of Polars.

``DIR/manifest.json`` says what was played, and ``DIR/<table>/part-00000.parquet`` and so on hold the tables of
record_schema.py. Every file is there whole or not at all. ``load`` reads a set; so does whatever reads Parquet, such as
DuckDB: ``SELECT * FROM 'DIR/seats/*.parquet'``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from experiments.output import versions, write_bytes, write_json
from experiments.record_schema import SCHEMA_VERSION, TABLES, schema
from experiments.run_folder import FolderError, check_free, check_same, read_object
from megaland_env import Action

MANIFEST_FILE = "manifest.json"
FORMAT = "megaland-records"

_FOOTER = "megaland"
"""The key under which each file says what it is."""


@dataclass(frozen=True, eq=False)
class Records:
    """A set of records. Nothing of a table is read before its frame is collected (``records.seats.collect()``).

    Attributes:
        path: its folder.
        manifest: what was played, by whom and with what: ``settings``, ``line_ups``, ``parts``, ``rows`` of each table,
            ``command``, ``versions``.
        games: a row for each game; the columns of all tables stand in record_schema.py and docs/records.md.
        seats: a row for each game and seat.
        rounds: a row for each game, seat and round.
        decisions: a row for each decision that was kept.
        events: a row for each thing that happened.
    """

    path: Path
    manifest: dict[str, Any]
    games: pl.LazyFrame
    seats: pl.LazyFrame
    rounds: pl.LazyFrame
    decisions: pl.LazyFrame
    events: pl.LazyFrame


def load(path: str | Path) -> Records:
    """The records in a folder, as lazy frames.

    Raises:
        FolderError: the folder holds no records, or not all of them, or of another schema, or a file is damaged.
    """
    folder = Path(path)
    file = folder / MANIFEST_FILE
    if not file.is_file():
        raise FolderError(f"{folder} holds no records: there is no {MANIFEST_FILE} in it")
    manifest = read_object(file)
    _check_version(folder, manifest)
    parts = _parts(folder, manifest)
    names = (manifest["settings"]["agents"], manifest["line_ups"])
    there = [part for part in parts if is_whole(folder, part, *names)]
    if len(there) < len(parts):
        how = f": {manifest['command']}" if manifest["command"] else ""
        raise FolderError(
            f"{folder} has {len(there)} of its {len(parts)} parts; simulate again with the same arguments to complete "
            f"it{how}"
        )
    frames = {
        table: pl.scan_parquet(
            [file_of(folder, table, part) for part in parts], schema=schema(table, *names), glob=False
        )
        for table in TABLES
    }
    return Records(folder, manifest, **frames)


def can(action: str) -> pl.Expr:
    """Of ``decisions``: whether an action, such as ``"BUY_LODGE"``, was legal."""
    return (pl.col("legal") & pl.lit(1 << Action[action], pl.UInt64)) != 0


# ------------------------------------------------------------------------------------------------------ the folder


@dataclass(frozen=True)
class Part:
    """Games that are played and written together; each table has a file of them.

    Attributes:
        name: of the files.
        num_players: at the table.
        first_game: the number of the first of them in the set.
        games: how many they are.
    """

    name: str
    num_players: int
    first_game: int
    games: int


def file_of(folder: Path, table: str, part: Part) -> Path:
    """Where a part of a table lies."""
    return folder / table / f"{part.name}.parquet"


def claim(
    folder: Path, settings: Mapping[str, Any], line_ups: Sequence[str], parts: Sequence[Part], command: str | None
) -> None:
    """Make a folder for a set of records, or go on with one of the same settings.

    Raises:
        FolderError: it holds other records, or something else.
    """
    file = folder / MANIFEST_FILE
    if file.exists():
        manifest = read_object(file)
        _check_version(folder, manifest)
        check_same(folder, manifest["settings"], settings, "other records")
    else:
        check_free(folder, _is_ours, "records")
    for table in TABLES:
        (folder / table).mkdir(parents=True, exist_ok=True)
    if not file.exists():
        manifest = {
            "format": FORMAT,
            "schema": SCHEMA_VERSION,
            "command": command,
            "settings": dict(settings),
            "line_ups": list(line_ups),
            "versions": {**versions(), "polars": pl.__version__},
            "parts": [vars(part) for part in parts],
            "rows": None,
        }
        write_json(file, manifest)


def is_whole(folder: Path, part: Part, agents: Sequence[str], line_ups: Sequence[str]) -> bool:
    """Whether all tables have a part.

    Raises:
        FolderError: one of its files is damaged, or of other records.
    """
    return all(_check_file(folder, table, part, agents, line_ups) for table in TABLES)


def write(folder: Path, table: str, part: Part, frame: pl.DataFrame) -> None:
    """Write a part of a table."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", metadata={_FOOTER: _footer(table, part)})
    write_bytes(file_of(folder, table, part), content.getvalue())


def finish(folder: Path) -> None:
    """Say in the manifest how many rows there are, and clear away what a killed run has left."""
    file = folder / MANIFEST_FILE
    manifest = read_object(file)
    files = {table: [file_of(folder, table, part) for part in _parts(folder, manifest)] for table in TABLES}
    manifest["rows"] = {
        table: pl.scan_parquet(paths, glob=False).select(pl.len()).collect().item() for table, paths in files.items()
    }
    write_json(file, manifest)
    for table in TABLES:
        for left in (folder / table).glob(".*.part"):
            left.unlink()


def _check_version(folder: Path, manifest: Mapping[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise FolderError(f"{folder} holds no records, but a {MANIFEST_FILE} of something else; name another folder")
    if manifest.get("schema") != SCHEMA_VERSION:
        raise FolderError(
            f"{folder} holds records of schema {manifest.get('schema')}; this version of megaland knows schema "
            f"{SCHEMA_VERSION}: name another folder, or simulate them anew"
        )
    missing = {"settings", "line_ups", "parts", "command"}.difference(manifest)
    if missing:
        raise FolderError(f"{folder / MANIFEST_FILE} is damaged: it has no {min(missing)}; name another folder")


def _parts(folder: Path, manifest: Mapping[str, Any]) -> list[Part]:
    try:
        return [Part(**part) for part in manifest["parts"]]
    except TypeError as error:
        raise FolderError(f"{folder / MANIFEST_FILE} is damaged: its parts are none ({error})") from None


def _check_file(folder: Path, table: str, part: Part, agents: Sequence[str], line_ups: Sequence[str]) -> bool:
    """Whether the file of a part is there; an error if it is not what it should be. Its data are not read."""
    file = file_of(folder, table, part)
    if not file.exists():
        return False
    again = "delete it and simulate again: its games are then played anew"
    try:
        with file.open("rb") as opened:  # in the name of a file, brackets and stars would be a pattern
            footer = pl.read_parquet_metadata(opened).get(_FOOTER)
            opened.seek(0)
            columns = pl.read_parquet_schema(opened)
    except Exception as error:  # a damaged file fails in a dozen ways
        raise FolderError(f"{file} is damaged ({error}); {again}") from None
    if footer != _footer(table, part) or columns != schema(table, agents, line_ups):
        raise FolderError(f"{file} is of other records; {again}")
    return True


def _footer(table: str, part: Part) -> str:
    return json.dumps({"schema": SCHEMA_VERSION, "table": table, **vars(part)})


def _is_ours(entry: Path) -> bool:
    """What a run that was stopped at its very beginning may have left."""
    return (entry.name in TABLES and not any(entry.glob("*.parquet"))) or entry.name.endswith(".part")
