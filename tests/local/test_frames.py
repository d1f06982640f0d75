"""pandas, polars and Arrow tables are answered in process, by the same rules, and come back as what they were."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import skypane as sp
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from tests.support.frames import MAKERS, TYPES, rows_of
from tests.support.spark.tables import attribute_names, kinds_of, packed, tables

OFFERS = pa.table(
    {
        "city": ["ulm", "ulm", None, "bonn", "ulm", None],
        "price": [3, 1, 2, 5, 3, 4],
        "stars": [4.0, 1.0, 2.5, 5.0, 4.0, 2.0],
    }
)


@pytest.mark.parametrize("library", MAKERS)
def test_the_three_questions(library: str) -> None:
    offers = MAKERS[library](OFFERS)
    best = sp.skyline(offers, minimize="price", maximize="stars", by="city")
    assert isinstance(best, TYPES[library])
    assert rows_of(best) == [
        ("ulm", 3, 4.0),
        ("ulm", 1, 1.0),
        (None, 2, 2.5),
        ("bonn", 5, 5.0),
        ("ulm", 3, 4.0),
    ], "equal rows all stay, null is a group, rows keep their order"
    hardest = sp.top_delta(offers, 2, minimize=["price"], maximize=["stars"])
    assert isinstance(hardest, TYPES[library])
    assert rows_of(hardest) == [("ulm", 1, 1.0, 1), (None, 2, 2.5, 1)]
    ranked = sp.top_k(offers, 1, score="stars", by="city")
    assert isinstance(ranked, TYPES[library])
    assert sorted(rows_of(ranked), key=repr) == [
        ("bonn", 5, 5.0, 5.0),
        ("ulm", 3, 4.0, 4.0),
        (None, 2, 2.5, 2.5),
    ]


@pytest.mark.parametrize("library", MAKERS)
def test_empty_tables_have_the_added_columns(library: str) -> None:
    empty = MAKERS[library](OFFERS.slice(0, 0))
    assert list(sp.skyline(empty, minimize="price").columns) == list(empty.columns)
    for answer in (sp.top_delta(empty, 3, minimize="price"), sp.top_k(empty, 3, score="price", by="city")):
        assert rows_of(answer) == []
        names = answer.column_names if isinstance(answer, pa.Table) else list(answer.columns)
        assert names[:3] == ["city", "price", "stars"]
        assert names[3] in {"kmax", "score"}


def test_pandas_keeps_index_types_and_objects() -> None:
    frame = pd.DataFrame(
        {
            "price": pd.array([2, 1, 3], dtype="Int32"),
            "kind": pd.Categorical(["a", None, "a"]),
            "what": [{1, 2}, object, 3],  # nothing that Arrow has a type for
        },
        index=pd.Index([10, 20, 30], name="id"),
    )
    best = sp.skyline(frame, minimize="price", by="kind")
    assert best.index.tolist() == [10, 20]
    assert best.dtypes.equals(frame.dtypes)
    assert best["what"].tolist() == [{1, 2}, object]
    ranked = sp.top_k(frame.drop(columns="what"), 2, score="price")
    assert ranked.index.tolist() == [30, 10]
    assert ranked["score"].tolist() == [3, 2]
    with pytest.raises(sp.SchemaError, match=r"of no one type.*Drop it"):
        sp.top_k(frame, 2, score="price")


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([1, 2, 3, 7]), st.sampled_from(list(MAKERS)))
def test_skylines_equal_the_oracle(data: st.DataObject, attributes: int, library: str) -> None:
    kinds = kinds_of(attributes)
    table = packed([data.draw(tables(kinds, max_rows=20))], kinds)
    assume(table.num_rows)  # of no decimals at all pandas does not know that they are numbers
    preferences = Preferences.of(attribute_names(attributes), ())
    expected = [row["row"] for row in Skyline(preferences).reference(table.to_pylist())]
    best = sp.skyline(MAKERS[library](table), minimize=preferences.minimize)
    found = best["row"].to_pylist() if isinstance(best, pa.Table) else best["row"].to_list()
    assert found == expected


@settings(max_examples=60, deadline=None)
@given(st.data(), st.randoms(use_true_random=False))
def test_ties_do_not_depend_on_the_order(data: st.DataObject, chance: Any) -> None:
    kinds = kinds_of(4)
    table = packed([data.draw(tables(kinds, max_rows=15))], kinds).drop_columns(["t"])
    order = list(range(table.num_rows))
    chance.shuffle(order)
    shuffled = table.take(pa.array(order, pa.int64()))
    first, second = (sp.top_k(rows, 3, score="x0") for rows in (table, shuffled))
    assert first.equals(second)
    chosen: dict[str, Any] = {"minimize": ["x0", "x1"], "maximize": ["x2", "x3"]}
    first, second = (sp.top_delta(rows, 3, **chosen) for rows in (table, shuffled))
    assert first.equals(second)


def test_zeros_of_both_signs_are_one_group() -> None:
    table = pa.table({"zone": [0.0, -0.0, None], "price": [1, 2, 3]})
    assert sp.skyline(table, minimize="price", by="zone")["price"].to_pylist() == [1, 3]


def test_refusals_say_what_to_do() -> None:
    cases: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (
            sp.OptionError,
            "'stars / price' is not a column; only Spark.*Add it to the table",
            lambda: sp.top_k(OFFERS, 1, score="stars / price"),
        ),
        (
            sp.OptionError,
            "The score 'city' is of type string; it must be a number",
            lambda: sp.top_k(OFFERS, 1, score="city"),
        ),
        (sp.SchemaError, "Attribute 'prize' is not a column", lambda: sp.skyline(OFFERS, minimize="prize")),
        (sp.SchemaError, "Attribute 'city' has type string", lambda: sp.skyline(OFFERS, minimize="city")),
        (
            sp.SchemaError,
            "Grouping column 'town' is not a column",
            lambda: sp.skyline(OFFERS, minimize="price", by="town"),
        ),
        (
            sp.SchemaError,
            "a column 'kmax', which top-delta adds",
            lambda: sp.top_delta(OFFERS.append_column("kmax", OFFERS["price"]), 1, minimize="price"),
        ),
        (
            sp.SchemaError,
            "'__sp_x'.*reserved",
            lambda: sp.skyline(OFFERS.rename_columns(["__sp_x", "price", "stars"]), minimize="price"),
        ),
        (sp.SchemaError, "Column 0: names of columns", lambda: sp.skyline(pd.DataFrame([[1]]), minimize="0")),
        (
            sp.SchemaError,
            "there twice",
            lambda: sp.skyline(OFFERS.rename_columns(["price", "price", "stars"]), minimize="stars"),
        ),
        (sp.OptionError, "invalid='skip'", lambda: sp.skyline(OFFERS, minimize="price", invalid="skip")),
        (sp.OptionError, "polars.LazyFrame.*collect", lambda: sp.skyline(pl.LazyFrame({"a": [1]}), minimize="a")),
        (sp.OptionError, "builtins.list is not understood", lambda: sp.skyline([1], minimize="a")),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


def test_invalid_rows_stop_the_question_or_are_dropped() -> None:
    frame = pl.DataFrame({"price": [1.0, float("nan"), None], "n": [1, 2, 3]})
    with pytest.raises(sp.DataError, match="1 rows: null in attribute 'price'"):
        sp.skyline(frame, minimize="price")
    assert sp.skyline(frame, minimize="price", invalid="drop")["n"].to_list() == [1]
    assert sp.top_k(frame, 5, score="price", invalid="drop")["n"].to_list() == [1]


def test_many_rows_are_answered_in_pieces() -> None:
    rows = 600_000
    n = np.arange(rows)
    table = pa.table({"n": n, "a": n % 997, "b": (n * 7919) % 1009})
    best = sp.skyline(table, minimize=["a", "b"])
    ranked = sp.top_k(table, 3, score="n")
    assert best.num_rows == ((n % 997 == 0) & ((n * 7919) % 1009 == 0)).sum()
    assert ranked["n"].to_pylist() == [rows - 1, rows - 2, rows - 3]


def test_neither_spark_nor_pandas_is_needed() -> None:
    program = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyspark", "py4j", "pandas", "polars"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import pyarrow as pa
import skypane as sp

table = pa.table({"price": [2, 1], "stars": [1, 1]})
print(sp.skyline(table, minimize="price").to_pylist(), sp.top_delta(table, 1, minimize="price").to_pylist(),
      sp.top_k(table, 1, score="price").to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    best = "'price': 1, 'stars': 1"
    assert done.stdout.strip() == f"[{{{best}}}] [{{{best}, 'kmax': 0}}] [{{'price': 2, 'stars': 1, 'score': 2}}]"


VIEWS = pa.table({"a": [1.0, 2.0], "k": pa.array(["x", "y"], pa.string_view())})
PLAIN = pd.DataFrame({"a": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: sp.skyline(PLAIN, minimize="A"), r"'A' is not a column\. Did you mean 'a'\? The columns are: a\."),
        (lambda: sp.skyline(PLAIN, minimize=cast("Any", 1)), r"minimize=1 must be a column name"),
        (lambda: sp.top_k(PLAIN, 2**70, score="a"), r"k=\d+ must be a whole number from 1 to"),
        (lambda: sp.top_delta(PLAIN, True, minimize="a"), r"delta=True must be a whole number"),
        (lambda: sp.top_k(pd.DataFrame({"a": [1.0], "c": [1 + 2j]}), 1, score="a"), r"Drop it, or turn it into text"),
        (lambda: sp.skyline(pd.DataFrame({"a": pd.arrays.SparseArray([1.0])}), minimize="a"), r"Sparse"),
        (lambda: sp.skyline(VIEWS, minimize="a", by="k"), r"cannot take rows .* Convert it first"),
    ],
)
def test_what_cannot_be_used_is_said_by_name(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(sp.SkypaneError, match=message):
        ask()


def test_numbers_of_numpy_and_frames_without_rows_are_as_good_as_others() -> None:
    assert sp.top_k(PLAIN, np.int64(1), score="a")["a"].tolist() == [2.0]
    assert sp.skyline(PLAIN, minimize=None, maximize="a")["a"].tolist() == [2.0]
    assert not len(sp.skyline(pd.DataFrame({"a": pd.Series([], dtype=object)}), minimize="a"))
    spans = pa.table({"a": [1.0], "k": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    assert sp.top_k(spans, 1, score="a").num_rows == 1
