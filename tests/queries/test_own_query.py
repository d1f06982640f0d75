"""The example of docs/write-a-query.md, executed as it stands on the page, passes the law suite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from skypane.queries.preferences import Preferences
from skypane.testing.laws import check_query

PAGE = Path(__file__).parents[2] / "docs" / "write-a-query.md"
SCHEMA = pa.schema([("price", pa.float64()), ("rating", pa.int64())])
ROW = st.fixed_dictionaries({"price": st.sampled_from([1.0, 2.0, 3.0]), "rating": st.integers(0, 3)})


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), names)
    return names


def test_the_page_example_keeps_the_laws(page: dict[str, Any]) -> None:
    check_query(page["Skyband"](2, Preferences.of(["price"], ["rating"])), SCHEMA, ROW, max_examples=50)


def test_the_law_suite_catches_a_wrong_query(page: dict[str, Any]) -> None:
    skyband = page["Skyband"]

    def too_few(self: Any, rows: pa.Table, groups: Any) -> Any:
        """Keeps the skyline only, which is not enough for a skyband of two."""
        return skyband(1, self.preferences).select(rows, groups)

    forgetful = type("Forgetful", (skyband,), {"select": too_few})
    with pytest.raises(AssertionError):
        check_query(forgetful(2, Preferences.of(["price"], ["rating"])), SCHEMA, ROW, max_examples=200)
