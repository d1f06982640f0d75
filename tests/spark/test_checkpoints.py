"""Checkpoints: one user at a time, one query for ever, and damage is refused with the file's name and the remedy."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.windowed import Windowed
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.formats import FORMAT
from tests.support.marks import LONG
from tests.support.spark.streams import (
    WAIT_S,
    CollectSink,
    Outputs,
    check_run,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

pytestmark = pytest.mark.spark

BATCHES = random_batches(seed=31, batches=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def windowed(spark: SparkSession, folder: Path) -> Windowed:
    write_batches(folder / "in", BATCHES)
    return sp.stream(read_batches(spark, folder / "in"), time="ts", key="city").window("1 second", slide="500 ms")


@pytest.fixture(scope="module")
def left_open(windowed: Windowed, folder: Path) -> Path:
    run_to_end(windowed.skyline(minimize="a"), Outputs(), checkpoint=folder / "c", flush=False)
    return folder / "c"


@pytest.fixture
def checkpoint(left_open: Path, tmp_path: Path) -> Path:
    """A checkpoint with open windows, to spoil."""
    shutil.copytree(left_open, tmp_path / "c")
    return tmp_path / "c"


def refuse(windowed: Windowed, checkpoint: Path, message: str, inline_rows: int = 100_000) -> None:
    query = windowed.skyline(minimize="a").parallel(tuning=sp.Tuning(inline_rows=inline_rows))
    with pytest.raises(sp.CheckpointError, match=message):
        run_to_end(query, Outputs(), checkpoint=checkpoint)


def reseal(path: Path, change: Any) -> None:
    """Change a sealed JSON file and give it a right checksum."""
    body = json.loads(path.read_text())["body"]
    change(body)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({"crc32": zlib.crc32(text.encode()), "body": body}))


def test_two_queries_on_one_checkpoint_are_refused(windowed: Windowed, tmp_path: Path) -> None:
    query, outputs = windowed.skyline(minimize="a", maximize="b"), Outputs()
    running = query.start(checkpoint=tmp_path / "c", trigger="50 ms", idle_timeout=None, **outputs.options())
    with pytest.raises(sp.CheckpointError, match=r"in use by another running query\. Stop that one, or use another"):
        query.start(checkpoint=tmp_path / "c", available_now=True, sink=CollectSink())
    running.stop()
    second = run_to_end(query, outputs, checkpoint=tmp_path / "c")
    check_run(windowed.source.df.sparkSession, query, BATCHES, outputs, second.metrics())


def test_a_changed_query_is_refused_with_the_difference(windowed: Windowed, checkpoint: Path) -> None:
    stream, df = windowed.source, windowed.source.df
    changed: list[tuple[str, Any]] = [
        (r"query.minimize: was \['a'\], now \['b'\]", windowed.skyline(minimize="b")),
        (r"query.type: was 'skyline', now 'top_k'", windowed.top_k(1, score="a")),
        (
            r"sliding, which a pattern may decide: was 'auto', now 'recompute'",
            windowed.skyline(minimize="a").parallel(pattern="WF(2)"),
        ),
        (r"window.slide_us: was 500000, now 250000", stream.window("1 second", "250 ms").skyline(minimize="a")),
        (
            r"keys: was \['city'\], now \['zone'\]",
            sp.stream(df, time="ts", key="zone").window("1 second", "500 ms").skyline(minimize="a"),
        ),
        (
            r"columns.b: was 'int64', now 'double'",
            sp.stream(df.withColumn("b", df.b.cast("double")), time="ts", key="city")
            .window("1 second", "500 ms")
            .skyline(minimize="a"),
        ),
        (
            r"columns.n: was 'int64', now None",
            sp.stream(df.drop("n"), time="ts", key="city").window("1 second", "500 ms").skyline(minimize="a"),
        ),
    ]
    kept = []
    for message, query in changed:
        with pytest.raises(sp.CheckpointError, match=r"belongs to a different query:\n(.*\n)*  " + message) as refused:
            query.start(checkpoint=checkpoint, available_now=True, sink=CollectSink())
        assert "give the changed query a new checkpoint folder" in str(refused.value)
        kept.append(refused)  # A traceback in hand must not keep the folder locked.
        with pytest.raises(sp.CheckpointError, match="belongs to a different query"):
            query.explain(checkpoint=checkpoint)
    assert f"checkpoint    {checkpoint}" in windowed.skyline(minimize="a").explain(checkpoint=checkpoint)
    outputs = Outputs()
    run_to_end(windowed.skyline(minimize="a"), outputs, checkpoint=checkpoint)
    assert outputs.results.rows()


def test_policy_sinks_and_degree_may_change(windowed: Windowed, checkpoint: Path) -> None:
    outputs = Outputs()
    query = windowed.skyline(minimize="a").lateness(
        sp.FixedDelay("10 seconds"), guard=sp.TimeGuard(max_future="2 days")
    )
    run_to_end(query.parallel(degree=4, tuning=sp.Tuning(inline_rows=0)), outputs, checkpoint=checkpoint)
    assert outputs.results.rows()


@pytest.mark.parametrize("inline_rows", [0, LONG(100_000)])
def test_a_time_zone_or_column_order_of_the_session_may_change(
    spark: SparkSession, tmp_path: Path, inline_rows: int
) -> None:
    more = random_batches(seed=32, batches=1, start_us=2_000_000)
    wanted, got = Outputs(), Outputs()
    write_batches(tmp_path / "in", BATCHES)
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city")
    query = stream.window("1 second", slide="500 ms").top_k(2, score="a")
    for outputs, folder in ((wanted, "w"), (got, "g")):
        run_to_end(query, outputs, checkpoint=tmp_path / folder, flush=False)
    write_batches(tmp_path / "in", more, first=2)
    run_to_end(query, wanted, checkpoint=tmp_path / "w")
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
        turned = read_batches(spark, tmp_path / "in").select("b", "a", "zone", "city", "ts", "n")
        again = sp.stream(turned, time="ts", key="city").window("1 second", slide="500 ms").top_k(2, score="a")
        run_to_end(again.parallel(tuning=sp.Tuning(inline_rows=inline_rows)), got, checkpoint=tmp_path / "g")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert {row["n"] for row in got.results.rows()} == {row["n"] for row in wanted.results.rows()}
    assert len(got.results.rows()) == len(wanted.results.rows())


def test_a_damaged_query_file_is_refused(windowed: Windowed, checkpoint: Path) -> None:
    path = checkpoint / "query.json"
    path.write_text(path.read_text().replace('"ts"', '"tz"'))
    refuse(windowed, checkpoint, r"query\.json is damaged: its checksum does not match\. Restore it from a backup, or")
    path.write_text("{}")
    refuse(windowed, checkpoint, r"query\.json cannot be read")
    path.unlink()
    refuse(windowed, checkpoint, r"query\.json is missing, but .*manifests or .*spark is not empty")


def test_a_damaged_manifest_is_refused(windowed: Windowed, checkpoint: Path) -> None:
    path = max((checkpoint / "manifests").glob("*.json"))
    path.write_text(path.read_text().replace('"accepted":', '"accepted":1'))
    refuse(windowed, checkpoint, rf"{path.name} is damaged: its checksum does not match\. Restore it from a backup, or")
    path.write_bytes(path.read_bytes()[:50])
    refuse(windowed, checkpoint, rf"{path.name} cannot be read")


@pytest.mark.parametrize("name", ["query.json", "manifests/0000000002.json"])
def test_an_unknown_format_is_refused(windowed: Windowed, checkpoint: Path, name: str) -> None:
    reseal(checkpoint / name, lambda body: body.update(format=99))
    found = rf"folder {checkpoint} has format 99 \(file {Path(name).name}\), "
    refuse(windowed, checkpoint, rf"{found}.* reads format {FORMAT}\. Give a new .*, or use the skypane version that")


@pytest.mark.parametrize("inline_rows", [0, 100_000])
def test_a_damaged_state_file_is_refused(windowed: Windowed, tmp_path: Path, inline_rows: int) -> None:
    # A checkpoint of its own: workers keep state files of a known name in memory.
    checkpoint = tmp_path / "own"
    run_to_end(windowed.skyline(minimize="a"), Outputs(), checkpoint=checkpoint, flush=False)
    forget_state_cache()
    manifest = json.loads(max((checkpoint / "manifests").glob("*.json")).read_text())["body"]
    for part in manifest["questions"][""]["rows"]["panes"]:
        path = checkpoint / "state" / part["file"]["name"]
        body = bytearray(path.read_bytes())
        body[len(body) // 2] ^= 1
        path.write_bytes(body)
    message = (
        r"state file .*\.arrow is damaged: its checksum does not match\. Restore the file from a backup, or start over"
    )
    refuse(windowed, checkpoint, message, inline_rows=inline_rows)
    for path in (checkpoint / "state").iterdir():
        path.unlink()
    refuse(windowed, checkpoint, r"state file .*\.arrow cannot be read", inline_rows=inline_rows)


def forget_state_cache() -> None:
    """As a new process would: what is in memory cannot be damaged on disk."""
    from skypane.spark.store import state_files  # noqa: PLC0415

    state_files._cache.clear()


@pytest.mark.parametrize("lost", ["manifests", "spark"])
def test_half_a_checkpoint_is_refused(windowed: Windowed, checkpoint: Path, lost: str) -> None:
    """Each half alone would pass over records in silence."""
    shutil.rmtree(checkpoint / lost)
    known = {"manifests": "up to -1, .* up to 1 .done. and 1", "spark": "up to 1, .* up to -1 .done. and -1"}
    refuse(windowed, checkpoint, rf"know batches {known[lost]} .planned.: they do not belong together\. Restore both")


def test_only_what_is_needed_is_kept(windowed: Windowed, checkpoint: Path) -> None:
    assert len(list((checkpoint / "manifests").iterdir())) == 2
    assert list((checkpoint / "scratch").iterdir()) == []
    named = set()
    for path in (checkpoint / "manifests").iterdir():
        kept = json.loads(path.read_text())["body"]["questions"][""]["rows"]
        named |= {part["file"]["name"] for parts in kept.values() for part in parts}
    assert {path.name for path in (checkpoint / "state").iterdir()} == named
    assert pa.ipc.open_file(next((checkpoint / "state").iterdir())).read_all().num_rows > 0


def test_a_failed_start_leaves_the_checkpoint_free(windowed: Windowed, tmp_path: Path) -> None:
    """Also for another query, and so do its sinks."""

    class Refusing(CollectSink):
        def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
            raise PermissionError("no entry")

    query, outputs, sink = windowed.skyline(minimize="a", maximize="b"), Outputs(), sp.ParquetSink(tmp_path / "out")
    with pytest.raises(PermissionError) as refused:
        windowed.skyline(minimize="b").start(sink=sink, late=Refusing(), checkpoint=tmp_path / "c", available_now=True)
    running = query.start(checkpoint=tmp_path / "c", available_now=True, **{**outputs.options(), "sink": sink})
    assert running.await_termination(WAIT_S)
    assert refused.value is not None
