"""Each of a lambda for all items at once gives what the items one by one give, types and attributes included."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.each import lambda_at_once, verb_at_once
from kshell.lang.verbs import matrix
from kshell.session import Session
from kshell.values.base.build import collapse
from kshell.values.base.core import seq_items
from kshell.values.engine.apply import pyfn
from kshell.values.session import memory
from kshell.values.session.context import enter, leave

N = 70
INPUTS = {
    "longs": f"{N}?-3 0 1 2 5 7 0N 0W",
    "counts": f"{N}?6",
    "ints": f"{N}?-2 0 3 0Ni 0Wi",
    "floats": f"{N}?-1.5 0 2.25 0n 0w 1e3",
    "bools": f"{N}?01b",
    "dates": f"{N}?2000.01.01 2001.02.03 0Nd",
    "syms": f"{N}?`a`b``cd",
    "chars": f'{N}?"ab 1"',
    "strings": f'{N}?("ab";"";" c";"12";"b a b")',
    "words": f'{N}#("ab";"cd";"1b")',
    "lists": f"{N}?(1 2 3;`long$();4 0N;1#7;5 5 1 5)",
    "rows": f"{N} 3#til 7",
    "flags": f"{N}?(101b;`boolean$();01b)",
    "floats2": f"{N}?(1.5 0n 2;`float$();0.1 0.2 0.3;1#0w)",
    "reals": f"{N}?(1.1 2.2e;`real$();0.1 0.7 1e7e)",
    "names": f"{N}?(`a`b;`symbol$();``b`b)",
    "mixed": f'{N}?(1;2.5;`a;"ab";1 2)',
    "nested": f"{N}#((1 2;3 4);(1#5;6 7))",
}
ONES = ("neg", "not", "null", "abs", "count", "first", "last", "reverse", "enlist", "string", "sum", "prd", "max", "min",
        "avg", "all", "any", "where", "distinct", "floor", "upper", "trim", "sqrt", "til 1+", "+/", "|/")
TWOS = ("+", "-", "*", "%", "&", "|", "^", "=", "<", "<>", ">=", ",", "#", "_", "?", "in", "within", "~", "mod", "div",
        "@", "xbar", "except", "inter", "like", "ss", "xexp", "!")
ATOMS = ("1", "0", "-1", "2", "0N", "1.5", "0n", "1b", "`a", '"a"', '"ab"', "1 2", "0 1 2", "`a`b", "2001.01.01", "3i",
         "1#1", "4 3 2 1", '"*b*"', "k", "w")
CASTS = ('"j"$', '"f"$', "`$", '"J"$', '"S"$', "`int$", '"h"$', '"b"$')


def expressions(depth: int, names: tuple[str, ...]) -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(names), st.sampled_from(names), st.sampled_from(ATOMS))
    if not depth:
        return leaf
    inner = expressions(depth - 1, names)
    return st.one_of(
        leaf,
        st.builds("({} {})".format, st.sampled_from(ONES), inner),
        st.builds("({}{})".format, st.sampled_from(CASTS), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(TWOS), inner),
        st.builds("({};{})".format, inner, inner),
        st.builds("(`a`b!({};{}))".format, inner, inner),
        st.builds("$[{};{};{}]".format, inner, inner, inner),
        st.builds("$[{};{};{};{};{}]".format, inner, inner, inner, inner, inner),
        st.builds("({}[{}])".format, st.sampled_from((*names, "k", "w", "d")), inner),
    )


def bodies(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    e = expressions(2, names)
    more = expressions(1, (*names, "a"))
    return st.one_of(
        e,
        st.builds("a:{};{}".format, e, more),
        st.builds("a:{};a+:{};{}".format, e, more, more),
        st.builds("if[{};:{}];{}".format, e, e, e),
        st.builds("a:{};if[{};a:{}];{}".format, e, e, e, more),
        st.builds("a:{};if[{};a:{};:{}];{}".format, e, more, e, more, more),
    )


@pytest.fixture(scope="module")
def shared() -> Session:
    s = Session()
    s.run("\\S -3")
    s.run("k:10 20 30;w:(1 2;3 4 5;`long$());d:1 2 5!`x`y`z")
    for name, text in INPUTS.items():
        s.run(f"{name}:{text}")
    return s


@contextmanager
def running(s: Session) -> Iterator[None]:
    token = enter(s)
    try:
        yield
    finally:
        leave(token)


@contextmanager
def bounded() -> Iterator[None]:
    """A gigabyte more than is in use: `a:floor x xexp 3i;til a` of 1e3 would take eight for every item."""
    kept = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory.status("VmData") + (1 << 30), kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, kept)


def one_by_one(s: Session, f: str, *args: str) -> str:
    """The serialized results of the items one by one, or that there was an error."""
    fn = pyfn(s[f], len(args))
    try:
        with running(s):
            s["want"] = collapse([fn(*row) for row in zip(*(seq_items(s[a]) for a in args), strict=True)])
    except QError as e:
        if e.text == "wsfull":
            raise MemoryError from e
        return "error"
    except (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError):
        return "error"  # a session has q's errors for Python's
    return "want"


def compare(s: Session, text: str, expression: str, args: tuple[str, ...]) -> None:
    """Both ways, unless one of them takes too much memory."""
    with bounded():
        try:
            _compare(s, text, expression, args)
        except MemoryError:
            pass
        finally:
            s.run("have:want:0")


def _compare(s: Session, text: str, expression: str, args: tuple[str, ...]) -> None:
    s.run(f"\\S -5\nf:{text}")  # for what deals
    want = one_by_one(s, "f", *args)
    s.run("\\S -5")
    try:
        s["have"] = s.run(expression)
    except QError as e:
        if e.text == "wsfull":
            raise MemoryError from e
        assert want == "error", expression
        return
    assert want != "error", f"{expression} of {text} should fail"
    assert s.run("(have~want)&(-3!have)~-3!want"), f"{text} {expression}: {s.run('-3!have')} {s.run('-3!want')}"


@settings(max_examples=250)
@given(bodies(("x",)), st.sampled_from(sorted(INPUTS)))
def test_each(shared: Session, body: str, name: str) -> None:
    compare(shared, f"{{[x]{body}}}", f"f each {name}", (name,))


@settings(max_examples=120)
@given(bodies(("x", "y")), st.sampled_from(sorted(INPUTS)), st.sampled_from(sorted(INPUTS)))
def test_each_both(shared: Session, body: str, x: str, y: str) -> None:
    compare(shared, f"{{[x;y]{body}}}", f"f'[{x};{y}]", (x, y))


FUNCTIONS = """two:{2*x}
sub:{[a;b]a-b}
gain:{[g;x]neg sum g*x}
share:{[d;a;x]$[0h>type first x;d[x;a x];d[;a x]each x]}[%;sum]
odds:{[w;g]share sum each w g}
gini:{[w;x]1-{x wsum x}odds[w] group x}
both:(2*sum::)
early:{if[0<first x;:x];a:two x;a+1}
spread:{(x wavg x;x wsum x)}
v:0.5 1 2 0n 4 0.25 7;s:`s#10 20 30 40;u:`g#3 1 3 1 2 2 0"""
CALLS = ("two", "both", "early", "gini[v]", "gini[x]", "share", "odds[v] group", "sub[1]", "spread", "count each group",
         "sum each v group", "sum each x group", "key group", "value group", "first group", "type", "max v group",
         "{x wsum x}count each group", "two each", "not null key group", "s group", "u group", "two'", "count'")


def calls(depth: int, names: tuple[str, ...]) -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(names), st.sampled_from(names), st.sampled_from(ATOMS), expressions(1, names))
    if not depth:
        return leaf
    inner = calls(depth - 1, names)
    return st.one_of(
        st.builds("({} {})".format, st.sampled_from(CALLS), inner),
        st.builds("({} {})".format, st.sampled_from(CALLS), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(("+", "*", ">", "=", ",", "wsum", "wavg", "sub'")), inner),
        st.builds("({}[{};{}])".format, st.sampled_from(("sub", "gain", "gini", "odds", "sub'", "gini'")), inner, inner),
        st.builds("({};::;{})".format, inner, inner),
        st.builds("$[{};{};{}]".format, inner, inner, inner),
        st.builds("[a:group {};a:({} a)*{} a;sum a]".format, inner, *[st.sampled_from(("count each", "v", "x"))] * 2),
        expressions(1, names),
    )


@pytest.fixture(scope="module")
def calling(shared: Session) -> Session:
    shared.run(FUNCTIONS)
    shared.run("".join(f"few{name}:11#{name};" for name in INPUTS))
    return shared


@pytest.mark.sampled(3)
@pytest.mark.parametrize("call", CALLS)
def test_calls(calling: Session, call: str) -> None:
    for name in INPUTS:
        compare(calling, f"{{{call} x}}", f"f each {name}", (name,))
        compare(calling, f"('[sub[1];{{{call} x}}])", f"f each few{name}", (f"few{name}",))


@settings(max_examples=200)
@given(calls(2, ("x",)), st.sampled_from(sorted(INPUTS)), st.sampled_from(("", "few")))
def test_what_calls_lambdas(calling: Session, body: str, name: str, few: str) -> None:
    text = f"{{[x]{body}}}"
    compare(calling, f"('[{{x}};{text}])" if few else text, f"f each {few}{name}", (few + name,))


@settings(max_examples=100)
@given(calls(1, ("x", "y")), st.sampled_from(sorted(INPUTS)), st.sampled_from(sorted(INPUTS)))
def test_what_calls_lambdas_on_both(calling: Session, body: str, x: str, y: str) -> None:
    compare(calling, f"{{[x;y]{body}}}", f"f'[{x};{y}]", (x, y))
    compare(calling, f"{{[x;y]{body}}}", f"f ./:flip({x};{y})", (x, y))


GAINS = """gain:{[i;w;x;y]g:i[w]x;g-:sum odds[w;d]*(not null key d)*w[d]i'x d:group y;(g;::;d)}
entropy:{[w;x]neg sum x*log x:odds[w]group x}
error:{[w;x]{x wsum x}[x-w wavg x]%count x}
W:40#1%40;Y:40?-1 1;C:40?`a`b`c;F:40?6f;V:40?30f"""


@pytest.mark.parametrize("f", ["gini", "entropy", "error"])
@pytest.mark.parametrize("labels", ["Y", "C", "F"])
def test_a_search_for_a_split_is_one_call(calling: Session, f: str, labels: str) -> None:
    calling.run(GAINS)
    if f != "error" or labels != "C":
        calling.run(f"k1:gain[{f};W;{labels}];c:'[k1;V>]")
        with running(calling):
            assert lambda_at_once.each(calling["c"], calling.run("asc distinct V")) is not None
    compare(calling, f"('[gain[{f};W;{labels}];V>])", "f each V", ("V",))


@pytest.mark.parametrize("verb", ONES)
def test_one_argument(shared: Session, verb: str) -> None:
    for name in INPUTS:
        compare(shared, f"{{{verb} x}}", f"f each {name}", (name,))


@pytest.mark.parametrize("cast", CASTS)
def test_casts(shared: Session, cast: str) -> None:
    for name in INPUTS:
        compare(shared, f"{{{cast}x}}", f"f each {name}", (name,))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("part", [3, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("verb", TWOS)
def test_two_arguments(shared: Session, verb: str, part: int) -> None:
    """With every value as the other argument, or with one in three, others for each verb and input."""
    for k, name in enumerate(INPUTS, TWOS.index(verb)):
        for other in (*ATOMS, "(`a`b;1 2)", "d")[k % part::part]:
            if verb in ("#", "?") and name in ("longs", "ints", "floats"):
                continue  # too many items
            compare(shared, f"{{x {verb} {other}}}", f"f each {name}", (name,))
            compare(shared, f"{{{other} {verb} x}}", f"f each {name}", (name,))
        for other in [*INPUTS][k % part::part]:
            if verb not in ("#", "?") or name not in ("longs", "ints", "floats"):
                compare(shared, f"{{x {verb} y}}", f"f'[{name};{other}]", (name, other))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("verb", TWOS)
def test_verbs_by_themselves(shared: Session, verb: str) -> None:
    for name in INPUTS:
        if verb in ("#", "?") and name in ("longs", "ints", "floats"):
            continue
        for other in ("1", "`a", '"ab"', "1 2"):
            compare(shared, f"{{x {verb} {other}}}", f"({verb})\\:[{name};{other}]", (name,))
            compare(shared, f"{{{other} {verb} x}}", f"({verb})/:[{other};{name}]", (name,))


LAMBDAS = ["{x,x}", "{(x;x+1)}", "{count string x}", "{`a`b x mod 2}", "{b:x+1;b*2}", "{if[x>2;:0];x*2}",
           "{$[x>2;`hi;`lo]}", "{x#0}", "{sum til x}", "{`a`b!(x;2*x)}", "{d x}", "{$[x in 3 4;x;0]}", "{+/[1+til 1+x]}",
           "{r:x;if[x>1;r:0];r}", "{(x;`a)}", "{r:1;r+:x;r}"]


@pytest.mark.parametrize("text", LAMBDAS)
def test_these_are_carried_out_at_once(shared: Session, text: str) -> None:
    f = shared.run(text)
    with running(shared):
        assert lambda_at_once.run(f, (shared["counts"],), (True,)) is not None


PRODUCTS = ("{x$M}", "{x mmu M}", "{(flip M)$x}", "{(flip M)mmu x}", "{x$M[;0]}", "{M[;0]mmu x}")


@pytest.mark.parametrize("items", [1, 7, 16, 17, 90])
def test_products_with_one_matrix(shared: Session, items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit where a product adds from first to last; else to the rounding of another order."""
    shared.run(f"M:{items} 5#{5 * items}?1f;A:{N} {items}#{N * items}?-2 0.1 0n 3 1e3 0w;B:{N} {items}#{N * items}?1f")
    for name, few in (("have", 2), ("want", 1 << 60)):
        monkeypatch.setattr(verb_at_once, "FEW", few)
        monkeypatch.setattr(verb_at_once, "FEW_ROWS", few)
        monkeypatch.setattr(lambda_at_once, "FEW", few)
        for k, f in enumerate(PRODUCTS):
            shared.run(f'{name}{k}:{f}each/:(A;B;"e"$B)')
    for k, f in enumerate(PRODUCTS):
        assert shared.run(f"have{k}~want{k}"), f
        if items <= 16:
            assert shared.run(f"(-8!have{k})~-8!want{k}"), f


def test_products_are_one(shared: Session) -> None:
    shared.run(f"M:9 5#45?1f;B:{N} 9#{9 * N}?1f;F:flip M;P:M>0")
    with running(shared):
        m, b, f, flags = (shared[name] for name in "MBFP")
        for name in ("$", "mmu"):
            assert verb_at_once.dyad(name, b, True, m, False) is not None
            assert verb_at_once.dyad(name, f, False, b, True) is not None
            assert verb_at_once.dyad(name, b, True, f, False) is None  # of other lengths
            assert verb_at_once.dyad(name, b, True, flags, False) is None


@pytest.mark.parametrize("use", ["{x$M}each B", "{x$M}each flip M", "M$/:B", "B mmu\\:M", "{$[;y]peach x}[B;M]",
                                 "{(y$)peach x}[B;flip M]", "B$'B", "{x$0#M}each B"])
def test_products_of_every_iterator(shared: Session, use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shared.run(f"M:9 5#45?1f;B:{N} 9#{9 * N}?1f")
    found = []
    for few in (2, 1 << 60):
        monkeypatch.setattr(verb_at_once, "FEW", few)
        monkeypatch.setattr(verb_at_once, "FEW_ROWS", few)
        monkeypatch.setattr(lambda_at_once, "FEW", few)
        found.append(shared.run(f"-8!@[{{{use}}};::;{{x}}]").a.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("use", ["{$[;y]peach x}[B;M]", "{(y$)peach x}[B;flip M]", "{(y mmu)each x}[B;flip M]", "B mmu\\:M",
                                 "(flip M)$/:B"])
def test_products_of_few_rows_are_one(shared: Session, use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    work = matrix._product
    monkeypatch.setattr(matrix, "_product", lambda a, b, size=0: calls.append(a.shape) or work(a, b, size))
    shared.run("M:9 5#45?1f;B:4 9#36?1f")
    shared.run(f"have:{use};n:-8!have")
    assert len(calls) == 1
    monkeypatch.setattr(verb_at_once, "FEW_ROWS", 5)
    shared.run(f"want:{use}")
    assert len(calls) == 5
    assert shared.run("n~-8!want")


USES = {
    1: ("f each v", "f':v", "f peach v", "f each d", "f each t", "@[v;til 80;f]", "(f')v", "f each/:2#enlist v"),
    2: ("v f'w", "v f\\:3", "3 f/:w", "v f/:\\:5#w", "f/[v]", "f\\[v]", "f/[1;v]", "f\\[1;v]", "f':[v]", "f':[5;v]",
        "f\\:[v;w]", "f/:[v;w]", "@[v;til 80;f;w]", "f'[v;3]", "d f'd", "t f'w"),
    3: ("f'[v;w;v]", "f'[1;w;v]", "f/[1;v;w]", "f\\[1;v;w]", "f/[v;3#w;3#v]", "f/[1;v;2]", "f\\[1;2;w]", "f'[d;v;1]"),
}
BODIES = {
    1: ("x+1", "(x;x)", "x,x", "2*sum x", "$[x>3;x;0]", "string x", "a:x;a+a"),
    2: ("x+y", "x,y", "(x;y)", "$[x>y;x;y]", "y", "x*2", "count x,y", "a:y;x-a"),
    3: ("x+y*z", "(x;y;z)", "x,y,z", "$[x>y;y;z]", "x", "x+y", "z"),
}


@pytest.mark.parametrize("rank", USES)
def test_every_iterator(rank: int, shared: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What iterators make of a lambda is the same whether items can be taken at once or not."""
    shared.run("v:80?9;w:80?9;d:(til 80)!v;t:([]a:v;b:w)")
    found = []
    for few in (verb_at_once.FEW, 1 << 60):
        monkeypatch.setattr(verb_at_once, "FEW", few)
        monkeypatch.setattr(lambda_at_once, "FEW", few)
        for body in BODIES[rank]:
            shared.run(f"f:{{[{';'.join('xyz'[:rank])}]{body}}}")
            found.append([str(bytes(shared.run(f"-3!@[{{{use}}};::;{{x}}]").a), "latin1") for use in USES[rank]])
    n = len(BODIES[rank])
    for body, at_once, one_by_one in zip(BODIES[rank], found[:n], found[n:], strict=True):
        for use, have, want in zip(USES[rank], at_once, one_by_one, strict=True):
            assert have == want, f"{use} of {body}"


def test_what_takes_too_much_memory_is_bounded(shared: Session) -> None:
    before = memory.status("VmHWM")
    compare(shared, "{[x]a:floor x xexp 3i;til a}", "f each floats", ("floats",))
    compare(shared, "{[x]a:floor x xexp 3i;a#x}", "f each floats", ("floats",))
    assert memory.status("VmHWM") < before + (3 << 29)


def test_few_items_are_taken_one_by_one(shared: Session) -> None:
    f, few = shared.run("{x,x}"), shared.run(f"til {verb_at_once.FEW - 1}")
    with running(shared):
        assert lambda_at_once.run(f, (few,), (True,)) is None


def test_what_has_effects_is_done_once_an_item(shared: Session) -> None:
    shared.run("n:0;g:{n+::1;x+n}")
    assert shared.run("(g each 100#0)~1+til 100") and shared.run("n~100")
    assert shared.run("1<count distinct{x+rand 1000000}each 100#0")
    assert shared.run("{1<count distinct{(x;5?1000000)}each 100#0}[]")


def test_an_error_is_that_of_the_first_item_that_has_one(shared: Session) -> None:
    with pytest.raises(QError, match="seven"):
        shared.run("{$[x=7;'`seven;x=9;'`nine;x]}each til 100")
    assert shared.run("count .[{{1+x}each x};enlist 100#enlist`a;::]") == 4
