"""Exploration: trees with what was predicted and what was measured, and how far the two agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Float64Array
from skypane.tuning.patterns.base import Pattern


@dataclass(frozen=True)
class Explored:
    """The predicted and the measured time of a pattern tree."""

    tree: Pattern
    predicted_ms: float
    measured_ms: float


def rank_correlation(explored: Sequence[Explored]) -> float | None:
    """Spearman's: 1 if the predictions put the trees into the order of the measurements; equal ones share a rank."""
    predicted = _ranks([each.predicted_ms for each in explored])
    measured = _ranks([each.measured_ms for each in explored])
    if len(explored) < 3 or predicted.std() == 0 or measured.std() == 0:
        return None
    return float(np.corrcoef(predicted, measured)[0, 1])


def against_best(explored: Sequence[Explored], chosen: Pattern) -> float | None:
    """What the chosen tree took over what the fastest one did."""
    took = {each.tree: each.measured_ms for each in explored}
    return took[chosen] / min(took.values()) if chosen in took else None


def _ranks(values: Sequence[float]) -> Float64Array:
    numbers = np.asarray(values, dtype=np.float64)
    return np.array([(numbers < each).sum() + ((numbers == each).sum() - 1) / 2 for each in numbers])
