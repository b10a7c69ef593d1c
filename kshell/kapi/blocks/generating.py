"""`generate`: continuing sequences of tokens with a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, longs_of, parse_options, split
from kshell.kapi.base.call import api, known_to_all
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import ModelHandle, ModuleHandle, TensorHandle, handle, module_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.api import device_of_module
from kshell.kapi.module.forward import in_mode
from kshell.nn import blocks
from kshell.registry import Option, known
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import List, Value, Vec, is_list, seq_items
from kshell.values.session.interrupts import PENDING, give_up

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_MOST = 1 << 24  # tokens of a result
_OPTIONS = (
    Option("maxtokens", "long", 20, doc="most tokens to add", low=1, high=_MOST),
    Option(
        "temperature",
        "double",
        0.0,
        doc="0: the likeliest token; above: drawn at random, the more freely the higher",
        low=0,
    ),
    Option("topk", "long", 0, doc="draw from so many of the likeliest tokens; 0: from all", low=0),
    Option(
        "topp",
        "double",
        1.0,
        doc="draw from the likeliest tokens that have this probability together",
        low=0,
        high=1,
    ),
    Option("seed", "long", None, doc="seed of the draws; without it, torch's own generator"),
    Option("stop", "longs", None, doc="tokens after which a sequence ends"),
    Option(
        "cache",
        "boolean",
        None,
        doc="keep keys and values between tokens; without it, wherever the module can",
    ),
)


@api(
    "generate",
    "generate(m;ids)",
    "generate(m;ids;maxtokens)",
    "generate(m;ids;maxtokens;temperature;topk;topp;seed;stop;cache)",
    since="kshell",
    effect="none",
    options=_OPTIONS,
)
def generate(x: Value) -> Value:
    """Continue sequences of tokens with a module that gives scores of each token at each place.

    The sequences are longs, a list of longs, which may be of different lengths, or a tensor of one or two dimensions.
    The result has the form of what was given, with the added tokens: longs are a list for each sequence, up to and with
    the token that stopped it; a tensor has the sequences that ended filled up with the first of the stopping tokens.
    The next token is the likeliest; with a temperature, it is drawn at random. The module runs in evaluation mode. Its
    attention (`gqa) keeps the keys and values of the tokens before, if all its parts can be given a sequence in pieces;
    otherwise the whole sequence is calculated for each token.

    q)m:module seq(`seqmask;(`embed;4;4);(`linear;4;4;0b))
    q)parm(m;`0.weight;tensor 4 4#1 0 0 0 0e);
    q)parm(m;`1.weight;tensor(0 0 0 1e;1 0 0 0e;0 1 0 0e;0 0 1 0e));
    q)generate(m;0 1;5)
    0 1 2 3 0 1 2
    q)generate(m;(0 1;enlist 2);5;`stop,0)
    0 1 2 3 0
    2 3 0
    """
    given = items(x)
    target = handle(given[0]) if given else None
    if len(given) < 2 or not isinstance(target, ModuleHandle | ModelHandle):
        raise CallError(
            "generate",
            expecting="a module, tokens and options",
            given=kname(given[0] if given else x),
        )
    module = module_of(target)
    options = {option.name: option.default for option in known("api", "generate").options}
    options |= parse_options("generate", _OPTIONS, *split(given[2:]), before=2)
    rows, skipped = _rows(given[1], device_of_module(module))
    try:
        return _result(given[1], *_continued(module, rows, skipped, options), skipped)
    except Exception as exc:
        raise known_to_all("generate", exc, module, False, x) from None


def _rows(x: Value, device: Any) -> tuple[Any, list[int]]:
    """The sequences as the rows of a tensor, padded at the start, and how much padding each has."""
    if x.__class__ is TensorHandle:
        tensor = x.get()
        if (
            tensor is None
            or tensor.dim() not in (1, 2)
            or tensor.dtype not in (torch.int64, torch.int32)
        ):
            raise CallError(
                "generate", expecting="a tensor of longs, of one or two dimensions", given=kname(x)
            )
        found = [tensor] if tensor.dim() == 1 else list(tensor)
    else:
        is_one = x.__class__ is Vec and x.t in (T.H, T.I, T.J)
        lists = [x] if is_one or not is_list(x) else seq_items(x)
        numbers = [longs_of(item) if is_list(item) else None for item in lists]
        if not numbers or any(row is None for row in numbers):
            raise CallError(
                "generate", expecting="longs, lists of longs or a tensor of them", given=kname(x)
            )
        found = [torch.tensor(row, dtype=torch.int64) for row in numbers if row is not None]
    if not found or any(not len(row) for row in found):
        raise CallError("generate", expecting="at least one token in each sequence", given=kname(x))
    longest = max(map(len, found))
    skipped = [longest - len(row) for row in found]
    rows = torch.stack(
        [torch.nn.functional.pad(row, (n, 0)) for row, n in zip(found, skipped, strict=True)]
    )
    return rows.to(device, torch.int64), skipped


def _continued(
    m: Module, rows: Tensor, skipped: list[int], options: dict[str, Any]
) -> tuple[Any, Any]:
    """The rows with what was added, and their lengths."""
    cached = blocks.generation.has_cache(m) if options["cache"] is None else options["cache"]
    if cached and not blocks.generation.has_cache(m):
        raise QError(
            "generate: the module has no attention with a cache, or a part that cannot be given a sequence in pieces",
            hint="leave out cache: it is used wherever it can be",
        )
    generator = None
    if options["seed"] is not None:
        generator = torch.Generator(rows.device).manual_seed(options["seed"])
    choose = blocks.generation.Choice(
        options["temperature"], options["topk"], options["topp"], generator
    )
    padding = torch.tensor(skipped, device=rows.device) if any(skipped) else None
    most = options["maxtokens"]
    if len(rows) * (most + rows.size(1)) > _MOST:
        raise QError("limit")

    def run() -> Any:
        return blocks.generation.continued(
            m, rows, most, choose, options["stop"] or (), padding, cached, _pause
        )

    return in_mode(m, False, run)


def _pause() -> None:
    if PENDING:
        give_up()


def _result(x: Value, rows: Tensor, lengths: Tensor, skipped: Sequence[int]) -> Value:
    """The sequences in the form of those given."""
    if x.__class__ is TensorHandle:
        return TensorHandle(rows[0] if x.get().dim() == 1 else rows)
    cut = [
        longs(row[first:end])
        for row, first, end in zip(rows.cpu().numpy(), skipped, lengths.tolist(), strict=True)
    ]
    return (
        cut[0]
        if x.__class__ is Vec
        else List(list(cut))
        if len({*map(len, cut)}) > 1
        else collapse(list(cut))
    )
