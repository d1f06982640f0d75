"""Workers: before anything runs, their Python is the right one and has skypane."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from pyspark import SparkContext
from pyspark.sql import SparkSession

from skypane.model.errors import SkypaneError

_log = logging.getLogger(__name__)
_checked: WeakSet[SparkContext] = WeakSet()
_MAX_TASKS = 32

# Sent to the workers as text: a function of this package could not even be unpickled where the package is missing.
_PROBE = """
def probe(_):
    import sys
    try:
        import skypane.kernels
    except ImportError as error:
        return sys.executable, str(error)
    return sys.executable, ""
"""


def use_this_python(spark: SparkSession) -> None:
    """On this machine workers run this Python, unless the user chose another; what is registered later uses it.

    Without a choice Spark starts ``python3`` from the path, which is another Python, with other packages, whenever a
    virtual environment is used without being activated.
    """
    context = spark.sparkContext
    if _is_local(context) and not _chosen(context) and not _runs_this_python(context):
        _log.info("Spark's workers run %s, as this process does, instead of %s.", sys.executable, context.pythonExec)
        context.pythonExec = sys.executable


def check_workers(spark: SparkSession) -> None:
    """Raise an error that says what to set, unless the workers' Python has skypane.

    Where that is certain nothing is run; else one job of a moment, once in the life of a Spark context.
    """
    context = spark.sparkContext
    if context in _checked:
        return
    use_this_python(spark)
    if not (_is_local(context) and _runs_this_python(context)):
        _ask(context)
    _checked.add(context)


def _is_local(context: SparkContext) -> bool:
    return str(context.master).split("[")[0] == "local"


def _runs_this_python(context: SparkContext) -> bool:
    return shutil.which(context.pythonExec) == sys.executable


def _chosen(context: SparkContext) -> bool:
    return "PYSPARK_PYTHON" in os.environ or context.getConf().get("spark.pyspark.python") is not None


def _ask(context: SparkContext) -> None:
    by_value: dict[str, Any] = {"__name__": "__main__"}
    exec(_PROBE, by_value)  # noqa: S102 - our own text, see there
    probe: Callable[[int], tuple[str, str]] = by_value["probe"]
    tasks = max(1, min(context.defaultParallelism, _MAX_TASKS))
    try:
        found: set[tuple[str, str]] = set(context.parallelize(range(tasks), tasks).map(probe).collect())
    except Exception as error:
        raise SkypaneError(f"Spark's workers cannot run Python: {_why(error)} {_remedy(context)}") from error
    for python, missing in sorted(found):
        if missing:
            raise SkypaneError(
                f"The Python of Spark's workers, {python}, cannot import skypane: {missing}. {_remedy(context)}"
            )


def _why(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    found = [line for line in lines if "rror" in line and not line.startswith(("\t", " "))]
    return (found or lines or [type(error).__name__])[-1].strip()


def _remedy(context: SparkContext) -> str:
    if _is_local(context):
        return f"Set PYSPARK_PYTHON={sys.executable} before Spark starts."
    return (
        "Install skypane into the Python of every worker machine and name that Python before Spark starts: "
        "PYSPARK_PYTHON=/path/to/python, or --conf spark.pyspark.python=/path/to/python; or send it along with "
        "--archives (see docs/operations.md)."
    )
