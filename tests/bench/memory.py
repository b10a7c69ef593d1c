"""B12, the way of data: 60,000 images of 28 x 28 and their labels from files in the form of MNIST's, scaled, in the
shape of images, given to a model; against numpy doing the same. Time, and the most memory beside the result's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.timing import row

SCRIPT = r"""
import gc, sys, time
import numpy as np, torch
from kshell.session import Session
from kshell.shell.cli import tune_allocator
images, labels = sys.argv[1:]
torch.set_num_threads(1)
tune_allocator()
s = Session()
s.run("q:module seq(`sequential;`flatten;(`linear;784;10));m:model(q;loss`ce;opt(`sgd;q))")
def program():
    s.run(f'm:{{train(x;resize("e"$-1+("h"$16_read1`:{images})%127.5;-1 1 28 28);"j"$8_read1`:{labels});x}}m')
def peer():
    x = np.fromfile(images, np.uint8)[16:].astype(np.int16)
    return (torch.from_numpy((x / 127.5 - 1).astype(np.float32).reshape(-1, 1, 28, 28)),
            torch.from_numpy(np.fromfile(labels, np.uint8)[8:].astype(np.int64)))
def status(field):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(field))
def effort(fn):
    start = time.process_time()
    fn()
    return time.process_time() - start
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
program()
peak = status("VmHWM") - before
found = s["m"].obj.data.tensors()
assert all(map(torch.equal, found, peer()))
size = sum(t.nbytes for t in found)
del found
times = [(effort(program), effort(peer)) for _ in range(5)]
print(peak, size, min(a for a, _ in times), min(b for _, b in times))
"""


def report() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        images, labels = Path(folder) / "images", Path(folder) / "labels"
        images.write_bytes(b"\0\0\x08\3\0\0\xea\x60\0\0\0\x1c\0\0\0\x1c" + bytes(range(256)) * (60000 * 784 // 256))
        labels.write_bytes(b"\0\0\x08\1\0\0\xea\x60" + bytes(k % 10 for k in range(60000)))
        done = subprocess.run([sys.executable, "-c", SCRIPT, str(images), str(labels)], capture_output=True, text=True,
                              check=True)
    peak, size, ours, theirs = map(float, done.stdout.split())
    ratio = peak / size
    mark = "ok  " if ratio <= 4 else "MISS"
    name = "B12 60,000 images from files to a model"
    return [row(name, ours, theirs, 3, "numpy"),
            f"{mark} {name:40} {peak / 1e6:10.1f} MB  {'the arrays':22} {size / 1e6:10.1f} MB  ratio {ratio:6.3f}  (<= 4)"]
