"""Explain: what a query will do, stage by stage, in words."""

from __future__ import annotations

from skypane.flow.definition import Definition
from skypane.model.durations import format_duration_us
from skypane.spark.options import LaunchOptions


def explain(definition: Definition, options: LaunchOptions) -> str:
    """The data path of a query, in words."""
    window, policy, guard = definition.window, options.punctuator.policy, options.punctuator.guard
    what = ", ".join(f"{name}={value}" for name, value in definition.query.describe().items() if name != "type")
    key = ", ".join(definition.keys) or "none (one answer per window)"
    wait = ", ".join(f"{name} {value}" for name, value in policy.describe().items())
    future = "no limit" if guard.max_future_us is None else f"up to {format_duration_us(guard.max_future_us)} ahead"
    pace = "what is available now, then end" if options.trigger is None else f"a step every {options.trigger}"
    settings = options.settings
    inline = f"{settings.inline_rows:,}"
    in_order = definition.processing == "in_order"
    keeps = "hands records over, to be buffered" if in_order else "keeps one partial per key and pane"
    lines = [
        f"query         {definition.query.kind}: {what}",
        f"windows       by {definition.time}, {window.explain()}",
        f"key           {key}",
        f"lateness      {policy.name}: {wait}; future guard: {future}, or {guard.support} records",
        *_explain_lateness(definition, options),
        f"pace          {pace}",
        f"pane stage    {settings.pane_tasks}; {keeps}",
        f"window stage  up to {settings.most_window_tasks} tasks by key group; in the driver below {inline} rows",
        f"results       {options.sink.describe()}",
        f"late          {options.late.describe() if options.late else 'counted'}",
        f"quarantine    {options.quarantine.describe() if options.quarantine else 'counted'}",
        f"checkpoint    {options.checkpoint or 'temporary: this query cannot be restarted'}",
    ]
    return "\n".join(lines)


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
