"""Catalogue: every option of a stream, with its allowed range, default and help."""

from __future__ import annotations

from skypane.traffic.options import Option, choice, choices, duration_us, flag, instant_us, number, rate_steps
from skypane.traffic.points import DISTRIBUTIONS

_DURATIONS = "a duration such as '200 ms' or '5 s' (a bare number is seconds)"

OPTIONS: tuple[Option, ...] = (
    Option(
        "rate",
        "10000",
        "a number above 0, at most 1e9",
        "Records per second, of all partitions together.",
        number(0, 1e9, open_low=True),
    ),
    Option(
        "arrivals",
        "poisson",
        "poisson, map, selfsimilar, walk, steps or trace",
        "How records follow each other.",
        choice("poisson", "map", "selfsimilar", "walk", "steps", "trace"),
    ),
    Option(
        "dispersion",
        "1000",
        "a number from 1 to 10000",
        "map: index of dispersion; 1 has no bursts.",
        number(1, 10_000),
    ),
    Option(
        "burst_share",
        "0.2",
        "a number from 0.01 to 0.9",
        "map: share of the time spent in bursts.",
        number(0.01, 0.9),
    ),
    Option(
        "burst_factor",
        "3",
        "a number above 1 and below 1 / burst_share",
        "map: rate in a burst over mean rate.",
        number(1, 100, open_low=True),
    ),
    Option("hurst", "0.8", "a number from 0.55 to 0.95", "selfsimilar: Hurst parameter.", number(0.55, 0.95)),
    Option(
        "sessions",
        "4",
        "a number from 0.1 to 1000",
        "selfsimilar: open sessions; fewer make stronger bursts.",
        number(0.1, 1000),
    ),
    Option(
        "walk_sigma",
        "0.4",
        "a number from 0 to 5",
        "walk: the rate is multiplied by exp(N(0, sigma)).",
        number(0, 5),
    ),
    Option(
        "walk_every",
        "5 s",
        _DURATIONS + " from 1 ms to 1 h",
        "walk: time between two changes of the rate.",
        duration_us("1 ms", "1 h"),
    ),
    Option(
        "walk_span",
        "4.33",
        "a number from 1 to 1000",
        "walk: the rate stays within rate / span and rate * span.",
        number(1, 1000),
    ),
    Option(
        "steps",
        "",
        "'second:rate' pairs like '0:40000, 60:10000': from 0, ascending, rates 0 to 1e9",
        "steps: when which rate starts; the last one stays.",
        rate_steps,
    ),
    Option(
        "trace", "", "the name of a file", "trace: text file of 'second count' lines; it repeats.", str.strip
    ),
    Option(
        "speedup",
        "1",
        "a number from 0.001 to 1000",
        "trace: how much faster than recorded.",
        number(0.001, 1000),
    ),
    Option(
        "points",
        "independent",
        "independent, correlated or anticorrelated, or several with commas between",
        "Distribution of the attributes; several take turns.",
        choices(*DISTRIBUTIONS),
    ),
    Option(
        "points_every",
        "10 s",
        _DURATIONS + " from 1 ms to 24 h",
        "How long each of several distributions lasts.",
        duration_us("1 ms", "24 h"),
    ),
    Option(
        "attributes",
        "6",
        "a whole number from 0 to 64",
        "Number of attributes: columns a0, a1, ...",
        number(0, 64, whole=True),
    ),
    Option(
        "disorder",
        "uniform",
        "none, uniform, exponential, pareto or stalls",
        "Distribution of the delay between event and arrival.",
        choice("none", "uniform", "exponential", "pareto", "stalls"),
    ),
    Option(
        "mean_delay", "200 ms", _DURATIONS + " from 1 us to 1 h", "Mean delay.", duration_us("1 us", "1 h")
    ),
    Option(
        "max_delay",
        "0",
        _DURATIONS + " of at least mean_delay, at most 24 h, or 0",
        "Longest delay; 0: 20 times the mean (exponential) or 100 times (pareto, stalls).",
        duration_us("1 us", "24 h", zero=True),
    ),
    Option(
        "tail",
        "2.2",
        "a number from 1.1 to 10",
        "pareto: tail exponent; the smaller, the heavier.",
        number(1.1, 10),
    ),
    Option(
        "stalled_share",
        "0.1",
        "a number from 0.001 to 0.9",
        "stalls: share of the time with the way blocked.",
        number(0.001, 0.9),
    ),
    Option(
        "keys",
        "0",
        "a whole number from 0 to 10000000",
        "Number of keys; 0 leaves the key column out.",
        number(0, 10_000_000, whole=True),
    ),
    Option(
        "key_skew",
        "0",
        "a number from 0 to 3",
        "Zipf exponent of the keys; 0: all are equally frequent.",
        number(0, 3),
    ),
    Option(
        "seed",
        "0",
        "a whole number from 0 to 2^63 - 1",
        "The same seed gives the same stream, byte for byte.",
        number(0, 2**63 - 1, whole=True),
    ),
    Option(
        "duration",
        "0",
        _DURATIONS + " up to 100000 h, or 0",
        "Ends after this much event time; 0: no end.",
        duration_us("1 us", "100000 h", zero=True),
    ),
    Option(
        "records",
        "0",
        "a whole number from 0 to 10^15",
        "Ends after so many records; 0: no end.",
        number(0, 10**15, whole=True),
    ),
    Option(
        "partitions",
        "1",
        "a whole number from 1 to 256",
        "Independent parts that are read in parallel.",
        number(1, 256, whole=True),
    ),
    Option(
        "start",
        "now",
        "an ISO 8601 instant such as 2026-01-01T00:00:00Z, or now",
        "Event time zero; now: when the query first starts if paced, else 2026-01-01.",
        instant_us,
    ),
    Option(
        "paced", "false", "true or false", "true: a record can be read when its arrival time has come.", flag
    ),
    Option(
        "max_records_per_batch",
        "100000",
        "a whole number from 1 to 10^12",
        "Spark: most records of one micro-batch.",
        number(1, 10**12, whole=True),
    ),
)
