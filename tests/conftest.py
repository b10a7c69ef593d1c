"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
