"""Paper 1, figures 9 and 10: records as they come, or sorted first; and how many panes are open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skypane.model.windows import WindowSpec
from skypane_lab.arrivals import ArrivalTable
from skypane_lab.figures.panes import scenario
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.scenario import Scenario

_DELAYS_MS = (0, 50, 100, 200, 500, 1_000)
_DEGREE = 6


def in_order_or_not() -> Figure:
    """9: latency and records held, with records taken as they come and with records sorted by K-slack first."""
    rows, columns = [], []
    for delay_ms in _DELAYS_MS:
        plain = replace(
            scenario(6_000.0), mean_delay_us=delay_ms * 1_000, duration_s=90.0, warm_up_s=10.0, slice_us=10_000
        )
        ordered = replace(plain, in_order=True)
        out_of_order, in_order = plain.panes("tuple_rr", _DEGREE), ordered.panes("tuple_rr", _DEGREE)
        buffered = _buffered(plain.table(), ordered.table())
        held = np.mean([sample.held + sample.waiting for sample in out_of_order.samples])
        sorted_held = np.mean([sample.held + sample.waiting for sample in in_order.samples])
        # What waits in the buffer delays the pane from its first record on: count from there.
        first = {pane.pane: pane.first_us for pane in out_of_order.panes}
        warm = [p for p in in_order.panes if p.records and p.closed_us >= 10e6]
        in_order_us = float(np.mean([p.computed_us - first[p.pane] for p in warm]))
        latencies = (out_of_order.latency_us / 1e3, in_order_us / 1e3, out_of_order.closing_lag_us / 1e3)
        columns.append((*latencies, float(held), buffered, float(sorted_held)))
        rows.append([f"{delay_ms}", *(f"{value:,.0f}" for value in columns[-1]), f"{plain.table().dropped:,}"])
    ooo, ordered_ms, lag, held_line, buffer_line, sorted_line = (list(line) for line in zip(*columns, strict=True))
    panels = [
        Panel(
            "pane latency",
            "mean delay, ms",
            "ms",
            list(_DELAYS_MS),
            {"as they come": ooo, "sorted first": ordered_ms, "closing lag": lag},
        ),
        Panel(
            "records in the stage",
            "mean delay, ms",
            "records",
            list(_DELAYS_MS),
            {"as they come": held_line, "sorted: buffer": buffer_line, "sorted: workers": sorted_line},
        ),
    ]
    header = ["mean delay, ms", "as they come, ms", "sorted first, ms", "closing lag, ms", "records as they come"]
    header += ["sorted: buffered", "sorted: at workers", "late records"]
    return Figure(f"Fig. 9: high burstiness, tuple_rr with {_DEGREE} workers", panels, header, rows)


def _buffered(arriving: ArrivalTable, released: ArrivalTable) -> float:
    """Mean number of records that came and were not let go yet."""
    slices = len(arriving.punctuation_us)
    came, left = (
        np.cumsum(np.bincount(table.slices, weights=table.counts, minlength=slices)) for table in (arriving, released)
    )
    return float(np.mean(came - left))


def open_panes() -> Figure:
    """10: panes that are open at the same time, by delay and pane length."""
    lengths_ms = (10, 20, 50, 100, 200)
    lines: dict[str, list[float | None]] = {f"panes of {length} ms": [] for length in lengths_ms}
    rows = []
    for delay_ms in _DELAYS_MS:
        cells = []
        for length in lengths_ms:
            stream = Scenario(
                rate=20_000.0,
                dispersion=1_000.0,
                window=WindowSpec(1_000_000, length * 1_000),
                mean_delay_us=delay_ms * 1_000,
                duration_s=30.0,
                warm_up_s=5.0,
            )
            value = _mean_open(stream.table())
            lines[f"panes of {length} ms"].append(value)
            cells.append(f"{value:.1f}")
        rows.append([f"{delay_ms}", *cells])
    panel = Panel("panes open at once", "mean delay, ms", "panes", list(_DELAYS_MS), lines)
    return Figure("Fig. 10: open panes", [panel], ["mean delay, ms", *lines], rows)


def _mean_open(table: ArrivalTable) -> float:
    newest = np.zeros(len(table.punctuation_us), dtype=np.int64)
    np.maximum.at(newest, table.slices, table.panes)
    newest = np.maximum.accumulate(newest)
    warm = slice(len(newest) // 6, len(newest) * 9 // 10)
    return float(np.mean((newest - table.punctuation_us // table.pane_us + 1)[warm]))
