sums 7  / 7
sums 2 3 0N 7  / 2 5 5 12
sums 0101b  / 0 1 1 2i
sums(1 2 3;2 3 5)  / 1 2 3\n3 5 8
sums`a`b!1 2  / a| 1\nb| 3
sums "abc"  / 'type
prds 2 3 0N 7  / 2 6 6 42
maxs 2 5 7 1 3  / 2 5 7 7 7
maxs 0N 5 0N 1  / -0W 5 5 5
maxs "genie"  / "ggnnn"
mins 0N 5 0N 1 3  / 0W 5 5 1 1
mins "genie"  / "geeee"
avgs 1 2 3 0n 4 -0w 0w  / 1 1.5 2 2 2.5 -0w 0n
avgs(10 21 3;4 5 6)  / 10 21 3\n7  13 4.5
deltas 1 4 9 16  / 1 3 5 7
deltas(1 2;5 7)  / 1 2\n4 5
deltas()  / ()
ratios 2 4 6  / 2 2 1.5
differ 1 3 3 4 5 6 6  / 1101110b
differ`a`a`b  / 101b
differ(7;`a;`a;09:34)  / 1101b
differ("ab";"ab";"b")  / 101b
prev 2 3 5  / 0N 2 3
next 2 3 5  / 3 5 0N
next(1 2;"abc";`ibm)  / "abc"\n`ibm\n`long$()
2 xprev 2 7 5 3 11  / 0N 0N 2 7 5
-2 xprev 2 7 5 3 11  / 5 3 11 0N 0N
1 xprev "abcde"  / " abcd"
9 xprev 1 2  / 0N 0N
fills 0N 2 0N 0N 7  / 0N 2 2 2 7
fills`x``y```z  / `x`x`y`y`y`z
fills 1 0n 2  / 1 1 2f
0.5 ema 1 2 3  / 1 1.5 2.25
0.5 ema 1 0n 3  / 1 0n 0n
deltas[10;1 4 9]  / -9 3 5
deltas[2000.01.01;2000.01.03 2000.01.04]  / 2 1i
deltas[1;(1 2;3 4)]  / 0 1\n2 2
deltas[1;`a`b!3 5]  / a| 2\nb| 2
deltas[0;0#0]  / `long$()
deltas[`a;1 2]  / 'type
ratios[2;4 8]  / 2 2f
ratios[2;5]  / 2.5
sums"abc"  / 'type
sums`a  / 'type
prds 2 3 5 7  / 2 6 30 210
prds 7  / 7
prds 0N 2  / 1 2
prds(1 2 3;2 3 5)  / 1 2 3\n2 6 15
prds`a`b!(10 21;4 5)  / a| 10 21\nb| 40 105
prds([]a:10 21 3;b:4 5 6)  / a   b\n-------\n10  4\n210 20\n630 120
prds 0#0  / `long$()
prds 1.5 2 0n  / 1.5 3 3
prds"abc"  / 'type
prds`a`b  / 'type
maxs 0N 5 0N 1 3  / -0W 5 5 5 5
maxs"genie"  / "ggnnn"
maxs 7  / 7
maxs(10 21 3;4 5 6)  / 10 21 3\n10 21 6
maxs`a`b!1 0  / a| 1\nb| 1
maxs 0#0n  / `float$()
maxs`a`b  / 'type
maxs 0Ng  / 'type
mins 2 5 7 1 3  / 2 2 2 1 1
mins"genie"  / "geeee"
mins 7  / 7
mins([]a:10 21 3;b:4 5 6)  / a  b\n----\n10 4\n10 4\n3  4
mins 0#0  / `long$()
mins 2.5 0n 1  / 2.5 2.5 1
mins`a`b  / 'type
mins 0Ng  / 'type
avgs 0N 2  / 0n 2
avgs 7  / 7f
avgs 01b  / 0 0.5
avgs 0#0  / `float$()
avgs([]a:10 21;b:4 5)  / a    b\n--------\n10   4\n15.5 4.5
avgs`a`b!2 4  / a| 2\nb| 3
avgs"abc"  / 'type
avgs`a  / 'type
deltas`a`b  / 'type
deltas"abc"  / 'type
ratios 2000 2005 2007  / 2000 1.0025 1.000998
ratios`a`b!(10 21;4 7)  / a| 10  21\nb| 0.4 0.3333333
ratios([]a:10 21 3;b:4 5 6)  / a         b\n--------------\n10        4\n2.1       1.25\n0.1428571 1.2
ratios 0N 2 4  / 0n 0n 2
ratios 1 0 5  / 1 0 0w
ratios 0#0  / `float$()
ratios`a`b  / 'type
ratios 0#0Ng  / 'type
differ 1 1 0N 0N 2  / 10101b
differ"aab"  / 101b
differ(1 2;1 2;3)  / 101b
differ 0#0  / `boolean$()
differ 1.0 1.0 0n 0n  / 1010b
differ([]a:1 1 2;b:1 1 1)  / 101b
differ[1;2;3]  / 'rank
differ[1;2]  / 'rank
prev 0#0  / `long$()
prev"abc"  / " ab"
prev`a`b  / ``a
prev 101b  / 010b
prev 1.5 2  / 0n 1.5
prev([]a:1 2)  / a\n-\n\n1
prev`a`b!1 2  / a|\nb| 1
prev{x}  / 'type
prev[1;2;3]  / 'rank
next 0#0  / `long$()
next"abc"  / "bc "
next`a`b  / `b`
next 101b  / 010b
next(1 2;3 4;"ab")  / 3 4\n"ab"\n`long$()
next([]a:1 2)  / a\n-\n2\n
next`a`b!1 2  / a| 2\nb|
next{x}  / 'type
next[1;2;3]  / 'rank
-1 xprev 2 7 5  / 7 5 0N
0 xprev 1 2  / 1 2
5 xprev 1 2  / 0N 0N
1 xprev"abc"  / " ab"
1 xprev 0#`  / `symbol$()
1.5 xprev 1 2  / 'type
`a xprev 1 2  / 'type
fills 0N 2 3 0N 0N 7 0N  / 0N 2 3 3 3 7 7
fills 0#0  / `long$()
fills"a b"  / "aab"
fills 0n 1 0n  / 0n 1 1
fills 2000.01.01 0N  / 2000.01.01 2000.01.01
fills([]a:1 0N;b:0N 2)  / a b\n---\n1\n1 2
fills[1;2;3]  / 'rank
fills[1;2;3;4]  / 'rank
ema[1%3;1,3#0]  / 1 0.6666667 0.4444444 0.2962963
0.5 ema 4  / 'type
0.5 0.5 0.5 ema 1 2 3  / 1 1.5 2.25
0.5 ema 0#0  / `float$()
1 ema 1 2 3  / 1 2 3f
0 ema 5 2 3  / 5 5 5f
0.5 ema 0n 1  / 0n 0n
0.5 ema`a`b  / 'type
`a ema 1 2  / 'type
0.5 0.5 ema 1 2 3  / 'length
0Ng 0Ng ema 1 2  / 'type
deltas(1 2;4 6)  / 1 2\n3 4
deltas(01b;10b)  / 0 1\n1 -1
ratios(2 4;4 4)  / 2 4\n2 1
type deltas 0#0b  / 6h
type deltas 0#2000.01.01  / 6h
sums(1 2f;3 0n)  / 1 2\n4
/ the first row of a list of lists stays as it is
-3!sums 2 3#101010b  / "(101b;1 1 1i)"
-3!prds 2 2#1 2 3 4h  / "(1 2h;3 8i)"
-3!sums 2 2#0x01020304  / "(0x0102;4 6i)"
-3!sums 2 2#2000.01.01+til 4  / "(2000.01.01 2000.01.02;2 4i)"
prds 2 2#2000.01.01+til 4  / 'type
