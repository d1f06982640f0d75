"""The transcripts of this folder, replayed on Spark: every step of a story is one batch of the source."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.stream import Stream
from skypane.spark import driver
from skypane.spark.store.checkpoint import Checkpoint
from tests.support.spark.streams import WAIT_S, CollectSink, Outputs, read_batches, write_batches
from tests.support.transcripts import Transcript, TranscriptStep, load_transcripts, outcome_of

pytestmark = pytest.mark.spark

TRANSCRIPTS = load_transcripts(Path(__file__).parent)


class Clock:
    """Shows what the story says, also to steps without a batch; notes when it is asked."""

    def __init__(self, transcript: Transcript) -> None:
        self._of_batches = [step.now_us for step in transcript.steps if step.records is not None]
        self.now_us = 0
        self.asked = threading.Event()

    def of_batch(self, batch_id: int) -> int:
        return self._of_batches[batch_id]

    def __call__(self) -> int:
        self.asked.set()
        return self.now_us


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda t: t.name)
def test_transcript_on_spark(
    spark: SparkSession, tmp_path: Path, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs, done = Outputs(duplicates=CollectSink() if transcript.definition.distinct else None), 0
    clock = Clock(transcript)
    monkeypatch.setattr(Checkpoint, "batch_time_us", lambda _, batch_id: clock.of_batch(batch_id))
    monkeypatch.setattr(driver, "clock_us", clock)
    numbers: list[int | None] = []
    for steps in runs(transcript):
        batches = [step.records for step in steps if step.records is not None]
        write_batches(tmp_path / "in", batches, first=done)
        done += len(batches)
        before = len([number for number in numbers if number is not None])
        clock.now_us = steps[-1].now_us
        metrics = run(spark, tmp_path, transcript, steps[-1], outputs, clock).metrics()
        numbers += range(before + 1, before + 1 + len(batches))
        if len(steps) > len(batches):
            # A step that the clock decides is not taken where there is nothing to close.
            numbers.append(metrics.steps if metrics.steps > before + len(batches) else None)
        if steps[-1].held is not None:
            assert metrics.ledger.held == steps[-1].held
    for number, step in zip(numbers, transcript.steps, strict=True):
        emitted = [
            None if number is None else sink.steps.get(number)
            for sink in (outputs.results, outputs.late, outputs.quarantine, outputs.duplicates or CollectSink())
        ]
        tables = [[] if table is None else [table] for table in emitted]
        assert outcome_of(transcript, *tables) == step.expected, f"step {number}"


def runs(transcript: Transcript) -> list[list[TranscriptStep]]:
    """A story in runs: each takes in the batches up to an end, or to the end of the story."""
    found: list[list[TranscriptStep]] = [[]]
    for step in transcript.steps:
        found[-1].append(step)
        if step.records is None:
            found.append([])
    return [steps for steps in found if steps]


def run(
    spark: SparkSession, folder: Path, transcript: Transcript, last: TranscriptStep, outputs: Outputs, clock: Clock
) -> sp.RunningQuery:
    """Take in what there is, then end as the story says."""
    definition = transcript.definition
    df = read_batches(spark, folder / "in", transcript.schema)
    stream = Stream(df, definition.time, definition.keys, distinct=definition.distinct)
    guard, past = transcript.guard, transcript.past
    max_past = None if past.max_past_us is None else f"{past.max_past_us} microseconds"
    question = ContinuousQuery(stream, definition.window, definition.query, emission=definition.emit).lateness(
        transcript.policy,
        allowed=f"{definition.allowed_lateness_us} microseconds",
        guard=sp.TimeGuard(
            max_future=None if guard.max_future_us is None else f"{guard.max_future_us} microseconds",
            max_past="auto" if past.auto else max_past,
            support=guard.support,
        ),
    )
    options: dict[str, Any] = {"checkpoint": folder / "checkpoint", **outputs.options()}
    flush: bool | Literal["auto"] = "auto" if last.ending == "auto" else last.ending == "all"
    query = question.start(available_now=True, flush=flush, **options)
    query.await_termination()
    if last.ending == "idle":
        clock.asked.clear()
        query = question.start(trigger="10 ms", idle_timeout="1 ms", **options)
        assert clock.asked.wait(WAIT_S)
        query.stop()  # after the step that is under way, if there is one
    return query
