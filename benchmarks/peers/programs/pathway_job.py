"""Pathway: its own temporal windows over CSV files, which it reads itself; it has no reader of plain Parquet."""

from __future__ import annotations

from pathlib import Path

import pathway as pw

from benchmarks.peers.programs.plain import NAMES, SLIDE_US, TUMBLE_US, WINDOW_US, best_numbers, main


class Events(pw.Schema):
    """Of the Yahoo benchmark."""

    us: int
    ad: int
    event: str


class Owners(pw.Schema):
    """Which ad belongs to which campaign."""

    ad: int = pw.column_definition(primary_key=True)
    campaign: int


Points = pw.schema_from_types(us=int, number=int, **dict.fromkeys(NAMES, float))


def yahoo(data: Path, out: Path) -> None:
    """Views by campaign in windows of ten seconds: how many, and when the last one was."""
    events = pw.io.csv.read(data / "csv" / "lanes", schema=Events, mode="static")
    owners = pw.io.csv.read(data / "csv" / "campaigns", schema=Owners, mode="static")
    views = events.filter(events.event == "view")
    owned = views.join(owners, views.ad == owners.ad).select(views.us, owners.campaign)
    counted = owned.windowby(owned.us, window=pw.temporal.tumbling(duration=TUMBLE_US), instance=owned.campaign).reduce(
        campaign=pw.this._pw_instance,
        start=pw.this._pw_window_start,
        views=pw.reducers.count(),
        last=pw.reducers.max(pw.this.us),
    )
    pw.io.csv.write(counted, out / "answers.csv")
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


def skyline(data: Path, out: Path) -> None:
    """All records of a window are gathered as arrays, then NumPy takes the best."""
    points = pw.io.csv.read(data / "csv" / "lanes", schema=Points, mode="static")
    gathered = points.windowby(points.us, window=pw.temporal.sliding(hop=SLIDE_US, duration=WINDOW_US)).reduce(
        start=pw.this._pw_window_start,
        number=pw.reducers.ndarray(pw.this.number),
        **{name: pw.reducers.ndarray(pw.this[name]) for name in NAMES},
    )
    columns = [gathered[name] for name in NAMES]
    best = pw.apply_with_type(lambda number, *of: best_numbers(number, list(of)), str, gathered.number, *columns)
    pw.io.csv.write(gathered.select(gathered.start, numbers=best), out / "answers.csv")
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    main({"yahoo": yahoo, "skyline": skyline})
