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
ej[`k;([]k:1 2;a:`x`y);([]k:2 2 3;b:10 20 30)]  / k a b\n------\n2 y 10\n2 y 20
ej[`k;([]k:1 2 2;c:1 2 3);([]k:2 1;c:10 20)]  / k c\n----\n1 20\n2 10\n2 10
ej[`k`m;([]k:1 2;m:1 1;a:`x`y);([]k:2 2;m:1 2;b:10 20)]  / k m a b\n--------\n2 1 y 10
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
x ljf y  / a b c  d\n---------\n1 I 1  10\n2 J 20\n3 K 2  20
x ljf 0#n  / a b c\n------\n1 I 10\n2 J 20\n3 K 30
(0#x)ljf n  / a b c\n-----
x ljf()  / a b c\n------\n1 I 10\n2 J 20\n3 K 30
ljf[x;n]~x lj ([a:1 2 3]b:`I`J`K;c:1 20 3)  / 1b
x ljf([a:1 2]b:`p`)  / a b c\n------\n1 p 10\n2 J 20\n3 K 30
x ljf([]a:1 2)  / 'type
x ljf([z:1 2]v:3 4)  / 'z
(0#x)ij y  / a b c d\n-------
ij[x;y]  / a b c d\n--------\n1 I 1 10\n3 K 2 20
([]a:3 1 1)ij([a:1 3]v:5 6)  / a v\n---\n3 6\n1 5\n1 5
x ij([]a:1 2)  / 'type
x ij([z:1 2]v:3 4)  / 'z
x ijf 0#n  / a b c\n-----
x ijf y  / a b c d\n--------\n1 I 1 10\n3 K 2 20
(0#x)ijf n  / a b c\n-----
ijf[x;n]  / a b c\n------\n1 I 1\n2 J 20\n3 K 3
([]a:1 2;v:7 8)ijf([a:1 9]v:0N 1)  / a v\n---\n1 7
x ijf([]a:1 2)  / 'type
x ijf([z:1 2]v:3 4)  / 'z
x pj 0#y  / a b c  d\n--------\n1 I 10 0\n2 J 20 0\n3 K 30 0
(0#x)pj y  / a b c d\n-------
pj[x;y]  / a b c  d\n---------\n1 I 11 10\n2 J 20 0\n3 K 32 20
([]a:1 2;v:0N 5)pj([a:1 2]v:1 0N)  / a v\n---\n1\n2 5
([]a:1 2)pj([a:1 3]v:5 6)  / a v\n---\n1 5\n2 0
x pj([]a:1 2)  / 'type
x pj([z:1 2]v:3 4)  / 'z
([]a:1 2)pj 5  / 'type
x uj 5  / 'type
([]a:1 2;v:1 2)ujf([]a:3 4)  / a v\n---\n1 1\n2 2\n3\n4
([]a:1 2)ujf([]b:`x`y)  / a b\n---\n1\n2\n  x\n  y
([k:1 2]a:1 2)ujf([k:2 3]a:0N 7)  / k| a\n-| -\n1| 1\n2| 2\n3| 7
([k:1 2]a:1 2)ujf([k:2 3]b:`x`y)  / k| a b\n-| ---\n1| 1\n2| 2 x\n3|   y
(0#1!x)ujf 1!x  / a| b c\n-| ----\n1| I 10\n2| J 20\n3| K 30
x ujf y  / 'type
x ujf 5  / 'type
ej[`k;([]k:0#0;a:0#`);([]k:2 3;b:1 2)]  / k a b\n-----
ej[`k;([]k:1 2);([]k:2 2)]  / k\n-\n2\n2
ej[`k;([]k:1 1;a:`x`y);([]k:1 1;b:5 6)]  / k a b\n-----\n1 x 5\n1 x 6\n1 y 5\n1 y 6
ej[`k;([]k:2 1 2;a:`x`y`z);([]b:5 6 7;k:1 2 2)]  / k a b\n-----\n2 x 6\n2 x 7\n1 y 5\n2 z 6\n2 z 7
ej[`k;1;2]  / 'type
aj[`sym`time;1;q]  / 'type
aj0[`sym`time;t;0#q]  / sym time p\n----------\na   1\nb   5\na   9
aj0[`sym`time;0#t;q]  / sym time p\n----------
aj0[`time;delete sym from t;delete sym from q]  / time p\n------\n0    1\n5    3\n6    4
aj0[`sym`time;([]sym:`a`z;time:2 2);q]  / sym time p\n----------\na   0    1\nz   2
aj0[`sym`time;update p:0 from t;q]  / sym time p\n----------\na   0    1\nb   4    2\na   5    3
aj0[`nosuch;t;q]  / 'nosuch
aj0[`sym`time;1;q]  / 'type
ajf[`sym`time;t;q]~aj[`sym`time;t;q]  / 1b
ajf[`sym`time;0#t;q]  / sym time p\n----------
ajf[`sym`time;update p:7 from t;0#q]  / sym time p\n----------\na   1    7\nb   5    7\na   9    7
ajf[`time;([]time:1 5;p:8 9);([]time:0 4;p:0N 3)]  / time p\n------\n1    8\n5    3
ajf[`sym`time;([]sym:`a`z;time:2 2;p:1 2);q]  / sym time p\n----------\na   2    1\nz   2    2
ajf[`nosuch;t;q]  / 'nosuch
ajf[`sym`time;1;q]  / 'type
ajf0[`sym`time;t;q]~aj0[`sym`time;t;q]  / 1b
ajf0[`sym`time;0#t;q]  / sym time p\n----------
ajf0[`sym`time;update p:7 from t;0#q]  / sym time p\n----------\na   1    7\nb   5    7\na   9    7
ajf0[`time;([]time:1 5;p:8 9);([]time:0 4;p:0N 3)]  / time p\n------\n0    8\n4    3
ajf0[`sym`time;([]sym:`a`z;time:2 2;p:1 2);q]  / sym time p\n----------\na   0    1\nz   2    2
ajf0[`nosuch;t;q]  / 'nosuch
ajf0[`sym`time;1;q]  / 'type
(0#q)asof`sym`time!(`a;7)  / p|
q asof 5  / 'type
q asof([]sym:0#`;time:0#0)  / p\n-
q asof`sym`nosuch!(`a;7)  / 'nosuch
5 asof`sym`time!(`a;7)  / 'type
wj[w;`sym`time;0#t;(q;(sum;`p))]  / 'length
wj[2 0#0;`sym`time;0#t;(q;(sum;`p))]  / sym time p\n----------
wj[w;`sym`time;t;(0#q;(sum;`p))]  / sym time p\n----------\na   1    0\nb   5    0\na   9    0
wj[w;`nosuch;t;(q;(sum;`p))]  / 'nosuch
wj1[w;`time;delete sym from t;(delete sym from q;(count;`p))]  / time p\n------\n1    1\n5    3\n9    0
wj1[w;`sym`time;t;(0#q;(count;`p))]  / sym time p\n----------\na   1    0\nb   5    0\na   9    0
wj1[2 0#0;`sym`time;0#t;(q;(sum;`p))]  / sym time p\n----------
wj1[1 2;`sym`time;t;(q;(sum;`p))]  / 'length
wj1[w;`nosuch;t;(q;(sum;`p))]  / 'nosuch
ej[`$();([]a:1 2);([]a:1 2)]  / 'length
wj[(1 4;3 6);`t;([]t:2 5);(([]t:0 2 4;p:1 2 4);(max;`p);(avg;`p))]  / t p p\n-------\n2 2 1.5\n5 4 4
