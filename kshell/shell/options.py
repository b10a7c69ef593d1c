"""The options of the kshell command."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field

from kshell import __version__

USAGE = """\
usage: kshell [options] [file.q [args]]
       kshell run [--replay F] train.py [args]
       kshell attach                               the programs that listen
       kshell attach PID|TEXT [-e EXPR ..] [-q] [--timeout S]
                                                   the prompt in one of them, or values of expressions

  -e EXPR    evaluate EXPR and print its value; may be repeated
  -i         continue at the prompt after a script or -e
  -q         quiet: no banner, no progress reports
  -resume F  first restore the session saved in snapshot F
  -n N       run on N processes of this machine; process 0 reads lines for all, and prints
  -v         with several processes: all print, each line prefixed with the process number
  --read-only  typed lines and standard input cannot change, run or open anything; the script can
  --no-python  no Python of yours runs: .p, p) lines, .p and .py files; setting(`python;0b) later
  --timeout S  seconds that a process waits for the others (60)
  --log F    write what happens on the port behind F (- is standard error): logins, refusals, ends
  --log-queries  what clients send too
  --token F  the text in file F is a password for any user; F is made if it is not there
  --open     everybody who reaches the port may connect, without a password
  --plain    take passwords from other machines without TLS
  --no-cache  do not use the code cache in the user's cache folder
  --doctor   print versions, devices, and which optional packages are there
  --version  print the version
  --help     print this

q's options, equivalent to the system command with the same letter:
  -c R C     console rows and columns
  -C R C     rows and columns of web pages
  -E 0|1|2   the port takes plain connections, TLS too, TLS alone
  -g 0|1     return freed memory to the system immediately
  -o N       hours from UTC; minutes, if more than 23
  -p PORT    listen on a port: a number, 0W for a free one, 5000/5010, HOST:PORT
  -P N       digits shown for floats
  -s N       threads for peach
  -S N       random seed
  -t MS      interval of the timer, .z.ts
  -T S       time limit for a client's call, in seconds
  -w MB      memory limit; by default, the machine's memory
  -W N       first day of the week, 0 is Saturday
  -z 0|1     date order for "D"$: 0 month/day, 1 day/month
They also work after a script; .z.x then includes them, with all other words there.
  -U FILE    users allowed to connect, one user:password per line
  -u 1       clients use files below the current folder alone, and run nothing
  -u FILE    -U FILE and -u 1
  -b         clients cannot change, run or open anything
  -l         log what clients change in NAME.log beside the script, and replay it at the next start
  -L         -l, and the log is on the disk before a client is answered
  -m PATH    taken, and does nothing: there is one memory domain, and .m is a namespace like others
Not supported: -r. All other words belong to the program, in .z.x.

kshell run starts a Python program, or -m and a module, exactly as python does, and lets it listen for a prompt from
other terminals once it has imported torch.
  --replay F  apply the edits in file F

Without a file or -e, kshell opens a prompt on a terminal, or else runs lines from standard input.

  kshell                                     the prompt
  kshell train.q -lr .01                     a script; .Q.opt .z.x has lr
  kshell test.q -s 4                         a script with 4 threads; .z.x has "-s" and "4", as q does
  echo 'sum til 10' | kshell                 lines from a pipe
  kshell -e 'x:tensor 1 2e' -e 'tensor 2*x'  expressions
  kshell run train.py --lr .01               a Python program that listens"""


@dataclass
class Options:
    """The options of the command line. `commands` are system commands to run first, as `P 12`."""

    exprs: list[str] = field(default_factory=list)
    script: str = ""
    resume: str = ""  # a snapshot to start from
    args: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    memory: int = 0  # megabytes
    processes: int = 0  # number to start; 0 means run in this one
    timeout: float | None = None  # seconds
    verbose: bool = False
    quiet: bool = False
    read_only: bool = False  # takes effect after the script
    python: bool = True  # may the user's Python run?
    clients: dict[str, str | bool] = field(default_factory=dict)  # rules for them: session_port.py
    cache: bool = True  # use the code cache?
    stay: bool = False
    updates: str = ""  # -l or -L


class UsageError(Exception):
    """The command line is invalid."""


# q's options that are also system commands, and the number of words each takes
_COMMANDS = {
    "-p": 1,
    "-E": 1,
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

# unsupported q options, and what they would need
_REFUSED = {
    "-r": "replication is not supported; `-11!` replays another process's log",
}


MOST = 1024  # maximum processes of a job


# handler of an option: called with the options so far, its word, and the following words, some of which it takes
Taker = Callable[[Options, str, list[str]], None]


def _kept(opts: Options, *words: str) -> None:
    """Add one of q's own options to `.z.x` too, if it follows a script or user words."""
    if opts.script or opts.args:
        opts.args += words


def _next(words: list[str], need: str) -> str:
    """The next word."""
    if not words:
        raise UsageError(need)
    return words.pop(0)


def _digits(words: list[str], least: int, most: int, need: str) -> str:
    """The next word, which must be a whole number."""
    if not words or not words[0].isdecimal() or not least <= int(words[0]) <= most:
        raise UsageError(need)
    return words.pop(0)


def _flag(name: str, value: bool = True) -> Taker:
    """An option without a value that sets a field."""

    def take(opts: Options, word: str, words: list[str]) -> None:
        setattr(opts, name, value)

    return take


def _expression(opts: Options, word: str, words: list[str]) -> None:
    opts.exprs.append(_next(words, "-e needs an expression"))


def _quiet(opts: Options, word: str, words: list[str]) -> None:
    opts.quiet = True
    _kept(opts, word)


def _command(opts: Options, word: str, words: list[str]) -> None:
    """An option that is also a system command."""
    count = _COMMANDS[word]
    if len(words) < count:
        raise UsageError(f"{word} needs {count} number{'s' * (count > 1)}")
    opts.commands.append(" ".join([word[1:], *words[:count]]))
    _kept(opts, word, *words[:count])
    del words[:count]


def _updates(opts: Options, word: str, words: list[str]) -> None:
    """The log of updates; the last of -l and -L counts."""
    opts.updates = word
    _kept(opts, word)


def _domain(opts: Options, word: str, words: list[str]) -> None:
    _next(words, "-m needs a folder")


def _memory(opts: Options, word: str, words: list[str]) -> None:
    megabytes = _digits(words, 2, (1 << 40) - 1, "-w needs a number of megabytes")
    opts.memory = int(megabytes)
    _kept(opts, word, megabytes)


def _users(opts: Options, word: str, words: list[str]) -> None:
    """The file of users of -U, or that of -u, which also confines clients to the current folder."""
    users = _next(words, f"{word} needs a file of users")
    if opts.clients.get("users") or opts.clients.get("confined"):
        raise UsageError("-u or -U, and only once")
    if word == "-u":
        opts.clients["confined"] = True
    if word == "-U" or users != "1":
        opts.clients["users"] = users
    _kept(opts, word, users)


def _of_clients(name: str) -> Taker:
    """An option that sets a rule for clients to the next word, a file."""

    def take(opts: Options, word: str, words: list[str]) -> None:
        opts.clients[name] = _next(words, f"{word} needs a file")

    return take


def _clients_are(name: str) -> Taker:
    """An option without a value that sets a rule for clients."""

    def take(opts: Options, word: str, words: list[str]) -> None:
        opts.clients[name] = True
        _kept(opts, word)

    return take


def _resume(opts: Options, word: str, words: list[str]) -> None:
    opts.resume = _next(words, "-resume needs a file")


def _processes(opts: Options, word: str, words: list[str]) -> None:
    usage = f"-n needs a number of processes, 1 to {MOST}"
    opts.processes = int(_digits(words, 1, MOST, usage))


def _timeout(opts: Options, word: str, words: list[str]) -> None:
    """The number of seconds that a process waits for the others."""
    try:
        seconds = float(words.pop(0))
    except (IndexError, ValueError):
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise UsageError("--timeout needs a number of seconds")
    opts.timeout = seconds


def _help(opts: Options, word: str, words: list[str]) -> None:
    raise SystemExit(print(USAGE))


def _doctor(opts: Options, word: str, words: list[str]) -> None:
    lines, fits = importlib.import_module("kshell.shell.doctor").report()
    print("\n".join(lines))
    raise SystemExit(0 if fits else 1)


def _version(opts: Options, word: str, words: list[str]) -> None:
    raise SystemExit(print(f"kshell {__version__}"))


_ANYWHERE: dict[str, Taker] = {
    "-e": _expression,
    "-q": _quiet,
    "-i": _flag("stay"),
    "-w": _memory,
    "-U": _users,
    "-u": _users,
    "-b": _clients_are("read_only"),
    "-l": _updates,
    "-L": _updates,
    **dict.fromkeys(_COMMANDS, _command),
}
_BEFORE_A_SCRIPT: dict[str, Taker] = {
    "-resume": _resume,
    "-n": _processes,
    "-m": _domain,
    "-v": _flag("verbose"),
    "--timeout": _timeout,
    "--read-only": _flag("read_only"),
    "--no-python": _flag("python", False),
    "--no-cache": _flag("cache", False),
    "--log": _of_clients("log"),
    "--log-queries": _clients_are("log_queries"),
    "--token": _of_clients("token"),
    "--open": _clients_are("is_open"),
    "--plain": _clients_are("plain"),
    "-h": _help,
    "--help": _help,
    "--version": _version,
    "--doctor": _doctor,
}


_OF_ATTACH: dict[str, Taker] = {
    "-e": _expression,
    "-q": _quiet,
    "--timeout": _timeout,
    "-h": _help,
    "--help": _help,
}


def parse_attach(argv: list[str]) -> Options:
    """Parse the words after `kshell attach`; `script` is the one that tells the program."""
    opts = Options()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word in _OF_ATTACH:
            _OF_ATTACH[word](opts, word, words)
        elif opts.script or word.startswith("-"):
            raise UsageError(
                f"attach: {word}: expected PID or a part of the program's text, -e, -q, --timeout"
            )
        else:
            opts.script = word
    if not opts.script and (opts.exprs or opts.timeout):
        raise UsageError("attach: expected PID or a part of the program's text")
    return opts


def parse_args(argv: list[str]) -> Options:
    """Parse the words of the command line; words after a script, or after an unknown option, belong to the program,
    except q's own options."""
    opts = Options()
    words = list(argv)
    while words:
        word = words.pop(0)
        reader = _ANYWHERE.get(word)
        if reader is None and not opts.script:
            reader = _BEFORE_A_SCRIPT.get(word)
        if reader is not None:
            reader(opts, word, words)
        else:
            _other(opts, word, words)
    if opts.updates and not opts.script:
        raise UsageError(f"{opts.updates}: needs the name of a script, which the log has too")
    if opts.updates and opts.processes > 1:
        raise UsageError(f"{opts.updates}: not with several processes, which would share the log")
    return opts


def _other(opts: Options, word: str, words: list[str]) -> None:
    """Handle a word that is not an option: the script, a user word, or an error."""
    before_script = not opts.script and not opts.exprs
    if word in _REFUSED and not opts.script:
        raise UsageError(f"{word}: {_REFUSED[word]}")
    if word.startswith("--") and before_script and not opts.args:
        raise UsageError(f"unknown option {word}")
    if word.startswith("-") and word != "-" and before_script:
        opts.args.append(word)  # the user's option: what follows belongs to it
    elif before_script and not opts.args:
        opts.script = word
    else:
        opts.args.append(word)
