"""The law suite for sinks: every sink, yours included, must pass ``check_sink``.

    from skypane.testing import check_sink

    def test_my_sink(spark, tmp_path) -> None:
        check_sink(
            lambda folder: MySink(folder / "rows"),
            lambda sink, folder: spark.read.parquet(str(folder / "rows")).toArrow().to_pylist(),
            spark=spark,
            folder=tmp_path,
        )

Each law is a function of a bench; its docstring is the law. Rows take the way they take in a query: workers write them
with the sink's own writer, the driver publishes what they have written, and after a crash publishes it once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import count, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from skypane.model.columns import REVISION, WINDOW
from skypane.model.errors import OptionError
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.store.writers import RowWriter, Written
from skypane.testing.law import LawBroken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = Mapping[str, Any]
_NUMBERS = [(name, pa.int64()) for name in ("rows", "bytes", "crc32")]
Law = Callable[["Bench"], None]
KEY = "city"
_TIME = pa.timestamp("us", "UTC")
_COLUMNS = [
    pa.field(KEY, pa.string()),
    pa.field(WINDOW, pa.struct([("start", _TIME), ("end", _TIME)])),
    pa.field("n", pa.int64()),
    pa.field("x", pa.float64()),
]
PLAIN = pa.schema(_COLUMNS)
REVISED = pa.schema([*_COLUMNS[:2], pa.field(REVISION, pa.int32()), *_COLUMNS[2:]])


def answer(key: str | None, window: int, n: int, revision: int = 0) -> dict[str, Any]:
    """A row of the window that starts after so many seconds."""
    start_us = 1_700_000_000_000_000 + window * 1_000_000
    return {
        KEY: key,
        WINDOW: {"start": start_us, "end": start_us + 1_000_001},
        "n": n,
        "x": n / 3,
        REVISION: revision,
    }


STEPS: Mapping[int, Sequence[dict[str, Any]]] = {
    1: [answer("ulm", 0, 1001), answer("ulm", 0, 1002), answer(None, 0, 1003)],
    2: [],
    3: [answer('"ü", \\ {0} \n', 1, 1004)],
    4: [answer("ulm", 2, 2**53 + 1), answer("", 2, -1006)],
}
"""What a query might emit: rows, nothing, strange text, numbers that a double cannot hold."""


@dataclass
class Bench:
    """A sink to be tried, and how to see what it holds."""

    spark: SparkSession
    make_sink: Callable[[Path], Sink]
    read_rows: Callable[[Any, Path], Iterable[Row]]
    folder: Path
    keeps: Callable[[Row], object]
    exactly_once: bool
    replaces: bool
    durable: bool
    trials: Iterator[int]

    def place(self) -> Path:
        """A new folder, for a sink that has never been used."""
        path = self.folder / f"trial-{next(self.trials)}"
        path.mkdir()
        return path

    @contextmanager
    def opened(
        self, place: Path, step: int = 0, query: str = "one", schema: pa.Schema = PLAIN, **more: Any
    ) -> Iterator[Sink]:
        """The sink at a place, as a query that has committed so many steps opens and closes it."""
        sink = self.make_sink(place)
        sink.open(self.spark, schema, Continuation(query, step, (KEY,), revised=schema is REVISED, **more))
        try:
            yield sink
        finally:
            sink.close()

    def prepare(
        self, sink: Sink, rows: Sequence[Row], schema: pa.Schema = PLAIN, parts: int = 1, jobs: bool = False
    ) -> list[Written]:
        """The rows of a step as so many tasks have written them; with ``jobs``, tasks of Spark."""
        tables = [pa.Table.from_pylist(list(rows[part::parts]), schema) for part in range(parts)]
        scratch = self.folder / f"scratch-{next(self.trials)}"
        scratch.mkdir()
        writer = sink.writer(scratch)
        written = _in_workers(self.spark, writer, tables) if jobs else [writer.write([table]) for table in tables]
        return [file for file in written if file is not None]

    def publish(
        self, sink: Sink, step: int, rows: Sequence[Row], schema: pa.Schema = PLAIN, parts: int = 1, jobs: bool = False
    ) -> None:
        """Publish a step whose rows so many tasks have written."""
        self.show(sink, step, self.prepare(sink, rows, schema, parts, jobs), schema)

    def show(
        self, sink: Sink, step: int, written: Sequence[Written], schema: pa.Schema = PLAIN, *, stored: bool = False
    ) -> None:
        """Publish a step that is prepared; with ``stored``, by a process before this one."""
        sink.publish(step, StepRows(self.spark, schema, written, stored=stored))

    def expect(self, place: Path, sink: Sink, rows: Iterable[Row], schema: pa.Schema = PLAIN) -> None:
        """The sink holds these rows and no others."""
        wanted = pa.Table.from_pylist(list(rows), schema).to_pylist()
        expected = Counter(self.keeps(row) for row in wanted)
        got = Counter(self.keeps(row) for row in self.read_rows(sink, place))
        if (got if self.exactly_once else Counter(set(got))) != expected:
            raise AssertionError(f"{place.name}: the sink has\n  {_lines(got)}\nand should have\n  {_lines(expected)}")


def rows_come_back_as_they_were(bench: Bench) -> None:
    """What workers have written is what the sink holds: every row, every column, every type."""
    place = bench.place()
    with bench.opened(place) as sink:
        for step, rows in STEPS.items():
            bench.publish(sink, step, rows, parts=2, jobs=True)
        bench.expect(place, sink, _rows())


def publishing_twice_equals_once(bench: Bench) -> None:
    """A step that is published again, with the same rows, changes nothing."""
    place = bench.place()
    with bench.opened(place) as sink:
        for step, rows in STEPS.items():
            written = bench.prepare(sink, rows, parts=3)
            bench.show(sink, step, written)
            bench.show(sink, step, written)
        bench.expect(place, sink, _rows())


def empty_steps_show_nothing(bench: Bench) -> None:
    """Steps without rows, the first ones included, add nothing and take nothing away."""
    place = bench.place()
    with bench.opened(place) as sink:
        bench.publish(sink, 1, [])
        bench.publish(sink, 2, STEPS[1])
        bench.publish(sink, 3, [])
        bench.expect(place, sink, STEPS[1])


def a_restart_does_not_show(bench: Bench) -> None:
    """A query that ends after any step, or while the next one is published, goes on as if it had not."""
    for step, shown in product(range(len(STEPS)), (False, True)):
        place = bench.place()
        with bench.opened(place) as sink:
            for number in range(1, step + 1):
                bench.publish(sink, number, STEPS[number])
            pending = bench.prepare(sink, STEPS[step + 1], parts=2)
            if shown:
                bench.show(sink, step + 1, pending)
        last = max((number for number in STEPS if number <= step and STEPS[number]), default=0)
        with bench.opened(place, step, shown=last, pending=pending) as sink:
            bench.show(sink, step + 1, pending, stored=True)
            for number in range(step + 2, len(STEPS) + 1):
                bench.publish(sink, number, STEPS[number], parts=2)
            bench.expect(place, sink, _rows())


def a_sink_from_a_backup_is_refused(bench: Bench) -> None:
    """A sink that has a place refuses to go on if it has rows of later steps than the query, or lacks its last ones."""
    place = bench.place()
    with bench.opened(place) as sink:
        if sink.place() is None or not bench.durable:
            return
        for step in (1, 3):
            bench.publish(sink, step, STEPS[step])
    for committed, shown in ((1, 1), (2, 1), (4, 4)):
        try:
            with bench.opened(place, committed, shown=shown):
                pass
        except OptionError:
            continue
        raise AssertionError(
            f"The sink at {place} has rows up to step 3. A query at step {committed}, with rows up to step {shown}, "
            "has opened it."
        )


def revisions_replace_what_they_revise(bench: Bench) -> None:
    """The newest answer of a key and a window takes the place of earlier ones, or stands beside them: never less."""
    steps = {
        1: [answer("ulm", 0, 1001), answer("ulm", 0, 1002), answer("bonn", 0, 1003), answer("ulm", 1, 1004)],
        2: [answer("ulm", 0, 1005, revision=1), answer("ulm", 2, 1006)],
        3: [answer("ulm", 0, 1007, revision=2), answer("ulm", 1, 1008, revision=1), answer(None, 2, 1009)],
    }
    newest = [steps[1][2], steps[2][1], *steps[3]]
    place = bench.place()
    with bench.opened(place, schema=REVISED) as sink:
        bench.publish(sink, 1, steps[1], REVISED, parts=2)
        pending = bench.prepare(sink, steps[2], REVISED, parts=2)
        for _ in range(2):
            bench.show(sink, 2, pending, REVISED)
    with bench.opened(place, 1, schema=REVISED, pending=pending) as sink:
        bench.show(sink, 2, pending, REVISED, stored=True)
        written = bench.prepare(sink, steps[3], REVISED, parts=2)
        for _ in range(2):
            bench.show(sink, 3, written, REVISED)
        bench.expect(
            place, sink, newest if bench.replaces else [row for rows in steps.values() for row in rows], REVISED
        )


def rows_of_two_queries_do_not_mix(bench: Bench) -> None:
    """A sink that has a place refuses it to another query, and keeps what it has, or holds nothing but its rows."""
    place = bench.place()
    with bench.opened(place) as sink:
        if sink.place() is None:
            return
        bench.publish(sink, 1, STEPS[1])
    try:
        with bench.opened(place, query="two") as sink:
            bench.publish(sink, 1, STEPS[3])
            bench.expect(place, sink, STEPS[3])
    except OptionError:
        with bench.opened(place, 1) as sink:
            bench.expect(place, sink, STEPS[1])


def one_query_at_a_time(bench: Bench) -> None:
    """A sink that has a place refuses it to a second query while the first is running, and is not disturbed by it."""
    place = bench.place()
    with bench.opened(place) as sink:
        if sink.place() is None:
            return
        for query in ("one", "two"):
            try:
                bench.make_sink(place).open(bench.spark, PLAIN, Continuation(query, 0, (KEY,)))
            except OptionError:
                continue
            raise AssertionError(f"The sink at {sink.place()} was opened twice at the same time.")
        bench.publish(sink, 1, STEPS[1])
        bench.expect(place, sink, STEPS[1])


LAWS: tuple[Law, ...] = (
    rows_come_back_as_they_were,
    publishing_twice_equals_once,
    empty_steps_show_nothing,
    a_restart_does_not_show,
    a_sink_from_a_backup_is_refused,
    revisions_replace_what_they_revise,
    rows_of_two_queries_do_not_mix,
    one_query_at_a_time,
)


def check_sink(
    make_sink: Callable[[Path], Sink],
    read_rows: Callable[[Any, Path], Iterable[Row]],
    *,
    spark: SparkSession,
    folder: Path,
    keeps: Callable[[Row], object] | None = None,
    exactly_once: bool = True,
    replaces: bool = False,
    durable: bool = True,
) -> None:
    """Check every law; the error says which one is broken, what the sink has and what it should have.

    make_sink: a sink that keeps its rows in the folder; called again for the same folder when a query restarts. Sinks
        that keep rows in memory must then be the same object again.
    read_rows: all rows that such a sink holds now, as dictionaries, times with their zone.
    folder: an empty one, for the folders of the sinks.
    keeps: what the sink keeps of a row, if it is not everything.
    exactly_once: ``False`` for sinks that can only append, where a repeated step is there twice.
    replaces: whether revisions take the place of what they revise; else they stand beside it.
    durable: ``False`` for sinks whose rows end with the process.
    """
    bench = Bench(spark, make_sink, read_rows, folder, keeps or _text, exactly_once, replaces, durable, count())
    for law in LAWS:
        _uphold(law, bench)


def _uphold(law: Law, bench: Bench) -> None:
    try:
        law(bench)
    except Exception as error:
        said = str(error) if isinstance(error, AssertionError) else f"It raised {type(error).__name__}: {error}"
        raise LawBroken(f"The sink breaks the law {law.__name__}: {law.__doc__}\n{said}") from error


def _rows() -> list[dict[str, Any]]:
    return [row for rows in STEPS.values() for row in rows]


def _in_workers(spark: SparkSession, writer: RowWriter, tables: Sequence[pa.Table]) -> list[Written]:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            written = [writer.write([tables[index]]) for index in batch.column(0).to_pylist()]
            rows = [file._asdict() for file in written if file is not None]
            yield pa.RecordBatch.from_pylist(rows, pa.schema([("path", pa.string()), *_NUMBERS]))

    columns = "path string, rows bigint, bytes bigint, crc32 bigint"
    found = spark.range(0, len(tables), 1, len(tables)).mapInArrow(write, columns)
    return [Written(*row) for row in found.collect()]


def _text(value: Any) -> str:
    """A canonical form in which equal rows are equal, whatever they were read with."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_text(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    return repr(value)


def _lines(rows: Counter[object]) -> str:
    return "\n  ".join(sorted(f"{row} ({times} times)" for row, times in rows.items())) or "nothing"
