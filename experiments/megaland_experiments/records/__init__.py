"""Recorded games as tables: ``simulate`` plays and records them, and ``load`` reads them. ::

    from megaland_experiments.records import load, simulate

    records = simulate(["planner", "threshold"], "runs/games", games=1000)
    records = load("runs/games")
    print(records.seats.collect())

Polars is imported when one of these names is first used.
"""

from typing import TYPE_CHECKING

from megaland_experiments.shared.lazy_names import lazy_names

if TYPE_CHECKING:
    from megaland_experiments.records.folder import Records, can, load
    from megaland_experiments.records.simulation import simulate
else:
    __getattr__ = lazy_names(
        __name__, {"Records": "folder", "can": "folder", "load": "folder", "simulate": "simulation"}
    )

__all__ = ["Records", "can", "load", "simulate"]
