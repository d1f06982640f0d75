"""Prepare: the records as the stages want them - keys normalised, and the internal columns that Spark computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import DoubleType, FloatType, NumericType

from skypane.model.columns import GROUP, ID, KEY_GROUPS, PREFIX
from skypane.model.errors import OptionError, SchemaError
from skypane.queries.base import Expression, Query
from skypane.spark.schemas import quoted


def with_computed_columns(df: DataFrame, query: Query, keys: tuple[str, ...]) -> DataFrame:
    """The records with the internal columns that Spark computes: key group, record id, expressions."""
    with _without_ansi(df.sparkSession):
        computed = {name: _computed(df, expression) for name, expression in query.expressions().items()}
        df = df.withColumns(computed) if computed else df
    extra: dict[str, Column] = {}
    if query.needs_record_id():
        own = [name for name in df.columns if not name.startswith(PREFIX)]
        extra[ID] = F.xxhash64(*(quoted(name) for name in own))
        try:
            df.select(extra[ID])
        except AnalysisException as error:
            raise SchemaError(
                "Ties are cut by a hash of the whole record, but Spark cannot hash columns of type map. "
                "Drop them first, or turn them into text with F.to_json."
            ) from error
    if keys:
        extra[GROUP] = F.pmod(F.xxhash64(*(quoted(key) for key in keys)), F.lit(KEY_GROUPS)).cast("int")
    return df.withColumns(extra) if extra else df


@contextmanager
def _without_ansi(spark: SparkSession) -> Iterator[None]:
    """Let expressions that cannot be computed for some record (a division by zero) give null.

    With ANSI errors, Spark's default, one such record would fail its batch, and every replay of it, for ever. A null
    score is quarantined instead, and aggregates leave nulls out.
    """
    setting = "spark.sql.ansi.enabled"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, "false")
    try:
        yield
    finally:
        spark.conf.set(setting, before)


def _computed(df: DataFrame, expression: Expression) -> Column:
    """A SQL expression over the records as a column; one that cannot be computed is refused here, not by a worker."""
    try:
        kind = df.select(F.expr(expression.sql)).schema.fields[0].dataType
    except (AnalysisException, ParseException) as error:
        why = str(error).strip().splitlines()[0]
        raise OptionError(f"The expression {expression.sql!r} cannot be computed: {why}") from error
    _refuse_chance(df, expression.sql)
    if not expression.as_double:
        return F.expr(expression.sql)
    if not isinstance(kind, NumericType):
        raise OptionError(f"The expression {expression.sql!r} is a {kind.simpleString()}; it must be a number.")
    return F.expr(expression.sql).cast("double")


def _refuse_chance(df: DataFrame, sql: str) -> None:
    """A batch that is repeated after a crash must give the same answers again."""
    chosen = df.select(F.expr(sql))
    if _is_deterministic(df) and not _is_deterministic(chosen):
        raise OptionError(
            f"The expression {sql!r} gives other values each time it is computed, so answers could not be repeated "
            "after a crash. Compute it before, where the records come from, and store it with them."
        )


def _is_deterministic(df: DataFrame) -> bool:
    plan = df._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark says it nowhere else
    return bool(plan.deterministic())


def normalised_keys(df: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Like Spark's own GROUP BY, -0.0 and 0.0 are one key."""
    floating = [f for f in df.schema.fields if f.name in keys and isinstance(f.dataType, DoubleType | FloatType)]
    positive = {f.name: quoted(f.name) + F.lit(0.0).cast(f.dataType) for f in floating}
    return df.withColumns(positive) if positive else df


def check_reserved(names: Sequence[str]) -> None:
    """Refuse records whose columns would be taken for our own."""
    for name in names:
        if name.lower().startswith(PREFIX):
            raise SchemaError(f"Column {name!r}: names that start with {PREFIX!r} are reserved. Rename it.")
