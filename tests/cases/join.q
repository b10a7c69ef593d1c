/ atoms and lists
1,2  / 1 2
1 2,3  / 1 2 3
1,2 3  / 1 2 3
"ab","c"  / "abc"
`a,`b`c  / `a`b`c
1,`a  / 1\n`a
-3!1 2,`a  / "(1;2;`a)"
-3!1 2.5,1e  / "(1f;2.5;1e)"
(),1  / ,1
1,()  / ,1
(),()  / ()
-3!(),"abc"  / "\"abc\""
(0#0),1.5  / ,1.5
1 2,0#`  / 1 2
-3!(1 2;3 4),enlist 5 6  / "(1 2;3 4;5 6)"
-3!(1 2;3 4),5 6  / "(1 2;3 4;5;6)"
-3!1 2,(3;`a)  / "(1;2;3;`a)"
0N,1  / 0N 1
0b,1b  / 01b
0Ng,0Ng  / 00000000-0000-0000-0000-000000000000 00000000-0000-0000-0000-000000000000
2000.01.01,2000.01.02  / 2000.01.01 2000.01.02
/ dictionaries and tables
(`a`b`c!1 2 3),`c`d!4 5  / a| 1\nb| 2\nc| 4\nd| 5
-3!(`a`b!1 2),`b`c!(`x;"y")  / "`a`b`c!(1;`x;\"y\")"
10,`a`b!1 2  / 'type
(`a`b!1 2),1  / 'type
(`a`b!1 2),(enlist 1)!enlist 2  / `a| 1\n`b| 2\n1 | 2
([]a:1 2),([]a:3 4)  / a\n-\n1\n2\n3\n4
([]a:1 2;b:3 4),`a`b!5 6  / a b\n---\n1 3\n2 4\n5 6
([]a:1 2;b:3 4),([]b:5 6;a:7 8)  / a b\n---\n1 3\n2 4\n7 5\n8 6
([]a:1 2),([]b:1 2)  / 'mismatch
([k:`a`b]v:1 2),([k:`b`c]v:5 6)  / k| v\n-| -\na| 1\nb| 5\nc| 6
/ raze
raze (1 2;3 4 5)  / 1 2 3 4 5
-3!raze (1 2;(3 4;5 6);7;8)  / "(1;2;3 4;5 6;7;8)"
raze 42  / ,42
raze ("ab";"c";"de")  / "abcde"
raze `a`b!(1 2;3 5)  / 1 2 3 5
raze ()  / ()
raze 1 2 3  / 1 2 3
raze 2 2 2#til 8  / 0 1\n2 3\n4 5\n6 7
raze (([]a:1 2);([]a:3 4))  / a\n-\n1\n2\n3\n4
-3!raze (1 2;"ab")  / "(1;2;\"a\";\"b\")"
raze (0#0;0#`)  / `long$()
/ enumerations
sym:`a`b; sym2:`c`d; (`sym$`a`b),`sym2$`c`d  / `a`b`c`d
(`sym$`a`b),`sym$`b  / `sym$`a`b`b
(`sym$`a),`c`d  / `a`c`d
-3!(`sym$`b),`b  / "(`sym$`b;`b)"
raze[1;2;3;4]  / 'rank
raze[1;2;3]  / 'rank
ax:5;ax,:6 7;ax  / 5 6 7
{a:`s;a,:`t;a}[]  / `s`t
{x,:();x}each(2;"c";`a;1 2)  / ,2\n,"c"\n,`a\n1 2
{x,:();type x}each(1b;2024.01.01;0Ng;`a`b)  / 1 14 2 11h
{y!neg y,:()}[1;2]  / 2| -2
ax:1;ax,:`b;ax  / 1\n`b
{[]z:0;do[3;z,:1];z+1}[]  / 1 2 2 2
ax:enlist 5;ax,:6 7;ax  / 5 6 7
([a:1 2]b:3 4),`b`a!9 7  / a| b\n-| -\n1| 3\n2| 4\n7| 9
([a:1 2]b:3 4),([]b:5 6;a:1 8)  / a| b\n-| -\n1| 5\n2| 4\n8| 6
([a:1 2]b:3 4),()!()  / a| b\n-| -\n1| 3\n2| 4
([a:1 2]b:3 4),`a`c!1 2  / 'mismatch
([a:1 2]b:3 4),`a`b!(1;`x)  / 'type
d:(1#`p)!enlist`x`z!1 2;d,:(1#`q)!1#(::);d  / p| `x`z!1 2\nq| ::

/ a list of vectors takes a vector as one item, of whatever type
jl:(1 2f;3 4f);jl,:1 1;jl  / 1 2\n3 4\n1 1
jl:(til 2;0.5 1.5);jl,:7 8;count jl  / 3
{x,:"ef";x}("ab";1 2)  / a b\n1 2\ne f
jl:(1;`a);jl,:2 3;jl  / 1\n`a\n2\n3
(1 2;3 4),5 6  / 1 2\n3 4\n5\n6
jl:(1 2;3 4);jl,:();jl  / 1 2\n3 4
/ so does any list that is deeper by one, as its first items tell; others are joined item by item
jl:(`a`b;(`c;1);enlist(`d;2));jl,:(`e;(`f;3));last jl  / `e\n(`f;3)
jl:(1 2;`a);jl,:3 4;jl  / 1 2\n`a\n3 4
jl:enlist 2 2#til 4;jl,:2 2#9;count jl  / 2
jl:enlist 2 2#til 4;jl,:enlist 2 2#9;count jl  / 2
jl:(`a;(`c;1));jl,:(`e;(`f;3));count jl  / 4
jl:((`a;1);`b);jl,:((`c;2);`d);count jl  / 4
jl:("ab";"cd");jl,:"e";jl  / "ab"\n"cd"\n"e"
{x,:(`e;3);count x}each((`a`b;1);(`a;1))  / 3 4
jl:2 2 2#til 8;jl,:8 9;count jl  / 4

/ nothing joined to a dictionary or table leaves it as it is
d:`a`b!1 2;d,:();d  / a| 1\nb| 2
jt:([]a:1 2);jt,:();jt  / a\n-\n1\n2
jt:([k:1 2]v:3 4);jt,:();jt~([k:1 2]v:3 4)  / 1b
{x,:();x}`a`b!1 2  / a| 1\nb| 2
d:`a`b!1 2;d,:1 2  / 'type
eg:`p`q;eh:`eg$`p`q;eh,:();eh,:`symbol$();eh,:`p;eh  / `eg$`p`q`p

/ a column that is a table takes rows of its columns, in any order; with anything else it is a list
jk:1!([]a:`x`y;c:([]d:3 4;e:5 6));jk,:`a`c!(`x;`e`d!7 8);(0!jk)`c  / d e\n---\n8 7\n4 6
jk:1!([]a:`x`y;c:([]d:3 4));jk,:`a`c!(`x;::);value[jk]`c  / ::\n(,`d)!,4
jk:1!([]a:`x`y;c:([]d:3 4));jk,:`a`c!(`x;`f`d!1 2);value[jk]`c  / `f`d!1 2\n(,`d)!,4
jk:1!([]a:`x`y;c:([]d:3 4));value[jk upsert(`z;::)]`c  / (,`d)!,3\n(,`d)!,4\n::

/ tables with other columns: raze gives their rows
raze(([]a:1 2);([]b:3 4))  / (,`a)!,1\n(,`a)!,2\n(,`b)!,3\n(,`b)!,4
raze(([]a:1 2;b:3 4);([]b:5 6;a:7 8))  / a b\n---\n1 3\n2 4\n7 5\n8 6
([]a:1 2),([]b:3 4)  / 'mismatch
.j.j raze(([]n:enlist`a;k:enlist 1b);([]n:enlist`b))  / "[{\"n\":\"a\",\"k\":true},{\"n\":\"b\"}]"
