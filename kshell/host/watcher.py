"""The thread beside a training program: it says where the program is, whatever that is doing, and tells it that a
client waits. It runs no q and touches no tensor."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from typing import Any, Protocol

from kshell.attach import place
from kshell.host.idle import Idle

# a client is answered inside a forward call after so many seconds without a safe point, and so many usual steps
PATIENCE, USUAL = 0.5, 2
PAUSE = 0.02  # seconds until it is looked again whether the program has come to a safe point
DEEPEST = 40  # frames shown
WORD = 1 << 16  # bytes of a request
OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep  # kshell's own files


class Watched(Protocol):
    """The program's side."""

    due: bool  # is something to be done at the next safe point?
    thread: int  # the thread that steps; 0 if none did yet
    idle: Idle

    def state(self) -> place.State:
        """Where the program is, without its stack."""

    def usual(self) -> float:
        """The seconds that a step usually takes."""

    def waiting(self) -> int:
        """The descriptor that can be read when a client waits."""

    def overdue(self) -> None:
        """A client waits, and no safe point comes."""

    def asked(self, word: str, text: str) -> str:
        """Do what else is asked for; the answer."""


class Watcher(threading.Thread):
    """Answers on the socket beside the one for messages."""

    def __init__(self, host: Watched, sock: socket.socket) -> None:
        super().__init__(name="kshell", daemon=True)
        self.host, self.sock = host, sock
        self.ended = False
        self._wake = os.pipe()

    def end(self) -> None:
        """Stop; what is being answered is answered."""
        self.ended = True
        with suppress(OSError):
            os.write(self._wake[1], b".")

    def run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the program's
        since = 0.0
        while not self.ended:
            poll = select.poll()
            for descriptor in (self.sock.fileno(), self._wake[0]):
                poll.register(descriptor, select.POLLIN)
            client = -1 if self.host.due else self.host.waiting()
            if client >= 0:
                poll.register(client, select.POLLIN)
            try:
                ready = [found for found, _ in poll.poll(PAUSE * 1000 if self.host.due else None)]
                if self.ended:
                    return
                if self.sock.fileno() in ready:
                    self._answer()
                now = time.monotonic()
                if client in ready:
                    self.host.due, since = True, now
                    self.host.idle.wake()
                elif self.host.due and now - since > max(PATIENCE, USUAL * self.host.usual()):
                    self.host.idle.wake()
                    self.host.overdue()
            except (OSError, ValueError):  # a socket that was closed meanwhile
                time.sleep(PAUSE)

    def _answer(self) -> None:
        connection, _ = self.sock.accept()
        with connection:
            connection.settimeout(1.0)
            if place.user_of(connection) not in (0, os.geteuid()):
                return
            word, _, text = connection.recv(WORD).decode().strip().partition(" ")
            answer = self.host.asked(word, text)
            state = self.host.state()
            state.answer = answer
            state.stack = stack(self.host.thread)
            connection.sendall(state.to_json().encode() + b"\n")


def stack(thread: int) -> list[str]:
    """Where a thread is, as `file:line text`, outermost first, without what is kshell's; where the main thread is, if
    none has stepped yet."""
    frame: Any = sys._current_frames().get(thread or threading.main_thread().ident or 0)
    if frame is None:
        return []
    lines = [
        f"{os.path.basename(f.filename)}:{f.lineno} {f.line or f.name}"
        for f in traceback.extract_stack(frame)
        if not f.filename.startswith((OWN, "<q"))
    ]
    return lines[-DEEPEST:]
