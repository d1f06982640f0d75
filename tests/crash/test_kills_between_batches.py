"""Real processes killed at commits, at random times, when the clock decides, and between two logs; and all of it again.

``make soak`` kills at least 500 more, over queries with everything that can be chosen about them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from skypane.spark.store.failpoints import POINTS
from tests.chaos.configurations import Configuration, random_configuration
from tests.crash import selection
from tests.crash.chains import BATCHES, SINK_KINDS, Chain, World, committed_steps, cuts, logged_offsets, world_in

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]

LOGS = replace(selection.SKYLINE, name="logs", files=5)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("kills")) as world:
        world.prepare([selection.TOP_K, selection.AGGREGATE])
        yield world


def test_killed_at_commits_at_random_times_and_by_the_clock(world: World) -> None:
    for point in selection.KILLS[selection.TOP_K.name]:
        world.kill_at(selection.TOP_K, f"{point}@2")
    world.kill_some_time_after(selection.AGGREGATE, step=2, delay_s=random.Random(5).uniform(0.0, 0.5))
    world.kill_when_idle(selection.AGGREGATE)
    # This process finds the step that was decided, and dies in it.
    world.kill_at(selection.AGGREGATE, "results.published")
    between_two_logs(world)
    world.verify([selection.TOP_K, selection.AGGREGATE, LOGS])
    assert cuts(world.folder / LOGS.name) == (0, 1, 3, 4), "Spark must have taken two files at once"


def between_two_logs(world: World) -> None:
    """There is no failpoint within Spark: die at the begin of the batch, then take away what was logged last."""
    world.kill_at(LOGS, "step.begin@3")
    last = logged_offsets(world.folder / LOGS.name)[-1]
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


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
    return replace(found, lateness={**found.lateness, "partition_timeout": "1000 days"})


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
