"""Resuming is exact: 10 epochs in one process, and 5, save, a new process, restore, 5 more, give the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# the loop of an epoch: shuffled by q, dropout by torch
LOOP = r"""
x:tensor "e"$(0N 6#til 384)mod 7; y:tensor(til 64)mod 3
l:loss`ce
one:{[i]zerograd o; t:loss(l;forward(q;x i);y i); backward t; step o; return t}
epoch:{avg one each 16 cut neg[64]?64}
"""
MAKE = r"""
seed 3; system"S 3"
q:module seq(`sequential;(`linear;6;32);`relu;(`drop;.3);(`linear;32;3))
o:opt(`%s;q;.01)
"""
SAVE = r"""
`:q set state q; `:o set state o; `:r set rng[];
"""
RESTORE = r"""
q:module get`:q; o:opt(get`:o;q); rng get`:r
"""
WEIGHTS = r"""
-1 raze string raze{-8!x}each value dict parms q;
-1 .Q.s1 state[o]`options;
"""


def run(folder: Path, *parts: str) -> str:
    (folder / "s.q").write_text("".join(parts))
    done = subprocess.run([sys.executable, "-m", "kshell", "s.q"], cwd=folder, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, optimizer: str) -> None:
    whole = run(tmp_path, MAKE % optimizer, LOOP, "do[10;epoch[]]\n", WEIGHTS)
    run(tmp_path, MAKE % optimizer, LOOP, "do[5;epoch[]]\n", SAVE)
    resumed = run(tmp_path, RESTORE, LOOP, "do[5;epoch[]]\n", WEIGHTS)
    assert len(whole) > 1000
    assert resumed == whole


def test_without_the_random_states_it_differs(tmp_path: Path) -> None:
    """The comparison can fail: leaving out the generators changes the weights."""
    whole = run(tmp_path, MAKE % "adamw", LOOP, "do[2;epoch[]]\n", WEIGHTS)
    run(tmp_path, MAKE % "adamw", LOOP, "do[1;epoch[]]\n", SAVE)
    other = run(tmp_path, RESTORE.replace("; rng get`:r", ""), LOOP, "do[1;epoch[]]\n", WEIGHTS)
    assert other != whole
