/ opt: what is refused, and how
opt()  / 'opt: unrecognized arg(s) (given nothing; expected opt`name)
opt[]  / 'opt: unrecognized arg(s) (given nothing; expected opt`name)
opt`sgd`adam  / 'opt: unrecognized arg(s) (given symbol list of 2; expected opt`name)
opt 5  / 'opt: unrecognized arg(s) (given long 5; expected opt`name)
opt`foo  / 'opt: unrecognized optimizer: foo
opt(`adamm;())  / 'opt: unrecognized optimizer: adamm (near `adam`radam`nadam`adamw)
opt`SGD  / 'opt: unrecognized optimizer: SGD (near `sgd`asgd)
opt(`sgd;();`momentm,.9)  / 'opt: unrecognized optimizer setting: momentm (near `momentum)
opt(`sgd;();`x)  / 'sgd lr: expected long/double scalar, given symbol scalar
opt(`sgd;();1b)  / 'sgd lr: expected long/double scalar, given boolean scalar
lr each opt each((`sgd;();1);(`sgd;();1h);(`sgd;();1i);(`sgd;();1e);(`sgd;();`lr,1e);(`sgd;();`lr,1h))  / 1\n1\n1\n1\n1\n1
opt(`sgd;();1;2;3;4;0b;7)  / 'sgd: expecting up to 7 positional args, 8 given
opt(`sgd;();`lr`decay`x)  / 'uneven no. of symbols for name,value pairs: `lr`decay`x
opt(`sgd;();((`lr;1.);(`decay;1;2)))  / 'name,value pair[1] has 3 elements (expected 2)
opt(`sgd;();(`lr;1.;`decay))  / 'uneven no. of elements for name,value pairs in list: (`lr;double scalar;`decay)
opt(`sgd;();1 2!3 4)  / 'unexpected name,value dictionary with long list as keys: 1 2
opt(`sgd;();`foo,1.)  / 'opt: unrecognized optimizer setting: foo
opt(`sgd;();`beta1,.9)  / 'sgd option: beta1 not recognized
opt(`sgd;();`nesterov,1)  / 'sgd nesterov: expected boolean scalar, given long scalar
opt(`sgd;();.1;0;0;0;1)  / 'sgd nesterov: expected boolean, given long scalar
opt(`adam;();.1;1.5)  / 'opt: Invalid beta parameter at index 0: 1.5
opt(`adam;();.1;.9;.9;-1.)  / 'opt: Invalid epsilon value: -1
opt(`sgd;1;())  / 'opt: cannot define group 1 until optimizer is created with initial parameter group
opt(`sgd;0N;())  / 'opt: cannot define group 0N until optimizer is created with initial parameter group
opt(`sgd;0)  / 'opt: only group 0 given, expecting parameters or () after it
o:opt`sgd  /
opt(o;-1;())  / 'opt: group -1 invalid, cannot be negative
opt(o;2;())  / 'opt: group 2 invalid, cannot be greater than number of groups(1)
opt(o;0)  / 'opt: only group 0 given, expecting parameters or () after it
opt(o;loss`ce)  / 'opt: cannot derive parameters from loss
opt(o;o)  / 'opt: cannot derive parameters from optimizer
opt(o;5)  / 'opt: only group 5 given, expecting parameters or () after it
opt(o;5.)  / 'opt: expecting module, model or tensors after optimizer & optional group number, given double scalar
m:module seq(`sequential;(`linear;`a;3;2);`relu;(`linear;`b;2;1))  /
opt(o;(m;1;2))  / 'opt: expecting one arg to select parameters from module but given 2 args
opt(o;(m;1.5))  / 'opt: sequential module supplied with unrecognized double scalar selector(s)
opt(o;(m;9))  / 'opt: module[9] out of bounds, 3 submodule(s)
opt(o;(m;`x))  / 'opt: no module or parameter named `x
opt(o;(m;`a.weigh))  / 'opt: no module or parameter named `a.weigh (near `a.weight`b.weight)
opt(o;(m;0 0))  / 'opt: duplicate parameter(s) with module[0]
opt(o;(m;`a`a.weight))  / 'opt: duplicate parameter(s) with module[`a.weight] (given optimizer, general list of 2)
v:vector(1 2e;3 4e;5 6e)  /
opt(o;(v;5))  / 'opt: vector[5] out of bounds, index must be less than 3
opt(o;(v;-1))  / 'opt: vector[-1] invalid (given optimizer, general list of 2)
opt(o;(v;1 1))  / 'opt: duplicate parameter from vector[1]
opt(o;(v;`a))  / 'opt: tensor vector supplied with unrecognized symbol scalar selector(s)
d:dict`a`b!(1 2e;3e)  /
opt(o;(d;`x))  / 'opt: no dictionary parameter named `x
opt(o;(d;`a`a))  / 'opt: duplicate parameter dict[`a] (given optimizer, general list of 2)
opt(o;(d;0))  / 'opt: tensor dictionary supplied with unrecognized long scalar selector(s)
t:tensor(1 2e;`grad)  /
opt(o;mul(t;2e))  / 'opt: parameter[0] is a not a leaf tensor
opt(o;(m;`a.bias))  /
opt(o;(m;`a))  / 'opt: parameter[1] already in group 0 (linear module parameter `a.bias)
opt(o;1;m)  / 'opt: parameter[1] already in group 0 (linear module parameter `a.bias)
opt(o;v)  /
opt(o;vector(addref t;t))  / 'opt: parameter[1] is duplicate of parameter[0]
opt[o]`parms  / parmgroup pointer  module   name     size\n-----------------------------------------\n0         80000000 linear   0.a.bias 2\n0         80000016 parmdict parms.0  2\n0         80000032 parmdict parms.1  2\n0         80000048 parmdict parms.2  2
lr o  / ,0.01
lr(o;1b)  / 'lr: unrecognized arg(s), expecting model/optimizer and learning rate(s) as double(s) (given optimizer, boolean scalar)
lr(o;1.;2.)  / 'lr: expecting optimizer, rates and a flag, given double scalar
lr(o;1.;0b;2.)  / 'lr: expecting 1-3 args, given 4
lr(o;0N)  / 'lr: Invalid learning rate: nan
lr`x  / 'lr: not implemented for symbol scalar
lr(o;.1 .2)  / 'lr: length error: 2 learning rates given for 1 parameter group
lr(o;-.1)  / 'lr: Invalid learning rate: -0.1
opt(`sgd;();0n)  / 'opt: Invalid learning rate: nan
opt(`sgd;();`momentum,0n)  / 'opt: Invalid momentum value: nan
opt(`asgd;();`alpha,0n)  / 'opt: Invalid alpha value: nan
opt(o;0;();0n)  / 'opt: Invalid learning rate: nan
step 1  / 'step: expects model or optimizer, given long scalar
step loss`ce  / 'step: expects model or optimizer, given loss
step m  /
zerograd loss`ce  / 'zerograd: not implemented for losses
step opt`lbfgs  / 'LBFGS optimizer requires model, loss & inputs
s:state o  /
t1:tensor(1 2e;`grad);o1:opt(`adam;t1;.1);backward Sum t1*t1;step o1;(state opt(state o1;t1))~state o1  / 1b
opt(`optimizer`options!(`sgd;1);m)  / 'opt: unable to find state attribute: parms
opt((`optimizer`options`parms)!(`sgd;`a`b!1 2;());m)  / 'opt: unrecognized settings for sgd optimizer, expecting table, given dictionary
opt((`optimizer`options`parms)!(`sgd;0#s`options;());m)  / 'opt: empty table of settings supplied for sgd optimizer (expected opt(o;flag))
opt((`optimizer`options`parms)!(`sgd;s`options;update parmgroup:2 from s`parms);m)  / 'opt: group[2] for linear parameter `0.a.bias is invalid, 1 group(s) defined
opt((`optimizer`options`parms)!(`sgd;s`options;update name:`x from s`parms);m)  / 'opt: unable to find linear parameter `x (given kdictionary, module)
opt(s;m)  / 'opt: unable to find linear parameter `0.a.bias (given kdictionary, module)
dim o  / 'dim: not implemented for optimizers
device o  / `cpu
options`foo  / 'options: unrecognized name `foo
free o  /
opt o  / 'stale pointer
opt(o;m)  / 'stale pointer
lr o  / 'stale pointer
step o  / 'stale pointer
opt(`lbfgs;();1.;`search,`foo)  / 'lbfgs search: unrecognized setting `foo, expecting one of `strong_wolfe
o:opt(`lbfgs;();1.;`iter`eval!(10;0N))  /
opt[o]`options  / lr iter eval gradtol changetol history search\n---------------------------------------------\n1  10   12   1e-07   1e-09     100
opt[(o;0b)]`options  / lr iter\n-------\n1  10
opt(o;1;();.1)  / 'opt: lbfgs optimizer has a single parameter group
module opt`sgd  / 'module: no module registered with given optimizer
parmnames opt`sgd  / 'parmnames: no module registered with given optimizer
options o  / lr iter eval gradtol changetol history search\n---------------------------------------------\n1  10   12   1e-07   1e-09     100
/ options come positionally, by name, in dictionaries
(first opt[opt(`adam;();.0002;.85;.99;1e-8;.02)]`options)~`lr`beta1`beta2`eps`decay`amsgrad!(.0002;.85;.99;1e-8;.02;0b)  / 1b
opt[(opt(`adam;();.0002;`decay,.02);0b)]`options  / lr     decay\n------------\n0.0002 0.02
opt[(opt(`adam;();`lr`decay!.01 .05);0b)]`options  / lr   decay\n----------\n0.01 0.05
opt[(opt(`sgd;();((`lr;.01);(`momentum;.9)));0b)]`options  / lr   momentum\n-------------\n0.01 0.9
opt[(opt(`sgd;();(`lr,.1),(`momentum,.9));0b)]`options  / lr  momentum\n------------\n0.1 0.9
opt[(opt(`sgd;();.1;`lr,.2);0b)]`options  / lr\n---\n0.2
opt[(opt(`sgd;();1;());0b)]`options  / lr\n--\n1
opt[(opt(`sgd;();`decay`lr!1 2h);0b)]`options  / lr decay\n--------\n2  1
opt[(opt(`rmsprop;();.1;.9;`centered,1b);0b)]`options  / lr  alpha centered\n------------------\n0.1 0.9   1
first opt[opt(`adagrad;();.1;.2;.3;.4;.5)]`options  / lr     | 0.1\nlrdecay| 0.2\ndecay  | 0.3\ninit   | 0.4\neps    | 0.5
exec first trustmax from opt[opt(`lamb;();`trustmax,.5)]`options  / 0.5
/ groups
o:opt(`sgd;();.1)  /
opt(o;();.3)  /
opt(o;1;();.01;.9)  /
opt(o;2;();`momentum,.5)  /
opt[o]`options  / lr   momentum dampening decay nesterov\n--------------------------------------\n0.3  0        0         0     0\n0.01 0.9      0         0     0\n0.1  0.5      0         0     0
lr o  / 0.3 0.01 0.1
lr(o;.5)  /
lr o  / 0.5 0.5 0.5
lr(o;enlist .25)  /
lr o  / 0.25 0.25 0.25
lr(o;.1 .2)  / 'lr: length error: 2 learning rates given for 3 parameter groups
lr(o;0#0.)  / 'lr: length error: 0 learning rates given for 3 parameter groups
lr(o;.1 .2 .3)  /
lr o  / 0.1 0.2 0.3
opt(o;1;();`nesterov,1b)  /
exec nesterov from opt[o]`options  / 010b
opt(o;2;();`dampening`nesterov!(.1;1b))  / 'opt: Nesterov momentum requires a momentum and zero dampening
opt(o;0;();-1.)  / 'opt: Invalid learning rate: -1
(count opt[o]`options;exec lr from opt[o]`options)  / 3\n0.1 0.2 0.3
count each opt[o]`options`parms  / 3 0
/ selection and names
m:module seq(`sequential;(`linear;`a;3;2);`relu;(`linear;`b;2;1))  /
exec name from opt[opt(`sgd;(m;`b`a.bias))]`parms  / `b.weight`b.bias`a.bias
exec name from opt[opt(`sgd;(m;2 0))]`parms  / `b.weight`b.bias`a.weight`a.bias
exec size from opt[opt(`sgd;m)]`parms  / 2 3\n,2\n1 2\n,1
exec name from opt[opt(`sgd;(vector(1 2e;3 4e;5 6e);2 0))]`parms  / `2`0
exec name from opt[opt(`sgd;(dict`a`b!(1 2e;3e);`b))]`parms  / ,`b
exec module,name from opt[opt(`sgd;tensor 1 2e)]`parms  / module| parmdict\nname  | 0
exec name from opt[opt(`sgd;(tensor 1 2e;0))]`parms  / ,`0
opt(`sgd;(tensor 1 2e;1))  / 'opt: vector[1] out of bounds, index must be less than 1
opt(`sgd;(tensor 1 2e;`a))  / 'opt: tensor vector supplied with unrecognized symbol scalar selector(s)
o:opt(`sgd;tensor 1 2e)  /
opt(o;vector enlist 1 2e)  /
opt(o;m)  /
exec name from opt[o]`parms  / `parms.0`parms.1`1.a.weight`1.a.bias`1.b.weight`1.b.bias
names module o  / `parms`1`1.a`1.1`1.b
size o  / 6
ref m  / 2
opt(o;1;(m;()))  /
size o  / 6
o:opt(`adamw;m)  /
opt(o;1;module seq(`sequential;(`linear;2;2)))  /
exec name from opt[o]`parms  / `0.a.weight`0.a.bias`0.b.weight`0.b.bias`1.0.weight`1.0.bias
o:opt(`adamw;module seq(`sequential`A;(`linear;2;2)))  /
opt(o;module seq(`sequential`A;(`linear;3;3)))  / 'opt: a sequential module named `A already registered with the optimizer
exec name from opt[o]`parms  / `0.weight`0.bias
exec pointer~ptr each(parm(m;`a.weight);parm(m;`a.bias)) from opt[opt(`sgd;(m;`a))]`parms  / 1b
/ state
t:tensor(1 2e;`grad)  /
o:opt(`adam;t;.1;`amsgrad,1b)  /
exec buffers from state[o]`parms  / (`symbol$())!()
backward Sum t  /
step o  /
first exec buffers from state[o]`parms  / step          | 1\nexp_avg       | 0.1 0.1e\nexp_avg_sq    | 0.001 0.001e\nmax_exp_avg_sq| 0.001 0.001e
(tensorcount o;elements o;bytes o)  / 3 7 32
o:opt(`sgd;t)  /
step o  /
exec buffers from state[o]`parms  / (`symbol$())!()
(tensorcount o;elements o;bytes o)  / 0 0 0
p:opt(state o;module o)  /
(opt[p]~'opt o)`options  / 1b
state[(opt(`adam;t);0b)]`options  / lr\n-----\n0.001
nograd o  /
(::)~grad t  / 1b
/ how to compute: by name only, shown where it is set
o:opt(`adam;();`maximize,1b)  /
opt[(o;0b)]`options  / lr    maximize\n--------------\n0.001 1
opt(o;1;();(`foreach;1b;`maximize;0b))  /
opt[(o;0b)]`options  / lr    foreach maximize\n----------------------\n0.001 ::      1\n0.001 1b      0
(opt[o]`options)~opt[opt(state o;m)]`options  / 1b
opt(o;0;();`maximize`foreach!0b,(::))  /
cols opt[(o;0b)]`options  / `lr`foreach
opt(`adam;();.001;.9;.999;1e-8;0;0b;1b)  / 'adam: expecting up to 8 positional args, 9 given
opt(`adam;();`foreach`fused!11b)  / 'opt: `fused` and `foreach` cannot be `True` together.
opt(`sgd;();`capturable`foreach!11b)  / 'sgd option: capturable not recognized
opt(`sgd;();(`foreach;1))  / 'sgd foreach: expected boolean scalar, given long scalar
/ torch's others
opt(`adadelta;();`rho,1.5)  / 'opt: Invalid rho value: 1.5
opt(`sgd;();`rho,.5)  / 'sgd option: rho not recognized
(options`adafactor)`eps1  / 0n
first exec eps1 from opt[opt(`adafactor;();`eps1,1e-8)]`options  / 1e-08
first exec eps1 from opt[opt(`adafactor;();`eps1,0n)]`options  / 0n
opt(`muon;m)  / 'opt: muon takes parameters of 2 dimensions, parameter[1] has 1
opt(`muon;();`adjust,`x)  / 'muon adjust: unrecognized setting `x, expecting one of `original`match_rms_adamw
first exec adjust from opt[opt(`muon;();(`adjust;`))]`options  / `
m:module enlist(`linear;2;1)  /
o:opt(`sparseadam;m)  /
backward Sum forward(m;1 2#1e)  /
step o  / 'step: SparseAdam does not support dense gradients, please consider Adam instead
opt(`rprop;();`etaminus,2.)  / 'opt: Invalid eta values: 2.0, 1.2
/ tensors of several calls are numbered in one dictionary, those of dictionaries keep their keys
o:opt(`sgd;tensor 1 2e)  /
opt(o;vector(1 2e;3 4e))  /
exec name from opt[o]`parms  / `0`1`2
opt(o;1;dict`a`b!(1 2e;3e))  /
exec name from opt[o]`parms  / `0`1`2`a`b
opt(o;dict`a`z!(1 2e;3e))  /
exec name from opt[o]`parms  / `parms.0`parms.1`parms.2`parms1.a`parms1.z`parms.a`parms.b
opt(o;module enlist(`linear;1;1))  /
opt(o;tensor 3e)  /
-3#exec name from opt[o]`parms where parmgroup=0  / `2.weight`2.bias`parms1.2
childnames module o  / `parms`parms1`2
s:state o;n:opt(s;module state module o);(update pointer:0 from s`parms)~update pointer:0 from state[n]`parms  / 1b
v:vector(1 2e;3 4 5e);n:opt(state opt(`adam;v);v)  /
opt(n;tensor 1 2e)  /
exec name from opt[n]`parms  / `0`1`2
p:module enlist(`parmdict;`a`b!(1 2e;3 4e));o:opt(`sgd;p)  /
opt(o;tensor 2e)  /
(exec name from opt[o]`parms;parmnames p)  / `0.a`0.b`parms.0\n`a`b
/ a state put back into the objects themselves: module and optimizer go on to the bit
m:module seq(`sequential;(`linear;3;4);(`batchnorm1d;4);(`linear;4;1));o:opt(`adamw;m;.1);x:tensor(`randn;8 3);y:tensor(`randn;8 1)  /
f:{[i]nograd o;l:mse(forward(m;x);y);backward l;step o;return l}  /
r:f each til 3;s:state m;t:state o;b:(dict parms m),dict buffers m;c:clone m;a:evaluate(m;x);r:f each til 3  /
putstate(m;s);putstate(o;t);a~evaluate(m;x)  / 1b
r~f each til 3  / 1b
putstate(m;b);a~evaluate(m;x)  / 1b
q:f each til 3;putstate(m;c);a~evaluate(m;x)  / 1b
tensor buffer(m;`1.num_batches_tracked)  / 3
putstate(o;state opt(`sgd;m))  / 'putstate: expecting a state of adamw, given one of sgd
putstate(o;state opt(`adamw;(m;`0)))  / 'putstate: the groups of the state have other parameters (given optimizer, kdictionary)
putstate(m;state module enlist(`linear;3;4))  / 'putstate: no 0.weight given (given module, kdictionary)
putstate(m;1_s)  / 'putstate: no 0.weight given (given module, table)
z:tensor(1 2e;`grad);putstate(p;state p:opt(`sgd;z))  / 'putstate: expecting an optimizer of the parameters of one module
/ a group made after a scheduler: the scheduler knows it too, and its state comes back
o:opt(`sgd;();1.); s:sched(o;`steplr;2;.5); opt(o;1;();.5)  /
lrs(s;til 3)  / step lr\n-------------\n0    1   0.5\n1    1   0.5\n2    0.5 0.25
step(s;2); lr o  / 0.5 0.25
p:opt(`sgd;();1.); opt(p;1;();.5); r:sched(p;state s); (state r)~state s  / 1b
step r; step r; lr p  / 0.25 0.125
sched(p;@[state s;`rates;:;1 2 3.])  / 'sched: unrecognized state, expecting a rate for each parameter group
sched(p;@[state s;`rates;:;`float$()])  / 'sched: unrecognized state, expecting a rate for each parameter group
o:opt(`sgd;();1.); s:sched(o;`chainedscheduler;(sched(o;`constantlr;.1;2);sched(o;`exponentiallr;.5))); opt(o;1;();.5)  /
lrs(s;til 3)  / step lr\n--------------\n0    0.1  0.5\n1    0.05 0.25\n2    0.25 1.25
/ schedulers go on after putstate of a state that was taken before
t:tensor(1 2e;`grad); o:opt(`sgd;();.1); m:module enlist(`linear;2;1); o:opt(`sgd;m;.1); u:state o; s:sched(o;`onecyclelr;1.;10;`cyclemomentum,0b)  /
step s; putstate(o;u); lr o  / ,0.1
step s; lr o  / ,1f
/ the rates that a second scheduler found come back with it
o:opt(`sgd;m;.1); s:sched(o;`exponentiallr;.5); step s; r:sched(o;`polynomiallr;6;2.); step r; ((state r)`groups)[0;`initial_lr]  / 0.1
p:opt(state o;m); ((state sched p)`groups)[0;`initial_lr]  / 0.1
/ options that need a buffer, set after steps
f:{[o]nograd o; backward mse(forward(m;2 2#1 2 3 4e);2 1#0e); mse(forward(m;2 2#1 2 3 4e);2 1#0e)}  /
o:opt(`rmsprop;m;.01); f o; step o; opt(o;0;();`momentum`centered!(.5;1b)); f o; step o; key first exec buffers from state[o]`parms  / `step`square_avg`momentum`grad_avg
o:opt(`adam;m;.01); f o; step o; opt(o;0;();`amsgrad,1b); max raze first[exec buffers from state[o]`parms]`max_exp_avg_sq  / 0e
type step(o;{f o})  / -8h
o:opt(`adamw;m;.01); f o; step o; parmtable(o;update amsgrad:1b from parmtable[(o;`amsgrad)] where name=`bias); type step(o;{f o})  / -8h
o:opt(`rmsprop;m;.01); f o; step o; s:sched(o;`cycliclr;.1;.3;2); f o; step o  /
/ an optimizer whose own handle is gone is that of its rule
o:opt(`sgd;m;.1;.9); s:scale(o;`linear); backward(s;mse(forward(m;2 2#1 2 3 4e);2 1#0e)); step s; free o; count lr s  / 1
to(m;`double); backward(s;mse(forward(m;2 2#1 2 3 4.);2 1#0.)); step s  /
exec parmgroup from parmtable m  / 0 0
