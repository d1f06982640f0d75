"""Ending: whether a query ran to the end of what is available now, and how it is ended before a batch."""

from __future__ import annotations

import time
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

TAKEN_FOR_A_STOP: Final = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling stop: java.lang.InterruptedException"
)
"""The message by which Spark recognises an error as the end of a stopped query.

Any other error of a batch it logs at length. It looks for this text with a regular expression that overflows the stack
where there is much between the two names, as in the Java error that a step really gets when it is interrupted.
"""
_WAIT_S, _POLL_S = 10.0, 0.01


def ran_to_the_end(query: StreamingQuery) -> bool:
    """Whether Spark found nothing more to read, rather than being stopped (``spark.streams``, its web page).

    Both look the same in what Spark says of a query that has ended: no error. Only the flag that its own
    ``processAllAvailable()`` waits for distinguishes them.
    """
    return bool(query._jsq.streamingQuery().noNewData())  # noqa: SLF001 - there is no public way


def session_ended(query: StreamingQuery) -> bool:
    """Whether the session of the query was stopped, or its Java process is gone."""
    try:
        return bool(query._jsq.sparkSession().sparkContext().isStopped())  # noqa: SLF001 - there is no public way
    except (Py4JError, OSError):
        return True


def wait_until_stopped(query: StreamingQuery) -> None:
    """Wait, for a limited time, until Spark stops the query; Spark in turn waits for this batch."""
    until = time.monotonic() + _WAIT_S
    while query.isActive and time.monotonic() < until:
        time.sleep(_POLL_S)
