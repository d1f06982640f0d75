"""Paper 5's split in virtual time: who gets which records, and what that does to the rate."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane_lab.figures.partitioned import printed_rate
from skypane_lab.trees.split_run import SplitRun
from skypane_lab.trees.splitting import Batches, NodeCosts, Ring, Scheme

schemes: st.SearchStrategy[Scheme] = st.one_of(
    st.builds(Batches, st.integers(1, 12), st.integers(1, 4), st.integers(1, 7)),
    st.builds(Ring, st.integers(1, 12), st.integers(1, 4)),
)


@settings(max_examples=60, deadline=None)
@given(scheme=schemes, costs=st.builds(NodeCosts, *[st.floats(0.0, 50.0)] * 4))
def test_every_window_comes_out_once_and_in_order(scheme: Scheme, costs: NodeCosts) -> None:
    run = SplitRun(scheme, costs._replace(read_us=costs.read_us + 0.1), records_per_slide=3)
    assert run.windows() == list(range(run.slides - scheme.overlap + 1))


@settings(deadline=None)
@given(overlap=st.integers(1, 20), nodes=st.integers(2, 5), size=st.integers(1, 9), slide=st.integers(0, 200))
def test_batches_update_every_window_of_a_record_once(overlap: int, nodes: int, size: int, slide: int) -> None:
    scheme = Batches(overlap, nodes, size)
    copies = scheme.copies(slide)
    windows = range(max(0, slide - overlap + 1), slide + 1)
    assert sum(copy.updates for copy in copies) == len(windows)
    assert len(copies) == len({window // size for window in windows})
    for node in range(nodes):
        own = sum(scheme.owner(window) == node for window in windows)
        assert sum(copy.updates for copy in copies if copy.node == node) == own


def test_the_papers_example() -> None:
    """w 3, s 1, B 3: five copies for three records against nine; and nine updates in a batch, not eight."""
    batches, windows = Batches(3, 2, 3), Batches(3, 2, 1)
    assert [len(batches.copies(slide)) for slide in (30, 31, 32)] == [2, 2, 1]
    assert [len(windows.copies(slide)) for slide in (30, 31, 32)] == [3, 3, 3]
    batch = [copy.updates for slide in range(30, 35) for copy in batches.copies(slide) if copy.node == 0]
    assert batch == [1, 2, 3, 2, 1]


@settings(deadline=None)
@given(overlap=st.integers(1, 20), nodes=st.integers(1, 5))
def test_a_turn_of_the_ring_needs_panes_of_one_neighbour_only(overlap: int, nodes: int) -> None:
    """It hands on its last W - S results, which are all its own."""
    ring = Ring(overlap, nodes)
    owner = {pane: max(0, pane - overlap + 1) // ring.turn for pane in range(200)}
    for window in range(ring.turn, 200 - overlap):
        sets = {owner[pane] for pane in range(window, window + overlap)}
        assert sets <= {window // ring.turn - 1, window // ring.turn}


@pytest.mark.parametrize(
    ("scheme", "rate"),
    [
        (Batches(100, 1), 5_000),
        (Batches(100, 2), 800),
        (Batches(100, 3), 1_200),
        (Batches(100, 4), 1_600),
        (Ring(100, 1), 32_000),
        (Ring(100, 2), 64_000),
    ],
    ids=lambda value: f"{type(value).__name__} {value.nodes}" if isinstance(value, Scheme) else f"{value}",
)
def test_rates_that_the_paper_states(scheme: Scheme, rate: float) -> None:
    assert SplitRun(scheme).records_per_s() == pytest.approx(rate, rel=0.03)


def test_larger_batches_gain_what_the_corrected_model_says() -> None:
    """Load of a node: (w/s) updates, and what is left for each of (w + (B - 1) s) / (B s) copies."""
    costs = NodeCosts()
    for size in (2, 10, 50):
        load_us = 100 * costs.update_us + (100 + size - 1) / size * costs.other_us
        assert SplitRun(Batches(100, 4, size)).records_per_s() == pytest.approx(4e6 / load_us, rel=0.01)
    gained = SplitRun(Batches(100, 4, 10)).records_per_s() - SplitRun(Batches(100, 4, 2)).records_per_s()
    assert gained == pytest.approx(6_339, rel=0.01)  # paper 5: about 6,500
    assert printed_rate(10, 4) - printed_rate(2, 4) == pytest.approx(11_100, rel=0.01)


@pytest.mark.parametrize(("overlap", "nodes", "size"), [(0, 1, 1), (3, 0, 1), (3, 2, 0)])
def test_what_makes_no_sense_is_refused(overlap: int, nodes: int, size: int) -> None:
    with pytest.raises(OptionError, match="1 "):
        Batches(overlap, nodes, size)
