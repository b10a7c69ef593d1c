/ linalg
det(2 2#2 0 0 4f)  / 8f
tensor det(tensor 2 2#2 0 0 4f)  / 8f
r:tensor 0#0f;det(2 2#2 0 0 4f;r);tensor r  / 8f
det(2 2#2 0 0 4f;`zz)  / 'det: unexpected symbol scalar
det `a  / 'det: no torch type found for k: symbol scalar
det(2 2 2#1 0 0 2f)  / 2 2f
logdet(2 2#1 0 0 1f)  / 0f
tensor logdet(tensor 2 2#1 0 0 1f)  / 0f
logdet(2 2#1 0 0 1f;`zz)  / 'logdet: unexpected symbol scalar
logdet `a  / 'logdet: no torch type found for k: symbol scalar
slogdet(2 2#2 0 0 4f)  / 1 2.079442
vector slogdet(tensor 2 2#2 0 0 4f)  / 1 2.079442
r:vector();slogdet(2 2#2 0 0 4f;r);vector r  / 1 2.079442
slogdet(2 2#2 0 0 4f;`zz)  / 'slogdet: unexpected symbol scalar
slogdet `a  / 'slogdet: no torch type found for k: symbol scalar
mrank(2 2#2 0 0 4f)  / 2
tensor mrank(tensor 2 2#2 0 0 4f)  / 2
r:tensor 0#0f;mrank(2 2#2 0 0 4f;r);tensor r  / 2f
mrank(2 2#2 0 0 4f;`zz)  / 'mrank: unexpected symbol scalar, expecting atol (number), rtol (number), hermitian (boolean)
mrank `a  / 'mrank: no torch type found for k: symbol scalar
mrank(2 2#2 0 0 4f;.5;.1;1b)  / 2
mrank(2 2#2 0 0 4f;`atol`rtol`hermitian!(.5;.1;1b))  / 2
chol(2 2#4 2 2 5f)  / 2 0\n1 2
tensor chol(tensor 2 2#4 2 2 5f)  / 2 0\n1 2
r:tensor 0#0f;chol(2 2#4 2 2 5f;r);tensor r  / 2 0\n1 2
chol(2 2#4 2 2 5f;`zz)  / 'chol: unexpected symbol scalar, expecting upper (boolean)
chol `a  / 'chol: no torch type found for k: symbol scalar
chol(2 2#4 2 2 5f;1b)  / 2 1\n0 2
chol(2 2#4 2 2 5f;(`upper;1b))  / 2 1\n0 2
cholx(2 2#4 2 2 5f;1b;0b)  / (2 1f;0 2f)\n0i
vector cholx(tensor 2 2#4 2 2 5f;1b;0b)  / (2 1f;0 2f)\n0i
r:vector();cholx(2 2#4 2 2 5f;1b;0b;r);vector r  / (2 1f;0 2f)\n0i
cholx(2 2#4 2 2 5f;`upper`check!(1b;0b))  / (2 1f;0 2f)\n0i
cholx(2 2#4 2 2 5f;`zz)  / 'cholx: unexpected symbol scalar, expecting upper (boolean), check (boolean)
cholx(2 2#4 2 2 5f;`zz`zy!1 2)  / 'cholx option: zz not recognized, expecting upper, check
cholx `a  / 'cholx: no torch type found for k: symbol scalar
eig(2 2#2 0 0 4f)  / 2 4     0 0\n1 0 0 1 0 0 0 0
vector eig(tensor 2 2#2 0 0 4f)  / 2 4     0 0\n1 0 0 1 0 0 0 0
r:vector();eig(2 2#2 0 0 4f;r);vector r  / 2 4     0 0\n1 0 0 1 0 0 0 0
eig(2 2#2 0 0 4f;`zz)  / 'eig: unexpected symbol scalar
eig `a  / 'eig: no torch type found for k: symbol scalar
eigvals(2 2#2 0 0 4f)  / 2 4\n0 0
tensor eigvals(tensor 2 2#2 0 0 4f)  / 2 4\n0 0
r:tensor(0#0f;`cdouble);eigvals(2 2#2 0 0 4f;r);tensor r  / 2 4\n0 0
eigvals(2 2#2 0 0 4f;`zz)  / 'eigvals: unexpected symbol scalar
eigvals `a  / 'eigvals: no torch type found for k: symbol scalar
eigh(2 2#2 0 0 4f)  / 2   4\n1 0 0 1
vector eigh(tensor 2 2#2 0 0 4f)  / 2   4\n1 0 0 1
r:vector();eigh(2 2#2 0 0 4f;r);vector r  / 2   4\n1 0 0 1
eigh(2 2#2 0 0 4f;`zz)  / 'eigh: unexpected symbol scalar, expecting upper (boolean)
eigh `a  / 'eigh: no torch type found for k: symbol scalar
eigh(2 2#2 0 0 4f;1b)  / 2   4\n1 0 0 1
eigh(2 2#2 0 0 4f;(`upper;1b))  / 2   4\n1 0 0 1
eigvalsh(2 2#2 0 0 4f;1b)  / 2 4f
tensor eigvalsh(tensor 2 2#2 0 0 4f;1b)  / 2 4f
r:tensor 0#0f;eigvalsh(2 2#2 0 0 4f;1b;r);tensor r  / 2 4f
eigvalsh(2 2#2 0 0 4f;(`upper;1b))  / 2 4f
eigvalsh(2 2#2 0 0 4f;`zz)  / 'eigvalsh: unexpected symbol scalar, expecting upper (boolean)
eigvalsh(2 2#2 0 0 4f;`zz`zy!1 2)  / 'eigvalsh option: zz not recognized, expecting upper
eigvalsh `a  / 'eigvalsh: no torch type found for k: symbol scalar
eigvalsh(2 2 2#1 0 0 2f)  / 1 2\n1 2
qr(2 2#2 0 0 4f;1b)  / 'qr: unexpected boolean scalar, expecting mode (symbol)
qr `a  / 'qr: no torch type found for k: symbol scalar
lu(2 2#1 2 4 4f)  / 4    4 0.25 1\n2      2
vector lu(tensor 2 2#1 2 4 4f)  / 4    4 0.25 1\n2      2
r:vector();lu(2 2#1 2 4 4f;r);vector r  / 4    4 0.25 1\n2      2
lu(2 2#1 2 4 4f;`zz)  / 'lu: unexpected symbol scalar, expecting pivot (boolean)
lu `a  / 'lu: no torch type found for k: symbol scalar
lux(2 2#1 2 4 4f;1b;1b)  / (4 4f;0.25 1)\n2 2i\n0i
vector lux(tensor 2 2#1 2 4 4f;1b;1b)  / (4 4f;0.25 1)\n2 2i\n0i
r:vector();lux(2 2#1 2 4 4f;1b;1b;r);vector r  / (4 4f;0.25 1)\n2 2i\n0i
lux(2 2#1 2 4 4f;`pivot`check!(1b;1b))  / (4 4f;0.25 1)\n2 2i\n0i
lux(2 2#1 2 4 4f;`zz)  / 'lux: unexpected symbol scalar, expecting pivot (boolean), check (boolean)
lux(2 2#1 2 4 4f;`zz`zy!1 2)  / 'lux option: zz not recognized, expecting pivot, check
lux `a  / 'lux: no torch type found for k: symbol scalar
svd(2 2#2 0 0 4f)  / 0 1 1 0\n4   2\n0 1 1 0
vector svd(tensor 2 2#2 0 0 4f)  / 0 1 1 0\n4   2\n0 1 1 0
r:vector();svd(2 2#2 0 0 4f;r);vector r  / 0 1 1 0\n4   2\n0 1 1 0
svd(2 2#2 0 0 4f;"a")  / 'svd: unexpected char scalar, expecting full (boolean), driver (symbol)
svd `a  / 'svd: no torch type found for k: symbol scalar
svd(2 2#2 0 0 4f;0b)  / 0 1 1 0\n4   2\n0 1 1 0
svd(2 2#2 0 0 4f;(`full;0b))  / 0 1 1 0\n4   2\n0 1 1 0
svdvals(2 2#2 0 0 4f)  / 4 2f
tensor svdvals(tensor 2 2#2 0 0 4f)  / 4 2f
r:tensor 0#0f;svdvals(2 2#2 0 0 4f;r);tensor r  / 4 2f
svdvals(2 2#2 0 0 4f;1b)  / 'svdvals: unexpected boolean scalar, expecting driver (symbol)
svdvals `a  / 'svdvals: no torch type found for k: symbol scalar
solve(2 2#2 0 0 4f;2 1#2 8f)  / 1\n2
tensor solve(tensor 2 2#2 0 0 4f;2 1#2 8f)  / 1\n2
r:tensor 0#0f;solve(2 2#2 0 0 4f;2 1#2 8f;r);tensor r  / 1\n2
solve(2 2#2 0 0 4f;2 1#2 8f;`zz)  / 'solve: unexpected symbol scalar, expecting left (boolean)
solve 1f  / 'solve: expecting 2 input(s), given 1
solve(2 2#2 0 0 4f;2 2#2 0 0 4f;0b)  / 1 0\n0 1
solve(2 2#2 0 0 4f;2 2#2 0 0 4f;(`left;0b))  / 1 0\n0 1
trisolve(2 2#2 0 0 4f;2 1#2 8f;1b)  / 1\n2
tensor trisolve(tensor 2 2#2 0 0 4f;2 1#2 8f;1b)  / 1\n2
r:tensor 0#0f;trisolve(2 2#2 0 0 4f;2 1#2 8f;1b;r);tensor r  / 1\n2
trisolve(2 2#2 0 0 4f;2 1#2 8f;(`upper;1b))  / 1\n2
trisolve(2 2#2 0 0 4f;2 1#2 8f;`zz)  / 'trisolve upper: expected boolean, given symbol scalar
trisolve(2 2#2 0 0 4f;2 1#2 8f;`zz`zy!1 2)  / 'trisolve option: zz not recognized, expecting upper, left, unitriangular
trisolve 1f  / 'trisolve: expecting 2 input(s), given 1
trisolve(2 2#2 0 0 4f;2 2#2 0 0 4f;0b;0b;1b)  / 2 0\n0 4
trisolve(2 2#2 0 0 4f;2 2#2 0 0 4f;`upper`left`unitriangular!(0b;0b;1b))  / 2 0\n0 4
cholsolve(2 1#8 12f;2 2#2 0 1 2f)  / 1\n2
tensor cholsolve(tensor 2 1#8 12f;2 2#2 0 1 2f)  / 1\n2
r:tensor 0#0f;cholsolve(2 1#8 12f;2 2#2 0 1 2f;r);tensor r  / 1\n2
cholsolve(2 1#8 12f;2 2#2 0 1 2f;`zz)  / 'cholsolve: unexpected symbol scalar, expecting upper (boolean)
cholsolve 1f  / 'cholsolve: expecting 2 input(s), given 1
cholsolve(2 1#8 12f;2 2#2 0 1 2f;1b)  / 2\n3
cholsolve(2 1#8 12f;2 2#2 0 1 2f;(`upper;1b))  / 2\n3
lstsq(4 2#1 0 0 1 0 0 0 0f;4 1#3 4 0 0f)  / (,3f;,4f)\n`float$()\n2\n`float$()
vector lstsq(tensor 4 2#1 0 0 1 0 0 0 0f;4 1#3 4 0 0f)  / (,3f;,4f)\n`float$()\n2\n`float$()
r:vector();lstsq(4 2#1 0 0 1 0 0 0 0f;4 1#3 4 0 0f;r);vector r  / (,3f;,4f)\n`float$()\n2\n`float$()
lstsq(4 2#1 0 0 1 0 0 0 0f;4 1#3 4 0 0f;1b)  / 'lstsq: unexpected boolean scalar, expecting rcond (double scalar), method (symbol)
lstsq 1f  / 'lstsq: expecting 2 input(s), given 1
lstsq(4 2#1 0 0 1 0 0 0 0f;4 1#3 4 0 0f;.01;`gelsd)  / (,3f;,4f)\n,0f\n2\n1 1f
lstsq(4 2#1 0 0 1 0 0 0 0f;4 1#3 4 0 0f;`rcond`method!(.01;`gelsd))  / (,3f;,4f)\n,0f\n2\n1 1f
inverse(2 2#2 0 0 4f)  / 0.5 0\n0   0.25
tensor inverse(tensor 2 2#2 0 0 4f)  / 0.5 0\n0   0.25
r:tensor 0#0f;inverse(2 2#2 0 0 4f;r);tensor r  / 0.5 0\n0   0.25
inverse(2 2#2 0 0 4f;`zz)  / 'inverse: unexpected symbol scalar
inverse `a  / 'inverse: no torch type found for k: symbol scalar
inverse(2 2 2#1 0 0 2f)  / 1 0   0 0.5\n1 0   0 0.5
pinverse(2 2#2 0 0 4f)  / 0.5 0\n0   0.25
tensor pinverse(tensor 2 2#2 0 0 4f)  / 0.5 0\n0   0.25
r:tensor 0#0f;pinverse(2 2#2 0 0 4f;r);tensor r  / 0.5 0\n0   0.25
pinverse(2 2#2 0 0 4f;`zz)  / 'pinverse: unexpected symbol scalar, expecting atol (number), rtol (number), hermitian (boolean)
pinverse `a  / 'pinverse: no torch type found for k: symbol scalar
pinverse(2 2#2 0 0 4f;.1;.1;1b)  / 0.5 0\n0   0.25
pinverse(2 2#2 0 0 4f;`atol`rtol`hermitian!(.1;.1;1b))  / 0.5 0\n0   0.25
cholinverse(2 2#2 0 0 4f;`zz)  / 'cholinverse: unexpected symbol scalar, expecting upper (boolean)
cholinverse `a  / 'cholinverse: no torch type found for k: symbol scalar
power(2 2#2 0 0 4f;3)  / 8 0\n0 64
tensor power(tensor 2 2#2 0 0 4f;3)  / 8 0\n0 64
r:tensor 0#0f;power(2 2#2 0 0 4f;3;r);tensor r  / 8 0\n0 64
power(2 2#2 0 0 4f;(`n;3))  / 8 0\n0 64
power(2 2#2 0 0 4f;`zz)  / 'power n: expected long scalar, given symbol scalar
power(2 2#2 0 0 4f;`zz`zy!1 2)  / 'power option: zz not recognized, expecting n
power `a  / 'power: no torch type found for k: symbol scalar
power(2 2#2 0 0 4f;-1)  / 0.5 0\n0   0.25
power(2 2#2 0 0 4f;(`n;-1))  / 0.5 0\n0   0.25
bmm(2 2 2#1 0 0 2f;2 2 3#1 2 3f)  / 1 2 3 2 4 6\n1 2 3 2 4 6
tensor bmm(tensor 2 2 2#1 0 0 2f;2 2 3#1 2 3f)  / 1 2 3 2 4 6\n1 2 3 2 4 6
r:tensor 0#0f;bmm(2 2 2#1 0 0 2f;2 2 3#1 2 3f;r);tensor r  / 1 2 3 2 4 6\n1 2 3 2 4 6
bmm(2 2 2#1 0 0 2f;2 2 3#1 2 3f;`zz)  / 'bmm: unexpected symbol scalar
bmm 1f  / 'bmm: expecting 2 input(s), given 1
Cross(1 0 0f;0 1 0f)  / 0 0 1f
tensor Cross(tensor 1 0 0f;0 1 0f)  / 0 0 1f
r:tensor 0#0f;Cross(1 0 0f;0 1 0f;r);tensor r  / 0 0 1f
Cross(1 0 0f;0 1 0f;`zz)  / 'Cross: unexpected symbol scalar, expecting dim (long scalar)
Cross 1f  / 'Cross: expecting 2 input(s), given 1
dot(1 2 3f;4 5 6f)  / 32f
tensor dot(tensor 1 2 3f;4 5 6f)  / 32f
r:tensor 0#0f;dot(1 2 3f;4 5 6f;r);tensor r  / 32f
dot(1 2 3f;4 5 6f;`zz)  / 'dot: unexpected symbol scalar
dot 1f  / 'dot: expecting 2 input(s), given 1
householder(2 1#1 2f;enlist 1f)  / 0\n-2
tensor householder(tensor 2 1#1 2f;enlist 1f)  / 0\n-2
r:tensor 0#0f;householder(2 1#1 2f;enlist 1f;r);tensor r  / 0\n-2
householder(2 1#1 2f;enlist 1f;`zz)  / 'householder: unexpected symbol scalar
householder 1f  / 'householder: expecting 2 input(s), given 1
matmul(2 3#1 2 3 4 5 6f;1 0 2f)  / 7 16f
tensor matmul(tensor 2 3#1 2 3 4 5 6f;1 0 2f)  / 7 16f
r:tensor 0#0f;matmul(2 3#1 2 3 4 5 6f;1 0 2f;r);tensor r  / 7 16f
matmul(2 3#1 2 3 4 5 6f;1 0 2f;`zz)  / 'matmul: unexpected symbol scalar
matmul 1f  / 'matmul: expecting 2 input(s), given 1
matmul(3 4#1 -2 3 4 -5 6 .5 -1 2 0 7 -3f;4 3#1 0 0 0 1 0 0 0 1 2 3 4f)  / 9  10 19\n-7 3  -3.5\n-4 -9 -5
mm(2 3#1 2 3 4 5 6f;3 1#1 0 2f)  / 7\n16
tensor mm(tensor 2 3#1 2 3 4 5 6f;3 1#1 0 2f)  / 7\n16
r:tensor 0#0f;mm(2 3#1 2 3 4 5 6f;3 1#1 0 2f;r);tensor r  / 7\n16
mm(2 3#1 2 3 4 5 6f;3 1#1 0 2f;`zz)  / 'mm: unexpected symbol scalar
mm 1f  / 'mm: expecting 2 input(s), given 1
mmt(1 2#1 2f;2 2#1 0 0 3f)  / 1 6
tensor mmt(tensor 1 2#1 2f;2 2#1 0 0 3f)  / 1 6
r:tensor 0#0f;mmt(1 2#1 2f;2 2#1 0 0 3f;r);tensor r  / 1 6
mmt(1 2#1 2f;2 2#1 0 0 3f;`zz)  / 'mmt: unexpected symbol scalar
mmt 1f  / 'mmt: expecting 2 input(s), given 1
mtm(2 1#1 2f;2 2#1 0 0 3f)  / 1 6
tensor mtm(tensor 2 1#1 2f;2 2#1 0 0 3f)  / 1 6
r:tensor 0#0f;mtm(2 1#1 2f;2 2#1 0 0 3f;r);tensor r  / 1 6
mtm(2 1#1 2f;2 2#1 0 0 3f;`zz)  / 'mtm: unexpected symbol scalar
mtm 1f  / 'mtm: expecting 2 input(s), given 1
mv(2 2#1 2 3 4f;1 10f)  / 21 43f
tensor mv(tensor 2 2#1 2 3 4f;1 10f)  / 21 43f
r:tensor 0#0f;mv(2 2#1 2 3 4f;1 10f;r);tensor r  / 21 43f
mv(2 2#1 2 3 4f;1 10f;`zz)  / 'mv: unexpected symbol scalar
mv 1f  / 'mv: expecting 2 input(s), given 1
outer(1 2f;3 4 5f)  / 3 4 5\n6 8 10
tensor outer(tensor 1 2f;3 4 5f)  / 3 4 5\n6 8 10
r:tensor 0#0f;outer(1 2f;3 4 5f;r);tensor r  / 3 4 5\n6 8 10
outer(1 2f;3 4 5f;`zz)  / 'outer: unexpected symbol scalar
outer 1f  / 'outer: expecting 2 input(s), given 1
addbmm(2 2#2 0 0 4f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f)  / 4 0\n0 12
tensor addbmm(tensor 2 2#2 0 0 4f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f)  / 4 0\n0 12
r:tensor 0#0f;addbmm(2 2#2 0 0 4f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;r);tensor r  / 4 0\n0 12
t:tensor 2 2#2 0 0 4f;addbmm(t;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;[]);tensor t  / 4 0\n0 12
addbmm(2 2#2 0 0 4f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;`zz)  / 'addbmm: unexpected symbol scalar, expecting beta (number), alpha (number)
addbmm 1f  / 'addbmm: expecting 3 input(s), given 1
addbmm(2 2#2 0 0 4f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2;.5)  / 5 0\n0 12
addbmm(2 2#2 0 0 4f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;`beta`alpha!(2;.5))  / 5 0\n0 12
addmm(2 2#2 0 0 4f;2 2#2 0 0 4f;2 2#2 0 0 4f)  / 6 0\n0 20
tensor addmm(tensor 2 2#2 0 0 4f;2 2#2 0 0 4f;2 2#2 0 0 4f)  / 6 0\n0 20
r:tensor 0#0f;addmm(2 2#2 0 0 4f;2 2#2 0 0 4f;2 2#2 0 0 4f;r);tensor r  / 6 0\n0 20
t:tensor 2 2#2 0 0 4f;addmm(t;2 2#2 0 0 4f;2 2#2 0 0 4f;[]);tensor t  / 6 0\n0 20
addmm(2 2#2 0 0 4f;2 2#2 0 0 4f;2 2#2 0 0 4f;`zz)  / 'addmm: unexpected symbol scalar, expecting beta (number), alpha (number)
addmm 1f  / 'addmm: expecting 3 input(s), given 1
addmm(2 2#2 0 0 4f;2 2#2 0 0 4f;2 2#2 0 0 4f;2;.5)  / 6 0\n0 16
addmm(2 2#2 0 0 4f;2 2#2 0 0 4f;2 2#2 0 0 4f;`beta`alpha!(2;.5))  / 6 0\n0 16
addmv(1 2f;2 2#1 2 3 4f;1 10f;2;.5)  / 12.5 25.5
tensor addmv(tensor 1 2f;2 2#1 2 3 4f;1 10f;2;.5)  / 12.5 25.5
r:tensor 0#0f;addmv(1 2f;2 2#1 2 3 4f;1 10f;2;.5;r);tensor r  / 12.5 25.5
t:tensor 1 2f;addmv(t;2 2#1 2 3 4f;1 10f;2;.5;[]);tensor t  / 12.5 25.5
addmv(1 2f;2 2#1 2 3 4f;1 10f;`beta`alpha!(2;.5))  / 12.5 25.5
addmv(1 2f;2 2#1 2 3 4f;1 10f;`zz)  / 'addmv: unexpected symbol scalar, expecting beta (number), alpha (number)
addmv(1 2f;2 2#1 2 3 4f;1 10f;`zz`zy!1 2)  / 'addmv option: zz not recognized, expecting beta, alpha
addmv 1f  / 'addmv: expecting 3 input(s), given 1
addr(2 2#1 2 3 4f;1 2f;3 4f;2;.5)  / 3.5 6\n9   12
tensor addr(tensor 2 2#1 2 3 4f;1 2f;3 4f;2;.5)  / 3.5 6\n9   12
r:tensor 0#0f;addr(2 2#1 2 3 4f;1 2f;3 4f;2;.5;r);tensor r  / 3.5 6\n9   12
t:tensor 2 2#1 2 3 4f;addr(t;1 2f;3 4f;2;.5;[]);tensor t  / 3.5 6\n9   12
addr(2 2#1 2 3 4f;1 2f;3 4f;`beta`alpha!(2;.5))  / 3.5 6\n9   12
addr(2 2#1 2 3 4f;1 2f;3 4f;`zz)  / 'addr: unexpected symbol scalar, expecting beta (number), alpha (number)
addr(2 2#1 2 3 4f;1 2f;3 4f;`zz`zy!1 2)  / 'addr option: zz not recognized, expecting beta, alpha
addr 1f  / 'addr: expecting 3 input(s), given 1
baddbmm(2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f)  / 2 0 0 6\n2 0 0 6
tensor baddbmm(tensor 2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f)  / 2 0 0 6\n2 0 0 6
r:tensor 0#0f;baddbmm(2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;r);tensor r  / 2 0 0 6\n2 0 0 6
t:tensor 2 2 2#1 0 0 2f;baddbmm(t;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;[]);tensor t  / 2 0 0 6\n2 0 0 6
baddbmm(2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;`zz)  / 'baddbmm: unexpected symbol scalar, expecting beta (number), alpha (number)
baddbmm 1f  / 'baddbmm: expecting 3 input(s), given 1
baddbmm(2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;0;2)  / 2 0 0 8\n2 0 0 8
baddbmm(2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;2 2 2#1 0 0 2f;`beta`alpha!(0;2))  / 2 0 0 8\n2 0 0 8
qr(2 2#2 0 0 4f;`zz)  / 'qr: qr received unrecognized mode 'zz' but expected one of 'reduced' (default), 'r', or 'complete'
{1e-9>max abs raze x-mmu/[qr x]}2 2#1 2 3 4f  / 1b
dim first tensor qr tensor 2 2#2 0 0 4f  / 2
r:tensor 0#0f;cholinverse(2 2#2 0 0 4f;r);0.0625=last last tensor r  / 1b
first lun lu 2 2#1 2 3 4f  / 0 1\n1 0
lun(lu 2 2#1 2 3 4f;0b;1b)  / (0 1f;1 0f)\n`float$()\n`float$()
v:lu tensor 2 2#1 2 3 4f;vector[lun v]1  / 1         0\n0.3333333 1
lun(2 2#4 2 2 5f;1 2i)  / 1 0 0 1\n1 0 2 1\n4 2 0 5
r:vector();lun(lu 2 2#1 2 3 4f;r);count vector r  / 3
lun(2 2#4 2 2 5f;0 9i)  / 'lun: pivots must be in the range 1-2 (given double 2x2, int list of 2)
lun(2 2#4 2 2 5f;1 2)  / 'lun: expecting pivots of type int (given double 2x2, long list of 2)
lun(2 2 2#4 2 2 5f;1 2i)  / 'lun: size of pivots, [2], does not fit that of matrices, [2, 2, 2]
lun(1 2f;1 2i)  / 'lun: expecting a matrix or matrices, given 1 dimension(s)
lun 1  / 'lun: expecting 2 input(s), given 1
lun(lu 2 2#1 2 3 4f;`data`pivots!(1b;0b))  / `float$()\n(1 0f;0.3333333 1)\n(3 4f;0 0.6666667)
first luunpack lu 2 2#1 2 3 4f  / 0 1\n1 0
luunpack(1;2)  / 'luunpack: expecting a matrix or matrices, given 0 dimension(s)
count luunpack lu 2 2#1 2 3 4f  / 3
luunpack(2 2#4 2 2 5f;0 0i)  / 'luunpack: pivots must be in the range 1-2 (given double 2x2, int list of 2)
lusolve(2 1#8 8f;lu 2 2#4 2 2 3f)  / 1\n2
tensor lusolve(tensor 2 1#8 8f;lu 2 2#4 2 2 3f)  / 1\n2
r:tensor 0#0f;lusolve(2 1#8 8f;lu 2 2#4 2 2 3f;r);tensor r  / 1\n2
lusolve(2 1#8 8f;lu 2 2#4 2 2 3f;1)  / 'lusolve: unexpected long scalar
lusolve(2 1#8 8f;2 2#1 0 0 1f;9 9i)  / 'lusolve: pivots must be in the range 1-2 (given double 2x1, double 2x2, int list of 2)
lusolve(1;2)  / 'lusolve: expecting 3 input(s), given 2
multidot(2 2#1 2 3 4f;2 2#0 1 1 0f;2 1#1 1f)  / 3\n7
tensor multidot vector(2 2#1 2 3 4f;2 1#1 1f)  / 3\n7
tensor multidot(tensor 2 2#1 2 3 4f;2 1#1 1f)  / 3\n7
multidot 1  / 'multidot: multi_dot(): expected at least 2 tensors but got 1
multidot()  / 'multidot: expecting tensors or arrays (given nothing)
eigvals 2 2#0n  / 'eigvals: the input has nulls or infinities (given double 2x2)
eig 2 2#0 0w 1 1f  / 'eig: the input has nulls or infinities (given double 2x2)
svd 2 2#0n  / 'svd: the input has nulls or infinities (given double 2x2)
eigh 3 3#0n  / 'eigh: the input has nulls or infinities (given double 3x3)
pinverse 2 2#0n  / 'pinverse: the input has nulls or infinities (given double 2x2)
lstsq(2 0#0f;2 1#0f;`gelss)  / 'lstsq: the matrix has no elements (given double 2x0, double 2x1, `gelss)
lstsq(3 1#1 1 1f;3 1#1 2 3f;0n)  / ,,2f\n`float$()\n1\n`float$()
power(2 2#1 1 1 0;-9223372036854775807)  / 'power: n is beyond 2147483647 (given long 2x2, long -0W)
power(2 2#1 1 1 0;1099511627776)  / 'power: n is beyond 2147483647 (given long 2x2, long 1099511627776)
power(2 2#1 1 1 0;0)  / 1 0\n0 1
mrank(2 2#1 0 0 1f;0n;0n)  / 2
det 2 2#0n  / 0n
solve(2 2#1 2 2 4f;1 2f)  / 'solve: torch.linalg.solve: The solver failed because the input matrix is singular (given double 2x2, double list of 2)
inverse 2 2#1 2 2 4f  / 'inverse: linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular (given double 2x2)
chol 2 2#1 2 2 1f  / 'chol: linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order 2 is not positive-definite) (given double 2x2)
addbmm(1;2 1 1#1 2;2 1 1#3 4;0)  / 11
addmm(1 2;2 2#1 2 3 4;2 2#0 1 1 0;2;3)  / 8  7\n14 13
t:tensor 2 2#1 1 1 1f;addmm(t;2 2#1 2 3 4f;2 2#0 1 1 0f;`beta,0;[]);tensor t  / 2 1\n4 3
mm(2 2#1 2 3 4;2 2#1.5)  / 'mm: expected m1 and m2 to have the same dtype, but got: long int != double
matmul(2 2#1 2 3 4;3#1)  / 'matmul: size mismatch, got input (2), mat (2x2), vec (3)
x:tensor(2 2#2 0 0 4f;`grad);backward det x;grad x  / 4 0\n0 2

cholinverse(2 2#2 0 0 4f;1b;2)  / 'cholinverse: unexpected long scalar
/ nulls and infinities have no least squares
lstsq(2 2#0n;2 2#1f)  / 'lstsq: the input has nulls or infinities (given double 2x2x2)
lstsq(2 2#1 0 0 1f;2 2#0w)  / 'lstsq: the input has nulls or infinities (given double 2x2x2)
/ an output of a call that fails keeps its size and values
o:tensor 7 8 9f;chol(2 2#0n;o)  / 'chol: linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order 1 is not positive-definite) (given double 2x2, double tensor 3)
o:tensor 7 8 9f;@[chol;(2 2#0n;o);0];tensor o  / 7 8 9f
o:vector(7 8f;9 9f);@[sort;(1 3 2f;5;o);0];tensor each(tensor(o;0);tensor(o;1))  / 7 8\n9 9
t:tensor 4 5;@[remainder;(t;tensor 2 0;[]);0];tensor t  / 4 5
