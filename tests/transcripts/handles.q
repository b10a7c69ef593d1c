q)t:tensor 2 3#til 6
q)tensor t
0 1 2
3 4 5
q)size t
2 3
q)options t
device  | cpu
dtype   | long
layout  | strided
gradient| nograd
pin     | unpinned
memory  | contiguous
q)d:dict`a`b!(1 2;3 4f)
q)v:vector(1 2 3;"abc")
q)select class,device,dtype,size,elements,bytes from obj[]
class      device dtype size elements bytes
-------------------------------------------
tensor     cpu    long  2 3  6        48
dictionary cpu          2    4        32
vector     cpu          2    6        27
q)free v
q)class v
'stale pointer
  [0]  class v
       ^
hint: the vector was freed by: free v
q)free[]
q)count obj[]
0
q)x:tensor(1 2 3e;`grad)
q)y:x*x
q)backward sum y
q)grad x
2 4 6e
q)tensor y
1 4 9e
q)y[1]:0
q)tensor y
1 0 9e
q)`leaf`gradient#info x
leaf    | 1b
gradient| `grad
q)mul(1 2;1 2 3)
'mul: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
  [0]  mul(1 2;1 2 3)
       ^
q)use[y]tensor(`complex;1 2;3 4)
q)tensor y
1 2
3 4
q)tensor(y;0b)
1 3
2 4
q)s:sparse(0 9 0;3 0 0)
q)indices s
0 1
1 0
q)values s
9 3
q)return s
0 9 0
3 0 0
q)mapped s
0b
