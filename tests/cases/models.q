/ making a model gives it the handles of its parts
q:module seq(`sequential;(`linear;`fc;2;1);`relu)  /
m:model(q;l:loss`mse;o:opt(`sgd;q;.1))  /
class m  / `model
mapped each(q;l;o;m)  / 0001b
class q  / 'stale pointer
key model m  / `module`loss`optimizer`train`test
exec name from model[m]`module  / ``fc`1
model[m]`loss  / module | `mse\noptions| (,`reduce)!,`mean
model[m][`optimizer]`optimizer  / `sgd
first exec lr from model[m][`optimizer]`options  / 0.1
exec name from model[m][`optimizer]`parms  / `fc.weight`fc.bias
key model[m]`train  / `batchsize`task`tasks`droplast`hidden`shuffle`shufflecuda`shuffleseed`sync`cl..
model[m][`test]`batchsize  / 100
key model[(m;0b)]`train  / `batchsize`task`tasks`droplast`hidden`shuffle`shufflecuda`shuffleseed`sync`cl..
(key model[m]`train)except key model[(m;0b)]`train  / `clipnorm`clipvalue
first exec options from model[(m;0b)][`module] where module=`linear  / in | 2\nout| 1
key state m  / `module`loss`optimizer`train`test
cols state[m]`module  / `depth`module`name`options`parms`buffers
cols state[m][`optimizer]`parms  / `parmgroup`pointer`module`name`size`buffers
cols model[m][`optimizer]`parms  / `parmgroup`pointer`module`name`size
count mapped each(q;l;o):(module m;loss m;opt m)  / 3
mapped each(q;l;o)  / 111b
(state q)~state[m]`module  / 1b
objtype m  / 'objtype: not implemented for models
objtype each(q;l;o)  / `sequential`mse`sgd
/ any order, kept handles
q:module enlist(`linear;2;1)  /
m:model(o:opt(`sgd;q;.1);addref q;loss`mse)  /
class q  / `module
q2:module m  /
(state q)~state q2  / 1b
/ replacing parts
model(m;loss`ce)  /
model[m][`loss]`module  / `ce
q:module enlist(`linear;2;1)  /
parm(q;`weight;1 2e)  /
parm(q;`bias;0e)  /
model(m;loss`mse;opt(`sgd;q;.5);q)  /
evaluate(m;1 2#3 4e)  / 11
/ calculating
backward(m;1 2#3 4e;1 1#10e)  / 1e
grad parm(m;`weight)  / 6 8
backward(m;1 2#3 4e;1 1#10e)  / 1e
grad parm(m;`weight)  / 12 16
zerograd m  /
grad parm(m;`weight)  / 0 0
nograd m  /
(::)~grad parm(m;`weight)  / 1b
backward(m;tensor 1 2#3 4e;tensor 1 1#10e)  / 1e
step m  /
tensor parm(m;`weight)  / -2 -2
tensor forward(m;1 2#1 1e)  / -5
tensor loss(m;1 2e;1 4e)  / 2e
tensor loss(m;tensor 1 2e;1 4e)  / 2e
training m  / 1b
training(m;0b)  /
training m  / 0b
parmnames m  / `weight`bias
names m  / `symbol$()
device m  / `cpu
size m  / 2
tensorcount m  / 2
elements m  / 3
bytes m  / 12
dict parms m  / weight| -2 -2\nbias  | -1
parmtypes m  / weight| linear\nbias  | linear
inputmodule m  / `linear
(distinct value ktype m;distinct value dtype m;all value gradflag m;distinct value gradient m)  / ,"e"\n,`float\n1b\n,`grad
(state module m)~state clone m  / 1b
freeze m  /
gradflag parm(m;`bias)  / 0b
unfreeze m  /
to(m;`double)  /
dtype module m  / weight| double\nbias  | double
evaluate(m;1 2#1 1f)  / -5
/ errors
model()  / 'module not specified
model 5  / 'model arg[0] unrecognized: long scalar (expected model m)
model(module`relu;loss`ce)  / 'optimizer not specified
model(module`relu;opt`sgd)  / 'loss not specified
model(loss`ce;opt`sgd)  / 'module not specified
model(module`relu;tensor 1;opt`sgd)  / 'model arg[1] unrecognized: tensor (expected model(module;loss;optimizer))
model(module`relu;loss`ce;5)  / 'model arg[2] unrecognized: long scalar (expected model(module;loss;optimizer))
model(m;5)  / 'model arg[1] unrecognized: long scalar (expected model(m;flag))
q:module`relu  /
model(q;loss`ce)  / 'optimizer not specified
class q  / `module
backward m  / 'linear: forward(tensor) not implemented given empty
forward m  / 'linear: forward(tensor) not implemented given empty
backward(m;1 2#1f;1 1#1f;1)  / 'backward: up to 3 args expected, (model;inputs;targets) but 4 given
addref m  / 'addref not implemented for model
free m  /
class m  / 'stale pointer
model m  / 'stale pointer

