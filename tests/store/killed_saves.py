"""A process that tries saves that are killed. Requests are lines of JSON: the number of a kind, and how many kills are
tried, 0 for all. The answer is what was found, as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from safetensors.torch import load_file

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.core import text_of
from tests.store import killing
from tests.store.saves import KINDS, Kind

_FAST = "/dev/shm"  # where syncing takes no time


def apart(work: Callable[[], str], folder: str) -> str:
    """What work() gives in a process of its own that is in a folder."""
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.chdir(folder)
            data = work().encode()
        except BaseException:
            data = traceback.format_exc().encode()
        with contextlib.suppress(BaseException):
            while data:
                data = data[os.write(writes, data):]
        os._exit(0)
    os.close(writes)
    with open(reads, "rb") as f:
        out = f.read()
    os.waitpid(pid, 0)
    return out.decode()


def ran(text: str) -> str:
    """The value of the last of some q, as text, or the error, in a new session."""
    try:
        s = Session(out=io.StringIO(), err=io.StringIO())
        return text_of(s.run(f".Q.s1 {{value x}}{_quoted(text)}"))
    except QError as e:
        return f"error: {e.text}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def weights(folder: str) -> str:
    """The numbers of a folder, as other programs find its files: the only one, else those of the index."""
    names = {"model.safetensors"}
    if not os.path.exists(f"{folder}/model.safetensors"):
        index = Path(f"{folder}/model.safetensors.index.json")
        names = set(json.loads(index.read_text())["weight_map"].values()) if index.exists() else set()
    return str(sorted((key, t.tolist()) for name in names for key, t in load_file(f"{folder}/{name}").items()))


def files(folder: str) -> list[str]:
    """All that is in a folder, at any depth."""
    return sorted(os.path.relpath(os.path.join(at, n), folder) for at, inner, found in os.walk(folder)
                  for n in [*inner, *found])


class Try:
    """A kind of save, tried in folders of its own; `problems` are what is neither old nor new, and what does not work
    afterwards."""

    def __init__(self, kind: Kind, root: str) -> None:
        self.kind, self.root = kind, root
        self.problems: list[str] = []
        self.counts = {"old": 0, "new": 0}
        self.base = os.path.join(root, "base")
        os.mkdir(self.base)
        if kind.before:
            apart(lambda: ran(kind.before), self.base)
        before = self.copied("old")
        self.others = {self.of_others(before)}
        self.old, _ = self.seen(before)
        twice = self.copied("new")
        self.made = self.killed(twice)
        self.others.add(self.of_others(twice))
        self.new, self.there = self.seen(twice)
        apart(lambda: ran(kind.save), twice)
        self.again, self.there_again = self.seen(twice)
        failed = os.path.join(root, "failed")
        if os.path.exists(failed) or self.new == self.old or self.new.startswith("error"):
            told = Path(failed).read_text() if os.path.exists(failed) else ""
            self.problems.append(f"{kind.name}: nothing to be seen of it: {told} {self.old} {self.new}")

    def copied(self, name: str) -> str:
        folder = os.path.join(self.root, name)
        shutil.copytree(self.base, folder)
        return folder

    def seen(self, folder: str) -> tuple[str, list[str]]:
        return apart(lambda: ran(self.kind.read), folder), files(folder)

    def of_others(self, folder: str) -> str:
        """What other programs read."""
        path = os.path.join(folder, self.kind.weights)
        return apart(lambda: weights(path), folder) if self.kind.weights else ""

    def killed(self, folder: str, at: int = -1, half: bool = False) -> list[str]:
        def work() -> None:
            os.chdir(folder)
            found = ran(self.kind.save)
            if found.startswith("error"):
                with open(os.path.join(self.root, "failed"), "w") as f:
                    f.write(found)

        return killing.killed(work, at, half)[0]

    def points(self) -> Iterator[tuple[int, bool]]:
        """Where to kill: before each change, and in the middle of each write."""
        for i, name in enumerate(self.made):
            yield i, False
            if "write" in name:
                yield i, True

    def one(self, at: int, half: bool) -> None:
        folder = self.copied(f"{at}{half}")
        self.killed(folder, at, half)
        left = files(folder)
        others = self.of_others(folder)
        found, _ = self.seen(folder)
        where = f"{self.kind.name}, killed {'in' if half else 'before'} {at} {self.made[at]}"
        if found not in (self.old, self.new):
            self.problems.append(f"{where}: read as {found[:300]}; files {left}")
        if others not in self.others:
            self.problems.append(f"{where}: read by others as {others[:300]}; files {left}")
        self.counts["old"] += found == self.old
        self.counts["new"] += found == self.new
        apart(lambda: ran(self.kind.save), folder)
        after, there = self.seen(folder)
        if after != (self.again if found == self.new else self.new):
            self.problems.append(f"{where}, then saved again: {after[:300]}; files before {left}")
        elif [_known(n) for n in there] != [_known(n) for n in (self.there_again if found == self.new else self.there)]:
            self.problems.append(f"{where}, then saved again: files {there}")
        shutil.rmtree(folder)


def _known(name: str) -> str:
    """A file's name, without what differs between two saves."""
    return "x.data" if name.endswith(".data") else re.sub(r"-[0-9a-f]{8}(?=\.)", "", name)


def main() -> None:
    """Answer until there are no more requests."""
    for line in sys.stdin:
        number, most = json.loads(line)
        kind = KINDS[number]
        if kind.torch:
            Session().run("tensor 1")
            import kshell.parallel.shards  # noqa: F401  once, not in each process that is forked
        with tempfile.TemporaryDirectory(dir=_FAST if os.path.isdir(_FAST) else None) as root:
            tried = Try(kind, root)
            points = list(tried.points())
            step = max(1, -(-len(points) // most)) if most else 1
            chosen = points[(len(points) - 1) % step::step]
            for at, half in chosen:
                tried.one(at, half)
        print(json.dumps([tried.problems, tried.counts, len(chosen)]), flush=True)


if __name__ == "__main__":
    main()
