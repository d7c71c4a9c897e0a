"""How the numbers of an observation become features, in [-1, 1]."""

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
    """How a number n becomes a feature.

    Attributes:
        text: the same for the documentation.
        divisor: what n is divided by, for all items of a block or for each its own; none if n is the feature.
        cut: the quotient is then cut off at -1 and 1,
        root: or its square root taken.
    """

    text: str
    divisor: tuple[int, ...] = ()
    cut: bool = False
    root: bool = False

    def features(self, numbers: npt.NDArray[Any]) -> Floats:
        """What (k, n) numbers of k items become; cut off in any case, be it that no such number occurs."""
        features = numbers.astype(np.float32)
        if self.divisor:
            features *= reciprocals([self.divisor])[:, None]
            features.clip(LEAST, MOST, out=features)
        return np.sqrt(features) if self.root else features


def reciprocals(divisors: Sequence[npt.ArrayLike]) -> Floats:
    """One after the other: what is multiplied by, since that is sooner done than dividing."""
    return (1 / np.concatenate([np.asarray(each, float) for each in divisors])).astype(np.float32)
