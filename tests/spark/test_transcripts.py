"""The transcripts in tests/transcripts, replayed on Spark: every step of a story is one batch of the source."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from skypane.api.stream import ContinuousQuery, Stream
from skypane.testing.oracle import time_window
from skypane.testing.transcripts import Transcript, load_transcripts, outcome_of
from tests.spark_support.streams import Outputs, read_batches, write_batches

pytestmark = pytest.mark.spark

TRANSCRIPTS = load_transcripts(Path(__file__).parents[1] / "transcripts")


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda t: t.name)
def test_transcript_on_spark(spark: SparkSession, tmp_path: Path, transcript: Transcript) -> None:
    outputs, done = Outputs(), 0
    for flush, batches in runs(transcript):
        write_batches(tmp_path / "in", batches, first=done)
        done += len(batches)
        run(spark, tmp_path, transcript, outputs, flush=flush)
    for number, step in enumerate(transcript.steps, start=1):
        emitted = [sink.steps.get(number) for sink in (outputs.results, outputs.late, outputs.quarantine)]
        tables = [[] if table is None else [table] for table in emitted]
        assert outcome_of(transcript, *tables) == step.expected, f"step {number}"


def runs(transcript: Transcript) -> list[tuple[bool, list[pa.Table]]]:
    """A story in runs: each takes in the batches up to a flush, or to the end of the story."""
    found: list[tuple[bool, list[pa.Table]]] = []
    batches: list[pa.Table] = []
    for step in transcript.steps:
        if step.records is None:
            found.append((True, batches))
            batches = []
        else:
            batches.append(step.records)
    return [*found, (False, batches)] if batches else found


def run(spark: SparkSession, folder: Path, transcript: Transcript, outputs: Outputs, *, flush: bool) -> None:
    definition = transcript.definition
    stream = Stream(read_batches(spark, folder / "in", transcript.schema), definition.time, definition.keys)
    guard = transcript.guard
    question = ContinuousQuery(stream, time_window(definition), definition.query).lateness(
        transcript.policy,
        allowed=f"{definition.allowed_lateness_us} microseconds",
        max_future=None if guard.max_future_us is None else f"{guard.max_future_us} microseconds",
        future_support=guard.support,
    )
    query = question.start(
        checkpoint=folder / "checkpoint",
        available_now=True,
        flush=flush,
        emit=definition.emit,
        **outputs.options(),
    )
    query.await_termination()
