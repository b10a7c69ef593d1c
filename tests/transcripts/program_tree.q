/ A decision tree over a table of symbols and numbers: grown by information gain, printed, pruned and tested.
q)t:([]play:`no`no`yes`yes`yes`no`yes`no`yes`yes`yes`yes`yes`no;outlook:`sun`sun`cloud`rain`rain`rain`cloud`sun`sun`rain`sun`cloud`cloud`rain)
q)t:t,'([]humid:85 90 78 96 80 70 65 95 70 80 70 90 75 80;windy:01000110001101b)
q)meta t
c      | t f a
-------| -----
play   | s
outlook| s
humid  | j
windy  | b
q)\d .tree
q)entropy:{neg sum p*2 xlog p:(count each group x)%count x}
q)gain:{[y;g]entropy[y]-sum(count each g)*(entropy each y g)%count y}
q)bysym:{[y;x]`gain`cut`parts!(gain[y;g];`;g:group x)}
q)atcut:{[y;x;c]`gain`cut`parts!(gain[y;g];c;g:group c<x)}
q)bynum:{[y;x]c:avg each flip(-1_v;1_v:asc distinct x);$[count c;r first idesc(r:atcut[y;x]each c)`gain;`gain`cut`parts!(0f;0n;()!())]}
q)try:{[y;x]$[11h=type x;bysym;bynum][y;x]}
q)leaf:{[y]`n`y`p!(count y;k;(d k:first key desc d:count each group y)%count y)}
q)grow:{[depth;t]y:first value flip t;if[(depth=0)|(1=count distinct y)|1=count cols t;:leaf y];b:try[y]each 1_flip t;if[1e-9>max b[;`gain];:leaf y];c:first idesc b[;`gain];`on`cut`kids!(c;b[c;`cut];.z.s[depth-1]each t b[c;`parts])}
q)isleaf:{`y in key x}
q)step:{[n;r]k:$[null n`cut;r n`on;n[`cut]<r n`on];$[k in key n`kids;n[`kids]k;`n`y`p!(0;`unknown;0f)]}
q)classify:{[tree;r]({not isleaf x}step[;r]/tree)`y}
q)size:{$[isleaf x;1;1+sum .z.s each x`kids]}
q)depth:{$[isleaf x;0;1+max .z.s each value x`kids]}
q)leaves:{$[isleaf x;enlist x;raze .z.s each value x`kids]}
q)text:{[n;tree]$[isleaf tree;enlist(n#" "),"-> ",string[tree`y]," ",string tree`n;raze{[n;tree;k;v](enlist(n#" "),string[tree`on],$[null tree`cut;"=";" above ",string[tree`cut]," is "],$[10h=type s:string k;s;enlist s]),text[n+2;v]}[n;tree]'[key tree`kids;value tree`kids]]}
q)\d .
q)round:{(xexp[10;neg x])*"j"$y*xexp[10;x]}
q)round[4].tree.entropy t`play
0.9403
q)round[4]{(.tree.try[t`play]x)`gain}each 1_flip t
outlook| 0.2467
humid  | 0.1022
windy  | 0.0481
q)(.tree.bynum[t`play;t`humid])`cut
82.5
q)tree:.tree.grow[9;t]
q)tree`on
`outlook
q)key tree`kids
`sun`cloud`rain
q)-1 .tree.text[0;tree];
outlook=sun
  humid above 77.5 is 1
    -> no 3
  humid above 77.5 is 0
    -> yes 2
outlook=cloud
  -> yes 4
outlook=rain
  windy above 0.5 is 0
    -> yes 3
  windy above 0.5 is 1
    -> no 2
q).tree.size tree
8
q).tree.depth tree
2
q)sum .tree.leaves[tree][;`n]
14
q)avg t[`play]=.tree.classify[tree]each t
1f
q).tree.classify[tree;`outlook`humid`windy!(`cloud;99;1b)]
`yes
q).tree.classify[tree;`outlook`humid`windy!(`snow;50;0b)]
`unknown
q)stump:.tree.grow[1;t]
q)avg t[`play]=.tree.classify[stump]each t
0.7142857
q)exec first play by outlook from update play:.tree.classify[stump]each t from t
cloud| yes
rain | yes
sun  | no
q)u:update guess:.tree.classify[stump]each t from t
q)select n:count i by play,guess from u
play guess| n
----------| -
no   no   | 3
no   yes  | 2
yes  no   | 2
yes  yes  | 7
q){exec count each group guess by play from x}u
no | `no`yes!3 2
yes| `yes`no!7 2
q)loo:{[t;d;i].tree.classify[.tree.grow[d;t _ i];t i]=t[i]`play}
q)avg loo[t;9]each til count t
0.8571429
q){x!{avg loo[t;x]each til count t}each x}0 1 2 3
0| 0.6428571
1| 0.7142857
2| 0.8571429
3| 0.8571429
q)\S 3
q)vote:{first key desc count each group x}
q)wood:{[n;t]{[t;i].tree.grow[3;t i?i]}[t]each n#enlist count t}
q)ask:{[w;r]vote .tree.classify[;r]each w}
q)w:wood[15;t]
q)count w
15
q).7<avg t[`play]=ask[w]each t
1b
q)bands:update humid:`low`high 80<humid from t
q)-1 .tree.text[0].tree.grow[2;bands];
outlook=sun
  humid=high
    -> no 3
  humid=low
    -> yes 2
outlook=cloud
  -> yes 4
outlook=rain
  windy above 0.5 is 0
    -> yes 3
  windy above 0.5 is 1
    -> no 2
q)m:{[c]?[bands;();(1#c)!1#c;`n`yes!((count;`i);(sum;(=;`play;enlist`yes)))]}
q)m`humid
humid| n yes
-----| -----
high | 5 2
low  | 9 7
q)m`outlook
outlook| n yes
-------| -----
cloud  | 4 4
rain   | 5 3
sun    | 5 2
q)@[.tree.grow[3];([]y:`a`a;x:1 2);{x}]
n| 2
y| `a
p| 1f
q).tree.grow[3;([]y:`a`b`a`b;x:1 1 1 1)]
n| 4
y| `a
p| 0.5
