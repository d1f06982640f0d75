"""The order in which results leave."""

from __future__ import annotations


def k_ordered(sequence: list[int], k: int) -> bool:
    """By the definition: whatever comes more than k places after x is not smaller than x."""
    return all(later >= x for place, x in enumerate(sequence) for later in sequence[place + k + 1 :])
