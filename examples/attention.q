/ A small transformer learns to add two numbers below 100 from examples, digit by digit, as a language model would.
/ A row of data is the digits of a sum: two of each number, then three of the result, the last one first, since that is
/ the order in which sums are carried. Each digit of the result is predicted from the digits before it.

setting(`threads;1)
seed 5
system"S 5"

numbers:flip 100 100 vs til 10000
rows:flip(10 10 vs numbers[;0]),(10 10 vs numbers[;1]),reverse 10 10 10 vs sum flip numbers
rows@:0N?count rows
train:9000#rows                            / 1,000 sums are never trained on
test:9000 _ rows

dim:48; heads:3

/ a block is attention and then two linear layers, each of which adds to what it is given
block:{[dim;heads]
  look:seq(`sequential; (`selfattention;dim;heads;0f;1b));
  think:seq(`sequential; (`layernorm;dim); (`linear;dim;3*dim); `gelu; (`linear;3*dim;dim));
  (`sequential; (`residual;look); (`residual;think))}

/ while training the output is a row for each of the three digits of the result; otherwise that of the last place only
decode:seq(`sequential; (`layernorm;dim); (`linear;dim;10))
decode,:enlist(`transform; seq(`sequential; (`indexselect;1;3 4 5); (`reshape;-1 10)); seq(`sequential; (`select;1;-1)))
q:module(`seqlist; seq(`sequential; (`embedseq;10;dim;6)); block[dim;heads]; block[dim;heads]; decode)

/ small first weights: with those that the layers have by default it learns by heart and does not find the rule
kinds:parmtypes q
small:(key kinds)where(key[kinds]like"*weight")&value[kinds]in`linear`embed
{normal(q;x;0;.02)}each small;

model1:model(q;loss`ce;opt(`adamw;q;.004;.9;.98))
mask:tensor triu(6 6#-0we;1)               / no digit sees those after it

/ a step: the rate, the gradients of the batch, cut to a norm of 1
step1:{[m;mask;rate;x]
  lr(m;rate); nograd m;
  l:backward(m;(-1_'x;mask);raze 4_'x);
  clip(m;1); step m; l}

/ sums worked out: three times, the most likely digit is put behind what is there
answer:{[m;mask;x]3{[m;mask;x]x,'argmax(evaluate(m;x;mask);1)}[m;mask]/4#'x}
accuracy:{[m;mask;x]100*avg x~'answer[m;mask;x]}

batch:100; epochs:8
steps:epochs*count[train]div batch
rates:.004*(.5*1+cos acos[-1]*til[steps]%steps)&(1+til steps)%100   / up for 100 steps, then down along a cosine

epoch:{[e]
  x:batch cut train 0N?count train;
  l:avg step1[model1;mask]'[rates(e*count x)+til count x;x];
  -1"epoch ",string[1+e],"  loss ",.Q.fmt[6;4;l],"  right ",.Q.fmt[5;1;accuracy[model1;mask;test]],"%";}
epoch each til epochs;

number:{10 sv x}
said:answer[model1;mask;5#test]
-1 .Q.s([]a:number each 2#'said;b:number each said[;2 3];said:number each reverse each 4_'said);
-1"accuracy ",.Q.f[1;accuracy[model1;mask;test]],"%";
