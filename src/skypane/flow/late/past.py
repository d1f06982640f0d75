"""Past: sealed panes that are kept so that late records can be judged, or correct answers that were given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.revisions import WINDOW_ID
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray
from skypane.model.panes import PaneRange


@dataclass(frozen=True)
class Past:
    """What is kept of sealed panes, as far as this step's late records need it."""

    panes: pa.Table | None = None
    """Partial rows of sealed panes; a pane may have rows of several steps."""
    revisions: pa.Table | None = None
    """Which windows were answered again, and how often."""


def in_range(rows: pa.Table, panes: PaneRange) -> pa.Table:
    """The rows of these panes."""
    pane = rows.column(PANE).to_numpy()
    inside = (pane >= panes.first) & (pane < panes.end)
    return rows if inside.all() else rows.filter(pa.array(inside))


def forget_panes(definition: Definition, rows: pa.Table | None, punctuation_us: int | None) -> pa.Table | None:
    """Without the panes that no record within the retention can reach."""
    if rows is None or punctuation_us is None:
        return rows
    needed = rows.column(PANE).to_numpy() >= definition.history_from(punctuation_us)
    return _kept(rows, needed)


def forget_revisions(definition: Definition, log: pa.Table | None, punctuation_us: int | None) -> pa.Table | None:
    """Without the windows that no record within the allowed lateness is in."""
    if log is None or punctuation_us is None:
        return log
    window = definition.window
    oldest = np.array([window.sealed_before(punctuation_us - definition.allowed_lateness_us)])
    return _kept(log, log.column(WINDOW_ID).to_numpy() >= int(window.first_window(oldest)[0]))


def _kept(rows: pa.Table, needed: BoolArray) -> pa.Table | None:
    if needed.all():
        return rows
    return rows.filter(pa.array(needed)) if needed.any() else None
