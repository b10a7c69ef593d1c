/ specifications
m:module`relu  /
objtype m  / `relu
objtype module enlist`relu  / `relu
exec name from module module`relu`act  / `act
exec options from module module enlist(`linear;`fc;3;2)  / in  | 3\nout | 2\nbias| 1b
exec options from module module(`linear;3;2)  / in  | 3\nout | 2\nbias| 1b
exec options from module module enlist(`linear;`in`out!3 2)  / in  | 3\nout | 2\nbias| 1b
exec options from module module enlist(`linear;3;`out`bias!(2;0b))  / in  | 3\nout | 2\nbias| 0b
exec options from module module enlist(`linear;3;2;`bias,0b)  / in  | 3\nout | 2\nbias| 0b
exec options from module module enlist(`linear;((`in;3);(`out;2)))  / in  | 3\nout | 2\nbias| 1b
exec options from module module enlist(`linear;(`in;3;`out;2;`bias;0b))  / in  | 3\nout | 2\nbias| 0b
exec options from module(module enlist(`linear;3;2);0b)  / in | 3\nout| 2
exec options from module(module enlist(`linear;3;2;0b);0b)  / in  | 3\nout | 2\nbias| 0b
exec options from module module enlist(`conv2d;3;8;5)  / in     | 3\nout    | 8\nsize   | 5\nstride | 1\npad    | 0\ndilate | 1\ngroups | 1\nbias   | 1b\npadmode| `zeros
exec options from module module enlist(`conv2d;3;8;3 5;2;1)  / in     | 3\nout    | 8\nsize   | 3 5\nstride | 2\npad    | 1\ndilate | 1\ngroups | 1\nbias   | 1b\npadmode| `zeros
exec options from module(module enlist(`conv2d;3;8;3;`pad`same);0b)  / in  | 3\nout | 8\nsize| 3\npad | `same
exec options from module module enlist(`batchnorm2d;8)  / in      | 8\neps     | 1e-05\nmomentum| 0.1\naffine  | 1b\ntrack   | 1b
exec options from module module enlist(`batchnorm2d;8;`momentum,0n)  / in      | 8\neps     | 1e-05\nmomentum| 0n\naffine  | 1b\ntrack   | 1b
exec options from module module enlist(`maxpool2d;3)  / size   | 3\nstride | 3\npad    | 0\ndilate | 1\nceiling| 0b
exec options from module(module enlist(`maxpool2d;3;2);0b)  / size  | 3\nstride| 2
exec options from module module enlist(`flatten;0;1)  / start| 0\nend  | 1
exec options from module module`drop  / p      | 0.5\ninplace| 0b
exec options from module module enlist(`drop;.2)  / p      | 0.2\ninplace| 0b
exec options from module module enlist(`drop;1b)  / p      | 0.5\ninplace| 1b
exec options from module module enlist(`leakyrelu;1b)  / slope  | 0.01\ninplace| 1b
exec options from module module enlist(`layernorm;32 10)  / shape | 32 10\neps   | 1e-05\naffine| 1b
exec options from module module enlist(`layernorm;10)  / shape | ,10\neps   | 1e-05\naffine| 1b
exec options from module module enlist(`embed;10;3)  / rows    | 10\ncols    | 3\npadindex| 0N\nmaxnorm | 0n\np       | 2f\nscale   | 0b\nsparse  | 0b
exec options from module module enlist(`embedbag;10;3;`sum)  / rows      | 10\ncols      | 3\nmaxnorm   | 0n\np         | 2f\nscale     | 0b\nmode      | `sum\nsparse    | 0b\nlastoffset| 0b\npadindex  | 0N
exec options from module(module enlist(`lstm;3;4;2);0b)  / in    | 3\nhidden| 4\nlayers| 2
exec options from module module enlist(`attention;8;2)  / `dim`heads`dropout`bias`addbias`addzero`kdim`vdim!(8;2;0f;1b;0b;0b;8;8)\n`in`out`bias!(8;8;1b)
exec options from module module enlist(`fmaxpool2d;2;`ratio,.5)  / size   | 2\noutsize| ()\nratio  | 0.5 0.5
exec options from module module enlist(`upsample;`scale`mode!(2.0;`bilinear))  / size | ()\nscale| ,2f\nmode | `bilinear\nalign| ()
key exec first options from module module enlist(`transformer;16;2;1;1;32)  / `in`heads`elayers`dlayers`dim`dropout`fn`encoder`decoder
/ errors of specifications
module`nosuch  / 'unrecognized module type: `nosuch
module()  / 'module: empty list (given nothing; expected module spec)
module 5  / 'module: unrecognized arg(s), long scalar (expected module spec)
module`linear  / 'linear: positive input size required
module enlist(`linear;0;2)  / 'linear: positive input size required
module enlist(`linear;3;0)  / 'linear: positive output size required
module enlist(`linear;3.0;2)  / 'linear in: expected long scalar, given double scalar
module enlist(`linear;3;2;1)  / 'linear bias: expected boolean scalar, given long scalar
module enlist(`linear;3;2;1b;1b)  / 'linear: expecting up to 4 positional args, 5 given
module enlist(`linear;`fc;3;2;1b;1b)  / 'linear: expecting up to 5 positional args, 6 given
module enlist(`linear;3;2;`x,1b)  / 'linear: unrecognized option `x
module enlist(`linear;3;2;`alpha,1f)  / 'linear option: alpha not recognized
module enlist(`conv2d;3;8)  / 'conv2d: no kernel size(s) given
module enlist(`conv2d;3;8;1 2 3)  / 'conv2d size: expected 2 element(s), given 3
module enlist(`conv2d;3;8;3;`padmode`odd)  / 'conv2d padmode:odd is not one of zeros,reflect,replicate,circular
module enlist(`softmax)  / 'softmax: no dimension given
module enlist(`fmaxpool2d;2)  / 'fmaxpool2d: no output size or ratio given
module enlist(`embed;10)  / 'embed: positive number of columns required
module enlist(`sigmoid;1)  / 'sigmoid: no arguments expected, given 1
module seq(`sequential;`sequential)  / 'sequential: unable to create type-erased module, forward method uses template
module seq(`sequential;`moduledict)  / 'moduledict: unable to create type-erased module, no forward method defined
module(`sequential;`relu`a;`relu`a)  / 'sequential: a module named `a is already defined
module((0;`sequential);(3;`relu))  / 'relu: depth 3 above max depth of 1
module((0;`sequential);(0;`relu))  / 'relu: depth 0 below min depth of 1
module(module enlist(`linear;3;2);`relu)  / 'unable to add a ReLU module as a child of a Linear module
/ trees, pairs, tables
q:module(`sequential;enlist(`linear;`fc;3;2);`relu;`drop`d)  /
exec name from module q  / ``fc`1`d
exec depth from module q  / 0 1 1 1
count module q  / 4
q2:module((0;`sequential);(1;(`linear;`fc;3;2));(1;`relu);(1;`drop`d))  /
(module q)~module q2  / 1b
(module q)~module module module q  / 1b
(state q)~state module state q  / 1b
(state q)~state q2  / 0b
(state q)~state clone q  / 1b
module(q;`sigmoid)  /
module(q;enlist(`linear;`out;2;1))  /
childnames q  / `fc`1`d`3`out
module(q;`relu`fc)  / 'sequential: a module named `fc is already defined
count childnames q  / 5
module(q;module`tanh)  /
outputmodule q  / `tanh
m:module`tanh  /
module(q;m)  /
mapped m  / 0b
module(q;q)  / 'sequential: unable to create type-erased module, forward method uses template
p:module(`seqnest;enlist(`linear;2;2))  /
module(q;p)  /
module(q;1;`gelu)  /
names q  / `fc`1`d`3`out`5`6`7`7.0`8
module(q;5;`relu)  / 'relu: depth 5 above max depth of 1
seq`a  / `a
seq 1  / 'seq: expecting module symbol, given long scalar
seq()  / 'seq: empty list (given nothing; expected seq(layer;layer;..))
dv`a`b  / 0 `a`b
tree dv(`a;(`b;enlist(`c;1);enlist(`d;2));`e`f)  / `a\n(`b;,(`c;1);,(`d;2))\n,`e`f
tree((0;`a);(2;`b))  / 'tree: pair[1] has depth 2, above max depth of 1
/ names, children, parameters
q:module seq(`sequential;(`linear;`fc;4;3;0b);(`batchnorm1d;`bn;3);`relu`act)  /
names q  / `fc`bn`act
childnames q  / `fc`bn`act
parmnames q  / `fc.weight`bn.weight`bn.bias
buffernames q  / `bn.running_mean`bn.running_var`bn.num_batches_tracked
parmnames(q;`bn)  / `weight`bias
parmnames(q;0)  / ,`weight
buffernames(q;1)  / `running_mean`running_var`num_batches_tracked
names(q;9)  / 'names: invalid index[9] for 3 child modules (expected names(m;name))
names(q;`zzz)  / 'names: no child module named `zzz
names 5  / 'names: expecting pytorch object, not implemented for long scalar
objtype each children q  / fc | linear\nbn | batchnorm1d\nact| relu
key modules q  / `fc`bn`act
objtype child(q;`fc)  / `linear
objtype child(q;2)  / `relu
child(q;7)  / 'child: invalid index[7] for 3 child modules (expected child(m;name))
moduletypes q  /    | sequential\nfc | linear\nbn | batchnorm1d\nact| relu
moduletypes(q;`linear)  / ,`fc
moduletypes(q;`linear`relu)  / fc | linear\nact| relu
moduletypes(q;`nosuch)  / 'unrecognized module type: `nosuch
parmtypes q  / fc.weight| linear\nbn.weight| batchnorm1d\nbn.bias  | batchnorm1d
inputmodule q  / `linear
outputmodule q  / `relu
size each parms q  / fc.weight| 3 4\nbn.weight| ,3\nbn.bias  | ,3
names buffers q  / `bn.running_mean`bn.running_var`bn.num_batches_tracked
class parms q  / `dictionary
objtype parms q  / `parameter
parm(q;`fc.weight;1.0)  /
tensor parm(q;`fc.weight)  / 1 1 1 1\n1 1 1 1\n1 1 1 1
parm(q;`nope)  / 'parm: parameter `nope not found
parm(q;1)  / 'parm: second arg is parameter name, expecting symbol given long scalar
parm(q;`scale;2 3e)  /
parmnames q  / `scale`fc.weight`bn.weight`bn.bias
buffer(q;`bn.running_var;4e)  /
tensor buffer(q;`bn.running_var)  / 4 4 4e
buffer(q;`none)  / 'buffer: buffer `none not found
size q  / 7
tensorcount q  / 7
elements q  / 27
bytes q  / 112
device q  / `cpu
dtype module enlist(`linear;2;1)  / weight| float\nbias  | float
/ gradients and modes
gradflag module enlist(`linear;2;1)  / weight| 1\nbias  | 1
freeze q  /
value gradflag q  / 0000b
unfreeze(q;`fc.weight)  /
where gradflag q  / ,`fc.weight
gradflag(q;`bn.bias;1b)  /
gradflag(q;`bn.bias)  / 1b
freeze(q;`nope)  / 'freeze: unable to find parameter `nope
freeze(q;`fc.weight;1 2 3 4 5e)  / 'freeze: size mismatch for parameter `fc.weight, size is [3, 4] vs new size of [5]
freeze(q;`bn.bias;3#7e)  /
tensor parm(q;`bn.bias)  / 7 7 7e
unfreeze q  /
training q  / 1b
training(q;0b)  /
training q  / 0b
training(q;1)  / 'training: unrecognized arg(s), expects module/model and optional flag (given module, long 1)
l:module enlist(`linear;2;1)  /
parm(l;`weight;1 2e)  /
parm(l;`bias;.5)  /
backward Sum forward(l;1 2#3 4e)  /
grad parm(l;`weight)  / 3 4
zerograd l  /
grad parm(l;`weight)  / 0 0
nograd l  /
(::)~grad parm(l;`weight)  / 1b
to(l;`double)  /
dtype l  / weight| double\nbias  | double
evaluate(l;1 2#1 1f)  / 3.5
evaluate(l;1 2#1 1e)  / 'evaluate: mat1 and mat2 must have the same dtype, but got Float and Double
/ forward
evaluate(l;(1 1f;2 2f))  / 3.5\n6.5
tensor forward(l;1 2#1 1f)  / 3.5
gradflag forward(l;1 2#1 1f)  / 1b
gradflag nforward(l;1 2#1 1f)  / 0b
gradflag eforward(l;1 2#1 1f)  / 0b
training l  / 1b
d:module enlist(`drop;1f)  /
evaluate(d;1 2 3e)  / 1 2 3e
tensor forward(d;1 2 3e)  / 0 0 0e
tensor nforward(d;1 2 3e)  / 0 0 0e
training(d;0b)  /
tensor forward(d;1 2 3e)  / 0 0 0e
training d  / 0b
tensor kforward(d;1 2 3e)  / 1 2 3e
forward(l;1 2#1 1f;1 2#1 1f)  / 'linear: 2 tensors supplied, but only 1 expected
forward l  / 'forward: requires a module or model and at least one input (given module)
forward 1 2  / 'forward: requires a module or model and at least one input (given long list of 2)
forward(module`moduledict;1 2e)  / 'moduledict: no forward calculation defined
evaluate(module`pairwise;1 2#3 4e;1 2#0e)  / ,5.000001e
evaluate(module`pairwise;enlist 3 4e)  / 'pairwise: 1 tensor(s) supplied, but at least 2 required
evaluate(q;`fc;1 4#1e)  / 4 4 4
r:module enlist(`rnn;3;2)  /
size forward(r;5 4 3#1e)  / 5 4 2\n1 4 2
class forward(r;5 4 3#1e)  / `vector
size forward(r;5 4 3#1e;1 4 2#0e)  / 5 4 2\n1 4 2
r:module enlist(`lstm;3;2)  /
v:forward(r;5 4 3#1e)  /
size v  / 5 4 2\n1 4 2\n1 4 2
size forward(r;tensor 5 4 3#1e;tensor(v;1);tensor(v;2))  / 5 4 2\n1 4 2\n1 4 2
forward(r;5 4 3#1e;1 4 2#0e)  / 'lstm: expects 3 tensors for (tensor,tuple) input but 2 given
evaluate(module enlist(`reshape;2 2);1 2 3 4e)  / 1 2\n3 4
evaluate(module enlist(`permute;1 0);(1 2;3 4;5 6))  / 1 3 5\n2 4 6
evaluate(module enlist(`squeeze;0);1 2#1 2e)  / 1 2e
evaluate(module enlist(`unsqueeze;0);1 2e)  / 1 2
evaluate(module`transpose;(1 2;3 4))  / 1 3\n2 4
evaluate(module enlist(`pad;1 2;`constant;9f);1 2e)  / 9 1 2 9 9e
evaluate(module enlist(`flatten;0);(1 2e;3 4e))  / 1 2 3 4e
evaluate(module enlist(`maxpool2d;2);1 2 4#1 2 3 4 5 6 7 8e)  / 6 8
x:-1 2 3e  /
evaluate(module enlist(`relu;1b);x)  / 0 2 3e
x  / -1 2 3e
exec parms from state module enlist(`parmdict;`a`b!(1 2e;3e))  / a   b\n-----\n1 2 3
exec options from module module enlist(`parmdict;`a`b!(1 2e;3e))  / a   b\n-----\n1 2 3
k:module enlist(`encoder;(`encoderlayer;16;2;32);2)  /
exec first options from module k  / encoderlayer| `in`heads`dim`dropout`fn!(16;2;32;0.1;`relu)\nlayers      | 2\nlayernorm   | (`symbol$())!()
(state k)~state module state k  / 1b
size forward(k;5 4 16#1e)  / 5 4 16
t:module enlist(`transformer;16;2;1;1;32)  /
(state t)~state module state t  / 1b
(childnames t),childnames(t;`encoder.layers)  / `encoder`decoder`0
size forward(t;5 4 16#1e;3 4 16#1e)  / 3 4 16
str module`relu  / "torch::nn::ReLU()"
str module seq(`sequential;(`linear;2;1);`drop)  / "torch::nn::Sequential(\n  (0): torch::nn::Linear(in_features=2, out_features..
str module enlist(`conv2d;3;8;3;`pad,1)  / "torch::nn::Conv2d(3, 8, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1])"
str module enlist(`maxpool2d;2)  / "torch::nn::MaxPool2d(kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dila..
seed 7  /
a:state module enlist(`linear;3;2)  /
seed 7  /
a~state module enlist(`linear;3;2)  / 1b
state 5  / 'state: expecting module, loss, optimizer or model and optional flag, given long scalar
state(q;1b;0b)  / 'state: expecting module, loss, optimizer or model and optional flag, given general list
clone 5  / 'clone: expecting module, model or optimizer, not implemented for long scalar
(state(q;0b))~state q  / 0b
cols state q  / `depth`module`name`options`parms`buffers
cols module q  / `depth`module`name`options
first exec buffers from state q where module=`batchnorm1d  / running_mean       | 0 0 0e\nrunning_var        | 4 4 4e\nnum_batches_tracked| 0
s:state l  /
s[`parms;`weight]:s[`parms;`weight],'1f  /
m:module s  / 'linear: size mismatch, weight is [1, 2], input is [1, 3]
(state l)~state module state l  / 1b
to(l;`float)  /
s:state l  /
s[`parms;`weight]:1 2#1 2f  /
m:module s  / 'linear: type mismatch, weight is float, input is double
s[`parms;`weight]:1 3#1 2 3e  /
m:module s  / 'linear: size mismatch, weight is [1, 2], input is [1, 3]
s:state l  /
s[`parms]:(1#`weight)#s`parms  /
m:module s  / 'linear: unable to find  parameter: bias
s:state l  /
s[`parms]:`bias`weight!("e"$s[`parms]`bias;s[`parms]`weight)  /
m:module s  /

/ options out of range, and text of torch without the place in its source
module enlist(`batchnorm1d;-3)  / 'batchnorm1d: in is -3, below 1
module enlist(`groupnorm;-3;2)  / 'groupnorm: groups is -3, below 1
module enlist(`conv1d;2;3;0N)  / 'conv1d: size is 0N, below 1
module enlist(`conv1d;2;3;-0W)  / 'conv1d: size is -0W, below 1
module enlist(`conv1d;2;-3;3)  / 'conv1d: out is -3, below 1
module enlist(`lstm;2;3;0W)  / 'lstm: layers is 0W, above 10000
module enlist(`transformer;(enlist`elayers)!enlist 0W)  / 'transformer: elayers is 0W, above 10000
module enlist(`transformer;(enlist`encoder)!enlist`a`b!1 2)  / 'module: a dictionary with `module and `options expected, given other keys
module enlist(`transformer;8;2;1;1;-5)  / 'transformer: dim is -5, below 1
str module enlist(`conv1d;16;32;3)  / "torch::nn::Conv1d(16, 32, kernel_size=3, stride=1)"
str module enlist(`upsample;`scale,2.0)  / "torch::nn::Upsample(scale_factor=[2], mode=kNearest)"
sync opt`sgd  / 'sync: not implemented for optimizers

/ a null size of an adaptive pool keeps the input's
m:module enlist(`adaptavg2d;2 0N);(size forward(m;1 1 4 5#1e);(module m)[`options;`size])  / 1 1 2 5\n2 0N
size forward(module enlist(`adaptmax3d;0N 3 0N);1 1 4 5 6#1e)  / 1 1 4 3 6
adaptavg2d(1 2 2#1e;1 0N)  / 1 1
module enlist(`adaptavg1d;0N)  / 'adaptavg1d: size is more than 2147483647
View(til 6;2 0N)  / 0 1 2\n3 4 5
/ gelu by its approximation: an option that shows only where it is set
gelu(-1 0 1f;`tanh)  / -0.158808 0 0.841192
q:module seq(`sequential;(`gelu;`g;`tanh);`gelu)  /
str each value children q  / "torch::nn::GELU(approximate=tanh)"\n"torch::nn::GELU()"
exec options from module q  / (`symbol$())!()\n(,`approximate)!,`tanh\n(`symbol$())!()
evaluate[(module state q;-1 0 1f)]~evaluate(q;-1 0 1f)  / 1b
gelu(-1 0 1f;`foo)  / 'gelu approximate:foo is not one of none,tanh
