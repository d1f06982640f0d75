"""Real processes killed with SIGKILL within steps: all sinks and the ledger equal those of an undisturbed run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from skypane.api.by_name import POLICIES
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.spark.store.failpoints import POINTS
from tests.chaos.configurations import QUERIES
from tests.crash import selection
from tests.crash.chains import BATCHES, PLAIN_CUTS, SINK_KINDS, STEP_POINTS, Chain, World, batches, world_in

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]
WITHIN = (
    selection.SKYLINE,
    selection.TOP_DELTA,
    selection.APPLY,
    selection.FOLD,
    selection.ROWS,
    selection.LIVE,
    selection.INTERVALS,
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("kills")) as world:
        world.prepare(WITHIN)
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


def test_killed_within_a_step(world: World) -> None:
    # Each process commits a step, then dies in the next one; how the work is done changes from run to run.
    for chain in WITHIN:
        for index, point in enumerate(selection.KILLS[chain.name]):
            inline_rows = (0, 100_000)[index % 2]
            world.kill_at(chain, f"{point}@2", parallel={"inline_rows": inline_rows, "degree": 3 - index % 3})
    world.verify(WITHIN)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("chain", selection.CHAINS, ids=lambda chain: chain.name)
def test_killed_at_every_point(world: World, chain: Chain) -> None:
    # Each process commits a step, then dies in the next one: there are more files than points.
    chain = replace(chain, name=f"{chain.name}-everywhere", files=BATCHES)
    for point in STEP_POINTS:
        if point != "failed.published" or "failed" in chain.kinds:
            world.kill_at(chain, f"{point}@2")
    world.verify([chain])


def test_the_selection_leaves_nothing_out() -> None:
    points = {point for points in selection.KILLS.values() for point in points} | {"intent.logged"}
    assert points == {*POINTS}
    configurations = [chain.configuration for chain in selection.CHAINS]
    assert {c.query for c in configurations} == {*QUERIES}
    assert {c.policy for c in configurations} == {*POLICIES}
    assert {c.emit for c in configurations} == {*EMISSIONS}
    assert {kind for chain in selection.CHAINS for kind in chain.sinks} == {*SINK_KINDS}
