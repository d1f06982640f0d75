"""A stream gives the same bytes however it is read, in order of arrival, with the asked disorder and points."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skypane.traffic import Position, Stream
from skypane.traffic.commands import generate
from skypane.traffic.reading import times
from tests.support.traffic import stream, table

KINDS: dict[str, dict[str, Any]] = {
    "poisson in order": {"disorder": "none"},
    "map uniform": {"arrivals": "map", "dispersion": 200, "partitions": 3},
    "self-similar exponential": {"arrivals": "selfsimilar", "disorder": "exponential", "keys": 5},
    "walk pareto": {"arrivals": "walk", "walk_every": "1 s", "disorder": "pareto", "partitions": 2},
    "steps stalls": {"arrivals": "steps", "steps": "0:3000, 2:40000", "disorder": "stalls", "keys": 9, "key_skew": 1},
    "changing points": {"points": "independent,correlated,anticorrelated", "points_every": "1 s"},
}  # fmt: skip


def column_us(rows: pa.Table, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    values: np.ndarray[Any, np.dtype[np.int64]] = rows.column(name).combine_chunks().view(pa.int64()).to_numpy()
    return values


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bytes_however_it_is_read(kind: str) -> None:
    options = {"rate": 20_000, "duration": "4 s", "seed": 11, **KINDS[kind]}
    whole = table(stream(**options))
    assert whole.num_rows > 30_000
    assert table(stream(**options), chunk=7_777).equals(whole)
    # Backwards, on a stream that has read nothing before.
    fresh, length = stream(**options), whole.num_rows
    stops = [fresh.advance(Position(), rows)[0] for rows in (length // 3, length // 2, length - 1)]
    for start, stop, first, last in [
        (stops[1], stops[2], length // 2, length - 1),
        (stops[0], stops[1], length // 3, length // 2),
    ]:
        again = Stream(fresh.spec)
        parts = zip(again.own_ties(start), again.own_ties(stop), strict=True)
        read = [batch for p, (low, high) in enumerate(parts) for batch in again.read(p, low, high)]
        ids = np.sort(pa.Table.from_batches(read, again.schema).column("id").to_numpy())
        assert np.array_equal(ids, np.sort(whole.column("id").to_numpy()[first:last]))
    assert not table(stream(**{**options, "seed": 12})).equals(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_records_come_in_order_of_arrival_and_none_is_lost(kind: str) -> None:
    options = {"rate": 20_000, "duration": "4 s", "seed": 2, **KINDS[kind]}
    made = stream(**options)
    rows = table(made)
    ts, arrival = column_us(rows, "ts"), column_us(rows, "arrival")
    assert np.all(np.diff(arrival) >= 0)
    assert np.all(arrival >= ts)
    assert len(np.unique(rows.column("id").to_numpy())) == rows.num_rows
    assert rows.schema.equals(made.schema)
    ordered = table(stream(**{**options, "disorder": "none"}))
    # Delays move records, they neither make nor lose any.
    assert np.array_equal(np.sort(ts), column_us(ordered, "ts"))


@pytest.mark.parametrize(("disorder", "share"), [("uniform", 2), ("exponential", 20), ("pareto", 100), ("stalls", 100)])
def test_delays_have_the_asked_mean_and_stay_below_the_maximum(disorder: str, share: int) -> None:
    # Stalls are few, so it takes a long stream for a mean.
    rate, mean, duration = (500, 20_000, "2000 s") if disorder == "stalls" else (5_000, 200_000, "200 s")
    ts, arrival = times(stream(rate=rate, disorder=disorder, mean_delay=f"{mean} us", duration=duration))
    assert (arrival - ts).mean() == pytest.approx(mean, rel=0.15 if disorder == "stalls" else 0.01)
    assert (arrival - ts).max() <= share * mean


def test_stalls_make_bursts_of_arrivals_out_of_calm_events() -> None:
    ts, arrival = times(stream(rate=5_000, disorder="stalls", duration="60 s"))
    events, arrivals = (np.bincount(times_us // 100_000)[:600] for times_us in (ts, arrival))
    assert events.max() < 2 * events.mean()
    assert arrivals.max() > 5 * arrivals.mean()


def test_any_number_of_records_can_be_asked_for() -> None:
    for records in (1, 2, 999, 50_000):
        assert table(stream(rate=3_000_000, partitions=4, records=records)).num_rows == records


def test_a_limit_is_exact_although_many_arrive_in_one_microsecond() -> None:
    made, place, seen = stream(rate=1e8, partitions=3, attributes=0, disorder="none", seed=5), Position(), []
    for _ in range(40):
        stop, records = made.advance(place, 7)
        assert records == 7
        parts = zip(made.own_ties(place), made.own_ties(stop), strict=True)
        rows = [batch for p, (low, high) in enumerate(parts) for batch in made.read(p, low, high)]
        assert sum(batch.num_rows for batch in rows) == 7
        seen += [number for batch in rows for number in batch.column("id").to_pylist()]
        place = stop
    assert len(set(seen)) == 280


def test_points_have_their_distributions() -> None:
    def points(**options: object) -> np.ndarray[Any, np.dtype[np.float64]]:
        rows = table(stream(rate=50_000, records=50_000, attributes=4, disorder="none", **options))
        return np.stack([rows.column(f"a{index}").to_numpy() for index in range(4)])

    independent, correlated, anti = (points(points=p) for p in ("independent", "correlated", "anticorrelated"))
    for values in (independent, anti):
        assert values.min() >= 0
        assert values.max() < 1000
        assert values.mean() == pytest.approx(500, rel=0.02)
    assert np.abs(np.corrcoef(independent) - np.eye(4)).max() < 0.03
    assert correlated.mean() == pytest.approx(500, abs=1)
    assert correlated.std() == pytest.approx(30, rel=0.02)
    assert np.corrcoef(correlated)[0, 1] == pytest.approx(0.9, abs=0.02)
    assert np.corrcoef(anti)[0, 1] < -0.1
    assert anti.mean(axis=0).std() < 0.5 * independent.mean(axis=0).std()
    changing = points(points="correlated,independent", points_every="100 ms")
    assert changing[:, :4_000].std() < 40
    assert changing[:, 6_000:9_000].std() > 250


def test_keys_are_as_skewed_as_asked() -> None:
    def counts(skew: float) -> list[int]:
        keys = table(stream(records=20_000, keys=10, key_skew=skew, attributes=0)).column("key").to_pylist()
        return [keys.count(f"k{key}") for key in range(10)]

    assert min(counts(0)) > 1_800
    assert max(counts(0)) < 2_200
    skewed = counts(1.0)
    assert skewed[0] / skewed[4] == pytest.approx(5, rel=0.2)


def test_a_written_file_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    kinds: dict[str, dict[str, object]] = {
        kind: {"arrivals": kind, "records": 150_000, "partitions": 2} for kind in ("map", "selfsimilar", "walk")
    }
    # Another process has other hashes, other addresses, and nothing in any cache.
    code = f"""from skypane.traffic.commands import generate
for kind, options in {kinds!r}.items():
    generate(options, f"{tmp_path}/there-{{kind}}.parquet")"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    for kind, options in kinds.items():
        here = generate(options, tmp_path / f"{kind}.parquet")
        assert here.records == 150_000
        assert here.path.read_bytes() == (tmp_path / f"there-{kind}.parquet").read_bytes()
