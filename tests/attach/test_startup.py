"""When a program begins to listen, and that it is the same program otherwise."""

from __future__ import annotations

import shutil
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from kshell.attach import startup
from tests import ROOT
from tests.attach.programs import HOST, IMPORTED, SITE, Done, environment, run, write

BEGIN = "import fake_host\nfrom kshell.attach import startup\nstartup.begin('test')\n"
PTH = ROOT / "packaging" / "kshell-listen.pth"


def ran(folder: Path, text: str, *args: str) -> Done:
    """A program that begins, after its first line."""
    write(folder, program=text)
    return run([sys.executable, *args, "program.py"], folder)


def test_it_costs_next_to_nothing(tmp_path: Path) -> None:
    """Of kshell nothing else is imported, and only what each Python has or what is small."""
    text = "import sys; before = set(sys.modules)\nimport kshell.attach.startup\nprint(*sorted(set(sys.modules) - before))\n"
    done = run([sys.executable, "-c", text], tmp_path)
    assert set(done.stdout.split()) <= {"__future__", "importlib", "importlib._bootstrap", "importlib._bootstrap_external",
                                        "warnings", "kshell", "kshell.attach", "kshell.attach.startup"}


def test_it_listens_when_torch_is_complete(tmp_path: Path) -> None:
    done = ran(tmp_path, BEGIN + "print('program')\nimport torch\nimport torch.optim\nprint('end')\n")
    assert (done.stdout, done.stderr) == (f"program\n{IMPORTED}listen\nend\n", "")


def test_it_listens_at_once_where_torch_is_imported(tmp_path: Path) -> None:
    done = ran(tmp_path, f"import torch\n{BEGIN}print('end')\n")
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen\nend\n", "")


def test_it_begins_once(tmp_path: Path) -> None:
    done = ran(tmp_path, f"{BEGIN}startup.begin('again')\nimport torch\nstartup.begin('late')\nprint(startup.reason)\n")
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen\nlate\n", "")


def test_a_torch_that_imports_its_optimizers_later(tmp_path: Path) -> None:
    write(tmp_path, program=BEGIN + "import torch\nprint('program')\nimport torch.optim\n")
    (tmp_path / "torch" / "__init__.py").write_text("")
    done = run([sys.executable, "program.py"], tmp_path)
    assert (done.stdout, done.stderr) == ("program\ntorch.optim.optimizer\nlisten\n", "")


SAME = """\
import re, sys
print("kshell" in sys.modules, file=sys.stderr)
import torch
for name in ("torch", "torch.optim.optimizer"):
    module = sys.modules[name]
    spec = module.__spec__
    print(re.sub("0x[0-9a-f]+", "", repr(spec)), type(spec.loader), vars(spec.loader), module.__loader__ is spec.loader, module.__file__, spec._initializing)
assert sys.modules["torch.optim.optimizer"].Optimizer is torch.optim.Optimizer
assert type(spec.loader).exec_module.__get__(spec.loader) == spec.loader.exec_module
print([finder if isinstance(finder, type) else type(finder) for finder in sys.meta_path], sys.path)
"""


@pytest.mark.sampled(2)
def test_torch_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\n" + SAME)
    (tmp_path / "begun.py").write_text("import fake_host\n" + SAME)
    (tmp_path / "fake_host.py").write_text(HOST.replace('"listen"', '"listen", file=sys.stderr'))
    env = environment(SITE, KSHELL_LISTEN="1")
    plain, begun = run([sys.executable, "program.py"], tmp_path), run([sys.executable, "begun.py"], tmp_path, env)
    assert "torch/optim/optimizer.py" in plain.stdout
    assert begun.stdout == plain.stdout
    assert (plain.stderr, begun.stderr) == ("False\n", "True\nlisten\n")


def test_a_spec_that_is_only_looked_at_does_nothing(tmp_path: Path) -> None:
    text = "import importlib.util\nprint(type(importlib.util.find_spec('torch').loader).__name__)\nimport torch\n"
    done = ran(tmp_path, BEGIN + text)
    assert (done.stdout, done.stderr) == (f"SourceFileLoader\n{IMPORTED}listen\n", "")


@pytest.mark.parametrize("error", ["ImportError('no libc')", "OSError('no libc')", "SystemExit(3)"])
def test_a_torch_that_cannot_be_imported_fails_as_ever(error: str, tmp_path: Path) -> None:
    found = []
    for text in ("\n" * BEGIN.count("\n"), BEGIN):
        write(tmp_path, program=text + "import torch\n")
        (tmp_path / "torch" / "__init__.py").write_text(f"raise {error}\n")
        done = run([sys.executable, "program.py"], tmp_path)
        found.append((done.stdout, done.stderr, done.returncode))
    assert found[0] == found[1]
    assert error.startswith("System") or "no libc" in found[0][1]


def test_a_second_try_to_import_torch_counts(tmp_path: Path) -> None:
    write(tmp_path, program=BEGIN + "try:\n    import torch\nexcept OSError:\n    print('again')\nimport torch\n")
    (tmp_path / "torch" / "__init__.py").write_text(
        "import sys\nfrom torch import optim\nif not hasattr(sys, 'tried'):\n    sys.tried = 1\n    raise OSError\n")
    done = run([sys.executable, "program.py"], tmp_path)
    assert (done.stdout, done.stderr) == ("torch.optim.optimizer\nagain\nlisten\n", "")


BREAKS = {
    "fake_host.host.listen = lambda: 1 / 0\n": "division by zero",
    "def fail(): raise RuntimeError('no room\\nat all')\nfake_host.host.listen = fail\n": "no room",
    "def fail(): raise MemoryError\nfake_host.host.listen = fail\n": "MemoryError",
    "import sys; sys.modules['kshell.host.host'] = None\n": "import of kshell.host.host halted; None in sys.modules",
}


@pytest.mark.parametrize("lines", BREAKS)
def test_what_fails_is_one_line_and_the_program_goes_on(lines: str, tmp_path: Path) -> None:
    done = ran(tmp_path, f"{BEGIN}{lines}import torch\nprint('end')\n")
    assert (done.returncode, done.stdout) == (0, f"{IMPORTED}end\n")
    assert done.stderr == f"kshell: not listening: {BREAKS[lines]}\n"


@pytest.mark.parametrize("line", ["sys.stderr = None", "sys.stderr = open('/dev/full', 'w', buffering=1)", "sys.stderr.close()"])
def test_what_fails_is_not_told_without_a_standard_error(line: str, tmp_path: Path) -> None:
    text = f"import sys\nfake_host.host.listen = lambda: 1 / 0\n{line}\nimport torch\nprint('end')\n"
    done = ran(tmp_path, BEGIN + text)
    assert done.stdout == f"{IMPORTED}end\n"


FOREIGN = """\
import sys
from importlib.machinery import PathFinder
class Loader:
    __slots__ = ("own",)
    def __init__(self, own): self.own = own
    def create_module(self, spec): return None
    def exec_module(self, module): self.own.exec_module(module)
class Foreign:
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        if name == "torch": spec.loader = Loader(spec.loader)
        return spec
sys.meta_path.insert(0, Foreign)
"""


def test_a_loader_that_cannot_be_watched_is_left_alone(tmp_path: Path) -> None:
    done = ran(tmp_path, f"{FOREIGN}{BEGIN}import torch\nprint(type(torch.__loader__).__name__, sys.meta_path[0])\n")
    assert done.stdout == f"{IMPORTED}Loader <class '__main__.Foreign'>\n"
    assert done.stderr.startswith("kshell: not listening: ") and done.stderr.count("\n") == 1


ANOTHER = """\
import sys
from importlib.machinery import PathFinder
class Another:
    def find_spec(name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        if name == "torch":
            own = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (print("another"), own(module))
        return spec
sys.meta_path.insert(0, Another)
"""


def test_another_watcher_of_the_loader_stays(tmp_path: Path) -> None:
    text = "import torch\nprint(torch.__loader__.exec_module.__name__, startup.Finder not in map(type, sys.meta_path))\n"
    done = ran(tmp_path, ANOTHER + BEGIN + text)
    assert (done.stdout, done.stderr) == (f"another\n{IMPORTED}listen\n<lambda> True\n", "")


def test_a_finder_of_an_earlier_kind_is_passed_over(tmp_path: Path) -> None:
    text = "import sys\nclass Old:\n    def find_module(name, path=None): return None\nsys.meta_path.insert(1, Old)\nimport torch\n"
    done = ran(tmp_path, BEGIN + text)
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen\n", "")


def test_a_loader_of_many_modules(tmp_path: Path) -> None:
    """In a zip file one loader loads all modules of a folder, others perhaps between those that are awaited."""
    write(tmp_path, other="print('other')\n")
    shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path)
    look = "importlib.util.find_spec('torch')\n"
    (tmp_path / "program").mkdir()
    text = f"import importlib.util, sys\nsys.path[0] = '../all.zip'\n{BEGIN}{look}{look}import other\nimport torch\n"
    (tmp_path / "program" / "program.py").write_text(text + "print(vars(torch.__loader__).get('exec_module'))\n")
    done = run([sys.executable, "program.py"], tmp_path / "program")
    assert (done.stdout, done.stderr) == (f"other\n{IMPORTED}listen\nNone\n", "")


def test_a_fork_goes_on_by_itself(tmp_path: Path) -> None:
    text = f"{BEGIN}import os\nif os.fork():\n    print('code', os.wait()[1], flush=True)\nimport torch\n"
    done = ran(tmp_path, text)
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen\ncode 0\n{IMPORTED}listen\n", "")


CHILDREN = """\
import multiprocessing, sys
import fake_host
{before}
def work():
    import torch
    print("child", flush=True)
if __name__ == "__main__":
    import torch
    child = multiprocessing.get_context("{how}").Process(target=work)
    child.start()
    child.join()
    print("code", child.exitcode)
"""


@pytest.mark.parametrize("before", ["", "import torch"])
@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_a_child_of_multiprocessing_listens_at_its_first_step(how: str, before: str, tmp_path: Path) -> None:
    """Torch is imported with the program, before the child knows its parent, or in the function that it runs."""
    write(tmp_path, program=CHILDREN.format(how=how, before=before))
    env = environment(SITE, tmp_path, KSHELL_LISTEN="1")
    done = run([sys.executable, "program.py"], tmp_path, env)
    assert done.stdout == f"{IMPORTED}listen\n{IMPORTED}listen at the first step\nchild\ncode 0\n"
    assert done.stderr == ""


def test_a_forked_child_of_multiprocessing_that_imports_torch_listens_at_its_first_step(tmp_path: Path) -> None:
    text = CHILDREN.format(how="fork", before="").replace("    import torch\n    child =", "    child =")
    write(tmp_path, program=text)
    env = environment(SITE, tmp_path, KSHELL_LISTEN="1")
    done = run([sys.executable, "program.py"], tmp_path, env)
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen at the first step\nchild\ncode 0\n", "")


@pytest.mark.parametrize(
    ("words", "program", "is_helper"),
    [
        ("train.py --launcher torchrun", "train.py", False),
        ("-u -X dev -W error train.py", "train.py", False),
        ("-m trainer.main -m torchrun", "trainer.main", False),
        ("-c", "", False),
        ("", "", False),
        ("/usr/bin/torchrun --nproc 2 train.py", "/usr/bin/torchrun", True),
        ("-m torch.distributed.run train.py", "torch.distributed.run", True),
        ("-s /lib/torch/_inductor/compile_worker/__main__.py --workers=2", "/lib/torch/_inductor/compile_worker/__main__.py", True),
    ],
)
def test_programs_that_start_others_are_helpers(
    words: str, program: str, is_helper: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", *words.split()])
    assert (startup.program(), startup.is_helper()) == (program, is_helper)


def test_a_launcher_listens_at_its_first_step_and_what_it_starts_at_once(tmp_path: Path) -> None:
    write(tmp_path, sitecustomize="import fake_host\n", train="import torch\n")
    launch = "import subprocess, sys\nsubprocess.run([sys.executable, 'train.py'], check=True)\n"
    (tmp_path / "torch" / "distributed" / "run.py").write_text(launch)
    env = environment(SITE, tmp_path, KSHELL_LISTEN="1")
    done = run([sys.executable, "-m", "torch.distributed.run"], tmp_path, env)
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen at the first step\n{IMPORTED}listen\n", "")


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """The Python of an environment in which nothing is installed."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    return str(tmp_path / "venv" / "bin" / "python")


@pytest.fixture
def python(bare_python: str, tmp_path: Path) -> str:
    """The Python of an environment in which nothing but the line for KSHELL_LISTEN is installed."""
    shutil.copy(PTH, next((tmp_path / "venv").glob("lib/python*/site-packages")))
    return bare_python


LOADED = "import sys\nprint([name for name in sys.modules if name.startswith('kshell')], len(sys.meta_path))\n"


@pytest.mark.parametrize("value", ["", "0", None])
def test_nothing_of_kshell_is_imported_where_nobody_listens(value: str | None, python: str, tmp_path: Path) -> None:
    env = environment(**{} if value is None else {"KSHELL_LISTEN": value})
    done = run([python, "-c", LOADED], tmp_path, env)
    assert (done.stdout, done.stderr) == ("[] 3\n", "")


def test_a_variable_makes_a_program_listen(python: str, tmp_path: Path) -> None:
    write(tmp_path, program="import fake_host\nimport torch\nfrom kshell.attach import startup\nprint(startup.reason)\n")
    done = run([python, "program.py"], tmp_path, environment(KSHELL_LISTEN="1"))
    assert (done.stdout, done.stderr) == (f"{IMPORTED}listen\nenvironment\n", "")


def test_a_program_can_listen_by_itself(tmp_path: Path) -> None:
    text = "import kshell\nfrom kshell.host import host\nassert kshell.listen is host.listen"
    done = run([sys.executable, "-c", text], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_line_for_the_variable_is_installed() -> None:
    """Once, as one line that Python runs, and in the wheel beside the packages."""
    lines = [line for line in PTH.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 1 and lines[0].startswith("import os;")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"]["packaging/kshell-listen.pth"] == "kshell-listen.pth"


def test_another_python_without_kshell_is_silent(bare_python: str, tmp_path: Path) -> None:
    env = {**environment(KSHELL_LISTEN="1"), "PYTHONPATH": str(SITE)}
    done = run([bare_python, "-c", LOADED], tmp_path, env)
    assert (done.stdout, done.stderr) == ("[] 3\n", "")
