"""The options of ``megaland export``."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``megaland export``."""
    parser.add_argument("policy", metavar="POLICY", help="the folder of a trained policy, such as runs/ppo-1/policy")
    parser.add_argument("--out", "--onnx", dest="out", metavar="FILE", required=True, help="the file to write")
