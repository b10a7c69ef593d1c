"""Peak memory of loading 60,000 x 784 bytes, scaling them and giving them the shape of images."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = r"""
import sys
from kshell.session import Session
s = Session()
s.run("til 10;")
def status(field):
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(field))
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
s.run('x:60000 1 28 28#("e"$read1`:%s)%%255e')
assert s.run("count each(x;x 0;x[0;0];x[0;0;0])").a.tolist() == [60000, 1, 28, 28]
print(status("VmHWM") - before, s["x"].a.nbytes)
"""


def report() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.bin"
        path.write_bytes(bytes(range(256)) * (60000 * 784 // 256))
        done = subprocess.run([sys.executable, "-c", SCRIPT % path], capture_output=True, text=True, check=True)
    peak, array = map(int, done.stdout.split())
    ratio = peak / array
    mark = "ok  " if ratio <= 4 else "MISS"
    return [f"{mark} load, scale, reshape 60,000 x 784      {peak / 1e6:10.1f} MB  the array"
            f"{array / 1e6:10.1f} MB  ratio {ratio:6.3f}  (<= 4)"]
