"""The transcripts of this folder, replayed in process (test_on_spark.py replays them on Spark)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.transcripts import Transcript, load_transcripts, replay

TRANSCRIPTS = load_transcripts(Path(__file__).parent)


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda t: t.name)
def test_transcript_on_the_core(transcript: Transcript, degree: int) -> None:
    for number, (step, replayed) in enumerate(zip(transcript.steps, replay(transcript, degree), strict=True), start=1):
        assert replayed.outcome == step.expected, f"step {number}"
        if step.punctuation_us is not None:
            assert replayed.punctuation_us == step.punctuation_us, f"step {number}"
        if step.held is not None:
            assert replayed.held == step.held, f"step {number}"
