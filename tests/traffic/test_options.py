"""Bad options are refused with the name of the option and what it may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from skypane.model.errors import OptionError
from skypane.traffic import OPTIONS, TrafficSpec
from skypane.traffic.options import seconds_or_duration_us
from skypane.traffic.reading import times
from tests.support.traffic import stream


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": 0}, "option rate='0': must be a number from 0.001 to 1e9"),
        ({"rate": "fast"}, "option rate='fast': must be a number from 0.001 to 1e9"),
        ({"rate": "nan"}, "option rate"),
        ({"arrivals": "bursty"}, "poisson, map, selfsimilar, walk, steps or trace"),
        ({"dispersion": 20_000}, "from 1 to 10000"),
        ({"hurst": 0.5}, "from 0.55 to 0.95"),
        ({"attributes": 2.5}, "a whole number from 0 to 64"),
        ({"points": "independent,wild"}, "anticorrelated"),
        ({"mean_delay": "5 parsecs"}, "a duration such as '200 ms'"),
        ({"mean_delay": "inf"}, "option mean_delay='inf': must be a duration"),
        ({"mean_delay": "-1 s"}, "from 1 us to 1 h"),
        ({"mean_delay": "0.1 us"}, "from 1 us to 1 h"),
        ({"duration": "-5"}, "up to 100000 h"),
        (
            {"disorder": "pareto", "mean_delay": "1 s", "max_delay": "1 s"},
            "option max_delay='1 s': must be at least twice",
        ),
        ({"partitions": 0}, "from 1 to 256"),
        ({"paced": "maybe"}, "true or false"),
        ({"start": "yesterday"}, "ISO 8601"),
        ({"arrivals": "map", "burst_factor": 6}, "below 1 / burst_share = 5"),
        ({"arrivals": "steps"}, "option steps"),
        ({"arrivals": "steps", "steps": "5:100"}, "ascending"),
        ({"arrivals": "steps", "steps": "0:100, 9:0"}, "needs a duration"),
        ({"arrivals": "trace"}, "option trace"),
        ({"arrivals": "trace", "trace": "nowhere.txt"}, "cannot read 'nowhere.txt'"),
        ({"ratte": 5}, "did you mean 'rate'?"),
    ],
)
def test_a_bad_option_is_named_with_what_it_may_be(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=r"option") as caught:
        TrafficSpec.from_options(options)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [("0 x\n", "two numbers"), ("0 5\n3 5\n4 5\n", "equal steps"), ("0 0\n", "one above 0"), ("", "one above 0")],
)
def test_a_bad_trace_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text)
    with pytest.raises(OptionError, match=says):
        TrafficSpec.from_options(arrivals="trace", trace=path)


def test_an_endless_stream_is_not_read_to_its_end() -> None:
    with pytest.raises(OptionError, match="duration and records"):
        times(stream(rate=10))


def test_every_default_is_allowed_and_every_option_has_help() -> None:
    spec = TrafficSpec.from_options()
    assert spec.as_dict().keys() == {option.name for option in OPTIONS}
    for option in OPTIONS:
        assert option.help.endswith(".")
        assert option.value(option.default) == getattr(spec, option.name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200 ms", 200_000),
        ("1.5", 1_500_000),
        ("5 minutes", 300_000_000),
        ("7us", 7),
        ("2 hours", 7_200_000_000),
        ("1 min 30 s", 90_000_000),
        ("1e-3", 1_000),
        ("1.001 ms", 1_001),
    ],
)
def test_durations(text: str, expected: int) -> None:
    assert seconds_or_duration_us(text) == expected


def test_the_fingerprint_names_the_content_and_not_the_reading() -> None:
    base = TrafficSpec.from_options(seed=1)
    assert TrafficSpec.from_options(seed=1, paced=True, records=5).fingerprint == base.fingerprint
    assert TrafficSpec.from_options(seed=2).fingerprint != base.fingerprint
    # These have their rate up to their end, wherever that is.
    walks = [TrafficSpec.from_options(arrivals="walk", records=records).fingerprint for records in (5, 5, 6)]
    assert walks[0] == walks[1] != walks[2]


def test_a_seed_keeps_all_its_digits() -> None:
    assert TrafficSpec.from_options(seed=2**63 - 1).seed == 2**63 - 1
