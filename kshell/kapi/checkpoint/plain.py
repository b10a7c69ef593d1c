"""Checkpoints that torch.load(weights_only=True) takes, whatever was in them."""

from __future__ import annotations

from kshell.checkpoints.trees.opening import opened
from kshell.checkpoints.trees.plain import Plain
from kshell.errors import CallError
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.checkpoint.files import write_graph
from kshell.kapi.checkpoint.trees import sources_of, tree_of
from kshell.values.base.build import table
from kshell.values.base.core import Value, sym_vec


@api(
    "ckptplain",
    "ckptplain value",
    "ckptplain(value;`:file.pt)",
    held=True,
    since="kshell",
    effect="reads1",
)
def ckptplain(x: Value) -> Value:
    """Write a checkpoint that `torch.load(weights_only=True)` takes: the same tensors and values, and plain ones in the
    place of what it refuses. Without a file to write, a table of what would be replaced, and by what.

    Numbers of NumPy become numbers, arrays tensors, a defaultdict or Namespace a dictionary, a path, date or class its
    text, a module its state_dict, and any other object the dictionary of its attributes. Nothing of it is run.

    q)ckpt(`:docs.pt;`when`x!(2026.11.27;tensor 1 2e))
    `:docs.pt
    q)ckptplain`:docs.pt
    name class         becomes
    --------------------------
    when datetime.date text
    q)ckptplain(`:docs.pt;`:docs.pt)
    `:docs.pt
    q)ckpt[`:docs.pt]`when
    `2026-11-27
    q)hdel`:docs.pt
    `:docs.pt
    """
    arguments = [x] if is_path(x) else items(x)
    if len(arguments) == 2 and not is_path(arguments[1]) and is_path(arguments[0]):
        raise CallError("ckptplain", expected="a file to write", given=kname(arguments[1]))
    if len(arguments) != 2 or not is_path(arguments[1]):
        arguments = [x]
    tree = (
        opened(path_of(arguments[0], "ckptplain")).value
        if is_path(arguments[0])
        else (tree_of(arguments[0]))
    )
    plain = Plain()
    graph = plain.of(tree)
    if len(arguments) == 1:
        names, classes, kinds = zip(*plain.changes, strict=True) if plain.changes else ((),) * 3
        return table(
            ["name", "class", "becomes"], [sym_vec(part) for part in (names, classes, kinds)]
        )
    write_graph(path_of(arguments[1], "ckptplain"), graph, sources_of(tree), 2)
    return arguments[1]
