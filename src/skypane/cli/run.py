"""``skypane run``: a continuous query from the command line - source, query and sinks from options or a TOML file."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

import skypane as sp
from skypane.cli.progress import ProgressPanel, watching
from skypane.cli.run_spec import load_spec, parse_lateness, start
from skypane.model.errors import OptionError

if TYPE_CHECKING:
    from skypane.spark.query import RunningQuery

_SOURCE, _QUERY, _OUT, _HOW = "Source", "Query", "Where rows go: console, discard, FORMAT:PATH", "How to run"


def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; options below replace its settings.")] = None,
    *,
    source: Annotated[
        str | None, typer.Option(help="Spark format, e.g. skypane-traffic, parquet, kafka.", rich_help_panel=_SOURCE)
    ] = None,
    path: Annotated[str | None, typer.Option(help="Path of a file source.", rich_help_panel=_SOURCE)] = None,
    schema: Annotated[
        str | None, typer.Option(help="Schema of a file source: 'ts timestamp, price double'.", rich_help_panel=_SOURCE)
    ] = None,
    source_option: Annotated[
        list[str] | None, typer.Option(help="name=value for the source; repeat it.", rich_help_panel=_SOURCE)
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", help="skyline, top_delta, top_k or aggregate.", rich_help_panel=_QUERY)
    ] = None,
    time_: Annotated[
        str | None, typer.Option("--time", help="The column with the event time.", rich_help_panel=_QUERY)
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option(help="Key column; repeat it for several.", rich_help_panel=_QUERY)
    ] = None,
    window: Annotated[str | None, typer.Option(help="Window size, e.g. '1 second'.", rich_help_panel=_QUERY)] = None,
    slide: Annotated[
        str | None, typer.Option(help="Distance of windows; none: tumbling.", rich_help_panel=_QUERY)
    ] = None,
    minimize: Annotated[
        list[str] | None, typer.Option(help="Attribute, smaller is better; repeat it.", rich_help_panel=_QUERY)
    ] = None,
    maximize: Annotated[
        list[str] | None, typer.Option(help="Attribute, larger is better; repeat it.", rich_help_panel=_QUERY)
    ] = None,
    delta: Annotated[int | None, typer.Option(help="top_delta: how many records.", rich_help_panel=_QUERY)] = None,
    k: Annotated[int | None, typer.Option(help="top_k: how many records.", rich_help_panel=_QUERY)] = None,
    score: Annotated[
        str | None, typer.Option(help="top_k: a SQL expression, larger is better.", rich_help_panel=_QUERY)
    ] = None,
    aggregate: Annotated[
        list[str] | None, typer.Option(help="aggregate: name=function(expression); repeat it.", rich_help_panel=_QUERY)
    ] = None,
    sink: Annotated[str | None, typer.Option(help="Results. Default: console.", rich_help_panel=_OUT)] = None,
    late: Annotated[str | None, typer.Option(help="Late records. Default: only counted.", rich_help_panel=_OUT)] = None,
    quarantine: Annotated[
        str | None, typer.Option(help="Unusable records. Default: only counted.", rich_help_panel=_OUT)
    ] = None,
    checkpoint: Annotated[str | None, typer.Option(help="Folder to restart from.", rich_help_panel=_HOW)] = None,
    trigger: Annotated[str | None, typer.Option(help="How often to take a step.", rich_help_panel=_HOW)] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Process what is there, then end.", rich_help_panel=_HOW)
    ] = False,
    lateness: Annotated[
        str | None,
        typer.Option(
            help="How long to wait: kslack, fixed_delay:5 s, drop_ratio:1% or harm:0.1%.", rich_help_panel=_HOW
        ),
    ] = None,
    allowed_lateness: Annotated[
        str | None, typer.Option(help="How long late records still correct answers.", rich_help_panel=_HOW)
    ] = None,
    emit: Annotated[
        str | None, typer.Option(help="full, or changes from window to window.", rich_help_panel=_HOW)
    ] = None,
    splitting: Annotated[
        str | None,
        typer.Option(help="combine, pane_rr, tuple_rr, adaptive or adaptive_pid.", rich_help_panel=_HOW),
    ] = None,
    pane_degree: Annotated[int | None, typer.Option(help="Tasks of the pane stage.", rich_help_panel=_HOW)] = None,
    window_scheduling: Annotated[
        str | None, typer.Option(help="ranges, feedback or round_robin.", rich_help_panel=_HOW)
    ] = None,
    stop_after: Annotated[float | None, typer.Option(help="Stop after so many seconds.", rich_help_panel=_HOW)] = None,
    log: Annotated[Path, typer.Option(help="Where Spark's own log goes.", rich_help_panel=_HOW)] = Path(
        "logs/spark.log"
    ),
) -> None:
    """Run a continuous query on embedded Spark, with live progress. Ctrl-C stops it at a step boundary.

    Example: skypane run --source skypane-traffic --source-option records=200000 --type skyline --time ts
    --window '1 s' --slide '200 ms' --minimize a0 --minimize a1 --sink parquet:out --available-now
    """
    overrides: dict[str, dict[str, Any]] = {
        "source": {"format": source, "path": path, "schema": schema, "options": _pairs(source_option, "source-option")},
        "query": {
            "type": type_,
            "time": time_,
            "key": key,
            "window": window,
            "slide": slide,
            "minimize": minimize,
            "maximize": maximize,
            "delta": delta,
            "k": k,
            "score": score,
            "aggregate": _pairs(aggregate, "aggregate"),
        },
        "sink": _place(sink),
        "late": _place(late),
        "quarantine": _place(quarantine),
        "lateness": parse_lateness(lateness),
        "run": {
            "checkpoint": checkpoint,
            "trigger": trigger,
            "available_now": available_now or None,
            "allowed_lateness": allowed_lateness,
            "emit": emit,
            "splitting": splitting,
            "pane_degree": pane_degree,
            "window_scheduling": window_scheduling,
        },
    }
    spec = load_spec(config, overrides)
    console = Console()
    console.print(f"Starting embedded Spark (its log: {log}) ...")
    spark = sp.embedded_session("skypane-run", log_file=log)
    try:
        query = start(spec, spark)
        console.print(query.explain(), highlight=False, soft_wrap=True)
        _watch(console, query, stop_after, quiet=spec["sink"].get("format", "console") == "console")
    finally:
        spark.stop()


def _watch(console: Console, query: RunningQuery, stop_after: float | None, *, quiet: bool) -> None:
    """Show progress until the query ends or is to be stopped; results on the console need the place for themselves."""
    deadline = None if stop_after is None else time.monotonic() + stop_after
    panel = ProgressPanel(query, "skypane run", live_times=False)
    try:
        with nullcontext() if quiet else watching(console, panel):
            while query.is_active and (deadline is None or time.monotonic() < deadline):
                query.await_termination(timeout=0.25)
    except KeyboardInterrupt:
        console.print("Stopping at the next step boundary ...")
    query.stop()
    query.await_termination()
    console.print(panel)


def _pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--{option} {text!r} must be written name=value.")
        pairs[name.strip()] = value.strip()
    return pairs


def _place(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    kind, _, path = text.partition(":")
    return {"format": kind, "path": path or None}
