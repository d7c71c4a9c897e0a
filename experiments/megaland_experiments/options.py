"""The parser of all commands, and the options that several commands share.

An option takes one word, so that it cannot take the name of an agent that follows it. Several values are therefore
separated by commas: ``--players 2,3``. ``--players 2 3`` works too, since numbers are no names of agents.

The output of a command goes to ``--out``; ``--json``, ``--csv`` and ``--replay`` also write to a file what is shown.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from megaland_env import MegalandConfig
from megaland_env.config import MARKET_RULES, PAYMENTS
from megaland_env.outside_text import printable_lines

_MOST = 2**64


def whole_number(text: str) -> int:
    """Convert the text of an option to a whole number: ``30000``, ``30_000``, ``3e4``.

    Raises:
        argparse.ArgumentTypeError: the text is not a whole number, or needs more than 64 bits.
    """
    reason = ""
    try:
        value = Decimal(text)
        if value.is_finite() and abs(value) >= _MOST:
            reason = " of at most 64 bits"
        elif value.is_finite() and value == value.to_integral_value():
            return int(value)
    except ArithmeticError:  # not a number, or one with an enormous exponent
        pass
    raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, such as 30000, 30_000 or 3e4{reason}")


def seed_number(text: str) -> int:
    """Convert the text of an option to a seed.

    Raises:
        argparse.ArgumentTypeError: the text is not a whole number from 0 to 2**64 - 1.
    """
    seed = whole_number(text)
    if seed < 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 0 to 2**64 - 1")
    return seed


def _one_number_of_players(text: str) -> int:
    if "," in text:
        raise argparse.ArgumentTypeError(f"{text!r} must be one number; give the command again for another")
    return whole_number(text)


def path_name(text: str) -> str:
    """Check the text of an option that names a file or a folder, and return it.

    Raises:
        argparse.ArgumentTypeError: the text is empty, as from an unset variable of the shell.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty")
    return text


class Several(argparse.Action):
    """Several values separated by commas or spaces, ``2,3`` or ``2 3``; stored as a tuple.

    With ``const=int`` the values are whole numbers; with a collection of words as ``const`` they are some of these
    words; otherwise they are any words. Only ``Parser`` accepts spaces.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store the values."""
        try:
            setattr(namespace, self.dest, self._values(str(values)))
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None

    def accepts(self, word: str) -> bool:
        """Whether the next word holds further values."""
        try:
            return not word.startswith("-") and bool(self._values(word))
        except argparse.ArgumentTypeError:
            return False

    def _values(self, text: str) -> tuple[Any, ...]:
        words = text.split(",")
        if self.const is int:
            return tuple(whole_number(word) for word in words)
        if isinstance(self.const, Collection) and not set(words) <= set(self.const):
            unknown = next(word for word in words if word not in self.const)
            raise argparse.ArgumentTypeError(f"{unknown!r} is none of {', '.join(self.const)}")
        if not all(words):
            raise argparse.ArgumentTypeError(f"{text!r} must be names, such as spread,random")
        return tuple(words)


class _Formatter(argparse.HelpFormatter):
    """A formatter whose column of commands is wide enough for the longest of them."""

    def add_argument(self, action: argparse.Action) -> None:
        """Take in an argument; commands are indented further than the base class allows for."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


class Parser(argparse.ArgumentParser):
    """A parser that accepts ``--players 2 3``, and whose messages are safe to show.

    A message may quote any text, including names of files that a shell has put in place of ``*``.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Formatter} | keywords)

    def parse_known_args(  # type: ignore[override]  # argparse lets a namespace be of any class
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words, after ``joined``."""
        return super().parse_known_args(None if args is None else self.joined(args), namespace)

    def joined(self, words: Sequence[str]) -> list[str]:
        """The words, with the values of an option of ``Several`` in one: ``--players 2,3 threshold``."""
        left, found = list(words), []
        while left:
            found.append(left.pop(0))
            if found[-1] == "--":
                return found + left
            action = self._several(found[-1])
            values = []
            while action is not None and left and action.accepts(left[0]):
                values.append(left.pop(0))
            found += [",".join(values)] if values else []
        return found

    def _several(self, word: str) -> Several | None:
        """The action of an option, which may be abbreviated as usual."""
        options = self._option_string_actions
        names = [word] if word in options else [name for name in options if word[:2] == "--" and name.startswith(word)]
        actions = {id(options[name]): options[name] for name in names}
        action = next(iter(actions.values())) if len(actions) == 1 else None
        return action if isinstance(action, Several) else None

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            super()._print_message(printable_lines(message), file)


# ------------------------------------------------------------------------------------------------- shared options


def add_players(parser: argparse.ArgumentParser, default: int) -> None:
    """Add ``--players``, for a command that plays with one number of players."""
    parser.add_argument(
        "--players",
        type=_one_number_of_players,
        default=default,
        metavar="P",
        help="number of players, 2 to 5 (%(default)s)",
    )


def add_several_players(parser: argparse.ArgumentParser, default: Sequence[int]) -> None:
    """Add ``--players``, for a command that plays with several numbers of players."""
    shown = ",".join(map(str, default))
    parser.add_argument(
        "--players",
        action=Several,
        const=int,
        default=tuple(default),
        metavar="P,...",
        help=f"numbers of players, 2 to 5 ({shown})",
    )


def add_games(parser: argparse.ArgumentParser, default: int, what: str = "") -> None:
    """Add ``--games``.

    Args:
        parser: of the command.
        default: the number of games.
        what: what the help says after "number of games".
    """
    text = f"number of games {what}".strip()
    parser.add_argument("--games", type=whole_number, default=default, metavar="N", help=f"{text} (%(default)s)")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add ``--seed``."""
    parser.add_argument(
        "--seed", type=seed_number, default=0, metavar="S", help="seed of all randomness in the games (%(default)s)"
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add ``--workers``."""
    parser.add_argument(
        "--workers", type=whole_number, default=1, metavar="N", help="number of processes that play (%(default)s)"
    )


def add_opponents(parser: argparse.ArgumentParser, default: str, order: str = "one for each") -> None:
    """Add ``--opponents``; ``opponents_from`` reads it."""
    parser.add_argument(
        "--opponents",
        metavar="AGENT,...",
        action="append",
        help=f"one agent for all other seats, or {order}, separated by commas or by repeating the option ({default})",
    )


def opponents_from(arguments: argparse.Namespace) -> list[str]:
    """Read the agents that ``--opponents`` names; the list is empty if it was not given."""
    return [spec.strip() for text in arguments.opponents or [] for spec in split_specs(text)]


def split_specs(text: str) -> list[str]:
    """Split names of agents at commas: ``"random,threshold:risk=0.3,heart_rounds=4"`` names two."""
    return re.split(r",(?!\s*\w+\s*=)", text)


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the game; ``config_from`` reads them."""
    default = MegalandConfig()
    parser.add_argument(
        "--market",
        default=default.market,
        help=f"{' or '.join(MARKET_RULES)}, or seven normal buildings separated by commas (%(default)s)",
    )
    parser.add_argument(
        "--payment",
        choices=PAYMENTS,
        default=default.payment,
        help="whether players choose the treasures they pay with (%(default)s)",
    )
    parser.add_argument(
        "--max-rounds",
        type=whole_number,
        default=default.max_rounds,
        metavar="N",
        help="round after which a game is cut off (%(default)s)",
    )


def config_from(arguments: argparse.Namespace, num_players: int | None = None) -> MegalandConfig:
    """Make the configuration that the arguments describe, for ``num_players`` or else ``arguments.players``.

    Raises:
        ConfigError: no game can be played with it.
    """
    market = arguments.market
    return MegalandConfig(
        num_players=arguments.players if num_players is None else num_players,
        market=tuple(market.split(",")) if "," in market else market,
        payment=arguments.payment,
        max_rounds=arguments.max_rounds,
    )


def config_words(arguments: argparse.Namespace) -> list[str]:
    """The options of ``add_config_arguments`` with their values, for a command to be given again."""
    words: list[str] = []
    for name in ("market", "payment", "max_rounds"):
        words += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    return words
