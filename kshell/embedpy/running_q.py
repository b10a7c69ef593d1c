"""`q` in Python's `__main__`: the session that runs, for Python code of its user."""

from __future__ import annotations

from typing import Any

from kshell import python
from kshell.embedpy.callables import RaisedInPython
from kshell.errors import QError
from kshell.lang.compiler.code_objects import with_frames
from kshell.values.base.core import Value
from kshell.values.engine.apply import apply
from kshell.values.session.context import perhaps


class RunningQ:
    """The running q: its variables are attributes or, with any name, items; a call evaluates q text, and applies it to
    further arguments. Values are converted as by a `kshell.Session`."""

    def __call__(self, text: str, *args: Any) -> Any:
        def work(session: Any) -> Value:
            value: Value = session.evaluate(text)
            return apply(value, [python.into.to_q(x) for x in args]) if args else value

        return self._within(work)

    def _within(self, work: Any) -> Any:
        """The Python value of what work returns for the session; a RuntimeError for q's errors."""
        session = perhaps()
        if session is None:
            raise RuntimeError("q runs in another thread: give this one a q function to call")
        try:
            return python.outof.from_q(work(session))
        except QError as e:
            error = RaisedInPython(with_frames(e, e.__traceback__))
        raise error

    def __getitem__(self, name: str) -> Any:
        return self._within(lambda session: session.names.get(name))

    def __setitem__(self, name: str, x: Any) -> None:
        def work(session: Any) -> bool:
            python.session.check(name)
            session.names.load_builtins()
            session.names.set(name, python.into.to_q(x))
            return True

        self._within(work)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        try:
            return self[name]
        except RaisedInPython as e:
            problem = e.text
        raise AttributeError(f"q has no variable {name}" if problem == name else problem)

    def __setattr__(self, name: str, x: Any) -> None:
        self[name] = x

    def __repr__(self) -> str:
        return "<q, as it runs>"
