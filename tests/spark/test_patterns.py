"""Trees of patterns on Spark: answers and fates are those of the oracle, tasks are those of the tree."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.options.run_options import RunOptions
from skypane.cli.explore import exploration, simulation
from skypane.tuning.patterns.base import Work
from skypane.tuning.planner.cost_model import CostModel
from tests.support.spark.streams import Outputs, check_run, random_batches, read_batches, run_to_end, write_batches

pytestmark = pytest.mark.spark

BATCHES = random_batches(seed=15, batches=3, rows=60)
IN_TURN = {"in_order": False}


@pytest.fixture(scope="module")
def query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ContinuousQuery:
    folder: Path = tmp_path_factory.mktemp("patterns")
    write_batches(folder / "in", BATCHES, files=2)
    stream = sp.stream(read_batches(spark, folder / "in", files=2), time="ts", key="city")
    return stream.window("1 second", slide="250 ms").aggregate(n="count", low="min(a)", total="sum(n)")


@pytest.mark.parametrize(
    ("tree", "pane_tasks", "window_tasks", "in_driver", "how"),
    [
        (sp.WinSeq(), 1, 1, True, {}),
        (sp.KeyFarm(2), 2, 2, False, {}),
        (sp.PaneFarm(3, 1, level=1), 3, 1, True, {}),
        (sp.WinFarm(sp.PaneFarm(1, 1, level=2), 3, level=1), 2, 3, False, IN_TURN),
        (sp.KeyFarm(sp.WinMapReduce(2, 2), 2), 4, 4, False, {}),
    ],
    ids=str,
)
def test_answers_and_tasks_of_trees(
    spark: SparkSession,
    query: ContinuousQuery,
    tree: sp.extend.Pattern,
    pane_tasks: int,
    window_tasks: int,
    in_driver: bool,
    how: dict[str, Any],
) -> None:
    outputs = Outputs()
    running = run_to_end(query.parallel(pattern=tree), outputs)
    check_run(spark, query, BATCHES, outputs, running.metrics(), **how)
    batches = [step for step in running.metrics().recent if step.kind == "batch"]
    assert {step.pane_tasks for step in batches} == {pane_tasks}
    answering = [step for step in running.metrics().recent if step.windows]
    assert max(step.window_tasks for step in answering) == window_tasks
    assert {step.window_inline for step in answering} == {in_driver}
    assert f"pattern       {tree}: " in running.explain()


def test_a_skyline_whose_windows_are_shared(spark: SparkSession, query: ContinuousQuery) -> None:
    skyline = query.source.window("1 second", slide="250 ms").skyline(minimize="a", maximize="b")
    outputs = Outputs()
    running = run_to_end(skyline.parallel(pattern="WF(3)"), outputs)
    check_run(spark, skyline, BATCHES, outputs, running.metrics(), in_order=False)
    assert max(step.window_tasks for step in running.metrics().recent) == 3


def test_steps_are_planned_unless_somebody_says_how(query: ContinuousQuery) -> None:
    running = run_to_end(query, Outputs())
    planning = running.planning()
    assert planning is not None
    assert (learned := planning.model) is not None
    assert learned.steps == len(BATCHES)
    assert learned.load.windows > 0
    plan = running.explain().split("plan          ")[1]
    # One task or two take in the records, whatever is faster now.
    assert re.match(
        r"(?:WS|PF\(2,1\) L2), \d+ ms a step predicted: about [\d,]+ rows a step, .* pays from [\d,]+ rows", plan
    )
    assert re.search(r"\n {14}(?:WS: one worker answers all windows|PF\(2,1\) L2: 2 answer panes of .*)\n", plan)
    assert "runners-up: " in plan
    assert "plan          decided from the query's own steps, after 3 of them; until then as above" in query.explain()
    assert "plan  " not in query.parallel(degree=1).explain()
    assert "plan  " not in run_to_end(query.parallel(degree=1), Outputs()).explain()


def test_trees_are_explored(query: ContinuousQuery, tmp_path: Path) -> None:
    told = io.StringIO()
    console = Console(file=told, width=120)
    trees: list[sp.extend.Pattern] = [sp.PaneFarm(2, 1, level=2), sp.WinSeq()]
    found = exploration(query, [sp.KeyFarm(3)], console, trees)
    console.print(found.table(), found.verdict())
    assert [str(each.tree) for each in found.explored] == ["PF(2,1) L2", "WS", "KF(3)"]
    assert str(found.chosen) in ("PF(2,1) L2", "WS")
    for words in ("running KF(3) ...", "what the planner's plan amounts to", "Rank correlation", "x the fastest"):
        assert words in told.getvalue()
    assert found.draw(tmp_path / "explored.png").stat().st_size > 5_000


def test_trees_are_simulated_with_the_costs_of_the_querys_own_steps(query: ContinuousQuery, tmp_path: Path) -> None:
    told = io.StringIO()
    console = Console(file=told, width=120)
    calls: list[tuple[float, int]] = []

    def simulator(tree: sp.extend.Pattern, work: Work, learned: CostModel, cores: int) -> float:
        calls.append((learned.load.records, cores))
        return 1_000.0 * tree.workers

    found = simulation(query, [sp.KeyFarm(3)], console, 4, simulator)
    assert {cores for _, cores in calls} == {4}
    assert min(records for records, _ in calls) > 0
    console.print(found.table(), found.verdict())
    trees = [str(each.tree) for each in found.explored]
    assert trees[-1] == "KF(3)"
    assert {"WS", "KF(4)", "PF(4,4) L2", "WF(PF(1,2) L2, 2)"} <= set(trees)
    assert all(each.measured_ms == each.tree.workers for each in found.explored)
    for words in ("simulating KF(4) ...", "on 4 virtual cores", "simulated", "Without Spark's jobs "):
        assert words in told.getvalue()
    assert found.draw(tmp_path / "simulated.png").stat().st_size > 5_000


def test_a_tree_that_cannot_be_explored_is_refused_before_anything_runs(query: ContinuousQuery) -> None:
    told, illegal = io.StringIO(), [sp.WinFarm(sp.PaneFarm(2, 2), 4)]
    with pytest.raises(sp.OptionError, match="fewer than 4 replicas"):
        exploration(query, illegal, Console(file=told))
    with pytest.raises(sp.OptionError, match="fewer than 4 replicas"):
        simulation(query, illegal, Console(file=told), 4, lambda *_: 1.0)
    assert told.getvalue() == ""


def test_a_bound_for_answers_says_when_steps_are_taken(query: ContinuousQuery) -> None:
    outputs = Outputs()
    running = query.parallel(max_latency="300 ms").start(sink=outputs.results)
    assert "pace          steps as large as answers within 300 ms allow; " in running.explain()
    while running.metrics().steps < len(BATCHES):
        assert not running.await_termination(timeout=0.1)
    running.stop()
    assert running.metrics().delivered == sum(batch.num_rows for batch in BATCHES)
    assert "latency       gathers records for " in running.explain()


def test_what_a_tree_cannot_do_is_refused_before_anything_starts(query: ContinuousQuery) -> None:
    run = RunOptions(sp.ConsoleSink())
    with pytest.raises(sp.OptionError, match="fewer than 4 replicas"):
        query.parallel(pattern="WF(PF(2,2), 4)").check(run)
    asked = (
        query.source.window("1 s", "250 ms")
        .skyline(minimize="a")
        .parallel(pattern="WF(2)", tuning=sp.Tuning(sliding="critical"))
    )
    with pytest.raises(sp.OptionError, match="answers all windows of a key together, and WF"):
        asked.check(run)
    said = query.parallel(pattern="PF(2,1) L2").check(run)
    assert "fused: records stay where they are read; windows are answered in the driver" in said
