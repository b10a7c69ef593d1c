"""torch, imported on first use, so that registering the k-api costs nothing. What older versions do otherwise is mended
(kshell/torch_versions.py)."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import warnings
from typing import Any

from kshell import muted, torch_versions
from kshell.errors import QError, first_line
from kshell.values.session.interrupts import HOLD
from kshell.values.session.restrict import lifted


class _Torch:
    """torch, imported on first use; attributes are cached after the first look-up."""

    def __getattr__(self, name: str) -> Any:
        found = torch_versions.mended(name, getattr(load(), name))
        self.__dict__[name] = found
        return found


torch: Any = _Torch()
_MODULE: list[Any] = []
# torch warnings that mean nothing to users of the shell
_QUIET = (
    "The given NumPy array is not writable",
    "An output with one or more elements was resized",
    "The .grad attribute of a Tensor that is not a leaf",
    "Sparse",
    "ComplexHalf support is experimental",
    "Detected call of `lr_scheduler.step",
    "Error detected in ",
    "Anomaly Detection has been enabled",
)


def load() -> Any:
    """The torch module; its first import applies one-time settings."""
    if not _MODULE:
        with HOLD, lifted():  # a half-imported torch cannot be imported again
            _import()
    return _MODULE[0]


def _import() -> None:
    for text in _QUIET:
        warnings.filterwarnings("ignore", message=text)
    muted.install()
    problem = ""
    try:
        module = importlib.import_module("torch")
    except ImportError as e:
        is_missing = isinstance(e, ModuleNotFoundError) and e.name == "torch"
        problem = f"torch cannot be imported: {first_line(str(e))}"
        problem = "no torch here: pip install torch" if is_missing else problem
    if problem:
        raise QError(problem, hint="kshell --doctor shows what is there")
    module.sparse.check_sparse_tensor_invariants.enable()  # otherwise a bad index would crash the process later
    torch_versions.mend(module)
    if not _MODULE:
        _MODULE.append(module)


def map_libraries() -> None:
    """dlopen torch's libraries before importing it: that is most of the time for which `import torch` holds the GIL,
    and dlopen releases it. Failures are ignored; the import will report them."""
    spec = importlib.util.find_spec("torch") if not loaded() else None
    if spec is None or spec.origin is None or sys.platform != "linux":
        return
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    for file, mode in (("libtorch_global_deps.so", os.RTLD_GLOBAL), ("libtorch.so", os.RTLD_LOCAL)):
        dlopen(
            os.fsencode(os.path.join(os.path.dirname(spec.origin), "lib", file)), os.RTLD_NOW | mode
        )


def loaded() -> bool:
    """Has torch been imported? If somebody else did, such as `kshell.nn` or the program around the session, it gets the
    one-time settings now. While it is being imported the answer is no."""
    if not _MODULE:
        module = sys.modules.get("torch")
        if module is None or getattr(module.__spec__, "_initializing", False):
            return False
        load()
    return True
