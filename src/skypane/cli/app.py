"""The typer application: one command per module, errors as one readable line."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import skypane
from skypane.cli.demo import demo
from skypane.cli.explore import explore
from skypane.cli.init import init
from skypane.cli.lateness import lateness
from skypane.cli.run import run
from skypane.cli.simulate import simulate
from skypane.cli.traffic import generate, inspect
from skypane.model.errors import SkypaneError


class _FriendlyGroup(typer.core.TyperGroup):
    """Shows an error that skypane raised on purpose as its message, without a stack."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except SkypaneError as error:
            # As text, not as markup: what stands in brackets is the name of a section.
            message = Text.assemble(("error:", "bold red"), f" {error}")
            Console(stderr=True).print(message, highlight=False, soft_wrap=True)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_FriendlyGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Continuous skyline, top-delta and top-k queries over late, out-of-order and bursty streams, on Spark.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skypane {skypane.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Which records are best, right now? Continuously, over sliding windows, with nothing silently lost."""
    del version


for command in (demo, init, run, explore, generate, inspect, lateness, simulate):
    app.command()(command)
