/ operations
evaluate(module`cat;2 3#til 6;1 3#6 7 8)  / 0 1 2\n3 4 5\n6 7 8
evaluate(module enlist(`cat;1);2 1#1 2;2 1#3 4)  / 1 3\n2 4
options module`cat  / dim| 0
evaluate(module`cat;1 2)  / 'cat: 1 tensor(s) supplied, but at least 2 required
evaluate(module`cat;1 2;3;4)  / 'cat: 3 tensors supplied, but only 2 expected
evaluate(module`mul;1 2 3;10)  / 10 20 30
evaluate(module`matmul;(1 2 3.;4 5 6.);flip(1 2 3.;4 5 6.))  / 14 32\n32 77
evaluate(module enlist(`onehot;3);2 0)  / 0 0 1\n1 0 0
evaluate(module enlist(`onehot;3;`float);2 0)  / 0 0 1\n1 0 0
type first evaluate(module enlist(`onehot;3;`float);2 0)  / 8h
evaluate(module`onehot;0 2 1)  / 1 0 0\n0 0 1\n0 1 0
module enlist(`onehot;3;`x)  / 'onehot: unrecognized data type `x
evaluate(module enlist(`onehot;3);9)  / 'evaluate: Class values must be smaller than num_classes (given module, long 9)
evaluate(module enlist(`select;1;-1);3 4#til 12)  / 3 7 11
module enlist(`select;1)  / 'select: no index defined
evaluate(module enlist(`indexselect;0;0 2);3 4#til 12)  / 0 1 2  3\n8 9 10 11
options module enlist(`indexselect;0;0 2)  / dim| 0\nind| 0 2
buffernames module enlist(`indexselect;0;0 2)  / ,`ind
/ drop path
(evaluate(module enlist(`droppath;.5);3 1#1e))~3 1#1e  / 1b
seed 1;count distinct raze return forward(module enlist(`droppath;.5);50 1#1e)  / 2
max raze return forward(module enlist(`droppath;.75);50 1#1e)  / 4e
/ embeddings, attention
size forward(module enlist(`embedpos;8;12);3 7#21?8)  / 1 7 12
size forward(module enlist(`embedpos;8;12);3 9#0)  / 1 8 12
forward(module enlist(`embedseq;10;12;8);3 9#0)  / 'forward: embedseq: sequence of 9 is longer than the 8 positions (given module, long 3x9)
size forward(module(`residual;seq(`sequential;(`embedpos;4;9)));tensor(`randn;2 4 9))  / 2 4 9
parmnames module enlist(`embedseq;10;12;8)  / `tok.weight`pos.pos
size forward(module enlist(`embedseq;10;12;8);3 8#24?10)  / 3 8 12
module enlist(`embedseq;10;12)  / 'embedseq: positive sequence length required
a:module enlist(`selfattention;8;2;.2;1b)  /
options a  / dim    | 8\nheads  | 2\ndropout| 0.2\nnorm   | 1b
childnames a  / `norm`in`drop`out
x:tensor(`randn;2 5 8)  /
size forward(a;x)  / 2 5 8
m:triu((2#5)#-0we;1)  /
y:evaluate(a;x;m)  /
z:evaluate(a;narrow(x;1;0;3);m)  /
1e-5>max abs raze over z-3#'y  / 1b
module enlist(`selfattention;8;3)  / 'selfattention: model dimension of 8 not divisible by 3 heads
module enlist(`selfattention;8)  / 'selfattention: positive number of heads required
/ images
evaluate(module enlist(`zscore;.5;.25);.5 .75)  / 0 1f
evaluate(module enlist(`zscore;1 2f;1 2f);2 1 2#1 2 4 8f)  / 0 1\n1 3
buffernames module enlist(`zscore;.5;.25)  / `mean`stddev
evaluate(module enlist(`zscore;1;2);5 7f)  / 2 3f
module enlist(`zscore;1f)  / 'zscore: no stddev(s) defined
size forward(module enlist(`randomcrop;5;1);4 3 5 5#1)  / 4 3 5 5
size forward(module enlist(`randomcrop;2 3);5 5#1)  / 2 3
forward(module enlist(`randomcrop;9);5 5#1)  / 'forward: randomcrop: size 9x9, exceeds tensor dim(s) 5x5
options module enlist(`randomcrop;5;1)  / size   | 5\npad    | 1\npadmode| `constant\nvalue  | 0f
evaluate(module enlist(`randomflip;1f);2 3#til 6)  / 2 1 0\n5 4 3
evaluate(module enlist(`randomflip;1f;-2);2 3#til 6)  / 3 4 5\n0 1 2
evaluate(module enlist(`randomflip;0f);2 3#til 6)  / 0 1 2\n3 4 5
evaluate(module`randomflip;1 2 3)  / 'evaluate: randomflip: not implemented for 1-dim tensor
/ containers
m:module(`fork;`sigmoid;seq(`sequential;`relu))  /
childnames m  / `a`qb
evaluate(m;0 1e)  / 0.5 0.7310586\n0   1
module(m;1;`tanh)  / 'fork: cannot add Tanh module, both left & right forks already defined
evaluate(module`fork;enlist 1e)  / 1\n1
evaluate(module(`fork;1#`relu);-1 2e)  / 0  2\n-1 2
m:module(`residual;seq(`sequential;`mul;`relu))  /
evaluate(m;-1 0 1e;10e)  / -1 0 11e
module(m;1;`tanh)  /
childnames m  / `q1`fn
module(m;1;`relu)  / 'residual: cannot add ReLU module, activation function already defined
module(m;1;`sequential)  / 'residual: activation function already defined, cannot add a 2nd sequential module
module(`residual;1#`relu)  / 'residual: cannot add ReLU module until sequential module(s) defined
m:module(`residual;seq(`sequential;(`embed;8;12));seq(`sequential;(`embedpos;5;12)))  /
x:3 5#til 8  /
(evaluate(m;x))~add(evaluate(m;`q1;x);evaluate(m;`q2;x))  / 1b
m:module(`seqjoin;seq(`sequential`f;`relu);seq(`sequential`g;`sigmoid);`cat)  /
evaluate(m;-1 2 1e;0e+til 1)  / 0 2 1 0.5e
childnames m  / `f`g`join
module(`seqjoin;1#`cat)  / 'seqjoin: at least one sequential layer must be defined first
module(m;1;`mul)  / 'seqjoin: join layer already defined
m:module(`seqjoin;seq(`sequential;`relu);`matmul)  /
childnames m  / `qx`join
evaluate(m;-3 -2 -1 0 1 2 3e)  / 14e
evaluate(module(`seqjoin;seq(`sequential;`relu));1e)  / 'evaluate: seqjoin: join layer not defined (given module, real scalar)
m:module(`seqdict;(`sequential`a;`sigmoid`f);(`sequential`b;`cat`c;enlist(`reshape;`mat;2 -1)))  /
moduletypes m  /      | seqdict\na    | sequential\na.f  | sigmoid\nb    | sequential\nb.c  | cat\nb.mat| reshape
evaluate(m;0 0 0f;7f+til 1)  / 0.5 0.5\n0.5 7
module(m;1;`relu)  / 'seqdict: expecting sequential modules
m:module(`seqlist;seq(`sequential;`sigmoid);seq(`sequential;`mul);seq(`sequential;`mul))  /
evaluate(m;0 0e;10e)  / 50 50e
module(`seqlist;1#`relu)  / 'seqlist: expecting sequential modules
m:module(`transform;seq(`sequential;(`reshape;-1 1));seq(`sequential;`relu))  /
childnames m  / `train`eval
size forward(m;-1 2e)  / 2 1
evaluate(m;-1 2e)  / 0 2e
training m  / 1b
evaluate(module`transform;-1 2e)  / -1 2e
module(`transform;1#`relu)  / 'transform: cannot add ReLU module, expecting sequential block
c:enlist(`callback;"{[m;x]add(x;-1)}")  /
q:(`sequential;(`fork;(`sequential;1#`identity);(`sequential;c)))  /
evaluate(module q;1 2 3)  / 1 2 3\n0 1 2
evaluate(module(`nbeats;q;q;q);1 2 3)  / -2 -1 0
module(`nbeats;1#`relu)  / 'nbeats: not a sequential or list module
q:module(`recur;enlist(`lstm;4;6);seq(`sequential;(`linear;6;2)))  /
childnames q  / `lstm`out
options q  / detach| 1
size v:forward(q;tensor(`randn;3 5 4))  / 3 5 2\n1 5 6\n1 5 6
gradflag v  / 100b
vector(v;0;tensor(`randn;3 5 4));use[v]forward(q;v);count vector v  / 3
module(q;1;(`gru;1;1))  / 'recur: cannot add gru module, lstm module already defined
module(`recur;1#`relu)  / 'recur: unable to add ReLU, expecting sequential modules for input/output processing or recurrent module(lstm,gru,rnn)
size forward(module(`recur;enlist(`gru;4;6));tensor(`randn;3 5 4))  / 3 5 6\n1 5 6
forward(module`recur;3 4#1e)  / 'forward: recur: no recurrent lstm, gru or rnn module defined
/ callbacks
callbacks[]`fn  / "{[m;x]}"\n"{[m;x;y]}"\n"{[m;x;y;z]}"
f:{[m;x]mul(x;2e)}  /
m:module(`callback;`cb;`f)  /
evaluate(m;1 2e)  / 2 4e
str m  / "knn::Callback(fn=f, in=tensor, out=tensor)"
f:{[m;x]x}  /
evaluate(m;1 2e)  / 1 2e
evaluate(module enlist(`callback;"{[m;x;y] cat(x;y)}";`tensor`tensor);1 2 3;4 5)  / 1 2 3 4 5
evaluate(m;1e;2e)  / 'callback: 2 tensors supplied, but only 1 expected
f:{[m;x]1}  /
evaluate(m;1e)  / 'callback: f must return a tensor, given long scalar
f:{[m;x]'`bad}  /
evaluate(m;1e)  / 'bad
f:{[m;x]nosuch x}  /
evaluate(m;1e)  / 'nosuch
f:{[m;x]x+`a}  /
evaluate(m;1e)  / '+: no torch type found for k: symbol scalar
n:count obj[]  /
do[5;@[evaluate;(m;1e);0]]  /
n~count obj[]  / 1b
m:module(`callback;`cb;`g)  /
evaluate(m;1e)  / 'g
module(`callback;`cb)  / 'callback: no k function defined, 2nd symbol, `cb, defines callback module name
module enlist`callback  / 'callback: no k function defined
module enlist(`callback;5)  / 'callback function expected as symbol or string, given long scalar
module enlist(`callback;"{[m;x]x}";`tensor`tuple)  / 'callback in: expecting 1-3 symbols, each `tensor
module enlist(`callback;"{[m;x]x}";`tensor;`vector)  / 'callback out: expecting `tensor
m:module enlist(`callback;`cb;"{[m;x]parm(m;`x)}";(`parms;(`x;.5 2.5 3)))  /
parmnames m  / ,`x
m:model(m;loss`mse;opt(`lbfgs;m))  /
backstep(m;0;1 2 3f)  / 0.1666667
tensor parm(m;`x)  / 1 2 3f
m:module seq((`callback;`cb;`f);(`linear;`a;5;2);(`sigmoid;`b))  /
f:{[m;x]kforward(m;`b;kforward(m;`a;x))}  /
q:module seq(`sequential;(`linear;`a;5;2);(`sigmoid;`b))  /
{parm(q;x;parm(m;x))}each parmnames m;  /
x:tensor(`randn;3 5)  /
(evaluate(m;x))~evaluate(q;x)  / 1b
backward Sum forward(m;x);1b~not(::)~grad parm(m;`a.weight)  / 1b
cols state m  / `depth`module`name`options`parms`buffers
(state m)~state module state m  / 1b
size forward(module seq(`sequential;(`linear;5;5);(`callback;`f2;"{[m;x]sigmoid x}"));x)  / 3 5
/ functional forms
relu -1 0 1e  / 0 0 1e
t:tensor -1 2e  /
relu(t;1b)  /
tensor t  / 0 2e
tensor relu tensor -1 2e  / 0 2e
relu(-1 2e;1b)  / 0 2e
relu `a  / 'relu: expected tensor or array, given symbol scalar
relu(1 2e;3)  / 'relu inplace: expected boolean scalar, given long scalar
elu(-1 1f;`alpha,2f)  / -1.264241 1
threshold(1 2 3;2)  / 'threshold: both threshold level & replacement value must be given (given long list of 3, long 2)
softmax(2 2#0f;1)  / 0.5 0.5\n0.5 0.5
softmax(1 2#0f;`dim,0)  / 1 1
type softmax 0 0  / 8h
type softmax(0 0f;`float)  / 8h
softmax(0 0f;5)  / 'softmax: Dimension out of range (expected to be in range of [-1, 0], but got 5)
maxpool2d(1 4 4#"f"$til 16;2;`stride,1)  / 5  6  7  9  10 11 13 14 15
maxpool2d(1 4 4#"f"$til 16)  / 'maxpool2d: no kernel size given (given double 1x4x4)
maxpool2d(tensor(1 2 2#1f);2;`x,1)  / 'maxpool2d: unrecognized option `x (given double tensor 1x2x2, long 2, general list of 2)
linear(1 2f;2 2#1 2 3 4f;10 20f)  / 15 31f
linear(1 2f;1 3#1f)  / 'linear: mat1 and mat2 shapes cannot be multiplied (1x2 and 3x1)
onehot(0 1;2;`float)  / 1 0\n0 1
(help`onehot)`classes  / 10
key each last each(module module(`onehot;5);module module(`onehot;5;`long))  / ,`classes\n`classes`dtype
pad(1 2;1 0;7)  / 7 1 2
pad(1 2;1 0;`constant;7)  / 7 1 2
o:tensor 0#0.;normalize(3 4f;2;0;o);tensor o  / 0.6 0.8
pairwise(1 2#0f;1 2#3 4f;1)  / ,6.999998
interpolate(1 1 2#1 2f;`scale,2)  / 1 1 2 2
interpolate(1 1 2#1 2f;4;();`linear;1b)  / 1 1.333333 1.666667 2
interpolate(1 1 2#1 2f)  / 'interpolate: no output size or scale factor given (given double 1x1x2)
interpolate`a  / 'interpolate: expected tensor or array, given symbol scalar
normalize(2 2#3 4f)  / 0.6 0.8\n0.6 0.8
zscore(1 2 3f;2f;1f)  / -1 0 1f
/ pictures, storage, resolve
size makegrid(tensor(`ones;6 3 8 8);2)  / 3 22 32
size makegrid(tensor(`ones;6 8 8);0N;2;1)  / 3 28 19
first makegrid(3 1 1#1 2 3;2;2;1;9)  / 9 9 9 9 9\n9 1 9 2 9\n9 9 9 9 9\n9 3 9 9 9\n9 9 9 9 9
makegrid(3 1 1#1;0N;0N)  / 'makegrid: both rows & columns cannot be null (given long 3x1x1, long 0N, long 0N)
makegrid(3 1#1;2)  / 'makegrid: expecting 3 or 4-dimensional input, given size [3, 1]
makegrid(3 1 1#1;0)  / 'makegrid: rows is 0, expecting a positive long
makegrid 3  / 'makegrid: expecting 2-5 args, (x;rows;cols;pad;padvalue), given 1
png(`:p.png;3 2 2#0 128 255)  / `:p.png
4#read1`:p.png  / 0x89504e47
hdel`:p.png  / `:p.png
png(`:p.png;5 2 2#0)  / 'png: expecting 1-4 channels x height x width, given size [5, 2, 2]
png(`p;3 2 2#0)  / 'png: expecting (file symbol;tensor or array) (given `p, long 3x2x2)
t:tensor til 10  /
reset(t;2;2 3)  /
tensor t  / 2 3 4\n5 6 7
reset(t;0;3;2)  /
tensor t  / 0 2 4
reset(t;5)  /
tensor t  / 5 7 9
reset(t;6)  / 'reset: size [3] and stride [2] require total of 5 plus offset of 6 exceeds storage size of 10
reset(t;-1)  / 'reset: offset, sizes and strides cannot be negative (given long tensor 3, long -1)
reset(1 2 3;0)  / 'reset: tensor expected as 1st of at least two arguments (given long list of 3, long 0)
reset(t;`a)  / 'reset: offset (long) expected as 2nd argument, given symbol scalar
resolve(1;2;3)  / 1 2 3
result t  / 'result: not implemented for tensors
/ inputs go to the first child of a sequence, whatever it is
m:module((0;`sequential);(1;`seqjoin);(2;`sequential);(2;`sequential);(3;`relu);(2;`mul))  /
evaluate(m;2 3e;-1 4e)  / 0 12e
evaluate(m;1e;2e;3e)  / 'seqjoin: 3 tensors supplied, but only 2 expected
m:module(`sequential;(`residual;seq(`sequential;(`selfattention;4;2;0.;1b);`drop)))  /
size eforward(m;tensor(`randn;2 3 4);triu(3 3#-0we;1))  / 2 3 4
evaluate(module seq(`sequential;`relu;`sigmoid);1e;2e)  / 'relu: 2 tensors supplied, but only 1 expected
/ names in lists, options of callbacks, counts of inputs
names module(`seqlist;`sequential`a;`sequential`b)  / `0`1
names module(`nbeats;`sequential`a;`sequential`b)  / `0`1
moduletypes module(`seqdict;`sequential`a;`seqnest`a)  /  | seqdict\na| seqnest
forward(module(`recur;enlist(`lstm;4;2));3 5 4#1e;1 5 2#0e)  / 'forward: recur: lstm takes 1 or 3 tensors, 2 given
forward(module(`recur;enlist(`gru;4;2));3 5 4#1e;1 5 2#0e;1 5 2#0e)  / 'forward: recur: gru takes 1 or 2 tensors, 3 given
first exec options from module(module enlist(`callback;"{[m;x]x}");0b)  / fn| "{[m;x]x}"
m:module enlist(`callback;`c;"{[m;x;y]x}";`tensor`tensor;`tensor;(`a`b;(1 2e;3e)));first exec options from module(m;0b)  / fn   | "{[m;x;y]x}"\nin   | `tensor`tensor\nparms| `a`b!(1 2e;3e)
first exec options from state(m;0b)  / fn| "{[m;x;y]x}"\nin| `tensor`tensor
(state m)~state module state(m;0b)  / 1b
/ options of our own types
o:{exec options from module module enlist x}  /
o each((`indexselect;0;2);(`indexselect;0;enlist 2);(`indexselect;0;tensor 0 2))  / dim ind\n-------\n0   2\n0   ,2\n0   0 2
evaluate(module enlist(`indexselect;1;1);2 3#til 6)  / 1\n4
module enlist(`indexselect;0;2f)  / 'indexselect ind: long(s) expected, given double(s)
module enlist(`indexselect;0;2 2#0)  / 'indexselect: expecting scalar index or 1-dim list, given 2-d tensor
module enlist(`onehot;-2)  / 'onehot: number of classes must be nonnegative or set to -1 to derive from input
o(`zscore;1 2;3)  / mean   | 1 2f\nstd    | 3f\ninplace| 0b
module enlist(`zscore;110b;2)  / 'zscore mean: double(s) expected, given bool(s)
module enlist(`zscore;();2)  / 'zscore: no mean(s) defined
zscore(3 5f;1;2)  / 1 2f
module enlist(`randomcrop;0)  / 'randomcrop: positive cropping height & width not given
interpolate(1 1 2#1 2f;();2f;`area)  / 1 1 2 2
interpolate(1 1 2#1 2f;4;2)  / 'interpolate: both output size and scale factor given
avgpool1d(1 4#1 2 3 4e;2;2;0;0b;1b;1)  / 3 7
avgpool1d(1 5#1 2 3 4 5e;2;2;0;1b;1b;1)  / 3 7 5
pad(1 2f;1)  / 'pad: 1 pad size(s) given, expecting pairs for left,right or left,right,top,bottom..
linear(1 2 3f;2 3#1f;())  / 6 6f
layernorm(1 3f;2;();();1f)  / -0.7071068 0.7071068
/ gradients go through calls in place
w:tensor(-1 2e;`grad)  /
y:mul(w;2e);relu(y;1b);backward Sum y  /
grad w  / 0 2e
relu(w;1b)  / 'relu: a leaf Variable that requires grad is being used in an in-place operation (given float tensor 2, boolean scalar)
(hardtanh(1 5f;0;2);hardtanh(1 5f;0;2f);hardtanh(1 5f;0;2;1b);hardtanh 1 5f)  / 1 2\n1 2\n1 2\n1 1
/ masks of more dimensions
a:module enlist(`selfattention;8;2)  /
x:tensor(`randn;2 5 8)  /
m:triu((2#5)#-0we;1)  /
1e-6>max abs raze over(evaluate(a;x;m))-evaluate(a;x;2 1 5 5#raze m,m)  / 1b
evaluate(module(`nbeats;seq(`sequential;`relu));1 2e)  / 'evaluate: nbeats: a block must give two tensors, backcast and forecast (given module, real list of 2)
evaluate(module`nbeats;1 2e)  / 'evaluate: nbeats: no modules defined for forward calculation (given module, real list of 2)
/ each sequence of a residual module gets the inputs that it takes
m:module(`residual;seq(`sequential;(`linear;2;2));seq(`sequential;`mul))  /
(evaluate(m;1 2#1e;1 2#3e))~3+evaluate(m;`q1;1 2#1e)  / 1b
evaluate(m;1 2#1e;1 2#3e;1 2#0e)  / 'evaluate: residual: 3 inputs, but its modules take at most 2
m:module(`seqlist;(`sequential;(`residual;seq(`sequential;(`embed;9;4));seq(`sequential;(`embedpos;5;4))));(`sequential;(`selfattention;4;2)))  /
size forward(m;2 5#10?9;triu(5 5#-0we;1))  / 2 5 4
/ tensors as parameters of a callback; a parameter of another module is shared
e:module enlist(`embed;4;2);w:parm(e;`weight)  /
m:module enlist(`callback;"{[m;x]matmul(x;transpose parm(m;`weight))}";`tensor;`tensor;`weight`b!(w;tensor 1 2e))  /
(same(w;parm(m;`weight));tensor parm(m;`b))  / 1b\n1 2e
backward Sum forward(m;1 2#1e);grad w  / 1 1\n1 1\n1 1\n1 1
tensor parm(module enlist(`parmdict;enlist[`a]!enlist tensor 1 2e);`a)  / 1 2e
/ a text is evaluated once, the names in it are looked up each time
k:2;m:module enlist(`callback;"{[m;x]k*x}");a:evaluate(m;1 2e);k:5;(a;evaluate(m;1 2e);evaluate(clone m;1 2e))  / 2 4\n5 10\n5 10
/ a lambda as the function of a callback: its text, and as many inputs as it has
m:module enlist(`callback;{[m;x]x*parm(m;`w)};`parms,enlist(enlist`w)!enlist 2 3e);evaluate(m;4 5e)  / 8 15e
m:module enlist(`callback;{[m;x;y]x+y});(first exec options from module(m;0b))`in  / `tensor`tensor
m:module enlist(`callback;{[m;x;y]x+y});evaluate(module state m;4 5e;1 2e)  / 5 7e
m:module((`callback;`c;{[m;x]kforward(m;`a;x)});enlist(`linear;`a;2;1));size forward(m;2 2#1e)  / 2 1
module enlist(`callback;+)  / 'callback function expected as symbol or string, given operator
