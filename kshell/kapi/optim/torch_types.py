"""torch's optimizers: one row each, the source of creation, options, state, help and documentation."""

from __future__ import annotations

from typing import Any

from kshell.kapi.optim.optimizer import Values, row
from kshell.registry import Option


def _d(name: str, default: float, torch_name: str = "") -> Option:
    return Option(name, "double", float(default), torch_name)


def _b(name: str, default: bool = False, torch_name: str = "") -> Option:
    return Option(name, "boolean", default, torch_name)


_BETAS = (_d("beta1", 0.9, "betas.0"), _d("beta2", 0.999, "betas.1"))
_GREATEST = {"amsgrad": "max_exp_avg_sq"}
_MOMENTS = {k: k for k in ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")}


def _fill_lbfgs(values: Values) -> None:
    if values.get("eval") is None:
        values["eval"] = values["iter"] * 5 // 4


def _added_lbfgs(o: Any) -> None:
    o._numel_cache = None  # torch counts the elements once
    o.state.clear()  # directions with the previous length


# fmt: off  # a table
row(
    "adagrad",
    "torch.optim.Adagrad",
    """Adaptive gradient descent: each element has its own learning rate.

q)lr opt(`adagrad;();.1)
,0.1
""",
    _d("lr", 0.01),
    _d("lrdecay", 0, "lr_decay"),
    _d("decay", 0, "weight_decay"),
    _d("init", 0, "initial_accumulator_value"),
    _d("eps", 1e-10),
    state={"step": "step", "sum": "sum"},
)

row(
    "adam",
    "torch.optim.Adam",
    """Adaptive moment estimation: running averages of gradient and squared gradient.

q)objtype opt(`adam;();.001;.8)
`adam
""",
    _d("lr", 0.001),
    *_BETAS,
    _d("eps", 1e-8),
    _d("decay", 0, "weight_decay"),
    _b("amsgrad"),
    state=_MOMENTS,
    later=_GREATEST,
)

row(
    "adamw",
    "torch.optim.AdamW",
    """Adam with decoupled weight decay.

q)opt[(opt(`adamw;();.001;`decay,.1);0b)]`options
lr    decay
-----------
0.001 0.1
""",
    _d("lr", 0.001),
    *_BETAS,
    _d("eps", 1e-8),
    _d("decay", 0.01, "weight_decay"),
    _b("amsgrad"),
    state=_MOMENTS,
    later=_GREATEST,
)

row(
    "lbfgs",
    "torch.optim.LBFGS",
    """Limited-memory Broyden-Fletcher-Goldfarb-Shanno; a step calls back for the loss.

It has a single parameter group; step it through a model, with backstep or run.

q)opt[(opt(`lbfgs;();1.;`iter`eval!8 9);0b)]`options
lr iter eval
------------
1  8    9
""",
    _d("lr", 1),
    Option("iter", "long", 20, "max_iter"),
    Option("eval", "long", None, "max_eval"),
    _d("gradtol", 1e-7, "tolerance_grad"),
    _d("changetol", 1e-9, "tolerance_change"),
    Option("history", "long", 100, "history_size"),
    Option("search", "symbol", None, "line_search_fn", choices=("strong_wolfe",)),
    state={
        "func_evals": "func_evals",
        "n_iter": "n_iter",
        "t": "t",
        "prev_loss": "prev_loss",
        "d": "d",
        "h_diag": "H_diag",
        "prev_flag_grad": "prev_flat_grad",
        "old_dirs": "old_dirs",
        "old_stps": "old_stps",
        "ro": "ro",
    },
    drop=("al",),
    closure=True,
    sharded=False,
    groups=1,
    fill=_fill_lbfgs,
    added=_added_lbfgs,
)

row(
    "rmsprop",
    "torch.optim.RMSprop",
    """Learning rates scaled by a running average of the squared gradient.

q)lr opt(`rmsprop;();.1;.9)
,0.1
""",
    _d("lr", 0.01),
    _d("alpha", 0.99),
    _d("eps", 1e-8),
    _d("decay", 0, "weight_decay"),
    _d("momentum", 0),
    _b("centered"),
    state={
        "step": "step",
        "square_avg": "square_avg",
        "momentum": "momentum_buffer",
        "grad_avg": "grad_avg",
    },
    later={"momentum": "momentum_buffer", "centered": "grad_avg"},
)

row(
    "sgd",
    "torch.optim.SGD",
    """Stochastic gradient descent, with optional momentum.

q)t:tensor(.5 1 4;`grad)
q)o:opt(`sgd;t;1.)
q)backward mse(t;1 2 3.)
q)step o
q)tensor t
0.8333333 1.666667 3.333333
""",
    _d("lr", 0.01),
    _d("momentum", 0),
    _d("dampening", 0),
    _d("decay", 0, "weight_decay"),
    _b("nesterov"),
    state={"momentum_buffer": "momentum_buffer"},
)
# fmt: on


# ------------------------------------------------------------------ rows of what ktorch does not have

_TORCH = "torch"


def _kept(*names: str) -> dict[str, str]:
    """Buffers that are documented under torch's names."""
    return {name: name for name in names}


# fmt: off  # a table
row(
    "adadelta",
    "torch.optim.Adadelta",
    """Steps in the units of the parameters, from running averages of squares.

Zeiler 2012, arXiv 1212.5701.

q)lr opt`adadelta
,1f
""",
    _d("lr", 1),
    _d("rho", 0.9),
    _d("eps", 1e-6),
    _d("decay", 0, "weight_decay"),
    state=_kept("step", "square_avg", "acc_delta"),
    since=_TORCH,
)

row(
    "adafactor",
    "torch.optim.Adafactor",
    """Adam with a factored second moment: a row and a column for each matrix.

Shazeer and Stern 2018, arXiv 1804.04235. `clip` is the maximum root mean square of an update, `eps1` and `eps2` are the
minimum squared gradient (null: by data type) and the minimum scale of a parameter.

q)t:tensor(3 2#1e;`grad)
q)o:opt(`adafactor;t)
q)backward Sum t
q)step o
q)count each first exec buffers from state[o]`parms where i=0
step    | 1
row_var | 3
col_var | 1
variance| 1
""",
    _d("lr", 0.01),
    _d("betadecay", -0.8, "beta2_decay"),
    Option("eps1", "double", None, "eps.0"),
    _d("eps2", 0.001, "eps.1"),
    _d("clip", 1, "d"),
    _d("decay", 0, "weight_decay"),
    state=_kept("step", "row_var", "col_var", "variance"),
    sharded=False,
    since=_TORCH,
)

row(
    "adamax",
    "torch.optim.Adamax",
    """Adam with the maximum gradient instead of the mean squared one.

Kingma and Ba 2014, arXiv 1412.6980, section 7.1.

q)lr opt`adamax
,0.002
""",
    _d("lr", 0.002),
    *_BETAS,
    _d("eps", 1e-8),
    _d("decay", 0, "weight_decay"),
    state=_kept("step", "exp_avg", "exp_inf"),
    since=_TORCH,
)

row(
    "asgd",
    "torch.optim.ASGD",
    """Stochastic gradient descent with averaged parameters, in the buffer ax.

Polyak and Juditsky 1992. The rate decays with `lambd` to the power `alpha`; averaging starts after `t0` steps.

q)first exec t0 from opt[opt`asgd]`options
1000000f
""",
    _d("lr", 0.01),
    _d("lambd", 1e-4),
    _d("alpha", 0.75),
    _d("t0", 1e6),
    _d("decay", 0, "weight_decay"),
    state=_kept("step", "eta", "mu", "ax"),
    since=_TORCH,
)

row(
    "muon",
    "torch.optim.Muon",
    """Momentum orthogonalized by Newton-Schulz iteration; for matrices only.

Jordan 2024. Use it for the weights of hidden layers, and another optimizer for the rest. `ns1`, `ns2` and `ns3` are
the coefficients of the iteration, `steps` its number; `adjust` says how the rate depends on the matrix's size,
original or match_rms_adamw.

q)m:module enlist(`linear;3;2)
q)o:opt(`muon;(m;`weight);.02)
q)opt(o;(m;`bias))
'opt: muon takes parameters of 2 dimensions, parameter[0] has 1
  [0]  opt(o;(m;`bias))
       ^
""",
    _d("lr", 0.001),
    _d("decay", 0.1, "weight_decay"),
    _d("momentum", 0.95),
    _b("nesterov", True),
    _d("ns1", 3.4445, "ns_coefficients.0"),
    _d("ns2", -4.775, "ns_coefficients.1"),
    _d("ns3", 2.0315, "ns_coefficients.2"),
    _d("eps", 1e-7),
    Option("steps", "long", 5, "ns_steps"),
    Option("adjust", "symbol", None, "adjust_lr_fn", choices=("original", "match_rms_adamw")),
    state=_kept("momentum_buffer"),
    dims=2,
    since=_TORCH,
    first_torch="2.9",
)

row(
    "nadam",
    "torch.optim.NAdam",
    """Adam with Nesterov momentum.

Dozat 2016. With `decoupled`, weight decay is decoupled from the gradient, as in adamw.

q)first exec momentumdecay from opt[opt`nadam]`options
0.004
""",
    _d("lr", 0.002),
    *_BETAS,
    _d("eps", 1e-8),
    _d("decay", 0, "weight_decay"),
    _d("momentumdecay", 0.004, "momentum_decay"),
    _b("decoupled", torch_name="decoupled_weight_decay"),
    state=_kept("step", "mu_product", "exp_avg", "exp_avg_sq"),
    since=_TORCH,
)

row(
    "radam",
    "torch.optim.RAdam",
    """Rectified Adam: uses momentum alone until the variance of the adaptive rate is small.

Liu et al. 2019, arXiv 1908.03265. With `decoupled`, weight decay is decoupled from the gradient, as in adamw.

q)lr opt`radam
,0.001
""",
    _d("lr", 0.001),
    *_BETAS,
    _d("eps", 1e-8),
    _d("decay", 0, "weight_decay"),
    _b("decoupled", torch_name="decoupled_weight_decay"),
    state=_kept("step", "exp_avg", "exp_avg_sq"),
    since=_TORCH,
)

row(
    "rprop",
    "torch.optim.Rprop",
    """Steps by the sign of the gradient that grow while the sign stays the same.

Riedmiller and Braun 1993. For full-batch training. `etaminus` and `etaplus` shrink and grow a step, `least` and
`most` are its limits.

q)t:tensor(1 2e;`grad)
q)o:opt(`rprop;t;.5)
q)backward(t;3 -4e)
q)step o
q)tensor t
0.5 2.5e
""",
    _d("lr", 0.01),
    _d("etaminus", 0.5, "etas.0"),
    _d("etaplus", 1.2, "etas.1"),
    _d("least", 1e-6, "step_sizes.0"),
    _d("most", 50, "step_sizes.1"),
    state=_kept("step", "prev", "step_size"),
    sharded=False,
    since=_TORCH,
)

row(
    "sparseadam",
    "torch.optim.SparseAdam",
    """Adam for sparse gradients: rows without a gradient are not updated.

q)m:module enlist(`embed;4;2;`sparse,1b)
q)o:opt(`sparseadam;m)
q)backward Sum forward(m;0 2)
q)step o
q)first exec buffers[;`step]from state[o]`parms
1
""",
    _d("lr", 0.001),
    *_BETAS,
    _d("eps", 1e-8),
    state=_kept("step", "exp_avg", "exp_avg_sq"),
    since=_TORCH,
)
# fmt: on
