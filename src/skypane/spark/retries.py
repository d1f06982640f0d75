"""Retries: repeat what failed for a reason that passes: a busy machine, a lost executor, a file system out of reach.

What is repeated must be free of effects until it has succeeded, as the computation of a step is.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PythonException

T = TypeVar("T")

PAUSES_S: Final = (1.0, 5.0, 20.0)
"""How long to wait before each repetition; after the last one the error ends the query."""
_REASONS: Final = (
    ("a Python worker did not start in time", re.compile("Python worker failed to connect back")),
    ("an executor was lost", re.compile(r"ExecutorLostFailure|Could not find CoarseGrainedScheduler")),
    ("a shuffle file could not be fetched", re.compile("FetchFailedException|MetadataFetchFailedException")),
    (
        "a file system refused the connection",  # in Hadoop's words, or thrown from its classes
        re.compile(
            r"failed on connection exception: java\.net\.ConnectException"
            r"|java\.net\.ConnectException(?:(?!\nCaused by:).)*\n\s+at org\.apache\.hadoop\.",
            re.DOTALL,
        ),
    ),
)
_FROM_PYTHON: Final = "Traceback (most recent call last)"
_INTERRUPTED: Final = re.compile(r"InterruptedException|SparkContext was shut down|Job \d+ cancelled")
_log = logging.getLogger("skypane")


def transient(error: BaseException) -> str | None:
    """Why the error may not come again, in words; ``None`` if it would, or if nobody can tell.

    Only what Spark itself says of its own machinery counts. An exception of Python code, skypane's or the user's, is
    final, whatever it is about; so is the end of the session.
    """
    if not isinstance(error, PySparkException | Py4JJavaError) or isinstance(error, PythonException):
        return None
    text = str(error)
    if _FROM_PYTHON in text or _INTERRUPTED.search(text):
        return None
    return next((reason for reason, pattern in _REASONS if pattern.search(text)), None)


def repeated(run: Callable[[], T], what: str, pause: Callable[[float], object] = time.sleep) -> T:
    """What ``run`` returns; if it fails for a reason that passes, it is run again, after a pause, a few times."""
    for attempt, pause_s in enumerate(PAUSES_S, start=1):
        try:
            return run()
        except (PySparkException, Py4JJavaError) as error:
            if (reason := transient(error)) is None:
                raise
            _log.warning(
                "%s failed, since %s. Trying again in %g s (%d of %d).", what, reason, pause_s, attempt, len(PAUSES_S)
            )
        pause(pause_s)
    return run()
