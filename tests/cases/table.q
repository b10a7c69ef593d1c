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
