/ Python at the q prompt: forms of a wrapped object
.p.eval["1+1"]`  / 2
type .p.eval"1"  / 105h
type .p.pyeval"1"  / 112h
type .p.eval["1";`.]  / 112h
.p.pyeval"1"  / foreign
.p.eval"1"  / {[f;x]embedPy[f;x]}[foreign]enlist
w:.p.eval"[1,2,3]"; w[@;0]`  / 1
w:.p.eval"[1,2,3]"; w[@;-1;`]  / 3
w:.p.eval"[1,2,3]"; w[@;;`]each 0 1  / 1 2
w:.p.eval"[1,2,3]"; w[=;0;7]; w`  / 7 2 3
w:.p.eval"{'a':1}"; w[=;`b;1 2]; w[=;`c;enlist 5]; w`  / a| 1\nb| 1 2\nc| 5
w:.p.eval"[1]"; w[@;3]  / 'call: IndexError: list index out of range
w:.p.eval"1"; w[@;3]  / 'call: TypeError: 'int' object is not subscriptable
w:.p.eval"1"; w[+;3]  / 'NYI
.p.import[`math;`:pi;`]  / 3.141593
.p.import[`$"os.path";`:join;"a";"b"]`  / "a/b"
.p.import[`math][`:floor;<]2.5  / 2
.p.import[`math][`:floor][<;2.5]  / 2
.p.import[`math][`:floor][*;2.5]`  / 2
type .p.import[`math][`:floor][>]2.5  / 112h
.p.import[`math]`:banana  / 'getattr: module 'math' has no attribute 'banana'
.p.import`nosuchmodule  / 'import: No module named 'nosuchmodule'
.p.import"math"  / 'type
.p.eval"1/0"  / 'eval: ZeroDivisionError: division by zero
.p.eval"1 +"  / 'eval: invalid syntax (, line 1)
.p.e"x ="  / 'e: invalid syntax (, line 1)
.p.eval[1]  / 'type
.p.get`nosuchvariable  / 'nosuchvariable
@[.p.eval;"{}['a']";{x}]  / "eval: KeyError: 'a'"
.p.set[`n;5]; .p.qeval"n+1"  / 6
.p.e"k=3"; .p.get[`k]`  / 3
f:.p.eval"lambda *a,**k: (a,k)"; f[]`  / ()\n()!()
f:.p.eval["lambda *a,**k: len(a)+10*len(k)";<]; f[1;2]  / 2
f:.p.eval["lambda *a,**k: len(a)+10*len(k)";<]; f[::;1]  / 2
f:.p.eval["lambda *a,**k: len(a)+10*len(k)";<]; f .p.eval"None"  / 1
f:.p.eval["lambda *a,**k: len(a)+10*len(k)";<]; f . 1 2 3  / 3
f:.p.eval["lambda a,b=1,*,c=2: (a,b,c)";<]; f[0;`c pykw 5]  / 0 1 5
f:.p.eval["lambda a,b=1,*,c=2: (a,b,c)";<]; f[pyarglist 7 8;`c pykw 9]  / 7 8 9
f:.p.eval["lambda a,b=1,*,c=2: (a,b,c)";<]; f[pykwargs`a`c!3 4]  / 3 1 4
f:.p.eval["lambda a,b=1,*,c=2: (a,b,c)";<]; f[pyarglist 7;6]  / 6 7 2
f:.p.eval["lambda *a: a";<]; f[`a pykw 1;2]  / 'keywords last
f:.p.eval["lambda *a: a";<]; f[pykwargs`a`b!1 2;`c pykw 1]  / 'pykwargs last
f:.p.eval["lambda *a: a";<]; f[pykwargs`a`b!1 2;pykwargs`c`d!1 2]  / 'only one pykwargs allowed
f:.p.eval["lambda *a: a";<]; f[pyarglist 1;pyarglist 1]  / 'only one pyargs allowed
f:.p.eval["lambda *a: a";<]; f[`a pykw 1;`a pykw 2]  / 'dupnames
f:.p.eval["lambda *a: a";<]; f[pykwargs 1 2!3 4]  / 'type
f:.p.eval["lambda *a: a[0]";<]; f[`:a]  / ":a"
f:.p.eval["lambda *a: a[0]";<]; f[`]  / ""
f:.p.eval["lambda x: x";<]; f each 1 2 3  / 1 2 3
f:.p.eval["lambda x: x";<]; h:{f x}; h each(1;2.5;1b;`a;"ab";1 2;0N;0W;(::))  / 'call: TypeError: <lambda>() missing 1 required positional argument: 'x'
f:.p.eval["lambda x: x";<]; h:{f x}; h each(1;2.5;1b;0N;0W;1 2h)  / 1\n2.5\n1b\n0N\n0W\n1 2h
f:.p.eval["lambda x: x";<]; h:{f x}; f:neg; h 3  / -3
f:.p.eval["lambda x: x";<]; h:{f x}; f:5 6 7; h 1  / 6
f:.p.eval["lambda x: x";<]; h:{f[x]+f 2*x}; h 3  / 9
f:.p.eval["lambda x,y: x-y";<]; h:{f[x;f[y;1]]}; h[9;3]  / 7
f:.p.eval["lambda x,y: x-y";<]; h:{f[;x]}; h[3]5  / 2
f:.p.eval["lambda x: 10**x";<]; h:{f x}; h each 1 9 10 18 19 30  / 10 1000000000 10000000000 1000000000000000000 0W 0W
f:.p.eval["lambda x: -10**x";<]; h:{f x}; h 30  / -0W
f:.p.eval["lambda x: 1/x";<]; h:{f x}; @[h;0;{x}]  / "call: ZeroDivisionError: division by zero"
f:.p.eval["lambda x: 1/x";<]; h:{f x}; h 0  / 'call: ZeroDivisionError: division by zero
f:.p.eval["lambda x: 1/x";<]; h:{@[f;x;0w]}; h each 0 2 4  / 0w 0.5 0.25
f:.p.eval["lambda x: __import__('sys').exit(3)";<]; h:{f x}; h 0  / 'call: SystemExit: 3
f:.p.eval["lambda x: x";<]; h:{$[x;f x;neg f x]}; h each 0 5  / 0 5
f:.p.eval["lambda x: x";<]; h:{r:0;do[x;r+:f r+1]; r}; h 3  / 7
f:.p.eval["lambda x: x";<]; h:{i:0;while[5>f i;i+:1]; i}; h 0  / 5
f:.p.eval["lambda x: x>1";<]; t:([]a:1 2 3); select from t where f each a  / a\n-\n2\n3
f:.p.eval["lambda x: x";<]; reval({f x};1)  / 'noupdate: .p.call
f:.p.eval["lambda x,y: x+y";<]; f[;2]each 1 2 3  / 3 4 5
f:.p.eval["lambda x,y: x+y";<]; 1 2 f' 3 4  / 4 6
f:.p.eval["lambda x,y: x+y";<]; f'[1 2;3 4]  / 4 6
f:.p.eval["lambda x: x*2";<]; (neg f@)3  / -6
.p.wrap[.p.pyeval"5"]`  / 5
.p.py2q .p.q2py 1 2 3  / 1 2 3
.p.py2q .p.getattr[.p.pyimport`math;`e]  / 2.718282
.p.py2q .p.call[.p.pyeval"divmod";17 5;()!()]  / 3 2
.p.py2q .p.call[.p.pyeval"dict";();`a`b!1 2]  / a| 1\nb| 2
.p.py2q .p.pyfunc[.p.pyeval"max"][3;8]  / 8
.p.qcallable[.p.eval"len"]"four"  / 4
type .p.pycallable[.p.eval"len"]"four"  / 112h
.p.callable[.p.eval"len"]["four"]`  / 4
c:.p.closure[{[s;x](s+x;s)};10][<]; c 1; c 2; c 0  / 13
.p.list[.p.generator[{[s;i](2*s;s)};1;5]]`  / 1 2 4 8 16
g:.p.generator[{[s;i](s+i;s)};0;::]; .p.set[`g;g]; .p.qeval"[next(g) for _ in range(4)]"  / 0 0 1 3
.p.repr .p.eval"{'a':1}"  / "{'a': 1}"
.p.repr`a`b  / "['a', 'b']"
.p.helpstr 1  / "no help available"
.p.isinstance[.p.eval"3";.p.eval"int"]`  / 1b
.p.key[.p.eval"{'a':1,'b':2}"]`  / ,"a"\n,"b"
.p.value[.p.eval"{'a':1,'b':2}"]`  / 1 2
.p.tuple[1 2]`  / 1 2
.p.dict[`a pykw 1]`  / a| 1
`e in key`.p  / 1b
p:.p.eval"1"; p~p  / 1b
p:.p.eval"object()"; p~.p.wrap p  / 1b
p:.p.eval"object()"; count p  / 1
p:.p.pyeval"object()"; -8!p  / 'type: expected a value, given a Python object of class object
value"p)q_n=4"; .p.qeval"q_n"  / 4
.p.set[`f;{x+y}]; .p.qeval"f(1,2)"  / 3
.p.set[`f;{x+y}]; .p.qeval"f(1)(2)"  / 3
.p.set[`f;{[a;b]a-b}]; .p.qeval"f(b=1,a=5)"  / 4
.p.set[`f;{x+y}]; .p.qeval"f(1,2,3)"  / 'rank
.p.set[`f;{x+`a}]; .p.qeval"f(1)"  / 'type
.p.set[`f;{'`mine}]; .p.e"def t():\n try: f(1)\n except RuntimeError as e: return str(e)"; .p.qeval"t()"  / "mine"
f:{x+1}; .p.set[`f;f]; f~.p.get[`f]`  / 1b
.p.set[`f;{x+1}]; .p.qeval"__import__('copy').deepcopy(f) is f"  / 1b
.p.set[`f;{x+1}]; .p.qeval"__import__('pickle').dumps(f)"  / 'eval: TypeError: a q function cannot leave its process
.p.set[`f;{[u;v]u}]; .p.qeval"str(__import__('inspect').signature(f))"  / "(u, v)"
reval(.p.qeval;"1")  / 'noupdate: .p.qeval
w:.p.eval"len"; reval({x"abc"};w)  / 'noupdate: .p.call
/ conversions out: embedPy's table
.p.repr each(1b;1h;1i;1;1e;1f;"a";`a;0x01)  / "True"\n,"1"\n,"1"\n,"1"\n"1.0"\n"1.0"\n"'a'"\n"'a'"\n"b'\\x01'"
.p.repr each(0Nh;0Ni;0N;0W;-0W)  / "-32768"\n"-2147483648"\n"-9223372036854775808"\n"9223372036854775807"\n"-9223372036854775807"
.p.repr each(0n;0w;-0w)  / "nan"\n"inf"\n"-inf"
.p.repr(::)  / "None"
.p.repr 2000.01.02D00:00:00.000000001  / "86400000000001"
.p.repr each(2000.03m;2000.01.11;2000.01.02T12:00:00.000;0D00:00:01;00:02;00:00:03;00:00:00.004)  / ,"2"\n"10"\n"1.5"\n"1000000000"\n,"2"\n,"3"\n,"4"
.p.repr 0Nd  / "-2147483648"
.p.repr"0102030405060708090a0b0c0d0e0f10"  / "'0102030405060708090a0b0c0d0e0f10'"
.p.repr"G"$"00000000-0000-0000-0000-000000000001"  / "UUID('00000000-0000-0000-0000-000000000001')"
.p.repr"abc"  / "'abc'"
.p.repr""  / "''"
.p.repr 0x0102  / "b'\\x01\\x02'"
.p.repr`a`b  / "['a', 'b']"
.p.repr(1;`a;"xy")  / "[1, 'a', 'xy']"
.p.repr`a`b!(1;2 3)  / "{'a': 1, 'b': array([2, 3])}"
.p.repr([]a:1 2)  / "{'a': array([1, 2])}"
.p.repr([k:`a`b]v:1 2)  / "{'k': ['a', 'b'], 'v': array([1, 2])}"
.p.repr`sym?`a`b  / "['a', 'b']"
f:.p.eval["lambda x: str(x.dtype)";<]; f each(01b;1 2h;1 2i;1 2;1 2e;1 2f;2#.z.p;2#.z.d;2#.z.n;2#.z.t)  / "bool"\n"int16"\n"int32"\n"int64"\n"float32"\n"float64"\n"int64"\n"int32"\n"int64"\n"int32"
f:.p.eval["lambda x: [type(y).__name__ for y in x]";<]; f(1 2;3 4)  / "ndarray"\n"ndarray"
f:.p.eval["lambda x: x.flags.writeable";<]; f 1 2 3  / 0b
.p.e"def w(x): x[0]=9"; .p.get[`w;<]1 2 3  / 'call: ValueError: assignment destination is read-only
a:1 2 3; .p.set[`v;a]; a[0]:9; .p.qeval"v.tolist()"  / 1 2 3
a:til 5; .p.set[`v;a]; a+:1; .p.qeval"v.tolist()"  / 0 1 2 3 4
.p.eval["lambda x: x";<]"\351"  / 'call: 'utf-8' codec can't decode byte 0xe9 in position 0: unexpected end of data
.p.repr first`sym?`a`b  / "'a'"
/ conversions in
.p.qeval"'\\ud800'"  / ''utf-8' codec can't encode character '\ud800' in position 0: surrogates not allowed
.p.qeval each("None";"True";"5";"1.5";"'a'";"''";"b'ab'";"bytearray(b'a')")  / ::\n1b\n5\n1.5\n,"a"\n""\n0x6162\n,0x61
.p.qeval each("10**30";"-10**30";"-2**63")  / 0W -0W 0N
.p.qeval"(1,2.5,'a')"  / 1\n2.5\n,"a"
.p.qeval"[]"  / ()
.p.qeval"[1,None]"  / 1\n::
.p.qeval"{}"  / 
.p.qeval"{'a':1,'b':'x'}"  / a| 1\nb| ,"x"
.p.qeval"{1:2,3:4}"  / 1| 2\n3| 4
.p.qeval"range(3)"  / 0 1 2
type .p.qeval"object()"  / 112h
type each .p.qeval"[1,object()]"  / -7 112h
type .p.qeval"__import__('datetime').date(2026,1,1)"  / 112h
.p.e"import numpy as np"; .p.qeval each("np.bool_(1)";"np.uint8(1)";"np.int16(1)";"np.int32(1)";"np.int64(1)";"np.float32(1)";"np.float64(1)")  / 1b\n0x01\n1h\n1i\n1\n1e\n1f
.p.e"import numpy as np"; type each .p.qeval"[np.zeros(2,t) for t in 'bool uint8 int16 int32 int64 float32 float64'.split()]"  / 1 4 5 6 7 8 9h
.p.e"import numpy as np"; type each .p.qeval"[np.zeros(2,t) for t in 'int8 uint16 uint32 uint64 float16'.split()]"  / 5 6 7 7 8h
.p.e"import numpy as np"; type each .p.qeval"[np.zeros(2,t) for t in 'M8[D] m8[s] complex64 S2 V3'.split()]"  / 112 112 112 112 112h
.p.e"import numpy as np"; .p.qeval"np.arange(6).reshape(2,3)"  / 0 1 2\n3 4 5
.p.e"import numpy as np"; .p.qeval"np.asfortranarray(np.arange(6).reshape(2,3))"  / 0 1 2\n3 4 5
.p.e"import numpy as np"; .p.qeval"np.arange(6)[::-2]"  / 5 3 1
.p.e"import numpy as np"; .p.qeval"np.arange(3).astype('>i4')"  / 0 1 2i
.p.e"import numpy as np"; .p.qeval"np.array(5)"  / 5
.p.e"import numpy as np"; .p.qeval"np.zeros(0,'i4')"  / `int$()
.p.e"import numpy as np"; .p.qeval"np.array(['ab','c'])"  / "ab"\n,"c"
.p.e"import numpy as np"; .p.qeval"np.array([1,'a'],object)"  / 1\n,"a"
.p.e"import numpy as np"; type .p.qeval"np.uint64(2**63)"  / 112h
.p.eval"{}[0]"  / 'eval: KeyError: 0
.p.e"raise Exception"  / 'e: Exception
/ on request
.p.repr .p.topy 0D00:00:01 0Nn  / "[datetime.timedelta(seconds=1), None]"
.p.repr .p.topy 2026.01.02D03:04:05.000006000 0Np  / "[datetime.datetime(2026, 1, 2, 3, 4, 5, 6), None]"
.p.repr .p.topy 12:30 0Nu  / "[datetime.timedelta(seconds=45000), None]"
.p.repr .p.tonp 0Nd 2026.01.01  / "array([       'NaT', '2026-01-01'], dtype='datetime64[D]')"
.p.repr .p.topy(0Nj;0Ni;0Nh;`)  / "[None, None, None, '']"
.p.e"import datetime as dt, numpy as np, decimal, uuid"; .p.toq each .p.eval each("dt.datetime(2026,1,2,3,4,5,6)";"dt.time(1,2,3)";"dt.timedelta(1)";"decimal.Decimal('1.5')";"uuid.UUID(int=1)")  / 2026.01.02D03:04:05.000006000\n0D01:02:03.000000000\n1D00:00:00.000000000\n1.5\n00000000-0000-0000-0000-000000000001
.p.e"import numpy as np"; .p.toq each .p.eval each("np.datetime64('NaT')";"np.array(['2026-01-02','NaT'],'M8[D]')";"np.timedelta64(5,'s')")  / 0Np\n2026.01.02 0N\n00:00:05
.p.toq .p.eval"{1,2}"  / 1 2
.p.callable[1]`  / 1
.p.setattr[.p.eval"1";`x;5]  / 'setattr: AttributeError: 'int' object has no attribute 'x'
.p.e"raise SystemExit(2)"  / 'e: SystemExit: 2
.p.e"def gen():\n yield 1\n raise KeyError('k')"; .p.list .p.get[`gen][]  / 'call: KeyError: 'k'
.p.each[{x};5]  / 'call: TypeError: 'int' object is not iterable
c:.p.closure[{[s;x]'`bad};0][<];c 1  / 'bad
type .p.version  / -11h
.p.repr .p.topy 1 2  / "[1, 2]"
.p.repr .p.topy 2026.01.02 0Nd  / "[datetime.date(2026, 1, 2), None]"
.p.tonp[(1 2;3 4)][`:shape;`]  / 2 2
.p.toq .p.eval"__import__('datetime').date(2026,1,2)"  / 2026.01.02
.p.toq0[.p.eval"'ab'";1b]  / "ab"
.p.toq0[.p.eval"'ab'";0b]  / `ab
.p.toq0 .p.eval"'ab'"  / `ab
.p.toq0[.p.eval"['ab','c',None]";1b]  / "ab"\n,"c"\n""
.p.toq0[.p.eval"['one','two']";1b]  / "one"\n"two"
.p.toq0[.p.eval"(1,'ab',['c',2.5])";1b]  / 1\n"ab"\n(,"c";2.5)
.p.toq0[.p.eval"{'k':['x','yz'],'n':1}";1b]  / k| (,"x";"yz")\nn| 1
.p.toq0[.p.eval"__import__('numpy').array(['a','bc'])";1b]  / ,"a"\n"bc"
.p.toq0[.p.eval"[]";1b]  / ()
.p.toq0[.p.eval"'ab'";1]  / 'type
.p.toq0[.p.eval"'ab'";1b;1b]  / 'rank
.p.each[neg;.p.eval"range(3)"]  / 0 -1 -2
.p.each[{[x]};.p.eval"range(3)"]~(::)  / 1b
.p.each[{x};.p.eval"()"]  / ()
.p.each[::;.p.eval"(7,8)"]  / 7 8
named:{[aa;bb]aa+bb}; .p.eval["lambda f: f.__name__"][named]`  / "named"
.p.setconv{`bare}; r:.p.qeval"[1,object()]"; .p.setconv(::); r  / 1\n`bare
/ words for arguments
`a pykw 1  / pykw[`a;1]
(`a pykw 1)~`a pykw 1  / 1b
(`a pykw 1)~`a pykw 2  / 0b
f:.p.eval["lambda **k: sorted(k.values())";<]; f[`a pykw 1;`b pykw 2;pykwargs`c`d!3 4]  / 1 2 3 4
"a"pykw 1  / 'type
1 pykw 1  / 'type
(pyarglist 1 2)~pyarglist 1 2  / 1b
f:.p.eval["lambda *a: len(a)";<]; f[pyarglist()]  / 0
f:.p.eval["lambda *a: len(a)";<]; f[1;pyarglist 2 3;4]  / 4
f:.p.eval["lambda *a: a[-1]";<]; f[pyarglist`a`b;7]  / ,"b"
f:.p.eval["lambda *a: len(a)";<]; f[pyarglist(1;"ab");`c]  / 3
f:.p.eval["lambda *a: len(a)";<]; f[`k pykw 1;pyarglist 1 2]  / 'keywords last
(pykwargs`a`b!1 2)~pykwargs`a`b!1 2  / 1b
f:.p.eval["lambda a=0,b=0: a-b";<]; f[5;pykwargs(enlist`b)!enlist 3]  / 2
f:.p.eval["lambda a=0,b=0: a-b";<]; f[pykwargs 5]  / 'type
print 1  / 1
print`a`b  / ['a', 'b']
print"abc"  / abc
print(1;`a)  / [1, 'a']
print .p.eval"{'a':1}"  / {'a': 1}
print(::)  / None
print"\351"  / 'print: 'utf-8' codec can't decode byte 0xe9 in position 0: unexpected end of data
print 1+`a  / 'type
.p.nosuch  / '.p.nosuch
