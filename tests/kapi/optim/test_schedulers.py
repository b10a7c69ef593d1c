"""Schedulers: Megatron's kind from Python and q, torch's, their state, and what the original gets wrong."""

from __future__ import annotations

import math
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kshell.families.megatron.scheduler import (
    LR_STYLES,
    WSD_STYLES,
    OptimizerParamScheduler,
    combine_param_group_overrides,
    get_canonical_lr_for_logging,
    param_group_override_to_tuple,
)
from kshell.session import Session
from tests.support import warm
from tests.support.runner import console

CFG: dict[str, Any] = {"init_lr": 0.0, "max_lr": 0.1, "min_lr": 0.001, "lr_warmup_steps": 10, "lr_decay_steps": 100,
                       "lr_decay_style": "linear", "start_wd": 0.0, "end_wd": 0.2, "wd_incr_steps": 80,
                       "wd_incr_style": "linear"}


def groups(*own: dict[str, Any]) -> Any:
    return types.SimpleNamespace(param_groups=[dict(g) for g in own or ({},)])


def made(*own: dict[str, Any], **more: Any) -> OptimizerParamScheduler:
    return OptimizerParamScheduler(groups(*own), **{**CFG, **more})


# ------------------------------------------------------------------ the class, without q


def test_steps_are_a_function_of_their_sum() -> None:
    for style in LR_STYLES:
        more = {"lr_decay_style": style, "wsd_decay_steps": 30}
        a, b = made({}, {"max_lr": 0.3}, **more), made({}, {"max_lr": 0.3}, **more)
        for n in (3, 9, 40, 60):
            a.step(n)
        b.step(112)
        assert a.optimizer.param_groups == b.optimizer.param_groups


def test_every_group_is_written_also_an_empty_one_and_a_rate_in_a_tensor() -> None:
    held = torch.zeros(())
    s = made({"params": []}, {"lr": held, "wd_mult": 0.0})
    s.step(10)
    first, second = s.optimizer.param_groups
    assert (first["lr"], first["weight_decay"]) == (0.1, 0.025)
    assert second["lr"] is held and held.item() == pytest.approx(0.1) and second["weight_decay"] == 0


def test_arrays_and_single_steps_agree_bit_for_bit() -> None:
    for style in LR_STYLES:
        for fall in WSD_STYLES:
            s = made(lr_decay_style=style, wsd_decay_steps=45, lr_wsd_decay_style=fall)
            n = np.arange(120)
            lr, wd = s.lr_at(n), s.wd_at(n)
            assert wd is not None
            for k in n:
                s.num_steps = int(k)
                assert s.get_lr() == lr[k] and s.get_wd() == wd[k]


def test_load_sets_the_count_it_does_not_add_to_it() -> None:
    s = made()
    s.step(15)
    s.load_state_dict({**made().state_dict(), "num_steps": 50})
    assert s.num_steps == 50


def test_weight_decay_is_that_of_the_loaded_settings_at_once() -> None:
    s = made()
    s.load_state_dict({**s.state_dict(), "end_wd": 0.4, "wd_incr_steps": 20, "num_steps": 20})
    assert s.optimizer.param_groups[0]["weight_decay"] == 0.4


def test_all_settings_are_in_the_state() -> None:
    s = made(lr_decay_style="WSD", wsd_decay_steps=20, lr_wsd_decay_style="cosine", init_lr=0.01)
    s.step(93)
    other = made(lr_decay_style="WSD", wsd_decay_steps=50, lr_wsd_decay_style="linear")
    other.load_state_dict(s.state_dict())
    assert other.state_dict() == s.state_dict()
    for _ in range(9):
        s.step()
        other.step()
        assert s.optimizer.param_groups == other.optimizer.param_groups


def test_no_steps_of_weight_decay_give_the_last_value_at_once() -> None:
    assert made(wd_incr_steps=0).optimizer.param_groups[0]["weight_decay"] == 0.2


@pytest.mark.parametrize("more", [
    {"lr_decay_style": "stairs"}, {"wd_incr_style": "stairs"}, {"lr_decay_style": "WSD"},
    {"lr_decay_style": "WSD", "wsd_decay_steps": 10, "lr_wsd_decay_style": "stairs"}, {"min_lr": -1.0},
    {"max_lr": 0.0001}, {"init_lr": 0.2}, {"lr_decay_steps": 0}, {"lr_warmup_steps": 100}, {"start_wd": 0.3},
    {"start_wd": None}, {"max_lr": math.nan}, {"lr_decay_steps": math.inf}, {"wd_incr_style": "constant"},
    {"override_opt_param_scheduler": True}])
def test_contradictions_are_refused_when_it_is_made(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        made(**more)


def test_a_refused_state_changes_nothing() -> None:
    s = made(use_checkpoint_opt_param_scheduler=False)
    s.step(7)
    before = s.state_dict(), [dict(g) for g in s.optimizer.param_groups]
    for state in ({**s.state_dict(), "max_lr": 0.3}, {k: v for k, v in s.state_dict().items() if k != "num_steps"}):
        with pytest.raises((ValueError, KeyError)):
            s.load_state_dict(state)
    t = made()
    with pytest.raises(ValueError):
        t.load_state_dict({**t.state_dict(), "lr_warmup_steps": 1000})
    assert (s.state_dict(), s.optimizer.param_groups) == before and t.state_dict() == made().state_dict()


def test_left_alone_weight_decay() -> None:
    s = made({"weight_decay": 0.7}, start_wd=None, end_wd=None)
    s.step(50)
    assert s.optimizer.param_groups[0]["weight_decay"] == 0.7


def test_overrides_combine_and_make_keys() -> None:
    assert combine_param_group_overrides([]) == {}
    assert combine_param_group_overrides([None, {"a": 1}, {"a": 1, "b": 2}]) == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match=r"Conflicting overrides for wd_mult: 0.0 and 1.0"):
        combine_param_group_overrides([{"wd_mult": 0.0}, {"wd_mult": 1.0}])
    assert param_group_override_to_tuple(None) is None
    assert param_group_override_to_tuple({"b": 2, "a": 1}) == (("a", 1), ("b", 2))


def test_the_rate_for_logs() -> None:
    assert get_canonical_lr_for_logging([{"lr": 1.0}, {"lr": 2.0, "default_config": True}]) == 2.0
    assert get_canonical_lr_for_logging([{"lr": 1.0}]) is None


def test_quirks_that_are_kept() -> None:
    s = made(lr_decay_style="inverse-square-root")
    assert s.lr_at([100, 101]).tolist() == [pytest.approx(0.1 / math.sqrt(10)), 0.001]
    s = made(lr_decay_style="WSD", wsd_decay_steps=95, lr_wsd_decay_style="linear")
    assert s.lr_at(11)[0] < 0.1 - 0.005  # the decay has begun before the warm-up ended
    s = made({"max_lr": 0.02}, init_lr=0.05)
    assert s.lr_at([0, 5, 10], s.optimizer.param_groups[0]).tolist() == pytest.approx([0.05, 0.035, 0.02])


# ------------------------------------------------------------------ in q

# makers of schedulers of o, by name
MAKERS = {
    "constant": "sched(o;`constant;`max`warmup!(.1;3))",
    "linear": "sched(o;`linear;0;.1;.01;3;9)",
    "cosine": "sched(o;`cosine;`max`steps!(.1;9);`style`start`end`steps!(`cosine;.01;.1;7))",
    "invsqrt": "sched(o;`invsqrt;0;.1;.01;2;20)",
    "wsd": "sched(o;`wsd;`max`warmup`steps`wsdsteps`wsdstyle!(.1;2;9;5;`minussqrt))",
    "lambdalr": "sched(o;`lambdalr;{1%1+x})",
    "lambdas": "sched(o;`lambdalr;({1%1+x};{.9 xexp x}))",
    "multiplicativelr": "sched(o;`multiplicativelr;{$[x<4;.9;1.1]})",
    "steplr": "sched(o;`steplr;2;.5)",
    "multisteplr": "sched(o;`multisteplr;2 4 7;.5)",
    "constantlr": "sched(o;`constantlr;.5;6)",
    "linearlr": "sched(o;`linearlr;.1;1;6)",
    "exponentiallr": "sched(o;`exponentiallr;.8)",
    "polynomiallr": "sched(o;`polynomiallr;9;2)",
    "cosineannealinglr": "sched(o;`cosineannealinglr;6)",
    "cosineannealingwarmrestarts": "sched(o;`cosineannealingwarmrestarts;3;2)",
    "cycliclr": "sched(o;`cycliclr;.01;.1;3;`mode`gamma!(`exp_range;.9))",
    "onecyclelr": "sched(o;`onecyclelr;.1 .2;12)",
    "sequentiallr": "sched(o;`sequentiallr;(sched(o;`linearlr;.1;1;6);sched(o;`exponentiallr;.8));4)",
    "chainedscheduler": "sched(o;`chainedscheduler;(sched(o;`constantlr;.1;6);sched(o;`exponentiallr;.8)))",
    "swalr": "sched(o;`swalr;.02 .01;4)",
    "reducelronplateau": "sched(o;`reducelronplateau;`patience`cooldown!1 1)",
}
PLATEAU = "reducelronplateau"


def test_every_scheduler_is_among_these() -> None:
    session = Session()
    console(session, "seed 1")
    from kshell import registry

    assert {e.name for e in registry.entries("scheduler")} == set(MAKERS) - {"lambdas"}


def session_of(*lines: str) -> Session:
    session = Session()
    for line in lines:
        assert console(session, line) == "", line
    return session


OPTIMIZER = "o:opt(`adamw;();.05;`decay,.02);opt(o;1;();.02)"


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {PLATEAU}))
def test_lrs_says_what_steps_do_and_touches_nothing(name: str) -> None:
    s = session_of(OPTIMIZER, f"s:{MAKERS[name]}", "a:(opt o;state s)", "t:lrs(s;til 11)")
    assert console(s, "a~(opt o;state s)") == "1b\n"
    assert console(s, "r:enlist lr s;(exec lr from t)~r,{step s;lr s}each til 10") == "1b\n"
    assert console(s, "t~lrs(s;til 11)") == "1b\n"
    assert console(s, "(exec lr from lrs(s;5 0 5))~(exec lr from t)5 0 5") == "1b\n"
    assert console(s, "count distinct exec lr from t") not in ("0\n", "1\n")


def test_wd_of_lrs_is_what_steps_write() -> None:
    s = session_of("o:opt(`sgd;())", "opt(o;1;())", "override(o;1;`wdmult`endwd!(.5;.4));",
                   "s:sched(o;`linear;`max`steps!(.1;9);`style`start`end`steps!(`cosine;.01;.2;5))", "t:lrs(s;til 8)")
    assert console(s, "r:enlist exec decay from opt[o]`options;"
                      "(exec wd from t)~r,{step s;exec decay from opt[o]`options}each til 7") == "1b\n"


def test_a_plateau() -> None:
    s = session_of("o:opt(`sgd;();1.)", "s:sched(o;`reducelronplateau;`patience`factor!(1;.1))")
    for metric, rate in ((3, 1), (2, 1), (2, 1), (2, 0.1), (1, 0.1)):
        assert console(s, f"step(s;{metric}.)") == ""
        assert console(s, "lr s") == f",{rate if rate < 1 else '1f'}\n"
    assert console(s, "step s").startswith("'step: reducelronplateau expects the measured number")
    assert console(s, "lrs(s;til 3)").startswith("'lrs: the rates of reducelronplateau depend on the metric passed to each step")


START = r"""
x:tensor "e"$(0N 4#til 48)mod 5; y:tensor "e"$12 2#til 24
seed 7; m:module enlist(`linear;4;2)
"""
LOOP = r"""
go:{[n]do[n;zerograd o; backward mse(forward(m;x);y); step o; $[plateau;step(s;3.);step s]]}
"""
SAID = r"""
-1 raze string raze{-8!x}each value dict parms m; -1 .Q.s1 lr o; -1 .Q.s1 opt[o]`options; -1 .Q.s1 state s;
"""


def run(folder: Path, *parts: str) -> str:
    (folder / "s.q").write_text("".join(parts))
    done = warm.run([sys.executable, "-m", "kshell", "-q", "s.q"], cwd=folder, capture_output=True, text=True,
                    timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.sampled(3)
def test_saved_restored_and_continued_is_bit_equal(tmp_path: Path) -> None:
    """Of every scheduler: five steps, a file, a new process, five more; and the same without the break."""
    whole, first, second = [], [], []
    for i, (name, maker) in enumerate(MAKERS.items()):
        kind = f"plateau:{int(name == PLATEAU)}b\n"
        more = "`decay,.02" if name in ("cosine",) else "`decay,.01"
        make = START + f"o:opt(`adamw;(m;`weight);.05;{more});opt(o;1;(m;`bias);.02)\ns:{maker}\n" + kind
        whole.append(f"{make}{LOOP}go 10{SAID}")
        first.append(f"{make}{LOOP}go 5\n`:m{i} set state m;`:o{i} set state o;`:s{i} set state s;")
        # odd ones are restored with their optimizer, even ones by themselves
        again = "s:sched o" if i % 2 else f"free s:sched o;s:sched(o;get`:s{i})"
        second.append(f"x:tensor \"e\"$(0N 4#til 48)mod 5; y:tensor \"e\"$12 2#til 24\nm:module get`:m{i}\n"
                      f"o:opt(get`:o{i};m);{again}\n{kind}{LOOP}go 5{SAID}")
    a = run(tmp_path, "\n".join(whole))
    assert run(tmp_path, "\n".join(first)) == ""
    b = run(tmp_path, "\n".join(second))
    at = [line for line in zip(a.splitlines(), b.splitlines(), strict=True) if line[0] != line[1]]
    assert not at, at[0]
    assert len(a.splitlines()) == 4 * len(MAKERS)


def test_a_state_from_an_optimizer_made_anew() -> None:
    """The rates come from the state, whatever those of the optimizer are."""
    for name, maker in MAKERS.items():
        more = ";3." if name == PLATEAU else ""
        s = session_of(OPTIMIZER, f"s:{maker}", f"do[3;step(s{more or ';1'})]", "a:lr s", "st:state s",
                       "o:opt(`adamw;();.9;`decay,.02);opt(o;1;();.9)", "s2:sched(o;st)")
        assert console(s, "a~lr s2") == "1b\n", name
        assert console(s, "st~state s2") == "1b\n", name
        assert console(s, f"do[3;step(s{more or ';1'});step(s2{more or ';1'})];(lr s)~lr s2") == "1b\n", name


def test_loading_into_a_scheduler_of_torch() -> None:
    s = session_of(OPTIMIZER, "s:sched(o;`steplr;2;.5)", "st:state s", "step(s;5)", "sched(s;st)")
    assert console(s, "lr o") == "0.05 0.02\n"
    assert console(s, "st~state s") == "1b\n"
    assert console(s, "sched(s;state sched(o;`exponentiallr;.5))").startswith(
        "'sched: expecting a state of steplr, given ")
    assert console(s, "sched[s]`steps") == "0\n"


def test_a_failed_step_changes_nothing() -> None:
    s = session_of(OPTIMIZER, "s:sched(o;`onecyclelr;.1;3)", "step(s;2)", "a:(opt o;state s)")
    assert console(s, "step(s;5)").startswith("'step: Tried to step 4 times")
    assert console(s, "a~(opt o;state s)") == "1b\n"
    s = session_of(OPTIMIZER, "s:sched(o;`lambdalr;{$[x>2;'`late;.5]})", "step(s;2)", "a:(opt o;state s)")
    assert console(s, "step s").startswith("'late")
    assert console(s, "a~(opt o;state s)") == "1b\n"


def test_a_refused_scheduler_changes_nothing() -> None:
    s = session_of(OPTIMIZER, "s:sched(o;`steplr;2)", "step s", "a:(opt o;state s)")
    for text in ("sched(o;`cosine;`max`steps`init!(.1;5;.2))", "sched(o;`lambdalr;{`a})", "sched(o;`onecyclelr;.1)",
                 "sched(o;`sequentiallr;(s;sched(opt`sgd;`steplr;2));3)", "sched(o;`sequentiallr;(s;s);3)",
                 "sched(o;`onecyclelr;.1 .2 .3;10)", "sched(o;@[state s;`groups;1#])"):
        assert console(s, text).startswith("'"), text
        assert console(s, "a~(opt o;state s)") == "1b\n", text
        assert console(s, "mapped s") == "1b\n"


def test_modes_of_loading() -> None:
    make = "sched(o;`linear;`max`steps`load!(.1;100;`{}))"
    other = "sched(opt(`adamw;());`cosine;`max`steps!(.2;50))"
    for mode, rate, name in (("checkpoint", 0.2, "cosine"), ("override", 0.1, "linear")):
        s = session_of("o:opt(`adamw;())", f"s:{make.format(mode)}", "step(s;3)", f"b:{other}", "step(b;20)",
                       "sched(s;state b)")
        assert console(s, "sched[s]`steps") == "20\n"
        assert console(s, "sched[s][`options]`max") == f"{rate}\n"
        assert console(s, "objtype s") == f"`{name}\n"
        assert console(s, "(lr s)~exec lr from lrs(s;20)") == "1b\n"
    s = session_of("o:opt(`adamw;())", f"s:{make.format('strict')}", "step(s;3)", f"b:{other}")
    assert console(s, "sched(s;state b)").startswith("'sched: max is 0.1 here and 0.2 in the state")
    assert console(s, "sched[s]`steps") == "3\n"


def test_overrides_are_part_of_the_state() -> None:
    s = session_of("o:opt(`adamw;())", "opt(o;1;())", "override(o;1;`max`wdmult!(.3;0f));",
                   "s:sched(o;`linear;`max`steps`startwd!(.1;10;.5))", "step(s;5)", "st:state s",
                   "p:opt(`adamw;())", "opt(p;1;())", "s2:sched(p;st)")
    assert console(s, "override(p;1)") == "max   | 0.3\nwdmult| 0\n"
    assert console(s, "(lr o)~lr p") == "1b\n"
    assert console(s, "lr p") == "0.05 0.15\n"
    assert console(s, "exec decay from opt[p]`options") == "0.5 0\n"


def test_a_new_scheduler_begins_at_the_rates_of_now() -> None:
    """What an earlier scheduler left in the parameter groups does not count."""
    s = session_of("o:opt(`sgd;();1.)", "s:sched(o;`onecyclelr;.5;10)", "free s", "lr(o;.2)", "s:sched(o;`steplr;1;.5)")
    assert console(s, "exec lr from lrs(s;til 3)") == "0.2 0.1 0.05\n"
    assert session_of("o:opt(`sgd;();1.;.9)", "free sched(o;`onecyclelr;.5;10)",
                      "s:sched(o;`linear;`max`steps!(.1;10))").handles is not None
    s = session_of("o:opt(`sgd;();1.;.9)", "free sched(o;`onecyclelr;.5;10)", "s:sched(o;`linear;`max`steps!(.1;10))")
    assert console(s, "lr o") == ",0.1\n"


def test_groups_made_later() -> None:
    s = session_of("o:opt(`sgd;();1.)", "s:sched(o;`linear;`max`steps!(.1;10))", "opt(o;1;();.7)", "step s")
    assert console(s, "lr o") == "0.09 0.09\n"
    s = session_of("o:opt(`sgd;();1.)", "s:sched(o;`steplr;2)", "opt(o;1;();.7)", "step(s;2)")
    assert console(s, "lr o") == "0.1 0.07\n"
    s["o"].obj.torch.add_param_group({"params": []})  # behind the back of all
    assert console(s, "step s").startswith("'steplr: made for 2 parameter group(s), the optimizer has 3")


def test_a_scheduler_is_shown_with_its_optimizer() -> None:
    s = session_of("o:opt(`sgd;();1.)")
    assert console(s, "`wrap in key opt o") == "0b\n"
    assert console(s, "s:sched(o;`steplr;2);opt[o][`wrap;`sched;`scheduler]") == "`steplr\n"
    assert console(s, "free s;`wrap in key opt o") == "0b\n"


def test_of_a_model() -> None:
    s = session_of("m:module enlist(`linear;2;1)", "q:model(m;loss`mse;opt(`sgd;m;.5))",
                   "s:sched(q;`linear;`max`steps!(.1;10))")
    assert console(s, "lr q") == ",0.1\n"


def test_completion_and_help() -> None:
    from kshell.shell.complete import candidates

    session = Session()

    def offered(text: str) -> list[str]:
        return sorted(candidates(session, text))

    assert offered("s:sched(o;`cosi") == ["cosine", "cosineannealinglr", "cosineannealingwarmrestarts"]
    assert offered("scale(o;`ada") == ["adamscale", "adascale"]
    assert "sched" in offered("sch") and "steplr" in offered("help`stepl")
    assert console(session, "(help`steplr)~`stepsize`gamma!(0N;.1)") == "1b\n"
    assert console(session, "exec scheduler from help`scheduler").startswith("`chainedscheduler`constant")
    assert console(session, "(options`wsd)`wsdstyle") == "`exponential\n"


@pytest.mark.parametrize("text,error", [
    ("sched(o;@[st;`options;:;1])", "expected name,value pairs, given long scalar"),
    ("sched(o;@[st;`rates;:;`a])", "sched: unrecognized state, expecting a rate for each parameter group"),
    ("sched(o;@[st;`groups;:;1 2])", "sched: unrecognized state, expecting numbers for each parameter group"),
    ("sched(o;@[st;`state;:;3])", "sched: unrecognized state, expecting dictionary, given long scalar"),
    ("sched(o;@[st;`state;:;`a`b!1 2])", "sched: the state has no max"),
    ("sched(o;@[st;`scheduler;:;`foo])", "sched: unrecognized scheduler: foo"),
    ("sched(o;@[st;`scheduler;:;3])", "sched: unrecognized state, expecting a scheduler's name, given long scalar"),
    ("sched(o;st _`state)", "sched: the state has no state"),
    ("sched(o;@[st;`state;,;enlist[`num_steps]!enlist -1])", "sched: num_steps is not a number from 0 on"),
    ("sched(o;@[st;`state;,;enlist[`max_lr]!enlist 0w])", "sched: max is inf, expecting a finite number"),
    ("sched(o;@[st;`groups;:;3])", "sched: the state is of 0 parameter group(s), the optimizer has 1"),
    ("sched(opt(`sgd;());1)", "sched: expecting a scheduler's name, given long scalar"),
    ("sched(1;`linear)", "sched: expecting optimizer or model, and the name of a scheduler"),
    ("sched(o;`linear;`max`steps!(.1;0N))", "linear: steps not defined"),
    ("sched(o;`linear;`max`steps!(0w;10))", "linear: max is inf, expecting a finite number"),
    ("sched(o;`linear;`max`steps`min!(.1;10;.2))", "linear: max 0.1 is below min 0.2"),
    ("sched(o;`linear;`max`steps`warmup!(.1;10;10))", "linear: warmup is 10, expecting 0 or above and less than steps 10"),
    ("sched(o;`linear;`max`steps`startwd`endwd!(.1;10;.2;.1))",
     "linear: weight decay from startwd 0.2 to endwd 0.1, expecting it to go from 0 or above upwards"),
    ("sched(o;`linear;`max`steps`wdstyle!(.1;10;`foo))",
     "linear wdstyle: unrecognized setting `foo, expecting one of `constant`linear`cosine"),
    ("sched(o;`linear;`max`steps!(.1;10);`foo`bar!1 2)", "linear: unrecognized setting of the weight decay: foo"),
    ("sched(o;`wsd;`max`steps!(.1;10))", "wsd: wsdsteps not defined"),
    ("sched(o;`steplr;0)", "steplr stepsize: 0 is below 1"), ("sched(o;`multisteplr;-1 2)", "multisteplr milestones: -1 "),
    ("sched(o;`steplr;`a)", "steplr stepsize: expected long scalar, given symbol scalar"),
    ("sched(o;`steplr;2;`foo,1)", "sched: unrecognized scheduler setting: foo"),
    ("sched(o;`lambdalr;3)", "lambdalr lrlambda: expected function, given long scalar"),
    ("sched(o;`sequentiallr;1 2;3)", "sequentiallr schedulers: expected different schedulers, given "),
    ("sched(o;`sequentiallr;(sched(o;`reducelronplateau);sched(o;`steplr;2));3)", "sequentiallr: reducelronplateau "),
    ("sched(opt(`sparseadam;());`linear;`max`steps`startwd!(.1;10;.1))",
     "linear: the optimizer sparseadam has no weight decay"),
    ("override(o;0;`foo,1)", "override: unrecognized option `foo, expecting one of `max`min`startwd`endwd`wdmult"),
    ("override(o;1;`max,1)", "override: expecting optimizer, one of 1 group(s), and options"),
    ("override(o;0;`max,-1.)", "override max: -1 is below 0"),
    ("override(o;0;`max`min!1 2.)", "override: max 1 is below min 2"),
    ("override(opt(`sgd;());0;`startwd`endwd!.2 .1)", "override: endwd 0.1 is below startwd 0.2"),
    ("override(o;0;`wdmult,0n)", "override wdmult: expected long/double scalar, given null"),
    ("combine(1;2)", "combine: expecting dictionaries, given long scalar"),
    ("okey 1", "okey: expecting dictionary, given long scalar"), ("lrs(s;-1)", "lrs: expecting scheduler and numbers "),
    ("lrs(o;1)", "lrs: expecting scheduler and numbers of steps, given optimizer"),
    ("step(s;-1)", "step: expecting the number of steps"), ("step(s;1;2)", "step: expecting 1-2 args, given 3"),
    ("lr(s;1.)", "lr: a scheduler sets the rates itself; set those of the optimizer"),
])
def test_what_is_refused(text: str, error: str) -> None:
    s = session_of("o:opt(`sgd;();.1)", "s:sched(o;`linear;`max`steps`startwd!(.1;100;.01))", "step(s;3)",
                   "st:state s", "a:(opt o;state s)")
    said = console(s, text)
    assert said.startswith("'" + error), said
    assert console(s, "a~(opt o;state s)") == "1b\n"


def test_a_state_that_went_through_json() -> None:
    s = session_of("o:opt(`sgd;();.1)", "s:sched(o;`linear;`max`steps!(.1;100))", "step(s;5)", "b:lr o",
                   "j:.j.j state[s]`state", "step(s;5)", "sched(s;.j.k j)")
    assert console(s, "(b~lr o;sched[s]`steps;type sched[s]`steps)") == "1b\n5\n-7h\n"


def test_keys_and_combinations() -> None:
    s = Session()
    assert console(s, "okey(::)") == ""
    assert console(s, "count combine()") == "0\n"
    assert console(s, "okey combine((1#`b)!1#2;(1#`a)!1#1)") == "`a 1\n`b 2\n"
    assert console(s, "(okey`b`a!2 1)~okey`a`b!1 2") == "1b\n"
    assert console(s, "combine((1#`b)!1#2;(1#`b)!1#3)").startswith("'combine: conflicting overrides for b: 2 and 3")
