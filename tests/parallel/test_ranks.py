"""Several processes: `kshell -n` and torchrun, what processes do together, and how jobs end.

Jobs use the loopback interface, and end by themselves.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kshell.parallel import collect, group
from kshell.parallel.launch import describe, shared
from tests import ROOT
from tests.families.test_mlbench import DATA, MADE, NET, STEP
from tests.parallel.rank_checks import __file__ as CHECKS
from tests.support import warm

Done = subprocess.CompletedProcess[str]


def start(command: list[str], stdin: str = "", timeout: float = 170, by: Callable[..., Done] = warm.run) -> Done:
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    env.update({"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)})
    return by(command, capture_output=True, text=True, timeout=timeout, env=env, input=stdin)


def job(n: int, *words: str, by: Callable[..., Done] = warm.run) -> Done:
    """`kshell -n`."""
    return start([sys.executable, "-m", "kshell", "-n", str(n), "-q", *words], by=by)


def script(folder: Path, *lines: str) -> str:
    file = folder / "s.q"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


TOGETHER = (
    "show (rank[];world[])", "-1\"by zero\";", "1+1", "say rank[]", "say allreduce 1+rank[]",
    "say tensor allreduce(tensor 1 2f*1+rank[];`avg)", "say allreduce(1 2*rank[];`max)", "say allreduce(2f+rank[];`prod)",
    "say count allgather (`a`b`c`d rank[];til rank[])", "say tensor allgather tensor 1e*rank[]",
    "say broadcast(([]a:til rank[]);1)", "say tensor broadcast(tensor 10*1 2+rank[];1)",
    "m:module enlist(`linear;2;1)", "parm(m;`weight;1 2#1e*rank[])", "broadcast(m;1)", "say tensor parm(m;`weight)",
    "t:tensor 3#0e", "r:0", "if[0=rank[];send(`hello;1);send(tensor 1 2 3e;1)]", "if[1=rank[];r:recv 0;recv(t;0)]",
    "say r", "say tensor t", "say shard til 7", "say shard([]a:`a`b`c)", "say tensor shard tensor til 5", "barrier[]",
    "say .[allreduce;enlist tensor(1+rank[])#1.;{x}]", "say @[allgather;$[rank[];tensor 1;1];{x}]",
    "say @[allreduce;(til 1+rank[];`avg);{10#x}]", "say @[broadcast;(1;9);{x}]", "say @[send;(1;rank[]);{12#x}]",
    "say @[broadcast;(vector(tensor til 1+rank[];tensor 1);0);{x}]")
PRINTED = """\
0 2
by zero
[0] 0
[1] 1
[0] 3
[1] 3
[0] 1.5 3
[1] 1.5 3
[0] 1 2
[1] 1 2
[0] 6f
[1] 6f
[0] 2
[1] 2
[0] 0 1e
[1] 0 1e
[0] a
[0] -
[0] 0
[1] a
[1] -
[1] 0
[0] 20 30
[1] 20 30
[0] 1 1
[1] 1 1
[0] 0
[1] `hello
[0] 0 0 0e
[1] 1 2 3e
[0] 0 2 4 6
[1] 1 3 5
[0] a
[0] -
[0] a
[0] c
[1] a
[1] -
[1] b
[0] 0 2 4
[1] 1 3
"""
REFUSED = ("allreduce: tensors differ between processes (float64 [1] on 0, float64 [2] o..",
           "allgather: tensors differ between processes (no tensor on 0, int64 [] on 1)",
           "allreduce:", "broadcast: source 9 is no process of 2", "send: target",
           "broadcast: parameters differ between processes (parameter 0: int64 [0] on 0")


@pytest.mark.sampled(4)
def test_together_by_kshell_and_by_torchrun(tmp_path: Path) -> None:
    file = script(tmp_path, *TOGETHER)
    one = job(2, file, by=subprocess.run)
    two = start([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "kshell", "-q", file],
                by=subprocess.run)
    assert one.returncode == two.returncode == 0, one.stderr + two.stderr
    assert one.stdout == two.stdout and one.stderr == ""
    head, rest = one.stdout[:len(PRINTED)], one.stdout[len(PRINTED):]
    assert head == PRINTED
    lines = rest.splitlines()
    assert [re.sub(r'^\[.\] "|"$', "", s)[:75] for s in lines[::2]] == \
        [re.sub(r'^\[.\] "|"$', "", s)[:75] for s in lines[1::2]], "every rank says the same"
    assert all(word[:60] in line for word, line in zip(REFUSED, lines[::2], strict=True)), lines


def test_the_same_alone(tmp_path: Path) -> None:
    done = job(1, "-e", "(rank[];world[];worldrank[];allreduce 5;allgather`a;shard til 3)", "-e", "say 1 2",
               "-e", "barrier[]", "-e", "broadcast(1 2;0)")
    assert done.stdout == "0\n1\n0\n5\n,`a\n0 1 2\n[0] 1 2\n1 2\n" and done.returncode == 0


def test_all_print_when_asked_to() -> None:
    done = job(2, "-v", "-e", "10*rank[]", "-e", "say`a")
    assert sorted(done.stdout.splitlines()) == sorted(["[0] 0", "[1] 10", "[0] `a", "[1] `a"])


def test_an_error_of_one_rank_ends_the_job(tmp_path: Path) -> None:
    file = script(tmp_path, "x:allreduce 1", "if[2=rank[];'bad]", "barrier[]", "do[100;x:allreduce x]")
    begun = time.monotonic()
    done = job(4, "--timeout", "30", file)
    assert done.returncode == 1 and time.monotonic() - begun < 30
    assert "[2] 'bad\n" in done.stderr and done.stderr.endswith("kshell: rank 2 failed with exit code 1\n")


def test_a_rank_that_is_killed_ends_the_job(tmp_path: Path) -> None:
    file = script(tmp_path, "x:allreduce 1", 'if[1=rank[];system"kill -9 ",string .z.i]', "x:allreduce 1", "say x")
    begun = time.monotonic()
    done = job(2, file)
    assert done.returncode == 137 and time.monotonic() - begun < 90
    assert done.stderr.endswith("kshell: rank 1 was killed by SIGKILL\n")


@pytest.mark.parametrize(("who", "where"), [
    (0, "while[1b;x:allreduce 1]"), pytest.param(0, "while[1b;]", marks=pytest.mark.slow), (2, "while[1b;]"),
    pytest.param(2, "while[1b;x:allreduce 1]", marks=pytest.mark.slow)])
def test_a_rank_that_is_killed_from_outside(who: int, where: str, tmp_path: Path) -> None:
    """In the middle of a collective or of q code, while others wait for it."""
    file = script(tmp_path, "x:allreduce 1", f'(hsym`$"{tmp_path}/",string rank[])set .z.i;{where}')
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    p = warm.Process([sys.executable, "-m", "kshell", "-n", "3", "-q", file], stderr=subprocess.PIPE, text=True, env=env)
    try:
        until = time.monotonic() + 60
        while not all((tmp_path / str(r)).exists() for r in range(3)) and time.monotonic() < until:
            time.sleep(.1)
        from kshell.store import kdb

        time.sleep(.3)
        begun = time.monotonic()
        os.kill(int(kdb.read(str(tmp_path / str(who))).v), 9)
        said = p.communicate(timeout=90)[1]
        assert p.returncode == 137 and time.monotonic() - begun < 90
        assert said.endswith(f"kshell: rank {who} was killed by SIGKILL\n")
    finally:
        p.kill()
        p.wait()


@pytest.mark.slow
def test_a_rank_of_torchrun_that_is_killed(tmp_path: Path) -> None:
    file = script(tmp_path, "x:allreduce 1", 'if[1=rank[];system"kill -9 ",string .z.i]', "x:allreduce 1", "say x")
    torchrun = start([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "kshell", "-q", file],
                     by=subprocess.run)
    assert torchrun.returncode == 1 and re.search(r"rank *: 1 .*", torchrun.stderr)


def test_worlds_that_differ() -> None:
    """Processes that were started by hand as of different jobs."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [warm.Process([sys.executable, "-m", "kshell", "--timeout", "30", "-q", "-e", "say allreduce 1"],
                          env={**env, "RANK": str(r), "WORLD_SIZE": str(2 + r)}, text=True, stderr=subprocess.PIPE)
             for r in range(2)]
    said = [p.communicate(timeout=60)[1].splitlines()[-1] for p in ranks]
    assert said == [f"[{r}] 'join: numbers of processes differ between processes (2 on 0, 3 on 1)" for r in range(2)]
    assert [p.returncode for p in ranks] == [1, 1]


@pytest.mark.sampled(3)
def test_waiting_ends_at_the_timeout(tmp_path: Path) -> None:
    file = script(tmp_path, "x:allreduce 1", "if[0=rank[];t:.z.p;while[.z.p<t+0D00:01:20]]", "x:allreduce 1")
    begun = time.monotonic()
    done = job(2, "--timeout", "3", file)
    assert done.returncode == 1 and time.monotonic() - begun < 70
    assert "[1] 'allreduce: process 0 did not come within 3 s" in done.stderr
    assert done.stderr.endswith("kshell: rank 1 failed with exit code 1\n")


def test_exit_codes_and_wrong_use() -> None:
    assert job(2, "-e", "if[rank[];exit 3]").returncode == 3
    assert job(2, "-e", "exit 0").returncode == 0
    for words, text in ((["-n", "0", "-e", "1"], "-n needs a number of processes"), (["-n"], "-n needs"),
                        (["-n", "two"], "-n needs"), (["--timeout", "x"], "--timeout needs"), (["--timeout"], "needs")):
        done = start([sys.executable, "-m", "kshell", *words])
        assert done.returncode == 2 and text in done.stderr


@pytest.mark.sampled(2)
def test_what_ranks_are_forked_from() -> None:
    """It has loaded all and used nothing: threads and a GPU would be missing in each, random numbers the same."""
    code = """if True:
        import os, sys
        from kshell import k_api
        from kshell.kapi.distributed import processes
        def look(n, run, console):
            import torch
            print(len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 1, torch.cuda.is_initialized(),
                  "torch.distributed" in sys.modules)
            return 0
        processes.launching.launch = look
        k_api.launch(2, None)"""
    done = start([sys.executable, "-c", code], by=subprocess.run)
    assert (done.stdout, done.stderr) == ("1 False True\n", "")
    assert job(2, "-e", "count distinct tensor each allgather tensor(`rand;9)").stdout == "2\n"


def test_ranks_end_with_their_launcher(tmp_path: Path) -> None:
    """A launcher that is killed leaves nothing behind."""
    if not sys.platform.startswith("linux"):
        pytest.skip("ranks are told of it on Linux only")
    file = script(tmp_path, f'(hsym`$"{tmp_path}/",string rank[])set .z.i', "barrier[]", "t:.z.p;while[.z.p<t+0D00:01]")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    launcher = warm.Process([sys.executable, "-m", "kshell", "-n", "2", "-q", file], env=env)
    try:
        until = time.monotonic() + 60
        files = [tmp_path / "0", tmp_path / "1"]
        while not all(f.exists() for f in files) and time.monotonic() < until:
            time.sleep(.1)
        from kshell.store import kdb

        pids = [int(kdb.read(str(f)).v) for f in files]
    finally:
        launcher.kill()
        launcher.wait()
    until = time.monotonic() + 20
    while any(_runs(p) for p in pids) and time.monotonic() < until:
        time.sleep(.1)
    assert not any(_runs(p) for p in pids)


def _runs(pid: int) -> bool:
    try:
        return "kshell" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_places_and_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    for rank, world, want in (("1", "3", (1, 3)), ("3", "3", (0, 1)), ("x", "2", (0, 1))):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", world)
        assert group.place() == want
    assert group.rank() == 0 and group.world() == 1 and not group.joined()
    made = shared(4, {"OMP_NUM_THREADS": "9"})
    assert (made["WORLD_SIZE"], made["MASTER_ADDR"], "OMP_NUM_THREADS" in made) == ("4", "127.0.0.1", False)
    assert int(shared(1, {})["OMP_NUM_THREADS"]) == os.cpu_count()
    assert describe(3) == "failed with exit code 3" and describe(-15) == "was killed by SIGTERM"
    assert describe(-99) == "was killed by signal 99"


def test_heads_tell_all_of_a_tensor() -> None:
    for dtype in collect.DTYPES:
        t = torch.zeros(2, 0, 3, dtype=dtype)
        made = collect.blank(collect.head_of(t))
        assert made.shape == t.shape and made.dtype is dtype
    assert collect.blank(collect.head_of(None, 7)).shape == (7,) and collect.is_bytes(collect.head_of(None, 7))
    with pytest.raises(ValueError, match="cannot be sent"):
        collect.head_of(torch.zeros([1] * 17))


# ------------------------------------------------------------------ optimizers


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_optimizers_of_several_processes(n: int) -> None:
    """Every check of rank_checks.py, on every rank."""
    done = job(n, "--timeout", "30", "-e", f"\\l {CHECKS}")
    names = re.findall(r"^def (check_\w+)", Path(CHECKS).read_text(), re.M)
    assert done.stdout.split() == names and done.returncode == 0, done.stderr


@pytest.mark.sampled(3)
def test_restored_on_two_processes(tmp_path: Path) -> None:
    """State saved by each process, continued by two others bit for bit."""
    first, second = [], []
    for name in MADE:
        made = MADE[name]
        half = "1b" if name.startswith("fp16") else "0b"
        data = f"h:{half};{DATA};X:X*1+rank[];X:tensor$[h;(X;`half);X];Y:tensor$[h;(Y;`half);Y]"
        put = f'p:{{hsym`$"{tmp_path}/{name}-",x,string rank[]}}'
        first += [f"seed 4;{NET};{data};if[h;to(m;`half)];o:{made}", STEP,
                  f'go til 3;{put};p["m"]set state m;p["o"]set state o;p["w"]set go 3+til 3']
        second += [f'{data};{put};m:module get p"m";if[h;to(m;`half)];o:opt(get p"o";m)', STEP,
                   f'say`{name},`$string(-8!go 3+til 3)~-8!get p"w"']
    done = job(2, script(tmp_path, *first))
    assert done.returncode == 0, done.stderr
    done = job(2, script(tmp_path, *second))
    assert done.stdout.splitlines() == [f"[{r}] `{n}`1" for n in MADE for r in range(2)], done.stderr


@pytest.mark.parametrize(("n", "times"), [(2, 1), pytest.param(2, 20, marks=pytest.mark.slow),
                                          pytest.param(4, 20, marks=pytest.mark.slow)])
def test_clean_exits(n: int, times: int, tmp_path: Path) -> None:
    """Every run of a program ends with 0."""
    file = script(tmp_path, "m:module enlist(`linear;3;2)", "broadcast(m;0)", "o:opt(`centralizedsgd;m;.1)",
                  "x:tensor 4 3#1e*rank[]+til 12", "do[5;nograd o;backward Sum mul(v;v:forward(m;x));step o]",
                  "say count raze tensor parm(m;`weight)")
    codes = [job(n, file).returncode for _ in range(times)]
    assert codes == [0] * times
