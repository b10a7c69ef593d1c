"""Functions that take over what they are given: whatever becomes of the whole, nothing that was there is lost."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.match import match

SETUP = """
m:module seq(`sequential;(`linear;`a;2;3);(`linear;`b;3;1))
n:module enlist(`linear;`c;1;1)
e:module enlist(`encoderlayer;4;2;8)
l:loss`mse
o:opt(`adam;m;.1)
t:tensor 1 2e
u:tensor(3 4e;`grad)
v:vector(5 6;7 8e)
d:dict`p`q!(1 2;3 4e)
r:sched(o;`steplr;10)
s:sched(o;`exponentiallr;.5)
"""
# a call that gives a whole, and the names of the parts that it takes over, or has too
WHOLES = {
    "model": ("model(m;l;o)", "mlo"),
    "model in another order": ("model(o;m;l)", "mlo"),
    "model with a replaced part": ("{model(x;n);x}model(m;l;o)", "mlon"),
    "model with a replaced optimizer": ("{model(x;opt(`sgd;m;.1));x}model(m;l;o)", "mlo"),
    "vector": ("vector(t;u;1 2)", "tu"),
    "vector of one": ("vector enlist t", "t"),
    "vector of one tensor twice": ("vector(t;t)", "t"),
    "vector with a replaced tensor": ("{vector(x;0;t);x}vector(1 2;u)", "tu"),
    "vector with more": ("{vector(x;0N;t);x}vector 1 2", "t"),
    "vector joined to another": ("{vector(x;v);x}vector(t;u)", "tuv"),
    "dict": ("dict`a`b!(t;u)", "tu"),
    "dict of keys and values": ("dict(`a`b;(t;u))", "tu"),
    "dict of one tensor twice": ("dict`a`b!(t;t)", "t"),
    "dict with a replaced tensor": ("{dict(x;`a;t);x}dict`a`b!(1 2;u)", "tu"),
    "dict with more": ("{dict(x;`c`d!(t;u));x}dict`a`b!1 2", "tu"),
    "use of a tensor": ("{use[x]t;x}tensor 1", "t"),
    "use of a vector": ("{use[x]v;x}vector 1 2", "v"),
    "use of tensors in a vector": ("{use[x](t;u);x}vector 1 2", "tu"),
    "use of a dictionary": ("{use[x]d;x}dict`a`b!1 2", "d"),
    "a module put into another": ("{module(x;n);x}module seq(`sequential;`relu)", "n"),
    "a module put at a depth": ("{module(x;1;n);x}module seq(`sequential;`relu)", "n"),
    "a module as a layer": ("module seq(`sequential;n;`relu)", "n"),
    "a module in the place of a child": ("{child(x;`k;n);x}module seq(`sequential;`relu`k)", "n"),
    "an encoder of a layer": ("module enlist(`encoder;e;2)", "e"),
    "an encoder of a transformer": ("module enlist(`transformer;4;2;(`encoder;module enlist(`encoder;e;1)))", "e"),
    "an optimizer": ("opt(`sgd;m;.1)", "m"),
    "an optimizer of tensors": ("opt(`sgd;u;.1)", "u"),
    "an optimizer of a vector": ("opt(`sgd;vector enlist u;.1)", "u"),
    "a scheduler": ("sched(o;`steplr;10)", "o"),
    "a scheduler of schedulers": ("sched(o;`chainedscheduler;(r;s))", "ros"),
    "a scaling rule": ("scale(o;`linear)", "o"),
    "data": ("{train(x;`batchsize;1);train(x;t;u);x}model(m;l;o)", "mlotu"),
    "data of testing": ("{test(x;t;u);x}model(m;l;o)", "mlotu"),
    "a clone": ("clone m", "m"),
    "another handle": ("addref m", "m"),
    "the module of a model": ("module model(m;l;o)", "mlo"),
}
READ = {"m": "raze over value dict parms m", "n": "raze over value dict parms n", "e": "raze over value dict parms e",
        "l": "tensor loss(l;1 2e;2 4e)", "o": "(opt[o]`optimizer;exec name from opt[o]`parms)", "t": "tensor t",
        "u": "(tensor u;gradflag u)", "v": "vector v", "d": "dict d", "r": "sched[r]`scheduler",
        "s": "sched[s]`scheduler"}


@pytest.fixture
def s() -> Session:
    session = Session()
    for line in SETUP.strip().splitlines():
        session.run(line)
    return session


def contents(s: Session) -> dict[str, object]:
    return {k: s.run(q) for k, q in READ.items()}


def same(s: Session, before: dict[str, object]) -> None:
    gc.collect()
    now = contents(s)
    assert [k for k in before if not match(now[k], before[k])] == []
    assert all(s.run(f"mapped {k}") is True for k in before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WHOLES)
def test_an_error_later_in_the_line_loses_nothing(s: Session, name: str) -> None:
    before = contents(s)
    with pytest.raises(QError):
        s.run(f"`a+1,{WHOLES[name][0]}")
    same(s, before)
    with pytest.raises(QError):
        s.run(f"{{w:{WHOLES[name][0]};w;'`later}}[]")
    same(s, before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WHOLES)
def test_a_result_that_nothing_refers_to_loses_nothing(s: Session, name: str) -> None:
    before = contents(s)
    s.run(f"{WHOLES[name][0]};")
    same(s, before)
    s.run(f"w:{WHOLES[name][0]}")
    s.run("w:0")
    same(s, before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WHOLES)
def test_after_the_whole_is_freed_the_parts_are_there(s: Session, name: str) -> None:
    before = contents(s)
    s.run(f"w:{WHOLES[name][0]}")
    s.run("free w")
    assert s.run("mapped w") is False
    same(s, before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WHOLES)
def test_the_whole_works_without_its_parts(s: Session, name: str) -> None:
    """Handles of parts that are freed, or dropped, are not those of the whole."""
    call, parts = WHOLES[name]
    look = "$[`model~class w;model w;`optimizer~class w;opt w;`module~class w;state w;`vector~class w;vector w;"\
        "`tensor~class w;tensor w;`dictionary~class w;dict w;`scheduler~class w;sched w;objtype w]"
    s.run(f"w:{call}")
    before = s.run(look)
    for k in parts:
        s.run(f"@[free;{k};{{}}];{k}:0")
    gc.collect()
    now = s.run(look)
    assert match(now, before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WHOLES)
def test_a_snapshot_keeps_what_is_lent(s: Session, tmp_path: Path, name: str) -> None:
    before = contents(s)
    s.run(f"w:{WHOLES[name][0]}")
    mapped = [s.run(f"mapped {k}") for k in before]
    s.run(f'snapshot`$":{tmp_path}/a.ks"')
    other = Session()
    other.run(f'resume`$":{tmp_path}/a.ks"')
    assert [other.run(f"mapped {k}") for k in before] == mapped
    other.run("w:0")
    same(other, before)


@pytest.mark.parametrize("call", ["model(m;m;l;o)", "model(m;l;o;o)", "model(k;l;l)", "model(m;l;o;t)", "model(m;l)",
                                  "vector(t;`a)", "dict`a`b!(t;`a)", "dict(`a`a;(t;u))", "vector(v;9;t)",
                                  "dict(d;`a`b;enlist t)", "module(n;m)", "child(m;`zz;n)", "child(m;`a;m)",
                                  "sched(o;`chainedscheduler;(r;r))", "use[t]v", "module(m;9;n)",
                                  "module seq(`modulelist;n;n)"])
def test_a_call_that_is_refused_takes_nothing(s: Session, call: str) -> None:
    s.run("k:model(module enlist(`linear;1;1);loss`mse;opt(`sgd;n;.1))")
    before = contents(s)
    with pytest.raises(QError):
        s.run(call)
    same(s, before)


def test_a_part_is_the_object_that_the_model_has(s: Session) -> None:
    s.run("k:model(m;l;o)")
    s.run("parm(m;`a.bias;9e)")
    assert s.run("(tensor parm(k;`a.bias))~3#9e") is True
    s.run("backward(k;4 2#1e;4 1#1e);step o")
    assert s.run("(state m)~state[k]`module") is True
    assert s.run("(mapped each(m;l;o))~000b") is True
    assert s.run("count obj[]") == 9  # all but m, l and o


def test_a_part_that_is_replaced_is_its_handles_again(s: Session) -> None:
    s.run("k:model(m;l;o);model(k;n)")
    assert s.run("(mapped each(m;n;l;o))~1000b") is True


def test_an_unnamed_part_goes_with_the_whole(s: Session) -> None:
    s.run("free[]")
    s.run("v:vector(tensor 1;tensor 2);v:0;k:model(q;loss`mse;opt(`sgd;q:module enlist(`linear;1;1)));k:0;q:0")
    gc.collect()
    assert s.run("count obj[]") == 0
    s.run("a:tensor 1;v:vector a;free[];v:0")
    assert s.run("mapped a") is False
