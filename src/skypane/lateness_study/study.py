"""Lateness study: what each policy costs and loses on one stream, in virtual time, with the real operators.

The stream is cut into steps by arrival, as a source would cut it. A window is answered at the end of the step whose
watermark passes it: its latency runs from the arrival of its first record until then (definition 3 of the first
paper). Computing takes no time here, so that latency is that of waiting alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.latency import first_arrivals_us
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policy import Judgement, Lateness
from skypane.local.engine import Engine, EngineState, StepOutput, held_rows
from skypane.model.ledger import Ledger
from skypane.tables.times import times_us

_HOUR_US = 3_600_000_000


@dataclass(frozen=True)
class Step:
    """The records that arrive within one interval, which ends at ``now_us``."""

    now_us: int
    rows: pa.Table


@dataclass(frozen=True)
class Outcome:
    """How a policy did, after the warm-up."""

    policy: str
    records: int
    late_share: float
    harm_share: float
    """Late records that would have changed an answer, as a share of all records."""
    slack_ms: float
    window_latency_ms: float
    window_latency_p99_ms: float
    pane_latency_ms: float
    """Until the last record of a pane is computed: with in-order processing that is when the pane is sealed."""
    closing_lag_ms: float
    held_rows: float
    """Rows kept for windows to come, on average over the steps."""


def cut_by_arrival(tables: Iterable[pa.Table], arrival: str, interval_us: int) -> Iterator[Step]:
    """Steps of equal length from a stream in order of arrival; intervals without records are passed over."""
    pending: list[pa.Table] = []
    current: int | None = None
    for table in tables:
        slots = times_us(table.column(arrival)) // interval_us
        borders = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
        for low, high in pairwise(borders):
            if high == low:
                continue
            slot = int(slots[low])
            if pending and slot != current:
                yield Step((current or 0) * interval_us + interval_us, pa.concat_tables(pending))
                pending = []
            current = slot
            pending.append(table.slice(low, high - low))
    if pending:
        yield Step((current or 0) * interval_us + interval_us, pa.concat_tables(pending))


class _Tally:
    """Adds up what the steps after the warm-up show."""

    def __init__(self, definition: Definition, arrival: str) -> None:
        self._definition = definition
        self._arrival = arrival
        self._first_us: dict[int, int] = {}
        self.ledger = Ledger()
        self.judged = Judgement()
        self.slack_us: list[int] = []
        self.held: list[int] = []
        self.window_us: list[int] = []
        self.pane_ms: list[float] = []
        self.closing_ms: list[float] = []

    def note_arrivals(self, rows: pa.Table) -> None:
        """Remember when the first record of each pane came."""
        panes = self._definition.window.pane_of(times_us(rows.column(self._definition.time)))
        numbers, first = np.unique(panes, return_index=True)
        arrived = times_us(rows.column(self._arrival))
        for pane, row in zip(numbers.tolist(), first.tolist(), strict=True):
            self._first_us.setdefault(pane, int(arrived[row]))

    def note_windows(self, before: EngineState, after: EngineState, now_us: int, *, warm: bool) -> None:
        """The latencies of the windows that the watermark has passed."""
        until = after.progress.punctuation_us
        if until is None or not self._first_us:
            return
        window, since = self._definition.window, before.progress.punctuation_us
        if warm:
            self.window_us += [now_us - first for first in first_arrivals_us(window, self._first_us, since, until)]
        needed = window.closed_before(until) * window.panes_per_slide
        self._first_us = {pane: first for pane, first in self._first_us.items() if pane >= needed}

    def note(self, policy: Lateness, state: EngineState, output: StepOutput) -> None:
        """Count one step after the warm-up."""
        self.ledger += output.ledger
        self.judged += state.judged
        self.slack_us.append(policy.slack_us(state.progress.policy_state))
        self.held.append(held_rows(state))
        pane_ms, lag_ms = output.latencies.pane_ms, output.latencies.closing_lag_ms
        if pane_ms is not None and lag_ms is not None:
            in_order = self._definition.processing == "in_order"
            self.pane_ms.append(pane_ms + lag_ms if in_order else pane_ms)
            self.closing_ms.append(lag_ms)

    def outcome(self, name: str) -> Outcome:
        """The figures."""
        records = max(1, self.ledger.delivered)
        return Outcome(
            policy=name,
            records=self.ledger.delivered,
            late_share=self.ledger.late / records,
            harm_share=self.judged.harmful / records,
            slack_ms=_mean(self.slack_us) / 1e3,
            window_latency_ms=_mean(self.window_us) / 1e3,
            window_latency_p99_ms=float(np.percentile(self.window_us, 99)) / 1e3 if self.window_us else 0.0,
            pane_latency_ms=_mean(self.pane_ms),
            closing_lag_ms=_mean(self.closing_ms),
            held_rows=_mean(self.held),
        )


def run_policy(
    definition: Definition,
    policy: Lateness,
    steps: Sequence[Step],
    *,
    arrival: str = "arrival",
    warm_up: float = 0.2,
    name: str | None = None,
) -> Outcome:
    """Run one policy over a stream; the first ``warm_up`` share of the steps does not count."""
    engine = Engine(definition, policy, FutureGuard(max(_HOUR_US, 10 * definition.window.reach_us)))
    state, tally = engine.start(), _Tally(definition, arrival)
    for index, step in enumerate(steps):
        before = state
        state, output = engine.step(before, [step.rows], now_us=step.now_us)
        warm = index >= warm_up * len(steps)
        tally.note_arrivals(step.rows)
        tally.note_windows(before, state, step.now_us, warm=warm)
        if warm:
            tally.note(policy, state, output)
    return tally.outcome(name or policy.title)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
