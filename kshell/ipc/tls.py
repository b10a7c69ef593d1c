"""TLS: what a port and a client need for it, and the encryption of one connection.

Python's ssl takes time to load, so each function that needs it imports it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kshell.errors import QError
from kshell.ipc.connection import Broken
from kshell.ipc.tls_settings import given, settings

if TYPE_CHECKING:
    import ssl

CHUNK = 1 << 20  # bytes encrypted or decrypted at once
HANDSHAKE = 10.0  # seconds that a handshake may take
# the names of protocols in Python's ssl; older ones than 1.2 are not safe
_VERSIONS = {"TLSv1.2": "TLSv1_2", "TLSv1.3": "TLSv1_3", "TLSv1": "TLSv1_2", "TLSv1.1": "TLSv1_2"}
# Python's ssl ends a handshake in which the client gives a certificate that does not verify, so REQUESTONLY, for which
# kdb+ goes on, is here what IFPRESENT is
_CLIENTS = {
    "NO": "CERT_NONE",
    "YES": "CERT_REQUIRED",
    "IFPRESENT": "CERT_OPTIONAL",
    "REQUESTONLY": "CERT_OPTIONAL",
}
_SERVERS = ("NO", "YES", "HOSTIP")


# ------------------------------------------------------------------ settings


def _chosen(values: dict[str, str], name: str, known: Any) -> str:
    """The value of a setting that has a few; an error that names them for another one."""
    value = values[name]
    if value not in known:
        raise QError(f"{name}: expected one of {', '.join(known)}, given {value}")
    return value


def _version(values: dict[str, str], name: str) -> ssl.TLSVersion:
    import ssl

    return ssl.TLSVersion[_VERSIONS[_chosen(values, name, _VERSIONS)]]


def _made(context: ssl.SSLContext, values: dict[str, str]) -> ssl.SSLContext:
    """A context with the protocols and ciphers of the settings."""
    context.minimum_version = _version(values, "SSL_MINPROTOCOL")
    if values["SSL_MAXPROTOCOL"]:
        context.maximum_version = _version(values, "SSL_MAXPROTOCOL")
    if values["SSL_CIPHERSUITES"]:
        _choose_suites(context, values["SSL_CIPHERSUITES"])
    if values["SSL_CIPHER_LIST"]:
        _attempt("SSL_CIPHER_LIST", context.set_ciphers, values["SSL_CIPHER_LIST"])
    return context


def _choose_suites(context: ssl.SSLContext, suites: str) -> None:
    """Set the ciphers of TLS 1.3, where Python's ssl has a way to."""
    choose = getattr(context, "set_ciphersuites", None)
    if choose is None:
        release = ".".join(map(str, sys.version_info[:2]))
        raise QError(
            f"SSL_CIPHERSUITES: Python {release} cannot choose the ciphers of TLS 1.3 "
            "(3.15 can); SSL_MAXPROTOCOL=TLSv1.2 with SSL_CIPHER_LIST allows only ciphers of your choice"
        )
    _attempt("SSL_CIPHERSUITES", choose, suites)


def _attempt(what: str, load: Callable[..., Any], *args: Any, **options: Any) -> None:
    """load(*args); what is wrong with a file or a setting is an error of q that names it."""
    try:
        load(*args, **options)
        return
    except (OSError, ValueError) as e:
        problem = _reason(e)
    raise QError(f"{what}. OS reports: {problem}")


def _reason(e: Exception) -> str:
    import ssl

    if isinstance(e, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {e.verify_message}"
    if isinstance(e, ssl.SSLError):
        return (getattr(e, "reason", "") or str(e)).replace("_", " ").lower()
    return str(getattr(e, "strerror", "") or e)


def _trust(context: ssl.SSLContext, values: dict[str, str], of_servers: bool) -> None:
    """Load the authorities: those that the settings name, else `cacert.pem`, and for the certificates of servers the
    system's too. For those of clients they must not count: they certify anybody."""
    file, folder = values["SSL_CA_CERT_FILE"], values["SSL_CA_CERT_PATH"]
    if given("SSL_CA_CERT_FILE"):
        _attempt(file, context.load_verify_locations, cafile=file)
    if given("SSL_CA_CERT_PATH"):
        _attempt(folder, context.load_verify_locations, capath=folder)
    if given("SSL_CA_CERT_FILE") or given("SSL_CA_CERT_PATH"):
        return
    if of_servers:
        context.load_default_certs()
    if os.path.exists(file):
        _attempt(file, context.load_verify_locations, cafile=file)
    elif not of_servers:
        raise QError(
            "SSL_VERIFY_CLIENT: expected the authorities of the clients in "
            f"SSL_CA_CERT_FILE, SSL_CA_CERT_PATH or {file}"
        )


def server_context() -> ssl.SSLContext:
    """The TLS context of a port: its certificate and key, and whether clients are asked for one, or must have one."""
    import ssl

    values = settings()
    context = _made(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), values)
    certificate, key = values["SSL_CERT_FILE"], values["SSL_KEY_FILE"]
    for path in (certificate, key):
        _attempt(path, _read, path)
    _attempt(certificate, context.load_cert_chain, certificate, key)
    context.verify_mode = ssl.VerifyMode[_CLIENTS[_chosen(values, "SSL_VERIFY_CLIENT", _CLIENTS)]]
    if context.verify_mode != ssl.CERT_NONE:
        _trust(context, values, of_servers=False)
    return context


def client_context(named: bool) -> ssl.SSLContext:
    """The TLS context of a connection: the authorities, and one's own certificate if the settings name it with its key.
    `named`: is there a host whose name can be checked?"""
    import ssl

    values = settings()
    context = _made(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), values)
    verify = _chosen(values, "SSL_VERIFY_SERVER", _SERVERS)
    context.check_hostname = verify == "HOSTIP" and named
    context.verify_mode = ssl.CERT_NONE if verify == "NO" else ssl.CERT_REQUIRED
    if verify != "NO":
        _trust(context, values, of_servers=True)
    if given("SSL_CERT_FILE") and given("SSL_KEY_FILE"):
        certificate = values["SSL_CERT_FILE"]
        _attempt(certificate, context.load_cert_chain, certificate, values["SSL_KEY_FILE"])
    return context


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


# ------------------------------------------------------------------ one connection


class Channel:
    """The encryption of one connection, between the bytes of its socket and those of its messages. It never waits."""

    def __init__(self, context: ssl.SSLContext, is_server: bool, host: str = "") -> None:
        import ssl

        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._arrived, self._leaving, server_side=is_server, server_hostname=host or None
        )
        self.established = False
        self.ended = False  # has the other side said that nothing follows?
        self.fault = ""  # what is wrong with what it sent
        # only where clients must have a certificate does it let them in: one that was asked for is in .z.e alone
        self.certified = context.verify_mode == ssl.CERT_REQUIRED

    def advance(self) -> None:
        """Go on with the handshake as far as the bytes that arrived allow. Broken if it failed."""
        import ssl

        problem = ""
        try:
            self._object.do_handshake()
            self.established = True
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLError, ValueError) as e:
            problem = _reason(e)
        if problem:
            raise Broken(problem)

    def received(self, data: bytes) -> bytes:
        """The bytes of messages in what came from the socket, up to where it is no TLS: `fault` says what is wrong."""
        import ssl

        if self.fault:
            return b""
        self._arrived.write(data)
        if not self.established:
            try:
                self.advance()
            except Broken as e:
                self.fault = str(e)
            if not self.established:
                return b""
        parts: list[bytes] = []
        try:
            while part := self._object.read(CHUNK):
                parts.append(part)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLError as e:
            self.fault = _reason(e)
        return b"".join(parts)

    def sealed(self, data: bytes | memoryview) -> bytes:
        """The bytes of messages, encrypted. Broken if nothing can be sent any more."""
        import ssl

        rest = memoryview(data)
        problem = ""
        try:
            while len(rest):
                rest = rest[self._object.write(rest[:CHUNK]) :]
            return self._leaving.read()
        except (ssl.SSLError, ValueError) as e:
            problem = _reason(e)
        raise Broken(problem)

    def leaving(self) -> bytes:
        """The bytes that the encryption itself has to send."""
        return self._leaving.read()

    def last(self) -> bytes:
        """The last bytes to send before the connection is closed."""
        import ssl

        with suppress(ssl.SSLError, ValueError):
            self._object.unwrap()
        return self._leaving.read()

    @property
    def protocol(self) -> str:
        return self._object.version() or ""

    def described(self) -> tuple[str, str, dict[str, str]]:
        """The cipher, the protocol, and the certificate of the other side, if it gave one, by the names of `.z.e`."""
        cipher = self._object.cipher()
        certificate = self._object.getpeercert()
        found: dict[str, str] = {}
        if certificate:
            found = {
                "SUBJECT": _name(certificate.get("subject", ())),
                "ISSUER": _name(certificate.get("issuer", ())),
                "SERIALNUMBER": str(certificate.get("serialNumber", "")),
                "NOTVALIDBEFORE": str(certificate.get("notBefore", "")),
                "NOTVALIDAFTER": str(certificate.get("notAfter", "")),
            }
        return (cipher[0] if cipher else ""), self.protocol, found


_SHORT = {
    "countryName": "C",
    "stateOrProvinceName": "ST",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "commonName": "CN",
}


def _name(parts: Any) -> str:
    """A name in a certificate, as OpenSSL shows it in one line."""
    return "".join(f"/{_SHORT.get(key, key)}={value}" for part in parts for key, value in part)
