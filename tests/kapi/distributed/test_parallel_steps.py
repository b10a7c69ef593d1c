"""Processes that do different things with a module they share (`ddp`, `fsdp`): the same error on every process, at once,
and what comes after works.

Each situation is tried in one job with modules of both kinds; the job would end at its timeout if one waited for another.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.parallel.test_ranks import job, script

STEP = "l:mse(forward(m;shard X);shard Y)"
# while others wait in backward, the last one is in the next step
OTHERS = (r"backward: calculations differ", r"backward: processes are in different calls \(backward on 0, forward on")
# what the processes do (rank 1 or the last one something else), and what the error of all begins with; two if it is not
# the same for ddp and fsdp; empty if that is allowed
APART = {
    "another size": ("backward mse(forward(m;$[last1;6 5#1e;shard X]);shard Y)", r"forward: mat1 and mat2 shapes"),
    "another type": ("backward mse(forward(m;$[last1;tensor(6 4#1f;`double);tensor shard X]);shard Y)",
                     (r"forward: mat1 and mat2 must", r"forward: inputs differ between processes \(float32 of 2 dim")),
    "what is no input": ("backward mse(forward(m;$[last1;`a;shard X]);shard Y)", r"forward: unrecognized arg, symbol"),
    "fewer dimensions": ("backward mse(forward(m;$[last1;4#1e;shard X]);$[last1;3#1e;shard Y])",
                         (r"backward: inputs differ", r"forward: inputs differ")),
    "a target of another size": ("backward mse(forward(m;shard X);$[last1;(count shard X;7)#1e;shard Y])",
                                 OTHERS),
    "no forward": (f"if[not last1;{STEP};backward l]",
                   (r"backward: processes are in different calls \(backward on 0, barrier", "forward: processes are in diff")),
    "no backward": (f"{STEP};if[not last1;backward l]", r"backward: processes are in different calls \(backward on 0, bar"),
    "an error between": (f"{STEP};if[last1;'bad];backward l", OTHERS),
    "an error that is caught": (f"{STEP};@[{{if[last1;'bad];backward x}};l;::]",
                                r"barrier: processes are in different calls \(barrier on 0, forward on"),
    "a layer alone": ("backward $[last1;Sum forward(m;`0;shard X);mse(forward(m;shard X);shard Y)]",
                      (r"backward: processes are in different calls", r"forward: modules differ")),
    "a gradient of another size": ("f:forward(m;shard X);backward(f;(count shard X;$[last1;9;3])#1e)", r"backward: Mismatch in shape"),
    "backward a second time": (f"{STEP};backward l;if[last1;backward l]",
                               r"(backward: Trying to backward through the graph a second time|barrier: proc)"),
    "forward twice": (f"{STEP};if[last1;l:add(l;mse(forward(m;shard X);shard Y))];backward l",
                      (r"backward: calculations differ", r"(forward|backward): processes are in different calls")),
    "the one before": (f"{STEP};k:mse(forward(m;shard X);shard Y);backward $[last1;l;k]", r"backward: calculations differ"),
    "one of two": (f"{STEP};k:mse(forward(m;shard X);shard Y);backward $[last1;add(l;k);k]", r"backward: calculations differ"),
    "the other mode": ("training(m;not last1);l:mse(kforward(m;shard X);shard Y);training(m;1b);backward l",
                       (r"backward: modes differ between processes \(training on 0, evaluation on", r"forward: modes differ")),
    "another layer frozen": (f"gradflag(m;`2.bias;not last1);{STEP};backward l", (
        r"forward: processes are in different calls|backward: processes are in diff|ddp: parameters differ", "forward: frozen param")),
    "evaluate": ("if[last1;evaluate(m;shard X)];forward(m;shard X)", ("", r"forward: modes differ")),
    "another number of batches": ("train(q;`batchsize;2);run(q;$[last1;2 4#1e;shard X];$[last1;2 3#1e;shard Y])",
                                  r"run: numbers of batches differ between processes"),
    "a batch of another size": ("train(q;`batchsize;2);run(q;$[last1;(count shard X;5)#1e;shard X];shard Y)",
                                r"forward: mat1 and mat2 shapes"),
    "targets of another size": ("train(q;`batchsize;2);run(q;shard X;$[last1;(count shard Y;7)#1e;shard Y])",
                                r"run: The size of tensor a"),
    "no data": ("run(q;$[last1;`a;shard X];shard Y)", r"run: "),
    "a step of other sizes": ("backstep(q;$[last1;6 5#1e;shard X];shard Y)", r"forward: mat1 and mat2 shapes"),
    "loss of other sizes": ("backward(q;shard X;$[last1;6 7#1e;shard Y])", r"backward: The size of tensor a"),
    "fewer rows": ("backward mse(forward(m;$[last1;3 4#1e;shard X]);$[last1;3 3#1e;shard Y])", ""),
    "two backward": (f"{STEP};k:mse(forward(m;shard X);shard Y);backward l;backward k", ""),
    "one backward of two": (f"{STEP};k:mse(forward(m;shard X);shard Y);backward add(l;k)", ""),
    "a row in evaluation": ("training(m;0b);l:mse(kforward(m;shard X);shard Y);training(m;1b);backward l", ""),
}
SETUP = (
    "\\c 100 300", "last1:rank[]=world[]-1", 'X:"e"$(36 4#til 144)mod 7;Y:"e"$(36 3#til 108)mod 5',
    "begin:{[kind]seed 1;m::module seq(`sequential;(`linear;4;8);`relu;(`linear;8;3));$[kind=`ddp;ddp m;fsdp m];"
    "o::opt(`sgd;m;.01);q::model(addref m;loss`mse;opt(`sgd;m;.01))}",
    "good:{nograd o;backward mse(forward(m;shard X);shard Y);step o;1b}",
    "same:{1=count distinct allgather(dict parms m;{grad parm(m;x)}each key dict parms m)}",
    # what the processes did, their errors, and whether the job goes on as one
    "try:{[name;f]r:@[{nograd o;x[];barrier[];`};f;{x}];gradflag(m;`2.bias;1b);training(m;1b);w:@[{good 0};0;{x}];"
    "w:$[w~1b;w;@[{good 0};0;{x}]];say(name;r;w&same[])}")


def situations(kind: str, names: tuple[str, ...]) -> list[str]:
    return [f"begin`{kind};good each til 3", *(f'try["{k}";{{[]{APART[k][0]}}}]' for k in names)]


# where the last process has an error of its own, of which the others cannot know
OWN = {"a target of another size": r"mse: The size of tensor a", "an error between": r"bad",
       "an error that is caught": r"backward: processes are in different calls \(backward on 0, barrier on"}
MAIN = ("another size", "what is no input", "no backward", "an error between", "forward twice", "another layer frozen",
        "another number of batches", "targets of another size", "fewer rows", "two backward")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "names"), [(2, MAIN), pytest.param(2, tuple(APART), marks=pytest.mark.slow),
                                          pytest.param(3, tuple(APART), marks=pytest.mark.slow)])
def test_what_processes_do_differently(n: int, names: tuple[str, ...], tmp_path: Path) -> None:
    lines = [*SETUP, *situations("ddp", names), *situations("fsdp", names)]
    done = job(n, "--timeout", "20", script(tmp_path, *lines))
    found = [[s[4:].strip('"') for s in done.stdout.splitlines() if s.startswith(f"[{r}] ")] for r in range(n)]
    assert all(len(f) == 6 * len(names) for f in found) and done.returncode == 0, done.stdout + done.stderr
    wrong = []
    for i, (kind, name) in enumerate((k, name) for k in range(2) for name in names):
        want = APART[name][1] if isinstance(APART[name][1], str) else APART[name][1][kind]
        for r, (said, error, after) in enumerate(f[3 * i:3 * i + 3] for f in found):
            text = OWN.get(name, want) if r == n - 1 else want
            fits = re.match(text, error) if text else error == "`"
            alike = error == found[0][3 * i + 1] or (name in OWN and r == n - 1)
            if said != name or not fits or not alike or after != "1b":
                wrong.append((("ddp", "fsdp")[kind], name, r, error, after))
    assert not wrong


VALUES = (
    # (what is said, of each kind of module)
    ("w:module enlist(`linear;2;1;0b);KIND w;x:X:1 2#1e*1+rank[];g:{first grad parm(w;`weight)}",),
    ("do[3;nograd w;backward Sum forward(w;x)];say g[]", "1.5 1.5e"),
    # several forward calculations, and a second backward: the mean of each
    ("nograd w;a:Sum forward(w;x);b:Sum forward(w;x);backward a;backward b;say g[]", "3 3e"),
    ("nograd w;a:Sum forward(w;x);backward(a;`retain);backward a;say g[]", "3 3e"),
    ("nograd w;a:Sum forward(w;x);b:Sum forward(w;x);backward add(a;b);say g[]", "3 3e"),
    # batches of other lengths; none refused
    ("nograd w;backward mean forward(w;(1+rank[];2)#x);say g[]", "1.5 1.5e"),
    # half way through a calculation: later layers are there for the others
    ("n:module seq(`sequential;(`linear;4;8);(`batchnorm1d;8);(`linear;8;8);`relu;(`linear;8;1));KIND n",),
    ("do[2;backward Sum forward(n;4 4#1e)];say @[{backward Sum forward(n;(4-3*rank[];4)#1e)};0;53#]",
     '"forward: Expected more than 1 value per channel when "'),
    ("nograd n;backward Sum forward(n;4 4#1e);say 1=count distinct allgather grad parm(n;`4.weight)", "1b"),
    ("e:module seq(`sequential;(`embed;6;3);(`linear;3;1));KIND e;say @[{backward Sum forward(e;2 3#5+rank[])};0;::]",
     '"forward: embed: index 6 is out of bounds for 6 rows (on process 1)"'),
    ("backward Sum forward(e;2 3#5);say count grad parm(e;`0.weight)", "6"),
)
ONLY_DDP = (
    ("k:module seq(`fork;(`linear;`a;2;1);(`linear;`b;2;1));ddp k",),
    ("say @[{do[2;backward tensor(forward(k;X);0)]};0;::]",
     '"backward: no gradient comes to b.weight; ddp has the option unused for that"'),
    ("ddp(k;`unused,1b);do[2;backward tensor(forward(k;x);0)];say grad parm(k;`a.bias)", ",2e"),
    ("a:Sum tensor(forward(k;x);0);b:Sum tensor(forward(k;x);0);backward b;say @[backward;a;30#]",
     '"backward: one backward for eac"'),
)


@pytest.mark.sampled(2)
def test_gradients_of_several_calculations_and_errors_half_way(tmp_path: Path) -> None:
    rows = [*((a.replace("KIND", "ddp"), *s) for a, *s in VALUES), *ONLY_DDP,
            *((a.replace("KIND", "fsdp"), *s) for a, *s in VALUES)]
    done = job(2, "--timeout", "20", script(tmp_path, "\\c 100 300", *(row[0] for row in rows)))
    assert done.stdout.splitlines() == [f"[{r}] {row[1]}" for row in rows if len(row) > 1 for r in range(2)], done.stderr
    assert done.returncode == 0


def test_who_is_at_its_end_already(tmp_path: Path) -> None:
    done = job(2, "--timeout", "60", script(
        tmp_path, "m:module enlist(`linear;2;1);ddp m", "do[4;backward Sum forward(m;1 2#1e)]",
        "if[not rank[];backward Sum forward(m;1 2#1e)]"))
    assert "[0] 'backward: processes are in different calls (backward on 0, exit on 1)\n" in done.stderr
    assert done.returncode == 1
