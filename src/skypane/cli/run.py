"""``skypane run``: a continuous query from the command line - source, query and sinks from options or a TOML file."""

from __future__ import annotations

import signal
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import skypane as sp
from skypane.cli.places import check_folder
from skypane.cli.progress import ProgressPanel, watching
from skypane.cli.run_flags import with_run_flags
from skypane.cli.run_query import Planned, plan
from skypane.cli.run_spec import Spec, load_spec
from skypane.cli.stopping import StopRequest, children_ignore
from skypane.model.errors import SkypaneError
from skypane.notices import has_said, start_of_spark
from skypane.spark.format_name import format_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skypane.spark.query import RunningQuery

_STAGE_COLUMN = 14
"""Where the words of an explanation begin."""


@with_run_flags
def run(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; options below replace its settings.")] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", metavar="", help="Check and explain the query; run nothing.")
    ] = False,
    stop_after: Annotated[float | None, typer.Option(help="Stop after so many seconds.", min=0)] = None,
    log: Annotated[Path, typer.Option(help="Where Spark's own log goes.")] = Path("logs/spark.log"),
    given: Spec,
) -> None:
    """Run a continuous query on embedded Spark, with live progress. Ctrl-C and SIGTERM end it after the step under way.

    Start from a sample: skypane init query.toml, then skypane run --check query.toml, then skypane run query.toml

    Without a file: skypane run --source skypane-traffic --source-option records=200000 --type skyline --time ts \
--window '1 s' --minimize a0 --minimize a1 --sink parquet:out --available-now
    """
    console = Console()
    planned = plan(load_spec(config, given))
    check_folder("--log", log.parent)
    if check:
        _say(console, "Checked without Spark: every setting, durations, choices, numbers, folders, the query's terms.")
    stopping = StopRequest()
    with stopping.listening(), embedded(console, log) as spark:
        stopping.listen()  # Spark has taken Ctrl-C
        if stopping.requested:
            _say(console, "Stopped before the query was started.")
            return
        query = planned.over_records(spark)
        if check:
            explained = query.check(planned.run)
            _say(console, "Checked against the source: columns, their types, expressions. Nothing was started.\n")
            say_stages(console, explained)
            return
        running = query.start(**vars(planned.run))
        say_stages(console, running.explain())
        _watch(console, running, stopping, stop_after, planned)


@contextmanager
def embedded(console: Console, log: Path) -> Iterator[SparkSession]:
    """Spark while it is needed."""
    _say(console, f"Starting embedded Spark (its log: {log}) ...")
    has_said(start_of_spark(log))
    with children_ignore(signal.SIGTERM):
        spark = sp.embedded_session("skypane-run", log_file=log)
    try:
        with plain_errors(log):
            yield spark
    finally:
        spark.stop()


@contextmanager
def plain_errors(log: Path) -> Iterator[None]:
    """Tell an error of Spark's own in its words, without its stacks, which are in its log."""
    try:
        yield
    except Exception as error:
        from skypane.spark.failures import spark_failure  # noqa: PLC0415 - without Spark the other commands work

        if (message := spark_failure(error)) is None:
            raise
        raise SkypaneError(f"Spark has failed: {message}\nSee its log, {log}.") from error


def _watch(
    console: Console, query: RunningQuery, stopping: StopRequest, stop_after: float | None, planned: Planned
) -> None:
    """Show progress until the query ends or is to be stopped; results on the console need the place for themselves."""
    deadline = None if stop_after is None else time.monotonic() + stop_after
    panel = ProgressPanel(query, "skypane run", live_times=False, answers_label=planned.query.spec.answers_label)
    with nullcontext() if _on_console(planned) else watching(console, panel):
        while query.is_active and not stopping.requested and (deadline is None or time.monotonic() < deadline):
            query.await_termination(timeout=0.25)
    if stopping.requested and query.is_active:
        _say(console, "Stopping after the step that is under way ...")
    query.stop()
    query.await_termination()
    console.print(panel)


def _on_console(planned: Planned) -> bool:
    sink = planned.spec["sink"]
    return not sink or format_name(sink.get("format", "")) == "console"


def _say(console: Console, text: str) -> None:
    """Text as it is: names in it may look like markup."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)


def say_stages(console: Console, explained: str) -> None:
    """An explanation: each stage is a name in a column, then words, which stay beside it on a narrow terminal."""
    for line in explained.splitlines():
        words = textwrap.wrap(line, console.width, subsequent_indent=" " * _STAGE_COLUMN, break_on_hyphens=False)
        _say(console, "\n".join(words) if console.is_terminal else line)
