"""Windowed: records and windows, of which each query is a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skypane.api.calls import called
from skypane.api.continuous_query import ContinuousQuery
from skypane.model.ddl import SchemaLike
from skypane.model.panes import Panes
from skypane.queries.aggregates import Aggregates
from skypane.queries.apply import Apply
from skypane.queries.base import Query
from skypane.queries.fold import Fold
from skypane.queries.folded import fold_query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.spark.schemas import checked_schema
from skypane.spark_habits import SparkHabits

if TYPE_CHECKING:
    from skypane.api.stream import Stream


@dataclass(frozen=True)
class Windowed(SparkHabits):
    """Records and windows; say next what to ask of each window."""

    source: Stream
    spec: Panes

    @called(".skyline(minimize=['price'], maximize=['stars'])")
    def skyline(self, *, minimize: Sequence[str] | str = (), maximize: Sequence[str] | str = ()) -> ContinuousQuery:
        """The records of each window that no other record of the window dominates."""
        return self.query(Skyline(Preferences.of(minimize, maximize)))

    @called(".top_delta(5, minimize=['price'], maximize=['stars'])")
    def top_delta(
        self, delta: int, *, minimize: Sequence[str] | str = (), maximize: Sequence[str] | str = ()
    ) -> ContinuousQuery:
        """The ``delta`` skyline records of each window that are hardest to beat, with their ``kmax``."""
        return self.query(TopDelta(delta, Preferences.of(minimize, maximize)))

    @called(".top_k(5, score='stars / price')")
    def top_k(self, k: int, *, score: str) -> ContinuousQuery:
        """The ``k`` records of each window with the largest ``score``, any Spark SQL expression."""
        return self.query(TopK(k, score))

    @called(".aggregate(n='count', p='mean(price)')")
    def aggregate(self, /, **outputs: str) -> ContinuousQuery:
        """Aggregates of each window, e.g. ``n="count", p="mean(price)"``; the argument is any Spark SQL expression.

        Functions have the names of Spark SQL: docs/aggregates.md.
        """
        return self.query(Aggregates.of(outputs, self.source.time))

    @called(".apply(function, 'median double, n long')")
    def apply(self, function: Callable[..., Any], schema: SchemaLike) -> ContinuousQuery:
        """The rows that a function of yours returns for each window.

        function: ``fn(records)``, ``fn(key, records)`` or ``fn(key, window, records)``, as in Spark's
            ``applyInPandas``: parameters without a default count. ``records`` are those of one key and window in the
            order of their time, as an Arrow table, or as the annotation says: ``pa.Table``, ``dict`` (NumPy arrays by
            column), ``pd.DataFrame``. ``key`` is a tuple, ``window`` an :class:`~skypane.model.window.Window`. It
            returns a table, a DataFrame, a dict of columns, a dict of plain values (one row) or a list of dicts.
        schema: the columns that it returns: text such as ``"median double, n long"``, or a schema of Arrow or Spark.
        """
        return self.query(Apply.of(function, checked_schema(schema, "schema")))

    @called(".fold(init, update, merge, finish, schema='n long')")
    def fold(
        self,
        init: Any,
        update: Callable[[Any, Any], Any] | None = None,
        merge: Callable[[Any, Any], Any] | None = None,
        finish: Callable[..., Any] | None = None,
        *,
        schema: SchemaLike | None = None,
        state: SchemaLike | None = None,
        combine: str | Iterable[str] = (),
        inverse: Callable[[Any, Any], Any] | None = None,
    ) -> ContinuousQuery:
        """An incremental function of yours over each window, see :class:`~skypane.queries.fold.Fold`.

        ``init`` alone may also be an ``sp.Fold``, or a class that has its parts.
        """
        if update is None:
            fold = Fold.of(init, "init")
        else:
            fold = Fold(init, update, merge, finish, schema, state, combine, inverse)
        checked_schema(fold.returns, "schema")
        return self.query(fold_query(fold))

    def query(self, query: Query) -> ContinuousQuery:
        """Any :class:`~skypane.queries.base.Query`, your own included."""
        return ContinuousQuery(self.source, self.spec, self.source.ask(query, self.spec))
