"""Recreating torch objects from the records of a snapshot (kapi/checkpoint/to_records.py)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kshell import nn
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import pairs
from kshell.kapi.base.convert import dtype_named
from kshell.kapi.base.device_options import is_present
from kshell.kapi.base.handles import (
    GONE,
    DictHandle,
    KHandle,
    LossHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    RuleHandle,
    SchedulerHandle,
    TensorHandle,
    VectorHandle,
    lend,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import from_record
from kshell.kapi.checkpoint.to_records import KINDS, Record, item_cost, needs
from kshell.kapi.loss import losses
from kshell.kapi.module.builders import build, entry_of
from kshell.kapi.module.describe import REPLACED, is_container, set_name, type_name
from kshell.kapi.optim import scheduler_api, wraps
from kshell.kapi.optim.optimizer import create, edit_group, group_values
from kshell.kapi.optim.optimizer import entry_of as optimizer_of
from kshell.kapi.tensor.batch_view import _Part, _parts
from kshell.kapi.tensor.storages import fresh, view
from kshell.kapi.train.model import Data, Model
from kshell.store.archive import Archive
from kshell.store.snapshot import Decoder
from kshell.values.base.core import Dict, Value

_HANDLES: dict[str, type[KHandle]] = {
    c.kind: c
    for c in (
        TensorHandle,
        VectorHandle,
        DictHandle,
        ModuleHandle,
        LossHandle,
        OptimizerHandle,
        ModelHandle,
        SchedulerHandle,
        RuleHandle,
    )
}

_ROOM = 16 << 20  # bytes that a module may have beyond those in the file

_FILLS = ("uniform_", "normal_", "kaiming_uniform_", "kaiming_normal_", "trunc_normal_")


def _unfilled() -> Any:
    """While a module is created, do not initialize its parameters: they are replaced by the file's, so their memory is
    never touched."""

    class Unfilled(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, fn: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = kwargs or {}
            if getattr(fn, "__name__", "") in _FILLS:
                t = args[0] if args else given.get("tensor")
                if isinstance(t, torch.nn.Parameter):
                    return t
            return fn(*args, **given)

    return Unfilled()


def _known(kind: str, rec: Record, find: Callable[[str], Any]) -> Any:
    """The entry for a record's type. Even an intact file may contain types of a class that is not registered here."""
    try:
        return find(rec["type"])
    except QError:
        if rec.get("class", "torch.").startswith(("torch.", "kshell.")):
            raise
    name = str(rec["class"]).rpartition(".")[2]
    raise QError(
        f"resume: there is no {kind} type `{rec['type']} here, of class {name}; first load "
        "the file that registers it, with \\l"
    )


class Loader:
    """Makes objects from records on demand; `finish` completes what depends on other objects."""

    def __init__(self, tables: dict[str, list[Record]], archive: Archive) -> None:
        if set(tables) != set(KINDS):
            raise ValueError("records are missing")
        archive.room.need(needs(tables))
        self.tables, self.archive = tables, archive
        self.decoder = Decoder(archive, self.handle)
        self._made: dict[tuple[str, int], Any] = {}
        self._opening: set[tuple[str, int]] = set()
        self._filling: set[int] = set()
        self._optimizers: list[tuple[Any, Record]] = []
        self._parts: list[tuple[Any, Any, int, int]] = []
        self._lent: list[tuple[KHandle, Record]] = []
        self.moved: set[str] = set()  # missing devices

    def record(self, kind: str, i: Any) -> Record:
        if i.__class__ is not int or not 0 <= i < len(self.tables[kind]):
            raise ValueError(f"{kind} {i} is not there")
        return self.tables[kind][i]

    def get(self, kind: str, i: Any) -> Any:
        """Object i of a kind."""
        at = (kind, i)
        made = self._made.get(at)
        if made is None:
            rec = self.record(kind, i)
            if at in self._opening:
                raise ValueError(f"{kind} {i} is part of itself")
            self._opening.add(at)
            try:
                made = getattr(self, "_" + kind)(i, rec)
            finally:
                self._opening.discard(at)
            self._made[at] = made
        return made

    def handle(self, i: int) -> Value:
        """Handle i."""
        return self.get("handle", i)

    def finish(self) -> None:
        """Add wrappers to optimizers, then restore the values in their groups."""
        for o, rec in self._optimizers:
            for k, form in rec["wraps"]:
                if k not in o.wraps:
                    wraps.KINDS[k].restore(o, pairs(self.decoder.value(form)))
            if "extra" in rec:  # of its wrapper, if that is itself an optimizer
                o.abilities.set_extra(self.python(rec["extra"]))
            for k, form in rec.get("pending", ()):
                o.wraps[k].set_pending(self.python(form))
        for o, rec in self._optimizers:
            if "waiting" in rec:
                o.waiting = scheduler_api.restored(self._state(rec["waiting"]), o)
            for group, (_, own) in zip(o.groups, rec["groups"], strict=True):
                params = group["params"]
                group.clear()
                group.update({"params": params, **self.python(own)})
        for t, whole, dim, start in self._parts:
            _parts()[t] = _Part(whole, dim, start)
        for h, rec in self._lent:  # the list grows if a whole is itself a part
            shared = h.obj is not GONE
            if not shared:
                h.obj = self._owned(h.__class__, rec["obj"])
            lend([h], self.get("handle", rec["whole"]), shared)

    def close(self) -> None:
        """Drop all references to created objects."""
        self._made.clear()
        self._optimizers.clear()
        self._parts.clear()
        self._lent.clear()

    @contextmanager
    def bounds(self) -> Iterator[None]:
        """While objects are created: a module may not use more memory than the file, nor have more parts than it
        lists."""
        from torch.nn.modules import module as hooks

        parts = sum(map(len, self.tables.values())) + 1000
        room = self.archive.size + _ROOM

        def tensor(_m: Any, name: str, t: Any) -> None:
            self._room -= 0 if t is None else t.numel() * t.element_size()
            child(_m, name, t)

        def child(_m: Any, name: str, _t: Any) -> None:
            self._left -= 1
            if self._room < 0 or self._left < 0:
                raise ValueError(f"{name} of a module is larger than the file")

        self._left, self._room, self._limits = parts, room, (parts, room)
        handles = [
            hooks.register_module_parameter_registration_hook(tensor),
            hooks.register_module_buffer_registration_hook(tensor),
            hooks.register_module_module_registration_hook(child),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _built(self, entry: Any, options: Value | None) -> Any:
        """A new module of a type."""
        self._left, self._room = self._limits
        for k, v in pairs(options) if options.__class__ is Dict else ():
            if k.endswith("layers") and v.__class__ is int and v > self._left:
                raise ValueError(f"{k} of a module are more than the file has")
        with _unfilled():
            return build(entry, [] if options is None or not len(options) else [options], 0)

    # ------------------------------------------------------------ handles

    def _handle(self, i: int, rec: Record) -> KHandle:
        cls = _HANDLES[rec["kind"]]
        h = cls(GONE if rec.get("freed") else self._owned(cls, rec["obj"]))
        if "whole" in rec:
            self._lent.append((h, rec))
        return h

    def _owned(self, cls: type[KHandle], obj: Any) -> Any:
        """The object for a handle of some class."""
        if cls is TensorHandle:
            return self.tensor(obj)
        if cls is VectorHandle:
            return [self.tensor(t) for t in obj]
        if cls is DictHandle:
            return {str(k): self.tensor(t) for k, t in obj}
        return self.get(cls.kind, obj)

    # ------------------------------------------------------------ tensors

    def _device(self, name: str) -> Any:
        """The device with that name; the CPU if it does not exist."""
        device = torch.device(name)
        if is_present(device):
            return device
        self.moved.add(name)
        return torch.device("cpu")

    def tensor(self, i: Any) -> Any:
        """Tensor i; None for the undefined tensor."""
        return None if i is None else self.get("tensor", i)

    def _tensor(self, i: int, rec: Record) -> Any:
        t = self._content(rec)
        if rec.get("parameter"):
            t = torch.nn.Parameter(t, requires_grad=bool(rec.get("grad")))
        elif rec.get("grad"):
            t.requires_grad_(True)
        if "gradient" in rec:
            t.grad = self.tensor(rec["gradient"])
        if "part" in rec:
            whole, dim, start = rec["part"]
            self._parts.append((t, self.tensor(whole), int(dim), int(start)))
        return t

    def _content(self, rec: Record) -> Any:
        dtype, shape = dtype_named(rec["dtype"]), rec["shape"]
        layout = rec.get("layout")
        if layout is not None:
            parts = [self.tensor(part) for part in rec["parts"]]
            make = {
                "coo": torch.sparse_coo_tensor,
                "csr": torch.sparse_csr_tensor,
                "csc": torch.sparse_csc_tensor,
            }
            t = make[layout](*parts, shape, dtype=dtype, check_invariants=True)
            return t._coalesced_(True) if rec.get("coalesced") else t
        return view(self.get("storage", rec["storage"]), dtype, shape, rec["stride"], rec["offset"])

    def _storage(self, i: int, rec: Record) -> Any:
        n = self.archive.entry(rec["array"])[2]
        held, into = fresh(n)
        self.archive.pour(rec["array"], into)
        device = self._device(rec["device"])
        if device.type == "cpu":
            return held
        return (
            torch.empty(0, dtype=torch.uint8).set_(held, 0, (n,), (1,)).to(device).untyped_storage()
        )

    def _generator(self, i: int, rec: Record) -> Any:
        g = torch.Generator(self._device(rec["device"]))
        state = base64.b64decode(rec["state"], validate=True)
        if str(g.device) == rec["device"]:
            g.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
        return g

    def python(self, v: Any) -> Any:
        """A plain Python value from JSON."""
        return from_record(v, self.tensor, lambda n: self.archive.room.need(item_cost(n)))

    # ------------------------------------------------------------ modules, losses

    def _module(self, i: int, rec: Record) -> Any:
        owner = rec["owner"]
        if (
            owner is not None
            and ("module", owner) not in self._opening
            and owner not in self._filling
        ):
            self._opening.discard(
                ("module", i)
            )  # requested by the owner, unless the owner creates it itself
            self.get("module", owner)
            return self._made["module", i]
        entry = _known("module", rec, entry_of)
        options = self.decoder.value(rec["options"]) if "options" in rec else None
        m = self._built(entry, options)
        self._fill(i, m)
        return m

    def _fill(self, i: int, m: Any) -> None:
        """Fill a new module with its name, parameters, buffers and children."""
        rec = self.record("module", i)
        if rec["type"] is not None and type_name(m) != rec["type"]:
            raise ValueError(f"module {i} is no {rec['type']}")
        self._made["module", i] = m
        self._filling.add(i)
        m.__dict__.pop("kshell_name", None)
        set_name(m, str(rec["name"]))
        for field, own in (("parms", m._parameters), ("buffers", m._buffers)):
            tensors = {str(k): self.tensor(t) for k, t in rec[field]}
            if set(own) - set(tensors):
                raise ValueError(f"module {i} lacks {field}")
            for k, t in tensors.items():
                self._put(m, own, k, t)
        if hasattr(m, "_init_flat_weights"):  # a recurrent layer lists its weights a second time
            m._init_flat_weights()
        if set(m._modules) - {k for k, _ in rec["children"]}:
            raise ValueError(f"module {i} lacks children")
        for key in rec.get("replaced", ()):
            m._modules[key] = None
        for key, n in rec["children"]:
            self._child(m, str(key), n)
        if "replaced" in rec:
            m.__dict__[REPLACED] = tuple(map(str, rec["replaced"]))
        m.training = bool(rec["training"])
        nn.recompute.set_recompute(m, bool(rec["recompute"]))
        self._filling.discard(i)

    def _put(self, m: Any, own: dict[str, Any], k: str, t: Any) -> None:
        was = own.get(k)
        if isinstance(m, torch.nn.ParameterDict) and own is m._parameters and t is not None:
            m._keys[k] = (
                None  # the tensor itself, which need not be a parameter if the optimizer is of tensors
            )
            own[k] = t
            return
        if t is not None and not isinstance(t, torch.nn.Parameter) and own is m._parameters:
            raise ValueError(f"{k} is no parameter")
        if was is not None and (t is None or was.shape != t.shape):
            raise ValueError(f"{k} has a wrong size")
        if k in own:
            own[k] = t
        elif own is m._parameters:
            m.register_parameter(k, t)
        else:
            m.register_buffer(k, t)

    def _child(self, m: Any, key: str, n: Any) -> None:
        if n is None:
            m._modules[key] = None
            return
        if n in self._filling:
            raise ValueError(f"module {n} is part of itself")
        if ("module", n) in self._made:
            m._modules[key] = self._made["module", n]
        elif m._modules.get(key) is not None and self._alike(n, m._modules[key]):
            self._fill(n, m._modules[key])
        elif key in m._modules:  # the child was replaced
            m._modules[key] = self.get("module", n)
        elif is_container(m):
            adder = getattr(m, "kshell_add", None)
            child = self.get("module", n)
            if adder is None:
                m._modules[key] = child
            elif adder(key, child) != key:
                raise ValueError(f"child {key} is not taken")
        else:
            raise ValueError(f"child {key} is not known")

    def _alike(self, i: int, m: Any) -> bool:
        """Does a module match a record: the same type, and own parameters of the same sizes?"""
        rec = self.record("module", i)
        sizes = {
            k: None if n is None else self.record("tensor", n)["shape"] for k, n in rec["parms"]
        }
        return rec["type"] in (None, type_name(m)) and all(
            value is None or sizes.get(key) == list(value.shape)
            for key, value in m._parameters.items()
        )

    def _loss(self, i: int, rec: Record) -> Any:
        m = losses.make(losses.entry_of(rec["type"]), [self.decoder.value(rec["options"])])
        set_name(m, str(rec["name"]))
        for k, t in rec["buffers"]:
            if k not in m._buffers:
                raise ValueError(f"a loss has no {k}")
            m._buffers[k] = self.tensor(t)
        m.training = bool(rec["training"])
        return m

    # ------------------------------------------------------------ optimizers, schedulers, rules

    def _optimizer(self, i: int, rec: Record) -> Any:
        entry = _known("optimizer", rec, optimizer_of)
        groups = [
            ([self.tensor(param) for param in params], self.python(own))
            for params, own in rec["groups"]
        ]
        if not groups or any(
            not isinstance(param, torch.Tensor) for params, _ in groups for param in params
        ):
            raise ValueError("a wrong optimizer")
        o = create(entry, group_values(entry, groups[0][1]))
        o.container = None if rec["container"] is None else self.get("module", rec["container"])
        o.own = bool(rec["own"])
        for n, (params, own) in enumerate(groups):
            edit_group(o, n, group_values(entry, own) if n else {}, params)
        o.torch.defaults.update(self.python(rec["defaults"]))
        for p, kept in rec["state"]:
            o.state.put(self.tensor(p), self.python(kept))
        self._optimizers.append((o, rec))
        return o

    def _state(self, form: Any) -> Dict:
        state = self.decoder.value(form)
        if state.__class__ is not Dict:
            raise ValueError("a wrong state")
        return state

    def _scheduler(self, i: int, rec: Record) -> Any:
        return scheduler_api.restored(
            self._state(rec["state"]), self.get("optimizer", rec["optimizer"])
        )

    def _rule(self, i: int, rec: Record) -> Any:
        return wraps.RULE.fn(
            self._state(rec["state"]), self.get("optimizer", rec["optimizer"]), bool(rec["around"])
        )

    # ------------------------------------------------------------ models

    def _model(self, i: int, rec: Record) -> Any:
        m = Model(*(self.get(k, rec[k]) for k in ("module", "loss", "optimizer")))
        for own, saved in zip((m.train, m.test), rec["options"], strict=True):
            for k, form in saved:
                if k not in own:
                    raise CallError(UNSAID, f"unrecognized setting: {k}", given=SAID)
                own[k] = self.decoder.value(form)
        m.data, m.testdata = (self._data(d) for d in rec["data"])
        return m

    def _data(self, rec: Record) -> Data:
        d = Data(self.python(rec["x"]), self.python(rec["y"]), int(rec["n"]))
        d.batch, d.order = int(rec["batch"]), self.tensor(rec["order"])
        d.generator = None if rec["generator"] is None else self.get("generator", rec["generator"])
        if "hidden" in rec:  # older files have none
            d.hidden = self.python(rec["hidden"])
        return d
