/ A classifier of points in two rings; an optimizer with two parameter groups whose rates follow a schedule kept in q.
/ The schedule is a table: from which epoch on which rates, and which decay of the first group.

seed 1
system"S 1"
n:600
a:n?2*acos -1                                 / angles
r:(n#1 2f)+.9*(n?1f)-.5
x:flip"e"$(r*cos a;r*sin a)
y:n#0 1                                      / inner ring 0, outer 1

q:module seq(`sequential; (`linear;`body;2;16); `tanh; (`linear;`head;16;2))
o:opt(`adamw;0;(q;`body);.05)
opt(o;1;(q;`head);.02;`decay,0)
-1 .Q.s opt[(o;0b)]`options;
-1 .Q.s select parmgroup,module,size from opt[o]`parms;

plan:([epoch:0 10 20]rates:(.05 .02;.02 .01;.005 .005);decay:.01 .001 0)

/ the row of the plan for an epoch, if there is one, is put into the optimizer
follow:{[e]
  if[not e in exec epoch from plan;:0b];
  lr(o;plan[e]`rates);
  opt(o;0;();`decay,plan[e]`decay);
  1b}

X:tensor x; Y:tensor y
batch:{[i]zerograd o; t:ce(forward(q;X i);Y i); backward t; step o; return t}
epoch:{[e]changed:follow e; `epoch`loss`changed`lr!(e;avg batch each 100 cut neg[n]?n;changed;lr o)}

runs:epoch each til 30
\P 4
-1 .Q.s select from runs where(changed)|epoch=last epoch;
hit:avg y={x?max x}each evaluate(q;x)
-1"accuracy ",.Q.f[1;100*hit],"%";
