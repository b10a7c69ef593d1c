7 div 2 3 4  / 3 2 1
-7 div 2  / -4
7 div 0  / 0N
0N div 2  / 0N
7f div 2  / 3f
7h div 2  / 3i
0x80 div 16  / 8i
7 div 2.5  / 2
2014.10.13 div 365  / 2000.01.15
(10;20 30)div(3 4;-5)  / 3  2\n-4 -6
([]a:1 2)div 2  / 'type
-3 -2 -1 0 1 2 3 4 mod 3  / 0 1 2 0 1 2 0 1
7 mod -2.5  / -0.5
7 mod 0  / 0N
2000.01.01D00:00:00.000000123 mod 100  / 0D00:00:00.000000023
2000.01.10 mod 7  / 2i
3 xbar til 8  / 0 0 0 3 3 3 6 6
2.5 xbar 1 3 6  / 0 2.5 5
5 xbar 11:00+0 7 13  / 11:00 11:05 11:10
0D00:05 xbar 2000.01.01D00:07:30  / 2000.01.01D00:05:00.000000000
2 xexp 8  / 256f
-2 xexp .5  / 0n
2 xexp 0 0.5 0n  / 1 1.414214 0n
2 xlog 8 0.125 0  / 3 -3 -0w
10 xlog 1000  / 3f
`a div 2  / 'type
7 8 div 1 2 3  / 'length
0Ng div 1  / 'type
mod[7;0Ng]  / 'type
1 2 mod 1 2 3  / 'length
5 mod`a`b!3 4  / a| 2\nb| 1
0 xbar 5  / 0N
5 xbar 0N 7  / 0N 5
0.5 xbar 0.7 1.2  / 0.5 1
(3;4 5)xbar(10;20 -30)  / 9\n20 -30
3 xbar`a`b!10 -21  / a| 9\nb| -21
5 xbar 0#0  / `long$()
3 xbar 2019.11m  / 2019.10m
5 xbar`a  / 'type
`a xbar 5  / 'type
3 xbar([]a:1 2)  / 'type
2 3 xbar 1 2 3  / 'length
-2 2 xexp .5  / 0n 1.414214
1.5 xexp -4.2 0 0.1 0n 0w  / 0.1821448 1 1.04138 0n 0w
3 xexp(1;2 3)  / 3f\n9 27f
2 xexp 0N  / 0n
all(x*x)=(x:-1000+1000?2000f)xexp 2  / 1b
0=max abs(x*x)-(x:-1+.001*til 2000)xexp\:2  / 1b
0=9-3 xexp 2  / 1b
-3 0n 0w -0w 0N xexp 2  / 9 0n 0w 0w 0n
-2 3f xexp 2 3  / 4 27f
-2 xexp 2 3 0 2f  / 4 0n 0n 4
(2 3;-4 5f)xexp 2  / 4  9\n16 25
-3 0N 4i xexp 2  / 9 0n 16
-3 4e xexp 2  / 9 16f
-2 xexp(2;2 3)  / 4f\n4 0n
2 xexp 0#2  / `float$()
2 xexp`a`b!1 2  / a| 2\nb| 4
2 xexp 0#0  / `float$()
2 xexp"a"  / 'type
2 xexp 2000.01.01  / 'type
2 xexp([]a:1 2)  / 'type
2 3 xexp 1 2 3  / 'length
2 xlog 8 0.125  / 3 -3f
1.5 xlog 0 0.125 1 3 0n  / -0w -5.128534 0 2.709511 0n
"A"xlog"C"  / 1.00726
(2;3 4)xlog(4;9 16)  / 2f\n2 2f
10 xlog`a`b!10 100  / a| 1\nb| 2
10 xlog([]a:10 -1)  / a\n-\n1\n
2 xlog 0#0  / `float$()
2 xlog`a  / 'type
`a xlog 2  / 'type
2 3 xlog 1 2 3  / 'length
"a b" div 3  / 32 10 32i
(" ";10 div " ";3 xbar "a b")  / " "\n0\n96 30 96
" " div 3  / 10i
