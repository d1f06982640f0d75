"""By name: lateness policies, pane strategies and emissions, given as a name or as an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.model.errors import OptionError
from skypane.model.suggestions import did_you_mean
from skypane.tuning.elastic.elastic import Elastic
from skypane.tuning.splitting.pane_strategies import StrategyFactory, check_splitting

POLICIES: Mapping[str, Callable[..., Lateness]] = {
    "kslack": KSlack,
    "fixed_delay": FixedDelay,
    "drop_ratio": DropRatio,
    "harm": Harm,
}


def as_policy(policy: object, **settings: object) -> Lateness:
    """A lateness policy: an object as it is, a duration to wait, or a name with the settings of that policy."""
    if isinstance(policy, Lateness):
        return policy
    if isinstance(policy, timedelta) or (isinstance(policy, str) and _is_number_first(policy)):
        return FixedDelay(policy)
    if not isinstance(policy, str):
        made = f"sp.{policy.__name__}(...)" if policy in POLICIES.values() else "sp.KSlack()"  # type: ignore[attr-defined]
        raise OptionError(
            f"lateness({policy!r}): give a policy such as {made}, or how long to wait, such as '10 seconds'."
        )
    if policy not in POLICIES:
        raise OptionError(
            f"Lateness policy {policy!r} is unknown.{did_you_mean(policy, POLICIES)} It is one of: "
            f"{', '.join(POLICIES)}; or a duration to wait, such as '10 seconds'."
        )
    try:
        return POLICIES[policy](**settings)
    except TypeError as error:
        raise OptionError(f"Lateness policy {policy!r} with {_settings(settings)}: {_why(error)}.") from error


def as_splitting(splitting: str | StrategyFactory, pane_degree: int | None) -> str | StrategyFactory | None:
    """The strategy that routes records to pane tasks, or its name; ``None``: each task lifts what it reads."""
    check_splitting(splitting, pane_degree)
    return None if splitting == "combine" else splitting


def as_elastic(elastic: Elastic | bool, **settings: object) -> Elastic | None:
    """Elastic degrees: an object as it is, or yes, perhaps with settings, or no."""
    if isinstance(elastic, Elastic):
        return elastic
    if not isinstance(elastic, bool):
        raise OptionError(f"elastic={elastic!r} must be True, False or sp.Elastic(...), e.g. sp.Elastic(max_degree=8).")
    if settings and not elastic:
        raise OptionError(f"{', '.join(sorted(settings))}: needs elastic = true (--elastic), which is not set.")
    return Elastic(**settings) if elastic else None  # type: ignore[arg-type]  # checked by their declarations


def _is_number_first(text: str) -> bool:
    """Whether it is meant as a duration: no name begins with a number."""
    return text.strip().lower().removeprefix("interval").strip()[:1].isdigit()


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items()) or "no settings"


def _why(error: TypeError) -> str:
    """Python's own words about the arguments, without the name of the constructor."""
    return (
        str(error).split("() ", 1)[-1].replace("positional argument", "setting").replace("keyword argument", "setting")
    )
