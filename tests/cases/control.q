app:{[n]r:0#0;i:0;while[i<n;r,:i;i+:1];r}  /
app[1000]~til 1000  / 1b
{[]a:1 2 3;b:a;a,:4;(a;b)}[]  / 1 2 3 4\n1 2 3
{[]a:1 2 3;a,:4;b:a;a,:5;b,:6;(a;b)}[]  / 1 2 3 4 5\n1 2 3 4 6
{[]a:1 2 3;a,:4;b:3#a;a,:5;a[0]:9;(a;b)}[]  / 9 2 3 4 5\n1 2 3
{[]a:1 2 3;a,:4;a,:a;a}[]  / 1 2 3 4 1 2 3 4
{[]a:1 2 3;a,:4;d:`k`j!(a;1);a,:5;d`k}[]  / 1 2 3 4
{[]a:1 2;a,:3;f:{y;x}[a];a,:4;f 0}[]  / 1 2 3
{[]t:([]a:1 2);t,:enlist 3;c:t`a;t,:enlist 4;(t`a;c)}[]  / 1 2 3 4\n1 2 3
{[]l:();l,:enlist 1 2;m:l;l,:enlist 3 4;(l;m)}[]  / (1 2;3 4)\n,1 2
{[]a:til 3;b:a;a[1]+:5;(a;b)}[]  / 0 6 2\n0 1 2
g:0#0;do[3;g,:1];h:g;g,:2;h  / 1 1 1
g:til 3;h:g;g[0]:9;h  / 0 1 2
{g[1]:7;g}[]  / 9 7 2
{[]a:1 2;a,:`b;a}[]  / 'type
{[]a:1 2;a[0]+:1.5;a}[]  / 'type
.foo.x:til 3;.foo.x[1]:9;.foo.x,:7;.foo.x  / 0 9 2 7
@[{'`foo};1;{x}]  / "foo"
.[{x+y};(1;`a);{x}]  / "type"
.Q.trp[{x+`a};1;{y;x}]  / "type"
{'"abc",x}"d"  / 'abcd
/ a lambda that gives itself fewer arguments than it has
{[x;y]$[y=0;x;.z.s[x]each 0 0]}[5;1]  / 5 5
{[x;y]type .z.s[x]}[1;2]  / 104h
{[x;y].z.s[x;y;1]}[1;2]  / 'rank
'"a"  / 'stype
@[{'x};"a";::]  / "stype"
@[{'x};1;::]  / "stype"
'word  / 'word
dn:0;do[-0W;dn+:1];do[0N;dn+:1];dn  / 0
