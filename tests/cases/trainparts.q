/ functions of q as parts of training, with nothing of Python
q:module enlist(`linear;2;1)  /
x:tensor(6 2#1 2 3e);y:tensor(6 1#1 0e);p:copyparms q  /
f:{[l]copyparms(q;p);m::model(q;l;opt(`sgd;q;.1));train(m;`batchsize`metrics;(2;`batchloss));train(m;x;y)}  /
f loss`mse  / 3
a:run m  /
f {avg d*d:x-y}  / 3
a~run m  / 1b
f mse  / 3
a~run m  / 1b
loss m  / mse
f {x-y}  / 3
run m  / 'loss: expected a tensor of one number, given one of size 2 1
f {[x;y]2}  / 3
run m  / 'loss: expected a tensor of one number, given a int
f {[x]avg x}  / 3
run m  / 'rank
f `mse  / 'model arg[1] unrecognized: symbol scalar (expected model(module;loss;optimizer))
f[::]  / 3
run m  / 'run: the output is a Tensor without a loss, but the model has no other loss
f loss`mse  / 3
/ data from a function
i:0;b:2 cut tensor x;c:2 cut tensor y  /
train(m;{[]i+:1;$[4=i;[i::0;::];(b i-1;c i-1)]})  / 0N
a~run m  / 1b
datasize m  / 0N
train(m;`batchsize;3)  / 'train: batchsize has no meaning while the function makes the batches
train(m;`shuffle`droplast;11b)  / 'train: shuffle has no meaning while the function makes the batches
shuffle m  / 'shuffle: the function has an order of its own
forward m  / 'forward: the data comes batch by batch from the function: give inputs, show a batch by batch, or go through it by run
batch m  / 1b
(tensor input m)~b 0  / 1b
size forward m  / 2 1
(data m)~(b 0;c 0)  / 1b
restore m  / 0N
i:0;{batch m}each til 4  / 1110b
i:0;r:();while[batch m;r,:backstep m];count r  / 3
run(m;{[]`a`b})  / 'run: a symbol list is no tensor, number, text, list or dictionary of them
run(m;{[]`ab})  / 'run: a batch is of class str, expected (input;target) or a dictionary of inputs by name
run(m;{[]3 4 5})  / 'run: mat1 and mat2 must have the same dtype, but got Long and Float
run(m;{[]'none})  / 'none
run(m;{[]::})  /
train(m;x;y)  / 3
/ options
train(m;`transform`callback`metric)  / transform| ::\ncallback | ::\nmetric   | ::
`transform in key train m  / 0b
train(m;`transform;{(x 0;0*x 1)})  /
train(m;`metric;`top`low!({[x;y]max max y};{[x;y]7}))  /
1_run m  / 0 7f
train(m;`metric;{[x;y]`a})  /
run m  / 'metric: expected a number, given a str
train(m;`metric;3)  / 'metric: expected a function, given long scalar
train(m;`metric;`loss`a!({x};{y}))  / 'metric: `loss is a metric of kshell: another name is needed
train(m;`metric;())  /
train(m;`transform;`f)  / 'transform: expected a function, given symbol scalar
train(m;`transform;())  /
s:0  /
train(m;`callback;{s+:x`batch})  /
count run m  / 3
s  / 6
test(m;`callback;{s::x})  /
test(m;x;y);testrun m;key s  / `batch`batches`loss`metrics
train(m;`callback;{if[2=x`batch;'late]})  /
run m  / 'late
train(m;`callback;1b)  / 'callback: expected a function, given boolean scalar
