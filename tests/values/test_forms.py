"""A list of vectors gives the same in whatever form it is held: one array, vectors end to end, or its items."""

from __future__ import annotations

import numpy as np
import pytest

from kshell import registry
from kshell.errors import QError
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import List, Nd, Value, Vec, flat_list

VALUES = {
    "longs": "(1 2;3 4;0N 1)", "square": "(0 1 2;3 4 5;6 7 8)", "bools": "(10b;01b)", "floats": "(1.5 0n;2 3f)",
    "texts": '("ab";"cd";"a ")', "syms": "(`a`b;`c`a)", "dates": "(2000.01.01 0Nd;2001.02.03 2000.01.01)",
    "one": "enlist 1 2 3", "deep": "((1 2;3 4);(5 6;7 8))", "same": '("ab";"ab")', "ints": "(1 2i;3 4i)",
    "single": "(1#1;1#2;1#1)",
}
RAGGED = {"lists": "(1 2;`long$();3#4)", "strings": '("ab";"";"cde";"ab")', "names": "(`a`b;1#`c)",
          "empties": "(`long$();`long$())"}
OTHERS = ("0", "1", "-1", "2", "0N", "1.5", "`a", '"a"', '"ab"', "1 2", "0 1", "0 1 2", "`a`b", "1 2f", "()", "::", "0b",
          "(1 2;3 4)", "(0 1;1)", "`a`b!1 2", "([]a:1 2)", "neg", "count", "{x}", "enlist 1 2", '("ab";"cd")', "2 2",
          "(1;`a)", "`long$()", "2000.01.01", "3 4i")
AMENDS = ("@[{};0;:;{}]", "@[{};1;:;{}]", "@[{};0 1;:;{}]", "@[{};0;,;{}]", "@[{};0;+;{}]", "@[{};0 0;+;{}]",
          ".[{};0 1;:;{}]", ".[{};(0;0 1);:;{}]", ".[{};(::;0);:;{}]", ".[{};(0 1;0);+;{}]", ".[{};(0 1;0 1);:;{}]",
          "@[{};::;,;{}]", "@[{};5;:;{}]", ".[{};0 9;:;{}]", "@[{};1#1;:;{}]", ".[{};();,;{}]")
INDEXES = ("0", "1", "9", "-1", "0N", "0 1", "1 9", "()", "(0 1;1)", "0 1;0", "0;1", ";0", "0;", ";0 1", "0 1;1 0", "0;9",
           "::", "`a", "1b", "(0;1 0)", "0 0;0 9", "0 1;0 1;0", "`a`b!0 1")
FOLDS = ("+/", "+\\", ",/", "|/", "{x+y}/", "{x,y}\\", "+':", ",':", "~':", "count'", "reverse'", "{x,1}'", "+/'", "flip",
         "raze", "1_", "-1_", "2#", "-2#", "5#", "0#", "1 rotate", "2 sublist", "1 2 sublist", "0 1_", "2 cut", "','",
         "show", "string", "-3!", "-8!", ".Q.s", "value", "\"j\"$", "`$", "\"f\"$", ".j.j", "md5 raze", "where raze",
         "`a`b!2#", "([]c:) ::", "{([]c:x)}", "{select from([]c:x)where i>0}", "{select c by i mod 2 from([]c:x)}",
         "{exec c from([]c:x)}", "{update c:reverse c from([]c:x)}", "{ungroup([]a:til count x;c:x)}",
         "{([]c:x)lj 1!([]c:distinct x;d:til count distinct x)}", "{x~\\:first x}", "{x?first x}", "{x?reverse x}",
         "{x in 1#x}", "{(1#x)in x}", "{x except 1#x}", "{x inter reverse x}", "{x union x}", "{x,x}", "{x,'x}", "{x,\\:x}",
         "{x+x}", "{x=x}", "{x<reverse x}", "{x!x}", "{(til count x)!x}", "{x@'0}", "{x .'0}", "{group x}", "{x bin first x}",
         "{(asc x)~asc reverse x}", "{x iasc x}", "{`s#asc x}", "{x[0],:first x 1;x}", "{x[0;0]:x[1;0];x}", "{x[1]:();x}",
         "{x[;0]:x[;1];x}", "{x,:x;x}", "{x,:1#x;x}", "{x[0]+:1;x}", "{x[0]:1;x}", "{r:x;r[0]:r[1],r[1];(x;r)}")


def held(x: Value, form: str) -> Value | None:
    """x in a form, or None if it has no such."""
    if form == "array":
        return as_nd(plain(x))
    if form == "items":
        return plain(x)
    flat = plain(x)
    if any(i.__class__ is not Vec or i.t != flat.items[0].t or i.t == T.ENUM for i in flat.items):
        return None
    return flat_list(flat.items[0].t, np.concatenate([i.a for i in flat.items]),
                     np.cumsum([len(i.a) for i in flat.items]))


def plain(x: Value) -> Value:
    """x as its items, and these again."""
    return List([plain(i) if isinstance(i, List) else i for i in x.items])


@pytest.fixture(scope="module")
def shared() -> Session:
    return Session()


def outcome(s: Session, text: str) -> str:
    try:
        s["r"] = s.run(text)
    except QError as e:
        return "'" + str(e)
    return str(bytes(s.run("-3!r").a), "latin1")


def compare(s: Session, text: str, *, form: str, name: str) -> None:
    given = s.run((VALUES | RAGGED)[name])
    have = held(given, form)
    if have is None:
        return
    assert isinstance(have, Nd) is (form == "array")
    s["x"] = plain(given)
    want = outcome(s, text)
    s["x"] = have
    got = outcome(s, text)
    assert got == want or got[0] == want[0] == "'", f"{text} with x:{(VALUES | RAGGED)[name]} as {form}"


VERBS = sorted(e.name for e in registry.entries("verb") if e.name not in
               ("exit", "hopen", "hclose", "rand", "show", "read0", "read1", "hdel", "hcount", "load", "save", "rload",
                "rsave", "system", "setenv", "getenv", "gtime", "ltime", "tables", "views", "set", "get", "value", "eval",
                "reval", "dsave", "select", "exec", "update", "delete", "0:", "1:", "2:", "!", "'", "/", "\\", "peach",
                "each", "over", "scan", "prior", ":", "::", "?"))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", ["array", "flat"])
@pytest.mark.parametrize("name", [*VALUES, *RAGGED])
def test_one_argument(shared: Session, name: str, form: str) -> None:
    for verb in VERBS:
        compare(shared, f"{verb}[x]", form=form, name=name)
    for fold in FOLDS:
        compare(shared, f"({fold})x" if fold[0] != "{" else f"{fold}x", form=form, name=name)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", ["array", "flat"])
@pytest.mark.parametrize("name", [*VALUES, *RAGGED])
def test_index_and_amend(shared: Session, name: str, form: str) -> None:
    for at in INDEXES:
        compare(shared, f"x[{at}]", form=form, name=name)
    for amend in AMENDS:
        for other in OTHERS:
            compare(shared, amend.format("x", other), form=form, name=name)
            if amend[0] == "@" and ":;" in amend:
                at = amend.split(";")[1]
                compare(shared, f"{{x[{at}]:{other};x}}x", form=form, name=name)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("verb", [v for v in VERBS if 2 in registry.find("verb", v).fns])
def test_two_arguments(shared: Session, verb: str) -> None:
    for name in ("longs", "texts", "syms", "floats", "deep", "lists", "strings"):
        for form in ("array", "flat"):
            for other in (*OTHERS, "x"):
                compare(shared, f"{verb}[x;{other}]", form=form, name=name)
                compare(shared, f"{verb}[{other};x]", form=form, name=name)
