"""Cluster: what Spark's own client interface says of executors, and does with them, through py4j."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from pyspark import SparkContext


class Executor(NamedTuple):
    """An executor that has registered."""

    id: str
    host: str
    cores: int


class Cluster:
    """The executors of a Spark context under any cluster manager: a standalone master, Kubernetes, YARN."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context
        self._spark: Any = context._jsc.sc()  # noqa: SLF001 - the one way to Spark's client interface
        self._jvm: Any = context._jvm  # noqa: SLF001

    @property
    def is_local(self) -> bool:
        """Whether tasks run in this very process; ``local-cluster`` has executors."""
        return str(self.context.master).split("[")[0] == "local"

    @property
    def is_stopped(self) -> bool:
        """Whether the session has ended."""
        return self.context._jsc is None  # noqa: SLF001 - there is no public way

    @property
    def allocates(self) -> bool:
        """Whether Spark's dynamic allocation is on."""
        return str(self._setting("spark.dynamicAllocation.enabled")).lower() == "true"

    @property
    def idle_timeout(self) -> str:
        """How long dynamic allocation keeps an idle executor, as configured or by Spark's default."""
        return str(self._setting("spark.dynamicAllocation.executorIdleTimeout") or "60s")

    @property
    def max_slots(self) -> int | None:
        """The limit on tasks at a time; ``None`` if the configuration sets none."""
        if self.is_local:
            return int(self.context.defaultParallelism)
        return min((most for most in (self._max_cores(), self._max_allocated()) if most is not None), default=None)

    def executors(self) -> list[Executor]:
        """The executors that are registered now, oldest first."""
        listed = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(self._spark.statusStore().executorList(True))
        found = [
            Executor(str(one.id()), str(one.hostPort()).rpartition(":")[0], int(one.totalCores()))
            for one in listed
            if str(one.id()) != "driver"
        ]
        return sorted(found, key=lambda executor: (len(executor.id), executor.id))

    def cores_per_executor(self) -> int:
        """As it is set, or as those have that are there."""
        cores = self._setting("spark.executor.cores")
        if cores is not None:
            return int(cores)
        return max((executor.cores for executor in self.executors()), default=1)

    def ask_for(self, total: int) -> bool:
        """Have so many from now on. Fewer than there are: none is replaced, but none ends either.

        Returns whether the cluster manager acknowledged the request.
        """
        return bool(self._spark.requestTotalExecutors(total, 0, self._jvm.scala.collection.immutable.HashMap()))

    def release(self, executors: Iterable[Executor]) -> list[str]:
        """End those that are not at work; which ones those were."""
        ids = self._seq([executor.id for executor in executors])
        ended = self._spark.schedulerBackend().killExecutors(ids, False, False, False)
        return [str(one) for one in self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(ended)]

    def placed(self, executors: Iterable[Executor]) -> Any:
        """A Java RDD with a partition for each core of each executor, to be computed there."""
        places = [
            self._jvm.scala.Tuple2(executor.id, self._seq([f"executor_{executor.host}_{executor.id}"]))
            for executor in executors
            for _ in range(executor.cores)
        ]
        text = self._jvm.scala.reflect.ClassTag.apply(self._jvm.java.lang.Class.forName("java.lang.String"))
        return self._spark.makeRDD(self._seq(places), text).toJavaRDD()

    def _max_cores(self) -> int | None:
        """Of as many whole executors as the application may have cores for."""
        cores, each = self._setting("spark.cores.max"), self._setting("spark.executor.cores")
        return None if cores is None else int(cores) // int(each or 1) * int(each or 1)

    def _max_allocated(self) -> int | None:
        """Of as many executors as dynamic allocation may ask for."""
        executors = self._setting("spark.dynamicAllocation.maxExecutors") if self.allocates else None
        return None if executors is None else int(executors) * self.cores_per_executor()

    def _seq(self, items: list[Any]) -> Any:
        array = self._jvm.java.util.ArrayList()
        for item in items:
            array.add(item)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(array).toList()

    def _setting(self, name: str) -> str | None:
        return self.context.getConf().get(name)


def executors_for(degree: int, cores: int) -> int:
    """How many executors have so many slots."""
    return max(1, math.ceil(degree / max(1, cores)))
