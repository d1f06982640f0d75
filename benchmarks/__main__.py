"""``make bench``: every benchmark in one run; a table on the terminal, JSON and plots in ``results/``."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console

ROOT = Path(__file__).parents[1]
# Spark's workers import the benchmark source by name.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

MISSING = [name for name in ("moocore", "paretoset", "psutil", "skypane_lab") if importlib.util.find_spec(name) is None]
if MISSING:
    sys.exit(
        f"The benchmarks need {', '.join(MISSING)}. Run `make bench` once: it installs the extra 'bench' and the lab."
    )

import skypane as sp  # noqa: E402
from benchmarks import (  # noqa: E402
    elastic,
    elastic_spark,
    kernels,
    lateness,
    live,
    memory,
    one_key,
    overlap,
    pipeline,
    plans,
    rows,
    strategies,
    sustainable,
    traffic,
    windows,
)
from benchmarks.peers import part as peers  # noqa: E402

RESULTS = ROOT / "results"
PURE: dict[str, ModuleType] = {
    "kernels": kernels,
    "traffic": traffic,
    "overlap": overlap,
    "lateness": lateness,
    "one_key": one_key,
    "elastic": elastic,
}
"""Each has ``run(quick)``, ``tables(found)``, and perhaps ``plot(found, folder)``."""
ON_SPARK: dict[str, ModuleType] = {
    "pipeline": pipeline,
    "rows": rows,
    "windows": windows,
    "plans": plans,
    "peers": peers,
    "strategies": strategies,
    "sustainable": sustainable,
    "live": live,
    "elastic_spark": elastic_spark,
    "memory": memory,
}
"""The same with ``run(spark, quick)``."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller inputs and fewer rounds, for a first look")
    names = sorted({*PURE, *ON_SPARK, *(name.removesuffix("_spark") for name in ON_SPARK)})
    parser.add_argument("--only", choices=names, help="one part; NAME_spark belongs to NAME")
    chosen = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / ("bench.json" if not chosen.only else f"bench-{chosen.only}.json")
    report: dict[str, Any] = {"machine": {"cpus": os.cpu_count(), "python": platform.python_version()}}
    console = Console(width=max(150, Console().width))
    for name in parts(PURE, chosen.only):
        report[name] = PURE[name].run(chosen.quick)
        show(console, PURE[name], name, report, path)
    on_spark = parts(ON_SPARK, chosen.only)
    if on_spark:
        log = ROOT / "logs" / "bench-spark.log"
        # Plain programs that keep all records of all keys need more than Spark's one gibibyte.
        spark = sp.embedded_session("skypane-bench", cores=2, log_file=log, options={"spark.driver.memory": "4g"})
        for name in on_spark:
            report[name] = ON_SPARK[name].run(spark, chosen.quick)
            show(console, ON_SPARK[name], name, report, path)
        spark.stop()
    console.print(f"wrote {path.relative_to(ROOT)}", highlight=False)


def parts(known: dict[str, ModuleType], only: str | None) -> list[str]:
    """All, or the one that is wanted."""
    return [name for name in known if only is None or name in (only, f"{only}_spark")]


def show(console: Console, part: ModuleType, name: str, report: dict[str, Any], path: Path) -> None:
    """Tables, plots, and the report as far as it goes: a later part may take long, or fail."""
    for table in part.tables(report[name]):
        console.print(table)
    if hasattr(part, "plot"):
        part.plot(report[name], RESULTS)
    path.write_text(json.dumps(report, indent=1, default=str))


if __name__ == "__main__":
    main()
