"""Bytewax: Arrow batches as items for filter and look-up, then its own windows, record by record."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.run import cli_main

from benchmarks.peers.programs.plain import NAMES, SLIDE_US, TUMBLE_US, WINDOW_US, best_numbers, main

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
BATCH = 8_192
WAIT = timedelta(seconds=30)
"""How far one lane may be ahead of the other: a key's clock follows the faster."""


class Lane(StatefulSourcePartition[pa.RecordBatch, int]):
    """A file."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self._batches = pq.ParquetFile(path).iter_batches(BATCH, columns=columns)

    def next_batch(self) -> list[pa.RecordBatch]:
        """One Arrow batch."""
        return [next(self._batches)]

    def snapshot(self) -> int:
        """Nothing is recovered here."""
        return 0


class Lanes(FixedPartitionedSource[pa.RecordBatch, int]):
    """All of them."""

    def __init__(self, folder: Path, columns: list[str]) -> None:
        self._paths, self._columns = {path.stem: path for path in sorted(folder.glob("*.parquet"))}, columns

    def list_parts(self) -> list[str]:
        """Their names."""
        return list(self._paths)

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Lane:
        """From its beginning."""
        return Lane(self._paths[for_part], self._columns)


class Rows(StatelessSinkPartition[tuple[Any, ...]]):
    """A CSV file."""

    def __init__(self, path: Path, header: tuple[str, ...]) -> None:
        self._file = path.open("w", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(header)

    def write_batch(self, items: list[tuple[Any, ...]]) -> None:
        """Rows."""
        self._writer.writerows(items)

    def close(self) -> None:
        """To the disk."""
        self._file.close()


class ToCsv(DynamicSink[tuple[Any, ...]]):
    """A file for each worker."""

    def __init__(self, folder: Path, header: tuple[str, ...]) -> None:
        self._folder, self._header = folder, header

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Rows:
        """This worker's."""
        return Rows(self._folder / f"{worker_index}.csv", self._header)


def yahoo(data: Path, out: Path) -> None:
    """Views by campaign in windows of ten seconds: how many, and when the last one was."""
    owner = pq.read_table(data / "campaigns" / "ads.parquet").sort_by("ad")["campaign"].to_numpy().astype(str).tolist()

    def viewed(batch: pa.RecordBatch) -> list[tuple[str, int]]:
        kept = batch.filter(pc.equal(batch["event"], "view"))
        return [(owner[ad], us) for ad, us in zip(kept["ad"].to_pylist(), kept["us"].to_pylist(), strict=True)]

    def add(found: tuple[int, int], us: int) -> tuple[int, int]:
        return found[0] + 1, max(found[1], us)

    flow = Dataflow("yahoo")
    views = op.flat_map("views", op.input("events", flow, Lanes(data / "lanes", ["us", "ad", "event"])), viewed)
    counted = win.fold_window(
        "counts",
        views,
        win.EventClock(lambda us: EPOCH + timedelta(microseconds=us), WAIT),
        win.TumblingWindower(timedelta(microseconds=TUMBLE_US), EPOCH),
        lambda: (0, 0),
        add,
        lambda one, other: (one[0] + other[0], max(one[1], other[1])),
    )
    rows = op.map("rows", counted.down, lambda item: (item[0], item[1][0] * TUMBLE_US, *item[1][1]))
    op.output("out", rows, ToCsv(out, ("campaign", "start", "views", "last")))
    cli_main(flow)


def skyline(data: Path, out: Path) -> None:
    """All records of a window are gathered, then NumPy takes the best."""

    def records(batch: pa.RecordBatch) -> list[tuple[str, tuple[Any, ...]]]:
        return [("all", row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]

    def best(item: tuple[str, tuple[int, list[Any]]]) -> tuple[int, str]:
        window, rows = item[1]
        _, number, *columns = zip(*rows, strict=True)
        return window * SLIDE_US, best_numbers(number, columns)

    flow = Dataflow("skyline")
    points = op.flat_map("points", op.input("lanes", flow, Lanes(data / "lanes", ["us", "number", *NAMES])), records)
    gathered = win.collect_window(
        "windows",
        points,
        win.EventClock(lambda row: EPOCH + timedelta(microseconds=row[0]), WAIT),
        win.SlidingWindower(timedelta(microseconds=WINDOW_US), timedelta(microseconds=SLIDE_US), EPOCH),
    )
    op.output("out", op.map("best", gathered.down, best), ToCsv(out, ("start", "numbers")))
    cli_main(flow)


if __name__ == "__main__":
    main({"yahoo": yahoo, "skyline": skyline})
