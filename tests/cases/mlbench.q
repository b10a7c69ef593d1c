/ optimizers of several processes, in one: options, what is refused
opt(`signsgd;();-1.)  / 'opt: Invalid learning rate value: -1
opt(`signsgd;();.1;0;0;0;1b)  / 'opt: Nesterov momentum requires a momentum and zero dampening
opt(`sparsifiedsgd;();.1;`k,0)  / 'sparsifiedsgd k: 0 is below 1
opt(`sparsifiedsgd;();.1;`average,1b)  / 'sparsifiedsgd option: average not recognized
opt(`powersgd;();.1;`rank,0)  / 'powersgd rank: 0 is below 1
opt(`powersgd;();.1;`seed,-1)  / 'powersgd seed: -1 is below 0
opt(`powersgd;();.1;`world,1)  / 'opt: unrecognized optimizer setting: world
opt(`decentralizedsgd;();.1;(`weights;`none))  / 'decentralizedsgd weights: unrecognized setting `none, expecting one of `uniform`metropolis
t:tensor(1 2e;`grad)  /
opt(`decentralizedsgd;t;.1;`neighbors,0)  / 'opt: neighbors: 0 lists 0, expecting others of 0 to 0
opt(`decentralizedsgd;t;.1;`neighbors,3)  / 'opt: neighbors: 0 lists 3, expecting others of 0 to 0
o:opt(`decentralizedsgd;t;.1;(`neighbors;()))  /
size o  / 1
first exec neighbors from opt[o]`options  / `long$()
opt(o;0;();`neighbors,2)  / 'opt: neighbors: 0 lists 2, expecting others of 0 to 0
first exec neighbors from opt[o]`options  / `long$()
first exec bylayer from opt[opt`centralizedadam]`options  / 0b
exec first agggrad from opt[opt(`centralizedsgd;();`agggrad,0b)]`options  / 0b
/ agg
agg()  / 'agg: expecting an optimizer, given null/unary primitive
agg t  / 'agg: expecting an optimizer, given tensor
o:opt(`sgd;t;.5)  /
agg o  / 'agg: no aggregation set (given optimizer)
agg(o;`both)  / 'agg average: unrecognized setting `both, expecting one of `world`custom
agg(o;`world;`k,1)  / 'agg option: k not recognized
agg(o;`custom;`agggrad,0b)  / 'agg: weights can only be averaged over the world (given optimizer, `custom, general list of 2)
agg(o;`world;`clip,-1.)  / 'agg: Invalid clip value: -1
key opt o  / `optimizer`options`parms
step(o;4)  / 'step: sgd takes no denom (given optimizer, long 4)
agg(o;`custom)  /
step o  / 'step: agg: a custom average needs a denominator above 0 at each step (given optimizer)
step(o;0)  / 'step: agg: a custom average needs a denominator above 0 at each step (given optimizer, long 0)
step(o;4;2)  / 'step: sgd takes no multiplier (given optimizer, long 4, long 2)
step(o;`a)  / 'step: expecting an optimizer, and a function or numbers: denominator and multiplier (given optimizer, `a)
step(o;4;1;1)  / 'step: expecting an optimizer, and a function or numbers: denominator and multiplier (given optimizer, long 4, long 1, long 1)
key opt o  / `optimizer`options`parms`wrap
agg[o]`average  / `custom
agg(o;`world;0b;0b)  /
value agg o  / `world\n0b\n0b\n0b\n0w
/ fp16
h:tensor(1 2e;`half`grad)  /
fp16()  / 'fp16: expecting parameters and an optimizer (given nothing)
fp16(h;1)  / 'fp16: expecting the name of an optimizer, and options, given long scalar
fp16(h;`nosuch)  / 'fp16: unrecognized optimizer: nosuch
fp16(h;`lbfgs)  / 'fp16: lbfgs calls back for the loss
fp16(h;`sgd;`factor,1.)  / 'fp16: Invalid factor value: 1
fp16(h;`sgd;`window,0)  / 'fp16 window: 0 is below 1
fp16(h;`sgd;`min`max!8 2.)  / 'fp16: Invalid min value: 8, expecting no more than max 2
fp16(h;`sgd;`foo,0)  / 'fp16 option: foo not recognized
fp16 o  / 'fp16: not set (given optimizer)
fp16(o;`init,8.)  / 'fp16: `agg already around the optimizer
p:fp16(h;(`sgd;.1);16)  /
lossscale p  / 16f
agg(p;`world)  / 'agg: fp16 aggregates by options of its own (given optimizer, `world)
fp16[p]`init`window  / 16f\n128
lossscale o  / 'lossscale: expecting an optimizer made by fp16 (given optimizer)
masters o  / 'masters: expecting an optimizer made by fp16 (given optimizer)
backward(p;1)  / 'backward: expecting an optimizer and a loss (given optimizer, long 1)
backward(p;Sum h)  /
grad h  / 16 16e
step p  / 1b
opt(p;1;();.5)  /
lr p  / 0.1 0.5
u:opt(`sgd;h;.1)  /
fp16(u;`init,4.)  /
lossscale u  / 4f
/ others
estimated o  / 'estimated: sgd has no estimates (given optimizer)
e:opt(`sparsifiedsgd;t;.1)  /
estimated(e;`a)  / 'estimated: expecting an optimizer, the number of the step and that of coordinates (given optimizer, `a)
estimated(e;-1)  / 'estimated: Invalid t value: -1
topo`web  / 'topo: unrecognized topology web, expecting one of ring, full, line, star
topo(`ring;4;4)  / 'topo: there is no process 4 among 4
topo 1  / 'topo: expecting the name of a topology, or (name;rank;world) (given long 1)
orthogonalize 1 2f  / 'orthogonalize: expecting a matrix of floats (given double list of 2)
orthogonalize(1 2;3 4)  / 'orthogonalize: expecting a matrix of floats (given long 2x2)
timings(o;1)  / 'timings: expecting an optimizer and a boolean (given optimizer, long 1)
timings 1  / 'timings: expecting an optimizer, given long scalar
/ what powersgd reuses takes part in a step of another type
m:module enlist(`linear;3;2);o:opt(`powersgd;m;.1;`reuse`always!11b);backward Sum forward(m;2 3#1e);step o  /
to(m;`half);nograd o;backward Sum forward(m;tensor(2 3#1e;`half));step o  /
dtype parm(m;`weight)  / `half
