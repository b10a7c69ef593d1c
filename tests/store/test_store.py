"""Files and bytes in kdb+'s form: round trips of generated values, damage, and writes that fail in the middle."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.verbs.internal import message
from kshell.session import Session
from kshell.store import appending, atomic, codec, compress, kdb, parted, runs, splay
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, string
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, atom, flat_list, sym_vec
from kshell.values.base.match import match
from kshell.values.session import context

SIMPLE = [t for t in T.DTYPE if t not in (T.S, T.ENUM)]


@pytest.fixture(autouse=True)
def session() -> Any:
    """A running session: enumerations and functions need one."""
    made = Session()
    token = context.enter(made)
    yield made
    context.leave(token)


def raw_items(t: int) -> st.SearchStrategy[bytes]:
    """The bytes of an item of a type; booleans are 0 or 1."""
    if t == T.B:
        return st.sampled_from([b"\0", b"\1"])
    return st.binary(min_size=T.TYPE[t].size, max_size=T.TYPE[t].size)


def vectors(t: int, attrs: bool = False) -> st.SearchStrategy[Vec]:
    marks = st.sampled_from(["", "s"]) if attrs else st.just("")
    data = st.lists(raw_items(t), max_size=300 if T.TYPE[t].size == 1 else 20)
    return st.builds(lambda items, attr: Vec(t, np.frombuffer(b"".join(items), T.DTYPE[t]), attr), data, marks)


names = st.text("abcdefgh.é_", max_size=5)
symbols = st.lists(names, max_size=8).map(sym_vec)
simple = st.sampled_from(SIMPLE).flatmap(lambda t: vectors(t, True))
atoms = st.one_of(st.sampled_from(SIMPLE).flatmap(lambda t: raw_items(t).map(
    lambda b: atom(t, np.frombuffer(b, T.DTYPE[t])[0]))), names.map(lambda s: sym_vec([s]).item(0)))
leaves = st.one_of(atoms, simple, symbols)


def dicts(v: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.lists(v, min_size=1, max_size=3).map(
        lambda items: Dict(sym_vec([f"k{i}" for i in range(len(items))]), collapse(list(items))))


values = st.recursive(leaves, lambda v: st.one_of(st.lists(v, max_size=4).map(collapse), dicts(v)), max_leaves=8)
slow = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def same(x: Value, y: Value) -> bool:
    """Equal in every bit, attributes too."""
    return codec.encode(x, file=True) == codec.encode(y, file=True)


@slow
@given(values)
def test_bytes_round_trip(session: Any, x: Value) -> None:
    data = message(x)
    assert same(codec.decode(data, 8), x)
    assert struct.unpack_from("<i", data, 4)[0] == len(data)
    assert compress.decompress(compress.compress(data)) == data if compress.compress(data) != data else True


@slow
@given(values)
def test_file_round_trip(session: Any, tmp_path: Path, x: Value) -> None:
    path = str(tmp_path / "v")
    kdb.write(path, x)
    assert same(kdb.read(path), x)


@slow
@given(values)
def test_compressed_file_round_trip(session: Any, tmp_path: Path, x: Value) -> None:
    path = str(tmp_path / "v")
    kdb.write(path, x, kdb.Packing(12, 2, 6))
    assert same(kdb.read(path), x)


@slow
@given(st.sampled_from(SIMPLE).flatmap(lambda t: st.lists(vectors(t), min_size=1, max_size=6)))
def test_nested_round_trip(session: Any, tmp_path: Path, items: list[Vec]) -> None:
    path = str(tmp_path / "v")
    kdb.write(path, List(items))
    assert same(kdb.read(path), List(items))
    assert os.path.exists(path + "#")
    kdb.write(path, longs([1]))
    assert not os.path.exists(path + "#")


@slow
@given(st.sampled_from(SIMPLE).flatmap(lambda t: st.tuples(vectors(t), vectors(t))))
def test_append_is_join(session: Any, tmp_path: Path, both: tuple[Vec, Vec]) -> None:
    path = str(tmp_path / "v")
    kdb.write(path, both[0])
    assert appending.append([(path, both[1])])
    assert kdb.read(path).a.tobytes() == both[0].a.tobytes() + both[1].a.tobytes()


def test_long_vectors_are_mapped(tmp_path: Path) -> None:
    path = str(tmp_path / "v")
    kdb.write(path, longs(np.arange(100_000)))
    x = kdb.read(path)
    assert not x.a.flags.writeable and x.a[99_999] == 99_999
    kdb.write(path, longs([1]))  # another file takes the name: what is mapped stays
    assert x.a[99_999] == 99_999


def test_rows_are_written_in_bulk(tmp_path: Path) -> None:
    path = str(tmp_path / "v")
    for width in (3, 100, 255, 256, 1000):
        x = Nd(T.C, np.resize(np.arange(97, 123, dtype=np.uint8), (500, width)))
        kdb.write(path, x)
        got = kdb.read(path)
        assert got.__class__ is Nd and (got.a == x.a).all()


@slow
@given(st.sampled_from(SIMPLE).flatmap(lambda t: st.lists(vectors(t), min_size=1, max_size=5)), st.integers(16, 60),
       st.sampled_from([0, 1, 255, 256, 300]), st.booleans())
def test_lists_of_many_vectors_are_written_and_read_at_once(tmp_path: Path, few: list[Vec], count: int, longest: int, is_flat: bool) -> None:
    """The files are those that are written item by item, and so is what is read; items in another order too."""
    t = few[0].t
    items: list[Value] = [*(few * count)[:count], Vec(t, np.zeros(longest, T.DTYPE[t]))]
    x, path = List(items), str(tmp_path / "v")
    flat = runs.flattened(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kdb, "flattened", lambda x: None)
        expected = [bytes(kdb.view(part)) for part in kdb.nested(x)]
    if is_flat and flat is not None:
        x = flat_list(flat.t, flat.a, flat.ends)
    assert [bytes(kdb.view(part)) for part in kdb.nested(x)] == expected
    kdb.write(path, x)
    assert same(kdb.read(path), List(items))
    entries, block = (np.frombuffer(part, dtype) for part, dtype in zip(expected, (np.uint64, np.uint8), strict=True))
    data = bytes(kdb.PAGE) + block.tobytes()
    assert same(kdb._items(entries[::-1], data), List(items[::-1]))
    for cut in (1, len(block) // 2):
        with pytest.raises(QError, match="corrupt"):
            kdb._items(entries, data[:-cut])


@pytest.mark.parametrize("value", [longs([1, 2, 3]), sym_vec(["a", "bc"]), List([string("abc"), string("d")]),
                                   Dict(sym_vec(["a"]), longs([1])), Table(["a"], [longs([1, 2])])], ids=repr)
def test_damage_is_an_error(tmp_path: Path, value: Value) -> None:
    """A file cut short or with a changed byte gives a value or a q error, never another exception."""
    path = str(tmp_path / "v")
    kdb.write(path, value)
    whole = Path(path).read_bytes()
    for n in [*range(min(len(whole), 60)), len(whole) - 1]:
        for data in (whole[:n], whole[:n] + b"\xff" + whole[n + 1 :], whole[:n] + b"\x7f" + whole[n + 1 :]):
            Path(path).write_bytes(data)
            try:
                kdb.read(path)
            except QError:
                pass


@slow
@given(st.binary(max_size=80))
def test_any_bytes_are_a_value_or_an_error(session: Any, data: bytes) -> None:
    head = struct.pack("<BBHi", 1, 0, 0, len(data) + 8)
    try:
        codec.decode(head + data, 8)
    except QError:
        pass


@pytest.mark.parametrize("step", ["written", "synced"])
def test_failed_save_changes_nothing(tmp_path: Path, step: str) -> None:
    path = str(tmp_path / "t")
    splay.write(path, Table(["a", "b"], [longs([1, 2]), longs([3, 4])]))

    def fail(name: str) -> None:
        if name == step:
            raise OSError(28, "No space left on device")

    atomic.PROBE[0] = fail
    try:
        with pytest.raises(QError, match="No space left"):
            splay.write(path, Table(["a", "c"], [longs([9]), longs([9])]))
    finally:
        atomic.PROBE[0] = None
    t = splay.read(path)
    assert t.names == ["a", "b"] and t.cols[0].a.tolist() == [1, 2]
    assert sorted(os.listdir(path)) == [".d", "a", "b"]


@pytest.mark.parametrize("line", ["update a:0 from `:{}", "delete from `:{} where a=1", "`:{} upsert 3 4", "1!`:{}",
                                  "![`:{};();0b;(1#`b)!1#5]", "`a xdesc `:{}"])
def test_failed_change_of_a_table_in_a_file(tmp_path: Path, session: Session, line: str) -> None:
    """A table in one file that is amended by its file symbol is as it was if the save fails."""
    path = tmp_path / "t"
    session.run(f"`:{path} set ([]a:1 2;b:3 4)")
    line = line.format(path)
    before = path.read_bytes()

    def fail(name: str) -> None:
        if name == "synced":
            raise OSError(28, "No space left on device")

    atomic.PROBE[0] = fail
    try:
        with pytest.raises(QError, match="No space left"):
            session.run(line)
    finally:
        atomic.PROBE[0] = None
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["t"]
    assert session.show(session.run(line)) == f"`:{path}" and path.read_bytes() != before


def test_names_of_partitions() -> None:
    assert parted.kind_of(["2024.01.01", "sym"]) == ("date", T.D, ["2024.01.01"])
    assert parted.kind_of(["2024.01"])[0] == "month"  # type: ignore[index]
    assert parted.kind_of(["2024", "2025"])[0] == "year"  # type: ignore[index]
    assert parted.kind_of(["1", "20"])[0] == "int"  # type: ignore[index]
    assert parted.kind_of(["2024.01.01", "20"]) is None
    for t, value in ((T.D, 8766), (T.M, 288), (T.I, 7)):
        assert parted.raw_of(parted.name_of(value, t), t) == value


@pytest.fixture()
def database(tmp_path: Path, session: Session) -> Session:
    """Three dates of a table, loaded."""
    before = os.getcwd()
    os.chdir(tmp_path)
    session.run("""t:([]sym:`a`b`a;p:1 2 3f;n:("ab";"c";""))""")
    for day, plus in (("2024.01.01", 0), ("2024.01.02", 10), ("2024.01.04", 20)):
        session.run(f"`:db/{day}/t/ set .Q.en[`:db;update p:p+{plus} from t]")
    session.run("delete t from `.")
    session.run("system\"l db\"")
    yield session  # type: ignore[misc]
    os.chdir(before)


QUERIES = [
    "count t", "select from t where date=2024.01.02", "select sum p by date from t", "select sum p by sym from t",
    "select n:count i by date from t where sym=`a", "select avg p from t where date>2024.01.01",
    "exec p from t where date=2024.01.01,sym=`a", "exec sum p by sym from t", "select last p by sym from t",
    "select by sym from t", "select p,2*p from t where date within 2024.01.01 2024.01.02", "exec max p from t",
    "select distinct sym from t", "?[t;enlist(=;`date;2024.01.04);0b;()]", "select from t where date=2000.01.01",
    "select count i from t where date in 2024.01.01 2024.01.04,p>2", "select from t where sym in`b,date=2024.01.02",
]


@pytest.mark.parametrize("query", QUERIES)
def test_partitioned_queries_are_those_of_the_whole(database: Session, query: str) -> None:
    """A query of the partitioned table gives what it gives of the same rows in memory."""
    got = database.run(query)
    database.run("t:select from t")
    database["got"] = got
    assert database.run(f"{'got'}~{query}") is True, database.show(got)


def test_partitioned_state(database: Session) -> None:
    show = {".Q.pf": "`date", ".Q.pt": ",`t", ".Q.pv": "2024.01.01 2024.01.02 2024.01.04", ".Q.pd": "`:.`:.`:.",
            "date": "2024.01.01 2024.01.02 2024.01.04", ".Q.cn t": "3 3 3", ".Q.qp t": "1b", "cols t": "`date`sym`p`n",
            "exec p from .Q.ind[t;0 4 8]": "1 12 23f", ".Q.s1 t": '"+`sym`p`n!`t"'}
    for text, expected in show.items():
        assert database.show(database.run(text)) == expected
    database.run(".Q.view 2#date")
    assert database.run("count t") == 6
    database.run(".Q.view[]")
    assert database.run("count t") == 9
    for text in ("update p:1 from t", "delete from t", "select[2] from t"):
        with pytest.raises(QError):
            database.run(text)


def test_missing_tables_of_partitions(database: Session) -> None:
    database.run("`:2024.01.04/u/ set ([]v:1 2)")
    database.run('system"l ."')
    with pytest.raises(QError, match="No such file"):
        database.run("select from u")
    database.run(".Q.bv[]")
    assert database.run("exec v from u").a.tolist() == [1, 2]
    database.run(".Q.chk`:.")
    database.run('system"l ."')
    assert database.run("count u") == 2


def test_segments(tmp_path: Path) -> None:
    """A segment that is not there yet holds no partition; without any partition the database is 'empty."""
    (tmp_path / "par.txt").write_text(f"{tmp_path}/one\n{tmp_path}/two\n")
    for folder in ("", "one"):
        (tmp_path / folder).mkdir(exist_ok=True)
        with pytest.raises(QError, match="empty"):
            parted.Database(str(tmp_path))
    splay.write(f"{tmp_path}/one/2024.01.02/t", Table(["v"], [longs([1, 2])]))
    db = parted.Database(str(tmp_path))
    assert (db.pv, db.per_segment, db.count("t")) == ([8767], [[8767], []], [2])


def test_enumeration_without_its_domain(tmp_path: Path, session: Session) -> None:
    kdb.write(str(tmp_path / "v"), Vec(T.ENUM, np.array([0, 1, 0]), "", "nowhere"))
    x = kdb.read(str(tmp_path / "v"))
    assert x.dom == "nowhere" and x.a.tolist() == [0, 1, 0]


def test_messages_of_kdb() -> None:
    """Bytes as Kx's page of examples has them (of ints: the page is older than longs by default)."""
    for data in ("0x010000000d000000fa01000000", "0x010000001200000006000100000001000000",
                 "0x0100000021000000630b0002000000610062000600020000000200000003000000"):
        raw = bytes.fromhex(data[2:])
        assert message(codec.decode(raw, 8)) == raw
    assert match(collapse([1, 2]), longs([1, 2]))
