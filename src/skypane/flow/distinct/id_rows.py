"""Id rows: ids of records as tables - a hash, the record's time, the id's values - in the order of the hashes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.distinct.distinct import Distinct
from skypane.model.columns import DISTINCT, PREFIX, TIME_US
from skypane.model.groups import Int64Array
from skypane.tables.canonical import canonical
from skypane.tables.rows import keep_rows
from skypane.tables.take import take_rows


def value_names(distinct: Distinct) -> list[str]:
    """The columns with the values of an id."""
    return [f"{PREFIX}value_{number}" for number in range(len(distinct.columns))]


def id_rows(distinct: Distinct, rows: pa.Table, times_us: Int64Array) -> pa.Table:
    """The id of each record, in the order of the records."""
    values = [canonical(rows.column(name)) for name in distinct.columns]
    columns = {DISTINCT: rows.column(DISTINCT), TIME_US: pa.array(times_us)}
    return pa.table({**columns, **dict(zip(value_names(distinct), values, strict=True))})


def known_ids(distinct: Distinct, rows: pa.Table, times_us: Int64Array) -> pa.Table:
    """The ids to remember, in the order of their hashes: of records that have one."""
    has_id = rows.column(DISTINCT).is_valid().to_numpy()
    if not has_id.all():
        rows, times_us = keep_rows(rows, has_id), times_us[has_id]
    return by_hash(id_rows(distinct, rows, times_us))


def by_hash(ids: pa.Table) -> pa.Table:
    """The ids in the order of their hashes, so that many can be looked up at once."""
    hashes = ids.column(DISTINCT).to_numpy()
    if (hashes[1:] >= hashes[:-1]).all():
        return ids.combine_chunks()
    return take_rows(ids, np.argsort(hashes, kind="stable").astype(np.int64)).combine_chunks()


def remembered_from_us(definition: Definition, punctuation_us: int | None) -> int | None:
    """The oldest time of an id that a record which is not late can be a duplicate of; ``None`` if all can."""
    if definition.distinct is None or punctuation_us is None:
        return None
    # A pane is open until its end: a record in it may be a whole pane older than the watermark.
    open_from_us = punctuation_us - definition.allowed_lateness_us - definition.window.pane_us
    return open_from_us - definition.distinct.within_us


def forget_ids(definition: Definition, ids: pa.Table | None, punctuation_us: int | None) -> pa.Table | None:
    """Without the ids that no record can be a duplicate of any more, unless it is late."""
    from_us = remembered_from_us(definition, punctuation_us)
    if ids is None or from_us is None:
        return ids
    needed = ids.column(TIME_US).to_numpy() >= from_us
    if needed.all():
        return ids
    return keep_rows(ids, needed) if needed.any() else None
