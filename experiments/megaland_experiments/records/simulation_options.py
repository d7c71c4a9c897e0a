"""The options of ``megaland simulate``."""

from __future__ import annotations

import argparse

from megaland_experiments.options import (
    add_config_arguments,
    add_games,
    add_seed,
    add_several_players,
    add_workers,
    path_name,
    whole_number,
)

DEFAULT_GAMES = 10_000
DEFAULT_PLAYERS = 4
DEFAULT_FOLDER = "runs/records"
DEFAULT_PART = 8192
"""Number of games. Larger parts are faster; this one takes 0.8 gigabytes while it is played and written."""

ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``megaland simulate``."""
    parser.add_argument("agents", metavar="AGENT", nargs="+", help="such as threshold:risk=0.3 (megaland agents)")
    add_games(parser, DEFAULT_GAMES, "for each number of players, rounded up to a multiple of it")
    parser.add_argument(
        "--out",
        type=path_name,
        metavar="DIR",
        help=f"folder for the records; the same command continues them ({DEFAULT_FOLDER}, or the next free name)",
    )
    add_several_players(parser, [DEFAULT_PLAYERS])
    add_seed(parser)
    add_workers(parser)
    parser.add_argument(
        "--decisions",
        type=_share,
        default=1.0,
        metavar="SHARE",
        help=f"decisions to keep: {ALL}, or a share from 0 to 1, drawn at random ({ALL})",
    )
    parser.add_argument(
        "--part",
        type=whole_number,
        default=DEFAULT_PART,
        metavar="GAMES",
        help="largest number of games played and written together: fewer take less memory, and less is lost when the "
        "command is stopped (%(default)s)",
    )
    add_config_arguments(parser)


def _share(word: str) -> float:
    try:
        return 1.0 if word == ALL else float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is neither {ALL} nor a share from 0 to 1") from None
