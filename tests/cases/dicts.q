`a`b!1 2  / a| 1\nb| 2
`a`b!1 2 3  / 'length
1f!2  / 'type
()!()  / 
(`a`b;`c)!1 2  / `a`b| 1\n`c  | 2
count (enlist`a)!enlist 1  / 1
1!([]k:`x`y;v:1 2)  / k| v\n-| -\nx| 1\ny| 2
0!([k:`x`y]v:1 2)  / k v\n---\nx 1\ny 2
2!([]k:`x`y;v:1 2)  / 'length
1!1 2 3  / 'type
([]k:`x`y)!([]v:1 2)  / k| v\n-| -\nx| 1\ny| 2
t:([]k:`x`y;v:1 2);1!`t  / `t
t  / k| v\n-| -\nx| 1\ny| 2
x:`a`b`c`d; `x!1 2 3  / `x$`b`c`d
`x!9  / 'index
-99999!1  / 'nyi
/ key
key `a`b!1 2  / `a`b
key ([k:1 2]v:3 4)  / k\n-\n1\n2
key 3  / 0 1 2
key "abc"  / `char
key 0#0  / `long
key each (101b;1 2h;1 2i;1 2e;`a`b)  / `boolean`short`int`real`symbol
a:1 2; key `a  / `a
key `nosuchname  / ()
d:`q`w!1 2; key `d  / `q`w
key `:/nosuchfile  / ()
key `x$`a`b  / `x
.nsp.b:1; key `.nsp  / ``b
