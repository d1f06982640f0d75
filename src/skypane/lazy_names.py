"""Lazy names: public names whose modules are imported when they are first used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from skypane.model.errors import DependencyError
from skypane.model.suggestions import did_you_mean

_SPARK = {"pyspark", "py4j", "pandas"}


def import_name(package: str, name: str, modules: Mapping[str, str], known: Iterable[str] = ()) -> Any:
    """A public name of a package from the module that has it; without Spark, how to install it."""
    if name not in modules:
        question = "" if name.startswith("_") else did_you_mean(name, {*modules, *known})
        raise AttributeError(f"module {package!r} has no attribute {name!r}.{question}")
    try:
        return getattr(import_module(modules[name]), name)
    except ModuleNotFoundError as error:
        if (missing := spark_missing(error, f"{package}.{name}")) is not None:
            raise missing from error
        raise


def spark_missing(error: BaseException | None, what: str) -> DependencyError | None:
    """The error that says how to install Spark, if it is Spark that ``what`` lacks."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or error.name.split(".")[0] not in _SPARK:
        return None
    return DependencyError(f"{what} needs Spark. Install it with: pip install 'skypane[spark]'")


def modules_by_name(names_by_module: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The module of each name."""
    return {name: module for module, names in names_by_module.items() for name in names}
