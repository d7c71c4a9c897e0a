"""Scaling of the numbers of an observation to features in [-1, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

LEAST, MOST = np.array(-1, np.float32), np.array(1, np.float32)


@dataclass(frozen=True)
class Scale:
    """Scaling of a number n to a feature.

    Attributes:
        text: description for the documentation.
        divisor: divisors of n, one for all items of a block or one for each; empty if n itself is the feature.
        cut: whether the quotient is clipped to [-1, 1].
        root: whether the feature is the square root of the quotient.
    """

    text: str
    divisor: tuple[int, ...] = ()
    cut: bool = False
    root: bool = False

    def features(self, numbers: npt.NDArray[Any]) -> Floats:
        """Return the features (k, n), float32, of numbers (k, n) of k items; quotients are always clipped."""
        features = numbers.astype(np.float32)
        if self.divisor:
            features *= reciprocals([self.divisor])[:, None]
            features.clip(LEAST, MOST, out=features)
        return np.sqrt(features) if self.root else features


def reciprocals(divisors: Sequence[npt.ArrayLike]) -> Floats:
    """Return the reciprocals of all divisors in one array, float32: multiplying is faster than dividing."""
    return (1 / np.concatenate([np.asarray(each, float) for each in divisors])).astype(np.float32)
