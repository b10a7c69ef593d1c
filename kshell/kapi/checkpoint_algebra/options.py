"""The options that several operations on checkpoints have, and reading those of a call."""

from __future__ import annotations

from typing import Any

from kshell import registry
from kshell.kapi.base.args import parse_options, split
from kshell.registry import Option
from kshell.values.base.core import Value

TO = Option(
    "to",
    "any",
    None,
    doc="a file, a folder (its name ends in /) or a module to write the result to",
)
BYTES = Option("bytes", "long", None, doc="the most bytes of a file in a folder", low=1)
KEEP = Option("keep", "boolean", False, doc="keep tensors that not all have")
WEIGHTS = Option("weights", "doubles", None, doc="a factor for each checkpoint, 1 if not given")
LAMBDA = Option("lambda", "double", 1.0, doc="a factor for the sum of the differences")
DENSITY = Option("density", "doubles", None, doc="the share of items kept of each difference")
SEED = Option("seed", "long", 0, doc="the seed of the random numbers")


def options_of(call: str, rest: list[Value], before: int) -> dict[str, Any]:
    """The values of the options of a call, given or default, in the arguments after the first `before`; an error of the
    call for wrong ones."""
    options = registry.known("api", call).options
    given = parse_options(call, options, *split(rest), before=before)
    return {option.name: given.get(option.name, option.default) for option in options}
