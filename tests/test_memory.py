"""Memory: what reading large files needs at most, and what handles and errors leave behind, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MEGA = 1 << 20
BEYOND = 64 << 20  # bytes that reading a file may need beside twice its size


def child(text: str, *words: str, folder: Path) -> Any:
    """What a Python program prints, as JSON; it runs in a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run([sys.executable, "-c", text, *words], cwd=folder, env=env, text=True, capture_output=True,
                          timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ------------------------------------------------------------------ large files

LARGE = {  # how n million bytes are saved, about; r rows and columns of a module are 4 million
    "session.ks": "v:{n}#til 1000;w:tensor({n}#1.5);q:module enlist(`linear;{r};{r});t:([]s:{n}#`ab`c`de;x:{n}#1 2h);"
                  "b:{n}#(\"abc\";\"de\");snapshot`:session.ks",
    "model.pt": "q:module seq(`sequential;(`linear;{r};{r});(`linear;{r};{r}));o:opt(`adam;q);"
                "backward Sum forward(q;1 {r}#1e);step o;ckpt(`:model.pt;`model`optimizer!(q;o))",
    "model.safetensors": "q:module seq(`sequential;(`linear;{r};{r});(`linear;{r};{r}));ckpt(`:model.safetensors;q)",
    "model": "ckpt(`:model;q;{n})",
}
SHARES = {"session.ks": 38, "model.pt": 24, "model.safetensors": 8, "model": 8}
MAKE = """
import sys
from kshell.session import Session
s = Session()
for text in sys.argv[1:]:
    s.run(text)
print("null")
"""
READ = """
import io, json, os, sys
from pathlib import Path
from kshell.session import Session
from tests.damage import memory, peak_from_here, reading, size_of
s = Session(out=io.StringIO(), err=io.StringIO())
s.run("q:module enlist(`linear;2;2);ckpt(`:small.pt;q);ckpt(`:small.safetensors;q);ckpt(`:small;q;1);snapshot`:small.ks")
s.run("ckpt each`:small.pt`:small.safetensors`:small;resume`:small.ks")  # loads what is loaded late
found = {}
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        start = peak_from_here()
        s.run(reading(Path(name)) + ";")
        Path(name + ".peak").write_text(str(memory("VmHWM") - start))
        os._exit(0)
    os.waitpid(child, 0)
    found[name] = int(Path(name + ".peak").read_text()), size_of(Path(name))
print(json.dumps(found))
"""


@pytest.mark.parametrize("megabytes", [30, pytest.param(180, marks=pytest.mark.slow)])
def test_reading_large_files(megabytes: int, tmp_path: Path) -> None:
    texts = []
    for name, text in LARGE.items():
        n = megabytes * MEGA // SHARES[name]
        texts.append(text.format(n=n, r=int(n**0.5)))
    child(MAKE, *texts, folder=tmp_path)
    for name, (peak, size) in child(READ, *LARGE, folder=tmp_path).items():
        print(f"{name}: {size >> 20} MB, {peak >> 20} MB at most, {peak / size:.2f} of it")
        assert size > megabytes * MEGA / 4
        assert peak < 1.7 * size + BEYOND / 4  # (the bound is 2 and 64 MB: this leaves room for other contents)


# ------------------------------------------------------------------ what is left behind

GROWTH = """
import io, json, sys
from kshell.errors import QError
from kshell.session import Session
from tests.damage import memory

def resident():
    s.run(".Q.gc[]")  # the allocator keeps pieces of tens of megabytes, now and then one more
    return memory("VmRSS")

kind, times = sys.argv[1], int(sys.argv[2])
s = Session(out=io.StringIO(), err=io.StringIO())
s.run("x:tensor 1 2 3e;m:module enlist(`linear;3;3);l:loss`mse;big:tensor(1000000#1f);wide:tensor(1000 1000#1f)")
s.run("nets:{free module enlist(`linear;2;2)};errs:0")
before = s.run("kept:obj[]")
made = '''{tensor x}each til N;do[N;tensor 1 2 3];do[N;x+x];{y:tensor x;free y}each til N;{vector(x;x)}each til N;
{dict`a`b!(x;1)}each til N;{d:dict(enlist`a)!enlist x;v:vector x;(d;v)}each til N;do[N;forward(m;x)]
{k:module enlist(`linear;2;2);o:opt(`sgd;k);free(k;o)}each til N;do[N;module enlist(`relu)]'''
wrong = ["matmul(wide;big)", "big+wide", "forward(m;wide)", "{[a]a:big*2;'`bad}big", "loss(l;big;wide)",
         "cat(big;wide)", "backward big", "wide[1 2 3 4;99999999]:0", "{tensor x+`a}big*2", "reshape(big;7 7)"]

def work(n):
    if kind == "handles":
        for line in made.replace("N", "500").split(chr(10)) * (n // 5500):  # 11 kinds, 500 each
            s.run(line)
        return
    for i in range(n):
        try:
            s.run(wrong[i % len(wrong)])
        except QError:
            continue
        raise AssertionError(wrong[i % len(wrong)])

work(max(times // 10, 5500 if kind == "handles" else 20))
start = resident()
work(times)
grown = resident() - start
print(json.dumps([grown, len(s.handles), bool(s.run("kept~obj[]"))]))
"""


@pytest.mark.parametrize(("kind", "times"), [("handles", 11_000), ("errors", 300), pytest.param(
    "handles", 110_000, marks=pytest.mark.slow), pytest.param("errors", 10_000, marks=pytest.mark.slow)])
def test_nothing_stays(kind: str, times: int, tmp_path: Path) -> None:
    """Handles that were made and dropped, and errors over tensors of 8 MB, leave no memory and no handle behind."""
    grown, handles, same = child(GROWTH, kind, str(times), folder=tmp_path)
    print(f"{times} {kind}: {grown / MEGA:.1f} MB more, {handles} handles")
    assert same and handles == 5
    assert grown < 20 * MEGA
