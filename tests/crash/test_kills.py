"""Real processes killed with SIGKILL: all sinks and the ledger equal those of an undisturbed run.

``make test`` kills one at every failpoint, each query at least once. ``make soak`` kills every query at every point,
and at least 500 more at random, over queries with everything that can be chosen about them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from skypane.api.by_name import POLICIES
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.spark.store.failpoints import POINTS
from tests.crash import selection
from tests.crash.chains import (
    BATCHES,
    PLAIN_CUTS,
    SINK_KINDS,
    Chain,
    World,
    batches,
    committed_steps,
    cuts,
    logged_offsets,
    world_in,
)
from tests.support.configurations import QUERIES, Configuration, random_configuration

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


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("chain", selection.CHAINS, ids=lambda chain: chain.name)
def test_killed_at_every_point_whatever_the_query(world: World, chain: Chain) -> None:
    # Each process commits a step, then dies in the next one: there are more files than points.
    chain = replace(chain, name=f"{chain.name}-everywhere", files=BATCHES)
    for point in POINTS:
        side = point.partition(".")[0]
        if side not in {"failed", "duplicates"} or side in chain.kinds:
            world.kill_at(chain, f"{point}@2")
    world.verify([chain])


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_killed_again_and_again_whatever_the_query(world: World, seed: int) -> None:
    rng, before, number = random.Random(f"kills {seed}"), world.kills, 0
    while world.kills < before + 50:
        chain = Chain(f"soak-{seed}-{number}", any_configuration(rng), tuple(rng.choices(SINK_KINDS, k=3)))  # type: ignore[arg-type]
        number += 1
        kill_often(world, chain, rng)
        world.verify([chain])


def any_configuration(rng: random.Random) -> Configuration:
    """One whose answers do not depend on how long the processes were away."""
    found = random_configuration(rng)
    return replace(found, lateness={**found.lateness, "timeout": "1000 days"})


def kill_often(world: World, chain: Chain, rng: random.Random) -> None:
    """Up to ten times, or until there is nothing left to do."""
    for _ in range(10):
        if rng.random() < 0.5:
            how = {"degree": rng.randint(1, 4), "inline_rows": rng.choice([0, 100_000])}
            point = f"{rng.choice(POINTS)}@{rng.randint(1, 2)}"
            more = world.kill_at(chain, point, must=False, parallel=how)
        else:
            done = committed_steps(world.folder / chain.name)
            more = world.kill_some_time_after(chain, min(done + rng.randint(0, 3), BATCHES), rng.uniform(0.0, 0.5))
        if not more:
            return
