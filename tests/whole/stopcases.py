"""What is interrupted at each of its lines: everything that changes something, by kind (test_stops.py)."""

from __future__ import annotations

from tests.support.stops import Case

# name | setup | line | state; where the line cannot run twice, `!` follows the name
_Q = """
assign | a:1 | a:2 | a
set | a:1 | `a set 2 | a
append | a:1 2 | a,:3 | count a
amend item | a:1 2 3 | a[1]:9 | a
operator | a:1 2 3 | a+:1 | first a
items | a:1 2 3 | a[0 1]*:3 | a
append to a table | t:([]a:1 2;b:3 4) | t,:(1;2) | t
dotted | .n.a.b:1 | .n.a.b:2 | .n.a.b
in a lambda | a:1 | {a::2}[] | a
new key | d:`x`y!1 2 | d[`z]:5 | d`z
keys | d:`x`y!1 2 | d[`x`y]:7 8 | d
cell | t:([]a:1 2;b:3 4) | t[1;`a]:5 | t
pattern | a:1;b:2 | (a;b):3 4 | (a;b)
namespace | .ns.a:1;.ns.b:5 | .ns.a:2 | .ns.a
namespace whole | .ns.a:1;.ns.b:5 | .ns:`a`b!7 8 | (.ns.a;.ns.b)
view | a:1;v::a+1 | v::a+2 | v
forget! | a:1 | delete a from `. | @[get;`a;`none]
insert | t:([]a:1 2;b:`x`y) | `t insert(3;`z) | count t
insert rows | t:([]a:1 2;b:`x`y) | `t insert([]a:3 4;b:`z`w) | count t
insert keyed! | t:([k:`a`b]v:1 2) | `t insert(`c;3) | t
upsert | t:([]a:1 2;b:`x`y) | `t upsert(3;`z) | count t
upsert keyed | t:([k:`a`b]v:1 2) | `t upsert(`b;30) | t
upsert new key | t:([k:`a`b]v:1 2) | `t upsert(`c;30) | t
update | t:([]a:1 2;b:3 4) | update a:9 from`t where b=3 | t
delete rows | t:([]a:1 2;b:3 4) | delete from`t where a=1 | t
delete column! | t:([]a:1 2;b:3 4) | delete a from`t | t
sort | t:([]a:2 1;b:3 4) | `a xasc`t | t
key | t:([]a:2 1;b:3 4) | `a xkey`t | t
amend column | t:([]a:2 1;b:3 4) | @[`t;`a;:;7 8] | t
amend by lambda | t:([]a:2 1;b:3 4) | @[`t;`a`b;:;({x+1}each 1 2;5 6)] | t
amend deep | d:`x`y!(1 2;3 4) | .[`d;(`x;0);:;9] | d
enumerate | s:`a`b | `s?`c`a | s
value | a:1 | value"a:2" | a
each | a:1 | {`a set 2}each 1#0 | a
setenv | `KSHELL_STOPS setenv"1" | `KSHELL_STOPS setenv"2" | getenv`KSHELL_STOPS
"""
_COMMANDS = r"""
digits | \P 7 | \P 3 | system"P"
console | \c 25 80 | \c 20 70 | system"c"
seed of q | \S 7 | \S 3 | system"S"
dates | \z 0 | \z 1 | system"z"
offset | \o 0 | \o 5 | system"o"
week | \W 2 | \W 3 | system"W"
folder | \cd / | \cd /usr | system"cd"
namespace | \d . | \d .ns | system"d"
system | \P 7 | system"P 5" | system"P"
script | a:1 | \l script.q | a
timing | a:1 | \t a:2 | a
timing of several | a:1 | \t:3 a:2 | a
space | a:1 | \ts a:2 | a
"""
_FILES = """
set | `:v set 1 2 | `:v set 3 4 | get`:v
append | `:v set 1 2 | `:v upsert 3 | count get`:v
splayed append | `:t/ set([]a:1 2;b:3 4) | `:t/ upsert(5;6) | count get`:t/
text | `:x.txt 0:enlist"aa" | `:x.txt 0:enlist"bb" | read0`:x.txt
bytes | `:x.bin 1:0x01 | `:x.bin 1:0x02 | read1`:x.bin
save | v:1 2;`:v set 0 | save`:v | get`:v
load | `:v set 1 2;v:0 | load`:v | v
hdel! | `:x.bin 1:0x01 | hdel`:x.bin | count key`:x.bin
enumerated | `:db/sym set`a`b;sym:`a`b | .Q.en[`:db;([]s:`c`a)] | get`:db/sym
partition | t:([]s:`b`a;v:1 2);.Q.dpft[`:db;2020.01.01;`s;`t];t:([]s:`b`a;v:3 4) | .Q.dpft[`:db;2020.01.01;`s;`t] | get`:db/2020.01.01/t/v
compressed | `:z set 100#0 | (`:z;17;2;6)set 100#1 | first get`:z
"""
_TENSORS = """
operator | t:tensor 1 2e | t+:1 | tensor t
amend | t:tensor 1 2e | t[0]:5 | tensor t
items | t:tensor 1 2e | t[0 1]*:3 | tensor t
items in a list | l:(tensor 1 2e;tensor 3 4e) | l[0 1;0]:7e | tensor each l
item in a dictionary | d:`a`b!(tensor 1 2e;tensor 3 4e) | d[`a;0]:9e | tensor each d
amend by a function | t:tensor 1 2e | @[t;0 1;*;3] | tensor t
output | t:tensor 1 2e;u:tensor 0 0e | mul(t;2.5;u) | tensor u
in place | t:tensor 1 -2e | zeros t | tensor t
resize | t:tensor 1 2 3 4e | resize(t;2 2) | tensor t
index fill | t:tensor 1 2e | t[0 1]:7 8e | tensor t
fill | t:tensor 1 2e | fill(t;3) | tensor t
free! | t:tensor 1 2e;u:t | free t | @[tensor;u;{x}]
use! | t:tensor 1 2e;u:tensor 3 4e | use[t;u] | tensor t
use value! | t:tensor 1 2e | use[t;5 6e] | tensor t
to | t:tensor 1 2e | to(t;`double) | dtype t
gradflag | t:tensor 1 2e | gradflag(t;1b) | gradflag t
backward! | w:tensor(1 2e;`grad);z:Sum w*w | backward z | grad w
zerograd | w:tensor(1 2e;`grad);backward Sum w | zerograd w | grad w
nograd | w:tensor(1 2e;`grad);backward Sum w | nograd w | (::)~grad w
vector | v:vector(1 2e;3 4e) | vector(v;0;5 6e) | vector v
vector places | v:vector(1 2e;3 4e) | v[0 1]:(tensor 5 6e;tensor 7 8e) | vector v
vector deep | v:vector(1 2e;3 4e) | v[0 1;0]:9e | vector v
dict | d:dict(`a`b!(1 2e;3 4e)) | dict(d;`a;5 6e) | dict d
dict keys | d:dict(`a`b!(1 2e;3 4e)) | d[`a`b]:(tensor 5 6e;tensor 7 8e) | dict d
dict new keys | d:dict(`a`b!(1 2e;3 4e)) | d[`c`d]:(tensor 5 6e;tensor 7 8e) | dict d
dict items | d:dict(`a`b!(1 2e;3 4e)) | d[`a`b]*:2 | dict d
vector items | v:vector(1 2e;3 4e) | v[0 1]*:2 | vector v
dict operator | d:dict(`a`b!(1 2e;3 4e)) | @[d;`a`b;*;2] | dict d
seed | seed 1 | seed 5 | seed()
"""
_NET = "seed 3;m:module seq(`sequential;(`linear;`a;2;3);`relu;(`linear;`b;3;2));"
_MODULES = """
child | NET | child(m;`b;(`linear;3;4)) | size each value parms m
append! | NET | module(m;(`linear;2;2)) | count dict copyparms m
parm | NET | parm(m;`a.bias;1 2 3e) | tensor parm(m;`a.bias)
freeze | NET | freeze m | gradflag each value parms m
freeze some | NET | freeze(m;`a.weight`a.bias) | gradflag each value parms m
unfreeze | NET;freeze m | unfreeze m | gradflag each value parms m
training | NET | training(m;0b) | training m
initialize | NET | zeros parm(m;`a.weight) | tensor parm(m;`a.weight)
copyparms | NET;p:copyparms m;p[`a.bias`b.bias]:(tensor 1 2 3e;tensor 4 5e) | copyparms(m;p) | dict copyparms m
avgparms! | NET;p:copyparms m | avgparms(m;p) | dict p
emaparms! | NET;p:copyparms m | emaparms(m;p;.9) | dict p
putstate | NET;s:state m;parm(m;`a.bias;9 9 9e);parm(m;`b.bias;9 9e) | putstate(m;s) | dict copyparms m
putstate of arrays | NET;s:dict copyparms m;s[`a.bias]:5 6 7e;s[`b.bias]:8 9e | putstate(m;s) | dict copyparms m
batchnorm | m:module seq(`sequential;(`linear;`a;2;3);(`batchnorm1d;`b;3));batchnorm(m;(enlist`b)!enlist .1) | batchnorm(m;(enlist`b)!enlist .5) | batchnorm m
move | NET | to(m;`double) | dtype parm(m;`a.bias)
zerograd | NET;backward Sum forward(m;tensor enlist 1 2e) | zerograd m | grad parm(m;`b.bias)
backward! | NET | backward Sum forward(m;tensor enlist 1 2e) | grad parm(m;`b.bias)
clip | NET;backward Sum forward(m;tensor enlist 1 2e) | clip(m;.1) | grad parm(m;`b.bias)
clip values | NET;backward Sum forward(m;tensor enlist 1 2e) | clipv(m;.1) | grad parm(m;`b.bias)
table | NET;g:parmtable m | parmtable(m;update gradflag:0b from g where name like"a*") | gradflag each value parms m
"""
_STEPS = """
step! | OPT | step o | (dict copyparms m;exec buffers from(state o)`parms)
rate | OPT | lr(o;.5) | lr o
options | OPT | opt(o;();`beta1`beta2!.5 .6) | opt[o]`options
group! | OPT2 | opt(o;1;parms2;.5) | count opt[o]`options
nograd | OPT | nograd o | (::)~grad parm(m;`b.bias)
zerograd | OPT | zerograd o | grad parm(m;`b.bias)
step by a function! | OPT | step(o;{zerograd o;l:Sum forward(m;x0);backward l;l}) | (dict copyparms m;exec buffers from(state o)`parms)
lbfgs! | OPTL | step(o;{zerograd o;l:mean pow(forward(m;x0);2);backward l;l}) | dict copyparms m
scheduler! | OPT;s:sched(o;`exponentiallr;.5) | step s | lr o
rule! | OPT;r:scale(o;`adascale;2);backward Sum forward(m;x0) | step o | dict copyparms m
putstate | OPT;s:state o;step o | putstate(o;s) | exec buffers from(state o)`parms
override | OPT | override(o;0;`max`min!.5 .1) | override(o;0)
"""
_OPT = _NET + "x0:tensor enlist 1 2e;o:opt(`adam;m;.1);backward Sum forward(m;x0)"
_OPT2 = _NET + "p:parms m;parms2:p`b.weight;o:opt(`adam;p`a.weight;.1)"
_OPTL = _NET + "x0:tensor enlist 1 2e;o:opt(`lbfgs;m;.1);backward Sum forward(m;x0)"
_MODELS = """
train | MODEL | train(k;`batchsize`shuffle;(3;1b)) | train(k;`batchsize`shuffle)
train data | MODEL | train(k;2 2#5e;2 2#6e) | data k
test data | MODEL | test(k;2 2#5e;2 2#6e) | testdata k
input | MODEL | input(k;8 2#5e) | data k
run! | MODEL | run k | dict copyparms k
run with data! | MODEL | run(k;8 2#.5e;8 2#.1e) | (dict copyparms k;data k)
backstep! | MODEL | backstep(k;2 2#.5e;2 2#.1e) | dict copyparms k
batch! | MODEL;train(k;`batchsize;4) | batch k | size input k
shuffle! | MODEL;seed 3 | shuffle k | data k
"""
_MODEL = _NET + "k:model(m;loss`mse;opt(`adam;m;.1));train(k;8 2#.1e*til 16;8 2#.3e*til 16)"
_SAVED = """
ckpt | NET;ckpt(`:c.pt;m);parm(m;`a.bias;1 2 3e) | ckpt(`:c.pt;m) | tensor ckpt[`:c.pt]`a.bias
ckptsave | NET;ckptsave(`:ckpts;m);parm(m;`a.bias;9 8 7e) | ckptsave(`:ckpts;m) | count key`:ckpts
snapshot | a:1;snapshot`:s.ks;a:2 | snapshot`:s.ks | (a;0<hcount`:s.ks)
resume | a:1;snapshot`:s.ks;a:2 | resume`:s.ks | a
"""


def _cases(kind: str, text: str, **words: str) -> list[Case]:
    made = []
    for row in text.strip().split("\n"):
        name, setup, line, state = (part.strip() for part in row.split(" | "))
        for word, meant in words.items():
            setup = setup.replace(word, meant) if setup.split(";")[0] == word else setup
        made.append(Case(f"{kind} {name.rstrip('!')}", setup, line, state, name[-1] != "!"))
    return made


CASES = [*_cases("q", _Q), *_cases("command", _COMMANDS), *_cases("file", _FILES), *_cases("tensor", _TENSORS),
         *_cases("module", _MODULES, NET=_NET.rstrip(";")),
         *_cases("optimizer", _STEPS, OPT=_OPT, OPT2=_OPT2, OPTL=_OPTL),
         *_cases("model", _MODELS, MODEL=_MODEL), *_cases("saved", _SAVED, NET=_NET.rstrip(";"))]
