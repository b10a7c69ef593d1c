"""What tells how far and how long work is: progress lines, curves, logs, profiles, memory, autosave."""

from __future__ import annotations

import base64
import gc
import io
import json
import os
import random
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kshell import notebook
from kshell.kapi.checkpoint import autosave
from kshell.kapi.console.curves import curve, has_unicode, panel
from kshell.kapi.console.curves import line as drawn_line
from kshell.session import Session
from kshell.store import events
from kshell.values.session import progress
from tests.shell.test_cli import KSHELL, Terminal
from tests.support import warm

MODEL = "q:module enlist(`linear;3;2);m:model(q;loss`ce;opt(`sgd;q;.1));"
DATA = "train(m;tensor(`randn;200 3);tensor(`randint;2;200));"
TRAIN = MODEL + "train(m;`batchsize`metrics;(1;`loss`accuracy));" + DATA
BUSY = TRAIN + "t:.z.p;while[.z.p<t+0D00:00:02.2;run m];-1\"done\";"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session(out=io.StringIO(), err=io.StringIO())


# ------------------------------------------------------------------ progress


def terminal(*args: str, term: str = "xterm") -> str:
    """All that a kshell writes to a terminal."""
    t = Terminal(*args, term=term)
    seen = b""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        if select.select([t.fd], [], [], 0.2)[0]:
            try:
                data = os.read(t.fd, 65536)
            except OSError:
                break
            seen += data
    os.close(t.fd)
    t.kill()
    return seen.decode()


RUN = re.compile(r"run( \d+)?: [\d,]+/200 batches  \d+%  [\d,.e+]+/s  \d+:\d\d left  loss [\d.e-]+  accuracy [\d.]+")


@pytest.mark.sampled(2)
def test_a_terminal_has_one_line_that_is_erased() -> None:
    seen = terminal("-e", TRAIN + "run m;", "-e", BUSY)
    drawn = re.findall(r"\r([^\r]*?)\x1b\[K", seen)
    texts = [d for d in drawn if d]
    assert len(texts) >= 3 and all(RUN.fullmatch(t) or len(t) == 79 for t in texts), texts[:3]
    assert len(texts) <= 32 and all(len(t) < 80 for t in texts)  # 10 a second, for 3 seconds
    before, _, _ = seen.partition("done")
    assert before.endswith("\r\x1b[K")
    assert "\n" not in seen[seen.index("\rrun"):seen.index("done")]


@pytest.mark.sampled(2)
def test_a_short_line_and_quiet_show_nothing() -> None:
    assert terminal("-e", TRAIN, "-e", "run m;-1\"done\";").rpartition("\x1b[K")[2].strip() == "done"
    assert "run" not in terminal("-e", "tensor 1 2e;", "-e", TRAIN, "-e", "run m;-1\"done\";")
    assert terminal("-q", "-e", BUSY).strip() == "done"


@pytest.mark.sampled(3)
def test_a_pipe_and_a_dumb_terminal_get_plain_lines_now_and_then() -> None:
    start = time.monotonic()

    def most(period: int) -> int:
        """The most lines that may have come since the last time that this was asked."""
        nonlocal start
        before, start = start, time.monotonic()
        return int(start - before) // period

    done = warm.run([*KSHELL, "-e", "\\progress 1", "-e", BUSY], capture_output=True, text=True, timeout=90,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
    lines = done.stderr.splitlines()
    assert done.stdout == "done\n" and 1 <= len(lines) <= most(1) and all(RUN.fullmatch(s) for s in lines), lines
    seen = terminal("-e", "\\progress 1", "-e", BUSY, term="dumb")
    assert "\x1b" not in seen and 2 <= len(seen.splitlines()) <= 1 + most(1) and seen.endswith("done\r\n")
    once = warm.run([*KSHELL, "-e", BUSY], capture_output=True, text=True, timeout=90)
    assert once.stdout == "done\n" and len(once.stderr.splitlines()) <= most(10)  # nothing before ten seconds


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def watched(session: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session on a terminal, with progress from the beginning on and redrawn at every step."""
    monkeypatch.setattr(progress, "FIRST", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    session.err = Screen()
    session.settings.progress = 10
    return session


def shown(session: Session, line: str) -> list[str]:
    """The texts of the progress line while a line runs; it is gone afterwards."""
    session.err = Screen()
    session.run(line)
    text = session.err.getvalue()
    assert not text or text.endswith("\r\x1b[K")
    return [t for t in re.findall(r"\r([^\r]*?)\x1b\[K", text) if t]


def test_what_has_progress(watched: Session) -> None:
    watched.run(TRAIN + "a:til 3000000;`:a.csv 0:csv 0:([]x:til 100;y:100#1.5;z:100#`a);")
    assert len(shown(watched, "run m;")) == 200
    assert shown(watched, "do[2;run m];")[-1].startswith("run 2: 200/200 batches  100%")
    assert shown(watched, "test(m;`metrics`batchsize;(`loss`accuracy;50));test(m;200 3#1e;200#0);testrun m;")[-1].startswith(
        "testrun: 4/4 batches  100%")
    assert "loss" in shown(watched, "do[3;backstep m];")[-1]
    assert shown(watched, "o:opt(`sgd;tensor(1e;`grad));do[3;step o];")[-1].startswith("step: 3  ")
    saving = shown(watched, "snapshot`:a.ks;")
    assert saving[-1].startswith("saving: 22/22 MB  100%") and len(saving) >= 3
    assert any(t.startswith("loading: 22/22 MB") for t in shown(watched, "resume(`:a.ks;`a);"))
    assert shown(watched, "(\"JFS\";enlist csv)0:`:a.csv;")[-1].startswith("loading: 3/3 columns  100%")
    assert shown(watched, "`:b set a;")[-1].startswith("saving: 22/22 MB")
    watched.run("ckpt(`:a.pt;tensor a);")
    assert any(t.startswith("loading: 22/22 MB") for t in shown(watched, "ckpttable ckpt`:a.pt;"))
    assert shown(watched, ".Q.fs[{x};`:a.csv];")[-1].startswith("loading: 0/0 MB")


def test_output_is_not_overwritten(watched: Session) -> None:
    watched.run(TRAIN)
    assert isinstance(watched.err, Screen)
    watched.out = watched.err
    watched.run("run m;-1\"text\";run m;1\"half\";run m;-1\" line\";")
    text = watched.out.getvalue()
    assert "\r\x1b[Ktext\n" in text and "half line\n" in text  # nothing is drawn behind half a line
    watched.settings.progress = 0
    assert shown(watched, "run m;") == []


def test_peach_and_a_closed_stream(watched: Session) -> None:
    watched.run(TRAIN)
    watched.err = io.StringIO()
    watched.err.close()
    watched.settings.progress = 1
    watched.run("run m;")  # nobody reads it: the run is done all the same


# ------------------------------------------------------------------ curves


def test_curves() -> None:
    for n in (1, 2, 7, 1000):
        y = np.sin(np.arange(n))
        lines = curve(y, 60, 9)
        assert len(lines) == 10 and max(map(len, lines)) <= 60
        body = [s.partition("│")[2] or s.partition("┤")[2] for s in lines[:-1]]
        width = max(map(len, body))
        filled = {i for s in body for i, c in enumerate(s) if c != " "}
        assert filled == set(range(width))
    rising = [s.partition("|")[2].rstrip() for s in curve(np.arange(9.0), 40, 9, unicode=False)[:-1]]
    assert [len(s) for s in rising] == sorted((len(s) for s in rising), reverse=True)
    assert set("".join(rising)) == {" ", "*"}
    gap = curve(np.array([1, 1, np.nan, np.inf, 1, 1]), 40, 3)
    assert "  " in gap[1].partition("┤")[2]


def test_where_there_is_no_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    for k in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(k, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert has_unicode(io.StringIO())
    assert not has_unicode(Screen())
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setattr("locale.getpreferredencoding", lambda _=True: "UTF-8")
    assert has_unicode(Screen())
    monkeypatch.setenv("TERM", "linux")
    assert not has_unicode(Screen())
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("TERM", "xterm")
    assert not has_unicode(Screen())


def test_what_can_be_plotted(session: Session) -> None:
    session.run("r:([]loss:3 2 1.;name:`a`b`c;acc:1 2 3)")
    for text, names in (("r", ["loss", "acc"]), ("flip r", ["loss", "acc"]), ("r`loss", []), ("tensor r`loss", []),
                        ("vector(1 2e;2 1e)", ["0", "1"]), ("(1 0N 2;1 2)", ["0", "1"]), ("2 3#til 6", ["0", "1"]),
                        ("([k:1 2]v:1 2)", ["v"]), ("1 -0W 2 0w", [])):
        session.out = io.StringIO()
        session.run(f"plot {text};")
        lines = session.out.getvalue().splitlines()
        assert [s for s in lines if s in ("loss", "acc", "0", "1", "v", "name")] == names, text
        assert "┤" in "".join(lines)


def test_a_picture_without_matplotlib(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(Exception, match=r"plot: a picture needs matplotlib: pip install kshell\[plot\]"):
        session.run("plot(`:a.png;1 2 3)")
    assert not Path("a.png").exists()


def drawn(session: Session, text: str) -> list[str]:
    """The lines that a q text writes."""
    session.out = io.StringIO()
    session.run(text + ";")
    return session.out.getvalue().splitlines()


def test_options_of_a_plot(session: Session) -> None:
    session.run("r:([]n:1 10 100 1000;a:1 10 100 1000;b:4#5);u:n:10 xexp til 4")
    assert drawn(session, "plot(r;`x`title!(`n;\"up\"))")[:2] == ["up", "a"]
    assert drawn(session, "plot(r`a;`title;\"t\")")[0] == "t"  # one letter in quotes is a char
    assert drawn(session, "plot(r;`x;`n)")[-1].split() == ["1", "1000"]
    straight = drawn(session, "plot(r`a;`x`logx`logy!(r`n;1b;1b))")
    assert straight[0].split("┤")[0].strip() == "1000" and straight[-2].split("┤")[0].strip() == "1"
    powers = 10.0 ** np.arange(4)
    logs = panel([drawn_line("", powers, powers)], 62, 9, logx=True, logy=True)  # the labels of the other are two shorter
    assert [t[7:] for t in logs[:-1]] == [t[5:] for t in curve(np.arange(4.0), 60, 9)[:-1]]
    both = drawn(session, "plot(r;`x`together!(`n;1b))")
    assert len(both) == len(straight) and sum(s.endswith(" a") for s in both) == sum(s.endswith(" b") for s in both) == 1
    assert drawn(session, "plot(5 4 3 2;`x;4 3 2 1)") == drawn(session, "plot(2 3 4 5;`x;1 2 3 4)")
    assert drawn(session, "plot(1 5 2;`x;1 0N 2)") == drawn(session, "plot(1 2;`x;1 2)")
    assert drawn(session, "plot(-1 0 1 10;`logy;1b)")[0].split("┤")[0].strip() == "10"


def test_a_plot_over_times(session: Session) -> None:
    """The same curve as over numbers, with times below it; the end of an axis of long texts is told apart."""
    session.run("y:5 1 4 2; n:0 1 3 4")
    plain = drawn(session, "plot(y;`x;n)")
    for first, last in (("2024.01.30", "2024.02.03"), ("2024.01m", "2024.05m"), ("09:58", "10:02"),
                        ("09:59:58", "10:00:02"), ("00:00:00.000", "00:00:00.004")):
        over = drawn(session, f"plot(y;`x;n+{first})")
        assert over[:-1] == plain[:-1] and over[-1].split() == [first, last]
    assert drawn(session, "plot(([]at:2024.01.01D10+0D01*n;y);`x;`at)")[-1].split() == [
        "2024.01.01D10:00:00", "2024.01.01D14:00:00"]
    assert drawn(session, "plot(y;`x;2024.01.01D10+n)")[-1].split() == [
        "2024.01.01D10:00:00.000000000", "2024.01.01D10:00:00.000000004"]
    assert drawn(session, "plot(1 5 2;`x;2024.01.01 0N 2024.01.02)") == drawn(session, "plot(1 2;`x;2024.01.01 2024.01.02)")
    keyed = drawn(session, "plot(([at:2024.01.01+n]y);`x;`at)")
    assert keyed == drawn(session, "plot(`at`y!(2024.01.01+n;y);`x;`at)") and keyed[0] == "y"
    assert drawn(session, "plot(([]y;z:0);`logy`together;1b)")[0].split("┤")[0].strip() == "5"
    session.run("\\c 25 40")
    assert drawn(session, "plot(y;`x;2024.01.01D10+n)")[-1].split() == [
        "2024.01.01D10:00:00.000000000", "2024.01.01D10:00:00.000000004"]


@pytest.mark.parametrize(("text", "error"), [
    ("plot(3 1 2;`titel;`hi)", r"unrecognized option: titel \(near `title\)"),
    ("plot(3 1 2;`logx;3)", "logx: expected a boolean"), ("plot(3 1 2;`title;3)", "title: expected a symbol or text"),
    ("plot(3 1 2;`x;1 2)", "x has 2 values, the curve 3"), ("plot(3 1 2;`x;`b)", "x: no numbers or times named `b"),
    ("plot(3 1 2;`x;\"abc\")", "x: expected the name of a column, numbers or times"), ("plot(([]n:1 2);`x;`n)", "nothing to plot"),
    ("plot(([]name:1 2;b:3 4);`x;`nam)", r"no numbers or times named `nam \(near `name\)"),
    ("plot(3 1 2;`logx)", "expected name,value pairs"),
    ("plot(0 -1 0N;`logy;1b)", "logy: no value is above zero"),
    ("plot(1 2;`x`logx;(0 -1;1b))", "logx: no value is above zero"),
    ("plot(([]a:1 2;b:0 0);`logy;1b)", "logy: `b has no value above zero"),
    ("plot(([]a:-1 0;b:0 0);`logy`together;1b)", "logy: no value is above zero"),
    ("plot(1 2;`x`logx;(2024.01.01 2024.01.02;1b))", "logx: expected numbers, given date list"),
    ("plot(3 1 2;`logx`logy;101b)", "2 names of options, given boolean list")])
def test_wrong_options_of_a_plot(session: Session, text: str, error: str) -> None:
    with pytest.raises(Exception, match=error):
        session.run(text)


@pytest.mark.parametrize("there", [True, False])
def test_a_picture_in_a_notebook(session: Session, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    """A cell shows a picture if one can be made, else text; outside of cells it is text."""
    if not there:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    else:
        monkeypatch.setattr("kshell.kapi.console.plot._picture", lambda kind, lines, how, times: b"PNG of " + how.title.encode())
    shown: list[tuple[dict[str, str], bool]] = []
    text = "plot(3 1 2;`title;`loss)"
    lines = drawn(session, text)
    session.out = io.StringIO()
    notebook.run(session, text + "\n1+1", lambda data, last: shown.append((data, last)))  # type: ignore[arg-type]
    assert shown.pop() == ({"text/plain": "2"}, True)
    assert session.out.getvalue().splitlines() == ([] if there else lines)
    if there:
        (data, last), = shown
        assert base64.b64decode(data["image/png"]) == b"PNG of loss" and not last
        assert data["text/plain"].splitlines() == lines
    assert drawn(session, text) == lines


@pytest.mark.extra
def test_a_picture(session: Session) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    session.run("r:([]n:1 10 100;a:1 2 3;b:3 0 1);plot(`:o.png;r;`x`together`logx`logy`title!(`n;1b;1b;1b;`t))")
    assert Path("o.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    session.run("plot(`:o.svg;r;`x`title!(`n;`run))")
    assert b"</svg>" in Path("o.svg").read_bytes()
    session.run("plot(`:a.png;til 5)")
    assert Path("a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    session.run("plot(`:a.png;`loss`acc!(3 2 1.;1 2 0N));plot(`:a.svg;til 5)")
    assert Path("a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert b"</svg>" in Path("a.svg").read_bytes()
    for n, times in enumerate(("2024.01.01+til 5", "2024.01m+til 5", "2024.01.01D10+0D01*til 5", "09:00+til 5")):
        session.run(f"plot(`:t{n}.svg;til 5;`x;{times})")
        assert b"</svg>" in Path(f"t{n}.svg").read_bytes()


# ------------------------------------------------------------------ logs


def records(path: Path) -> list[bytes]:
    """The records of a file of events, their checksums verified."""
    data, out = path.read_bytes(), []
    while data:
        n, crc = struct.unpack("<QI", data[:12])
        assert crc == events._crc(data[:8])
        out.append(data[12 : 12 + n])
        assert struct.unpack("<I", data[12 + n : 16 + n])[0] == events._crc(out[-1])
        data = data[16 + n :]
    return out


def test_the_checksum() -> None:
    c = 0xE3069283  # CRC-32C of 123456789, as RFC 3720's polynomial gives it
    assert events._crc(b"123456789") == ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_runs_are_logged(session: Session) -> None:
    session.run(TRAIN + "train(m;`batchsize`metrics;(100;`loss`accuracy`batchloss`matches`predict));")
    session.run("test(m;`metrics;`loss);test(m;200 3#1e;200#0);")
    session.run("logto`:log;r:run m;run m;testrun m;logto(5;`lr`x!(.5;tensor 2e));logto(`a`b!0w 1);n:logto[];logto 0b;run m;")
    lines = [json.loads(s) for s in Path("log/metrics.jsonl").read_text().splitlines()]
    assert [(s["call"], s["step"]) for s in lines] == [("run", 1), ("run", 2), ("testrun", 1), ("", 5), ("", 6)]
    first = lines[0]
    assert first["loss"] == session.run("r 0") and first["accuracy"] == session.run("r 1")
    assert len(first["batchloss"]) == 2 and isinstance(first["matches"], int) and "predict" not in first
    assert lines[3]["lr"] == 0.5 and lines[3]["x"] == 2 and lines[4]["a"] is None
    assert abs(first["time"] - time.time()) < 600
    (file,) = Path("log").glob("events.*")
    found = records(file)
    assert found[0].endswith(b"brain.Event:2") and sum(b"run/loss" in r for r in found) == 3
    assert struct.unpack("<f", found[1][found[1].index(b"run/loss") + 9 :][:4])[0] == pytest.approx(first["loss"])
    session.run("logto`:log;run m;logto 0b;")  # steps go on
    assert json.loads(Path("log/metrics.jsonl").read_text().splitlines()[-1])["step"] == 3
    assert len(list(Path("log").glob("events.*"))) == 2


@pytest.mark.extra
def test_tensorboard_reads_it(session: Session) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    session.run("logto`:log;logto(3;`loss`lr!.5 .1);logto(4;`loss`lr!.25 .1);logto 0b;")
    found = reader.EventAccumulator("log")
    found.Reload()
    assert [(e.step, e.value) for e in found.Scalars("loss")] == [(3, 0.5), (4, 0.25)]


def test_a_log_that_cannot_be_written_ends(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run(TRAIN + "logto`:a.jsonl;")

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(events.os, "write", full)
    assert session.run("type run m") is not None
    assert "logto: ended: a.jsonl. OS reports: No space left on device\n" in session.err.getvalue()  # type: ignore[union-attr]
    assert session.run("count logto[]") == 0


# ------------------------------------------------------------------ time and memory


def test_memory_of_an_expression(session: Session) -> None:
    gc.collect()  # what tests before left is not freed meanwhile
    for line in ("til 5000000", "til 5000000", "sum til 5000000", "tensor(`zeros;5000000;`long)"):
        assert 37 << 20 < session.run(f"(system\"ts {line}\")1") < 60 << 20 or "tensor" in line
    assert 75 << 20 < session.run("x:tensor(`ones;10000000;`float);(system\"ts add(mul(x;x);x)\")1") < 100 << 20
    assert session.run("(system\"ts 1+1\")1") < 1 << 20


def test_a_profile_ends_with_an_error(session: Session) -> None:
    with pytest.raises(Exception, match="type"):
        session.run("f:{1+`a};profile\"f 1\"")
    assert sys.getprofile() is None
    rows = session.run("g:{x*2};exec fn from profile\"g each til 3;g/[2;1]\"")
    assert {"g", "each", "til"} <= {s.s for s in rows.items}
    session.run("p:profile\"{sum x}each 100#enlist til 1000\"")
    own, total = (session.run(f"exec first {c} from p where fn=`each") for c in ("own", "total"))
    assert 0 < own < total


# ------------------------------------------------------------------ autosave


def until(done: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def other(path: str = "a.ks") -> Session:
    """A session that a file was brought back in."""
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run(f"resume`:{path}")
    return s


def test_autosave_between_lines(session: Session) -> None:
    session.run("a:1;autosave(`:a.ks;.1)")
    assert other().run("a") == 1  # at once
    session.run("a:2")
    until(lambda: session.autosave.saves >= 1)
    assert other().run("a") == 2
    saves = session.autosave.saves
    time.sleep(0.4)
    assert session.autosave.saves == saves  # nothing has run
    session.run("a:3")
    until(lambda: session.autosave.saves > saves)
    assert session.run("autosave[][`saves]") > saves
    session.run("autosave 0b;a:4")
    time.sleep(0.3)
    assert other().run("a") == 3 and session.run("autosave[]~(::)") is True


def test_autosave_by_steps_holds_what_was_when_it_was_taken(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run(TRAIN + "autosave(`:a.ks;3;`steps)")
    go = threading.Event()
    write = autosave.write
    monkeypatch.setattr(autosave, "write", lambda *args: (go.wait(30), write(*args)))
    session.run("do[3;backstep m];w:tensor parm(m;`weight);do[5;backstep m];")
    go.set()
    session.autosave.rest()
    then = other()
    assert session.autosave.saves == 1
    assert then.run("raze tensor parm(m;`weight)").a.tolist() == session.run("raze w").a.tolist()
    assert session.run("w~tensor parm(m;`weight)") is False
    session.run("run m;")
    session.autosave.rest()
    assert session.autosave.saves >= 2


def test_what_goes_wrong_is_told_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run("a:1;autosave(`:a.ks;1;`steps);o:opt(`sgd;tensor(1e;`grad));")
    before = Path("a.ks").read_bytes()
    from kshell.errors import QError

    def full(*_: Any) -> None:
        raise QError("a.ks. OS reports: No space left on device")

    with monkeypatch.context() as m:
        m.setattr(autosave, "write", full)
        for _ in range(3):
            session.run("step o")
            session.autosave.rest()
            session.run("1")
    assert session.err.getvalue() == "autosave: a.ks. OS reports: No space left on device\n"  # type: ignore[union-attr]
    assert Path("a.ks").read_bytes() == before
    session.run("step o")
    session.autosave.rest()
    assert session.autosave.saves == 1 and other().run("a") == 1
    with pytest.raises(QError, match="OS reports"):
        session.run("autosave(`:none/../a.ks/b;5)")
    assert session.run("autosave[][`every]") == 1


def test_a_snapshot_is_not_replaced_by_an_older_one(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run("a:1;autosave(`:a.ks;1;`steps);o:opt(`sgd;tensor(1e;`grad));")
    write = autosave.write
    monkeypatch.setattr(autosave, "write", lambda *args: (time.sleep(0.3), write(*args)))
    session.run("step o;a:2;snapshot`:a.ks;")
    session.autosave.rest()
    assert other().run("a") == 2


@pytest.mark.sampled(2)
def test_what_changes_while_a_file_is_written_is_saved_after_it(
        session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.run("a:1;autosave(`:a.ks;.1)")
    write, writing = autosave.write, threading.Event()
    monkeypatch.setattr(autosave, "write", lambda *args: (writing.set(), time.sleep(0.5), write(*args)))
    session.run("a:2")
    assert writing.wait(30)
    time.sleep(0.2)  # the next one is due already
    session.run("a:3")  # the last line that runs
    until(lambda: session.autosave.saves >= 2)
    assert other().run("a") == 3


def test_lines_without_a_pause_are_saved(session: Session) -> None:
    session.run("a:0;autosave(`:a.ks;.1)")
    until(lambda: session.run("a+:1") is not None and session.autosave.saves >= 3)
    session.autosave.rest()
    assert 0 < other().run("a") <= session.run("a")


def test_what_cannot_be_saved_is_told(session: Session, tmp_path: Path) -> None:
    Path("s.q").write_text("hidden:{x+1}\n")
    session.run("a:1;autosave(`:a.ks;.1)")
    session.run("\\_ s.q")
    session.run("\\l s.q_")
    until(lambda: session.run("1") and "autosave: hidden: a locked function" in session.err.getvalue())  # type: ignore[union-attr]
    assert other().run("a") == 1
    with pytest.raises(Exception, match="hidden: a locked function"):
        session.run("autosave(`:b.ks;5)")
    session.run("delete hidden from `.;a:2")
    until(lambda: session.autosave.saves >= 1)
    session.autosave.rest()
    assert session.run("autosave[][`file]") is session.run("`:a.ks") and other().run("a") == 2


CHILD = "n:{};a:1000000#n;autosave(`:a.ks;.1);-1\"ready\";"


@pytest.mark.sampled(2)
def test_killed_in_the_midst(tmp_path: Path) -> None:
    """Whenever the process is killed, the file is whole, and of one moment between lines."""
    draw, n = random.Random(5), 0
    end = time.monotonic() + 60
    for _ in range(8):
        p = warm.Process([*KSHELL, "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True)
        assert p.stdin and p.stdout
        p.stdin.write(CHILD.format(n) + "\n")
        p.stdin.flush()
        assert p.stdout.readline() == "ready\n"
        stop = time.monotonic() + draw.uniform(0.1, 0.5)
        while time.monotonic() < stop:
            p.stdin.write("n+:1;a:1000000#n;\n")
            p.stdin.flush()
            time.sleep(0.005)
        p.send_signal(signal.SIGKILL)
        p.wait()
        p.stdin.close()
        s = other(str(tmp_path / "a.ks"))
        found = s.run("n")
        assert found >= n and s.run("all a=n") is True
        n = found
        if time.monotonic() > end:
            break
    s = Session()
    s.run(f"autosave(`:{tmp_path}/a.ks;60);autosave 0b")
    assert os.listdir(tmp_path) == ["a.ks"]  # what was left beside is swept


@pytest.mark.sampled(2)
def test_leaving_waits_for_the_file(tmp_path: Path) -> None:
    done = warm.run([*KSHELL, "-q"], cwd=tmp_path, text=True, timeout=90, capture_output=True,
                          input="a:20000000#1;autosave(`:a.ks;1;`steps);o:opt(`sgd;tensor(1e;`grad));b:7;step o;\n")
    assert (done.returncode, done.stderr) == (0, "") and os.listdir(tmp_path) == ["a.ks"]
    assert other(str(tmp_path / "a.ks")).run("b") == 7


def test_at_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line appears while a line runs, an interrupt erases it, and the prompt stands where it was."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    t = Terminal()
    try:
        t.until("q)")
        t.send(TRAIN.rstrip(";") + "\r")
        t.until("q)")
        t.send("while[1b;run m]\r")
        t.until("batches")
        t.send("\x03")
        t.until("'stop")
        t.send("\\\\\r")
        assert t.close() == 0
    finally:
        t.kill()
