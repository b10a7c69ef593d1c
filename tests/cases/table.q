/ columns and keys, metadata, sorting, grouping, rows
t:([]a:3 1 2;b:`x`y`x;c:("ab";"c";""))  /
([]a:1 2;b:3)  / a b\n---\n1 3\n2 3
([]a:1;b:2)  / 'rank
([]a:1 2;b:1 2 3)  / 'length
([k:`x`y]v:1 2)  / k| v\n-| -\nx| 1\ny| 2
([k:`x`y];v:1 2)  / k| v\n-| -\nx| 1\ny| 2
([]a:();b:())  / a b\n---
cols t  / `a`b`c
cols`t  / `a`b`c
cols([k:1 2]v:3 4)  / `k`v
cols 5  / 'type
keys t  / `symbol$()
keys([k:1 2]v:3 4)  / ,`k
keys 1 2  / 'type
`b xkey t  / b| a c\n-| ------\nx| 3 "ab"\ny| 1 "c"\nx| 2 ""
`b`a xkey t  / b a| c\n---| ----\nx 3| "ab"\ny 1| "c"\nx 2| ""
(`symbol$())xkey([k:1 2]v:3 4)  / k v\n---\n1 3\n2 4
`nosuch xkey t  / 'nosuch
`d`e xcol t  / d e c\n--------\n3 x "ab"\n1 y "c"\n2 x ""
([a:`A;c:`C])xcol t  / A b C\n--------\n3 x "ab"\n1 y "c"\n2 x ""
(`a`b!`b`a)xcol t  / b a c\n--------\n3 x "ab"\n1 y "c"\n2 x ""
([q:`r])xcol t  / 'length
`a`b`c`d xcol t  / 'length
`z xcol([k:1 2]v:3 4)  / z| v\n-| -\n1| 3\n2| 4
`c`b xcols t  / c    b a\n--------\n"ab" x 3\n"c"  y 1\n""   x 2
`nosuch xcols t  / 'nosuch
`v xcols([k:1 2]v:3 4)  / 'type
meta t  / c| t f a\n-| -----\na| j\nb| s\nc| C
meta([k:`s#1 2]v:(1 2;3 4);w:("ab";1);d:2000.01.01 2000.01.02)  / c| t f a\n-| -----\nk| j   s\nv| J\nw| C\nd| d
meta([]a:();b:`long$())  / c| t f a\n-| -----\na|\nb| j
meta 1 2  / 'type
`a xasc t  / a b c\n--------\n1 y "c"\n2 x ""\n3 x "ab"
`a xdesc t  / a b c\n--------\n3 x "ab"\n2 x ""\n1 y "c"
`b`a xasc t  / a b c\n--------\n2 x ""\n3 x "ab"\n1 y "c"
`b`a xdesc t  / a b c\n--------\n1 y "c"\n3 x "ab"\n2 x ""
`nosuch xasc t  / 'nosuch
meta`b xasc t  / c| t f a\n-| -----\na| j\nb| s   s\nc| C
`v xdesc([k:1 2]v:3 4)  / k| v\n-| -\n2| 4\n1| 3
u:t  /
`a xasc`u  / `u
exec a from u  / `s#1 2 3
`b xgroup t  / b| a   c\n-| -------------\nx| 3 2 ("ab";"")\ny| ,1  ,"c"
`a`b xgroup([]a:0 0 1;b:`x`x`y;c:1 2 3;d:"pqr")  / a b| c   d\n---| --------\n0 x| 1 2 "pq"\n1 y| ,3  ,"r"
`nosuch xgroup t  / 'nosuch
ungroup([]a:`x`y;b:(1 2;enlist 3))  / a b\n---\nx 1\nx 2\ny 3
ungroup([]a:`x`y;b:(1 2;enlist 3);c:("pq";enlist"r"))  / a b c\n-----\nx 1 p\nx 2 q\ny 3 r
ungroup([]a:`x`y;b:(();enlist 3))  / a b\n---\ny 3
ungroup([]a:`x`y;b:(1 2;enlist 3);c:(enlist"p";enlist"r"))  / 'length
ungroup([]a:1 2;b:3 4)  / a b\n---\n1 3\n2 4
ungroup([k:`x`y]b:(1 2;enlist 3))  / k b\n---\nx 1\nx 2\ny 3
(sum;1 2 3 4)fby`a`b`a`b  / 4 6 4 6
(first;1 2 3 4)fby`a`b`a`b  / 1 2 1 2
({x-min x};1 2 3 4)fby`a`b`a`b  / 0 0 2 2
(avg;1 2 3 4)fby([]a:1 1 2 2;b:1 1 1 2)  / 1.5 1.5 3 4
(count;"abc")fby 1 1 2  / 2 2 1
(sum;`long$())fby`long$()  / `long$()
(sum;1 2)fby 1 2 3  / 'length
sum fby 1 2 3  / 'type
v:([]a:1 2;b:`x`y)  /
`v insert(3;`z)  / ,2
`v insert(4 5;`p`q)  / 3 4
`v insert([]a:6 7;b:`r`s)  / 5 6
`v insert`a`b!(8;`t)  / ,7
`v insert(9;`u;1)  / 'length
`v insert(1.5;`u)  / 'type
v insert(3;`z)  / 'type
count v  / 8
w:([k:`x`y]v:1 2)  /
`w insert(`z;3)  / ,2
`w insert(`x;3)  / 'insert
`w insert(`p`q;4 5)  / 3 4
exec v from w  / 1 2 3 4 5
`new insert([]a:1 2)  / 0 1
`none insert 1 2  / 'type
v:([]a:1 2;b:`x`y)  /
v upsert(3;`z)  / a b\n---\n1 x\n2 y\n3 z
v upsert((3;`z);(4;`p))  / a b\n---\n1 x\n2 y\n3 z\n4 p
v upsert([]b:`z`p;a:3 4)  / a b\n---\n1 x\n2 y\n3 z\n4 p
v upsert([]a:3 4)  / a b\n---\n1 x\n2 y\n3\n4
v upsert`a`b!(3;`z)  / a b\n---\n1 x\n2 y\n3 z
v upsert()  / a b\n---\n1 x\n2 y
v upsert([]a:1.5 2)  / 'type
v upsert([]c:1 2)  / 'mismatch
v upsert([a:1 2]b:`p`q)  / 'type
w:([k:`x`y]v:1 2;z:3 4)  /
w upsert(`x;10;30)  / k| v  z\n-| -----\nx| 10 30\ny| 2  4
w upsert((`x;10;30);(`z;11;31))  / k| v  z\n-| -----\nx| 10 30\ny| 2  4\nz| 11 31
w upsert([k:`z`x]v:7 8;z:9 10)  / k| v z\n-| ----\nx| 8 10\ny| 2 4\nz| 7 9
w upsert([]k:`z`x;v:7 8;z:9 10)  / k| v z\n-| ----\nx| 8 10\ny| 2 4\nz| 7 9
w upsert([k:`y`p]v:0N 5)  / k| v z\n-| ---\nx| 1 3\ny|   4\np| 5
w upsert`k`v`z!(`x;0;0)  / k| v z\n-| ---\nx| 0 0\ny| 2 4
`w upsert(`q;1;1)  / `w
count w  / 3
`fresh upsert([]a:1 2)  / `fresh
`fresh2 upsert(1;2)  / 'fresh2
s:([]n:`a`b;m:("one";"two"))  /
s upsert(`c;"three")  / n m\n---------\na "one"\nb "two"\nc "three"
`s insert(`c;"three")  / ,2
`s insert(`d`e;("x";"yz"))  / 3 4
f:([x:1 2 3]y:10 20 30)  /
g:([]a:`f$2 1;b:0 1)  /
fkeys g  / a| f
meta g  / c| t f a\n-| -----\na| j f\nb| j
`g insert(3;7)  / ,2
`g insert(9;7)  / 'cast
select a.y from g  / y\n--\n20\n10\n30
.work.tab:v  /
tables`.work  / ,`tab
`v`w in tables[]  / 11b
tables`.nosuch  / '.nosuch
cols`a`b!1 2  / 'type
keys`nosuch  / 'nosuch
keys([]a:1 2)  / `symbol$()
keys([a:1 2;b:3 4]c:5 6)  / `a`b
w:([k:`x`y]v:1 2);keys`w  / ,`k
keys 2!([]a:1;b:enlist 2;c:3)  / `a`b
keys 5  / 'type
1 2 xkey t  / 'type
`a`b xkey([]a:1 2;b:3 4)  / a b|\n---|\n1 3|\n2 4|
()xkey([k:1 2]v:3 4)  / k v\n---\n1 3\n2 4
`k xkey([j:1 2]k:3 4;v:5 6)  / k| j v\n-| ---\n3| 1 5\n4| 2 6
`z`b xcol t  / z b c\n--------\n3 x "ab"\n1 y "c"\n2 x ""
(enlist`z)xcol t  / z b c\n--------\n3 x "ab"\n1 y "c"\n2 x ""
`a`b`c xcol 0#t  / a b c\n-----
`c xcols t  / c    a b\n--------\n"ab" 3 x\n"c"  1 y\n""   2 x
`a`b`c xcols t  / a b c\n--------\n3 x "ab"\n1 y "c"\n2 x ""
`b xcols 0#t  / b a c\n-----
`b`a xcols([]a:1 2;b:3 4;c:5 6)  / b a c\n-----\n3 1 5\n4 2 6
`a xcols 5  / 'type
meta 5  / 'type
type fkeys([]a:1 2)  / 99h
fkeys 0#g  / a| f
fkeys([]a:`f$2 1;b:`f$1 1)  / a| f\nb| f
fkeys 1!([]z:1 2;a:`f$1 2)  / a| f
count fkeys t  / 0
fkeys 5  / 'type
fkeys 1 2  / 'type
`w in tables`.  / 1b
type tables[]  / 11h
.work.n:5;tables`.work  / ,`tab
tables 5  / 'type
(tables[])~tables`.  / 1b
`a xasc([]a:0N 2 1)  / a\n-\n\n1\n2
`a xasc 5  / 'type
1 xasc t  / 'type
`a`b xdesc([]a:1 1 2;b:1 2 0)  / a b\n---\n2 0\n1 2\n1 1
`a xdesc([]a:0N 2 1)  / a\n-\n2\n1\n
`a xdesc 0#t  / a b c\n-----
`b xdesc([]a:1 2 3;b:`x`y`x)  / a b\n---\n2 y\n1 x\n3 x
`nosuch xdesc t  / 'nosuch
`a xdesc 5  / 'type
`a xgroup([]a:1 1 2;b:3 4 5)  / a| b\n-| ---\n1| 3 4\n2| ,5
`a xgroup([]a:0#0;b:0#0)  / a| b\n-| -
`a xgroup 1!([]k:1 2;a:3 3;v:5 6)  / a| k   v\n-| -------\n3| 1 2 5 6
`a`b xgroup([]a:1 1;b:2 2;c:3 4)  / a b| c\n---| ---\n1 2| 3 4
ungroup`a xgroup([]a:1 1 2;b:3 4 5)  / a b\n---\n1 3\n1 4\n2 5
`a xgroup 5  / 'type
ungroup 0#([]a:1 2;b:(1 2;3 4))  / a b\n---
ungroup 5  / 'type
([]a:1 2;b:`x`y)`none  / `long$()
([]a:1 2;b:`x`y)`b`none  / `x`y\n`long$()
([]a:1 2)[0;`none]  / 0N
([]a:1 2;b:3 4;c:`x`y)[;`a`b]  / 1 3\n2 4
([]a:1 2;b:3 4;c:`x`y)[;`a`c]  / 1 `x\n2 `y
([]a:1 2;b:3 4)[;1#`b]  / 3\n4
([k:`p`q]a:1 2;b:3 4)[;`a`b]  / k|\n-| ---\np| 1 3\nq| 2 4
([]a:1 2)[;`a]  / 1 2
(`a`a!1 2;`a`a!3 4)  / a a\n---\n1 2\n3 4
`b`b#/:1!([]k:1 2;b:3 4)  / k| b b\n-| ---\n1| 3 3\n2| 4 4
kv:([k:`x`y]v:1 2);kv`x  / v| 1
kv enlist`x  / v| 1
kv`x`y  / 'length
kv 0#`  / 'length
kv[`x`y;`v]  / 'length
kv flip enlist`x`y  / v\n-\n1\n2
kv([]k:`y`q)  / v\n-\n2\n
kc:([a:`x`y`x;b:1 1 2]v:10 20 30);`kc$(`y;1)  / `kc!1
kc:([a:`x`y`x;b:1 1 2]v:10 20 30);`kc$((`x;2);(`x;1))  / `kc!2 0
`kc$((`x;2);(`x;3))  / 'cast
`kc$enlist`x`y`z  / 'length
ku:([]w:`kc$((`x;2);(`y;1)));select w,w.v,w.a from ku  / w v  a\n------\n2 30 x\n1 20 y
meta ku  / c| t f  a\n-| ------\nw| j kc
`ku insert enlist`kc$(`x;1);value ku`w  / 2 1 0
ke:([]w:`kc$());`ke insert enlist`kc$(`x;2);ke  / w\n-\n2
kd:(1#`)!enlist([k:`$()]v:`long$());kd[`p],:([]k:`b`c;v:1 2);kd[`p],:([]k:1#`c;v:5);kd`p  / k| v\n-| -\nb| 1\nc| 5
(2#enlist([k:1 2]v:3 4))7  / k| v\n-| -\n1|\n2|

/ a column of dictionaries, which stops being a table when one gets another key
pd:([n:`a`b]i:2#enlist(1#`)!1#(::));pd[`a;`i;`new]:5;(pd[`a;`i;`new];type exec i from pd)  / 5\n0h
pd:([n:`a`b]i:2#enlist(1#`)!1#(::));pd[`a;`i;`new]:`x`y!1 2;pd[`a;`i;`new]  / x| 1\ny| 2
pd:([]i:2#enlist`a`b!1 2);pd[0;`i;`a]:5;pd[1;`i;`c]:7;pd`i  / `a`b!5 2\n`a`b`c!1 2 7
pd:([]i:2#enlist`a`b!1 2);pd[0;`i;`a]:5;type pd`i  / 98h
pd:([]i:2#enlist`a`b!1 2);pd[0;`i]:`c`d!3 4;pd[0;`i]  / c| 3\nd| 4
{[p]p[0;`i;`c]:7;p[0;`i;`c]}([]i:2#enlist`a`b!1 2)  / 7
/ the first rows that are inserted in an empty column of ints or shorts may be longs, if they fit; later ones not
t:([]a:`int$();b:`short$();c:`symbol$());`t insert(1;2;`a);exec t from meta t  / "ihs"
t,:(1 0N;2 3h;`b`c)  / 'type
t:([]a:`int$());`t insert([]a:3 4);t`a  / 3 4i
t:([]a:`int$();c:`symbol$());`t upsert(0N;`a);t,:(2i;`b);t`a  / 0N 2i
t:([]a:`int$();b:`int$())upsert`b`a!1 2;value first t  / 2 1i
/ joined, they make the column one of longs, as a join with an empty list does
t:([]a:`int$();c:`symbol$());t,:(0N;`a);t,:(2;`b);t`a  / 0N 2
t:([]a:`int$();d:`float$());t,:(1;.5);t,:`a`d!(2;1.5);t  / a d\n-----\n1 0.5\n2 1.5
t:([]a:`int$();b:`short$());t,:([]a:3 4;b:5 6h);exec t from meta t  / "jh"
{m:([]a:`int$();d:`float$());do[3;m,:(count m;.5)];m`a}[]  / 0 1 2
t:([]a:`int$());t,:enlist 3000000000;t`a  / ,3000000000
t:([]a:`int$());t,:1f  / 'type
t:([]a:`int$());t,:(0Ni;1);t`a  / 'length
t:([k:`int$()]v:`short$());`t upsert(1;2);exec t from meta t  / "ih"
([]a:`int$())upsert 3000000000  / 'type
([]a:`int$())upsert 1f  / 'type
([]a:`float$())upsert 1  / 'type
