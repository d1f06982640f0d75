"""Lazy names: public names whose modules are imported when they are first used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

_SPARK = {"pyspark", "pandas"}


def import_name(package: str, name: str, modules: Mapping[str, str]) -> Any:
    """A public name of a package from the module that has it; without Spark, how to install it."""
    if name not in modules:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    try:
        return getattr(import_module(modules[name]), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in _SPARK:
            raise ImportError(f"{package}.{name} needs Spark. Install it with: pip install 'skypane[spark]'") from error
        raise


def modules_by_name(names_by_module: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The module of each name."""
    return {name: module for module, names in names_by_module.items() for name in names}
