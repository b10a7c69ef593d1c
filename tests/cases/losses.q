/ making and describing
class loss`mse  / `loss
objtype loss`ce  / `ce
objtype each loss each`bce`bcelogits`ce`cosineloss`ctc`hinge`huber`kl`l1`margin`mse`multilabel  / `bce`bcelogits`ce`cosineloss`ctc`hinge`huber`kl`l1`margin`mse`multilabel
objtype each loss each`multimargin`multisoft`nll`pairwise`poissonloss`similar`smoothl1`softmargin`triplet  / `multimargin`multisoft`nll`pairwise`poissonloss`similar`smoothl1`softmargin`t..
loss loss`ce  / module | `ce\noptions| `weight`ignore`smoothing`reduce!(::;-100;0f;`mean)
loss loss`mse  / module | `mse\noptions| (,`reduce)!,`mean
loss(loss(`ce;();-100;.1;`none);0b)  / module | `ce\noptions| `smoothing`reduce!(0.1;`none)
loss(loss`ce;0b)  / module | `ce\noptions| (`symbol$())!()
options loss(`ce;.25 .75;-100;.1)  / weight   | 0.25 0.75\nignore   | -100\nsmoothing| 0.1\nreduce   | `mean
options loss(`ce;`smoothing,.1)  / weight   | ::\nignore   | -100\nsmoothing| 0.1\nreduce   | `mean
options loss(`ce;`smoothing`reduce!(.1;`none))  / weight   | ::\nignore   | -100\nsmoothing| 0.1\nreduce   | `none
options loss(`ce;(`smoothing;.1;`reduce;`none))  / weight   | ::\nignore   | -100\nsmoothing| 0.1\nreduce   | `none
options loss(`ce;((`smoothing;.1);(`reduce;`none)))  / weight   | ::\nignore   | -100\nsmoothing| 0.1\nreduce   | `none
options loss(`ce;1 2f;`reduce`none)  / weight   | 1 2f\nignore   | -100\nsmoothing| 0f\nreduce   | `none
options loss(`mse;`reduce`sum)  / reduce| sum
options loss`mse`sum  / reduce| sum
options loss(`huber;2.0)  / delta | 2f\nreduce| `mean
options loss(`huber;2)  / delta | 2f\nreduce| `mean
options loss(`triplet;2f;`sum)  / margin| 2f\np     | 2f\neps   | 1e-06\nswap  | 0b\nreduce| `sum
options loss(`multimargin;2;.5;1 2f;`none)  / p     | 2\nmargin| 0.5\nweight| 1 2f\nreduce| `none
options loss(`poissonloss;0b;1b;1e-6)  / log   | 0b\nfull  | 1b\neps   | 1e-06\nreduce| `mean
options loss(`ctc;1;1b;`sum)  / blank  | 1\nzeroinf| 1b\nreduce | `sum
options loss`pairwise  / p      | 2f\neps    | 1e-06\nkeepdim| 0b
options loss(`kl;`batchmean)  / reduce| batchmean
(loss l)~loss loss loss l:loss(`ce;.25 .75;-5;.1;`sum)  / 1b
(state l)~loss l  / 1b
/ errors
loss`nosuch  / 'loss: unrecognized loss function: nosuch
loss 5  / 'loss: unrecognized arg(s) (given long 5; expected loss`name)
loss()  / 'loss: unrecognized arg(s) (given nothing; expected loss`name)
loss`module`options!(`mse;`sum)  / 'loss: expected dictionary for options, given symbol scalar
(loss loss`module`options!(`mse;()))~loss loss(enlist`module)!enlist`mse  / 1b
loss(`mse;`odd)  / 'mse reduce:odd is not one of none,mean,sum
loss(`mse;1.0)  / 'mse reduce: expected symbol, given double scalar
loss(`mse;1.0;`sum)  / 'mse: only 1 positional argument(reduce) expected, 2 given
loss(`mse;`margin,1f)  / 'loss: unrecognized option: margin, mse loss expects single option: reduce
loss(`mse;`nosuch,1f)  / 'loss: unrecognized option: nosuch, mse loss expects single option: reduce
loss(`ce;`beta,1f)  / 'ce option: beta not recognized
loss(`ce;1 2f;-100;.1;1;`sum)  / 'ce: expecting up to 4 additional positional args, 6 given
loss(`ce;1 2f;.5)  / 'ce ignore: expected long scalar, given double scalar
loss(`huber;1b)  / 'huber delta: expected double, given boolean scalar
loss(`triplet;1f;2f;1e-6;1)  / 'triplet swap: expected boolean scalar, given long scalar
/ calculating: a loss gives a tensor
tensor loss(loss`mse;1 2 3e;0 2 4e)  / 0.6666667e
tensor loss(loss(`mse;`none);1 2 3e;0 2 4e)  / 1 0 1e
tensor loss(loss(`mse;`sum);tensor 1 2 3e;0 2 4e)  / 2e
tensor loss(loss`mse;(1 2 3e;0 2 4e))  / 'mse: loss calculation expects 2 tensors, 1 given
tensor loss(loss`mse;vector(1 2 3e;0 2 4e))  / 0.6666667e
loss(loss`mse;1 2 3e)  / 'mse: loss calculation expects 2 tensors, 1 given
loss(loss`mse;1e;1e;1e)  / 'mse: loss calculation expects 2 tensors, 3 given
loss(loss`ctc;1e;1e;1e)  / 'ctc: loss calculation expects 4 tensors, 3 given
loss(loss`mse;`a;`b)  / 'loss: unrecognized arg, symbol scalar (expected loss(l;x;y))
tensor loss(loss(`bce;`none);.1 .9 .5e;0 1 1e)  / 0.1053605 0.1053605 0.6931472e
tensor loss(loss(`bce;`none);.1 .9 .5e;0 1 1e;1 1.1 .5)  / 0.1053605 0.1158966 0.3465736e
bce(.1 .9 .5e;0 1 2e;1 1.1 .5;`none)  / 0.1053605 0.1158966 0.3465736e
bce(.1 .9;0 1f)  / 0.1053605
bcelogit1(2 2#0e;2 2#1e;1 2e;`none)  / 0.6931472 1.386294\n0.6931472 1.386294
bcelogit2(0 0e;1 1e;1 3e;`none)  / 0.6931472 2.079442e
bcelogit2(0 0e;1 1e;1 3e;2 2e;`sum)  / 5.545177e
/ functions: arrays to arrays, a tensor to a tensor
mse(1 3 6 9.0;1 2 4 8.0)  / 1.5
mse(1 3 6 9.0;1 2 4 8.0;`none)  / 0 1 4 1f
mse(1 3 6 9e;1 2 4 8e;`sum)  / 6e
class mse(tensor 1 3e;1 2e)  / `tensor
tensor mse(tensor 1 3e;1 2e)  / 0.5e
mse 1 3e  / 4e
mse`a  / 'mse: expects at least 2 args, 1 given
mse(1 3e;1 2e;`odd)  / 'mse reduce:odd is not one of none,mean,sum
mse(1 3e;1 2e;1 2e)  / 'mse reduce: expected symbol, given real list
l1(1 2f;1 4f)  / 1f
huber(1 2f;1 5f)  / 1.25
huber(1 2f;1 5f;2)  / 2f
huber(1 2f;1 5f;`delta,2)  / 2f
smoothl1(1 2f;1 5f;2f;`sum)  / 2f
ce((1 2 3f;3 2 1f);2 0)  / 0.407606
ce((1 2 3f;3 2 1f);2 0;`none)  / 0.407606 0.407606
ce((1 2 3f;3 2 1f);2 -100)  / 0.407606
ce((1 2 3e;3 2 1e);2 0;1 2 3f)  / 0.4076059e
ce((1 2 3f;3 2 1f);2 0;();-100;.1)  / 0.507606
ce((1 2 3f;3 2 1f);(0 0 1f;1 0 0f))  / 0.407606
ce((1 2 3f;3 2 1f);2 5)  / 'ce: Target 5 is out of bounds (given double 2x3, long list of 2)
nll((-1 -2f;-3 -4f);0 1)  / 2.5
nll((-1 -2f;-3 -4f);0 1;1 3f;`none)  / 1 12f
kl(log .5 .5;.25 .75;`sum)  / 0.130812
kl(log .5 .5;.25 .75)  / 0.06540602
kl(log 1 2#.5;1 2#.25 .75;`batchmean)  / 0.130812
hinge(.5 .5;1 -1)  / 0.5
hinge(.5 .5;1 -1;2f;`none)  / 0.5 1.5
cosineloss((1 0f;0 1f);(1 0f;0 1f);1 -1)  / 0.5
margin(1 2f;2 1f;1 1)  / 0.5
margin(1 2f;2 1f;1 1;.5)  / 0.75
triplet((1 0f;0 1f);(1 0f;0 1f);(0 1f;1 0f);3f)  / 1.585788
multilabel(1 2 4f;2 -1 0)  / 0f
multimargin(1 2 4f;1)  / 1f
multisoft(enlist 0 0f;enlist 1 0f)  / 0.6931472
poissonloss(0 0f;1 2f)  / 1f
poissonloss(0 0f;1 2f;0b)  / 27.63102
softmargin(0 0f;1 -1)  / 0.6931472
ctc(log 3 1 2#.5;1 1#1;enlist 3;enlist 1)  / 0.2876821
ctc(log 3 1 2#.5;1 1#9;enlist 3;enlist 1)  / 'ctc: targets must be in the range 0-1 (given double 3x1x2, long 1x1, long list of 1, long list of 1)
ctc(log 3 1 2#.5;1 1#-1;enlist 3;enlist 1)  / 'ctc: targets must be in the range 0-1 (given double 3x1x2, long 1x1, long list of 1, long list of 1)
ctc(log 3 1 2#.5;1 1#1;enlist 9;enlist 1)  / 'ctc: input lengths must be in the range 0-3 (given double 3x1x2, long 1x1, long list of 1, long list of 1)
/ gradients
x:tensor(.5 1 4;`grad)  /
backward mse(x;1 2 3.)  /
grad x  / -0.3333333 -0.6666667 0.6666667
x:tensor(2 3#1 2 3 3 2 1e;`grad)  /
backward loss(loss`ce;x;2 0)  /
grad x  / 0.04501529 0.1223642 -0.1673795\n-0.1673795 0.1223642 0.04501529
l:loss`ce  /
free l  /
loss l  / 'stale pointer
loss(l;1e;1e)  / 'stale pointer
/ tensors of a vector by their place
v:vector(2 3#1 2 3 3 2 1e;9 9e)  /
tensor loss(loss`ce;(v;0);2 0)  / 0.4076059e
loss(loss`ce;(v;2);2 0)  / 'loss: vector[2] invalid for 2-element vector
loss(loss`ce;v;2 0)  / 'ce: loss calculation expects 2 tensors, 3 given
tensor loss(loss`mse;(v;1 1))  / 0e

/ as text, in libtorch's form
str each loss each`mse`huber`hinge`triplet  / "torch::nn::MSELoss()"\n"torch::nn::HuberLoss"\n"torch::nn::HingeEmbeddingLoss(margin=1)"\n"torch::nn::TripletMarginLoss(margin=1, p=2, eps=1e-06, swap=false)"
"torch::nn::MultiMarginLoss(p=1, margin=1.5, weight= 1\n 2\n[ CPUDoubleType{2} ], reduction=kSum)"~str loss(`multimargin;1;1.5;1 2f;`sum)  / 1b
"torch::nn::MultiMarginLoss(p=1, margin=1, weight=[ Tensor (undefined) ], reduction=kMean)"~str loss`multimargin  / 1b
str loss`similar  / "torch::nn::CosineSimilarity(dim=1, eps=1e-08)"
str loss`bce  / "BCELoss()"
str loss(`bcelogits;1 2f)  / "BCEWithLogitsLoss()"
/ `()` in the last place is no pairs, or an option left out
options loss(`mse;())  / reduce| mean
mse(1 3e;1 2e;())  / 0.5e
bce(.1 .9;0 1f;())  / 0.1053605
ce((1 2 3f;3 2 1f);2 0;())  / 0.407606
options loss(`ce;1 2f;())  / weight   | 1 2f\nignore   | -100\nsmoothing| 0f\nreduce   | `mean
bce(.1 .9;0 1f;::)  / 0.1053605
ce((1 2 3f;3 2 1f);2 0;`weight`reduce!(0#0f;`none))  / 0.407606 0.407606
options loss(`multimargin;`p`weight!(2;0#0e))  / p     | 2\nmargin| 1f\nweight| ::\nreduce| `mean
/ the option that is wrong is told before their number
smoothl1(1 2f;1 5f;`beta;2)  / 'smoothl1 beta: expected double, given symbol scalar
smoothl1(1 2f;1 5f;.5;3)  / 'smoothl1: expecting up to 3 additional positional args, 4 given
/ targets that are booleans or whole numbers
bce(.1 .9;01b)  / 0.1053605
bce(.1 .9;0 2)  / -0.9932518
bcelogit1(0 0f;01b)  / 0.6931472
tensor loss(loss`bcelogits;0 0e;0 1)  / 0.6931472e
