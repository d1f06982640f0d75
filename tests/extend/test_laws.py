"""The worked files of docs/extend.md keep the laws of their kind, as the page shows it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import strategies as st

import skypane as sp
from least_loaded import LeastLoaded
from near_best import NearBest
from recent_delays import RecentDelays
from skypane.testing import check_pane_strategy, check_policy, check_query

SCHEMA = pa.schema([("price", pa.float64()), ("rating", pa.int64())])
ROW = st.fixed_dictionaries(
    {"price": st.sampled_from([1.0, 2.5, 3.0, -1e300, float("inf"), float("nan"), None]), "rating": st.integers(0, 3)}
)


@pytest.mark.parametrize("query", [NearBest("price", 1.5), NearBest("rating", 0)], ids=repr)
def test_the_query_keeps_the_laws(query: NearBest) -> None:
    check_query(query, SCHEMA, ROW, max_examples=40)


def test_the_query_refuses_what_cannot_be_meant() -> None:
    with pytest.raises(sp.OptionError, match=r"NearBest\(margin=-1\) must be"):
        NearBest("price", -1)
    with pytest.raises(sp.SchemaError, match=r"'prise' is not a column"):
        NearBest("prise", 1).check(SCHEMA)


def test_the_policy_keeps_the_laws() -> None:
    check_policy(RecentDelays(5), max_examples=40)


def test_the_pane_strategy_keeps_the_laws() -> None:
    check_pane_strategy(LeastLoaded, max_examples=60)
