"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another.

Generated inputs are the same at every run of continuous integration, and new ones at every run by hand.
"""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
