"""The threads of peach: items are dealt to as many threads as `\\s` says, and the results are put back in order. numpy
and torch release Python's lock when they compute large arrays, which is where threads gain time.
"""

from __future__ import annotations

import copy
import ctypes
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import QExit, as_qerror
from kshell.lang.compiler.code_objects import with_frames
from kshell.values.base.core import NIL, Value
from kshell.values.session import context
from kshell.values.session.context import running
from kshell.values.session.interrupts import HOLD
from kshell.values.session.restrict import wall

if TYPE_CHECKING:
    from concurrent.futures import Future

# bytes of a thread's C stack, so that q calls can nest as deep as in the main thread
STACK = 1 << 26
_RETRY = 0.05  # seconds before a thread that did not stop is interrupted again


class Pool:
    """Threads, each with its own random number generator."""

    __slots__ = ("executor", "rngs", "size")

    def __init__(self, size: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.size = size
        self.executor = ThreadPoolExecutor(size, "peach")
        self.rngs = [np.random.default_rng(number + 1) for number in range(size)]


class _Deal:
    """One call of peach: the state shared by its threads."""

    __slots__ = ("failed", "idents", "items", "results", "work")

    def __init__(self, work: Callable[[Value], Value], items: Sequence[Value]) -> None:
        self.work, self.items = work, items
        self.results: list[Value] = [NIL] * len(items)
        self.failed: dict[int, BaseException] = {}
        self.idents: dict[int, int] = {}  # the running threads, by number

    def run(self, number: int, step: int, rng: Any) -> None:
        """Run the items number, number+step, ...; stop at the first that fails, or that comes after a failed one."""
        context.work_as(context.Worker(number, rng))
        self.idents[number] = threading.get_ident()
        index = number
        try:
            with wall() if context.restricted() else nullcontext():
                while index < len(self.items) and not (self.failed and index > min(self.failed)):
                    self.results[index] = self.work(self.items[index])
                    index += step
        except QExit as e:
            self.failed[index] = e
        except BaseException as e:
            error = as_qerror(e)
            with_frames(error, e.__traceback__, error.text if isinstance(e, NameError) else "")
            error.__traceback__ = error.__context__ = error.__cause__ = None
            self.failed[index] = error
        finally:
            self.idents.pop(number, None)


def wanted(n: int) -> int:
    """How many threads to use for n items: 0 inside a peach thread, and for a single item."""
    return 0 if n < 2 or context.worker() is not None else min(max(running().settings.s, 0), n)


def share(work: Callable[[Value], Value], items: Sequence[Value], threads: int) -> list[Value]:
    """Run work on each item, in threads. If several items fail, the first one's error is raised."""
    from concurrent.futures import wait

    pool = _pool()
    deal = _Deal(work, items)
    before = threading.stack_size(STACK)
    try:
        rngs = copy.deepcopy(pool.rngs) if context.restricted() else pool.rngs
        tasks = [
            pool.executor.submit(copy_context().run, deal.run, number, threads, rngs[number])
            for number in range(threads)
        ]
    finally:
        threading.stack_size(before)
    try:
        wait(tasks)
    except BaseException:
        _stop(deal, tasks)
        raise
    if deal.failed:
        error = deal.failed[min(deal.failed)]
        deal.failed.clear()
        raise error
    return deal.results


def _pool() -> Pool:
    session = running()
    size = session.settings.s
    if session.pool is None or session.pool.size != size:
        if session.pool is not None:
            session.pool.executor.shutdown(wait=False)
        session.pool = Pool(size)
    return session.pool


def _stop(deal: _Deal, tasks: list[Future[None]]) -> None:
    """Interrupt the threads and wait for them; after a second interrupt, abandon those that do not stop."""
    from concurrent.futures import wait

    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    try:
        while True:
            for ident in list(deal.idents.values()):
                if not HOLD.holds(ident):
                    raise_in(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))
            if not wait(tasks, _RETRY).not_done:
                return
    except KeyboardInterrupt:
        running().pool = None
