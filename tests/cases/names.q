/ names of .Q that have to do with files, and with the command line
.Q.opt("-a";"11";"22";"-b";"-c";"xx")  / a| ("11";"22")\nb| ()\nc| ,"xx"
.Q.opt("ff";"-a";"12");.Q.x  / "ff"
.Q.def[`a`b!(1;2.5)].Q.opt("-a";"42")  / a| 42\nb| 2.5
.Q.def[enlist[`p]!enlist 1].Q.opt("-p";"xx")  / p|
.Q.dd[`:dir;`f]  / `:dir/f
.Q.par[`:db;2024.01.02;`t]  / `:db/2024.01.02/t
.Q.par[`:db;2024.01m;`t]  / `:db/2024.01/t
.Q.par[`:db;7;`t]  / `:db/7/t
.Q.par[`:db;"x";`t]  / 'type
t:.Q.en[`:/tmp/kshell_t/en;([]s:`b`a`b;v:1 2 3)];(key t`s;value t`s;sym)  / `sym\n`b`a`b\n`b`a
t:.Q.ens[`:/tmp/kshell_t/en;([]s:`b`a`b);`dom];(key t`s;get`:/tmp/kshell_t/en/dom)  / `dom\n`b`a
sym:`x`y;t:.Q.en[::;([]s:`y`z)];(`int$t`s;sym)  / 1 2i\n`x`y`z
.Q.en[`:/tmp/kshell_t/en;1]  / 'type
kt:([]s:`b`a;v:1 2);.Q.dpft[`:/tmp/kshell_t/db;2024.01.01;`s;`kt];get`:/tmp/kshell_t/db/2024.01.01/kt/v  / 2 1
kt:([]s:`b`a;v:1 2);.Q.dpft[`:/tmp/kshell_t/db;2024.01.01;`s;`kt];attr get`:/tmp/kshell_t/db/2024.01.01/kt/s  / `p
kt:([]s:`b`a;v:1 2);.Q.dpft[`:/tmp/kshell_t/db;2024.01.01;`q;`kt]  / 'q
kt:([]a:til 2;b:2#enlist(til 1;10));.Q.dpft[`:/tmp/kshell_t/db;2024.01.01;`a;`kt]  / 'unmappable
kt:([k:1 2]v:1 2);.Q.dpft[`:/tmp/kshell_t/db;2024.01.01;`k;`kt]  / 'nyi
.Q.qp([]a:1 2)  / 0
.Q.pv  / '.Q.pv
.Q.cn([]a:1 2)  / 2
.Q.ld("f:{";" x}";"f 1")  / 1          3\n"f:{\n x}" "f 1"
`:/tmp/kshell_t/fs.txt 0:("ab";"cd";"e");r:();n:.Q.fs[{r,:x}]`:/tmp/kshell_t/fs.txt;(n;r)  / 8\n("ab";"cd";,"e")
.Q.fsn[{x};`:/tmp/kshell_t/none;10]  / '/tmp/kshell_t/none. OS reports: No such file or directory
.Q.hg`:ftp://x  / 'domain
.h.ka 0i  / "close"
.h.hug["a"]"a/"  / ,"a"\n"%2f"
first .h.ed([]a:1 2)  / "<?xml version=\"1.0\"?><?mso-application progid=\"Excel.Sheet\"?>"
.z.f  / `
type .z.p  / -12h
.qa.b.c:42;key`.qa  / ``b
key`.qa.b  / ``c
`q`Q`h`j`o~5#key`  / 1b
`qa in key`  / 1b
.qa.d  / '.qa.d
.z.zd:17 2 6;.z.zd  / 17 2 6
system"x .z.zd";.z.zd  / '.z.zd
.z.ps  / '.z.ps
.Q.ld("/ one";"f:{";"  x";" }";"g:1")  / 1       2              5\n"/ one" "f:{\n  x\n }" "g:1"
.h.d  / " "
.h.cd([]a:1 2;b:("abc";"de");c:(1 2;3 4))  / "a,b,c"\n"1,a b c,1 2"\n"2,d e,3 4"
.h.tx[`csv]([]a:1 2;b:("abc";"de"))  / "a,b"\n"1,abc"\n"2,de"
.h.tx[`json]enlist([]0 1)  / "[{\"x\":0},\n {\"x\":1}]"
.h.tx[`json]([]0 1)  / "{\"x\":0}"\n"{\"x\":1}"
.h.http"at http://www.example.com now"  / "at <a href=\"http://www.example.com\">http://www.example.com</a> now"
.h.iso8601 2020.01.02D03:04:05.6  / "2020-01-02T03:04:05.600000000"
.h.iso8601 2020.01.02  / "2020-01-02T00:00:00.000000000"
.h.iso8601`a  / 'type
hto:system"cd";system"mkdir -p /tmp/kshell_ht/src";system"cd /tmp/kshell_ht";  /
`:src/p.txt 0:("See http://a.b";".Two";" name age";" -";" al\t 3";" bob\t 14";"\tcode");.h.ht`p  / `:p.htm
("cols=\"36,";"src=\"a/_p.htm\"";"name=v src=\"a/p.htm\""){count y ss x}\:raze read0`:p.htm  / 1 1 1
1_-1_read0`:a/p.htm  / "<h3><a name=1>Two</a></h3>"\n"<xmp>name age"\n"--------"\n"al  3"\n"bob 14</xmp>"
last read0`:a/p.htm  / "<p> <code><nobr>code</nobr></code></p></body></html>"
count(raze read0`:a/p.htm)ss"<a href=\"http://a.b\">"  / 1
count(raze read0`:a/_p.htm)ss"<a target=v href=p.htm#1>Two</a>"  / 1
.h.ht`nosuch  / 'src/nosuch.txt. OS reports: No such file or directory
.h.ht"p"  / 'type
system"cd ",hto;system"rm -r /tmp/kshell_ht";  /
/ the names of a namespace stand in the order in which they came
.qo.z:1;.qo.a:2;.qo.z:3;key`.qo  / ``z`a
.qp.z.y:1;.qp.z.b:2;.qp.b:1;key`.qp  / ``b`z
zzq:1;aaq:2;-2#key`.  / `zzq`aaq
zzq:1;aaq:2;delete zzq from`.;zzq:3;-2#value`.  / aaq| 2\nzzq| 3
key`.qnone  / ()

/ a name inside a dictionary or table that a variable of a namespace holds assigns into it
.cfgn.d:`a`b!1 2;.cfgn.d.b+:5;.cfgn.d  / a| 1\nb| 7
.cfgn.d.c:9;.cfgn.d.c,.cfgn.d.a  / 9 1
.cfgn.s:``n`l!(::;0;());.cfgn.s.l,:enlist"x";.cfgn.s.n+:1;(.cfgn.s.l;.cfgn.s.n)  / ,"x"\n1
{.cfgn.d.a:x;.cfgn.d}4  / a| 4\nb| 7\nc| 9
key`.cfgn  / ``d`s
.cfgn.t:([]a:1 2);.cfgn.t.b:3 4;.cfgn.t  / a b\n---\n1 3\n2 4
.cfgn.m:(1#`h)!enlist`i`j!1 2;.cfgn.m.h.i:10;.cfgn.m.h  / i| 10\nj| 2
.cfgn.v:1 2;.cfgn.v.x:3;.cfgn.v  / 1 2

/ a keyword of one's own means what it did when the code was read
.q.kwadd:{x+y}  /
kwf:{x kwadd y};.q.kwadd:{x*y};kwf[3;4]  / 7
3 kwadd 4  / 12
delete kwadd from`.q;kwf[1;2]  / 3
3 kwadd 4  / 'kwadd
nda.b.c:1;nda.b.d:{x};nda  /  | ::\nb| ``c`d!(::;1;{x})
nda.b.d 5  / 5
nda.e.f:2;key nda  / ``b`e
ndb:`x`y!1 2;ndb.z:3;ndb  / x| 1\ny| 2\nz| 3
.Q.addmonths[2020.01.31 0Nd;1 0N]  / 2020.03.02 0N
.Q.addmonths[2020.01.31;1 0N]  / 2020.03.02 0N
.Q.addmonths[0Nd;1]  / 0Nd
.Q.addmonths[2020.01.31;1.5]  / 'type
.Q.addmonths[2020.01.31 2020.02.01;1 2 3]  / 'length
.Q.gz(6;`abc)  / 'type
.Q.j10 30#"9"  / -2342443691899625603

/ a dotted global, whose first part is a local too
clust.i.f:{x+1};{clust:5;clust.i.f x}3  / 4
{[clust]clust.i.f clust}3  / 4
{[clust]clust.i.f each clust}3 4  / 4 5
{[d]d.a}`a`b!1 2  / 1
{[clust]clust.i.g:clust}7;clust.i.g  / 7
dd5:1;{[dd5]dd5.a}`a`b!1 2  / 1
{{[clust]clust.i.f clust}x}5  / 6
system"d .ml5";value"clust.i.f:{x+10};g:{[clust]clust.i.f clust}";system"d .";.ml5.g 1  / 11
1#.Q  / | ::
(key each(.Q;.h;.j;.o;.z))~key each`.Q`.h`.j`.o`.z  / 1b
all(::)~/:first each value each`.q`.Q`.h`.j`.o`.z  / 1b
.o[`]~(::)  / 1b
key .o  / ``ex
t:([]a:1 2);.o.ex"q)select from t where a>1"  / a\n-\n2
(::)~.o.ex"q)"  / 1b
.o.ex"select a from t"  / 's) code is not supported
.s.e:{"sql ",x};.o.ex"select a from t"  / "sql select a from t"
.o.ex 1  / 'type
`trp`pf in key .Q  / 10b
.Q.zz:3;(.Q`zz;`zz in system"v .Q")  / 3\n1b
.z.ps:{x};(`ps`pg in key .z;.z.ps)  / 10b\n{x}
.q.nosuch  / '.q.nosuch
.q.abs  / '.q.abs
(.q.neg;.q.mmu)~.q`neg`mmu  / 1b
.Q.nosuch  / '.Q.nosuch
(.q.til;.q`til)  / til\ntil
type each system each("f .q";"v .q";"a .q";"b .q";"f .o";"v .z")  / 11 11 11 11 11 11h
`til`xbar`each`abs in system"f .q"  / 1110b
system"v .nosuch"  / '.nosuch
t:([]a:1 2;b:`x`y);.Q.nct`t  / n c t\n-----\nt a j\nt b s
.Q.nct 1  / 'type
first each .Q.trp[{x+`a};1;{y}]  / {x+`a}\n.Q.trp\n::
.Q.trp[{x+`a};1;{[e;b]b[0;1;3]:"{y+`a}";b[0;3]:7;.Q.sbt 1#b}]  / "  [7]  {y+`a}\n         ^\n"
fq:{wq+`a};value"wq::2";fq~first first .Q.trp[fq;1;{y}]  / 1b
fq~first first .Q.trp[{fq x};1;{2#y}]  / 1b
{x~first first .Q.trp[x;1;{y}]}{y+`a}  / 0b
{x~first first .Q.trp[x;1;{y}]}{x+`a}  / 1b
.Q.sbt()  / ""
.Q.sbt enlist 1 2  / 'length

/ the item that a namespace has under the null symbol, by name
.nq.a:1;(value`.nq.;get`.Q.)  / ::\n::
`.nb set enlist[`a]!enlist 1;value`.nb.  / '.nb.
value`.nosuch.  / '.nosuch.
(tables`.q;tables`.o)  / `symbol$()\n`symbol$()
tables`.nosuch  / '.nosuch
