"""The options for training and testing a model, in the order shown by `train m` and `test m`, one row each."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from kshell import registry
from kshell.registry import Entry, Option
from kshell.values.base.core import NIL, Special, Sym, Value, Vec, _Nil, sym, sym_vec


class TrainOption(NamedTuple):
    """One option: its type, its defaults for training and testing (None: not for testing), its description, the lines
    of an example after a model `m` and their output, and whether it is listed only if set."""

    name: str
    takes: str
    train: Value
    test: Value | None
    doc: str
    example: str
    more: bool = False


class Settings(TypedDict):
    """The options of testing a model by name; those of training have them too."""

    batchsize: int
    task: int
    tasks: int
    droplast: bool
    hidden: bool
    tensor: bool
    dictionary: bool
    metrics: Vec
    autocast: Sym


class TrainSettings(Settings):
    """The options of training a model by name."""

    shuffle: bool
    shufflecuda: bool
    shuffleseed: int | Special
    sync: bool
    clipgroup: bool
    clipnorm: Vec | _Nil
    clipvalue: float | _Nil
    accumulate: int
    gradscale: Vec | _Nil
    stopnan: bool


_MODEL = "q)q:module enlist(`linear;2;1)\nq)m:model(q;loss`mse;opt(`sgd;q))\n"
_DATA = "q)train(m;70 2#1e;70 1#1e);\n"
_RUN = "q)r:run(m;70 2#1e;70 1#1e)\n"
_EVERY = 100  # rows of a batch in testing
_LOSS = sym_vec(["loss"])

OPTIONS = (
    TrainOption(
        "batchsize",
        "long",
        32,
        _EVERY,
        "Rows of data in a batch; 0 is all of them.",
        "q)train(m;`batchsize;50)\nq)train(m;70 2#1e;70 1#1e)\n2",
    ),
    TrainOption(
        "task",
        "long",
        0,
        0,
        "Where several tasks share the data: the number of this one, from 0. It takes "
        "batch task, task+tasks, ..",
        "q)train(m;`task`tasks;1 4)\nq)train(m;`task)\n1",
    ),
    TrainOption(
        "tasks",
        "long",
        1,
        1,
        "How many tasks share the data.",
        "q)train(m;`tasks;2)\nq)train(m;`tasks)\n2",
    ),
    TrainOption(
        "droplast",
        "boolean",
        False,
        False,
        "A last batch with fewer rows than the others is left out.",
        "q)train(m;`droplast;1b)\nq)train(m;70 2#1e;70 1#1e)\n2",
    ),
    TrainOption(
        "hidden",
        "boolean",
        False,
        False,
        "A recurrent module gets the hidden state of the batch before, without its gradients.",
        "q)train(m;`hidden;1b)\nq)train(m;`hidden)\n1b",
    ),
    TrainOption(
        "shuffle",
        "boolean",
        False,
        None,
        "The rows are put into a new order before each run.",
        _DATA + "q)train(m;`shuffle;1b)\nq)run m;\nq)train(m;`shuffle)\n1b",
    ),
    TrainOption(
        "shufflecuda",
        "boolean",
        False,
        None,
        "Where several tasks share the data: its order is drawn on the GPU.",
        "q)train(m;`shufflecuda)\n0b",
    ),
    TrainOption(
        "shuffleseed",
        "long",
        0,
        None,
        "Where several tasks share the data: the seed of its order, which has "
        "to be the same for all.",
        "q)train(m;`shuffleseed;42)\nq)train(m;`shuffleseed)\n42",
    ),
    TrainOption(
        "sync",
        "boolean",
        False,
        None,
        "The GPU is waited for after each batch, for timings.",
        "q)train(m;`sync;1b)\nq)train(m;`sync)\n1b",
    ),
    TrainOption(
        "clipgroup",
        "boolean",
        False,
        None,
        "The norm of `clipnorm` is that of each parameter group, not of all parameters.",
        "q)train(m;`clipgroup`clipnorm;(1b;.5))\nq)train(m;`clipgroup)\n1b",
    ),
    TrainOption(
        "clipnorm",
        "double",
        NIL,
        None,
        "The greatest norm of the gradients, which are made smaller if theirs "
        "is above it; a second number is the exponent of the norm; `[]` for no limit.",
        "q)train(m;`clipnorm;1)\nq)train(m;`clipnorm)\n1 2f\nq)train(m;`clipnorm;[])",
    ),
    TrainOption(
        "clipvalue",
        "double",
        NIL,
        None,
        "The greatest absolute value of a gradient, to which larger ones are "
        "cut; `[]` for no limit.",
        "q)train(m;`clipvalue;.5)\nq)train(m;`clipvalue)\n0.5",
    ),
    TrainOption(
        "tensor",
        "boolean",
        False,
        False,
        "`run` gives its metrics as tensors, not as q values.",
        "q)train(m;`tensor;1b)\n" + _RUN + "q)class r\n`tensor",
    ),
    TrainOption(
        "dictionary",
        "boolean",
        False,
        False,
        "`run` gives its metrics by name even if there is only one.",
        "q)train(m;`dictionary;1b)\n" + _RUN + "q)key r\n,`loss",
    ),
    TrainOption(
        "metrics",
        "symbols",
        _LOSS,
        _LOSS,
        "What `run` gives: loss (the mean over all batches), batchloss "
        "(that of each), accuracy (percent), matches (how many outputs are largest where the target says), "
        "predict (where each is), output, hidden, hiddencell.",
        "q)train(m;`metrics;`loss`batchloss)\n" + _RUN + "q)count r 1\n3",
    ),
    TrainOption(
        "accumulate",
        "long",
        1,
        None,
        "A step is made every so many batches, by the gradient of the mean of their losses.",
        "q)train(m;`accumulate;4)\nq)train(m;`accumulate)\n4",
        True,
    ),
    TrainOption(
        "autocast",
        "symbol",
        sym(""),
        sym(""),
        "Outputs and losses are calculated in `bfloat16 or `half where "
        "torch's autocast does so; an empty symbol for none.",
        "q)train(m;`autocast;`bfloat16)\nq)train(m;`autocast)\n`bfloat16",
        True,
    ),
    TrainOption(
        "gradscale",
        "double",
        NIL,
        None,
        "A number that losses are multiplied with, for `half; gradients are "
        "divided by it before a step, a step with infinite ones is left out and halves the scale, 2,000 others "
        "double it. It reads as scale and count of steps; `[]` for none. (torch's GradScaler.)",
        "q)train(m;`gradscale;1024)\nq)train(m;`gradscale)\n1024 0f",
        True,
    ),
    TrainOption(
        "stopnan",
        "boolean",
        False,
        None,
        "A loss that is null or infinite ends the run with an error, before "
        "a step is made by it. The loss of each batch is then read from its device, which on a GPU waits for "
        "the batch; without the option nothing is read.",
        "q)train(m;`stopnan;1b)\nq)run(m;2 2#0Ne;2 1#1e)\n'run: the loss is nan in batch 1 of 1; stopnan is "
        "set, so no step was made by it\n  [0]  run(m;2 2#0Ne;2 1#1e)\n       ^",
        True,
    ),
)


def _register(o: TrainOption) -> None:
    """Register an option for help, completion and the reference."""
    calls = ("train", "test") if o.test is not None else ("train",)
    defaults = [o.train] if o.test in (None, o.train) else [o.train, o.test]
    shown = [
        None if x is NIL else "loss" if x is _LOSS else x.s if x.__class__ is Sym else x
        for x in defaults
    ]
    registry.add(
        Entry(
            o.name,
            "option",
            forms=tuple(f"{call}(m;`{o.name};{o.takes})" for call in calls),
            doc=f"{o.doc}\n\n{_MODEL}{o.example}",
            topic="training",
            since="ktorch",
            file=__file__,
            options=tuple(
                Option(o.name, o.takes, x, doc="" if len(shown) < 2 else f"in {word}")
                for x, word in zip(shown, ("training", "testing"), strict=False)
            ),
        )
    )


for _option in OPTIONS:
    _register(_option)
