"""Wrong use of every registered name: a wrong number of arguments, and twelve kinds of argument it does not expect.

Each gives a value or one q error, in seconds, and the session, its names and its handles are as they were.
"""

from __future__ import annotations

import io
import re
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.errors import ERRORS, QError, QExit
from kshell.k_api import load_kapi
from kshell.kapi.base.args import names_of, number_word
from kshell.kapi.base.convert import as_tensor, is_array, kname
from kshell.kapi.base.handles import KHandle, TensorHandle, table
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Vec, text_of
from kshell.values.base.functions import Function
from kshell.values.base.primitives import DERIVED
from kshell.values.base.symbols import sym

# what each kind is, as q text
KINDS = ["::", "()", "0N", "0W", "-1", "0n", '"abc"', "`a", "(1;`a;\"x\")", "{x}", "([]a:1 2)", "`a`b!1 2", "freed",
         "relu1", "2 2#0n"]  # fmt: skip
# calls that end, wait for input, or reach outside the session
OUTSIDE = {"exit", "hopen", "system", "read0", "setenv", "hdel", "save", "set", "load", ".Q.hg", ".Q.gc", "free",
           "rsave", "dsave", "rload"}


def names(kind: str) -> list[registry.Entry]:
    session = Session()
    session.names.load_builtins()
    return [e for e in registry.entries(kind) if e.name not in OUTSIDE and e.fns and 0 not in e.fns]


def fresh() -> Session:
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.run("freed:tensor 1 2 3f;free freed;relu1:module`relu;a:1 2 3;keep:tensor 1 2 3f")
    return session


def attempt(session: Session, text: str) -> QError | None:
    start = time.monotonic()
    try:
        session.run(text)
    except QError as e:
        return e
    except QExit:
        return None
    except BaseException as e:
        raise AssertionError(f"{text} gave {e!r}") from e
    finally:
        assert time.monotonic() - start < 20, text
    return None


def callee(e: registry.Entry) -> str:
    return f"({e.name})" if not e.name[-1].isalnum() else e.name


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["verb", "api", "name"])
def test_wrong_arguments(kind: str) -> None:
    session = fresh()
    errors = 0
    for e in names(kind):
        for n in sorted(k for k in e.fns if k > 0) or [1]:
            for x in KINDS:
                error = attempt(session, f"{callee(e)}[{';'.join([x] * n)}];")
                if error is not None:
                    errors += 1
                    line = session.error_lines(error)[0]
                    assert line.startswith("'") and len(line) <= 300, (e.name, x, line)
                    assert "Traceback" not in line
                    assert not error.text.startswith("nyi: "), (e.name, x, line)
        if attempt(session, "keep;a;relu1") is not None:
            session = fresh()
    assert errors > 100
    assert session.run("1+1") == 2


@pytest.mark.parametrize("kind", ["verb", "api", "name"])
def test_wrong_number_of_arguments(kind: str) -> None:
    session = fresh()
    for e in names(kind):
        if -1 in e.fns or e.name in ("$", ":"):  # with three arguments, forms of the compiler
            continue
        n = max(*e.fns, 2 if e.name in DERIVED else 1) + 1  # `raze[x;y]` is x,/y
        error = attempt(session, f"{callee(e)}[{';'.join(['1'] * n)}]")
        assert error is not None and error.text == "rank", (e.name, error)


def test_wrong_use_changes_no_optimizer() -> None:
    """Every way to fail in `opt` and `lr` leaves the optimizer and its container as they were."""
    session = fresh()
    session.run("m:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;2));o:opt(`adam;(m;`a);.01);k:.Q.s1 state o")
    for x in ["(o;1;m;`bad)", "(o;1;m;`lr`x)", "(o;0;(m;`zz))", "(o;5;m)", "(o;1;(m;`a))", "(o;-1;m)", "(o;0)",
              "(o;1;(m;`b);`lr;-1f;3)", "(o;1;tensor 1 2f;`lr,`x)", "(o;0;();1;2;3;4;5;6;7)", "(o;1;(m;`b);\"x\")"]:
        error = attempt(session, f"opt{x}")
        assert error is not None, x
        assert session.run("k~.Q.s1 state o") is True, (x, error.text)
    for x in ["(o;-1f)", "(o;1b)", "(o;.1 .2)", "(o;`a)", "(o;0n)"]:
        assert attempt(session, f"lr{x}") is not None, x
        assert session.run("k~.Q.s1 state o") is True, x


# ------------------------------------------------------------------ the k-api, kind by kind

# the twelve kinds of a wrong argument, as q text; `away` is a tensor on a device without memory
WRONG = {"rank": ["2 2 2 2 2 2#1e", "3e"], "type": ["`a", "\"abc\"", "0x01"], "null": ["::", "0N"],
         "empty": ["()", "0#0f", "0#`"], "stale": ["freed"], "class": ["relu1", "loss1", "opt1", "vec1"],
         "extreme": ["0W", "-0W", "0w", "1099511627776"], "nan": ["0n", "3#0n"], "mixed": ["(1;`a;\"x\")"], "function": ["{x}"],
         "device": ["away"], "shape": ["7 9#1e", "([]a:1 2)", "`a`b!1 2"]}
FIRST = ("t", "net", "opt1", "model1", "vec1")  # what stands before a wrong argument
# what messages of ktorch begin with in place of the call's name; the caret under the line shows the call
OWN_WORDS = ("stale pointer", "unrecognized", "limit", "wsfull", "children: ", "clip gradient value: ",
             "module not specified", "loss not specified", "optimizer not specified", "unable to add a ",
             "bcelogits: ", "lun: ", "ckpt: ", "tensor size mismatch, ")
# what `tensor` says of arrays that are none
CONVERSIONS = ("no torch type found for k", "unable to map mixed array", "type mismatch at depth",
               "dimension mismatch at depth", "undefined tensor")


class Same(dict[str, Any]):
    """Equal to what has the same objects under the same names."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and self.keys() == other.keys() and all(other[k] is v for k, v in self.items())


def watched(session: Session) -> Any:
    """What a failed call must leave as it was: which handles there are, and every tensor behind some of them."""
    def versions(tensors: Any) -> list[Any]:
        return [(id(t), t._version, t.requires_grad, t.dtype, t.shape, id(t.grad) if t.is_leaf else 0,
                 t.grad._version if t.is_leaf and t.grad is not None else 0) for t in tensors]

    def values(tensors: Any) -> list[Any]:
        return [(id(t), t.shape, t.stride(), t.requires_grad, t.tolist() if t.device.type == "cpu" else 0)
                for t in tensors]

    net, o, model = session["net"].obj, session["opt1"].obj.torch, session["model1"].obj
    groups = [{k: v for k, v in g.items() if k != "params"} for g in o.param_groups]
    return ({h.number for h in table()}, versions(net.parameters()), [m.training for m in net.modules()], repr(groups),
            [versions(g["params"]) for g in o.param_groups],
            versions(t for s in o.state.values() for t in s.values() if isinstance(t, torch.Tensor)),
            versions(model.module.parameters()), Same(model.train), Same(model.test), id(model.loss), id(model.optimizer),
            values(session["vec1"].get()), values([session["t"].get(), session["keep"].get()]),
            torch.is_grad_enabled(), torch.get_default_dtype(), dict(session["loss1"].obj.__dict__))


def apart() -> Session:
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.names.load_builtins()
    session.run("freed:tensor 1 2 3f;free freed;relu1:module`relu;loss1:loss`mse;vec1:vector(1 2f;3 4f);"
                "net:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;2));opt1:opt(`adam;net;.01);"
                "n2:module enlist(`linear;2;2);model1:model(n2;loss`mse;opt(`sgd;n2;.1));"
                "backward Sum forward(net;3 2#1e);step opt1;t:tensor 2 3#1 2 3 4 5 6f;keep:tensor 1 2 3f")
    session["away"] = TensorHandle(torch.empty(2, 3, device="meta"))
    return session


# ------------------------------------------------------------------ what errors of the k-api say

# what messages call some arguments, besides their kind, type, sizes and values
CALLED = {"::": ("::", "nothing", "null", "NoneType", "undefined", "empty"), "[]": ("nothing", "NoneType"),
          "()": ("nothing", "empty", "null"), "0#`": ("null", "nothing"), "0#0f": ("null", "nothing"), "0N": ("null", "nan"), "0n": ("null", "nan", "-nan"),
          "0w": ("inf",), "([]a:1 2)": ("list", "Long"), "`a`b!1 2": ("dictionary",), "0x01": ("unsigned char",)}
# a place among the arguments; how many there were; a number or size that torch found
PLACES = re.compile(r"\b(\d(st|nd|rd|th)|first|second|last|arg\[\d|argument #?\d|element\[?|entry \d|position \d)|[Ii]nput \d"
                    r"|one of the arguments")
COUNTED = re.compile(r"\bgiven \d+\b|\b\d+ (arg\S* |elements )?(given|supplied)|\d elements|: -?\d|\((\d+\)|\d+x\d)|\[\]"
                     r"|\b(got|found|but)\b.*(\d|inf|nan)")
# words before what is wanted, and what ends that
WANTED = re.compile(r"\b(expect\w*|must|should|needs?|requir\w*|only|at least)\b.*?"
                    r"(?=[,.:;( ]+(?:but|given|got|found|instead|not implemented|expected)\b|$)", re.IGNORECASE)
# words of an error that says what is wanted, or what cannot be
LIMITS = re.compile(r"expect|requir|support|must|should|need|only|not |n't|cannot|no |has to|have to|at least|up to|range"
                    r"|bounds|same|match|between|than |beyond|unable|takes|invalid|singular|is zero|already|finite|nothing to"
                    r"|unrecognized (?!\S*\s?args?|memory)|consist|undefined|is dimension|is batch|converge|negative|contains"
                    r"|conflicting|nulls|overflow|exceed|below|above|specify|length|stale", re.IGNORECASE)
# errors that are known as they are: q's and ktorch's own, and what a text that was run says
KNOWN = ("stale pointer", "limit", "wsfull", "abc", "module not specified", "loss not specified", "optimizer not specified",
         "unrecognized CUDA device, expecting cuda with valid device number, e.g. `cuda:0")


def words(x: Any) -> set[str]:
    """What a message may call a value: its kind, its type in q's, ktorch's and torch's words, its sizes and values."""
    found = set(kname(x).split())
    if isinstance(x, KHandle) and x.freed:
        return {"stale", "freed", x.kind}
    if isinstance(x, KHandle):
        found |= {x.kind, x.plural, x.obj.__class__.__name__}
        if x.kind == "optimizer":
            found |= {"adam", "sgd"}
        if x.kind == "module":
            found |= {"ReLU", "relu", "sequential", "linear"}
        if x.kind == "vector":
            found |= {"vector", "list", "dictionary"}
            for t in x.obj:
                found |= sizes(t)
    elif isinstance(x, Function):
        found.add("function")
    elif isinstance(x, Dict):
        found |= set(names_of(x.k) or ()) | words(x.v)
    elif x.__class__ is List and not is_array(x):
        found |= {w for item in x.items for w in words(item)}
    found |= set(names_of(x) or ())
    if x.__class__ is Vec and x.t == T.C:
        found.add(text_of(x))
    if isinstance(x, TensorHandle) or is_array(x):
        t = as_tensor(x)
        found |= sizes(t)
        if t.device.type == "cpu" and t.numel() < 5:
            found |= {f"{v:.6g}" for v in t.flatten().tolist()} | {str(v) for v in t.flatten().tolist()}
            found |= {number_word(v) for v in t.flatten().tolist() if isinstance(v, int)}  # 0N, 0W
    return found


def sizes(t: Any) -> set[str]:
    """Torch's words for the type of a tensor, and its sizes in the forms in which messages write them."""
    name = str(t.dtype).removeprefix("torch.")
    q = {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "uint8": "Byte", "int8": "Char",
         "bool": "Bool", "int16": "Short"}[name]
    shape = list(t.shape)
    return {name, q, q.lower(), f"{q}Tensor", str(shape), str(shape)[1:-1], "x".join(map(str, shape)), f"{t.dim()}D",
            f"{t.dim()}-D", str(t.dim()), str(t.numel()), *map(str, shape), "meta" if t.is_meta else "cpu", "tensor", "Strided"}


def arguments(session: Session, form: str) -> list[Any]:
    """The values that a form of a call gives."""
    if form.startswith("["):
        return [session.run(part) for part in parts(form[1:-1])]
    x = session.run(form)
    return x.items if x.__class__ is List and form.startswith("(") and form[1:-1] and not is_array(x) else [x]


def parts(text: str) -> list[str]:
    """What stands between the semicolons of a text that are in no brackets."""
    depth, out = 0, [""]
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        out[-1:] = [out[-1], ""] if c == ";" and not depth else [out[-1] + c]
    return out


def lacking(name: str, text: str, form: str, session: Session, *more: Any) -> str:
    """What an error of a call does not say: "given", "expected", both or neither."""
    if text in KNOWN:
        return ""
    given = arguments(session, form)
    rest = text.removeprefix(name)
    out = "" if LIMITS.search(rest) else "expected"
    known = {w for x in (*given, *more) for w in words(x)} | ({"general list"} if len(given) > 1 else set())
    known |= {w for k, called in CALLED.items() if k in (form or "[]") for w in called}
    free = WANTED.sub("", rest)
    said = COUNTED.search(rest) or any(re.search(rf"(?<!\w){re.escape(w)}(?!\w)", free) for w in known if w)
    return out if said or PLACES.search(rest) else "given " + out


def named_by(name: str, text: str) -> bool:
    said = text.partition(":")[0]
    if name == "tensor" and text.startswith(CONVERSIONS):
        return True
    return text.startswith((name + ":", name + " ", *OWN_WORDS)) or text == "abc" or \
        (len(said) > 3 and name.startswith(said)) or \
        any(registry.find(k, said) for k in ("module", "loss"))  # a text that was run; a module's or loss's complaint


@pytest.mark.sampled(24)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WRONG)
def test_wrong_kinds(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function of the k-api with each kind alone, twice, and after an object of each class: a value, or an error
    that names the call, says what was given and what was expected, and changes nothing."""
    monkeypatch.chdir(tmp_path)  # png and ckpt write what they can
    session, before, errors = apart(), None, 0
    for e in registry.entries("api"):
        for x in WRONG[kind]:
            forms = [f"({x};{x})", *(f"({a};{x})" for a in FIRST), f" {x}" if x != "::" else "[]"]
            if 2 in e.fns:
                forms = [f"[{x};{x}]", *(f"[{a};{x}]" for a in FIRST)]
            for form in forms:
                before = watched(session) if before is None else before
                error = attempt(session, e.name + form + ";")
                if error is None:  # what it changed is its purpose
                    session, before = (session if watched_or_none(session) == before else apart()), None
                    continue
                errors += 1
                assert named_by(e.name, error.text), (e.name + form, error.text)
                lacks = lacking(e.name, error.text, form, session)
                assert not lacks, (e.name + form, error.text, "it does not say what was " + lacks)
                assert unchanged(before, watched(session)), (e.name + form, error.text)
    assert errors > 2000


def unchanged(before: Any, after: Any) -> bool:
    """Is all as it was, but for handles that went because nothing referred to them?"""
    return after[0] <= before[0] and after[1:] == before[1:]


def watched_or_none(session: Session) -> Any:
    """What is watched, None if something of it is gone."""
    try:
        return watched(session)
    except (QError, KeyError, AttributeError):
        return None


load_kapi()
MODULES = [e for e in registry.entries("module") if e.examples and e.since == "ktorch"]


@pytest.mark.sampled(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WRONG)
def test_wrong_inputs_of_modules(kind: str) -> None:
    """forward, evaluate and nforward of each module type with each kind, alone and as a second input."""
    session, errors = apart(), 0
    with warnings.catch_warnings():
        for e in MODULES:
            session.run(f"m:{e.examples[0][0][0].removeprefix('objtype ')}")
            mine = session["m"].obj
            for x in WRONG[kind]:
                for form in (f"forward(m;{x})", f"evaluate(m;{x})", f"nforward(m;t;{x})"):
                    before = watched(session)
                    kept = [(p._version, p.shape) for p in mine.parameters()], [k.training for k in mine.modules()]
                    error = attempt(session, form + ";")
                    if error is None:
                        session["t"] = TensorHandle(torch.arange(6.).view(2, 3))
                        continue
                    errors += 1
                    # an error in the callback's function is that of the call there, *
                    known = form.partition("(")[0], "*" if e.name == "callback" else e.name
                    assert any(named_by(name, error.text) for name in known), (e.name, form, error.text)
                    lacks = lacking(form.partition("(")[0], error.text, form[form.index("("):], session, sym(e.name))
                    assert not lacks, (e.name, form, error.text, "it does not say what was " + lacks)
                    assert unchanged(before, watched(session)), (e.name, form, error.text)
                    assert ([(p._version, p.shape) for p in mine.parameters()],
                            [k.training for k in mine.modules()]) == kept, (e.name, form)
    assert errors > 100


@pytest.mark.sampled(18)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("kind", ["module", "loss", "optimizer"])
def test_wrong_options(kind: str, part: int) -> None:
    """Each kind for the first option of each type in order, and for each of its options by name."""
    session, errors = apart(), 0
    before = watched(session)
    start = {"module": "module enlist(`{};{})", "loss": "loss(`{};{})", "optimizer": "opt(`{};net;{})"}[kind]
    for e in list(registry.entries(kind))[part::3]:
        for x in [x for found in WRONG.values() for x in found]:
            for form in [x, *(f"(enlist`{o.name})!enlist {x}" for o in e.options)]:
                text = start.format(e.name, form)
                error = attempt(session, text + ";")
                if error is None:
                    continue
                errors += 1
                assert error.text not in ERRORS or error.text in OWN_WORDS, (text, error.text)
                # what is wrong with a rate torch says by the option's name, as in ktorch
                assert kind == "optimizer" or named_by(e.name, error.text) or error.text.startswith(kind + ": "), (
                    text, error.text)
                assert ".cpp" not in error.text, (text, error.text)  # a place in torch's source
                lacks = lacking(kind, error.text, form, session, List([sym(e.name), 0]))
                assert not lacks, (text, error.text, "it does not say what was " + lacks)
                assert unchanged(before, watched(session)), (text, error.text)
    assert errors > 150
