"""The options of ``megaland train``, and the command that asks for a configuration."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from typing import Any

from experiments.train_config import PRESETS, TrainConfig

_MOST = 2**63


def whole_number(text: str) -> int:
    """The value of an option that is a whole number: ``30000``, ``30_000``, ``3e4``.

    Raises:
        argparse.ArgumentTypeError: it is something else, or has more than 63 bits.
    """
    try:
        value = Decimal(text)
        if value.is_finite() and abs(value) < _MOST and value == value.to_integral_value():
            return int(value)
    except InvalidOperation:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, such as 30000, 30_000 or 3e4")


class _Several(argparse.Action):
    """Values with commas or blanks between them: ``2,3`` or ``2 3``."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store them as a tuple."""
        words = [word for value in values or () for word in value.split(",")]
        try:
            if self.const is int:
                setattr(namespace, self.dest, tuple(whole_number(word) for word in words))
            elif all(words):
                setattr(namespace, self.dest, tuple(words))
            else:
                raise argparse.ArgumentTypeError(f"{' '.join(values or ())!r} must be names, such as spread,random")
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options: one for each field of ``TrainConfig``, ``--preset`` and ``--resume``."""
    parser.add_argument(
        "--resume",
        metavar="RUN",
        help="go on with the run in this folder; of the other options only --opponents may be given, with what it has",
    )
    parser.add_argument("--preset", choices=PRESETS, help="quick (the defaults), standard or long")
    for each in fields(TrainConfig):
        option, default = f"--{each.name.replace('_', '-')}", each.default
        text = each.metadata["help"].replace("%", "%%")
        if each.name == "folder":
            parser.add_argument(option, "--out", help=text)
        elif isinstance(default, bool):
            parser.add_argument(option, action="store_true", default=None, help=text)
        elif each.name == "opponents":
            parser.add_argument(option, nargs="+", metavar="NAME=SHARE", help=text)
        elif isinstance(default, tuple):
            options = ("--market", option) if each.name == "markets" else (option,)
            help = f"{text} ({','.join(map(str, default))})"
            kind = type(default[0])
            parser.add_argument(
                *options, action=_Several, dest=each.name, const=kind, nargs="+", metavar="A", help=help
            )
        else:
            shown = f" ({default})" if default != "" else ""
            kind = whole_number if type(default) is int else type(default)
            parser.add_argument(option, type=kind, metavar=each.name.upper(), help=f"{text}{shown}")


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of ``TrainConfig`` that were given as options.

    Raises:
        ValueError: ``--opponents`` is not made of names and shares.
    """
    values = {each.name: getattr(arguments, each.name) for each in fields(TrainConfig)}
    values = {name: value for name, value in values.items() if value is not None}
    if "opponents" in values:
        values["opponents"] = _shares(values["opponents"])
    return values


def command_text(config: TrainConfig) -> str:
    """The command that asks for a configuration, for a shell."""
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
    """Opponents with their shares, from words like ``planner=0.2`` (a name may have ``=`` in it)."""
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
