"""A pattern of your own: one task reads all records, several answer the keys."""

from __future__ import annotations

from dataclasses import dataclass

import skypane as sp


@dataclass(frozen=True)
class OneReader(sp.extend.Pattern):
    """``OneReader(4)``: for a source with one partition, and keys with much work."""

    kind = "OneReader"
    short = "OR"

    tasks: int

    @property
    def workers(self) -> int:
        """The tasks of the window stage."""
        return self.tasks

    def check(self, work: sp.extend.Work) -> None:
        """It can do any work; else raise an ``sp.OptionError`` that ends with what to use instead."""

    def stage_plan(self) -> sp.extend.TreePlan:
        """All that Spark needs."""
        return sp.extend.TreePlan(pane_tasks=1, key_tasks=self.tasks)

    def network(self, work: sp.extend.Work) -> sp.extend.Block:
        """The threads of such a pattern in an engine that has them, for the laws and the simulator; not for Spark."""
        sends = sp.extend.node(sp.extend.Role.SEND_KEYS, work.windows, self.tasks)
        answers = sp.extend.node(sp.extend.Role.WINDOWS, work.windows)
        return sp.extend.farm(sends, answers, self.tasks, collector=None)

    def fused(self, level: int) -> OneReader:
        """It has nothing to fuse."""
        return self

    def sentence(self, work: sp.extend.Work) -> str:
        """One line for ``explain()``."""
        return f"one task reads, {self.tasks} answer the keys"

    def __str__(self) -> str:
        return f"{self.short}({self.tasks})"
