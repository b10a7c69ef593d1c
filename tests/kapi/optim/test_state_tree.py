"""What optimizers keep: every road that it goes leads to the same paths and the same bits, for every optimizer of the
registry with all that can be put around it; and only one file reads it."""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.errors import QError
from kshell.kapi.base.handles import SchedulerHandle, handle
from kshell.kapi.optim.optimizer import Opt
from kshell.kapi.optim.parameters import parameters_of
from kshell.kapi.optim.scheduler import Sched
from kshell.optim.state_tree import Leaf, fitted, leaves_of, mapped
from kshell.session import Session
from tests.kapi.optim.test_stacks import DEFINE, KIND, STACKS, maker
from tests.whole.test_layers import FILES, ROOT

# ------------------------------------------------------------------ the source

OWN = {"optim/state_tree.py", "optim/fused.py", "families/mlbench/fp16.py", "families/lamb/optimizer.py", "families/mlbench/optimizers.py",
       "families/mlbench/powersgd.py", "families/streamer/optimizer.py",
       "torch_versions.py"}  # the tree, the kernels, classes of optimizers, and a method of torch's Adagrad that is mended


def reads(tree: ast.AST) -> Iterator[str]:
    """Where the state of a torch optimizer is read, and where an optimizer is asked what it has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "state":
            text = ast.unparse(node.value)
            if text.endswith(".torch") or text in ("optimizer", "inner", "opt"):
                yield ast.unparse(node)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "state":
            yield ast.unparse(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr") and \
                ast.unparse(node.args[0]) in ("o.torch", "h.obj.torch"):
            yield ast.unparse(node)


@pytest.mark.sampled(2)
def test_one_file_reads_the_state_of_optimizers() -> None:
    found = [(str(p.relative_to(ROOT)), text) for p in FILES if str(p.relative_to(ROOT)) not in OWN
             for text in reads(ast.parse(p.read_text()))]
    assert found == [
        ("host/objects/changes.py", "optimizer.state"),  # put back as it was, without a look inside
        ("host/objects/kept.py", "optimizer.state"),  # copied, and put back
        ("kapi/console/settings.py", "table().state[name]"),  # torch's settings
    ]
    planted = "o.torch.state[p]\nfor p in o.torch.state: hasattr(o.torch, 'gather')"
    assert len(list(reads(ast.parse(planted)))) == 4


def test_values_of_any_depth() -> None:
    value = {"a": [1, (2.5, None)], "b": {"c": "x", "d": []}}
    assert list(leaves_of(value)) == [(("a", 0), 1), (("a", 1, 0), 2.5), (("a", 1, 1), None), (("b", "c"), "x")]
    assert mapped(lambda path, v: (path[-1], v), value) == {
        "a": [(0, 1), ((0, 2.5), (1, None))], "b": {"c": ("c", "x"), "d": []}}


def test_buffers_get_the_types_of_those_that_the_optimizer_makes() -> None:
    p, real = torch.zeros(2, dtype=torch.float16), torch.tensor([1.5, 2.5], dtype=torch.float64)
    got = fitted({"step": 3, "master": real, "rows": real, "rates": real, "new": real, "n": [real, {"k": 1}]},
                 {"step": torch.tensor(1.0), "master": torch.zeros(1), "rows": [], "rates": [0.5], "n": (None,)}, p)
    assert got["step"].item() == 3 and got["step"].dtype == got["master"].dtype == torch.float32
    assert [t.dtype for t in got["rows"]] == [torch.float16] * 2 and got["rates"] == [1.5, 2.5]
    assert got["new"].dtype == got["n"][0].dtype == torch.float16 and got["n"][1] == {"k": 1}
    assert type(got["n"]) is tuple


# ------------------------------------------------------------------ the roads

Road = tuple[Session, str]  # where an optimizer is at the end of one


def session(*lines: str) -> Session:
    s = Session(out=io.StringIO(), err=io.StringIO())
    for line in (*DEFINE, "plateau:0b", *lines):
        s.run(line)
    return s


def opt_of(s: Session, name: str) -> Opt:
    h = handle(s.run(name))
    assert h is not None
    return h.obj  # type: ignore[no-any-return]


def schedulers_of(s: Session, o: Opt) -> list[Sched]:
    """The schedulers of an optimizer: those that have handles, or the one that was restored with it."""
    found = [h.obj for h in s.handles if isinstance(h, SchedulerHandle) and h.obj.opt is o]
    return found or ([] if o.waiting is None else [o.waiting])


def kept(s: Session, name: str, around: bool = False) -> list[tuple[str, str, Any]]:
    """All leaves, with the names of their owners: a tensor as its type and bytes; with `around` those of the rule and
    of the scheduler too."""
    o = opt_of(s, name)
    names = {id(row.p): row.name for row in parameters_of(o)}
    beside = [*o.wraps.items(), *(("sched", x) for x in schedulers_of(s, o))] if around else []
    more = [Leaf((key, *path), v, None) for key, x in beside for path, v in leaves_of(x.kept())]
    out = []
    for path, value, p in (*o.state.leaves(), *more):
        if isinstance(value, torch.Tensor):
            value = value.to_dense()
            bits = value.detach().contiguous().flatten().view(torch.uint8) if value.numel() else value
            value = str(value.dtype), list(value.shape), bytes(bits.tolist())
        out.append(("" if p is None else names[id(p)], ".".join(map(str, path)), value))
    return sorted(out, key=lambda leaf: leaf[:2])


def by_state(s: Session, make: str) -> Road:
    s.run("r:opt(state o;m)")
    return s, "r"


def by_snapshot(s: Session, make: str) -> Road:
    s.run("snapshot`:t.ks")
    t = session()
    t.run("resume`:t.ks")
    return t, "o"


def by_ckpt(s: Session, make: str) -> Road:
    s.run("ckpt(`:t.pt;o)")
    s.run(make)
    s.run("putstate(o;ckpt`:t.pt)")
    return s, "o"


def by_ckptsave(s: Session, make: str) -> Road | None:
    if opt_of(s, "o").abilities.by_process or "scale" in make:
        return None  # refused, and said so: tests/cases/ranks.q
    s.run("ckptsave(`:t.run;o)")
    s.run(make)
    s.run("ckptload(`:t.run;o)")
    return s, "o"


def by_move(s: Session, make: str) -> Road:
    s.run(f"was:first exec dtype from parmtable m;to(m;`{'half' if 'planted' in make else 'double'});to(m;was)")
    return s, "o"


def by_regrouping(s: Session, make: str) -> Road | None:
    o = opt_of(s, "o")
    if o.record.groups or o.record.parts or "fp16" in o.wraps:
        return None  # one group, groups with a meaning, a master copy for each group
    s.run("parmtable(m;update lr:.5 from parmtable[m] where name=`a.weight)")
    assert len(o.groups) == min(2, len(o.parameters()))
    return s, "o"


ROADS = [by_state, by_snapshot, by_ckpt, by_ckptsave, by_move, by_regrouping]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_every_road_keeps_paths_and_bits(road: Any, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wrong, went = [], 0
    keeps = road in (by_state, by_snapshot, by_move)  # the others are of the optimizer alone, or make other groups
    for name, around in STACKS[part::3]:
        s = session()
        make = maker(name, around)
        s.run(make)
        s.run("one each til 3")
        before = kept(s, "o", keeps)
        assert before or name in ("sgd", "signsgd", "centralizedsgd", "decentralizedsgd", "powersgd"), name
        end = road(s, make)
        if end is not None:
            went += 1
            after = kept(*end, keeps)
            if after != before:
                wrong.append((name, around, before, after))
    assert not wrong, wrong[0]
    assert went > 20


def test_the_state_of_one_process_is_not_saved_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator by process, of an optimizer that fp16 is around too."""
    monkeypatch.chdir(tmp_path)
    s = session(maker("sparsifiedsgd", "fp16"), "one 0")
    with pytest.raises(QError, match="has a state by process"):
        s.run("ckptsave(`:t.run;o)")


# ------------------------------------------------------------------ a new one

PLANTED = '''
import torch
from kshell.kapi.optim.optimizer import optimizer
from kshell.optim.abilities import Extra
from kshell.registry import Option


@optimizer("planted", Option("lr", "double", 0.1))
class Planted(Extra, torch.optim.Optimizer):
    """Steps by gradients in a copy of the parameters in double precision, and counts."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})
        self.count, self.norms, self.mode, self.best = 0, [], "plain", None

    def get_extra(self):
        return {"best": self.best, "count": self.count, "mode": self.mode, "norms": self.norms}

    def set_extra(self, extra):
        self.best, self.count, self.mode = extra["best"], extra["count"], extra["mode"]
        self.norms = [float(n) for n in extra["norms"]]

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        self.norms.append(0.5 * self.count)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    if not state:
                        state["master"], state["last"] = p.double(), [torch.tensor([0]), {"steps": 0}]
                    state["master"].sub_(p.grad.double(), alpha=group["lr"])
                    state["last"] = [state["last"][0] + 2, {"steps": state["last"][1]["steps"] + 1}]
                    p.copy_(state["master"])
'''


@pytest.fixture(scope="module", autouse=True)
def planted_taken_out() -> Iterator[None]:
    """The tests of other files list every optimizer there is."""
    yield
    registry._ENTRIES["optimizer"].pop("planted", None)


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_a_planted_optimizer_goes_every_road(road: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(PLANTED)
    if registry.find("optimizer", "planted") is None:
        registry.load_file(str(tmp_path / "planted.py"))
    make = 'begin[`plain;0b;"o:opt(`planted;m;.01)"]'
    s = session(make, "one each til 3")
    before = kept(s, "o")
    assert [leaf[:2] for leaf in before][:5] == [
        ("", "best"), ("", "count"), ("", "mode"), ("", "norms.0"), ("", "norms.1")] and len(before) == 18
    end = road(s, make)
    assert end is not None and kept(*end) == before
    o = opt_of(*end)
    assert type(o.torch.norms) is list and not KIND.get("planted")
