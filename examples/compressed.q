/ Several processes train a classifier of real handwritten digits: with whole gradients, and with compressed ones.
/ Run it by kshell -n 2 compressed.q; with one process it works too. Data: data/README.md.
/ The first 1,297 images train, each process has its share of them; the last 500 test.

setting(`threads;1)
dir:{$[count i:where"/"=x;(1+last i)#x;""]}string .z.f
raw:(65#"J";",")0:hsym`$dir,"data/digits.csv"
ntrain:1297
x:"e"$(flip -1_raw)%16; y:last raw
X:tensor shard ntrain#x; Y:tensor shard ntrain#y; size:"j"$ntrain div world[]
xtest:tensor ntrain _ x; ytest:ntrain _ y

/ three ways to the same weights: all of the gradient, matrices of rank 2, and some coordinates of what is remembered
ways:`whole`matrices`coordinates!(
  (`centralizedsgd;.1;.9);
  (`powersgd;.1;.9;`rank`reuse`always!(2;1b;1b));
  (`centralizedsparsifiedsgd;.5;`k`random!(100;1b)))

accuracy:{[m]100*avg ytest={x?max x}each evaluate(m;xtest)}

/ train from the same start by one of the ways: mean loss of the last epoch, accuracy, bytes a step that were sent
train1:{[way]
  seed 5; system"S 5";
  m:module seq(`sequential;(`linear;`a;64;64);`relu;(`linear;`b;64;10));
  broadcast(m;0);
  o:opt(way 0;m),1_way;
  one:{[m;o;i]nograd o; l:ce(forward(m;X i);Y i); backward l; step o; return l};
  before:traffic[]`bytes; n:0; loss:0f;
  do[15;w:20 cut neg[size]?size; n+:count w; loss:avg one[m;o]each w];
  `loss`accuracy`bytes!(avg allgather loss;accuracy m;(traffic[][`bytes]-before)%n)}

-1"processes ",string world[];
r:train1 each ways
t:([]way:key ways),'value r
\P 4
-1 .Q.s update share:bytes%first bytes from t;
lost:0|first[t`accuracy]-min t`accuracy
-1"accuracy ",.Q.f[1;first t`accuracy],"%, lost by compression ",.Q.f[1;lost],"%";
