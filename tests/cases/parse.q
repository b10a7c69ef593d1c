-3!parse"a:b"  / "(:;`a;`b)"
-3!parse"a::b"  / "(::;`a;`b)"
-3!parse"a+:b"  / "(+:;`a;`b)"
-3!parse"count x"  / "(#:;`x)"
-3!parse"6(+)4"  / "(6;(+:;4))"
-3!parse"+/[1 2 3]"  / "((/;+);1 2 3)"
-3!parse"x f/:y"  / "((/:;`f);`x;`y)"
-3!parse"$[a;b;c]"  / "($;`a;`b;`c)"
-3!parse"a[1],:b"  / "(,:;(`a;1);`b)"
eval(:;`aa;5);aa  / 5
eval parse"aa+:3";aa  / 8
eval parse"l:1 2 3";eval parse"l[1]:9";l  / 1 9 3
eval parse"(p;q):5 6";p,q  / 5 6
eval parse"gg::7";gg  / 7
eval parse"{x+y}/[1 2 3]"  / 6
eval parse"$[1b;2;3]"  / 2
eval parse"if[1b;zz:5]";zz  / 5
eval parse"'`err"  / 'err
eval each(parse"1+2";parse"2*3")  / 3 6
eval(,;`nob;`noc)  / 'noc
parse"select b by b from t"  / 'dup names for cols/groups b
t:([]a:1 2;b:`x`y)  /
select b by b from t  / 'dup names for cols/groups b
eval parse"select sum a by b from t where b=`x"  / b| a\n-| -\nx| 1
(value{select from y where a=x,b=z})1  / `x`y
{select from ([]a:0 1) where a=x}[0;1]  / 'rank
select from t where a=$[1b;1;2]  / 'rank
{a::1;a:1}  / 'a
{a:1;a::2;a}[]  / 2
.q.plus:{x+10*y}  /
1 plus 2  / 21
{x plus y}[1;2]  / 21
.q?neg  / `neg
.q.neg 3  / -3
:/[1 2 3]  / 3
reval(+;1;2)  / 3
reval parse"sum 1 2 3"  / 6
reval 5  / 5
rv:1 2 3;reval`rv  / 1 2 3
reval(enlist;1;2)  / 1 2
reval parse"select from([]a:1 2)where a>1"  / a\n-\n2
reval(+;1;enlist`a)  / 'type
reval`nosuchname  / 'nosuchname
reval(first;rv)  / 1
parse"2+2;+2"  / '+
parse"(#)x"  / #:\n`x
value"1.5 2 /note\n 3\n -4"  / 1.5 2 3 -4
value"{1 2\n /more\n 3}[]"  / 1 2 3
value"(1 2;\n 3)"  / 1 2\n3
value"f:{x-\n 1};f 3"  / 2
(-1)_.q.til 4  / 0 1 2
parse"x :': y"  / (':;:)\n`x\n`y
/ table and dictionary literals
-3!parse"([k:1 2]a:3 4)"  / "(!;(+:;(!;,,`k;(enlist;1 2)));(+:;(!;,,`a;(enlist;3 4))))"
eval parse"([k:1 2]a:3 4)"  / k| a\n-| -\n1| 3\n2| 4
-3!parse"([a:1;b:x])"  / "(!;,`a`b;(enlist;1;`x))"
eval parse"([a:1;b:2])"  / a| 1\nb| 2
eval parse"([a:1;b:nope])"  / 'nope
1_-1_til 5  / 1 2 3
pu:til 5;1_-1_pu  / 1 2 3
(pu)_-1  / 0 1 2 3 4
{1_-1_x}each("abc";"[d]")  / ,"b"\n,"d"
pu_:5;pu_-1  / 4
1_-pu  / -1 -2 -3 -4
parse"1_-1_a"  / _\n1\n(_;-1;`a)
/ a keyword between its arguments is no name for a variable either
cor:1  / 'assign
x:1;ema:2  / 'assign
