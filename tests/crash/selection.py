"""The kills of ``make test``: every failpoint, query, emission, policy and kind of sink at least once.

Top-delta, aggregates and folds have one key, whose windows several tasks share, of folds as a tree of patterns says; of
the skylines of windows of records and of every instant, they share the joins.
"""

from __future__ import annotations

from dataclasses import replace

from tests.crash.chains import Chain
from tests.support import configurations
from tests.support.configurations import Configuration

SKYLINE = Chain(
    "skyline",
    Configuration(
        "skyline",
        ("1 second", "500 milliseconds"),
        ("city",),
        "drop_ratio",
        "full",
        lateness={"allowed": "500 milliseconds"},
    ),
    files=9,
)
TOP_DELTA = Chain(
    "top-delta",
    Configuration(
        "top_delta",
        ("1 second", "250 milliseconds"),
        (),
        "harm",
        "changes",
        parallel={"cut_rows": 0},
    ),
    ("json", "function", "json"),
    files=6,
)
TOP_K = Chain(
    "top-k",
    Configuration(
        "top_k",
        ("1500 milliseconds", "1 second"),
        ("city", "zone"),
        "fixed_delay",
        "full",
        parallel={"splitting": "adaptive", "window_scheduling": "feedback", "processing": "in_order"},
    ),
    ("function", "parquet", "parquet"),
    files=6,
)
AGGREGATE = Chain(
    "aggregate",
    Configuration(
        "aggregate",
        ("8 seconds", "500 milliseconds"),
        (),
        "kslack",
        "changes",
        parallel={"cut_rows": 0, "partitioning": "window", "degree": 3},
    ),
    ("parquet", "json", "discard"),
    files=8,
)
LIVE = Chain(
    "live",
    Configuration(
        "skyline",
        configurations.LIVE,
        (),
        "harm",
        "updates",
        parallel={"cut_rows": 0, "ownership": "llw+", "degree": 3},
    ),
    files=6,
)
INTERVALS = Chain(
    "intervals",
    Configuration("top_k", configurations.LIVE, ("city",), "kslack", "intervals"),
    files=6,
)
APPLY = Chain(
    "apply",
    Configuration(
        "apply",
        ("1 second", "500 milliseconds"),
        ("city",),
        "fixed_delay",
        "full",
        lateness={"allowed": "500 milliseconds"},
    ),
    files=5,
)
FOLD = Chain(
    "fold",
    Configuration(
        "fold",
        ("1 second", "250 milliseconds"),
        (),
        "kslack",
        "changes",
        parallel={"pattern": "WF(PF(2,1), 3)"},
    ),
    files=5,
)
ROWS = Chain(
    "rows",
    Configuration(
        "skyline",
        (9, 2, "1 second"),
        (),
        "fixed_delay",
        "changes",
        parallel={"cut_rows": 0},
        distinct={"distinct_by": ["zone", "city"], "within": "500 milliseconds"},
    ),
    files=6,
)
CHAINS = (SKYLINE, TOP_DELTA, TOP_K, AGGREGATE, APPLY, FOLD, ROWS, LIVE, INTERVALS)
LOGS = replace(SKYLINE, name="logs", files=5)
"""Dies between Spark's two logs, at the begin of a step."""
IN_THE_DECIDED_STEP = "results.published"
"""Where the process dies that finds the step which the clock decided; the one before it died at ``step.prepared``."""
KILLS = (
    (SKYLINE, "late.published"),
    (TOP_DELTA, "quarantine.published"),
    (TOP_K, "manifest.written"),
    (APPLY, "failed.published"),
    (FOLD, "windows.done"),
    (ROWS, "panes.done"),
    (LIVE, "results.staged"),
    (INTERVALS, "manifest.committed"),
    (TOP_K, "step.cleaned"),
    (ROWS, "duplicates.published"),
)
"""Where processes die within batches, in this order."""
