"""Writes ``docs/records.md`` from the declaration of the tables: ``python docs/make_records.py``."""

from pathlib import Path

from megaland_experiments.records.schema import MEANINGS, SCHEMA_VERSION, TABLES, columns_table

TABLES_OF_COLUMNS = "\n".join(f"## {table}\n\n{MEANINGS[table]}\n\n{columns_table(table)}" for table in TABLES)

PAGE = f"""# Records of games

`megaland simulate` writes these tables as Parquet files, version {SCHEMA_VERSION} of the schema, and
`megaland_experiments.records.load` reads them as lazy frames of Polars. In the folder, `manifest.json` says what
was played, and `<table>/part-00000.parquet` and so on hold the rows; their checksums are in `SHA256SUMS`.
[Folders that commands fill](folders.md) says how to go on after a stop, and what else is true of all
folders. This page is generated.

Text is in the words of the rules, and a column of a building or a treasure ends with its name. What is missing is null,
never a number; it says so where a column may be null. `game` is the key of all tables.

- Who bought what, and when: the events `buy` and `heart`; `seats` says on `game` and `seat` who that was, and who won.
- The consequences of a decision: the events of its `game` and `step`.
- The race to 20 coins: `rounds`, where `coins` are those at the end of each round.
- Whether an action was legal: `records.can("BUY_LODGE")`, an expression on `decisions`.

{TABLES_OF_COLUMNS}"""

if __name__ == "__main__":
    Path(__file__).with_name("records.md").write_text(PAGE, encoding="utf-8")
