"""Python's parts of models in a snapshot: functions, and loaders with the arguments that q gave, by name, no pickle.

What has no name is left out, and told. A name counts on the way back only if it is here already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.errors import QError, first_line
from kshell.kapi.base import python_functions, python_types
from kshell.kapi.base.args import names_of
from kshell.kapi.checkpoint import table_parts
from kshell.kapi.train import loaders
from kshell.kapi.train.model import Data
from kshell.kapi.train.sources import Asked, Source, source_of
from kshell.kapi.train.table_data import TableData
from kshell.store.snapshot import holds_python
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Value, seq_items
from kshell.values.base.functions import Foreign

if TYPE_CHECKING:
    from kshell.kapi.checkpoint.from_records import Loader
    from kshell.kapi.checkpoint.to_records import Saver

Record = dict[str, Any]

# ------------------------------------------------------------------ functions


def function_record(x: Value) -> Record | None:
    """The record of a function of Python; None for anything else, and one without a name."""
    found = python_functions.name_of(x.obj) if isinstance(x, Foreign) else None
    return None if found is None else python_functions.record_of(found)


def function_of(loader: Loader, rec: Record, part: str, way: str) -> Foreign | None:
    """The function of a record; if it is not here, a note says what it was and the way to go on."""
    full = rec["function"]
    if full.__class__ is not str or rec["digest"].__class__ is not str:
        raise ValueError("a wrong function")
    found = python_functions.named(full)
    if found is None:
        _absent(loader, f"function {first_line(full)}", rec["file"], part, way)
        return None
    if rec["digest"] and found.digest != rec["digest"]:
        loader.changed.setdefault(full, first_line(str(rec["file"])) or full)
    return Foreign(found.function)


def _absent(loader: Loader, what: str, file: object, part: str, way: str) -> None:
    name = first_line(str(file))
    load = f"load its file before (\\l {name} when it was saved), or " if name else ""
    loader.absent.append(f"no {what} here, {part}: {load}give it again ({way})")


# ------------------------------------------------------------------ options


def option_record(saver: Saver, x: Value) -> Any:
    """The record of an option that is a function of Python, or several by name; None if one has no name."""
    if x.__class__ is not Dict:
        return function_record(x)
    names, parts = names_of(x.k), []
    for item in seq_items(x.v):
        if holds_python(item):
            record = function_record(item)
            if record is None:
                return None
            parts.append(record)
        else:
            parts.append({"value": saver.value(item)})
    return None if names is None else {"names": list(names), "functions": parts}


def option_of(loader: Loader, rec: Record, name: str) -> Value | None:
    """The value of an option that was saved by `option_record`."""
    part, way = f"the option {name} of a model", f"train(m;`{name};f)"
    if "names" not in rec:
        return function_of(loader, rec, part, way)
    found: list[Value] = []
    for item in rec["functions"]:
        one = (
            loader.value(item["value"]) if "value" in item else function_of(loader, item, part, way)
        )
        if one is None:
            return None
        found.append(one)
    names = [str(key) for key in rec["names"]]
    if len(names) != len(found):
        raise ValueError("functions without names")
    return symdict(names, found)


# ------------------------------------------------------------------ data


def source_record(saver: Saver, d: Source) -> Record | None:
    """The record of what gives the batches of a model; None if it cannot be made again."""
    if isinstance(d, TableData):
        return table_parts.record(saver, d)
    if isinstance(d, Asked):
        return None if holds_python(d.given) else {"asked": saver.value(d.given)}
    found = function_record(Foreign(d.obj))
    return _made(saver, d.obj) if found is None else found


def _made(saver: Saver, x: Any) -> Record | None:
    """The record of a dataset or loader that q made by name."""
    recipe = loaders.recipe_of(x)
    if isinstance(recipe, loaders.LoaderRecipe):
        inner = _made(saver, x.dataset)
        return None if inner is None else {"loader": saver.python(recipe.options), "dataset": inner}
    if not isinstance(recipe, loaders.DatasetRecipe) or any(map(holds_python, recipe.args)):
        return None
    t = recipe.type
    return {
        "type": t.name,
        "python": python_types.record_of(t),
        "args": [_argument(saver, x) for x in recipe.args],
    }


def _argument(saver: Saver, x: Any) -> list[Any]:
    return ["t", saver.tensor(x)] if hasattr(x, "requires_grad") else ["q", saver.value(x)]


def source(loader: Loader, rec: Record, what: str, test: bool) -> Data:
    """What gives the batches of a model; data that says what is missing if it is not here."""
    if "table" in rec:
        return table_parts.made(loader, rec, what)
    if "asked" in rec:
        given: Value | None = loader.value(rec["asked"])
    elif "function" in rec:
        given = function_of(loader, rec, *_said(test))
    else:
        given = _remade(loader, rec, test)
    if given is None:
        return lost(what)
    found = source_of(given, "resume")
    if found is None:
        raise ValueError("a wrong source of batches")
    return found


def _said(test: bool) -> tuple[str, str]:
    """The part of a model, and the way to give it again."""
    return (
        f"the {'test ' if test else ''}data of a model",
        f"{'test' if test else 'train'}(m;loader)",
    )


def lost(what: str) -> Data:
    """In the place of data that a file does not hold."""
    data = Data()
    data.lost = first_line(what)
    return data


def _remade(loader: Loader, rec: Record, test: bool) -> Foreign | None:
    """A dataset or loader, made again by its name and arguments; None, and a note, if the name is no type here."""
    inner = rec["dataset"] if "loader" in rec else rec
    name, python = str(inner["type"]), inner["python"]
    entry = python_types.type_of_name("dataset", str(python["class"]))
    entry = entry or python_types.type_of_name("dataset", name)
    if entry is None:
        _absent(loader, f"dataset {first_line(name)}", python.get("file", ""), *_said(test))
        return None
    loader.compare(entry.name, entry.record, inner)
    args = [
        loader.tensor(x) if tag == "t" else loader.value(x) for tag, x in map(tuple, inner["args"])
    ]
    problem = ""
    try:
        made = loaders.make_dataset(entry.record, args, True)
        if "loader" in rec:
            made = loaders.make_loader(
                "resume", made, loaders.checked(loader.python(rec["loader"]))
            )
    except QError as e:
        problem = e.text
    if problem:
        raise QError(f"resume: {entry.name} is not as it was when it was saved: {problem}")
    return Foreign(made)
