"""Claims: the sinks and the checkpoint become the query's own; a sink that belongs to another query refuses."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from skypane.spark.outputs import Outputs
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.checkpoint import Checkpoint


def claim_sinks(spark: SparkSession, outputs: Outputs, checkpoint: Checkpoint, continuation: Continuation) -> None:
    """Open the sinks, which may refuse; then nothing can, and the checkpoint is the query's."""
    last, pending = checkpoint.last, checkpoint.pending
    for output in outputs:
        whose = replace(
            continuation,
            output=output.option,
            revised=output.revised,
            shown=0 if last is None else last.shown(output.name, output.place),
            pending=() if pending is None else output.pending(pending),
        )
        output.sink.open(spark, output.schema, whose)
        checkpoint.when_closed(output.sink.close)
    checkpoint.claim()
