"""Warnings of Python code: shown once for each place, as in Python."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

from kshell.muted import muted
from tests import ROOT

PROGRAM = """
p)import warnings, torch
p)def old(x):
    warnings.warn("old")
    return x
p)def caller(x):
    warnings.warn("yours", stacklevel=2)
    return x
old:.p.get[`old;<];caller:.p.get[`caller;<]
m:module enlist(`linear;2;2);o:opt(`sgd;m;.1);
-1"begin";
do[3;old 1];
s:sched(o;`steplr;3);
old 2;
t:module enlist(`transformer;4;2);
old 3;
.p.e"old(4)"
.p.e"old(5)"
-1"caller";
do[3;caller 1];
-1 .Q.s1(system"v";key`.);
"""


def test_each_place_warns_once() -> None:
    done = subprocess.run([sys.executable, "-m", "kshell", "-q"], input=PROGRAM, capture_output=True, text=True, timeout=100,
                          env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"})
    assert done.stderr == "warning: old\nwarning: yours\n"
    # what Python keeps beside the variables is none
    assert done.stdout.splitlines()[-1] == "(`m`o`s`t;`old`caller`m`o`s`t)"


def test_muted_warnings() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with muted("some"):
            warnings.warn("some text", stacklevel=1)
            warnings.warn("other text", stacklevel=1)
            with muted():
                warnings.warn("other text", stacklevel=1)
        warnings.warn("some text", stacklevel=1)
        with pytest.raises(ValueError), muted():
            raise ValueError
        warnings.warn("at last", stacklevel=1)
    assert [str(one.message) for one in shown] == ["other text", "some text", "at last"]
