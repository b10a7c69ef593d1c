"""What Python runs before a program of `kshell run` and its children, which may have another Python than kshell's.
Then it runs the environment's own sitecustomize, and leaves no trace in sys.path and sys.modules."""

import os
import sys

HERE = os.path.dirname(__file__)
sys.path[:] = [folder for folder in sys.path if folder != HERE]
if os.environ.get("KSHELL_LISTEN", "0") not in ("", "0"):
    try:
        from kshell.attach.startup import begin
    except (ImportError, SyntaxError):  # another Python
        pass
    else:
        begin("run")
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402, F401 - if there is none, Python expects this ImportError
