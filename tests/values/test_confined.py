"""Confined evaluation, as for the clients of -u: outside of the current folder, nothing tells what exists there.

Everything in the registry is called with paths of a folder that is there and with the same paths of one that is not;
whatever looks at the disk must answer both alike.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kshell import registry
from kshell.errors import QError, QExit
from kshell.session import Session
from kshell.values.base.build import string
from kshell.values.session.restrict import confinement

KINDS = ("verb", "api", "command", "name", "internal")
# they wait for input, end the process, redirect the console, or compute long with such arguments
LEFT_OUT = {"input", "exit", "\\", "1", "2", "$", "?", "rand", "compile"}
FILES = ("file", "table", "value", "db", "state.pt", "script.q", "entries.py", "table/v", "none")
FORMS = ('`$":{}"', '`$":{}/"', '":{}"', '`$"{}"', '(`$":{}";0;5)', '(`$":{}";17;2;6)', '(`v;`$":{}")', '(`$":{}";`v)')
SECONDS = 0.3  # for one call
LOOKS = ("stat", "lstat", "access", "readlink", "listdir", "scandir", "open", "mkdir")


def texts(kind: str, entry: registry.Entry) -> Iterator[str]:
    """Calls of an entry in which {} is a path."""
    name = entry.name
    if kind == "command":
        yield from (f'system"{name} {{}}"', f'system"{name} {{}} {{}}"', f'system"{name} 1 {{}}"')
        return
    for form in FORMS[:1] + FORMS[6:] if kind == "api" else FORMS:
        if kind == "api":
            yield from (f"{name}({form})", f"{name}({form};`v)", f"{name}(`v;{form})")
        elif kind == "internal":
            yield f"{name}!{form}"
        else:
            for count in sorted({1, 2, 3} if -1 in entry.fns else set(entry.fns) - {0}):
                if count > 2 and form not in FORMS[:3]:
                    continue
                for other in ("`v", "([]v:1 2)") if count > 1 else ("",):
                    for position in range(count):
                        yield f"({name})[{';'.join(form if k == position else other for k in range(count))}]"


MORE = [
    '(`$":{}")2:(`a;1)', '(enlist"*";csv)0:`$":{}"', '(enlist"j";enlist 8)1:`$":{}"', '(`$":{}")0:enlist"ab"', '(`$":{}")1:0x00', 'system"1 {}/deep/er"', 'system"2 {}/deep/er"',
    '(`$":{}")1', '(`$":{}")"v"', '?[`$":{}";();0b;()]', '![`$":{}";();0b;enlist`v]', "select from`$\":{}\"", '(`$":{}")?`a', '.[`$":{}";();:;1]', '@[`$":{}";0;+;1]',
    'system"l {}/deep.q"', 'system"l {}.py"', 'hopen`$":{}:5000"', 'hopen(`$":{}";100)', '-19!(`$":{}";`:z;17;2;6)', '-11!(2;`$":{}")', '-11!(-2;`$":{}")', '.h.HOME:"{}";.z.ph("file";()!())',
    '.Q.en[`$":{}";([]s:`a`b)]', '.Q.ens[`$":{}";([]s:`a`b);`v]', 't:([]s:`a`b);.Q.dpft[`$":{}";2020.01.01;`s;`t]', 't:([]s:`a`b);.Q.dpt[`$":{}";2020.01.01;`t]', 'here:([]s:`a`b);.Q.hdpf[0;`$":{}";2020.01.01;`s]',
    '.Q.chk`$":{}"', '.Q.par[`$":{}";2020.01.01;`t]', '.Q.fsn[::;`$":{}";100]', '.Q.fpn[::;`$":{}";100]',
    'read0`$":./../{}"', 'read0`$":here/../../out/file"',
]  # fmt: skip


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Session, Path]:
    """A session in one of two folders; the other has files of all kinds."""
    inside, out = tmp_path / "inside", tmp_path / "out"
    for folder in (inside, inside / "here", out):
        folder.mkdir()
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.run(f'`:{out}/file 0:("a,b";"1,2");`:{out}/table/ set([]v:1 2);`:{out}/value set 1 2 3;`:{out}/db/2020.01.01/t/ set([]v:1 2)')
    session.run(f"ckpt(`$\":{out}/state.pt\";enlist[`a]!enlist tensor 1 2f)")
    (out / "first").write_text("a\n")
    (out / "script.q").write_text("z:1\n")
    (out / "entries.py").write_text("")
    monkeypatch.chdir(inside)
    return session, tmp_path


def answer(session: Session, text: str) -> str:
    """What a confined client sees of a text, in a limited time."""
    session.out = out = io.StringIO()
    signal.signal(signal.SIGALRM, session.interrupt)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    try:
        with confinement():
            session.run(text, show=True)
        return out.getvalue()
    except QError as e:
        return "'" + e.text
    except (QExit, KeyboardInterrupt) as e:
        return type(e).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def watched(monkeypatch: pytest.MonkeyPatch, top: Path) -> list[str]:
    """The paths below a folder, and not in its folder `inside`, about which Python asks the system from now on."""
    seen: list[str] = []

    def watching(fn: Callable[..., Any]) -> Callable[..., Any]:
        def ask(path: Any = ".", *args: Any, **options: Any) -> Any:
            name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
            if name.startswith(str(top)) and not name.startswith(str(top / "inside")):
                seen.append(name)
            return fn(path, *args, **options)

        return ask

    for name in LOOKS:
        monkeypatch.setattr(os, name, watching(getattr(os, name)))
    monkeypatch.setattr(builtins, "open", watching(open))
    return seen


def differing(session: Session, top: Path, text: str, names: tuple[str, ...]) -> list[str]:
    """What a text answers about files of the folder that is there, where that is not what it answers for the other."""
    found = []
    for name in names:
        said = [answer(session, text.replace("{}", f"{top}/{folder}/{name}")).replace(f"{top}/{folder}", "") for folder in ("out", "not", "out", "not")]
        if said[0] != said[1] and said[0] == said[2] and said[1] == said[3]:
            found.append(f"{text} of {name}: {said[0]!r}, of none: {said[1]!r}")
    return found


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_tells_what_exists_outside(places: tuple[Session, Path], monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    session, top = places
    seen = watched(monkeypatch, top)
    warnings.simplefilter("ignore")
    found, looked = [], set()
    for entry in registry.KINDS[kind].entries():
        if entry.name in LEFT_OUT or not entry.file.startswith(registry.FOLDER):
            continue
        for text in texts(kind, entry):
            seen.clear()
            answer(session, text.replace("{}", f"{top}/out/first"))
            if seen:
                looked.add(entry.name)
                found += differing(session, top, text, FILES)
    assert not found, "\n".join(found)
    known = {"verb": {"get", "key", "read0", "hcount", "load"}, "api": {"ckpt"}, "command": {"l"}, "name": {".Q.l", ".Q.fs"}, "internal": {"-11", "-21"}}
    assert known[kind] <= looked


@pytest.mark.parametrize("text", MORE)
def test_forms_of_their_own(places: tuple[Session, Path], text: str) -> None:
    session, top = places
    assert differing(session, top, text, FILES) == []
    if "HOME" not in text and "hopen" not in text:
        assert answer(session, text.replace("{}", f"{top}/out/file")).startswith("'access: ")


@pytest.mark.parametrize("text", ["key`$\":~{}/x\"", "get`$\":~{}/x\"", "read0`$\":~{}\"", "ckpt`$\":~{}/x\"", 'system"l ~{}/x.q"', 'system"l ~{}/x.py"', 'system"1 ~{}/x"'])
def test_nothing_tells_who_has_an_account(places: tuple[Session, Path], text: str) -> None:
    session, _ = places
    said = {answer(session, text.replace("{}", user)).replace(user, "") for user in ("root", "nobody-here")}
    assert len(said) == 1 and said.pop().startswith("'access: ~")


def test_scripts_are_found_beside_the_one_that_loads_them(places: tuple[Session, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    session, top = places
    (top / "inside" / "here" / "a.q").write_text("\\l b.q\n")
    (top / "inside" / "here" / "b.q").write_text("b:2\n")
    monkeypatch.setenv("QHOME", str(top / "out"))
    assert answer(session, 'system"l here/a.q";b') == "2\n"
    assert answer(session, 'system"l script.q"') == answer(session, 'system"l no-such.q"').replace("no-such", "script")
    session.run('system"l script.q"')  # the console may
    assert session.run("z") == 1


@pytest.mark.parametrize("table", ['flip(enlist`v)!`$":{}/table"', 'flip(enlist`v)!`$":{}/table/"', '-9!-8!flip(enlist`v)!`$":{}/table/"', 'flip(enlist`$"../../out/table/v")!`:here/',
                                   '[`:here/.d set enlist`$"../../out/table/v";get`:here/]', "flip(enlist`v)!`:linked/", "flip(enlist`link)!`:links/", "[`:links/.d set enlist`link;get`:links/]"])  # fmt: skip
@pytest.mark.parametrize("how", ["first value flip ", "count ", "select from "])
@pytest.mark.parametrize("restricted", [False, True])
def test_a_table_of_a_folder_elsewhere_has_no_columns(places: tuple[Session, Path], table: str, how: str, restricted: bool) -> None:
    """A table that is held reads its columns whenever they are used."""
    session, top = places
    (top / "inside" / "linked").symlink_to(top / "out" / "table")
    (top / "inside" / "links").mkdir()
    (top / "inside" / "links" / "link").symlink_to(top / "out" / "table" / "v")
    setup, _, table = table.strip("[]").rpartition(";") if table[0] == "[" else ("", "", table)
    session.run(setup or "0")
    text = how + table.replace("{}", str(top / "out"))
    session.names.set("program", string(text))
    with pytest.raises(QError, match=r"^(access: |type$)"), contextlib.nullcontext() if restricted else confinement():
        session.run("reval(value;program)" if restricted else text)


def test_a_table_that_the_process_holds_is_read(places: tuple[Session, Path]) -> None:
    session, top = places
    session.run(f"t:get`:{top}/out/table/")
    with confinement():
        assert session.run("exec sum v from t") == 3


def test_segments_elsewhere(places: tuple[Session, Path]) -> None:
    session, top = places
    session.run("`:db/par.txt 0:enlist\"ab\"")
    found = []
    for folder in ("out", "not"):
        Path("db/par.txt").write_text(f"{top}/{folder}/db\n")
        found.append(answer(session, ".Q.lo[`:db;0;0]").replace(folder, ""))
    assert found[0] == found[1] and found[0].startswith("'access: ")
