"""Live skylines: the highest sustainable rate, beside the fourth paper's table II, and how much there is to tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.source import DISTRIBUTIONS, bench_stream, draw
from benchmarks.sustainable import bisected, lag_stays
from skypane.kernels.lifetimes import lifetimes

ATTRIBUTES = 5
MOST_RECORDS = 1_000_000
"""How much there is to tell depends on the records of a life, not on their rate: of more, so many are looked at."""


@dataclass(frozen=True)
class Setting:
    """Points, life, and what the paper has of them."""

    points: int
    life_s: int
    paper_rate: int
    paper_live: int | None
    """Rows that may still enter the skyline."""

    @property
    def name(self) -> str:
        """For tables."""
        return f"{DISTRIBUTIONS[self.points]}, {self.life_s} s"


SETTINGS = (
    Setting(0, 10, 100_000, 4_296),
    Setting(1, 10, 80_000, None),
    Setting(2, 10, 80_000, 13_968),
    Setting(3, 60, 250_000, 1_308),
)


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Bisection on paced streams; volumes from the closed form on one table."""
    seconds, rounds = (8.0, 2) if quick else (30.0, 5)
    found: dict[str, Any] = {}
    for setting in SETTINGS:
        highest = bisected(partial(_keeps_up, spark, setting, seconds), setting.paper_rate, rounds)
        found[setting.name] = {"records_per_s": highest, **volumes(setting, 200_000 if quick else MOST_RECORDS)}
    return found


def _keeps_up(spark: SparkSession, setting: Setting, seconds: float, rate: float) -> bool:
    df = bench_stream(spark, rate=rate, attributes=ATTRIBUTES, points=setting.points)

    def start(folder: Path) -> sp.RunningQuery:
        return (
            sp.stream(df, time="ts")
            .live(f"{setting.life_s} seconds")
            .skyline(minimize=[f"a{i}" for i in range(ATTRIBUTES)])
            .start(checkpoint=folder / "checkpoint", sink=sp.ParquetSink(folder / "out"), emit="updates")
        )

    return lag_stays(start, seconds, warm_up_s=setting.life_s + 5.0)


def volumes(setting: Setting, most: int) -> dict[str, float]:
    """Of the second of two lives: updates per record, rows that may still enter per live record, the mean skyline."""
    records = min(setting.paper_rate * setting.life_s, most)
    points = draw(setting.points, np.random.default_rng(4), ATTRIBUTES, 2 * records)
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
    table = Table(
        title="Live skylines, 5 attributes: highest sustainable rate, and how much is told", title_justify="left"
    )
    columns = (
        "points, life",
        "records/s",
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
    for setting in SETTINGS:
        one = found[setting.name]
        rate = one["records_per_s"]
        table.add_row(
            setting.name,
            f"{rate:,.0f}",
            f"{setting.paper_rate:,}",
            f"{rate / setting.paper_rate:.1f} x",
            f"{one['records_per_life']:,}",
            f"{one['live_rows']:,}",
            "-" if setting.paper_live is None else f"{setting.paper_live:,}",
            f"{one['live_share']:.2%}",
            f"{one['updates_per_record']:.4f}",
            f"{one['mean_skyline']:,.0f}",
        )
    return [table]
