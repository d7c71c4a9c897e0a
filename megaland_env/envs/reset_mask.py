"""``options["reset_mask"]`` of Gymnasium's vector environments: which games a ``reset`` starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def checked_reset_mask(mask: Any, num_envs: int) -> npt.NDArray[np.bool_]:
    """(N,) the mask, if it is one.

    Raises:
        ValueError: it is no boolean array of that length, or names no game.
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] must be a boolean array of shape ({num_envs},), not {mask!r}")
    if not mask.any():
        raise ValueError("options['reset_mask'] names no game")
    return mask
