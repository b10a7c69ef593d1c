"""-l and -L: what clients change is in a log, which is replayed at the next start."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kshell.errors import QError
from kshell.ipc import updates
from kshell.session import Session
from kshell.store import atomic, kdb
from kshell.values.base.build import string as text
from tests.ipc.processes import Client, Server, eventually
from tests.support import warm

TABLE = "t:([]v:`long$())\nadd:{`t insert enlist x;count t}\n"


def ask(server: Server, *lines: str) -> list[object]:
    client = Client(server.port)
    answers = [client.ask(text(line)) for line in lines]
    client.close()
    return answers


def kill(server: Server) -> None:
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()


def messages(folder: Path) -> int:
    count, _, whole = kdb.valid_part(kdb.contents(str(folder / "server.log")))
    assert whole
    return count


@pytest.mark.sampled(2)
@pytest.mark.parametrize("option", ["-l", "-L"])
def test_a_kill_loses_nothing_that_was_answered(tmp_path: Path, option: str) -> None:
    with Server(tmp_path, TABLE, (option,)) as server:
        assert ask(server, "add 1", "add 2", "exec sum v from t", "a:10;a", "a") == [1, 2, 3, 10, 10]
        client = Client(server.port)
        client.send(0, text("add 3"))  # asynchronous ones too
        assert client.ask(text("count t")) == 3
        kill(server)
    assert messages(tmp_path) == 4
    with Server(tmp_path, TABLE, (option,)) as server:
        assert ask(server, "exec v from t", "a", "add 4")[1:] == [10, 4]
        kill(server)
    with Server(tmp_path, TABLE, (option,)) as server:
        assert ask(server, "exec sum v from t") == [10]


def test_an_incomplete_message_is_cut_off(tmp_path: Path) -> None:
    with Server(tmp_path, TABLE, ("-L",)) as server:
        ask(server, "add 1", "add 2")
        kill(server)
    log = tmp_path / "server.log"
    log.write_bytes(log.read_bytes()[:-3])
    with Server(tmp_path, TABLE, ("-L",)) as server:
        assert "were cut off" in server.line()
        assert ask(server, "add 7") == [2]
        kill(server)
    assert messages(tmp_path) == 2


def test_what_a_failed_message_changed_is_undone(tmp_path: Path) -> None:
    with Server(tmp_path, TABLE, ("-l",)) as server:
        ask(server, "add 1", "b:3")
        client = Client(server.port)
        for line in ("add 2;a:5;b[0]:1;'oops", "delete b from`.;'oops", "{add each x;'oops}til 3"):
            with pytest.raises(ValueError, match=r"oops|rank|type"):
                client.ask(text(line))
        assert [client.ask(text(line)) for line in ("count t", "b", "`a in key`.")] == [1, 3, False]
        client.ask(text("delete b from`."))
        kill(server)
    assert messages(tmp_path) == 3
    with Server(tmp_path, TABLE, ("-l",)) as server:
        assert ask(server, "count t", "`b in key`.") == [1, False]


@pytest.mark.sampled(3)
def test_a_checkpoint_empties_the_log(tmp_path: Path) -> None:
    with Server(tmp_path, TABLE, ("-L",)) as server:
        ask(server, "add 1", "f:{x+y}")
        server.say('\\cd /\n\\l\n-1"saved";')
        assert server.line() == "saved"
        assert messages(tmp_path) == 0 and (tmp_path / "server.qdb").exists()
        ask(server, "add 2")
        kill(server)
    assert messages(tmp_path) == 1
    with Server(tmp_path, TABLE, ("-L",)) as server:
        assert ask(server, "exec sum v from t", "f[1;2]") == [3, 3]
        server.say('T:tensor 1 2 3;\n@[system;"l";{-1 x;}];')
        assert server.line().startswith("\\l: T cannot be saved: ")
        assert messages(tmp_path) == 1


def test_messages_to_oneself_are_logged_once(tmp_path: Path) -> None:
    with Server(tmp_path, TABLE, ("-l",)) as server:
        server.say('0"add 1";add 2;-1"done";')
        assert server.line() == "done"
        ask(server, '0"add 3"')
        kill(server)
    with Server(tmp_path, TABLE, ("-l",)) as server:
        assert ask(server, "exec sum v from t") == [4]  # what the console did itself is not logged


def test_the_log_alone_is_enough_and_belongs_to_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kshell", "-q", "alone", "-l"]
    lines = '0"a:1"\n-1 string a;\n'
    for _ in range(2):
        done = warm.run(command, input=lines, capture_output=True, cwd=tmp_path)
        assert done.stdout == "1\n1\n" or done.stdout.endswith("1\n"), done.stderr
    with Server(tmp_path, TABLE, ("-l",)):
        done = warm.run([*command[:-2], "server", "-l"], input="", capture_output=True, cwd=tmp_path)
        assert done.returncode == 1 and "another process has it open" in done.stderr


@pytest.mark.sampled(2)
def test_what_cannot_be_replayed_is_an_error(tmp_path: Path) -> None:
    with Server(tmp_path, TABLE, ("-l",)) as server:
        ask(server, "a:1", "add 5")
        kill(server)
    (tmp_path / "server.q").write_text("0\n")
    done = warm.run([sys.executable, "-m", "kshell", "server", "-l"], input="", capture_output=True, cwd=tmp_path)
    assert done.returncode == 1 and "server.log: message 2: add" in done.stderr
    assert messages(tmp_path) == 2


def test_replayed_messages_are_confined(tmp_path: Path) -> None:
    """What -u refused to the client must not be done at the next start."""
    inside = tmp_path / "inside"
    inside.mkdir()
    with Server(inside, "", ("-l", "-u", "1")) as server:
        ask(server, '@[system;"touch ../escaped";{x}];a:1')
        kill(server)
    with Server(inside, "", ("-l", "-u", "1")) as server:
        assert ask(server, "a") == [1]
    assert not (tmp_path / "escaped").exists()


@pytest.fixture
def logging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    session = Session()
    session.run("n:0")
    session.log_updates("job")
    yield session
    session.end_ipc()


def test_messages_wait_for_the_replay(logging: Session) -> None:
    port = logging.listen()
    client = Client(port, b"")
    client.socket.sendall(b"me\3\0")
    assert not logging.ipc.updates.ready
    logging.replay_updates()
    assert eventually(lambda: logging.serve(0.05) or logging.ipc.network.connections)


def test_a_full_disk_undoes_the_message(logging: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.replay_updates()
    monkeypatch.setattr("kshell.ipc.updates.tails.added", lambda fd, data: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(QError, match=r"job\.log\. OS reports: No space left"):
        logging.run('0"n:1"')
    assert logging.run("n") == 0


def test_a_checkpoint_and_the_empty_log_come_together(logging: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is applied twice, or lost."""
    logging.replay_updates()
    logging.run('0"n+:1"')
    fill = atomic.filling

    def filling(parts: Any) -> Any:
        def fail(stream: Any) -> None:
            raise OSError(28, "No space left on device")

        return fail if list(parts) == [updates._EMPTY] else fill(parts)

    monkeypatch.setattr(atomic, "filling", filling)
    with pytest.raises(QError, match="No space left"):
        logging.run("\\l")
    assert not (tmp_path / "job.qdb").exists()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    logging.end_ipc()
    logging.ipc.updates.close()
    for _ in range(2):  # from the log, then from the checkpoint
        again = Session()
        again.run("n:0")
        again.log_updates("job")
        again.replay_updates()
        assert again.run("n") == 1
        again.run("\\l")
        again.ipc.updates.close()


@pytest.mark.parametrize(("words", "problem"), [(("-l",), "-l: needs the name"), (("-r", ":localhost:5000"), "-r: replication is not supported"), (("-m",), "-m needs a folder"), (("-n", "2", "a.q", "-L"), "not with several processes")])
def test_options_that_do_not_fit(words: tuple[str, ...], problem: str) -> None:
    done = warm.run([sys.executable, "-m", "kshell", *words], input="", capture_output=True)
    assert done.returncode == 2 and problem in done.stderr


def test_there_is_one_memory_domain() -> None:
    done = warm.run([sys.executable, "-m", "kshell", "-q", "-m", "/tmp", "-e", ".m.a:1 2;a:.m.a;a"], input="", capture_output=True)
    assert done.stdout == "1 2\n" and not done.stderr
