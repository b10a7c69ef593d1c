"""Communication of optimizers on two processes: bytes and time of compressed gradients and of those sent by layer against
one bucket; the cost of a wrap for one process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kshell.session import Session
from tests.bench.timing import paired, row

STEPS = 20
# the optimizer, its name in the report, and the most bytes and time that are meant, as ratios to one bucket
RUNS = (("opt(`centralizedsgd;m;.01)", "one bucket", 1.0, 1.0),
        ("opt(`centralizedsgd;m;.01;`bylayer,1b)", "by layer", 1.01, 10.0),
        ("opt(`powersgd;m;.01;`rank,2)", "powersgd, rank 2", .05, 10.0),
        ("opt(`centralizedsparsifiedsgd;m;.01;`k,100)", "sparsified, k 100", .05, 10.0))
SCRIPT = """\
x:tensor 16 256#"e"$(til 997)mod 7; y:tensor 16 10#0e
one:{{[m;o]nograd o; backward mse(forward(m;x);y); step o}}
go:{{[f]m:module seq(`sequential;(`linear;`a;256;256);`relu;(`linear;`b;256;256);`relu;(`linear;`c;256;10));
  o:f m; one[m;o]; b:traffic[]`bytes; barrier[]; t:.z.p; do[{n};one[m;o]]; t:.z.p-t; -1 " "sv string((traffic[]`bytes)-b;"j"$t);}}
go each ({runs});
"""
STEP = "n:0;t:tensor(512 256#1e;`grad);o:opt(`sgd;t;.01;.9);w:opt(`sgd;t;.01;.9);agg(w;`world);nograd t;backward Sum t"


def report() -> list[str]:
    """The lines of the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.q"
        file.write_text(SCRIPT.format(n=STEPS, runs=";".join(f"{{[m]{made}}}" for made, *_ in RUNS)))
        done = subprocess.run([sys.executable, "-m", "kshell", "-n", "2", "-q", str(file)], capture_output=True,
                              text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    out = []
    for (_, name, few, soon), (size, spent) in zip(RUNS[1:], found[1:], strict=True):
        ratio = size / found[0][0]
        out.append(f"{'ok  ' if ratio <= few else 'MISS'} {name + ', bytes a step':40} {size // STEPS:13}  "
                   f"{RUNS[0][1]:22} {found[0][0] // STEPS:13}  ratio {ratio:6.3f}  (<= {few:g})")
        out.append(row(name + ", a step", spent / STEPS / 1e9, found[0][1] / STEPS / 1e9, soon, RUNS[0][1]))
    s = Session()
    s.run(STEP)
    ours, peer = paired(lambda: s.run("do[500;step w]"), lambda: s.run("do[500;step o]"), rounds=15)
    out.append(row("500 steps with agg, one process", ours, peer, 1.05, "without"))
    return out
