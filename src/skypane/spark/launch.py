"""Launch: from a described query to a running one - check everything first, then start Spark's micro-batches."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import DoubleType, FloatType, NumericType

from skypane.lateness.punctuator import Punctuator
from skypane.model.columns import GROUP, ID, KEY_GROUPS, PREFIX
from skypane.model.durations import format_duration_us, parse_duration_us
from skypane.model.errors import OptionError, SchemaError
from skypane.operators.admission import DELAY, HARMFUL, PUNCTUATION, REASON
from skypane.operators.definition import Definition
from skypane.operators.judge import warm_judge
from skypane.operators.slides import slide_for
from skypane.operators.window_worker import WindowWorker
from skypane.queries.base import Expression, Query
from skypane.queries.dominance import DominanceQuery
from skypane.spark.checkpoint import Checkpoint, local_path
from skypane.spark.query import RunningQuery, readable
from skypane.spark.schemas import arrow_schema, quoted
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.parquet import ParquetSink
from skypane.spark.stages import Settings
from skypane.spark.step_driver import Output, StepDriver


@dataclass(frozen=True)
class LaunchOptions:
    """Everything about a run that is not part of the query itself."""

    checkpoint: str | os.PathLike[str] | None
    sink: Sink
    late: Sink | None
    quarantine: Sink | None
    trigger: str | None
    """A processing-time interval; ``None`` processes what is available now and ends."""
    flush: bool
    idle_timeout_us: int | None
    punctuator: Punctuator
    settings: Settings
    name: str | None


def with_computed_columns(df: DataFrame, query: Query, keys: tuple[str, ...]) -> DataFrame:
    """The records with the internal columns that Spark computes: key group, record id, expressions."""
    with _without_ansi(df.sparkSession):
        computed = {name: _computed(df, expression) for name, expression in query.expressions().items()}
        df = df.withColumns(computed) if computed else df
    extra: dict[str, Column] = {}
    if query.needs_record_id():
        own = [name for name in df.columns if not name.startswith(PREFIX)]
        extra[ID] = F.xxhash64(*(quoted(name) for name in own))
        try:
            df.select(extra[ID])
        except AnalysisException as error:
            raise SchemaError(
                "Ties are cut by a hash of the whole record, but Spark cannot hash columns of type map. "
                "Drop them first, or turn them into text with F.to_json."
            ) from error
    if keys:
        extra[GROUP] = F.pmod(F.xxhash64(*(quoted(key) for key in keys)), F.lit(KEY_GROUPS)).cast("int")
    return df.withColumns(extra) if extra else df


@contextmanager
def _without_ansi(spark: SparkSession) -> Iterator[None]:
    """Let expressions that cannot be computed for some record (a division by zero) give null.

    With ANSI errors, Spark's default, one such record would fail its batch, and every replay of it, for ever. A null
    score is quarantined instead, and aggregates leave nulls out.
    """
    setting = "spark.sql.ansi.enabled"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, "false")
    try:
        yield
    finally:
        spark.conf.set(setting, before)


def _computed(df: DataFrame, expression: Expression) -> Column:
    """A SQL expression over the records as a column; one that cannot be computed is refused here, not by a worker."""
    try:
        kind = df.select(F.expr(expression.sql)).schema.fields[0].dataType
    except (AnalysisException, ParseException) as error:
        why = str(error).strip().splitlines()[0]
        raise OptionError(f"The expression {expression.sql!r} cannot be computed: {why}") from error
    _refuse_chance(df, expression.sql)
    if not expression.as_double:
        return F.expr(expression.sql)
    if not isinstance(kind, NumericType):
        raise OptionError(f"The expression {expression.sql!r} is a {kind.simpleString()}; it must be a number.")
    return F.expr(expression.sql).cast("double")


def _refuse_chance(df: DataFrame, sql: str) -> None:
    """A batch that is repeated after a crash must give the same answers again."""
    chosen = df.select(F.expr(sql))
    if _is_deterministic(df) and not _is_deterministic(chosen):
        raise OptionError(
            f"The expression {sql!r} gives other values each time it is computed, so answers could not be repeated "
            "after a crash. Compute it before, where the records come from, and store it with them."
        )


def _is_deterministic(df: DataFrame) -> bool:
    plan = df._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark says it nowhere else
    return bool(plan.deterministic())


def normalised_keys(df: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Like Spark's own GROUP BY, -0.0 and 0.0 are one key."""
    floating = [f for f in df.schema.fields if f.name in keys and isinstance(f.dataType, DoubleType | FloatType)]
    positive = {f.name: quoted(f.name) + F.lit(0.0).cast(f.dataType) for f in floating}
    return df.withColumns(positive) if positive else df


def check_reserved(names: Sequence[str]) -> None:
    """Refuse records whose columns would be taken for our own."""
    for name in names:
        if name.lower().startswith(PREFIX):
            raise SchemaError(f"Column {name!r}: names that start with {PREFIX!r} are reserved. Rename it.")


def launch(df: DataFrame, definition: Definition, options: LaunchOptions) -> RunningQuery:
    """Check the query against the records, open checkpoint and sinks, start."""
    if not df.isStreaming:
        raise OptionError(
            "sp.stream(df) needs a streaming DataFrame (spark.readStream...). For one table, once, use "
            "sp.skyline(df, ...), sp.top_delta(df, ...) or sp.top_k(df, ...)."
        )
    records = arrow_schema(df)
    check_reserved(records.names)
    _check_added_names(definition, records.names, options)
    _check_places(options)
    for key in definition.keys:
        if key not in records.names:
            definition.check(records)
    prepared = with_computed_columns(normalised_keys(df, definition.keys), definition.query, definition.keys)
    seen_by_workers = arrow_schema(prepared)
    definition.check(pa.schema([f for f in seen_by_workers if f.name not in {ID, GROUP}]))
    definition = replace(definition, time_zone=records.field(definition.time).type.tz)
    definition.query.warm_up()
    slide_for(definition).warm_up()
    if definition.judges_late and isinstance(definition.query, DominanceQuery):
        warm_judge()

    temporary = None
    if options.checkpoint is None:
        temporary = Path(tempfile.mkdtemp(prefix="skypane-checkpoint-"))
    checkpoint = Checkpoint(temporary or local_path(options.checkpoint or "", "checkpoint"))
    try:
        return _start(prepared, records, definition, options, checkpoint, temporary)
    except BaseException as error:
        # Nobody will end this run, so whoever tries again must find the folder free.
        checkpoint.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if (clear := readable(error)) is not error:
            raise clear from error
        raise


def _start(
    prepared: DataFrame,
    records: pa.Schema,
    definition: Definition,
    options: LaunchOptions,
    checkpoint: Checkpoint,
    temporary: Path | None,
) -> RunningQuery:
    """Open the checkpoint and the sinks, repeat what a crash interrupted, hand over to Spark."""
    manifest = checkpoint.open(_fingerprint(definition, records), options.punctuator.start())
    spark = prepared.sparkSession
    results = Output(options.sink, WindowWorker(definition).result_schema(arrow_schema(prepared)))
    late = Output(options.late, _late_schema(definition, records)) if options.late else None
    quarantine = (
        Output(options.quarantine, records.append(pa.field(REASON, pa.string()))) if options.quarantine else None
    )
    for output in (results, late, quarantine):
        if output is not None:
            output.sink.continue_from(manifest.step)
            output.sink.identify(definition.keys)
            output.sink.open(spark, output.schema)
    driver = StepDriver(
        spark, definition, options.punctuator, checkpoint, manifest, results, late, quarantine, options.settings
    )
    idle_us = None if options.trigger is None else options.idle_timeout_us
    query = RunningQuery(
        driver,
        checkpoint,
        explain(definition, options),
        flush=options.flush and options.trigger is None,
        idle_timeout_s=None if idle_us is None else idle_us / 1e6,
        temporary=temporary,
    )
    driver.resume()
    writer = prepared.writeStream.foreachBatch(query.on_batch).option("checkpointLocation", str(checkpoint.spark))
    if options.trigger is None:
        writer = writer.trigger(availableNow=True)
    else:
        pace_ms = parse_duration_us(options.trigger, "trigger", zero_ok=True) // 1_000
        writer = writer.trigger(processingTime=f"{pace_ms} milliseconds")
    query.begin((writer.queryName(options.name) if options.name else writer).start())
    return query


def _check_places(options: LaunchOptions) -> None:
    """Sinks name their files by step, so that two in one folder would overwrite each other."""
    taken: dict[Path, str] = {}
    for name, sink in (("sink", options.sink), ("late", options.late), ("quarantine", options.quarantine)):
        if isinstance(sink, ParquetSink):
            if sink.path in taken:
                raise OptionError(
                    f"{taken[sink.path]} and {name} write to the same folder {sink.path}. Give each its own."
                )
            taken[sink.path] = name


def _check_added_names(definition: Definition, names: Sequence[str], options: LaunchOptions) -> None:
    """Spark's column names do not tell cases apart, and no table can have a name twice."""
    taken = {name.lower(): name for name in names}
    late = (DELAY, PUNCTUATION, HARMFUL) if options.late else ()
    quarantine = (REASON,) if options.quarantine else ()
    for added, where in (*((name, "late") for name in late), *((name, "quarantined") for name in quarantine)):
        if added in taken:
            raise SchemaError(
                f"The records have a column {taken[added]!r}, which {where} records get. Rename it first."
            )
    described = definition.query.describe().get("outputs", {})
    outputs = list(described) if isinstance(described, Mapping) else []
    for key in definition.keys:
        if key.lower() in {str(output).lower() for output in outputs}:
            raise OptionError(f"An aggregate cannot be called {key!r}: the key has that name. Choose another.")


def explain(definition: Definition, options: LaunchOptions) -> str:
    """The data path of a query, in words."""
    window, policy, guard = definition.window, options.punctuator.policy, options.punctuator.guard
    what = ", ".join(f"{name}={value}" for name, value in definition.query.describe().items() if name != "type")
    key = ", ".join(definition.keys) or "none (one answer per window)"
    wait = ", ".join(f"{name} {value}" for name, value in policy.describe().items() if name != "policy")
    future = "no limit" if guard.max_future_us is None else f"up to {format_duration_us(guard.max_future_us)} ahead"
    pace = "what is available now, then end" if options.trigger is None else f"a step every {options.trigger}"
    panes = f"{window.panes_per_window} panes of {format_duration_us(window.pane_us)} each"
    settings = options.settings
    inline = f"{settings.inline_rows:,}"
    in_order = definition.processing == "in_order"
    keeps = "hands records over, to be buffered" if in_order else "keeps one partial per key and pane"
    lines = [
        f"query         {definition.query.kind}: {what}",
        f"windows       {window}, by {definition.time}; {panes}",
        f"key           {key}",
        f"lateness      {policy.describe()['policy']}: {wait}; future guard: {future}, or {guard.support} records",
        *_explain_lateness(definition, options),
        f"pace          {pace}",
        f"pane stage    {settings.pane_tasks}; {keeps}",
        f"window stage  up to {settings.most_window_tasks} tasks by key group; in the driver below {inline} rows",
        f"results       {options.sink.describe()}",
        f"late          {options.late.describe() if options.late else 'counted'}",
        f"quarantine    {options.quarantine.describe() if options.quarantine else 'counted'}",
        f"checkpoint    {options.checkpoint or 'temporary: this query cannot be restarted'}",
    ]
    return "\n".join(lines)


def _explain_lateness(definition: Definition, options: LaunchOptions) -> list[str]:
    """What happens to records that come late, as far as it is not the usual."""
    lines = []
    if options.punctuator.sources is not None:
        lines.append(f"partitions    {options.punctuator.sources.describe()}")
    if definition.allowed_lateness_us:
        allowed = format_duration_us(definition.allowed_lateness_us)
        lines.append(f"revisions     records up to {allowed} late correct the answers of their windows")
    if definition.judges_late:
        horizon = format_duration_us(definition.harm_horizon_us)
        lines.append(f"harm          late records are judged, up to {horizon} after their pane was sealed")
    return lines


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
