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
@[compile;(q;`foo);like[;"compile: unrecognized backend `foo, expecting one of `cudagraphs`inductor*`eager`aot_eager*"]]  / 1b
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
@[compile;({x};`zz);{31#x}]  / "compile: unrecognized backend `"
compile({x};0b)  / 'compile: expected backend, given boolean scalar
compile({x};`eager;2)  / 'compile: expecting 1-2 args, given 3
