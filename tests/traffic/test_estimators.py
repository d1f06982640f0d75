"""Estimators say what is there, and say so when they cannot know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skypane.model.errors import OptionError, SchemaError
from skypane.traffic.arrivals import MarkovArrivals, PoissonArrivals, SelfSimilarArrivals
from skypane.traffic.commands import generate, inspect
from skypane.traffic.estimators import Counts, describe, hurst_parameter, index_of_dispersion
from tests.support.traffic import drawn_counts, long_counts


def test_poisson_has_dispersion_one_and_no_memory() -> None:
    counts = long_counts(PoissonArrivals(20_000), 3, 4e6, 1_000)
    assert index_of_dispersion(counts).value == pytest.approx(1, rel=0.05)
    assert hurst_parameter(counts).value == pytest.approx(0.5, abs=0.05)


def test_a_stream_too_short_for_its_bursts_is_not_settled() -> None:
    estimate = index_of_dispersion(long_counts(MarkovArrivals.fit(20_000, 4_000), 3, 1e5, 1_000))
    assert not estimate.settled
    assert "not settled" in str(estimate)


def test_self_similar_counts_have_no_index_of_dispersion() -> None:
    assert not index_of_dispersion(long_counts(SelfSimilarArrivals(20_000, 0.8), 3, 4e6, 10_000)).settled


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bursts_of_one_length_are_no_long_memory(seed: int) -> None:
    counts = drawn_counts(MarkovArrivals.fit(20_000, 1_000), seed, 1e7, 1_000)
    assert hurst_parameter(counts).value == pytest.approx(0.5, abs=0.1)


def test_counts_of_nothing_are_no_accident() -> None:
    empty = Counts.of_times(np.empty(0, dtype=np.int64), 1_000)
    assert empty.rate_per_s == 0
    assert empty.peak_to_mean == 0
    assert not index_of_dispersion(empty).settled
    assert str(index_of_dispersion(empty)) == "unknown (too short)"
    assert str(hurst_parameter(empty)) == "unknown (too short)"


def test_a_description_counts_what_came_after_a_younger_one() -> None:
    ts = np.array([0, 3, 1, 2, 5, 4], dtype=np.int64) * 1_000_000
    arrival = np.array([0, 3, 4, 6, 7, 9], dtype=np.int64) * 1_000_000
    found = describe(ts, arrival)
    assert (found.late_records, found.late_share) == (3, 0.5)
    assert found.mean_delay_s == pytest.approx((0 + 0 + 3 + 4 + 2 + 5) / 6)
    assert (found.max_delay_s, found.slack_needed_s) == (5, 2)
    assert describe(ts).max_delay_s == 2  # by order alone, the delay behind the youngest


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_file_is_described_like_the_stream_it_was_made_from(tmp_path: Path, suffix: str) -> None:
    options = {"rate": 5_000, "arrivals": "map", "dispersion": 50, "duration": "6 s", "partitions": 2}
    path = generate(options, tmp_path / f"made{suffix}").path
    of_file, of_stream = inspect(path, plots=tmp_path / "plots"), inspect(options=options)
    assert of_file.description == of_stream.description
    assert [plot.name for plot in of_file.plots] == ["made-arrivals.png", "made-delays.png"]
    assert all(plot.read_bytes()[:4] == b"\x89PNG" for plot in of_file.plots)
    assert [label for label, _ in of_file.description.rows()][:2] == ["records", "duration"]


@pytest.mark.parametrize("records", [3, 400])
def test_a_few_records_can_be_drawn(tmp_path: Path, records: int) -> None:
    found = inspect(options={"records": records}, plots=tmp_path)
    assert all(plot.stat().st_size > 5_000 for plot in found.plots)
    assert "nan" not in str(found.description.rows())


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"must end in \.parquet or \.csv"):
        generate({"records": 10}, tmp_path / "made.txt")
    with pytest.raises(OptionError, match="does not exist"):
        inspect(tmp_path / "none.parquet")
    path = generate({"records": 10}, tmp_path / "made.parquet").path
    with pytest.raises(SchemaError, match="'when' is not in"):
        inspect(path, ts="when")
    with pytest.raises(SchemaError, match="a timestamp is needed"):
        inspect(path, ts="a0")
    with pytest.raises(OptionError, match="not both"):
        inspect(path, {"records": 10})
