"""Averages and merges of whole checkpoints in q: what is taken from where, where the result goes, what errors say."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from kshell.errors import QError
from kshell.kapi.checkpoint.trees import tensors_in
from kshell.kapi.checkpoint_algebra import merging
from kshell.kapi.checkpoint_algebra.combining import generator
from kshell.kapi.checkpoint_algebra.sources import TreeSource
from kshell.session import Session
from kshell.values.session.interrupts import PENDING


def state(seed: int, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(6, 5, generator=g).to(dtype)
    return {"model": {"w": w, "b": torch.randn(5, generator=g).to(dtype), "tied": w, "n": torch.tensor(seed)}, "epoch": seed, "note": "x"}


def saved(session: Session, n: int = 3, dtype: torch.dtype = torch.float32) -> list[dict[str, Any]]:
    """States, in a.pt, b.pt, .. and in q's a, b, .."""
    states = [state(i, dtype) for i in range(n)]
    for name, value in zip("abcdef", states, strict=False):
        torch.save(value, f"{name}.pt")
        session.run(f"{name}:ckpt`:{name}.pt")
    return states


def tensors(session: Session, line: str) -> dict[str, torch.Tensor]:
    return dict(tensors_in(session.run(line)))


CALLS = {
    "ckptavg(`:a.pt;`:b.pt;`:c.pt)": lambda x: merging.linear(x, [1, 1, 1]),
    "ckptavg((a;`:b.pt;c);1 2 3)": lambda x: merging.linear(x, [1, 2, 3]),
    "ckptsum((a;b;c);1 -2 .5)": lambda x: merging.linear(x, [1, -2, 0.5], False),
    "ckpttask(a;(b;c);1 -1;.5)": lambda x: merging.task_arithmetic(x[0], x[1:], [1, -1], 0.5),
    "ckpttask(`:a.pt;`:b.pt`:c.pt)": lambda x: merging.task_arithmetic(x[0], x[1:], [1, 1]),
    "ckptties(a;(b;c);1 2;.4)": lambda x: merging.ties(x[0], x[1:], [1, 2], [0.4, 0.4]),
    "ckptties(a;(b;c);`weights`density`lambda`normalize!(1 2;.4 .6;.5;0b))": lambda x: merging.ties(x[0], x[1:], [1, 2], [0.4, 0.6], 0.5, False),
}


@pytest.mark.parametrize("line", CALLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_tensor_is_merged_and_the_rest_is_of_the_first(line: str, dtype: torch.dtype, session: Session) -> None:
    states = saved(session, dtype=dtype)
    session.run(f"r:{line}")
    found = dict(tensors_in(session["r"]))
    assert list(found) == ["model.w", "model.b", "model.tied", "model.n"]
    for name in ("w", "b"):
        want = CALLS[line]([s["model"][name] for s in states])
        assert found[f"model.{name}"].dtype == dtype and torch.equal(found[f"model.{name}"], want)
    assert int(found["model.n"]) == 0 and session.run("(r`epoch;r`note)~(0;`x)")
    assert found["model.w"].data_ptr() == found["model.tied"].data_ptr()  # still one tensor
    again = {s: torch.load(f"{s}.pt") for s in "abc"}
    assert all(torch.equal(again[s]["model"]["w"], v["model"]["w"]) for s, v in zip("abc", states, strict=True))


def test_slerp_and_dare(session: Session) -> None:
    states = saved(session)
    w = [s["model"]["w"] for s in states]
    assert torch.equal(tensors(session, "ckptslerp(a;b;.3)")["model.w"], merging.slerp(w[0], w[1], 0.3))
    masks = [merging.dropped(30, 0.7, generator(5, "model.w", i)) for i in (0, 1)]
    for rescale in ("paper", "l1", "none"):
        for elect in (False, True):
            got = tensors(session, f"ckptdare(a;(b;c);`weights`density`rescale`seed`ties!(1 2;.7;`{rescale};5;{int(elect)}b))")
            assert torch.equal(got["model.w"], merging.dare(w[0], w[1:], [1, 2], [0.7, 0.7], masks, 1.0, rescale, elect))
    before = torch.get_rng_state()
    session.run("ckptdare(a;b)")
    assert torch.equal(before, torch.get_rng_state())


def flat(session: Session) -> None:
    saved(session)
    session.run("a:`tied _ a`model;b:`tied _ b`model;ckpt(`:fa.safetensors;a);ckpt(`:fb;b;100)")


def test_a_file_and_a_folder_get_what_a_dictionary_gets(session: Session) -> None:
    flat(session)
    want = tensors(session, "ckptavg(a;b)")
    assert session.run("`:out.safetensors ~ckptavg((`:fa.safetensors;`:fb);1 1;`:out.safetensors)") is True
    assert session.run("`:shards ~ckptavg((a;b);::;`:shards;60)") is True
    assert session.run("`:out.pt ~ckptavg((a;b);(`to;`:out.pt))") is True
    written = load_file("out.safetensors")
    assert sorted(written) == sorted(want) and all(torch.equal(written[k], want[k]) for k in want)
    for file in ("out.safetensors", "shards", "out.pt"):  # kshell's own digests are right
        again = tensors(session, f"ckpt`:{file}")
        assert list(again) == list(want) and all(torch.equal(again[k], want[k]) for k in want), file
    assert len([n for n in os.listdir("shards") if n.endswith(".safetensors")]) == 2
    # over what is there, with other tensors in other files
    assert session.run("`:shards ~ckptsum((a;b);::;`:shards)") is True
    assert torch.equal(tensors(session, "ckpt`:shards")["w"], tensors(session, "ckptsum(a;b)")["w"])
    # a source may be its own target
    session.run("ckptavg(`:fa.safetensors`:fb;::;`:fa.safetensors);ckptavg(`:fa.safetensors`:fb;::;`:fb;60)")
    assert torch.equal(tensors(session, "ckpt`:fa.safetensors")["w"], want["w"])


def test_what_is_written_holds_nested_values_only_as_pt(session: Session) -> None:
    saved(session)
    with pytest.raises(QError, match=r"ckptavg: a .safetensors file holds tensors by name, model is not a tensor"):
        session.run("ckptavg((a;b);::;`:x.safetensors)")
    session.run("ckptavg((a;b);::;`:x.pt)")
    x = torch.load("x.pt")
    assert x["epoch"] == 0 and x["model"]["w"].data_ptr() == x["model"]["tied"].data_ptr()
    assert not os.path.exists("x.safetensors")


MODULES = "m:module seq(`sequential;(`linear;`a;2;3);(`batchnorm1d;`c;3));n:module seq(`sequential;(`linear;`a;2;3);(`batchnorm1d;`c;3))"


def test_a_module_is_a_source_and_a_target(session: Session) -> None:
    session.run(f"seed 3;{MODULES}")
    m, n = session["m"].obj, session["n"].obj
    parameter, old, other = m[0].weight, m[0].weight.detach().clone(), n[0].weight.detach().clone()
    want = merging.linear([old, other], [1, 3])
    assert session.run("(::)~ckptavg((m;n);1 3;m)") is True
    assert m[0].weight is parameter and torch.equal(parameter, want) and parameter.requires_grad
    assert torch.equal(n[0].weight, other)
    session.run("d:ckptdrop(m;`c.num_batches_tracked);d[`a.weight;0]:9e")
    assert torch.equal(parameter, want)  # the dictionary has copies


@pytest.mark.parametrize(("line", "why"), [
    ("ckptavg((m;n);(`to;k))", "the module has no c.weight"),
    ("ckptavg((k;k);(`to;m))", "the result has no c."),
    ("ckptavg((w;w);(`to;k))", r"size mismatch, a.weight is \[2, 2\], given \[3, 2\]"),
    ("ckptavg((m;bad);::;m)", r"a.weight: it breaks")])
def test_a_module_changes_whole_or_not_at_all(line: str, why: str, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run(f"{MODULES};k:module seq(`sequential;(`linear;`a;2;2));w:`a.weight`a.bias!(tensor 3 2#1e;tensor 3#1e);bad:ckptavg enlist n")
    if "bad" in line:
        work = merging.linear
        count: list[int] = []

        def breaks(*args: Any) -> Any:
            count.append(1)
            if len(count) == 3:
                raise ValueError("it breaks")
            return work(*args)

        monkeypatch.setattr(merging, "linear", breaks)
        why = "c.weight: it breaks"
    handles = {x: [t.clone() for t in session[x].obj.state_dict().values()] for x in "mnk"}
    with pytest.raises(QError, match=f"^ckptavg: {why}"):
        session.run(line)
    for x, before in handles.items():
        assert all(map(torch.equal, before, session[x].obj.state_dict().values()))


@pytest.mark.parametrize(("line", "text"), [
    ("ckptavg(a;`model _ b)", "ckptavg: model.w, model.b, model.tied, model.n are in some only"),
    ("ckptavg(a`model;`w _ b`model)", "ckptavg: w is in some only"),
    ("ckptavg(enlist[`w]!enlist tensor 1 2e;enlist[`w]!enlist tensor 1 2 3e)", "ckptavg: size mismatch, w is [2] in the first, [3] in number 1"),
    ("ckptavg((a;b);1 2 3)", "ckptavg weights: expected 2 numbers, given 3 numbers"),
    ("ckptavg((a;b);1 -1)", "ckptavg weights: the sum of the weights is 0"),
    ("ckptavg((a;b);1 0w)", "ckptavg weights: expected 2 numbers, given a number that is not finite"),
    ("ckptavg(a;7)", "ckptavg: expected a dictionary of tensors, a module, or a file or folder, given long scalar"),
    ("ckptavg((a;b);::;7)", "ckptavg to: expected a file, a folder or a module, given long scalar"),
    ("ckptavg((a;b);(`bytes;7))", "ckptavg bytes: bytes is for a folder (given no folder)"),
    ("ckptavg((a;b);(`nosuch;7))", "ckptavg option: nosuch not recognized"),
    ("ckptavg(`:nosuch.pt;`:a.pt)", "nosuch.pt. OS reports: No such file or directory"),
    ("ckptslerp(a;b)", "ckptslerp: expecting two checkpoints and a number"),
    ("ckptties(a;b;1;1.5)", "ckptties density: a share from 0 to 1 is expected"),
    ("ckptdare(a;b;(`rescale;`l2))", "ckptdare rescale: unrecognized setting `l2"),
    ("ckptsum(`w`n!(tensor 1 2e;tensor 1);`w`n!(tensor 1 2;tensor 1))", "ckptsum: w is of type torch.int64 in number 1")])
def test_errors(line: str, text: str, session: Session) -> None:
    saved(session)
    with pytest.raises(QError) as error:
        session.run(line)
    assert text in error.value.text


def test_names_in_some_only_are_kept_if_asked(session: Session) -> None:
    session.run("a:`w`x!(tensor 1 2e;tensor 5e);b:`w`y!(tensor 3 4e;tensor 7e)")
    assert session.run("r:ckptavg((a;b);(`keep;1b));(key r;tensor each value r)~(`w`x`y;(2 3e;5e;7e))") is True
    assert session.run("r:ckpttask(a;b;(`keep;1b));(tensor each r)~`w`x`y!(3 4e;5e;7e)") is True


def test_reval_reads_and_does_not_write(session: Session) -> None:
    saved(session, 2)
    assert session.run("`model`epoch`note~reval parse\"key ckptavg(`:a.pt;`:b.pt)\"") is True
    with pytest.raises(QError, match="noupdate: ckptavg"):
        session.run("reval parse\"ckptavg((a;b);(`to;`:c.pt))\"")
    with pytest.raises(QError, match="access"):
        session.run("reval parse\"ckptavg(`:/etc/passwd;`:a.pt)\"")
    assert not os.path.exists("c.pt")


class Watch:
    """Counts the tensors that are in use: those that a source has given, each as one of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.most = self.given = 0
        read = TreeSource.tensor

        def tensor(source: TreeSource, name: str) -> Any:
            made = read(source, name).clone()
            self.now += 1
            self.given += 1
            self.most = max(self.most, self.now)
            weakref.finalize(made, self.gone)
            return made

        monkeypatch.setattr(TreeSource, "tensor", tensor)
        monkeypatch.setattr(TreeSource, "part", lambda source, name, start, stop: tensor(source, name).reshape(-1)[start:stop])

    def gone(self) -> None:
        self.now -= 1


@pytest.mark.parametrize(("line", "most"), [
    ("ckptavg((d;d;d;d);::;`:out.safetensors)", 2), ("ckptavg((d;d;d;d);::;`:out;9000)", 2), ("ckptties(d;(d;d);1 1;(`to;`:out.safetensors))", 3),
    ("ckpttask(d;(d;d);1 1;(`to;`:out.safetensors))", 3), ("ckptcast(d;`half;(`to;`:out.safetensors))", 2),
    ("ckptrename(d;\"^\";\"x.\";0b;`:out.safetensors)", 2), ("ckptdiff(d;d)", 2), ("ckptvocab(d;\"w*\";60;(`to;`:out.safetensors))", 2)])
def test_one_tensor_at_a_time(line: str, most: int, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 names no more are read at a time than one needs."""
    session.run("d:(`$\"w\",/:string til 40)!{tensor 50 10#`float$x}each til 40")
    gc.collect()
    watch = Watch(monkeypatch)
    session.run(line)
    assert (watch.given >= 40 or "rename" in line) and watch.most <= most


def test_types_of_8_bits(session: Session) -> None:
    a, b = ({"w": torch.tensor(x).to(torch.float8_e4m3fn)} for x in ([1.0, 2, 0], [2.0, 4, 1]))
    torch.save(a, "a.pt")
    torch.save(b, "b.pt")
    for line, want in (("ckptavg(`:a.pt;`:b.pt)", [1.5, 3, 0.5]), ("ckpttask(`:a.pt;`:b.pt;2)", [3, 6, 2]), ("ckptties(`:a.pt;`:b.pt;1;1)", [2, 4, 1]),
                       ("ckptdare(`:a.pt;`:b.pt;1;1)", [2, 4, 1]), ("ckptslerp(`:a.pt;`:b.pt;0)", [1, 2, 0])):
        found = tensors(session, line)["w"]
        assert found.dtype == torch.float8_e4m3fn and found.float().tolist() == want, line


def test_a_failure_in_the_middle_leaves_the_file(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    flat(session)
    session.run("ckptavg((a;b);::;`:out.safetensors);ckptavg((a;b);::;`:shards;60)")
    before = {name: Path(name).read_bytes() for name in ("out.safetensors", *(f"shards/{n}" for n in os.listdir("shards")))}
    left = sorted(os.listdir())
    work, count = merging.linear, [0]

    def breaks(*args: Any) -> Any:
        count[0] += 1
        if not count[0] % 2:
            raise ValueError("it breaks")
        return work(*args)

    monkeypatch.setattr(merging, "linear", breaks)
    for line in ("ckptsum((a;b);::;`:out.safetensors)", "ckptsum((a;b);::;`:shards;60)", "ckptsum((a;b);::;`:new;60)"):
        count[0] = 0
        with pytest.raises(QError, match=r"ckptsum: [bw]: it breaks"):
            session.run(line)
    assert sorted(os.listdir()) == left and {name: Path(name).read_bytes() for name in before} == before


def test_metadata_and_lists_are_those_of_the_first(session: Session) -> None:
    session.run("m:`$\"__metadata__\"")
    session.run("t:{(`w,m)!(tensor enlist x;(enlist`k)!enlist y)};ckpt(`:a.safetensors;t[1e;`first]);ckpt(`:b.safetensors;t[3e;`other])")
    session.run("ckptavg((`:a.safetensors;`:b.safetensors);1 1;`:c.safetensors)")
    assert session.run("c:ckpt`:c.safetensors;(tensor c`w;c[m]`k)~(enlist 2e;`first)") is True
    torch.save([torch.ones(2), {"x": torch.zeros(2)}, "text"], "list.pt")
    assert session.run("r:ckptavg((`:list.pt;`:list.pt));(tensor r 0;tensor r[1]`x;r 2)~(1 1e;0 0e;`text)") is True
    with pytest.raises(QError, match=r"ckptavg: the first is no dictionary, to which w can be added"):
        session.run("ckptavg((`:list.pt;(enlist`w)!enlist tensor 1e);(`keep;1b))")
    with pytest.raises(QError, match=r"ckptrename: y has no dictionary to which it could go"):
        session.run("ckptrename(`:list.pt;(enlist`1.x)!enlist`y)")
    with pytest.raises(QError, match=r"ckptavg: w.f is a lambda, which a checkpoint cannot hold"):
        session.run("ckptavg enlist(enlist`w)!enlist`f`g!({x};1)")
    torch.save({"q": torch.ones(2, dtype=torch.complex128)}, "c.pt")
    with pytest.raises(QError, match=r"ckptavg: q: a .safetensors file cannot hold this kind of tensor"):
        session.run("ckptavg(enlist`:c.pt;(`to;`:x.safetensors))")


@pytest.mark.parametrize("line", ["ckptavg((a;b);::;`:out.safetensors)", "ckptties(a;b;1;1;(`to;`:out.safetensors))", "r:ckptavg(a;b)"])
def test_an_interrupt_stops_between_pieces(line: str, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    flat(session)
    session.run("ckptsum((a;b);::;`:out.safetensors);r:0")
    before, wide = Path("out.safetensors").read_bytes(), merging.wide

    def interrupted(dtype: torch.dtype) -> Any:
        PENDING.append(signal.SIGINT)
        return wide(dtype)

    monkeypatch.setattr(merging, "wide", interrupted)
    with pytest.raises(QError, match="stop"):
        session.run(line)
    assert not PENDING and Path("out.safetensors").read_bytes() == before and session.run("r") == 0


def test_a_name_that_ends_in_a_slash_is_a_folder(session: Session) -> None:
    saved(session, 2)
    session.run("ckptavg((a`model;b`model);(`to;`:mean/))")
    before = sorted(os.listdir("mean"))
    assert before == ["model-00001-of-00001.safetensors", "model.safetensors.index.json"]
    session.run("ckptavg((a`model;a`model);(`to;`:mean))")  # it is a folder already
    assert [*load_file(next(Path("mean").glob("*.safetensors")))] and os.path.isdir("mean")
    assert torch.equal(tensors(session, "ckpt`:mean")["w"], state(0)["model"]["w"])
