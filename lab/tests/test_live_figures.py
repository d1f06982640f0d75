"""Paper 4's figures, on streams small enough for a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skypane_lab.figures import FIGURES, live_rates, live_sets


def test_figure_8_and_table_i_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(live_sets, "_RATE", 20_000.0)
    monkeypatch.setattr(live_sets, "_SECONDS", 1)
    live_sets._stream.cache_clear()
    live_sets.differences.cache_clear()
    figure = FIGURES["p4-8"]()
    in_turn, by_load = live_sets.differences("rr", 5), live_sets.differences("llw+", 5)
    live_sets._stream.cache_clear()
    live_sets.differences.cache_clear()
    picture, table = figure.write(tmp_path, "p4-8")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "| llw+ | 10,000 |" in table.read_text()
    assert "280.42" in table.read_text()  # the paper's, beside ours
    assert len(in_turn) == len(by_load) == 10_000
    assert by_load.mean() < in_turn.mean()


@pytest.mark.parametrize("seconds", [30, 60])
@pytest.mark.parametrize("degree", [1, 12])
def test_the_highest_rate_equals_its_bandwidth(monkeypatch: pytest.MonkeyPatch, seconds: int, degree: int) -> None:
    """Where the live set is a power of the window, there is a closed form."""

    def offered(_name: str, window: int, workers: int) -> float:
        return workers * 1e6 / float(np.power(window, 0.4))

    monkeypatch.setattr(live_rates, "_offered_once", offered)
    exact = (degree * 1e6 / seconds**0.4) ** (1 / 1.4)
    assert live_rates.highest_rate("correlated", seconds, degree) == pytest.approx(exact, rel=0.01)


def test_a_bandwidth_stops_at_the_rate_of_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sample:
        def stored(self, window: int) -> int:
            return window // 100

    monkeypatch.setattr(live_rates, "_sample", lambda _name, _seed: Sample())
    monkeypatch.setattr(live_rates, "offered", lambda _name, window, workers: workers * 2.2e9 / window)
    figure = live_rates.by_rate()
    assert figure.rows[0][:3] == ["anticorrelated", "10 s, 50,000/s", "5,000"]
    assert figure.rows[0][3:7] == ["4.4", "8.8", "17.6", "26.4"]
    assert figure.rows[0][-3:] == ["50.0", "12", "8"]
    assert figure.rows[1][-2:] == ["more than 20", "more than 12"]
