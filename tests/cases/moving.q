3 msum 1 2 3 5 7 11  / 1 3 6 10 15 23
3 msum 0N 2 3 5 0N 11  / 0 2 5 10 8 16
2 msum 1101b  / 1 2 1 1i
3 mcount 0N 1 2 3 0N 5  / 0 1 2 3 2 2
2 mavg 1 2 3 5 7 10  / 1 1.5 2.5 4 6 8.5
5 mavg 0N 2 0N 5 7 0N  / 0n 2 2 3.5 4.666667 4.666667
0 mavg 2 3  / 0n 0n
2 mdev 1 2 3 5 7 10  / 0 0.5 0.5 1 1 1.5
5 mdev 0N 2 0N 5 7 0N  / 0n 0 0 1.5 2.054805 2.054805
3 mmax 2 7 1 3 5 2 8  / 2 7 7 7 5 5 8
3 mmax 0N -3 -2 0N 1 0  / -0W -3 -2 -2 1 1
3 mmin 0N -3 -2 1 -0W 0  / 0N 0N 0N -3 -0W -0W
2 mmin 3 1 2  / 3 1 1
2 mavg([]a:10 21 3;b:4 5 6)  / a    b\n--------\n10   4\n15.5 4.5\n12   5.5
2 msum`a`b!(10 21 3;4 5 6)  / a| 10 21 3\nb| 14 26 9
`a msum 1 2  / 'type
2 msum`a  / 'type
2 msum"abc"  / 'type
1.5 msum 1 2  / 'type
3 mcount 0 1 2 3 4 5  / 1 2 3 3 3 3
0 mcount 1 2  / 0 0
2 mcount 0N 0N  / 0 0
2 mcount 0#0  / `long$()
2 mcount 0n 1 2  / 0 1 2
2 mcount([]a:0N 1 2)  / a\n-\n0\n1\n2
2 mcount`a`b!(1 0N;3 4)  / a| 1 0\nb| 2 1
1.5 mcount 1 2  / 'type
`a mcount 1 2  / 'type
2 mavg 0#0  / `float$()
1 mavg 0N 2  / 0n 2
2 mavg`a`b  / 'type
2 mavg"abc"  / 'type
1 mdev 5 7  / 0 0f
0 mdev 5 7  / 0n 0n
2 mdev 0#0  / `float$()
2 mdev`a`b!(10 21 3;4 5 6)  / a| 0 0 0\nb| 3 8 1.5
2 mdev([]a:10 21 3)  / a\n---\n0\n5.5\n9
2 mdev`a`b  / 'type
1.5 mdev 1 2  / 'type
2 mmax 0N 0N 1  / -0W -0W 1
3 mmax"genie"  / "ggnnn"
2 mmax 0#0  / `long$()
1 mmax 1 2 3  / 1 2 3
2 mmax`a`b!(10 21 3;4 5 6)  / a| 10 21 3\nb| 10 21 6
2 mmax([]a:10 21 3)  / a\n--\n10\n21\n21
2.5 mmax 1 2  / 'type
`a mmax 1 2  / 'type
0 mmin 3 1 2  / 3 1 2
-1 mmin 3 1 2  / 3 1 2
2 mmin 0n 1 2  / 0n 0n 1
2 mmin 0#0  / `long$()
3 mmin"genie"  / "geeee"
2 mmin([]a:10 21 3)  / a\n--\n10\n10\n3
2.5 mmin 1 2  / 'type
`a mmin 1 2  / 'type
1 mdev 0 2 0  / 0 0 0f
2 mdev 0Ng  / 'type
type 2 msum 2000.01.01 2000.01.02  / 6h
-3!2 mavg 2 0#0  / "(`float$();`float$())"
-3!2 msum 2 0#0  / "(`long$();`long$())"
