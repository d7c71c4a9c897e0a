"""Linear regression within groups, with standard errors clustered by game.

All fits of the analysis are made here, with ``statsmodels``. Rows are compared only within a *group* (for example the
same agent in the same round): the mean of each group is subtracted first (the "within" estimator of panel data;
Wooldridge, Econometric Analysis of Cross Section and Panel Data, 2nd edition, chapter 10). The rows of one game share
its cards and its one win, so a game is the unit of the intervals: standard errors are clustered by game (Liang and
Zeger, Biometrika 73, 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from megaland_experiments.shared.intervals import CONFIDENCE

Frame = pl.LazyFrame | pl.DataFrame
Floats = npt.NDArray[np.float64]

_TINY = 1e-8
"""An effect is not identified if the controls leave a smaller part of its variation than this."""


class Fit(NamedTuple):
    """Coefficients of ``names`` and their intervals; NaN where the data do not identify them."""

    names: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats

    def frame(self, name: str = "what") -> pl.DataFrame:
        """The coefficients as a frame, one row for each."""
        return pl.DataFrame({name: self.names, "value": self.value, "low": self.low, "high": self.high})


def fit(
    rows: pl.DataFrame,
    outcome: str,
    effects: Sequence[str],
    controls: Sequence[str] = (),
    groups: Sequence[str] = (),
    cluster: str = "game",
) -> Fit:
    """Estimate how the outcome changes with each of the effects, where the controls and the group are the same.

    Args:
        rows: the data; all named columns except ``groups`` and ``cluster`` hold numbers or booleans.
        outcome: name of the outcome column.
        effects: names of the columns whose coefficients are estimated; no column may be a combination of the others.
        controls: names of the columns to adjust for.
        groups: names of the columns that form the groups; rows are compared only within a group.
        cluster: name of the column whose equal values mark rows that are not independent.

    Returns:
        The coefficients of the effects, with 95 % intervals.
    """
    from statsmodels.regression.linear_model import OLS

    columns = [outcome, *effects, *controls]
    numbers = [pl.col(column).cast(pl.Float64) for column in columns]
    within = [number - (number.mean().over(groups) if groups else number.mean()) for number in numbers]
    table = rows.select(within).to_numpy(order="fortran")
    varies = (table[:, 1 : 1 + len(effects)] ** 2).sum(axis=0)
    left = _without(table[:, : 1 + len(effects)], table[:, 1 + len(effects) :])
    told = (left[:, 1:] ** 2).sum(axis=0) > _TINY * np.maximum(varies, 1)
    clusters = rows[cluster].to_numpy()
    value, margin = np.full((2, len(effects)), np.nan)
    if told.any() and np.unique(clusters).size > 1:
        found = OLS(left[:, 0], left[:, 1:][:, told]).fit(cov_type="cluster", cov_kwds={"groups": clusters})
        value[told] = found.params
        margin[told] = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * found.bse
    return Fit(tuple(effects), value, value - margin, value + margin)


def _without(columns: Floats, controls: Floats) -> Floats:
    """The residuals of columns after regression on the controls.

    A regression of the residuals has the same coefficients as one that includes the controls (Frisch and Waugh,
    Econometrica 1, 1933; Lovell, Journal of the American Statistical Association 58, 1963). There may be many
    controls, and some may be linear combinations of others.
    """
    if not controls.size:
        return columns
    size = np.sqrt((controls**2).sum(axis=0))
    scaled = controls / np.where(size > 0, size, 1)
    return columns - scaled @ (np.linalg.pinv(scaled.T @ scaled, rcond=_TINY, hermitian=True) @ (scaled.T @ columns))
