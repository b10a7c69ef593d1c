"""Descriptions of the options of module types, losses and optimizers, by option name; `type.option` where the meaning
differs for a type. Help, completion and the reference show them."""

from __future__ import annotations

from kshell.registry import Option

_TEXT = """
addbias: add a learned bias to keys and values
addzero: append a row of zeros to keys and values
adjust: how the learning rate is adjusted to the shape of a matrix
affine: learned scale and shift
align: align the corners of input and output
agggrad: average gradients instead of weights
alpha: factor of the exponential part
always: compress even with a single process
amsgrad: use the maximum of past second moments
approximate: tanh approximation, as in GPT-2
average: divide the sum by the number of processes
batchfirst: input layout is batch, sequence, features
before: divide before summing
beta: where the loss changes from squared to absolute
beta1: decay rate of the gradient average
beta2: decay rate of the squared-gradient average
betadecay: exponent of the second-moment decay
bi: run in both directions
bias: learned bias
blank: index of the blank label
buffers: tensors that are stored but not learned, by name
bylayer: send each parameter separately
ceiling: include an incomplete last window
centered: normalize gradients by their estimated variance
changetol: stop when loss or parameters change by less
channels: number of channels
classes: number of classes; -1: as many as occur
clip: maximum root mean square of an update
cols: embedding dimension
countpad: include padding in averages
dampening: fraction of the gradient excluded from momentum
decay: weight decay
decoder: custom decoder
decoderlayer: layer to stack
decoupled: decouple weight decay from the gradient
delta: where the loss changes from squared to absolute
detach: detach the state from the autograd graph
dilate: spacing between window elements
dim: dimension
dim0: first dimension
dim1: second dimension
divisor: divisor of the sums
dlayers: number of decoder layers
dropout: dropout probability
dtype: data type of the result
elayers: number of encoder layers
encoder: custom encoder
encoderlayer: layer to stack
end: last dimension
eps: small number that prevents division by zero
eps1: minimum squared gradient
eps2: minimum parameter scale
etaminus: step factor after a sign change
etaplus: step factor while the sign stays the same
eval: maximum number of loss evaluations per step
fn: activation function
freeze: do not train the weights
full: include the Stirling approximation term
globalnorm: divide gradients by their global norm
gradtol: stop when no gradient is larger
groups: number of connection groups of channels
heads: number of heads
hidden: size of the hidden state
history: number of past steps kept
ignore: class index to ignore
in: input size
in1: size of the first input
in2: size of the second input
ind: index or indices
init: initial value
inplace: write the result into the input
iter: maximum number of iterations per step
k: constant added to the sum
kdim: key size
keepdim: keep the dimension with size 1
lambd: decay term
lambda: values up to this magnitude become 0
lastoffset: the last offset is the end of the last bag
layernorm: final layer normalization
layers: number of layers
least: minimum step size
length: maximum sequence length
log: the input is the log of the rate
lower: lower bound of the slope
lr: learning rate
lrdecay: learning rate decay
margin: required margin
max: maximum value
maxnorm: vectors with a larger norm are rescaled to it
mean: mean, or one per channel
min: minimum value
mode: algorithm
momentum: momentum
momentumdecay: momentum decay
most: maximum step size
neighbors: processes to average with
nesterov: Nesterov momentum
norm: normalize the input first
normfirst: normalize the input of each part instead of its result
ns1: first coefficient of the Newton-Schulz iteration
ns2: second coefficient of the Newton-Schulz iteration
ns3: third coefficient of the Newton-Schulz iteration
out: output size
outpad: extra size on one side of the output
outsize: output size
p: exponent of the norm
pad: padding on both sides
padindex: index of a row that is not trained
padmode: padding mode
parms: learned tensors, by name
random: select random elements instead of a block
rank: rank of the compressed matrices
ratio: output size as a fraction of the input size
reduce: reduction of the losses
reuse: start from the previous step's result
rescale: recompute the scale from the sizes
rho: decay rate of the squared-gradient average
rows: number of embeddings
scale: scale factor
search: line search
seed: random seed
shape: trailing dimensions of the input
size: window size
slope: slope for negative values
smoothing: part of the target spread over all classes
sparse: sparse gradients
start: first dimension
std: standard deviation, or one per channel
steps: number of iterations per step
stride: stride of the window
swap: use the distance from positive to negative if it is smaller
t0: step at which averaging starts
threshold: threshold
track: keep running statistics
trustclip: clip the trust ratio
trustmax: maximum trust ratio
trustmin: minimum trust ratio
unbiased: correct the averages for their initial bias
upper: upper bound of the slope
value: fill value
vdim: value size
weight: weight of each class
weights: how neighbours are weighted
zeroinf: count infinite losses as 0

adaptavg1d.size adaptavg2d.size adaptavg3d.size: output size
adaptmax1d.size adaptmax2d.size adaptmax3d.size: output size
adjacent: a pair is two neighbouring columns
alibi: add a bias that falls with the distance
both: a dictionary of the input and the pooled place
causal: a place looks only at those before it
experts: number of experts
fused: queries, keys and values in one matrix
headdim: size of a head; the input size over the heads if not given
kvheads: number of heads of keys and values
layer: type of its layers
names: names of its layers
offset: first vector used
outbias: bias of the output layer
patch: height and width of a patch
project: with an output layer
rooted: divide alpha by the root of the rank
rope: rotary positions: `rope, their base or their options
sizes: number of modules of each branch
top: number of experts that are chosen
types: number of types of tokens
window: a place looks only at so many, itself included

gqa.dim swiglu.dim moe.dim pooler.dim patches.dim: size of the last dimension
swiglu.hidden moe.hidden: size between the layers
gqa.scale: factor of the scores; 1 over the root of the head's size if not given
lora.alpha dora.alpha: factor of the product, over the rank
lora.rank dora.rank: columns of the small matrices
moe.norm: the weights of the chosen experts add up to 1
patches.size: height and width of the images
rope.attention: factor of cosine and sine; computed if not given
rope.base: base of the angles
rope.dim: number of turned columns; all if not given
rope.factor: how much longer sequences may be
rope.high: turns within the length above which a pair stays
rope.length: length that the unscaled angles were made for
rope.low: turns within the length below which a pair is slowed by the factor
rope.scaling: how angles are changed for longer sequences
adrop.p drop.p drop2d.p drop3d.p fadrop.p droppath.p: probability of zeroing
asgd.alpha: exponent of the learning rate decay
attention.dim selfattention.dim: input size
batchnorm1d.momentum batchnorm2d.momentum batchnorm3d.momentum: weight of new statistics; null: cumulative averages
bcelogits.weight: weight of positive examples for each class
callback.fn: function of the module and its inputs: a name, text or lambda
callback.in: types of the inputs
callback.out: type of the result
conv1d.in conv2d.in conv3d.in convtranspose1d.in convtranspose2d.in convtranspose3d.in: input channels
conv1d.out conv2d.out conv3d.out convtranspose1d.out convtranspose2d.out convtranspose3d.out: output channels
conv1d.pad conv2d.pad conv3d.pad: padding on both sides, or same or valid
cosineloss.margin: similarity allowed for dissimilar pairs
crossmap2d.alpha localnorm.alpha: factor of the sum of squares
crossmap2d.beta localnorm.beta: exponent
crossmap2d.size localnorm.size: number of neighbouring channels
decoderlayer.dim encoderlayer.dim transformer.dim: size of the feed-forward layer
embed.mode embedbag.mode: reduction of a bag: sum, mean or max
embed.scale embedbag.scale: scale gradients by the inverse frequency of a row
embed.weight embedbag.weight: the embedding matrix itself
expand.size permute.size reshape.size: size of the result; for permute, the order of the dimensions
fold.out: size of the images
groupnorm.groups: number of groups
indexselect.ind: indices
instancenorm1d.momentum instancenorm2d.momentum instancenorm3d.momentum: weight of new statistics
kl.reduce: reduction of the losses; batchmean divides their sum by the number of rows
linear.in: size of the last input dimension
linear.out: size of the last output dimension
multimargin.p: exponent, 1 or 2
pad.mode: constant, reflect, replicate or circular
pad.pad pad1d.pad pad2d.pad pad3d.pad reflect1d.pad reflect2d.pad: pairs of widths, starting at the last dimension
randomcrop.pad replicate1d.pad replicate2d.pad replicate3d.pad zeropad2d.pad: pairs of widths
circular1d.pad circular2d.pad circular3d.pad reflect3d.pad zeropad1d.pad zeropad3d.pad: pairs of widths
channelshuffle.groups: number of groups
pixelshuffle.factor pixelunshuffle.factor: ratio of large to small image size
unflatten.size: sizes that replace the dimension
prelu.in: number of slopes, 1 or one per channel
prelu.init: initial slope
randomcrop.size: height and width
randomflip.dim: dimension to flip
randomflip.p: probability of a flip
rmsprop.alpha: decay rate of the squared-gradient average
adagrad.init: initial value of the accumulator
select.ind: index
softplus.beta: steepness
softplus.threshold: inputs above it are returned unchanged
threshold.threshold: values up to it are replaced
upsample.mode: nearest, linear, bilinear, bicubic, trilinear or nearestexact
upsample.size: output size
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
