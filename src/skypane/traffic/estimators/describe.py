"""Description: the figures by which the papers characterise a stream, speed, disorder and burstiness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skypane.model.errors import DataError
from skypane.model.groups import Int64Array
from skypane.traffic.arrivals.base import US_PER_S
from skypane.traffic.estimators.counts import Counts
from skypane.traffic.estimators.dispersion import Dispersion, index_of_dispersion
from skypane.traffic.estimators.hurst import Hurst, hurst_parameter

_RECORDS_PER_INTERVAL = 20.0


@dataclass(frozen=True)
class Description:
    """What a stream is like."""

    records: int
    duration_s: float
    rate_per_s: float
    late_records: int  # arrived after a younger one
    late_share: float
    mean_delay_s: float  # arrival minus event time
    max_delay_s: float
    slack_needed_s: float  # how far the oldest arrival was behind the youngest before it
    peak_to_mean: float  # fullest second over the mean (tenths in short streams, longer in slow ones)
    dispersion: Dispersion  # of the arrivals
    event_dispersion: Dispersion  # of the event times: delays smooth arrivals over short, not over long intervals
    hurst: Hurst  # of the event times

    def rows(self) -> list[tuple[str, str]]:
        """Label and value, in the order of the paper's Table 2."""
        return [
            ("records", f"{self.records:,}"),
            ("duration", _time(self.duration_s)),
            ("arrival rate", f"{self.rate_per_s:,.{0 if self.rate_per_s >= 10 else 4}f} records/s"),
            ("peak to mean", f"{self.peak_to_mean:.2f}" if self.peak_to_mean else "unknown (too short)"),
            ("late arrivals", f"{self.late_records:,} ({100 * self.late_share:.1f} %)"),
            ("mean delay", _time(self.mean_delay_s)),
            ("max delay", _time(self.max_delay_s)),
            ("slack needed", _time(self.slack_needed_s)),
            ("index of dispersion", str(self.dispersion)),
            ("burstiness", self.dispersion.level),
            ("... of event times", str(self.event_dispersion)),
            ("Hurst parameter", str(self.hurst)),
        ]


def describe(ts_us: Int64Array, arrival_us: Int64Array | None = None) -> Description:
    """From event and arrival times in order of arrival.

    Without arrival times the order of the records is all that is known: each is then taken to arrive when the
    youngest record so far happened.
    """
    if len(ts_us) < 2:
        raise DataError(f"a description needs at least 2 records, not {len(ts_us)}")
    youngest_us = np.maximum.accumulate(ts_us)
    arrived_us = youngest_us if arrival_us is None else arrival_us
    duration_s = max(1, int(arrived_us[-1] - arrived_us[0])) / US_PER_S
    delays_us = arrived_us - ts_us
    behind_us = youngest_us - ts_us
    rate_per_s = (len(ts_us) - 1) / duration_s
    interval_us = max(100, int(_RECORDS_PER_INTERVAL / rate_per_s * US_PER_S))
    events = Counts.of_times(ts_us, interval_us)
    second_us = US_PER_S if duration_s > 10 else US_PER_S // 10
    coarse = Counts.of_times(arrived_us, max(second_us, 5 * interval_us))
    late = int(np.count_nonzero(behind_us))
    return Description(
        records=len(ts_us),
        duration_s=duration_s,
        rate_per_s=rate_per_s,
        late_records=late,
        late_share=late / len(ts_us),
        mean_delay_s=float(delays_us.mean()) / US_PER_S,
        max_delay_s=float(delays_us.max()) / US_PER_S,
        slack_needed_s=float(behind_us.max()) / US_PER_S,
        peak_to_mean=coarse.peak_to_mean,
        dispersion=index_of_dispersion(Counts.of_times(arrived_us, interval_us)),
        event_dispersion=index_of_dispersion(events),
        hurst=hurst_parameter(events),
    )


def _time(seconds: float) -> str:
    """In the unit that people would choose."""
    for unit, name in ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s")):
        if abs(seconds) >= 3 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.2f} s" if abs(seconds) >= 1 else f"{1000 * seconds:.1f} ms"
