/ gradients of functions
autograd({Sum x*x*x};1 2 3e)  / 3 12 27e
autograd({Sum x*y};1 2e;3 4e)  / 3 4\n1 2
autograd({Sum x};2 2#1 2 3 4.)  / 1 1\n1 1
autograd({x*x};3e)  / 6e
autograd({Sum 0*y};1 2e;1 2e)  / 0 0\n0 0
autograd({Sum tensor 1 2e};1 2e)  / 0 0e
class autograd({Sum x*x};tensor 1 2e)  / `tensor
class autograd({Sum x*y};tensor 1 2e;3 4e)  / `vector
g:{Sum x*x}  /
autograd(`g;1 2e)  / 2 4e
autograd("{Sum x*x}";1 2e)  / 2 4e
autograd("g";1 2e)  / 2 4e
g1:{[m;x]x+1};h:g1  /
evaluate(module enlist(`callback;"h");1 2e)  / 2 3e
autograd({[w;x]Sum x*w}[tensor 5 6e];1 2e)  / 5 6e
m:module enlist(`linear;2;1)  /
(autograd(m;1 2e))~first tensor parm(m;`weight)  / 1b
(::)~grad parm(m;`weight)  / 1b
autograd({$[0<first tensor x;Sum x*x;Sum x]};3 2e)  / 6 4e
autograd({$[0<first tensor x;Sum x*x;Sum x]};-3 2e)  / 1 1e
autograd({Sum autograd({Sum x*x*x};x)};1 2e)  / 6 12e
w:tensor(1 2e;`grad)  /
tensor autograd({Sum x*x*x};w)  / 3 12e
gradflag autograd({Sum x*x*x};w)  / 1b
tensor autograd(Sum autograd({Sum x*x*x};w);w)  / 6 12e
y:Sum w*w  /
tensor autograd(y;w;`retain)  / 2 4e
count vector autograd(y;vector enlist addref w)  / 1
(::)~grad w  / 1b
autograd(y;w)  / 'autograd: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed) (given float tensor of no dimensions, float tensor 2)
autograd(Sum w;tensor 1 2e)  / 'autograd: One of the differentiated Tensors does not require grad (given float tensor of no dimensions, float tensor 2)
autograd(Sum w;w;`foo)  / 'autograd: unrecognized mode, expecting one of `free`retain`create`createfree (given float tensor of no dimensions, float tensor 2, `foo)
autograd(Sum w;5)  / 'autograd: expecting (tensor;tensor, vector or dictionary) and optional mode (given float tensor of no dimensions, long 5)
autograd(w;w)  / 'autograd: grad can be implicitly created only for scalar outputs (given float tensor 2, float tensor 2)
autograd({Sum x};1 2)  / 'autograd: only Tensors of floating point dtype can require gradients (given function {Sum x} of x, long list of 2)
autograd({x};1 2e)  / 'autograd: grad can be implicitly created only for scalar outputs (given function {x} of x, real list of 2)
autograd({x+y};1 2e)  / 'autograd: the function must return a tensor, given projection
autograd({`a};1 2e)  / 'autograd: the function must return a tensor, given symbol scalar
autograd({1+`a};1 2e)  / 'type
autograd({vector(x;x+1)};1 2e)  / 'autograd: the function must return one tensor, given 2
autograd(5;1 2e)  / 'autograd: expecting function, its name or text, or module, given long scalar
autograd({x};`a)  / 'autograd: expecting tensor or array, or dictionary of these, for input, given symbol scalar
autograd{x}  / 'autograd: expecting (function;input;..), given 1 arg
/ all derivatives
jacobian({x*x};1 2 3e)  / 2 0 0\n0 4 0\n0 0 6
jacobian({x*y};1 2e;3 4e)  / 3 0 0 4\n1 0 0 2
jacobian({Sum x*x};1 2e)  / 2 4e
jacobian({$[0<first tensor x;x;2*x]};1 2e)  / 1 0\n0 1
jacobian({5 6e};1 2e)  / 0 0\n0 0
class jacobian({x*y};tensor 1 2e;3 4e)  / `vector
(jacobian(m;1 2e))~tensor parm(m;`weight)  / 1b
jacobian({x*x};1 2)  / 'jacobian: only Tensors of floating point dtype can require gradients (given function {x*x} of x, long list of 2)
hessian({prd x};1 2 3e)  / 0 3 2\n3 0 1\n2 1 0
hessian({Sum x*x*y};1 2e;3 4e)  / 6 0 0 8 2 0 0 4\n2 0 0 4 0 0 0 0
class each hessian({Sum x*y};tensor 1 2e;3 4e)  / `vector`vector
hessian({x};1 2e)  / 'hessian: The Tensor returned by the function given to hessian should contain a single element
jvp({x*x};1 2 3e;1 0 1e)  / 1 4 9\n2 0 6
jvp({x*y};1 2e;3 4e;1 1e;0 1e)  / 3 8\n3 6
jvp({5 6e};1 2e;1 1e)  / 5 6\n0 0
jvp({x*y};1 2e;3 4e;1 1e)  / 'jvp: expecting (function;input;..;direction;..), one direction for each input (given function {x*y} of x and y, real list of 2, real list of 2, real list of 2)
jvp({x};1 2e)  / 'jvp: expecting (function;input;..), given 2 args
vjp({x*x};1 2 3e;1 0 10e)  / 1 4 9\n2 0 60
vjp({x*y};1 2e;3 4e;1 10e)  / 3 8\n3 40\n1 20
vjp({x};1 2e;1 2 3e)  / 'vjp: Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2]).
/ items at once
vmap({x mmu y};2 2 2#1 2 3 4 5 6 7 8e;2 2#1 0 0 1e)  / 1 3\n6 8
vmap({[w;x]x mmu w}[tensor 1 2e];2 2#1 2e)  / 5 5e
vmap({Sum x};3 2#til 6)  / 1 5 9
class vmap({x+1};tensor 1 2e)  / `tensor
vmap({vector(x;x+1)};1 2e)  / 1 2\n2 3
tensor vmap({autograd({Sum x*x};x)};tensor 2 2#1 2 3 4e)  / 2 4\n6 8
vmap({jacobian({x*x};x)};2 2#1 2 3 4e)  / 2 0 0 4\n6 0 0 8
vmap({hessian({Sum x*x*x};x)};2 2#1 2 3 4e)  / 6 0   0 12\n18 0  0  24
last vmap({jvp({x*x};x;x)};2 2#1 2 3 4e)  / 2  8\n18 32
last vmap({vjp({x*x};x;x)};2 2#1 2 3 4e)  / 2  8\n18 32
vmap({[w;x]autograd({[x;w]Sum w*w*x}[x];w)}[tensor 1 2e];2 2#1 1 10 0e)  / 2  4\n20 0
n:count obj[]  /
vmap({h::x+1;x*x};1 2 3e)  / 1 4 9e
mapped h  / 0b
n=count obj[]  / 1b
vmap({$[0<first tensor x;x;2*x]};2 2#1 2e)  / 'tensor: Cannot access data pointer of Tensor that doesn't have storage (given float tensor 2)
n=count obj[]  / 1b
vmap({x};5)  / 'vmap: tensor has no dimensions (given function {x} of x, long 5)
vmap({x+y};1 2e;1 2 3e)  / 'vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [2, 3] for the mapped dimension
vmap(1;1 2e)  / 'vmap: expecting function, its name or text, or module, given long scalar
