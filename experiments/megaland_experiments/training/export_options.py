"""The options of ``megaland export``."""

from __future__ import annotations

import argparse

from megaland_experiments.options import path_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``megaland export``."""
    parser.add_argument(
        "policy", type=path_name, metavar="POLICY", help="the folder of a trained policy, such as runs/ppo-1/policy"
    )
    parser.add_argument(
        "--out", "--onnx", dest="out", type=path_name, metavar="FILE", required=True, help="the file to write"
    )
