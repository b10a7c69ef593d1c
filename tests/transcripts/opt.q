/ a network learns a line, two groups with rates of their own
q)seed 3
q)m:module seq(`sequential;(`linear;`a;1;4);`tanh;(`linear;`b;4;1))
q)o:opt(`adamw;(m;`a);.05)
q)opt(o;1;(m;`b);.02;`decay,0)
q)opt[(o;0b)]`options
lr   decay
----------
0.05 0.01
0.02 0
q)select parmgroup,module,name,size from opt[o]`parms
parmgroup module name     size
------------------------------
0         linear a.weight 4 1
0         linear a.bias   ,4
1         linear b.weight 1 4
1         linear b.bias   ,1
q)u:"e"$.1*flip enlist til 10
q)w:"e"$2*u
q)f:{zerograd o; backward l:mse(forward(m;u);w); step o; return l}
q)r:f each til 60
q)(last r)<.1*first r
1b
q)(size o;tensorcount o;elements o;bytes o)
4 8 30 136
/ halve the rates; what torch refuses is refused, and changes nothing
q)lr(o;.5*lr o)
q)lr o
0.025 0.01
q)opt(o;1;();`eps,-1.)
'opt: Invalid epsilon value: -1
  [0]  opt(o;1;();`eps,-1.)
       ^
q)lr(o;.1 .2 .3)
'lr: length error: 3 learning rates given for 2 parameter groups
  [0]  lr(o;.1 .2 .3)
       ^
q)opt[o][`options;`eps]
1e-08 1e-08
/ saved and made again, it goes on as if nothing had been
q)s:state o
q)n:module state m
q)p:opt(s;n)
q)s~'state p
optimizer| 1
options  | 1
parms    | 0
q)s[`parms]~''state[p]`parms
parmgroup pointer module name size buffers
------------------------------------------
1         0       1      1    1    1
1         0       1      1    1    1
1         0       1      1    1    1
1         0       1      1    1    1
q)r1:f each til 5
q)m:n; o:p
q)r2:f each til 5
q)r1~r2
1b
/ a single tensor and LAMB: the gradient keeps its values
q)t:tensor(3 4f;`grad)
q)o:opt(`lamb;t;.1;`trustmax,10.)
q)backward Sum t
q)step o
q)grad t
1 1f
q)tensor t
2.646447 3.646447
q)last exec buffers from state[o]`parms
step      | 1
exp_avg   | 0.07071068 0.07071068
exp_avg_sq| 0.0005 0.0005
/ optimizers that need the loss are stepped by a model
q)step opt`lbfgs
'LBFGS optimizer requires model, loss & inputs
  [0]  step opt`lbfgs
       ^
/ several objects, one container
q)o:opt(`sgd;t;.1;.9)
q)opt(o;1;module enlist(`linear;`fc;2;1))
q)childnames module o
`parms`fc
q)exec name from opt[o]`parms
`parms.0`fc.weight`fc.bias
q)opt(o;1;module enlist(`linear;`fc;3;1))
'opt: a linear module named `fc already registered with the optimizer
  [0]  opt(o;1;module enlist(`linear;`fc;3;1))
       ^
q)size o
3
q)free o
q)lr o
'stale pointer
  [0]  lr o
       ^
hint: the optimizer was freed by: free o
