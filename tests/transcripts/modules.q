q)d:((0;`sequential`net);(1;(`conv2d;`conv;1;4;3));(1;(`batchnorm2d;`bn;4));(1;`relu);(1;(`maxpool2d;2)))
q)d,:((1;`flatten);(1;(`drop;.25));(1;(`linear;`head;36;3)))
q)m:module d
q)m2:module tree d
q)(module m)~module m2
1b

q)module m
depth module      name options                                               ..
-----------------------------------------------------------------------------..
0     sequential  net  (`symbol$())!()                                       ..
1     conv2d      conv `in`out`size`stride`pad`dilate`groups`bias`padmode!(1;..
1     batchnorm2d bn   `in`eps`momentum`affine`track!(4;1e-05;0.1;1b;1b)     ..
1     relu        2    (,`inplace)!,0b                                       ..
1     maxpool2d   3    `size`stride`pad`dilate`ceiling!(2;2;0;1;0b)          ..
1     flatten     4    `start`end!1 -1                                       ..
1     drop        5    `p`inplace!(0.25;0b)                                  ..
1     linear      head `in`out`bias!(36;3;1b)                                ..

q)module(m;0b)
depth module      name options
-----------------------------------------
0     sequential  net  (`symbol$())!()
1     conv2d      conv `in`out`size!1 4 3
1     batchnorm2d bn   (,`in)!,4
1     relu        2    (`symbol$())!()
1     maxpool2d   3    (,`size)!,2
1     flatten     4    (`symbol$())!()
1     drop        5    (,`p)!,0.25
1     linear      head `in`out!36 3

q)names m
`conv`bn`2`3`4`5`head

q)parmnames m
`conv.weight`conv.bias`bn.weight`bn.bias`head.weight`head.bias

q)dv tree d
0 `sequential`net
1 (`conv2d;`conv;1;4;3)
1 (`batchnorm2d;`bn;4)
1 `relu
1 (`maxpool2d;2)
1 `flatten
1 (`drop;0.25)
1 (`linear;`head;36;3)

q)size parms m
conv.weight| 4 1 3 3
conv.bias  | ,4
bn.weight  | ,4
bn.bias    | ,4
head.weight| 3 36
head.bias  | ,3

q)-2 str m;
torch::nn::Sequential(
  (conv): torch::nn::Conv2d(1, 4, kernel_size=[3, 3], stride=[1, 1])
  (bn): torch::nn::BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true)
  (2): torch::nn::ReLU()
  (3): torch::nn::MaxPool2d(kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], ceil_mode=false)
  (4): torch::nn::Flatten(start_dim=1, end_dim=-1)
  (5): torch::nn::Dropout(p=0.25, inplace=false)
  (head): torch::nn::Linear(in_features=36, out_features=3, bias=true)
)

q)to(m;`double)
q)distinct value dtype m
,`double

q)to(m;`float)
q)seed 42
q)m:module d
q)x:tensor(`randn;8 1 8 8)
q)y:tensor 8#0 1 2
q)size forward(m;x)
8 3

q)l:loss`ce
q)o:opt(`sgd;m;.1)
q)f:{[m;l;o;x;y]zerograd o; backward z:loss(l;forward(m;x);y); step o; return z}
q)loss0:f[m;l;o;x;y]
q)do[20;f[m;l;o;x;y]]
q)(f[m;l;o;x;y])<.5*loss0
1b

q)exec options from state m where module=`conv2d
in out size stride pad dilate groups bias padmode
-------------------------------------------------
1  4   3    1      0   1      1      1    zeros

q)b:buffers m
q)b2:dict b
q)b2`bn.num_batches_tracked
23

q)s:state m
q)k:module s
q)(evaluate(k;x))~evaluate(m;x)
1b

q)(state k)~s
1b

q)freeze(k;`conv.weight`conv.bias)
q)where gradflag k
`bn.weight`bn.bias`head.weight`head.bias

q)c:child(k;`head)
q)parm(c;`bias;0e)
q)tensor parm(k;`head.bias)
0 0 0e

q)module(c;`relu)
'unable to add a ReLU module as a child of a Linear module
  [0]  module(c;`relu)
       ^

q)module(k;`relu`out)
q)-2#childnames k
`head`out

q)mm:model(k;l;opt(`sgd;k))
q)class k
'stale pointer
  [0]  class k
       ^

q)0<backward(mm;x;y)
1b

q)step mm
q)key model mm
`module`loss`optimizer`train`test

q)module enlist(`linear;3)
'linear: positive output size required
  [0]  module enlist(`linear;3)
       ^

q)module enlist(`linear;3;2;`alpha,1)
'linear option: alpha not recognized
  [0]  module enlist(`linear;3;2;`alpha,1)
       ^

q)evaluate(c;2 36#1f)
'evaluate: mat1 and mat2 must have the same dtype, but got Double and Float
  [0]  evaluate(c;2 36#1f)
       ^
hint: convert one of them: to(x;`float), or `float$x of q values
