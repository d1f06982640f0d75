"""Failures: what made a step or Spark itself fail, in words, without the stacks of Java."""

from __future__ import annotations

import errno
import os
import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException

from skypane.model.errors import FunctionError, SkypaneError, SourceError, StorageError

_MISSING_MODULE = re.compile(
    r"in read_command\n.*^ModuleNotFoundError: No module named '([^']+)'", re.DOTALL | re.MULTILINE
)
"""What a worker says that cannot unpack what it was sent."""
_JAVA_CLASS = re.compile(r"(?:Caused by: |: )?(?:[\w$]+\.)+[\w$]+: ")
_LOST_TASK = re.compile(r"Job aborted due to stage failure: .* most recent failure: Lost task .*?\): ", re.DOTALL)
_CALLING = re.compile(r"An error occurred while calling \S+\n")
_STACK = re.compile(r"\n(?:\s+at |\s*Driver stacktrace:|=== Streaming Query ===)")
_DATA_STATES = ("22", "38", "39", "42", "P0")
"""Classes of SQLSTATE that a running job has because of a record: data, functions, formats, ``raise_error``."""
_DATA_CLASSES = re.compile(
    r"java\.(?:util\.regex\.PatternSyntax|lang\.Arithmetic|lang\.NumberFormat|time\.DateTime)Exc"
)
"""What Spark does not translate."""
_OWN_FRAME = "pane_job.py"
_WORKER_IS_SLOW = "Python worker failed to connect back"


def readable(error: BaseException) -> BaseException:
    """The error itself, unless it wraps one of ours from a worker: then ours, without the Java stack.

    A full disk gets a message of its own, wherever it was, and so does a function whose module a worker lacks.
    """
    text = str(error)
    if (isinstance(error, OSError) and error.errno == errno.ENOSPC) or (
        isinstance(error, PySparkException) and os.strerror(errno.ENOSPC) in text
    ):
        return StorageError(
            f"{os.strerror(errno.ENOSPC)}: a step could not be written. Make room where the checkpoint, the sinks and "
            "temporary files are, and start again; with a checkpoint the step is repeated, and nothing is lost."
        )
    if not isinstance(error, PySparkException):
        return error
    for kind in SkypaneError.__subclasses__():
        marker = f"{kind.__module__}.{kind.__name__}: "
        if marker in text:
            return kind(text.split(marker, 1)[1].split("\n", 1)[0])
    if missing := _MISSING_MODULE.search(text):
        return FunctionError(
            f"Spark's workers cannot import the module {missing[1]!r}, which the query's functions need. Send it along "
            "with spark.sparkContext.addPyFile('FILE.py'), or install it where the workers run."
        )
    return error


def source_failure(error: BaseException) -> SourceError | None:
    """What failed in the user's DataFrame, if that is what a job over its records failed by.

    Expressions of the query itself do not fail (:mod:`skypane.spark.null_on_error`), except for Python functions, which
    Spark calls before, and for constants that it looks at before the first record.
    """
    if isinstance(error, PythonException):
        if _OWN_FRAME in str(error) or _MISSING_MODULE.search(str(error)):
            return None
        return SourceError(
            f"A Python function that computes records has failed: {_last_line(str(error))}. It is part of the "
            "DataFrame that the query reads, or of an expression of the query. Let it return None for such a record, "
            "and start again: the batch is repeated."
        )
    why = _data_failure(error)
    if why is None:
        return None
    return SourceError(
        "The DataFrame that the query reads fails for a record, or a constant in an expression of the query, such as a "
        f"pattern, is wrong: {why}. Spark computes the DataFrame before the query sees the record, so the query cannot "
        "leave it out. Let it give null instead (try_cast, try_divide and the like), and start again: the batch is "
        "repeated."
    )


def _data_failure(error: BaseException) -> str | None:
    """What is wrong with some data, and in which expression, where Spark knows it; nothing of other errors."""
    if isinstance(error, PySparkException):
        is_of_data = (error.getSqlState() or "").startswith(_DATA_STATES)
    else:
        is_of_data = isinstance(error, Py4JError) and _DATA_CLASSES.search(str(error)) is not None
    if not is_of_data:
        return None
    message = without_stacks(str(error)).splitlines()[0].split(" SQLSTATE: ", 1)[0].rstrip(" .")
    contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
    return f"{message} (in {contexts[0].fragment()!r})" if contexts else message


def _last_line(traceback: str) -> str:
    """The exception that a traceback ends with."""
    raised = [line for line in traceback.splitlines() if line and not line[0].isspace()]
    return raised[-1] if raised else "no reason was given"


def spark_failure(error: BaseException) -> str | None:
    """What Spark says went wrong, and what caused that, a line for each; nothing of errors that are not Spark's."""
    if not isinstance(error, PySparkException | Py4JError):
        return None
    return without_stacks(str(error)) or type(error).__name__


def without_stacks(text: str) -> str:
    """The messages of an error of Spark, without where in Java or Python they come from."""
    if "Traceback (most recent call last):" in text:
        head, _, stack = text.partition("Traceback (most recent call last):")
        raised = [line for line in stack.splitlines() if line and not line[0].isspace()]
        return " ".join([*_CALLING.sub("", head).split(), *raised[:1]])
    blocks = re.split(r"\n(?=Caused by: )", _CALLING.sub("", text))
    messages = dict.fromkeys(_message(block) for block in blocks)
    if _WORKER_IS_SLOW in text:
        messages["A worker did not start in time: the machine may be too busy. Try again."] = None
    return "\n".join(message for message in messages if message)


def _message(block: str) -> str:
    """Of an error or a cause, what comes before its stack; names of classes say nothing to a user."""
    message = _JAVA_CLASS.sub("", _STACK.split(block, maxsplit=1)[0].strip(), count=1)
    return " ".join(_JAVA_CLASS.sub("", _LOST_TASK.sub("", message), count=1).split())
