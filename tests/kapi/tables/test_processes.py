"""Two processes that train on a table: killed in the middle of a pass, they go on to the same bits; another number of
processes goes on with the same rows. They are real processes, which end by themselves or are killed here by their number."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import ROOT
from tests.parallel.test_ranks import job, script
from tests.support import warm

N, WIDTH, PASSES = 1193, 10, 2
WRITTEN = f'`:db/t/ set ([]id:"e"$til {N};a:{N}?1e;y:{N}?1e)'
MODEL = (
    "seed 3+rank[];q:module seq(`sequential;(`linear;2;8);`relu;(`drop;.3);(`linear;8;1))",
    "if[world[]>1;ddp q]",
    "m:model(q;loss`mse;opt(`adam;q;.01))",
    f"train(m;`batchsize`shuffle`shuffleseed`tasks`task;({WIDTH};1b;7;world[];rank[]))",
    'got:();train(m;`transform;{got,:enlist"j"$first each tensor first x;x})',
    "(`$\":pid\",string rank[])0:enlist string .z.i",
)
DATA = {
    "rows known": 'train(m;`:db/t;"select id,a,y from t";enlist[`window]!enlist 300)',
    "rows chosen": 'train(m;`:db/t;"select id,a,y from t where id<>7";enlist[`window]!enlist 300)',
}
SAVE = "train(m;`callback;{if[0=(x`batch)mod 7;ckptsave(`:at;`m`p!(m;p))]})"
BEGIN = "p:0;if[count key`:at;if[`index.json in key`:at;p:(ckptload(`:at;enlist[`m]!enlist m))`p]]"
PASS = f"while[p<{PASSES};run m;p+:1]"
BITS = 'say raze string md5 raze string -8!{tensor parm(x;y)}[q]each exec name from parmtable q'


ROWS = '(`$":rows",string rank[])0:enlist" "sv string raze got'


def rows(folder: Path, n: int) -> list[int]:
    """The rows that processes had, one process after the other."""
    return [int(row) for rank in range(n) for row in (folder / f"rows{rank}").read_text().split()]


def end(folder: Path, n: int, *lines: str) -> list[str]:
    """What processes say that end by themselves, in the order of their numbers."""
    done = job(n, script(folder, f"\\cd {folder}", *lines))
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition("] ")[2].strip('"') for line in done.stdout.splitlines()]


@pytest.fixture(scope="module", params=DATA)
def data(request: pytest.FixtureRequest) -> str:
    return DATA[request.param]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    end(tmp_path, 1, "\\S 5", WRITTEN)
    return tmp_path


@pytest.fixture(scope="module")
def whole(data: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[int]]:
    """The bits of two processes that nothing stopped, and the rows of the first pass in their order."""
    made = tmp_path_factory.mktemp("whole")
    end(made, 1, "\\S 5", WRITTEN)
    bits = end(made, 2, *MODEL, data, SAVE, "p:0", PASS, BITS)
    assert len(bits[0]) == 32 and bits[0] == bits[1]
    end(made, 1, *MODEL, data, "run m", ROWS)
    return bits[0], rows(made, 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rank", (0, 1))
def test_killed_in_mid_pass_two_go_on_to_the_same_bits(folder: Path, data: str, whole: tuple[str, list[int]], rank: int) -> None:
    kill = f"train(m;`callback;{{if[0=(x`batch)mod 7;ckptsave(`:at;`m`p!(m;p))];if[(38=x`batch)&rank[]={rank};system\"kill -9 \",string .z.i]}})"
    done = job(2, script(folder, f"\\cd {folder}", *MODEL, data, kill, "p:0", PASS, "say`ended"))
    assert done.returncode == 137 and "ended" not in done.stdout
    assert end(folder, 2, *MODEL, data, SAVE, BEGIN, "say (state m)[`place;`batch]", PASS, BITS) == ["70", "70", whole[0], whole[0]]


@pytest.mark.parametrize("n", (1, 3, pytest.param(5, marks=pytest.mark.slow)))
def test_another_number_of_processes_goes_on_with_the_rows_that_are_left(
    folder: Path, data: str, whole: tuple[str, list[int]], n: int
) -> None:
    """Also where the batches that are left cannot be shared out evenly, as those of the first pass of two."""
    kill = "train(m;`callback;{if[0=(x`batch)mod 7;ckptsave(`:at;`m`p!(m;p))];if[38=x`batch;system\"kill -9 \",string .z.i]})"
    assert job(2, script(folder, f"\\cd {folder}", *MODEL, data, kill, "p:0", PASS)).returncode == 137
    counts = end(folder, n, *MODEL, data, BEGIN, "run m", ROWS, "say count got")
    assert sorted(rows(folder, n)) == sorted(whole[1][70 * WIDTH :])
    assert len(set(counts)) == 1  # of batches
    end(folder, n, *MODEL, data, BEGIN, "run m;got:();run m", ROWS)
    assert sorted(rows(folder, n)) == sorted(whole[1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_time_two_go_on_to_the_same_bits(folder: Path, whole: tuple[str, list[int]], data: str, seed: int) -> None:
    """Until it ends, a job is killed by one of its processes, whichever, and begun again."""
    file = script(folder, f"\\cd {folder}", *MODEL, data, SAVE, BEGIN, PASS, BITS)
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    env.update({"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)})
    numbers = random.Random(seed)
    for _ in range(3):
        pids = [folder / f"pid{rank}" for rank in range(2)]
        for pid in pids:
            pid.unlink(missing_ok=True)
        process = warm.Process([sys.executable, "-m", "kshell", "-n", "2", "-q", file], env=env, stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 100
        while not all(pid.exists() for pid in pids) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(numbers.uniform(0.05, 1.5))
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # the job may be ending
                os.kill(int(pids[numbers.randrange(2)].read_text()), signal.SIGKILL)
        process.wait(100)
    assert end(folder, 2, *MODEL, data, SAVE, BEGIN, PASS, BITS) == [whole[0]] * 2


def test_a_batch_without_rows_is_no_step_of_any_process(folder: Path) -> None:
    """All rows of batches 3, 4 and 5 are left out: of two processes both make as many steps."""
    skip = 'train(m;`shuffle;0b);train(m;`skip;"id within 30 59")'
    said = end(folder, 2, *MODEL, skip, DATA["rows known"], "run m", ROWS, "say count got", BITS)
    assert sorted(rows(folder, 2)) == [*range(30), *range(60, N)]
    assert said[0] == said[1] == "59" and said[2] == said[3]
