"""Notebooks: the Jupyter kernel over its protocol, the magics in IPython, and the page on them."""

from __future__ import annotations

import asyncio
import contextlib
import doctest
import importlib.util
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kshell import Session, notebook
from kshell.values.base.build import string
from tests.docs.test_docs import ROOT, blocks, masked
from tests.ipc.processes import Client

pytestmark = pytest.mark.extra

PAGE = ROOT / "docs" / "notebooks.md"
MISSING = [n for n in ("ipykernel", "jupyter_client", "jupyter_kernel_test") if importlib.util.find_spec(n) is None]
needs_jupyter = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
needs_ipython = pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="not installed: IPython")

# ------------------------------------------------------------------ cells


@pytest.mark.parametrize(("code", "state"), [
    ("1+1", "complete"), ("f:{x+1}\nf 1", "complete"), ("f:{", "incomplete"), ('"abc', "incomplete"), ("(1;", "incomplete"),
    ("1+)", "invalid"), ("", "complete"), ("\\t til 3", "complete"), ("/\nnote", "incomplete"), ("f:{\n  x+1\n  }", "complete")])
def test_is_a_cell_complete(code: str, state: str) -> None:
    assert notebook.state(code) == state


def test_inspection() -> None:
    s = Session()
    s.run("number:5")
    assert notebook.inspection(s, "1+number", 5)["text/plain"] == "5"
    assert "x xbar y" in notebook.inspection(s, "3 xbar 4", 4)["text/plain"]
    assert "loss" in notebook.inspection(s, "opt(`adam;m)", 6)["text/plain"] or \
        "moment" in notebook.inspection(s, "opt(`adam;m)", 6)["text/plain"]
    assert notebook.inspection(s, "nosuch1", 3) == {} == notebook.inspection(s, "1 + 2", 2)


def test_html_of_tables() -> None:
    s = Session()
    page = notebook.bundle(s, s.run("([k:`a`b]v:1 2;w:(\"<b>\";\"&\"))"))["text/html"]
    assert page.count("<tr>") == 3 and "<th style=\"text-align:left\">a</th>" in page
    assert "&lt;b&gt;" in page and "<b>" not in page
    long = notebook.bundle(s, s.run("([]v:til 1000)"))["text/html"]
    assert long.count("<tr>") == 23 and "<p>1,000 rows</p>" in long and ">..<" in long
    assert "text/html" not in notebook.bundle(s, s.run("1 2"))
    noted = notebook.bundle(s, s.run("tensor 2 3#0e"))["text/plain"]
    assert noted[8:] == "  tensor float 2 3 cpu" and noted[:8].isdigit()
    assert notebook.bundle(s, s.run("([]v:())"))["text/html"].count("<tr>") == 1


# ------------------------------------------------------------------ the kernel

if not MISSING:
    import jupyter_kernel_test
    from jupyter_client.manager import KernelManager

    @pytest.fixture(scope="module", autouse=True)
    def kernelspec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        """The kernel, installed by its own command where only these tests look."""
        prefix = tmp_path_factory.mktemp("prefix")
        done = subprocess.run([sys.executable, "-m", "kshell.kernel", "install", "--prefix", str(prefix)],
                              capture_output=True, text=True, check=True)
        folder = prefix / "share" / "jupyter" / "kernels" / "kshell"
        assert done.stdout == f"kernel installed in {folder}\n"
        before = os.environ.get("JUPYTER_PATH")
        os.environ["JUPYTER_PATH"] = str(prefix / "share" / "jupyter")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        yield folder
        os.environ.pop("JUPYTER_PATH") if before is None else os.environ.update(JUPYTER_PATH=before)

    class TestProtocol(jupyter_kernel_test.KernelTests):  # type: ignore[misc]
        """The suite for kernels of the Jupyter developers."""

        kernel_name = "kshell"
        language_name = "q"
        file_extension = ".q"
        code_hello_world = '-1"hello, world";'
        code_stderr = '-2"oops";'
        completion_samples = [{"text": "xas", "matches": {"xasc"}}, {"text": "opt(`rms", "matches": {"rmsprop"}}]
        complete_code_samples = ["1+1", "f:{x+1}"]
        incomplete_code_samples = ["f:{x", '"abc']
        invalid_code_samples = ["1+)", "(1]"]
        code_generate_error = "1+`a"
        code_execute_result = [
            {"code": "1+1", "result": "2"}, {"code": "a:3\na*til 3", "result": "0 3 6"},
            {"code": "([]a:1 2)", "result": "a\n-\n1\n2"}, {"code": "([]a:1 2)", "mime": "text/html"}]
        code_display_data = [{"code": "([]a:1 2)\n2", "mime": "text/html"}]
        code_history_pattern = "1?1*"
        supported_history_operations = ("tail", "search", "range")
        code_inspect_sample = "xasc"

    @pytest.fixture(scope="module")
    def client() -> Iterator[Any]:
        manager = KernelManager(kernel_name="kshell")
        manager.start_kernel()
        found = manager.client()
        found.start_channels()
        found.wait_for_ready(timeout=60)
        yield manager, found
        found.stop_channels()
        manager.shutdown_kernel(now=True)

    def run(found: Any, code: str, **options: Any) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
        """The reply to a cell, and what it showed."""
        shown: list[tuple[str, dict[str, Any]]] = []
        reply = found.execute_interactive(code, timeout=60, allow_stdin=False, output_hook=lambda m: shown.append(
            (m["msg_type"], m["content"])), **options)
        return reply["content"], [s for s in shown if s[0] not in ("status", "execute_input")]


@needs_jupyter
def test_cells_of_a_kernel(client: Any) -> None:
    _, found = client
    reply, shown = run(found, "a:5;\na\n-1\"out\";\n2*a")
    assert reply["status"] == "ok"
    assert [(k, c.get("text") or c["data"]["text/plain"]) for k, c in shown] == [
        ("display_data", "5"), ("stream", "out\n"), ("execute_result", "10")]
    reply, shown = run(found, "f:{x+`a}\nf 1\n3")
    assert reply["status"] == "error" and reply["ename"] == "type"
    assert shown[0][1]["traceback"][0] == "'type" and "f:{x+`a}" in shown[0][1]["traceback"][1] and len(shown) == 1
    reply, _ = run(found, "", user_expressions={"x": "a", "y": "1+`a"})
    assert reply["user_expressions"]["x"]["data"] == {"text/plain": "5"}
    assert reply["user_expressions"]["y"]["ename"] == "type"
    assert run(found, "exit 0")[0]["payload"] == [{"source": "ask_exit", "keepkernel": False}]
    assert run(found, "a:6;a", silent=True)[1] == [] and run(found, "a")[1][0][1]["data"]["text/plain"] == "6"


@needs_jupyter
def test_input_of_a_kernel(client: Any) -> None:
    """`read0 0` asks the front end; one that takes no input is told of."""
    _, found = client
    shown: list[str] = []
    given = iter(["first", "", "\u00e9", "\x04"])
    reply = found.execute_interactive("r:read0 0;r,:read0 0;r,:read0 0;count e:read0 0\nr", timeout=60, allow_stdin=True,
                                      stdin_hook=lambda m: found.input(next(given)), output_hook=lambda m: shown.append(
                                          m["content"].get("data", {}).get("text/plain", "")))
    assert reply["content"]["status"] == "ok", reply["content"]
    assert [s for s in shown if s] == ["0", '"first\\303\\251"']
    assert run(found, "read0 0")[0]["ename"] == "the front end takes no input"


@needs_jupyter
def test_interrupts_of_a_kernel(client: Any) -> None:
    manager, found = client
    # an error ends the cells that wait behind it; the next one here is to run, however soon it comes
    message = found.execute("-1\"going\";while[1b;1+1]", stop_on_error=False)
    while True:
        m = found.get_iopub_msg(timeout=60)
        if m["parent_header"].get("msg_id") == message and m["msg_type"] == "stream":
            break
    time.sleep(0.2)
    manager.interrupt_kernel()
    while (reply := found.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != message:
        pass  # a reply to what came before
    assert reply["content"]["ename"] == "stop"
    assert run(found, "1+1")[1][-1][1]["data"]["text/plain"] == "2"


@needs_jupyter
def test_clients_ask_between_cells(client: Any) -> None:
    _, found = client
    run(found, "\\p 0W")
    port = int(run(found, "system\"p\"")[1][0][1]["data"]["text/plain"].rstrip("i"))
    for _ in range(3):
        asking = Client(port)
        assert asking.ask(string("6*7")) == 42
        asking.close()
    run(found, "\\p 0")


@needs_jupyter
def test_a_client_does_not_end_the_kernel(client: Any) -> None:
    """Neither between cells nor while a cell runs."""
    _, found = client
    run(found, "\\p 0W")
    asking = Client(int(run(found, "system\"p\"")[1][0][1]["data"]["text/plain"].rstrip("i")))
    with pytest.raises(ValueError, match="access: exit"):
        asking.ask(string("exit 0"))
    asking.send(1, string("exit 0"))
    assert run(found, "do[50;system\"sleep .01\"]")[0]["payload"] == []
    assert b"access: exit" in asking.message()[1]
    assert asking.ask(string("6*7")) == 42
    asking.close()
    run(found, "\\p 0")


@needs_jupyter
def test_the_kernels_spec(kernelspec: Path) -> None:
    spec = json.loads((kernelspec / "kernel.json").read_text())
    assert spec["argv"][1:] == ["-m", "kshell.kernel", "-f", "{connection_file}"] and spec["language"] == "q"


def test_a_kernel_without_ipykernel() -> None:
    code = "import sys;sys.modules['ipykernel']=sys.modules['jupyter_client']=None;sys.argv=['x'];" \
           "import runpy;runpy.run_module('kshell.kernel',run_name='__main__',alter_sys=False)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "pip install 'kshell[jupyter]'" in done.stderr and "Traceback" not in done.stderr


# ------------------------------------------------------------------ the magics


@pytest.fixture
def bare() -> Iterator[Any]:
    """IPython without the extension."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    made = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_line_magic("colors", "nocolor")
    yield made
    made.run_line_magic("unload_ext", "kshell")


@pytest.fixture
def shell(bare: Any) -> Any:
    bare.run_line_magic("load_ext", "kshell")
    return bare


def cell(shell: Any, text: str) -> str:
    """What a cell prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        shell.run_cell(text)
    return out.getvalue()


@needs_ipython
def test_magics_share_a_session(shell: Any) -> None:
    shell.user_ns["x"] = [1, 2, 3]
    assert cell(shell, "%%q -i x -o y,z\ny:2*x\nz:`sum`n!(sum x;count x)\ny\n([]y)") == "2 4 6\ny\n-\n2\n4\n6\n"
    assert shell.user_ns["y"].tolist() == [2, 4, 6] and shell.user_ns["z"] == {"sum": 6, "n": 3}
    cell(shell, "w = %q sum y")
    assert shell.user_ns["w"] == 12
    cell(shell, "q.y = 5")
    assert cell(shell, "%%q\ny") == "5\n"
    assert cell(shell, "%%q\n1+`a\n2") == "'type\n  [0]  1+`a\n        ^\n"
    assert "NameError: name 'nosuch' is not defined" in cell(shell, "%%q -i nosuch\n1")
    assert "'zz" in cell(shell, "%%q -o zz\n1")
    assert "'type" in cell(shell, "%q 1+`a") and "Traceback" not in cell(shell, "%q 1+`a")


@needs_ipython
def test_magics_take_any_variable(shell: Any) -> None:
    """What has no q value is held, and what cannot be taken is an error as q shows it."""
    cell(shell, "import pathlib\nx = [pathlib.Path('a'), 1j, 2]\nbig = 2**64\n_own = 1")
    assert cell(shell, "%%q -i x -o y\ny:reverse x\ny") == "2\nforeign\nforeign\n"
    assert shell.user_ns["y"][2] is shell.user_ns["x"][0]
    for name, text in (("big", "'limit"), ("_own", "'assign")):
        shown = cell(shell, f"%%q -i {name}\n1")
        assert text in shown and "Traceback" not in shown
    assert cell(shell, "z = %q x 1\nprint(z)") == "1j\n"


@needs_ipython
def test_input_of_a_cell(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook of Python `read0 0` asks as Python's input does."""
    bare.kernel = object()
    bare.run_line_magic("load_ext", "kshell")
    monkeypatch.setattr("builtins.input", lambda: "typed")
    assert cell(bare, "%%q\nread0 0") == '"typed"\n'


@needs_ipython
def test_magics_share_modules(shell: Any) -> None:
    cell(shell, "import torch\nm = torch.nn.Linear(2, 1)\nt = m.weight")
    cell(shell, "%%q -i m -o o\no:opt(`sgd;m;.5);\nparm(m;`weight;enlist 3 4e);")
    assert shell.user_ns["t"].tolist() == [[3.0, 4.0]]
    assert shell.user_ns["o"].param_groups[0]["params"][0] is shell.user_ns["t"]


@needs_ipython
@pytest.mark.parametrize(("text", "there", "absent"), [
    ("%%q -i x\nvalue1:1\nopt(`rms", "rmsprop", "range"), ("y = %q xas", "xasc", "range"), ("ran", "range", "rank"),
    ("%%q\nshared", "shared1", "shared2")])
def test_completion_in_cells(shell: Any, text: str, there: str, absent: str) -> None:
    cell(shell, "shared2 = 1")
    cell(shell, "%%q\nshared1:1")
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        matches = {c.text for c in shell.Completer.completions(text, len(text))}
    assert there in matches and absent not in matches


@needs_ipython
def test_the_extension_can_be_unloaded_and_keeps_a_variable_q() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns["q"] = 5
    shell.run_line_magic("load_ext", "kshell")
    assert shell.user_ns["q"] == 5
    shell.run_line_magic("unload_ext", "kshell")
    assert "q" not in shell.magics_manager.magics["cell"] and shell.user_ns["q"] == 5


@needs_ipython
def test_serving_begins_again_when_it_has_ended() -> None:
    s = Session()
    s.listen()

    async def ended() -> None:
        return

    async def main() -> None:
        task = asyncio.create_task(ended())
        await task
        again = notebook.serve_between_cells(s, task)
        assert again is not None and again is not task and not again.done()
        assert notebook.serve_between_cells(s, again) is again
        again.cancel()

    asyncio.run(main())
    s.end_ipc()


@needs_ipython
def test_an_unloaded_extension_listens_no_longer(shell: Any) -> None:
    async def main() -> None:
        cell(shell, "%%q\n\\p 0W")
        session = shell.user_ns["q"]
        before, port = asyncio.all_tasks(), session.ipc.number
        asking = await asyncio.to_thread(Client, port)
        with pytest.raises(ValueError, match="access: exit"):
            await asyncio.to_thread(asking.ask, string("exit 0"))
        assert await asyncio.to_thread(asking.ask, string("6*7")) == 42
        shell.run_line_magic("unload_ext", "kshell")
        await asyncio.sleep(0)
        assert asyncio.all_tasks() < before
        assert asking.ended() and session.ipc.number == 0
        asking.close()

    asyncio.run(main())


# ------------------------------------------------------------------ the page


def test_python_of_the_page() -> None:
    """The Python sessions of docs/notebooks.md give what the page says."""
    text = "\n".join(b.text for b in blocks(PAGE) if b.language == "pycon")
    if "pandas" in text and importlib.util.find_spec("pandas") is None:
        pytest.skip("not installed: pandas")
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    out = io.StringIO()
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=out.write)
    assert result.attempted > 15 and not result.failed, out.getvalue()


@pytest.mark.sampled(3)
def test_the_embedded_prompt_of_the_page(tmp_path: Path) -> None:
    """The program of the page, and what is typed at its prompt."""
    found = blocks(PAGE)
    at = next(i for i, b in enumerate(found) if b.language == "py")
    (tmp_path / "train.py").write_text(found[at].text)
    lines = found[at + 1].text.splitlines()
    typed = [line[2:] for line in lines if line.startswith("q)")]
    expected = [line for line in lines if not line.startswith(("q)", "$"))]
    done = subprocess.run([sys.executable, "train.py"], input="\n".join(typed) + "\n", capture_output=True, text=True,
                          cwd=tmp_path, check=False)
    assert masked(done.stdout.splitlines()) == masked(expected), done.stderr


@needs_ipython
def test_cells_of_the_page(bare: Any) -> None:
    """The cells of the page, each followed by what it shows."""
    found = blocks(PAGE)
    cells = [i for i, b in enumerate(found) if b.language == "ipython"]
    assert len(cells) > 2
    for i in cells:
        shown = found[i + 1].text if i + 1 < len(found) and found[i + 1].language == "out" else ""
        assert cell(bare, found[i].text).rstrip() == shown.rstrip(), found[i].text
