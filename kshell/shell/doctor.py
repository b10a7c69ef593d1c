"""`kshell --doctor`: versions, devices, optional packages and what each would add."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from importlib import metadata
from typing import Any, NamedTuple

import kshell
from kshell import k_api, registry, torch_versions
from kshell.torch_versions import numbers

# what the packages of an extra add; which these are and their versions is in the metadata of kshell
ADDS = {
    "plot": "pictures in files: plot",
    "tensorboard": "a viewer of what logto writes",
    "jupyter": "%%q cells and the kernel of notebooks",
    "web": "HTTP and WebSockets on the port",
    "frames": "frames and Arrow tables: .p.topd .p.topl .p.topa",
    "docs": "the reference as web pages",
}
_REQUIREMENT = re.compile(
    r"""([\w.-]+)\s*(?:\(?([<>=!~][^;)]*)\)?)?\s*(?:;\s*extra\s*==\s*['"](\w+)['"])?\Z"""
)


class Need(NamedTuple):
    """A package that kshell uses: its name, the versions that fit, and the extra that it belongs to, if any."""

    package: str
    versions: str
    extra: str


def report() -> tuple[list[str], bool]:
    """The lines, and whether all that kshell needs is there."""
    lines = [
        f"kshell {kshell.__version__}  {os.path.dirname(kshell.__file__)}",
        f"Python {platform.python_version()}  {sys.executable}",
        f"{platform.platform()}, {os.cpu_count()} processors",
        "",
    ]
    needs = _needs()
    if not needs:
        return [*lines, "kshell is not installed: its requirements are not known"], False
    fits = True
    for need in needs:
        if not need.extra:
            state, good = _state(need)
            fits = fits and good
            lines.append(f"  {need.package:<20}{state}")
    lines += ["", *_devices(), *_lacking(), "", "optional:"]
    for need in needs:
        if need.extra:
            state, good = _state(need)
            adds = "" if good else f"; pip install 'kshell[{need.extra}]'"
            lines.append(f"  {need.package:<20}{state:<22}{ADDS.get(need.extra, need.extra)}{adds}")
    return lines, fits


def _needs() -> list[Need]:
    """What kshell requires and, by extra, what it can use."""
    try:
        texts = metadata.requires("kshell") or []
    except metadata.PackageNotFoundError:
        return []
    found = [match for text in texts if (match := _REQUIREMENT.match(text))]
    return [Need(match[1], (match[2] or "").strip(), match[3] or "") for match in found]


def _state(need: Need) -> tuple[str, bool]:
    """What is there of a package, and whether it fits."""
    try:
        version = metadata.version(need.package)
    except metadata.PackageNotFoundError:
        return f"missing, needs {need.versions or 'any version'}", False
    if not fits(version, need.versions):
        return f"{version}, needs {need.versions}", False
    return version, True


def fits(version: str, versions: str) -> bool:
    """Is a version one of those that `>=`, `<` and `==` name, separated by commas?"""
    has = numbers(version)
    for condition in versions.split(","):
        match = re.match(r"\s*(>=|<|==)\s*(.+)", condition)
        if match is None:
            continue
        asked = numbers(match[2])
        least, most = match[1] != "<", match[1] != ">="
        cut = has[: len(asked)] if match[1] == "==" else has
        if (least and cut < asked) or (most and (cut > asked or (not least and cut >= asked))):
            return False
    return True


def _lacking() -> list[str]:
    """What the torch that is there is too old for."""
    k_api.load_kapi()
    names = [
        f"{entry.name} (torch {entry.first_torch})"
        for entry in registry.every()
        if entry.first_torch and torch_versions.before(entry.first_torch)
    ]
    return [f"not in torch {torch_versions.here()}: {', '.join(names)}"] if names else []


def _devices() -> list[str]:
    """What torch can compute on."""
    try:
        torch: Any = importlib.import_module("torch")
    except Exception as e:
        why = str(e).split("\n", 1)[0]
        return [f"torch cannot be imported: {why}", "q works without it; the k-api does not"]
    lines = [f"devices: cpu, {torch.get_num_threads()} threads"]
    if torch.cuda.is_available():
        for i in range(torch.cuda.device_count()):
            found = torch.cuda.get_device_properties(i)
            lines.append(f"  cuda:{i}  {found.name}, {found.total_memory >> 20} MB")
    if torch.backends.mps.is_available():
        lines.append("  mps")
    return lines
