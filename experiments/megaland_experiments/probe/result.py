"""The result of a probe."""

from __future__ import annotations

from dataclasses import dataclass, fields

from megaland_experiments.probe.measures import Row
from megaland_experiments.shared.output import versions


@dataclass(frozen=True)
class Probe:
    """The result of a probe: tables, each a list of rows that ``pandas.DataFrame`` or ``polars.DataFrame`` accepts.

    The tables follow from the settings alone. ``solver_...``, ``optimal_share`` and ``loss`` (the mean per decision, in
    treasures) refer to the model of probe/measures.py, in which all treasures have the same value. A value is None
    where there was no such decision. Forced moves are not decisions.

    Attributes:
        settings: what was played.
        summary: ``measure``, ``value``, and for means over games ``low`` and ``high``, the 95 % interval with the seed
            as the unit.
        leaving: decisions to stay or leave, by ``hearts`` left and number of ``unseen`` level cards.
        leaving_by_danger: the same decisions by the chance to fall on the next card, in tenths.
        leaving_by_carried: the same decisions by treasures carried.
        purchases: by ``round`` and ``item``: ``turns`` in games that have the item on offer, ``bought``, ``per_turn``.
        turns: by ``round``: ``turns`` in the buy phase, turns ``able`` to buy anything, turns in which something was
            ``bought``, ``passes`` with something affordable, ``passes_at_once`` of turns without a purchase, and
            ``held_at_pass``, the mean number of treasures at home at such a pass.
        treasures: by ``choice`` (pay, store, herb_hut, reptile) and ``treasure``: the mean number ``held``, how often
            it was ``offered`` and ``chosen``, and ``share``, the ratio of the two.
        jumps: decisions to jump, by what the solver does.
        tokens: the same decisions by what a jump would have done with the next card: how often the player ``jumped``
            and ``walked``.
        trades: decisions at the Rabbit, by carrots carried; the last row has this number or more.
    """

    settings: Row
    summary: list[Row]
    leaving: list[Row]
    leaving_by_danger: list[Row]
    leaving_by_carried: list[Row]
    purchases: list[Row]
    turns: list[Row]
    treasures: list[Row]
    jumps: list[Row]
    tokens: list[Row]
    trades: list[Row]

    def tables(self) -> dict[str, list[Row]]:
        """The tables by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "settings"}

    def to_dict(self) -> Row:
        """The settings, the tables and the versions, in a form that JSON can hold."""
        return {"settings": self.settings, **self.tables(), "versions": versions()}

    def value(self, measure: str) -> float | None:
        """The value of one measure of the summary."""
        found: dict[str, float | None] = {row["measure"]: row["value"] for row in self.summary}
        return found[measure]
