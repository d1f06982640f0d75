"""``skypane demo``: the main job on embedded Spark, from a generated bursty stream to Parquet, in about a minute."""

from __future__ import annotations

import statistics
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

import skypane as sp
from skypane.cli.progress import ProgressPanel, watching
from skypane.cli.run import plain_errors
from skypane.notices import has_said, start_of_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skypane.spark.metrics import Metrics
    from skypane.spark.query import RunningQuery

_IDLE_S = 3


def demo(
    seconds: Annotated[int, typer.Option(min=5, max=3600, help="How long the stream lasts.")] = 40,
    rate: Annotated[int, typer.Option(min=1, max=1_000_000, help="Mean records per second.")] = 20_000,
    attributes: Annotated[int, typer.Option(min=1, max=16, help="Attributes of each record; smaller is better.")] = 6,
    dispersion: Annotated[
        int, typer.Option(min=1, max=10_000, help="Burstiness: index of dispersion, 1 = none.")
    ] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same stream.")] = 7,
    log: Annotated[Path, typer.Option(help="Where Spark's own log goes.")] = Path("logs/demo-spark.log"),
) -> None:
    """Run a continuous skyline over a bursty, out-of-order stream, with live progress; ends by itself.

    Records arrive in bursts (a Markov-modulated process) and late (by 0.2 s on average, up to 0.4 s). Every 200 ms of
    event time the best records of the last second are written to Parquet, exactly once.
    """
    console = Console()
    console.print(f"Starting embedded Spark (its log: {log}) ...")
    has_said(start_of_spark(log))
    started = time.monotonic()
    spark = sp.embedded_session("skypane-demo", log_file=log)
    try:
        with plain_errors(log), tempfile.TemporaryDirectory(prefix="skypane-demo-") as folder:
            query = _start(spark, Path(folder), seconds, rate, attributes, dispersion, seed)
            console.print(f"Spark and the query are set up after {time.monotonic() - started:.0f} s. The query:\n")
            console.print(query.explain(), highlight=False)
            _watch(console, query, seconds)
            _summarise(console, query.metrics(), Path(folder))
    finally:
        spark.stop()


def _start(
    spark: SparkSession, folder: Path, seconds: int, rate: int, attributes: int, dispersion: int, seed: int
) -> RunningQuery:
    options: dict[str, str | int] = {
        "rate": rate,
        "arrivals": "map",
        "dispersion": dispersion,
        "attributes": attributes,
        "disorder": "uniform",
        "mean_delay": "200 ms",
        "partitions": 2,
        "paced": "true",
        "duration": f"{seconds} s",
        "seed": seed,
    }
    records = spark.readStream.format("skypane-traffic").options(**options).load()
    return (
        sp.stream(records, time="ts")
        .window("1 second", slide="200 milliseconds")
        .skyline(minimize=[f"a{i}" for i in range(attributes)])
        .lateness(sp.KSlack())
        .start(
            checkpoint=folder / "checkpoint",
            sink=sp.ParquetSink(folder / "results"),
            late=sp.ParquetSink(folder / "late"),
            idle_timeout=f"{_IDLE_S} seconds",
        )
    )


def _watch(console: Console, query: RunningQuery, seconds: int) -> None:
    """Show progress until the stream has ended and the idle timeout has closed its last windows."""
    panel = ProgressPanel(query, "skypane demo: continuous skyline", live_times=True)
    deadline = time.monotonic() + seconds + 120
    with watching(console, panel):
        while query.is_active and time.monotonic() < deadline:
            last = query.metrics().last
            if last is not None and last.kind == "idle":
                break
            time.sleep(0.25)
    query.stop()
    if (error := query.exception()) is not None:
        raise error


def _summarise(console: Console, metrics: Metrics, folder: Path) -> None:
    ledger, steps = metrics.ledger, metrics.recent
    results = pq.read_table(folder / "results")
    console.print(f"\n[bold]{ledger.delivered:,} records[/] in {len(steps)} steps", highlight=False)
    console.print(f"  {ledger.accepted:,} accepted, {ledger.late:,} late, {ledger.quarantined:,} quarantined")
    console.print(f"  {metrics.windows:,} windows answered with {results.num_rows:,} rows, each exactly once")
    parts = {"panes": "pane_ms", "windows": "window_ms", "sink": "sink_ms", "commit": "commit_ms"}
    medians = {name: statistics.median(getattr(step, field) for step in steps) for name, field in parts.items()}
    console.print("  median step: " + ", ".join(f"{name} {ms:.0f} ms" for name, ms in medians.items()))
    _show_last_window(console, results)


def _show_last_window(console: Console, results: pa.Table) -> None:
    """A few rows of the newest answer."""
    rows = results.slice(max(0, results.num_rows - 5)).drop_columns(["arrival", "id"]).to_pylist()
    if not rows:
        return
    window = rows[0]["window"]
    title = f"Some of the best records of {_clock(window['start'])} .. {_clock(window['end'])}"
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        if name != "window":
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        shown = [_clock(v) if isinstance(v, datetime) else f"{v:.1f}" for name, v in row.items() if name != "window"]
        table.add_row(*shown)
    console.print(table)


def _clock(when: datetime) -> str:
    return f"{when:%H:%M:%S.%f}"[:-4]
