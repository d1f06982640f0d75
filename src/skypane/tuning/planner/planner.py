"""Planner: predicts what each tree would take in the next step, and says from how many rows on more tasks pay.

It decides from what was committed with the last step, so a step that is repeated is planned the same way again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from skypane.flow.plan import ALL_ROWS, StagePlan
from skypane.tuning.patterns.base import Pattern, Work
from skypane.tuning.patterns.key_farm import KeyFarm
from skypane.tuning.patterns.pane_farm import PaneFarm
from skypane.tuning.patterns.tree_plan import TreePlan
from skypane.tuning.patterns.win_farm import WinFarm
from skypane.tuning.patterns.win_map_reduce import WinMapReduce
from skypane.tuning.patterns.win_seq import WinSeq
from skypane.tuning.planner.cost_model import CostModel

FIRST_STEPS: Final = 3
"""So many steps are only watched: in the first ones everything is slow."""
INLINE_ROWS: Final = (2_000, 1_000_000)
CUT_ROWS: Final = (50_000, 20_000_000)
"""What is computed stays within: a measurement may be of a bad moment."""
CONTENTION: Final = 1.6
"""Tasks that read records and leave no slot free, over one alone: Spark itself runs on the same cores.

This and the next are as ``python -m benchmarks --only plans`` measured them on two cores.
"""
TASK_US: Final = 8_000.0
"""For each task after the first."""
_NEARLY_ALL: Final = 0.99


@dataclass(frozen=True)
class Prediction:
    """What a tree would take."""

    tree: Pattern
    pane_us: float
    window_us: float

    @property
    def step_us(self) -> float:
        """The predicted time of both stages."""
        return self.pane_us + self.window_us


@dataclass(frozen=True)
class Planner:
    """Plans the steps of one query on an engine with so many slots."""

    work: Work
    base: StagePlan
    """What is done as long as nothing is known."""
    slots: int
    embedded: bool = True
    """Whether the driver has the cores on which tasks would run."""
    cuts: bool = True
    """Whether tasks can share the windows of one key as they slide now."""
    beside: bool = False
    """Whether threads of the driver do beside each other what tasks of a job would."""

    def plan(self, model: CostModel | None) -> StagePlan:
        """Plan the next step: use more tasks from so many rows on as the cost model says."""
        if model is None or model.steps < FIRST_STEPS or self.slots < 2 or not model.load.rows:
            return self.base
        return replace(
            self.base,
            pane_tasks=1 if self._few_records(model) else self.base.pane_tasks,
            inline_rows=self._inline_rows(model),
            cut_rows=self._cut_rows(model),
        )

    def _few_records(self, model: CostModel) -> bool:
        """Whether one task would be done before several have started."""
        if not self.embedded or self.base.pane_tasks is not None:
            return False
        return self._records_us(1.0, model) <= self._records_us(1 / self.slots, model) + TASK_US * (self.slots - 1)

    def _inline_rows(self, model: CostModel) -> int:
        """From so many rows on a job saves more than it costs; nothing is changed for a driver apart from the workers.

        What tasks save is a guess until a job has been tried: kernels that use all cores for one task may save more.
        """
        if not self.embedded:
            return self.base.inline_rows
        alone = self._untried(model) or model.load.heaviest > _NEARLY_ALL
        saved = 0.0 if alone else 1 - model.costs.slower * max(1 / self.slots, model.load.heaviest)
        return _even(model.costs.window_job_us, self._row_us(model) * saved, INLINE_ROWS)

    def _untried(self, model: CostModel) -> bool:
        """Whether threads of the driver have not been tried yet, which comes before a job is called faster."""
        return self.beside and not model.in_driver

    def _cut_rows(self, model: CostModel) -> int:
        """From so many rows on, each counted as often as it is looked at, sharing the windows of a key does."""
        if not self.cuts:
            return self.base.cut_rows
        saved = 1 - model.costs.slower / self.slots
        return _even(model.costs.window_job_us, self._row_us(model) / model.load.visits * saved, CUT_ROWS)

    def _row_us(self, model: CostModel) -> float:
        """What a row takes, with its share of the answers."""
        return model.costs.row_us + model.costs.window_us * model.load.windows / model.load.rows

    def candidates(self) -> list[Pattern]:
        """Trees that can do the work with as many tasks as there are slots."""
        n = self.slots
        trees: list[Pattern] = [WinSeq(), KeyFarm(n), WinFarm(n), PaneFarm(n, 1, 2), PaneFarm(n, n, 2), PaneFarm(n, n)]
        if n > 1:
            trees += [WinMapReduce(n, 1, 2), WinMapReduce(n, n, 2), WinMapReduce(n, n), KeyFarm(n, level=1)]
        if n > 3:
            trees += [KeyFarm(WinFarm(n // 2), 2), WinFarm(PaneFarm(1, n // 2, 2), 2)]
        legal = [
            tree for tree in trees if tree.legal(self.work) and (self.cuts or not tree.stage_plan().shares_windows)
        ]
        # Where windows overlap, pane farms do what map-reduce does, and share more.
        overlaps = any(tree.kind == PaneFarm.kind for tree in legal)
        return [tree for tree in legal if not (overlaps and tree.kind == WinMapReduce.kind)]

    def chosen(self, model: CostModel) -> Prediction:
        """The tree that the plan amounts to with the expected load."""
        plan, load = self.plan(model), model.load
        if self._heavy(model):
            wanted = [tree for tree in self.candidates() if tree.stage_plan().window_tasks == self.slots]
        else:
            inline = load.rows <= plan.inline_rows
            whole = [tree for tree in self.candidates() if not tree.stage_plan().shares_windows]
            few = inline and plan.pane_tasks == 1
            wanted = [
                tree for tree in whole if _alone(tree) == inline and (not few or tree.stage_plan().pane_tasks == 1)
            ]
        found = [self.predicted(tree, model) for tree in wanted if tree.stage_plan().splitting is None]
        return min(found, key=lambda each: each.step_us) if found else self.predicted(WinSeq(), model)

    def reason(self, model: CostModel) -> str:
        """Why the planner chose its plan, in a sentence."""
        chosen, plan, costs = self.chosen(model), self.plan(model), model.costs
        row_us = self._row_us(model)
        each = f"{row_us:,.0f}" if row_us >= 9.95 else f"{row_us:.2g}"  # two digits of 100 are 1e+02
        work = f"about {model.load.rows:,.0f} rows a step, {each} us each"
        job = f"a job of its own for the window stage takes {costs.window_job_us / 1e3:.0f} ms"
        if chosen.tree.stage_plan().shares_windows:
            return f"{work}, most of them of one key: tasks share its windows"
        if _alone(chosen.tree):
            return f"{work}: {job}, which pays from {plan.inline_rows:,} rows on"
        if any(_alone(each.tree) and each.step_us < chosen.step_us for each in self.ranked(model)):
            return f"{work}: more than the {plan.inline_rows:,} that the driver answers"
        return f"{work}: {job}, and its tasks save more"

    def explain(self, model: CostModel | None) -> list[str]:
        """The tree that runs, those that come next, what they would take, and why."""
        if model is None or model.steps < FIRST_STEPS or not model.load.rows:
            return [f"decided from the query's own steps, after {FIRST_STEPS} of them; until then as above"]
        chosen = self.chosen(model)
        others = [each for each in self.ranked(model) if each.tree != chosen.tree][:3]
        shown = ", ".join(f"{each.tree} {_ms(each)} ms" for each in others)
        faster: dict[str, list[str]] = {}
        for each in others:
            if round(each.step_us / 1e3) < round(chosen.step_us / 1e3):
                faster.setdefault(self.passed_over(each.tree, model), []).append(str(each.tree))
        return [
            f"{chosen.tree}, {_ms(chosen)} ms a step predicted: {self.reason(model)}",
            *chosen.tree.describe(self.work).splitlines(),
            *([f"runners-up: {shown}"] if shown else []),
            *(f"not {' or '.join(trees)}, though predicted to be faster: {why}" for why, trees in faster.items()),
        ]

    def passed_over(self, tree: Pattern, model: CostModel) -> str:
        """Why a tree that is predicted to be faster is not what the plan amounts to: the plan has limits of its own."""
        if tree.stage_plan().splitting is not None:
            return "records are sent to other tasks only where pattern= asks for it"
        if self.slots < 2:
            return "with one slot nothing is planned"
        if tree.stage_plan().shares_windows:
            return self._not_shared(model) or "nested trees run only where pattern= asks for them"
        if not self._heavy(model):
            return self._not_there(tree, model)
        rows = self.plan(model).cut_rows
        return f"one key has more than {rows:,} rows, each counted once for each window: tasks share them"

    def _not_there(self, tree: Pattern, model: CostModel) -> str:
        """Why its windows are not answered where the tree says: in the driver, or in a job."""
        if self._untried(model) and not _alone(tree):
            return "a job is tried once the driver's threads have been"
        return f"the driver answers steps with up to {self.plan(model).inline_rows:,} rows, and no others"

    def _heavy(self, model: CostModel) -> bool:
        """Whether tasks share the windows of the heaviest key."""
        return self.cuts and not self._not_shared(model)

    def _not_shared(self, model: CostModel) -> str:
        """Why not, if so; a key is shared by as many tasks as its share of all rows is worth."""
        load, rows = model.load, self.plan(model).cut_rows
        if load.rows * load.heaviest * load.visits <= rows:
            return f"tasks share one key's windows from {rows:,} rows on, each counted once for each window"
        if round(load.heaviest * self.slots, 6) < 2:
            return f"tasks share one key's windows if it has two tasks' share of the rows, not {load.heaviest:.0%}"
        return "" if load.windows > 1 else "a step has no two windows to share"

    def ranked(self, model: CostModel | None) -> list[Prediction]:
        """Predictions for all trees, the fastest first."""
        known = model or CostModel()
        return sorted((self.predicted(tree, known) for tree in self.candidates()), key=lambda each: each.step_us)

    def predicted(self, tree: Pattern, model: CostModel) -> Prediction:
        """What the next step would take."""
        costs, load, plan = model.costs, model.load, tree.stage_plan()
        tasks = min(plan.pane_tasks or self.slots, self.slots)
        longest = 1 / tasks if plan.splitting else max(1 / tasks, min(1.0, load.longest))
        pane_us = costs.pane_job_us + self._records_us(longest, model) + TASK_US * (tasks - 1)
        if plan.splitting:
            pane_us += costs.exchange_job_us + costs.exchange_us * load.records / self.slots
        rows_us, answers_us = costs.row_us * load.rows, costs.window_us * load.windows
        if plan.inline_rows >= ALL_ROWS:
            return Prediction(tree, pane_us, rows_us + answers_us)
        ranges = min(plan.key_tasks or self.slots, self.slots)
        shares = min(plan.window_tasks or 1, max(1, self.slots // ranges))
        part = max(1 / ranges, load.heaviest if ranges > 1 else 1.0) / shares
        busy_us = (rows_us * self._copies(plan, shares) + answers_us) * costs.slower * part
        return Prediction(tree, pane_us, costs.window_job_us + busy_us)

    def _records_us(self, longest: float, model: CostModel) -> float:
        """The predicted time to read and lift the records, if the longest task has this share of them."""
        alone_us = model.costs.record_us * model.load.records / self._crowded(model.load.longest)
        return alone_us * longest * self._crowded(longest)

    def _crowded(self, longest: float) -> float:
        """How much slower tasks are beside others, by the share of the longest: an embedded Spark shares its cores."""
        if not self.embedded or self.slots < 2:
            return 1.0
        beside = (1 / max(longest, 1 / self.slots) - 1) / (self.slots - 1)
        return 1 + (CONTENTION - 1) * beside

    def _copies(self, plan: TreePlan, shares: int) -> float:
        """How many tasks read a row (paper 5)."""
        size, slide = self.work.windows
        if shares == 1 or size <= slide:
            return 1.0
        if plan.partitioning == "window":
            return min(shares, size / slide)
        batch = max(1.0, size / slide)
        return min(float(shares), (size + (batch - 1) * slide) / (batch * slide))


class Planning(NamedTuple):
    """A planner, and what it knows now."""

    planner: Planner
    model: CostModel | None


def _ms(prediction: Prediction) -> str:
    return f"{prediction.step_us / 1e3:,.0f}"


def _alone(tree: Pattern) -> bool:
    """Whether its window stage runs in the driver."""
    return tree.stage_plan().inline_rows >= ALL_ROWS


def _even(cost_us: float, saved_us: float, within: tuple[int, int]) -> int:
    """How many rows save what is spent."""
    low, high = within
    return high if saved_us <= 0 or saved_us * high <= cost_us else max(low, int(cost_us / saved_us))
