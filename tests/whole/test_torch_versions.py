"""Older versions of torch: what they lack is refused by name, and what they do otherwise is mended (the mends are tried
with every version)."""

from __future__ import annotations

import io
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kshell import k_api, registry, torch_versions
from kshell.kapi.base.call import mapped
from kshell.registry import Entry
from kshell.session import Session
from kshell.shell import doctor
from tests import ROOT
from tests.support import versions
from tests.support.runner import console

NEEDS = "needs torch 2.9 or later, this is 2.8.0"


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As with torch 2.8.0."""
    monkeypatch.setattr(torch_versions, "here", lambda: "2.8.0")
    yield


def test_the_oldest_is_the_one_that_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"torch>={torch_versions.OLDEST}" in project["dependencies"]
    assert f"PyTorch {torch_versions.OLDEST} or later" in (ROOT / "README.md").read_text()


def test_the_version_is_known_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = torch_versions.here()
    monkeypatch.delitem(torch_versions.sys.modules, "torch")
    assert torch_versions.here() == loaded == torch.__version__.split("+")[0]


@pytest.mark.parametrize(("version", "first", "older"), [("2.8.0", "2.9", True), ("2.9.0", "2.9", False), ("2.13.0", "2.9", False),
                                                        ("2.9.1", "2.10", True), ("", "2.9", False)])
def test_before(version: str, first: str, older: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_versions, "here", lambda: version)
    assert torch_versions.before(first) is older


# ------------------------------------------------------------------ what is not there


def said(text: str) -> str:
    return console(Session(), text).split("\n")[0]


@pytest.mark.usefixtures("old")
def test_an_optimizer_that_is_not_there_is_refused_by_name() -> None:
    assert said("m:module enlist(`linear;3;2);opt(`muon;(m;`weight);.02)") == f"'nyi: muon: {NEEDS}"
    assert NEEDS.capitalize() in console(Session(), 'help"muon"')
    assert console(Session(), "`muon in exec optimizer from help`optimizers") == "1b\n"
    assert console(Session(), "first key help`muon") == "`lr\n"
    assert console(Session(), "m:module enlist(`linear;3;2);o:opt(`adam;m);exec decay from parmtable(m;`decay)") == "0 0f\n"
    assert said("m:module enlist(`linear;3;2);parmtable(m;`decays)").startswith("'parmtable: no option named `decays")


@pytest.mark.usefixtures("old")
def test_the_doctor_lists_what_is_not_there() -> None:
    assert any(re.fullmatch(r"not in torch 2\.8\.0: .*\bmuon \(torch 2\.9\).*", line) for line in doctor.report()[0])


def test_the_doctor_says_that_a_torch_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "2.7.1")
    assert doctor._state(doctor.Need("torch", f">={torch_versions.OLDEST}", "")) == ("2.7.1, needs >=2.8", False)


PLANTED = '''
import torch
from kshell.extend import Option, api, handle, module, optimizer, tensor_handle


@api("plantfn", "plantfn t", effect="none", first_torch="99.1")
def plantfn(x):
    """The same tensor."""
    return tensor_handle(handle(x).obj)


@module("plantmodule", first_torch="99.1")
class PlantModule(torch.nn.Identity):
    """Nothing."""


@module("plantloss", kind="loss", first_torch="99.1")
class PlantLoss(torch.nn.MSELoss):
    """A loss."""


@optimizer("plantopt", Option("lr", "double", 0.1), first_torch="99.1")
class PlantOpt(torch.optim.SGD):
    """SGD."""
'''


@pytest.mark.parametrize(("text", "name"), [("plantfn tensor 1 2e", "plantfn"), ("module`plantmodule", "plantmodule"),
                                            ("module seq(`sequential;`plantmodule)", "plantmodule"), ("loss`plantloss", "plantloss"),
                                            ("opt(`plantopt;())", "plantopt"), ("plantrow 1 2e", "plantrow")])
def test_every_kind_of_entry_is_refused(text: str, name: str, tmp_path: Path) -> None:
    from kshell.kapi.math.rows import Row, register

    (tmp_path / "planted.py").write_text(PLANTED)
    session = Session(out=io.StringIO())
    registry.load_file(str(tmp_path / "planted.py"))
    register([Row("plantrow", "torch.not_there", "Nothing.", "plantrow 1|1", first_torch="99.1")], "planted")
    try:
        needs = f"needs torch 99.1 or later, this is {torch_versions.here()}"
        assert console(session, text).split("\n")[0] == f"'nyi: {name}: {needs}"
        assert needs.capitalize() in console(session, f'help"{name}"')
        versions.lacking.cache_clear()
        assert not versions.has(name) and versions.named_in(f"f(`{name};2)") == [f"{name} {needs}"]
    finally:
        versions.lacking.cache_clear()
        for kind, planted in (("api", "plantfn"), ("api", "plantrow"), ("module", "plantmodule"), ("loss", "plantloss"),
                              ("optimizer", "plantopt")):
            registry.remove(kind, planted)


def test_entries_that_need_a_version_need_one_that_may_be_missing() -> None:
    k_api.load_kapi()
    found: list[Entry] = [e for e in registry.every() if e.first_torch]
    oldest = torch_versions.numbers(torch_versions.OLDEST)
    assert found and all(torch_versions.numbers(e.first_torch) > oldest for e in found)


# ------------------------------------------------------------------ what is mended

EDGES = st.sampled_from([-1, 1, 2, -3, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
DIVISIONS = ("floor_divide", "fmod", "remainder")


def whole(n: int, dtype: torch.dtype) -> int:
    return max(-(2**31), min(n, 2**31 - 1)) if dtype is torch.int32 else n


@given(st.lists(st.tuples(EDGES, EDGES), min_size=1, max_size=9), st.sampled_from(DIVISIONS), st.booleans(), st.booleans(),
       st.sampled_from([torch.int64, torch.int32]))
def test_integers_are_divided_as_in_newer_versions(pairs: list[tuple[int, int]], name: str, alone: bool, inplace: bool,
                                                   dtype: torch.dtype) -> None:
    """Of the smallest integer by -1, which numpy does not trap, either."""
    fn = torch_versions._overflowing(getattr(torch.Tensor, name + "_") if inplace else getattr(torch, name))
    x = torch.tensor([whole(a, dtype) for a, _ in pairs], dtype=dtype)
    divisors = [whole(b, dtype) for _, b in pairs]
    y: Any = divisors[0] if alone else torch.tensor(divisors, dtype=dtype)
    wide = 2 ** (63 if dtype is torch.int64 else 31)
    want = []
    for a, b in zip(x.tolist(), divisors[:1] * len(pairs) if alone else divisors, strict=True):
        exact = {"floor_divide": a // b, "remainder": a % b, "fmod": abs(a) % abs(b) * (-1 if a < 0 else 1)}[name]
        want.append((exact + wide) % (2 * wide) - wide)
    got = fn(x.clone(), y)
    assert got.dtype is dtype and got.tolist() == want


@pytest.mark.parametrize("text", [f"{f}(tensor 0N 7;{b}{o})" for f in ("fmod", "remainder", "floordiv")
                                  for b in ("-1", "tensor -1 2") for o in ("", ";[]")] +
                         ["(tensor 0N 7)div -1", "(tensor 0N 7)mod tensor -1 -1", "-1 xbar tensor 0N 7"])
def test_the_smallest_integer_by_minus_one_ends_no_process(text: str) -> None:
    assert not said(text).startswith("'")


@pytest.mark.parametrize("kind", ["", "i", "h"])
def test_mvlgamma_of_integers_in_place_is_refused(kind: str) -> None:
    word = {"": "Long", "i": "Int", "h": "Short"}[kind]
    assert f"mvlgamma: result type {word} can't be cast to the desired output type Float" in said(f"mvlgamma(tensor 5 6{kind};1;[])")
    with pytest.raises(RuntimeError, match=f"result type {word} can't be cast"):
        torch_versions._of_floats(torch.Tensor.mvlgamma_)(torch.tensor([5, 6]).to({"": torch.int64, "i": torch.int32}.get(kind, torch.int16)), 1)
    assert torch_versions._of_floats(torch.Tensor.mvlgamma_)(torch.tensor([2.0, 3.0]), 1).tolist() == pytest.approx([0, 0.6931472])


@pytest.mark.usefixtures("old")
def test_bits_within_vmap() -> None:
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    assert torch.equal(torch_versions.bits(x, torch.int64), x.view(torch.int64))
    for dims in (0, 1):
        got = torch.vmap(lambda t: torch_versions.bits(t, torch.int64) + 1, in_dims=dims, out_dims=dims)(x)
        assert torch.equal(got, x.view(torch.int64) + 1)


def test_adagrad_takes_parameters_later() -> None:
    """As one that had them from the start."""
    class Old(torch.optim.Adagrad):
        _init_group = torch_versions._with_sums(torch.optim.Adagrad._init_group)

    def steps(later: bool) -> list[Any]:
        a, b = (torch.nn.Parameter(torch.tensor([1.0, 2.0])) for _ in range(2))
        o = Old([a] if later else [{"params": [a]}, {"params": [b]}], initial_accumulator_value=0.5)
        if later:
            o.add_param_group({"params": [b]})
        for _ in range(3):
            a.grad, b.grad = torch.ones(2), torch.tensor([1.0, -2.0])
            o.step()
        assert list(o.state[a]) == list(o.state[b]) == ["step", "sum"]
        return [a.tolist(), b.tolist(), *(v.tolist() for p in (a, b) for v in o.state[p].values())]

    assert steps(True) == steps(False)


@pytest.mark.usefixtures("old")
def test_what_gloo_prints_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    print("before", flush=True)
    with torch_versions.joining():
        os.write(1, b"[Gloo] Rank 0 is connected to 0 peer ranks.\n")
    print("after", flush=True)
    assert capfd.readouterr().out == "before\nafter\n"


def test_annealing() -> None:
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    for how in ("cos", "linear"):
        assert torch_versions.annealing(torch.optim.swa_utils.SWALR(o, 0.1, anneal_strategy=how)) == how


def test_functions_that_ask() -> None:
    """Of `backward` it is found out with a mode that counts."""
    class Counting(torch.overrides.TorchFunctionMode):
        seen = 0

        def __torch_function__(self, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen += fn is torch.autograd.backward
            return fn(*args, **(kwargs or {}))

    x = torch.ones(1, requires_grad=True) * 2
    with Counting() as mode:
        torch.autograd.backward(x)
    assert torch_versions.asks(torch.autograd.backward) is bool(mode.seen)
    assert not torch_versions.asks(len) and not torch_versions.asks(lambda: 1)


def test_an_assertion_without_words_says_what_it_expects(tmp_path: Path) -> None:
    """As those of older versions are."""
    (tmp_path / "asserts.py").write_text("class A:\n    x = -1\n    def check(self):\n        assert self.x > 0\n")
    made = registry.load_file(str(tmp_path / "asserts.py")).module.A()
    with pytest.raises(AssertionError) as failed:
        made.check()
    assert mapped("f", failed.value).text.startswith("f: expected x > 0")
