"""Modules on several processes, `ddp` and `fsdp`; their state in a folder, `ckptsave` and `ckptload`; several nodes.

Jobs use the loopback interface, and end by themselves.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kshell.session import Session
from tests.parallel.test_ranks import ROOT, Done, job, script

NET = "net:{module seq(`sequential;(`linear;4;16);`relu;(`linear;16;5);`tanh;(`linear;5;3))}"
DATA = 'X:"e"$(48 4#til 192)mod 7;Y:"e"$(48 3#til 144)mod 5'
# f: 0 alone on the whole batch, 1 ddp, 2 fsdp
RUN = ("run1:{[f;name]seed 1;m:net[];$[f=1;ddp m;f=2;fsdp m;0];o:opt(name;m;.05);"
       "do[5;nograd o;backward mse(forward(m;$[f;shard X;X]);$[f;shard Y;Y]);clip(o;.5);step o];dict parms m}")
ERR = "err:{max abs raze over(value x)-value y}"
NAMES = "`sgd`adam`adamw`rmsprop`adagrad`lamb"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_equal_to_one_process_on_the_whole_batch(n: int, tmp_path: Path) -> None:
    """By opt, forward, backward, clip, step; and by a model's run, with momentum and accumulated batches."""
    model = ("run2:{[f;a]seed 1;q:net[];m:model(q;loss`mse;opt(`sgd;q;.05;`momentum,.9));"
             "train(m;`batchsize`accumulate;(($[f;12 div world[];12]);a));$[f=1;ddp m;f=2;fsdp m;0];"
             "do[3;run(m;$[f;shard X;X];$[f;shard Y;Y])];dict parms module m}")
    file = script(tmp_path, NET, DATA, RUN, ERR, model,
                  f"say 2e-6>{{a:run1[0;x];max(err[a;run1[1;x]];err[a;run1[2;x]])}}each{NAMES}",
                  "say 2e-6>{a:run2[0;x];max(err[a;run2[1;x]];err[a;run2[2;x]])}each 1 2",
                  "say 1e-3<err[run1[0;`sgd];run1[0;`adam]]")
    done = job(n, file)
    assert done.stdout.splitlines() == [f"[{r}] {v}" for v in ("111111b", "11b", "1b") for r in range(n)], done.stderr


def test_one_process_has_it_all(tmp_path: Path) -> None:
    """Without a group, the same bits as without these calls."""
    s = Session()
    for line in (NET, DATA, RUN.replace("shard ", ""), f"folder:`$\":{tmp_path}/c\""):
        s.run(line)
    assert s.run("(run1[0;`adam]~run1[1;`adam])&run1[0;`adam]~run1[2;`adam]") is True
    s.run("m:net[];o:opt(`adam;m);backward Sum forward(m;X);step o;ckptsave(folder;`m`o`n!(m;o;5))")
    s.run("p:net[];q:opt(`adam;p;.5)")
    assert s.run("(ckptload(folder;`m`o!(p;q)))`n") == 5
    assert s.run("((state m)~state p)&((lr o)~lr q)&(exec buffers from state[o]`parms)~exec buffers from state[q]`parms") is True
    assert s.run("nograd each(m;p);backward Sum forward(m;X);backward Sum forward(p;X);step o;step q;"
                 "dict[parms m]~dict parms p") is True


PARTS = (
    NET, DATA, "seed 1+rank[]", "m:net[];a:net[];ddp m;fsdp a",
    "say 1=count distinct allgather dict parms m", "say 1=count distinct allgather dict parms a",
    # a module keeps its type and names; what reads parameters gathers them
    "say(module[m]~module a;size[parms m]~size parms a;objtype a)",
    "say(state module state a)~state a",
    "parm(a;`4.bias;1 2 3);say tensor parm(a;`4.bias)",
    # an optimizer that was there goes on with its parts
    "seed 7;b:net[];o:opt(`adam;b);c:net[];copyparms(c;parms b);p:opt(`adam;c)",
    "st:{[m;o]nograd o;backward mse(forward(m;shard X);shard Y);step o}",
    "ddp b;ddp c;st[b;o];st[c;p];ddp(c;0b);fsdp c;st[b;o];st[c;p]",
    "say 1e-6>max abs raze over(value dict parms b)-value dict parms c",
    "ex:{raze over{x`exp_avg_sq}each exec buffers from state[x]`parms};say 1e-6>max abs ex[o]-ex p",
    # other kinds of parameters than when it was made
    "to(m;`double);gradflag(m;`0.weight;0b);nograd m;backward Sum forward(m;tensor(shard X;`double))",
    "say(grad parm(m;`0.weight);1=count distinct allgather grad parm(m;`4.weight))",
    # gradients are the mean; without them, and in a copy, a process is by itself
    "w:module enlist(`linear;2;1;0b);ddp w;backward Sum forward(w;1 2#1e*1+rank[]);say grad parm(w;`weight)",
    "v:clone w;nograd v;backward Sum forward(v;1 2#1e*1+rank[]);say grad parm(v;`weight)",
    "if[rank[];evaluate(w;1 2#1e)]",
    "u:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;2));ddp(u;`unused,1b)",
    "do[2;backward Sum forward(u;2 2#1e);backward Sum forward(u;`a;2 2#1e)];say 1",
    # recurrent layers, several inputs
    "r:module seq(`sequential;(`lstm;3;4));fsdp r;v:forward(r;2 5 3#1e;1 5 4#0e;1 5 4#0e);backward Sum tensor(v;0)",
    "say not any null raze grad parm(r;`0.weight_ih_l0)",
    "e:module enlist(`encoder;(`encoderlayer;8;2;16;0.);2);fsdp e;say count evaluate(e;5 2 8#1e)",
    # refused, on every process alike, and nothing is changed
    "say each(@[ddp;module enlist(`linear;2;1+rank[]);::];@[fsdp;module enlist(`linear;2;1+rank[]);::])",
    "say each(@[ddp;module`relu;::];@[fsdp;module`relu;::];@[ddp;3;::];@[fsdp;(u;1);::];@[ddp;(u;`nosuch,1b);::])",
    "x:module enlist(`linear;2;1);gradflag(x;`weight`bias;0b);say @[ddp;x;::]",
    "x:module enlist(`linear;2;1);o:opt(`sgd;x);agg(o;`world);say @[fsdp;x;::]",
    "x:module enlist(`linear;2;1);o:opt(`lbfgs;x);say @[fsdp;x;::]",
    "say each(@[ddp;a;::];@[fsdp;a;::];@[opt;(`rprop;a);::];@[opt;(`centralizedsgd;a);::];"
    "@[{o:opt(`sgd;x);agg(o;`world)};a;::])",
    "say each(@[fsdp;m;::];@[allreduce;parms a;::];10#@[clone;a;::])")
SAID = ["1b", "1b", "1b", "1b", "`sequential", "1b", "1 2 3e", "1b", "1b", "::", "1b", "1.5 1.5", "1 1", "1", "1b", "5"]
REFUSED = [
    "ddp: parameters differ between processes (parameter 0: float32 [1, 2] on 0, parameter 0: float32 [2, 2] on 1)",
    "fsdp: parameters differ between processes (parameter 0: float32 [1, 2] on 0, parameter 0: float32 [2, 2] on 1)",
    "ddp: there are no parameters", "fsdp: there are no parameters",
    "ddp: expecting module or model, given long scalar", "fsdp: expecting 1 arg, given 2",
    "ddp option: nosuch not recognized", "ddp: no parameter requires a gradient",
    "fsdp: sgd with `agg does not take sharded parameters", "fsdp: lbfgs does not take sharded parameters",
    "ddp: parameters are sharded", "fsdp: parameters are sharded already", "opt: rprop does not take sharded parameters",
    "opt: centralizedsgd does not take sharded parameters", "agg: parameters are sharded",
    "fsdp: gradients are averaged already", "allreduce: a sharded tensor is one of all processes already", "clone: FSD"]


@pytest.mark.sampled(3)
def test_around_a_module(tmp_path: Path) -> None:
    done = job(2, "--timeout", "30", script(tmp_path, "\\c 100 200", *PARTS))
    assert done.returncode == 0, done.stderr
    own = [line[4:] for line in done.stdout.splitlines() if line.startswith("[0] ")]
    others = [line[4:] for line in done.stdout.splitlines() if line.startswith("[1] ")]
    at = len(SAID)
    assert own[:at] == SAID and others[:at] == [{"1 1": "2 2"}.get(v, v) for v in SAID]  # a copy is by itself
    assert own[at:] == others[at:] and len(own) - at == len(REFUSED)
    assert not [(s, v) for s, v in zip(own[at:], REFUSED, strict=True) if not s.startswith('"' + v)]


# ------------------------------------------------------------------ state

KEEP = ("net:{module seq(`sequential;(`linear;4;16);`relu;(`batchnorm1d;16);(`linear;16;3))}", DATA,
        "around:{[k;m]$[k=`fsdp;fsdp m;k=`ddp;ddp m;0]}", "st:{[m;o]nograd o;m:$[m~m;m;m];"
        "backward mse(forward(m;shard X);shard Y);step o}")


def saved(tmp_path: Path, kind: str, n: int) -> Done:
    lines = (*KEEP, f"seed 1;m:net[];around[`{kind};m];o:opt(`adam;m;.01;`decay,.1);do[3;st[m;o]]",
             f"q:model(v;loss`mse;opt(`sgd;v:net[];.1;`momentum,.9));around[`{kind};q]",
             "train(q;shard X;shard Y);run q",
             f"ckptsave(`$\":{tmp_path}/c\";`m`o`q`t`s`epoch!(m;o;q;tensor 1 2 3;vector(1 2f;3);3))",
             "w:(dict parms m;dict parms module q;first exec buffers from state[o]`parms)",
             f"if[0=rank[];(`$\":{tmp_path}/w\")set w]")
    return job(n, script(tmp_path, *lines))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "n", "others"), [
    ("fsdp", 2, (("fsdp", 3), ("none", 1))), pytest.param("fsdp", 2, (("ddp", 2),), marks=pytest.mark.slow),
    pytest.param("ddp", 2, (("fsdp", 2),), marks=pytest.mark.slow)])
def test_state_on_another_number_of_processes(kind: str, n: int, others: tuple[tuple[str, int], ...],
                                              tmp_path: Path) -> None:
    done = saved(tmp_path, kind, n)
    assert done.returncode == 0, done.stderr
    for other, k in others:
        lines = (*KEEP, f"m:net[];around[`{other};m];o:opt(`adam;m;.5)",
                 f"q:model(v;loss`mse;opt(`sgd;v:net[];.1));around[`{other};q];t:tensor 0 0 0;s:vector(0 0f;0)",
                 f"say ckptload(`$\":{tmp_path}/c\";`m`o`q`t`s!(m;o;q;t;s))",
                 "w:(dict parms m;dict parms module q;first exec buffers from state[o]`parms)",
                 f"say w~get`$\":{tmp_path}/w\"", "say(lr o;first exec decay from opt[o]`options;tensor t;tensor tensor(s;0))",
                 "say first exec momentum from opt[opt q]`options", "st[m;o];say 1=count distinct allgather dict parms m")
        done = job(k, script(tmp_path, *lines))
        want = ["epoch| 3", "1b", ",0.01", "0.1", "1 2 3", "1 2f", "0.9", "1b"]
        assert done.stdout.splitlines() == \
            [f"[{r}] {s}" for part in (want[:1], want[1:2], want[2:6], want[6:7], want[7:]) for r in range(k)
             for s in part], done.stderr


@pytest.mark.sampled(3)
def test_damaged_checkpoints_change_nothing(tmp_path: Path) -> None:
    """A wrong folder, a missing rank's file, a damaged one, a damaged index, other objects: the same error on all."""
    done = saved(tmp_path, "fsdp", 2)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "c"
    files = sorted(p for p in folder.iterdir() if p.suffix == ".data")
    index = folder / "index.json"
    assert len(files) == 2 and sorted(p.name for p in folder.iterdir()) == sorted([*(p.name for p in files), index.name])
    (tmp_path / "empty").mkdir()
    for i, what in enumerate(("missing", "cut", "bit", "index", "text")):
        copy = tmp_path / what
        copy.mkdir()
        for p in (*files, index):
            (copy / p.name).write_bytes(p.read_bytes())
        last, data = copy / files[1].name, bytearray(files[1].read_bytes())
        data[len(data) // 2] ^= 1
        if i < 3:
            last.unlink() if i == 0 else last.write_bytes(data[:-1] if i == 1 else data)
        else:
            found = json.loads(index.read_text())
            found["body"]["tensors"]["m/0.weight"][2][0][3] += 4
            (copy / index.name).write_text(json.dumps(found) if i == 3 else index.read_text()[:-9])
    lines = [*KEEP, "m:net[];fsdp m;o:opt(`adam;m);st[m;o];a:(dict parms m;state o)",
             f"try:{{[f;x]@[ckptload;(`$\":{tmp_path}/\",f;x);::]}}",
             "say each try[;`m`o!(m;o)]each(\"none\";\"empty\";\"w\";\"missing\";\"cut\";\"bit\";\"index\";\"text\")",
             "say each(try[\"c\";m];try[\"c\";`m`nosuch!(m;o)];try[\"c\";`m`o!(o;m)];try[\"c\";`m`n!(m;3)])",
             "b:module seq(`sequential;(`linear;4;8);`relu;(`batchnorm1d;8);(`linear;8;3));say try[\"c\";(enlist`m)!enlist b]",
             "b:module seq(`sequential;(`linear;4;16));say try[\"c\";(enlist`m)!enlist b]",
             "p:opt(`sgd;m);say try[\"c\";`m`o!(m;p)];say try[\"c\";$[rank[];`m`o!(m;o);(enlist`m)!enlist m]]",
             "say each(@[ckptsave;(`$\":\",\"" + str(tmp_path) + "\";m);::];@[ckptsave;3;::];@[ckptsave;(`:never;`m`f!(m;(1;m)));::];"
             "@[ckptload;1 2 3;::])",
             "p:opt(`powersgd;module enlist(`linear;2;2));say @[ckptsave;(`:never;p);::]",
             "say a~(dict parms m;state o)", "say 3=try[\"c\";`m`o!(m;o)]`epoch"]
    done = job(2, script(tmp_path, "\\c 100 300", *lines))
    assert done.returncode == 0, done.stderr
    own, other = ([s[4:].strip('"') for s in done.stdout.splitlines() if s.startswith(f"[{r}] ")] for r in range(2))
    assert own == other
    name = files[1].name
    want = ["none is not a folder", "it has no index.json", "w is not a folder", f"{name}. OS reports: No such file",
            f"{name} is damaged: it has", f"{name} is damaged: the digest is another",
            "index.json is damaged: the digest is another", "index.json is damaged",
            "there is no object without a name", "there is no nosuch in the checkpoint", "m is an optimizer, in the checkpoint a module",
            "n cannot be filled", "size mismatch, m/0.weight is [8, 4], in the checkpoint [16, 4]",
            "of the checkpoint is not there", "the optimizer is sgd, in the checkpoint adam", "differs between processes",
            "has other files", "expecting (folder;objects)", "f holds objects", "expecting 1-2 args", "has a state by process", "1b", "1b"]
    assert len(own) == len(want), own
    assert all(w in s for w, s in zip(want, own, strict=True)), [(w, s) for w, s in zip(want, own, strict=True) if w not in s]


@pytest.mark.sampled(3)
def test_a_save_that_fails_or_is_killed_leaves_the_old_one(tmp_path: Path) -> None:
    """Full disks by a limit on files of one process; killed after the tensors and before the index."""
    first = (*KEEP, "seed 1;m:net[];fsdp m", f"d:`$\":{tmp_path}/c\"", "ckptsave(d;(enlist`m)!enlist m)",
             "w:dict parms m;parm(m;`0.weight;5e)")
    full = f"(`$\":{tmp_path}/full\")"
    file = script(tmp_path, *first, f"if[0=rank[];{full} set 1];barrier[]",
                  "-1 @[ckptsave;(d;(enlist`m)!enlist m);::];", f"barrier[];if[0=rank[];hdel {full}]", "n:net[];fsdp n",
                  "ckptload(d;(enlist`m)!enlist n)", "say w~dict parms n",
                  f"if[0=rank[];-1 string count key`$\":{tmp_path}/c\"]",
                  "ckptsave(d;(enlist`m)!enlist m)", f"if[0=rank[];-1 string count key`$\":{tmp_path}/c\"]")
    plant = tmp_path / "plant.py"
    plant.write_text("import os\nfrom kshell.parallel import shards\nold = shards._bytes_of\n\n\ndef full(t):\n"
                     f"    if shards.group.rank() == 1 and os.path.exists('{tmp_path}/full'):\n"
                     "        raise OSError(28, 'No space left on device', 'disk')\n    return old(t)\n\n\n"
                     "shards._bytes_of = full\n")
    done = job(2, "-e", f"\\l {plant}", "-e", f"\\l {file}")
    assert done.stdout == "disk. OS reports: No space left on device\n[0] 1b\n[1] 1b\n3\n3\n", done.stderr
    plant.write_text("import os\nfrom kshell.store import atomic\natomic.PROBE[0] = lambda step: os.kill(os.getpid(), 9)\n")
    done = job(2, script(tmp_path, *first, f"\\l {plant}", "ckptsave(d;(enlist`m)!enlist m)"))
    assert done.returncode == 137
    done = job(2, script(tmp_path, *KEEP, "seed 1;m:net[];w:dict parms m;fsdp m;parm(m;`0.weight;9e)",
                         f"d:`$\":{tmp_path}/c\"", "ckptload(d;(enlist`m)!enlist m)", "say w~dict parms m",
                         "ckptsave(d;(enlist`m)!enlist m)", "if[0=rank[];-1 string count key d]"))
    assert done.stdout == "[0] 1b\n[1] 1b\n3\n", done.stderr


# ------------------------------------------------------------------ several nodes, GPUs


@pytest.mark.slow
def test_two_agents_of_torchrun(tmp_path: Path) -> None:
    """The command of docs/families/data-parallel.md, twice, as on two machines."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    file = script(tmp_path, NET, DATA, "say(rank[];world[])", "seed 1+rank[];m:net[];fsdp m;o:opt(`adam;m)",
                  "do[2;nograd o;backward mse(forward(m;shard X);shard Y);step o]",
                  "say 1=count distinct allgather dict parms m")
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    env.update({"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": "lo"})
    page = (ROOT / "docs" / "families" / "data-parallel.md").read_text()
    words = re.search(r"^torchrun (.*) -m kshell train.q$", page, re.M)[1].split()  # type: ignore[index]
    here = {"--rdzv-endpoint": f"127.0.0.1:{port}", "--nproc-per-node": "2"}
    given = dict(zip(words[::2], words[1::2], strict=True)) | here
    assert (given["--nnodes"], given["--node-rank"], given["--rdzv-backend"]) == ("2", "0", "c10d")
    agents = [subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *(w for pair in (given | {"--node-rank": str(k)}).items() for w in pair),
         "--local-addr", "127.0.0.1", "-m", "kshell", "-q", file],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        for k in range(2)]
    try:
        ends = [p.communicate(timeout=150) for p in agents]
    finally:
        for p in agents:
            p.kill()
            p.wait()
    assert [p.returncode for p in agents] == [0, 0], ends
    said = "".join(sorted(out for out, _ in ends))
    assert said == "".join(f"[{r}] {r} 4\n" for r in range(4)) + "".join(f"[{r}] 1b\n" for r in range(4)), ends


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs, there are "
                    f"{torch.cuda.device_count()}: NCCL is used where each process has its own")
def test_nccl_where_each_process_has_its_gpu(tmp_path: Path) -> None:
    file = script(tmp_path, NET, DATA, "d:`$\"cuda:\",string rank[]",
                  "new:{seed 1;m:net[];to(m;d);m};a:new[];b:new[];c:new[];ddp b;fsdp c", "x:{tensor(x;d)}",
                  "go:{[m;X;Y]o:opt(`sgd;m;.1);do[3;nograd o;backward mse(forward(m;x X);x Y);step o];value dict parms m}",
                  "say 1e-5>{max abs raze over x}each(go[a;X;Y]-)each(go[b;shard X;shard Y];go[c;shard X;shard Y])",
                  "say tensor allreduce tensor(1 2e;d)",
                  f"ckptsave(`$\":{tmp_path}/c\";(enlist`c)!enlist c);ckptload(`$\":{tmp_path}/c\";(enlist`c)!enlist c)")
    done = job(2, file)
    assert done.stdout == "[0] 11b\n[1] 11b\n[0] 2 4e\n[1] 2 4e\n" and done.returncode == 0, done.stderr
