"""Python's functions, datasets and loaders as parts of models: bound again by name in fresh processes, which train on to the
bits of one that was not stopped; what is not here is told, and never imported or called."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.embedpy.test_resume import good, run
from tests.kapi.checkpoint.hostile import stored

PARTS = '''
import torch
from torch.utils.data import Dataset, IterableDataset


class Rows(Dataset):
    """Rows of a line."""

    def __init__(self, n: int, slope: float = 2.0, noise=None):
        self.x = torch.linspace(-1, 1, n)[:, None]
        self.y = slope * self.x + (0 if noise is None else noise)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Endless(IterableDataset):
    def __init__(self, n: int):
        self.n = n

    def __iter__(self):
        return ((torch.full((4, 1), float(i)), torch.ones(4, 1)) for i in range(self.n))


def mae(out, target):
    return (out - target).abs().mean()


def batches():
    for i in range(4):
        x = torch.full((8, 1), float(i))
        yield x, 2 * x


def doubled(batch):
    return batch[0] * 2, batch[1]


told = []


def tell(state):
    told.append(state["batch"])
'''
MODEL = "seed 4;q:module enlist(`linear;1;1);k:model(q;{};opt(`adamw;q;.1));train(k;`metrics`batchsize;(`batchloss;8));"
MORE = "a:raze{run k}each til 3;-1 .Q.s1 md5 `char$-8!(a;state q);"
LOADERS = ["pydata(`Rows;20)", "pyloader((`Rows;20;3.);`batchsize`shuffle!(4;1b))", "pyloader(pydata(`Rows;20;`slope,3);4;0b;1b)",
           "pyloader((`Endless;3);`workers,1)", "pydata(`Rows;20;2.;tensor 20 1#.5e)", ".p.get`batches", ".p.get[`batches;<]",
           "{i+:1;$[3>i mod 4;(4 1#1e*i;4 1#2e);::]}"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts.py").write_text(PARTS)
    return tmp_path


def changed(folder: Path, *pairs: tuple[str, str]) -> None:
    """The file bad.ks: run.ks with texts of its manifest changed, and right checksums."""
    with zipfile.ZipFile(folder / "run.ks") as z:
        members = {name: z.read(name) for name in z.namelist()}
    text = json.dumps(json.loads(members["manifest.json"]))
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    members["manifest.json"] = text.encode()
    (folder / "bad.ks").write_bytes(stored(list(members.items())))


def begin(loss: str, *lines: str) -> list[str]:
    """A session with a model of a loss, and what else is to be done."""
    return ["\\l parts.py", "p)from parts import *", "i:0", MODEL.format(loss), *lines]


@pytest.mark.parametrize("data", LOADERS)
def test_loaders_go_on(folder: Path, data: str) -> None:
    loss = "loss`mse" if "batches" in data else ".p.get`mae"
    made = begin(loss, f"train(k;{data});", "run k;")
    if "Endless" in data:
        made[-2] = "train(k;pydata(`Endless;3));"
    whole = good(folder, *made, MORE)
    good(folder, *made, "snapshot`:run.ks;")
    assert good(folder, "\\l parts.py", "p)from parts import *", "resume`:run.ks;", MORE) == whole


def test_a_shuffled_order_and_test_data_go_on(folder: Path) -> None:
    made = begin(".p.get`mae", "train(k;`shuffle;1b)", "train(k;pydata(`Rows;20));test(k;pyloader enlist(`Rows;20));", "run k;", "batch k;")
    more = "show testrun k;restore k;" + MORE
    whole = good(folder, *made, more)
    good(folder, *made, "snapshot`:run.ks;")
    assert good(folder, "\\l parts.py", "resume`:run.ks;", more) == whole


@pytest.mark.parametrize(("loss", "before"), [
    (".p.get`mae", "\\l parts.py"), (".p.import[`parts;`:mae]", "\\l parts.py"), (".p.get[`mae;>]", "\\l parts.py"),
    (".p.get`mae", "p)from parts import mae"), (".p.get`mine", "p)def mine(a, b): return (a - b).abs().sum()"),
    (".p.get`mine", "\\l mine.p"), (".p.import[`torch.nn.functional;`:huber_loss]", "")])
def test_losses_go_on(folder: Path, loss: str, before: str) -> None:
    (folder / "mine.p").write_text("def mine(a, b):\n    return (a - b).pow(4).mean()\n")
    first = [before, "p)import torch", "p)from parts import mae"] if "get`mae" in loss or "get[" in loss else [before, "p)import torch"]
    made = [*first, MODEL.format(loss), "train(k;8 1#1e;8 1#3e);run k;"]
    whole = good(folder, *made, MORE)
    good(folder, *made, "snapshot`:run.ks;")
    assert good(folder, before, "p)import torch", "resume`:run.ks;", MORE) == whole


def test_options_go_on(folder: Path) -> None:
    options = "train(k;`transform`callback`metric;(.p.get`doubled;.p.get`tell;`a`b!(.p.get`mae;{[x;y]Max x})));"
    made = begin("loss`mse", options, "train(k;.p.get`batches);run k;")
    more = "-1 .Q.s1 run k;-1 .Q.s1 .p.qeval\"told[-4:]\";" + "-1 .Q.s1 md5 `char$-8!state q;"
    whole = good(folder, *made, more)
    good(folder, *made, "snapshot`:run.ks;")
    assert good(folder, "\\l parts.py", "p)from parts import *", "resume`:run.ks;", more) == whole


def test_what_is_not_here_is_told_and_the_model_says_what_to_give_it(folder: Path) -> None:
    good(folder, *begin(".p.get`mae", "train(k;pyloader((`Rows;20);4));test(k;.p.get`batches);run k;snapshot`:run.ks;"))
    out, err = run(folder, "r:resume`:run.ks", "run k", "testrun k", "batch k", "backstep k", "train(k;8 1#1e;8 1#1e)", "run k")
    assert out == ["1"]
    assert [line for line in err.splitlines() if line.startswith("resume")] == [
        "resume: no function parts.mae here, the loss of a model: load its file before (\\l parts.py when it was saved), or give it "
        "again (model(m;f))",
        "resume: no dataset Rows here, the data of a model: load its file before (\\l parts.py when it was saved), or give it again "
        "(train(m;loader))",
        "resume: no function parts.batches here, the test data of a model: load its file before (\\l parts.py when it was saved), or "
        "give it again (test(m;loader))"]
    gone = "the model's data came from the {}, which its file does not hold: give it again, {}(m;loader)"
    for call, what, way in (("run", "DataLoader", "train"), ("testrun", "function batches", "test"), ("batch", "DataLoader", "train"),
                            ("backstep", "DataLoader", "train")):
        assert f"'{call}: {gone.format(what, way)}" in err, call
    assert "'loss: the model has none: its file does not hold the function of Python; model(m;f) sets it" in err
    assert "Traceback" not in err
    # a snapshot of such a model keeps what is known
    out, err = run(folder, "resume`:run.ks", "snapshot`:two.ks", "")
    out, err = run(folder, "resume`:two.ks", "run k")
    assert f"'run: {gone.format('DataLoader', 'train')}" in err


def test_what_has_no_name_is_left_out_and_told(folder: Path) -> None:
    made = begin(".p.eval\"lambda a, b: (a - b).abs().mean()\"", "train(k;.p.eval\"torch.utils.data.DataLoader(Rows(20),4)\");",
                 "train(k;`callback;.p.eval\"lambda s: None\");", "run k;snapshot`:run.ks;")
    made.insert(2, "p)import torch")
    _, err = run(folder, *made)
    assert [line.partition("not saved: ")[2] for line in err.splitlines()] == [
        "the loss of a model, which is a function of Python without a name", "the option callback of a model, which is of Python without a name",
        "the data of a model, which comes from the DataLoader"]
    out, err = run(folder, "\\l parts.py", "resume`:run.ks;", "model(k;.p.import[`parts;`:mae])", "run k",
                   "train(k;pyloader((`Rows;20);4))", "count run k")
    assert "'run: the model's data came from the DataLoader, which its file does not hold: give it again, train(m;loader)" in err
    assert out == ["5", "5"]


@pytest.mark.parametrize("name", ["os.system", "parts.os", "subprocess.run", "parts.told", "parts.torch", "__main__.system", "builtins.eval",
                                  "kshell.registry.load_file", "parts.Rows", "torch.nn.functional.handle_torch_function", "torch.load",
                                  "planted.mark", "parts.sub.mae", "", "mae", "__main__.rmtree", "__main__.write"])
def test_planted_names_are_refused(folder: Path, name: str) -> None:
    """A name counts only if the user's session has such a function: nothing is imported, found in packages or run."""
    (folder / "planted.py").write_text("open('ran', 'w')\ndef mark(*a): open('ran', 'w')\n")
    good(folder, *begin(".p.get`mae", "train(k;.p.get`batches);", "train(k;`callback;.p.get`tell);run k;snapshot`:run.ks;"))
    for old in ("parts.mae", "parts.batches", "parts.tell"):
        changed(folder, (json.dumps(old), json.dumps(name)))
        out, err = run(folder, "\\l parts.py", "p)import os, shutil, subprocess", "p)from os import system", "p)from shutil import rmtree",
                       "p)from kshell.store.archive import write", "r:resume`:bad.ks", "run k")
        assert f"resume: no function {name} here" in err and "Traceback" not in err
        assert not (folder / "ran").exists()
        assert name == "os.system" or name not in out


@pytest.mark.parametrize(("old", "new", "text"), [
    ('"Rows"', '"DataLoader"', "no dataset"), ('"parts.Rows"', '"torch.utils.data.Subset"', ""), ('"batchsize", 4', '"batchsize", 0', "damaged"),
    ('"batchsize", 4', '"batchsize", "4"', "damaged"), ('"batchsize"', '"num_workers"', "damaged"), ('"Rows"', "3", "")])
def test_planted_loaders_are_refused(folder: Path, old: str, new: str, text: str) -> None:
    good(folder, *begin("loss`mse", "train(k;pyloader((`Rows;20);4));", "run k;snapshot`:run.ks;"))
    changed(folder, (old, new), *([('"parts.Rows"', '"torch.utils.data.DataLoader"')] if "DataLoader" in new else []))
    _, err = run(folder, "\\l parts.py", "r:resume`:bad.ks", "run k")
    assert text in err and "Traceback" not in err


def test_a_changed_file_is_told(folder: Path) -> None:
    good(folder, *begin(".p.get`mae", "train(k;pyloader((`Rows;20);4));", "run k;snapshot`:run.ks;"))
    (folder / "parts.py").write_text(PARTS + "\n# one more line\n")
    _, err = run(folder, "\\l parts.py", "resume`:run.ks;", "run k;")
    assert re.fullmatch(r"resume: parts.py is not as it was when parts.mae Rows were saved\n", err)
    (folder / "parts.py").write_text(PARTS.replace("n: int, slope", "m: int, slope").replace("-1, 1, n", "-1, 1, m"))
    _, err = run(folder, "\\l parts.py", "resume`:run.ks;")
    assert not re.search("Traceback|damaged", err)


def test_a_loaded_class_that_has_changed_is_an_error(folder: Path) -> None:
    good(folder, *begin("loss`mse", "train(k;pydata(`Rows;`n,20));", "run k;snapshot`:run.ks;"))
    (folder / "parts.py").write_text(PARTS.replace("n: int, slope", "m: int, slope").replace("-1, 1, n", "-1, 1, m"))
    out, err = run(folder, "\\l parts.py", "k:7", "resume`:run.ks;", "k")
    assert out == ["7"] and "'resume: Rows is not as it was when it was saved: Rows: unrecognized option `n" in err


def test_an_autosave_goes_on(folder: Path) -> None:
    made = begin(".p.get`mae", "train(k;pyloader((`Rows;20);4;1b));")
    whole = good(folder, *made, "run k;", MORE)
    good(folder, *made, "autosave(`:auto.ks;5;`steps);run k;")
    assert good(folder, "\\l parts.py", "resume`:auto.ks;", MORE) == whole
