"""Queries and edits of programs that know nothing of kshell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kshell.attach import place
from tests.host.programs import PROGRAMS, Client, Refused, alone, running


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_listens_computes_the_same_bits(tmp_path: Path, name: str) -> None:
    expected = alone(tmp_path / "alone", PROGRAMS[name], by=subprocess.Popen, STEPS="60", PAUSE="0")
    with running(tmp_path / "listens", PROGRAMS[name], STEPS="60", PAUSE="0") as program:
        assert program.ended() == expected
    assert list((tmp_path / "listens" / "run").iterdir()) == []


@pytest.mark.slow
def test_queries_change_no_bit(tmp_path: Path) -> None:
    expected = alone(tmp_path / "alone", PROGRAMS["plain"], STEPS="150")
    with running(tmp_path / "asked", PROGRAMS["plain"], STEPS="150") as program:
        client = program.client()
        for text in ("gradtable optimizer", "tensor(`randn;3 3)", "forward(net;x)", "evaluate(net;x)", "10?1f", "statetable optimizer",
                     "state optimizer", "summary net", "select from .run.steps", "loss", "lr optimizer", "parmtable net"):
            client.typed(text)
        client.close()
        assert program.ended() == expected


@pytest.mark.slow
def test_edits_are_replayed_to_the_same_bits(tmp_path: Path) -> None:
    text = PROGRAMS["plain"]
    with running(tmp_path / "edited", text, STEPS="250") as program:
        client = program.client()
        client("lr(optimizer;.05)")
        client("child(net;`3;(`linear;16;1))")
        client.typed("freeze(net;`0)")
        client("undo 1")
        client(f".run.at[{client('.run.step') + 5};\"lr(optimizer;.02)\"]")
        client.close()
        edited = program.ended()
        log = program.folder / f"kshell-edits-{program.pid}.q"
        assert log.read_text().count(".run.at[") == 5
    again = [sys.executable, "-m", "kshell", "run", "--replay", str(log), "train.py"]
    with running(tmp_path / "again", text, *again, STEPS="250") as program:
        assert program.ended() == edited
    assert edited != alone(tmp_path / "alone", text, STEPS="250")


def test_an_edit_that_fails_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], PAUSE="0.01") as program:
        client = program.client()
        for line in ("lr(optimizer;.5);foo", "freeze(net;`0);1+`a", "child(net;`3;(`linear;16;1));foo", "zzz:5;lr(optimizer;.7);foo"):
            with pytest.raises(Refused, match=r"foo|type"):
                client(line)
            assert client.typed(line)[1][0] == "'"
            client.typed("\\")
        assert client("exec min gradflag from parmtable net")
        assert client("first lr optimizer") == 0.01
        assert len(client(".run.edits")["edit"]) == 0
        with pytest.raises(Refused, match="zzz"):
            client("zzz")
        assert not list(program.folder.glob("kshell-edits*"))
        client.close()
        program.wait_for(client_step(program) + 5)
        assert {words[1] for words in program.log} == {"0.01"}


def client_step(program: object) -> int:
    return int(program.log[-1][0])  # type: ignore[attr-defined]


def test_the_prompt_has_a_debugger_and_a_namespace(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], STEPS="2000") as program:
        client = program.client()
        assert client.typed("{x+`a}step0:1")[2] == "q))"
        assert client.typed("x")[0] == "1\n"
        assert client.typed("\\")[2] == "q)"
        assert client.typed("\\d .mine")[2] == "q.mine)"
        assert client.typed("a:5")[1] == ""
        assert client(".mine.a") == 5
        assert client.typed("lr optimizr")[1].endswith("hint: did you mean optimizer?\n") and client.typed("\\")[2] == "q.mine)"
        shown, warned, _ = client.typed("exit 0")
        assert shown == "" and warned.startswith("'access: exit")
        assert client.typed("1+")[1] or client.typed("1+1")[0] == "2\n"
        assert client("2+2") == 4


def test_a_pause_ends_with_its_client(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], STEPS="2000") as program:
        client = program.client()
        client("pause[]")
        at = client(".run.step")
        assert client(".run.step") == at
        client("step 3")
        assert program.until(lambda: client(".run.step") == at + 3 or None)
        assert client(".run.step") == at + 3
        client.socket.close()
        program.wait_for(at + 10)


@pytest.mark.slow
def test_variables_of_the_program_are_followed_and_let_go(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], STEPS="2000") as program:
        client = program.client()
        first = client(".run.step")
        assert client("mine:7") is None or client("mine") == 7
        assert client(".run.step") >= first
        assert "net" in list(client("system\"v\""))
        client.close()
        second = program.client()
        assert second("mine") == 7
        assert "net" in list(second("system\"v\""))


@pytest.mark.slow
def test_a_program_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import kshell\nkshell.listen(read_only=True)\n" + PROGRAMS["plain"]
    with running(tmp_path, text, sys.executable, "train.py", STEPS="2000") as program:
        client = program.client()
        assert client("count gradtable optimizer") == 4
        for line in ("lr(optimizer;.5)", "a:5", "pause[]", "freeze(net;`0)", "at[10000;\"1\"]", "system\"ls\""):
            with pytest.raises(Refused, match=r"noupdate|access"):
                client(line)
            assert client.typed(line)[1].startswith(("'noupdate", "'access")), line
            client.typed("\\")
        assert client.typed("exec name from parmtable net")[0].startswith("`0.weight")
        monkeypatch.setenv("KSHELL_RUN", str(program.run))
        soon = client(".run.step") + 20
        planned = place.asked(program.pid, f'plan [{soon}, "me", "lr(optimizer;.5)"]')  # as another process of a job does
        assert planned is not None and planned.answer == ""
        program.wait_for(soon + 3)
        assert client("first lr optimizer") == 0.01


@pytest.mark.slow
def test_a_port_beside_the_socket(tmp_path: Path) -> None:
    text = "import kshell\nkshell.listen()\nkshell.listen(\"0W\")\n" + PROGRAMS["plain"]
    with running(tmp_path, text, sys.executable, "train.py", STEPS="2000") as program:
        client = program.client()
        port = client("system\"p\"")
        other = Client(port)
        assert other("count gradtable optimizer") == 4
        client.typed("\\p 0")
        with pytest.raises(ConnectionRefusedError):
            Client(port)
        assert other("1+1") == 2 and program.client()("1+1") == 2
        client.typed("\\p 0W")
        assert Client(client("system\"p\""))("2+2") == 4 and program.client()("1+1") == 2
