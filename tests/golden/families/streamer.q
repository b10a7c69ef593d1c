/ STREAMER's optimizer: layers with a vector f and a vector p, losses half the squared norm of a.f+p-y.
\d .golden.streamer
/ zeros for a gradient that is missing
gradient:{$[(::)~g:grad x;0*tensor x;g]}
pad:{[n;x]n#x,n#0}
half:{[f;a;p;y]z:mul(p;1f); i:0; do[count f;z:add(z;mul(f i;a i));i+:1]; z:sub(z;y); mul(Sum mul(z;z);.5)}
one:{[x;o;f;p;y;t]
  n:$[`initial_layers in key x;x[`initial_layers]+sum t>=x`layer_added_before_step;count f]; n:"j"$n;
  {[o;f;p;l]addlayer(o;(f l;p l))}[o;f;p]each {x+til y-x}[(1+max exec parmgroup from opt[o]`parms)div 2;n];
  e:x[`events]t-1; a:"f"$x`a;
  {[o;n;f;p;a;e;y;k]l:"J"$string k; loss(o;l;.golden.streamer.half[n#f;a l;p l;y k];e k)}[o;n;f;p;a;e;y]each key e;
  d:step o; c:state[o]`extra; m:count f;
  r:`t`n_layers`optimized`f_counter`p_counter`step_counter!(t;n;d),pad[m]each c`f`p`steps;
  r,`f`p`f_grad`p_grad!(tensor each f;tensor each p;gradient each f;gradient each p)}
\d .
streamer_groups:{[x]n:"j"$x`layers;
  o:opt(`streamer;{(x;())}each tensor each n#enlist 1e;`alpha`maxlayers!("f"$x`alpha;n));
  `groups`weights!groups(o;"j"$x`layer)}
streamer_runs:{[x]me:rank[];
  f:{tensor("f"$x;`grad)}each x[`f0]me; p:{tensor("f"$x;`grad)}each x[`p0]me;
  n:"j"$$[`initial_layers in key x;x`initial_layers;x`layers];
  o:opt(`streamer;n#flip(f;p);`inner`lr`alpha`optimize`average`timescale`maxlayers!
    (`$x`inner;x`lr;"f"$x`alpha;"j"$x`optimize_every;"j"$x`average_every;1f=x`hgn_timescale;"j"$x`max_layers));
  if[`hgn_reach in key x;opt(o;0;();`reach,1f=x`hgn_reach)];
  .golden.streamer.one[x;o;f;p]'[x[`Y]me;1+til count x`events]}
