"""Errors of Spark's own are told in its words, without the stacks of Java and Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PythonException

from skypane.cli.run import plain_errors
from skypane.model.errors import OptionError, SkypaneError
from skypane.spark.failures import spark_failure, without_stacks

BAD_FILE = """An error occurred while calling o228.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/2.json.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:920)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD] Malformed records are detected: [null,null].
Parse Mode: FAILFAST. To process them as null, try setting the option 'mode' as 'PERMISSIVE'.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.malformed(QueryExecutionErrors.scala:1617)
\t... 45 more
"""
SLOW_WORKER = """An error occurred while calling o77.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 3.0 (TID 4) (host executor driver): org.apache.spark.SparkException: Python worker \
failed to connect back.
\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:294)

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2898)
Caused by: org.apache.spark.SparkException: Python worker failed to connect back.
\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:294)
Caused by: java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back
\tat org.apache.spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:280)
"""
OF_A_WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "mine.py", line 13, in bad
    raise KeyError('oops')
KeyError: 'oops'
"""


def test_a_message_and_its_causes_without_their_stacks() -> None:
    assert without_stacks(BAD_FILE) == (
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/2.json.\n"
        "[MALFORMED_RECORD] Malformed records are detected: [null,null]. "
        "Parse Mode: FAILFAST. To process them as null, try setting the option 'mode' as 'PERMISSIVE'."
    )


def test_a_worker_that_does_not_start() -> None:
    assert without_stacks(SLOW_WORKER).splitlines() == [
        "Python worker failed to connect back.",
        "Timed out while waiting for the Python worker to connect back",
        "A worker did not start in time: the machine may be too busy. Try again.",
    ]


def test_an_exception_of_a_worker() -> None:
    assert spark_failure(PythonException(OF_A_WORKER)) == (
        "An exception was thrown from the Python worker: KeyError: 'oops'"
    )


def test_the_command_line_tells_errors_of_spark_only() -> None:
    told = r"Spark has failed: no such table\nSee its log, x\.log"
    with pytest.raises(SkypaneError, match=told), plain_errors(Path("x.log")):
        raise AnalysisException("no such table")
    with pytest.raises(OptionError, match=r"^mine$"), plain_errors(Path("x.log")):
        raise OptionError("mine")
    with pytest.raises(ZeroDivisionError), plain_errors(Path("x.log")):
        raise ZeroDivisionError
