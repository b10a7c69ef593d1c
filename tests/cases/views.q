views[]  / `symbol$()
v::w+1  /
views`  / `s#,`v
\B  / ,`v
w:2  /
v  / 3
\B  / `symbol$()
w:5  /
\B  / ,`v
v  / 6
d::v*w  /
d  / 30
{w::x}7;d  / 56
view`d  / "v*w"
-3!value`. `d  / "(56;(*;`v;`w);`v`w;\"v*w\")"
n:0;w:1  /
c::{n::n+1;x}w  /
c;c;n  / 1
w:1;c;n  / 1
w:2;c;n  / 2
f:{u+1}  /
u::w+10  /
f[]  / 13
w:3;f 0  / 14
{u::x}7;f 0  / 8
views`  / `s#`c`d`v
s::$[w;1;s+1]  /
s;w:0;s  / 2
s2::s2+1  /
s2  / 'loop
t::2020.01.02  /
t.year  / 'nyi
e:: w;  /
e~(::)  / 1b
k::til 3  /
k[1]:7;k  / 0 7 2
views`  / `s#`c`d`e`s`s2`t`v
q1::select from tt where a in z1  /
-3!(value`. `q1)2  / ",`tt"
til::5  / 'assign
.z.b`w  / `c`d`e`s`v
views`.  / `s#`c`d`e`q1`s`s2`t`v
type views`  / 11h
views[1;2]  / 'rank
view`v  / "w+1"
type view`v  / 10h
view`e  / "w;"
view`s2  / "s2+1"
view`.d  / '.d
view`nosuch  / 'nosuch
view 5  / 'type
w:1;view`w  / 'w
views[]~views`  / 1b
attr views[]  / `s
1_views[]  / `d`e`q1`s`s2`t`v
views[1;2;3]  / 'rank
kept::hereafter+1  /
`. upsert `hereafter`z!3 4  / `.
kept  / 4
`. upsert `hereafter`z!6 4  / `.
kept  / 7
la::lb+1  /
lb::la+1  /
la  / 'loop
box.items:1 2  /
box.total::sum box.items  /
box.total  / 3
box.items:5 6  /
({box.total})[]  / 11
box.late::notyet box.items  /
notyet:{x+1};box.late  / 6 7
box.total:0  /
(box.total;`box.total in views`)  / 0\n0b
vw:1  /
vd::vw+1  /
reval parse"delete vd from `."  / 'noupdate: `. `vd
`vd in views`  / 1b
unsound::nowhere+1  /
'`unsound  / 'unsound
