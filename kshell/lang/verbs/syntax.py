"""Help topics for syntax without a function of its own: queries, control, iterators, lambdas."""

from __future__ import annotations

from kshell import registry

# name, the ways to write it, and the text: a summary, then examples
_TOPICS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "select",
        (
            "select phrases by phrases from t where conditions",
            "select[n;>column] ..",
            "select distinct ..",
        ),
        """\
Rows and columns of a table; `by` groups, conditions after `where` are applied one after the other.

q)select sum b by a from([]a:`x`y`x;b:1 2 3)
a| b
-| -
x| 4
y| 2""",
    ),
    (
        "exec",
        ("exec phrases by phrases from t where conditions",),
        """\
As select, but a list for one column, and a dictionary for several or with `by`.

q)exec b from([]a:`x`y`x;b:1 2 3)where a=`x
1 3""",
    ),
    (
        "update",
        ("update phrases by phrases from t where conditions",),
        """\
The table with columns changed or added; given the name of a table, the table itself is changed.

q)update b:10*b from([]a:`x`y;b:1 2)where a=`y
a b
----
x 1
y 20""",
    ),
    (
        "delete",
        ("delete from t where conditions", "delete columns from t"),
        """\
The table without some rows, or without some columns.

q)delete from([]a:1 2 3)where a<3
a
-
3""",
    ),
    (
        "if",
        ("if[condition;statement;..]",),
        """\
Statements that are run if the condition is not zero.

q)x:3
q)if[x>2;x:0]
q)x
0""",
    ),
    (
        "do",
        ("do[n;statement;..]",),
        """\
Statements that are run n times.

q)x:1
q)do[3;x*:2]
q)x
8""",
    ),
    (
        "while",
        ("while[condition;statement;..]",),
        """\
Statements that are run as long as the condition is not zero.

q)x:1
q)while[x<100;x*:2]
q)x
128""",
    ),
    (
        "$[",
        ("$[condition;x;y]", "$[condition;x;condition;y;..;z]"),
        """\
One value or another: only the branch that is chosen is evaluated.

q)$[3<2;"yes";"no"]
"no\"""",
    ),
    (
        "{}",
        ("{..}", "{[a;b]..}"),
        """\
A function; without a list of parameters they are x, y and z as far as they are used. The last value is the result.

q){x+2*y}[1;10]
21""",
    ),
    (
        "'",
        ("f'x", "x f'y", "f'[x;y;..]"),
        """\
Each: f is applied item by item. Before a value, `'` signals an error with its text.

q)1 2 3,'4 5 6
1 4
2 5
3 6""",
    ),
    (
        "/",
        ("f/x", "x f/y", "n f/x", "condition f/x"),
        """\
Over: f accumulates along a list, or is applied n times, while a condition holds, or until nothing changes.

q)10+/1 2 3
16
q)5{2*x}/1
32""",
    ),
    (
        "\\",
        ("f\\x", "x f\\y", "n f\\x", "condition f\\x"),
        """\
Scan: as over, with every step kept.

q)(+\\)1 2 3
1 3 6""",
    ),
    (
        "/:",
        ("x f/:y",),
        """\
Each right: x with each item of y.

q)10 20+/:1 2
11 21
12 22""",
    ),
    (
        "\\:",
        ("x f\\:y",),
        """\
Each left: each item of x with y.

q)10 20+\\:1 2
11 12
21 22""",
    ),
    (
        "':",
        ("f':x", "y f':x"),
        """\
Each prior: each item with the one before it.

q)(-':)1 4 9
1 3 5""",
    ),
)

for _name, _forms, _doc in _TOPICS:
    registry.add(
        registry.Entry(_name, "topic", forms=_forms, doc=_doc, topic="syntax", file=__file__)
    )
