"""SelectedColumns: which columns of the rows a sink stores, as SQL expressions over a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from skypane.model.errors import OptionError
from skypane.spark.expressions import operators, unlogged
from skypane.spark.session_copies import analysed


@dataclass(frozen=True)
class SelectedColumns:
    """The columns that a sink stores; without expressions, all of them as they are."""

    expressions: tuple[str, ...]
    sink: str
    """For messages."""

    @classmethod
    def of(cls, columns: str | Sequence[str] | None, sink: str) -> SelectedColumns:
        """Refuse anything but a text or a list of texts."""
        given = [columns] if isinstance(columns, str) else [] if columns is None else columns
        plain = isinstance(given, list | tuple) and all(isinstance(one, str) and one.strip() for one in given)
        if not plain or (columns is not None and not given):
            raise OptionError(
                f"{sink}: columns={columns!r} must be a list of SQL expressions, e.g. "
                'columns=["city", "window.start AS window_start", "price"].'
            )
        return cls(tuple(given), sink)

    def select(self, rows: DataFrame) -> DataFrame:
        """The rows with these columns."""
        return rows.selectExpr(*self.expressions) if self.expressions else rows

    def check(self, spark: SparkSession, schema: StructType) -> StructType:
        """The columns that come out for rows of this schema; refuse expressions that cannot be computed."""
        if not self.expressions:
            return schema
        rows = spark.createDataFrame([], schema)
        with unlogged():
            selected = self._analysed(rows)
        if "Aggregate" in operators(analysed(selected)):
            raise OptionError(
                f"{self.sink}: columns has an aggregate function, which would leave one row of each step. Use the "
                "columns of one row, or aggregate in the query."
            )
        self._check_names(selected.columns)
        return selected.schema

    def _analysed(self, rows: DataFrame) -> DataFrame:
        try:
            return self.select(rows)
        except (AnalysisException, ParseException) as error:
            why = (str(error).strip().splitlines() or ["Spark does not understand them."])[0]
            raise OptionError(
                f"{self.sink}: columns={[*self.expressions]} cannot be computed: {why} The rows have: "
                f"{', '.join(rows.columns)}."
            ) from error

    def _check_names(self, names: Sequence[str]) -> None:
        """Spark ignores the case of names, and its writers refuse one that is there twice."""
        twice = [name for name, times in Counter(name.lower() for name in names).items() if times > 1]
        if twice:
            raise OptionError(
                f"{self.sink}: columns gives two columns the name {twice[0]!r}. Name one of them otherwise: "
                f"EXPRESSION AS {twice[0]}_2."
            )
