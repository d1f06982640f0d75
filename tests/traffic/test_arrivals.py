"""Arrival processes have the rate, the burstiness and the self-similarity that was asked for."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from skypane.traffic.arrivals import (
    Arrivals,
    MarkovArrivals,
    PoissonArrivals,
    RandomWalkArrivals,
    SelfSimilarArrivals,
    Span,
    SteppedArrivals,
    TraceArrivals,
)
from skypane.traffic.estimators import hurst_parameter, index_of_dispersion
from skypane.traffic.seeds import Seeds

from .support import long_counts

SHARED_TRACES = sorted((Path(__file__).parents[3] / "shared" / "data").glob("arrivals-*.txt"))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("dispersion", "records"), [(1, 2e6), (100, 8e6), (1000, 4e7), (4000, 1.6e8)])
def test_the_fitted_index_of_dispersion_is_within_ten_percent(dispersion: float, records: float, seed: int) -> None:
    arrivals = MarkovArrivals.fit(100_000, dispersion)
    estimate = index_of_dispersion(long_counts(arrivals, seed, records, 1_000))
    assert estimate.settled
    assert estimate.value == pytest.approx(dispersion, rel=0.1)


@pytest.mark.parametrize("hurst", [0.6, 0.7, 0.8])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_hurst_parameter_is_within_five_hundredths(hurst: float, seed: int) -> None:
    counts = long_counts(SelfSimilarArrivals(20_000, hurst), seed, 1e7, 1_000)
    assert hurst_parameter(counts).value == pytest.approx(hurst, abs=0.05)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("arrivals", "records"),
    [
        (PoissonArrivals(5_000), 1e6),
        (MarkovArrivals.fit(100_000, 2), 1e6),
        (MarkovArrivals.fit(100_000, 100), 8e6),
        (MarkovArrivals.balanced(100_000, 100, scv=3), 8e6),
        (SelfSimilarArrivals(20_000, 0.6), 1e7),
        (SteppedArrivals((0,), (50_000.0,)), 1e6),
    ],
)
def test_rates_are_within_one_percent(arrivals: Arrivals, records: float, seed: int) -> None:
    counts = long_counts(arrivals, seed, records, 10_000)
    assert counts.rate_per_s == pytest.approx(arrivals.mean_rate_per_s, rel=0.01)


def test_the_balanced_form_has_gaps_of_the_textbook() -> None:
    """Squared coefficient of variation 3, and autocorrelation falling by gamma = (I - SCV) / (I - 1) per gap."""
    arrivals = MarkovArrivals.balanced(1_000, 20, scv=3)
    # 1,000 records/s: whole microseconds are fine enough not to disturb the gaps.
    spans = (Span(index, index * 10**8, (index + 1) * 10**8) for index in range(20))
    gaps = np.diff(np.concatenate([arrivals.events_us(Seeds(7, 0), span) for span in spans])).astype(float)
    centred = gaps - gaps.mean()
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(3.0, rel=0.03)
    lags = [float((centred[:-lag] * centred[lag:]).mean()) for lag in (1, 5)]
    assert lags[1] / lags[0] == pytest.approx((17 / 19) ** 4, rel=0.08)


@pytest.mark.parametrize(
    "arrivals",
    [
        PoissonArrivals(5_000),
        MarkovArrivals.fit(5_000, 300),
        SelfSimilarArrivals(5_000, 0.8),
        RandomWalkArrivals(5_000, every_us=100_000),
        SteppedArrivals((0, 1_500_000, 2_000_000), (1_000.0, 0.0, 9_000.0)),
    ],
    ids=lambda arrivals: type(arrivals).__name__,
)
def test_blocks_are_pure_and_lie_inside_their_span(arrivals: Arrivals) -> None:
    spans = [Span(index, index * 700_000, (index + 1) * 700_000) for index in range(6)]
    forward = [arrivals.events_us(Seeds(3, 1), span) for span in spans]
    backward = [arrivals.events_us(Seeds(3, 1), span) for span in reversed(spans)][::-1]
    other = [arrivals.events_us(Seeds(4, 1), span) for span in spans]
    for span, first, again in zip(spans, forward, backward, strict=True):
        assert np.array_equal(first, again)
        assert np.all(np.diff(first) >= 0)
        assert len(first) == 0 or (first[0] >= span.start_us and first[-1] < span.stop_us)
    assert not all(itertools.starmap(np.array_equal, zip(forward, other, strict=True)))


def test_a_random_walk_changes_at_its_steps_and_stays_in_bounds() -> None:
    walk = RandomWalkArrivals(10_000, sigma=0.4, every_us=1_000_000, span_factor=2.0)
    profile = walk.profile(Seeds(5, 0), Span(0, 0, 3_000_000_000))
    assert profile.rates_per_s[0] == pytest.approx(10_000)
    assert profile.rates_per_s.min() >= 4_999
    assert profile.rates_per_s.max() <= 20_001
    inner = (profile.rates_per_s > 5_001) & (profile.rates_per_s < 19_999)
    moves = np.diff(np.log(profile.rates_per_s))[inner[1:] & inner[:-1]]
    assert len(moves) > 500
    assert 0.25 < moves.std() < 0.45
    far = walk.profile(Seeds(5, 0), Span(0, 2_000_500_000, 2_001_500_000))
    assert far.rates_per_s.tolist() == profile.rates_per_s[2000:2002].tolist()


def test_steps_have_their_rates() -> None:
    steps = SteppedArrivals((0, 10_000_000, 20_000_000), (40_000.0, 0.0, 10_000.0))
    counts = long_counts(steps, 1, 40_000 * 40, 10_000_000 // 10).per_interval
    assert counts[:10].sum() == pytest.approx(400_000, rel=0.01)
    assert counts[10:20].sum() == 0
    assert counts[20:30].sum() == pytest.approx(100_000, rel=0.02)


def test_a_trace_is_played_exactly_whatever_the_blocks(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("# second count\n0 100\n1 0\n2 57\n3 250\n")
    played = []
    for partition in range(3):
        trace = TraceArrivals(str(path), speedup=2.0, partitions=3)
        spans = [Span(index, index * 330_000, (index + 1) * 330_000) for index in range(13)]
        played.append(np.concatenate([trace.events_us(Seeds(1, partition), span) for span in spans]))
    events = np.concatenate(played)
    counts = np.bincount(events // 500_000, minlength=8)[:8]
    assert counts.tolist() == [100, 0, 57, 250, 100, 0, 57, 250]


@pytest.mark.skipif(not SHARED_TRACES, reason="recorded traces are not beside the project")
@pytest.mark.parametrize("path", SHARED_TRACES, ids=lambda path: path.stem)
def test_recorded_traces_can_be_played(path: Path) -> None:
    trace = TraceArrivals(str(path), speedup=1.0, partitions=2)
    events = trace.events_us(Seeds(1, 0), Span(0, 0, 3_000_000))
    expected = [int(count) // 2 for count in trace.trace.counts[:3]]
    assert np.bincount(events // 1_000_000).tolist() == expected
