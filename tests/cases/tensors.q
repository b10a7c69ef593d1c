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
tensor(1 2;`wrong)  / 'unrecognized tensor option: `wrong
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
tensor(`nosuch;3)  / 'unrecognized tensor creation mode: nosuch
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
