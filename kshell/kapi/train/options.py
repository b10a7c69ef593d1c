"""The options for training and testing a model, in the order shown by `train m` and `test m`, one row each."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from kshell import registry
from kshell.registry import Entry, Option
from kshell.values.base.core import NIL, Special, Value, Vec, _Nil, sym_vec
from kshell.values.base.symbols import Sym, sym


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
    """Options for testing a model, by name; training has them too."""

    batchsize: int
    task: int
    tasks: int
    droplast: bool
    hidden: bool
    tensor: bool
    dictionary: bool
    metrics: Vec
    autocast: Sym
    transform: Value
    metric: Value
    callback: Value
    skip: Value


class TrainSettings(Settings):
    """Options for training a model, by name."""

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
_EVERY = 100  # rows per batch in testing
_LOSS = sym_vec(["loss"])

OPTIONS = (
    TrainOption(
        "batchsize",
        "long",
        32,
        _EVERY,
        "Rows of data per batch; 0 means all.",
        "q)train(m;`batchsize;50)\nq)train(m;70 2#1e;70 1#1e)\n2",
    ),
    TrainOption(
        "task",
        "long",
        0,
        0,
        "The number of this task, from 0, if several share the data. It processes batches "
        "task, task+tasks, ..",
        "q)train(m;`task`tasks;1 4)\nq)train(m;`task)\n1",
    ),
    TrainOption(
        "tasks",
        "long",
        1,
        1,
        "The number of tasks that share the data.",
        "q)train(m;`tasks;2)\nq)train(m;`tasks)\n2",
    ),
    TrainOption(
        "droplast",
        "boolean",
        False,
        False,
        "Omit an incomplete last batch.",
        "q)train(m;`droplast;1b)\nq)train(m;70 2#1e;70 1#1e)\n2",
    ),
    TrainOption(
        "hidden",
        "boolean",
        False,
        False,
        "Pass the detached hidden state of a recurrent module to the next batch.",
        "q)train(m;`hidden;1b)\nq)train(m;`hidden)\n1b",
    ),
    TrainOption(
        "shuffle",
        "boolean",
        False,
        None,
        "Shuffle the rows before each run.",
        _DATA + "q)train(m;`shuffle;1b)\nq)run m;\nq)train(m;`shuffle)\n1b",
    ),
    TrainOption(
        "shufflecuda",
        "boolean",
        False,
        None,
        "If several tasks share the data, draw its order on the GPU.",
        "q)train(m;`shufflecuda)\n0b",
    ),
    TrainOption(
        "shuffleseed",
        "long",
        0,
        None,
        "The seed for the order of data shared by several tasks; it must be the same for all.",
        "q)train(m;`shuffleseed;42)\nq)train(m;`shuffleseed)\n42",
    ),
    TrainOption(
        "sync",
        "boolean",
        False,
        None,
        "Synchronize with the GPU after each batch, for timing.",
        "q)train(m;`sync;1b)\nq)train(m;`sync)\n1b",
    ),
    TrainOption(
        "clipgroup",
        "boolean",
        False,
        None,
        "Apply `clipnorm` to the norm of each parameter group separately.",
        "q)train(m;`clipgroup`clipnorm;(1b;.5))\nq)train(m;`clipgroup)\n1b",
    ),
    TrainOption(
        "clipnorm",
        "double",
        NIL,
        None,
        "The maximum gradient norm; gradients with a larger norm are scaled down.\n\nA second "
        "number is the exponent of the norm; `[]` for no limit.",
        "q)train(m;`clipnorm;1)\nq)train(m;`clipnorm)\n1 2f\nq)train(m;`clipnorm;[])",
    ),
    TrainOption(
        "clipvalue",
        "double",
        NIL,
        None,
        "The maximum absolute value of gradients, to which larger ones are clipped; `[]` "
        "for no limit.",
        "q)train(m;`clipvalue;.5)\nq)train(m;`clipvalue)\n0.5",
    ),
    TrainOption(
        "tensor",
        "boolean",
        False,
        False,
        "`run` returns its metrics as tensors instead of q values.",
        "q)train(m;`tensor;1b)\n" + _RUN + "q)class r\n`tensor",
    ),
    TrainOption(
        "dictionary",
        "boolean",
        False,
        False,
        "`run` returns its metrics as a dictionary, even if there is only one.",
        "q)train(m;`dictionary;1b)\n" + _RUN + "q)key r\n,`loss",
    ),
    TrainOption(
        "metrics",
        "symbols",
        _LOSS,
        _LOSS,
        "What `run` returns.\n\nloss (mean over all batches), batchloss (one per batch), accuracy "
        "(percent), matches (number of correct predictions), predict (index of each largest output), "
        "output, hidden, hiddencell.",
        "q)train(m;`metrics;`loss`batchloss)\n" + _RUN + "q)count r 1\n3",
    ),
    TrainOption(
        "accumulate",
        "long",
        1,
        None,
        "Make a step every so many batches, with the gradient of their mean loss.",
        "q)train(m;`accumulate;4)\nq)train(m;`accumulate)\n4",
        True,
    ),
    TrainOption(
        "autocast",
        "symbol",
        sym(""),
        sym(""),
        "Compute outputs and losses in `bfloat16 or `half as torch's autocast does; an "
        "empty symbol for none.",
        "q)train(m;`autocast;`bfloat16)\nq)train(m;`autocast)\n`bfloat16",
        True,
    ),
    TrainOption(
        "transform",
        "function",
        NIL,
        NIL,
        "A function of q or Python from each batch, (input;target) or a dictionary, to the batch that is used; `[]` "
        "for none.\n\nA q function is given handles. One of Python is given the batch as its loader made it, or "
        "tensors.",
        "q)train(m;`transform;{(2*x 0;x 1)})\n" + _RUN + "q)train(m;`transform;[])",
        True,
    ),
    TrainOption(
        "metric",
        "function",
        NIL,
        NIL,
        "A function of q or Python from output and target to a number, or a dictionary of functions; `[]` for none.\n\n"
        "`run` returns the mean over all batches, after `metrics`; its name is metric, or the key in the dictionary.",
        "q)train(m;`metric`dictionary;({[x;y]Max abs x-y};1b))\n" + _RUN + "q)key r\n`loss`metric",
        True,
    ),
    TrainOption(
        "callback",
        "function",
        NIL,
        NIL,
        "A function of q or Python that is called after each step, in testing after each batch; `[]` for none.\n\nIt "
        "is given a dictionary: batch, the number of batches so far; batches, that of all, 0N if it is not known; "
        "loss; and metrics, those of the option `metric`. An error in it ends the run, after the step.",
        'q)train(m;`callback;{-1 string[x`batch]," of ",string x`batches})\n'
        "q)run(m;70 2#1e;70 1#1e);\n1 of 3\n2 of 3\n3 of 3",
        True,
    ),
    TrainOption(
        "skip",
        "texts",
        NIL,
        NIL,
        "Rows of a table that are left out: a query that names them, or its condition; `[]` for none.\n\nA text is "
        "added to those that were given before. It reads as a table with a row for each: time, the epoch and batch at "
        "which it was given, the number of rows that it names, query. A part of that table in its place undoes the "
        "others. "
        "Batches keep their order and numbers, and are smaller by such rows.",
        'q)t:([]a:til 70;b:70#1e;y:70#0e)\nq)train(m;t);\nq)train(m;`skip;"select from t where a in 3 7")\n'
        "q)exec rows from train(m;`skip)\n,2\nq)datasize m\n68",
        True,
    ),
    TrainOption(
        "gradscale",
        "double",
        NIL,
        None,
        "Loss scale for `half, as in torch's GradScaler; `[]` for none.\n\nGradients are unscaled "
        "before a step. A step with infinite gradients is skipped and halves the scale, 2,000 other steps "
        "double it. It reads as scale and step count.",
        "q)train(m;`gradscale;1024)\nq)train(m;`gradscale)\n1024 0f",
        True,
    ),
    TrainOption(
        "stopnan",
        "boolean",
        False,
        None,
        "End the run with an error if a loss is null or infinite, before a step is made by it.\n\n"
        "The loss of each batch is then read back from its device, which on a GPU waits for the batch; without "
        "the option, nothing is read back.",
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
