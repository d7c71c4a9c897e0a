"""The options of ``megaland report``."""

from __future__ import annotations

import argparse

from megaland_experiments.options import path_name

DEFAULT_NAME = "report.html"
"""The name of the page in the folder that it is about."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``megaland report``."""
    parser.add_argument(
        "folder", type=path_name, metavar="DIR", help="a folder of megaland simulate or of megaland tournament"
    )
    parser.add_argument(
        "--out",
        type=path_name,
        metavar="FILE",
        help=f"file for the page; an existing page is replaced ({DEFAULT_NAME} in that folder)",
    )
