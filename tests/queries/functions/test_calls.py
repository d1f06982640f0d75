"""How functions of users are looked at, called, told from changed ones, and what becomes of what they return."""

from __future__ import annotations

import importlib
import linecache
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skypane as sp
from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.local.engine import Engine
from skypane.model.ddl import as_schema
from skypane.model.errors import FunctionError, OptionError
from skypane.model.windows import WindowSpec
from skypane.queries.apply import Apply
from skypane.queries.fold import Fold
from skypane.queries.folded import fold_query
from skypane.queries.functions.calls import Call
from skypane.queries.functions.fingerprint import fingerprint

RECORDS = pa.table(
    {"ts": pa.array([1_000, 2_000], pa.timestamp("us", "UTC")), "city": ["ulm", "ulm"], "n": [2, 1]},
)

MORNING = pd.Timestamp("2020-01-01T05:00").to_pydatetime()


def answer(function: Any, schema: Any, records: pa.Table = RECORDS, **options: Any) -> list[dict[str, Any]]:
    query = fold_query(function) if isinstance(function, Fold) else Apply.of(function, as_schema(schema, "schema"))
    definition = Definition(query, WindowSpec(10_000, 10_000), "ts", ("city",), **options)
    engine = Engine(definition, FixedDelay("0 seconds"), FutureGuard(None))
    state, _ = engine.step(engine.start(), [records])
    _, output = engine.flush(state)
    return [row for table in (*output.answers, *output.failed) for row in table.drop(["city", "window"]).to_pylist()]


class Slotted:
    """Fields without a dict."""

    __slots__ = ("by",)

    def __init__(self, by: int) -> None:
        self.by = by


class Scaled:
    """An object that can be called."""

    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, records: dict[str, Any]) -> dict[str, Any]:
        return {"x": records["n"] * self.by}


def with_default(records: pa.Table, by: int = 10) -> list[dict[str, Any]]:
    return [{"x": n * by} for n in records.column("n").to_pylist()]


def newest_of_pandas(records: pd.DataFrame) -> dict[str, Any]:
    return {"at": records["ts"].max(), "x": len(records)}


def newest_of_numpy(records: dict[str, Any]) -> dict[str, Any]:
    return {"at": records["ts"].max(), "x": len(records["ts"])}


def test_what_a_function_may_want_and_return() -> None:
    wanted = [{"x": 20}, {"x": 10}]
    for function in (
        with_default,
        Scaled(10),
        partial(with_default, by=10),
        lambda table: pa.table({"x": [20, 10]}),
        lambda table: pa.record_batch({"x": pa.array([20, 10], pa.int32())}),
        lambda key, table: {"x": np.array([20, 10], dtype=np.int16)},
        lambda key, window, table: pd.DataFrame({"x": [20, 10]}),
        lambda table: pl.DataFrame({"x": [20, 10]}),
    ):
        assert answer(function, "x long") == wanted
    assert answer(lambda table: {"x": 1.5, "y": None, "z": np.float32(2)}, "x double, y string, z float") == [
        {"x": 1.5, "y": None, "z": 2.0}
    ]
    assert answer(lambda table: {"x": pd.Timestamp("2020-01-01"), "y": pd.NaT}, "x timestamp_ntz, y date") == [
        {"x": MORNING.replace(hour=0), "y": None}
    ]
    assert answer(lambda table: {"x": 2.0, "y": Decimal(3), "z": {"a": 1}}, "x int, y long, z map<string, long>") == [
        {"x": 2, "y": 3, "z": [("a", 1)]}
    ]
    assert answer(lambda table: [], "x long") == []
    assert answer(lambda table: pd.DataFrame({"x": [], "y": np.array([])}), "x date, y array<long>") == []
    assert answer(lambda table: pd.DataFrame({"x": [np.nan]}), "x timestamp") == [{"x": None}]
    one_row = {"x": 3, "tags": ["a", "b"], "counts": np.array([1, 2])}
    schema = "x long, tags array<string>, counts array<long>"
    assert answer(lambda table: one_row, schema) == [{"x": 3, "tags": ["a", "b"], "counts": [1, 2]}]
    newest = [{"at": datetime(1970, 1, 1, 0, 0, 0, 2_000, timezone.utc), "x": 2}]
    assert answer(newest_of_pandas, "at timestamp, x long") == newest
    assert answer(newest_of_numpy, "at timestamp, x long") == newest
    assert answer(lambda table: {"x": pd.NaT, "y": 1}, "x timestamp, y int") == [{"x": None, "y": 1}]
    seen: list[Any] = []

    def note(key: tuple[str], window: sp.Window, records: pd.DataFrame) -> list[Any]:
        seen.append((key, window.start, window.end, list(records["n"]), records["ts"].is_monotonic_increasing))
        return []

    answer(note, "x long")
    assert [(s[0], s[1].isoformat(), s[3], s[4]) for s in seen] == [
        (("ulm",), "1970-01-01T00:00:00+00:00", [2, 1], True)
    ]


class UnspeakableError(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def fails_with(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("function", "schema", "said"),
    [
        (lambda t: None, "x long", "returned None; return a table"),
        (lambda t: 5, "x long", "returned a int; return a table"),
        (lambda t: {"y": 1}, "x long", "returned no column 'x', which must be long"),
        (lambda t: {"x": 1, "y": 1}, "x long", "returned a column 'y'; the schema has x only"),
        (lambda t: {"x": "a"}, "x long", r"returned a column 'x' that is not long \("),
        (lambda t: {"x": np.array([1.5])}, "x long", r"returned column 'x' as double; it must be long \("),
        (lambda t: {"x": 1.5}, "x long", r"returned a column 'x' that is not long \(1.5 is no whole number"),
        (lambda t: [{"x": Decimal("1.5")}], "x int", r"returned a column 'x' that is not int \("),
        (lambda t: [{"x": [1, 1.5]}], "x array<long>", r"returned a column 'x' that is not array<long> \("),
        (lambda t: {"x": {"y": 1.5}}, "x struct<y: long>", r"returned a column 'x' that is not struct<y: long> \("),
        (lambda t: {"x": "abc", "y": [1, 2, 3]}, "x string, y long", r"returned a column 'y' that is not long \("),
        (lambda t: pa.table({"x": ["a"]}), "x double", r"returned column 'x' as string; it must be double \("),
        (
            lambda t: {"x": [1], "y": [1, 2]},
            "x long, y long",
            r"returned columns of different lengths: \{'x': 1, 'y': 2\}",
        ),
        (lambda t: {"x": 2.5}, "x long", r"returned a column 'x' that is not long \(2.5 is no whole number\)"),
        (lambda t: {"x": [np.float64(2.5)]}, "x long", r"returned a column 'x' that is not long \(2.5 is no whole"),
        (lambda t: [{"x": [1, 2.5]}], "x array<long>", r"returned a column 'x' that is not .*\(2.5 is no whole number"),
        (lambda t: {"x": {"a": 1, "b": 2}}, "x struct<a: long>", r"returned a column 'x' .*\(it has no field 'b'\)"),
        (lambda t: {"x": {"k": 2.5}}, "x map<string, int>", r"returned a column 'x' .*\(2.5 is no whole number\)"),
        (lambda t: {"x": ["ab", "c"]}, "x array<string>", r"returned a column 'x' .*\('ab' is a text, not a list\)"),
        (lambda t: {"x": MORNING}, "x date", r"returned a column 'x' .*05:00:00 has a time of day\)"),
        (lambda t: {"x": pd.Timestamp(1)}, "x timestamp_ntz", r"returned a column 'x' .*has nanoseconds\)"),
        (lambda t: {"x": 1e300}, "x float", r"returned a column 'x' that is not float \(1e\+300 is too large\)"),
        (lambda t: pa.table({"x": [{"a": 1, "b": 2}]}), "x struct<a: long>", r"returned column 'x' .*no field 'b'\)"),
        (lambda t: pa.table({"x": [1.239]}), "x decimal(5, 2)", r"returned column 'x' as double.*\(there is more in"),
        (
            lambda t: pa.table({"x": [MORNING]}),
            "x date",
            r"returned column 'x' as .*\(there is more in",
        ),
        (
            lambda t: {"x": 1, "y": [1, 2]},
            "x long, y long",
            r"returned a column 'y' that is not long \(Could not convert \[1, 2\]",
        ),
        (lambda t: {"x": np.array([1e300])}, "x float", r"returned column 'x' as double; .*\(some are too large"),
        (lambda t: pa.table({"x": [[1e300]]}), "x array<float>", r"returned column 'x' as .*\(some are too large"),
        (lambda t: {"x": np.array([5])}, "x boolean", r"returned column 'x' as .*\(there is more in"),
        (lambda t: pa.table({"x": [[{"a": 1, "b": 2}]]}), "x array<struct<a: long>>", r"returned .*no field 'b'\)"),
        (lambda t: pa.table({"x": [{"y": [MORNING]}]}), "x struct<y: array<date>>", r"returned .*\(there is more in"),
        (
            lambda t: pa.table({"x": [[1.239]]}),
            "x array<decimal(5, 2)>",
            r"returned column 'x' as .*\(there is more in",
        ),
        (lambda t: pd.DataFrame({"x": [MORNING]}), "x date", r"returned .*\(there is more in"),
        (lambda t: pd.DataFrame({"x": [0.5]}), "x boolean", r"returned column 'x' as double.*\(there is more in"),
        (lambda t: pa.table([[1], [2]], names=["x", "x"]), "x long", "returned column 'x' twice"),
        (lambda t: pd.DataFrame([[1, 2]], columns=["x", "x"]), "x long", "returned column 'x' twice"),
        (lambda t: {"x": np.array([1], dtype=">i8")}, "x long", r"returned a column 'x' that is not long \(Byte-swap"),
        (lambda t: fails_with(SystemExit(3)), "x long", r"raised SystemExit: 3 \(line \d+:"),
        (
            lambda t: fails_with(UnspeakableError()),
            "x long",
            r"raised UnspeakableError: \(its message cannot be shown: Runtime",
        ),
        (lambda t: fails_with(ValueError("\ud800")), "x long", r"raised ValueError: \\ud800 \(line"),
        (lambda t: 1 / 0, "x long", r"raised ZeroDivisionError: division by zero \(line \d+: .*1 / 0"),
    ],
)
def test_errors_name_function_column_type_key_and_window(function: Any, schema: str, said: str) -> None:
    where = r".*, for city='ulm', window \[1970-01-01T00:00:00, 1970-01-01T00:00:00.010000\)\. Nothing of this step"
    with pytest.raises(FunctionError, match=rf"The function {re.escape(__name__)}:<lambda> {said}{where}"):
        answer(function, schema)
    ((row,)) = answer(function, schema, sets_aside=True)
    assert row["function"] == "tests.queries.functions.test_calls:<lambda>"
    assert row["records"] == 2


def fails(*_: Any) -> Any:
    raise KeyError("gone")


@pytest.mark.parametrize("combine", [(), "commutative"])
@pytest.mark.parametrize("part", ["update", "merge", "finish", "text", "field"])
def test_a_fold_that_fails_says_which_part(part: str, combine: Any) -> None:
    parts: dict[str, Any] = {
        "update": lambda state, records: {"n": "a" if part == "text" else 1, **({"m": 1} if part == "field" else {})},
        "merge": lambda left, right: left,
        "finish": lambda state: state,
    }
    role = part if part in parts else "update"
    if part in parts:
        parts[part] = (lambda state: fails()) if part == "finish" else (lambda left, right: fails())
    fold = Fold({"n": 0}, **parts, schema="n long", combine=combine)
    if part == "merge":  # one pane has nothing to merge
        assert answer(fold, None) == [{"n": 1}]
        return
    said = {"text": "state field 'n' that is not long", "field": r"a state with the fields \['n', 'm'\]"}
    with pytest.raises(FunctionError, match=rf"{said.get(part, 'KeyError')}.*for city='ulm', window \[1970"):
        answer(fold, None)
    ((row,)) = answer(fold, None, sets_aside=True)
    assert row["records"] == 2
    assert row["function"] == Call.of(getattr(fold, role), role, min_arguments=1, takes_records=False).name


def test_a_merge_that_fails_in_a_window_of_two_panes() -> None:
    fold = Fold({"n": 0}, lambda state, records: {"n": 1}, lambda left, right: fails(), combine="commutative")
    for aside in (False, True):
        definition = Definition(fold_query(fold), WindowSpec(2_000, 1_000), "ts", sets_aside=aside)
        engine = Engine(definition, FixedDelay("0 seconds"), FutureGuard(None))
        state, first = engine.step(engine.start(), [RECORDS])
        if aside:
            _, output = engine.flush(state)
            rows = [row for step in (first, output) for table in step.failed for row in table.to_pylist()]
            assert [(row["window"]["start"].microsecond, row["records"]) for row in rows] == [(1_000, 2)]
        else:
            with pytest.raises(FunctionError, match=r"KeyError: 'gone'.* for no key, window"):
                engine.flush(state)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module with some source, however often it was another one."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(source: str) -> Any:
        (tmp_path / "written.py").write_text(source)
        importlib.invalidate_caches()
        sys.modules.pop("written", None)
        linecache.clearcache()
        return importlib.import_module("written")

    return imported


def test_fingerprints_tell_changed_code(written: Callable[[str], Any]) -> None:
    text = "LIMIT = 3\nNAMES = {'a'}\n\ndef helper(x):\n    return x + LIMIT\n\n"
    text += "def f(records, by=2):\n    return helper(by), NAMES\n"

    def of(source: str) -> str:
        return fingerprint(written(source).f)

    known = of(text)
    assert known.startswith("written:f#")
    assert of(text.replace("return x + LIMIT", "# more\n    return (x + LIMIT)")) == known, "comments and layout"
    for old, new in (
        ("LIMIT = 3", "LIMIT = 4"),
        ("NAMES = {'a'}", "NAMES = {'b'}"),
        ("x + LIMIT", "x - LIMIT"),
        ("by=2", "by=3"),
        ("helper(by)", "helper(1)"),
    ):
        assert of(text.replace(old, new)) != known, (old, new)


CLASS = """
from dataclasses import dataclass
LIMIT = 3
def helper(x):
    return x + 1
class Base:
    def limited(self, x):
        return min(x, 7)
@dataclass
class Called(Base):
    by: int = 5
    def __call__(self, records):
        return self.limited(self.helped + self.fixed())
    @property
    def helped(self):
        return helper(self.by)
    @staticmethod
    def fixed():
        return LIMIT
def named(records):
    return Called()(records)
"""


CHANGES = (("LIMIT = 3", "LIMIT = 4"), ("x + 1", "x + 2"), ("min(x, 7)", "min(x, 8)"), ("= 5", "= 6"))
ASKED = ("Called()", "Called().limited", "named")


def test_fingerprints_tell_what_a_class_names_and_derives_from(written: Callable[[str], Any]) -> None:
    for asked in ASKED:
        found = [
            fingerprint(eval(asked, vars(written(text))))
            for text in (CLASS, CLASS, *(CLASS.replace(*change) for change in CHANGES))
        ]
        assert found[0] == found[1]
        assert len(set(found)) == 1 + len(CHANGES), asked


def test_fingerprints_do_not_look_into_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[[str], Any]
) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    monkeypatch.syspath_prepend(library)
    found = set()
    for answer in (1, 2):
        (library / "installed.py").write_text(f"class Model:\n    def fit(self):\n        return {answer}\n")
        sys.modules.pop("installed", None)
        module = written("from installed import Model\nclass Own(Model):\n    made = Model()\nf = Own()\n")
        found.add((fingerprint(module.f), fingerprint(module.Own.made)))
    assert len(found) == 1


def test_fingerprints_of_classes_that_were_typed_in() -> None:
    program = f"""
from skypane.queries.functions.fingerprint import fingerprint
for asked in {ASKED}:
    texts = [{CLASS!r}, *({CLASS!r}.replace(*change) for change in {CHANGES})]
    for text in texts:
        exec(text, names := {{"__name__": "__main__"}})
        print(fingerprint(eval(asked, names)))
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert len(set(said.split())) == len(ASKED) * (1 + len(CHANGES))


def test_fingerprints_of_closures_partials_objects_and_lambdas() -> None:
    def closure(by: object) -> Any:
        return lambda records: by

    assert fingerprint(closure(1)) == fingerprint(closure(1))
    pair, text = (1, 2), "long enough"
    assert fingerprint(closure([pair, pair])) == fingerprint(closure([pair, tuple([1, 2])]))  # noqa: C409 - another one
    names, same = (np.array([t], dtype=object) for t in (text, text[:4] + text[4:]))
    assert fingerprint(closure(names)) == fingerprint(closure(same))
    log = logging.getLogger("some")
    known = fingerprint(closure(log))
    log.isEnabledFor(logging.DEBUG)  # which it remembers
    assert fingerprint(closure(log)) == known
    pairs = [
        (closure(1), closure(2)),
        (closure(np.arange(2)), closure(np.arange(3))),
        (partial(with_default, by=1), partial(with_default, by=2)),
        (Scaled(1), Scaled(2)),
        (lambda records: 1, lambda records: 2),
        (eval("lambda r: 1"), eval("lambda r: r")),
        (closure([[1], [2]]), closure([[1, 2]])),
        (closure([1]), closure({1})),
        (closure(np.int64(1)), closure(np.int64(2))),
        (closure(Decimal(1)), closure(Decimal(2))),
        (closure(timedelta(1)), closure(timedelta(2))),
        (closure(Slotted(1)), closure(Slotted(2))),
        (closure(lru_cache(with_default)), closure(lru_cache(fails))),
    ]
    for one, other in pairs:
        assert fingerprint(one) != fingerprint(other)


def test_the_state_is_declared_where_init_does_not_show_it() -> None:
    with pytest.raises(OptionError, match=r"init: 'best' is None, which does not show its type"):
        Fold({"best": None}, lambda state, records: state)
    fold = Fold({"best": None}, lambda state, records: {"best": Decimal("1.50")}, state="best decimal(5, 2)")
    assert answer(fold, None) == [{"best": Decimal("1.50")}]
    with pytest.raises(OptionError, match="state= has the fields"):
        Fold({"best": None}, lambda state, records: state, state="worst int")
    for init in (0, [0], {}, {1: 0}):
        with pytest.raises(OptionError, match=r"init=.* must be a dict, or a function that returns one"):
            Fold(init, lambda state, records: state)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="combine='fast' is unknown"):
        Fold({"n": 0}, lambda s, r: s, lambda a, b: a, combine="fast")
    with pytest.raises(OptionError, match="merge=, which is missing"):
        Fold({"n": 0}, lambda s, r: s, combine="commutative")


@pytest.mark.parametrize(
    ("init", "returned", "said"),
    [
        (
            {"n": 0},
            {"n": 1.5},
            r"state field 'n' that is not long, its type by init or state= \(1.5 is no whole number\)",
        ),
        ({"n": np.zeros(2, dtype=int)}, {"n": np.array([1, 1.5])}, r"state field 'n' that is not .*\(1.5 is no whole"),
        ({"n": {"a": 0}}, {"n": {"a": 0, "b": 1}}, r"state field 'n' that is not .*\(it has no field 'b'\)"),
        ({"n": np.zeros((2, 2))}, {"n": [[1], [2, 3]]}, r"state field 'n' of shape None; in init it is \(2, 2\)"),
        (
            {"n": np.zeros(4)},
            {"n": np.ones((2, 2))},
            r"state field 'n' of shape \(2, 2\); in init it has one dimension",
        ),
        ({"n": 0}, {"n": 0, 5: 1}, r"a state with the fields \['n', 5\]; it has \['n'\]"),
    ],
)
def test_nothing_of_a_state_is_lost(init: Any, returned: Any, said: str) -> None:
    with pytest.raises(FunctionError, match=f"returned {said}"):
        answer(Fold(init, lambda state, records: returned), None)


def test_a_state_comes_back_as_it_was() -> None:
    def update(state: Any, records: pa.Table) -> Any:
        return {"by": {**state["by"], "a": 1}, "total": state["total"] + 2}

    def finish(state: Any) -> Any:
        return {"kind": type(state["by"]).__name__, "shape": str(state["total"].shape)}

    fold = Fold(
        {"by": {}, "total": np.array(0)},
        update,
        finish=finish,
        schema="kind string, shape string",
        state="by map<string, long>, total array<long>",
    )
    assert answer(fold, None) == [{"kind": "dict", "shape": "()"}]


def test_what_a_fold_cannot_begin_with() -> None:
    empty: list[Any] = [{}, [{}]]
    for nothing in empty:
        with pytest.raises(OptionError, match=r"init: 'n' is .*, which does not show its type"):
            Fold({"n": nothing}, lambda state, records: state)
    assert Fold({"n": {"nulls": 0}}, lambda state, records: state).returns.names == ["n"]
    for init in (lambda: None, lambda: 1 / 0):
        with pytest.raises(OptionError, match=r"init=.* must return a dict"):
            Fold(init, lambda state, records: state)  # type: ignore[arg-type]
    shared = {"n": [0]}

    def update(state: Any, records: pa.Table) -> Any:
        state["n"].append(1)
        return state

    for _ in range(2):
        assert answer(Fold(lambda: shared, update), None) == [{"n": [0, 1]}]


@pytest.mark.parametrize("wrong", [1.5, np.float64(1.5)])
def test_a_state_of_whole_numbers_is_never_cut(wrong: Any) -> None:
    fold = Fold({"total": 0}, lambda state, records: {"total": state["total"] + wrong})
    with pytest.raises(FunctionError, match=r"field 'total' that is not long, its type by init or state= \(1\.5"):
        answer(fold, None)
    fold = Fold({"total": 0}, lambda state, records: {"total": state["total"] + np.float64(3)})
    assert answer(fold, None) == [{"total": 3}]


class Largest:
    """A class with the parts of a fold."""

    state = "n long"
    combine = "commutative"

    def init(self) -> dict[str, Any]:
        return {"n": None}

    def update(self, state: dict[str, Any], records: dict[str, Any]) -> dict[str, Any]:
        return {"n": max([n for n in (state["n"], *records["n"].tolist()) if n is not None])}

    def merge(self, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {"n": max(left["n"], right["n"])}


def test_a_class_may_be_a_fold() -> None:
    assert answer(Fold.of(Largest), None) == [{"n": 2}]
    with pytest.raises(OptionError, match="is no fold: it has no init"):
        Fold.of(Scaled(1))
    with pytest.raises(
        OptionError, match=r"function=.*:Scaled: the class is called without arguments, .*TypeError: .*by"
    ):
        Fold.of(Scaled)
    none: tuple[Any, ...] = (0, None, [1])
    for init in none:
        with pytest.raises(OptionError, match="must be a dict, or a function that returns one: names and first values"):
            Fold(init, lambda state, records: state)


def test_keys_and_records_of_years_that_python_does_not_know() -> None:
    far = pa.array([2_932_897, 2_932_897], pa.int32()).cast(pa.date32())
    records = pa.table({"ts": RECORDS.column("ts"), "city": far})
    assert answer(lambda key, records: {"x": str(key[0])}, "x string", records=records) == [{"x": "10000-01-01"}]

    def of_pandas(records: pd.DataFrame) -> Any:
        return {"x": len(records)}

    with pytest.raises(FunctionError, match=r"of_pandas raised ValueError: year 10000 is out of range, for city=np"):
        answer(of_pandas, "x long", records=records)
