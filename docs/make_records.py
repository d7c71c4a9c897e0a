"""Writes ``docs/records.md`` from the declaration of the tables: ``python docs/make_records.py``."""

from pathlib import Path

from megaland_experiments.records.schema import MEANINGS, SCHEMA_VERSION, TABLES, columns_table

TABLES_OF_COLUMNS = "\n".join(f"## {table}\n\n{MEANINGS[table]}\n\n{columns_table(table)}" for table in TABLES)

PAGE = f"""# Records of games

`megaland simulate` writes these tables as Parquet files, version {SCHEMA_VERSION} of the schema, and
`megaland_experiments.records.load` reads them as lazy frames of Polars. In the folder, `manifest.json` describes
the games, and `<table>/part-00000.parquet` and so on hold the rows; their checksums are in `SHA256SUMS`.
[Folders that commands fill](folders.md) explains how to continue after a stop, and the other rules of
folders. This page is generated.

Text uses the words of the rules, and the name of a column about one building or treasure ends with its name. A missing
value is null, never a number; the meaning says so if a column can be null. `game` is the key of all tables.

How to find

- purchases: the events `buy` and `heart`; join `seats` on `game` and `seat` for the agent and whether it won;
- the consequences of a decision: the events with its `game` and `step`;
- the race to 20 coins: `coins` in `rounds`, at the end of each round;
- whether an action was legal: `records.can("BUY_LODGE")`, an expression on `decisions`.

{TABLES_OF_COLUMNS}"""

if __name__ == "__main__":
    Path(__file__).with_name("records.md").write_text(PAGE, encoding="utf-8")
