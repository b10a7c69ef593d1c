/ pointwise
Abs -2 1 0  / 2 1 0
tensor Abs tensor -2 1 0  / 2 1 0
y:tensor 0#0;Abs(-3 3;y);tensor y  / 3 3
t:tensor 1 -2;Neg(t;[]);tensor t  / -1 2
Neg(1 -2;[])  / -1 2
mul(1 4 9;1 2 3)  / 1 8 27
mul(2;3)  / 6
tensor mul(tensor 1 2f;3)  / 3 6f
t:tensor 1 2f;mul(t;3;[]);tensor t  / 3 6f
z:tensor();mul(2 3e;4 5e;z);tensor z  / 8 15e
mul 1 2  / 2
mul 1  / 'mul: expecting 2 input(s), given 1
mul(1;2;3)  / 'mul: unexpected long scalar
mul(1 2;1 2 3)  / 'mul: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
angle(1 2e;[])  / 'angle: not available in place (given real list of 2, ::)
pow(1 2 3;2)  / 1 4 9
pow(1 2 3;.5)  / 1 1.414214 1.732051e
add(1 2 3;4 5 6)  / 5 7 9
add(1 2 3;4 5 6;2)  / 9 12 15
t:tensor 1 2f;add(t;10 20f;.5;[]);tensor t  / 6 12f
addcmul(1 2;3 4;5 6;2)  / 31 50
clamp(-5 0 5;-1;1)  / -1 0 1
clamp(-5 0 5;0N;1)  / -5 0 1
clamp(-5 0 5;-1 -1 -1;2 2 2)  / -1 0 2
t:tensor -5 0 5;clamp(t;-1;1;[]);tensor t  / -1 0 1
lerp(0 10f;10 20f;.5)  / 5 15f
lerp(0 10f;10 20f;0 1f)  / 0 20f
mvlgamma(2 3f;`a)  / 'mvlgamma p: expected long scalar, given symbol scalar
mvlgamma 2 3f  / 'mvlgamma: p not given (given double list of 2)
/ compare
eq(1 2 3;4 2 3)  / 011b
tensor gt(tensor 1 2 3;2)  / 001b
t:tensor 1 2 3;ne(t;1 5 1;[]);tensor t  / 0 1 1
allclose(1 2f;1.000001 2f)  / 1b
close(1 2f;1.1 2f;.2)  / 11b
close(1 2f;1.1 2f)  / 01b
equal(1 2;1 2f)  / 1b
equal(1 2;1 2 3)  / 0b
finite 1 0w  / 10b
maximum(1 5;3 2)  / 3 5
sort 3 1 2  / 1 2 3\n1 2 0
sort(3 1 2;1b)  / 3 2 1\n0 2 1
sort(2 2#4 3 1 2;0)  / 1 2 4 3\n1 1 0 0
vector sort tensor 3 1 2  / 1 2 3\n1 2 0
argsort(3 1 2;1b)  / 0 2 1
topk(1 5 3;2)  / 5 3\n1 2
topk(1 5 3;2;0b)  / 1 3\n0 2
kthvalue(1 5 3;2)  / 3 2
In(1 2 3;2 3)  / 011b
In(1 2 3;2 3;0b;1b)  / 100b
v:vector();sort(3 1 2;v);vector v  / 1 2 3\n1 2 0
sort(3 1 2;tensor 1)  / 'sort: output must be a vector, given tensor
/ reduce
Sum 1 2 3  / 6
Sum 2 3#til 6  / 15
Sum(2 3#til 6;0)  / 3 5 7
Sum(2 3#til 6;1;1b)  / 3\n12
Sum(2 3#til 6;0 1)  / 15
Sum(1 2 3;`double)  / 6f
tensor Sum tensor 1 2 3  / 6
y:tensor 0#0;Sum(2 3#til 6;1;y);tensor y  / 3 12
mean 1 2 6f  / 3f
mean(1 2 6;`float)  / 3e
mean 1 2  / 'mean: mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long
Max 3 1 2  / 3
Max(2 3#til 6;1)  / 2 5\n2 2
v:vector();Min(2 3#til 6;0;v);vector v  / 0 1 2\n0 0 0
aminmax 3 1 2  / 1 3
amax(2 3#til 6;1)  / 2 5
argmax(2 3#til 6;1;1b)  / 2\n2
median 3 1 2f  / 2f
mode 1 2 2  / 2 2
std 1 2 3f  / 1f
std(1 2 3f;0b)  / 0.8164966
variance 1 2 3  / 1e
meanstd 1 2 3f  / 2 1f
prod 1 2 3 4  / 24
prod(2 2#1 2 3 4;1)  / 2 12
Any 001b  / 1b
All(2 2#1101b;1)  / 10b
unique 2 1 2 3  / 1 2 3
unique(2 1 2 3;1b;0b;1b)  / 1 2 3\n1 2 1
uniquec(1 1 2 1;0b;1b)  / 1 2 1\n2 1 1
dist(1 2 3f;1 2 7f)  / 4f
logsumexp 1 2f  / 'logsumexp: needs explicit dimension(s) for log of summed exponentials (given double list of 2)
fnorm 2 2#1 1 1 1f  / 2f
mnorm(2 2#1 2 3 4f;0w)  / 7f
vnorm(3 4f;1f)  / 7f
x:tensor(1 2 3e;`grad);backward mean mul(x;x);grad x  / 0.6666667 1.333333 2e
mvlgamma 5 2  / 6.204155e
svdvals((3 0f;0 2f);`)  / 3 2f
(fft(1 2 3f;`))~fft 1 2 3f  / 1b
(type v;null v:setting`cudnnversion)~(-7h;not setting`cudnn)  / 1b
