"""Files are saved whole or not at all: kills, full disks, folders that cannot be written, damage."""

from __future__ import annotations

import fcntl
import io
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.store import atomic, kdb
from kshell.values.base import match
from kshell.values.base.build import longs
from tests.support import warm

SAVER = """
import sys
from kshell.session import Session
s = Session()
s.run("n:0")
print("ready", flush=True)
s.run("while[1b;n+:1;`:f set 2500000#n]")
"""


def whole(path: Path) -> bool:
    x = kdb.read(str(path))
    return len(x) == 2_500_000 and len(np.unique(x.a)) == 1


@pytest.mark.sampled(3)
def test_a_killed_saver_leaves_a_whole_file(tmp_path: Path) -> None:
    """25 kills at random moments of saving 20 MB; what they left beside is swept by the next save."""
    path = tmp_path / "f"
    kdb.write(str(path), longs(np.zeros(2_500_000, np.int64)))
    rng = random.Random(5)
    left = 0
    for _ in range(25):
        p = warm.Process([sys.executable, "-c", SAVER], cwd=tmp_path, stdout=subprocess.PIPE)
        assert p.stdout and p.stdout.readline() == "ready\n"
        time.sleep(0.02 + 0.15 * rng.random())
        p.kill()
        p.wait()
        p.stdout.close()
        assert whole(path)
        left += len(os.listdir(tmp_path)) > 1
    kdb.write(str(path), longs(np.zeros(2_500_000, np.int64)))
    assert left > 5, "no kill came in the middle of a save"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("step", ["written", "synced", "renamed"])
@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("x"), KeyboardInterrupt(), OSError(28, "No space left")])
def test_a_fault_in_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: BaseException) -> None:
    session = Session(out=io.StringIO())
    monkeypatch.chdir(tmp_path)
    session.run("`:f set til 1000")

    def probe(name: str) -> None:
        if name == step:
            raise fault

    atomic.PROBE[0] = probe
    with pytest.raises(QError):
        session.run("`:f set 2*til 1000")
    atomic.PROBE[0] = None
    assert session.run("(get`:f)~" + ("2*" if step == "renamed" else "") + "til 1000") is True
    assert os.listdir(tmp_path) == ["f"]


def _small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def test_a_full_disk(tmp_path: Path) -> None:
    """A file may not grow past 1 MB: the save fails by name, the old file stands, the session goes on."""
    session = subprocess.run(
        [str(Path(sys.executable).parent / "kshell"), "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        input="`:f set til 1000\n`:f set til 1000000\n(get`:f)~til 1000\n`:g 0:enlist 2000000#\"a\"\n1+1\n",
        preexec_fn=_small_files)
    assert session.stdout.splitlines() == ["`:f", "1b", "2"]
    assert session.stderr.count("OS reports: File too large") == 2
    assert sorted(os.listdir(tmp_path)) == ["f"]


def test_a_full_disk_while_rows_are_appended(tmp_path: Path) -> None:
    """Rows that do not fit in one of the columns are in none, and what is appended later stands where it should."""
    session = subprocess.run(
        [str(Path(sys.executable).parent / "kshell"), "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        input="t:([]a:0#0x00;b:0#0;c:()),([]a:0x0102;b:1 2;c:(1 2;3 4))\n`:t/ set t\n`:v set 0#0\n"
              "`:t/ upsert ([]a:200000#0x00;b:200000#1;c:200000#enlist 1 2)\n`:v upsert 200000#1\n(get`:t)~t\nget`:v\n"
              "`:t/ upsert t\n`:v upsert 7 8\n(get`:t)~t,t\nget`:v\n", preexec_fn=_small_files)
    assert session.stderr.count("OS reports: File too large") == 2
    assert session.stdout.splitlines() == ["`:t/", "`:v", "1b", "`long$()", "`:t/", "`:v", "1b", "7 8"]


def test_where_no_file_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(out=io.StringIO())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("x")
    (tmp_path / "file").write_text("keep")
    for text, reason in [("`:folder set 1 2", "Is a directory"), ("`:file/a set 1 2", "OS reports"),
                         ("`:file/a/b set 1 2", "Not a directory"), ("get`:nothing", "No such file or directory"),
                         ("get`:folder/y", "No such file or directory"), ("read0`:folder", "Is a directory"),
                         ("`:" + "n" * 300 + " set 1", "File name too long"), ("`:/proc/x set 1", ""),
                         ("`:/dev/full 0:enlist 5000#\"a\"", "")]:
        with pytest.raises(QError) as found:
            session.run(text)
        assert reason in found.value.text, (text, found.value.text)
        assert found.value.text[0] != "n" or "OS reports" in found.value.text
    assert (tmp_path / "file").read_text() == "keep"
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    session.run("`:new/a/b set 1 2")
    assert session.run("get`:new/a/b") is not None


def test_links_and_modes_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "t", tmp_path / "l"
    kdb.write(str(target), longs([1]))
    target.chmod(0o640)
    link.symlink_to(target)
    kdb.write(str(link), longs([1, 2]))
    assert link.is_symlink() and len(kdb.read(str(target))) == 2
    assert target.stat().st_mode & 0o777 == 0o640


def test_only_the_leavings_of_the_dead_are_swept(tmp_path: Path) -> None:
    """What is locked is a living process's, whatever its number; what is not was left, even if the number is in use."""
    (tmp_path / ".kshell-1-1.tmp").write_text("")
    (tmp_path / f".kshell-{os.getppid()}-1.tmp").write_text("")
    (tmp_path / ".kshell-1-2.tmp" / "a" / "b").mkdir(parents=True)
    (tmp_path / ".kshell-1-2.tmp" / "a" / "x").write_text("")
    kept = [".kshell-1-3.tmp", ".kshell-1-4.tmp", "f.1.tmp", ".kshell", ".x.tmp"]
    (tmp_path / kept[0]).mkdir()
    for name in kept[1:]:
        (tmp_path / name).write_text("")
    held = [os.open(tmp_path / n, os.O_RDONLY) for n in kept[:2]]
    for fd in held:
        fcntl.flock(fd, fcntl.LOCK_EX)
    kdb.write(str(tmp_path / "f"), longs([1]))
    assert sorted(os.listdir(tmp_path)) == sorted(["f", *kept])
    for fd in held:
        os.close(fd)


# ------------------------------------------------------------------ damage

SOURCES = ["state module seq(`sequential;(`conv2d;3;4;3);`relu;(`linear;8;3);(`batchnorm1d;3))", "til 100",
           "`a`b`c!(1 2 3;\"abc\";`x`y)", "([]a:1 2 3;b:`x`y`z)", "{x+y}", "(1 2;3 4 5;\"ab\")", "`a`b`a`c", "0N 0n",
           "`s#1 2 3", "enlist[`a]!enlist 2000.01.01 2001.01.01", "sums", "(+/)", "10#0Ng", "`sym$()"]


def mutated(rng: random.Random, data: bytes) -> bytes:
    b = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        kind, at = rng.randrange(7), rng.randrange(len(b)) if b else 0
        if kind == 0 and b:
            b[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and b:
            b[at] = rng.choice((0, 1, 127, 128, 255))
        elif kind == 2:
            del b[at:]
        elif kind == 3:
            del b[at : at + rng.randrange(1, 9)]
        elif kind == 4:
            b[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 5 and len(b) > 8:
            b[at : at + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\0\0\0\0"))
        elif b:
            b[at : at + 8] = b[rng.randrange(len(b)) :][:8]
    return bytes(b)


def status(field: str) -> int:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(field))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(2))
def test_damaged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """2,000 damaged files: a value or one q error, within 64 MB more than twice the file, and no time."""
    monkeypatch.chdir(tmp_path)
    session = Session(out=io.StringIO(), err=io.StringIO())
    session.run("sym:`a`b")
    rng = random.Random(part)
    good = []
    for text in SOURCES if part else SOURCES[:1]:
        try:
            session.run(f"`:f set {text}")
        except QError:
            continue
        good.append((tmp_path / "f").read_bytes())
    errors = 0
    session.run("tensor 1")
    before = status("VmRSS:")
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    for n in range(1000):
        (tmp_path / "g").write_bytes(mutated(rng, rng.choice(good)))
        start = time.monotonic()
        try:
            session.run("x:get`:g", show=True)
            session.run("-9!-8!x")
            session.run("x", show=True)
        except QError as e:
            errors += 1
            assert "nyi" not in e.text, e.text
        assert time.monotonic() - start < 5, n
    assert errors > 200
    assert status("VmHWM:") - before < (64 << 20) + 2 * max(map(len, good))
    assert session.run("1+1") == 2
    assert match.match(session.run("sym"), session.run("`a`b"))


def test_damaged_messages() -> None:
    """The same for bytes given to -9!."""
    session = Session(out=io.StringIO(), err=io.StringIO())
    rng = random.Random(9)
    good = [session.run(f"-8!{text}").a.tobytes() for text in SOURCES[1:-1]]
    for _ in range(2000):
        data = mutated(rng, rng.choice(good))
        try:
            session.run("-9!0x" + data.hex() if data else "-9!`byte$()", show=True)
        except QError:
            continue
