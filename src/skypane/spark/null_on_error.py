"""Null on error: the value of an SQL expression, or null for a record for which Spark raises an error.

Without it, one record that divides by zero would fail its batch, and every repetition of it, for ever. Spark's own
``try_`` functions are made of the same expression, ``TryEval``, which costs nothing while no error occurs. Around any
expression it needs a guard, which reads the columns first, outside the try:

* An error of the user's own DataFrame is not hidden. Spark merges projections, so it would compute a column of the
  DataFrame where it is used: within the try.
* The try stays around all of it. Spark computes what several expressions have in common before any of them, except what
  depends on a condition; and it moves functions into the branches of a CASE, except those that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from py4j.java_gateway import JVMView
from pyspark.sql import Column, DataFrame

_FIELD_OF: Final = ("GetStructField", "GetArrayStructFields")
"""Expressions that read a field and cannot fail. Spark reads no other fields, so the guard may not either."""


def null_on_error(chosen: DataFrame) -> list[Column]:
    """The columns of a projection, each null where it cannot be computed."""
    jvm = chosen.sparkSession._jvm  # noqa: SLF001 - Python has no names for expressions
    assert jvm is not None
    listed = chosen._jdf.queryExecution().analyzed().projectList()  # noqa: SLF001
    return [_tolerant(jvm, listed.apply(index)) for index in range(listed.size())]


def _tolerant(jvm: JVMView, named: Any) -> Column:
    catalyst = jvm.org.apache.spark.sql.catalyst.expressions
    as_column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column
    expression = named.child() if named.nodeName() == "Alias" else named
    if expression.children().isEmpty():  # a column or a constant
        return Column(as_column(expression))
    tried = catalyst.TryEval(catalyst.KnownNullable(expression))
    read = _read(expression)
    if read:
        all_of_more = catalyst.AtLeastNNonNulls(len(read) + 1, _scala(jvm, read))  # never true, but Spark cannot know
        tried = catalyst.If(catalyst.Not(all_of_more), tried, catalyst.Literal.create(None, expression.dataType()))
    return Column(as_column(tried))


def _read(expression: Any) -> Sequence[Any]:
    """The columns that an expression reads; of structs the fields."""
    columns = list(_items(expression.references()))
    if not any(column.dataType().typeName() in {"struct", "array"} for column in columns):
        return columns
    return list({str(found.canonicalized()): found for found in _walk(expression)}.values())


def _walk(expression: Any) -> Iterator[Any]:
    if _is_path(expression):
        yield expression
        return
    for child in _items(expression.children()):
        yield from _walk(child)


def _is_path(expression: Any) -> bool:
    """Whether it is a column, or a field of one."""
    name = expression.nodeName()
    return name == "AttributeReference" or (name in _FIELD_OF and _is_path(expression.child()))


def _items(found: Any) -> Iterator[Any]:
    items = found.iterator()
    while items.hasNext():
        yield items.next()


def _scala(jvm: JVMView, items: Sequence[Any]) -> Any:
    together = jvm.java.util.ArrayList()
    for item in items:
        together.add(item)
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(together).toSeq()
