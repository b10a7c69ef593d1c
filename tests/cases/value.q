value "2+3"  / 5
value `a`b!1 2  / 1 2
a:42; value `a  / 42
get `a  / 42
value (+;1;2)  / 3
value ("{x+y}";1;2)  / 3
f:{x*y}; value (`f;3;4)  / 12
value `nosuchname  / 'nosuchname
x:`a`b; value `x$`a`b`a  / `a`b`a
value 1 2 3  / 'type
-3!value +[2]  / "(+;2)"
f:+/; value f  / +
last value {x+1}  / "{x+1}"
(value {[a;b]c:a+b;c*d}) 1  / `a`b
(value {[a;b]c:a+b;c*d}) 2  / ,`c
`b set 1 2 3  / `b
b  / 1 2 3
.ns.q:1; `.ns.r set 5; .ns.r  / 5
1 set 2  / 'type
value ("+";2;3)  / 5
value "2+",string 3  / 5
value each(::;+;-;*;%;get;value;neg;in;cor)  / 0 1 2 3 4 19 19 2 23 36
value deltas  / -
value differ  / ~:\n~':
value(<=)  / ~:\n>
type each(neg;sum;+;in;raze;sums;deltas;differ;each;{x})  / 101 101 102 102 107 108 109 105 100 100h
-3!-9!-8!(sums;deltas;neg;in;get)  / "(+\\;-':;-:;in;.:)"
15#key`.q  / ``neg`not`null`string`reciprocal`floor`ceiling`signum`mod`xbar`xlog`and`or`each
/ the parts of a lambda
f1:{[a;b]d::neg c:a*b+5;c+e};1_value f1  / `a`b\n,`c\n``d`e\n5\n`long$()\n"..f1"\n""\n-1\n"{[a;b]d::neg c:a*b+5;c+e}"
type each 5#value f1  / 4 11 11 11 -7h
f2:{if[x>0;r::"abc"];g[`s;{y+z}]};1_value f2  / ,`x\n`symbol$()\n``r`g\n0\n"abc"\n{y+z}\n`s\n`long$()\n"..f2"\n""\n-1\n"{if[x>0;r::\"abc\"];g[`s;{y+z}]}"
-4#value first(value f2)6  / "..f2@"\n""\n-1\n"{y+z}"
1_value{[]1 2}  / ,`\n`symbol$()\n,`\n1 2\n`long$()\n()\n""\n-1\n"{[]1 2}"
system"d .vv";f:{k::x};system"d .";(value .vv.f)3 5  / `vv`k\n".vv.f"
count value{5+5+5.0+5i}  / 12
`:/tmp/kshell_t/v.q 0:("a:1";"vf:{x}");system"l /tmp/kshell_t/v.q";-4#value vf  / "..vf"\n"/tmp/kshell_t/v.q"\n2\n"{x}"
.q?(>:;~:;%:)  / `hclose`not`reciprocal
(get~value;(and)~(&);neg~(-:);(neg)~abs)  / 1110b
.q`ltime  / %:
type each(hdel;hclose;ltime)  / 101 101 101h

/ functions of the library
value til  / `byte$()\n,`x\n`symbol$()\n,`q\n`long$()\n".q.til"\n""\n-1\n"til"
(value .q`xasc)1  / `x`y
all{@[{value x;1b};x;0b]}each value .q _`  / 1b
all{@[{value x;1b};x;0b]}each(.Q.fs;.Q.en;.h.hy;.j.k;.Q.dpft)  / 1b
(value hclose;value hdel)  / 10 15

/ numbers that JSON has no form for
.j.k"[inf,-inf,nan,1]"  / 0w -0w 0n 1
.j.k"{\"inf\":\"nan inf\",\"b\":-inf}"  / inf| "nan inf"\nb  | -0w
.j.k .j.j 0w -0w 0n 1  / 0w -0w 0n 1
.j.k"\"a \\\"inf\\\" nan\""  / "a \"inf\" nan"
value"1+\n1"  / 2
value"1\n2"  / 1 2
value"a:1;\nb:2;\na+b"  / 3
value"/ c\n1 / d\n+2"  / 3
value"/\nblock\n\\\n7"  / 7
(value"{x}\n(::)";value"/ only";value"\n")  / ::\n::\n::
value"1\n\\"  / '\
(parse"1+\n2")~parse"1+2"  / 1b
count value tensor  / 9
2#value aj  / `byte$()\n`x`y`z
