/ til, count, first, last, enlist
til 5  / 0 1 2 3 4
til 0  / `long$()
til 3i  / 0 1 2
til -1  / 'domain
til 2.5  / 'type
til `a  / 'type
count 0  / 1
count "zero"  / 4
count (2;3 5;"eight")  / 3
count `a`b!(1 2 3;4)  / 2
count ([]a:1 2 3)  / 3
count {x+y}  / 1
count each (2;3 5;"eight")  / 1 2 5
first 10 20 30  / 10
last 10 20 30  / 30
first 0#0  / 0N
first 0#`  / `
last ""  / " "
first ()  / ()
first `a`b!5 6  / 5
first ([]a:1 2;b:`x`y)  / a| 1\nb| `x
last 5  / 5
first "ab"  / "a"
first (1 2;3 4)  / 1 2
last (1 2;"cd")  / "cd"
enlist 5  / ,5
enlist 1 2  / 1 2
-3!enlist 1 2  / ",1 2"
enlist `a`b!1 2  / a b\n---\n1 2
enlist[1;2;3]  / 1 2 3
count enlist[1;`a;"xyz"]  / 3
type each (1;1 2;`a;"a";"ab";1b;0x01;1h;1i;1e;1f;();(1;`a))  / -7 7 -11 -10 10 -1 -4 -5 -6 -8 -9 0 0h
type each (2000.01.01;2000.01m;0D;00:00;00:00:00;00:00:00.000;2000.01.01D0)  / -14 -13 -16 -17 -18 -19 -12h
type each (`a`b!1 2;([]a:1 2);([a:1 2]b:3 4);{x};+;+[1];+/)  / 99 98 99 100 102 104 107h
type (::)  / 101h
/ reverse, rotate
reverse 1 2 3  / 3 2 1
reverse "abc"  / "cba"
reverse `a`b!1 2  / b| 2\na| 1
reverse ([]a:1 2)  / a\n-\n2\n1
reverse 5  / 5
reverse (1 2;3 4)  / 3 4\n1 2
2 rotate 2 3 5 7 11  / 5 7 11 2 3
-2 rotate 2 3 5 7 11  / 7 11 2 3 5
7 rotate 1 2 3  / 2 3 1
1 rotate ()  / ()
1 rotate ([]a:1 2 3;b:"xyz")  / a b\n---\n2 y\n3 z\n1 x
1 rotate 5  / 'type
/ where
where 01101b  / 1 2 4
where 2 3 0 1  / 0 0 1 1 1 3
where `a`b`c!2 0 1  / `a`a`c
where `a`b`c!101b  / `a`c
where ()  / `long$()
where 1.5 2  / 'type
where 1 -1  / 'domain
/ flip
flip (1 2 3;4 5 6)  / 1 4\n2 5\n3 6
flip (1 2 3;4)  / 1 4\n2 4\n3 4
flip (1 2;3 4 5)  / 'length
flip 1 2 3  / 'rank
flip `a`b!(1 2;`x`y)  / a b\n---\n1 x\n2 y
flip `a`b!(1 2;3)  / a b\n---\n1 3\n2 3
flip ([]a:1 2;b:3 4)  / a| 1 2\nb| 3 4
-3!flip (1 2;`a`b)  / "((1;`a);(2;`b))"
-3!flip ("ab";"cd")  / "(\"ac\";\"bd\")"
flip flip `a`b!(1 2;3 4)  / a| 1 2\nb| 3 4
/ cross
1 2 3 cross 10 20  / 1 10\n1 20\n2 10\n2 20\n3 10\n3 20
-3!1 2 cross `a`b  / "((1;`a);(1;`b);(2;`a);(2;`b))"
-3!(1 2;3 4) cross (5 6;7 8)  / "(1 2 5 6;1 2 7 8;3 4 5 6;3 4 7 8)"
([]s:`a`b)cross([]v:1 2)  / s v\n---\na 1\na 2\nb 1\nb 2
count 5  / 1
count[1;2]  / 'rank
count[1;2;3]  / 'rank
first[1;2]  / 'rank
first[1;2;3]  / 'rank
last 0#0  / 0N
last()  / ()
last"abc"  / "c"
last`a`b!1 2  / 2
last([]a:1 2)  / a| 2
last 7  / 7
last[1;2]  / 'rank
last[1;2;3]  / 'rank
reverse()  / ()
reverse`a`b!1 2  / b| 2\na| 1
reverse([]a:1 2)  / a\n-\n2\n1
reverse"ab"  / "ba"
reverse(1;`a)  / `a\n1
reverse[1;2]  / 'rank
reverse[1;2;3]  / 'rank
0 rotate 1 2 3  / 1 2 3
-1 rotate"abc"  / "cab"
2 rotate([]a:1 2 3)  / a\n-\n3\n1\n2
5 rotate 1 2 3  / 3 1 2
1 rotate()  / ()
`a rotate 1 2  / 'type
1.5 rotate 1 2  / 'type
1 2 cross 3 4  / 1 3\n1 4\n2 3\n2 4
"ab"cross"c"  / "ac"\n"bc"
(0#0)cross 1 2  / ()
([]a:1 2)cross([]b:3 4)  / a b\n---\n1 3\n1 4\n2 3\n2 4
1 cross 2 3  / 1 2\n1 3
cross[1 2;`a`b]  / 1 `a\n1 `b\n2 `a\n2 `b
cross[1;2;3]  / 'rank
1 2 cross([]a:1 2)  / 'type
type[1;2]  / 'rank
type[1;2;3]  / 'rank

/ an enumeration indexes a list by its places in the domain
endom:`p`q`r;10 20 30`endom$`r`p  / 30 10
10 20 30 first`endom$`q`p  / 20
./[3 3#0;flip(`endom$`p`q;`endom$`r`p);:;5 6]  / 0 0 5\n6 0 0\n0 0 0
@[10 20 30;`endom$`r`p;+;1]  / 11 20 31
lx:til 3;lx[`endom$`q]:9;lx  / 0 9 2
(2 2#til 4)[`endom$`q;0]  / 2
(`p`q`r!1 2 3)`endom$`q  / 2

/ rows by name
flip`x`x1!flip`a`b!(6 7;`symbol`boolean)  /  | x       x1\n-| ----------------\na| 6       7\nb| `symbol `boolean
flip flip`x`x1!flip`a`b!(6 7;`symbol`boolean)  /   | a b\n--| ---------\nx | 6 symbol\nx1| 7 boolean
(flip`x`y!(`a`b!1 2;`a`b!3 4))~`a`b!([]x:1 2;y:3 4)  / 1b
