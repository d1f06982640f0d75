"""``skypane demo``: the main job on embedded Spark, from a generated bursty stream to Parquet, in about a minute."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

import skypane as sp
from skypane.cli.progress import ProgressPanel

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
    started = time.monotonic()
    spark = sp.embedded_session("skypane-demo", log_file=log)
    try:
        with tempfile.TemporaryDirectory(prefix="skypane-demo-") as folder:
            query = _start(spark, Path(folder), seconds, rate, attributes, dispersion, seed)
            console.print(f"Ready after {time.monotonic() - started:.0f} s. The query:\n")
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
    deadline = time.monotonic() + seconds + 60
    with Live(panel, console=console, refresh_per_second=4, transient=not console.is_terminal):
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
    busy_s = sum(step.total_ms for step in steps) / 1e3
    results = pq.read_table(folder / "results")
    console.print(f"\n[bold]{ledger.delivered:,} records[/] in {len(steps)} steps, {busy_s:.1f} s of work in all")
    console.print(f"  accepted {ledger.accepted:,}, late {ledger.late:,}, quarantined {ledger.quarantined:,}")
    console.print(f"  {metrics.windows:,} windows answered with {results.num_rows:,} rows, exactly once")
    shares = [
        sum(getattr(step, name) for step in steps) / 1e3 for name in ("pane_ms", "window_ms", "sink_ms", "commit_ms")
    ]
    console.print(
        "  time by part: "
        + ", ".join(f"{n} {s:.1f} s" for n, s in zip(("panes", "windows", "sink", "commit"), shares, strict=True))
    )
    _show_rows(console, results)


def _show_rows(console: Console, results: object) -> None:
    table = Table(title="The last window's answer, first rows", title_justify="left", expand=False)
    rows = results.slice(max(0, results.num_rows - 5)).to_pylist()  # type: ignore[attr-defined]
    if not rows:
        return
    for name in rows[0]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        window = row.pop("window")
        shown = [f"{window['start']:%H:%M:%S.%f}"[:-5] + f" .. {window['end']:%H:%M:%S.%f}"[:-5]]
        table.add_row(
            *shown,
            *(
                f"{v:.2f}" if isinstance(v, float) else f"{v:%H:%M:%S.%f}"[:-3] if hasattr(v, "hour") else str(v)
                for v in row.values()
            ),
        )
    console.print(table)
