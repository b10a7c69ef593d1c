"""Snapshots: what is saved comes back in a fresh process, training goes on bit for bit, damaged files change nothing."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from tests.support import warm
from tests.support.damage import STATE, WHOLE, memory, peak_from_here

ENV = {**os.environ, "OMP_NUM_THREADS": "1"}


def shell(text: str, folder: Path, *words: str) -> str:
    """What a fresh process prints for lines of q; its errors too."""
    done = warm.run([sys.executable, "-m", "kshell", "-q", *words], input=text, cwd=folder, env=ENV, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    return done.stdout


DATA = r"""
a:til 5
b:1 2 3e
s:`x`y`x
t:([]a:1 2 3;b:("ab";"c";"");c:`p`q`r;d:2020.01.01+til 3)
kt:([k:`a`b]v:(1 2;3 4f))
f:{x+a}
g:f[1]
p:+/
h:(;2)
c:neg til@
lib:{[x;y]x+2*y}/
d:`a`b!(1;"xx")
n:2 3#til 6
v::a+1
.n.b:2
.n.m.c:`deep
.z.ts:{x}
e:`s#1 2 3
u:0x0102
gd:"G"$"8c6b8b64-6815-6084-0a3e-178401251b68"
emp:()
emps:`symbol$()
nul:(0N;0n;`;" ";0Nd;0w;-0W)
fl:read0`:lines.txt
sp:`s#`a`b!1 2
dom:`p`q
en:`dom$`q`p`q
kf:zeros
kp:mse
\P 12
\S 7
"""
SHOWN = ("(a;b;s;t;kt;f 1;g 1;p 1 2;h 1;c 3;lib[1;2 3];d;n;v;.n.b;.n.m.c;.z.ts;e;u;gd;emp;emps;nul;fl;sp;en;"
         "kf 2;kp(1 2f;1 4f);1%3;attr e;views[])\n")


@pytest.mark.sampled(3)
def test_values_come_back(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\n\nthree\n")
    first = shell(DATA + "snapshot`:a.ks;\n" + SHOWN + "rand 1f\n", tmp_path)
    assert "[0]" not in first, first
    assert shell("resume`:a.ks;\n" + SHOWN + "rand 1f\n", tmp_path) == first
    assert shell(SHOWN + "rand 1f\n", tmp_path, "-resume", "a.ks") == first


OBJECTS = r"""
w:tensor(1 2 3 4e;`grad)
w2:w
vw:w[0]
backward sum w*w
bf:tensor(1 2 3e;`bfloat16)
vec:vector(1 2;3 4e)
dct:dict`x`y!(1 2e;3)
tied:module seq(`sequential;(`linear;`a;2;2);`relu;(`linear;`b;2;2))
part:child(tied;`a)
wt:parm(tied;`a.weight)
lstm:module enlist(`lstm;2;3)
tr:module enlist(`transformer;8;2;1;1;16)
o:opt(`adamw;tied;.1;`decay,.3)
opt(o;1;lstm;.01)
l:loss(`ce;1 2 3e)
sch:sched(o;`cosineannealinglr;10)
gone:tensor 1
free gone
freeze(tied;`b.bias)
"""
SEEN = r"""
tensor each(w;w2;vw;bf)
w~w2
grad w
wt+:1e
tensor parm(part;`weight)
tensor vw
w[0]:9e
tensor vw
dtype bf
(vector vec;dict dct)
str each(tied;lstm;tr)
(state tied)`parms
(0!delete pointer from(opt o)`parms)
(opt o)`options
@[tensor;gone;::]
loss l
evaluate(lstm;1 2 2#1 2 3 4e)
evaluate(tr;1 1 8#.5e;1 1 8#.25e)
sched sch
count obj[]
"""


def test_handles_come_back(tmp_path: Path) -> None:
    first = shell(OBJECTS + "snapshot`:a.ks;\n" + SEEN, tmp_path)
    assert "[0]" not in first, first
    again = shell("resume`:a.ks;\n" + SEEN, tmp_path)
    note, _, rest = first.partition("\n")
    assert note == "snapshot: not saved: the autograd graph of a tensor that is not a leaf"
    assert again == rest


@pytest.mark.sampled(3)
def test_between_two_batches(tmp_path: Path) -> None:
    """The hidden state that the next batch begins with comes back."""
    made = ("q:module enlist(`gru;3;2)\nm:model(q;loss`mse;opt(`sgd;q;.5))\ntrain(m;`batchsize`hidden;(2;1b))\n"
            "train(m;8 4 3#.01e*til 96;8 4 2#.01e*til 64);\nbatch m;backstep m;\n")
    rest = "do[3;batch m;show backstep m]\nbatch m\n"
    first = shell(made + "snapshot`:a.ks;\n" + rest, tmp_path)
    assert first.count("\n") == 4 and "[0]" not in first, first
    assert shell("resume`:a.ks;\n" + rest, tmp_path) == first
    assert shell("resume`:a.ks;\ntrain(m;`hidden;0b)\n" + rest, tmp_path) != first


TRAINING = {
    "sgd": "o:opt(`sgd;q;.05;.9)", "adam": "o:opt(`adam;q;.05)", "adamw": "o:opt(`adamw;q;.05)",
    "lamb": "o:opt(`lamb;q;.05)", "rmsprop": "o:opt(`rmsprop;q;.01)", "lbfgs": "o:opt(`lbfgs;q;.1;`iter,3)",
    "adafactor": "o:opt(`adafactor;q;.05)",
    "schedule": "o:opt(`sgd;q;.1;.9)\nsc:sched(o;`cosineannealinglr;20)\nsc2:sched(o;`steplr;2)",
    "groups": "o:opt(`adam;(q;`0.weight`0.bias);.05)\nopt(o;1;(q;`3.weight`3.bias);.01)",
}
TRAINED = r"""
rng[];
q:module seq(`sequential;(`linear;4;16);`relu;(`drop;.3);(`linear;16;1))
OPT
m:model(q;loss`mse;o)
train(m;`batchsize`shuffle`clipnorm;(8;1b;1f))
x:tensor 50 4#0.01e*til 200
train(m;x;tensor 50 1#0.1e*til 50);
do[3;run m;STEP]
snapshot`:a.ks;
"""
GOES_ON = "do[3;run m;STEP]\n-8!((state m)`module;delete pointer from((state m)`optimizer)`parms;run m;rand 5;tensor tensor(`randn;2))\n(state m)`train\n"


QUICK = ("sgd", "adam", "lbfgs", "schedule", "groups")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in TRAINING])
def test_training_goes_on_bit_for_bit(kind: str, tmp_path: Path) -> None:
    step = "step each(sc;sc2)" if kind == "schedule" else "::"
    text = TRAINED.replace("OPT", TRAINING[kind]).replace("STEP", step)
    rest = GOES_ON.replace("STEP", step)
    first = shell(text + rest, tmp_path)
    assert first and "[0]" not in first, first
    assert shell("resume`:a.ks;\n" + rest, tmp_path) == first


# ------------------------------------------------------------------ parts, errors


def test_some_names(session: Session) -> None:
    session.run("a:1;b:2;.n.c:3;.n.d.e:4;.p.q:5")
    session.run("v::a+b")
    assert session.run("snapshot(`:a.ks;`a`.n`v)") is session.run("`:a.ks")
    session.run("a:b:0;.n.c:0;.n.d.e:0;x:9;system\"P 3\"")
    assert session.run("(resume`:a.ks)~`.n.c`.n.d.e`a`v")
    assert session.run("(a;b;x;.n.c;.n.d.e;v)~(1;0;9;3;4;1)")
    assert session.settings.P == 3
    session.run("snapshot`:a.ks;a:b:.n.c:0;r:rand 10 10")
    assert session.run("(resume(`:a.ks;`.n))~`.n.c`.n.d.e") and session.run("(a;.n.c)~0 3")


def test_handles_go_when_they_are_dropped(session: Session) -> None:
    """Neither saving nor bringing back keeps a handle, without a search for cycles."""
    made = "w:tensor 1 2e;q:module enlist(`linear;2;1);o:opt(`adam;q);snapshot`:a.ks;w:q:o:0"
    session.run(made + ";resume`:a.ks;w:q:o:0")  # loads what is loaded late
    gc.collect()
    gc.disable()
    try:
        session.run(made)
        assert session.run("count obj[]") == 0
        session.run("resume`:a.ks")
        assert session.run("count obj[]") == 3
        session.run("w:q:o:0")
        assert session.run("count obj[]") == 0
    finally:
        gc.enable()


def test_what_is_shared_by_two_snapshots_is_apart(session: Session) -> None:
    session.run("w:tensor 1 2e;snapshot(`:a.ks;`w);u:w;resume(`:a.ks;`w);w[0]:5e")
    assert session.run("(tensor u)~1 2e") and session.run("(tensor w)~5 2e")


@pytest.mark.parametrize(("text", "error"), [
    ("snapshot 1", "expected a file symbol"), ("snapshot(`:a.ks;1)", "expected names"),
    ("snapshot(`:a.ks;`none)", "there is no none"), ("resume`:none.ks", "No such file"),
    ("snapshot(`:a.ks;`a);resume(`:a.ks;`b)", "the file has no b"), ("resume`:text.ks", "is not a snapshot"),
    ("snapshot(`:a.ks;`a;`b)", "expecting a file symbol")])
def test_errors(text: str, error: str, session: Session) -> None:
    Path("text.ks").write_text("hello")
    session.run("a:b:1")
    with pytest.raises(QError, match=error):
        session.run(text)
    assert session.run("(a;b)~1 1")


def test_other_versions_are_refused(session: Session) -> None:
    session.run("a:1;snapshot`:a.ks")
    _edited(lambda m: {**m, "version": 2})
    with pytest.raises(QError, match="version 2 of the format"):
        session.run("resume`:a.ks")


def _edited(change, path: str = "a.ks") -> None:
    """Write a snapshot again with its manifest changed, and right checksums."""
    with zipfile.ZipFile(path) as z:
        held = {i: z.read(i) for i in z.namelist()}
    held["manifest.json"] = json.dumps(change(json.loads(held["manifest.json"]))).encode()
    with zipfile.ZipFile(path, "w") as z:
        for k, v in held.items():
            z.writestr(k, v)


# values of many small parts, whose memory is more than a file of their own size may ask for
SMALL = ["{tensor enlist x}each 1e*til 12000", "{((+);x)}each til 30000", "60000#enlist(1;`a;\"abc\")",
         "`$string til 300000"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", [t if i in (1, 2) else pytest.param(t, marks=pytest.mark.slow)
                                  for i, t in enumerate(SMALL)], ids=range(len(SMALL)))
def test_what_is_saved_can_be_read(text: str, session: Session) -> None:
    session.run(f"y:{text};snapshot`:a.ks")
    start = peak_from_here()
    session.run("z:y;resume`:a.ks")
    assert memory("VmHWM") - start < (64 << 20) + 2 * Path("a.ks").stat().st_size
    assert session.run("(count y)~count z") and session.run("(string last y)~string last z") is (text[:7] != "{tensor")


def test_functions_keep_their_names(session: Session) -> None:
    Path("f.q").write_text("a:1\n.n.f:{\n  x+`a}\ng:{.n.f x}\n")
    session.run("\\l f.q")
    with pytest.raises(QError) as before:
        session.run("g 1")
    shown = session.error_lines(before.value)
    assert "f.q:3:   x+`a}" in "\n".join(shown)
    session.run("h:value each(g;.n.f);snapshot`:a.ks;.n.f:g:0;resume`:a.ks")
    with pytest.raises(QError) as after:
        session.run("g 1")
    assert session.error_lines(after.value) == shown
    assert session.run("h~value each(g;.n.f)")


def test_memory_of_what_is_saved_stays_until_it_is_written(session: Session) -> None:
    """What a snapshot has to make, as the state of a generator, is in no variable."""
    session.run("m:module enlist(`linear;3;2);o:opt(`powersgd;m;.1;`rank`always!(2;1b));"
                "backward mse(forward(m;2 3#1e);2 2#0e);step o;s:(state o)`extra")
    for _ in range(5):
        session.run("snapshot`:a.ks;o:0;resume`:a.ks")
        assert session.run("s~(state o)`extra")


def test_an_optimizer_in_half_precision(session: Session) -> None:
    session.run("seed 1;m:module enlist(`linear;3;1);to(m;`half);i:tensor 2 3#1 2 3e;to(i;`half)")
    session.run("o:fp16(m;(`adam;.01);`init`window!16 2);go:{zerograd o;backward(o;Sum forward(m;i));step o};go[];go[]")
    session.run("snapshot`:a.ks;r:(go[];go[];fp16 o;vector masters o)")
    assert session.run("m:o:i:0;resume`:a.ks;r~(go[];go[];fp16 o;vector masters o)")


WRONG = [
    {"spaces": 1}, {"spaces": {"n": {}}}, {"spaces": {".": {"__builtins__": ["q", ""]}}}, {"views": {"v": "}"}},
    {"views": {"a b": "system\"touch ran\""}}, {"views": 3}, {"objects": {}}, {"session": {}}, {"random": ["q", ""]},
    {"spaces": {".": {"a": ["v", 7, "", 99]}}}, {"spaces": {".": {"a": ["v", 99, "", 0]}}},
    {"spaces": {".": {"a": ["h", -1]}}}, {"spaces": {".": {"a": ["h", 10**9]}}}, {"spaces": {".": {"a": ["hole"]}}},
    {"spaces": {".": {"a": ["f", "system\"touch ran\"", "."]}}}, {"spaces": {".": {"a": ["f", "{x", "."]}}},
    {"spaces": {".": {"a": ["p", "verb", "none", "none", 102]}}}, {"spaces": {".": {"a": ["zz"]}}},
    {"spaces": {".": {"a": ["t", ["a", "b"], [["q", "AAAAAAAAAA=="]]]}}}, {"arrays": []}, {"arrays": [["|O", [1]]]},
    {"spaces": {".": {"a": ["d", ["q", "!"], ["q", "!"], ""]}}}, {"spaces": {".": {"a": None}}},
]


@pytest.mark.parametrize("change", WRONG, ids=range(len(WRONG)))
def test_hostile_manifests(change: dict[str, object], session: Session) -> None:
    session.run(WHOLE + ";snapshot`:a.ks")
    before = session.run(STATE)
    _edited(lambda m: {**m, **change})
    with pytest.raises(QError, match="damaged"):
        session.run("resume`:a.ks")
    session["z"] = before
    assert session.run("z~" + STATE) and not Path("ran").exists()


def test_a_device_that_is_not_there(session: Session) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    session.run("w:tensor 1 2e;snapshot`:a.ks")

    def moved(m):
        for t in m["objects"]["storage"]:
            t["device"] = "cuda:0"
        return m

    _edited(moved)
    out = shell("resume`:a.ks\ntensor w\n", Path())
    assert "resume: no cuda:0 here: put on the CPU" in out and "1 2e" in out


def test_resume_on_the_command_line(tmp_path: Path) -> None:
    assert "-resume needs a file" in shell("", tmp_path, "-resume")
    out = shell("1+1\n", tmp_path, "-resume", "none.ks")
    assert "none.ks. OS reports: No such file or directory" in out and "2" not in out.splitlines()


def test_an_optimizer_of_tensors(session: Session) -> None:
    """Its parameters are the tensors that it was given, no copies."""
    session.run("w:tensor(1 2e;`grad);v:vector(1e;2 3e);o:opt(`sgd;w;.5);p:opt(`adam;v);backward Sum w;snapshot`:a.ks;w:o:p:0")
    session.run("resume`:a.ks;step o")
    assert session.run("tensor w").a.tolist() == [0.5, 1.5]
