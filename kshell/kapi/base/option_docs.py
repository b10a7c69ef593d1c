"""Descriptions of the options of module types, losses and optimizers, by option name; `type.option` where the meaning
differs for a type. Help, completion and the reference show them."""

from __future__ import annotations

from kshell.registry import Option

_TEXT = """
addbias: a learnt bias is added to keys and values
addzero: a row of zeros is added to keys and values
adjust: how the rate is adjusted to the shape of a matrix
affine: has a learnt scale and shift
align: corners of input and output are aligned
agggrad: gradients are averaged, not weights
alpha: factor of the exponential part
always: compresses with one process too
amsgrad: keeps the largest second moment
approximate: by tanh, as in GPT-2, or not
average: divides the sum by the number of processes
batchfirst: inputs are batch, sequence, features
before: divides before the sum
beta: where the loss turns from squared to absolute
beta1: decay of the average of gradients
beta2: decay of the average of squared gradients
betadecay: exponent of the decay of the second moment
bi: runs in both directions
bias: has a learnt bias
blank: number of the blank label
buffers: tensors that are kept but not learnt, by name
bylayer: each parameter is sent by itself
ceiling: an incomplete last window counts
centered: gradients are normalized by their estimated variance
changetol: ends where loss or parameters change less
channels: number of channels
classes: number of classes; -1: as many as occur
clip: highest root mean square of an update
cols: size of a vector
countpad: padding counts in the average
dampening: part of the gradient that is left out of the momentum
decay: weight decay
decoder: a decoder of one's own
decoderlayer: the layer that is stacked
decoupled: weight decay is apart from the gradient
delta: where the loss turns from squared to absolute
detach: the state leaves the graph of gradients
dilate: distance of the elements of a window
dim: dimension
dim0: first dimension
dim1: second dimension
divisor: what sums are divided by
dlayers: number of decoder layers
dropout: probability of dropout
dtype: data type of the result
elayers: number of encoder layers
encoder: an encoder of one's own
encoderlayer: the layer that is stacked
end: last dimension
eps: small number against division by zero
eps1: smallest squared gradient
eps2: smallest scale of parameters
etaminus: factor of a step after a change of sign
etaplus: factor of a step while the sign stays
eval: most evaluations of the loss in a step
fn: nonlinear function
freeze: the weights are not trained
full: with the term that approximates the factorial
globalnorm: gradients are divided by the norm of all of them
gradtol: ends where no gradient is larger
groups: groups of channels that are connected
heads: number of heads
hidden: size of the hidden state
history: number of past steps kept
ignore: class number that counts for nothing
in: size of the input
in1: size of the first input
in2: size of the second input
ind: index or indices
init: first value
inplace: writes the result into its input
iter: most iterations in a step
k: added to the sum
kdim: size of the keys
keepdim: keeps the dimension, with size 1
lambd: decay term
lambda: values up to this size become 0
lastoffset: the last offset is the end of the last bag
layernorm: a normalization at the end
layers: number of layers
least: smallest step
length: longest sequence
log: the input is the logarithm of the rate
lower: lowest slope
lr: learning rate
lrdecay: decay of the learning rate
margin: distance that is asked for
max: highest value
maxnorm: longer vectors are scaled to this norm
mean: mean, or one for each channel
min: lowest value
mode: way of calculation
momentum: momentum
momentumdecay: decay of the momentum
most: largest step
neighbors: processes to average with
nesterov: Nesterov's momentum
norm: normalizes the input first
normfirst: each part normalizes its input, not its result
ns1: first coefficient of the iteration
ns2: second coefficient of the iteration
ns3: third coefficient of the iteration
out: size of the output
outpad: added to one side of the output
outsize: size of the output
p: exponent of the norm
pad: padding at both sides
padindex: row that stays as it is
padmode: what padding is made of
parms: learnt tensors, by name
random: any coordinates, not a block
rank: rank of the compressed matrices
ratio: size of the output in parts of the input
reduce: what becomes of the single losses
reuse: starts from the last step
rescale: calculates the scale anew from the sizes
rho: decay of the average of squared gradients
rows: number of vectors
scale: factor of size
search: line search
seed: seed of the draw
shape: last dimensions of the input
size: size of the window
slope: slope of negative values
smoothing: part of the target that goes to all classes
sparse: gradients are sparse
start: first dimension
std: standard deviation, or one for each channel
steps: iterations in a step
stride: distance of the windows
swap: the nearer of anchor and positive counts
t0: step at which averaging starts
threshold: bound
track: keeps running statistics
trustclip: the trust ratio is limited
trustmax: highest trust ratio
trustmin: lowest trust ratio
unbiased: averages are corrected for their start
upper: highest slope
value: value that is put in
vdim: size of the values
weight: weight of each class
weights: how neighbours are weighted
zeroinf: infinite losses count as 0

adaptavg1d.size adaptavg2d.size adaptavg3d.size: size of the output
adaptmax1d.size adaptmax2d.size adaptmax3d.size: size of the output
adrop.p drop.p drop2d.p drop3d.p fadrop.p droppath.p: probability of a zero
asgd.alpha: power of the learning rate's decay
attention.dim selfattention.dim: size of the input
batchnorm1d.momentum batchnorm2d.momentum batchnorm3d.momentum: part of a new statistic; null: plain averages
bcelogits.weight: weight of positive examples of each class
callback.fn: function of the module and its inputs, a name, text or lambda
callback.in: types of the inputs
callback.out: type of the result
conv1d.in conv2d.in conv3d.in convtranspose1d.in convtranspose2d.in convtranspose3d.in: channels of the input
conv1d.out conv2d.out conv3d.out convtranspose1d.out convtranspose2d.out convtranspose3d.out: channels of the output
conv1d.pad conv2d.pad conv3d.pad: padding at both sides, or same or valid
cosineloss.margin: similarity that is allowed to pairs apart
crossmap2d.alpha localnorm.alpha: factor of the sum of squares
crossmap2d.beta localnorm.beta: exponent
crossmap2d.size localnorm.size: number of neighbouring channels
decoderlayer.dim encoderlayer.dim transformer.dim: size of the layer between
embed.mode embedbag.mode: sum, mean or max of a bag
embed.scale embedbag.scale: gradients are divided by how often a row occurs
embed.weight embedbag.weight: the vectors themselves
expand.size permute.size reshape.size: size of the result; of permute the order of the dimensions
fold.out: size of the images
groupnorm.groups: number of groups
indexselect.ind: indices
instancenorm1d.momentum instancenorm2d.momentum instancenorm3d.momentum: part of a new statistic
kl.reduce: what becomes of the single losses; batchmean: their sum over the number of rows
linear.in: size of the last dimension of the input
linear.out: size of the last dimension of the output
multimargin.p: exponent, 1 or 2
pad.mode: constant, reflect, replicate or circular
pad.pad pad1d.pad pad2d.pad pad3d.pad reflect1d.pad reflect2d.pad: widths in pairs, from the last dimension on
randomcrop.pad replicate1d.pad replicate2d.pad replicate3d.pad zeropad2d.pad: widths in pairs
circular1d.pad circular2d.pad circular3d.pad reflect3d.pad zeropad1d.pad zeropad3d.pad: widths in pairs
channelshuffle.groups: number of groups
pixelshuffle.factor pixelunshuffle.factor: how many times as high and wide the larger image is
unflatten.size: sizes that take its place
prelu.in: number of slopes, 1 or one a channel
prelu.init: first slope
randomcrop.size: height and width
randomflip.dim: dimension that is turned over
randomflip.p: probability of a flip
rmsprop.alpha: decay of the average of squared gradients
adagrad.init: first value of the sums of squares
select.ind: index
softplus.beta: steepness
softplus.threshold: above it the input itself
threshold.threshold: values up to it are replaced
upsample.mode: nearest, linear, bilinear, bicubic, trilinear or nearestexact
upsample.size: size of the output
"""


def _read() -> dict[str, str]:
    words: dict[str, str] = {}
    for line in _TEXT.strip().splitlines():
        keys, _, text = line.partition(": ")
        words.update(dict.fromkeys(keys.split(), text))
    return words


_WORDS = _read()


def worded(name: str, options: tuple[Option, ...]) -> tuple[Option, ...]:
    """The options of a type, with descriptions for those that have none."""
    return tuple(
        option
        if option.doc
        else option._replace(doc=_WORDS.get(f"{name}.{option.name}") or _WORDS.get(option.name, ""))
        for option in options
    )
