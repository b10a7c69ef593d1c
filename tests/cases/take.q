/ take
5#til 9  / 0 1 2 3 4
-5#til 9  / 4 5 6 7 8
5#`a`b`c  / `a`b`c`a`b
-5#`a`b`c  / `b`c`a`b`c
3#9  / 9 9 9
0#9  / `long$()
2#`a  / `a`a
3#0#0  / 0N 0N 0N
2#"ab"  / "ab"
2#()  / ()\n()
-3!3#enlist 1 2  / "(1 2;1 2;1 2)"
2#`a`b`c!1 2 3  / a| 1\nb| 2
-2#`a`b`c!1 2 3  / b| 2\nc| 3
`a`b#`a`b`c!1 2 3  / a| 1\nb| 2
`a#`a`b!1 2  / a| 1
2#([]a:1 2 3)  / a\n-\n1\n2
-1#([]a:1 2 3)  / a\n-\n3
3#([]a:1 2)  / a\n-\n1\n2\n1
`a`c#([]a:1 2;b:3 4;c:5 6)  / a c\n---\n1 5\n2 6
([]k:`a`b)#([k:`a`b`c]v:1 2 3)  / k| v\n-| -\na| 1\nb| 2
1.5#1 2  / 'type
/ shapes
2 3#til 6  / 0 1 2\n3 4 5
-3!2 2 3#til 5  / "((0 1 2;3 4 0);(1 2 3;4 0 1))"
2 5#"!"  / "!!!!!"\n"!!!!!"
2 2#`a`b`c  / a b\nc a
-3!enlist[2]#til 10  / "0 1"
-3!0N 3#til 10  / "(0 1 2;3 4 5;6 7 8;,9)"
-3!0N 5#til 10  / "(0 1 2 3 4;5 6 7 8 9)"
-3!3 0N#til 10  / "(0 1 2;3 4 5;6 7 8 9)"
-3!4 0N#til 9  / "(0 1;2 3;4 5;6 7 8)"
(2#2)#1 0 0  / 1 0\n0 1
1 0 2#0  / 'domain
2 3 0N#til 6  / 'domain
-1 2 3#0  / 'domain
-3!1 2 0#"a"  / ",(\"\";\"\")"
-3!2 2#("ab";1)  / "((\"ab\";1);(\"ab\";1))"
type 2 3#1e  / 0h
2 3#(1 2;3 4)  / 1 2 3 4 1 2\n3 4 1 2 3 4
/ drop and cut
2_til 5  / 2 3 4
-2_til 5  / 0 1 2
9_til 5  / `long$()
1_`a`b`c!1 2 3  / b| 2\nc| 3
1_([]a:1 2)  / a\n-\n2
-3!2 4 9_til 10  / "(2 3;4 5 6 7 8;,9)"
-3!2 4 4 9_til 10  / "(2 3;`long$();4 5 6 7 8;,9)"
-3!0 2_"abcde"  / "(\"ab\";\"cde\")"
4 2_til 9  / 'domain
0 99_til 9  / 'length
10 20 30_1  / 10 30
10 20 30_7  / 10 20 30
(`a`b`c!1 2 3)_`a  / b| 2\nc| 3
`a _ `a`b!1 2  / b| 2
`a`b _ `a`b`c!1 2 3  / c| 3
(`a`b`c!1 2 3) _ `a`b  / 'type
`a`b _ ([]a:1 2;b:3 4;c:5 6)  / c\n-\n5\n6
(100 200!`a`b)_100  / 200| b
enlist[100]_100 200!`a`b  / 200| b
1_100 200!`a`b  / 200| b
1_5  / 'type
([k:`a`b]v:1 2)_`a  / k| v\n-| -\nb| 2
-3!4 cut til 10  / "(0 1 2 3;4 5 6 7;8 9)"
-3!2 cut "abcd"  / "(\"ab\";\"cd\")"
-3!0 3 cut til 5  / "(0 1 2;3 4)"
count 2 cut ([]a:til 5)  / 3
0 cut 1 2  / 'domain
/ sublist
3 sublist 1 2  / 1 2
2 sublist til 5  / 0 1
-2 sublist til 5  / 3 4
1 3 sublist "abcdef"  / "bcd"
4 9 sublist til 6  / 4 5
1 sublist `a`b!1 2  / a| 1
1 1 sublist ([]a:1 2 3)  / a\n-\n2
3 cut til 7  / 0 1 2\n3 4 5\n,6
0 2 5 cut til 7  / 0 1\n2 3 4\n5 6
2 cut"abcde"  / "ab"\n"cd"\n,"e"
2 cut()  / ()
0 2 cut([]a:1 2 3)  / +(,`a)!,1 2\n+(,`a)!,,3
`a cut 1 2 3  / 'type
1.5 cut 1 2 3  / 'type
-2 sublist 1 2 3  / 2 3
1 2 sublist"abcdef"  / "bc"
2 sublist`a`b`c!1 2 3  / a| 1\nb| 2
1 sublist([]a:1 2)  / a\n-\n1
0 sublist 1 2  / `long$()
`a sublist 1 2  / 'type
1.5 sublist 1 2  / 'type
2 cut 5  / 'type
2 cut{x}  / 'type
(1 2;3)_`a`b!1 2  / 'type
([k:1 2]v:3 4)_(1 2;3)  / 'type
-3!2 0#2 2#til 4  / "(();())"
-3!1 0#2 2#til 4  / ",()"
-3!2 3 0#("ab";"c")  / "((();();());(();();()))"

/ no rows
(0;0N)#1 2 3  / ()
(0;0N)#()  / ()
count(0;0N)#"abc"  / 0
(0i;0Ni)#`a`b  / ()
(-1;0N)#1 2 3  / 'domain
(0N;0)#1 2 3  / 'domain
(2;0N)#()  / ()\n()

/ the rows of a table
count each(0N;2)#([]a:til 5)  / 2 2 1
last(0N;2)#([]a:til 5)  / a\n-\n4
(0N;0W)#([]a:1 2)  / +(,`a)!,1 2
0N 2#t:([]a:1 2;b:`x`y)  / +`a`b!(1 2;`x`y)
2 0N#t  / +`a`b!(,1;,`x)\n+`a`b!(,2;,`y)
count 2 2#t  / 2
(0#0)#t  / 'type
1 2f#t  / 'type
