`s#1 2 3  / `s#1 2 3
`s#3 2 1  / 's-fail
`u#1 2 3  / `u#1 2 3
`u#1 1  / 'u-fail
`p#2 2 1 1 3  / `p#2 2 1 1 3
`p#1 2 1  / 'u-fail
`g#1 2 1  / `g#1 2 1
`#`s#1 2 3  / 1 2 3
attr `s#1 2 3  / `s
attr 1 2 3  / `
attr `g#`a`b`a  / `g
attr 5  / `
1 2 3~`s#1 2 3  / 1b
`s#`a`b!1 2  / a| 1\nb| 2
attr `s#`a`b!1 2  / `s
(`s#0 10 20!`a`b`c) 5 10 25  / `a`b`c
meta `s#([]a:1 2;b:3 4)  / c| t f a\n-| -----\na| j   p\nb| j
2,`p#2 2 1  / 2 2 2 1
`s#()  / ()
attr `s#(1 2;1 3)  / `s
attr `u#(1 2;"ab")  / `u
`s#("b";"a")  / 's-fail
a:`s#1 2 3;a,:5;a  / `s#1 2 3 5
a:`s#1 2 3;a,:1;a  / 1 2 3 1
a:`u#1 2 3;a,:4 5;a  / `u#1 2 3 4 5
a:`u#1 2 3;a,:3;a  / 1 2 3 3
a:`p#1 1 2;a,:2;a  / 1 1 2 2
a:`g#1 1 2;a[0]:7;attr a  / `g
a:1 2;`s#a;attr a  / `s
(`s#0 10 20!`a`b`c)5 10 -1 99  / `a`b``c
(`s#([a:0 10]b:1 2))5  / b| 1
(`s#([a:0 10]b:1 2))5 12  / 'length
(`s#([a:0 10]b:1 2))flip enlist 5 12  / b\n-\n1\n2
(`s#([a:`x`x`y;t:0 5 0]b:1 2 3))([]a:`x`x`y`z;t:4 7 1 1)  / b\n-\n1\n2\n3\n
d:`s#1 2!3 4;d[9]:1  / 'step
d:`s#1 2!3 4;d[2]:9;(attr d;value d)  / `s\n3 9
attr[1;2]  / 'rank
attr[1;2;3]  / 'rank
ud:(`u#`a`b)!1 2;ud[`c]:3;ud,:`e`f!5 6;attr key ud  / `u
ud:(`u#`$())!();@[`ud;`a;:;1 2];@[`ud;`b;:;3 4];(attr key ud;ud)  / `u\n(`u#`a`b)!(1 2;3 4)
ud:(`g#`a`b)!1 2;ud[`c]:3;(attr key ud;ud`c)  / `g\n3
ud:(`u#`a`b)!1 2;ud[`a]:3;ud[`a`z]:4 5;(attr key ud;value ud)  / `u\n4 2 5
uk:([`u#a:`x`y]b:1 2);uk[`z]:3;uk,:([a:`x`q]b:7 8);(attr key[uk]`a;exec b from uk)  / `u\n7 2 3 8
ul:`u#`a`b;`ul?`c`a`c;(attr ul;ul)  / `u\n`u#`a`b`c
ul:`g#`a`b;`ul?`c`a;attr ul  / `g
ul:`s#`a`b;`ul?`c`a;attr ul  / `
