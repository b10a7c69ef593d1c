"""Comparing, renaming, fitting, casting and dropping in q."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.checkpoint.trees import tensors_in
from kshell.kapi.checkpoint_algebra.naming import fitting
from kshell.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    made = Session(err=io.StringIO())
    made.run("t:{tensor`float$x};d:`m.a`m.b`m.n!(t 1 2;t 3 4;tensor 7);e:`epoch`net`list!(3;d;(t 5 6;`x))")
    return made


def names(session: Session, line: str) -> list[str]:
    return [name for name, _ in tensors_in(session.run(line))]


def test_differences(session: Session) -> None:
    session.run("f:`m.a`m.b`m.n`x!(t 1 2;t 3 5;tensor 8;t 1 2 3);r:ckptdiff(d;f)")
    assert session.run("(exec name from r;exec side from r;exec same from r)~(`m.a`m.b`m.n`x;`both`both`both`second;1000b)") is True
    assert session.run("(exec maxabs from r)~0 1 1 0n") is True
    assert session.run("(exec changed from r)~0 .5 1 0n") is True
    assert session.run("(exec size from r)~(enlist 2;enlist 2;`long$();enlist 3)") is True
    assert session.run("all exec same from ckptdiff(e;e)") is True
    session.run("ckpt(`:d.safetensors;d);ckpt(`:e.pt;e)")
    assert session.run("all exec same from ckptdiff(`:d.safetensors;d)") is True
    assert session.run("(exec side from ckptdiff(d;e))~(3#`first),4#`second") is True
    session.run("m:module enlist(`linear;2;1);o:parms m")
    assert session.run("all exec same from ckptdiff(m;m)") is True


def test_renaming_by_patterns_dictionaries_and_functions(session: Session) -> None:
    for line, want in (('ckptrename(d;"^m\\\\.";"")', ["a", "b", "n"]), ('ckptrename(d;"m.(.)";"\\\\1.w")', ["a.w", "b.w", "n.w"]),
                       ('ckptrename(d;("^m";"a$");("q";"c"))', ["q.c", "q.b", "q.n"]), ("ckptrename(d;`m.a`m.b!`m.b`m.a)", ["m.b", "m.a", "m.n"]),
                       ("ckptrename(d;{`$\"x.\",/:string x})", ["x.m.a", "x.m.b", "x.m.n"]), ("ckptrename(d;`m.a;`z)", ["z", "m.b", "m.n"])):
        assert names(session, line) == want, line
    assert session.run("(tensor each value ckptrename(d;`m.a`m.b!`m.b`m.a))~tensor each value d") is True
    assert session.run("r:ckptrename(d;`m.a;`y);r[`y;1]:9f;(tensor d`m.a)~1 9f") is True  # the same memory


def test_a_dry_run_changes_nothing_and_says_what_clashes(session: Session) -> None:
    assert session.run("r:ckptrename(d;\"[ab]$\";\"c\";1b);r~([]old:`m.a`m.b;new:`m.c`m.c;clash:11b)") is True
    assert session.run("r:ckptrename(d;`m.a;`m.b;1b);r~([]old:enlist`m.a;new:enlist`m.b;clash:enlist 1b)") is True
    assert session.run("0~count ckptrename(d;`nosuch;`x;1b)") is True
    for line, text in (("ckptrename(d;\"[ab]$\";\"c\")", "ckptrename: m.a, m.b would be named m.c"), ("ckptrename(d;`x`y!`z`w)", "ckptrename: there is no x, y"),
                       ("ckptrename(d;\"(\";\"\")", "ckptrename: the pattern (: missing )"), ("ckptrename(d;{1#x})", "ckptrename: expected a function that makes 3 names of 3"),
                       ("ckptrename(d;{`$()})", "ckptrename: expected a function"), ("ckptrename(d;\"a\")", "ckptrename: expecting a pattern and a text"),
                       ("ckptrename(d;{`a`b,`$\"\"})", "ckptrename: m.n would be named nothing"), ("ckptrename(d;{'`oops})", "oops")):
        with pytest.raises(QError) as error:
            session.run(line)
        assert text in error.value.text, error.value.text


def test_nested_names(session: Session) -> None:
    session.run("r:ckptrename(e;\"m[.]\";\"k.\")")
    assert session.run("(key r;key r`net;r`epoch)~(`epoch`net`list;`k.a`k.b`k.n;3)") is True
    session.run("r:ckptrename(e;\"^net[.]m\";\"top\")")
    assert session.run("(key r)~`epoch`list`top.a`top.b`top.n") is True
    assert session.run("(tensor r`top.b)~3 4f") is True
    session.run("r:ckptrename(e;\"^net\";\"other\")")
    assert session.run("(key r;key r`other)~(`epoch`list`other;`m.a`m.b`m.n)") is True
    session.run("x:`a`b!((enlist`c)!enlist`w`v!(t 1;t 2);`c`d!((enlist`z)!enlist t 3;7));r:ckptrename(x;\"^a\";\"b\")")
    assert session.run("(key r;key r`b;key r[`b]`c;tensor r[`b;`c]`w)~(enlist`b;`c`d;`z`w`v;1f)") is True
    session.run("r:ckptrename(x;\"^a[.]c\";\"new\")")
    assert session.run("(key r;key r`new)~(`b`new;`w`v)") is True


def test_values_are_not_written_over(session: Session) -> None:
    session.run("x:`w`epoch`model`ema!(t 1;3;t 2;(enlist`v)!enlist t 3)")
    for line, name in (("ckptrename(x;`w;`epoch)", "epoch"), ("ckptrename(x;`ema.v;`model.v)", "model"), ("ckptrename(x;`ema.v;`epoch)", "epoch")):
        with pytest.raises(QError, match=f"ckptrename: there is something with the name {name} already"):
            session.run(line)
    assert session.run("(key ckptrename(x;`w`model!`model`w))~`model`epoch`w`ema") is True


def test_a_renamed_file_has_the_same_bytes(session: Session) -> None:
    session.run("ckpt(`:d.safetensors;d);ckptrename(`:d.safetensors;`m;`q;(`to;`:q.safetensors));q:ckpt`:q.safetensors")
    assert session.run("(key q;tensor each value q)~(`q.a`q.b`q.n;tensor each value d)") is True


# ------------------------------------------------------------------ fitting

PARTS = st.lists(st.sampled_from(["layers", "0", "1", "attn", "mlp", "weight", "bias", "norm"]), min_size=1, max_size=4).map(".".join)
PREFIX = st.sampled_from(["", "module.", "_orig_mod.", "module._orig_mod.", "base_model.model.", "model.", "any.", "model.module."])


@given(st.dictionaries(PARTS, st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=6), PREFIX, PREFIX)
def test_prefixes_are_taken_off_and_put_on(sizes: dict[str, Any], before: str, after: str) -> None:
    found = fitting({after + name: size for name, size in sizes.items()}, {before + name: size for name, size in sizes.items()})
    if before == after:
        assert all(old == new for old, new in found.items())
    assert len(found) == len(sizes)
    assert all(sizes[old.removeprefix(before)] == sizes[new.removeprefix(after)] for old, new in found.items())


def test_ends_of_names_decide_where_prefixes_do_not() -> None:
    given_ = {"encoder.block.0.q.weight": (4, 4), "encoder.block.0.k.weight": (4, 4), "embed.weight": (9, 4), "x": (1,)}
    wanted = {"enc.layers.0.q.weight": (4, 4), "enc.layers.0.k.weight": (4, 4), "wte.weight": (9, 4), "y": (1,)}
    assert fitting(wanted, given_) == {"encoder.block.0.q.weight": "enc.layers.0.q.weight", "encoder.block.0.k.weight": "enc.layers.0.k.weight",
                                       "embed.weight": "wte.weight"}
    assert fitting({"a.w": (1,), "b.w": (1,)}, {"c.w": (1,), "d.w": (1,)}) == {}  # it could be either
    assert fitting({"a.w": (2,)}, {"module.a.w": (3,)}) == {}


def test_how_a_checkpoint_fits_a_module(session: Session) -> None:
    session.run("m:module seq(`sequential;(`linear;`a;2;3);(`linear;`b;3;1))")
    session.run("s:ckptrename(m;\"^\";\"module._orig_mod.\");r:ckptfit(m;s)")
    assert session.run("(count each r`missing`unexpected`size`rename)~4 4 0 4") is True
    assert session.run("all exec same from ckptdiff(m;ckptrename(s;r`rename))") is True
    session.run("w:`a.weight`a.bias`b.weight`more!(tensor 3 2#1f;tensor 3#1e;tensor 3 1#1e;tensor 1e);r:ckptfit(m;w)")
    assert session.run("(r`missing`unexpected)~(enlist`b.bias;enlist`more)") is True
    assert session.run("(r`size)~([]name:`a.weight`b.weight;wanted:(3 2;1 3);given:(3 2;3 1);dtype:`float`float;givendtype:`double`float)") is True
    assert session.run("0~count r`rename") is True
    ddp = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    torch.save({"state_dict": {f"module.{'ab'[int(k[0])]}{k[1:]}": v for k, v in ddp.state_dict().items()}, "epoch": 3}, "ddp.pt")
    session.run("r:ckptfit(m;`:ddp.pt);putstate(m;`epoch _ ckptrename(`:ddp.pt;r`rename))")
    assert all(map(torch.equal, session["m"].obj.state_dict().values(), ddp.state_dict().values()))


# ------------------------------------------------------------------ types and parts


def test_casts(session: Session) -> None:
    session.run("c:`w`b`n`s`z!(tensor 2 3#1.1e;tensor 1 2e;tensor 1 2;tensor 1e;tensor 1 70000e)")
    for line, want in (("ckptcast(c;`bfloat16)", ["bfloat16", "bfloat16", "int64", "float32", "bfloat16"]),
                       ("ckptcast(c;`bfloat16;`w`b)", ["bfloat16", "bfloat16", "int64", "float32", "float32"]),
                       ("ckptcast(c;`float64;(\"w\";\"[bz]\"))", ["float64", "float64", "int64", "float32", "float64"]),
                       ("ckptcast(c;`half;(`least;3))", ["float16", "float32", "int64", "float32", "float32"]),
                       ("ckptcast(c;`half;`s;0)", ["float32", "float32", "int64", "float16", "float32"])):
        found = dict(tensors_in(session.run(line)))
        assert [str(t.dtype).removeprefix("torch.") for t in found.values()] == want, line
    x = torch.randn(1000, generator=torch.Generator().manual_seed(1))
    torch.save({"x": x}, "x.pt")
    assert torch.equal(dict(tensors_in(session.run("ckptcast(`:x.pt;`bfloat16)")))["x"], x.to(torch.bfloat16))
    session.run("r:ckptcast(c;`half)")
    assert session.err.getvalue() == "ckptcast: 1 value is out of range in z\n"
    for line, text in (("ckptcast(c;`long)", "ckptcast: expecting a checkpoint and a floating-point type, given long"),
                       ("ckptcast(c;`half;`nosuch)", "ckptcast: no tensor has a name like nosuch"), ("ckptcast(c;`half;7)", "ckptcast names: expected names or patterns")):
        with pytest.raises(QError) as error:
            session.run(line)
        assert text in error.value.text, error.value.text


def test_parts_are_left_out(session: Session) -> None:
    torch.manual_seed(1)
    m = torch.nn.Linear(2, 3)
    o = torch.optim.Adam(m.parameters())
    m(torch.ones(1, 2)).sum().backward()
    o.step()
    torch.save({"model": m.state_dict(), "ema": m.state_dict(), "optimizer": o.state_dict(), "epoch": 4}, "run.pt")
    session.run("ckptdrop(`:run.pt;(\"ema\";\"*.exp_avg\");`:small.pt)")
    small, whole = torch.load("small.pt"), torch.load("run.pt")
    assert list(small) == ["model", "optimizer", "epoch"] and small["epoch"] == 4
    assert [list(v) for v in small["optimizer"]["state"].values()] == [["step", "exp_avg_sq"]] * 2
    assert small["optimizer"]["param_groups"] == whole["optimizer"]["param_groups"]
    assert torch.equal(small["model"]["weight"], m.weight)
    session.run("ckptdrop(`:run.pt;`optimizer`ema`epoch;`:model.pt)")
    assert list(torch.load("model.pt")) == ["model"]
    with pytest.raises(QError, match="ckptdrop: nothing has a name like nosuch"):
        session.run("ckptdrop(`:run.pt;`ema`nosuch)")
