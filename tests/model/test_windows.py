"""The laws of windows and panes, stated in skypane.model.windows, executed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec

specs = st.builds(WindowSpec, st.integers(1, 60), st.integers(1, 60))
times = st.integers(-500, 500)


def windows_of(spec: WindowSpec, time_us: int) -> set[int]:
    """By the definition: j * slide <= t < j * slide + size."""
    return {j for j in range(-600, 600) if j * spec.slide_us <= time_us < j * spec.slide_us + spec.size_us}


@given(spec=specs, time_us=times)
def test_the_windows_of_a_record_are_those_of_its_pane(spec: WindowSpec, time_us: int) -> None:
    pane = spec.pane_of(np.array([time_us]))
    found = range(int(spec.first_window(pane)[0]), int(spec.last_window(pane)[0]) + 1)
    assert set(found) == windows_of(spec, time_us)
    assert bool(spec.in_some_window(pane)[0]) == bool(windows_of(spec, time_us))


@given(spec=specs, punctuation_us=times)
def test_sealed_panes_and_closed_windows_end_at_or_before_the_punctuation(
    spec: WindowSpec, punctuation_us: int
) -> None:
    sealed, closed = spec.sealed_before(punctuation_us), spec.closed_before(punctuation_us)
    assert sealed * spec.pane_us <= punctuation_us < (sealed + 1) * spec.pane_us
    ends = spec.window_end_us(np.array([closed - 1, closed]))
    assert ends[0] <= punctuation_us < ends[1]


@given(spec=specs)
def test_windows_and_slides_are_whole_numbers_of_panes(spec: WindowSpec) -> None:
    assert spec.panes_per_window * spec.pane_us == spec.size_us
    assert spec.panes_per_slide * spec.pane_us == spec.slide_us


@pytest.mark.parametrize(
    ("size", "slide", "text"),
    [
        ("1 second", "200 milliseconds", "sliding windows of 1 s every 200 ms"),
        ("1 minute 30 seconds", None, "tumbling windows of 90 s"),
        ("2 hours", "1 day", "hopping windows of 2 h every 1 d"),
    ],
)
def test_windows_read_as_people_write_them(size: str, slide: str | None, text: str) -> None:
    assert str(WindowSpec.parse(size, slide)) == text


@pytest.mark.parametrize("size", ["0 seconds", "1 month", "3 parsecs", "soon", "", "0.1 microseconds", "-1 second"])
def test_bad_sizes_name_the_option(size: str) -> None:
    with pytest.raises(OptionError, match="window size"):
        WindowSpec.parse(size)


@pytest.mark.parametrize(
    ("slide_us", "words"), [(2_000_000, "one pane of 2 s each"), (500_000, "4 panes of 500 ms each")]
)
def test_one_pane_is_not_several(slide_us: int, words: str) -> None:
    assert WindowSpec(2_000_000, slide_us).explain() == words
