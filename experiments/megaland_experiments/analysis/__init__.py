"""Analyses of recorded games: tables with intervals, and pictures of them.

Every function takes frames (those of ``megaland_experiments.records.load``, lazy or not, whole or filtered) and
returns a Polars frame, or a figure of such a frame. ::

    from megaland_experiments import analysis
    from megaland_experiments.records import load

    records = load("runs/games")
    turns = analysis.buy_turns(records.decisions, records.events, records.seats)
    print(analysis.building_lift(turns))

=======================  =================================================================================
question                 functions
=======================  =================================================================================
which buildings win      ``buy_turns``, then ``building_lift``, ``lift_figure``, ``owners_ahead``
which markets suit whom  ``market_lift``, ``market_figure``
when to buy what         ``buy_rates``, ``buy_figure``; ``lift_by_stage``, ``stage_figure``
what is never used       ``building_use``, ``rules_in_play``, ``rules_figure``
the race to 20           ``race``, ``game_lengths``, ``leaders``, ``race_figure``
where to sit             ``seat_effects``, ``seat_figure``
what things are worth    ``worth``, ``worth_figure``; ``runs_by_hearts``, ``exact_runs``, ``runs_figure``
when to leave            ``run_decisions``, then ``stay_or_leave``, ``leave_figure``, ``card_figure``
how agents differ        ``styles``, ``style_figure``
=======================  =================================================================================

How effects are distinguished from mere correlations is explained in analysis/buildings.py, and how intervals are made
in analysis/regression.py.
"""

from megaland_experiments.analysis.behaviour import (
    card_figure,
    leave_figure,
    rules_figure,
    rules_in_play,
    run_decisions,
    stay_or_leave,
    style_figure,
    styles,
)
from megaland_experiments.analysis.buildings import (
    building_lift,
    building_use,
    buy_figure,
    buy_rates,
    buy_turns,
    lift_by_stage,
    lift_figure,
    market_figure,
    market_lift,
    owners_ahead,
    purchases,
    stage_figure,
)
from megaland_experiments.analysis.race_to_20 import game_lengths, leaders, race, race_figure, seat_effects, seat_figure
from megaland_experiments.analysis.regression import fit
from megaland_experiments.analysis.resources import exact_runs, runs_by_hearts, runs_figure, worth, worth_figure

__all__ = [
    "building_lift",
    "building_use",
    "buy_figure",
    "buy_rates",
    "buy_turns",
    "card_figure",
    "exact_runs",
    "fit",
    "game_lengths",
    "leaders",
    "leave_figure",
    "lift_by_stage",
    "lift_figure",
    "market_figure",
    "market_lift",
    "owners_ahead",
    "purchases",
    "race",
    "race_figure",
    "rules_figure",
    "rules_in_play",
    "run_decisions",
    "runs_by_hearts",
    "runs_figure",
    "seat_effects",
    "seat_figure",
    "stage_figure",
    "stay_or_leave",
    "style_figure",
    "styles",
    "worth",
    "worth_figure",
]
