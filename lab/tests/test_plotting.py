"""Figures of several curves: one that lies on another is seen all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from matplotlib.figure import Figure as Canvas

from skypane_lab.figures.plotting import Panel, draw_panel


def widths(lines: Mapping[str, Sequence[float | None]], *, log: bool = False) -> dict[str, float]:
    axes = Canvas().subplots()
    draw_panel(axes, Panel("panel", "x", "y", [1.0, 2.0, 3.0, 4.0], lines, log=log))
    return {str(line.get_label()): line.get_linewidth() for line in axes.lines}


def test_a_curve_below_others_is_wider_than_each_of_them() -> None:
    found = widths({"ideal": [1, 2, 3, 4], "four": [1, 2, 3, 3.5], "six": [1, 2, 3, 3.5]})
    assert found["ideal"] > found["four"] > found["six"]


@pytest.mark.parametrize("other", [[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 9.0, 9.0], [1.0, None, None, None]])
def test_curves_that_cross_or_share_an_end_are_alike(other: list[float | None]) -> None:
    found = widths({"one": [1.0, 2.0, 3.0, 4.0], "other": other})
    assert found["one"] == found["other"]


def test_on_a_logarithmic_axis_small_values_are_apart() -> None:
    lines: dict[str, list[float | None]] = {"one": [1.0, 1.0, 1.0, 1000.0], "other": [2.0, 2.0, 2.0, 1000.0]}
    assert len(set(widths(lines, log=True).values())) == 1
    assert len(set(widths(lines).values())) == 2


def test_curves_without_a_value_are_left_out() -> None:
    assert widths({"none": [None] * 4, "some": [1.0, 2.0, None, None]}).keys() == {"some"}
