"""What editors, inspectors and drivers ask of a port, in queries of our own: the shapes are what their programs read."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kshell.lang.names import k_texts
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string
from kshell.values.base.core import List, Value, text_of
from tests.ipc.processes import Client, Server

Q = Session()

SCRIPT = """
a:1
t:([]a:1 2;b:`x`y)
kt:([k:1 2]v:3 4)
f:{x+y}
.n.x:1
.n.m.y:2
.n.g:{[p;q]p+q}
.n.d:`a`b!1 2
.n.t:([]z:1 2 3)
.z.ps:{value x}
w::a+1
"""

LOGIN = b"editor:\x03\0"
NAMESPACES = ("q", "Q", "h", "j", "o", "n")


def ask(client: Client, text: str, *args: Value) -> Value:
    """The answer, read in a session, as it may hold functions."""
    return client.ask(List([string(text), *args]) if args else string(text), lambda body: Q.handle(codec.decode, body))


def shown(client: Client, text: str, *args: Value) -> str:
    """The answer on one line of q."""
    Q["answer"] = ask(client, text, *args)
    return str(Q.run(".Q.s1 answer").a.tobytes().decode())  # type: ignore[union-attr]


def is_true(client: Client, text: str) -> bool:
    return ask(client, text) is True


# ------------------------------------------------------------------ namespaces as values


@pytest.mark.parametrize("name", [".q", ".Q", ".h", ".j", ".z", ".o", ".n", ".n.m"])
def test_a_namespace_is_a_dictionary_that_begins_with_the_null_symbol(client: Client, name: str) -> None:
    for text in (name, f"get`{name}", f'value"{name}"', f"(value`{name})", f"{{x}} {name}"):
        assert is_true(client, f"(1#.q)~1#{text}"), text
    for text in (f"(key {name})~key`{name}", f"(count {name})=count value {name}", f"` in key {name}", f"99 11h~type each({name};key {name})"):
        assert is_true(client, text), text


@pytest.mark.parametrize("text", [
    "`trp in key .Q",
    "(.Q`trp)~.Q.trp",
    "@[`.Q;`n`K]~(.Q.n;.Q.K)",
    "(.h`ty)~.h.ty",
    "(.z`K`k`o`i)~(.z.K;.z.k;.z.o;.z.i)",
    "`ps in key .z",
    "not any `pg`ws in key`.z",
    "not any `pf`pv`PV in key .Q",
    "@[get;`.q.nosuch;`none]~`none",
    "@[get;`.z.pg;`none]~`none",
    "(.q`xbar)~.q.xbar",
])
def test_items_of_namespaces(client: Client, text: str) -> None:
    assert is_true(client, text)


def test_what_is_assigned_in_a_namespace_stands_in_its_value(client: Client) -> None:
    ask(client, ".Q.own:7;.h.HOME:\"/x\";.q.twice:{2*x};")
    assert is_true(client, "7~.Q`own")
    assert is_true(client, "\"/x\"~.h`HOME")
    assert is_true(client, "`own in system\"v .Q\"")
    assert is_true(client, "`twice in system\"f .q\"")
    assert is_true(client, "1=sum `HOME=key .h")


@pytest.mark.parametrize("space", [".", ".q", ".Q", ".h", ".j", ".z", ".o", ".n", ".n.m"])
def test_lists_of_any_namespace(client: Client, space: str) -> None:
    for letter in "favbB":
        assert shown(client, f'type system"{letter} {space}"') == "11h"
        assert shown(client, f'type system"{letter}  {space}"') == "11h"
    assert is_true(client, f'all 100h<=type each get each {{$[x~`.;y;` sv/:x,/:y]}}[`{space};system"f {space}"]')
    known = f'{{$[x~`.;y;` sv/:x,/:y]}}[`{space};system"v {space}"]except`.z.ex'
    assert is_true(client, f"all 100h>type each get each {known}")


def test_functions_of_q_are_its_keywords(client: Client) -> None:
    assert is_true(client, 'all`xbar`aj`each`til in system"f .q"')
    assert is_true(client, 'not any`select`abs in system"f .q"')
    with pytest.raises(ValueError, match=r"^\.nosuch$"):
        ask(client, 'system"f .nosuch"')


WALK = """{[space]
  full:{$[x in``.;y;` sv x,y]}[space]each(key space)except`;
  down:full where{(1#.q)~@[{1#get x};x;0b]}each full;
  if[space=`; full:down:` sv'`,'full; full:system["v"],system"f"];
  lists:{system x," ",string y}[;$[space=`;`.;space]]each("a";"f";"v");
  enlist[(space;(`$string[space],/:(".Tables";".Functions";".Variables"))!lists)],raze .z.s each down}`"""


def test_a_walk_from_the_null_symbol(client: Client) -> None:
    ask(client, f"walked:(!).flip {WALK};")
    assert shown(client, "key walked") == "``.q`.Q`.h`.j`.o`.n`.n.m"
    assert shown(client, "walked`") == "`.Tables`.Functions`.Variables!(`kt`t;,`f;`a`kt`t)"
    assert shown(client, "walked`.n") == "`.n.Tables`.n.Functions`.n.Variables!(,`t;,`g;`d`t`x)"
    assert shown(client, "walked`.o") == "`.o.Tables`.o.Functions`.o.Variables!(`symbol$();,`ex;`symbol$())"
    assert is_true(client, "`trp in walked[`.Q]`.Q.Functions")
    ask(client, "delete walked from`.;")


EXPLORE = """{[hidden]
  full:{` sv/:x,'y};
  spaces:full[`](key`)except hidden;
  inside:(,/){[full;s] found:();
    if[((::)~first value s)&11h=type names:key s; found:full[s;names], 's];
    if[count found; found,:(,/).z.s[full]each found[;0]];
    found}[full]each spaces;
  r:(flip`n`p!"SS"$\\:())upsert((key`.),'`.),(spaces,'`root),inside;
  r:select from(update t:{@[{type value x};x;-255h]}each n from r)where not t in 101 -255h;
  r:update shown:{string value x}each n from r where t within 100 111h;
  update shown:{.Q.s value x}each n from r where not t within 100 111h,not n in .Q.pt}"""


def test_an_explorer_of_all_names(client: Client) -> None:
    ask(client, f"explored:{EXPLORE}`q`Q`h`j`z;")
    assert is_true(client, "(exec n from explored where p=`.n)~`.n.x`.n.g`.n.d`.n.t`.n.m")
    assert is_true(client, "(exec n from explored where p=`.n.m)~enlist`.n.m.y")
    assert is_true(client, "(exec t from explored where n in`.n`.o`.n.g`.n.t`a)~-7 99 99 100 98h")
    assert is_true(client, '"{[p;q]p+q}"~first exec shown from explored where n=`.n.g')
    ask(client, "delete explored from`.;")
    ask(client, f"explored:{EXPLORE}`symbol$();")
    assert is_true(client, "all`.Q.trp`.h.hy`.o.ex`.q.xbar in exec n from explored")
    ask(client, "delete explored from`.;")


INSPECT = """{[space;name]
 here:$[space=name; space; ` sv space,name];
 full:{$[x=`; y; ` sv x,y]}here;
 inner:members where (::)~'(first')value each ` sv'here,'members:(key here) except `;
 lists:{system y,"  ",x}[string here]each"fav";
 parameters:{$[4h=type first v:value x; v 1; (type x) in 101 103h; enlist`x; (type x) in 102h,106+til 6; `x`y; `$()]};
 functions:{[full;parameters;n](n;type f;parameters f:value full n)}[full;parameters]each lists 0;
 tables:{[full;n](n;count v;0!meta v;keys v:value full n)}[full]each lists 1;
 kinds:{$[99h=type x;(count x;type key x;type value x);()]};
 variables:{[full;kinds;n](n;type v;kinds v:get full n)}[full;kinds]each lists[2]except inner,lists 1;
 (name;functions;tables;variables;.z.s[here]each inner)}[`;`]"""


def test_a_recursive_inspector_takes_the_value_of_every_function(client: Client) -> None:
    assert shown(client, f"first each ({INSPECT})4").split("`")[1:] == list(NAMESPACES)
    assert is_true(client, f"(({INSPECT})1)~enlist(`f;100h;`x`y)")
    assert is_true(client, f"(({INSPECT})[2;;0])~`kt`t")
    assert is_true(client, f"(({INSPECT})[4;5;1])~enlist(`g;100h;`p`q)")
    assert is_true(client, f"(({INSPECT})[4;5;4;;0])~enlist`m")
    assert is_true(client, f"(first({INSPECT})[4;5;3])~(`d;99h;(2;11h;7h))")
    assert is_true(client, f"100<count({INSPECT})[4;0;1]")


@pytest.mark.parametrize("of", ["string", ".Q.s1", "{-3!x}", "{-22!x}", ".Q.s", ".Q.ty", ".Q.qt", ".j.j", "count", "type"])
def test_nothing_in_a_namespace_is_an_error_to(client: Client, of: str) -> None:
    names = "raze{` sv/:x,/:(key x)except`}each`.q`.Q`.h`.j`.z"
    assert shown(client, f"{{where 10h=type each@[{{({of})get x;0}};;::]each x!x}}{names}") == "`symbol$()"


def test_every_function_has_a_value(client: Client) -> None:
    names = 'raze{` sv/:x,/:`$system"f ",string x}each`.q`.Q`.h`.j'.replace("`$system", "system")
    assert shown(client, f"{{where 10h=type each@[{{value value x;0}};;::]each x!x}}{names}") == "`symbol$()"
    assert is_true(client, f"all{{4h=type first value value x}}each{{x where x like\".Q.*\"}}{names}")


def test_the_value_of_a_function_without_text_is_as_of_a_lambda(client: Client) -> None:
    assert shown(client, "value .Q.fmt") == '(`byte$();`x`y`z;`symbol$();,`Q;`long$();".Q.fmt";"";-1;".Q.fmt")'
    assert shown(client, "value .q.xbar") == '(`byte$();`x`y;`symbol$();,`q;`long$();".q.xbar";"";-1;"xbar")'
    assert shown(client, "3_5#value tensor") == "(,`;`long$())"
    assert shown(client, "3#value tensor") == "(`byte$();,`x;`symbol$())"


# ------------------------------------------------------------------ the text of a request


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1+\n1", "2"), ("1\n2", "1 2"), ("{[x]\n til x\n}\n[3]", "0 1 2"), ("1 / one\n+2", "3"), ("/ first\n\n1+1", "2"),
        ("/ get\r\n{  \r\n   til 2\r\n}[]", "0 1"), ("a1:1;\na2:2;\na1+a2", "3"), ("f0:{x\n}\n;f0 2\n", "2"), ("/\nblock\n\\\n7", "7"),
        ("\"a\nb\"", '"a\\nb"'), ("1;\n", "::"), ("\n", "::"), ("/ only", "::"), ("/", "::"), ("\\d\n", "`."), ("\n\\d", "`."),
        ("{x}\n(::)", "::"), ("$[1b;\n`yes;\n`no]", "`yes"),
    ],
)  # fmt: skip
def test_a_line_break_in_a_request_is_a_blank(client: Client, text: str, answer: str) -> None:
    assert shown(client, text) == answer
    assert shown(client, "value", string(text)) == answer


def test_lines_of_a_script_stay_statements(client: Client, tmp_path: Path) -> None:
    (tmp_path / "two.q").write_text("one:1\ntwo:2\n")
    ask(client, f'system"l {tmp_path}/two.q"')
    assert shown(client, "(one;two)") == "1 2"


def test_parse_and_timing_take_text_as_value_does(client: Client) -> None:
    assert is_true(client, 'parse["1+\\n2"]~parse"1+2"')
    assert is_true(client, '-7h=type system"t a3:1+\\n4"')
    assert shown(client, "a3") == "5"


# ------------------------------------------------------------------ running code, with a backtrace

RUN = """{[space;code;kind]
  blank:enlist each" \\t\\r\\n";
  pieces:-4!code;
  ends:where pieces~\\:enlist"\\n";
  ends@:where not pieces[1+ends]in blank;
  statements:raze each(0,1+ends)_pieces;
  structure:{[x]
    u:$[.Q.qt x;0!x;99h=type x;([]k:key x;v:value x);([]v:(),x)];
    `count`columns!(count u;{[x;u;c]`name`type`values`order`isKey!(string c;.Q.ty u c;.Q.s1 each u c;iasc u c;$[.Q.qt x;c in keys x;0b])}[x;u]each cols u)};
  shown:$[kind~"structuredText"; {[s;x].j.j s x}structure; {$[all(r:.Q.s x)in" \\n";.Q.s1 x;r]}];
  before:string system"d"; system"d ",space;
  answer:{[state;statement]
    if[state`errored; :state];
    opening:";[::;";
    .Q.trp[{[state;text]state,enlist[`result]!enlist value text}state;
      opening,statement,"]";
      {[state;opening;error;frames]
        mine:(-1+last where{.Q.trp~first first x}each frames)#frames;
        mine[;3]:reverse 1+til count mine;
        mine[-1+count mine;1;3]:-1_(count opening)_mine[-1+count mine;1;3];
        mine[-1+count mine;2]-:count opening;
        state,`errored`error`backtrace!(1b;error;.Q.sbt mine)}[state;opening]]
    }/[`result`errored`error`backtrace!(::;0b;"";"");statements];
  system"d ",before;
  $[answer`errored; answer; @[answer;`result;shown]]}"""


def run(client: Client, code: str, space: str = ".", kind: str = "text") -> dict[str, str | bool]:
    Q["answer"] = ask(client, RUN, string(space), string(code), string(kind))
    text = {name: Q.run(f"{{$[10h=type x;x;.Q.s1 x]}}answer`{name}") for name in ("result", "error", "backtrace")}
    return {name: value.a.tobytes().decode() for name, value in text.items()} | {  # type: ignore[union-attr]
        "errored": Q.run("answer`errored") is True
    }


def test_code_is_run_in_a_namespace(client: Client) -> None:
    assert run(client, "1+1")["result"] == "2\n"
    assert run(client, "b:5\nb+1 / six\n\n/ the last\nb+2")["result"] == "7\n"
    assert run(client, "s:{[x]\n  x*2\n  }\ns 4")["result"] == "8\n"
    assert run(client, "1\n2")["result"] == "2\n"
    assert run(client, "x", ".n")["result"] == "1\n"
    assert run(client, "`symbol$()")["result"] == "`symbol$()\n"
    assert shown(client, 'system"d"') == "`."


@pytest.mark.parametrize(
    ("code", "error", "backtrace"),
    [
        ("1+`a", "type", "  [1]  1+`a\n        ^\n"),
        ("h2:{x+`a}\nh2 1", "type", "  [2]  h2:{x+`a}\n            ^\n  [1]  h2 1\n       ^\n"),
        ("nosuch", "nosuch", "  [1]  nosuch\n       ^\n"),
        ("b:1\n'`mine", "mine", "  [1]  '`mine\n       ^\n"),
        ('"é",1+`a', "type", '  [1]  "é",1+`a\n            ^\n'),
        ("(1", "]", "  [1]  (1\n         ^\n"),
    ],
)
def test_an_error_has_the_backtrace_of_the_users_code_alone(client: Client, code: str, error: str, backtrace: str) -> None:
    answer = run(client, code)
    assert (answer["errored"], answer["error"], answer["backtrace"]) == (True, error, backtrace)


def test_structured_text_is_json(client: Client) -> None:
    answer = json.loads(str(run(client, "kt", kind="structuredText")["result"]))
    assert answer["count"] == 2
    assert [column["name"] for column in answer["columns"]] == ["k", "v"]
    assert [column["isKey"] for column in answer["columns"]] == [True, False]
    assert answer["columns"][0]["values"] == ["1", "2"]
    assert answer["columns"][0]["order"] == [0, 1]
    assert json.loads(str(run(client, ".n.d", kind="structuredText")["result"]))["columns"][0]["type"] == "s"


COLUMNS = """{[x]
  column:{[isKey;values;name]
    d:`name`type`values`order!(name;.Q.ty values;.Q.s1 each values;@[iasc;values;()]);
    if[isKey; d[`isKey]:isKey];
    if[not null attr values; d[`attributes]:attr values];
    d};
  parts:{[column;isKey;t] column[isKey]./:flip(value;key)@\\:flip t}[column];
  .j.j $[99h=type x; raze(parts[1b;key x];parts[0b;value x]); parts[0b;x]]}"""


def test_columns_as_json_where_only_some_are_keys(client: Client) -> None:
    found = json.loads(text_of(ask(client, f"{COLUMNS} kt")))
    assert found == [
        {"name": "k", "type": "j", "values": ["1", "2"], "order": [0, 1], "isKey": True},
        {"name": "v", "type": "j", "values": ["3", "4"], "order": [0, 1]},
    ]
    found = json.loads(text_of(ask(client, f"{COLUMNS} ([s:`u#`x`y;t:1 2]v:`s#3 4)")))
    assert [list(column)[4:] for column in found] == [["isKey", "attributes"], ["isKey"], ["attributes"]]
    found = json.loads(text_of(ask(client, f"{COLUMNS} t")))
    assert [column["name"] for column in found] == ["a", "b"]


def test_frames_of_a_trap(client: Client) -> None:
    frames = '.Q.trp[{y;f[x;1]}[;2];`a;{[e;frames]%s}]'
    assert shown(client, frames % "count frames") == "4"
    assert shown(client, frames % "{.Q.trp~first first x}each frames") == "0010b"
    assert shown(client, frames % "frames[;2 3]") == "(2 3;3 2;0 1;0 0)"
    assert shown(client, frames % "frames[0;1;0 3]") == '("..f";"{x+y}")'
    assert shown(client, frames % "frames[0;0]~f") == "1b"
    assert shown(client, frames % "type each frames 1") == "100 0 -7 -7h"
    assert shown(client, frames % 'frames[1;1]') == '("";"";-1;"{y;f[x;1]}")'
    assert shown(client, frames % ".Q.sbt ()") == '""'
    assert shown(client, frames % ".Q.sbt 1#frames") != shown(client, frames % ".Q.sbt -1#frames")
    assert shown(client, frames % 'frames[0;1]:("..g";"";-1;"{x+ y}");frames[0;3]:9;.Q.sbt 1#frames') == '"  [9]  g:{x+ y}\\n           ^\\n"'
    assert shown(client, frames % "@[.Q.sbt;enlist 1 2;{x}]") == '"length"'
    assert shown(client, frames % "@[.Q.sbt;enlist(1;2;3;4);{x}]") == '"type"'
    assert is_true(client, '-105!({x+y};(1;`a);{[e;frames](e~"type")&not any{.Q.trp~first first x}each frames})')


# ------------------------------------------------------------------ qStudio, JDBC, Grafana, PyKX

WRAPPED = """{[text]
  result:$[`trp in key .Q;
    .Q.trp[{((1b;`);value x)};text;{((0b;`);x;$[4<count y; .Q.sbt -4_y; ""])}];
    ((1b;`);value text)];
  fits:100000>@[-22!;result;0W];
  (fits;$[fits;result;0b];.Q.s result 1)} \""""


def test_a_wrapper_keeps_the_frames_but_its_own_four(client: Client) -> None:
    assert shown(client, WRAPPED + '2+3"') == '(1b;((1b;`);5);"5\\n")'
    assert shown(client, WRAPPED + 'a:1;\\nt"').startswith("(1b;((1b;`);+`a`b!")
    ask(client, "add:{x+y}")
    assert shown(client, WRAPPED + 'add[1;`a]"') == (
        '(1b;((0b;`);"type";"  [5]  add:{x+y}\\n             ^\\n  [4]  add[1;`a]\\n       ^\\n");"\\"type\\"\\n")'
    )
    assert shown(client, WRAPPED + 'til 100000"').startswith("(0b;0b;")


TREE = """/ names, with what they are\r
{ spaces:".",/:string `,key `;\r
  one:{[space]\r
    entry:{[views;value_;full;name]\r
      columns:{$[.Q.qt x; cols x; 100h~type x; (value x)1; `$()]};\r
      size:{$[.Q.qp x; -1; count x]};\r
      (@[type;value_;0h]; @[size;value_;-2]; @[.Q.qt;value_;0b]; @[.Q.qp;value_;0b]; @[columns;value_;()]; name in views)};\r
    views:system "b ",space;\r
    names:asc (key `$space) except `;\r
    full:$[space~enlist "."; names; space,/:".",/:string names];\r
    names!.'[entry views; flip (@[`$space;names];full;names)]};\r
  (`$spaces)!one each spaces}[]"""


def test_a_tree_of_everything(client: Client) -> None:
    ask(client, f"tree:(\n{TREE});")
    for text in (
        "(key tree)~`$\".\",/:string`,key`",
        "(tree[`.]`t)~(98h;2;1b;0;`a`b;0b)",
        "(tree[`.]`kt)~(99h;2;1b;0;`k`v;0b)",
        "last tree[`.]`w",
        "(tree[`.n]`g)~(100h;1;0b;0;`p`q;0b)",
        "(key tree`.o)~enlist`ex",
        "100h=first tree[`.Q]`ty",
    ):
        assert is_true(client, text), text
    ask(client, "delete tree from`.;")


def test_pages_of_a_table_and_a_function_that_is_edited(client: Client) -> None:
    assert shown(client, ".Q.qp t") == "0"
    assert shown(client, ".Q.ind[t;enlist 1]`b") == ",`y"
    assert shown(client, "1 1 sublist t") == shown(client, "1_t")
    ask(client, 'system"d .n"')
    ask(client, '`.n.g2 set value"{[p;q]\\n p-q}"')
    ask(client, 'system"d ."')
    assert shown(client, ".n.g2[5;3]") == "2"


def test_tables_and_columns_for_a_driver(client: Client) -> None:
    assert shown(client, '(system"a"),system"b"') == "`kt`t`w"
    columns = "select TABLE_NAME:n,COLUMN_NAME:c,DATA_TYPE:`int$t,ORDINAL_POSITION:1+til count n from .Q.nct`"
    assert shown(client, columns + "t") == "+`TABLE_NAME`COLUMN_NAME`DATA_TYPE`ORDINAL_POSITION!(`t`t;`a`b;106 115i;1 2)"
    assert shown(client, f"exec COLUMN_NAME from {columns}") == "`k`v`a`b"
    with pytest.raises(ValueError, match=r"^nosuch$"):
        ask(client, ".Q.nct`nosuch")
    with pytest.raises(ValueError, match=r"^type$"):
        ask(client, ".Q.nct`a")


STATEMENT = """{[most;rows;function;parts]
  answer:value[function]parts;
  $[not .Q.qt answer; ::; 0=count answer:select[most]from 0!answer; answer; {neg[.z.w]@/:-1_x;last x}(0N;rows)#answer]}"""


def test_a_statement_of_a_driver(client: Client) -> None:
    """The driver projects a function of its own: rows beyond the first portions come as messages before the answer."""
    whole = f"{STATEMENT}[0W;0W]"
    assert shown(client, whole, string(".o.ex"), string("q)select from t where a>1")) == "+`a`b!(,2;,`y)"
    assert shown(client, whole, string(".o.ex"), string("q)0#t")) == "+`a`b!(`long$();`symbol$())"
    assert shown(client, whole, string(".o.ex"), string("q)kt")) == "+`k`v!(1 2;3 4)"
    assert shown(client, whole, string(".o.ex"), string("q)a")) == "::"
    assert shown(client, whole, string("{select from t where a=x 0}"), Q.run("enlist 2")) == "+`a`b!(,2;,`y)"
    with pytest.raises(ValueError, match=r"^s\) code is not supported$"):
        ask(client, whole, string(".o.ex"), string("select * from t"))
    client.send(1, List([string(f"{STATEMENT}[0W;2]"), string(".o.ex"), string("q)([]n:til 5)")]))
    messages = [client.message() for _ in range(3)]
    assert [kind for kind, _ in messages] == [0, 0, 2]
    assert [len(codec.decode(body)) for _, body in messages] == [2, 2, 1]  # type: ignore[arg-type]


def test_a_panel_asks_by_a_lambda_and_a_nested_dictionary(client: Client) -> None:
    query = Q.run('`Query`Panel!(enlist[`Query]!enlist"select from t";`id`title!(1;"x"))')
    answer = ask(client, "{[x]\n value x[`Query;`Query]}", query)
    Q["answer"] = answer
    assert Q.show(answer) == "a b\n---\n1 x\n2 y"
    assert ask(client, "1+1") == 2


def attribute(client: Client, name: str) -> str:
    return shown(client, k_texts.ATTRIBUTE, string(name))


def test_attributes_of_a_connection(client: Client) -> None:
    found = {name: attribute(client, name) for name in ("a", "t", "f", "til", ".n", ".n.m", ".n.d", ".Q", ".z", ".Q.ty", "kt", "(1 2)!3 4")}
    assert found["a"] == "1"
    assert found["t"] == "+`a`b!(1 2;`x`y)"
    assert {found[name] for name in ("f", "til", ".Q.ty")} == {"`_pykx_fn_marker"}
    assert {found[name] for name in (".n", ".n.m", ".Q", ".z")} == {"`_pykx_ctx_marker"}
    assert (found[".n.d"], found["(1 2)!3 4"]) == ("`a`b!1 2", "1 2!3 4")
    with pytest.raises(ValueError, match=r"^nosuch$"):
        attribute(client, "nosuch")


def test_settings_and_report_of_a_server(client: Client) -> None:
    Q["answer"] = ask(client, k_texts.SETTINGS)
    assert Q.show(Q.run("type each answer")) == "6 6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6h"
    Q["answer"] = ask(client, k_texts.REPORT)
    assert Q.show(Q.run("type each answer")) == "98 98 0h"
    assert Q.show(Q.run("cols answer 0")) == ",`Data"
    assert Q.show(Q.run("type each first answer 1")).startswith("used| -7\nheap| -7")
    assert Q.show(Q.run("(type each answer 2)0 1 2 3 4 6 7 9")) == "-6 -11 -6 -14 -9 -11 -11 -6h"


def test_a_text_in_k_is_recognised_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "k){x}\n"
    monkeypatch.setitem(k_texts.ANSWERS, hashlib.sha256(text.encode()).hexdigest(), "{x+1}")
    session = Session()
    session["request"] = List([string(text), 4])
    assert session.run("value request") == 5
    session["request"] = List([string(text + " "), 4])
    with pytest.raises(Exception, match=r"k\) code is not supported"):
        session.run("value request")
    session.run(".k.e:{x}")
    session["request"] = string(text)
    assert session.show(session.run("value request")) == '"{x}\\n"'


@pytest.mark.extra
@pytest.mark.skipif(find_spec("pykx") is None, reason="PyKX is not installed")
def test_pykx_reads_attributes(server: Server) -> None:
    """PyKX in a process of its own: it makes libraries of kdb+ allocate numpy's memory, and these end the process when
    there is none."""
    script = (
        "import pykx\n"
        f"q = pykx.SyncQConnection('127.0.0.1', {server.port})\n"
        "print(q.n.x.py(), q.n.g(3, 4).py(), q.til(3).py(), list(q.n.t.pd()['z']), q.n.m.y.py())\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYKX_UNLICENSED": "true"},
    )
    assert found.stdout.strip().split("\n")[-1] == "1 7 [0, 1, 2] [1, 2, 3] 2", found.stderr


# ------------------------------------------------------------------ what else inspectors ask


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("type each(.z.K;.z.k;.z.o;.z.l;.z.X;.z.x;.z.f;.z.i;.z.c;.z.h;.z.u;.z.w)", "-9 -14 -11 0 0 0 -11 -6 -6 -11 -11 -6h"),
        ("`used`heap~2#key .Q.w[]", "1b"), ('type each system each enlist each"pTesPcCgtWzo"', "-6 -6 -6 -6 -6 6 6 -6 -6 -6 -6 -6h"),
        ("tables`.", "`kt`t"), ("tables`.n", ",`t"), ("views`", "`s#,`w"), ('view`w', '"a+1"'), ("keys kt", ",`k"), ("cols kt", "`k`v"),
        ("0!meta kt", "+`c`t`f`a!(`k`v;\"jj\";``;``)"), (".Q.qt each(t;kt;a)", "110b"), ("count each(t;kt)", "2 2"),
        ("type each get each{x where x in`a`t`kt}system\"v\"", "-7 99 98h"), ("key`.n.m", "``y"), ("key`.nosuch", "()"), ("type get`.", "99h"),
        ("(last value f;string f;.Q.s1 f;-3!f)", '("{x+y}";"{x+y}";"{x+y}";"{x+y}")'), ("last value .n.g", '"{[p;q]p+q}"'),
        ("(-22!t)=count -8!t", "1b"), (".h.htc[`b;.h.hc\"<\"]", '"<b>&lt;</b>"'), ("10h=type .h.hy[`json;.j.j t]", "1b"),
        ("(tables`.q;tables`.Q;tables`.o)", "(`symbol$();`symbol$();`symbol$())"),
        ("asc raze{.Q.dd[x]each tables .Q.dd[`;x]}each key`", "`s#,`n.t"), (".Q.pt", "()"), ("value`.n.", "::"),
        ("`w in key`.", "1b"), ("type value`.q", "99h"), ("11h=type .Q.res", "1b"),
    ],
)  # fmt: skip
def test_other_questions(client: Client, text: str, answer: str) -> None:
    assert shown(client, text) == answer
