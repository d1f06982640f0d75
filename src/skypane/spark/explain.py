"""Explain: what a query will do, stage by stage, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skypane.flow.definition import Definition
from skypane.flow.plan import ALL_ROWS
from skypane.flow.program import Program
from skypane.model.durations import format_duration_us
from skypane.spark.options import LaunchOptions
from skypane.tuning.density import MIN_RECORDS, MIN_RECORDS_PER_ROW
from skypane.tuning.parallel_plan import ParallelPlan
from skypane.tuning.pattern_fit import work_of
from skypane.tuning.sharing.joins import JOIN_VISITS
from skypane.tuning.sharing.ranges import max_tasks
from skypane.tuning.splitting.pane_strategies import strategy_name

_ENDINGS: Mapping[str | None, str] = {
    None: "open windows stay open",
    "auto": "windows that have ended by the clock are closed",
    "all": "all windows are closed",
    "idle": "the clock closes windows",
}
_ENDINGS_OF_RECORDS: Mapping[str | None, str] = {
    None: "open windows stay open",
    "auto": "open windows stay open",
    "all": "open windows are emitted as they are",
    "idle": "open windows are emitted as they are",
}
_ENDINGS_OF_INSTANTS: Mapping[str | None, str] = {
    None: "what is live stays so",
    "auto": "records that have expired by the clock leave",
    "all": "every record leaves when it expires",
    "idle": "the clock lets records expire",
}


_CONDENSES = (
    f"from the second batch on, records are added up by Spark, and only the sums go to Python: in batches of "
    f"{MIN_RECORDS:,} records or more, and {MIN_RECORDS_PER_ROW} or more for each key and pane"
)


def explain(
    definition: Definition, options: LaunchOptions, executors: str = "", max_degree: int = 0, *, condenses: bool = False
) -> str:
    """The data path of a query, in words; where degrees follow the load, what becomes of executors, the most tasks.

    ``condenses``: whether Spark can add up records before they are sent to the pane stage.
    """
    window, policy, guard = definition.window, options.punctuator.policy, options.punctuator.guard
    key = (
        ", ".join(definition.keys) or f"none ({'one answer' if definition.emit.instants else 'one answer per window'})"
    )
    wait = ", ".join(f"{name} {value}" for name, value in policy.describe().items())
    parallel, slots = options.parallel, options.slots
    program = Program.of(definition)
    processing = program.processing
    lines = [
        f"query         {definition.query.kind}: {definition.query.explain()}",
        f"{'live' if definition.emit.instants else 'windows':14}{window}, by {definition.time}; {window.explain()}",
        f"key           {key}",
        *_explain_distinct(definition, options),
        f"lateness      {policy.name}: {wait}",
        f"times         {guard.describe()}",
        *([f"{'':14}{past}"] if (past := options.punctuator.past.describe()) is not None else []),
        *_explain_lateness(definition, options),
        f"pace          {_pace(definition, options)}",
        *_explain_pattern(definition, parallel),
        f"pane stage    {_pane_tasks(parallel, slots, by_id=definition.distinct is not None)}; {processing.hands_over}",
        *([f"{'':14}{_CONDENSES}"] if condenses and parallel.elastic is None and parallel.splitting is None else []),
        f"window stage  {_window_stage(parallel, slots)}",
        *_explain_cut(program, parallel, slots),
        *(
            [f"degrees       {parallel.elastic.explain(max_degree)}", f"executors     {executors}"]
            if parallel.elastic
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
    """The lines of the planner."""
    return [f"{'' if number else 'plan':14}{line}" for number, line in enumerate(plan)]


def _explain_pattern(definition: Definition, parallel: ParallelPlan) -> list[str]:
    """The pattern tree, and what of it is fused."""
    if parallel.tree is None:
        return []
    lines = parallel.tree.describe(work_of(definition)).splitlines()
    fused = parallel.tree.stage_plan().fused()
    return [f"{'' if number else 'pattern':14}{line}" for number, line in enumerate([*lines, f"fused: {fused}"])]


def _explain_distinct(definition: Definition, options: LaunchOptions) -> list[str]:
    """What makes two records duplicates, and where these go."""
    if (distinct := definition.distinct) is None:
        return []
    where = options.duplicates.describe() if options.duplicates else "counted"
    within = format_duration_us(distinct.within_us)
    return [f"duplicates    one record per {', '.join(distinct.columns)} within {within}; others: {where}"]


def _pane_tasks(parallel: ParallelPlan, slots: int, *, by_id: bool) -> str:
    """Which tasks the pane stage has."""
    splitting, tasks = parallel.splitting, parallel.base.pane_tasks
    if by_id:
        many = "as many tasks as are decided" if parallel.elastic is not None else f"{tasks or slots} tasks"
        return f"{many}, by the ids of records"
    if parallel.elastic is not None:
        how = "where records are" if splitting is None else f"routed by {strategy_name(splitting)}"
        return f"as many tasks as are decided, {how}"
    if splitting is None:
        return f"one task per source partition, at most {tasks or 'as many as Spark can run at a time'}"
    return f"{tasks or slots} tasks, routed by {strategy_name(splitting)}"


def _window_stage(parallel: ParallelPlan, slots: int) -> str:
    """Its tasks, and where they run."""
    rows = parallel.base.inline_rows
    if rows >= ALL_ROWS:
        return "in the driver"
    many = f"up to {_max_window_tasks(parallel, slots)} tasks"
    tasks = f"{'as many tasks as are decided' if parallel.elastic is not None else many} by key group"
    return f"{tasks}; in the driver below {rows:,} rows" if rows else tasks


def _max_window_tasks(parallel: ParallelPlan, slots: int) -> int:
    """How many tasks the window stage is split into at most; of degrees that follow the load, at least."""
    return max_tasks(parallel.base.window_degree(slots), parallel.base.scheduling)


def _failed(options: LaunchOptions) -> str:
    """What becomes of a window on which a function of the user's fails."""
    return f"windows go to {options.failed.describe()}" if options.failed else "a function that fails ends the query"


def _explain_cut(program: Program, parallel: ParallelPlan, slots: int) -> list[str]:
    """Whether tasks can share the windows of one key."""
    base, definition, processing = parallel.base, program.definition, program.processing
    one_task = _max_window_tasks(parallel, slots) < 2 and parallel.elastic is None
    if one_task or base.scheduling == "round_robin":
        return []
    if processing.shares_joins and parallel.tree is None:
        least = f"{base.join_rows // JOIN_VISITS:,} rows on"
        return [f"one key       tasks share the join of its rows ({base.ownership}) from {least}, on a cluster"]
    if not processing.cuts_windows:
        return [f"one key       one task {'follows' if definition.emit.instants else 'answers all windows of'} a key"]
    how = f"tasks share its windows ({base.partitioning})"
    if parallel.tree is not None:
        shares = base.window_tasks or 1
        return [
            f"one key       {shares} {how}" if shares > 1 else "one key       one task answers all windows of a key"
        ]
    return [f"one key       {how} from {base.cut_rows:,} rows on, counted once for each window"]


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
    if options.parallel.max_latency_us is not None:
        pace = f"steps as large as answers within {format_duration_us(options.parallel.max_latency_us)} allow"
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
