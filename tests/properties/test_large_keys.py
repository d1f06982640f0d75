"""Skylines of many rows: keys with many rows slide by index, and late records correct what they should."""

from __future__ import annotations

import random
from typing import Any
from unittest.mock import patch

import pytest

from skypane.flow import joining
from skypane.flow.definition import Definition
from skypane.kernels import sliding
from skypane.model.windows import WindowSpec
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.testing.oracle import actual_answers, expected_answers
from tests.support.engine_runs import accepted_of, last_revisions, run

PREFERENCES = Preferences(("a",), ("b",))


def large_skylines(seed: int) -> list[dict[str, Any]]:
    """Sixty records, some late, of which few dominate others: what is good in one attribute is bad in the other."""
    rng = random.Random(seed)
    rows = []
    for n in range(60):
        level = rng.randint(0, 20)
        ts = n * 50_000 - rng.choice([0, 0, 0, 150_000, 2_000_000])
        rows.append({"ts": ts, "key": rng.choice("xy"), "n": n, "a": float(level), "b": level + rng.randint(-3, 3)})
    return rows


@pytest.mark.parametrize("window", [WindowSpec(1_000_000, 200_000), WindowSpec(600_000, 400_000)], ids=str)
@pytest.mark.parametrize("query", [Skyline(PREFERENCES), TopDelta(3, PREFERENCES)], ids=lambda query: query.kind)
@pytest.mark.parametrize("keys", [(), ("key",)], ids=str)
def test_large_keys_answer_by_index_what_the_oracle_says(
    query: Query, window: WindowSpec, keys: tuple[str, ...]
) -> None:
    definition = Definition(query, window, "ts", keys)
    for seed in range(4):
        rows = large_skylines(seed)
        with (
            patch.object(sliding, "BIG_KEY_ROWS", 2),
            patch.object(sliding, "slide_one", wraps=sliding.slide_one) as by_index,
            patch.object(joining, "slide_one", wraps=sliding.slide_one) as shared,
        ):
            outputs = run(definition, rows, [10, 25, 26, 44], degree=2)
        assert by_index.call_count + shared.call_count >= 4
        answers = actual_answers(definition, [table for output in outputs for table in output.answers])
        assert answers == expected_answers(definition, accepted_of(rows, outputs))


@pytest.mark.parametrize("big_key_rows", [2, sliding.BIG_KEY_ROWS])
@pytest.mark.parametrize("query", [Skyline(PREFERENCES), TopDelta(3, PREFERENCES)], ids=lambda query: query.kind)
def test_late_records_correct_large_skylines(query: Query, big_key_rows: int) -> None:
    definition = Definition(query, WindowSpec(1_000_000, 200_000), "ts", ("key",), allowed_lateness_us=1_500_000)
    for seed in range(4):
        rows = large_skylines(seed)
        with patch.object(sliding, "BIG_KEY_ROWS", big_key_rows):
            outputs = run(definition, rows, [10, 25, 26, 44], degree=2)
        assert any(row["revision"] for output in outputs for table in output.answers for row in table.to_pylist())
        assert last_revisions(definition, outputs) == expected_answers(definition, accepted_of(rows, outputs))
