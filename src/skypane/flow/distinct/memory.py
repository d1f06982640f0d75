"""Memory: the ids that the steps before have accepted, and those that later steps have to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skypane.flow.definition import Definition
from skypane.flow.distinct.id_rows import remembered_from_us
from skypane.flow.distinct.known_ids import KnownIds
from skypane.flow.panes.decision import Decision
from skypane.flow.reports import R, S, StateRows
from skypane.flow.stages import Stages
from skypane.flow.state import StepState


def known_ids_of(
    definition: Definition, before: StepState[S, Any], stages: Stages[R, S], fresh: Sequence[R] = ()
) -> KnownIds | None:
    """The ids that were accepted before, or are fresh from the pane stage; ``None`` where duplicates are not found."""
    if definition.distinct is None:
        return None
    from_us = remembered_from_us(definition, before.progress.punctuation_us)
    return KnownIds(stages.known_ids(before.rows, fresh), from_us)


def remembered_ids(
    definition: Definition, rows: StateRows[S], stages: Stages[R, S], fresh: Sequence[R], decision: Decision[R]
) -> tuple[S, ...]:
    """The ids by which later steps find duplicates."""
    if definition.distinct is None:
        return ()
    return stages.remember(rows, fresh, decision.ids, decision.progress.punctuation_us)
