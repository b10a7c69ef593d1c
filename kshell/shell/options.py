"""The options of the kshell command."""

from __future__ import annotations

from dataclasses import dataclass, field

from kshell import __version__

USAGE = """\
usage: kshell [options] [file.q [args]]

  -e EXPR    evaluate EXPR and print its value; may be repeated
  -i         go on at the prompt after a script or -e
  -q         quiet: no banner, no progress of long work
  -resume F  bring back the session that a snapshot saved, first of all
  -n N       run on N processes of this machine; process 0 reads lines for all, and prints
  -v         with several processes: all print, each line after its number
  --read-only  what is typed, and lines of standard input, can change, run and open nothing; the script can
  --timeout S  seconds that a process waits for the others (60)
  --no-cache  neither read nor write the code of scripts that is kept in the user's cache folder
  --version  print the version
  --help     print this

q's options, each as the system command of its letter:
  -c R C     console rows and columns
  -C R C     rows and columns of web pages
  -g 0|1     freed memory goes back to the system at once
  -o N       hours from UTC; minutes, if more than 23
  -P N       digits shown of a float
  -s N       threads of peach
  -S N       seed of random numbers
  -t MS      interval of the timer, .z.ts
  -T S       the longest that a client's call may take
  -w MB      the most memory to use; without it, what the machine has
  -W N       the day that starts a week, 0 is Saturday
  -z 0|1     form of dates read by "D"$
After a script they work as before it; .z.x has them, too, with every other word that stands there.
Refused, since what they ask for is not there: -b -E -l -L -m -p -r -u -U. Other words are the program's, in .z.x.

Without a file or -e: a prompt on a terminal; else lines from standard input, one at a time.

  kshell                                     the prompt
  kshell train.q -lr .01                     a script; .Q.opt .z.x has lr
  kshell test.q -s 4                         a script with 4 threads; .z.x has "-s" and "4", as q does
  echo 'sum til 10' | kshell                 lines from a pipe
  kshell -e 'x:tensor 1 2e' -e 'tensor 2*x'  expressions"""


@dataclass
class Options:
    """The options of the command line. `commands` are system commands to run first, as `P 12`."""

    exprs: list[str] = field(default_factory=list)
    script: str = ""
    resume: str = ""  # a snapshot to begin with
    args: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    memory: int = 0  # megabytes
    processes: int = 0  # how many to start; 0: this one
    timeout: float | None = None  # seconds
    verbose: bool = False
    quiet: bool = False
    read_only: bool = False  # after the script
    cache: bool = True  # is the code of scripts kept?
    stay: bool = False


class UsageError(Exception):
    """The command line cannot be understood."""


# q's options that are system commands too, and how many words each takes
_COMMANDS = {
    "-P": 1,
    "-S": 1,
    "-c": 2,
    "-C": 2,
    "-z": 1,
    "-W": 1,
    "-o": 1,
    "-T": 1,
    "-g": 1,
    "-s": 1,
    "-t": 1,
}

_NO_PORT = "listening on a port is not supported"
# q's options that ask for what is not there, and what that is
_REFUSED = {
    "-p": _NO_PORT,
    "-b": _NO_PORT,
    "-E": _NO_PORT,
    "-u": _NO_PORT,
    "-U": _NO_PORT,
    "-r": "replication is not supported",
    "-l": "logging of updates is not supported",
    "-L": "logging of updates is not supported",
    "-m": "there is one memory domain",
}


MOST = 1024  # processes of one job


def _seconds(words: list[str]) -> float:
    """The number of seconds that comes next."""
    try:
        found = float(words.pop(0))
    except (IndexError, ValueError):
        found = 0.0
    if not 0 < found < 1e6:
        raise UsageError("--timeout needs a number of seconds")
    return found


def parse_args(argv: list[str]) -> Options:
    """Options from the words of the command line; those after a script, or after an option that is
    not known, are the user's, save q's own."""
    opts = Options()
    words = list(argv)
    while words:
        w = words.pop(0)
        if w == "-e":
            if not words:
                raise UsageError("-e needs an expression")
            opts.exprs.append(words.pop(0))
        elif w == "-q":
            opts.quiet = True
            opts.args += [w] if opts.script or opts.args else []
        elif w == "-i":
            opts.stay = True
        elif w == "-resume" and not opts.script:
            if not words:
                raise UsageError("-resume needs a file")
            opts.resume = words.pop(0)
        elif w in _COMMANDS:
            n = _COMMANDS[w]
            if len(words) < n:
                raise UsageError(f"{w} needs {n} number{'s' * (n > 1)}")
            opts.commands.append(" ".join([w[1:], *words[:n]]))
            opts.args += [w, *words[:n]] if opts.script or opts.args else []
            del words[:n]
        elif w == "-w":
            if not words or not words[0].isdecimal() or not 1 < int(words[0]) < 1 << 40:
                raise UsageError("-w needs a number of megabytes")
            opts.memory = int(words[0])
            opts.args += [w, words[0]] if opts.script or opts.args else []
            del words[0]
        elif w == "-n" and not opts.script:
            if not words or not words[0].isdecimal() or not 1 <= int(words[0]) <= MOST:
                raise UsageError(f"-n needs a number of processes, 1 to {MOST}")
            opts.processes = int(words.pop(0))
        elif w == "-v" and not opts.script:
            opts.verbose = True
        elif w == "--timeout" and not opts.script:
            opts.timeout = _seconds(words)
        elif w == "--read-only" and not opts.script:
            opts.read_only = True
        elif w == "--no-cache" and not opts.script:
            opts.cache = False
        elif w in ("-h", "--help") and not opts.script:
            raise SystemExit(print(USAGE))
        elif w == "--version" and not opts.script:
            raise SystemExit(print(f"kshell {__version__}"))
        elif w in _REFUSED and (not opts.script or (w == "-p" and words and words[0].isdecimal())):
            raise UsageError(f"{w}: {_REFUSED[w]}")
        elif w.startswith("--") and not opts.script and not opts.exprs and not opts.args:
            raise UsageError(f"unknown option {w}")
        elif w.startswith("-") and w != "-" and not opts.script and not opts.exprs:
            opts.args.append(w)  # an option of the user's: what follows belongs to it
        elif not opts.script and not opts.exprs and not opts.args:
            opts.script = w
        else:
            opts.args.append(w)
    return opts
