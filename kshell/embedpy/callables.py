"""q functions as Python callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from kshell.errors import QError
from kshell.values.base.core import Value
from kshell.values.base.functions import Lambda, Prim
from kshell.values.session.context import Running, running


class RaisedInPython(QError, RuntimeError):
    """A q error on its way through Python code, which may catch it as a RuntimeError, as embedPy's."""

    def __init__(self, e: QError) -> None:
        super().__init__(e.text, hint=e.hint)
        self.frames, self.note = e.frames, e.note


def _name(value: Value, session: Running) -> str:
    """The name of a verb, or of the variable that a function is in."""
    if isinstance(value, Prim):
        return value.name
    variables = session.names.spaces["."].items()
    return next((name for name, x in variables if x is value), "lambda")


class QFunction:
    """A q function that Python calls: arguments and result are converted as `.p` does. Keyword arguments are those of
    a lambda's parameters. It cannot leave its process."""

    def __init__(self, value: Value, call: Callable[[QFunction, tuple[Any, ...]], Any]) -> None:
        self.value, self._call = value, call
        self.session: Running = running()
        self.__doc__ = self.session.show(value)
        self.__name__ = self.__qualname__ = _name(value, self.session)
        if isinstance(value, Lambda) and value.params:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            self.__signature__ = inspect.Signature(
                [inspect.Parameter(name, kind) for name in value.params]
            )

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._call(self, self._positional(args, named) if named else args)

    def _positional(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters. TypeError for a name that is none, or one too many."""
        signature = getattr(self, "__signature__", None)
        if signature is None:
            raise TypeError(
                f"{self.__name__} takes no keyword arguments: it has no parameters with names"
            )
        bound: tuple[Any, ...] = signature.bind(*args, **named).args
        return bound

    def __repr__(self) -> str:
        return f"<q function {self.__doc__}>"

    def __copy__(self) -> QFunction:
        return self

    def __deepcopy__(self, memo: object) -> QFunction:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a q function cannot leave its process")
