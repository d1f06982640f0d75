"""Law: how the law suites say which law is broken, with what, and what it should have been."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

Case = TypeVar("Case")


class LawBroken(AssertionError):
    """A law does not hold: its name, what it says, and what came instead."""


class _Difference(AssertionError):
    """What was got is not what was expected."""


def expect(got: object, expected: object) -> None:
    """The one way in which laws compare, so that a broken one can say what it saw."""
    if got != expected:
        raise _Difference(f"got:      {got!r}\n  expected: {expected!r}")


def uphold(laws: Iterable[Callable[..., None]], subject: object, *case: Any) -> None:
    """Run laws, functions of a subject and a case whose docstring is the law; say which one is broken."""
    for law in laws:
        try:
            law(subject, *case)
        except Exception as error:  # whatever goes wrong is the subject's, and is told with the law
            said = str(error) if isinstance(error, _Difference) else f"raised {type(error).__name__}: {error}"
            told = f"{subject!r} breaks the law {law.__name__}: {inspect.getdoc(law)}\n  {said}"
            raise LawBroken(told) from error


def for_all(
    laws: Iterable[Callable[..., None]], subject: object, cases: st.SearchStrategy[Case], max_examples: int
) -> None:
    """Run laws on generated cases; the smallest case that breaks one is shown with it."""
    laws = tuple(laws)

    # One failure at a time: two would come as a group of exceptions, which nobody can catch by its name.
    @settings(max_examples=max_examples, deadline=None, report_multiple_bugs=False)
    @given(case=cases)
    def check(case: Case) -> None:
        uphold(laws, subject, case)

    check()
