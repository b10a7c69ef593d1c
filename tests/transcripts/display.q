q)\c 10 40
q)([]n:til 20)
n
-
0
1
2
3
4
..
q)til 30
0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15..
q)til 13
0 1 2 3 4 5 6 7 8 9 10 11 12
q)([]a:1 2;b:2#enlist 60#"z")
a b                                  ..
-------------------------------------..
1 "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz..
2 "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz..
q)(9+til 20)!20#`a
9 | a
10| a
11| a
12| a
13| a
14| a
15| a
..
q)til 8
0 1 2 3 4 5 6 7
q)(til 10) cross til 2
0 0
0 1
1 0
1 1
2 0
2 1
3 0
..
q)\c 25 80
q)\P 3
q)1%3
0.333
q)1234.5
1.23e+03
q)string 2%3
"0.667"
q)\P 0
q)0.1
0.10000000000000001
q)\P 7
q)show `a`b!(1 2;"xy")
a| 1 2
b| x y
q).Q.s ([]a:1 2)
"a\n-\n1\n2\n"
q)f:{x+`a}
q)f 1
'type
  [1]  f:{x+`a}
           ^
  [0]  f 1
       ^
q)2+`a
'type
  [0]  2+`a
        ^
