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
exec options from module module enlist(`fmaxpool2d;2;`ratio,.5)  / size   | 2\noutsize| ()\nratio  | 0.5
exec options from module module enlist(`upsample;`scale`mode!(2.0;`bilinear))  / size | ()\nscale| 2f\nmode | `bilinear\nalign| ()
key exec first options from module module enlist(`transformer;16;2;1;1;32)  / `in`heads`elayers`dlayers`dim`dropout`fn`encoder`decoder
/ errors of specifications
module`nosuch  / 'module: unrecognized module type: `nosuch
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
module enlist(`conv2d;3;8;1 2 3)  / 'conv2d size: expected scalar or 2-element input, given 3-element list
module enlist(`conv2d;3;8;3;`padmode`odd)  / 'conv2d padmode:odd is not one of zeros,reflect,replicate,circular
module enlist(`softmax)  / 'softmax: no dimension given
module enlist(`fmaxpool2d;2)  / 'fmaxpool2d: no output size or ratio given
module enlist(`embed;10)  / 'embed: positive number of columns required
module enlist(`sigmoid;1)  / 'sigmoid: no arguments expected, given 1
module seq(`sequential;`sequential)  / 'sequential: unable to create type-erased module, forward method uses template; a sequence inside of another is `seqnest
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
module(q;q)  / 'sequential: unable to create type-erased module, forward method uses template; a sequence inside of another is `seqnest
p:module(`seqnest;enlist(`linear;2;2))  /
module(q;p)  /
module(q;1;`gelu)  /
names q  / `fc`1`d`3`out`5`6`7`7.0`8
module(q;5;`relu)  / 'relu: depth 5 above max depth of 1
seq`a  / `a
seq(`sequential;((`callback;`net;{[m;x]x});(`linear;`a;2;3)))  / `sequential\n((`callback;`net;{[m;x]x});,(`linear;`a;2;3))
names module seq(`sequential;((`callback;`net;{[m;x]x});(`linear;`a;2;3);((`callback;`in;{[m;x]x});`relu`r));`tanh)  / `net`net.a`net.in`net.in.r`1
names module seq(`sequential;(`seqnest`s;(`linear;`a;2;3);`relu))  / `s`s.a`s.1
names module seq(`sequential;(enlist`seqnest;(`linear;`a;2;3)))  / `0`0.a
seq((`callback;`net;{[m;x]x});(`linear;`a;2;3))  / (`callback;`net;{[m;x]x})\n,(`linear;`a;2;3)
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
moduletypes(q;`nosuch)  / 'moduletypes: unrecognized module type: `nosuch
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
size q  / 4
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
sync opt`sgd  /

/ a null size of an adaptive pool keeps the input's
m:module enlist(`adaptavg2d;2 0N);(size forward(m;1 1 4 5#1e);(module m)[`options;`size])  / 1 1 2 5\n2 0N
size forward(module enlist(`adaptmax3d;0N 3 0N);1 1 4 5 6#1e)  / 1 1 4 3 6
adaptavg2d(1 2 2#1e;1 0N)  / 1 1
module enlist(`adaptavg1d;0N)  / 'adaptavg1d: no output size given
View(til 6;2 0N)  / 0 1 2\n3 4 5
/ gelu by its approximation: an option that shows only where it is set
gelu(-1 0 1f;`tanh)  / -0.158808 0 0.841192
q:module seq(`sequential;(`gelu;`g;`tanh);`gelu)  /
str each value children q  / "torch::nn::GELU(approximate=tanh)"\n"torch::nn::GELU()"
exec options from module q  / (`symbol$())!()\n(,`approximate)!,`tanh\n(`symbol$())!()
evaluate[(module state q;-1 0 1f)]~evaluate(q;-1 0 1f)  / 1b
gelu(-1 0 1f;`foo)  / 'gelu approximate:foo is not one of none,tanh

/ the ends of a network: what calculates itself is one module, however it is built
(inputmodule;outputmodule)@\:module enlist(`attention;8;2)  / `attention`attention
(inputmodule;outputmodule)@\:module(`sequential;`relu;(`seqnest;enlist`tanh;enlist`gelu))  / `relu`seqnest
(inputmodule;outputmodule)@\:module(`sequential;enlist(`encoderlayer;8;2);`relu)  / `encoderlayer`relu
inputmodule each module each`sequential`modulelist  / ``

/ `()` in the last place is no pairs, or an option left out
exec options from module module enlist(`linear;3;2;())  / in  | 3\nout | 2\nbias| 1b
module enlist(`linear;3;())  / 'linear: positive output size required
relu(-1 2e;())  / 0 2e
/ containers' names: a list numbers its children, a dictionary takes the last of a name
names module(`modulelist;`relu`a;`tanh)  / `0`1
m:module(`moduledict;`relu`a;`tanh`b);module(m;`sigmoid`a)  /
moduletypes m  /  | moduledict\na| sigmoid\nb| tanh
module(m;((1;`gelu`b);(7;`relu)))  / 'relu: depth 7 above max depth of 1
moduletypes m  /  | moduledict\na| sigmoid\nb| tanh
/ adding at a depth: a definition, or a tree
m:module`sequential;module(m;1;seq(`seqnest`s;`relu;(`linear;2;2)));module(m;2;enlist(`linear;`l;2;1));module(m;1;(`drop;.1))  /
names m  / `s`s.0`s.1`s.l`1
module(m;`module`options!(`silu;(0#`)!()))  /
names m  / `s`s.0`s.1`s.l`1`2
dv(enlist`a;(enlist`b;`c))  / 0 `a\n1 `b\n2 `c
module enlist(`linear;3;2;([a:1 2]b:3 4))  / 'unexpected name,value dictionary with table as keys: table
names(m;0N)  / 'names: invalid index[0N] for 6 child modules (expected names(m;name))
/ a leaf tensor becomes the parameter itself; states have what was added
m:module enlist(`linear;2;1);x:tensor 1 2e;parm(m;`x;x);backward Sum mul(parm(m;`x);3e)  /
grad x  / 3 3e
parm(m;`n;tensor 5 6);buffer(m;`b;7 8)  /
gradflag m  / weight| 1\nbias  | 1\nx     | 1\nn     | 0
(state m)~state module state m  / 1b
s:state m;s[`options;`bias]:0b  /
parmnames module s  / `weight`x`n
s[`parms]:s[`parms],(1#`forward)!enlist 1 2e  /
@[module;s;like[;"*attribute 'forward' already exists*"]]  / 1b
/ an undefined tensor or [] keeps an input's place
m:module enlist(`decoderlayer;8;2;16;0.);x:tensor(`randn;3 2 8);y:tensor(`randn;4 2 8);z:tensor(`zeros;3 4)  /
(evaluate(m;x;y))~evaluate(m;x;y;tensor[];z)  / 1b
(evaluate(m;x;y))~evaluate(m;(x;y;[];z))  / 1b
evaluate(m;x;y;z)  / 'evaluate: The shape of the 2D attn_mask is torch.Size([3, 4]), but should be (3, 3). (in `self_attn)
(evaluate(m;x;y))~evaluate(m;x;y;[];[])  / 1b
evaluate(m;[];x)  / 'evaluate: the first input is undefined (given module, ::, float tensor 3x2x8)
/ two inputs, a vector and longs, are not a choice from the vector; one input of both is
evaluate(module`mul;vector enlist 1 2;3 4)  / 3 8
evaluate(module`mul;(vector(1 2;3 4;5 6);0 2))  / 5 12
evaluate(module`mul;(dict`a`b!(1 2;3 4);`b`a))  / 3 8
/ parts by path
m:module(`sequential;seq(`seqnest`s;`relu`r;(`linear;`l;2;1)));parm(m;`s.r.w;1 2e)  /
tensor parm(m;`s.r.w)  / 1 2e
objtype each{child(m;x)}each`s`s.l`  / `seqnest`linear`sequential
child(m;`s.x)  / 'child: no child module named `s.x
parm(m;`s.x.zzz)  / 'parm: parameter `s.x.zzz not found
parm(m;`s.x.w;1e)  / 'parm: no child module named `s.x
m:module`seqnest;module(m;addref m)  / 'seqnest: the module is part of it already
r:module`residual;module(r;1;`sequential);k:child(r;`q1);module(k;r)  / 'sequential: the module is part of it already

/ what is shown: only what differs, but some options always; sizes of all dimensions as one number
o:{exec options from module module enlist x}  /
d:{exec options from module(module enlist x;0b)}  /
(o;d)@\:`squeeze  / (,`inplace)!,0b\n(`symbol$())!()
(o;d)@\:(`squeeze;1)  / `dim`inplace!(1;0b)\n(,`dim)!,1
d each(`transpose;`droppath;(`pad1d;1 2);`onehot;`flatten)  / `dim0`dim1!-2 -1\n(,`p)!,0f\n`pad`value!(1 2;0f)\n(,`classes)!,-1\n(`symbol$())!()
d each((`upsample;8);(`upsample;8 9);(`upsample;();2);(`upsample;();2 2))  / (,`size)!,8\n(,`size)!,8 9\n(,`scale)!,2f\n(,`scale)!,2 2f
d each((`fmaxpool2d;2;();.5);(`fmaxpool2d;2;();.5 .6);(`prelu;.5);(`prelu;3);(`prelu;3;1))  / `size`ratio!(2;0.5)\n`size`ratio!(2;0.5 0.6)\n(,`init)!,0.5\n(,`in)!,3\n`in`init!(3;1f)
o(`avgpool1d;2;1;0;0b;1b;0N)  / size    | 2\nstride  | 1\npad     | 0\nceiling | 0b\ncountpad| 1b\ndivisor | 0N
m:module enlist(`avgpool1d;2;1;1;0b;1b;4)  /
(evaluate(m;1 4#1 2 3 4e);(module m)[`options;`divisor])  / ,0.25 0.75 1.25 1.75 1e\n4
str m  / "torch::nn::AvgPool1d(kernel_size=2, stride=1, padding=1, divisor_override=4)"
(evaluate(module enlist(`avgpool1d;2;2;0;1b;1b;1);1 5#1 2 3 4 5e))  / 3 7 5
(module m)~module module module m  / 1b
first each d each((`attention;8;2;0f;1b;0b;0b;0;0N);(`attention;8;2;0f;1b;0b;0b;4;5))  / `dim`heads!8 2\n`dim`heads`kdim`vdim!8 2 4 5
(`layernorm`layers#first exec options from module(module enlist(`encoder;(`encoderlayer;16;2;32);2);0b))  / layernorm| (`symbol$())!()\nlayers   | 2
(first exec options from module(module enlist(`encoder;(`encoderlayer;16;2;32);2;16);0b))`encoderlayer`layernorm  / `in`heads`dim!16 2 32\n(,`shape)!,,16
t:module enlist(`transformer;16;2;1;1;32;0.;`gelu;(`encoder;(`encoderlayer;16;2;64);2))  /
value(first exec options from module(t;0b))[`encoder;`options]  / `in`heads`dim!16 2 64\n2\n(`symbol$())!()
(first exec options from module t)`dim`fn`dropout`decoder  / 32\n`gelu\n0f\n(`symbol$())!()
(state t)~state module state t  / 1b
/ embeddings from weights show them; a state has them once
w:3 2#1 2 3 4 5 6e  /
m:module enlist(`embed;w;1b)  /
(module(m;0b))`options  / weight| (1 2e;3 4e;5 6e)\nfreeze| 1b
gradflag each(m;module module m;module state m;clone m)  / weight\n------\n0\n0\n0\n0
(state m)~state module state m  / 1b
key(state m)`options  / `rows`cols`freeze`padindex`maxnorm`p`scale`sparse
w~(evaluate(;til 3)module module m)  / 1b
w~evaluate(module enlist(`embed;tensor w);til 3)  / 1b
module enlist(`embed;`rows`weight!(5;w))  / 'embed: rows = 5 but weights are [3, 2]
module enlist(`embed;2 2#1)  / 'embed: weight matrix is not floating point
evaluate(module enlist(`embed;w);1 9)  / 'evaluate: embed: index 9 is out of bounds for 3 rows (given module, long list of 2)
/ what is left out, and what is refused
evaluate(module enlist(`reshape;());1 1#7e)  / 7e
evaluate(module enlist(`reshape;0#0);1 1#7e)  / 7e
module enlist(`pad;1 2 3)  / 'pad: 3 pad size(s) given, expecting pairs for left,right or left,right,top,bottom..
module enlist(`upsample;8;2)  / 'upsample: both output size and scale factor given
module enlist(`upsample;();())  / 'upsample: no output size or scale factor given
module enlist(`conv2d;3;2;5;2;`same)  / 'conv2d: padding='same' is not supported for strided convolutions
module enlist(`attention;8;3)  / 'attention: embed_dim must be divisible by num_heads
module enlist(`encoder;(`encoderlayer;16;2;32))  / 'encoder: number of layers must be defined
module enlist(`encoderlayer;16)  / 'encoderlayer: positive number of heads required
m:module`relu;x:tensor 1 2e;parm(m;`x;x);snapshot(`:parm.ks;`m`x)  / `:parm.ks
parm(m;`x;0);resume`:parm.ks  / `m`x
parm(m;`x;3 4e);hdel`:parm.ks  / `:parm.ks
tensor x  / 3 4e
/ outputs that a module leaves out; names that look like the one given
x:tensor(`randn;3 2 8);defined eforward(module enlist(`attention;8;2);x;x;x;[];0b)  / 10b
m:module seq(`sequential;(`linear;`embed;2;1);`relu`act);forward(m;`embd;1 2e)  / 'forward: no child module named `embd (near `embed)
parm(m;`embed.weigth)  / 'parm: parameter `embed.weigth not found (near `embed.weight)
freeze(m;`embed.biass)  / 'freeze: unable to find parameter `embed.biass (near `embed.bias)
/ a child replaced in place; optimizers get the new parameters in the groups of the old ones
m:module seq(`sequential;(`linear;`a;2;4);`relu`act;(`linear;`b;4;1))  /
o:opt(`adamw;0;(m;`a);.1);opt(o;1;(m;`b);.2)  /
backward Sum forward(m;1 2#1e);step o  /
child(m;`b;(`linear;4;3;0b))  /
select parmgroup,name,size from parmtable o  / parmgroup name     size\n-----------------------\n0         a.weight 4 2\n0         a.bias   ,4\n1         b.weight 3 4
distinct exec name from statetable o  / `a.weight`a.bias
child(m;`b;(`linear;4;2))  /
exec name by parmgroup from parmtable o  / 0| a.weight a.bias\n1| b.weight b.bias
child(m;`act;`tanh);(objtype child(m;`act);names m)  / `tanh\n`a`act`b
nograd o;backward Sum forward(m;1 2#1e);step o  /
exec mean from statetable o where buffer=`step  / 2 2 1 1f
(state m)~state module state m  / 1b
child(m;`b;module enlist(`linear;4;5));size forward(m;1 2#1e)  / 1 5
training(m;0b);child(m;`act;`drop);training child(m;`act)  / 0b
child(m;`c;`relu)  / 'child: no child module named `c
child(m;2;`relu)  / 'child: a child is replaced by its name, given long scalar
child(m;`act;m)  / 'child: the module is part of it already
child(m;`act;`sequential)  / 'sequential: unable to create type-erased module, forward method uses template; a sequence inside of another is `seqnest
child(m;`act;`nope)  / 'child: unrecognized module type: `nope (near `rope)
c:module(`sequential;(`selfattention;8;2));child(c;`0.in;(`linear;8;24;0b));parmnames(c;`0.in)  / ,`weight
r:module(`residual;(`sequential;(`linear;2;2));`relu);child(r;`q1;`tanh)  / 'residual: cannot add Tanh module until sequential module(s) defined
child(r;`fn;`tanh);childnames r  / `q1`fn
r:module(`recur;(`lstm;2;3));child(r;`lstm;(`gru;2;3));childnames r  / ,`gru
f:module seq(`sequential;(`linear;2;1));o:opt(`lbfgs;f);g:{nograd o;e:mse(forward(f;4 2#1e);4 1#1e);backward e;e}  /
step(o;g);child(f;`0;(`linear;2;1;0b));a:tensor w:parm(f;`0.weight);step(o;g);a~tensor w  / 0b
c:module(`sequential;(`linear;2;2;0b))  /
o:opt(`muon;c);child(c;`0;(`linear;2;2))  / 'opt: muon takes parameters of 2 dimensions, parameter[1] has 1
options child(c;`0)  / in  | 2\nout | 2\nbias| 0b
/ weights that modules share stay shared: in a state the name of the first stands for the others
m:module seq(`sequential;(`embed;`tok;6;3);(`callback;`out;"{[m;x]matmul(x;transpose parm(m;`weight))}"))  /
parm(m;`out.weight;parm(m;`tok.weight));s:state m;(last s`parms)`weight  / `tok.weight
k:module s;same(parm(k;`tok.weight);parm(k;`out.weight))  / 1b
(s~state k;(evaluate(m;2 3))~evaluate(k;2 3))  / 11b
n:module`moduledict;module(n;update depth:1+depth,name:`one`tok`out from s);same(parm(n;`one.tok.weight);parm(n;`one.out.weight))  / 1b
s[2;`parms]:enlist[`weight]!enlist`tok.w;module s  / 'callback: no parameter `tok.w to share as weight
/ an option that is a symbol may be the only one
options module enlist(`gelu;`tanh)  / approximate| tanh
names module seq(`sequential;(`gelu;`other);(`gelu;`tanh))  / `other`1
/ the module inside in which a calculation fails is named, and a callback's own place is shown
m:module(`sequential;(`linear;`a;3;4);`relu;(`residual;(`sequential;(`linear;`b;5;4))))  /
forward(m;2 3#1e)  / 'forward: mat1 and mat2 shapes cannot be multiplied (2x4 and 5x4) (in `2.q1.b)
evaluate(m;2 9#1e)  / 'evaluate: mat1 and mat2 shapes cannot be multiplied (2x9 and 3x4) (in `a)
summary(m;2 3)  / 'summary: mat1 and mat2 shapes cannot be multiplied (2x4 and 5x4) (in `2.q1.b)
forward(child(m;`a);2 9#1e)  / 'forward: mat1 and mat2 shapes cannot be multiplied (2x9 and 3x4)
k:model(m;loss`mse;opt(`sgd;m));run(k;2 3#1e;2 4#1e)  / 'run: mat1 and mat2 shapes cannot be multiplied (2x4 and 5x4) (in `2.q1.b)
g:module(`seqlist;(`sequential;(`embed;9;4));(`sequential;(`selfattention;4;2)));exec size from summary(g;tensor 2 3#til 6;3 3#0e)where depth=1  / 2 3 4\n2 3 4
/ seq leaves a container with layers of its own as it is
seq(`sequential;seq(`residual;seq`sequential`relu);(`linear;2;1))  / `sequential\n(`residual;(`sequential;,`relu))\n,(`linear;2;1)
seq(`sequential;(`encoder;enlist(`encoderlayer;8;2);2);(`foo;enlist`a))  / `sequential\n,(`encoder;,(`encoderlayer;8;2);2)\n,(`foo;,`a)
m:module seq(`sequential;`relu;seq(`seqnest`x;(`linear;2;2);`tanh);(`linear;2;3));names m  / `0`x`x.0`x.1`2
/ all of a child frozen by its name
m:module(`sequential;(`seqnest`body;(`linear;2;3);`relu;(`linear;3;3));(`linear;`head;3;1))  /
freeze(m;`body);value gradflag m  / 000011b
unfreeze(m;`body.2`head.bias);value gradflag m  / 001111b
freeze(m;`body`head.bias);value gradflag m  / 000010b
freeze(m;`body.1)  / 'freeze: unable to find parameter `body.1
freeze(m;`body;0)  / 'freeze: unable to find parameter `body (near `body.0.weight`body.0.bias`body.2.weight`body.2.bias)
/ a tree at a depth
m:module seq(`sequential;(`linear;`a;2;2);seq(`seqnest`b;`tanh)); module(m;1;seq(`seqnest`c;(`linear;2;2);`relu)); module(m;2;seq(`residual;seq(`sequential;`tanh`t))); names m  / `a`b`b.0`c`c.0`c.1`c.2`c.2.q1`c.2.q1.t
module(m;1;seq(`seqnest`a;`tanh))  / 'sequential: a module named `a is already defined
