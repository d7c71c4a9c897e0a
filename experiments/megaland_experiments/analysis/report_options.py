"""The options of ``megaland report``."""

from __future__ import annotations

import argparse

DEFAULT_NAME = "report.html"
"""Of the page, in the folder that it is about."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    parser.add_argument("folder", metavar="DIR", help="of megaland simulate, or of megaland tournament")
    parser.add_argument(
        "--out", metavar="FILE", help=f"the page; a page of that name is replaced ({DEFAULT_NAME} in that folder)"
    )
