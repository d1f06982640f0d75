"""Commands: what ``skypane generate`` and ``skypane inspect`` do; the command line shows what they return."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Int64Array
from skypane.traffic.estimators import Description, describe
from skypane.traffic.plots import plot_arrivals, plot_delays
from skypane.traffic.reading import chunks, times
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream

_FORMATS = (".parquet", ".csv")


@dataclass(frozen=True)
class Generated:
    """What ``generate`` wrote."""

    path: Path
    records: int
    file_bytes: int
    seconds: float


@dataclass(frozen=True)
class Inspected:
    """What ``inspect`` found."""

    name: str
    description: Description
    plots: tuple[Path, ...]


def generate(
    options: Mapping[str, object], path: str | Path, progress: Callable[[int], None] | None = None
) -> Generated:
    """Writes a bounded stream to a Parquet or CSV file, in order of arrival.

    ``progress`` is called with the number of records written so far.
    """
    target = Path(path)
    if target.suffix not in _FORMATS:
        raise OptionError(f"output {str(target)!r}: must end in {' or '.join(_FORMATS)}")
    stream = Stream(TrafficSpec.from_options(options))
    began, records = time.perf_counter(), 0
    pieces = chunks(stream)  # complains about an endless stream before the file is touched
    first = next(pieces, None)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _writer(target, stream.schema) as writer:
        while first is not None:
            writer.write_batch(first)
            records += first.num_rows
            if progress is not None:
                progress(records)
            first = next(pieces, None)
    return Generated(target, records, target.stat().st_size, time.perf_counter() - began)


def _writer(path: Path, schema: pa.Schema) -> pa.csv.CSVWriter | pa.parquet.ParquetWriter:
    if path.suffix == ".csv":
        return pa.csv.CSVWriter(str(path), schema)
    # A dictionary of random numbers is only slow.
    return pa.parquet.ParquetWriter(str(path), schema, use_dictionary=["key"] if "key" in schema.names else False)


def inspect(
    path: str | Path | None = None,
    options: Mapping[str, object] | None = None,
    *,
    ts: str = "ts",
    arrival: str = "arrival",
    plots: str | Path | None = None,
) -> Inspected:
    """Measures a file (``path``) or a generated stream (``options``); draws it into the folder ``plots``.

    A file without the column ``arrival`` is taken to be in order of arrival.
    """
    if (path is None) == (options is None):
        raise OptionError("inspect needs either a file or the options of a stream, not both")
    if path is not None:
        name = Path(path).name
        ts_us, arrival_us = read_times(Path(path), ts, arrival)
    else:
        assert options is not None
        name = _name(options)
        ts_us, arrival_us = times(Stream(TrafficSpec.from_options(options)))
    description = describe(ts_us, arrival_us)
    drawn: list[Path] = []
    if plots is not None:
        seen_us = arrival_us if arrival_us is not None else ts_us.copy()
        stem = re.sub(r"[^A-Za-z0-9.]+", "-", name.removesuffix(".parquet").removesuffix(".csv"))
        drawn.append(plot_arrivals(seen_us, Path(plots) / f"{stem}-arrivals.png", name))
        drawn.append(plot_delays(ts_us, seen_us, Path(plots) / f"{stem}-delays.png", name))
    return Inspected(name, description, tuple(drawn))


def read_times(path: Path, ts: str, arrival: str) -> tuple[Int64Array, Int64Array | None]:
    """Event and arrival times of a Parquet or CSV file in order of arrival, in microseconds."""
    table = _read(path, ts, only=(ts, arrival))
    if arrival not in table.column_names:
        return _microseconds(table, ts), None
    table = table.sort_by(arrival)
    return _microseconds(table, ts), _microseconds(table, arrival)


def read_stream(path: Path, ts: str, arrival: str) -> pa.Table:
    """All columns of a Parquet or CSV file, in order of arrival; both times are there."""
    table = _read(path, ts)
    if arrival not in table.column_names:
        raise SchemaError(f"column {arrival!r} is not in {str(path)!r}; name the column with the arrival time")
    for name in (ts, arrival):
        _microseconds(table, name)
    return table.sort_by(arrival)


def _read(path: Path, ts: str, only: Sequence[str] = ()) -> pa.Table:
    if path.suffix not in _FORMATS:
        raise OptionError(f"file {str(path)!r}: must end in {' or '.join(_FORMATS)}")
    if not path.exists():
        raise OptionError(f"file {str(path)!r} does not exist")
    if path.suffix == ".csv":
        table = pa.csv.read_csv(path)
    else:
        columns = [name for name in pa.parquet.read_schema(path).names if not only or name in only]
        table = pa.parquet.read_table(path, columns=columns)
    if ts not in table.column_names:
        raise SchemaError(f"column {ts!r} is not in {str(path)!r}; name the column with the event time")
    return table


def _microseconds(table: pa.Table, name: str) -> Int64Array:
    column = table.column(name)
    if not pa.types.is_timestamp(column.type):
        raise SchemaError(f"column {name!r} has type {column.type}; a timestamp is needed")
    if column.null_count:
        raise SchemaError(f"column {name!r} holds {column.null_count} nulls; remove these rows")
    in_us = pc.cast(column, pa.timestamp("us", tz=column.type.tz), safe=False)
    values: Int64Array = pc.cast(in_us, pa.int64()).to_numpy()
    return values


def _name(options: Mapping[str, object]) -> str:
    """A stream in a few words."""
    quiet = ("duration", "records", "seed", "partitions", "trace", "start")
    return " ".join(f"{name}={value}" for name, value in options.items() if name not in quiet) or "defaults"
