"""Distributed optimizers: one row each."""

from __future__ import annotations

from kshell.extend import (
    Option,
    optimizer_row,
)

_SINCE = "mlbench"


def double(name: str, default: float, torch_name: str = "", low: float | None = None) -> Option:
    return Option(name, "double", float(default), torch_name, low=low)


def boolean(name: str, default: bool = False) -> Option:
    return Option(name, "boolean", default)


_LR, _DECAY = double("lr", 0.01), double("decay", 0, "weight_decay")
_SGD = (_LR, double("momentum", 0), double("dampening", 0), _DECAY, boolean("nesterov"))
AGGREGATION = (boolean("bylayer"), boolean("agggrad", True), boolean("before"))
_SPARSE = (
    _LR,
    _DECAY,
    Option("k", "long", 10, low=1, doc="coordinates per parameter and step"),
    boolean("random"),
    Option("seed", "long", 1, low=0),
)
_MOMENTUM = {"momentum_buffer": "momentum_buffer"}
_MEMORY = {"memory": "memory", "estimated": "estimated"}

# fmt: off  # a table
optimizer_row(
    "signsgd",
    "kshell.families.mlbench.optimizers.SignSGD",
    """Steps of constant size by the sign of SGD's direction.

Bernstein et al. 2018, arXiv 1802.04434. Weight decay is applied inside the sign.

q)t:tensor(1 2 3e;`grad)
q)o:opt(`signsgd;t;.5)
q)backward(t;.1 0 -7e)
q)step o
q)tensor t
0.5 2 3.5e
""",
    *_SGD,
    state=_MOMENTUM,
    since=_SINCE,
)

optimizer_row(
    "sparsifiedsgd",
    "kshell.families.mlbench.optimizers.SparsifiedSGD",
    """SGD that applies k coordinates per step and accumulates the rest.

Stich, Cordonnier and Jaggi 2018, arXiv 1809.07599. The coordinates are k consecutive ones or, with random, any k.
Weight decay is not multiplied by the rate. `estimated` returns running means of the parameters.

q)t:tensor(6#1e;`grad)
q)o:opt(`sparsifiedsgd;t;.5;`k,2)
q)backward Sum t
q)step o
q)sum 1=tensor t
4i
""",
    *_SPARSE,
    state=_MEMORY,
    sharded=False,
    since=_SINCE,
)

optimizer_row(
    "centralizedsparsifiedsgd",
    "kshell.families.mlbench.optimizers.CentralizedSparsifiedSGD",
    """Distributed sparsifiedsgd.

Each process selects its own coordinates; the update is the sum over processes or, with average, the mean.

q)objtype opt(`centralizedsparsifiedsgd;();.1;`k`average!(3;0b))
`centralizedsparsifiedsgd
""",
    *_SPARSE,
    boolean("average", True),
    state=_MEMORY,
    sharded=False,
    meets=True,
    since=_SINCE,
)

optimizer_row(
    "centralizedsgd",
    "kshell.optim.aggregate.CentralizedSGD",
    """SGD with the mean gradient over all processes.

With agggrad off, each process steps by its own gradient and the weights are averaged. bylayer sends each parameter
separately; before divides before summing.

q)opt[(opt(`centralizedsgd;();.1;`agggrad,0b);0b)]`options
lr  agggrad
-----------
0.1 0
""",
    *_SGD,
    *AGGREGATION,
    state=_MOMENTUM,
    sharded=False,
    meets=True,
    since=_SINCE,
)

optimizer_row(
    "centralizedadam",
    "kshell.optim.aggregate.CentralizedAdam",
    """Adam with the mean gradient over all processes.

The last three options are as for centralizedsgd.

q)lr opt(`centralizedadam;();.002)
,0.002
""",
    double("lr", 0.001),
    double("beta1", 0.9, "betas.0"),
    double("beta2", 0.999, "betas.1"),
    double("eps", 1e-8),
    _DECAY,
    boolean("amsgrad"),
    *AGGREGATION,
    state={k: k for k in ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")},
    sharded=False,
    meets=True,
    since=_SINCE,
)

optimizer_row(
    "powersgd",
    "kshell.families.mlbench.powersgd.PowerSGD",
    """SGD with a mean gradient that is sent as two low-rank matrices.

Vogels, Karimireddy and Jaggi 2019, arXiv 1905.13727. The matrices have rank columns; the compression error is added to
the next gradient. With reuse, each step starts from the previous step's matrices. A single process does plain SGD
unless always is set.

q)m:module enlist(`linear;3;2)
q)o:opt(`powersgd;m;.1;`rank`always!(2;1b))
q)backward mse(forward(m;2 3#1 2 3e);2 2#0e)
q)step o
q)1e-5>max abs raze first[exec buffers from state[o]`parms where name=`weight]`memory
1b
""",
    *_SGD,
    Option("rank", "long", 1, low=1),
    boolean("reuse"),
    boolean("bylayer"),
    Option("seed", "long", 1, low=0),
    boolean("always"),
    state={**_MOMENTUM, "memory": "memory", "query": "query"},
    sharded=False,
    meets=True,
    since=_SINCE,
)

optimizer_row(
    "decentralizedsgd",
    "kshell.families.mlbench.optimizers.DecentralizedSGD",
    """Local SGD, followed by averaging weights with neighbours.

Lian et al. 2017, arXiv 1705.09056. `topo` returns the neighbours in common graphs. With metropolis weights, averaging
preserves the mean over all processes on any graph.

q)opt[(opt(`decentralizedsgd;();.1;`neighbors,enlist topo`ring);0b)]`options
lr
---
0.1
""",
    *_SGD,
    Option("neighbors", "size", ()),
    Option("weights", "symbol", "uniform", choices=("uniform", "metropolis")),
    boolean("bylayer"),
    state=_MOMENTUM,
    sharded=False,
    meets=True,
    since=_SINCE,
)
# fmt: on
