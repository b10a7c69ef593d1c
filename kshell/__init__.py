"""kshell: a q/kdb+-style array-language shell over PyTorch."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kshell.embedding import embed as embed
    from kshell.errors import QError as QError
    from kshell.host.host import listen as listen
    from kshell.notebook import load_ipython_extension as load_ipython_extension
    from kshell.notebook import unload_ipython_extension as unload_ipython_extension
    from kshell.python.objects import Table as Table
    from kshell.python.session import Session as Session

# names loaded on first use, so that `import kshell` costs nothing: name -> module
_LATER = {
    "Session": "kshell.python.session",
    "Table": "kshell.python.session",
    "QError": "kshell.errors",
    "embed": "kshell.embedding",
    "listen": "kshell.host.host",
    "load_ipython_extension": "kshell.notebook",
    "unload_ipython_extension": "kshell.notebook",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'kshell' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
