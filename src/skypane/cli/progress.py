"""Progress: a running query as a small live panel."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from skypane.model.durations import format_duration_us
from skypane.tables.texts import instant_text

if TYPE_CHECKING:
    from skypane.spark.metrics import Metrics, StepMetrics
    from skypane.spark.query import RunningQuery

_RATE_STEPS = 6
_SPARKS = 24
_BARS = "▁▂▃▄▅▆▇█"
_LINE_EVERY_S = 5.0
_FIRST_STEP = "first step: Spark starts its Python workers, which load the compiled kernels"
_BUSY = {
    "pane_utilization": "pane {:.0%} busy",
    "window_utilization": "window {:.0%} busy",
    "idle_share": "slots {:.0%} idle",
}
_SPLIT = {
    "splitting_factor": "{:.1f} shards per pane",
    "imbalance": "imbalance {:.1f}",
    "selected_per_pane": "{:,.0f} rows each",
}


class ProgressPanel:
    """Render it again and again: each time it shows the query as it is now."""

    def __init__(self, query: RunningQuery, title: str, *, live_times: bool, told: str = "windows answered") -> None:
        self._query = query
        self._title = title
        self._told = told
        self._live_times = live_times
        self._started = time.monotonic()
        self._windows: dict[int, int] = {}

    def __rich__(self) -> Panel:
        metrics = self._query.metrics()
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold cyan", justify="right")
        grid.add_column()
        for name, text in self._lines(metrics):
            grid.add_row(name, text)
        return Panel(grid, title=self._title, title_align="left", border_style="cyan", expand=False, width=100)

    def line(self) -> str:
        """The essence, for logs."""
        metrics = self._query.metrics()
        ledger = metrics.ledger
        running_s, rate = time.monotonic() - self._started, _rate(metrics.recent)
        if metrics.last is None:
            return f"{running_s:4.0f} s  {self._before_the_first_step()}"
        return (
            f"{running_s:4.0f} s  {rate:,.0f} records/s, {ledger.delivered:,} so far ({ledger.late:,} late), "
            f"{metrics.windows:,} {self._told}"
        )

    def _lines(self, metrics: Metrics) -> list[tuple[str, str]]:
        elapsed = time.monotonic() - self._started
        last = metrics.last
        if last is None:
            return [("running", f"{elapsed:.0f} s"), ("", self._before_the_first_step())]
        for step in metrics.recent[-_RATE_STEPS:]:
            self._windows.update(step.last_windows)
        newest = sorted(self._windows.items())[-6:]
        self._windows = dict(newest)
        ledger = metrics.ledger
        return [
            ("running", f"{elapsed:.0f} s, {metrics.steps} steps, the last took {last.total_ms:.0f} ms"),
            ("records/s", f"{_rate(metrics.recent):,.0f}   ({ledger.delivered:,} so far)"),
            ("fate", _fate(metrics)),
            (
                "open panes",
                f"{last.open_panes:,}   ({last.state_rows:,} rows, {last.state_bytes / 1e6:.1f} MB of state)",
            ),
            ("stages", _means(metrics.recent, _BUSY)),
            ("panes", _means(metrics.recent, _SPLIT)),
            *([("degrees", degrees_text(metrics.recent))] if last.elastic else []),
            *([("warning", last.elastic.limit)] if last.elastic and last.elastic.limit else []),
            ("punctuation", self._punctuation(last)),
            *([("warning", last.slack_warning)] if last.slack_warning else []),
            *self._answers(metrics, newest[-3:]),
        ]

    def _answers(self, metrics: Metrics, newest: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
        """How many there were; of windows also how long they took, and the last ones."""
        noun, verb = self._told.split()
        if noun != "windows":
            return [(noun, f"{metrics.windows:,} {verb}")]
        shown = "  ".join(f"{_clock(end_us)} {rows:,} rows" for end_us, rows in newest)
        return [(noun, f"{metrics.windows:,} {verb}{_latency(metrics.recent)}"), ("last windows", shown or "-")]

    def _before_the_first_step(self) -> str:
        if not self._query.is_active:
            return "ended before its first step"
        return _FIRST_STEP if self._query.is_working else "waiting for the first records"

    def _punctuation(self, last: StepMetrics) -> str:
        if last.punctuation_us is None:
            return "none yet"
        slack = f"slack {format_duration_us(last.slack_us // 1000 * 1000)}"
        if not self._live_times:
            return f"{_clock(last.punctuation_us)}   ({slack})"
        lag_s = time.time() - last.punctuation_us / 1e6
        return f"{_clock(last.punctuation_us)}   ({lag_s:.1f} s behind the clock, {slack})"


@contextmanager
def watching(console: Console, panel: ProgressPanel) -> Iterator[None]:
    """Keep the panel on the screen; where there is no screen (a pipe, a log), print a line now and then."""
    if console.is_terminal:
        with Live(panel, console=console, refresh_per_second=4):
            yield
        return
    done = threading.Event()

    def report() -> None:
        while not done.wait(_LINE_EVERY_S):
            console.print(panel.line(), highlight=False, soft_wrap=True)

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()


def _fate(metrics: Metrics) -> str:
    """What became of the records."""
    ledger = metrics.ledger
    held = f", {ledger.held:,} held" if ledger.held else ""
    return f"{ledger.accepted:,} accepted, {_late(metrics)}, {ledger.quarantined:,} quarantined{held}"


def _late(metrics: Metrics) -> str:
    """How many are late, and what it matters where that is known."""
    judged = metrics.judged
    return f"{metrics.ledger.late:,} late" + (f" ({judged.harmful:,} harmful)" if judged.late else "")


def _latency(steps: tuple[StepMetrics, ...]) -> str:
    """From the first record of a window to its answer, in the last step that answered any."""
    known = [step.window_latency_ms for step in steps[-_RATE_STEPS:] if step.window_latency_ms is not None]
    return f", {known[-1] / 1e3:.1f} s after their first record" if known else ""


def _rate(steps: tuple[StepMetrics, ...]) -> float:
    """Records per second over the last few steps, by when they were committed; of a first step, while it took."""
    recent = steps[-_RATE_STEPS - 1 :]
    if len(recent) == 1 and recent[0].total_ms > 0:
        return recent[0].records / recent[0].total_ms * 1e3
    if len(recent) < 2:
        return 0.0
    seconds = recent[-1].committed_at - recent[0].committed_at
    return sum(step.records for step in recent[1:]) / seconds if seconds > 0 else 0.0


def _means(steps: tuple[StepMetrics, ...], shown: Mapping[str, str]) -> str:
    """Some metrics in words, each a mean over the last few batches that have it."""
    recent = [step for step in steps if step.pane_tasks][-_RATE_STEPS:]
    texts = []
    for name, text in shown.items():
        values = [value for step in recent if (value := getattr(step, name)) is not None]
        if values:
            texts.append(text.format(sum(values) / len(values)))
    return ", ".join(texts) or "-"


def degrees_text(steps: Sequence[StepMetrics]) -> str:
    """Degrees that follow the load: how they went, what they are, what they were decided from."""
    last = steps[-1]
    assert last.elastic is not None
    shown = sparkline([max(step.pane_degree or 1, step.window_degree) for step in steps[-_SPARKS:]])
    parts = [f"{shown} {last.pane_degree} pane, {last.window_degree} window"]
    if last.executors is not None:
        parts.append(f"{last.executors} executors")
    if last.elastic.rho_panes is not None and last.elastic.rho_windows is not None:
        parts.append(f"utilization {last.elastic.rho_panes:.2f} and {last.elastic.rho_windows:.2f}")
    if last.elastic.backlog_ms:
        parts.append(f"{last.elastic.backlog_ms / 1e3:.1f} s of work wait")
    return ", ".join(parts)


def sparkline(values: Sequence[int]) -> str:
    """Numbers as bars from 0 on; the highest has the highest bar."""
    most = max(values, default=0)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1))] if most > 0 else _BARS[0] for value in values)


def _clock(us: int) -> str:
    """The time of day, of years that Python does not know, too."""
    return instant_text(us, None).split()[-1][:-1]
