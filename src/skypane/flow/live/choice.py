"""Which live set follows which query."""

from __future__ import annotations

from skypane.flow.definition import Definition
from skypane.flow.live.base import LiveSet
from skypane.flow.live.ranking import LiveRanking
from skypane.flow.live.skyline import LiveSkyline
from skypane.model.errors import OptionError
from skypane.queries.base import Query


def live_kind(query: Query) -> type[LiveSet]:
    """How the answers of a query are followed; raises :class:`OptionError` with the reason if they cannot be."""
    if query.dominance is not None and query.answer_is_partial:
        return LiveSkyline
    if query.ranking is not None:
        return LiveRanking
    if query.dominance is not None:
        raise OptionError(
            f"live(...) emits the records that enter and leave an answer; with {query.kind}, a record that stays also "
            "changes its kmax, and its rank, whenever any other one comes or goes. Use .skyline(...) with live(...), "
            "or .window(...)."
        )
    if query.selective:
        raise OptionError(
            f"live(...) follows skylines and the best k by score, not queries of type {query.kind!r}: they declare "
            "neither dominance nor ranking. Use .window(...)."
        )
    raise OptionError(
        f"live(...) emits the records that enter and leave an answer; the answers of {query.kind} are not records. "
        "Use .window(...)."
    )


def live_set(definition: Definition, life_us: int) -> LiveSet:
    """The live set of a query."""
    return live_kind(definition.query)(definition, life_us)
