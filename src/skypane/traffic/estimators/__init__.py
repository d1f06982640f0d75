"""Measuring streams: index of dispersion, Hurst parameter, disorder, speed."""

from skypane.traffic.estimators.counts import Counts
from skypane.traffic.estimators.describe import Description, describe
from skypane.traffic.estimators.dispersion import Dispersion, index_of_dispersion
from skypane.traffic.estimators.hurst import Hurst, hurst_parameter

__all__ = [
    "Counts",
    "Description",
    "Dispersion",
    "Hurst",
    "describe",
    "hurst_parameter",
    "index_of_dispersion",
]
