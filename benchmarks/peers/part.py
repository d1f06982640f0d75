"""Peers: the Yahoo benchmark and a sliding skyline by other stream processors from PyPI, on the same two cores."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.peers.jobs import SKYLINE, YAHOO, CannotError, Job, expected_views, from_csv, from_parquet
from benchmarks.peers.on_spark import rates_of
from benchmarks.peers.others import PEERS, Peer

LIMIT, OURS, SPARKS = "no-op limit", "skypane", "Spark's F.window"
SHORT, LONG = 1, 3
"""Batches that peers run through; the short run is subtracted: starting and warming up are not what is compared."""


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Records per second of everybody on both jobs; answers are compared first."""
    batches = 4 if quick else 7
    return {"jobs": {job.title: _job(spark, job, batches) for job in (YAHOO, SKYLINE)}}


def _job(spark: SparkSession, job: Job, batches: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    try:
        job.for_spark(folder / "data", batches)
        job.for_peers(folder / "long", LONG)
        job.for_peers(folder / "short", SHORT)
        rates = rates_of(spark, job, folder / "data", folder, batches)
        for name, rate in rates.items():
            _told(name, job, rate)
        ours, sparks = (from_parquet(folder / name / "answers") for name in (OURS, SPARKS))
        if job is YAHOO:
            agree(OURS, job.whole(ours, batches), job.whole(expected_views(batches), batches))
        agree_so_far(SPARKS, job.whole(sparks, batches), job.whole(ours, batches))
        found = {peer.name: _attempt(peer, job, folder, ours) for peer in PEERS}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "batch": job.batch,
        "windows_compared": job.windows(LONG),
        "rates": {**rates, **{name: rate for name, (rate, _) in found.items() if rate is not None}},
        "reasons": {name: why for name, (rate, why) in found.items() if rate is None},
        "share_of_no_op": rates[OURS] / rates[LIMIT],
    }


def _attempt(peer: Peer, job: Job, folder: Path, ours: pa.Table) -> tuple[float | None, str]:
    """Its records per second, or why there are none."""
    try:
        return _told(peer.name, job, _rate(peer, job, folder, ours)), ""
    except CannotError as why:
        _tell(f"{peer.name}, {job.title}: {why}")
        return None, str(why)


def _told(name: str, job: Job, rate: float) -> float:
    """The same, said at once: all of it takes minutes."""
    _tell(f"{name}, {job.title}: {rate:,.0f} records/s")
    return rate


def _tell(words: str) -> None:
    Console().print(words, highlight=False, markup=False)


def _rate(peer: Peer, job: Job, folder: Path, ours: pa.Table) -> float:
    """Between a short and a long run, once the answers of the longest are ours."""
    python, out = peer.python(), folder / peer.program
    if not peer.short_only:
        peer.seconds(python, job.name, folder / "short", out / "first")  # reads what was just installed from the disk
    short_s = peer.seconds(python, job.name, folder / "short", out / "short")
    long_s = 0.0 if peer.short_only else peer.seconds(python, job.name, folder / "long", out / "long")
    name, batches = ("short", SHORT) if peer.short_only else ("long", LONG)
    its = from_csv(out / name, dict(peer.columns).get(job.name))
    agree_so_far(peer.name, job.whole(its, batches), job.whole(ours, batches))
    if peer.short_only:
        return SHORT * job.batch / short_s
    if long_s < 1.1 * short_s:
        raise CannotError(f"{short_s:.0f} s for {SHORT} batch, {long_s:.0f} s for {LONG}: too busy a machine to tell")
    return (LONG - SHORT) * job.batch / (long_s - short_s)


def agree(name: str, its: pa.Table, ours: pa.Table) -> None:
    """An error if the answers are not equal."""
    if not ours.num_rows or not its.equals(ours):
        raise CannotError(f"{name} has {its.num_rows:,} answer rows, not the {ours.num_rows:,} that are right")


def agree_so_far(name: str, its: pa.Table, ours: pa.Table) -> None:
    """The same for one that may leave its last windows open at the end of the stream."""
    starts = sorted(set(ours["start"].to_pylist()))
    last = max(its["start"].to_pylist(), default=0)
    if last < starts[(len(starts) - 1) * 2 // 3]:
        raise CannotError(f"{name} has answered {len(set(its['start'].to_pylist()))} of {len(starts)} windows only")
    agree(name, its, ours.filter(pa.compute.less_equal(ours["start"], last)).combine_chunks())


def tables(found: dict[str, Any]) -> list[Table]:
    """Both jobs side by side; who could not, and why."""
    jobs = found["jobs"]
    titles = ", ".join(
        f"{title}: batches of {one['batch']:,}, {one['windows_compared']} windows compared"
        for title, one in jobs.items()
    )
    shown = Table(title=f"Records per second, the same files, answers equal ({titles})", title_justify="left")
    shown.add_column("program")
    for title in jobs:
        shown.add_column(title, justify="right")
        shown.add_column("skypane is", justify="right")
    names = {name: None for one in jobs.values() for name in (*one["rates"], *one["reasons"])}
    for name in names:
        shown.add_row(name, *(cell for one in jobs.values() for cell in _cells(one, name)))
    return [shown, *_reasons(jobs)]


def _cells(one: dict[str, Any], name: str) -> tuple[str, str]:
    if name not in one["rates"]:
        return "-", ""
    rate, ours = one["rates"][name], one["rates"][OURS]
    return f"{rate:,.0f}", "" if name == OURS else f"{ours / rate:.2f} x"


def _reasons(jobs: dict[str, Any]) -> list[Table]:
    why = Table(title="Who could not", title_justify="left")
    for column in ("program", "job", "reason"):
        why.add_column(column)
    for title, one in jobs.items():
        for name, reason in one["reasons"].items():
            why.add_row(name, title, reason)
    return [why] if why.row_count else []


def plot(found: dict[str, Any], folder: Path) -> None:
    """A bar for each program and job."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, (title, one) in zip(figure.subplots(1, len(found["jobs"])), found["jobs"].items(), strict=True):
        rates = dict(sorted(one["rates"].items(), key=lambda item: item[1]))
        colours = ["tab:blue" if name == OURS else "lightgrey" if name == LIMIT else "tab:grey" for name in rates]
        bars = axes.barh(list(rates), list(rates.values()), color=colours)
        axes.bar_label(bars, labels=[f" {rate:,.0f}" for rate in rates.values()], fontsize=8)
        axes.set_xscale("log")
        axes.set_xlim(right=max(rates.values()) * 12)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("records per second")
    figure.savefig(folder / "peers.png", dpi=120)
