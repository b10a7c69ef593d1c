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
count run m  / 1
count run m  / 3
test(m;t;"select a,b,y from t")  / 1
testrun m;  /
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
