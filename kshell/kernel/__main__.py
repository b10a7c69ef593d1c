"""`python -m kshell.kernel install`: install the kernel for Jupyter. Without `install`, run it (Jupyter does that)."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

NAME = "kshell"


def spec() -> dict[str, object]:
    """The specification of the kernel for Jupyter."""
    return {
        "argv": [sys.executable, "-m", "kshell.kernel", "-f", "{connection_file}"],
        "display_name": "q (kshell)",
        "language": "q",
        "interrupt_mode": "signal",
        "metadata": {"debugger": False},
    }


def install(words: list[str]) -> str:
    """Write the kernel's spec to the location given by the words; returns the folder."""
    from jupyter_client.kernelspec import KernelSpecManager

    parser = argparse.ArgumentParser(
        prog="python -m kshell.kernel install", description="Make the kernel known."
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--user", action="store_true", help="for this user (the default outside an environment)"
    )
    where.add_argument(
        "--sys-prefix", action="store_true", help="into the present Python environment"
    )
    where.add_argument("--prefix", help="into this folder's share/jupyter")
    parser.add_argument("--name", default=NAME, help="the kernel's name (kshell)")
    parser.add_argument(
        "--display-name", default="", help="the name that notebooks show (q (kshell))"
    )
    given = parser.parse_args(words)
    prefix = sys.prefix if given.sys_prefix else given.prefix
    if not given.user and prefix is None and sys.prefix != sys.base_prefix:
        prefix = sys.prefix  # an environment has its own kernels
    found = spec()
    if given.display_name:
        found["display_name"] = given.display_name
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(found, indent=1) + "\n")
        return str(
            KernelSpecManager().install_kernel_spec(
                folder, given.name, user=prefix is None, prefix=prefix
            )
        )


def main() -> None:
    """Install the kernel, or run it."""
    missing = ""
    try:
        if sys.argv[1:2] == ["install"]:
            print(f"kernel installed in {install(sys.argv[2:])}")
            return
        os.environ.setdefault("MPLBACKEND", "module://kshell.python.figures")
        from ipykernel.kernelapp import IPKernelApp

        from kshell.kernel.kernel import QKernel
    except ModuleNotFoundError as e:
        missing = e.name or ""
        if missing.partition(".")[0] not in ("ipykernel", "jupyter_client", "traitlets"):
            raise
    if missing:
        print(
            f"kshell.kernel: {missing} is not installed; pip install 'kshell[jupyter]'",
            file=sys.stderr,
        )
        raise SystemExit(1)
    IPKernelApp.launch_instance(kernel_class=QKernel)


if __name__ == "__main__":
    main()
