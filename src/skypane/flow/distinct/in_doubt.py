"""Duplicates among records whose time is, or was, in doubt."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.flow.distinct.distinct import Distinct
from skypane.flow.distinct.duplicate_finder import DuplicateFinder
from skypane.flow.distinct.id_rows import known_ids
from skypane.flow.distinct.known_ids import KnownIds
from skypane.lateness.suspects import Suspects, Verdict
from skypane.model.columns import ID
from skypane.model.groups import BoolArray
from skypane.tables.rows import keep_rows


def copies_in_doubt(
    distinct: Distinct, table: pa.Table, doubted: Suspects, verdict: Verdict, known: KnownIds
) -> BoolArray:
    """Which suspects are duplicates, once it is decided whose time is believed.

    A held record that is released comes after the batch that released it. Suspects of the batch itself were compared
    with all others in the pane stage. Of those that stay in doubt one stays for all its copies: the oldest, which is
    believed if any of them is; of one time the one that was held before, with all that has come since.
    """
    found: BoolArray = np.zeros(table.num_rows, dtype=np.bool_)
    fresh, released = verdict.accepted & ~doubted.held, verdict.accepted & doubted.held
    if released.any():
        accepted = known_ids(distinct, keep_rows(table, fresh), doubted.times_us[fresh])
        found |= _copies(distinct, table, doubted, released, known.also([accepted]))
    if (held := verdict.still_held).any():
        held_first = pa.array((~doubted.held).astype(np.int64))
        ordered = table.set_column(table.column_names.index(ID), ID, held_first)
        found |= _copies(distinct, ordered, doubted, held, KnownIds.of([]))
    return found


def _copies(distinct: Distinct, table: pa.Table, doubted: Suspects, chosen: BoolArray, known: KnownIds) -> BoolArray:
    found: BoolArray = np.zeros(table.num_rows, dtype=np.bool_)
    nobody: BoolArray = np.zeros(int(chosen.sum()), dtype=np.bool_)
    found[chosen] = DuplicateFinder(distinct, known).find(keep_rows(table, chosen), doubted.times_us[chosen], nobody)
    return found
