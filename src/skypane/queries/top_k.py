"""Top-k: the records with the largest score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane import kernels
from skypane.model.columns import ID, PREFIX
from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Groups, Int64Array
from skypane.model.numbers import whole_number
from skypane.queries.base import Expression, Grouped, Invalid, Row, Selection
from skypane.queries.preferences import comparable
from skypane.tables.take import take_rows

SCORE = "score"
_SCORE_INPUT = f"{PREFIX}score"
_RANKED = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_duration,
)


@dataclass(frozen=True)
class TopK(Selection):
    """The ``k`` records with the largest ``score``, a SQL expression; ties go to the smaller record id.

    The score is a number, a date, a timestamp or a day-time interval; it keeps its type and is compared exactly.
    """

    kind = "top_k"
    in_threads = True

    k: int
    score: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k"))
        if not isinstance(self.score, str) or not self.score.strip():
            raise OptionError(
                f"score={self.score!r} must be a SQL expression over the columns, such as 'rating / price'."
            )

    def describe(self) -> Mapping[str, object]:
        """k and the score."""
        return {"type": self.kind, "k": self.k, "score": self.score}

    def check(self, schema: pa.Schema) -> None:
        """The name of the added column is free, and scores can be ranked."""
        if SCORE in (name.lower() for name in schema.names):
            raise SchemaError(
                f"The records have a column {SCORE!r}, which top-k adds. Rename it, e.g. to 'points', first."
            )
        kind = schema.field(_SCORE_INPUT).type
        if not any(is_kind(kind) for is_kind in _RANKED):
            raise OptionError(
                f"The score {self.score!r} is of type {kind}; it must be a number, a date, a timestamp or an interval."
            )

    def expressions(self) -> Mapping[str, Expression]:
        """The score."""
        return {_SCORE_INPUT: Expression(self.score, compared=True)}

    def added_columns(self) -> Sequence[str]:
        """The score."""
        return (SCORE,)

    def warm_up(self) -> None:
        """Compile the ranking kernel."""
        kernels.top_k_groups(np.array([1.0, 2.0]), np.array([1, 2]), Groups.whole(2).offsets, 1)

    def needs_record_id(self) -> bool:
        """Equal scores are cut by record id."""
        return True

    def invalid(self, rows: pa.Table) -> Sequence[Invalid]:
        """A score that cannot be ranked."""
        scores = rows.column(_SCORE_INPUT)
        null = np.asarray(pc.is_null(scores).to_numpy(), dtype=np.bool_)
        if not pa.types.is_floating(scores.type):
            return (Invalid(null, "null score"),)
        nan = np.asarray(pc.fill_null(pc.is_nan(scores), fill_value=False).to_numpy(), dtype=np.bool_)
        return (Invalid(null, "null score"), Invalid(nan, "NaN score"))

    def _ranked(self, rows: pa.Table, groups: Groups) -> Int64Array:
        scores = comparable(rows.column(_SCORE_INPUT))
        return kernels.top_k_groups(scores, rows.column(ID).to_numpy(), groups.offsets, self.k)

    def inputs(self) -> Sequence[str]:
        """The score and the tie breaker."""
        return (_SCORE_INPUT, ID)

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        """The best k of each group."""
        return np.sort(self._ranked(rows, groups))

    @property
    def ranking(self) -> TopK:
        """This query selects by rank."""
        return self

    def ranks(self, rows: pa.Table) -> Int64Array:
        """The rank of each row, 0 for the best."""
        scores, whole = comparable(rows.column(_SCORE_INPUT)), Groups.whole(rows.num_rows)
        order = kernels.top_k_groups(scores, rows.column(ID).to_numpy(), whole.offsets, rows.num_rows)
        ranks = np.empty(rows.num_rows, dtype=np.int64)
        ranks[order] = np.arange(rows.num_rows)
        return ranks

    def scored(self, rows: pa.Table) -> pa.Table:
        """The rows with their score."""
        return rows.append_column(SCORE, rows.column(_SCORE_INPUT))

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """The best k of each group, best first, with their score."""
        best = self._ranked(partials, groups)
        return Grouped(self.scored(take_rows(partials, best)), Groups.from_sizes(np.minimum(groups.sizes, self.k)))

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Sort everything."""
        ranked = sorted(sorted(rows, key=lambda row: row[ID]), key=lambda row: row[_SCORE_INPUT], reverse=True)
        return [{**row, SCORE: row[_SCORE_INPUT]} for row in ranked[: self.k]]
