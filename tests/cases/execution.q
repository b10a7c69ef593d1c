/ autocast
m:module seq(`sequential;(`linear;`a;2;8);`tanh;(`linear;`b;8;1))  /
dtype autocast(`bfloat16;forward;(m;3 2#1e))  / `bfloat16
dtype autocast(`float16;forward;(m;3 2#1e))  / `half
dtype autocast(`bfloat16;{mse(forward(x;y);z)};m;3 2#1e;tensor 3 1#1e)  / `float
dtype forward(m;3 2#1e)  / `float
f:{dtype forward(x;y)}  /
autocast(`bfloat16;`f;m;3 2#1e)  / `bfloat16
autocast(`bfloat16;"{dtype forward(x;y)}";m;3 2#1e)  / `bfloat16
autocast(`half;{5})  / 5
autocast(`half;{'foo};1)  / 'foo
dtype forward(m;3 2#1e)  / `float
autocast(`float;{x};1)  / 'autocast: unrecognized data type `float, expecting one of `bfloat16`half
autocast(1;{x};1)  / 'autocast: expected symbol for data type, given long scalar
autocast(`half;1;1)  / 'autocast: expecting function, its name or text, given long scalar
autocast(`half;m;1)  / 'autocast: expecting function, its name or text, given module
autocast`half  / 'autocast: expecting (data type;function;argument;..), given 1 arg
/ calculating again
y:evaluate(m;3 2#1e)  /
k:module m  /
checkpoint m  / 0b
checkpoint(m;`a`b;1b)  /
checkpoint(m;`a`1`b)  / 101b
checkpoint(m;`a)  / 1b
checkpoint(m;1b)  /
checkpoint m  / 1b
y~evaluate(m;3 2#1e)  / 1b
k~module m  / 1b
objtype m  / `sequential
checkpoint clone m  / 1b
checkpoint module state m  / 0b
backward Sum forward(m;3 2#1e)  /
g:exec grad from parmtable m  /
checkpoint(m;0b);checkpoint(m;`a`b;0b)  /
nograd m;backward Sum forward(m;3 2#1e)  /
g~exec grad from parmtable m  / 1b
checkpoint(m;`a`b)  / 00b
checkpoint(m;`q)  / 'checkpoint: no module named `q
checkpoint(m;`)  / 'checkpoint: no module named `
checkpoint(m;1)  / 'checkpoint: expected name(s) or flag, given long scalar
checkpoint(m;`a;1)  / 'checkpoint: expected boolean scalar, given long scalar
checkpoint(m;`a;1b;2)  / 'checkpoint: expecting up to 3 args, given 4
checkpoint 3  / 'checkpoint: expecting module or model, given long scalar
l:module seq(`sequential;(`lstm;4;3))  /
x:tensor(`randn;2 5 4);h:tensor(`randn;1 5 3);c:tensor(`randn;1 5 3)  /
r:vector forward(l;x;h;c)  /
checkpoint(l;1b)  /
r~vector forward(l;x;h;c)  / 1b
/ without a graph of gradients
x:tensor(1 2e;`grad);gradflag each(nograd({x*y};x;x);nograd(add;(x;x));x*x)  / 001b
nograd({'`abc};x)  / 'abc
gradflag x*x  / 1b
nograd({x})  / 'nograd: need allocated torch object, e.g. tensor, module, given lambda
nograd(`add;x)  / 'nograd: need allocated torch object, e.g. tensor, module, given general list
