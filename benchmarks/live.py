"""Live skylines: the highest sustainable rate, beside the fourth paper's table II, and how much there is to tell.

Also how the rate falls with attributes (figure 14) and with the life (figure 13), and one hot key on a cluster.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks import hot_key
from benchmarks.cluster import medians_of
from benchmarks.source import DISTRIBUTIONS, bench_stream, draw
from benchmarks.sustainable import lag_stays
from skypane.kernels.lifetimes import lifetimes

MAX_RECORDS = 1_000_000
"""How much there is to tell depends on the records of a life, not on their rate: of more, so many are looked at."""


@dataclass(frozen=True)
class Setting:
    """Points, life, and what the paper has of them."""

    points: int
    life_s: int
    guess: float
    """Records per second: where to begin."""
    attributes: int = 5
    paper_rate: int = 0
    paper_live: int | None = None
    """Rows that may still enter the skyline."""

    @property
    def name(self) -> str:
        """For tables."""
        return f"{DISTRIBUTIONS[self.points]}, {self.life_s} s"


SETTINGS = (
    Setting(0, 10, 250_000, paper_rate=100_000, paper_live=4_296),
    Setting(1, 10, 80_000, paper_rate=80_000),
    Setting(2, 10, 80_000, paper_rate=80_000, paper_live=13_968),
    Setting(3, 60, 400_000, paper_rate=250_000, paper_live=1_308),
)
DIMENSIONS = tuple(
    Setting(0, 30, rate, attributes) for attributes, rate in ((4, 200_000.0), (8, 40_000), (12, 8_000), (16, 4_000))
)
LIVES = tuple(Setting(0, life_s, 150_000) for life_s in (30, 60))


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Paced streams for the paper's settings; the others as fast as they are taken."""
    settings = [replace(one, life_s=10) for one in SETTINGS] if quick else SETTINGS
    swept = [replace(one, life_s=10) for one in DIMENSIONS[:2]] if quick else (*DIMENSIONS, *LIVES)
    found: dict[str, Any] = {"settings": {}, "swept": []}
    for setting in settings:
        rates = {"taken_per_s": taken(spark, setting, setting.guess)}
        if not quick:
            rates["records_per_s"] = _sustained(partial(_keeps_up, spark, setting), setting.guess)
        found["settings"][setting.name] = {**rates, **volumes(setting, 200_000 if quick else MAX_RECORDS)}
    for setting in swept:
        ask = partial(taken, spark, setting)
        rate = ask(setting.guess) if quick else levelled(ask, setting.guess)
        found["swept"].append({"attributes": setting.attributes, "life_s": setting.life_s, "records_per_s": rate})
    found["hot_key"] = hot_key.run(quick)
    return found


def _start(spark: SparkSession, setting: Setting, folder: Path, trigger: str, **stream: float) -> sp.RunningQuery:
    df = bench_stream(spark, attributes=setting.attributes, points=setting.points, **stream)
    return (
        sp.stream(df, time="ts")
        .live(f"{setting.life_s} seconds")
        .skyline(minimize=[f"a{i}" for i in range(setting.attributes)])
        .emit("updates")
        .start(checkpoint=folder / "checkpoint", sink=sp.ParquetSink(folder / "out"), trigger=trigger)
    )


def taken(spark: SparkSession, setting: Setting, rate: float) -> float:
    """Records per second, as fast as they are taken once a life is full; a step has one second of the stream."""
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder:
        query = _start(spark, setting, Path(folder), "0 seconds", rate=rate, batch=int(rate))
        apart_ms = medians_of(query, setting.life_s + 1, 5, ())["apart_ms"]
    return 1e3 * rate / apart_ms


def levelled(ask: Callable[[float], float], guess: float) -> float:
    """The rate of a stream at which as many records are taken as come.

    The more come, the larger the live set, the fewer are taken: by a power law through two measurements.
    """
    first = ask(guess)
    nearer = math.sqrt(guess * first)
    second = ask(nearer)
    falls = -math.log(second / first) / math.log(nearer / guess) if nearer != guess else 0.0
    falls = min(max(falls, 0.0), 2.0)
    return float(math.exp((math.log(second) + falls * math.log(nearer)) / (1 + falls)))


def _sustained(keeps_up: Callable[[float], bool], guess: float) -> float:
    """The highest rate whose lag does not grow, by steps of 15 % up or down from a guess; 0 if none is."""
    step = 1.15 if keeps_up(guess) else 1 / 1.15
    rates = [guess * step**count for count in range(1, 5)]
    if step < 1:
        return next((rate for rate in rates if keeps_up(rate)), 0.0)
    best = guess
    for rate in rates:
        if not keeps_up(rate):
            break
        best = rate
    return best


def _keeps_up(spark: SparkSession, setting: Setting, rate: float) -> bool:
    start = partial(_start, spark, setting, trigger="500 milliseconds", rate=rate)
    return lag_stays(start, 15.0, warm_up_s=setting.life_s + 5.0)


def volumes(setting: Setting, most: int) -> dict[str, float]:
    """Of the second of two lives: updates per record, rows that may still enter per live record, the mean skyline."""
    records = min(setting.paper_rate * setting.life_s, most)
    points = draw(setting.points, np.random.default_rng(4), setting.attributes, 2 * records)
    _, enter, leave = lifetimes(
        np.ascontiguousarray(points.T), np.arange(2 * records), np.array([0, 2 * records]), records
    )
    told = ((enter >= records) & (enter < 2 * records)).sum() + ((leave >= records) & (leave < 2 * records)).sum()
    in_it = np.minimum(leave, 2 * records) - np.maximum(enter, records)
    waiting = leave >= 2 * records
    return {
        "records_per_life": records,
        "updates_per_record": round(float(told) / records, 5),
        "live_rows": int(waiting.sum()),
        "live_share": round(float(waiting.sum()) / records, 5),
        "mean_skyline": round(float(in_it[in_it > 0].sum()) / records, 1),
    }


def tables(found: dict[str, Any]) -> list[Table]:
    """Beside the paper's figures, on twelve cores."""
    return [_settings(found["settings"]), _swept(found["swept"]), *hot_key.tables(found["hot_key"])]


def _settings(found: dict[str, Any]) -> Table:
    table = Table(title="Live skylines, 5 attributes: highest sustainable rate, and rows emitted", title_justify="left")
    columns = (
        "points, life",
        "records/s taken",
        "sustained",
        "paper, 12 cores",
        "ratio",
        "records of a life",
        "rows that may enter",
        "paper",
        "of all",
        "updates per record",
        "mean skyline",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for setting, (name, one) in zip(SETTINGS, found.items(), strict=True):
        rate = one.get("records_per_s")
        table.add_row(
            name,
            f"{one['taken_per_s']:,.0f}",
            "-" if rate is None else f"{rate:,.0f}",
            f"{setting.paper_rate:,}",
            f"{(one['taken_per_s'] if rate is None else rate) / setting.paper_rate:.1f} x",
            f"{one['records_per_life']:,}",
            f"{one['live_rows']:,}",
            "-" if setting.paper_live is None else f"{setting.paper_live:,}",
            f"{one['live_share']:.2%}",
            f"{one['updates_per_record']:.4f}",
            f"{one['mean_skyline']:,.0f}",
        )
    return table


def _swept(found: list[dict[str, Any]]) -> Table:
    table = Table(
        title="Live skylines of independent points: the rate at which as many records are taken as come, by attributes "
        "(figure 14) and by life (figure 13)",
        title_justify="left",
    )
    for column in ("attributes", "life", "records/s"):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(str(one["attributes"]), f"{one['life_s']} s", f"{one['records_per_s']:,.0f}")
    return table
