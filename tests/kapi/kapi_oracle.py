"""What functions of the k-api beside the math ones must give, as calls of torch or plain calculations.

FUNCTIONS: name, options in q, the calculation of x, y, z, inputs: f floats of both signs, u between 0 and 1, n whole
numbers below the first argument, each of the shape that follows. Each runs with tensors and with arrays, by position
and, where the function has a module type's options, by name; gradients where the inputs are floats.

CALLS: q text, inputs, the calculation of what it gives.
"""

FUNCTIONS = """
celu||F.celu(x)|f(4, 3)
celu|2f|F.celu(x, 2.)|f(4, 3)
elu|.5|F.elu(x, .5)|f(4, 3)
gelu||F.gelu(x)|f(4, 3)
glu||F.glu(x)|f(4, 6)
glu|0|F.glu(x, 0)|f(4, 6)
hardshrink|.7|F.hardshrink(x, .7)|f(4, 3)
hardtanh|-.5;.7|F.hardtanh(x, -.5, .7)|f(4, 3)
leakyrelu||F.leaky_relu(x)|f(4, 3)
leakyrelu|.3|F.leaky_relu(x, .3)|f(4, 3)
logsigmoid||F.logsigmoid(x)|f(4, 3)
mish||F.mish(x)|f(4, 3)
relu||F.relu(x)|f(4, 3)
relu6||F.relu6(x)|f(4, 3) * 5
rrelu||F.rrelu(x)|f(4, 3)
rrelu|.2;.8|F.rrelu(x, .2, .8)|f(4, 3)
selu||F.selu(x)|f(4, 3)
silu||F.silu(x)|f(4, 3)
softplus||F.softplus(x)|f(4, 3)
softplus|2f;1f|F.softplus(x, 2., 1.)|f(4, 3)
softshrink|.7|F.softshrink(x, .7)|f(4, 3)
softsign||F.softsign(x)|f(4, 3)
tanhshrink||F.tanhshrink(x)|f(4, 3)
threshold|.5;9f|F.threshold(x, .5, 9.)|f(4, 3)
adaptavg1d|3|F.adaptive_avg_pool1d(x, 3)|f(2, 3, 7)
adaptavg2d|3 2|F.adaptive_avg_pool2d(x, (3, 2))|f(2, 3, 7, 5)
adaptavg3d|2|F.adaptive_avg_pool3d(x, 2)|f(2, 3, 4, 5, 4)
adaptmax1d|3|F.adaptive_max_pool1d(x, 3)|f(2, 3, 7)
adaptmax2d|3 2|F.adaptive_max_pool2d(x, (3, 2))|f(2, 3, 7, 5)
adaptmax3d|2|F.adaptive_max_pool3d(x, 2)|f(2, 3, 4, 5, 4)
avgpool1d|3;2;1;1b;0b|F.avg_pool1d(x, 3, 2, 1, True, False)|f(2, 3, 8)
avgpool2d|3 2|F.avg_pool2d(x, (3, 2))|f(2, 3, 7, 5)
avgpool2d|2;1;1;0b;1b;3|F.avg_pool2d(x, 2, 1, 1, False, True, 3)|f(2, 3, 7, 5)
avgpool3d|2|F.avg_pool3d(x, 2)|f(2, 3, 4, 5, 4)
maxpool1d|3;2;1;1;1b|F.max_pool1d(x, 3, 2, 1, 1, True)|f(2, 3, 8)
maxpool2d|2 3|F.max_pool2d(x, (2, 3))|f(2, 3, 7, 6)
maxpool3d|2;1|F.max_pool3d(x, 2, 1)|f(2, 3, 4, 5, 4)
lppool1d|2f;3|F.lp_pool1d(x, 2., 3)|u(2, 3, 8)
lppool2d|3f;2;1|F.lp_pool2d(x, 3., 2, 1)|u(2, 3, 5, 6)
fmaxpool2d|2;3|F.fractional_max_pool2d(x, 2, 3)|f(2, 3, 7, 6)
fmaxpool3d|2;2|F.fractional_max_pool3d(x, 2, 2)|f(2, 3, 5, 5, 5)
fold|4 5;2|F.fold(x, (4, 5), 2)|f(2, 8, 12)
fold|4 5;2;1;1;2|F.fold(x, (4, 5), 2, 1, 1, 2)|f(2, 8, 9)
unfold|2|F.unfold(x, 2)|f(2, 3, 4, 5)
unfold|2;2;1;2|F.unfold(x, 2, 2, 1, 2)|f(2, 3, 4, 5)
onehot|5|F.one_hot(x, 5).float()|n(5, 2, 3)
onehot||F.one_hot(x).float()|n(5, 2, 3)
onehot|5;`long|F.one_hot(x, 5)|n(5, 2, 3)
pad|1 2|F.pad(x, (1, 2))|f(3, 4)
pad|1 2 0 1;`constant;5f|F.pad(x, (1, 2, 0, 1), "constant", 5.)|f(3, 4)
pad|1 2;`reflect|F.pad(x, (1, 2), "reflect")|f(2, 3, 4)
pad|1 2;`circular|F.pad(x, (1, 2), "circular")|f(2, 3, 4)
pairwise||F.pairwise_distance(x, y)|f(4, 3) f(4, 3)
pairwise|1f;.1;1b|F.pairwise_distance(x, y, 1., .1, True)|f(4, 3) f(4, 3)
similar||F.cosine_similarity(x, y)|f(4, 3) f(4, 3)
similar|0;.1|F.cosine_similarity(x, y, 0, .1)|f(4, 3) f(4, 3)
zscore|.5;.25|(x - .5) / .25|f(4, 3)
zscore|.5 1f;.25 2|(x - torch.tensor([.5, 1.]).view(2, 1, 1).double()) / torch.tensor([.25, 2]).view(2, 1, 1)|f(4, 2, 3, 3)
randomcrop|3|x|f(2, 3, 3)
randomflip|1f|x.flip(-1)|f(2, 3, 3)
softmax||F.softmax(x, 1)|f(4, 3)
softmax|0|F.softmax(x, 0)|f(4, 3)
softmax|1;`float|F.softmax(x, 1, dtype=torch.float32)|f(4, 3)
softmin|1|F.softmin(x, 1)|f(4, 3)
logsoftmax|0|F.log_softmax(x, 0)|f(4, 3)
prelu||F.prelu(x, y)|f(4, 3) u(3)
prelu||F.prelu(x, y)|f(4, 3) u(1)
linear||F.linear(x, y)|f(4, 3) f(2, 3)
linear||F.linear(x, y, z)|f(4, 3) f(2, 3) f(2)
bilinear||F.bilinear(x, y, z)|f(4, 3) f(4, 2) f(5, 3, 2)
normalize||F.normalize(x)|f(4, 3)
normalize|1f;0;.1|F.normalize(x, 1., 0, .1)|f(4, 3)
pdist||F.pdist(x)|f(4, 3)
pdist|1f|F.pdist(x, 1.)|f(4, 3)
interpolate|8|F.interpolate(x, 8)|f(2, 3, 5)
interpolate|();2f;`linear;1b|F.interpolate(x, None, 2., "linear", True)|f(2, 3, 5)
interpolate|7 8;();`bilinear|F.interpolate(x, (7, 8), None, "bilinear")|f(2, 3, 5, 4)
interpolate|();1.5 2;`bicubic;0b;1b|F.interpolate(x, None, (1.5, 2.), "bicubic", False, True)|f(2, 3, 5, 4)
interpolate|();2f;`trilinear|F.interpolate(x, None, 2., "trilinear")|f(2, 3, 3, 3, 3)
interpolate|();2f;`nearestexact|F.interpolate(x, None, 2., "nearest-exact")|f(2, 3, 5)
"""

CALLS = """
tensor(`arange;5)||torch.arange(5)
tensor(`arange;2;9;3)||torch.arange(2, 9, 3)
tensor(`arange;0;1;.25;`double)||torch.arange(0, 1, .25, dtype=torch.float64)
tensor(`range;0;5;`float)||torch.arange(0, 6).float()
tensor(`empty;3 4)||torch.empty(3, 4) * 0
tensor(`eye;3;`double)||torch.eye(3, dtype=torch.float64)
tensor(`eye;3;4;`long)||torch.eye(3, 4, dtype=torch.int64)
tensor(`full;2 3;7f;`float)||torch.full((2, 3), 7.)
tensor(`full;2 3;1b)||torch.full((2, 3), True)
tensor(`linspace;0;1;5;`double)||torch.linspace(0, 1, 5, dtype=torch.float64)
tensor(`logspace;0;2;5;`float)||torch.logspace(0, 2, 5)
tensor(`ones;2 3 4;`short)||torch.ones(2, 3, 4, dtype=torch.int16)
tensor(`zeros;3;`half)||torch.zeros(3, dtype=torch.float16)
tensor(`rand;3 4;`float)||torch.rand(3, 4)
tensor(`randn;3 4;`double)||torch.randn(3, 4, dtype=torch.float64)
tensor(`randint;9;3 4)||torch.randint(9, (3, 4))
tensor(`randint;-5;9;3 4;`int)||torch.randint(-5, 9, (3, 4), dtype=torch.int32)
tensor(`randperm;9)||torch.randperm(9)
tensor(`complex;1 2e;3 4e)||torch.complex(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
tensor(`sparse;(0 1;1 0);5 6f)||torch.sparse_coo_tensor([[0, 1], [1, 0]], torch.tensor([5., 6.], dtype=torch.float64))
tensor(`sparse;(0 1;1 0);5 6e;2 3)||torch.sparse_coo_tensor([[0, 1], [1, 0]], torch.tensor([5., 6.]), (2, 3))
tensor 1 2 3||torch.tensor([1, 2, 3])
tensor 1 2 3e||torch.tensor([1., 2., 3.])
tensor 1 2 3f||torch.tensor([1., 2., 3.], dtype=torch.float64)
tensor 1 2 3i||torch.tensor([1, 2, 3], dtype=torch.int32)
tensor 1 2 3h||torch.tensor([1, 2, 3], dtype=torch.int16)
tensor 101b||torch.tensor([True, False, True])
tensor 0x01ff||torch.tensor([1, 255], dtype=torch.uint8)
tensor"ab"||torch.tensor([97, 98], dtype=torch.int8)
tensor 5||torch.tensor(5)
tensor 0n||torch.tensor(float("nan"), dtype=torch.float64)
tensor 0N 0W -0W||torch.tensor([-2 ** 63, 2 ** 63 - 1, -2 ** 63 + 1])
tensor(2 3#til 6;`double)||torch.arange(6).view(2, 3).double()
tensor(1 2f;`half)||torch.tensor([1., 2.], dtype=torch.float16)
tensor(1 2f;`cdouble)||torch.tensor([1, 2], dtype=torch.complex128)
tensor 2 3 4#til 24||torch.arange(24).view(2, 3, 4)
tensor(x;1)|f(3, 4)|x[1]
tensor(x;2 0)|f(3, 4)|x[[2, 0]]
tensor(x;1;3)|f(3, 4)|x[:, 3]
tensor(x;-1;2 0)|f(3, 4)|x[:, [2, 0]]
reshape(x;2 6)|f(3, 4)|x.reshape(2, 6)
reshape(x;-1)|f(3, 4)|x.reshape(-1)
reshape(x;y)|f(3, 4) f(6, 2)|x.reshape(6, 2)
View(x;4 -1)|f(3, 4)|x.view(4, 3)
View(x;y)|f(3, 4) f(6, 2)|x.view(6, 2)
expand(x;3 2 4)|f(2, 1)|x.expand(3, 2, 4)
expand(x;-1 4)|f(2, 1)|x.expand(2, 4)
expand(x;y)|f(2, 1) f(2, 5)|x.expand(2, 5)
[t:tensor tensor x;resize(t;2 2);t]|f(3, 4)|x.reshape(-1)[:4].view(2, 2)
[t:tensor tensor x;resize(t;y);t]|f(3, 4) f(2, 6)|x.view(2, 6)
transpose x|f(3, 4)|x.t()
transpose(x;0;2)|f(3, 4, 2)|x.transpose(0, 2)
transpose(x;-1;1)|f(3, 4, 2)|x.transpose(-1, 1)
permute(x;2 0 1)|f(3, 4, 2)|x.permute(2, 0, 1)
squeeze x|f(1, 3, 1)|x.squeeze()
squeeze(x;0)|f(1, 3, 1)|x.squeeze(0)
[t:tensor tensor x;squeeze(t;1b);t]|f(1, 3, 1)|x.squeeze()
unsqueeze(x;1)|f(3, 4)|x.unsqueeze(1)
unsqueeze(x;-1)|f(3, 4)|x.unsqueeze(-1)
[t:tensor tensor x;unsqueeze(t;0;1b);t]|f(3, 4)|x.unsqueeze(0)
narrow(x;1;1;2)|f(3, 4)|x.narrow(1, 1, 2)
narrow(x;-2;0;1)|f(3, 4)|x.narrow(-2, 0, 1)
index(x;1;2)|f(3, 4)|x[:, 2]
index(x;0;2 0 2)|f(3, 4)|x[[2, 0, 2]]
cat(x;y)|f(3, 4) f(2, 4)|torch.cat((x, y))
cat((x;y);1)|f(3, 4) f(3, 2)|torch.cat((x, y), 1)
cat vector(x;y)|f(3, 4) f(2, 4)|torch.cat((x, y))
[t:tensor(`empty;0;`double);cat((x;y);-1;t);t]|f(3, 4) f(3, 2)|torch.cat((x, y), -1)
stack(x;y)|f(3, 4) f(3, 4)|torch.stack((x, y))
stack((x;y);-1)|f(3, 4) f(3, 4)|torch.stack((x, y), -1)
stack vector(x;y)|f(3, 4) f(3, 4)|torch.stack((x, y))
[t:tensor tensor x;amend(t;y);t]|f(3, 4) f(3, 4)|y
[t:tensor tensor x;amend(t;0f);t]|f(3, 4)|x * 0
[t:tensor tensor x;reset(t;2;2 3);t]|f(3, 4)|x.reshape(-1)[2:8].view(2, 3)
[t:tensor tensor x;reset(t;1;2 3;1 4);t]|f(3, 4)|torch.as_strided(x, (2, 3), (1, 4), 1)
sparse x|b(3, 4)|x.to_sparse()
sparse(x;1)|b(3, 4)|x.to_sparse(1)
sparse(x;y)|f(3, 4) torch.eye(3, 4).to_sparse().double()|(x * torch.eye(3, 4)).to_sparse()
dense sparse x|b(3, 4)|x
indices enlist sparse x|b(3, 4)|x.to_sparse().indices()
values enlist sparse x|b(3, 4)|x.to_sparse().values()
sparseindex x|b(3, 4)|x.nonzero().t()
[t:tensor(`sparse;(0 0;1 1);5 6f);coalesce t;t]||torch.sparse_coo_tensor([[0], [1]], torch.tensor([11.], dtype=torch.float64))
real enlist x|c(3, 4)|x.real
imag enlist x|c(3, 4)|x.imag
isreal enlist x|c(3, 4)|torch.isreal(x)
copyto(x;`float)|f(3, 4)|x.float()
copyto(x;`long)|f(3, 4)|x.long()
copyto(x;y)|f(3, 4) torch.zeros(2).half()|x.half()
[t:tensor tensor x;to(t;`float);t]|f(3, 4)|x.float()
detach x|f(3, 4)|x
makegrid(x;2;2;1;7f)|f(3, 2, 2, 3)|grid(x, 2, 2, 1, 7.)
makegrid(x;1;3;0)|f(3, 2, 2, 3)|torch.cat(list(x), 2)
dim x|f(3, 4)|2
numel x|f(3, 4)|12
elements x|f(3, 4)|12
itemsize x|torch.ones(2).half()|2
bytes x|f(3, 4)|96
offset narrow(x;0;1;2)|f(3, 4)|4
size x|f(3, 4)|[3, 4]
stride x|f(3, 4).t()|[1, 4]
stride x|f(2, 3, 4)|[12, 4, 1]
dtype x|torch.ones(2).half()|"half"
dtype x|c(2)|"cdouble"
ktype x|f(3)|"f"
layout x|f(3)|"strided"
layout sparse x|b(3, 4)|"sparse"
gradient x|f(3)|"nograd"
gradient x|f(3).requires_grad_()|"grad"
gradfn tanh x|f(3).requires_grad_()|"TanhBackward0"
gradfn x|f(3)|""
memory x|torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)|"channel2d"
memory x|f(3)|"contiguous"
contiguous x|f(3, 4).t()|False
contiguous(x;`channel2d)|torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)|True
leaf x|f(3).requires_grad_()|True
leaf x|f(3).requires_grad_() * 2|False
pinned x|f(3)|False
sparseflag x|f(3)|False
sparseflag sparse x|b(3, 4)|True
defined x|f(3)|True
defined tensor[]||False
coalesced sparse x|b(3, 4)|True
densedim sparse(x;1)|b(3, 4)|1
sparsedim sparse(x;1)|b(3, 4)|1
nnz sparse x|b(3, 4)|int((x != 0).sum())
tensorcount vector(x;y)|f(3) f(4)|2
device x|f(3)|"cpu"
same(x;x)|f(3)|True
same(x;y)|f(3) f(3)|False
alias(x;View(x;-1))|f(3, 4)|True
alias(x;y)|f(3) f(3)|False
grad[enlist first((x);backward sum x*x)]|f(3).requires_grad_()|2 * x
[t:tensor(tensor x;`grad);backward(mul(t;t);y);grad enlist t]|f(3) f(3)|2 * x * y
gradflag x|f(3).requires_grad_()|True
[t:tensor tensor x;gradflag(t;1b);gradflag t]|f(3)|True
vector[vector(x;y)]1|f(3) f(4, 2)|y
tensor(vector(x;y);1)|f(3) f(4, 2)|y
[v:vector(x;y);vector(v;0;1 2f);tensor(v;0)]|f(3) f(4)|torch.tensor([1., 2.]).double()
[v:vector enlist x;vector(v;-1;y);tensor(v;1)]|f(3) f(4)|y
[v:vector enlist x;vector(v;vector(y;z));tensor(v;2)]|f(3) f(4) f(5)|z
dict[dict(`a`b;(x;y))]`b|f(3) f(4, 2)|y
tensor(dict(`a`b;(x;y));`a)|f(3) f(4, 2)|x
[d:dict(`a`b;(x;y));dict(d;`b;z);tensor(d;`b)]|f(3) f(4) f(5)|z
[d:dict(`a`b;(x;y));dict(d;`a`c!(1 2f;z));tensor(d;`c)]|f(3) f(4) f(5)|z
key dict dict(`a`b;(x;y))|f(3) f(4)|["a", "b"]
[v:vector(x;y);amend(v;1;0f);tensor(v;1)]|f(3) f(4)|y * 0
[t:tensor tensor x;use[t]tanh t;t]|f(3)|x.tanh()
[t:tensor tensor x;batch(t;2;1);t]|f(5, 2)|x[2:4]
[t:tensor tensor x;batch(t;2;1);restore t;t]|f(5, 2)|x
[t:tensor tensor x;shuffle t;t]|f(5, 2)|x[torch.randperm(5)]
[t:tensor tensor x;return t]|f(3, 4)|x
"""

# fills in place: the call, what torch does to a tensor t of the shape
FILLS = """
zeros|t|torch.nn.init.zeros_(t)|3 4
ones|t|torch.nn.init.ones_(t)|3 4
fill|t;7f|t.fill_(7.)|3 4
filldiagonal|t;7f|t.fill_diagonal_(7.)|4 4
filldiagonal|t;7f;1b|t.fill_diagonal_(7., wrap=True)|9 3
eye|t|torch.nn.init.eye_(t)|3 4
dirac|t|torch.nn.init.dirac_(t)|3 4 5
orthogonal|t|torch.nn.init.orthogonal_(t)|3 4
orthogonal|t;2f|torch.nn.init.orthogonal_(t, 2.)|3 4
knormal|t|torch.nn.init.kaiming_normal_(t)|3 4
knormal|t;`relu;`fanout|torch.nn.init.kaiming_normal_(t, nonlinearity="relu", mode="fan_out")|3 4
knormal|t;`leakyrelu;`fanin;.2|torch.nn.init.kaiming_normal_(t, .2)|3 4 5
kuniform|t|torch.nn.init.kaiming_uniform_(t)|3 4
kuniform|t;`relu;`fanout|torch.nn.init.kaiming_uniform_(t, nonlinearity="relu", mode="fan_out")|3 4
snormal|t;.5|torch.nn.init.sparse_(t, .5)|6 4
snormal|t;.5;2f|torch.nn.init.sparse_(t, .5, 2.)|6 4
xnormal|t|torch.nn.init.xavier_normal_(t)|3 4
xnormal|t;2f|torch.nn.init.xavier_normal_(t, 2.)|3 4
xuniform|t|torch.nn.init.xavier_uniform_(t)|3 4
xuniform|t;2f|torch.nn.init.xavier_uniform_(t, 2.)|3 4
normal|t|t.normal_()|3 4
normal|t;5f;2f|t.normal_(5., 2.)|3 4
uniform|t|t.uniform_()|3 4
uniform|t;-1f;2f|t.uniform_(-1., 2.)|3 4
random|t;9|t.random_(9)|3 4
random|t;-5;9|t.random_(-5, 9)|3 4
cauchy|t|t.cauchy_()|3 4
cauchy|t;1f;2f|t.cauchy_(1., 2.)|3 4
exponential|t|t.exponential_()|3 4
exponential|t;2f|t.exponential_(2.)|3 4
geometric|t;.3|t.geometric_(.3)|3 4
lognormal|t|t.log_normal_()|3 4
lognormal|t;.5;2f|t.log_normal_(.5, 2.)|3 4
"""

# loss, what follows its inputs in the options, inputs, torch's class with its options
LOSSES = """
bce||u(4, 3) u(4, 3)|BCELoss()
bce||u(4, 3) u(4, 3) u(4, 3)|BCELoss(weight=z)
bcelogits||f(4, 3) u(4, 3)|BCEWithLogitsLoss()
bcelogits|weight=1 2 3f|f(4, 3) u(4, 3)|BCEWithLogitsLoss(pos_weight=W)
bcelogits|weight=1 2 3f|f(4, 3) u(4, 3) u(4, 3)|BCEWithLogitsLoss(weight=z, pos_weight=W)
ce||f(4, 3) n(3, 4)|CrossEntropyLoss()
ce|weight=1 2 3f ignore=1 smoothing=.2|f(4, 3) n(3, 4)|CrossEntropyLoss(W, ignore_index=1, label_smoothing=.2)
ce||f(4, 3) u(4, 3)|CrossEntropyLoss()
cosineloss||f(4, 3) f(4, 3) s(4)|CosineEmbeddingLoss()
cosineloss|margin=.2|f(4, 3) f(4, 3) s(4)|CosineEmbeddingLoss(.2)
ctc||f(5,2,3).log_softmax(2) torch.tensor([[1,2],[2,1]]) torch.tensor([5,4]) torch.tensor([2,1])|CTCLoss()
ctc|blank=2 zeroinf=1b|f(5,2,3).log_softmax(2) torch.tensor([[1,0],[0,1]]) torch.tensor([5,4]) torch.tensor([2,1])|CTCLoss(2, zero_infinity=True)
hinge||f(4, 3) s(4, 3)|HingeEmbeddingLoss()
hinge|margin=.2|f(4, 3) s(4, 3)|HingeEmbeddingLoss(.2)
huber||f(4, 3) f(4, 3)|HuberLoss()
huber|delta=.5|f(4, 3) f(4, 3)|HuberLoss(delta=.5)
kl||f(4, 3).log_softmax(1) u(4, 3)|KLDivLoss()
l1||f(4, 3) f(4, 3)|L1Loss()
margin||f(4, 3) f(4, 3) s(4, 3)|MarginRankingLoss()
margin|margin=.2|f(4, 3) f(4, 3) s(4, 3)|MarginRankingLoss(.2)
mse||f(4, 3) f(4, 3)|MSELoss()
multilabel||f(4, 3) torch.tensor([[0,2,-1]]*4)|MultiLabelMarginLoss()
multimargin||f(4, 3) n(3, 4)|MultiMarginLoss()
multimargin|p=2 margin=.5 weight=1 2 3f|f(4, 3) n(3, 4)|MultiMarginLoss(2, .5, W)
multisoft||f(4, 3) b(4, 3)|MultiLabelSoftMarginLoss()
multisoft|weight=1 2 3f|f(4, 3) b(4, 3)|MultiLabelSoftMarginLoss(W)
nll||f(4, 3).log_softmax(1) n(3, 4)|NLLLoss()
nll|weight=1 2 3f ignore=2|f(4, 3).log_softmax(1) n(3, 4)|NLLLoss(W, ignore_index=2)
pairwise||f(4, 3) f(4, 3)|PairwiseDistance()
pairwise|p=1f eps=.1 keepdim=1b|f(4, 3) f(4, 3)|PairwiseDistance(1., .1, True)
poissonloss||f(4, 3) u(4, 3)|PoissonNLLLoss()
poissonloss|log=0b full=1b eps=.001|u(4, 3) u(4, 3) * 3|PoissonNLLLoss(False, True, eps=.001)
similar||f(4, 3) f(4, 3)|CosineSimilarity()
similar|dim=0 eps=.1|f(4, 3) f(4, 3)|CosineSimilarity(0, .1)
smoothl1||f(4, 3) f(4, 3)|SmoothL1Loss()
smoothl1|beta=.5|f(4, 3) f(4, 3)|SmoothL1Loss(beta=.5)
softmargin||f(4, 3) s(4, 3)|SoftMarginLoss()
triplet||f(4, 3) f(4, 3) f(4, 3)|TripletMarginLoss()
triplet|margin=2f p=1f eps=.001 swap=1b|f(4, 3) f(4, 3) f(4, 3)|TripletMarginLoss(2., 1., .001, True)
"""
