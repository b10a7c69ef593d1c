/ pointwise
Abs(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 2 3   4\n5 6 0.5 1\n2 0 7   3
tensor Abs(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 2 3   4\n5 6 0.5 1\n2 0 7   3
r:tensor 0#0f;Abs(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1 2 3   4\n5 6 0.5 1\n2 0 7   3
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;Abs(t;[]);tensor t  / 1 2 3   4\n5 6 0.5 1\n2 0 7   3
Abs(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Abs: unexpected symbol scalar
Abs `a  / 'Abs: no torch type found for k: symbol scalar
Acos(3 4#.25 .5 .75 .5)  / 1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198
tensor Acos(tensor 3 4#.25 .5 .75 .5)  / 1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198
r:tensor 0#0f;Acos(3 4#.25 .5 .75 .5;r);tensor r  / 1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198
t:tensor 3 4#.25 .5 .75 .5;Acos(t;[]);tensor t  / 1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198\n1.318116 1.047198 0.7227342 1.047198
Acos(3 4#.25 .5 .75 .5;`zz)  / 'Acos: unexpected symbol scalar
Acos `a  / 'Acos: no torch type found for k: symbol scalar
angle(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0        3.141593 0 0\n3.141593 0        0 3.141593\n0        0        0 3.141593
tensor angle(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0        3.141593 0 0\n3.141593 0        0 3.141593\n0        0        0 3.141593
r:tensor 0#0f;angle(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 0        3.141593 0 0\n3.141593 0        0 3.141593\n0        0        0 3.141593
angle(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'angle: unexpected symbol scalar
angle `a  / 'angle: no torch type found for k: symbol scalar
Asin(3 4#.25 .5 .75 .5)  / 0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988
tensor Asin(tensor 3 4#.25 .5 .75 .5)  / 0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988
r:tensor 0#0f;Asin(3 4#.25 .5 .75 .5;r);tensor r  / 0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988
t:tensor 3 4#.25 .5 .75 .5;Asin(t;[]);tensor t  / 0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988\n0.2526803 0.5235988 0.8480621 0.5235988
Asin(3 4#.25 .5 .75 .5;`zz)  / 'Asin: unexpected symbol scalar
Asin `a  / 'Asin: no torch type found for k: symbol scalar
Atan(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.7853982 -1.107149 1.249046  1.325818\n-1.373401 1.405648  0.4636476 -0.7853982\n1.107149  0         1.428899  -1.249046
Atan(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Atan: unexpected symbol scalar
Atan `a  / 'Atan: no torch type found for k: symbol scalar
bitwisenot(3 4#1 -2 3 0 5 6)  / -2 1  -4 -1\n-6 -7 -2 1\n-4 -1 -6 -7
tensor bitwisenot(tensor 3 4#1 -2 3 0 5 6)  / -2 1  -4 -1\n-6 -7 -2 1\n-4 -1 -6 -7
r:tensor 0#0;bitwisenot(3 4#1 -2 3 0 5 6;r);tensor r  / -2 1  -4 -1\n-6 -7 -2 1\n-4 -1 -6 -7
t:tensor 3 4#1 -2 3 0 5 6;bitwisenot(t;[]);tensor t  / -2 1  -4 -1\n-6 -7 -2 1\n-4 -1 -6 -7
bitwisenot(3 4#1 -2 3 0 5 6;`zz)  / 'bitwisenot: unexpected symbol scalar
bitwisenot `a  / 'bitwisenot: no torch type found for k: symbol scalar
ceil(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  1 -1\n2  0  7 -3
tensor ceil(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  1 -1\n2  0  7 -3
r:tensor 0#0f;ceil(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2 3 4\n-5 6  1 -1\n2  0  7 -3
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;ceil(t;[]);tensor t  / 1  -2 3 4\n-5 6  1 -1\n2  0  7 -3
ceil(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'ceil: unexpected symbol scalar
ceil `a  / 'ceil: no torch type found for k: symbol scalar
cosh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.543081 3.762196 10.06766 27.30823\n74.20995 201.7156 1.127626 1.543081\n3.762196 1        548.317  10.06766
tensor cosh(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.543081 3.762196 10.06766 27.30823\n74.20995 201.7156 1.127626 1.543081\n3.762196 1        548.317  10.06766
cosh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'cosh: unexpected symbol scalar
cosh `a  / 'cosh: no torch type found for k: symbol scalar
Cos(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.5403023  -0.4161468 -0.9899925 -0.6536436\n0.2836622  0.9601703  0.8775826  0.5403023\n-0.4161468 1          0.7539023  -0.9899925
Cos(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Cos: unexpected symbol scalar
Cos `a  / 'Cos: no torch type found for k: symbol scalar
digamma(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / -0.5772157 0.4227843 1.256118  -1.96351\n0.9227843  2.015641  0.4227843 -0.5772157\n1.506118   2.251753  -4.227454 1.256118
digamma(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'digamma: unexpected symbol scalar
digamma `a  / 'digamma: no torch type found for k: symbol scalar
erf(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.8427008 -0.9953223 0.9999779 1\n-1        1          0.5204999 -0.8427008\n0.9953223 0          1         -0.9999779
tensor erf(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.8427008 -0.9953223 0.9999779 1\n-1        1          0.5204999 -0.8427008\n0.9953223 0          1         -0.9999779
erf(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'erf: unexpected symbol scalar
erf `a  / 'erf: no torch type found for k: symbol scalar
erfc(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'erfc: unexpected symbol scalar
erfc `a  / 'erfc: no torch type found for k: symbol scalar
erfinv(3 4#.25 .5 .75 .5)  / 0.2253121 0.4769363 0.8134198 0.4769363\n0.2253121 0.4769363 0.8134198 0.4769363\n0.2253121 0.4769363 0.8134198 0.4769363
tensor erfinv(tensor 3 4#.25 .5 .75 .5)  / 0.2253121 0.4769363 0.8134198 0.4769363\n0.2253121 0.4769363 0.8134198 0.4769363\n0.2253121 0.4769363 0.8134198 0.4769363
t:tensor 3 4#.25 .5 .75 .5;erfinv(t;[]);tensor t  / 0.2253121 0.4769363 0.8134198 0.4769363\n0.2253121 0.4769363 0.8134198 0.4769363\n0.2253121 0.4769363 0.8134198 0.4769363
erfinv(3 4#.25 .5 .75 .5;`zz)  / 'erfinv: unexpected symbol scalar
erfinv `a  / 'erfinv: no torch type found for k: symbol scalar
Exp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 2.718282    0.1353353 20.08554 54.59815\n0.006737947 403.4288  1.648721 0.3678794\n7.389056    1         1096.633 0.04978707
Exp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Exp: unexpected symbol scalar
Exp `a  / 'Exp: no torch type found for k: symbol scalar
expm1(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.718282   -0.8646647 19.08554  53.59815\n-0.9932621 402.4288   0.6487213 -0.6321206\n6.389056   0          1095.633  -0.9502129
expm1(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'expm1: unexpected symbol scalar
expm1 `a  / 'expm1: no torch type found for k: symbol scalar
Floor(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
tensor Floor(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
r:tensor 0#0f;Floor(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;Floor(t;[]);tensor t  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
Floor(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Floor: unexpected symbol scalar
Floor `a  / 'Floor: no torch type found for k: symbol scalar
frac(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0 0 0   0\n0 0 0.5 0\n0 0 0   0
tensor frac(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0 0 0   0\n0 0 0.5 0\n0 0 0   0
r:tensor 0#0f;frac(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 0 0 0   0\n0 0 0.5 0\n0 0 0   0
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;frac(t;[]);tensor t  / 0 0 0   0\n0 0 0.5 0\n0 0 0   0
frac(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'frac: unexpected symbol scalar
frac `a  / 'frac: no torch type found for k: symbol scalar
lgamma(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0         0        1.791759 0.5723649\n0.6931472 8.525161 0        0\n3.178054  12.80183 1.288023 1.791759
tensor lgamma(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0         0        1.791759 0.5723649\n0.6931472 8.525161 0        0\n3.178054  12.80183 1.288023 1.791759
r:tensor 0#0f;lgamma(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 0         0        1.791759 0.5723649\n0.6931472 8.525161 0        0\n3.178054  12.80183 1.288023 1.791759
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;lgamma(t;[]);tensor t  / 0         0        1.791759 0.5723649\n0.6931472 8.525161 0        0\n3.178054  12.80183 1.288023 1.791759
lgamma(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'lgamma: unexpected symbol scalar
lgamma `a  / 'lgamma: no torch type found for k: symbol scalar
Log(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0        0.6931472 1.386294  -0.6931472\n1.098612 2.079442  0.6931472 0\n1.609438 2.302585  -1.386294 1.386294
tensor Log(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0        0.6931472 1.386294  -0.6931472\n1.098612 2.079442  0.6931472 0\n1.609438 2.302585  -1.386294 1.386294
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;Log(t;[]);tensor t  / 0        0.6931472 1.386294  -0.6931472\n1.098612 2.079442  0.6931472 0\n1.609438 2.302585  -1.386294 1.386294
Log(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'Log: unexpected symbol scalar
Log `a  / 'Log: no torch type found for k: symbol scalar
log10(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0         0.30103 0.60206  -0.30103\n0.4771213 0.90309 0.30103  0\n0.69897   1       -0.60206 0.60206
tensor log10(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0         0.30103 0.60206  -0.30103\n0.4771213 0.90309 0.30103  0\n0.69897   1       -0.60206 0.60206
r:tensor 0#0f;log10(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 0         0.30103 0.60206  -0.30103\n0.4771213 0.90309 0.30103  0\n0.69897   1       -0.60206 0.60206
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;log10(t;[]);tensor t  / 0         0.30103 0.60206  -0.30103\n0.4771213 0.90309 0.30103  0\n0.69897   1       -0.60206 0.60206
log10(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'log10: unexpected symbol scalar
log10 `a  / 'log10: no torch type found for k: symbol scalar
log1p(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0.6931472 1.098612 1.609438  0.4054651\n1.386294  2.197225 1.098612  0.6931472\n1.791759  2.397895 0.2231436 1.609438
tensor log1p(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0.6931472 1.098612 1.609438  0.4054651\n1.386294  2.197225 1.098612  0.6931472\n1.791759  2.397895 0.2231436 1.609438
log1p(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'log1p: unexpected symbol scalar
log1p `a  / 'log1p: no torch type found for k: symbol scalar
log2(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0        1        2  -1\n1.584963 3        1  0\n2.321928 3.321928 -2 2
tensor log2(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0        1        2  -1\n1.584963 3        1  0\n2.321928 3.321928 -2 2
r:tensor 0#0f;log2(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 0        1        2  -1\n1.584963 3        1  0\n2.321928 3.321928 -2 2
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;log2(t;[]);tensor t  / 0        1        2  -1\n1.584963 3        1  0\n2.321928 3.321928 -2 2
log2(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'log2: unexpected symbol scalar
log2 `a  / 'log2: no torch type found for k: symbol scalar
first Neg(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -1 2 -3 -4f
Neg(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Neg: unexpected symbol scalar
Neg `a  / 'Neg: no torch type found for k: symbol scalar
Not(3 4#1 -2 3 0 5 6)  / 0001b\n0000b\n0100b
tensor Not(tensor 3 4#1 -2 3 0 5 6)  / 0001b\n0000b\n0100b
r:tensor 0#0f;Not(3 4#1 -2 3 0 5 6;r);tensor r  / 0 0 0 1\n0 0 0 0\n0 1 0 0
t:tensor 3 4#1 -2 3 0 5 6;Not(t;[]);tensor t  / 0 0 0 1\n0 0 0 0\n0 1 0 0
Not(3 4#1 -2 3 0 5 6;`zz)  / 'Not: unexpected symbol scalar
Not `a  / 'Not: no torch type found for k: symbol scalar
Reciprocal(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1         0.5   0.25 2\n0.3333333 0.125 0.5  1\n0.2       0.1   4    0.25
tensor Reciprocal(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1         0.5   0.25 2\n0.3333333 0.125 0.5  1\n0.2       0.1   4    0.25
r:tensor 0#0f;Reciprocal(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1         0.5   0.25 2\n0.3333333 0.125 0.5  1\n0.2       0.1   4    0.25
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;Reciprocal(t;[]);tensor t  / 1         0.5   0.25 2\n0.3333333 0.125 0.5  1\n0.2       0.1   4    0.25
Reciprocal(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'Reciprocal: unexpected symbol scalar
Reciprocal `a  / 'Reciprocal: no torch type found for k: symbol scalar
round(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
tensor round(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
r:tensor 0#0f;round(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;round(t;[]);tensor t  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
round(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'round: unexpected symbol scalar
round `a  / 'round: no torch type found for k: symbol scalar
rsqrt(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1         0.7071068 0.5       1.414214\n0.5773503 0.3535534 0.7071068 1\n0.4472136 0.3162278 2         0.5
tensor rsqrt(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1         0.7071068 0.5       1.414214\n0.5773503 0.3535534 0.7071068 1\n0.4472136 0.3162278 2         0.5
r:tensor 0#0f;rsqrt(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1         0.7071068 0.5       1.414214\n0.5773503 0.3535534 0.7071068 1\n0.4472136 0.3162278 2         0.5
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;rsqrt(t;[]);tensor t  / 1         0.7071068 0.5       1.414214\n0.5773503 0.3535534 0.7071068 1\n0.4472136 0.3162278 2         0.5
rsqrt(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'rsqrt: unexpected symbol scalar
rsqrt `a  / 'rsqrt: no torch type found for k: symbol scalar
sgn(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
tensor sgn(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
r:tensor 0#0f;sgn(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;sgn(t;[]);tensor t  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
sgn(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'sgn: unexpected symbol scalar
sgn `a  / 'sgn: no torch type found for k: symbol scalar
sigmoid(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.7310586   0.1192029 0.9525741 0.9820138\n0.006692851 0.9975274 0.6224593 0.2689414\n0.8807971   0.5       0.9990889 0.04742587
sigmoid(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'sigmoid: unexpected symbol scalar
sigmoid `a  / 'sigmoid: no torch type found for k: symbol scalar
sign(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
tensor sign(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
r:tensor 0#0f;sign(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;sign(t;[]);tensor t  / 1  -1 1 1\n-1 1  1 -1\n1  0  1 -1
sign(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'sign: unexpected symbol scalar
sign `a  / 'sign: no torch type found for k: symbol scalar
Sin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.841471  -0.9092974 0.14112   -0.7568025\n0.9589243 -0.2794155 0.4794255 -0.841471\n0.9092974 0          0.6569866 -0.14112
Sin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Sin: unexpected symbol scalar
Sin `a  / 'Sin: no torch type found for k: symbol scalar
sinh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.175201  -3.62686 10.01787  27.28992\n-74.20321 201.7132 0.5210953 -1.175201\n3.62686   0        548.3161  -10.01787
tensor sinh(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.175201  -3.62686 10.01787  27.28992\n-74.20321 201.7132 0.5210953 -1.175201\n3.62686   0        548.3161  -10.01787
sinh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'sinh: unexpected symbol scalar
sinh `a  / 'sinh: no torch type found for k: symbol scalar
Sqrt(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1        1.414214 2        0.7071068\n1.732051 2.828427 1.414214 1\n2.236068 3.162278 0.5      2
tensor Sqrt(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1        1.414214 2        0.7071068\n1.732051 2.828427 1.414214 1\n2.236068 3.162278 0.5      2
r:tensor 0#0f;Sqrt(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1        1.414214 2        0.7071068\n1.732051 2.828427 1.414214 1\n2.236068 3.162278 0.5      2
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;Sqrt(t;[]);tensor t  / 1        1.414214 2        0.7071068\n1.732051 2.828427 1.414214 1\n2.236068 3.162278 0.5      2
Sqrt(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'Sqrt: unexpected symbol scalar
Sqrt `a  / 'Sqrt: no torch type found for k: symbol scalar
Tan(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.557408 2.18504    -0.1425465 1.157821\n3.380515 -0.2910062 0.5463025  -1.557408\n-2.18504 0          0.871448   0.1425465
Tan(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Tan: unexpected symbol scalar
Tan `a  / 'Tan: no torch type found for k: symbol scalar
tanh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.7615942  -0.9640276 0.9950548 0.9993293\n-0.9999092 0.9999877  0.4621172 -0.7615942\n0.9640276  0          0.9999983 -0.9950548
tanh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'tanh: unexpected symbol scalar
tanh `a  / 'tanh: no torch type found for k: symbol scalar
trunc(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
tensor trunc(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
r:tensor 0#0f;trunc(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;trunc(t;[]);tensor t  / 1  -2 3 4\n-5 6  0 -1\n2  0  7 -3
trunc(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'trunc: unexpected symbol scalar
trunc `a  / 'trunc: no torch type found for k: symbol scalar
first atan2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0.7853982 -0.7853982 0.6435011 1.446441
atan2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'atan2: unexpected symbol scalar
atan2 1f  / 'atan2: expecting 2 input(s), given 1
Div(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1         -1   0.75 8\n-1.666667 0.75 0.25 -1\n0.4       0    28   -0.75
tensor Div(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1         -1   0.75 8\n-1.666667 0.75 0.25 -1\n0.4       0    28   -0.75
r:tensor 0#0f;Div(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1         -1   0.75 8\n-1.666667 0.75 0.25 -1\n0.4       0    28   -0.75
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;Div(t;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 1         -1   0.75 8\n-1.666667 0.75 0.25 -1\n0.4       0    28   -0.75
Div(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'Div: unexpected symbol scalar
Div 1f  / 'Div: expecting 2 input(s), given 1
fmod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'fmod: unexpected symbol scalar
fmod 1f  / 'fmod: expecting 2 input(s), given 1
first fpow(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 0.25 64 0.0625
fpow(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'fpow: unexpected symbol scalar
fpow 1f  / 'fpow: expecting 2 input(s), given 1
mul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1   -4 12   2\n-15 48 1    -1\n10  0  1.75 -12
tensor mul(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1   -4 12   2\n-15 48 1    -1\n10  0  1.75 -12
r:tensor 0#0f;mul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1   -4 12   2\n-15 48 1    -1\n10  0  1.75 -12
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;mul(t;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 1   -4 12   2\n-15 48 1    -1\n10  0  1.75 -12
mul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'mul: unexpected symbol scalar
mul 1f  / 'mul: expecting 2 input(s), given 1
mul(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1  -4 9 0\n30 6  2 -6\n12 0  5 12
first pow(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1 0.25 64 0.0625
pow(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'pow: unexpected symbol scalar
pow 1f  / 'pow: expecting 2 input(s), given 1
remainder(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'remainder: unexpected symbol scalar
remainder 1f  / 'remainder: expecting 2 input(s), given 1
xor(3 4#101b;3 4#101b)  / 0000b\n0000b\n0000b
tensor xor(tensor 3 4#101b;3 4#101b)  / 0000b\n0000b\n0000b
r:tensor 0#0f;xor(3 4#101b;3 4#101b;r);tensor r  / 0 0 0 0\n0 0 0 0\n0 0 0 0
t:tensor 3 4#101b;xor(t;3 4#101b;[]);tensor t  / 0000b\n0000b\n0000b
xor(3 4#101b;3 4#101b;`zz)  / 'xor: unexpected symbol scalar
xor 1f  / 'xor: expecting 2 input(s), given 1
add(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 2  0  7    4.5\n-2 14 2.5  0\n7  10 7.25 1
tensor add(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 2  0  7    4.5\n-2 14 2.5  0\n7  10 7.25 1
r:tensor 0#0f;add(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 2  0  7    4.5\n-2 14 2.5  0\n7  10 7.25 1
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;add(t;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 2  0  7    4.5\n-2 14 2.5  0\n7  10 7.25 1
add(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'add: unexpected symbol scalar, expecting alpha (number)
add 1f  / 'add: expecting 2 input(s), given 1
add(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3)  / 4  4  15   5.5\n4  30 6.5  2\n17 30 7.75 9
add(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;(`alpha;3))  / 4  4  15   5.5\n4  30 6.5  2\n17 30 7.75 9
first addcdiv(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 2 -3 3.75 12
addcdiv 1f  / 'addcdiv: expecting 3 input(s), given 1
first addcdiv(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;.5)  / 1.5 -2.5 3.375 8
first addcdiv(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;(`value;.5))  / 1.5 -2.5 3.375 8
addcmul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 3  6  21  36\n45 78 1   1\n10 0  105 15
tensor addcmul(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2)  / 3  6  21  36\n45 78 1   1\n10 0  105 15
addcmul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`value;2))  / 3  6  21  36\n45 78 1   1\n10 0  105 15
addcmul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'addcmul option: zz not recognized, expecting value
addcmul 1f  / 'addcmul: expecting 3 input(s), given 1
mvlgamma(3 4#1 2 3 4 6;1)  / 0        0        0.6931472 1.791759\n4.787492 0        0         0.6931472\n1.791759 4.787492 0         0
tensor mvlgamma(tensor 3 4#1 2 3 4 6;1)  / 0        0        0.6931472 1.791759\n4.787492 0        0         0.6931472\n1.791759 4.787492 0         0
r:tensor 0#0f;mvlgamma(3 4#1 2 3 4 6;1;r);tensor r  / 0        0        0.6931472 1.791759\n4.787492 0        0         0.6931472\n1.791759 4.787492 0         0
mvlgamma(3 4#1 2 3 4 6;(`p;1))  / 0        0        0.6931472 1.791759\n4.787492 0        0         0.6931472\n1.791759 4.787492 0         0
mvlgamma(3 4#1 2 3 4 6;`zz)  / 'mvlgamma p: expected long scalar, given symbol scalar
mvlgamma(3 4#1 2 3 4 6;`zz`zy!1 2)  / 'mvlgamma option: zz not recognized, expecting p
mvlgamma `a  / 'mvlgamma: no torch type found for k: symbol scalar
Atan 0 1f  / 0 0.7853982
Cos 0 1f  / 1 0.5403023
digamma 1 2f  / -0.5772157 0.4227843
erfc 0 1f  / 1 0.1572992
t:tensor 0 1f;erfc(t;[]);tensor t  / 1 0.1572992
Exp 0 1f  / 1 2.718282
expm1 0 1f  / 0 1.718282
Neg(1 2;[])  / -1 -2
sigmoid 0 1f  / 0.5 0.7310586
Sin 0 1f  / 0 0.841471
Tan 0 1f  / 0 1.557408
tanh 0 1f  / 0 0.7615942
atan2(0 1f;1 1f)  / 0 0.7853982
fmod(-7 7;3)  / -1 1
t:tensor -7 7;fmod(t;3;[]);tensor t  / -1 1
fmod(-7;0)  / 'fmod: division by zero (given long list of 2)
fpow(1 2 3;2.5)  / 1 5.656854 15.58846
pow(2;3)  / 8
remainder(-7 7;3)  / 2 1
t:tensor -7 7;remainder(t;3;[]);tensor t  / 2 1
remainder(7;0)  / 'remainder: division by zero (given long list of 2)
clamp(1 2 3;2)  / 'clamp: expecting 3 input(s), given 2
r:tensor 0#0;clamp(-5 0 5;-1;1;r);tensor r  / -1 0 1
t:tensor -5 0 5;clamp(t;-1;1;());tensor t  / -1 0 1
lerp(1 2f;3 4f)  / 'lerp: expecting 3 input(s), given 2
r:tensor 0#0f;lerp(0 10f;10 20f;.5;r);tensor r  / 5 15f
/ a number beside whole numbers: a tensor without dimensions, but of mul Div fmod remainder pow torch's number
add(1 2 3;2.5)  / 3.5 4.5 5.5
maximum(1 2 3;2.5)  / 2.5 2.5 3
mul(1 2 3;2.5)  / 2.5 5 7.5e
mul(2.5;1 2 3)  / 2.5 5 7.5
pow(2.5;1 2 3)  / 2.5 6.25 15.625e
remainder(7.5;1 2 3)  / 0.5 1.5 1.5
tensor add(tensor 1 2 3;2.5)  / 3.5 4.5 5.5
add(1 2 3e;2.5)  / 3.5 4.5 5.5e
add(101b;2)  / 3 2 3
sub(1 2 3;.5)  / 0.5 1.5 2.5
clamp(1 2 3;0N;0N)  / 1 2 3
clamp(1 0n 3e;0n;0N)  / 1 0N 3e
Abs()  / `real$()
Abs(1 2;3 4 5)  / 'Abs: dimension mismatch at depth 1, 2 vs 3
Abs(1 2;3 4f)  / 'Abs: type mismatch at depth 1, long list vs double list (given long list of 2, double list of 2)
