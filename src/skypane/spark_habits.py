"""Spark habits: what to write instead of a method that Spark's objects have and skypane's do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skypane.model.suggestions import did_you_mean

_QUESTION: Final = ".window('1 minute').skyline(minimize=['price'])"
_STEPS: Final[Mapping[str, str]] = {
    "Stream": "sp.stream(df, time='ts')",
    "Windowed": "sp.stream(df, time='ts').window('1 minute')",
    "ContinuousQuery": f"sp.stream(df, time='ts'){_QUESTION}",
    "RunningQuery": f"sp.stream(df, time='ts'){_QUESTION}.start(sink=sp.ConsoleSink())",
}
"""The classes of the chain, and how each is made."""
_members: dict[str, frozenset[str]] = {}
"""The public methods and properties of each."""


class _Habit(NamedTuple):
    """Names of Spark's, and what to write instead."""

    names: str
    write: str


_HABITS: Final[tuple[_Habit, ...]] = (
    _Habit(
        names="alias cache coalesce columns crossJoin distinct drop dropDuplicates dropDuplicatesWithinWatermark "
        "dropna dtypes explode fillna filter isStreaming join limit map mapInArrow mapInPandas na orderBy persist "
        "printSchema rdd repartition replace sample schema select selectExpr sort toDF transform union unionAll "
        "unionByName unpivot where withColumn withColumnRenamed withColumns withColumnsRenamed",
        write="Use it on the DataFrame, before sp.stream(df, ...); or on answers, in a sink that is a function of "
        "(DataFrame, step).",
    ),
    _Habit(
        names="agg avg count first last max mean median min stddev sum",
        write="Aggregates are a query: write .window('1 minute').aggregate(n='count', p='mean(price)').",
    ),
    _Habit(
        names="collect display foreach head show tail take toArrow toLocalIterator toPandas",
        write="Answers go to a sink: write .start(sink=sp.ConsoleSink()), or .start(sink=sp.MemorySink('answers')) and "
        "read spark.table('answers').",
    ),
    _Habit(
        names="createOrReplaceTempView createTempView foreachBatch format option options outputMode queryName run save "
        "saveAsTable toTable trigger write writeStream writeTo",
        write="Answers go to a sink: write .start(sink=sp.ParquetSink('answers'), checkpoint='checkpoint', "
        "trigger='5 seconds'). sp.FormatSink(...) writes other formats; a function of (DataFrame, step) is called as "
        "by foreachBatch.",
    ),
    _Habit(
        names="cube groupBy groupByKey group_by groupby keyBy key_by partitionBy partition_by rollup",
        write="Keys belong to the stream: write sp.stream(df, time='ts', key='city').",
    ),
    _Habit(
        names="watermark withWatermark with_watermark",
        write=f"How long to wait for late records is a step of the query: write {_QUESTION}.lateness('10 seconds'). "
        "Without it skypane follows the delays of the stream.",
    ),
    _Habit(names="awaitTermination", write="Start the query first, then wait: .start(sink=...).await_termination()."),
)
_OF_RUNNING: Final[tuple[_Habit, ...]] = (
    _Habit(names="awaitTermination", write="Write await_termination()."),
    _Habit(names="isActive", write="Write is_active."),
    _Habit(
        names="id lastProgress progress recentProgress runId status",
        write="Counts and times are in metrics(), the plan is in explain().",
    ),
    _Habit(
        names="processAllAvailable", write="Start the query with available_now=True, then write await_termination()."
    ),
)
"""In place of Spark's StreamingQuery."""


class SparkHabits:
    """A step of the chain: asked for a name that it does not have, it says what to write."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        members = {name for name, value in vars(cls).items() if callable(value) or isinstance(value, property)}
        _members[cls.__name__] = frozenset(name for name in members if not name.startswith("_"))

    if not TYPE_CHECKING:  # or type checkers would believe every name

        def __getattr__(self, name: str) -> Any:
            """Only for names that are missing. Never looks at the object: a copy has no fields at first."""
            advice = None if name.startswith("_") else _advice(type(self).__name__, name)
            what = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(what if not advice else f"{what}. {advice}")


def _advice(kind: str, name: str) -> str:
    for step, made in _STEPS.items():
        if step != kind and name in _members.get(step, ()):
            return f"It belongs to another step: write {made}.{name}(...)."
    habits = (*_OF_RUNNING, *_HABITS) if kind == "RunningQuery" else _HABITS
    for habit in habits:
        if name in habit.names.split():
            return habit.write
    return did_you_mean(name, _members.get(kind, ())).strip()
