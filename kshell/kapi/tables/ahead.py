"""Making items in a thread, a bounded number of them ahead of their use."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Iterator
from typing import Generic, TypeVar

from kshell.values.session.context import Worker, running, work_as

Item = TypeVar("Item")


class _Last:
    """What comes after the last item: an exception, if one ended them."""

    def __init__(self, problem: BaseException | None) -> None:
        self.problem = problem


class Ahead(Generic[Item]):
    """The items of an iterator, of which up to `most` are made before they are asked for. An exception in the iterator
    is raised where the item would be. `waited` says how long the items were waited for, in seconds."""

    def __init__(self, items: Iterator[Item], most: int) -> None:
        self.waited = 0.0
        self._items = items
        self._made: queue.Queue[Item | _Last] = queue.Queue(most)
        self._ended = threading.Event()
        context = contextvars.copy_context()
        worker = Worker(-1, running().rng)
        self._thread = threading.Thread(
            target=context.run, args=(self._make, worker), name="kshell-ahead", daemon=True
        )
        self._thread.start()

    def _make(self, worker: Worker) -> None:
        work_as(worker)  # a query of q changes no globals here
        last = _Last(None)
        try:
            for item in self._items:
                if not self._put(item):
                    return
        except BaseException as exc:
            last = _Last(exc)
        self._put(last)

    def _put(self, item: Item | _Last) -> bool:
        """Hand over an item; false if nobody takes it any more."""
        while not self._ended.is_set():
            try:
                self._made.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def __iter__(self) -> Iterator[Item]:
        try:
            while True:
                start = time.perf_counter()
                found = self._made.get()
                self.waited += time.perf_counter() - start
                if isinstance(found, _Last):
                    break
                yield found
            if found.problem is not None:
                raise found.problem
        finally:
            self.close()

    def close(self) -> None:
        """Make no more; the thread has ended afterwards."""
        self._ended.set()
        self._thread.join()
