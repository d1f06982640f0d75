"""Functions over windows of flights: which carriers were late, and what share of a late start was made up."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from prepare import prepare_once
from skyline import flights

import skypane as sp

LATE_CARRIERS = "place int, carrier string, flights long, median_min double"


def late_carriers(landings: pd.DataFrame) -> pd.DataFrame:
    """The three carriers with the largest median delay, of those with ten flights or more; perhaps none."""
    found = landings.groupby("carrier")["arr_delay_min"].agg(flights="count", median_min="median")
    found = found[found["flights"] >= 10].sort_values("median_min", ascending=False).head(3).reset_index()
    return found.assign(place=np.arange(1, len(found) + 1))


class MadeUp:
    """The slope of delay at arrival over delay at departure, from sums and products, which merge by adding."""

    schema = "flights long, made_up_share double"
    combine = "commutative"

    def init(self) -> dict[str, Any]:
        """No flights yet."""
        return {"flights": 0, "sums": np.zeros(2), "products": np.zeros((2, 2))}

    def update(self, state: dict[str, Any], landings: dict[str, np.ndarray]) -> dict[str, Any]:
        """A batch of landings more."""
        delays = np.stack([landings["dep_delay_min"], landings["arr_delay_min"]]).astype(float)
        return {
            "flights": state["flights"] + delays.shape[1],
            "sums": state["sums"] + delays.sum(axis=1),
            "products": state["products"] + delays @ delays.T,
        }

    def merge(self, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        """The landings of both."""
        return {name: left[name] + right[name] for name in left}

    def finish(self, state: dict[str, Any]) -> list[dict[str, Any]]:
        """One row, or none."""
        spread = state["products"] - np.outer(state["sums"], state["sums"]) / state["flights"]
        if spread[0, 0] == 0:
            return []  # all left with the same delay: there is no line
        return [{"flights": state["flights"], "made_up_share": 1 - spread[0, 1] / spread[0, 0]}]


def days(landings: Any) -> sp.Windowed:
    """For each airport, the last day, every six hours."""
    return sp.stream(landings, time="ts", key="origin").window("1 day", slide="6 hours")


def question(landings: Any, name: str) -> sp.ContinuousQuery:
    """Of the two."""
    windows = days(landings)
    return windows.apply(late_carriers, LATE_CARRIERS) if name == "late_carriers" else windows.fold(MadeUp)


def main() -> None:
    """Prepares the file if need be, asks one of the two to the end of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=Path("flights.parquet"))
    parser.add_argument("--days", type=int, default=31, help="of a file that is not there yet")
    parser.add_argument("--ask", choices=["late_carriers", "made_up"], default="late_carriers")
    given = parser.parse_args()
    prepare_once(given.file, given.days)
    spark = sp.embedded_session("flights")
    query = question(flights(spark, given.file), given.ask).start(sink=sp.ConsoleSink(max_rows=9), available_now=True)
    query.await_termination()
    print(query.metrics().ledger)
    spark.stop()


if __name__ == "__main__":
    main()
