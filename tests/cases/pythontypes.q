/ Classes and functions of Python as types of modules, losses and optimizers
.p.e"import torch\nclass Ta(torch.nn.Module):\n def __init__(s,n=8): super().__init__(); s.l=torch.nn.Linear(2,n)\n def forward(s,x): return s.l(x)"; options module`Ta  / n| 8
.p.e"class Ta(torch.nn.Module):\n def __init__(s,n=8): super().__init__(); s.l=torch.nn.Linear(2,n)\n def forward(s,x): return s.l(x)"; m:module enlist(`Ta;3); size forward(m;tensor(1 2e;3 4e))  / 2 3
m:module enlist(`Ta;`n,3); options m  / n| 3
m:module enlist(`Ta;(enlist`n)!enlist 3); options m  / n| 3
m:module enlist(`Ta;`mine;3); exec first name from module m  / `mine
objtype module`Ta  / `Ta
m:module enlist(`Ta;4); 7#str m  / "Ta(n=4)"
m:module enlist(`Ta;4); (state m)~state module state m  / 1b
m:module enlist(`Ta;4); exec options from module m  / (,`n)!,4\n`in`out`bias!(2;4;1b)
m:module enlist(`Ta;4); (state m)~state clone m  / 1b
m:module enlist(`$"__main__.Ta";4); objtype m  / `Ta
m:module seq(`sequential;(`Ta;`a;4);`relu); childnames m  / `a`1
m:module seq(`sequential;(`Ta;`a;4);`relu); (state m)~state module state m  / 1b
m:module`sequential; module(m;(`Ta;5)); options child(m;`0)  / n| 5
m:module enlist(`Ta;4); moduletypes m  /  | Ta\nl| linear
help`Ta  / n| 8
q:.p.eval["Ta(4)"]`; count options q  / options: Python made this Ta, with what is not known\n0
q:.p.eval["Ta(4)"]`; objtype q  / `Ta
module enlist(`Ta;1;2;3)  / 'Ta: expecting up to 2 positional args, 4 given
module enlist(`Ta;`n`m!1 2)  / 'Ta: unrecognized option `m
@[module;enlist(`Ta;"ab");{x like"Ta: TypeError: empty()*"}]  / 1b
module`Tz  / 'module: unrecognized module type: `Tz
module enlist(`os.system;"x")  / 'module: unrecognized module type: `os.system
module`module`options!(`os.system;(enlist`command)!enlist"x")  / 'module: unrecognized module type: `os.system
.p.e"class Tb(torch.nn.Module):\n def __init__(s,a:int,b:float=1,c:str='x',d:bool=False,e:tuple[int,...]=(1,2),f:'list[float]|None'=None,g=None,*,h=3):\n  super().__init__(); s.all=(a,b,c,d,e,f,g,h)"; m:module enlist(`Tb;3); .p.repr .p.wrap[m]`:all  / "(3, 1, 'x', False, (1, 2), None, None, 3)"
options module enlist(`Tb;3)  / a| 3\nb| 1f\nc| `x\nd| 0b\ne| 1 2\nf| ::\ng| ::\nh| 3
m:module enlist(`Tb;`a`b`c`d`e`f`h!(3;2;`y;1b;7;.5 1;"z")); .p.repr .p.wrap[m]`:all  / "(3, 2.0, 'y', True, (7,), [0.5, 1.0], None, 'z')"
m:module enlist(`Tb;3;0N;`y); .p.repr .p.wrap[m]`:all  / "(3, nan, 'y', False, (1, 2), None, None, 3)"
module`Tb  / 'Tb: no a given
module enlist(`Tb;2.5)  / 'Tb a: expected long scalar, given double scalar
module enlist(`Tb;0N)  / 'Tb a: expected long scalar, given null
module enlist(`Tb;1;`d,3)  / 'Tb d: expected boolean scalar, given long scalar
.p.e"class Tc(torch.nn.Module):\n def __init__(s,*sizes,bias=True,**more): super().__init__(); s.all=(sizes,bias,more)"; m:module enlist(`Tc;1;2;3); .p.repr .p.wrap[m]`:all  / "((1, 2, 3), True, {})"
m:module enlist(`Tc;`sizes`bias`k!(1 2;0b;7)); .p.repr .p.wrap[m]`:all  / "((1, 2), False, {'k': 7})"
m:module enlist(`Tc;1;2;3); options m  / sizes| 1 2 3\nbias | 1b
m:module enlist(`Tc;1;2;3); (state m)~state module state m  / 1b
.p.e"class Td(torch.nn.Module):\n def __init__(s,body,k): super().__init__(); s.body=body; s.k=k\n def forward(s,x): return s.k*s.body(x)"; m:module enlist(`Td;module`relu;3); evaluate(m;-1 2e)  / 0 6e
.p.e"class Tl(torch.nn.modules.loss._Loss):\n def __init__(s,w:float): super().__init__(); s.w=w\n def forward(s,x,y): return s.w*(x-y).abs().sum()"; l:loss enlist(`Tl;.5); tensor loss(l;1 2e;3 5e)  / 2.5e
l:loss(`Tl;2); loss l  / module | `Tl\noptions| (,`w)!,2f
l:loss(`Tl;2); objtype l  / `Tl
l:loss(`Tl;2); (loss l)~loss loss loss l  / 1b
l:loss(`Tl;2); class .p.wrap[l]`  / `loss
help`Tl  / module | `Tl\npytorch| "__main__.Tl"\nforward| 1b\nresult | `tensor\nn      | 2\nargs   | `tensor`tensor\noptions| (,`w)!,`required
loss`Tl  / 'Tl: no w given
loss(`Tl;`a)  / 'Tl w: expected long/double scalar, given symbol scalar
l:loss(`Tl;2); loss(l;1 2e)  / 'Tl: TypeError: Tl.forward() missing 1 required positional argument: 'y'
.p.e"class Tm(torch.nn.Module):\n def forward(s,x,y): return (x*y).sum()"; l:loss`Tm; tensor loss(l;1 2e;3 5e)  / 13e
.p.e"class To(torch.optim.Optimizer):\n def __init__(s,params,lr:float,boost:float=2.): super().__init__(params,{'lr':lr}); s.boost=boost\n def step(s,closure=None):\n  for g in s.param_groups:\n   for p in g['params']: p.data-=g['lr']*s.boost*p.grad"; w:tensor(1 2e;`grad); o:opt(`To;w;.25); backward sum w*w; step o; tensor w  / 0 0e
w:tensor(1 2e;`grad); o:opt(`To;w;.25); opt[o]`options  / lr   boost\n----------\n0.25 2
w:tensor(1 2e;`grad); o:opt(`To;w;.25;`boost,3.); exec boost from opt[opt(state o;w)]`options  / ,3f
w:tensor(1 2e;`grad); o:.p.eval["lambda w: To([w],.5)";<]w; lr o  / ,0.5
help`To  / lr   |\nboost| 2
opt(`To;tensor(1 2e;`grad))  / 'To: lr not defined
opt(`To;tensor(1 2e;`grad);`a)  / 'To lr: expected long/double scalar, given symbol scalar
.p.type[`tf;.p.eval"lambda n,**k: torch.nn.Linear(n,n,**k)"]; m:module enlist(`tf;3;`bias,0b); (objtype m;str m)  / `tf\n"tf(in_features=3, out_features=3, bias=false)"
.p.type[`tf;.p.eval"lambda n,**k: torch.nn.Linear(n,n,**k)"]; m:module enlist(`tf;3;`bias,0b); options m  / n   | 3\nbias| 0b
.p.type[`tf;.p.eval"lambda n,**k: torch.nn.Linear(n,n,**k)"]; m:module enlist(`tf;3;`bias,0b); (state m)~state module state m  / 1b
.p.type[`tg;.p.eval"lambda p,lr=.1: torch.optim.SGD(p,lr)"]; o:opt(`tg;tensor(1 2e;`grad);.3); (objtype o;lr o)  / `tg\n,0.3
.p.type[`th;.p.eval"lambda r: torch.nn.MSELoss(reduction=r)"]; l:loss(`th;`sum); tensor loss(l;1 2e;2 4e)  / 5e
module[`ti;.p.eval"torch.nn.Linear"]; m:module enlist(`ti;3;2); options m  / in_features | 3\nout_features| 2\nbias        | 1b\ndevice      | ::\ndtype       | ::
module(`ti;.p.eval"torch.nn.Linear"); objtype module enlist(`ti;3;2)  / `ti
.p.type[`tj;.p.eval"lambda: 3"]; module`tj  / 'tj: made a int, not a module
.p.type[`tj;.p.eval"lambda: 3"]; loss`tj  / 'tj: made a int, not a loss
.p.type[`tj;.p.eval"lambda p: 3"]; opt`tj  / 'tj: made a int, not an optimizer
.p.type[`linear;.p.eval"torch.nn.Linear"]  / '.p.type: `linear is a module type of kshell or of a file of entries
.p.type[`tk;.p.eval"3"]  / '.p.type: expecting a class of modules, losses, optimizers or datasets, or a function that makes one, given a Python int
.p.type[`tk;.p.eval"int"]  / '.p.type: expecting a class of modules, losses, optimizers or datasets, or a function that makes one, given int
.p.type["tk";.p.eval"int"]  / 'type
.p.type[`tk;{x}]  / 'type
.p.type[`;.p.eval"len"]  / '.p.type: expecting a name, given `
module[`a;`b]  / 'module: expecting a name and a class or function of Python, given symbol scalar, symbol scalar
reval parse"module`Ta"  / 'noupdate: Ta
reval(`.p.type;enlist`tk;.p.eval"len")  / 'noupdate: .p.type
/ datasets and loaders by name
.p.e"class Td(torch.utils.data.Dataset):\n def __init__(s,n:int,k:float=1.): s.n,s.k=n,k\n def __len__(s): return s.n\n def __getitem__(s,i): return torch.tensor([i*s.k]),torch.tensor([1.])"; d:pydata(`Td;5); .p.qeval"1"  / 1
q:module enlist(`linear;1;1);k:model(q;loss`mse;opt(`sgd;q));train(k;`batchsize;2);train(k;pydata(`Td;5))  / 3
train(k;pydata(`Td;`n`k!(4;2)));batch k;tensor input k  / 0\n2
help`Td  / n| 0N\nk| 1f
train(k;pyloader((`Td;5);2))  / 3
train(k;pyloader((`Td;5);2;0b;1b))  / 2
train(k;pyloader(pydata(`Td;7);`batchsize`droplast!(3;1b)));batchinit k  / 2
batch k;size input k  / 3 1
.p.wrap[pyloader(`Td;5)][`:batch_size;`]  / 'Td: no n given
.p.wrap[pyloader enlist(`Td;5)][`:batch_size;`]  / 32
.p.wrap[pydata(`Td;5)][`:n;`]  / 5
.p.wrap[pyloader(.p.eval"[1,2,3]";2)][`:dataset;`]  / 1 2 3
pydata`Td  / 'Td: no n given
pydata(`Td;1;2;3)  / 'Td: expecting up to 3 positional args, 4 given
pydata`Tq  / 'pydata: unrecognized dataset: Tq
pydata`os.system  / 'pydata: unrecognized dataset: os.system
pydata 3  / 'pydata: expecting the name of a class of datasets, given long scalar
pydata(`Td;q)  / 'pydata: expecting tensors and q values as arguments, given module
pyloader 3  / 'pyloader: expecting a dataset, or its name and arguments, given long scalar
pyloader .p.eval"3"  / 'pyloader: expecting a dataset, or its name and arguments, given a Python int
pyloader(pydata(`Td;5);0)  / 'pyloader batchsize: 0 is below 1
pyloader(pydata(`Td;5);`width,3)  / 'pyloader option: width not recognized
pyloader(pydata(`Td;0);2;1b)  / 'pyloader: ValueError: num_samples should be a positive integer value, but got num_samples=0
train(k;pydata(`Td;5));train(k;`shuffle;1b);train(k;pyloader(pydata(`Td;5);2))  / 'train: the DataLoader has an order of its own, shuffle is set: train(m;`shuffle;0b) before (given model, function)
reval parse"pydata(`Td;5)"  / 'access: pydata
