"""Choice: who moves the executors of a query, by how Spark runs."""

from __future__ import annotations

from pyspark.sql import SparkSession

from skypane.flow.definition import Definition
from skypane.model.errors import OptionError
from skypane.spark.executors.allocated import AllocatedExecutors
from skypane.spark.executors.base import Executors, GivenSlots
from skypane.spark.executors.cluster import Cluster
from skypane.spark.executors.requested import EXPLAINED, RequestedExecutors
from skypane.spark.executors.warming import warmer
from skypane.tuning.elastic.elastic import Elastic


def slots_of(spark: SparkSession) -> int:
    """How many tasks Spark runs at a time."""
    return int(spark.sparkContext.defaultParallelism)


def degree_limit(spark: SparkSession, elastic: Elastic) -> int:
    """The largest degree of a stage; refuses a cluster without a limit on its tasks."""
    limits = [limit for limit in (elastic.max_degree, Cluster(spark.sparkContext).max_slots) if limit is not None]
    if not limits:
        raise OptionError(
            "elastic=...: the cluster has no limit on its number of tasks, so the degrees could grow without end. Give "
            "sp.Elastic(max_degree=...), or set spark.cores.max, or, with dynamic allocation, "
            "spark.dynamicAllocation.maxExecutors."
        )
    # Tasks beyond what Spark can ever run would be waited for in vain, and make the load look small meanwhile.
    max_degree = min(limits)
    if max_degree < elastic.min_degree:
        raise OptionError(
            f"min_degree={elastic.min_degree} is more than the {max_degree} tasks that Spark can run here at a time. "
            "Lower it."
        )
    return max_degree


def executors_of(spark: SparkSession, definition: Definition, elastic: Elastic | None, slots: int) -> Executors:
    """Choose how a query that is about to start gets its executors."""
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
