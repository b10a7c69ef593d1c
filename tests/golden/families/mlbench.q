/ mlbench_core's optimizers. Case files have its names of options; x`steps is how many steps the file has numbers of.
\d .golden.mlb
names:`weight_decay`by_layer`divide_before`agg_grad`grad_clip`sparse_grad_size`random_sparse`reuse_query`init_scale`scale_factor`scale_window`max_scale`min_scale`average_world!
 `decay`bylayer`before`agggrad`clip`k`random`reuse`init`factor`window`max`min`average
flags:`nesterov`bylayer`before`agggrad`amsgrad`random`reuse
whole:`k`rank`window
options:{[c]d:c;
  if[`betas in key d;d:(`betas _ d),`beta1`beta2!d`betas];
  d:(key[d]^names key d)!value d;
  d:(key d)!{$[x in flags;1f=y;x in whole;"j"$y;y]}'[key d;value d]; d}
/ options of an aggregation: one symbol instead of two flags
agged:{[d]a:$[1f~first d`average_custom;`custom;`world];
  ((key[d]except`average`average_custom)#d),enlist[`average]!enlist a}
/ what always averages over the world has no option for it: 1 says that it does, anything else stays to be refused
ofworld:{[d]$[1f~d`average;`average _ d;d]}
at:{[x;k]x[k]rank[]}
linear:{[w;b]m:module enlist(`linear;count first w;count w;0<count b); to(m;`double);
  parm(m;`weight;w); if[count b;parm(m;`bias;b)]; m}
parms_of:{(raze/)value dict parms x}
/ steps of a model with a loss: (parameters at the start;loss and parameters after each step)
train:{[x;m;o;go]X:at[x;`X]; Y:at[x;`Y];
  start:`t`params!(0;parms_of m);
  (start;{[m;o;go;X;Y;t]nograd o; backward l:mse(forward(m;X);Y); go[o;t-1];
    `t`loss_before`params!(t;tensor l;parms_of m)}[m;o;go;X;Y]each 1+til"j"$x`steps)}
\d .
mlbench_sign:{[x]t:tensor(x`w0;`grad); o:opt(`signsgd;t;.golden.mlb.options x`cfg);
  {[t;o;g]nograd t; backward(t;g); step o; tensor t}[t;o]each x`grads}
mlbench_central:{[x]m:.golden.mlb.linear[.golden.mlb.at[x;`W0];.golden.mlb.at[x;`b0]];
  o:opt(`$lower x`opt;m;.golden.mlb.options x`cfg);
  .golden.mlb.train[x;m;o;{[o;t]step o}]}
mlbench_custom:{[x]m:.golden.mlb.linear[.golden.mlb.at[x;`W0];.golden.mlb.at[x;`b0]];
  o:opt(`$x`base;m;.golden.mlb.options x`base_cfg);
  agg(o;.golden.mlb.agged .golden.mlb.options x`cfg);
  d:x`denom; .golden.mlb.train[x;m;o;$[0<type d;{[d;o;t]step(o;d t)}d;{[o;t]step o}]]}
mlbench_decentral:{[x]m:.golden.mlb.linear[.golden.mlb.at[x;`W0];.golden.mlb.at[x;`b0]];
  o:opt(`decentralizedsgd;m;(.golden.mlb.ofworld .golden.mlb.options x`cfg),enlist[`neighbors]!enlist"j"$.golden.mlb.at[x;`neighbors]);
  .golden.mlb.train[x;m;o;{[o;t]step o}]}
mlbench_sparse:{[x]m:.golden.mlb.linear[x`W0;()]; c:.golden.mlb.options x`cfg; c[`seed]:"j"$.golden.mlb.at[x;`np_seed_by_rank]-rank[];
  f:`centralizedsparsifiedsgd; if[`average in key c;c[`average]:1f=c`average];
  o:opt(f;m;c); p:.golden.mlb.parms_of m; X:.golden.mlb.at[x;`X]; Y:.golden.mlb.at[x;`Y];
  one:{[m;o;X;Y;t]nograd o; backward l:mse(forward(m;X);Y); step o; estimated(o;t-1);
    b:first exec buffers from state[o]`parms;
    `t`loss_before`params`memory`estimated!(t;tensor l;.golden.mlb.parms_of m;raze b`memory;(raze/)vector estimated o)};
  start:`t`params!(0;.golden.mlb.parms_of m); (start;one[m;o;X;Y]each 1+til"j"$x`steps)}
.golden.mlb.memories:{[o]b:exec buffers from state[o]`parms; b[;`memory]}
mlbench_power:{[x]d:"j"$x`dims; m:module seq(`sequential;(`linear;`a;d 0;d 1);`tanh;(`linear;`b;d 1;d 2));
  {parm(x;y;z)}[m]'[`a.weight`a.bias`b.weight`b.bias;"e"$x`init];
  o:opt(`powersgd;m;.golden.mlb.ofworld .golden.mlb.options x`cfg); X:"e"$.golden.mlb.at[x;`X]; Y:"e"$.golden.mlb.at[x;`Y];
  one:{[m;o;X;Y;t]nograd o; backward l:mse(forward(m;X);Y); step o; g:{grad parm(x;y)}[m]each parmnames m;
    mem:{$[count[raze x]=count raze y;y;0e*x]}'[g;.golden.mlb.memories o];
    `t`loss_before`params`update_grad`memory!(t;tensor l;.golden.mlb.parms_of m;(raze/)g;(raze/)mem)};
  start:`t`params!(0;.golden.mlb.parms_of m); (start;one[m;o;X;Y]each 1+til"j"$x`steps)}
mlbench_power_matrix:{[x]M:"e"$.golden.mlb.at[x;`M]; b:"e"$.golden.mlb.at[x;`bias];
  v:dict`w`b!(tensor(0e*M;`grad);tensor(0e*b;`grad));
  o:opt(`powersgd;v;(.golden.mlb.ofworld .golden.mlb.options x`cfg),enlist[`lr]!enlist 0f);
  {[v;o;M;b;t]nograd o; backward(tensor(v;`w);M); backward(tensor(v;`b);b); step o;
    `t`out`out_bias`memory!(t;grad tensor(v;`w);grad tensor(v;`b);first .golden.mlb.memories o)}[v;o;M;b]each 1+til"j"$x`rounds}
mlbench_orthogonalize:{[x]orthogonalize"e"$x}
.golden.mlb.scale:{[t;o;bad]nograd t; backward(t;$[bad;0w;0f]); step o; lossscale o}
mlbench_lossscale:{[x]c:(`init`factor`window!(32768f;2f;2000)),.golden.mlb.options[x`cfg],enlist[`min]!enlist 0f;
  t:tensor(enlist 0e;`half`grad); o:fp16(t;`sgd;c);
  if[`overflow in key x;:.golden.mlb.scale[t;o]each 1f=x`overflow];
  runs:x`overflow_runs; s:.golden.mlb.scale[t;o]each 1f=raze{("j"$y)#x}'[runs[;0];runs[;1]];
  i:where differ s; enlist[`changes]!enlist flip(1+i;s i)}
mlbench_fp16:{[x]m:module enlist(`linear;count first x`w0;count x`w0); parm(m;`weight;x`w0); parm(m;`bias;x`b0); to(m;`half);
  o:fp16(m;(`$x`base;.golden.mlb.options x`base_cfg);.golden.mlb.agged .golden.mlb.options x`cfg);
  n:count raze x`w0; sizes:count each x`w0; d:x`denom;
  one:{[m;o;n;k;d;mu;t;g]nograd o; backward(parm(m;`weight);k cut n#g); backward(parm(m;`bias);n _ g); u:lossscale o;
    s:step(o;$[0<type d;d t;::];mu);
    `t`scale_used`scale_after`updated`master`half!(1+t;u;lossscale o;s;first vector masters o;.golden.mlb.parms_of m)};
  g:x[`grads_half_scaled][;rank[]];
  one[m;o;n;first sizes;d;x`multiplier]'[til count g;g]}
