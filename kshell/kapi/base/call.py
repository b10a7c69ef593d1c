"""The only gateway to torch: error texts, sections protected from interrupts, memory limits, and fault injection for
tests.

`api` registers a k-api function that runs through the gateway; `invoke` runs anything else through it (operators on
handles).
"""

from __future__ import annotations

import linecache
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from kshell import parallel, registry, torch_versions
from kshell.errors import (
    ERRORS,
    Q_FILE,
    UNSAID,
    Agreed,
    CallError,
    QError,
    as_qerror,
    first_line,
    message_of,
    of_memory,
    wsfull,
)
from kshell.kapi.base.errors import raised_here, reported, told
from kshell.kapi.base.handles import adopted, table
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.recent import RECENT
from kshell.parallel import group
from kshell.values.base.core import Value
from kshell.values.base.functions import FOREIGN
from kshell.values.session.context import running
from kshell.values.session.interrupts import PENDING, carried_out, held_section, wake, whole
from kshell.values.session.restrict import guarded

if TYPE_CHECKING:
    from torch.nn import Module

F = TypeVar("F", bound=Callable[..., Any])


# ------------------------------------------------------------------ errors

# parts of torch's messages that have a q error of their own
_LIMIT = (
    "overflow when unpacking",
    "multiplication overflow",
    "max_size()",
    "heap-allocated concrete symint",
)
# Python's messages about values of an unexpected class, which do not help the user
_CLASS = re.compile(r"^(?:'\w+' object |object of type |unsupported operand)")
# advice that torch appends to a reason
_ADVICE = re.compile(
    r"(?:\. This is typically |  \(Could this error |, but there was no fake impl ).*$"
)
# the place in a library's source, or the matrix product, that a message comes from
_PLACE = re.compile(
    r"^(?:\[\S*:\d+\]\.?\s*|\S+\.(?:cpp|cu|h):\d+: |(?:add|b|badd)?m[mv]: (?=mat1 ))"
)
# prefix of torch's failed internal assertions
_INTERNAL = re.compile(
    r'^.*INTERNAL ASSERT FAILED at "[^"]*":\d+, please report a bug to PyTorch\.\s*'
)
# torch's messages for operations without sparse support
_SPARSE = re.compile(
    r"^(?:Could not run '[\w:.]+' with arguments from the 'Sparse|Cannot access storage of Sparse)"
)
# errors that are not prefixed with the call's name
_PLAIN = (RecursionError, MemoryError, KeyboardInterrupt)


# part of a torch message, and what to do about it
_WAYS_OUT = (
    (
        "does not require grad and does not have a grad_fn",
        "make tensors that need a gradient with `grad, as in tensor(1 2e;`grad), or set gradflag(t;1b)",
    ),
    (
        "backward through the graph a second time",
        "recompute the output before each backward, or keep its graph: backward(t;`retain)",
    ),
    (
        "can be implicitly created only for scalar outputs",
        "call backward on a sum or mean, backward Sum t, or pass an output gradient, backward(t;g)",
    ),
    (
        "leaf Variable that requires grad is being used in an in-place operation",
        "change the values outside the autograd graph: nograd({[t]..};t)",
    ),
    (
        "modified by an inplace operation",
        "a tensor needed for backward has been changed since: recompute the output",
    ),
    ("must have the same dtype", "convert one of them: to(x;`float), or `float$x of q values"),
    (
        "expected all tensors to be on the same device",
        "move one of them: to(x;`cuda), or to(x;`cpu)",
    ),
    (
        "zero-dimensional tensor (at position",
        "pass the tensors as one list, followed by the dimension: cat((a;b);1)",
    ),
    (
        "and [] at entry",
        "pass the tensors as one list, followed by the dimension: stack((a;b);1)",
    ),
    (
        "found dtype long but expected",
        "torch before 2.13 takes targets of the output's type alone: to(y;`float)",
    ),
    ("only tensors of floating point", "make the values floats: 1 2e or 1 2f; 1 2 are longs"),
)


def way_out(message: str) -> str:
    """Advice about a torch error message; empty if unknown."""
    low = message.lower()
    return next((hint for part, hint in _WAYS_OUT if part.lower() in low), "")


VALUELESS = "a tensor has no values while its function is compiled"


def _of_class(exc: BaseException, message: str) -> str:
    """Text for an exception whose message is empty or just its class name, as torch's may be; of an assertion, what it
    says, which is expected."""
    if isinstance(exc, ZeroDivisionError) or message:
        return "division by zero"
    place = exc.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if isinstance(exc, AssertionError) and place is not None:
        line = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno).strip()
        asserted = line.removeprefix("assert ").replace("self.", "")
        if asserted != line:
            return f"expected {asserted}"
    return type(exc).__name__


def mapped(name: str, exc: BaseException) -> QError:
    """The q error for a foreign exception inside the k-api call `name`: `name: first line of the message`."""
    if isinstance(exc, QError):
        return exc
    if isinstance(exc, _PLAIN):
        return as_qerror(exc)
    message = first_line(message_of(exc))
    if getattr(exc, "alike", False):
        return Agreed(message)
    low = message.lower()
    if isinstance(exc, OSError) or of_memory(low):
        return as_qerror(exc if isinstance(exc, OSError) else RuntimeError(message_of(exc)))
    if isinstance(exc, OverflowError) or any(part in low for part in _LIMIT):
        return QError("limit")
    if not raised_here(exc.__traceback__):
        if isinstance(exc, AttributeError | TypeError) and _CLASS.match(message):
            return CallError(name, ERRORS["type"][0], expected=UNSAID)
        message = _plain(message)
    waited = "timed out waiting" in low or "by peer" in low
    if waited and group.joined() and not getattr(exc, "looked", False):
        message = parallel.meet.awaited(message) or message
    if not message or message == "ZeroDivisionError":
        message = _of_class(exc, message)
    layer = exc.__dict__.get("layer")
    reason = first_line(message.removeprefix(name + ":").lstrip(), 255 - len(name) - 2)
    return reported(
        name,
        exc,
        reason + (f" (in `{layer})" if layer else ""),
        way_out(message_of(exc)),
        _frames(exc),
    )


def _plain(message: str) -> str:
    """A torch message without parts meant for torch's developers."""
    if _INTERNAL.match(message):
        message = _INTERNAL.sub("", message) or "an internal check in torch failed"
    if _SPARSE.match(message):
        message = "not implemented for sparse tensors"
    if ".numpy() is not supported for tensor subclasses" in message:
        message = VALUELESS
    message = _ADVICE.sub("", _PLACE.sub("", message))
    return message


def _frames(exc: BaseException) -> str:
    """With `stackframe set, the other lines of a message, and the calls outside kshell that it passed through, last
    first; else empty."""
    if not table().state.get("stackframe"):
        return ""
    import traceback  # needed only for errors

    places = [
        f
        for f in traceback.extract_tb(exc.__traceback__)
        if not f.filename.startswith(registry.FOLDER)
    ]
    return "".join(
        "\n" + line
        for line in [
            *str(exc).strip().split("\n")[1:],
            *(
                f"frame #{i}: {f.name} ({f.filename}:{f.lineno})"
                for i, f in enumerate(reversed(places))
            ),
        ]
    )


def with_all(call: str, *args: Value) -> AbstractContextManager[None]:
    """The block is a collective call with these arguments: if one process rejects it before meeting the others, all
    do."""
    if not group.joined():
        return nullcontext()
    return parallel.meet.together(call, lambda exc: _to_tell(call, exc, args))


def _to_tell(call: str, exc: BaseException, args: Sequence[Value]) -> str:
    """The text of an error for the other processes; empty for errors that are not shared."""
    error = mapped(call, exc)
    if error.text == "stop":
        return ""
    return error.text if not args or _of_q(error) else _told(call, error, *args).text


def told_by(call: str) -> Callable[[BaseException], str]:
    """A function that formats the error that ends a call, for the other processes."""
    return lambda exc: _to_tell(call, exc, ())


def known_to_all(
    call: str, exc: Exception, m: Module | None, grad: bool, *args: Value
) -> Exception:
    """The error to raise when a computation with a module fails, with or without gradients. If processes compute
    together (ddp, fsdp) and only this one failed, the others are notified and raise the error at the next collective
    call."""
    if m is None:
        return exc
    if not isinstance(exc, QError):
        exc.__dict__["layer"] = _layer(exc, m)
    if not group.joined():
        return exc
    return (
        parallel.meet.tell(call, exc, _to_tell(call, exc, args))
        if parallel.around.together(m, grad)
        else exc
    )


def _layer(exc: Exception, m: Module) -> str:
    """The dotted name of the module inside m in which an exception was raised; empty for m itself."""
    found, tb = None, exc.__traceback__
    while tb is not None:
        own = tb.tb_frame.f_locals.get("self")
        found = own if isinstance(own, torch.nn.Module) else found
        tb = tb.tb_next
    return next((name for name, submodule in m.named_modules() if submodule is found), "")


def run_backward(call: str, tensors: Sequence[Any], run: Callable[[], Any]) -> None:
    """run(), a backward pass. If the module whose outputs are differentiated belongs to all processes, a failure before
    its gradients are reached is reported to the others."""
    if RECENT.watchers and len(tensors) == 1:
        RECENT.note(None, tensors)
    if not group.joined():
        run()
        return
    parallel.calculations.backward(tensors, run, told_by(call))


# a test probe: called with the name of every call through the gateway, may raise
PROBE: list[Callable[[str], None] | None] = [None]


def invoke(name: str, fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """fn(*args) through the gateway: foreign exceptions become q errors that start with `name`.

    Interrupts wait until the call is over, so torch is never left in an inconsistent state (such as a mode not
    restored).
    """
    try:
        if PROBE[0] is not None:
            PROBE[0](name)
        out = fn(*args, **options)
        if PENDING:
            wake(carried_out(name))
        return out
    except QError:
        if PENDING:
            wake()
        raise
    except Exception as exc:
        error = mapped(name, exc)
    if PENDING:
        wake()
    raise error


whole(invoke.__code__)


def _door1(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Value) -> Value:  # inlined copy of `invoke`, because every small call runs it
        try:
            if PROBE[0] is not None:
                PROBE[0](name)
            if FOREIGN[0]:
                x = adopted(x)
            out = fn(x)
            if PENDING:
                wake(carried_out(name))
            return out
        except QError as exc:
            if PENDING:
                wake()
            if _of_q(exc):
                raise
            # a frame with this variable would keep the call's handles alive
            exc.__traceback__ = None
            error = _told(name, exc, x)
        except Exception as exc:
            error = _told(name, mapped(name, exc), x)
        if PENDING:
            wake()
        raise error

    return run


def _of_q(exc: QError) -> bool:
    """Was the error raised by q code that the call ran?"""
    level = exc.__traceback__
    while level is not None:
        if level.tb_frame.f_code.co_filename == Q_FILE:
            return True
        level = level.tb_next
    return False


def _told(name: str, exc: QError, *args: Value) -> QError:
    """Complete an error of a call with the call's name, what was given and what was expected."""
    return exc if isinstance(exc, Agreed) else told(name, exc, args)


def _door(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Value) -> Value:
        try:
            out = invoke(name, fn, *(map(adopted, args) if FOREIGN[0] else args))
            if PENDING:
                wake(carried_out(name))
            return out
        except QError as exc:
            if PENDING:
                wake()
            if _of_q(exc):
                raise
            exc.__traceback__ = None  # see above
            error = _told(name, exc, *args)
        if PENDING:
            wake()
        raise error

    return run


def _from(first_torch: str, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, which an older torch than the first that has it refuses."""

    def run(*args: Value) -> Value:
        torch_versions.refuse(name, first_torch)
        return fn(*args)

    return run


def api(
    name: str,
    *forms: str,
    arity: int | tuple[int, ...] = 1,
    held: bool = False,
    effect: str | None = None,
    first_torch: str = "",
    **fields: Any,
) -> Callable[[F], F]:
    """Register a k-api function behind the gateway: fn(x), where x is the argument list from q (`()`, `::`, a value, a
    list).

    Interrupts wait until the call ends. `effect` declares the side effects of the call, as in the registry: "none" if
    it only computes. A file can declare it once for all its functions, as EFFECT; without a declaration the function
    counts as one that changes things, which `reval` rejects. `held` marks calls that must not be interrupted at all,
    such as a step or an edit of shared objects: the whole call is then protected, whoever makes it. `first_torch` is
    the first version of torch that has what it needs. The docstring is the help text. The decorated function itself is
    returned unchanged, for use from Python.
    """

    def register(fn: F) -> F:
        does = effect or fn.__globals__.get("EFFECT")
        note = carried_out(name) if does == "changes" else ""
        inner = guarded(name, does, held_section(fn, note) if held else fn)
        inner = _from(first_torch, name, inner) if first_torch else inner
        run: Any = _door1(name, inner) if arity == 1 else _door(name, inner)
        run.__code__ = run.__code__.replace(
            co_filename=fn.__code__.co_filename,
            co_firstlineno=fn.__code__.co_firstlineno,
            co_name=fn.__name__,
        )
        run.__doc__, run.__module__, run.__wrapped__ = fn.__doc__, fn.__module__, fn
        whole(run.__code__)
        registry.api(
            name, *forms, arity=arity, asks=True, effect=does, first_torch=first_torch, **fields
        )(run)
        return fn

    return register


# ------------------------------------------------------------------ memory


def reserve(shape: Iterable[int], itemsize: int) -> None:
    """Check a size before torch allocates it: 'limit if not addressable, 'wsfull if above the limit from `-w`."""
    n = math.prod(int(k) for k in shape) * itemsize
    if n >= 1 << 62:
        raise QError("limit")
    try:
        megabytes = getattr(running().settings, "w", 0)
    except LookupError:  # a Python program looks at a tensor of a file
        return
    if isinstance(megabytes, int) and megabytes and n > megabytes << 20:
        raise wsfull(n)
