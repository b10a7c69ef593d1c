{x+1}each til 3  / 1 2 3
{x+1}each 0#0  / ()
type (2*')til 0  / 0h
(neg')(1 2;3)  / -1 -2\n-3
1 2 3 in'(1 0 1;til 100;5 6 7)  / 110b
{x+y*z}'[1000000;1 0 1;5000 6000 7000]  / 1005000 1000000 1007000
{x+y}'[1 2;1 2 3]  / 'length
{x+y}'[`a`b!1 2;10]  / a| 11\nb| 12
{y+1}'[1 2 3;5]  / 6 6 6
(count')`a`b!(1 2 3;4 5)  / a| 3\nb| 2
"ab",\:"XY"  / "aXY"\n"bXY"
"ab",/:"XY"  / "abX"\n"abY"
(`a`b!1 2)+\:1 2  / a| 2 3\nb| 3 4
(", "/:)("quick";"fox")  / "quick, fox"
(0x0\:)3.14156  / 0x400921ea35935fc4
0 1 0'["abc";"xyz"]  / "ayc"
0 2 0'["abc";"xyz";"123";"789"]  / "a2c"
0 1 0'["a";"xyz"]  / "aya"
0 5'["a";"xy"]  / 'index
'[count;{x,y}][1 2;3 4]  / 4
(-':)1 1 2 3 5  / 1 0 1 1 2
(*':)2 3 4  / 2 6 12
(%':)2 4 8  / 2 2 2f
(,':)2 3 4  / 2\n3 2\n4 3
{x+2*y}':[2 3 4]  / 0N 7 10
1950 -':`a`b!1952 1954  / a| 2\nb| 2
neg':[1 2 3]  / -1 -2 -3
{x*x}peach 1 2 3  / 1 4 9
(+/)til 5  / 10
(+/)()  / 0
(*/)0#0  / 1
({x+y}/)0#0  / ()
42+/0#0  / 42
{x+y*z}/[42;0#0;0#0]  / 42
type 1 0 3h/[til 0]  / 5h
(+//)(1 2;3 4)  / 10
(,\)2 3 4  / ,2\n2 3\n2 3 4
{x,y}\[2 3 4]  / 2\n2 3\n2 3 4
{x*y}\[0#0]  / ()
1000+\2 3 4  / 1002 1005 1009
(neg\)1  / 1 -1
(rotate[1]\)"abc"  / "abc"\n"bca"\n"cab"
({x*x}\)0.1  / 0.1 0.01 0.0001 1e-08 1e-16 1e-32 1e-64 1e-128 1e-256 0
(`a`b`c!`b`c`a)\[`b]  / `b`c`a
2(`a`b`c!`b`c`a)\`b  / `b`c`a
(`b<>)(`a`b`c!`c`a`b)\`a  / `a`c`b
5 enlist\1  / 1\n,1\n,,1\n,,,1\n,,,,1\n,,,,,1
(10>)(2*)\2  / 2 4 8 16
10{x,sum -2#x}/0 1  / 0 1 1 2 3 5 8 13 21 34 55 89
m:(1 2 0;2 0 1;0 1 2);1 m\0 1 2  / 2 1 1
(m\)0 1 2  / 0 2 2
{x+y*z}\[1000;5 10;2 3]  / 1010 1040
{x+y*z}\[1;`a`b!1 2;3]  / a| 4\nb| 10
1000f(1 2 3f)\5 6 7f  / 1005 2016 6055f
0.5(0.5 0.5)\1 2f  / 1.25 2.625
ssr/["abc";("a";"b");("x";"y")]  / "xyc"
(+)scan 1 2 3  / 1 3 6
`foo each 1 2  / 'foo
{x}/[1;2;3;4]  / 'rank
{x+`a}each 1 2  / 'type
neg peach 1 2 3  / -1 -2 -3
{x+1}peach 0#0  / ()
count peach("abc";"de")  / 3 2
{x*x}peach`a`b!2 3  / a| 4\nb| 9
{x`a}peach([]a:1 2)  / 1 2
reverse peach(1 2;3 4)  / 2 1\n4 3
{x+`a}peach 1 2  / 'type
{'x}peach enlist"oops"  / 'oops
(+)over 1 2 3  / 6
(*)over 2 3 4  / 24
{x,y}over(1;2 3)  / 1 2 3
(+)over 0#0  / 0
max over(1 5;7 2)  / 7
(+)over`a`b!1 2  / 3
(,)over("ab";"cd")  / "abcd"
(+)over(1;`a)  / 'type
{x+y}over 1 2!`a`b  / 'type
{x*y}scan 1 2 3 4  / 1 2 6 24
(,)scan("ab";"c")  / "ab"\n"abc"
(+)scan`a`b!1 2  / a| 1\nb| 3
(|)scan 3 1 5  / 3 3 5
(+)scan 0#0  / `long$()
(+)scan 5  / 5
(+)scan(1;`a)  / 'type
{x+y}scan 1 2!`a`b  / 'type
(-)prior 1 3 6  / 1 2 3
(,)prior 1 2  / 1\n2 1
{x>y}prior 1 3 2  / 110b
(-)prior`a`b!1 3  / a| 1\nb| 2
(+)prior 0#0  / `long$()
(~)prior 1 1 2  / 010b
(-)prior(1;`a)  / 'type
{x+y}prior`a`b  / 'type
{x+y}'[1 2]  / {x+y}'[1 2]
({x+y}'[1 2])3 4  / 4 6
{x+y+z}[1]'[2 3;4 5]  / 7 9
{x+y}'[1 2]each(3 4;5 6)  / 4 6\n6 8
count'[("ab";1 2 3)]  / 2 3
@'[(1 2 3;4 5 6);0;:;9]  / 9 2 3\n9 5 6
@''[2 2 2#til 8;0;neg]  / 0  1 -2 3\n-4 5 -6 7
.'[(1 2 3;4 5 6);0;+;10 20]  / 11 2 3\n24 5 6
(@'[;0;:;9])(1 2;3 4)  / 9 2\n9 4
(+')[1;2;3]  / 'rank
(:':)1 2 3  / 0N 1 2
0 :': 1 2 3  / 0 1 2
prev[0;1 2 3]  / 0 1 2
prev["a";"bcd"]  / "abc"
sums[10;1 2 3]  / 11 13 16
fills[7;0N 1 0N]  / 7 1 1
raze[1;(2 3;4)]  / 1 2 3 4
raze[;1 2]3  / 3 1 2
sums[1;2;3]  / 'rank
type prev  / 109h
m:({0};{2*x="x"};{2+x="f"});m/[1;"xf"]  / 3
1 m\"xf"  / 2 3
0 (0 1;1 0)\20#1  / 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0
0 (0 1;1 0)/21#1  / 1
0 (0 1;2 0)\20#10b  / 1 2 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N 0N
0b vs/:1 2h  / 0000000000000001b\n0000000000000010b
0x0 vs/:1 258h  / 0x0001\n0x0102
-1_.q.til 4  / 0 1 2
/ a derived function keeps the rank of its function: with fewer arguments it is projected
{x+y+z}'[1 2;3 4]  / {x+y+z}'[1 2;3 4]
({x+y+z}'[1 2;3 4])5 6  / 9 12
({x+y+z}'[1 2])[3 4;5 6]  / 9 12
({x+y+z}')[1 2;3 4]10  / 14 16
(1 2{x+y+z}'3 4)5  / 9 11
f:.Q.fmt'[4 7;0 4];f 1 2.5  / "  1."\n" 2.5000"
{x+y+z}/[0;1 2]  / {x+y+z}/[0;1 2]
({x+y+z}/[0;1 2])3 4  / 10
({x+y+z}\[0])[1 2;3 4]  / 4 10
{[a;b;c;d]a+b+c+d}\[0;1 2;3 4]5 6  / 9 21
{x+y+z}'[1 2;3 4;5 6;7 8]  / 'rank
{x+y+z}/[1;2;3;4]  / 'rank
/ rows of matrices, all at once
1_'2 3#til 6  / 1 2\n4 5
-1_'2 3#til 6  / 0 1\n3 4
-3_'2 3#til 6  / `long$()\n`long$()
0_'2 3#til 6  / 0 1 2\n3 4 5
2#'2 3#.5*til 6  / 0   0.5\n1.5 2
-2#'2 3#"abcdef"  / "bc"\n"ef"
4#'2 3#til 6  / 0 1 2 0\n3 4 5 3
1_'2 2 2#til 8  / 2 3\n6 7
(2 3#til 6),'7 8  / 0 1 2 7\n3 4 5 8
7 8,'2 3#til 6  / 7 0 1 2\n8 3 4 5
(2 3#til 6),'9  / 0 1 2 9\n3 4 5 9
(2 2#til 4),'2 1#8 9  / 0 1 8\n2 3 9
(2 2#til 4),'.5 1.5  / 0 1 0.5\n2 3 1.5
(2 2#til 4),'`a  / 0 1 `a\n2 3 `a
((2 2 1#til 4),'2 1 1#8 9)~2 3 1#0 1 8 2 3 9  / 1b
(2 3#til 6),'7 8 9  / 'length
x:2 3#til 6;y:1_'x;y[;0]:9;x  / 0 1 2\n3 4 5
x:2 3#til 6;y:-1_'x;x[;1]:7;y  / 0 1\n3 4

/ an each may stand apart from its function before a closing bracket
(count ')("ab";"cde")  / 2 3
(avg '')((1 2;3 4 5);(1 2;3 4))  / 1.5 4\n1.5 3.5
{(neg ')x}1 2  / -1 -2
(neg ';abs ')@\:-1 2  / 1 -2\n1 2
0N{x+1}/1  / 1
-0W{x+1}\1  / ,1

/ a blank between an operator and '
1 2+ '3 4  / 4 6
1, '(2 3)  / 1 2\n1 3
{x , 'y}[1 2;3]  / 1 3\n2 3
t:([]a:1 2;b:3 4);exec a, 'b from t  / 1 3\n2 4
neg 'err  / 'err
(1; 'err)  / 'err
{$[x; 'err;1]}1b  / 'err
