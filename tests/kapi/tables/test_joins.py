"""Queries that name several tables of a partitioned database: walked partition by partition, all cut to the same one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.store import parted
from kshell.values.base.core import Table
from kshell.values.base.symbols import sym_at
from tests.kapi.tables.test_position import BITS, run

# trades and quotes of some days, in memory and as a database; `day` is a table of a session
MARKET = """d:2024.01.02+til 4
trade:`date`time xasc([]date:400?d;sym:400?`u`v`w;time:400?24:00:00.000;price:400?1f;size:400?100)
quote:`date`time xasc([]date:900?d;sym:900?`u`v`w;time:900?24:00:00.000;bid:900?1f;ask:1+900?1f)
ref:([sym:`u`v`w]lot:1 2 3f)
{[d]{[d;t](`$":db/",string[d],"/",string[t],"/")set .Q.en[`:db]delete date from select from value[t]where date=d}[d]each`trade`quote}each d
q:module enlist(`linear;3;1);m:model(q;loss`mse;opt(`sgd;q));train(m;`batchsize;32)
got:();train(m;`transform;{got,:(tensor first x),'tensor last x;x})
read:{got::();run m;got}
opts:`x`y!(`bid`ask`size;`price)
"""
BY_DATE = "\"e\"$flip value flip select bid,ask,size,price from raze{[d]%s}each d"
QUERIES = {
    "aj": ("aj[`sym`time;select from trade;select from quote]",
           "aj[`sym`time;select from trade where date=d;select from quote where date=d]"),
    "columns": ("aj[`sym`time;select sym,time,price,size from trade;select sym,time,bid,ask from quote]",
                "aj[`sym`time;select sym,time,price,size from trade where date=d;select sym,time,bid,ask from quote where date=d]"),
    "chosen rows": ("aj[`sym`time;select from trade where size>20;select from quote where bid>.1]",
                    "aj[`sym`time;select from trade where date=d,size>20;select from quote where date=d,bid>.1]"),
    "features after it": ("select bid,ask:ask-prev ask,size,price from aj[`sym`time;select from trade;select from quote]",
                          "select bid,ask:ask-prev ask,size,price from aj[`sym`time;select from trade where date=d;select from quote where date=d]"),
    "the other table first": ("aj[`sym`time;([]sym:`u`v;time:10:00:00.000;price:.5;size:3);select from quote]",
                              "aj[`sym`time;([]sym:`u`v;time:10:00:00.000;price:.5;size:3);select from quote where date=d]"),
    "aggregates of a day": ("(select from trade)lj select bid:avg bid,ask:max ask by sym from quote",
                            "(select from trade where date=d)lj select bid:avg bid,ask:max ask by sym from quote where date=d"),
    "a table of the session": ("(aj[`sym`time;select from trade;select from quote])lj ref",
                               "aj[`sym`time;select from trade where date=d;select from quote where date=d]lj ref"),
    "one table twice": ("aj[`sym`time;select from trade;select sym,time,bid:price,ask:size+0f from trade]",
                        "aj[`sym`time;select from trade where date=d;select sym,time,bid:price,ask:size+0f from trade where date=d]"),
}


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    session = Session()
    for line in MARKET.splitlines():
        session.run(line)
    return session


@pytest.mark.parametrize("loaded", (False, True))
@pytest.mark.parametrize("name", QUERIES)
def test_a_join_is_that_of_each_date(s: Session, name: str, loaded: bool) -> None:
    text, by_date = QUERIES[name]
    s.run(f"expected:{BY_DATE % by_date};expected:expected where not any each null expected")
    source = "`:db"
    if loaded:
        s.run("\\l db")
        source = "quote" if "other" in name else "trade"
    s.run(f'train(m;{source};"{text}";`x`y`nulls!(`bid`ask`size;`price;`drop))')
    assert s.run("(count[expected]>0)&read[]~expected"), s.run("(count got;count expected)")


def test_one_partition_of_each_table_is_read_at_a_time(s: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    part = parted.Database.part

    def noted(self: parted.Database, name: str, i: int) -> Table:
        opened.append((name, i))
        return part(self, name, i)

    s.run(f'train(m;`:db;"{QUERIES["aj"][0]}";`x`y`nulls!(`bid`ask`size;`price;0f))')
    monkeypatch.setattr(parted.Database, "part", noted)
    s.run("run m")
    days = [i for _, i in opened]
    assert days == sorted(days) and {name for name, _ in opened} == {"trade", "quote"}
    opened.clear()
    s.run("train(m;`shuffle`shuffleseed;(1b;5));run m")
    days = list(dict.fromkeys(i for _, i in opened))
    assert sorted(days) == [0, 1, 2, 3] and days != [0, 1, 2, 3]


def test_the_rows_of_a_join_are_mixed_split_and_weighed(s: Session) -> None:
    text = QUERIES["aj"][0]
    s.run(f'o:`x`y`nulls!(`bid`ask`size;`price;0f);train(m;`:db;"{text}";o);all0:asc read[]')
    s.run("train(m;`shuffle;1b)")
    assert s.run("all0~asc read[]") and not s.run("all0~read[]")
    s.run(f'side:{{train(m;`:db;"{text}";`x`y`nulls`split`side!(`bid`ask`size;`price;0f;(.5;`price);x));read[]}}')
    assert s.run("all0~asc raze side each`train`test") and s.run("all 20<count each side each`train`test")
    s.run(f'train(m;`:db;"{text}";`x`y`nulls`weight!(`bid`ask`size;`price;0f;`size));r:read[]')
    assert s.run("(400=count r)&all[r in all0]&all 0<r[;2]")


WRONG = {
    '"aj[`sym`time;select from trade;select from quotes]"': "quotes",
    '"aj[`sym`time;select from trades;select from quotes]"': "a query names a table of the database db, which has quote, trade",
    '"select price from trade lj quote"': "quote",
    '"aj[`sym`nope;select from trade;select from quote]"': "nope",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_joins(s: Session, text: str) -> None:
    s.run("delete trade,quote from`.")
    with pytest.raises(QError, match=WRONG[text]):
        s.run(f"train(m;`:db;{text};opts)")


def test_a_partition_without_the_other_table_is_named(s: Session, tmp_path: Path) -> None:
    s.run(f'train(m;`:db;"{QUERIES["aj"][0]}";`x`y`nulls!(`bid`ask`size;`price;0f))')
    kept = tmp_path / "db" / "2024.01.04" / "quote"
    kept.rename(tmp_path / "kept")
    with pytest.raises(QError, match=r"2024\.01\.04/quote"):
        s.run("run m")
    (tmp_path / "kept").rename(kept)
    s.run("run m")


@pytest.mark.parametrize("more", ("", "`weight", "`split"))
def test_a_pass_over_a_join_goes_on_in_another_process(tmp_path: Path, more: str) -> None:
    value = {"": "", "`weight": ";`size", "`split": ";(3;`price)"}[more]
    market = f"seed 2\n\\S 9\n{MARKET}train(m;`:db;\"{QUERIES['aj'][0]}\";`x`y`nulls{more}!(`bid`ask`size;`price;0f{value}))\n"
    market += "train(m;`transform;{x});train(m;`shuffle`shuffleseed;(1b;3))\n"
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
    bits = run(tmp_path / "whole", f"{market}do[2;run m];\n{BITS}")
    stop = "train(m;`callback;{if[x[`batch]=5;snapshot`:at;exit 0]})\n"
    run(tmp_path / "stopped", f"{market}{stop}run m;\n")
    assert run(tmp_path / "stopped", f"resume`:at;\ntrain(m;`callback;::)\ndo[2;run m];\n{BITS}") == bits


def test_the_number_of_rows_of_a_join_is_known(s: Session) -> None:
    for text, known in ((QUERIES["aj"][0], "13"), (QUERIES["columns"][0], "13"), (QUERIES["chosen rows"][0], "0N"),
                        (QUERIES["features after it"][0], "13"), (QUERIES["the other table first"][0], "0N"),
                        (QUERIES["aggregates of a day"][0], "0N")):
        assert s.run(f'{known}~train(m;`:db;"{text}";`x`y`nulls!(`bid`ask`size;`price;0f))'), text


@pytest.mark.parametrize("text", ("update a:2*a from u", "delete s from u", "ungroup select a,b:flip(b;b),y from u", "select[5]a,b,y from u",
                                  "select a,b:lot,y from u lj lots", "select distinct from u where a>.5"))
def test_queries_have_the_rows_and_columns_that_q_gives(s: Session, text: str) -> None:
    """All columns where q gives all, and as many rows as it gives."""
    s.run("lots:([s:`a`b]lot:1 2f)")
    s.run('u:([]s:100?`a`b;a:100?1f;b:100?1f;y:100?1f);got:();train(m;`transform;{got,:(tensor first x),\'tensor last x;x})')
    s.run("q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q));train(m;`transform;{got,:(tensor first x),'tensor last x;x})")
    s.run(f'train(m;u;"{text}";`x`y!(`a`b;`y))')
    s.run(f'expected:"e"$flip value flip select a,b,y from value"{text}"')
    assert s.run("read[]~expected")
    s.run("train(m;`shuffle;1b)")
    assert s.run("(asc read[])~asc expected")


def written(s: Session, path: str) -> None:
    """The tables of a session as folders of Parquet by date."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    types = {"d": pa.date32(), "t": pa.time32("ms")}
    for table in ("trade", "quote"):
        found, columns = s.run(table), {}
        assert found.__class__ is Table
        for column, values in zip(found.names, found.cols, strict=True):
            if column == "sym":
                columns[column] = pa.array([sym_at(code).s for code in values.a.tolist()])
            elif column in ("date", "time"):
                days = 10957 if column == "date" else 0
                columns[column] = pa.array(values.a.astype("i4") + days).cast(types[column[0]])
            else:
                columns[column] = pa.array(values.a)
        pq.write_to_dataset(pa.table(columns), path.format(table), partition_cols=["date"])


@pytest.mark.extra
@pytest.mark.parametrize("name", QUERIES)
def test_folders_of_parquet_in_one_folder_are_such_a_database(s: Session, name: str) -> None:
    """Also where one of them has no rows of a date."""
    s.run("quote:delete from quote where date=d 1;{(`$\":db/\",string[d 1],\"/quote/\")set .Q.en[`:db]0#delete date from quote}[]")
    written(s, "market/{}")
    text = QUERIES[name][0]
    rows = []
    for path in ("db", "market"):
        s.run(f"train(m;`:{path};\"{text}\";opts,enlist[`nulls]!enlist`drop)")
        rows.append(s.run("read[]"))
    assert s.run("count got") and rows[0].__class__ is rows[1].__class__
    s.names.set("a", rows[0])
    s.names.set("b", rows[1])
    assert s.run("a~b") is True
    with pytest.raises(QError, match="a query names a table of the database market, which has quote, trade"):
        s.run("train(m;`:market;\"select from orders\")")


APART = {name: texts for name, texts in QUERIES.items() if name != "the other table first"} | {
    "a lookup of a day": ("(select from trade)lj select bid:last bid,ask:last ask by sym from quote",
                          "(select from trade where date=d)lj select bid:last bid,ask:last ask by sym from quote where date=d"),
}


@pytest.mark.extra
@pytest.mark.parametrize("given", ("`:x/trade`:y/z/quote", "trade", "`:x/trade"))
@pytest.mark.parametrize("name", APART)
def test_folders_at_two_paths_are_cut_to_the_same_date(s: Session, name: str, given: str) -> None:
    """Both by their paths, both opened in the session, or one of them; of a table that has a date more, too."""
    text, by_date = APART[name]
    s.run("quote:quote,update date:2024.02.01 from 5#quote;quote:delete from quote where date=d 1")
    s.run(f"expected:{BY_DATE % by_date};expected:expected where not any each null expected")
    written(s, "x/{}")
    Path("y/z").mkdir(parents=True)
    Path("x/quote").rename("y/z/quote")
    s.run("delete trade,quote from`.")
    if given != "`:x/trade`:y/z/quote":
        s.run("quote:get`:y/z/quote")
    if given == "trade":
        s.run("trade:get`:x/trade")
    s.run(f'train(m;{given};"{text}";`x`y`nulls!(`bid`ask`size;`price;`drop))')
    assert s.run("(count[expected]>0)&(asc read[])~asc expected"), s.run("(count got;count expected)")


@pytest.mark.extra
def test_a_whole_table_stands_beside_each_part(s: Session) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"sym": ["u", "v", "w"], "lot": [1.0, 2.0, 4.0]}), "lots.parquet")
    s.run("`:s/lots/ set([]lot:1 2 4f);written:([]k:til 500;sym:500?`u`v`w;price:500?1f)")
    rows = s.run("written")
    assert rows.__class__ is Table
    columns = [pa.array([sym_at(c).s for c in x.a.tolist()]) if n == "sym" else pa.array(x.a) for n, x in zip(rows.names, rows.cols, strict=True)]
    pq.write_table(pa.table(columns, names=rows.names), "t.parquet", row_group_size=60)
    s.run("q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q));got:()")
    s.run("train(m;`batchsize`transform;(64;{got,:(tensor first x),'tensor last x;x}))")
    s.run('lots:([sym:`u`v`w]lot:1 2 4f);expected:"e"$flip value flip select k,lot,price from written lj lots;delete lots from`.')
    s.run("o:`x`y!(`k`lot;`price)")
    s.run('train(m;`:t.parquet`:lots.parquet;"select k,lot,price from t lj`sym xkey lots";o)')
    assert s.run("read[]~expected") is True
    s.run('train(m;`:t.parquet`:s/lots;"select k,lot:lots[`lot]`u`v`w?sym,price from t";o)')
    s.run("snapshot`:kept")
    assert s.run("count read[]") == 500
    s.run('train(m;`:t.parquet`:lots.parquet;"select k:avg k,lot:count i,price:avg price by l:lot from t lj`sym xkey lots";o)')
    assert s.run("(asc read[][;1])~asc\"e\"$value exec count i by sym from written") is True
    other = Session()
    other.run("resume`:kept;got:();train(m;`transform;{got,:(tensor first x),'tensor last x;x});run m")
    assert other.run("count got") == 500


def test_splayed_tables_at_two_paths(s: Session) -> None:
    s.run("t:([]k:til 300;b:300?5;price:300?1f);lot:([]b:til 5;f:5?1f);`:x/t/ set t;`:y/lot/ set lot")
    s.run('q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q));got:();train(m;`transform;{got,:(tensor first x),\'tensor last x;x})')
    s.run('expected:"e"$flip value flip select k,f,price from t lj`b xkey lot;delete lot from`.')
    s.run('train(m;`:x/t`:y/lot;"select k,f,price from t lj`b xkey lot")')
    assert s.run("read[]~expected") is True
    s.run('train(m;`skip;"k<>7")')
    assert s.run("read[]~enlist expected 7") is True
    for given, error in (("`:x/t`:y/other", "y/other: a path beside the first is that of Parquet, Arrow or a splayed table"),
                         ("`:x/none`:y/lot", "no table at x/none"), ("`:x/t`lot", "expecting 3rd argument of values")):
        with pytest.raises(QError, match=error):
            s.run(f'train(m;{given};"select k,f,price from t lj`b xkey lot";opts)')


@pytest.mark.extra
def test_wrong_tables_beside(s: Session) -> None:
    written(s, "x/{}")
    Path("x/quote").rename("quote")
    s.run("delete trade,quote from`.")
    text = QUERIES["aj"][0]
    with pytest.raises(QError, match=r'there is no table quote beside x/trade .given "aj') as e:
        s.run(f'train(m;`:x/trade;"{text}";opts)')
    assert e.value.hint == "open it before, quote:get`:path, or name the paths of both, train(m;`:path`:quote;..)"
    with pytest.raises(QError, match="nowhere/quote: a path beside the first is that of Parquet, Arrow or a splayed table"):
        s.run(f'train(m;`:x/trade`:nowhere/quote;"{text}";opts)')
    with pytest.raises(QError, match="there is no table quote beside"):
        s.run(f'train(m;`:x/trade`:x/trade;"{text}";opts)')
    with pytest.raises(QError, match="train: expected a query of trade, the table of the first path, given of quote"):
        s.run('train(m;`:x/trade`:quote;"select from quote";opts)')
    with pytest.raises(QError, match="no table at nowhere"):
        s.run(f'train(m;`:nowhere`:quote;"{text}";opts)')
