"""Which processing serves which query."""

from __future__ import annotations

from typing import Final

from skypane.flow.definition import Definition
from skypane.flow.processing.base import Processing
from skypane.flow.processing.in_order import InOrder
from skypane.flow.processing.live import Live
from skypane.flow.processing.out_of_order import OutOfOrder
from skypane.flow.processing.ranked import Ranked
from skypane.model.errors import OptionError

PROCESSINGS: Final[dict[str, type[Processing]]] = {kind.name: kind for kind in (OutOfOrder, InOrder, Ranked, Live)}


def processing_of(definition: Definition) -> Processing:
    """Build the processing of a query; a :class:`~skypane.flow.program.Program` holds it."""
    return processing_kind(definition)(definition)


def processing_kind(definition: Definition) -> type[Processing]:
    """The processing that the query or its windows need, or else the configured one."""
    asked = InOrder.name if definition.query.in_order else definition.processing
    return PROCESSINGS[definition.window.processing or asked]


def check_processing(definition: Definition) -> None:
    """Refuse a processing that there is not, and queries that the one they need cannot process."""
    asked = (OutOfOrder.name, InOrder.name)
    if definition.processing not in asked:
        raise OptionError(f"processing={definition.processing!r} must be {' or '.join(map(repr, asked))}.")
    processing_kind(definition).check(definition)
