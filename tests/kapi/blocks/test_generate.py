"""`generate`: with a cache and without, rows of different lengths, draws by their probabilities, modes, interrupts."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time

import pytest
import torch

from kshell.errors import QError
from kshell.kapi.base.convert import as_tensor
from kshell.nn.blocks.context import CURRENT, LayerCache
from kshell.nn.blocks.generation import Choice, has_cache
from kshell.session import Session

# what stands between embedding and head, and whether it can be given a sequence in pieces
PARTS: dict[str, tuple[str, bool]] = {
    "rope": ("seq(`block;(`rmsnorm;16);(`gqa;16;4;2;`rope);(`rmsnorm;16);(`swiglu;16;24))", True),
    "window": ("seq(`block;(`rmsnorm;16);(`gqa;16;4;1;`rope;3);(`rmsnorm;16);(`gqa;16;4;2;`rope;5))", True),
    "learned": ("(`positions;64;16);seq(`block;(`layernorm;16);(`gqa;16;2);(`layernorm;16);seq(`seqnest;(`lineart;16;8);`gelu;(`lineart;8;16)))", True),
    "alibi": ("seq(`block;(`rmsnorm;16);(`gqa;16;4;`alibi,1b);(`rmsnorm;16);(`moe;16;24;4))", True),
    "alibi, window": ("(`gqa;16;4;2;`alibi`window!(1b;4));`tanh", True),
    "neighbours": ("(`gqa;16;4;4;(`rope;100f;2;1b));(`lora;16;16);(`dora;16;16)", True),
    "after": ("seq(`skip;(`gqa;16;2;2;`rope);(`addnorm;16;16))", True),
    "both directions": ("(`gqa;16;4;2;`rope`causal!(`rope;0b))", False),
    "no attention": ("(`linear;16;16);`tanh", False),
    "other attention": ("(`selfattention;16;2);(`gqa;16;4)", False),
    "a mixture of places": ("(`gqa;16;4);(`layernorm;5 16)", False),
}


@pytest.fixture
def session() -> Session:
    return Session(out=io.StringIO(), err=io.StringIO())


def made(s: Session, name: str) -> None:
    s.run(f"m:module seq(`seqmask;(`embed;30;16);{PARTS[name][0]};(`linear;16;30))")
    m = s.run("m").obj
    torch.manual_seed(1)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * .4)


@pytest.mark.parametrize("name", PARTS)
def test_a_cache_changes_nothing(session: Session, name: str) -> None:
    made(session, name)
    assert has_cache(session.run("m").obj) is PARTS[name][1]
    if name == "a mixture of places":
        return
    session.run("a:generate(m;(3 1 4 1 5;9 2 6 5 3);30);b:generate(m;(3 1 4 1 5;9 2 6 5 3);30;`cache,0b)")
    assert session.run("a~b") is True
    assert session.run("a~(generate(m;3 1 4 1 5;30);generate(m;9 2 6 5 3;30))") is True
    assert session.run("35=count a 0") is True
    assert session.run("3<count distinct a 0") is True  # (a module that says the same again shows little)


@pytest.mark.parametrize("name", [n for n, (_, cached) in PARTS.items() if cached])
def test_rows_of_different_lengths(session: Session, name: str) -> None:
    made(session, name)
    session.run("x:(3 1 4 1 5;enlist 9;2 6 5)")
    for more in ("", ";`cache,0b"):
        assert session.run(f"(generate(m;x;20{more}))~{{generate(m;x;20)}}each x") is True


@pytest.mark.parametrize("name", [n for n, (_, cached) in PARTS.items() if cached])
def test_scores_in_pieces(session: Session, name: str) -> None:
    """What a module gives for pieces of a sequence, of any size, is what it gives for the whole."""
    from kshell.nn.blocks.context import Context, using

    made(session, name)
    m = session.run("m").obj.eval()
    x = torch.randint(0, 30, (2, 24))
    with torch.no_grad():
        want = m(x)
        for sizes in ([24], [1] * 24, [7, 1, 9, 1, 1, 5], [2] * 12):
            with using(Context()) as context:
                context.layers, context.limit = {}, 4
                out = []
                for piece in x.split(sizes, 1):
                    out.append(m(piece))
                    context.advance(piece.size(1))
            torch.testing.assert_close(torch.cat(out, 1), want, rtol=1e-4, atol=1e-4)
    assert CURRENT.get() is None


def test_only_the_outermost_leaves_out_places(session: Session) -> None:
    """The scores of all places but the last are left out at the end of a model, and nowhere inside of it."""
    session.run("p:seq(`seqmask;(`embed;30;16);(`linear;16;16))")
    session.run("m:module seq(`sequential;p;(`gqa;16;4;2;`rope);(`linear;16;30));n:module seq(`seqmask;p;(`gqa;16;4;2;`rope);(`linear;16;30))")
    session.run("{parm(x;y;tensor 4*tensor parm(m;y))}[n]each parmnames m;{parm(m;x;tensor 4*tensor parm(m;x))}each parmnames m")
    session.run("x:3 1 4 1 5;a:generate(m;x;1)")
    assert session.run("a[5]~{x?max x}last first evaluate(m;enlist x)") is True
    assert session.run("(generate(n;x;9))~generate(m;x;9)") is True
    assert session.run("(generate(n;x;9))~generate(n;x;9;`cache,0b)") is True


def test_a_cache_of_a_window_stays_small() -> None:
    cache = LayerCache(10**9, 4)
    seen = []
    for i in range(100):
        seen.append(torch.full((2, 1, 3), float(i)))
        keys, values = cache.extended(seen[-1], -seen[-1])
        assert torch.equal(keys, torch.cat(seen[-4:], 1)) and torch.equal(values, -keys)
    assert cache.keys.size(1) < 10


def test_draws_follow_their_probabilities() -> None:
    """Top-k and top-p leave the tokens that they say, the others in proportion."""
    scores = torch.tensor([.5, .25, .15, .1]).log().repeat(20000, 1)
    for choice, left in ((Choice(1.0), [0, 1, 2, 3]), (Choice(1.0, topk=2), [0, 1]), (Choice(1.0, topp=.7), [0, 1]),
                         (Choice(1.0, topp=.76), [0, 1, 2]), (Choice(1.0, topp=0.0), [0]), (Choice(1.0, 3, .8), [0, 1]), (Choice(1.0, 3, .9), [0, 1, 2]),
                         (Choice(1.0, topk=9), [0, 1, 2, 3])):
        choice.generator = torch.Generator().manual_seed(1)
        got = torch.bincount(choice(scores), minlength=4) / len(scores)
        want = torch.tensor([.5, .25, .15, .1])
        want[[i for i in range(4) if i not in left]] = 0
        torch.testing.assert_close(got, want / want.sum(), atol=.02, rtol=0)
    hot = torch.bincount(Choice(3.0, generator=torch.Generator().manual_seed(1))(scores), minlength=4) / len(scores)
    torch.testing.assert_close(hot, torch.softmax(scores[0] / 3, -1), atol=.02, rtol=0)


def test_seeds(session: Session) -> None:
    """A seed leaves the session's generator alone; without one it is used."""
    made(session, "rope")
    session.run("seed 4;a:generate(m;1 2;20;2f);b:generate(m;1 2;20;2f);seed 4;c:generate(m;1 2;20;2f)")
    assert session.run("(a~c)and not a~b") is True
    session.run("r:rng[];d:generate(m;1 2;20;`temperature`seed!(2f;7));e:generate(m;1 2;20;`temperature`seed!(2f;7));f:generate(m;1 2;20;`temperature`seed!(2f;8))")
    assert session.run("(d~e)and(not d~f)and r~rng[]") is True


def test_modes_and_gradients_are_as_before(session: Session) -> None:
    made(session, "rope")
    session.run("child(m;`1.1;(`gqa;16;4;2;`rope`dropout!(`rope;.9)));training(m;1b);training(child(m;`1);0b)")
    session.run("a:generate(m;tensor 1 2;9);b:generate(m;tensor 1 2;9)")
    assert session.run("(tensor a)~tensor b") is True
    assert session.run("(training m),training child(m;`1)").a.tolist() == [True, False]
    assert as_tensor(session.run("a")).requires_grad is False
    assert session.run("gradflag forward(m;2 3#1)") is True


def test_a_stop_ends_each_row(session: Session) -> None:
    made(session, "rope")
    session.run("x:(1 2 3;4 5 6;7 8 9);a:generate(m;x;40)")
    session.run("s:a[0;7],a[1;5];r:generate(m;x;40;(enlist`stop)!enlist s)")
    assert session.run("r~{$[any i:(3_x)in s;(4+i?1b)#x;x]}each a") is True
    session.run("t:tensor generate(m;tensor x;40;(enlist`stop)!enlist s)")
    assert session.run("t~{y#x,y#first s}'[r;max count each r]") is True


@pytest.mark.parametrize(("call", "message"), [
    ("generate(m;1 2;100)", "generate: positions: 65 places, but there are 64 vectors"), ("generate(m;(1 2;3 4);16777216)", "limit"),
    ("generate(m;1 2;0)", "generate maxtokens: 0 is below 1"), ("generate(m;1 2;5;`topp,2f)", "generate topp: 2 is above 1"),
    ("generate(m;(1 2;3 4.))", "generate: expecting longs"), ("generate(m;tensor 1 2e)", "generate: expecting a tensor of longs"),
    ("generate(m;tensor 2 2 2#1)", "generate: expecting a tensor of longs"), ("generate(m;(1 2;0#0))", "generate: expecting at least one token"),
    ("generate(m;0#0)", "generate: expecting"), ("generate(m;-1 2)", "generate: embed: index -1 is below 0")])
def test_errors(session: Session, call: str, message: str) -> None:
    made(session, "learned")
    with pytest.raises(QError, match=message):
        session.run(call)
    assert CURRENT.get() is None
    session.run("generate(m;1 2;3)")


def test_an_interrupt_ends_it() -> None:
    """Between two tokens; the session goes on, and so does the module."""
    code = ("m:module seq(`seqmask;(`embed;30;64);seq(`block;(`rmsnorm;64);(`gqa;64;4;2;`rope);(`rmsnorm;64);(`swiglu;64;64));(`linear;64;30));\n"
            "-1\"ready\";\ngenerate(m;1 2 3;8000000);\n-1 string count generate(m;1 2 3;5);\n")
    p = subprocess.Popen([sys.executable, "-m", "kshell", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    assert p.stdin is not None and p.stdout is not None
    p.stdin.write(code)
    p.stdin.flush()
    assert p.stdout.readline() == "ready\n"
    time.sleep(2)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert out == "8\n" and "stop" in err
