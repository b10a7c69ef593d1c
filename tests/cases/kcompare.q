/ compare
eq(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6)  / 1111b\n1111b\n1111b
tensor eq(tensor 3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6)  / 1111b\n1111b\n1111b
r:tensor 0#0f;eq(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6;r);tensor r  / 1 1 1 1\n1 1 1 1\n1 1 1 1
t:tensor 3 4#1 -2 3 0 5 6;eq(t;3 4#1 -2 3 0 5 6;[]);tensor t  / 1 1 1 1\n1 1 1 1\n1 1 1 1
eq(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6;`zz)  / 'eq: unexpected symbol scalar
eq 1f  / 'eq: expecting 2 input(s), given 1
ge(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6)  / 1111b\n1111b\n1111b
tensor ge(tensor 3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6)  / 1111b\n1111b\n1111b
r:tensor 0#0f;ge(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6;r);tensor r  / 1 1 1 1\n1 1 1 1\n1 1 1 1
t:tensor 3 4#1 -2 3 0 5 6;ge(t;3 4#1 -2 3 0 5 6;[]);tensor t  / 1 1 1 1\n1 1 1 1\n1 1 1 1
ge(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6;`zz)  / 'ge: unexpected symbol scalar
ge 1f  / 'ge: expecting 2 input(s), given 1
gt(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0000b\n0000b\n0000b
tensor gt(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0000b\n0000b\n0000b
r:tensor 0#0f;gt(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 0 0 0 0\n0 0 0 0\n0 0 0 0
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;gt(t;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;[]);tensor t  / 0 0 0 0\n0 0 0 0\n0 0 0 0
gt(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'gt: unexpected symbol scalar
gt 1f  / 'gt: expecting 2 input(s), given 1
le(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1111b\n1111b\n1111b
tensor le(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1111b\n1111b\n1111b
r:tensor 0#0f;le(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1 1 1 1\n1 1 1 1\n1 1 1 1
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;le(t;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;[]);tensor t  / 1 1 1 1\n1 1 1 1\n1 1 1 1
le(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'le: unexpected symbol scalar
le 1f  / 'le: expecting 2 input(s), given 1
lt(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 0101b\n1011b\n1100b
tensor lt(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 0101b\n1011b\n1100b
r:tensor 0#0f;lt(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 0 1 0 1\n1 0 1 1\n1 1 0 0
t:tensor 3 4#1 -2 3 0 5 6;lt(t;3 4#1 2 3 4 6;[]);tensor t  / 0 1 0 1\n1 0 1 1\n1 1 0 0
lt(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'lt: unexpected symbol scalar
lt 1f  / 'lt: expecting 2 input(s), given 1
ne(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6)  / 0000b\n0000b\n0000b
tensor ne(tensor 3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6)  / 0000b\n0000b\n0000b
r:tensor 0#0f;ne(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6;r);tensor r  / 0 0 0 0\n0 0 0 0\n0 0 0 0
t:tensor 3 4#1 -2 3 0 5 6;ne(t;3 4#1 -2 3 0 5 6;[]);tensor t  / 0 0 0 0\n0 0 0 0\n0 0 0 0
ne(3 4#1 -2 3 0 5 6;3 4#1 -2 3 0 5 6;`zz)  / 'ne: unexpected symbol scalar
ne 1f  / 'ne: expecting 2 input(s), given 1
finite(0 0n 0w -0w 2 0n)  / 100010b
tensor finite(tensor 0 0n 0w -0w 2 0n)  / 100010b
finite(0 0n 0w -0w 2 0n;`zz)  / 'finite: unexpected symbol scalar
finite `a  / 'finite: no torch type found for k: symbol scalar
inf(0 0n 0w -0w 2 0n)  / 001100b
tensor inf(tensor 0 0n 0w -0w 2 0n)  / 001100b
inf(0 0n 0w -0w 2 0n;`zz)  / 'inf: unexpected symbol scalar
inf `a  / 'inf: no torch type found for k: symbol scalar
nan(0 0n 0w -0w 2 0n)  / 010001b
tensor nan(tensor 0 0n 0w -0w 2 0n)  / 010001b
nan(0 0n 0w -0w 2 0n;`zz)  / 'nan: unexpected symbol scalar
nan `a  / 'nan: no torch type found for k: symbol scalar
neginf(0 0n 0w -0w 2 0n)  / 000100b
tensor neginf(tensor 0 0n 0w -0w 2 0n)  / 000100b
neginf(0 0n 0w -0w 2 0n;`zz)  / 'neginf: unexpected symbol scalar
neginf `a  / 'neginf: no torch type found for k: symbol scalar
posinf(0 0n 0w -0w 2 0n)  / 001000b
tensor posinf(tensor 0 0n 0w -0w 2 0n)  / 001000b
posinf(0 0n 0w -0w 2 0n;`zz)  / 'posinf: unexpected symbol scalar
posinf `a  / 'posinf: no torch type found for k: symbol scalar
allclose(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1b
allclose 1f  / 'allclose: expecting 2 input(s), given 1
allclose(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;.001;.001;1b)  / 0b
allclose(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`rtol`atol`equal_nan!(.001;.001;1b))  / 0b
close(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;.5;.5)  / 1010b\n0110b\n1000b
tensor close(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;.5;.5)  / 1010b\n0110b\n1000b
close(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`rtol`atol!(.5;.5))  / 1010b\n0110b\n1000b
close(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz`zy!1 2)  / 'close option: zz not recognized, expecting rtol, atol, equal_nan
close 1f  / 'close: expecting 2 input(s), given 1
close(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n;(`equal_nan;1b))  / 111111b
equal(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1b
equal(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'equal: unexpected symbol scalar
equal 1f  / 'equal: expecting 2 input(s), given 1
equal(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0b
fmax(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n)  / 0 0n 0w -0w 2 0n
tensor fmax(tensor 0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n)  / 0 0n 0w -0w 2 0n
r:tensor 0#0f;fmax(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n;r);tensor r  / 0 0n 0w -0w 2 0n
fmax(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n;`zz)  / 'fmax: unexpected symbol scalar
fmax 1f  / 'fmax: expecting 2 input(s), given 1
fmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -2 3    0.5\n-5 6  0.5  -1\n2  0  0.25 -3
tensor fmin(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -2 3    0.5\n-5 6  0.5  -1\n2  0  0.25 -3
r:tensor 0#0f;fmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1  -2 3    0.5\n-5 6  0.5  -1\n2  0  0.25 -3
fmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'fmin: unexpected symbol scalar
fmin 1f  / 'fmin: expecting 2 input(s), given 1
maximum(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n)  / 0 0n 0w -0w 2 0n
tensor maximum(tensor 0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n)  / 0 0n 0w -0w 2 0n
r:tensor 0#0f;maximum(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n;r);tensor r  / 0 0n 0w -0w 2 0n
maximum(0 0n 0w -0w 2 0n;0 0n 0w -0w 2 0n;`zz)  / 'maximum: unexpected symbol scalar
maximum 1f  / 'maximum: expecting 2 input(s), given 1
minimum(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 -2 3 0\n5 1  1 -2\n3 0  1 2
tensor minimum(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 -2 3 0\n5 1  1 -2\n3 0  1 2
r:tensor 0#0f;minimum(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 1 -2 3 0\n5 1  1 -2\n3 0  1 2
minimum(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'minimum: unexpected symbol scalar
minimum 1f  / 'minimum: expecting 2 input(s), given 1
sort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -2 1  3   4 -5 -1 0.5 6 -3 0  2   7\n1 0 2 3     0 3 2 1     3 1 0 2
vector sort(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -2 1  3   4 -5 -1 0.5 6 -3 0  2   7\n1 0 2 3     0 3 2 1     3 1 0 2
r:vector();sort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);vector r  / -2 1  3   4 -5 -1 0.5 6 -3 0  2   7\n1 0 2 3     0 3 2 1     3 1 0 2
sort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'sort: unexpected symbol scalar, expecting dim (long scalar), descending (boolean), stable (boolean)
sort `a  / 'sort: no torch type found for k: symbol scalar
sort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;1b;1b)  / 2  6  7   4  1  0  3   -1 -5 -2 0.5 -3\n2 1 2 0      0 2 0 1      1 0 1 2
sort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`descending`stable!(0;1b;1b))  / 2  6  7   4  1  0  3   -1 -5 -2 0.5 -3\n2 1 2 0      0 2 0 1      1 0 1 2
msort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -5 -2 0.5 -3\n1  0  3   -1\n2  6  7   4
tensor msort(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -5 -2 0.5 -3\n1  0  3   -1\n2  6  7   4
r:tensor 0#0f;msort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / -5 -2 0.5 -3\n1  0  3   -1\n2  6  7   4
msort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'msort: unexpected symbol scalar
msort `a  / 'msort: no torch type found for k: symbol scalar
argsort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 0 2 3\n0 3 2 1\n3 1 0 2
tensor argsort(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 0 2 3\n0 3 2 1\n3 1 0 2
argsort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'argsort: unexpected symbol scalar, expecting dim (long scalar), descending (boolean)
argsort `a  / 'argsort: no torch type found for k: symbol scalar
argsort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;1b)  / 2 1 2 0\n0 2 0 1\n1 0 1 2
argsort(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`descending!(0;1b))  / 2 1 2 0\n0 2 0 1\n1 0 1 2
topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 4 3   6 0.5 7 2\n3 2   1 2   2 0
vector topk(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 4 3   6 0.5 7 2\n3 2   1 2   2 0
r:vector();topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2;r);vector r  / 4 3   6 0.5 7 2\n3 2   1 2   2 0
topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`k;2))  / 4 3   6 0.5 7 2\n3 2   1 2   2 0
topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'topk k: expected long scalar, given symbol scalar
topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'topk option: zz not recognized, expecting k, dim, largest, sorted
topk `a  / 'topk: no torch type found for k: symbol scalar
topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2;0;0b;1b)  / -5 -2 0.5 -3 1  0  3   -1\n1 0 1 2      0 2 0 1
topk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`k`dim`largest`sorted!(2;0;0b;1b))  / -5 -2 0.5 -3 1  0  3   -1\n1 0 1 2      0 2 0 1
kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 1 -1 0\n0 3  1
vector kthvalue(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 1 -1 0\n0 3  1
r:vector();kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2;r);vector r  / 1 -1 0\n0 3  1
kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`k;2))  / 1 -1 0\n0 3  1
kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'kthvalue k: expected long scalar, given symbol scalar
kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'kthvalue option: zz not recognized, expecting k, dim, keepdim
kthvalue `a  / 'kthvalue: no torch type found for k: symbol scalar
kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3;0;1b)  / 2 6 7 4\n2 1 2 0
kthvalue(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`k`dim`keepdim!(3;0;1b))  / 2 6 7 4\n2 1 2 0
In(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1010b\n0110b\n1001b
tensor In(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1010b\n0110b\n1001b
r:tensor 0#0b;In(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 1010b\n0110b\n1001b
In(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'In: unexpected symbol scalar, expecting assume_unique (boolean), invert (boolean)
In 1f  / 'In: expecting 2 input(s), given 1
In(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;0b;1b)  / 0101b\n1001b\n0110b
In(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`assume_unique`invert!(0b;1b))  / 0101b\n1001b\n0110b
/ a vector as output: its first tensors become the results, whatever they were
v:vector enlist 0#0;sort(3 1 2;v);vector v  / 1 2 3\n1 2 0
v:vector(0#0f;7;5 6);sort(3 1 2;v);vector v  / 1 2 3\n1 2 0\n5 6
v:vector(8 9f;0#0);t:tensor(v;0);sort(3 1f;v);(tensor t;vector v)  / 8   9\n1 3 1 0
v:vector();sort(tensor(3 1f;`grad);v);backward sum tensor(v;0);count vector v  / 2
