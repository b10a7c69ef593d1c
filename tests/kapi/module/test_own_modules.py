"""Modules of classes that are not torch's: kept, replaced in, called by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import kshell
from kshell import registry
from kshell.errors import QError
from tests.kapi.module import own_modules as own
from tests.support import warm

# the types are there for these tests alone: other tests count the types that kshell has
OWN = [registry.find("module", name) for name in ("ownnet", "ownouter")]
for entry in OWN:
    registry.remove("module", entry.name)


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    for entry in OWN:
        registry.add(entry)
    yield
    for entry in OWN:
        registry.remove("module", entry.name)


@pytest.fixture
def s() -> kshell.Session:
    s = kshell.Session()
    s.run("system\"S 7\";x:tensor(`randn;5 4)")
    return s


def true(s: kshell.Session, text: str) -> None:
    assert s.run(text) is True, text


# ------------------------------------------------------------------ options


def test_options_have_any_name_and_their_defaults_reach_the_class(s: kshell.Session) -> None:
    for q, said in (("`ownnet", ("small", 4, 0.5)), ("enlist(`ownnet;`m;`big)", ("big", 4, 0.5)),
                    ("enlist(`ownnet;`name,`big)", ("big", 4, 0.5)), ("enlist(`ownnet;`m;`big;3;.1)", ("big", 3, 0.1)),
                    ("enlist(`ownnet;`type`parent`name!(6;.2;`z))", ("z", 6, 0.2))):
        s.run(f"m:module {q}")
        assert s["m"].said == said
        true(s, "(state m)~state module state m")
    true(s, "(help`ownnet)~`name`type`parent!(`small;4;.5)")
    true(s, "(help`ownouter)~(enlist`width)!enlist`required")
    with pytest.raises(QError, match="ownouter: no width given"):
        s.run("module`ownouter")


# ------------------------------------------------------------------ states and files


CHANGES = {"as made": "", "another head": "child(m;`head;(`linear;4;5))", "a part of a list": "child(m;`blocks.1;(`linear;4;4))",
           "a part of a class": "child(m;`blocks.0.norm;`relu)", "a part of a sequence": "child(m;`seq.0;(`linear;4;4;0b))",
           "a container": "child(m;`seq;module seq(`sequential;(`linear;4;4);`tanh;(`linear;4;4)))",
           "a layer more": "module(child(m;`seq);`tanh)"}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("within", ["{x}", "{module seq(`sequential;x)}"])
def test_a_state_and_a_snapshot_make_it_again(s: kshell.Session, tmp_path: Path, name: str, within: str) -> None:
    s.run("m:module enlist(`ownnet;`type,4)")
    s.run(CHANGES[name])
    s.run(f"m:{within}m;training(m;0b)")
    s.run("a:evaluate(m;x);st:state m;n:module st;o:opt(`adam;m;.1);k:model(m;loss`mse;o)")
    true(s, "st~state n")
    true(s, "a~evaluate(n;x)")
    s.run(f'snapshot`$":{tmp_path}/a.ks";ckpt(`$":{tmp_path}/a.pt";m);r:exec name from parmtable m')
    s.run(f'm:n:k:o:0;resume`$":{tmp_path}/a.ks"')
    true(s, "(st~state m)and a~evaluate(m;x)")
    true(s, "r~exec name from parmtable o")
    s.run(f'{{x*0}}each parms m;putstate(k;ckpt`$":{tmp_path}/a.pt")')
    true(s, "a~evaluate(m;x)")


def test_a_class_inside_of_another(s: kshell.Session, tmp_path: Path) -> None:
    s.run(f'm:module enlist(`ownouter;3);st:state m;snapshot(`$":{tmp_path}/a.ks";`m);m:0')
    s.run(f'resume`$":{tmp_path}/a.ks"')
    true(s, "st~state m")
    true(s, "st~state module st")


def test_a_type_that_is_not_registered_is_named(s: kshell.Session, tmp_path: Path) -> None:
    s.run(f'm:module`ownnet;snapshot(`$":{tmp_path}/a.ks";`m)')
    code = f'resume`$":{tmp_path}/a.ks"\n'
    done = warm.run([sys.executable, "-m", "kshell", "-q"], input=code, capture_output=True, text=True, check=False)
    assert "no module type `ownnet here, of class OwnNet" in done.stderr
    assert "damaged" not in done.stderr


@pytest.mark.parametrize("value", ["net", "module seq(`sequential;net)", "model(net;loss`mse;opt(`sgd;net))",
                                   "(1;net)", "`a`b!(1;net)"])
def test_a_class_that_cannot_be_made_again_is_told_with_the_variable(s: kshell.Session, tmp_path: Path,
                                                                     value: str) -> None:
    s["net"] = own.Block(3)
    s.run(f".my.it:{value};net:0;fine:module enlist(`linear;2;2)")
    with pytest.raises(QError, match=r"^snapshot: \.my\.it: a module of class Block cannot be saved"):
        s.run(f'snapshot`$":{tmp_path}/a.ks"')
    assert list(tmp_path.iterdir()) == []
    s.run(f'snapshot(`$":{tmp_path}/a.ks";`fine)')


# ------------------------------------------------------------------ children


def test_any_child_is_replaced_as_setattr_does(s: kshell.Session) -> None:
    s["m"] = net = torch.nn.Module()
    net.fc, net.body = torch.nn.Linear(3, 2), own.Block(3)
    net.list = torch.nn.ModuleList([own.Block(3), own.Block(3)])
    net.twin = net.list[0]
    s.run("o:opt(`adam;m;.1);child(m;`fc;(`linear;3;7));child(m;`body.lin;`relu)")
    assert net.fc.out_features == 7 and isinstance(net.body.lin, torch.nn.ReLU)
    old = net.list[0]
    s.run("child(m;`list.0;(`linear;3;3))")
    assert isinstance(net.list[0], torch.nn.Linear) and net.twin is old
    names = {n for n, _ in net.named_parameters()}
    assert s.run("count exec name from parmtable o where not null parmgroup") == len(names)
    held = {id(p) for g in s["o"].param_groups for p in g["params"]}
    assert held == {id(p) for p in net.parameters()}


def test_a_child_of_an_own_class_may_be_around_the_old_one(s: kshell.Session) -> None:
    s["m"] = net = own.Block(4)
    old = net.lin
    s.run("o:opt(`sgd;m;.1);child(m;`lin;seq(`sequential;child(m;`lin);(`linear;4;4)))")
    assert net.lin[0] is old and s.run("count exec name from parmtable o") == 6
    s.run("zerograd o;backward Sum forward(m;x);step o")


def test_parameters_that_no_optimizer_gets_are_told(s: kshell.Session, capfd: pytest.CaptureFixture[str]) -> None:
    s.run("m:module seq(`sequential;(`linear;4;4);`relu`act);o:opt(`sgd;m;.1);child(m;`act;(`linear;4;4))")
    assert "the optimizer has no parameters of `act" in capfd.readouterr().err


@pytest.mark.parametrize(("call", "text"), [
    ("child(m;`nosuch;`relu)", "child: no child module named `nosuch"), ("child(m;`lin;m)", "part of it already"),
    ("child(m;`lin;`nosuch)", "unrecognized module type: `nosuch"), ("child(m;`lin;3)", "unrecognized arg"),
    ("child(m;`lin.weight;`relu)", "no child module")])
def test_a_child_that_cannot_be_replaced(s: kshell.Session, call: str, text: str) -> None:
    s["m"] = net = own.Block(4)
    before = dict(net.named_modules())
    with pytest.raises(QError, match=text):
        s.run(call)
    assert dict(net.named_modules()) == before


# ------------------------------------------------------------------ inputs and outputs by name


@pytest.fixture
def words(s: kshell.Session) -> kshell.Session:
    s["m"], s["d"], s["k"], s["out"] = own.Words(), own.OneDict(), own.AnyNames(), own.Outputs()
    s.run("x:3 2#1 2 3 4 5 6e;w:3 1#0 1 1e;t:tensor x;u:tensor w;a:evaluate(m;x)")
    return s


@pytest.mark.parametrize("q", [
    "(evaluate(m;`ids`mask!(x;w)))~a*w", "(evaluate(m;`mask`ids!(u;t)))~a*w", "(evaluate(m;x;(enlist`mask)!enlist u))~a*w",
    "(evaluate(m;dict`mask`ids!(u;t)))~a*w", "(evaluate(m;dict`p`q!(t;u)))~a*w",
    "(evaluate(m;x;`scale`negative!(2.;1b)))~-2*a", "(tensor forward(m;`ids`mask!(x;w)))~a*w",
    "(tensor nforward(m;`ids`mask!(x;w)))~a*w", "(tensor eforward(m;`ids`mask!(x;w)))~a*w",
    "(tensor kforward(m;`ids`mask!(x;w)))~a*w", "(tensor functionalcall(m;parms m;`ids`mask!(x;w)))~a*w",
    "(tensor functionalcall(m;parms m;x;(enlist`mask)!enlist w))~a*w", "(evaluate(m;`lin;x))~a",
    "(evaluate(m;`lin;(enlist`input)!enlist x))~a",
    "(evaluate(d;`a`b!(x;w)))~x-w,'w", "(evaluate(d;dict`a`b!(x;w)))~x-w,'w", "(evaluate(k;`p`q!(x;w)))~`p`q!2*(x;w)",
    "(evaluate(module`relu;(enlist`input)!enlist -1 1e))~0 1e"])
def test_inputs_by_name(words: kshell.Session, q: str) -> None:
    true(words, q)


def test_inputs_by_name_of_a_model(words: kshell.Session) -> None:
    words.run("g:3 1#1e")
    words.run("b:{k:model(n:clone m;loss`mse;opt(`sgd;n;.1));l:backstep(k;t;g);(l;dict parms n)}[]")
    words.run("e:{k:model(n:clone m;loss`mse;opt(`sgd;n;.1));l:backstep(k;(enlist`ids)!enlist t;g);(l;dict parms n)}[]")
    true(words, "b~e")
    words.run("e:{k:model(n:clone m;loss`mse;opt(`sgd;n;.1));train(k;(enlist`ids)!enlist t;g);l:run k;(l;dict parms n)}[]")
    true(words, "b[1]~e 1")
    words.run("k:model(m;loss`mse;opt(`sgd;m;.1));train(k;`batchsize;2);train(k;`mask`ids!(w;x);g);test(k;`mask`ids!(w;x);g)")
    true(words, "(evaluate k)~a*w")
    words.run("l:run k;v:testrun k")
    true(words, "-9h=type l")
    true(words, "0<backward(k;`ids`mask!(x;w);g)")


@pytest.mark.parametrize("q", [
    "(key forward(out;x))~`loss`hidden`cache`count", "112h=type forward[(out;x)]`cache", "(tensor(forward(out;x))`loss)~21e", "(vector(forward(out;x))`hidden)~(x;2*x)",
    "(`loss`hidden`count#evaluate(out;x))~`loss`hidden`count!(21e;(x;2*x);3)", "(evaluate(out;x;(enlist`kind)!enlist`pair))~`first`second!(x;x+1e)",
    "(evaluate(out;x;(enlist`kind)!enlist`map))~`a`b`c!(x;::;(enlist`d)!enlist x)",
    "(key forward(out;x;(enlist`kind)!enlist`pair))~`first`second", "`dictionary~class forward(k;`p`q!(x;w))"])
def test_outputs_by_name(words: kshell.Session, q: str) -> None:
    true(words, q)


@pytest.mark.parametrize(("call", "text"), [
    ("forward(m;`ids`msk!(x;w))", r"forward: Words has no input `msk, its inputs are ids mask scale negative \(near `mask\)"),
    ("forward(m;x;`a`b!1 2)", "forward: Words has no input `a"), ("forward(m;1 2!3 4)", "forward: inputs by name have symbols"),
    ("forward(module`relu;(enlist`zz)!enlist x)", "forward: ReLU has no input `zz"),
    ("forward(m;`ids`mask!(x;{x}))", "forward: a lambda is no tensor, number, text, list or dictionary of them"),
    ("backward(model(m;loss`mse;opt(`sgd;m));`idz`mask!(x;w);w)", "backward: Words has no input `idz")])
def test_wrong_inputs_by_name(words: kshell.Session, call: str, text: str) -> None:
    with pytest.raises(QError, match=text):
        words.run(call)


# ------------------------------------------------------------------ models of other libraries


@pytest.mark.slow
@pytest.mark.parametrize(("library", "make", "name", "spec", "size"), [
    ("torchvision", "models.resnet18()", "fc", "(`linear;512;3)", 32),
    ("timm", "create_model('vit_tiny_patch16_224')", "head", "(`linear;192;3)", 224)])
def test_the_head_of_a_vision_model(library: str, make: str, name: str, spec: str, size: int) -> None:
    try:
        found = __import__(library)
    except Exception as e:
        pytest.skip(f"{library}: {e}")
    s = kshell.Session()
    s["m"] = eval(f"found.{make}", {"found": found})
    s.run(f"o:opt(`sgd;m;.1);child(m;`{name};{spec})")
    true(s, f"1 3~size eforward(m;1 3 {size} {size}#1e)")
    true(s, f"3 in raze exec size from parmtable[o] where name=`{name}.weight")
