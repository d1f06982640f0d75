"""Law suites for extensions: the promises that every query, policy, strategy and sink must keep."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skypane.testing.fold_laws import check_fold
    from skypane.testing.law import LawBroken
    from skypane.testing.pane_strategy_laws import check_pane_strategy
    from skypane.testing.pattern_laws import check_pattern
    from skypane.testing.policy_laws import check_policy
    from skypane.testing.query_laws import check_query
    from skypane.testing.sink_laws import check_sink

# Imported when first used: each suite needs only what its own kind of extension needs.
_FOUND_IN = {
    "LawBroken": "law",
    "check_fold": "fold_laws",
    "check_pane_strategy": "pane_strategy_laws",
    "check_pattern": "pattern_laws",
    "check_policy": "policy_laws",
    "check_query": "query_laws",
    "check_sink": "sink_laws",
}

__all__ = [
    "LawBroken",
    "check_fold",
    "check_pane_strategy",
    "check_pattern",
    "check_policy",
    "check_query",
    "check_sink",
]


def __getattr__(name: str) -> Any:
    if name not in _FOUND_IN:
        raise AttributeError(f"module 'skypane.testing' has no attribute {name!r}")
    return getattr(import_module(f"skypane.testing.{_FOUND_IN[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
