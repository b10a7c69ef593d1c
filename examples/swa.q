/ Averages of weights: at a high learning rate a network does not come to rest, and how good it is changes from epoch to
/ epoch. The mean of the weights after each of the last epochs lies between them and is better than most.
/ Data: data/README.md. The first 1,297 images train, the last 500 test.

setting(`threads;1)
seed 11
dir:{$[count i:where"/"=x;(1+last i)#x;""]}string .z.f
raw:(65#"J";",")0:hsym`$dir,"data/digits.csv"
x:1797 1 8 8#"e"$(raze flip -1_raw)%16
y:last raw
n:1297

q:module seq(`sequential; (`conv2d;1;16;3;`pad,1); (`batchnorm2d;16); `relu; (`maxpool2d;2);
  (`conv2d;16;32;3;`pad,1); (`batchnorm2d;32); `relu; (`maxpool2d;2); `flatten;
  (`drop;.4); (`linear;128;10))
m:model(q;loss`ce;opt(`sgd;q;.3;.8))
train(m;`batchsize`shuffle;32,1b); train(m;n#x;n#y);
test(m;`batchsize`metrics;500,`accuracy); test(m;n _ x;n _ y);

epochs:12; late:6
mean:dict()                                / the averaged weights, by name

/ an epoch; from epoch late on its weights go into the mean
fit:{[m;mean;late;e]
  l:run m;
  $[e=late;use[mean]copyparms m;e>late;avgparms(m;mean);];
  a:testrun m;
  -1"epoch ",(-2$string 1+e),"  loss ",.Q.fmt[6;4;l],"  accuracy ",.Q.fmt[5;1;a],"%",$[e<late;"";"  averaged"];
  a}
single:fit[m;mean;late]each til epochs

/ put the mean into the model; what its batch normalization knows of the data does not fit, so that is computed anew
if[not all copyparms(m;mean);'"not all weights were averaged"]
batchnorm m;
a:testrun m
-1"single epochs from ",.Q.f[1;min s]," to ",.Q.f[1;max s:late _ single],"%";
-1"accuracy of the mean ",.Q.f[1;a],"%";
