"""Warming: start the Python of new executors, and have it load the kernels of a query, before they get work."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark import RDD
from pyspark.serializers import UTF8Deserializer

from skypane.flow.definition import Definition
from skypane.flow.late.reach import warm_reach
from skypane.flow.program import Program
from skypane.kernels.hashes import warm_hashes
from skypane.spark.executors.cluster import Cluster, Executor


def warm_kernels(definition: Definition) -> None:
    """Compile, or load from the cache, what a query calls."""
    warm_hashes()
    definition.query.warm_up()
    Program.of(definition).processing.warm_up()
    if definition.judges_late and definition.query.dominance is not None:
        warm_reach()


def warmer(cluster: Cluster, definition: Definition) -> Callable[[Iterable[Executor]], None]:
    """What warms executors for this query: one short task for each of their slots."""

    def warm(executors: Iterable[Executor]) -> None:
        places: RDD[str] = RDD(cluster.placed(executors), cluster.context, UTF8Deserializer())  # type: ignore[no-untyped-call]  # theirs

        def load(executor: str) -> str:
            warm_kernels(definition)
            return executor

        places.map(load).collect()

    return warm
