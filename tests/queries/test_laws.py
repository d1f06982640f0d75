"""Every query type passes the published law suite."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.testing.query_laws import check_query

SCHEMA = pa.schema(
    [
        ("label", pa.string()),
        ("price", pa.float64()),
        ("weight", pa.float32()),
        ("rating", pa.int64()),
        ("tax", pa.decimal128(25, 2)),
        ("when", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("pause", pa.duration("us")),
        ("flag", pa.bool_()),
        ("code", pa.binary()),
    ]
)
INF = float("inf")
ROW = st.fixed_dictionaries(
    {
        "label": st.sampled_from(["a", "b", None]),
        "price": st.sampled_from([0.0, -0.0, 1.0, 1.5, 1e300, -1e300, INF, -INF, float("nan"), None]),
        "weight": st.sampled_from([0.0, 0.5, 1.0]),
        "rating": st.sampled_from([0, 1, 2, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, None]),
        "tax": st.sampled_from(
            [Decimal("0.00"), Decimal("12345678901234567890.01"), Decimal("12345678901234567890.02")]
        ),
        "when": st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, None]),
        "day": st.sampled_from([date(1969, 12, 31), date(9999, 12, 31), None]),
        "pause": st.sampled_from([0, -1, 2**53, 2**53 + 1, None]),
        "flag": st.sampled_from([True, False, None]),
        "code": st.sampled_from([b"", b"\x00", b"\xff", None]),
    }
)
BOTH = Preferences.of(["price", "tax"], ["rating"])

QUERIES: list[Query] = [
    Skyline(Preferences.of("price", ())),
    Skyline(BOTH),
    Skyline(Preferences.of(["price", "weight"], ["rating", "tax"])),
    TopDelta(1, BOTH),
    TopDelta(3, Preferences.of(["price", "weight"], ["rating", "tax"])),
    TopK(1, "price"),
    TopK(4, "rating"),
    TopK(2, "tax"),
    TopK(2, "weight"),
    TopK(2, "day"),
    TopK(2, "when"),
    TopK(2, "pause"),
    Aggregates.of(
        {
            "n": "count",
            "rated": "count(rating)",
            "lo": "min(price)",
            "hi": "max(price)",
            "first": "min(label)",
            "stars": "sum(rating)",
            "taxes": "sum(tax)",
            "mean_tax": "mean(tax)",
            "longest": "max(pause)",
            "first_day": "min(day)",
            "all": "min(flag)",
            "last_code": "max(code)",
            "kilos": "sum(weight)",
            "mean_weight": "mean(weight)",
            "spread": "stddev(weight)",
        }
    ),
    Aggregates.of({"total": "sum(price)", "mean": "mean(rating)", "var": "variance(rating)", "p": "var_pop(weight)"}),
    Aggregates.of(
        {
            "first": "first(price)",
            "first_there": "first(price, true)",
            "last": "last(label)",
            "dearest": "max_by(label, price)",
            "least": "min_by(code, tax)",
            "by_text": "max_by(pause, label)",
            "by_flag": "min_by(day, flag)",
        },
        time="when",
    ),
    Aggregates.of(
        {"all": "collect_list(rating, 4)", "days": "collect_set(day, 2)", "prices": "collect_set(price, 20)"},
        time="weight",
    ),
    Aggregates.of(
        {
            "median": "approx_percentile(price, 0.5)",
            "ends": "approx_percentile(rating, array(0, 0.3, 1), 4)",
            "tax": "percentile_approx(tax, 0.7, 3)",
            "pause": "approx_percentile(pause, 0.5, 1)",
            "labels": "approx_count_distinct(label)",
            "prices": "approx_count_distinct(price, 0.3)",
            "taxes": "approx_count_distinct(tax)",
        }
    ),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: repr(dict(query.describe())))
def test_query_keeps_the_laws(query: Query) -> None:
    check_query(query, SCHEMA, ROW, max_examples=20)
