/ system commands that give values
system"P"  / 7i
system"c 20 90";system"c"  / 20 90i
system"c 1 3000";system"c"  / 10 2000i
system"C"  / 36 2000i
system"z"  / 0i
system"W"  / 2i
system"o"  / 0Ni
system"e"  / 0i
system"E"  / 0i
system"t"  / 0i
system"T"  / 0i
system"g"  / 0i
system"p"  / 0i
system"s"  / 0i
type system"s 0N"  / -6h
system"P 3";string 1%3  / "0.333"
system"P 18"  / 'domain
system"P x"  / 'type
system"z 2"  / 'domain
system"W 7"  / 'domain
count system"w"  / 6
count system"w 0"  / 2
system"w 3"  / '-w init via cmd line
type system"t 1+1"  / -7h
type system"ts:10 1+1"  / 7h
system"S"  / -314159i
system"S 42";a:3?100;system"S 42";a~3?100  / 1b
x:system"S 0N";r:10?10;system"S ",string x;r~10?10  / 1b
.m1.a:1;.m1.f:{x};.m1.t:([]c:1 2);system"v .m1"  / `a`t
system"f .m1"  / ,`f
system"a .m1"  / ,`t
system"a .nosuch"  / '.nosuch
.nn.vv:([]uu:1 2);system"a .nn"  / ,`vv
{x where x like"ht??"}system"f .h"  / `htac`html`http
{x where x like"????"}system"v .h"  / `HOME`logo
system"d"  / `.
system"d .o";a:1;system"d .";.o.a  / 1
system"d 5"  / 'nyi
c:system"cd";system"cd /tmp";r:system"cd";system"cd ",c;r  / "/tmp"
system"cd /nosuchfolder"  / '/nosuchfolder. OS reports: No such file or directory
system"echo ab"  / "ab"
system"exit 3"  / 'os
system"_"  / 0b
system"l /nosuch.q"  / '/nosuch.q. OS reports: No such file or directory
`:/tmp/kshell_t/s.q 0:("a:1;f:{";" x+2*y";" }");system"_ /tmp/kshell_t/s.q";system"l /tmp/kshell_t/s.q_";(f[10;1];string f)  / 12\n"locked"
.z.pg:{x};system"x .z.pg";`pg in key`.z  / 0b
system"x abc"  / 'type
system"p 0W";0<system"p"  / 1b
exit 0  / exit 0
exit 3  / exit 3
exit 3i  / exit 3
exit 1+1  / exit 2
{exit x}4  / exit 4
@[exit;5;{x}]  / exit 5
exit`a  / 'type
exit"a"  / 'type
.Q.def[`a`b!(1;0b)].Q.opt("-b";enlist"1";"-other";"xy")  / a    | 1\nb    | 1b\nother| ,"xy"
system"P 7";system"P"  / 7i
system"E 3"  / '\E: expected 0, 1 or 2, given 3
system"E 0"  /
system"r"  / 'replication is not supported
system"nosuchcommand_x 2>/dev/null"  / 'os
system"s 2";a:system"s";system"s 0";a,system"s"  / 2 0i
system"t 500";a:system"t";system"t 0";a,system"t"  / 500 0i
/ callbacks
.z.vs:{vz,:enlist(x;y)};vz:();m:(1 2;3 4);m[1;1]:0;m[0]:5 6;vz  / `vz ()\n`m  ()\n`m  1 1\n`m  ,0
vz:();{g1::x;g1[0]:7;h1,:1;x+:1;l:2}1 2;`k1 set 3;.n1.a:1;d1.p:1;vz  / `vz ()\n`g1 ()\n`g1 ,0\n`h1 ()\n`k1 ()\n`d1 ()
system"x .z.vs";vz:();m:1;vz  / ()
.z.vs:{[x;y]'"no"};g1:2  / 'no
system"x .z.vs";g1:3;g1  / 3
.z.ps:{(`ps;value x)};.z.pg:{(`pg;value x)};0"2+2"  / `ps\n4
system"x .z.ps";0"2+2"  / `pg\n4
system"x .z.pg";0"2+2"  / 4
/ no changes in reval
a2:1;reval({a2::x};2)  / 'noupdate: `. `a2
reval({.n1.a:x};2)  / 'noupdate: `.n1 `a
reval({a2[0]:x};2)  / 'noupdate: `. `a2
reval({a2,:x};2)  / 'noupdate: `. `a2
reval(set;enlist`a2;2)  / 'noupdate: `. `a2
reval({delete a2 from x};enlist`.)  / 'noupdate: `. `a2
(a2;.z.r;reval({.z.r};0);reval({b2:x;b2};3))  / 1\n0b\n1b\n3
{a2::x}5;a2  / 5
t0:.z.p;system"sleep 3 >/dev/null &";0D00:00:02>.z.p-t0  / 1b
t0:.z.p;system"sleep 3&";0D00:00:02>.z.p-t0  / 1b
system"printf 'a\n\nb'"  / ,"a"\n""\n,"b"

/ after a blank, a slash begins a comment where the arguments are no paths
system"P 3 / digits";system"P"  / 3i
system"P 7 / all";system"P"  / 7i
system"d .cmtd / here";dd:system"d";system"d .";.cmtd.dd  / `.cmtd
system"P / digits"  / 7i
/ only a line's end ends a line of a command's output
system"printf 'a\\fb\\r\\n\\nc'"  / "a\014b"\n""\n,"c"

/ reval stops what writes, runs or opens
reval({system"P 3"};0)  / 'access: \P
reval({system"ls"};0)  / 'access: \ls
reval({exit 0};0)  / 'access: exit
reval({`:nofile_r set x};0)  / 'noupdate: set
reval({hopen`:nofile_r};0)  / 'access: nofile_r
reval({read0`:/etc/passwd};0)  / 'access: /etc/passwd
reval({setenv[`KSHELL_R;"x"]};0)  / 'noupdate: setenv
reval({@[hdel;`:nofile_r;{x}]};0)  / "noupdate: hdel"
reval({hdel each x};enlist enlist`:nofile_r)  / 'noupdate: hdel
reval({(system"P";system"w")0};0)  / 7i
reval({.z.ts:{x}};0)  / 'noupdate: `.z `ts
reval({value"\\cd .."};0)  / 'access: \cd
reval(value;"1+1")  / 2
reval(reval;(+;1;2))  / 3
wr:tensor 1 2e;reval({zeros wr};0)  / 'noupdate: zero_ would write a tensor that was there before
reval({wr+1};0);tensor wr  / 1 2e
