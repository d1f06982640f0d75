"""Group sums and moments: exact sums whatever the order, and plain behaviour for infinities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane import kernels

FINITE = st.floats(-1e100, 1e100, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-100 else x)


@settings(deadline=None)
@given(st.lists(FINITE, max_size=40), st.integers(0, 40))
def test_sum_of_pairs_agrees_with_exact_arithmetic(values: list[float], cut: int) -> None:
    cut = min(cut, len(values))
    hi, lo = kernels.segment_sum(values, [0, cut, len(values)])
    total_hi, total_lo = kernels.segment_sum_pairs(hi, lo, [0, 2])
    exact = sum(map(Fraction, values), Fraction(0))
    size = sum((abs(Fraction(v)) for v in values), Fraction(0))
    assert abs(Fraction(total_hi[0]) + Fraction(total_lo[0]) - exact) <= size * Fraction(1, 10**29)
    assert abs(Fraction(hi[0]) - sum(map(Fraction, values[:cut]), Fraction(0))) <= size * Fraction(1, 10**15)


@pytest.mark.parametrize(
    "values",
    [
        [math.inf, 1.0],
        [1.0, math.inf, -math.inf],
        [-math.inf, 2.0, -math.inf],
        [1.0, math.nan, 2.0],
        [1e308, 1e308],
        [1e308, -1e308],
        [-1.7976931348623157e308, 1e292],
        [math.inf, math.nan],
    ],
)
def test_extremes_do_what_plain_addition_does(values: list[float]) -> None:
    plain = 0.0
    for value in values:
        plain += value
    hi, lo = kernels.segment_sum(values, [0, len(values)])
    np.testing.assert_array_equal(hi + lo, [plain])
    again, rest = kernels.segment_sum_pairs(hi, lo, [0, 1])
    np.testing.assert_array_equal(again + rest, [plain])


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), max_size=60), st.lists(st.integers(0, 60), max_size=5))
def test_moments_in_parts_agree_with_moments_at_once(values: list[float], inner: list[int]) -> None:
    cuts = [0, *sorted(min(c, len(values)) for c in inner), len(values)]
    count, mean, m2 = kernels.combine_moments(*kernels.segment_moments(values, cuts), [0, len(cuts) - 1])
    assert count[0] == len(values)
    if values:
        assert mean[0] == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)
        assert m2[0] == pytest.approx(np.var(values) * len(values), rel=1e-6, abs=1e-3)


def test_minimum_and_maximum_skip_empty_groups() -> None:
    offsets = [0, 0, 2, 2, 3, 3]
    np.testing.assert_array_equal(kernels.segment_min([3.0, 1.0, 2.0], offsets), [np.inf, 1.0, np.inf, 2.0, np.inf])
    np.testing.assert_array_equal(kernels.segment_max([3.0, 1.0, 2.0], offsets), [-np.inf, 3.0, -np.inf, 2.0, -np.inf])


@pytest.mark.parametrize("offsets", [[], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3]])
def test_bad_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        kernels.segment_sum([1.0, 2.0, 3.0], offsets)
