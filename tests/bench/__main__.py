"""`python -m tests.bench [name...]`: the benchmarks, as ratios to a peer measured in the same run."""

from __future__ import annotations

import importlib
import sys

NAMES = ("startup", "prompt", "parse", "language", "items", "workloads", "vectors", "tables", "strings", "stored", "calls", "scaling", "memory",
         "snapshots", "checkpoints", "frames", "training", "table_data", "generation", "python_parts", "programs", "ranks", "port",
         "attach", "device")

for name in sys.argv[1:] or NAMES:
    print(f"-- {name}", flush=True)
    for line in importlib.import_module(f"tests.bench.{name}").report():
        print(line, flush=True)
