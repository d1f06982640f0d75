"""Explain: what a query will do, stage by stage, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skypane.flow.definition import Definition
from skypane.flow.panes.density import LEAST_RECORDS, LEAST_RECORDS_PER_ROW
from skypane.flow.patterned import work_of
from skypane.flow.processing.choice import processing_of
from skypane.model.durations import format_duration_us
from skypane.patterns.lowered import ALL_ROWS
from skypane.scheduling.ownership import JOIN_VISITS
from skypane.spark.options import LaunchOptions
from skypane.spark.settings import Settings

_ENDINGS: Mapping[str | None, str] = {
    None: "open windows stay open",
    "auto": "windows that have ended by the clock are closed",
    "all": "all windows are closed",
    "idle": "the clock closes windows",
}
_ENDINGS_OF_RECORDS: Mapping[str | None, str] = {
    None: "open windows stay open",
    "auto": "open windows stay open",
    "all": "open windows are told as they are",
    "idle": "open windows are told as they are",
}
_ENDINGS_OF_INSTANTS: Mapping[str | None, str] = {
    None: "what is live stays so",
    "auto": "what has expired by the clock is told",
    "all": "every record is told to leave when it would",
    "idle": "the clock lets records expire",
}


_CONDENSES = (
    f"from the second batch on, records are added up by Spark, and only the sums go to Python: in batches of "
    f"{LEAST_RECORDS:,} records or more, and {LEAST_RECORDS_PER_ROW} or more for each key and pane"
)


def explain(
    definition: Definition, options: LaunchOptions, executors: str = "", most: int = 0, *, condenses: bool = False
) -> str:
    """The data path of a query, in words; where degrees follow the load, what becomes of executors, the most tasks.

    ``condenses``: whether Spark can add up records before they are sent to the pane stage.
    """
    window, policy, guard = definition.window, options.punctuator.policy, options.punctuator.guard
    key = (
        ", ".join(definition.keys) or f"none ({'one answer' if definition.emit.instants else 'one answer per window'})"
    )
    wait = ", ".join(f"{name} {value}" for name, value in policy.describe().items())
    settings = options.settings
    lines = [
        f"query         {definition.query.kind}: {definition.query.explain()}",
        f"{'live' if definition.emit.instants else 'windows':14}{window}, by {definition.time}; {window.explain()}",
        f"key           {key}",
        f"lateness      {policy.name}: {wait}",
        f"times         {guard.describe()}",
        *_explain_lateness(definition, options),
        f"pace          {_pace(definition, options)}",
        *_explain_pattern(definition, settings),
        f"pane stage    {settings.pane_tasks}; {processing_of(definition).hands_over}",
        *([f"{'':14}{_CONDENSES}"] if condenses and settings.elastic is None and settings.splitting is None else []),
        f"window stage  {_window_stage(settings)}",
        *_explain_cut(definition, settings),
        *(
            [f"degrees       {settings.elastic.explain(most)}", f"executors     {executors}"]
            if settings.elastic
            else []
        ),
        f"results       {options.sink.describe()}",
        f"late          {options.late.describe() if options.late else 'counted'}",
        f"quarantine    {options.quarantine.describe() if options.quarantine else 'counted'}",
        *([f"failed        {_failed(options)}"] if definition.query.runs_functions else []),
        f"checkpoint    {options.checkpoint or 'none given: without one a query cannot be restarted'}",
    ]
    return "\n".join(lines)


def explain_plan(plan: Sequence[str]) -> list[str]:
    """What the planner says."""
    return [f"{'' if number else 'plan':14}{line}" for number, line in enumerate(plan)]


def _explain_pattern(definition: Definition, settings: Settings) -> list[str]:
    """The tree that was asked for, and what of it is fused."""
    if settings.tree is None or settings.plan is None:
        return []
    lines = settings.tree.describe(work_of(definition)).splitlines()
    fused = settings.plan.fused()
    return [f"{'' if number else 'pattern':14}{line}" for number, line in enumerate([*lines, f"fused: {fused}"])]


def _window_stage(settings: Settings) -> str:
    """Its tasks, and where they run."""
    if settings.inline_rows >= ALL_ROWS:
        return "in the driver"
    tasks = f"{settings.window_tasks} by key group"
    return f"{tasks}; in the driver below {settings.inline_rows:,} rows" if settings.inline_rows else tasks


def _failed(options: LaunchOptions) -> str:
    """What becomes of a window on which a function of the user's fails."""
    return f"windows go to {options.failed.describe()}" if options.failed else "a function that fails ends the query"


def _explain_cut(definition: Definition, settings: Settings) -> list[str]:
    """Whether tasks can share the windows of one key."""
    if settings.one_window_task or settings.window_scheduling == "round_robin":
        return []
    processing, rows = processing_of(definition), settings.cut_rows
    if processing.shares_joins and settings.plan is None:
        least = f"{rows // JOIN_VISITS:,} rows on"
        return [f"one key       tasks share the join of its rows ({settings.ownership}) from {least}, on a cluster"]
    if not processing.cuts_windows:
        return [f"one key       one task {'follows' if definition.emit.instants else 'answers all windows of'} a key"]
    how = f"tasks share its windows ({settings.partitioning})"
    if settings.plan is not None:
        shares = settings.plan.window_tasks or 1
        return [
            f"one key       {shares} {how}" if shares > 1 else "one key       one task answers all windows of a key"
        ]
    return [f"one key       {how} from {rows:,} rows on, counted once for each window"]


def _endings(definition: Definition) -> Mapping[str | None, str]:
    if definition.emit.instants:
        return _ENDINGS_OF_INSTANTS
    return _ENDINGS_OF_RECORDS if definition.window.counted else _ENDINGS


def _pace(definition: Definition, options: LaunchOptions) -> str:
    """When steps are taken, and what closes windows beside records."""
    endings = _endings(definition)
    if options.trigger is None:
        return f"what is available now, then end; {endings[options.ending]}"
    pace = f"a step every {options.trigger}"
    if options.settings.max_latency_us is not None:
        pace = f"steps as large as answers within {format_duration_us(options.settings.max_latency_us)} allow"
    if options.idle_timeout_us is None:
        return pace
    return f"{pace}; after {format_duration_us(options.idle_timeout_us)} without records {endings['idle']}"


def _explain_lateness(definition: Definition, options: LaunchOptions) -> list[str]:
    """What happens to records that come late, as far as it is not the usual."""
    lines = []
    if options.punctuator.sources is not None:
        lines.append(f"partitions    {options.punctuator.sources.describe()}")
    if definition.allowed_lateness_us:
        allowed = format_duration_us(definition.allowed_lateness_us)
        lines.append(f"revisions     records up to {allowed} late correct the answers of their windows")
    if definition.judges_late:
        horizon = format_duration_us(definition.harm_horizon_us)
        lines.append(f"harm          late records are judged, up to {horizon} after their pane was sealed")
    return lines
