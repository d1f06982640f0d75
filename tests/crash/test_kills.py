"""Real processes killed with SIGKILL: all sinks and the ledger equal those of an undisturbed run.

One is killed at every failpoint, and each query at least once. ``python -m tests.longruns kills`` kills a thousand,
over queries with everything that can be chosen about them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from skypane.api.by_name import POLICIES
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.spark.store.failpoints import POINTS
from tests.crash import selection
from tests.crash.chains import (
    PLAIN_CUTS,
    SINK_KINDS,
    World,
    batches,
    cuts,
    logged_offsets,
    world_in,
)
from tests.support.configurations import QUERIES

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("kills")) as world:
        world.prepare(selection.CHAINS)
        yield world


def test_the_undisturbed_run_is_worth_comparing_with(world: World) -> None:
    chain = selection.SKYLINE
    run = world.undisturbed(chain, PLAIN_CUTS[: chain.files])
    for sink, steps in run.contents.items():
        assert len(steps) > 3, f"{sink} has rows in too few steps"
    assert chain.files + 1 in run.contents["results"], "the flush must emit something"
    assert any("'revision': 1" in row for rows in run.contents["results"].values() for row in rows)
    ledger = run.said["ledger"]
    fates = ledger["accepted"] + ledger["late"] + sum(ledger["quarantined"].values()) + ledger["held"]
    assert fates == sum(batch.num_rows for batch in batches(PLAIN_CUTS[: chain.files]))


def test_killed_once_at_every_point(world: World) -> None:
    # Each process commits a step, then dies in the next one; how the work is done changes from run to run.
    for index, (chain, point) in enumerate(selection.KILLS):
        how = {"inline_rows": (0, 100_000)[index % 2], "degree": 3 - index % 3}
        world.kill_at(chain, f"{point}@2", parallel=how)
    world.kill_when_idle(selection.AGGREGATE)
    # This process finds the step that was decided, and dies in it.
    world.kill_at(selection.AGGREGATE, selection.IN_THE_DECIDED_STEP)
    between_two_logs(world)
    world.verify([*selection.CHAINS, selection.LOGS])
    assert cuts(world.folder / selection.LOGS.name) == (0, 1, 3, 4), "Spark must have taken two files at once"


def between_two_logs(world: World) -> None:
    """There is no failpoint within Spark: die at the begin of the batch, then take away what was logged last."""
    world.kill_at(selection.LOGS, "step.begin@3")
    last = logged_offsets(world.folder / selection.LOGS.name)[-1]
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


def test_the_selection_leaves_nothing_out() -> None:
    killed = [*selection.KILLS, (selection.AGGREGATE, "step.prepared"), (selection.LOGS, "step.begin")]
    assert {point for _, point in killed} | {selection.IN_THE_DECIDED_STEP} == {*POINTS}
    assert {chain.name for chain, _ in killed} >= {chain.name for chain in selection.CHAINS}
    configurations = [chain.configuration for chain in selection.CHAINS]
    assert {c.query for c in configurations} == {*QUERIES}
    assert {c.policy for c in configurations} == {*POLICIES}
    assert {c.emit for c in configurations} == {*EMISSIONS}
    assert {kind for chain in selection.CHAINS for kind in chain.sinks} == {*SINK_KINDS}
