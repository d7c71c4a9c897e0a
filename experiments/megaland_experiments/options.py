"""The parser of all commands, and the options that several of them have, in one spelling.

No option takes more than one word, so that none can swallow the name of an agent that follows: several values have
commas between them. ``--players 2 3`` is understood all the same, because what comes next is no number.

What a command makes goes to ``--out``; ``--json``, ``--csv`` and ``--replay`` also write down what is shown.
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
    """The value of an option that is a whole number: ``30000``, ``30_000``, ``3e4``.

    Raises:
        argparse.ArgumentTypeError: it is something else, or has more than 64 bits.
    """
    try:
        value = Decimal(text)
        if value.is_finite() and abs(value) < _MOST and value == value.to_integral_value():
            return int(value)
    except ArithmeticError:  # it is none, or its exponent is beyond all reason
        pass
    raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, such as 30000, 30_000 or 3e4")


class Several(argparse.Action):
    """Several values with commas or blanks between them, ``2,3`` or ``2 3``; stored as a tuple.

    With ``const=int`` they are whole numbers; with ``const`` a collection of words they are some of these; otherwise
    they are any words. Blanks are understood by ``Parser`` alone.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store them."""
        try:
            setattr(namespace, self.dest, self._values(str(values)))
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None

    def accepts(self, word: str) -> bool:
        """Whether a word that follows is one more value, or some of them."""
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


class Parser(argparse.ArgumentParser):
    """A parser that understands ``--players 2 3``, and whose messages are safe to show.

    A message may quote anything: also words that a shell has made of the names of files.
    """

    def parse_known_args(  # type: ignore[override]  # argparse lets a namespace be of any class
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words, after ``joined``."""
        return super().parse_known_args(None if args is None else self.joined(args), namespace)

    def joined(self, words: Sequence[str]) -> list[str]:
        """The words, with those that belong to an option of ``Several`` values in one: ``--players 2,3 threshold``."""
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
        """The action of an option, which may be cut short as usual."""
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
    """``--players`` of a command that plays at tables of one size."""
    parser.add_argument(
        "--players", type=whole_number, default=default, metavar="P", help="at the table, 2 to 5 (%(default)s)"
    )


def add_several_players(parser: argparse.ArgumentParser, default: Sequence[int]) -> None:
    """``--players`` of a command that plays at tables of several sizes."""
    shown = ",".join(map(str, default))
    parser.add_argument(
        "--players", action=Several, const=int, default=tuple(default), metavar="P,...", help=f"2 to 5 ({shown})"
    )


def add_games(parser: argparse.ArgumentParser, default: int, what: str = "") -> None:
    """``--games``."""
    parser.add_argument(
        "--games", type=whole_number, default=default, metavar="N", help=f"{what} (%(default)s)".strip()
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """``--seed``."""
    parser.add_argument(
        "--seed", type=whole_number, default=0, metavar="S", help="of all randomness in the games (%(default)s)"
    )


def add_workers(parser: argparse.ArgumentParser) -> None:
    """``--workers``."""
    parser.add_argument(
        "--workers", type=whole_number, default=1, metavar="N", help="processes that play (%(default)s)"
    )


def add_opponents(parser: argparse.ArgumentParser, default: str, order: str = "one for each") -> None:
    """``--opponents``; ``opponents_from`` reads it."""
    parser.add_argument(
        "--opponents",
        metavar="AGENT,...",
        action="append",
        help=f"one agent for all other seats, or {order}, separated by commas or the option repeated ({default})",
    )


def opponents_from(arguments: argparse.Namespace) -> list[str]:
    """The agents that ``--opponents`` names; none if it was not given."""
    return [spec.strip() for text in arguments.opponents or [] for spec in split_specs(text)]


def split_specs(text: str) -> list[str]:
    """Agents separated by commas: ``"random,threshold:risk=0.3,heart_rounds=4"`` is two of them."""
    return re.split(r",(?!\s*\w+\s*=)", text)


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what kind of game is played; ``config_from`` reads them."""
    default = MegalandConfig()
    parser.add_argument(
        "--market",
        default=default.market,
        help=f"{' or '.join(MARKET_RULES)}, or seven normal buildings separated by commas (%(default)s)",
    )
    parser.add_argument("--payment", choices=PAYMENTS, default=default.payment, help="(%(default)s)")
    parser.add_argument(
        "--max-rounds",
        type=whole_number,
        default=default.max_rounds,
        metavar="N",
        help="cut a game off after so many (%(default)s)",
    )


def config_from(arguments: argparse.Namespace, num_players: int | None = None) -> MegalandConfig:
    """The configuration that the arguments describe, for ``arguments.players`` unless a number is given.

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
    """The options that ``add_config_arguments`` adds, with what was said, for a command that is to be given again."""
    words: list[str] = []
    for name in ("market", "payment", "max_rounds"):
        words += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    return words
