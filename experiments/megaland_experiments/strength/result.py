"""The result of a tournament."""

from __future__ import annotations

from dataclasses import dataclass

from megaland_experiments.shared.output import versions
from megaland_experiments.strength.results import Row

TABLES = ("ratings", "standings", "head_to_head", "differences", "line_ups", "seats")
"""Names of the tables."""


@dataclass(frozen=True)
class Tournament:
    """The results of a tournament: tables, each a list of rows as ``pandas.DataFrame`` takes it.

    They follow from the settings alone.

    Shares are win shares: a shared win counts 1 / number of winners, a truncated game 0. ``low`` and ``high`` are 95 %
    confidence intervals with a seed as the unit. ``par`` is 1 / P, the share among equals. Where a table has the column
    ``kind``, an agent counts in ``pairs`` when it sits alone against P - 1 of another, and in ``mixed`` in every seat.

    Attributes:
        settings: what was played.
        ratings: by number of players and agent: ``rating, low, high``, the anchor at 1000 (ratings.py); best first.
        standings: by number of players, kind and agent: ``win_share, low, high, par``, and the means over its games of
            ``coins``, ``place`` (by coins; equals share the better place), ``decisions``, ``rounds`` and ``truncated``.
        head_to_head: by number of players and two agents: ``win_share, low, high`` of the agent alone against P - 1 of
            the opponent, and ``ahead``, the share of common tables at which it had more coins; equal coins count half.
        differences: by number of players, kind and two agents: ``difference, low, high`` of their win shares, each in
            the other's place among the same others, on the same seeds; ``deviation``, its standard deviation from seed
            to seed, and ``unpaired_deviation``, the same if the two had played on different seeds; ``games_needed`` in
            each line-up to find a difference of three points four times out of five. If all their tables have both
            agents, the win shares are those at these tables.
        line_ups: by line-up and agent in it: ``seats``, ``games``, ``win_share, low, high`` of one seat, ``coins``,
            ``place``, ``truncated``.
        seats: by number of players and ``by``: the win share of each ``seat``, and of each place in the ``turn`` order
            of the first round, over all games. All agents sit in all seats equally often.
    """

    settings: Row
    ratings: list[Row]
    standings: list[Row]
    head_to_head: list[Row]
    differences: list[Row]
    line_ups: list[Row]
    seats: list[Row]

    def tables(self) -> dict[str, list[Row]]:
        """The tables by their names."""
        return {name: getattr(self, name) for name in TABLES}

    def to_dict(self) -> Row:
        """The settings, the tables and the versions, as ``json.dumps`` takes them."""
        return {"settings": self.settings, **self.tables(), "versions": versions()}
