"""Torch objects as records of a manifest: what a snapshot saves for handles and everything they own.

Each object has one record, however many refer to it, so shared objects stay shared: a tensor in two handles, a
parameter in a module and an optimizer, memory under two tensors. from_records.py recreates the objects.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any, cast

from kshell import nn
from kshell.errors import QError
from kshell.kapi.base import python_types
from kshell.kapi.base.args import pairs
from kshell.kapi.base.convert import dtype_name
from kshell.kapi.base.handle_kind import KINDS, HandleKind
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
    behaviour,
    whole_of,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.parameter_marks import FROZEN
from kshell.kapi.base.plain_values import to_record
from kshell.kapi.base.python_options import has_functions
from kshell.kapi.checkpoint import python_parts
from kshell.kapi.loss import losses
from kshell.kapi.loss.given import given_for
from kshell.kapi.module.describe import (
    REPLACED,
    is_container,
    name_of_module,
    options_of,
    type_name,
    type_of,
)
from kshell.kapi.module.options import as_dict, class_of, live_values, module_record
from kshell.kapi.optim import scheduler_api
from kshell.kapi.optim.optimizer import is_of, optimizer_record
from kshell.kapi.tensor.batch_view import part_of
from kshell.kapi.tensor.storages import memory_of
from kshell.kapi.train.sources import Source
from kshell.optim.groups import settings_of
from kshell.registry import REQUIRED, Entry, find
from kshell.store.archive import Member
from kshell.store.snapshot import Encoder, holds_python
from kshell.values.base.core import Dict, Value
from kshell.values.base.functions import Foreign, Handle

if TYPE_CHECKING:
    from torch import Generator, Tensor, UntypedStorage
    from torch.nn import Module

    from kshell.kapi.optim.optimizer import Opt
    from kshell.kapi.train.model import Data, Model

Record = dict[str, Any]
# records other than those of handles' objects, and the approximate bytes of memory each needs besides arrays
BESIDE = {"storage": 450, "generator": 8000, "handle": 300}
_ITEM = 40  # also an item of a list or dictionary


def costs() -> dict[str, int]:
    """The kinds with records, and the approximate bytes of memory that an object of each needs besides arrays."""
    return BESIDE | {kind: cls.cost for kind, cls in KINDS.items() if cls.cost}


def needs(tables: Mapping[str, Sized]) -> int:
    """The approximate bytes of memory that the recorded objects need, besides arrays."""
    known = costs()
    return sum(known.get(kind, HandleKind.cost) * len(table) for kind, table in tables.items())


def item_cost(n: int) -> int:
    """The approximate bytes of a list, tuple or dictionary of n items in a record."""
    return 200 + _ITEM * n


class Saver:
    """Makes records for objects; the arrays and q values in them go through the encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.tables: dict[str, list[Record | None]] = {kind: [] for kind in costs()}
        self._numbers: dict[tuple[str, int], int] = {}
        self._kept: list[Any] = []  # keeps objects alive, so that no id is reused
        self._modules: list[tuple[Any, int, str]] = []
        # module -> its first parent, and its name there
        self._places: dict[int, tuple[Any, int, str]] = {}
        self.variable = ""  # whose value is being written
        self._handles: list[tuple[KHandle, Record]] = []
        self.notes: list[str] = []  # notes on everything that is not saved

    def ref(self, kind: str, obj: Any, key: int | None = None) -> int:
        """The number of an object's record, created if new."""
        identity = (kind, id(obj) if key is None else key)
        number = self._numbers.get(identity)
        if number is None:
            table = self.tables[kind]
            number = self._numbers[identity] = len(table)
            table.append(None)
            self._kept.append(obj)
            if kind in BESIDE:
                table[number] = getattr(self, "_" + kind)(obj)
            else:
                table[number] = KINDS[kind].record(self, obj)
        return number

    def handle(self, h: Handle) -> int:
        """The number of a handle's record."""
        return self.ref("handle", h)

    def finish(self) -> dict[str, Any]:
        """All records; checks that every module can be recreated."""
        roots: set[int] = set()  # modules not created by another one's constructor
        for module, number, variable in self._modules:
            parent, parent_number, key = self._places.get(number, (None, -1, ""))
            if (
                parent is None
                or key in parent.__dict__.get(REPLACED, ())
                or (parent_number in roots and is_container(parent))
            ):
                roots.add(number)
                _check_makeable(module, variable)
        for handle, record in self._handles:
            self._part(handle, record)
        self.encoder.needs += needs(self.tables)
        return dict(self.tables)

    # ------------------------------------------------------------ handles

    def _handle(self, h: KHandle) -> Record:
        record: Record = {"kind": h.kind}
        if not h.__class__.__module__.startswith("kshell."):  # defined in a user's file
            record["class"] = h.__class__.__name__
        record |= {"freed": True} if h.obj is GONE else {"obj": h.form(self, h.obj)}
        self._handles.append((h, record))
        return record

    def _part(self, h: KHandle, rec: Record) -> None:
        """Record that the object of a handle is lent to another one, if that one is saved too."""
        whole = whole_of(h)
        number = None if whole is None else self._numbers.get(("handle", id(whole)))
        if number is not None and h.lent is not None:
            rec["whole"] = number
            if h.obj is GONE:
                rec["obj"] = h.form(self, h.lent.kept)

    # ------------------------------------------------------------ tensors

    def tensor(self, t: Tensor | None) -> int | None:
        """The number of a tensor's record; None for the undefined tensor."""
        return None if t is None else self.ref("tensor", t)

    @behaviour("record", TensorHandle)
    def _tensor(self, t: Tensor) -> Record:
        if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.is_quantized or t.is_meta:
            raise QError(f"a tensor of class {type(t).__name__} cannot be saved")
        record: Record = {
            "dtype": dtype_name(t.dtype),
            "shape": list(t.shape),
            "device": str(t.device),
        }
        if isinstance(t, torch.nn.Parameter):
            record["parameter"] = True
        if getattr(t, FROZEN, False):
            record["frozen"] = True
        if t.grad_fn is not None:
            self.notes.append("the autograd graph of a tensor that is not a leaf")
        elif t.requires_grad:
            record["grad"] = True
        if t.is_leaf and t.grad is not None:
            record["gradient"] = self.tensor(t.grad)
        view = part_of(t)
        if view is not None:
            record["part"] = [self.tensor(view.whole), view.dim, view.start]
        return record | self._content(t.detach())

    def _content(self, t: Tensor) -> Record:
        if t.layout is torch.sparse_coo:
            return {
                "layout": "coo",
                "coalesced": t.is_coalesced(),
                "parts": self._own([t._indices(), t._values()]),
            }
        if t.layout in (torch.sparse_csr, torch.sparse_csc):
            rows = t.layout is torch.sparse_csr
            indices = (
                [t.crow_indices(), t.col_indices()] if rows else [t.ccol_indices(), t.row_indices()]
            )
            return {"layout": "csr" if rows else "csc", "parts": self._own([*indices, t.values()])}
        if t.layout is not torch.strided:
            raise QError(f"a tensor of layout {t.layout} cannot be saved")
        if t.is_conj() or t.is_neg():
            t = t.resolve_conj().resolve_neg().clone()
        storage = t.untyped_storage()
        return {
            "storage": self.ref("storage", storage, storage._cdata),
            "offset": t.storage_offset(),
            "stride": list(t.stride()),
        }

    def _own(self, tensors: list[Any]) -> list[int]:
        return [self.ref("tensor", tensor) for tensor in tensors]

    def _storage(self, held: UntypedStorage) -> Record:
        size, device = held.nbytes(), str(held.device)
        if held.device.type != "cpu":
            held = held.cpu()
            self._kept.append(held)
        return {
            "array": self.encoder.add(Member("|u1", (size,), memory_of(held, size))),
            "device": device,
        }

    def _generator(self, g: Generator) -> Record:
        return {
            "device": str(g.device),
            "state": base64.b64encode(bytes(g.get_state().numpy())).decode(),
        }

    def python(self, v: object) -> Any:
        """A plain Python value as JSON."""
        return to_record(v, self.tensor, self._items)

    def value(self, x: Value) -> Any:
        """A q value as JSON."""
        return self.encoder.value(x)

    def _items(self, n: int) -> None:
        self.encoder.needs += item_cost(n)

    # ------------------------------------------------------------ modules, losses

    @behaviour("record", ModuleHandle)
    def _module(self, m: Module) -> Record:
        entry = type_of(m)
        record: Record = {
            "type": None if entry is None else entry.name,
            "name": name_of_module(m),
            "owner": None,
            "training": m.training,
            "recompute": nn.recompute.recomputes(m),
        }
        if entry is not None and entry.name != "parmdict":
            record["options"] = self.encoder.value(_values_only(entry, options_of(m, True, True)))
        if entry is not None and module_record(entry).cls is not None:
            record["class"] = entry.target
        if entry is not None and (python := module_record(entry).python) is not None:
            record["python"] = python_types.record_of(python)
        replaced = m.__dict__.get(REPLACED, ())
        if replaced:
            record["replaced"] = list(replaced)
        record["parms"] = [[name, self.tensor(tensor)] for name, tensor in m._parameters.items()]
        record["buffers"] = [[name, self.tensor(tensor)] for name, tensor in m._buffers.items()]
        record["children"] = []
        number = self._numbers["module", id(m)]
        self._modules.append((m, number, self.variable))
        for name, child in m._modules.items():
            child_number = None if child is None else self.ref("module", child)
            record["children"].append([name, child_number])
            if (
                child_number is not None
                and (child_record := self.tables["module"][child_number]) is not None
                and child_record["owner"] is None
            ):
                child_record["owner"] = number
                self._places[child_number] = m, number, name
        return record

    @behaviour("record", LossHandle)
    def _loss(self, m: Module) -> Record:
        entry = losses.type_of(m)
        if losses.loss_record(entry).python is not None:
            return {"type": entry.name, "module": self.ref("module", m)}
        if class_of(entry) is not type(m):
            raise QError(f"a loss of class {type(m).__name__} cannot be saved")
        return {
            "type": entry.name,
            "name": name_of_module(m),
            "training": m.training,
            "options": self.encoder.value(as_dict(entry, live_values(entry, m), False)),
            "buffers": [[name, self.tensor(tensor)] for name, tensor in m._buffers.items()],
        }

    # ------------------------------------------------------------ optimizers, schedulers, rules

    @behaviour("record", OptimizerHandle)
    def _optimizer(self, o: Opt) -> Record:
        entry = find("optimizer", o.entry.name)
        # it is wrapped in fp16, which is restored
        inner = o.torch.inner if "fp16" in o.wraps else o.torch
        if entry is None and (python := optimizer_record(o.entry).python) is not None:
            entry = python.entry("optimizer")
        if entry is None or entry is not o.entry or not is_of(entry, inner):
            raise QError(f"an optimizer of class {type(inner).__name__} cannot be saved")
        if o.outer is not None:
            self.notes.append(f"the {type(o.outer).__name__} around an optimizer")
        state = o.state
        record: Record = {
            "type": entry.name,
            "own": o.own,
            "class": entry.target,
            "container": None if o.container is None else self.ref("module", o.container),
            "groups": [
                [[self.tensor(param) for param in group["params"]], self.python(settings_of(group))]
                for group in o.groups
            ],
            "defaults": self.python(dict(inner.defaults)),
            "state": [
                [self.tensor(owner), self.python(state.of(owner))] for owner in state.owners()
            ],
            "wraps": [
                [kind, self.encoder.value(wrapper.state())] for kind, wrapper in o.wraps.items()
            ],
        }
        if (python := optimizer_record(entry).python) is not None:
            record["python"] = python_types.record_of(python)
        if o.abilities.keeps_extra:
            record["extra"] = self.python(state.extra())
        pending = [
            [kind, self.python(progress)]
            for kind, wrapper in o.wraps.items()
            if (progress := wrapper.pending()) is not None
        ]
        if pending:
            record["pending"] = pending
        if o.waiting is not None:
            record["waiting"] = self.encoder.value(scheduler_api.state_of(o.waiting))
        return record

    @behaviour("record", SchedulerHandle)
    def _scheduler(self, s: Any) -> Record:
        if s.live and not s.known:
            raise QError(
                f"a scheduler of class {type(s.torch).__name__} that Python made cannot be saved"
            )
        return {
            "optimizer": self.ref("optimizer", s.opt),
            "state": self.encoder.value(scheduler_api.state_of(s)),
        }

    @behaviour("record", RuleHandle)
    def _rule(self, r: Any) -> Record:
        return {
            "optimizer": self.ref("optimizer", r.opt),
            "around": r.opt.wraps.get("scale") is r,
            "state": self.encoder.value(r.state()),
        }

    # ------------------------------------------------------------ models

    @behaviour("record", ModelHandle)
    def _model(self, m: Model) -> Record:
        return {
            "module": self.ref("module", m.module),
            **self._model_loss(m.loss),
            "optimizer": self.ref("optimizer", m.optimizer),
            "options": [
                list(self._options(settings))
                for settings in cast("tuple[dict[str, Value], ...]", (m.train, m.test))
            ],
            "data": [self._data(data) for data in (m.data, m.testdata)],
        }

    def _model_loss(self, loss: Module) -> Record:
        """A model's loss: a reference to a module, or what was given for it, if that is of q."""
        given = given_for(loss)
        if given is None:
            return {"loss": self.ref("loss", loss)}
        if isinstance(given, Foreign):
            function = python_parts.function_record(given)
            if function is None:
                self.notes.append(
                    "the loss of a model, which is a function of Python without a name"
                )
                return {"loss": None}
            return {"loss": None, "function": function}
        return {"loss": None, "given": self.encoder.value(given)}

    def _options(self, settings: dict[str, Value]) -> Iterator[list[Any]]:
        """The options of a model that can be saved, each with its name: others are of Python and have no name."""
        for name, value in settings.items():
            if not holds_python(value):
                yield [name, self.encoder.value(value)]
            elif (record := python_parts.option_record(self, value)) is not None:
                yield [name, record]
            else:
                self.notes.append(
                    f"the option {name} of a model, which is of Python without a name"
                )

    def _data(self, d: Data) -> Record:
        if isinstance(d, Source):
            return self._source(d)
        return ({"lost": d.lost} if d.lost else {}) | {
            "x": self.python(d.x),
            "y": self.python(d.y),
            "n": d.n,
            "batch": d.batch,
            "order": self.tensor(d.order),
            "generator": None if d.generator is None else self.ref("generator", d.generator),
            "hidden": self.python(d.hidden),
        }

    def _source(self, d: Source) -> Record:
        """Data that comes batch by batch: what gives it, not the batch that is shown."""
        record = python_parts.source_record(self, d)
        if record is None:
            self.notes.append(f"the data of a model, which comes from {d.what}")
        return {
            "source": record,
            "what": d.what,
            "order": self.tensor(d.order),
            "generator": None if d.generator is None else self.ref("generator", d.generator),
        }


behaviour("form", TensorHandle)(Saver.tensor)


@behaviour("form", VectorHandle)
def _vector(saver: Saver, tensors: list[Tensor | None]) -> list[int | None]:
    return [saver.tensor(t) for t in tensors]


@behaviour("form", DictHandle)
def _dict(saver: Saver, tensors: dict[str, Tensor | None]) -> list[list[Any]]:
    return [[key, saver.tensor(t)] for key, t in tensors.items()]


def _check_makeable(m: Module, variable: str) -> None:
    """Raise an error that names the variable if a module could not be recreated."""
    prefix = f"{variable}: " if variable else ""
    entry = type_of(m)
    if entry is not None and module_record(entry).python is not None and _is_of_python(m):
        if not python_types.is_known(m):
            word = type_name(m)
            raise QError(
                f"{prefix}a module of class {type(m).__name__} that Python made cannot be saved: make it by its name "
                f"(module enlist(`{word};..)), or keep its values (ckpt, state)"
            )
        return
    if not _makeable(m):
        raise QError(
            f"{prefix}a module of class {type(m).__name__} cannot be saved: its class is not a module "
            "type; load its file with \\l or name it (.p.type), or save its tensors with ckpt"
        )
    if entry is None or module_record(entry).cls is None:
        return
    missing = [
        option.name
        for option in entry.options
        if option.default is REQUIRED and option.name not in live_values(entry, m)
    ]
    if missing:
        raise QError(
            f"{prefix}a module of class {type(m).__name__} cannot be saved: its option {missing[0]} is "
            "not one of its attributes"
        )


def _is_of_python(m: Module) -> bool:
    """Is a module of exactly the class that is a type of Python, or did such a type make it?"""
    return python_types.made_of(m) is not None or python_types.type_of_class(type(m)) is not None


def _values_only(entry: Entry, options: Dict) -> Dict:
    """The options of a module; a function among those of a type of Python would be code that a file holds."""
    if module_record(entry).python is not None:
        for name, value in pairs(options):
            if has_functions(value):
                raise QError(
                    f"the option {name} of a module of type {entry.name} is a function, which no file holds"
                )
    return options


def _makeable(m: Module) -> bool:
    """Is a module of exactly the class that its type creates?"""
    entry = type_of(m)
    module_class = type(m).__mro__[2] if nn.recompute.recomputes(m) else type(m)
    return entry is not None and (
        class_of(entry) is module_class
        or module_record(entry).made == f"{module_class.__module__}.{module_class.__qualname__}"
    )
