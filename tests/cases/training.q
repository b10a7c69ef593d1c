/ options
m:model(module`identity;loss`mse;opt`sgd)  /
train(m;`batchsize)  / 32
test(m;`batchsize)  / 100
train(m;`clipnorm`batchsize`metrics)  / clipnorm | ::\nbatchsize| 32\nmetrics  | ,`loss
train(m;`batchsize`shuffle!100,1b)  /
train(m;`batchsize`shuffle)  / batchsize| 100\nshuffle  | 1b
train(m;`batchsize`shuffle;(256;0b))  /
train(m;`batchsize`shuffle)  / batchsize| 256\nshuffle  | 0b
train(m;`metrics;`output`accuracy`loss)  /
train(m;`metrics)  / `output`accuracy`loss
train(m;`metrics;())  /
train(m;`metrics)  / `symbol$()
train(m;`metrics;`loss)  /
train(m;`clipgroup`clipnorm;(0b;2))  /
train(m;`clipgroup`clipnorm)  / clipgroup| 0b\nclipnorm | 2 2f
train(m;`clipvalue;.5)  /
train(m;`clipnorm`clipvalue)  / clipnorm | ::\nclipvalue| 0.5
train(m;`clipnorm;3 0w)  /
train(m;`clipnorm`clipvalue)  / clipnorm | 3 0w\nclipvalue| ::
train(m;`clipnorm;())  /
(train(m;`clipnorm))~(::)  / 1b
key test m  / `batchsize`task`tasks`droplast`hidden`tensor`dictionary`metrics
(key train(m;1b))except key train(m;0b)  / `clipnorm`clipvalue
train[(m;0b)]`batchsize`tensor  / 256\n0b
train(m;`clipvalue;3)  /
(key train(m;1b))except key train(m;0b)  / ,`clipnorm
train(m;`clipvalue;::)  /
train(m;`shuffleseed;-3)  /
train(m;`shuffleseed)  / -3
train(m;`shuffleseed;0)  /
count train(m;1b)  / 15
train(m;`batch)  / 'train: unrecognized train setting: batch (near `batchsize)
test(m;`batch)  / 'test: unrecognized test setting: batch (near `batchsize)
test(m;`shuffle;1b)  / 'shuffle: not set for evaluation
train(m;`batchsize;-1)  / 'batchsize: cannot be less than zero, given -1
train(m;`batchsize;2.)  / 'batchsize: expects one long integer, given double scalar
train(m;`tasks;0)  / 'tasks: cannot be less than one, given 0
train(m;`task;1)  / 'train: task 1 implies at least 2 tasks, but only 1 defined
train(m;`shuffle;1)  / 'shuffle: expects one boolean, given long scalar
train(m;`metrics;`lost)  / 'train: unrecognized metric: lost (near `loss)
train(m;`metrics;1)  / 'metrics: expects symbol(s), given long scalar
train(m;`clipnorm;1 2 3)  / 'clipnorm: expecting 1-2 numbers, given long list
train(m;`clipnorm;`a)  / 'clipnorm: expecting 1-2 numbers, given symbol scalar
train(m;`batchsize`shuffle;1 2 3)  / 'train: 2 symbol(s) but 3 value(s)
train(m;`batchsize`shuffle;(7;7))  / 'shuffle: expects one boolean, given long scalar
train(m;`batchsize)  / 256
train 1  / 'train: 1st argument must be a model
/ options that are shown only where they are set
train(m;`accumulate`autocast`gradscale)  / accumulate| 1\nautocast  | `\ngradscale | ::
test(m;`autocast)  / `
train(m;`accumulate`autocast`gradscale;(4;`bfloat16;1024))  /
-3#train(m;1b)  / accumulate| 4\nautocast  | `bfloat16\ngradscale | 1024 0f
count train(m;1b)  / 18
train(m;`gradscale;8 100)  /
train(m;`gradscale)  / 8 100f
train(m;`autocast;`float16)  /
train(m;`autocast)  / `half
train(m;`accumulate;0)  / 'accumulate: cannot be less than one, given 0
train(m;`accumulate;2.)  / 'accumulate: expects one long integer, given double scalar
train(m;`autocast;`float)  / 'autocast: unrecognized data type `float, expecting one of `bfloat16`half
train(m;`autocast;1b)  / 'autocast: expected symbol for data type, given boolean scalar
train(m;`gradscale;0)  / 'gradscale: expecting a finite scale above zero, given 0
train(m;`gradscale;0n)  / 'gradscale: expecting a finite scale above zero, given nan
train(m;`gradscale;2 -1)  / 'gradscale: expecting a count of steps, given -1
train(m;`gradscale;1 2 3)  / 'gradscale: expecting 1-2 numbers, given long list
test(m;`accumulate;2)  / 'accumulate: not set for evaluation
test(m;`gradscale;2)  / 'gradscale: not set for evaluation
test(m;`autocast;`half)  /
-1#test m  / autocast| half
test(m;`autocast;`)  /
train(m;`accumulate`autocast`gradscale;(1;`;()))  /
count train(m;1b)  / 15
/ data
train(m;`batchsize;3)  /
batchinit m  / -1
train(m;til 7)  / 3
data m  / 0 1 2 3 4 5 6\n::
(::)~target m  / 1b
target(m;10+til 7)  / 3
data m  / 0  1  2  3  4  5  6\n10 11 12 13 14 15 16
return target m  / 10 11 12 13 14 15 16
datasize m  / 7
testsize m  / 0
train(m;100#0;10#1)  / 'tensor size mismatch, 100 vs 10
train(m;til 3;`a)  / 'train: unrecognized arg, symbol scalar (expected train(m;names;values))
train(m;1;2;3)  / 'train: up to 3 args expected, (model;inputs;targets) but 4 given
data m  / 0  1  2  3  4  5  6\n10 11 12 13 14 15 16
data(m;(.1 .2 .3;3 5#1 2 3 where 3#5);10 11 12)  / 1
class input m  / `vector
size input m  / ,3\n3 5
input(m;v:vector(til 6;6 2#1e))  / 'tensor size mismatch, 6 vs 3
train(m;(v;0);til 6)  / 2
train(m;(v;1 0);til 6)  / 2
size input m  / 6 2\n,6
train(m;(v;5))  / 'train: vector[5] invalid for 2-element vector
train(m;dict`a`b!vector v)  / 2
class input m  / `dictionary
train(m;`droplast;1b)  /
train(m;til 8)  / 2
train(m;`droplast;0b)  /
/ batches in place
x:tensor til 7  /
train(m;x)  / 3
batch m  / 1b
tensor x  / 0 1 2
datasize m  / 3
restore m  / 7
tensor x  / 0 1 2 3 4 5 6
r:();while[batch m;r,:enlist tensor x]  /
r  / 0 1 2\n3 4 5\n,6
batch m  / 1b
batchinit m  / 3
tensor x  / 0 1 2 3 4 5 6
testbatch m  / 0b
test(m;til 4)  / 1
testinit m  / 1
testbatch m  / 1b
testrestore m  / 4
testbatch 3  / 'testbatch: expected model as argument, given long scalar
/ a batch by its number
batch(m;1)  /
tensor x  / 3 4 5
batch m  / 1b
tensor x  / ,6
batch m  / 0b
batch[m;2]  /
tensor x  / ,6
batch(m;3)  / 'batch: there is no batch 3 in this pass, which has 3, from 0
batch(m;-1)  / 'batch: there is no batch -1 in this pass, which has 3, from 0
batch(m;`a)  / 'batch: expected a model and the number of a batch, given symbol scalar
batch(m;1;2)  / 'batch: expected a model and the number of a batch, given 3 arguments
restore m  / 7
test(m;`batchsize;3);testbatch(m;1)  /
return testinput m  / ,3
testbatch[m;2]  / 'testbatch: there is no batch 2 in this pass, which has 2, from 0
test(m;`batchsize;100);testrestore m  / 4
batch(model(module`identity;loss`mse;opt`sgd);0)  / 'batch: there is no batch 0 in this pass, which has 0, from 0
/ batches of tensors
t:tensor til 10  /
r:();while[batch(t;3);r,:enlist tensor t]  /
r  / 0 1 2\n3 4 5\n6 7 8\n,9
batch(t;3;2)  /
tensor t  / 6 7 8
batch(t;3;4)  / 'batch[4] invalid, valid range is from 0-2
batch(t;3;-1)  / 'batch[-1] invalid, valid range is from 0-2
restore t  / 10
batch(t;10)  / 'batch: size 10 not in the range 1-9 (tensor size is 10 for dimension 0)
batch(t;0)  / 'batch: size 0 not in the range 1-9 (tensor size is 10 for dimension 0)
batch(t;3 1)  / 'batch: dimension 1 is not in the range 0-0 (given long tensor 10, long list of 2)
batch(t;3 -1)  / 'batch: dimension cannot be negative (given long tensor 10, long list of 2)
batch(t;`a)  / 'batch: 2nd arg is batch size or batch size & dimension, but given symbol scalar
batch(t;1 2 3)  / 'batch: 2nd arg is batch size or batch size & dimension, but given 3 elements
batch(t;3;`a)  / 'batch: 3rd arg is batch index, but given symbol scalar
batch(tensor 5;1)  / 'batch: tensor has no dimensions
batch 5  / 'batch: not implemented for long scalar
t:tensor 1 11+\:til 10  /
batch(t;3 1)  / 1b
tensor t  / 1  2  3\n11 12 13
contiguous t  / 0b
restore t  / 10
size t  / 2 10
d:dict`x`y!(.1+til 10;til 9)  /
batch(d;4)  / 'dictionary[y] size=9, but previous tensor(s) have size=10 for dim 0
dict(d;`y;til 10)  /
batch(d;4)  / 1b
dict d  / x| 0.1 1.1 2.1 3.1\ny| 0   1   2   3
restore d  / 10
v:vector(til 5;til 5)  /
batch(v;2;2)  /
vector v  / 4\n4
restore(v;0)  / 5
restore 5  / 'restore: expecting tensor, vector, dictionary or model, given long scalar
restore(t;`a)  / 'restore: 2nd arg is dimension, but given symbol scalar
restore(m;1)  / 'restore: model data is only batched on dimension 0, but given dimension 1
/ shuffling
seed 3;t:tensor til 7;shuffle t  /
asc tensor t  / `s#0 1 2 3 4 5 6
til[7]~tensor t  / 0b
batch(t;3;0);shuffle t  /
count tensor t  / 7
d:dict`a`b!(3 4#til 12;0 1 2);shuffle d  /
(3 4#til 12)[dict(d;`b)]~dict(d;`a)  / 1b
shuffle(t;1)  / 'shuffle: dimension 1 is not in the range 0-0
shuffle 5  / 'shuffle: expecting tensor, vector, dictionary or model, given long scalar
train(m;til 7;100+til 7)  / 3
shuffle m;shuffle m  /
(-).reverse data m  / 100 100 100 100 100 100 100
data[m;0]~til 7  / 'rank
unshuffle m  /
first data m  / 0 1 2 3 4 5 6
unshuffle t  / 'unshuffle: requires model argument, given tensor
/ clipping
x:tensor(3 4e;`grad)  /
backward(x;3 4e)  /
clip(x;10)  / 5f
grad x  / 3 4e
clip(x;1;0w)  / 4f
clipv(x;.9)  / 0n
grad x  / 0.7499998 0.9e
clip x  / 'clip gradient norm: expects 2-4 args, given 1
clip(x;`a)  / 'clip gradient norm: 2nd arg, max norm, is symbol scalar, expecting long/double
clip(x;1;`a)  / 'clip gradient norm: 3rd arg, group flag or norm exponent expected, given symbol scalar
clip(x;1;2;3)  / 'clip gradient norm: 4th arg, group flag, is long scalar, expecting boolean
clipv(x;1;2)  / 'clip gradient value: expects 2 args, given 3
clipv 1  / 'clip gradient value: expects tensor(s), module, model or optimizer as 1st of 2 args
a:module enlist(`linear;`a;2;1);b:module enlist(`linear;`b;1;1)  /
o:opt`sgd;opt(o;0;a);opt(o;1;b)  /
backward Sum forward(b;forward(a;1 2#3 4e))  /
count clip(o;1;1b)  / 2
all .9999<clip(o;.5;1b)  / 1b
.71>clip(o;.1)  / 1b
clip m  /
/ runs
q:module enlist(`linear;1;1);parm(q;`weight;0e);parm(q;`bias;0e)  /
m:model(q;loss`mse;opt(`sgd;q;.25))  /
x:tensor 4 1#1e;y:tensor 4 1#1e  /
train(m;`batchsize;2)  /
run(m;x;y)  / 0.5
raze evaluate(m;2 1#1e)  / 1 1e
testrun(m;x;y)  / 0f
test(m;`metrics`dictionary;(`loss`output`batchloss;1b))  /
testrun m  / loss     | 0f\noutput   | (,1e;,1e;,1e;,1e)\nbatchloss| ,0e
train(m;`metrics`tensor;(`loss`batchloss;1b))  /
class run m  / `vector
train(m;`dictionary;1b)  /
class run m  / `dictionary
train(m;`metrics`tensor`dictionary;(();0b;0b))  /
run m  / ()
run(m;x)  / 'mse: loss calculation expects 2 tensors, 1 given
run 5  / 'run: model expected as 1st argument, given long scalar
backstep(m;x;2*return y)  / 1e
backstep(m;x)  / 'backstep expecting (model;inputs;targets), but 2 args given
backstep x  / 'backstep: model expected as 1st argument, given tensor
m:model(module`identity;loss`ce;opt`sgd)  /
test(m;`metrics;`accuracy`matches`predict)  /
testrun(m;(1 0 0e;0 1 0e;0 1 0e;0 0 1e);0 1 0 2)  / 75f\n3 4\n0 1 1 2
train(m;`metrics;`hidden)  /
testrun(m;5;5)  / 'testrun: tensor has no dimensions (given model, long 5, long 5)
q:module enlist(`linear;1;1);x:tensor 6 1#1 2 3 4 5 6e  /
m:model(addref q;loss`mse;opt(`sgd;q;.01))  /
train(m;`batchsize`accumulate`gradscale`autocast`metrics;(2;2;256;`bfloat16;`batchloss`output))  /
{count each x}run(m;x;x)  / 3 6
train(m;`gradscale)  / 256 2f
train(m;`gradscale;1e38)  /
k:dict parms q;run m;  /
k~dict parms q  / 1b
train(m;`gradscale)  / 2.5e+37 0
train(m;`gradscale;4)  /
type backstep(m;x;x)  / -8h
train(m;`gradscale)  / 4 1f
type backward(m;x;x)  / -8h
p:model(addref q;loss`mse;opt(`lbfgs;q))  /
train(p;`gradscale;4)  /
run(p;x;x)  / 'run: lbfgs optimizer cannot step with gradscale (given model, float tensor 6x1, float tensor 6x1)
backstep(p;x;x)  / 'backstep: lbfgs optimizer cannot step with gradscale (given model, float tensor 6x1, float tensor 6x1)
train(p;`gradscale`accumulate`batchsize;(();3;2))  /
train(p;x;x)  / 3
1e-3>{run p}/[5;0]  / 1b
test(m;`autocast`metrics;(`half;`output))  /
type each testrun(m;x;x)  / 8 8 8 8 8 8h
x:tensor(.5 2.5 3;`grad)  /
m:model(module enlist(`linear;1;1);loss`mse;opt`lbfgs)  /
backstep(m;2 1#1 2e;2 1#1 2e);  / 'lbfgs: no parameters to optimize
/ averages
m:module enlist(`linear;4;2)  /
p:dict`weight`other!1 2  /
copyparms(m;p)  / weight| 1\nbias  | 0
dict(p;`weight;2 3#1)  /
copyparms(m;p)  / 'copyparms: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1
tensor parm(m;`weight)  / 1 1 1 1\n1 1 1 1
dict(p;`weight;3 2 4#1)  /
copyparms(m;p)  / 'copyparms: size [3, 2, 4] of weight does not fit [2, 4]
copyparms(m;`weight`bias!(2e;3e))  / weight| 1\nbias  | 1
p:copyparms m  /
parm(m;`weight;5e)  /
avgparms(m;p)  / 2
avgparms(m;p)  / 3
dict(p;`weight)  / 4 4 4 4\n4 4 4 4
dict(p;`.n)  / 3f
avgparms(m;1)  / 'avgparms: expecting (module;dictionary of tensors) (given module, long 1)
avgparms(m;dict(enlist`z)!enlist 1)  / 'avgparms: no parameter in the dictionary
m:module enlist(`linear;2;1);parm(m;`bias;1e);p:copyparms m;parm(m;`bias;2e)  /
emaparms(m;p;.9)  / 2
dict(p;`bias)  / ,1.1e
emaparms(m;p;0)  / 3
dict(p;`bias)  / ,2e
dict(p;`.n)  / 3f
emaparms(m;p;2)  / 'emaparms: decay 2 is not between 0 and 1
emaparms(m;p;0n)  / 'emaparms: decay nan is not between 0 and 1 (given module, dictionary, double 0n)
emaparms(m;p)  / 'emaparms: expecting (module;dictionary of tensors;decay) (given module, dictionary)
emaparms(m;p;`a)  / 'emaparms: expecting (module;dictionary of tensors;decay) (given module, dictionary, `a)
emaparms(m;1;.5)  / 'emaparms: expecting (module;dictionary of tensors;decay) (given module, long 1, double 0.5)
emaparms(m;dict(enlist`z)!enlist 1;.5)  / 'emaparms: no parameter in the dictionary
emaparms(m;dict(enlist`bias)!enlist 1 2 3e;.5)  / 'emaparms: size [3] of bias is not [1]
emaparms(m;dict(enlist`bias)!enlist enlist 1;.5)  / 'emaparms: bias is long, expecting a floating-point type
dict(p;`.n)  / 3f
m:module enlist(`linear;4;2)  /
copyparms 1  / 'copyparms: expecting module, model or optimizer, given long scalar
copyparms(m;1)  / 'copyparms: expecting dictionary of tensors, given long scalar
q:module seq(`sequential;(`linear;`a;2;3);(`batchnorm1d;`b;3;1e-5;.2))  /
batchnorm q  / b| 0.2
batchnorm q  / b|
batchnorm(q;(enlist`b)!enlist .3)  /
batchnorm q  / b| 0.3
batchnorm(q;(enlist`c)!enlist .3)  / 'batchnorm: no batch normalization named `c
batchnorm(q;(enlist`b)!enlist`a)  / 'batchnorm: momentum of `b is symbol scalar, expecting long/double
batchnorm(q;1)  / 'batchnorm: expecting dictionary of names and momenta, given long scalar
buffer(q;`b.running_mean;1 2 3e);r:model(addref q;loss`mse;opt(`sgd;q));train(r;4 3#1e;4 3#1e)  / 1
batchnorm r  / 'batchnorm: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)
tensor buffer(q;`b.running_mean)  / 1 2 3e

/ what gradients are clipped by
x:tensor(3 4e;`grad);backward(x;3 4e)  /
clip(x;-1)  / 'clip gradient norm: max norm is -1, expecting zero or above
clip(x;0n)  / 'clip gradient norm: max norm is null, expecting zero or above
clip(x;0N)  / 'clip gradient norm: max norm is null, expecting zero or above
clip(x;1;-2)  / 'clip gradient norm: exponent is -2, expecting zero or above
clip(x;1;0n;0b)  / 'clip gradient norm: exponent is null, expecting zero or above
clipv(tensor 1 2e;.5)  / 0n
clipv(x;-.5)  / 'clip gradient value: max value is -0.5, expecting zero or above
grad x  / 3 4e
clip(x;0w)  / 5f
clip(x;3;0w)  / 4f
grad x  / 2.25 2.999999e
q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q))  /
train(m;`clipnorm;-1)  / 'clipnorm: norm is -1, expecting zero or above
train(m;`clipnorm;1 -2)  / 'clipnorm: exponent is -2, expecting zero or above
train(m;`clipnorm;0n)  / 'clipnorm: norm is null, expecting zero or above
train(m;`clipvalue;-1e)  / 'clipvalue: value is -1, expecting zero or above
(::)~train(m;`clipvalue)  / 1b

/ a run that fails keeps the data of before
train(m;4 2#1e;4 1#1e);test(m;2 2#1e;2 1#1e);d:(data m;testdata m)  /
run(m;4 3#1e;4 1#1e)  / 'run: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x1)
run(m;4 2#1e;3 1#1e)  / 'tensor size mismatch, 4 vs 3
testrun(m;4 3#1e;4 1#1e)  / 'testrun: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x1)
d~(data m;testdata m)  / 1b
run(m;3 2#1e;3 1#1e);size input m  / 3 2

/ a metric that cannot be had is refused before a step
q:module enlist(`linear;2;2);m:model(addref q;loss`mse;opt(`sgd;q;.1));p:dict parms q  /
train(m;`metrics;`hidden)  /
run(m;4 2#1e;4 2#1e)  / 'metric: unable to retrieve hidden from output of 1 tensor(s)
p~dict parms q  / 1b
train(m;`metrics;`accuracy)  /
run(m;4 2#1e;4 2#1e)  / 'unable to calculate matches: size of targets is [4, 2], that of predictions [4]
p~dict parms q  / 1b
train(m;`metrics;`loss);type run(m;4 2#1e;4 2#1e)  / -9h
p~dict parms q  / 0b

/ no data: () or ::
m:model(module`identity;loss`mse;opt`sgd);data(m;til 5;til 5);data(m;();())  / -1
(::;::)~data m  / 1b
data(m;til 5;til 5);target(m;())  / 1
(datasize m;(::)~target m)  / 5\n1b
/ data without a first dimension
m:model(module`identity;loss`mse;opt`sgd)  /
testrun(m;5;5)  / 'testrun: tensor has no dimensions (given model, long 5, long 5)
run(m;5;5)  / 'run: tensor has no dimensions (given model, long 5, long 5)
train(m;5);batch m  / 'batch: tensor has no dimensions (given model)
test(m;5);testbatch m  / 'testbatch: tensor has no dimensions (given model)
/ without data there is nothing to run on
m:model(module`identity;loss`mse;opt`sgd)  /
run m  / 'run: the model has no training data, expecting train(m;inputs;targets) before, or run(m;inputs;targets) (given model)
testrun m  / 'testrun: the model has no test data, expecting test(m;inputs;targets) before, or testrun(m;inputs;targets) (given model)
train(m;til 5);train(m;());run m  / 'run: the model has no training data, expecting train(m;inputs;targets) before, or run(m;inputs;targets) (given model)
/ of data without a row the metrics have no values
e:tensor(`zeros;0 2);train(m;e;e)  / 0
(::)~run m  / 1b
train(m;`metrics`dictionary;(`loss`accuracy;1b))  /
run m  / loss    | ::\naccuracy| ::
test(m;e;e)  / 0
(testrun m)~(::)  / 1b
/ a loss that is no number ends a run before a step is made by it
x:8 2#1e;y:8 1#1e;y[5;0]:0Ne;f:{q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(x;q));train(m;`batchsize`stopnan;(2;1b));m}  /
m:f`sgd;run(m;x;y)  / 'run: the loss is nan in batch 3 of 4; stopnan is set, so no step was made by it
(::;::)~data m  / 1b
any null raze/[value dict copyparms m]  / 0b
train(m;`accumulate;4);w:copyparms m;run(m;x;y)  / 'run: the loss is nan in batch 3 of 4; stopnan is set, so no step was made by it
(dict copyparms m)~dict w  / 1b
train(m;`accumulate`autocast;(1;`bfloat16));run(m;x;y)  / 'run: the loss is nan in batch 3 of 4; stopnan is set, so no step was made by it
train(m;`autocast`gradscale;(`;1024));run(m;x;y)  / 'run: the loss is nan in batch 3 of 4; stopnan is set, so no step was made by it
train(m;`gradscale)  / 1024 2f
backstep(m;x;y)  / 'backstep: the loss is nan; stopnan is set, so no step was made by it
y[5;0]:0we;run(m;x;y)  / 'run: the loss is inf in batch 3 of 4; stopnan is set, so no step was made by it
test(m;`stopnan;1b)  / 'stopnan: not set for evaluation
null testrun(m;x;y+0Ne)  / 1b
train(m;`stopnan;0b);y[5;0]:0Ne;null run(m;x;y)  / 1b
y[5;0]:1e;m:f`lbfgs;w:copyparms m;run(m;x;y);s:state m;w:copyparms m;y[1;0]:0Ne;run(m;x;y)  / 'run: the loss is nan in batch 1 of 4; stopnan is set, so no step was made by it
(dict copyparms m)~dict w  / 1b
(-8!delete pointer from(s`optimizer)`parms)~-8!delete pointer from((state m)`optimizer)`parms  / 1b
train(m;`batchsize`tasks`shuffle`shuffleseed;(1;2;1b;0N))  /
train(m;3 2#1e;3 2#1e)  / 3
batch m  / 1b
/ the hidden state of the batch before, where a model is stepped by hand
f:{[h]seed 3;q:module enlist(`gru;3;2);m:model(q;loss`mse;opt(`sgd;q;.5));train(m;`batchsize`hidden`metrics;(2;h;`batchloss));train(m;x;y);m}  /
x:8 4 3#96?1e;y:8 4 2#64?1e;m:f 1b;a:run m  /
m:f 1b;b:();while[batch m;b,:backstep m];a~b  / 1b
m:f 0b;b:();while[batch m;b,:backstep m];a~b  / 0b
/ dictionaries as data are one dictionary, a new batch size begins anew
m:model(module`identity;loss`mse;opt`sgd)  /
train(m;`batchsize;3)  /
d:dict`a`b!(til 7;7+til 7);e:dict`b`c!(til 7;til 7)  /
train(m;(d;e);til 7)  / 3
dict input m  / a| 0 1 2 3 4 5 6\nb| 0 1 2 3 4 5 6\nc| 0 1 2 3 4 5 6
input(m;e;d)  / 3
key dict input m  / `b`c`a
train(m;(d;tensor til 7))  / 3
class input m  / `vector
train(m;til 7)  / 3
batch m;batch m;first data m  / 3 4 5
train(m;`batchsize;2)  /
batch m;first data m  / 0 1
train(m;`shuffle;0b)  /
batch m;first data m  / 2 3
train(m;`droplast;1b)  /
batch m;first data m  / 0 1
train(m;`batchsize;0N)  / 'batchsize: cannot be less than zero, given 0N

/ options as name-value pairs, as layers and optimizers take them
m:model(module`relu;loss`mse;opt`sgd);train(m;`batchsize,4);train(m;(`shuffle;1b;`hidden;0b));test(m;enlist(`batchsize;7));(train(m;`batchsize`shuffle);test(m;`batchsize))  / `batchsize`shuffle!(4;1b)\n7
m:model(module`relu;loss`mse;opt`sgd);train(m;`foo,1)  / 'train: unrecognized train setting: foo
m:model(module`relu;loss`mse;opt`sgd);train(m;())  / -1

/ confusion matrices
confusion(0 0 1 2;0 1 1 1)  / class| 0 1 2\n-----| -----\n0    | 1 1 0\n1    | 0 1 0\n2    | 0 1 0
confusion(tensor 0 1 1;tensor(.1 .9;.8 .2;.3 .7);`no`yes)  / class| no yes\n-----| ------\nno   | 0  1\nyes  | 1  1
count confusion(`long$();`long$())  / 0
confusion(`long$();`long$();`a`b)  / class| a b\n-----| ---\na    | 0 0\nb    | 0 0
confusion(1 -100 0;1 1 0;();-100)  / class| 0 1\n-----| ---\n0    | 1 0\n1    | 0 1
confusion(((.1 .9);(.8 .2));((.1 .9);(.1 .9)))  / class| 0 1\n-----| ---\n0    | 0 1\n1    | 0 1
confusion(010b;011b)  / class| 0 1\n-----| ---\n0    | 1 1\n1    | 0 1
cols confusion(0 1;0 0;`class`b)  / `true`class`b
confusion(0 1;0 1 1)  / 'confusion: true classes of size [2] and predictions of size [3] do not fit: they are of one size, or one of them has scores along one more dimension
confusion(0 1;`a`b)  / 'confusion: expected a tensor or array as predictions, given symbol list
confusion(0 -1;0 1)  / 'confusion: class number -1 is below 0; (y;p;names;-1) ignores it as a true class (given long 2x2)
confusion(0 1;0 3;`a`b)  / 'confusion: class number 3, of 2 classes
confusion(0 9;(.1 .9;.2 .8))  / 'confusion: class number 9, of 2 classes
confusion(0 1;0 3;`a`a)  / 'confusion: expected the names of the classes, all different, given symbol list
confusion(0 1;(.1 .9;.2 .8);`a`b`c)  / 'confusion: 3 name(s) and scores of 2 classes
confusion(.5 1;0 1)  / 'confusion: expected whole numbers of classes as true classes (given double list of 2, long list of 2)
confusion(0w 1;0 1)  / 'confusion: expected whole numbers of classes as true classes (given double list of 2, long list of 2)
confusion(0 1;0 0;`a`b;`x)  / 'confusion: expected the number of the class to ignore, given symbol scalar
confusion(0 5000;0 0)  / 'confusion: up to 4096 classes, given 5001
confusion 5  / 'confusion: expecting 2-4 args, given 1
