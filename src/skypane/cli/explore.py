"""``skypane explore``: a query in every tree of patterns that can do its work, what each takes and was predicted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import skypane as sp
from skypane.api.options.run_options import RunOptions
from skypane.cli.places import check_folder
from skypane.cli.plugins import load_simulator
from skypane.cli.run import embedded
from skypane.cli.run_flags import with_run_flags
from skypane.cli.run_query import Planned, plan
from skypane.cli.run_spec import Spec, load_spec
from skypane.model.errors import OptionError
from skypane.traffic.plots import BLUE, GREY, RED, logarithmic, new_figure, save_figure
from skypane.tuning.patterns.exploration import Explored, against_best, rank_correlation
from skypane.tuning.patterns.parse import parse_pattern
from skypane.tuning.planner.planner import FIRST_STEPS

if TYPE_CHECKING:
    from skypane.api.continuous_query import ContinuousQuery
    from skypane.cli.plugins import Simulator
    from skypane.spark.query import RunningQuery
    from skypane.tuning.patterns.base import Pattern
    from skypane.tuning.planner.cost_model import CostModel
    from skypane.tuning.planner.planner import Planner

_COLD = FIRST_STEPS + 1
"""The first steps of a run are slow whatever the tree, and are not planned yet; of a short run, half of them."""
_MAX_CORES = 256


@with_run_flags
def explore(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; options below replace its settings.")] = None,
    *,
    tree: Annotated[list[str] | None, typer.Option(help="A tree more, e.g. 'PF(4,2)'. Repeat it for several.")] = None,
    simulate: Annotated[
        int | None,
        typer.Option(
            help=f"Run it once as planned, then try its trees on so many virtual cores, 2 to {_MAX_CORES}. "
            "Needs skypane-lab."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Where to draw what was predicted and what it took, as PNG.")
    ] = None,
    log: Annotated[Path, typer.Option(help="Where Spark's own log goes.")] = Path("logs/spark.log"),
    given: Spec,
) -> None:
    """Run a query in every tree of patterns that can do its work: what the planner predicts, and what each takes.

    Takes what 'skypane run' takes. The source must end; sinks and checkpoint are not touched. See docs/patterns.md.
    """
    console = Console()
    if simulate is not None and not 2 <= simulate <= _MAX_CORES:
        raise OptionError(f"--simulate {simulate} must be a number of cores from 2 to {_MAX_CORES}.")
    simulated = None if simulate is None else (simulate, load_simulator())
    more = [parse_pattern(text) for text in tree or ()]
    planned = _shared_by_nobody(plan(load_spec(config, given)), console)
    check_folder("--log", log.parent)
    if plot is not None:
        check_folder("--plot", plot.parent)
    for each in more:
        _in_tree(planned.query, each).plan(planned.run, slots=1)  # before any other has run for minutes
    with embedded(console, log) as spark:
        query = planned.over_records(spark)
        found = exploration(query, more, console) if simulated is None else simulation(query, more, console, *simulated)
    for text in (found.table(), found.verdict()):
        console.print(text, highlight=False)
    if plot is not None:
        console.print(f"Drew {found.draw(plot)}.", highlight=False)


def _shared_by_nobody(planned: Planned, console: Console) -> Planned:
    """The query without what its file says about sharing the work, since that is what is tried here."""
    parallel = planned.query.parallel_options
    if parallel.elastic:
        console.print("Without elastic here: every tree has fixed degrees, or their steps could not be compared.")
        parallel = replace(parallel, elastic=False)
    if given := parallel.explicit():
        raise OptionError(f"explore tries every pattern itself. Leave out {', '.join(given)}.")
    return replace(planned, query=replace(planned.query, parallel_options=parallel))


def _in_tree(query: ContinuousQuery, tree: Pattern) -> ContinuousQuery:
    """The query in a tree of patterns; its other options stay."""
    return replace(query, parallel_options=replace(query.parallel_options, pattern=tree))


@dataclass(frozen=True)
class Exploration:
    """The trees of an exploration, with predicted and measured times."""

    explored: Sequence[Explored]
    chosen: Pattern
    """What the planner's plan amounts to."""
    usual_ms: float
    """What a step takes that is planned."""
    cores: int | None = None
    """So many virtual ones; if ``None``, it was run and measured."""

    @property
    def _how(self) -> str:
        return "measured" if self.cores is None else "simulated"

    def table(self) -> Table:
        """A row for each tree."""
        where = "" if self.cores is None else f" on {self.cores} virtual cores (predicted: Spark's jobs, too)"
        table = Table(title=f"A step of both stages{where}, in milliseconds", title_justify="left")
        for name in ("tree", "predicted", self._how, ""):
            table.add_column(name, justify="left" if name in ("tree", "") else "right")
        for each in sorted(self.explored, key=lambda each: each.measured_ms):
            note = "what the planner's plan amounts to" if each.tree == self.chosen else ""
            took = f"{each.measured_ms:,.0f}" if self.cores is None else f"{each.measured_ms:,.1f}"
            table.add_row(str(each.tree), f"{each.predicted_ms:,.0f}", took, note)
        if self.cores is None:
            table.add_row("as planned, step by step", "", f"{self.usual_ms:,.0f}", "what runs by default")
        return table

    def verdict(self) -> str:
        """How far predictions agree with measurements, in words."""
        agreed, worse = rank_correlation(self.explored), against_best(self.explored, self.chosen)
        if self.cores is not None:
            best = min(self.explored, key=lambda each: each.measured_ms)
            faster = "" if worse is None else f", {worse:.2f} x as fast as {self.chosen}"
            return f"Without Spark's jobs {best.tree} is fastest on {self.cores} cores{faster}."
        given = [] if agreed is None else [f"Rank correlation of predicted and measured: {agreed:.2f}."]
        return " ".join([*given, *([] if worse is None else [f"{self.chosen} took {worse:.2f} x the fastest."])])

    def draw(self, path: Path) -> Path:
        """A row for each tree, the fastest on top: what was predicted, and what it took."""
        rows = sorted(self.explored, key=lambda each: -each.measured_ms)
        figure = new_figure(rows=1 + len(rows) // 8)
        axes = figure.subplots()
        for place, each in enumerate(rows):
            color = RED if each.tree == self.chosen else BLUE
            axes.plot([each.predicted_ms, each.measured_ms], [place, place], color=GREY, linewidth=0.8, zorder=1)
            axes.plot(each.predicted_ms, place, "o", markeredgecolor=color, markerfacecolor="white")
            axes.plot(each.measured_ms, place, "o", color=color)
        axes.plot([], [], "o", markeredgecolor=BLUE, markerfacecolor="white", label="predicted")
        axes.plot([], [], "o", color=BLUE, label=self._how)
        if any(each.tree == self.chosen for each in rows):
            axes.plot([], [], "o", color=RED, label="red: what the planner's plan amounts to")
        if self.cores is None:
            axes.axvline(self.usual_ms, color=GREY, linestyle="--", linewidth=0.9, label="as planned, step by step")
            axes.set_xlim(left=0)
        else:
            logarithmic(axes)  # predictions have Spark's jobs, the simulator does not
        axes.set_yticks(range(len(rows)), [str(each.tree) for each in rows])
        axes.set_xlabel(f"ms a step{'' if self.cores is None else f', on {self.cores} virtual cores'}")
        figure.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
        return save_figure(figure, path)


def exploration(
    query: ContinuousQuery, more: Sequence[Pattern], console: Console, trees: Sequence[Pattern] | None = None
) -> Exploration:
    """Run the query as it is planned, in each tree, by default in all that the planner thinks of, and as planned again.

    What runs first is slow: it says which trees there are, and is not compared with them.
    """
    _check(query, [*(trees or ()), *more])
    _, (planner, _) = _planned(query)
    took = {}
    for each in dict.fromkeys([*(trees or planner.candidates()), *more]):
        console.print(f"running {each} ...", highlight=False)
        took[each] = step_ms(run_once(_in_tree(query, each)))
    usual, (planner, learned) = _planned(query)
    explored = [Explored(tree, planner.predicted(tree, learned).step_us / 1e3, ms) for tree, ms in took.items()]
    return Exploration(explored, planner.chosen(learned).tree, step_ms(usual))


def simulation(
    query: ContinuousQuery, more: Sequence[Pattern], console: Console, cores: int, simulator: Simulator
) -> Exploration:
    """Run the query as it is planned, then simulate it in each tree that the planner would think of for more cores."""
    _check(query, more)
    usual, (planner, learned) = _planned(query)
    # As many more tasks read as there are more slots, so the longest has so much less.
    longest = max(1 / cores, learned.load.longest * min(1.0, planner.slots / cores))
    learned = replace(learned, load=learned.load._replace(longest=longest))
    planner, explored = replace(planner, slots=cores), []
    for each in dict.fromkeys([*planner.candidates(), *more]):
        console.print(f"simulating {each} ...", highlight=False)
        took_us = simulator(each, planner.work, learned, cores)
        explored.append(Explored(each, planner.predicted(each, learned).step_us / 1e3, took_us / 1e3))
    return Exploration(explored, planner.chosen(learned).tree, step_ms(usual), cores)


def _check(query: ContinuousQuery, trees: Sequence[Pattern]) -> None:
    """Refuse what cannot be run before anything runs."""
    for each in trees:
        _in_tree(query, each).check(RunOptions(sp.DiscardSink()))


def _planned(query: ContinuousQuery) -> tuple[RunningQuery, tuple[Planner, CostModel]]:
    """A run as the planner has it, and what it knows after that."""
    usual = run_once(query)
    planning = usual.planning()
    if planning is None or planning.model is None or len(_steps(usual)) < FIRST_STEPS:
        raise OptionError(
            f"The source has fewer than {FIRST_STEPS} batches, too few to compare. Make them smaller: files with "
            "--source-option maxFilesPerTrigger=1, a generated stream with max_records_per_batch=10000."
        )
    return usual, (planning.planner, planning.model)


def run_once(query: ContinuousQuery) -> RunningQuery:
    """All of the source, and nothing is written."""
    running = query.start(sink=sp.DiscardSink(), available_now=True)
    running.await_termination()
    return running


def _steps(running: RunningQuery) -> list[float]:
    """What both stages took together."""
    return [step.pane_ms + step.window_ms for step in running.metrics().recent if step.kind == "batch"]


def step_ms(running: RunningQuery) -> float:
    """The median step of a run, both stages, once it is warm."""
    steps = _steps(running)
    return median(steps[min(_COLD, len(steps) // 2) :])
