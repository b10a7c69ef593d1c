"""What is in a checkpoint, as tables: its tensors with their statistics, and what loading it in Python would run."""

from __future__ import annotations

from kshell.checkpoints.files.weights import Columns
from kshell.checkpoints.pickles.machine import Machine
from kshell.checkpoints.pickles.meanings import KNOWN, WORDS, Branch
from kshell.checkpoints.trees.leaves import branches_of, tensors_of
from kshell.checkpoints.trees.opening import Opened, dequantized, may_be_quantized, opened
from kshell.errors import CallError
from kshell.kapi.base.args import flag_of, items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import handle
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.checkpoint.measured import PLAIN, Described, MeasuredCols, norms_and_bad
from kshell.kapi.checkpoint.tree_values import to_q_value
from kshell.kapi.checkpoint.trees import tree_of
from kshell.values.base.build import bools, longs, table
from kshell.values.base.core import Dict, Table, Value, sym_vec


@api(
    "ckpttable",
    "ckpttable`:file",
    "ckpttable value",
    "ckpttable(value;0b)",
    since="kshell",
    effect="reads1",
)
def ckpttable(x: Value) -> Value:
    """The tensors in a checkpoint, one row each: location, type, size, bytes, norm, number of non-finite values (bad).

    Of a file or folder, opening which reads no tensor, there are more columns: how a tensor is quantised (scheme), and
    computed when a query asks for them and only for its rows: lowest (lo), highest (hi) and mean finite value, share of
    zeros (sparsity), and SHA-256 (digest). With 0b, all that is computed is omitted and no tensor is read.

    q)d:`step`model!(1;`w`b!(tensor 2 3#1e;tensor 3 0w))
    q)ckpttable d
    name    dtype  size bytes norm    bad
    -------------------------------------
    model.w float  2 3  24    2.44949 0
    model.b double ,2   16    0w      1
    q)cols ckpttable(d;0b)
    `name`dtype`size`bytes
    q)ckpt(`:docs.pt;d)
    `:docs.pt
    q)select name,norm,lo,hi from ckpttable`:docs.pt where name like"*.w"
    name    norm    lo hi
    ---------------------
    model.w 2.44949 1  1
    q)hdel`:docs.pt
    `:docs.pt
    """
    arguments = [x] if isinstance(x, Dict) or handle(x) is not None or is_path(x) else items(x)
    flag = flag_of(arguments[1]) if len(arguments) == 2 else True
    if not 1 <= len(arguments) <= 2 or flag is None:
        raise CallError(
            "ckpttable",
            "expecting a file, a dictionary of tensors, or an object that has some, and a flag",
        )
    if is_path(arguments[0]):
        return _of_file(opened(path_of(arguments[0], "ckpttable")), flag)
    found = tensors_of(tree_of(arguments[0]))
    plain = Described(Columns.of(found), {})
    statistics = norms_and_bad(list(found.values())) if flag else []
    names = PLAIN[:4]
    columns = [*map(plain.column, names), *statistics]
    return table([*names, *("norm", "bad")[: len(statistics)]], columns)


def _of_file(found: Opened, flag: bool) -> Table:
    columns = found.columns
    schemes = _schemes(found) if may_be_quantized(form.dtype for form in {*columns.forms}) else {}
    if not flag:
        return table(list(PLAIN), [*map(Described(columns, schemes).column, PLAIN)])
    measured = MeasuredCols(found, columns, schemes)
    return Table(list(measured.names), measured)


def _schemes(found: Opened) -> dict[str, str]:
    """How the tensors of a file are quantised: also those that are parts of one that is."""
    schemes: dict[str, str] = {}
    for name, tensor in dequantized(found).items():
        if tensor.scheme:
            schemes[name] = tensor.scheme
            schemes |= dict.fromkeys(getattr(tensor, "parts", ()), tensor.scheme)
    return schemes


@api("ckptdequant", "ckptdequant`:file", since="kshell", effect="reads1")
def ckptdequant(x: Value) -> Value:
    """The tensors of a checkpoint by name, those that are quantised as the numbers that they stand for.

    Read are GGUF, and in .safetensors and .pt files the layouts of bitsandbytes, GPTQ, AWQ, torchao and of float8 with
    scales. Their parts, as scales, are one tensor then. Numbers are computed when they are used.

    q)ckpt(`:docs.safetensors;`w`SCB`weight_format!(tensor 1 2e;tensor 1e;tensor 0x00))
    `:docs.safetensors
    q)key ckptdequant`:docs.safetensors
    `w`SCB`weight_format
    q)hdel`:docs.safetensors
    `:docs.safetensors
    """
    if not is_path(x):
        raise CallError("ckptdequant", expected="a file or folder", given=kname(x))
    return to_q_value(dequantized(opened(path_of(x, "ckptdequant"))))


# ------------------------------------------------------------------ what Python would run

_HOW = {
    "call": "call",
    "new": "new",
    "instance": "new",
    "object": "object",
    "extension": "extension",
}


@api("ckptwhy", "ckptwhy`:file", since="kshell", effect="reads1")
def ckptwhy(x: Value) -> Value:
    """What loading a file in Python would import and call: a row for each name of a class or function in its pickles.

    `how` is call of a function, new object of a class, or name if it is a value itself; `known` tells that kshell knows
    what it means, without importing it; `times` how often it is used, and `file` where.

    q)ckpt(`:docs.pt;`a`b!(tensor 1 2e;1))
    `:docs.pt
    q)select name,how,known from ckptwhy`:docs.pt
    name                            how  known
    ------------------------------------------
    collections.OrderedDict         call 1
    torch._utils._rebuild_tensor_v2 call 1
    torch.FloatStorage              name 1
    q)hdel`:docs.pt
    `:docs.pt
    """
    if not is_path(x):
        raise CallError("ckptwhy", expected="a file or folder", given=kname(x))
    found = opened(path_of(x, "ckptwhy"))
    rows: dict[tuple[str, str, str], int] = {}
    branches = [*branches_of(found.value), *found.beside]
    for branch in {id(branch.meanings): branch for branch in branches}.values():
        machine = getattr(branch.meanings.document, "machine", None)
        if machine is not None:
            _count(machine, branch, rows)
    names, how, files = ([key[i] for key in rows] for i in range(3))
    return table(
        ["name", "how", "known", "times", "file"],
        [
            sym_vec(names),
            sym_vec(how),
            bools([name in KNOWN or _is_word(name) for name in names]),
            longs(list(rows.values())),
            sym_vec(files),
        ],
    )


def _is_word(name: str) -> bool:
    return any(name.startswith(begin) and make(name) is not None for begin, make in WORDS.items())


def _count(machine: Machine, branch: Branch, rows: dict[tuple[str, str, str], int]) -> None:
    """Count the names of a pickle by how they are used."""
    path = branch.meanings.path
    for node in machine.nodes:
        if node.name:
            key = (node.name, _HOW[node.how], path)
            rows[key] = rows.get(key, 0) + 1
    used = {name for name, _, file in rows if file == path}
    for known in machine.globals.values():
        if known.known not in used:
            rows[known.known, "name", path] = 1
