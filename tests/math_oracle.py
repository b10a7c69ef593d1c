"""What each math function of the k-api must give: name, inputs, options as name-value pairs, the call of torch.

An input is a letter: `f` floats of both signs, `p` positive, `u` between 0 and 1, `l` whole numbers, `k` positive ones,
`b` bits (3x4 all of them); `v` a list, `w` another, `V` one of 3, `i` a list of whole numbers, `j` indices; `m` a square
matrix, `s` one that is symmetric and positive, `t` a lower and `T` an upper triangle, `M` a batch of matrices, `N` a
batch to multiply with it, `c` complex numbers, `h` a complex half of a transform, `r` a 4x3 matrix, `1` a 3x1 matrix,
`x` a list that is all 0 or null in places, `d` 3 dimensions. Upper case in the call (X, Y) stands for nothing: the call
sees x, y, z and torch.
"""

POINTWISE = """
Abs|f||x.abs()
Acos|u||x.acos()
angle|f||x.angle()
Asin|u||x.asin()
Atan|f||x.atan()
bitwisenot|l||~x
ceil|f||x.ceil()
cosh|f||x.cosh()
Cos|f||x.cos()
digamma|p||x.digamma()
erf|f||x.erf()
erfc|f||x.erfc()
erfinv|u||x.erfinv()
Exp|f||x.exp()
expm1|f||x.expm1()
Floor|f||x.floor()
frac|f||x.frac()
lgamma|p||x.lgamma()
Log|p||x.log()
log10|p||x.log10()
log1p|p||x.log1p()
log2|p||x.log2()
Neg|f||-x
Not|l||x == 0
Reciprocal|p||1 / x
round|f||x.round()
rsqrt|p||x.rsqrt()
sgn|f||x.sgn()
sigmoid|f||x.sigmoid()
sign|f||x.sign()
Sin|f||x.sin()
sinh|f||x.sinh()
Sqrt|p||x.sqrt()
Tan|f||x.tan()
tanh|f||x.tanh()
trunc|f||x.trunc()
atan2|fp||torch.atan2(x, y)
Div|fp||x / y
fmod|fp||torch.fmod(x, y)
fpow|pf||x.double() ** y.double()
mul|fp||x * y
mul|lk||x * y
pow|pf||x ** y
remainder|fp||torch.remainder(x, y)
xor|bb||torch.logical_xor(x, y)
add|fp||x + y
add|fp|alpha=3|x + 3 * y
addcdiv|ffp||x + y / z
addcdiv|ffp|value=.5|x + .5 * y / z
addcmul|fff|value=2|x + 2 * y * z
mvlgamma|k|p=1|torch.mvlgamma(x, 1)
"""

COMPARE = """
eq|ll||x == y
ge|ll||x >= y
gt|ff||x > y
le|ff||x <= y
lt|lk||x < y
ne|ll||x != y
finite|x||torch.isfinite(x)
inf|x||torch.isinf(x)
nan|x||torch.isnan(x)
neginf|x||torch.isneginf(x)
posinf|x||torch.isposinf(x)
allclose|ff||True
allclose|fp|rtol=.001 atol=.001 equal_nan=1b|False
close|fp|rtol=.5 atol=.5|torch.isclose(x, y, .5, .5)
close|xx|equal_nan=1b|torch.isclose(x, y, equal_nan=True)
equal|ff||True
equal|fp||False
fmax|xx||torch.fmax(x, y)
fmin|fp||torch.fmin(x, y)
maximum|xx||torch.maximum(x, y)
minimum|lk||torch.minimum(x, y)
sort|f||torch.sort(x, stable=False)
sort|f|dim=0 descending=1b stable=1b|torch.sort(x, dim=0, descending=True, stable=True)
msort|f||torch.msort(x)
argsort|f||torch.argsort(x)
argsort|f|dim=0 descending=1b|torch.argsort(x, 0, True)
topk|f|k=2|torch.topk(x, 2)
topk|f|k=2 dim=0 largest=0b sorted=1b|torch.topk(x, 2, 0, False, True)
kthvalue|f|k=2|torch.kthvalue(x, 2)
kthvalue|f|k=3 dim=0 keepdim=1b|torch.kthvalue(x, 3, 0, True)
In|lk||torch.isin(x, y)
In|lk|assume_unique=0b invert=1b|torch.isin(x, y, invert=True)
"""

REDUCE = """
All|b||x.all()
All|b|dim=0 keepdim=1b|x.all(0, True)
Any|b||x.any()
Any|b|dim=1 keepdim=0b|x.any(1)
amax|f||x.amax()
amax|f|dim=1 keepdim=1b|x.amax(1, True)
amin|f|dim=0|x.amin(0)
aminmax|f||torch.stack(torch.aminmax(x))
aminmax|f|dim=1 keepdim=1b|torch.aminmax(x, dim=1, keepdim=True)
argmax|f||x.argmax()
argmax|f|dim=1 keepdim=1b|x.argmax(1, True)
argmin|f|dim=0|x.argmin(0)
Max|f||x.max()
Max|f|dim=1 keepdim=1b|x.max(1, True)
Min|f||x.min()
Min|f|dim=0|x.min(0)
mean|f||x.mean()
mean|f|dim=0 keepdim=1b dtype=`float|x.mean(0, True, dtype=torch.float32)
nanmean|x||x.nanmean()
nanmean|f|dim=1|x.nanmean(1)
median|f||x.median()
median|f|dim=1 keepdim=1b|x.median(1, True)
nanmedian|f||x.nanmedian()
nanmedian|f|dim=0|x.nanmedian(0)
mode|l||x.mode()
mode|l|dim=0 keepdim=1b|x.mode(0, True)
std|f||x.std()
std|f|dim=1 unbiased=0b keepdim=1b|x.std(1, False, True)
variance|f||x.var()
variance|f|dim=0 unbiased=1b|x.var(0)
meanstd|f||torch.stack((x.mean(), x.std()))
meanvar|f|dim=1|torch.stack((x.mean(1), x.var(1)))
prod|f||x.prod()
prod|f|dim=1 keepdim=1b dtype=`float|x.prod(1, True, dtype=torch.float32)
Sum|l||x.sum()
Sum|f|dim=0 keepdim=1b dtype=`float|x.sum(0, True, dtype=torch.float32)
nansum|f||x.nansum()
nansum|f|dim=1|x.nansum(1)
unique|i||torch.unique(x)
unique|l|dim=0 sort=1b indices=1b counts=1b|torch.unique(x, True, True, True, 0)
uniquec|i||torch.unique_consecutive(x)
uniquec|i|dim=0 indices=1b counts=1b|torch.unique_consecutive(x, True, True, 0)
dist|fp||torch.dist(x, y)
dist|fp|p=1|torch.dist(x, y, 1)
logsumexp|f|dim=1|x.logsumexp(1)
logsumexp|f|dim=0 keepdim=1b|x.logsumexp(0, True)
fnorm|f||torch.linalg.matrix_norm(x)
fnorm|M|dim=(0;1) keepdim=1b dtype=`double|torch.linalg.matrix_norm(x, 'fro', (0, 1), True)
nnorm|m||torch.linalg.matrix_norm(x, 'nuc')
mnorm|f|ord=1f|torch.linalg.matrix_norm(x, 1)
mnorm|m|ord=-2f dim=(0;1) keepdim=1b|torch.linalg.matrix_norm(x, -2, (0, 1), True)
vnorm|f||torch.linalg.vector_norm(x)
vnorm|f|ord=3f dim=1 keepdim=1b|torch.linalg.vector_norm(x, 3, 1, True)
"""

SPECTRAL = """
fft|v||torch.fft.fft(x)
fft|f|size=3 dim=0 norm=`forward|torch.fft.fft(x, 3, 0, 'forward')
ifft|c||torch.fft.ifft(x)
ifft|c|size=5 dim=-1 norm=`ortho|torch.fft.ifft(x, 5, -1, 'ortho')
rfft|v||torch.fft.rfft(x)
rfft|f|size=6 dim=1 norm=`ortho|torch.fft.rfft(x, 6, 1, 'ortho')
irfft|h||torch.fft.irfft(x)
irfft|h|size=5 norm=`forward|torch.fft.irfft(x, 5, norm='forward')
hfft|h||torch.fft.hfft(x)
hfft|h|size=7|torch.fft.hfft(x, 7)
ihfft|v||torch.fft.ihfft(x)
ihfft|f|size=4 dim=0|torch.fft.ihfft(x, 4, 0)
fft2|f||torch.fft.fft2(x)
fft2|d|size=(2;3) dim=(0;1) norm=`ortho|torch.fft.fft2(x, (2, 3), (0, 1), 'ortho')
ifft2|f||torch.fft.ifft2(x)
rfft2|f||torch.fft.rfft2(x)
rfft2|f|size=(2;3)|torch.fft.rfft2(x, (2, 3))
irfft2|f||torch.fft.irfft2(x)
hfft2|f||torch.fft.hfft2(x)
ihfft2|f||torch.fft.ihfft2(x)
fftn|d||torch.fft.fftn(x)
fftn|d|size=(2;2) dim=(0;2)|torch.fft.fftn(x, (2, 2), (0, 2))
ifftn|d||torch.fft.ifftn(x)
rfftn|d||torch.fft.rfftn(x)
irfftn|f||torch.fft.irfftn(x)
irfftn|f|size=(3;7) norm=`forward|torch.fft.irfftn(x, (3, 7), norm='forward')
hfftn|f||torch.fft.hfftn(x)
ihfftn|d||torch.fft.ihfftn(x)
fftfreq||length=6|torch.fft.fftfreq(6)
fftfreq||length=5 scale=2. options=`double|torch.fft.fftfreq(5, 2., dtype=torch.float64)
rfftfreq||length=6 scale=.5|torch.fft.rfftfreq(6, .5)
fftshift|f||torch.fft.fftshift(x)
fftshift|f|dim=1|torch.fft.fftshift(x, 1)
ifftshift|f||torch.fft.ifftshift(x)
ifftshift|d|dim=(0;2)|torch.fft.ifftshift(x, (0, 2))
bartlett||length=7|torch.bartlett_window(7)
bartlett||length=7 periodic=0b options=`double|torch.bartlett_window(7, False, dtype=torch.float64)
blackman||length=7 periodic=0b|torch.blackman_window(7, False)
hann||length=7 options=`double|torch.hann_window(7, dtype=torch.float64)
hamming||length=7 periodic=1b alpha=.5 beta=.25|torch.hamming_window(7, True, .5, .25)
kaiser||length=7 periodic=0b beta=3|torch.kaiser_window(7, False, 3.)
"""

LINALG = """
det|m||torch.linalg.det(x)
det|M||torch.linalg.det(x)
logdet|s||torch.logdet(x)
slogdet|m||tuple(torch.linalg.slogdet(x))
mrank|f||torch.linalg.matrix_rank(x)
mrank|s|atol=.5 rtol=.1 hermitian=1b|torch.linalg.matrix_rank(x, atol=.5, rtol=.1, hermitian=True)
chol|s||torch.linalg.cholesky(x)
chol|s|upper=1b|torch.linalg.cholesky(x, upper=True)
cholx|s|upper=1b check=0b|tuple(torch.linalg.cholesky_ex(x, upper=True))
eig|m||tuple(torch.linalg.eig(x))
eigvals|m||torch.linalg.eigvals(x)
eigh|s||tuple(torch.linalg.eigh(x))
eigh|m|upper=1b|tuple(torch.linalg.eigh(x, UPLO='U'))
eigvalsh|s|upper=1b|torch.linalg.eigvalsh(x, UPLO='U')
eigvalsh|M||torch.linalg.eigvalsh(x)
qr|f||tuple(torch.linalg.qr(x))
qr|r|mode=`complete|tuple(torch.linalg.qr(x, mode='complete'))
lu|m||tuple(torch.linalg.lu_factor(x))
lux|m|pivot=1b check=1b|tuple(torch.linalg.lu_factor_ex(x, check_errors=True))
svd|f||tuple(torch.linalg.svd(x))
svd|f|full=0b|tuple(torch.linalg.svd(x, False))
svdvals|f||torch.linalg.svdvals(x)
solve|mr3||torch.linalg.solve(x, y)
solve|mm|left=0b|torch.linalg.solve(x, y, left=False)
trisolve|Tr3|upper=1b|torch.linalg.solve_triangular(x, y, upper=True)
trisolve|tm|upper=0b left=0b unitriangular=1b|torch.linalg.solve_triangular(x, y, upper=False, left=False, unitriangular=True)
cholsolve|r3t||torch.cholesky_solve(x, y)
cholsolve|r3T|upper=1b|torch.cholesky_solve(x, y, upper=True)
lstsq|rr||tuple(torch.linalg.lstsq(x, y))
lstsq|rr|rcond=.01 method=`gelsd|tuple(torch.linalg.lstsq(x, y, rcond=.01, driver='gelsd'))
inverse|m||torch.linalg.inv(x)
inverse|M||torch.linalg.inv(x)
pinverse|f||torch.linalg.pinv(x)
pinverse|s|atol=.1 rtol=.1 hermitian=1b|torch.linalg.pinv(x, atol=.1, rtol=.1, hermitian=True)
cholinverse|t||torch.cholesky_inverse(x)
cholinverse|T|upper=1b|torch.cholesky_inverse(x, upper=True)
power|m|n=3|x @ x @ x
power|m|n=-1|torch.linalg.inv(x)
bmm|MN||torch.bmm(x, y)
Cross|VV||torch.linalg.cross(x, y)
Cross|mm|dim=0|torch.linalg.cross(x, y, dim=0)
dot|vw||x @ y
householder|r1V||torch.linalg.householder_product(x, y)
matmul|MN||x @ y
matmul|fr||x @ y
mm|fr||x @ y
mmt|ff||x @ y.T
mtm|rr||x.T @ y
mv|mV||x @ y
outer|vw||torch.outer(x, y)
addbmm|mMM||torch.addbmm(x, y, z)
addbmm|mMM|beta=2 alpha=.5|torch.addbmm(x, y, z, beta=2, alpha=.5)
addmm|mmm||x + y @ z
addmm|mmm|beta=2 alpha=.5|2 * x + .5 * (y @ z)
addmv|VmV|beta=2 alpha=.5|2 * x + .5 * (y @ z)
addr|mVV|beta=2 alpha=.5|2 * x + .5 * torch.outer(y, z)
baddbmm|MMM||x + y @ z
baddbmm|MMM|beta=0 alpha=2|2 * (y @ z)
"""

OTHER = """
bincount|n||torch.bincount(x)
bincount|n|bins=20|torch.bincount(x, minlength=20)
cumprod|f||x.cumprod(-1)
cumprod|f|dim=0 dtype=`float|x.cumprod(0, dtype=torch.float32)
cumsum|l||x.cumsum(-1)
cumsum|f|dim=0 dtype=`float|x.cumsum(0, dtype=torch.float32)
diag|v||torch.diag(x)
diag|f|offset=1|torch.diag(x, 1)
diagflat|v|offset=-2|torch.diagflat(x, -2)
diagonal|f||x.diagonal()
diagonal|d|offset=1 dim1=1 dim2=2|x.diagonal(1, 1, 2)
flatten|d||x.flatten()
flatten|d|start=1 end=2|x.flatten(1, 2)
Flip|d|dims=(0;2)|x.flip(0, 2)
histc|v|bins=5 low=-1 high=1|torch.histc(x, 5, -1, 1)
renorm|f|p=2 dim=0 maxnorm=1.5|torch.renorm(x, 2, 0, 1.5)
roll|f|shifts=2|torch.roll(x, 2)
roll|f|shifts=(1;-1) dims=(0;1)|torch.roll(x, (1, -1), (0, 1))
tensordot|fr|dim=1|torch.tensordot(x, y, 1)
tensordot|ff|dim=(0;1) dim2=(0;1)|torch.tensordot(x, y, ((0, 1), (0, 1)))
trace|m||x.trace()
tril|f||x.tril()
tril|M|offset=-1|x.tril(-1)
triu|f|offset=1|x.triu(1)
"""

EXTRA = """
Where|bff||torch.where(x, y, z)
takealong|fj|dim=1|torch.take_along_dim(x, y, 1)
take|fa||torch.take(x, y)
maskedselect|fb||x[y]
maskedfill|fb|value=9.|x.masked_fill(y, 9.)
maskedscatter|fbp||x.masked_scatter(y, z)
nonzero|l||torch.nonzero(x)
countnonzero|l||torch.count_nonzero(x)
countnonzero|l|dim=0|torch.count_nonzero(x, 0)
zeroslike|l||torch.zeros_like(x)
oneslike|l||torch.ones_like(x)
fulllike|l|value=2|torch.full_like(x, 2)
split|v|size=4|torch.split(x, 4)
split|f|size=(1;3) dim=1|torch.split(x, [1, 3], 1)
chunk|v|chunks=3|torch.chunk(x, 3)
chunk|f|chunks=2 dim=1|torch.chunk(x, 2, 1)
tensorsplit|v|places=4|torch.tensor_split(x, 4)
tensorsplit|f|places=(1;2) dim=1|torch.tensor_split(x, [1, 2], 1)
unbind|f||torch.unbind(x)
unbind|f|dim=1|torch.unbind(x, 1)
repeat|f|times=(2;1;2)|x.repeat(2, 1, 2)
tile|v|times=2|x.tile(2)
repeatitems|vn6||torch.repeat_interleave(x, y)
repeatitems|fn3|dim=0|torch.repeat_interleave(x, y, 0)
rot90|f||torch.rot90(x)
rot90|d|k=3 dims=(1;2)|torch.rot90(x, 3, (1, 2))
movedim|d|source=(0;1) destination=(1;2)|torch.movedim(x, (0, 1), (1, 2))
unflatten|v|dim=0 sizes=(2;3)|x.unflatten(0, (2, 3))
searchsorted|ov||torch.searchsorted(x, y)
searchsorted|ov|right=1b|torch.searchsorted(x, y, right=True)
bucketize|vo||torch.bucketize(x, y)
bucketize|vo|right=1b|torch.bucketize(x, y, right=True)
quantile|fq||torch.quantile(x, y)
quantile|fq|dim=1 keepdim=1b interpolation=`lower|torch.quantile(x, y, 1, True, interpolation='lower')
nanquantile|xq||torch.nanquantile(x, y)
nanquantile|fq|dim=0|torch.nanquantile(x, y, 0)
cummax|f||tuple(torch.cummax(x, -1))
cummax|f|dim=0|tuple(torch.cummax(x, 0))
cummin|f||tuple(torch.cummin(x, -1))
logcumsumexp|f|dim=0|torch.logcumsumexp(x, 0)
cdist|fp||torch.cdist(x, y)
cdist|fp|p=1|torch.cdist(x, y, 1.)
trapezoid|f|dim=0|torch.trapezoid(x, dim=0)
Diff|f||torch.diff(x)
Diff|f|n=2 dim=0|torch.diff(x, 2, 0)
Cov|f||torch.cov(x)
Cov|f|correction=0|torch.cov(x, correction=0)
corrcoef|f||torch.corrcoef(x)
kron|fm||torch.kron(x, y)
vander|v||torch.vander(x)
vander|v|n=3 increasing=1b|torch.vander(x, 3, True)
matrixexp|m||torch.matrix_exp(x)
cond|m||torch.linalg.cond(x)
sub|fp||x - y
sub|fp|alpha=2|x - 2 * y
bitwiseand|lk||x & y
bitwiseor|lk||x | y
bitwisexor|lk||x ^ y
leftshift|lk||x << y
rightshift|lk||x >> y
logicaland|lb||torch.logical_and(x, y)
logicalor|bb||torch.logical_or(x, y)
floordiv|fp||torch.floor_divide(x, y)
floordiv|lk||torch.floor_divide(x, y)
copysign|pf||torch.copysign(x, y)
nextafter|fp||torch.nextafter(x, y)
hypot|fp||torch.hypot(x, y)
gcd|lk||torch.gcd(x, y)
lcm|lk||torch.lcm(x, y)
heaviside|fp||torch.heaviside(x, y)
logaddexp|fp||torch.logaddexp(x, y)
xlogy|fp||torch.xlogy(x, y)
square|f||x * x
exp2|f||x.exp2()
asinh|f||x.asinh()
acosh|k1||x.acosh()
atanh|u||x.atanh()
sinc|f||x.sinc()
deg2rad|f||x.deg2rad()
rad2deg|f||x.rad2deg()
signbit|f||x.signbit()
logit|u||x.logit()
logit|u|eps=.3|x.logit(.3)
nantonum|x||x.nan_to_num()
nantonum|x|nan=7 posinf=8 neginf=9|x.nan_to_num(7, 8, 9)
"""

# calls that the tables above cannot say: a q expression of the inputs as handles, and torch's
OTHERS = """
clamp|f|clamp(x;-1;0N)|x.clamp(-1)
clamp|f|clamp(x;-.5;.5)|x.clamp(-.5, .5)
lerp|fp|lerp(x;y;.25)|torch.lerp(x, y, .25)
lerp|fpu|lerp(x;y;z)|torch.lerp(x, y, z)
lun|m|lun lu x|torch.lu_unpack(*torch.linalg.lu_factor(x))
luunpack|M|luunpack lu x|torch.lu_unpack(*torch.linalg.lu_factor(x))
lun|m|vector[lun(lu x;1b;0b)]2|torch.lu_unpack(*torch.linalg.lu_factor(x))[2]
lusolve|r3m|lusolve(x;lu y)|torch.linalg.solve(y, x)
multidot|rfr|multidot(x;y;z)|x @ y @ z
bincount|nw9|bincount(x;y)|torch.bincount(x, y)
bincount|nw9|bincount(x;y;20)|torch.bincount(x, y, 20)
trapezoid|ff|trapezoid(x;y)|torch.trapezoid(x, y)
gather|fj|gather(x;1;y)|torch.gather(x, 1, y)
scatter|fjp|scatter(x;1;y;z)|torch.scatter(x, 1, y, z[:, :2])
scatteradd|fjp|scatteradd(x;1;y;z)|torch.scatter_add(x, 1, y, z[:, :2])
indexadd|fep|indexadd(x;0;y;z)|torch.index_add(x, 0, y, z)
indexadd|fep|indexadd(x;0;y;z;2.)|torch.index_add(x, 0, y, z, alpha=2.)
indexcopy|fep|indexcopy(x;0;y;z)|torch.index_copy(x, 0, y, z)
indexfill|fe|indexfill(x;0;y;9.)|torch.index_fill(x, 0, y, 9.)
einsum|fr|einsum("ij,jk->ik";x;y)|torch.einsum("ij,jk->ik", x, y)
einsum|m|einsum("ii";x)|torch.einsum("ii", x)
hstack|ff|hstack(x;y)|torch.hstack((x, y))
vstack|ff|vstack(x;y)|torch.vstack((x, y))
dstack|ff|dstack(x;y)|torch.dstack((x, y))
blockdiag|fm|blockdiag(x;y)|torch.block_diag(x, y)
meshgrid|vw|meshgrid(x;y)|torch.meshgrid(x, y, indexing="ij")
cartesian|vw|cartesian(x;y)|torch.cartesian_prod(x, y)
"""

TABLES = {"pointwise": POINTWISE, "compare": COMPARE, "reduce": REDUCE, "spectral": SPECTRAL, "linalg": LINALG,
          "othermath": OTHER, "extra": EXTRA}
