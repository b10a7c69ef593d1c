"""Tables five times as large as the memory that a process may take more than it has before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOM = 256 << 20  # bytes that a run may take, of addresses
WIDTH, PARTS = 4, 80
ROWS = 5 * ROOM // (8 * WIDTH * PARTS)  # of each part
WRITTEN = f"""
t:{{[i]system"S ",string 1+i;([]a:{ROWS}?1f;b:{ROWS}?1f;c:{ROWS}?1f;y:{ROWS}?1f)}}
{{(`$":db/",string[x],"/t/")set t x}}each til {PARTS};
{{$[x;.[`:s/t/;();,;t x];`:s/t/ set t x]}}each til {PARTS};
"""
PARQUET = f"""
from kshell.python.outof import from_q
from kshell.python.session import Session
import pyarrow.parquet
s = Session()
s.run({WRITTEN.splitlines()[1]!r})
writer = None
for i in range({PARTS}):
    part = from_q(s.run(f".p.unwrap .p.topa t {{i}}"))
    writer = writer or pyarrow.parquet.ParquetWriter("t.parquet", part.schema)
    writer.write_table(part, row_group_size=100_000)
writer.close()
"""
# the losses of a pass after the model has been made, by a process that may take so much more memory
LIMITED = """
import hashlib, resource, sys
from kshell.session import Session
source, room = sys.argv[1:]
s = Session()
s.run('seed 1;q:module enlist(`linear;3;1);m:model(q;loss`mse;opt(`sgd;q;.01));'
      'train(m;`batchsize`metrics;(4096;`batchloss));run(m;([]a:10?1f;b:10?1f;c:10?1f;y:10?1f));'
      'parm(q;`weight;"e"$1 3#.1);parm(q;`bias;enlist 0e)')
if "parquet" in source:
    s.run(f"train(enlist[m],{source})")  # Arrow is loaded, and has its threads
if room != "all":
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + int(room),) * 2)
losses = s.run("run(enlist[m]," + source + ")")
print(len(losses.a), hashlib.md5(losses.a.tobytes()).hexdigest())
"""
SOURCES = {"splayed": "enlist`:s/t", "partitioned": '(`:db;"select a,b,c,y from t")', "parquet": "enlist`:t.parquet"}


def told(folder: Path, program: str, *args: object) -> str:
    # each of Arrow's threads for reading would reserve addresses for memory of its own
    env = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run([sys.executable, "-c", program, *map(str, args)], cwd=folder, capture_output=True, text=True,
                          timeout=500, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("large")
    (made / "w.q").write_text(WRITTEN)
    subprocess.run([sys.executable, "-m", "kshell", "w.q"], cwd=made, check=True, timeout=500)
    return made


@pytest.fixture(scope="module")
def in_memory(folder: Path) -> str:
    return told(folder, LIMITED, '{("e"$flip(x`a;x`b;x`c);"e"$enlist each x`y)}get`:s/t', "all")


@pytest.mark.parametrize("kind", SOURCES)
def test_a_table_of_five_times_the_memory_has_the_losses_of_arrays(folder: Path, in_memory: str, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        told(folder, PARQUET)
    assert told(folder, LIMITED, SOURCES[kind], ROOM) == in_memory


def test_rows_are_drawn_by_weight_from_a_table_of_five_times_the_memory(folder: Path) -> None:
    source = "(`:s/t;`x`y`weight`split!(`a`b`c;`y;`b;(.9;`a)))"
    assert told(folder, LIMITED, source, ROOM) == told(folder, LIMITED, source, "all")
