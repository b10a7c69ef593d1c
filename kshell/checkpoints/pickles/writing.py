"""Writing pickles: the values and nodes that pickles.py reads, as operations that any of Python's and PyTorch's readers
take. In protocol 2, where the values allow it, also those of `torch.load(weights_only=True)`.
"""

from __future__ import annotations

import struct
from _compat_pickle import REVERSE_IMPORT_MAPPING, REVERSE_NAME_MAPPING
from collections.abc import Callable, Sequence
from typing import Any

from kshell.checkpoints.pickles.machine import Global, Node
from kshell.errors import QError

_BATCH = 1000  # items of a list or dictionary that are added at a time, as Python does


def named(known: str, protocol: int = 2) -> Global:
    """The name of a class or function, for a pickle of a protocol."""
    module, name = known.rsplit(".", 1)
    if protocol < 3:
        module, name = REVERSE_NAME_MAPPING.get(
            (module, name), (REVERSE_IMPORT_MAPPING.get(module, module), name)
        )
    return Global(module, name, protocol)


def call(known: str, *args: Any, protocol: int = 2) -> Node:
    """A call of a function, or the creation of an object, by its name."""
    return Node("call", named(known, protocol), args)


class Pickler:
    """Writes values. `kept(node)` is the id to write for something that is kept outside of the pickle."""

    def __init__(self, protocol: int, kept: Callable[[Node], Any]) -> None:
        self.protocol, self.kept = max(protocol, 2), kept
        self._out = bytearray((0x80, self.protocol))
        self._memo: dict[Any, int] = {}  # by identity, texts and names by themselves
        self._alive: list[Any] = []  # what was made here, while its identity is in the memo
        # how often the writing of an object's arguments was begun, by its identity
        self._begun: dict[int, int] = {}

    def bytes_of(self, x: Any) -> bytes:
        """The pickle of a value."""
        try:
            self._save(x)
        except RecursionError:
            raise QError("ckpt: what is to be written is nested too deep") from None
        return bytes(self._out) + b"."

    # ------------------------------------------------------------ values

    def _save(self, x: Any) -> None:
        write = _WRITERS.get(x.__class__)
        if write is None:
            raise QError(f"ckpt: a {type(x).__name__} cannot be written")
        write(self, x)

    def _is_known(self, x: Any) -> bool:
        """Write a reference to a value that was written before, if it was."""
        index = self._memo.get(_key(x))
        if index is None:
            return False
        self._out += bytes((0x68, index)) if index < 256 else b"j" + struct.pack("<I", index)
        return True

    def _remember(self, x: Any) -> None:
        index = self._memo[_key(x)] = len(self._memo)
        self._alive.append(x)
        self._out += bytes((0x71, index)) if index < 256 else b"r" + struct.pack("<I", index)

    def _none(self, x: None) -> None:
        self._out += b"N"

    def _bool(self, x: bool) -> None:
        self._out += b"\x88" if x else b"\x89"

    def _int(self, x: int) -> None:
        if 0 <= x < 256:
            self._out += bytes((0x4B, x))
        elif 0 <= x < 1 << 16:
            self._out += b"M" + struct.pack("<H", x)
        elif -(1 << 31) <= x < 1 << 31:
            self._out += b"J" + struct.pack("<i", x)
        else:
            data = x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)
            size = len(data)
            self._out += bytes((0x8A, size)) if size < 256 else b"\x8b" + struct.pack("<i", size)
            self._out += data

    def _float(self, x: float) -> None:
        self._out += b"G" + struct.pack(">d", x)

    def _complex(self, x: complex) -> None:
        self._save(call("builtins.complex", x.real, x.imag, protocol=self.protocol))

    def _str(self, x: str) -> None:
        if not self._is_known(x):
            data = x.encode("utf-8", "surrogatepass")
            self._out += b"X" + struct.pack("<I", len(data)) + data
            self._remember(x)

    def _bytes(self, x: bytes) -> None:
        if self._is_known(x):
            return
        if self.protocol < 3:
            self._node(call("_codecs.encode", x.decode("latin-1"), "latin1"))
        else:
            size = len(x)
            self._out += bytes((0x43, size)) if size < 256 else b"B" + struct.pack("<I", size)
            self._out += x
        self._remember(x)

    def _bytearray(self, x: bytearray) -> None:
        if not self._is_known(x):
            self._node(call("builtins.bytearray", bytes(x), protocol=self.protocol))
            self._remember(x)

    def _set(self, x: set[Any] | frozenset[Any]) -> None:
        if self._is_known(x):
            return
        known = "builtins.set" if x.__class__ is set else "builtins.frozenset"
        self._save(named(known, self.protocol))
        self._save((list(x),))
        self._out += b"R"
        if _key(x) in self._memo:  # it is part of one of its items
            self._out += b"0"
            self._is_known(x)
        else:
            self._remember(x)

    def _tuple(self, x: tuple[Any, ...]) -> None:
        if not x:
            self._out += b")"
            return
        if self._is_known(x):
            return
        if len(x) > 3:
            self._out += b"("
        for item in x:
            self._save(item)
        if _key(x) in self._memo:  # it is part of an item: what was written for it is dropped
            self._out += b"1" if len(x) > 3 else b"0" * len(x)
            self._is_known(x)
            return
        self._out += b"t" if len(x) > 3 else bytes((0x84 + len(x),))
        self._remember(x)

    def _list(self, x: list[Any]) -> None:
        if not self._is_known(x):
            self._out += b"]"
            self._remember(x)
            self._add_items(x)

    def _add_items(self, x: Sequence[Any]) -> None:
        for start in range(0, len(x), _BATCH):
            batch = x[start : start + _BATCH]
            self._out += b"(" if len(batch) > 1 else b""
            for item in batch:
                self._save(item)
            self._out += b"e" if len(batch) > 1 else b"a"

    def _dict(self, x: dict[Any, Any]) -> None:
        if not self._is_known(x):
            self._out += b"}"
            self._remember(x)
            self._add_pairs(list(x.items()))

    def _add_pairs(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        for start in range(0, len(pairs), _BATCH):
            batch = pairs[start : start + _BATCH]
            self._out += b"(" if len(batch) > 1 else b""
            for key, value in batch:
                self._save(key)
                self._save(value)
            self._out += b"u" if len(batch) > 1 else b"s"

    # ------------------------------------------------------------ names and nodes

    def _global(self, x: Global) -> None:
        if not self._is_known(x):
            self._out += b"c" + x.module.encode() + b"\n" + x.name.encode() + b"\n"
            self._remember(x)

    def _node(self, x: Node) -> None:
        if self._is_known(x):
            return
        if x.how == "object" and x.has_source:
            self._save(x.args[1])  # a zip has the class alone, whose name says what to import
            return
        if x.how == "object":
            self._save(self.kept(x))
            self._out += b"Q"
            return  # pickles keep no such object in their memo
        if x.how == "extension":
            self._out += b"\x84" + struct.pack("<i", x.args)
        elif x.how == "instance":
            self._out += b"("
            for part in (x.callee, *x.args):
                self._save(part)
            self._out += b"o"
        else:
            callee, args = x.callee, x.args
            begun = self._begun[id(x)] = self._begun.get(id(x), 0) + 1
            if begun == 2:  # once more, and it is made of what the memo has by then
                callee, args = _callable(callee), _fresh(args)
            self._save(callee)
            self._save(args)
            if x.kwargs is not None:
                self._save(x.kwargs)
            self._out += b"R" if x.how == "call" else b"\x81" if x.kwargs is None else b"\x92"
        if _key(x) in self._memo:  # it is part of its own arguments
            self._out += b"0"
            self._is_known(x)
            return
        self._remember(x)
        for kind, added in x.steps:
            if kind == "items":
                self._add_items(added)
            elif kind == "pairs":
                self._add_pairs(added)
            elif kind == "effect":
                self._save(added.callee)
                self._save(added.args)
                self._out += b"R0"
            else:
                self._save(added)
                self._out += b"b"


def _fresh(args: Any) -> Any:
    """What an object is made of, in containers of their own. An object that is in one of its own arguments is made
    before the container with these is filled, so that it cannot be made of that one."""
    if args.__class__ is not tuple:
        return args
    return tuple(part.copy() if part.__class__ in (list, dict, set) else part for part in args)


def _callable(callee: Any) -> Any:
    """A function, as it is called while its own state is written: a partial one has to be made anew, since it cannot be
    called before it has its state."""
    if callee.__class__ is not Node or getattr(callee.callee, "name", "") != "partial":
        return callee
    made = Node(callee.how, callee.callee, callee.args, callee.kwargs)
    made.steps = callee.steps
    return made


def _key(x: Any) -> Any:
    """What stands for a value in the memo."""
    if x.__class__ is str:
        return x
    return (x.module, x.name) if x.__class__ is Global else id(x)


_WRITERS: dict[type, Callable[[Pickler, Any], None]] = {
    type(None): Pickler._none,
    bool: Pickler._bool,
    int: Pickler._int,
    float: Pickler._float,
    complex: Pickler._complex,
    str: Pickler._str,
    bytes: Pickler._bytes,
    bytearray: Pickler._bytearray,
    set: Pickler._set,
    frozenset: Pickler._set,
    tuple: Pickler._tuple,
    list: Pickler._list,
    dict: Pickler._dict,
    Global: Pickler._global,
    Node: Pickler._node,
}
