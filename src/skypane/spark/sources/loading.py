"""Loading: reads the source that settings describe; a one-line error if Spark does not know or accept it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from skypane.model.errors import OptionError
from skypane.spark.failures import readable


def load_stream(
    spark: SparkSession, source: str, *, options: Mapping[str, Any], schema: str | None = None, path: str | None = None
) -> DataFrame:
    """The streaming DataFrame of a source; its columns are known, nothing is read yet."""
    try:
        reader = spark.readStream.format(source).options(**options)
        return (reader.schema(schema) if schema else reader).load(path)
    except (PySparkException, Py4JJavaError) as error:
        if (clear := readable(error)) is not error:
            raise clear from error
        raise OptionError(f"The source {source!r} cannot be read: {_why(error)}") from error


def _why(error: PySparkException | Py4JJavaError) -> str:
    """The first line of it: the others are about the inside of Spark."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return str(text).strip().splitlines()[0]
