/ Graphs as tables of edges: shortest paths by three ways, components, orderings, spanning trees.
q)e:([]a:`a`a`b`b`c`d`e`g`h;b:`b`c`c`d`d`e`f`h`i;w:7 3 1 2 8 1 4 2 5)
q)u:e,select a:b,b:a,w from e
q)\d .g
q)nodes:{asc distinct raze x`a`b}
q)adj:{[e]exec b!w by a from e}
q)dijkstra:{[e;s]a:adj e;n:nodes e;dist:@[n!count[n]#0W;s;:;0];done:`$();while[count left:where not(null dist)|(dist=0W)|key[dist]in done;c:left first iasc dist left;done,:c;if[c in key a;k:key a c;dist[k]&:dist[c]+value a c]];dist}
q)bellman:{[e;s]n:nodes e;d:@[n!count[n]#0W;s;:;0];{[e;d]e:select from e where 0W>d a;m:exec min w+d a by b from e;@[d;key m;&;value m]}[e]/[d]}
q)floyd:{[e]n:nodes e;i:n?e`a;j:n?e`b;m:./[(2#count n)#0W;i,'j;:;e`w];m:{[m;k]m[k;k]:0;m}/[m;til count n];n!n!/:{[m;k]m&m[;k]{$[0W in(x;y);0W;x+y]}/:\:m k}/[m;til count n]}
q)path:{[e;s;t]d:bellman[e;s];if[0W=d t;:`$()];reverse{[e;d;t]exec first a from e where b=t,d[t]=w+d a}[e;d]\[{not x~y}s;t]}
q)components:{[e]n:nodes e;l:n!til count n;l:{[e;l]m:exec min l a by b from e;@[l;key m;&;value m]}[e]/[l];value group l}
q)reach:{[e;s]{[e;x]asc distinct x,exec b from e where a in x}[e]/[(),s]}
q)topo:{[e]r:`$();n:nodes e;while[count f:n except exec b from e;r,:f;n:n except f;e:delete from e where a in f;if[not count e;r,:n;n:`$()]];r}
q)cyclic:{[e]count[nodes e]>count topo e}
q)find:{[p;x](p@)/[x]}
q)span:{[e]e:`w xasc e;n:nodes e;first{[s;r]p:s 1;x:find[p;r`a];y:find[p;r`b];$[x=y;s;(s[0],enlist r;@[p;x;:;y])]}/[(();n!n);e]}
q)degree:{[e](count each group e`a)+count each group e`b}
q)\d .
q).g.nodes e
`s#`a`b`c`d`e`f`g`h`i
q).g.dijkstra[e;`a]
a| 0
b| 7
c| 3
d| 9
e| 10
f| 14
g| 0W
h| 0W
i| 0W
q).g.bellman[e;`a]~.g.dijkstra[e;`a]
1b
q)f:.g.floyd u
q)f[`f;`a]
11
q)(f each`a`g)@\:`f`i
11 0W
0W 7
q){.g.bellman[u;x]~f x}each .g.nodes u
111111111b
q).g.path[e;`a;`f]
`a`b`d`e`f
q).g.path[u;`f;`a]
`f`e`d`b`c`a
q).g.path[e;`f;`a]
`symbol$()
q).g.components u
`a`b`c`d`e`f
`g`h`i
q).g.reach[e;`b]
`s#`b`c`d`e`f
q).g.reach[e]each`e`g`f
`s#`e`f
`s#`g`h`i
,`f
q).g.topo e
`a`g`b`h`c`i`d`e`f
q).g.cyclic e
0b
q).g.cyclic e,([]a:1#`f;b:1#`a;w:1#1)
1b
q).g.span u
a b w
-----
b c 1
d e 1
b d 2
g h 2
a c 3
e f 4
h i 5
q)sum .g.span[u]`w
18
q)desc .g.degree e
b| 3
c| 3
d| 3
a| 2
e| 2
h| 2
g| 1
f| 1
i| 1
q)r:([]a:`a`b`c`d;b:`b`c`a`c;w:1 1 1 1)
q).g.cyclic r
1b
q)m:{[n;e]./[(2#count n)#0;(n?e`a),'n?e`b;:;1]}[.g.nodes r;r]
q)m
0 1 0 0
0 0 1 0
1 0 0 0
0 0 1 0
q)(m mmu)/[3;m:"f"$m]
0 1 0 0
0 0 1 0
1 0 0 0
0 0 1 0
q)surf:{[m;d;r]((1-d)%count r)+d*sum r*m%1|sum each m}
q)round:{.0001*"j"$10000*x}
q)round surf[m;.85]/[4#.25]
0.3202 0.3097 0.3326 0.0375
q)sum surf[m;.85]/[4#.25]
1f
q)grid:("..#.";"..#.";"....";"#...")
q)free:raze{x,/:where"."=grid x}each til count grid
q)near:{[p]free inter p+/:(0 1;1 0;0 -1;-1 0)}
q)walk:{[s]{[d]n:distinct raze near each where d=max d;n:n except key d;$[count n;d,n!count[n]#1+max d;d]}/[(enlist s)!enlist 0]}
q)d:walk 0 0
q)d 0 3
7
q)max d
7
q)count d
13
q)(key d)where d=6
0 1 1 1
1 1 1 1
q)show g:./[grid;where 4>d;:;"o"]
"oo#."
"oo#."
"oo.."
"#..."
