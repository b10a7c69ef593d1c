/ extra
Where(3 4#101b;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3   4\n-5 6  0.5 -1\n2  0  7   -3
tensor Where(tensor 3 4#101b;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3   4\n-5 6  0.5 -1\n2  0  7   -3
r:tensor 0#0f;Where(3 4#101b;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2 3   4\n-5 6  0.5 -1\n2  0  7   -3
Where(3 4#101b;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Where: unexpected symbol scalar
Where 1f  / 'Where: expecting 3 input(s), given 1
takealong(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 2#0 2 1 3 3 0;1)  / 1  3\n6  -1\n-3 2
tensor takealong(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 2#0 2 1 3 3 0;1)  / 1  3\n6  -1\n-3 2
r:tensor 0#0f;takealong(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 2#0 2 1 3 3 0;1;r);tensor r  / 1  3\n6  -1\n-3 2
takealong(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 2#0 2 1 3 3 0;(`dim;1))  / 1  3\n6  -1\n-3 2
takealong(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 2#0 2 1 3 3 0;`zz)  / 'takealong: unexpected symbol scalar, expecting dim (long scalar)
takealong(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 2#0 2 1 3 3 0;`zz`zy!1 2)  / 'takealong option: zz not recognized, expecting dim
takealong 1f  / 'takealong: expecting 2 input(s), given 1
take(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;11 0 5)  / -3 1 6f
tensor take(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;11 0 5)  / -3 1 6f
r:tensor 0#0f;take(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;11 0 5;r);tensor r  / -3 1 6f
take(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;11 0 5;`zz)  / 'take: unexpected symbol scalar
take 1f  / 'take: expecting 2 input(s), given 1
maskedselect(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b)  / 1 3 4 6 0.5 2 0 -3
tensor maskedselect(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b)  / 1 3 4 6 0.5 2 0 -3
r:tensor 0#0f;maskedselect(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;r);tensor r  / 1 3 4 6 0.5 2 0 -3
maskedselect(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;`zz)  / 'maskedselect: unexpected symbol scalar
maskedselect 1f  / 'maskedselect: expecting 2 input(s), given 1
maskedfill(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;9.)  / 9  -2 9 9\n-5 9  9 -1\n9  9  7 9
tensor maskedfill(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;9.)  / 9  -2 9 9\n-5 9  9 -1\n9  9  7 9
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;maskedfill(t;3 4#101b;9.;[]);tensor t  / 9  -2 9 9\n-5 9  9 -1\n9  9  7 9
maskedfill(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;(`value;9.))  / 9  -2 9 9\n-5 9  9 -1\n9  9  7 9
maskedfill(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;`zz)  / 'maskedfill value: expected number or boolean, given symbol scalar
maskedfill(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;`zz`zy!1 2)  / 'maskedfill option: zz not recognized, expecting value
maskedfill 1f  / 'maskedfill: expecting 2 input(s), given 1
maskedscatter(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -2  2 4\n-5 0.5 3 -1\n8  2   7 1
tensor maskedscatter(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -2  2 4\n-5 0.5 3 -1\n8  2   7 1
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;maskedscatter(t;3 4#101b;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 1  -2  2 4\n-5 0.5 3 -1\n8  2   7 1
maskedscatter(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#101b;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'maskedscatter: unexpected symbol scalar
maskedscatter 1f  / 'maskedscatter: expecting 3 input(s), given 1
nonzero(3 4#1 -2 3 0 5 6)  / 0 0\n0 1\n0 2\n1 0\n1 1\n1 2\n1 3\n2 0\n2 2\n2 3
tensor nonzero(tensor 3 4#1 -2 3 0 5 6)  / 0 0\n0 1\n0 2\n1 0\n1 1\n1 2\n1 3\n2 0\n2 2\n2 3
r:tensor 0#0;nonzero(3 4#1 -2 3 0 5 6;r);tensor r  / 0 0\n0 1\n0 2\n1 0\n1 1\n1 2\n1 3\n2 0\n2 2\n2 3
nonzero(3 4#1 -2 3 0 5 6;`zz)  / 'nonzero: unexpected symbol scalar
nonzero `a  / 'nonzero: no torch type found for k: symbol scalar
countnonzero(3 4#1 -2 3 0 5 6)  / 10
tensor countnonzero(tensor 3 4#1 -2 3 0 5 6)  / 10
countnonzero(3 4#1 -2 3 0 5 6;`zz)  / 'countnonzero: unexpected symbol scalar, expecting dim (long scalar or list)
countnonzero `a  / 'countnonzero: no torch type found for k: symbol scalar
countnonzero(3 4#1 -2 3 0 5 6;0)  / 3 2 3 2
countnonzero(3 4#1 -2 3 0 5 6;(`dim;0))  / 3 2 3 2
split(1 2 4 7 11 16f;4)  / 1 2 4 7f\n11 16f
vector split(tensor 1 2 4 7 11 16f;4)  / 1 2 4 7f\n11 16f
split(1 2 4 7 11 16f;(`size;4))  / 1 2 4 7f\n11 16f
split(1 2 4 7 11 16f;`zz)  / 'split size: expected long scalar or list, given symbol scalar
split(1 2 4 7 11 16f;`zz`zy!1 2)  / 'split option: zz not recognized, expecting size, dim
split `a  / 'split: no torch type found for k: symbol scalar
split(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(1;3);1)  / 1         -5        2\n-2 3   4  6  0.5 -1 0  7   -3
split(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`size`dim!((1;3);1))  / 1         -5        2\n-2 3   4  6  0.5 -1 0  7   -3
chunk(1 2 4 7 11 16f;3)  / 1  2\n4  7\n11 16
vector chunk(tensor 1 2 4 7 11 16f;3)  / 1  2\n4  7\n11 16
chunk(1 2 4 7 11 16f;(`chunks;3))  / 1  2\n4  7\n11 16
chunk(1 2 4 7 11 16f;`zz)  / 'chunk chunks: expected long scalar, given symbol scalar
chunk(1 2 4 7 11 16f;`zz`zy!1 2)  / 'chunk option: zz not recognized, expecting chunks, dim
chunk `a  / 'chunk: no torch type found for k: symbol scalar
chunk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2;1)  / 1  -2  -5 6   2  0\n3   4  0.5 -1 7   -3
chunk(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`chunks`dim!(2;1))  / 1  -2  -5 6   2  0\n3   4  0.5 -1 7   -3
tensorsplit(1 2 4 7 11 16f;4)  / 1 2f\n4 7f\n,11f\n,16f
vector tensorsplit(tensor 1 2 4 7 11 16f;4)  / 1 2f\n4 7f\n,11f\n,16f
tensorsplit(1 2 4 7 11 16f;(`places;4))  / 1 2f\n4 7f\n,11f\n,16f
tensorsplit(1 2 4 7 11 16f;`zz)  / 'tensorsplit places: expected long scalar or list, given symbol scalar
tensorsplit(1 2 4 7 11 16f;`zz`zy!1 2)  / 'tensorsplit option: zz not recognized, expecting places, dim
tensorsplit `a  / 'tensorsplit: no torch type found for k: symbol scalar
tensorsplit(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(1;2);1)  / 1      -5     2\n-2     6      0\n3   4  0.5 -1 7   -3
tensorsplit(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`places`dim!((1;2);1))  / 1      -5     2\n-2     6      0\n3   4  0.5 -1 7   -3
unbind(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3   4\n-5 6  0.5 -1\n2  0  7   -3
vector unbind(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 3   4\n-5 6  0.5 -1\n2  0  7   -3
unbind(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'unbind: unexpected symbol scalar, expecting dim (long scalar)
unbind `a  / 'unbind: no torch type found for k: symbol scalar
unbind(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;1)  / 1  -5  2\n-2 6   0\n3  0.5 7\n4  -1  -3
unbind(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;1))  / 1  -5  2\n-2 6   0\n3  0.5 7\n4  -1  -3
repeat(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(2;1;2))  / 1  -2 3   4  1  -2 3   4  -5 6  0.5 -1 -5 6  0.5 -1 2  0  7   -3 2  0  7   -3\n1  -2 3   4  1  -2 3   4  -5 6  0.5 -1 -5 6  0.5 -1 2  0  7   -3 2  0  7   -3
first repeat(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`times;(2;1;2)))  / 1  -2 3   4  1  -2 3   4\n-5 6  0.5 -1 -5 6  0.5 -1\n2  0  7   -3 2  0  7   -3
repeat(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'repeat times: expected long scalar or list, given symbol scalar
repeat(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'repeat option: zz not recognized, expecting times
repeat `a  / 'repeat: no torch type found for k: symbol scalar
tile(1 2 4 7 11 16f;2)  / 1 2 4 7 11 16 1 2 4 7 11 16f
tensor tile(tensor 1 2 4 7 11 16f;2)  / 1 2 4 7 11 16 1 2 4 7 11 16f
tile(1 2 4 7 11 16f;(`times;2))  / 1 2 4 7 11 16 1 2 4 7 11 16f
tile(1 2 4 7 11 16f;`zz)  / 'tile times: expected long scalar or list, given symbol scalar
tile(1 2 4 7 11 16f;`zz`zy!1 2)  / 'tile option: zz not recognized, expecting times
tile `a  / 'tile: no torch type found for k: symbol scalar
repeatitems(1 2 4 7 11 16f;1 0 2 0 0 1)  / 1 4 4 16f
tensor repeatitems(tensor 1 2 4 7 11 16f;1 0 2 0 0 1)  / 1 4 4 16f
repeatitems(1 2 4 7 11 16f;1 0 2 0 0 1;`zz)  / 'repeatitems: unexpected symbol scalar, expecting dim (long scalar)
repeatitems 1f  / 'repeatitems: expecting 2 input(s), given 1
repeatitems(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2 0 1;0)  / 1 -2 3 4\n1 -2 3 4\n2 0  7 -3
repeatitems(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2 0 1;(`dim;0))  / 1 -2 3 4\n1 -2 3 4\n2 0  7 -3
rot90(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 4  -1  -3\n3  0.5 7\n-2 6   0\n1  -5  2
tensor rot90(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 4  -1  -3\n3  0.5 7\n-2 6   0\n1  -5  2
rot90(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'rot90: unexpected symbol scalar, expecting k (long scalar), dims (long scalar or list)
rot90 `a  / 'rot90: no torch type found for k: symbol scalar
rot90(2 3 4#til 24;3;(1;2))  / 8  4 0   9  5 1   10 6 2   11 7 3\n20 16 12 21 17 13 22 18 14 23 19 15
rot90(2 3 4#til 24;`k`dims!(3;(1;2)))  / 8  4 0   9  5 1   10 6 2   11 7 3\n20 16 12 21 17 13 22 18 14 23 19 15
movedim(2 3 4#til 24;(0;1);(1;2))  / 0  4  8  12 16 20\n1  5  9  13 17 21\n2  6  10 14 18 22\n3  7  11 15 19 23
tensor movedim(tensor 2 3 4#til 24;(0;1);(1;2))  / 0  4  8  12 16 20\n1  5  9  13 17 21\n2  6  10 14 18 22\n3  7  11 15 19 23
movedim(2 3 4#til 24;`source`destination!((0;1);(1;2)))  / 0  4  8  12 16 20\n1  5  9  13 17 21\n2  6  10 14 18 22\n3  7  11 15 19 23
movedim(2 3 4#til 24;`zz)  / 'movedim source: expected long scalar or list, given symbol scalar
movedim(2 3 4#til 24;`zz`zy!1 2)  / 'movedim option: zz not recognized, expecting source, destination
movedim `a  / 'movedim: no torch type found for k: symbol scalar
unflatten(1 2 4 7 11 16f;0;(2;3))  / 1 2  4\n7 11 16
tensor unflatten(tensor 1 2 4 7 11 16f;0;(2;3))  / 1 2  4\n7 11 16
unflatten(1 2 4 7 11 16f;`dim`sizes!(0;(2;3)))  / 1 2  4\n7 11 16
unflatten(1 2 4 7 11 16f;`zz)  / 'unflatten dim: expected long scalar, given symbol scalar
unflatten(1 2 4 7 11 16f;`zz`zy!1 2)  / 'unflatten option: zz not recognized, expecting dim, sizes
unflatten `a  / 'unflatten: no torch type found for k: symbol scalar
searchsorted(0 2 5 9 12f;1 2 4 7 11 16f)  / 1 1 2 3 4 5
tensor searchsorted(tensor 0 2 5 9 12f;1 2 4 7 11 16f)  / 1 1 2 3 4 5
r:tensor 0#0;searchsorted(0 2 5 9 12f;1 2 4 7 11 16f;r);tensor r  / 1 1 2 3 4 5
searchsorted(0 2 5 9 12f;1 2 4 7 11 16f;`zz)  / 'searchsorted: unexpected symbol scalar, expecting right (boolean)
searchsorted 1f  / 'searchsorted: expecting 2 input(s), given 1
searchsorted(0 2 5 9 12f;1 2 4 7 11 16f;1b)  / 1 2 2 3 4 5
searchsorted(0 2 5 9 12f;1 2 4 7 11 16f;(`right;1b))  / 1 2 2 3 4 5
bucketize(1 2 4 7 11 16f;0 2 5 9 12f)  / 1 1 2 3 4 5
tensor bucketize(tensor 1 2 4 7 11 16f;0 2 5 9 12f)  / 1 1 2 3 4 5
r:tensor 0#0;bucketize(1 2 4 7 11 16f;0 2 5 9 12f;r);tensor r  / 1 1 2 3 4 5
bucketize(1 2 4 7 11 16f;0 2 5 9 12f;`zz)  / 'bucketize: unexpected symbol scalar, expecting right (boolean)
bucketize 1f  / 'bucketize: expecting 2 input(s), given 1
bucketize(1 2 4 7 11 16f;0 2 5 9 12f;1b)  / 1 2 2 3 4 5
bucketize(1 2 4 7 11 16f;0 2 5 9 12f;(`right;1b))  / 1 2 2 3 4 5
quantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1)  / -5 0.75 7
tensor quantile(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1)  / -5 0.75 7
r:tensor 0#0f;quantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1;r);tensor r  / -5 0.75 7
quantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1;"a")  / 'quantile: unexpected char scalar, expecting dim (long scalar), keepdim (boolean), interpolation (symbol)
quantile 1f  / 'quantile: expecting 2 input(s), given 1
quantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1;1;1b;`lower)  / -2 -5 -3\n1  -1 0\n4  6  7
quantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1;`dim`keepdim`interpolation!(1;1b;`lower))  / -2 -5 -3\n1  -1 0\n4  6  7
nanquantile(0 0n 0w -0w 2 0n;0 .5 1)  / 0n 1 0n
tensor nanquantile(tensor 0 0n 0w -0w 2 0n;0 .5 1)  / 0n 1 0n
r:tensor 0#0f;nanquantile(0 0n 0w -0w 2 0n;0 .5 1;r);tensor r  / 0n 1 0n
nanquantile(0 0n 0w -0w 2 0n;0 .5 1;"a")  / 'nanquantile: unexpected char scalar, expecting dim (long scalar), keepdim (boolean), interpolation (symbol)
nanquantile 1f  / 'nanquantile: expecting 2 input(s), given 1
nanquantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1;0)  / -5 -2 0.5 -3\n1  0  3   -1\n2  6  7   4
nanquantile(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0 .5 1;(`dim;0))  / -5 -2 0.5 -3\n1  0  3   -1\n2  6  7   4
cummax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  1 3 4 -5 6 6 6 2  2 7 7\n0 0 2 3  0 1 1 1  0 0 2 2
vector cummax(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  1 3 4 -5 6 6 6 2  2 7 7\n0 0 2 3  0 1 1 1  0 0 2 2
r:vector();cummax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);vector r  / 1  1 3 4 -5 6 6 6 2  2 7 7\n0 0 2 3  0 1 1 1  0 0 2 2
cummax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'cummax: unexpected symbol scalar, expecting dim (long scalar)
cummax `a  / 'cummax: no torch type found for k: symbol scalar
cummax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 1 -2 3 4 1 6  3 4 2 6  7 4\n0 0 0 0  0 1 0 0  2 1 2 0
cummax(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / 1 -2 3 4 1 6  3 4 2 6  7 4\n0 0 0 0  0 1 0 0  2 1 2 0
cummin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 -2 -2 -5 -5 -5 -5 2  0  0  -3\n0 1 1 1     0 0 0 0     0 1 1 3
vector cummin(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 -2 -2 -5 -5 -5 -5 2  0  0  -3\n0 1 1 1     0 0 0 0     0 1 1 3
r:vector();cummin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);vector r  / 1  -2 -2 -2 -5 -5 -5 -5 2  0  0  -3\n0 1 1 1     0 0 0 0     0 1 1 3
cummin(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'cummin: unexpected symbol scalar, expecting dim (long scalar)
cummin `a  / 'cummin: no torch type found for k: symbol scalar
logcumsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 1        -2       3        4\n1.002476 6.000335 3.07889  4.006715\n2.313928 6.00281  7.019625 4.007621
tensor logcumsumexp(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 1        -2       3        4\n1.002476 6.000335 3.07889  4.006715\n2.313928 6.00281  7.019625 4.007621
logcumsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / 1        -2       3        4\n1.002476 6.000335 3.07889  4.006715\n2.313928 6.00281  7.019625 4.007621
logcumsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'logcumsumexp: unexpected symbol scalar, expecting dim (long scalar)
logcumsumexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'logcumsumexp option: zz not recognized, expecting dim
logcumsumexp `a  / 'logcumsumexp: no torch type found for k: symbol scalar
cdist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 5.408327 10.67708 12.94459\n8.154753 8.616844 11.87697\n5.123475 10.29563 14.26753
tensor cdist(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 5.408327 10.67708 12.94459\n8.154753 8.616844 11.87697\n5.123475 10.29563 14.26753
cdist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'cdist: unexpected symbol scalar, expecting p (number)
cdist 1f  / 'cdist: expecting 2 input(s), given 1
cdist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;1)  / 8.5 16   18.75\n15  13.5 19.25\n9.5 18   26.75
cdist(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;(`p;1))  / 8.5 16   18.75\n15  13.5 19.25\n9.5 18   26.75
trapezoid(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / -3.5 5 5.5 -0.5
tensor trapezoid(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / -3.5 5 5.5 -0.5
trapezoid(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`dim;0))  / -3.5 5 5.5 -0.5
trapezoid(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'trapezoid: unexpected symbol scalar, expecting dim (long scalar)
trapezoid(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz`zy!1 2)  / 'trapezoid option: zz not recognized, expecting dim
trapezoid `a  / 'trapezoid: no torch type found for k: symbol scalar
Diff(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -3 5    1\n11 -5.5 -1.5\n-2 7    -10
tensor Diff(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / -3 5    1\n11 -5.5 -1.5\n-2 7    -10
Diff(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Diff: unexpected symbol scalar, expecting n (long scalar), dim (long scalar)
Diff `a  / 'Diff: no torch type found for k: symbol scalar
Diff(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2;0)  / 13 -14 9 3
Diff(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`n`dim!(2;0))  / 13 -14 9 3
Cov(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7         -6.75     0.6666667\n-6.75     20.72917  -1.416667\n0.6666667 -1.416667 17.66667
tensor Cov(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 7         -6.75     0.6666667\n-6.75     20.72917  -1.416667\n0.6666667 -1.416667 17.66667
Cov(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'Cov: unexpected symbol scalar, expecting correction (long scalar)
Cov `a  / 'Cov: no torch type found for k: symbol scalar
Cov(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;0)  / 5.25    -5.0625  0.5\n-5.0625 15.54688 -1.0625\n0.5     -1.0625  13.25
Cov(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;(`correction;0))  / 5.25    -5.0625  0.5\n-5.0625 15.54688 -1.0625\n0.5     -1.0625  13.25
corrcoef(2 3#1 2 3 3 2 1f)  / 1  -1\n-1 1
tensor corrcoef(tensor 2 3#1 2 3 3 2 1f)  / 1  -1\n-1 1
corrcoef(2 3#1 2 3 3 2 1f;`zz)  / 'corrcoef: unexpected symbol scalar
corrcoef `a  / 'corrcoef: no torch type found for k: symbol scalar
kron(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;2 2#2 0 0 4f;`zz)  / 'kron: unexpected symbol scalar
kron 1f  / 'kron: expecting 2 input(s), given 1
first vander(1 2 4 7 11 16f)  / 1 1 1 1 1 1f
vander(1 2 4 7 11 16f;`zz)  / 'vander: unexpected symbol scalar, expecting n (long scalar), increasing (boolean)
vander `a  / 'vander: no torch type found for k: symbol scalar
vander(1 2 4 7 11 16f;3;1b)  / 1 1  1\n1 2  4\n1 4  16\n1 7  49\n1 11 121\n1 16 256
vander(1 2 4 7 11 16f;`n`increasing!(3;1b))  / 1 1  1\n1 2  4\n1 4  16\n1 7  49\n1 11 121\n1 16 256
matrixexp(2 2#0 1 0 0f)  / 1 1\n0 1
tensor matrixexp(tensor 2 2#0 1 0 0f)  / 1 1\n0 1
matrixexp(2 2#0 1 0 0f;`zz)  / 'matrixexp: unexpected symbol scalar
matrixexp `a  / 'matrixexp: no torch type found for k: symbol scalar
cond(2 2#2 0 0 4f)  / 2f
tensor cond(tensor 2 2#2 0 0 4f)  / 2f
r:tensor 0#0f;cond(2 2#2 0 0 4f;r);tensor r  / 2f
cond(2 2#2 0 0 4f;`zz)  / 'cond: unexpected symbol scalar
cond `a  / 'cond: no torch type found for k: symbol scalar
sub(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0  -4  -1   3.5\n-8 -2  -1.5 -2\n-3 -10 6.75 -7
tensor sub(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0  -4  -1   3.5\n-8 -2  -1.5 -2\n-3 -10 6.75 -7
r:tensor 0#0f;sub(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 0  -4  -1   3.5\n-8 -2  -1.5 -2\n-3 -10 6.75 -7
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;sub(t;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 0  -4  -1   3.5\n-8 -2  -1.5 -2\n-3 -10 6.75 -7
sub(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'sub: unexpected symbol scalar, expecting alpha (number)
sub 1f  / 'sub: expecting 2 input(s), given 1
sub(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;2)  / -1  -6  -5   3\n-11 -10 -3.5 -3\n-8  -20 6.5  -11
sub(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;(`alpha;2))  / -1  -6  -5   3\n-11 -10 -3.5 -3\n-8  -20 6.5  -11
bitwiseand(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 2 3 0\n4 0 0 2\n0 0 1 2
tensor bitwiseand(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 2 3 0\n4 0 0 2\n0 0 1 2
r:tensor 0#0f;bitwiseand(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 1 2 3 0\n4 0 0 2\n0 0 1 2
t:tensor 3 4#1 -2 3 0 5 6;bitwiseand(t;3 4#1 2 3 4 6;[]);tensor t  / 1 2 3 0\n4 0 0 2\n0 0 1 2
bitwiseand(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'bitwiseand: unexpected symbol scalar
bitwiseand 1f  / 'bitwiseand: expecting 2 input(s), given 1
bitwiseor(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 -2 3 4\n7 7  3 -1\n7 6  5 6
tensor bitwiseor(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 -2 3 4\n7 7  3 -1\n7 6  5 6
r:tensor 0#0f;bitwiseor(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 1 -2 3 4\n7 7  3 -1\n7 6  5 6
t:tensor 3 4#1 -2 3 0 5 6;bitwiseor(t;3 4#1 2 3 4 6;[]);tensor t  / 1 -2 3 4\n7 7  3 -1\n7 6  5 6
bitwiseor(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'bitwiseor: unexpected symbol scalar
bitwiseor 1f  / 'bitwiseor: expecting 2 input(s), given 1
bitwisexor(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 0 -4 0 4\n3 7  3 -3\n7 6  4 4
tensor bitwisexor(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 0 -4 0 4\n3 7  3 -3\n7 6  4 4
r:tensor 0#0f;bitwisexor(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 0 -4 0 4\n3 7  3 -3\n7 6  4 4
t:tensor 3 4#1 -2 3 0 5 6;bitwisexor(t;3 4#1 2 3 4 6;[]);tensor t  / 0 -4 0 4\n3 7  3 -3\n7 6  4 4
bitwisexor(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'bitwisexor: unexpected symbol scalar
bitwisexor 1f  / 'bitwisexor: expecting 2 input(s), given 1
leftshift(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 2   -8 24 0\n320 12 4  -16\n48  0  10 24
tensor leftshift(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 2   -8 24 0\n320 12 4  -16\n48  0  10 24
r:tensor 0#0f;leftshift(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 2   -8 24 0\n320 12 4  -16\n48  0  10 24
t:tensor 3 4#1 -2 3 0 5 6;leftshift(t;3 4#1 2 3 4 6;[]);tensor t  / 2   -8 24 0\n320 12 4  -16\n48  0  10 24
leftshift(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'leftshift: unexpected symbol scalar
leftshift 1f  / 'leftshift: expecting 2 input(s), given 1
rightshift(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 0 -1 0 0\n0 3  0 -1\n0 0  2 1
tensor rightshift(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 0 -1 0 0\n0 3  0 -1\n0 0  2 1
r:tensor 0#0f;rightshift(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 0 -1 0 0\n0 3  0 -1\n0 0  2 1
t:tensor 3 4#1 -2 3 0 5 6;rightshift(t;3 4#1 2 3 4 6;[]);tensor t  / 0 -1 0 0\n0 3  0 -1\n0 0  2 1
rightshift(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'rightshift: unexpected symbol scalar
rightshift 1f  / 'rightshift: expecting 2 input(s), given 1
logicaland(3 4#1 -2 3 0 5 6;3 4#101b)  / 1010b\n0110b\n1001b
tensor logicaland(tensor 3 4#1 -2 3 0 5 6;3 4#101b)  / 1010b\n0110b\n1001b
r:tensor 0#0f;logicaland(3 4#1 -2 3 0 5 6;3 4#101b;r);tensor r  / 1 0 1 0\n0 1 1 0\n1 0 0 1
t:tensor 3 4#1 -2 3 0 5 6;logicaland(t;3 4#101b;[]);tensor t  / 1 0 1 0\n0 1 1 0\n1 0 0 1
logicaland(3 4#1 -2 3 0 5 6;3 4#101b;`zz)  / 'logicaland: unexpected symbol scalar
logicaland 1f  / 'logicaland: expecting 2 input(s), given 1
logicalor(3 4#101b;3 4#101b)  / 1011b\n0110b\n1101b
tensor logicalor(tensor 3 4#101b;3 4#101b)  / 1011b\n0110b\n1101b
r:tensor 0#0f;logicalor(3 4#101b;3 4#101b;r);tensor r  / 1 0 1 1\n0 1 1 0\n1 1 0 1
t:tensor 3 4#101b;logicalor(t;3 4#101b;[]);tensor t  / 1011b\n0110b\n1101b
logicalor(3 4#101b;3 4#101b;`zz)  / 'logicalor: unexpected symbol scalar
logicalor 1f  / 'logicalor: expecting 2 input(s), given 1
floordiv(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -1 0  8\n-2 0  0  -1\n0  0  28 -1
tensor floordiv(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -1 0  8\n-2 0  0  -1\n0  0  28 -1
r:tensor 0#0f;floordiv(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1  -1 0  8\n-2 0  0  -1\n0  0  28 -1
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;floordiv(t;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 1  -1 0  8\n-2 0  0  -1\n0  0  28 -1
floordiv(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'floordiv: unexpected symbol scalar
floordiv 1f  / 'floordiv: expecting 2 input(s), given 1
floordiv(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 -1 1 0\n0 6  0 -1\n0 0  5 3
copysign(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 4    0.5\n-3 8  2    -1\n5  10 0.25 -4
tensor copysign(tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  -2 4    0.5\n-3 8  2    -1\n5  10 0.25 -4
r:tensor 0#0f;copysign(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  -2 4    0.5\n-3 8  2    -1\n5  10 0.25 -4
t:tensor 3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;copysign(t;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;[]);tensor t  / 1  -2 4    0.5\n-3 8  2    -1\n5  10 0.25 -4
copysign(3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'copysign: unexpected symbol scalar
copysign 1f  / 'copysign: expecting 2 input(s), given 1
nextafter(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -2            3   4\n-5 6             0.5 -1\n2  4.940656e-324 7   -3
tensor nextafter(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1  -2            3   4\n-5 6             0.5 -1\n2  4.940656e-324 7   -3
r:tensor 0#0e;nextafter(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1  -2 3   4\n-5 6  0.5 -1\n2  0  7   -3
nextafter(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'nextafter: unexpected symbol scalar
nextafter 1f  / 'nextafter: expecting 2 input(s), given 1
first hypot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1.414214 2.828427 5 4.031129
hypot(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'hypot: unexpected symbol scalar
hypot 1f  / 'hypot: expecting 2 input(s), given 1
gcd(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 2 3 4\n1 1 1 1\n1 6 1 2
tensor gcd(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1 2 3 4\n1 1 1 1\n1 6 1 2
r:tensor 0#0f;gcd(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 1 2 3 4\n1 1 1 1\n1 6 1 2
t:tensor 3 4#1 -2 3 0 5 6;gcd(t;3 4#1 2 3 4 6;[]);tensor t  / 1 2 3 4\n1 1 1 1\n1 6 1 2
gcd(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'gcd: unexpected symbol scalar
gcd 1f  / 'gcd: expecting 2 input(s), given 1
lcm(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1  2 3 0\n30 6 2 6\n12 0 5 6
tensor lcm(tensor 3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6)  / 1  2 3 0\n30 6 2 6\n12 0 5 6
r:tensor 0#0f;lcm(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;r);tensor r  / 1  2 3 0\n30 6 2 6\n12 0 5 6
t:tensor 3 4#1 -2 3 0 5 6;lcm(t;3 4#1 2 3 4 6;[]);tensor t  / 1  2 3 0\n30 6 2 6\n12 0 5 6
lcm(3 4#1 -2 3 0 5 6;3 4#1 2 3 4 6;`zz)  / 'lcm: unexpected symbol scalar
lcm 1f  / 'lcm: expecting 2 input(s), given 1
heaviside(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1 0  1 1\n0 1  1 0\n1 10 1 0
tensor heaviside(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1 0  1 1\n0 1  1 0\n1 10 1 0
r:tensor 0#0f;heaviside(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;r);tensor r  / 1 0  1 1\n0 1  1 0\n1 10 1 0
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;heaviside(t;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;[]);tensor t  / 1 0  1 1\n0 1  1 0\n1 10 1 0
heaviside(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'heaviside: unexpected symbol scalar
heaviside 1f  / 'heaviside: expecting 2 input(s), given 1
first logaddexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 1.693147 2.01815 4.313262 4.02975
logaddexp(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'logaddexp: unexpected symbol scalar
logaddexp 1f  / 'logaddexp: expecting 2 input(s), given 1
first xlogy(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4)  / 0 -1.386294 4.158883 -2.772589
xlogy(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;3 4#1 2 4 .5 3 8 2 1 5 10 .25 4;`zz)  / 'xlogy: unexpected symbol scalar
xlogy 1f  / 'xlogy: expecting 2 input(s), given 1
square(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  4  9    16\n25 36 0.25 1\n4  0  49   9
tensor square(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 1  4  9    16\n25 36 0.25 1\n4  0  49   9
r:tensor 0#0f;square(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 1  4  9    16\n25 36 0.25 1\n4  0  49   9
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;square(t;[]);tensor t  / 1  4  9    16\n25 36 0.25 1\n4  0  49   9
square(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'square: unexpected symbol scalar
square `a  / 'square: no torch type found for k: symbol scalar
exp2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 2       0.25 8        16\n0.03125 64   1.414214 0.5\n4       1    128      0.125
tensor exp2(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 2       0.25 8        16\n0.03125 64   1.414214 0.5\n4       1    128      0.125
r:tensor 0#0f;exp2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 2       0.25 8        16\n0.03125 64   1.414214 0.5\n4       1    128      0.125
t:tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;exp2(t;[]);tensor t  / 2       0.25 8        16\n0.03125 64   1.414214 0.5\n4       1    128      0.125
exp2(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'exp2: unexpected symbol scalar
exp2 `a  / 'exp2: no torch type found for k: symbol scalar
asinh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.8813736 -1.443635 1.818446  2.094713\n-2.312438 2.49178   0.4812118 -0.8813736\n1.443635  0         2.644121  -1.818446
asinh(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'asinh: unexpected symbol scalar
asinh `a  / 'asinh: no torch type found for k: symbol scalar
acosh(3 4#1 2 3 4f)  / 0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437
tensor acosh(tensor 3 4#1 2 3 4f)  / 0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437
r:tensor 0#0f;acosh(3 4#1 2 3 4f;r);tensor r  / 0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437
t:tensor 3 4#1 2 3 4f;acosh(t;[]);tensor t  / 0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437\n0 1.316958 1.762747 2.063437
acosh(3 4#1 2 3 4f;`zz)  / 'acosh: unexpected symbol scalar
acosh `a  / 'acosh: no torch type found for k: symbol scalar
atanh(3 4#.25 .5 .75 .5)  / 0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061
tensor atanh(tensor 3 4#.25 .5 .75 .5)  / 0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061
r:tensor 0#0f;atanh(3 4#.25 .5 .75 .5;r);tensor r  / 0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061
t:tensor 3 4#.25 .5 .75 .5;atanh(t;[]);tensor t  / 0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061\n0.2554128 0.5493061 0.9729551 0.5493061
atanh(3 4#.25 .5 .75 .5;`zz)  / 'atanh: unexpected symbol scalar
atanh `a  / 'atanh: no torch type found for k: symbol scalar
sinc(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'sinc: unexpected symbol scalar
sinc `a  / 'sinc: no torch type found for k: symbol scalar
first deg2rad(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0.01745329 -0.03490659 0.05235988 0.06981317
deg2rad(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'deg2rad: unexpected symbol scalar
deg2rad `a  / 'deg2rad: no torch type found for k: symbol scalar
rad2deg(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 57.29578  -114.5916 171.8873 229.1831\n-286.4789 343.7747  28.64789 -57.29578\n114.5916  0         401.0705 -171.8873
rad2deg(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'rad2deg: unexpected symbol scalar
rad2deg `a  / 'rad2deg: no torch type found for k: symbol scalar
signbit(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0100b\n1001b\n0001b
tensor signbit(tensor 3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f)  / 0100b\n1001b\n0001b
r:tensor 0#0b;signbit(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;r);tensor r  / 0100b\n1001b\n0001b
signbit(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;`zz)  / 'signbit: unexpected symbol scalar
signbit `a  / 'signbit: no torch type found for k: symbol scalar
logit(3 4#.25 .5 .75 .5)  / -1.098612 0 1.098612 0\n-1.098612 0 1.098612 0\n-1.098612 0 1.098612 0
tensor logit(tensor 3 4#.25 .5 .75 .5)  / -1.098612 0 1.098612 0\n-1.098612 0 1.098612 0\n-1.098612 0 1.098612 0
r:tensor 0#0f;logit(3 4#.25 .5 .75 .5;r);tensor r  / -1.098612 0 1.098612 0\n-1.098612 0 1.098612 0\n-1.098612 0 1.098612 0
t:tensor 3 4#.25 .5 .75 .5;logit(t;[]);tensor t  / -1.098612 0 1.098612 0\n-1.098612 0 1.098612 0\n-1.098612 0 1.098612 0
logit(3 4#.25 .5 .75 .5;`zz)  / 'logit: unexpected symbol scalar, expecting eps (double scalar)
logit `a  / 'logit: no torch type found for k: symbol scalar
logit(3 4#.25 .5 .75 .5;.3)  / -0.8472979 0 0.8472979 0\n-0.8472979 0 0.8472979 0\n-0.8472979 0 0.8472979 0
logit(3 4#.25 .5 .75 .5;(`eps;.3))  / -0.8472979 0 0.8472979 0\n-0.8472979 0 0.8472979 0\n-0.8472979 0 0.8472979 0
nantonum(0 0n 0w -0w 2 0n)  / 0 0 1.797693e+308 -1.797693e+308 2 0
tensor nantonum(tensor 0 0n 0w -0w 2 0n)  / 0 0 1.797693e+308 -1.797693e+308 2 0
r:tensor 0#0f;nantonum(0 0n 0w -0w 2 0n;r);tensor r  / 0 0 1.797693e+308 -1.797693e+308 2 0
t:tensor 0 0n 0w -0w 2 0n;nantonum(t;[]);tensor t  / 0 0 1.797693e+308 -1.797693e+308 2 0
nantonum(0 0n 0w -0w 2 0n;`zz)  / 'nantonum: unexpected symbol scalar, expecting nan (number), posinf (number), neginf (number)
nantonum `a  / 'nantonum: no torch type found for k: symbol scalar
nantonum(0 0n 0w -0w 2 0n;7;8;9)  / 0 7 8 9 2 7f
nantonum(0 0n 0w -0w 2 0n;`nan`posinf`neginf!(7;8;9))  / 0 7 8 9 2 7f
tensor kron(1 2;tensor 1 10)  / 1 10 2 20
kron(2 2#1 0 0 1;1 1#5)  / 5 0\n0 5
r:tensor 0#0;kron(1 2;1 10;r);tensor r  / 1 10 2 20
hypot(3 6f;4 8f)  / 5 10f
t:tensor 3 6f;hypot(t;4 8f;[]);tensor t  / 5 10f
hypot(3;4)  / 'hypot: "hypot_cpu" not implemented for 'Long'
logaddexp(0 0f;0 1f)  / 0.6931472 1.313262
logaddexp(1 2f;`a)  / 'logaddexp: no torch type found for k: symbol scalar
xlogy(0 2f;0 1f)  / 0 0f
t:tensor 0 2f;xlogy(t;0 1f;[]);tensor t  / 0 0f
asinh 0 1f  / 0 0.8813736
asinh(0 1f;`zz)  / 'asinh: unexpected symbol scalar
sinc 0 .5  / 1 0.6366198
t:tensor 0 .5;sinc(t;[]);tensor t  / 1 0.6366198
sinc(0f;1)  / 'sinc: unexpected long scalar
deg2rad 0 180f  / 0 3.141593
deg2rad(180f;1)  / 'deg2rad: unexpected long scalar
rad2deg 0 1f  / 0 57.29578
t:tensor 0 1f;rad2deg(t;[]);tensor t  / 0 57.29578
gather(2 2#1 2 3 4;1;2 2#0 0 1 0)  / 1 1\n4 3
tensor gather(tensor 2 2#1 2 3 4;1;2 2#0 0 1 0)  / 1 1\n4 3
r:tensor 0#0;gather(2 2#1 2 3 4;0;2 2#0 0 1 0;r);tensor r  / 1 2\n3 2
gather(2 2#1 2 3 4;1;2 2#0 0 9 0)  / 'gather: index 9 is out of bounds for dimension 1 with size 2
gather(2 2#1 2 3 4;`a;2 2#0 0 1 0)  / 'gather dim: expected long scalar, given symbol scalar
gather(2 2#1 2 3 4;1)  / 'gather: expecting 2 input(s), given 1
scatter(4#0;0;2 0;7 8)  / 8 0 7 0
t:tensor 4#0;scatter(t;0;2 0;7 8;[]);tensor t  / 8 0 7 0
r:tensor 0#0;scatter(4#0;0;2 0;7 8;r);tensor r  / 8 0 7 0
scatter(4#0;0;2 9;7 8)  / 'scatter: index 9 is out of bounds for dimension 0 with size 4
scatter(4#0;0;2 0)  / 'scatter: expecting 3 input(s), given 2
scatteradd(4#0;0;2 0 2;7 8 9)  / 8 0 16 0
t:tensor 4#0;scatteradd(t;0;2 0 2;7 8 9;[]);tensor t  / 8 0 16 0
scatteradd(4#0;0;2 -7;7 8)  / 'scatteradd: index -7 is out of bounds for dimension 0 with size 4
tensor scatteradd(tensor 4#0;0;2 0;7 8)  / 8 0 7 0
indexadd(3 2#0;0;2 0;2 2#1 2 3 4)  / 3 4\n0 0\n1 2
indexadd(3 2#0;0;2 0;2 2#1 2 3 4;10)  / 30 40\n0  0\n10 20
t:tensor 3#0;indexadd(t;0;2 0;7 8;[]);tensor t  / 8 0 7
indexadd(3#0;0;2 9;7 8)  / 'indexadd: index out of range in self (given long list of 3, long 0, long list of 2, long list of 2)
indexadd(3#0;0;2 0;7 8;`alpha,2)  / 16 0 14
indexcopy(3#0;0;2 0;7 8)  / 8 0 7
t:tensor 3#0;indexcopy(t;0;2 0;7 8;[]);tensor t  / 8 0 7
tensor indexcopy(tensor 3#0;0;2 0;7 8)  / 8 0 7
indexcopy(3#0;0;2 9;7 8)  / 'indexcopy: index_copy_(): index 9 is out of bounds for dimension 0 with size 3
indexfill(4#0;0;1 3;9)  / 0 9 0 9
t:tensor 4#0;indexfill(t;0;1 3;9;[]);tensor t  / 0 9 0 9
indexfill(4#0;0;1 9;9)  / 'indexfill: index 9 is out of bounds for dimension 0 with size 4
indexfill(4#0;0;1 3;`value,9)  / 0 9 0 9
indexfill(4#0;0;1 3)  / 'indexfill: value not given (given long list of 4, long 0, long list of 2)
hstack(1 2;3 4)  / 1 2 3 4
tensor hstack(tensor 1 2;3 4)  / 1 2 3 4
hstack()  / 'hstack: expecting tensors or arrays (given nothing)
hstack`a  / 'hstack: no torch type found for k: symbol scalar
vstack(1 2;3 4)  / 1 2\n3 4
tensor vstack(tensor 1 2;3 4)  / 1 2\n3 4
vstack(1 2;3 4 5)  / 'vstack: Sizes of tensors must match except in dimension 0. Expected size 2 but got size 3 for tensor number 1 in the list.
vstack()  / 'vstack: expecting tensors or arrays (given nothing)
dstack(1 2;3 4)  / 1 3 2 4
size dstack(tensor 1 2;3 4)  / 1 2 2
dstack()  / 'dstack: expecting tensors or arrays (given nothing)
dstack`a  / 'dstack: no torch type found for k: symbol scalar
blockdiag(1 2;3 4)  / 1 2 0 0\n0 0 3 4
tensor blockdiag(tensor 1 2;3 4)  / 1 2 0 0\n0 0 3 4
blockdiag()  / 'blockdiag: expecting tensors or arrays (given nothing)
blockdiag`a  / 'blockdiag: no torch type found for k: symbol scalar
meshgrid(1 2;3 4)  / 1 1 2 2\n3 4 3 4
vector meshgrid(tensor 1 2;3 4)  / 1 1 2 2\n3 4 3 4
meshgrid()  / 'meshgrid: expecting tensors or arrays (given nothing)
meshgrid`a  / 'meshgrid: no torch type found for k: symbol scalar
cartesian(1 2;3 4)  / 1 3\n1 4\n2 3\n2 4
tensor cartesian(tensor 1 2;3 4)  / 1 3\n1 4\n2 3\n2 4
cartesian()  / 'cartesian: expecting tensors or arrays (given nothing)
cartesian(2 2#1;2 2#2)  / 'cartesian: Expect a 1D vector, but got shape [2, 2]
einsum("ij,jk->ik";2 2#1 2 3 4;2 2#0 1 1 0)  / 2 1\n4 3
tensor einsum("ii";tensor 2 2#1 2 3 4)  / 5
einsum("i,i->";1 2 3;4 5 6)  / 32
einsum("ij";1 2)  / 'einsum: einsum(): the number of subscripts in the equation (2) does not match the number of dimensions (1) for operand 0 and no ellipsis was given
einsum(1 2;3)  / 'einsum: expecting an equation and tensors or arrays, given long list
einsum "ij"  / 'einsum: expecting an equation and tensors or arrays, given char scalar
lcm(4 6;10)  / 20 30
lcm(0N;-5)  / 'lcm: -9223372036854775808 has no multiple of its type
lcm(-32768h;3h)  / 'lcm: -32768 has no multiple of its type
t:tensor 4 6;lcm(t;10;[]);tensor t  / 20 30
Where(101b;.1;.2 .3 .4)  / 0.1 0.3 0.1
Where(101b;1;2)  / 1 2 1
where 101b  / 0 2
x:tensor(1 2 3f;`grad);backward Sum gather(x;0;2 2 0);grad x  / 1 0 2f
split(til 5;2 2 1)  / 0 1\n2 3\n,4
split(til 5;0)  / 'split: split_size can only be 0 if dimension size is 0, but got dimension size of 5
repeat(1 2;2 2)  / 1 2 1 2\n1 2 1 2
repeat(1 2;-1)  / 'repeat: Trying to create tensor with negative dimension -2: [-2] (given long list of 2, long -1)
repeatitems(1 2f;2)  / 1 1 2 2f
tensor repeatitems(tensor 1 2e;2)  / 1 1 2 2e
repeatitems(1 2;-1)  / 'repeatitems: repeats can not be negative (given long list of 2, long -1)
quantile(1 2 3 4;.25 .5)  / 1.75 2.5e
quantile(1 2 3f;1.5)  / 'quantile: quantile() q values must be in the range [0, 1] (given double list of 3, double 1.5)
nantonum(0n 1 0w;0)  / 0 1 1.797693e+308
cummax(3 1 2;5)  / 'cummax: Dimension out of range (expected to be in range of [-1, 0], but got 5)
leftshift(1;2 3)  / 4 8
bitwiseand(1.5;1)  / 'bitwiseand: "bitwise_and_cpu" not implemented for 'Double'
sub(5 6;1 2;2)  / 3 2
t:tensor 5 6;sub(t;1 2;2;[]);tensor t  / 3 2

/ one number for all elements of a scatter
scatter(2 2#0;1;2 1#0 1;5)  / 5 0\n0 5
scatteradd(2 2#1f;1;2 1#0 1;5)  / 6 1\n1 6
t:tensor 2 2#0;scatter(t;1;2 1#0 1;5;[]);tensor t  / 5 0\n0 5
linear 5  / 'linear: expecting 2 input(s), given 1
linear(1;2)  / 'linear: both arguments to linear need to be at least 1D, but they are 0D and 0D
/ tensors of the size and type of others
t:tensor(2 2#1f;`grad);z:zeroslike t;(dtype z;gradflag z)  / `double\n0b
tensor oneslike(tensor 2 2#1f;`long)  / 1 1\n1 1
tensor fulllike(tensor 1 2 3i;7)  / 7 7 7i
fulllike tensor 1 2e  / 'fulllike: value not given (given float tensor 2)
zeroslike(tensor 1 2e;3)  / 'zeroslike: unexpected long scalar, expecting dtype (data type)
seed 3;a:tensor randnlike tensor 2 3#0f;seed 3;a~tensor tensor(`randn;2 3;`double)  / 1b
seed 3;a:tensor randlike tensor(2 3#0f;`half);seed 3;a~tensor tensor(`rand;2 3;`half)  / 1b
randlike 2#0  / 'randlike: "check_uniform_bounds" not implemented for 'Long'
/ a backward calculation of one's own
t:tensor(-2 .5 3e;`grad);y:customgrad(signum;{[d;x]d*1>=abs x};t);backward Sum y*1 2 3e;(tensor y;grad t)  / -1 1 1\n0  2 0
autograd({Sum customgrad({x*y};{[d;x;y](d*y;2*d*x)};x;y)};1 2e;3 4e)  / 3 4\n2 4
customgrad(signum;{[d;x]d};1 -2e)  / 1 -1e
zerograd t;backward Sum customgrad({x};"{[d;x]neg d}";t);grad t  / -1 -1 -1e
hessian({Sum customgrad({x*x*x};{[d;x]3*d*x*x};x)};1 2e)  / 6 0\n0 12
vmap({autograd({Sum customgrad({x*x};{[d;x]2*d*x};x)};x)};2 2#1 2 3 4e)  / 2 4\n6 8
m:module enlist(`callback;"{[m;x]customgrad(signum;{[d;x]d};x)}");x:tensor(1 -2e;`grad);backward Sum forward(m;x);grad x  / 1 1e
n:count obj[];do[20;y:customgrad({x*x};{[d;x]d*x+x};t);backward Sum y];y:0;n-count obj[]  / 1
customgrad(signum;t)  / 'customgrad: expecting (function;function of gradient and inputs;input;..), given 2 args
customgrad(signum;{x};`a)  / 'customgrad: expecting tensor or array for input, given symbol scalar
customgrad(signum;3;t)  / 'customgrad: expecting function, its name or text, or module, given long scalar
backward Sum customgrad({x*y};{[d;x;y]d*y};t;t)  / 'customgrad: 2 gradients expected, one for each input, given 1
backward Sum customgrad({2*x};{[d;x]2#d};t)  / 'backward: Function CustomBackward returned an invalid gradient at index 0 - got [2] but expected shape compatible with [3]
backward Sum customgrad({2*x};{[d;x]d+nosuch};t)  / 'nosuch
