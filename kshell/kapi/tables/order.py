"""The order of the rows of a pass: a function of a seed and the number of the pass, so that it can be had again.

Parts come in a random order; the rows of as many parts as fill a window are mixed. So no more than a window and a part
are in memory, and a row comes at most so far from the rows of its part.
"""

from __future__ import annotations

import numpy as np


class Order:
    """The order of a pass; `window` is the least number of rows that are mixed."""

    def __init__(self, seed: int, epoch: int, window: int) -> None:
        self.seed, self.epoch, self.window = seed, epoch, window

    def numbers(self, what: int) -> np.random.Generator:
        """Random numbers for one purpose in this pass."""
        return np.random.default_rng([abs(self.seed), self.epoch, what])

    def parts(self, n: int) -> list[int]:
        """The order of n parts."""
        return self.numbers(0).permutation(n).tolist()

    def rows(self, i: int, n: int) -> np.ndarray:
        """The order of the n rows of window i."""
        return self.numbers(i + 1).permutation(n)
