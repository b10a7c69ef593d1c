/ Scaling rules and the gradient noise scale through scale, backward, step and gns.
\d .golden.adaptdl
/ a group for each tensor
optimizer:{[p;lr;mom]o:opt(`sgd;p 0;lr 0;mom); {[o;i;p;r]opt(o;i;p;r)}[o]'[1_til count p;1_p;1_lr]; o}
extra:{[x]d:$[`accum_scale in key x;enlist[`accum]!enlist x`accum_scale;()!()];
  if[`mp_scale in key x;d[`lossscale]:x`mp_scale];
  if[`legw in key x;d:(`epochs`size`batch!"fjj"$x[`legw]`base_warmup_epochs`data_size`batch_size),d]; d}
loss:{[p;g;k]mul({add(x;y)}over{Sum mul(x;y)}'[p;g];k)}
one:{[x;p;o;s;t;g]c:$[`set_accum_scale_before_step in key x;x`set_accum_scale_before_step;()!()];
  if[(`$string t)in key c;scale(s;`accum,c`$string t)];
  lr0:lr o;
  {[p;s;k;g]backward(s;loss[p;g;k])}[p;s;$[`mp_scale in key x;x`mp_scale;1f]]each g;
  made:not 0b~step s; zerograd s;
  if[not lr0~lr o;'"rates not restored"];
  r:`t`scale`factor`sqr_avg`var_avg`gain`progress!t,(gns s)`scale`factor`sqr`var`gain`progress;
  r,`params`skipped!("f"${$[0h=type x;raze x;x]}each tensor each p;not made)}
\d .
adaptdl_runs:{[x]me:"J"$.golden.me;
  p:{tensor("e"$x;`grad)}each x`init;
  o:.golden.adaptdl.optimizer[p;x`lr_by_group;x`momentum];
  s:scale(o;`$x`rule;.golden.adaptdl.extra x);
  g:{[me;t]{[me;a]"e"$'a me}[me]each t}[me]each x`grads;
  .golden.adaptdl.one[x;p;o;s]'[1+til count g;g]}
adaptdl_rules:{[x]n:$[`var_avg in key x;count x`var_avg;1];
  o:.golden.adaptdl.optimizer[n#{tensor(1#0e;`grad)}each til n;n#.1;0f];
  e:$[`progress in key x;`epochs`size`batch!"fjj"$x`base_warmup_epochs`data_size`batch_size;()!()];
  st:state scale(o;`$x`rule;e);
  if[`var_avg in key x;st[`state;`var]:x`var_avg; st[`state;`sqr]:x`sqr_avg];
  if[not`progress in key x;t:gns(scale(o;st);x`scales); :`factor`gain!(t`factor;t`gain)];
  enlist[`factor]!enlist{[o;st;k;p]st[`state;`progress]:p; exec factor from gns(scale(o;st);k)}[o;st;x`scales]each x`progress}
