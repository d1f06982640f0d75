"""The law suite for patterns: every tree, yours included, must pass ``check_pattern``.

    from skypane.testing import check_pattern

    def test_my_pattern() -> None:
        check_pattern(MyPattern(3))

Each law is a function of a tree and of a case, work to do or a stream; its docstring is the law.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pyarrow as pa
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.testing.law import expect, for_all
from skypane.testing.query_runs import Run, expect_reference, runs
from skypane.tuning.pattern_fit import work_of
from skypane.tuning.patterns.base import LEVELS, Pattern, Work
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.network import Block, Role, nodes

_SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64())])
_QUERIES: tuple[Query, ...] = (
    Aggregates.of({"rows": "count", "total": "sum(a)", "least": "min(b)"}),
    Skyline(Preferences(("a",), ("b",))),
)


def work_is_done_or_refused(tree: Pattern, work: Work) -> None:
    """Work that it cannot do is refused with an ``OptionError`` that names an alternative."""
    try:
        tree.check(work)
    except OptionError as error:
        expect("Use " in str(error), True)


def a_network_answers_windows(tree: Pattern, work: Work) -> None:
    """Its network has a node that answers windows, and as many that compute something as it says."""
    if not tree.legal(work):
        return
    computing = [role for each in nodes(tree.network(work)) for role in each.roles if not _moves(role)]
    expect(Role.WINDOWS in computing, True)
    expect(len(computing), tree.workers)


def fusion_saves_threads_and_no_work(tree: Pattern, work: Work) -> None:
    """Each level of fusion has at most as many threads as the one before, and its nodes compute the same."""
    if not tree.legal(work):
        return
    levels = [tree.fused(level) for level in LEVELS]
    threads = [each.threads(work) for each in levels]
    expect(threads, sorted(threads, reverse=True))
    first, *others = (_work_of(each.network(work)) for each in levels)
    for other in others:
        expect(other, first)


def a_tree_is_a_value(tree: Pattern, work: Work) -> None:
    """Trees that are made alike are equal and have the same hash, and the work does not change them."""
    shown = repr(tree)
    tree.legal(work)
    expect(tree.fused(tree.level), tree)
    expect(hash(tree.fused(tree.level)), hash(tree))
    expect(repr(tree), shown)


def stages_have_tasks(tree: Pattern, work: Work) -> None:
    """As a stage plan, each stage has a task."""
    del work
    try:
        tree.stage_plan()  # a plan with a stage that has no task cannot be made
    except ValueError as error:
        expect(str(error), "a plan")


def answers_are_those_of_the_reference(tree: Pattern, run: Run) -> None:
    """Every window of every key is answered once, with what the reference says about its records."""
    for query in _QUERIES:
        if tree.legal(work_of(run.definition(query))):
            expect_reference(query, run, tree)


LAWS: tuple[Callable[[Pattern, Work], None], ...] = (
    work_is_done_or_refused,
    a_network_answers_windows,
    fusion_saves_threads_and_no_work,
    a_tree_is_a_value,
    stages_have_tasks,
)


def check_pattern(tree: Pattern, *, max_examples: int = 25) -> None:
    """Check every law on generated work and streams; raise :class:`~skypane.testing.law.LawBroken` if one breaks.

    tree: one with the degrees that are of interest; it runs on the in-process engine.
    """
    lengths = st.integers(1, 40)
    work = st.builds(Work, st.builds(Extent, lengths, lengths), st.booleans(), st.booleans())
    for_all(LAWS, tree, work, max_examples)
    row = st.fixed_dictionaries({name: st.integers(0, 3) for name in _SCHEMA.names})
    # Sliding is for the tree to choose: not every way to slide lets tasks share windows.
    streams = runs(_SCHEMA, row).filter(lambda run: run.sliding == "auto")
    for_all((answers_are_those_of_the_reference,), tree, streams, max_examples)


def _moves(role: Role) -> bool:
    return role.sends or role is Role.ORDER


def _work_of(network: Block) -> Counter[Role]:
    """What is computed, and how often."""
    return Counter(role for each in nodes(network) for role in each.roles if not _moves(role))
