"""Wrong use of every registered name: a wrong number of arguments, and twelve kinds of argument it does not expect.

Each gives a value or one q error, in seconds, and the session, its names and its handles are as they were.
"""

from __future__ import annotations

import io
import time

import pytest

from kshell import registry
from kshell.errors import QError, QExit
from kshell.session import Session
from kshell.values.primitives import DERIVED

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
    for x in ["(o;-1f)", "(o;1)", "(o;.1 .2)", "(o;`a)", "(o;0n)"]:
        assert attempt(session, f"lr{x}") is not None, x
        assert session.run("k~.Q.s1 state o") is True, x
