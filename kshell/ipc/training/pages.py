"""The files of the page: HTML, style and script, from this folder."""

from __future__ import annotations

from pathlib import Path

from kshell.ipc.web.request import Request, head

PLACE = "train"  # the target of the page and of its WebSocket
_FOLDER = Path(__file__).parent
_FILES = {
    "train": ("page.html", "text/html"),
    "train/page.css": ("page.css", "text/css"),
    "train/page.js": ("page.js", "text/javascript"),
}


def page(request: Request) -> bytes | None:
    """The response with a file of the page; None if another target is asked for."""
    found = _FILES.get(request.text.partition("?")[0])
    if found is None or request.method not in ("GET", "HEAD"):
        return None
    name, kind = found
    body = (_FOLDER / name).read_bytes()
    headers = {
        "Content-Type": f"{kind}; charset=utf-8",
        "Content-Length": str(len(body)),
        "Connection": "keep-alive",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _policy(request.header("host")),
    }
    return head("200 OK", headers) + body


def _policy(host: str) -> str:
    """What the page may load: files of this host, and its WebSocket, which older browsers do not take for the same."""
    plain = "".join(c for c in host if c.isalnum() or c in "-.:[]")
    sockets = f"ws://{plain} wss://{plain}" if plain else ""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' {sockets}; "
        "img-src 'self' data:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )
