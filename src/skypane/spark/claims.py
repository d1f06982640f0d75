"""Claims: the sinks and the checkpoint become the query's own; a sink that belongs to another query refuses."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from skypane.spark.outputs import Outputs
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.checkpoint import Checkpoint


def claim_sinks(spark: SparkSession, outputs: Outputs, checkpoint: Checkpoint, continuation: Continuation) -> None:
    """Open the sinks, which may refuse; then nothing can, and the checkpoint is the query's."""
    places = {}
    for output in outputs:
        name, place = output.option, output.sink.place()
        if place is not None:
            places[name] = str(place)
        returns = place is not None and checkpoint.places.get(name) == str(place)
        whose = replace(continuation, output=name, revised=output.revised, returns=returns)
        output.sink.open(spark, output.schema, whose)
        checkpoint.when_closed(output.sink.close)
    checkpoint.claim(places)
