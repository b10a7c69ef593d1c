"""Memory: what reading large files needs at most, and what handles and errors leave behind, each in a process of its own."""

from __future__ import annotations

import dis
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from kshell.errors import as_qerror
from tests import ROOT

MEGA = 1 << 20
BEYOND = 64 << 20  # bytes that reading a file may need beside twice its size


def child(text: str, *words: str, folder: Path) -> Any:
    """What a Python program prints, as JSON; it runs in a process of its own, where the allocator gives every piece of
    more than a megabyte back when it is freed (it would keep some, by a threshold that it moves as it goes)."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "MALLOC_ARENA_MAX": "2",
           "MALLOC_MMAP_THRESHOLD_": str(MEGA)}
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
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from kshell.session import Session
from tests.support.damage import memory, peak_from_here, reading, size_of
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


@pytest.mark.sampled(4)
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
import gc, io, json, sys
from kshell.errors import QError
from kshell.session import Session
from tests.support.damage import memory

def resident():
    gc.collect()
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "times"), [("handles", 11_000), ("errors", 300), pytest.param(
    "handles", 110_000, marks=pytest.mark.slow), pytest.param("errors", 10_000, marks=pytest.mark.slow)])
def test_nothing_stays(kind: str, times: int, tmp_path: Path) -> None:
    """Handles that were made and dropped, and errors over tensors of 8 MB, leave no memory and no handle behind."""
    grown, handles, same = child(GROWTH, kind, str(times), folder=tmp_path)
    print(f"{times} {kind}: {grown / MEGA:.1f} MB more, {handles} handles")
    assert same and handles == 5
    assert grown < 4 * MEGA


# ------------------------------------------------------------------ memory that ends

# lines that make small values until there is no memory
SMALL = {
    "pairs": "x:();while[1b;x,:{(x;`a)}each til 1000]",
    **{name: pytest.param(text, marks=pytest.mark.slow) for name, text in {
        "nested": "x:1;while[1b;x:(x;x)]",
        "one deeper": "x:();while[1b;x:(x;1)]",
        "joined": "x:();while[1b;x,:enlist(1;`a)]",
        "mixed": "x:();i:0;while[1b;x,:enlist(i;\"a\";1f);i+:1]",
        "dictionary": "d:()!();i:0;while[1b;d[i]:(i;i);i+:1]",
        "dictionaries": "x:();i:0;while[1b;x,:enlist(1b;`a`b!(i+:1;\"a\"))]",
        "projections": "x:();while[1b;x:{[a;b]a}[x]]",
        "lambdas": "a:2000#\"a\";x:();while[1b;x,:value\"{x,\\\"\",a,(string count x),\"\\\"}\"]",
        "strings": "x:();while[1b;x,:enlist string count x;x,:1]",
        "symbols": "i:0;while[1b;`$string i+:1]",
        "tables": "x:();while[1b;x,:enlist([]a:1 2;b:3 4);x,:1b]",
        "tensors": "x:();while[1b;x,:{tensor 1 2e}each til 100]"}.items()},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", list(SMALL.values()), ids=list(SMALL))
@pytest.mark.parametrize("limit", ["-w 20", pytest.param("ulimit", marks=pytest.mark.slow)])
def test_small_values_that_fill_memory_end_in_an_error(text: str, limit: str) -> None:
    """Again and again: what holds the memory can be dropped afterwards, and the session goes on."""
    lines = "\n".join(["count til 3", text, "1+1", "x:d:0", "count til 5", text, "x:d:0", "count til 7"])
    before = "" if limit != "ulimit" else f"ulimit -v {4_000_000 if 'tensor' in text else 1_000_000}; "
    words = limit if limit != "ulimit" else ""
    done = subprocess.run(f"{before}exec {sys.executable} -m kshell -q {words}", shell=True, input=lines + "\n", text=True,
                          capture_output=True, timeout=900, check=False, cwd=ROOT)
    errors = [line for line in done.stderr.splitlines() if line.startswith("'")]
    assert (done.stdout.split(), errors) == (["3", "2", "5", "7"], ["'wsfull"] * 2), done.stderr
    assert "MemoryError" not in done.stderr


def test_a_file_too_large_to_map(tmp_path: Path) -> None:
    """The system's refusal of a mapping is 'wsfull, as any other lack of memory is."""
    with open(tmp_path / "v", "wb") as f:
        f.truncate(2 << 30)  # of zeros, which take no room on the disk
    done = subprocess.run(f"ulimit -v 1500000; exec {sys.executable} -m kshell -q", shell=True, text=True, cwd=tmp_path,
                          input="get`:v\n1+1\n", capture_output=True, timeout=60, check=False,
                          env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr.splitlines()[0]) == ("2\n", "'wsfull")
    assert "hint: 2,048 MB were asked for" in done.stderr


READERS = {
    "a checkpoint": ("ckpt(`:m.pt;(`$\"w\",/:string til 4)!{{tensor {n}#1e}}each til 4)", "d:ckpt`:m.pt"),
    "safetensors": ("ckpt(`:m.safetensors;(`$\"w\",/:string til 4)!{{tensor {n}#1e}}each til 4)", "d:ckpt`:m.safetensors"),
    "shards": ("ckpt(`:m;(`$\"w\",/:string til 4)!{{tensor {n}#1e}}each til 4;4*{n})", "d:ckpt`:m"),
    "a snapshot": ("w:{{tensor {n}#1e}}each til 4;snapshot`:m.ks", "resume`:m.ks"),
    "a list": ("`:v set{{x#\"abc\"}}each {n}#0 1 2", "count each get`:v"),
    "a table": ("`:t/ set([]a:({n}*2)?1f;b:({n}*2)?1f)", "r:get[`:t/]*2"),
    "compressed": ("(`:z;17;2;6)set({n}*2)?1f", "get`:z"),
    "text": ("`:x.csv 0:csv 0:([]a:til {n} div 8;b:({n} div 8)#0n)", "(\"JF\";enlist csv)0:`:x.csv"),
    "lines": ("`:x.txt 0:string til {n} div 8", "read0`:x.txt"),
    "bytes": ("`:x.bin 1:({n}*8)#0x00", "{{x,x}}read1`:x.bin"),
    "json": ("`:x.json 0:enlist .j.j til {n} div 8", ".j.k raze read0`:x.json"),
}
SHORT = """
import io, json, sys
from kshell.errors import QError
from kshell.values.session import memory
from kshell.session import Session
s = Session(out=io.StringIO(), err=io.StringIO())
s.run("big:tensor 1000000#1e;tensor big;big:0;ckpt(`:small.pt;tensor 1e);ckpt`:small.pt;snapshot`:small.ks;resume`:small.ks")
found = {}
for name, (make, read) in json.loads(sys.argv[1]).items():
    s.run(make)
    s.run("d:r:w:0;.Q.gc[]")
    texts = set()
    for share in (0, .05, .1, .2, .35, .5, .75):  # of what it needs, about
        memory.trim()
        room = int(share * int(sys.argv[2]))
        memory.limit(max(1, (memory.status("VmData") + room - memory.OWN) >> 20))
        try:
            s.run(read + ";")
            texts.add("read")
        except QError as e:
            texts.add(e.text)
        memory.limit()
        s.run("d:r:w:0;.Q.gc[]")
    try:
        s.run(read + ";")
        texts.add("whole")
    except QError as e:
        texts.add("then " + e.text)
    s.run("d:r:w:0;.Q.gc[]")
    found[name] = sorted(texts)
print(json.dumps(found))
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("names", [["a checkpoint", "a table", "compressed"], pytest.param(
    [*READERS], marks=pytest.mark.slow, id="all")])
def test_a_reader_without_memory_says_so(names: list[str], tmp_path: Path) -> None:
    """Never that the file is damaged; and with memory the same file is read."""
    n = 2_000_000
    lines = {name: [text.format(n=n) for text in READERS[name]] for name in names}
    found = child(SHORT, json.dumps(lines), str(16 * n), folder=tmp_path)
    assert {name: set(texts) - {"read", "wsfull"} for name, texts in found.items()} == {name: {"whole"} for name in names}
    assert sum("wsfull" in texts for texts in found.values()) > len(names) / 4  # of some a part that was free is enough


def test_the_error_says_what_was_asked_for_and_what_there_is() -> None:
    done = subprocess.run([sys.executable, "-m", "kshell", "-q", "-w", "50"], input="x:100000000#1f\n", text=True,
                          capture_output=True, timeout=100, check=False, cwd=ROOT)
    hint = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"hint: 763 MB were asked for; of 306 MB that the process may use \d+ MB are left", hint), done.stderr


def test_a_restricted_evaluation_that_runs_out_of_memory_says_so() -> None:
    """`reval` changes no limit of the process, but the session does, to tell of what it lacks."""
    lines = ["@[reval;(til;1000000000);{`$x}]", "f:{@[til;x;{`$x}]}", "reval(f;1000000000)", "reval(f;3)",
             "@[reval;({r:f x;til x};1000000000);{`$x}]"]
    done = subprocess.run([sys.executable, "-m", "kshell", "-q", "-w", "200"], input="\n".join(lines), cwd=ROOT, text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.stdout.split("\n") == ["`wsfull", "`wsfull", "0 1 2", "`wsfull", ""], done


def test_timing_leaves_the_record_of_memory_alone() -> None:
    """`\\ts` does not make the system's peak begin anew, which monitors read, and finds what is below it."""
    lines = "count x:20000000#1f\nx:0\n\\ts sum 5000000#1f\n\\ts 1+1\n(system\"w\")2\n"
    done = subprocess.run([sys.executable, "-m", "kshell", "-q"], input=lines, text=True, capture_output=True, timeout=100,
                          check=True, cwd=ROOT)
    _, second, third, peak = done.stdout.split("\n")[:4]
    assert 38 * MEGA < int(second.split()[1]) < 48 * MEGA
    assert int(third.split()[1]) < MEGA
    assert int(peak) > 160_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("n", "item"), [(20_000, "`a`b`c!tensor each x+1e+til 3"), (100_000, "tensor x"),
                                         (200_000, "`a`b!(1;x)"), (300_000, "string x")])
def test_a_checkpoint_of_many_small_things_is_read_again(n: int, item: str, tmp_path: Path) -> None:
    text = f"d:(`$\"w\",/:string til {n})!{{{item}}}each til {n};ckpt(`:many.pt;d);show count ckpt`:many.pt"
    done = subprocess.run([sys.executable, "-m", "kshell", "-q"], input=text + "\n", text=True, capture_output=True,
                          timeout=300, check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.split() == [str(n)], done.stderr


def _long_blocks(code: CodeType) -> Iterator[str]:
    """The functions whose `with` blocks reach past their first 256 instructions."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _long_blocks(inner)
    starts = {i.offset: i.opname for i in dis.get_instructions(code)}
    for row in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        if row.lasti and row.end // 2 > 256 and starts.get(row.target + 2) == "WITH_EXCEPT_START":
            yield code.co_qualname


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the instructions of another Python are others")
def test_blocks_end_without_memory() -> None:
    """Python 3.11 leaves a `with` block by an error with the number of the instruction as an object, and tries for ever
    when there is no memory for one; the numbers up to 256 are there from the start. In-place growth runs where memory
    ends."""
    path = ROOT / "kshell" / "values" / "change" / "grow.py"
    assert not list(_long_blocks(compile(path.read_text(), path.name, "exec")))
    long = "with a:\n" + "    b(1)\n" * 60
    assert list(_long_blocks(compile(long, "long", "exec")))


class _Wordless(OSError):
    """An error whose text cannot be made."""

    @property
    def strerror(self) -> str:  # type: ignore[override]
        raise MemoryError


@pytest.mark.parametrize("error", [MemoryError(), SystemError("error return without exception set"), _Wordless()], ids=repr)
def test_a_shortage_that_python_cannot_tell_of(error: Exception) -> None:
    assert as_qerror(error).text == "wsfull"
