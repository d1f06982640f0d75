from __future__ import annotations

import pytest

from skypane.tuning.patterns import KeyFarm
from skypane.tuning.patterns.exploration import Explored, against_best, rank_correlation


def explored(*times: tuple[float, float]) -> list[Explored]:
    return [Explored(KeyFarm(n), predicted, measured) for n, (predicted, measured) in enumerate(times, start=1)]


def test_rank_correlation() -> None:
    assert rank_correlation(explored((1, 10), (2, 20), (3, 300))) == pytest.approx(1)
    assert rank_correlation(explored((3, 10), (2, 20), (1, 300))) == pytest.approx(-1)
    assert rank_correlation(explored((1, 10), (1, 20), (3, 300))) == pytest.approx(0.866, abs=0.001)
    assert rank_correlation(explored((1, 10), (1, 20), (1, 300))) is None
    assert rank_correlation(explored((1, 10), (2, 20))) is None


def test_against_the_fastest() -> None:
    trees = explored((1, 10), (2, 20), (3, 15))
    assert against_best(trees, KeyFarm(1)) == 1
    assert against_best(trees, KeyFarm(3)) == 1.5
    assert against_best(trees, KeyFarm(9)) is None
