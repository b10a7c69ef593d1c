"""Texts that are evaluated again and again: each time with what their names mean by then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kshell import registry
from kshell.errors import QError
from kshell.lang.session import known_texts
from kshell.registry import Entry
from kshell.session import Session


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.mark.parametrize(
    "assign",
    [".h.hn:{[a;b;c]1}", "`.h.hn set{[a;b;c]1}", 'system"d .h";hn:{[a;b;c]1}', 'system"d .h";value"hn:{[a;b;c]1}"', "@[`.h;`hn;:;{[a;b;c]1}]",
     ".h:(enlist`hn)!enlist{[a;b;c]1}", 'system"d .h";value"{hn::x}{[a;b;c]1}"'],
)  # fmt: skip
def test_a_library_name_that_is_replaced(session: Session, assign: str) -> None:
    session.run('f:{value".h.hn"}')
    built_in = session.run("f[]")
    session.run(assign)
    session.run('system"d ."')
    assert session.run("f[]") is session.names.find(".h.hn") is not built_in
    session.run("delete hn from`.h")
    assert session.run("f[]") is built_in


def test_a_library_name_that_a_snapshot_brings(session: Session, tmp_path: pytest.TempPathFactory) -> None:
    session.run(f'.h.hn:{{[a;b;c]1}};snapshot`$":{tmp_path}/s"')
    other = Session()
    other.run('value".h.hn"')
    other.run(f'resume`$":{tmp_path}/s"')
    assert other.run('value".h.hn"') is other.names.find(".h.hn") is not None


def test_a_verb_that_is_registered_later(session: Session) -> None:
    with pytest.raises(QError):
        session.run('value"3 zadd 4"')
    registry.add(Entry("zadd", "verb", {2: lambda x, y: x + y}, infix=True, effect="none"))
    try:
        assert session.run('value"3 zadd 4"') == 7
    finally:
        registry.ENTRIES["verb"].pop("zadd")


def test_views_that_come_and_go(session: Session) -> None:
    session.run("a:1;v:2")
    assert session.run('value"v"') == 2
    for text, wanted in (("v::a+10", 11), ("a:2", 12), ("v:3", 3), ("v::a", 2), ("delete v from`.;v:5", 5)):
        for line in text.split(";"):
            session.run(line)
        assert session.run('value"v"') == wanted


@pytest.fixture
def _hurried() -> Iterator[None]:
    """Threads change places all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_hurried")
def test_threads_that_evaluate_more_texts_than_are_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_texts, "MOST", 4)
    texts = known_texts.KnownTexts()
    known = texts._add

    def add(start: int) -> None:
        for k in range(20_000):
            known((start, k), None)  # type: ignore[arg-type]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert len(texts._texts) == 4
