"""The past guard against a slow reading of its rule; what it lets through, and that tasks and order do not matter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.lateness.past_guard import FirstTimes, PastGuard

YEAR_US = 365 * 86_400_000_000
SECOND_US = 1_000_000
AUTO = PastGuard(auto=True)


def year(number: int, seconds: float = 0) -> int:
    return int((datetime(number, 1, 1, tzinfo=timezone.utc).timestamp() + seconds) * SECOND_US)


NOW_US = year(2026)
times = st.one_of(
    st.sampled_from([0, 1, year(1980), year(1989), year(1990) - 1, year(1990), year(2009), year(2010), NOW_US + 1]),
    st.integers(year(1960), year(2030)),
    st.integers(year(2024), year(2024, 60)),
)


def first_times(found: Sequence[int]) -> FirstTimes:
    return FirstTimes.of(np.array(found, dtype=np.int64), NOW_US)


def are_strays(found: Sequence[int]) -> bool:
    """The rule as it is written."""
    old = [t for t in found if t < year(1990)]
    others = [t for t in found if year(1990) <= t <= NOW_US]
    if not old or len(others) < 10 * len(old):
        return False
    gap = min(others) - max(old)
    usual = (max(others) - min(others)) / len(others)
    return gap >= 20 * YEAR_US and gap >= int(100 * usual)


@given(found=st.lists(times, max_size=40), crowd=st.integers(0, 400), cuts=st.lists(st.integers(0, 500), max_size=3))
def test_the_rule_and_that_it_is_blind_to_order_and_tasks(found: list[int], crowd: int, cuts: list[int]) -> None:
    found = [*found, *(year(2024, second) for second in range(crowd))]
    whole = first_times(found)
    assert whole.old_are_strays == are_strays(found)
    borders = sorted({0, len(found), *(cut for cut in cuts if cut < len(found))})
    parts = [first_times(found[::-1][low:high]) for low, high in itertools.pairwise(borders)]
    assert FirstTimes.merge(parts) == whole


def evenly(first: int, last: int, count: int) -> list[int]:
    return [int(time) for time in np.linspace(first, last, count)]


@pytest.mark.parametrize(
    ("found", "strays"),
    [
        ([0] * 10 + evenly(year(2024), year(2024, 10), 100), True),
        ([0, year(1980), *evenly(year(2000), year(2026), 5000)], True),
        ([0] * 11 + evenly(year(2024), year(2024, 10), 100), False),  # too many
        (evenly(year(1970), year(1979), 1_000), False),
        (evenly(year(1985), year(2026), 1_000), False),  # a history up to today
        (evenly(year(1985), year(2026), 11), False),
        ([year(1920), *evenly(year(1991), year(2026), 19)], False),  # a sparse one: no gap would surprise
        ([year(1985)] * 5 + evenly(year(2004), year(2026), 10_000), False),  # 19 years
        ([0, *evenly(year(2027), year(2027, 5), 100)], False),  # ahead of the clock, which proves nothing
        ([], False),
    ],
)
def test_what_is_certain(found: list[int], strays: bool) -> None:
    assert first_times(found).old_are_strays == strays
    assert AUTO.oldest_of_first_us(first_times(found), None) == (year(1990) if strays else None)


def test_once_there_is_a_watermark_it_alone_decides() -> None:
    assert AUTO.oldest_us(year(2024)) == year(1990)
    assert AUTO.oldest_us(year(2009)) is None
    assert AUTO.oldest_us(None) is None
    minute = PastGuard(60 * SECOND_US)
    assert minute.oldest_us(100 * SECOND_US) == minute.oldest_of_first_us(FirstTimes(), 100 * SECOND_US) == 40_000_000
    assert PastGuard().oldest_us(year(2024)) is PastGuard().oldest_of_first_us(first_times([0]), year(2024)) is None


def test_explanations() -> None:
    assert AUTO.describe() == "quarantined if before 1990, decades before all others"
    assert PastGuard(60 * SECOND_US).describe() == "quarantined if more than 1 min before the watermark"
    assert PastGuard().describe() is None
