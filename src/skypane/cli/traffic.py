"""``skypane generate`` and ``skypane inspect``: streams on demand, and what a stream is like."""

from __future__ import annotations

import inspect as signatures
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from skypane.traffic.catalogue import OPTIONS
from skypane.traffic.commands import generate as generate_file
from skypane.traffic.commands import inspect as inspect_stream

_ONLY_SPARK = {"paced", "max_records_per_batch"}


def with_stream_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option for each option of a generated stream; they arrive as ``stream={name: text}``."""
    own = [p for p in signatures.signature(command, eval_str=True).parameters.values() if p.name != "stream"]
    extra = [
        signatures.Parameter(
            option.name,
            signatures.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(
                    f"--{option.name.replace('_', '-')}",
                    help=f"{option.help} Allowed: {option.allowed}.",
                    show_default=option.default or "none",
                    rich_help_panel="The stream",
                ),
            ],
        )
        for option in OPTIONS
        if option.name not in _ONLY_SPARK
    ]

    def wrapped(**given: Any) -> None:
        stream = {p.name: given.pop(p.name) for p in extra}
        command(**given, stream={name: text for name, text in stream.items() if text is not None})

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    parameters = [*own, *extra]
    wrapped.__signature__ = signatures.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


@with_stream_options
def generate(
    output: Annotated[Path, typer.Argument(help="The file to write; its name ends in .parquet or .csv.")],
    *,
    stream: dict[str, str],
) -> None:
    """Write a generated stream to a file, in order of arrival. Give it an end with --records or --duration.

    Example: skypane generate bursts.parquet --arrivals map --dispersion 1000 --rate 20000 --duration "60 s"
    """
    Console().print(generate_file(stream, output).summary(), highlight=False, soft_wrap=True)


@with_stream_options
def inspect(
    file: Annotated[Path | None, typer.Argument(help="A Parquet or CSV file; leave it out with --generate.")] = None,
    *,
    generate: Annotated[bool, typer.Option("--generate", help="Inspect a generated stream.")] = False,
    ts: Annotated[str, typer.Option(help="The column with the event time.")] = "ts",
    arrival: Annotated[str, typer.Option(help="The column with the arrival time, if there is one.")] = "arrival",
    plots: Annotated[Path | None, typer.Option(help="Draw arrivals and delays as PNG files into this folder.")] = None,
    stream: dict[str, str],
) -> None:
    """Show how bursty, how late and how disordered a stream is: a file, or one generated on the spot.

    Example: skypane inspect --generate --arrivals map --dispersion 1000 --duration "5 min" --plots plots
    """
    console = Console()
    found = inspect_stream(file, stream if generate or stream else None, ts=ts, arrival=arrival, plots=plots)
    console.print(found.table())
    for path in found.plots:
        console.print(f"drew {path}", highlight=False, soft_wrap=True)
