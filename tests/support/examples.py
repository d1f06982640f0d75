"""Which examples hypothesis tries: the same in every run, or, with ``--hypothesis-profile new-examples``, others.

A change that fails is then at fault itself; `make soak` looks for new examples. No example has a deadline, and slow
ones are no error: how long they take depends on how busy the machine is.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def use_same_examples() -> None:
    """Register both profiles and use the first."""
    settings.register_profile(
        "same-examples", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.register_profile("new-examples", print_blob=True, deadline=None)
    settings.load_profile("same-examples")
