"""All 429 functions of ktorch have an oracle: the tables of the other tests of this kind, or the calls here, which say
what functions of handles, modules, optimizers and models give; the few that have none say why."""

from __future__ import annotations

import importlib.util
import io
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import update_bn

from kshell import registry
from kshell.kapi.base.convert import as_tensor, is_array, to_q
from kshell.kapi.base.handles import TensorHandle
from kshell.session import Session
from kshell.values.base.core import NIL, Dict, List, Vec, text_of
from kshell.values.base.symbols import Sym
from kshell.values.base.types import C
from tests import ROOT
from tests.kapi import kapi_oracle
from tests.kapi.math import math_oracle
from tests.kapi.module import module_oracle
from tests.kapi.module.test_module_oracle import CALLS as MODULE_CALLS
from tests.kapi.module.test_module_oracle import DATA
from tests.kapi.optim.test_optimizers import OPTIONS
from tests.kapi.test_kapi_oracle import lines, same, statements

# statements of q, what the last gives. There: t a 2x3 tensor, b another handle of it, u a freed one, v a vector, d a
# dictionary, m a module and o its optimizer, after a backward from the sum of its output for x, l a loss, mm a model of
# n, a module like m, with data x and y. T is the tensor of t, M a plain module of the same weights and gradients.
CALLS = """
addref t|T
[c:addref t;ref t]|3
[View(t;3 2);sref t]|1
[c:View(t;3 2);sref t]|2
weakref t|1
sptr t|T.untyped_storage().data_ptr()
((ptr t)=ptr b;(ptr t)=ptr View(t;2 3);(sptr t)=sptr View(t;2 3))|[True, False, True]
class each(t;v;d;m;l;o;mm)|["tensor", "vector", "dictionary", "module", "loss", "optimizer", "model"]
objtype each(t;m;l;o;parm(m;`a.weight))|["tensor", "sequential", "mse", "sgd", "parameter"]
mapped each(t;u;1)|[True, False, False]
[free b;mapped each(t;b)]|[True, False]
[free(t;v);mapped each(t;v;b)]|[False, False, True]
exec distinct elements from obj[] where class=`module|[sum(p.numel() for p in [*M.parameters(), *M.buffers()])]
exec first bytes from obj[] where class=`tensor|T.nbytes
str t|" 1  2  3\\n 4  5  6\\n[ CPUDoubleType{2,3} ]"
dv(`a;(`b;enlist`c);enlist`d)|pairs(["a", ["b", ["c"]], ["d"]])
{x~tree dv x}(`a;(`b;enlist`c);enlist`d)|True
{x~dv tree x}((0;`a);(1;`b);(2;`c);(1;`d))|True
seq`a`b`c|["a", ["b"], ["c"]]
resolve(1;2;(3 4))|[1, 2, [3, 4]]
cols resolve(`a`b!1 2;`a`b!3 4)|["a", "b"]
setting`threads|torch.get_num_threads()
setting`interopthreads|torch.get_num_interop_threads()
setting`cuda|torch.cuda.is_available()
setting`openmp|torch.backends.openmp.is_available()
[setting`deterministic,1;r:setting`deterministic;setting`deterministic,0;r]|1
version()|torch.__version__.split("+")[0]
version[]|sum(int(n) / 100**i for i, n in enumerate(torch.__version__.split("+")[0].split(".")))
first config()|torch.__config__.show().split("\\n")[0]
options t|dict(device=str(T.device), dtype="double", layout="strided", gradient="nograd", pin="unpinned", memory="contiguous")
(options tensor(1 2e;`grad))`dtype`gradient|["float", "grad"]
cudadevice()|f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else ""
cudadevices[]|torch.cuda.device_count()
sync t|None
[seed 9;seed`cpu]|torch.manual_seed(9).initial_seed()
[seed 9;tensor(`rand;4)]|(torch.manual_seed(9), torch.rand(4))[1]
(exec parms from state m)[1]`weight|M.a.weight
(exec buffers from state m)[2]`running_var|M.b.running_var
exec name from state m|["", "a", "b", "c", "d"]
(info t)`dim`numel`itemsize`offset`ref|[T.dim(), T.numel(), T.element_size(), T.storage_offset(), 2]
(info t)`size`stride|[list(T.shape), list(T.stride())]
detail[t][`storage;`size`itemsize`data]|[6, 8, T.flatten().tolist()]
gain`leakyrelu|nn.init.calculate_gain("leaky_relu", .01)
[seed 9;randlike 3#0f]|(torch.manual_seed(9), torch.rand_like(torch.zeros(3).double()))[1]
[seed 9;randnlike 2 3#0e]|(torch.manual_seed(9), torch.randn_like(torch.zeros(2, 3)))[1]
bernoulli 1 0 1f|torch.tensor([1., 0, 1]).double()
asc multinomial(tensor 0 .5 0 .5;2)|torch.tensor([1, 3])
names m|[k for k, _ in M.named_modules() if k]
key modules m|[k for k, _ in M.named_modules() if k]
objtype each value children m|["linear", "batchnorm1d", "relu", "linear"]
key children m|[k for k, _ in M.named_children()]
parm(child(m;`d);`bias)|M.d.bias
parm(child(m;0);`weight)|M.a.weight
[training(m;0b);kforward(m;x)]|M.eval()(X)
kforward(m;x)|M.train()(X)
forward(m;x)|M.train()(X)
nforward(m;x)|M.train()(X).detach()
[nforward(m;x);buffer(m;`b.running_mean)]|(M.train()(X), M.b.running_mean)[1]
[training(m;0b);nforward(m;x);training m]|False
eforward(m;x)|M.eval()(X).detach()
tensor evaluate(m;x)|M.eval()(X).detach()
[eforward(m;x);buffer(m;`b.running_mean)]|M.b.running_mean
[step o;parm(m;`a.weight)]|(O.step(), M.a.weight)[1]
[step o;step o;parm(m;`b.bias)]|(O.step(), O.step(), M.b.bias)[2]
[lr(o;.5);step o;parm(m;`a.weight)]|(O.param_groups[0].update(lr=.5), O.step(), M.a.weight)[2]
lr o|[g["lr"] for g in O.param_groups]
(opt o)[`options;`lr`momentum]|[[g["lr"]] for g in O.param_groups] + [[g["momentum"]] for g in O.param_groups]
[zerograd o;grad parm(m;`a.weight)]|(O.zero_grad(False), M.a.weight.grad)[1]
loss(l;x;2*x)|nn.functional.mse_loss(X, 2 * X)
class each(module mm;loss mm;opt mm)|["module", "loss", "optimizer"]
(model mm)[`loss;`module]|"mse"
[run mm;parm(module mm;`a.weight)]|(epoch(), M.a.weight)[1]
run mm|epoch()
test(mm;`batchsize`tasks)|{"batchsize": 100, "tasks": 1}
[run(mm;x;y);parm(module mm;`d.bias)]|(epoch(), M.d.bias)[1]
[batchnorm mm;buffer(module mm;`b.running_mean)]|(update_bn(X.split(4), M), M.b.running_mean)[1]
[batchnorm mm;buffer(module mm;`b.running_var)]|(update_bn(X.split(4), M), M.b.running_var)[1]
batchnorm m|{"b": M.b.momentum}
[p:copyparms m;step o;avgparms(m;p);tensor(p;`d.bias)]|(M.d.bias.detach().clone() + (O.step(), M.d.bias)[1]) / 2
[freeze m;unfreeze(m;`a.weight);gradflag m]|{k: k == "a.weight" for k, _ in M.named_parameters()}
[freeze m;unfreeze m;gradflag parm(m;`d.bias)]|True
[unfreeze(m;`d.bias;7 8e);parm(m;`d.bias)]|torch.tensor([7., 8.])
png(`:F;(3 2 5#til 30))|picture("F", torch.arange(30).view(3, 2, 5))
png(`:F;tensor 1 2 3#0 50 100 150 200 250)|picture("F", torch.tensor([0, 50, 100, 150, 200, 250]).view(1, 2, 3))
"""
# why a name has no oracle: where its tests are
WITHOUT = {
    "help": "the registry's own text; test_module_oracle.test_help and tests/cases/help.q",
    "callbacks": "a table of signatures; tests/cases/ownmodules.q calls each",
    "result": "not implemented for any object, in ktorch neither; its example is the error",
}


def pairs(tree: Any, depth: int = 0) -> list[Any]:
    """The depths and values of a tree of lists."""
    return [[depth, tree[0]], *(p for part in tree[1:] for p in pairs(part, depth + 1))]


def decoded(path: Path) -> torch.Tensor:
    """The pixels of a PNG file whose rows are not filtered, channels first."""
    data, at, packed, head = path.read_bytes(), 8, b"", (0, 0, 0, 0)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        head = struct.unpack(">IIBB", body[:10]) if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    w, h, bits, color = head
    n = {0: 1, 2: 3}[color]
    rows = torch.tensor(list(zlib.decompress(packed))).view(h, 1 + w * n)
    assert bits == 8 and not rows[:, 0].any()
    return rows[:, 1:].view(h, w, n).permute(2, 0, 1)


def data_of(v: Any) -> Any:
    """A q value as Python data; a tensor as itself."""
    if isinstance(v, TensorHandle):
        return v.get()
    if isinstance(v, Dict):
        return dict(zip(data_of(v.k), data_of(v.v), strict=True))
    if v.__class__ is Sym:
        return v.s
    if getattr(v, "t", None) in (C, -C):
        return text_of(v)
    if isinstance(v, Vec) and v.t == 11:
        return [s.s for s in v.items]
    if isinstance(v, List):
        return [data_of(i) for i in v.items]
    return as_tensor(v).tolist() if is_array(v) else None if v is NIL else v


CASES = lines(CALLS, 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "text"), CASES, ids=[f"{c[0][:30]}-{n}" for n, c in enumerate(CASES)])
def test_calls(call: str, text: str, tmp_path: Path) -> None:
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.names.load_builtins()
    made = ("module seq(`sequential;(`linear;`a;3;4);(`batchnorm1d;`b;4);`relu`c;(`linear;`d;4;2))")
    session.run("t:tensor 2 3#1 2 3 4 5 6f;b:addref t;u:tensor 1;free u;v:vector(1 2f;3f);d:dict`a`b!(1 2f;3f)")
    session.run(f"seed 7;m:{made};seed 7;n:{made};o:opt(`sgd;m;.1;.9);l:loss`mse")
    x = torch.rand(10, 3, generator=torch.Generator().manual_seed(3))
    session["x"], session["y"] = TensorHandle(x), TensorHandle(x[:, :2] * 3)
    torch.manual_seed(7)
    plain = nn.Sequential()
    for name, part in (("a", nn.Linear(3, 4)), ("b", nn.BatchNorm1d(4)), ("c", nn.ReLU()), ("d", nn.Linear(4, 2))):
        plain.add_module(name, part)
    if "mm" not in call:  # the model's own module is as it was made
        plain(x).sum().backward()
    session.run("backward Sum forward(m;x);mm:model(n;loss`mse;opt(`sgd;n;.1));train(mm;`batchsize;4);train(mm;x;y)")
    optimizer = torch.optim.SGD(plain.parameters(), .1, .9 if "mm" not in call else 0., fused=True)

    def epoch() -> float:
        losses = []
        for i in range(0, 10, 4):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(plain(x[i:i + 4]), x[i:i + 4, :2] * 3)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return sum(losses) / 3

    *before, last = statements(call[1:-1]) if call.startswith("[") else [call]
    for line in before:
        session.run(line)
    got = data_of(session.run(last.replace("`:F", f"`:{tmp_path}/a.png")))
    tools = {"torch": torch, "nn": nn, "update_bn": update_bn, "pairs": pairs, "epoch": epoch, "O": optimizer, "X": x,
             "M": plain, "T": session["t"].obj if not session["t"].freed else None,
             "picture": lambda name, t: decoded(tmp_path / "a.png").equal(t) and f":{tmp_path}/a.png"}
    want = eval(text, tools)
    if isinstance(want, torch.Tensor):
        same(got if isinstance(got, torch.Tensor) else as_tensor(to_q(torch.tensor(got, dtype=want.dtype))), want)
    else:
        assert got == (pytest.approx(want) if isinstance(want, float) else want)


def words(text: str, first: bool = False) -> set[str]:
    """The names in the q text of a table's lines; or only what a line begins with."""
    fields = [line.split("|")[0] for line in text.strip().split("\n")]
    return set(fields) if first else {w for f in fields for w in re.findall(r"[A-Za-z]\w*", f)}


@pytest.fixture(scope="module")
def names() -> dict[str, set[str]]:
    """The names of ktorch, by kind."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    kinds = {k: set(v) for k, v in build.documented("ktorch.txt")[0].items() if k != "Gaps"}
    types = {k: kinds.pop(k) for k in build.MARKS}
    return types | {"functions": {n for found in kinds.values() for n in found}}


def test_every_function_has_an_oracle(names: dict[str, set[str]]) -> None:
    """429 of 429: a line of a table of oracles, or a word on why there is none."""
    known = words(CALLS) | words(kapi_oracle.CALLS) | words(MODULE_CALLS) | words(DATA)
    for table in (*math_oracle.TABLES.values(), math_oracle.OTHERS, kapi_oracle.FUNCTIONS, kapi_oracle.FILLS,
                  kapi_oracle.LOSSES):
        known |= words(table, first=True)
    found = names["functions"]
    assert len(found) == 429
    assert found - known - {"bcelogit1", "bcelogit2"} == set(WITHOUT)  # bcelogits in the table of losses
    assert all(registry.find("api", n) is not None for n in found)


def test_every_type_has_an_oracle(names: dict[str, set[str]]) -> None:
    """Each of 128 module types, 21 losses and 7 optimizers; what two of the types do is in tables of functions."""
    modules = words(module_oracle.TORCH, first=True) | words(module_oracle.OWN, first=True)
    modules |= {w for w in names["Module types"] if f"`{w}" in module_oracle.CONTAINERS}
    modules |= words(kapi_oracle.FUNCTIONS, first=True) & {"interpolate", "normalize"}
    plain = {"moduledict", "modulelist", "parmdict"}  # without a calculation: test_containers_without_calculation
    assert len(names["Module types"]) == 128 and names["Module types"] - modules == plain
    assert names["Losses"] == words(kapi_oracle.LOSSES, first=True) and len(names["Losses"]) == 21
    assert names["Optimizers"] <= set(OPTIONS) and len(names["Optimizers"]) == 7
