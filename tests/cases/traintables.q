/ tables as the data of models
t:([]a:til 10;b:10#1 2f;s:10#`u`v;y:10#0 1f)  /
q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q;.1));train(m;`batchsize`metrics;(4;`batchloss))  /
train(m;t;"select a,b,y from t")  / 3
datasize m  / 10
count run m  / 3
count run(m;t;"select a,b,y from t where a<4")  / 1
train(m;t;"select a,b,y from t where a<4")  / 0N
datasize m  / 0N
train(m;delete s from t)  / 3
train(m;t;`x`y!(`a`b;`y))  / 3
train(m;t;`x`y!(`a`s;`y))  / 3
first batch m  / 1b
tensor input m  / 0 0\n1 1\n2 0\n3 1
tensor target m  / 0\n1\n0\n1
train(m;t;`x`y`vocabulary!(`a`s;`y;enlist[`s]!enlist`v`u))  / 3
batch m  / 1b
tensor input m  / 0 1\n1 0\n2 1\n3 0
u:update b:0n from t where i=2  /
train(m;u;`x`y!(`a`b;`y))  / 'rows 0 to 9 of the table: column b has a null in row 2
train(m;u;`x`y`nulls!(`a`b;`y;`drop))  / 0N
count run m  / 3
train(m;u;`x`y`nulls!(`a`b;`y;-1))  / 3
train(m;t;"2+2")  / 'train: expected a query of one table, as "select x,y from t where ...", given "2+2"
train(m;`:nothing)  / 'train: no table at nothing (given nothing)
train(m;t;enlist[`x]!enlist`nope)  / 'train: x: no column nope
/ a query that needs all rows
train(m;t;"select avg a,avg b,first y by s from t")  / 1
train(m;t;"select a:deltas a,b,y from t")  / 3
/ the place in a pass
train(m;delete s from t)  / 3
train(m;`callback;{if[2=x`batch;'stopped]})  /
@[run;m;{x}]  / "stopped"
train(m;`callback;{})  /
batch(m;0)  /
tensor input m  / 0 1\n1 2\n2 1\n3 2
batch[m;2]  /
tensor input m  / 8 1\n9 2
batch(m;3)  / 'batch: there is no batch 3 in this pass, which has 3, from 0
count run m  / 1
count run m  / 3
batch(m;1)  /
batch m  / 1b
tensor target m  / 0\n1
batch m  / 0b
train(m;t;"select a,b,y from t where a>3")  / 0N
batch(m;1)  /
tensor input m  / 8 1\n9 2
batch(m;2)  / 'batch: there is no batch 2 in this pass
test(m;t;"select a,b,y from t")  / 1
testbatch(m;0)  /
size testinput m  / 10 2
testrun m;  /
/ a loss that is no number: the batch is shown by the number that the message names
u:update b:0w from t where i=5  /
train(m;`stopnan;1b);train(m;u;"select a,b,y from u")  / 3
run m  / 'run: the loss is inf in batch 2 of 3; stopnan is set, so no step was made by it
batch(m;1)  /
last each tensor input m  / 1 0w 1 2e
train(m;`stopnan;0b)  /
/ rows that are left out
train(m;`transform`skip;(();()));train(m;t;"select a,b,y from t")  / 3
(::)~train(m;`skip)  / 1b
train(m;`skip;"select from t where a in 1 2")  /
train(m;`skip;"s=`v")  /
select epoch,batch,rows,query from train(m;`skip)  / epoch batch rows query\n-----------------------------------------------\n0     0     2    "select from t where a in 1 2"\n0     0     5    "s=`v"
cols train(m;`skip)  / `time`epoch`batch`rows`query
datasize m  / 4
batch(m;0)  /
tensor input m  / 0 1
count run m  / 3
train(m;`skip;1#train(m;`skip))  /
datasize m  / 8
last key train m  / `skip
train(m;`skip;"nope=1")  / 'skip: the table has no column nope, only a, b, s, y (given "nope=1")
train(m;`skip;"select from t")  / 'skip: expected "select from t where .." or its condition, given "select from t"
train(m;`skip;"a>")  / 'skip: "a>": type
train(m;`skip;3)  / 'skip: expected a query, as "select from t where ..", or several, given long scalar
train(m;4 2#1e;4 1#1e)  / 'train: skip leaves out rows of tables: train(m;`skip;[]) before other data
train(m;`skip;[])  /
datasize m  / 10
train(m;t;"select nope from t")  / 'train: the table has no column nope, only a, b, s, y (given "select nope from t")
train(m;t;"select a,y from t where nope>2")  / 'train: the table has no column nope, only a, b, s, y (given "select a,y from t where nope>2")
/ the place in a state
f:{[w]m:model(q;loss`mse;opt(`sgd;q;.1));train(m;`batchsize`shuffle`shuffleseed;(w;1b;5));m}  /
m:f 4;key state m  / `module`loss`optimizer`train`test
train(m;t;"select a,b,y from t");(state m)[`place;`epoch`batch`seed`batchsize]  / 0 0 0N 4
train(m;`callback;{if[2=x`batch;'stopped]});@[run;m;{x}]  / "stopped"
key (s:state m)`place  / `epoch`batch`seed`batchsize`generator
s[`place;`epoch`batch`seed`batchsize]  / 1 2 5 4
batch(m;2);x:tensor input m  /
n:f 4;putstate(n;s);`place in key state n  / 0b
train(n;t;"select a,b,y from t");putstate(n;s);(state n)[`place;`epoch`batch]  / 1 2
batch(n;2);x~tensor input n  / 1b
count run(n)  / 1
(state n)[`place;`epoch`batch]  / 1 0
n:f 5;train(n;t;"select a,b,y from t");putstate(n;s)  / 'putstate: the place is batch 2 of 4 rows each, the model's batchsize is 5
putstate(n;`module`place!(s`module;1 2))  / 'putstate place: expected a place, as in `state m`, given long list
putstate(n;`module`place!(s`module;`epoch`batch`seed`batchsize!1 -2 3 4))  / 'putstate place: expected a number under batch, given -2
(state n)[`place;`epoch`batch`seed]  / 0 0 0N
unshuffle m;(state m)[`place;`batch`seed]  / 0 0N
/ rows by weight, and the sides of a split
w:([]id:10#`u`v`x;a:"f"$til 10;w:10#0 1f;y:10#0 1f)  /
p:module enlist(`linear;1;1);m:model(p;loss`mse;opt(`sgd;p));train(m;`batchsize`shuffleseed;4 3)  /
got:();train(m;`transform;{got,:first each tensor first x;x});test(m;`transform;{got,:first each tensor first x;x})  /
rows:{got::();x m;"j"$got}  /
train(m;delete id from w;enlist[`weight]!enlist`w)  / 3
count rows run  / 10
all(rows run)in 1 3 5 7 9  / 1b
rows[run]~rows run  / 0b
train(m;w;`x`y`weight!`a`y`id)  / 'rows 0 to 9 of the table: column id: expected numbers as weights, given symbol list
train(m;w;`x`y`weight!`a`y`v)  / 'train: weight: no column v
train(m;update w:-1f from w where a=7;`x`y`weight!`a`y`w)  / 'rows 0 to 9 of the table: column w has the weight -1 in row 7, expected finite weights, none below zero
train(m;update w:0n from w where a=7;`x`y`weight!`a`y`w)  / 'rows 0 to 9 of the table: column w has a null in row 7, expected finite weights, none below zero
train(m;update w:0f from w;`x`y`weight!`a`y`w)  / 'train weight: expected a sum above zero, given the column w, all of it 0
train(m;w;o:`x`y`split!(`a;`y;5))  / 2
rows run  / 0 1 2 3 5 6 7 8
test(m;w;o)  / 1
rows testrun  / 4 9
train(m;w;`x`y`split!(`a;`y;5 0))  / 2
rows run  / 1 2 3 4 6 7 8 9
train(m;w;`x`y`split`side!(`a;`y;5 0;3))  / 1
rows run  / 3 8
train(m;w;o:`x`y`split!(`a;`y;(`id;`x)))  / 0N
rows run  / 0 1 3 4 6 7 9
test(m;w;o)  / 0N
rows testrun  / 2 5 8
train(m;w;o:`x`y`split!(`a;`y;(.5;`id)));test(m;w;o);  /
(til 10)~asc rows[run],rows testrun  / 1b
train(m;w;`x`y`split!(`a;`y;.5 1.5))  / 'train split: expected shares in ascending order, above 0 and below 1, given 0.5 1.5
train(m;w;`x`y`split!(`a;`y;1))  / 'train split: expected two folds or more, and the number of one of them from 0, given 1
train(m;w;`x`y`split`side!(`a;`y;.5;2))  / 'train side: expected `train, `test or the number of a piece, from 0 to 1, given 2
/ words have one number in training and testing
v:module enlist(`linear;1;1);m:model(v;loss`mse;opt(`sgd;v))  /
train(m;([]s:`u`v`u;y:1 2 3f))  / 1
test(m;([]s:`v`u;y:1 2f))  / 1
testbatch(m;0)  /
tensor testinput m  / 1\n0
test(m;([]s:`v`w;y:1 2f))  / 'rows 0 to 1 of the table: column s: 'w' is not in the vocabulary of 2 words
train(m;([]s:`w`v;y:1 2f))  / 1
batch(m;0)  /
tensor input m  / 2\n1
