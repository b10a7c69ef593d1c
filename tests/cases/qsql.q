/ the templates select, exec, update and delete, and their functional forms
t:([]s:`b`a`b`c;n:10 20 30 40;f:1.5 0n 2.5 3)  /
select from t where n>15  / s n  f\n--------\na 20\nb 30 2.5\nc 40 3
select n,2*n,n+1 from t  / n  x  n1\n--------\n10 20 11\n20 40 21\n30 60 31\n40 80 41
select i,s from t  / x s\n---\n0 b\n1 a\n2 b\n3 c
select s:`z,n from t  / s n\n----\nz 10\nz 20\nz 30\nz 40
select sum n from t  / n\n---\n100
select from t where s=`b,n>10  / s n  f\n--------\nb 30 2.5
select from t where 1b  / s n  f\n--------\nb 10 1.5\na 20\nb 30 2.5\nc 40 3
select from t where 0b  / s n f\n-----
select from t where n  / s n  f\n--------\nb 10 1.5\na 20\nb 30 2.5\nc 40 3
select from t where f  / 'type
select from t where 10b  / 'length
select from t where i in 0 2  / s n  f\n--------\nb 10 1.5\nb 30 2.5
select n by s from t  / s| n\n-| -----\na| ,20\nb| 10 30\nc| ,40
select sum n by s from t  / s| n\n-| --\na| 20\nb| 40\nc| 40
select m:max n,c:count i by s from t  / s| m  c\n-| ----\na| 20 1\nb| 30 2\nc| 40 1
select by s from t  / s| n  f\n-| ------\na| 20\nb| 30 2.5\nc| 40 3
select by s:n mod 20 from t  / s | n  f\n--| ------\n0 | 40 3\n10| 30 2.5
select n by s,big:n>25 from t  / s big| n\n-----| --\na 0  | 20\nb 0  | 10\nb 1  | 30\nc 1  | 40
select n wavg f by s from t  / s| f\n-| ----\na|\nb| 2.25\nc| 3
select sum n*f by s from t  / s| n\n-| ---\na| 0\nb| 90\nc| 120
select {x}n by s from t where n>100  / s| n\n-| -
select first n,last f by s from t where n>100  / s| n f\n-| ---
meta select sum n,avg f,n by s from t where n>100  / c | t f a\n--| -----\ns | s   s\nn | j\nf | f\nn1|
select distinct s from t  / s\n-\nb\na\nc
select[2] n from t  / n\n--\n10\n20
select[-1] from t  / s n  f\n------\nc 40 3
select[1 2] n from t  / n\n--\n20\n30
select[9] n from t  / n\n--\n10\n20\n30\n40
select[>n] s from t  / s\n-\nc\nb\na\nb
select[2;<f] s,f from t  / s f\n-----\na\nb 1.5
select[1;>n] sum n by s from t  / s| n\n-| --\nb| 40
select n,s from t where n=max n  / n  s\n----\n40 c
select from t where n=(max;n)fby s  / s n  f\n--------\na 20\nb 30 2.5\nc 40 3
select from t where 1<(count;i)fby s  / s n  f\n--------\nb 10 1.5\nb 30 2.5
select n,1 2 from t  / 'length
select s by s from t  / 'dup names for cols/groups s
exec n from t  / 10 20 30 40
exec n,s from t  / n| 10 20 30 40\ns| b  a  b  c
exec a:n from t  / a| 10 20 30 40
exec from t  / s| `c\nn| 40\nf| 3f
exec sum n from t  / 100
exec n by s from t  / a| ,20\nb| 10 30\nc| ,40
exec sum n by s from t  / a| 20\nb| 40\nc| 40
exec a:sum n by s from t  /  | a\n-| --\na| 20\nb| 40\nc| 40
exec sum n by s:s from t  / s|\n-| --\na| 20\nb| 40\nc| 40
exec n,f by s from t  /  | n     f\n-| -------------\na| ,20   ,0n\nb| 10 30 1.5 2.5\nc| ,40   ,3f
exec n,s by 0b from t  / n  s\n----\n10 b\n20 a\n30 b\n40 c
exec distinct s from t  / `b`a`c
exec distinct s,n from t  / s| `b`a`c\nn| 10 20 30 40
exec s!n from t  / b| 10\na| 20\nb| 30\nc| 40
exec i from t where n>10  / 1 2 3
exec n from t where n>100  / `long$()
update n:0 from t where s=`b  / s n  f\n--------\nb 0  1.5\na 20\nb 0  2.5\nc 40 3
update z:n*2 from t  / s n  f   z\n-----------\nb 10 1.5 20\na 20     40\nb 30 2.5 60\nc 40 3   80
update z:n*2 from t where s=`b  / s n  f   z\n-----------\nb 10 1.5 20\na 20\nb 30 2.5 60\nc 40 3
update z:`q from t where s=`b  / s n  f   z\n----------\nb 10 1.5 q\na 20\nb 30 2.5 q\nc 40 3
update n:1.5 from t  / s n   f\n---------\nb 1.5 1.5\na 1.5\nb 1.5 2.5\nc 1.5 3
update n:1.5 from t where s=`b  / 'type
update n:sum n by s from t  / s n  f\n--------\nb 40 1.5\na 20\nb 40 2.5\nc 40 3
update r:til count i by s from t  / s n  f   r\n----------\nb 10 1.5 0\na 20     0\nb 30 2.5 1\nc 40 3   0
update z:1 2 from t  / 'length
update n:n+1,f:n from t where i<2  / 'type
delete from t where n<35  / s n  f\n------\nc 40 3
delete n,f from t  / s\n-\nb\na\nb\nc
delete zz from t  / s n  f\n--------\nb 10 1.5\na 20\nb 30 2.5\nc 40 3
delete from t  / s n f\n-----
u:t  /
update n:neg n from`u where s=`c  / `u
exec n from u  / 10 20 30 -40
delete s from`u  / `u
cols u  / `n`f
d:`a`b!1 2  /
exec a from d  / 1
update a:5,c:6 from d  / a| 5\nb| 2\nc| 6
delete a from d  / b| 2
delete from`d  / `d
d:`a`b!1 2;delete from d where a=1  / 'type
k:([id:1 2 3]v:10 20 30)  /
select from k where v>10  / id| v\n--| --\n2 | 20\n3 | 30
select v from k  / v\n--\n10\n20\n30
select id,v from k  / id v\n-----\n1  10\n2  20\n3  30
update v:0 from k where id=2  / id| v\n--| --\n1 | 10\n2 | 0\n3 | 30
delete from k where id=2  / id| v\n--| --\n1 | 10\n3 | 30
select sum v by id>1 from k  / id| v\n--| --\n0 | 10\n1 | 50
?[t;enlist(>;`n;15);0b;()]  / s n  f\n--------\na 20\nb 30 2.5\nc 40 3
?[t;();0b;`a`b!(`n;(neg;`n))]  / a  b\n------\n10 -10\n20 -20\n30 -30\n40 -40
?[t;();(1#`s)!1#`s;(1#`n)!enlist(sum;`n)]  / s| n\n-| --\na| 20\nb| 40\nc| 40
?[t;();1b;(1#`s)!1#`s]  / s\n-\nb\na\nc
?[t;();();`n]  / 10 20 30 40
?[t;();`s;`n]  / a| ,20\nb| 10 30\nc| ,40
?[t;();();()]  / s| `c\nn| 40\nf| 3f
?[t;();0b;();2]  / s n  f\n--------\nb 10 1.5\na 20
?[t;();0b;();0W;(idesc;`n)]  / s n  f\n--------\nc 40 3\nb 30 2.5\na 20\nb 10 1.5
?[t;0 2;`n]  / 10 30
?[t;0 2;(sum;`n)]  / 40
![t;();0b;`n`f]  / s\n-\nb\na\nb\nc
![t;enlist(=;`s;enlist`b);0b;`$()]  / s n  f\n------\na 20\nc 40 3
![t;();0b;(1#`z)!enlist(*;2;`n)]  / s n  f   z\n-----------\nb 10 1.5 20\na 20     40\nb 30 2.5 60\nc 40 3   80
![t;();(1#`s)!1#`s;(1#`n)!enlist(max;`n)]  / s n  f\n--------\nb 30 1.5\na 20\nb 30 2.5\nc 40 3
![d;();0b;1#`a]  / b| 2
x:([p:`u`v]c:1 2)  /
y:([]p:`x$`v`u`v;q:1 2 3)  /
select p.c,q from y  / c q\n---\n2 1\n1 2\n2 3
select sum q by p.c from y  / c| q\n-| -\n1| 2\n2| 4
exec q from y where p.c=2  / 1 3
w:([]t:09:30:15.000 10:45:30.000;v:1 2)  /
select t.minute,t.hh from w  / minute hh\n---------\n09:30  9\n10:45  10
select v by 60 xbar t.minute from w  / minute| v\n------| -\n09:00 | 1\n10:00 | 2
{[a]exec n from t where n>a}25  / 30 40
{n:5;exec n from t}[]  / 10 20 30 40
exec nosuch from t  / 'nosuch
select from 5  / 'type
cols select a-b,2*b,5 xbar a,neg b from ([]a:1 2;b:3 4)  / `a`x`a1`b
cols select a wavg b,`float$a,2#'b from ([]a:1 2;b:3 4)  / `b`a`b1
attr exec a from update `g#a from ([]a:`x`y)  / `g
delete b from ([a:1 2]b:3 4)  / a|\n-|\n1|\n2|
lt:([]id:101 102 103;v:1.1 2.2 3.3);update up:`lt!id?101 101 999 from`lt  / `lt
lt  / id  v   up\n----------\n101 1.1 0\n102 2.2 0\n103 3.3 3
meta lt  / c | t f  a\n--| ------\nid| j\nv | f\nup| j lt
fkeys lt  / up| lt
select id,u:up.id from lt  / id  u\n-------\n101 101\n102 101\n103
select up.v,up.up.v from lt  / v   v1\n-------\n1.1 1.1\n1.1 1.1\n
select n:count i by up.id from lt  / id | n\n---| -\n   | 1\n101| 2
select up.none from lt  / 'none
(type;value;key)@\:lt`up  / 20h\n0 0 3\n`lt
lt`up  / `lt!0 0 3
first lt`up  / `lt!0
(lt[`up]9;value lt[`up]2)  / 0N 3
-9!-8!lt`up  / 0 0 3
.j.j 1#lt  / "[{\"id\":101,\"v\":1.1,\"up\":0}]"
`lt insert(104;4.4;2);last exec up.id from lt  / 103
`lt insert(104;4.4;99)  / 'cast
`none!0 1  / 'none
{[t;w]?[t;();0b;`a`b!(`a;(*;`a;`w))]}[([]a:1 2);10]  / a b\n----\n1 10\n2 20
{[t;a]?[t;();();(sum;`a)]}[([]a:1 2);10]  / 3
{[t]u:2;![t;enlist(>;`a;`u);0b;`$()]}([]a:1 2 3)  / a\n-\n1\n2
{[t]?[t;();();`nowhere]}([]a:1 2)  / 'nowhere
.Q.ty each(lt`up;lt`id)  / "jj"
f2:([k:1 2]v:3 4);.Q.ty`f2$2 1  / "j"
delete a+b from([]a:1 2;b:3 4)  / 'type
delete a,a from([]a:1 2;b:3 4)  / b\n-\n3\n4
aa:1;delete aa,nosuch from`.  / 'nosuch
aa  / 1
.n7.a:1;.n7.b:2;delete a,c from`.n7  / '.n7.c
delete a,a from`.n7;1_.n7  / b| 2
cols([]k:`i`o;(-1_n;1_n:6 4 5))  / `k`n

/ the name of a comparison with a constant is that of the other side; of arithmetic it is x
cols select "e"$`y=b,2*a from ([]a:1 2;b:`x`y)  / `b`x
update -1 1 `y=b from ([]a:1 2;b:`x`y)  / a b\n----\n1 -1\n2 1
cols select 3<a,a<b from ([]a:1 2;b:3 4)  / `a`a1

/ at some rows a column takes narrower integers, and nothing else of another type
update a:5i from ([]a:1 2 3) where a=2  / a\n-\n1\n5\n3
update a:0N 7h from ([]a:1 2 3) where a>1  / a\n-\n1\n\n7
update a:5 from ([]a:1 2 3i) where a=2  / 'type
update a:5 from ([]a:1 2 3f) where a=2  / 'type
