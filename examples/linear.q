/ Least squares by gradient descent, written out: q's operators on tensors, and the gradient used by hand.
/ The answer is compared with lsq, q's own.

system"S 7"
n:500
x:flip"e"$(n#1f;n?1f;n?1f)                   / a column of ones and two of data
w:-1 2 3e                                    / what is to be found
y:(x mmu w)+"e"$.01*(n?1f)-.5

X:tensor x; Y:tensor flip enlist y
W:tensor(3 1#0e;`grad)

/ one step: loss, gradient, and the weights moved against it; tensors made on the way free themselves
fit:{[rate]
  e:Y-X mmu W; l:avg e*e;
  backward l;
  amend(W;tensor[W]-rate*grad W);
  zerograd W;
  first return l}

do[600;r:fit .5]
-1"loss      ",.Q.f[6]r;
-1"descent   "," "sv .Q.f[3]each raze tensor W;
-1"lsq       "," "sv .Q.f[3]each first enlist[y]lsq flip x;
far:max abs raze[tensor W]-first enlist[y]lsq flip x
-1"largest difference ",.Q.f[4]far;
