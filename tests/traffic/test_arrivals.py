"""Arrival processes have the rate, the burstiness and the self-similarity that was asked for."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals import (
    Arrivals,
    MarkovArrivals,
    PoissonArrivals,
    RandomWalkArrivals,
    SelfSimilarArrivals,
    SteppedArrivals,
    Stretch,
    TraceArrivals,
)
from skypane.traffic.arrivals.base import US_PER_S, ModulatedArrivals
from skypane.traffic.estimators import hurst_parameter, index_of_dispersion
from skypane.traffic.reading import times
from skypane.traffic.seeds import Seeds
from tests.support.traffic import drawn_counts, expected_counts, long_counts, stream

SHARED_TRACES = sorted((Path(__file__).parents[3] / "shared" / "data").glob("arrivals-*.txt"))


SEEDS = range(1, 9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dispersion", [1, 100, 1000, 4000])
def test_fitted_bursts_have_the_rate_within_1_and_the_index_of_dispersion_within_10_percent(
    dispersion: float, seed: int
) -> None:
    arrivals = MarkovArrivals.fit(100_000, dispersion)
    # Up to 1.2e9 records: they are so many because the count of n records is off by sqrt(I / n).
    counts = drawn_counts(arrivals, seed, 3e5 * max(dispersion, 10), interval_us=max(100, round(5 * dispersion)))
    estimate = index_of_dispersion(counts)
    assert counts.rate_per_s == pytest.approx(100_000, rel=0.01)
    assert estimate.settled
    assert estimate.value == pytest.approx(dispersion, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("hurst", [0.6, 0.7, 0.8])
def test_self_similar_arrivals_have_the_rate_within_1_percent_and_the_hurst_parameter_within_5_hundredths(
    hurst: float, seed: int
) -> None:
    seconds = 1_000
    arrivals = SelfSimilarArrivals(20_000, hurst, horizon_us=seconds * US_PER_S)
    counts = drawn_counts(arrivals, seed, 20_000 * seconds, interval_us=1_000)
    assert counts.rate_per_s == pytest.approx(20_000, rel=0.01)
    assert hurst_parameter(counts).value == pytest.approx(hurst, abs=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_walk_has_the_rate_within_1_percent(seed: int) -> None:
    endless = RandomWalkArrivals(10_000, sigma=1.0, every_us=1_000)
    assert drawn_counts(endless, seed, 1e7, 1_000).rate_per_s == pytest.approx(10_000, rel=0.01)
    short = RandomWalkArrivals(10_000, horizon_us=301 * US_PER_S)
    assert drawn_counts(short, seed, 301 * 10_000, US_PER_S).rate_per_s == pytest.approx(10_000, rel=0.01)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "arrivals",
    [
        PoissonArrivals(5_000),
        MarkovArrivals.fit(100_000, 2),
        MarkovArrivals.balanced(100_000, 10, scv=3),
        SteppedArrivals((0,), (50_000.0,)),
    ],
    ids=["poisson", "map", "balanced", "steps"],
)
def test_events_have_the_rate_within_1_percent(arrivals: Arrivals, seed: int) -> None:
    counts = long_counts(arrivals, seed, 1e6, 10_000)
    assert counts.rate_per_s == pytest.approx(arrivals.mean_rate_per_s, rel=0.01)


@pytest.mark.parametrize("dispersion", [1, 100, 1000])
def test_events_have_the_index_of_dispersion(dispersion: float) -> None:
    counts = long_counts(MarkovArrivals.fit(100_000, dispersion), 1, 3e7, 2_000)
    assert index_of_dispersion(counts).value == pytest.approx(dispersion, rel=0.1)


@pytest.mark.parametrize("hurst", [0.6, 0.8, 0.95])
def test_self_similar_arrivals_without_an_end_have_the_rate_on_average(hurst: float) -> None:
    arrivals = SelfSimilarArrivals(20_000, hurst)
    lengths = [arrivals.mean_length_us(octave) * arrivals.starts_per_us_of(octave) for octave in range(41)]
    assert sum(lengths) == pytest.approx(arrivals.sessions, rel=1e-9)


def test_sessions_are_as_many_and_as_long_as_they_should_be() -> None:
    arrivals = SelfSimilarArrivals(20_000, 0.7)
    for octave in (0, 5, 40):
        cell_us = 500 * US_PER_S
        sessions = list(arrivals.sessions_of_octave(Seeds(1, 0), octave, cell_us, 0, 20 * cell_us))
        count = sum(len(begins_us) for begins_us, _ in sessions)
        assert count == pytest.approx(arrivals.starts_per_us_of(octave) * cell_us * len(sessions), rel=0.02)
        total_us = sum(float((ends_us - begins_us).sum()) for begins_us, ends_us in sessions)
        assert total_us / count == pytest.approx(arrivals.mean_length_us(octave), rel=0.01)


@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_of_a_self_similar_stream_have_the_rate_together(partitions: int) -> None:
    options = {"arrivals": "selfsimilar", "rate": 20_000, "duration": "60 s", "partitions": partitions}
    for seed in range(3):
        assert len(times(stream(**options, seed=seed))[0]) == pytest.approx(1_200_000, rel=0.01)


@pytest.mark.parametrize(
    "arrivals",
    [
        PoissonArrivals(100_000),
        MarkovArrivals.fit(100_000, 2),
        MarkovArrivals.fit(100_000, 1000),
        SelfSimilarArrivals(100_000, 0.8),
        RandomWalkArrivals(100_000, every_us=10_000),
        SteppedArrivals((0, 1_000_000), (50_000.0, 200_000.0)),
    ],
    ids=["poisson", "map-2", "map-1000", "selfsimilar", "walk", "steps"],
)
def test_given_the_rate_counts_of_events_are_poisson_numbers(arrivals: ModulatedArrivals) -> None:
    off: list[Float64Array] = []
    for index in range(10):
        stretch = Stretch(index, index * US_PER_S, (index + 1) * US_PER_S)
        by_chance, sure = expected_counts(arrivals, Seeds(2, 0), stretch, interval_us=1_000)
        counts = np.bincount((arrivals.events_us(Seeds(2, 0), stretch) - stretch.start_us) // 1_000, minlength=1_000)
        busy = by_chance > 5
        off.append((counts - sure - by_chance)[busy] / np.sqrt(by_chance[busy]))
    standard = np.concatenate(off)
    assert len(standard) > 5_000
    assert standard.mean() == pytest.approx(0, abs=4 / np.sqrt(len(standard)))
    assert standard.var() == pytest.approx(1, abs=4 * np.sqrt(2.2 / len(standard)))


def test_the_balanced_form_has_gaps_of_the_textbook() -> None:
    """Squared coefficient of variation 3, and autocorrelation falling by gamma = (I - SCV) / (I - 1) per gap."""
    arrivals = MarkovArrivals.balanced(1_000, 20, scv=3)
    # 1,000 records/s: whole microseconds are fine enough not to disturb the gaps.
    stretches = (Stretch(index, index * 10**8, (index + 1) * 10**8) for index in range(20))
    gaps = np.diff(np.concatenate([arrivals.events_us(Seeds(7, 0), stretch) for stretch in stretches])).astype(float)
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
    stretches = [Stretch(index, index * 700_000, (index + 1) * 700_000) for index in range(6)]
    forward = [arrivals.events_us(Seeds(3, 1), stretch) for stretch in stretches]
    backward = [arrivals.events_us(Seeds(3, 1), stretch) for stretch in reversed(stretches)][::-1]
    other = [arrivals.events_us(Seeds(4, 1), stretch) for stretch in stretches]
    for stretch, first, again in zip(stretches, forward, backward, strict=True):
        assert np.array_equal(first, again)
        assert np.all(np.diff(first) >= 0)
        assert len(first) == 0 or (first[0] >= stretch.start_us and first[-1] < stretch.stop_us)
    assert not all(itertools.starmap(np.array_equal, zip(forward, other, strict=True)))


def test_a_random_walk_changes_at_its_steps_and_stays_in_bounds() -> None:
    walk = RandomWalkArrivals(10_000, sigma=0.4, every_us=1_000_000, span_factor=2.0)
    middle = 10_000 / (np.sinh(np.log(2)) / np.log(2))
    rates = walk.profile(Seeds(5, 0), Stretch(0, 0, 3_000_000_000)).rates_per_s
    assert middle / 2 <= rates.min() < middle / 1.98
    assert middle * 1.98 < rates.max() <= middle * 2
    inner = np.abs(np.log(rates / middle)) < 0.1  # no bound near: two steps away at least
    moves = np.diff(np.log(rates))[inner[:-1]]
    assert len(moves) > 300
    assert moves.std() == pytest.approx(0.38, rel=0.1)  # a little less than sigma: some turn back at a bound
    far = walk.profile(Seeds(5, 0), Stretch(0, 2_000_500_000, 2_001_500_000))
    assert far.rates_per_s.tolist() == rates[2000:2002].tolist()
    starts = [RandomWalkArrivals(1, span_factor=2.0).relative_rates(seed, 0, 1)[0] for seed in range(2_000)]
    assert np.mean(starts) == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize(("sigma", "span_factor"), [(0.0, 4.0), (0.4, 1.0)])
def test_a_walk_that_stands_still_has_its_rate(sigma: float, span_factor: float) -> None:
    walk = RandomWalkArrivals(10_000, sigma=sigma, span_factor=span_factor)
    profile = walk.profile(Seeds(5, 0), Stretch(0, 0, 20_000_000))
    assert profile.rates_per_s.tolist() == [10_000.0] * 4


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
        stretches = [Stretch(index, index * 330_000, (index + 1) * 330_000) for index in range(13)]
        played.append(np.concatenate([trace.events_us(Seeds(1, partition), stretch) for stretch in stretches]))
    events = np.concatenate(played)
    counts = np.bincount(events // 500_000, minlength=8)[:8]
    assert counts.tolist() == [100, 0, 57, 250, 100, 0, 57, 250]


@pytest.mark.skipif(not SHARED_TRACES, reason="recorded traces are not beside the project")
@pytest.mark.parametrize("path", SHARED_TRACES, ids=lambda path: path.stem)
def test_recorded_traces_can_be_played(path: Path) -> None:
    trace = TraceArrivals(str(path), speedup=1.0, partitions=2)
    events = trace.events_us(Seeds(1, 0), Stretch(0, 0, 3_000_000))
    expected = [int(count) // 2 for count in trace.trace.counts[:3]]
    assert np.bincount(events // 1_000_000).tolist() == expected
