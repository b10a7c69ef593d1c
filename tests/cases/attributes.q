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
