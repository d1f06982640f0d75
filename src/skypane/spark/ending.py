"""Ending: whether a query over what is available now ran to the end of it, or was stopped on the way.

Spark does not tell: a query that was stopped through ``spark.streams`` looks like one that is through. But the last
thing of one that is through is a trigger that looked for another batch, to its end, and made none.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.sql.streaming.query import StreamingQuery

from skypane.spark.store.checkpoint import Checkpoint


def ran_to_the_end(query: StreamingQuery, checkpoint: Checkpoint) -> bool:
    """Whether a query that has ended without an error has taken in everything that was available."""
    if checkpoint.pending_batch():
        return False
    try:
        last = query._jsq.streamingQuery().getLatestExecutionContext()  # noqa: SLF001 - Spark has no other way to ask
        began, ended = (int(_field(last, f"currentTrigger{name}Timestamp")) for name in ("Start", "End"))
        return not last.isCurrentBatchConstructed() and ended >= began
    except (Py4JError, AttributeError, TypeError, LookupError):  # another Spark: a stop between batches goes unnoticed
        return True


def _field(owner: Any, name: str) -> Any:
    """The value of a field of a Java object, wherever in its class and those above it is declared."""
    kind = owner.getClass()
    while kind is not None:
        for field in kind.getDeclaredFields():
            if field.getName() == name:
                field.setAccessible(True)
                return field.get(owner)
        kind = kind.getSuperclass()
    raise LookupError(name)
