"""``make bench``: every benchmark in one run; a table on the terminal, JSON and plots in ``results/``."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
# Spark's workers import the benchmark source by name.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

import skypane as sp  # noqa: E402
from benchmarks import kernels, lateness, memory, overlap, pipeline, strategies, sustainable, traffic  # noqa: E402

RESULTS = ROOT / "results"
PARTS = ("kernels", "traffic", "overlap", "lateness", "pipeline", "strategies", "sustainable", "memory")
SCENARIOS = {
    "8 attributes, slide 200 ms, full": (8, "200 milliseconds", 250_000.0, {}),
    "8 attributes, slide 10 ms, changes": (8, "10 milliseconds", 150_000.0, {"emit": "changes"}),
    "6 attributes, slide 10 ms, changes": (6, "10 milliseconds", 500_000.0, {"emit": "changes"}),
}
ORIGINALS = {
    "8 attributes, slide 200 ms, full": ("BT-PPQ", 25_000.0),
    "8 attributes, slide 10 ms, changes": ("BT-PPQ", 1_500.0),
    "6 attributes, slide 10 ms, changes": ("WindFlow", 50_000.0),
}
"""What the C++ originals sustain on a quiet two-core machine: reference figures, not measured in this run."""
OVERLAPS = {
    5: "200 milliseconds",
    100: "10 milliseconds",
    1000: "1 millisecond",
}
"""Slides of a window of one second, by how many windows overlap."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller inputs and fewer rounds, for a first look")
    parser.add_argument("--only", choices=PARTS, help="one part")
    chosen = parser.parse_args()
    wanted = {chosen.only} if chosen.only else set(PARTS)
    RESULTS.mkdir(exist_ok=True)
    report: dict[str, Any] = {"machine": {"cpus": os.cpu_count(), "python": platform.python_version()}}
    console = Console(width=max(150, Console().width))
    if "kernels" in wanted:
        report["kernels"] = kernels.run(chosen.quick)
    if "traffic" in wanted:
        report["traffic"] = traffic.run(chosen.quick)
    if "overlap" in wanted:
        report["overlap"] = overlap.run(chosen.quick)
        console.print(overlap.table(report["overlap"]))
        overlap.plot(report["overlap"], RESULTS / "overlap.png")
    if "lateness" in wanted:
        report["lateness"] = lateness.run(chosen.quick)
        for table in lateness.tables(report["lateness"]):
            console.print(table)
        lateness.plot(report["lateness"], RESULTS)
    if wanted & {"pipeline", "strategies", "sustainable", "memory"}:
        spark = sp.embedded_session("skypane-bench", cores=2, log_file=ROOT / "logs" / "bench-spark.log")
        if "pipeline" in wanted:
            report["pipeline"] = run_pipeline(spark, chosen.quick)
            console.print(pipeline_table(report["pipeline"]))
        if "strategies" in wanted:
            report["strategies"] = strategies.run(spark, chosen.quick)
            console.print(strategies.table(report["strategies"]))
            strategies.plot(report["strategies"], RESULTS / "strategies.png")
        if "sustainable" in wanted:
            report["sustainable"] = run_sustainable(spark, chosen.quick)
            console.print(sustainable_table(report["sustainable"]))
        if "memory" in wanted:
            report["memory"] = memory.run(spark, chosen.quick)
            for table in memory.tables(report["memory"]):
                console.print(table)
            memory.plot(report["memory"], RESULTS / "memory.png")
        spark.stop()
    path = RESULTS / ("bench.json" if not chosen.only else f"bench-{chosen.only}.json")
    path.write_text(json.dumps(report, indent=1, default=str))
    console.print(f"wrote {path.relative_to(ROOT)}", highlight=False)


def run_pipeline(spark: Any, quick: bool) -> dict[str, Any]:
    """Throughput and trigger times, each beside what it is measured against."""
    batches = 6 if quick else 12
    found: dict[str, Any] = {"scenarios": {}}
    for name, (attributes, slide, rate, how) in SCENARIOS.items():
        measured = pipeline.throughput(spark, attributes, slide, rate, int(rate), batches, **how)
        measured["no_op_records_per_s"] = pipeline.no_op_limit(spark, attributes, int(rate), batches)
        measured["share_of_no_op"] = measured["records_per_s"] / measured["no_op_records_per_s"]
        found["scenarios"][name] = measured
    found["recompute"] = pipeline.throughput(
        spark, 8, "200 milliseconds", 250_000, 125_000, batches, strategy="recompute"
    )
    for slide in ("200 milliseconds",) if quick else ("200 milliseconds", "10 milliseconds"):
        # Each at its best: ours takes three seconds of the stream at a time, the plain solution one.
        ours = pipeline.throughput(spark, 8, slide, 50_000, 150_000, batches, sink=sp.DiscardSink())
        for peer, own_kernel in (("plain PySpark with NumPy", False), ("plain PySpark given our kernel", True)):
            plain = pipeline.plain_pyspark(spark, 8, slide, 50_000, 50_000, own_kernel=own_kernel)
            found[f"{peer}, slide {slide}"] = {
                "plain_records_per_s": plain["records_per_s"],
                "records_per_s": ours["records_per_s"],
                "times_faster": ours["records_per_s"] / plain["records_per_s"],
            }
    found["trigger"] = pipeline.trigger_times(spark, 3 * batches)
    return found


def pipeline_table(found: dict[str, Any]) -> Table:
    """What was measured, and against what."""
    table = Table(title="Pipeline, 2 cores, exactly-once checkpoints, Parquet sink", title_justify="left")
    for column in ("what", "records/s", "against", "ratio", "trigger", "pane", "window", "sink", "commit"):
        table.add_column(column, justify="left" if column in {"what", "against"} else "right")
    for name, m in found["scenarios"].items():
        table.add_row(
            name,
            f"{m['records_per_s']:,.0f}",
            "no-op mapInArrow limit",
            f"{m['share_of_no_op']:.0%}",
            *(f"{m[part]:.0f} ms" for part in ("trigger_ms", "pane_ms", "window_ms", "sink_ms", "commit_ms")),
        )
    for name, m in found.items():
        if name.startswith("plain"):
            table.add_row(
                f"8 attributes, {name.split(', ')[1]}",
                f"{m['records_per_s']:,.0f}",
                name.split(", ")[0],
                f"{m['times_faster']:.1f} x",
            )
    trigger = found["trigger"]
    table.add_row(
        "little data",
        "",
        "empty foreachBatch",
        f"{trigger['little_data_ms'] / trigger['empty_foreach_batch_ms']:.2f} x",
        f"{trigger['little_data_ms']:.0f} ms",
    )
    return table


def run_sustainable(spark: Any, quick: bool) -> dict[str, Any]:
    """Bisection on paced streams."""
    seconds, rounds = (10.0, 3) if quick else (30.0, 5)
    found: dict[str, Any] = {"scenarios": {}, "overlaps": {}}
    for name, (attributes, slide, rate, how) in SCENARIOS.items():
        highest = sustainable.highest_rate(spark, attributes, slide, rate, seconds, rounds, **how)
        limit = pipeline.no_op_limit(spark, attributes, int(rate), 12)
        found["scenarios"][name] = {"records_per_s": highest, "no_op_records_per_s": limit}
    for windows, slide in OVERLAPS.items():
        found["overlaps"][windows] = sustainable.highest_rate(
            spark, 8, slide, 150_000.0, seconds, rounds, emit="changes"
        )
    return found


def sustainable_table(found: dict[str, Any]) -> Table:
    """Beside the C++ originals' reference figures, the limit of this run, and less overlap."""
    table = Table(title="Highest sustainable rate (bisection, lag does not grow)", title_justify="left")
    for column in ("what", "records/s", "C++ original (reference)", "ratio", "of the no-op mapInArrow limit"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, measured in found["scenarios"].items():
        original, reference = ORIGINALS[name]
        rate = measured["records_per_s"]
        share = rate / measured["no_op_records_per_s"]
        table.add_row(name, f"{rate:,.0f}", f"{original} {reference:,.0f}", f"{rate / reference:.1f} x", f"{share:.0%}")
    least = found["overlaps"][min(found["overlaps"])]
    for windows, rate in found["overlaps"].items():
        table.add_row(f"8 attributes, w/s = {windows}, changes", f"{rate:,.0f}", "w/s = 5", f"{rate / least:.2f} x")
    return table


if __name__ == "__main__":
    main()
