"""Tuning: how tasks share the work in detail, to compare and to experiment."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.api.options.declarations import check
from skypane.tuning.splitting.pane_strategies import StrategyFactory


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How tasks share the work in detail: an argument of ``.parallel(tuning=...)``.

    These options exist to compare strategies and to experiment; no query needs them, and none changes an answer.
    ``sliding`` and ``processing`` decide what is stored: to change one of the two, start with a new checkpoint.

    splitting: which task makes which partials. ``"combine"``: each task from the records that it reads. The others send
        records to tasks first: ``"pane_rr"``, ``"tuple_rr"``, ``"adaptive"``, ``"adaptive_pid"``, or your own
        ``sp.extend.PaneStrategy``.
    pane_degree: the most tasks of the pane stage; ``None``: as many as Spark runs.
    window_scheduling: ``"ranges"``, a task for each worker, all with about as many rows; ``"feedback"``, smaller ones,
        of which a free worker takes the next; ``"round_robin"``, whatever the load.
    partitioning: how tasks share the windows of a key with too many rows for one task: ``"batch"``, ``"window"`` or
        ``"pane"``, see docs/one-key.md.
    ownership: how tasks share the join of a skyline's rows of one key: ``"rr"`` or ``"llw+"``.
    cut_rows: from how many rows on tasks share a key.
    inline_rows: a window stage with no more rows than this runs in the driver.
    sliding: how windows slide: ``"auto"``, ``"critical"``, ``"tiles"`` or ``"recompute"``. Needs a new checkpoint.
    processing: ``"out_of_order"``, or ``"in_order"``: buffer records until sealed. Needs a new checkpoint.
    """

    splitting: str | StrategyFactory = "combine"
    pane_degree: int | None = None
    window_scheduling: str = "ranges"
    partitioning: str = "batch"
    ownership: str = "rr"
    cut_rows: int = 2_000_000
    inline_rows: int = 100_000
    sliding: str = "auto"
    processing: str = "out_of_order"

    def __post_init__(self) -> None:
        check("parallel.tuning", vars(self))
