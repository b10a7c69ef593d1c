/ Handwritten digits read like a text: an LSTM gets an image row by row and says at the end which digit it was.
/ Data: data/README.md. The first 1,297 images train, the last 500 test.

setting(`threads;1)
seed 7
dir:{$[count i:where"/"=x;(1+last i)#x;""]}string .z.f
raw:(65#"J";",")0:hsym`$dir,"data/digits.csv"
x:1797 8 8#"e"$(raze flip -1_raw)%16
x:x,''flip each x                          / a place of the sequence: a row, and the column of that number
y:last raw
n:1297

/ recur passes the LSTM's output on to the layers after it, and keeps its state
q:module`recur
module(q;1;(`lstm;`read;16;64;2;1b;1b;.3)) / 16 pixels a place, 64 hidden, 2 layers, bias, batch first, dropout
module(q;1;`sequential`judge)
module(q;2;(`select;`last;1;-1))           / what it knows after the last row
module(q;2;(`linear;`decide;64;10))
-1 str q;

m:model(q;loss`ce;opt(`adamw;q;.01))
train(m;`batchsize`shuffle`hidden;(32;1b;0b))  / states of one batch are not those of the next
train(m;n#x;n#y);
test(m;`batchsize`metrics;(500;`accuracy))
test(m;n _ x;n _ y);

fit:{[m;e]
  lr(m;.01*.75 xexp e);
  l:run m;
  -1"epoch ",(-2$string 1+e),"  loss ",.Q.fmt[6;4;l],"  accuracy ",.Q.fmt[5;1;testrun m],"%";}
fit[m]each til 12;

/ how much is known on the way: the accuracy when the sequence ends after so many places
known:{[m;x;y;n]100*avg y={x?max x}each first evaluate(m;n#'x)}
show([]places:1+til 8;accuracy:{.1*floor .5+10*x}known[m;n _ x;n _ y]each 1+til 8)
-1"accuracy ",.Q.f[1;testrun m],"%";
