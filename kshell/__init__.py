"""kshell: a q/kdb+-style array-language shell over PyTorch."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`kshell.Session`, loaded when asked for, so that `import kshell` costs nothing."""
    if name == "Session":
        from kshell.session import Session

        return Session
    raise AttributeError(f"module 'kshell' has no attribute {name!r}")
