q)trade:([]time:09:30:00 09:30:05 09:31:00 09:32:10;sym:`ibm`msft`ibm`msft;price:101.5 27.2 102 27.5;size:100 200 50 400)
q)trade
time     sym  price size
------------------------
09:30:00 ibm  101.5 100
09:30:05 msft 27.2  200
09:31:00 ibm  102   50
09:32:10 msft 27.5  400
q)select from trade where sym=`ibm
time     sym price size
-----------------------
09:30:00 ibm 101.5 100
09:31:00 ibm 102   50
q)select vwap:size wavg price,vol:sum size by sym from trade
sym | vwap     vol
----| ------------
ibm | 101.6667 150
msft| 27.4     600
q)select vol:sum size by sym,time.minute from trade
sym  minute| vol
-----------| ---
ibm  09:30 | 100
ibm  09:31 | 50
msft 09:30 | 200
msft 09:32 | 400
q)select last price by 2 xbar time.minute from trade
minute| price
------| -----
09:30 | 102
09:32 | 27.5
q)exec sum size by sym from trade
ibm | 150
msft| 600
q)update turnover:price*size from trade
time     sym  price size turnover
---------------------------------
09:30:00 ibm  101.5 100  10150
09:30:05 msft 27.2  200  5440
09:31:00 ibm  102   50   5100
09:32:10 msft 27.5  400  11000
q)update running:sums size by sym from trade
time     sym  price size running
--------------------------------
09:30:00 ibm  101.5 100  100
09:30:05 msft 27.2  200  200
09:31:00 ibm  102   50   150
09:32:10 msft 27.5  400  600
q)select from trade where size=(max;size)fby sym
time     sym  price size
------------------------
09:30:00 ibm  101.5 100
09:32:10 msft 27.5  400
q)select[2;>size] sym,size from trade
sym  size
---------
msft 400
msft 200
q)delete time,size from trade
sym  price
----------
ibm  101.5
msft 27.2
ibm  102
msft 27.5
q)update size:0 from `trade where sym=`ibm,size<100
`trade
q)exec size from trade
100 200 0 400
q)t:`sym xasc trade
q)meta t
c    | t f a
-----| -----
time | v
sym  | s   s
price| f
size | j
q)quote:([]sym:`ibm`msft`ibm;time:09:29:59 09:30:01 09:30:30;bid:101 27 101.8)
q)aj[`sym`time;trade;quote]
time     sym  price size bid
------------------------------
09:30:00 ibm  101.5 100  101
09:30:05 msft 27.2  200  27
09:31:00 ibm  102   0    101.8
09:32:10 msft 27.5  400  27
q)ref:([sym:`ibm`msft]name:("International";"Micro"))
q)trade lj ref
time     sym  price size name
----------------------------------------
09:30:00 ibm  101.5 100  "International"
09:30:05 msft 27.2  200  "Micro"
09:31:00 ibm  102   0    "International"
09:32:10 msft 27.5  400  "Micro"
q)`sym xgroup select sym,size from trade
sym | size
----| -------
ibm | 100 0
msft| 200 400
q)ungroup `sym xgroup select sym,size from trade
sym  size
---------
ibm  100
ibm  0
msft 200
msft 400
q)`ref upsert (`kx;"Kx")
`ref
q)ref
sym | name
----| ---------------
ibm | "International"
msft| "Micro"
kx  | "Kx"
q)`ref insert (`kx;"again")
'insert
  [0]  `ref insert (`kx;"again")
            ^
q)select price+sym from trade
'type
  [0]  select price+sym from trade
                   ^
q){[s]select sum size from trade where sym=s}`msft
size
----
600
q)f:{[c;v]?[trade;enlist(=;c;enlist v);0b;()]}
q)f[`sym;`ibm]
time     sym price size
-----------------------
09:30:00 ibm 101.5 100
09:31:00 ibm 102   0
q)parse"select sum size by sym from trade where price>100"
?
`trade
,,(>;`price;100)
(,`sym)!,`sym
(,`size)!,(sum;`size)
q)eval parse"select sum size by sym from trade where price>100"
sym| size
---| ----
ibm| 100
q)update price:`x from trade where sym=`ibm
'type
  [0]  update price:`x from trade where sym=`ibm
       ^
q)([s:`a`b]v:1 2)+([s:`b`c]v:10 20)
s| v
-| --
a| 1
b| 12
c| 20
q)/ a phrase's globals are those of the current namespace
q)lim:5
q)\d .foo
q)lim:2
q)only:1
q)f:{[t]select from t where a>lim}
q)g:{[t]exec a from t where a>only}
q)\d .
q).foo.f([]a:til 8)
a
-
6
7
q).foo.g([]a:til 4)
2 3
q)\d .foo
q)f([]a:til 4)
a
-
3
q)\d .
