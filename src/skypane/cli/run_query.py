"""RunQuery: builds the query from settings - first without Spark, to report mistakes at once, then with its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import skypane as sp
from skypane.api.by_name import as_policy
from skypane.api.options.declarations import OPTIONS, SINKS, WINDOW_KINDS, option_at
from skypane.api.options.parallel_options import parallel_arguments
from skypane.api.options.run_options import RunOptions
from skypane.cli.places import check_folder
from skypane.cli.run_spec import Spec
from skypane.model.column_names import ColumnNames
from skypane.model.errors import OptionError, SchemaError
from skypane.queries.fold import Fold
from skypane.queries.functions.loading import load
from skypane.spark.format_name import format_name
from skypane.spark.store.folders import local_path
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream as GeneratedStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from skypane.api.continuous_query import ContinuousQuery
    from skypane.api.options.partition import Partition
    from skypane.api.stream import Stream
    from skypane.api.windowed import Windowed
    from skypane.flow.definition import Definition
    from skypane.spark.sinks.base import Sink

_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "skyline": ("minimize", "maximize"),
    "top_delta": ("delta", "minimize", "maximize"),
    "top_k": ("k", "score"),
    "aggregate": ("aggregate",),
    "apply": ("function", "schema"),
    "fold": ("function",),
}
"""The settings of each type of query; those that are not lists are needed."""
_NO_KEYS = "skypane-traffic makes a column 'key' where its option keys says how many: --source-option keys=4."
OWN_SINKS = ("console", "discard", "parquet")
"""The formats that are sinks of their own; every other one is Spark's."""
_OF_POLICY = {option.name for option in OPTIONS if option.of_policy}


@dataclass(frozen=True)
class Planned:
    """A query that has been checked as far as it can be without its records."""

    spec: Spec
    query: ContinuousQuery
    run: RunOptions

    def over_records(self, spark: SparkSession) -> ContinuousQuery:
        """The query over the records of its source."""
        source = self.query.source.over(_records(self.spec["source"], spark))
        return replace(self.query, source=source, question=source.ask(self.query.question, self.query.spec))


def plan(spec: Spec) -> Planned:
    """Check everything that needs no Spark."""
    for option in OPTIONS:
        if option.needed and option.name not in spec[option.section]:
            raise OptionError(
                f"{option.name} of the {option.section} is missing: give {option.command} {option.kind.metavar}, "
                f"or {option.name} = ... in [{option.section}] of the file."
            )
    query = _query(spec)
    run = _run(spec)
    definition, _ = query.plan(run, slots=1)
    _check_places(run)
    _check_generated(spec["source"], definition)
    return Planned(spec, query, run)


def _query(spec: Spec) -> ContinuousQuery:
    from skypane.api.stream import describe_stream  # noqa: PLC0415 - without Spark the other commands work

    settings, waiting = spec["query"], dict(spec["lateness"])
    stream = describe_stream(
        time=settings["time"],
        key=settings.get("key"),
        partition=_partition(spec),
        distinct_by=settings.get("distinct_by"),
        within=settings.get("within"),
    )
    query = _emitting(settings, _question(settings, _windowed(settings, stream)))
    of_policy = {name: waiting.pop(name) for name in _OF_POLICY & set(waiting)}
    policy = as_policy(waiting.pop("policy", "kslack"), **of_policy)
    query = query.lateness(policy, **waiting, guard=sp.TimeGuard(**spec["lateness.guard"]))
    return query.parallel(**parallel_arguments(spec["parallel"]), tuning=sp.Tuning(**spec["parallel.tuning"]))


def _partition(spec: Spec) -> Partition | None:
    column, settings = spec["query"].get("partition"), spec["partition"]
    if column is None and settings:
        names = ", ".join(sorted(settings))
        raise OptionError(f"{names}: needs partition = ... in [query] (--partition), which is not set.")
    return None if column is None else sp.Partition(column, **settings)


def _emitting(settings: Mapping[str, Any], query: ContinuousQuery) -> ContinuousQuery:
    """What goes with the windows, unless something else is chosen."""
    if "emit" not in settings and "expiries" not in settings:
        return query
    return query.emit(settings.get("emit", query.spec.default_emit), expiries=settings.get("expiries", True))


def _windowed(settings: Mapping[str, Any], stream: Stream) -> Windowed:
    """Windows of time, or of records, or every instant."""
    chosen = [name for name in WINDOW_KINDS if name in settings]
    if len(chosen) != 1:
        what = "is missing" if not chosen else "is there twice"
        raise OptionError(
            f"window of the query {what}: give --window DURATION, --window-rows NUMBER for windows of so many records, "
            "or --live DURATION for the answer at every instant; or window, window_rows or live in [query] of the file."
        )
    for other in sorted({name for kind, names in WINDOW_KINDS.items() for name in names if kind not in chosen}):
        if other in settings:
            taken = ", ".join(WINDOW_KINDS[chosen[0]]) or "nothing else"
            raise OptionError(f"{chosen[0]} does not take {other}; it takes {taken}.")
    if "window" in settings:
        return stream.window(settings["window"], slide=settings.get("slide"))
    if "live" in settings:
        return stream.live(settings["live"])
    return stream.window_rows(settings["window_rows"], slide=settings.get("slide_rows"), ttl=settings.get("ttl"))


def _question(settings: Mapping[str, Any], windowed: Windowed) -> ContinuousQuery:
    kind = settings["type"]
    for name in {name for names in _OF_TYPE.values() for name in names} & set(settings):
        if name not in _OF_TYPE[kind]:
            raise OptionError(f"A query of type {kind} does not take {name}; it takes {', '.join(_OF_TYPE[kind])}.")
    for name in _OF_TYPE[kind]:
        if name not in ("minimize", "maximize") and name not in settings:
            option = option_at(f"query.{name}")
            raise OptionError(
                f"A query of type {kind} needs {name}: give {option.command} {option.kind.metavar}, or {name} = ... in "
                "[query] of the file."
            )
    attributes = {name: settings.get(name, ()) for name in ("minimize", "maximize")}
    makers: dict[str, Callable[[], ContinuousQuery]] = {
        "skyline": lambda: windowed.skyline(**attributes),
        "top_delta": lambda: windowed.top_delta(settings["delta"], **attributes),
        "top_k": lambda: windowed.top_k(settings["k"], score=settings["score"]),
        "aggregate": lambda: windowed.aggregate(**settings["aggregate"]),
        "apply": lambda: windowed.apply(load_function(settings["function"]), settings["schema"]),
        "fold": lambda: windowed.fold(Fold.of(load_function(settings["function"]), named=settings["function"])),
    }
    return makers[kind]()


def load_function(name: str) -> Any:
    """What ``module:name`` names; its module travels to the workers, which need not be able to import it."""
    from skypane.spark.shipping import ship_by_value  # noqa: PLC0415 - without Spark the other commands work

    module, found = load(name)
    ship_by_value(module)
    return found


def _run(spec: Spec) -> RunOptions:
    sinks: dict[str, Any] = {name: _sink(spec[name], name) for name in SINKS if spec[name]}
    sinks.setdefault("sink", sp.ConsoleSink())
    return RunOptions(**sinks, **spec["run"])


def _sink(settings: Mapping[str, Any], name: str) -> Sink:
    written, path = settings.get("format", "parquet"), settings.get("path")
    kind, options, columns = format_name(written), settings.get("options", {}), settings.get("columns")
    for given, what in ((options, "options"), (columns, "columns")):
        if kind in OWN_SINKS and given:
            raise OptionError(f"[{name}] of format {kind} takes no {what}.")
    if kind in ("console", "discard"):
        return sp.ConsoleSink() if kind == "console" else sp.DiscardSink()
    if kind == "parquet":
        if path is None:
            raise OptionError(
                f"[{name}] of format parquet needs a path: path = ... in the file, or --{name} parquet:FOLDER."
            )
        return sp.ParquetSink(path)
    if "/" in kind:
        raise OptionError(
            f"[{name}] of format {kind!r}: that is a path. Write --{name} parquet:{kind}, or another format."
        )
    for taken in {"path", "format", "columns", "self"} & set(options):
        raise OptionError(f"[{name}] options has {taken!r}: give it as a setting of the section itself.")
    if not kind:
        raise OptionError(f"[{name}] has no format: write --{name} FORMAT:PATH, e.g. --{name} parquet:out.")
    return sp.FormatSink(written, columns=columns, **({} if path is None else {"path": path}), **options)


def _check_places(run: RunOptions) -> None:
    """A folder that cannot be made is noticed before Spark has been started for it."""
    from skypane.spark.sinks.base import Sink  # noqa: PLC0415 - without Spark the other commands work

    sinks = {name: getattr(run, name) for name in SINKS}
    places: dict[str, Any] = {name: sink.place() for name, sink in sinks.items() if isinstance(sink, Sink)}
    if run.checkpoint is not None:
        places["checkpoint"] = local_path(run.checkpoint, "checkpoint")
    for name, place in places.items():
        if isinstance(place, Path):
            check_folder(name, place)


def _check_generated(source: Mapping[str, Any], definition: Definition) -> None:
    """The columns of a generated stream are known without Spark."""
    if format_name(source["format"]) == "skypane-traffic":
        schema = GeneratedStream(TrafficSpec.from_options(source.get("options", {}))).schema
        names = ColumnNames(tuple(schema.names), case_sensitive=False)  # as the embedded session has it
        time, question = names.find(definition.time, "Time column"), definition.question.resolved(names)
        try:
            keys = tuple(names.find(key, "Key") for key in definition.keys)
        except SchemaError as error:
            raise error if "key" in schema.names else SchemaError(f"{error} {_NO_KEYS}") from None
        partition = None if definition.partition is None else names.find(definition.partition, "Partition column")
        definition = replace(definition, time=time, keys=keys, question=question, partition=partition)
        if not definition.query.expressions():  # only Spark can say which columns those need
            definition.check(schema)


def _records(source: Mapping[str, Any], spark: SparkSession) -> DataFrame:
    from skypane.spark.sources.loading import load_stream  # noqa: PLC0415 - without Spark the other commands work

    return load_stream(
        spark, source["format"], options=source.get("options", {}), schema=source.get("schema"), path=source.get("path")
    )
