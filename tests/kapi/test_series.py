"""q's verbs that go along a tensor give what they give of the same q array, on the tensor's device, with gradients."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.base.handles import TensorHandle
from kshell.session import Session

MONADS = ("sums", "prds", "maxs", "mins", "avgs", "deltas", "ratios", "differ", "fills", "prev", "next", "rank",
          "distinct", "asc", "desc", "reverse", "(-':)", "(%':)", "(+\\)", "(*\\)", "iasc", "idesc")
COUNTED = ("msum", "mavg", "mmax", "mmin", "mdev", "mcount", "xprev", "sublist", "rotate", "_")
# what stands before a verb's right argument
LEFT = (*(f"{n} {verb}" for verb in COUNTED for n in (0, 1, 2, 3, 9)), "-1 xprev", "-2 sublist", "-9 sublist",
        "1 2 sublist", "4 9 sublist", "-1 mavg", "-2 mmax", "-2 rotate", "-2 _", ".5 ema", ".1 ema", "1 ema", "2 xbar",
        ".5 xbar", "3 xrank", "2 xexp", "1b msum", "{deltas[10;x]}", "{ratios[10;x]}", "{x within 1 3}",
        "{1 2 4f bin x}", "{1 2 4f binr x}")
LISTS = ("3 1 4 1 5 9 2 6f", "3 1 0n 4 0n 0n 2 6f", "0n 0n 1 3 0n", "1.25 -2.5 3.75 3.75 0.1 7", "3 1 4 1 5 9 2 6",
         "3 1 4 1 5e", "10110b", "1#2f", "0#0f", "2 1 2i", "4 1 2h")
MATRICES = ("4 2#3 1 4 1 5 9 2 6f", "3 2#3 0n 0n 4 5 0n", "6 2#3 1 2 0n 2 1 3 0 2 0n 0n 7f",
            "4 3#3 1 2 3 1 0 3 1 2 2 9 9", "3 3#3 1 4 1 5 9 2 6 5", "1 2#1 2f")
ROWS = ("sums", "prds", "maxs", "mins", "avgs", "deltas", "ratios", "differ", "fills", "reverse", "asc",
        "desc", "iasc", "idesc", "rank", "distinct", "2 msum", "2 mavg",
        "2 mmax", "2 mmin", "2 mdev", "2 mcount", ".5 ema", "1 rotate", "1 _", "2 sublist", "2 xbar", "0 1 sublist")


@pytest.fixture(scope="module")
def session() -> Session:
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.names.load_builtins()
    made.run("near:{$[0h=type x;(count[x]=count y)and all .z.s'[x;y];(null[x]~null y)and "
             "all(null x)or(x=y)or 1e-4>abs(x-y)%1e-9+abs x]}")
    return made


def compare(session: Session, verb: str, array: str, left: bool = True) -> None:
    """Is the verb of a tensor what the verb of the array is? Or an error where whole numbers have no null."""
    session.run(f"x:{array};h:tensor x")
    whole = session["h"].obj.dtype in (torch.int64, torch.int32, torch.int16)
    shifting = any(word in verb for word in ("prev", "next")) and "0 xprev" not in verb
    if whole and shifting and session.run("count x"):
        with pytest.raises(QError, match="have no null to put in"):
            session.run(f"{verb} h")
        return
    session.run(f"r:{verb} h;want:{verb} x")
    assert isinstance(session["r"], TensorHandle), (verb, array)
    assert session.run("near[want;tensor r]"), (verb, array, session.run("want"), session["r"].obj)


@pytest.mark.parametrize("array", LISTS)
def test_lists(session: Session, array: str) -> None:
    for verb in (*MONADS, *LEFT):
        if array.endswith("b") and verb in ("prev", "(-':)", "(%':)", "1 ema"):
            continue  # a first item of another type
        if "bin" in verb and not (array.endswith("f") or "." in array or "0n" in array):
            continue  # of another type
        if array == "0#0f" and ("xrank" in verb or verb == "9 rotate"):
            continue
        compare(session, verb, array)


@pytest.mark.parametrize("array", MATRICES)
def test_rows(session: Session, array: str) -> None:
    for verb in ROWS:
        compare(session, verb, array)


def test_parts(session: Session) -> None:
    for array in ("til 7", "7 2#til 14", "0#0"):
        for cut in ("2 cut", "3 cut", "9 cut", "0 2 cut", "0 2 _", "1 1 4 _", "2 _"):
            if array == "0#0" and cut[0] in "01":
                continue
            one = cut == "2 _"
            session.run(f"x:{array};h:tensor x;r:{cut} h")
            assert session.run("(tensor r)~" + f"{cut} x" if one else f"(tensor each r)~(),{cut} x"), (array, cut)
    session.run("h:tensor 10 20 30")
    assert session.run("(tensor h _ 1)~10 30") and session.run("(tensor h _ 7)~10 20 30")
    for text, error in (("0 cut h", "domain"), ("2 1 cut h", "domain"), ("0 9 cut h", "length"),
                        ("`a cut h", "cut: expected"),
                        ("1 2 3 sublist h", "length"), ("`a msum h", "msum: expected a long, given symbol"),
                        (".5 mavg h", "mavg: expected a long"), ("`a ema h", "ema: "), ("1 2 ema h", "length"),
                        ("where tensor 1 2f", "where: expected booleans"), ("where tensor -1 2", "domain"),
                        ("1 xprev tensor 5f", "xprev: expected a list"), (".5 ema tensor 5f", "ema: expected a list"),
                        ("prev vector(1 2f;3 4f)", "prev: not implemented for vectors")):
        with pytest.raises(QError, match=error):
            session.run(text)


def test_weights_and_samples(session: Session) -> None:
    session.run("x:3 1 4 1 5f;w:1 2 3 4 5f;h:tensor x;k:tensor w")
    for text in ("wavg", "wsum", "cov", "scov", "cor"):
        for a, b in (("k", "h"), ("w", "h"), ("k", "x")):
            assert session.run(f"1e-9>abs(w {text} x)-tensor {a} {text} {b}"), (text, a, b)
    session.run("a:.1 .2 .3 .4 .5;e:a ema x")
    assert session.run("all 1e-9>abs e-tensor a ema h") and session.run("all 1e-9>abs e-tensor(tensor a)ema h")
    assert session.run("(tensor where tensor 2 0 1 3)~where 2 0 1 3")
    assert session.run("(tensor distinct tensor 3 1 3 2 1)~3 1 2")
    assert session.run("(tensor distinct tensor 0n 3 0n 3)~0n 3")


def test_long_moving_averages_are_exact(session: Session) -> None:
    """No differences of large totals: a window of single precision is as exact as its own sum."""
    session.run("x:1e6+til[100000]mod 7;r:tensor 5 mavg tensor\"e\"$x;w:5 mavg x")
    assert session.run("1e-6>max abs 1-r%w")
    session.run("r:.1 ema tensor`float$til 100000")
    assert session.run("all 1e-9>abs 1-(1_tensor r)%1_.1 ema`float$til 100000")


GRADIENTS = ("sums x", "prds x", "maxs x", "mins x", "avgs x", "deltas x", "ratios x", "1_prev x", "2_2 xprev x",
             "fills x", "2 msum x", "3 mavg x", "2 mmax x", "3 mmin x", "2 _ 3 mdev x", ".3 ema x", "2 sublist x",
             "1 2 sublist x", "w wsum x", "w wavg x", "x wavg w", "distinct x", "first 0 2 cut x", "x _ 1", "w scov x",
             "deltas[2;x]", "ratios[2;x]", "2 rotate x", ".5 xbar x")


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradients(session: Session, text: str) -> None:
    session.run("w:tensor 1 2 3 4 5f")
    given = torch.tensor([3.1, 1.2, 4.1, 1.7, 5.3], dtype=torch.float64, requires_grad=True)

    def run(t: torch.Tensor) -> Any:
        session["x"] = TensorHandle(t)
        cut = "cut" in text
        r = session.run(text if not cut else "(0 2 cut x)0")
        return r.obj

    assert torch.autograd.gradcheck(run, (given,))


def test_first_of_a_moving_deviation_has_a_gradient(session: Session) -> None:
    session.run("x:tensor(3 1 4 1 5f;`grad);backward sum 2 mdev x")
    assert not torch.isnan(session["x"].obj.grad).any()


def test_until_a_result_repeats(session: Session) -> None:
    session.run("r:{.5*x+2%x}/[tensor 1f]")
    assert session.run("1e-12>abs 2-r*r".replace("r*r", "{x*x}tensor r"))
    assert session.run("(tensor each(max\\)tensor 3 1 4)~(3 1 4;4)")
    assert session.run("(tensor(&\\)tensor 3 1 4)~3 1 1") and session.run("3=count(~':)tensor 1 1 2")


def test_few_calls(session: Session) -> None:
    """What a moving average does grows with the logarithm of the window, not with it."""
    session.run("x:tensor 100000#1f;")
    for text in ("30000 mavg x", "30000 mmax x", ".01 ema x"):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
            session.run(text + ";")
        assert sum(e.count for e in found.key_averages()) < 1500, text
