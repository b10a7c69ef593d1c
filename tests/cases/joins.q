/ joins; the tables x and y are those of most examples
x:([]a:1 2 3;b:`I`J`K;c:10 20 30)  /
y:([a:1 3;b:`I`K]c:1 2;d:10 20)  /
x lj y  / a b c  d\n---------\n1 I 1  10\n2 J 20\n3 K 2  20
lj[x;y]  / a b c  d\n---------\n1 I 1  10\n2 J 20\n3 K 2  20
x lj()  / a b c\n------\n1 I 10\n2 J 20\n3 K 30
x lj([]a:1 2)  / 'type
x lj([z:1 2]v:3 4)  / 'z
(`a`b xkey x)lj y  / a b| c  d\n---| -----\n1 I| 1  10\n2 J| 20\n3 K| 2  20
x lj 0#y  / a b c  d\n--------\n1 I 10\n2 J 20\n3 K 30
(0#x)lj y  / a b c d\n-------
x ij y  / a b c d\n--------\n1 I 1 10\n3 K 2 20
x ij 0#y  / a b c d\n-------
x pj y  / a b c  d\n---------\n1 I 11 10\n2 J 20 0\n3 K 32 20
x uj 0!y  / a b c  d\n---------\n1 I 10\n2 J 20\n3 K 30\n1 I 1  10\n3 K 2  20
(`a`b xkey x)uj y  / a b| c  d\n---| -----\n1 I| 1  10\n2 J| 20\n3 K| 2  20
x uj y  / 'type
n:([a:1 2 3]b:`I`J`;c:1 0N 3)  /
x lj n  / a b c\n-----\n1 I 1\n2 J\n3   3
x ljf n  / a b c\n------\n1 I 1\n2 J 20\n3 K 3
x ij n  / a b c\n-----\n1 I 1\n2 J\n3   3
x ijf n  / a b c\n------\n1 I 1\n2 J 20\n3 K 3
(1!x)uj n  / a| b c\n-| ---\n1| I 1\n2| J\n3|   3
(1!x)ujf n  / a| b c\n-| ----\n1| I 1\n2| J 20\n3| K 3
([]a:1 2)uj([]b:`x`y)  / a b\n---\n1\n2\n  x\n  y
([]a:1 2)uj([]a:3 4)  / a\n-\n1\n2\n3\n4
([k:1 2]a:1 2)uj([k:2 3]b:`x`y)  / k| a b\n-| ---\n1| 1\n2| 2 x\n3|   y
([]a:1 2)uj()  / a\n-\n1\n2
ej[`k;([]k:1 2;a:`x`y);([]k:2 2 3;b:10 20 30)]  / k b  a\n------\n2 10 y\n2 20 y
ej[`k;([]k:1 2 2;c:1 2 3);([]k:2 1;c:10 20)]  / k c\n----\n2 10\n2 10\n1 20
ej[`k`m;([]k:1 2;m:1 1;a:`x`y);([]k:2 2;m:1 2;b:10 20)]  / k m b  a\n--------\n2 1 10 y
ej[`z;([]k:1 2);([]k:2 3)]  / 'z
t:([]sym:`a`b`a;time:1 5 9)  /
q:([]sym:`a`b`a`b;time:0 4 5 6;p:1 2 3 4)  /
aj[`sym`time;t;q]  / sym time p\n----------\na   1    1\nb   5    2\na   9    3
aj0[`sym`time;t;q]  / sym time p\n----------\na   0    1\nb   4    2\na   5    3
aj[`time;t;delete sym from q]  / sym time p\n----------\na   1    1\nb   5    3\na   9    4
aj[`sym`time;update p:0 from t;q]  / sym time p\n----------\na   1    1\nb   5    2\na   9    3
aj[`sym`time;t;0#q]  / sym time p\n----------\na   1\nb   5\na   9
aj[`sym`time;0#t;q]  / sym time p\n----------
aj[`sym`time;([]sym:`a`z;time:2 2);q]  / sym time p\n----------\na   2    1\nz   2
ajf[`sym`time;update p:7 from t;update p:0N from q where sym=`b]  / sym time p\n----------\na   1    1\nb   5    7\na   9    3
ajf0[`sym`time;update p:7 from t;update p:0N from q where sym=`b]  / sym time p\n----------\na   0    1\nb   4    7\na   5    3
aj[`nosuch;t;q]  / 'nosuch
u:t  /
aj[`sym`time;`u;q]  / `u
cols u  / `sym`time`p
aj[`sym`time;1!t;q]  / sym| time p\n---| ------\na  | 1    1\nb  | 5    2\na  | 9    3
q asof`sym`time!(`a;7)  / p| 3
q asof`sym`time!(`z;7)  / p|
q asof([]sym:`a`b;time:4 4)  / p\n-\n1\n2
q asof([time:5])  / sym| `a\np  | 3
w:(-2 2)+\:t`time  /
wj[w;`sym`time;t;(q;(sum;`p))]  / sym time p\n----------\na   1    1\nb   5    6\na   9    3
wj1[w;`sym`time;t;(q;(sum;`p))]  / sym time p\n----------\na   1    1\nb   5    6\na   9    0
wj[w;`sym`time;t;(q;(::;`p))]  / sym time p\n------------\na   1    ,1\nb   5    2 4\na   9    ,3
wj1[w;`sym`time;t;(q;(max;`p);(count;`time))]  / sym time p\n------------\na   1    1\nb   2    4\na   0    -0W
wj1[w;`sym`time;t;(q;(wsum;`time;`p))]  / sym time p\n-----------\na   1    0\nb   5    32\na   9    0
wj[1 2;`sym`time;t;(q;(sum;`p))]  / 'length
wj[w;`time;delete sym from t;(delete sym from q;(last;`p))]  / time p\n------\n1    1\n5    4\n9    4
([]a:1 2),'([]b:3 4)  / a b\n---\n1 3\n2 4
([]a:1 2;b:5 6),'([]b:3 4)  / a b\n---\n1 3\n2 4
