"""Choice: who moves the executors of a query, by how Spark runs."""

from __future__ import annotations

from pyspark.sql import SparkSession

from skypane.flow.definition import Definition
from skypane.model.errors import OptionError
from skypane.scheduling.elastic import Elastic
from skypane.spark.executors.allocated import AllocatedExecutors
from skypane.spark.executors.base import Executors, GivenSlots
from skypane.spark.executors.cluster import Cluster
from skypane.spark.executors.requested import EXPLAINED, RequestedExecutors
from skypane.spark.executors.warming import warmer


def slots_of(spark: SparkSession) -> int:
    """How many tasks Spark runs at a time."""
    return int(spark.sparkContext.defaultParallelism)


def most_degree(spark: SparkSession, elastic: Elastic) -> int:
    """The most tasks of a stage; refuses a cluster of which nobody says how large it may grow."""
    limits = [limit for limit in (elastic.max_degree, Cluster(spark.sparkContext).most_slots) if limit is not None]
    if not limits:
        raise OptionError(
            "elastic=...: nobody says how many tasks there may be on this cluster. Give sp.Elastic(max_degree=...), or "
            "set spark.cores.max, or spark.dynamicAllocation.maxExecutors with dynamic allocation."
        )
    # Tasks beyond what Spark can ever run would be waited for in vain, and make the load look small meanwhile.
    most = min(limits)
    if most < elastic.min_degree:
        raise OptionError(
            f"min_degree={elastic.min_degree} is more than the {most} tasks that Spark can run here at a time."
        )
    return most


def executors_of(spark: SparkSession, definition: Definition, elastic: Elastic | None, slots: int) -> Executors:
    """Those of a query that is about to start."""
    cluster = Cluster(spark.sparkContext)
    if elastic is None or cluster.is_local:
        return GivenSlots(slots)
    if cluster.allocates:
        return AllocatedExecutors(cluster)
    return RequestedExecutors(cluster, warmer(cluster, definition))


def explain_executors(spark: SparkSession) -> str:
    """Which of them it would be, in words; nothing is started."""
    cluster = Cluster(spark.sparkContext)
    if cluster.is_local:
        return GivenSlots(slots_of(spark)).describe()
    return AllocatedExecutors(cluster).describe() if cluster.allocates else EXPLAINED
