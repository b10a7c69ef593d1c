"""Python at the prompt: what completion offers, `help`, and a process that runs no Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.shell.complete import offers
from tests.shell.test_cli import run

LINES = ("text:.p.import`string", "day:.p.import[`datetime;`:date;2026;11;27]", "len1:.p.eval[\"len\";<]",
         ".p.e\"class Slow:\\n @property\\n def dear(self): raise SystemError('computed')\\n n=3\"", "slow:.p.eval\"Slow()\"",
         ".p.set[`kept1;1]")


@pytest.fixture(scope="module")
def session() -> Session:
    s = Session()
    s.names.load_builtins()
    for line in LINES:
        s.run(line)
    return s


# text before the cursor: candidates that must be there, and some that must not
OFFERS = [
    ("text`:asc", ["ascii_letters", "ascii_lowercase"], ["digits"]),
    ("text[`:dig", ["digits"], []),
    ("text[`:Templ", ["Template"], []),
    ("text[`:Template.sub", ["Template.substitute"], ["substitute"]),
    ("text[`:", ["digits"], ["__name__"]),
    ("text[`:__na", ["__name__"], []),
    ("day[`:ye", ["year"], []),
    ("day[`:year;`:re", [], ["real"]),  # the result would have to be computed
    ("slow[`:d", ["dear"], []),
    ("slow[`:dear.", [], ["real"]),
    ("slow[`:n.rea", ["n.real"], []),
    ("len1[`:__cal", [], ["__call__"]),  # the arguments of a declared function are values
    (".p.import`strin", ["string", "stringprep"], ["strings"]),
    (".p.import[`strin", ["string"], []),
    (".p.pyimport`strin", ["string"], []),
    (".p.import[`xml.et", ["xml.etree"], ["xml"]),
    (".p.import[`xml.etree.Elem", ["xml.etree.ElementTree"], []),
    (".p.import[`nosuchpackage.", [], []),
    (".p.import[`string;`:cap", ["capwords"], []),
    (".p.import[`wave;`:op", [], ["open"]),  # not imported, and not for this
    (".p.get`kep", ["kept1"], []),
    (".p.get[`kept1;`:rea", ["real"], []),
    (".p.get[`kep", ["kept1"], []),
]


@pytest.mark.parametrize(("text", "there", "absent"), OFFERS, ids=[row[0] for row in OFFERS])
def test_what_follows(session: Session, text: str, there: list[str], absent: list[str]) -> None:
    modules = {*sys.modules}
    found = [offer.text for offer in offers(session, text)]
    assert set(there) <= set(found)
    assert not set(absent) & set(found)
    assert {*sys.modules} - modules == set()


def test_files_are_offered_where_no_attribute_is(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "digest.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    assert [offer.text for offer in offers(session, "get`:dig")] == ["digest.txt"]
    assert [offer.text for offer in offers(session, "len1[`:dig")] == ["digest.txt"]


@pytest.mark.parametrize("line", ["help text`:capwords", "help .p.import[`string;`:capwords]", "help text[`:capwords;`.]"])
def test_help_of_a_python_object(session: Session, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    session.run(line)
    assert capsys.readouterr().out.startswith("Python Library Documentation: function capwords in module string")


REFUSED = ['.p.e"x=1"', '.p.eval"1"', '.p.qeval"1"', '.p.pyeval"1"', ".p.import`math", ".p.pyimport`math", ".p.set[`x;1]",
           "p)x=1", "\\l f.p", "\\l f.py", ".p.loadPy\"f.py\"", ".p.list 1 2 3", ".p.topy 1 2", ".p.tonp 1 2", ".p.repr 1",
           "print 1", ".p.closure[{[s;x](s;x)};0]1", ".p.list .p.generator[{[s;i](s;i)};0;3]"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each of the lines says in one process that runs no Python."""
    folder = tmp_path_factory.mktemp("off")
    for name in ("f.p", "f.py"):
        (folder / name).write_text(f"open('{name}.ran', 'w')\n")
    (folder / "s.q").write_text("\n".join(f"-1@[value;{_quoted(line)};{{x}}];" for line in REFUSED) + "\n-1 string 2+3;\n")
    found = run("--no-python", "s.q", cwd=folder).stdout.splitlines()
    assert not [*folder.glob("*.ran")]
    assert found.pop() == "5"
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("line", REFUSED)
def test_a_process_that_runs_no_python(answers: list[str], line: str) -> None:
    assert answers[REFUSED.index(line)] == "access: Python is off"


def test_python_once_off_stays_off(tmp_path: Path) -> None:
    lines = ["setting`python", "setting(`python;1b)", "setting(`python;0b)", "setting`python", "`python in key setting()",
             ".p.qeval\"1\"", "setting(`python;1b)", "1+1"]
    (tmp_path / "s.q").write_text("\n".join(f"-1@[{{-3!value x}};{_quoted(line)};{{x}}];" for line in lines))
    assert run("s.q", cwd=tmp_path).stdout.splitlines() == [
        "1b", "::", "::", "0b", "1b", "access: Python is off", "setting: python stays off in this process, given 1b", "2"]


def test_a_listed_setting(session: Session) -> None:
    with pytest.raises(QError, match="cannot set value for python"):
        session.run("setting(`python;3)")
