"""Programs of kshell's own listen too: a script, and a job of several processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kshell.attach import place
from tests.host.programs import Client, Program

SCRIPT = """m:module seq(`sequential;(`linear;4;8);`relu;(`linear;8;1))
{together}o:opt(`adamw;m;.01); n:7
x:tensor(`randn;32 4); y:tensor(`randn;32 1)
do[100000; zerograd o; z:mse(forward(m;x);y); backward z; free z; step o]
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Program(tmp_path, "", KSHELL_LISTEN="1")
    monkeypatch.setenv("KSHELL_RUN", str(made.run))
    yield made
    made.kill()


def states(program: Program, count: int) -> list[place.State]:
    """The states of its processes, once they have made some steps."""

    def there() -> Any:
        found = [s for s in place.listening() if s.step > 3] if program.run.exists() else []
        return sorted(found, key=lambda s: s.rank) if len(found) == count else None

    found: list[place.State] = program.until(there)
    return found


@pytest.mark.slow
def test_a_script_of_kshell(program: Program) -> None:
    (program.folder / "s.q").write_text(SCRIPT.format(together=""))
    program.start(sys.executable, "-m", "kshell", "-q", "s.q")
    client = Client(str(program.run / str(states(program, 1)[0].pid)))
    assert client("n") == 7 and len(client("exec norm from gradtable o")) == 4
    at = client(".run.step")
    client("lr(o;.002)")
    client("child(m;`2;(`linear;8;1))")
    assert set(client(".run.edits")["edit"]) == {0, 1} and len(client("exec name from parmtable m")) == 4
    assert client("first lr o") == 0.002 and client(".run.step") > at
    assert client("last .run.steps`opt") == "o" and client("all 0<exec loss from .run.steps")


@pytest.mark.slow
def test_a_job_of_kshell(program: Program) -> None:
    (program.folder / "s.q").write_text(SCRIPT.format(together="ddp m; "))
    program.start(sys.executable, "-m", "kshell", "-n", "2", "-q", "s.q")
    first, second = (Client(str(program.run / str(s.pid))) for s in states(program, 2))
    first("lr(o;.002)")
    program.until(lambda: len(first(".run.edits")["step"]) and len(second(".run.edits")["step"]))
    assert first("exec first step from .run.edits") == second("exec first step from .run.edits")
    assert second("first lr o") == 0.002
    ranks = first(".run.ranks")
    assert list(ranks["rank"]) == [0, 1] and all(ranks["alike"])
