"""RunSpec: source, query, lateness and sinks of ``skypane run``, from a TOML file and from options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import skypane as sp
from skypane.api.options import MOVED
from skypane.lateness.policy import Lateness
from skypane.model.errors import OptionError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # the same library, before it was part of Python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from skypane.api.stream import ContinuousQuery, Windowed
    from skypane.spark.query import RunningQuery
    from skypane.spark.sinks.base import Sink

ALLOWED: Mapping[str, frozenset[str]] = {
    "source": frozenset({"format", "path", "schema", "options"}),
    "query": frozenset(
        {
            "type",
            "time",
            "key",
            "partition",
            "window",
            "slide",
            "minimize",
            "maximize",
            "delta",
            "k",
            "score",
            "aggregate",
        }
    ),
    "lateness": frozenset(
        {
            "policy",
            "delay",
            "target",
            "initial_slack",
            "max_slack",
            "memory",
            "across",
            "max_lag",
            "partition_timeout",
        }
    ),
    "sink": frozenset({"format", "path", "options"}),
    "late": frozenset({"format", "path", "options"}),
    "quarantine": frozenset({"format", "path", "options"}),
    "run": frozenset(
        {
            "checkpoint",
            "trigger",
            "available_now",
            "flush",
            "idle_timeout",
            "max_future",
            "allowed_lateness",
            "harm_horizon",
            "processing",
            "emit",
            "slide_strategy",
            "degree",
            "splitting",
            "pane_degree",
            "window_scheduling",
        }
    ),
}
"""Every section of the file, and its settings."""

Spec = dict[str, dict[str, Any]]
_ACROSS = ("across", "max_lag", "partition_timeout")


def load_spec(path: Path | None, overrides: Mapping[str, Mapping[str, Any]]) -> Spec:
    """The file's settings, replaced by what was given as options."""
    spec: Spec = {section: {} for section in ALLOWED}
    if path is not None:
        try:
            body = tomllib.loads(path.read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise OptionError(f"The file {path} cannot be read: {error}") from error
        for section, settings in body.items():
            _check(path, section, settings)
            spec[section] = dict(settings)
    for section, settings in overrides.items():
        spec[section].update({name: value for name, value in settings.items() if value not in (None, (), [], {})})
    return spec


def start(spec: Spec, spark: SparkSession) -> RunningQuery:
    """Start what the settings describe."""
    across = {name: value for name, value in spec["lateness"].items() if name in _ACROSS}
    query = _query(spec["query"], _source(spec["source"], spark)).lateness(_lateness(spec["lateness"]), **across)
    run = dict(spec["run"])
    moved: dict[str, dict[str, Any]] = {"lateness": {}, "parallel": {}}
    for name in [name for name in run if name in MOVED]:
        step, now = MOVED[name]
        moved[step][now] = run.pop(name)
    query = query.lateness(**moved["lateness"]).parallel(**moved["parallel"])
    sinks: dict[str, Any] = {name: _sink(spec[name], name) for name in ("sink", "late", "quarantine") if spec[name]}
    sinks.setdefault("sink", sp.ConsoleSink())
    return query.start(**sinks, **run)


def _check(path: Path, section: str, settings: object) -> None:
    if section not in ALLOWED:
        raise OptionError(f"{path}: unknown section [{section}]. The sections are: {', '.join(ALLOWED)}.")
    if not isinstance(settings, Mapping):
        raise OptionError(f"{path}: {section} must be a section, written [{section}].")
    for name in settings:
        if name not in ALLOWED[section]:
            known = ", ".join(sorted(ALLOWED[section]))
            raise OptionError(f"{path}: unknown setting {name!r} in [{section}]. The settings are: {known}.")


def _source(settings: Mapping[str, Any], spark: SparkSession) -> DataFrame:
    if "format" not in settings:
        raise OptionError("No source: give --source FORMAT, or format = ... in [source] of the file.")
    reader = spark.readStream.format(settings["format"]).options(**settings.get("options", {}))
    if "schema" in settings:
        reader = reader.schema(settings["schema"])
    return reader.load(settings["path"]) if "path" in settings else reader.load()


def _query(settings: Mapping[str, Any], df: DataFrame) -> ContinuousQuery:
    for name in ("time", "window", "type"):
        if name not in settings:
            raise OptionError(f"The query needs {name}: give the option, or {name} = ... in [query] of the file.")
    stream = sp.stream(df, time=settings["time"], key=settings.get("key"), partition=settings.get("partition"))
    windowed = stream.window(settings["window"], slide=settings.get("slide"))
    attributes = {name: settings.get(name, ()) for name in ("minimize", "maximize")}
    makers: dict[str, Callable[[Windowed], ContinuousQuery]] = {
        "skyline": lambda w: w.skyline(**attributes),
        "top_delta": lambda w: w.top_delta(_needed(settings, "delta"), **attributes),
        "top_k": lambda w: w.top_k(_needed(settings, "k"), score=_needed(settings, "score")),
        "aggregate": lambda w: w.aggregate(**_needed(settings, "aggregate")),
    }
    kind = settings["type"].replace("-", "_")
    if kind not in makers:
        raise OptionError(f"Query type {kind!r} is unknown; it is one of: {', '.join(makers)}.")
    return makers[kind](windowed)


def _needed(settings: Mapping[str, Any], name: str) -> Any:
    if name not in settings:
        raise OptionError(f"A {settings['type']} query needs {name}.")
    return settings[name]


def _lateness(settings: Mapping[str, Any]) -> Lateness:
    options = {name: value for name, value in settings.items() if name != "policy" and name not in _ACROSS}
    policies: dict[str, Callable[..., Lateness]] = {
        "kslack": sp.KSlack,
        "fixed_delay": sp.FixedDelay,
        "drop_ratio": sp.DropRatio,
        "harm": sp.Harm,
    }
    policy = settings.get("policy", "kslack")
    if policy not in policies:
        raise OptionError(f"Lateness policy {policy!r} is unknown; it is one of: {', '.join(policies)}.")
    try:
        return policies[policy](**options)
    except TypeError as error:
        raise OptionError(f"Lateness policy {policy!r} does not take these settings: {', '.join(options)}.") from error


def _sink(settings: Mapping[str, Any], name: str) -> Sink:
    kind = settings.get("format", "parquet")
    if kind == "console":
        return sp.ConsoleSink()
    if kind == "discard":
        return sp.DiscardSink()
    if kind == "parquet":
        if "path" not in settings:
            raise OptionError(f"The {name} of format parquet needs a path: --{name} parquet:FOLDER.")
        return sp.ParquetSink(settings["path"])
    path = {"path": settings["path"]} if "path" in settings else {}
    return sp.FormatSink(kind, **path, **settings.get("options", {}))


def parse_lateness(text: str | None) -> dict[str, Any]:
    """The settings of a policy from one option: ``kslack``, ``fixed_delay:5 s``, ``drop_ratio:1%``, ``harm:0.1%``."""
    if text is None:
        return {}
    policy, _, value = text.partition(":")
    value = value.strip()
    if policy in {"drop_ratio", "harm"}:
        try:
            target = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
        except ValueError:
            raise OptionError(f"--lateness {text!r}: give a share, e.g. {policy}:1% or {policy}:0.01.") from None
        return {"policy": policy, "target": target}
    if policy == "fixed_delay":
        return {"policy": policy, "delay": value}
    return {"policy": policy, **({"max_slack": value} if value else {})}
