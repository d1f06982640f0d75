"""Shipping: queries and functions of the user's to workers, and whether they can travel at all."""

from __future__ import annotations

from types import ModuleType

from pyspark import cloudpickle

from skypane.flow.definition import Definition
from skypane.model.errors import OptionError


def ship_by_value(module: ModuleType) -> None:
    """Have Spark send the module's functions as code, as it does with those of a notebook; not installed packages."""
    if "site-packages" not in (getattr(module, "__file__", None) or "site-packages"):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def check_ships(definition: Definition) -> None:
    """Refuse, before anything starts, what Spark could not send: a lock, a connection, a session."""
    try:
        cloudpickle.dumps(definition)  # type: ignore[no-untyped-call]
    except Exception as error:
        why = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise OptionError(
            f"The query {definition.query.kind} cannot be sent to Spark's workers: {why[0]}. Create it inside "
            "the function, or leave it out."
        ) from error
