"""Latencies are those of the definitions, whatever is forgotten on the way; the clock that keeps them stays small."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow import latency
from skypane.flow.latency import Latencies, PaneClock, first_arrivals_us
from skypane.model.codec import from_text, to_text
from skypane.model.windows import WindowSpec

specs = st.sampled_from([(1, 1), (5, 1), (6, 2), (7, 3), (3, 2), (2, 5), (9, 13), (40, 1)]).map(
    lambda shape: WindowSpec(shape[0] * 1_000, shape[1] * 1_000)
)
steps = st.lists(st.tuples(st.sets(st.integers(-5, 60), max_size=8), st.integers(0, 15)), min_size=1, max_size=14)


def by_definition(
    window: WindowSpec, arrivals: dict[int, list[int]], now_us: int, marks: list[int | None]
) -> Latencies:
    """All windows and panes that the last punctuation of ``marks`` closes, by what the definitions say of them."""
    before, after = marks[-2], marks[-1]
    assert after is not None
    ends = {pane: (pane + 1) * window.pane_us for pane in arrivals}
    closed = [arrivals[p] for p in arrivals if ends[p] <= after and (before is None or ends[p] > before)]
    width, step = window.shape
    waited = []
    for number in range(-60, 65):
        end_us = number * window.slide_us + window.size_us
        mine = [arrivals[p][0] for p in range(number * step, number * step + width) if p in arrivals]
        if mine and end_us <= after and (before is None or end_us > before):
            waited.append(now_us - min(mine))
    return Latencies(
        mean_ms([times[-1] - times[0] for times in closed]),
        mean_ms([now_us - times[-1] for times in closed]),
        mean_ms(waited),
    )


def mean_ms(values: list[int]) -> float | None:
    return round(fmean(values) / 1e3, 3) if values else None


@settings(max_examples=400, deadline=None)
@given(window=specs, steps=steps, gaps=st.lists(st.integers(1, 10**9), min_size=14, max_size=14))
def test_latencies_are_those_of_the_definitions(
    window: WindowSpec, steps: list[tuple[set[int], int]], gaps: list[int]
) -> None:
    clock, now_us, arrivals = PaneClock(), 0, dict[int, list[int]]()
    marks: list[int | None] = [None]
    for (panes, moved), gap in zip(steps, gaps, strict=False):
        now_us += gap
        # Late records of panes that are sealed come too, where they correct answers.
        for pane in panes:
            arrivals.setdefault(pane, []).append(now_us)
        marks.append(None if not moved and marks[-1] is None else (marks[-1] or 0) + moved * 500)
        clock, found = clock.advance(window, dict.fromkeys(panes, 1), now_us, marks[-2], marks[-1])
        if marks[-1] is not None:
            assert found == by_definition(window, arrivals, now_us, marks)
        clock = from_text(to_text(clock), PaneClock)


@settings(max_examples=200, deadline=None)
@given(
    window=specs,
    first_us=st.dictionaries(st.integers(-5, 60), st.integers(0, 20), max_size=30),
    borders=st.tuples(st.none() | st.integers(-10_000, 70_000), st.integers(-10_000, 70_000)),
)
def test_first_arrivals_are_listed_window_by_window(
    window: WindowSpec, first_us: dict[int, int], borders: tuple[int | None, int]
) -> None:
    before, after = borders
    width, step = window.shape
    low = -60 if before is None else window.closed_before(before)
    expected = []
    for number in range(low, window.closed_before(after)):
        mine = [first_us[p] for p in range(number * step, number * step + width) if p in first_us]
        expected += [min(mine)] if mine else []
    assert first_arrivals_us(window, first_us, before, after) == expected


def test_the_clock_stays_small_however_much_windows_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "MAX_SEALED", 64)
    window = WindowSpec.parse("5 minutes", "1 second")
    clock, found = PaneClock(), Latencies()
    for pane in range(2 * window.panes_per_window):
        now_us = (pane + 1) * window.pane_us
        clock, found = clock.advance(window, {pane: 1}, now_us, now_us - window.pane_us, now_us)
    assert len(clock.runs) <= 64 + 1
    # The first record of the last window came five minutes before, or as much earlier as panes are thrown together.
    assert found.window_ms is not None
    assert 0 <= found.window_ms / 299_000 - 1 < 2 / 64


def test_one_step_that_answers_millions_of_windows_counts_them_without_listing_them() -> None:
    window = WindowSpec.parse("1 day", "1 millisecond")
    panes = window.panes_per_window
    clock, _ = PaneClock().advance(window, {0: 1, panes // 2: 1}, 0, None, None)
    _, found = clock.advance(window, {panes: 1}, 10**12, None, 10 * window.size_us)
    # A quarter of the windows have only the record that came when they were answered.
    assert found.window_ms == 0.75 * 10**9


def test_open_panes_are_kept_by_runs_of_equal_times() -> None:
    window = WindowSpec.parse("1 second", "1 millisecond")
    clock = PaneClock()
    for first, end in pairwise(range(0, 5_000, 1_000)):
        clock, _ = clock.advance(window, dict.fromkeys(range(first, end), 1), end, None, None)
    assert len(clock.runs) == 4
    assert PaneClock.of(clock.panes) == clock
