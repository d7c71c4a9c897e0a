"""The options of ``megaland train``, and the command for a configuration."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from megaland_experiments.options import Several, path_name, whole_number
from megaland_experiments.training.config import PRESETS, TrainConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options: one for each field of ``TrainConfig``, ``--preset`` and ``--resume``."""
    parser.add_argument(
        "--resume",
        type=path_name,
        metavar="RUN",
        help="go on with the run in this folder; the only other option allowed is --opponents, with the same opponents",
    )
    parser.add_argument("--preset", choices=PRESETS, help="quick (the defaults), standard or long")
    for each in fields(TrainConfig):
        option, default = f"--{each.name.replace('_', '-')}", each.default
        text = each.metadata["help"].replace("%", "%%")
        if each.name == "folder":
            parser.add_argument("--out", option, dest="folder", type=path_name, help=text)
        elif isinstance(default, bool):
            parser.add_argument(option, action="store_true", default=None, help=text)
        elif each.name == "opponents":
            parser.add_argument(option, nargs="+", metavar="NAME=SHARE", help=text)
        elif isinstance(default, tuple):
            options = ("--market", option) if each.name == "markets" else (option,)
            help = f"{text} ({','.join(map(str, default))})"
            kind = type(default[0])
            parser.add_argument(*options, action=Several, dest=each.name, const=kind, metavar="A,...", help=help)
        else:
            shown = f" ({default})" if default != "" else ""
            value_of: Callable[[str], object] = whole_number if type(default) is int else type(default)
            parser.add_argument(option, type=value_of, metavar=each.name.upper(), help=f"{text}{shown}")


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of ``TrainConfig`` that were given as options.

    Raises:
        ValueError: ``--opponents`` does not consist of names and shares.
    """
    values = {each.name: getattr(arguments, each.name) for each in fields(TrainConfig)}
    values = {name: value for name, value in values.items() if value is not None}
    if "opponents" in values:
        values["opponents"] = _shares(values["opponents"])
    return values


def command_text(config: TrainConfig) -> str:
    """Return the command for a configuration, quoted for a shell."""
    words, defaults = ["megaland", "train"], TrainConfig()
    for each in fields(TrainConfig):
        value, option = getattr(config, each.name), f"--{each.name.replace('_', '-')}"
        if value == getattr(defaults, each.name):
            continue
        if isinstance(value, Mapping):
            words += [option, *(f"{name}={share}" for name, share in value.items())]
        elif isinstance(value, bool):
            words.append(option)
        else:
            words += [option, ",".join(map(str, value)) if isinstance(value, tuple) else f"{value}"]
    return shlex.join(words)


def _shares(words: list[str]) -> dict[str, float]:
    """Parse opponents with their shares from words like ``planner=0.2`` (a name may have ``=`` in it)."""
    shares = {}
    for word in words:
        name, _, share = word.rpartition("=")
        try:
            again = name in shares
            shares[name] = float(share)
        except ValueError:
            name = ""
        if not name or ("," in name and ":" not in name):  # parameters of an agent may have commas
            raise ValueError(
                f"--opponents {word!r}: it must be a name and a share, as in planner=0.2, or several of them"
            )
        if again:
            raise ValueError(f"--opponents names {name!r} twice; each has one share")
    return shares
