"""Points: the attributes of records, independent, correlated or anticorrelated, or changing between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from skypane.model.groups import Float64Array, Int64Array

SCALE = 1000.0
_CORRELATED_MEAN = 500.0
_CORRELATED_SD = 30.0
_CORRELATION = 0.9

Columns = npt.NDArray[np.float64]  # one row per attribute, one column per record


class Points(Protocol):
    """Draws attribute values; each attribute is one contiguous row."""

    def __call__(self, random: np.random.Generator, attributes: int, count: int) -> Columns:
        """``count`` points with ``attributes`` attributes."""
        ...


def independent(random: np.random.Generator, attributes: int, count: int) -> Columns:
    """Uniform in [0, 1000), attribute by attribute."""
    columns = random.random((attributes, count))
    columns *= SCALE
    return columns


def correlated(random: np.random.Generator, attributes: int, count: int) -> Columns:
    """Each attribute normal with mean 500 and standard deviation 30; good in one, likely good in all."""
    columns = random.standard_normal((attributes, count))
    columns *= _CORRELATED_SD * (1.0 - _CORRELATION) ** 0.5
    columns += random.standard_normal(count) * (_CORRELATED_SD * _CORRELATION**0.5) + _CORRELATED_MEAN
    return columns


def anticorrelated(random: np.random.Generator, attributes: int, count: int) -> Columns:
    """Boerzsoenyi's: near a plane of equal sums; good in one attribute, bad in another."""
    if attributes == 1:
        return independent(random, attributes, count)
    kept: list[Columns] = []
    missing = count
    accepted = 0.5
    while missing > 0:
        columns = _near_plane(random, attributes, int(missing / accepted * 1.05) + 64)
        inside = np.flatnonzero((columns.min(axis=0) >= 0.0) & (columns.max(axis=0) < 1.0))
        accepted = max(0.001, len(inside) / columns.shape[1])
        kept.append(columns[:, inside[:missing]])
        missing -= kept[-1].shape[1]
    return np.concatenate(kept, axis=1) * SCALE


def _near_plane(random: np.random.Generator, attributes: int, count: int) -> Columns:
    """Candidates: all attributes equal, then value moved from each to the next; some leave the cube."""
    # The original generator adds twelve uniforms for its bell around 0.5; this is that bell in one draw.
    level = np.clip(random.standard_normal(count) / 24.0 + 0.5, 0.25, 0.75)
    moved = random.random((attributes, count))
    moved -= 0.5
    moved *= 2.0 * np.minimum(level, 1.0 - level)
    columns: Columns = np.empty_like(moved)
    np.subtract(moved[1:], moved[:-1], out=columns[1:])
    np.subtract(moved[0], moved[-1], out=columns[0])
    columns += level
    return columns


DISTRIBUTIONS: dict[str, Points] = {
    "independent": independent,
    "correlated": correlated,
    "anticorrelated": anticorrelated,
}


@dataclass(frozen=True)
class ChangingPoints:
    """Takes the named distributions in turn, each for ``every_us`` of event time."""

    names: tuple[str, ...]
    every_us: int

    def draw(self, random: np.random.Generator, attributes: int, ts_us: Int64Array) -> Columns:
        """Points for records with these event times."""
        if len(self.names) == 1:
            return DISTRIBUTIONS[self.names[0]](random, attributes, len(ts_us))
        turn = ts_us // self.every_us % len(self.names)
        columns: Float64Array = np.empty((attributes, len(ts_us)))
        for index, name in enumerate(self.names):
            rows = np.flatnonzero(turn == index)
            if len(rows):
                columns[:, rows] = DISTRIBUTIONS[name](random, attributes, len(rows))
        return columns
