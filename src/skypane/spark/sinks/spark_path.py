"""SparkPath: a path that Spark's own writer gets, and the folder of this computer that it means, if it means one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from skypane.spark.store.folders import local_path


@dataclass(frozen=True)
class SparkPath:
    """A path as the user wrote it, and the folder that it means unless Spark has another file system by default."""

    written: str
    folder: Path | None
    """``None`` for an address of another file system, which is Spark's to understand."""

    @classmethod
    def of(cls, path: str, option: str) -> SparkPath:
        """Understood now: the working directory may be another one when the query starts."""
        elsewhere = urlsplit(path).scheme not in {"", "file"}
        return cls(path, None if elsewhere else local_path(path, option))

    def here(self, spark: SparkSession) -> Path | None:
        """The folder of this computer that Spark will write to; ``None`` if it writes elsewhere."""
        return self.folder if self._is_address or _is_local(spark) else None

    def for_spark(self, spark: SparkSession) -> str:
        """For Spark, whose working directory is the one that this process had when Spark was started."""
        folder = self.here(spark)
        if folder is None:
            return self.written
        return f"file://{folder}" if self._is_address else str(folder)

    def __str__(self) -> str:
        return self.written if self.folder is None else str(self.folder)

    @property
    def _is_address(self) -> bool:
        """Whether it says itself that it is a path of this computer."""
        return urlsplit(self.written).scheme == "file"


def _is_local(spark: SparkSession) -> bool:
    """Whether a path without a scheme is one of this computer for Spark."""
    conf = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - there is no other way
    return str(conf.get("fs.defaultFS")).startswith("file:")
