"""Speed of generated traffic: records/s on one core for each kind, and through the Spark source."""

from __future__ import annotations

import time
from typing import Any

from rich.table import Table

from skypane.traffic import Position, Stream, TrafficSpec

KINDS: dict[str, dict[str, Any]] = {
    "poisson, in order": {"disorder": "none"},
    "poisson": {},
    "map": {"arrivals": "map", "dispersion": 1000},
    "selfsimilar": {"arrivals": "selfsimilar", "hurst": 0.8},
    "walk": {"arrivals": "walk"},
    "steps": {"arrivals": "steps", "steps": "0:100000, 5:400000"},
    "exponential delay": {"disorder": "exponential"},
    "pareto delay": {"disorder": "pareto"},
    "stalls": {"disorder": "stalls"},
    "correlated": {"points": "correlated"},
    "anticorrelated": {"points": "anticorrelated"},
    "1000 keys": {"keys": 1000},
}


def run(quick: bool = False) -> dict[str, Any]:
    """Records per second; 6 attributes, uniform delay of 200 ms where not said otherwise."""
    records = 300_000 if quick else 2_000_000
    repeats = 1 if quick else 3
    library = {name: max(_library(records, options) for _ in range(repeats)) for name, options in KINDS.items()}
    times_only = max(_times_only(records) for _ in range(repeats))
    return {
        "unit": "records/s",
        "library, one core": library,
        "times only (what the Spark driver counts)": times_only,
        "Spark source, batch read into nothing": _spark(records),
    }


def _stream(options: dict[str, Any]) -> Stream:
    return Stream(TrafficSpec.from_options({"rate": 200_000, "seed": 1, **options}))


def _library(records: int, options: dict[str, Any]) -> float:
    """Attributes, times and order, in pieces of 100,000: everything that the driver and the tasks of the source do.

    Per second of processor time: other work on the machine then matters less.
    """
    stream, place, seen = _stream(options), Position(), 0
    began = time.process_time()
    while seen < records:
        stop, _ = stream.advance(place, 100_000)
        seen += sum(batch.num_rows for batch in stream.read(0, place, stop))
        place = stop
    return round(seen / (time.process_time() - began))


def _times_only(records: int) -> float:
    stream = _stream({"arrivals": "map"})
    began = time.process_time()
    stream.advance(Position(), records)
    return round(records / (time.process_time() - began))


def _spark(records: int) -> float:
    from skypane.spark.session import embedded_session  # noqa: PLC0415
    from skypane.spark.sources import register_sources  # noqa: PLC0415

    spark = embedded_session("traffic benchmark", cores=2)
    register_sources(spark)
    options: dict[str, str | int] = {"rate": 200_000, "arrivals": "map", "partitions": 2}

    def read(count: int) -> float:
        began = time.perf_counter()
        df = spark.read.format("skypane-traffic").options(**options, records=count).load()
        df.write.format("noop").mode("overwrite").save()
        return count / (time.perf_counter() - began)

    read(20_000)  # starts the workers
    return round(max(read(records) for _ in range(2)))


def tables(found: dict[str, Any]) -> list[Table]:
    """Kind by kind."""
    shown = Table("stream", "records/s", title="Generated traffic, 6 attributes, one core", title_justify="left")
    for name, rate in found["library, one core"].items():
        shown.add_row(name, f"{rate:,.0f}")
    for name in ("times only (what the Spark driver counts)", "Spark source, batch read into nothing"):
        shown.add_row(name, f"{found[name]:,.0f}")
    return [shown]
