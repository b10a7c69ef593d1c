/ what a handle is to q
type tensor 1 2 3  / 0h
count tensor 1 2 3  / 1
type first tensor 1 2 3  / -7h
b:t:tensor 1 2 3;(first b)=first t  / 1b
type(tensor 1),vector(1;2)  / 7h
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
use[1]tensor 1  / 'use: 1st arg must be tensor, vector or dictionary
a:tensor 1 2;v:vector(a;3);tensor a  / 'stale pointer
a:tensor 1 2;v:vector(addref a;3);ref a  / 2
a:tensor 1 2;v:vector(a;`x);  / 'no torch type found for k: symbol scalar
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
dtype 3  / 'dtype: need allocated torch object, e.g. tensor, module, given long scalar
dtype`nosuch  / 'dtype: unrecognized data type `nosuch
gradflag(tensor 1 2;1b)  / 'gradflag: only Tensors of floating point dtype can require gradients
d:dict`a`b!(1e;2e);gradflag(d;`b;1b);gradflag d  / a| 0\nb| 1
/ gradients
x:tensor(1 2 3e;`grad);backward Sum mul(x;x);grad x  / 2 4 6e
x:tensor(1 2 3e;`grad);backward(mul(x;x);1 0 1e);grad x  / 2 0 6e
x:tensor(1 2e;`grad);y:Sum mul(x;x);backward(y;`retain);backward y;grad x  / 4 8e
x:tensor(1 2e;`grad);y:Sum mul(x;x);backward y;backward y  / 'backward: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if 
x:tensor(1 2e;`grad);backward Sum x;zerograd x;grad x  / 0 0e
x:tensor(1 2e;`grad);backward Sum x;tensor grad enlist x  / 1 1e
x:tensor(1 2e;`grad);grad enlist x  / 'no gradient defined
backward(tensor(1e;`grad);`nosuch)  / 'unrecognized mode for backward: `nosuch, expecting one of `free`retain`create`createfree
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
setting`nosuch  / 'unrecognized configuration setting: nosuch
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
tensor each{x tensor 3 1 3}each(asc;desc;iasc;idesc;distinct)  / 1 3 3\n3 3 1\n1 0 2\n0 2 1\n1 3
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
v 1.5  / 'type
v -1  / 'index
d`a`c  / 'index
f:{[m;x]free x;x};forward(module enlist(`callback;`cb;`f);1 2e)  / 'stale pointer
