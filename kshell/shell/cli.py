"""The kshell command: sets up the process, and runs what the options request."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from kshell.shell.options import UsageError, parse_args

# the first word of a command line of its own -> the module whose `start` is given the other words. Alone it may be a
# script with that name
COMMANDS = {"attach": "kshell.shell.attached", "run": "kshell.shell.run_program"}


def tune_allocator() -> None:
    """Keep large freed blocks in the process, so that the results of large vector operations need no fresh pages.

    Sets glibc's M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX (peach threads use the same blocks, because their
    own arenas would return large ones at once); elsewhere there is nothing to do.
    """
    from kshell.values.session import memory

    memory.keep_freed(True)
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(-8, 1)


def tune_collector() -> None:
    """Make the garbage collector run less often: long lists consist of many objects, and few values are part of a
    cycle."""
    gc.set_threshold(50_000, 20, 50)


def leave(code: int) -> NoReturn:
    """Exit at once: tearing down the interpreter (above all torch) takes a quarter of a second."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)


def main() -> NoReturn:
    """Run the command line and exit."""
    words = sys.argv[1:]
    try:
        if words and words[0] in COMMANDS and (len(words) > 1 or not os.path.exists(words[0])):
            leave(importlib.import_module(COMMANDS[words[0]]).start(words[1:]))
        options = parse_args(words)
    except UsageError as e:
        print(f"kshell: {e}\nkshell --help lists the options", file=sys.stderr)
        leave(2)
    except SystemExit as e:
        leave(int(e.code or 0))
    tune_allocator()
    tune_collector()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for signum in (signal.SIGINT, signal.SIGTERM):  # until there is a session, they end the program
        signal.signal(signum, lambda number, _: os._exit(128 + number))
    from kshell.shell import script

    if options.processes:
        from kshell.k_api import launch

        console = options.stay or not (options.script or options.exprs)
        leave(launch(options.processes, lambda: leave(script.start(options)), console))
    leave(script.start(options))
