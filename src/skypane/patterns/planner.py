"""Planner: predicts what each tree would take in the next step, and says from how many rows on more tasks pay.

It decides from what was committed with the last step, so a step that is repeated is planned the same way again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from skypane.patterns.base import Pattern, Work
from skypane.patterns.costs import Learned
from skypane.patterns.key_farm import KeyFarm
from skypane.patterns.lowered import ALL_ROWS, Lowered
from skypane.patterns.pane_farm import PaneFarm
from skypane.patterns.win_farm import WinFarm
from skypane.patterns.win_map_reduce import WinMapReduce
from skypane.patterns.win_seq import WinSeq

FIRST_STEPS: Final = 3
"""So many steps are only watched: in the first ones everything is slow."""
INLINE_ROWS: Final = (2_000, 1_000_000)
CUT_ROWS: Final = (50_000, 20_000_000)
"""What is computed stays within: a measurement may be of a bad moment."""
CROWDED: Final = 1.6
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
        """Both stages."""
        return self.pane_us + self.window_us


@dataclass(frozen=True)
class Planner:
    """Plans the steps of one query on an engine with so many slots."""

    work: Work
    base: Lowered
    """What is done as long as nothing is known."""
    slots: int
    embedded: bool = True
    """Whether the driver has the cores on which tasks would run."""
    cuts: bool = True
    """Whether tasks can share the windows of one key as they slide now."""
    beside: bool = False
    """Whether threads of the driver do beside each other what tasks of a job would."""

    def plan(self, learned: Learned | None) -> Lowered:
        """The next step's: the same mechanism, with what the query's own steps say about when more tasks pay."""
        if learned is None or learned.steps < FIRST_STEPS or self.slots < 2 or not learned.load.rows:
            return self.base
        return replace(
            self.base,
            pane_tasks=1 if self._few_records(learned) else self.base.pane_tasks,
            inline_rows=self._inline_rows(learned),
            cut_rows=self._cut_rows(learned),
        )

    def _few_records(self, learned: Learned) -> bool:
        """Whether one task takes in the records before several have started; on a cluster nobody else may read them."""
        if not self.embedded or self.base.pane_tasks is not None or self.base.splitting is not None:
            return False
        return self._records_us(1.0, learned) <= self._records_us(1 / self.slots, learned) + TASK_US * (self.slots - 1)

    def _inline_rows(self, learned: Learned) -> int:
        """From so many rows on a job saves more than it costs; nothing is changed for a driver apart from the workers.

        What tasks save is a guess until a job has been tried: kernels that use all cores for one task may save more.
        """
        if not self.embedded:
            return self.base.inline_rows
        alone = self._untried(learned) or learned.load.heaviest > _NEARLY_ALL
        saved = 0.0 if alone else 1 - learned.costs.slower * max(1 / self.slots, learned.load.heaviest)
        return _even(learned.costs.window_job_us, self._row_us(learned) * saved, INLINE_ROWS)

    def _untried(self, learned: Learned) -> bool:
        """Whether threads of the driver have not been tried yet, which comes before a job is called faster."""
        return self.beside and not learned.in_driver

    def _cut_rows(self, learned: Learned) -> int:
        """From so many rows on, each counted as often as it is looked at, sharing the windows of a key does."""
        if not self.cuts:
            return self.base.cut_rows
        saved = 1 - learned.costs.slower / self.slots
        return _even(learned.costs.window_job_us, self._row_us(learned) / learned.load.visits * saved, CUT_ROWS)

    def _row_us(self, learned: Learned) -> float:
        """What a row takes, with its share of the answers."""
        return learned.costs.row_us + learned.costs.window_us * learned.load.windows / learned.load.rows

    def candidates(self) -> list[Pattern]:
        """Trees that can do the work with as many tasks as there are slots."""
        n = self.slots
        trees: list[Pattern] = [WinSeq(), KeyFarm(n), WinFarm(n), PaneFarm(n, 1, 2), PaneFarm(n, n, 2), PaneFarm(n, n)]
        if n > 1:
            trees += [WinMapReduce(n, 1, 2), WinMapReduce(n, n, 2), WinMapReduce(n, n), KeyFarm(n, level=1)]
        if n > 3:
            trees += [KeyFarm(WinFarm(n // 2), 2), WinFarm(PaneFarm(1, n // 2, 2), 2)]
        legal = [tree for tree in trees if tree.legal(self.work) and (self.cuts or not tree.lowered().shares_windows)]
        # Where windows overlap, pane farms do what map-reduce does, and share more.
        overlaps = any(tree.kind == PaneFarm.kind for tree in legal)
        return [tree for tree in legal if not (overlaps and tree.kind == WinMapReduce.kind)]

    def chosen(self, learned: Learned) -> Prediction:
        """The tree that the plan amounts to with the expected load."""
        plan, load = self.plan(learned), learned.load
        if self._heavy(learned):
            wanted = [tree for tree in self.candidates() if tree.lowered().window_tasks == self.slots]
        else:
            inline = load.rows <= plan.inline_rows
            whole = [tree for tree in self.candidates() if not tree.lowered().shares_windows]
            few = inline and plan.pane_tasks == 1
            wanted = [tree for tree in whole if _alone(tree) == inline and (not few or tree.lowered().pane_tasks == 1)]
        found = [self.predicted(tree, learned) for tree in wanted if tree.lowered().splitting is None]
        return min(found, key=lambda each: each.step_us) if found else self.predicted(WinSeq(), learned)

    def reason(self, learned: Learned) -> str:
        """Why, in a sentence."""
        chosen, plan, costs = self.chosen(learned), self.plan(learned), learned.costs
        row_us = self._row_us(learned)
        each = f"{row_us:,.0f}" if row_us >= 9.95 else f"{row_us:.2g}"  # two digits of 100 are 1e+02
        work = f"about {learned.load.rows:,.0f} rows a step, {each} us each"
        job = f"a job of its own for the window stage takes {costs.window_job_us / 1e3:.0f} ms"
        if chosen.tree.lowered().shares_windows:
            return f"{work}, most of them of one key: tasks share its windows"
        if _alone(chosen.tree):
            return f"{work}: {job}, which pays from {plan.inline_rows:,} rows on"
        if any(_alone(each.tree) and each.step_us < chosen.step_us for each in self.ranked(learned)):
            return f"{work}: more than the {plan.inline_rows:,} that the driver answers"
        return f"{work}: {job}, and its tasks save more"

    def explain(self, learned: Learned | None) -> list[str]:
        """The tree that runs, those that come next, what they would take, and why."""
        if learned is None or learned.steps < FIRST_STEPS or not learned.load.rows:
            return [f"decided from the query's own steps, after {FIRST_STEPS} of them; until then as above"]
        chosen = self.chosen(learned)
        others = [each for each in self.ranked(learned) if each.tree != chosen.tree][:3]
        told = ", ".join(f"{each.tree} {_ms(each)} ms" for each in others)
        faster: dict[str, list[str]] = {}
        for each in others:
            if round(each.step_us / 1e3) < round(chosen.step_us / 1e3):
                faster.setdefault(self.passed_over(each.tree, learned), []).append(str(each.tree))
        return [
            f"{chosen.tree}, {_ms(chosen)} ms a step predicted: {self.reason(learned)}",
            *chosen.tree.describe(self.work).splitlines(),
            *([f"runners-up: {told}"] if told else []),
            *(f"not {' or '.join(trees)}, though predicted to be faster: {why}" for why, trees in faster.items()),
        ]

    def passed_over(self, tree: Pattern, learned: Learned) -> str:
        """Why a tree that is predicted to be faster is not what the plan amounts to: the plan has limits of its own."""
        if tree.lowered().splitting is not None:
            return "records are sent to other tasks only where pattern= asks for it"
        if self.slots < 2:
            return "with one slot nothing is planned"
        if tree.lowered().shares_windows:
            return self._not_shared(learned) or "nested trees run only where pattern= asks for them"
        if not self._heavy(learned):
            return self._not_there(tree, learned)
        rows = self.plan(learned).cut_rows
        return f"one key has more than {rows:,} rows, each counted once for each window: tasks share them"

    def _not_there(self, tree: Pattern, learned: Learned) -> str:
        """Why its windows are not answered where the tree says: in the driver, or in a job."""
        if self._untried(learned) and not _alone(tree):
            return "a job is tried once the driver's threads have been"
        return f"the driver answers steps with up to {self.plan(learned).inline_rows:,} rows, and no others"

    def _heavy(self, learned: Learned) -> bool:
        """Whether tasks share the windows of the heaviest key."""
        return self.cuts and not self._not_shared(learned)

    def _not_shared(self, learned: Learned) -> str:
        """Why not, if so; a key is shared by as many tasks as its share of all rows is worth."""
        load, rows = learned.load, self.plan(learned).cut_rows
        if load.rows * load.heaviest * load.visits <= rows:
            return f"tasks share one key's windows from {rows:,} rows on, each counted once for each window"
        if round(load.heaviest * self.slots, 6) < 2:
            return f"tasks share one key's windows if it has two tasks' share of the rows, not {load.heaviest:.0%}"
        return "" if load.windows > 1 else "a step has no two windows to share"

    def ranked(self, learned: Learned | None) -> list[Prediction]:
        """All of them, the fastest first."""
        known = learned or Learned()
        return sorted((self.predicted(tree, known) for tree in self.candidates()), key=lambda each: each.step_us)

    def predicted(self, tree: Pattern, learned: Learned) -> Prediction:
        """What the next step would take."""
        costs, load, lowered = learned.costs, learned.load, tree.lowered()
        tasks = min(lowered.pane_tasks or self.slots, self.slots)
        longest = 1 / tasks if lowered.splitting else max(1 / tasks, min(1.0, load.longest))
        pane_us = costs.pane_job_us + self._records_us(longest, learned) + TASK_US * (tasks - 1)
        if lowered.splitting:
            pane_us += costs.exchange_job_us + costs.exchange_us * load.records / self.slots
        rows_us, answers_us = costs.row_us * load.rows, costs.window_us * load.windows
        if lowered.inline_rows >= ALL_ROWS:
            return Prediction(tree, pane_us, rows_us + answers_us)
        ranges = min(lowered.key_tasks, self.slots)
        shares = min(lowered.window_tasks or 1, max(1, self.slots // ranges))
        part = max(1 / ranges, load.heaviest if ranges > 1 else 1.0) / shares
        busy_us = (rows_us * self._copies(lowered, shares) + answers_us) * costs.slower * part
        return Prediction(tree, pane_us, costs.window_job_us + busy_us)

    def _records_us(self, longest: float, learned: Learned) -> float:
        """What taking in the records takes, if the longest task has this share of them."""
        alone_us = learned.costs.record_us * learned.load.records / self._crowded(learned.load.longest)
        return alone_us * longest * self._crowded(longest)

    def _crowded(self, longest: float) -> float:
        """How much slower tasks are beside others, by the share of the longest: an embedded Spark shares its cores."""
        if not self.embedded or self.slots < 2:
            return 1.0
        beside = (1 / max(longest, 1 / self.slots) - 1) / (self.slots - 1)
        return 1 + (CROWDED - 1) * beside

    def _copies(self, lowered: Lowered, shares: int) -> float:
        """How many tasks read a row (paper 5)."""
        size, slide = self.work.windows
        if shares == 1 or size <= slide:
            return 1.0
        if lowered.partitioning == "window":
            return min(shares, size / slide)
        batch = max(1.0, size / slide)
        return min(float(shares), (size + (batch - 1) * slide) / (batch * slide))


class Planning(NamedTuple):
    """A planner, and what it knows now."""

    planner: Planner
    learned: Learned | None


def _ms(prediction: Prediction) -> str:
    return f"{prediction.step_us / 1e3:,.0f}"


def _alone(tree: Pattern) -> bool:
    """Whether its window stage runs in the driver."""
    return tree.lowered().inline_rows >= ALL_ROWS


def _even(cost_us: float, saved_us: float, within: tuple[int, int]) -> int:
    """How many rows save what is spent."""
    low, high = within
    return high if saved_us <= 0 or saved_us * high <= cost_us else max(low, int(cost_us / saved_us))
