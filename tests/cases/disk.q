/ data files: set get save load, splayed tables, amend and append in place
a:`:/tmp/kshell_t/v set 1 2 3;(a;get a)  / `:/tmp/kshell_t/v\n1 2 3
{x~get`:/tmp/kshell_t/v set x}each(1b;0x01;2h;3i;4;5e;6f;"c";`s;0Ng;2020.01m;2020.01.01;.z.p;01:02;01:02:03;01:02:03.004;0D01)  / 11111111111111111b
{x~get`:/tmp/kshell_t/v set x}each("abc";`a`b;("ab";"cd";"e");(1 2;3 4);(1;`a;"x");();([]a:1 2;b:`x`y);([k:1 2]v:3 4);`a`b!1 2;{x+y};+;sum)  / 111111111111b
{x~get`:/tmp/kshell_t/v set x}each(300#/:1 2 3;(300#"a";"bc");2 3 4#til 24;`s#1 2 3;1000 100#"abc")  / 11111b
attr get`:/tmp/kshell_t/v set`s#1 2 3  / `s
get`:/tmp/kshell_t/none  / '/tmp/kshell_t/none. OS reports: No such file or directory
`:/tmp/kshell_t/t.q 0:enlist"x:1";get`:/tmp/kshell_t/t.q  / 'type
(`:/tmp/kshell_t/z;17;2;6)set til 100000;get[`:/tmp/kshell_t/z]~til 100000  / 1b
(`:/tmp/kshell_t/z;17;2;6)set til 100000;(-21!`:/tmp/kshell_t/z)`uncompressedLength  / 800016
(`:/tmp/kshell_t/z;3;2;6)set 1 2  / 'domain
(`:/tmp/kshell_t/z;1)set 1 2  / 'type
`:/tmp/kshell_t/v set 1 2 3;.[`:/tmp/kshell_t/v;();,;4 5];get`:/tmp/kshell_t/v  / 1 2 3 4 5
`:/tmp/kshell_t/v set`s#1 2 3;.[`:/tmp/kshell_t/v;();,;9 10];attr get`:/tmp/kshell_t/v  / `s
`:/tmp/kshell_t/v set`s#1 2 3;.[`:/tmp/kshell_t/v;();,;0 10];get`:/tmp/kshell_t/v  / 1 2 3 0 10
`:/tmp/kshell_t/v set 1 2 3;@[`:/tmp/kshell_t/v;1;:;20];get`:/tmp/kshell_t/v  / 1 20 3
`:/tmp/kshell_t/v set 1 2 3;.[`:/tmp/kshell_t/v;();:;`a`b];get`:/tmp/kshell_t/v  / `a`b
`:/tmp/kshell_t/s/ set([]a:1 2;b:("x";"yz"));get`:/tmp/kshell_t/s  / a b\n------\n1 "x"\n2 "yz"
`:/tmp/kshell_t/s/ set([]a:1 2;b:("xx";"yz"));select from`:/tmp/kshell_t/s where a=2  / a b\n------\n2 "yz"
`:/tmp/kshell_t/s/ set([]a:1 2);`:/tmp/kshell_t/s upsert enlist 3;exec a from`:/tmp/kshell_t/s  / 1 2 3
`:/tmp/kshell_t/s/ set([]a:1 2);`:/tmp/kshell_t/s/ upsert([]a:3 4);exec a from`:/tmp/kshell_t/s  / 1 2 3 4
`:/tmp/kshell_t/s/ set([]a:1 2);@[`:/tmp/kshell_t/s;`a;:;5 6];get`:/tmp/kshell_t/s/a  / 5 6
`:/tmp/kshell_t/s/ set([]a:2 1);`a xasc`:/tmp/kshell_t/s;get`:/tmp/kshell_t/s/a  / `s#1 2
`:/tmp/kshell_t/s/ set([]s:`a`b)  / 'type
`:/tmp/kshell_t/s/ set([k:1 2]v:3 4)  / 'type
`:/tmp/kshell_t/s/ set 1 2  / 'type
`:/tmp/kshell_t/s/ set([]a:1 2);t:get`:/tmp/kshell_t/s;update b:1 from t  / 'splay
`:/tmp/kshell_t/s/ set([]a:1 2);t:get`:/tmp/kshell_t/s;delete a from`t  / 'splay
key`:/tmp/kshell_t/nosuch  / ()
`:/tmp/kshell_t/d/sym set`a`b;`:/tmp/kshell_t/d/sym?`c`a;get`:/tmp/kshell_t/d/sym  / `a`b`c
kshellt:([]a:1 2);save`:/tmp/kshell_t/kshellt.csv;read0`:/tmp/kshell_t/kshellt.csv  / ,"a"\n,"1"\n,"2"
kshellt:([]a:1 2);save`:/tmp/kshell_t/kshellt;kshellt:0;load`:/tmp/kshell_t/kshellt;kshellt  / a\n-\n1\n2
save`:/tmp/kshell_t/nosuchvariable  / 'nosuchvariable
kshellt:([]a:1 2);rsave`:/tmp/kshell_t/kshellu  / 'kshellu
load 1  / 'type
rload`:/tmp/kshell_t/nosuch  / '/tmp/kshell_t/nosuch/.d. OS reports: No such file or directory
kshellt:([]s:`b`b`a;v:1 2 3);`:/tmp/kshell_t/ddb dsave`kshellt;get`:/tmp/kshell_t/ddb/kshellt/s  / `p#`sym$`b`b`a
1 dsave`t  / 'type
