"""Recreating torch objects from the records of a snapshot (kapi/checkpoint/to_records.py)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from kshell import nn
from kshell.errors import SAID, UNSAID, CallError, QError, first_line
from kshell.kapi.base import python_types
from kshell.kapi.base.args import length_of, pairs
from kshell.kapi.base.convert import dtype_named
from kshell.kapi.base.device_options import is_present
from kshell.kapi.base.handle_kind import KINDS
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
    lend,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.parameter_marks import FROZEN
from kshell.kapi.base.plain_values import from_record
from kshell.kapi.base.python_options import has_functions
from kshell.kapi.checkpoint import python_parts, table_parts
from kshell.kapi.checkpoint.to_records import BESIDE, Record, item_cost, needs
from kshell.kapi.loss import losses
from kshell.kapi.loss.given import loss_of, missing_loss
from kshell.kapi.module.builders import build, entry_of
from kshell.kapi.module.describe import REPLACED, is_container, set_name, type_name, type_of
from kshell.kapi.module.options import module_record
from kshell.kapi.optim import scheduler_api, wraps
from kshell.kapi.optim.optimizer import create, edit_group, group_values, optimizer_record
from kshell.kapi.optim.optimizer import entry_of as optimizer_of
from kshell.kapi.tensor.batch_view import _Part, _parts
from kshell.kapi.tensor.storages import fresh, view
from kshell.kapi.train.model import Data, Model
from kshell.registry import Entry
from kshell.store.archive import Archive
from kshell.store.snapshot import Decoder, Form
from kshell.values.base.core import Dict, Value

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module, Parameter

_ROOM = 16 << 20  # bytes that a module may have beyond those in the file

_FILLS = ("uniform_", "normal_", "kaiming_uniform_", "kaiming_normal_", "trunc_normal_")


def _unfilled() -> Any:
    """While a module is created, do not initialize its parameters: they are replaced by the file's, so their memory is
    never touched."""

    class Unfilled(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self,
            fn: Callable[..., Any],
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            keywords = kwargs or {}
            if getattr(fn, "__name__", "") in _FILLS:
                tensor = args[0] if args else keywords.get("tensor")
                if isinstance(tensor, torch.nn.Parameter):
                    return tensor
            return fn(*args, **keywords)

    return Unfilled()


def _known(kind: str, rec: Record, find: Callable[[str], Any]) -> Any:
    """The entry for a record's type. Even an intact file may contain types of a class that is not registered here.
    A type of Python counts only if it is one already."""
    if rec["type"].__class__ is not str:
        raise ValueError(f"the class of a {kind} is no type")
    if "python" in rec:
        full = str(rec["python"]["class"])
        entry = python_types.type_of_name(kind, full) or python_types.type_of_name(
            kind, rec["type"]
        )
        if entry is None:
            raise python_types.missing(rec["type"], rec["python"])
        return entry
    try:
        return find(rec["type"])
    except QError:
        if rec.get("class", "torch.").startswith(("torch.", "kshell.")):
            raise
    raise _unknown(f"{kind} type", rec["type"], rec["class"])


def _unknown(what: str, name: str, cls: object) -> QError:
    """The error for a snapshot that needs a class from a user's file."""
    return QError(
        f"resume: there is no {what} `{name} here, of class {str(cls).rpartition('.')[2]}; first load "
        "the file that registers it, with \\l"
    )


class Loader:
    """Makes objects from records on demand; `finish` completes what depends on other objects."""

    def __init__(self, tables: dict[str, list[Record]], archive: Archive) -> None:
        if not set(BESIDE) <= set(tables):
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
        self.changed: dict[str, str] = {}  # types of Python whose files have changed, with these
        self.absent: list[str] = []  # functions and datasets of Python that are not here, in words

    def record(self, kind: str, i: object) -> Record:
        if i.__class__ is not int or not 0 <= i < len(self.tables[kind]):
            raise ValueError(f"{kind} {i} is not there")
        return self.tables[kind][i]

    def get(self, kind: str, i: Any) -> Any:
        """Object i of a kind."""
        key = (kind, i)
        result = self._made.get(key)
        if result is None:
            record = self.record(kind, i)
            if key in self._opening:
                raise ValueError(f"{kind} {i} is part of itself")
            self._opening.add(key)
            try:
                if kind in BESIDE:
                    result = getattr(self, "_" + kind)(i, record)
                else:
                    result = KINDS[kind].from_record(self, i, record)
            finally:
                self._opening.discard(key)
            self._made[key] = result
        return result

    def handle(self, i: int) -> Value:
        """Handle i."""
        return self.get("handle", i)

    def finish(self) -> None:
        """Add wrappers to optimizers, then restore the values in their groups."""
        for optimizer, record in self._optimizers:
            for kind, form in record["wraps"]:
                if kind not in optimizer.wraps:
                    wraps.KINDS[kind].restore(optimizer, pairs(self.decoder.value(form)))
            if "extra" in record:  # of its wrapper, if that is itself an optimizer
                optimizer.abilities.set_extra(self.python(record["extra"]))
            for kind, form in record.get("pending", ()):
                optimizer.wraps[kind].set_pending(self.python(form))
        for optimizer, record in self._optimizers:
            if "waiting" in record:
                optimizer.waiting = scheduler_api.restored(
                    self._state(record["waiting"]), optimizer
                )
            for group, (_, settings) in zip(optimizer.groups, record["groups"], strict=True):
                params = group["params"]
                group.clear()
                group.update({"params": params, **self.python(settings)})
        for tensor, whole, dimension, start in self._parts:
            _parts()[tensor] = _Part(whole, dimension, start)
        for handle, record in self._lent:  # the list grows if a whole is itself a part
            shared = handle.obj is not GONE
            if not shared:
                handle.obj = handle.from_form(self, record["obj"])
            lend([handle], self.get("handle", record["whole"]), shared)

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

        limit = sum(map(len, self.tables.values())) + 1000
        room = self.archive.size + _ROOM

        def tensor(_m: Module, name: str, t: Tensor | None) -> None:
            self._room -= 0 if t is None else t.numel() * t.element_size()
            child(_m, name, t)

        def child(_m: Module, name: str, _t: object) -> None:
            self._left -= 1
            if self._room < 0 or self._left < 0:
                raise ValueError(f"{name} of a module is larger than the file")

        self._left, self._room, self._limits = limit, room, (limit, room)
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

    def _built(self, entry: Entry, options: Value | None) -> Any:
        """A new module of a type."""
        self._left, self._room = self._limits
        for name, value in pairs(options) if options.__class__ is Dict else ():
            if name.endswith("layers") and value.__class__ is int and value > self._left:
                raise ValueError(f"{name} of a module are more than the file has")
        with _unfilled():
            return build(entry, [] if options is None or not length_of(options) else [options], 0)

    # ------------------------------------------------------------ handles

    def _handle(self, i: int, rec: Record) -> KHandle:
        handle_class = KINDS.get(rec["kind"])
        if handle_class is None and "class" in rec:
            raise _unknown("kind of handle", rec["kind"], rec["class"])
        if handle_class is None:
            raise ValueError("a wrong kind")
        handle: KHandle = handle_class(
            GONE if rec.get("freed") else handle_class.from_form(self, rec["obj"])
        )
        if "whole" in rec:
            self._lent.append((handle, rec))
        return handle

    # ------------------------------------------------------------ tensors

    def _device(self, name: str) -> Any:
        """The device with that name; the CPU if it does not exist."""
        device = torch.device(name)
        if is_present(device):
            return device
        self.moved.add(name)
        return torch.device("cpu")

    def tensor(self, i: int | None) -> Any:
        """Tensor i; None for the undefined tensor."""
        return None if i is None else self.get("tensor", i)

    @behaviour("from_record", TensorHandle)
    def _tensor(self, i: int, rec: Record) -> Any:
        tensor = self._content(rec)
        if rec.get("parameter"):
            tensor = torch.nn.Parameter(tensor, requires_grad=bool(rec.get("grad")))
        elif rec.get("grad"):
            tensor.requires_grad_(True)
        if rec.get("frozen"):
            setattr(tensor, FROZEN, True)
        if "gradient" in rec:
            tensor.grad = self.tensor(rec["gradient"])
        if "part" in rec:
            whole, dimension, start = rec["part"]
            self._parts.append((tensor, self.tensor(whole), int(dimension), int(start)))
        return tensor

    def _content(self, rec: Record) -> Any:
        dtype, shape = dtype_named(rec["dtype"]), rec["shape"]
        layout = rec.get("layout")
        if layout is not None:
            tensors = [self.tensor(number) for number in rec["parts"]]
            makers = {
                "coo": torch.sparse_coo_tensor,
                "csr": torch.sparse_csr_tensor,
                "csc": torch.sparse_csc_tensor,
            }
            tensor = makers[layout](*tensors, shape, dtype=dtype, check_invariants=True)
            return tensor._coalesced_(True) if rec.get("coalesced") else tensor
        return view(self.get("storage", rec["storage"]), dtype, shape, rec["stride"], rec["offset"])

    def _storage(self, i: int, rec: Record) -> Any:
        size = self.archive.entry(rec["array"])[2]
        storage, buffer = fresh(size)
        self.archive.pour(rec["array"], buffer)
        device = self._device(rec["device"])
        if device.type == "cpu":
            return storage
        return (
            torch.empty(0, dtype=torch.uint8)
            .set_(storage, 0, (size,), (1,))
            .to(device)
            .untyped_storage()
        )

    def _generator(self, i: int, rec: Record) -> Any:
        generator = torch.Generator(self._device(rec["device"]))
        state = base64.b64decode(rec["state"], validate=True)
        if str(generator.device) == rec["device"]:
            generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
        return generator

    def python(self, v: Any) -> Any:
        """A plain Python value from JSON."""
        return from_record(v, self.tensor, lambda n: self.archive.room.need(item_cost(n)))

    def value(self, form: Any) -> Value:
        """A q value from JSON."""
        return self.decoder.value(form)

    # ------------------------------------------------------------ modules, losses

    @behaviour("from_record", ModuleHandle)
    def _module(self, i: int, rec: Record) -> Any:
        owner = rec["owner"]
        if (
            owner is not None
            and ("module", owner) not in self._opening
            and owner not in self._filling
        ):
            # requested by the owner, unless the owner creates it itself
            self._opening.discard(("module", i))
            self.get("module", owner)
            return self._made["module", i]
        entry = _known("module", rec, entry_of)
        options = self.decoder.value(rec["options"]) if "options" in rec else None
        if "python" not in rec:
            module = self._built(entry, options)
            self._fill(i, module)
            return module
        self.compare(entry.name, module_record(entry).python, rec)
        if has_functions(options):
            raise ValueError("a function among options")
        problem = ""
        try:
            module = self._built(entry, options)
            self._fill(i, module)
            return module
        except QError as e:
            problem = e.text
        except (ValueError, RuntimeError) as e:
            problem = str(e)
        raise QError(f"resume: {entry.name} is not as it was when it was saved: {problem}")

    def compare(self, name: str, python: Any, rec: Record) -> None:
        """Note that the file of a type is not the one that it was when an object was saved."""
        digest = rec["python"].get("digest")
        if digest and python is not None and python.digest != digest:
            self.changed.setdefault(name, first_line(rec["python"]["file"]))

    def _fill(self, i: int, m: Module) -> None:
        """Fill a new module with its name, parameters, buffers and children."""
        record = self.record("module", i)
        if record["type"] is not None and not self._is_type(m, record):
            raise ValueError(f"module {i} is no {record['type']}")
        self._made["module", i] = m
        self._filling.add(i)
        m.__dict__.pop("kshell_name", None)
        set_name(m, str(record["name"]))
        for field, present in (("parms", m._parameters), ("buffers", m._buffers)):
            tensors = {str(name): self.tensor(tensor) for name, tensor in record[field]}
            if set(present) - set(tensors):
                raise ValueError(f"module {i} lacks {field}")
            for name, tensor in tensors.items():
                self._put(m, present, name, tensor)
        relist: Any = getattr(m, "_init_flat_weights", None)
        if relist is not None:  # a recurrent layer lists its weights a second time
            relist()
        if set(m._modules) - {name for name, _ in record["children"]}:
            raise ValueError(f"module {i} lacks children")
        for key in record.get("replaced", ()):
            m._modules[key] = None
        for key, number in record["children"]:
            self._child(m, str(key), number)
        if "replaced" in record:
            m.__dict__[REPLACED] = tuple(map(str, record["replaced"]))
        m.training = bool(record["training"])
        nn.recompute.set_recompute(m, bool(record["recompute"]))
        self._filling.discard(i)

    def _is_type(self, m: Module, record: Record) -> bool:
        """Is a module of a record's type? A class may have been a type of Python then, or be one only now."""
        if type_name(m) == record["type"] or type(m).__name__ == record["type"]:
            return True
        python = record.get("python")
        return python is not None and _known("module", record, entry_of) is type_of(m)

    def _put(self, m: Module, own: dict[str, Any], k: str, t: Tensor | None) -> None:
        previous = own.get(k)
        if isinstance(m, torch.nn.ParameterDict) and own is m._parameters and t is not None:
            # the tensor itself, which need not be a parameter if the optimizer is of tensors
            m._keys[k] = None
            own[k] = t
            return
        if t is not None and not isinstance(t, torch.nn.Parameter) and own is m._parameters:
            raise ValueError(f"{k} is no parameter")
        if previous is not None and (t is None or previous.shape != t.shape):
            raise ValueError(f"{k} has a wrong size")
        if k in own:
            own[k] = t
        elif own is m._parameters:
            m.register_parameter(k, cast("Parameter | None", t))
        else:
            m.register_buffer(k, t)

    def _child(self, m: Module, key: str, n: int | None) -> None:
        if n is None:
            m._modules[key] = None
            return
        if n in self._filling:
            raise ValueError(f"module {n} is part of itself")
        if ("module", n) in self._made:
            m._modules[key] = self._made["module", n]
        elif (known := m._modules.get(key)) is not None and self._alike(n, known):
            self._fill(n, known)
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

    def _alike(self, i: int, m: Module) -> bool:
        """Does a module match a record: the same type, and own parameters of the same sizes?"""
        record = self.record("module", i)
        sizes = {
            name: None if number is None else self.record("tensor", number)["shape"]
            for name, number in record["parms"]
        }
        return (record["type"] is None or self._is_type(m, record)) and all(
            param is None or sizes.get(name) == list(param.shape)
            for name, param in m._parameters.items()
        )

    @behaviour("from_record", LossHandle)
    def _loss(self, i: int, rec: Record) -> Any:
        if "module" in rec:
            return self.get("module", rec["module"])
        loss = losses.make(losses.entry_of(rec["type"]), [self.decoder.value(rec["options"])])
        set_name(loss, str(rec["name"]))
        for name, number in rec["buffers"]:
            if name not in loss._buffers:
                raise ValueError(f"a loss has no {name}")
            loss._buffers[name] = self.tensor(number)
        loss.training = bool(rec["training"])
        return loss

    # ------------------------------------------------------------ optimizers, schedulers, rules

    @behaviour("from_record", OptimizerHandle)
    def _optimizer(self, i: int, rec: Record) -> Any:
        entry = _known("optimizer", rec, optimizer_of)
        if "python" in rec:
            self.compare(entry.name, optimizer_record(entry).python, rec)
        groups = [
            ([self.tensor(param) for param in params], self.python(settings))
            for params, settings in rec["groups"]
        ]
        if not groups or any(
            not isinstance(param, torch.Tensor) for params, _ in groups for param in params
        ):
            raise ValueError("a wrong optimizer")
        restored = create(entry, group_values(entry, groups[0][1]))
        restored.container = (
            None if rec["container"] is None else self.get("module", rec["container"])
        )
        restored.own = bool(rec["own"])
        for position, (params, settings) in enumerate(groups):
            edit_group(
                restored, position, group_values(entry, settings) if position else {}, params
            )
        restored.torch.defaults.update(self.python(rec["defaults"]))
        for number, buffers in rec["state"]:
            restored.state.put(self.tensor(number), self.python(buffers))
        self._optimizers.append((restored, rec))
        return restored

    def _state(self, form: Form) -> Dict:
        state = self.decoder.value(form)
        if state.__class__ is not Dict:
            raise ValueError("a wrong state")
        return state

    @behaviour("from_record", SchedulerHandle)
    def _scheduler(self, i: int, rec: Record) -> Any:
        return scheduler_api.restored(
            self._state(rec["state"]), self.get("optimizer", rec["optimizer"])
        )

    @behaviour("from_record", RuleHandle)
    def _rule(self, i: int, rec: Record) -> Any:
        return wraps.RULE.fn(
            self._state(rec["state"]), self.get("optimizer", rec["optimizer"]), bool(rec["around"])
        )

    # ------------------------------------------------------------ models

    @behaviour("from_record", ModelHandle)
    def _model(self, i: int, rec: Record) -> Any:
        module, optimizer = (self.get(field, rec[field]) for field in ("module", "optimizer"))
        model = Model(module, self._model_loss(rec), optimizer)
        options = cast("tuple[dict[str, Value], ...]", (model.train, model.test))
        for own, saved in zip(options, rec["options"], strict=True):
            for field, form in saved:
                if field not in own:
                    raise CallError(UNSAID, f"unrecognized setting: {field}", given=SAID)
                value = (
                    python_parts.option_of(self, form, field)
                    if form.__class__ is dict
                    else self.decoder.value(form)
                )
                own[field] = own[field] if value is None else value
        data = (self._data(record, i == 1) for i, record in enumerate(rec["data"]))
        model.data, model.testdata = data
        table_parts.given_to(model)
        return model

    def _model_loss(self, rec: Record) -> Any:
        if rec["loss"] is not None:
            return self.get("loss", rec["loss"])
        if "function" in rec:
            given: Value | None = python_parts.function_of(
                self, rec["function"], "the loss of a model", "model(m;f)"
            )
        else:
            given = self.decoder.value(rec["given"]) if "given" in rec else None
        if given is None:
            return missing_loss()
        loss = loss_of(given)
        if loss is None:
            raise ValueError("a wrong loss")
        return loss

    def _data(self, rec: Record, test: bool) -> Data:
        if "source" in rec:
            return self._source(rec, test)
        if "lost" in rec:
            return python_parts.lost(str(rec["lost"]))
        data = Data(self.python(rec["x"]), self.python(rec["y"]), int(rec["n"]))
        data.batch, data.order = int(rec["batch"]), self.tensor(rec["order"])
        data.generator = (
            None if rec["generator"] is None else self.get("generator", rec["generator"])
        )
        if "hidden" in rec:  # older files have none
            data.hidden = self.python(rec["hidden"])
        return data

    def _source(self, rec: Record, test: bool) -> Data:
        """What gives the batches of a model, if it can be had again."""
        what = str(rec["what"])
        if rec["source"] is None:
            return python_parts.lost(what)
        data = python_parts.source(self, rec["source"], what, test)
        data.order = self.tensor(rec["order"])
        data.generator = (
            None if rec["generator"] is None else self.get("generator", rec["generator"])
        )
        return data


behaviour("from_form", TensorHandle)(Loader.tensor)


@behaviour("from_form", VectorHandle)
def _vector(loader: Loader, tensors: list[Any]) -> list[Any]:
    return [loader.tensor(i) for i in tensors]


@behaviour("from_form", DictHandle)
def _dict(loader: Loader, tensors: list[Any]) -> dict[str, Any]:
    return {str(key): loader.tensor(i) for key, i in tensors}
