"""Python's own classes as types: which name is which class, files loaded again, objects that Python made, security."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import kshell
from kshell import registry
from kshell.errors import QError
from kshell.kapi.base import python_types
from kshell.kapi.console import completion, help
from tests import ROOT
from tests.kapi.checkpoint.hostile import stored

ERR = io.StringIO()
NET = """
import torch


class Net(torch.nn.Module):
    \"\"\"A net.\"\"\"

    def __init__(self, n: int, act=torch.nn.Tanh):
        super().__init__()
        self.a, self.act, self.b = torch.nn.Linear(2, n), act(), torch.nn.Linear(n, WIDTH)

    def forward(self, x, shift=None):
        out = self.b(self.act(self.a(x)))
        return out if shift is None else out + shift


class relu(torch.nn.Module):
    pass


class _Hidden(torch.nn.Module):
    pass


class Weighted(torch.nn.modules.loss._Loss):
    def __init__(self, w: float):
        super().__init__()
        self.w, self.scale = w, torch.nn.Parameter(torch.ones(1))

    def forward(self, x, y, more=None):
        return self.scale.sum() * self.w * (x - y).square().mean()


class Signs(torch.optim.Optimizer):
    def __init__(self, params, lr: float = 0.1, betas=(0.5, 0.9), boost: float = 2.0, note: str = "none"):
        super().__init__(params, {"lr": lr, "betas": betas})
        self.boost = boost

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    kept = self.state[p]
                    kept["count"] = kept.get("count", 0) + 1
                    kept["sum"] = kept.get("sum", 0) * group["betas"][0] + p.grad
                    p -= group["lr"] * self.boost * kept["sum"].sign()


def double(n):
    return torch.nn.Linear(n, 2 * n)
"""


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[kshell.Session]:
    monkeypatch.chdir(tmp_path)
    told()
    write("net.py")
    before = set(sys.modules)
    yield kshell.Session(err=ERR)
    for name in set(sys.modules) - before:
        if name in ("net", "other", "outer") or name.startswith("kshell_plugin"):
            del sys.modules[name]


def write(file: str, width: int = 1, change: Callable[[str], str] = str) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text(change(NET.replace("WIDTH", str(width))))


def told() -> str:
    """What was written to standard error since it was asked last."""
    text = ERR.getvalue()
    ERR.seek(0)
    ERR.truncate()
    return text


def true(s: kshell.Session, text: str) -> None:
    assert s.run(text) is True, text


# ------------------------------------------------------------------ names


def test_the_classes_of_a_file_are_types(s: kshell.Session) -> None:
    s.run("\\l net.py")
    assert told() == "relu stays the module that it is: the class is `net.relu\n"
    s.run("m:module enlist(`Net;3);k:module enlist(`net.Net;4);r:module`net.relu")
    net = sys.modules["net"]
    assert type(s["m"]) is type(s["k"]) is net.Net and type(s["r"]) is net.relu
    assert isinstance(s.run("module`relu").obj, torch.nn.ReLU)
    true(s, "`Net`Net`net.relu~objtype each(m;k;r)")
    true(s, "(enlist[`n]!enlist 3)~options m")
    true(s, "`Net`net.relu~(exec module from help`module)inter`Net`net.relu")
    true(s, "(`n`act!(`required;::))~help`Net")
    true(s, "a:evaluate(m;enlist 1 2e);(a+7)~evaluate(m;enlist 1 2e;1 1#7e)")
    with pytest.raises(QError, match="3 tensors supplied, but only 2 expected"):
        s.run("evaluate(m;1 2e;1 2e;1 2e)")
    with pytest.raises(QError, match="unrecognized module type: `double"):
        s.run("module enlist(`double;3)")


def test_help_and_completion_have_them(s: kshell.Session) -> None:
    s.run("\\l net.py")
    for call, name in (("module", "Net"), ("loss", "Weighted"), ("opt", "Signs"), ("help", "Net")):
        assert name in {word for word, _ in completion.of_call(call)}
    assert "Net" not in {word for word, _ in completion.of_call("loss")}  # it can be one, and is not offered
    entry = registry.has("module", "Net")
    assert entry is not None and [o.name for o in completion.options(entry)] == ["n", "act"]
    assert "A net." in help.entry_text(entry) and "act     any   ::        by default Tanh" in help.entry_text(entry)
    true(s, "(`lr`beta1`beta2`boost`note!(.1;.5;.9;2.;`none))~help`Signs")


def test_no_torch_no_types(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("class Net:\n    pass\n\n\nx = 1\n")
    code = ("import sys\nfrom kshell.session import Session\ns = Session()\ns.run('\\\\l f.py')\n"
            "print('torch' in sys.modules, sys.modules['f'].x, 'kshell.kapi' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.stdout == "False 1 False\n", done.stderr


def test_of_two_classes_the_newer_has_the_name(s: kshell.Session) -> None:
    write("sub/other.py", 5)
    s.run("\\l net.py\nm:module enlist(`Net;3)")
    told()
    s.run("\\l sub/other.py\nk:module enlist(`Net;3)")
    assert "Net is now that of sub/other.py; that of net.py is `net.Net\n" in told()
    true(s, "1 5~size forward(k;enlist 1 2e)")
    true(s, "`net.Net`Net~objtype each(m;k)")
    true(s, "(state m)~state module state m")
    true(s, "(state k)~state module state k")
    assert type(s.run("module enlist(`net.Net;3)").obj) is type(s["m"])
    assert type(s.run("module enlist(`other.Net;3)").obj) is type(s["k"])
    s.run("\\l net.py")
    assert "Net is now that of net.py; that of sub/other.py is `other.Net\n" in told()
    true(s, "`Net`other.Net~objtype each(m;k)")


def test_a_script_loads_the_file_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "own.py").write_text("import torch\n\n\nclass Own(torch.nn.Linear):\n    pass\n")
    (folder / "main.q").write_text("\\l own.py\nm:module enlist(`Own;3;2)\n")
    s = kshell.Session()
    s.run(f"\\l {folder}/main.q")
    assert s.run("exec sum elements from parmtable m") == 8


def test_a_file_loaded_again_replaces_its_types(s: kshell.Session) -> None:
    s.run("\\l net.py\nm:module enlist(`Net;3);o:opt(`Signs;m;.01);l:loss(`Weighted;2)")
    old = type(s["m"])
    told()
    write("net.py", 2, lambda text: text.replace("class Signs", "class Others").replace("n: int", "n: int, more: int = 1"))
    s.run("\\l net.py")
    assert told() == "" and type(s["m"]) is old
    true(s, "(`n`more!3 1)~options module enlist(`Net;3)")
    true(s, "2=last size forward(module enlist(`Net;3);enlist 1 2e)")
    true(s, "`Net~objtype m")
    with pytest.raises(QError, match="unrecognized optimizer: Signs"):
        s.run("opt(`Signs;m)")
    s.run("step o;o:opt(`Others;m)")
    true(s, "`Others~objtype o")
    Path("net.py").write_text("1/0")
    with pytest.raises(QError, match=r"net.py: division by zero"):
        s.run("\\l net.py")
    s.run("module enlist(`Net;3)")  # the types stay


def test_the_entries_of_a_file_are_replaced_too(s: kshell.Session) -> None:
    text = ("from kshell.extend import api, module, verb\nimport torch\n\n\n@verb('zigzagged')\ndef f(x):\n    return NUMBER\n\n\n"
            "@module('planted')\nclass Planted(torch.nn.Module):\n    def __init__(self, n: int = NUMBER):\n"
            "        super().__init__()\n")
    for number in (1, 2):
        Path("outer.py").write_text(text.replace("NUMBER", str(number)))
        s.run("\\l outer.py")
        true(s, f"{number}=zigzagged 7")
        true(s, f"(enlist[`n]!enlist {number})~options module`planted")
    assert registry.has("module", "Planted") is None  # it has a name
    Path("outer.py").write_text(text.replace("NUMBER", "3") + "1/0\n")
    with pytest.raises(QError, match="division by zero"):
        s.run("\\l outer.py")
    true(s, "2=zigzagged 7")
    for kind, name in (("verb", "zigzagged"), ("module", "planted")):
        registry.remove(kind, name)


def test_classes_of_main(s: kshell.Session) -> None:
    s.run("p)import torch\np)class Own(torch.nn.Module):\n    pass\n")
    assert registry.has("module", "Own") is not None  # the prompt completes it
    write("sub/other.py", 5, lambda text: text.replace("class Net", "class Own"))
    s.run("\\l sub/other.py\nm:module enlist(`Own;3);k:module`$\"__main__.Own\"")
    assert "Own is now that of sub/other.py; that of __main__ is `__main__.Own\n" in told()
    true(s, "(`Own;`$\"__main__.Own\")~objtype each(m;k)")
    s.run("p)class Own(torch.nn.Module):\n    def __init__(self, k=2): super().__init__()\n")
    true(s, "(enlist[`k]!enlist 2)~options module`Own")
    del sys.modules["__main__"].__dict__["Own"]


def test_a_name_of_p_type(s: kshell.Session) -> None:
    s.run("p)import torch\n")
    s.run(".p.type[`mine;.p.eval\"torch.nn.Linear\"];m:module enlist(`mine;2;3;`bias,0b)")
    assert isinstance(s["m"], torch.nn.Linear) and s["m"].bias is None
    true(s, "(`in_features`out_features`bias!(2;3;0b))~3#options m")
    true(s, "(state m)~state module state m")
    true(s, "`linear~objtype module enlist(`linear;2;3)")  # kshell's type stays what it is


# ------------------------------------------------------------------ objects


def test_objects_that_python_made_have_no_known_options(s: kshell.Session) -> None:
    s.run("\\l net.py")
    told()
    s.run("m:.p.import[`net][`:Net;3]`")
    true(s, "(0=count options m)and`Net~objtype m")
    assert told() == "options: Python made this Net, with what is not known\n"
    with pytest.raises(QError, match=r"snapshot: m: a module of class Net that Python made cannot be saved.*module enlist\(`Net;"):
        s.run("snapshot`:a.ks")
    assert not Path("a.ks").exists()
    s.run("l:.p.import[`net][`:Weighted;3.]`")
    true(s, "(`loss~class l)and 0=count options l")
    s["o"] = sys.modules["net"].Signs(s["m"].parameters(), boost=3.0)
    true(s, "`Signs~objtype o")
    s.run("m:o")
    with pytest.raises(QError, match="an optimizer of class Signs cannot be saved"):
        s.run("snapshot(`:a.ks;`m)")


def test_copies_share_how_they_were_made_and_pickles_do_not_have_it(s: kshell.Session) -> None:
    s.run("\\l net.py\nm:module enlist(`Net;3);c:clone m")
    true(s, "(state m)~state c")
    again = pickle.loads(pickle.dumps(s["m"]))
    assert type(again) is type(s["m"]) and python_types.made_of(again) is None
    assert python_types.made_of(copy.deepcopy(s["m"])) is python_types.made_of(s["m"])


def test_options_are_kept_as_they_were_given(s: kshell.Session) -> None:
    Path("net.py").write_text("import torch\n\n\nclass Any(torch.nn.Module):\n    def __init__(self, x, scale: float = 1):\n"
                              "        super().__init__()\n        self.x, self.scale = x, scale\n")
    s.run("\\l net.py")
    for text in ("1 2 3", "\"text\"", "`a`b", "`a`b!(1;2 3f)", "(1;`b;\"c\")", "0N", "2026.01.02", "([]a:1 2;b:`x`y)"):
        true(s, f"x:{text};m:module enlist(`Any;x);x~options[m]`x")
        true(s, "(x~options[module state m]`x)and 1f~options[m]`scale")
        s.run("snapshot(`:a.ks;`m);resume`:a.ks")
        true(s, "x~options[m]`x")
    s.run("m:module enlist(`Any;{x+1})")
    assert s["m"].x(2) == 3
    with pytest.raises(QError, match="the option x of a module of type Any is a function, which no file holds"):
        s.run("snapshot(`:a.ks;`m)")


# ------------------------------------------------------------------ files


def manifest(change: Callable[[dict[str, Any]], None]) -> None:
    """The file a.ks with its manifest changed, and right checksums."""
    with zipfile.ZipFile("a.ks") as z:
        members = {name: z.read(name) for name in z.namelist()}
    found = json.loads(members["manifest.json"])
    change(found)
    members["manifest.json"] = json.dumps(found).encode()
    Path("a.ks").write_bytes(stored(list(members.items())))


def planted(name: str) -> None:
    """A file that tells when it is run."""
    Path(f"{name}.py").write_text("open('it_was_run', 'w').close()\nimport torch\n\n\nclass Net(torch.nn.Module):\n    pass\n")


@pytest.mark.parametrize("full", ["os.system", "planted.Net", "planted", "builtins.exec", "torch.nn.Linear", "__main__.system"])
def test_a_file_names_nothing_that_is_not_there(s: kshell.Session, full: str) -> None:
    planted("planted")
    s.run("\\l net.py\nm:module enlist(`Net;3);n:module seq(`sequential;(`Net;3));o:opt(`Signs;m);keep:7")
    s.run("snapshot(`:a.ks;`m`o)")
    python_types.forget_all()

    def change(found: dict[str, Any]) -> None:
        for kind in ("module", "optimizer"):
            for record in found["objects"][kind]:
                if "python" in record:
                    record["type"], record["python"]["class"], record["class"] = full, full, full

    manifest(change)
    s.run("m:keep")
    with pytest.raises(QError, match=r"^resume: no (class|type) .* here"):
        s.run("resume`:a.ks")
    true(s, "(m~7)and keep~7")
    with pytest.raises(QError, match="unrecognized module type"):
        s.run(f"module`module`options!(`$\"{full}\";`a`b!1 2)")
    with pytest.raises(QError, match="unrecognized optimizer"):
        s.run(f"opt`$\"{full}\"")
    with pytest.raises(QError, match="unrecognized loss"):
        s.run(f"loss`$\"{full}\"")
    assert not Path("it_was_run").exists() and "planted" not in sys.modules


def test_functions_in_a_file_are_not_given_to_a_class(s: kshell.Session) -> None:
    Path("net.py").write_text("import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self, f=1):\n"
                              "        super().__init__()\n        self.got = f() if callable(f) else f\n")
    s.run("\\l net.py\nm:module enlist(`Net;2);st:`module`options!(`Net;(enlist`f)!enlist{`:it_was_run 1:0x00})")
    with pytest.raises(QError, match="Net: a function is among the options of a state"):
        s.run("module st")
    s.run("snapshot(`:a.ks;`m`st)")

    def change(found: dict[str, Any]) -> None:
        record = next(record for record in found["objects"]["module"] if "python" in record)
        record["options"] = _options(found["spaces"]["."]["st"])

    manifest(change)
    with pytest.raises(QError, match="damaged: a function among options"):
        s.run("resume`:a.ks")
    assert not Path("it_was_run").exists()


def _options(form: Any) -> Any:
    """The form of the options in that of a definition: the only dictionary inside."""
    if isinstance(form, list):
        for part in form[1:]:
            found = _inner(part)
            if found is not None:
                return found
    raise AssertionError(form)


def _inner(form: Any) -> Any:
    if not isinstance(form, list):
        return None
    if form and form[0] == "d":
        return form
    return next((found for part in form if (found := _inner(part)) is not None), None)


def test_variables_with_python_objects_are_left_out(s: kshell.Session) -> None:
    s.run("np:.p.import`numpy;.a.x:(1;.p.pyeval\"1\");f:.p.eval[\"len\";<];g:f[1;];t:([]a:1 2;b:2#.p.pyeval\"1\");v:7;w:(1;`a)")
    s.run("snapshot`:a.ks")
    line = told()
    assert line.startswith("snapshot: left out, since Python's objects are in them: ") and line.count("\n") == 1
    assert set(line.split(": ")[2].split()) == {"np", ".a.x", "f", "g", "t"}
    s.run("np:1;v:0")
    s.run("resume`:a.ks")
    true(s, "(np~1)and v~7")
    assert told().startswith("resume: not in the file, since Python's objects were in them: np")
    s.run("np:.p.import`numpy")
    with pytest.raises(QError, match="a Python object of class module"):
        s.run("snapshot(`:b.ks;`np)")
    s.run("snapshot(`:b.ks;`v);resume`:b.ks")
    assert told() == ""


def test_autosave_tells_each_name_once(s: kshell.Session) -> None:
    s.run("np:.p.import`numpy;m:module enlist(`linear;2;1);o:opt(`sgd;m;.1);autosave(`:a.ks;1;`steps)")
    assert told() == "autosave: left out, since Python's objects are in them: np\n"
    for line in ("step o;zz:.p.import`math", "step o", "step o"):
        s.run(line)
        s.__dict__["autosave"].rest()
    s.run("step o")
    assert told() == "autosave: left out, since Python's objects are in them: zz\n"
    s.run("autosave 0b")
