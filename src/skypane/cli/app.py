"""The typer application: one command per module, errors as one readable line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import skypane
from skypane.cli.demo import demo
from skypane.cli.explore import explore
from skypane.cli.init import init
from skypane.cli.lateness import lateness
from skypane.cli.plugins import command_names, load_command
from skypane.cli.run import run
from skypane.cli.traffic import generate, inspect
from skypane.lazy_names import spark_missing
from skypane.model.errors import DependencyError, SkypaneError


class _FriendlyGroup(typer.core.TyperGroup):
    """Has the commands of other distributions, too; shows an error of skypane as its message, without a stack."""

    # Any: versions of typer keep click's types in different places.
    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *command_names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or load_command(cmd_name)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except (SkypaneError, ModuleNotFoundError) as error:
            lacks = error.__cause__ if isinstance(error, DependencyError) else error
            message = spark_missing(lacks, f"skypane {ctx.invoked_subcommand}") or error
            if not isinstance(message, SkypaneError):
                raise
            _show(message)
            raise typer.Exit(2) from error


def _show(error: SkypaneError) -> None:
    """As text, not as markup: what stands in brackets is the name of a section."""
    message = Text.assemble(("error:", "bold red"), f" {error}")
    Console(stderr=True).print(message, highlight=False, soft_wrap=True)


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


for command in (demo, init, run, explore, generate, inspect, lateness):
    app.command()(command)
