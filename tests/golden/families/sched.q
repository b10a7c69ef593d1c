/ Schedules of Megatron's kind through sched, override, combine and okey. Case files have Megatron's names of settings.
\d .golden.sched
styles:(`constant`linear`cosine,(`$"inverse-square-root"),`WSD)!`constant`linear`cosine`invsqrt`wsd
names:`init_lr`max_lr`min_lr`lr_warmup_steps`lr_decay_steps`start_wd`end_wd`wd_incr_steps`wd_incr_style`wsd_decay_steps`lr_wsd_decay_style!
 `init`max`min`warmup`steps`startwd`endwd`wdsteps`wdstyle`wsdsteps`wsdstyle
whole:`steps`wdsteps`wsdsteps
/ what counts steps in a state, new and old; a warm-up may end between two
counts:`num_steps`num_iters`lr_decay_steps`decay_steps`end_iter`wd_incr_steps`wsd_decay_steps
/ the option load from the two flags: which settings count; the two contradict each other
mode:{[c]flag:{[c;k;d]$[k in key c;1f=c k;d]};
  (`strict`checkpoint;`override`both)[flag[c;`override_opt_param_scheduler;0b];flag[c;`use_checkpoint_opt_param_scheduler;1b]]}
/ a setting that is null is not given
options:{[c]d:(key[c]inter key names)#c; d:(where{$[10h=type x;1b;not null x]}each d)#d; d:(names key d)!value d;
  if[`wsdstyle in key d;d[`wsdstyle]:(d`wsdstyle)except"_"];
  d:{$[10h=type x;`$x;x]}each d;
  d:@[d;key[d]inter whole;"j"$];
  d,enlist[`load]!enlist mode c}
own:{[d]k:key[d]inter key g:`max_lr`min_lr`start_wd`end_wd`wd_mult!`max`min`startwd`endwd`wdmult; g[k]!d k}
/ an optimizer with a parameter group for each dictionary
optimizer:{[groups]o:opt(`adamw;();.5); n:count groups; {opt(x;y;())}[o]each 1_til n;
  {[o;i;d]if[count d;override(o;i;own d)]}[o]'[til n;groups]; o}
make:{[c;groups]o:optimizer groups; (o;sched(o;styles`$c`lr_decay_style;options c))}
decays:{[o]first opt[o][`options]`decay}
now:{[o;s]`num_steps`lr`wd!(sched[s]`steps;lr s;exec decay from opt[o]`options)}
\d .
sched_ctor:{[x].golden.sched.make[x;enlist()!()];}
/ by lrs and by stepping: both must give the numbers
sched_table:{[x]p:"j"$x`points; os:.golden.sched.make[x`cfg;x`groups]; t:lrs(os 1;p);
  step os 1; u:lrs(os 1;p); if[not t~u;'"lrs depends on the present step"];
  os:.golden.sched.make[x`cfg;x`groups];
  walk:{[os;d]step(os 1;d); .golden.sched.now[os 0;os 1]}[os]each deltas p;
  tab:select step,lr:(),/:lr,wd:(),/:wd from t;
  if[not(exec lr from tab)~exec lr from walk;'"lrs and step differ"];
  if[not(exec wd from tab)~exec wd from walk;'"weight decays of lrs and step differ"];
  tab}
sched_state:{[x]os:.golden.sched.make[x`cfg;x`groups]; o:os 0; s:os 1; {step(x;"j"$y)}[s]each(),x`pre;
  d:x`state; d:{$[10h=type x;`$x;x]}each d; sched(s;@[d;key[d]inter .golden.sched.counts;"j"$]);
  a:.golden.sched.now[o;s]; st:(state s)`state;
  p:{[o;s;n]step(s;n); .golden.sched.now[o;s]}[o;s]each"j"$x`post;
  `after_load`state`post!(a;st;p)}
sched_overrides:{[x]d:combine{$[99h=type x;x;(::)]}each x; `value`tuple!(d;okey d)}
