/ data files: set get save load, splayed tables, amend and append in place
a:`:/tmp/kshell_t/v set 1 2 3;(a;get a)  / `:/tmp/kshell_t/v\n1 2 3
{x~get`:/tmp/kshell_t/v set x}each(1b;0x01;2h;3i;4;5e;6f;"c";`s;0Ng;2020.01m;2020.01.01;.z.p;01:02;01:02:03;01:02:03.004;0D01)  / 11111111111111111b
{x~get`:/tmp/kshell_t/v set x}each("abc";`a`b;("ab";"cd";"e");(1 2;3 4);(1;`a;"x");();([]a:1 2;b:`x`y);([k:1 2]v:3 4);`a`b!1 2;{x+y};+;sum)  / 111111111111b
{x~get`:/tmp/kshell_t/v set x}each(300#/:1 2 3;(300#"a";"bc");2 3 4#til 24;`s#1 2 3;1000 100#"abc")  / 11111b
attr get`:/tmp/kshell_t/v set`s#1 2 3  / `s
get`:/tmp/kshell_t/none  / '/tmp/kshell_t/none. OS reports: No such file or directory
`:/tmp/kshell_t/t.q 0:enlist"x:1";get`:/tmp/kshell_t/t.q  / '/tmp/kshell_t/t.q: type
`:/tmp/kshell_t/short set til 100;`:/tmp/kshell_t/short 1: 30#read1`:/tmp/kshell_t/short;get`:/tmp/kshell_t/short  / '/tmp/kshell_t/short: corrupt
`:/tmp/kshell_t/noise 1:0xab0102030405060708;get`:/tmp/kshell_t/noise  / '/tmp/kshell_t/noise: type
`:/tmp/kshell_t/noise upsert 1  / '/tmp/kshell_t/noise: type
read1`:/tmp/kshell_t/noise  / 0xab0102030405060708
(`:/tmp/kshell_t/z;17;2;6)set til 100000;get[`:/tmp/kshell_t/z]~til 100000  / 1b
(`:/tmp/kshell_t/z;17;2;6)set til 100000;(-21!`:/tmp/kshell_t/z)`uncompressedLength  / 800016
(`:/tmp/kshell_t/z;3;2;6)set 1 2  / 'domain
(`:/tmp/kshell_t/z;1)set 1 2  / 'type
`:/tmp/kshell_t/v set 1 2 3;.[`:/tmp/kshell_t/v;();,;4 5];get`:/tmp/kshell_t/v  / 1 2 3 4 5
`:/tmp/kshell_t/v set`s#1 2 3;.[`:/tmp/kshell_t/v;();,;9 10];attr get`:/tmp/kshell_t/v  / `s
.[`:/tmp/kshell_t/v;();,;`a]  / 'type
.[`:/tmp/kshell_t/v;();,;1.5 2]  / 'type
.[`:/tmp/kshell_t/v;();,;(1;`a)]  / 'type
.[`:/tmp/kshell_t/v;();,;()];get`:/tmp/kshell_t/v  / `s#1 2 3 9 10
`:/tmp/kshell_t/v set(1;`a);.[`:/tmp/kshell_t/v;();,;2.5];get`:/tmp/kshell_t/v  / 1\n`a\n2.5
`:/tmp/kshell_t/v set`s#1 2 3;.[`:/tmp/kshell_t/v;();,;0 10];get`:/tmp/kshell_t/v  / 1 2 3 0 10
`:/tmp/kshell_t/v set 1 2 3;@[`:/tmp/kshell_t/v;1;:;20];get`:/tmp/kshell_t/v  / 1 20 3
`:/tmp/kshell_t/v set`s#1 2 3;@[`:/tmp/kshell_t/v;1;:;20]  / 'type/attr error amending file /tmp/kshell_t/v
`:/tmp/kshell_t/v set(1 2;3 4);@[`:/tmp/kshell_t/v;1;:;20]  / 'type/attr error amending file /tmp/kshell_t/v
kshells:`a`b;`:/tmp/kshell_t/v set`kshells$`b`a;@[`:/tmp/kshell_t/v;0 1;:;`kshells$`a`b]  / 'type/attr error amending file /tmp/kshell_t/v
get`:/tmp/kshell_t/v  / `kshells$`b`a
`:/tmp/kshell_t/v set 1 2 3;.[`:/tmp/kshell_t/v;();:;`a`b];get`:/tmp/kshell_t/v  / `a`b
`:/tmp/kshell_t/s/ set([]a:1 2;b:("x";"yz"));get`:/tmp/kshell_t/s  / a b\n------\n1 "x"\n2 "yz"
`:/tmp/kshell_t/s/ set([]a:1 2;b:("xx";"yz"));select from`:/tmp/kshell_t/s where a=2  / a b\n------\n2 "yz"
`:/tmp/kshell_t/s/ set([]a:1 2);`:/tmp/kshell_t/s upsert enlist 3;exec a from`:/tmp/kshell_t/s  / 1 2 3
`:/tmp/kshell_t/s/ set([]a:1 2);`:/tmp/kshell_t/s/ upsert([]a:3 4);exec a from`:/tmp/kshell_t/s  / 1 2 3 4
`:/tmp/kshell_t/s/ set([]a:1 2);@[`:/tmp/kshell_t/s;`a;:;5 6];get`:/tmp/kshell_t/s/a  / 5 6
`:/tmp/kshell_t/s/ set([]a:2 1);`a xasc`:/tmp/kshell_t/s;get`:/tmp/kshell_t/s/a  / `s#1 2
@[`:/tmp/kshell_t/new;`a`b;:;(1 2;1 2)];@[`:/tmp/kshell_t/new;`a;,;3];@[`:/tmp/kshell_t/new;`b;,;3];@[`:/tmp/kshell_t/new;`.d;:;`a`b];get`:/tmp/kshell_t/new  / a b\n---\n1 1\n2 2\n3 3
@[`:/tmp/kshell_t/new;`a;:;`a`b`c]  / 'type
@[`:/tmp/kshell_t/new;`nosuch;+;1]  / '/tmp/kshell_t/new/nosuch. OS reports: No such file or directory
.[`:/tmp/kshell_t/nosuch;();+;1]  / '/tmp/kshell_t/nosuch. OS reports: No such file or directory
`:/tmp/kshell_t/s/ set([]s:`a`b)  / 'type
`:/tmp/kshell_t/s/ set([k:1 2]v:3 4)  / 'type
`:/tmp/kshell_t/s/ set 1 2  / 'type
`:/tmp/kshell_t/s/ set([]a:1 2);t:get`:/tmp/kshell_t/s;update b:1 from t  / a b\n---\n1 1\n2 1
delete from t where a=1  / a\n-\n2
update a:0 from`:/tmp/kshell_t/s where a=1  / a\n-\n0\n2
get`:/tmp/kshell_t/s  / a\n-\n1\n2
update b:1 from`t  / 'splay
delete from`:/tmp/kshell_t/s where a=1  / a\n-\n2
delete a from`:/tmp/kshell_t/s  / 'splay
delete a from get`:/tmp/kshell_t/s  / 'splay
![`:/tmp/kshell_t/s;();0b;1#`a]  / 'splay
![`:/tmp/kshell_t/s/;();0b;(1#`a)!1#7]  / a\n-\n7\n7
`t insert 3  / 'splay
`t upsert enlist 3  / 'splay
t upsert enlist 3  / a\n-\n1\n2\n3
(.Q.qp t;get`:/tmp/kshell_t/s/a)  / 0b\n1 2
(`:/tmp/kshell_t/s)`a  / 1 2
.[`:/tmp/kshell_t/s;(`a;1)]  / 2
`:/tmp/kshell_t/nosuch `a  / '/tmp/kshell_t/nosuch. OS reports: No such file or directory
select[1;>a]from t  / a\n-\n2
/ a table in one file is changed there
`:/tmp/kshell_t/ft set([]a:1 2;s:`x`y);update a:a*2 from`:/tmp/kshell_t/ft where s=`y  / `:/tmp/kshell_t/ft
get`:/tmp/kshell_t/ft  / a s\n---\n1 x\n4 y
update a:`z from`:/tmp/kshell_t/ft where s=`y  / 'type
update nope from`:/tmp/kshell_t/ft  / 'nope
delete from`:/tmp/kshell_t/ft where a=1  / `:/tmp/kshell_t/ft
![`:/tmp/kshell_t/ft;();0b;(1#`b)!1#5];get`:/tmp/kshell_t/ft  / a s b\n-----\n4 y 5
delete b,s from`:/tmp/kshell_t/ft;get`:/tmp/kshell_t/ft  / a\n-\n4
1!`:/tmp/kshell_t/ft  / 'length
update b:6 from`:/tmp/kshell_t/ft;1!`:/tmp/kshell_t/ft;get`:/tmp/kshell_t/ft  / a| b\n-| -\n4| 6
0!`:/tmp/kshell_t/ft;get`:/tmp/kshell_t/ft  / a b\n---\n4 6
update a:1 from`:/tmp/kshell_t/nosuch  / '/tmp/kshell_t/nosuch. OS reports: No such file or directory
`:/tmp/kshell_t/fd set`a`b!1 2;update a:5 from`:/tmp/kshell_t/fd;delete b from`:/tmp/kshell_t/fd;get`:/tmp/kshell_t/fd  / a| 5
/ appended to on disk, only the attribute s stays
`:/tmp/kshell_t/ft set([]a:`s#1 2;b:`g#`x`y);`:/tmp/kshell_t/ft upsert(3;`z);exec a from meta`:/tmp/kshell_t/ft  / `s`
`:/tmp/kshell_t/ft upsert(0;`z);exec a from meta`:/tmp/kshell_t/ft  / ``
`:/tmp/kshell_t/ft set([a:`u#1 2]b:3 4);`:/tmp/kshell_t/ft upsert(3;5);key[get`:/tmp/kshell_t/ft]`a  / 1 2 3
`:/tmp/kshell_t/sa/ set([]a:`s#1 2;b:`u#3 4;c:("x";"y"));`:/tmp/kshell_t/sa upsert(3;5;"z");exec a from meta`:/tmp/kshell_t/sa  / `s``
`:/tmp/kshell_t/sa/ set([]a:`s#1 2;b:`p#3 3);.[`:/tmp/kshell_t/sa;();,;([]a:1#3;b:1#5)];exec a from meta`:/tmp/kshell_t/sa  / `s`
`:/tmp/kshell_t/v set`g#`a`b;.[`:/tmp/kshell_t/v;();,;`c];get`:/tmp/kshell_t/v  / `a`b`c
`:/tmp/kshell_t/sa upsert();count get`:/tmp/kshell_t/sa  / 3
`:/tmp/kshell_t/s/ set([]a:1 2);t:get`:/tmp/kshell_t/s;delete a from`t  / 'splay
key`:/tmp/kshell_t/nosuch  / ()
system"mkdir -p /tmp/kshell_t/emptydir";key`:/tmp/kshell_t/emptydir  / `symbol$()
`:/tmp/kshell_t/d/sym set`a`b;`:/tmp/kshell_t/d/sym?`c`a;get`:/tmp/kshell_t/d/sym  / `a`b`c
kshellt:([]a:1 2);save`:/tmp/kshell_t/kshellt.csv;read0`:/tmp/kshell_t/kshellt.csv  / ,"a"\n,"1"\n,"2"
kshellt:([]a:1 2);save`:/tmp/kshell_t/kshellt;kshellt:0;load`:/tmp/kshell_t/kshellt;kshellt  / a\n-\n1\n2
save`:/tmp/kshell_t/nosuchvariable  / 'nosuchvariable
kshellt:([]a:1 2);rsave`:/tmp/kshell_t/kshellu  / 'kshellu
load 1  / 'type
rload`:/tmp/kshell_t/nosuch  / '/tmp/kshell_t/nosuch/.d. OS reports: No such file or directory
kshellt:([]s:`b`b`a;v:1 2 3);`:/tmp/kshell_t/ddb dsave`kshellt;get`:/tmp/kshell_t/ddb/kshellt/s  / `p#`sym$`b`b`a
1 dsave`t  / 'type
kshellt:([]a:1 2);save`:/tmp/kshell_t/kshellt.txt;read0`:/tmp/kshell_t/kshellt.txt  / ,"a"\n,"1"\n,"2"
kshellt:([]a:1 0N;b:`x`);save`:/tmp/kshell_t/kshellt.csv;read0`:/tmp/kshell_t/kshellt.csv  / "a,b"\n"1,x"\n,","
kshellt:1 2 3;save`:/tmp/kshell_t/kshellt;get`:/tmp/kshell_t/kshellt  / 1 2 3
kshellt:`a`b!1 2;save`:/tmp/kshell_t/kshellt;get`:/tmp/kshell_t/kshellt  / a| 1\nb| 2
kshellt:([]a:1 2);save`:/tmp/kshell_t/kshellt.csv`:/tmp/kshell_t/kshellt  / `:/tmp/kshell_t/kshellt.csv`:/tmp/kshell_t/kshellt
save 5  / 'type
kshellt:1 2;save`:/tmp/kshell_t/kshellt.csv  / 'type
kshellt:1 2;save`:/tmp/kshell_t/kshellt;kshellt:0;load`:/tmp/kshell_t/kshellt  / `kshellt
kshellt  / 1 2
`:/tmp/kshell_t/ksp/ set([]a:1 2;b:3 4);load`:/tmp/kshell_t/ksp;ksp`b  / 3 4
kshella:1;kshellb:2;save`:/tmp/kshell_t/kshella`:/tmp/kshell_t/kshellb;kshella:kshellb:0;load`:/tmp/kshell_t/kshella`:/tmp/kshell_t/kshellb  / `kshella`kshellb
kshella,kshellb  / 1 2
load`:/tmp/kshell_t/nosuch  / '/tmp/kshell_t/nosuch. OS reports: No such file or directory
load 1.5  / 'type
kshellu:([]a:1 2;b:3 4);rsave`:/tmp/kshell_t/kshellu  / `:/tmp/kshell_t/kshellu/
get`:/tmp/kshell_t/kshellu/.d  / `a`b
get`:/tmp/kshell_t/kshellu/b  / 3 4
kshellu:0;rload`:/tmp/kshell_t/kshellu  / `kshellu
kshellu`b  / 3 4
kshellu:([]a:0#0);rsave`:/tmp/kshell_t/kshellu;kshellu:0;rload`:/tmp/kshell_t/kshellu;count kshellu  / 0
kshellu:([]a:`x`y);rsave`:/tmp/kshell_t/kshellu  / 'type
kshellu:([k:1 2]a:3 4);rsave`:/tmp/kshell_t/kshellu  / 'type
kshellu:5;rsave`:/tmp/kshell_t/kshellu  / 'type
rsave 5  / 'type
kshellu:([]a:1 2;b:("x";"yz"));rsave`:/tmp/kshell_t/kshellu;kshellu:0;rload`:/tmp/kshell_t/kshellu;kshellu`b  / "x"\n"yz"
rload 5  / 'type
rload`:/tmp/kshell_t/v  / '/tmp/kshell_t/v/.d. OS reports: Not a directory
value rload`:/tmp/kshell_t/kshellu  / a b\n------\n1 "x"\n2 "yz"
kshellt:([]s:`b`a`b;v:1 2 3);`:/tmp/kshell_t/ddb2 dsave`kshellt  / 'u-fail
kshellt:([]s:`b`b`a;v:1 2 3);`:/tmp/kshell_t/ddb2`p1 dsave`kshellt;get`:/tmp/kshell_t/ddb2/p1/kshellt/v  / 1 2 3
get`:/tmp/kshell_t/ddb2/sym  / `b`a
`:/tmp/kshell_t/ddb2 dsave`nosuchtable  / 'nosuchtable
kshellt:5;`:/tmp/kshell_t/ddb2 dsave`kshellt  / 'type
kshellt:`s#1 2;save`:/tmp/kshell_t/kshellt;kshellt:0;attr value load`:/tmp/kshell_t/kshellt  / `s
rload`:/tmp/kshell_t/kshellu;cols kshellu  / `a`b
kshellt:([]s:`a`a;v:1 2);kshellw:([]s:`b`c;v:3 4);`:/tmp/kshell_t/ddb3 dsave`kshellt`kshellw  / `kshellt`kshellw
(get`:/tmp/kshell_t/ddb3/sym;get`:/tmp/kshell_t/ddb3/kshellw/s)  / `a`b`c\n`p#`sym$`b`c
`:/tmp/kshell_t/ddb3 dsave 5  / 'type
(`:/tmp/kshell_t/za;17;2;6)set til 50000;`:/tmp/kshell_t/za upsert 1 2;(-21!`:/tmp/kshell_t/za)`algorithm`zipLevel  / 2 6i
get[`:/tmp/kshell_t/za]~til[50000],1 2  / 1b
@[`:/tmp/kshell_t/za;0;:;7];(-21!`:/tmp/kshell_t/za)`algorithm  / 2i
(`:/tmp/kshell_t/zs/;17;2;6)set([]a:til 9000);`:/tmp/kshell_t/zs/ upsert([]a:1 2);(-21!`:/tmp/kshell_t/zs/a)`algorithm  / 2i
count get`:/tmp/kshell_t/zs/  / 9002
`:/tmp/kshell_t/za set til 5;count -21!`:/tmp/kshell_t/za  / 0
lk:([]id:3 4 5);`:/tmp/kshell_t/lk set`lk!2 0;get`:/tmp/kshell_t/lk  / `lk!2 0
system"mkdir -p /tmp/kshell_t/adir;touch /tmp/kshell_t/adir/b";key`:/tmp/kshell_t/adir  / ,`b
/ exec of a dictionary from a partitioned table
system"mkdir -p /tmp/kshell_t";pq:([]s:`a`b;v:1 2);.Q.dpft[`:/tmp/kshell_t/pdb;2024.01.01;`s;`pq];pq:([]s:`b`c;v:3 4);.Q.dpft[`:/tmp/kshell_t/pdb;2024.01.02;`s;`pq]  / `pq
wd:system"cd";system"l /tmp/kshell_t/pdb"  /
exec s!v from pq  / a| 1\nb| 3\nc| 4
exec s!v from pq where date=2024.01.01  / a| 1\nb| 2
exec s,n:v from pq  / s| a b b c\nn| 1 2 3 4
exec {5}v from pq  / 5 5
exec s!nope from pq  / 'nope
/ the last row; rows by number
exec from pq  / date| 2024.01.02\ns   | `sym$`c\nv   | 4
exec from pq where v<3  / date| 2024.01.01\ns   | `sym$`b\nv   | 2
exec v from enlist exec from pq where v>9  / ,0N
exec date from enlist exec from pq where date=2000.01.01  / ,0Nd
.Q.ind[pq;()]  / date s v\n--------
.Q.ind[pq;3 0]`v  / 4 1
.Q.ind[pq;4]  / 'index
/ what a partitioned table refuses, and that it stays one
`pq insert(2024.01.01;`a;1)  / 'par
`pq upsert(2024.01.01;`a;1)  / 'par
`v xasc`pq  / 'par
`s xkey`pq  / 'par
1!`pq  / 'par
update v:1 from`pq  / 'par
delete v from pq  / 'par
![pq;();0b;(1#`v)!1#1]  / 'par
select[1]from pq  / 'nyi
select[1 1;>v]s from pq  / 'nyi
?[pq;();0b;();1]  / 'nyi
?[pq;();0b;();1;(>:;`v)]  / 'nyi
(.Q.qp pq;.Q.cn pq)  / 1b\n2 2
system"cd ",wd  /

/ columns of a splayed table by their names, an item each
@[`:/tmp/kshell_t/cols;`.d`a`b;:;(`a`b;1 2;3 4f)]  / `:/tmp/kshell_t/cols
get`:/tmp/kshell_t/cols/  / a b\n---\n1 3\n2 4
@[`:/tmp/kshell_t/cols;`a`b;+;10 20];get`:/tmp/kshell_t/cols/  / a  b\n-----\n11 23\n12 24
@[`:/tmp/kshell_t/cols;`a;:;5 6];get`:/tmp/kshell_t/cols/a  / 5 6
@[`:/tmp/kshell_t/cols;`a`b;:;1 2 3]  / 'length
system"rm -rf /tmp/kshell_ta";@[`:/tmp/kshell_ta;`sym;:;`a`b];get`:/tmp/kshell_ta/sym  / `a`b
.[`:/tmp/kshell_ta;(`2000.10.02;`t;`);:;([]a:1 2;b:3 4)];key`:/tmp/kshell_ta/2000.10.02/t  / `.d`a`b
get`:/tmp/kshell_ta/2000.10.02/t,`.d  / `a`b
(`:/tmp/kshell_ta;`2000.10.02;`t;`b)  / `:/tmp/kshell_ta`2000.10.02`t`b
get`:/tmp/kshell_ta`2000.10.02`t`b  / 3 4
(`:/tmp/kshell_ta/2000.10.02/t)`.d  / `a`b
(`:/tmp/kshell_ta)`sym  / `a`b
(`:/tmp/kshell_ta)`none  / '/tmp/kshell_ta/none. OS reports: No such file or directory
@[`:/tmp/kshell_ta/2000.10.02/t;`.d;,;`c];.[`:/tmp/kshell_ta/2000.10.02/t/c;();:;5 6];get`:/tmp/kshell_ta/2000.10.02/t  / a b c\n-----\n1 3 5\n2 4 6
.[`:/tmp/kshell_ta;(`2000.10.02;`t;`a;0);:;9];get`:/tmp/kshell_ta/2000.10.02/t/a  / 9 2
@[`:/tmp/kshell_ta/2000.10.02/u;`;:;([]v:1 2)];get`:/tmp/kshell_ta/2000.10.02/u  / v\n-\n1\n2
@[`:/tmp/kshell_ta;`n;+;1]  / '/tmp/kshell_ta/n. OS reports: No such file or directory
system"rm -r /tmp/kshell_ta"  /
`:/tmp/kshell_z/t/ set .Q.en[`:/tmp/kshell_z]([]s:`a`b);-19!(`:/tmp/kshell_z/sym;`:/tmp/kshell_z/sym;17;2;6)  / `:/tmp/kshell_z/sym
.Q.en[`:/tmp/kshell_z]([]s:`b`c)  / 'no append to zipped enums: /tmp/kshell_z/sym
sym  / `a`b
`:/tmp/kshell_z/sym?`a`d  / 'no append to zipped enums: /tmp/kshell_z/sym
`:/tmp/kshell_z/sym?`b`a  / `sym$`b`a
/ the name of a column is no path
`:/tmp/kshell_z/own/ set([]a:1 2);cols flip(enlist`a)!`:/tmp/kshell_z/own/  / ,`a
flip(enlist`$"x/y")!`:/tmp/kshell_z/own/  / 'type
flip(`a;`$"../own/a")!`:/tmp/kshell_z/own/  / 'type
system"rm -r /tmp/kshell_z"  /
