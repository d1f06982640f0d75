"""Seeds: one independent random generator for every (seed, partition, purpose, number of a block)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

_WORD = 0xFFFFFFFF


class Purpose(IntEnum):
    """What a generator is used for: draws of one purpose never shift those of another."""

    EVENTS = 1
    PHASES = 2
    SESSIONS = 3
    WALK = 4
    DELAYS = 5
    STALLS = 6
    POINTS = 7
    KEYS = 8


@dataclass(frozen=True)
class Seeds:
    """The random generators of one partition of one stream."""

    seed: int
    partition: int

    def generator(self, purpose: Purpose, index: int, variant: int = 0) -> np.random.Generator:
        """The generator of block ``index`` (which may be negative), always in its first state."""
        # Fixed width words: numbers of varying length side by side could otherwise name the same generator.
        words = [
            self.seed & _WORD,
            (self.seed >> 32) & _WORD,
            self.partition,
            int(purpose),
            variant,
            index & _WORD,
            (index >> 32) & _WORD,
        ]
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(words)))
