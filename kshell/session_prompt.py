"""The part of a session that the prompt queries: its state, its names, and information about them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.lang.console.outline import is_table, outline
from kshell.values.base.core import Dict, List, Table, Value
from kshell.values.base.functions import Handle
from kshell.values.session import memory

if TYPE_CHECKING:
    from kshell.values.change.names import Names

SWITCHED = 0.0005  # seconds after which a thread loading the k-api yields Python's lock


class PromptMixin:
    """The part of a session that answers the prompt."""

    if TYPE_CHECKING:
        names: Names
        _handles: Any

    def prepare(self, first: Callable[[], object] = lambda: None) -> threading.Thread:
        """Load the k-api and torch in the background, so that their first use need not wait; call `first` in between.
        Meanwhile Python's lock is yielded often, so that the prompt stays responsive."""

        def work() -> None:
            interval = sys.getswitchinterval()
            sys.setswitchinterval(SWITCHED)
            try:
                from kshell.kapi.base.lazy_torch import load, map_libraries

                self.names.load_builtins()
                first()
                map_libraries()
                load()
            except Exception:  # the first use will report errors
                return
            finally:
                sys.setswitchinterval(interval)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def status(self) -> tuple[str, int, int]:
        """The default device, the bytes of memory in use (on a GPU, if one is used) and the number of live handles."""
        device, used_bytes = "cpu", 0
        # otherwise nothing has requested another device
        if "kshell.kapi.console.completion" in sys.modules:
            from kshell.kapi.console import completion

            device, used_bytes = completion.device()
        return (
            device,
            used_bytes or memory.status("VmRSS"),
            0 if self._handles is None else len(self._handles),
        )

    def words(self, call: str) -> list[tuple[str, str]]:
        """The symbols that a k-api call accepts, each with a short description."""
        from kshell.kapi.console import completion

        return completion.of_call(call)

    def options_of(self, entry: registry.Entry) -> tuple[registry.Option, ...]:
        """The options of an entry, as far as they are known without importing torch."""
        if entry.options or "kshell.kapi.console.completion" not in sys.modules:
            return entry.options
        from kshell.kapi.console import completion

        return completion.options(entry)

    def forms(self, entry: registry.Entry) -> tuple[str, ...]:
        """The ways to call an entry."""
        from kshell.kapi.console.help import forms_of

        return forms_of(entry)

    def notes(self, x: Value) -> list[str]:
        """Notes for the lines that the console shows for a value with handles: what each object is."""
        if self._handles is None or not isinstance(x, Handle | Dict | List | Table):
            return []
        from kshell.kapi.console import notes

        return notes.shown(x)

    def table_names(self) -> list[str]:
        """The names of the tables in the current namespace."""
        space = self.names.spaces.get(self.names.current, {})
        return sorted(name for name, value in list(space.items()) if is_table(value))

    def python_names(self, call: str, prefix: str) -> list[tuple[str, str]]:
        """The symbols that a function of `.p` takes first: modules, variables."""
        entry = registry.find("handler", "python")
        found: list[tuple[str, str]] = entry.fns[2](call, prefix) if entry is not None else []
        return found

    def attributes(self, call: str, first: str, prefix: str) -> list[tuple[str, str]]:
        """The attributes of the Python object that a call is about: of a wrapped one by its name, or of the one that
        `first` names to a function of `.p`."""
        entry = registry.find("handler", "python")
        if entry is None:
            return []
        found: list[tuple[str, str]] = entry.fns[4](call, first, self._global(call), prefix)
        return found

    def _global(self, name: str) -> Value | None:
        """The value of a global variable, as it is."""
        space, last = self.names.split(name)
        return self.names.spaces.get(space, {}).get(last) if last != "__builtins__" else None

    def parts(self, name: str) -> list[tuple[str, str]]:
        """The parts of a global variable by name, with their types: columns of a table, keys of a dictionary, children
        and parameters of a module. Nothing is evaluated."""
        value = self._global(name)
        if isinstance(value, Handle):
            from kshell.kapi.console import completion

            return completion.parts(value)
        return outline(value)
