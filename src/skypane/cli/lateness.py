"""``skypane lateness``: which policy to choose, shown on your own stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from skypane.cli.places import check_folder
from skypane.cli.traffic import with_stream_options
from skypane.flow.definition import Definition
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.lateness_study.plots import plot_outcomes
from skypane.lateness_study.study import Outcome, Step, cut_by_arrival, run_policy
from skypane.model.durations import parse_duration_us
from skypane.model.errors import OptionError, SchemaError
from skypane.model.windows import WindowSpec
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.traffic.commands import read_stream
from skypane.traffic.reading import chunks
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream

_HORIZON_WINDOWS = 10
_LOSSES: Mapping[str, Callable[[Outcome], str]] = {
    "slack": lambda one: f"{one.slack_ms:,.0f}",
    "late": lambda one: f"{one.late_share:.3%}",
    "harmful": lambda one: f"{one.harm_share:.3%}",
}
_TIMES: Mapping[str, Callable[[Outcome], str]] = {
    "window\nlatency": lambda one: f"{one.window_latency_ms:,.0f}",
    "\np99": lambda one: f"{one.window_latency_p99_ms:,.0f}",
    "pane\nlatency": lambda one: f"{one.pane_latency_ms:,.0f}",
    "closing\nlag": lambda one: f"{one.closing_lag_ms:,.0f}",
    "rows\nheld": lambda one: f"{one.held_rows:,.0f}",
}
"""What is shown of an outcome: headings, and figures as text."""


@with_stream_options
def lateness(
    file: Annotated[Path | None, typer.Argument(help="A Parquet or CSV file; leave it out with --generate.")] = None,
    *,
    generate: Annotated[bool, typer.Option("--generate", metavar="", help="Use a generated stream.")] = False,
    window: Annotated[str, typer.Option(help="The length of the windows.")] = "1 second",
    slide: Annotated[str, typer.Option(help="How often a window starts.")] = "200 ms",
    minimize: Annotated[
        str, typer.Option(help="Attributes of the skyline, with commas between; default: all numbers.")
    ] = "",
    targets: Annotated[str, typer.Option(help="Target shares for drop ratio and harm, in percent.")] = "5, 1, 0.1",
    fixed: Annotated[str, typer.Option(help="Also try this fixed delay.")] = "",
    interval: Annotated[str, typer.Option(help="How often the query takes a step.")] = "100 ms",
    ts: Annotated[str, typer.Option(help="The column with the event time.")] = "ts",
    arrival: Annotated[str, typer.Option(help="The column with the arrival time.")] = "arrival",
    plot: Annotated[Path | None, typer.Option(help="Draw the comparison into this PNG file.")] = None,
    stream: dict[str, str],
) -> None:
    """Compare lateness policies on one stream: what they lose, what it harms, how long answers take.

    Example: skypane lateness --generate --disorder pareto --attributes 4 --duration "60 s" --plot lateness.png
    """
    if plot is not None:
        check_folder("--plot", plot.parent)
    name, tables = _tables(file, stream if generate or stream else None, ts, arrival)
    steps = list(cut_by_arrival(tables, arrival, parse_duration_us(interval, "interval")))
    if not steps:
        raise OptionError("The stream has no records. Give another file, or raise rate= or duration=.")
    attributes = _attributes(minimize, steps[0].rows.schema)
    spec = WindowSpec.parse(window, slide)
    horizon_us = _HORIZON_WINDOWS * max(spec.size_us, spec.slide_us)
    question = Skyline(Preferences.of(attributes, ()))
    definition = Definition(question, spec, ts, harm_horizon_us=horizon_us, time_zone=_zone(steps[0].rows, ts))
    definition.check(steps[0].rows.schema)
    console = Console()
    outcomes = list(_outcomes(console, definition, steps, arrival, _shares(targets), fixed))
    title = f"{name}: skyline of {len(attributes)} attributes, {spec}"
    _show(console, title, outcomes)
    if plot is not None:
        drawn = plot_outcomes(outcomes, plot, title)
        console.print(f"drew {drawn}", highlight=False, soft_wrap=True)


def _outcomes(
    console: Console,
    definition: Definition,
    steps: Sequence[Step],
    arrival: str,
    targets: Sequence[float],
    fixed: str,
) -> Iterator[Outcome]:
    """Every policy in turn; then in-order processing with the slack of K-slack."""
    policies: list[Lateness] = [KSlack(), *([FixedDelay(fixed)] if fixed else [])]
    policies += [policy(target) for policy in (DropRatio, Harm) for target in targets]
    with console.status("comparing") as status:
        for policy in policies:
            status.update(f"comparing: {policy.name}")
            yield run_policy(definition, policy, steps, arrival=arrival)
        in_order = replace(definition, processing="in_order")
        yield run_policy(in_order, KSlack(), steps, arrival=arrival, name="K-slack, in order")


def _show(console: Console, title: str, outcomes: Sequence[Outcome]) -> None:
    """One table, or two where one would be cut off."""
    caption = f"{outcomes[0].records:,} records after warm-up; slack and latencies in ms"
    whole = _table(title, caption, {**_LOSSES, **_TIMES}, outcomes)
    if console.measure(whole, options=console.options.update(max_width=10_000)).maximum <= console.width:
        console.print(whole)
    else:
        console.print(_table(title, "", _LOSSES, outcomes))
        console.print(_table("", caption, _TIMES, outcomes))


def _table(
    title: str, caption: str, columns: Mapping[str, Callable[[Outcome], str]], outcomes: Sequence[Outcome]
) -> Table:
    table = Table(title=escape(title) or None, caption=caption or None, title_justify="left", caption_justify="left")
    table.add_column("policy", no_wrap=True)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for one in outcomes:
        table.add_row(one.policy, *(text(one) for text in columns.values()))
    return table


def _tables(file: Path | None, stream: dict[str, str] | None, ts: str, arrival: str) -> tuple[str, Iterator[pa.Table]]:
    if (file is None) == (stream is None):
        raise OptionError("lateness needs either a file or --generate with the options of a stream, not both.")
    if file is not None:
        return file.name, iter([read_stream(file, ts, arrival)])
    assert stream is not None
    generated = Stream(TrafficSpec.from_options(stream))
    return "generated", (pa.Table.from_batches([batch]) for batch in chunks(generated))


def _attributes(minimize: str, schema: pa.Schema) -> list[str]:
    named = [name.strip() for name in minimize.split(",") if name.strip()]
    if named:
        return named
    numbers = [f.name for f in schema if pa.types.is_floating(f.type)]
    if not numbers:
        raise SchemaError("The stream has no column of floating-point numbers: name attributes with --minimize.")
    return numbers


def _shares(targets: str) -> list[float]:
    try:
        shares = [float(text) / 100 for text in targets.split(",")]
    except ValueError:
        shares = []
    if not shares or not all(0 < share < 1 for share in shares):
        raise OptionError(f"option targets: {targets!r} must be percentages above 0 and below 100, such as '5, 1, 0.1'")
    return shares


def _zone(rows: pa.Table, ts: str) -> str | None:
    if ts not in rows.column_names or not pa.types.is_timestamp(rows.schema.field(ts).type):
        raise SchemaError(f"column {ts!r} is not a timestamp of the stream; name the column with the event time: --ts")
    zone: str | None = rows.schema.field(ts).type.tz
    return zone
