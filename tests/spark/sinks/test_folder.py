"""The folder of a ParquetSink without Spark: one query's, nothing of others touched, nothing missing, listed once."""

from __future__ import annotations

import shutil
import sys
from itertools import count
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.spark.sinks.base import Continuation, StepRows
from skypane.spark.sinks.folder import Published
from skypane.spark.sinks.parquet_index import ParquetIndex, Starts
from skypane.spark.store.formats import FORMAT
from skypane.spark.store.writers import Written
from tests.support.crashes import Crash, Crashed

NO_SPARK = cast("SparkSession", None)
PLAIN = pa.schema([("n", pa.int64())])
TIME = pa.timestamp("us", "UTC")
REVISED = pa.schema(
    [("window", pa.struct([("start", TIME), ("end", TIME)])), ("revision", pa.int32()), ("n", pa.int64())]
)


def opened(path: Path, query: str = "one", step: int = 0, schema: pa.Schema = PLAIN, **more: Any) -> sp.ParquetSink:
    sink = sp.ParquetSink(path)
    sink.open(NO_SPARK, schema, Continuation(query, step, revised=schema is REVISED, **more))
    return sink


def publish(sink: sp.ParquetSink, step: int, *parts: list[int], schema: pa.Schema = PLAIN) -> None:
    tables = [pa.Table.from_pylist([{"n": n} for n in part], schema) for part in parts]
    publish_tables(sink, step, *tables)


def publish_tables(sink: sp.ParquetSink, step: int, *tables: pa.Table) -> None:
    show(sink, step, prepare(sink, *tables), tables[0].schema if tables else PLAIN)


def prepare(sink: sp.ParquetSink, *tables: pa.Table) -> list[Written]:
    written = [sink.writer(Path()).write([table]) for table in tables]
    return [file for file in written if file]


def show(sink: sp.ParquetSink, step: int, written: list[Written], schema: pa.Schema, *, stored: bool = False) -> None:
    sink.publish(step, StepRows(NO_SPARK, schema, written, stored=stored))


def answers(revision: int, *starts: int) -> pa.Table:
    rows = [{"window": {"start": s, "end": s + 1}, "revision": revision, "n": s * 10 + revision} for s in starts]
    return pa.Table.from_pylist(rows, REVISED)


def numbers(path: Path) -> list[int]:
    return sorted(n for file in path.glob("step-0*.parquet") for n in pq.read_table(file).column("n").to_pylist())


def run(path: Path, query: str, steps: dict[int, list[int]], **more: Any) -> None:
    sink = opened(path, query, step=min(steps) - 1, **more)
    for step, part in steps.items():
        publish(sink, step, part)
    sink.close()


def test_files_of_others_are_not_touched(tmp_path: Path) -> None:
    for name in ("_staging/mine", "schema.parquet", "step-0000000001-0000.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("precious")
    for step in (0, 5):
        with pytest.raises(sp.OptionError, match=r"_staging, schema\.parquet, step-0.*Nothing in it was touched"):
            opened(tmp_path, step=step)
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"precious"}
    assert len(list(tmp_path.rglob("*"))) == 4


def test_foreign_files_in_our_folder_are_left_alone(tmp_path: Path) -> None:
    run(tmp_path, "one", {1: [1]})
    for name in ("step-by-step.parquet", "step-1-x.parquet", "notes.txt", "_staging/notes.txt"):
        (tmp_path / name).write_text("mine")
    run(tmp_path, "one", {2: [2], 3: [3]})
    assert numbers(tmp_path) == [1, 2, 3]
    assert sum(path.is_file() and path.read_bytes() == b"mine" for path in tmp_path.rglob("*")) == 4


def test_one_folder_one_query(tmp_path: Path) -> None:
    run(tmp_path, "one", {1: [1], 2: [2]}, checkpoint="/data/c1")
    for step in (0, 1, 2):
        with pytest.raises(sp.OptionError, match=r"results of another query, which has the checkpoint /data/c1\. Noth"):
            opened(tmp_path, "two", step)
    with pytest.raises(sp.OptionError, match="has the results of this query"):
        opened(tmp_path, "one", 2, output="late")
    run(tmp_path, "one", {3: [3]})
    assert numbers(tmp_path) == [1, 2, 3]


def test_a_folder_without_results_can_be_anothers(tmp_path: Path) -> None:
    opened(tmp_path, "failed").close()
    run(tmp_path, "two", {1: [1]})
    with pytest.raises(sp.OptionError, match="results of another query"):
        opened(tmp_path, "failed")


def test_two_at_a_time_are_refused(tmp_path: Path) -> None:
    first = opened(tmp_path)
    for sink in (first, sp.ParquetSink(tmp_path)):
        with pytest.raises(sp.OptionError, match=rf"The sink {tmp_path} is in use by another running query\. Stop"):
            sink.open(NO_SPARK, PLAIN, Continuation("one"))
    publish(first, 1, [1])
    first.close()
    opened(tmp_path, step=1).close()


def test_a_failed_opening_leaves_the_folder_free(tmp_path: Path) -> None:
    run(tmp_path, "one", {1: [1], 2: [2], 3: [3]})
    with pytest.raises(sp.OptionError, match="has files up to step 3, but the checkpoint is at step 1: one of them is"):
        opened(tmp_path, step=1)
    opened(tmp_path, step=3).close()


def test_removed_files_are_noticed(tmp_path: Path) -> None:
    run(tmp_path, "one", {step: [step] for step in range(1, 9)})
    gone = [tmp_path / f"step-{step:010d}-0000.parquet" for step in (2, 3, 8)]
    for path in gone:
        path.rename(tmp_path / f"{path.name}.away")
    message = r"rows of steps 2 to 3 were removed since .*: step-0000000002-0000\.parquet, step-0000000003-0000\.parq"
    with pytest.raises(sp.OptionError, match=message):
        opened(tmp_path, step=7)
    for path in gone:
        (tmp_path / f"{path.name}.away").rename(path)
    opened(tmp_path, step=8).close()
    gone[0].unlink()
    with pytest.raises(sp.OptionError, match=r"rows of step 2 were removed .*go on without them, remove .*_files\.log"):
        opened(tmp_path, step=8)
    (tmp_path / "_files.log").unlink()
    opened(tmp_path, step=8).close()
    opened(tmp_path, step=8).close()


def test_a_removed_folder_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(sp.OptionError, match=r"was removed or emptied .* late records up to step 5 are gone\. Put it"):
        opened(tmp_path / "out", step=6, output="late", shown=5)
    assert not (tmp_path / "out").exists()
    opened(tmp_path / "new", step=5).close()


def test_the_log_may_be_cut_anywhere(tmp_path: Path) -> None:
    """A crash of the machine may lose its end; files that it does not name are as good as others."""
    for cut in range(0, 120, 7):
        folder = tmp_path / str(cut)
        sink = opened(folder, schema=REVISED)
        publish_tables(sink, 1, answers(0, 1), answers(0, 2))
        publish_tables(sink, 2, answers(0, 3, 4))
        sink.close()
        log = folder / "_files.log"
        log.write_bytes(log.read_bytes()[:cut])
        sink = opened(folder, step=2, schema=REVISED)
        publish_tables(sink, 3, answers(1, 2, 3))
        sink.close()
        assert numbers(folder) == [10, 21, 31, 40]
        opened(folder, step=3, schema=REVISED).close()


def test_a_file_that_a_revision_empties_is_not_missed(tmp_path: Path) -> None:
    sink = opened(tmp_path, schema=REVISED)
    publish_tables(sink, 1, answers(0, 1), answers(0, 2))
    publish_tables(sink, 2, answers(1, 1))
    sink.close()
    sink = opened(tmp_path, step=2, schema=REVISED)
    publish_tables(sink, 3, answers(1, 2))
    sink.close()
    assert numbers(tmp_path) == [11, 21]
    assert len(list(tmp_path.glob("step-*"))) == 2
    opened(tmp_path, step=3, schema=REVISED).close()


def test_format_3_is_refused_and_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(Path(__file__).parents[2] / "fixtures" / "checkpoint-v3" / "results", folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    message = (
        rf"The sink folder {folder} has format 3 .* reads format {FORMAT}\. Give a new sink folder, or use the skypane "
        r"version that wrote this one\."
    )
    with pytest.raises(sp.CheckpointError, match=message):
        opened(folder, "68939033808049c49a22d5bce562acfd", step=3)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


REVISING = {
    1: [answers(0, 1), answers(0, 2, 3)],
    2: [answers(1, 1, 2), answers(0, 4)],
    3: [answers(2, 2), answers(1, 3, 4)],
    4: [],
    5: [answers(3, 2)],
}


@pytest.mark.parametrize("kind", [pa.int32(), pa.string()])
def test_a_revision_that_records_have_is_theirs(tmp_path: Path, kind: pa.DataType) -> None:
    schema = pa.schema([("n", pa.int64()), ("revision", kind)])
    rows = pa.table({"n": [1, 2], "revision": pa.array([3, 4]).cast(kind)}, schema)
    sink = opened(tmp_path, schema=schema)
    for step in (1, 2):
        publish_tables(sink, step, rows)
    sink.close()
    assert numbers(tmp_path) == [1, 1, 2, 2]
    opened(tmp_path, step=2, schema=schema).close()


def publish_all(folder: Path) -> None:
    """Publish step after step, in a new process after a crash, which publishes a prepared step as it was stored."""
    committed, pending = 0, list[Written]()
    while committed < len(REVISING):
        sink = sp.ParquetSink(folder)
        try:
            sink.open(NO_SPARK, REVISED, Continuation("one", committed, revised=True, pending=pending))
            for step in range(committed + 1, len(REVISING) + 1):
                stored = bool(pending)
                pending = pending or prepare(sink, *REVISING[step])
                show(sink, step, pending, REVISED, stored=stored)
                committed, pending = step, []
        except Crashed:
            pass
        finally:
            sink.close()


def test_a_crash_at_any_file_operation_does_not_show(tmp_path: Path) -> None:
    crash = Crash()
    for operation in count(1):
        folder = tmp_path / str(operation)
        crash.arm(folder, operation)
        publish_all(folder)
        crash.disarm()
        assert numbers(folder) == [11, 23, 31, 41]
        opened(folder, step=5, schema=REVISED).close()
        if not crash.happened:
            break
    assert operation > 30


class Listings:
    """Counts how often this process lists a folder."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.count = 0

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.folder and event in {"os.scandir", "os.listdir"} and str(args[0]).startswith(self.folder):
            self.count += 1


def test_steps_do_not_list_the_folder(tmp_path: Path) -> None:
    listings = Listings()
    sys.addaudithook(listings)
    listings.folder = str(tmp_path)
    sink = opened(tmp_path, schema=REVISED)
    assert listings.count > 0
    listings.count = 0
    for step in range(1, 6):
        publish_tables(sink, step, answers(0, step))
    publish_tables(sink, 6, answers(1, 3, 4))
    assert listings.count == 0
    listings.folder = None
    sink.close()
    assert numbers(tmp_path) == [10, 20, 31, 41, 50]


def test_the_index_finds_files_by_windows() -> None:
    index = ParquetIndex()
    assert list(index.overlapping(Starts(0, 100), 9)) == []
    files = [Published(step, f"f{step}", Starts(step * 10, step * 10 + 15).note()) for step in range(1, 9)]
    for file in files:
        index.replace(file.step, [file])
    assert [f.step for f in index.overlapping(Starts(45, 52), 9)] == [3, 4, 5]
    assert [f.step for f in index.overlapping(Starts(45, 52), 5)] == [3, 4]
    index.discard(files[3])
    assert [f.step for f in index.overlapping(Starts(45, 52), 9)] == [3, 5]
    index.replace(2, [Published(2, "unknown"), Published(2, "late", Starts(50, 50).note())])
    assert [f.name for f in index.overlapping(Starts(50, 50), 9)] == ["unknown", "late", "f5"]
    index.replace(2, [])
    assert index.of_step(2) == []
    assert [f.step for f in index.overlapping(Starts(0, 30), 9)] == [1, 3]


def test_a_missing_marker_is_written_again_if_the_log_proves_whose_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(tmp_path, "one", {1: [1], 2: [2]})
    marker, log = tmp_path / "_skypane.json", tmp_path / "_files.log"
    before = marker.read_bytes()
    marker.unlink()
    for other in ({"query": "two"}, {"query": "one", "output": "late"}):
        with pytest.raises(sp.OptionError, match=r"was a sink of skypane \(_files\.log is there\), but its file _skyp"):
            opened(tmp_path, step=2, shown=2, **other)
    assert not marker.exists()
    opened(tmp_path, step=2, shown=2).close()
    assert marker.read_bytes() == before
    assert f"the file {marker} was missing, and was written again" in caplog.text
    run(tmp_path, "one", {3: [3]}, shown=2)
    assert numbers(tmp_path) == [1, 2, 3]
    marker.unlink()
    (tmp_path / "step-0000000002-0000.parquet").unlink()
    with pytest.raises(sp.OptionError, match="rows of step 2 were removed"):
        opened(tmp_path, step=3, shown=3)
    for damaged in (b"", log.read_bytes()[:15]):
        log.write_bytes(damaged)
        marker.unlink(missing_ok=True)
        with pytest.raises(sp.OptionError, match=r"_files\.log is there"):
            opened(tmp_path, step=3, shown=3)


def test_a_missing_marker_is_named_where_rows_are_there(tmp_path: Path) -> None:
    """As after a clean-up of ``_*``: nothing proves whose rows these are, and they are not gone."""
    run(tmp_path, "one", {1: [1], 2: [2]})
    for name in ("_skypane.json", "_files.log"):
        (tmp_path / name).unlink()
    files = sorted(tmp_path.rglob("*"))
    message = (
        r"was a sink of skypane \(step-0000000001-0000\.parquet is there\), but its file _skypane\.json, which says "
        r"whose it is, is missing\. Nothing in it was touched\. Put _skypane\.json back from a backup"
    )
    with pytest.raises(sp.OptionError, match=message):
        opened(tmp_path, step=2, shown=2)
    assert sorted(tmp_path.rglob("*")) == files


def test_a_folder_that_is_removed_under_a_running_query(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sink = opened(folder)
    publish(sink, 1, [1])
    shutil.rmtree(folder)
    with pytest.raises(sp.StorageError, match=rf"the folder {folder} was removed while the query was running; _skyp"):
        sink.writer(Path())
    with pytest.raises(sp.StorageError, match="was removed while the query was running"):
        publish(sink, 2)
    assert not folder.exists()
    other = opened(folder, "two")
    with pytest.raises(sp.StorageError, match="was replaced by that of another query while the query was running"):
        publish(sink, 2, [2])
    publish(other, 1, [7])
    for one in (sink, other):
        one.close()
    assert numbers(folder) == [7]
