"""Whatever the tree, every step does what one worker would have done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.local.engine import Engine
from skypane.model.errors import OptionError
from skypane.tuning.pattern_fit import work_of
from skypane.tuning.patterns import Pattern
from skypane.tuning.patterns.parse import parse_pattern
from tests.support.engine_runs import GUARD, POLICY, batches, same
from tests.support.patterns import TREES, trees
from tests.support.strategies import SCHEMA, definition_of, definitions, streams
from tests.support.transcripts import Transcript, load_transcripts, replay

TRANSCRIPTS = load_transcripts(Path(__file__).parents[1] / "transcripts")


@settings(max_examples=150, deadline=None)
@given(rows=streams(), chosen=definitions, tree=trees, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_every_step_does_what_one_worker_would_have_done(
    rows: list[dict[str, Any]], chosen: dict[str, Any], tree: Pattern, cuts: list[int]
) -> None:
    definition = definition_of({**chosen, "sliding": "auto"})
    if not tree.legal(work_of(definition)):
        with pytest.raises(OptionError, match="Use "):
            Engine(definition, POLICY, GUARD, pattern=tree).start()
        return
    patterned, alone = Engine(definition, POLICY, GUARD, pattern=tree), Engine(definition, POLICY, GUARD)
    state, other = patterned.start(), alone.start()
    for batch in batches(rows, cuts):
        table = pa.Table.from_pylist(batch, SCHEMA)
        one, two = patterned.step(state, [table.slice(0, 7), table.slice(7)]), alone.step(other, [table])
        same_outputs(one, two)
        state, other = one[0], two[0]
    same_outputs(patterned.flush(state), alone.flush(other))


def same_outputs(one: Any, other: Any) -> None:
    """What is kept may be arranged otherwise, by another slide; what is emitted and counted may not."""
    same((_without_rows(one[0]), one[1]), (_without_rows(other[0]), other[1]))


def _without_rows(state: Any) -> Any:
    return replace(state, rows=type(state.rows)())


@pytest.mark.parametrize("text", TREES)
def test_transcripts_in_every_pattern(text: str) -> None:
    tree, told = parse_pattern(text), 0
    for transcript in TRANSCRIPTS:
        if not tree.legal(work_of(transcript.definition)):
            with pytest.raises(OptionError, match="Use "):
                replay(transcript, pattern=tree)
            continue
        told += 1
        _as_told(transcript, tree)
    assert told >= 9 or "WF(PF(" in text  # stories have few windows, of which every other does not overlap


def _as_told(transcript: Transcript, tree: Pattern) -> None:
    for number, (step, replayed) in enumerate(zip(transcript.steps, replay(transcript, 3, tree), strict=True), start=1):
        assert replayed.outcome == step.expected, f"{transcript.name}: step {number}"
        if step.punctuation_us is not None:
            assert replayed.punctuation_us == step.punctuation_us, f"{transcript.name}: step {number}"
