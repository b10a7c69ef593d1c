"""Snapshots: save a whole session, or some of its variables, to one file, and restore it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from kshell import __version__
from kshell.errors import SAID, CallError, QError, QExit, first_line
from kshell.kapi.base.args import items, name_of, names_of
from kshell.kapi.base.call import api, mapped
from kshell.kapi.base.convert import dtype_name, dtype_named, kname
from kshell.kapi.base.errors import Foreign
from kshell.kapi.base.handles import table
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.kapi.base.paths import path_of
from kshell.kapi.base.random_state import checked, own_state, states
from kshell.kapi.checkpoint.from_records import Loader
from kshell.kapi.checkpoint.to_records import Saver
from kshell.store.archive import Archive, Member, write
from kshell.store.atomic import sweep
from kshell.store.costs import function_cost
from kshell.store.snapshot import Decoder, Encoder, Form, holds_python, is_value
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Value, Vec, sym_vec
from kshell.values.base.functions import Handle
from kshell.values.change.names import NEW_VIEW, is_helper
from kshell.values.session.context import running

# session settings that a snapshot restores; threads, memory and ports belong to the process
# minimum and maximum
_SETTINGS = {
    "P": (0, 17),
    "c": (0, 1 << 16),
    "C": (0, 1 << 16),
    "S": (-1 << 63, 1 << 63),
    "z": (0, 1),
    "W": (0, 6),
    "o": (-1 << 16, 1 << 16),
    "e": (0, 2),
    "T": (0, 1 << 31),
    "g": (0, 1),
}
_STATE = (bool, int, float, str)  # types of the k-api's settings
_MOST_SPACES = 100  # nested namespaces


def _asked(x: Value, call: str) -> tuple[str, list[str] | None]:
    """The path, and the names if given."""
    arguments = items(x)
    if not arguments or len(arguments) > 2:
        raise CallError(call, expecting="a file symbol, or (file;names)", given=kname(x))
    name = name_of(arguments[1]) if x.__class__ is Vec and len(arguments) == 2 else None
    if len(arguments) == 1:
        names = None
    elif name is not None and name[:1] != ":":
        names = [name]
    else:
        names = names_of(arguments[1])
        if names is None:
            raise CallError(call, expected="names", given=kname(arguments[1]))
    return path_of(arguments[0], call), names


# ------------------------------------------------------------------ saving


def _full(space: str, name: str) -> str:
    return name if space == "." else f"{space}.{name}"


def _variables(names: list[str] | None) -> dict[str, dict[str, Value]]:
    """The variables of each namespace: all, or those with these names; a namespace's name stands for everything in
    it."""
    namespaces = running().names
    by_space = {
        namespace: {key: value for key, value in variables.items() if not is_helper(key)}
        for namespace, variables in namespaces.spaces.items()
    }
    if names is None:
        return by_space
    chosen: dict[str, dict[str, Value]] = {}
    for name in names:
        space, variable = namespaces.split(name)
        if namespaces.view(name) is not None:
            continue
        if variable in by_space.get(space, {}):
            chosen.setdefault(space, {})[variable] = by_space[space][variable]
        elif name in by_space and name != ".":
            nested = {
                key: value
                for key, value in by_space.items()
                if key == name or key.startswith(name + ".")
            }
            for namespace, variables in nested.items():
                chosen.setdefault(namespace, {}).update(variables)
        else:
            raise QError(f"snapshot: there is no {name}")
    return chosen


def _session() -> dict[str, Any]:
    """The state of the session other than its variables."""
    session = running()
    settings = {setting: getattr(session.settings, setting) for setting in _SETTINGS}
    state: dict[str, Any] = {
        "settings": settings,
        "current": session.names.current,
        "timer": session.timer.interval,
        "bare": sorted(session.names.bare),
        "kapi": {key: value for key, value in table().state.items() if value.__class__ in _STATE},
    }
    if loaded():
        state["dtype"] = dtype_name(torch.get_default_dtype())
        state["deterministic"] = torch.get_deterministic_debug_mode()
    return state


@api(
    "snapshot",
    "snapshot`:file.ks",
    "snapshot(`:file.ks;names)",
    held=True,
    since="kshell",
    effect="changes",
)
def snapshot(x: Value) -> Value:
    """Save the session, or the variables with the given names, to a file; returns the file.

    This includes data, functions, views, and handles with everything they own and share; for a whole session also
    settings and random generator states. The file is written separately and replaces the old one when it is complete.
    `resume` restores it.

    q)a:til 3
    q)w:tensor(1 2e;`grad)
    q)snapshot`:docs.ks
    `:docs.ks
    q)a:0
    q)resume(`:docs.ks;`a)
    ,`a
    q)a
    0 1 2
    q)hdel`:docs.ks
    `:docs.ks
    """
    path, names = _asked(x, "snapshot")
    session: Any = running()
    if session.autosave is not None:  # an older state must not replace this one
        session.autosave.rest()
    captured = capture(names)
    for note in captured.notes:
        session.warn(f"snapshot: not saved: {note}\n")
    if captured.left:
        session.warn(f"snapshot: {left_out(captured.left)}\n")
    write(path, captured.manifest, captured.members, captured.needs)
    target = items(x)[0]
    return target


class Captured(NamedTuple):
    """The content of a snapshot: its manifest and arrays, the memory that the reader needs besides the arrays, and
    notes on everything that is not saved."""

    manifest: dict[str, Any]
    members: list[Member]
    needs: int
    notes: list[str]
    left: list[str]  # the variables with objects of Python, which are left out


def left_out(names: Sequence[str]) -> str:
    """The line about variables that are not in a file."""
    return f"left out, since Python's objects are in them: {' '.join(names)}"


def capture(names: list[str] | None, call: str = "snapshot", copy: bool = False) -> Captured:
    """Capture the content of a snapshot. With `copy`, the arrays are copied, so that the session can continue before
    they are written."""
    session = running()
    spaces = _variables(names)
    saver: list[Any] = []
    current = [""]  # the variable

    def handle(h: Handle) -> int:
        if not saver:
            saver.append(Saver(encoder))
        saver[0].variable = current[0]
        return saver[0].handle(h)

    encoder = Encoder(handle, copy)
    encoded: dict[str, Any] = {}
    left: list[str] = []
    for space, variables in spaces.items():
        encoded[space] = {}
        for name, value in variables.items():
            current[0] = _full(space, name)
            if current[0] not in (names or ()) and holds_python(value):
                left.append(current[0])
                continue
            encoded[space][name] = _encoded(encoder, call, current[0], value)
    views = {
        name: value.text
        for name in list(session.names.views)
        if (names is None or name in names) and (value := session.names.view(name)) is not None
    }
    manifest: dict[str, Any] = {"kshell": __version__, "spaces": encoded, "views": views}
    if left:
        manifest["left"] = left
    if names is None:
        manifest["session"] = _session()
        manifest["random"] = encoder.value(states() if loaded() else _own_state())
    if saver:
        manifest["torch"] = str(torch.__version__)
        manifest["objects"] = _finished(saver[0], call)
    encoder.handle = None  # breaks a cycle: it refers to the saver, which refers to all handles
    needs = encoder.needs + sum(map(function_cost, views.values()))
    notes = list(dict.fromkeys(saver[0].notes)) if saver else []
    return Captured(manifest, encoder.members, needs, notes, left)


def _own_state() -> Dict:
    """The state of q's own generator."""
    return symdict(["q"], [own_state()])


def _finished(saver: Saver, call: str) -> Any:
    """The records of all objects; an error names the variable."""
    try:
        return saver.finish()
    except QError as e:
        text = e.text
    raise CallError(call, f"{text}")


def _encoded(encoder: Encoder, call: str, name: str, x: Value) -> Any:
    """The encoded value of a variable; an error names the variable."""
    try:
        return encoder.value(x)
    except Exception as e:  # reading attributes of a user's class may raise anything
        error = mapped(call, e)
    if error.text.startswith(("wsfull", "limit", "stop", "stack")):
        raise error
    error_class = Foreign if isinstance(error, Foreign) else CallError
    said = error.given if isinstance(error, CallError) else SAID
    raise error_class(call, f"{name}: {error.text.removeprefix(f'{call}: ')}", given=said)


# ------------------------------------------------------------------ bringing back

_WRONG = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    RuntimeError,
    RecursionError,
    AssertionError,
    StopIteration,
)


class _Plan:
    """Everything in a file, created and checked; the session does not change before `apply`."""

    def __init__(self, archive: Archive, names: list[str] | None) -> None:
        self.manifest = archive.manifest
        session = running()
        session.names.load_builtins()  # the values may include k-api functions
        self.archive, self.names, self.wanted = archive, session.names, names
        self.loader: Any = None

    def make(self) -> None:
        """Create everything. Raises ValueError and the like if something is wrong."""
        manifest = self.manifest
        if "objects" not in manifest:
            self._make(Decoder(self.archive))
            return
        self.loader = Loader(manifest["objects"], self.archive)
        with self.loader.bounds():
            self._make(self.loader.decoder)

    def close(self) -> None:
        """Release what was created, so that nothing of it remains after an error."""
        self.spaces: dict[str, dict[str, Value]] = {}
        self.random: Any = None
        if self.loader is not None:
            self.loader.close()

    def _make(self, decoder: Decoder) -> None:
        manifest, names = self.manifest, self.wanted
        self.spaces = {
            space: {name: self._value(decoder, value) for name, value in variables.items()}
            for space, variables in self._chosen(manifest["spaces"]).items()
        }
        self.archive.room.need(sum(function_cost(value) for value in manifest["views"].values()))
        self.views = [
            NEW_VIEW.fn(str(name), text)
            for name, text in manifest["views"].items()
            if names is None or name in names
        ]
        if self.loader:
            self.loader.finish()
        self.session = manifest.get("session") if names is None else None
        self.random = (
            checked(decoder.value(manifest["random"]))
            if names is None and "random" in manifest
            else None
        )
        if self.session is not None:
            self._check_session(self.session)

    def _value(self, decoder: Decoder, form: Form) -> Value:
        x = decoder.value(form)
        if not is_value(x):
            raise ValueError("a variable without a value")
        return x

    def _chosen(self, spaces: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The requested variables, by namespace."""
        for space, variables in spaces.items():
            self._check_space(space)
            if any(not name or is_helper(name) for name in variables):
                raise ValueError("a wrong name")
        if self.wanted is None:
            return spaces
        chosen: dict[str, dict[str, Any]] = {}
        for name in self.wanted:
            space, variable = self.names.split(name)
            if variable in spaces.get(space, {}):
                chosen.setdefault(space, {})[variable] = spaces[space][variable]
            elif name != "." and name in spaces:
                for namespace, variables in spaces.items():
                    if namespace == name or namespace.startswith(name + "."):
                        chosen.setdefault(namespace, {}).update(variables)
            elif name not in self.manifest["views"]:
                raise QError(f"resume: the file has no {name}")
        return chosen

    def _check_space(self, space: str) -> None:
        if space[:1] != "." or space.count(".") > _MOST_SPACES or len(space) > 1 << 16:
            raise ValueError("a wrong namespace")

    def _check_session(self, s: dict[str, Any]) -> None:
        if set(s["settings"]) != set(_SETTINGS):
            raise ValueError("settings are missing")
        for key, (least, most) in _SETTINGS.items():
            setting = s["settings"][key]
            is_pair = getattr(running().settings, key).__class__ is tuple
            if is_pair and (setting.__class__ is not list or len(setting) != 2):
                raise ValueError(f"setting {key} is wrong")
            if any(
                number.__class__ is not int or not least <= number <= most
                for number in (setting if is_pair else [setting])
            ) and not (key == "o" and setting is None):
                raise ValueError(f"setting {key} is wrong")
        self._check_space(s["current"])
        if (
            s["timer"].__class__ is not int
            or not 0 <= s["timer"] < 1 << 31
            or any(name.__class__ is not str for name in s["bare"])
            or any(
                value.__class__ not in _STATE or key.__class__ is not str
                for key, value in s["kapi"].items()
            )
        ):
            raise ValueError("settings are wrong")
        if "dtype" in s and (
            dtype_named(s["dtype"]) is None
            or not dtype_named(s["dtype"]).is_floating_point
            or s["deterministic"] not in (0, 1, 2)
        ):
            raise ValueError("settings are wrong")

    def apply(self) -> list[str]:
        """Install everything; returns the names that were set. If something cannot be installed, everything stays
        unchanged."""
        names = self.names
        names.allow(".", "")
        for space, variables in self.spaces.items():
            for name in variables:
                names.allow(space, name)
        backup = {space: dict(variables) for space, variables in names.spaces.items()}
        views, bare, current = dict(names.views), set(names.bare), names.current
        try:
            return self._apply()
        except BaseException:
            for namespace in list(names.spaces):
                if namespace not in backup:
                    del names.spaces[namespace]
                else:
                    names.spaces[namespace].clear()
                    names.spaces[namespace].update(backup[namespace])
            for collection, previous in ((names.views, views), (names.bare, bare)):
                collection.clear()
                collection.update(previous)
            names.current = current
            raise
        finally:
            names.generation += 1

    def _apply(self) -> list[str]:
        names = self.names
        assigned = []
        for space, variables in self.spaces.items():
            namespace = names.space(space)
            for name, x in variables.items():
                namespace[name] = x
                full_name = _full(space, name)
                assigned.append(full_name)
                listener = names.listeners.get(f".{full_name}" if space == "." else full_name)
                if listener is not None:
                    listener(x)
        for define in self.views:
            define()
        if self.session is not None:
            self._set_session(self.session)
        if self.random is not None:  # last, because after an error names are restored
            self.random()
        return sorted(
            [
                *assigned,
                *(
                    view
                    for view in self.manifest["views"]
                    if self.wanted is None or view in self.wanted
                ),
            ]
        )

    def _set_session(self, s: dict[str, Any]) -> None:
        session = running()
        session.timer.set(s["timer"])
        for key, value in s["settings"].items():
            setattr(session.settings, key, tuple(value) if isinstance(value, list) else value)
        names = self.names
        names.bare.update(name for name in s["bare"] if name in names.spaces)
        names.space(s["current"])
        names.current = s["current"]
        table().state.update(s["kapi"])
        if "dtype" in s:
            torch.set_default_dtype(dtype_named(s["dtype"]))
            torch.set_deterministic_debug_mode(int(s["deterministic"]))


def _tell(plan: _Plan) -> None:
    """Lines about what is not as it was saved."""
    changed = plan.loader.changed if plan.loader is not None else {}
    for file in dict.fromkeys(changed.values()):
        named = [name for name, other in changed.items() if other == file]
        were = "were" if len(named) > 1 else "was"
        running().warn(f"resume: {file} is not as it was when {' '.join(named)} {were} saved\n")
    for text in dict.fromkeys(plan.loader.absent if plan.loader is not None else ()):
        running().warn(f"resume: {text}\n")
    left = plan.manifest.get("left")
    if plan.wanted is None and isinstance(left, list) and left:
        text = first_line(" ".join(map(str, left)))
        running().warn(f"resume: not in the file, since Python's objects were in them: {text}\n")


def _resume(path: str, names: list[str] | None) -> Sequence[str]:
    sweep(os.path.realpath(path))  # the session may have been killed while it saved
    with Archive(path, "resume") as archive:
        plan = _Plan(archive, names)
        # discard the random numbers drawn by new modules
        fork = loaded() and "objects" in archive.manifest
        try:
            with torch.random.fork_rng(devices=[]) if fork else nullcontext():
                plan.make()
            assigned = plan.apply()
            _tell(plan)
            if plan.loader is not None and plan.loader.moved:
                running().warn(
                    f"resume: no {', '.join(sorted(plan.loader.moved))} here: put on the CPU\n"
                )
            return assigned
        except QError as e:
            problem = (
                e
                if e.text.startswith(("resume:", "wsfull", "noupdate", "access"))
                else archive.damaged(e)
            )
        except QExit:
            problem = archive.damaged(ValueError())
        except _WRONG as e:
            problem = archive.damaged(e)
        finally:
            plan.close()
    raise problem


@api(
    "resume",
    "resume`:file.ks",
    "resume(`:file.ks;names)",
    held=True,
    since="kshell",
    effect="changes",
)
def resume(x: Value) -> Value:
    """Restore a session saved by `snapshot`, or the variables with the given names from it; returns the names.

    Everything is read, checked and created before anything changes; on an error, nothing changes. Variables that are
    not in the file stay as they are. Data from a missing GPU is put on the CPU.

    q)f:{x+1}
    q)snapshot(`:docs.ks;`f)
    `:docs.ks
    q)f:0
    q)resume`:docs.ks
    ,`f
    q)f 1
    2
    q)hdel`:docs.ks
    `:docs.ks
    """
    path, names = _asked(x, "resume")
    return sym_vec(list(_resume(path, names)))
