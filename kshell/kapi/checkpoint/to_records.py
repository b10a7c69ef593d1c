"""Torch objects as records of a manifest: what a snapshot saves for handles and everything they own.

Each object has one record, however many refer to it, so shared objects stay shared: a tensor in two handles, a
parameter in a module and an optimizer, memory under two tensors. from_records.py recreates the objects.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sized
from typing import Any

from kshell import nn
from kshell.errors import QError
from kshell.kapi.base.convert import dtype_name
from kshell.kapi.base.handles import GONE, DictHandle, KHandle, TensorHandle, VectorHandle, whole_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import to_record
from kshell.kapi.loss import losses
from kshell.kapi.module.describe import REPLACED, is_container, name_of_module, options_of, type_of
from kshell.kapi.module.options import as_dict, class_of, live_values, module_record
from kshell.kapi.optim import scheduler_api
from kshell.kapi.optim.optimizer import class_of as optimizer_class
from kshell.kapi.tensor.batch_view import part_of
from kshell.kapi.tensor.storages import memory_of
from kshell.optim.groups import settings_of
from kshell.registry import REQUIRED, find
from kshell.store.archive import Member
from kshell.store.snapshot import Encoder
from kshell.values.base.functions import Handle

Record = dict[str, Any]
# kinds of records, and the approximate bytes of memory per object, besides arrays
KINDS = {
    "storage": 450,
    "tensor": 400,
    "module": 8000,
    "loss": 8000,
    "generator": 8000,
    "optimizer": 12000,
    "scheduler": 6000,
    "rule": 6000,
    "model": 6000,
    "handle": 300,
}
_ITEM = 40  # and per item of a list or dictionary


def needs(tables: Mapping[str, Sized]) -> int:
    """The approximate bytes of memory that the recorded objects need, besides arrays."""
    return sum(KINDS[key] * len(table) for key, table in tables.items())


def item_cost(n: int) -> int:
    """The approximate bytes of a list, tuple or dictionary of n items in a record."""
    return 200 + _ITEM * n


class Saver:
    """Makes records for objects; the arrays and q values in them go through the encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.tables: dict[str, list[Record | None]] = {kind: [] for kind in KINDS}
        self._numbers: dict[tuple[str, int], int] = {}
        self._kept: list[Any] = []  # keeps objects alive, so that no id is reused
        self._modules: list[tuple[Any, int, str]] = []
        self._places: dict[
            int, tuple[Any, int, str]
        ] = {}  # module -> its first parent, and its name there
        self.variable = ""  # whose value is being written
        self._handles: list[tuple[KHandle, Record]] = []
        self.notes: list[str] = []  # notes on everything that is not saved

    def ref(self, kind: str, obj: Any, key: int | None = None) -> int:
        """The number of an object's record, created if new."""
        at = (kind, id(obj) if key is None else key)
        n = self._numbers.get(at)
        if n is None:
            table = self.tables[kind]
            n = self._numbers[at] = len(table)
            table.append(None)
            self._kept.append(obj)
            table[n] = getattr(self, "_" + kind)(obj)
        return n

    def handle(self, h: Handle) -> int:
        """The number of a handle's record."""
        return self.ref("handle", h)

    def finish(self) -> dict[str, Any]:
        """All records; checks that every module can be recreated."""
        alone: set[int] = set()  # modules not created by another one's constructor
        for m, n, variable in self._modules:
            parent, at, key = self._places.get(n, (None, -1, ""))
            if (
                parent is None
                or key in parent.__dict__.get(REPLACED, ())
                or (at in alone and is_container(parent))
            ):
                alone.add(n)
                _check_makeable(m, variable)
        for h, record in self._handles:
            self._part(h, record)
        self.encoder.needs += needs(self.tables)
        return dict(self.tables)

    # ------------------------------------------------------------ handles

    def _handle(self, h: KHandle) -> Record:
        rec = (
            {"kind": h.kind, "freed": True}
            if h.obj is GONE
            else {"kind": h.kind, "obj": self._owned(h, h.obj)}
        )
        self._handles.append((h, rec))
        return rec

    def _owned(self, h: KHandle, obj: Any) -> Any:
        """The record of a handle's object."""
        if isinstance(h, TensorHandle):
            return self.tensor(obj)
        if isinstance(h, VectorHandle):
            return [self.tensor(t) for t in obj]
        if isinstance(h, DictHandle):
            return [[key, self.tensor(value)] for key, value in obj.items()]
        return self.ref(h.kind, obj)

    def _part(self, h: KHandle, rec: Record) -> None:
        """Record that the object of a handle is lent to another one, if that one is saved too."""
        whole = whole_of(h)
        at = None if whole is None else self._numbers.get(("handle", id(whole)))
        if at is not None and h.lent is not None:
            rec["whole"] = at
            if h.obj is GONE:
                rec["obj"] = self._owned(h, h.lent.kept)

    # ------------------------------------------------------------ tensors

    def tensor(self, t: Any) -> int | None:
        """The number of a tensor's record; None for the undefined tensor."""
        return None if t is None else self.ref("tensor", t)

    def _tensor(self, t: Any) -> Record:
        if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.is_quantized or t.is_meta:
            raise QError(f"a tensor of class {type(t).__name__} cannot be saved")
        rec: Record = {
            "dtype": dtype_name(t.dtype),
            "shape": list(t.shape),
            "device": str(t.device),
        }
        if isinstance(t, torch.nn.Parameter):
            rec["parameter"] = True
        if t.grad_fn is not None:
            self.notes.append("the autograd graph of a tensor that is not a leaf")
        elif t.requires_grad:
            rec["grad"] = True
        if t.is_leaf and t.grad is not None:
            rec["gradient"] = self.tensor(t.grad)
        part = part_of(t)
        if part is not None:
            rec["part"] = [self.tensor(part.whole), part.dim, part.start]
        return rec | self._content(t.detach())

    def _content(self, t: Any) -> Record:
        if t.layout is torch.sparse_coo:
            return {
                "layout": "coo",
                "coalesced": t.is_coalesced(),
                "parts": self._own([t._indices(), t._values()]),
            }
        if t.layout in (torch.sparse_csr, torch.sparse_csc):
            rows = t.layout is torch.sparse_csr
            parts = (
                [t.crow_indices(), t.col_indices()] if rows else [t.ccol_indices(), t.row_indices()]
            )
            return {"layout": "csr" if rows else "csc", "parts": self._own([*parts, t.values()])}
        if t.layout is not torch.strided:
            raise QError(f"a tensor of layout {t.layout} cannot be saved")
        if t.is_conj() or t.is_neg():
            t = t.resolve_conj().resolve_neg().clone()
        held = t.untyped_storage()
        return {
            "storage": self.ref("storage", held, held._cdata),
            "offset": t.storage_offset(),
            "stride": list(t.stride()),
        }

    def _own(self, tensors: list[Any]) -> list[int]:
        return [self.ref("tensor", tensor) for tensor in tensors]

    def _storage(self, held: Any) -> Record:
        n, device = held.nbytes(), str(held.device)
        if held.device.type != "cpu":
            held = held.cpu()
            self._kept.append(held)
        return {
            "array": self.encoder.add(Member("|u1", (n,), memory_of(held, n))),
            "device": device,
        }

    def _generator(self, g: Any) -> Record:
        return {
            "device": str(g.device),
            "state": base64.b64encode(bytes(g.get_state().numpy())).decode(),
        }

    def python(self, v: Any) -> Any:
        """A plain Python value as JSON."""
        return to_record(v, self.tensor, self._items)

    def _items(self, n: int) -> None:
        self.encoder.needs += item_cost(n)

    # ------------------------------------------------------------ modules, losses

    def _module(self, m: Any) -> Record:
        entry = type_of(m)
        rec: Record = {
            "type": None if entry is None else entry.name,
            "name": name_of_module(m),
            "owner": None,
            "training": m.training,
            "recompute": nn.recompute.recomputes(m),
        }
        if entry is not None and entry.name != "parmdict":
            rec["options"] = self.encoder.value(options_of(m, True, True))
        if entry is not None and module_record(entry).cls is not None:
            rec["class"] = entry.target
        replaced = m.__dict__.get(REPLACED, ())
        if replaced:
            rec["replaced"] = list(replaced)
        rec["parms"] = [[key, self.tensor(value)] for key, value in m._parameters.items()]
        rec["buffers"] = [[key, self.tensor(value)] for key, value in m._buffers.items()]
        rec["children"] = []
        own = self._numbers["module", id(m)]
        self._modules.append((m, own, self.variable))
        for key, child in m._modules.items():
            n = None if child is None else self.ref("module", child)
            rec["children"].append([key, n])
            if (
                n is not None
                and (kept := self.tables["module"][n]) is not None
                and kept["owner"] is None
            ):
                kept["owner"] = own
                self._places[n] = m, own, key
        return rec

    def _loss(self, m: Any) -> Record:
        entry = losses.type_of(m)
        if class_of(entry) is not type(m):
            raise QError(f"a loss of class {type(m).__name__} cannot be saved")
        return {
            "type": entry.name,
            "name": name_of_module(m),
            "training": m.training,
            "options": self.encoder.value(as_dict(entry, live_values(entry, m), False)),
            "buffers": [[key, self.tensor(value)] for key, value in m._buffers.items()],
        }

    # ------------------------------------------------------------ optimizers, schedulers, rules

    def _optimizer(self, o: Any) -> Record:
        entry = find("optimizer", o.entry.name)
        plain = (
            o.torch.inner if "fp16" in o.wraps else o.torch
        )  # it is wrapped in fp16, which is restored
        if entry is None or entry is not o.entry or type(plain) is not optimizer_class(entry):
            raise QError(f"an optimizer of class {type(plain).__name__} cannot be saved")
        if o.outer is not None:
            self.notes.append(f"the {type(o.outer).__name__} around an optimizer")
        state = o.state
        rec: Record = {
            "type": entry.name,
            "own": o.own,
            "class": entry.target,
            "container": None if o.container is None else self.ref("module", o.container),
            "groups": [
                [[self.tensor(param) for param in group["params"]], self.python(settings_of(group))]
                for group in o.groups
            ],
            "defaults": self.python(dict(plain.defaults)),
            "state": [
                [self.tensor(owner), self.python(state.of(owner))] for owner in state.owners()
            ],
            "wraps": [[key, self.encoder.value(value.state())] for key, value in o.wraps.items()],
        }
        if o.abilities.keeps_extra:
            rec["extra"] = self.python(state.extra())
        pending = [
            [key, self.python(found)]
            for key, value in o.wraps.items()
            if (found := value.pending()) is not None
        ]
        if pending:
            rec["pending"] = pending
        if o.waiting is not None:
            rec["waiting"] = self.encoder.value(scheduler_api.state_of(o.waiting))
        return rec

    def _scheduler(self, s: Any) -> Record:
        if s.live and not s.known:
            raise QError(
                f"a scheduler of class {type(s.torch).__name__} that Python made cannot be saved"
            )
        return {
            "optimizer": self.ref("optimizer", s.opt),
            "state": self.encoder.value(scheduler_api.state_of(s)),
        }

    def _rule(self, r: Any) -> Record:
        return {
            "optimizer": self.ref("optimizer", r.opt),
            "around": r.opt.wraps.get("scale") is r,
            "state": self.encoder.value(r.state()),
        }

    # ------------------------------------------------------------ models

    def _model(self, m: Any) -> Record:
        return {
            "module": self.ref("module", m.module),
            "loss": self.ref("loss", m.loss),
            "optimizer": self.ref("optimizer", m.optimizer),
            "options": [
                [[key, self.encoder.value(value)] for key, value in s.items()]
                for s in (m.train, m.test)
            ],
            "data": [self._data(d) for d in (m.data, m.testdata)],
        }

    def _data(self, d: Any) -> Record:
        return {
            "x": self.python(d.x),
            "y": self.python(d.y),
            "n": d.n,
            "batch": d.batch,
            "order": self.tensor(d.order),
            "generator": None if d.generator is None else self.ref("generator", d.generator),
            "hidden": self.python(d.hidden),
        }


def _check_makeable(m: Any, variable: str) -> None:
    """Raise an error that names the variable if a module could not be recreated."""
    where = f"{variable}: " if variable else ""
    if not _makeable(m):
        raise QError(
            f"{where}a module of class {type(m).__name__} cannot be saved: its class is not a module "
            "type; register it with @module from kshell.extend, or save its tensors with ckpt"
        )
    entry = type_of(m)
    if entry is None or module_record(entry).cls is None:
        return
    lost = [
        option.name
        for option in entry.options
        if option.default is REQUIRED and option.name not in live_values(entry, m)
    ]
    if lost:
        raise QError(
            f"{where}a module of class {type(m).__name__} cannot be saved: its option {lost[0]} is not "
            "one of its attributes"
        )


def _makeable(m: Any) -> bool:
    """Is a module of exactly the class that its type creates?"""
    entry = type_of(m)
    cls = type(m).__mro__[2] if nn.recompute.recomputes(m) else type(m)
    return entry is not None and (
        class_of(entry) is cls
        or module_record(entry).made == f"{cls.__module__}.{cls.__qualname__}"
    )
