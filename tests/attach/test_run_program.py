"""`kshell run`: the program is the same as under `python`, and listens."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.attach.programs import IMPORTED, KSHELL, RUN, SITE, environment, run, write

SELF = """\
import builtins, os, sys
print(sys.argv, sys.path, sys.flags, sys.orig_argv[1:], sys.executable)
print(__name__, __file__, __spec__ and __spec__.name, __package__, "__cached__" in globals(), sorted(vars(builtins)) == sorted(dir(builtins)))
print([name for name in sys.modules if "site" in name], [name for name in sys.modules if name.startswith("torch")])
print(os.environ.get("LC_CTYPE"), sys.stdin.read(), file=sys.stderr)
"""
PROGRAMS = {
    "itself": SELF,
    "code": "raise SystemExit(7)\n",
    "text": "import sys\nsys.exit('no data')\n",
    "error": "def f():\n    raise ValueError('x')\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError(1) from e\n",
    "syntax": "print('a'\n",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "signals": "import signal\nprint([(s.name, signal.getsignal(s)) for s in signal.valid_signals() if hasattr(s, 'name')])\n",
    "atexit": "import atexit\natexit.register(print, 'at exit')\nprint('end')\n",
    "module": "import sitecustomize\nprint('there is one')\n",
}


def agree(folder: Path, *words: str, stdin: str = "", **variables: str) -> tuple[str, str, int]:
    """What a program prints and its exit code, the same by python and by `kshell run`."""
    env = environment(**variables)
    found = [run([*start, *words], folder, env, stdin) for start in ([sys.executable], RUN)]
    plain, ours = [(done.stdout, done.stderr, done.returncode) for done in found]
    assert plain == ours
    return plain


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_the_same(name: str, tmp_path: Path) -> None:
    write(tmp_path, **{name: PROGRAMS[name]})
    out, err, code = agree(tmp_path, f"{name}.py", "a", "--lr", "-m", stdin="lines\n")
    assert out or err or code in (7, -signal.SIGKILL)


def test_a_module_of_a_package_is_the_same(tmp_path: Path) -> None:
    package = tmp_path / "own" / "deep"
    package.mkdir(parents=True)
    (package / "main.py").write_text(SELF + "raise OSError(2, 'x')\n")
    out, err, code = agree(tmp_path, "-m", "own.deep.main", "-x")
    assert "__main__" in out and "own.deep.main" in out and "OSError" in err and code == 1


@pytest.mark.parametrize(
    "words",
    [("missing.py",), ("-m", "missing"), ("-m",), ("-c", "import sys; print(sys.argv)", "a"), ("-u", "-W", "error", "itself.py"), (".",), ("-",)],
)
def test_other_forms_are_pythons(words: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, itself=SELF, __main__=SELF)
    agree(tmp_path, *words, stdin="print(1)\n")


def test_a_locale_without_a_language_stays(tmp_path: Path) -> None:
    """Python changes LC_CTYPE there for what it starts, so for the program too."""
    write(tmp_path, itself=SELF)
    for locale in ({"LANG": "C"}, {"LANG": "", "LC_CTYPE": "C"}, {"LC_ALL": "C"}, {"PYTHONUTF8": "1"}):
        agree(tmp_path, "itself.py", **{"LC_ALL": "", **locale})


def test_the_words_after_two_dashes_are_the_program(tmp_path: Path) -> None:
    write(tmp_path, itself="import sys\nprint(sys.argv)\n")
    assert run([*RUN, "--", "itself.py", "--", "--help"], tmp_path).stdout == "['itself.py', '--', '--help']\n"


def test_it_is_the_same_process_and_takes_interrupts(tmp_path: Path) -> None:
    text = "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n"
    write(tmp_path, sleeper=text)
    ends = []
    for start in ([sys.executable], RUN):
        words = [*start, "sleeper.py"]
        with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as process:
            assert process.stdout is not None and int(process.stdout.readline()) == process.pid
            time.sleep(0.1)  # a signal just before the program sleeps is seen after that
            process.send_signal(signal.SIGINT)
            ends.append((process.communicate(timeout=60)[1].splitlines()[-1], process.returncode))
    assert ends == [("KeyboardInterrupt", -signal.SIGINT)] * 2


def test_it_listens_and_so_do_its_children(tmp_path: Path) -> None:
    child = "subprocess.run([sys.executable, 'program.py'], env={**os.environ, 'KSHELL_LISTEN': sys.argv[1]})"
    write(tmp_path, program=f"import fake_host, os, subprocess, sys, torch\nif sys.argv[1:]:\n    {child}\n")
    assert run([*RUN, "program.py"], tmp_path).stdout == f"{IMPORTED}listen\n"
    assert run([*RUN, "program.py", "1"], tmp_path).stdout == f"{IMPORTED}listen\n" * 2
    assert run([*RUN, "program.py", "0"], tmp_path).stdout == f"{IMPORTED}listen\n{IMPORTED}"


def test_the_environments_own_sitecustomize_is_run(tmp_path: Path) -> None:
    own = "import sys\nprint('own', __name__, __file__, __spec__.name, sys.modules[__name__].__dict__ is globals())\n"
    program = "import sitecustomize\nprint(sitecustomize.__file__)\nimport fake_host, torch\n"
    write(tmp_path, sitecustomize=own, program=program)
    plain = run([sys.executable, "program.py"], tmp_path, environment(tmp_path))
    begun = run([sys.executable, "program.py"], tmp_path, environment(SITE, tmp_path, KSHELL_LISTEN="1"))
    assert plain.stdout.count("sitecustomize.py") == 2 and begun.stdout == plain.stdout + "listen\n"
    assert (plain.stderr, begun.stderr) == ("", "")


def test_the_environments_own_sitecustomize_may_fail(tmp_path: Path) -> None:
    write(tmp_path, sitecustomize="1 / 0\n", program="import fake_host, torch\n")
    plain = run([sys.executable, "program.py"], tmp_path, environment(tmp_path))
    begun = run([sys.executable, "program.py"], tmp_path, environment(SITE, tmp_path, KSHELL_LISTEN="1"))
    assert "ZeroDivisionError" in plain.stderr and begun.stderr == plain.stderr
    assert (plain.stdout, begun.stdout) == (IMPORTED, f"{IMPORTED}listen\n")


def test_wrong_use_is_told(tmp_path: Path) -> None:
    cases = {
        (): "run needs a program: kshell run train.py",
        ("--",): "run needs a program: kshell run train.py",
        ("--replay",): "--replay needs a file",
        ("--replay", "none.q", "program.py"): f"--replay: {tmp_path}/none.q: no such file",
        ("--play", "program.py"): "run: unknown option --play",
    }
    for words, text in cases.items():
        done = run([*RUN, *words], tmp_path)
        assert (done.stderr, done.returncode) == (f"kshell: {text}\nkshell --help lists the options\n", 2)


def test_the_edits_to_replay_are_found_from_everywhere(tmp_path: Path) -> None:
    write(tmp_path, program="import os, sys\nprint(os.environ['KSHELL_REPLAY'], sys.argv)\n")
    (tmp_path / "edits.q").touch()
    done = run([*RUN, "--replay", "edits.q", "program.py", "--replay", "x"], tmp_path)
    assert done.stdout == f"{tmp_path}/edits.q ['program.py', '--replay', 'x']\n"


def test_a_script_of_q_may_be_named_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("-1 \"a script\";\n")
    assert run(RUN, tmp_path).stdout == "a script\n"
    assert run([*KSHELL, "./run", "x"], tmp_path).stdout == "a script\n"


def test_help_tells_of_it(tmp_path: Path) -> None:
    done = run([*RUN, "--help"], tmp_path)
    assert done.returncode == 0 and "kshell run [--replay F] train.py [args]" in done.stdout
