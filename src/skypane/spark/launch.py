"""Launch: from a described query to a running one - check everything first, then start Spark's micro-batches."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import DELAY, HARMFUL, PUNCTUATION, REASON
from skypane.flow.panes.condensed import guesses_matter
from skypane.flow.patterned import work_of
from skypane.flow.processing.choice import processing_of
from skypane.flow.step import Flow
from skypane.flow.windows.lowering import FAILED
from skypane.model.columns import GROUP, ID, PREFIX, WINDOW
from skypane.model.durations import parse_duration_us
from skypane.model.errors import OptionError, SchemaError
from skypane.patterns.pace import Pace
from skypane.spark.driver import StepDriver
from skypane.spark.executors.choice import executors_of, most_degree
from skypane.spark.executors.warming import warm_kernels
from skypane.spark.explain import explain
from skypane.spark.failures import readable
from skypane.spark.idleness import Idleness
from skypane.spark.jobs.condensing import aggregates_of
from skypane.spark.jobs.sending import Sending
from skypane.spark.options import LaunchOptions
from skypane.spark.outputs import Output, Outputs
from skypane.spark.prepare import check_reserved, normalised_keys, with_computed_columns
from skypane.spark.query import QueryRun, RunningQuery
from skypane.spark.schemas import arrow_schema, with_own_types
from skypane.spark.session import is_embedded
from skypane.spark.shipping import check_ships
from skypane.spark.sinks.base import Continuation, Sink
from skypane.spark.sinks.places import check_apart
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.folders import local_path
from skypane.spark.workers import check_workers


@dataclass(frozen=True)
class CheckedQuery:
    """A query that fits its records."""

    prepared: DataFrame
    records: pa.Schema
    definition: Definition


def check_query(df: DataFrame, definition: Definition, options: LaunchOptions) -> CheckedQuery:
    """Check the query against the records; nothing is started, no folder is touched."""
    if not df.isStreaming:
        raise OptionError(
            "sp.stream(df) needs a streaming DataFrame (spark.readStream...). For one table, once, use "
            "sp.skyline(df, ...), sp.top_delta(df, ...), sp.top_k(df, ...) or sp.skyline_intervals(df, ...)."
        )
    check_ships(definition)
    records = arrow_schema(df)
    check_reserved(records.names)
    _check_added_names(definition, records.names, options)
    _check_places(options)
    for key in definition.keys:
        if key not in records.names:
            definition.check(records)
    normal, with_id = normalised_keys(df, definition.keys), definition.needs_record_id
    prepared = with_computed_columns(normal, definition.query, definition.keys, with_id=with_id)
    seen_by_workers = arrow_schema(prepared)
    definition.check(pa.schema([f for f in seen_by_workers if f.name not in {ID, GROUP}]))
    return CheckedQuery(prepared, records, replace(definition, time_zone=records.field(definition.time).type.tz))


def check_start(df: DataFrame, definition: Definition, options: LaunchOptions) -> tuple[Definition, bool]:
    """The same, and whether the checkpoint is of this query: what a start would refuse. Also whether it condenses."""
    checked = check_query(df, definition, options)
    most_tasks(df.sparkSession, options)
    if options.checkpoint is not None:
        checkpoint = Checkpoint(local_path(options.checkpoint, "checkpoint"))
        checkpoint.compare(_fingerprint(checked.definition, checked.records), options.accept_changed_code)
    sending = _sending(checked.prepared, checked.definition, options)
    return checked.definition, sending.aggregates is not None


def launch(df: DataFrame, definition: Definition, options: LaunchOptions) -> RunningQuery:
    """Check the query against the records, open checkpoint and sinks, start."""
    checked = check_query(df, definition, options)
    prepared, records, definition = checked.prepared, checked.records, checked.definition
    most = most_tasks(df.sparkSession, options)
    check_workers(df.sparkSession)
    warm_kernels(definition)

    temporary = None
    if options.checkpoint is None:
        temporary = Path(tempfile.mkdtemp(prefix="skypane-checkpoint-"))
    checkpoint = Checkpoint(temporary or local_path(options.checkpoint or "", "checkpoint"))
    try:
        return _start(prepared, records, definition, options, checkpoint, temporary, most)
    except BaseException as error:
        # Nobody will end this run, so whoever tries again must find the folder free.
        checkpoint.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if (clear := readable(error)) is not error:
            raise clear from error
        raise


def most_tasks(spark: SparkSession, options: LaunchOptions) -> int:
    """The most tasks of a stage, where degrees follow the load; refuses limits that cannot be kept here."""
    elastic = options.settings.elastic
    return 0 if elastic is None else most_degree(spark, elastic)


def _start(
    prepared: DataFrame,
    records: pa.Schema,
    definition: Definition,
    options: LaunchOptions,
    checkpoint: Checkpoint,
    temporary: Path | None,
    most: int,
) -> RunningQuery:
    """Open the checkpoint and the sinks, repeat what a crash interrupted, hand over to Spark."""
    flow = _flow(prepared.sparkSession, definition, options, most)
    manifest = checkpoint.open(_fingerprint(definition, records), flow.start(), options.accept_changed_code)
    spark = prepared.sparkSession
    outputs = _outputs(definition, options, records, arrow_schema(prepared))
    known_as = None if temporary else str(checkpoint.folder)
    origin = Continuation(
        checkpoint.query_id, manifest.step, definition.keys, checkpoint=known_as, born=checkpoint.born
    )
    _open_sinks(spark, outputs, checkpoint, origin)
    executors = executors_of(spark, definition, options.settings.elastic, options.settings.slots)
    checkpoint.when_closed(executors.close)
    sending = _sending(prepared, definition, options)
    driver = StepDriver(spark, flow, checkpoint, manifest, outputs, options.settings, sending, executors)
    driver.follow()
    run = QueryRun(
        driver,
        checkpoint,
        ending=options.ending if options.trigger is None else None,
        idle=_idleness(options),
        temporary=temporary,
        pace=_pace(definition, options),
        all_waits_us=_all_waits_us(options),
    )
    driver.resume()
    writer = sending.select(prepared).writeStream.foreachBatch(run.on_batch).trigger(**_trigger(options))
    writer = writer.option("checkpointLocation", str(checkpoint.spark))
    run.begin((writer.queryName(options.name) if options.name else writer).start())
    condenses = sending.aggregates is not None
    return RunningQuery(run, explain(definition, options, executors.describe(), most, condenses=condenses))


def _sending(prepared: DataFrame, definition: Definition, options: LaunchOptions) -> Sending:
    """What Spark sends to the pane stage."""
    read = _read(definition, options)
    sending = Sending.of(prepared, definition.query.expressions(), definition.keys, read)
    if read is None or guesses_matter(definition, options.punctuator.guard):
        return sending
    return replace(sending, aggregates=aggregates_of(prepared, definition, sending))


def _read(definition: Definition, options: LaunchOptions) -> set[str] | None:
    """The columns that the stages read, unless whole records are wanted: by the query, or because sinks get them."""
    query, elsewhere = definition.query, (options.late, options.quarantine)
    reads = None if query.selective or definition.wants_records else query.reads()
    if reads is None or any(sink is not None for sink in elsewhere):
        return None
    return {definition.time, *reads, *([definition.partition] if definition.partition else [])}


def _trigger(options: LaunchOptions) -> dict[str, Any]:
    """When Spark cuts batches; where answers have a bound, at once: the query itself waits between steps."""
    if options.trigger is None:
        return {"availableNow": True}
    return {"processingTime": f"{_between_cuts_us(options) // 1_000} milliseconds"}


def _between_cuts_us(options: LaunchOptions) -> int:
    """How long Spark waits before it looks for records again, from when it did last."""
    if options.trigger is None or options.settings.max_latency_us is not None:
        return 0
    return parse_duration_us(options.trigger, "trigger", zero_ok=True)


def _idleness(options: LaunchOptions) -> Idleness:
    """What is available now ends by itself."""
    idle_us = None if options.trigger is None else options.idle_timeout_us
    return Idleness(None if idle_us is None else idle_us / 1e6)


def _all_waits_us(options: LaunchOptions) -> float | None:
    """Of a run over what is available now: all of it waits, also where the source does not say how much it is."""
    elastic = options.settings.elastic
    return None if elastic is None or options.trigger is not None else float(elastic.period_us)


def _flow(spark: SparkSession, definition: Definition, options: LaunchOptions, most: int) -> Flow:
    """The query with its lateness, and with whoever says how the work is shared."""
    settings = options.settings
    planner = settings.planner(definition, embedded=is_embedded(spark))
    degrees = settings.degree_policy(most)
    return Flow.of(definition, options.punctuator, degrees, settings.splitting, settings.plan, planner)


def _pace(definition: Definition, options: LaunchOptions) -> Pace | None:
    """Who says when steps are taken, where answers have a bound; what is available now is there already."""
    most_us = options.settings.max_latency_us
    if most_us is None or options.trigger is None:
        return None
    work = work_of(definition)
    return Pace(most_us, work.windows.slide if work.divisible else None)


def _outputs(definition: Definition, options: LaunchOptions, records: pa.Schema, prepared: pa.Schema) -> Outputs:
    """Each sink with the schema of its rows."""
    quarantined = records.append(pa.field(REASON, pa.string()))
    results = processing_of(definition).result_schema(prepared)
    query = definition.query
    of_records = {*results.names} - {*query.added_columns()} if query.selective else {*definition.keys}
    results = with_own_types(results, prepared, of_records)
    return Outputs(
        Output("results", options.sink, results, revised=definition.allowed_lateness_us > 0),
        Output("late", options.late, _late_schema(definition, records)) if options.late else None,
        Output("quarantine", options.quarantine, quarantined) if options.quarantine else None,
        Output("failed", options.failed, _failed_schema(definition, results)) if options.failed else None,
    )


def _open_sinks(spark: SparkSession, outputs: Outputs, checkpoint: Checkpoint, continuation: Continuation) -> None:
    """Tell each sink whose rows it will get; then the checkpoint is the query's, as nothing can be refused any more."""
    places = {}
    for output in outputs:
        name, place = output.option, output.sink.place()
        if place is not None:
            places[name] = str(place)
        returns = place is not None and checkpoint.places.get(name) == str(place)
        whose = replace(continuation, output=name, revised=output.revised, returns=returns)
        output.sink.open(spark, output.schema, whose)
        checkpoint.when_closed(output.sink.close)
    checkpoint.claim(places)


def _check_places(options: LaunchOptions) -> None:
    """Refuse places that would be written to twice, or whose readers would find what is not theirs."""
    taken: dict[str, Path | str] = {}
    if options.checkpoint is not None:
        taken["checkpoint"] = local_path(options.checkpoint, "checkpoint")
    for name in ("sink", "late", "quarantine", "failed"):
        sink: Sink | None = getattr(options, name)
        if sink is None or (place := sink.place()) is None:
            continue
        for other, its_place in taken.items():
            check_apart(other, its_place, name, place)
        taken[name] = place


def _check_added_names(definition: Definition, names: Sequence[str], options: LaunchOptions) -> None:
    """Spark's column names do not tell cases apart, and no table can have a name twice."""
    taken = {name.lower(): name for name in names}
    late = (DELAY, PUNCTUATION, HARMFUL) if options.late else ()
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


def _fingerprint(definition: Definition, records: pa.Schema) -> Mapping[str, Any]:
    columns = {field.name: _type_name(field.type) for field in records if not field.name.startswith(PREFIX)}
    return {**definition.describe(), "columns": columns}


def _type_name(kind: pa.DataType) -> str:
    """The type without the session's time zone, which only changes how times are shown."""
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return str(kind)


def _late_schema(definition: Definition, records: pa.Schema) -> pa.Schema:
    punctuation = pa.field(PUNCTUATION, pa.timestamp("us", definition.time_zone))
    return pa.schema([*records, pa.field(DELAY, pa.duration("us")), punctuation, pa.field(HARMFUL, pa.bool_())])


def _failed_schema(definition: Definition, results: pa.Schema) -> pa.Schema:
    return pa.schema([*(results.field(name) for name in (*definition.keys, WINDOW)), *FAILED])
