"""Rows that are discarded are counted."""

from __future__ import annotations

import pytest

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.support.spark.rows import run
from tests.support.spark.streams import Outputs

pytestmark = pytest.mark.spark


def test_discarded_rows_are_counted(query: ContinuousQuery, wanted: Outputs) -> None:
    results, late = sp.DiscardSink(), sp.DiscardSink()
    run(query.parallel(tuning=sp.Tuning(inline_rows=0)), sink=results, late=late)
    assert results.rows == len(wanted.results.rows())
    assert late.rows == len(wanted.late.rows())
