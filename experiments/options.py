"""Values of command line options that several commands take, in one spelling."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

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
    except ArithmeticError:  # it is none, or its exponent is beyond all reason
        pass
    raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, such as 30000, 30_000 or 3e4")


class Several(argparse.Action):
    """Several values with commas or blanks between them, ``2,3`` or ``2 3``; with ``const=int`` whole numbers."""

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
