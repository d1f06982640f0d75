"""AllocatedExecutors: with Spark's dynamic allocation only degrees change; Spark sees tasks wait, or executors idle."""

from __future__ import annotations

from skypane.spark.executors.cluster import Cluster


class AllocatedExecutors:
    """Spark asks for executors while tasks wait, and releases those that have been idle."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def describe(self) -> str:
        """One line for ``explain()``."""
        text = "degrees only: Spark's dynamic allocation adds executors while tasks wait, releases those idle for"
        return f"{text} {self._cluster.idle_timeout}"

    def slots(self) -> int:
        """Of the executors that there are."""
        return max(1, sum(executor.cores for executor in self._cluster.executors()))

    def ready(self) -> int | None:
        """As many as tasks wait for: fewer tasks would never bring more."""
        return None

    def count(self) -> int | None:
        """How many executors Spark has now."""
        return len(self._cluster.executors())

    def scale_to(self, degree: int) -> None:
        """Do nothing: Spark adds and releases executors itself."""

    def close(self) -> None:
        """Do nothing: Spark adds and releases executors itself."""
