/ autocast
m:module seq(`sequential;(`linear;`a;2;8);`tanh;(`linear;`b;8;1))  /
dtype autocast(`bfloat16;forward;(m;3 2#1e))  / `bfloat16
dtype autocast(`float16;forward;(m;3 2#1e))  / `half
dtype autocast(`bfloat16;{mse(forward(x;y);z)};m;3 2#1e;tensor 3 1#1e)  / `float
dtype forward(m;3 2#1e)  / `float
f:{dtype forward(x;y)}  /
autocast(`bfloat16;`f;m;3 2#1e)  / `bfloat16
autocast(`bfloat16;"{dtype forward(x;y)}";m;3 2#1e)  / `bfloat16
autocast(`half;{5})  / 5
autocast(`half;{'foo};1)  / 'foo
dtype forward(m;3 2#1e)  / `float
autocast(`float;{x};1)  / 'autocast: unrecognized data type `float, expecting one of `bfloat16`half
autocast(1;{x};1)  / 'autocast: expected symbol for data type, given long scalar
autocast(`half;1;1)  / 'autocast: expecting function, its name or text, given long scalar
autocast(`half;m;1)  / 'autocast: expecting function, its name or text, given module
autocast`half  / 'autocast: expecting (data type;function;argument;..), given 1 arg
/ calculating again
y:evaluate(m;3 2#1e)  /
k:module m  /
checkpoint m  / 0b
checkpoint(m;`a`b;1b)  /
checkpoint(m;`a`1`b)  / 101b
checkpoint(m;`a)  / 1b
checkpoint(m;1b)  /
checkpoint m  / 1b
y~evaluate(m;3 2#1e)  / 1b
k~module m  / 1b
objtype m  / `sequential
checkpoint clone m  / 1b
checkpoint module state m  / 0b
backward Sum forward(m;3 2#1e)  /
g:exec grad from parmtable m  /
checkpoint(m;0b);checkpoint(m;`a`b;0b)  /
nograd m;backward Sum forward(m;3 2#1e)  /
g~exec grad from parmtable m  / 1b
checkpoint(m;`a`b)  / 00b
checkpoint(m;`q)  / 'checkpoint: no module named `q
checkpoint(m;`)  / 'checkpoint: no module named `
checkpoint(m;1)  / 'checkpoint: expected name(s) or flag, given long scalar
checkpoint(m;`a;1)  / 'checkpoint: expected boolean scalar, given long scalar
checkpoint(m;`a;1b;2)  / 'checkpoint: expecting up to 3 args, given 4
checkpoint 3  / 'checkpoint: expecting module or model, given long scalar
l:module seq(`sequential;(`lstm;4;3))  /
x:tensor(`randn;2 5 4);h:tensor(`randn;1 5 3);c:tensor(`randn;1 5 3)  /
r:vector forward(l;x;h;c)  /
checkpoint(l;1b)  /
r~vector forward(l;x;h;c)  / 1b
/ compilation
n:0;f:{[m;x]n::n+1;tanh x}  /
q:module seq(`sequential;(`linear;2;4);(`callback;`;`f);(`linear;4;1))  /
y:evaluate(q;3 2#1e)  /
k:state q  /
compile(q;`eager)  /
y~evaluate(q;3 2#1e)  / 1b
k~state q  / 1b
n  / 2
backward Sum forward(q;3 2#1e)  /
count gradtable q  / 4
compile(q;0b)  /
y~evaluate(q;3 2#1e)  / 1b
compile(q;`foo)  / 'compile: unrecognized backend `foo, expecting one of `cudagraphs`inductor`openxla`tvm`eager`aot_eager
compile(q;3)  / 'compile: expected backend or flag, given long scalar
compile(q;`eager;1)  / 'compile: expecting 1-2 args, given 3
compile 3  / 'compile: expecting module or model, given long scalar
/ compilation of functions of q
f:compile({x*x+1};`eager)  /
type f  / 112h
f 1 2 3e  / 2 6 12e
f 2e  / 6e
x:tensor(1 2 3e;`grad);backward Sum f x;grad x  / 3 5 7e
w:tensor(2 2e;`grad);h:compile({Sum x*w};`eager)  /
backward h tensor 3 4e;grad w  / 3 4e
w[0]:5e;h 1 1e  / 7e
m:module seq(`sequential;(`linear;3;2);`tanh)  /
k:compile({[x;y]mse(forward(m;x);y)};`aot_eager)  /
k[4 3#1e;4 2#0e]~mse(evaluate(m;4 3#1e);4 2#0e)  / 1b
backward k[tensor 4 3#1e;4 2#0e]  /
all 0<exec grad from parmtable m  / 1b
g:compile({x[0]:7e;x};`eager);v:1 2e;(g v;v)  / 7 2\n1 2
t:tensor 1 2e;g t;tensor t  / 7 2e
n:0;c:compile({n+:1;vector(x;x+1)};`eager)  /
c each(1 2e;3 4e;5 6 7e;1 2)  / 1 2   2 3\n3 4   4 5\n5 6 7 6 7 8\n1 2   2 3
n  / 3
s:{x*x};compile[`s]2 3e  / 4 9e
autograd(compile(`s;`eager);3e)  / 6e
f:compile("{x*2}";`eager);f 1 2e  / 2 4e
@[{type compile x};"{x*2}";{x like"*C++*"}]in(112h;1b)  / 1b
a:tensor 1e;free a;f a  / 'stale pointer
h:compile({a::x;x+1};`eager);h 1 2e  / 2 3e
tensor a  / 'stale pointer
compile[({$[0<Sum x;x;neg x]};`eager)]1 2e  / 'condition: a tensor has no values while its function is compiled
compile[({x*first tensor x};`eager)]1 2e  / 'tensor: a tensor has no values while its function is compiled
compile[({'"own"};`eager)]1 2e  / 'own
compile[({x mmu x};`eager)]2 3#1e  / 'mmu: a and b must have same reduction dim, but got [2, 3] X [2, 3].
f`a  / 'compile: expecting tensor or array for input, given symbol scalar
f[]  / 'compile: expecting tensors or arrays, given nothing
compile({x};`zz)  / 'compile: unrecognized backend `zz, expecting one of `cudagraphs`inductor`openxla`tvm`eager`aot_eager
compile({x};0b)  / 'compile: expected backend, given boolean scalar
compile({x};`eager;2)  / 'compile: expecting 1-2 args, given 3
/ without a graph of gradients
x:tensor(1 2e;`grad);gradflag each(nograd({x*y};x;x);nograd(add;(x;x));x*x)  / 001b
nograd({'`abc};x)  / 'abc
gradflag x*x  / 1b
nograd({x})  / 'nograd: need allocated torch object, e.g. tensor, module, given lambda
nograd(`add;x)  / 'nograd: need allocated torch object, e.g. tensor, module, given general list
