"""How fast the kernels are: the skyline against five C++ algorithms, moocore and paretoset, on the same tables.

Times are CPU time of one thread, the median of five runs, as
the C++ figures are. The C++ programs cannot be shipped: their figures were taken on a quiet machine of
the same kind, so on a busy or different machine only the ratios to moocore and paretoset mean much.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.table import Table

from skypane import kernels

Points = npt.NDArray[np.float32]


class Case(NamedTuple):
    """One input, and what the best of BSkyTree, PBSkyTree, Hybrid, Q-Flow and PSkyline needed for it."""

    kind: str
    attributes: int
    points: int
    cpp_ms: float


REFERENCE = [
    Case("nba", 8, 17_264, 3.71),
    *(
        Case(kind, attributes, points, cpp_ms)
        for points, attributes, row in [
            (10_000, 4, (0.05, 0.23, 2.44)),
            (10_000, 6, (0.08, 2.11, 9.83)),
            (10_000, 8, (0.15, 3.73, 14.04)),
            (10_000, 12, (0.21, 15.97, 22.30)),
            (100_000, 4, (1.33, 2.42, 25.39)),
            (100_000, 6, (2.39, 13.61, 116.27)),
            (100_000, 8, (2.81, 50.15, 217.73)),
            (100_000, 12, (5.65, 318.16, 461.18)),
            (1_000_000, 4, (13.99, 17.23, 227.39)),
            (1_000_000, 6, (24.36, 91.77, 1035.32)),
            (1_000_000, 8, (29.78, 346.17, 3199.09)),
            (1_000_000, 12, (45.79, 3421.55, 11051.46)),
        ]
        for kind, cpp_ms in zip(("corr", "indep", "anti"), row, strict=True)
    ),
]


def data_folder() -> Path:
    """Where recorded inputs are."""
    return Path(os.environ.get("SKYPANE_DATA") or Path(__file__).parents[1] / ".." / "shared" / "data")


def _bell(generator: np.random.Generator, middle: float, spread: npt.NDArray[np.float64]) -> Any:
    """About normal: the mean of twelve uniform numbers within `spread` of the middle."""
    return middle + spread * (2 * generator.random((12, len(spread))).mean(axis=0) - 1)


def generate(kind: str, attributes: int, points: int, seed: int = 7) -> Points:
    """Independent, correlated or anticorrelated points in the unit cube, by Boerzsoenyi's recipes."""
    generator = np.random.default_rng(seed)
    if kind == "indep":
        return generator.random((points, attributes), dtype=np.float32)
    parts: list[Points] = []
    while sum(map(len, parts)) < points:
        draws = min(4 * points, 200_000)
        if kind == "corr":
            level = generator.random((draws, attributes)).mean(axis=1)
        else:
            level = _bell(generator, 0.5, np.full(draws, 0.25))
        room = np.minimum(level, 1 - level)
        table = np.repeat(level[:, None], attributes, axis=1)
        for j in range(attributes):  # what one attribute gains, the next one loses
            moved = _bell(generator, 0.0, room) if kind == "corr" else room * (2 * generator.random(draws) - 1)
            table[:, j] += moved
            table[:, (j + 1) % attributes] -= moved
        parts.append(table[((table >= 0) & (table < 1)).all(axis=1)].astype(np.float32))
    return np.concatenate(parts)[:points]


def load(case: Case) -> Points | None:
    """The stored table of a case where there is one, a generated one otherwise; None for a missing file."""
    folder = data_folder()
    stored = folder / "points" / f"{case.kind}_d{case.attributes}_n{case.points}.npy"
    if stored.exists():
        return np.asarray(np.load(stored), dtype=np.float32)
    if case.kind == "nba":
        records = folder / "nba-8d.csv"
        return np.loadtxt(records, delimiter=",", dtype=np.float32) if records.exists() else None
    return generate(case.kind, case.attributes, case.points)


def median_ms(work: Callable[[], object], runs: int = 5) -> float:
    """CPU time of this thread for one call, the median of some; one call before that warms up."""
    work()
    times = []
    for _ in range(runs):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return statistics.median(times) * 1000


def _peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _peer_times(table: Points, expected: int) -> dict[str, float]:
    """What moocore and paretoset need; they are spared the tables on which they take minutes."""
    times: dict[str, float] = {}
    wide = table.astype(np.float64)
    pairs = len(table) * expected
    moocore, paretoset = _peer("moocore"), _peer("paretoset")
    if moocore is not None and pairs <= 5e8:
        assert np.count_nonzero(moocore.is_nondominated(wide, keep_weakly=True)) == expected
        times["moocore"] = median_ms(lambda: moocore.is_nondominated(wide, keep_weakly=True), 3)
    if paretoset is not None and pairs <= 7e9:
        assert np.count_nonzero(paretoset.paretoset(wide, distinct=False)) == expected
        times["paretoset"] = median_ms(lambda: paretoset.paretoset(wide, distinct=False), 3 if pairs <= 2e8 else 1)
    return times


def _skyline_row(case: Case) -> dict[str, Any] | None:
    table = load(case)
    if table is None:
        return None
    rounded_nowhere = table.astype(np.float64) * (1 + 2.0**-40)  # doubles that float32 cannot hold
    found = len(kernels.skyline(table))
    runs = 5 if case.cpp_ms < 1000 else 1
    return {
        **case._asdict(),
        "skyline": found,
        "ms": median_ms(lambda: kernels.skyline(table), runs),
        "float64_ms": median_ms(lambda: kernels.skyline(rounded_nowhere), runs),
        "peers_ms": _peer_times(table, found),
    }


def _sliding_skyline(panes: int, rows: int) -> tuple[Any, Any, Any]:
    """The live rows of an 8-attribute sliding skyline, their panes, and the next pane's skyline."""
    generator = np.random.default_rng(1)
    live, live_pane = np.empty((0, 8)), np.empty(0, dtype=np.int64)
    for pane in range(panes):
        drawn = generator.random((rows, 8))
        new = drawn[kernels.skyline(drawn)]
        kept, _ = kernels.dominance_join(live, live_pane, new, pane)
        live = np.concatenate([live[kept], new])
        live_pane = np.concatenate([live_pane[kept], np.full(len(new), pane)])
    drawn = generator.random((rows, 8))
    return live, live_pane, drawn[kernels.skyline(drawn)]


def _other_kernels(quick: bool) -> dict[str, float]:
    """The other kernels on inputs of the size that a stream gives them, in milliseconds."""
    live, live_pane, new = _sliding_skyline(10 if quick else 60, 5000)
    half = len(live) // 2
    triples = np.random.default_rng(2).random((300_000, 8))
    thirds = np.arange(0, len(triples) + 1, 3)
    scores, ids = triples[:, 0].copy(), np.arange(len(triples))
    hundreds = np.arange(0, len(triples) + 1, 100)
    pane = int(live_pane.max()) + 1
    return {
        f"dominance_join {len(live):,} live x {len(new):,} new": median_ms(
            lambda: kernels.dominance_join(live, live_pane, new, pane)
        ),
        f"merge {half:,} x {len(live) - half:,}": median_ms(lambda: kernels.merge(live[:half], live[half:])),
        f"kmax of {len(new):,} skyline rows": median_ms(lambda: kernels.kmax(new, [0, len(new)])),
        "skyline_groups 100,000 x 3": median_ms(lambda: kernels.skyline_groups(triples, thirds)),
        "skyline_groups 3,000 x 100": median_ms(lambda: kernels.skyline_groups(triples, hundreds)),
        "top_k_groups 3,000 x 100, k = 10": median_ms(lambda: kernels.top_k_groups(scores, ids, hundreds, 10)),
        "segment_sum 300,000": median_ms(lambda: kernels.segment_sum(scores, hundreds)),
    }


def _geometric_mean(ratios: list[float]) -> float | None:
    return statistics.geometric_mean(ratios) if ratios else None


def run(quick: bool = False) -> dict[str, Any]:
    """Measure everything; `quick` leaves out the tables of more than 10,000 points (and keeps the real one)."""
    kernels.warm()  # else small tables would be measured without the trees
    cases = [case for case in REFERENCE if not quick or case.points < 20_000]
    rows = [row for row in map(_skyline_row, cases) if row is not None]
    means: dict[str, float | None] = {
        "ours_over_cpp": _geometric_mean([row["ms"] / row["cpp_ms"] for row in rows]),
        "ours_float64_over_cpp": _geometric_mean([row["float64_ms"] / row["cpp_ms"] for row in rows]),
        "worst_over_cpp": max(row["ms"] / row["cpp_ms"] for row in rows),
    }
    for peer in ("moocore", "paretoset"):
        # peers work on float64, so they are compared with our float64 time
        ratios = [row["peers_ms"][peer] / row["float64_ms"] for row in rows if peer in row["peers_ms"]]
        means[f"{peer}_over_ours"] = _geometric_mean(ratios)
    return {
        "method": "CPU ms of one thread, median of 5 (one run where C++ takes over a second)",
        "cpp": "figures from a quiet machine of the same kind, not measured in this run",
        "skyline": rows,
        "geometric_means": means,
        "others_ms": _other_kernels(quick),
    }


def tables(found: dict[str, Any]) -> list[Table]:
    """The skyline table by table, the means, the other kernels."""
    skylines = Table(
        "data",
        "d",
        "points",
        "skyline",
        "best C++ ms",
        "ours ms",
        "ratio",
        "float64 ms",
        "moocore",
        "paretoset",
        title=f"Skyline kernel: {found['method']}; C++: {found['cpp']}",
        title_justify="left",
    )
    for row in found["skyline"]:
        peers = row["peers_ms"]
        skylines.add_row(
            row["kind"],
            str(row["attributes"]),
            f"{row['points']:,}",
            f"{row['skyline']:,}",
            f"{row['cpp_ms']:.2f}",
            f"{row['ms']:.2f}",
            f"{row['ms'] / row['cpp_ms']:.2f}",
            f"{row['float64_ms']:.2f}",
            *(f"{peers[p] / row['float64_ms']:.0f}x" if p in peers else "-" for p in ("moocore", "paretoset")),
        )
    means = Table("geometric mean", "", title="Ratios of times", title_justify="left")
    for name, value in found["geometric_means"].items():
        means.add_row(name, "not measured" if value is None else f"{value:.2f}")
    others = Table("kernel", "ms", title="Other kernels", title_justify="left")
    for name, value in found["others_ms"].items():
        others.add_row(name, f"{value:.2f}")
    return [skylines, means, others]
