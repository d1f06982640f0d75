"""A standalone Spark cluster on 127.0.0.1 gives the same results as the pure engine and the oracle.

Also while executors come and go, by degrees that change and by SIGKILL, and the driver is killed among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from skypane.api.continuous_query import ContinuousQuery
from skypane.traffic import Position, TrafficSpec, stream_of
from tests.cluster.elastic_driver import elastic_query, fixed_query
from tests.cluster.elastic_process import ElasticProcess, stored_outputs
from tests.support.marks import LONG
from tests.support.records import SCHEMA
from tests.support.spark.standalone import standalone
from tests.support.spark.streams import (
    Outputs,
    assert_answers,
    assert_fates,
    definition_of,
    random_batches,
    read_batches,
    write_batches,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def bursty_batches(arrivals: str, count: int, seed: int) -> list[pa.Table]:
    """A generated stream, out of order and in bursts, cut at equal times."""
    spec = TrafficSpec.from_options(
        arrivals=arrivals,
        dispersion=1000,
        steps="0:30, 5:150, 10:30",
        rate=60,
        records=900,
        keys=5,
        attributes=2,
        disorder="uniform",
        mean_delay="200 ms",
        seed=seed,
    )
    stream = stream_of(spec)
    stop, _ = stream.advance(Position(), spec.records)
    table = pa.Table.from_batches(stream.read(0, Position(), stop, 1_700_000_000_000_000)).sort_by("arrival")
    made = {
        "n": table["id"],
        "ts": table["ts"].cast(SCHEMA.field("ts").type),
        "city": table["key"],
        "zone": pa.array(np.zeros(table.num_rows, dtype=np.int32)),
        "a": table["a0"],
        "b": pa.array((table["a1"].to_numpy() * 1000).astype(np.int64)),
    }
    rows = pa.table(made).select(SCHEMA.names).cast(SCHEMA)
    arrived = table["arrival"].cast(pa.int64()).to_numpy()
    cuts = np.searchsorted(arrived, np.linspace(arrived[0], arrived[-1], count + 1)[1:-1]).tolist()
    return [rows.slice(low, high - low) for low, high in pairwise([0, *cuts, rows.num_rows]) if high > low]


@pytest.mark.parametrize(("arrivals", "most"), [("map", 2), LONG("map", 3), LONG("steps", 3)])
def test_a_cluster_answers_like_the_oracle_and_kills_while_scaling_change_nothing(
    spark: SparkSession, tmp_path: Path, arrivals: str, most: int
) -> None:
    """One cluster and two drivers show all of it: starting them is what takes long."""
    fixed, batches = random_batches(seed=21, batches=4), bursty_batches(arrivals, 12, seed=3)
    write_batches(tmp_path / "fixed" / "in", fixed, files=2)
    (tmp_path / "cluster").mkdir()
    with standalone(tmp_path / "cluster", workers=most) as master:
        run = ElasticProcess(master, tmp_path, batches, **{"cores.max": str(most)})
        try:
            run.begin()
            on_all = run.tell("fixed", folder=str(tmp_path / "fixed"))
            said = scale_and_kill(run, most)
        finally:
            run.end()
    assert (on_all["executors"], on_all["window_tasks"], on_all["inline"]) == (most, 2, False)
    query = fixed_query(read_batches(spark, tmp_path / "fixed" / "in"))
    outputs = check_outputs(spark, query, fixed, tmp_path / "fixed", on_all)
    assert on_all["windows"] == len({repr((row["zone"], row["window"])) for row in outputs.results.rows()})
    assert on_all["best"] == best_by_zone(fixed)

    assert said["delivered"] == sum(batch.num_rows for batch in batches)
    check_outputs(spark, elastic_query(read_batches(spark, tmp_path / "in"), "fuzzy"), batches, tmp_path, said)


def scale_and_kill(run: ElasticProcess, most: int) -> dict[str, Any]:
    """Down, up and down again, and up; executors die while it grows and shrinks, the driver while it grows."""
    assert "skypane asks for executors and releases them" in run.tell("start", degree=1)["explain"]
    run.send(2)
    run.wait(executors=1)
    run.tell("want", degree=most)
    run.send(1)
    run.wait()
    run.kill_an_executor()
    run.send(1)
    run.wait(executors=most)
    run.send(2)  # the first finds out that the slots are there, the second uses them
    assert run.wait(executors=most)["degrees"][-1] == [most, most]
    run.tell("want", degree=1)
    run.send(1)
    run.kill_an_executor()
    run.wait(executors=1)
    run.tell("want", degree=2)
    run.send(1)
    run.wait()
    run.tell("die", at="windows.done")
    run.send(1)
    run.dies()
    run.begin()
    run.tell("start", degree=2)
    run.send(len(run.batches) - run.sent)
    run.wait(executors=2)
    return run.tell("finish")


def check_outputs(
    spark: SparkSession, query: ContinuousQuery, batches: Sequence[pa.Table], folder: Path, said: dict[str, Any]
) -> Outputs:
    """Answers are the oracle's, fates the pure engine's, and the ledger adds up."""
    outputs = stored_outputs(folder)
    assert_answers(spark, definition_of(query), batches, outputs)
    assert_fates(definition_of(query), query.lateness_options.policy, batches, outputs)
    assert said["ledger"]["accepted"] == sum(batch.num_rows for batch in batches) - len(outputs.lost())
    return outputs


def best_by_zone(batches: Sequence[pa.Table]) -> list[int]:
    """The skyline of one table, by brute force."""
    rows = [row for row in pa.concat_tables(batches).to_pylist() if row["b"] is not None]
    usable = [row for row in rows if row["a"] is not None and row["a"] == row["a"]]
    return sorted(
        row["n"]
        for row in usable
        if not any(
            other["zone"] == row["zone"]
            and (other["a"], -other["b"]) != (row["a"], -row["b"])
            and other["a"] <= row["a"]
            and other["b"] >= row["b"]
            for other in usable
        )
    )
