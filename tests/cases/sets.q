distinct 2 3 7 3 5 3  / 2 3 7 5
distinct `a`b`a  / `a`b
distinct "mississippi"  / "misp"
distinct 0n 1 0n  / 0n 1
distinct 0101b  / 01b
-3!distinct (1 2;3 4;1 2)  / "(1 2;3 4)"
-3!distinct (1;1f;1;`a)  / "(1;1f;`a)"
distinct ([]a:1 2 1;b:2 3 2)  / a b\n---\n1 2\n2 3
distinct `a`b`c!1 2 1  / 1 2
distinct 0#0  / `long$()
distinct ()  / ()
distinct 5  / ,5
group "mississippi"  / m| ,0\ni| 1 4 7 10\ns| 2 3 5 6\np| 8 9
group `b`a`b  / b| 0 2\na| ,1
count each group 1 2 1 1  / 1| 3\n2| 1
group `a`b`c!1 2 1  / 1| `a`c\n2| ,`b
group 0#0  / 
group ([]a:1 2 1)  / a|\n-| ---\n1| 0 2\n2| ,1
group 5  / 'type
1 2 3 4 except 2 4  / 1 3
1 2 3 except 2  / 1 3
"hello" except "l"  / "heo"
(1 2;3 4) except enlist 1 2  / 3 4
([]a:1 2 3) except ([]a:1 3)  / a\n-\n2
1 3 4 2 inter 2 3 5 7 11  / 3 2
1 2 3 1 4 inter 4 1 4  / 1 1 4
`a`b inter `c  / `symbol$()
(`a`b!(1 2 3;`x`y`z)) inter `a`b`c!(1 2 3;2 3 5;`x`y`z)  / 1 2 3\nx y z
([]a:`x`y`z;b:10 20 30) inter ([]a:`y`x;b:50 10)  / a b\n----\nx 10
1 2 3 3 6 union 2 4 6 8  / 1 2 3 6 4 8
([]x:2 3;y:"ab") union ([]x:2 4;y:"ad")  / x y\n---\n2 a\n3 b\n4 d
1 2 union `a  / 1\n2\n`a
distinct 0n 0n 1  / 0n 1
distinct[1;2]  / 'rank
distinct[1;2;3]  / 'rank
group 1 2 1 0N 0N  / 1| 0 2\n2| ,1\n | 3 4
count group 0#0  / 0
group"mississippi"  / m| ,0\ni| 1 4 7 10\ns| 2 3 5 6\np| 8 9
group[1;2;3]  / 'rank
1 2 2 3 except 3 9  / 1 2 2
"abc"except"b"  / "ac"
(1 2;3 4)except enlist 1 2  / 3 4
(0#0)except 1  / `long$()
0n 1 except 0n  / ,1f
1 2 except`a  / 'type
except[1;2;3]  / 'rank
except[1 2;2;3;4]  / 'rank
1 2 3 inter 2 3 4  / 2 3
1 3 3 1 inter 3 1  / 1 3 3 1
"abc"inter"bd"  / ,"b"
(`a`b!1 2)inter`b`c!2 3  / ,2
(0#0)inter 1 2  / `long$()
([]a:1 2)inter([]a:2 3)  / a\n-\n2
inter[1;2;3]  / 'rank
inter[1 2;2;3;4]  / 'rank
1 2 3 union 2 5  / 1 2 3 5
1 1 union 2 2  / 1 2
"abc"union"cd"  / "abcd"
0n 1 union 0n  / 0n 1
(0#0)union 0#0  / `long$()
([]a:1 2)union([]a:2 3)  / a\n-\n1\n2\n3
union[1;2;3]  / 'rank
union[1 2;2;3;4]  / 'rank
1 2. except 2  / ,1f
1 2. inter 1#2  / ,2f
(enlist 3f)except 1  / ,3f
1 2. except 2 3  / 'type
/ a zero byte at the end of a string is part of it
zb:70#("ab";"ab","c"$0x00;"bb");count each(distinct zb;group zb;asc distinct zb)  / 3 3 3
(zb~zb iasc zb;asc[zb]~asc{x}each zb;last distinct asc zb)  / 0b\n1b\n"bb"
/ all nulls of floats are one, whatever their sign
count distinct{x}each(enlist 0n;enlist log -1;enlist neg log -1)  / 1
group -1 1 1 -1 1  / -1| 0 3\n1 | 1 2 4
group 3 1 1 3 1 2  / 3| 0 3\n1| 1 2 4\n2| ,5
group 0N 1 0N  /  | 0 2\n1| ,1
group 2 2 2  / 2| 0 1 2
group 1 4 1 4i  / 1| 0 2\n4| 1 3
group "abab"  / a| 0 2\nb| 1 3
group 1 2 1 2f  / 1| 0 2\n2| 1 3

/ characters and bytes among some
"hopping"in"aeiou"  / 0100100b
"hopping"in""  / 0000000b
(""in"abc";"\000\377a"in"\377b")  / `boolean$()\n010b
0x00ff10 in 0xff10ff  / 011b
