"""The connection to a program: answers, errors, waiting, stopping, and programs that end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from kshell.attach import place
from kshell.attach.client import Attached, Ended, Late
from kshell.errors import QError
from kshell.ipc import peer
from kshell.values.base.build import string
from kshell.values.base.core import NIL, List, Value, seq_items, text_of
from kshell.values.base.symbols import sym
from tests.attach.program import Program


def line(text: str) -> Value:
    return List([sym(".run.line"), string(text), 25, 80])


def shown(answer: Value) -> list[str]:
    return [text_of(part) for part in seq_items(answer)]


def after(seconds: float, work: Callable[..., object], *args: object) -> None:
    threading.Timer(seconds, work, args).start()


def ctrl_c(seconds: float) -> None:
    after(seconds, os.kill, os.getpid(), signal.SIGINT)


def test_a_program_answers(program: Program) -> None:
    attached = Attached(program.pid)
    assert attached.ask(string("1+1")) == 2
    assert shown(attached.ask(line("a:til 3"))) == ["", "", "q)"]
    assert shown(attached.ask(line("a"))) == ["0 1 2\n", "", "q)"]
    assert text_of(attached.ask(List([sym(".run.status"), NIL]))) == "device 80"
    assert attached.connection.capability == 6
    attached.close()


def test_a_large_request_and_a_large_answer(program: Program) -> None:
    """Larger than a login may be, in one go with it."""
    attached = Attached(program.pid)
    assert attached.ask(List([string("{-2_x,y}"), string("x" * 3_000_000), string("ab")])).a.size == 3_000_000
    attached.close()


def test_an_error_of_the_program_is_an_error_here(program: Program) -> None:
    attached = Attached(program.pid)
    with pytest.raises(QError) as error:
        attached.ask(string("1+`a"))
    assert error.value.text == "type" and error.value.__context__ is None
    with pytest.raises(QError, match="nosuch"):
        attached.ask(List([sym("nosuch"), 1]))
    assert attached.ask(string("2+2")) == 4
    attached.close()


def test_the_caller_is_told_how_long_it_waits() -> None:
    """The login too waits for a safe point, and the first request is answered at the same one."""
    with Program("slow.py", 1.0) as program:
        attached, told = Attached(program.pid), list[float]()
        start = time.monotonic()
        assert attached.ask(string("1+1"), told.append) == 2
        assert 2 <= len(told) <= 6 and told == sorted(told) and told[-1] < 1.5
        assert time.monotonic() - start < 1.6
        attached.close()


def test_an_answer_that_is_too_late_is_not_that_of_the_next_request(program: Program) -> None:
    attached = Attached(program.pid)
    with pytest.raises(Late):
        attached.ask(string('system"sleep .5";1'), limit=0.1)
    assert attached.waits
    assert attached.ask(string("2")) == 2
    assert not attached.waits
    attached.close()


def test_answers_are_taken_when_they_come(program: Program) -> None:
    attached, taken = Attached(program.pid), list[object]()
    attached.send(string("1"), taken.append)
    attached.send(string("1+`a"), taken.append)
    assert attached.ask(string("3")) == 3
    assert taken[0] == 1 and isinstance(taken[1], QError)
    attached.close()


def test_an_interrupt_stops_the_query_in_the_program(program: Program) -> None:
    attached = Attached(program.pid)
    attached.ask(string("b:7"))
    ctrl_c(0.3)
    start = time.monotonic()
    assert shown(attached.ask(line("while[1b;]")))[1] == "'stop\n"
    assert time.monotonic() - start < 2
    assert attached.ask(string("b")) == 7
    attached.close()


@pytest.mark.parametrize("again", [False, True])
def test_an_interrupt_gives_up_what_does_not_stop(again: bool) -> None:
    """At once, if there is a second one. The next request has a connection of its own."""
    with Program("slow.py", 3.0) as program:
        attached = Attached(program.pid)
        before = attached.connection
        ctrl_c(0.2)
        if again:
            ctrl_c(0.6)
        start = time.monotonic()
        with pytest.raises(QError, match="stop") as error:
            attached.ask(string("1+1"))
        assert "may still run" in error.value.hint
        assert (time.monotonic() - start < 1.5) == again
        assert before.closed and attached.ask(string("2+2")) == 4
        attached.close()


def test_a_program_that_ends_in_the_middle(program: Program) -> None:
    attached = Attached(program.pid)
    after(0.3, program.process.kill)
    with pytest.raises(Ended, match="close handle") as error:
        attached.ask(string('system"sleep 20"'))
    assert error.value.unanswered
    with pytest.raises(Ended) as error:
        attached.ask(string("1"))
    assert not error.value.unanswered


def test_a_program_that_has_ended(program: Program) -> None:
    attached = Attached(program.pid)
    assert attached.ask(string("1")) == 1
    program.kill()
    with pytest.raises(Ended) as error:
        attached.ask(string("1"))
    assert not error.value.unanswered and attached.has_ended()
    with pytest.raises(ConnectionRefusedError):
        Attached(program.pid)


def test_a_connection_that_the_program_closes_is_made_again(program: Program) -> None:
    attached = Attached(program.pid)
    with pytest.raises(QError, match="close handle") as error:
        attached.ask(string("hclose .z.w"))
    assert not isinstance(error.value, Ended)
    assert attached.ask(string("1+1")) == 2
    attached.close()


def test_a_socket_of_another_user_is_refused(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "user_of", lambda sock: os.getuid() + 1)
    with pytest.raises(QError, match="another user"):
        Attached(program.pid)


def test_bytes_that_are_no_message_end_the_connection() -> None:
    pid = os.getpid()
    sock = place.listen(place.socket_of(pid))
    sock.setblocking(True)

    def answer() -> None:
        client, _ = sock.accept()
        asked = b""
        while not asked.endswith(b"1"):  # bytes before the request would only make the client connect again
            asked += client.recv(1 << 10)
        client.sendall(b"\x06" + b"\x09" * 20)
        client.close()

    thread = threading.Thread(target=answer)
    thread.start()
    attached = Attached(pid)
    with pytest.raises(QError, match="close handle"):
        attached.ask(string("1"))
    thread.join(10)
    sock.close()
