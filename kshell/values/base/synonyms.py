"""Synonyms from other languages and libraries for names used here: one table for names close to a wrong one, one for
the search.

Words are written without underscores, blanks and capitals. Nothing need be listed if torch's name without underscores
is the name here, or the name of an entry's class or function.
"""

from __future__ import annotations

from collections.abc import Iterable

# fmt: off  # a table
# options and settings: names in PyTorch, Keras, transformers and common use -> names here
OPTIONS: dict[str, tuple[str, ...]] = {
    "learningrate": ("lr",),
    "rate": ("lr",),
    "stepsize": ("lr",),
    "eta": ("lr",),
    "alpha": ("lr", "rho"),
    "weightdecay": ("decay",),
    "wd": ("decay",),
    "l2": ("decay",),
    "l2reg": ("decay",),
    "regularization": ("decay",),
    "epsilon": ("eps",),
    "betas": ("beta1", "beta2"),
    "mom": ("momentum",),
    "beta": ("beta1", "momentum"),
    "damp": ("dampening",),
    "correctbias": ("unbiased",),
    "maxiter": ("iter",),
    "iterations": ("iter",),
    "tolerance": ("gradtol", "changetol"),
    "tol": ("gradtol",),
    "batch": ("batchsize",),
    "bs": ("batchsize",),
    "minibatch": ("batchsize",),
    "perdevicetrainbatchsize": ("batchsize",),
    "epoch": ("epochs",),
    "numepochs": ("epochs",),
    "numtrainepochs": ("epochs",),
    "gradaccum": ("accumulate",),
    "gradientaccumulationsteps": ("accumulate",),
    "accumulationsteps": ("accumulate",),
    "gradclip": ("clipnorm", "clipvalue"),
    "maxgradnorm": ("clipnorm",),
    "clipgradnorm": ("clipnorm",),
    "clipgradvalue": ("clipvalue",),
    "gradientclipval": ("clipnorm",),
    "clip": ("clipnorm", "clipvalue", "clip"),
    "mixedprecision": ("autocast",),
    "amp": ("autocast",),
    "fp16": ("autocast", "half"),
    "bf16": ("autocast", "bfloat16"),
    "precision": ("autocast",),
    "gradscaler": ("gradscale",),
    "lossscale": ("gradscale",),
    "seed": ("shuffleseed", "seed"),
    "randomseed": ("shuffleseed",),
    "acc": ("accuracy",),
    "err": ("loss",),
    "predictions": ("predict",),
    "hiddensize": ("hidden",),
    "hiddendim": ("hidden",),
    "units": ("out", "hidden"),
    "infeatures": ("in",),
    "outfeatures": ("out",),
    "inchannels": ("in",),
    "outchannels": ("out",),
    "filters": ("out",),
    "inputsize": ("in",),
    "outputsize": ("out",),
    "dmodel": ("in",),
    "kernel": ("size",),
    "kernelsize": ("size",),
    "filtersize": ("size",),
    "padding": ("pad",),
    "strides": ("stride",),
    "dilation": ("dilate",),
    "vocab": ("rows",),
    "vocabsize": ("rows",),
    "numembeddings": ("rows",),
    "embeddim": ("cols", "dim"),
    "embeddingdim": ("cols",),
    "numlayers": ("layers",),
    "numheads": ("heads",),
    "nhead": ("heads",),
    "dropout": ("dropout", "p"),
    "dropoutrate": ("dropout", "p"),
    "bidirectional": ("bi",),
    "activation": ("fn",),
    "nonlinearity": ("fn",),
    "usebias": ("bias",),
    "reduction": ("reduce",),
    "labelsmoothing": ("smoothing",),
    "ignoreindex": ("ignore",),
    "margins": ("margin",),
    "warmupsteps": ("warmup",),
    "numwarmupsteps": ("warmup",),
    "trainingsteps": ("steps",),
    "totalsteps": ("steps",),
    "numtrainingsteps": ("steps",),
    "minlr": ("min",),
    "maxlr": ("max",),
    "etamin": ("min",),
    "initlr": ("init",),
    "numthreads": ("threads",),
    "workers": ("threads",),
    "nproc": ("threads",),
    "detectanomaly": ("anomaly",),
    "dense": ("linear",),
    "multiheadattention": ("attention",),
    "momentum": ("sgd",),
    "gpu": ("cuda", "mps"),
    "nvidia": ("cuda",),
    "accelerator": ("cuda", "mps"),
    "single": ("float",),
    "fp32": ("float",),
    "f32": ("float",),
    "fp64": ("double",),
    "f64": ("double",),
    "f16": ("half",),
    "requiresgrad": ("grad",),
    "channelslast": ("channel2d",),
    "pinmemory": ("pinned",),
}
# fmt: on

# torch names -> equivalent entries
_NAMES = """
vectornorm=vnorm matrixnorm=mnorm norm=vnorm,fnorm,mnorm,nnorm repeatinterleave=repeatitems histogram=histc,bincount
broadcastto=expand expandas=expand elementsize=itemsize iscontiguous=contiguous isleaf=leaf isnan=nan isinf=inf
isfinite=finite requiresgrad=gradflag,freeze arange=til linspace=til concatenate=cat manualseed=seed getrngstate=rng
setrngstate=rng rngstate=rng statedict=state,parms,ckpt loadstatedict=putstate,copyparms save=ckpt,snapshot load=ckpt
namedparameters=parms,parmtable parameters=parms,parmnames namedmodules=modules,names namedchildren=children,childnames
namedbuffers=buffers,buffernames modulelist=modulelist parameter=parm registerparameter=parm registerbuffer=buffer
registermodule=child addmodule=child,module eval=training,evaluate zerograd=zerograd gaussiannllloss=gaussiannll
inferencemode=nograd,evaluate setgradenabled=nograd enablegrad=gradflag isgradenabled=gradflag bfloat16=dtype,to
float16=dtype,to half=dtype,to double=dtype,to type=dtype astype=dtype,to cuda=to,device cpu=to,device
memoryallocated=obj,ts maxmemoryallocated=ts synchronize=sync profiler=profile benchmark=profile,ts
distributeddataparallel=ddp dataparallel=ddp fullyshardeddataparallel=fsdp initprocessgroup=worldrank,world
getrank=worldrank getworldsize=world clipgradnorm=clip,clipnorm clipgradvalue=clipv,clipvalue
xavieruniform=xuniform xaviernormal=xnormal kaiminguniform=kuniform kaimingnormal=knormal truncnormal=normal
constant=fill calculategain=gain paramgroups=parmtable,groups,opt addparamgroup=opt,addlayer lrscheduler=sched
getlastlr=lr,lrs lossbackward=backward optimizer=opt criterion=loss usedeterministicalgorithms=deterministic
setnumthreads=threads getnumthreads=threads numthreads=threads setdefaultdevice=device setdefaultdtype=dtype
maskedselect=maskedselect numelements=numel ndim=dim shape=size tojson=.j.j multiheadattention=attention
embeddingbag=embedbag crossentropy=ce binarycrossentropy=bce binarycrossentropywithlogits=bcelogits mseloss=mse
smoothl1loss=smoothl1 nllloss=nll kldiv=kl onehot=onehot
retaingraph=backward creategraph=backward summarywriter=logto tensorboard=logto addscalar=logto
foreach=opt maximize=opt capturable=opt differentiable=opt fused=opt averagedmodel=avgparms,emaparms ema=emaparms
exponentialmovingaverage=emaparms,ema movingaverage=emaparms,avgparms,mavg stochasticweightaveraging=avgparms
swa=avgparms groupedqueryattention=scaleddotproductattention,repeatitems gqa=scaleddotproductattention,repeatitems
enablegqa=repeatitems,scaleddotproductattention confusionmatrix=confusion gradientcheckpointing=checkpoint
getcosineschedulewithwarmup=cosine,sched getlinearschedulewithwarmup=linear,sched
getconstantschedulewithwarmup=constant,sched cosinewarmup=cosine,sched hook=acttable,registerhook,callback
hooks=acttable,registerhook,callback forwardhook=acttable,callback activations=acttable
mergeandunload=ckptmerge mergeadapter=ckptmerge mergekit=ckptavg,ckpttask,ckptties,ckptdare,ckptslerp soup=ckptavg
modelsoup=ckptavg taskarithmetic=ckpttask taskvector=ckpttask,ckptsum slerp=ckptslerp ties=ckptties dare=ckptdare
resizetokenembeddings=ckptvocab renamekeys=ckptrename keymapping=ckptrename,ckptfit extractlora=ckptlora
deepcopy=clone copy=clone,copyto print=str,summary modulesummary=summary summary=summary
"""
# the same with an explanation, where nothing here is quite equivalent
_EARLY = (
    "testrun,ckpt",
    "a loop of q: while[(bad<patience)&n<most;run k;v:testrun k;$[v<best;[best:v;bad:0;"
    "ckpt(`:best.pt;k)];bad+:1];n+:1], then putstate(k;ckpt`:best.pt)",
)
_TIED = ("parm", "both are one parameter after parm(m;`out.weight;enlist parm(m;`emb.weight))")
_ROTARY = (
    "",
    "not a module type: a few lines of q, as in the language model in docs/cookbook.md",
)
_ATTACH = (
    "",
    "in the Python program: signal.signal(signal.SIGUSR1, lambda n, frame: kshell.embed(frame)); then "
    "kill -USR1 PID opens the prompt there (docs/notebooks.md)",
)
_NPY = (
    "tensor",
    'numpy files are read in Python: a Session takes arrays, s.x = numpy.load("x.npy")',
)
_LORA = (
    "child,callback,ckptmerge,ckptlora",
    "a callback with two small layers next to the frozen one, installed by "
    "child(m;name;((`callback;..);..))",
)
_HOOK = (
    "acttable(m;x) shows statistics of all layer outputs; to replace a layer by q code: "
    "child(m;name;(`callback;f;..))"
)
_SAID: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "earlystopping",
            "earlystop",
            "modelcheckpoint",
            "bestcheckpoint",
            "bestmodel",
            "savebest",
            "loadbestmodelatend",
        ),
        _EARLY,
    ),
    "patience": ("testrun,ckpt,reducelronplateau", _EARLY[1]),
    **dict.fromkeys(
        ("tiedweights", "tieweights", "weighttying", "tiewordembeddings", "sharedweights"), _TIED
    ),
    **dict.fromkeys(("rope", "rotary", "rotaryembedding", "rotarypositionembedding"), _ROTARY),
    **dict.fromkeys(("signal", "sigusr1", "attach", "pdb", "breakpoint"), _ATTACH),
    **dict.fromkeys(("npy", "npz"), _NPY),
    **dict.fromkeys(("lora", "peft", "lowrankadaptation"), _LORA),
    "swiglu": (
        "silu,glu",
        "silu of one linear layer times another, as in the language model in docs/cookbook.md",
    ),
    "parquet": (
        "",
        "get reads them: t:get`:t.parquet, select from `:t.parquet",
    ),
    "import": (
        "l",
        "\\l file.py loads a Python file; its classes with @module become module types",
    ),
    "dataloader": (
        "train",
        "a model batches its own data: train(k;x;y), train(k;`batchsize`shuffle;(32;1b)), run k",
    ),
    "dataset": ("train", "a model's data are tensors: train(k;x;y)"),
    "tensordataset": ("train", "a model's data are tensors: train(k;x;y)"),
    "imagefolder": (
        "train",
        "read images in a Python program; a model's data are tensors: train(k;x;y)",
    ),
    "registerforwardhook": ("acttable,callback,registerhook", _HOOK),
    "registerforwardprehook": ("callback", _HOOK),
    "registerfullbackwardhook": (
        "registerhook",
        "registerhook(t;f) calls f with the gradient of a tensor",
    ),
    "numpy": ("tensor", "`tensor t` is the q value of a tensor"),
    "tolist": ("tensor", "`tensor t` is the q value of a tensor"),
    "item": ("tensor", "`tensor t` is the q value of a tensor"),
    "fromnumpy": ("tensor", "`tensor x` makes a tensor of q values"),
    "finfo": (
        "dtype",
        'limits of data types are not listed; "f"$ and "e"$ convert a value to the precision of a type',
    ),
    "iinfo": ("dtype", "limits of data types are not listed; 0W and 0Wi are the greatest integers"),
    "emptycache": (
        "free",
        "memory is freed when nothing refers to a tensor any more: free t frees it at once",
    ),
    "setprintoptions": ("P,c", "the console's precision and size are system commands"),
    "closure": ("step,lbfgs", "an optimizer that needs a closure is run by `run` or `backstep`"),
    "parameterstovector": (
        "parms,flatten,cat",
        "no counterpart: flatten each parameter, and join them with cat",
    ),
    "transforms": (
        "transform,zscore,randomcrop,randomflip",
        "images are transformed by module types",
    ),
    "torchvision": (
        "transform,zscore,randomcrop,randomflip",
        "images are transformed by module types",
    ),
    "jit": ("compile", "no counterpart: modules cannot be exported as programs"),
    "onnx": ("ckpt", "no counterpart: parameters are saved, programs are not"),
    "export": ("ckpt", "no counterpart: parameters are saved, programs are not"),
    "quantization": ("to", "no counterpart: tensors have the data types that help`dtype lists"),
    "prune": ("parms", "no counterpart: set parameters to zero in q"),
    "weightnorm": ("parm", "no counterpart"),
    "spectralnorm": ("svdvals", "no counterpart"),
}
TORCH: dict[str, tuple[tuple[str, ...], str]] = {
    **{
        k: (tuple(v.split(",")), "") for k, _, v in (word.partition("=") for word in _NAMES.split())
    },
    **{
        key: (tuple(names.split(",")) if names else (), said)
        for key, (names, said) in _SAID.items()
    },
}

# fmt: off  # a table
# Python words -> what to write here
PYTHON = {
    "len": "count x",
    "range": "til n",
    "str": "string x",
    "int": "`long$x",
    "float": "`float$x",
    "True": "1b",
    "False": "0b",
    "None": "::",
    "dict": "keys!values",
    "zip": "flip(a;b)",
    "map": "f each x",
    "sorted": "asc x",
    "reversed": "reverse x",
    "isinstance": "type x",
    "open": "read0`:file",
    "append": "x,:y",
    "def": "f:{[a;b] a+b}",
    "lambda": "{[a;b] a+b}",
    "np": "q's own arrays: 1 2 3e, til 10, 2 3#0e",
    "import": "\\l file.py; the k-api functions need no import",
}
# fmt: on


# types that only tensors have -> the equivalent q type
TENSOR_TYPES = {"bool": "boolean", "double": "float"} | dict.fromkeys(
    (
        "half",
        "bfloat16",
        "chalf",
        "cfloat",
        "cdouble",
        "float8e4m3",
        "float8e5m2",
        "float8e4m3fnuz",
        "float8e5m2fnuz",
        "float8e8m0",
        "ushort",
        "uint",
        "ulong",
    ),
    "",
)


def of_python(name: str) -> str:
    """A hint for an undefined name from Python or torch; empty for other names."""
    base, _, member = name.partition(".")
    if base in PYTHON:
        return f"{base} of Python is here: {PYTHON[base]}"
    if base not in ("torch", "nn", "optim", "F"):
        return ""
    word = name.rsplit(".", 1)[-1] if member else "name"
    return f"there are no modules of Python here: \\?{word} searches the help by torch's names"


def plain(word: str) -> str:
    """A word in the tables' form."""
    return word.lower().replace("_", "").replace("-", "").replace(" ", "")


def near(name: str, among: Iterable[str]) -> list[str]:
    """Which of some names a foreign name stands for."""
    allowed = set(among)
    return [option for option in OPTIONS.get(plain(name), ()) if option in allowed]


def of_torch(word: str) -> tuple[tuple[str, ...], str]:
    """The entries equivalent to a torch name, and an explanation."""
    return TORCH.get(plain(word.rsplit(".", 1)[-1]), ((), ""))
