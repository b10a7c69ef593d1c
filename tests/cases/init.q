/ constants
zeros 1 2f  / 0 0f
t:tensor 1 2f;zeros t;tensor t  / 0 0f
zeros(tensor 1 2;5)  / 'zeros: index 5 out of bounds for a tensor of size [2]
zeros`a  / 'zeros: no torch type found for k: symbol scalar
ones 2 3  / 1 1
v:vector(1 2 3;4 5f);ones(v;1);vector v  / 1 2 3\n1 1f
v:vector(1 2 3;4 5f);ones(v;0 1);vector v  / 1 1 1\n1 1f
ones(v;7)  / 'ones: vector[7] out of bounds, index must be less than 2
d:dict`a`b!(1 2;3 4f);ones(d;`b);dict d  / a| 1 2\nb| 1 1
ones(d;`z)  / 'ones: no dictionary key `z
fill(0 0f;2.5)  / 2.5 2.5
fill(2 2#0;1;7)  / 0 0\n7 7
fill(til 3;0 2;9)  / 9 1 9
t:tensor 3 2#0;fill(t;0 2;7);tensor t  / 7 7\n0 0\n7 7
t:tensor 3 2#0;fill(t;1;7);tensor t  / 0 0\n7 7\n0 0
fill(t;`value,9);tensor t  / 9 9\n9 9\n9 9
fill(t;9 1;0)  / 'fill: index 9 out of bounds for a tensor of size [3, 2]
fill(01b;1b)  / 11b
fill(tensor 1 2;`a)  / 'fill value: expected number or boolean, given symbol scalar
fill tensor 1 2  / 'fill: value not given (given long tensor 2)
filldiagonal(3 3#0;7)  / 7 0 0\n0 7 0\n0 0 7
filldiagonal(4 1#0;7;1b)  / 7\n0\n7\n0
t:tensor 2 2#0;filldiagonal(t;`value,3);tensor t  / 3 0\n0 3
filldiagonal 2 2#0  / 'filldiagonal: value not given (given long 2x2)
filldiagonal(1 2;7)  / 'filldiagonal: dimensions must larger than 1 (given long list of 2, long 7)
eye 2 3#9f  / 1 0 0\n0 1 0
t:tensor 2 2#9f;eye t;tensor t  / 1 0\n0 1
eye 1 2f  / 'eye: Only tensors with 2 dimensions are supported (given double list of 2)
m:module enlist(`linear;2;2);eye(m;`weight);tensor parm(m;`weight)  / 1 0\n0 1
dirac 2 1 3#9f  / 0 1 0\n0 0 0
t:tensor 1 1 3#9f;dirac t;tensor t  / 0 1 0
dirac 2 2#0f  / 'dirac: Only tensors with 3, 4, or 5 dimensions are supported (given double 2x2)
dirac(1 1 3#0f;1)  / 'dirac: unexpected long scalar
/ distributions
seed 7;x:normal 5#0f;seed 7;x~tensor tensor(`randn;5;`double)  / 1b
seed 7;x:normal(3#0f;2;.5);seed 7;all 1e-9>abs x-2+.5*normal 3#0f  / 1b
t:tensor 3 4#0e;normal(t;1#1;5;0);tensor t  / 0 0 0 0\n5 5 5 5\n0 0 0 0
normal(t;`mean`std!(3;0));tensor t  / 3 3 3 3\n3 3 3 3\n3 3 3 3
normal(1 2 3)  / 'normal: "normal_kernel_cpu" not implemented for 'Long'
normal(t;0;1;2;3)  / 'normal: unexpected long scalar
normal(t;`a)  / 'normal: unexpected symbol scalar, expecting mean (number), std (number)
normal(1 2f;0;-1)  / 'normal: normal expects std >= 0.0, but found std -1
all uniform[50#0f]within 0 1  / 1b
uniform(3#0f;2;2)  / 2 2 2f
t:tensor 2 2#0f;uniform(t;`low`high!5 5);tensor t  / 5 5\n5 5
uniform(1 2f;3;1)  / 'uniform: uniform_ expects to return a [from, to) range, but found from=3 > to=1
all(random(50#0;3))in 0 1 2  / 1b
asc distinct random(200#0;5;8)  / `s#5 6 7
all random[50#0b]in 01b  / 1b
t:tensor 2 2#0;random(t;1#0;3;4);tensor t  / 3 3\n0 0
random(0e;1)  / 0e
random((1#0);4;5)  / ,4
random(1 2;5;3)  / 'random: random_ expects 'from' to be less than 'to', but got from=5 >= to=3
count random(0;0;9)  / 3
random(tensor 1 2;`a)  / 'random: unexpected symbol scalar, expecting low (number), high (number)
count cauchy 5#0f  / 5
t:tensor 2#0f;cauchy(t;`median`sigma!(3;1));size t  / ,2
cauchy(1 2f;0;-1)  / 'cauchy: cauchy_ expects sigma > 0.0, but found sigma=-1
cauchy 1 2  / 'cauchy: Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified long int
all 0<=exponential(50#0f;2)  / 1b
t:tensor 2#0f;exponential(t;`rate,5);all 0<=tensor t  / 1b
exponential(1 2f;-1)  / 'exponential: exponential_ expects lambda > 0.0, but found lambda=-1
exponential(1 2f;1;2)  / 'exponential: unexpected long scalar
all 1<=geometric(50#0;.5)  / 1b
t:tensor 2#0f;geometric(t;`p,.5);all 1<=tensor t  / 1b
geometric 1 2f  / 'geometric: p not given (given double list of 2)
geometric(1 2f;2)  / 'geometric: geometric_ expects p to be in (0, 1), but got p=2
all 0<lognormal(50#0f)  / 1b
t:tensor 2#0f;lognormal(t;0;1);all 0<tensor t  / 1b
lognormal(1 2f;0;-1)  / 'lognormal: log_normal_ expects std > 0.0, but found std=-1
lognormal(1 2f;`zz,1)  / 'lognormal option: zz not recognized, expecting mean, std
/ initializations
{1e-9>max abs raze eye[3 3#0f]-mmt(x;x)}orthogonal 3 3#0f  / 1b
{1e-9>max abs raze(9*eye 2 2#0f)-mmt(x;x)}orthogonal(2 2#0f;3)  / 1b
t:tensor 2 2#1f;orthogonal(t;`gain,0);all 0=raze tensor t  / 1b
orthogonal 1 2f  / 'orthogonal: Only tensors with 2 or more dimensions are supported (given double list of 2)
seed 3;x:knormal(4 4#0f;`relu;`fanout);seed 3;y:knormal(4 4#0f;`fanout;`relu);x~y  / 1b
seed 3;x:knormal 4 4#0f;seed 3;y:knormal(4 4#0f;`nonlinearity`fan`slope!(`leakyrelu;`fanin;0));x~y  / 1b
knormal 1 2f  / 'knormal: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions
knormal(2 2#0f;`zz)  / 'knormal: unexpected symbol scalar, expecting nonlinearity (name of a nonlinearity), fan (`fanin or `fanout), slope (number)
knormal(2 2#0f;`nonlinearity,`zz)  / 'knormal nonlinearity: expected name of a nonlinearity, given symbol scalar
m:module enlist(`linear;2;2);knormal(m;`weight;`relu);size parm(m;`weight)  / 2 2
all(abs raze kuniform(4 4#0f;`linear))<1  / 1b
t:tensor 2 3 4#0f;kuniform(t;1#1);all 0=raze tensor(t;0)  / 1b
d:dict`fanout`relu!(2 3#0f;1 4#0f);kuniform(d;1#`fanout);all 0=raze dict[d]`relu  / 1b
d:dict`fanout`relu!(2 3#0f;1 4#0f);kuniform(d;`fanout);any 0=raze dict[d]`relu  / 0b
kuniform(2 2#0f;`fanin;`fanin)  / 'kuniform: unexpected symbol scalar, expecting slope (number)
sum 0=snormal(4 2#1f;.5)  / 2 2i
t:tensor 4 2#1f;snormal(t;`fraction`std!(.5;1));sum 0=tensor t  / 2 2i
snormal 2 2#0f  / 'snormal: fraction not given (given double 2x2)
snormal(1 2f;.5)  / 'snormal: Only tensors with 2 dimensions are supported (given double list of 2, double 0.5)
seed 3;x:xnormal(4 4#0f;2);seed 3;all 1e-9>abs raze x-2*xnormal 4 4#0f  / 1b
t:tensor 2 2#0f;xnormal(t;`gain,0);tensor t  / 0 0\n0 0
xnormal 1 2f  / 'xnormal: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions
xnormal(2 2#0f;`a)  / 'xnormal: unexpected symbol scalar, expecting gain (number)
all 1>=abs raze xuniform 3 3#0f  / 1b
t:tensor 2 2#1f;xuniform(t;`gain,0);all 0=raze tensor t  / 1b
xuniform 1 2f  / 'xuniform: Fan in and fan out can not be computed for tensor with fewer than 2 dimensions
xuniform(2 2#0f;1;2)  / 'xuniform: unexpected long scalar
zeros m  / 'zeros: not implemented for single module argument
zeros(m;`bias);tensor parm(m;`bias)  / 0 0e
zeros(m;`nope)  / 'zeros: unable to find parameter or buffer `nope
zeros(m;`weight`bias);sum raze raze dict parms m  / 0e
o:opt(`sgd;m;.1);ones(o;`bias);tensor parm(m;`bias)  / 1 1e
l:loss`mse;h:model(m;l;o);zeros(h;`bias);dict[parms h]`bias  / 0 0e
fill(v;9);v:vector(1 2;3 4 5);normal v  / 'normal: "normal_kernel_cpu" not implemented for 'Long'
v:vector(1 2f;3 4);x:vector v;@[normal;v;::];x~vector v  / 1b
t:tensor(1 2f;`grad);zeros t;gradflag t  / 1b
zeros tensor[]  / 'zeros: undefined tensor
/ gain
gain`relu  / 1.414214
gain(`leakyrelu;.5)  / 1.264911
gain each`linear`conv2d`sigmoid`convtranspose3d  / 1 1 1 1f
gain`selu  / 0.75
gain`foo  / 'gain: expected a nonlinearity, one of `linear`sigmoid`tanh`relu`leakyrelu`selu`conv1d`conv2d`conv3d`convtranspose1d`convtranspose2d`convtranspose3d, given `foo
gain 1  / 'gain: expected a nonlinearity, one of `linear`sigmoid`tanh`relu`leakyrelu`selu`conv1d`conv2d`conv3d`convtranspose1d`convtranspose2d`convtranspose3d, given long scalar
gain(`leakyrelu;`a)  / 'gain factor: expected number, given symbol scalar
gain()  / 'gain: expecting 1-2 args, given 0

snormal(2 2#0f;-5)  / 'snormal: fraction is -5, must be between 0 and 1
random(3#0f;2.5)  / 'random: requires integers for low & high limits (given double list of 3, double 2.5)
(random(3#0f;2.))within 0 1  / 111b

/ a long right behind tensors is an index of what is initialized, a double the gain
v:vector(2 2#0f;2 2#0f);xnormal(v;1);0=sum each raze each abs vector v  / 10b
v:vector(2 2#9f;2 2#9f);orthogonal(v;0;0f);abs first vector v  / 0 0\n0 0
v:vector(2 2#9f;2 2#9f);xuniform(v;0f);raze raze each abs vector v  / 0 0 0 0 0 0 0 0f
t:tensor 2 3 4#0f;knormal(t;1);0=sum each raze each abs tensor t  / 10b
v:vector(2 2#9f;2 2#9f);snormal(v;1;1f);vector[v]1  / 0 0\n0 0
snormal(v;1)  / 'snormal: fraction not given (given vector of 2, long 1)
xnormal(v;2)  / 'xnormal: vector[2] out of bounds, index must be less than 2
