"""Saves of several files that fail, that are under way in another process, or that a process left, as others see them."""

from __future__ import annotations

import fcntl
import io
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.store import atomic, kdb, unfinished
from kshell.values.base.build import longs
from tests import ROOT
from tests.store import killing
from tests.support import warm

counted = pytest.mark.skipif(not killing.CAN, reason="system calls are counted on Linux on x86-64 only")


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session(out=io.StringIO(), err=io.StringIO())


def ours(folder: Path) -> list[str]:
    return [n for _, inner, files in os.walk(folder) for n in [*inner, *files] if n.startswith(unfinished.MARK)]


def stopped(text: str, name: str) -> None:
    """Run some q in a process that is killed before the last of its calls with this name."""
    def work() -> None:
        Session(out=io.StringIO()).run(text)

    folder = os.getcwd()
    copy = folder + ".copy"
    subprocess.run(["cp", "-a", folder, copy], check=True)

    def elsewhere() -> None:
        os.chdir(copy)
        work()

    made, _ = killing.killed(elsewhere)
    killing.killed(work, len(made) - 1 - made[::-1].index(name))


OLD = "`:t/ set ([]a:1 2 3;b:(1 2;3 4;5 6));"
NEW = "`:t/ set ([]a:7 8;b:(9 9;8 8));"
ROWS = "`:t/ upsert ([]a:9 9;b:(7 7;6 6));"


@counted
@pytest.mark.parametrize(("save", "call", "seen"), [(NEW, "rename", "7 8"), (ROWS, "unlink", "1 2 3")])
def test_who_may_not_repair_sees_the_same(s: Session, tmp_path: Path, save: str, call: str, seen: str) -> None:
    """In reval what is left is read as it is to be, and stays; afterwards it is repaired, and reads the same."""
    s.run(OLD)
    stopped(save, call)
    left = ours(tmp_path)
    assert left == [unfinished.SAVE]
    s.run("f:{(cols x;x each cols x)}")
    s.run("x:reval parse\"(f get`:t/;get`:t/a;key`:t;hcount`:t/a)\"")
    assert ours(tmp_path) == left
    assert s.run(f"x[1]~{seen}") is True
    assert s.run("x~(f get`:t/;get`:t/a;key`:t;hcount`:t/a)") is True
    assert not ours(tmp_path)


def test_a_reader_waits_for_nobody(s: Session, tmp_path: Path) -> None:
    """While another process appends, rows are as before; while it moves files, they are as they will be."""
    s.run(OLD)
    folder = tmp_path / "t"
    with unfinished.turn(str(folder)) as note:
        with open(folder / "a", "r+b") as f:
            head = f.read(16)
            note([unfinished.Before("a", os.fstat(f.fileno()).st_ino, os.path.getsize(folder / "a"), 0, head)])
            f.write(b"\7" * 24 + b"\1" * 80)
            f.seek(8)
            f.write((13).to_bytes(8, "little"))
        assert s.run("get`:t/a") is not None and s.run("3=count get`:t/a") is True
        assert s.run("(key`:t)~`.d`a`b,`$\"b#\"") is True
        (folder / "a").write_bytes((folder / "a").read_bytes()[:40])
        kdb_bytes = (folder / "a").read_bytes()
        (folder / "a").write_bytes(head + kdb_bytes[16:])
    (tmp_path / "v").mkdir()
    kdb.write(str(tmp_path / "v" / "a"), longs([5, 6]))
    os.rename(tmp_path / "v", folder / unfinished.SAVE)
    held = os.open(folder / unfinished.SAVE, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert s.run("(get`:t/a)~5 6") is True and ours(tmp_path) == [unfinished.SAVE]
    os.close(held)
    assert s.run("(get`:t/a)~5 6") is True and not ours(tmp_path)


APPENDER = """
import sys
from kshell.session import Session
s = Session()
s.run("i:0;do[150;`:t/ upsert(x;i);i+:1]".replace("x", sys.argv[1]))
"""


def test_processes_that_append_take_turns(s: Session, tmp_path: Path) -> None:
    """Two processes append while this one reads: no row is lost, and no table has columns of different length."""
    s.run("`:t/ set ([]a:0#0;b:0#0)")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    work = [warm.Process([sys.executable, "-c", APPENDER, str(n)], env=env, cwd=tmp_path) for n in (1, 2)]
    while any(p.poll() is None for p in work):
        s.run("get`:t/a;get`:t/b")
    assert [p.returncode for p in work] == [0, 0]
    assert s.run("t:select from get`:t/;(300=count t)&((til 150)~t[`b]where 1=t`a)&(til 150)~t[`b]where 2=t`a") is True
    assert not ours(tmp_path)


FAULTY = [(OLD + "`:u set 1;", NEW, "{(cols x;x each cols x)}get`:t/"), (OLD, "@[`:t/;`a`b;:;(7 8 9;(1 1;2 2;3 3))];", "(get`:t/a;get`:t/b)"),
          ("`:v set (1 2;3 4 5);", "`:v set (6 7 8;9 9);", "get`:v"), ("", NEW, "@[get;`:t/;`none]"),
          ("`:t set 1 2;", NEW, "type get`:t")]


@pytest.mark.parametrize(("before", "save", "read"), FAULTY)
@pytest.mark.parametrize("fault", [MemoryError(), KeyboardInterrupt(), OSError(28, "No space left")])
@pytest.mark.parametrize("step", ["written", "synced", "committed"])
def test_a_fault_in_a_save_of_several_files(s: Session, tmp_path: Path, before: str, save: str, read: str,
                                            step: str, fault: BaseException) -> None:
    """Before the moment of the save all is as it was and nothing is left; after it all is new."""
    s.run(before)
    old = s.run(f".Q.s1 {read}").a.tobytes()
    there = sorted(os.listdir(tmp_path))
    count = 0

    def probe(name: str) -> None:
        nonlocal count
        count += name == step
        if name == step and count == (2 if step == "written" else 1):
            raise fault

    atomic.PROBE[0] = probe
    try:
        s.run(save)
        failed = False
    except QError:
        failed = True
    finally:
        atomic.PROBE[0] = None
    assert failed == (count > 0)
    now = s.run(f".Q.s1 {read}").a.tobytes()
    assert (now == old) == (step != "committed")
    assert not ours(tmp_path)
    if step != "committed":
        assert sorted(os.listdir(tmp_path)) == there
    s.run(save)
    assert s.run(f".Q.s1 {read}").a.tobytes() != old and not ours(tmp_path)


def _small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def test_a_full_disk(tmp_path: Path) -> None:
    """A table, columns and a list of which one file is too large: all stand as they were."""
    session = subprocess.run(
        [sys.executable, "-m", "kshell", "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        input="`:t/ set t:([]a:1 2;b:3 4);\n`:v set v:(1 2;3 4 5);\n`:t/ set ([]a:200000#0x00;b:200000#1)\n"
              "@[`:t/;`b`a;:;(5 6;til 200000)]\n`:v set 200000#enlist 1 2\n`:db/2024.01.01/u/ set ([]a:1 2;b:2#enlist til 99999)"
              "\n(t~select from get`:t/;v~get`:v)\nkey`:db\n", preexec_fn=_small_files,
        env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert session.stderr.count("OS reports: File too large") == 4
    assert session.stdout.splitlines() == ["11b", "()"]
    assert sorted(os.listdir(tmp_path)) == ["t", "v", "v#"] and not ours(tmp_path)


def test_links_stay_and_devices_are_written_to(s: Session, tmp_path: Path) -> None:
    """A folder and a column that are links are followed; what they lead to changes."""
    (tmp_path / "far").mkdir()
    os.symlink(tmp_path / "far", tmp_path / "t")
    s.run("`:t/ set ([]a:1 2;b:3 4)")
    os.rename(tmp_path / "far" / "a", tmp_path / "column")
    os.symlink(tmp_path / "column", tmp_path / "far" / "a")
    (tmp_path / "column").chmod(0o640)
    s.run("`:t/ set ([]a:5 6 7;b:7 8 9);")
    assert (tmp_path / "t").is_symlink() and (tmp_path / "far" / "a").is_symlink()
    assert (tmp_path / "column").stat().st_mode & 0o777 == 0o640
    assert s.run("(5 6 7;7 8 9)~value flip select from get`:t/") is True
    s.run("`:/dev/null 0:enlist\"xx\"")


def test_names_that_no_reader_takes(s: Session, tmp_path: Path) -> None:
    """Files of saves under way, in the folders of a database, and of a version before: none is loaded or listed."""
    s.run("t:([]s:`a`b;v:1 2);.Q.dpft[`:db;2024.01.01;`s;`t];`:db/w set 3;")
    for where in ("db", "db/2024.01.01", "db/2024.01.01/t"):
        path, fd = unfinished.made(str(tmp_path / where), is_folder=where == "db")
        assert os.path.exists(path) and fd
    (tmp_path / "db" / "sym.77.tmp").write_bytes(b"\xff\x01\x0b\0")
    s.run('k:key`:db/2024.01.01;c:key`:db/2024.01.01/t;system"l db"')
    assert s.run("k~enlist`t") is True and s.run("c~`.d`s`v") is True and s.run("w") == 3
    assert s.run("2=count select from t") is True
    assert len(ours(tmp_path)) == 3  # they are locked


def test_a_file_system_that_cannot_exchange(s: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Without:
        def __init__(self, *_: object, **__: object) -> None:
            pass

    monkeypatch.setattr(atomic.ctypes, "CDLL", Without)
    s.run("`:t set 1 2;`:t/ set ([]a:7 8)")
    assert s.run("7 8~(get`:t/)`a") is True and os.listdir(tmp_path) == ["t"]


def test_where_there_are_no_locks(s: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands under the number of a process that lives stays, other is swept; saves and rows go on as ever."""
    def none(fd: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(unfinished.fcntl, "flock", none)
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / f".kshell-{dead.pid}-1.tmp").write_text("")
    (tmp_path / f".kshell-{os.getppid()}-1.tmp").write_text("")
    s.run(OLD + NEW + ROWS + "`:v set 1;")
    assert s.run("4=count get`:t/") is True and ours(tmp_path) == [f".kshell-{os.getppid()}-1.tmp"]


