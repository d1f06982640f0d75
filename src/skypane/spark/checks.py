"""Checks: what a start would refuse, found without starting anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType

from skypane.flow.definition import Definition
from skypane.flow.program import Program
from skypane.flow.record_columns import check_record_columns
from skypane.flow.windows.lowering import FAILED
from skypane.model.columns import DELAY, DISTINCT, GROUP, HARMFUL, ID, REASON, WATERMARK
from skypane.model.errors import OptionError, SchemaError
from skypane.spark.executors.choice import degree_limit
from skypane.spark.fingerprint import fingerprint
from skypane.spark.options import LaunchOptions
from skypane.spark.outputs import outputs_of
from skypane.spark.prepare import normalised_keys, with_computed_columns
from skypane.spark.records import check_streaming, records_of
from skypane.spark.schemas import arrow_schema
from skypane.spark.shipping import check_ships
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.places import check_apart
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.folders import local_path
from skypane.spark.transfer import transfer_of


@dataclass(frozen=True)
class CheckedQuery:
    """A query that fits its records."""

    prepared: DataFrame
    records: pa.Schema
    definition: Definition


def check_query(df: DataFrame, definition: Definition, options: LaunchOptions) -> CheckedQuery:
    """Check the query against the records; nothing is started, no folder is touched."""
    check_streaming(df)
    check_ships(definition)
    records = records_of(df)
    _check_added_names(definition, records.names, options)
    _check_places(options)
    definition = replace(
        definition,
        corrupt=_corrupt_column(df, definition),
        time_zone=records.field(definition.time).type.tz,
    )
    prepared, seen_by_workers = _prepared(df, definition, records)
    definition.check(definition.accepted_schema(seen_by_workers))
    for output in outputs_of(Program.of(definition), options, records, arrow_schema(prepared)):
        output.sink.check(df.sparkSession, output.schema)
    return CheckedQuery(prepared, records, definition)


def check_columns(df: DataFrame, definition: Definition) -> None:
    """Check what a query reads of its records, as soon as there is one; how it will run is not known yet."""
    definition.query.check(_prepared(df, definition, records_of(df))[1])


def _prepared(df: DataFrame, definition: Definition, records: pa.Schema) -> tuple[DataFrame, pa.Schema]:
    """The records with the columns that Spark computes, and what workers see of them."""
    check_record_columns(records, definition.time, definition.keys, definition.partition)
    prepared = with_computed_columns(
        normalised_keys(df, definition.keys),
        definition.query,
        definition.keys,
        with_id=definition.needs_record_id,
        distinct_by=() if definition.distinct is None else definition.distinct.columns,
    )
    return prepared, pa.schema([field for field in arrow_schema(prepared) if field.name not in {ID, GROUP, DISTINCT}])


def _corrupt_column(df: DataFrame, definition: Definition) -> str | None:
    """The column in which Spark's readers of JSON and CSV put the text of what they cannot parse, if there is one."""
    name = df.sparkSession.conf.get("spark.sql.columnNameOfCorruptRecord")
    if name in {definition.time, definition.partition, *definition.keys}:
        return None
    return name if any(field.name == name and isinstance(field.dataType, StringType) for field in df.schema) else None


def check_start(df: DataFrame, definition: Definition, options: LaunchOptions) -> tuple[Definition, bool]:
    """Check all that a start would refuse, the checkpoint included; also return whether Spark condenses records."""
    checked = check_query(df, definition, options)
    max_tasks(df.sparkSession, options)
    if options.checkpoint is not None:
        checkpoint = Checkpoint(local_path(options.checkpoint, "checkpoint"))
        checkpoint.compare(fingerprint(checked.definition, checked.records), options.accept_changed_code)
    transfer = transfer_of(checked.prepared, checked.definition, options)
    return checked.definition, transfer.condensing is not None


def max_tasks(spark: SparkSession, options: LaunchOptions) -> int:
    """The most tasks of a stage, where degrees follow the load; refuses limits that cannot be kept here."""
    elastic = options.parallel.elastic
    return 0 if elastic is None else degree_limit(spark, elastic)


def _check_places(options: LaunchOptions) -> None:
    """Refuse places that would be written to twice, or whose readers would find what is not theirs."""
    taken: dict[str, Path | str] = {}
    if options.checkpoint is not None:
        taken["checkpoint"] = local_path(options.checkpoint, "checkpoint")
    for name in ("sink", "late", "quarantine", "failed", "duplicates"):
        sink: Sink | None = getattr(options, name)
        if sink is None or (place := sink.place()) is None:
            continue
        for other, its_place in taken.items():
            check_apart(other, its_place, name, place)
        taken[name] = place


def _check_added_names(definition: Definition, names: Sequence[str], options: LaunchOptions) -> None:
    """Refuse names that a sink would have twice; Spark's column names ignore case."""
    taken = {name.lower(): name for name in names}
    late = (DELAY, WATERMARK, HARMFUL) if options.late else ()
    quarantine = (REASON,) if options.quarantine else ()
    for name, where in (*((name, "late") for name in late), *((name, "quarantined") for name in quarantine)):
        if name in taken:
            raise SchemaError(f"The records have a column {taken[name]!r}, which {where} records get. Rename it first.")
    added = {name.lower() for name in definition.query.added_columns()}
    for key in definition.keys:
        if key.lower() in added and definition.query.selective:
            raise SchemaError(f"The key {key!r} has a name that the result adds. Rename it first.")
        if key.lower() in added and not definition.query.runs_functions:  # what functions return, they check themselves
            raise OptionError(f"An aggregate cannot be called {key!r}: the key has that name. Choose another.")
        if options.failed and key.lower() in FAILED.names:
            raise SchemaError(f"The key {key!r} has a name that failed windows get. Rename it first.")
