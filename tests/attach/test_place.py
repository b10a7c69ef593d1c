"""The folder of the sockets, the sockets, and what is asked there."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kshell.attach import place
from kshell.attach.place import NOT_ANSWERING, State
from tests.attach.programs import environment


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="k") as path:  # short, for the paths of sockets
        monkeypatch.setenv("KSHELL_RUN", path)
        yield Path(path)


@contextmanager
def server(pid: int, answer: Callable[[str], bytes]) -> Iterator[None]:
    """A program that answers words until the end."""
    sock = place.listen(place.where_of(pid))
    sock.setblocking(True)

    def serve() -> None:
        while True:
            client = sock.accept()[0]
            with client:
                word = client.makefile().readline()
                if word == "end\n":
                    return
                if word:
                    client.sendall(answer(word))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        place._sent(place.where_of(pid), "end").close()
        thread.join(10)
        sock.close()


def dead(path: str | Path) -> None:
    """The socket of a process that has ended."""
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    assert stat.S_ISSOCK(os.lstat(path).st_mode)


def test_the_folder_is_the_chosen_one_else_the_runtime_folders_else_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert place.folder() == str(tmp_path / "a")
    monkeypatch.setenv("KSHELL_RUN", "")
    assert place.folder() == str(tmp_path / "kshell")
    temporary = f"{tempfile.gettempdir()}/kshell-{os.geteuid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "not there"))
    assert place.folder() == temporary
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert place.folder() == f"{tempfile.gettempdir()}/kshell-{os.getuid() + 1}"


def test_the_folder_is_made_for_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a" / "run"
    monkeypatch.setenv("KSHELL_RUN", str(path))
    assert place.made() == place.made() == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def _open(path: Path) -> None:
    path.mkdir()
    path.chmod(0o750)


def _link(path: Path) -> None:
    (path.parent / "other").mkdir(0o700)
    path.symlink_to(path.parent / "other")


@pytest.mark.parametrize(
    ("make", "text"), [(_open, "other users may use it"), (_link, "is not a folder"), (Path.touch, "is not a folder")]
)
def test_a_folder_of_others_is_refused(
    make: Callable[[Path], None], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "run")
    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "run"))
    for use in (place.made, place.listening):
        with pytest.raises(OSError, match=f"{text}.*{tmp_path}/run"):
            use()


def test_a_folder_that_belongs_to_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match=f"belongs to user {os.getuid()}"):
        place.made()


def test_the_paths_of_sockets_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_RUN", "/" + "k" * (place.LONGEST - len("//12.where")))
    assert len(place.where_of(12)) == place.LONGEST
    with pytest.raises(OSError, match="KSHELL_RUN can name another folder"):
        place.where_of(123)


def test_a_socket_is_the_users_alone_and_does_not_block(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        with place.listen(place.socket_of(7)) as sock:
            assert stat.S_IMODE((folder / "7").stat().st_mode) == 0o600
            with pytest.raises(BlockingIOError):
                sock.accept()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(folder / "7"))
                sock.accept()[0].close()
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_a_dead_programs_socket_is_replaced(folder: Path) -> None:
    dead(folder / "7")
    with place.listen(place.socket_of(7)), pytest.raises(OSError, match=r"in use.*/7'"):
        place.listen(place.socket_of(7))


def test_a_file_is_not_replaced(folder: Path) -> None:
    (folder / "7").write_text("kept")
    with pytest.raises(OSError, match="in use"):
        place.listen(place.socket_of(7))
    assert (folder / "7").read_text() == "kept"


def test_a_state_is_a_line_of_json() -> None:
    state = State(5, "ann", "train.py --lr 1", 12, 0.5, 1e9, ["cuda:0"], 1 << 30, 3, "training", ["a", "b\nc"], 2)
    assert "\n" not in state.to_json() and State.from_json(state.to_json()) == state
    assert State.from_json(b'{"pid": 5, "of a later version": [1]}') == State(pid=5)
    for text in ("", "[1]", "{"):
        with pytest.raises(ValueError):
            State.from_json(text)


def test_a_program_is_asked(folder: Path) -> None:
    words = []

    def answer(word: str) -> bytes:
        words.append(word)
        return State(7, what="training").to_json().encode() + b"\n"

    with server(7, answer):
        assert place.asked(7) == place.asked(7, "stop") == State(7, what="training")
    assert words == ["where\n", "stop\n"]


def test_a_long_state_comes_in_parts(folder: Path) -> None:
    state = State(7, stack=["x" * 1000] * 300)
    with server(7, lambda word: state.to_json().encode()):
        assert place.asked(7) == state


def test_none_is_the_answer_of_a_program_that_is_gone_or_silent_or_speaks_otherwise(folder: Path) -> None:
    assert place.asked(7) is None
    dead(folder / "7.where")
    assert place.asked(7) is None
    with place.listen(place.where_of(8)):
        assert place.asked(8, timeout=0.05) is None
    with server(9, lambda word: b"hello\n"):
        assert place.asked(9) is None


def test_a_program_with_a_full_queue_does_not_answer(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock, socket.socket(socket.AF_UNIX) as first:
        sock.bind(place.where_of(7))
        sock.listen(0)
        first.connect(place.where_of(7))
        assert place.asked(7, timeout=0.05) is None
        assert place.listening(timeout=0.05) == [State(7, what=NOT_ANSWERING)]


OTHER_USERS = """\
import os, socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
if os.geteuid() == 0:
    os.seteuid(65534)
sock.listen()
print("ready", flush=True)
sys.stdin.read()
"""


def test_another_users_program_is_not_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user nobody's, where the tests can make one; else the tests take themselves for another user."""
    words = [sys.executable, "-c", OTHER_USERS, place.where_of(7)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        if os.getuid():
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
            monkeypatch.setattr(place, "_check", lambda path: None)
        with pytest.raises(PermissionError, match="the process there is user"):
            place.asked(7)
        assert place.listening() == []
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def test_all_programs_that_listen_and_what_dead_ones_left(folder: Path) -> None:
    dead(folder / "5")
    dead(folder / "5.where")
    dead(folder / "4")
    (folder / "3").write_text("no socket")
    (folder / "notes").touch()
    (folder / "9.where.old").touch()
    with server(12, lambda word: State(12, step=3).to_json().encode()), place.listen(place.where_of(7)):
        assert place.listening(timeout=0.2) == [State(7, what=NOT_ANSWERING), State(12, step=3)]
    assert sorted(os.listdir(folder)) == ["12.where", "3", "7.where", "9.where.old", "notes"]


def test_a_program_that_is_about_to_listen_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(folder / "7.where"))
        monkeypatch.setattr(place.time, "sleep", lambda seconds: sock.listen())
        assert place.listening() == [] and (folder / "7.where").exists()
        assert place.listening(timeout=0.05) == [State(7, what=NOT_ANSWERING)]


def test_silent_programs_are_waited_for_together(folder: Path) -> None:
    socks = [place.listen(place.where_of(pid)) for pid in range(1, 9)]
    began = time.monotonic()
    assert len(place.listening(timeout=0.2)) == 8
    assert time.monotonic() - began < 8 * 0.2 - 0.4
    for sock in socks:
        sock.close()


def test_no_folder_has_no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "none"))
    assert place.listening() == []
