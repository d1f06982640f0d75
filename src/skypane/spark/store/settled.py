"""Settled: files with rows of sealed panes, which are written once and read until no window needs them any more.

Each step adds the rows of the panes that it seals; what is still open is written anew. Many small files are slow to
read, so that now and then a step takes in all of them, and writes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from skypane.flow.definition import Definition
from skypane.flow.processing.choice import processing_of
from skypane.model.panes import Span
from skypane.spark.store.manifest import StoredPart

MOST_FILES: Final = 64
"""A step finds at most so many, or leaves none."""


def settled_parts(
    definition: Definition, parts: Sequence[StoredPart], punctuation_us: int | None
) -> tuple[StoredPart, ...]:
    """The files whose panes were all sealed by the steps before, oldest first."""
    if punctuation_us is None or not processing_of(definition).settles:
        return ()
    before = definition.window.sealed_before(punctuation_us)
    found = [part for part in parts if part.numbers is not None and part.numbers.end <= before]
    return tuple(found) if len(found) <= MOST_FILES else ()


def still_needed(definition: Definition, parts: Sequence[StoredPart], span: Span) -> tuple[StoredPart, ...]:
    """Those of them that windows after the span look at."""
    newest = np.array([0 if part.numbers is None else part.numbers.end - 1 for part in parts], dtype=np.int64)
    needed = definition.window.last_window(newest) + definition.emit.looks_back >= span.end
    return tuple(part for part, wanted in zip(parts, needed.tolist(), strict=True) if wanted)
