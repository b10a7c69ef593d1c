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
