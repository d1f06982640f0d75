"""The two jobs: their records, in files that all programs read, and their answers as tables that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from examples.yahoo.yahoo import ADS_PER_CAMPAIGN, START_US, write_events

from benchmarks.peers.programs.plain import NAMES, SLIDE_US, TUMBLE_US, WINDOW_US

CAMPAIGNS = 100
LANE_ROWS = 10_000
"""Records in a row go to one lane, then to the other."""


class CannotError(Exception):
    """Somebody cannot be installed, cannot do a job, or does it wrong; why."""


@dataclass(frozen=True)
class Job:
    """What is asked of everybody."""

    name: str
    title: str
    rate: int
    """Records per second of event time."""
    batch: int
    """Records that Spark gets at a time."""
    window_us: int
    slide_us: int
    write: Callable[[Path, int, int, int], None]
    """Into a folder, so many records in so many files at this rate."""
    answer: tuple[str, ...]
    """Columns of an answer that are compared, after the start of the window."""

    def for_spark(self, folder: Path, batches: int) -> None:
        """Write the records, a file a batch."""
        self.write(folder, batches * self.batch, batches, self.rate)

    def for_peers(self, folder: Path, batches: int) -> None:
        """Write the first batches of the same records for all others: in two lanes, as Parquet and as CSV."""
        self.for_spark(folder, batches)
        write_lanes(folder)

    def whole(self, answers: pa.Table, batches: int) -> pa.Table:
        """Of the windows that are within the stream, in order."""
        end_us = START_US + batches * self.batch * 1_000_000 // self.rate
        start = answers["start"]
        inside = pc.and_(pc.greater_equal(start, START_US), pc.less_equal(start, end_us - self.window_us))
        kept = answers.select(["start", *self.answer]).filter(inside)
        kept = kept.cast(pa.schema([(name, pa.int64()) for name in kept.column_names]))
        return kept.sort_by([(name, "ascending") for name in kept.column_names]).combine_chunks()

    def windows(self, batches: int) -> int:
        """How many are within the stream."""
        length_us = batches * self.batch * 1_000_000 // self.rate
        return (length_us - self.window_us) // self.slide_us + 1


def write_lanes(folder: Path) -> None:
    """What the jobs need of the records, with times as whole numbers; Pathway reads no Parquet, so the same as CSV."""
    records = pads.dataset(folder / "events").to_table()
    times = records["ts"].cast(pa.int64())
    needless = [name for name in ("ts", "user") if name in records.column_names]
    records = records.drop_columns(needless).append_column("us", times)
    lane = np.arange(records.num_rows) // LANE_ROWS % 2
    owners = folder / "campaigns" / "ads.parquet"
    for path in (folder / "lanes", folder / "csv" / "lanes", folder / "csv" / "campaigns"):
        path.mkdir(parents=True)
    for number in (0, 1):
        rows = records.filter(pa.array(lane == number))
        pq.write_table(rows, folder / "lanes" / f"{number}.parquet")
        pacsv.write_csv(rows, folder / "csv" / "lanes" / f"{number}.csv")
    if owners.exists():
        pacsv.write_csv(pq.read_table(owners), folder / "csv" / "campaigns" / "ads.csv")


def write_points(folder: Path, count: int, files: int, rate: int) -> None:
    """Independent points, in the order of time."""
    (folder / "events").mkdir(parents=True)
    rng, size = np.random.default_rng(15), count // files
    for file in range(files):
        number = np.arange(file * size, (file + 1) * size)
        ts = pa.array(START_US + number * 1_000_000 // rate, pa.timestamp("us", "UTC"))
        table = pa.table({"ts": ts, "number": number, **{name: rng.random(size) for name in NAMES}})
        pq.write_table(table, folder / "events" / f"{file:03d}.parquet", row_group_size=-(-size // 2))


YAHOO = Job(
    "yahoo",
    f"Yahoo benchmark, {CAMPAIGNS} campaigns",
    rate=100_000,
    batch=2_000_000,
    window_us=TUMBLE_US,
    slide_us=TUMBLE_US,
    write=lambda folder, count, files, rate: write_events(folder, CAMPAIGNS, count, files, rate),
    answer=("campaign", "views", "last"),
)
SKYLINE = Job(
    "skyline",
    f"skyline of {len(NAMES)} attributes, 1 s every 200 ms",
    rate=50_000,
    batch=150_000,
    window_us=WINDOW_US,
    slide_us=SLIDE_US,
    write=write_points,
    answer=("number",),
)


def expected_views(batches: int) -> pa.Table:
    """The Yahoo benchmark's answers, counted without a stream: event v is a view of ad v mod ads if 3 divides v."""
    number = np.arange(0, batches * YAHOO.batch, 3)
    times = START_US + number * 1_000_000 // YAHOO.rate
    ads = ADS_PER_CAMPAIGN * CAMPAIGNS
    views = pa.table(
        {"start": times // TUMBLE_US * TUMBLE_US, "campaign": number % ads // ADS_PER_CAMPAIGN, "last": times}
    )
    counted = views.group_by(["start", "campaign"]).aggregate([("last", "count"), ("last", "max")])
    return counted.rename_columns({"last_count": "views", "last_max": "last"})


def from_parquet(folder: Path) -> pa.Table:
    """The answers in a folder of Spark's or ours: the start of the window, then the other columns."""
    table = pads.dataset(folder, format="parquet", exclude_invalid_files=True, ignore_prefixes=["_", "."]).to_table()
    # Spark writes times of nanoseconds.
    start = pc.struct_field(table["window"], "start").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    if "last" in table.column_names:
        last = table["last"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        table = table.set_column(table.column_names.index("last"), "last", last)
    return table.append_column("start", start)


def from_csv(folder: Path, columns: tuple[str, ...] | None) -> pa.Table:
    """The answers in a folder of a peer's; where ``numbers`` is a list of them, each in a row of its own."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    if not files:
        raise CannotError("it wrote no answers")
    options = pacsv.ReadOptions(column_names=columns)
    kinds = pacsv.ConvertOptions(column_types={"numbers": pa.string()})
    table = pa.concat_tables([pacsv.read_csv(path, options, convert_options=kinds) for path in files])
    if pa.types.is_timestamp(table["start"].type):
        start = table["start"].cast(pa.timestamp("us")).cast(pa.int64())
        table = table.set_column(table.column_names.index("start"), "start", start)
    if "numbers" not in table.column_names:
        return table
    lists = pc.split_pattern(table["numbers"].combine_chunks(), " ")
    starts = table["start"].combine_chunks().take(pc.list_parent_indices(lists))
    return pa.table({"start": starts, "number": pc.list_flatten(lists).cast(pa.int64())})
