/ creation, options, reading back
tensor tensor 1 2 3  / 1 2 3
tensor tensor 1.5  / 1.5
tensor tensor 010b  / 010b
tensor tensor "text"  / "text"
tensor tensor "x"  / "x"
tensor tensor 0x00ff  / 0x00ff
tensor tensor 1 2h  / 1 2h
tensor tensor 1 2i  / 1 2i
tensor tensor 1 2e  / 1 2e
tensor tensor 2 2#til 4  / 0 1\n2 3
tensor tensor 1 2 2#til 4  / 0 1 2 3
tensor tensor()  / `real$()
tensor tensor 0#0  / `long$()
defined tensor[]  / 0b
defined tensor()  / 1b
dtype each tensor each(1;1i;1h;1e;1f;1b;0x01;"a")  / `long`int`short`float`double`bool`byte`char
tensor tensor(1 2 3;`double)  / 1 2 3f
tensor tensor(1.7 -1.7;`long)  / 1 -1
tensor tensor(1 2;`half)  / 1 2e
tensor tensor(1 2;`bfloat16)  / 1 2e
dtype tensor(1 2;`bfloat16)  / `bfloat16
gradflag tensor(1 2e;`grad)  / 1b
gradflag tensor(1 2e;`nograd`double)  / 0b
tensor(1 2;`grad)  / 'tensor: only Tensors of floating point dtype can require gradients (given long list of 2, `grad)
tensor(1 2;`wrong)  / 'tensor: unrecognized tensor option: `wrong
tensor`a`b  / 'no torch type found for k: symbol list
tensor 2000.01.01  / 'no torch type found for k: date scalar
tensor(1 2;3 4f)  / 'type mismatch at depth 1, long list vs double list
tensor(1 2;3 4 5)  / 'dimension mismatch at depth 1, 2 vs 3
tensor(1 2;3)  / 'unable to map mixed array to tensor: long scalar encountered at depth 1
tensor(1;2f)  / 'unable to map mixed array to tensor: long scalar encountered at depth 1
tensor(1 2;tensor 1)  / 
r:tensor();tensor(1 2 3;r);tensor r  / 1 2 3e
r:tensor 0#0i;tensor(1.5 2.5;r);tensor r  / 1 2i
t:tensor 2 3#til 6;tensor(t;1)  / 3 4 5
t:tensor 2 3#til 6;tensor(t;-1)  / 3 4 5
t:tensor 2 3#til 6;tensor(t;1;2)  / 2 5
t:tensor 2 3#til 6;tensor(t;-1;2 0)  / 2 0\n5 3
t:tensor 1 2 3;tensor(t;5)  / 'tensor: select(): index 5 out of range for tensor of size [3] at dimension 0
tensor(t;7 8)  / 'tensor: index 8 is out of bounds for dimension 0 with size 3
index(t;0;-1 0)  / 'index: index -1 is out of bounds for dimension 0 with size 3
index(2 3#til 6;1;3 0)  / 'index: index 3 is out of bounds for dimension 1 with size 3
tensor tensor(`zeros;2 3;`int)  / 0 0 0\n0 0 0
tensor tensor(`ones;3)  / 1 1 1e
size tensor(`empty;2 3)  / 2 3
size tensor(`rand;tensor 3 4#0)  / 3 4
tensor tensor(`full;3;1b)  / 111b
tensor tensor(`full;2;7)  / 7 7
tensor tensor(`full;2;1.5)  / 1.5 1.5
tensor tensor(`full;2;1.5;`double)  / 1.5 1.5
dtype each(tensor(`full;2;1.5e);tensor(`full;tensor 1 2e;7);tensor(`full;tensor 1 2e;.5;`half))  / `float`long`half
tensor tensor(`arange;5)  / 0 1 2 3 4
tensor tensor(`arange;1;2;.5)  / 1 1.5e
tensor tensor(`arange;5;0;-2)  / 5 3 1
tensor tensor(`range;0;2)  / 0 1 2e
tensor tensor(`linspace;0;1;3)  / 0 0.5 1e
tensor tensor(`logspace;0;2;3;10.;`double)  / 1 10 100f
tensor tensor(`eye;2)  / 1 0\n0 1
tensor tensor(`eye;2;3;`bool)  / 100b\n010b
{x iasc x}tensor tensor(`randperm;5)  / 0 1 2 3 4
all tensor[tensor(`randint;3;100)]within 0 2  / 1b
all tensor[tensor(`randint;-2;3;100)]within -2 2  / 1b
tensor tensor(`complex;1 2;3 4)  / 1 2\n3 4
c:tensor(`complex;1 2e;3 4e);tensor(`complex;5 6e;7 8e;c);tensor c  / 5 6\n7 8
c:tensor(`complex;1 2e;3 4e);tensor(`complex;2 2#5 6 7 8e;0b;c);tensor c  / 5 7\n6 8
f:tensor 1#1.;tensor(`range;2;f);tensor f  / 0 1 2f
tensor tensor(`sparse;2 2;`long)  / 0 0\n0 0
tensor(tensor(`complex;1 2;3 4);0b)  / 1 3\n2 4
tensor tensor(`sparse;2 2#0 1 1 0;5 6)  / 0 5\n6 0
tensor(`nosuch;3)  / 'tensor: unrecognized tensor creation mode: nosuch
tensor(`zeros;-1)  / 'tensor: zeros size [-1] has a negative dimension
tensor(`zeros;1000000000 1000000000 1000000000)  / 'limit
tensor tensor(`zeros;();`double)  / 0f
tensor(`zeros;1f)  / 'tensor: zeros expects a size, given double scalar
seed 123;tensor tensor(`rand;2 3)  / 0.2961119 0.5165623  0.2516707\n0.6885568 0.07397246 0.866522
seed 5;a:tensor tensor(`randn;3);seed 5;a~tensor tensor(`randn;3)  / 1b
seed`cpu  / 5
/ vectors and dictionaries of tensors
vector vector(1 2;3 4 5f)  / 1 2\n3 4 5f
vector vector(1;2)  / 1 2
v:vector(1 2;3 4 5);vector(v;0)  / 1 2
v:vector(1 2;3 4 5);vector(v;-1;7 8);count vector v  / 3
v:vector(1 2;3 4 5);vector(v;2)  / 'vector: vector[2] out of bounds, index must be less than 2
v:vector(1 2;3 4 5);w:vector enlist 1 2 3f;vector(v;w);dtype v  / `long`long`double
v:vector(1 2;3 4 5);tensor v[1;0]  / 3
tensor first tensor vector(1 2;3 4 5)  / 1 2
dict dict`a`b!(1 2;3 4f)  / a| 1 2\nb| 3 4
d:dict`a`b!(1 2;3 4f);dict(d;`b`a)  / 3 4\n1 2
d:dict`a`b!(1 2;3 4f);dict(d;`c)  / 'dict: no dictionary key `c
d:dict`a`b!(1 2;3 4f);dict(d;`a`c!(1b;2));dict(d;`a)  / 1b
dict(`a`a;(1;2))  / 'dict: duplicate key (given symbol list of 2, long list of 2)
/ shape and parts
tensor reshape(tensor til 6;2 -1)  / 0 1 2\n3 4 5
reshape(til 6;3 2)  / 0 1\n2 3\n4 5
reshape(til 6;4 2)  / 'reshape: shape '[4, 2]' is invalid for input of size 6
tensor View(tensor til 4;2 2)  / 0 1\n2 3
t:tensor til 4;resize(t;2 3);4#raze tensor t  / 0 1 2 3
transpose 2 3#til 6  / 0 3\n1 4\n2 5
t:tensor 2 3#til 6;transpose(t;1b);size t  / 3 2
transpose til 3  / 0 1 2
reshape(1 2;2 1)  / 1\n2
resize(1 2 3 4;2 2 1 1)  / 1 2\n3 4
expand(1 2;2 2)  / 1 2\n1 2
expand(5;2)  / 5 5
cat enlist(1 2;3 4)  / 1 2 3 4
tensor stack enlist(tensor 1 2;tensor 3 4)  / 1 2\n3 4
size permute(tensor 2 3 4#til 24;2 0 1)  / 4 2 3
size squeeze tensor 1 3 1#til 3  / ,3
size unsqueeze(tensor til 3;0)  / 1 3
size flatten(tensor 2 3 4#til 24;1)  / 2 12
narrow(til 5;0;1;3)  / 1 2 3
v:vector(til 5;10+til 5);v:narrow(v;0;1;2);vector v  / 1  2\n11 12
narrow(til 5;0;4;3)  / 'narrow: start (4) + length (3) exceeds dimension size (5).
index(2 3#til 6;0;1)  / 3 4 5
tensor index(tensor 2 3#til 6;1;2 0)  / 2 0\n5 3
cat(1 2;3 4 5)  / 1 2 3 4 5
tensor cat(tensor 1 2;3)  / 'cat: zero-dimensional tensor (at position 1) cannot be concatenated
tensor stack(tensor 1 2;3 4)  / 1 2\n3 4
tensor cat((tensor 1 2#1 2;1 2#3 4);0)  / 1 2\n3 4
tensor cat((tensor 1 2#1 2;1 2#3 4);1)  / 1 2 3 4
expand(1 2#1 2;2 2)  / 1 2\n1 2
t:tensor 1 2 3;amend(t;4 5 6);tensor t  / 4 5 6
/ conversion in place and as a copy
t:tensor 1 2;to(t;`double);tensor t  / 1 2f
t:tensor 1 2;to(t;tensor 1e);dtype t  / `float
t:tensor 1 2;tensor copyto(t;`short)  / 1 2h
v:vector(1 2;3 4f);to(v;`int);dtype v  / `int`int
/ sparse and complex
values sparse 0 3 0 4  / 3 4
indices sparse 0 3 0 4  / 1 3
tensor dense sparse 0 3 0 4  / 0 3 0 4
sparse(0 3;5)  / 'sparse: expected 1-1 sparse dimension(s), given 5
real tensor(`complex;1 2;3 4)  / 1 2e
dtype imag enlist tensor(`complex;1 2;3 4)  / `float

/ amend: several places at once, all or none
v:vector(1 2;3 4e);amend(v;0 1;(8 9;5));vector v  / 8 9\n5 5
amend(v;0 1;(1 2;3 4 5))  / 'amend: size [3] does not fit [2]
amend(v;0 1;7)  / 'amend: 2 place(s) and 0 value(s)
amend(v;0;1b);vector v  / 1 1\n5 5
amend(v;1;2e;1b);vector v  / 1 1\n2 2
d:dict`a`b!(1 2;3 4e);amend(d;`b`a;(0;9 9));dict d  / a| 9 9\nb| 0 0
amend(tensor 1 2;1 2 3)  / 'amend: size [3] does not fit [2]
amend(tensor[];1)  / 'amend: undefined tensor
amend(1 2;3)  / 'amend: expecting a tensor and values, or a vector or dictionary, a place and values (given long list of 2, long 3)
amend()  / 'amend: expecting a tensor and values, or a vector or dictionary, a place and values (given nothing)
bernoulli 1.5  / 'bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false (given double 1.5)

/ lists of empty lists
size tensor(();())  / 2 0
dtype tensor((();());(();()))  / `float
tensor(();1)  / 'unable to map mixed array to tensor: long scalar encountered at depth 1
tensor(();enlist())  / 'dimension mismatch at depth 1, 0 vs 1
/ a resize without the memory is none
t:tensor 1 2 3;@[resize;(t;1099511627776);`$];tensor t  / 1 2 3
t:tensor 1 2 3;resize(t;1099511627776)  / 'wsfull

/ a tensor made like another is so in memory, too
t:tensor(2 3 4 5#0e;`channel2d);memory each(tensor(`zeros;t);tensor(`rand;t);tensor(`full;t;1e);tensor(`randint;t;5);tensor(`zeros;t;`contiguous))  / `channel2d`channel2d`channel2d`channel2d`contiguous
t:transpose tensor 2 3#til 6;stride each(tensor(`ones;t);tensor(`empty;t;`double))  / 1 3\n1 3
layout tensor(`zeros;sparse 0 1 0)  / `sparse
dtype each(tensor(`rand;tensor 1 2);tensor(`randint;tensor 1 2e;5);tensor(`zeros;tensor 1 2h))  / `float`float`short
seed 5;a:tensor tensor(`rand;2 3);seed 5;a~tensor tensor(`rand;tensor 2 3#0e)  / 1b
/ parts of complex tensors keep what they are
dtype each(tensor(`complex;1 2;3 4f);tensor(`complex;1 2;3 4);tensor(`complex;tensor(1 2;`half);tensor(3 4;`half));tensor(`complex;1 2;3 4;`chalf))  / `cdouble`cfloat`chalf`chalf
16777217=first tensor tensor(`complex;16777217;1;`cdouble)  / 1b
tensor(`complex;1 2;3 4;`float)  / 'tensor: complex expects a complex data type, given `float
tensor(tensor 1 2;0b)  / 'tensor: the flag is only for complex tensors (given long tensor 2, boolean scalar)
defined tensor(::;`double)  / 0b
tensor(vector(1 2;3);0;1)  / 'tensor: expecting up to 2 args for vector, given 3
/ what does not fit is told where it is first met
tensor(1 2 3;4 5f)  / 'dimension mismatch at depth 1, 3 vs 2
tensor((1 2;3 4);5 6 7)  / 'dimension mismatch at depth 1, 2 vs 3
tensor((1 2;3 4);(5 6;7))  / 'unable to map mixed array to tensor: long scalar encountered at depth 2
tensor(1 2 3;4 5;6)  / 'dimension mismatch at depth 1, 3 vs 2
tensor(1 2;::)  / 'unable to map mixed array to tensor: null/unary primitive encountered at depth 1
/ a vector of the items of any list
tensorcount each(vector 1 2 3;vector(1;2;3);vector"abc";vector 5;vector enlist 1 2 3;vector tensor 1 2 3)  / 3 3 3 1 1 1
vector vector 1 2 3  / 1 2 3
v:vector(1 2;3 4);vector(v;0N 0 -1;(1 2 3;5;6f));vector v  / 5\n3 4\n1 2 3\n6f
vector(v;1 0;7 8);vector(v;enlist 2;9);vector v  / 8\n7\n9\n6f
vector(v;0 1;1 2 3)  / 'vector: length error, 2 place(s) with 3 value(s)
t:tensor 5;vector(v;0 9;(t;1))  / 'vector: vector[9] out of bounds, index must be less than 4
tensor t  / 5
vector(v;enlist 0;t);vector(v;0)  / 5
/ a dictionary's tensor that needs a gradient takes the values, as do parameters and buffers
d:dict`w`x!(tensor(1 2e;`grad);3 4);dict(d;`w`x;(5;6));dict d  / w| 5 5e\nx| 6
(gradflag d;dtype d)  / w      x\n------------\n1b     0b\n`float `long
t:tensor 1 2 3;dict(d;`x`w;(7;t))  / 'dict: `w with size of [2] cannot be updated with new values of size [3]
tensor t  / 1 2 3
dict(d;`x)  / 6
m:module enlist(`linear;2;1);p:parms m;dict(p;`weight;1 2#3 4);dict(p;`bias`new!(5;6));dict parms m  / weight| 3 4\nbias  | 5
p[`weight]-:1e;tensor parm(m;`weight)  / 2 3
p[`bias]:1 2  / 'amend: `bias with size of [1] cannot be updated with new values of size [2]
m:module enlist(`batchnorm1d;2);dict(buffers m;`num_batches_tracked;7);dict[buffers m]`num_batches_tracked  / 7
dict(d;`a`b;1 2 3)  / 'dict: length error, 2 key(s) with 3 value(s)
/ shapes: fewer than two dimensions, flags with arrays, nulls
(tensor each transpose each(tensor 1 2;tensor 5)),enlist transpose enlist 1 2  / 1 2\n5\n(,1;,2)
transpose(2 3#til 6;1b)  / 0 3\n1 4\n2 5
transpose(2 3#til 6;0;1;1b)  / 0 3\n1 4\n2 5
squeeze(1 3#til 3;0;1b)  / 0 1 2
unsqueeze(til 2;1;1b)  / 0\n1
t:tensor 1 3 1#til 3;size each squeeze each((t;0N);(t;0b);(t;0))  / ,3\n,3\n3 1
squeeze(t;0N;1b);size t  / ,3
unsqueeze(t;0N)  / 'unsqueeze: expecting a dimension (given long tensor 3, long 0N)
permute(2 3#til 6;0)  / 'permute: expecting an order of 2 dimension(s), given 1
resize(til 6;-1 3)  / 0 1 2\n3 4 5
resize(til 6;-1 4)  / 'resize: shape [-1, 4] is invalid for input of size 6
resize(til 6;-1 -1)  / 'resize: only one dimension can be inferred (given long list of 6, long list of 2)
resize(til 6;-2 3)  / 'resize: invalid shape dimension -2 (given long list of 6, long list of 2)
t:tensor til 6;resize(t;-1 4)  / 'resize: shape [-1, 4] is invalid for input of size 6
resize(t;-1 2);size t  / 3 2
index(2 3#til 6;1;tensor 2 0)  / 2 0\n5 3
index(2 3#til 6;1;())  / `long$()\n`long$()
dict narrow(dict`a`b!(til 4;10+til 4);0;1;2)  / a| 1  2\nb| 11 12
detach(tensor 1 2;1b;1)  / 'detach: expecting tensor or (tensor;inplace flag), given general list
s:sparse 0 1f;to(s;tensor 1e);(layout;dtype)@\:s  / `sparse`float
copyto(tensor[];`double)  / 'copyto: cannot change attribute(s) of an undefined tensor
sparse(1 2;tensor 1 2)  / 'sparse: 2nd arg is not a sparse tensor, unable to use its indices

/ complex and sparse tensors of parts that need gradients; sparse complex ones
x:tensor(1 2f;`grad);c:tensor(`complex;x;2*x);backward sum imag enlist c;grad x  / 2 2f
s:tensor(`sparse;1 2#0 1;x);nograd x;backward sum dense s;grad x  / 1 1f
gradflag each(tensor(`complex;x;x;`nograd);tensor(`zeros;x);tensor(`complex;1 2;3 4))  / 000b
k:tensor(2 2#1 0 0 2f;`sparse`cdouble);(real k;imag k;isreal k)  / 1 0 0 2\n0 0 0 0\n11b 11b
(layout real enlist k;dtype imag enlist k)  / `strided`double
narrow(sparse 0 1f;0;0;1)  / 'narrow: not implemented for sparse tensors
s:sparse 0 1 2f;@[batch;(s;1);`$];batch(s;1)  / 'batch: not implemented for sparse tensors
shuffle x;gradflag x  / 1b

/ a mode alone says what it lacks
tensor`zeros  / 'tensor: zeros expects a size, given none
tensor`zeros`double  / 'tensor: zeros expects a size, given none
tensor`complex  / 'tensor: complex expects real and imaginary parts
t:tensor til 10;batch(t;10;0);batch(t;4);tensor t  / 0 1 2 3
(dict enlist dict`a`b!1 2;vector enlist vector 1 2)  / `a`b!1 2\n1 2

/ squeeze of several dimensions; what a resize adds is 0
t:tensor 1 3 1#til 3;size each squeeze each((t;0 2);(t;());(t;2))  / ,3\n1 3 1\n1 3
squeeze(t;0 2;1b);size t  / ,3
squeeze(t;`a)  / 'squeeze: expected long(s) for dimensions, given symbol scalar
squeeze(t;0;1)  / 'squeeze: expecting dimensions and a flag, given 3 args
permute(t;1f)  / 'permute: expected long(s) for dimensions, given double scalar
t:tensor 2 3#til 6;resize(t;2 2);resize(t;2 4);tensor t  / 0 1 2 3\n4 5 0 0
n:narrow(tensor til 10;0;8;2);resize(n;2 2);tensor n  / 8 9\n0 0
tensor(`rand;2 3;`long)  / 'tensor: rand not implemented for long tensors
tensor(`randn;tensor 1 2e;`bool)  / 'tensor: randn not implemented for bool tensors
l:tensor 1 2;tensor(`rand;2;l)  / 'tensor: rand not implemented for long tensors
