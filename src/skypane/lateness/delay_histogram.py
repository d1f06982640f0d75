"""DelayHistogram: how many records were how long overdue, in buckets of equal ratio; forgets, merges, fits in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from skypane.model.groups import Int64Array

_BITS = 6
"""64 buckets from each power of two to the next: a bucket is at most 1.6 % wide."""
_SHIFT = np.int32(23 - _BITS)
_ONE = 127 << _BITS
_FORGOTTEN = 1e-3
"""Buckets with less weight are dropped, so that an old outlier does not stay in the state for ever."""


@dataclass(frozen=True)
class DelayHistogram:
    """Weights by bucket of the records that were overdue at all; those that were not are only in ``records``."""

    records: float = 0.0
    weights: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def count(cls, overdue_us: Int64Array, counts: Int64Array) -> DelayHistogram:
        """Count values, each ``counts`` times; a value below zero was not overdue."""
        due = overdue_us >= 0
        bits = np.maximum(overdue_us[due], 1).astype(np.float32).view(np.int32)
        buckets, where = np.unique((bits >> _SHIFT) - _ONE, return_inverse=True)
        weights = np.bincount(where, weights=counts[due], minlength=len(buckets))
        return cls(float(counts.sum()), dict(zip(buckets.tolist(), weights.tolist(), strict=True)))

    @classmethod
    def merge(cls, parts: Iterable[DelayHistogram]) -> DelayHistogram:
        """Add up several histograms."""
        records, weights = 0.0, dict[int, float]()
        for part in parts:
            records += part.records
            for bucket, weight in part.weights.items():
                weights[bucket] = weights.get(bucket, 0.0) + weight
        return cls(records, dict(sorted(weights.items())))

    def fade(self, factor: float) -> DelayHistogram:
        """The same with less weight."""
        kept = {bucket: weight * factor for bucket, weight in self.weights.items()}
        return DelayHistogram(self.records * factor, {b: w for b, w in kept.items() if w >= _FORGOTTEN})

    def slack_us(self, share: float) -> int:
        """The least slack that leaves at most ``share`` of the records late, if they come again like these."""
        allowed, above = share * self.records, 0.0
        for bucket in sorted(self.weights, reverse=True):
            weight = self.weights[bucket]
            if above + weight > allowed:
                low, high = _edge_us(bucket), _edge_us(bucket + 1)
                return int(np.ceil(high - (allowed - above) / weight * (high - low)))
            above += weight
        return 0

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        return {"records": self.records, "weights": [[b, w] for b, w in self.weights.items()]}

    @classmethod
    def from_json(cls, body: Mapping[str, object]) -> DelayHistogram:
        """The inverse of :meth:`to_json`."""
        weights = body["weights"]
        assert isinstance(weights, list)
        return cls(float(str(body["records"])), {int(b): float(w) for b, w in weights})


def _edge_us(bucket: int) -> float:
    """Where a bucket begins."""
    return float(np.int32(bucket + _ONE << int(_SHIFT)).view(np.float32))
