"""A standalone Spark cluster on 127.0.0.1 under more load than one executor bears: executors come, and go again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skypane.traffic import Position, TrafficSpec, stream_of
from tests.cluster.elastic_process import ElasticProcess
from tests.support.spark.standalone import standalone
from tests.support.spark.streams import micros

pytestmark = [pytest.mark.cluster, pytest.mark.soak, pytest.mark.timeout(900)]

STREAMS: dict[str, dict[str, Any]] = {
    "steps": {"arrivals": "steps", "steps": "0:300, 10:2500, 25:300", "records": 45_000},
    "map": {"arrivals": "map", "dispersion": 1000, "rate": 1500, "records": 60_000},
}
"""One executor takes a thousand records in a second."""
ALLOCATION = {
    "dynamicAllocation.enabled": "true",
    "dynamicAllocation.shuffleTracking.enabled": "true",
    "dynamicAllocation.shuffleTracking.timeout": "2s",
    "dynamicAllocation.executorIdleTimeout": "2s",
    "dynamicAllocation.minExecutors": "1",
    "dynamicAllocation.maxExecutors": "3",
    "scheduler.minRegisteredResourcesRatio": "0",
}
FOLLOWED = {"skypane asks for executors": {"cores.max": "3"}, "Spark's dynamic allocation adds executors": ALLOCATION}
"""What ``explain()`` says, by how Spark is set up."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster"), workers=3) as address:
        yield address


@pytest.mark.parametrize("arrivals", ["map", "steps"])
@pytest.mark.parametrize("controller", ["fuzzy", "ds2"])
@pytest.mark.parametrize("who", [*FOLLOWED])
def test_executors_follow_the_load(tmp_path: Path, master: str, arrivals: str, controller: str, who: str) -> None:
    # Steps that take in what one executor does in two seconds, so that nothing is decided too late.
    limit = {"max_records_per_batch": 2000}
    more = {"keys": 12, "attributes": 1, "disorder": "none", "partitions": 1, "seed": 8, **limit}
    stream: dict[str, Any] = {**STREAMS[arrivals], **more, "start": "2026-01-01T00:00:00Z"}
    run = ElasticProcess(master, tmp_path, **FOLLOWED[who])
    try:
        run.begin()
        paced = {**stream, "paced": "true"}
        said = run.tell("play", stream=paced, records=stream["records"], controller=controller)
    finally:
        run.end()
    assert who in said["explain"]
    most = max(executors for _, _, executors in said["steps"])
    assert most > 1, said["steps"]
    assert said["ledger"]["accepted"] == stream["records"]
    rows = [row for path in (tmp_path / "played").glob("step-*.parquet") for row in pq.read_table(path).to_pylist()]
    answers = {(r["key"], micros(r["window"]["start"]) // 500_000): (r["n"], r["last"]) for r in rows}
    assert len(answers) == len(rows)
    assert answers == counted(stream)


def counted(stream: dict[str, Any]) -> dict[tuple[str, int], tuple[int, int]]:
    """How many records each window of each key has, and its last one."""
    spec = TrafficSpec.from_options(stream)
    stop, _ = stream_of(spec).advance(Position(), spec.records)
    every = pa.Table.from_batches(stream_of(spec).read(0, Position(), stop, spec.start or 0))
    window = (every["ts"].cast(pa.int64()).to_numpy() // 500_000).tolist()
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for key, number, record in zip(every["key"].to_pylist(), window, every["id"].to_pylist(), strict=True):
        n, last = found.get((key, number), (0, 0))
        found[key, number] = (n + 1, max(last, record))
    return found
