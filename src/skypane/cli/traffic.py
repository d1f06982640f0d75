"""``skypane generate`` and ``skypane inspect``: streams on demand, and what a stream is like."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from skypane.cli.parameters import keyword, with_parameters
from skypane.cli.places import check_folder
from skypane.traffic.catalogue import OPTIONS
from skypane.traffic.commands import Generated, Inspected
from skypane.traffic.commands import generate as generate_file
from skypane.traffic.commands import inspect as inspect_stream
from skypane.traffic.options import Option

_ONLY_SPARK = {"paced", "max_records_per_batch"}


def with_stream_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for each option of a generated stream; they arrive as ``stream={name: text}``."""
    extra = [_parameter(option) for option in OPTIONS if option.name not in _ONLY_SPARK]
    return with_parameters(command, extra, "stream", lambda given: {n: text for n, text in given.items() if text})


def _parameter(option: Option) -> Parameter:
    declared = typer.Option(
        f"--{option.name.replace('_', '-')}",
        help=escape(f"{option.help} Allowed: {option.allowed}."),
        show_default=option.default or "none",
        rich_help_panel="The stream",
    )
    return keyword(option.name, Annotated[str | None, declared])


@with_stream_options
def generate(
    output: Annotated[Path, typer.Argument(help="The file to write; its name ends in .parquet or .csv.")],
    *,
    stream: dict[str, str],
) -> None:
    """Write a generated stream to a file, in order of arrival. Give it an end with --records or --duration.

    Example: skypane generate bursts.parquet --arrivals map --dispersion 1000 --rate 20000 --duration "60 s"
    """
    Console().print(_summary(generate_file(stream, output)), highlight=False, soft_wrap=True)


@with_stream_options
def inspect(
    file: Annotated[Path | None, typer.Argument(help="A Parquet or CSV file; leave it out with --generate.")] = None,
    *,
    generate: Annotated[bool, typer.Option("--generate", metavar="", help="Inspect a generated stream.")] = False,
    ts: Annotated[str, typer.Option(help="The column with the event time.")] = "ts",
    arrival: Annotated[str, typer.Option(help="The column with the arrival time, if there is one.")] = "arrival",
    plots: Annotated[Path | None, typer.Option(help="Draw arrivals and delays as PNG files into this folder.")] = None,
    stream: dict[str, str],
) -> None:
    """Show how bursty, how late and how disordered a stream is: a file, or one generated on the spot.

    Example: skypane inspect --generate --arrivals map --dispersion 1000 --duration "5 min" --plots plots
    """
    if plots is not None:
        check_folder("--plots", plots)
    console = Console()
    found = inspect_stream(file, stream if generate or stream else None, ts=ts, arrival=arrival, plots=plots)
    console.print(_table(found))
    for path in found.plots:
        console.print(f"drew {path}", highlight=False, soft_wrap=True)


def _summary(written: Generated) -> str:
    """One line for people."""
    speed, size_mb = written.records / max(written.seconds, 1e-9), written.file_bytes / 1e6
    return f"{written.records:,} records, {size_mb:,.1f} MB in {written.path} ({speed:,.0f} records/s)"


def _table(found: Inspected) -> Table:
    """The figures of Table 2 of the first paper, for the terminal."""
    table = Table(title=escape(found.name), show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(justify="right")
    for label, value in found.description.rows():
        table.add_row(label, value)
    dispersion = found.description.dispersion
    if dispersion.curve and not dispersion.settled:
        table.caption = (
            "The index of dispersion still grows with the interval: the stream is too short for its "
            "bursts, or bursty at all time scales."
        )
    return table
