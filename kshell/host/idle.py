"""Answering between the steps where the program's thread has an event loop, as a notebook's kernel has: while nothing
else runs in that loop, clients are answered there, with the variables of the program's main module."""

from __future__ import annotations

import select
import selectors
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, Protocol

from kshell.attach import startup
from kshell.python import taking

MIDWAY = "the program waits in the middle of something, and edits wait for the end of a step"


class Answering(Protocol):
    """The program's side."""

    thread: int  # the thread that steps; 0 if none did yet

    def waiting(self) -> int:
        """The descriptor that can be read when a client waits."""

    def safe_point(self, frozen: str) -> None:
        """Answer whoever waits; `frozen` says why nothing can be edited here."""


class Idle:
    """The event loop of the thread that begins to listen, if one runs there."""

    def __init__(self, host: Answering) -> None:
        self.host = host
        self.here = False  # is it now that clients are answered in the loop?
        self._loop: Any = None
        self._thread: int | None = 0  # its thread
        self._called = False  # is an answer called for already?

    def begin(self) -> None:
        """Use the loop that runs in this thread now, or in the main thread as `kshell attach` came."""
        asyncio = sys.modules.get("asyncio")  # who has a loop has imported it
        loop = None if asyncio is None else asyncio._get_running_loop()
        if loop is not None:
            self._thread = threading.get_ident()
        elif startup.loop is not None:
            loop, self._thread = startup.loop, threading.main_thread().ident
        if loop is not None:
            self._loop, self._called = loop, False

    def end(self) -> None:
        """Answer no more."""
        self._loop = None

    def wake(self) -> None:
        """In any thread: a client waits; answer as soon as nothing else runs in the loop."""
        loop = self._loop
        if loop is None or self._called:
            return
        self._called = True
        try:
            loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # it has ended
            self._loop = None

    def is_waiting(self) -> bool:
        """In any thread: has the loop nothing to do?"""
        if self._loop is None or self.here:
            return False
        frame = sys._current_frames().get(self._thread or 0)
        return frame is not None and frame.f_code.co_filename == selectors.__file__

    def _answer(self) -> None:
        self._called = False
        if self._loop is None or self._is_elsewhere() or not _readable(self.host.waiting()):
            return
        self.here = True
        try:
            self.host.safe_point(MIDWAY if any(map(_is_midway, _suspended())) else "")
        finally:
            self.here = False

    def _is_elsewhere(self) -> bool:
        """Does another thread make the steps, at whose ends clients are answered?"""
        thread = self.host.thread
        return thread not in (0, threading.get_ident()) and any(
            other.ident == thread for other in threading.enumerate()
        )


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _suspended() -> Iterator[Any]:
    """The coroutines of this thread's loop that wait for something, with those that they wait for."""
    asyncio: Any = sys.modules["asyncio"]
    for task in asyncio.all_tasks():
        coroutine = task.get_coro()
        while coroutine is not None:
            yield coroutine
            coroutine = getattr(coroutine, "cr_await", None)


def _is_midway(coroutine: Any) -> bool:
    """Is this the program's own code, which may go on with a step that it has begun?"""
    frame: types.FrameType | None = getattr(coroutine, "cr_frame", None)
    return frame is not None and (
        taking.is_own(frame) or frame.f_globals is vars(sys.modules["__main__"])
    )
