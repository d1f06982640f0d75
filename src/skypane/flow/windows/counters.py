"""Counters: how many records each key has had, and what of that its open windows need.

A counter counts one **life** of a key: it begins with a record, and ends when the key's next record is more than the
time to live behind the last one. Where a life ends follows from the records alone, whatever steps they come in.
Counters are a table that is kept from step to step; within a step they have numbers 0, 1, ..., its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.windows.partial_changes import PARTIAL, partial_column, stored_partial
from skypane.model.columns import COUNTER, GROUP, ID, PREFIX
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.model.row_windows import RankPanes, RowWindows
from skypane.model.windows import FARTHEST_US
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.ranges import ranges
from skypane.tables.rows import conform
from skypane.tables.take import take_rows
from skypane.tables.times import times_us

COUNT = f"{PREFIX}count"
LAST_US = f"{PREFIX}last_us"
ENDED_US = f"{PREFIX}ended_us"
EMITTED = f"{PREFIX}emitted"
STARTS_US = f"{PREFIX}starts_us"
_PER_GROUP = 1 << 44
"""Counters of one key group have names below the first of the next."""
_NEVER_US = -(2**63)


class Runs(NamedTuple):
    """Some times for each counter, those of consecutive windows from its last complete one before the step on."""

    values: Int64Array
    groups: Groups

    def at(self, counter: Int64Array, place: Int64Array) -> Int64Array:
        """The time at a place of the run of each counter."""
        found: Int64Array = self.values[self.groups.offsets[counter] + place]
        return found


@dataclass(frozen=True)
class Counters:
    """The counters of a task, old ones first, and what a step did to them; arrays have a value for each."""

    keys: pa.Table
    """Key group and key columns."""
    names: Int64Array
    """What the rows of its panes call a counter from step to step."""
    before: Int64Array
    """How many records there were."""
    count: Int64Array
    """How many there are."""
    last_us: Int64Array
    emitted: Int64Array
    """How many there were when its open windows were last emitted."""
    starts: Runs
    """When windows began."""
    ends: Runs
    """When those of them ended that are complete."""
    over: BoolArray
    """Whether the life has ended."""
    partial: pa.Table | None
    """What was sent of open windows and is to be taken back, where rows are changes."""
    stored: int
    """How many there were before the step: the first ones, in the order of their names."""

    @staticmethod
    def first_known(ranks: RankPanes, count: Int64Array) -> Int64Array:
        """The window with which runs begin after so many records: the last that is complete, or the first of all."""
        return np.maximum(ranks.complete(count) - 1, 0)

    def times_us(self, ranks: RankPanes, counter: Int64Array, window: Int64Array) -> tuple[Int64Array, Int64Array]:
        """When each window begins and ends; one that is not complete ends with the last record."""
        place = window - self.first_known(ranks, self.before)[counter]
        known = window < ranks.complete(self.count)[counter]
        end = self.last_us[counter]
        end[known] = self.ends.at(counter[known], place[known])
        return self.starts.at(counter, place), end

    def table(self, ranks: RankPanes) -> pa.Table | None:
        """What later steps need: the lives that go on, in the order of their names."""
        rows = np.flatnonzero(~self.over)
        if not len(rows):
            return None
        rows = rows[np.argsort(self.names[rows])]
        done = self.first_known(ranks, self.count[rows]) - self.first_known(ranks, self.before[rows])
        sizes = self.starts.groups.sizes[rows] - done
        values = self.starts.values[ranges(self.starts.groups.offsets[rows] + done, sizes)]
        starts = pa.ListArray.from_arrays(pa.array(Groups.from_sizes(sizes).offsets, pa.int32()), pa.array(values))
        # Zero where no window is complete: what the counter before it has there would depend on who shares a task.
        ended, complete = np.zeros_like(self.count), self.ends.groups.sizes > 0
        ended[complete] = self.ends.values[self.ends.groups.offsets[1:][complete] - 1]
        numbers = {
            COUNTER: self.names,
            COUNT: self.count,
            LAST_US: self.last_us,
            ENDED_US: ended,
            EMITTED: self.emitted,
        }
        table = take_rows(self.keys, rows)
        for name, column in numbers.items():
            table = table.append_column(name, pa.array(column[rows]))
        table = table.append_column(STARTS_US, starts)
        return table if self.partial is None else table.append_column(PARTIAL, partial_column(self.partial, rows))


class Counted(NamedTuple):
    """The records that a step counts: in which order, by which counter, and their ranks in that order."""

    counters: Counters
    rows: Int64Array
    counter: Int64Array
    rank: Int64Array


class _InOrder(NamedTuple):
    """Records by key and time: where they are in their table, the code of the key, the time."""

    rows: Int64Array
    code: Int64Array
    time: Int64Array
    code_of_old: Int64Array
    """The code of each counter that is stored."""

    @property
    def codes(self) -> int:
        """How many there are, at most."""
        return max(int(self.code.max(initial=-1)), int(self.code_of_old.max(initial=-1))) + 1


class _Lives(NamedTuple):
    """Runs of records in a row that belong to one life."""

    begin: Int64Array
    """The first record of each run."""
    fresh: BoolArray
    """Whether the life begins with it, rather than goes on."""
    counter: Int64Array


def count_records(
    definition: Definition, window: RowWindows, stored: pa.Table | None, records: pa.Table, sealed_until_us: int
) -> Counted:
    """Count records, which are sealed, on top of what is stored; lives end that no later record can continue."""
    own, ranks, old = [GROUP, *definition.keys], window.ranks, 0 if stored is None else stored.num_rows
    known = records.slice(0, 0).select(own)
    if stored is not None:
        stored = take_rows(stored, np.argsort(stored.column(COUNTER).to_numpy(), kind="stable"))
        known = conform(stored.select(own), records.select(own).schema)
    line = _in_order(definition, known, records)
    lives = _lives(line, _numbers(stored, LAST_US), window.ttl_us)
    sizes, new = np.diff(np.append(lives.begin, len(line.time))), int(lives.fresh.sum())
    count, last_us = (_longer(_numbers(stored, name), new) for name in (COUNT, LAST_US))
    before = count.copy()
    count[lives.counter] += sizes
    last_us[lives.counter] = line.time[lives.begin + sizes - 1]
    counter = np.repeat(lives.counter, sizes)
    rank = before[counter] + np.arange(len(counter)) - np.repeat(lives.begin, sizes)
    lead = take_rows(records.select(own), line.rows[lives.begin[lives.fresh]])
    ends = (rank >= ranks.size_us - 1) & ((rank - ranks.size_us + 1) % ranks.slide_us == 0)
    counters = Counters(
        keys=pa.concat_tables([known, lead]),
        names=_named(_numbers(stored, COUNTER), lead.column(GROUP).to_numpy()),
        before=before,
        count=count,
        last_us=last_us,
        emitted=_longer(_numbers(stored, EMITTED), new),
        starts=_joined(_started(stored), _run(old + new, counter, line.time, rank % ranks.slide_us == 0)),
        ends=_joined(_ended(ranks, stored), _run(old + new, counter, line.time, ends)),
        over=_over(line, lives, last_us, window.ttl_us, sealed_until_us),
        partial=stored_partial(stored),
        stored=old,
    )
    return Counted(counters, rows=line.rows, counter=counter, rank=rank)


def _in_order(definition: Definition, known: pa.Table, records: pa.Table) -> _InOrder:
    keys, old = pa.concat_tables([known, records.select(known.column_names)]), known.num_rows
    code = _dense(key_codes(keys, definition.keys))
    time = times_us(records.column(definition.time))
    by_time = np.argsort(time, kind="stable")  # fast where records come nearly in order; then they are only dealt out
    rows = by_time[sort_by(code[old:][by_time], np.zeros(len(time), dtype=np.int64)).rows]
    if ((np.diff(time[rows]) == 0) & (np.diff(code[old:][rows]) == 0)).any():
        rows = np.lexsort((records.column(ID).to_numpy(), time, code[old:]))
    return _InOrder(rows=rows, code=code[old:][rows], time=time[rows], code_of_old=code[:old])


def _lives(line: _InOrder, last_us: Int64Array, ttl_us: int | None) -> _Lives:
    """Where lives begin: with a key's first record, and after too long a gap."""
    old, (_, code, time, code_of_old) = len(last_us), line
    counter_of = np.full(line.codes, -1, dtype=np.int64)
    counter_of[code_of_old] = np.arange(old)
    first_of_key = np.ones(len(code), dtype=np.bool_)
    first_of_key[1:] = code[1:] != code[:-1]
    previous_us = np.full(len(time), _NEVER_US)
    previous_us[1:] = time[:-1]
    previous_us[first_of_key] = _longer(last_us, 1, _NEVER_US)[counter_of[code[first_of_key]]]
    begins = previous_us == _NEVER_US
    if ttl_us is not None:
        begins |= time - np.maximum(previous_us, -FARTHEST_US) > ttl_us
    begin = np.flatnonzero(first_of_key | begins)
    fresh = begins[begin]
    return _Lives(begin, fresh, np.where(fresh, old + np.cumsum(fresh) - 1, counter_of[code[begin]]))


def _over(line: _InOrder, lives: _Lives, last_us: Int64Array, ttl_us: int | None, sealed_until_us: int) -> BoolArray:
    """Which lives have ended: another one of the key has begun, or any record to come would begin one."""
    if ttl_us is None:
        return np.zeros(len(last_us), dtype=np.bool_)
    newest = np.full(line.codes, -1, dtype=np.int64)
    newest[line.code_of_old] = np.arange(len(line.code_of_old))
    code_of = np.zeros(len(last_us), dtype=np.int64)
    code_of[: len(line.code_of_old)] = line.code_of_old
    code_of[lives.counter] = line.code[lives.begin]
    # Counters of later lives have larger numbers.
    np.maximum.at(newest, code_of, np.arange(len(last_us)))
    over: BoolArray = (last_us < sealed_until_us - ttl_us) | (newest[code_of] != np.arange(len(last_us)))
    return over


def _started(stored: pa.Table | None) -> Runs:
    """The starts that are stored."""
    if stored is None or not stored.num_rows:
        return Runs(_numbers(None, ""), Groups.from_sizes([]))
    lists = stored.column(STARTS_US).combine_chunks()
    return Runs(lists.flatten().to_numpy(), Groups.from_sizes(np.diff(lists.offsets.to_numpy())))


def _ended(ranks: RankPanes, stored: pa.Table | None) -> Runs:
    """The end of the last complete window of each counter that has one."""
    known = ranks.complete(_numbers(stored, COUNT)) > 0
    return Runs(_numbers(stored, ENDED_US)[known], Groups.from_sizes(known))


def _joined(old: Runs, new: Runs) -> Runs:
    """The times of the old ones before those of the new; old are the first counters."""
    sizes = _longer(old.groups.sizes, len(new.groups) - len(old.groups))
    owner = np.concatenate([np.repeat(np.arange(len(sizes)), each) for each in (sizes, new.groups.sizes)])
    values = np.concatenate((old.values, new.values))[np.argsort(owner, kind="stable")]
    return Runs(values, Groups.from_sizes(sizes + new.groups.sizes))


def _run(total: int, counter: Int64Array, time: Int64Array, wanted: BoolArray) -> Runs:
    """The times of some records by counter, each counter's in order."""
    owner = counter[wanted]
    sizes = np.bincount(owner, minlength=total)
    return Runs(time[wanted][np.argsort(owner, kind="stable")], Groups.from_sizes(sizes))


def _named(names: Int64Array, groups_of_new: Int64Array) -> Int64Array:
    """With names for new counters: each key group counts on."""
    groups_of_new = groups_of_new.astype(np.int64)
    newest = groups_of_new * _PER_GROUP - 1
    if len(names):
        group = names // _PER_GROUP
        last = np.searchsorted(group, groups_of_new, side="right") - 1
        known = (last >= 0) & (group[last] == groups_of_new)
        newest[known] = names[last[known]]
    order = np.argsort(groups_of_new, kind="stable")
    nth = np.empty(len(order), dtype=np.int64)
    ordered = groups_of_new[order]
    nth[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return np.append(names, newest + 1 + nth)


def _longer(values: Int64Array, more: int, filler: int = 0) -> Int64Array:
    return np.append(values, np.full(more, filler, dtype=np.int64))


def _numbers(stored: pa.Table | None, name: str) -> Int64Array:
    return np.zeros(0, dtype=np.int64) if stored is None else stored.column(name).to_numpy()


def _dense(codes: Int64Array) -> Int64Array:
    """Codes so small that arrays can be indexed by them."""
    if int(codes.max(initial=0)) <= 4 * len(codes):
        return codes
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
