/ othermath
bincount(4 3 6 3 4 0 0 1 2)  / 2 1 1 2 2 0 1
tensor bincount(tensor 4 3 6 3 4 0 0 1 2)  / 2 1 1 2 2 0 1
bincount(4 3 6 3 4 0 0 1 2;`zz)  / 'bincount: unexpected symbol scalar, expecting bins (long scalar)
bincount `a  / 'bincount: no torch type found for k: symbol scalar
bincount(4 3 6 3 4 0 0 1 2;20)  / 2 1 1 2 2 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0
bincount(4 3 6 3 4 0 0 1 2;(`bins;20))  / 2 1 1 2 2 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0
first cumprod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 -2 -6 -24f
r:tensor 0#0;cumprod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2  -6 -24\n-5 -30 0  0\n2  0   0  0
cumprod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'cumprod: unrecognized data type: zz
cumprod `a  / 'cumprod: no torch type found for k: symbol scalar
first cumprod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;`float)  / 1 -2 3 4e
first cumprod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`dtype!(0;`float))  / 1 -2 3 4e
cumsum(3 4#1 -2 3 0 5 6)  / 1 -1 2  2\n5 11 12 10\n3 3  8  14
tensor cumsum(tensor 3 4#1 -2 3 0 5 6)  / 1 -1 2  2\n5 11 12 10\n3 3  8  14
r:tensor 0#0f;cumsum(3 4#1 -2 3 0 5 6;r);tensor r  / 1 -1 2  2\n5 11 12 10\n3 3  8  14
t:tensor 3 4#1 -2 3 0 5 6;cumsum(t;[]);tensor t  / 1 -1 2  2\n5 11 12 10\n3 3  8  14
cumsum(3 4#1 -2 3 0 5 6;`zz)  / 'cumsum: unrecognized data type: zz
cumsum `a  / 'cumsum: no torch type found for k: symbol scalar
cumsum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;`float)  / 1  -2 3    4\n-4 4  3.5  3\n-2 4  10.5 0
cumsum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`dtype!(0;`float))  / 1  -2 3    4\n-4 4  3.5  3\n-2 4  10.5 0
diag(1 2 4 7 11 16f)  / 1 0 0 0 0  0\n0 2 0 0 0  0\n0 0 4 0 0  0\n0 0 0 7 0  0\n0 0 0 0 11 0\n0 0 0 0 0  16
tensor diag(tensor 1 2 4 7 11 16f)  / 1 0 0 0 0  0\n0 2 0 0 0  0\n0 0 4 0 0  0\n0 0 0 7 0  0\n0 0 0 0 11 0\n0 0 0 0 0  16
r:tensor 0#0f;diag(1 2 4 7 11 16f;r);tensor r  / 1 0 0 0 0  0\n0 2 0 0 0  0\n0 0 4 0 0  0\n0 0 0 7 0  0\n0 0 0 0 11 0\n0 0 0 0 0  16
diag(1 2 4 7 11 16f;`zz)  / 'diag: unexpected symbol scalar, expecting offset (long scalar)
diag `a  / 'diag: no torch type found for k: symbol scalar
diag(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / -2 0.5 -3
diag(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`offset;1))  / -2 0.5 -3
first diagflat(1 2 4 7 11 16f;-2)  / 0 0 0 0 0 0 0 0f
first diagflat(1 2 4 7 11 16f;(`offset;-2))  / 0 0 0 0 0 0 0 0f
diagflat(1 2 4 7 11 16f;`zz)  / 'diagflat: unexpected symbol scalar, expecting offset (long scalar)
diagflat(1 2 4 7 11 16f;`zz`zy!1 2)  / 'diagflat option: zz not recognized, expecting offset
diagflat `a  / 'diagflat: no torch type found for k: symbol scalar
diagonal(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 6 7f
tensor diagonal(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 6 7f
diagonal(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'diagonal: unexpected symbol scalar, expecting offset (long scalar), dim1 (long scalar), dim2 (long scalar)
diagonal `a  / 'diagonal: no torch type found for k: symbol scalar
diagonal(2 3 4#til 24;1;1;2)  / 1  6  11\n13 18 23
diagonal(2 3 4#til 24;`offset`dim1`dim2!(1;1;2))  / 1  6  11\n13 18 23
flatten(2 3 4#til 24)  / 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
tensor flatten(tensor 2 3 4#til 24)  / 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
flatten(2 3 4#til 24;`zz)  / 'flatten: unexpected symbol scalar, expecting start (long scalar), end (long scalar)
flatten `a  / 'flatten: no torch type found for k: symbol scalar
flatten(2 3 4#til 24;1;2)  / 0  1  2  3  4  5  6  7  8  9  10 11\n12 13 14 15 16 17 18 19 20 21 22 23
flatten(2 3 4#til 24;`start`end!(1;2))  / 0  1  2  3  4  5  6  7  8  9  10 11\n12 13 14 15 16 17 18 19 20 21 22 23
Flip(2 3 4#til 24;(0;2))  / 15 14 13 12 19 18 17 16 23 22 21 20\n3  2  1 0   7  6  5 4   11 10 9 8
tensor Flip(tensor 2 3 4#til 24;(0;2))  / 15 14 13 12 19 18 17 16 23 22 21 20\n3  2  1 0   7  6  5 4   11 10 9 8
Flip(2 3 4#til 24;(`dims;(0;2)))  / 15 14 13 12 19 18 17 16 23 22 21 20\n3  2  1 0   7  6  5 4   11 10 9 8
Flip(2 3 4#til 24;`zz)  / 'Flip dims: expected long scalar or list, given symbol scalar
Flip(2 3 4#til 24;`zz`zy!1 2)  / 'Flip option: zz not recognized, expecting dims
Flip `a  / 'Flip: no torch type found for k: symbol scalar
histc(-1 0 .5 1 2 .5;5;-1;1)  / 1 0 1 2 1f
tensor histc(tensor -1 0 .5 1 2 .5;5;-1;1)  / 1 0 1 2 1f
r:tensor 0#0f;histc(-1 0 .5 1 2 .5;5;-1;1;r);tensor r  / 1 0 1 2 1f
histc(-1 0 .5 1 2 .5;`bins`low`high!(5;-1;1))  / 1 0 1 2 1f
histc(-1 0 .5 1 2 .5;`zz)  / 'histc: unexpected symbol scalar, expecting bins (long scalar), low (number), high (number)
histc(-1 0 .5 1 2 .5;`zz`zy!1 2)  / 'histc option: zz not recognized, expecting bins, low, high
histc `a  / 'histc: no torch type found for k: symbol scalar
renorm(2 2#3 4 .3 .4;2;0;1.5)  / 0.9 1.2\n0.3 0.4
tensor renorm(tensor 2 2#3 4 .3 .4;2;0;1.5)  / 0.9 1.2\n0.3 0.4
r:tensor 0#0f;renorm(2 2#3 4 .3 .4;2;0;1.5;r);tensor r  / 0.9 1.2\n0.3 0.4
t:tensor 2 2#3 4 .3 .4;renorm(t;2;0;1.5;[]);tensor t  / 0.9 1.2\n0.3 0.4
renorm(2 2#3 4 .3 .4;`p`dim`maxnorm!(2;0;1.5))  / 0.9 1.2\n0.3 0.4
renorm(2 2#3 4 .3 .4;`zz)  / 'renorm p: expected number, given symbol scalar
renorm(2 2#3 4 .3 .4;`zz`zy!1 2)  / 'renorm option: zz not recognized, expecting p, dim, maxnorm
renorm `a  / 'renorm: no torch type found for k: symbol scalar
roll(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 7   -3 1  -2\n3   4  -5 6\n0.5 -1 2  0
tensor roll(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 7   -3 1  -2\n3   4  -5 6\n0.5 -1 2  0
roll(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`shifts;2))  / 7   -3 1  -2\n3   4  -5 6\n0.5 -1 2  0
roll(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'roll shifts: expected long scalar or list, given symbol scalar
roll(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'roll option: zz not recognized, expecting shifts, dims
roll `a  / 'roll: no torch type found for k: symbol scalar
roll(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(1;-1);(0;1))  / 0  7   -3 2\n-2 3   4  1\n6  0.5 -1 -5
roll(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`shifts`dims!((1;-1);(0;1)))  / 0  7   -3 2\n-2 3   4  1\n6  0.5 -1 -5
tensordot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4 3#1 0 0 0 1 0 0 0 1 2 3 4f;1)  / 9  10 19\n-7 3  -3.5\n-4 -9 -5
tensor tensordot(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4 3#1 0 0 0 1 0 0 0 1 2 3 4f;1)  / 9  10 19\n-7 3  -3.5\n-4 -9 -5
tensordot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4 3#1 0 0 0 1 0 0 0 1 2 3 4f;(`dim;1))  / 9  10 19\n-7 3  -3.5\n-4 -9 -5
tensordot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4 3#1 0 0 0 1 0 0 0 1 2 3 4f;`zz)  / 'tensordot: unexpected symbol scalar, expecting dim (long scalar or list), dim2 (long scalar or list)
tensordot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4 3#1 0 0 0 1 0 0 0 1 2 3 4f;`zz`zy!1 2)  / 'tensordot option: zz not recognized, expecting dim, dim2
tensordot 1f  / 'tensordot: expecting 2 input(s), given 1
tensordot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(0;1);(0;1))  / 154.25
tensordot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`dim2!((0;1);(0;1)))  / 154.25
trace(2 2#2 0 0 4f)  / 6f
tensor trace(tensor 2 2#2 0 0 4f)  / 6f
trace(2 2#2 0 0 4f;`zz)  / 'trace: unexpected symbol scalar
trace `a  / 'trace: no torch type found for k: symbol scalar
tril(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  0 0 0\n-5 6 0 0\n2  0 7 0
tensor tril(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  0 0 0\n-5 6 0 0\n2  0 7 0
r:tensor 0#0f;tril(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  0 0 0\n-5 6 0 0\n2  0 7 0
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;tril(t;[]);tensor t  / 1  0 0 0\n-5 6 0 0\n2  0 7 0
tril(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'tril: unexpected symbol scalar, expecting offset (long scalar)
tril `a  / 'tril: no torch type found for k: symbol scalar
tril(2 2 2#1 0 0 2f;-1)  / 0 0 0 0\n0 0 0 0
tril(2 2 2#1 0 0 2f;(`offset;-1))  / 0 0 0 0\n0 0 0 0
triu(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 0 -2 3   4\n0 0  0.5 -1\n0 0  0   -3
tensor triu(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 0 -2 3   4\n0 0  0.5 -1\n0 0  0   -3
r:tensor 0#0f;triu(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;r);tensor r  / 0 -2 3   4\n0 0  0.5 -1\n0 0  0   -3
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;triu(t;1;[]);tensor t  / 0 -2 3   4\n0 0  0.5 -1\n0 0  0   -3
triu(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`offset;1))  / 0 -2 3   4\n0 0  0.5 -1\n0 0  0   -3
triu(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'triu: unexpected symbol scalar, expecting offset (long scalar)
triu(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'triu option: zz not recognized, expecting offset
triu `a  / 'triu: no torch type found for k: symbol scalar
flatten(2 2#1 2 3 4;`end,0)  / 1 2\n3 4
flatten(2 2#1 2 3 4;5)  / 'flatten: Dimension out of range (expected to be in range of [-2, 1], but got 5)
tensor flatten tensor 2 2#1 2 3 4  / 1 2 3 4
flatten(2 2#1 2 3 4;`a`b!1 2)  / 'flatten option: a not recognized, expecting start, end
trace 1 2  / 'trace: expected a matrix, but got tensor with dim 1
trace 2 3#til 6  / 4
tensor trace tensor 2 2#1 2 3 4  / 5
trace(2 2#1 2 3 4;1)  / 'trace: unexpected long scalar
bincount -1 2  / 'bincount: bincount only supports 1-d non-negative integral inputs (given long list of 2)
bincount(1 1 2;.5 .5 1;4)  / 0 1 1 0f
tensor bincount(1 1 2;tensor .5 .5 1)  / 0 1 1f
bincount(1 2;1 2 3f)  / 'bincount: weights should be 1-d and have the same length as input (given long list of 2, double list of 3)
t:tensor 2 2#1 2 3 4f;cumsum(t;0;[]);tensor t  / 1 2\n4 6
cumsum(2 2#1 2 3 4;[])  / 1 3\n3 7
cumprod(1 2 3;`dim`dtype!(0;`double))  / 1 2 6f
diagflat(1 2;`offset,-1)  / 0 0 0\n1 0 0\n0 2 0
Flip(1 2 3;0)  / 3 2 1
Flip 1 2 3  / 'Flip: dims not given (given long list of 3)
roll(1 2 3;1;5)  / 'roll: Dimension out of range (expected to be in range of [-1, 0], but got 5)
histc 1 2  / 'histc: "histogram_cpu" not implemented for 'Long'
histc(1 2 5f;`bins`high!(2;4))  / 1 1f
renorm(1 2f;2;0;1)  / 'renorm: input needs at least 2 dimensions, got 1 dimensions
tril(2 2#1 2 3 4;1b)  / 'tril: unexpected boolean scalar, expecting offset (long scalar)
cumsum(1 2 3;0N)  / 1 3 6
x:tensor(1 2 3f;`grad);backward Sum cumprod x;grad x  / 9 4 2f
tensordot((1 2;3 4);(5 6;7 8))  / 70
tensordot((1 2;3 4);(5 6;7 8);1)  / 19 22\n43 50
Flip 1 0  / 1
tensordot 2 3  / 6
tensordot(1 2;3 4;();())  / 3 4\n6 8
Flip(1 2 3;())  / 1 2 3
roll(2 2#1 2 3 4;1;())  / 4 1\n2 3
cumsum()  / `real$()
