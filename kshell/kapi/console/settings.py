"""Settings of torch and the k-api (`setting`), the build (`config`) and the version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kshell import registry
from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, is_empty, items, long_of, name_of, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import table
from kshell.kapi.base.lazy_torch import torch
from kshell.registry import Entry
from kshell.values.base.build import string, symdict
from kshell.values.base.core import NIL, NULL_J, List, Value
from kshell.values.session.context import running
from kshell.values.session.restrict import PYTHON_OFF, turn_python_off


class Setting(NamedTuple):
    """One setting: how to read it, how to set it (None if read-only), the type it accepts, a description, and an
    example's output. Settings that ktorch lacks are listed with the others
    only while they are not at their default."""

    get: Callable[[], Value]
    put: Callable[[Any], None] | None
    takes: str
    doc: str
    shown: str
    since: str = "ktorch"


def _kept(name: str, default: Value) -> tuple[Callable[[], Value], Callable[[Any], None]]:
    """A setting stored in the session."""

    def put(v: object) -> None:
        table().state[name] = v

    return lambda: table().state.get(name, default), put


def _detect_anomaly(flag: bool) -> None:
    torch.autograd.set_detect_anomaly(flag)


def _deterministic() -> int:
    return torch.get_deterministic_debug_mode()


def _set_deterministic(n: int) -> None:
    if n not in (0, 1, 2):
        raise QError(f"deterministic: use 0-turn off, 1-warn only, 2-error, given {n}")
    torch.set_deterministic_debug_mode(n)


def _assign(path: str) -> Callable[[Any], None]:
    """Set an attribute of torch.backends."""

    def put(v: object) -> None:
        *parts, last = path.split(".")
        owner = torch.backends
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, last, v)

    return put


def _python(flag: bool) -> None:
    if flag and PYTHON_OFF:
        raise QError("setting: python stays off in this process, given 1b")
    if not flag:
        turn_python_off()


def _cuda() -> bool:
    return bool(torch.cuda.is_available())


def _cudnn() -> bool:
    return bool(torch.backends.cudnn.is_available())


SETTINGS: dict[str, Setting] = {
    "mkl": Setting(
        lambda: bool(torch.backends.mkl.is_available()),
        None,
        "",
        "Built with Intel's math library.",
        "1b",
    ),
    "openmp": Setting(
        lambda: bool(torch.backends.openmp.is_available()), None, "", "Built with OpenMP.", "1b"
    ),
    "threads": Setting(
        lambda: torch.get_num_threads(),
        lambda n: torch.set_num_threads(n),
        "long",
        "Number of threads within an operation.",
        "2",
    ),
    "interopthreads": Setting(
        lambda: torch.get_num_interop_threads(),
        lambda n: torch.set_num_interop_threads(n),
        "long",
        "Number of threads for running operations in parallel.",
        "2",
    ),
    "mps": Setting(
        lambda: bool(torch.backends.mps.is_available()), None, "", "Apple's GPU is available.", "0b"
    ),
    "cuda": Setting(_cuda, None, "", "A CUDA GPU is available.", "0b"),
    "magma": Setting(lambda: bool(torch.cuda.has_magma), None, "", "Built with MAGMA.", "0b"),
    "cudnn": Setting(_cudnn, None, "", "cuDNN is available.", "0b"),
    "cudnnversion": Setting(
        lambda: torch.backends.cudnn.version() or NULL_J,
        None,
        "",
        "cuDNN's version; null if not available.",
        "0N",
    ),
    "cudadevices": Setting(
        lambda: torch.cuda.device_count(), None, "", "Number of CUDA devices.", "0"
    ),
    "benchmark": Setting(
        lambda: bool(torch.backends.cudnn.benchmark),
        _assign("cudnn.benchmark"),
        "boolean",
        "cuDNN benchmarks its algorithms and uses the fastest.",
        "0b",
    ),
    "deterministic": Setting(
        _deterministic,
        _set_deterministic,
        "long",
        "Use deterministic algorithms only: 0 off, 1 warn, 2 error.",
        "0",
    ),
    "cudnndeterministic": Setting(
        lambda: bool(torch.backends.cudnn.deterministic),
        _assign("cudnn.deterministic"),
        "boolean",
        "Use deterministic algorithms in cuDNN.",
        "0b",
    ),
    "stackframe": Setting(
        *_kept("stackframe", False),
        "boolean",
        "Errors show torch's full message and the Python call stack.",
        "0b",
    ),
    "alloptions": Setting(
        *_kept("alloptions", True),
        "boolean",
        "Definitions show all options, not only those that differ from their defaults.",
        "1b",
    ),
    "complexfirst": Setting(
        *_kept("complexfirst", True),
        "boolean",
        "Real and imaginary parts are along the first dimension instead of the last.",
        "1b",
    ),
    "python": Setting(
        lambda: not PYTHON_OFF,
        _python,
        "boolean",
        "The user's own Python runs: .p, p) lines, .p and .py files. Once switched off, it stays off in this process.",
        "1b",
        "kshell",
    ),
    "anomaly": Setting(
        lambda: bool(torch.is_anomaly_enabled()),
        _detect_anomaly,
        "boolean",
        "backward raises an error if a gradient is null, and names the operation that produced it "
        "(torch's detect_anomaly). Slow.",
        "0b",
        "torch",
    ),
}


def _register(name: str, s: Setting) -> None:
    """Register a setting for help, completion and the reference."""
    forms = (f"setting`{name}", *((f"setting(`{name};{s.takes})",) if s.put is not None else ()))
    registry.add(
        Entry(
            name,
            "setting",
            forms=forms,
            doc=f"{s.doc}\n\nq)setting`{name}\n{s.shown}",
            topic="settings",
            since=s.since,
            file=__file__,
        )
    )


for _name, _setting in SETTINGS.items():
    _register(_name, _setting)


def value(name: str) -> Value:
    """The value of a setting, for other files of the k-api (`alloptions`)."""
    return SETTINGS[name].get()


@api("setting", "setting()", "setting`name", "setting(name;value)", effect="reads1")
def setting(x: Value) -> Value:
    """Read all settings or one of them, or change one.

    q)setting`complexfirst
    1b

    q)setting`alloptions,0b
    q)setting`alloptions
    0b
    q)setting`alloptions,1b
    """
    if is_empty(x):
        values = {
            key: value.get()
            for key, value in SETTINGS.items()
            if value.since == "ktorch" or value.get() != (value.shown == "1b")
        }
        return symdict(list(values), list(values.values()))
    args = items(x)
    name = name_of(args[0])
    if name is None or len(args) > 2:
        raise QError(
            f"setting: unrecognized arg(s), expecting symbol or (symbol;value), given {kname(x)}"
        )
    entry = SETTINGS.get(name)
    if entry is None:
        raise unknown("unrecognized configuration setting: ", name, SETTINGS)
    if len(args) == 1:
        return entry.get()
    _put(name, entry, args[1])
    return NIL


def _put(name: str, s: Setting, x: Value) -> None:
    flag, n = flag_of(x), long_of(x)
    if flag is None and n is None:
        raise CallError("setting", expected="boolean or long scalar", given=kname(x))
    if s.put is None or (flag is not None) != (s.takes == "boolean"):
        if name == "deterministic" and flag is not None:
            n = 2 if flag else 0
        else:
            raise CallError(
                "setting",
                f"cannot set {'flag' if flag is not None else 'value'} for {name}",
                says=(name,),
            )
    if name in ("threads", "interopthreads") and (n is None or n < 1):
        raise QError(f"setting: {name} must be 1 or more, given {n}")
    put = s.put
    if put is not None:
        put(flag if s.takes == "boolean" else n)


def _lines() -> list[str]:
    text = torch.__config__.show() + "\n" + torch.__config__.parallel_info()
    return [line for line in text.split("\n") if line]


@api("config", "config()", "config[]", effect="none")
def config(x: Value) -> Value:
    """How torch was built, as a list of strings; config[] prints them to standard error.

    q)first config()
    "PyTorch built with:"
    """
    if not is_empty(x):
        raise QError(
            "config: expects empty argument, config[] prints to stderr, config() returns strings, given "
            f"{kname(x)}"
        )
    if x is NIL:
        running().warn("\n".join(_lines()) + "\n")
        return NIL
    return List([string(line) for line in _lines()])


@api("version", "version()", "version[]", effect="none")
def version(x: Value) -> Value:
    """torch's version as a string; version[] returns a float, for comparisons.

    q)2<version[]
    1b
    """
    if not is_empty(x):
        raise QError(
            "version: unexpected arg(s), use version() for string, version[] for number, given "
            f"{kname(x)}"
        )
    text = torch.__version__.split("+")[0]
    if x is not NIL:
        return string(text)
    parts = [int("".join(c for c in word if c.isdigit()) or 0) for word in text.split(".")[:3]]
    return round(parts[0] + parts[1] / 100 + (parts[2] if len(parts) > 2 else 0) / 10000, 4)
