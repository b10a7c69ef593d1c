"""Ctrl-C stops every call that loops for long (longcalls.py), and the same line can be run and stopped again."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.whole.longcalls import CASES
from tests.whole.test_interrupts import Shell

LONGEST = 20  # seconds; most take hundredths


@pytest.mark.slow
@pytest.mark.parametrize(("name", "setup", "line"), CASES, ids=[name for name, _, _ in CASES])
def test_it_stops(name: str, setup: str, line: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    try:
        for text in ["\\progress 0", *filter(None, setup.split("\n"))]:
            assert not any(out.startswith("'") for out in shell.ask(text)), text
        for _ in range(2):
            shell.send(f'-1"go";\n{line}\n-1"end";')
            shell.until("go")
            time.sleep(0.5)
            start = time.monotonic()
            shell.p.send_signal(signal.SIGINT)
            out = shell.until("end")
            assert any("'stop" in text for text in out), out[:5]
            assert time.monotonic() - start < LONGEST
            print(f"{name}: {time.monotonic() - start:.2f} s")
        assert shell.ask("1+1") == ["2"]
    finally:
        shell.p.kill()
        shell.p.wait()
