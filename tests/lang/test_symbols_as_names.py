"""Any symbol can be a name in a parse tree, a column or an argument of `set`: it is never taken for Python code, nor for
one of the compiler's own helpers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kshell import registry
from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.symbols import sym

ODD = ["a b", "1", "a+1", "a if 1 else a", "print(1)", "def", "None", "[a for a in(1,)]", "é", "ﬁ", "x\n", "a=1", "(a:=1)", "lambda: 1", '"a"', "9**9"]
PUT = ["n set 5", "eval(:;n;5)", "@[`.;n;:;5]", "n insert 5", ".[n;();:;5]", "eval(:;(n;0);5)", "`.a.b set 1;`.a set(enlist n)!enlist 5",
       ".a.b:1;@[`.a;n;:;5]", ".a:(enlist n)!enlist 5", "system\"d .a\";eval(:;(`. `n);5)"]


@pytest.fixture
def session() -> Session:
    s = Session()
    s.run("a:1;x:2;fi:3;e:4")
    return s


def error(session: Session, text: str) -> str:
    try:
        return f"no error: {session.show(session.run(text))}"
    except QError as e:
        return e.text


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("space", [".", ".b"])
def test_an_odd_name_is_a_variable_as_any_other(session: Session, name: str, space: str) -> None:
    session["n"] = sym(name)
    session.run(f"n:`. `n;system\"d {space}\";a:1" if space != "." else "")
    n = "n" if space == "." else "(`. `n)"
    for text in (f"eval {n}", f"reval {n}", f"eval({n};1)", f"eval(+;{n};1)", f"{{eval x}}{n}"):
        assert error(session, text) == name, text
    session.run(f"eval(:;{n};5)")
    assert session.run(f"eval {n}") == 5 == session.run(f"get {n}")
    assert session.run(f"{{eval x}}{n}") == 5 and session.run(f"eval(+;{n};1)") == 6
    session.run(f"eval(:;{n};{{x+1}})")
    assert session.run(f"eval({n};1)") == 2
    assert session.run("a") == 1


@pytest.mark.parametrize("name", ODD)
def test_a_column_with_an_odd_name(session: Session, name: str) -> None:
    session["n"] = sym(name)
    session.run("t:flip(n;`w)!(1 2 1;4 5 6)")
    for text in ("?[t;();0b;(enlist`y)!enlist n]~([]y:1 2 1)", "?[t;enlist(=;n;2);();`w]~enlist 5",
                 "(value ?[t;();(enlist n)!enlist n;(enlist`y)!enlist(sum;`w)])~([]y:10 5)", "?[t;();();(max;n)]~2",
                 "![t;();0b;(enlist`w)!enlist(+;n;1)]~flip(n;`w)!(1 2 1;2 3 2)", "![t;();0b;enlist n]~([]w:4 5 6)",
                 "![t;enlist(=;n;1);0b;`$()]~flip(n;`w)!(enlist 2;enlist 5)"):
        assert session.run(text), text


@pytest.mark.parametrize("text", PUT)
def test_helpers_of_the_compiler_cannot_be_reached(session: Session, text: str) -> None:
    helpers = sorted(name for name in session.names.load_builtins() if name[0] == "_")
    assert len(helpers) > 30
    for name in [*helpers, "__builtins__", "__debug__"]:
        session["n"] = sym(name)
        assert error(session, "eval n") == error(session, "get n") == error(session, "eval(n;1)") == name
        assert error(session, text) in ("assign", "type", name), name
        session.run('system"d ."')
        assert session.run("not n in key`.")
        assert session.run("f:{[c;y]r:$[c;y;0N];r+count til y};f[1;2]") == 4
        with pytest.raises(QError, match="assign"):
            session[name] = 1
    assert session.run("(a;x)~1 2")


NAMES = st.one_of(st.text("ab1_ +*[]()'\"\\\n,:=if", min_size=1, max_size=12), st.text(min_size=1, max_size=6))


@given(name=NAMES.filter(lambda s: s != "n" and s.isprintable() and "." not in s and registry.find("verb", s) is None))
def test_any_text_is_a_name_and_nothing_else(name: str) -> None:
    session = Session()
    session["n"] = sym(name)
    if name not in session.names.load_builtins() or name[0] == "_":
        assert error(session, "eval n") == name
    if name[0] not in "_:":  # (a colon begins the name of a file)
        session.run("n set 5")
        assert session.run("eval n") == 5
