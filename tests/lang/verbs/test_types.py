"""Which type a verb gives for which types: tables written from the reference, over every form that an operand can have.

The tables stand in the folder types beside. A form is a way to hold items of one type: an atom, a vector, an empty
vector, lists of lists held as one array or item by item, a dictionary, a table, a keyed table. All forms must give
items of the type that the table says, or its error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kshell import registry
from kshell.errors import QError
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, atom_t, raw
from kshell.values.base.match import match
from kshell.values.session import context

S = Session()
LETTERS = "bgxhijefcspmdznuvt"
LITERALS = dict(zip(LETTERS, (
    "1b", "0Ng", "0x02", "2h", "2i", "2", "2e", "2f", '"a"', "`a", "2000.01.03D00:00:01", "2000.03m", "2000.01.03",
    "2000.01.03T01:00:00.000", "0D00:00:02", "00:02", "00:00:02", "00:00:02.000"), strict=True))
NO_TABLES = ("div", "mod", "xbar", "xexp")
FUNCTIONS = ("{x}", "(+)", "+[1;]", "(neg sum@)", "(+/)", "(::)", "{x+y}[;2]")


def q(text: str, **given: Value) -> Value:
    for name, x in given.items():
        S[name] = x
    return S.run(text)


def fn(name: str, rank: int) -> registry.Callable[..., Value]:
    entry = registry.find("verb", name)
    assert entry is not None, name
    return entry.fns[rank]


def blocks(file: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The blocks of a table file: the words of the first line, and those of each further line."""
    lines = [s for s in (Path(__file__).parent / "types" / file).read_text().splitlines() if not s.startswith("#")]
    for block in "\n".join(lines).split("\n\n"):
        rows = [line.split() for line in block.splitlines() if line.strip()]
        if rows:
            yield rows[0], rows[1:]


def pairs(rows: list[list[str]]) -> dict[tuple[str, str], str]:
    """(left, right) to the letter of the result."""
    out = {(a, b): "." for a in LETTERS for b in LETTERS}
    for lefts, results in rows:
        assert len(results) == len(LETTERS)
        for a in lefts:
            out |= {(a, b): r for b, r in zip(LETTERS, results, strict=True)}
    return out


DYADS = {name: pairs(rows) for names, rows in blocks("dyads.txt") for name in names}
LISTS = {name: (kind, pairs(rows)) for (kind, *names), rows in blocks("lists.txt") for name in names}
MONADS = {name: (line[0], dict(zip(LETTERS, line[-1], strict=True)))
          for first, rest in blocks("monads.txt") for line in (first, *rest) for name in line[1:-1]}

ATOM = {c: q(text) for c, text in LITERALS.items()}
PAIR = {c: q(f"2#{text}") for c, text in LITERALS.items()}
NONE = {c: q(f"0#{text}") for c, text in LITERALS.items()}
FORMS = {
    "atom": ATOM, "vector": PAIR, "empty": NONE,
    "list": {c: List([PAIR[c], ATOM[c]]) for c in LETTERS},
    "deep": {c: List([List([PAIR[c], ATOM[c]]), ATOM[c]]) for c in LETTERS},
    "array": {c: as_nd(List([PAIR[c]] * 2)) for c in LETTERS},
    "dict": {c: Dict(q("1 2"), PAIR[c]) for c in LETTERS},
    "table": {c: Table(["a", "b"], [PAIR[c], PAIR[c]]) for c in LETTERS},
    "keyed": {c: Dict(Table(["k"], [q("`x`y")]), Table(["a", "b"], [PAIR[c], PAIR[c]])) for c in LETTERS},
}  # fmt: skip
CONFORMING = [("atom", f) for f in FORMS] + [(f, "atom") for f in FORMS if f != "atom"] + \
    [(f, f) for f in FORMS if f != "atom"] + [("vector", "list"), ("list", "vector"), ("array", "vector"),
                                               ("vector", "array"), ("deep", "list"), ("list", "array"),
                                               ("vector", "deep")]


def leaves(x: Value) -> set[str]:
    """The letters of the types of the items of x, however deep."""
    if isinstance(x, (Vec, Nd)):
        return {T.TYPE[x.t].char}
    if isinstance(x, List):
        return set().union(*map(leaves, x.items))
    if isinstance(x, Dict):
        return leaves(x.v)
    if isinstance(x, Table):
        return set().union(*map(leaves, x.cols))
    return {T.TYPE[atom_t(x)].char}


def outcome(f: registry.Callable[..., Value], *args: Value) -> str:
    try:
        return "".join(sorted(leaves(f(*args))))
    except QError as e:
        return "." if e.text == "type" else e.text
    except Exception as e:
        return f"Python's {e!r}"


def result(f: registry.Callable[..., Value], *args: Any) -> Value:
    """A value, or the text of an error."""
    try:
        return f(*args)
    except QError as e:
        return e.text


# ------------------------------------------------------------------ two arguments


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DYADS)
def test_types_of_two_arguments(name: str) -> None:
    f, wrong = fn(name, 2), []
    for (a, b), want in DYADS[name].items():
        for left, right in CONFORMING:
            refused = name in NO_TABLES and "table" in (left, right)
            got = outcome(f, FORMS[left][a], FORMS[right][b])
            if got != ("." if refused else want):
                wrong.append(f"{left} {a} {name} {right} {b}: {got}, not {want}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("name", DYADS)
def test_functions_and_mixed_items_are_refused(name: str) -> None:
    """A function is no operand; one item that does not fit makes the whole an error."""
    f, wrong = fn(name, 2), []
    good = q("(1;2.5)") if name != "^" else q("(1;0N)")
    fits = outcome(f, 2, good)
    assert fits != "."
    for text in FUNCTIONS:
        for x in (ATOM["j"], PAIR["j"], good, FORMS["dict"]["j"], FORMS["keyed"]["j"]):
            wrong += [text for got in (outcome(f, x, q(text)), outcome(f, q(text), x)) if got != "."]
    for c in "gs":
        for bad in (List([2, ATOM[c]]), List([PAIR["f"], PAIR[c]]), Dict(PAIR["j"], List([2, ATOM[c]])),
                    Dict(Table(["k"], [PAIR["j"]]), Table(["a", "b"], [PAIR["j"], PAIR[c]]))):
            wrong += [f"{c} {bad!r}" for got in (outcome(f, 2, bad), outcome(f, bad, 2)) if got != "."]
    assert not wrong


@pytest.mark.parametrize("name", DYADS)
def test_lengths_must_agree(name: str) -> None:
    f = fn(name, 2)
    for x, y in (("1 2", "1 2 3"), ("1 2", "(1;2;3)"), ("(1 2;3 4)", "1 2 3"), ("(1 2;3 4)", "(1 2;1 2 3)"),
                 ("()", "1 2"), ("1 2i", "1 2 3f"), ("(1 2;(3;4 5))", "(1 2;(3 4;4 5 6))"), ("0#0", "1 2")):
        assert outcome(f, q(x), q(y)) == outcome(f, q(y), q(x)) == "length", (x, y)
    assert not f(q("()"), q("()")).items and not f(1, q("()")).items and not f(q("()"), 1).items


@pytest.mark.parametrize("name", LISTS)
def test_types_with_a_list_on_the_right(name: str) -> None:
    (kind, table), f, wrong = LISTS[name], fn(name, 2), []
    for (a, b), want in table.items():
        if want == "?":
            continue
        if kind == "whole":
            forms = [(PAIR[a], PAIR[b]), (NONE[a], NONE[b])]
        else:
            forms = [(ATOM[a], FORMS[form][b]) for form in ("vector", "empty", "array", "dict", "table", "keyed")]
        for x, y in forms:
            got = outcome(f, x, y)
            if got != want:
                wrong.append(f"{a} {name} {b} {type(y).__name__} {len(y)}: {got}, not {want}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40])


# ------------------------------------------------------------------ one argument

ONE = {
    "atomic": list(FORMS), "whole": ["atom", "vector", "empty", "array", "dict", "table", "keyed"],
    "total": ["vector", "empty", "array", "dict", "table", "keyed"], "uniform": ["vector", "empty", "array", "dict", "table", "keyed"], "list": ["vector", "empty"],
}  # fmt: skip


@pytest.mark.parametrize("name", MONADS)
def test_types_of_one_argument(name: str) -> None:
    kind, table = MONADS[name]
    f, wrong = fn(name, 1), []
    for c, want in table.items():
        for form in ONE[kind] if want != "?" else []:
            x = FORMS[form][c]
            if name in ("iasc", "idesc", "rank", "count", "first", "last", "reverse", "differ") \
                    and form not in ("atom", "vector", "empty"):
                continue
            if form == "array" and (name in ("avg", "med", "sums", "prds") or (name in ("deltas", "sum") and c in "pmdz")
                                    or (name == "prd" and c in "pmdznuvt")):
                continue  # these work on whole rows: sums of rows, rows in order, the first row kept
            got = outcome(f, x)
            if got != want:
                wrong.append(f"{name} {form} {c}: {got}, not {want}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("name", [n for n, (kind, _) in MONADS.items() if kind == "atomic"])
def test_functions_are_no_operand_of_one_argument(name: str) -> None:
    f = fn(name, 1)
    for text in FUNCTIONS:
        if name != "null":
            assert outcome(f, q(text)) == ".", text
    assert not f(q("()")).items


# ------------------------------------------------------------------ kinds of value

KINDS = ("5", "`a", '"ab"', "1 2", "`a`b", "(1;`a)", "`a`b!1 2", "([]a:1 2)", "([k:1 2]v:3 4)", "{x}")


@pytest.mark.parametrize("row", [[*first] if i == 0 else line for first, rest in blocks("kinds.txt")
                                 for i, line in enumerate([first, *rest])], ids=lambda row: row[0])
def test_kinds(row: list[str]) -> None:
    name, wrong = row[0], []
    assert len(row) == len(KINDS) + 1
    for kind, want in zip(KINDS, row[1:], strict=True):
        got = result(S.run, f"type {name} {kind}")
        if want != "?" and (got if isinstance(got, str) else str(raw(got))) != want:
            wrong.append(f"{name} {kind}: {got}, not {want}")
    assert not wrong


# ------------------------------------------------------------------ anything with anything

OUTSIDE = {"exit", "system", "hopen", "hdel", "set", "save", "load", "rsave", "rload", "dsave", "0:", "1:", "2:", "setenv",
           "read0", "read1", "hclose", "show", "insert", "upsert", "eval", "reval", "value", "get", "parse", "peach",
           "each", "over", "scan", "prior"}  # reach outside the session or call what they are given
VALUES = [x for form in FORMS.values() for x in form.values()] + [q(text) for text in (
    *FUNCTIONS, "(1;`a;2.5)", "()", "(1 2;`a`b;\"xy\")", "(\"ab\";\"c\";\"\")", "`a`b!(1 2;`x)", "()!()", "0N", "0n", "0",
    "([]a:1 2;b:`x`y;c:(\"a\";\"bc\"))", "([k:`a`b]v:1 2;w:(1 2;3))", "([]a:();b:0#0)", "-3", "enlist 1", "0w", "0Nd")]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Verbs are called here without a session, which would keep numpy from warning."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture
def running() -> Iterator[None]:
    token = context.enter(S)
    yield
    context.leave(token)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_verb_gives_a_value_or_a_q_error(rank: int, running: None) -> None:
    """For whatever values, and never an error of Python's that the session would have to rename."""
    rng, wrong = np.random.default_rng(rank), []
    for entry in registry.entries("verb"):
        f = entry.fns.get(rank)
        if f is None or entry.name in OUTSIDE:
            continue
        for at in rng.integers(0, len(VALUES), (250, rank)) if rank > 1 else np.arange(len(VALUES))[:, None]:
            args = [VALUES[i] for i in at.tolist()]
            try:
                f(*args)
            except (QError, NameError):  # a name that has no value is an error of its own
                pass
            except Exception as e:
                wrong.append(f"{entry.name} {args!r}: {e!r}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:20])


# ------------------------------------------------------------------ casts


@pytest.mark.parametrize("form", ["atom", "vector", "empty", "list", "array", "dict", "table", "keyed"])
def test_casts(form: str) -> None:
    wrong = []
    for to, results in ((to, line[-1]) for first, rest in blocks("casts.txt") for line in (first, *rest)
                        for to in line[:-1]):
        number, name = T.BY_CHAR[to].num, T.BY_CHAR[to].name
        for c, want in zip(LETTERS, results, strict=True):
            S["x"] = FORMS[form][c]
            for how in (f'"{to}"$x', f"`{name}$x", f"{number}h$x", f"[t:{number};($[;x])`short$t]"):
                got = outcome(q, how)
                if got != (to if want == "*" else want):
                    wrong.append(f"{how} {c}: {got}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40])


# ------------------------------------------------------------------ compiled code

ODD = [q(text) for text in ("0N", "0W", "-0W", "9223372036854775806", "-9223372036854775806", "3", "-1", "0", "0n", "0w",
                            "-0w", "1.5", "0f", "0b", "1b", "0Ni", "0Wi", "2147483647i", "0Nh", "0Wh", "0x00", "0xff", "0Ne",
                            "0We", "2.5e", "0Nd", "0Wp", "2000.01.03", "0D00:00:01", "00:01", "0Nt", '"a"', "`a")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["+", "-", "*", "%", "=", "<>", "<", ">", "<=", ">=", "&", "|", "^", "div", "mod", "xbar"])
def test_compiled_code_does_what_the_verb_does(name: str) -> None:
    """In a line, in a function of one call and in one that runs a loop, where atoms take ways of their own."""
    f, wrong = fn(name, 2), []
    S.run(f"once:{{x {name} y}};vec:{{(enlist x){name} y}};loop:{{[a;b]r:0;i:0;while[i<3;r:a {name} b;i+:1];r}}")
    S.run(f"left:{{[a;b]r:a;do[1;r{name}:b];r}}" if name[0] not in "dmx<>=" else "left:{x}")
    for x in ODD:
        for y in ODD:
            S["x"], S["y"] = x, y
            want = result(f, x, y)
            for text in (f"x {name} y", "once[x;y]", "first vec[x;y]", "loop[x;y]",
                         "left[x;y]" if name[0] not in "dmx<>=" else "once[x;y]"):
                got = result(S.run, text)
                ok = got == want if isinstance(want, str) else not isinstance(got, str) and match(got, want)
                if not ok:
                    wrong.append(f"{text}: {x!r} {name} {y!r}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:20])
