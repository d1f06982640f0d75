"""Law: how the law suites say which law is broken, with what, and what it should have been."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

Case = TypeVar("Case")
_PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)
"""What could be varied in a case that is the smallest already is not worth the time."""


class LawBroken(AssertionError):  # noqa: N818 - it is what it says
    """A law does not hold: its name, what it says, and what came instead."""


class _DifferenceError(AssertionError):
    """What was got is not what was expected."""


def expect(got: object, expected: object) -> None:
    """The one way in which laws compare, so that a broken one can say what it saw."""
    if got != expected:
        raise _DifferenceError(f"got:      {got!r}\n  expected: {expected!r}")


def uphold(laws: Iterable[Callable[..., None]], subject: object, *case: Any) -> None:
    """Run laws, functions of a subject and a case whose docstring is the law; say which one is broken."""
    for law in laws:
        _uphold(law, subject, case)


def _uphold(law: Callable[..., None], subject: object, case: tuple[Any, ...]) -> None:
    try:
        law(subject, *case)
    except Exception as error:  # any error is the subject's, and is reported with the law
        said = str(error) if isinstance(error, _DifferenceError) else f"raised {type(error).__name__}: {error}"
        told = f"{subject!r} breaks the law {law.__name__}: {inspect.getdoc(law)}\n  {said}"
        raise LawBroken(told) from error


def for_all(
    laws: Iterable[Callable[..., None]], subject: object, cases: st.SearchStrategy[Case], max_examples: int
) -> None:
    """Run laws on generated cases; the smallest case that breaks one is shown with it."""
    laws = tuple(laws)

    # One failure at a time: two would come as a group of exceptions, which nobody can catch by its name. How fast the
    # machine is, is no law.
    @settings(
        max_examples=max_examples,
        deadline=None,
        report_multiple_bugs=False,
        phases=_PHASES,
        suppress_health_check=(HealthCheck.too_slow,),
    )
    @given(case=cases)
    def check(case: Case) -> None:
        # A subject of its own for each case: what one that is not pure remembers shows in this case, or in none.
        uphold(laws, copy.deepcopy(subject), case)

    try:
        check()
    except Flaky as error:
        raise LawBroken(f"{subject!r} does not do the same with the same case again: {error}") from error
