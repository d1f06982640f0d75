"""Every kernel against its slow oracle, on tables full of ties, infinities and extreme magnitudes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane import kernels
from skypane.flow.windows.slide.critical import window_range
from skypane.kernels import reference, simd, skylines, sliding
from skypane.model.panes import NO_PANE
from skypane.model.windows import WindowSpec

relaxed = settings(deadline=None)  # the first example compiles


@pytest.fixture(autouse=True, scope="module")
def _trees() -> None:
    """Small tables go through the trees too, as in a process that has been running for a while."""
    kernels.load_trees(np.float64)
    kernels.load_trees(np.float32)


SMALL = [0.0, 1.0, 2.0, 3.0]
NASTY = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    1e17,
    1e17 + 16,
    1e-320,
    1.0 + 2**-40,
    1 + 2**-30,
]


@st.composite
def tables(draw: st.DrawFn, rows: int = 40, width: int | None = None) -> npt.NDArray[np.float64]:
    count = draw(st.integers(0, rows))
    attributes = width or draw(st.integers(1, 16))
    values = draw(st.sampled_from([SMALL, NASTY, [1.0]]))
    if draw(st.booleans()):  # a large and random table, too large for Hypothesis to draw value by value
        generator = np.random.default_rng(draw(st.integers(0, 2**32)))
        return generator.choice(np.array(values), size=(count * 3, attributes))
    flat = draw(st.lists(st.sampled_from(values), min_size=count * attributes, max_size=count * attributes))
    return np.array(flat, dtype=np.float64).reshape(count, attributes)


@st.composite
def cuts(draw: st.DrawFn, rows: int) -> npt.NDArray[np.int64]:
    inner = draw(st.lists(st.integers(0, rows), max_size=8))
    return np.array([0, *sorted(inner), rows], dtype=np.int64)


def both_types(table: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float32] | npt.NDArray[np.float64]]:
    with np.errstate(over="ignore", under="ignore"):
        return [table, table.astype(np.float32)]


@relaxed
@given(tables())
def test_skyline(table: npt.NDArray[np.float64]) -> None:
    for values in both_types(table):
        np.testing.assert_array_equal(kernels.skyline(values), reference.skyline(values))


@relaxed
@given(st.data())
def test_skyline_groups(data: st.DataObject) -> None:
    table = data.draw(tables())
    offsets = data.draw(cuts(len(table)))
    for values in both_types(table):
        found = kernels.skyline_groups(values, offsets)
        np.testing.assert_array_equal(found, reference.skyline_groups(values, offsets))


@relaxed
@given(tables(), st.booleans())
def test_every_path_of_the_skyline(table: npt.NDArray[np.float64], shifted: bool) -> None:
    if len(table) == 0:
        return
    for values in both_types(table + 1e16 if shifted else table):
        single = values.dtype == np.float32
        expected = reference.skyline(values)
        kept = np.zeros(len(values), dtype=np.bool_)
        skylines._keep_by_trees(values, 0, len(values), single, kept)
        np.testing.assert_array_equal(np.flatnonzero(kept), expected)
        kept[:] = False
        skylines._keep_by_pairs(values, 0, len(values), kept)
        np.testing.assert_array_equal(np.flatnonzero(kept), expected)


@relaxed
@given(st.data())
def test_merge(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 16))
    left, right = data.draw(tables(width=width)), data.draw(tables(width=width))
    for first, second in zip(both_types(left), both_types(right), strict=True):
        a = first[reference.skyline(first)]
        b = second[reference.skyline(second)]
        for found, expected in zip(kernels.merge(a, b), reference.merge(a, b), strict=True):
            np.testing.assert_array_equal(found, expected)


@relaxed
@given(st.data())
def test_kmax(data: st.DataObject) -> None:
    table = data.draw(tables(rows=25))
    offsets = data.draw(cuts(len(table)))
    for values in both_types(table):
        np.testing.assert_array_equal(kernels.kmax(values, offsets), reference.kmax(values, offsets))


@relaxed
@given(st.data())
def test_top_k_groups(data: st.DataObject) -> None:
    scores = data.draw(tables(width=1))[:, 0]
    ids = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(scores), max_size=len(scores))), np.int64)
    offsets = data.draw(cuts(len(scores)))
    k = data.draw(st.integers(0, 12))
    found = kernels.top_k_groups(scores, ids, offsets, k)
    np.testing.assert_array_equal(found, reference.top_k_groups(scores, ids, offsets, k))


@relaxed
@given(st.data())
def test_dominance_join(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 16))
    live, fresh = data.draw(tables(width=width)), data.draw(tables(width=width))
    generator = np.random.default_rng(len(live))
    panes = generator.integers(-3, 6, len(live))
    for old, new in zip(both_types(live), both_types(fresh), strict=True):
        new_sky = new[reference.skyline(new)]
        kept, critical = kernels.dominance_join(old, panes, new_sky, 6)
        expected_kept, expected_critical = reference.dominance_join(old, panes, new_sky)
        np.testing.assert_array_equal(kept, expected_kept)
        np.testing.assert_array_equal(critical, expected_critical)


@pytest.mark.parametrize("width", range(1, 17))
@pytest.mark.parametrize("levels", [2, 4, 50])
def test_larger_tables_of_every_width(width: int, levels: int) -> None:
    generator = np.random.default_rng(width * 100 + levels)
    table = generator.integers(0, levels, size=(700, width)).astype(np.float64)
    for values in (table, table + 1e17, table * 2.0**-60 + 1.0, table.astype(np.float32)):
        np.testing.assert_array_equal(kernels.skyline(values), reference.skyline(values))


@pytest.mark.parametrize("width", [1, 2, 5, 16])
def test_before_the_trees_are_loaded(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(skylines, "_with_trees", set())
    monkeypatch.setattr(skylines, "_without_trees", {})
    generator = np.random.default_rng(width)
    offsets = np.concatenate([[0], np.cumsum([0, 1, 6, 7, 400, 401, 1500])])
    table = generator.integers(0, 9, size=(offsets[-1], width)).astype(np.float64)
    for values in (table, table + 1e17, table.astype(np.float32)):
        expected = reference.skyline_groups(values, offsets)
        np.testing.assert_array_equal(kernels.skyline_groups(values, offsets), expected)
    assert not skylines._with_trees
    monkeypatch.setattr(skylines, "PATIENCE", 3 * sum(n**2 for n in (401, 1500)) // simd.LANES)
    rounds = [kernels.skyline_groups(table, offsets) for _ in range(3)]
    assert skylines._with_trees == {"float64"}, "the first two tables were of this type, the third was too much"
    for found in rounds:
        np.testing.assert_array_equal(found, reference.skyline_groups(table, offsets))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 10))
def test_many_small_groups(seed: int, width: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 5, 200)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    table = generator.integers(0, 4, size=(offsets[-1], width)).astype(np.float64)
    np.testing.assert_array_equal(kernels.skyline_groups(table, offsets), reference.skyline_groups(table, offsets))


@pytest.mark.timeout(60)  # a bad choice of pivots would take minutes
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sorted_fronts_are_no_worst_case(dtype: npt.DTypeLike) -> None:
    rising = np.linspace(0, 1, 300_000)
    front = np.column_stack([rising, -rising]).astype(dtype)
    for table in (front, front[::-1], np.roll(front, 1000, axis=0)):
        assert len(kernels.skyline(table)) == len(table)


@pytest.mark.parametrize("seed", range(5))
def test_threads_find_the_same_bounds(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(sliding, "_WORTH_A_THREAD", 1)
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 6, (400, 3)).astype(np.float64)
    panes = np.sort(rng.integers(0, 12, 400))
    found = []
    for threads in (1, 3):
        critical, died = np.full(400, NO_PANE), np.full(400, sliding.STILL_ALIVE)
        for fresh in (panes < 8, panes >= 8):
            own = np.flatnonzero(panes <= panes[fresh].max())
            own_critical, own_died = critical[own], died[own]
            sliding.slide_one(table[own], panes[own], fresh[own], own_critical, own_died, threads=threads)
            critical[own], died[own] = own_critical, own_died
        found.append((critical.tolist(), died.tolist()))
    assert found[0] == found[1]
    assert len(set(found[0][0])) > 3


Bounds = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    width=st.integers(1, 12),
    step=st.integers(1, 5),
    rows=st.sampled_from([1, 20, 300]),
    attributes=st.integers(1, 4),
    first=st.integers(-20, 20),
)
def test_bounds_by_index_are_exact_wherever_a_window_has_the_row(
    seed: int, width: int, step: int, rows: int, attributes: int, first: int
) -> None:
    window = WindowSpec(width, step)
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, (rows, attributes)).astype(np.float64) + rng.choice([0.0, 1e17])
    panes = np.sort(rng.integers(first, first + 15, rows))
    fresh = panes >= first + rng.integers(0, 15)
    judged = rng.random(rows) < 0.3
    by_pairs, by_index = ((np.full(rows, NO_PANE), np.full(rows, sliding.STILL_ALIVE)) for _ in range(2))
    whole = np.array([0, rows])
    sliding.slide_groups(table, panes, fresh, whole, *by_pairs)
    sliding.slide_one(table, panes, fresh, *by_index, window.shape)
    assert_same_windows(window, panes, by_pairs, by_index)
    by_pairs, by_index = ((np.full(rows, NO_PANE), np.full(rows, sliding.STILL_ALIVE)) for _ in range(2))
    sliding.bound_groups(table, panes, judged, whole, *by_pairs)
    sliding.bound_one(table, panes, judged, *by_index, window.shape)
    assert_same_windows(window, panes, by_pairs, by_index)


def assert_same_windows(window: WindowSpec, panes: npt.NDArray[np.int64], wanted: Bounds, found: Bounds) -> None:
    """The same windows have the same rows."""
    (entered, left), (entered_too, left_too) = (window_range(window, panes, *bounds) for bounds in (wanted, found))
    some = entered <= left
    np.testing.assert_array_equal(some, entered_too <= left_too)
    np.testing.assert_array_equal(wanted[0][some], found[0][some])
    np.testing.assert_array_equal(wanted[1][some], found[1][some])
