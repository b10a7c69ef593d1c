"""Writes the reference pages from the registry: `python docs/build.py`; with --check, says whether they are current."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

import kshell
from kshell import registry
from kshell.entry_kinds import KINDS
from kshell.kapi.console.help import default_text, forms_of, options_of
from kshell.kapi.math.rows import Row
from kshell.kapi.module.functional import FUNCTIONS
from kshell.kapi.optim.optimizer import how_of
from kshell.kapi.train.model import MORE
from kshell.registry import REQUIRED, Entry, Option
from kshell.session import Session

HERE = Path(__file__).parent / "reference"
NOTE = "<!-- made by docs/build.py from the registry: change the entry, not this page -->"


def is_type(entry: Entry) -> bool:
    """Is an entry one that q code names by a symbol?"""
    return bool(KINDS[entry.kind].form)


def code(text: str) -> str:
    """Text as Markdown code, whatever backquotes are in it."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def spelled(entry: Entry) -> str:
    """The name as it is written in q."""
    number = entry.name.replace(str(-(1 << 63)), "0N")
    marks = {"command": "\\" + entry.name, "internal": number + "!"}
    return "`" + entry.name if is_type(entry) else marks.get(entry.kind, entry.name)


def default(o: Option) -> str:
    """The default of an option, as code unless it is none."""
    return default_text(o.default) if o.default in (None, REQUIRED) else code(default_text(o.default))


def section(entry: Entry) -> str:
    """The text of one entry: name, forms, summary, options, examples."""
    lines = [f"### {code(spelled(entry))}", ""]
    forms = forms_of(entry)
    if forms and forms != (spelled(entry),) and not (is_type(entry) and not entry.forms):
        lines += ["```", *forms, "```", ""]
    prose = [p for p in entry.text.split("\n\n") if p.strip() and not p.lstrip().startswith("q)")]
    lines += [p.strip() + "\n" for p in prose]
    if entry.target.startswith("torch."):
        lines += [f"PyTorch: `{entry.target}`", ""]
    options = options_of(entry)
    if options:
        lines += ["| option | type | default | |", "|---|---|---|---|"]
        lines += [f"| {o.name} | {o.type} | {default(o)} | {o.doc} |" for o in options] + [""]
    if entry.examples:
        groups = ["\n".join([*("q)" + i for i in inputs), *output]) for inputs, output in entry.examples]
        lines += ["```q", "\n".join(groups), "```", ""]
    return "\n".join(lines)


def family(entry: Entry) -> str:
    """The heading an entry stands under: what its family's file says of itself, or the name of its namespace."""
    if entry.kind in ("name", "internal"):
        return "." + entry.name.split(".")[1] if entry.name[0] == "." else "Others"
    path = Path(kshell.__file__).parent / (entry.topic.replace(".", "/") + ".py")
    if not path.exists():  # a topic within the room
        path = Path(entry.file).with_name(entry.topic + ".py")
    text = ast.get_docstring(ast.parse((path if path.exists() else Path(entry.file)).read_text())) or entry.topic
    first = text.split("\n")[0].rstrip(".")
    for mark in (" : ", ": ", "; ", " ("):
        first = first.split(mark)[0]
    return first


def page(kind: str) -> str:
    """The reference page of a kind, its entries by family and name."""
    about = KINDS[kind].page
    assert about is not None
    families: dict[str, list[Entry]] = defaultdict(list)
    for e in registry.entries(kind):
        families[family(e)].append(e)
    out = [f"# {about.title}", "", NOTE, ""]
    out += [about.intro, ""] if about.intro else []
    parts = [(name, sorted(families[name], key=lambda e: (e.name.lower(), e.name)))
             for name in sorted(families, key=lambda f: (f == "Others", f.lower()))]
    for name, found in parts:
        if len(parts) > 1:
            out += [f"- **{name}**: " + " ".join(code(spelled(e)) for e in found)]
        else:
            out += [" ".join(code(spelled(e)) for e in found)]
    out += [""]
    for name, found in parts:
        out += [f"## {name}", ""] if len(parts) > 1 else []
        out += [section(e) for e in found]
    return "\n".join(out).rstrip() + "\n"


def documented(file: str = "documented.txt") -> tuple[dict[str, list[str]], dict[str, tuple[str, str]]]:
    """The names of another program, by kind, and what is to be said of some: docs/documented.txt for those that Kx
    documents, docs/ktorch.txt for those of ktorch, docs/torch.txt for those of torch."""
    kinds: dict[str, list[str]] = {}
    notes: dict[str, tuple[str, str]] = {}
    kind = ""
    for line in (Path(__file__).parent / file).read_text().splitlines():
        if line.startswith("["):
            kind = line[1:-1] if line.endswith("]") else kind
        elif kind == "notes" and line.strip():
            names, word, reason = line.split(" | ")
            notes |= dict.fromkeys(names.split(), (word, reason))
        elif kind:
            kinds.setdefault(kind, []).extend(line.split())
    return kinds, notes


def coverage() -> str:
    """The page that says of every documented name whether it is there."""
    kinds, notes = documented()
    there = {spelled(e) for e in registry.every() if not is_type(e)}
    note = NOTE.replace("registry", "registry and docs/documented.txt").replace("entry", "source")
    out = ["# Coverage of q", "", note,
           "", "The names that Kx documents for kdb+ 4.1; one that is done has an entry here. "
           "[What differs](../deviations/language.md) has more on those that work in another way.", "",
           "| kind | documented | done | different | not yet | impossible |", "|---|---|---|---|---|---|"]
    rest: list[str] = []
    for kind, names in kinds.items():
        state = {n: notes.get(n, ("done" if n in there else "not yet", "")) for n in names}
        words = [w for w, _ in state.values()]
        out += [f"| {kind} | {len(names)} | " +
                " | ".join(str(words.count(w)) for w in ("done", "different", "not yet", "impossible")) + " |"]
        rest += ["", f"## {kind}", ""]
        for word in ("done", "not yet"):
            found = [code(n) for n in names if state[n] == (word, "")]
            rest += [f"{word.capitalize()}: " + " ".join(found), ""] if found else []
        noted = [n for n in names if state[n][1]]
        if noted:
            rest += ["| name | | |", "|---|---|---|", *(f"| {code(n)} | {' | '.join(state[n])} |" for n in noted), ""]
    return "\n".join(out + rest).replace("`|`", "`\\|`").rstrip().replace("\n\n\n", "\n\n") + "\n"


# how names of a kind are written where they are no functions
MARKS = {"Module types": "`", "Losses": "loss`", "Optimizers": "`"}
STATES = ("same", "extended", "deviates", "missing")


def stated() -> dict[str, dict[str, tuple[str, str]]]:
    """Of each name of ktorch, by kind: its state and the reason. Names are missing if docs/ktorch.txt says so."""
    kinds, notes = documented("ktorch.txt")
    gaps = dict.fromkeys(kinds.pop("Gaps", []), ("missing", "not yet"))
    # functions of modules have names for their options in ktorch too
    named = {e.name: ("extended", "options by name too, in a dictionary or pairs after those by position")
             for e in registry.entries("api") if isinstance(e.record, Row) and (e.record.lead or e.record.options)
             and e.topic != "functions of modules"}
    said = named | notes | gaps
    return {kind: {MARKS.get(kind, "") + n: said.get(MARKS.get(kind, "") + n, ("same", "")) for n in names}
            for kind, names in kinds.items()}


def absent() -> set[str]:
    """The names of ktorch that have no entry, as they are written."""
    known = {"": {e.name for e in registry.entries("api")}, "loss`": {e.name for e in registry.entries("loss")},
             "`": {e.name for k in ("module", "optimizer") for e in registry.entries(k)} | {e.name for e in FUNCTIONS}}
    return {MARKS.get(kind, "") + n for kind, names in documented("ktorch.txt")[0].items() if kind != "Gaps"
            for n in names if n not in known[MARKS.get(kind, "")]}


def ktorch() -> str:
    """The page that says of every name of ktorch whether it is there and does the same."""
    note = NOTE.replace("registry", "registry and docs/ktorch.txt").replace("entry", "source")
    out = ["# Coverage of ktorch", "", note, "", "The functions, module types, losses and optimizers of ktorch 2.3.0. "
           "\"Same\" is the documented use; [what differs](../deviations/k-api.md) has what holds for all of them. "
           "Names of torch that ktorch lacks are [in a table of their own](torch.md).", "",
           "| kind | names | " + " | ".join(STATES) + " |", "|---|---|---|---|---|---|"]
    rest: list[str] = []
    for kind, state in stated().items():
        words = [w for w, _ in state.values()]
        out += [f"| {kind} | {len(state)} | " + " | ".join(str(words.count(w)) for w in STATES) + " |"]
        rest += ["", f"## {kind}", "", "| name | state | |", "|---|---|---|",
                 *(f"| {code(n)} | {w} | {r} |" for n, (w, r) in state.items())]
    return "\n".join(out + rest) + "\n"


def of_torch() -> dict[str, list[tuple[str, str, str | None]]]:
    """Names of torch, by kind: the name, what it is called here, and what that is; None if it is not there."""
    optimizers = [e for e in registry.entries("optimizer") if e.target.startswith("torch.optim.")]
    options = {"opt": {o.name: "an option of optimizers" for e in optimizers for o in how_of(e)},
               "train": dict.fromkeys(MORE, "an option of `train`")}
    entries = {spelled(e): e for k in ("api", "module", "optimizer") for e in registry.entries(k)}

    def what(name: str) -> str | None:
        kind, mark, option = name.partition("`")
        if mark and kind:
            return options[kind].get(option)
        return entries[name].summary if name in entries else None

    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for kind, words in documented("torch.txt")[0].items():
        pairs = [(word.split("=")[0], word.partition("=")[2] or word.split(".")[-1].replace("_", "")) for word in words]
        found[kind] = [(name, here, what(here)) for name, here in pairs]
    return found


def torch_names() -> str:
    """The page of torch's names beyond ktorch's."""
    note = NOTE.replace("registry", "registry and docs/torch.txt").replace("entry", "source")
    out = ["# Names of torch beyond ktorch", "", note, "", "What of torch has a name here that ktorch lacks. Names are "
           "torch's without underscores; those that q has already begin with a capital.", ""]
    for kind, rows in of_torch().items():
        out += [f"## {kind}", "", "| torch | here | |", "|---|---|---|",
                *(f"| `{name}` | {code(here)} | {'not yet' if text is None else text} |" for name, here, text in rows),
                ""] if rows else []
    return "\n".join(out).rstrip() + "\n"


def pages() -> dict[str, str]:
    """File name and text of every reference page."""
    Session().names.load_builtins()
    made = {k.page.file: page(k.name) for k in KINDS.values() if k.page and k.entries()}
    return made | {"coverage.md": coverage(), "ktorch.md": ktorch(), "torch.md": torch_names()}


def stale() -> list[str]:
    """The pages that are not what the registry says, and those that should not be there."""
    made = pages()
    old = [f for f, text in made.items() if not (HERE / f).exists() or (HERE / f).read_text() != text]
    return old + [p.name for p in sorted(HERE.glob("*")) if p.name not in made]


def main() -> int:
    """Write the pages, or with --check name those that are not current."""
    if "--check" in sys.argv:
        old = stale()
        print("\n".join(f"docs/reference/{f} is not current: run `make docs`" for f in old) or
              "the reference pages are current")
        return int(bool(old))
    HERE.mkdir(exist_ok=True)
    for f in stale():
        (HERE / f).unlink(missing_ok=True)
    for f, text in pages().items():
        (HERE / f).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
