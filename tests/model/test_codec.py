"""The codec: what is stored is read back exactly, or refused by name, or forgotten with a line in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import pytest

from skypane.model.codec import lenient, plain, strict, typed
from skypane.model.errors import DataError

S = TypeVar("S")


class Span(NamedTuple):
    first: int
    end: int


@dataclass(frozen=True)
class Part:
    file: str
    span: Span | None = None
    rows: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows(Generic[S]):
    open: tuple[S, ...] = ()
    sealed: tuple[S, ...] = ()


@dataclass(frozen=True)
class State:
    rows: Rows[Part]
    questions: Mapping[str, Rows[Part]]
    known: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)


STATE = State(
    Rows((Part("a", Span(1, 3), {7: 2}), Part("b"))), {"": Rows(sealed=(Part("c"),))}, 3, {"any": [{"thing": 1}]}
)


def change(body: Any, path: list[Any], value: Any) -> None:
    for key in path[:-1]:
        body = body[key]
    body[path[-1]] = value


def test_strict_reads_what_plain_wrote() -> None:
    assert strict(plain(STATE), State) == STATE


@pytest.mark.parametrize("name", ["known", "rows.sealed", "questions..open"])
def test_strict_refuses_a_missing_key_at_any_depth(name: str) -> None:
    """Also where the type has a default: what is missing must not be read as empty."""
    body: Any = plain(STATE)
    *path, last = name.split(".")
    part = body
    for key in path:
        part = part[key]
    del part[last]
    assert typed(body, State)
    with pytest.raises(DataError, match=f"missing required field `[$].{name}`"):
        strict(body, State)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (["more"], r"\$\.more"),
        (["rows", "panes"], r"\$\.rows\.panes"),
        (["rows", "open", 1, "size"], r"\$\.rows\.open\[1\]\.size"),
        (["questions", "", "closed"], r"\$\.questions\.\.closed"),
        (["questions", "", "sealed", 0, "level"], r"\$\.questions\.\.sealed\[0\]\.level"),
    ],
)
def test_strict_refuses_an_unknown_key_at_any_depth(path: list[Any], shown: str) -> None:
    body = plain(STATE)
    change(body, path, [])
    assert typed(body, State) == STATE
    with pytest.raises(DataError, match=f"not a State: .*`{shown}`"):
        strict(body, State)


@pytest.mark.parametrize(
    ("remove", "shown"),
    [
        (lambda body: body.pop("rows"), "`rows`"),
        (lambda body: body["rows"]["open"][1].pop("file"), r"`file` - at `\$\.rows\.open\[1\]`"),
        (lambda body: body["questions"][""]["sealed"][0].pop("file"), "`file` - at"),
    ],
)
def test_strict_refuses_a_missing_field_without_default(remove: Callable[[Any], object], shown: str) -> None:
    body = plain(STATE)
    remove(body)
    with pytest.raises(DataError, match=f"not a State: .*{shown}"):
        strict(body, State)


@dataclass(frozen=True)
class Estimate:
    mean: float

    def __post_init__(self) -> None:
        if self.mean < 0:
            raise ArithmeticError("no such mean")


@dataclass(frozen=True)
class Memory:
    costs: Estimate | None = None
    rates: tuple[Estimate, ...] = ()
    steps: int = 0


@pytest.mark.parametrize(
    ("body", "left", "forgotten"),
    [
        (plain(Memory(Estimate(1.0), (Estimate(2.0),), 3)), Memory(Estimate(1.0), (Estimate(2.0),), 3), []),
        ({"costs": None, "steps": 3}, Memory(steps=3), []),
        ({"costs": {"median": 1.0}, "steps": 3}, Memory(steps=3), ["Memory.costs"]),
        ({"costs": {"mean": 1.0, "median": 1.0}, "steps": 3}, Memory(steps=3), ["Memory.costs"]),
        ({"costs": {"mean": -1.0}, "steps": "x", "rates": [{"mean": 1}]}, Memory(rates=(Estimate(1.0),)), None),
        ({"speed": 1, "steps": 3}, Memory(steps=3), ["Memory.speed"]),
        ([1, 2], None, ["Memory"]),
    ],
)
def test_lenient_forgets_what_it_cannot_read(
    body: Any, left: Memory | None, forgotten: list[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "skypane"):
        assert lenient(body, Memory) == left
    expected = ["Memory.costs", "Memory.steps"] if forgotten is None else forgotten
    assert [str(record.args[0]) for record in caplog.records if isinstance(record.args, tuple)] == expected


def test_lenient_forgets_a_whole_that_lacks_something(caplog: pytest.LogCaptureFixture) -> None:
    assert lenient({}, Estimate) is None
    assert lenient("x", int) is None
    assert lenient(3, int) == 3
    assert [str(record.args[0]) for record in caplog.records if isinstance(record.args, tuple)] == ["Estimate", "int"]
