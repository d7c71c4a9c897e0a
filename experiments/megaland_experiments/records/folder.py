"""The folder of a set of records: Parquet tables and a manifest, written part by part and read as Polars frames.

``DIR/manifest.json`` says what was played; ``DIR/<table>/part-00000.parquet`` and so on hold the tables of
records/schema.py; ``SHA256SUMS`` holds their checksums (docs/folders.md). ``load`` reads a set of records, and so does
any reader of Parquet, such as DuckDB: ``SELECT * FROM 'DIR/seats/*.parquet'``.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from megaland_env import Action
from megaland_env.agent import names_class
from megaland_env.files import digest, write_bytes
from megaland_experiments.records.schema import SCHEMA_VERSION, TABLES, schema
from megaland_experiments.shared.output import json_bytes, versions
from megaland_experiments.shared.run_folder import (
    AGAIN,
    FolderError,
    Kind,
    RunFolder,
    Stored,
    Work,
    read_stored,
    warn_if_old,
)

MANIFEST_FILE = "manifest.json"
RECORDS = Kind(
    "records",
    MANIFEST_FILE,
    "megaland-records",
    beginnings=tuple(TABLES),
    written=(rf"({'|'.join(TABLES)})/part-\d{{5,}}\.parquet",),
    old_key="settings",
)

_NAME = re.compile(r"part-\d{5,}")
_FOOTER = "megaland"
"""The metadata key under which each Parquet file says what it holds."""


@dataclass(frozen=True, eq=False)
class Records:
    """A set of records. A table is read when its frame is collected (``records.seats.collect()``).

    The columns of the tables are listed in records/schema.py and docs/records.md.

    Attributes:
        path: folder of the records.
        manifest: how they were made: ``settings``, ``line_ups``, ``parts``, number of ``rows`` of each table,
            ``command``, ``versions``.
        games: one row for each game.
        seats: one row for each game and seat.
        rounds: one row for each game, seat and round.
        decisions: one row for each decision that was kept.
        events: one row for each event.
    """

    path: Path
    manifest: dict[str, Any]
    games: pl.LazyFrame
    seats: pl.LazyFrame
    rounds: pl.LazyFrame
    decisions: pl.LazyFrame
    events: pl.LazyFrame


def load(path: str | Path) -> Records:
    """Read the records in a folder as lazy frames.

    All files are read once to verify their checksums. Folders written by version 0.1 have no checksums, which gives a
    warning.

    Raises:
        FolderError: the folder holds no records, or only some of their parts, or records of another schema, or a file
            is damaged.
        OSError: a file cannot be read.
    """
    folder = Path(path)
    stored = read_stored(folder, RECORDS)
    records = records_in(stored)
    warn_if_old(folder, stored)
    return records


def records_in(stored: Stored, *, verified: bool = False) -> Records:
    """The records in a folder whose manifest was read (``load``). If ``verified``, checksums are not compared again."""
    folder, manifest = stored.checksums.folder, stored.content
    parts = parts_of(stored)
    there = [part for part in parts if is_whole(stored, part, verified=verified)]
    if len(there) < len(parts):
        how = f": {manifest['command']}" if _is_safe_to_give(manifest["command"]) else ""
        again = "this version cannot complete it" if stored.is_old else f"simulate again with the same arguments{how}"
        raise FolderError(f"{folder} has {len(there)} of its {len(parts)} parts; {again}")
    names = (manifest["settings"]["agents"], manifest["line_ups"])
    frames = {
        table: pl.scan_parquet(
            [folder / name_of(table, part) for part in parts], schema=schema(table, *names), glob=False
        )
        for table in TABLES
    }
    return Records(folder, manifest, **frames)


def can(action: str) -> pl.Expr:
    """An expression on ``decisions``: whether an action, such as ``"BUY_LODGE"``, was legal."""
    return (pl.col("legal") & pl.lit(1 << Action[action], pl.UInt64)) != 0


# ------------------------------------------------------------------------------------------------------ the folder


@dataclass(frozen=True)
class Part:
    """Games that are played and written together, to one file of each table.

    Attributes:
        name: name of the files.
        num_players: number of players in each game.
        first_game: number of the first game in the set.
        games: number of games.
    """

    name: str
    num_players: int
    first_game: int
    games: int


def name_of(table: str, part: Part) -> str:
    """The name of the file of a part of a table, relative to the folder of the records."""
    return f"{table}/{part.name}.parquet"


def _is_safe_to_give(command: str | None) -> bool:
    """Whether a command from a manifest may be suggested: a single ``megaland simulate`` that imports no classes."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return False
    return words[:2] == ["megaland", "simulate"] and shlex.join(words) == command and not names_class(command)


def work_of(settings: Mapping[str, Any], line_ups: Sequence[str], parts: Sequence[Part], command: str | None) -> Work:
    """The work that is done in a folder of records (shared/run_folder.py)."""
    facts = {
        "schema": SCHEMA_VERSION,
        "command": command,
        "line_ups": list(line_ups),
        "versions": {**versions(), "polars": pl.__version__},
        "parts": [vars(part) for part in parts],
        "rows": None,
    }
    return Work(RECORDS, settings, facts)


def parts_of(stored: Stored) -> list[Part]:
    """Check a manifest, and list the parts that it names.

    Raises:
        FolderError: the manifest has another schema, or is damaged.
    """
    folder, manifest = stored.checksums.folder, stored.content
    if type(manifest.get("schema")) is not int or manifest["schema"] != SCHEMA_VERSION:
        raise FolderError(
            f"{folder} holds records of schema {manifest.get('schema')!r}; this version of megaland knows schema "
            f"{SCHEMA_VERSION}: simulate them again into another folder"
        )

    def check(good: bool, what: str) -> None:
        if not good:
            raise FolderError(f"{folder / MANIFEST_FILE} is damaged: {what}")

    settings: Any = manifest.get("settings")
    check(isinstance(settings, dict), "it has no settings")
    check(_is_list_of(str, settings.get("agents")), "its settings do not name the agents")
    check(_is_list_of(int, settings.get("players")), "its settings do not name the numbers of players")
    check(type(settings.get("decisions")) in (int, float), "its settings do not say which decisions are kept")
    check(isinstance(settings.get("config"), dict), "its settings have no config")
    check(_is_list_of(str, manifest.get("line_ups")), "it has no line_ups")
    check(isinstance(manifest.get("command", 0), (str, type(None))), "it has no command")
    check(isinstance(manifest.get("versions"), dict), "it has no versions")
    rows: Any = manifest.get("rows")
    check(
        rows is None or (isinstance(rows, dict) and _is_list_of(int, [rows.get(table) for table in TABLES])), "its rows"
    )
    parts: Any = manifest.get("parts")
    check(isinstance(parts, list) and len(parts) > 0, "its parts are not a list of parts")
    for part in parts:
        good = isinstance(part, dict) and list(part) == [field.name for field in fields(Part)]
        check(good, f"its parts have {part!r}, which is no part")
        check(_is_list_of(int, [*part.values()][1:]) and isinstance(part["name"], str), f"its part {part!r}")
        check(_NAME.fullmatch(part["name"]) is not None, f"its part is called {part['name']!r}")
    return [Part(**part) for part in parts]


def is_whole(stored: Stored, part: Part, *, verified: bool) -> bool:
    """Whether a part is finished in all tables.

    Raises:
        FolderError: a file of the part is damaged, or belongs to other records.
    """
    return all(_check_file(stored, table, part, verified) for table in TABLES)


def write(stored: Stored, table: str, part: Part, frame: pl.DataFrame) -> tuple[str, str]:
    """Write a part of a table; returns the name of the file and its digest, which the caller has to record."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", metadata={_FOOTER: _footer(stored, table, part)})
    name, raw = name_of(table, part), content.getvalue()
    write_bytes(stored.checksums.path(name), raw)
    return name, digest(raw)


def finish(folder: RunFolder) -> None:
    """Write the numbers of rows to the manifest."""
    parts, path = parts_of(folder.stored), folder.path
    folder.stored.content["rows"] = {
        table: pl.scan_parquet([path / name_of(table, part) for part in parts], glob=False)
        .select(pl.len())
        .collect()
        .item()
        for table in TABLES
    }
    folder.checksums.write(MANIFEST_FILE, json_bytes(folder.stored.content))
    folder.checksums.forget_old()


def _check_file(stored: Stored, table: str, part: Part, verified: bool) -> bool:
    """Whether the file of a part exists and is finished; raises ``FolderError`` if it is damaged or another file."""
    name = name_of(table, part)
    file = stored.checksums.path(name)
    if not file.exists() or (name not in stored.checksums and not stored.is_old and stored.content["rows"] is None):
        return False
    if not file.is_file():
        raise FolderError(f"{file} is not a regular file; {AGAIN}")
    if not stored.is_old and not verified:
        stored.checksums.verify(name)
    settings, line_ups = stored.settings, stored.content["line_ups"]
    try:
        with file.open("rb") as opened:  # Polars would take brackets and stars in a name for a pattern
            footer = pl.read_parquet_metadata(opened).get(_FOOTER)
            opened.seek(0)
            columns = pl.read_parquet_schema(opened)
    except Exception as error:  # a damaged file fails in a dozen ways
        raise FolderError(f"{file} is damaged ({error}); {AGAIN}") from None
    if footer != _footer(stored, table, part) or columns != schema(table, settings["agents"], line_ups):
        raise FolderError(f"{file} is of other records; {AGAIN}")
    return True


def _footer(stored: Stored, table: str, part: Part) -> str:
    """The metadata of a file: which rows it holds, of which records."""
    identity: dict[str, Any] = {"schema": SCHEMA_VERSION, "table": table, **vars(part)}
    if not stored.is_old:
        identity["work"] = digest(json.dumps(stored.settings, sort_keys=True).encode())
    return json.dumps(identity)


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(type(each) is kind for each in value)
