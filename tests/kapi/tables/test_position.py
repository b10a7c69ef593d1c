"""The place in a pass: a run that was stopped, saved or killed goes on with the next batch, to the same bits."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support import warm

TABLE = """\\S 5
n:4000;t:([]a:n?1f;b:n?1f;s:n?`u`v`w;y:n?1f)
(`:db/t/)set .Q.en[`:db;t]
seed 3;q:module seq(`sequential;(`linear;3;8);`relu;(`drop;.3);(`linear;8;1))
m:model(q;loss`mse;opt(`adam;q;.01))
train(m;`batchsize`shuffle`shuffleseed;(16;1b;7))
"""
BITS = "-1 raze string md5 raze string -8!{tensor parm(x;y)}[q]each exec name from parmtable q;\n"
DATA = {
    "rows chosen": 'train(m;`:db/t;"select a,b,s,y from t where b>.1";`window`ahead!300 1);\n',
    "all rows": "train(m;`:db/t;`window`x`y!(300;`a`b`s;`y));\n",
    "by weight": 'train(m;`:db/t;"select a,b,s,w:b*b,y from t";`weight`split`window`x`y!(`w;(.7;`a);200;`a`b`s;`y));\n',
    "in memory": 'train(m;t;"select a,b,s,y from t";`window`nulls!(500;`drop));\n',
}
PASSES = 2


def run(folder: Path, text: str) -> str:
    """What a program writes, in a process of its own."""
    (folder / "program.q").write_text(text)
    done = warm.run([sys.executable, "-m", "kshell", "-q", "program.q"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return str(done.stdout).strip()


@pytest.fixture(scope="module", params=DATA)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The data, and the bits after passes that nothing stopped."""
    data = DATA[request.param]
    bits = run(tmp_path_factory.mktemp("whole"), f"{TABLE}{data}do[{PASSES};run m];\n{BITS}")
    assert len(bits) == 32
    return data, bits


@pytest.mark.parametrize("batch", (1, 19, 100))
def test_a_pass_goes_on_from_a_snapshot_in_its_middle(tmp_path: Path, whole: tuple[str, str], batch: int) -> None:
    data, bits = whole
    stop = f"train(m;`callback;{{if[x[`batch]={batch};snapshot`:at;exit 0]}})\n"
    run(tmp_path, f"{TABLE}{data}{stop}run m;\n")
    (tmp_path / "db").rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").rename(tmp_path / "db")
    assert run(tmp_path, f"resume`:at;\ntrain(m;`callback;::)\ndo[{PASSES};run m];\n{BITS}") == bits


def test_what_an_interrupt_stopped_goes_on(tmp_path: Path, whole: tuple[str, str]) -> None:
    data, bits = whole
    stop = "train(m;`callback;{if[x[`batch]in 30 60;'stopped]})\n@[run;m;{}];@[run;m;{}];train(m;`callback;::)\n"
    assert run(tmp_path, f"{TABLE}{data}{stop}do[{PASSES};run m];\n{BITS}") == bits


def test_restore_begins_the_pass_anew(tmp_path: Path, whole: tuple[str, str]) -> None:
    data, _ = whole
    stop = "train(m;`callback;{if[x[`batch]=30;'stopped]})\n@[run;m;{}];restore m;train(m;`callback;::)\n"
    count = "n:0;train(m;`callback;{n::x`batch});c:0;train(m;`callback;{c+:1});run m;-1 string c;\n"
    expected = run(tmp_path, f"{TABLE}{data}{count}")
    assert run(tmp_path, f"{TABLE}{data}{stop}{count}") == expected


@pytest.mark.parametrize("batch", (1, 100))
@pytest.mark.parametrize("way", ("ckptsave", "state"))
def test_a_pass_goes_on_from_a_folder_or_a_state(tmp_path: Path, whole: tuple[str, str], batch: int, way: str) -> None:
    """Weights, the optimizer, the place and the random generators are all there."""
    data, bits = whole
    save, load = {
        "ckptsave": ("ckptsave(`:at;enlist[`m]!enlist m)", "ckptload(`:at;enlist[`m]!enlist m);"),
        "state": ("`:at set state m", "putstate(m;get`:at);"),
    }[way]
    run(tmp_path, f"{TABLE}{data}train(m;`callback;{{if[x[`batch]={batch};{save};exit 0]}})\nrun m;\n")
    other = TABLE.replace("seed 3", "seed 4")
    shown = "-1 .Q.s1(state m)[`place;`epoch`batch`seed`batchsize];\n"
    said = run(tmp_path, f"{other}{data}{load}\n{shown}do[{PASSES};run m];\n{shown}{BITS}").splitlines()
    assert said == [f"1 {batch} 7 16", f"{PASSES} 0 7 16", bits]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(20))
def test_a_killed_run_goes_on_from_what_it_saved(tmp_path: Path, whole: tuple[str, str], seed: int) -> None:
    data, bits = whole
    loop = f"while[passes<{PASSES};run m;passes+:1];\n"
    text = f"{TABLE}{data}passes:0\nautosave(`:kept;7;`steps);\n{loop}"
    (tmp_path / "program.q").write_text(text)
    process = warm.Process([sys.executable, "-m", "kshell", "-q", "program.q"], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "kept").exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(random.Random(seed).uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert run(tmp_path, f"resume`:kept;\n{loop}{BITS}") == bits
