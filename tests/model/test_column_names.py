"""A name stands for a column, whatever its case where Spark does not tell cases apart; or the nearest is named."""

from __future__ import annotations

from typing import Any

import pytest

from skypane.model.column_names import ColumnNames, column_names
from skypane.model.errors import OptionError, SchemaError
from skypane.model.suggestions import nearest

NAMES = ("ts", "Price", "addr", "__sp_id")


def test_case_counts_or_does_not() -> None:
    assert ColumnNames(NAMES, case_sensitive=False).find("PRICE", "Key") == "Price"
    assert ColumnNames(NAMES).find("Price", "Key") == "Price"
    with pytest.raises(SchemaError, match=r"Key 'PRICE' is not a column\. Did you mean 'Price'\?"):
        ColumnNames(NAMES).find("PRICE", "Key")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("pric", r"'pric' is not a column\. Did you mean 'Price'\? The columns are: ts, Price, addr\.$"),
        ("quixotic", r"'quixotic' is not a column\. The columns are: ts, Price, addr\.$"),
        ("addr.city", r"'addr' is one: give its field a column of its own first\."),
        ("__sp_ix", r"not a column\. The columns are: ts, Price, addr\.$"),
    ],
)
def test_a_name_that_is_none(name: str, wanted: str) -> None:
    with pytest.raises(SchemaError, match=wanted):
        ColumnNames(NAMES, case_sensitive=False).find(name, "Attribute")


@pytest.mark.parametrize(
    ("given", "names"),
    [(None, ()), ((), ()), ("a", ("a",)), (["a", "b"], ("a", "b")), ({"a"}, ("a",)), (iter(["a"]), ("a",))],
)
def test_names_may_be_given_in_many_ways(given: Any, names: tuple[str, ...]) -> None:
    assert column_names(given, "key") == names


class LikeAColumn:
    """As Spark's Column: it can be iterated, and raises."""

    def __iter__(self) -> Any:
        raise TypeError("Column is not iterable")


@pytest.mark.parametrize("given", [5, {"a": 1}, b"a", ["a", 5], LikeAColumn()])
def test_anything_else_is_refused_by_name(given: Any) -> None:
    with pytest.raises(OptionError, match=r"^key"):
        column_names(given, "key")


def test_the_first_of_two_names_that_differ_in_case_is_the_nearest() -> None:
    assert nearest("pric", ["Price", "price"]) == "Price"
    assert nearest("x", []) is None
