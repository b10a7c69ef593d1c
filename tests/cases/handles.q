/ what a handle is to q
type tensor 1 2 3  / 0h
count tensor 1 2 3  / 1
type first tensor 1 2 3  / -7h
b:t:tensor 1 2 3;(first b)=first t  / 1b
type(tensor 1),vector(1;2)  / 0h
class each(tensor 1;vector(1;2);dict`a`b!1 2)  / `tensor`vector`dictionary
class 3  / 'class: need allocated torch object, e.g. tensor, module, given long scalar
objtype tensor 1  / `tensor
mapped each(tensor 1;1;"a")  / 100b
/ lifetime
t:tensor 1 2 3;free t;tensor t  / 'stale pointer
t:tensor 1 2 3;free t;t+1  / 'stale pointer
t:tensor 1 2 3;free t;free t  / 'stale pointer
free[];count obj[]  / 0
free[];tensor 1 2;count obj[]  / 0
free[];t:tensor 1 2;tensor 3;count obj[]  / 1
a:tensor 1;b:tensor 2;free(a;b);mapped each(a;b)  / 00b
free(tensor 1;2)  / 'free: expecting pytorch object but element[1] is long scalar
free 1 2  / 'free: expecting pytorch object or list/dictionary of objects, given long list
return tensor 1 2  / 1 2
t:tensor 1 2;return t;mapped t  / 0b
return vector(1 2;3 4f)  / 1 2\n3 4
t:tensor 1 2;use[t]3 4f;tensor t  / 3 4f
a:tensor 1 2;b:tensor 3;use[a]b;(tensor a;mapped b)  / 3\n0b
use[tensor 1]vector(1;2)  / 'use: cannot re-assign tensor to vector
d:dict`a`b!1 2;use[d](`x`y;(1;2 3));dict d  / x| 1\ny| 2 3
v:vector 1 2;use[v]tensor 5 6;vector v  / 5 6
inputmodule loss`mse  / `mse
use[1]tensor 1  / 'use: 1st arg must be tensor, vector or dictionary
a:tensor 1 2;v:vector(a;3);tensor a  / 'stale pointer
a:tensor 1 2;v:vector(addref a;3);ref a  / 2
a:tensor 1 2;v:vector(a;`x);  / 'vector: no torch type found for k: symbol scalar
addref vector(1;2)  / 'addref not implemented for vector
b:addref a:tensor 1 2;(same(a;b);alias(a;b);(ptr a)=ptr b)  / 111b
b:detach a:tensor 1 2;(same(a;b);alias(a;b))  / 01b
ref a:tensor til 12  / 1
b:reshape(a:tensor til 12;3 4);(ref a;ref b;sref a)  / 2 1 2
/ information
size tensor 2 3#0  / 2 3
size vector(2 3#0;1 2)  / 2 3\n,2
size dict`a`b!(1 2;3)  / a| ,2\nb| `long$()
stride transpose tensor 3 4#5  / 1 4
dim each(tensor 1;tensor 1 2;tensor 1 1#0)  / 0 1 2
numel tensor 2 3#0  / 6
elements narrow(tensor til 10;0;5;5)  / 10
bytes tensor 1 2 3i  / 12
itemsize vector(1 2;1 2h)  / 8 2
offset narrow(tensor til 10;0;5;5)  / 5
contiguous each(a;transpose a:tensor 2 2#0)  / 10b
leaf each(x;mul(x;x:tensor(1 2e;`grad)))  / 10b
gradfn mul(x;x:tensor(1 2e;`grad))  / `MulBackward0
device tensor 1  / `cpu
layout sparse 0 1  / `sparse
ktype each(tensor 1;tensor 1e)  / "je"
tensorcount vector(1 2;3)  / 2
exec dtype from options vector(1 2;3f)  / `long`double
(info tensor 2 3#0)`size  / 2 3
t:tensor(`sparse;(0 0;1 1);5 6f);r:(info t)`coalesced;coalesce t;r,(info t)`coalesced  / 01b
(info tensor 1 2)`coalesced  / 1b
dtype 3  / 'dtype: need allocated torch object, e.g. tensor, module, given long scalar
dtype`nosuch  / 'dtype: unrecognized data type `nosuch
gradflag(tensor 1 2;1b)  / 'gradflag: only Tensors of floating point dtype can require gradients (given long tensor 2, boolean scalar)
d:dict`a`b!(1e;2e);gradflag(d;`b;1b);gradflag d  / a| 0\nb| 1
gradflag(d;`b`a)  / b| 1\na| 0
/ gradients
x:tensor(1 2 3e;`grad);backward Sum mul(x;x);grad x  / 2 4 6e
x:tensor(1 2 3e;`grad);backward(mul(x;x);1 0 1e);grad x  / 2 0 6e
x:tensor(1 2e;`grad);y:Sum mul(x;x);backward(y;`retain);backward y;grad x  / 4 8e
x:tensor(1 2e;`grad);y:Sum mul(x;x);backward y;backward y  / 'backward: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed) (given float tensor of no dimensions)
x:tensor(1 2e;`grad);backward Sum x;zerograd x;grad x  / 0 0e
x:tensor(1 2e;`grad);backward Sum x;tensor grad enlist x  / 1 1e
x:tensor(1 2e;`grad);grad enlist x  / 'no gradient defined
backward(tensor(1e;`grad);`nosuch)  / 'backward: unrecognized mode for backward: `nosuch, expecting one of `free`retain`create`createfree
x:tensor(1 2e;`grad);z:mul(x;x);detach(z;1b);gradfn z  / `
/ operators on tensors
t:tensor 1 2 3;tensor t+10  / 11 12 13
t:tensor 1 2 3;tensor 10-t  / 9 8 7
t:tensor 1 2 3;tensor t*t  / 1 4 9
t:tensor 1 2 3;tensor t%2  / 0.5 1 1.5e
t:tensor 1 2 3;tensor t+1 2 3f  / 2 4 6f
t:tensor 1 2 3;tensor t>2  / 001b
t:tensor 1 2 3;tensor t=2  / 010b
t:tensor 1 2 3;tensor t&2  / 1 2 2
t:tensor 1 2 3;tensor t div 2  / 0 1 1
t:tensor 1 2 3;tensor t mod 2  / 1 0 1
t:tensor 1 2 3;tensor neg t  / -1 -2 -3
t:tensor 1 4f;tensor sqrt t  / 1 2f
t:tensor 1 2 3;tensor sum t  / 6
t:tensor 2 3#til 6;tensor sum t  / 3 5 7
t:tensor 2 3#til 6;tensor max t  / 3 4 5
t:tensor 2 3#til 6;tensor avg t  / 1.5 2.5 3.5e
t:tensor 2 2#1 2 3 4f;tensor t mmu t  / 7  10\n15 22
t:tensor 2 2#1 2 3 4f;tensor t$1 1f  / 3 7f
t:tensor 1 2 3;tensor"e"$t  / 1 2 3e
t:tensor 1 2 3;tensor t+1 2  / '+: The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0
t:tensor 10 20 30;tensor t 1  / 20
t:tensor 10 20 30;tensor t 2 0  / 30 10
t:tensor 10 20 30;tensor t 5  / 'index
t:tensor 2 3#til 6;tensor t[1]  / 3 4 5
t:tensor 2 3#til 6;tensor t[;1]  / 1 4
t:tensor 2 3#til 6;tensor t[1;2 0]  / 5 3
t:tensor 2 3#til 6;tensor t[0;0;0]  / 'rank
t:tensor 10 20 30;t[1]:99;tensor t  / 10 99 30
t:tensor 10 20 30;t[0 2]:1 2;tensor t  / 1 20 2
t:tensor 10 20 30;t[0 0]+:1;tensor t  / 12 20 30
t:tensor 2 3#til 6;t[;1]:0;tensor t  / 0 0 2\n3 0 5
x:tensor(1 2 3e;`grad);backward sum x*x;grad x  / 2 4 6e
x:tensor(1 2 3e;`grad);backward sum 2*x 0 2;grad x  / 2 0 2e
/ settings
setting`complexfirst  / 1b
setting`nosuch  / 'setting: unrecognized configuration setting: nosuch
setting`cuda,0b  / 'setting: cannot set flag for cuda
setting(`benchmark;5)  / 'setting: cannot set value for benchmark
setting`complexfirst,0b;r:tensor tensor(`complex;1 2;3 4);setting`complexfirst,1b;r  / 1 3\n2 4
10h=type version()  / 1b
t:tensor 1 2;(type t;type each t)  / 0h\n,-7h
-3!t  / ",50000001"
-3!(t;1)  / "(,50000001;1)"
-3!(t;t)  / "(,50000001;,50000001)"
(t;1)  / ,50000001\n1
`a`b!(t;1)  / a| ,50000001\nb| 1
","in .Q.s([]a:enlist t)  / 0b
","in .Q.s(t;t)  / 0b
size each t  / ,2

/ devices, and where a tensor's values are
(0<cudadevices[])~(cudadevice())in(cudadevices())  / 1b
cudadevice 5  / 'unrecognized CUDA device, expecting cuda with valid device number, e.g. `cuda:0
(sptr t)=sptr View(t:tensor 1 2 3;1 3)  / 1b
(sptr tensor 1 2)=sptr t:tensor 1 2  / 0b
first config()  / "PyTorch built with:"

/ keywords of lists and folds go along the first dimension of a tensor
a:tensor 3 2#"e"$til 6;tensor each(flip a;reverse a;2#a;1_a;-1_a)  / (0 2 4e;1 3 5e)\n(4 5e;2 3e;0 1e)\n(0 1e;2 3e)\n(2 3e;4 5e)\n(0 1e;2 3e)
tensor each{x tensor 3 1 3}each(asc;desc;iasc;idesc;distinct)  / 1 3 3\n3 3 1\n1 0 2\n0 2 1\n3 1
tensor each(raze tensor 2 2#til 4;where tensor 101b)  / 0 1 2 3\n0 2
tensor each((+/)a;(*/)1+a;(|/)a;(&/)a;(-/)a;{x+2*y}/[a])  / 6  9\n15 48\n4  5\n0  1\n-6 -7\n12 17
tensor(+\)a  / 0 1\n2 4\n6 9
tensor each(-\)a  / 0  1\n-2 -2\n-6 -7
t:tensor(2 2#1 2 3 4e;`grad);backward((+/)t*t;1 1e);grad t  / 2 4\n6 8
size 5#a  / 5 2
class(+/)module`relu  / `module
class(+/)tensor 3  / `tensor
class reverse module`relu  / `module

/ meta: tensors without data
t:tensor(2 3#1e;`meta);(device t;size t+1)  / `meta\n2 3
tensor t  / 'tensor: Cannot copy out of meta tensor; no data!
m:module enlist(`linear;3;4);to(m;`meta);(device m;size forward(m;t))  / `meta\n2 4
seed`meta  / 'seed: meta has no random numbers

/ several members of a vector or dictionary at once
v:vector(1 2e;3 4e;5 6 7e);tensor each v 2 0  / 5 6 7e\n1 2e
tensor each v[0 2;1]  / 2 6e
d:dict`a`b!(1 2;3 4 5);tensor each d`b`a  / 3 4 5\n1 2
(tensor d`a;tensor d[`b;1])  / 1 2\n4
v 0 3  / 'index
v 1.5  / 'index: expected long(s) for vector, given double scalar
v -1  / 'index
d`a`c  / 'index
f:{[m;x]free x;x};forward(module enlist(`callback;`cb;`f);1 2e)  / 'stale pointer

/ pointwise operators on vectors and dictionaries of tensors
v:vector(1 2e;3 4 5e);vector v+1  / 2 3e\n4 5 6e
vector 1-v  / 0 -1e\n-2 -3 -4e
vector v*v  / 1 4e\n9 16 25e
vector v+10 20  / 11 12e\n23 24 25e
vector v*tensor 2e  / 2 4e\n6 8 10e
vector neg v  / -1 -2e\n-3 -4 -5e
vector 2<v  / 00b\n111b
vector`double$v  / 1 2f\n3 4 5f
vector v  / 1 2e\n3 4 5e
d:dict`a`b!(1 2e;4 9e);dict sqrt d  / a| 1 1.414214\nb| 2 3
dict d%d  / a| 1 1\nb| 1 1
dict d*`a`b!10 1  / a| 10 20\nb| 4  9
x:tensor(1 2e;`grad);backward sum(3*vector(addref x;enlist 1e))0;grad x  / 3 3e
v*1 2 3  / '*: 2 tensor(s) and 3 value(s)
d*`a`c!1 2  / '*: expected the keys `a`b, given `a`c
d*dict`a`c!1 2  / '*: expected the keys `a`b, given `a`c
v+d  / '+: not implemented for vector and dictionary
v mmu v  / 'mmu: not implemented for vector and vector
sum v  / 'sum: not implemented for vectors
med d  / 'med: not implemented for dictionaries
1+vector(1 2;tensor[])  / '+: undefined tensor
v+`a  / '+: no torch type found for k: symbol scalar
if[v;1]  / 'condition: not implemented for vectors
$[tensor 1 2;1;2]  / 'condition: a Tensor with 2 elements cannot be converted to Scalar
v[0]:7 8e;v[1]-:1;v[1;0]:9;vector v  / 7 8e\n9 3 4e
v[0 1]+:1;vector v  / 8 9e\n10 4 5e
v[0 1]:(1 2;3);vector v  / 1 2\n3
d[`b]:til 3;d[`c]:1b;dict d  / a| 1 2e\nb| 0 1 2\nc| 1b
d[`b]*:2;d[`a;1]:5;dict d  / a| 1 5e\nb| 0 2 4\nc| 1b
v[2]:1  / 'index
v[0 1]:1 2 3  / 'amend: 2 tensor(s) and 3 value(s)
d[0]:1  / 'amend: expected symbol(s) for dictionary, given long scalar
d[`z]+:1  / 'index
v[0]:`a  / 'amend: no torch type found for k: symbol scalar
d 0  / 'index: expected symbol(s) for dictionary, given long scalar

/ what a handle cannot do names the operator
t:tensor 1 2 3  /
t`a  / 'index: expected long(s) or boolean(s), given symbol scalar
t 1.5  / 'index: expected long(s) or boolean(s), given double scalar
t+`a  / '+: no torch type found for k: symbol scalar
(::)+t  / '+: expected a tensor or numbers, given null/unary primitive
tensor[]+1  / '+: undefined tensor
`foo$t  / '$: expected a data type, given `foo
1.5#t  / '#: expected long(s), given double scalar
(module`relu)+1  / '+: not implemented for modules; the result of a call is f[(a;b)], not f(a;b)
exp loss`mse  / 'exp: not implemented for losses
(module`relu)0  / 'index: not implemented for modules
m:module`relu;m[0]:1  / 'amend: not implemented for modules

/ memory is pinned where there is an accelerator
t:tensor(1 2;`pinned`int);(dtype t;tensor t)  / `int\n1 2i

/ gradients of several tensors at once
x:tensor(1 2e;`grad);backward vector(sum x*x;sum x);grad x  / 3 5e
nograd x;backward(vector(x*2;x*3);(1 1e;1 2e));grad x  / 5 8e
nograd x;backward(vector(x*2;sum x);(1 1e;::));grad x  / 3 3e
nograd x;backward(vector(x*2;addref x);vector(1 1e;2 2e));grad x  / 4 4e
nograd x;v:vector(sum x*x;sum x);backward(v;`retain);backward v;grad x  / 6 10e
nograd x;backward(dict`a`b!(x*2;x*3);`b`a!(1 1e;1 2e));grad x  / 5 7e
nograd x;backward(dict`a`b!(x*2;x*3);dict`a`b!(1e;2e));grad x  / 8 8e
backward(vector(x*2;x*3);enlist 1 1e)  / 'backward: 2 tensor(s) and 1 gradient(s) (expected backward(ptr;mode))
backward(vector(x*2;x*3);5)  / 'backward: expected a gradient for each tensor, given long scalar
backward(vector(x*2;x*3);(1 1e;`a))  / 'backward: unrecognized arg(s), expecting tensor, optional gradient and mode (given vector of 2, general list of 2)
backward(dict`a`b!(x*2;x*3);`a`c!(1 1e;1 2e))  / 'backward: expected gradients of `a`b, given `a`c
backward vector(x*2;tensor[])  / 'backward: undefined tensor (given vector of 2)
backward vector(1 2e;3)  / 'backward: element 0 of tensors does not require grad and does not have a grad_fn (given vector of 2)
backward loss`mse  / 'backward: not implemented for losses

/ flags of several tensors: all or none
v:vector(1 2e;1 2);gradflag(v;1b)  / 'gradflag: only Tensors of floating point dtype can require gradients (given vector of 2, boolean scalar)
gradflag v  / 00b
unfreeze v  / 'unfreeze: only Tensors of floating point dtype can require gradients (given vector of 2)
gradflag v  / 00b
v:vector(1 2e;3e);gradflag(v;1b);gradflag v  / 11b

/ whole numbers and bytes among operands and indices
tensor(tensor 1 2 3 4)cov 1 2 3 4  / 1.25e
tensor(tensor 10 20 30)0x0102  / 20 30
/ verbs on tensors that have no operator
a:tensor 1 2 3 5e;b:tensor 4 5 6 1e  /
tensor each(a cor b;a cor 4 5 6 1;1 2 3 5e cor b)  / -0.6324555 -0.6324555 -0.6324555e
x:tensor(1 2 4e;`grad);backward x cor 3 1 1e;grad x  / 0.1619848 -0.2429772 0.08099236e
tensor each(a in 1 5e;a in b;1 2 in tensor 2 3)  / 1001b\n1001b\n01b
tensor each(a bin 0 1.5 5 9;1 2 3 5 bin tensor 4;1 2 3 5 binr tensor 0 2 4)  / -1 0 3 3\n2\n0 1 3
tensor each(1 rotate a;-1 rotate a;6 rotate a;0 rotate tensor 4)  / 2 3 5 1e\n5 1 2 3e\n3 5 1 2e\n4
tensor 1 rotate tensor 3 2#til 6  / 2 3\n4 5\n0 1
tensor avgs a  / 1 1.5 2 2.75e
tensor avgs tensor 3 2#til 6  / 0 1\n1 2\n2 3
a rotate 2  / 'rotate: not implemented for tensor and long scalar
a bin `x  / 'bin: no torch type found for k: symbol scalar
a cor 1 2e  / 'cor: The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 0

/ as sets, found, picked and chosen
t:tensor 3 1 2 1f;u:tensor 1 2f;m:tensor(1 2f;3 4f;1 2f)  /
tensor each(t?u;t?1;(tensor 3 1 2 1)?1 9;1 2f?t)  / 1 2\n1\n1 4\n2 0 1 0
tensor each(m?3 4f;m?(3 4f;9 9f);m?5 6f)  / 1\n1 3\n3
tensor each((tensor 0n 1f)?0n 1 0 3f;(tensor`float$())?1 2f)  / 0 1 2 2\n0 0
tensor each(t except u;t except 2;1 2f except t;t inter u;t inter 1 2f)  / ,3f\n3 1 1f\n`float$()\n1 2 1f\n1 2 1f
tensor each(t union u;2 union tensor 3 1 2 1;t union 1 2f;(0n;1f;0n)union tensor 0n 1 2f)  / 3 1 2\n2 3 1\n3 1 2\n  1 2
tensor each(m except enlist 1 2f;m inter enlist 3 4f;m union tensor 1 2#5 6f)  / ,3 4f\n,3 4f\n(1 2f;3 4f;5 6f)
tensor each((tensor 001b)?10b;(tensor 001b)except 1b;(tensor 0x0102)union 0x0203;(tensor(1 2f;`bfloat16))?2f;101b bin tensor 1b)  / 2 0\n00b\n0x010203\n1\n2
x:tensor(1 2 3f;`grad);backward sum x except 2f;grad x  / 1 0 1f
((t;u)?u;count(t;u)except enlist t;(t;u)inter enlist u)~(1;1;enlist u)  / 1b
tensor each(t within u;1 5 2f within u)  / 0111b\n101b
tensor each(2 wavg t;t wavg t;m wsum 1 2f)  / 1.75\n2.142857\n5 16f
count distinct tensor -3?tensor til 10  / 3
tensor each(asc 0N?tensor til 5;(-3)_3?tensor 1#7;5?tensor 1 2#1 2)  / 0 1 2 3 4\n`long$()\n(1 2;1 2;1 2;1 2;1 2)
tensor each(?[t>1;t;0f];?[t>2;9;t];?[101b;tensor 1 2 3;4 5 6];?[1010b;0;t])  / 3 0 2 0f\n9 1 2 1f\n1 5 3\n0 1 0 1f
x:tensor(1 2 3f;`grad);backward sum ?[x>1;x*x;0f];grad x  / 0 4 6f
5?tensor til 0  / 'length
-9?t  / 'length
m?1 2 3f  / '?: expected rows of size [2], given a tensor of size [3]
m except 5  / 'except: expected rows of size [2], given a tensor of size [1]
t?`a  / '?: no torch type found for k: symbol scalar
t within tensor 1 2 3  / 'length
?[t;t;0f]  / '?: expected boolean(s), given tensor
?[t>1;t;1 2f]  / '?: The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 0
(tensor rand t)in 3 1 2f  / 1b
-8!t  / 'type: expected a value, given a tensor (tensor x is one; a snapshot keeps it as it is)
`:/tmp/kshell_h set(1;module enlist(`linear;1;1))  / 'type: expected a value, given a module (state x is one; a snapshot keeps it as it is)
group t  / 'group: not implemented for tensors
(module enlist(`linear;2;1))?1  / '?: not implemented for modules; the result of a call is f[(a;b)], not f(a;b)

/ items of several tensors: all or none
v:vector(1 2e;3 4e);v[0 1;1]:(9;`a)  / 'amend: no torch type found for k: symbol scalar
vector v  / 1 2\n3 4
v[0 1;1]:9 8e;vector v  / 1 9\n3 8
v[0 0;0]+:1 1e;vector v  / 3 9\n3 8

/ what the functions of handles take and give, form by form
return module`relu  / 'return: expecting tensor, vector or dictionary, given module
use[tensor 1]module`relu  / 'use: unable to re-assign tensor to given module
d:dict`a`b!1 2;use[d](::);count dict d  / 0
d:dict`a`b!1 2;use[d](enlist`a;enlist 3);dict d  / a| 3
use[dict()]1 2!3 4  / 'dict: expected symbol keys, given long list
obj 5  / 'obj: empty arg expected, given long scalar
class(+/:)  / 'class: need allocated torch object, e.g. tensor, module, given f/:
callbacks 5  / 'callbacks: empty arg expected, given long scalar
free[];l:loss`mse;m:module`relu;n:module enlist(`linear;2;3);o:opt(`sgd;n);v:vector();exec device from obj[]  / ```cpu`cpu`
nnz each(tensor 0 1 0 2;tensor(0 1 0 2;`sparse))  / 2 2
nnz vector(0 1 0;0 0)  / 1 0
(numel;elements;offset)@\:sparse 0 1 0 2  / 2 2 0N
stride sparse 0 1  / ()
(leaf;coalesced;defined)@\:tensor[]  / 110b
(dim;offset)@\:vector()  / `long$()\n`long$()
(type leaf vector();type layout vector();type ktype vector();type size vector())  / 1 11 10 0h
type value dim dict()  / 7h
type each(gradflag vector();value gradflag dict())  / 1 1h
contiguous(transpose tensor 2 3#1e;`preserve)  / 0b
contiguous(tensor 1;`foo)  / 'contiguous: unrecognized memory format: foo (expected contiguous(ptr;format))
contiguous(tensor 1;5)  / 'contiguous: expected symbol for memory format, given long scalar
cudadevices 5  / 'cudadevices: unexpected arg(s), cudadevices[] counts the devices, cudadevices() names them, given long scalar
config 5  / 'config: expects empty argument, config[] prints to stderr, config() returns strings, given long scalar
version 5  / 'version: unexpected arg(s), use version() for string, version[] for number, given long scalar
d:dict`a`b!(1 2;3 4e);key options d  / `a`b
(options d)[`b;`dtype]  / `float
meta[options vector()]~meta options vector 1 2  / 1b
count options dict()  / 0
s:tensor(0 0 1 0 2;`sparse);key detail s  / `indices`values
(detail s)[`values;`storage;`data]  / 1 2
a:tensor til 12;(sptr a)=(detail a)[`storage;`ptr]  / 1b
sptr each(sparse 0 1;tensor())  / 0 0
to(tensor[];`double)  / 'to: cannot change attribute(s) of an undefined tensor
options[`tensor]~options()  / 1b
all(options each``vector`dictionary)~\:options()  / 1b
all{options[x]~help x}each`module`loss`optimizer`backward`dtype`ktype`device  / 1b
help[`]~help()  / 1b
/ counts of modules and models: parameters; with buffers; of models also those of loss and optimizer
m:module enlist(`batchnorm1d;4);(size;tensorcount;elements;bytes)@\:m  / 2 5 17 72
o:opt(`sgd;m;.1;.9);k:model(m;loss(`ce;1 2e);o);(size;tensorcount;elements;bytes)@\:k  / 2 6 19 80
backward Sum forward(k;4 4#"e"$til 16);step k;(size;tensorcount;elements;bytes)@\:k  / 2 8 27 112
str[k]~str module enlist(`batchnorm1d;4)  / 1b
gradflag(tensor 1 2e;0;1b)  / 'gradflag: expected boolean scalar, indices or names not valid with a tensor, given long scalar
/ help and options of an object are its own, with `alloptions 0b only those that are set
m:module enlist(`linear;2;3);l:loss(`triplet;2.0);o:opt(`adam;m;.01);help[l]`options  / margin| 2f\np     | 2f\neps   | 1e-06\nswap  | 0b\nreduce| `mean
setting`alloptions,0b;r:(help[m]`options;options m;help[l]`options;options l;options o;help o);setting`alloptions,1b;r 0 1  / in out\n------\n2  3\n2  3
r 2 3  / margin\n------\n2\n2
r 4 5  / +(,`lr)!,,0.01\n+(,`lr)!,,0.01
/ stackframe: the calls that an error of torch came through stand below it
m:module enlist(`linear;1;2);setting`stackframe,1b;r:@[forward;(m;1 2 3e);::];setting`stackframe,0b;(first"\n"vs r)~@[forward;(m;1 2 3e);::]  / 1b
all 0<count each r ss/:("\nframe #0: forward (";"linear.py:";"\nframe #1: ")  / 1b
/ names and tensors of a dictionary, gradients of several tensors
d:dict`a`b!(1 2e;3);key d  / `a`b
d:dict`a`b!(1 2e;3);tensor each value d  / 1 2e\n3
d:dict`a`b!(1 2e;3);(value d)[0]~d`a  / 0b
d:dict`a`b!(1 2e;3);same(first value d;d`a)  / 1b
key tensor 1 2  / 'key: not implemented for tensors
value vector(1;2)  / 'value: not implemented for vectors
key module`relu  / 'key: not implemented for modules
v:vector(tensor(1 2e;`grad);tensor 3 4e);backward Sum mul(v 0;v 1);grad v  / 3 4e\n::
m:module enlist(`linear;2;1);backward Sum forward(m;1 2#3e);grad parms m  / weight| 3 3\nbias  | 1
grad enlist vector(1 2e;3e)  / 'grad: expecting a tensor, given general list
/ verbs along a tensor, as of the same array; of floats a null is one
tensor prev tensor 1 2 3f  / 0n 1 2
prev tensor 1 2 3  / 'prev: whole numbers (long) of a tensor have no null to put in, floats have
tensor -1 xprev tensor 1 2 3e  / 2 3 0Ne
tensor 2 mavg tensor 1 0n 3 5  / 1 1 3 4f
tensor .5 ema tensor 1 2 3f  / 1 1.5 2.25
tensor ratios tensor 1 2 6f  / 1 2 3f
tensor differ tensor(1 2;1 2;3 4)  / 101b
tensor fills tensor 0n 2 0n 3  / 0n 2 2 3
tensor sums tensor 1 0n 2  / 1 1 3f
tensor each 2 cut tensor til 5  / 0 1\n2 3\n,4
tensor each 0 2_tensor til 4  / 0 1\n2 3
tensor 1 2 sublist tensor til 5  / 1 2
tensor .5 xbar tensor 1.3 0n 2.7  / 1 0n 2.5
tensor iasc tensor 2 0n 1  / 1 2 0
tensor asc tensor(3 1;2 9;3 0)  / 2 9\n3 0\n3 1
tensor where tensor 2 0 1  / 0 0 2
where tensor 1 2f  / 'where: expected booleans or whole numbers
`a msum tensor 1 2f  / 'msum: expected a long, given symbol scalar
0 cut tensor 1 2f  / 'domain
tensor(-':)tensor 1 4 9  / 1 3 5
tensor{.5*x+2%x}/[tensor 1f]  / 1.414214
/ bits are numbers to + - neg, as q's are; a cast rounds as q's does
b:tensor 10110b;tensor each(b+b;b-b;2-b;b-1b;neg b;abs b;1b+b)  / 2  0  2  2  0\n0  0  0  0  0\n1  2  1  1  2\n0  -1 0  0  -1\n-1 0  -1 -1 0\n1  0  1  1  0\n2  1  2  2  1
tensor 1b+tensor 10b  / 2 1i
tensor`long$tensor 0.5 1.5 2.5 -0.5 -1.5 -2.5 0n 0w -0w  / 1 2 3 0 -1 -2 0N 0W -0W
tensor"i"$tensor 16777217 8388609e  / 16777216 8388609i
tensor raze tensor 1 2 3  / 1 2 3
tensor(tensor 3 1 4)^1  / 1 1 1
tensor 3#tensor 5f  / 5 5 5f
1_tensor 5f  / '_: expected a list
(tensor 1 2)-tensor 1 2 3  / '-: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
/ a part of a parameter is set as the parameter is
m:module enlist(`linear;3;2);w:parm(m;`weight);v:reshape(w;-1);v[0 1]:7e;u:w 1;u[]:9e;u[2]:5e  /
w[6>abs w]:0e;v[where v=7]:1e;tensor w  / 1 1 0\n9 9 0
backward Sum forward(m;1 3#1 2 3e);grad w  / 1 2 3\n1 2 3
x:tensor(1 2 3e;`grad);y:2*x;u:y[0 1];u[0]:0e;backward Sum y*y;grad x  / 8 16 24e
tensor vmap({.5 ema x};tensor(1 2f;3 4f))  / 1 1.5\n3 3.5
tensor vmap({asc fills x};tensor(2 0n;4 3f))  / 2 2\n3 4
tensor jacobian({2 mavg x};tensor 1 2 3f)  / 1   0   0\n0.5 0.5 0\n0   0.5 0.5
a:tensor 1 2e;mse(a;a)-a  / '-: expected a tensor or numbers, given general list; the result of a call is f[(a;b)], not f(a;b)
a:tensor 1 2e;tensor mse[(a;a)]-a  / -1 -2e
/ the number of an object where its handle is meant
t:tensor 1 2e;size first t  / 'size: need allocated torch object, e.g. tensor, module, given long scalar
m:module`relu;l:m,m;class l 1  / 'class: need allocated torch object, e.g. tensor, module, given long scalar
t:tensor(`rand;1000);(-8!tensor t xexp 3)~-8!tensor t*t*t  / 1b
dtype each(tensor 1 2 3)xexp/:(2;.5;1b)  / `float`float`float

/ a list of handles takes a handle by `,:`, where `,` leaves its number
hl:enlist tensor 1;hl,:tensor 2;class each hl  / `tensor`tensor
type each(enlist tensor 1),tensor 2  / 0 -7h

/ folds with a start go through the rows of a tensor, as those without
t:tensor 3 2#"e"$til 6;tensor each({x+2*y}/[0 0e;t];{x+2*y}/[t 0;1_t];{z+x*y}/[tensor 0 0e;t;1 2 3];{x+y}/[1e;tensor 2e])  / 12 18e\n12 17e\n19 28e\n3e
t:tensor 3 2#"e"$til 6;tensor each{x+y}\[tensor 10 20e;t]  / 10 21\n12 24\n16 29
t:tensor 3 2#"e"$til 6;tensor each(.5\[tensor 0 0e;t]),.5\[0e;t 2]  / 0 1e\n2 3.5e\n5 6.75e\n4e\n7e
t:tensor 3 2#"e"$til 6;{x+y+z}/[t;t;1 2]  / 'length
(a;b):vector(1 2e;3e);tensor each(a;b)  / 1 2e\n3e
(a;b;c):vector(1 2e;3e)  / 'length
((a;b);c):(vector(1 2e;3e);7);(c;tensor b)  / 7\n3e
(a;b):tensor 2 2#1e;same(a;b)  / 1b
p:dict`a`b!(1 2e;3e);p[]:2*p;dict p  / a| 2 4e\nb| 6e
p:dict`a`b!(1 2e;3e);p[]:value 3*p;p[]:dict`b`a!(5e;6e);dict p  / a| 6\nb| 5
p:dict`a`b!(1 2e;3e);p[]:dict`a`c!1 2e  / 'amend: expected tensors `a`b, given `a`c
p:dict`a`b!(1 2e;3e);p[]:1 2 3  / 'amend: 2 tensor(s) and 3 value(s)
v:vector(1 2e;3e);v[]:2*v;vector v  / 2 4e\n6e
x:tensor 3e;x[]:4;x[]+:1;tensor x[]  / 5e
x:tensor 3e;x[0]:1  / 'rank

/ an index that reaches into a tensor of a dictionary, list or table changes the tensor in place, as `t[0;0]:9e` does
d:`w`b!(tensor 2 3#1e;tensor 1 2f);w:d`w  /
d[`w;0;0]:9e;tensor w  / 9 1 1\n1 1 1
d[`w;0]+:1;tensor w  / 10 2 2\n1  1 1
.[`d;(`w;0;0);:;3e];tensor w  / 3 2 2\n1 1 1
.[`d;(`w;0;0);neg];tensor w  / -3 2 2\n1  1 1
(.[d;(`w;1;0);*;4];same(w;d`w))1  / 1b
d[`w`b;0]:5;tensor each d  / w| 5 5 5 4 1 1\nb| 5     2    
d[;1]:(6;7);tensor each d  / w| 5 5 5 6 6 6\nb| 5     7    
d[`b`b;0]+:1;tensor d`b  / 7 7f
@[`d;`b;+;1];tensor each(w;d`b)  / 5 5 5 6 6 6\n8     8
d:`w`b!(tensor 2 3#1e;tensor 1 2f);d[`w`b;0]:(1 1 1e;1 2 3)  / 'amend: expand(torch.DoubleTensor{[3]}, size=[]): the number of sizes provided (0) must be greater or equal to the number of dimensions in the tensor (1)
d[`w`new;0]:5  / 'type
d[`w`b;5]:5  / 'index
d[`w;0]:`a  / 'amend: no torch type found for k: symbol scalar
d[`w`b;0]+:(5;`a)  / '+: no torch type found for k: symbol scalar
tensor each d  / w| 1 1 1 1 1 1\nb| 1     2    
l:(tensor 1 2e;tensor 3 4e);l[0;1]:5e;l[0 0;0]+:1;l[;1]*:2;tensor'[l]  / 3 10\n3 8
t:([]n:`a`b;x:l);t[`x;0;1]:1e;t[1;`x;1]:2e;t[;`x;0]:(4e;5e);tensor'[l]  / 4 1\n5 2
k:1!t;k[`b;`x;0]:0e;tensor'[l]  / 4 1\n0 2
n:`a`b!(`w`b!l;l);n[`a;`w;0]:7e;n[`b;0 1;1]+:1;tensor'[l]  / 7 2\n0 3
n[`a`b;`w;0]:1  / 'type
tensor'[l]  / 7 2\n0 3
h:dict`w`b!(1 2e;3 4e);v:vector(1 2e;3 4e);n:`h`v!(h;v);n[`h;`w;0]:8e;n[`v;1;1]:9e;(value dict h;vector v)  / 8 2 3 4\n1 2 3 9
n[`h`v;;1]:(0e;(1;`bad))  / 'amend: no torch type found for k: symbol scalar
n[`h`v;`w]:1e  / 'index: expected long(s) for vector, given symbol scalar
(value dict h;vector v)  / 8 2 3 4\n1 2 3 9
{[d]d[`w;0;0]:100e;d[`w;1]-:1}d;tensor d`w  / 100 1 1\n0   0 0
w:tensor(1 2 3e;`grad);q:(w*2;w*3);q[0 1;0]:(5e;1 2 3)  / 'amend: expand(torch.FloatTensor{[3]}, size=[]): the number of sizes provided (0) must be greater or equal to the number of dimensions in the tensor (1)
backward Sum(q 0)+q 1;grad w  / 5 5 5e
m:module enlist(`linear;2;1);d:`a`b!{parm(m;x)}each`weight`bias;d[`a;0;1]:7e;(tensor parm(m;`weight))[0;1]  / 7e

/ a cast reaches the tensors in dictionaries, lists and tables
d:`w`b!(tensor 2 3#1e;tensor 1 2f);n:`x`y!(d;d);l:value d  /
dtype each`bfloat16$d  / w| bfloat16\nb| bfloat16
dtype each"e"$d  / w| float\nb| float
dtype each 9h$d  / w| double\nb| double
dtype''[`half$n]  /  | w    b\n-| ---------\nx| half half\ny| half half
dtype each`long$l  / `long`long
dtype each exec v from`bfloat16$([k:`a`b]v:l)  / `bfloat16`bfloat16
(a;b):"f"$(1;tensor 2);(a;dtype b)  / 1f\n`double
dtype each d  / w| float\nb| double
`foo$d  / '$: expected a data type, given `foo
"F"$d  / '$: expected a data type, given "F"
11h$tensor 1  / '$: expected a data type, given 11h
`bfloat16$(1;tensor 2)  / '$: `bfloat16 is a type of tensors only, given long beside tensors
(tensor each neg d)~neg each tensor each d  / 1b
(tensor each d*2)~2*tensor each d  / 1b
(tensor each d+d)~2*tensor each d  / 1b
(tensor each d>1)~1<tensor each d  / 1b
(tensor''[abs neg n])~tensor''[n]  / 1b
tensor''[value flip value(([k:`a`b]v:l)*2)]  / 2 2 2 2 2 2 2     4
