"""Judge: would a late record have changed an answer, had this step's late records come in time?

It would not if every window that the record is in leaves it out of its partial even so: a record that is dominated in
each of its windows changes no skyline and no top-delta. For aggregates every record counts, and where windows are
counted in records, every one shifts those after it. Windows are judged by what is known now: sealed panes of the
history, open panes as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.reach import reach
from skypane.flow.panes.admission import describe_late, teaches
from skypane.flow.reports import WindowReport
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE


def judge(definition: Definition, late: pa.Table, known: pa.Table | None, judged_from: int) -> pa.Array:
    """For each late row: true for harmful, false for harmless, null if its pane, below ``judged_from``, is too old."""
    panes = late.column(PANE).to_numpy()
    harmful = definition.window.in_some_window(panes)
    if definition.every_record_counts:
        return pa.array(harmful)
    unknown = panes < judged_from
    asked = harmful & ~unknown
    if asked.any():
        rows = late.filter(pa.array(asked))
        table = rows if known is None else pa.concat_tables([rows, known.select(rows.column_names)])
        wanted = np.arange(table.num_rows) < rows.num_rows
        kept = np.zeros(table.num_rows, dtype=np.bool_)
        kept[reach(definition, table, wanted).rows] = True
        harmful[asked] = kept[wanted]
    return pa.array(harmful, mask=unknown)


def count_harmful(harmful: pa.Array) -> int:
    """How many late records did harm: those too old to judge are taken for harmful."""
    return int(np.count_nonzero(harmful.fill_null(True).to_numpy(zero_copy_only=False)))


def judged(
    definition: Definition, late: pa.Table, known: pa.Table | None, before: Progress
) -> WindowReport[pa.Table, pa.Table]:
    """The late records of a step as their sink gets them, judged by what is ``known`` of sealed and open panes."""
    assert before.punctuation_us is not None
    assert before.front_us is not None
    judged_from = definition.window.sealed_before(before.punctuation_us - definition.harm_horizon_us)
    harmful = judge(definition, late, known, judged_from)
    report = WindowReport[pa.Table, pa.Table](late=(describe_late(definition, before, late, harmful),))
    if not definition.judges_late:
        return report
    taught = teaches(definition, late.column(PANE).to_numpy(), before.front_us)
    return replace(
        report,
        judged=Judgement(late.num_rows, count_harmful(harmful)),
        lessons=Judgement(int(taught.sum()), count_harmful(harmful.filter(pa.array(taught)))),
    )
