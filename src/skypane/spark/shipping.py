"""Shipping: functions of a module as they are, to workers that cannot import it."""

from __future__ import annotations

from types import ModuleType

from pyspark import cloudpickle


def ship_by_value(module: ModuleType) -> None:
    """Have Spark send the module's functions as code, as it does with those of a notebook; not installed packages."""
    if "site-packages" not in (getattr(module, "__file__", None) or "site-packages"):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
