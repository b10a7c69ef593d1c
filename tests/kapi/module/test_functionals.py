"""Layers as functions of their weights, against torch.nn.functional called directly: values, gradients, options by
position and by name, arrays and tensors, and what is refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from kshell.errors import QError
from kshell.kapi.base.convert import to_q
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.module.layer_functions import ROWS
from kshell.session import Session

# a call on a, b, c, d.., the sizes of these, and the same in torch
CASES: list[tuple[str, list[tuple[int, ...]], Callable[..., Any]]] = [
    ("conv1d(a;b)", [(2, 3, 7), (4, 3, 3)], functional.conv1d),
    ("conv1d(a;b;c;2;1;2)", [(2, 3, 9), (4, 3, 3), (4,)],
     lambda a, b, c: functional.conv1d(a, b, c, 2, 1, 2)),
    ("conv2d(a;b;`pad`groups!(1 2;3))", [(2, 3, 7, 5), (6, 1, 3, 2)],
     lambda a, b: functional.conv2d(a, b, padding=(1, 2), groups=3)),
    ("conv2d(a;b;1;`same)", [(2, 3, 7, 5), (6, 3, 3, 2)], lambda a, b: functional.conv2d(a, b, padding="same")),
    ("conv2d(a;b;`pad`valid)", [(2, 3, 7, 5), (6, 3, 3, 2)], lambda a, b: functional.conv2d(a, b, padding="valid")),
    ("conv2d(a;b;2)", [(2, 3, 7, 5), (6, 3, 3, 2)], lambda a, b: functional.conv2d(a, b, stride=2)),
    ("conv3d(a;b;c;`stride,2)", [(1, 2, 4, 5, 6), (3, 2, 2, 2, 2), (3,)],
     lambda a, b, c: functional.conv3d(a, b, c, stride=2)),
    ("convtranspose1d(a;b;c;2;1;1)", [(2, 3, 7), (3, 4, 3), (4,)],
     lambda a, b, c: functional.conv_transpose1d(a, b, c, 2, 1, 1)),
    ("convtranspose2d(a;b)", [(2, 3, 4, 5), (3, 4, 3, 2)], functional.conv_transpose2d),
    ("convtranspose3d(a;b;`stride`dilate!2 2)", [(1, 2, 3, 3, 3), (2, 1, 2, 2, 2)],
     lambda a, b: functional.conv_transpose3d(a, b, stride=2, dilation=2)),
    ("layernorm(a;5)", [(3, 5)], lambda a: functional.layer_norm(a, [5])),
    ("layernorm(a;4 5;b;c;.5)", [(3, 4, 5), (4, 5), (4, 5)],
     lambda a, b, c: functional.layer_norm(a, [4, 5], b, c, .5)),
    ("rmsnorm(a;5;b;`eps,.5)", [(3, 5), (5,)], lambda a, b: functional.rms_norm(a, [5], b, .5)),
    ("groupnorm(a;2;b;c)", [(3, 4, 5), (4,), (4,)], lambda a, b, c: functional.group_norm(a, 2, b, c)),
    ("instancenorm a", [(3, 4, 5)], functional.instance_norm),
    ("Batchnorm(a;1 2 3f;1 2 4f;b;c)", [(6, 3), (3,), (3,)],
     lambda a, b, c: functional.batch_norm(a, torch.tensor([1., 2, 3]).double(), torch.tensor([1., 2, 4]).double(), b,
                                           c)),
    ("Batchnorm(a;0 0 0f;1 1 1f;1b;.3;.5)", [(6, 3)],
     lambda a: functional.batch_norm(a, torch.zeros(3).double(), torch.ones(3).double(), None, None, True, .3, .5)),
    ("dropout(a;.5;0b)", [(3, 4)], lambda a: a * 1),
    ("scaleddotproductattention(a;b;c)", [(2, 3, 4), (2, 5, 4), (2, 5, 6)], functional.scaled_dot_product_attention),
    ("scaleddotproductattention(a;b;c;d)", [(2, 3, 4), (2, 5, 4), (2, 5, 6), (3, 5)],
     functional.scaled_dot_product_attention),
    ("scaleddotproductattention(a;b;c;`causal`scale!(1b;.7))", [(2, 3, 4), (2, 3, 4), (2, 3, 4)],
     lambda a, b, c: functional.scaled_dot_product_attention(a, b, c, is_causal=True, scale=.7)),
    ("gridsample(a;b)", [(2, 3, 4, 5), (2, 3, 2, 2)], lambda a, b: functional.grid_sample(a, b, align_corners=False)),
    ("gridsample(a;b;`bicubic;`border;1b)", [(2, 3, 4, 5), (2, 3, 2, 2)],
     lambda a, b: functional.grid_sample(a, b, "bicubic", "border", True)),
    ("gridsample(a;b;`pad,`reflection)", [(1, 2, 3, 4, 5), (1, 2, 3, 2, 3)],
     lambda a, b: functional.grid_sample(a, b, padding_mode="reflection", align_corners=False)),
    ("affinegrid(a;2 1 3 4)", [(2, 2, 3)], lambda a: functional.affine_grid(a, [2, 1, 3, 4], False)),
    ("affinegrid(a;2 1 3 4;1b)", [(2, 2, 3)], lambda a: functional.affine_grid(a, [2, 1, 3, 4], True)),
    ("gaussiannll(a;b;c*c)", [(3, 4)] * 3, lambda a, b, c: functional.gaussian_nll_loss(a, b, c * c)),
    ("gaussiannll(a;b;c*c;1b;.1;`none)", [(3, 4), (3, 4), (3, 1)],
     lambda a, b, c: functional.gaussian_nll_loss(a, b, c * c, True, .1, "none")),
]


def session() -> Session:
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.names.load_builtins()
    return made


@pytest.mark.parametrize(("text", "sizes", "plain"), CASES, ids=[c[0] for c in CASES])
def test_values_and_gradients(text: str, sizes: list[tuple[int, ...]], plain: Callable[..., Any]) -> None:
    torch.manual_seed(3)
    given = [torch.randn(n, dtype=torch.float64) for n in sizes]
    twice = [[t.clone().requires_grad_() for t in given] for _ in range(2)]
    want = plain(*twice[0])
    weights = torch.randn(want.shape, dtype=torch.float64)
    (want * weights).sum().backward()
    s = session()
    for name, t in zip("abcde", twice[1], strict=False):
        s[name] = TensorHandle(t)
    got = s.run(text)
    assert isinstance(got, TensorHandle)
    torch.testing.assert_close(got.obj, want)
    (got.obj * weights).sum().backward()
    for mine, its in zip(twice[1], twice[0], strict=True):
        torch.testing.assert_close(mine.grad, its.grad)
    for name, t in zip("abcde", given, strict=False):
        s[name] = to_q(t)
    s["want"] = to_q(want.detach())
    assert s.run(f"1e-12>max abs raze over want-{text}") is True  # arrays in, an array out


def test_embedding_and_dropout() -> None:
    s = session()
    assert s.run("(embedding(2 0;3 2#til 6))~(4 5;0 1)") is True
    s.run("w:tensor(3 2#1e;`grad);backward sum raze embedding(2 0 1;w;0)")
    assert s.run("(grad w)~(0 0e;1 1e;1 1e)") is True
    torch.manual_seed(5)
    want = functional.dropout(torch.ones(50, dtype=torch.float64), .3)
    torch.manual_seed(5)
    s["want"] = to_q(want)
    assert s.run("want~dropout(50#1f;.3)") is True
    assert s.run("all(raze over dropout2d(1 8 3 3#1f;.5))in 0 2f") is True
    assert s.run("1=count distinct raze over(dropout2d(1 1 3 3#1f))[0;0]") is True


def test_samples_of_classes() -> None:
    """The same noise as torch's, gradients through the sample."""
    s, x = session(), torch.randn(4, 3, dtype=torch.float64)
    for text, options in (("gumbelsoftmax a", {}), ("gumbelsoftmax(a;.5;1b;0)", {"tau": .5, "hard": True, "dim": 0})):
        mine, its = x.clone().requires_grad_(), x.clone().requires_grad_()
        s["a"] = TensorHandle(mine)
        torch.manual_seed(5)
        want = functional.gumbel_softmax(its, **options)
        torch.manual_seed(5)
        got = s.run(text).obj
        assert got.equal(want)
        for t in (got, want):
            (t * x).sum().backward()
        assert mine.grad.equal(its.grad)


def test_batch_statistics_move() -> None:
    s = session()
    s.run("m:tensor 0 0e;v:tensor 1 1e;r:Batchnorm(2 2#1 2 3 6e;m;v;1b;.5)")
    assert s.run("(tensor each(m;v))~(1 2e;1.5 4.5e)") is True
    s.run("m:0 0e;v:1 1e;q:Batchnorm(2 2#1 2 3 6e;m;v;1b;.5)")
    assert s.run("(m;v)~(0 0e;1 1e)") is True  # arrays stay as they are
    assert s.run("q~tensor r") is True


@pytest.mark.parametrize(("text", "message"), [
    ("conv2d(1 1 3 3#1e;1 1 2 2#1e;0W)", "conv2d: stride is more than 2147483647"),
    ("conv2d(1 1 3 3#1e;1 2 2 2#1e)", "conv2d: "), ("conv2d 1 1 3 3#1e", "conv2d: "), ("conv2d()", "conv2d: "),
    ("conv2d(1 1 3 3#1e;1 1 2 2#1e;1;`foo)", "conv2d: unexpected symbol scalar, expecting pad (long scalar or list, `same"),
    ("conv2d(1 1 3 3#1e;`a)", "conv2d: "), ("conv2d(1 1 3 3#1e;1 1 2 2#1e;`foo,1)", "conv2d option: foo"),
    ("layernorm 1 3f", "layernorm: shape not given"), ("layernorm(1 3f;3)", "layernorm: "),
    ("groupnorm(1 4#1f;3)", "groupnorm: "), ("dropout(1 2f;1.5)", "dropout: "), ("dropout`a", "dropout: "),
    ("embedding(5;2 2#1f)", "embedding: "), ("embedding(7 8;2 2#1f)", "embedding: "),
    ("Batchnorm(2 2#1f;1 2 3f;1 2f)", "Batchnorm: "),
    ("gumbelsoftmax(1 2f;`a)", "gumbelsoftmax: unexpected symbol scalar"),
    ("gridsample(1 1 2 2#1f;1 1 1 2#0f;`foo)", "gridsample: "), ("gridsample(2 2#1f;1 1 1 2#0f)", "gridsample: "),
    ("affinegrid(1 2 3#1f;1 1)", "affinegrid: "), ("affinegrid 1 2 3#1f", "affinegrid: size not given"),
    ("gaussiannll(1 2f;1 2f;-1 1f)", "gaussiannll: "), ("gaussiannll(1 2f;1 2f)", "gaussiannll: "),
    ("scaleddotproductattention(1 2#1e;1 3#1e;1 2#1e)", "scaleddotproductattention: ")])
def test_errors_name_the_call(text: str, message: str) -> None:
    with pytest.raises(QError) as e:
        session().run(text)
    assert e.value.text.startswith(message)


def test_every_function_is_tested() -> None:
    """A row that is added needs a case."""
    texts = " ".join(c[0] for c in CASES) + " embedding(dropout2d( dropout3d( alphadropout( gumbelsoftmax("
    assert not [r.name for r in ROWS if r.name + "(" not in texts and r.name + " " not in texts]
