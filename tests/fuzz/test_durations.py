"""Durations: whatever is written is understood exactly or refused by the option's name."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from skypane.model.durations import format_duration_us, parse_duration_us
from skypane.model.errors import OptionError

UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "seconds": 10**6, "min": 6 * 10**7, "hours": 36 * 10**8, "days": 864 * 10**8}
numbers = st.decimals(0, 10**6, places=3, allow_nan=False, allow_infinity=False)
parts = st.lists(st.tuples(numbers, st.sampled_from(sorted(UNITS))), min_size=1, max_size=3)
pieces = st.sampled_from(
    ["1", "2.5", ".", "-", "e", "٣", "²", " ", ",", "s", "ms", "days", "month", "interval", "∞", "\0"]
)
texts = st.one_of(st.text(max_size=20), st.lists(pieces, max_size=8).map("".join))


@given(st.one_of(texts, st.none(), st.integers(), st.floats(), st.binary(max_size=3), st.timedeltas()))
@example("1" * 5_000 + " s")
@example("1e400 s")
@example("9" * 400 + ".9 days")
def test_anything_is_a_duration_or_refused_by_name(value: object) -> None:
    try:
        micros = parse_duration_us(value, "slide", zero_ok=True)  # type: ignore[arg-type]  # users give anything
    except OptionError as error:
        refusal = str(error)
    else:
        assert 0 <= micros < 2**63
        assert isinstance(value, str | timedelta)
        return
    assert "slide" in refusal


@given(parts, st.sampled_from(["", " "]), st.sampled_from([" ", ", ", ""]))
def test_what_can_be_written_is_understood_exactly(written: list[tuple[object, str]], gap: str, between: str) -> None:
    text = between.join(f"{number}{gap}{unit}" for number, unit in written)
    exact = sum(Fraction(str(number)) * UNITS[unit] for number, unit in written)
    try:
        assert parse_duration_us(text, "slide", zero_ok=True) == exact
    except OptionError:
        assert exact != int(exact) or exact >= 2**63


@given(st.integers(1, 2**63 - 1))
def test_what_is_shown_can_be_read_back(micros: int) -> None:
    assert parse_duration_us(format_duration_us(micros), "slide") == micros
