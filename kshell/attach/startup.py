"""How a program begins to listen: when it has imported torch and its optimizers, whoever starts it.

Python runs this before the program (site/sitecustomize.py and kshell-listen.pth), so it imports nothing that costs
time, and nothing of it may disturb the program: what fails is one line on standard error.
"""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False  # the one of typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from _typeshed.importlib import LoaderProtocol

OPTIMIZERS = "torch.optim.optimizer"
HOST = "kshell.host.host"
# programs that start others and make no steps, by the name of their file or module
LAUNCHERS = {
    "torchrun",
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate",
    "accelerate.commands.launch",
    "deepspeed",
}
COMPILER = os.path.join("torch", "_inductor", "")  # the folder of torch.compile's processes

reason = ""  # of the last call of `begin`, such as "run"; empty if nobody called it
loop: object = None  # the event loop that ran in the main thread when a script was injected
late = False  # had the program perhaps made steps when it began to listen?


def begin(why: str) -> None:
    """Listen as soon as torch is imported, at once if it is. Calls after the first only change `reason`."""
    global reason
    is_first, reason = not reason, why
    if not is_first:
        return
    # torch imports its optimizers midway, and can be used only when it is complete itself
    awaited = {name for name in ("torch", OPTIMIZERS) if not is_imported(name)}
    if awaited:
        sys.meta_path.insert(0, Finder(awaited))
    else:
        start()


def is_imported(name: str) -> bool:
    """Is a module imported, to its end?"""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return name in sys.modules and not getattr(spec, "_initializing", False)


def stop() -> bool:
    """Wait for no import any more; was one awaited?"""
    waiting = [finder for finder in sys.meta_path if isinstance(finder, Finder)]
    for finder in waiting:
        finder.remove()
    return bool(waiting)


def start() -> None:
    """Let the host listen."""
    try:
        host = importlib.import_module(HOST)
        if is_helper() and reason != "attach":  # that asks for this very process
            host.listen_at_first_step()
        else:
            host.listen()
    except Exception as e:
        tell(e)


class Finder:
    """Finds the awaited modules as the other finders of `sys.meta_path` do, and starts when all were executed."""

    def __init__(self, awaited: set[str]) -> None:
        self.awaited = awaited

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's own spec, whose loader tells when it has executed the module."""
        if name not in self.awaited:
            return None
        spec = self._found(name, path, target)
        if spec is not None and spec.loader is not None:
            try:
                self._watch(spec.loader, name)
            except Exception as e:
                self.remove()
                tell(e)
        return spec

    def _found(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    def _watch(self, loader: LoaderProtocol, name: str) -> None:
        """Put a function before the loader's `exec_module` that takes itself away when it is called."""
        own, execute = vars(loader), loader.exec_module  # type: ignore[attr-defined]
        before = own.get("exec_module")

        def watched(module: ModuleType) -> None:
            if module.__name__ != name:  # of a loader that is shared
                return execute(module)
            if before is None:
                own.pop("exec_module", None)
            else:
                own["exec_module"] = before
            execute(module)
            self._executed(name)

        # an error of the module's is shown without this line, as without those of Python's import itself
        watched.__code__ = watched.__code__.replace(
            co_filename="<frozen importlib._bootstrap>", co_name="_call_with_frames_removed"
        )
        own["exec_module"] = watched

    def _executed(self, name: str) -> None:
        if name in self.awaited:
            self.awaited.remove(name)
            if not self.awaited:
                self.remove()
                start()

    def remove(self) -> None:
        """Stop waiting, with a new list: an import in another thread may be going through it."""
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self]


def is_helper() -> bool:
    """Is this a process that perhaps never makes a step: a child of multiprocessing, or one that only starts others?

    A child that multiprocessing did not fork imports the program before it knows its parent; its command line tells.
    """
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return True
    text = program()
    is_child = text.removeprefix("import sys; ").startswith("from multiprocess") or COMPILER in text
    name = os.path.basename(text)
    # `kshell -n` imports torch, and forks processes that step
    return is_child or name in LAUNCHERS or (name == "kshell" and "-n" in sys.orig_argv)


def program() -> str:
    """What this Python was started with: a file, the module of -m, or the text of -c."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-m", "-c"):
            return next(words, "")
        if word in ("-X", "-W"):
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def tell(e: Exception) -> None:
    """Say on standard error why the program does not listen."""
    text = (str(e).strip() or type(e).__name__).splitlines()[0]
    try:  # noqa: SIM105 - suppress() would have to be imported
        sys.stderr.write(f"kshell: not listening: {text}\n")
    except Exception:  # it is closed or missing
        pass
