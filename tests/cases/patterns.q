(b;c):2 3;b+c  / 5
(b;(c;d)):(1;2 3);b,c,d  / 1 2 3
(b;c):2 3 4  / 'length
(b;c;3):2 3 4  / 'match
(b;;c):1 2 3;b,c  / 1 3
(x;y):(1;2);(x;y):(y;x);x,y  / 2 1
{(a;b):(2;1);(a;b):(b;a);a,b}[]  / 1 2
(1):2  / 'match
(1 2):1 2;`ok  / `ok
("ab";x):("ab";5);x  / 5
h:10;@[value;"(h;2):5 3";::];h  / 10
l:1 2 3;(x;l[1]):5 6;l  / 1 6 3
a:(b;:1+):1 2;a  / 1 3
(a:3+):4;a  / 7
((a;b):`F):3 4f;a+b  / 7f
((a;b):`F):3 4e  / 'type
(:`f):3e  / 'type
(a:`j):5;a  / 5
(1 2!(p;q)):1 2 3!"abc";p,q  / "ab"
(1 2!(p;q)):1 3!"ac"  / 'match
([a:p]):`a`b!5 6;p  / 5
([z:p]):`a`b!5 6  / 'match
([a:;b:p]):([a:1;b:2]);p  / 2
([a:p]):5  / 'type
(k!v):`a`b!1 2;k  / `a`b
(k!):3 4!5 6;k  / 3 4
([]c:e):([]a:1 2;c:5 6);e  / 5 6
([]d:e):([]a:1 2;c:5 6)  / 'match
([k:f]c:e):([k:7 8]c:5 6);f,e  / 7 8 5 6
(flip([a;b])):([]a:1 2;b:3 4);b  / 3 4
(u;v):([]a:1 2;b:3 4);v`b  / 4
{[(a;b);c]a+b+c}[1 2;3]  / 6
{[(a;b):`J;c]a+b+c}[1 2f;3]  / 'type
{[x;]x}[3;4]  / 3
{[x:{$[x<0;'`neg;x]}]2*x}[-1]  / 'neg
:[1f;r:`f;"float";r:`j;"long";"other"]  / "float"
:[1;r:`f;"float";r:`j;"long";"other"]  / "long"
:["";r:`f;"float";r:`j;"long";"other"]  / "other"
{:[x;(a;b):`J;a+b;:`s;`sym;0N]}each(1 2;`a;1 2 3)  / 3\n`sym\n0N
(a;b)+:1  / 'assign
