"""What extensions are made of: queries, lateness policies, sinks, emissions, patterns, strategies and controllers.

Derive from one of the base classes and pass your object where skypane takes a name; docs/extend.md has an example of
each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skypane.lazy_names import import_name, modules_by_name

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.windows.emit.base import Emission
    from skypane.flow.windows.emit.updates import Updates
    from skypane.flow.windows.slide.base import Answers, Fired, Firing, Slide
    from skypane.lateness.delay_histogram import DelayHistogram
    from skypane.lateness.policy import Judgement, Lateness, Observation, PolicyState
    from skypane.model.groups import Groups
    from skypane.model.panes import Panes, Span
    from skypane.queries.base import Dominance, Expression, Grouped, Invalid, Query, Row, Selection
    from skypane.queries.preferences import Preferences
    from skypane.spark.sinks.base import Continuation, Sink, StepRows
    from skypane.spark.sinks.callable import CallableSink
    from skypane.tuning.elastic.controllers import ElasticController, ElasticDecision, Snapshot
    from skypane.tuning.patterns import Pattern, Work
    from skypane.tuning.patterns.extent import Extent
    from skypane.tuning.patterns.network import Block, Role, farm, node, pipe
    from skypane.tuning.patterns.tree_plan import TreePlan
    from skypane.tuning.splitting.pane_strategy import Allocation, ClosedPane, PaneStrategy, Queues
    from skypane.tuning.splitting.utilization import Measurement, WorkerLoad

# Imported when they are first used: sinks need Spark, the others do not.
_MODULES = modules_by_name(
    {
        "skypane.flow.definition": ("Definition",),
        "skypane.flow.windows.emit.base": ("Emission",),
        "skypane.flow.windows.emit.updates": ("Updates",),
        "skypane.flow.windows.slide.base": ("Answers", "Fired", "Firing", "Slide"),
        "skypane.lateness.delay_histogram": ("DelayHistogram",),
        "skypane.lateness.policy": ("Judgement", "Lateness", "Observation", "PolicyState"),
        "skypane.model.groups": ("Groups",),
        "skypane.model.panes": ("Panes", "Span"),
        "skypane.queries.base": ("Dominance", "Expression", "Grouped", "Invalid", "Query", "Row", "Selection"),
        "skypane.queries.preferences": ("Preferences",),
        "skypane.spark.sinks.base": ("Continuation", "Sink", "StepRows"),
        "skypane.spark.sinks.callable": ("CallableSink",),
        "skypane.tuning.elastic.controllers": ("ElasticController", "ElasticDecision", "Snapshot"),
        "skypane.tuning.patterns": ("Pattern", "Work"),
        "skypane.tuning.patterns.extent": ("Extent",),
        "skypane.tuning.patterns.network": ("Block", "Role", "farm", "node", "pipe"),
        "skypane.tuning.patterns.tree_plan": ("TreePlan",),
        "skypane.tuning.splitting.pane_strategy": ("Allocation", "ClosedPane", "PaneStrategy", "Queues"),
        "skypane.tuning.splitting.utilization": ("Measurement", "WorkerLoad"),
    }
)

__all__ = [
    "Allocation",
    "Answers",
    "Block",
    "CallableSink",
    "ClosedPane",
    "Continuation",
    "Definition",
    "DelayHistogram",
    "Dominance",
    "ElasticController",
    "ElasticDecision",
    "Emission",
    "Expression",
    "Extent",
    "Fired",
    "Firing",
    "Grouped",
    "Groups",
    "Invalid",
    "Judgement",
    "Lateness",
    "Measurement",
    "Observation",
    "PaneStrategy",
    "Panes",
    "Pattern",
    "PolicyState",
    "Preferences",
    "Query",
    "Queues",
    "Role",
    "Row",
    "Selection",
    "Sink",
    "Slide",
    "Snapshot",
    "Span",
    "StepRows",
    "TreePlan",
    "Updates",
    "Work",
    "WorkerLoad",
    "farm",
    "node",
    "pipe",
]

if not TYPE_CHECKING:  # or type checkers would believe every name

    def __getattr__(name: str) -> Any:
        return import_name("skypane.extend", name, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
