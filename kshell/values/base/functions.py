"""Values that can be applied: lambdas, built-in verbs, projections, compositions, derived functions; and handles.

Each has `rank` (the number of arguments; 0 means any number) and `call(args)`, which runs it with exactly that many.
`apply` in values/engine/apply.py handles fewer or more arguments as q does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kshell import registry
from kshell.errors import QError, Source, first_line, message_of
from kshell.registry import Hook
from kshell.values.base.build import collapse
from kshell.values.base.core import HOLE, Value
from kshell.values.base.from_numpy import taken

APPLY = Hook()  # `f[args]` for any value f: values/engine/apply.py
# q values as Python values, and back, in calls of a program's own Python: embedpy/classes.py
TO_PYTHON = Hook()
FROM_PYTHON = Hook()
# a table of Arrow as one of q: embedpy/frames.py
FROM_ARROW = Hook()
# f(*args, **named), with q errors that begin with a name for its exceptions: embedpy/classes.py
RUN_PYTHON = Hook()


class Function:
    """Base of all values that can be applied, except lists, dictionaries and handles."""

    __slots__ = ()
    rank: int
    t: int
    direct: Any = None  # what compiled code may call instead: see PyFunction

    def call(self, args: Sequence[Value]) -> Value:
        raise NotImplementedError


class Lambda(Function):
    """A lambda: `fn` is the Python function compiled from `text`; locals are its fast locals."""

    __slots__ = (
        "__weakref__",
        "consts",
        "ctx",
        "fn",
        "globals",
        "locals",
        "own",
        "params",
        "rank",
        "source",
        "stores",
        "text",
        "tree",
    )
    t = 100
    fn: Callable[..., Value]

    def __init__(
        self, fn: Callable[..., Value], text: str, params: tuple[str, ...], source: Source, ctx: str
    ) -> None:
        self.fn, self.text, self.params, self.source, self.ctx = fn, text, params, source, ctx
        self.rank = max(len(params), 1)
        self.locals: tuple[str, ...] = ()
        self.globals: tuple[str, ...] = ()
        self.consts: tuple[Any, ...] = ()  # literal nodes and nested lambdas, as first evaluated
        self.tree: Any = None
        self.own = ""  # the name by which it calls itself
        self.stores = False  # does it assign globals itself?

    def call(self, args: Sequence[Value]) -> Value:
        return self.fn(*args)


class Lambda1(Lambda):
    """A lambda with one parameter (or none: the Python function still takes one argument).

    One class per small rank lets compiled code test class and rank at once.
    """

    __slots__ = ()


class Lambda2(Lambda):
    __slots__ = ()


class Lambda3(Lambda):
    __slots__ = ()


LAMBDA = {1: Lambda1, 2: Lambda2, 3: Lambda3}


class Prim(Function):
    """A built-in: an operator, keyword or k-api function. `fns` maps argument counts to Python functions; the key -1
    takes any number of arguments. `entry` is its registration."""

    __slots__ = ("entry", "fns", "name", "rank", "t")

    def __init__(
        self,
        name: str,
        fns: dict[int, Callable[..., Value]],
        entry: registry.Entry | None = None,
        t: int = 100,
    ) -> None:
        self.name, self.fns, self.entry, self.t = name, fns, entry, t
        counts = [count for count in fns if count > 0]
        self.rank = 0 if -1 in fns else 2 if 2 in counts else min(counts)

    def call(self, args: Sequence[Value]) -> Value:
        function = self.fns.get(len(args)) or self.fns.get(-1)
        if function is None:
            raise QError("rank")
        return function(*args)


class Proj(Function):
    """A projection: a function with some arguments given; the others are HOLE, or missing at the end."""

    __slots__ = ("args", "f", "holes", "rank")
    t = 104

    def __init__(self, f: Value, args: tuple[Value, ...], missing: int = 0) -> None:
        self.f, self.args = f, args
        self.holes = sum(argument is HOLE for argument in args)
        self.rank = self.holes + missing

    def fill(self, args: Sequence[Value]) -> tuple[Value, ...]:
        """The argument list with `args` filled into the holes from the left, then appended."""
        if not self.holes:
            return (*self.args, *args)
        remaining = iter(args)
        return (
            *(next(remaining, HOLE) if argument is HOLE else argument for argument in self.args),
            *remaining,
        )

    def call(self, args: Sequence[Value]) -> Value:
        function, arguments = self.f, self.fill(args)
        if (
            isinstance(function, Lambda)
            and len(arguments) == function.rank == len(function.params)
            and len(args) == self.rank
        ):
            for argument in args:
                if argument is HOLE:
                    break
            else:
                return function.fn(*arguments)
        return APPLY.fn(function, arguments)


class ListProj(Function):
    """A list with omitted items, `(;1)`: applied to the missing items, it returns the list."""

    __slots__ = ("args", "rank")
    t = 104

    def __init__(self, args: tuple[Value, ...]) -> None:
        self.args = args
        self.rank = sum(argument is HOLE for argument in args)

    def call(self, args: Sequence[Value]) -> Value:
        remaining = iter(args)
        return collapse(
            [next(remaining) if argument is HOLE else argument for argument in self.args]
        )


class Comp(Function):
    """A composition: the last function gets the arguments, each other one the result of the next."""

    __slots__ = ("fs", "rank")
    t = 105

    def __init__(self, fs: tuple[Value, ...]) -> None:
        self.fs = fs
        self.rank = getattr(fs[-1], "rank", 1) or 1

    def call(self, args: Sequence[Value]) -> Value:
        result = APPLY.fn(self.fs[-1], args)
        for function in reversed(self.fs[:-1]):
            result = APPLY.fn(function, (result,))
        return result


ITERATORS = {"'": 106, "/": 107, "\\": 108, "':": 109, "/:": 110, "\\:": 111}


class Iter(Function):
    """An iterator by itself, as in `(/)`; applied to a value, it makes a derived function."""

    __slots__ = ("glyph", "rank")
    t = 103

    def __init__(self, glyph: str) -> None:
        self.glyph = glyph
        self.rank = 0 if glyph == "'" else 1

    def call(self, args: Sequence[Value]) -> Value:
        if len(args) > 1:
            return Comp(tuple(args))  # `'[f;g]`
        return Derived(self.glyph, args[0])


class Derived(Function):
    """A function, list or dictionary with an iterator: `f'`, `f/`, `f\\:`... `run` is set by lang/each/maps.py."""

    __slots__ = ("f", "glyph", "rank", "t")
    run: Callable[[Derived, Sequence[Value]], Value]

    def __init__(self, glyph: str, f: Value) -> None:
        self.glyph, self.f = glyph, f
        self.t = ITERATORS[glyph]
        rank = f.rank if isinstance(f, Function) else 0
        # each keeps the rank of f, as do over and scan above two; each-left, each-right take two; the others one or two
        if glyph in ("/:", "\\:"):
            rank = 2 if isinstance(f, Function) else 0
        elif glyph != "'" and (glyph == "':" or rank < 3):
            rank = 0
        self.rank = rank

    def call(self, args: Sequence[Value]) -> Value:
        return Derived.run(self, args)


class View(Function):
    """`name::expression`: evaluated when read, and again if a variable that it refers to has changed.

    `compute` makes a function with the current meaning of its names; `tree` is its parse tree.
    """

    __slots__ = ("busy", "compute", "name", "needs", "saved", "text", "tree", "value")
    t = 100
    rank = 1

    def __init__(
        self,
        name: str,
        text: str,
        needs: tuple[str, ...],
        tree: Callable[[], Value],
        compute: Callable[[], Value],
    ) -> None:
        self.name, self.text, self.needs, self.tree, self.compute = name, text, needs, tree, compute
        self.value: Value | None = None
        # the values of the names in `needs` when value was computed
        self.saved: list[Value | None] = []
        self.busy = False

    def get(self, find: Callable[[str], Value | None]) -> Value:
        """The value; a view that depends on itself sees its previous value."""
        if self.busy:
            if self.value is None:
                raise QError("loop")
            return self.value
        self.busy = True
        try:
            current = [find(need) for need in self.needs if need != self.name]
            if self.value is None or any(
                value is not saved for value, saved in zip(current, self.saved, strict=True)
            ):
                self.value = self.compute()
                self.saved = current
        finally:
            self.busy = False
        return self.value


# has there been a Python object in q? Until then nothing has to look for one
FOREIGN = [False]


class Foreign(Function):
    """A Python object without a q equivalent, stored as it is (type 112h): not copied, and Python gets the same object
    back. No verb can look inside ('type); `~` tests whether two are the same object."""

    __slots__ = ("obj",)
    t = 112
    rank = 0

    def __init__(self, obj: object) -> None:
        self.obj: Any = obj
        FOREIGN[0] = True

    @property
    def unsaved(self) -> str:
        """The error message if the value is to be serialized."""
        return f"type: expected a value, given a Python object of class {type(self.obj).__name__}"

    @property
    def hint(self) -> str:
        """A hint if something inside the object is accessed."""
        return (
            f"q only stores the {type(self.obj).__name__}, a Python object: "
            "a function of the program can return its contents"
        )

    def call(self, args: Sequence[Value]) -> Value:
        raise QError("type", hint=self.hint)

    def __repr__(self) -> str:
        return f"Foreign({type(self.obj).__name__})"


class PyCall(Foreign):
    """A Python object that can be applied (type 105h), as embedPy's functions make it. `how` says what its results
    become: empty for a wrapped object, whose first argument may be a word (kshell/embedpy/applying.py); `*` or `>`
    for a declared function, whose results are wrapped or bare; `<` is a PyFunction. `call`, and `call1` with one
    argument, are set there."""

    __slots__ = ("how",)
    t = 105
    call1: ClassVar[Callable[[Any, Value], Value]]

    @property
    def hint(self) -> str:
        """How to get at what is in the object."""
        return "an attribute of a Python object is w`:name, an item w[@;key], its q value w`"

    def __init__(self, obj: object, how: str = "") -> None:
        self.obj, self.how = obj, how
        FOREIGN[0] = True


class Door:
    """How values go to Python and come back, which depends on how a function came to q: `.p`, a Session. `quick` has
    the conversions of the q values that are the same alone and among other arguments, by class."""

    __slots__ = ("quick", "to_python", "to_q")

    def __init__(
        self,
        to_python: Callable[[Value], Any],
        to_q: Callable[[Any], Value],
        quick: dict[type, Callable[[Any], Any]],
    ) -> None:
        self.to_python, self.to_q, self.quick = to_python, to_q, quick


class PyFunction(PyCall):
    """A declared function whose results are q values. `where` is what its errors begin with. `call2` is its call
    with two arguments.

    Compiled code calls `direct`, the object itself, with numbers, which are the same in both languages, and asks
    nobody: `forget_direct` takes it away as soon as there is something to ask."""

    __slots__ = ("door", "where")
    direct: Any = vars(Foreign)["obj"]
    call2: ClassVar[Callable[[Any, Value, Value], Value]]

    def __init__(self, obj: object, door: Door, where: str = "call") -> None:
        self.obj, self.how, self.door, self.where = obj, "<", door, where
        FOREIGN[0] = True


def forget_direct() -> None:
    """From now on, each call of a Python function asks whether it may."""
    if "direct" in vars(PyFunction):
        del PyFunction.direct


class Raised:
    """In place of a result: the error for an exception of a Python function that compiled code called."""

    __slots__ = ("error",)

    def __init__(self, error: QError) -> None:
        self.error = error


def python_raised(f: PyFunction, e: BaseException) -> Raised:
    """The same for an exception; it is raised after the `except` block, by `python_result`."""
    error = FAILED.fn(f.where, e)
    if error is e and e.__traceback__ is not None:
        error.__traceback__ = e.__traceback__.tb_next  # it passes the calling function again
    return Raised(error)


def python_result(f: PyFunction, box: list[Any], *args: Value) -> Value:
    """The q value of what a Python function returned that compiled code called with some arguments: the one item of a
    list, which it is taken out of."""
    if type(box[0]) is not Raised:
        return taken(box, f.door.to_q)
    error = box.pop().error
    try:
        raise error
    finally:
        del error  # the traceback refers to this frame


def _failed(where: str, exc: BaseException) -> QError:
    if isinstance(exc, QError):
        return exc
    return QError(first_line(f"{where}: {type(exc).__name__}: {message_of(exc)}"))


# the q error for an exception of Python code, given the name of what failed: embedpy/applying.py, with Python's frames
FAILED = Hook(_failed)


class Handle:
    """Base of the k-api's handles: to q, a one-item general list (type 0h) that contains a long.

    lang only calls these methods; kapi overrides those that its classes support. By default they raise 'type.
    """

    __slots__ = ("__weakref__", "number")
    number: int  # address-like, stable for the object's lifetime
    folded = False  # do `f/ h` and `f\ h` iterate over its rows?
    unsaved = "type"  # the error message if the value is to be serialized

    def __len__(self) -> int:
        return 1

    def reached(self, name: str) -> str:
        """How to access what a name refers to, for the error of `h.name` and of h indexed by a symbol; empty if
        unknown."""
        return ""

    def monad(self, name: str) -> Value:
        """Apply the q verb `name` to this handle, as in `neg t`, `sum t`. `first` returns the number."""
        raise QError("type")

    def dyad(self, name: str, x: Value, y: Value) -> Value:
        """Apply the q operator or verb `name` to x and y, at least one of which is this handle."""
        raise QError("type")

    def index(self, args: Sequence[Value]) -> Value:
        """`h[i;j]`, `h i`."""
        raise QError("type")

    def amend(self, args: Sequence[Value], f: Value | None, y: Value) -> Value:
        """`h[i]:y`, `h[i]+:y`, `@[h;i;f;y]`; f is the verb, a Prim, None for `:`; changes the object and
        returns the handle."""
        raise QError("type")

    def undo(self, args: Sequence[Value]) -> Callable[[], None]:
        """A function that undoes a change to its items at an index, called before the change."""
        raise QError("type")

    def same(self, other: Value) -> bool:
        """Does another handle have the same content? Used when a function is repeated until its result repeats."""
        return self is other

    def length(self) -> int:
        """The number of rows, for classes that are `folded`."""
        raise QError("type")

    def choose(self, x: Value, y: Value, z: Value) -> Value:
        """`?[x;y;z]` if one of them is this handle."""
        raise QError("type")

    def rows(self) -> list[Value]:
        r"""The items over which `f/ h` and `f\ h` iterate, for classes that are `folded`; others are one item."""
        return [self]

    def parts(self) -> list[Value] | None:
        """The values that `(a;b):h` assigns to a and b; None if each gets the handle."""
        return None

    def show(self) -> str:
        """The one item, the number, as text; the handle itself is shown as a list of it."""
        return str(self.number)


registry.HANDLE.set(Handle)
