/ A network whose forward calculation is written in q: two experts, and a gate that decides image by image how much each
/ of them has to say. The experts see what they are good at: one the rows of the image, the other its columns.
/ Data: data/README.md. The first 1,297 images train, the last 500 test.

setting(`threads;1)
seed 3
dir:{$[count i:where"/"=x;(1+last i)#x;""]}string .z.f
raw:(65#"J";",")0:hsym`$dir,"data/digits.csv"
x:1797 1 8 8#"e"$(raze flip -1_raw)%16
y:last raw
n:1297

/ called by every forward calculation with the module and the input; the children of the module do the rest
mix:{[m;x]
  g:kforward(m;`gate;x);
  (g*kforward(m;`rows;x))+(1-g)*kforward(m;`cols;x)}

/ an expert: a convolution over a whole row or column, so that 8 places are left, then linear layers
expert:{[name;size]
  seq(`sequential,name; (`conv2d;1;16;size); `relu; `flatten; (`linear;128;32); `relu; (`linear;32;10))}
gate:seq(`sequential`gate; `flatten; (`linear;64;1); `sigmoid)
q:module((`callback;`experts;`mix;`tensor); gate; expert[`rows;1 8]; expert[`cols;8 1])
m:model(q;loss`ce;opt(`adamw;q;.01))
train(m;`batchsize`shuffle;32,1b); train(m;n#x;n#y);
test(m;`batchsize`metrics;500,`accuracy); test(m;n _ x;n _ y);

fit:{[m;e]
  lr(m;.01*.8 xexp e);
  l:run m;
  -1"epoch ",(-2$string 1+e),"  loss ",.Q.fmt[6;4;l],"  accuracy ",.Q.fmt[5;1;testrun m],"%";}
fit[m]each til 10;

/ which expert is asked for which digit
asked:first each evaluate(m;`gate;n _ x)
show select images:count i,rows:.01*floor .5+100*avg asked by digit from([]digit:n _ y;asked)
-1"accuracy ",.Q.f[1;testrun m],"%";
