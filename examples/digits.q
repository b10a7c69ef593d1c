/ A small convolutional classifier of real handwritten digits: train, edit, save, restore, go on.
/ Data: 1,797 images of 8 x 8 pixels with values 0 to 16, and the digit each shows: data/README.md.
/ The first 1,297 images train, the last 500 test; they are never mixed.

setting(`threads;1)    / batches this small are fastest on one thread, and it leaves the other cores alone
seed 42
system"S 42"
dir:{$[count i:where"/"=x;(1+last i)#x;""]}string .z.f
raw:(65#"J";",")0:hsym`$dir,"data/digits.csv"

ntrain:1297
x:1797 1 8 8#"e"$(raze flip -1_raw)%16    / image by image, one channel
y:last raw
xtrain:tensor ntrain#x; ytrain:tensor ntrain#y
xtest:tensor ntrain _ x; ytest:ntrain _ y

/ two convolutions, then a linear layer; the names are used below to pick parameters
q:module seq(`sequential;
  (`conv2d;`conv1;1;24;3;`pad,1); (`batchnorm2d;`norm1;24); (`relu;`relu1); (`maxpool2d;`pool1;2);
  (`conv2d;`conv2;24;48;3;`pad,1); (`batchnorm2d;`norm2;48); (`relu;`relu2); (`maxpool2d;`pool2;2);
  (`flatten;`flat); (`drop;`drop;.25); (`linear;`fc;192;10))
l:loss(`ce;`smoothing,.05)

/ two parameter groups: the convolutions and their norms, and the linear layer
o:opt(`adamw;0;(q;`conv1`norm1`conv2`norm2);.004;`decay,.01)
opt(o;1;(q;`fc);.004)

accuracy:{[]100*avg ytest={x?max x}each evaluate(q;xtest)}

/ one pass over the training images in random order; the mean loss
epoch:{[w]
  i:w cut neg[ntrain]?ntrain;
  avg{zerograd o; t:loss(l;forward(q;xtrain x);ytrain x); backward t; step o; return t}each i}

/ n epochs, a line each
fit:{[n]do[n;e+:1;r:epoch 32;-1"epoch ",(-2$string e),"  loss ",.Q.fmt[6;4;r],"  accuracy ",.Q.fmt[5;1;accuracy[]],"%"];}

e:0
fit 4
-1"learning rates ",.Q.s1 lr o;
opt(o;1;();.001)                           / edit the linear layer's group alone
-1"learning rates ",.Q.s1 lr o;
fit 3

/ save the state of both, forget them, and bring them back from the files
files:hsym each`$(f:"/tmp/kshell_digits_",string .z.i),/:("_module";"_optimizer")
files set'(qs:state q;os:state o);
free(q;o)
q:module get files 0
o:opt(get files 1;q)
hdel each files;
same:{(delete pointer from x`parms)~delete pointer from y`parms}
-1"state restored: ",$[(qs~state q)&same[os;state o];"the same";"different"];

lr(o;.3*lr o)
fit 3
-1"accuracy ",.Q.fmt[4;1;accuracy[]],"%";
