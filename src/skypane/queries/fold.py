"""Fold: an incremental function over windows - what to begin with, how records change it, how two of them merge."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from skypane.model.ddl import SchemaLike, as_schema
from skypane.model.errors import OptionError
from skypane.queries.functions.calls import Call, name_of
from skypane.queries.functions.fingerprint import fingerprint
from skypane.queries.functions.returned import check_promised
from skypane.queries.functions.state import NO_STATE, State, StateType

PROMISES: Final = ("commutative", "idempotent", "invertible")
_PARTS: Final = ("init", "update", "merge", "finish", "schema", "state", "combine", "inverse")


@dataclass(frozen=True, eq=False)
class Fold:
    """An incremental function over windows.

    init: the state before any record: a dict of plain values, lists and NumPy arrays, or a function that returns one.
    update: ``update(state, records)`` returns the state with a batch of records in it, in the order of (time, record
        id). Its records come as the annotation of ``records`` says, see :meth:`~skypane.api.stream.Windowed.apply`.
    merge: ``merge(left, right)`` returns the state of two stretches of time, ``left`` the older: equal to an ``update``
        with the records of both. With it a pane is folded once for all its windows; without, each window folds its own
        records.
    finish: ``finish(state)``, ``finish(key, state)`` or ``finish(key, window, state)`` returns the answer's rows; by
        default the state is the row.
    schema: the columns that ``finish`` returns; by default those of the state.
    state: the types of the state, where ``init`` does not show them.
    combine: what else is true: ``"commutative"`` if the order of records, and so of ``merge``, does not matter: records
        are then folded as they come; ``"idempotent"``; ``"invertible"`` with ``inverse(total, left)``, which returns
        the rest. ``skypane.testing.check_fold`` checks it all on samples.
    """

    init: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    update: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any] | None = None
    finish: Callable[..., Any] | None = None
    schema: SchemaLike | None = None
    state: SchemaLike | None = None
    combine: str | Iterable[str] = ()
    inverse: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        promised = (self.combine,) if isinstance(self.combine, str) else tuple(self.combine)
        object.__setattr__(self, "combine", promised)
        for promise in promised:
            if promise not in PROMISES:
                raise OptionError(f"combine={promise!r} is unknown; promises are: {', '.join(PROMISES)}.")
        if promised and self.merge is None:
            raise OptionError(
                f"combine={list(promised)} describes merge=, which is missing. Give merge=, or leave combine= out."
            )
        if ("invertible" in promised) != (self.inverse is not None):
            raise OptionError("combine='invertible' and inverse= go together: inverse(total, left) returns the rest.")
        if self.finish is not None and self.schema is None:
            raise OptionError("fold(finish=...) needs schema=, the columns that finish returns.")
        if self.finish is None and self.schema is not None:
            raise OptionError("fold(schema=...) is for what finish= returns; without it the state is the answer.")
        _ = self.calls
        check_promised(self.returns, "schema" if self.schema is not None else "init")

    @classmethod
    def of(cls, thing: object, what: str = "function", named: str | None = None) -> Fold:
        """A fold as it is, or a class (or an object) that has its parts: init, update, ... as methods or values.

        what, named: the option that errors name, and how it was given there.
        """
        if isinstance(thing, cls):
            return thing
        owner = _made(thing, what) if isinstance(thing, type) else thing
        parts = {name: getattr(owner, name) for name in _PARTS if hasattr(owner, name)}
        for name in ("init", "update"):
            if name not in parts:
                raise OptionError(
                    f"{what}={named or thing!r} is no fold: it has no {name}. Give an sp.Fold, or such a class."
                )
        return cls(**parts)

    @cached_property
    def calls(self) -> Mapping[str, Call]:
        """The functions, by what they do."""
        found = {"update": Call.of(self.update, "update", min_arguments=2, max_arguments=2)}
        for name, function in (("merge", self.merge), ("inverse", self.inverse)):
            if function is not None:
                found[name] = Call.of(function, name, min_arguments=2, max_arguments=2, takes_records=False)
        if self.finish is not None:
            found["finish"] = Call.of(self.finish, "finish", takes_records=False)
        return found

    @cached_property
    def state_type(self) -> StateType:
        """The types of the state."""
        return StateType.of(self.first(), None if self.state is None else as_schema(self.state, "state"))

    @cached_property
    def returns(self) -> pa.Schema:
        """The columns of the answer."""
        return self.state_type.schema if self.schema is None else as_schema(self.schema, "schema")

    @property
    def commutative(self) -> bool:
        """Whether records may be folded in any order."""
        return "commutative" in self.combine

    def first(self) -> State:
        """A state of its own to begin with."""
        if isinstance(self.init, Mapping):
            return copy.deepcopy(dict(self.init))
        if not callable(self.init):
            raise OptionError(NO_STATE.format(self.init))
        try:
            return copy.deepcopy(dict(self.init()))
        except Exception as error:
            raise OptionError(
                f"init={name_of(self.init)} must return a dict; {type(error).__name__}: {error}."
            ) from error

    def code(self) -> dict[str, str]:
        """The fingerprints of the functions."""
        named = {name: call.function for name, call in self.calls.items()}
        return {name: fingerprint(function) for name, function in ({"init": self.init} | named).items()}


def _made(kind: type, what: str) -> object:
    """An object of a class with the parts of a fold."""
    try:
        return kind()
    except Exception as error:
        raise OptionError(
            f"{what}={name_of(kind)}: the class is called without arguments, and that failed with "
            f"{type(error).__name__}: {error}. Give an object of it instead."
        ) from error
