"""A process that forks one that saves snapshot after snapshot, until that is killed.

Requests are lines of JSON: a folder and how many items to save. The answer is the process id of the saver, and `gone`
when it has ended. The saver tells of each snapshot that is saved by its number, in the file `told` of the folder.
"""

from __future__ import annotations

import json
import os
import sys


def made(items: int) -> str:
    """What is saved: half of the items in a vector, half in a tensor, and a small module with its optimizer."""
    return (f"v:{items // 2}#0;w:tensor({items // 2}#0f);q:module enlist(`linear;4;3);o:opt(`adam;q;.1);"
            "backward Sum forward(q;2 4#1e);n:0")


def save(folder: str, items: int) -> None:
    """Save, until killed. Each snapshot says in four places which one it is."""
    from kshell.session import Session

    os.chdir(folder)
    told = os.open("told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    s = Session()
    s.run(made(items))
    while True:
        s.run("n+:1;v+:1;w+:1f;step o;snapshot`:a.ks;")
        os.write(told, b"%d\n" % s.run("n"))


def main() -> None:
    """Answer until there are no more requests."""
    from kshell.session import Session

    Session().run(made(10) + ";step o;snapshot`:/dev/null")  # loads what is loaded late
    for line in sys.stdin:
        folder, items = json.loads(line)
        child = os.fork()
        if not child:
            save(folder, items)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("gone", flush=True)


if __name__ == "__main__":
    main()
