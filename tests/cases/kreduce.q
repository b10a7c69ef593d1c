/ reduce
All(3 4#101b)  / 0b
tensor All(tensor 3 4#101b)  / 0b
r:tensor 0#0b;All(3 4#101b;r);tensor r  / 0b
All(3 4#101b;`zz)  / 'All: unexpected symbol scalar, expecting dim (long scalar or list), keepdim (boolean)
All `a  / 'All: no torch type found for k: symbol scalar
All(3 4#101b;0;1b)  / 0000b
All(3 4#101b;`dim`keepdim!(0;1b))  / 0000b
Any(3 4#101b)  / 1b
tensor Any(tensor 3 4#101b)  / 1b
r:tensor 0#0b;Any(3 4#101b;r);tensor r  / 1b
Any(3 4#101b;`zz)  / 'Any: unexpected symbol scalar, expecting dim (long scalar or list), keepdim (boolean)
Any `a  / 'Any: no torch type found for k: symbol scalar
Any(3 4#101b;1;0b)  / 111b
Any(3 4#101b;`dim`keepdim!(1;0b))  / 111b
amax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7f
tensor amax(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7f
r:tensor 0#0f;amax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 7f
amax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'amax: unexpected symbol scalar, expecting dim (long scalar or list), keepdim (boolean)
amax `a  / 'amax: no torch type found for k: symbol scalar
amax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;1b)  / 4\n6\n7
amax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim!(1;1b))  / 4\n6\n7
amin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / -5 -2 0.5 -3
tensor amin(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / -5 -2 0.5 -3
r:tensor 0#0f;amin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;r);tensor r  / -5 -2 0.5 -3
amin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / -5 -2 0.5 -3
amin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'amin: unexpected symbol scalar, expecting dim (long scalar or list), keepdim (boolean)
amin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'amin option: zz not recognized, expecting dim, keepdim
amin `a  / 'amin: no torch type found for k: symbol scalar
aminmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -5 7f
tensor aminmax tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f  / -5 7f
r:vector();aminmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);vector r  / -2 -5 -3\n4  6  7
r:vector();aminmax(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;r);vector r  / -5 -2 0.5 -3\n2  6  7   4
r:vector();Max((1 5 2;4 4 7);r);vector r  / 5 7\n1 2
r:vector(0#0;0#0);Min((1 5 2;4 4 7);1b;r);vector r  / 1 4\n0 0
r:vector();median((1 5 2;4 4 7);r);vector r  / 2 4\n2 1
r:vector();nanmedian((1 5 2f;4 0n 7);r);vector r  / 2 4\n2 0
mean(1 2 3f;`)  / 2f
prod((1 2;3 4);0;`)  / 3 8
aminmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'aminmax: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
aminmax `a  / 'aminmax: no torch type found for k: symbol scalar
aminmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;1b)  / -2 -5 -3\n4  6  7
aminmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim!(1;1b))  / -2 -5 -3\n4  6  7
argmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 10
tensor argmax(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 10
r:tensor 0#0;argmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 10
argmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'argmax: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
argmax `a  / 'argmax: no torch type found for k: symbol scalar
argmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;1b)  / 3\n1\n2
argmax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim!(1;1b))  / 3\n1\n2
argmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 1 0 1 2
tensor argmin(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 1 0 1 2
r:tensor 0#0;argmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;r);tensor r  / 1 0 1 2
argmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / 1 0 1 2
argmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'argmin: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
argmin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'argmin option: zz not recognized, expecting dim, keepdim
argmin `a  / 'argmin: no torch type found for k: symbol scalar
Max(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7f
Max(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Max: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
Max `a  / 'Max: no torch type found for k: symbol scalar
Max(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;1b)  / 4 6 7\n3 1 2
Max(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim!(1;1b))  / 4 6 7\n3 1 2
Min(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -5f
Min(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Min: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
Min `a  / 'Min: no torch type found for k: symbol scalar
Min(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / -5 -2 0.5 -3\n1  0  1   2
Min(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / -5 -2 0.5 -3\n1  0  1   2
mean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.041667
tensor mean(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.041667
r:tensor 0#0f;mean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1.041667
mean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'mean: unrecognized data type: zz
mean `a  / 'mean: no torch type found for k: symbol scalar
mean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;1b;`float)  / -0.6666667 1.333333 3.5 0
mean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim`dtype!(0;1b;`float))  / -0.6666667 1.333333 3.5 0
nanmean(0 0n 0w -0w 2 0n)  / 0n
tensor nanmean(tensor 0 0n 0w -0w 2 0n)  / 0n
r:tensor 0#0f;nanmean(0 0n 0w -0w 2 0n;r);tensor r  / 0n
nanmean(0 0n 0w -0w 2 0n;`zz)  / 'nanmean: unrecognized data type: zz
nanmean `a  / 'nanmean: no torch type found for k: symbol scalar
nanmean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 1.5 0.125 1.5
nanmean(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;1))  / 1.5 0.125 1.5
median(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.5
median(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'median: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
median `a  / 'median: no torch type found for k: symbol scalar
median(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;1b)  / 1  -1 0\n0  3  1
median(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim!(1;1b))  / 1  -1 0\n0  3  1
nanmedian(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.5
nanmedian(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'nanmedian: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
nanmedian `a  / 'nanmedian: no torch type found for k: symbol scalar
nanmedian(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 1 0 3 -1\n0 2 0 1
nanmedian(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / 1 0 3 -1\n0 2 0 1
mode(3 4#1 -2 3 0 5 6)  / -2 -2 0\n1  3  1
vector mode(tensor 3 4#1 -2 3 0 5 6)  / -2 -2 0\n1  3  1
r:vector();mode(3 4#1 -2 3 0 5 6;r);vector r  / -2 -2 0\n1  3  1
mode(3 4#1 -2 3 0 5 6;`zz)  / 'mode: unexpected symbol scalar, expecting dim (long scalar), keepdim (boolean)
mode `a  / 'mode: no torch type found for k: symbol scalar
mode(3 4#1 -2 3 0 5 6;0;1b)  / 1 -2 1 -2\n0 0 1 1
mode(3 4#1 -2 3 0 5 6;`dim`keepdim!(0;1b))  / 1 -2 1 -2\n0 0 1 1
std(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 3.583157
tensor std(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 3.583157
r:tensor 0#0f;std(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 3.583157
std(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'std: unexpected symbol scalar, expecting dim (long scalar or list), unbiased (boolean), keepdim (boolean)
std `a  / 'std: no torch type found for k: symbol scalar
std(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;0b;1b)  / 2.291288\n3.942953\n3.640055
std(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`unbiased`keepdim!(1;0b;1b))  / 2.291288\n3.942953\n3.640055
variance(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.83902
tensor variance(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.83902
r:tensor 0#0f;variance(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 12.83902
variance(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'variance: unexpected symbol scalar, expecting dim (long scalar or list), unbiased (boolean), keepdim (boolean)
variance `a  / 'variance: no torch type found for k: symbol scalar
variance(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;1b)  / 14.33333 17.33333 10.75 13
variance(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`unbiased!(0;1b))  / 14.33333 17.33333 10.75 13
meanstd(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.041667 3.583157
tensor meanstd(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1.041667 3.583157
meanstd(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'meanstd: unexpected symbol scalar, expecting dim (long scalar or list), unbiased (boolean), keepdim (boolean)
meanstd `a  / 'meanstd: no torch type found for k: symbol scalar
meanvar(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 1.5 0.125    1.5\n7   20.72917 17.66667
tensor meanvar(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 1.5 0.125    1.5\n7   20.72917 17.66667
meanvar(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;1))  / 1.5 0.125    1.5\n7   20.72917 17.66667
meanvar(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'meanvar: unexpected symbol scalar, expecting dim (long scalar or list), unbiased (boolean), keepdim (boolean)
meanvar(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'meanvar option: zz not recognized, expecting dim, unbiased, keepdim
meanvar `a  / 'meanvar: no torch type found for k: symbol scalar
prod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0f
tensor prod(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0f
r:tensor 0#0f;prod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 0f
prod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'prod: unrecognized data type: zz
prod `a  / 'prod: no torch type found for k: symbol scalar
first prod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;1b;`float)  / ,-24e
first prod(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim`dtype!(1;1b;`float))  / ,-24e
Sum(3 4#1 -2 3 0 5 6)  / 26
tensor Sum(tensor 3 4#1 -2 3 0 5 6)  / 26
r:tensor 0#0f;Sum(3 4#1 -2 3 0 5 6;r);tensor r  / 26f
Sum(3 4#1 -2 3 0 5 6;`zz)  / 'Sum: unrecognized data type: zz
Sum `a  / 'Sum: no torch type found for k: symbol scalar
Sum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;1b;`float)  / -2 4 10.5 0
Sum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim`dtype!(0;1b;`float))  / -2 4 10.5 0
nansum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.5
tensor nansum(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.5
r:tensor 0#0f;nansum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 12.5
nansum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'nansum: unrecognized data type: zz
nansum `a  / 'nansum: no torch type found for k: symbol scalar
nansum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 6 0.5 6
nansum(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;1))  / 6 0.5 6
unique(1 1 0 2 2 2 0 0 1)  / 0 1 2
tensor unique(tensor 1 1 0 2 2 2 0 0 1)  / 0 1 2
unique(1 1 0 2 2 2 0 0 1;`zz)  / 'unique: unexpected symbol scalar, expecting dim (long scalar), sort (boolean), indices (boolean), counts (boolean)
unique `a  / 'unique: no torch type found for k: symbol scalar
unique(3 4#1 -2 3 0 5 6;0;1b;1b;1b)  / 1 -2 3 0  3 0  5 6  5 6  1 -2\n0         2         1\n1         1         1
unique(3 4#1 -2 3 0 5 6;`dim`sort`indices`counts!(0;1b;1b;1b))  / 1 -2 3 0  3 0  5 6  5 6  1 -2\n0         2         1\n1         1         1
uniquec(1 1 0 2 2 2 0 0 1)  / 1 0 2 0 1
tensor uniquec(tensor 1 1 0 2 2 2 0 0 1)  / 1 0 2 0 1
uniquec(1 1 0 2 2 2 0 0 1;`zz)  / 'uniquec: unexpected symbol scalar, expecting dim (long scalar), indices (boolean), counts (boolean)
uniquec `a  / 'uniquec: no torch type found for k: symbol scalar
uniquec(1 1 0 2 2 2 0 0 1;0;1b;1b)  / 1 0 2 0 1\n0 0 1 2 2 2 3 3 4\n2 1 3 2 1
uniquec(1 1 0 2 2 2 0 0 1;`dim`indices`counts!(0;1b;1b))  / 1 0 2 0 1\n0 0 1 2 2 2 3 3 4\n2 1 3 2 1
dist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 17.5232
tensor dist(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 17.5232
dist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'dist: unexpected symbol scalar, expecting p (number)
dist 1f  / 'dist: expecting 2 input(s), given 1
dist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;1)  / 48.75
dist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;(`p;1))  / 48.75
logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 4.350759 6.005003 7.007666
tensor logsumexp(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 4.350759 6.005003 7.007666
r:tensor 0#0f;logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1;r);tensor r  / 4.350759 6.005003 7.007666
logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;1))  / 4.350759 6.005003 7.007666
logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'logsumexp: unexpected symbol scalar, expecting dim (long scalar or list), keepdim (boolean)
logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'logsumexp option: zz not recognized, expecting dim, keepdim
logsumexp `a  / 'logsumexp: no torch type found for k: symbol scalar
logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0;1b)  / 2.313928 6.00281 7.019625 4.007621
logsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`dim`keepdim!(0;1b))  / 2.313928 6.00281 7.019625 4.007621
fnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.41974
tensor fnorm(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.41974
r:tensor 0#0f;fnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 12.41974
fnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'fnorm: unrecognized data type: zz
fnorm `a  / 'fnorm: no torch type found for k: symbol scalar
fnorm(2 2 2#1 0 0 2f;(0;1);1b;`double)  / 1.414214 2.828427
fnorm(2 2 2#1 0 0 2f;`dim`keepdim`dtype!((0;1);1b;`double))  / 1.414214 2.828427
nnorm(2 2#2 0 0 4f)  / 6f
tensor nnorm(tensor 2 2#2 0 0 4f)  / 6f
r:tensor 0#0f;nnorm(2 2#2 0 0 4f;r);tensor r  / 6f
nnorm(2 2#2 0 0 4f;`zz)  / 'nnorm: unrecognized data type: zz
nnorm `a  / 'nnorm: no torch type found for k: symbol scalar
mnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1f)  / 10.5
tensor mnorm(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1f)  / 10.5
r:tensor 0#0f;mnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1f;r);tensor r  / 10.5
mnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`ord;1f))  / 10.5
mnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'mnorm option: zz not recognized, expecting ord, dim, keepdim, dtype
mnorm `a  / 'mnorm: no torch type found for k: symbol scalar
mnorm(2 2#2 0 0 4f;-2f;(0;1);1b)  / 2
mnorm(2 2#2 0 0 4f;`ord`dim`keepdim!(-2f;(0;1);1b))  / 2
vnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.41974
tensor vnorm(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 12.41974
r:tensor 0#0f;vnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 12.41974
vnorm `a  / 'vnorm: no torch type found for k: symbol scalar
vnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3f;1;1b)  / 4.641589\n6.994043\n7.230427
vnorm(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`ord`dim`keepdim!(3f;1;1b))  / 4.641589\n6.994043\n7.230427
Sum(2 3#til 6;`dim`keepdim!(0;1b))  / 3 5 7
mean(1 2 3f;`dtype,`float)  / 2e
r:tensor 0#0;Sum(1 2 3;r);tensor r  / 6
std 1f  / 0n
Max(1 2 3;`dim`keepdim!(0;1b))  / 3\n2
Sum(1 2;`foo,1)  / 'Sum option: foo not recognized, expecting dim, keepdim, dtype
/ () for dimensions, one dimension as a list, keepdim without a dimension
Sum(2 3#til 6;())  / 15
.Q.s1 Sum(2 3#til 6;();1b)  / ",,15"
.Q.s1 Sum(2 3#til 6;();1b;`double)  / ",,15f"
std(2 3#1 5 2 7 0 3f;();0b)  / 2.380476
vnorm(3 4f;1f;())  / 7f
Sum(2 3#til 6;`dim`keepdim!(();0b))  / 15
logsumexp(2 2#0f;())  / 'logsumexp: needs explicit dimension(s) for log of summed exponentials (given double 2x2, general list of 0)
mean(2 2#1f;[])  / 'mean: not available in place (given double 2x2, ::)
argmax(2 2#1f;())  / 'argmax: not available in place (given double 2x2, general list of 0)
prod(2 2#1 2 3 4;enlist 0)  / 3 8
prod(2 2#1 2 3 4;0 1)  / 'prod: product can only be calculated along a single dimension, given 2
All(2 2#1101b;1b)  / ,1b\n,0b
r:tensor 0b;Any(2 2#1101b;1b;r);tensor r  / ,1b\n,1b
r:tensor 0b;All(2 2#1101b;r);tensor r  / 0b
Sum()  / 0e
Sum(1 2;0;`zz)  / 'Sum: unrecognized data type: zz
