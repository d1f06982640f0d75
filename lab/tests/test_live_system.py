"""One key's live skyline on virtual workers: the answers are those of the definition, however the work is spread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.kernels.live_reference import live_intervals, skyline_at
from skypane_lab.live.lifetimes import dominated_at
from skypane_lab.live.ownership import OWNERSHIPS
from skypane_lab.live.queueing import run_queues
from skypane_lab.live.reduce import ASYNCHRONOUS, SYNCHRONOUS
from skypane_lab.live.setup import LiveMachine, LiveSetup
from skypane_lab.live.system import LiveSystem
from skypane_lab.live.worker import Update

Row = tuple[float, ...]

setups = st.builds(
    LiveSetup,
    machine=st.builds(LiveMachine, scan_ps=st.sampled_from([0, 1_000, 400_000]), queue_ns=st.sampled_from([0, 1, 30])),
    degree=st.integers(1, 4),
    queue_size=st.sampled_from([1, 2, 5, 1_000]),
    ownership=st.sampled_from(list(OWNERSHIPS.values())),
    reduce=st.sampled_from([SYNCHRONOUS, ASYNCHRONOUS]),
    emitter_stamps=st.booleans(),
    mark_every_ns=st.sampled_from([None, 7]),
)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[int], list[Row], int]:
    """Few values, gaps of 0 and a window that gaps add up to: ties, equal records, expiries at arrivals."""
    count = draw(st.integers(0, 40))
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 2, 5, 40]), min_size=count, max_size=count))
    rows = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=count, max_size=count))
    arrivals = np.cumsum(np.array(gaps, dtype=np.int64)).tolist()
    return arrivals, [tuple(map(float, row)) for row in rows], draw(st.sampled_from([1, 5, 10, 60]))


def expected(stamps: list[int], rows: list[Row], within: int) -> list[Update]:
    """The updates by the closed form, in order."""
    enter, leave = live_intervals(np.array(stamps, np.int64), np.array(rows).reshape(-1, 2), within)
    found = [
        update
        for number, (enters, leaves) in enumerate(zip(enter.tolist(), leave.tolist(), strict=True))
        if enters < leaves
        for update in (Update(enters, 1, number), Update(leaves, -1, number))
    ]
    return sorted(found)


@settings(max_examples=150, deadline=None)
@given(streams(), setups)
def test_updates_equal_the_closed_form_in_order(stream: tuple[list[int], list[Row], int], setup: LiveSetup) -> None:
    arrivals, rows, within = stream
    run = LiveSystem(setup, within).run(arrivals, rows)
    assert run.updates == expected(run.stamps, rows, within)
    if not setup.emitter_stamps:
        assert run.stamps == arrivals


@settings(max_examples=40, deadline=None)
@given(streams(), setups)
def test_folding_the_updates_gives_the_skyline_at_every_instant(
    stream: tuple[list[int], list[Row], int], setup: LiveSetup
) -> None:
    arrivals, rows, within = stream
    run = LiveSystem(setup, within).run(arrivals, rows)
    times, table = np.array(run.stamps, np.int64), np.array(rows).reshape(-1, 2)
    instants = {time + shift for time in run.stamps for shift in (0, within - 1, within)}
    for instant in instants:
        members: set[int] = set()
        for update in run.updates:
            if update.time <= instant:
                assert (update.number in members) == (update.change < 0)
                (members.add if update.change > 0 else members.discard)(update.number)
        assert sorted(members) == skyline_at(times, table, within, instant).tolist()


@settings(max_examples=80, deadline=None)
@given(streams(), setups)
def test_compiled_queues_tell_the_same_times(stream: tuple[list[int], list[Row], int], setup: LiveSetup) -> None:
    arrivals, rows, within = stream
    if not rows:
        return
    setup = replace(setup, mark_every_ns=None)
    run = LiveSystem(setup, within).run(arrivals, rows)
    points = np.array(rows)
    queued = run_queues(np.array(arrivals, np.int64), dominated_at(points, len(points)), within, setup)
    assert queued.stamps_ns.tolist() == run.stamps
    assert queued.owners.tolist() == run.owners
    assert queued.completed_ns.tolist() == run.completed_ns
