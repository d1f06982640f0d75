"""Progress: a running query as a small live panel."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from skypane.model.durations import format_duration_us
from skypane.spark.metrics_text import RATE_STEPS, fate, latency, open_panes, rate, warnings, work_lines
from skypane.tables.texts import instant_text

if TYPE_CHECKING:
    from skypane.spark.metrics import Metrics, StepMetrics
    from skypane.spark.query import RunningQuery

_LINE_EVERY_S = 5.0
_FIRST_STEP = "first step: Spark starts its Python workers, which load the compiled kernels"


class ProgressPanel:
    """Render it again and again: each time it shows the query as it is now."""

    def __init__(
        self, query: RunningQuery, title: str, *, live_times: bool, answers_label: str = "windows answered"
    ) -> None:
        self._query = query
        self._title = title
        self._answers_label = answers_label
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
        """One line for logs."""
        metrics = self._query.metrics()
        ledger = metrics.ledger
        running_s = time.monotonic() - self._started
        if metrics.last is None:
            return f"{running_s:4.0f} s  {self._before_the_first_step(metrics)}"
        return (
            f"{running_s:4.0f} s  {rate(metrics.recent):,.0f} records/s, {ledger.delivered:,} so far "
            f"({ledger.late:,} late), {metrics.windows:,} {self._answers_label}"
        )

    def _lines(self, metrics: Metrics) -> list[tuple[str, str]]:
        elapsed = time.monotonic() - self._started
        last = metrics.last
        if last is None:
            return [("running", f"{elapsed:.0f} s"), ("", self._before_the_first_step(metrics))]
        for step in metrics.recent[-RATE_STEPS:]:
            self._windows.update(step.last_windows)
        newest = sorted(self._windows.items())[-6:]
        self._windows = dict(newest)
        ledger = metrics.ledger
        return [
            ("running", f"{elapsed:.0f} s, {metrics.steps} steps, the last took {last.total_ms:.0f} ms"),
            ("records/s", f"{rate(metrics.recent):,.0f}   ({ledger.delivered:,} so far)"),
            ("fate", fate(metrics)),
            ("open panes", open_panes(last)),
            *work_lines(metrics.recent),
            ("watermark", self._watermark(last)),
            *warnings(last),
            *self._answers(metrics, newest[-3:]),
        ]

    def _answers(self, metrics: Metrics, newest: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
        """How many there were; of windows also how long they took, and the last ones."""
        noun, verb = self._answers_label.split()
        if noun != "windows":
            return [(noun, f"{metrics.windows:,} {verb}")]
        shown = "  ".join(f"{_clock(end_us)} {rows:,} rows" for end_us, rows in newest)
        return [(noun, f"{metrics.windows:,} {verb}{latency(metrics.recent)}"), ("last windows", shown or "-")]

    def _before_the_first_step(self, metrics: Metrics) -> str:
        if not self._query.is_active:
            before = f"; {metrics.steps:,} steps were committed before" if metrics.steps else ""
            return f"ended before its first step{before}"
        return _FIRST_STEP if self._query.is_working else "waiting for the first records"

    def _watermark(self, last: StepMetrics) -> str:
        if last.watermark_us is None:
            return "none yet"
        slack = f"slack {format_duration_us(last.slack_us // 1000 * 1000)}"
        if not self._live_times:
            return f"{_clock(last.watermark_us)}   ({slack})"
        lag_s = time.time() - last.watermark_us / 1e6
        return f"{_clock(last.watermark_us)}   ({lag_s:.1f} s behind the clock, {slack})"


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


def _clock(us: int) -> str:
    """The time of day, of years that Python does not know, too."""
    return instant_text(us, None).split()[-1][:-1]
