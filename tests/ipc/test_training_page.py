"""The page of the training: its files, what its WebSocket tells while a session works, queries and their rights."""

from __future__ import annotations

import http.client
import importlib.machinery
import json
import math
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from kshell import Session as PythonSession
from kshell.kapi.base import lazy_torch
from kshell.kapi.base.recent import MOST, RECENT, Curve
from kshell.kapi.console.training import training
from tests import ROOT
from tests.ipc.processes import Server, eventually
from tests.ipc.test_http import basic
from tests.ipc.test_websocket import Talk
from tests.ipc.test_while_it_works import TRAIN
from tests.ipc.web import reply, serving

from wsproto.events import AcceptConnection, CloseConnection, RejectConnection, TextMessage  # isort: skip


def state(talk: Talk) -> dict[str, Any]:
    """The next state that a page is told."""
    while True:
        message = json.loads(talk.event())
        if message["kind"] == "state":
            return dict(message)


def ask(talk: Talk, query: str, number: int = 1) -> tuple[str, bool]:
    talk.say(TextMessage(json.dumps({"number": number, "query": query})))
    while True:
        message = json.loads(talk.event())
        if message["kind"] == "answer" and message["number"] == number:
            return message["text"], message["failed"]


def test_the_files_of_the_page() -> None:
    with serving('.z.ph:{.h.hy[`txt;"own"]}') as (_, port):
        assert reply(port, "GET", "/trainx") == (200, b"own")
        for target, kind, part in (("/train", "text/html", b"<title>kshell: training"), ("/train/page.css", "text/css", b"canvas"), ("/train/page.js", "text/javascript", b"WebSocket")):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            client.request("GET", target)
            answer = client.getresponse()
            body = answer.read()
            assert answer.status == 200 and answer.getheader("Content-Type") == f"{kind}; charset=utf-8" and part in body
            policy = answer.getheader("Content-Security-Policy", "")
            assert "default-src 'none'" in policy and "script-src 'self'" in policy and f"ws://127.0.0.1:{port}" in policy
            assert b"http:" not in body.replace(b'"https:"', b"") and b"//" not in body.replace(b"://${", b"").replace(b"// losses", b"").replace(b"// name", b"")
            client.close()


def test_the_script_is_one(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "kshell" / "ipc" / "training" / "page.js"
    try:
        done = subprocess.run(["node", "--check", str(path)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("node is not there")
    assert done.returncode == 0, done.stderr
    assert "innerHTML" not in path.read_text()


def test_a_page_is_told_what_is_live() -> None:
    with serving("m:module seq(`sequential;(`linear;`a;2;3);(`linear;`b;3;1))", "o:opt(`sgd;m;.125)", "backward Sum forward(m;tensor 4 2#1e)", "n:1") as (session, port):
        talk = Talk(port, "/train")
        assert isinstance(talk.answer, AcceptConnection)
        told = state(talk)
        assert told["memory"]["host"] > 1 << 20 and told["memory"]["machine"] > told["memory"]["host"] and told["reads"] is False
        by_name = {m["name"]: m for m in told["models"]}
        assert by_name["m"]["module"] == "sequential" and by_name["m"]["count"] == 13
        for p, name in zip(by_name["o"]["parameters"], ("a.weight", "a.bias", "b.weight", "b.bias"), strict=True):
            assert p["name"] == name and p["rate"] == 0.125
        assert by_name["o"]["parameters"][3]["grad"] == 4.0  # of the sum over four rows
        weights = session.run("raze tensor parm(m;`a.weight)").a
        assert by_name["m"]["parameters"][0]["norm"] == pytest.approx(math.sqrt(sum(float(w) ** 2 for w in weights)), rel=1e-5)
        assert any("open training page" in event["what"] for event in told["log"])
        assert session.run("count .z.H") == 0  # it is no handle of q
        session.run("m:o:0b")
        assert eventually(lambda: state(talk)["models"] == [])
        talk.close()


@pytest.mark.sampled(2)
def test_losses_are_kept_while_somebody_watches(tmp_path: Path) -> None:
    with serving() as (session, port):
        for line in TRAIN.strip().splitlines():
            session.run(line)
        session.run("run k")
        assert not RECENT.watchers
        talk = Talk(port, "/train")
        assert state(talk)["losses"] == []
        assert eventually(lambda: RECENT.watchers == 1)
        session.run("train(k;`metrics;`batchloss)")
        losses = session.run("run k").a.tolist()
        told: list[float] = []
        while len(told) < 400:  # in several parts where training takes longer than from one state to the next
            for curve in state(talk)["losses"]:
                told += curve["values"]
                assert curve["name"] == "k" and curve["count"] == len(told)
        assert told == pytest.approx(losses, rel=1e-5)
        assert all(not found["values"] for found in state(talk)["losses"])  # only what is new
        session.run("backward Sum tensor(2 3e;`grad)")
        found = next(found for found in (state(talk) for _ in range(5)) if any(c["name"] == "backward" for c in found["losses"]))
        assert [c["values"] for c in found["losses"] if c["name"] == "backward"] == [[5.0]]
        talk.say(CloseConnection(1000))
        assert eventually(lambda: RECENT.watchers == 0)
        talk.close()


@pytest.mark.sampled(2)
def test_while_a_session_trains(tmp_path: Path) -> None:
    with Server(tmp_path, TRAIN + "do[400;run k]\n") as server:
        talk = Talk(server.port, "/train")
        counts = []
        for _ in range(4):
            told = state(talk)
            counts += [c["count"] for c in told["losses"] if c["name"] == "k"]
        assert len(counts) > 1 and counts[-1] > counts[0]
        start = time.monotonic()
        assert ask(talk, "first lr o") == ("0.001", False)
        assert ask(talk, "nothere", 2) == ("'nothere", True)
        assert time.monotonic() - start < 5
        assert server.process.poll() is None
        talk.close()


def test_queries() -> None:
    with serving("a:5") as (session, port):
        talk = Talk(port, "/train")
        assert ask(talk, "a*2") == ("10", False)
        assert ask(talk, "b:7;", 2) == ("", False)
        assert session.run("b") == 7  # our own process
        assert ask(talk, "1+`x", 3) == ("'type", True)
        assert ask(talk, "([]v:1 2)", 4) == ("v\n-\n1\n2", False)
        for noise in ("", "[]", "{", '{"number":"x","query":1}', "\\u0000"):
            talk.say(TextMessage(noise))
        assert ask(talk, "2+2", 5) == ("4", False)
        talk.close()


def test_rights(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("ann:secret\n")
    users.chmod(0o600)
    with Server(tmp_path, "a:5\n", ("-U", str(users), "-b")) as server:
        talk = Talk(server.port, "/train")
        assert isinstance(talk.answer, RejectConnection) and talk.answer.status_code == 401
        assert reply(server.port, "GET", "/train")[0] == 401
        talk = Talk(server.port, "/train", False, Authorization=basic("ann:secret")["Authorization"])
        assert state(talk)["reads"] is True
        assert ask(talk, "a") == ("5", False)
        for wrong in ("a:6", "system\"ls\"", "exit 1"):
            text, failed = ask(talk, wrong, 9)
            assert failed and text.startswith(("'noupdate", "'access"))
        talk.close()


def test_strangers_may_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user of the machine whom `.z.pw` lets in without a name is not the owner of the process."""
    monkeypatch.setattr("kshell.ipc.peer.user_of", lambda sock: 12345)
    with serving(".z.pw:{[u;p]1b}", "a:5") as (_, port):
        talk = Talk(port, "/train")
        assert state(talk)["reads"] is True
        assert ask(talk, "a:6")[0].startswith("'noupdate")
        talk.close()
        talk = Talk(port, "/train", False, Authorization=basic("kim:x")["Authorization"])
        assert state(talk)["reads"] is False
        talk.close()
        assert isinstance(Talk(port, "/train", False, Origin="https://evil.example").answer, RejectConnection)


def test_a_curve_keeps_the_last() -> None:
    import torch

    curve = Curve()
    curve.note([torch.tensor(float(i)) for i in range(MOST + 10)])
    assert curve.count == MOST + 10 and curve.after(0) == [float(i) for i in range(10, MOST + 10)]
    curve.note([torch.tensor([1.0, 3.0])])
    assert curve.after(MOST + 9) == [MOST + 9.0, 2.0] and curve.after(MOST + 11) == []


def test_a_curve_keeps_a_number_of_each_loss() -> None:
    import torch

    curve = Curve()
    large = torch.rand(1000, 1000)
    curve.note([large, large[0, :1], torch.ones(()), torch.empty(0)])
    assert all(loss.numel() == 1 for loss in curve._new)
    assert curve.after(0) == pytest.approx([float(large.mean()), float(large[0, 0]), 1.0, math.nan], nan_ok=True)


@pytest.mark.sampled(2)
def test_a_curve_of_several_devices() -> None:
    """One that cannot be read is no number, and the others are there."""
    code = """
import torch
from tests.kapi import second_device
from kshell.kapi.base.recent import Curve
curve = Curve()
curve.note([torch.tensor(1.0), torch.tensor(2.0, device="sim"), torch.tensor(3.0, device="meta"), torch.tensor([4.0])])
curve.note([torch.tensor([5.0, 7.0], device="sim")])
print(curve.after(0), curve.after(4))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout == "[1.0, 2.0, nan, 4.0, 6.0] [6.0]\n", done.stderr


def test_parameters_without_a_norm() -> None:
    """Whatever a module holds, the others are described."""
    import torch
    import torch.distributed as dist
    from torch.distributed.tensor import distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = dist.init_device_mesh("cpu", (2,))
        odd = {
            "whole": torch.arange(3), "csr": torch.eye(3).to_sparse_csr(), "coo": torch.eye(3).to_sparse(), "bytes": torch.ones(3).to(torch.float8_e4m3fn),
            "meta": torch.ones(3, device="meta"), "none": torch.ones(0), "shard": distribute_tensor(torch.ones(4, 2), mesh),
        }
        made = torch.nn.Module()
        for name, t in odd.items():
            made.register_parameter(name, torch.nn.Parameter(t, requires_grad=False))
        made.register_parameter("lazy", torch.nn.UninitializedParameter())
        made.register_parameter("plain", torch.nn.Parameter(torch.tensor([3.0, 4.0])))
        made.register_parameter("complex", torch.nn.Parameter(torch.tensor([3.0j])))
        assert made.plain is not None
        made.plain.grad = torch.tensor([6.0, 8.0])
        session = PythonSession()
        session["m"] = made
        (told,) = session.for_python(lambda: training("state", {}))["models"]
    finally:
        dist.destroy_process_group()
    norms = {p["name"]: p["norm"] for p in told["parameters"]}
    assert norms == {**dict.fromkeys([*odd, "lazy"]), "plain": 5.0, "complex": 3.0}
    sizes = {p["name"]: p["size"] for p in told["parameters"]}
    assert sizes["shard"] == [4, 2] and sizes["csr"] == [3, 3] and sizes["lazy"] == []
    assert next(p["grad"] for p in told["parameters"] if p["name"] == "plain") == 10.0
    json.dumps(told)


@pytest.mark.sampled(2)
def test_a_module_is_shown_before_any_other_call() -> None:
    """Modules of kshell.nn import torch, not by the k-api's way to it."""
    code = """
from kshell.session import Session
from kshell.kapi.base.lazy_torch import loaded
from kshell.kapi.console.training import training
session = Session()
before = loaded()
session.run("net:module enlist(`linear;2;2)")
told = session.handle(training, "state", {})["models"]
import torch
print(before, [m["name"] for m in told], torch.sparse.check_sparse_tensor_invariants.is_enabled())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout == "False ['net'] True\n", done.stderr


def test_torch_that_is_being_imported_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    half = types.ModuleType("torch")
    half.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    half.__spec__._initializing = True  # type: ignore[attr-defined]
    monkeypatch.setattr(lazy_torch, "_MODULE", [])
    monkeypatch.setitem(sys.modules, "torch", half)
    assert not lazy_torch.loaded()


@pytest.mark.parametrize(
    "text", ['{"number":Infinity,"query":"a:1"}', '{"number":1.5,"query":"a:1"}', '{"number":true,"query":"a:1"}', '{"number":"1","query":"a:1"}', '{"number":1,"query":["a:1"]}',
             '[["number",1],["query","a:1"]]', "[" * 200_000, "{" * 10, "7", "null", "\x00"],
)  # fmt: skip
def test_messages_that_are_no_queries_are_ignored(text: str) -> None:
    with serving("a:5") as (session, port):
        talk = Talk(port, "/train")
        talk.say(TextMessage(text))
        assert ask(talk, "a", 2) == ("5", False)
        assert session.run("a") == 5
        talk.close()


def test_a_negative_port_only_reads() -> None:
    with serving("a:5") as (session, _):
        port = abs(session.do(lambda s: s.listen("-0W")))
        talk = Talk(port, "/train")
        assert state(talk)["reads"] is True
        assert ask(talk, "a:6")[0].startswith("'noupdate")
        assert session.run("a") == 5
        talk.close()
