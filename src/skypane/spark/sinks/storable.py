"""Storable: whether Spark's writer of a format can store rows of some columns, asked before anything is written.

Nothing is written and nobody is connected to: Spark looks the format up, and the writer says which types it has and
what it thinks of its options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DataType, DayTimeIntervalType, StringType, StructField, StructType

from skypane.model.errors import OptionError
from skypane.model.suggestions import did_you_mean
from skypane.spark.failures import spark_failure
from skypane.spark.format_name import format_name
from skypane.spark.schemas import sql_name

CanStore = Callable[[DataType], bool]

_KNOWN: Final = ("parquet", "orc", "json", "csv", "text", "xml", "avro", "jdbc", "kafka", "delta")
_READ_ONLY: Final = {"rate", "rate-micro-batch", "socket", "statestore", "state-metadata", "hive"} | {
    "skypane-traffic",
    "skypane-replay",
}
"""Formats that Spark finds, and that have no writer."""
_SQL: Final = "org.apache.spark.sql.execution.datasources"
_CODES: Final = re.compile(r"^\[[A-Z_.]+\] | SQLSTATE: \w+")
_OF_SPARK: Final = "org.apache.spark."
"""Whose writers are known to do nothing when a write is prepared."""
_OF_KAFKA: Final = ("key", "value", "topic", "partition", "headers")
_AS_JSON: Final = 'columns=["to_json(struct(*)) AS value"]'


@dataclass(frozen=True)
class Target:
    """What rows are written to: a format with options."""

    sink: str
    """For messages."""
    format: str
    """As the user wrote it."""
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """The short name of the format."""
        return format_name(self.format)

    def option(self, name: str) -> str | None:
        """The value of an option; Spark ignores the case of their names."""
        return next((value for other, value in self.options.items() if other.lower() == name), None)


def check_storable(spark: SparkSession, target: Target, rows: StructType) -> None:
    """Raise an :class:`OptionError` with the remedy if Spark has no such format, or none that stores such rows."""
    if target.name == "kafka":
        _check_kafka(target, rows)
    if target.name == "text":
        _check_text(target, rows)
    provider = _provider(spark, target)
    if target.name == "jdbc":
        with _refused(target):
            _options_of_jdbc(spark, target)
        _check_types(target, rows, _stored_by_jdbc(spark, target))
    elif provider is not None and (writer := _file_format(spark, provider)) is not None:
        _check_types(target, rows, lambda kind: bool(writer.supportDataType(_java(spark, kind))))
        if writer.getClass().getName().startswith(_OF_SPARK):
            with _refused(target):
                _prepare_write(spark, writer, target, rows)


def _check_kafka(target: Target, rows: StructType) -> None:
    kinds = {field.name.lower(): field.dataType for field in rows.fields}
    if not isinstance(kinds.get("value"), StringType | BinaryType):
        has = "have none" if "value" not in kinds else f"have one of type {kinds['value'].simpleString()}"
        raise OptionError(
            f"{target.sink}: Kafka needs a column 'value' of type string or binary, and the rows {has}. Choose what a "
            f"message is, e.g. {_AS_JSON}."
        )
    dropped = [name for name in kinds if name not in _OF_KAFKA]
    if dropped:
        raise OptionError(
            f"{target.sink}: Kafka stores {', '.join(_OF_KAFKA)} of a row and would drop {', '.join(dropped)}. Put "
            f"them into the value, e.g. {_AS_JSON}, or choose columns without them."
        )
    if target.option("topic") is None and "topic" not in kinds:
        raise OptionError(f"{target.sink}: Kafka needs the option topic='...', or a column 'topic'.")


def _check_text(target: Target, rows: StructType) -> None:
    if len(rows.fields) != 1 or not isinstance(rows.fields[0].dataType, StringType):
        raise OptionError(
            f"{target.sink}: text stores one column of type string, and the rows have "
            f"{', '.join(f'{field.name} {field.dataType.simpleString()}' for field in rows.fields)}. Choose what a "
            f"line is, e.g. {_AS_JSON}."
        )


def _provider(spark: SparkSession, target: Target) -> Any:
    """The class that Spark finds for the format; ``None`` for a source that is written in Python."""
    if target.name in _READ_ONLY:
        raise OptionError(f"{target.sink}: Spark can read {target.format}, but not write it. Choose another format.")
    session = spark._jsparkSession  # noqa: SLF001 - Python has no name for it
    # Asked first: the other way Spark finds them only from a thread that has a session of its own.
    if session.sessionState().dataSourceManager().dataSourceExists(target.format):
        return None
    try:
        return _class(spark, f"{_SQL}.DataSource").lookupDataSource(target.format, session.sessionState().conf())
    except (PySparkException, Py4JJavaError) as error:
        raise OptionError(
            f"{target.sink}: {_why(error)}{did_you_mean(target.name, _KNOWN)} A format that does not come with Spark "
            "needs its package when the session is made, e.g. in spark.jars.packages."
        ) from error


def _file_format(spark: SparkSession, provider: Any) -> Any:
    """What writes the files of a file format; ``None`` for other formats."""
    name = provider.getName()
    if _is_a(spark, provider, f"{_SQL}.v2.FileDataSourceV2"):
        name = _class(spark, name)().fallbackFileFormat().getName()
    elif not _is_a(spark, provider, f"{_SQL}.FileFormat"):
        return None
    return _class(spark, name)()


def _prepare_write(spark: SparkSession, writer: Any, target: Target, rows: StructType) -> None:
    """What Spark does before it starts a job that writes; here nothing comes after it."""
    session, jvm = spark._jsparkSession, _jvm(spark)  # noqa: SLF001 - Python has no name for it
    job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(session.sessionState().newHadoopConf())
    writer.prepareWrite(session, job, jvm.PythonUtils.toScalaMap(dict(target.options)), _java(spark, rows))


def _options_of_jdbc(spark: SparkSession, target: Target) -> None:
    """Have Spark read the options, and find the driver; it connects to nobody."""
    options = dict(target.options)
    _class(spark, f"{_SQL}.jdbc.JdbcOptionsInWrite")(_jvm(spark).PythonUtils.toScalaMap(options))


def _stored_by_jdbc(spark: SparkSession, target: Target) -> CanStore:
    """Whether the database behind the address has a column type for a type."""
    dialect = _jvm(spark).org.apache.spark.sql.jdbc.JdbcDialects.get(target.option("url"))
    common = _class(spark, f"{_SQL}.jdbc.JdbcUtils").getCommonJDBCType

    def stored(kind: DataType) -> bool:
        java = _java(spark, kind)
        return bool(dialect.getJDBCType(java).isDefined() or common(java).isDefined())

    return stored


def _check_types(target: Target, rows: StructType, can_store: CanStore) -> None:
    for field in rows.fields:
        if not can_store(field.dataType):
            wanted = ", ".join(f'"{one}"' for each in rows.fields for one in _storable(each, can_store))
            raise OptionError(
                f"{target.sink} cannot store the column {field.name!r} of type {field.dataType.simpleString()}: "
                f"{target.name} has no such type. Choose what to store of it, e.g. columns=[{wanted}]; or use "
                "parquet, which stores any type."
            )


def _storable(field: StructField, can_store: CanStore, within: str = "", called: str = "") -> Iterator[str]:
    """Expressions for a column that can be stored: its parts, or a text."""
    plain = field.name if field.name.isidentifier() else sql_name(field.name)
    path = f"{within}.{plain}" if within else plain
    name = f"{called}_{field.name}" if called else field.name
    alias = name if name.isidentifier() else sql_name(name)
    if can_store(field.dataType):
        yield f"{path} AS {alias}" if within else path
    elif isinstance(field.dataType, StructType):
        for part in field.dataType.fields:
            yield from _storable(part, can_store, path, name)
    elif isinstance(field.dataType, DayTimeIntervalType):
        yield f"CAST({path} AS STRING) AS {alias}"
    else:
        yield f"to_json({path}) AS {alias}"


@contextmanager
def _refused(target: Target) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise OptionError(f"{target.sink}: Spark refuses to write {target.name}: {_why(error)}") from error


def _why(error: PySparkException | Py4JJavaError) -> str:
    """Spark's own words, the first line of them, without the codes of its errors."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else spark_failure(error)
    return _CODES.sub("", str(text or type(error).__name__).strip().splitlines()[0])


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - Python has no name for what is asked here


def _java(spark: SparkSession, kind: DataType) -> Any:
    return spark._jsparkSession.parseDataType(kind.json())  # noqa: SLF001


def _class(spark: SparkSession, name: str) -> Any:
    return reduce(getattr, name.split("."), _jvm(spark))


def _is_a(spark: SparkSession, found: Any, name: str) -> bool:
    return bool(_jvm(spark).java.lang.Class.forName(name).isAssignableFrom(found))
