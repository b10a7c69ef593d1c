"""What would end or hang the process: calls of torch that are guarded, each in a process of its own; memory that is not
there; errors that would keep the tensors of the calls that failed."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Iterator

import pytest
import torch

from kshell import registry
from kshell.errors import QError
from kshell.k_api import load_kapi
from kshell.kapi.base.handles import TensorHandle
from kshell.session import Session
from tests.kapi.base.forked import Forks

CTC = "l:loss`ctc;loss(l;tensor(`randn;5 1 3);tensor(1 2#{0});tensor enlist {1};tensor enlist {2})"
# calls of torch, what became of the process, and q texts that reach them; each must be an error
GUARDS: dict[str, tuple[str, list[str]]] = {
    "linalg.eigvals of nulls or infinities": ("ended", [
        "eigvals 2 2#0n", "eigvals 3 2 2#0w", "eigvals tensor 3 3#0n", "eig 2 2#0n", "eigh 2 2#0n", "eigvalsh 2 2#0n",
        "svd 2 2#0n", "svdvals 2 2#0n", "pinverse 2 2#0n", "mrank 2 2#0n", "cond 2 2#0n", "nnorm 2 2#0n"]),
    "ctc_loss with targets or lengths out of range": ("ended", [
        *(CTC.format(*x) for x in (("1 7", 5, 2), ("1 -7", 5, 2), ("1 2", 50, 2), ("1 2", 5, 20), ("1 2", -5, 2),
                                   ("1 2", 5, -2))),
        "ctc(tensor(`randn;5 1 3);1 2#1 7;enlist 5;enlist 2)",
        "l:loss(`ctc;9);loss(l;tensor(`randn;5 1 3);enlist 1 2;5;2)"]),
    "sparse tensors with indices beyond their size": ("ended", [
        "dense tensor(`sparse;(0 1;9 9);1 2e;2 2)", "dense sparse((0 1;-9 9);1 2e)"]),
    "linalg.lstsq by gelss without columns, or of nulls": ("ended", [
        "lstsq(tensor(3 0#0f;`double);3 1#1 2 3f;`gelss)",
        "lstsq(tensor(`zeros;3 0;`double);tensor 3 1#1 2 3f;`gelss)", "lstsq(2 2#0n;2 2#1f)", "lstsq(2 2#1f;2 2#0w)"]),
    "lu_unpack, lu_solve of pivots that do not fit": ("ended", [
        "lun(tensor 2 3 3#1f;tensor 3#1i)", "lun(3 3#1f;9 9 9i)", "lun(3 3#1f;-1 0 1i)", "lun(3 3#1f;1 2 3)",
        "lusolve(tensor 3 1#1f;tensor 2 3 3#1f;tensor 3#1i)", "lusolve(3 1#1f;3 3#1f;99 99 99i)"]),
    "embedding_bag with negative offsets": ("ended", [
        "m:module enlist(`embedbag;5;3);forward(m;tensor 1 2 3;tensor -5 2)",
        "m:module enlist(`embedbag;5;3;`maxnorm,1.);forward(m;tensor 1 2 3;tensor 0 -2)"]),
    "windows of 2^40": ("hung", [
        "m:module enlist(`maxpool1d;1099511627776);forward(m;tensor(`randn;1 1 8))",
        "m:module enlist(`maxpool1d;1099511627776;1;549755813888);forward(m;tensor(`randn;1 1 8))",
        "m:module enlist(`maxpool1d;2;1;1;1099511627776);forward(m;tensor(`randn;1 1 8))",
        "maxpool1d(tensor(`randn;1 1 8);1099511627776)", "avgpool1d(tensor(`randn;1 1 8);1099511627776)",
        "m:module enlist(`adaptmax1d;1099511627776);forward(m;tensor(`randn;1 1 8))",
        "conv1d(1 1 8#1e;1 1 2#1e;1099511627776)"]),
    "fractional_max_pool3d of -2^63": ("hung", [
        "m:module enlist(`fmaxpool3d;-9000000000000000000;2);forward(m;tensor(`randn;1 1 8 8 8))",
        "fmaxpool3d(tensor(`randn;1 1 8 8 8);-9000000000000000000;2)"]),
    "matrix_power of -2^63": ("hung", [
        "power(2 2#1 1 1 0;-9223372036854775807)", "power(2 2#1 1 1 0;0W)", "power(tensor 2 2#1f;1099511627776)"]),
    "fft of a size of 2^40, windows of 2^62": ("hung", [
        "fft(1 2f;1099511627776)", "irfft(1 2f;0W)", "hfft(1 2f;4611686018427387904)", "fftn(2 2#1f;(2;0W))",
        "hann 0W", "bartlett -1", "fftfreq 0W", "kaiser 4611686018427387904"]),
    "lcm of the least number": ("ended", ["lcm(0N;-5)", "lcm(tensor 0N 1;tensor -5 1)"]),
    "indices and classes out of range": ("an error on the CPU, a lost context on a GPU", [
        "m:module enlist(`embed;5;3;`maxnorm,1.);forward(m;tensor -99 2)", "embedding(7 8;2 2#1f)",
        "l:loss`ce;loss(l;tensor(`randn;2 3);tensor 1 99)", "onehot(tensor 1 99;3)",
        "l:loss`multilabel;loss(l;tensor(`randn;2 3);tensor(2 3#0 99 -1))", "index(tensor 1 2 3;0;tensor 99)",
        "gather(1 2 3;0;0 99)", "scatter(1 2 3;0;0 99;7 8)", "take(1 2 3;-9 99)", "indexadd(1 2 3;0;0 99;7 8)",
        "indexcopy(1 2 3;0;-1 99;7 8)", "narrow(tensor 1 2 3;0;2;9000000000000)", "topk(tensor 1 2;99)"]),
    "sizes past the memory": ("an error, or the end", [
        "repeatitems(1 2;0W)", "repeat(1 2;0W)", "tile(1 2;0W 0W)", "vander(1 2;0W)", "bincount(1 2;0W)",
        "multinomial(1 2f;0W)", "split(1 2 3;0W 5)", "chunk(1 2;-1)", "histc(1 2f;0W)", "diagflat(1 2;0W)",
        "filldiagonal(1 2;3)", "tensor(`zeros;0W)", "tensor(`arange;0W)", "tensor(`randperm;0W)"]),
}
# calls of torch that cannot be guarded: nothing here leads to them
NOWHERE = ("ldl_solve", "native_batch_norm", "segment_reduce", "set_")
TEXTS = [(call, text) for call, (_, texts) in GUARDS.items() for text in texts]


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    made = Forks()
    yield made
    made.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("call", "text"), TEXTS, ids=[f"{text[:40]}-{n}" for n, (_, text) in enumerate(TEXTS)])
def test_what_would_end_the_process(forks: Forks, call: str, text: str) -> None:
    """An error, and all is as it was."""
    found = forks.run(text)
    assert not found["signal"], f"{call}: signal {found['signal']}"
    assert found["error"] and found["whole"], found


def test_the_process_tells_ends_and_hangs(forks: Forks) -> None:
    """What the tests of guards look at would be seen: a signal, an error, a value, something that changed."""
    assert forks.run("system\"kill -11 \",string .z.i")["signal"] == 11
    assert forks.run("1+`a") == {"error": "type", "whole": True, "more": 0, "signal": 0}
    assert forks.run("a:tensor 1 2;1+1") == {"error": None, "whole": True, "more": 1, "signal": 0}
    assert not forks.run("step opt1")["whole"] and not forks.run("fill(keep;7)")["whole"]


def test_nothing_leads_to_what_cannot_be_guarded() -> None:
    load_kapi()
    targets = {e.target.rpartition(".")[2] for e in registry.every() if e.target}
    assert len(targets) > 200 and not targets & set(NOWHERE)


# ------------------------------------------------------------------ memory

# texts that need more memory than there is: what stands before ` | ` may have as much as it likes
HUNGRY = [
    "tensor(`zeros;40000000)", "tensor(`rand;8000 8000)", "tensor(`arange;20000000)", "tensor(`eye;8000)",
    "x:tensor(`rand;8000) | outer(x;x)", "x:tensor(`rand;8000 1) | mul(x;transpose x)",
    "x:tensor(`rand;8000 1) | x+transpose x", "x:tensor(`rand;8000 1) | matmul(x;transpose x)",
    "x:tensor(`ones;12000000) | cat(x;x)", "x:tensor(`ones;12000000) | copyto(x;`double)",
    "x:tensor(`ones;12000000) | to(x;`double)", "x:tensor(`ones;4000000) | repeat(x;9)",
    "x:tensor(`ones;8000) | diagflat x", "x:tensor(`ones;8000 8) | pdist x", "x:tensor(`ones;1 8) | resize(x;40000000)",
    "x:20000000#1f | tensor x", "x:tensor(`ones;24000000) | tensor x", "x:tensor(`ones;24000000) | 1+x",
    "x:tensor(`ones;12000000) | sort x", "onehot(tensor til 8000;8000)", "module enlist(`linear;8000;8000)",
    "m:module enlist(`embed;12000000;2) | clone m", "m:module enlist(`embed;12000000;2) | state m",
    "m:module enlist(`embed;12000000;2) | copyparms m",
    "m:module enlist(`embed;12000000;2);y:Sum forward(m;tensor 1 2) | backward y",
    "x:tensor(`ones;12000000) | vector(x+1;x+2)", "til 20000000", "20000000#0f", "x:5000000#0f | x,x",
    "x:20000000#0f | x+1", "x:8000#1f | x*/:x",
    # every mode of `tensor`, repeating, expanded dimensions made real, windows, triangles, grids
    *(f"tensor(`{mode};40000000)" for mode in ("empty", "ones", "randn")), "tensor(`full;40000000;7.)",
    "tensor(`linspace;0f;1f;40000000)", "tensor(`logspace;0f;1f;40000000)", "tensor(`randint;9;40000000)",
    "tensor(`randperm;20000000)", "tensor(`range;0;20000000)", "tensor(`complex;5000000 2#1f)",
    "x:tensor(`ones;4000000) | tile(x;9)", "x:tensor(`ones;4000000) | repeatitems(x;9)",
    "x:expand(tensor(`ones;1 8);8000000 8) | clone x",
    "x:expand(tensor(`ones;1 8);8000000 8) | copyto(x;`double)", "hann 40000000", "fftfreq 40000000",
    "x:tensor(`ones;8000) | vander x", "x:tensor(`ones;8000) | kron(x;x)",
    "x:tensor(`ones;12000000) | stack(x;x)", "x:tensor(`ones;8000) | cartesian(x;x)",
    # modules whose parameters are too large, of each family that has them
    "module enlist(`conv1d;4000;4000;5)", "module enlist(`conv2d;1000;1000;7)", "module enlist(`convtranspose2d;1000;1000;7)",
    "module enlist(`embed;40000000;2)", "module enlist(`embedbag;40000000;2)", "module enlist(`lstm;4000;4000)",
    "module enlist(`gru;4000;4000)", "module enlist(`bilinear;400;400;400)", "module enlist(`batchnorm1d;40000000)",
    "module enlist(`layernorm;40000000)", "module enlist(`attention;8000;8)", "module enlist(`prelu;40000000)",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", HUNGRY, ids=lambda t: t.rpartition(" | ")[2][:40])
def test_no_memory_is_an_error(forks: Forks, text: str) -> None:
    """With 64 MB to be had: 'wsfull, and all is as it was."""
    assert forks.run(text, 64) == {"error": "wsfull", "whole": True, "more": 0, "signal": 0}


@pytest.mark.parametrize("text", [
    "resize(t;40000000)", "tensor(`full;40000000;1e;t)", "tensor(`rand;40000000;t)", "Exp(tensor(`ones;12000000);t)",
    "add(tensor(`ones;12000 1);tensor(`ones;1 12000);t)", "matmul(tensor(`ones;9000 1);tensor(`ones;1 9000);t)"])
def test_an_output_without_memory_is_as_it_was(forks: Forks, text: str) -> None:
    """torch gives it its size before it has the memory: what reads it then reads what is not there."""
    found = forks.run(f"t:tensor 1 2 3e | e:@[{{{text};`made}};0;{{`$x}}];$[not e=`wsfull;'e;not 1 2 3e~tensor t;'`changed;0]",
                      64)
    assert found["error"] is None and not found["signal"], found


# optimizers, and the rows of 8 bytes that their parameter has: the first buffer fits or does not, the second does not
STEPS = {"adam": 6, "adamw": 6, "nadam": 6, "adamax": 6, "adadelta": 6, "adagrad": 12, "rmsprop": 12, "sgd": 12}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STEPS)
def test_a_step_without_memory_is_none(forks: Forks, name: str) -> None:
    """Neither the parameters nor the state of the optimizer have half of a step."""
    rows = STEPS[name] * 1000000
    found = forks.run(f"m:module enlist(`embed;{rows};2);o:opt(`{name};m{';.1;.9' * (name == 'sgd')});"
                      "backward Sum forward(m;tensor 1 2);w:tensor(parm(m;`weight);1) | "
                      "e:@[{step o;`made};0;{`$x}];$[not e=`wsfull;'e;not w~tensor(parm(m;`weight);1);'`weights;"
                      "tensorcount o;'`state;0]", 64)
    assert found["error"] is None and not found["signal"], found


def test_the_second_of_two_parameters_has_no_memory(forks: Forks) -> None:
    """The first has no momentum then, either: what torch puts there at first is whatever the memory holds."""
    found = forks.run("t:tensor(`ones;10000000;`grad);u:tensor(`ones;10000000;`grad);o:opt(`sgd;dict`t`u!(t;u);.1;.9);"
                      "backward Sum parm(o;`t);backward Sum parm(o;`u) | "
                      "e:@[{step o;`made};0;{`$x}];$[not e=`wsfull;'e;tensorcount o;'`state;0]", 64)
    assert found["error"] is None and not found["signal"], found


# ------------------------------------------------------------------ what errors keep

# forms of a wrong call with a tensor w in it
FORMS = ("{}(w;{{x}})", "{}(w;`nosuch;\"q\")", "{}(w;w;`nosuch;1b;1b;1b;1b;1b;1b;1b)", "{}(net;w;`nosuch;0b)",
         "{}[w;`nosuch]")
OUTSIDE = {"free", "return", "png", "help"}


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
def test_no_error_keeps_its_tensors() -> None:
    """Of each function: its errors are kept, and the tensor that was given goes as soon as its name does."""
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.names.load_builtins()
    session.run("net:module seq(`sequential;(`linear;`a;2;2);`relu)")
    errors: list[QError] = []
    names = [e for e in registry.entries("api") if e.name not in OUTSIDE]
    gc.collect()
    gc.disable()
    try:
        for e in names:
            for form in FORMS[:-1] if 2 not in e.fns else FORMS[-1:]:
                t = torch.ones(2, 3)
                session["w"] = TensorHandle(t)
                try:
                    session.run(form.format(e.name) + ";")
                except QError as error:
                    errors.append(error)
                    gone = weakref.ref(t)
                    session["w"] = 0
                    del t
                    assert gone() is None, (form.format(e.name), error.text)
    finally:
        gc.enable()
    assert len(errors) > 1000 and len({e.text for e in errors}) > 400
