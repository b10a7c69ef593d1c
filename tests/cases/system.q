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
system"p 5000"  / 'listening on a port is not supported
