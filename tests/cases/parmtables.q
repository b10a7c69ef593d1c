/ parameters as a table
m:module seq(`sequential;(`linear;`a;2;2);`tanh;(`linear;`b;2;1))  /
parm(m;`a.weight;(3 0e;0 4e));parm(m;`a.bias;1 0we);parm(m;`b.weight;1 2#2 4e);parm(m;`b.bias;5e)  /
9#cols parmtable m  / `name`module`size`elements`dtype`device`gradflag`parmgroup`lr
9_cols parmtable m  / `norm`mean`std`lo`hi`bad`grad
select name,module,size,elements,norm,mean,lo,hi,bad from parmtable m  / name     module size elements norm     mean lo hi bad\n-----------------------------------------------------\na.weight linear 2 2  4        5        1.75 0  4  0\na.bias   linear ,2   2        0w       0w   1  0w 1\nb.weight linear 1 2  2        4.472136 3    2  4  0\nb.bias   linear ,1   1        5        5    5  5  0
exec std from parmtable m where name like"b*"  / 1.414214 0n
all each null exec (lr;grad;parmgroup) from parmtable m  / 111b
exec distinct dtype from parmtable m  / ,`float
gradtable m  / name module size elements dtype device norm mean std lo hi bad\n--------------------------------------------------------------
parmtable(m;parmtable m)  /
parmtable(m;([]name:`a.bias`b.bias;gradflag:00b))  /
exec name from parmtable m where gradflag  / `a.weight`b.weight
parmtable(m;update gradflag:1b from parmtable m)  /
gradflag m  / a.weight| 1\na.bias  | 1\nb.weight| 1\nb.bias  | 1
parmtable(m;([]name:enlist`a.bias;lr:.1))  / 'parmtable: lr cannot be set, no optimizer has parameters of the module
parmtable(m;([]name:enlist`a.bias;decay:.1))  / 'parmtable: column decay is neither a column of parmtable nor an option, as there is no optimizer (given module, table)
parmtable(m;([]name:enlist`a.bias;parmgroup:0))  / 'parmtable: parmgroup cannot be set, no optimizer has parameters of the module
parm(m;`a.bias;1 -1e)  /
backward Sum forward(m;1 2#1 2e)  /
exec name!norm from gradtable m where elements=1  / b.bias| 1
all 0<exec grad from parmtable m  / 1b
/ edits of groups
o:opt(`adamw;(m;`a`b.weight);.1)  /
exec parmgroup from parmtable m  / 0 0 0 0N
exec name,lr from parmtable o  / name| a.weight a.bias b.weight\nlr  | 0.1      0.1    0.1
t:parmtable m  /
parmtable(m;t)  /
t~parmtable m  / 1b
parmtable(m;update lr:.01,decay:0. from t where name=`a.bias)  /
opt[(o;0b)]`options  / lr   decay\n----------\n0.1  0.01\n0.01 0
exec parmgroup from parmtable m  / 0 1 0 0N
parmtable(m;([name:enlist`b.bias]parmgroup:enlist 2;beta1:.5;maximize:1b))  /
opt[(o;0b)]`options  / lr   beta1 decay maximize\n-------------------------\n0.1  0.9   0.01  0\n0.01 0.9   0     0\n0.1  0.5   0.01  1
exec parmgroup,name from parmtable o  / parmgroup| 0        0        1      2\nname     | a.weight b.weight a.bias b.bias
step o  /
exec asc distinct buffer from statetable o  / `s#`exp_avg`exp_avg_sq`step
exec mean from statetable[o] where buffer=`step  / 1 1 1 1f
s:exec buffers from state[o]`parms where name=`a.bias  /
parmtable(m;([]name:`a.bias`b.bias;parmgroup:0 0N))  /
s~exec buffers from state[o]`parms where name=`a.bias  / 1b
exec name from parmtable o  / `a.weight`b.weight`a.bias
exec distinct name from statetable o  / `a.weight`b.weight`a.bias
parmtable(o;([]name:`a.weight`a.bias`b.weight;lr:1 1 1))  /
lr o  / 1 0.01 0.1
parmtable(m;([]name:`a.weight`b.weight;lr:2 3.))  /
exec name!lr from parmtable o  / a.bias  | 1\na.weight| 2\nb.weight| 3
/ what is refused, with nothing changed
t:parmtable m;s:opt o  /
parmtable(m;([]name:`a.bias`zz))  / 'parmtable: no parameter `zz
parmtable(m;([]name:`a.bias`a.bias))  / 'parmtable: parameter `a.bias is repeated (given module, table)
parmtable(m;([]nam:`a.bias`b.bias))  / 'parmtable: expecting a table with the names of parameters in a column `name (given module, table)
parmtable(m;([]name:("a";"b")))  / 'parmtable: expecting a table with the names of parameters in a column `name (given module, table)
parmtable(m;([]name:enlist`a.bias;foo:1))  / 'parmtable: column foo is neither a column of parmtable nor an option of adamw (given module, table)
parmtable(m;([]name:`a.weight`a.bias;gradflag:01b;lr:.5 -1.))  / 'parmtable: Invalid learning rate: -1
parmtable(m;([]name:enlist`a.bias;lr:`a))  / 'adamw lr: expected long/double scalar, given symbol scalar
parmtable(m;([]name:enlist`a.bias;gradflag:0))  / 'parmtable: gradflag: expected boolean list, given long list
parmtable(m;([]name:enlist`a.bias;parmgroup:9))  / 'parmtable: group 9 invalid, cannot be greater than number of groups(5)
parmtable(m;([]name:enlist`a.bias;parmgroup:-1))  / 'parmtable: group -1 invalid, cannot be negative (given module, table)
parmtable(m;([]name:enlist`a.bias;parmgroup:1.))  / 'parmtable: parmgroup: expected long scalar, given double scalar
parmtable(m;5)  / 'parmtable: expecting a table, names of options or a flag, given long scalar
parmtable(m;`a`b!1 2)  / 'parmtable: expecting a table, names of options or a flag, given dictionary
parmtable(m;t;t)  / 'parmtable: expecting 1-2 args, given 3
parmtable loss`mse  / 'parmtable: expecting module, model or optimizer, given loss
parmtable 5  / 'parmtable: expecting module, model or optimizer, given long scalar
gradtable(m;1)  / 'gradtable: expecting one arg, given 2
statetable m  / 'statetable: expecting optimizer or model, given module
(t~parmtable m;s~opt o)  / 11b
p:opt(`sgd;(m;`b.bias))  /
parmtable(m;update lr:.2 from t)  / 'parmtable: the parameters are in 2 optimizers, edit them through one of these (given module, table)
exec parmgroup from parmtable m  / 3 0 4 0
n:module enlist(`linear;2;1);q:opt(`lbfgs;n)  /
parmtable(n;([]name:enlist`bias;lr:.5))  / 'parmtable: lbfgs optimizer has a single parameter group (given module, table)
parmtable(n;([]name:`bias`weight;lr:.5))  /
lr q  / ,0.5
r:opt(`muon;(n;`weight));parmtable(r;([]name:enlist`weight;momentum:.5));free q;parmtable(n;([]name:enlist`bias;parmgroup:0))  / 'opt: muon takes parameters of 2 dimensions, parameter[0] has 1
count parmtable opt`sgd  / 0
exec name from parmtable opt(`sgd;vector(1 2e;3 4e))  / `0`1
q:module enlist(`linear;2;1)  /
x:model(q;loss`mse;opt(`sgd;q;.3))  /
exec lr from parmtable x  / 0.3 0.3
count statetable x  / 0
parmtable(x;([]name:`weight`bias;lr:.1 .2))  /
lr x  / 0.1 0.2
/ summaries
m:module seq(`sequential;(`conv2d;1;6;5);`relu;(`maxpool2d;2);`flatten;(`linear;`fc;864;10))  /
summary(m;7 1 28 28)  / depth name module     size      elements trainable bytes\n--------------------------------------------------------\n0          sequential 7 10      8806     8806      35224\n1     0    conv2d     7 6 24 24 156      156       624\n1     1    relu       7 6 24 24 0        0         0\n1     2    maxpool2d  7 6 12 12 0        0         0\n1     3    flatten    7 864     0        0         0\n1     fc   linear     7 10      8650     8650      34600
exec size from summary m  / `long$()\n`long$()\n`long$()\n`long$()\n`long$()\n`long$()
freeze(m;`fc.weight)  /
exec first trainable from summary m  / 166
exec last size from summary(m;tensor(`zeros;2 1 28 28))  / 2 10
exec first size from summary(module enlist(`lstm;4;3);2 5 4)  / 2 5 3\n1 5 3\n1 5 3
exec size from summary(module enlist(`embed;9;3);tensor 1 2)  / 2 3
summary(m;2 3)  / 'summary: Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [2, 3] (in `0)
summary(m;2 -3)  / 'summary: size [2, -3] has a negative dimension
summary(m;`a)  / 'summary: unrecognized arg, symbol scalar (expected summary(m;size))
summary 5  / 'summary: expecting module or model, given long scalar
training m  / 1b
/ options as columns where they are asked for
m:module seq(`sequential;(`linear;`a;2;2);(`linear;`b;2;1))  /
select name,decay from parmtable(m;`decay)  / name     decay\n--------------\na.weight\na.bias\nb.weight\nb.bias
parmtable(m;`decays)  / 'parmtable: no option named `decays (near `decay`lrdecay)
(parmtable(m;1b))~parmtable m  / 1b
o:opt(`adamw;(m;`a);.1)  /
opt(o;1;(m;`b.weight);.01;`amsgrad`decay!(1b;0))  /
7_10#cols parmtable(m;`decay)  / `parmgroup`lr`decay
7_14#cols parmtable(m;1b)  / `parmgroup`lr`beta1`beta2`eps`decay`amsgrad
select name,decay,amsgrad from parmtable(o;`amsgrad`decay)  / name     decay amsgrad\n----------------------\na.weight 0.01  0\na.bias   0.01  0\nb.weight 0     1
exec decay from parmtable(m;`decay)  / 0.01 0.01 0 0n
exec amsgrad from parmtable(m;`amsgrad)  / 0b\n0b\n1b\n::
exec foreach from parmtable(o;`foreach)  / ::\n::\n::
(cols parmtable(m;`lr`decay`decay`norm))~cols parmtable(m;`decay)  / 1b
(cols parmtable(m;`symbol$()))~cols parmtable m  / 1b
(cols parmtable(m;0b))~cols parmtable m  / 1b
parmtable(m;`nesterov)  / 'parmtable: no option of adamw named `nesterov
parmtable(m;`decay;1)  / 'parmtable: expecting 1-2 args, given 3
x:opt o  /
parmtable(m;parmtable(m;1b))  /
x~opt o  / 1b
parmtable(m;update beta1:.5 from parmtable(m;1b)where name like"*.bias",not null lr)  /
exec name!beta1 from parmtable(o;`beta1)  / a.weight| 0.9\nb.weight| 0.9\na.bias  | 0.5
/ numbers of tensors of every kind: one value, none, no numbers, a deviation of many
m:module`moduledict;module(m;1;`parmdict`p);{parm(m;`$"p.",string x;y)}'[`a`b`c`d;(2e;0#0e;1 0n 0w 4e;1 2 3 4f)];  /
exec name!norm from parmtable m  / p.a| 2\np.b| 0\np.c|\np.d| 5.477226
exec name!std from parmtable m  / p.a|\np.b|\np.c|\np.d| 1.290994
exec name!bad from parmtable m  / p.a| 0\np.b| 0\np.c| 2\np.d| 0
exec name!(lo,'hi)from parmtable m where name in`p.a`p.d  / p.a| 2 2\np.d| 1 4
parm(m;`p.c;4#1e30);exec(first norm;first bad)from parmtable m where name=`p.c  / 0w\n0
x:tensor(`randn;300 200;`grad);o:opt(`sgd;x;.1);1e-6>abs(exec first std from parmtable o)-sdev raze tensor x  / 1b

/ tensors of dictionaries, nested ones too
d:`step`model!(1;`w`b!(tensor 2 3#1e;tensor 3 0w));ckpttable d  / name    dtype  size bytes norm    bad\n-------------------------------------\nmodel.w float  2 3  24    2.44949 0\nmodel.b double ,2   16    0w      1
cols ckpttable(d;0b)  / `name`dtype`size`bytes
count each(ckpttable()!();ckpttable 5;parmtable()!())  / 0 0 0
ckpttable`:f.pt  / 'f.pt. OS reports: No such file or directory
ckpttable[]  / 'ckpttable: expecting a file, a dictionary of tensors, or an object that has some, and a flag (given nothing)
ckpttable(d;5)  / 'ckpttable: expecting a file, a dictionary of tensors, or an object that has some, and a flag (given kdictionary, long 5)
exec bad from ckpttable`a`b`c!(tensor 0n 0w -0w 1;tensor(1 2;`bfloat16);tensor`long$())  / 3 0 0
select name,norm,mean,lo,bad from parmtable d  / name    norm    mean lo bad\n---------------------------\nmodel.w 2.44949 1    1  0\nmodel.b 0w      0w   3  1
parmtable(d;parmtable d)  / 'parmtable: expecting the module, model or optimizer to edit, given kdictionary
statetable d  / 'statetable: expecting optimizer or model, given kdictionary
m:module seq(`sequential;(`linear;`a;2;3);(`linear;`b;3;1));o:opt(`adam;m;.1);backward Sum forward(m;1 2#3 4e);step o;p:parms m  /
(exec(name;lr;grad)from parmtable p)~exec(name;lr;grad)from parmtable m  / 1b
(delete module from gradtable p)~delete module from gradtable m  / 1b
(exec norm,bad from ckpttable m)~exec norm,bad from parmtable m  / 1b
(exec norm from ckpttable o)~exec norm from statetable o  / 1b
