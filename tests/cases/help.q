/ help: topics, types, objects, functions
key help()  / `backward`device`dtype`ktype`loss`module`optimizer`tensor
count help`optimizer  / 7
all(exec optimizer from help`optimizer)in exec optimizer from help`optimizers  / 1b
`muon`nadam in exec optimizer from help`optimizers  / 11b
(asc exec optimizer from help`optimizer)~`adagrad`adam`adamw`lamb`lbfgs`rmsprop`sgd  / 1b
help`sgd  / lr       | 0.01\nmomentum | 0f\ndampening| 0f\ndecay    | 0f\nnesterov | 0b
help`dtype  / float  | e\ndouble | f\nhalf   | e\nbool   | b\nbyte   | x\nchar   | c\nlong   | j\nint    | i\nshort  | h\nchalf  | e\ncfloat | e\ncdouble| f
help`ktype  / e| float\nf| double\nb| bool\nx| byte\nc| char\nj| long\ni| int\nh| short
help`ce  / module | `ce\npytorch| "torch.nn.CrossEntropyLoss"\nforward| 1b\nresult | `tensor\nn      | 2\nargs   | `tensor`tensor\noptions| `weight`ignore`smoothing`reduce!(::;-100;0f;`mean)
help`linear  / in  | 784\nout | 10\nbias| 1b
help`conv2d  / in     | 16\nout    | 32\nsize   | 3 5\nstride | 1\npad    | 0\ndilate | 1\ngroups | 1\nbias   | 1b\npadmode| `zeros
(help`linear)~first exec options from help`module where module=`linear  / 1b
(help`ce)~first select from help`loss where module=`ce  / 1b
exec first pytorch from help`optimizer where optimizer=`lamb  / ""
cols help`backward  / `mode`retain`create`description
exec mode from help`backward where retain  / `retain`create
key help`tensor  / `device`dtype`layout`gradient`pin`memory
(help`device)~seed()  / 1b
options`adamw  / lr     | 0.001\nbeta1  | 0.9\nbeta2  | 0.999\neps    | 1e-08\ndecay  | 0.01\namsgrad| 0b
options`linear  / in  | 784\nout | 10\nbias| 1b
options`ce  / weight   | ::\nignore   | -100\nsmoothing| 0f\nreduce   | `mean
help tensor 1 2  / device  | cpu\ndtype   | long\nlayout  | strided\ngradient| nograd\npin     | unpinned\nmemory  | contiguous
help vector(1 2;3 4e)  / device dtype layout  gradient pin      memory\n-------------------------------------------------\ncpu    long  strided nograd   unpinned contiguous\ncpu    float strided nograd   unpinned contiguous
help loss`mse  / module | `mse\npytorch| "torch.nn.MSELoss"\nforward| 1b\nresult | `tensor\nn      | 2\nargs   | `tensor`tensor\noptions| (,`reduce)!,`mean
help module enlist(`linear;2;3)  / module | `linear\npytorch| "torch.nn.Linear"\nforward| 1b\nresult | `tensor\nn      | 1\nargs   | `tensor\noptions| `in`out`bias!(2;3;1b)
help opt`sgd  / lr   momentum dampening decay nesterov\n--------------------------------------\n0.01 0        0         0     0
help"zerograd"  / zerograd ptr\n\nSet the gradients of a tensor, vector, dictionary, module, optimizer or model to zero.\n\nPyTorch: torch.optim.Optimizer.zero_grad\n\nq)x:tensor(1 2e;`grad)\nq)backward Sum x\nq)zerograd x\nq)grad x\n0 0e
/ of a type without options the text is printed too
count help`softmax2d  / module enlist(`softmax2d)\n\nSoftmax over channels.\n\nPyTorch: torch.nn.Softmax2d\n\nq)objtype module`softmax2d\n`softmax2d\n0
type help`matmul  / / matmul: k-api function\n\nmatmul(x;y)\nmatmul(x;y;output)\n\nThe matrix product of matrices, lists or batches.\n\nPyTorch: torch.matmul\n\nq)matmul(1 2 3;4 5 6)\n32\n\n/ matmul: module type\n\nmodule enlist(`matmul)\n\nMatrix product of two tensors.\n\nq)objtype module`matmul\n`matmul\n99h
help`foo  / 'help: unrecognized help topic, `foo (near `Floor)
help 1  / 'help: expecting a name, function, torch or Python object, given long scalar
help(1;2)  / 'help: expecting a name, function, torch or Python object, given long list
help model(module enlist(`linear;2;3);loss`mse;opt`sgd)  / 'help: not implemented for models
help`deltas  / deltas x\ndeltas[x;y]\n\nDifferences between adjacent items; the first item is unchanged.\n\nq)deltas 1 4 9 16\n1 3 5 7
type help`lr  / lr o\nlr(o;rates)\nlr(o;rates;flag)\n\nThe learning rates of an optimizer or model, one per parameter group; given rates, set them.\n\nIf a scheduler also sets the rates at each step, a line says so, and whether it continues from the given rates or\ncomputes its own. With the flag 1b, the rates from which schedulers compute are multiplied by the same ratio, so\nthat they continue from the given rates.\n\nq)o:opt(`sgd;();.1)\nq)opt(o;1;();.01)\nq)lr(o;.5*lr o)\nq)lr o\n0.05 0.005\n101h
help"relu"  / / relu: k-api function\n\nrelu(x[;options..])\n\nRectified linear unit.\n\nThe module type `relu` as a function: its options follow the input.\n\nq)relu(-1 0 1f)\n0 0 1f\n\n/ relu: module type\n\nmodule enlist(`relu[;inplace])\n\nRectified linear unit.\n\nPyTorch: torch.nn.ReLU\n\noption   type     default\ninplace  boolean  0b       write the result into the input\n\nq)objtype module`relu\n`relu
help`interpolate  / size   | 4\nscale  | ()\nmode   | `nearest\nalign  | ()\nrescale| ()
exec first pytorch from help[`module] where module=`interpolate  / "torch.nn.functional.interpolate"
options`normalize  / p  | 2f\ndim| 1\neps| 1e-12
exec first result from help[`module] where module=`lstm  / `nested
first select result,n from help[`module] where module=`attention  / result| `tuple\nn     | 3
exec pytorch from help[`module] where module in`zscore`randomcrop`randomflip`select  / "torchvision.transforms"\n"torchvision.transforms"\n"torch.Tensor.select"\n"torchvision.transforms"
exec module from help[`module] where not forward  / `moduledict`modulelist`parmdict
count help`module  / 128
help`narrow  / narrow(x;dim;offset;size)\n\nPart of one dimension of a tensor, or of each tensor of a vector or dictionary: `size` items from `offset`.\n\nThe result is a view.\n\nq)narrow(til 10;0;3;4)\n3 4 5 6
help narrow  / narrow(x;dim;offset;size)\n\nPart of one dimension of a tensor, or of each tensor of a vector or dictionary: `size` items from `offset`.\n\nThe result is a view.\n\nq)narrow(til 10;0;3;4)\n3 4 5 6
