"""The live front of the best flights from each New York airport: who was in it, from when to when; with a picture."""

from __future__ import annotations

import argparse
import tempfile
from datetime import datetime
from pathlib import Path

import matplotlib as mpl
import pyarrow as pa
from prepare import prepare_once
from pyspark.sql import DataFrame
from skyline import BEST, flights

import skypane as sp

mpl.use("Agg")
from matplotlib import pyplot as plt


def live_front(landings: DataFrame) -> sp.ContinuousQuery:
    """At every instant, of the flights due in the six hours before: those that no other of the airport beats."""
    return (
        sp.stream(landings, time="ts", key="origin")
        .live("6 hours")
        .skyline(minimize=BEST["minimize"], maximize=BEST["maximize"])
        .lateness(sp.KSlack())
        .emit("intervals")
    )


def picture(history: pa.Table, origin: str, target: Path) -> None:
    """A line for each flight, from when it entered the front to when it left; the color is the speed."""
    rows = sorted(
        (row for row in history.to_pylist() if row["origin"] == origin), key=lambda row: (row["valid_from"], row["ts"])
    )
    fastest, slowest = (choose(row["speed_mph"] for row in rows) for choose in (max, min))
    figure, axes = plt.subplots(figsize=(9, 5))
    for place, row in enumerate(rows):
        shade = plt.get_cmap("viridis")((row["speed_mph"] - slowest) / ((fastest - slowest) or 1))
        axes.hlines(place, row["valid_from"], row["valid_to"], color=shade, linewidth=2)
    axes.set(xlabel="time (UTC)", ylabel="flights, in the order in which they entered", title=f"The front of {origin}")
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(slowest, fastest), "viridis")
    figure.colorbar(scale, ax=axes, label="speed, miles per hour")
    figure.autofmt_xdate()
    figure.tight_layout()
    figure.savefig(target, dpi=110)
    plt.close(figure)


def main() -> None:
    """Prepares the file if need be, runs the query to the end of it, shows one instant, draws one airport."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=Path("flights-live.parquet"))
    parser.add_argument("--days", type=int, default=2, help="of a file that is not there yet")
    parser.add_argument("--origin", default="JFK")
    parser.add_argument("--instant", type=datetime.fromisoformat, default=datetime(2013, 1, 1, 18, 30))  # noqa: DTZ001 - UTC
    parser.add_argument("--picture", type=Path, default=Path("front.png"))
    given = parser.parse_args()
    prepare_once(given.file, given.days)
    spark = sp.embedded_session()
    with tempfile.TemporaryDirectory() as folder:
        query = live_front(flights(spark, given.file)).start(sink=sp.ParquetSink(f"{folder}/front"), available_now=True)
        query.await_termination()
        history = spark.read.parquet(f"{folder}/front")
        print(f"{history.count():,} stays in a front, of {query.metrics().ledger.accepted:,} flights")
        columns = [
            "origin",
            "carrier",
            "flight",
            "arr_delay_min",
            "dep_delay_min",
            "speed_mph",
            "valid_from",
            "valid_to",
        ]
        sp.as_of(history, given.instant).select(*columns).orderBy("origin", "speed_mph").show(50, truncate=False)
        picture(history.toArrow(), given.origin, given.picture)
    spark.stop()


if __name__ == "__main__":
    main()
