"""The response of a URL, by urllib: redirects are followed, and compressed bodies unpacked."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from kshell.errors import QError, first_line, os_text
from kshell.ipc.address import basic

if TYPE_CHECKING:
    from urllib.request import OpenerDirector, Request


def fetch(address: str, kind: str, body: bytes | None, method: str) -> tuple[str, bytes]:
    """The head and the body of the response to a request; 'domain if the address is not of HTTP, and any other failure
    is an error with the address and the reason."""
    from http.client import HTTPException
    from urllib.request import Request

    place, login = _without_login(address)
    headers = {"Accept-Encoding": "gzip", **({"Content-Type": kind} if kind else {}), **login}
    problem = ""
    try:
        with _opened(Request(place, body, headers, method=method or None)) as answer:
            return _read(answer)
    except (OSError, ValueError, EOFError, zlib.error, HTTPException) as e:
        cause: object = getattr(e, "reason", e)
        if isinstance(cause, OSError) and cause.strerror:
            problem = os_text(cause, place)
        else:
            problem = first_line(f"{place}: {cause}")
    raise QError(problem)


def _without_login(address: str) -> tuple[str, dict[str, str]]:
    """A URL without `user:password@`, and the header that says the same."""
    scheme, mark, rest = address.partition("://")
    if scheme not in ("http", "https") or not mark:
        raise QError("domain")
    host, slash, path = rest.partition("/")
    login, at, host = host.rpartition("@")
    if not at:
        return address, {}
    user, _, password = login.partition(":")
    return f"{scheme}://{host}{slash}{path}", {"Authorization": basic(user, password)}


def _opened(asked: Request) -> Any:
    """The response, whatever its status."""
    from urllib.error import HTTPError

    try:
        return _opener().open(asked)
    except HTTPError as e:
        return e


def _opener() -> OpenerDirector:
    """An opener that follows redirects, of which those to another server do not get the password."""
    from urllib.parse import urlsplit
    from urllib.request import HTTPRedirectHandler, build_opener

    class Redirects(HTTPRedirectHandler):
        def redirect_request(
            self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
        ) -> Request | None:
            found = super().redirect_request(req, fp, code, msg, headers, newurl)
            if found is not None and urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
                found.remove_header("Authorization")
            return found

    return build_opener(Redirects)


def _read(answer: Any) -> tuple[str, bytes]:
    """The head and the body of a response."""
    import gzip

    body = answer.read()
    if answer.headers.get("Content-Encoding", "").lower() == "gzip" and body:
        body = gzip.decompress(body)
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
    lines += [f"{key}: {value}" for key, value in answer.headers.items()]
    return "\r\n".join(lines) + "\r\n\r\n", body
