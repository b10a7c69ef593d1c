"""Help topics for syntax without a function of its own: queries, control, iterators, lambdas."""

from __future__ import annotations

from kshell import registry

# name, forms, and text: a summary, then examples
_TOPICS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "select",
        (
            "select phrases by phrases from t where conditions",
            "select[n;>column] ..",
            "select distinct ..",
        ),
        """\
Select rows and columns of a table; `by` groups, conditions after `where` are applied in order.

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
Like select, but returns a list for one column, a dictionary for several columns or with `by`.

q)exec b from([]a:`x`y`x;b:1 2 3)where a=`x
1 3""",
    ),
    (
        "update",
        ("update phrases by phrases from t where conditions",),
        """\
Change or add columns of a table; given a table's name, in place.

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
Delete rows or columns of a table; given a table's name, in place.

q)delete from([]a:1 2 3)where a<3
a
-
3""",
    ),
    (
        "if",
        ("if[condition;statement;..]",),
        """\
Run statements if the condition is not zero.

q)x:3
q)if[x>2;x:0]
q)x
0""",
    ),
    (
        "do",
        ("do[n;statement;..]",),
        """\
Run statements n times.

q)x:1
q)do[3;x*:2]
q)x
8""",
    ),
    (
        "while",
        ("while[condition;statement;..]",),
        """\
Run statements while the condition is not zero.

q)x:1
q)while[x<100;x*:2]
q)x
128""",
    ),
    (
        "$[",
        ("$[condition;x;y]", "$[condition;x;condition;y;..;z]"),
        """\
Choose between values; only the chosen branch is evaluated.

q)$[3<2;"yes";"no"]
"no\"""",
    ),
    (
        "{}",
        ("{..}", "{[a;b]..}"),
        """\
A function. Without a parameter list, the parameters are x, y and z (those it uses). The result is the last value.

q){x+2*y}[1;10]
21""",
    ),
    (
        "'",
        ("f'x", "x f'y", "f'[x;y;..]"),
        """\
Each: apply f item by item. Before a value, `'` signals an error with that text.

q)1 2 3,'4 5 6
1 4
2 5
3 6""",
    ),
    (
        "/",
        ("f/x", "x f/y", "n f/x", "condition f/x"),
        """\
Over: accumulate f along a list, or apply it n times, while a condition holds, or until the result stops changing.

q)10+/1 2 3
16
q)5{2*x}/1
32""",
    ),
    (
        "\\",
        ("f\\x", "x f\\y", "n f\\x", "condition f\\x"),
        """\
Scan: like over, but returns every step.

q)(+\\)1 2 3
1 3 6""",
    ),
    (
        "/:",
        ("x f/:y",),
        """\
Each right: apply f to x and each item of y.

q)10 20+/:1 2
11 21
12 22""",
    ),
    (
        "\\:",
        ("x f\\:y",),
        """\
Each left: apply f to each item of x and y.

q)10 20+\\:1 2
11 12
21 22""",
    ),
    (
        "':",
        ("f':x", "y f':x"),
        """\
Each prior: apply f to each item and its predecessor.

q)(-':)1 4 9
1 3 5""",
    ),
)

for _name, _forms, _doc in _TOPICS:
    registry.add(
        registry.Entry(_name, "topic", forms=_forms, doc=_doc, topic="syntax", file=__file__)
    )
