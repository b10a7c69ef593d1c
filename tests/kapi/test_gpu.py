"""What only a GPU of CUDA has: its memory and what happens when it ends, half precision, kernels compiled for it, its
profile, NCCL, and a run that goes on there in a new process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.train.sources import Reader
from kshell.session import Session
from tests import ROOT

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no cuda here")

MODEL = ("seed 3;seed(`cuda;3);q:module seq(`sequential;(`linear;8;64);`relu;(`drop;.1);(`linear;64;4));to(q;`cuda);"
         "m:model(q;loss`ce;opt(`adamw;q;.01));x:tensor(`randn;640 8);train(m;x;argmax(narrow(x;1;0;4);1));"
         "train(m;`batchsize`shuffle;64,1b);")  # fmt: skip


@pytest.fixture
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def q(*args: str, timeout: int = 120) -> str:
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-m", "kshell", *args], capture_output=True, text=True, timeout=timeout, cwd=ROOT,
                          env=dict(os.environ))
    assert done.returncode == 0 and not done.stderr, (done.stdout, done.stderr)
    return done.stdout


def test_which_there_are(session: Session) -> None:
    assert session.run("cudadevices[]") == torch.cuda.device_count()
    session.run("cudadevice`cuda:0")
    assert session.run("cudadevice()").s == "cuda:0" and session.run("device()").s.startswith("cuda")
    with pytest.raises(QError, match="cudadevice: "):
        session.run("cudadevice`cuda:99")


def test_memory_is_measured_there(session: Session) -> None:
    session.run("a:tensor(`randn;1024 1024;`cuda);mm(a;a)")
    milliseconds, most = session.run("system\"ts b:mm(a;a);c:a+a;free b;free c\"").a.tolist()
    assert 8 << 20 <= most < 12 << 20 and milliseconds < 1000
    assert session.run(".Q.w[]`gpu") >= 4 << 20 and session.run(".Q.w[]`gpupeak") >= 12 << 20


def test_the_end_of_its_memory(session: Session) -> None:
    session.run("keep:tensor(1 2 3e;`cuda)")
    total = torch.cuda.get_device_properties(0).total_memory
    with pytest.raises(QError, match=r"cuda: out of memory|wsfull"):
        session.run(f"t:tensor(`zeros;{total};`double`cuda)")
    assert session.run("((tensor keep+1)~2 3 4e)&1000e~tensor Sum tensor(`ones;1000;`cuda)")
    before = torch.cuda.memory_allocated()
    said = session.run(f"@[{{tensor(`zeros;x;`double`cuda)}};{total};{{x}}]").a.tobytes()
    assert b"memory" in said or b"wsfull" in said
    assert torch.cuda.memory_allocated() - before < 1 << 20


@pytest.mark.parametrize("how", ["`autocast`gradscale;(`half;1024.)", "enlist`autocast;enlist`bfloat16"])
def test_reduced_precision(session: Session, how: str) -> None:
    session.run(f"{MODEL}train(m;{how});a:run m;do[20;b:run m]")
    assert session.run("all(b<.7*a),b>0")
    assert {p.dtype for p in session["q"].obj.parameters()} == {torch.float32}


def test_a_run_goes_on_in_a_new_process(session: Session, tmp_path: Path) -> None:
    """Weights, moments, the order of the data and the draws of dropout on the GPU: the same bits."""
    last = "a:run m;b:run m;r:raze string md5\"c\"$-8!(a;b;value dict parms q)"
    session.run(f"{MODEL}run m;run m;snapshot`$\":{tmp_path}/s.ks\";{last}")
    again = q("-q", "-e", f"resume`$\":{tmp_path}/s.ks\";{last};-1 r;-1 string device q;").split()
    assert again[0] == session["r"].a.tobytes().decode() and again[1].startswith("cuda")


def test_order_drawn_on_the_gpu(session: Session) -> None:
    session.run(f"{MODEL}train(m;`shufflecuda;1b);to(x;`cuda);train(m;x;argmax(narrow(x;1;0;4);1));a:run m;b:run m")
    assert session.run("all 0<a,b")


def test_compiled_for_it(session: Session) -> None:
    session.run(f"{MODEL}to(x;`cuda);y:evaluate(q;x);compile q;z:evaluate(q;x)")
    assert session.run("(max abs raze/[y-z])<1e-4")
    assert session.run("f:compile{Sum x*x};14e~tensor f tensor(1 2 3e;`cuda)")


def test_profiled_there(session: Session) -> None:
    session.run("a:tensor(`randn;512 512;`cuda);t:profile(\"do[5;b:mm(a;a)]\";`torch)")
    assert session.run("count t") > 3 and session.run("any(string exec fn from t)like\"*mm*\"")


def test_in_a_group_of_one() -> None:
    """NCCL: a job of one process."""
    text = "t:tensor(1 2 3e;`cuda);r:allreduce t;-1 .Q.s1 tensor t;-1 string device t;"
    assert q("-n", "1", "-q", "-e", text).split("\n")[:2] == ["1 2 3e", "cuda:0"]


def test_a_page_shows_its_memory(session: Session) -> None:
    from kshell.kapi.console.training import _memory

    session.run("t:tensor(`zeros;1000;`cuda)")
    shown = _memory()["gpu"]
    assert shown["name"] == torch.cuda.get_device_name() and 0 < shown["used"] <= shown["peak"] <= shown["total"]


TABLE = "seed 3;q:module seq(`sequential;(`linear;8;64);`relu;(`linear;64;1));to(q;`cuda);m:model(q;loss`mse;opt(`adamw;q;.01));"


def test_a_table_in_files(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits of a pass over the same rows as tensors; the GPU itself reads batches from memory that stays in place."""
    pinned: list[bool] = []
    read = Reader.read
    monkeypatch.setattr(Reader, "read", lambda self, batch: (pinned.append(batch[0].is_pinned()), read(self, batch))[1])
    session.run(f"t:flip(`a`b`c`d`e`f`g`h`y)!9 0N#(9*1000)?1e;(`$\":{tmp_path}/t/\")set t;"
                f"{TABLE}train(m;`batchsize;64);train(m;`$\":{tmp_path}/t\");a:run m;b:run m")
    assert len(pinned) == 32 and all(pinned)
    session.run(f"{TABLE}train(m;`batchsize;64);train(m;tensor flip value flip delete y from t;tensor enlist each t`y);c:run m;d:run m")
    assert session.run("(a~c)&b~d")


def test_a_pass_over_a_table_goes_on_in_a_new_process(session: Session, tmp_path: Path) -> None:
    path = f"`$\":{tmp_path}/s.ks\""
    last = "r:raze string md5\"c\"$-8!value dict parms q"
    session.run(f"t:flip(`a`b`c`d`e`f`g`h`y)!9 0N#(9*1000)?1e;(`$\":{tmp_path}/t/\")set t;{TABLE}"
                f"train(m;`batchsize`shuffle;64,1b);train(m;`$\":{tmp_path}/t\");run m;"
                f"train(m;`callback;{{if[x[`batch]=7;snapshot {path}]}});run m;{last}")
    again = q("-q", "-e", f"resume {path};run m;{last};-1 r;-1 string device q;").split()
    assert again[0] == session["r"].a.tobytes().decode() and again[1].startswith("cuda")


def test_tokens_that_a_module_generates_there(session: Session) -> None:
    """Those of the CPU."""
    session.run("seed 2;a:module seq(`sequential;(`embed;50;32);(`gqa;32;4;2;`rope`causal!(`rope;1b));(`linear;32;50));"
                "b:generate(a;1 2 3;20);to(a;`cuda);c:generate(a;1 2 3;20)")
    assert session.run("b~c")
