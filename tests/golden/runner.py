"""Runs case files: each case through a q function in kshell processes, its result held against the numbers of the file.

A file is {"about": text, "cases": [{"name", "in", "out"}, ..]}; which family it is of, its name says. A family is a
module in `families`: the case's `in` goes to the q function of the file's name (in the q file beside the module), as
`.j.k` reads it, on every process; what it gives is compared with what the module's `expected` takes from the case.
Cases with the same number of processes share one job.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kshell.store import kdb
from kshell.values.base.core import (
    NIL,
    Atom,
    Dict,
    List,
    Special,
    Table,
    Value,
    Vec,
    seq_items,
    text_of,
)
from kshell.values.base.symbols import Sym
from kshell.values.base.types import C
from tests.support import warm

HERE = Path(__file__).parent
CASES = HERE / "cases"
Case = dict[str, Any]


def the_same(case: Case, world: int) -> list[Any]:
    """The case's `out`, expected of every process."""
    return [case["out"]] * world


def world_of(case: Case) -> int:
    """The number of processes that a case names, 1 if it names none."""
    return int(case["in"].get("world", 1)) if isinstance(case["in"], dict) else 1


@dataclass(frozen=True)
class Family:
    """A kind of case file. `expected(case, world)` gives what the q function returns on each process; `rtol` and `atol`
    are the tolerance of its numbers; `processes` how many processes a case needs; `keep` leaves a case out of it (for
    what a file says is not binding), which then counts as passed when kshell gives any value or any error; `feed` what goes
    to the q function; `loose` an absolute tolerance of one case that is greater than the family's."""

    name: str
    q: str
    expected: Callable[[Case, int], list[Any]] = the_same
    rtol: float = 1e-12
    atol: float = 1e-12
    processes: Callable[[Case], int] = world_of
    feed: Callable[[Case], Any] = lambda case: case["in"]
    loose: Callable[[Case], float] = lambda case: 0.0
    keep: Callable[[Case], bool] = lambda case: True


@dataclass
class Outcome:
    """A case and what was wrong with it."""

    file: str
    case: str
    wrong: list[str] = field(default_factory=list)


def families() -> dict[str, Family]:
    """The families by the name of their case file."""
    from tests.golden import families as package

    out = {}
    for found in pkgutil.iter_modules(package.__path__):
        for family in importlib.import_module(f"{package.__name__}.{found.name}").FAMILIES:
            out[family.name] = family
    return out


# ------------------------------------------------------------------ comparing


def plain(x: Value) -> Any:
    """A q value as Python's: dictionaries, lists, strings and numbers."""
    if x is NIL:
        return None
    if isinstance(x, Dict):
        return {str(plain(k)): plain(v) for k, v in zip(seq_items(x.k), seq_items(x.v), strict=True)}
    if isinstance(x, Table):
        return [plain(row) for row in x.items]
    if isinstance(x, Vec) and x.t == C:
        return text_of(x)
    if isinstance(x, Vec | List):
        return [plain(i) for i in seq_items(x)]
    if isinstance(x, Sym):
        return x.s
    return x.v if isinstance(x, Atom | Special) else x


_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _number(x: Any) -> float | None:
    x = _WORDS.get(x, x) if isinstance(x, str) else x
    return float(x) if isinstance(x, int | float) else None


def differences(want: Any, got: Any, rtol: float, atol: float, at: str = "") -> Iterator[str]:
    """Where two results differ: keys that are wanted, lengths, texts, and numbers by more than the tolerance."""
    number, other = _number(want), _number(got)
    if number is not None and other is not None:
        near = math.isclose(number, other, rel_tol=rtol, abs_tol=atol) or (math.isnan(number) and math.isnan(other))
        if not near:
            yield f"{at or 'result'}: {other!r} instead of {number!r}"
    elif isinstance(want, dict) and (isinstance(got, dict) or not want):
        for key, value in want.items():
            if not isinstance(got, dict) or key not in got:
                yield f"{at}.{key}: missing"
            else:
                yield from differences(value, got[key], rtol, atol, f"{at}.{key}")
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield f"{at or 'result'}: {len(got)} items instead of {len(want)}"
        else:
            for i, (a, b) in enumerate(zip(want, got, strict=True)):
                yield from differences(a, b, rtol, atol, f"{at}[{i}]")
    elif want != got:
        yield f"{at or 'result'}: {got!r} instead of {want!r}"


# ------------------------------------------------------------------ running

# each case writes what its function gives, or `error and the text, a file a process
SCRIPT = """\
.golden.load:{{@[system;"l ",x;{{[f;e]-2 f,": ",e}}x]}}
.golden.me:$[count r:getenv`RANK;r;enlist"0"]
.golden.words:("nan";"inf";"-inf")!0n 0w -0w
.golden.num:{{$[10h=type x;$[x in key .golden.words;.golden.words x;x];0h=type x;.z.s each x;99h=type x;(key x)!.z.s each value x;x]}}
.golden.run:{{[n;f;x]
  r:$[100h=type g:@[value;f;0];@[{{[g;x](`value;g .golden.num .j.k x)}}g;x;{{(`error;x)}}];(`none;"no function of q")];
  (hsym`$"{out}/",string[n],".",.golden.me)set r}}
{loads}
.golden.cases:"\\t"vs'read0`:{cases}
.golden.run'[til count .golden.cases;`$first each .golden.cases;last each .golden.cases];
"""


def run_job(world: int, found: list[tuple[Family, Case]], timeout: float) -> list[list[tuple[str, Any]]]:
    """What kshell gives for cases of the same number of processes: (`value or `error, what) a process, a list a case."""
    folder = Path(tempfile.mkdtemp(prefix="kshell-golden"))
    try:
        (folder / "cases").write_text("".join(f"{f.name}\t{json.dumps(f.feed(c))}\n" for f, c in found))
        loads = "\n".join(f'.golden.load"{HERE / "families" / q}"' for q in sorted({f.q for f, _ in found}))
        (folder / "job.q").write_text(SCRIPT.format(out=folder, cases=folder / "cases", loads=loads))
        command = [sys.executable, "-m", "kshell", *(["-n", str(world)] if world > 1 else []), "-q",
                   str(folder / "job.q")]
        try:
            done = warm.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                            env={**os.environ, "OMP_NUM_THREADS": "1"})
            said = (done.stderr or done.stdout).strip()
        except subprocess.TimeoutExpired:
            said = f"no end after {timeout:g} s"
        return [[_read(folder / f"{n}.{r}", said) for r in range(world)] for n in range(len(found))]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(path: Path, said: str) -> tuple[str, Any]:
    if not path.exists():
        return "none", f"no result: {said[-500:]}"
    word, what = plain(kdb.read(str(path)))
    return word, f"{what}: {said[-500:]}" if word == "none" else what


def load(folder: Path) -> list[tuple[str, Case]]:
    """Every case of every file of a folder, with the name of its file."""
    return [(path.stem, case) for path in sorted(folder.glob("*.json"))
            for case in json.loads(path.read_text())["cases"]]


def run(folder: Path, only: str = "", timeout: float = 600) -> list[Outcome]:
    """The outcome of every case of a folder (of the files whose name begins with `only`)."""
    known = families()
    outcomes, jobs = [], {}  # type: list[Outcome], dict[int, list[tuple[Family, Case, Outcome]]]
    for stem, case in load(folder):
        if not stem.startswith(only):
            continue
        outcome = Outcome(stem, case["name"])
        outcomes.append(outcome)
        family = known.get(stem)
        if family is None:
            outcome.wrong.append("no such family")
        else:
            jobs.setdefault(family.processes(case), []).append((family, case, outcome))
    for world, job in sorted(jobs.items()):
        results = run_job(world, [(f, c) for f, c, _ in job], timeout)
        for (family, case, outcome), got in zip(job, results, strict=True):
            outcome.wrong += judge(family, case, world, got)
    return outcomes


def judge(family: Family, case: Case, world: int, got: list[tuple[str, Any]]) -> list[str]:
    """What is wrong with the results of a case. One whose `out` is {"raises": 1, ..} must end in an error; what a
    function gives for an error is `raises` 1 and the `message`."""
    if any(word == "none" for word, _ in got):
        return [f"process {r}: {what}" for r, (word, what) in enumerate(got) if word == "none"]
    if not family.keep(case):
        return []
    try:
        wants = family.expected(case, world)
    except (AttributeError, LookupError, TypeError, ValueError) as exc:
        return [f"not a case of {family.name}: {type(exc).__name__} {exc}"]
    wrong = []
    for r, ((word, what), want) in enumerate(zip(got, wants, strict=True)):
        if isinstance(want, dict) and "raises" in want:
            what = {"raises": 1, "message": what} if word == "error" else {"raises": 0, "value": what}
        elif word == "error":
            wrong.append(f"process {r}: '{what}")
            continue
        place = f"process {r} " if world > 1 else ""
        wrong += [place + s for s in list(differences(want, what, family.rtol, max(family.atol, family.loose(case))))[:5]]
    return wrong


def folder_of_cases() -> Path:
    """The folder named by KSHELL_GOLDEN, or the project's own cases."""
    return Path(os.environ.get("KSHELL_GOLDEN") or CASES)


def main(only: str = "") -> int:
    """Run the folder's cases, print what is wrong and the count; 0 if nothing is."""
    outcomes = run(folder_of_cases(), only)
    for o in outcomes:
        for line in o.wrong:
            print(f"{o.file} {o.case}: {line.splitlines()[0]}")
    good = sum(not o.wrong for o in outcomes)
    print(f"golden: {good} of {len(outcomes)} cases")
    return int(good != len(outcomes) or not outcomes)
