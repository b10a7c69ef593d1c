/ A library of sparse matrices, triples by row and column in a table, with assertions against dense arithmetic.
q)\d .sp
q)same:{[what;x;y]if[not x~y;'what];passed+:1}
q)passed:0
q)new:{[shape;r;c;v]`shape`t!(shape;`row`col xasc([]row:r;col:c;val:"f"$v))}
q)of:{[m]i:where each m<>0;new[(count m;count first m);where count each i;raze i;raze m@'i]}
q)full:{[s].[s[`shape]#0f;();:;{./[x;flip y`row`col;:;y`val]}[s[`shape]#0f;s`t]]}
q)nnz:{count x`t}
q)tr:{[s]new[reverse s`shape;s[`t;`col];s[`t;`row];s[`t;`val]]}
q)drop:{[s]s[`t]:delete from s`t where val=0;s}
q)add:{[a;b]if[not(~). (a;b)@\:`shape;'`shape];drop`shape`t!(a`shape;0!select sum val by row,col from a[`t],b`t)}
q)scale:{[k;s]drop@[s;`t;{[k;t]update val:k*val from t}k]}
q)mul:{[a;b]if[not a[`shape;1]=b[`shape;0];'`shape];j:ej[`k;`row`k`x xcol a`t;`k`col`y xcol b`t];drop`shape`t!((a[`shape;0];b[`shape;1]);0!select val:sum x*y by row,col from j)}
q)mv:{[s;v]@[s[`shape;0]#0f;key d;:;value d:exec sum val*v col by row from s`t]}
q)row:{[s;n]exec col!val from s`t where row=n}
q)eye:{new[2#x;i;i;count[i:til x]#1f]}
q)pow:{[s;n]$[n=0;eye s[`shape;0];n=1;s;n mod 2;mul[s;.z.s[s;n-1]];mul[h;h:.z.s[s;n div 2]]]}
q)totals:{[s;axis]?[s`t;();axis;(sum;`val)]}
q)\d .
q)m:(0 2 0 1f;3 0 0 0f;0 0 4 5f)
q)s:.sp.of m
q)s`t
row col val
-----------
0   1   2
0   3   1
1   0   3
2   2   4
2   3   5
q)s`shape
3 4
q).sp.same[`full;m].sp.full s
1
q).sp.same[`transpose;flip m].sp.full .sp.tr s
2
q).sp.same[`twice;s].sp.tr .sp.tr s
3
q)n:(1 0 0f;0 2 0f;0 0 3f;4 0 0f)
q).sp.same[`mul;m mmu n].sp.full .sp.mul[s;.sp.of n]
4
q).sp.same[`add;m+m].sp.full .sp.add[s;s]
5
q).sp.same[`scale;-2*m].sp.full .sp.scale[-2;s]
6
q).sp.same[`cancel;0].sp.nnz .sp.add[s;.sp.scale[-1;s]]
7
q).sp.same[`mv;m mmu 1 2 3 4f].sp.mv[s;1 2 3 4f]
8
q).sp.same[`eye;1 0 0f].sp.full[.sp.eye 3]0
9
q)@[.sp.mul s;s;{"refused: ",x}]
"refused: shape"
q).[.sp.add;(s;.sp.tr s);{`$x}]
`shape
q).sp.row[s;2]
2| 4
3| 5
q).sp.totals[s;`row]
0| 3
1| 3
2| 9
q).sp.totals[s;`col]
0| 3
1| 2
2| 4
3| 6
q)w:(0 1 1f;0 0 1f;1 0 0f)
q)a:.sp.of w
q).sp.full .sp.pow[a;5]
2 1 2
1 1 1
1 1 2
q).sp.same[`pow;w mmu w mmu w mmu w mmu w].sp.full .sp.pow[a;5]
10
q).sp.same[`pow0;.sp.eye 3].sp.pow[a;0]
11
q)f:{[s;v]n%sum n:.sp.mv[s]v}
q)r:20 f[.sp.tr a]/3#1%3
q).001*"j"$1000*r
0.325 0.245 0.43
q)\S 7
q)dense:{[r;c;p](r;c)#?[p>(r*c)?1.;1f+(r*c)?9;0f]}
q)check:{[i]x:dense[5;6;.3];y:dense[6;4;.3];.sp.same[`random;x mmu y].sp.full .sp.mul[.sp.of x;.sp.of y]}
q)check each til 25;
q)big:.sp.new[1000 1000;50000?1000;50000?1000;50000#1f]
q)big:@[big;`t;{0!select sum val by row,col from x}]
q).sp.same[`total;50000f]sum big[`t]`val
37
q).sp.same[`totals;sum big[`t]`val]sum .sp.mv[big;1000#1f]
38
q).sp.same[`degrees;.sp.mv[big;1000#1f]]@[1000#0f;key d;:;value d:.sp.totals[big;`row]]
39
q)select n:count i by v:val from big[`t] where val>2
v| n
-| --
3| 18
q).sp.passed
39
