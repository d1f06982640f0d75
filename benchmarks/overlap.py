"""Overlap: what a window costs as windows overlap more, incremental against recomputing, without Spark."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from skypane.flow.definition import Definition
from skypane.flow.panes.lifting import lift_rows
from skypane.flow.windows.emit.names import emission
from skypane.flow.windows.slide.choice import slide_for
from skypane.flow.windows.worker import WindowWorker
from skypane.lateness.progress import Progress
from skypane.model.columns import GROUP, PANE
from skypane.model.windows import WindowSpec
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.tables.rows import together

ATTRIBUTES = 8
BATCH_S = 0.5


def run(quick: bool) -> dict[str, Any]:
    """Records per second that the window stage alone could take, by windows per record (w/s) and strategy."""
    rate = 20_000 if quick else 50_000
    found: dict[str, Any] = {"rate": rate, "attributes": ATTRIBUTES, "rows": []}
    step_seconds(rate, 1, "critical", "changes")  # compiled code is loaded once, before anything is measured
    for overlap in (1, 5, 20, 100, 1000):
        row: dict[str, Any] = {"overlap": overlap}
        for name, slide, emit in (
            ("critical, changes", "critical", "changes"),
            ("critical, full", "critical", "full"),
            ("recompute, full", "recompute", "full"),
        ):
            if (overlap > 100 and emit == "full") or (overlap > 20 and slide == "recompute" and quick):
                continue
            row[name] = rate * BATCH_S / step_seconds(rate, overlap, slide, emit)
        found["rows"].append(row)
    return found


def step_seconds(rate: int, overlap: int, slide: str, emit: str) -> float:
    """The mean time of a window-stage step that takes in half a second of records.

    Tumbling windows close in every other step: a median would pick one of the two kinds.
    """
    window = WindowSpec(1_000_000, 1_000_000 // overlap)
    preferences = Preferences.of([f"a{i}" for i in range(ATTRIBUTES)], ())
    definition = Definition(Skyline(preferences), window, "ts", sliding=slide, emit=emission(emit))
    worker, rng = WindowWorker(definition, slide_for(definition)), np.random.default_rng(3)
    state, before, times = None, Progress(), []
    batch = int(rate * BATCH_S)
    for step in range(7):
        ts = ((step * batch + np.arange(batch)) / rate * 1e6).astype(np.int64)
        columns = {name: rng.random(batch) for name in preferences.attributes}
        rows = pa.table({"ts": ts, **columns, GROUP: np.zeros(batch, np.int32), PANE: window.pane_of(ts)})
        partials = lift_rows(definition, rows)
        after = int(ts[-1]) - 100_000
        started = time.process_time()
        report = worker.advance(state, [partials], before, after)
        times.append(time.process_time() - started)
        state, before = together(report.state.panes), Progress(punctuation_us=after)
    return statistics.mean(times[3:])


def tables(found: dict[str, Any]) -> list[Table]:
    """Strategies side by side."""
    shown = Table(
        title=f"Window stage alone, {found['attributes']} attributes, {found['rate']:,} records/s of event time: "
        "records per second of processor time",
        title_justify="left",
    )
    names = [name for name in found["rows"][0] if name != "overlap"]
    for column in ("w/s", *names):
        shown.add_column(column, justify="right")
    for row in found["rows"]:
        shown.add_row(str(row["overlap"]), *(f"{row[name]:,.0f}" if name in row else "-" for name in names))
    return [shown]


def plot(found: dict[str, Any], folder: Path) -> None:
    """The same as a picture."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name in [name for name in found["rows"][0] if name != "overlap"]:
        points = [(row["overlap"], row[name]) for row in found["rows"] if name in row]
        axes.loglog(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xlabel("windows that overlap (w/s)")
    axes.set_ylabel("records per second, one core")
    axes.set_title("Window stage: cost against overlap")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(folder / "overlap.png", dpi=120)
