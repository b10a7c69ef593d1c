/ STREAMER's optimizer: layers, losses, weights, groups, what is refused
opt(`streamer;();`alpha,-1)  / 'opt: Invalid alpha value: -1
opt(`streamer;();`alpha,0)  / 'opt: Invalid alpha value: 0
opt(`streamer;();`optimize,0)  / 'streamer optimize: 0 is below 1
opt(`streamer;();`average,0)  / 'streamer average: 0 is below 1
opt(`streamer;();`maxlayers,0)  / 'streamer maxlayers: 0 is below 1
opt(`streamer;();`lr,-1)  / 'opt: Invalid learning rate: -1
opt(`streamer;();`inner,`lbfgs)  / 'streamer inner: unrecognized setting `lbfgs, expecting one of `adam`adamw`nadam`radam`adamax`adagrad`adadelta`sgd
opt(`streamer;();`inner`momentum!(`adam;.9))  / 'streamer: adam inside has no momentum
opt(`streamer;();`inner`beta1!(`sgd;.9))  / 'streamer: sgd inside has no betas
opt(`streamer;();`timescale,1)  / 'streamer timescale: expected boolean scalar, given long scalar
opt(`streamer;();`world,1)  / 'opt: unrecognized optimizer setting: world
opt(`streamer;();`momentum,-1.)  / 'streamer: adam inside has no momentum
opt(`streamer;();(`inner;`sgd;`momentum;-1.))  / 'opt: Invalid momentum value: -1
count lr opt`streamer  / 2
f:tensor(1 2e;`grad)  /
p:tensor(3 4e;`grad)  /
g:tensor(5 6e;`grad)  /
opt(`streamer;((f;p);3))  / 'opt: layer 1 of streamer: expecting (encoder;predictor), given long scalar
opt(`streamer;((f;p);(p;g)))  / 'opt: parameter[0] already in group 1 (parmdict module parameter `1)
opt(`streamer;((f;());(p;());(g;());(tensor(0e;`grad);())))  / 'opt: no more than 3 layer(s), the option maxlayers (given `streamer, general list of 4)
opt(`streamer;enlist(();()))  / 'opt: layer 0 of streamer: expecting (encoder;predictor), given general list
opt(`streamer;1 2f)  / 'opt: expecting module, model or tensors after optimizer & optional group number, given double list
exec parmgroup from opt[opt(`streamer;f)]`parms  / ,0
exec parmgroup from opt[opt(`streamer;(f;p))]`parms  / 0 1
exec parmgroup from opt[opt(`streamer;enlist(();p))]`parms  / ,1
o:opt(`streamer;enlist(f;p);`sgd;.5;2;2)  /
opt[(o;0b)]`options  / inner lr  alpha optimize\n------------------------\nsgd   0.5 2     2\nsgd   0.5 2     2
exec first momentum from opt[o]`options  / 0f
exec first beta1 from opt[o]`options  / 0n
/ losses
loss(o;1;Sum f)  / 'loss: layer 1 is not there, layers: 1
loss(o;-1;Sum f)  / 'loss: layer -1 is not there, layers: 1
loss(o;0;f)  / 'loss: a loss is a single number that was calculated from parameters (given optimizer, long 0, float tensor 2)
loss(o;0;tensor 1e)  / 'loss: a loss is a single number that was calculated from parameters (given optimizer, long 0, float tensor of no dimensions)
loss(o;0;Sum f;0)  / 'loss: Invalid timescale value: 0
loss(o;0;Sum f;`a)  / 'loss: expecting an optimizer, the number of a layer, its loss and the time scale (given optimizer, long 0, float tensor of no dimensions, `a)
loss(o;0;1.)  / 'loss: expecting an optimizer, the number of a layer, its loss and the time scale (given optimizer, long 0, double 1)
loss(o;0)  / 'loss: expecting an optimizer, the number of a layer, its loss and the time scale (given optimizer, long 0)
loss o  / 'loss: expecting an optimizer, the number of a layer, its loss and the time scale (given optimizer)
loss(opt(`sgd;g);0;Sum g)  / 'loss: expecting an optimizer of layers (streamer), given sgd
backward(o;Sum f)  / 'backward: the losses of a streamer are given by layer, and step does the backward passes (given optimizer, float tensor of no dimensions)
step o  / 0b
loss(o;0;Sum mul(f;p);3)  /
step o  / 0b
grad f  / 9 12e
grad p  / 3 6e
state[o]`extra  / f        | ,3f\np        | ,3f\nsteps    | ,1\nwaited   | 0\ngradients| (9 12e;3 6e)
loss(o;0;Sum mul(f;p);1)  /
step o  / 1b
tensor f  / -0.5 0e
tensor p  / 2.5 3e
grad f  /
state[o]`extra  / f     | ,0f\np     | ,0f\nsteps | ,0\nwaited| 0
/ layers
groups(o;0)  / 0\n1
groups(o;1)  / 'groups: layer 1 is not there, layers: 1
groups(o;`a)  / 'groups: expecting the number of a layer, given symbol scalar
groups o  / 'groups: expecting an optimizer and the number of a layer (given optimizer)
groups f  / 'groups: expecting an optimizer of layers (streamer), given tensor
addlayer(o;(g;f))  / 'opt: parameter[1] already in group 0 (parmdict module parameter `0)
addlayer(o;g)  / 'addlayer: expecting (encoder;predictor), given tensor
addlayer(o;(();()))  / 'addlayer: expecting (encoder;predictor), given general list
addlayer(opt`adam;(g;()))  / 'addlayer: expecting an optimizer of layers (streamer), given adam
addlayer(o;(g;()))  /
groups(o;1)  / 1         0\n0.6666667 0.3333333
lr o  / 0.5 0.5 0.5 0.5
lr(o;.1 .2 .3 .4)  /
lr o  / 0.1 0.2 0.3 0.4
h:tensor(7 8e;`grad)  /
k:tensor(1 1e;`grad)  /
opt(o;4;h;`inner`lr!(`adam;.5))  / 'streamer: adam inside has no momentum
opt(o;0;();(`inner;`adam;`momentum;0n))  / 'opt: the inner optimizer of a layer cannot be changed
exec distinct inner from opt[o]`options  / ,`sgd
opt(o;4;h;`lr,.6)  /
groups(o;0)  / 0         1         2\n0.5714286 0.2857143 0.1428571
addlayer(o;(k;()))  / 'addlayer: no more than 3 layer(s), the option maxlayers (given optimizer, general list of 2)
opt(o;0;();`maxlayers,2)  / 'opt: no more than 2 layer(s), the option maxlayers
opt(o;0;();`maxlayers,4)  /
opt(o;0;();`reach,0b)  /
last groups(o;0)  / 0.3333333 0.3333333 0.3333333
exec distinct maxlayers from opt[o]`options  / ,4
addlayer(o;(k;()))  /
lr o  / 0.1 0.2 0.3 0.4 0.6 0.5 0.5 0.5
/ what is around it
scale(o;`linear)  / 'scale: the steps of streamer cannot be scaled (given optimizer, `linear)
fp16(o;`init,4.)  / 'fp16: streamer takes losses by layer (given optimizer, general list of 2)
step(o;4)  / 'step: streamer takes no denom (given optimizer, long 4)
agg(o;`world;`clip,1.)  /
step o  / 0b
loss(o;3;Sum mul(k;30 40e))  /
s:sched(o;`exponentiallr;.5)  /
step s  /
lr o  / 0.05 0.1 0.15 0.2 0.3 0.25 0.25 0.25
step o  / 0b
loss(o;3;Sum mul(k;30 40e))  /
step o  / 1b
tensor k  / 0.85 0.8e
m:module enlist(`linear;2;1)  /
run(model(m;loss`mse;opt(`streamer;m));2 2#1e;2 1#1e)  / 'run: streamer optimizer takes losses by layer, not that of a model
/ tables of parameters
t:parmtable w:opt(`streamer;((vector(tensor(1 2e;`grad);tensor(3 4e;`grad));tensor(5e;`grad));(tensor(6e;`grad);()));`lr,.5)  /
exec parmgroup from t  / 0 0 1 2
parmtable(w;update lr:.1 from t where i=0)  / 'parmtable: parameters in a group of streamer have the same options (given optimizer, table)
parmtable(w;update lr:.1 from t where parmgroup=0)  /
lr w  / 0.1 0.5 0.5 0.5
parmtable(w;update alpha:5. from t where parmgroup=0)  / 'parmtable: streamer has one alpha for all groups (given optimizer, table)
exec distinct alpha from opt[w]`options  / ,3f
parmtable(w;update alpha:5. from t)  /
exec alpha from opt[w]`options  / 5 5 5 5f
/ from a state
r:opt(state o;vector(f;p;g;h))  / 'opt: unable to find parmdict parameter `4
u:opt(`streamer;((tensor(1e;`grad);tensor(1e;`grad));(tensor(1e;`grad);()));`optimize,2)  /
zerograd u  /
nograd u  /
step u  / 0b
