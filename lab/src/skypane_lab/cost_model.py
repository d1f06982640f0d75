"""CostModel: how long virtual workers take, and how many rows partials have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

import numpy as np

from skypane.model.errors import OptionError


@dataclass(frozen=True)
class Curve:
    """``exp(a + b log x + c (log x)^2)``: a power law whose exponent may change slowly with x."""

    a: float
    b: float
    c: float = 0.0

    def at(self, x: float) -> float:
        """The value; 0 at 0."""
        if x <= 0.0:
            return 0.0
        log = math.log(x)
        return math.exp(self.a + log * (self.b + log * self.c))

    @classmethod
    def fit(cls, xs: Sequence[float], ys: Sequence[float], degree: int = 2) -> Curve:
        """The least squares fit on logarithmic scales."""
        found = np.polyfit(np.log(xs), np.log(ys), degree)[::-1]
        return cls(*(float(value) for value in found))


@dataclass(frozen=True)
class DistributionCost:
    """Of records of one spatial distribution."""

    rows: Curve
    """Rows of the partial of so many records."""
    insert_us: Curve
    """Time to bring so many records into one empty shard."""


@dataclass(frozen=True)
class CostModel:
    """One machine and one query."""

    name: str
    attributes: int
    distributions: Mapping[str, DistributionCost]
    merge_us: Curve
    """Time to bring a partial into a result, by the pairs of rows to compare."""
    task_us: float
    """What every task costs in any case."""

    def rows(self, distribution: str, records: float) -> float:
        """Rows of the partial of so many records."""
        return min(records, self._of(distribution).rows.at(records))

    def insert_us(self, distribution: str, before: int, added: int) -> float:
        """Time to bring ``added`` more records into a shard that has ``before``."""
        curve = self._of(distribution).insert_us
        return curve.at(before + added) - curve.at(before)

    def combine_us(self, into_rows: float, rows: float, result_rows: float) -> float:
        """Time to bring ``rows`` one by one into a result that grows to ``result_rows``."""
        return self.task_us + self.merge_us.at(rows * (into_rows + result_rows) / 2.0)

    def scaled(self, factor: float) -> CostModel:
        """The same with all times multiplied: another query, a faster machine."""
        shift = math.log(factor)
        faster = {
            name: DistributionCost(cost.rows, Curve(cost.insert_us.a + shift, cost.insert_us.b, cost.insert_us.c))
            for name, cost in self.distributions.items()
        }
        merge = Curve(self.merge_us.a + shift, self.merge_us.b, self.merge_us.c)
        return CostModel(f"{self.name} x {factor:g}", self.attributes, faster, merge, self.task_us * factor)

    def _of(self, distribution: str) -> DistributionCost:
        found = self.distributions.get(distribution)
        if found is None:
            have = ", ".join(self.distributions)
            raise OptionError(f"points={distribution!r}: the cost model {self.name!r} only knows {have}.")
        return found

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {"version": 1, **asdict(self)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> CostModel:
        """The inverse of :meth:`to_json`."""
        if body.get("version") != 1:
            raise OptionError(f"cost model version {body.get('version')!r} is unknown; calibrate again.")
        distributions = {
            name: DistributionCost(Curve(**cost["rows"]), Curve(**cost["insert_us"]))
            for name, cost in body["distributions"].items()
        }
        merge = Curve(**body["merge_us"])
        return cls(body["name"], body["attributes"], distributions, merge, body["task_us"])


def paper_machine() -> CostModel:
    """Block-nested loops on 8 attributes, at the speed of paper 1's machine (made by ``calibration.paper_machine``)."""
    text = resources.files("skypane_lab").joinpath("paper_machine.json").read_text()
    return CostModel.from_json(json.loads(text))
