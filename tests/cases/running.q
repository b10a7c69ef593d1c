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
