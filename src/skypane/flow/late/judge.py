"""Judge: would a late record have changed an answer, had this step's late records come in time?

It would not if every window that the record is in leaves it out of its partial even so: a record that is dominated in
each of its windows changes no skyline and no top-delta. For aggregates every record counts. Windows are judged by what
is known now: sealed panes of the history, open panes as they are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.reach import reach
from skypane.model.columns import PANE


def judge(definition: Definition, late: pa.Table, known: pa.Table | None, judged_from: int) -> pa.Array:
    """For each late row: true for harmful, false for harmless, null if its pane, below ``judged_from``, is too old."""
    panes = late.column(PANE).to_numpy()
    harmful = definition.window.in_some_window(panes)
    if not definition.query.selective:
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
