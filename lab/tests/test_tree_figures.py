"""Figures of papers 3 and 5, on streams small enough for a test; what they are calibrated with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skypane.tuning.patterns.base import Work
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.parse import parse_pattern
from skypane.tuning.planner.cost_model import CostModel, Costs, Load
from skypane_lab.figures import FIGURES, nested, partitioned, yahoo
from skypane_lab.trees import learned as learned_costs
from skypane_lab.trees.learned import simulated_step_us
from skypane_lab.trees.skylines import JOINED_WINDOW_US, WHOLE_WINDOW_US, calibrated, expected_rows
from skypane_lab.trees.yahoo import as_tasks, by_campaign, events_per_s, within_windows


def written(name: str, folder: Path) -> str:
    picture, table = FIGURES[name]().write(folder, name)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    return table.read_text()


def test_spatial_figures_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nested, "_WORKERS", (1, 2))
    monkeypatch.setattr(nested, "_REPLICAS", (1, 2))
    monkeypatch.setattr(nested, "_NESTED", ("WF(2)", "PF(1,2) L1", "WF(PF(1,1) L1, 2)"))
    assert "| 1 | 0.65 |" in written("p3-15", tmp_path)
    assert "5 times WF(60)" not in written("p3-16", tmp_path)  # only where it was simulated
    assert "| 2 | 20 |" in written("p3-17", tmp_path)
    assert "| 3 | WF(PF(1,1) L1, 2) | 6 |" in written("p3-18", tmp_path)


def test_yahoo_figures_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(yahoo, "_THREADS", (6,))
    monkeypatch.setattr(yahoo, "_SHARES", (0.2,))
    monkeypatch.setattr(yahoo, "_BATCHES", (1, 2))
    for name in ("p3-20", "p3-21", "p3-22", "p3-23", "p3-24"):
        assert len(written(name, tmp_path).splitlines()) > 2


def test_split_figures_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(partitioned, "_OVERLAPS", (1, 5))
    monkeypatch.setattr(partitioned, "_NODES", (1, 2))
    monkeypatch.setattr(partitioned, "_OVERLAP", 20)
    assert "| windows | 128.2 | 90.9 |" in written("p5-6", tmp_path)
    assert "printed formula" in written("p5-7", tmp_path)


@pytest.mark.parametrize("attributes", [4, 6])
def test_numbers_of_the_paper_are_met(attributes: int) -> None:
    query = calibrated(attributes)
    assert query.window_us(300_000, 300_000) == query.part_us(300_000) == pytest.approx(WHOLE_WINDOW_US)
    assert query.window_us(300_000, 100 * query.rows(3_000)) == pytest.approx(JOINED_WINDOW_US)
    # One worker answers panes as fast as sixty join them.
    assert query.part_us(3_000) < JOINED_WINDOW_US / 60


def test_expected_rows() -> None:
    """Of 3,000 points 3.8 % with four attributes and 16.5 % with six; panes twice as long keep 25 % and 42 % more."""
    for attributes, share, more in ((4, 0.0377, 1.25), (6, 0.165, 1.42)):
        assert expected_rows(attributes, 3_000) / 3_000 == pytest.approx(share, rel=0.02)
        assert expected_rows(attributes, 6_000) / expected_rows(attributes, 3_000) == pytest.approx(more, rel=0.01)
    assert expected_rows(4, 0) == 0


def test_one_campaign_is_counted_by_one_or_shared() -> None:
    alone, more = by_campaign(6, 1, campaigns=1), by_campaign(14, 1, campaigns=1)
    assert events_per_s(more) == pytest.approx(events_per_s(alone), rel=0.02)
    assert events_per_s(within_windows(11, 3)) > 1.8 * events_per_s(alone)


def test_batches_make_tasks_pay_and_answers_late() -> None:
    single, few = as_tasks(4, 1, campaigns=10), as_tasks(4, 20, campaigns=10)
    assert events_per_s(few) > 5 * events_per_s(single)
    threads = by_campaign(3, 1, campaigns=10)
    assert float(np.median(few.latencies_us())) > float(np.median(as_tasks(4, 5, campaigns=10).latencies_us()))
    assert len(threads.latencies_us())


def test_a_querys_own_costs_in_virtual_time() -> None:
    """One key: only trees that share its windows gain by cores. Many keys: a farm of keys does."""
    work = Work(Extent(60, 10))
    load = Load(records=20_000, rows=2_000, windows=1, visits=6, heaviest=1.0, longest=1.0)
    costs = Costs(record_us=2.0, row_us=0.5, window_us=1_000.0, exchange_us=0.1)
    one_key, many = CostModel(5, costs, load), CostModel(5, costs, load._replace(heaviest=0.06))

    def step_ms(text: str, learned: CostModel, cores: int = 4) -> float:
        return simulated_step_us(parse_pattern(text), work, learned, cores) / 1e3

    alone = step_ms("WS", one_key)
    # 20,000 records, 2,000 rows, an answer.
    assert alone == pytest.approx(40 + 1 + 1, rel=0.01)
    assert step_ms("WS", one_key, cores=32) == pytest.approx(alone, rel=0.01)
    assert step_ms("KF(4)", one_key) == pytest.approx(alone, rel=0.01)
    assert step_ms("KF(4)", many) < 0.4 * alone
    assert step_ms("PF(4,1) L2", one_key) < 0.4 * alone


def test_trees_of_many_replicas_run_in_virtual_time_where_windows_overlap_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows are shortened for the run, but not below what the tree needs."""
    monkeypatch.setattr(learned_costs, "_MAX_OVERLAP", 4)
    tree, work = parse_pattern("WF(PF(1,1), 5)"), Work(Extent(40, 1))
    tree.check(work)
    learned = CostModel(steps=9, costs=Costs(), load=Load(records=100, rows=100, windows=10))
    assert simulated_step_us(tree, work, learned, cores=2) > 0


def test_steps_without_records_run_in_virtual_time() -> None:
    learned = CostModel(steps=9, costs=Costs(), load=Load())
    assert simulated_step_us(parse_pattern("KF(2)"), Work(Extent(10, 10)), learned, cores=2) >= 0
