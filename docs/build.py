"""Writes the reference pages from the registry: `python docs/build.py`; with --check, says whether they are current."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from kshell import registry
from kshell.session import Session

HERE = Path(__file__).parent / "reference"
TITLES = {
    "verb": ("verbs.md", "Operators and keywords"),
    "api": ("kapi.md", "The k-api"),
    "module": ("modules.md", "Module types"),
    "loss": ("losses.md", "Losses"),
    "optimizer": ("optimizers.md", "Optimizers"),
    "command": ("commands.md", "System commands"),
    "name": ("names.md", "Names of .z .Q .h .j"),
    "internal": ("internal.md", "Internal functions"),
    "topic": ("topics.md", "Help topics"),
    "setting": ("settings.md", "Settings"),
}
NOTE = "<!-- made by docs/build.py from the registry: change the entry, not this page -->\n"


def section(entry: registry.Entry) -> str:
    """The text of one entry: name, forms, summary, options, examples."""
    lines = [f"### `` {entry.name if entry.kind not in ('module', 'loss', 'optimizer') else '`' + entry.name} ``", ""]
    doc = entry.text
    prose = [line for line in doc.split("\n\n") if line.strip() and not line.lstrip().startswith("q)")]
    lines += [p.strip() + "\n" for p in prose]
    if entry.target:
        lines += [f"PyTorch: `{entry.target}`", ""]
    if entry.forms:
        lines += ["```q", *entry.forms, "```", ""]
    if entry.options:
        lines += ["| option | type | default |", "|---|---|---|"]
        lines += [f"| {o.name} | {o.type} | {o.default} |" for o in entry.options] + [""]
    for inputs, output in entry.examples:
        lines += ["```q", *("q)" + i for i in inputs), *output, "```", ""]
    return "\n".join(lines)


def page(kind: str, title: str) -> str:
    """The reference page of a kind, its entries by family and name."""
    by_topic: dict[str, list[registry.Entry]] = defaultdict(list)
    for e in registry.entries(kind):
        by_topic[e.topic.strip("_")].append(e)
    out = [f"# {title}", "", NOTE]
    for topic in sorted(by_topic):
        if len(by_topic) > 1:
            out += [f"## {topic}", ""]
        out += [section(e) for e in sorted(by_topic[topic], key=lambda e: e.name)]
    return "\n".join(out).rstrip() + "\n"


def pages() -> dict[str, str]:
    """File name and text of every reference page."""
    Session().names.load_builtins()
    return {file: page(kind, title) for kind, (file, title) in TITLES.items() if list(registry.entries(kind))}


def main() -> int:
    made = pages()
    if "--check" in sys.argv:
        stale = [f for f, text in made.items() if not (HERE / f).exists() or (HERE / f).read_text() != text]
        print("\n".join(f"docs/reference/{f} is not current" for f in stale) or "reference pages are current")
        return int(bool(stale))
    HERE.mkdir(exist_ok=True)
    for f, text in made.items():
        (HERE / f).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
