"""Metrics in words: a few lines for people, of which the progress panel of the command line shows some, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from skypane.model.durations import format_duration_us
from skypane.tables.texts import instant_text

if TYPE_CHECKING:
    from skypane.spark.metrics import Metrics, StepMetrics

RATE_STEPS = 6
"""Rates and means are of so many steps."""
_SPARKS = 24
_BARS = "▁▂▃▄▅▆▇█"
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
_AT_REST = {"idle", "flush"}
"""Steps that the clock decides: no batch is there, so nothing waits."""
_PARTS = {"pane_ms": "panes", "window_ms": "windows", "sink_ms": "sink", "commit_ms": "commit"}


def metrics_text(metrics: Metrics) -> str:
    """A query so far, in the form of ``explain()``."""
    lines = [
        ("steps", _steps(metrics)),
        ("records", f"{metrics.delivered:,} so far: {fate(metrics)}"),
        *_reasons(metrics),
        *([("records/s", f"{rate(metrics.recent):,.0f}")] if metrics.last else []),
        ("answers", f"{metrics.windows:,}{latency(metrics.recent)}"),
        *([("failed", f"{metrics.failed:,} windows set aside, since a function failed")] if metrics.failed else []),
        *(_now(metrics.last, metrics.recent) if metrics.last else []),
    ]
    return "\n".join(f"{name:14}{text}" for name, text in lines)


def _steps(metrics: Metrics) -> str:
    if not metrics.steps:
        return "none yet"
    if (last := metrics.last) is None:
        return f"{metrics.steps:,}, none of them in this run"
    parts = ", ".join(f"{part} {getattr(last, name):.0f} ms" for name, part in _PARTS.items())
    return f"{metrics.steps:,}, the last took {last.total_ms:,.0f} ms: {parts}"


def _reasons(metrics: Metrics) -> list[tuple[str, str]]:
    """Why records could not be used."""
    reasons = metrics.ledger.quarantined_by_reason
    shown = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()) if count)
    return [("quarantined", shown)] if shown else []


def _now(last: StepMetrics, recent: Sequence[StepMetrics]) -> list[tuple[str, str]]:
    """The state of the query after the last step."""
    slack = format_duration_us(last.slack_us // 1000 * 1000)
    until = "none yet" if last.watermark_us is None else f"{instant_text(last.watermark_us, None)}, slack {slack}"
    ids = [("known ids", f"{last.known_ids:,}")] if last.known_ids else []
    return [("watermark", until), ("open panes", open_panes(last)), *ids, *work_lines(recent), *warnings(last)]


def warnings(last: StepMetrics) -> list[tuple[str, str]]:
    """Warnings of the last step."""
    texts = (last.elastic.limit if last.elastic else None, last.slack_warning)
    return [("warning", text) for text in texts if text]


def work_lines(recent: Sequence[StepMetrics]) -> list[tuple[str, str]]:
    """Lines about the work of both stages."""
    lines = [("stages", _means(recent, _BUSY)), ("panes", _means(recent, _SPLIT))]
    return [*lines, *_added_up(recent), *([("degrees", degrees_text(recent))] if recent[-1].elastic else [])]


def _added_up(steps: Sequence[StepMetrics]) -> list[tuple[str, str]]:
    """Which part of the last few batches never reached Python record by record."""
    recent = [step for step in steps if step.records][-RATE_STEPS:]
    share = sum(step.condensed for step in recent) / max(1, sum(step.records for step in recent))
    return [("added up", f"{share:.0%} of the last records by Spark, of which Python gets the sums")] if share else []


def open_panes(last: StepMetrics) -> str:
    """The size of the state."""
    return f"{last.open_panes:,}   ({last.state_rows:,} rows, {last.state_bytes / 1e6:.1f} MB of state)"


def fate(metrics: Metrics) -> str:
    """How many records were accepted, late, quarantined, duplicates and held."""
    ledger = metrics.ledger
    copies = f", {ledger.duplicate:,} duplicate" if ledger.duplicate else ""
    held = f", {ledger.held:,} held" if ledger.held else ""
    return f"{ledger.accepted:,} accepted, {_late(metrics)}, {ledger.quarantined:,} quarantined{copies}{held}"


def _late(metrics: Metrics) -> str:
    """How many records are late, and how many of them harmful, if they are judged."""
    judged = metrics.judged
    return f"{metrics.ledger.late:,} late" + (f" ({judged.harmful:,} harmful)" if judged.late else "")


def latency(steps: Sequence[StepMetrics]) -> str:
    """From the first record of a window to its answer, in the last step that answered any."""
    known = [step.window_latency_ms for step in steps[-RATE_STEPS:] if step.window_latency_ms is not None]
    return f", {known[-1] / 1e3:.1f} s after their first record" if known else ""


def rate(steps: Sequence[StepMetrics]) -> float:
    """Records per second over the last few steps, by when they were committed; of a first step, while it took."""
    recent = steps[-RATE_STEPS - 1 :]
    if len(recent) == 1 and recent[0].total_ms > 0:
        return recent[0].records / recent[0].total_ms * 1e3
    if len(recent) < 2:
        return 0.0
    seconds = recent[-1].committed_at - recent[0].committed_at
    return sum(step.records for step in recent[1:]) / seconds if seconds > 0 else 0.0


def _means(steps: Sequence[StepMetrics], shown: Mapping[str, str]) -> str:
    """Some metrics in words, each a mean over the last few batches that have it."""
    recent = [step for step in steps if step.pane_tasks][-RATE_STEPS:]
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
    if last.elastic.backlog_ms and last.kind not in _AT_REST:
        parts.append(f"{last.elastic.backlog_ms / 1e3:.1f} s of work wait")
    return ", ".join(parts)


def sparkline(values: Sequence[int]) -> str:
    """Numbers as bars from 0 on; the highest has the highest bar."""
    most = max(values, default=0)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1))] if most > 0 else _BARS[0] for value in values)
