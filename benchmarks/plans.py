"""Plans: ten workloads in every tree of patterns; what is planned against the fastest of them."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import skypane as sp
from benchmarks.medians import SCHEMA, medians
from benchmarks.windows import START_US
from skypane.cli.explore import Exploration, exploration, run_once, step_ms
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.patterns.exploration import Explored, rank_correlation

ATTRIBUTES = 6
NAMES = [f"a{i}" for i in range(ATTRIBUTES)]
NEAR = 1.15
"""Of the fastest tree: what is planned should be within."""
PLANNED = "as planned"
CONTENDERS = 2
"""Trees that are measured again: the fastest one may have been lucky."""
_PAYLOAD = ["".join(chr(97 + (i * 7 + j) % 26) for j in range(200)) for i in range(50)]


class Workload(NamedTuple):
    """A stream, and what is asked of it."""

    ask: Callable[[sp.Stream], Any]
    keys: int = 1
    records: int = 100_000
    """In each step."""
    seconds: float = 10.0
    """Of the stream in each step."""
    skew: float = 0.0
    """Exponent of Zipf's law; 0: all keys alike."""
    payload: int = 0
    """Columns of 200 characters."""


def counted(windows: Any) -> Any:
    """Count, maximum and mean."""
    return windows.aggregate(n="count", hi="max(a0)", mean="mean(a1)")


WORKLOADS: dict[str, Workload] = {
    "many keys": Workload(lambda s: counted(s.window("1 minute", slide="10 seconds")), keys=20_000),
    "one key": Workload(lambda s: s.window("10 seconds", slide="1 second").top_k(20, score="a0 + a1")),
    "tumbling": Workload(lambda s: counted(s.window("5 seconds")), keys=1_000),
    "overlap 100": Workload(lambda s: counted(s.window("10 seconds", slide="100 milliseconds")), keys=100),
    "tiny panes": Workload(
        lambda s: s.window("1 second", slide="10 milliseconds").skyline(minimize=NAMES[:4]), keys=4, seconds=2
    ),
    "non-decomposable": Workload(lambda s: s.window("10 seconds", slide="1 second").apply(medians, SCHEMA), seconds=5),
    "skewed keys": Workload(
        lambda s: s.window("5 seconds", slide="1 second").skyline(minimize=NAMES), keys=100, skew=1.5, seconds=5
    ),
    "count windows": Workload(lambda s: counted(s.window_rows(1_000, slide=100)), keys=200),
    "large payload": Workload(
        lambda s: s.window("10 seconds", slide="1 second").top_k(50, score="a0"), keys=100, records=20_000, payload=10
    ),
    "small trickle": Workload(
        lambda s: s.window("10 seconds", slide="1 second").skyline(minimize=NAMES[:2]), keys=5, records=200
    ),
}


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Each workload in every tree; then as it is planned and in the fastest trees, which take turns.

    The fastest of several measurements is one that luck has helped. So whoever is compared is measured anew.
    """
    steps, rounds = (9, 1) if quick else (11, 3)
    console, found = Console(quiet=True), {}
    for name, workload in WORKLOADS.items():
        folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
        try:
            write_records(folder / "in", workload, steps)
            key = "key" if workload.keys > 1 else None
            asked = workload.ask(sp.stream(records(spark, folder / "in"), time="ts", key=key))
            explored = exploration(asked, (), console)
            found[name] = summary(explored, contest(asked, fastest(explored), rounds))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(name, {how: round(ms) for how, ms in found[name]["contest_ms"].items()}, file=sys.stderr, flush=True)
    return found


def fastest(explored: Exploration) -> list[Pattern]:
    """The two that were, of trees that do different things with that load."""
    best: dict[float, Explored] = {}
    for each in sorted(explored.explored, key=lambda each: each.measured_ms):
        best.setdefault(round(each.predicted_ms, 3), each)
    return [each.tree for each in list(best.values())[:CONTENDERS]]


def contest(asked: Any, trees: Sequence[Pattern], rounds: int) -> dict[str, float]:
    """The median round of each, and of what is planned: a warm step in milliseconds."""
    ways = {PLANNED: asked, **{str(tree): asked.parallel(pattern=tree) for tree in trees}}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            took[name].append(step_ms(run_once(way)))
    return {name: median(times) for name, times in took.items()}


def write_records(folder: Path, workload: Workload, steps: int) -> None:
    """Two files for each step, in order of time."""
    folder.mkdir()
    rng, span_us = np.random.default_rng(7), int(workload.seconds * 1e6)
    weights = np.arange(1, workload.keys + 1, dtype=float) ** -workload.skew
    for part in range(2 * steps):
        count = workload.records // 2
        happened = START_US + part * span_us // 2 + np.sort(rng.integers(0, span_us // 2, count))
        columns: dict[str, Any] = {"ts": pa.array(happened, pa.timestamp("us", "UTC"))}
        columns["key"] = rng.choice(workload.keys, count, p=weights / weights.sum())
        columns |= {name: rng.random(count) for name in NAMES}
        columns |= {f"p{i}": pa.array(np.take(_PAYLOAD, rng.integers(0, 50, count))) for i in range(workload.payload)}
        pq.write_table(pa.table(columns), folder / f"{part:03d}.parquet")


def records(spark: SparkSession, folder: Path) -> DataFrame:
    """The files as a stream, two a batch."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(folder))


def summary(explored: Exploration, contest_ms: dict[str, float]) -> dict[str, Any]:
    """The trees, those alike as one: they do the same on Spark with that load."""
    alike: dict[float, list[Explored]] = {}
    for each in explored.explored:
        alike.setdefault(round(each.predicted_ms, 3), []).append(each)
    trees = {name: ms for name, ms in contest_ms.items() if name != PLANNED}
    best = min(trees, key=trees.__getitem__)
    return {
        "classes": [
            {
                "trees": [str(each.tree) for each in same],
                "predicted_ms": predicted,
                "measured_ms": float(np.mean([each.measured_ms for each in same])),
            }
            for predicted, same in alike.items()
        ],
        "chosen": str(explored.chosen),
        "contest_ms": contest_ms,
        "fastest": best,
        "against_fastest": contest_ms[PLANNED] / trees[best],
        "took_ms": {str(each.tree): each.measured_ms for each in explored.explored},
    }


def agreement(classes: list[dict[str, Any]]) -> float | None:
    """Rank correlation of predicted and measured."""
    return rank_correlation([Explored(each["trees"][0], each["predicted_ms"], each["measured_ms"]) for each in classes])


def tables(found: dict[str, Any]) -> list[Table]:
    """A row for each workload."""
    near = sum(each["against_fastest"] <= NEAR for each in found.values())
    pooled = agreement([one for each in found.values() for one in each["classes"]])
    shown = Table(
        title=f"A step as planned and in the fastest tree: within {NEAR - 1:.0%} on {near} of {len(found)}"
        f" workloads; rank correlation of all predictions {pooled or 0:.2f}",
        title_justify="left",
    )
    for column in (
        "workload",
        "planned",
        "amounts to",
        "fastest tree",
        "took",
        "planned / fastest",
        "rank correlation",
    ):
        shown.add_column(column, justify="left" if column in ("workload", "amounts to", "fastest tree") else "right")
    for name, each in found.items():
        agreed = agreement(each["classes"])
        shown.add_row(
            name,
            f"{each['contest_ms'][PLANNED]:,.0f} ms",
            each["chosen"],
            each["fastest"],
            f"{each['contest_ms'][each['fastest']]:,.0f} ms",
            f"{each['against_fastest']:.2f}",
            "-" if agreed is None else f"{agreed:.2f}",
        )
    return [shown]
