"""Functions over windows that tests ask for: some depend on the order of records, some on key and window, some fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import skypane as sp
from skypane.queries.apply import Apply
from skypane.queries.base import Query
from skypane.queries.fold import Fold
from skypane.queries.folded import fold_query

BOUNDS = pa.schema([("first", pa.int64()), ("last", pa.int64()), ("rows", pa.int64())])


def bounds(records: pa.Table) -> dict[str, Any]:
    """One row that depends on the order of records."""
    numbers = records.column("n").to_pylist()
    return {"first": numbers[0], "last": numbers[-1], "rows": len(numbers)}


def picky(key: tuple[Any, ...], window: sp.Window, records: pa.Table) -> list[dict[str, Any]]:
    """Fails for some windows, has nothing to say about others."""
    if window.start_us // 500_000 % 5 == 3:
        raise ValueError(f"not this one, {key}")
    found = bounds(records)
    return [] if found["rows"] % 4 == 0 else [{**found, "starts": window.start_us}]


def every_other(key: tuple[Any, ...], window: sp.Window, records: pa.Table) -> list[dict[str, Any]]:
    """Any number of rows, also none, that depend on key and window."""
    numbers = records.column("n").to_pylist()
    label = f"{'/'.join(map(str, key))}@{window.start_us}+{window.seconds:g}"
    return [{"label": label, "place": i, "n": n} for i, n in enumerate(numbers) if n % 2]


def spread(key: tuple[Any, ...], records: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """NumPy arrays by column."""
    return {"spread": float(np.ptp(records["n"])), "keys": len(key)}


def by_parity(records: pd.DataFrame) -> pd.DataFrame:
    """A DataFrame, several rows."""
    found = records.groupby(records["n"] % 2)["n"].agg(["count", "sum"]).reset_index(names="parity")
    return found.rename(columns={"count": "rows", "sum": "total"})


def digest_update(state: dict[str, Any], records: pa.Table) -> dict[str, Any]:
    """A rolling hash: the order of records matters, and two stretches merge."""
    for n in records.column("n").to_pylist():
        state["hash"] = (state["hash"] * 31 + n + 1) % 1_000_003
        state["power"] = state["power"] * 31 % 1_000_003
        state["numbers"].append(n)
    return state


def digest_merge(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {
        "hash": (left["hash"] * right["power"] + right["hash"]) % 1_000_003,
        "power": left["power"] * right["power"] % 1_000_003,
        "numbers": left["numbers"] + right["numbers"],
    }


def digest_finish(key: tuple[Any, ...], window: sp.Window, state: dict[str, Any]) -> dict[str, Any]:
    return {"hash": state["hash"], "numbers": repr(state["numbers"]), "where": f"{key}{window.end_us}"}


DIGEST: dict[str, Any] = {
    "init": {"hash": 0, "power": 1, "numbers": []},
    "update": digest_update,
    "finish": digest_finish,
    "state": "hash long, power long, numbers array<long>",
    "schema": "hash long, numbers string, where string",
}


def moments_init() -> dict[str, Any]:
    return {"count": 0, "sums": np.zeros(2, dtype=np.int64), "products": np.zeros((2, 2), dtype=np.int64)}


def moments_update(state: dict[str, Any], records: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Sums and products, as arrays of one and two dimensions; changed in place."""
    both = np.stack([records["n"], records["n"] % 7])
    state["sums"] += both.sum(axis=1)
    state["products"] += both @ both.T
    return {**state, "count": state["count"] + both.shape[1]}


def moments_merge(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {name: left[name] + right[name] for name in left}


def moments_finish(state: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [{"what": "sums", "values": state["sums"].tolist()}]
    return [*rows, {"what": f"products of {state['count']}", "values": state["products"].ravel().tolist()}]


MOMENTS = Fold(
    moments_init,
    moments_update,
    moments_merge,
    moments_finish,
    schema="what string, values array<long>",
    combine="commutative",
)
EXTREMES = Fold(
    {"low": 2**60, "high": -(2**60)},
    lambda state, records: {
        "low": min(state["low"], *records.column("n").to_pylist()),
        "high": max(state["high"], *records.column("n").to_pylist()),
    },
    lambda left, right: {"low": min(left["low"], right["low"]), "high": max(left["high"], right["high"])},
    combine=("commutative", "idempotent"),
)
QUERIES: dict[str, Query] = {
    "bounds": Apply.of(bounds, BOUNDS),
    "every other": Apply.of(every_other, pa.schema([("label", pa.string()), ("place", pa.int32()), ("n", pa.int64())])),
    "spread": Apply.of(spread, pa.schema([("spread", pa.float64()), ("keys", pa.int64())])),
    "by parity": Apply.of(by_parity, pa.schema([("parity", pa.int64()), ("rows", pa.int64()), ("total", pa.int64())])),
    "digest": fold_query(Fold(**DIGEST)),
    "digest, merged in order": fold_query(Fold(**DIGEST, merge=digest_merge)),
    "moments": fold_query(MOMENTS),
    "extremes": fold_query(EXTREMES),
}


def few(records: pa.Table) -> list[dict[str, Any]]:
    """Nothing where there are more than three records."""
    return [bounds(records)] if records.num_rows <= 3 else []


def _ordered_update(state: dict[str, Any], records: pa.Table) -> dict[str, Any]:
    return {"numbers": state["numbers"] + records.column("n").to_pylist()}


def _ordered_merge(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {"numbers": left["numbers"] + right["numbers"]}


def _ordered_finish(state: dict[str, Any]) -> dict[str, Any]:
    return {"first": state["numbers"][0], "last": state["numbers"][-1], "all": str(state["numbers"])}


ORDERED = Fold(
    {"numbers": []},
    _ordered_update,
    _ordered_merge,
    _ordered_finish,
    schema="first long, last long, all string",
    state="numbers array<long>",
)
