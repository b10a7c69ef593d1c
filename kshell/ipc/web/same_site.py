"""Requests that a browser makes for another site's page, and names that others point at this machine."""

from __future__ import annotations

from collections.abc import Collection

from kshell.ipc.address import LOOPBACK
from kshell.ipc.web.request import Refused, Request


def check(request: Request, hosts: Collection[str], origins: Collection[str]) -> None:
    """Refuse a request for a host that is none of `hosts`, and one that a page of another site makes, unless its origin
    is one of `origins`.

    Any page can send requests to this machine from the browser of its user; a name of the page's owner may be pointed
    at this machine, so that the browser takes it for the same site."""
    named = request.header("host")
    host = name_of(named)
    if host and host not in LOOPBACK and host not in hosts:
        raise Refused("403 Forbidden", f"host {named} is not in .h.HOSTS")
    origin = request.header("origin").lower()
    if origin in origins:
        return
    if origin and origin not in (f"http://{named.lower()}", f"https://{named.lower()}"):
        raise Refused("403 Forbidden", f"origin {origin} is not in .h.ORIGINS")
    site = request.header("sec-fetch-site").lower()
    if site not in ("", "none", "same-origin"):
        raise Refused("403 Forbidden", f"a page of another site asks ({site})")


def name_of(host: str) -> str:
    """The name or address in a `Host` header, without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
