"""Long runs go on where they ended, keep to their budget, and say which seeds failed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tests.longruns.results import Result, Results, table
from tests.longruns.runner import run_seeds


def run(results: Results, runs: int, *, seconds: float = 60.0, bad: int = -1) -> list[int]:
    """The seeds that were run this time."""
    done: list[int] = []

    def job(seed: int) -> Result:
        done.append(seed)
        assert seed != bad, "this one fails"
        return Result(results.what, seed, 10, seen={"kill": 1})

    with ThreadPoolExecutor(1) as executor:
        run_seeds(job, results, executor, 1, runs=runs, seconds=seconds)
    return sorted(done)


def test_a_run_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    results = Results("some", tmp_path)
    assert run(results, 30) == [0, 1, 2]
    assert run(results, 50) == [3, 4]
    assert run(results, 50) == []
    assert run(results, 1_000, seconds=0.0) == []


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path) -> None:
    results = Results("some", tmp_path)
    run(results, 20)
    results.path.write_text(results.path.read_text()[:-20] + "\n")
    assert len(run(results, 20)) == 1


def test_failures_are_kept_with_the_seed_to_repeat(tmp_path: Path) -> None:
    results = Results("some", tmp_path)
    assert 1 in run(results, 30, bad=1)
    assert 1 not in run(results, 60)
    text = table(["some"], tmp_path)
    assert "FAILED python -m tests.longruns some --only 1: this one fails" in text


def test_results_of_other_sources_count_for_nothing(tmp_path: Path) -> None:
    results = Results("some", tmp_path)
    results.add(replace(Result("some", 0, 10), code="another"))
    assert run(results, 10) == [0]
