"""Expressions: SQL over the records as columns, checked so that nothing is found out by a worker."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging import LogRecord
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import DataType, StringType

from skypane.model.errors import OptionError
from skypane.queries.base import Expression
from skypane.spark.failures import without_stacks
from skypane.spark.null_on_error import null_on_error
from skypane.spark.schemas import has_arrow_type
from skypane.spark.session_copies import analysed

_ROWS_CHANGE = {
    "Generate": "a generator such as explode, which would multiply records",
    "Aggregate": "an aggregate function, and would leave one record of all",
    "Window": "a window function, which needs all records at once",
}


_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def with_expressions(df: DataFrame, expressions: Mapping[str, Expression]) -> DataFrame:
    """The records with a column for each expression, as Spark computes it in this session; null where it fails.

    A null score is quarantined, and aggregates leave nulls out.
    """
    if not expressions:
        return df
    with unlogged():
        if not _all_fine(df, list(expressions.values())):
            for expression in expressions.values():
                _check(df, expression)
        chosen = df.select(*(F.expr(expression.sql) for expression in expressions.values()))
    return df.withColumns(dict(zip(expressions, null_on_error(chosen), strict=True)))


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep PySpark from logging refused expressions of this thread with a Java stack; the error says why."""
    here = threading.get_ident()

    def of_others(record: LogRecord) -> bool:
        return record.thread != here

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(of_others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(of_others)


def _all_fine(df: DataFrame, expressions: Sequence[Expression]) -> bool:
    """Whether :func:`_check` has nothing to say about any of them, asked once for all: a hundred take seconds."""
    try:
        chosen = df.select(*(F.expr(expression.sql) for expression in expressions))
        if len(chosen.columns) != len(expressions):
            return False
        for field, expression in zip(chosen.schema.fields, expressions, strict=True):
            _refuse_type(field.dataType, expression)
        _refuse_other_records(df, chosen, "")
        _refuse_chance(df, chosen, "")
    except (PySparkException, Py4JJavaError, OptionError):
        return False
    return True


def _check(df: DataFrame, expression: Expression) -> None:
    """Raise :class:`OptionError` unless the expression gives one value for each record, the same each time."""
    sql = expression.sql
    try:
        chosen = df.select(F.expr(sql))
    except (PySparkException, Py4JJavaError) as error:
        raise OptionError(_not_understood(sql, error)) from error
    _refuse_other_records(df, chosen, sql)
    if len(chosen.columns) != 1:
        raise OptionError(f"The expression {sql!r} gives {len(chosen.columns)} columns; it must give one.")
    _refuse_type(chosen.schema.fields[0].dataType, expression)
    _refuse_chance(df, chosen, sql)


def _not_understood(sql: str, error: Exception) -> str:
    if "java.lang.StackOverflowError" in str(error):
        return (
            f"The expression {f'{sql[:60]} ...'!r} has {len(sql):,} characters, and is nested too deeply for Spark. "
            "Compute parts of it before, as columns of the DataFrame."
        )
    why = (without_stacks(str(error).strip()).splitlines() or ["Spark does not understand it."])[0]
    return f"The expression {sql!r} cannot be computed: {why}"


def _refuse_other_records(df: DataFrame, chosen: DataFrame, sql: str) -> None:
    """An expression sees one record at a time and leaves it one record."""
    plan = analysed(chosen)
    added = Counter(operators(plan)) - Counter(operators(analysed(df)))
    what = "a subquery, which the stream cannot repeat" if not plan.subqueries().isEmpty() else None
    for operator in added:
        if operator != "Project":
            what = _ROWS_CHANGE.get(operator, f"what Spark calls {operator}, which is not computed record by record")
    if what is not None:
        raise OptionError(
            f"The expression {sql!r} uses {what}. Use the columns of one record, or compute it where they come from."
        )


def operators(plan: Any) -> list[str]:
    """The names of a plan's operators."""
    children = plan.children()
    below = [name for index in range(children.size()) for name in operators(children.apply(index))]
    return [str(plan.nodeName()), *below]


def _refuse_type(kind: DataType, expression: Expression) -> None:
    if not has_arrow_type(kind):
        raise OptionError(
            f"The expression {expression.sql!r} is of type {kind.simpleString()}, which Spark cannot hand to Python. "
            "Cast it to a number or a string."
        )
    if expression.compared and isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
        raise OptionError(
            f"The expression {expression.sql!r} is a {kind.simpleString()}, which workers cannot compare. "
            f"Compare its bytes: collate({expression.sql}, 'UTF8_BINARY')."
        )


def _refuse_chance(df: DataFrame, chosen: DataFrame, sql: str) -> None:
    """A batch that is repeated after a crash must give the same answers again."""
    if analysed(df).deterministic() and not analysed(chosen).deterministic():
        raise OptionError(
            f"The expression {sql!r} gives other values each time it is computed, so answers could not be repeated "
            "after a crash. Compute it before, where the records come from, and store it with them."
        )
