"""``skypane simulate``: scheduling strategies under virtual time, with as many virtual workers as wanted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from skypane.cli.places import check_folder
from skypane.model.durations import parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec
from skypane.traffic.points import DISTRIBUTIONS
from skypane_lab.calibration import our_machine
from skypane_lab.cost_model import CostModel, paper_machine
from skypane_lab.figures import FIGURES, draw
from skypane_lab.pane_run import Distributions
from skypane_lab.scenario import Scenario
from skypane_lab.strategies.pane_strategies import PANE_STRATEGIES
from skypane_lab.strategies.window_strategies import WINDOW_STRATEGIES

MAX_WORKERS = 1_000


Strategies = Annotated[
    list[str] | None, typer.Option(help=f"Pane-stage strategy, repeatable: {', '.join(PANE_STRATEGIES)}.")
]
WindowBy = Annotated[str | None, typer.Option(help=f"Also simulate the window stage: {', '.join(WINDOW_STRATEGIES)}.")]
Points = Annotated[str, typer.Option(help=f"Distributions of the records, in turn: {', '.join(DISTRIBUTIONS)}.")]
Calibrate = Annotated[
    Path | None, typer.Option(help="Measure our kernels on this machine and write the cost model to this file.")
]
FigureName = Annotated[
    str | None, typer.Option(help=f"Draw a figure of the papers instead: {', '.join(FIGURES)}, or all.")
]
Output = Annotated[Path, typer.Option(help="The folder for --figure: a PNG and a table for each.")]


def simulate(
    strategy: Strategies = None,
    degree: Annotated[str, typer.Option(help="Workers of the pane stage: '5', '3,5,9' or '1-17'.")] = "5",
    window_strategy: WindowBy = None,
    window_degree: Annotated[int, typer.Option(help=f"Workers of the window stage, 1 to {MAX_WORKERS}.")] = 10,
    dispersion: Annotated[float, typer.Option(help="Burstiness: index of dispersion, 1 (none) to 10000.")] = 1000.0,
    rate: Annotated[float, typer.Option(help="Records per second, 1 to 1e7.")] = 100_000.0,
    window: Annotated[str, typer.Option(help="Window length.")] = "1 second",
    slide: Annotated[str, typer.Option(help="Distance of windows; panes have the common divisor.")] = "100 ms",
    delay: Annotated[str, typer.Option(help="Mean delay of records.")] = "200 ms",
    points: Points = "independent",
    duration: Annotated[str, typer.Option(help="How long the stream is; the first third is warm-up.")] = "90 seconds",
    seed: Annotated[int, typer.Option(help="Another seed, another stream.")] = 1,
    machine: Annotated[str, typer.Option(help="Cost model: 'paper', or a JSON file that --calibrate wrote.")] = "paper",
    calibrate: Calibrate = None,
    figure: FigureName = None,
    output: Output = Path("figures"),
) -> None:
    """Try scheduling strategies on a bursty stream under virtual time: the strategies are those of the real engine.

    Example: skypane simulate --strategy adaptive --strategy adaptive_pid --degree 5,9,17 --dispersion 6000
    """
    console = Console()
    if calibrate is not None:
        return _calibrate(console, calibrate)
    if figure is not None:
        return _draw(console, figure, output)
    scenario = _scenario(rate, dispersion, WindowSpec.parse(window, slide), delay, duration, points, machine, seed)
    degrees = _degrees(degree)
    _within("--window-degree", window_degree, 1, MAX_WORKERS)
    _known("--window-strategy", window_strategy or WINDOW_STRATEGIES[0], WINDOW_STRATEGIES)
    names = [_known("--strategy", name, PANE_STRATEGIES) for name in strategy or ["adaptive_pid"]]
    console.print(_table(scenario, names, degrees, window_strategy, window_degree))
    return None


def _draw(console: Console, figure: str, output: Path) -> None:
    names = _figures(figure)
    check_folder("--output", output)
    for name in names:
        for path in draw(name, output):
            console.print(f"wrote {path}", highlight=False, soft_wrap=True)


def _scenario(
    rate: float,
    dispersion: float,
    window: WindowSpec,
    delay: str,
    duration: str,
    points: str,
    machine: str,
    seed: int,
) -> Scenario:
    length_us = parse_duration_us(duration, "--duration")
    return Scenario(
        rate=_within("--rate", rate, 1.0, 1e7),
        dispersion=_within("--dispersion", dispersion, 1.0, 10_000.0),
        window=window,
        mean_delay_us=parse_duration_us(delay, "--delay", zero_ok=True),
        duration_s=_within("--duration in seconds", length_us / 1e6, 3.0, 36_000.0),
        warm_up_s=length_us / 3e6,
        points=Distributions(_points(points)),
        cost=_machine(machine),
        seed=seed,
    )


def _table(
    scenario: Scenario, strategies: list[str], degrees: list[int], window_strategy: str | None, window_degree: int
) -> Table:
    title = f"{scenario.rate:,.0f} records/s, dispersion {scenario.dispersion:g}, {scenario.cost.name}"
    if window_strategy:
        title += f"; windows by {window_strategy} on {window_degree} workers"
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False)
    columns = ["strategy", "n", "util", "shards\n/pane", "rows\n/pane", "panes\nin time", "pane\nlatency"]
    columns += ["windows\nin time", "idle", "merges", "window\nlatency"] if window_strategy else []
    for column in columns:
        table.add_column(column, justify="left" if column == "strategy" else "right", no_wrap=True)
    for name in strategies:
        for degree in degrees:
            run = scenario.panes(name, degree)
            cells = [name, str(degree), f"{run.utilization:.2f}", f"{run.splitting_factor:.2f}"]
            cells += [f"{run.selected_per_pane:,.0f}", f"{run.sustained:.0%}", f"{run.latency_us / 1e6:.2f} s"]
            if window_strategy:
                found = scenario.windows(run, window_strategy, window_degree)
                cells += [f"{found.sustained:.0%}", f"{found.idle_share:.0%}", f"{found.merge_share:.0%}"]
                cells.append(f"{found.latency_us / 1e6:.2f} s")
            table.add_row(*cells)
    return table


def _calibrate(console: Console, path: Path) -> None:
    check_folder("--calibrate", path.parent)
    model = our_machine()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(model.to_json(), indent=1))
    table = Table(title=f"{model.name}, {model.attributes} attributes: 10,000 records in one shard")
    for column in ("distribution", "rows", "time"):
        table.add_column(column, justify="left" if column == "distribution" else "right")
    for name in model.distributions:
        took_us = model.insert_us(name, 0, 10_000)
        table.add_row(name, f"{model.rows(name, 10_000):,.0f}", f"{took_us / 1e3:.2f} ms")
    console.print(table)
    console.print(f"wrote {path}", highlight=False, soft_wrap=True)


def _machine(text: str) -> CostModel:
    if text == "paper":
        return paper_machine()
    path = Path(text)
    try:
        return CostModel.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(
            f"--machine {text!r} must be 'paper' or a JSON file that --calibrate wrote ({type(error).__name__})."
        ) from error


def _degrees(text: str) -> list[int]:
    wrong = OptionError(f"--degree {text!r} must be like '5', '3,5,9' or '1-17', each from 1 to {MAX_WORKERS}.")
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if match is None:
            raise wrong
        first, last = int(match[1]), int(match[2] or match[1])
        found += range(first, min(last, MAX_WORKERS + 1) + 1)
    if not found or min(found) < 1 or max(found) > MAX_WORKERS:
        raise wrong
    return found


def _points(text: str) -> tuple[str, ...]:
    return tuple(_known("--points", name.strip(), tuple(DISTRIBUTIONS)) for name in text.split(","))


def _figures(text: str) -> list[str]:
    return list(FIGURES) if text == "all" else [_known("--figure", text, tuple(FIGURES))]


def _known(option: str, name: str, allowed: tuple[str, ...]) -> str:
    if name not in allowed:
        raise OptionError(f"{option} {name!r} must be one of {', '.join(allowed)}.")
    return name


def _within(option: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise OptionError(f"{option} {value:g} must be a number from {low:g} to {high:g}.")
    return value
