"""The options of ``megaland report``."""

from __future__ import annotations

import argparse

DEFAULT_NAME = "report.html"
"""The name of the page in the folder that it is about."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``megaland report``."""
    parser.add_argument("folder", metavar="DIR", help="a folder of megaland simulate or of megaland tournament")
    parser.add_argument(
        "--out", metavar="FILE", help=f"file for the page; an existing page is replaced ({DEFAULT_NAME} in that folder)"
    )
