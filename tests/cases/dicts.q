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
key 1b  / ,0
key "abc"  / `char
key 0#0  / `long
key each (101b;1 2h;1 2i;1 2e;`a`b)  / `boolean`short`int`real`symbol
a:1 2; key `a  / `a
key `nosuchname  / ()
d:`q`w!1 2; key `d  / `q`w
key `:/nosuchfile  / ()
key `x$`a`b  / `x
kd:([n:7 8 9]v:`a`b`c);`kd$9 8  / `kd$9 8
`kd$9  / `kd$9
`kd$enlist 8  / `kd$,8
value `kd$9 8  / 9 8
.nsp.b:1; key `.nsp  / ``b
key 1.5  / 'type
key{x}  / 'type
([s:`a`b]v:1 2)+([]v:10 20;w:3 4)  / s| v  w\n-| ----\na| 11 3\nb| 22 4
([]v:10 20)-([s:`a`b]v:1 2)  / s| v\n-| --\na| 9\nb| 18
([s:`a`b]v:1 2)-([s:`a`b]w:3 4)  / s| v w\n-| ----\na| 1 -3\nb| 2 -4
([s:`a`b]v:1 0N)^([s:`a`b]w:3 4)  / s| v w\n-| ---\na| 1 3\nb|   4
([s:`a`b]v:1 2)+([]v:1 2 3)  / 'length
`a`b!()  / a|\nb|
d:`a`b!();d[`a],:1;d  / a| ,1\nb| ()
cols flip`x`y!()  / `x`y
`a`b!0#0  / 'length
`a`b!enlist 1  / 'length
k:(0 0;0 1;1 2)!1 2 3;k 0 1  / 2
k(0 1;5 5)  / 2 0N
k((0 1;5 5);(0 0;1 2))  / 2\n1 3
{k[x]:y}[5 5;7];k 5 5  / 7
g:enlist[0N 0N]!enlist 0;{g[x,x mod 7]:x}each til 40;g(39 4;38 3;50 50)  / 39 38 0N
{g[x]+:1}each 3#enlist 39 4;(g 39 4;count g)  / 42 41
d:`a`b!1 2;delete from`d  / `d
(count d;type key d)  / 0\n11h
r:()!();r[enlist 010b]:enlist 1 2;r[enlist 01b]:enlist 3 4;r  / 010b| 1 2\n01b | 3 4
.gone.x:1;.gone.y:2;delete from`.gone;key`.gone  / ,`
.bare:`a`b!(1 2;3);key .bare  / `a`b
.bare.c:5;.bare  / a| 1 2\nb| 3\nc| 5
ec:()!();ec[`a]+:2;ec[`b]+:1;ec[`a]+:1;ec  / a| 3\nb| 1
ec:()!();ec[`a]-:2;ec  / a| -2
ec:()!();ec[`a],:2;ec`a  / ,2
ec:([]s:();p:())!();ec[`s`p!(`a;1.5)]+:3;ec  / s p  |\n-----| -\na 1.5| 3
{v:`X`i!(1 2 3f;0);v[`a`b]:(4f;5 6f);v}[]  / X| 1 2 3f\ni| 0\na| 4f\nb| 5 6f
{v:`X`i!(1 2 3f;0);v[`a`b]:7 8;v}[]  / X| 1 2 3f\ni| 0\na| 7\nb| 8
{v:`X`i!("abc";0);v[`a`i`b]:7;v}[]  / X| "abc"\ni| 7\na| 7\nb| 7
@[`X`i!(1 2 3f;0);`a`b;:;(4 5;6)]  / X| 1 2 3f\ni| 0\na| 4 5\nb| 6
{v:`X`i!(1 2 3f;0);v,:`i`a`b!7 8 9;v}[]  / X| 1 2 3f\ni| 7\na| 8\nb| 9
{v:`X`i!(1 2;3 4);v[`a`b]:(5 6;7 8);v}[]  / X| 1 2\ni| 3 4\na| 5 6\nb| 7 8
{v:`X`i!1 2;v[`a`b]:3 4f;v}[]  / 'type
(1 2!2 3)+1 2!4 5  / 1| 6\n2| 8
(1 2!2 3)+2 1!4 5  / 1| 7\n2| 7
(1 1!2 3)+1 1!4 5  / 1| 7\n1| 3
(0n 1!2 3)+0n 1!4 5  /  | 6\n1| 8
(01b!(1 2;3 4))*01b!5 6  / 0| 5  10\n1| 18 24
(`a`b!1 2)+`a`b!(`c`d!3 4;5)  / a| `c`d!4 5\nb| 7
(`a`b!(1 2;3 4)){x,y}'`a`b!5 6  / a| 1 2 5\nb| 3 4 6
(`a`b!(1 2;3 4)){x,y}'`b`a!5 6  / a| 1 2 6\nb| 3 4 5
(1 1!2 3)+'1 1!4 5  / 1| 6\n1| 6
