"""What is on a GPU, or on the device that needs no hardware (`-p tests.kapi.second_device`), is computed there; files
and tensors of the CPU go with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from kshell.kapi.checkpoint.trees import tensors_in
from kshell.session import Session
from tests import ROOT

DEVICE = "cuda" if torch.cuda.is_available() else "sim"
there = pytest.mark.skipif(DEVICE == "sim" and not hasattr(torch, "sim"), reason="there is no device here")

LINES = {
    "ckptavg((m;n);1 2)": "ckptavg((c;n);1 2)",
    "ckptavg((m;`:n.safetensors;m))": "ckptavg((c;n;c))",
    "ckptavg((n;m))": "ckptavg((n;c))",
    "ckpttask(m;(n;`:n.safetensors);1 -.5;.5)": "ckpttask(c;(n;n);1 -.5;.5)",
    "ckptties(m;(n;`:n.safetensors);1 2;.5)": "ckptties(c;(n;n);1 2;.5)",
    "ckptslerp(m;`:n.safetensors;.3)": "ckptslerp(c;n;.3)",
    "ckptdare(m;n;`rescale`ties!(`l1;1b))": "ckptdare(c;n;`rescale`ties!(`l1;1b))",
    "ckptmerge(m;a)": "ckptmerge(c;a)",
    "ckptcast(m;`half)": "ckptcast(c;`half)",
    "ckptvocab(m;`a.weight`a.bias;9;`mean)": "ckptvocab(c;`a.weight`a.bias;9;`mean)",
    "ckptvocab(m;`a.weight;9)": "ckptvocab(c;`a.weight;9)",
}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The modules m on the device, c the same on the CPU, n another on the CPU and in a file, and an adapter a."""
    monkeypatch.chdir(tmp_path)
    made = Session()
    made.run(f"DEV:`{DEVICE}")
    made.run("seed 3;f:{module seq(`sequential;(`linear;`a;5;7);(`linear;`b;7;3))};c:f[];m:f[];n:f[];putstate(m;c);to(m;DEV)")
    save_file({k: v.contiguous() for k, v in made["n"].obj.state_dict().items()}, "n.safetensors")
    made.run("k:`$\"base_model.model.a.\",/:(\"lora_A.weight\";\"lora_B.weight\";\"lora_magnitude_vector\");"
             "a:`config`tensors!(`r`lora_alpha!2 4;k!(tensor 2 5#1 2 3e;tensor 7 2#1 -1e;tensor 7#1e))")
    return made


@there
@pytest.mark.parametrize("line", LINES)
def test_the_results_are_those_of_the_cpu(line: str, session: Session) -> None:
    got, want = (dict(tensors_in(session.run(text))) for text in (line, LINES[line]))
    assert list(got) == list(want)
    for name, t in want.items():
        assert (got[name].device.type == DEVICE) == (not line.startswith("ckptavg((n")), name
        assert got[name].dtype == t.dtype and torch.allclose(got[name].cpu().double(), t.double(), rtol=1e-3 if t.dtype == torch.half else 1e-5, atol=1e-5), name


@there
def test_comparing_extracting_and_writing(session: Session) -> None:
    assert session.run("all exec same from ckptdiff(m;c)") is True
    session.run("x:ckptlora(m;n;2);ckptmerge(n;x;1;(`to;`:out.safetensors));ckptmerge(n;ckptlora(m;n;0N);(`to;m))")
    assert session.run("1e-5>max exec maxabs from ckptdiff(m;c)") is True
    assert next(session["m"].obj.parameters()).device.type == DEVICE


@pytest.mark.slow
@pytest.mark.skipif(hasattr(torch, "sim"), reason="this process has it")
def test_without_hardware() -> None:
    """The tests above in a process that has the device `sim`."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.kapi.second_device", "-p", "no:xdist", "-o", "addopts=", __file__],
        capture_output=True, text=True, timeout=300, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0, done.stdout[-6000:]
    found = re.search(r"(\d+) passed", done.stdout)
    assert found and int(found[1]) == len(LINES) + 1
