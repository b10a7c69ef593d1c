/ several processes: one alone, and what is refused
rank[]  / 0
rank 3 1 2  / 2 0 1
rank 5  / 'rank
world[]  / 1
world 1  / 'world: takes no argument (given long 1)
worldrank()  / 0
barrier`a  / 'barrier: takes no argument (given `a)
barrier[]  /
allreduce 5  / 5
allreduce 1 2 3f  / 1 2 3f
allreduce(1 2;`max)  / 1 2
tensor allreduce(tensor 1 2e;`avg)  / 1 2e
allreduce(1 2;`middle)  / 'allreduce: unrecognized operation middle, expecting one of sum, avg, min, max, prod
allreduce(1 2;`sum;3)  / 'allreduce: expecting a tensor or array, and sum, avg, min, max or prod
allreduce`a`b  / 'allreduce: expecting a tensor or array, given symbol list
allreduce loss`mse  / 'allreduce: expecting a tensor or array, given loss
vector allreduce vector(1 2;3 4)  / 1 2\n3 4
allgather([]a:1 2)  / +(,`a)!,1 2
count allgather`a  / 1
size allgather tensor 1 2  / 1 2
allgather loss`mse  / 'allgather: not implemented for losses
broadcast(`a`b;0)  / `a`b
broadcast(1 2;1)  / 'broadcast: source 1 is no process of 1
broadcast 1 2 3  / 'broadcast: expecting a value and the number of a process (given long list of 3)
broadcast(1 2;`a)  / 'broadcast: expecting a value and the number of a process (given long list of 2, `a)
m:module enlist(`linear;2;1)  /
broadcast(m;0)  /
broadcast(m;2)  / 'broadcast: source 2 is no process of 1
broadcast(loss`mse;0)  / 'broadcast: losses cannot be sent (given loss, long 0)
send(1;1)  / 'send: target 1 is no process of 1 (given long list of 2)
recv 0  / 'recv: source 0 is this process itself
recv(1;0)  / 'recv: expecting a tensor to fill, given long scalar
shard`a`b  / `a`b
shard"abc"  / "abc"
tensor shard tensor(1 2;3 4)  / 1 2\n3 4
shard 5  / 'shard: expecting a list, table or tensor, given long scalar
shard tensor 5  / 'shard: tensor has no dimensions
say`a`b!1 2  / [0] a| 1\n[0] b| 2

/ around a module, with one process: nothing is different
net:{seed 5;module seq(`sequential;(`linear;3;4);`relu;(`linear;4;2))}  /
go:{[m]o:opt(`adam;m;.1);do[3;nograd o;backward Sum forward(m;2 3#"e"$til 6);step o];dict parms m}  /
a:go net[]  /
m:net[];ddp m;a~go m  / 1b
m:net[];ddp(m;`unused`bucket!(1b;5));a~go m  / 1b
ddp(m;0b);count go m  / 4
m:net[];fsdp m;a~go m  / 1b
q:model(module enlist(`linear;2;1);loss`mse;opt`sgd);ddp q;fsdp module enlist(`linear;2;1)  /
objtype each(m;clone m)  / `sequential`sequential
s:state m:net[];ddp m;s~state m  / 1b
evaluate[(m;1 3#1e)]~evaluate(net[];1 3#1e)  / 1b
ddp 3  / 'ddp: expecting module or model, given long scalar
ddp module`relu  / 'ddp: there are no parameters (given module)
ddp(m;`bucket,-1)  / 'ddp bucket: -1 is below 0
ddp(m;`nosuch,1b)  / 'ddp option: nosuch not recognized
fsdp`m  / 'fsdp: expecting module or model, given symbol scalar
fsdp(m;1b)  / 'fsdp: expecting 1 arg, given 2
fsdp module`relu  / 'fsdp: there are no parameters (given module)
fsdp m  / 'fsdp: gradients are averaged already (given module)
parm(n:net[];`0.weight;4 3#1f);to(child(n;`2);`double);fsdp n  / 'fsdp: parameters of several data types: float32, float64 (given module)
/ checkpoints
f:`:ranks.run  /
m:net[];o:opt(`adam;m);backward Sum forward(m;1 3#1e);step o;ckptsave(f;`m`o`d!(m;o;([]a:1 2)))  / `:ranks.run
(ckptload f)`d  / a\n-\n1\n2
n:net[];p:opt(`adam;n;.5);ckptload(f;`m`o!(n;p));(dict parms n;lr p)~(dict parms m;lr o)  / 1b
ckptload(f;`m`x!(n;p))  / 'ckptload: there is no x in the checkpoint (given `:ranks.run, kdictionary)
ckptload(f;`o`m!(n;p))  / 'ckptload: o is a module, in the checkpoint an optimizer (given `:ranks.run, kdictionary)
ckptload(f;n)  / 'ckptload: there is no object without a name in the checkpoint (given `:ranks.run, module)
ckptload(f;`m`o!(n;opt(`sgd;n)))  / 'ckptload: the optimizer is sgd, in the checkpoint adam (given `:ranks.run, kdictionary)
ckptload(f;`m`o!(n;opt(`adam;(n;`2))))  / 'ckptload: the parameter groups of adam are others than in the checkpoint (given `:ranks.run, kdictionary)
ckptsave(f;m);p:net[];ckptload(f;p);(dict parms m)~dict parms p  / 1b
count key f  / 2
ckptload`:nosuch.run  / 'ckptload: nosuch.run is not a folder
ckptload f,f  / 'ckptload: expecting an object or a dictionary of objects and values by name, given symbol scalar
ckptsave f  / 'ckptsave: expecting (folder;objects), given 1 arg
ckptsave(f;`a`a!1 2)  / 'ckptsave: a is there twice (given `:ranks.run, kdictionary)
ckptsave(f;`a`b!(1;(2;enlist m)))  / 'ckptsave: b holds objects, which are to be given by names of their own (given `:ranks.run, kdictionary)
ckptsave(3;m)  / 'ckptsave: expected a file symbol, given long scalar
ckptsave(f;opt(`powersgd;m))  / 'ckptsave: powersgd has a state by process; save `state` of it on each (given `:ranks.run, optimizer)
hdel each` sv'f,'key f;hdel f  / `:ranks.run
