"""`kshell attach` to a program that does not listen, where Python cannot inject a script: a signal runs it instead, in the
middle of the program's main thread as Python would. test_remote_exec.py has the real thing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kshell.attach import place, process, remote
from tests.attach.programs import environment, write

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
# a program that waits for a line; what it does before and after that is put in
WAITS = """\
import os, signal, sys
import fake_host
path = f"{os.environ['KSHELL_RUN']}/{os.getpid()}"
fake_host.host.listen = lambda: print("listen", flush=True) or path
def inject(*_):
    if os.path.exists(f"{path}.py"):
        exec(open(f"{path}.py").read(), {})
signal.signal(signal.SIGUSR1, inject)
BEFORE
print("ready", flush=True)
sys.stdin.readline()
AFTER
"""
TORCH = "import torch\ntorch.from_numpy = lambda x: x\n"


def begin(pid: int, path: str) -> None:
    """In place of sys.remote_exec."""
    file = Path(path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and path == place.script_of(pid)
    while file.exists():  # a signal that comes just before the program waits for its line is seen after that
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.05)


def refused(error: Exception) -> Callable[[int, str], None]:
    def remote_exec(pid: int, path: str) -> None:
        raise error

    return remote_exec


@contextmanager
def program(
    folder: Path, before: str = "", after: str = "", *options: str, name: str = "program.py", **variables: str
) -> Iterator[subprocess.Popen[str]]:
    write(folder)
    (folder / name).write_text(WAITS.replace("BEFORE", before).replace("AFTER", after))
    env = {**environment(KSHELL_RUN=place.folder()), **variables}
    process = subprocess.Popen([sys.executable, *options, name], cwd=folder, env=env, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None and "ready\n" in iter(process.stdout.readline, "")
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def ended(program: subprocess.Popen[str]) -> tuple[str, str]:
    """What a program prints after it was told to go on."""
    return program.communicate("\n", timeout=60)


@pytest.fixture
def _injected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "remote_exec", begin, raising=False)


@pytest.mark.usefixtures("_injected")
def test_a_program_listens_at_once_or_when_it_has_imported_torch(tmp_path: Path, folder: str) -> None:
    with program(tmp_path, TORCH, "print('end')") as one, program(tmp_path, "", "import torch\nprint('end')") as other:
        for asked, answer in ((one, "it does not listen after"), (other, "it listens as soon as it has imported torch")):
            assert answer in remote.attach(asked.pid, 1.5)  # the host here prints that it listens, and does not
        assert os.listdir(folder) == []
        assert ended(one)[0].splitlines()[-2:] == ["listen", "end"]
        assert ended(other)[0].splitlines()[-3:] == ["torch is complete", "listen", "end"]


@pytest.mark.usefixtures("_injected")
def test_an_import_of_torch_that_has_begun_is_waited_for(tmp_path: Path) -> None:
    """Nobody was told when it began; in the middle of it torch cannot be used."""
    with program(tmp_path, "", "import torch, time\ntime.sleep(1)\nprint('end')") as asked:
        text = "import signal, os, time\nfrom torch import optim\nos.kill(os.getpid(), signal.SIGUSR1)\ntime.sleep(1)\nfrom_numpy = str\nprint('complete')\n"
        (tmp_path / "torch" / "__init__.py").write_text(text)
        path = place.script_of(asked.pid)
        Path(place.answer_of(asked.pid)).touch()
        remote._write(path, asked.pid)
        out, problems = asked.communicate("\n", timeout=60)
        assert problems == "" and out.splitlines()[:2] == ["torch.optim.optimizer", "complete"]
        answered = Path(place.answer_of(asked.pid)).read_text()
    assert answered == "listens\n" and out.splitlines()[2:] == ["listen", "end"]


@pytest.mark.usefixtures("_injected")
@pytest.mark.parametrize(("lent", "missing"), [
    (remote.LENT, ""), (("kshell",), "kshell needs numpy, prompt_toolkit, pyparsing, which the program cannot import"), ((), "No module named 'kshell")])
def test_a_program_without_kshell_uses_that_of_the_one_who_attaches(
    lent: tuple[str, ...], missing: str, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other packages are lent to nobody: what the program looks for itself is as absent as ever."""
    monkeypatch.setattr(remote, "LENT", lent)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "more")])
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "only_there.py").write_text("")
    last = "try:\n    import only_there\nexcept ImportError:\n    print('absent')"
    with program(tmp_path, TORCH, last, "-S", PYTHONPATH="") as asked:
        answer = remote.attach(asked.pid, 3.0)
        assert (missing or "it does not listen after") in answer
        out, problems = ended(asked)
        assert problems == "" and ("listen" in out.split()) == (not missing) and out.splitlines()[-1] == "absent"
    assert os.listdir(folder) == []


@pytest.mark.usefixtures("_injected")
def test_a_program_that_lacks_modules_is_not_made_to_wait_for_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LENT", ("kshell", "numpy", "wcwidth"))
    with program(tmp_path, "", "import torch", "-S", PYTHONPATH="") as asked:
        text = remote.attach(asked.pid, 60.0)
        assert text == f"{asked.pid}: kshell needs prompt_toolkit, pyparsing, which the program cannot import"
        out, problems = ended(asked)
        assert problems == "" and "listen" not in out.split()


@pytest.mark.usefixtures("_injected")
def test_a_torch_without_numpy_is_of_no_use(tmp_path: Path) -> None:
    no_numpy = TORCH + "def no(x): raise RuntimeError('Numpy is not available')\ntorch.from_numpy = no\n"
    with program(tmp_path, no_numpy) as asked:
        assert "without which the program has imported torch" in remote.attach(asked.pid, 60.0)
        out, problems = ended(asked)
        assert problems == "" and "listen" not in out.split()


@pytest.mark.usefixtures("_injected")
def test_a_program_that_listens_elsewhere_says_where(tmp_path: Path) -> None:
    with program(tmp_path, TORCH + "fake_host.host.listen = lambda: '/there/1'\n") as asked:
        assert remote.attach(asked.pid, 60.0) == f"{asked.pid}: it listens in another folder: KSHELL_RUN=/there"


@pytest.mark.usefixtures("_injected")
def test_a_launcher_names_the_processes_that_it_started(tmp_path: Path) -> None:
    starts = "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
    with program(tmp_path, starts, "child.kill()\nprint(child.pid)\n", name="torchrun") as asked:
        text = remote.attach(asked.pid, 60.0)
        child = ended(asked)[0].strip()
        assert text == f"{asked.pid}: it makes no steps itself, but the processes that it has started: {child}"


FORKS = """\
import os, threading, time
from kshell.attach import injected
forks = injected._Forks()
forks.lock.acquire()
threading.Timer(.5, forks.lock.release).start()
start = time.monotonic()
pid = os.fork()
if not pid:
    os._exit(int(forks.lock.locked()))
print(time.monotonic() - start >= .4, os.waitpid(pid, 0)[1], forks.lock.locked())
"""


def test_a_fork_waits_for_the_imports_of_the_thread(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True 0 False\n", "")


def test_a_program_that_does_not_run_python_now(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """The script stays, or the program would say that it cannot open it; it goes when nobody is left to run it."""
    monkeypatch.setattr(sys, "remote_exec", lambda pid, path: None, raising=False)
    monkeypatch.setattr(process, "python", lambda pid: HERE)
    with subprocess.Popen(["sleep", "60"]) as asked:
        text = remote.attach(asked.pid, 0.2)
        assert text.startswith(f"{asked.pid}: it listens as soon as its main thread runs a line of Python again")
        assert os.listdir(folder) == [f"{asked.pid}.py"]
        assert place.listening() == [] and os.listdir(folder) == [f"{asked.pid}.py"]
        asked.kill()
    assert place.listening() == [] and os.listdir(folder) == []


def test_a_program_that_ends_before_it_listens(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(sys, "remote_exec", lambda pid, path: os.kill(pid, signal.SIGKILL), raising=False)
    monkeypatch.setattr(process, "python", lambda pid: HERE)
    with subprocess.Popen(["sleep", "60"]) as asked:  # nobody waits for it until then
        assert remote.attach(asked.pid, 60.0) == f"{asked.pid} has ended" and os.listdir(folder) == []


@pytest.mark.parametrize(("error", "missing"), [
    (PermissionError(1, "Operation not permitted"), "CAP_SYS_PTRACE"),
    (RuntimeError("Remote debugging is not enabled in the remote process"), "the program was started with PYTHON_DISABLE_REMOTE_DEBUG"),
    (RuntimeError("Remote debugging is not enabled"), "this Python was started with PYTHON_DISABLE_REMOTE_DEBUG"),
    (RuntimeError("Can't send commands from a Python 3.14 process to a Python 3.15 process"), "another build of Python"),
    (ValueError("Debugger script path is too long"), "too long"),
    (RuntimeError("PyRuntime address lookup failed during debug offsets initialization"), "PyRuntime")])
def test_what_is_missing_is_said(error: Exception, missing: str, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(sys, "remote_exec", refused(error), raising=False)
    text = remote.attach(os.getpid())
    assert missing in text and "\n" not in text and os.listdir(folder) == []


@pytest.mark.parametrize(("scope", "text"), [(None, "needs CAP_SYS_PTRACE, as root has"), ("0", "needs CAP_SYS_PTRACE, as root has"),
                                             ("1", "or 0 in {}, which is 1"), ("3", "{} is 3, so no process may trace another")])
def test_a_program_that_may_not_be_traced(
    scope: str | None, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    def forbidden(path: str, flags: int) -> int:
        assert str(path) == f"/proc/{os.getpid()}/mem"
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(sys, "remote_exec", refused(AssertionError("not asked")), raising=False)
    monkeypatch.setattr(process, "_SCOPE", tmp_path / "scope")
    if scope is not None:
        (tmp_path / "scope").write_text(f"{scope}\n")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", forbidden)
        found = remote.attach(os.getpid())
    assert found.startswith(f"{os.getpid()}: not permitted: ") and found.endswith(text.format(tmp_path / "scope"))
    assert os.listdir(folder) == []


def test_a_program_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "remote_exec", refused(AssertionError("not asked")), raising=False)
    monkeypatch.setattr(process, "owner", lambda pid: 2**31)
    text = remote.attach(os.getpid())
    assert text.endswith(f"it is a process of user {2**31}, who alone can: sudo -u {2**31} kshell attach {os.getpid()}")


def test_python_must_be_the_same_on_both_sides(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr(sys, "remote_exec", refused(AssertionError("not asked")), raising=False)
    assert process.python(os.getpid()) == HERE
    with subprocess.Popen(["sleep", "60"]) as asked:
        assert process.python(asked.pid) == "" and "there no Python that is known" in remote.attach(asked.pid)
        asked.kill()
    monkeypatch.setattr(process, "python", lambda pid: "3.9")
    text = remote.attach(os.getpid())
    assert text.startswith(f"{os.getpid()}: {remote.NEEDS}: here it is {HERE}, there 3.9")
    monkeypatch.delattr(sys, "remote_exec")
    assert remote.attach(os.getpid()) == remote.NEEDS and os.listdir(folder) == []


def test_a_program_that_sees_other_files(monkeypatch: pytest.MonkeyPatch, folder: str, tmp_path: Path) -> None:
    """As in a container: it would find no script."""
    monkeypatch.setattr(sys, "remote_exec", refused(AssertionError("not asked")), raising=False)
    monkeypatch.setattr(process, "python", lambda pid: HERE)
    (tmp_path / "file").touch()
    assert not process.is_apart(os.getpid(), str(tmp_path / "file"))
    proc = tmp_path / "proc"
    (proc / "1" / "root").mkdir(parents=True)
    (proc / "1" / "status").write_text(f"State:\tS\nUid:\t{os.geteuid()}\nNSpid:\t1\n")
    monkeypatch.setattr(process, "PROC", proc)
    with suppress(PermissionError):
        assert process.is_apart(1, str(tmp_path / "file"))
        assert "it runs in a container" in remote.attach(1) and os.listdir(folder) == []


def test_the_processes_of_a_job_are_found_by_their_launcher(tmp_path: Path) -> None:
    job = {"MASTER_ADDR": "there", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x"}
    env = environment(**job)
    start = [subprocess.Popen(["sleep", "60"], env={**env, "RANK": str(rank)}) for rank in (2, 0, 1)]
    more = [subprocess.Popen(["sleep", "60"], env=given) for given in (env, {**env, "RANK": "0", "MASTER_PORT": "2"})]
    try:
        assert process.ranks(start[0].pid) == {0: start[1].pid, 1: start[2].pid}
        assert process.ranks(more[0].pid) == {} == process.ranks(more[1].pid)
        assert {child.pid for child in [*start, *more]} <= set(process.children(os.getpid()))
    finally:
        for child in [*start, *more]:
            child.kill()
            child.wait(20)
