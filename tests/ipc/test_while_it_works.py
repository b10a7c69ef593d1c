"""Messages are handled while the session works: between statements, after steps, inside run, by the timer, at a prompt."""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kshell.session import Session
from kshell.values.base.build import string
from tests import ROOT
from tests.ipc.processes import Client, Server, eventually
from tests.ipc.web import reply
from tests.shell.test_cli import Terminal
from tests.support import warm

TRAIN = """
m:module seq(`sequential;(`linear;`a;8;64);`relu;(`linear;`b;64;1))
o:opt(`adam;m;.001)
k:model(m;loss`mse;o)
data(k;tensor 4000 8#32000?1e)
target(k;tensor 4000 1#4000?1e)
train(k;`batchsize`shuffle!(10;1b))
"""


def test_between_statements_of_a_script(tmp_path: Path) -> None:
    lines = "\n".join(["n+:1;system\"sleep .05\""] * 400)
    with Server(tmp_path, "n:0\n" + lines) as server:
        client = Client(server.port)
        first = client.ask(string("n"))
        time.sleep(0.5)
        second = client.ask(string("n"))
        assert 0 <= first < second < 400  # type: ignore[operator]


def test_within_a_training_run(tmp_path: Path) -> None:
    with Server(tmp_path, TRAIN + "do[200;run k]\n") as server:
        client = Client(server.port)
        seen = []
        for _ in range(5):
            start = time.monotonic()
            assert client.ask(string("first lr o")) == pytest.approx(0.001)
            seen.append(time.monotonic() - start)
            time.sleep(0.1)
        assert min(seen) < 0.5
        assert client.ask(string("lr(o;.01)")) is not None
        assert client.ask(string("first lr o")) == pytest.approx(0.01)


def test_errors_of_clients_do_not_end_a_training_run(tmp_path: Path) -> None:
    with Server(tmp_path, TRAIN + "do[200;run k]\n") as server:
        client = Client(server.port)
        for wrong, error in (("nothere", "nothere"), ("{x+nothere}1", "nothere"), ("1+`a", "type"), ("til -1", "domain")):
            with pytest.raises(ValueError, match=f"^{error}$"):
                client.ask(string(wrong))
        client.send(0, string("nothere"))
        assert reply(server.port, "GET", "/?nothere")[0] == 400
        assert reply(server.port, "GET", "/?1+1")[0] == 200
        assert server.process.poll() is None


def test_with_the_timer_and_lines(tmp_path: Path) -> None:
    with Server(tmp_path, "n:0\n.z.ts:{n+:1}\n\\t 20\n") as server:
        client = Client(server.port)
        assert eventually(lambda: client.ask(string("n>5")) is True)
        server.say("n:-1000000")
        assert eventually(lambda: client.ask(string("n<0")) is True)


def test_at_a_prompt() -> None:
    """A client is answered while a line is being typed; what its message prints stands above the line."""
    terminal = Terminal("-q")
    terminal.until("q)")
    terminal.send('\\p 0W\r')
    terminal.until("q)")
    terminal.send('system"p"\r')
    while not (shown := re.search(r"\n(\d{5})i", terminal.seen)):
        terminal.read()
    client = Client(int(shown[1]))
    terminal.send("x:40")
    assert client.ask(string("1+1")) == 2
    client.send(0, string('-1"printed";'))
    terminal.until("printed")
    terminal.send("+2\r")
    assert eventually(lambda: client.ask(string("`x in key`.")) is True and client.ask(string("x")) == 42)
    client.close()
    assert terminal.leave() == 0


def test_a_python_program_listens_and_serves() -> None:
    session = Session()
    port = session.listen()
    client = Client(port, b"")
    client.socket.sendall(b"me\x06\0")
    session.serve(0.1)
    assert client.bytes(1) == b"\x06"
    client.send(1, string("x:6*7"))
    client.send(1, string("x"))
    session.serve(0.2)
    assert client.message()[0] == 2
    assert client.message()[1][1:] == (42).to_bytes(8, "little")
    assert session.listen(0) == 0
    assert session.run("x") == 42


def test_in_an_event_loop() -> None:
    session = Session()
    port = session.listen()

    def asked() -> object:
        client = Client(port)
        try:
            return client.ask(string("6*7"))
        finally:
            client.close()

    async def main() -> list[object]:
        task = asyncio.create_task(session.serving())
        try:
            return [await asyncio.to_thread(asked) for _ in range(3)]
        finally:
            task.cancel()

    assert asyncio.run(main()) == [42, 42, 42]
    session.end_ipc()


def test_an_exit_of_a_client_does_not_end_an_event_loop() -> None:
    """The client is told, and the next one is served."""
    session = Session()
    port = session.listen()

    def asked() -> list[object]:
        client = Client(port)
        client.socket.settimeout(5)
        try:
            with pytest.raises(ValueError, match=r"^access: exit$"):
                client.ask(string("exit 0"))
            client.send(0, string("exit 0"))
            return [client.ask(string("6*7")), reply(port, "GET", "/?exit%200")[0]]
        finally:
            client.close()

    async def main() -> list[object]:
        task = asyncio.create_task(session.serving())
        try:
            return [await asyncio.to_thread(asked) for _ in range(2)]
        finally:
            task.cancel()

    session.err = io.StringIO()
    assert asyncio.run(main()) == [[42, 400]] * 2
    assert session.err.getvalue().count("access: exit") == 2
    session.end_ipc()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", ["exit 0", "value\"\\\\\\\\\"", "@[exit;3;::]"])
@pytest.mark.parametrize("works", ["serve", "run"])
def test_an_exit_of_a_client_does_not_end_a_program(text: str, works: str) -> None:
    """Neither in serve nor while the session runs q; `.z.exit` is not called for it, and stays."""
    session = Session()
    session.run(".z.exit:{called,:x};called:`long$()")
    port = session.listen()
    said: list[object] = []

    def ask() -> None:
        client = Client(port)
        try:
            client.ask(string(text))
        except ValueError as e:
            said.append(str(e))
        said.append(client.ask(string("6*7")))
        client.close()

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        session.serve(0.05) if works == "serve" else session.run("i:0;do[100000;i+:1]")
    assert said[-1] == 42 and (said[0] == "access: exit" or text.startswith("@"))
    assert session.run("count called") == 0
    session.end_ipc()
    with pytest.raises(SystemExit) as raised:  # the program's own q code may end it
        session.run("exit 3")
    assert raised.value.code == 3 and session.run("called").a.tolist() == [3]
    with pytest.raises(SystemExit):
        session.run("exit 4")
    assert session.run("called").a.tolist() == [3]  # once


def test_an_exit_that_ends_a_program() -> None:
    code = "from kshell import Session\ns=Session()\ns.run('.z.exit:{-1 string x;}')\ns.run('exit 3')\nprint('not here')"
    done = warm.run([sys.executable, "-c", code], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "3\n", "")


def test_z_exit_is_called_once_by_whatever_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text('.z.exit:{-1"bye ",string x;exit 9}\n')
    for line, code in (("exit 3\n", 3), ("\\\\\n", 0), ("", 0)):
        done = warm.run([sys.executable, "-m", "kshell", "-q", "-i", "s.q"], input=line, capture_output=True, cwd=tmp_path)
        assert (done.stdout, done.returncode) == (f"bye {code}\n", 9), done.stderr


@pytest.mark.parametrize("option", ["-b", "-u"])
def test_a_refused_exit_does_not_call_z_exit(tmp_path: Path, option: str) -> None:
    with Server(tmp_path, '.z.exit:{-1"bye ",string x;}\n', (option, "1") if option == "-u" else (option,)) as server:
        client = Client(server.port)
        with pytest.raises(ValueError, match=r"^access: exit$"):
            client.ask(string("exit 0"))
        server.say("exit 5")
        assert server.line() == "bye 5"
        assert server.process.wait(10) == 5


def test_processes_of_a_job(tmp_path: Path) -> None:
    """Each process that listens is asked while the job waits for a line."""
    line = 'system"p 0W";x:10*1+rank[];(hsym`$"port",string rank[])0:enlist string system"p"'
    with subprocess.Popen([sys.executable, "-m", "kshell", "-n", "2", "-q"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as job:
        try:
            assert job.stdin is not None
            job.stdin.write(line + "\n")
            job.stdin.flush()
            for rank in (0, 1):
                path = tmp_path / f"port{rank}"
                assert eventually(lambda path=path: path.exists() and path.read_text().endswith("\n"), 60)
                client = Client(int(path.read_text()))
                assert client.ask(string("x")) == 10 * (1 + rank)
                client.close()
            job.stdin.write("exit 0\n")
            job.stdin.flush()
            assert job.wait(timeout=60) == 0
        finally:
            job.kill()
