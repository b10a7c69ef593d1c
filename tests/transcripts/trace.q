q)f:{{.Q.bt[];x*2}x+1}
q)f 4
  [2]  f@:{.Q.bt[];x*2}
           ^
  [1]  f:{{.Q.bt[];x*2}x+1}
          ^
  [0]  f 4
       ^
10
q)f0:{{("hi";x+y)}[x*2;"there"]}
q)f0 2
'type
  [2]  f0@:{("hi";x+y)}
                   ^
  [1]  f0:{{("hi";x+y)}[x*2;"there"]}
           ^
  [0]  f0 2
       ^
q)g:{h:{{x+`a}x};h x}
q)g 1
'type
  [3]  g@@:{x+`a}
             ^
  [2]  g@:{{x+`a}x}
           ^
  [1]  g:{h:{{x+`a}x};h x}
                      ^
  [0]  g 1
       ^
q)\d .t
q)k:{x+`a}
q)\d .
q).t.k 1
'type
  [1]  .t.k:{x+`a}
              ^
  [0]  .t.k 1
       ^
q).Q.trp[parse;"2+2;+2";{1@.Q.sbt 2#y}];
  [3]  2+2;+2
           ^
  [2]  (.q.parse)

q)e:{`hello+x}
q).Q.trp[e;2;{1"error: ",x,"\n",.Q.sbt y;-1}]
error: type
  [2]  e:{`hello+x}
                ^
  [1]  (.Q.trp)

  [0]  .Q.trp[e;2;{1"error: ",x,"\n",.Q.sbt y;-1}]
       ^
-1
q)r:{$[x>0;.z.s x-1;.Q.bt[]]}
q)r 1
  [2]  r:{$[x>0;.z.s x-1;.Q.bt[]]}
                         ^
  [1]  r:{$[x>0;.z.s x-1;.Q.bt[]]}
                ^
  [0]  r 1
       ^
q)r:{$[x>0;.z.s x-1;'deep]}
q)r 1500
'deep
  [1501]  r:{$[x>0;.z.s x-1;'deep]}
                             ^
  [1500]  r:{$[x>0;.z.s x-1;'deep]}
                   ^
  [1499]  r:{$[x>0;.z.s x-1;'deep]}
                   ^
  [1498]  r:{$[x>0;.z.s x-1;'deep]}
                   ^
  [1497]  r:{$[x>0;.z.s x-1;'deep]}
                   ^
  [1496]  r:{$[x>0;.z.s x-1;'deep]}
                   ^
  ..1493 levels left out
  [2]  r:{$[x>0;.z.s x-1;'deep]}
                ^
  [1]  r:{$[x>0;.z.s x-1;'deep]}
                ^
  [0]  r 1500
       ^
