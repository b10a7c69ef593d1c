"""Renaming the tensors of a checkpoint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kshell.errors import UNSAID, CallError
from kshell.kapi.base.args import name_of, named_values, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.q_calls import applied
from kshell.kapi.checkpoint_algebra.choosing import texts_of
from kshell.kapi.checkpoint_algebra.naming import renamed
from kshell.kapi.checkpoint_algebra.options import BYTES, TO, options_of
from kshell.kapi.checkpoint_algebra.problems import first_few
from kshell.kapi.checkpoint_algebra.results import Result, deliver, passed
from kshell.kapi.checkpoint_algebra.sources import Source, arguments, source_of
from kshell.registry import Option
from kshell.values.base.build import bools, table
from kshell.values.base.core import Dict, Value, sym_vec
from kshell.values.base.functions import Function


def _by_patterns(call: str, names: Sequence[str], old: Value, new: Value) -> dict[str, str]:
    """New names by regular expressions and what they are replaced with, one after the other."""
    patterns, texts = texts_of(old), texts_of(new)
    for mine, other in ((patterns, texts), (texts, patterns)):
        if mine and other and len(mine) == 1 and len(mine[0]) == len(other) > 1:
            mine[:] = mine[0]  # a list of single characters, which is a string in q
    if patterns is None or texts is None or len(patterns) != len(texts):
        given = f"{kname(old)} and {kname(new)}"
        raise CallError(call, expected="as many patterns as texts for them", given=given)
    result = {}
    for name in names:
        changed = name
        for pattern, text in zip(patterns, texts, strict=True):
            problem = ""
            try:
                changed = re.sub(pattern, text, changed)
            except (re.error, IndexError) as error:
                problem = str(error)
            if problem:
                raise CallError(call, f"the pattern {pattern}: {problem}")
        result[name] = changed
    return result


def _by_dictionary(call: str, names: Sequence[str], given: Dict) -> dict[str, str]:
    new = {key: name_of(value) for key, value in named_values(given).items()}
    if any(value is None for value in new.values()):
        raise CallError(call, "the new names are no symbols", expected=UNSAID)
    unknown = [key for key in new if key not in set(names)]
    if unknown:
        raise CallError(call, f"there is no {first_few(unknown)}")
    return {name: new.get(name) or name for name in names}


def _by_function(call: str, names: Sequence[str], f: Value) -> dict[str, str]:
    out = applied(f, [sym_vec(names)])
    new = names_of(out)
    if new is None or len(new) != len(names):
        expected = f"a function that makes {len(names)} names of {len(names)}"
        raise CallError(call, expected=expected, given=f"one that makes a {kname(out)}")
    return dict(zip(names, new, strict=True))


def _new_names(call: str, source: Source, rest: list[Value]) -> tuple[dict[str, str], list[Value]]:
    """The new name of each tensor, and the arguments that are left."""
    names = source.names()
    how = rest[0]
    if how.__class__ is Dict:
        return _by_dictionary(call, names, how), rest[1:]
    if texts_of(how) is not None:
        if len(rest) < 2:
            raise CallError(call, expecting="a pattern and a text for it", given=kname(how))
        return _by_patterns(call, names, how, rest[1]), rest[2:]
    if not isinstance(how, Function):
        raise CallError(call, expected="patterns, names or a function", given=kname(how))
    return _by_function(call, names, how), rest[1:]


@api(
    "ckptrename",
    "ckptrename(d;pattern;text)",
    "ckptrename(d;names)",
    "ckptrename(d;function)",
    "ckptrename(d;pattern;text;dry;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=(
        Option("dry", "boolean", False, doc="return what would change, and change nothing"),
        TO,
        BYTES,
    ),
)
def ckptrename(x: Value) -> Value:
    r"""Rename the tensors of a checkpoint: by a regular expression, a dictionary old!new, or a q function of all names.

    A pattern is one of Python's re, found anywhere in the name; the text may refer to its groups, as \1. Several
    patterns are applied one after the other. All tensors are renamed at once, so two can swap their names; two tensors
    with the same new name are an error. With the flag dry the result is a table of the names that would change, old and
    new, with clash 1b if another tensor would have the new name.

    In nested dictionaries names are joined by dots. A tensor stays in its dictionary if its new name begins with that
    dictionary's; if only the part before its key changes it moves to another dictionary, as from ema.w to model.w;
    otherwise to the outermost one, under its full name. The result is a dictionary, in which tensors are not copied, or
    goes to a file, folder or module as in `ckptavg`.

    q)d:`module.w`module.b!(tensor 1e;tensor 2e)
    q)key ckptrename(d;"^module\\.";"net.")
    `net.w`net.b
    q)key ckptrename(d;`module.w`module.b!`b`w)
    `b`w
    q)ckptrename(d;{last each` vs/:x};1b)
    old      new clash
    ------------------
    module.w w   0
    module.b b   0
    """
    call = "ckptrename"
    given = arguments(x)
    if len(given) < 2:
        raise CallError(call, expecting="a checkpoint, and patterns, names or a function")
    source = source_of(given[0], call)
    new, rest = _new_names(call, source, given[1:])
    options = options_of(call, rest, len(given) - len(rest))
    counts = Counter(new.values())
    changed = {old: name for old, name in new.items() if old != name}
    if options["dry"]:
        clashes = bools([counts[name] > 1 for name in changed.values()])
        columns = [sym_vec(list(changed)), sym_vec(list(changed.values())), clashes]
        return table(["old", "new", "clash"], columns)
    clash = next((name for name in new.values() if counts[name] > 1 or not name), None)
    if clash is not None:
        both = first_few([old for old, name in new.items() if name == clash])
        raise CallError(call, f"{both} would be named {clash or 'nothing'}", says=(clash,))
    made = {name: passed(source, old) for old, name in new.items()}
    result = Result(renamed(source.tree(), new), made)
    return deliver(call, result, options)
