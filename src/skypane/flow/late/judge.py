"""Judge: would a late record have changed an answer, had this step's late records come in time?

It would not if every window that the record is in leaves it out of its partial even so: a record that is dominated in
each of its windows changes no skyline and no top-delta. For aggregates every record counts, and where windows are
counted in records, every one shifts those after it. Windows are judged by what is known now: sealed panes of the
history, open panes as they are.
"""

from __future__ import annotations

from collections.abc import Callable
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
from skypane.model.groups import BoolArray

Matters = Callable[[pa.Table, BoolArray], BoolArray]
"""Of some rows, those that are wanted: would any answer keep each, were all rows there?"""


def judge(definition: Definition, late: pa.Table, known: pa.Table | None, judged_from: int) -> pa.Array:
    """Judge by the windows that the late rows are in; where every record counts, all that are in any are harmful."""
    inside = definition.window.in_some_window(late.column(PANE).to_numpy())
    if definition.every_record_counts:
        return pa.array(inside)

    def matters(table: pa.Table, wanted: BoolArray) -> BoolArray:
        kept = np.zeros(table.num_rows, dtype=np.bool_)
        kept[reach(definition, table, wanted).rows] = True
        return kept[wanted]

    return judge_by(late, known, judged_from, matters, inside)


def judge_by(
    late: pa.Table, known: pa.Table | None, judged_from: int, matters: Matters, inside: BoolArray | None = None
) -> pa.Array:
    """For each late row: true for harmful, false for harmless, null if its pane, below ``judged_from``, is too old."""
    unknown = late.column(PANE).to_numpy() < judged_from
    harmful = np.ones(late.num_rows, dtype=np.bool_) if inside is None else inside
    asked = harmful & ~unknown
    if asked.any():
        rows = late.filter(pa.array(asked))
        table = rows if known is None else pa.concat_tables([rows, known.select(rows.column_names)])
        harmful[asked] = matters(table, np.arange(table.num_rows) < rows.num_rows)
    return pa.array(harmful, mask=unknown)


def judged_report(
    definition: Definition, before: Progress, late: pa.Table, harmful: pa.Array
) -> WindowReport[pa.Table, pa.Table]:
    """The late records as their sink gets them, and what is learned from them."""
    report = WindowReport[pa.Table, pa.Table](late=(describe_late(definition, before, late, harmful),))
    if not definition.judges_late:
        return report
    assert before.front_us is not None
    taught = teaches(definition, late.column(PANE).to_numpy(), before.front_us)
    return replace(
        report,
        judged=Judgement(late.num_rows, count_harmful(harmful)),
        lessons=Judgement(int(taught.sum()), count_harmful(harmful.filter(pa.array(taught)))),
    )


def count_harmful(harmful: pa.Array) -> int:
    """How many late records did harm: those too old to judge are taken for harmful."""
    return int(np.count_nonzero(harmful.fill_null(True).to_numpy(zero_copy_only=False)))


def judged(
    definition: Definition, late: pa.Table, known: pa.Table | None, before: Progress
) -> WindowReport[pa.Table, pa.Table]:
    """Judge late records by the ``known`` rows of sealed and open panes."""
    assert before.punctuation_us is not None
    judged_from = definition.window.sealed_before(before.punctuation_us - definition.harm_horizon_us)
    return judged_report(definition, before, late, judge(definition, late, known, judged_from))
