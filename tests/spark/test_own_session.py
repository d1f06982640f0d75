"""A Spark session of one's own, from a virtual environment that is not activated: ``python3`` is another Python.

Each test is a program as a newcomer would write it, run in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SESSION = """
import os, sys
import skypane as sp
from pyspark.sql import SparkSession

def session(master):
    own = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    return own.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
"""

OWN_SESSION = (
    SESSION
    + """
spark = session("local[2]")
stream = spark.readStream.format("skypane-traffic").options(rate=2_000, keys=2, attributes=2, records=6_000)
offers = stream.load().selectExpr("ts", "key AS city", "round(a0) AS price", "round(a1) AS stars")
query = (
    sp.stream(offers, time="ts", key="city")
    .window("1 second", slide="500 milliseconds")
    .skyline(minimize=["price"], maximize=["stars"])
    .start(sink=sp.DiscardSink(), available_now=True)
)
query.await_termination()
print(query.metrics().ledger.accepted)
sp.register_sources(spark)  # not needed here, and does no harm
table = spark.createDataFrame([(3, 1), (1, 2), (2, 3)], "price int, stars int")
print([tuple(row) for row in sp.skyline(table, minimize="price").collect()])
spark.stop()

os.environ["PYSPARK_PYTHON"] = sys.argv[1]  # the user's own choice is not changed, but checked
spark = session("local[2]")
try:
    sp.skyline(spark.range(3), minimize="id")
except sp.SkypaneError as error:
    print(error)
"""
)

CLUSTER = (
    SESSION
    + """
spark = session("local-cluster[1,1,1024]")
records = spark.readStream.format("rate").load()
try:
    sp.stream(records, time="timestamp").window("1 second").skyline(minimize="value").start(sink=sp.DiscardSink())
except sp.SkypaneError as error:
    print(error)
"""
)


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without any packages."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python3"


def lines_of(program: str, folder: Path, bare_python: Path) -> list[str]:
    """What the program prints, with the bare Python first in the path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment["PATH"] = f"{bare_python.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", program, str(bare_python)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip().splitlines()


def test_in_local_mode_it_just_works(tmp_path: Path, bare_python: Path) -> None:
    accepted, best, refused = lines_of(OWN_SESSION, tmp_path, bare_python)
    assert accepted == "6000"
    assert best == "[(1, 2)]"
    assert refused.startswith(f"The Python of Spark's workers, {bare_python}, cannot import skypane: No module named")
    assert refused.endswith(f"Set PYSPARK_PYTHON={sys.executable} before Spark starts.")


def test_on_a_cluster_it_says_what_to_set(tmp_path: Path, bare_python: Path) -> None:
    (refused,) = lines_of(CLUSTER, tmp_path, bare_python)
    assert refused.startswith(f"The Python of Spark's workers, {bare_python}, cannot import skypane: No module named")
    assert "PYSPARK_PYTHON=/path/to/python" in refused
