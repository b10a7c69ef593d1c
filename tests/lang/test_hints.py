"""Hints under errors, and warnings of what is legal q but probably not meant: for newcomers from PyTorch and Python.

A hint stands in the report of an error that ends a line; what a trap gets is the error's text, as q documents it.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from kshell import registry
from kshell.errors import QError
from kshell.kapi.base.convert import DTYPE_NAMES
from kshell.kapi.base.device_options import DEVICES, SYMBOLS
from kshell.kapi.train.data import METRICS
from kshell.session import Session
from kshell.values.base import synonyms, types

OBJECTS = ("m:module enlist(`linear;3;1)", "o:opt(`sgd;m;.1)", "l:loss`mse", "t:tensor 1 2 3e")


def session(*lines: str) -> Session:
    """A session in which some lines have run; what it prints is kept."""
    made = Session(out=io.StringIO(), err=io.StringIO())
    for line in lines:
        made.run(line)
    return made


def report(s: Session, line: str) -> tuple[str, str]:
    """The text of a line's error, and its hint as the report shows it."""
    with pytest.raises(QError) as caught:
        s.run(line)
    last = s.error_lines(caught.value)[-1]
    return caught.value.text, last.removeprefix("hint: ") if last.startswith("hint: ") else ""


# a line, the error's text, its hint
HINTS = [
    ("forward[m;t]", "rank", "forward is a k-api function, which takes one list in parentheses: forward(m;x;..)"),
    ("lr[o;.1]", "rank", "lr is a k-api function, which takes one list in parentheses: lr(o;rates)"),
    ("m t", "index: not implemented for modules", "a module is not a function: forward(m;x) is its output"),
    ("m[t]", "index: not implemented for modules", "a module is not a function: forward(m;x) is its output"),
    ("l t", "index: not implemented for losses", "a loss is not a function: loss(l;x;y) is its value"),
    ("o[]", "index: not implemented for optimizers", "an optimizer is not a function: step o makes a step"),
    ("m.fc", "type", "an object has no methods or attributes: forward(m;x) is its output"),
    ("m.weight", "type", "an object has no methods or attributes: parm(m;`weight) is its parameter of this name"),
    ("m.train[]", "type", "an object has no methods or attributes: training(m;1b) sets the mode"),
    ("s:module seq(`sequential;(`linear;`fc;3;1)); s.fc", "type",
     "an object has no methods or attributes: child(m;`fc) is its child of this name"),
    ("s:module seq(`sequential;(`linear;`fc;3;1)); s.fc.weight", "type",
     "an object has no methods or attributes: child(m;`fc) is its child of this name"),
    ("s:module seq(`sequential;(`linear;`fc;3;1)); s`fc", None,
     "a module has no index: child(m;`fc) is its child of this name"),
    ("k:model(m;loss`mse;o); k`weight", None, "a model has no index: parm(k;`weight) is its parameter of this name"),
    ("n:module enlist(`batchnorm1d;3); n`running_mean", None,
     "a module has no index: buffer(m;`running_mean) is its buffer of this name"),
    ("k:model(m;loss`mse;o); opt[k]`options", None,
     "an optimizer has no index: opt[o]`options are those of an optimizer o, opt[opt k]`options those of a model k"),
    ("m.forward t", "type", "an object has no methods or attributes: forward(m;x) is its output"),
    ("t.shape", "type", 'an object has no methods or attributes: use size, help"size" tells how'),
    ("m.state_dict()", "type",
     'an object has no methods or attributes: use state or parms or ckpt, help"state" tells how'),
    ("t.nosuch", "type", ""),
    ("len(t)", "len", "len of Python is here: count x"),
    ("for i in range(10)", "range", "range of Python is here: til n"),
    ("torch.zeros(2,3)", "torch.zeros", "there are no modules of Python here: \\?zeros searches the help by torch's names"),
    ("import torch", "torch", "there are no modules of Python here: \\?name searches the help by torch's names"),
    ("'`len", "len", ""),
    ("zz t", "zz", ""),
    ("t == 3", "=", "equality is one =, and : assigns"),
    ("# a comment", "comment", "a comment begins with /"),
    ("mse(t;t)`loss", "type", "the result of a call is f[(a;b)], not f(a;b): an item of it is (mse(..))`name"),
    ("(til 3)`loss", "type", ""),
    ("cat(t;t;1)", None, "pass the tensors as one list, followed by the dimension: cat((a;b);1)"),
    ("inv:3", "assign", "inv is a q function and cannot be assigned: choose another name"),
    ("til::3", "assign", "til is a q function and cannot be assigned: choose another name"),
    ("ema[0]:3", "assign", "ema is a q function and cannot be assigned: choose another name"),
    ("{[a] sum+:a}1", "assign", "sum is a q function and cannot be assigned: choose another name"),
    ("{x+y}[1;2;3]", "rank", "{x+y} takes 2 arguments (x and y), given 3"),
    ("{[a]a}[1;2]", "rank", "{[a]a} takes 1 argument (a), given 2"),
    ("1+{x+y}1", "type", "given a projection of {x+y} that lacks 1 of 2 arguments, where a value is expected"),
    ("1+{[alpha]alpha}", "type", "given a function {[alpha]alpha} of alpha, where a value is expected"),
    ("loss`crossentropy", "loss: unrecognized loss function: crossentropy (near `ce)", ""),
    ("loss`CrossEntropyLoss", "loss: unrecognized loss function: CrossEntropyLoss (near `ce)", ""),
    ("loss`bcewithlogits", "loss: unrecognized loss function: bcewithlogits (near `bcelogits)", ""),
    ("module enlist(`dense;3;2)", "module: unrecognized module type: `dense (near `linear)", ""),
    ("k:model(m;loss`mse;o); train(k;`metrics;`f1)", "train: unrecognized metric: f1",
     "there are `batchloss`loss`accuracy`matches`predict`output`hidden`hiddencell"),
    ("parm(m;`fc)", "parm: parameter `fc not found", "there are `weight`bias"),
    ("s:module seq(`sequential;(`linear;`fc;3;1)); child(s;`head)", "child: no child module named `head",
     "there is `fc"),
    ("k:model(m;loss`mse;o); train(k;`epochs;3)", "train: unrecognized train setting: epochs",
     "run is one pass over the data: do[3;run k] makes three"),
    ("sum(1;{x})", "type", "given a function {x} of x, where a value is expected"),
    ("forward(m;{x+y})", "forward: unrecognized arg, lambda (expected forward(m;x;..))",
     "given a function {x+y} of x and y, where a value is expected"),
    ("Exp{x+y}", "Exp: no torch type found for k: lambda",
     "given a function {x+y} of x and y, where a value is expected"),
    ("m;world{x+y}", "world: takes no argument (given function {x+y} of x and y)", ""),
    ("m;world{x+y}1", "world: takes no argument (given projection of {x+y} that lacks 1 of 2 arguments)", ""),
    ("opt(`sgd;m;`lr;.1)", "sgd lr: expected long/double scalar, given symbol scalar",
     "names and values of options are one argument: (`lr;..)"),
    ("module enlist(`lstm;3;`hiddendim;2)", "lstm hidden: expected long scalar, given symbol scalar",
     "names and values of options are one argument: (`hiddendim;..)"),
    ("backward Sum tensor 1 2e",
     "backward: element 0 of tensors does not require grad and does not have a grad_fn (given float tensor of no "
     "dimensions)", "make tensors that need a gradient with `grad, as in tensor(1 2e;`grad), or set "
     "gradflag(t;1b)"),
    ("u:Sum forward(m;2 3#1e);backward u;backward u", None,
     "recompute the output before each backward, or keep its graph: backward(t;`retain)"),
    ("backward forward(m;2 3#1e)", None,
     "call backward on a sum or mean, backward Sum t, or pass an output gradient, backward(t;g)"),
    ("w:tensor(1 2e;`grad);mul(w;2;[])", None,
     "change the values outside the autograd graph: nograd({[t]..};t)"),
    ("forward(m;2 3#1f)", None, "convert one of them: to(x;`float), or `float$x of q values"),
    ("w:tensor(1 2;`grad)", None, "make the values floats: 1 2e or 1 2f; 1 2 are longs"),
    ("grad enlist 2*tensor(1 2e;`grad)", "no gradient defined",
     "this tensor is not a leaf and keeps no gradient: call retaingrad t before backward, or make a new leaf with "
     "tensor(tensor t;`grad)"),
    ("stack(t;t;1)", None, "pass the tensors as one list, followed by the dimension: stack((a;b);1)"),
    ("stack(t;tensor 1 2)", None, ""),
    ("`bfloat16$1 2", "bfloat16", "`bfloat16 is a type of tensors: `bfloat16$tensor x"),
    ("`double$1", "double", "`double is a type of tensors: `double$tensor x, or `float$x of q values"),
    ("`bfloat16$(1;t)", "$: `bfloat16 is a type of tensors only, given long beside tensors",
     "make a tensor of each item first: tensor x"),
    ("`half$`a`b!(t;\"ab\")", "$: `half is a type of tensors only, given char beside tensors",
     "make a tensor of each item first: tensor x"),
    ("`nosuch$1 2", "nosuch", ""),
    ("seq(`sequential;1)", None, ""),
    ("module seq(`sequential;(`callback;`net;{[m;x]x};(`linear;`a;2;3)))", None,
     "what defines a callback is one item, its layers are the items after it: seq((`callback;..);(`linear;..);..)"),
    ("module seq(`sequential;(`seqnest;(`linear;2;3)))", None,
     "what defines a seqnest is one item, its layers are the items after it: seq(`seqnest;(`linear;..);..)"),
    ("module(`callback;`net;{[m;x]x};(`linear;`a;2;3))", None,
     "what defines a callback is one item, its layers are the items after it: seq((`callback;..);(`linear;..);..)"),
    ("module(`linear;`out;4;`in;3)", "linear out: expected long scalar, given symbol scalar",
     "`out was taken for the module's name: an option by its name is one item with its value, (`linear;(`out;value))"),
    ("module enlist(`linear;`a;`b)", "linear in: expected long scalar, given symbol scalar",
     "names and values of options are one argument: (`b;..)"),
    ("1+`a", "type", ""),
    ("til`a", "type", ""),
    ("{'`mine}[]", "mine", ""),
]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("lr optimizr", "did you mean optimizer or optimizer2?"),
        ("1+optimizers", "did you mean optimizer or optimizer2?"),
        ("{x+los_fn}1", "did you mean loss_fn?"),
        ("\"optimizr\"+zzz", ""),
        ("'optimizr", ""),
        ("2+elsewhere", ""),
    ],
)
def test_a_misspelt_variable_has_near_ones(line: str, hint: str) -> None:
    s = session("optimizer:1", "optimizer2:2", "loss_fn:3")
    assert report(s, line)[1] == hint


@pytest.mark.parametrize(("line", "text", "hint"), HINTS, ids=[row[0] for row in HINTS])
def test_hints(line: str, text: str | None, hint: str) -> None:
    """An error says what to do, and a trap gets the error's text alone."""
    s = session(*OBJECTS)
    got, shown = report(s, line)
    assert shown == hint and text in (got, None)
    if "assign" not in got:  # which comes before anything runs
        assert s.run(f".[{{{line}}};enlist(::);{{x}}]") is not None
        assert "hint" not in s.show(s.run(f".[{{[d]{line}}};enlist(::);{{x}}]"))


@pytest.mark.parametrize("line", ["f:{[x]", "1+(2", "x[1;2"])
def test_hint_of_a_bracket_that_is_not_closed(line: str) -> None:
    bracket = re.sub(r"[^\[({]", "", line)[0]
    assert report(session(), line) == (bracket, f"{bracket} is not closed on this line; in a file, following lines "
                                       "that begin with a blank continue it, but a line from a pipe stands alone")


# lines that run, a line that uses what is gone, the hint
GONE = [
    (("free t",), "tensor t", "the tensor was freed by: free t"),
    (("a:1;free(t;m);b:2",), "forward(m;t)", "the module was freed by: a:1;free(t;m);b:2"),
    (("free()",), "step o", "the optimizer was freed by: free()"),
    (("f:{[h]\n free h;\n 1}", "f t"), "t+1", "the tensor was freed by: free h;"),
    (("return t",), "t+1", "the tensor was freed by `return`, which returns its value"),
    (("v:vector(t;1 2)",), "tensor t", "the tensor went into another object by: v:vector(t;1 2)"),
    (("d:dict(`a`b!(t;1 2))",), "neg t", "the tensor went into another object by: d:dict(`a`b!(t;1 2))"),
    (("u:tensor 1 2", "use[u]t"), "tensor t", "the tensor went into another object by: use[u]t"),
    (("h:0;f:{[a]h::a;a}", "c:vmap(f;3 2#1e)"), "tensor h",
     "the tensor was lent to a function for the time of one call"),
]


@pytest.mark.parametrize(("before", "line", "hint"), GONE, ids=[row[0][-1] for row in GONE])
def test_a_stale_pointer_says_why(before: tuple[str, ...], line: str, hint: str) -> None:
    assert report(session(*OBJECTS, *before), line) == ("stale pointer", hint)


def test_a_module_in_another_goes_on() -> None:
    s = session(*OBJECTS, "s:module`sequential", "module(s;m)")
    assert s.show(s.run("key parms m")) == "`weight`bias"


def test_a_stale_pointer_names_the_place_in_a_script(tmp_path: Path) -> None:
    (tmp_path / "a.q").write_text("t:tensor 1 2\n/ now\nfree t\n")
    s = session(f"\\l {tmp_path}/a.q")
    assert report(s, "t+1") == ("stale pointer", f"the tensor was freed by: {tmp_path}/a.q:3: free t")


def test_parameters_that_hide_globals() -> None:
    """A lambda without a list of parameters has x, y and z of its own."""
    s = session(*OBJECTS, "x:2 3#1e", "y:1")
    own = "x in {..} is its parameter, here given nothing, not the global of this name"
    assert report(s, "{forward(m;x)}[]")[1] == own
    assert report(s, "{x+1}[]") == ("type", own)
    assert report(s, "{[x]x+1}[]") == ("type", "")  # said on purpose
    assert report(s, "{`x+1}[]") == ("type", "")  # x is not looked at
    assert report(session("a:1"), "{x+1}[]") == ("type", "")


def test_a_call_that_calls_nothing() -> None:
    """`f[]` of a function of x and y is a projection, silently: with globals of these names there is a warning, once."""
    s = session("x:1", "y:2", "step:{x+y}")
    s.run("do[300;step[]]")
    s.run("step[]")
    told = s.errors.getvalue()  # type: ignore[attr-defined]
    assert told == ("warning: {x+y} was called without arguments, which gives a projection and runs nothing: x and y "
                    "are its parameters there, not the globals x and y\n")
    assert s.show(s.run("step[]")) == "{x+y}[::]"
    for lines in (["step:{x+y}", "step[]"], ["x:1", "step:{[x;y]x+y}", "step[]"], ["x:1", "f:{x}", "f[]"]):
        assert not session(*lines).errors.getvalue()  # type: ignore[attr-defined]


NAMES = ["dist 3", "state 3", "solve(1;2)", "world 2", "names til 3", "input 3", "data 3", "test 3"]


@pytest.mark.parametrize("line", NAMES)
def test_a_name_of_the_k_api_that_a_program_forgot_to_define(line: str) -> None:
    """In a session without objects of torch; a function that defines the name hides it."""
    name = line.split()[0].split("(")[0]
    hint = f'{name} is a k-api function (help"{name}"); there is no variable with this name'
    assert report(session(), line)[1] == hint
    assert report(session(f"f:{{{line}}}"), "f[]")[1] == hint
    assert hint not in report(session(*OBJECTS), line)
    assert report(session(f"{name}:{{x+`a}}"), f"{name} 3") == ("type", "")


@pytest.mark.parametrize("line", ["ckpt`:nosuch.pt", "ckpt(`:nosuch.safetensors)", "resume`:nosuch.ks"])
def test_a_file_that_is_not_there_is_no_name_that_was_forgotten(line: str) -> None:
    """Who gives a function of the k-api a file means that function, also where it is a session's first line."""
    assert not report(session(), line)[1]


def test_a_name_of_python_that_is_defined_is_not_mistaken() -> None:
    assert report(session("len:{x+`a}"), "len 3") == ("type", "")
    assert report(session("len:{'`len}"), "len 3") == ("len", "")


def test_hints_reach_scripts_on_standard_error_only(tmp_path: Path) -> None:
    s = session(*OBJECTS)
    report(s, "m t")
    assert not s.output.getvalue() and not s.errors.getvalue()  # type: ignore[attr-defined]


# a call with a wrong name, and the names that it is told of
NEAR = [
    ("opt(`sgd;m;(`learningrate;.1))", "(near `lr)"),
    ("opt(`sgd;m;(`learning_rate;.1))", "(near `lr)"),
    ("opt(`adam;m;(`weightdecay;.1))", "(near `decay)"),
    ("opt(`adamw;m;(`weight_decay;.1))", "(near `decay)"),
    ("opt(`adam;m;(`wd;.1))", "(near `decay)"),
    ("opt(`adam;m;(`betas;.1))", "(near `beta1`beta2)"),
    ("opt(`sgd;m;(`mom;.1))", "(near `momentum)"),
    ("train(k;`batch;3)", "(near `batchsize)"),
    ("train(k;`max_grad_norm;1.)", "(near `clipnorm)"),
    ("train(k;`amp;1b)", "(near `autocast"),
    ("train(k;`gradient_accumulation_steps;2)", "(near `accumulate)"),
    ("train(k;`metrics;`acc)", "(near `accuracy)"),
    ("module enlist(`linear;3;1;(`usebias;0b))", "(near `bias)"),
    ("module enlist(`lstm;3;(`hiddendim;2))", "(near `hidden)"),
    ("module enlist(`embed;3;2;(`padding_idx;2))", "(near `padindex)"),
    ("loss(`ce;(`label_smoothing;.1))", "(near `smoothing)"),
    ("parmtable(m;([]name:enlist`weight;learningrate:.1))", "(near `lr)"),
    ("setting`num_threads", "(near `threads"),
    ("tensor(1 2e;`gpu)", "(near `cuda`mps)"), ("to(t;`GPU)", "(near `cuda`mps)"), ("to(t;`fp16)", "(near `half)"),
    ("to(m;`bf16)", "(near `bfloat16)"), ("copyto(t;`gpu)", "(near `cuda`mps)"),
    ("help`learningrate", "(near `lr"),
    ("tensor(t;`doubl)", "(near `double`cdouble)"),
    ("tensor(1 2;`doubl)", "(near `double`cdouble)"),
]


@pytest.mark.parametrize(("line", "names"), NEAR, ids=[row[0] for row in NEAR])
def test_names_that_others_use(line: str, names: str) -> None:
    """A wrong name that is right elsewhere is told what it is called here."""
    s = session(*OBJECTS, "k:model(module enlist(`linear;3;1);loss`ce;opt`sgd)")
    assert names in report(s, line)[0]


FOUND = [
    ("vector_norm", "vnorm"), ("torch.linalg.vector_norm", "vnorm"), ("repeat_interleave", "repeatitems"),
    ("register_forward_hook", "callback"), ("DataLoader", "train"), ("no_grad", "nograd"), ("state_dict", "state"),
    ("load_state_dict", "putstate"), ("clip_grad_norm_", "clip"), ("nn.CrossEntropyLoss", "ce"),
    ("DistributedDataParallel", "ddp"), ("xavier_uniform_", "xuniform"), ("CosineAnnealingLR", "cosineannealinglr"),
    ("arange", "til"), ("numpy", "tensor"), ("SummaryWriter", "logto"), ("param_groups", "parmtable"),
]


@pytest.mark.parametrize(("word", "name"), FOUND, ids=[row[0] for row in FOUND])
def test_the_search_knows_names_of_torch(word: str, name: str) -> None:
    s = session(f"\\?{word}")
    shown = s.output.getvalue().splitlines()  # type: ignore[attr-defined]
    names = [line.split()[0] for line in shown if line[:2] != "/ "]
    assert name in names[:4]


@pytest.mark.parametrize(("text", "name", "said"), [
    ("early stopping", "testrun", "a loop of q"), ("Patience", "reducelronplateau", "a loop of q"),
    ("best checkpoint", "ckpt", "putstate(k;ckpt`:best.pt)"), ("weight tying", "parm", "both are one parameter"),
    ("SIGUSR1", "", "signal.signal(signal.SIGUSR1"), ("npy", "tensor", "numpy.load"), ("rope", "", "docs/cookbook.md"),
    ("confusion_matrix", "confusion", ""), ("forward hook", "acttable", ""), ("cosine warmup", "cosine", ""),
    ("exponential moving average", "emaparms", ""), ("grouped query attention", "repeatitems", ""),
    ("linear schedule", "linear", ""), ("rates optimizer parameter", "lr", "")])
def test_the_search_knows_what_newcomers_ask_for(text: str, name: str, said: str) -> None:
    """Tasks that are no function, and several words that stand apart in the help."""
    found = session(f"\\?{text}").out.getvalue()  # type: ignore[attr-defined]
    assert said in found.split("\n")[0] or not said
    assert not name or name in [line.split()[0] for line in found.splitlines()]


def test_the_search_says_what_has_no_counterpart() -> None:
    s = session("\\?DataLoader", "\\?quantization", "\\?nosuchword")
    first, *_, last = s.output.getvalue().splitlines()  # type: ignore[attr-defined]
    assert first == "/ a model batches its own data: train(k;x;y), train(k;`batchsize`shuffle;(32;1b)), run k"
    assert last == "no help entry mentions nosuchword"


def test_the_table_of_synonyms_names_what_is_there() -> None:
    session().names.load_builtins()
    entries = {e.name for e in registry.every()}
    options = {o.name for e in registry.every() for o in e.options} | entries | set(METRICS)
    options |= {word for words in (*SYMBOLS.values(), DEVICES) for word in words}
    assert [n for names, _ in synonyms.TORCH.values() for n in names if n not in entries] == []
    assert [n for names in synonyms.OPTIONS.values() for n in names if n not in options] == []
    for table in (synonyms.OPTIONS, synonyms.TORCH):
        assert all(word == synonyms.plain(word) for word in table)


def test_a_callback_that_trains_its_layers_while_it_is_evaluated() -> None:
    """forward calculates in training mode, wherever it is called; kforward in the mode that the module is in."""
    text = "warning: forward in a callback calculates `drop in training mode: kforward keeps the mode\n"
    for call, told in (("forward", text), ("kforward", "")):
        s = session(f"m:module((`callback;`net;{{[m;x]{call}(m;`d;x)}});(`drop;`d;.5))")
        s.run("forward(m;9#1e)")
        assert not s.errors.getvalue()  # type: ignore[attr-defined]
        s.run("evaluate(m;9#1e);evaluate(m;9#1e)")
        assert s.errors.getvalue() == told  # type: ignore[attr-defined]
    s = session("d:module(`drop;.5)", "m:module enlist(`callback;{[m;x]forward(d;x)})", "training(d;0b)",
                "evaluate(m;9#1e)")
    assert not s.errors.getvalue()  # type: ignore[attr-defined]  # not a layer of the callback


def test_types_that_only_tensors_have() -> None:
    assert set(synonyms.TENSOR_TYPES) == set(DTYPE_NAMES) - set(types.BY_NAME)
    assert all(same in types.BY_NAME for same in synonyms.TENSOR_TYPES.values() if same)


def test_a_gradient_that_is_not_kept_is_warned_of_once_a_line() -> None:
    """torch says so, too; the value stays ::."""
    s = session("w:tensor(1 2e;`grad)", "u:w+1", "backward Sum u")
    assert s.run("{grad u}each til 3").items[0] is s.run("::")
    told = s.errors.getvalue()  # type: ignore[attr-defined]
    assert told.startswith("warning: grad: this tensor is not a leaf") and told.count("warning") == 1
    for lines in (["w:tensor(1 2e;`grad)", "grad w"], ["w:tensor 1 2e", "grad w+1"],
                  ["w:tensor(1 2e;`grad)", "u:w+1", "retaingrad u", "grad u"]):
        assert not session(*lines).errors.getvalue()  # type: ignore[attr-defined]
